/* SPDX-License-Identifier: MIT
 *
 * graph/partition.c - function + placement -> shards, their edges, and the maps between them.
 *
 * In this order: which devices have something to do; what crosses (partition_edges.c); what
 * each shard does in which order (partition_items.c); which arguments and results are whose.
 * All index maps are slices of one array sorted by shard, then by index.
 */
#include "graph/partition.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/infer.h"
#include "graph/partitioning.h"

/* The partition and the arrays that its pointers lead into. */
struct whole {
    struct tp_partition partition;
    struct tp_item *items;
    uint32_t *indexes;
    bool *flags;
};

void tp_partition_destroy(struct tp_partition **partition)
{
    if (!partition || !*partition) return;
    struct whole *whole = tp_container_of(*partition, struct whole, partition);
    tp_free(whole->partition.shards);
    tp_free(whole->partition.edges);
    tp_free(whole->partition.result_shard);
    tp_free(whole->items);
    tp_free(whole->indexes);
    tp_free(whole->flags);
    tp_free(whole);
    *partition = NULL;
}

static bool stays_in_host(troupe_dtype type)
{
    return type == TROUPE_I32 || type == TROUPE_I64 || type == TROUPE_STRING;
}

bool tp_partitioning_in_host(const struct tp_partitioning *p, uint32_t value, uint32_t shard)
{
    const struct tp_value *v = &p->function->values[value];
    if (p->devices->list[p->device_of[shard]].host || stays_in_host(v->type.dtype)) return true;
    const struct tp_op *op = v->node == TP_NO_NODE ? NULL : p->function->nodes[v->node].op;
    const struct tp_port *port = op ? tp_op_port(op->results, v->index) : NULL;
    return port && (port->flags & TP_HOST);
}

static troupe_status check_devices(const uint32_t *devices, uint32_t n, const char *what,
                                   uint32_t there, troupe_error *err)
{
    for (uint32_t i = 0; devices && i < n; i++)
        if (devices[i] != TP_NO_DEVICE && devices[i] >= there)
            return tp_fail(err, TROUPE_INVALID, "%s %u is on device %u of %u", what, i,
                           devices[i], there);
    return TROUPE_OK;
}

static troupe_status check(const struct tp_partitioning *p, troupe_error *err)
{
    const struct tp_function *f = p->function;
    if (p->placement->n_nodes != f->n_nodes)
        return tp_fail(err, TROUPE_INVALID,
                       "function '%.80s' has %u graph nodes, its placement %u", f->name,
                       f->n_nodes, p->placement->n_nodes);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        if (p->placement->device[i] >= p->devices->n)
            return tp_fail(err, TROUPE_INVALID, "graph node '%.80s' has no device",
                           f->nodes[i].name);
    TP_TRY(check_devices(p->arg_devices, f->n_args, "argument", p->devices->n, err));
    return check_devices(p->result_devices, f->n_results, "result", p->devices->n, err);
}

/* An argument or constant that goes back as it is, where it is. */
static bool is_untouched(const struct tp_partitioning *p, uint32_t result)
{
    const uint32_t value = p->function->results[result].value;
    const uint32_t wanted = tp_partitioning_result_device(p, result);
    if (p->function->values[value].node != TP_NO_NODE) return false;
    if (wanted == TP_NO_DEVICE) return true;
    return tp_partitioning_is_arg(p, value) && tp_partitioning_arg_device(p, value) == wanted;
}

static void use(struct tp_partitioning *p, uint32_t value)
{
    if (value != TP_NO_VALUE && tp_partitioning_is_arg(p, value)) p->arg_used[value] = true;
}

static void find_used_args(struct tp_partitioning *p)
{
    const struct tp_function *f = p->function;
    for (uint32_t i = 0; i < f->n_nodes; i++)
        for (uint32_t k = 0; k < f->nodes[i].n_inputs; k++)
            use(p, f->nodes[i].inputs[k]);
    for (uint32_t r = 0; r < f->n_results; r++)
        if (!is_untouched(p, r)) use(p, f->results[r].value);
}

/* The device that gives the result; TP_NO_DEVICE when none does. */
static uint32_t giver(const struct tp_partitioning *p, uint32_t result)
{
    if (is_untouched(p, result)) return TP_NO_DEVICE;
    const uint32_t wanted = tp_partitioning_result_device(p, result);
    const uint32_t node = p->function->values[p->function->results[result].value].node;
    return wanted == TP_NO_DEVICE ? p->placement->device[node] : wanted;
}

/* A shard for each device that runs, takes or gives something. */
static void find_shards(struct tp_partitioning *p)
{
    const struct tp_function *f = p->function;
    for (uint32_t d = 0; d < p->devices->n; d++)
        p->shard_of[d] = TP_NO_SHARD;
    for (uint32_t i = 0; i < f->n_nodes; i++)
        p->shard_of[p->placement->device[i]] = 0;
    for (uint32_t i = 0; i < f->n_args; i++)
        if (p->arg_used[i] && tp_partitioning_arg_device(p, i) != TP_NO_DEVICE)
            p->shard_of[tp_partitioning_arg_device(p, i)] = 0;
    for (uint32_t r = 0; r < f->n_results; r++)
        if (giver(p, r) != TP_NO_DEVICE) p->shard_of[giver(p, r)] = 0;
    for (uint32_t d = 0; d < p->devices->n; d++)
        if (p->shard_of[d] != TP_NO_SHARD) {
            p->device_of[p->n_shards] = d;
            p->shard_of[d] = p->n_shards++;
        }
    for (uint32_t r = 0; r < f->n_results; r++)
        p->result_shard[r] =
            giver(p, r) == TP_NO_DEVICE ? TP_NO_SHARD : p->shard_of[giver(p, r)];
}

/* Things 0..n by the shard that shard_of_thing names, ascending within each; those of none left
 * out. first has n_shards + 2 zeros. */
static void sort_by_shard(const uint32_t *shard_of_thing, uint32_t n, uint32_t n_shards,
                          uint32_t *list, uint32_t *first)
{
    for (uint32_t i = 0; i < n; i++)
        if (shard_of_thing[i] != TP_NO_SHARD) first[shard_of_thing[i] + 2]++;
    for (uint32_t s = 2; s < n_shards + 2; s++)
        first[s] += first[s - 1];
    for (uint32_t i = 0; i < n; i++)
        if (shard_of_thing[i] != TP_NO_SHARD) list[first[shard_of_thing[i] + 1]++] = i;
}

static troupe_status sort_nodes_and_results(struct tp_partitioning *p, troupe_error *err)
{
    const struct tp_function *f = p->function;
    uint32_t *shards = tp_arena_array(p->arena, f->n_nodes, sizeof(*shards));
    p->nodes = tp_arena_array(p->arena, f->n_nodes, sizeof(*p->nodes));
    p->first = tp_arena_array(p->arena, p->n_shards + 2, sizeof(*p->first));
    p->results = tp_arena_array(p->arena, f->n_results, sizeof(*p->results));
    p->result_first = tp_arena_array(p->arena, p->n_shards + 2, sizeof(*p->result_first));
    p->in_first = tp_arena_array(p->arena, p->n_shards + 1, sizeof(*p->in_first));
    if (!shards || !p->nodes || !p->first || !p->results || !p->result_first || !p->in_first)
        return tp_fail_memory(err, f->n_nodes * sizeof(*p->nodes));
    for (uint32_t i = 0; i < f->n_nodes; i++)
        shards[i] = tp_partitioning_node_shard(p, i);
    sort_by_shard(shards, f->n_nodes, p->n_shards, p->nodes, p->first);
    sort_by_shard(p->result_shard, f->n_results, p->n_shards, p->results, p->result_first);
    return TROUPE_OK;
}

static int by_arg(const void *a, const void *b)
{
    const struct tp_take *left = a, *right = b;
    return (left->arg > right->arg) - (left->arg < right->arg);
}

/* Shards take arguments in the order in which their graph nodes need them; a map is ascending.
 */
static void sort_args(struct tp_take *takes, size_t n)
{
#if defined(TP_MUTANT) && TP_MUTANT == 8
    (void)takes, (void)n,
        (void)by_arg; /* a fault for the suites to find: left in graph order */
#else
    qsort(takes, n, sizeof(*takes), by_arg);
#endif
}

/* p->takes by shard, then by argument; first as in sort_by_shard. */
static troupe_status sort_takes(struct tp_partitioning *p, const uint32_t **out_first,
                                troupe_error *err)
{
    const uint32_t n = (uint32_t)p->n_takes;
    uint32_t *shards = tp_arena_array(p->arena, n, sizeof(*shards));
    uint32_t *list = tp_arena_array(p->arena, n, sizeof(*list));
    uint32_t *first = tp_arena_array(p->arena, p->n_shards + 2, sizeof(*first));
    struct tp_take *sorted = tp_alloc_array(n, sizeof(*sorted));
    if (!shards || !list || !first || !sorted) {
        tp_free(sorted);
        return tp_fail_memory(err, n * sizeof(*sorted));
    }
    for (uint32_t i = 0; i < n; i++)
        shards[i] = p->takes[i].shard;
    sort_by_shard(shards, n, p->n_shards, list, first);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = p->takes[list[i]];
    for (uint32_t s = 0; s < p->n_shards; s++)
        sort_args(sorted + first[s], first[s + 1] - first[s]);
    tp_free(p->takes);
    p->takes = sorted;
    *out_first = first;
    return TROUPE_OK;
}

static troupe_status whole_new(const struct tp_partitioning *p, struct whole **out,
                               troupe_error *err)
{
    const size_t maps = p->n_takes + p->function->n_results;
    const size_t items = p->function->n_nodes + 2 * p->n_edges;
    struct whole *whole = tp_alloc(sizeof(*whole));
    if (!whole) return tp_fail_memory(err, sizeof(*whole));
    *out = whole; /* the caller's, also when the rest fails */
    whole->partition.n_shards = p->n_shards;
    whole->partition.n_edges = (uint32_t)p->n_edges;
    whole->partition.shards = tp_alloc_array(p->n_shards, sizeof(*whole->partition.shards));
    whole->partition.result_shard =
        tp_alloc_array(p->function->n_results, sizeof(*whole->partition.result_shard));
    whole->items = tp_alloc_array(items, sizeof(*whole->items));
    whole->indexes = tp_alloc_array(maps, sizeof(*whole->indexes));
    whole->flags = tp_alloc_array(maps, sizeof(*whole->flags));
    if (!whole->partition.shards || !whole->partition.result_shard || !whole->items ||
        !whole->indexes || !whole->flags)
        return tp_fail_memory(err, items * sizeof(*whole->items));
    return TROUPE_OK;
}

/* The shard's part of the arrays of maps, from `at` on: arguments, then results. */
static size_t write_maps(const struct tp_partitioning *p, const uint32_t *take_first,
                         uint32_t s, struct whole *whole, size_t at)
{
    struct tp_shard *shard = &whole->partition.shards[s];
    shard->args = whole->indexes + at;
    shard->args_host = whole->flags + at;
    for (uint32_t i = take_first[s]; i < take_first[s + 1]; i++, at++) {
        whole->indexes[at] = p->takes[i].arg;
        whole->flags[at] = p->takes[i].host;
    }
    shard->n_args = take_first[s + 1] - take_first[s];
    shard->results = whole->indexes + at;
    shard->results_host = whole->flags + at;
    for (uint32_t i = p->result_first[s]; i < p->result_first[s + 1]; i++, at++) {
        whole->indexes[at] = p->results[i];
        whole->flags[at] =
            tp_partitioning_in_host(p, p->function->results[p->results[i]].value, s);
    }
    shard->n_results = p->result_first[s + 1] - p->result_first[s];
    return at;
}

static bool is_stateful(const struct tp_partitioning *p, uint32_t shard)
{
    for (uint32_t i = p->first[shard]; i < p->first[shard + 1]; i++)
        if (p->function->nodes[p->nodes[i]].stateful) return true;
    return false;
}

/* Ascending maps, and each result given by the shard that result_shard says. */
static void check_maps(const struct tp_partition *partition, uint32_t n_results)
{
    size_t given = 0;
    for (uint32_t s = 0; s < partition->n_shards; s++) {
        const struct tp_shard *shard = &partition->shards[s];
        for (uint32_t i = 1; i < shard->n_args; i++)
            tp_assert(shard->args[i - 1] < shard->args[i]);
        for (uint32_t i = 0; i < shard->n_results; i++) {
            tp_assert(i == 0 || shard->results[i - 1] < shard->results[i]);
            tp_assert(partition->result_shard[shard->results[i]] == s);
            given++;
        }
    }
    for (uint32_t r = 0; r < n_results; r++)
        given += partition->result_shard[r] == TP_NO_SHARD;
    tp_assert(given == n_results);
}

static troupe_status write_whole(struct tp_partitioning *p, struct whole *whole,
                                 troupe_error *err)
{
    const uint32_t n_results = p->function->n_results;
    const uint32_t *take_first = NULL;
    size_t at = 0;
    TP_TRY(sort_takes(p, &take_first, err));
    TP_TRY(tp_partitioning_order(p, whole->items, whole->partition.shards, err));
    for (uint32_t s = 0; s < p->n_shards; s++) {
        whole->partition.shards[s].device = p->device_of[s];
        whole->partition.shards[s].stateful = is_stateful(p, s);
        at = write_maps(p, take_first, s, whole, at);
    }
    for (uint32_t r = 0; r < n_results; r++)
        whole->partition.result_shard[r] = p->result_shard[r];
    whole->partition.edges = p->edges;
    p->edges = NULL;
    check_maps(&whole->partition, n_results);
    return TROUPE_OK;
}

static troupe_status take_arrays(struct tp_partitioning *p, troupe_error *err)
{
    const uint32_t n = p->devices->n;
    p->arg_used = tp_arena_array(p->arena, p->function->n_args, sizeof(*p->arg_used));
    p->shard_of = tp_arena_array(p->arena, n, sizeof(*p->shard_of));
    p->device_of = tp_arena_array(p->arena, n, sizeof(*p->device_of));
    p->result_shard =
        tp_arena_array(p->arena, p->function->n_results, sizeof(*p->result_shard));
    if (!p->arg_used || !p->shard_of || !p->device_of || !p->result_shard)
        return tp_fail_memory(err, p->function->n_results * sizeof(*p->result_shard));
    return TROUPE_OK;
}

static troupe_status make(struct tp_partitioning *p, struct tp_partition **out,
                          troupe_error *err)
{
    struct whole *whole = NULL;
    TP_TRY(take_arrays(p, err));
    find_used_args(p);
    find_shards(p);
    TP_TRY(sort_nodes_and_results(p, err));
    TP_TRY(tp_partitioning_connect(p, err));
    troupe_status status = whole_new(p, &whole, err);
    if (status == TROUPE_OK) status = write_whole(p, whole, err);
    TP_OWNED(tp_partition_destroy) struct tp_partition *made = whole ? &whole->partition : NULL;
    TP_TRY(status);
    *out = made;
    made = NULL;
    return TROUPE_OK;
}

troupe_status tp_partition_make(const struct tp_function *function,
                                const struct tp_placement *placement,
                                const struct tp_place_env *env, struct tp_partition **out,
                                troupe_error *err)
{
    TP_OWNED(tp_arena_destroy) struct tp_arena *arena = NULL;
    struct tp_partitioning p = {.function = function,
                                .placement = placement,
                                .devices = env->devices,
                                .arg_devices = env->arg_devices,
                                .result_devices = env->result_devices,
                                .pace = env->pace};
    TP_TRY(check(&p, err));
    TP_TRY(tp_arena_new(&arena, err));
    p.arena = arena;
    const troupe_status status = make(&p, out, err);
    tp_free(p.edges);
    tp_free(p.used_by);
    tp_free(p.takes);
    return status;
}
