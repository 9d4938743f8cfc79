/* SPDX-License-Identifier: MIT
 *
 * bench/bench_loop.c - a call from one thread whose completion wakes a loop on another.
 *
 * The loop sleeps in poll, as one does that serves sockets besides; the thread that calls
 * sleeps on a futex until the loop has run the callback. So two sleepers are woken for each
 * call, as in the game of ping-pong that this is compared with in the same process.
 */
#include <poll.h>
#include <pthread.h>

#include "bench/bench.h"
#include "bench/pingpong.h"
#include "bench/subject.h"

enum turn { CALLERS, LOOPS, OVER };

struct loop {
    const struct subject *subject;
    troupe_caller *caller;
    pthread_mutex_t lock; /* a caller serves one thread at a time */
    atomic_int turn;      /* enum turn */
    troupe_error error;   /* of the loop, or of a call */
};

static void done(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                 size_t n)
{
    struct loop *loop = arg;
    (void)results;
    (void)n;
    if (error->code < 0) loop->error = *error;
}

static void *serve(void *arg)
{
    struct loop *loop = arg;
    struct pollfd fd = {.fd = troupe_caller_fd(loop->caller), .events = POLLIN};
    while (poll(&fd, 1, -1) > 0 && atomic_load(&loop->turn) != OVER) {
        pthread_mutex_lock(&loop->lock);
        const troupe_status status = troupe_caller_dispatch(loop->caller);
        pthread_mutex_unlock(&loop->lock);
        if (status == TROUPE_PENDING) continue;
        if (status < 0) bench_fail(&loop->error, status, "dispatch failed");
        pingpong_pass(&loop->turn, CALLERS);
    }
    return NULL;
}

static troupe_status call(struct loop *loop, enum turn turn, troupe_error *err)
{
    const struct subject *s = loop->subject;
    atomic_store(&loop->turn, turn);
    pthread_mutex_lock(&loop->lock);
    const troupe_status status =
        troupe_caller_call(loop->caller, s->function, (const troupe_tensor *const *)s->args,
                           s->n_args, s->options, done, loop, NULL, err);
    pthread_mutex_unlock(&loop->lock);
    if (status > 0) return bench_fail(err, TROUPE_INTERNAL, "%s", troupe_status_name(status));
    return status;
}

static troupe_status call_and_sleep(struct loop *loop, troupe_error *err)
{
    const troupe_status status = call(loop, LOOPS, err);
    if (status < 0) return status;
    pingpong_wait_while(&loop->turn, LOOPS);
    if (loop->error.code < 0) *err = loop->error;
    return loop->error.code;
}

static troupe_status wake_loop(void *arg, uint64_t times, troupe_error *err)
{
    struct loop loop = {.subject = arg, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    troupe_status status = troupe_caller_open(loop.subject->runtime, &loop.caller, err);
    if (status < 0) return status;
    if (pthread_create(&thread, NULL, serve, &loop) != 0) {
        (void)!troupe_caller_close(&loop.caller);
        return bench_fail(err, TROUPE_EXHAUSTED, "no thread");
    }
    for (uint64_t i = 0; i < times && status >= 0; i++)
        status = call_and_sleep(&loop, err);
    /* A last call is what wakes the loop to see that all is over. */
    const troupe_status ended = call(&loop, OVER, status < 0 ? NULL : err);
    if (ended == TROUPE_OK) pthread_join(thread, NULL);
    const troupe_status closed = troupe_caller_close(&loop.caller);
    return status < 0 ? status : ended < 0 ? ended : closed;
}

int main(int argc, char **argv)
{
    struct bench b;
    struct subject s = {0};
    troupe_runtime *runtime = NULL;
    troupe_error err;
    bench_open(&b, argc, argv);
    if (subject_runtime(&runtime, TWO_CPUS, TROUPE_AUTO, &err) < 0 ||
        subject_one(&s, runtime, &err) < 0) {
        bench_failed(&b, "loop", &err);
        return bench_close(&b);
    }
    const struct bench_work wake = {"loop.asleep", "us", 1, 0, wake_loop, &s};
    const struct bench_work game = {.unit = "us", .fn = pingpong_round_trips};
    bench_time(&b, &wake);
    bench_speedup(&b, "loop.asleep.pingpong", &wake, &game);
    subject_release(&s);
    if (troupe_close(&runtime) != TROUPE_OK) b.failures++;
    return bench_close(&b);
}
