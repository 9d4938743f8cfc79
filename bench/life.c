/* SPDX-License-Identifier: MIT
 *
 * bench/life.c - starts measured by the parent; CPU time and switches of an idle process.
 */
#include "bench/life.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 100
#define IDLE_MS   5000

bool life_is_child(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], "--child") == 0;
}

/* Resident memory in MiB, 0 when the system does not say. */
static double resident(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "VmRSS:", 6) == 0) kib = strtod(line + 6, NULL);
    if (f) fclose(f);
    return kib / 1024;
}

void life_report(void)
{
    const char here = 'r';
    if (write(STDOUT_FILENO, &here, 1) != 1) return;
    const double mib = resident();
    if (write(STDOUT_FILENO, &mib, sizeof(mib)) != sizeof(mib)) exit(EXIT_FAILURE);
}

static _Noreturn void become_child(int out)
{
    char *args[] = {(char *)"bench", (char *)"--child", NULL};
    dup2(out, STDOUT_FILENO);
    execv("/proc/self/exe", args);
    _exit(127);
}

/* Read exactly size bytes. */
static bool take(int fd, void *data, size_t size)
{
    char *to = data;
    for (ssize_t got; size > 0; to += got, size -= (size_t)got)
        if ((got = read(fd, to, size)) <= 0) return false;
    return true;
}

static troupe_status start_once(double *ms, double *mib, troupe_error *err)
{
    int fds[2], status;
    char here;
    if (pipe(fds) != 0) return bench_fail(err, TROUPE_EXHAUSTED, "no pipe");
    const uint64_t start = bench_now_ns();
    const pid_t pid = fork();
    if (pid == 0) become_child(fds[1]);
    close(fds[1]);
    bool good = pid > 0 && take(fds[0], &here, 1);
    *ms = (double)(bench_now_ns() - start) / 1e6;
    good = good && take(fds[0], mib, sizeof(*mib));
    close(fds[0]);
    if (pid > 0) good = waitpid(pid, &status, 0) == pid && status == 0 && good;
    return good ? TROUPE_OK : bench_fail(err, TROUPE_INTERNAL, "the child gave no result");
}

void life_starts(struct bench *b, const char *suffix)
{
    double ms[BENCH_MAX_BATCHES], mib[BENCH_MAX_BATCHES];
    char first[64], rss[64];
    troupe_error err;
    snprintf(first, sizeof(first), "start.first%s", suffix);
    snprintf(rss, sizeof(rss), "start.rss%s", suffix);
    if (!bench_wants(b, first) && !bench_wants(b, rss)) return;
    for (int i = -1; i < b->batches; i++) { /* the first one warms the file cache */
        const int to = i < 0 ? 0 : i;
        if (start_once(&ms[to], &mib[to], &err) < 0) {
            bench_failed(b, first, &err);
            return;
        }
    }
    bench_line(b, first, "ms", ms, (size_t)b->batches);
    bench_line(b, rss, "MiB", mib, (size_t)b->batches);
}

static void sleep_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double switches(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_nvcsw;
}

void life_idles(struct bench *b, const char *suffix)
{
    char cpu[64], sleeps[64];
    snprintf(cpu, sizeof(cpu), "idle.cpu%s", suffix);
    snprintf(sleeps, sizeof(sleeps), "idle.switches%s", suffix);
    if (!bench_wants(b, cpu) && !bench_wants(b, sleeps)) return;
    sleep_ms(SETTLE_MS);
    const double switched = switches(), used = cpu_ms();
    sleep_ms(IDLE_MS);
    const double cpu_used = cpu_ms() - used;
    const double slept = switches() - switched - 1; /* without the sleep of this thread */
    bench_line(b, cpu, "ms", &cpu_used, 1);
    bench_line(b, sleeps, "sleeps", &slept, 1);
}
