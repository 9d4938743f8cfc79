/* SPDX-License-Identifier: MIT
 *
 * bench/calling.c - calls that end in a callback.
 */
#include "bench/calling.h"

#include <poll.h>

static void done(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                 size_t n)
{
    struct ended *ended = arg;
    (void)results;
    (void)n;
    ended->n++;
    if (error->code < 0) ended->error = *error;
}

troupe_status call_begin(const struct subject *s, struct ended *ended, uint64_t *call,
                         troupe_error *err)
{
    const troupe_status status =
        troupe_call(s->runtime, s->function, (const troupe_tensor *const *)s->args, s->n_args,
                    s->options, done, ended, call, err);
    if (status > 0) return bench_fail(err, TROUPE_INTERNAL, "%s", troupe_status_name(status));
    return status;
}

static troupe_status outcome(const struct ended *ended, troupe_error *err)
{
    if (ended->error.code >= 0) return TROUPE_OK;
    return bench_fail(err, ended->error.code, "%s", ended->error.text);
}

troupe_status call_dispatch_until(const struct subject *s, const struct ended *ended,
                                  uint64_t n, troupe_error *err)
{
    while (ended->n < n)
        if (troupe_dispatch(s->runtime) < 0)
            return bench_fail(err, TROUPE_INTERNAL, "dispatch failed");
    return outcome(ended, err);
}

troupe_status call_and_dispatch(void *arg, uint64_t times, troupe_error *err)
{
    struct ended ended = {0};
    troupe_status status = TROUPE_OK;
    for (uint64_t i = 0; i < times && status >= 0; i++) {
        status = call_begin(arg, &ended, NULL, err);
        if (status >= 0) status = call_dispatch_until(arg, &ended, i + 1, err);
    }
    return status;
}

troupe_status call_and_wait(void *arg, uint64_t times, troupe_error *err)
{
    const struct subject *s = arg;
    struct ended ended = {0};
    for (uint64_t i = 0; i < times; i++) {
        uint64_t call;
        const troupe_status status = call_begin(s, &ended, &call, err);
        if (status < 0) return status;
        if (troupe_wait(s->runtime, call, -1) != TROUPE_OK)
            return bench_fail(err, TROUPE_INTERNAL, "wait failed");
    }
    return outcome(&ended, err);
}

troupe_status call_and_poll(void *arg, uint64_t times, troupe_error *err)
{
    const struct subject *s = arg;
    struct ended ended = {0};
    struct pollfd fd = {.fd = troupe_fd(s->runtime), .events = POLLIN};
    for (uint64_t i = 0; i < times; i++) {
        const troupe_status status = call_begin(s, &ended, NULL, err);
        if (status < 0) return status;
        while (ended.n <= i)
            if (poll(&fd, 1, -1) < 0 || troupe_dispatch(s->runtime) < 0)
                return bench_fail(err, TROUPE_INTERNAL, "poll or dispatch failed");
    }
    return outcome(&ended, err);
}

troupe_status call_many(void *arg, uint64_t times, troupe_error *err)
{
    troupe_status status = TROUPE_OK;
    for (uint64_t i = 0; i < times && status >= 0; i++) {
        struct ended ended = {0};
        for (int k = 0; k < CALLING_AT_ONCE && status >= 0; k++)
            status = call_begin(arg, &ended, NULL, err);
        if (status >= 0) status = call_dispatch_until(arg, &ended, CALLING_AT_ONCE, err);
    }
    return status;
}
