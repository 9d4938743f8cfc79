/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_partition.c - what each shard does, takes and gives, and what crosses.
 *
 * Partitions are compared as text, a shard a line: "cpu:0 (x y): >0 a <1 b = r" takes x and y,
 * sends edge 0, runs a, receives edge 1, runs b, and gives the result r.
 */
#include "graph/partition.h"

#include <stdio.h>

#include "tests/place.h"
#include "tests/test.h"

struct cut {
    struct scene scene;
    uint32_t args[8], results[8]; /* devices */
    struct tp_partition *partition;
};

static void cut_end(struct cut *c)
{
    tp_partition_destroy(&c->partition);
    scene_end(&c->scene);
}

static troupe_status cut_make(struct cut *c, troupe_error *err)
{
    tp_partition_destroy(&c->partition);
    const struct tp_place_env env = {
        .devices = c->scene.devices, .arg_devices = c->args, .result_devices = c->results};
    return tp_partition_make(c->scene.function->body, c->scene.placement, &env, &c->partition,
                             err);
}

/* places: "x=cpu:0 r=cpu:1", the devices of arguments and results, or NULL. */
static void set_places(struct cut *c, const char *places)
{
    const struct tp_function *f = c->scene.function->body;
    for (size_t i = 0; i < 8; i++)
        c->args[i] = c->results[i] = TP_NO_DEVICE;
    char text[128], *rest = text;
    snprintf(text, sizeof(text), "%s", places ? places : "");
    for (char *word; (word = strsep(&rest, " "));) {
        char *name = strsep(&word, "=");
        for (uint32_t i = 0; word && i < f->n_args; i++)
            if (strcmp(f->values[i].name, name) == 0)
                c->args[i] = place_device(c->scene.devices, word);
        for (uint32_t i = 0; word && i < f->n_results; i++)
            if (strcmp(f->results[i].name, name) == 0)
                c->results[i] = place_device(c->scene.devices, word);
    }
}

static struct cut cut_of(struct scene scene, const char *places)
{
    troupe_error err;
    struct cut c = {.scene = scene};
    set_places(&c, places);
    c.scene.env.arg_devices = c.args;
    c.scene.env.result_devices = c.results;
    ck_ok(scene_place(&c.scene, &err));
    ck_ok(cut_make(&c, &err));
    return c;
}
#define CUT(name, devices, args, nodes, results, places)                                       \
    TP_OWNED(cut_end)                                                                          \
    struct cut name =                                                                          \
        cut_of(scene_of(devices, "cpu:0", args, nodes, TP_COUNT(nodes), results), places)

static void add_names(const struct tp_function *f, const uint32_t *list, uint32_t n,
                      bool results, struct tp_text *out)
{
    for (uint32_t i = 0; i < n; i++)
        tp_text_add(out, "%s%s", i ? " " : "",
                    results ? f->results[list[i]].name : f->values[list[i]].name);
}

static void add_shard(const struct cut *c, const struct tp_shard *shard, struct tp_text *out)
{
    const struct tp_function *f = c->scene.function->body;
    const struct tp_name_text name = tp_name_text(&c->scene.devices->list[shard->device].name);
    tp_text_add(out, "%s (", strstr(name.text, "/device:") + 8);
    add_names(f, shard->args, shard->n_args, false, out);
    tp_text_add(out, "):");
    for (uint32_t i = 0; i < shard->n_items; i++)
        if (shard->items[i].kind == TP_ITEM_NODE)
            tp_text_add(out, " %s", f->nodes[shard->items[i].id].name);
        else
            tp_text_add(out, " %c%u", shard->items[i].kind == TP_ITEM_SEND ? '>' : '<',
                        shard->items[i].id);
    tp_text_add(out, " = ");
    add_names(f, shard->results, shard->n_results, true, out);
    tp_text_add(out, "\n");
}

static void check_text(const struct cut *c, const char *want)
{
    struct tp_text text = {0};
    for (uint32_t s = 0; s < c->partition->n_shards; s++)
        add_shard(c, &c->partition->shards[s], &text);
    ck_assert_str_eq(text.data ? text.data : "", want);
    tp_text_fini(&text);
}

static void check_edge(const struct cut *c, uint32_t id, const char *value, const char *node,
                       bool host)
{
    const struct tp_function *f = c->scene.function->body;
    const struct tp_edge *edge = &c->partition->edges[id];
    ck_assert_uint_lt(id, c->partition->n_edges);
    ck_assert_str_eq(edge->value == TP_NO_VALUE ? "-" : f->values[edge->value].name, value);
    ck_assert_str_eq(edge->node == TP_NO_NODE ? "-" : f->nodes[edge->node].name, node);
    ck_assert_int_eq(edge->host, host);
}

START_TEST(a_graph_node_without_a_device_is_refused)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", NULL, NULL, NULL},
                                              {"b", "Any", "a", NULL, NULL, NULL}};
    troupe_error err;
    CUT(c, "cpu:0 cpu:1", "x", nodes, "b", NULL);
    struct tp_partition *before = c.partition;
    c.partition = NULL;
    c.scene.placement->device[1] = TP_NO_DEVICE;
    ck_fails(cut_make(&c, &err), INVALID, "graph node 'b' has no device");
    c.scene.placement->device[1] = 2;
    ck_fails(cut_make(&c, &err), INVALID, "graph node 'b' has no device");
    c.scene.placement->device[1] = 1;
    c.args[0] = 2;
    ck_fails(cut_make(&c, &err), INVALID, "argument 0 is on device 2 of 2");
    c.args[0] = 0;
    c.results[0] = 7;
    ck_fails(cut_make(&c, &err), INVALID, "result 0 is on device 7 of 2");
    c.results[0] = 0;
    c.scene.placement->n_nodes = 1;
    ck_fails(cut_make(&c, &err), INVALID, "2 graph nodes, its placement 1");
    ck_assert_ptr_null(c.partition);
    c.partition = before;
}
END_TEST

START_TEST(one_device_makes_one_shard_without_edges)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", NULL, NULL, NULL},
                                              {"b", "Any2", "a y", NULL, NULL, NULL},
                                              {"c", "Any", "a", NULL, NULL, "b"}};
    CUT(c, "cpu:0 cpu:1", "x y", nodes, "c b", NULL);
    check_text(&c, "cpu:0 (x y): a b c = c b\n");
    ck_assert_uint_eq(c.partition->n_edges, 0);
    ck_assert_uint_eq(c.partition->result_shard[0], 0);
}
END_TEST

START_TEST(arguments_returned_under_each_others_index_stay_on_their_devices)
{
    static const struct place_node nodes[] = {{"i0", "Identity", "x", "cpu:0", NULL, NULL},
                                              {"i1", "Identity", "y", "cpu:1", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1", "x y", nodes, "r0=i1 r1=i0", "x=cpu:0 y=cpu:1 r0=cpu:1 r1=cpu:0");
    check_text(&c, "cpu:0 (x): i0 = r1\ncpu:1 (y): i1 = r0\n");
    ck_assert_uint_eq(c.partition->n_edges, 0);
    ck_assert_uint_eq(c.partition->result_shard[0], 1);
    ck_assert_uint_eq(c.partition->result_shard[1], 0);
}
END_TEST

START_TEST(an_argument_crosses_to_its_reader_and_the_result_back)
{
    static const struct place_node away[] = {{"copy", "Identity", "x", "cpu:1", NULL, NULL}};
    static const struct place_node home[] = {{"copy", "Identity", "x", "cpu:0", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1", "x", away, "r=copy", "x=cpu:0 r=cpu:0");
    check_text(&c, "cpu:0 (x): >1 <0 = r\ncpu:1 (): <1 copy >0 = \n");
    check_edge(&c, 0, "copy", "copy", true);
    check_edge(&c, 1, "x", "-", true);
    CUT(d, "cpu:0 cpu:1", "x", home, "r=copy", "x=cpu:0 r=cpu:0");
    check_text(&d, "cpu:0 (x): copy = r\n");
}
END_TEST

START_TEST(an_order_across_devices_is_an_edge_without_a_value)
{
    static const struct place_node nodes[] = {{"first", "Effect", "x", "cpu:0", NULL, NULL},
                                              {"then", "Any", "x", "cpu:1", NULL, "first"}};
    CUT(c, "cpu:0 cpu:1", "x", nodes, "then", NULL);
    check_text(&c, "cpu:0 (x): first >0 = \ncpu:1 (x): <0 then = then\n");
    check_edge(&c, 0, "-", "first", true);
    ck_assert(c.partition->shards[0].stateful);
    ck_assert(!c.partition->shards[1].stateful);
}
END_TEST

START_TEST(a_value_that_several_need_on_a_device_crosses_once)
{
    static const struct place_node nodes[] = {{"a", "Pair", "x", "cpu:0", NULL, NULL},
                                              {"b", "Any", "a", "cpu:1", NULL, NULL},
                                              {"c", "Any2", "a a", "cpu:1", NULL, NULL},
                                              {"d", "Any", "a", "cpu:2", NULL, NULL},
                                              {"e", "Any", "a:1", "cpu:1", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1 cpu:2", "x", nodes, "b c d e r=a", "r=cpu:2");
    check_text(&c, "cpu:0 (x): a >0 >1 >2 = \n"
                   "cpu:1 (): <0 b c <1 e = b c e\n"
                   "cpu:2 (): <2 d = d r\n");
    check_edge(&c, 0, "a", "a", true);
    check_edge(&c, 1, "a:1", "a", true);
}
END_TEST

START_TEST(two_orders_from_one_graph_node_to_one_device_are_one_edge)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "cpu:0", NULL, NULL},
                                              {"b", "Any", "x", "cpu:1", NULL, "a"},
                                              {"c", "Any", "x", "cpu:1", NULL, "a"},
                                              {"d", "Any", "x", "cpu:2", NULL, "a"}};
    CUT(c, "cpu:0 cpu:1 cpu:2", "x", nodes, "a b c d", NULL);
    check_text(&c, "cpu:0 (x): a >0 >1 = a\n"
                   "cpu:1 (x): <0 b c = b c\n"
                   "cpu:2 (x): <1 d = d\n");
}
END_TEST

START_TEST(an_order_is_left_out_where_a_value_of_the_same_graph_node_has_come)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "cpu:0", NULL, NULL},
                                              {"b", "Any", "a", "cpu:1", NULL, "a"},
                                              {"c", "Any", "x", "cpu:1", NULL, "a"}};
    static const struct place_node late[] = {{"a", "Any", "x", "cpu:0", NULL, NULL},
                                             {"b", "Any", "x", "cpu:1", NULL, "a"},
                                             {"c", "Any", "a", "cpu:1", NULL, "a"}};
    CUT(c, "cpu:0 cpu:1", "x", nodes, "b c", NULL);
    check_text(&c, "cpu:0 (x): a >0 = \ncpu:1 (x): <0 b c = b c\n");
    CUT(d, "cpu:0 cpu:1", "x", late, "b c", NULL);
    check_text(&d, "cpu:0 (x): a >0 >1 = \ncpu:1 (x): <0 b <1 c = b c\n");
    check_edge(&d, 0, "-", "a", true);
    check_edge(&d, 1, "a", "a", true);
}
END_TEST

START_TEST(a_missing_input_is_refused_when_the_function_is_built)
{
    static const struct place_node nodes[] = {{"a", "Any2", "x gone", NULL, NULL, NULL}};
    troupe_error err;
    troupe_function *f = NULL;
    ck_fails(place_build("x", nodes, 1, "a", &f, &err), INVALID, "input 1");
    ck_assert_ptr_null(f);
}
END_TEST

START_TEST(a_shard_has_only_what_its_device_runs_and_the_arguments_of_that)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "cpu:0", NULL, NULL},
                                              {"b", "Any", "y", "cpu:1", NULL, NULL},
                                              {"c", "Any2", "#f32 y", "cpu:2", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1 cpu:2 cpu:3", "x unused y", nodes, "a b c", NULL);
    check_text(&c, "cpu:0 (x): a = a\ncpu:1 (y): b = b\ncpu:2 (y): c = c\n");
}
END_TEST

START_TEST(both_ends_of_an_edge_lead_to_a_device_and_its_incarnation)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "cpu:1", NULL, NULL},
                                              {"b", "Any", "a", "cpu:2", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1 cpu:2", "x", nodes, "b", NULL);
    const struct tp_edge *edge = &c.partition->edges[0];
    const struct tp_device_entry *list = c.scene.devices->list;
    const uint32_t from = c.partition->shards[edge->from].device;
    const uint32_t to = c.partition->shards[edge->to].device;
    ck_assert_uint_eq(from, 1);
    ck_assert_uint_eq(to, 2);
    ck_assert(list[from].incarnation != 0 && list[to].incarnation != 0);
    ck_assert(list[from].incarnation != list[to].incarnation);
}
END_TEST

START_TEST(an_item_leads_to_the_name_and_the_line_of_its_graph_node)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "cpu:1", NULL, NULL},
                                              {"b", "Any", "a", "cpu:0", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1", "x", nodes, "b", NULL);
    const struct tp_item item = c.partition->shards[1].items[0];
    ck_assert_int_eq(item.kind, TP_ITEM_NODE);
    ck_assert_str_eq(c.scene.function->body->nodes[item.id].name, "a");
    ck_assert_uint_eq(c.scene.function->body->nodes[item.id].line, 10);
}
END_TEST

START_TEST(one_argument_and_one_result_of_many_are_renumbered_and_remembered)
{
    static const struct place_node nodes[] = {{"a", "Any2", "x0 x1", "cpu:0", NULL, NULL},
                                              {"b", "Any", "x3", "cpu:1", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1", "x0 x1 x2 x3 x4", nodes, "r0=a r1=a r2=a r3=a r4=a r5=b", NULL);
    const struct tp_shard *shard = &c.partition->shards[1];
    ck_assert_uint_eq(shard->n_args, 1);
    ck_assert_uint_eq(shard->args[0], 3);
    ck_assert_uint_eq(shard->n_results, 1);
    ck_assert_uint_eq(shard->results[0], 5);
}
END_TEST

START_TEST(arguments_are_mapped_in_their_order_not_in_that_of_their_use)
{
    static const struct place_node nodes[] = {{"a", "Any", "x7", "cpu:1", NULL, NULL},
                                              {"b", "Any2", "x5 x3", "cpu:1", NULL, NULL},
                                              {"c", "Any2", "x1 x7", "cpu:1", NULL, NULL},
                                              {"d", "Any2", "x6 x0", "cpu:0", NULL, NULL},
                                              {"e", "Any", "x2", "cpu:1", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1", "x0 x1 x2 x3 x4 x5 x6 x7", nodes, "r3=d r0=e r1=c r2=a q=b",
        "x2=cpu:1 x6=cpu:1");
    check_text(&c, "cpu:0 (x0): <0 d = r3\n"
                   "cpu:1 (x1 x2 x3 x5 x6 x7): >0 a b c e = r0 r1 r2 q\n");
}
END_TEST

START_TEST(shapes_and_strings_are_in_host_memory_and_floats_in_the_devices_own)
{
    static const struct place_node nodes[] = {
        {"f", "Any", "x", "gpu:0", NULL, NULL}, {"i", "Any", "n", "gpu:0", NULL, NULL},
        {"l", "Any", "m", "gpu:0", NULL, NULL}, {"t", "Any", "s", "gpu:0", NULL, NULL},
        {"b", "Any", "u", "gpu:0", NULL, NULL}, {"size", "Shape", "x", "gpu:0", NULL, NULL},
        {"w", "Any", "x", "cpu:0", NULL, NULL}};
    static const bool args[] = {false, true, true, true, false};
    static const bool results[] = {false, true, true, true, false, true};
    CUT(c, "cpu:0 gpu:0", "x n:i32 m:i64 s:string u:u8", nodes, "f i l t b size w", NULL);
    const struct tp_shard *cpu = &c.partition->shards[0], *gpu = &c.partition->shards[1];
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(gpu->args_host[i], args[i]);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(gpu->results_host[i], results[i]);
    ck_assert(cpu->args_host[0] && cpu->results_host[0]);
}
END_TEST

START_TEST(what_only_host_ports_read_is_in_host_memory)
{
    static const struct place_node nodes[] = {
        {"a", "Scale", "x y", "gpu:0", NULL, NULL}, {"a2", "Scale", "x y", "gpu:0", NULL, NULL},
        {"b", "Scale", "x z", "gpu:0", NULL, NULL}, {"c", "Any", "z", "gpu:0", NULL, NULL},
        {"d", "Gpu", "x", "gpu:1", NULL, NULL},     {"e", "Scale", "d d", "gpu:0", NULL, NULL},
        {"f", "Gpu", "x", "gpu:1", NULL, NULL},     {"g", "Scale", "c f", "gpu:0", NULL, NULL},
        {"h", "Scale", "e f", "gpu:0", NULL, NULL}, {"s", "Shape", "x", "gpu:1", NULL, NULL},
        {"t", "Any", "s", "gpu:0", NULL, NULL},     {"u", "Any", "h", "cpu:0", NULL, NULL}};
    CUT(c, "cpu:0 gpu:0 gpu:1", "x y z", nodes, "a b g t u", NULL);
    check_text(&c, "cpu:0 (): <0 u = u\n"
                   "gpu:0 (x y z): a a2 b c <1 e <2 g h >0 <3 t = a b g t\n"
                   "gpu:1 (x): d >1 f >2 s >3 = \n");
    const bool *host = c.partition->shards[1].args_host;
    ck_assert(!host[0] && host[1] && !host[2]);
    check_edge(&c, 0, "h", "h", true);
    check_edge(&c, 1, "d", "d", false);
    check_edge(&c, 2, "f", "f", true);
    check_edge(&c, 3, "s", "s", true);
}
END_TEST

START_TEST(arguments_and_constants_that_nobody_touches_go_through_no_shard)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "cpu:0", NULL, NULL}};
    CUT(c, "cpu:0 cpu:1 cpu:2", "x y z w", nodes, "a r1=y r2=z r3=#f32 r4=#f32 r5=w",
        "z=cpu:1 r2=cpu:1 r4=cpu:2 w=cpu:1 r5=cpu:2");
    check_text(&c, "cpu:0 (x): a = a\ncpu:1 (w): >0 = \ncpu:2 (): <0 = r4 r5\n");
    static const uint32_t shards[] = {0, UINT32_MAX, UINT32_MAX, UINT32_MAX, 2, 2};
    for (int i = 0; i < 6; i++)
        ck_assert_uint_eq(c.partition->result_shard[i], shards[i]);
}
END_TEST

START_TEST(a_swap_without_graph_nodes_gives_each_value_on_the_device_that_was_asked_for)
{
    TP_OWNED(cut_end)
    struct cut c = cut_of(scene_of("cpu:0 cpu:1", "cpu:0", "x y", NULL, 0, "a=y b=x"),
                          "x=cpu:0 y=cpu:1 a=cpu:0 "
                          "b=cpu:1");
    check_text(&c, "cpu:0 (x): >1 <0 = a\ncpu:1 (y): >0 <1 = b\n");
    TP_OWNED(cut_end)
    struct cut d = cut_of(scene_of("cpu:0 cpu:1", "cpu:0", "x", NULL, 0, "a=x b=x"), NULL);
    check_text(&d, "");
    ck_assert_uint_eq(d.partition->n_shards, 0);
    TP_OWNED(cut_end) struct cut e = cut_of(scene_of("cpu:0", NULL, "", NULL, 0, ""), NULL);
    check_text(&e, "");
}
END_TEST

static void check_equal(const struct tp_partition *a, const struct tp_partition *b)
{
    ck_assert_uint_eq(a->n_shards, b->n_shards);
    ck_assert_uint_eq(a->n_edges, b->n_edges);
    for (uint32_t s = 0; s < a->n_shards; s++) {
        const struct tp_shard *left = &a->shards[s], *right = &b->shards[s];
        ck_assert_uint_eq(left->n_args, right->n_args);
        ck_assert_uint_eq(left->n_results, right->n_results);
        ck_assert_uint_eq(left->n_items, right->n_items);
        ck_assert_mem_eq(left->args, right->args, left->n_args * sizeof(left->args[0]));
        ck_assert_mem_eq(left->args_host, right->args_host, left->n_args);
        ck_assert_mem_eq(left->results, right->results,
                         left->n_results * sizeof(left->args[0]));
        ck_assert_mem_eq(left->results_host, right->results_host, left->n_results);
        for (uint32_t i = 0; i < left->n_items; i++)
            ck_assert(left->items[i].kind == right->items[i].kind &&
                      left->items[i].id == right->items[i].id);
    }
}

START_TEST(partitioning_again_gives_the_same_maps_and_flags)
{
    static const struct place_node nodes[] = {{"a", "Any2", "x2 x0", "gpu:0", NULL, NULL},
                                              {"b", "Any2", "x1 a", "cpu:1", NULL, NULL},
                                              {"c", "Any", "n", "gpu:0", NULL, "b"}};
    troupe_error err;
    CUT(c, "cpu:0 cpu:1 gpu:0", "x0 x1 x2 n:i32", nodes, "c b a", "x1=gpu:0 a=cpu:0");
    struct tp_partition *first = c.partition;
    for (int i = 0; i < 3; i++) {
        c.partition = NULL;
        ck_ok(cut_make(&c, &err));
        check_equal(first, c.partition);
        tp_partition_destroy(&c.partition);
    }
    c.partition = first;
}
END_TEST

START_TEST(a_partition_without_memory_says_so_and_leaks_nothing)
{
    static const struct place_node nodes[] = {{"a", "Any2", "x2 x0", "gpu:0", NULL, NULL},
                                              {"b", "Any2", "x1 a", "cpu:1", NULL, NULL},
                                              {"c", "Any", "n", "gpu:0", NULL, "b"}};
    troupe_error err;
    CUT(c, "cpu:0 cpu:1 gpu:0", "x0 x1 x2 n:i32", nodes, "c b a", "x1=gpu:0 a=cpu:0");
    tp_partition_destroy(&c.partition);
    ck_starve(cut_make(&c, &err));
    ck_assert_uint_eq(c.partition->n_shards, 3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/partition");
    TCase *t = tcase_create("partition");
    tcase_add_test(t, a_graph_node_without_a_device_is_refused);
    tcase_add_test(t, one_device_makes_one_shard_without_edges);
    tcase_add_test(t, arguments_returned_under_each_others_index_stay_on_their_devices);
    tcase_add_test(t, an_argument_crosses_to_its_reader_and_the_result_back);
    tcase_add_test(t, an_order_across_devices_is_an_edge_without_a_value);
    tcase_add_test(t, a_value_that_several_need_on_a_device_crosses_once);
    tcase_add_test(t, two_orders_from_one_graph_node_to_one_device_are_one_edge);
    tcase_add_test(t, an_order_is_left_out_where_a_value_of_the_same_graph_node_has_come);
    tcase_add_test(t, a_missing_input_is_refused_when_the_function_is_built);
    tcase_add_test(t, a_shard_has_only_what_its_device_runs_and_the_arguments_of_that);
    tcase_add_test(t, both_ends_of_an_edge_lead_to_a_device_and_its_incarnation);
    tcase_add_test(t, an_item_leads_to_the_name_and_the_line_of_its_graph_node);
    tcase_add_test(t, one_argument_and_one_result_of_many_are_renumbered_and_remembered);
    tcase_add_test(t, arguments_are_mapped_in_their_order_not_in_that_of_their_use);
    tcase_add_test(t, shapes_and_strings_are_in_host_memory_and_floats_in_the_devices_own);
    tcase_add_test(t, what_only_host_ports_read_is_in_host_memory);
    tcase_add_test(t, arguments_and_constants_that_nobody_touches_go_through_no_shard);
    tcase_add_test(
        t, a_swap_without_graph_nodes_gives_each_value_on_the_device_that_was_asked_for);
    tcase_add_test(t, partitioning_again_gives_the_same_maps_and_flags);
    tcase_add_test(t, a_partition_without_memory_says_so_and_leaks_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
