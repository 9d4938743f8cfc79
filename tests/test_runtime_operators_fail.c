/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_operators_fail.c - what callbacks of the user's operators do wrong, and what a
 * caller is told.
 */
#include "tests/operators.h"
#include "tests/rehearsal.h"

static const int workers[] = {0, 2};

static const struct {
    int fault;
    troupe_status status;
    const char *text; /* all of it */
} faults[] = {
    {FAULT_RUN_FAILS, TROUPE_DEVICE,
     "node 'g_1/b' (function 'g', line 2) on cpu:1: operator 'mine.Bad': the wheel has fallen "
     "off"},
    {FAULT_RUN_SILENT, TROUPE_NOT_FOUND,
     "node 'g_1/b' (function 'g', line 2) on cpu:1: operator 'mine.Bad': it failed without a "
     "word"},
    {FAULT_RUN_POSITIVE, TROUPE_INVALID,
     "node 'g_1/b' (function 'g', line 2) on cpu:1: operator 'mine.Bad': run returned 7, which "
     "is no failure"},
    {FAULT_RUN_UNKNOWN, TROUPE_INVALID,
     "node 'g_1/b' (function 'g', line 2) on cpu:1: operator 'mine.Bad': run returned -77, "
     "which is no failure"},
    {FAULT_PREPARE_FAILS, TROUPE_UNSUPPORTED,
     "function 'f', node 'g_1/b': operator 'mine.Bad': not prepared for this"},
};

static const char called[] = "function g(x: f32[n]) -> (b)\n  b = mine.Bad(x) @cpu:1\n"
                             "function f(x: f32[n]) -> (y)\n  a = Neg(x) @cpu:0\n"
                             "  g_1: c = g(a)\n  y = Neg(c) @cpu:0\n";

static troupe_function *outer(const troupe_operators *set)
{
    troupe_error err;
    troupe_function *f = NULL;
    troupe_library *library = library_of(set);
    ck_ok(troupe_library_read(library, "test", called, strlen(called), &err));
    ck_ok(troupe_library_find(library, "f", &f, &err));
    troupe_library_destroy(&library);
    return f;
}

START_TEST(a_failure_names_node_function_device_and_operator_and_the_next_call_works)
{
    struct trial s = {0};
    s.set = operators_all(&s.mine);
    s.f = outer(s.set);
    s.stand.runtime = runtime_with(s.set, "cpu:0,cpu:1", workers[_i % 2]);
    s.mine.fault = faults[_i / 2].fault;
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(RUN(&s.stand, s.f, NULL, "f32[2] [1, 2]"), faults[_i / 2].status);
        ck_assert_str_eq(s.stand.err.text, faults[_i / 2].text);
    }
    s.mine.fault = FAULT_NONE;
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[2] [1, 2]"));
    ck_value(s.stand.results[0], "f32[2] [1, 2]");
    trial_close(&s);
}
END_TEST

static const struct {
    int fault;
    const char *word;
} seen[] = {
    {FAULT_RUN_BEHIND, "run wrote behind the 12 bytes of result 0 'y'"},
    {FAULT_RUN_BEFORE, "run wrote before the 12 bytes of result 0 'y'"},
    {FAULT_RUN_NOTHING, "run did not write the 12 bytes of result 0 'y'"},
    {FAULT_RUN_INPUT, "run changed an input"},
};

START_TEST(a_checked_operator_fails_when_it_writes_where_it_must_not)
{
    struct trial s = {0};
    troupe_operator_row row = row_bad(&s.mine);
    row.checked = true;
    s.set = operators_of(row);
    trial_set(&s, "function f(x: f32[n]) -> (y)\n  a = Neg(x)\n  y = mine.Bad(a)\n", "cpu:0",
              0);
    s.mine.fault = seen[_i].fault;
    ck_assert_int_eq(RUN(&s.stand, s.f, NULL, "f32[3] [1, 2, 3]"), TROUPE_INVALID);
    ck_assert_msg(strstr(s.stand.err.text, seen[_i].word), "%s", s.stand.err.text);
    s.mine.fault = FAULT_NONE;
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[3] [1, 2, 3]"));
    ck_value(s.stand.results[0], "f32[3] [-1, -2, -3]");
    trial_close(&s);
}
END_TEST

/* (x: f32[n]) -> (y: f32[?]) that makes y, or does not. */
static troupe_status maker_run(const troupe_operator_node *node, void *const *out,
                               troupe_error *unused)
{
    troupe_error err;
    const struct mine *mine = node->user;
    (void)unused;
    const int64_t three = 3;
    void *memory;
    troupe_tensor *tensor = NULL;
    ck_assert_ptr_null(out[0]);
    ck_fails(troupe_operator_make(node, 5, 1, &three, &memory, &err), INVALID, "no result 5");
    ck_fails(troupe_operator_make(node, 0, 2, (int64_t[]){1, 1}, &memory, &err), INVALID,
             "is f32[1,1], but shape said f32[?]");
    ck_fails(troupe_operator_give(node, 0, &tensor, &err), INVALID, "made");
    ck_assert_ptr_null(troupe_operator_string(node, 0, 0, NULL));
    if (mine->fault == FAULT_RUN_NOTHING) return TROUPE_OK;
    ck_ok(troupe_operator_make(node, 0, 1, &three, &memory, &err));
    memcpy(memory, (float[]){1, 2, 3}, 12);
    ck_fails(troupe_operator_make(node, 0, 1, &three, &memory, &err), INVALID, "already");
    return TROUPE_OK;
}

START_TEST(results_of_unknown_shape_are_made_once_as_was_said)
{
    struct trial s = {0};
    troupe_operator_row row = row_positive(&s.mine);
    static const troupe_port result[] = {{"y", TROUPE_SET(TROUPE_F32), 1, 0}, {0}};
    row.results = result;
    row.run = maker_run;
    s.set = operators_of(row);
    trial_set(&s, "function f(x: f32[n]) -> (y)\n  y = mine.Positive(x)\n", "cpu:0", 0);
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[1] [1]"));
    ck_value(s.stand.results[0], "f32[3] [1, 2, 3]");
    s.mine.fault = FAULT_RUN_NOTHING;
    ck_assert_int_eq(RUN(&s.stand, s.f, NULL, "f32[1] [1]"), TROUPE_INVALID);
    ck_assert_msg(strstr(s.stand.err.text, "run did not make result 0 'y'"), "%s",
                  s.stand.err.text);
    trial_close(&s);
}
END_TEST

START_TEST(a_shape_that_changes_its_mind_is_found_out)
{
    struct trial s = {.mine = {.fault = FAULT_SHAPE_CHANGES}};
    trial_open(&s, "function f(x: f32[n]) -> (y)\n  y = mine.Bad(x)\n", "cpu:0", 0);
    ck_assert_int_eq(RUN(&s.stand, s.f, NULL, "f32[3] [1, 2, 3]"), TROUPE_INVALID);
    ck_assert_msg(strstr(s.stand.err.text, "operator 'mine.Bad': shape gives result 0 f32[]"),
                  "%s", s.stand.err.text);
    trial_close(&s);
}
END_TEST

START_TEST(what_waits_is_refused_in_a_callback_of_an_operator)
{
    struct trial s = {0};
    trial_open(&s, "function f(x: f32[1]) -> (y)\n  y = mine.Bad(x)\n", "cpu:0", workers[_i]);
    s.mine.runtime = s.stand.runtime;
    s.mine.function = s.f;
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[1] [5]"));
    ck_value(s.stand.results[0], "f32[1] [5]");
    trial_close(&s);
}
END_TEST

START_TEST(a_runtime_runs_only_the_operators_that_it_was_opened_with)
{
    troupe_error err;
    struct mine mine = {0}, others = {0};
    troupe_operators *set = operators_all(&mine), *other = operators_all(&others);
    troupe_function *f = outer(set), *twin = outer(other);
    troupe_runtime *without = runtime_with(NULL, "cpu:0,cpu:1", 0);
    troupe_runtime *with = runtime_with(set, "cpu:0,cpu:1", 0);
    troupe_tensor *x = value_of("f32[1] [1]"), *y = NULL;
    troupe_plan *plan = NULL;
    const troupe_tensor *const args[] = {x};
    struct outcome outcome = {0};
    ck_fails(troupe_run(without, f, args, 1, &y, 1, NULL, &err), UNSUPPORTED,
             "function 'g', node 'b': the runtime was opened without operator 'mine.Bad'");
    ck_fails(troupe_plan_make(without, f, NULL, &plan, &err), UNSUPPORTED, "without");
    ck_fails(troupe_call(without, f, args, 1, NULL, outcome_note, &outcome, NULL, &err),
             UNSUPPORTED, "without");
    for (int i = 0; i < 2; i++) {
        ck_ok(troupe_run(with, f, args, 1, &y, 1, NULL, &err));
        troupe_tensor_release(&y);
        /* The same name and row, but another set: it shares no plan. */
        ck_fails(troupe_run(with, twin, args, 1, &y, 1, NULL, &err), UNSUPPORTED,
                 "with another operator 'mine.Bad'");
    }
    ck_assert_int_eq(troupe_close(&without), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&with), TROUPE_OK);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    troupe_function_release(&twin);
    troupe_operators_release(&set);
    troupe_operators_release(&other);
    ck_assert_int_eq(mine.frees, 6);
    ck_assert_int_eq(others.frees, 6);
}
END_TEST

START_TEST(a_full_pool_is_told_to_who_makes_a_result)
{
    struct trial s = {0};
    troupe_error err;
    trial_open(&s, "function f(x: f32[n]) -> (y)\n  y = mine.Positive(x)\n", "cpu:0", 0);
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[1] [1]"));
    bool failed = false;
    for (uint64_t n = 1; n < 4; n++) {
        ck_ok(troupe_device_fail_at(s.stand.runtime, "cpu:0", n));
        const troupe_status status = RUN(&s.stand, s.f, NULL, "f32[1] [1]");
        failed |= status == TROUPE_EXHAUSTED && strstr(s.stand.err.text, "mine.Positive");
        ck_assert(status == TROUPE_OK || status == TROUPE_EXHAUSTED);
    }
    ck_assert(failed);
    ck_ok(troupe_device_fail_at(s.stand.runtime, "cpu:0", 0));
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[1] [1]"));
    trial_close(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("runtime/operators_fail");
    TCase *fails = tcase_create("failures");
    const int n = TP_COUNT(workers);
    tcase_add_loop_test(
        fails, a_failure_names_node_function_device_and_operator_and_the_next_call_works, 0,
        n * (int)TP_COUNT(faults));
    tcase_add_loop_test(fails, a_checked_operator_fails_when_it_writes_where_it_must_not, 0,
                        TP_COUNT(seen));
    tcase_add_test(fails, results_of_unknown_shape_are_made_once_as_was_said);
    tcase_add_test(fails, a_shape_that_changes_its_mind_is_found_out);
    tcase_add_loop_test(fails, what_waits_is_refused_in_a_callback_of_an_operator, 0, n);
    tcase_add_test(fails, a_runtime_runs_only_the_operators_that_it_was_opened_with);
    tcase_add_test(fails, a_full_pool_is_told_to_who_makes_a_result);
    suite_add_tcase(s, fails);
    return rehearsal_run(s);
}
