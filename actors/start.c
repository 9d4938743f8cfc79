/* SPDX-License-Identifier: MIT
 *
 * actors/start.c - start one call: a slot, its arguments, its instance if the caller knows it,
 * else the coordinator.
 */
#include <string.h>

#include "actors/caller.h"
#include "actors/runtime.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/rest.h"
#include "tensor/tensor.h"

#define GENERATION_LAST ((UINT64_C(1) << TP_GENERATION_BITS) - 1)

/* -- Slots --------------------------------------------------------------------------------- */

static troupe_status add_chunk(struct troupe_caller *caller, troupe_error *err)
{
    uint32_t at = caller->n_slots / TP_CHUNK;
    size_t size = TP_CHUNK * sizeof(struct tp_pending);
    if (at == TP_CHUNKS)
        return tp_fail(err, TROUPE_EXHAUSTED, "one caller has %u calls in flight",
                       caller->n_slots);
    struct tp_pending *chunk = tp_alloc_aligned(64, size);
    if (!chunk) return tp_fail_memory(err, size);
    memset(chunk, 0, size);
    /* release: pairs with tp_caller_slot */
    atomic_store_explicit(&caller->chunks[at], chunk, memory_order_release);
    return TROUPE_OK;
}

/* A slot that was never used: the first generation is 1, so that no call has the number 0. */
static troupe_status new_slot(struct troupe_caller *caller, struct tp_pending **out,
                              troupe_error *err)
{
    if (caller->n_slots % TP_CHUNK == 0 &&
        !atomic_load_explicit(&caller->chunks[caller->n_slots / TP_CHUNK % TP_CHUNKS],
                              memory_order_relaxed))
        TP_TRY(add_chunk(caller, err));
    struct tp_pending *chunk =
        atomic_load_explicit(&caller->chunks[caller->n_slots / TP_CHUNK], memory_order_relaxed);
    struct tp_pending *pending = &chunk[caller->n_slots % TP_CHUNK];
    pending->slot = caller->n_slots++;
    tp_rendezvous_init(pending, caller);
    atomic_store_explicit(&pending->word, 1ull << 16, memory_order_seq_cst);
    *out = pending;
    return TROUPE_OK;
}

static troupe_status take_slot(struct troupe_caller *caller, struct tp_pending **out,
                               troupe_error *err)
{
    struct tp_pending *pending = caller->free;
    /* Numbers are never used again: a slot whose generations are used up is left alone. */
    while (pending && tp_word_generation(atomic_load(&pending->word)) >= GENERATION_LAST)
        pending = caller->free = pending->next;
    if (!pending) return new_slot(caller, out, err);
    caller->free = pending->next;
    *out = pending;
    return TROUPE_OK;
}

/* From here on it can be cancelled, when it has a number. */
static void set_alive(struct troupe_caller *caller, struct tp_pending *pending, uint64_t parent)
{
    uint64_t word = atomic_load_explicit(&pending->word, memory_order_relaxed);
    uint64_t number = tp_call_number(caller->index, pending->slot, tp_word_generation(word));
    atomic_store_explicit(&pending->id, number, memory_order_relaxed);
    atomic_store_explicit(&pending->parent, parent, memory_order_relaxed);
    if (parent) {
        atomic_store_explicit(&caller->parents, true, memory_order_seq_cst);
        atomic_store_explicit(&caller->runtime->parents, true, memory_order_seq_cst);
    }
    atomic_store_explicit(&pending->cancelling, false, memory_order_relaxed);
    atomic_store_explicit(&pending->broken_off, TROUPE_OK, memory_order_relaxed);
    atomic_store_explicit(&pending->word, word | 1, memory_order_seq_cst);
}

/* -- Arguments ----------------------------------------------------------------------------- */

static troupe_status room_for_args(struct tp_pending *pending, uint32_t n, troupe_error *err)
{
    if (n <= pending->args_capacity && pending->args) return TROUPE_OK;
    const troupe_tensor **args = tp_alloc_array(n + (size_t)1, sizeof(troupe_tensor *));
    if (!args) return tp_fail_memory(err, n * sizeof(troupe_tensor *));
    tp_free((void *)pending->args);
    pending->args = args;
    pending->args_capacity = n;
    return TROUPE_OK;
}

static troupe_status missing(const struct tp_function *body, uint32_t i, troupe_error *err)
{
    struct tp_shape_text wanted;
    tp_type_show(&body->values[i].type, body->dims, wanted.text, sizeof wanted.text);
    return tp_fail(err, TROUPE_INVALID,
                   "function '%s': argument '%s' (%s) is missing and has no default",
                   body->name, body->values[i].name, wanted.text);
}

/* Copy the list, with defaults where NULL was given; nothing is retained yet. */
static troupe_status set_args(struct tp_pending *pending, const struct tp_start *start,
                              troupe_error *err)
{
    const struct tp_function *body = start->function->body;
    TP_TRY(room_for_args(pending, body->n_args, err));
    for (uint32_t i = 0; i < body->n_args; i++) {
        pending->args[i] = start->args[i] ? start->args[i] : body->values[i].constant;
        if (!pending->args[i]) return missing(body, i, err);
    }
    pending->n_args = body->n_args;
    return TROUPE_OK;
}

static void retain_args(struct tp_pending *pending)
{
    for (uint32_t i = 0; !pending->sync && i < pending->n_args; i++)
        if (!pending->lending.any || !pending->lending.give[i])
            troupe_tensor_retain(pending->args[i]);
}

/* -- Options ------------------------------------------------------------------------------- */

static void fire(struct tp_timer *timer, struct tp_seat *seat)
{
    struct tp_pending *pending = tp_container_of(timer, struct tp_pending, timer);
    uint64_t word = atomic_load_explicit(&pending->word, memory_order_seq_cst);
    /* The timer is removed before the generation ends, under the lock that is held here: it is
     * the same call. */
    if (!tp_pending_pin(pending, tp_word_generation(word))) return;
    struct tp_message *timeout = &pending->timeout;
    tp_message_set(timeout, TP_CANCEL, 0);
    timeout->cancel.pending = pending;
    timeout->cancel.code = TROUPE_TIMED_OUT;
    tp_post(seat, &pending->actor, &timeout);
    tp_pending_break_off(pending, TROUPE_TIMED_OUT);
    tp_caller_cancel_children(pending->caller->runtime, atomic_load(&pending->id),
                              TROUPE_TIMED_OUT);
}

static void set_deadline(struct tp_pending *pending, double seconds)
{
    struct tp_stage *stage = pending->caller->runtime->stage;
    double ns = seconds * 1e9;
    uint64_t after = ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18;
    pending->timer.fire = fire;
    tp_stage_set_timer(stage, pending->caller->seat, &pending->timer, tp_clock_ns() + after);
}

troupe_status tp_options_check(const troupe_call_options *o, troupe_error *err)
{
    if (!o) return TROUPE_OK;
    if (o->size < sizeof(troupe_call_options))
        return tp_fail(err, TROUPE_INVALID, "troupe_call_options.size is %zu, not %zu", o->size,
                       sizeof(troupe_call_options));
    TP_TRY(tp_rest_check(o, o->size, sizeof *o, "troupe_call_options", err));
    if (o->report) *o->report = NULL;
    if (!(o->deadline_s >= 0))
        return tp_fail(err, TROUPE_INVALID, "a deadline of %g seconds is not a time from now",
                       o->deadline_s);
    return TROUPE_OK;
}

troupe_status tp_start_check(const struct tp_start *start, troupe_error *err)
{
    const struct tp_function *body = start->function->body;
    TP_TRY(tp_options_check(start->options, err));
    if (start->n_args == body->n_args) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "function '%s' takes %u arguments, not %zu", body->name,
                   body->n_args, start->n_args);
}

/* What the parent is being broken off with, and its children with it; else TROUPE_OK. One that
 * has ended breaks off nobody. */
static troupe_status parent_broken_off(struct troupe_runtime *runtime, uint64_t parent)
{
    struct troupe_caller *caller = tp_runtime_caller(runtime, parent);
    struct tp_pending *p = caller ? tp_caller_slot(caller, parent) : NULL;
    if (!p || atomic_load_explicit(&p->id, memory_order_relaxed) != parent) return TROUPE_OK;
    if (!(atomic_load_explicit(&p->word, memory_order_seq_cst) & 1)) return TROUPE_OK;
    return (troupe_status)atomic_load_explicit(&p->broken_off, memory_order_seq_cst);
}

static void set_options(struct tp_pending *pending, const troupe_call_options *o)
{
    static const troupe_call_options none = TROUPE_CALL_OPTIONS_INIT;
    if (!o) o = &none;
    pending->priority = o->priority;
    pending->profile = o->profile;
    pending->report = o->report;
}

/* -- Start --------------------------------------------------------------------------------- */

static troupe_status start_known(struct tp_pending *pending, struct tp_known *known,
                                 troupe_error *err)
{
    TP_OWNED(tp_block_destroy) struct tp_block *block = NULL;
    TP_TRY(tp_known_take_block(pending->caller, known, &block, err));
    if (pending->profile) TP_TRY(tp_block_profile(block, err));
    if (pending->lending.any) TP_TRY(tp_lend_block(pending, block, err));
    pending->function = block->instance->plan->request.function;
    pending->block = block;
    block = NULL;
    return TROUPE_OK;
}

static troupe_status start_unknown(struct tp_pending *pending, const struct tp_start *start,
                                   troupe_error *err)
{
    struct troupe_runtime *runtime = pending->caller->runtime;
    TP_TRY(tp_request_make(&pending->request, runtime->devices, runtime->default_device,
                           start->function, start->options, err));
    TP_TRY(tp_request_operators(&pending->request, runtime->operators, err));
    pending->function = pending->request.function;
    return TROUPE_OK;
}

static troupe_status fill_slot(struct tp_pending *pending, const struct tp_start *start,
                               troupe_error *err)
{
    const struct tp_function *body = start->function->body;
    TP_TRY(set_args(pending, start, err));
    pending->lending.any = false;
    if (tp_lends(start->options)) TP_TRY(tp_lend_note(pending, start, err));
    set_options(pending, start->options);
    pending->sync = !start->done;
    pending->early = TROUPE_OK;
    pending->finished = pending->gone = false;
    atomic_store_explicit(&pending->watched, NULL, memory_order_relaxed);
    pending->done = start->done;
    pending->arg = start->arg;
    pending->asked = start->function;
    pending->error.code = TROUPE_OK;
    pending->timer.fire = NULL;
    pending->started_ns = pending->profile ? tp_clock_ns() : 0;
    pending->block = NULL;
    tp_options_key(start->options, body->n_args, body->n_results, pending->key);
    return TROUPE_OK;
}

static troupe_status fill(struct tp_pending *pending, const struct tp_start *start,
                          troupe_error *err)
{
    TP_TRY(fill_slot(pending, start, err));
    struct tp_known *known =
        tp_known_find(pending->caller, start->function, pending->key, pending->args);
    return known ? start_known(pending, known, err) : start_unknown(pending, start, err);
}

/* Give its first messages. On the caller's own thread, outside a turn. */
static void set_off(struct tp_pending *pending, const troupe_call_options *options)
{
    struct troupe_caller *caller = pending->caller;
    uint64_t parent = options ? options->parent : 0;
    caller->live++;
    tp_tally(&caller->calls, 1);
    if (pending->priority)
        atomic_fetch_add_explicit(&caller->seat->stage->ranked, 1, memory_order_relaxed);
    if (pending->block)
        tp_rendezvous_run(pending, caller->seat, pending->block);
    else
        tp_rendezvous_plan(pending, caller->seat);
    tp_stage_last_word(caller->seat);
    /* Only now: who cancels runs the rendezvous, on any thread. */
    set_alive(caller, pending, parent);
    if (options && options->deadline_s > 0) set_deadline(pending, options->deadline_s);
    /* After the call can be found: a parent that was cancelled before did not find it. */
    troupe_status broken_off = parent ? parent_broken_off(caller->runtime, parent) : TROUPE_OK;
    if (broken_off) tp_caller_cancel(caller, atomic_load(&pending->id), broken_off);
}

static void put_slot(struct troupe_caller *caller, struct tp_pending *pending)
{
    pending->next = caller->free;
    caller->free = pending;
}

struct tp_pending *tp_caller_adopt(struct troupe_caller *caller, const struct tp_start *start,
                                   struct tp_block *block)
{
    struct tp_pending *pending;
    troupe_error error;
    if (take_slot(caller, &pending, &error) < 0) return NULL;
    if (fill_slot(pending, start, &error) < 0) {
        put_slot(caller, pending);
        return NULL;
    }
    pending->function = block->instance->plan->request.function;
    pending->bytes = 0;
    caller->live++;
    tp_tally(&caller->calls, 1);
    tp_rendezvous_resume(pending, caller->seat, block);
    set_alive(caller, pending, 0);
    return pending;
}

static size_t bytes_of(const struct tp_start *start)
{
    size_t bytes = 0;
    for (size_t i = 0; i < start->n_args; i++)
        if (start->args[i]) bytes += troupe_tensor_size(start->args[i]);
    return bytes;
}

/* Room for one more call, and for its arguments. *bytes is what was taken in. */
static troupe_status admit(struct troupe_caller *caller, const struct tp_start *start,
                           size_t *bytes, troupe_error *err)
{
    struct troupe_runtime *runtime = caller->runtime;
    if (!tp_runtime_admit(caller)) return TROUPE_BUSY;
    if (TP_LIKELY(!runtime->max_bytes)) return TROUPE_OK;
    size_t n = bytes_of(start);
    troupe_status status = tp_runtime_admit_bytes(runtime, n, err);
    if (status)
        tp_runtime_admit_back(caller);
    else
        *bytes = n;
    return status;
}

static void take_back(struct troupe_caller *caller, size_t bytes)
{
    tp_runtime_admit_back(caller);
    if (bytes) atomic_fetch_sub_explicit(&caller->runtime->bytes, bytes, memory_order_relaxed);
}

/* A slot, filled. */
static troupe_status prepare(struct troupe_caller *caller, const struct tp_start *start,
                             struct tp_pending **out, troupe_error *err)
{
    struct tp_pending *pending;
    TP_TRY(take_slot(caller, &pending, err));
    troupe_status status = fill(pending, start, err);
    if (status < 0) {
        tp_request_fini(&pending->request);
        put_slot(caller, pending);
        return status;
    }
    *out = pending;
    return TROUPE_OK;
}

troupe_status tp_caller_start(struct troupe_caller *caller, const struct tp_start *start,
                              struct tp_pending **out, troupe_error *err)
{
    struct tp_pending *pending;
    size_t bytes = 0;
    if (atomic_load_explicit(&caller->runtime->closing, memory_order_seq_cst))
        return tp_fail(err, TROUPE_CANCELLED, "the runtime is being closed");
    if (caller->draining) return tp_fail(err, TROUPE_CANCELLED, "the caller is being closed");
    troupe_status status = admit(caller, start, &bytes, err);
    if (status == TROUPE_BUSY) tp_tally(&caller->refused, 1);
    if (status) return status;
    status = prepare(caller, start, &pending, err);
    if (status < 0) {
        take_back(caller, bytes);
        return status;
    }
    pending->bytes = bytes;
    retain_args(pending);
    set_off(pending, start->options);
    *out = pending;
    return TROUPE_OK;
}
