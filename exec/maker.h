/* SPDX-License-Identifier: MIT
 *
 * exec/maker.h - what the passes that make a program share; private to exec/steps.c, layout.c
 * and emit.c.
 *
 * Time is counted in items of the shard: what an item defines begins to live at its index; what
 * it uses lives at least to it. Results of the shard live to n_items.
 */
#ifndef TP_EXEC_MAKER_H
#define TP_EXEC_MAKER_H

#include "exec/steps.h"
#include "graph/function.h"

/* What the passes know of a slot beside struct tp_slot. */
struct tp_life {
    uint32_t first, last; /* items; of a root: its views' too */
    bool escapes;         /* of a root: it leaves the shard, itself or by a view */
    bool taken;           /* ARENA: another value was put into its place at `last` */
    size_t size;          /* ARENA: bytes */
};

struct tp_maker {
    const struct tp_program_spec *spec;
    const struct tp_function *function;
    const struct tp_shard *shard;
    struct tp_program *program;
    uint32_t *slot_of;    /* per value of the function: its slot, or TP_NO_INDEX */
    struct tp_life *life; /* per slot */
    size_t slots_capacity, steps_capacity, life_capacity;
    struct tp_slot *slots; /* grown here, moved into the program at the end */
    size_t workspace;      /* the largest that a kernel asked for */
};

/* Layout: give every ARENA slot its place. */
troupe_status tp_maker_layout(struct tp_maker *maker, troupe_error *err) TROUPE_MUST_CHECK;
/* Emit: the steps, once every slot's storage is known. */
troupe_status tp_maker_emit(struct tp_maker *maker, troupe_error *err) TROUPE_MUST_CHECK;

static inline uint32_t tp_maker_root(const struct tp_maker *maker, uint32_t value)
{
    return maker->slots[maker->slot_of[value]].root;
}

/* The result of a graph node that is a view of its first input: no copy is needed. */
static inline bool tp_node_is_view(const struct tp_node *node)
{
    if (!node->op->view || !node->n_inputs || node->inputs[0] == TP_NO_VALUE) return false;
    for (uint32_t i = 1; i < node->n_results; i++)
        if (node->results[i] != TP_NO_VALUE) return false;
    return node->n_results > 0 && node->results[0] != TP_NO_VALUE;
}

/* Result 0 of the graph node may be written over the elements of slot `root`: the op's row
 * allows it for every input that has them. */
bool tp_maker_may_reuse(const struct tp_maker *maker, const struct tp_node *node,
                        uint32_t root);

/* The types of all inputs and results that the graph node has are known before it runs. */
bool tp_maker_static(const struct tp_maker *maker, const struct tp_node *node);

#endif
