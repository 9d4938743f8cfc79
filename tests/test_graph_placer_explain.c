/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_placer_explain.c - reasons, explanations, relaxations; the same placement
 * again.
 */
#include "graph/placer.h"

#include <stdio.h>

#include "tests/place.h"
#include "tests/test.h"

static const struct place_node story[] = {
    {"in", "Any", "x", "cpu:1", NULL, NULL}, {"mid", "Cpu", "in", NULL, "in", NULL},
    {"out", "Any", "mid", NULL, NULL, NULL}, {"size", "Shape", "mid", NULL, NULL, NULL},
    {"gen", "Gen", NULL, NULL, NULL, NULL},  {"sum", "Any2", "gen in", "cpu:1", NULL, NULL},
    {"gpu", "Gpu", "x", NULL, NULL, NULL},   {"one", "Gpu", "x", "/job:a", NULL, NULL},
    {"odd", "Any", "x", "cpu:8", NULL, NULL}};

START_TEST(a_reason_is_a_sentence)
{
    static const char *const sentences[] = {
        "its annotation cpu:1",
        "placed with 'in'",
        "rule 1 of two.place: 'o?t' -> /device:cpu",
        "it reads only the shape of what 'mid' makes there",
        "it reads nothing, and all who read it are there: 'sum' for one",
        "its annotation cpu:1",
        "the only device type with a kernel for Gpu",
        "the only device with a kernel for Gpu that fits /job:a (its annotation)",
        "its annotation cpu:8, relaxed",
    };
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0", "cpu:0", "x", story, "out size sum gpu one odd");
    s.env.soft = true;
    scene_rules(&s, "o?t /device:cpu");
    ck_ok(scene_place(&s, &err));
    for (uint32_t i = 0; i < TP_COUNT(sentences); i++) {
        char *text = scene_reason(&s, i);
        ck_assert_str_eq(text, sentences[i]);
        tp_free(text);
    }
}
END_TEST

START_TEST(the_reasons_of_copies_shares_and_defaults_are_sentences_too)
{
    static const struct place_node nodes[] = {{"in", "Any", "x", "cpu:1", NULL, NULL},
                                              {"copy", "Identity", "in", NULL, NULL, NULL},
                                              {"out", "Any", "copy", "cpu:1", NULL, NULL},
                                              {"free", "Any", "x", NULL, NULL, NULL},
                                              {"likes", "LikesGpu", "x", NULL, NULL, NULL}};
    static const char *const sentences[] = {
        "its annotation cpu:1",
        "it copies what 'in' makes there for one that was asked for there",
        "its annotation cpu:1", "the default device of the call",
        "the best device with a kernel for LikesGpu"};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0", "cpu:0", "x", nodes, "out free likes");
    ck_ok(scene_place(&s, &err));
    for (uint32_t i = 0; i < TP_COUNT(sentences); i++) {
        char *text = scene_reason(&s, i);
        ck_assert_str_eq(text, sentences[i]);
        tp_free(text);
    }
    for (uint32_t i = 0; i < 5; i++)
        s.function->body->nodes[i].device = tp_name_none;
    s.function->body->nodes[4].op = s.function->body->nodes[3].op;
    s.env.cut = true;
    s.devices->list[2].priority = 0;
    ck_ok(scene_place(&s, &err));
    char *text = scene_reason(&s, 4);
    ck_assert_str_eq(text, "share 2 of 2 of the work, in order");
    tp_free(text);
}
END_TEST

static void check_story(const struct scene *s, const char *node, const char *want)
{
    troupe_error err;
    char *text = NULL;
    ck_ok(tp_place_explain(s->function->body, &s->env, s->placement,
                           place_find(s->function, node), &text, &err));
    ck_assert_str_eq(text, want);
    tp_free(text);
}

START_TEST(an_explanation_is_the_chain_of_rules_one_a_line)
{
    troupe_error err;
    char *text = NULL;
    SCENE(s, "cpu:0 cpu:1 gpu:0", "cpu:0", "x", story, "out size sum gpu one odd");
    s.env.soft = true;
    scene_rules(&s, "# two\nsum cpu:0\n");
    ck_ok(scene_place(&s, &err));
    check_story(&s, "mid",
                "graph node 'mid' (Cpu) is on cpu:1\n"
                "asked for: nothing\n"
                "placed with: 'in' (Any), which asked for cpu:1 (its annotation)\n"
                "has kernels on: cpu:0, cpu:1\n"
                "decided by: placed with 'in'\n");
    check_story(&s, "sum",
                "graph node 'sum' (Any2) is on cpu:0\n"
                "asked for: cpu:0\n"
                "by: rule 1 of two.place: 'sum' -> cpu:0, before its annotation cpu:1\n"
                "has kernels on: cpu:0, cpu:1, gpu:0\n"
                "decided by: rule 1 of two.place: 'sum' -> cpu:0\n");
    check_story(&s, "odd",
                "graph node 'odd' (Any) is on cpu:0\n"
                "asked for: cpu:8\n"
                "has kernels on: cpu:0, cpu:1, gpu:0\n"
                "decided by: its annotation cpu:8, relaxed\n");
    ck_fails(tp_place_explain(s.function->body, &s.env, s.placement, 9, &text, &err), INVALID,
             "9 of 9");
}
END_TEST

START_TEST(every_relaxation_is_listed_and_only_those)
{
    static const struct place_node nodes[] = {
        {"kept", "Any", "x", "cpu:1", NULL, NULL}, {"id", "Any", "x", "cpu:5", NULL, NULL},
        {"type", "Any", "x", "tpu:0", NULL, NULL}, {"kernel", "Cpu", "x", "gpu:0", NULL, NULL},
        {"free", "Any", "x", NULL, NULL, NULL},    {"apart", "Gpu", "x", NULL, "kernel", NULL}};
    static const char *const words[] = {
        "'apart' (Gpu) is not placed with 'kernel' (Cpu)", "'id' (Any) asked for cpu:5",
        "'type' (Any) asked for tpu:0", "'kernel' (Cpu) asked for gpu:0"};
    troupe_error err;
    char *text = NULL;
    SCENE(s, "cpu:0 cpu:1 gpu:0", "cpu:0", "x", nodes, "kept id type kernel free apart");
    s.env.soft = true;
    ck_ok(scene_place(&s, &err));
    ck_assert_uint_eq(s.placement->n_relaxations, TP_COUNT(words));
    for (size_t i = 0; i < TP_COUNT(words); i++)
        ck_assert_msg(strstr(s.placement->relaxations[i], words[i]) != NULL, "%s",
                      s.placement->relaxations[i]);
    for (uint32_t i = 0; i < TP_COUNT(nodes); i++)
        ck_assert_int_eq(s.placement->reason[i].relaxed, i >= 1 && i <= 3);
    ck_ok(tp_place_explain(s.function->body, &s.env, s.placement, 3, &text, &err));
    ck_assert(strstr(text, "relaxed: not placed with 'apart'\n") != NULL);
    tp_free(text);
}
END_TEST

/* --- at random --- */

#define RANDOM_NODES 40

struct random_nodes {
    struct place_node list[RANDOM_NODES];
    char names[RANDOM_NODES][8], inputs[RANDOM_NODES][32], with[RANDOM_NODES][8];
};

static const char *random_input(struct place_random *r, uint32_t before, char *text,
                                size_t size)
{
    const uint32_t from = place_below(r, before + 1);
    snprintf(text, size, from == before ? "x" : "n%u", from);
    return text;
}

/* Most ask for little, so that about as many seeds are placed as are refused. */
static void make_node(struct place_random *r, struct random_nodes *out, uint32_t i)
{
    static const char *const ops[] = {"Any",      "Any2",     "Cpu", "LikesCpu",
                                      "LikesGpu", "Identity", "Gen", "GenCpu"};
    static const char *const devices[] = {"cpu:0",   "cpu:1",   "gpu:0", "/device:cpu",
                                          "/task:0", "/task:1", "gpu:9", "fake:0"};
    char a[8], b[8];
    struct place_node *n = &out->list[i];
    *n = (struct place_node){.name = out->names[i], .op = ops[place_below(r, TP_COUNT(ops))]};
    snprintf(out->names[i], 8, "n%u", i);
    const bool gen = strncmp(n->op, "Gen", 3) == 0, two = strcmp(n->op, "Any2") == 0;
    snprintf(out->inputs[i], 32, "%s %s", gen ? "" : random_input(r, i, a, 8),
             two ? random_input(r, i, b, 8) : "");
    n->inputs = out->inputs[i];
    if (place_below(r, 8) == 0) n->device = devices[place_below(r, TP_COUNT(devices))];
    if (i == 0 || place_below(r, 6) != 0) return;
    snprintf(out->with[i], 8, "n%u", place_below(r, i));
    n->with = out->with[i];
}

static void check_node(const struct scene *s, uint32_t i)
{
    const struct tp_node *node = &s->function->body->nodes[i];
    const struct tp_name *name = &s->devices->list[s->placement->device[i]].name;
    const uint32_t group = s->placement->group[i];
    const bool kept = tp_name_fits(&node->device, name);
    ck_assert_msg(place_kernel(NULL, node->op, name->type) >= 0, "'%s' has no kernel",
                  node->name);
    ck_assert_int_eq(s->placement->reason[i].relaxed, !kept);
    ck_assert(kept || s->env.soft);
    ck_assert(group <= i && s->placement->group[group] == group);
    ck_assert_uint_eq(s->placement->device[i], s->placement->device[group]);
    for (uint32_t k = 0; k < node->n_with && !s->env.soft; k++)
        ck_assert_uint_eq(group, s->placement->group[node->with[k]]);
}

static void check_same(const struct tp_placement *a, const struct tp_placement *b)
{
    ck_assert_uint_eq(a->n_relaxations, b->n_relaxations);
    for (size_t i = 0; i < a->n_relaxations; i++)
        ck_assert_str_eq(a->relaxations[i], b->relaxations[i]);
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        ck_assert_uint_eq(a->device[i], b->device[i]);
        ck_assert_uint_eq(a->group[i], b->group[i]);
        ck_assert_int_eq(a->reason[i].why, b->reason[i].why);
        ck_assert_uint_eq(a->reason[i].detail, b->reason[i].detail);
    }
}

/* True when it was placed. */
static bool place_twice(struct scene *s)
{
    troupe_error err = {0}, again = {0};
    const troupe_status first = scene_place(s, &err);
    TP_OWNED(tp_placement_destroy) struct tp_placement *before = s->placement;
    s->placement = NULL;
    ck_assert_int_eq(scene_place(s, &again), first);
    if (first != TROUPE_OK) {
        ck_assert_str_eq(err.text, again.text);
        ck_assert_msg(first == TROUPE_INVALID || first == TROUPE_NOT_FOUND, "%s", err.text);
        return false;
    }
    check_same(before, s->placement);
    for (uint32_t i = 0; i < before->n_nodes; i++)
        check_node(s, i);
    return true;
}

START_TEST(the_same_input_gives_the_same_placement)
{
    int placed = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct place_random r = {seed};
        struct random_nodes nodes;
        for (uint32_t i = 0; i < RANDOM_NODES; i++)
            make_node(&r, &nodes, i);
        SCENE(s, "cpu:0 cpu:1 gpu:0 fake:0 /job:a/task:1/cpu:0", "/job:a/task:0/cpu:0", "x",
              nodes.list, "n39");
        s.env.soft = seed % 4 != 0;
        s.env.cut = seed % 3 == 0;
        placed += place_twice(&s);
    }
    ck_assert_msg(placed > 100 && placed < 490, "%d of 500 were placed", placed);
}
END_TEST

static troupe_status place_and_explain(struct scene *s, troupe_error *err)
{
    static const char rules[] = "in* cpu:1\nsize cpu:0 # there\n";
    char *text = NULL;
    s->env.rules = NULL;
    tp_rules_destroy(&s->rules);
    tp_placement_destroy(&s->placement);
    TP_TRY(tp_rules_read("two.place", rules, sizeof(rules) - 1, &s->rules, err));
    s->env.rules = s->rules;
    troupe_status status = scene_place(s, err);
    if (status == TROUPE_OK)
        status = tp_place_explain(s->function->body, &s->env, s->placement, 2, &text, err);
    tp_free(text);
    if (status == TROUPE_OK) return status;
    s->env.rules = NULL;
    tp_rules_destroy(&s->rules);
    tp_placement_destroy(&s->placement);
    return status;
}

START_TEST(a_placement_without_memory_says_so_and_leaks_nothing)
{
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0", "cpu:0", "x", story, "out size sum gpu one odd");
    s.env.soft = true;
    ck_starve(place_and_explain(&s, &err));
    ck_assert_uint_eq(s.placement->n_relaxations, 1);
    static const struct place_node plain[] = {{"a", "Any", "x", NULL, NULL, NULL},
                                              {"b", "Any", "a", NULL, NULL, NULL}};
    SCENE(t, "cpu:0 cpu:1", "cpu:0", "x", plain, "b");
    t.env.cut = true;
    ck_starve(scene_place(&t, &err));
    ck_assert_uint_eq(t.placement->device[1], 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/placer explain");
    TCase *t = tcase_create("explain");
    tcase_add_test(t, a_reason_is_a_sentence);
    tcase_add_test(t, the_reasons_of_copies_shares_and_defaults_are_sentences_too);
    tcase_add_test(t, an_explanation_is_the_chain_of_rules_one_a_line);
    tcase_add_test(t, every_relaxation_is_listed_and_only_those);
    tcase_add_test(t, the_same_input_gives_the_same_placement);
    tcase_add_test(t, a_placement_without_memory_says_so_and_leaks_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
