/* SPDX-License-Identifier: MIT
 *
 * bench/bench_plan.c - what planning costs: a graph node's share of reading a text and of the
 * first call, the memory it takes at most, and what other calls see of it.
 *
 * A function is blocks of ten graph nodes, each block on the next device. Each figure comes
 * from a process of its own, so that none uses the memory that another has left behind.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/subject.h"

#define BLOCK      10
#define BESIDE_NS  20000000 /* one look at another function's calls */
#define FOUR_CPUS  TWO_CPUS ",cpu:2(threads=1),cpu:3(threads=1)"
#define LOOKS      10
#define MAX_FIGURE 5 /* of a size; planning a million graph nodes takes seconds */

struct figures {
    double read_us, plan_us, bytes; /* per graph node */
};

/* -- memory -------------------------------------------------------------------------------- */

/* A line of /proc/self/status in bytes; 0 when the system does not say. */
static double memory(const char *key)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0) kib = strtod(line + strlen(key), NULL);
    if (f) fclose(f);
    return kib * 1024;
}

/* From here on the peak is counted anew. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f);
    fclose(f);
}

/* -- one figure, in a child ---------------------------------------------------------------- */

static troupe_status measure(int nodes, int devices, struct figures *out, troupe_error *err)
{
    struct subject s = {0};
    troupe_runtime *runtime = NULL;
    troupe_status status =
        subject_runtime(&runtime, devices == 2 ? TWO_CPUS : FOUR_CPUS, TROUPE_AUTO, err);
    const double before = memory("VmRSS:");
    const uint64_t start = bench_now_ns();
    if (status >= 0) status = subject_blocks(&s, runtime, nodes, BLOCK, devices, err);
    out->read_us = (double)(bench_now_ns() - start) / 1e3 / nodes;
    malloc_trim(0); /* the text, and what reading it took */
    forget_peak();
    const uint64_t ready = bench_now_ns();
    if (status >= 0) status = subject_run_once(&s, err);
    out->plan_us = (double)(bench_now_ns() - ready) / 1e3 / nodes;
    out->bytes = (memory("VmHWM:") - before) / nodes;
    subject_release(&s);
    if (runtime) troupe_close(&runtime);
    return status;
}

static _Noreturn void be_child(int nodes, int devices, int out)
{
    struct figures figures = {0};
    troupe_error err = {0};
    if (measure(nodes, devices, &figures, &err) < 0) {
        fprintf(stderr, "bench_plan: %d graph nodes: %s\n", nodes, err.text);
        _exit(EXIT_FAILURE);
    }
    _exit(write(out, &figures, sizeof(figures)) == sizeof(figures) ? EXIT_SUCCESS
                                                                   : EXIT_FAILURE);
}

static troupe_status in_child(int nodes, int devices, struct figures *out, troupe_error *err)
{
    int fds[2], status;
    if (pipe(fds) != 0) return bench_fail(err, TROUPE_EXHAUSTED, "no pipe");
    const pid_t pid = fork();
    if (pid == 0) be_child(nodes, devices, fds[1]);
    close(fds[1]);
    const bool good = pid > 0 && read(fds[0], out, sizeof(*out)) == sizeof(*out);
    close(fds[0]);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && good) return TROUPE_OK;
    return bench_fail(err, TROUPE_INTERNAL, "the child gave no figures");
}

/* -- lines --------------------------------------------------------------------------------- */

static bool wants_any(const struct bench *b, const char *const *names)
{
    return bench_wants(b, names[0]) || bench_wants(b, names[1]) || bench_wants(b, names[2]);
}

/* "plan.read.1m", "plan.1m.four", "plan.bytes.1m.four" */
static void plan_lines(struct bench *b, const char *size, int nodes, int devices)
{
    char text[3][64];
    const char *const names[] = {text[0], text[1], text[2]},
                      *how = devices == 2 ? "two" : "four";
    double values[3][BENCH_MAX_BATCHES];
    troupe_error err;
    snprintf(text[0], sizeof(text[0]), "plan.read.%s.%s", size, how);
    snprintf(text[1], sizeof(text[1]), "plan.%s.%s", size, how);
    snprintf(text[2], sizeof(text[2]), "plan.bytes.%s.%s", size, how);
    if (!wants_any(b, names)) return;
    const int n = b->batches < MAX_FIGURE ? b->batches : MAX_FIGURE;
    for (int i = 0; i < n; i++) {
        struct figures figures;
        if (in_child(nodes, devices, &figures, &err) < 0) {
            bench_failed(b, names[1], &err);
            return;
        }
        values[0][i] = figures.read_us;
        values[1][i] = figures.plan_us;
        values[2][i] = figures.bytes;
    }
    bench_line(b, names[0], "us", values[0], (size_t)n);
    bench_line(b, names[1], "us", values[1], (size_t)n);
    bench_line(b, names[2], "bytes", values[2], (size_t)n);
}

/* -- beside -------------------------------------------------------------------------------- */

static void note_end(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                     size_t n)
{
    troupe_status *ended = arg;
    (void)results;
    (void)n;
    *ended = error->code < 0 ? error->code : TROUPE_END;
}

/* Mean time of a call in microseconds, over a while or until *ended. */
static troupe_status calls_for(const struct subject *s, const troupe_status *ended, double *us,
                               troupe_error *err)
{
    const uint64_t start = bench_now_ns();
    uint64_t now = start, n = 0;
    for (; now - start < BESIDE_NS && *ended == TROUPE_OK; n++) {
        const troupe_status status = subject_run_once(s, err);
        if (status < 0) return status;
        now = bench_now_ns();
    }
    *us = (double)(now - start) / 1e3 / (double)(n ? n : 1);
    return TROUPE_OK;
}

struct beside {
    struct subject small, large;
    double alone, times[BENCH_MAX_BATCHES]; /* microseconds; how many times that, meanwhile */
    size_t n;
};

static troupe_status look_alone(struct beside *w, troupe_error *err)
{
    double us[LOOKS];
    const troupe_status never = TROUPE_OK;
    for (int i = 0; i < LOOKS; i++) {
        const troupe_status status = calls_for(&w->small, &never, &us[i], err);
        if (status < 0) return status;
    }
    w->alone = bench_summarise(us, LOOKS).median;
    return TROUPE_OK;
}

static troupe_status look_meanwhile(struct beside *w, troupe_error *err)
{
    troupe_status ended = TROUPE_OK;
    const struct subject *s = &w->large;
    troupe_status status =
        troupe_call(s->runtime, s->function, (const troupe_tensor *const *)s->args, s->n_args,
                    s->options, note_end, &ended, NULL, err);
    while (status >= 0 && ended == TROUPE_OK && w->n < BENCH_MAX_BATCHES) {
        double us;
        status = calls_for(&w->small, &ended, &us, err);
        w->times[w->n++] = us / w->alone;
        if (status >= 0) status = troupe_dispatch(s->runtime);
    }
    return ended < 0 ? bench_fail(err, ended, "planning failed") : status;
}

static troupe_status look(struct beside *w, troupe_runtime *runtime, int nodes,
                          troupe_error *err)
{
    troupe_status status = subject_two(&w->small, runtime, err);
    if (status >= 0) status = subject_blocks(&w->large, runtime, nodes, BLOCK, 4, err);
    if (status >= 0) status = subject_run_once(&w->small, err);
    if (status >= 0) status = look_alone(w, err);
    if (status >= 0) status = look_meanwhile(w, err);
    return status;
}

/* Calls over two devices while so many graph nodes are planned, against the same alone. */
static void beside(struct bench *b, const char *name, int nodes, int workers)
{
    troupe_runtime *runtime = NULL;
    troupe_error err = {0};
    struct beside *w = bench_wants(b, name) ? calloc(1, sizeof(*w)) : NULL;
    if (!w) return;
    troupe_status status = subject_runtime(&runtime, FOUR_CPUS, workers, &err);
    if (status >= 0) status = look(w, runtime, nodes, &err);
    if (status >= 0)
        bench_line(b, name, "x", w->times, w->n);
    else
        bench_failed(b, name, &err);
    subject_release(&w->small);
    subject_release(&w->large);
    if (runtime) troupe_close(&runtime);
    free(w);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int nodes;
    } sizes[] = {{"1k", 1000}, {"10k", 10000}, {"100k", 100000}, {"1m", 1000000}};
    struct bench b;
    bench_open(&b, argc, argv);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int devices = 2; devices <= 4; devices += 2)
            plan_lines(&b, sizes[i].name, sizes[i].nodes, devices);
    beside(&b, "plan.beside", sizes[3].nodes, TROUPE_AUTO);
    return bench_close(&b);
}
