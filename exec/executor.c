/* SPDX-License-Identifier: MIT
 *
 * exec/executor.c - run a frame's steps, a bounded number at a time.
 */
#include "exec/executor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/carve.h"
#include "base/clock.h"
#include "base/fail.h"
#include "exec/dynamic.h"
#include "tensor/tensor.h"

/* -- A frame's memory ---------------------------------------------------------------------- */

static size_t round_up(size_t n)
{
    return (n + TP_ALIGN - 1) / TP_ALIGN * TP_ALIGN;
}

/* The one place that knows how the arrays lie. */
static size_t carve_all(struct tp_frame *frame, const struct tp_program *program, void *memory)
{
    struct tp_carve carve = {memory, 0};
    frame->values = tp_carve(&carve, program->n_slots, sizeof *frame->values, 16);
    frame->owners = tp_carve(&carve, program->n_owners, sizeof(troupe_tensor *), 16);
    frame->types = tp_carve(&carve, program->n_dynamic, sizeof *frame->types, 16);
    frame->spares = tp_carve(&carve, program->n_spares, sizeof(struct tp_spares *), 16);
    frame->arrived = tp_carve(&carve, program->n_edges, 1, 16);
    frame->results = tp_carve(&carve, program->n_results, sizeof(troupe_tensor *), 16);
    return round_up(carve.size);
}

size_t tp_frame_size(const struct tp_program *program)
{
    struct tp_frame counted;
    return carve_all(&counted, program, NULL);
}

/* What never changes in a slot: its type, and the elements that stay in one place. Where all
 * values of the arena are without elements there is none, and any address does. */
static void set_slots(struct tp_frame *frame)
{
    char *const arena = frame->arena ? frame->arena : (char *)frame;
    for (uint32_t i = 0; i < frame->program->n_slots; i++) {
        const struct tp_slot *s = &frame->program->slots[i];
        struct tp_view *view = &frame->values[i];
        view->type = s->type ? s->type : &frame->types[s->dynamic];
        if (s->storage == TP_STORE_CONST) view->data = (void *)s->constant;
        if (s->storage == TP_STORE_ARENA) view->data = arena + s->offset;
    }
}

static troupe_status make_spares(struct tp_frame *frame, troupe_error *err)
{
    const struct tp_program *program = frame->program;
    for (uint32_t i = 0; i < program->n_spares; i++)
        TP_TRY(tp_spares_new(&frame->spares[i], program->pool,
                             program->slots[program->spare_slots[i]].type, err));
    return TROUPE_OK;
}

/* The tensor that the device gave the result gives way to a larger one. */
static troupe_status make_room(struct tp_room *room, const struct tp_launch *launch,
                               size_t result, size_t size, troupe_error *err)
{
    struct tp_frame *frame = tp_container_of(room, struct tp_frame, room);
    const uint32_t slot = launch->results[result];
    troupe_tensor **owner = &frame->owners[frame->program->slots[slot].owner];
    const struct tp_type *type = frame->values[slot].type;
    troupe_tensor *larger;
    TP_TRY(tp_pool_strings(frame->program->pool, type, size, &larger, err));
    if (larger->count)
        memcpy(larger->data, (*owner)->data, larger->count * tp_element_size(type->dtype));
    troupe_tensor_release(owner);
    *owner = larger;
    frame->values[slot].data = larger->data;
    return TROUPE_OK;
}

void tp_frame_set(struct tp_frame *frame, uint32_t slot, troupe_tensor **tensor)
{
    const struct tp_slot *s = &frame->program->slots[slot];
    /* Values without elements have an address, too. */
    frame->values[slot].data = (*tensor)->data ? (*tensor)->data : frame;
    if (!s->type) frame->types[s->dynamic] = (*tensor)->type;
    frame->owners[s->owner] = *tensor;
    *tensor = NULL;
}

static troupe_status open_result(struct tp_room *room, const struct tp_launch *launch,
                                 size_t result, const struct tp_type *type, troupe_error *err)
{
    struct tp_frame *frame = tp_container_of(room, struct tp_frame, room);
    troupe_tensor *tensor;
    TP_TRY(tp_pool_tensor(frame->program->pool, type, &tensor, err));
    tp_frame_set(frame, launch->results[result], &tensor);
    return TROUPE_OK;
}

static troupe_status give_result(struct tp_room *room, const struct tp_launch *launch,
                                 size_t result, troupe_tensor **tensor, troupe_error *err)
{
    (void)err; /* there is nothing to be had */
    tp_frame_set(tp_container_of(room, struct tp_frame, room), launch->results[result], tensor);
    return TROUPE_OK;
}

troupe_status tp_frame_init(struct tp_frame *frame, const struct tp_program *program,
                            void *memory, troupe_error *err)
{
    *frame = (struct tp_frame){.program = program,
                               .waits = TP_NO_INDEX,
                               .pace = 1,
                               .room = {make_room, open_result, give_result}};
    carve_all(frame, program, memory);
    if (program->arena_size)
        TP_TRY(tp_pool_take(program->pool, program->arena_size, &frame->arena, err));
    TP_TRY(make_spares(frame, err));
    set_slots(frame);
    return TROUPE_OK;
}

void tp_frame_fini(struct tp_frame *frame)
{
    if (!frame->program) return;
    tp_frame_clear(frame);
    for (uint32_t i = 0; i < frame->program->n_results; i++)
        troupe_tensor_release(&frame->results[i]);
    for (uint32_t i = 0; i < frame->program->n_spares; i++)
        tp_spares_close(&frame->spares[i]);
    tp_spares_close(&frame->heads);
    if (frame->arena)
        tp_pool_give(frame->program->pool, frame->arena, frame->program->arena_size);
    tp_free(frame->profile);
    *frame = (struct tp_frame){0};
}

/* -- Begin, arrive, clear ------------------------------------------------------------------ */

/* Borrowed, in the place of an owner: tp_frame_clear leaves arguments alone. */
static void set_arg(struct tp_frame *frame, uint32_t slot, const troupe_tensor *arg)
{
    frame->values[slot].data = arg->data;
    frame->owners[frame->program->slots[slot].owner] = (troupe_tensor *)arg;
    if (!frame->program->slots[slot].type)
        frame->types[frame->program->slots[slot].dynamic] = arg->type;
}

void tp_frame_start(struct tp_frame *frame, const troupe_tensor *const *args,
                    const uint32_t *which)
{
    const struct tp_program *program = frame->program;
    frame->pc = 0;
    frame->ran = 0;
    frame->waits = TP_NO_INDEX;
    if (program->n_edges) memset(frame->arrived, 0, program->n_edges);
    for (uint32_t i = 0; i < program->n_args; i++)
        set_arg(frame, program->args[i], args[which[i]]);
}

bool tp_frame_arrive(struct tp_frame *frame, uint32_t edge, troupe_tensor **value)
{
    const struct tp_program *program = frame->program;
    tp_assert(edge < program->n_edges);
    if (frame->arrived[edge]) {
        troupe_tensor_release(value);
        return false;
    }
    frame->arrived[edge] = 1;
    uint32_t slot = program->edge_slots[edge];
    if (slot == TP_NO_INDEX) return true;
    const struct tp_slot *s = &program->slots[slot];
    frame->values[slot].data = (*value)->data;
    if (!s->type) frame->types[s->dynamic] = (*value)->type;
    frame->owners[s->owner] = *value;
    *value = NULL;
    return true;
}

void tp_frame_clear(struct tp_frame *frame)
{
    const struct tp_program *program = frame->program;
    for (uint32_t i = 0; i < program->n_args; i++)
        frame->owners[program->slots[program->args[i]].owner] = NULL;
    for (uint32_t i = 0; i < program->n_owners; i++)
        troupe_tensor_release(&frame->owners[i]);
}

/* -- Steps --------------------------------------------------------------------------------- */

/* What is the same for all launches of a run. */
static struct tp_launch launch_of(struct tp_frame *frame)
{
    const struct tp_program *program = frame->program;
    return (struct tp_launch){
        .values = frame->values,
        .workspace = frame->arena ? (char *)frame->arena + program->workspace_at : NULL,
        .room = &frame->room,
        .team = program->device->team,
        .device = program->device->text,
    };
}

static troupe_status launch(struct tp_frame *frame, struct tp_launch *launch,
                            const struct tp_step *step, troupe_error *err)
{
    launch->inputs = step->inputs;
    launch->results = step->results;
    launch->n_inputs = step->n_inputs;
    launch->n_results = step->n_results;
    launch->state = step->state;
    launch->attrs = step->attrs;
    launch->n_attrs = step->n_attrs;
    launch->node = step->name;
    frame->ran++;
    troupe_status status = step->run(launch, err);
    tp_assert(status <= 0); /* a kernel has no outcomes but failure */
    return status;
}

static troupe_status need_heads(struct tp_frame *frame, troupe_error *err)
{
    if (frame->heads) return TROUPE_OK;
    return tp_heads_new(&frame->heads, frame->program->pool, err);
}

/* The argument that the step may take, if the call gave it away and has it alone. */
static troupe_tensor *take_gift(struct tp_frame *frame, const struct tp_step *step)
{
    troupe_tensor **at = step->edge == TP_NO_INDEX ? NULL : frame->lent->gifts[step->edge],
                  *gift = NULL;
    if (!at || !*at || !tp_tensor_sole(*at) || (uintptr_t)(*at)->data % TP_ALIGN) return NULL;
    frame->owners[frame->program->slots[frame->program->args[step->edge]].owner] = NULL;
    gift = *at;
    *at = NULL;
    return gift;
}

/* Memory that the call lends for the value, or an argument's that it gave away. */
static troupe_status own_lent(struct tp_frame *frame, const struct tp_step *step,
                              troupe_tensor **out, troupe_error *err)
{
    const struct tp_target *target = &frame->lent->targets[step->index];
    if (target->data) {
        TP_TRY(need_heads(frame, err));
        return tp_heads_over(frame->heads, frame->values[step->value].type, target->data,
                             target->size, out, err);
    }
    *out = take_gift(frame, step);
    return *out ? TROUPE_OK : tp_spares_take(frame->spares[step->index], out, err);
}

static troupe_status own(struct tp_frame *frame, const struct tp_step *step, troupe_error *err)
{
    troupe_tensor *tensor;
    if (TP_UNLIKELY(frame->lent != NULL))
        TP_TRY(own_lent(frame, step, &tensor, err));
    else
        TP_TRY(tp_spares_take(frame->spares[step->index], &tensor, err));
    frame->owners[frame->program->slots[step->value].owner] = tensor;
    frame->values[step->value].data = tensor->data;
    return TROUPE_OK;
}

/* A tensor of a slot's own type over its owner's elements. */
static troupe_status view_tensor(struct tp_frame *frame, uint32_t slot, troupe_tensor *owner,
                                 troupe_tensor **out, troupe_error *err)
{
    TP_TRY(need_heads(frame, err));
    return tp_heads_view(frame->heads, frame->values[slot].type, owner->buffer,
                         frame->values[slot].data, out, err);
}

/* The value of a slot as a tensor that the caller owns; its owner is moved when `last`. */
static troupe_status tensor_of(struct tp_frame *frame, uint32_t slot, bool last,
                               troupe_tensor **out, troupe_error *err)
{
    const struct tp_slot *s = &frame->program->slots[slot];
    troupe_tensor *constant = NULL, **at = &constant;
    if (s->storage == TP_STORE_CONST)
        constant = frame->program->slots[s->root].tensor;
    else
        at = &frame->owners[s->owner];
    tp_assert(*at);
    const struct tp_type *type = frame->values[slot].type;
    bool same = (*at)->type.dtype == type->dtype &&
                tp_shape_equal(&(*at)->type.shape, &type->shape) &&
                (*at)->data == frame->values[slot].data;
    if (!same && last && tp_pool_retype(*at, type)) same = true;
    if (!same) TP_TRY(view_tensor(frame, slot, *at, out, err));
    if (same && !last) *out = troupe_tensor_retain(*at);
    if (same && last) {
        *out = *at;
        *at = NULL;
    } else if (last) {
        troupe_tensor_release(at);
    }
    return TROUPE_OK;
}

static troupe_status send(struct tp_frame *frame, struct tp_io *io, const struct tp_step *step,
                          troupe_error *err)
{
    troupe_tensor *value = NULL;
    if (step->value != TP_NO_INDEX)
        TP_TRY(tensor_of(frame, step->value, step->last, &value, err));
    io->send(io, step->edge, &value);
    return TROUPE_OK;
}

static troupe_status run_step(struct tp_frame *frame, struct tp_io *io,
                              struct tp_launch *template, const struct tp_step *step,
                              troupe_error *err)
{
    switch ((enum tp_step_kind)step->kind) {
    case TP_STEP_KERNEL:
        return launch(frame, template, step, err);
    case TP_STEP_DYNAMIC:
        return tp_step_dynamic(frame, step, err);
    case TP_STEP_VIEW:
        frame->values[step->value].data = frame->values[step->index].data;
        return TROUPE_OK;
    case TP_STEP_OWN:
        return own(frame, step, err);
    case TP_STEP_WAIT:
        if (frame->arrived[step->index]) return TROUPE_OK;
        frame->waits = step->index;
        return TROUPE_PENDING;
    case TP_STEP_SEND:
        return send(frame, io, step, err);
    case TP_STEP_RESULT:
        return tensor_of(frame, step->value, step->last, &frame->results[step->index], err);
    case TP_STEP_RELEASE:
        troupe_tensor_release(&frame->owners[frame->program->slots[step->value].owner]);
        return TROUPE_OK;
    }
    return TROUPE_OK;
}

static troupe_status timed_step(struct tp_frame *frame, struct tp_io *io,
                                struct tp_launch *template, const struct tp_step *step,
                                troupe_error *err)
{
    uint64_t from = tp_ticks();
    troupe_status status = run_step(frame, io, template, step, err);
    frame->profile[frame->pc] += tp_ticks() - from;
    return status;
}

/* A graph node of a called function is also named where it was written. */
static void name_place(const struct tp_program *program, const struct tp_node *node,
                       troupe_error *err)
{
    const char *device = program->device->brief;
    if (node->function && node->line)
        tp_fail_in(err, "node '%s' (function '%s', line %u) on %s", node->name, node->function,
                   node->line, device);
    else if (node->function)
        tp_fail_in(err, "node '%s' (function '%s') on %s", node->name, node->function, device);
    else
        tp_fail_in(err, "node '%s' on %s", node->name, device);
}

/* -- How long a turn lasts ----------------------------------------------------------------- */

/* The clock decides; estimates and what was seen say when to look at it. */

#define PACE_MAX   64 /* graph nodes between two looks at the clock, at most */
#define TURN_PARTS 8  /* the budget is looked at in about so many parts */

struct turn {
    uint64_t budget, began, looked; /* began, looked: 0: not known yet */
    uint32_t seen;                  /* graph nodes that had run when it looked */
};

/* How many graph nodes have run when the clock is looked at first. */
static uint32_t begin_turn(const struct tp_frame *frame, const struct tp_io *io,
                           struct turn *turn)
{
    if (io->untimed) return UINT32_MAX;
    /* Otherwise the first steps are known to be short, and are not counted. */
    if (frame->pace == 1 || frame->program->weight > turn->budget)
        turn->began = turn->looked = tp_clock_ns();
    turn->seen = frame->ran;
    return frame->ran + frame->pace;
}

/* True when the turn has lasted for its time. */
static TP_COLD bool look_at_clock(struct tp_frame *frame, struct turn *turn)
{
    uint64_t now = tp_clock_ns();
    uint32_t ran = frame->ran - turn->seen;
    if (turn->looked && ran) {
        uint64_t step = (now - turn->looked) / ran + 1;
        uint64_t fit = turn->budget / TURN_PARTS / step;
        uint32_t most = frame->pace > PACE_MAX / 2 ? PACE_MAX : 2 * frame->pace;
        frame->pace = fit > most ? most : fit ? (uint32_t)fit : 1;
    }
    if (!turn->began) turn->began = now;
    turn->looked = now;
    turn->seen = frame->ran;
    return now - turn->began >= turn->budget;
}

troupe_status tp_frame_run(struct tp_frame *frame, struct tp_io *io, uint64_t budget_ns,
                           troupe_error *err)
{
    const struct tp_program *program = frame->program;
    struct tp_launch template = launch_of(frame);
    struct turn turn = {.budget = budget_ns};
    uint32_t look = begin_turn(frame, io, &turn);
    uint64_t spent = 0;
    frame->waits = TP_NO_INDEX;
    while (frame->pc < program->n_steps) {
        const struct tp_step *step = &program->steps[frame->pc];
        if (TP_UNLIKELY(atomic_load_explicit(io->stop, memory_order_relaxed)))
            return tp_fail(err, TROUPE_CANCELLED, "stopped");
        if (TP_UNLIKELY(frame->ran >= look || (spent && spent + step->weight > budget_ns))) {
            if (io->untimed || look_at_clock(frame, &turn)) return TROUPE_PENDING;
            look = frame->ran + frame->pace;
            spent = 0;
        }
        spent += step->weight;
        troupe_status status = TP_UNLIKELY(frame->profile != NULL)
                                   ? timed_step(frame, io, &template, step, err)
                                   : run_step(frame, io, &template, step, err);
        if (TP_UNLIKELY(status < 0 && step->name)) name_place(program, step->node, err);
        if (status) return status;
        frame->pc++;
    }
    return TROUPE_OK;
}
