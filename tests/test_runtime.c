/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime.c - what a call of a function over devices gives: values, where, and effects.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors/plan.h"
#include "tensor/tensor.h"
#include "tests/evaluate.h"
#include "tests/stand.h"
#include "tests/wild.h"

/* -- Values
 * -------------------------------------------------------------------------------------- */

START_TEST(a_function_of_one_device_runs_as_one_of_several_does)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f =
        function_of("function f(x: f32[3]) -> (y)\n  y = Mul(x, x) @cpu:1\n", NULL);
    ck_ran(&s, RUN(&s, f, NULL, "f32[3] [1, 2, 3]"));
    ck_value(s.results[0], "f32[3] [1, 4, 9]");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(constants_on_three_devices_are_summed_where_it_was_asked)
{
    struct stand s = stand_open("cpu:0,cpu:1,cpu:2", 0);
    troupe_function *f = function_of("function f() -> (y, n0, n1, n2)\n"
                                     "  a = f32[2] [1, 2]\n"
                                     "  b = f32[2] [10, 20]\n"
                                     "  c = f32[2] [100, 200]\n"
                                     "  p = Identity(a) @cpu:0\n"
                                     "  q = Add(p, b) @cpu:1\n"
                                     "  y = Add(q, c) @cpu:2\n"
                                     "  n0 = DeviceName() @cpu:0\n"
                                     "  n1 = DeviceName() @cpu:1\n"
                                     "  n2 = DeviceName() @cpu:2\n",
                                     NULL);
    ck_ran(&s, run_texts(&s, f, NULL, 0, NULL));
    ck_value(s.results[0], "f32[2] [111, 222]");
    ck_text(s.results[1], LOCAL "cpu:0");
    ck_text(s.results[2], LOCAL "cpu:1");
    ck_text(s.results[3], LOCAL "cpu:2");
    for (size_t i = 0; i < 3; i++) {
        troupe_device device = {.size = sizeof(device)};
        ck_assert_int_eq(troupe_device_at(s.runtime, i, &device), TROUPE_OK);
        ck_assert_uint_eq(device.shards, 1);
        ck_assert_uint_ge(device.steps, 1);
    }
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(without_annotations_all_runs_on_the_default_device)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[1]) -> (y, n)\n  y = Add(x, x)\n"
                                     "  n = DeviceName() after y\n",
                                     NULL);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [1]"));
    ck_text(s.results[1], LOCAL "cpu:0");
    options.default_device = "cpu:1";
    ck_ran(&s, RUN(&s, f, &options, "f32[1] [1]"));
    ck_text(s.results[1], LOCAL "cpu:1");
    ck_assert_uint_eq(stand_planned(&s), 2);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Four cases: arguments and results as they are, or crosswise. */
START_TEST(arguments_and_results_with_devices_give_the_same_however_they_are_flipped)
{
    static const char *const straight[] = {"cpu:0", "cpu:1"}, *const flipped[] = {"cpu:1",
                                                                                  "cpu:0"};
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(a: f32[2], b: f32[2]) -> (p, q)\n"
                                     "  p = Add(a, a) @cpu:0\n  q = Mul(b, b) @cpu:1\n",
                                     NULL);
    troupe_function *swap =
        function_of("function swap(a: f32[2], b: f32[2]) -> (p = b, q = a)\n", NULL);
    for (int i = 0; i < 4; i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        options.arg_devices = i & 1 ? flipped : straight;
        options.result_devices = i & 2 ? flipped : straight;
        for (int again = 0; again < 2; again++) {
            ck_ran(&s, RUN(&s, f, &options, "f32[2] [1, 2]", "f32[2] [3, 4]"));
            ck_value(s.results[0], "f32[2] [2, 4]");
            ck_value(s.results[1], "f32[2] [9, 16]");
            ck_ran(&s, RUN(&s, swap, &options, "f32[2] [1, 2]", "f32[2] [3, 4]"));
            ck_value(s.results[0], "f32[2] [3, 4]");
            ck_value(s.results[1], "f32[2] [1, 2]");
        }
        for (uint32_t r = 0; r < 2; r++) {
            ck_assert_str_eq(stand_result_device(&s, f, &options, r),
                             options.result_devices[r]);
            const char *device = stand_result_device(&s, swap, &options, r);
            const bool moves =
                strcmp(options.arg_devices[1 - r], options.result_devices[r]) != 0;
            if (moves) ck_assert_str_eq(device, options.result_devices[r]);
        }
    }
    ck_assert_uint_eq(stand_planned(&s), 8);
    troupe_function_release(&f);
    troupe_function_release(&swap);
    stand_close(&s);
}
END_TEST

START_TEST(wanted_result_devices_and_inferred_ones_give_the_same)
{
    static const char *const wanted[] = {"cpu:1", "cpu:0"};
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[2,2]) -> (p, q)\n"
                                     "  p = MatMul(x, x) @cpu:0\n  q = MatMul(p, x) @cpu:1\n",
                                     NULL);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    for (int i = 0; i < 2; i++) {
        if (i) options.result_devices = wanted;
        ck_ran(&s, RUN(&s, f, &options, "f32[2,2] [[1, 2], [3, 4]]"));
        ck_value(s.results[0], "f32[2,2] [[7, 10], [15, 22]]");
        ck_value(s.results[1], "f32[2,2] [[37, 54], [81, 118]]");
    }
    ck_assert_str_eq(stand_result_device(&s, f, NULL, 0), "cpu:0");
    ck_assert_str_eq(stand_result_device(&s, f, NULL, 1), "cpu:1");
    ck_assert_str_eq(stand_result_device(&s, f, &options, 0), "cpu:1");
    ck_assert_str_eq(stand_result_device(&s, f, &options, 1), "cpu:0");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

static const char *const elements[][2] = {
    {"f32[2] [1.5, -2]", "f32"},       {"f64[2] [1.5, -2]", "f64"},
    {"f16[2] [1.5, -2]", "f16"},       {"bf16[2] [1.5, -2]", "bf16"},
    {"i8[2] [-128, 127]", "i8"},       {"i16[2] [-5, 7]", "i16"},
    {"i32[2] [-5, 7]", "i32"},         {"i64[2] [-5, 7]", "i64"},
    {"u8[2] [0, 255]", "u8"},          {"u16[2] [1, 2]", "u16"},
    {"u32[2] [1, 2]", "u32"},          {"u64[2] [1, 2]", "u64"},
    {"bool[2] [true, false]", "bool"}, {"string[2] [\"a\", \"\"]", "string"},
};

/* Every type there is can cross, from an argument, a graph node and back; and is in host memory. */
START_TEST(values_of_every_element_type_cross_devices)
{
    static const char *const straight[] = {"cpu:0"}, *const flipped[] = {"cpu:1"};
    char text[200];
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    snprintf(text, sizeof(text),
             "function f(x: %s[2]) -> (y)\n  a = Identity(x) @cpu:1\n  b = Identity(a) @cpu:0\n"
             "  y = Identity(b) @cpu:1\n",
             elements[_i][1]);
    troupe_function *f = function_of(text, NULL);
    for (int i = 0; i < 4; i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        options.arg_devices = i & 1 ? flipped : straight;
        options.result_devices = i & 2 ? flipped : straight;
        ck_ran(&s, RUN(&s, f, &options, elements[_i][0]));
        ck_value(s.results[0], elements[_i][0]);
    }
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(a_function_of_eight_arguments_on_two_devices_gives_all_its_results)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f =
        function_of("function f(a: i32[], b: i32[], c: i32[], d: i32[], e: i32[], f: i32[],"
                    " g: i32[], h: i32[]) -> (r0, r1, r2, r3)\n"
                    "  r0 = Add(a, h) @cpu:0\n  r1 = Mul(b, g) @cpu:1\n"
                    "  t = Sub(c, f) @cpu:0\n  r2 = Add(t, r1) @cpu:1\n"
                    "  u = Add(d, e) @cpu:1\n  r3 = Mul(u, r0) @cpu:0\n",
                    NULL);
    ck_ran(&s, RUN(&s, f, NULL, "i32[] 1", "i32[] 2", "i32[] 3", "i32[] 4", "i32[] 5",
                   "i32[] 6", "i32[] 7", "i32[] 8"));
    ck_value(s.results[0], "i32[] 9");
    ck_value(s.results[1], "i32[] 14");
    ck_value(s.results[2], "i32[] 11");
    ck_value(s.results[3], "i32[] 81");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Nobody needs u, and what divides by 0 for it is not run. */
START_TEST(arguments_and_graph_nodes_that_nobody_needs_change_nothing)
{
    static const char *const devices[] = {"cpu:0", "cpu:1"};
    troupe_error err;
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: i32[1], u: i32[1]) -> (y)\n"
                                     "  bad = Div(x, u) @cpu:1\n  y = Add(x, x) @cpu:0\n",
                                     NULL);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.arg_devices = devices;
    ck_ran(&s, RUN(&s, f, &options, "i32[1] [2]", "i32[1] [0]"));
    ck_value(s.results[0], "i32[1] [4]");
    troupe_plan *plan;
    ck_ok(troupe_plan_make(s.runtime, f, &options, &plan, &err));
    ck_assert_uint_eq(plan->partition->n_shards, 1);
    ck_assert_uint_eq(plan->partition->n_edges, 0);
    ck_assert_uint_eq(plan->partition->shards[0].n_args, 1);
    troupe_plan_release(&plan);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(a_shard_is_given_only_the_arguments_it_needs)
{
    troupe_error err;
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(a: f32[1], b: f32[1], c: f32[1]) -> (p, q)\n"
                                     "  p = Add(a, c) @cpu:0\n  q = Neg(b) @cpu:1\n",
                                     NULL);
    troupe_plan *plan;
    ck_ok(troupe_plan_make(s.runtime, f, NULL, &plan, &err));
    ck_assert_uint_eq(plan->partition->n_shards, 2);
    ck_assert_uint_eq(plan->partition->shards[0].n_args, 2);
    ck_assert_uint_eq(plan->partition->shards[0].args[0], 0);
    ck_assert_uint_eq(plan->partition->shards[0].args[1], 2);
    ck_assert_uint_eq(plan->partition->shards[1].n_args, 1);
    ck_assert_uint_eq(plan->partition->shards[1].args[0], 1);
    troupe_plan_release(&plan);
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [1]", "f32[1] [2]", "f32[1] [3]"));
    ck_value(s.results[0], "f32[1] [4]");
    ck_value(s.results[1], "f32[1] [-2]");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* x goes over to cpu:1 and comes back to the caller: the same memory. */
START_TEST(a_value_that_crosses_shares_its_buffer)
{
    static const char *const from[] = {"cpu:0"}, *const to[] = {"cpu:1"};
    troupe_error err;
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f =
        function_of("function f(x: f32[4]) -> (y)\n  y = Identity(x) @cpu:1\n", NULL);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.arg_devices = from;
    options.result_devices = to;
    troupe_tensor *x = value_of("f32[4] [1, 2, 3, 4]"), *y;
    for (int i = 0; i < 3; i++) {
        ck_ok(troupe_run(s.runtime, f, (const troupe_tensor *const[]){x}, 1, &y, 1, &options,
                         &err));
        ck_value(y, "f32[4] [1, 2, 3, 4]");
        if (!getenv("TROUPE_WIRE")) /* which copies every value */
            ck_assert_ptr_eq(troupe_tensor_data(y), troupe_tensor_data(x));
        troupe_tensor_release(&y);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(missing_arguments_take_their_defaults)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f =
        function_of("function f(x: f32[2], w: f32[2] = f32[2] [10, 20]) -> (y)\n"
                    "  y = Mul(x, w) @cpu:1\n",
                    NULL);
    for (int i = 0; i < 2; i++) {
        ck_ran(&s, RUN(&s, f, NULL, "f32[2] [1, 2]", ""));
        ck_value(s.results[0], "f32[2] [10, 40]");
        ck_ran(&s, RUN(&s, f, NULL, "f32[2] [1, 2]", "f32[2] [1, 1]"));
        ck_value(s.results[0], "f32[2] [1, 2]");
    }
    ck_assert_int_eq(RUN(&s, f, NULL, "", "f32[2] [1, 1]"), TROUPE_INVALID);
    ck_assert_ptr_nonnull(strstr(s.err.text, "'x'"));
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(a_function_without_arguments_runs)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f() -> (y)\n  c = i64[2] [1, 2]\n"
                                     "  a = Add(c, c) @cpu:1\n  y = Neg(a) @cpu:0\n",
                                     NULL);
    for (int i = 0; i < 3; i++) {
        ck_ran(&s, run_texts(&s, f, NULL, 0, NULL));
        ck_value(s.results[0], "i64[2] [-2, -4]");
    }
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Without elements between argument and result the shards have no arena. */
START_TEST(a_function_of_values_without_elements_runs)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[0]) -> (n, s)\n"
                                     "  a = Relu(x) @cpu:0\n  b = Neg(a) @cpu:1\n"
                                     "  c = Exp(b) @cpu:1\n  n = Size(c) @cpu:0\n"
                                     "  s = ReduceSum(c, keepdims=0) @cpu:1\n",
                                     NULL);
    ck_ran(&s, RUN(&s, f, NULL, "f32[0] []"));
    ck_value(s.results[0], "i64[] 0");
    ck_value(s.results[1], "f32[] 0");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(results_come_in_their_order_and_more_than_once_without_those_between)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[6]) -> (p = c, q = a, r = d, t = a)\n"
                                     "  a, b, c = Split(x, num_outputs=3) @cpu:1\n"
                                     "  d, _ = Dropout(a) @cpu:0\n",
                                     NULL);
    ck_ran(&s, RUN(&s, f, NULL, "f32[6] [1, 2, 3, 4, 5, 6]"));
    ck_value(s.results[0], "f32[2] [5, 6]");
    for (int i = 1; i < 4; i++)
        ck_value(s.results[i], "f32[2] [1, 2]");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* A tree of 64 leaves, and v + v thirty times; integers in floats are exact. */
START_TEST(trees_and_chains_of_sums_over_devices_are_right)
{
    struct tp_text text = {0};
    uint64_t state = (uint64_t)_i;
    struct rehearsal dice = {.state = state};
    tp_text_add(&text, "function f(x: f32[1]) -> (r = s64, d = v30)\n  v0 = Identity(x)\n  s1 "
                       "= Identity(x)\n");
    for (int i = 1; i <= 30; i++)
        tp_text_add(&text, "  v%d = Add(v%d, v%d) @cpu:%u\n", i, i - 1, i - 1,
                    rehearsal_below(&dice, 3));
    for (int i = 2; i <= 64; i++) /* s_i is i times x, from two that it is the sum of */ {
        const int part = 1 + (int)rehearsal_below(&dice, (uint32_t)i - 1);
        tp_text_add(&text, "  s%d = Add(s%d, s%d) @cpu:%u\n", i, part, i - part,
                    rehearsal_below(&dice, 3));
    }
    struct stand s = stand_open("cpu:0,cpu:1,cpu:2", _i % 2);
    troupe_function *f = function_of(text.data, NULL);
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [3]"));
    ck_value(s.results[0], "f32[1] [192]");
    ck_value(s.results[1], "f32[1] [3221225472]");
    tp_text_fini(&text);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* -- Calls of functions
 * -------------------------------------------------------------------------------------- */

START_TEST(nested_calls_that_cross_devices_at_each_level_do_not_mix)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f =
        function_of("function inner(x: f32[1]) -> (y)\n"
                    "  one = f32[] 1\n  a = Add(x, one) @cpu:1\n"
                    "  y = Mul(a, a) @cpu:0\n"
                    "function middle(x: f32[1]) -> (y)\n"
                    "  a = inner(x)\n  b = Neg(x) @cpu:1\n  c = inner(b)\n"
                    "  y = Sub(a, c) @cpu:1\n"
                    "function outer(x: f32[1]) -> (p, q)\n"
                    "  p = middle(x)\n  t = Add(x, x) @cpu:0\n  q = middle(t)\n",
                    "outer");
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [3]"));
    ck_value(s.results[0], "f32[1] [12]"); /* (x+1)^2 - (1-x)^2 = 4x */
    ck_value(s.results[1], "f32[1] [24]");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Fifty levels deep, without workers: nothing waits inside anything. */
START_TEST(calls_nested_fifty_deep_run_on_one_thread)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function f0(x: f32[1]) -> (y)\n  y = Add(x, x) @cpu:0\n");
    for (int i = 1; i <= 50; i++)
        tp_text_add(
            &text,
            "function f%d(x: f32[1]) -> (y)\n  one = f32[] 1\n  a = Add(x, one) @cpu:%d\n"
            "  y = f%d(a)\n",
            i, i % 2, i - 1);
    struct stand s = stand_open("cpu:0(threads=1),cpu:1(threads=1)", 0);
    troupe_function *f = function_of(text.data, "f50");
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [1]"));
    ck_value(s.results[0], "f32[1] [102]");
    tp_text_fini(&text);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(a_call_site_gives_a_device_to_what_has_none)
{
    struct stand s = stand_open("cpu:0,cpu:1,cpu:2", 0);
    troupe_function *f = function_of("function where() -> (mine, fixed)\n"
                                     "  mine = DeviceName()\n  fixed = DeviceName() @cpu:2\n"
                                     "function f() -> (a, b, c, d)\n"
                                     "  a, b = where() @cpu:0\n  c, d = where() @cpu:1\n",
                                     "f");
    ck_ran(&s, run_texts(&s, f, NULL, 0, NULL));
    ck_text(s.results[0], LOCAL "cpu:0");
    ck_text(s.results[1], LOCAL "cpu:2");
    ck_text(s.results[2], LOCAL "cpu:1");
    ck_text(s.results[3], LOCAL "cpu:2");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(another_default_device_moves_only_what_is_not_annotated)
{
    struct stand s = stand_open("cpu:0,cpu:1,cpu:2", 0);
    troupe_function *f = function_of("function f() -> (a, b)\n  a = DeviceName()\n"
                                     "  b = DeviceName() @cpu:2\n",
                                     NULL);
    static const char *const defaults[] = {"cpu:0", "cpu:1", "cpu:0", "cpu:1"};
    for (int i = 0; i < 4; i++) {
        char name[64];
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        options.default_device = defaults[i];
        snprintf(name, sizeof(name), LOCAL "%s", defaults[i]);
        ck_ran(&s, run_texts(&s, f, NULL, 0, &options));
        ck_text(s.results[0], name);
        ck_text(s.results[1], LOCAL "cpu:2");
    }
    ck_assert_uint_eq(stand_planned(&s), 2);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* What Print said, in order. */
struct said {
    char text[400];
};

static void keep_said(void *arg, troupe_level level, const char *id, const char *line)
{
    struct said *said = arg;
    (void)level;
    if (strcmp(id, "print")) return;
    const char *at = strstr(line, "print: ");
    snprintf(said->text + strlen(said->text), sizeof(said->text) - strlen(said->text), "%s;",
             at ? at + 7 : line);
}

static const char say[] = "function first(x: i32[])\n  Print(x, message=\"first\") @cpu:1\n"
                          "function second(x: i32[])\n  y = Neg(x) @cpu:0\n"
                          "  Print(y, message=\"second\") @cpu:1\n"
                          "function f(x: i32[])\n  first(x)\n  second(x)\n  first(x)\n"
                          "function g(x: i32[]) -> (y)\n  n: second(x) @cpu:1\n"
                          "  y = Add(x, x) @cpu:0 after n\n";

START_TEST(effects_of_calls_without_results_all_happen_in_their_order)
{
    struct stand s = stand_open("cpu:0,cpu:1", _i);
    struct said said = {""};
    troupe_function *f = function_of(say, "f");
    troupe_log_to(keep_said, &said, TROUPE_LOG_INFO);
    for (int i = 0; i < 30; i++) {
        said.text[0] = 0;
        ck_ran(&s, RUN(&s, f, NULL, "i32[] 7"));
        ck_assert_uint_eq(s.n, 0);
        ck_assert_str_eq(said.text, "first: i32[] 7;second: i32[] -7;first: i32[] 7;");
    }
    troupe_log_to(NULL, NULL, TROUPE_LOG_WARN);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(what_comes_after_a_call_runs_after_its_effects)
{
    struct stand s = stand_open("cpu:0,cpu:1", _i);
    struct said said = {""};
    troupe_function *f = function_of(say, "g");
    troupe_log_to(keep_said, &said, TROUPE_LOG_INFO);
    for (int i = 0; i < 30; i++) {
        said.text[0] = 0;
        ck_ran(&s, RUN(&s, f, NULL, "i32[] 3"));
        ck_value(s.results[0], "i32[] 6");
        ck_assert_str_eq(said.text, "second: i32[] -3;");
    }
    troupe_log_to(NULL, NULL, TROUPE_LOG_WARN);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Inlined, pruned and cut, or graph node by graph node: the same bits. */
START_TEST(a_random_function_gives_the_bits_of_the_judge)
{
    troupe_error err;
    size_t ran;
    const troupe_tensor *args[WILD_ARGS];
    troupe_tensor *wanted[WILD_RESULTS];
    wild_args((uint64_t)_i, args);
    for (int devices = 1; devices <= 3; devices++) {
        static const char *const lists[] = {"cpu:0", "cpu:0,cpu:1", "cpu:0,cpu:1,cpu:2"};
        struct stand s = stand_open(lists[devices - 1], _i % 3);
        troupe_function *f = wild_function((uint64_t)_i, devices);
        s.n = troupe_function_results(f);
        ck_ok(troupe_run(s.runtime, f, args, WILD_ARGS, s.results, s.n, NULL, &err));
        ck_ok(evaluate(f->body, args, WILD_ARGS, wanted, &ran, &err));
        for (size_t i = 0; i < s.n; i++) {
            ck_assert_msg(troupe_tensor_equal(s.results[i], wanted[i]), "result %zu", i);
            troupe_tensor_release(&wanted[i]);
        }
        troupe_function_release(&f);
        stand_close(&s);
    }
    wild_release(args);
}
END_TEST

static int threads_of_process(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

START_TEST(without_workers_everything_runs_on_the_callers_thread)
{
    const int before = threads_of_process();
    struct stand s = stand_open("cpu:0(threads=1),cpu:1(threads=1)", 0);
    troupe_function *f = function_over(2);
    for (int i = 0; i < 3; i++) {
        ck_ran(&s, RUN(&s, f, NULL, "f32[4] [1, 2, 3, 4]"));
        ck_rows(s.results, 1);
    }
    ck_assert_int_eq(threads_of_process(), before);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime");
    TCase *values = tcase_create("values");
    TCase *calls = tcase_create("calls");
    tcase_add_test(values, a_function_of_one_device_runs_as_one_of_several_does);
    tcase_add_test(values, constants_on_three_devices_are_summed_where_it_was_asked);
    tcase_add_test(values, without_annotations_all_runs_on_the_default_device);
    tcase_add_test(values,
                   arguments_and_results_with_devices_give_the_same_however_they_are_flipped);
    tcase_add_test(values, wanted_result_devices_and_inferred_ones_give_the_same);
    tcase_add_loop_test(values, values_of_every_element_type_cross_devices, 0,
                        (int)TP_COUNT(elements));
    tcase_add_test(values, a_function_of_eight_arguments_on_two_devices_gives_all_its_results);
    tcase_add_test(values, arguments_and_graph_nodes_that_nobody_needs_change_nothing);
    tcase_add_test(values, a_shard_is_given_only_the_arguments_it_needs);
    tcase_add_test(values, a_value_that_crosses_shares_its_buffer);
    tcase_add_test(values, missing_arguments_take_their_defaults);
    tcase_add_test(values, a_function_without_arguments_runs);
    tcase_add_test(values, a_function_of_values_without_elements_runs);
    tcase_add_test(values,
                   results_come_in_their_order_and_more_than_once_without_those_between);
    tcase_add_loop_test(values, trees_and_chains_of_sums_over_devices_are_right, 0, 20);
    tcase_add_loop_test(values, a_random_function_gives_the_bits_of_the_judge, 0, 60);
    tcase_add_test(calls, nested_calls_that_cross_devices_at_each_level_do_not_mix);
    tcase_add_test(calls, calls_nested_fifty_deep_run_on_one_thread);
    tcase_add_test(calls, a_call_site_gives_a_device_to_what_has_none);
    tcase_add_test(calls, another_default_device_moves_only_what_is_not_annotated);
    tcase_add_loop_test(calls, effects_of_calls_without_results_all_happen_in_their_order, 0,
                        3);
    tcase_add_loop_test(calls, what_comes_after_a_call_runs_after_its_effects, 0, 3);
    tcase_add_test(calls, without_workers_everything_runs_on_the_callers_thread);
    suite_add_tcase(s, values);
    suite_add_tcase(s, calls);
    return s;
}

int main(void)
{
    return test_run(suite());
}
