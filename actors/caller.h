/* SPDX-License-Identifier: MIT
 *
 * actors/caller.h - the user's side: calls in flight, completions, the fd, and what a caller
 * knows of plans.
 *
 * A caller is used by one thread at a time. Its inbox is an actor that only that thread runs,
 * in dispatch and wait. For calls it has made before it knows the instance, and keeps blocks of
 * it, so that a repeated call asks nobody.
 *
 * A call's number: the caller's index (10 bits), the slot's (17 bits), the slot's generation
 * (37 bits, from 1).
 */
#ifndef TP_ACTORS_CALLER_H
#define TP_ACTORS_CALLER_H

#include "actors/bell.h"
#include "actors/call.h"
#include "actors/stage.h"

#define TP_SLOT_BITS       17
#define TP_GENERATION_BITS 37
#define TP_CALLERS_MAX     1023 /* with numbers; threads in troupe_run need none */
#define TP_CHUNK           512  /* slots that are made at once */
#define TP_CHUNKS          256
#define TP_CACHE           64 /* instances that a caller remembers */
#define TP_CACHE_WAYS      4

struct troupe_runtime;

static inline uint64_t tp_call_generation(uint64_t call)
{
    return call & ((UINT64_C(1) << TP_GENERATION_BITS) - 1);
}
static inline uint64_t tp_call_slot(uint64_t call)
{
    return call >> TP_GENERATION_BITS & ((UINT64_C(1) << TP_SLOT_BITS) - 1);
}
static inline uint64_t tp_call_caller(uint64_t call)
{
    return call >> (TP_GENERATION_BITS + TP_SLOT_BITS);
}
static inline uint64_t tp_call_number(uint64_t caller, uint64_t slot, uint64_t generation)
{
    return caller << (TP_GENERATION_BITS + TP_SLOT_BITS) | slot << TP_GENERATION_BITS |
           generation;
}

/* An instance that this caller has used, by what it was asked for. */
struct tp_known {
    troupe_function *function; /* retained, so that its address is not another's; NULL: free */
    uint64_t key[2];           /* of the options */
    struct tp_instance *instance; /* retained */
    struct tp_block *blocks;      /* free ones */
    uint32_t used;                /* a clock, for replacing */
};

struct troupe_caller {
    struct tp_actor inbox;
    struct troupe_runtime *runtime;
    struct tp_seat *seat;
    uint32_t index; /* in the runtime's table; UINT32_MAX: troupe_run's, without numbers */
    bool draining;  /* it starts no calls any more */
    bool numbered;
    uint32_t n_slots, live;    /* slots made; calls in flight */
    struct tp_pending *free;   /* slots */
    struct tp_pending *pinned; /* ended, but someone still holds a pin */
    struct tp_known known[TP_CACHE];
    uint32_t clock;
    uint32_t quota;             /* calls that may be started before the runtime must be asked */
    struct troupe_caller *next; /* in the runtime's list of free callers */
    /* Written by others: */
    _Atomic(struct tp_pending *)
        chunks[TP_CHUNKS]; /* release when set; never freed before the runtime */
    struct tp_bell bell;   /* its fd; counts CALL_DONE of others, and work published for it */
    atomic_bool inside;    /* its thread is in wait, dispatch or run */
    atomic_bool parents;   /* some call had a parent: cancelling looks for children */
    /* Statistics, relaxed; written by its thread. */
    atomic_ullong calls, failed, ended, refused;
};

troupe_status tp_caller_new(struct troupe_runtime *runtime, bool numbered,
                            struct troupe_caller **out, troupe_error *err) TROUPE_MUST_CHECK;
/* Only when the runtime closes: nothing may be in flight. */
void tp_caller_destroy(struct troupe_caller **caller);
/* Cancel all its calls, run their callbacks. */
void tp_caller_drain(struct troupe_caller *caller);

/* What a call is started with. */
struct tp_start {
    const troupe_function *function;
    const troupe_tensor *const *args;
    size_t n_args;
    const troupe_call_options *options; /* or NULL */
    troupe_done_fn *done;               /* NULL: sync */
    void *arg;
};
/* What of a start can be wrong before a slot is taken. Sets *options->report to NULL. */
troupe_status tp_options_check(const troupe_call_options *options,
                               troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_start_check(const struct tp_start *start, troupe_error *err) TROUPE_MUST_CHECK;
/* Start a call. *out's slot is the call's until its callback has run, or, when sync, until
 * tp_caller_release. */
troupe_status tp_caller_start(struct troupe_caller *caller, const struct tp_start *start,
                              struct tp_pending **out, troupe_error *err) TROUPE_MUST_CHECK;
/* A sync call of one shard, which is known and has run a part of its steps on this thread, goes
 * on as one that was started: the caller drops the permit, and the block is the call's. NULL:
 * there is no memory for that, and nothing was done. */
struct tp_pending *tp_caller_adopt(struct troupe_caller *caller, const struct tp_start *start,
                                   struct tp_block *block);
/* A sync call has ended and its results were taken. */
void tp_caller_release(struct troupe_caller *caller, struct tp_pending *pending);
/* Handle completions. How many callbacks ran. */
size_t tp_caller_take(struct troupe_caller *caller);
/* The calling thread begins or ends to use the stage by this caller. Not OK: it is inside
 * already or in a callback (INVALID), or the runtime is being closed (CANCELLED); then it has
 * not begun. */
troupe_status tp_caller_enter(struct troupe_caller *caller, troupe_error *err);
void tp_caller_leave(struct troupe_caller *caller);
/* Work and sleep until `ended(arg)`; false: the deadline (tp_clock_ns; 0: none) passed first.
 */
bool tp_caller_wait(struct troupe_caller *caller, bool (*ended)(void *arg), void *arg,
                    uint64_t deadline_ns);
/* Its thread goes away from the stage: what is runnable in its seat is run or handed to others,
 * and so is what was published in the name of a thread in troupe_run. */
void tp_caller_go(struct troupe_caller *caller);
/* Afterwards: the fd becomes readable when a callback is due, or work that waits for its next
 * dispatch; else unreadable. */
void tp_caller_settle(struct troupe_caller *caller);

/* The slot of a call's number in this caller, or NULL. Any thread. */
struct tp_pending *tp_caller_slot(struct troupe_caller *caller, uint64_t call);
/* Post CANCEL to that call and to its children. Any thread. */
void tp_caller_cancel(struct troupe_caller *caller, uint64_t call, troupe_status code);

/* Children that are started from here on end with that, too, unless it was said before. */
void tp_pending_break_off(struct tp_pending *pending, troupe_status code);
void tp_caller_cancel_children(struct troupe_runtime *runtime, uint64_t parent,
                               troupe_status code);

/* What a caller knows (known.c). */
struct tp_known *tp_known_find(struct troupe_caller *caller, const troupe_function *function,
                               const uint64_t key[2], const troupe_tensor *const *args);
void tp_known_add(struct troupe_caller *caller, const troupe_function *function,
                  const uint64_t key[2], struct tp_instance *instance);
/* A new block; when a device's memory is full, once more after the free blocks were given up.
 */
troupe_status tp_known_new_block(struct troupe_caller *caller, struct tp_instance *instance,
                                 struct tp_block **out, troupe_error *err) TROUPE_MUST_CHECK;
/* Free all free blocks. False: there was none. */
bool tp_known_shed(struct troupe_caller *caller);
troupe_status tp_known_take_block(struct troupe_caller *caller, struct tp_known *known,
                                  struct tp_block **out, troupe_error *err) TROUPE_MUST_CHECK;
/* Clear the block and keep it for the next call of an instance that is known for certain, */
void tp_known_return(struct tp_known *known, struct tp_block **block);
/* or may not be any more; then it is freed. */
void tp_known_give_block(struct troupe_caller *caller, const struct tp_pending *pending,
                         struct tp_block **block);
void tp_known_clear(struct troupe_caller *caller);

#if defined(TP_MUTANT) && TP_MUTANT == 2
void tp_caller_mutant_done(struct tp_pending *pending, struct tp_seat *seat);
#endif
#if defined(TP_MUTANT) && TP_MUTANT == 5
struct tp_shard_actor *tp_caller_mutant_shard(struct tp_pending *pending,
                                              struct tp_shard_actor *to);
#endif

#endif
