/* SPDX-License-Identifier: MIT
 *
 * graph/partition_edges.c - what crosses from shard to shard, each value once.
 *
 * One shard after the other is walked in the order of its graph nodes. A mark beside each value
 * and each graph node says whether the shard in hand has it by an edge already, so nothing is
 * looked up and the whole is linear. An order without a value is left out where a value of the
 * same graph node is received no later anyway.
 */
#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "graph/arena.h"
#include "graph/infer.h"
#include "graph/partitioning.h"

struct walk {
    struct tp_partitioning *p;
    uint32_t shard;     /* the one in hand */
    uint32_t *edge_of;  /* of each value: the latest edge that carries it */
    uint32_t *value_to; /* of each graph node: the latest shard that gets a value of it */
    uint32_t *order_to; /* of each graph node: the latest shard that is told when it has run */
    uint32_t *take_of;  /* of each argument: its latest place in takes */
    bool *all_host;     /* of each edge: all its uses so far are by ports in host memory */
    size_t host_capacity;
};

static troupe_status add_edge(struct walk *w, const struct tp_edge *edge, uint32_t used_by,
                              troupe_error *err)
{
    struct tp_partitioning *p = w->p;
    if (p->n_edges >= TP_NO_EDGE)
        return tp_fail(err, TROUPE_EXHAUSTED, "%zu edges", p->n_edges);
    TP_TRY(tp_grow(&p->edges, p->n_edges, &p->edge_capacity, sizeof(*p->edges), err));
    TP_TRY(tp_grow(&p->used_by, p->n_edges, &p->use_capacity, sizeof(*p->used_by), err));
    TP_TRY(tp_grow(&w->all_host, p->n_edges, &w->host_capacity, sizeof(*w->all_host), err));
    p->edges[p->n_edges] = *edge;
    p->used_by[p->n_edges] = used_by;
    w->all_host[p->n_edges] = true;
    p->n_edges++;
    return TROUPE_OK;
}

static troupe_status add_take(struct walk *w, uint32_t arg, uint32_t shard, bool host,
                              troupe_error *err)
{
    struct tp_partitioning *p = w->p;
    if (p->n_takes >= UINT32_MAX)
        return tp_fail(err, TROUPE_EXHAUSTED, "%zu arguments of shards", p->n_takes);
    TP_TRY(tp_grow(&p->takes, p->n_takes, &p->take_capacity, sizeof(*p->takes), err));
    p->takes[p->n_takes++] = (struct tp_take){.arg = arg, .shard = shard, .host = host};
    return TROUPE_OK;
}

/* The shard that has the value to give; TP_NO_SHARD for a constant, which all have, and for an
 * argument without a device, which each takes. */
static uint32_t source_of(const struct tp_partitioning *p, uint32_t value)
{
    const uint32_t node = p->function->values[value].node;
    if (node != TP_NO_NODE) return tp_partitioning_node_shard(p, node);
    if (!tp_partitioning_is_arg(p, value)) return TP_NO_SHARD;
    const uint32_t device = tp_partitioning_arg_device(p, value);
    return device == TP_NO_DEVICE ? TP_NO_SHARD : p->shard_of[device];
}

/* An argument without a device, for the shard in hand: it is in host memory there when every
 * port that reads it is. */
static troupe_status take_arg(struct walk *w, uint32_t arg, bool port_host, troupe_error *err)
{
    const bool host = tp_partitioning_in_host(w->p, arg, w->shard);
    const uint32_t at = w->take_of[arg];
    if (at != UINT32_MAX && w->p->takes[at].shard == w->shard) {
        w->p->takes[at].host = host || (w->p->takes[at].host && port_host);
        return TROUPE_OK;
    }
    w->take_of[arg] = (uint32_t)w->p->n_takes;
    return add_take(w, arg, w->shard, host || port_host, err);
}

static bool has_edge(const struct walk *w, uint32_t value)
{
    const uint32_t at = w->edge_of[value];
    return at != TP_NO_EDGE && w->p->edges[at].to == w->shard;
}

static troupe_status bring_value(struct walk *w, uint32_t value, uint32_t from, bool port_host,
                                 uint32_t used_by, troupe_error *err)
{
    struct tp_partitioning *p = w->p;
    const uint32_t node = p->function->values[value].node;
    if (!has_edge(w, value)) {
        const struct tp_edge edge = {.from = from,
                                     .to = w->shard,
                                     .value = value,
                                     .node = node,
                                     .host = tp_partitioning_in_host(p, value, from) ||
                                             tp_partitioning_in_host(p, value, w->shard)};
        w->edge_of[value] = (uint32_t)p->n_edges;
        if (node != TP_NO_NODE) w->value_to[node] = w->shard;
        TP_TRY(add_edge(w, &edge, used_by, err));
    }
    w->all_host[w->edge_of[value]] &= port_host;
    return TROUPE_OK;
}

/* The shard in hand needs the value: for graph node used_by, or as a result (TP_NO_NODE). */
static troupe_status need_value(struct walk *w, uint32_t value, bool port_host,
                                uint32_t used_by, troupe_error *err)
{
    if (value == TP_NO_VALUE) return TROUPE_OK; /* an absent input */
    const uint32_t from = source_of(w->p, value);
    if (from != TP_NO_SHARD && from != w->shard)
        return bring_value(w, value, from, port_host, used_by, err);
    if (from == TP_NO_SHARD && tp_partitioning_is_arg(w->p, value))
        return take_arg(w, value, port_host, err);
    return TROUPE_OK; /* it is here */
}

/* Graph node `node` of the shard in hand runs after graph node `after`. */
static troupe_status need_order(struct walk *w, uint32_t after, uint32_t node,
                                troupe_error *err)
{
    const uint32_t from = tp_partitioning_node_shard(w->p, after);
    if (from == w->shard) return TROUPE_OK; /* the order of items says it */
    if (w->value_to[after] == w->shard || w->order_to[after] == w->shard)
        return TROUPE_OK; /* an edge that is received by now says it */
    const struct tp_edge edge = {
        .from = from, .to = w->shard, .value = TP_NO_VALUE, .node = after, .host = true};
    w->order_to[after] = w->shard;
    return add_edge(w, &edge, node, err);
}

static bool is_host_port(const struct tp_op *op, uint32_t input)
{
    const struct tp_port *port = op ? tp_op_port(op->inputs, input) : NULL;
    return port && (port->flags & TP_HOST);
}

static troupe_status walk_node(struct walk *w, uint32_t node, troupe_error *err)
{
    const struct tp_node *n = &w->p->function->nodes[node];
    for (uint32_t k = 0; k < n->n_inputs; k++)
        TP_TRY(need_value(w, n->inputs[k], is_host_port(n->op, k), node, err));
    for (uint32_t k = 0; k < n->n_after; k++)
        TP_TRY(need_order(w, n->after[k], node, err));
    return TROUPE_OK;
}

static troupe_status walk_shard(struct walk *w, troupe_error *err)
{
    struct tp_partitioning *p = w->p;
    const struct tp_result *results = p->function->results;
    p->in_first[w->shard] = (uint32_t)p->n_edges;
    for (uint32_t i = p->first[w->shard]; i < p->first[w->shard + 1]; i++) {
        TP_TRY(tp_pace(p->pace, err));
        TP_TRY(walk_node(w, p->nodes[i], err));
    }
    for (uint32_t i = p->result_first[w->shard]; i < p->result_first[w->shard + 1]; i++)
        TP_TRY(need_value(w, results[p->results[i]].value, false, TP_NO_NODE, err));
    return TROUPE_OK;
}

/* An argument that is on a device is taken there, whoever needs it. */
static troupe_status take_placed_args(struct walk *w, troupe_error *err)
{
    struct tp_partitioning *p = w->p;
    for (uint32_t i = 0; i < p->function->n_args; i++) {
        if (!p->arg_used[i] || tp_partitioning_arg_device(p, i) == TP_NO_DEVICE) continue;
        const uint32_t shard = source_of(p, i);
        TP_TRY(add_take(w, i, shard, tp_partitioning_in_host(p, i, shard), err));
    }
    return TROUPE_OK;
}

/* n marks that fit no edge, shard or place. */
static troupe_status new_marks(struct walk *w, uint32_t n, uint32_t **out, troupe_error *err)
{
    *out = tp_arena_array(w->p->arena, n, sizeof(**out));
    if (!*out) return tp_fail_memory(err, n * sizeof(**out));
    for (uint32_t i = 0; i < n; i++)
        (*out)[i] = UINT32_MAX;
    return TROUPE_OK;
}

static troupe_status walk_all(struct walk *w, troupe_error *err)
{
    struct tp_partitioning *p = w->p;
    TP_TRY(new_marks(w, p->function->n_values, &w->edge_of, err));
    TP_TRY(new_marks(w, p->function->n_nodes, &w->value_to, err));
    TP_TRY(new_marks(w, p->function->n_nodes, &w->order_to, err));
    TP_TRY(new_marks(w, p->function->n_args, &w->take_of, err));
    TP_TRY(take_placed_args(w, err));
    for (w->shard = 0; w->shard < p->n_shards; w->shard++)
        TP_TRY(walk_shard(w, err));
    p->in_first[p->n_shards] = (uint32_t)p->n_edges;
    for (size_t e = 0; e < p->n_edges; e++)
        p->edges[e].host |= w->all_host[e];
    return TROUPE_OK;
}

troupe_status tp_partitioning_connect(struct tp_partitioning *p, troupe_error *err)
{
    struct walk w = {.p = p};
    const troupe_status status = walk_all(&w, err);
    tp_free(w.all_host);
    return status;
}
