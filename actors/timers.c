/* SPDX-License-Identifier: MIT
 *
 * actors/timers.c - deadlines of calls.
 */
#include "actors/timers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

#define TURNS_A_LOOK 16 /* the clock costs 25 ns */

struct tp_timers {
    struct tp_lock lock;
    struct tp_timer head; /* a ring: after is the first, before the last */
    /* head.after's deadline, or 0: written under the lock, read without it; relaxed, since a
     * late look only delays */
    atomic_ullong next;
};

troupe_status tp_timers_new(struct tp_timers **out, troupe_error *err)
{
    struct tp_timers *timers = tp_alloc(sizeof *timers);
    if (!timers) return tp_fail_memory(err, sizeof *timers);
    tp_lock_init(&timers->lock);
    timers->head.before = timers->head.after = &timers->head;
    *out = timers;
    return TROUPE_OK;
}

void tp_timers_destroy(struct tp_timers **at)
{
    struct tp_timers *timers = *at;
    *at = NULL;
    if (!timers) return;
    tp_lock_fini(&timers->lock);
    tp_free(timers);
}

static void set_next(struct tp_timers *timers)
{
    atomic_store_explicit(&timers->next, timers->head.after->deadline_ns, memory_order_seq_cst);
}

static void unlink_timer(struct tp_timer *timer)
{
    timer->before->after = timer->after;
    timer->after->before = timer->before;
    timer->deadline_ns = 0;
}

/* Most deadlines are as far ahead as the one before: look from the end. */
bool tp_timers_add(struct tp_timers *timers, struct tp_timer *timer, uint64_t deadline_ns)
{
    tp_lock_take(&timers->lock);
    struct tp_timer *at = timers->head.before;
    while (at != &timers->head && at->deadline_ns > deadline_ns)
        at = at->before;
    timer->deadline_ns = deadline_ns;
    timer->before = at;
    timer->after = at->after;
    at->after->before = timer;
    at->after = timer;
    set_next(timers);
    tp_lock_drop(&timers->lock);
    return at == &timers->head;
}

void tp_timers_remove(struct tp_timers *timers, struct tp_timer *timer)
{
    tp_lock_take(&timers->lock);
    if (timer->deadline_ns) {
        unlink_timer(timer);
        set_next(timers);
    }
    tp_lock_drop(&timers->lock);
}

bool tp_timers_waits(struct tp_timers *timers, const struct tp_timer *timer)
{
    tp_lock_take(&timers->lock);
    bool waits = timer->deadline_ns != 0;
    tp_lock_drop(&timers->lock);
    return waits;
}

uint64_t tp_timers_next(const struct tp_timers *timers)
{
    return atomic_load_explicit(&timers->next, memory_order_seq_cst);
}

bool tp_timers_due(const struct tp_timers *timers, uint32_t tick)
{
    uint64_t next = atomic_load_explicit(&timers->next, memory_order_relaxed);
    return next && tick % TURNS_A_LOOK == 0 && tp_clock_ns() >= next;
}

void tp_timers_run(struct tp_timers *timers, struct tp_seat *seat)
{
    uint64_t next = tp_timers_next(timers);
    if (!next || tp_clock_ns() < next) return;
    uint64_t now = tp_clock_ns();
    tp_lock_take(&timers->lock);
    for (struct tp_timer *t;
         (t = timers->head.after) != &timers->head && t->deadline_ns <= now;) {
        unlink_timer(t);
        t->fire(t, seat);
    }
    set_next(timers);
    tp_lock_drop(&timers->lock);
}
