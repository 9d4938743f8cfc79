/* SPDX-License-Identifier: MIT
 *
 * bench/calling.h - the ways to make a call that ends in a callback, each a bench_fn on a
 * struct subject.
 */
#ifndef TP_BENCH_CALLING_H
#define TP_BENCH_CALLING_H

#include "bench/subject.h"

#define CALLING_AT_ONCE 1000

struct ended {
    uint64_t n;
    troupe_error error; /* the last one; code OK: none */
};

/* Begin a call that counts in `ended` when it ends. */
troupe_status call_begin(const struct subject *s, struct ended *ended, uint64_t *call,
                         troupe_error *err);
/* Dispatch until `n` calls have ended. Without workers that also does their work. */
troupe_status call_dispatch_until(const struct subject *s, const struct ended *ended,
                                  uint64_t n, troupe_error *err);

/* One at a time: troupe_call, then troupe_dispatch until it has ended. */
troupe_status call_and_dispatch(void *arg, uint64_t times, troupe_error *err);
/* ... then troupe_wait. */
troupe_status call_and_wait(void *arg, uint64_t times, troupe_error *err);
/* ... then poll and troupe_dispatch, as a loop does it that sleeps in poll. */
troupe_status call_and_poll(void *arg, uint64_t times, troupe_error *err);
/* Begin CALLING_AT_ONCE calls, then dispatch until all have ended. */
troupe_status call_many(void *arg, uint64_t times, troupe_error *err);

#endif
