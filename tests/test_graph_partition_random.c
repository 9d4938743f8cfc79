/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_partition_random.c - partitions of random functions, checked and played.
 *
 * Each seed makes a function, puts it on two to four devices at random, and checks that nothing
 * crosses twice, late or for nothing. Then the shards are played with receives that wait, in
 * orders from one extreme to the other: every item must run once, with all that it needs.
 */
#include "graph/partition.h"

#include <stdio.h>

#include "graph/build.h"
#include "graph/infer.h"
#include "tests/place.h"
#include "tests/test.h"

#define SEEDS       500
#define MOST_NODES  60
#define MOST_VALUES 200

struct game {
    struct place_random random;
    troupe_function *function;
    const struct tp_function *f;
    struct tp_devices *devices;
    struct tp_placement placement;
    uint32_t device[MOST_NODES], args[8], results[16];
    struct tp_partition *partition;
};

static uint32_t below(struct game *g, uint32_t n)
{
    return place_below(&g->random, n);
}

/* --- a random function --- */

/* A value of that type that is there already. */
static troupe_value pick(struct game *g, const troupe_builder *b, troupe_dtype type)
{
    const struct tp_function *f = tp_builder_look(b);
    troupe_value v;
    do
        v = below(g, f->n_values);
    while (f->values[v].type.dtype != type);
    return v;
}

static void add_node(struct game *g, troupe_builder *b, uint32_t i)
{
    static const struct {
        const char *op;
        int inputs;
    } ops[] = {{"Any", 1},   {"Any2", 2},  {"AnyN", 5},  {"Pair", 1},     {"Gen", 0},
               {"Shape", 1}, {"ToInt", 1}, {"Scale", 2}, {"Identity", 1}, {"Effect", 1}};
    static const troupe_dtype types[] = {TROUPE_F32, TROUPE_F32, TROUPE_I32, TROUPE_U8};
    troupe_error err;
    troupe_value inputs[5];
    char name[16], names[3][16];
    const char *after[3] = {names[0], names[1], names[2]};
    const uint32_t which = below(g, TP_COUNT(ops));
    const troupe_dtype type = types[below(g, TP_COUNT(types))];
    troupe_node node = {.size = sizeof(node),
                        .op = ops[which].op,
                        .name = name,
                        .inputs = inputs,
                        .n_inputs = (size_t)ops[which].inputs,
                        .after = after};
    snprintf(name, sizeof(name), "n%u", i);
    for (size_t k = 0; k < node.n_inputs; k++)
        inputs[k] =
            which == 2 && k > 0 && below(g, 4) == 0 ? TROUPE_NO_VALUE : pick(g, b, type);
    for (; i > 0 && node.n_after < 3 && below(g, 3) == 0; node.n_after++)
        snprintf(names[node.n_after], sizeof(names[0]), "n%u", below(g, i));
    ck_ok(troupe_builder_node(b, &node, NULL, &err));
}

static void add_constant(troupe_builder *b)
{
    troupe_error err;
    troupe_value v;
    const int64_t four = 4;
    TP_OWNED(troupe_tensor_release) troupe_tensor *zeros = NULL;
    ck_ok(troupe_tensor_new(&zeros, TROUPE_F32, 1, &four, NULL, &err));
    ck_ok(troupe_builder_constant(b, NULL, zeros, &v, &err));
}

static void make_function(struct game *g)
{
    static const char *const args[] = {"f32[4]", "i32[4]", "u8[4]",
                                       "f32[4]", "f32[4]", "i32[4]"};
    troupe_error err;
    troupe_value v;
    troupe_builder *b = NULL;
    char name[16];
    ck_ok(troupe_builder_new(&b, "f", NULL, &err));
    for (uint32_t i = 0; i < TP_COUNT(args); i++) {
        snprintf(name, sizeof(name), "x%u", i);
        ck_ok(troupe_builder_arg(b, name, args[i], &v, &err));
    }
    add_constant(b);
    const uint32_t n = below(g, MOST_NODES + 1), n_results = below(g, 9);
    for (uint32_t i = 0; i < n; i++)
        add_node(g, b, i);
    for (uint32_t i = 0; i < n_results; i++) {
        snprintf(name, sizeof(name), "r%u", i);
        v = below(g, tp_builder_look(b)->n_values);
        ck_ok(troupe_builder_result(b, name, v, &err));
    }
    ck_ok(troupe_builder_finish(&b, &g->function, &err));
    g->f = g->function->body;
    ck_assert_uint_le(g->f->n_values, MOST_VALUES);
}

static void game_begin(struct game *g, uint64_t seed)
{
    static const char *const lists[] = {"cpu:0 cpu:1", "cpu:0 gpu:0", "cpu:0 cpu:1 gpu:0",
                                        "cpu:0 gpu:0 gpu:1 opencl:0"};
    troupe_error err;
    *g = (struct game){.random = {seed}, .devices = NULL};
    make_function(g);
    g->devices = place_devices(lists[below(g, TP_COUNT(lists))]);
    const uint32_t n = g->devices->n, spread = 1 + below(g, n);
    for (uint32_t i = 0; i < g->f->n_nodes; i++)
        g->device[i] = below(g, spread);
    for (uint32_t i = 0; i < 8; i++)
        g->args[i] = below(g, 2) ? TP_NO_DEVICE : below(g, n);
    for (uint32_t i = 0; i < 16; i++)
        g->results[i] = below(g, 2) ? TP_NO_DEVICE : below(g, n);
    g->placement = (struct tp_placement){.n_nodes = g->f->n_nodes, .device = g->device};
    const struct tp_place_env env = {
        .devices = g->devices, .arg_devices = g->args, .result_devices = g->results};
    ck_ok(tp_partition_make(g->f, &g->placement, &env, &g->partition, &err));
}

static void game_end(struct game *g)
{
    tp_partition_destroy(&g->partition);
    tp_devices_release(&g->devices);
    troupe_function_release(&g->function);
}

/* --- what must hold of any partition --- */

static uint32_t shard_of(const struct game *g, uint32_t device)
{
    for (uint32_t s = 0; s < g->partition->n_shards; s++)
        if (g->partition->shards[s].device == device) return s;
    return UINT32_MAX;
}

static bool takes(const struct tp_shard *shard, uint32_t arg)
{
    for (uint32_t i = 0; i < shard->n_args; i++)
        if (shard->args[i] == arg) return true;
    return false;
}

static bool node_reads(const struct tp_node *node, uint32_t value)
{
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] == value) return true;
    return false;
}

static bool node_waits(const struct tp_node *node, uint32_t after)
{
    for (uint32_t k = 0; k < node->n_after; k++)
        if (node->after[k] == after) return true;
    return false;
}

/* The first item at or after `at` that needs the edge; n_items for a result that does; else
 * above. */
static uint32_t first_need(const struct game *g, const struct tp_shard *shard, uint32_t at,
                           const struct tp_edge *edge)
{
    for (; at < shard->n_items; at++) {
        if (shard->items[at].kind != TP_ITEM_NODE) continue;
        const struct tp_node *node = &g->f->nodes[shard->items[at].id];
        if (edge->value == TP_NO_VALUE ? node_waits(node, edge->node)
                                       : node_reads(node, edge->value))
            return at;
    }
    for (uint32_t i = 0; i < shard->n_results; i++)
        if (g->f->results[shard->results[i]].value == edge->value) return shard->n_items;
    return UINT32_MAX;
}

static uint32_t find_item(const struct tp_shard *shard, enum tp_item_kind kind, uint32_t id)
{
    uint32_t found = UINT32_MAX, n = 0;
    for (uint32_t i = 0; i < shard->n_items; i++)
        if (shard->items[i].kind == kind && shard->items[i].id == id) {
            found = i;
            n++;
        }
    ck_assert_uint_eq(n, 1);
    return found;
}

/* Only receives stand between the receive and what needs it first; only sends between the graph
 * node and its send. */
static void check_place_of_edge(const struct game *g, uint32_t id)
{
    const struct tp_edge *edge = &g->partition->edges[id];
    const struct tp_shard *from = &g->partition->shards[edge->from];
    const struct tp_shard *to = &g->partition->shards[edge->to];
    const uint32_t sent = find_item(from, TP_ITEM_SEND, id);
    const uint32_t received = find_item(to, TP_ITEM_RECV, id);
    const uint32_t need = first_need(g, to, 0, edge);
    ck_assert_msg(need != UINT32_MAX, "edge %u is for nothing", id);
    ck_assert_uint_lt(received, need);
    for (uint32_t i = received + 1; i < need; i++)
        ck_assert_int_eq(to->items[i].kind, TP_ITEM_RECV);
    const uint32_t start =
        edge->node == TP_NO_NODE ? 0 : find_item(from, TP_ITEM_NODE, edge->node) + 1;
    for (uint32_t i = start; i <= sent; i++)
        ck_assert_int_eq(from->items[i].kind, TP_ITEM_SEND);
}

static void check_edge(const struct game *g, uint32_t id)
{
    const struct tp_edge *edge = &g->partition->edges[id];
    ck_assert_uint_ne(edge->from, edge->to);
    if (edge->value != TP_NO_VALUE)
        ck_assert_uint_eq(edge->node, g->f->values[edge->value].node);
    if (edge->node == TP_NO_NODE)
        ck_assert(takes(&g->partition->shards[edge->from], edge->value));
    for (uint32_t k = 0; k < id; k++) {
        const struct tp_edge *other = &g->partition->edges[k];
        ck_assert_msg(other->to != edge->to || other->value != edge->value ||
                          (edge->value == TP_NO_VALUE && other->node != edge->node),
                      "edges %u and %u are one", k, id);
    }
    check_place_of_edge(g, id);
}

/* An order without a value is there only when no value of the graph node comes as early. */
static void check_order(const struct game *g, uint32_t id)
{
    const struct tp_edge *edge = &g->partition->edges[id];
    const struct tp_shard *to = &g->partition->shards[edge->to];
    if (edge->value != TP_NO_VALUE) return;
    const uint32_t need = first_need(g, to, 0, edge);
    for (uint32_t k = 0; k < g->partition->n_edges; k++) {
        const struct tp_edge *other = &g->partition->edges[k];
        if (other->value == TP_NO_VALUE || other->node != edge->node || other->to != edge->to)
            continue;
        ck_assert_uint_gt(find_item(to, TP_ITEM_RECV, k), need);
    }
}

static bool shard_reads(const struct game *g, uint32_t shard, uint32_t value)
{
    const struct tp_edge edge = {.value = value};
    return first_need(g, &g->partition->shards[shard], 0, &edge) != UINT32_MAX;
}

/* A shard takes the arguments that it reads and that are on no other device, and those on its
 * own that others read; no others. */
static void check_args(const struct game *g, uint32_t s)
{
    const struct tp_shard *shard = &g->partition->shards[s];
    for (uint32_t i = 1; i < shard->n_args; i++)
        ck_assert_uint_lt(shard->args[i - 1], shard->args[i]);
    for (uint32_t a = 0; a < g->f->n_args; a++) {
        bool anywhere = false;
        for (uint32_t k = 0; k < g->partition->n_shards; k++)
            anywhere |= shard_reads(g, k, a);
        const bool want = g->args[a] == TP_NO_DEVICE ? shard_reads(g, s, a)
                                                     : g->args[a] == shard->device && anywhere;
        ck_assert_int_eq(takes(shard, a), want);
    }
}

static void check_results(const struct game *g)
{
    for (uint32_t r = 0; r < g->f->n_results; r++) {
        const uint32_t value = g->f->results[r].value, node = g->f->values[value].node;
        uint32_t want = g->results[r];
        if (want == TP_NO_DEVICE && node != TP_NO_NODE) want = g->device[node];
        if (node == TP_NO_NODE && value < g->f->n_args && g->args[value] == want)
            want = TP_NO_DEVICE;
        ck_assert_uint_eq(g->partition->result_shard[r],
                          want == TP_NO_DEVICE ? UINT32_MAX : shard_of(g, want));
    }
    for (uint32_t s = 0; s < g->partition->n_shards; s++)
        for (uint32_t i = 0; i < g->partition->shards[s].n_results; i++) {
            const uint32_t r = g->partition->shards[s].results[i];
            ck_assert_uint_eq(g->partition->result_shard[r], s);
            ck_assert(i == 0 || r > g->partition->shards[s].results[i - 1]);
        }
}

/* --- memory spaces --- */

static bool stays(const struct game *g, uint32_t value, uint32_t shard)
{
    const struct tp_value *v = &g->f->values[value];
    const struct tp_node *node = v->node == TP_NO_NODE ? NULL : &g->f->nodes[v->node];
    return g->devices->list[g->partition->shards[shard].device].host ||
           v->type.dtype == TROUPE_I32 || v->type.dtype == TROUPE_I64 ||
           (node && tp_op_port(node->op->results, v->index)->flags & TP_HOST);
}

/* The shard reads the value, and by ports in host memory only. */
static bool only_host_ports(const struct game *g, uint32_t value, uint32_t s)
{
    const struct tp_shard *shard = &g->partition->shards[s];
    for (uint32_t i = 0; i < shard->n_results; i++)
        if (g->f->results[shard->results[i]].value == value) return false;
    for (uint32_t i = 0; i < shard->n_items; i++) {
        const struct tp_node *node = &g->f->nodes[shard->items[i].id];
        if (shard->items[i].kind != TP_ITEM_NODE) continue;
        for (uint32_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] == value && !(tp_op_port(node->op->inputs, k)->flags & TP_HOST))
                return false;
    }
    return true;
}

static void check_spaces(const struct game *g)
{
    for (uint32_t s = 0; s < g->partition->n_shards; s++) {
        const struct tp_shard *shard = &g->partition->shards[s];
        for (uint32_t i = 0; i < shard->n_args; i++) {
            const uint32_t arg = shard->args[i];
            ck_assert_int_eq(shard->args_host[i],
                             stays(g, arg, s) ||
                                 (g->args[arg] == TP_NO_DEVICE && only_host_ports(g, arg, s)));
        }
        for (uint32_t i = 0; i < shard->n_results; i++)
            ck_assert_int_eq(shard->results_host[i],
                             stays(g, g->f->results[shard->results[i]].value, s));
    }
    for (uint32_t e = 0; e < g->partition->n_edges; e++) {
        const struct tp_edge *edge = &g->partition->edges[e];
        ck_assert_int_eq(edge->host, edge->value == TP_NO_VALUE ||
                                         stays(g, edge->value, edge->from) ||
                                         stays(g, edge->value, edge->to) ||
                                         only_host_ports(g, edge->value, edge->to));
    }
}

START_TEST(nothing_crosses_twice_or_late_or_for_nothing)
{
    struct game g;
    game_begin(&g, (uint64_t)_i);
    for (uint32_t e = 0; e < g.partition->n_edges; e++) {
        check_edge(&g, e);
        check_order(&g, e);
    }
    for (uint32_t s = 0; s < g.partition->n_shards; s++) {
        ck_assert(s == 0 || g.partition->shards[s].device > g.partition->shards[s - 1].device);
        ck_assert(g.partition->shards[s].n_items + g.partition->shards[s].n_args +
                      g.partition->shards[s].n_results >
                  0);
        check_args(&g, s);
    }
    check_results(&g);
    check_spaces(&g);
    game_end(&g);
}
END_TEST

/* --- playing --- */

struct player {
    uint32_t at; /* the next item */
    bool has[MOST_VALUES];
    bool heard[MOST_NODES]; /* an edge said that the graph node has run */
};

struct play {
    struct game *g;
    struct player players[4];
    bool ran[MOST_NODES], sent[MOST_NODES * 8];
};

static void play_node(struct play *p, struct player *player, uint32_t shard, uint32_t id)
{
    const struct tp_node *node = &p->g->f->nodes[id];
    ck_assert_uint_eq(p->g->device[id], p->g->partition->shards[shard].device);
    ck_assert_msg(!p->ran[id], "'%s' runs twice", node->name);
    p->ran[id] = true;
    for (uint32_t k = 0; k < node->n_inputs; k++)
        ck_assert_msg(node->inputs[k] == TP_NO_VALUE || player->has[node->inputs[k]],
                      "'%s' lacks input %u", node->name, k);
    for (uint32_t k = 0; k < node->n_after; k++) {
        const uint32_t after = node->after[k];
        ck_assert_msg(p->ran[after], "'%s' is too early", node->name);
        ck_assert(p->g->device[after] == p->g->device[id] || player->heard[after]);
    }
    for (uint32_t k = 0; k < node->n_results; k++)
        if (node->results[k] != TP_NO_VALUE) player->has[node->results[k]] = true;
}

static void play_send(struct play *p, const struct player *player, uint32_t shard, uint32_t id)
{
    const struct tp_edge *edge = &p->g->partition->edges[id];
    ck_assert(edge->from == shard && !p->sent[id]);
    ck_assert(edge->value == TP_NO_VALUE ? p->ran[edge->node] : player->has[edge->value]);
    p->sent[id] = true;
}

/* False when it has to wait. */
static bool play_receive(struct play *p, struct player *player, uint32_t shard, uint32_t id)
{
    const struct tp_edge *edge = &p->g->partition->edges[id];
    ck_assert_uint_eq(edge->to, shard);
    if (!p->sent[id]) return false;
    if (edge->value != TP_NO_VALUE) player->has[edge->value] = true;
    if (edge->node != TP_NO_NODE) player->heard[edge->node] = true;
    return true;
}

/* The next item of the shard, if it need not wait. */
static bool play_one(struct play *p, uint32_t shard)
{
    struct player *player = &p->players[shard];
    const struct tp_shard *list = &p->g->partition->shards[shard];
    if (player->at == list->n_items) return false;
    const struct tp_item item = list->items[player->at];
    if (item.kind == TP_ITEM_NODE) play_node(p, player, shard, item.id);
    if (item.kind == TP_ITEM_SEND) play_send(p, player, shard, item.id);
    if (item.kind == TP_ITEM_RECV && !play_receive(p, player, shard, item.id)) return false;
    player->at++;
    return true;
}

static void deal(struct play *p)
{
    for (uint32_t s = 0; s < p->g->partition->n_shards; s++) {
        const struct tp_shard *shard = &p->g->partition->shards[s];
        for (uint32_t v = p->g->f->n_args; v < p->g->f->n_values; v++)
            p->players[s].has[v] = p->g->f->values[v].node == TP_NO_NODE;
        for (uint32_t i = 0; i < shard->n_args; i++)
            p->players[s].has[shard->args[i]] = true;
    }
}

/* Manner 0: the first shard that can go on; 1: the last; others: at random, in bursts or not.
 */
static void play(struct game *g, int manner)
{
    struct play p = {.g = g};
    const uint32_t n = g->partition->n_shards;
    uint32_t shard = 0;
    deal(&p);
    for (bool going = true; going;) {
        going = false;
        if (manner > 1 && (manner % 2 || below(g, 8) == 0) && n > 0) shard = below(g, n);
        for (uint32_t k = 0; k < n && !going; k++) {
            const uint32_t first = manner == 0 ? k : manner == 1 ? n - 1 - k : (shard + k) % n;
            going = play_one(&p, first);
        }
    }
    for (uint32_t s = 0; s < n; s++) {
        const struct tp_shard *list = &g->partition->shards[s];
        ck_assert_msg(p.players[s].at == list->n_items, "shard %u is stuck at item %u", s,
                      p.players[s].at);
        for (uint32_t i = 0; i < list->n_results; i++)
            ck_assert(p.players[s].has[g->f->results[list->results[i]].value]);
    }
    for (uint32_t i = 0; i < g->f->n_nodes; i++)
        ck_assert(p.ran[i]);
    for (uint32_t e = 0; e < g->partition->n_edges; e++)
        ck_assert(p.sent[e]);
}

START_TEST(shards_that_wait_for_each_other_end_in_every_order)
{
    struct game g;
    game_begin(&g, (uint64_t)_i);
    ck_assert_uint_le(g.partition->n_edges, MOST_NODES * 8);
    for (int manner = 0; manner < 12; manner++)
        play(&g, manner);
    game_end(&g);
}
END_TEST

START_TEST(each_shards_items_are_a_part_of_one_order_of_the_whole)
{
    struct game g;
    game_begin(&g, (uint64_t)_i);
    for (uint32_t s = 0; s < g.partition->n_shards; s++) {
        const struct tp_shard *shard = &g.partition->shards[s];
        int64_t last = -1;
        for (uint32_t i = 0; i < shard->n_items; i++) {
            if (shard->items[i].kind != TP_ITEM_NODE) continue;
            ck_assert_int_gt(shard->items[i].id, last);
            last = shard->items[i].id;
        }
    }
    game_end(&g);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/partition random");
    TCase *t = tcase_create("random");
    tcase_add_loop_test(t, nothing_crosses_twice_or_late_or_for_nothing, 0, SEEDS);
    tcase_add_loop_test(t, shards_that_wait_for_each_other_end_in_every_order, 0, SEEDS);
    tcase_add_loop_test(t, each_shards_items_are_a_part_of_one_order_of_the_whole, 0, SEEDS);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
