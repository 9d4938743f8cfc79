/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_errors.c - which calls share a plan, and what is refused, in which words.
 */
#include <stdio.h>

#include "actors/plan.h"
#include "tests/stand.h"

/* -- Plans and libraries
 * -------------------------------------------------------------------------------------- */

START_TEST(equal_options_share_a_plan_and_others_make_another)
{
    static const char *const zero[] = {"cpu:0"}, *const one[] = {"cpu:1"};
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[1]) -> (y)\n  y = Neg(x)\n", NULL);
    troupe_call_options options[7];
    for (int i = 0; i < 7; i++)
        options[i] = (troupe_call_options)TROUPE_CALL_OPTIONS_INIT;
    options[1].arg_devices = zero;
    options[2].arg_devices = one;
    options[3].result_devices = one;
    options[4].default_device = "cpu:1";
    options[5].rules = "y cpu:1\n";
    options[6].soft = true;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 7; i++)
            ck_ran(&s, RUN(&s, f, &options[i], "f32[1] [1]"));
        ck_ran(&s, RUN(&s, f, NULL, "f32[1] [1]"));
        options[0].priority = round; /* makes no other plan */
        options[0].profile = true;
        options[0].deadline_s = 1000;
        ck_assert_uint_eq(stand_planned(&s), 7);
    }
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Another function object, another library, the same content. */
START_TEST(equal_functions_share_a_plan)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    for (int i = 0; i < 3; i++) {
        troupe_function *f = function_over(2);
        ck_ran(&s, RUN(&s, f, NULL, "f32[4] [1, 2, 3, 4]"));
        ck_rows(s.results, 1);
        troupe_function_release(&f);
    }
    ck_assert_uint_eq(stand_planned(&s), 1);
    stand_close(&s);
}
END_TEST

static void read_into(troupe_library *library, const char *text)
{
    troupe_error err;
    ck_ok(troupe_library_read(library, "test", text, strlen(text), &err));
}

START_TEST(a_function_that_is_replaced_has_its_own_plan_and_the_old_one_still_runs)
{
    troupe_error err;
    troupe_library *library;
    troupe_function *old, *other, *new;
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    ck_ok(troupe_library_new(&library, &err));
    read_into(library, "function f(x: f32[1]) -> (y)\n  y = Neg(x) @cpu:1\n");
    ck_ok(troupe_library_find(library, "f", &old, &err));
    ck_ran(&s, RUN(&s, old, NULL, "f32[1] [2]"));
    ck_value(s.results[0], "f32[1] [-2]");
    other = function_of("function f(x: f32[1]) -> (y)\n  y = Add(x, x) @cpu:1\n", NULL);
    ck_ok(troupe_library_replace(library, other, &err));
    ck_ok(troupe_library_find(library, "f", &new, &err));
    troupe_library_destroy(&library);
    for (int i = 0; i < 2; i++) {
        ck_ran(&s, RUN(&s, new, NULL, "f32[1] [2]"));
        ck_value(s.results[0], "f32[1] [4]");
        ck_ran(&s, RUN(&s, old, NULL, "f32[1] [2]"));
        ck_value(s.results[0], "f32[1] [-2]");
    }
    ck_assert_uint_eq(stand_planned(&s), 2);
    troupe_function_release(&old);
    troupe_function_release(&other);
    troupe_function_release(&new);
    stand_close(&s);
}
END_TEST

/* -- Errors
 * -------------------------------------------------------------------------------------- */

START_TEST(functions_that_are_not_there_are_not_found)
{
    troupe_error err;
    troupe_library *library;
    troupe_function *f = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_fails(troupe_library_find(library, "nobody", &f, &err), NOT_FOUND, "nobody");
    static const char text[] = "function f(x: f32[1]) -> (y)\n  y = nobody(x)\n";
    memset(&err, 0, sizeof(err));
    troupe_status status = troupe_library_read(library, "test", text, strlen(text), &err);
    if (!status) status = troupe_library_find(library, "f", &f, &err);
    ck_assert_int_lt(status, 0);
    ck_assert_ptr_nonnull(strstr(err.text, "nobody"));
    ck_assert_ptr_null(f);
    troupe_library_destroy(&library);
}
END_TEST

static const struct {
    const char *text, *word;
} malformed[] = {
    {"function f(xs: list(f32[1])) -> (y)\n  y = Neg(xs)\n", "test:1:"},
    {"function f(x: f32[1]) -> (y: list(f32[1]))\n  y = Neg(x)\n", "test:1:"},
    {"function f(x: f32[1]) -> (y, z)\n  y, z = Add(x, x)\n", "Add"},
    {"function f(x: f32[1]) -> (y, z)\n  y = Neg(x)\n", "'z'"},
    {"function f(x: f32[1]) -> (y: f32[2])\n  y = Neg(x)\n", "'y'"},
    {"function f(x: f32[1], i: i32[1]) -> (y)\n  y = Add(x, i)\n", "'y'"},
};

START_TEST(a_function_that_cannot_be_right_is_refused_when_it_is_defined)
{
    troupe_error err;
    troupe_library *library;
    ck_ok(troupe_library_new(&library, &err));
    ck_fails(troupe_library_read(library, "test", malformed[_i].text,
                                 strlen(malformed[_i].text), &err),
             INVALID, malformed[_i].word);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(wrong_arguments_are_refused_with_their_place)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[n], w: f32[n,2]) -> (y)\n"
                                     "  y = MatMul(x, w) @cpu:1\n",
                                     NULL);
    troupe_tensor *x = value_of("f32[1] [1]"), *results[3];
    const troupe_tensor *args[] = {x, x, x};
    troupe_error err;
    for (int i = 0; i < 2; i++) { /* also when the plan is known */
        ck_fails(troupe_run(s.runtime, f, args, 3, results, 1, NULL, &err), INVALID,
                 "'f' takes 2 arguments, not 3");
        ck_fails(troupe_run(s.runtime, f, args, 0, results, 1, NULL, &err), INVALID, "not 0");
        ck_fails(troupe_run(s.runtime, f, args, 2, results, 3, NULL, &err), INVALID,
                 "gives 1 results, not 3");
        ck_assert_int_eq(RUN(&s, f, NULL, "i32[1] [1]", "f32[1,2] [[1, 2]]"), TROUPE_INVALID);
        ck_assert_ptr_nonnull(strstr(s.err.text, "argument 'x'"));
        ck_assert_int_eq(RUN(&s, f, NULL, "f32[1] [1]", "f32[2,2] [[1, 2], [3, 4]]"),
                         TROUPE_INVALID);
        ck_assert_ptr_nonnull(strstr(s.err.text, "'w'"));
        ck_assert_int_eq(RUN(&s, f, NULL, "f32[1] [1]", "f32[2] [1, 2]"), TROUPE_INVALID);
        ck_ran(&s, RUN(&s, f, NULL, "f32[1] [3]", "f32[1,2] [[1, 2]]"));
        ck_value(s.results[0], "f32[2] [3, 6]");
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(a_placement_that_cannot_be_tells_the_function_and_keeps_its_kind)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f =
        function_of("function astray(x: f32[1]) -> (y)\n  y = Neg(x) @cpu:9\n", NULL);
    troupe_error plans;
    troupe_plan *plan;
    troupe_status status = troupe_plan_make(s.runtime, f, NULL, &plan, &plans);
    ck_assert_int_lt(status, 0);
    ck_assert_int_eq(RUN(&s, f, NULL, "f32[1] [1]"), status);
    ck_assert_ptr_nonnull(strstr(s.err.text, "'astray'"));
    ck_assert_ptr_nonnull(strstr(s.err.text, "'y'"));
    ck_assert_ptr_nonnull(strstr(s.err.text, "cpu:9"));
    ck_assert_uint_eq(stand_planned(&s), 0);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

static const struct {
    const char *arg, *result, *home, *word;
} strange[] = {
    {"cpu:9", NULL, NULL, "'x'"},
    {NULL, "cpu:9", NULL, "'y'"},
    {NULL, NULL, "cpu:9", "default_device"},
    {"gpu:0", NULL, NULL, "'x'"},
    {"///", NULL, NULL, "'x'"},
    {NULL, NULL, "cpu:", "default_device"},
};

START_TEST(devices_in_options_that_are_not_there_are_refused)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[1]) -> (y)\n  y = Neg(x)\n", NULL);
    const char *args[] = {strange[_i].arg}, *results[] = {strange[_i].result};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    if (args[0]) options.arg_devices = args;
    if (results[0]) options.result_devices = results;
    options.default_device = strange[_i].home;
    troupe_status status = RUN(&s, f, &options, "f32[1] [1]");
    ck_assert(status == TROUPE_NOT_FOUND || status == TROUPE_INVALID);
    ck_assert_msg(strstr(s.err.text, strange[_i].word) != NULL, "%s", s.err.text);
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [1]"));
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* What users keep stays with the function that made it. */
START_TEST(a_call_over_a_devices_limit_is_refused_with_who_holds_most_and_others_go_on)
{
    static const char text[] = "function keep(x: f32[n]) -> (y)\n  y = Add(x, x)\n"
                               "function more(x: f32[n]) -> (y)\n  y = Mul(x, x)\n"
                               "function other(x: f32[n]) -> (y)\n  y = Mul(x, x) @cpu:1\n";
    struct stand s = stand_open("cpu:0(memory=100K),cpu:1", 0);
    troupe_function *keep = function_of(text, "keep"), *more = function_of(text, "more"),
                    *other = function_of(text, "other");
    troupe_tensor *x, *small = value_of("f32[2] [1, 2]"), *kept[2], *y;
    troupe_error err;
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 1, (const int64_t[]){10000}, NULL, &err));
    const troupe_tensor *const args[] = {x}, *const few[] = {small};
    for (int i = 0; i < 2; i++)
        ck_ok(troupe_run(s.runtime, keep, args, 1, &kept[i], 1, NULL, &err));
    ck_fails(troupe_run(s.runtime, more, args, 1, &y, 1, NULL, &err), EXHAUSTED,
             "over its memory limit of 102400 bytes (8");
    ck_assert_msg(strstr(err.text, "peak 8") && strstr(err.text, "; 'keep' holds 8"), "%s",
                  err.text);
    ck_ok(troupe_run(s.runtime, more, few, 1, &y, 1, NULL, &err));
    troupe_tensor_release(&y);
    ck_ok(troupe_run(s.runtime, other, args, 1, &y, 1, NULL, &err));
    troupe_tensor_release(&y);
    troupe_tensor_release(&kept[1]);
    ck_ok(troupe_run(s.runtime, more, args, 1, &y, 1, NULL, &err));
    troupe_tensor_release(&y);
    troupe_tensor_release(&kept[0]);
    stand_close(&s);
    troupe_tensor_release(&x);
    troupe_tensor_release(&small);
    troupe_function_release(&keep);
    troupe_function_release(&more);
    troupe_function_release(&other);
}
END_TEST

/* As a program gives them that was built with a newer header. */
struct longer {
    union {
        troupe_options open;
        troupe_call_options call;
    };
    unsigned char more[16];
};

START_TEST(options_that_are_not_known_must_be_zero)
{
    troupe_error err;
    struct stand s = stand_open("cpu:0", 0);
    troupe_function *f = function_of("function f(x: f32[1]) -> (y)\n  y = Neg(x)\n", NULL);
    troupe_runtime *other = NULL;
    struct longer open = {.open = TROUPE_OPTIONS_INIT},
                  call = {.call = TROUPE_CALL_OPTIONS_INIT};
    open.open.size = call.call.size = sizeof(struct longer);
    ck_ok(troupe_open(&other, &open.open, &err));
    ck_assert_int_eq(troupe_close(&other), TROUPE_OK);
    ck_ran(&s, RUN(&s, f, &call.call, "f32[1] [1]"));
    open.more[15] = call.more[15] = 1;
    ck_fails(troupe_open(&other, &open.open, &err), INVALID, "troupe_options.size is");
    ck_assert_int_eq(RUN(&s, f, &call.call, "f32[1] [1]"), TROUPE_INVALID);
    ck_assert_ptr_nonnull(strstr(s.err.text, "troupe_call_options.size is"));
    ck_assert_ptr_nonnull(strstr(s.err.text, "is not 0"));
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(options_of_another_size_and_impossible_deadlines_are_invalid)
{
    troupe_error err;
    struct stand s = stand_open("cpu:0", 0);
    troupe_function *f = function_of("function f(x: f32[1]) -> (y)\n  y = Neg(x)\n", NULL);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_options small = TROUPE_OPTIONS_INIT;
    troupe_runtime *none = NULL;
    options.size = 3;
    ck_assert_int_eq(RUN(&s, f, &options, "f32[1] [1]"), TROUPE_INVALID);
    options.size = sizeof(options);
    options.deadline_s = -1;
    ck_assert_int_eq(RUN(&s, f, &options, "f32[1] [1]"), TROUPE_INVALID);
    options.deadline_s = __builtin_nan("");
    ck_assert_int_eq(RUN(&s, f, &options, "f32[1] [1]"), TROUPE_INVALID);
    options.deadline_s = 1e300;
    ck_ran(&s, RUN(&s, f, &options, "f32[1] [1]"));
    small.size = 8;
    ck_fails(troupe_open(&none, &small, &err), INVALID, "size");
    small = (troupe_options)TROUPE_OPTIONS_INIT;
    small.workers = -2;
    ck_fails(troupe_open(&none, &small, &err), INVALID, "-2");
    small.workers = 0;
    small.default_device = "cpu:5";
    ck_fails(troupe_open(&none, &small, &err), NOT_FOUND, "cpu:5");
    ck_assert_ptr_null(none);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* What came over from cpu:0 does not fit what cpu:1 makes of it, which only the values tell. */
START_TEST(a_received_value_of_a_wrong_shape_fails_its_graph_node_and_the_call)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function f(x: f32[6], s: i64[2], w: f32[3,3]) -> (y)\n"
                                     "  a = Reshape(x, s) @cpu:0\n"
                                     "  b = MatMul(a, w) @cpu:1\n"
                                     "  y = Neg(b) @cpu:0\n",
                                     NULL);
    static const char w[] = "f32[3,3] [[1, 0, 0], [0, 1, 0], [0, 0, 1]]";
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(RUN(&s, f, NULL, "f32[6] [1, 2, 3, 4, 5, 6]", "i64[2] [3, 2]", w),
                         TROUPE_INVALID);
        ck_assert_ptr_nonnull(strstr(s.err.text, "'b'"));
        ck_assert_ptr_nonnull(strstr(s.err.text, "cpu:1"));
        ck_ran(&s, RUN(&s, f, NULL, "f32[6] [1, 2, 3, 4, 5, 6]", "i64[2] [2, 3]", w));
        ck_value(s.results[0], "f32[2,3] [[-1, -2, -3], [-4, -5, -6]]");
    }
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Three values arrive on cpu:3, the fourth's device fails; the report tells of all shards. */
START_TEST(one_of_four_senders_that_fails_is_the_cause_and_the_report_tells_of_all)
{
    struct stand s = stand_open("cpu:0,cpu:1,cpu:2,cpu:3", 0);
    troupe_function *f = function_of("function f(x: i32[1], d: i32[1]) -> (y)\n"
                                     "  a = Neg(x) @cpu:0\n  b = Neg(x) @cpu:1\n"
                                     "  c = Div(x, d) @cpu:2\n  e = Neg(x) @cpu:0\n"
                                     "  g = Add(a, b) @cpu:3\n  h = Add(c, e) @cpu:3\n"
                                     "  y = Add(g, h) @cpu:3\n",
                                     NULL);
    troupe_report *report = NULL;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.report = &report;
    ck_assert_int_eq(RUN(&s, f, &options, "i32[1] [1]", "i32[1] [0]"), TROUPE_INVALID);
    ck_assert_ptr_nonnull(strstr(s.err.text, "'c' on cpu:2"));
    ck_assert_ptr_nonnull(report);
    const char *text = troupe_report_text(report, TROUPE_TEXT);
    ck_assert_ptr_nonnull(strstr(text, "division by zero"));
    for (int i = 0; i < 4; i++) {
        char device[8];
        snprintf(device, sizeof(device), "cpu:%d", i);
        ck_assert_ptr_nonnull(strstr(text, device));
    }
    ck_assert_ptr_nonnull(strstr(troupe_report_text(report, TROUPE_JSON), "\"cpu:3\""));
    troupe_report_release(&report);
    ck_assert_int_eq(RUN(&s, f, &options, "i32[1] [1]", "i32[1] [1]"), TROUPE_OK);
    ck_assert_ptr_null(report);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(a_failure_inside_a_called_function_tells_the_way_to_it)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of("function inner(ok: bool[1])\n"
                                     "  check: Assert(ok, message=\"dark\") @cpu:1\n"
                                     "function outer(ok: bool[1])\n  call: inner(ok)\n",
                                     "outer");
    ck_assert_int_eq(RUN(&s, f, NULL, "bool[1] [false]"), TROUPE_INVALID);
    ck_assert_str_eq(s.err.text, "node 'call/check' (function 'inner', line 2) on cpu:1: dark");
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/errors");
    TCase *plans = tcase_create("plans");
    TCase *errors = tcase_create("errors");
    tcase_add_test(plans, equal_options_share_a_plan_and_others_make_another);
    tcase_add_test(plans, equal_functions_share_a_plan);
    tcase_add_test(plans,
                   a_function_that_is_replaced_has_its_own_plan_and_the_old_one_still_runs);
    tcase_add_test(errors, functions_that_are_not_there_are_not_found);
    tcase_add_loop_test(errors, a_function_that_cannot_be_right_is_refused_when_it_is_defined,
                        0, (int)TP_COUNT(malformed));
    tcase_add_test(errors, wrong_arguments_are_refused_with_their_place);
    tcase_add_test(errors, a_placement_that_cannot_be_tells_the_function_and_keeps_its_kind);
    tcase_add_loop_test(errors, devices_in_options_that_are_not_there_are_refused, 0,
                        (int)TP_COUNT(strange));
    tcase_add_test(errors,
                   a_call_over_a_devices_limit_is_refused_with_who_holds_most_and_others_go_on);
    tcase_add_test(errors, options_of_another_size_and_impossible_deadlines_are_invalid);
    tcase_add_test(errors, options_that_are_not_known_must_be_zero);
    tcase_add_test(errors, a_received_value_of_a_wrong_shape_fails_its_graph_node_and_the_call);
    tcase_add_test(errors,
                   one_of_four_senders_that_fails_is_the_cause_and_the_report_tells_of_all);
    tcase_add_test(errors, a_failure_inside_a_called_function_tells_the_way_to_it);
    suite_add_tcase(s, plans);
    suite_add_tcase(s, errors);
    return s;
}

int main(void)
{
    return test_run(suite());
}
