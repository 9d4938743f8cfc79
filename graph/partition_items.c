/* SPDX-License-Identifier: MIT
 *
 * graph/partition_items.c - what each shard does, in an order in which no two can lock.
 *
 * The order of the whole: all sends of arguments; then for each graph node, in the function's
 * order, its receives, itself, and its sends; then the receives of results. An edge's send
 * comes before its receive in it, since a graph node comes after those that it needs. Each
 * shard's list is a part of this order. So shards that run their lists one item at a time
 * cannot lock, whatever their speed, as long as a send never waits: of all items that have not
 * run, take the first in the order of the whole. It is the next one of its shard. If it is no
 * receive it can run; if it is one, its send has run, and so can it.
 */
#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "graph/arena.h"
#include "graph/partitioning.h"

/* The edges that leave, by where: those after graph node i are list[first[i]] up to
 * list[first[i + 1]]; those of arguments of shard s likewise at n_nodes + s. */
struct sends {
    uint32_t *list, *first;
};

static uint32_t bucket_of(const struct tp_partitioning *p, const struct tp_edge *edge)
{
    return edge->node == TP_NO_NODE ? p->function->n_nodes + edge->from : edge->node;
}

/* Ascending in each bucket: the edges are counted, then put in their order. */
static troupe_status sort_sends(const struct tp_partitioning *p, struct sends *out,
                                troupe_error *err)
{
    const size_t n = (size_t)p->function->n_nodes + p->n_shards;
    out->list = tp_arena_array(p->arena, p->n_edges, sizeof(*out->list));
    out->first = tp_arena_array(p->arena, n + 2, sizeof(*out->first));
    if (!out->list || !out->first) return tp_fail_memory(err, (n + 2) * sizeof(*out->first));
    for (size_t e = 0; e < p->n_edges; e++)
        out->first[bucket_of(p, &p->edges[e]) + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        out->first[i] += out->first[i - 1];
    for (size_t e = 0; e < p->n_edges; e++)
        out->list[out->first[bucket_of(p, &p->edges[e]) + 1]++] = (uint32_t)e;
    return TROUPE_OK;
}

struct writer {
    const struct tp_partitioning *p;
    struct sends sends;
    struct tp_item *at; /* the next item */
    uint32_t edge;      /* the next one that comes in */
};

static void put(struct writer *w, enum tp_item_kind kind, uint32_t id)
{
    *w->at++ = (struct tp_item){.kind = kind, .id = id};
}

static void put_sends(struct writer *w, uint32_t bucket)
{
    for (uint32_t i = w->sends.first[bucket]; i < w->sends.first[bucket + 1]; i++)
        put(w, TP_ITEM_SEND, w->sends.list[i]);
}

/* The receives of what graph node `user` is the first to need; TP_NO_NODE: of the results. */
static void put_receives(struct writer *w, uint32_t shard, uint32_t user)
{
    const struct tp_partitioning *p = w->p;
    for (; w->edge < p->in_first[shard + 1] && p->used_by[w->edge] == user; w->edge++)
        put(w, TP_ITEM_RECV, w->edge);
}

static troupe_status put_shard(struct writer *w, uint32_t shard, troupe_error *err)
{
    const struct tp_partitioning *p = w->p;
    w->edge = p->in_first[shard];
    put_sends(w, p->function->n_nodes + shard);
    for (uint32_t i = p->first[shard]; i < p->first[shard + 1]; i++) {
        TP_TRY(tp_pace(p->pace, err));
        put_receives(w, shard, p->nodes[i]);
        put(w, TP_ITEM_NODE, p->nodes[i]);
        put_sends(w, p->nodes[i]);
    }
    put_receives(w, shard, TP_NO_NODE);
    tp_assert(w->edge == p->in_first[shard + 1]);
    return TROUPE_OK;
}

troupe_status tp_partitioning_order(struct tp_partitioning *p, struct tp_item *items,
                                    struct tp_shard *shards, troupe_error *err)
{
    struct writer w = {.p = p, .at = items};
    TP_TRY(sort_sends(p, &w.sends, err));
    for (uint32_t s = 0; s < p->n_shards; s++) {
        shards[s].items = w.at;
        TP_TRY(put_shard(&w, s, err));
        shards[s].n_items = (uint32_t)(w.at - shards[s].items);
    }
    tp_assert((size_t)(w.at - items) == p->function->n_nodes + 2 * p->n_edges);
    return TROUPE_OK;
}
