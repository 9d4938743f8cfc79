/* SPDX-License-Identifier: MIT
 *
 * exec/emit.c - the flat list of steps, once every value's storage is known.
 *
 * For each item: what must be there before (a tensor of its own for a result that leaves), the
 * step itself, then the release of what nobody needs any more. The results of the shard come
 * last. Arguments belong to the caller for the whole call and are not released.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "exec/maker.h"
#include "graph/infer.h"
#include "tensor/tensor.h"

struct emitter {
    struct tp_maker *maker;
    uint32_t *spare_of; /* per slot: its spares */
    /* Owned roots by the item with which they die, a list for each item linked by `next`. */
    uint32_t *dies, *next;
    bool *moved; /* per slot: its owner went with a SEND or RESULT */
    bool *
        taken; /* per slot of an argument: a value takes its memory, if the call gives it away */
    /* What inference and preparation see of the graph node in hand. */
    const struct tp_type **inputs;
    struct tp_view *known;
    struct tp_type *results;
};

static void emitter_fini(struct emitter *emitter)
{
    tp_free(emitter->spare_of);
    tp_free(emitter->dies);
    tp_free(emitter->next);
    tp_free(emitter->moved);
    tp_free(emitter->taken);
    tp_free((void *)emitter->inputs);
    tp_free(emitter->known);
    tp_free(emitter->results);
}

static bool released(const struct tp_slot *slot)
{
    return slot->owner != TP_NO_INDEX && slot->storage != TP_STORE_ARG;
}

/* Room for what is to be said of the widest graph node. */
static troupe_status widest(struct emitter *emitter, troupe_error *err)
{
    const struct tp_maker *maker = emitter->maker;
    size_t inputs = 0, results = 0;
    for (uint32_t i = 0; i < maker->shard->n_items; i++) {
        if (maker->shard->items[i].kind != TP_ITEM_NODE) continue;
        const struct tp_node *node = &maker->function->nodes[maker->shard->items[i].id];
        if (node->n_inputs > inputs) inputs = node->n_inputs;
        if (node->n_results > results) results = node->n_results;
    }
    emitter->inputs = tp_alloc_array(inputs, sizeof *emitter->inputs);
    emitter->known = tp_alloc_array(inputs, sizeof *emitter->known);
    emitter->results = tp_alloc_array(results, sizeof *emitter->results);
    if (emitter->inputs && emitter->known && emitter->results) return TROUPE_OK;
    return tp_fail_memory(err, results * sizeof *emitter->results);
}

static troupe_status emitter_init(struct emitter *emitter, struct tp_maker *maker,
                                  troupe_error *err)
{
    size_t slots = maker->program->n_slots + (size_t)1,
           items = maker->shard->n_items + (size_t)1;
    emitter->maker = maker;
    emitter->spare_of = tp_alloc_array(slots, sizeof *emitter->spare_of);
    emitter->dies = tp_alloc_array(items, sizeof *emitter->dies);
    emitter->next = tp_alloc_array(slots, sizeof *emitter->next);
    emitter->moved = tp_alloc_array(slots, sizeof *emitter->moved);
    emitter->taken = tp_alloc_array(slots, sizeof *emitter->taken);
    if (!emitter->spare_of || !emitter->dies || !emitter->next || !emitter->moved ||
        !emitter->taken)
        return tp_fail_memory(err, slots * sizeof *emitter->next);
    memset(emitter->dies, 0xff, items * sizeof *emitter->dies);
    for (uint32_t i = 0; i < maker->program->n_spares; i++)
        emitter->spare_of[maker->program->spare_slots[i]] = i;
    for (uint32_t i = 0; i < maker->program->n_slots; i++) {
        if (maker->slots[i].root != i || !released(&maker->slots[i])) continue;
        uint32_t item = maker->life[i].last;
        emitter->next[i] = emitter->dies[item];
        emitter->dies[item] = i;
    }
    return widest(emitter, err);
}

/* A new step, all zero but its kind and weight. Valid until the next one. */
static troupe_status add_step(struct tp_maker *maker, enum tp_step_kind kind,
                              struct tp_step **out, troupe_error *err)
{
    struct tp_program *program = maker->program;
    TP_TRY(tp_grow(&program->steps, program->n_steps, &maker->steps_capacity,
                   sizeof *program->steps, err));
    struct tp_step *step = &program->steps[program->n_steps++];
    *step = (struct tp_step){.kind = (uint8_t)kind,
                             .weight = 1,
                             .value = TP_NO_INDEX,
                             .index = TP_NO_INDEX,
                             .edge = TP_NO_INDEX};
    *out = step;
    return TROUPE_OK;
}

static troupe_status slot_list(struct tp_maker *maker, const uint32_t *values, uint32_t n,
                               const uint32_t **out, troupe_error *err)
{
    uint32_t *list = tp_arena_take(maker->program->memory, (n + (size_t)1) * sizeof *list);
    if (!list) return tp_fail_memory(err, n * sizeof *list);
    for (uint32_t i = 0; i < n; i++)
        list[i] = values[i] == TP_NO_VALUE ? TP_NO_VALUE : maker->slot_of[values[i]];
    *out = list;
    return TROUPE_OK;
}

/* What inference and preparation see of a graph node: good until the next one. */
static struct tp_infer describe(struct emitter *emitter, const struct tp_node *node)
{
    const struct tp_maker *maker = emitter->maker;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const uint32_t value = node->inputs[i];
        const bool absent = value == TP_NO_VALUE;
        emitter->inputs[i] = absent ? NULL : &maker->spec->types[value];
        emitter->known[i] = (struct tp_view){.type = emitter->inputs[i]};
        if (absent) continue;
        const struct tp_slot *s = &maker->slots[maker->slot_of[value]];
        if (s->storage == TP_STORE_CONST) emitter->known[i].data = (void *)s->constant;
    }
    for (uint32_t i = 0; i < node->n_results; i++) {
        const struct tp_type none = {0};
        const uint32_t value = node->results[i];
        emitter->results[i] = value == TP_NO_VALUE ? none : maker->spec->types[value];
    }
    return (struct tp_infer){
        .node = node->name,
        .op = node->op,
        .attrs = node->attrs,
        .n_attrs = node->n_attrs,
        .n_inputs = node->n_inputs,
        .n_results = node->n_results,
        .inputs = emitter->inputs,
        .known = emitter->known,
        .results = emitter->results,
    };
}

/* Estimated nanoseconds: a few operations and a few bytes each. Only the order of size matters.
 */
static uint32_t weigh(const struct tp_infer *node)
{
    struct tp_cost cost;
    tp_infer_cost(node, &cost);
    double ns = 10 + cost.flops * 0.1 + cost.bytes * 0.05;
    return ns < 4e9 ? (uint32_t)ns : UINT32_MAX;
}

static troupe_status prepare(struct tp_maker *maker, const struct tp_node *node,
                             const struct tp_infer *infer, struct tp_step *step,
                             troupe_error *err)
{
    struct tp_prepare prepare = {
        .node = *infer,
        .threads = maker->spec->device->threads,
        .run = node->op->cpu,
        .uses = UINT32_MAX,
    };
    troupe_status status = node->op->prepare ? node->op->prepare(&prepare, err) : TROUPE_OK;
    if (status < 0) {
        tp_fail_in(err, "function '%s', node '%s'", maker->function->name, node->name);
        return status;
    }
    tp_assert(prepare.run);
    step->run = prepare.run;
    step->state = prepare.state;
    step->drop = prepare.drop;
    if (prepare.workspace > maker->workspace) maker->workspace = prepare.workspace;
    return TROUPE_OK;
}

static void name_step(struct tp_step *step, const struct tp_node *node)
{
    step->node = node;
    step->name = node->name;
    step->attrs = node->attrs;
    step->n_attrs = node->n_attrs;
    step->n_inputs = (uint16_t)node->n_inputs;
    step->n_results = (uint16_t)node->n_results;
}

/* -- Arguments that a call may give away --------------------------------------------------- */

#define LOOKED_AT 64 /* arguments; more are not worth the time */

/* Nobody needs the argument any more when result i of item's graph node is written, or the node
 * alone, which may write over it. */
static bool is_free(const struct emitter *emitter, const struct tp_node *node, uint32_t i,
                    uint32_t item, uint32_t slot)
{
    const struct tp_life *life = &emitter->maker->life[slot];
    if (life->escapes || emitter->taken[slot] || life->last > item) return false;
    return life->last < item || (i == 0 && tp_maker_may_reuse(emitter->maker, node, slot));
}

/* An argument of that type whose memory the value of the slot may have; TP_NO_INDEX: none. */
static uint32_t find_gift(struct emitter *emitter, const struct tp_node *node, uint32_t i,
                          uint32_t item, const struct tp_type *type)
{
    const struct tp_program *program = emitter->maker->program;
    if (type->dtype == TROUPE_STRING) return TP_NO_INDEX;
    for (uint32_t k = 0; k < program->n_args && k < LOOKED_AT; k++) {
        const struct tp_type *given = emitter->maker->slots[program->args[k]].type;
        if (!given || given->dtype != type->dtype ||
            !tp_shape_equal(&given->shape, &type->shape) ||
            !is_free(emitter, node, i, item, program->args[k]))
            continue;
        emitter->taken[program->args[k]] = true;
        return k;
    }
    return TP_NO_INDEX;
}

/* Results that leave get a tensor each, just before the kernel writes them. */
static troupe_status emit_owns(struct emitter *emitter, const struct tp_node *node,
                               uint32_t item, troupe_error *err)
{
    struct tp_maker *maker = emitter->maker;
    for (uint32_t i = 0; i < node->n_results; i++) {
        if (node->results[i] == TP_NO_VALUE) continue;
        uint32_t slot = maker->slot_of[node->results[i]];
        if (maker->slots[slot].root != slot || maker->slots[slot].storage != TP_STORE_OWN)
            continue;
        struct tp_step *step;
        TP_TRY(add_step(maker, TP_STEP_OWN, &step, err));
        step->value = slot;
        step->index = emitter->spare_of[slot];
        step->edge = find_gift(emitter, node, i, item, maker->slots[slot].type);
    }
    return TROUPE_OK;
}

static troupe_status emit_launch(struct emitter *emitter, const struct tp_node *node,
                                 uint32_t item, troupe_error *err)
{
    struct tp_maker *maker = emitter->maker;
    bool known = tp_maker_static(maker, node);
    struct tp_step *step;
    maker->program->kernels++;
    if (known) TP_TRY(emit_owns(emitter, node, item, err));
    TP_TRY(add_step(maker, known ? TP_STEP_KERNEL : TP_STEP_DYNAMIC, &step, err));
    name_step(step, node);
    TP_TRY(slot_list(maker, node->inputs, node->n_inputs, &step->inputs, err));
    TP_TRY(slot_list(maker, node->results, node->n_results, &step->results, err));
    const struct tp_infer infer = describe(emitter, node);
    step->weight = weigh(&infer);
    return known ? prepare(maker, node, &infer, step, err) : TROUPE_OK;
}

/* A view of what stays in one place needs no step: the frame's slot is set once. */
static troupe_status emit_view(struct emitter *emitter, const struct tp_node *node,
                               troupe_error *err)
{
    struct tp_maker *maker = emitter->maker;
    uint32_t slot = maker->slot_of[node->results[0]];
    enum tp_storage storage = maker->slots[slot].storage;
    if (storage == TP_STORE_ARENA || storage == TP_STORE_CONST) return TROUPE_OK;
    struct tp_step *step;
    TP_TRY(add_step(maker, TP_STEP_VIEW, &step, err));
    step->node = node;
    step->name = node->name;
    step->value = slot;
    step->index = maker->slot_of[node->inputs[0]];
    return TROUPE_OK;
}

static troupe_status emit_node(struct emitter *emitter, const struct tp_node *node,
                               uint32_t item, troupe_error *err)
{
    if (node->n_inputs > UINT16_MAX || node->n_results > UINT16_MAX)
        return tp_fail(err, TROUPE_INVALID, "node '%s' has more than %d inputs or results",
                       node->name, UINT16_MAX);
    if (tp_node_is_view(node) && tp_maker_static(emitter->maker, node))
        return emit_view(emitter, node, err);
    return emit_launch(emitter, node, item, err);
}

/* True when the owner of `slot` may be moved away by what `item` does. */
static bool move(struct emitter *emitter, uint32_t slot, uint32_t item, bool more)
{
    uint32_t root = emitter->maker->slots[slot].root;
    if (more || !released(&emitter->maker->slots[root])) return false;
    if (emitter->maker->life[root].last != item || emitter->moved[root]) return false;
    emitter->moved[root] = true;
    return true;
}

static troupe_status emit_send(struct emitter *emitter, uint32_t edge, uint32_t item,
                               troupe_error *err)
{
    struct tp_step *step;
    uint32_t value = emitter->maker->spec->partition->edges[edge].value;
    TP_TRY(add_step(emitter->maker, TP_STEP_SEND, &step, err));
    step->edge = edge;
    if (value == TP_NO_VALUE) return TROUPE_OK;
    step->value = emitter->maker->slot_of[value];
    step->last = move(emitter, step->value, item, false);
    return TROUPE_OK;
}

static troupe_status emit_wait(struct emitter *emitter, uint32_t edge, troupe_error *err)
{
    struct tp_step *step;
    TP_TRY(add_step(emitter->maker, TP_STEP_WAIT, &step, err));
    step->edge = edge;
    step->index = emitter->maker->spec->edge_index[edge];
    step->value = emitter->maker->program->edge_slots[step->index];
    return TROUPE_OK;
}

static troupe_status emit_releases(struct emitter *emitter, uint32_t item, troupe_error *err)
{
    for (uint32_t i = emitter->dies[item]; i != TP_NO_INDEX; i = emitter->next[i]) {
        if (emitter->moved[i]) continue;
        struct tp_step *step;
        TP_TRY(add_step(emitter->maker, TP_STEP_RELEASE, &step, err));
        step->value = i;
    }
    return TROUPE_OK;
}

static troupe_status emit_item(struct emitter *emitter, uint32_t item, troupe_error *err)
{
    const struct tp_item *it = &emitter->maker->shard->items[item];
    switch (it->kind) {
    case TP_ITEM_NODE:
        TP_TRY(emit_node(emitter, &emitter->maker->function->nodes[it->id], item, err));
        break;
    case TP_ITEM_RECV:
        TP_TRY(emit_wait(emitter, it->id, err));
        break;
    case TP_ITEM_SEND:
        TP_TRY(emit_send(emitter, it->id, item, err));
        break;
    }
    return emit_releases(emitter, item, err);
}

/* The root of result i is that of a later result too, which will need the owner. */
static bool needed_later(const struct tp_maker *maker, uint32_t i)
{
    const struct tp_shard *shard = maker->shard;
    uint32_t root = tp_maker_root(maker, maker->function->results[shard->results[i]].value);
    for (uint32_t j = i + 1; j < shard->n_results; j++)
        if (tp_maker_root(maker, maker->function->results[shard->results[j]].value) == root)
            return true;
    return false;
}

static troupe_status emit_results(struct emitter *emitter, troupe_error *err)
{
    struct tp_maker *maker = emitter->maker;
    for (uint32_t i = 0; i < maker->shard->n_results; i++) {
        struct tp_step *step;
        TP_TRY(add_step(maker, TP_STEP_RESULT, &step, err));
        step->index = i;
        step->value = maker->slot_of[maker->function->results[maker->shard->results[i]].value];
        step->last = move(emitter, step->value, maker->shard->n_items, needed_later(maker, i));
    }
    return emit_releases(emitter, maker->shard->n_items, err);
}

static void finish(struct tp_maker *maker)
{
    struct tp_program *program = maker->program;
    struct tp_step *steps =
        tp_realloc_array(program->steps, program->n_steps, sizeof *program->steps);
    if (steps) program->steps = steps; /* what is too long works, too */
    program->workspace_at = program->arena_size;
    program->arena_size += (maker->workspace + TP_ALIGN - 1) / TP_ALIGN * TP_ALIGN;
    for (uint32_t i = 0; i < program->n_steps; i++)
        program->weight += program->steps[i].weight;
}

troupe_status tp_maker_emit(struct tp_maker *maker, troupe_error *err)
{
    TP_OWNED(emitter_fini) struct emitter emitter = {0};
    TP_TRY(emitter_init(&emitter, maker, err));
    for (uint32_t i = 0; i < maker->shard->n_items; i++) {
        TP_TRY(tp_pace(maker->spec->pace, err));
        TP_TRY(emit_item(&emitter, i, err));
    }
    TP_TRY(emit_results(&emitter, err));
    finish(maker);
    return TROUPE_OK;
}
