/* SPDX-License-Identifier: MIT
 *
 * bench/bench_calls.c - what a call costs: on one device, over two, many at once, from two
 * threads.
 *
 * Lines about one call and about two devices share one runtime, so that all hold in one
 * configuration; those without workers and from two threads have another, as their names say.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/calling.h"
#include "bench/pingpong.h"
#include "bench/subject.h"

/* -- from two threads ---------------------------------------------------------------------- */

/* A second thread that calls when it is told to. It stays, so that batches do not pay for its
 * start. */
struct helper {
    struct subject *subject;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t times; /* to do; 0: nothing */
    bool quit;
    troupe_status status; /* of the last times */
    troupe_error error;
};

static void *help(void *arg)
{
    struct helper *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->quit) {
        if (h->times) {
            pthread_mutex_unlock(&h->lock);
            h->status = subject_run(h->subject, h->times, &h->error);
            pthread_mutex_lock(&h->lock);
            h->times = 0;
            pthread_cond_broadcast(&h->changed);
        } else {
            pthread_cond_wait(&h->changed, &h->lock);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void tell(struct helper *h, uint64_t times, bool quit)
{
    pthread_mutex_lock(&h->lock);
    h->times = times;
    h->quit = quit;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static void await(struct helper *h)
{
    pthread_mutex_lock(&h->lock);
    while (h->times)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

static troupe_status run_on_two_threads(void *arg, uint64_t times, troupe_error *err)
{
    struct helper *h = arg;
    tell(h, times, false);
    troupe_status status = subject_run(h->subject, times, err);
    await(h);
    if (status >= 0 && h->status < 0) status = bench_fail(err, h->status, "%s", h->error.text);
    return status;
}

static void scale_threads(struct bench *b, struct subject *s)
{
    struct helper helper = {
        .subject = s, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const struct bench_work one = {.unit = "us", .fn = subject_run, .arg = s};
    const struct bench_work two = {
        .unit = "us", .per = 2, .fn = run_on_two_threads, .arg = &helper};
    if (pthread_create(&helper.thread, NULL, help, &helper) != 0) {
        b->failures++;
        return;
    }
    bench_speedup(b, "scale.threads", &one, &two);
    tell(&helper, 0, true);
    pthread_join(helper.thread, NULL);
}

/* -- two shards at once -------------------------------------------------------------------- */

/* What one product of such matrices takes, in microseconds: the best of some rows of eight. */
static troupe_status time_product(troupe_runtime *runtime, int size, double *us,
                                  troupe_error *err)
{
    struct subject s = {0};
    troupe_status status = subject_shards(&s, runtime, size, 4, 0, err);
    *us = 1e9;
    for (int i = 0; i < 10 && status >= 0; i++) {
        const uint64_t start = bench_now_ns();
        status = subject_run_once(&s, err);
        const double took = (double)(bench_now_ns() - start) / 8e3;
        if (took < *us) *us = took;
    }
    subject_release(&s);
    return status;
}

/* Matrices so large that a row of at least three products takes `us`. */
static troupe_status choose_size(troupe_runtime *runtime, double us, int *size, int *products,
                                 troupe_error *err)
{
    double product = us;
    troupe_status status = TROUPE_OK;
    for (*size = 512; *size > 8 && status >= 0 && product * 3 > us;) {
        *size /= 2;
        status = time_product(runtime, *size, &product, err);
    }
    *products = (int)(us / product + 0.5);
    if (*products < 1) *products = 1;
    return status;
}

static troupe_status make_pair(troupe_runtime *runtime, double us, struct subject pair[2],
                               troupe_error *err)
{
    int size, products;
    troupe_status status = choose_size(runtime, us, &size, &products, err);
    for (int i = 0; i < 2 && status >= 0; i++)
        status = subject_shards(&pair[i], runtime, size, products, i, err);
    return status;
}

/* Two shards on two devices against the same work on one. */
static void speed_up(struct bench *b, troupe_runtime *runtime, const char *name, double us,
                     unsigned pause_us)
{
    struct subject pair[2] = {{0}, {0}};
    troupe_error err;
    if (!bench_wants(b, name) || b->cpu >= 0) return; /* one CPU has nothing to gain */
    if (make_pair(runtime, us, pair, &err) < 0) {
        bench_failed(b, name, &err);
    } else {
        const struct bench_work together = {
            .unit = "us", .pause_us = pause_us, .fn = subject_run, .arg = &pair[0]};
        const struct bench_work apart = {
            .unit = "us", .pause_us = pause_us, .fn = subject_run, .arg = &pair[1]};
        bench_speedup(b, name, &together, &apart);
    }
    subject_release(&pair[0]);
    subject_release(&pair[1]);
}

/* -- bytes --------------------------------------------------------------------------------- */

/* Bytes that malloc has handed out; below 0 where the C library does not say. */
static double allocated(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    const struct mallinfo2 m = mallinfo2();
    return (double)(m.uordblks + m.hblkhd);
#else
    return -1;
#endif
}

/* What 1,000 calls that have begun and not ended hold, of memory that was not held before them.
 */
static void flight_bytes(struct bench *b)
{
    struct subject s = {0};
    struct ended ended = {0};
    troupe_runtime *runtime = NULL;
    troupe_error err;
    troupe_status status = subject_runtime(&runtime, TWO_CPUS, 0, &err);
    if (status >= 0) status = subject_one(&s, runtime, &err);
    if (status >= 0) status = call_and_dispatch(&s, 1, &err);
    const double before = status >= 0 ? allocated() : -1;
    for (int i = 0; i < CALLING_AT_ONCE && status >= 0; i++)
        status = call_begin(&s, &ended, NULL, &err);
    const double each = (allocated() - before) / CALLING_AT_ONCE;
    if (status >= 0) status = call_dispatch_until(&s, &ended, CALLING_AT_ONCE, &err);
    if (status >= 0 && before >= 0) bench_line(b, "flight.bytes", "bytes", &each, 1);
    if (status < 0) bench_failed(b, "flight.bytes", &err);
    subject_release(&s);
    if (runtime) troupe_close(&runtime);
}

/* -- groups of lines ----------------------------------------------------------------------- */

static void time_one(struct bench *b, troupe_runtime *runtime, const char *name,
                     subject_fn *make_it, bench_fn *fn, double per)
{
    struct subject s = {0};
    troupe_error err;
    if (!bench_wants(b, name)) return;
    if (make_it(&s, runtime, &err) < 0)
        bench_failed(b, name, &err);
    else
        bench_time(b, &(struct bench_work){name, "us", per, 0, fn, &s});
    subject_release(&s);
}

static void with_workers(struct bench *b, troupe_runtime *runtime)
{
    static const struct {
        const char *name;
        subject_fn *make_it;
        bench_fn *fn;
        double per;
    } lines[] = {
        {"run.one", subject_one, subject_run, 1},
        {"wait.one", subject_one, call_and_wait, 1},
        {"poll.one", subject_one, call_and_poll, 1},
        {"run.two", subject_two, subject_run, 1},
        {"edge.alternating", subject_alternating, subject_run, SUBJECT_CHAIN - 1},
        {"node.chain", subject_long_chain, subject_run, SUBJECT_CHAIN},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        time_one(b, runtime, lines[i].name, lines[i].make_it, lines[i].fn, lines[i].per);
    speed_up(b, runtime, "shards.16us", 16, 0);
    speed_up(b, runtime, "shards.64us", 64, 0);
    speed_up(b, runtime, "shards.1ms", 1000, 0);
    speed_up(b, runtime, "shards.10ms", 10000, 0);
    speed_up(b, runtime, "shards.16us.paused", 16, 1000);
    speed_up(b, runtime, "shards.64us.paused", 64, 1000);
}

static void without_workers(struct bench *b, troupe_runtime *runtime)
{
    time_one(b, runtime, "dispatch.one", subject_one, call_and_dispatch, 1);
    time_one(b, runtime, "dispatch.two", subject_two, call_and_dispatch, 1);
    time_one(b, runtime, "flight.call", subject_one, call_many, CALLING_AT_ONCE);
}

static void from_two_threads(struct bench *b, troupe_runtime *runtime)
{
    struct subject s = {0};
    troupe_error err;
    if (!bench_wants(b, "scale.threads") || b->cpu >= 0) return; /* as above */
    if (subject_one(&s, runtime, &err) < 0)
        bench_failed(b, "scale.threads", &err);
    else
        scale_threads(b, &s);
    subject_release(&s);
}

static void in_runtime(struct bench *b, const char *devices, int workers,
                       void (*group)(struct bench *b, troupe_runtime *runtime))
{
    troupe_runtime *runtime = NULL;
    troupe_error err;
    if (subject_runtime(&runtime, devices, workers, &err) < 0) {
        bench_failed(b, devices, &err);
        return;
    }
    group(b, runtime);
    if (troupe_close(&runtime) != TROUPE_OK) b->failures++;
}

int main(int argc, char **argv)
{
    struct bench b;
    bench_open(&b, argc, argv);
    in_runtime(&b, TWO_CPUS, TROUPE_AUTO, with_workers);
    in_runtime(&b, TWO_CPUS, 0, without_workers);
    in_runtime(&b, "cpu:0(threads=2)", TROUPE_AUTO, from_two_threads);
    if (bench_wants(&b, "flight.bytes")) flight_bytes(&b);
    pingpong(&b);
    return bench_close(&b);
}
