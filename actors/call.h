/* SPDX-License-Identifier: MIT
 *
 * actors/call.h - one call: its rendezvous, and the block with its shards.
 *
 * A call has two parts. struct tp_pending is the caller's slot for it and the rendezvous actor:
 * it exists from the start to the callback. struct tp_block holds what depends on the instance:
 * the shards with their frames, the edges, the results; the caller keeps it for the next call
 * of the same instance.
 *
 *   caller --> rendezvous --CALL--> coordinator --CALL--> rendezvous
 *                                              unless the caller knows the instance
 *   rendezvous --SHARD_RUN--> each shard
 *   shard --TENSOR--> rendezvous --TENSOR--> shard
 *   shard --SHARD_DONE--> rendezvous           the count; the first failure is the cause
 *   rendezvous --STOP--> shard --SHARD_DONE--> rendezvous
 *                                              after a failure, for each that has not worked
 *   rendezvous --CALL_DONE--> caller           once, when every shard has stopped
 *
 * Why a call's memory can be used again after CALL_DONE: a shard that worked took all its
 * edges, so nothing is on its way to it, and SHARD_DONE is posted after its turn. A shard that
 * did not work answers STOP, which the rendezvous sent after all else; so its box is empty too.
 * Who cancels from outside, or a deadline, pins the pending, and the caller waits for the pins.
 */
#ifndef TP_ACTORS_CALL_H
#define TP_ACTORS_CALL_H

#include "actors/actor.h"
#include "actors/count.h"
#include "actors/device.h"
#include "actors/lend.h"
#include "actors/plan.h"
#include "actors/timers.h"
#include "exec/executor.h"

struct troupe_caller;
struct tp_block;
struct tp_entry;
struct tp_flight;

enum tp_shard_state {
    TP_SHARD_IDLE,
    TP_SHARD_READY,   /* SHARD_RUN or TURN is in its box */
    TP_SHARD_ASKED,   /* waits for a permit */
    TP_SHARD_LEAVING, /* stopped while it waited for a permit: waits for WITHDRAWN */
    TP_SHARD_WAITS,   /* for an edge */
    TP_SHARD_ENDED,
};

/* The child actor of a device that runs one shard of one call. */
struct tp_shard_actor {
    struct tp_actor actor;
    struct tp_io io;
    struct tp_frame frame;
    struct tp_block *block;
    struct tp_device_actor *device;
    struct tp_seat *seat; /* of the turn, for io.send */
    struct tp_wait wait;
    tp_estimate *segment; /* of what runs until the next wait */
    enum tp_shard_state state;
    bool stopped; /* STOP came */
    bool timed;   /* the segment that runs is measured: `worked` ticks so far */
    bool resumed; /* its next turn goes on with the same segment */
    uint64_t worked;
    uint32_t index;
    atomic_ullong progress; /* graph nodes that ran; relaxed, for troupe_progress */
    /* Fixed messages, each under way at most once: */
    struct tp_message run;      /* SHARD_RUN from the rendezvous, then TURN to itself */
    struct tp_message want;     /* WANT, then WITHDRAW in `withdraw` */
    struct tp_message grant;    /* the device's */
    struct tp_message withdraw; /* WITHDRAW, back as WITHDRAWN */
    struct tp_message stop;     /* the rendezvous's */
    struct tp_message
        done; /* SHARD_DONE at the end; keeps its error until the block is cleared */
    struct tp_message answer; /* SHARD_DONE in answer to STOP, when it had ended before */
} __attribute__((aligned(64)));

/* What the rendezvous knows of a shard. */
enum tp_shard_end {
    TP_END_NOT_YET,
    TP_END_WORKED,
    TP_END_STOPPING, /* STOP was sent */
    TP_END_HALF,     /* one of the two messages that are to come has come: see on_shard_done */
    TP_END_STOPPED,
};

#define TP_NO_SHARD UINT32_MAX

struct tp_block {
    struct tp_block *next;        /* the caller's list while it is free */
    struct tp_instance *instance; /* retained */
    struct tp_pending *pending;   /* whose it is now */
    struct tp_count count;
    atomic_bool stop; /* relaxed: shards look at it between steps */
    bool profile;
    uint32_t n_shards;
    struct tp_shard_actor *shards;
    uint32_t cause;            /* the shard that failed first; TP_NO_SHARD: none did */
    uint8_t *ends;             /* per shard: enum tp_shard_end */
    uint8_t *seen;             /* per edge: its value has come */
    struct tp_message *edges;  /* per edge: TENSOR, fixed */
    uint64_t *edge_bytes;      /* per edge: bytes that crossed, with `profile` */
    troupe_tensor **results;   /* per result of the function; empty between calls */
    struct tp_lent_block lent; /* what a call lends to the frames */
};

/* devices: the device actors by the index of the instance's devices. EXHAUSTED. */
troupe_status tp_block_new(struct tp_instance *instance, struct tp_device_actor *devices,
                           struct tp_block **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_block_destroy(struct tp_block **block);
/* Release what a call left in it. */
void tp_block_clear(struct tp_block *block);
/* Measure each step of the next call. */
troupe_status tp_block_profile(struct tp_block *block, troupe_error *err) TROUPE_MUST_CHECK;
/* Fill results[] when all shards have worked: they are moved out of the frames; what goes back
 * untouched is retained. */
void tp_block_take_results(struct tp_block *block, const troupe_tensor *const *args);

void tp_shard_init(struct tp_shard_actor *shard, struct tp_block *block, uint32_t index,
                   struct tp_device_actor *device);
/* Make it ready for a call of `group`. */
void tp_shard_reset(struct tp_shard_actor *shard, void *group,
                    const troupe_tensor *const *args);
/* The same in the middle of its frame's run. */
void tp_shard_resume(struct tp_shard_actor *shard, void *group);

/* It failed by itself, not because it was stopped. */
static inline bool tp_shard_failed(const struct tp_shard_done *done)
{
    return done->code && !done->derived;
}
/* How it failed: its code alone when there was no memory for the text. */
troupe_error tp_shard_error(const struct tp_shard_done *done);

enum tp_call_state {
    TP_CALL_FREE,
    TP_CALL_PLANNING,   /* the coordinator has it */
    TP_CALL_FORGETTING, /* ended early: its answers to CALL and to FORGET are awaited */
    TP_CALL_LEAVING,    /* one of them has come */
    TP_CALL_RUNNING,
    TP_CALL_ENDED, /* CALL_DONE is on its way */
};

/* A call's slot, and its rendezvous. */
struct tp_pending {
    struct tp_actor actor;
    /* generation << 16 | pins << 1 | alive. Who pins may post CANCEL, which the rendezvous
     * unpins. The caller ends the generation only without pins. seq_cst. */
    atomic_ullong word;
    struct troupe_caller *caller;
    uint32_t slot;
    enum tp_call_state state;
    bool sync; /* troupe_run's: no callback, `finished` instead */
    bool finished;
    bool gone; /* its callback has run, but someone still holds a pin */
    bool profile;
    int32_t priority;
    atomic_ullong id, parent; /* relaxed: looked at by who cancels children */
    uint64_t started_ns;
    troupe_done_fn *done;
    void *arg;
    troupe_report **report;
    /* Borrowed: from the request while it is planned, then from the block's plan. */
    const troupe_function *function;
    const troupe_function *asked; /* as the caller named it: a key, not looked at */
    const troupe_tensor **args;   /* retained unless sync; NULL: given away and used up */
    uint32_t n_args, args_capacity;
    size_t bytes;              /* of arguments, taken in for a runtime with a limit */
    struct tp_lending lending; /* memory for results, and arguments given away */
    struct tp_block *block;
    _Atomic(struct tp_block *) watched; /* the same, for who has a pin: release when it runs */
    troupe_status early; /* FORGETTING, or ENDED and tried again: what ended it; else OK */
    troupe_error error;  /* the outcome, once it ended */
    struct tp_timer timer;
    uint64_t key[2]; /* of the options: the caller's cache */
    /* The coordinator's while it plans: */
    struct tp_request request;
    struct tp_instance *answer; /* retained; NULL: `error` says why */
    struct tp_pending *next;    /* in an entry's list of waiters; the caller's free list */
    struct tp_entry *entry;     /* where it waits, or NULL */
    /* Fixed messages: */
    struct tp_message call; /* to the coordinator and back */
    struct tp_message forget;
    struct tp_message cancel; /* by who sets `cancelling` first */
    struct tp_message timeout;
    struct tp_message done_message;
    atomic_bool cancelling;
    /* CANCELLED or TIMED_OUT once it is broken off; seq_cst: set before its children are looked
     * for. A child that is started looks at it after it can be found. */
    atomic_int broken_off;
} __attribute__((aligned(64)));

/* The rendezvous of a call whose slot is filled: run `block`, or plan first when it is NULL. On
 * the caller's thread. */
void tp_rendezvous_init(struct tp_pending *pending, struct troupe_caller *caller);
void tp_rendezvous_run(struct tp_pending *pending, struct tp_seat *seat,
                       struct tp_block *block);
void tp_rendezvous_plan(struct tp_pending *pending, struct tp_seat *seat);
/* Run what is left of a block of one shard. */
void tp_rendezvous_resume(struct tp_pending *pending, struct tp_seat *seat,
                          struct tp_block *block);

/* The generation of a call's number, and pins on its slot. */
bool tp_pending_pin(struct tp_pending *pending, uint64_t generation);
void tp_pending_unpin(struct tp_pending *pending);
static inline uint64_t tp_word_generation(uint64_t word)
{
    return word >> 16;
}

#endif
