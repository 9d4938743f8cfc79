/* SPDX-License-Identifier: MIT
 *
 * actors/stage_threads.c - the threads of a stage: workers, looking for work, sleep and wake.
 *
 * The only file of the folder that starts threads. Looking ("spinning") is bounded: a waiting
 * caller looks for spin_us, a worker for a part of it that grows while looking finds work and
 * shrinks while it does not; nobody looks when more threads are awake than there are CPUs.
 */
#include "actors/stage.h"

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "actors/timers.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/probe.h"

#define HITS_MAX 8
#define LOOKS    4 /* looks at the list between two looks at the clock */

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool has_mail(const struct tp_actor *inbox)
{
    return inbox && atomic_load_explicit(&inbox->box, memory_order_relaxed) != TP_ASLEEP;
}

/* Published work that this thread may take. */
static bool has_work(const struct tp_seat *seat, memory_order order)
{
    if (seat->refused && !atomic_load_explicit(&seat->called, order)) return false;
    return atomic_load_explicit(&seat->stage->published, order) > 0;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    if (!a) return b;
    return b && b < a ? b : a;
}

/* Until there is something, it is `end`, or a timer is due. */
static bool look(const struct tp_seat *seat, const struct tp_actor *inbox, uint64_t end)
{
    const struct tp_stage *stage = seat->stage;
    do {
        TP_PACE("spin_look");
        for (int i = 0; i < LOOKS; i++) {
            pause_cpu();
            if (has_work(seat, memory_order_relaxed) || has_mail(inbox)) return true;
        }
        if (atomic_load_explicit(&stage->stop, memory_order_relaxed)) return false;
    } while (TP_PACE_UNPACED && tp_clock_ns() < sooner(end, tp_timers_next(stage->timers)));
    return false;
}

bool tp_stage_spin(struct tp_seat *seat, const struct tp_actor *inbox, uint64_t deadline_ns)
{
    struct tp_stage *stage = seat->stage;
    int64_t us = stage->spin_us;
    if (seat->worker) us = us * (seat->hits + 1) / (HITS_MAX + 1);
    if (us <= 0 || atomic_load_explicit(&stage->active, memory_order_relaxed) > stage->cpus)
        return false;
    /* seq_cst: pairs with tp_stage_publish, which wakes nobody while someone looks; who stops
     * looking parks, and there looks again after its announcement */
    bool takes = TP_FAULT(16) || !seat->refused;
    TP_PACE("spin_begin");
    if (takes) atomic_fetch_add_explicit(&stage->spinning, 1, memory_order_seq_cst);
    bool hit = look(seat, inbox, sooner(tp_clock_ns() + (uint64_t)us * 1000, deadline_ns));
    if (TP_FAULT(12) && takes && !hit) return false;
    TP_PACE("spin_end");
    if (takes) atomic_fetch_sub_explicit(&stage->spinning, 1, memory_order_seq_cst);
    if (seat->worker && hit) seat->hits = seat->hits > HITS_MAX - 2 ? HITS_MAX : seat->hits + 2;
    if (seat->worker && !hit && seat->hits) seat->hits--;
    return hit;
}

/* A woken worker often starts on its waker's CPU, and waits there until the waker is done: keep
 * it off. Never done to a thread that is not ours. Two wakers may do it at once; either
 * does. */
static void keep_off(struct tp_seat *seat, int cpu)
{
    cpu_set_t set = seat->cpus;
    if (cpu < 0 || atomic_load_explicit(&seat->away, memory_order_relaxed) == cpu ||
        !seat->thread_id)
        return;
    CPU_CLR(cpu, &set);
    if (CPU_COUNT(&set) && !sched_setaffinity(seat->thread_id, sizeof set, &set))
        atomic_store_explicit(&seat->away, cpu, memory_order_relaxed);
}

bool tp_stage_unpark(struct tp_seat *by, struct tp_seat *seat)
{
    /* seq_cst: pairs with tp_stage_park. Only who turns 1 into 0 wakes. */
    TP_PACE("unpark_look");
    if (!atomic_load_explicit(&seat->parked, memory_order_seq_cst)) return false;
    TP_PACE("unpark_take");
    if (!atomic_exchange_explicit(&seat->parked, 0, memory_order_seq_cst)) return false;
    if (by) {
        tp_tally(&by->wakes, 1);
        if (seat->worker) keep_off(seat, sched_getcpu());
    }
    TP_PACE("unpark_wake");
    tp_wake(&seat->parked, 1);
    return true;
}

bool tp_stage_call(struct tp_seat *by, struct tp_seat *seat)
{
    TP_PACE("call_set");
    atomic_store_explicit(&seat->called, 1, memory_order_seq_cst);
    return tp_stage_unpark(by, seat);
}

void tp_stage_wake_one(struct tp_stage *stage, struct tp_seat *by)
{
    TP_PACE("wake_pick");
    unsigned long long idle = atomic_load_explicit(&stage->idle, memory_order_seq_cst);
    while (idle) {
        unsigned long long bit = idle & -idle; /* workers have the low bits */
        if (!atomic_compare_exchange_weak_explicit(&stage->idle, &idle, idle & ~bit,
                                                   memory_order_seq_cst, memory_order_seq_cst))
            continue;
        int index = __builtin_ctzll(bit);
        tp_stage_unpark(by, atomic_load_explicit(&stage->seats[index], memory_order_relaxed));
        return;
    }
}

void tp_stage_set_timer(struct tp_stage *stage, struct tp_seat *by, struct tp_timer *timer,
                        uint64_t deadline_ns)
{
    TP_PACE("timer_set");
    bool first = tp_timers_add(stage->timers, timer, deadline_ns);
    if (first && !TP_FAULT(17)) tp_stage_wake_one(stage, by);
}

/* After the announcement: is there really nothing? */
static bool nothing_to_do(const struct tp_seat *seat, const struct tp_actor *inbox)
{
    const struct tp_stage *stage = seat->stage;
    TP_PACE("park_stop");
    if (atomic_load_explicit(&stage->stop, memory_order_seq_cst)) return false;
    if (TP_FAULT(7)) return true;
    TP_PACE("park_look");
    if (has_work(seat, memory_order_seq_cst)) return false;
    TP_PACE("park_mail");
    return !inbox || atomic_load_explicit(&inbox->box, memory_order_seq_cst) == TP_ASLEEP;
}

void tp_stage_park(struct tp_seat *seat, const struct tp_actor *inbox, uint64_t deadline_ns)
{
    struct tp_stage *stage = seat->stage;
    unsigned long long bit = seat->index < 64 ? 1ull << seat->index : 0;
    const bool early = TP_FAULT(11) && nothing_to_do(seat, inbox);
    /* The announcement: pairs with tp_stage_publish, and with `mail` of the inbox. */
    TP_PACE("park_announce");
    atomic_store_explicit(&seat->parked, 1, memory_order_seq_cst);
    TP_PACE("park_idle");
    atomic_fetch_or_explicit(&stage->idle, bit, memory_order_seq_cst);
    if (seat->counted) atomic_fetch_sub_explicit(&stage->active, 1, memory_order_relaxed);
    if (TP_FAULT(11) ? early : nothing_to_do(seat, inbox)) {
        tp_tally(&seat->sleeps, 1);
        TP_PACE("park_until");
        const uint64_t until = sooner(deadline_ns, tp_timers_next(stage->timers));
        TP_PACE("park_sleep");
        TP_PACE_AWAY();
        tp_sleep_on(&seat->parked, 1, until);
    }
    TP_PACE("park_awake");
    atomic_store_explicit(&seat->parked, 0, memory_order_seq_cst);
    TP_PACE("park_leave");
    atomic_fetch_and_explicit(&stage->idle, ~bit, memory_order_seq_cst);
    if (seat->counted) atomic_fetch_add_explicit(&stage->active, 1, memory_order_relaxed);
    if (TP_FAULT(12) && !seat->refused) atomic_fetch_sub(&stage->spinning, 1);
    tp_timers_run(stage->timers, seat);
}

void *tp_stage_worker(void *arg)
{
    struct tp_seat *seat = arg;
    struct tp_stage *stage = seat->stage;
    seat->thread_id = (int)syscall(SYS_gettid);
    if (stage->pinned && !tp_cpus_pin(&stage->cpus_of_workers))
        tp_log(WARN, "device-pin", "worker %d could not be pinned", seat->index);
    if (sched_getaffinity(0, sizeof seat->cpus, &seat->cpus)) CPU_ZERO(&seat->cpus);
    seat->counted = true;
    atomic_fetch_add_explicit(&stage->active, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stage->ready, 1, memory_order_release);
    tp_wake(&stage->ready, 1);
    for (;;) {
        TP_PACE("worker_stop");
        if (atomic_load_explicit(&stage->stop, memory_order_relaxed)) break;
        if (tp_stage_turn(seat, NULL, true)) continue;
        if (tp_stage_spin(seat, NULL, 0)) continue;
        tp_stage_park(seat, NULL, 0);
    }
    return NULL;
}

static troupe_status start_worker(struct tp_stage *stage, int i, troupe_error *err)
{
    char name[24];
    struct tp_seat *seat;
    TP_TRY(tp_seat_new(stage, true, &seat, err));
    tp_assert(seat->index == i);
    snprintf(name, sizeof name, "troupe-%d", i);
    return tp_thread_start(&stage->threads[i], name, tp_stage_worker, seat, err);
}

troupe_status tp_stage_start(struct tp_stage *stage, troupe_error *err)
{
    for (int i = 0; i < stage->workers; i++)
        TP_TRY(start_worker(stage, i, err));
    /* Handshake: open returns when every worker has begun. acquire: pairs with their release.
     */
    for (int n;
         (n = atomic_load_explicit(&stage->ready, memory_order_acquire)) < stage->workers;)
        tp_sleep_on(&stage->ready, n, 0);
    return TROUPE_OK;
}
