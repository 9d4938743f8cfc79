/* SPDX-License-Identifier: MIT
 *
 * graph/partition.h - function + placement -> shards joined by edges.
 *
 * A shard is what one device does: a list of items in an order that is a part of one order of the whole
 * function, so that shards which wait for one another in that order cannot lock. A value that several graph
 * nodes of a shard need crosses once. A control dependency across devices is an edge without a value, and
 * is left out where an edge with a value already says it. An argument or result that has no device of its own is
 * in host memory, and goes straight to and from the shards that use it.
 */
#ifndef TP_GRAPH_PARTITION_H
#define TP_GRAPH_PARTITION_H

#include "graph/placer.h"

enum tp_item_kind {
    TP_ITEM_NODE, /* run graph node `id` */
    TP_ITEM_SEND, /* give edge `id` its value */
    TP_ITEM_RECV, /* wait for edge `id` */
};

struct tp_item {
    enum tp_item_kind kind;
    uint32_t id;
};

struct tp_edge {
    uint32_t from, to; /* shards */
    uint32_t value;    /* of the function, or TP_NO_VALUE: only an order */
    uint32_t node;     /* the graph node after which it is sent; TP_NO_NODE for an argument */
    bool host;         /* it travels in host memory */
};

struct tp_shard {
    uint32_t device; /* index into the devices of the placement */
    struct tp_item *items;
    uint32_t n_items;
    /* Which arguments and results of the function it takes and gives: ascending, so argument i of the
     * shard is argument args[i] of the function. */
    uint32_t *args, *results;
    uint32_t n_args, n_results;
    bool *args_host, *results_host; /* memory space of each: host, or the device's own */
    bool stateful;
};

struct tp_partition {
    struct tp_shard *shards; /* in the order of their devices; none when nothing is to do */
    struct tp_edge *edges;   /* ids are indexes; in no promised order */
    uint32_t n_shards, n_edges;
    /* Per result of the function: the shard that gives it; UINT32_MAX: it is an argument or
     * constant that goes back untouched. */
    uint32_t *result_shard;
};

/* `env` is what the placement was made with: its devices, those of arguments and results, and its
 * pace are used. INVALID: a graph node has no device. Every index map is checked to be ascending and
 * whole (tp_assert). */
troupe_status tp_partition_make(const struct tp_function *function,
                                const struct tp_placement *placement,
                                const struct tp_place_env *env, struct tp_partition **out,
                                troupe_error *err) TROUPE_MUST_CHECK;
void tp_partition_destroy(struct tp_partition **partition);

#endif
