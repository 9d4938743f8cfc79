/* SPDX-License-Identifier: MIT
 *
 * exec/steps.c - shard + shapes -> program: which slot each value has, how long it lives, where
 * it is stored.
 *
 * Passes: collect (slots, lives, escapes), store (storage and owners), layout (arena), emit
 * (steps).
 */
#include "exec/steps.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "exec/maker.h"
#include "tensor/tensor.h"

bool tp_maker_static(const struct tp_maker *maker, const struct tp_node *node)
{
    const struct tp_type *types = maker->spec->types;
    if (node->op->gives) return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != TP_NO_VALUE && !tp_type_known(&types[node->inputs[i]]))
            return false;
    for (uint32_t i = 0; i < node->n_results; i++)
        if (node->results[i] != TP_NO_VALUE && !tp_type_known(&types[node->results[i]]))
            return false;
    return true;
}

bool tp_maker_may_reuse(const struct tp_maker *maker, const struct tp_node *node, uint32_t root)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TP_NO_VALUE || tp_maker_root(maker, node->inputs[i]) != root)
            continue;
        if (i >= 8 || !(node->op->reuse >> i & 1)) return false;
    }
    return true;
}

/* -- Collect ------------------------------------------------------------------------------- */

/* A new slot for a value of the function; *out is its number. */
static troupe_status add_slot(struct tp_maker *maker, uint32_t value, enum tp_storage storage,
                              uint32_t first, uint32_t *out, troupe_error *err)
{
    uint32_t n = maker->program->n_slots;
    TP_TRY(tp_grow(&maker->slots, n, &maker->slots_capacity, sizeof *maker->slots, err));
    TP_TRY(tp_grow(&maker->life, n, &maker->life_capacity, sizeof *maker->life, err));
    const struct tp_type *type = &maker->spec->types[value];
    maker->slots[n] = (struct tp_slot){
        .type = tp_type_known(type) ? type : NULL,
        .value = value,
        .root = n,
        .owner = TP_NO_INDEX,
        .dynamic = TP_NO_INDEX,
        .storage = storage,
    };
    maker->life[n] = (struct tp_life){.first = first, .last = first};
    maker->slot_of[value] = n;
    maker->program->n_slots = n + 1;
    *out = n;
    return TROUPE_OK;
}

/* Constants have a slot when something uses them. */
static troupe_status need_slot(struct tp_maker *maker, uint32_t value, troupe_error *err)
{
    if (maker->slot_of[value] != TP_NO_INDEX) return TROUPE_OK;
    const struct tp_value *v = &maker->function->values[value];
    tp_assert(v->constant && value >= maker->function->n_args);
    uint32_t slot;
    TP_TRY(add_slot(maker, value, TP_STORE_CONST, 0, &slot, err));
    maker->slots[slot].constant = v->constant->data;
    maker->slots[slot].tensor = v->constant;
    return TROUPE_OK;
}

static troupe_status use(struct tp_maker *maker, uint32_t value, uint32_t item, bool escapes,
                         troupe_error *err)
{
    if (value == TP_NO_VALUE) return TROUPE_OK;
    TP_TRY(need_slot(maker, value, err));
    struct tp_life *root = &maker->life[tp_maker_root(maker, value)];
    if (item > root->last) root->last = item;
    root->escapes |= escapes;
    return TROUPE_OK;
}

static troupe_status collect_args(struct tp_maker *maker, troupe_error *err)
{
    struct tp_program *program = maker->program;
    program->n_args = maker->shard->n_args;
    program->args =
        tp_arena_take(program->memory, (program->n_args + 1) * sizeof *program->args);
    if (!program->args) return tp_fail_memory(err, program->n_args * sizeof *program->args);
    for (uint32_t i = 0; i < program->n_args; i++)
        TP_TRY(add_slot(maker, maker->shard->args[i], TP_STORE_ARG, 0, &program->args[i], err));
    return TROUPE_OK;
}

/* An edge that comes in: its number in the shard and its slot. A value that comes twice, by
 * data and by another edge, cannot be: there is one edge for a value and a shard. */
static troupe_status collect_recv(struct tp_maker *maker, uint32_t edge, uint32_t item,
                                  troupe_error *err)
{
    struct tp_program *program = maker->program;
    uint32_t value = maker->spec->partition->edges[edge].value, slot = TP_NO_INDEX;
    if (value != TP_NO_VALUE) TP_TRY(add_slot(maker, value, TP_STORE_EDGE, item, &slot, err));
    maker->spec->edge_index[edge] = program->n_edges;
    program->edge_slots[program->n_edges++] = slot;
    return TROUPE_OK;
}

static troupe_status collect_result(struct tp_maker *maker, const struct tp_node *node,
                                    uint32_t value, uint32_t item, troupe_error *err)
{
    uint32_t slot;
    TP_TRY(add_slot(maker, value, TP_STORE_ARENA, item, &slot, err));
    struct tp_slot *s = &maker->slots[slot];
    if (tp_node_is_view(node))
        s->root = tp_maker_root(maker, node->inputs[0]);
    else if (!tp_maker_static(maker, node))
        s->storage = TP_STORE_DYNAMIC;
    return TROUPE_OK;
}

static troupe_status collect_node(struct tp_maker *maker, const struct tp_node *node,
                                  uint32_t item, troupe_error *err)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        TP_TRY(use(maker, node->inputs[i], item, false, err));
    for (uint32_t i = 0; i < node->n_results; i++)
        if (node->results[i] != TP_NO_VALUE)
            TP_TRY(collect_result(maker, node, node->results[i], item, err));
    return TROUPE_OK;
}

static troupe_status collect_item(struct tp_maker *maker, uint32_t item, troupe_error *err)
{
    const struct tp_item *it = &maker->shard->items[item];
    switch (it->kind) {
    case TP_ITEM_NODE:
        return collect_node(maker, &maker->function->nodes[it->id], item, err);
    case TP_ITEM_RECV:
        return collect_recv(maker, it->id, item, err);
    case TP_ITEM_SEND:
        return use(maker, maker->spec->partition->edges[it->id].value, item, true, err);
    }
    return TROUPE_OK;
}

static uint32_t count_recvs(const struct tp_shard *shard)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < shard->n_items; i++)
        n += shard->items[i].kind == TP_ITEM_RECV;
    return n;
}

static troupe_status collect(struct tp_maker *maker, troupe_error *err)
{
    struct tp_program *program = maker->program;
    size_t edges = (count_recvs(maker->shard) + 1) * sizeof *program->edge_slots;
    program->edge_slots = tp_arena_take(program->memory, edges);
    if (!program->edge_slots) return tp_fail_memory(err, edges);
    TP_TRY(collect_args(maker, err));
    for (uint32_t i = 0; i < maker->shard->n_items; i++) {
        TP_TRY(tp_pace(maker->spec->pace, err));
        TP_TRY(collect_item(maker, i, err));
    }
    for (uint32_t i = 0; i < maker->shard->n_results; i++) {
        uint32_t value = maker->function->results[maker->shard->results[i]].value;
        TP_TRY(use(maker, value, maker->shard->n_items, true, err));
    }
    program->n_results = maker->shard->n_results;
    return TROUPE_OK;
}

/* -- Store --------------------------------------------------------------------------------- */

/* A value that leaves its shard, or whose elements are strings, has a tensor of its own. */
static void store_root(struct tp_maker *maker, uint32_t slot)
{
    struct tp_slot *s = &maker->slots[slot];
    bool own = maker->life[slot].escapes || (s->type && s->type->dtype == TROUPE_STRING);
    if (s->storage == TP_STORE_ARENA && own) s->storage = TP_STORE_OWN;
    if (s->storage != TP_STORE_ARENA && s->storage != TP_STORE_CONST)
        s->owner = maker->program->n_owners++;
    if (s->storage == TP_STORE_OWN) maker->program->n_spares++;
}

/* Roots stand before their views. */
static void store(struct tp_maker *maker)
{
    for (uint32_t i = 0; i < maker->program->n_slots; i++) {
        struct tp_slot *s = &maker->slots[i];
        if (s->root == i) {
            store_root(maker, i);
        } else {
            s->storage = maker->slots[s->root].storage;
            s->owner = maker->slots[s->root].owner;
            s->constant = maker->slots[s->root].constant;
        }
        if (!s->type) s->dynamic = maker->program->n_dynamic++;
    }
}

/* The spares serve the OWN roots, in the order of slots. */
static troupe_status number_spares(struct tp_maker *maker, troupe_error *err)
{
    struct tp_program *program = maker->program;
    size_t size = (program->n_spares + 1) * sizeof *program->spare_slots;
    program->spare_slots = tp_arena_take(program->memory, size);
    if (!program->spare_slots) return tp_fail_memory(err, size);
    uint32_t n = 0;
    for (uint32_t i = 0; i < program->n_slots; i++)
        if (maker->slots[i].root == i && maker->slots[i].storage == TP_STORE_OWN)
            program->spare_slots[n++] = i;
    tp_assert(n == program->n_spares);
    return TROUPE_OK;
}

static uint32_t spares_of(const struct tp_program *program, uint32_t slot)
{
    uint32_t from = 0, to = program->n_spares;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (program->spare_slots[middle] == slot) return middle;
        if (program->spare_slots[middle] < slot)
            from = middle + 1;
        else
            to = middle;
    }
    return TP_NO_INDEX;
}

static troupe_status find_result_spares(struct tp_maker *maker, troupe_error *err)
{
    struct tp_program *program = maker->program;
    size_t size = (program->n_results + (size_t)1) * sizeof *program->result_spares;
    program->result_spares = tp_arena_take(program->memory, size);
    if (!program->result_spares) return tp_fail_memory(err, size);
    for (uint32_t i = 0; i < program->n_results; i++) {
        uint32_t value = maker->function->results[maker->shard->results[i]].value;
        program->result_spares[i] = spares_of(program, tp_maker_root(maker, value));
    }
    return TROUPE_OK;
}

/* -- The whole ----------------------------------------------------------------------------- */

static void maker_fini(struct tp_maker *maker)
{
    tp_free(maker->slot_of);
    tp_free(maker->life);
    tp_free(maker->slots);
}

static troupe_status maker_init(struct tp_maker *maker, const struct tp_program_spec *spec,
                                struct tp_program *program, troupe_error *err)
{
    maker->spec = spec;
    maker->function = spec->function;
    maker->shard = &spec->partition->shards[spec->shard];
    maker->program = program;
    size_t n = maker->function->n_values + (size_t)1;
    maker->slot_of = tp_alloc_array(n, sizeof *maker->slot_of);
    if (!maker->slot_of) return tp_fail_memory(err, n * sizeof *maker->slot_of);
    memset(maker->slot_of, 0xff, n * sizeof *maker->slot_of); /* all TP_NO_INDEX */
    return TROUPE_OK;
}

static void keep_slots(struct tp_maker *maker)
{
    struct tp_program *program = maker->program;
    struct tp_slot *slots =
        tp_realloc_array(maker->slots, program->n_slots, sizeof *maker->slots);
    program->slots = slots ? slots : maker->slots; /* what is too long works, too */
    maker->slots = NULL;
}

static troupe_status make(struct tp_maker *maker, troupe_error *err)
{
    TP_TRY(collect(maker, err));
    store(maker);
    TP_TRY(number_spares(maker, err));
    TP_TRY(find_result_spares(maker, err));
    TP_TRY(tp_maker_layout(maker, err));
    TP_TRY(tp_maker_emit(maker, err));
    keep_slots(maker);
    return TROUPE_OK;
}

troupe_status tp_program_make(const struct tp_program_spec *spec, struct tp_program **out,
                              troupe_error *err)
{
    TP_OWNED(tp_program_destroy) struct tp_program *program = tp_alloc(sizeof *program);
    if (!program) return tp_fail_memory(err, sizeof *program);
    TP_OWNED(maker_fini) struct tp_maker maker = {0};
    program->device = spec->device;
    TP_TRY(tp_pool_account(&program->pool, spec->device->pool, spec->function->name, err));
    TP_TRY(tp_arena_new(&program->memory, err));
    TP_TRY(maker_init(&maker, spec, program, err));
    TP_TRY(make(&maker, err));
    *out = program;
    program = NULL;
    return TROUPE_OK;
}

void tp_program_destroy(struct tp_program **at)
{
    struct tp_program *program = *at;
    *at = NULL;
    if (!program) return;
    for (uint32_t i = 0; i < program->n_steps; i++)
        if (program->steps[i].drop) program->steps[i].drop(program->steps[i].state);
    tp_free(program->steps);
    tp_free(program->slots);
    tp_arena_destroy(&program->memory);
    tp_pool_release(&program->pool);
    tp_free(program);
}
