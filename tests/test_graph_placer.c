/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_placer.c - where a graph node goes alone, and what is refused.
 */
#include "graph/placer.h"

#include "tests/place.h"
#include "tests/test.h"

/* --- choices without constraints --- */

START_TEST(a_device_type_that_must_be_asked_for_is_never_chosen_unasked)
{
    static const struct place_node nodes[] = {{"free", "Any", "x", NULL, NULL, NULL},
                                              {"asked", "Any", "x", "fake:0", NULL, NULL},
                                              {"typed", "Any", "x", "/device:FAKE", NULL, NULL},
                                              {"shape", "Shape", "asked", NULL, NULL, NULL}};
    static const struct place_node only[] = {{"only", "Fake", "x", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 fake:0 fake:1", NULL, "x", nodes, "free asked typed shape");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "free", "cpu:0", TP_WHY_ONLY);
    scene_check(&s, "asked", "fake:0", TP_WHY_ANNOTATION);
    scene_check(&s, "typed", "fake:0", TP_WHY_ANNOTATION);
    scene_check(&s, "shape", "cpu:0", TP_WHY_ONLY);
    SCENE(t, "cpu:0 fake:0", NULL, "x", only, "only");
    ck_fails(scene_place(&t, &err), UNSUPPORTED, "must be asked for");
    t.env.default_device = place_device(t.devices, "fake:0");
    ck_ok(scene_place(&t, &err));
    scene_check(&t, "only", "fake:0", TP_WHY_DEFAULT);
}
END_TEST

START_TEST(a_consumer_goes_where_its_kernel_prefers_unless_it_is_placed_with_its_producer)
{
    static const struct place_node apart[] = {{"make", "Gpu", "x", NULL, NULL, NULL},
                                              {"use", "LikesCpu", "make", NULL, NULL, NULL}};
    static const struct place_node together[] = {
        {"make", "Gpu", "x", NULL, NULL, NULL},
        {"use", "LikesCpu", "make", NULL, "make", NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0", NULL, "x", apart, "use");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "make", "gpu:0", TP_WHY_ONLY);
    scene_check(&s, "use", "cpu:0", TP_WHY_PRIORITY);
    SCENE(t, "cpu:0 gpu:0", NULL, "x", together, "use");
    ck_ok(scene_place(&t, &err));
    scene_check(&t, "use", "gpu:0", TP_WHY_WITH);
}
END_TEST

START_TEST(a_group_follows_the_one_preference_that_its_kernels_have)
{
    static const struct {
        const char *a, *b, *device;
    } rows[] = {{"Any", "LikesCpu", "cpu:0"},      {"LikesCpu", "Any", "cpu:0"},
                {"Any", "LikesGpu", "gpu:0"},      {"LikesGpu", "Any", "gpu:0"},
                {"LikesCpu", "LikesGpu", "gpu:0"}, {"LikesGpu", "LikesCpu", "gpu:0"},
                {"LikesGpu", "Cpu", "cpu:0"},      {"LikesCpu", "Gpu", "gpu:0"}};
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct place_node nodes[] = {{"a", rows[i].a, "x", NULL, NULL, NULL},
                                           {"b", rows[i].b, "a", NULL, "a", NULL}};
        SCENE(s, "cpu:0 gpu:0", NULL, "x", nodes, "b");
        ck_ok(scene_place(&s, &err));
        const uint32_t want = place_device(s.devices, rows[i].device);
        ck_assert_msg(s.placement->device[0] == want && s.placement->device[1] == want,
                      "%s and %s", rows[i].a, rows[i].b);
    }
}
END_TEST

START_TEST(
    without_a_wish_the_default_device_comes_first_then_the_better_type_then_the_nearer_task)
{
    static const struct place_node nodes[] = {{"any", "Any", "x", NULL, NULL, NULL},
                                              {"gpu", "Gpu", "x", NULL, NULL, NULL},
                                              {"likes", "LikesGpu", "x", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0 gpu:1", "cpu:1", "x", nodes, "any gpu likes");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "any", "cpu:1", TP_WHY_DEFAULT);
    scene_check(&s, "gpu", "gpu:0", TP_WHY_ONLY);
    scene_check(&s, "likes", "gpu:0", TP_WHY_PRIORITY);
    s.env.default_device = TP_NO_DEVICE;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "any", "gpu:0", TP_WHY_PRIORITY);
    SCENE(t, "cpu:0 gpu:0 /job:a/task:1/cpu:0 /job:a/task:1/gpu:0", "/job:a/task:1/cpu:0", "x",
          nodes, "any gpu likes");
    ck_ok(scene_place(&t, &err));
    scene_check(&t, "any", "/job:a/task:1/cpu:0", TP_WHY_DEFAULT);
    scene_check(&t, "gpu", "/job:a/task:1/gpu:0", TP_WHY_ONLY);
}
END_TEST

START_TEST(what_reads_only_a_shape_goes_to_its_input_also_to_an_arguments_device)
{
    static const struct place_node nodes[] = {{"cpu", "Cpu", "x", NULL, NULL, NULL},
                                              {"shape", "Shape", "cpu", NULL, NULL, NULL},
                                              {"of_arg", "Shape", "y", NULL, NULL, NULL},
                                              {"of_free", "Shape", "x", NULL, NULL, NULL},
                                              {"of_const", "Shape", "#f32", NULL, NULL, NULL},
                                              {"cannot", "ShapeGpu", "cpu", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0", NULL, "x y", nodes, "shape of_arg of_free of_const cannot");
    const uint32_t devices[] = {TP_NO_DEVICE, place_device(s.devices, "cpu:1")};
    s.env.arg_devices = devices;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "shape", "cpu:0", TP_WHY_METADATA);
    scene_check_detail(&s, "shape", "cpu");
    scene_check(&s, "of_arg", "cpu:1", TP_WHY_METADATA);
    ck_assert_uint_eq(s.placement->reason[2].detail, TP_NO_NODE);
    scene_check(&s, "of_free", "gpu:0", TP_WHY_PRIORITY);
    scene_check(&s, "of_const", "gpu:0", TP_WHY_PRIORITY);
    scene_check(&s, "cannot", "gpu:0", TP_WHY_ONLY);
}
END_TEST

START_TEST(an_arguments_device_does_not_draw_those_who_compute_with_it)
{
    static const struct place_node nodes[] = {{"plain", "Any", "x", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x", nodes, "plain");
    const uint32_t devices[] = {place_device(s.devices, "cpu:1")};
    s.env.arg_devices = s.env.result_devices = devices;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "plain", "cpu:0", TP_WHY_DEFAULT);
}
END_TEST

START_TEST(what_reads_nothing_and_cannot_run_at_its_reader_takes_its_own_default)
{
    static const struct place_node nodes[] = {{"gen", "GenCpu", NULL, NULL, NULL, NULL},
                                              {"use", "Gpu", "gen", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0", NULL, "", nodes, "use");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "gen", "cpu:0", TP_WHY_ONLY);
    scene_check(&s, "use", "gpu:0", TP_WHY_ONLY);
}
END_TEST

START_TEST(what_reads_nothing_but_has_a_wish_stays_there)
{
    static const struct place_node nodes[] = {{"gen", "Gen", NULL, "cpu:1", NULL, NULL},
                                              {"use", "Any", "gen", "cpu:0", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "", nodes, "use");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "gen", "cpu:1", TP_WHY_ANNOTATION);
}
END_TEST

START_TEST(what_reads_nothing_goes_to_its_readers_when_they_are_on_one_device)
{
    static const struct place_node nodes[] = {{"one", "Gen", NULL, NULL, NULL, NULL},
                                              {"two", "Gen", NULL, NULL, NULL, NULL},
                                              {"none", "Gen", NULL, NULL, NULL, NULL},
                                              {"given", "Gen", NULL, NULL, NULL, NULL},
                                              {"shown", "Gen", NULL, NULL, NULL, NULL},
                                              {"a", "Any2", "one two", "cpu:1", NULL, NULL},
                                              {"b", "Any2", "one one", "cpu:1", NULL, NULL},
                                              {"c", "Any", "two", "cpu:2", NULL, NULL},
                                              {"shape", "Shape", "shown", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 cpu:2", "cpu:0", "", nodes, "a b c given shape");
    const uint32_t devices[] = {TP_NO_DEVICE, TP_NO_DEVICE, TP_NO_DEVICE,
                                place_device(s.devices, "cpu:2"), TP_NO_DEVICE};
    s.env.result_devices = devices;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "one", "cpu:1", TP_WHY_CONSUMERS);
    scene_check_detail(&s, "one", "a");
    scene_check(&s, "two", "cpu:0", TP_WHY_DEFAULT);
    scene_check(&s, "none", "cpu:0", TP_WHY_DEFAULT);
    scene_check(&s, "given", "cpu:2", TP_WHY_CONSUMERS);
    scene_check(&s, "shown", "cpu:0", TP_WHY_DEFAULT);
    scene_check(&s, "shape", "cpu:0", TP_WHY_METADATA);
}
END_TEST

START_TEST(a_copy_between_two_that_were_asked_for_in_one_task_goes_there)
{
    static const struct place_node nodes[] = {
        {"in", "Any", "x", "/job:a/task:1", NULL, NULL},
        {"copy", "Identity", "in", NULL, NULL, NULL},
        {"out", "Any2", "copy copy", "/job:a/task:1", NULL, NULL},
        {"many", "Identity", "in", NULL, NULL, NULL},
        {"u1", "Any", "many", "/job:a/task:1", NULL, NULL},
        {"u2", "Any", "many", "/job:a/task:1", NULL, NULL},
        {"unread", "Identity", "in", NULL, NULL, NULL},
        {"other", "Identity", "in", NULL, NULL, NULL},
        {"elsewhere", "Any", "other", "/job:a/task:2", NULL, NULL},
        {"free", "Any", "x", NULL, NULL, NULL},
        {"of_free", "Identity", "free", NULL, NULL, NULL},
        {"end", "Any", "of_free", "/job:a/task:0", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 /job:a/task:1/cpu:0 /job:a/task:2/cpu:0", "/job:a/task:0/cpu:0", "x", nodes,
          "out u1 u2 elsewhere end");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "copy", "/job:a/task:1/cpu:0", TP_WHY_IDENTITY);
    scene_check_detail(&s, "copy", "in");
    scene_check(&s, "many", "/job:a/task:0/cpu:0", TP_WHY_DEFAULT);
    scene_check(&s, "unread", "/job:a/task:0/cpu:0", TP_WHY_DEFAULT);
    scene_check(&s, "other", "/job:a/task:0/cpu:0", TP_WHY_DEFAULT);
    scene_check(&s, "of_free", "/job:a/task:0/cpu:0", TP_WHY_DEFAULT);
}
END_TEST

START_TEST(a_copy_of_an_argument_for_a_result_of_the_same_device_goes_there)
{
    static const struct place_node nodes[] = {{"copy", "Identity", "x", NULL, NULL, NULL},
                                              {"other", "Identity", "y", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x y", nodes, "copy other");
    const uint32_t here[] = {1, 1}, there[] = {1, TP_NO_DEVICE};
    s.env.arg_devices = here;
    s.env.result_devices = there;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "copy", "cpu:1", TP_WHY_IDENTITY);
    scene_check(&s, "other", "cpu:0", TP_WHY_DEFAULT);
}
END_TEST

START_TEST(a_partial_wish_is_satisfied_with_the_type_by_priority)
{
    static const struct place_node nodes[] = {{"job", "Any", "x", "/job:b", NULL, NULL},
                                              {"likes", "LikesCpu", "x", "/job:b", NULL, NULL},
                                              {"type", "Any", "x", "/device:cpu", NULL, NULL},
                                              {"task", "Any", "x", "/task:0", NULL, NULL},
                                              {"id", "Any", "x", "cpu:1", NULL, NULL},
                                              {"one", "Cpu", "x", "/job:b", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0 /job:b/task:0/cpu:0 /job:b/task:0/cpu:1 /job:b/task:0/gpu:0",
          "/job:b/task:0/cpu:1", "x", nodes, "job likes type task id one");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "job", "/job:b/task:0/cpu:1", TP_WHY_ANNOTATION);
    scene_check(&s, "type", "/job:b/task:0/cpu:1", TP_WHY_ANNOTATION);
    scene_check(&s, "id", "/job:b/task:0/cpu:1", TP_WHY_ANNOTATION);
    s.env.default_device = place_device(s.devices, "/job:a/task:0/cpu:1");
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "job", "/job:b/task:0/gpu:0", TP_WHY_ANNOTATION);
    scene_check(&s, "likes", "/job:b/task:0/cpu:0", TP_WHY_ANNOTATION);
    scene_check(&s, "type", "/job:a/task:0/cpu:1", TP_WHY_ANNOTATION);
    scene_check(&s, "id", "/job:a/task:0/cpu:1", TP_WHY_ANNOTATION);
    SCENE(t, "cpu:0 gpu:0 /job:b/task:3/gpu:2 /job:b/task:3/cpu:7", "/job:a/task:0/cpu:0", "x",
          nodes, "job one");
    t.function->body->nodes[4].device = tp_name_none;
    ck_ok(scene_place(&t, &err));
    scene_check(&t, "job", "/job:b/task:3/gpu:2", TP_WHY_ANNOTATION);
    scene_check(&t, "one", "/job:b/task:3/cpu:7", TP_WHY_ONLY);
}
END_TEST

/* --- what cannot be honoured --- */

START_TEST(a_device_that_is_not_in_the_list_is_refused)
{
    static const struct place_node nodes[] = {{"a", "Any", "x", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x", nodes, "a");
    const uint32_t outside[] = {2};
    s.env.arg_devices = outside;
    ck_fails(scene_place(&s, &err), INVALID, "argument 0 is on device 2 of 2");
    s.env.arg_devices = NULL;
    s.env.result_devices = outside;
    ck_fails(scene_place(&s, &err), INVALID, "result 0 is on device 2 of 2");
    s.env.result_devices = NULL;
    s.env.default_device = 2;
    ck_fails(scene_place(&s, &err), INVALID, "default device is 2 of 2");
    s.env.default_device = 0;
    s.devices->n = 0;
    ck_fails(scene_place(&s, &err), INVALID, "no devices");
    s.devices->n = 2;
    ck_assert_ptr_null(s.placement);
}
END_TEST

START_TEST(an_id_that_is_not_there_is_refused_or_softly_the_first_of_its_type)
{
    static const struct place_node nodes[] = {{"conv", "Any", "x", "cpu:7", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1 gpu:0", NULL, "x", nodes, "conv");
    ck_fails(scene_place(&s, &err), NOT_FOUND, "'conv' (Any) asks for cpu:7 (its annotation)");
    ck_assert(strstr(err.text, "there are cpu:0, cpu:1, gpu:0") != NULL);
    s.env.soft = true;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "conv", "cpu:0", TP_WHY_ANNOTATION);
    ck_assert(s.placement->reason[0].relaxed);
    ck_assert_uint_eq(s.placement->n_relaxations, 1);
    ck_assert_str_eq(
        s.placement->relaxations[0],
        "graph node 'conv' (Any) asked for cpu:7 (its annotation) and is on cpu:0: no "
        "such device is there");
}
END_TEST

START_TEST(an_op_without_kernels_is_refused_unless_it_asks_for_another_process)
{
    static const struct place_node nodes[] = {{"n", "Nowhere", "x", NULL, NULL, NULL}};
    static const char *const refused[] = {"", "cpu:0", "/job:a", "/job:a/task:0/cpu:0"};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0 /job:b/task:0/cpu:0 /job:b/task:0/cpu:1", "/job:a/task:0/cpu:0", "x",
          nodes, "n");
    for (int soft = 0; soft < 2; soft++) {
        s.env.soft = soft;
        for (size_t i = 0; i < TP_COUNT(refused); i++) {
            ck_ok(tp_name_parse(refused[i], &s.function->body->nodes[0].device, &err));
            ck_fails(scene_place(&s, &err), UNSUPPORTED,
                     "'n' (Nowhere): no device here has a kernel");
        }
        ck_ok(tp_name_parse("/job:b/task:0/cpu:1", &s.function->body->nodes[0].device, &err));
        ck_ok(scene_place(&s, &err));
        scene_check(&s, "n", "/job:b/task:0/cpu:1", TP_WHY_ANNOTATION);
        ck_ok(tp_name_parse("/job:b", &s.function->body->nodes[0].device, &err));
        ck_ok(scene_place(&s, &err));
        scene_check(&s, "n", "/job:b/task:0/cpu:0", TP_WHY_ANNOTATION);
    }
}
END_TEST

START_TEST(an_op_whose_kernels_are_for_absent_types_is_refused_with_the_types)
{
    static const struct place_node nodes[] = {{"g", "Gpu", "x", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 cpu:1", "cpu:0", "x", nodes, "g");
    ck_fails(scene_place(&s, &err), UNSUPPORTED, "kernels: gpu; there are cpu:0, cpu:1");
    s.env.soft = true;
    ck_fails(scene_place(&s, &err), UNSUPPORTED, "kernels: gpu");
    s.env.types = NULL;
    ck_fails(scene_place(&s, &err), UNSUPPORTED, "kernels: none");
}
END_TEST

START_TEST(a_wish_for_a_type_without_a_kernel_is_refused_or_softly_moved)
{
    static const struct place_node nodes[] = {{"c", "Cpu", "x", "gpu:0", NULL, NULL},
                                              {"g", "Gpu", "x", "/device:cpu", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0 gpu:1", "cpu:0", "x", nodes, "c g");
    ck_fails(scene_place(&s, &err), INVALID, "'c' (Cpu) asks for gpu:0 (its annotation)");
    ck_assert(strstr(err.text, "kernels: cpu; there are cpu:0, gpu:0, gpu:1") != NULL);
    s.env.soft = true;
    ck_ok(scene_place(&s, &err));
    scene_check(&s, "c", "cpu:0", TP_WHY_ANNOTATION);
    scene_check(&s, "g", "gpu:0", TP_WHY_ANNOTATION);
    ck_assert_uint_eq(s.placement->n_relaxations, 2);
    ck_assert(strstr(s.placement->relaxations[1], "'g' (Gpu) asked for /device:cpu"));
    ck_assert(
        strstr(s.placement->relaxations[1], "is on gpu:0: there is no kernel for it there"));
}
END_TEST

START_TEST(an_unknown_job_or_task_is_refused_even_softly)
{
    static const struct place_node nodes[] = {
        {"n", "Any", "x", "/job:z/task:0/cpu:0", NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0 gpu:0", "cpu:0", "x", nodes, "n");
    for (int soft = 0; soft < 2; soft++) {
        s.env.soft = soft;
        ck_fails(scene_place(&s, &err), NOT_FOUND, "/job:z/task:0/device:cpu:0");
    }
}
END_TEST

START_TEST(a_call_that_was_not_inlined_is_refused)
{
    static const struct place_node nodes[] = {{"n", "Any", "x", NULL, NULL, NULL}};
    troupe_error err;
    SCENE(s, "cpu:0", "cpu:0", "x", nodes, "n");
    s.function->body->nodes[0].op = NULL;
    s.function->body->nodes[0].callee = "g";
    ck_fails(scene_place(&s, &err), INVALID, "'n' calls 'g'");
}
END_TEST

START_TEST(a_function_without_graph_nodes_is_placed)
{
    troupe_error err;
    TP_OWNED(scene_end) struct scene s = scene_of("cpu:0", "cpu:0", "x", NULL, 0, "y=x");
    s.env.cut = true;
    ck_ok(scene_place(&s, &err));
    ck_assert_uint_eq(s.placement->n_nodes, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/placer");
    TCase *t = tcase_create("placer");
    tcase_add_test(t, a_device_type_that_must_be_asked_for_is_never_chosen_unasked);
    tcase_add_test(
        t, a_consumer_goes_where_its_kernel_prefers_unless_it_is_placed_with_its_producer);
    tcase_add_test(t, a_group_follows_the_one_preference_that_its_kernels_have);
    tcase_add_test(
        t,
        without_a_wish_the_default_device_comes_first_then_the_better_type_then_the_nearer_task);
    tcase_add_test(t, what_reads_only_a_shape_goes_to_its_input_also_to_an_arguments_device);
    tcase_add_test(t, an_arguments_device_does_not_draw_those_who_compute_with_it);
    tcase_add_test(t, what_reads_nothing_and_cannot_run_at_its_reader_takes_its_own_default);
    tcase_add_test(t, what_reads_nothing_but_has_a_wish_stays_there);
    tcase_add_test(t, what_reads_nothing_goes_to_its_readers_when_they_are_on_one_device);
    tcase_add_test(t, a_copy_between_two_that_were_asked_for_in_one_task_goes_there);
    tcase_add_test(t, a_copy_of_an_argument_for_a_result_of_the_same_device_goes_there);
    tcase_add_test(t, a_partial_wish_is_satisfied_with_the_type_by_priority);
    tcase_add_test(t, a_device_that_is_not_in_the_list_is_refused);
    tcase_add_test(t, an_id_that_is_not_there_is_refused_or_softly_the_first_of_its_type);
    tcase_add_test(t, an_op_without_kernels_is_refused_unless_it_asks_for_another_process);
    tcase_add_test(t, an_op_whose_kernels_are_for_absent_types_is_refused_with_the_types);
    tcase_add_test(t, a_wish_for_a_type_without_a_kernel_is_refused_or_softly_moved);
    tcase_add_test(t, an_unknown_job_or_task_is_refused_even_softly);
    tcase_add_test(t, a_call_that_was_not_inlined_is_refused);
    tcase_add_test(t, a_function_without_graph_nodes_is_placed);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
