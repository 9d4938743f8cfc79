/* SPDX-License-Identifier: MIT
 *
 * actors/callers.c - the callers of a runtime: open, close, calls, fd, dispatch and wait as the
 * public header has them.
 */
#include <errno.h>
#include <string.h>

#include "actors/runtime.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/guest.h"
#include "base/need.h"

/* -- The table ----------------------------------------------------------------------------- */

/* There is room for one more, so that nothing is made in vain: a seat is never given back.
 * Under the lock. */
static troupe_status room_for_caller(struct troupe_runtime *runtime, bool numbered,
                                     troupe_error *err)
{
    unsigned n = atomic_load_explicit(&runtime->n_numbered, memory_order_relaxed);
    if (numbered && n == TP_CALLERS_MAX)
        return tp_fail(err, TROUPE_EXHAUSTED, "%d callers are open", TP_CALLERS_MAX);
    return tp_grow(&runtime->all, runtime->n_all, &runtime->all_capacity, sizeof *runtime->all,
                   err);
}

static void register_caller(struct troupe_runtime *runtime, struct troupe_caller *caller)
{
    unsigned n = atomic_load_explicit(&runtime->n_numbered, memory_order_relaxed);
    runtime->all[runtime->n_all++] = caller;
    if (!caller->numbered) return;
    caller->index = n;
    /* release: pairs with tp_runtime_caller */
    atomic_store_explicit(&runtime->numbered[n], caller, memory_order_release);
    atomic_store_explicit(&runtime->n_numbered, n + 1, memory_order_release);
}

static troupe_status new_caller(struct troupe_runtime *runtime, bool numbered,
                                struct troupe_caller **out, troupe_error *err)
{
    TP_TRY(room_for_caller(runtime, numbered, err));
    TP_TRY(tp_caller_new(runtime, numbered, out, err));
    register_caller(runtime, *out);
    return TROUPE_OK;
}

/* A closed one is used again: its slots go on counting, so numbers stay unique. */
static troupe_status get_caller(struct troupe_runtime *runtime, bool numbered,
                                struct troupe_caller **out, troupe_error *err)
{
    struct troupe_caller **list = numbered ? &runtime->callers_free : &runtime->runners_free;
    troupe_status status = TROUPE_OK;
    tp_lock_take(&runtime->lock);
    struct troupe_caller *caller = *list;
    if (caller)
        *list = caller->next;
    else
        status = new_caller(runtime, numbered, &caller, err);
    tp_lock_drop(&runtime->lock);
    if (!status) *out = caller;
    return status;
}

static void put_caller(struct troupe_caller *caller)
{
    struct troupe_runtime *runtime = caller->runtime;
    tp_known_clear(caller);
    tp_lock_take(&runtime->lock);
    struct troupe_caller **list =
        caller->numbered ? &runtime->callers_free : &runtime->runners_free;
    caller->next = *list;
    *list = caller;
    tp_lock_drop(&runtime->lock);
}

struct troupe_caller *tp_runtime_caller(troupe_runtime *runtime, uint64_t call)
{
    uint64_t index = tp_call_caller(call);
    if (index >= TP_CALLERS_MAX) return NULL;
    return atomic_load_explicit(&runtime->numbered[index], memory_order_acquire);
}

/* -- Threads in troupe_run ----------------------------------------------------------------- */

void tp_runtime_runner_ended(void *arg)
{
    struct troupe_caller *caller = arg;
    if (!tp_runtime_forked(caller->runtime)) put_caller(caller);
}

troupe_status tp_runtime_runner(troupe_runtime *runtime, struct troupe_caller **out,
                                troupe_error *err)
{
    struct troupe_caller *caller = tp_thread_key_get(&runtime->runners);
    if (TP_UNLIKELY(!caller)) {
        TP_TRY(get_caller(runtime, false, &caller, err));
        if (tp_thread_key_set(&runtime->runners, caller)) {
            put_caller(caller);
            return tp_fail(err, TROUPE_EXHAUSTED, "no memory for this thread's caller");
        }
    }
    *out = caller;
    return TROUPE_OK;
}

/* -- Admission ----------------------------------------------------------------------------- */

/* Callers take quotas in steps, so that a call writes nothing that others write. */

bool tp_runtime_admit(struct troupe_caller *caller)
{
    struct troupe_runtime *runtime = caller->runtime;
    if (TP_LIKELY(caller->quota)) {
        caller->quota--;
        return true;
    }
    unsigned long long left = atomic_load_explicit(&runtime->calls_left, memory_order_relaxed),
                       n;
    do {
        if (!left) return false;
        n = left < runtime->quota_step ? left : runtime->quota_step;
    } while (!atomic_compare_exchange_weak_explicit(
        &runtime->calls_left, &left, left - n, memory_order_relaxed, memory_order_relaxed));
    caller->quota = (uint32_t)n - 1;
    return true;
}

void tp_runtime_admit_back(struct troupe_caller *caller)
{
    uint32_t step = caller->runtime->quota_step;
    if (++caller->quota <= 2 * step && step > 1) return;
    caller->quota -= step;
    atomic_fetch_add_explicit(&caller->runtime->calls_left, step, memory_order_relaxed);
}

troupe_status tp_runtime_admit_bytes(struct troupe_runtime *runtime, size_t bytes,
                                     troupe_error *err)
{
    const size_t limit = runtime->max_bytes;
    unsigned long long used = atomic_load_explicit(&runtime->bytes, memory_order_relaxed);
    if (bytes > limit)
        return tp_fail(
            err, TROUPE_EXHAUSTED,
            "arguments of %zu bytes are over the limit of %zu for all calls in flight", bytes,
            limit);
    do
        if (used > limit - bytes) return TROUPE_BUSY;
    while (!atomic_compare_exchange_weak_explicit(&runtime->bytes, &used, used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed));
    return TROUPE_OK;
}

/* -- The public functions ------------------------------------------------------------------ */

troupe_status troupe_caller_open(troupe_runtime *runtime, troupe_caller **out,
                                 troupe_error *err)
{
    TP_TRY(tp_need(runtime, "runtime", err));
    TP_TRY(tp_need(out, "out", err));
    TP_TRY(tp_runtime_check(runtime, err));
    return get_caller(runtime, true, out, err);
}

troupe_status troupe_caller_close(troupe_caller **at)
{
    if (!at) return TROUPE_OK;
    struct troupe_caller *caller = *at;
    if (!caller) return TROUPE_OK;
    if (tp_runtime_forked(caller->runtime)) {
        *at = NULL;
        return TROUPE_OK;
    }
    if (tp_guest_now || atomic_load_explicit(&caller->inside, memory_order_relaxed))
        return TROUPE_INVALID;
    *at = NULL;
    tp_caller_drain(caller);
    put_caller(caller);
    return TROUPE_OK;
}

/* What can be handed to workers and is worth it, is; the rest waits for this caller's next
 * dispatch or wait. */
static void leave_start(struct troupe_caller *caller)
{
    if (atomic_load_explicit(&caller->inside, memory_order_relaxed)) return;
    if (caller->seat->head) tp_stage_offer(caller->seat, caller);
    tp_caller_settle(caller);
}

/* TROUPE_BUSY, too: it has not started. */
static troupe_status call(troupe_caller *caller, const struct tp_start *start,
                          uint64_t *out_call, troupe_error *err)
{
    struct tp_pending *pending;
    TP_TRY(tp_runtime_check(caller->runtime, err));
    if (!start->done)
        return tp_fail(err, TROUPE_INVALID, "a call without a function to tell its end");
    if (TP_UNLIKELY(tp_guest_now == TP_GUEST_OPERATOR))
        return tp_fail(err, TROUPE_INVALID, "not in a callback of an operator");
    TP_TRY(tp_start_check(start, err));
    troupe_status status = tp_caller_start(caller, start, &pending, err);
    if (status) return status;
    if (out_call) *out_call = atomic_load_explicit(&pending->id, memory_order_relaxed);
    leave_start(caller);
    return TROUPE_OK;
}

troupe_status troupe_caller_call(troupe_caller *caller, const troupe_function *function,
                                 const troupe_tensor *const *args, size_t n_args,
                                 const troupe_call_options *options, troupe_done_fn *done,
                                 void *arg, uint64_t *out_call, troupe_error *err)
{
    const struct tp_start start = {function, args, n_args, options, done, arg};
    troupe_status status = tp_need(caller, "caller", err);
    if (!status) status = tp_need(function, "function", err);
    if (!status) status = tp_need_list(args, n_args, "args", err);
    if (!status) status = call(caller, &start, out_call, err);
    if (status) tp_lend_drop(&start);
    return status;
}

int troupe_caller_fd(const troupe_caller *caller)
{
    if (!caller) return -1;
    struct troupe_caller *mine =
        (struct troupe_caller *)caller; /* the fd is made when it is asked for */
    if (tp_runtime_forked(mine->runtime)) return atomic_load(&mine->bell.fd);
    if (tp_bell_has_fd(&mine->bell)) return tp_bell_open(&mine->bell);
    int fd = tp_bell_open(&mine->bell);
    tp_caller_settle(mine);
    return fd;
}

/* Without workers all the work that there is, but no more than one slice of planning, which is
 * then everyone's; with them only what was left here, and what is long is for them. */
static bool work(struct troupe_caller *caller)
{
    struct tp_seat *seat = caller->seat;
    if (!seat->stage->workers && seat->gave_way && seat->head) {
        seat->gave_way = false;
        tp_stage_hand_over(seat, caller);
        return false;
    }
    if (!seat->stage->workers) return tp_stage_turn(seat, caller, true);
    if (seat->head) tp_stage_offer(seat, caller);
    return seat->head && tp_stage_turn(seat, caller, false);
}

troupe_status troupe_caller_dispatch(troupe_caller *caller)
{
    if (!caller) return TROUPE_INVALID;
    TP_TRY(tp_runtime_check(caller->runtime, NULL));
    TP_TRY(tp_caller_enter(caller, NULL));
    size_t n = tp_caller_take(caller);
    while (work(caller))
        n += tp_caller_take(caller);
    n += tp_caller_take(caller);
    tp_caller_settle(caller);
    tp_caller_leave(caller);
    return n ? TROUPE_OK : TROUPE_PENDING;
}

/* What a wait waits for. */
struct awaited {
    struct troupe_caller *caller;
    struct tp_pending *pending;
    uint64_t generation; /* 0: any callback */
    uint64_t ended;      /* callbacks that had run before */
};

static bool has_ended(void *arg)
{
    const struct awaited *a = arg;
    if (!a->generation)
        return atomic_load_explicit(&a->caller->ended, memory_order_relaxed) != a->ended;
    uint64_t word = atomic_load_explicit(&a->pending->word, memory_order_relaxed);
    return tp_word_generation(word) != a->generation || a->pending->gone;
}

static troupe_status await(struct troupe_caller *caller, uint64_t call, struct awaited *out)
{
    out->caller = caller;
    out->ended = atomic_load_explicit(&caller->ended, memory_order_relaxed);
    if (!call) return TROUPE_OK;
    out->generation = tp_call_generation(call);
    out->pending = tp_call_caller(call) == caller->index ? tp_caller_slot(caller, call) : NULL;
    if (!out->pending) return TROUPE_NOT_FOUND;
    uint64_t word = atomic_load_explicit(&out->pending->word, memory_order_relaxed);
    uint64_t now = tp_word_generation(word);
    bool given = now > out->generation || (now == out->generation && (word & 1));
    return out->generation && given ? TROUPE_OK : TROUPE_NOT_FOUND;
}

troupe_status troupe_caller_wait(troupe_caller *caller, uint64_t call, int timeout_ms)
{
    if (!caller) return TROUPE_INVALID;
    struct awaited awaited = {0};
    TP_TRY(tp_runtime_check(caller->runtime, NULL));
    TP_TRY(tp_caller_enter(caller, NULL));
    troupe_status status = await(caller, call, &awaited);
    uint64_t deadline = timeout_ms < 0 ? 0 : tp_clock_ns() + (uint64_t)timeout_ms * 1000000 + 1;
    bool in_time = status || tp_caller_wait(caller, has_ended, &awaited, deadline);
    tp_caller_leave(caller);
    if (status) return status;
    return in_time ? TROUPE_OK : TROUPE_PENDING;
}

/* -- The runtime's own caller -------------------------------------------------------------- */

troupe_status troupe_call(troupe_runtime *runtime, const troupe_function *function,
                          const troupe_tensor *const *args, size_t n_args,
                          const troupe_call_options *options, troupe_done_fn *done, void *arg,
                          uint64_t *out_call, troupe_error *err)
{
    const struct tp_start start = {function, args, n_args, options, done, arg};
    const troupe_status status = tp_need(runtime, "runtime", err);
    if (status) {
        tp_lend_drop(&start);
        return status;
    }
    return troupe_caller_call(runtime->main, function, args, n_args, options, done, arg,
                              out_call, err);
}

int troupe_fd(const troupe_runtime *runtime)
{
    if (!runtime) return -1;
    return troupe_caller_fd(runtime->main);
}

troupe_status troupe_dispatch(troupe_runtime *runtime)
{
    if (!runtime) return TROUPE_INVALID;
    return troupe_caller_dispatch(runtime->main);
}

troupe_status troupe_wait(troupe_runtime *runtime, uint64_t call, int timeout_ms)
{
    if (!runtime) return TROUPE_INVALID;
    return troupe_caller_wait(runtime->main, call, timeout_ms);
}

void troupe_cancel(troupe_runtime *runtime, uint64_t call)
{
    if (!runtime) return;
    if (tp_runtime_forked(runtime)) return;
    struct troupe_caller *caller = tp_runtime_caller(runtime, call);
    if (caller) tp_caller_cancel(caller, call, TROUPE_CANCELLED);
}

troupe_status troupe_progress(troupe_runtime *runtime, uint64_t call, uint64_t *steps,
                              uint64_t *all)
{
    if (!runtime) return TROUPE_INVALID;
    if (!steps) return TROUPE_INVALID;
    if (!all) return TROUPE_INVALID;
    if (tp_runtime_forked(runtime)) return TROUPE_INVALID;
    struct troupe_caller *caller = tp_runtime_caller(runtime, call);
    struct tp_pending *pending = caller ? tp_caller_slot(caller, call) : NULL;
    if (!pending || !tp_pending_pin(pending, tp_call_generation(call))) return TROUPE_NOT_FOUND;
    /* acquire: pairs with the release when the rendezvous started its shards; the pin keeps the
     * block */
    struct tp_block *block = atomic_load_explicit(&pending->watched, memory_order_acquire);
    *steps = *all = 0;
    for (uint32_t i = 0; block && i < block->n_shards; i++)
        *steps += atomic_load_explicit(&block->shards[i].progress, memory_order_relaxed);
    if (block) *all = block->instance->steps;
    tp_pending_unpin(pending);
    return TROUPE_OK;
}
