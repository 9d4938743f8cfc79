/* SPDX-License-Identifier: MIT
 *
 * tests/soak.c - hours of mixed calls: memory and descriptors stay flat, every call ends once.
 *
 *   SOAK_SECONDS=3600 SOAK_THREADS=6 SOAK_SEED=1 tests/soak
 *
 * Threads call several functions with several batch sizes, by run, by call and wait, by call and
 * dispatch; they cancel, set deadlines and priorities, divide by zero, meet pools that fail, open
 * and close callers and runtimes. A line a minute tells how it goes. Status 1, with figures, when
 * a value is wrong, a call ends otherwise than it may, a thread stands still, or memory or
 * descriptors grow; at the end everything is closed and nothing may be left.
 */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "troupe/troupe.h"

#define THREADS_MAX 64
#define IN_FLIGHT   6
#define LARGEST     9000
#define STILL_S     120 /* a thread that ends no call for so long stands still */

static const char devices[] = "cpu:0(threads=2,memory=64M),cpu:1(threads=1,memory=64M)";

static const char text[] =
    "function twice(x: f32[n]) -> (y: f32[n])\n"
    "  y = Add(x, x) @cpu:0\n"
    "function over(x: f32[n]) -> (y: f32[n])\n"
    "  a = Mul(x, x) @cpu:1\n  b = Add(a, a) @cpu:0\n  y = Add(b, x) @cpu:1\n"
    "function chain(x: f32[n]) -> (y: f32[n])\n"
    "  a = Neg(x) @cpu:0\n  b = Neg(a) @cpu:1\n  c = Neg(b) @cpu:0\n  d = Neg(c) @cpu:1\n"
    "  e = Neg(d) @cpu:1\n  f = Neg(e) @cpu:0\n  y = Add(f, x) @cpu:0\n"
    "function share(x: f32[n], d: i32[]) -> (y: f32[n])\n"
    "  k = i32[] 12\n  q = Div(k, d) @cpu:1\n  c = Cast(q, to=f32) @cpu:1\n"
    "  y = Mul(x, c) @cpu:0\n";
static const char *const names[] = {"twice", "over", "chain", "share"};
enum { FUNCTIONS = 4, SHARE = 3 };

/* How calls ended. */
enum { WORKED, CANCELLED, LATE, BUSY, FAILED, STARVED, WAYS };

struct soak {
    troupe_runtime *runtime;
    troupe_function *f[FUNCTIONS];
    atomic_bool stop, wrong;
};

struct member {
    struct soak *soak;
    pthread_t thread;
    uint64_t state;
    atomic_ullong ended[WAYS];
    int in_flight;
    char said[300];
};

static void say(struct member *m, const char *what, const char *why)
{
    if (!m->said[0]) snprintf(m->said, sizeof(m->said), "%s: %s", what, why);
    atomic_store(&m->soak->wrong, true);
}

/* splitmix64 */
static uint32_t below(struct member *m, uint32_t n)
{
    uint64_t z = (m->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

/* -- One call ------------------------------------------------------------------------------ */

struct job {
    struct member *member;
    int which;
    int64_t n;
    float x; /* the first element; each is one more than the one before */
    int32_t d;
    troupe_tensor *args[2];
    bool may_end_early;
};

static float right(const struct job *job, float x)
{
    switch (job->which) {
    case 1:
        return 2 * x * x + x;
    case SHARE:
        return x * (float)(12 / job->d);
    default:
        return 2 * x;
    }
}

static bool job_make(struct member *m, struct job *job)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 16, 64, 700, LARGEST};
    const int32_t divisors[] = {1, 2, 3, 4, 6, 0};
    *job = (struct job){.member = m, .which = (int)below(m, FUNCTIONS)};
    job->n = sizes[below(m, sizeof(sizes) / sizeof(*sizes))];
    job->x = (float)below(m, 100);
    job->d = divisors[below(m, 6)];
    float data[LARGEST];
    for (int64_t i = 0; i < job->n; i++)
        data[i] = job->x + (float)(i % 50);
    if (troupe_tensor_new(&job->args[0], TROUPE_F32, 1, &job->n, data, NULL)) return false;
    if (job->which != SHARE) return true;
    return troupe_tensor_new(&job->args[1], TROUPE_I32, 0, NULL, &job->d, NULL) == TROUPE_OK;
}

static void job_drop(struct job *job)
{
    troupe_tensor_release(&job->args[0]);
    troupe_tensor_release(&job->args[1]);
}

static void check_values(const struct job *job, const troupe_tensor *y)
{
    const float *data = troupe_tensor_data(y);
    for (int64_t i = 0; i < job->n; i++)
        if (data[i] != right(job, job->x + (float)(i % 50))) {
            say(job->member, names[job->which], "a wrong value");
            return;
        }
}

/* Count how it ended, and see that it may. */
static void judge(struct job *job, const troupe_error *error,
                  const troupe_tensor *const *results)
{
    int way = FAILED;
    const bool by_zero = job->which == SHARE && job->d == 0;
    switch (error->code) {
    case TROUPE_OK:
        way = WORKED;
        if (by_zero)
            say(job->member, "share", "a division by zero worked");
        else
            check_values(job, results[0]);
        break;
    case TROUPE_CANCELLED:
    case TROUPE_TIMED_OUT:
        way = error->code == TROUPE_CANCELLED ? CANCELLED : LATE;
        if (!job->may_end_early) say(job->member, names[job->which], error->text);
        break;
    case TROUPE_BUSY:
        way = BUSY;
        break;
    case TROUPE_EXHAUSTED:
        way = STARVED;
        break;
    default:
        if (!by_zero || error->code != TROUPE_INVALID)
            say(job->member, names[job->which], error->text);
    }
    atomic_fetch_add_explicit(&job->member->ended[way], 1, memory_order_relaxed);
}

static size_t arguments(const struct job *job)
{
    return job->which == SHARE ? 2 : 1;
}

static void options_make(struct member *m, struct job *job, troupe_call_options *options)
{
    *options = (troupe_call_options)TROUPE_CALL_OPTIONS_INIT;
    if (below(m, 4) == 0) options->priority = (int)below(m, 5) - 2;
    if (below(m, 4) == 0) options->deadline_s = 1e-6 * (1 + below(m, 2000));
    job->may_end_early |= options->deadline_s > 0;
    options->profile = below(m, 16) == 0;
}

/* -- Ways to call -------------------------------------------------------------------------- */

static void run_one(struct member *m, troupe_runtime *runtime)
{
    struct job job;
    troupe_tensor *y = NULL;
    troupe_error err = {.code = TROUPE_OK};
    troupe_report *report = NULL;
    troupe_call_options options;
    if (!job_make(m, &job)) {
        say(m, "job", "no memory");
        return;
    }
    options_make(m, &job, &options);
    options.report = &report;
    const bool plain = below(m, 2);
    if (plain) job.may_end_early = false;
    const troupe_status status =
        troupe_run(runtime, m->soak->f[job.which], (const troupe_tensor *const *)job.args,
                   arguments(&job), &y, 1, plain ? NULL : &options, &err);
    err.code = status;
    judge(&job, &err, (const troupe_tensor *const *)&y);
    if (!plain) troupe_report_release(&report);
    troupe_tensor_release(&y);
    job_drop(&job);
}

static void done(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                 size_t n)
{
    struct job *job = arg;
    (void)n;
    judge(job, error, results);
    job_drop(job);
    job->member->in_flight--;
}

/* Several in flight; some are cancelled, and some are children of the first. */
static void call_some(struct member *m, troupe_runtime *runtime, troupe_caller *caller)
{
    struct job jobs[IN_FLIGHT];
    uint64_t calls[IN_FLIGHT] = {0};
    const int n = 1 + (int)below(m, IN_FLIGHT);
    m->in_flight = 0;
    for (int i = 0; i < n; i++) {
        troupe_call_options options;
        troupe_error err = {.code = TROUPE_OK};
        if (!job_make(m, &jobs[i])) continue;
        jobs[i].may_end_early = true;
        options_make(m, &jobs[i], &options);
        if (i && below(m, 3) == 0) options.parent = calls[0];
        const troupe_status status = troupe_caller_call(
            caller, m->soak->f[jobs[i].which], (const troupe_tensor *const *)jobs[i].args,
            arguments(&jobs[i]), &options, done, &jobs[i], &calls[i], &err);
        if (status == TROUPE_OK) {
            m->in_flight++;
            continue;
        }
        err.code = status;
        judge(&jobs[i], &err, NULL);
        job_drop(&jobs[i]);
    }
    if (below(m, 2)) troupe_cancel(runtime, calls[below(m, (uint32_t)n)]);
    while (m->in_flight > 0)
        if (below(m, 3) == 0)
            (void)troupe_caller_dispatch(caller);
        else if (troupe_caller_wait(caller, 0, 1000) < 0)
            say(m, "wait", "failed");
}

/* Close with calls in flight: each of them ends once. */
static void close_early(struct member *m, troupe_caller **caller)
{
    static const int n = 3;
    struct job jobs[3];
    m->in_flight = 0;
    for (int i = 0; i < n; i++) {
        if (!job_make(m, &jobs[i])) continue;
        jobs[i].may_end_early = true;
        if (troupe_caller_call(*caller, m->soak->f[jobs[i].which],
                               (const troupe_tensor *const *)jobs[i].args, arguments(&jobs[i]),
                               NULL, done, &jobs[i], NULL, NULL) == TROUPE_OK)
            m->in_flight++;
        else
            job_drop(&jobs[i]);
    }
    if (troupe_caller_close(caller)) say(m, "caller", "did not close");
    if (m->in_flight) say(m, "caller", "closed before its calls had ended");
}

static void own_runtime(struct member *m)
{
    troupe_runtime *runtime = NULL;
    troupe_error err;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.workers = (int)below(m, 3);
    if (troupe_open(&runtime, &options, &err)) {
        say(m, "open", err.text);
        return;
    }
    (void)troupe_fd(runtime);
    for (uint32_t i = below(m, 8); i > 0; i--)
        run_one(m, runtime);
    if (troupe_close(&runtime)) say(m, "runtime", "did not close");
}

static void *work(void *arg)
{
    struct member *m = arg;
    troupe_caller *caller = NULL;
    troupe_error err;
    while (!atomic_load(&m->soak->stop)) {
        if (!caller && troupe_caller_open(m->soak->runtime, &caller, &err)) {
            say(m, "caller", err.text);
            break;
        }
        const uint32_t what = below(m, 1000);
        if (what == 0)
            own_runtime(m);
        else if (what < 10)
            close_early(m, &caller);
        else if (what == 10)
            (void)troupe_caller_fd(caller);
        else if (what < 500)
            run_one(m, m->soak->runtime);
        else
            call_some(m, m->soak->runtime, caller);
    }
    if (caller && troupe_caller_close(&caller)) say(m, "caller", "did not close");
    return NULL;
}

/* -- Figures ------------------------------------------------------------------------------- */

static long resident_kb(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int descriptors(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return 0;
    while (readdir(folder))
        n++;
    closedir(folder);
    return n - 3; /* ".", "..", and the folder's own */
}

struct peak {
    long kb;
    size_t pieces;
    int fds;
};

static void raise_peak(struct peak *peak)
{
    const long kb = resident_kb();
    const size_t pieces = tp_alloc_pieces();
    const int fds = descriptors();
    if (kb > peak->kb) peak->kb = kb;
    if (pieces > peak->pieces) peak->pieces = pieces;
    if (fds > peak->fds) peak->fds = fds;
}

static void print_line(const struct member *members, int n, uint64_t seconds)
{
    uint64_t ways[WAYS] = {0}, all = 0;
    for (int i = 0; i < n; i++)
        for (int w = 0; w < WAYS; w++)
            ways[w] += atomic_load(&members[i].ended[w]);
    for (int w = 0; w < WAYS; w++)
        all += ways[w];
    printf("soak: %5" PRIu64 " s, %" PRIu64 " calls: %" PRIu64 " worked, %" PRIu64
           " cancelled, %" PRIu64 " late, %" PRIu64 " busy, %" PRIu64 " failed, %" PRIu64
           " without memory; %ld kB, %zu pieces, %d descriptors\n",
           seconds, all, ways[WORKED], ways[CANCELLED], ways[LATE], ways[BUSY], ways[FAILED],
           ways[STARVED], resident_kb(), tp_alloc_pieces(), descriptors());
    fflush(stdout);
}

/* A tenth and a constant are noise of the C library's arenas and of what caches hold by chance;
 * what is lost for each call is far more after a minute. */
static bool flat(const struct peak *first, const struct peak *last)
{
    const bool memory = last->kb <= first->kb + first->kb / 10 + 8192;
    const bool pieces = last->pieces <= first->pieces + first->pieces / 10 + 2000;
    const bool fds = last->fds <= first->fds + 16;
    printf("soak: at most %ld then %ld kB, %zu then %zu pieces, %d then %d descriptors: %s\n",
           first->kb, last->kb, first->pieces, last->pieces, first->fds, last->fds,
           memory && pieces && fds ? "flat" : "NOT FLAT");
    return memory && pieces && fds;
}

/* -- The whole ----------------------------------------------------------------------------- */

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtoull(value, NULL, 10) : otherwise;
}

static bool set_up(struct soak *soak, troupe_error *err)
{
    troupe_library *library = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.max_calls = 20;
    bool worked =
        troupe_open(&soak->runtime, &options, err) == TROUPE_OK &&
        troupe_library_new(&library, err) == TROUPE_OK &&
        troupe_library_read(library, "soak", text, sizeof(text) - 1, err) == TROUPE_OK;
    for (int i = 0; worked && i < FUNCTIONS; i++)
        worked = troupe_library_find(library, names[i], &soak->f[i], err) == TROUPE_OK;
    troupe_library_destroy(&library);
    return worked;
}

static uint64_t all_ended(const struct member *m)
{
    uint64_t n = 0;
    for (int w = 0; w < WAYS; w++)
        n += atomic_load(&m->ended[w]);
    return n;
}

/* A thread that has not ended a call since `seen`, for so many looks. */
static bool stands_still(const struct member *m, uint64_t *seen, int *looks)
{
    const uint64_t now = all_ended(m);
    *looks = now == *seen ? *looks + 1 : 0;
    *seen = now;
    return *looks > STILL_S;
}

/* Watch for that many seconds; false when something is wrong. */
static bool watch(struct soak *soak, struct member *members, int n, uint64_t seconds)
{
    struct peak first = {0}, last = {0};
    uint64_t seen[THREADS_MAX] = {0};
    int looks[THREADS_MAX] = {0};
    for (uint64_t s = 1; s <= seconds && !atomic_load(&soak->wrong); s++) {
        const struct timespec second = {1, 0};
        nanosleep(&second, NULL);
        if (s % 60 == 0 || s == seconds) print_line(members, n, s);
        if (s % 2)
            (void)troupe_device_fail_at(soak->runtime, s % 4 == 1 ? "cpu:0" : "cpu:1", 3);
        if (s > seconds / 5) raise_peak(s <= seconds * 3 / 5 ? &first : &last);
        for (int i = 0; i < n; i++)
            if (stands_still(&members[i], &seen[i], &looks[i])) {
                printf("soak: thread %d has ended no call for %d s\n", i, STILL_S);
                _exit(1); /* it cannot be waited for */
            }
    }
    return !atomic_load(&soak->wrong) && flat(&first, &last);
}

static bool play(struct soak *soak, int n, uint64_t seconds)
{
    static struct member members[THREADS_MAX];
    for (int i = 0; i < n; i++) {
        members[i] =
            (struct member){.soak = soak, .state = setting("SOAK_SEED", 1) + (uint64_t)i};
        if (pthread_create(&members[i].thread, NULL, work, &members[i])) abort();
    }
    bool right_so_far = watch(soak, members, n, seconds);
    atomic_store(&soak->stop, true);
    for (int i = 0; i < n; i++)
        pthread_join(members[i].thread, NULL);
    for (int i = 0; i < n; i++)
        if (members[i].said[0]) printf("soak: thread %d: %s\n", i, members[i].said);
    return right_so_far && !atomic_load(&soak->wrong);
}

int main(void)
{
    struct soak soak = {0};
    troupe_error err = {.text = ""};
    const uint64_t seconds = setting("SOAK_SECONDS", 3600);
    const uint64_t threads = setting("SOAK_THREADS", 6);
    const int n = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : (int)threads;
    const size_t pieces = tp_alloc_pieces();
    const int fds = descriptors();
    if (!set_up(&soak, &err)) {
        printf("soak: %s\n", err.text);
        return 1;
    }
    bool right_all = play(&soak, n, seconds);
    if (troupe_close(&soak.runtime)) right_all = false;
    for (int i = 0; i < FUNCTIONS; i++)
        troupe_function_release(&soak.f[i]);
    const bool clean = tp_alloc_pieces() == pieces && descriptors() == fds;
    if (!clean)
        printf("soak: %zu pieces of memory and %d descriptors are left\n",
               tp_alloc_pieces() - pieces, descriptors() - fds);
    return right_all && clean ? 0 : 1;
}
