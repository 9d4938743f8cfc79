/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_colocate.c - what is placed together: layers of groups, and groups in
 * functions.
 *
 * No op makes a handle yet, so what handles do to groups is tested on groups alone.
 */
#include "graph/colocate.h"

#include <stdio.h>

#include "graph/function.h"
#include "tests/place.h"
#include "tests/test.h"

struct layers {
    struct tp_arena *arena;
    struct tp_candidates candidates;
    struct tp_groups groups;
    struct tp_devices *devices;
    struct tp_place_env env;
};

static void layers_begin(struct layers *l, uint32_t n)
{
    troupe_error err;
    *l = (struct layers){.devices = place_devices("cpu:0 cpu:1 gpu:0")};
    l->env = (struct tp_place_env){
        .devices = l->devices, .default_device = TP_NO_DEVICE, .kernel = place_kernel};
    ck_ok(tp_arena_new(&l->arena, &err));
    ck_ok(tp_candidates_init(&l->candidates, &l->env, l->arena, &err));
    ck_ok(tp_groups_init(&l->groups, &l->candidates, l->arena, n, &err));
    for (uint32_t i = 0; i < n; i++)
        ck_ok(tp_support_of(&l->candidates.support, tp_op_find("Any"), &l->groups.list[i].row,
                            &err));
}

static void layers_end(struct layers *l)
{
    tp_candidates_fini(&l->candidates);
    tp_arena_destroy(&l->arena);
    tp_devices_release(&l->devices);
}

static void layers_say(struct layers *l, uint32_t node, enum tp_layer layer, const char *device)
{
    troupe_error err;
    struct tp_name name;
    ck_ok(tp_name_parse(device, &name, &err));
    ck_ok(tp_candidates_wish(&l->candidates, &name, &l->groups.list[node].wish[layer], &err));
    l->groups.list[node].by[layer] = node;
}

static const char *layers_hear(struct layers *l, uint32_t node, uint32_t *by, char text[64])
{
    troupe_error err;
    uint32_t wish;
    ck_ok(tp_groups_wish(&l->groups, tp_groups_root(&l->groups, node), &wish, by, &err));
    tp_name_show(tp_candidates_name(&l->candidates, wish), text, 64);
    return text;
}

START_TEST(what_is_assigned_beats_a_handle_and_a_handle_beats_a_request)
{
    troupe_error err;
    char text[64];
    uint32_t by;
    struct tp_conflict conflict;
    struct layers l;
    layers_begin(&l, 4);
    layers_say(&l, 3, TP_LAYER_REQUESTED, "/job:a/gpu:0");
    ck_assert_str_eq(layers_hear(&l, 3, &by, text), "/job:a/device:gpu:0");
    layers_say(&l, 2, TP_LAYER_RESOURCE, "cpu:1");
    ck_ok(tp_groups_join(&l.groups, 2, 3, TP_JOIN_HANDLE, &conflict, &err));
    ck_assert(!conflict.found);
    ck_assert_str_eq(layers_hear(&l, 3, &by, text), "/device:cpu:1");
    ck_assert_uint_eq(by, 2);
    layers_say(&l, 1, TP_LAYER_ASSIGNED, "cpu:0");
    ck_ok(tp_groups_join(&l.groups, 3, 1, TP_JOIN_WITH, &conflict, &err));
    ck_assert(!conflict.found);
    ck_assert_str_eq(layers_hear(&l, 2, &by, text), "/device:cpu:0");
    ck_assert_uint_eq(by, 1);
    layers_say(&l, 0, TP_LAYER_REQUESTED, "/task:0");
    ck_ok(tp_groups_join(&l.groups, 0, 1, TP_JOIN_HANDLE, &conflict, &err));
    ck_assert_str_eq(layers_hear(&l, 0, &by, text), "/device:cpu:0");
    layers_end(&l);
}
END_TEST

START_TEST(groups_that_contradict_each_other_in_a_layer_stay_apart)
{
    static const struct {
        enum tp_layer layer;
        enum tp_join join;
        bool conflict;
    } rows[] = {
        {TP_LAYER_ASSIGNED, TP_JOIN_WITH, true},  {TP_LAYER_ASSIGNED, TP_JOIN_HANDLE, true},
        {TP_LAYER_RESOURCE, TP_JOIN_WITH, true},  {TP_LAYER_RESOURCE, TP_JOIN_HANDLE, true},
        {TP_LAYER_REQUESTED, TP_JOIN_WITH, true}, {TP_LAYER_REQUESTED, TP_JOIN_HANDLE, false}};
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        struct tp_conflict conflict;
        char text[64];
        struct layers l;
        layers_begin(&l, 4);
        layers_say(&l, 0, rows[i].layer, "cpu:0");
        layers_say(&l, 2, rows[i].layer, "cpu:1");
        ck_ok(tp_groups_join(&l.groups, 2, 3, TP_JOIN_WITH, &conflict, &err));
        ck_ok(tp_groups_join(&l.groups, 0, 1, TP_JOIN_WITH, &conflict, &err));
        ck_ok(tp_groups_join(&l.groups, 1, 3, rows[i].join, &conflict, &err));
        ck_assert_int_eq(conflict.found, rows[i].conflict);
        ck_assert_str_eq(layers_hear(&l, 1, NULL, text), "/device:cpu:0");
        ck_assert_str_eq(layers_hear(&l, 3, NULL, text),
                         conflict.found ? "/device:cpu:1" : "/device:cpu:0");
        if (conflict.found) {
            ck_assert(!conflict.types && conflict.layer == rows[i].layer);
            ck_assert_uint_eq(conflict.a + conflict.b, 0 + 2);
        }
        ck_assert_uint_eq(tp_groups_root(&l.groups, 3), conflict.found ? 2 : 0);
        layers_end(&l);
    }
}
END_TEST

START_TEST(placed_with_means_one_device_by_one_group_by_two_and_by_chain)
{
    static const struct place_node nodes[] = {
        {"a", "Any", "x", "gpu:1", NULL, NULL}, {"b", "Any", "a", NULL, "a", NULL},
        {"c", "Any", "b", NULL, "b", NULL},     {"d", "Any", "x", NULL, NULL, NULL},
        {"e", "Any", "x", NULL, "d c", NULL},   {"f", "Any", "x", NULL, NULL, NULL},
        {"g", "Any", "f", NULL, "f", NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0 gpu:1", "cpu:0", "x", nodes, "c d e g");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "a", "gpu:1", TP_WHY_ANNOTATION);
    for (const char *name = "b\0c\0d\0e\0"; *name; name += 2) {
        scene_check(&s, name, "gpu:1", TP_WHY_WITH);
        scene_check_detail(&s, name, "a");
    }
    scene_check(&s, "f", "cpu:0", TP_WHY_DEFAULT);
    scene_check(&s, "g", "cpu:0", TP_WHY_WITH);
    for (uint32_t i = 0; i < 7; i++)
        ck_assert_uint_eq(s.placement->group[i], i < 5 ? 0 : 5);
}
END_TEST

START_TEST(a_group_runs_on_the_types_that_all_of_it_has_kernels_for)
{
    static const char *const ops[] = {"Any", "Cpu", "Gpu"};
    troupe_error err;
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++) {
            const struct place_node nodes[] = {{"a", ops[a], "x", NULL, NULL, NULL},
                                               {"b", ops[b], "a", NULL, "a", NULL}};
            SCENE(s, "cpu:0 gpu:0", NULL, "x", nodes, "b");
            if (a * b == 2) {
                ck_fails(scene_place(&s, &err), INVALID, "no device type has kernels for both");
                continue;
            }
            const char *want = a == 1 || b == 1 ? "cpu:0" : "gpu:0";
            ck_ok(scene_place(&s, &err));
            ck_assert_uint_eq(s.placement->device[0], place_device(s.devices, want));
            ck_assert_uint_eq(s.placement->device[1], s.placement->device[0]);
        }
}
END_TEST

START_TEST(members_without_a_common_type_are_both_named_or_softly_set_apart)
{
    static const struct place_node nodes[] = {{"c", "Cpu", "x", NULL, NULL, NULL},
                                              {"also", "Any", "x", NULL, "c", NULL},
                                              {"g", "Gpu", "x", NULL, "also", NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0", NULL, "x", nodes, "c also g");
    ck_fails(scene_place(&s, &err), INVALID, "'g' (Gpu) cannot be placed with 'also' (Any)");
    ck_assert(strstr(err.text, "Gpu: gpu") != NULL);
    s.env.soft = true;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "c", "cpu:0", TP_WHY_ONLY);
    scene_check(&s, "also", "cpu:0", TP_WHY_WITH);
    scene_check(&s, "g", "gpu:0", TP_WHY_ONLY);
    ck_assert_uint_eq(s.placement->n_relaxations, 1);
    ck_assert(strstr(s.placement->relaxations[0], "'g' (Gpu) is not placed with 'also' (Any)"));
}
END_TEST

START_TEST(members_that_ask_for_different_devices_are_both_named_or_softly_set_apart)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "cpu:0", NULL, NULL},
                                              {"b", "Any", "x", NULL, "a", NULL},
                                              {"c", "Any", "x", "cpu:1", "b", NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x", nodes, "a b c");
    scene_rules(&s, "c cpu:1\n");
    ck_fails(scene_place(&s, &err), INVALID, "'c' (Any) cannot be placed with 'b' (Any)");
    ck_assert(strstr(err.text, "'a' asks for cpu:0 (its annotation)") != NULL);
    ck_assert(strstr(err.text, "'c' asks for cpu:1 (rule 1 of two.place: 'c')") != NULL);
    s.env.soft = true;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "a", "cpu:0", TP_WHY_ANNOTATION);
    scene_check(&s, "b", "cpu:0", TP_WHY_WITH);
    scene_check(&s, "c", "cpu:1", TP_WHY_RULE);
    ck_assert_uint_eq(s.placement->n_relaxations, 1);
    ck_assert(!s.placement->reason[2].relaxed);
}
END_TEST

START_TEST(partial_wishes_of_a_group_add_up)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "/job:a/task:1", NULL, NULL},
                                              {"b", "Any", "x", "/device:cpu", "a", NULL},
                                              {"c", "Any", "x", "/device:*:1", "b", NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 /job:a/task:1/cpu:0 /job:a/task:1/cpu:1 /job:a/task:1/gpu:1",
          "/job:a/task:0/cpu:0", "x", nodes, "a b c");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "a", "/job:a/task:1/cpu:1", TP_WHY_ANNOTATION);
    scene_check(&s, "c", "/job:a/task:1/cpu:1", TP_WHY_ANNOTATION);
}
END_TEST

START_TEST(a_hundred_pairs_in_overlapping_groups_keep_every_constraint)
{
    struct place_node nodes[200];
    static char names[200][8], with[200][16];
    troupe_error err;
    for (int i = 0; i < 200; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", i);
        snprintf(with[i], sizeof(with[i]), i < 100 ? "n%d" : "n%d n%d",
                 i < 100 ? i - 6 : i - 100, i - 3);
        nodes[i] = (struct place_node){names[i],
                                       i % 2 ? "Any" : "Cpu",
                                       "x",
                                       NULL,
                                       i < 6 || (i >= 100 && i < 103) ? NULL : with[i],
                                       NULL};
    }
    nodes[4].device = "cpu:1";
    SCENE(s, "cpu:0 cpu:1 gpu:0", "cpu:0", "x", nodes, "n199");
    ck_ok(scene_place(&s, &err));
    for (uint32_t i = 0; i < 200; i++)
        for (uint32_t k = 0; k < s.function->body->nodes[i].n_with; k++)
            ck_assert_uint_eq(s.placement->device[i],
                              s.placement->device[s.function->body->nodes[i].with[k]]);
    ck_assert_uint_eq(s.placement->device[199], s.placement->device[196]);
    scene_check(&s, "n4", "cpu:1", TP_WHY_ANNOTATION);
    scene_check(&s, "n10", "cpu:1", TP_WHY_WITH);
}
END_TEST

START_TEST(a_group_forced_to_a_task_without_a_members_type_is_refused_with_ops_and_types)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "/job:a/task:1", NULL, NULL},
                                              {"g", "Gpu", "x", NULL, "a", NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0 /job:a/task:1/cpu:0", "/job:a/task:0/cpu:0", "x", nodes, "a g");
    for (int soft = 0; soft < 2; soft++) {
        s.env.soft = soft;
        ck_fails(scene_place(&s, &err), INVALID,
                 "'a' (Any: gpu cpu opencl fake) and 'g' (Gpu: gpu)");
        ck_assert(strstr(err.text, "/job:a/task:1 (its annotation) was asked for") != NULL);
    }
}
END_TEST

START_TEST(a_group_whose_wishes_together_fit_no_device_is_refused)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", "/job:a/task:1", NULL, NULL},
                                              {"b", "Any", "x", "/device:gpu", "a", NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0 /job:a/task:1/cpu:0", "/job:a/task:0/cpu:0", "x", nodes, "a b");
    ck_fails(scene_place(&s, &err), INVALID,
             "/job:a/task:1/device:gpu was asked for: no device fits");
    s.env.soft = true;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "a", "/job:a/task:1/cpu:0", TP_WHY_ONLY);
    scene_check(&s, "b", "/job:a/task:1/cpu:0", TP_WHY_ANNOTATION);
    ck_assert_uint_eq(s.placement->n_relaxations, 1);
    ck_assert(strstr(s.placement->relaxations[0], "'b' (Any) asked for /device:gpu"));
    ck_assert(strstr(s.placement->relaxations[0], "what it is placed with cannot be there"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/colocate");
    TCase *t = tcase_create("colocate");
    tcase_add_test(t, what_is_assigned_beats_a_handle_and_a_handle_beats_a_request);
    tcase_add_test(t, groups_that_contradict_each_other_in_a_layer_stay_apart);
    tcase_add_test(t, placed_with_means_one_device_by_one_group_by_two_and_by_chain);
    tcase_add_test(t, a_group_runs_on_the_types_that_all_of_it_has_kernels_for);
    tcase_add_test(t, members_without_a_common_type_are_both_named_or_softly_set_apart);
    tcase_add_test(t,
                   members_that_ask_for_different_devices_are_both_named_or_softly_set_apart);
    tcase_add_test(t, partial_wishes_of_a_group_add_up);
    tcase_add_test(t, a_hundred_pairs_in_overlapping_groups_keep_every_constraint);
    tcase_add_test(
        t, a_group_forced_to_a_task_without_a_members_type_is_refused_with_ops_and_types);
    tcase_add_test(t, a_group_whose_wishes_together_fit_no_device_is_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
