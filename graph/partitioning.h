/* SPDX-License-Identifier: MIT
 *
 * graph/partitioning.h - one partition in the making: what graph/partition*.c share.
 */
#ifndef TP_GRAPH_PARTITIONING_H
#define TP_GRAPH_PARTITIONING_H

#include "graph/partition.h"

#define TP_NO_SHARD UINT32_MAX
#define TP_NO_EDGE  UINT32_MAX

/* An argument that a shard takes. */
struct tp_take {
    uint32_t arg, shard;
    bool host;
};

struct tp_partitioning {
    const struct tp_function *function;
    const struct tp_placement *placement;
    const struct tp_devices *devices;
    const uint32_t *arg_devices, *result_devices; /* NULL: none has one */
    struct tp_pace *pace;
    struct tp_arena *arena; /* all that is needed until the partition is there */

    bool *arg_used;      /* of each argument: some shard needs it */
    uint32_t *shard_of;  /* of each device; TP_NO_SHARD where there is nothing to do */
    uint32_t *device_of; /* of each shard */
    uint32_t n_shards;
    /* The graph nodes of shard s, in their order: nodes[first[s]] up to nodes[first[s + 1]].
     * Its results likewise. */
    uint32_t *nodes, *first;
    uint32_t *results, *result_first;
    uint32_t *result_shard; /* of each result: who gives it, or TP_NO_SHARD */

    /* Edges into shard s: in_first[s] up to in_first[s + 1], by the first use there. */
    struct tp_edge *edges;
    uint32_t *in_first;
    uint32_t
        *used_by; /* of each edge: the graph node that needs it first; TP_NO_NODE: a result */
    size_t n_edges, edge_capacity, use_capacity;
    struct tp_take *takes;
    size_t n_takes, take_capacity;
};

static inline uint32_t tp_partitioning_node_shard(const struct tp_partitioning *p,
                                                  uint32_t node)
{
    return p->shard_of[p->placement->device[node]];
}

static inline bool tp_partitioning_is_arg(const struct tp_partitioning *p, uint32_t value)
{
    return value < p->function->n_args;
}

/* The device of an argument or a result, or TP_NO_DEVICE. */
static inline uint32_t tp_partitioning_arg_device(const struct tp_partitioning *p, uint32_t arg)
{
    return p->arg_devices ? p->arg_devices[arg] : TP_NO_DEVICE;
}

static inline uint32_t tp_partitioning_result_device(const struct tp_partitioning *p,
                                                     uint32_t result)
{
    return p->result_devices ? p->result_devices[result] : TP_NO_DEVICE;
}

/* A value that is in host memory on a device: the device is a host, or the element type or the
 * port that it comes from stays there on every kind of device. */
bool tp_partitioning_in_host(const struct tp_partitioning *p, uint32_t value, uint32_t shard);

/* --- partition_edges.c --- */
/* Find every edge and every argument that a shard takes. */
troupe_status tp_partitioning_connect(struct tp_partitioning *p,
                                      troupe_error *err) TROUPE_MUST_CHECK;

/* --- partition_items.c --- */
/* The items of all shards, one shard's behind the other's in `items`, which has room for a
 * graph node each and two for each edge; shards[] gets its part. */
troupe_status tp_partitioning_order(struct tp_partitioning *p, struct tp_item *items,
                                    struct tp_shard *shards,
                                    troupe_error *err) TROUPE_MUST_CHECK;

#endif
