/* SPDX-License-Identifier: MIT
 *
 * actors/caller.c - a caller's inbox: completions, callbacks, its fd, waiting, and cancelling
 * from any thread.
 */
#include "actors/caller.h"

#include <string.h>

#include "actors/report.h"
#include "actors/runtime.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/guest.h"

/* -- Being told ---------------------------------------------------------------------------- */

/* Mail for the inbox: on any thread. What its own thread posts needs no announcement, since it
 * settles before it goes away. Once put, the message may be gone. */
static void mail(struct tp_actor *self, struct tp_seat *by, struct tp_message *message)
{
    struct troupe_caller *caller = tp_container_of(self, struct troupe_caller, inbox);
    message->told = by != caller->seat;
    bool told = message->told;
    if (told) tp_bell_announce(&caller->bell);
    if (tp_actor_put(self, message) && told) tp_stage_unpark(by, caller->seat);
}

static const struct tp_role role = {.name = "caller", .mail = mail};

/* A callback, or work that waits for its next dispatch. */
static bool is_due(const struct troupe_caller *caller)
{
    const struct tp_stage *stage = caller->seat->stage;
    if (caller->seat->head || tp_bell_expects(&caller->bell)) return true;
    if (atomic_load_explicit(&caller->inbox.box, memory_order_seq_cst) != TP_ASLEEP)
        return true;
    return !stage->workers && atomic_load_explicit(&stage->published, memory_order_seq_cst) > 0;
}

void tp_caller_settle(struct troupe_caller *caller)
{
    if (!tp_bell_has_fd(&caller->bell)) return;
    if (!is_due(caller)) tp_bell_hush(&caller->bell);
    if (is_due(caller)) tp_bell_ring(&caller->bell);
}

/* -- Completions --------------------------------------------------------------------------- */

static void release_args(struct tp_pending *pending)
{
    const bool lends = pending->lending.any;
    if (pending->sync && !lends) return;
    for (uint32_t i = 0; i < pending->n_args; i++)
        if (!pending->sync || pending->lending.give[i])
            troupe_tensor_release((troupe_tensor **)&pending->args[i]);
}

/* End the slot's generation; false while someone holds a pin. */
static bool retire(struct tp_pending *pending)
{
    unsigned long long word = atomic_load_explicit(&pending->word, memory_order_seq_cst);
    unsigned long long alive = (unsigned long long)tp_word_generation(word) << 16 | 1;
    return atomic_compare_exchange_strong_explicit(&pending->word, &alive,
                                                   alive + (1u << 16) - 1, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

/* Nobody looks at the slot any more: all that it holds is let go or kept for the next call. */
static void recycle(struct troupe_caller *caller, struct tp_pending *pending)
{
    if (pending->answer) {
        tp_known_add(caller, pending->asked, pending->key, pending->answer);
        tp_instance_release(&pending->answer);
    }
    if (pending->block) tp_known_give_block(caller, pending, &pending->block);
    tp_request_fini(&pending->request);
    pending->next = caller->free;
    caller->free = pending;
}

/* Slots whose canceller is slow are looked at again now and then. */
static void retire_pinned(struct troupe_caller *caller)
{
    struct tp_pending *list = caller->pinned, *next;
    caller->pinned = NULL;
    for (; list; list = next) {
        next = list->next;
        if (retire(list)) {
            recycle(caller, list);
            continue;
        }
        list->next = caller->pinned;
        caller->pinned = list;
    }
}

void tp_caller_release(struct troupe_caller *caller, struct tp_pending *pending)
{
    release_args(pending);
    caller->live--;
    if (pending->priority)
        atomic_fetch_sub_explicit(&caller->seat->stage->ranked, 1, memory_order_relaxed);
    tp_runtime_admit_back(caller);
    if (pending->bytes)
        atomic_fetch_sub_explicit(&caller->runtime->bytes, pending->bytes,
                                  memory_order_relaxed);
    if (retire(pending)) {
        recycle(caller, pending);
        return;
    }
    pending->gone = true;
    pending->next = caller->pinned;
    caller->pinned = pending;
}

static void make_report(struct tp_pending *pending)
{
    *pending->report = NULL;
    (void)!tp_report_make(pending, pending->report, NULL); /* without memory there is none */
}

troupe_status tp_caller_enter(struct troupe_caller *caller, troupe_error *err)
{
    if (TP_UNLIKELY(tp_guest_now))
        return tp_fail(err, TROUPE_INVALID, "not in a callback%s",
                       tp_guest_now == TP_GUEST_OPERATOR ? " of an operator" : "");
    if (TP_UNLIKELY(atomic_load_explicit(&caller->inside, memory_order_relaxed)))
        return tp_fail(err, TROUPE_INVALID, "this caller is in use by another thread");
    /* seq_cst, both: a close says that it closes, then looks who is inside */
    atomic_store_explicit(&caller->inside, true, memory_order_seq_cst);
    if (TP_LIKELY(!atomic_load_explicit(&caller->runtime->closing, memory_order_seq_cst)))
        return TROUPE_OK;
    atomic_store_explicit(&caller->inside, false, memory_order_release);
    return tp_fail(err, TROUPE_CANCELLED, "the runtime is being closed");
}

void tp_caller_leave(struct troupe_caller *caller)
{
    atomic_store_explicit(&caller->inside, false, memory_order_release);
}

static void call_back(struct tp_pending *pending)
{
    bool worked = !pending->error.code;
    size_t n = worked ? pending->block->instance->plan->body->n_results : 0;
    const troupe_tensor *const *results =
        n ? (const troupe_tensor *const *)pending->block->results : NULL;
    const enum tp_guest before = tp_guest_enter(TP_GUEST_CALLBACK);
    pending->done(pending->arg, &pending->error, results, n);
    tp_guest_leave(before);
}

/* There was no memory for the call's block, but this caller holds some that it does not need
 * now: give it up and let the rendezvous try once more. Not when its deadline has passed
 * meanwhile: nobody would cancel it any more. */
static bool try_again(struct troupe_caller *caller, struct tp_pending *pending)
{
    if (pending->error.code != TROUPE_EXHAUSTED) return false;
    bool more =
        tp_known_shed(caller); /* also for the next call, when this one has run and failed */
    if (!more || !pending->answer || pending->block) return false;
    if (pending->timer.fire &&
        !tp_timers_waits(caller->runtime->stage->timers, &pending->timer))
        return false;
    struct tp_message *call = &pending->call;
    tp_message_set(call, TP_CALL, 0);
    call->call.pending = pending;
    tp_post(caller->seat, &pending->actor, &call);
    return true;
}

static void take_done(struct troupe_caller *caller, struct tp_pending *pending)
{
    if (try_again(caller, pending)) return;
    if (pending->timer.fire) tp_timers_remove(caller->runtime->stage->timers, &pending->timer);
    if (!pending->error.code && pending->lending.any)
        (void)!tp_lend_settle(pending, &pending->error);
    if (pending->error.code) tp_tally(&caller->failed, 1);
    tp_tally(&caller->ended, 1);
    if (pending->report) make_report(pending);
    if (pending->sync) {
        pending->finished = true;
        return;
    }
    call_back(pending);
    tp_caller_release(caller, pending);
}

size_t tp_caller_take(struct troupe_caller *caller)
{
    size_t n = 0;
    unsigned told = 0;
    if (caller->pinned) retire_pinned(caller);
    /* relaxed: a look; the exchange is acq_rel */
    if (atomic_load_explicit(&caller->inbox.box, memory_order_relaxed) == TP_ASLEEP) return 0;
    struct tp_message *list = tp_mail_in_order(
        atomic_exchange_explicit(&caller->inbox.box, TP_ASLEEP, memory_order_acq_rel));
    for (struct tp_message *next; list; list = next, n++) {
        next = list->next;
        told += list->told;
        take_done(caller, list->call_done.pending); /* its message may be used again */
    }
    tp_bell_taken(&caller->bell, told);
    return n;
}

/* -- Waiting ------------------------------------------------------------------------------- */

static bool passed(uint64_t deadline_ns)
{
    return deadline_ns && tp_clock_ns() >= deadline_ns;
}

static void be_counted(struct tp_seat *seat, bool counted)
{
    if (seat->counted == counted) return;
    seat->counted = counted;
    atomic_fetch_add_explicit(&seat->stage->active, counted ? 1 : -1, memory_order_relaxed);
}

/* Without workers: work was published in the name of a thread in troupe_run, whose fd nobody
 * watches, and is still there. */
static bool owes_work(const struct troupe_caller *caller)
{
    const struct tp_stage *stage = caller->seat->stage;
    return !caller->numbered && !stage->workers && tp_bell_expects(&caller->bell) &&
           atomic_load_explicit(&stage->published, memory_order_seq_cst) > 0;
}

void tp_caller_go(struct troupe_caller *caller)
{
    tp_stage_leave(caller->seat, caller);
    while (TP_UNLIKELY(owes_work(caller))) {
        (void)tp_stage_turn(caller->seat, caller, true);
        tp_stage_leave(caller->seat, caller);
    }
}

bool tp_caller_wait(struct troupe_caller *caller, bool (*ended)(void *arg), void *arg,
                    uint64_t deadline_ns)
{
    struct tp_seat *seat = caller->seat;
    bool others = !seat->stage->workers, in_time = true;
    while (tp_caller_take(caller), !ended(arg)) {
        /* A turn first: who asks again and again without waiting gets on, too. */
        bool turned = tp_stage_turn(seat, caller, others);
        if (passed(deadline_ns)) {
            tp_caller_take(caller);
            in_time = ended(arg);
            break;
        }
        if (turned) continue;
        tp_assert(
            !seat->stage->rehearsal); /* an empty bag and an open call: a message was lost */
        be_counted(seat, true);
        if (tp_stage_spin(seat, &caller->inbox, deadline_ns)) continue;
        tp_stage_park(seat, &caller->inbox, deadline_ns);
    }
    be_counted(seat, false);
    tp_caller_go(caller);
    tp_caller_settle(caller);
    return in_time;
}

/* -- Cancelling, on any thread ------------------------------------------------------------- */

struct tp_pending *tp_caller_slot(struct troupe_caller *caller, uint64_t call)
{
    uint64_t slot = tp_call_slot(call);
    /* acquire: pairs with the release when the chunk was made */
    struct tp_pending *chunk =
        atomic_load_explicit(&caller->chunks[slot / TP_CHUNK], memory_order_acquire);
    return chunk ? &chunk[slot % TP_CHUNK] : NULL;
}

void tp_pending_break_off(struct tp_pending *pending, troupe_status code)
{
    int none = TROUPE_OK;
    atomic_compare_exchange_strong_explicit(&pending->broken_off, &none, code,
                                            memory_order_seq_cst, memory_order_seq_cst);
}

/* The pin is given back by the rendezvous, or here when someone else cancels already. */
static void post_cancel(struct tp_pending *pending, troupe_status code)
{
    struct tp_stage *stage = pending->caller->runtime->stage;
    tp_pending_break_off(pending, code);
    if (atomic_exchange_explicit(&pending->cancelling, true, memory_order_seq_cst)) {
        tp_pending_unpin(pending);
        return;
    }
    struct tp_message *cancel = &pending->cancel;
    tp_message_set(cancel, TP_CANCEL, 0);
    cancel->cancel.pending = pending;
    cancel->cancel.code = code;
    tp_post_outside(stage, &pending->actor, &cancel);
}

/* The call's parent is `root`, or is itself being cancelled. */
static bool goes_along(struct troupe_runtime *runtime, uint64_t parent, uint64_t root)
{
    struct troupe_caller *caller = parent == root ? NULL : tp_runtime_caller(runtime, parent);
    struct tp_pending *p = caller ? tp_caller_slot(caller, parent) : NULL;
    if (!p) return parent == root;
    return atomic_load_explicit(&p->id, memory_order_relaxed) == parent &&
           (atomic_load_explicit(&p->word, memory_order_seq_cst) & 1) &&
           atomic_load_explicit(&p->cancelling, memory_order_seq_cst);
}

/* True when it was found alive and is cancelled by this. Only a pin makes sure that it is still
 * the same call. */
static bool cancel_if_child(struct tp_pending *p, uint64_t root, troupe_status code)
{
    uint64_t word = atomic_load_explicit(&p->word, memory_order_seq_cst);
    uint64_t parent = atomic_load_explicit(&p->parent, memory_order_relaxed);
    if (!(word & 1) || !parent || atomic_load_explicit(&p->cancelling, memory_order_seq_cst))
        return false;
    if (!goes_along(p->caller->runtime, parent, root)) return false;
    if (!tp_pending_pin(p, tp_word_generation(word))) return false;
    post_cancel(p, code);
    return true;
}

static bool cancel_in(struct troupe_caller *caller, uint64_t root, troupe_status code)
{
    bool any = false;
    for (uint32_t i = 0; i < TP_CHUNKS; i++) {
        struct tp_pending *chunk =
            atomic_load_explicit(&caller->chunks[i], memory_order_acquire);
        for (uint32_t j = 0; chunk && j < TP_CHUNK; j++)
            any |= cancel_if_child(&chunk[j], root, code);
    }
    return any;
}

/* Children, and theirs, until there is no further one: without recursion, since a chain is as
 * long as the user made it. */
void tp_caller_cancel_children(struct troupe_runtime *runtime, uint64_t parent,
                               troupe_status code)
{
    if (!atomic_load_explicit(&runtime->parents, memory_order_seq_cst)) return;
    tp_lock_take(&runtime->lock);
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < runtime->n_all; i++)
            if (atomic_load_explicit(&runtime->all[i]->parents, memory_order_seq_cst))
                any |= cancel_in(runtime->all[i], parent, code);
    }
    tp_lock_drop(&runtime->lock);
}

void tp_caller_cancel(struct troupe_caller *caller, uint64_t call, troupe_status code)
{
    struct tp_pending *pending = tp_caller_slot(caller, call);
    if (!pending || !tp_pending_pin(pending, tp_call_generation(call))) return;
    post_cancel(pending, code);
    tp_caller_cancel_children(caller->runtime, call, code);
}

/* -- Open, drain, destroy ------------------------------------------------------------------ */

#define DRAIN_NS 1000000 /* between two looks at calls that have ended and are pinned */

troupe_status tp_caller_new(struct troupe_runtime *runtime, bool numbered,
                            struct troupe_caller **out, troupe_error *err)
{
    struct troupe_caller *caller = tp_alloc_aligned(64, sizeof *caller);
    if (!caller) return tp_fail_memory(err, sizeof *caller);
    memset(caller, 0, sizeof *caller);
    tp_actor_init(&caller->inbox, &role, caller);
    caller->runtime = runtime;
    caller->numbered = numbered;
    caller->index = UINT32_MAX;
    tp_bell_init(&caller->bell);
    troupe_status status = tp_seat_new(runtime->stage, false, &caller->seat, err);
    if (status < 0)
        tp_free(caller);
    else
        *out = caller;
    return status;
}

static bool none_live(void *arg)
{
    const struct troupe_caller *caller = arg;
    return !caller->live && !caller->pinned;
}

/* Its callbacks are as in a wait, no close in them; nor do they start calls. */
void tp_caller_drain(struct troupe_caller *caller)
{
    caller->draining = true;
    atomic_store_explicit(&caller->inside, true, memory_order_seq_cst);
    for (uint32_t i = 0; i < caller->n_slots; i++) {
        struct tp_pending *chunk =
            atomic_load_explicit(&caller->chunks[i / TP_CHUNK], memory_order_relaxed);
        struct tp_pending *pending = &chunk[i % TP_CHUNK];
        uint64_t word = atomic_load_explicit(&pending->word, memory_order_seq_cst);
        if ((word & 1) && tp_pending_pin(pending, tp_word_generation(word)))
            post_cancel(pending, TROUPE_CANCELLED);
    }
    /* Who gives a pin back tells nobody: look now and then. */
    while (!tp_caller_wait(caller, none_live, caller, tp_clock_ns() + DRAIN_NS))
        ;
    atomic_store_explicit(&caller->inside, false, memory_order_release);
    caller->draining = false;
}

void tp_caller_destroy(struct troupe_caller **at)
{
    struct troupe_caller *caller = *at;
    *at = NULL;
    if (!caller) return;
    tp_known_clear(caller);
    for (uint32_t i = 0; i < caller->n_slots; i++) {
        struct tp_pending *chunk =
            atomic_load_explicit(&caller->chunks[i / TP_CHUNK], memory_order_relaxed);
        tp_free(chunk[i % TP_CHUNK].args);
        tp_lending_fini(&chunk[i % TP_CHUNK].lending);
    }
    for (uint32_t i = 0; i < TP_CHUNKS; i++)
        tp_free(atomic_load_explicit(&caller->chunks[i], memory_order_relaxed));
    tp_bell_fini(&caller->bell);
    tp_free(caller);
}

/* -- Faults, built on purpose (tests/mutants) ---------------------------------------------- */

#if defined(TP_MUTANT) && TP_MUTANT == 2
void tp_caller_mutant_done(struct tp_pending *pending, struct tp_seat *seat)
{
    struct tp_message *twice;
    if (tp_message_new(&twice, TP_CALL_DONE, NULL)) return;
    twice->call_done.pending = pending;
    pending->error = pending->block->count.cause;
    tp_post(seat, &pending->caller->inbox, &twice);
}
#endif

#if defined(TP_MUTANT) && TP_MUTANT == 5
struct tp_shard_actor *tp_caller_mutant_shard(struct tp_pending *pending,
                                              struct tp_shard_actor *to)
{
    struct troupe_caller *caller = pending->caller;
    for (uint32_t i = 0; i < caller->n_slots; i++) {
        struct tp_pending *other = &atomic_load(&caller->chunks[i / TP_CHUNK])[i % TP_CHUNK];
        struct tp_block *block = other == pending ? NULL : atomic_load(&other->watched);
        if (block && (atomic_load(&other->word) & 1) && block->instance == to->block->instance)
            return &block->shards[to->index];
    }
    return to;
}
#endif
