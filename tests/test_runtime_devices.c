/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_devices.c - one function over several devices, by the public functions:
 * what it gives, and where its graph nodes, arguments and results are.
 */
#include <stdio.h>

#include "tests/rehearsal.h"

#define MOST 4 /* arguments or results */

static troupe_runtime *open_on(const char *devices, int workers)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.workers = workers;
    ck_ok(troupe_open(&runtime, &options, &err));
    return runtime;
}

static void end(troupe_runtime *runtime)
{
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}

/* Run the function on values in text form; its results are those in `want`. Lists end with
 * NULL. */
static void ck_run(troupe_runtime *runtime, const troupe_function *f,
                   const troupe_call_options *options, const char *const *args,
                   const char *const *want)
{
    troupe_error err;
    troupe_tensor *values[MOST], *results[MOST];
    size_t n = 0, n_results = 0;
    for (; args[n]; n++)
        values[n] = value_of(args[n]);
    while (want[n_results])
        n_results++;
    ck_ok(troupe_run(runtime, f, (const troupe_tensor *const *)values, n, results, n_results,
                     options, &err));
    for (size_t i = 0; i < n_results; i++) {
        ck_value(results[i], want[i]);
        troupe_tensor_release(&results[i]);
    }
    for (size_t i = 0; i < n; i++)
        troupe_tensor_release(&values[i]);
}
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The graph nodes of the plan are on these devices, "name device name device ...". */
static void ck_places(troupe_runtime *runtime, const troupe_function *f,
                      const troupe_call_options *options, const char *want)
{
    troupe_error err;
    troupe_plan *plan;
    char have[1000] = "";
    size_t at = 0;
    ck_ok(troupe_plan_make(runtime, f, options, &plan, &err));
    for (size_t i = 0; i < troupe_plan_nodes(plan); i++) {
        troupe_plan_node node = {.size = sizeof(node)};
        ck_assert_int_eq(troupe_plan_node_at(plan, i, &node), TROUPE_OK);
        at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%s %s", i ? " " : "", node.name,
                               node.device);
    }
    ck_assert_str_eq(have, want);
    troupe_plan_release(&plan);
}

static uint64_t planned(const troupe_runtime *runtime)
{
    troupe_statistics figures = {.size = sizeof(figures)};
    troupe_statistics_get(runtime, &figures);
    return figures.planned;
}

/* -- Graph nodes --------------------------------------------------------------------------- */

START_TEST(without_a_wish_everything_runs_on_the_default_device)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_function *f = function_of("function f(x: f32[2]) -> (y)\n"
                                     "  a = Add(x, x)\n"
                                     "  y = Mul(a, x)\n",
                                     NULL);
    ck_places(runtime, f, NULL, "a cpu:0 y cpu:0");
    ck_run(runtime, f, NULL, TEXTS("f32[2] [1, 3]"), TEXTS("f32[2] [2, 18]"));
    options.default_device = "cpu:1";
    ck_places(runtime, f, &options, "a cpu:1 y cpu:1");
    ck_run(runtime, f, &options, TEXTS("f32[2] [1, 3]"), TEXTS("f32[2] [2, 18]"));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(another_default_device_moves_only_what_has_no_wish)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1,cpu:2", _i);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_function *f = function_of("function f(x: f32[2]) -> (y)\n"
                                     "  a = Add(x, x) @cpu:2\n"
                                     "  b = Mul(a, x)\n"
                                     "  y = Sub(b, x) @cpu:0\n",
                                     NULL);
    ck_places(runtime, f, NULL, "a cpu:2 b cpu:0 y cpu:0");
    options.default_device = "cpu:1";
    ck_places(runtime, f, &options, "a cpu:2 b cpu:1 y cpu:0");
    ck_run(runtime, f, &options, TEXTS("f32[2] [1, 3]"), TEXTS("f32[2] [1, 15]"));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(constants_on_three_devices_are_summed_and_each_ran_where_it_was_asked_for)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1,cpu:2", _i);
    troupe_function *f = function_of("function f() -> (sum)\n"
                                     "  one = f32[] 1\n  two = f32[] 2\n  four = f32[] 4\n"
                                     "  a = Identity(one) @cpu:0\n"
                                     "  b = Identity(two) @cpu:1\n"
                                     "  c = Identity(four) @cpu:2\n"
                                     "  sum = Sum(a, b, c) @cpu:1\n",
                                     NULL);
    ck_places(runtime, f, NULL, "a cpu:0 b cpu:1 c cpu:2 sum cpu:1");
    for (int i = 0; i < 3; i++)
        ck_run(runtime, f, NULL, TEXTS(NULL), TEXTS("f32[] 7"));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(each_graph_node_runs_on_the_device_that_the_plan_says)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1,cpu:2", _i);
    troupe_function *f = function_of("function f() -> (a, b, c, d)\n"
                                     "  a = DeviceName() @cpu:0\n"
                                     "  b = DeviceName() @cpu:1\n"
                                     "  c = DeviceName() @cpu:2\n"
                                     "  d = DeviceName()\n",
                                     NULL);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.default_device = "cpu:2";
    ck_run(runtime, f, &options, TEXTS(NULL),
           TEXTS("string[] \"/job:local/task:0/device:cpu:0\"",
                 "string[] \"/job:local/task:0/device:cpu:1\"",
                 "string[] \"/job:local/task:0/device:cpu:2\"",
                 "string[] \"/job:local/task:0/device:cpu:2\""));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(a_function_says_the_device_it_is_called_on)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f = function_of("function where() -> (name)\n"
                                     "  name = DeviceName()\n"
                                     "function f() -> (here, there)\n"
                                     "  here = where()\n"
                                     "  there = where() @cpu:1\n",
                                     "f");
    ck_run(runtime, f, NULL, TEXTS(NULL),
           TEXTS("string[] \"/job:local/task:0/device:cpu:0\"",
                 "string[] \"/job:local/task:0/device:cpu:1\""));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* -- Arguments and results ----------------------------------------------------------------- */

/* A function of two arguments and two results, each named on a device, straight or crossed. */
static const struct {
    const char *args[2], *results[2];
} corners[] = {
    {{"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1"}},
    {{"cpu:1", "cpu:0"}, {"cpu:0", "cpu:1"}},
    {{"cpu:0", "cpu:1"}, {"cpu:1", "cpu:0"}},
    {{"cpu:1", "cpu:0"}, {"cpu:1", "cpu:0"}},
};

static void on_corner(troupe_call_options *options, size_t i)
{
    options->arg_devices = corners[i].args;
    options->result_devices = corners[i].results;
}

START_TEST(arguments_and_results_may_be_on_devices_straight_or_crossed)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f = function_of("function f(a: f32[], b: f32[]) -> (x, y)\n"
                                     "  x = Add(a, b) @cpu:0\n"
                                     "  y = Mul(a, b) @cpu:1\n",
                                     NULL);
    for (size_t i = 0; i < TP_COUNT(corners); i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        on_corner(&options, i);
        ck_run(runtime, f, &options, TEXTS("f32[] 3", "f32[] 5"), TEXTS("f32[] 8", "f32[] 15"));
    }
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(where_arguments_and_results_are_makes_another_plan)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f = function_of("function f(a: f32[], b: f32[]) -> (x, y)\n"
                                     "  x = Add(a, b)\n"
                                     "  y = Mul(a, b)\n",
                                     NULL);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < TP_COUNT(corners); i++) {
            troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
            on_corner(&options, i);
            ck_run(runtime, f, &options, TEXTS("f32[] 3", "f32[] 5"),
                   TEXTS("f32[] 8", "f32[] 15"));
            ck_assert_uint_eq(planned(runtime), round ? TP_COUNT(corners) : i + 1);
        }
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(results_are_the_same_whether_their_devices_are_said_or_found)
{
    static const char *const said[] = {"cpu:0", "cpu:1"};
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_function *f = function_of("function f(x: f32[2]) -> (y, z)\n"
                                     "  y = Mul(x, x) @cpu:0\n"
                                     "  z = Mul(x, y) @cpu:1\n",
                                     NULL);
    ck_run(runtime, f, NULL, TEXTS("f32[2] [2, 3]"), TEXTS("f32[2] [4, 9]", "f32[2] [8, 27]"));
    options.result_devices = said;
    ck_run(runtime, f, &options, TEXTS("f32[2] [2, 3]"),
           TEXTS("f32[2] [4, 9]", "f32[2] [8, 27]"));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(an_empty_body_swaps_its_arguments_across_devices)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f =
        function_of("function swap(a: f32[2], b: i64[]) -> (x = b, y = a)\n", NULL);
    for (size_t i = 0; i < TP_COUNT(corners); i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        on_corner(&options, i);
        ck_run(runtime, f, &options, TEXTS("f32[2] [1, 2]", "i64[] 7"),
               TEXTS("i64[] 7", "f32[2] [1, 2]"));
    }
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(integers_cross_devices_like_other_values)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f = function_of("function f(a: i32[2], b: i32[2]) -> (x, y)\n"
                                     "  s = Add(a, b) @cpu:0\n"
                                     "  x = Mul(s, a) @cpu:1\n"
                                     "  y = Sub(s, b) @cpu:0\n",
                                     NULL);
    for (size_t i = 0; i < TP_COUNT(corners); i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        on_corner(&options, i);
        ck_run(runtime, f, &options, TEXTS("i32[2] [2, -3]", "i32[2] [5, 7]"),
               TEXTS("i32[2] [14, -12]", "i32[2] [2, -3]"));
    }
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(an_argument_that_nothing_uses_changes_nothing)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f = function_of("function f(a: f32[], unused: f32[n], b: f32[]) -> (y)\n"
                                     "  dead = Add(a, a) @cpu:1\n"
                                     "  y = Sub(a, b) @cpu:0\n",
                                     NULL);
    ck_places(runtime, f, NULL, "y cpu:0");
    ck_run(runtime, f, NULL, TEXTS("f32[] 3", "f32[3] [9, 9, 9]", "f32[] 5"),
           TEXTS("f32[] -2"));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* -- Nested calls -------------------------------------------------------------------------- */

START_TEST(a_call_gives_the_devices_that_the_body_leaves_open)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1,cpu:2", _i);
    troupe_function *f = function_of("function inner(x: f32[]) -> (y)\n"
                                     "  m = Add(x, x)\n"
                                     "  y = Mul(m, x) @cpu:2\n"
                                     "function f(x: f32[]) -> (z)\n"
                                     "  a: u = inner(x) @cpu:0\n"
                                     "  b: z = inner(u) @cpu:1\n",
                                     "f");
    ck_places(runtime, f, NULL, "a/m cpu:0 a/y cpu:2 b/m cpu:1 b/y cpu:2");
    ck_run(runtime, f, NULL, TEXTS("f32[] 3"), TEXTS("f32[] 648"));
    ck_assert_uint_eq(planned(runtime), 1);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* f50 calls f49 calls ... f0, over two devices by turns. */
static troupe_function *fifty_deep(void)
{
    char text[8000];
    int at = snprintf(text, sizeof(text),
                      "function f0(x: f32[]) -> (y: f32[])\n  k = f32[] 1\n  y = Add(x, k)\n");
    for (int i = 1; i <= 50; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at,
                       "function f%d(x: f32[]) -> (y: f32[])\n  k = f32[] 1\n"
                       "  c = f%d(x)\n  y = Add(c, k) @cpu:%d\n",
                       i, i - 1, i % 2);
    return function_of(text, "f50");
}

START_TEST(calls_fifty_deep_end_with_any_number_of_threads)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f = fifty_deep();
    for (int i = 0; i < 10; i++)
        ck_run(runtime, f, NULL, TEXTS("f32[] 0.5"), TEXTS("f32[] 51.5"));
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

struct heard {
    char lines[200];
    size_t at;
};

static void hear(void *arg, troupe_level level, const char *id, const char *line)
{
    struct heard *heard = arg;
    (void)level, (void)id;
    const char *word = strstr(line, "said");
    if (!word) return;
    heard->at += (size_t)snprintf(heard->lines + heard->at, sizeof(heard->lines) - heard->at,
                                  "%.5s ", word);
}

START_TEST(what_comes_after_a_call_runs_after_its_effects_on_every_device)
{
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", _i);
    troupe_function *f = function_of("function inner(x: f32[]) -> (y)\n"
                                     "  Print(x, message=\"said1\") @cpu:1\n"
                                     "  y = Add(x, x) @cpu:0\n"
                                     "function f(x: f32[]) -> (z)\n"
                                     "  c: y = inner(x)\n"
                                     "  p: Print(x, message=\"said2\") @cpu:0 after c\n"
                                     "  z = Add(y, x) @cpu:1 after p\n",
                                     "f");
    for (int i = 0; i < 30; i++) {
        struct heard heard = {.at = 0};
        troupe_log_to(hear, &heard, TROUPE_LOG_INFO);
        ck_run(runtime, f, NULL, TEXTS("f32[] 1"), TEXTS("f32[] 3"));
        troupe_log_to(NULL, NULL, TROUPE_LOG_WARN);
        ck_assert_str_eq(heard.lines, "said1 said2 ");
    }
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* -- What a caller may do wrong ------------------------------------------------------------ */

static const struct {
    const char *arg;
    size_t n_args, n_results;
    const char *word;
} wrong[] = {
    {"f32[2] [1, 2]", 0, 1, "argument"},
    {"f32[2] [1, 2]", 2, 1, "argument"},
    {"f32[2] [1, 2]", 1, 0, "result"},
    {"f32[2] [1, 2]", 1, 2, "result"},
    {"i32[2] [1, 2]", 1, 1, "'x'"},
    {"f32[3] [1, 2, 3]", 1, 1, "'x'"},
    {"f32[] 1", 1, 1, "'x'"},
};

START_TEST(a_call_with_wrong_arguments_or_results_is_refused_with_their_names)
{
    troupe_error err;
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", 0);
    troupe_function *f =
        function_of("function f(x: f32[2]) -> (y)\n  y = Relu(x) @cpu:1\n", NULL);
    troupe_tensor *x = value_of(wrong[_i].arg), *results[2] = {NULL};
    const troupe_tensor *const args[] = {x, x};
    ck_fails(troupe_run(runtime, f, args, wrong[_i].n_args, results, wrong[_i].n_results, NULL,
                        &err),
             INVALID, wrong[_i].word);
    ck_assert_ptr_null(results[0]);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(a_device_that_is_not_there_is_refused_with_its_name)
{
    troupe_error err;
    static const char *const there[] = {"cpu:7"};
    troupe_runtime *runtime = open_on("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[2]) -> (y)\n  y = Relu(x)\n", NULL);
    troupe_tensor *x = value_of("f32[2] [1, 2]"), *y = NULL;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    if (_i == 0) options.default_device = there[0];
    if (_i == 1) options.arg_devices = there;
    if (_i == 2) options.result_devices = there;
    const troupe_status status =
        troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, &y, 1, &options, &err);
    ck_assert_msg(status == TROUPE_INVALID || status == TROUPE_NOT_FOUND, "%s: %s",
                  troupe_status_name(status), err.text);
    ck_assert_msg(strstr(err.text, "cpu:7") != NULL, "%s", err.text);
    options = (troupe_call_options)TROUPE_CALL_OPTIONS_INIT;
    ck_run(runtime, f, &options, TEXTS("f32[2] [-1, 2]"), TEXTS("f32[2] [0, 2]"));
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime_devices");
    TCase *nodes = tcase_create("graph nodes"), *values = tcase_create("values"),
          *calls = tcase_create("nested"), *refused = tcase_create("refused");
    tcase_add_loop_test(nodes, without_a_wish_everything_runs_on_the_default_device, 0, 3);
    tcase_add_loop_test(nodes, another_default_device_moves_only_what_has_no_wish, 0, 3);
    tcase_add_loop_test(
        nodes, constants_on_three_devices_are_summed_and_each_ran_where_it_was_asked_for, 0, 3);
    tcase_add_loop_test(nodes, each_graph_node_runs_on_the_device_that_the_plan_says, 0, 3);
    tcase_add_loop_test(nodes, a_function_says_the_device_it_is_called_on, 0, 3);
    tcase_add_loop_test(values, arguments_and_results_may_be_on_devices_straight_or_crossed, 0,
                        3);
    tcase_add_loop_test(values, where_arguments_and_results_are_makes_another_plan, 0, 3);
    tcase_add_loop_test(values, results_are_the_same_whether_their_devices_are_said_or_found, 0,
                        3);
    tcase_add_loop_test(values, an_empty_body_swaps_its_arguments_across_devices, 0, 3);
    tcase_add_loop_test(values, integers_cross_devices_like_other_values, 0, 3);
    tcase_add_loop_test(values, an_argument_that_nothing_uses_changes_nothing, 0, 3);
    tcase_add_loop_test(calls, a_call_gives_the_devices_that_the_body_leaves_open, 0, 3);
    tcase_add_loop_test(calls, calls_fifty_deep_end_with_any_number_of_threads, 0, 3);
    tcase_add_loop_test(calls, what_comes_after_a_call_runs_after_its_effects_on_every_device,
                        0, 3);
    tcase_add_loop_test(refused,
                        a_call_with_wrong_arguments_or_results_is_refused_with_their_names, 0,
                        (int)TP_COUNT(wrong));
    tcase_add_loop_test(refused, a_device_that_is_not_there_is_refused_with_its_name, 0, 3);
    suite_add_tcase(s, nodes);
    suite_add_tcase(s, values);
    suite_add_tcase(s, calls);
    suite_add_tcase(s, refused);
    return s;
}

int main(void)
{
    return test_run(suite());
}
