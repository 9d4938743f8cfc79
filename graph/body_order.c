/* SPDX-License-Identifier: MIT
 *
 * graph/body_order.c - effects happen in the order in which their graph nodes stand.
 *
 * Effects make one chain, so what a graph node runs after is told by one number: the last graph
 * node with an effect that it comes after, by inputs or by edges, at any distance. An edge is
 * added only where that is not the one before it in the chain.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/body.h"

/* A call of the function by itself has effects when the function has. */
static void mark_own_calls(struct tp_function *f)
{
    for (uint32_t i = 0; i < f->n_calls; i++) {
        struct tp_node *node = &f->nodes[f->calls[i]];
        if (node->callee && strcmp(node->callee, f->name) == 0) node->stateful = true;
    }
}

static bool has_effects(const struct tp_function *f)
{
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (f->nodes[i].stateful) return true;
    }
    return false;
}

/* Numbers in `last` are graph nodes plus 1; 0: none. What comes after graph node i comes after
 * this. */
static uint32_t passed_on(const struct tp_function *f, const uint32_t *last, uint32_t i)
{
    return f->nodes[i].stateful ? i + 1 : last[i];
}

static uint32_t last_before(const struct tp_function *f, const uint32_t *last,
                            const struct tp_node *node)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TP_NO_VALUE) continue;
        const uint32_t maker = f->values[node->inputs[i]].node;
        const uint32_t k = maker == TP_NO_NODE ? 0 : passed_on(f, last, maker);
        if (k > most) most = k;
    }
    for (uint32_t i = 0; i < node->n_after; i++) {
        const uint32_t k = passed_on(f, last, node->after[i]);
        if (k > most) most = k;
    }
    return most;
}

/* Put `before`, which is not there yet, into node's sorted list. */
static troupe_status add_after(struct tp_arena *arena, struct tp_node *node, uint32_t before,
                               troupe_error *err)
{
    uint32_t *list = tp_arena_array(arena, (size_t)node->n_after + 1, sizeof(*list));
    if (!list) return tp_fail_memory(err, ((size_t)node->n_after + 1) * sizeof(*list));
    uint32_t at = node->n_after;
    while (at > 0 && node->after[at - 1] > before)
        at--;
    if (at) memcpy(list, node->after, at * sizeof(*list));
    list[at] = before;
    if (node->n_after > at)
        memcpy(list + at + 1, node->after + at, (node->n_after - at) * sizeof(*list));
    node->after = list;
    node->n_after++;
    return TROUPE_OK;
}

static troupe_status chain(struct tp_function *f, uint32_t *last, troupe_error *err)
{
    uint32_t previous = 0; /* in the chain, plus 1 */
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        struct tp_node *node = &f->nodes[i];
        last[i] = last_before(f, last, node);
        if (!node->stateful) continue;
        if (last[i] != previous) TP_TRY(add_after(f->arena, node, previous - 1, err));
        last[i] = previous;
        previous = i + 1;
    }
    return TROUPE_OK;
}

troupe_status tp_body_order(struct tp_body *body, troupe_error *err)
{
    struct tp_function *f = body->function;
    f->stateful = has_effects(f);
    if (!f->stateful) return TROUPE_OK; /* nothing to put in order */
    mark_own_calls(f);
    TP_OWNED(tp_free_at) uint32_t *last = tp_alloc_array(f->n_nodes, sizeof(*last));
    if (!last) return tp_fail_memory(err, f->n_nodes * sizeof(*last));
    return chain(f, last, err);
}
