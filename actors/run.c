/* SPDX-License-Identifier: MIT
 *
 * actors/run.c - troupe_run: a call on the calling thread, results in hand.
 *
 * A known call of one shard, whose device has a permit for this thread, needs no message: its
 * steps run here, by the same executor and the same count; when others wait for a permit after
 * a turn's time, it goes on as any call does. All else is started as any call is, and this
 * thread runs turns until it has ended.
 */
#include "actors/runtime.h"
#include "actors/timers.h"
#include "base/fail.h"
#include "base/need.h"
#include "tensor/tensor.h"

#define SLICE_NS 100000 /* between two looks at the timers of other calls */

static bool finished(void *arg)
{
    const struct tp_pending *pending = arg;
    return pending->finished;
}

static void move_results(struct tp_block *block, troupe_tensor **results, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        results[i] = block->results[i];
        block->results[i] = NULL;
    }
}

/* -- Without messages ---------------------------------------------------------------------- */

/* Shards wait for a permit: the rest of the call is done as that of any other, behind them.
 * NULL: there is no memory for that, so it goes on here. */
static struct tp_pending *hand_in(struct troupe_caller *caller, const struct tp_start *start,
                                  struct tp_block *block)
{
    const struct tp_device_actor *device = block->shards[0].device;
    if (TP_LIKELY(!atomic_load_explicit(&device->waiting, memory_order_relaxed))) return NULL;
    return tp_caller_adopt(caller, start, block);
}

/* TROUPE_PENDING: it was handed in as *out. */
static troupe_status run_steps(struct troupe_caller *caller, const struct tp_start *start,
                               struct tp_block *block, struct tp_pending **out,
                               troupe_error *err)
{
    struct tp_shard_actor *shard = &block->shards[0];
    troupe_status status;
    while ((status = tp_frame_run(&shard->frame, &shard->io, SLICE_NS, err)) ==
           TROUPE_PENDING) {
        tp_timers_run(caller->seat->stage->timers, caller->seat);
        tp_stage_hand_over(caller->seat, caller); /* deadlines of other calls */
        if ((*out = hand_in(caller, start, block))) return TROUPE_PENDING;
    }
    if (status < 0) tp_frame_clear(&shard->frame);
    return status;
}

static troupe_status end_block(struct troupe_caller *caller, const struct tp_start *start,
                               struct tp_block *block, troupe_status status,
                               const troupe_error *error)
{
    if (status < 0) tp_count_failed(&block->count, error);
    bool last = tp_count_ended(&block->count);
    tp_assert(last);
    if (status < 0) return status;
    tp_tally(&caller->seat->at[block->shards[0].device->index].shards, 1);
    tp_block_take_results(block, start->args);
    return TROUPE_OK;
}

static troupe_status run_block(struct troupe_caller *caller, const struct tp_start *start,
                               struct tp_block *block, struct tp_pending **out,
                               troupe_error *err)
{
    struct tp_shard_actor *shard = &block->shards[0];
    const struct tp_shard *part = &block->instance->plan->partition->shards[0];
    troupe_error error;
    tp_count_start(&block->count, 1);
    tp_frame_start(&shard->frame, start->args, part->args);
    troupe_status status = run_steps(caller, start, block, out, &error);
    tp_tally(&caller->seat->at[shard->device->index].steps, shard->frame.ran);
    tp_permit_drop(shard->device, caller->seat);
    if (status == TROUPE_PENDING) return status;
    status = end_block(caller, start, block, status, &error);
    if (status < 0 && err) *err = error;
    return status;
}

static void tally_call(struct troupe_caller *caller, troupe_status status)
{
    tp_tally(&caller->calls, 1);
    tp_tally(&caller->ended, 1);
    if (status < 0) tp_tally(&caller->failed, 1);
    if (status == TROUPE_EXHAUSTED) tp_known_shed(caller); /* for the next call */
}

/* -- As any call --------------------------------------------------------------------------- */

static troupe_status await(struct troupe_caller *caller, struct tp_pending *pending,
                           troupe_tensor **results, size_t n_results, troupe_error *err)
{
    tp_caller_wait(caller, finished, pending, 0);
    troupe_status status = pending->error.code;
    if (status < 0 && err) *err = pending->error;
    if (!status) move_results(pending->block, results, n_results);
    tp_caller_release(caller, pending);
    return status;
}

/* It does not start, so what it was given is let go. */
static TP_COLD troupe_status refuse(const struct tp_start *start, troupe_status status)
{
    tp_lend_drop(start);
    return status;
}

static troupe_status run_started(struct troupe_caller *caller, const struct tp_start *start,
                                 troupe_tensor **results, size_t n_results, troupe_error *err)
{
    struct tp_pending *pending;
    troupe_status status = tp_caller_start(caller, start, &pending, err);
    if (status) return refuse(start, status);
    return await(caller, pending, results, n_results, err);
}

/* -- Either -------------------------------------------------------------------------------- */

/* TROUPE_PENDING: it cannot be done so, and nothing was. */
static troupe_status run_here(struct troupe_caller *caller, const struct tp_start *start,
                              troupe_tensor **results, size_t n_results, troupe_error *err)
{
    static const uint64_t no_options[2] = {0, 0};
    if (TP_UNLIKELY(caller->runtime->max_bytes)) return TROUPE_PENDING; /* it is counted */
    for (size_t i = 0; i < start->n_args; i++)
        if (!start->args[i]) return TROUPE_PENDING;
    struct tp_known *known = tp_known_find(caller, start->function, no_options, start->args);
    if (!known || known->instance->plan->partition->n_shards != 1) return TROUPE_PENDING;
    if (TP_UNLIKELY(!tp_runtime_admit(caller))) {
        tp_tally(&caller->refused, 1);
        return TROUPE_BUSY;
    }
    struct tp_block *block;
    troupe_status status = tp_known_take_block(caller, known, &block, err);
    if (status < 0) {
        tp_runtime_admit_back(caller);
        return status;
    }
    struct tp_pending *pending = NULL;
    if (tp_permit_take(block->shards[0].device, caller->seat)) {
        atomic_store_explicit(&block->stop, false, memory_order_relaxed);
        status = run_block(caller, start, block, &pending, err);
        if (pending) return await(caller, pending, results, n_results, err);
        if (!status) move_results(block, results, n_results);
        tally_call(caller, status);
    } else {
        status = TROUPE_PENDING;
        tp_count_start(&block->count, 0);
    }
    tp_known_return(known, &block);
    tp_runtime_admit_back(caller);
    return status;
}

static troupe_status check_results(const troupe_function *function, size_t n_results,
                                   troupe_error *err)
{
    const struct tp_function *body = function->body;
    if (n_results == body->n_results) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "function '%s' gives %u results, not %zu", body->name,
                   body->n_results, n_results);
}

troupe_status troupe_run(troupe_runtime *runtime, const troupe_function *function,
                         const troupe_tensor *const *args, size_t n_args,
                         troupe_tensor **results, size_t n_results,
                         const troupe_call_options *options, troupe_error *err)
{
    const struct tp_start start = {function, args, n_args, options, NULL, NULL};
    struct troupe_caller *caller;
    troupe_status status = tp_need(runtime, "runtime", err);
    if (!status) status = tp_need(function, "function", err);
    if (!status) status = tp_need_list(args, n_args, "args", err);
    if (!status) status = tp_need_list(results, n_results, "results", err);
    if (TP_UNLIKELY(status < 0)) return refuse(&start, status);
    if ((status = tp_runtime_check(runtime, err)) < 0 ||
        (status = tp_start_check(&start, err)) < 0 ||
        (status = check_results(function, n_results, err)) < 0 ||
        (status = tp_runtime_runner(runtime, &caller, err)) < 0 ||
        (status = tp_caller_enter(caller, err)) < 0)
        return refuse(&start, status);
    status = options ? TROUPE_PENDING : run_here(caller, &start, results, n_results, err);
    if (status == TROUPE_PENDING) status = run_started(caller, &start, results, n_results, err);
    /* A permit that was given back, deadlines that passed: what they made runnable is
     * others'. */
    if (TP_UNLIKELY(caller->seat->head != NULL)) tp_caller_go(caller);
    tp_caller_leave(caller);
    return status;
}
