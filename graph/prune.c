/* SPDX-License-Identifier: MIT
 *
 * graph/prune.c - drop what neither a result nor an effect needs.
 *
 * Graph nodes stand behind all that they need, so one pass from the last to the first marks
 * what is kept. Those that were to be placed together still are: when a group loses a member,
 * the rest hold on to its first one that is left, which takes over what the lost ones wished.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "graph/body.h"
#include "graph/inline.h"
#include "graph/together.h"

struct pruning {
    const struct tp_function *f;
    struct tp_pace *pace;
    struct tp_body body;
    struct tp_arena *arena;   /* all below */
    bool *needed;             /* per graph node */
    bool *used;               /* per value */
    uint32_t *nodes, *values; /* what each is now */
    uint32_t *parents;        /* of groups, or NULL */
    uint32_t *keeper; /* per root: the group's first graph node that is kept, or TP_NO_NODE */
    bool *lost;       /* per root: the group loses a member */
    struct tp_name *wish; /* per root: what lost members wished */
    uint32_t *list;       /* one node's lists */
    size_t list_room;
};

static void pruning_fini(struct pruning *p)
{
    tp_body_fini(&p->body);
    tp_arena_destroy(&p->arena);
    tp_free(p->list);
}

static void need_value(struct pruning *p, uint32_t v)
{
    if (v == TP_NO_VALUE) return;
    p->used[v] = true;
    if (p->f->values[v].node != TP_NO_NODE) p->needed[p->f->values[v].node] = true;
}

static void need_before(struct pruning *p, const struct tp_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        need_value(p, node->inputs[i]);
    for (uint32_t i = 0; i < node->n_after; i++)
        p->needed[node->after[i]] = true;
}

static troupe_status mark(struct pruning *p, troupe_error *err)
{
    const struct tp_function *f = p->f;
    for (uint32_t i = 0; i < f->n_results; i++)
        need_value(p, f->results[i].value);
    for (uint32_t i = f->n_nodes; i-- > 0;) {
        TP_TRY(tp_pace(p->pace, err));
        if (f->nodes[i].stateful) p->needed[i] = true;
        if (p->needed[i]) need_before(p, &f->nodes[i]);
    }
    return TROUPE_OK;
}

static bool keeps_value(const struct pruning *p, uint32_t v)
{
    const uint32_t node = p->f->values[v].node;
    if (v < p->f->n_args) return true;
    return node == TP_NO_NODE ? p->used[v] : p->needed[node];
}

static bool keeps_all(const struct pruning *p)
{
    for (uint32_t i = 0; i < p->f->n_nodes; i++) {
        if (!p->needed[i]) return false;
    }
    for (uint32_t v = 0; v < p->f->n_values; v++) {
        if (!keeps_value(p, v)) return false;
    }
    return true;
}

static troupe_status group(struct pruning *p, troupe_error *err)
{
    const uint32_t n = p->f->n_nodes;
    TP_TRY(tp_together(p->f, p->arena, &p->parents, err));
    if (!p->parents) return TROUPE_OK; /* no groups */
    p->keeper = tp_arena_array(p->arena, n, sizeof(*p->keeper));
    p->lost = tp_arena_array(p->arena, n, sizeof(*p->lost));
    p->wish = tp_arena_array(p->arena, n, sizeof(*p->wish));
    if (!p->keeper || !p->lost || !p->wish) return tp_fail_memory(err, n * sizeof(*p->wish));
    for (uint32_t i = 0; i < n; i++) {
        p->keeper[i] = TP_NO_NODE;
        p->wish[i] = tp_name_none;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t root = tp_together_root(p->parents, i);
        if (p->needed[i] && p->keeper[root] == TP_NO_NODE) p->keeper[root] = i;
        if (p->needed[i]) continue;
        p->lost[root] = true;
        tp_name_fill(&p->wish[root], &p->f->nodes[i].device);
    }
    return TROUPE_OK;
}

/* Number v of the pruned function's; TP_NO_VALUE stays. */
static uint32_t new_value(const struct pruning *p, uint32_t v)
{
    return v == TP_NO_VALUE ? v : p->values[v];
}

/* The nodes with which this one is placed. */
static uint32_t put_with(const struct pruning *p, uint32_t i, uint32_t *list)
{
    const struct tp_node *node = &p->f->nodes[i];
    const uint32_t root = p->parents ? tp_together_root(p->parents, i) : i;
    const uint32_t keeper = p->parents && p->lost[root] ? p->keeper[root] : i;
    uint32_t n = 0;
    if (keeper != i) list[n++] = p->nodes[keeper]; /* it is the first of its group */
    for (uint32_t k = 0; k < node->n_with; k++) {
        if (p->needed[node->with[k]] && node->with[k] != keeper)
            list[n++] = p->nodes[node->with[k]];
    }
    return n;
}

static troupe_status copy_node(struct pruning *p, uint32_t i, troupe_error *err)
{
    struct tp_node node = p->f->nodes[i];
    const size_t n = (size_t)node.n_inputs + node.n_results + node.n_after + node.n_with + 1;
    TP_TRY(tp_grow(&p->list, n - 1, &p->list_room, sizeof(*p->list), err));
    uint32_t *at = p->list;
    const struct tp_node *from = &p->f->nodes[i];
    node.inputs = at;
    for (uint32_t k = 0; k < from->n_inputs; k++)
        *at++ = new_value(p, from->inputs[k]);
    node.results = at;
    for (uint32_t k = 0; k < from->n_results; k++)
        *at++ = new_value(p, from->results[k]);
    node.after = at;
    for (uint32_t k = 0; k < from->n_after; k++)
        *at++ = p->nodes[from->after[k]];
    node.with = at;
    node.n_with = put_with(p, i, at);
    if (p->parents && p->keeper[tp_together_root(p->parents, i)] == i)
        tp_name_fill(&node.device, &p->wish[tp_together_root(p->parents, i)]);
    p->nodes[i] = p->body.function->n_nodes;
    return tp_body_node(&p->body, &node, err);
}

static troupe_status copy_values(struct pruning *p, troupe_error *err)
{
    const struct tp_function *f = p->f;
    for (uint32_t v = 0; v < f->n_values; v++) {
        if (!keeps_value(p, v)) continue;
        TP_TRY(tp_pace(p->pace, err));
        struct tp_value value = f->values[v];
        if (v >= f->n_args) value.node = TP_NO_NODE; /* until its graph node is there */
        TP_TRY(tp_body_value(&p->body, &value, &p->values[v], err));
    }
    p->body.function->n_args = f->n_args;
    return TROUPE_OK;
}

static troupe_status copy_dims(struct pruning *p, troupe_error *err)
{
    uint32_t k;
    for (uint32_t i = 0; i < p->f->n_dims; i++)
        TP_TRY(tp_body_dim(&p->body, p->f->dims[i], strlen(p->f->dims[i]), &k, err));
    return TROUPE_OK;
}

static troupe_status copy_results(struct pruning *p, troupe_error *err)
{
    for (uint32_t i = 0; i < p->f->n_results; i++) {
        struct tp_result result = p->f->results[i];
        result.value = new_value(p, result.value);
        TP_TRY(tp_body_result(&p->body, &result, err));
    }
    return TROUPE_OK;
}

static troupe_status copy(struct pruning *p, troupe_error *err)
{
    struct tp_function *to;
    TP_TRY(group(p, err));
    TP_TRY(tp_body_init(&p->body, p->f->name, err));
    to = p->body.function;
    p->body.pace = p->pace;
    if (p->f->source) {
        to->source = tp_arena_text(to->arena, p->f->source, strlen(p->f->source));
        if (!to->source) return tp_fail_memory(err, strlen(p->f->source));
    }
    TP_TRY(copy_dims(p, err));
    TP_TRY(copy_values(p, err));
    for (uint32_t i = 0; i < p->f->n_nodes; i++) {
        TP_TRY(tp_pace(p->pace, err));
        if (p->needed[i]) TP_TRY(copy_node(p, i, err));
    }
    return copy_results(p, err);
}

static troupe_status start(struct pruning *p, troupe_error *err)
{
    const struct tp_function *f = p->f;
    TP_TRY(tp_arena_new(&p->arena, err));
    p->needed = tp_arena_array(p->arena, f->n_nodes, sizeof(*p->needed));
    p->used = tp_arena_array(p->arena, f->n_values, sizeof(*p->used));
    p->nodes = tp_arena_array(p->arena, f->n_nodes, sizeof(*p->nodes));
    p->values = tp_arena_array(p->arena, f->n_values, sizeof(*p->values));
    if (p->needed && p->used && p->nodes && p->values) return TROUPE_OK;
    return tp_fail_memory(err, f->n_values * sizeof(*p->values));
}

troupe_status tp_prune(const struct tp_function *function, struct tp_pace *pace,
                       struct tp_function **out, troupe_error *err)
{
    TP_OWNED(pruning_fini) struct pruning p = {.f = function, .pace = pace};
    TP_TRY(start(&p, err));
    TP_TRY(mark(&p, err));
    if (keeps_all(&p)) {
        *out = tp_function_retain(function);
        return TROUPE_OK;
    }
    TP_TRY(copy(&p, err));
    return tp_body_seal(&p.body, out, err);
}
