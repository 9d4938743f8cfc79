/* SPDX-License-Identifier: MIT
 *
 * actors/rendezvous.c - the actor of one call: starts its shards, routes values between them,
 * counts their ends.
 *
 * It knows which values have come and how each shard ended (call.h draws its messages). The
 * call ends when the count says so and not before, so that no shard can still be at work when
 * the caller is told.
 */
#include <string.h>

#include "actors/call.h"
#include "actors/caller.h"
#include "actors/runtime.h"
#include "actors/stage.h"
#include "base/fail.h"
#include "tensor/tensor.h"

static struct tp_pending *pending_of(struct tp_actor *self)
{
    return tp_container_of(self, struct tp_pending, actor);
}

/* -- Pins ---------------------------------------------------------------------------------- */

#define PIN 2u /* one pin in the word; bit 0: alive */

bool tp_pending_pin(struct tp_pending *pending, uint64_t generation)
{
    unsigned long long word = atomic_load_explicit(&pending->word, memory_order_seq_cst);
    do
        if (tp_word_generation(word) != generation || !(word & 1)) return false;
    while (!atomic_compare_exchange_weak_explicit(&pending->word, &word, word + PIN,
                                                  memory_order_seq_cst, memory_order_seq_cst));
    return true;
}

void tp_pending_unpin(struct tp_pending *pending)
{
    atomic_fetch_sub_explicit(&pending->word, PIN, memory_order_seq_cst);
}

/* -- The end ------------------------------------------------------------------------------- */

static void tell_caller(struct tp_pending *pending, struct tp_seat *seat)
{
    struct tp_message *done = &pending->done_message;
    pending->state = TP_CALL_ENDED;
    tp_message_set(done, TP_CALL_DONE, 0);
    done->call_done.pending = pending;
    tp_post_last(seat, &pending->caller->inbox, &done);
}

/* Every shard has stopped. */
static void finish(struct tp_pending *pending, struct tp_seat *seat)
{
    struct tp_block *block = pending->block;
    pending->error.code = TROUPE_OK;
    if (block->count.failed)
        pending->error = block->count.cause;
    else
        tp_block_take_results(block, pending->args);
    tell_caller(pending, seat);
}

static void set_early_error(troupe_error *error, const struct tp_pending *pending,
                            troupe_status code)
{
    tp_fail(error, code, "function '%s': %s", troupe_function_name(pending->function),
            code == TROUPE_TIMED_OUT ? "the deadline passed first" : "the call was cancelled");
}

/* The coordinator has answered CALL or FORGET: the second time nothing is under way any more.
 * The error was the coordinator's until then. */
static void leave(struct tp_pending *pending, struct tp_seat *seat)
{
    if (pending->state == TP_CALL_FORGETTING) {
        pending->state = TP_CALL_LEAVING;
        return;
    }
    set_early_error(&pending->error, pending, pending->early);
    tell_caller(pending, seat);
}

/* -- Start --------------------------------------------------------------------------------- */

static void run_shard(struct tp_pending *pending, struct tp_seat *seat, uint32_t i)
{
    struct tp_block *block = pending->block;
    struct tp_shard_actor *shard = &block->shards[i];
    struct tp_message *run = &shard->run;
    tp_message_set(run, TP_SHARD_RUN, tp_instance_estimate(block->instance, i));
    tp_post(seat, &shard->actor, &run);
}

static void begin(struct tp_pending *pending, struct tp_block *block)
{
    pending->block = block;
    pending->state = TP_CALL_RUNNING;
    block->pending = pending;
    atomic_store_explicit(&pending->watched, block, memory_order_release);
    atomic_store_explicit(&block->stop, false, memory_order_relaxed);
    block->cause = TP_NO_SHARD;
    tp_count_start(&block->count, block->n_shards);
    memset(block->ends, TP_END_NOT_YET, block->n_shards);
    memset(block->seen, 0, block->instance->plan->partition->n_edges);
}

void tp_rendezvous_resume(struct tp_pending *pending, struct tp_seat *seat,
                          struct tp_block *block)
{
    begin(pending, block);
    tp_shard_resume(&block->shards[0], pending->caller);
    run_shard(pending, seat, 0);
}

void tp_rendezvous_run(struct tp_pending *pending, struct tp_seat *seat, struct tp_block *block)
{
    begin(pending, block);
    for (uint32_t i = 0; i < block->n_shards; i++)
        tp_shard_reset(&block->shards[i], pending->caller, pending->args);
    /* All are ready before the first may run. */
    for (uint32_t i = 0; i < block->n_shards; i++)
        run_shard(pending, seat, i);
    if (!block->n_shards) finish(pending, seat);
}

void tp_rendezvous_plan(struct tp_pending *pending, struct tp_seat *seat)
{
    struct tp_message *call = &pending->call;
    pending->state = TP_CALL_PLANNING;
    tp_message_set(call, TP_CALL, TP_PLANNING_NS);
    call->call.pending = pending;
    tp_post(seat, tp_runtime_coordinator(pending->caller->runtime), &call);
}

/* -- Handlers, in the order of a call's life ----------------------------------------------- */

static troupe_status start_block(struct tp_pending *pending, struct tp_block **out,
                                 troupe_error *err)
{
    TP_OWNED(tp_block_destroy) struct tp_block *block = NULL;
    TP_TRY(tp_block_new(pending->answer, pending->caller->runtime->device_actors, &block, err));
    if (pending->profile) TP_TRY(tp_block_profile(block, err));
    if (pending->lending.any) TP_TRY(tp_lend_block(pending, block, err));
    *out = block;
    block = NULL;
    return TROUPE_OK;
}

/* The block could not be made before, and the caller has freed some memory. */
static void retry(struct tp_pending *pending, struct tp_seat *seat)
{
    struct tp_block *block = NULL;
    if (pending->early) {
        set_early_error(&pending->error, pending, pending->early);
        tell_caller(pending, seat);
    } else if (!start_block(pending, &block, &pending->error)) {
        tp_rendezvous_run(pending, seat, block);
    } else {
        tell_caller(pending, seat);
    }
}

/* The coordinator's answer, or the caller's wish to try again. */
static troupe_status on_call(struct tp_actor *self, struct tp_seat *seat,
                             struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_pending *pending = pending_of(self);
    struct tp_block *block = NULL;
    *message = NULL;
    if (pending->state == TP_CALL_ENDED)
        retry(pending, seat);
    else if (pending->state != TP_CALL_PLANNING)
        leave(pending, seat);
    else if (pending->answer && !start_block(pending, &block, &pending->error))
        tp_rendezvous_run(pending, seat, block);
    else
        tell_caller(pending, seat);
    return TROUPE_OK;
}

static troupe_status on_forget(struct tp_actor *self, struct tp_seat *seat,
                               struct tp_message **message, troupe_error *err)
{
    (void)err;
    *message = NULL;
    leave(pending_of(self), seat);
    return TROUPE_OK;
}

static troupe_status on_tensor(struct tp_actor *self, struct tp_seat *seat,
                               struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_block *block = pending_of(self)->block;
    const struct tp_tensor *tensor = &(*message)->tensor;
    const struct tp_partition *partition = block->instance->plan->partition;
    if (block->count.failed) return TROUPE_OK; /* nobody waits for it any more */
#if !defined(TP_MUTANT) || TP_MUTANT != 4
    tp_assert(tensor->edge < partition->n_edges && !block->seen[tensor->edge]);
#endif
    block->seen[tensor->edge] = 1;
    if (block->profile && tensor->value)
        block->edge_bytes[tensor->edge] = troupe_tensor_size(tensor->value);
    struct tp_shard_actor *to = &block->shards[partition->edges[tensor->edge].to];
#if defined(TP_MUTANT) && TP_MUTANT == 4
    struct tp_message *twin;
    if (!tp_message_new(&twin, TP_TENSOR, NULL)) {
        twin->tensor = *tensor;
        if (tensor->value) troupe_tensor_retain(tensor->value);
        tp_post(seat, &to->actor, &twin);
    }
#endif
#if defined(TP_MUTANT) && TP_MUTANT == 5
    to = tp_caller_mutant_shard(pending_of(self), to);
#endif
    tp_post(seat, &to->actor, message);
    return TROUPE_OK;
}

/* Stop every shard that has not worked. STOP comes after all else that this actor sent it. */
static void stop_shards(struct tp_block *block, struct tp_seat *seat)
{
    atomic_store_explicit(&block->stop, true, memory_order_relaxed);
    for (uint32_t i = 0; i < block->n_shards; i++) {
        if (block->ends[i] != TP_END_NOT_YET) continue;
        struct tp_message *stop = &block->shards[i].stop;
        block->ends[i] = TP_END_STOPPING;
        tp_message_set(stop, TP_STOP, 0);
        tp_post(seat, &block->shards[i].actor, &stop);
    }
}

static void shard_failed(struct tp_block *block, struct tp_seat *seat,
                         const struct tp_shard_done *done)
{
    troupe_error error = tp_shard_error(done);
    if (!tp_count_failed(&block->count, &error)) return;
    block->cause = done->shard;
    stop_shards(block, seat);
}

/* What a shard's message says of its end. A shard that ends before it has seen STOP sends two,
 * its own SHARD_DONE and the answer to STOP, and the answer may overtake: the first is posted
 * after the shard's turn, when STOP may already make another thread run the shard. Both are
 * waited for. */
static enum tp_shard_end end_of(enum tp_shard_end before, const struct tp_shard_done *done)
{
    if (done->stopped && !done->again) return TP_END_STOPPED;
    if (before == TP_END_NOT_YET) return TP_END_WORKED;
    return before == TP_END_HALF ? TP_END_STOPPED : TP_END_HALF;
}

static troupe_status on_shard_done(struct tp_actor *self, struct tp_seat *seat,
                                   struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_pending *pending = pending_of(self);
    struct tp_block *block = pending->block;
    const struct tp_shard_done *done = &(*message)->shard_done;
    uint8_t *how = &block->ends[done->shard];
    /* After this none is NOT_YET any more; its own shard is stopped, too, for what is on its
     * way to it. */
    if (tp_shard_failed(done)) shard_failed(block, seat, done);
    *how = (uint8_t)end_of(*how, done);
    *message = NULL; /* its error stays with its shard, for the report */
    if (*how == TP_END_HALF) return TROUPE_OK;
#if defined(TP_MUTANT) && TP_MUTANT == 2
    bool both = block->count.failures > 1;
    if (tp_count_ended(&block->count)) {
        if (both) tp_caller_mutant_done(pending, seat);
        finish(pending, seat);
    }
#else
    if (tp_count_ended(&block->count)) finish(pending, seat);
#endif
    return TROUPE_OK;
}

static void cancel(struct tp_pending *pending, struct tp_seat *seat, troupe_status code)
{
    troupe_error error;
    if (pending->state == TP_CALL_PLANNING) {
        struct tp_message *forget = &pending->forget;
        tp_message_set(forget, TP_FORGET, 0);
        forget->forget.pending = pending;
        pending->state = TP_CALL_FORGETTING;
        pending->early = code;
        tp_post(seat, tp_runtime_coordinator(pending->caller->runtime), &forget);
    } else if (pending->state == TP_CALL_RUNNING) {
        if (pending->block->count.failed) return;
        set_early_error(&error, pending, code);
        if (tp_count_failed(&pending->block->count, &error)) stop_shards(pending->block, seat);
    } else if (pending->state == TP_CALL_ENDED) {
        pending->early = code; /* for nothing, unless the caller tries again */
    }
}

/* The pin is given back here: the caller does not use the slot again before. */
static troupe_status on_cancel(struct tp_actor *self, struct tp_seat *seat,
                               struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_pending *pending = pending_of(self);
    troupe_status code = (*message)->cancel.code;
    *message = NULL;
    cancel(pending, seat, code);
    tp_pending_unpin(pending);
    return TROUPE_OK;
}

static const struct tp_role role = {
    .name = "rendezvous",
    .on =
        {
            [TP_CALL] = on_call,
            [TP_FORGET] = on_forget,
            [TP_TENSOR] = on_tensor,
            [TP_SHARD_DONE] = on_shard_done,
            [TP_CANCEL] = on_cancel,
        },
};

void tp_rendezvous_init(struct tp_pending *pending, struct troupe_caller *caller)
{
    tp_actor_init(&pending->actor, &role, caller);
    pending->caller = caller;
}
