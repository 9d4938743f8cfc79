/* SPDX-License-Identifier: MIT
 *
 * bench/bench.c - batches, their figures, and the options of every benchmark.
 */
#include "bench/bench.h"

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#define HAVE_COUNTER 1
#else
#define HAVE_COUNTER 0
#endif

#define BATCHES  25
#define BATCH_MS 20

uint64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

troupe_status bench_fail(troupe_error *err, troupe_status code, const char *fmt, ...)
{
    if (!err) return code;
    va_list args;
    va_start(args, fmt);
    err->code = code;
    vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    return code;
}

/* -- options ------------------------------------------------------------------------------- */

static const struct option options[] = {
    {"batches", required_argument, NULL, 'b'}, {"batch-ms", required_argument, NULL, 't'},
    {"pin", required_argument, NULL, 'p'},     {"only", required_argument, NULL, 'o'},
    {"raw", no_argument, NULL, 'r'},           {"count", no_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
};

static _Noreturn void usage(const struct bench *b, int status)
{
    fprintf(status ? stderr : stdout,
            "usage: %s [OPTION]...\n"
            "  --batches N     figures for each line (default %d, at most %d)\n"
            "  --batch-ms MS   time that a batch takes at least (default %d)\n"
            "  --pin CPU       run on that CPU only\n"
            "  --only TEXT     only lines whose name contains TEXT\n"
            "  --count         count instructions too, where the processor's counter is open\n"
            "  --raw           print all figures, for bench/run\n",
            b->program, BATCHES, BENCH_MAX_BATCHES, BATCH_MS);
    exit(status);
}

static double number(const struct bench *b, const char *text, double min, double max)
{
    char *end;
    const double value = strtod(text, &end);
    if (end != text && *end == '\0' && value >= min && value <= max) return value;
    fprintf(stderr, "%s: '%s' is not a number from %g to %g\n", b->program, text, min, max);
    usage(b, 2);
}

static void pin(const struct bench *b)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)b->cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) == 0) return;
    fprintf(stderr, "%s: cannot run on CPU %d only\n", b->program, b->cpu);
    exit(2);
}

/* Instructions of this process's threads in user mode; the kernel may refuse, and a virtual
 * machine often has no such counter. */
static int open_counter(const struct bench *b)
{
    int fd = -1;
#if HAVE_COUNTER
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = attr.exclude_hv = attr.inherit = 1;
    fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
#endif
    if (fd < 0) fprintf(stderr, "%s: instructions cannot be counted here\n", b->program);
    return fd;
}

static void take_option(struct bench *b, int c)
{
    switch (c) {
    case 'b':
        b->batches = (int)number(b, optarg, 1, BENCH_MAX_BATCHES);
        break;
    case 't':
        b->batch_ms = number(b, optarg, 0.001, 60000);
        break;
    case 'p':
        b->cpu = (int)number(b, optarg, 0, CPU_SETSIZE - 1);
        break;
    case 'o':
        b->only = optarg;
        break;
    case 'r':
        b->raw = true;
        break;
    case 'c':
        b->counter = 0;
        break;
    default:
        usage(b, c == 'h' ? 0 : 2);
    }
}

void bench_open(struct bench *b, int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    *b = (struct bench){.program = slash ? slash + 1 : argv[0],
                        .batches = BATCHES,
                        .batch_ms = BATCH_MS,
                        .cpu = -1,
                        .counter = -1};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        take_option(b, c);
    if (optind < argc) usage(b, 2);
    if (b->cpu >= 0) pin(b);
    if (b->counter == 0) b->counter = open_counter(b);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

int bench_close(struct bench *b)
{
    if (b->counter >= 0) close(b->counter);
    return b->failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

void bench_skip(const struct bench *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "%s: skipped: ", b->program);
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(BENCH_SKIPPED);
}

/* -- lines --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct bench_summary bench_summarise(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    const double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return (struct bench_summary){median, values[0], values[n - 1]};
}

void bench_show(double value, char text[32])
{
    const double size = fabs(value);
    const int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
    snprintf(text, 32, "%.*f", digits, value);
}

void bench_print(FILE *out, const char *name, const char *unit,
                 const struct bench_summary *summary)
{
    char median[32], min[32], max[32];
    bench_show(summary->median, median);
    bench_show(summary->min, min);
    bench_show(summary->max, max);
    fprintf(out, "%-36s %10s %10s %10s  %s\n", name, median, min, max, unit);
}

bool bench_wants(const struct bench *b, const char *name)
{
    return !b->only || strstr(name, b->only);
}

void bench_line(const struct bench *b, const char *name, const char *unit, const double *values,
                size_t n)
{
    double sorted[BENCH_MAX_BATCHES];
    if (n == 0 || !bench_wants(b, name)) return;
    if (n > BENCH_MAX_BATCHES) n = BENCH_MAX_BATCHES;
    if (!b->raw) {
        memcpy(sorted, values, n * sizeof(*values));
        const struct bench_summary summary = bench_summarise(sorted, n);
        bench_print(stdout, name, unit, &summary);
        return;
    }
    printf("%s\t%s\t", name, unit);
    for (size_t i = 0; i < n; i++)
        printf("%.9g%c", values[i], i + 1 < n ? ' ' : '\n');
}

void bench_failed(struct bench *b, const char *name, const troupe_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", b->program, name, err->text);
    b->failures++;
}

/* -- batches ------------------------------------------------------------------------------- */

static troupe_status once_after_pause(const struct bench_work *work, uint64_t *ns,
                                      troupe_error *err)
{
    const struct timespec pause = {work->pause_us / 1000000, work->pause_us % 1000000 * 1000L};
    nanosleep(&pause, NULL);
    const uint64_t start = bench_now_ns();
    const troupe_status s = work->fn(work->arg, 1, err);
    *ns += bench_now_ns() - start;
    return s;
}

/* What `times` of the work take together. */
static troupe_status batch(const struct bench_work *work, uint64_t times, uint64_t *ns,
                           troupe_error *err)
{
    troupe_status s = TROUPE_OK;
    const uint64_t start = bench_now_ns();
    *ns = 0;
    if (!work->pause_us) {
        s = work->fn(work->arg, times, err);
        *ns = bench_now_ns() - start;
        return s;
    }
    for (uint64_t i = 0; i < times && s >= 0; i++)
        s = once_after_pause(work, ns, err);
    return s;
}

/* The best of three: one that was interrupted says nothing. */
static troupe_status best_batch(const struct bench_work *work, uint64_t times, uint64_t *ns,
                                troupe_error *err)
{
    troupe_status s = TROUPE_OK;
    *ns = UINT64_MAX;
    for (int i = 0; i < 3 && s >= 0; i++) {
        uint64_t took;
        s = batch(work, times, &took, err);
        if (took < *ns) *ns = took;
    }
    return s;
}

/* How many times make a batch. Trying that out warms the work up. */
static troupe_status size_batch(const struct bench *b, const struct bench_work *work,
                                uint64_t *times, troupe_error *err)
{
    const double want = b->batch_ms * 1e6;
    for (uint64_t n = 1;; n *= 2) {
        uint64_t ns;
        const troupe_status s = best_batch(work, n, &ns, err);
        if (s < 0) return s;
        const double all = (double)ns + (double)n * work->pause_us * 1e3;
        if (all < want / 4 && n < UINT64_MAX / 4) continue;
        *times = (uint64_t)ceil((double)n * (all < want ? want / all : 1));
        return TROUPE_OK;
    }
}

static double per(const struct bench_work *work)
{
    return work->per > 0 ? work->per : 1;
}

static double unit_ns(const char *unit)
{
    return unit[0] == 'n' ? 1 : unit[0] == 'u' ? 1e3 : 1e6;
}

static uint64_t instructions(const struct bench *b)
{
    uint64_t count = 0;
    if (b->counter >= 0 && read(b->counter, &count, sizeof(count)) != sizeof(count)) return 0;
    return count;
}

static troupe_status time_batches(const struct bench *b, const struct bench_work *work,
                                  double *values, double *counts, troupe_error *err)
{
    uint64_t times;
    troupe_status s = size_batch(b, work, &times, err);
    for (int i = 0; i < b->batches && s >= 0; i++) {
        uint64_t ns;
        const uint64_t before = instructions(b);
        s = batch(work, times, &ns, err);
        const double things = (double)times * per(work);
        counts[i] = (double)(instructions(b) - before) / things;
        values[i] = (double)ns / things / unit_ns(work->unit);
    }
    return s;
}

void bench_time(struct bench *b, const struct bench_work *work)
{
    double values[BENCH_MAX_BATCHES], counts[BENCH_MAX_BATCHES];
    char name[128];
    troupe_error err = {.text = ""};
    if (!bench_wants(b, work->name)) return;
    if (time_batches(b, work, values, counts, &err) < 0) {
        bench_failed(b, work->name, &err);
        return;
    }
    bench_line(b, work->name, work->unit, values, (size_t)b->batches);
    if (b->counter < 0) return;
    snprintf(name, sizeof(name), "%s.instructions", work->name);
    bench_line(b, name, "instructions", counts, (size_t)b->batches);
}

void bench_first(struct bench *b, const struct bench_work *work)
{
    troupe_error err = {.text = ""};
    uint64_t ns;
    if (!bench_wants(b, work->name)) return;
    if (batch(work, 1, &ns, &err) < 0) {
        bench_failed(b, work->name, &err);
        return;
    }
    const double value = (double)ns / per(work) / unit_ns(work->unit);
    bench_line(b, work->name, work->unit, &value, 1);
}

static troupe_status compare_batches(const struct bench *b, const struct bench_work *slow,
                                     const struct bench_work *fast, double *values,
                                     troupe_error *err)
{
    uint64_t slow_times, fast_times;
    troupe_status s = size_batch(b, slow, &slow_times, err);
    if (s >= 0) s = size_batch(b, fast, &fast_times, err);
    for (int i = 0; i < b->batches && s >= 0; i++) {
        uint64_t slow_ns, fast_ns = 0;
        s = batch(slow, slow_times, &slow_ns, err);
        if (s >= 0) s = batch(fast, fast_times, &fast_ns, err);
        values[i] = (double)slow_ns / ((double)slow_times * per(slow)) /
                    ((double)fast_ns / ((double)fast_times * per(fast)));
    }
    return s;
}

void bench_speedup(struct bench *b, const char *name, const struct bench_work *slow,
                   const struct bench_work *fast)
{
    double values[BENCH_MAX_BATCHES];
    troupe_error err = {.text = ""};
    if (!bench_wants(b, name)) return;
    if (compare_batches(b, slow, fast, values, &err) < 0)
        bench_failed(b, name, &err);
    else
        bench_line(b, name, "x", values, (size_t)b->batches);
}
