/* SPDX-License-Identifier: MIT
 *
 * actors/stage.h - the actors of one process that can run, and who runs them.
 *
 * A seat is a place for a thread that runs turns: each worker has one, and so has each caller,
 * whose thread runs turns while it waits. A seat has a private queue of runnable actors, which
 * nobody steals from; work is shared by publishing it to one list, which idle threads look at.
 * When that pays is decided from estimates: see stage.c.
 *
 * Sleeping is announced: a thread says that it sleeps, looks once more at everything that could
 * concern it, then sleeps; who makes work looks for announcements afterwards. All of these are
 * seq_cst, so one of the two sees the other.
 */
#ifndef TP_ACTORS_STAGE_H
#define TP_ACTORS_STAGE_H

#include <sched.h>

#include "actors/actor.h"
#include "base/affinity.h"
#include "base/thread.h"

#define TP_SEATS_MAX   4096
#define TP_WORKERS_MAX 32

struct tp_stage;
struct tp_rehearsal;

/* A device's permit, as a seat holds it. */
enum tp_permit {
    TP_PERMIT_NONE,
    TP_PERMIT_IDLE, /* held, not in use: the device may take it away */
    TP_PERMIT_USED, /* a turn runs under it */
};

/* What a seat has of one device. */
struct tp_seat_device {
    atomic_int permit; /* enum tp_permit */
    /* Statistics, relaxed; written by the seat's thread alone. */
    atomic_ullong shards, steps;
};

/* Add to a statistic that only this thread writes. */
static inline void tp_tally(atomic_ullong *figure, uint64_t n)
{
    atomic_store_explicit(figure, atomic_load_explicit(figure, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

struct tp_seat {
    struct tp_stage *stage;
    struct tp_actor *head, *tail; /* runnable, oldest first; this thread's alone */
    struct tp_actor *offered;     /* the last of them that tp_stage_offer has seen, or NULL */
    struct tp_actor *last_to;     /* tp_post_last's receiver, */
    struct tp_message *last;      /* and messages, oldest first, until the turn is over */
    struct tp_actor *running;
    uint64_t credit, credit_at; /* work that was worth sharing lately, see stage.c */
    uint32_t tick;              /* turns, for what is done now and then */
    int index;                  /* in stage->seats */
    int hits;                   /* how well spinning paid, 0..8 */
    atomic_int away;            /* the CPU this worker was moved off, or -1; relaxed */
    cpu_set_t cpus;             /* those that it began with */
    int thread_id;              /* of a worker, for its affinity; 0 otherwise */
    bool worker;
    bool
        refused; /* the oldest published work is not for this thread: it does not wait for it */
    bool gave_way; /* the last turn: others come first now */
    bool counted;  /* in stage->active */
    /* Work of its calls was published: it looks once more, although it refused. seq_cst: set
     * before `parked` is looked at. */
    atomic_int called;
    atomic_ullong sleeps, wakes;                    /* statistics, relaxed */
    struct tp_seat_device *at;                      /* per device */
    atomic_int parked __attribute__((aligned(64))); /* 1 while it sleeps or is about to */
} __attribute__((aligned(128)));

struct tp_stage_options {
    int workers; /* 0..TP_WORKERS_MAX */
    int spin_us;
    int devices;                /* how many permits a seat needs room for */
    uint64_t *seed;             /* not NULL: a rehearsal with that seed */
    bool wire;                  /* every message goes through the codec: a test of it */
    const struct tp_cpus *cpus; /* where workers stay, or NULL: anywhere */
};

struct tp_timer;
struct tp_timers;

/* How a group's owner is told of work for it that is published. Any thread. coming and taken
 * are NULL where there are workers, which look by themselves. */
struct tp_herald {
    void (*coming)(void *group); /* before others can see it */
    /* Afterwards; true: the owner waited, and is woken. by may be NULL. */
    bool (*come)(void *group, struct tp_seat *by);
    void (*taken)(void *group); /* someone runs it now; once for each `coming` */
};

struct tp_stage {
    int workers, cpus, spin_us, devices;
    bool shares;                    /* there may be anyone to share work with */
    bool wire;                      /* messages are encoded and decoded on their way */
    bool rare;                      /* that, or a rehearsal: a post looks at this alone */
    struct tp_rehearsal *rehearsal; /* NULL: real threads */
    struct tp_timers *timers;
    const struct tp_herald *herald; /* NULL: nobody to tell */
    bool pinned;                    /* workers stay on the following */
    struct tp_cpus cpus_of_workers;
    struct tp_thread threads[TP_WORKERS_MAX];
    /* Calls in flight whose priority is not 0. Relaxed: it says how permits are taken, and
     * either way is right. */
    atomic_int ranked;
    struct tp_lock lock; /* seats are added under it */
    atomic_int n_seats;
    _Atomic(struct tp_seat *) seats[TP_SEATS_MAX]; /* never freed before the stage */
    atomic_bool stop;
    atomic_int ready; /* workers that have begun, and later that have ended */
    /* Published work: how many; newest first; taken over into `fifo` under `fifo_busy`. */
    atomic_int published __attribute__((aligned(64)));
    _Atomic(struct tp_actor *) inject __attribute__((aligned(64)));
    struct tp_actor *fifo, *fifo_last; /* fifo_last: set unless fifo is NULL */
    atomic_int fifo_busy;
    atomic_ullong idle __attribute__((aligned(64))); /* bit i: seat i sleeps */
    atomic_int spinning;                             /* seats that look at `published` */
    atomic_int active;                               /* threads that are awake in the stage */
};

/* Calls of several priorities may be in flight. */
static inline bool tp_stage_ranked(const struct tp_stage *stage)
{
    return atomic_load_explicit(&stage->ranked, memory_order_relaxed) > 0;
}

troupe_status tp_stage_open(struct tp_stage **out, const struct tp_stage_options *options,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* End the workers: after that no thread of ours touches an actor. No actor may be runnable any
 * more. Again: nothing. */
void tp_stage_stop(struct tp_stage *stage);
/* Stop, and free the seats. */
void tp_stage_close(struct tp_stage **stage);

/* A seat for the calling thread. EXHAUSTED: TP_SEATS_MAX are taken. */
troupe_status tp_seat_new(struct tp_stage *stage, bool worker, struct tp_seat **out,
                          troupe_error *err) TROUPE_MUST_CHECK;

/* Run one turn of an actor that is runnable here or published: of `group` or NULL's first and
 * always, of another only when `others` or when it is short. False: there was none. */
bool tp_stage_turn(struct tp_seat *seat, const void *group, bool others);
/* After calls were started: hand what is worth it to others. Each actor is looked at once, so
 * that a thousand calls that are begun one after the other take a thousand looks. */
void tp_stage_offer(struct tp_seat *seat, const void *group);
/* Hand all that is runnable here to others, since this thread goes away: what is short is run
 * first, unless it works for `group` and there are no workers; without them also all that is
 * nobody's own. */
void tp_stage_leave(struct tp_seat *seat, const void *group);
/* Let others run what is runnable here, since this thread is in something long; nothing is run.
 */
void tp_stage_hand_over(struct tp_seat *seat, const void *group);
/* Look for work for a short time, at most until deadline_ns (0: none). True: there may be some
 * (or *inbox is not asleep). */
bool tp_stage_spin(struct tp_seat *seat, const struct tp_actor *inbox, uint64_t deadline_ns);
/* Sleep until there may be work, or *inbox (may be NULL) has mail, or deadline_ns passes (0:
 * none). */
void tp_stage_park(struct tp_seat *seat, const struct tp_actor *inbox, uint64_t deadline_ns);
/* Work that this seat does not refuse was published: see that it looks. True: it was woken. */
bool tp_stage_call(struct tp_seat *by, struct tp_seat *seat);
/* Wake that seat if it sleeps; true then. `by` may be NULL. */
bool tp_stage_unpark(struct tp_seat *by, struct tp_seat *seat);
/* Set a deadline, and wake someone when those who sleep would sleep longer. `by` may be
 * NULL. */
void tp_stage_set_timer(struct tp_stage *stage, struct tp_seat *by, struct tp_timer *timer,
                        uint64_t deadline_ns);
/* Let other threads take an actor that is runnable; one that sleeps is woken unless someone
 * looks for work. by may be NULL. */
void tp_stage_publish(struct tp_stage *stage, struct tp_seat *by, struct tp_actor *actor);
/* Without workers: let the owner of a group look at what is published, again and again until it
 * is calmed, once for each alert. Calm: any thread. */
void tp_stage_alert(struct tp_stage *stage, struct tp_seat *by, void *group);
void tp_stage_calm(struct tp_stage *stage, void *group);

/* A worker's life; stage_threads.c. */
void *tp_stage_worker(void *seat);
troupe_status tp_stage_start(struct tp_stage *stage, troupe_error *err) TROUPE_MUST_CHECK;

/* One thread and a seed; stage_rehearsal.c. */
troupe_status tp_rehearsal_new(struct tp_rehearsal **out, uint64_t seed,
                               troupe_error *err) TROUPE_MUST_CHECK;
void tp_rehearsal_destroy(struct tp_rehearsal **rehearsal);
/* from: the actor whose turn it is, or NULL. */
void tp_rehearsal_post(struct tp_rehearsal *rehearsal, struct tp_actor *from,
                       struct tp_actor *to, struct tp_message *message);
/* Deliver one message. False: the bag is empty. */
bool tp_rehearsal_step(struct tp_rehearsal *rehearsal, struct tp_seat *seat);

/* Let the actor handle one message, which is dropped afterwards unless the handler took it;
 * stage.c. */
void tp_stage_handle(struct tp_seat *seat, struct tp_actor *actor, struct tp_message *message);
/* Post what tp_post_last kept. */
void tp_stage_last_word(struct tp_seat *seat);
void tp_stage_wake_one(struct tp_stage *stage, struct tp_seat *by);

#endif
