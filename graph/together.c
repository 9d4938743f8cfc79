/* SPDX-License-Identifier: MIT
 *
 * graph/together.c - which graph nodes of a function are to be placed together, by `with`.
 */
#include "graph/together.h"

#include "base/alloc.h"
#include "base/fail.h"

uint32_t tp_together_root(uint32_t *parents, uint32_t node)
{
    while (parents[node] != node) {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    return node;
}

static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
    const uint32_t x = tp_together_root(parents, a), y = tp_together_root(parents, b);
    parents[x > y ? x : y] = x > y ? y : x;
}

static bool has_with(const struct tp_function *f)
{
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (f->nodes[i].n_with) return true;
    }
    return false;
}

troupe_status tp_together(const struct tp_function *f, struct tp_arena *arena, uint32_t **out,
                          troupe_error *err)
{
    *out = NULL;
    if (!has_with(f)) return TROUPE_OK; /* each is alone */
    uint32_t *parents = tp_arena_array(arena, f->n_nodes, sizeof(*parents));
    if (!parents) return tp_fail_memory(err, f->n_nodes * sizeof(*parents));
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        parents[i] = i;
        for (uint32_t k = 0; k < f->nodes[i].n_with; k++)
            join(parents, f->nodes[i].with[k], i);
    }
    *out = parents;
    return TROUPE_OK;
}
