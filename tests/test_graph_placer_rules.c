/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_placer_rules.c - the caller's rules, and cutting where nobody said anything.
 */
#include "graph/placer.h"

#include "tests/place.h"
#include "tests/test.h"

/* --- rules --- */

START_TEST(the_first_rule_that_matches_wins_over_the_annotation)
{
    static const struct place_node nodes[] = {{"stem/conv_1", "Any", "x", "cpu:0", NULL, NULL},
                                              {"stem/conv_2", "Any", "x", NULL, NULL, NULL},
                                              {"head", "Cpu", "x", NULL, NULL, NULL},
                                              {"tail", "Any", "x", "cpu:0", NULL, NULL},
                                              {"free", "Any", "x", "cpu:0", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0", "cpu:1", "x", nodes, "head tail free");
    scene_rules(&s, "# where things go\n"
                    "\n"
                    "stem/*_2  gpu:0   # the second one\r\n"
                    "stem/*\tcpu:1\n"
                    "op:C?u cpu:0\n"
                    "free /\n"
                    "tai cpu:1");
    ck_assert_uint_eq(s.rules->n, 5);
    ck_assert_uint_eq(s.rules->list[0].line, 3);
    ck_assert_uint_eq(s.rules->list[4].line, 7);
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "stem/conv_1", "cpu:1", TP_WHY_RULE);
    scene_check(&s, "stem/conv_2", "gpu:0", TP_WHY_RULE);
    scene_check(&s, "head", "cpu:0", TP_WHY_RULE);
    scene_check(&s, "tail", "cpu:0", TP_WHY_ANNOTATION);
    scene_check(&s, "free", "cpu:1", TP_WHY_DEFAULT);
    ck_assert_uint_eq(s.placement->reason[0].detail, 1);
    ck_assert_uint_eq(s.placement->reason[1].detail, 0);
    ck_assert_uint_eq(s.placement->reason[2].detail, 2);
}
END_TEST

START_TEST(a_rule_that_cannot_be_honoured_is_named)
{
    static const struct place_node nodes[] = {{"conv_1", "Any", "x", "cpu:0", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0", "cpu:0", "x", nodes, "conv_1");
    scene_rules(&s, "nothing gpu:0\nconv* gpu:0\n");
    ck_fails(scene_place(&s, &err), NOT_FOUND, "asks for gpu:0 (rule 2 of two.place: 'conv*')");
    s.env.soft = true;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "conv_1", "cpu:0", TP_WHY_RULE);
    ck_assert(s.placement->reason[0].relaxed);
}
END_TEST

START_TEST(malformed_rules_are_refused_with_their_line)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"a cpu:0\nb\n", "two.place:2: a rule needs a pattern and a device, not only b"},
        {"a cpu:0 c", "two.place:1: nothing may follow the device but a comment, not c"},
        {"\n\na cpu", "two.place:3: device name 'cpu'"},
        {"a # cpu:0", "two.place:1: a rule needs"},
    };
    troupe_error err;
    struct tp_rules *rules = NULL;
    for (size_t i = 0; i < TP_COUNT(rows); i++)
        ck_fails(tp_rules_read("two.place", rows[i].text, strlen(rows[i].text), &rules, &err),
                 INVALID, rows[i].word);
    ck_fails(tp_rules_read("two.place", "a cpu:0\nb\0 cpu:0", 15, &rules, &err), INVALID,
             "two.place:2: a zero byte");
    ck_assert_ptr_null(rules);
    ck_ok(tp_rules_read(NULL, NULL, 0, &rules, &err));
    ck_assert_uint_eq(rules->n, 0);
    tp_rules_destroy(&rules);
}
END_TEST

/* --- cutting --- */

static const struct place_node eight[] = {
    {"n0", "Any", "x", NULL, NULL, NULL},  {"n1", "Any", "n0", NULL, NULL, NULL},
    {"n2", "Any", "n1", NULL, NULL, NULL}, {"n3", "Any", "n2", NULL, NULL, NULL},
    {"n4", "Any", "n3", NULL, NULL, NULL}, {"n5", "Any", "n4", NULL, NULL, NULL},
    {"n6", "Any", "n5", NULL, NULL, NULL}, {"n7", "Any", "n6", NULL, NULL, NULL}};

static void check_devices(const struct scene *s, const char *devices)
{
    for (uint32_t i = 0; devices[i]; i++)
        ck_assert_msg(s->placement->device[i] == (uint32_t)(devices[i] - '0'), "%u: %u, not %c",
                      i, s->placement->device[i], devices[i]);
}

START_TEST(a_function_without_annotations_is_cut_into_equal_pieces_in_order)
{
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 cpu:2 cpu:3", "cpu:2", "x", eight, "n7");
    s.env.cut = true;
    ck_ok(scene_place(&s, &err));
    check_devices(&s, "00112233");
    scene_check(&s, "n4", "cpu:2", TP_WHY_CUT);
    ck_assert_uint_eq(s.placement->reason[4].detail, 2);
    s.env.cut = false;
    ck_ok(scene_place(&s, &err));
    check_devices(&s, "22222222");
}
END_TEST

START_TEST(pieces_are_balanced_by_work_not_by_number)
{
    static const struct place_node nodes[] = {
        {"small1", "Any", "x", NULL, NULL, NULL}, {"small2", "Any", "x", NULL, NULL, NULL},
        {"small3", "Any", "x", NULL, NULL, NULL}, {"big1", "Any", "y", NULL, NULL, NULL},
        {"big2", "Any", "y", NULL, NULL, NULL},   {"unknown", "Any", "z", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x y:f32[1000,1000] z:f32[n,?]", nodes, "big2");
    s.env.cut = true;
    ck_ok(scene_place(&s, &err));
    check_devices(&s, "000011");
}
END_TEST

START_TEST(what_is_placed_together_is_cut_together)
{
    struct place_node nodes[8];
    troupe_error err;
    memcpy(nodes, eight, sizeof(nodes));
    nodes[7].with = "n1";
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x", nodes, "n7");
    s.env.cut = true;
    ck_ok(scene_place(&s, &err));
    check_devices(&s, "00011110");
    scene_check(&s, "n7", "cpu:0", TP_WHY_WITH);
}
END_TEST

START_TEST(only_the_best_type_is_cut_over_and_what_cannot_run_there_takes_its_default)
{
    struct place_node nodes[8];
    troupe_error err;
    memcpy(nodes, eight, sizeof(nodes));
    nodes[3].op = "Cpu";
    SCENE(s, "cpu:0 cpu:1 fake:0 fake:1 gpu:0 gpu:1", "cpu:1", "x", nodes, "n7");
    s.env.cut = true;
    ck_ok(scene_place(&s, &err));
    check_devices(&s, "44415555");
    scene_check(&s, "n3", "cpu:1", TP_WHY_DEFAULT);
    SCENE(t, "cpu:0 cpu:1 gpu:0", "cpu:1", "x", eight, "n7");
    t.env.cut = true;
    ck_ok(scene_place(&t, &err));
    check_devices(&t, "11111111");
}
END_TEST

START_TEST(one_annotation_or_one_rule_that_matches_keeps_a_function_uncut)
{
    struct place_node nodes[8];
    troupe_error err;
    memcpy(nodes, eight, sizeof(nodes));
    nodes[5].device = "cpu:1";
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x", nodes, "n7");
    s.env.cut = true;
    ck_ok(scene_place(&s, &err));
    check_devices(&s, "00000100");
    SCENE(t, "cpu:0 cpu:1", "cpu:0", "x", eight, "n7");
    t.env.cut = true;
    scene_rules(&t, "n2 /");
    ck_ok(scene_place(&t, &err));
    check_devices(&t, "00000000");
    scene_rules(&t, "n9 cpu:1");
    ck_ok(scene_place(&t, &err));
    check_devices(&t, "00001111");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/placer rules");
    TCase *t = tcase_create("rules");
    tcase_add_test(t, the_first_rule_that_matches_wins_over_the_annotation);
    tcase_add_test(t, a_rule_that_cannot_be_honoured_is_named);
    tcase_add_test(t, malformed_rules_are_refused_with_their_line);
    tcase_add_test(t, a_function_without_annotations_is_cut_into_equal_pieces_in_order);
    tcase_add_test(t, pieces_are_balanced_by_work_not_by_number);
    tcase_add_test(t, what_is_placed_together_is_cut_together);
    tcase_add_test(t,
                   only_the_best_type_is_cut_over_and_what_cannot_run_there_takes_its_default);
    tcase_add_test(t, one_annotation_or_one_rule_that_matches_keeps_a_function_uncut);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
