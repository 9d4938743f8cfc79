/* SPDX-License-Identifier: MIT
 *
 * actors/job.c - the actor that makes one plan or instance.
 */
#include "actors/job.h"

#include "actors/stage.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/fiber.h"
#include "base/log.h"
#include "messages/function_codec.h"
#include "tensor/tensor.h"

#define SLICE_NS 200000

#ifdef TP_SMALL
#define LOOK 4
#else
#define LOOK 64 /* pieces of work from one look at the clock to the next */
#endif
#define LOOK_REHEARSED 8 /* then every look ends a slice, so that small plans have several */

/* -- The work ------------------------------------------------------------------------------ */

static troupe_status make(struct tp_flight *flight, troupe_error *err)
{
    struct tp_pace *pace = &flight->pace;
    if (!flight->plan) TP_TRY(tp_plan_make(&flight->request, pace, &flight->plan, err));
    size_t size = (flight->n_args + (size_t)1) * sizeof(struct tp_type *);
    TP_OWNED(tp_free_at) const struct tp_type **args = tp_alloc(size);
    if (!args) return tp_fail_memory(err, size);
    for (uint32_t i = 0; i < flight->n_args; i++)
        args[i] = &flight->types[i];
    return tp_instance_make(flight->plan, flight->devices, args, pace, &flight->instance, err);
}

static void body(void *arg)
{
    struct tp_flight *flight = arg;
    (void)!make(flight, &flight->error);
}

static bool unwanted(const struct tp_flight *flight)
{
    return atomic_load_explicit(&flight->unwanted, memory_order_relaxed);
}

static troupe_status look(struct tp_pace *pace, troupe_error *err)
{
    struct tp_flight *flight = tp_container_of(pace, struct tp_flight, pace);
    if (!unwanted(flight) && (!flight->until_ns || tp_clock_ns() >= flight->until_ns))
        tp_fiber_pause(flight->fiber);
    if (!unwanted(flight)) return TROUPE_OK;
    return tp_fail(err, TROUPE_CANCELLED, "nobody waits for it any more");
}

bool tp_flight_given_up(const struct tp_flight *flight)
{
    return flight->error.code == TROUPE_CANCELLED && unwanted(flight);
}

void tp_flight_hand_to(struct tp_flight *flight, void *owner, struct tp_seat *seat)
{
    atomic_store_explicit(&flight->owner, owner, memory_order_relaxed);
    tp_stage_alert(seat->stage, seat, owner);
    /* release: who finds it there sees the owner */
    void *before = atomic_exchange_explicit(&flight->alerted, owner, memory_order_acq_rel);
    if (before) tp_stage_calm(seat->stage, before);
}

void tp_flight_calm(struct tp_flight *flight, struct tp_stage *stage)
{
    void *alerted = atomic_exchange_explicit(&flight->alerted, NULL, memory_order_acq_rel);
    if (alerted) tp_stage_calm(stage, alerted);
}

/* -- Slices -------------------------------------------------------------------------------- */

/* True: the work has ended. */
static bool run_slice(struct tp_flight *flight, const struct tp_seat *seat)
{
    bool rehearsed = seat->stage->rehearsal != NULL;
    flight->pace.each = rehearsed ? LOOK_REHEARSED : LOOK;
    flight->until_ns = rehearsed ? 0 : tp_clock_ns() + SLICE_NS;
    if (!flight->fiber && tp_fiber_new(&flight->fiber, body, flight, &flight->error) < 0)
        return true;
    return tp_fiber_resume(flight->fiber);
}

/* A test: the function of a plan is one that came through the codec. */
static void through_codec(struct tp_flight *flight)
{
    troupe_error error;
    const struct tp_request *request = &flight->request;
    const bool ours = !request->function->operators; /* a user's may refuse the second time */
    const troupe_status status =
        tp_function_recode(&flight->request.function, request->operators, &error);
    if (status >= 0 || status == TROUPE_EXHAUSTED || !ours) return;
    tp_log(ERROR, "codec-failed", "%s", error.text);
    tp_assert(!"a function came through the codec");
}

static troupe_status on_build(struct tp_actor *self, struct tp_seat *seat,
                              struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_flight *flight = tp_container_of(self, struct tp_flight, actor);
    struct tp_message *next = *message;
    *message = NULL;
    if (TP_UNLIKELY(seat->stage->wire) && !flight->plan && !flight->fiber)
        through_codec(flight);
    if (!run_slice(flight, seat)) {
        tp_flight_calm(flight, seat->stage); /* from here on it bears the owner's name */
        self->group = atomic_load_explicit(&flight->owner, memory_order_relaxed);
        tp_message_set(next, TP_BUILD, TP_PLANNING_NS);
        next->build.flight = flight;
        seat->gave_way = true;
        tp_post(seat, self, &next);
        return TROUPE_OK;
    }
    tp_fiber_destroy(&flight->fiber);
    tp_message_set(next, TP_BUILT, 0);
    next->built.flight = flight;
    tp_post_last(seat, flight->coordinator, &next);
    return TROUPE_OK;
}

/* -- New, destroy -------------------------------------------------------------------------- */

static const struct tp_role role = {
    .name = "job",
    .shared = true,
    .on = {[TP_BUILD] = on_build},
};

troupe_status tp_flight_new(struct tp_flight **out, struct tp_entry *entry,
                            const struct tp_request *request, struct troupe_plan *plan,
                            const troupe_tensor *const *args, uint32_t n_args,
                            troupe_error *err)
{
    TP_OWNED(tp_flight_destroy) struct tp_flight *flight = tp_alloc(sizeof *flight);
    if (!flight) return tp_fail_memory(err, sizeof *flight);
    tp_actor_init(&flight->actor, &role, NULL);
    flight->pace.look = look;
    flight->entry = entry;
    flight->n_args = n_args;
    flight->types = tp_alloc_array(n_args + (size_t)1, sizeof *flight->types);
    if (!flight->types) return tp_fail_memory(err, n_args * sizeof *flight->types);
    for (uint32_t i = 0; i < n_args; i++)
        flight->types[i] = args[i]->type;
    TP_TRY(tp_request_copy(&flight->request, request, err));
    if (plan) flight->plan = tp_plan_retain(plan);
    *out = flight;
    flight = NULL;
    return TROUPE_OK;
}

void tp_flight_destroy(struct tp_flight **at)
{
    struct tp_flight *flight = *at;
    *at = NULL;
    if (!flight) return;
    tp_instance_release(&flight->instance);
    tp_plan_release(&flight->plan);
    tp_request_fini(&flight->request);
    tp_free(flight->types);
    tp_free(flight);
}

bool tp_flight_fits(const struct tp_flight *flight, const troupe_tensor *const *args)
{
    for (uint32_t i = 0; i < flight->n_args; i++)
        if (args[i]->type.dtype != flight->types[i].dtype ||
            !tp_shape_equal(&args[i]->type.shape, &flight->types[i].shape))
            return false;
    return true;
}
