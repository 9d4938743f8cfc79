/* SPDX-License-Identifier: MIT
 *
 * actors/timers.h - deadlines of calls.
 *
 * A list in the order of deadlines under a lock (doc/decisions/0011). Whoever runs turns looks
 * at it now and then, and who sleeps sleeps no longer than to the first.
 */
#ifndef TP_ACTORS_TIMERS_H
#define TP_ACTORS_TIMERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "troupe/status.h"

struct tp_seat;
struct tp_timers;

/* Embedded in what has a deadline. Zeroed: not in the list. */
struct tp_timer {
    struct tp_timer *before, *after;
    uint64_t deadline_ns; /* of tp_clock_ns; 0: it is not in the list */
    /* Called once when the time has come, under the lock, on any thread: it only posts. */
    void (*fire)(struct tp_timer *timer, struct tp_seat *seat);
};

troupe_status tp_timers_new(struct tp_timers **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_timers_destroy(struct tp_timers **timers);
/* True when it is the first now: then someone who sleeps may have to be told. */
bool tp_timers_add(struct tp_timers *timers, struct tp_timer *timer, uint64_t deadline_ns);
/* Nothing to do when it has fired: afterwards it does not fire any more. */
void tp_timers_remove(struct tp_timers *timers, struct tp_timer *timer);
/* It has not fired yet. */
bool tp_timers_waits(struct tp_timers *timers, const struct tp_timer *timer);
/* The first deadline, or 0. */
uint64_t tp_timers_next(const struct tp_timers *timers);
/* Cheap enough for every turn: true when tp_timers_run should be called. */
bool tp_timers_due(const struct tp_timers *timers, uint32_t tick);
/* Fire what is due. */
void tp_timers_run(struct tp_timers *timers, struct tp_seat *seat);

#endif
