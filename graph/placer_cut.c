/* SPDX-License-Identifier: MIT
 *
 * graph/placer_cut.c - a function that nobody annotated, cut into pieces of equal work.
 *
 * The graph nodes in their order, each with its group, are a line as long as their work; each
 * device of the best type gets a stretch of equal length, in the order of the devices. A group
 * belongs to the stretch in which its middle lies.
 */
#include "base/fail.h"
#include "base/pace.h"
#include "graph/arena.h"
#include "graph/infer.h"
#include "graph/placing.h"
#include "tensor/tensor.h"

/* What one core does in a nanosecond, roughly, and what a launch costs: only ratios matter. */
#define FLOPS_PER_NS 16.0
#define BYTES_PER_NS 8.0
#define LAUNCH_NS    25.0

struct cut {
    struct tp_placing *p;
    uint32_t type;     /* the best one */
    uint32_t *devices; /* of that type */
    uint32_t n_devices;
    double *work; /* of each group, at its root, in nanoseconds */
    double total;
    /* one graph node's, to ask for its cost */
    const struct tp_type **inputs;
    struct tp_view *known;
    struct tp_type *results;
};

/* The first type by priority that may be chosen unasked and runs some group; n_types: none. */
static uint32_t best_type(const struct tp_placing *p)
{
    const struct tp_support *support = &p->candidates.support;
    for (uint32_t t = 0; t < support->n_types && support->priority[t] >= 0; t++)
        for (uint32_t i = 0; i < p->function->n_nodes; i++)
            if (p->groups.list[i].parent == i &&
                tp_support_row(support, p->groups.list[i].row)[t] >= 0)
                return t;
    return support->n_types;
}

static bool runs_there(const struct cut *cut, uint32_t root)
{
    return tp_support_row(&cut->p->candidates.support,
                          cut->p->groups.list[root].row)[cut->type] >= 0;
}

static void find_devices(struct cut *cut)
{
    for (uint32_t d = 0; d < cut->p->env->devices->n; d++)
        if (cut->p->candidates.support.type_of[d] == cut->type)
            cut->devices[cut->n_devices++] = d;
}

static troupe_status take_arrays(struct cut *cut, troupe_error *err)
{
    const struct tp_function *f = cut->p->function;
    struct tp_arena *arena = cut->p->arena;
    size_t inputs = 1, results = 1;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (f->nodes[i].n_inputs > inputs) inputs = f->nodes[i].n_inputs;
        if (f->nodes[i].n_results > results) results = f->nodes[i].n_results;
    }
    cut->work = tp_arena_array(arena, f->n_nodes, sizeof(*cut->work));
    cut->inputs = tp_arena_array(arena, inputs, sizeof(*cut->inputs));
    cut->known = tp_arena_array(arena, inputs, sizeof(*cut->known));
    cut->results = tp_arena_array(arena, results, sizeof(*cut->results));
    if (cut->work && cut->inputs && cut->known && cut->results) return TROUPE_OK;
    return tp_fail_memory(err, f->n_nodes * sizeof(*cut->work));
}

static void set_input(struct cut *cut, uint32_t i, uint32_t value)
{
    const struct tp_function *f = cut->p->function;
    const bool absent = value == TP_NO_VALUE;
    cut->inputs[i] = absent ? NULL : &f->values[value].type;
    cut->known[i] = (struct tp_view){.type = cut->inputs[i]};
    if (!absent && value >= f->n_args && f->values[value].constant)
        cut->known[i].data = f->values[value].constant->data;
}

static double work_of(struct cut *cut, uint32_t node)
{
    const struct tp_function *f = cut->p->function;
    const struct tp_node *n = &f->nodes[node];
    struct tp_cost cost = {0};
    for (uint32_t k = 0; k < n->n_inputs; k++)
        set_input(cut, k, n->inputs[k]);
    for (uint32_t k = 0; k < n->n_results; k++)
        if (n->results[k] != TP_NO_VALUE) cut->results[k] = f->values[n->results[k]].type;
    const struct tp_infer infer = {.node = n->name,
                                   .op = n->op,
                                   .attrs = n->attrs,
                                   .n_attrs = n->n_attrs,
                                   .n_inputs = n->n_inputs,
                                   .n_results = n->n_results,
                                   .inputs = cut->inputs,
                                   .known = cut->known,
                                   .results = cut->results};
    tp_infer_cost(&infer, &cost);
    const double ns = cost.flops / FLOPS_PER_NS + cost.bytes / BYTES_PER_NS;
    return ns > 0 ? LAUNCH_NS + ns : LAUNCH_NS; /* so that it grows, whatever a row says */
}

static troupe_status weigh(struct cut *cut, troupe_error *err)
{
    for (uint32_t i = 0; i < cut->p->function->n_nodes; i++) {
        TP_TRY(tp_pace(cut->p->env->pace, err));
        const uint32_t root = tp_groups_root(&cut->p->groups, i);
        if (!runs_there(cut, root)) continue;
        const double work = work_of(cut, i);
        cut->work[root] += work;
        cut->total += work;
    }
    return TROUPE_OK;
}

static void share(struct cut *cut)
{
    double done = 0;
    for (uint32_t i = 0; i < cut->p->function->n_nodes; i++) {
        if (cut->p->groups.list[i].parent != i || !runs_there(cut, i)) continue;
        const double middle = done + cut->work[i] / 2;
        uint32_t piece = (uint32_t)(middle / cut->total * cut->n_devices);
        if (piece >= cut->n_devices) piece = cut->n_devices - 1; /* rounding */
        done += cut->work[i];
        tp_placing_decide(cut->p, i, cut->devices[piece], i, TP_WHY_CUT, piece);
    }
}

troupe_status tp_placing_cut(struct tp_placing *placing, troupe_error *err)
{
    struct cut cut = {.p = placing, .type = best_type(placing)};
    const uint32_t n = placing->env->devices->n;
    if (cut.type == placing->candidates.support.n_types)
        return TROUPE_OK; /* nothing to share */
    cut.devices = tp_arena_array(placing->arena, n, sizeof(*cut.devices));
    if (!cut.devices) return tp_fail_memory(err, n * sizeof(*cut.devices));
    find_devices(&cut);
    if (cut.n_devices < 2) return TROUPE_OK; /* nobody to share with */
    TP_TRY(take_arrays(&cut, err));
    TP_TRY(weigh(&cut, err));
    share(&cut);
    return TROUPE_OK;
}
