/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_closing.c - how many calls there may be, how a runtime closes, and forks.
 */
#include <malloc.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rows.h"

#define WAIT_MS 10000

/* -- Limits
 * -------------------------------------------------------------------------------------- */

START_TEST(over_max_calls_a_call_is_refused_as_busy_and_nothing_was_started)
{
    troupe_error err;
    troupe_runtime *runtime = rows_open(0, 5);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1), *results[2];
    for (int round = 0; round < 3; round++) {
        struct outcome outcomes[5] = {{0}}, none = {0};
        uint64_t call = 77, calls[5];
        for (int i = 0; i < 5; i++)
            calls[i] = rows_call(runtime, f, (float)i, &outcomes[i]);
        ck_assert_int_eq(troupe_call(runtime, f, (const troupe_tensor *const[]){x}, 1, NULL,
                                     outcome_note, &none, &call, &err),
                         TROUPE_BUSY);
        ck_assert_uint_eq(call, 77);
        ck_assert_int_eq(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, results,
                                    2, NULL, &err),
                         TROUPE_BUSY);
        for (int i = 0; i < 5; i++) {
            ck_assert_int_eq(troupe_wait(runtime, calls[i], -1), TROUPE_OK);
            rows_ended(&outcomes[i], (float)i);
        }
        ck_assert_int_eq(none.ended, 0);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

/* 1023 callers have numbers, one of which is the runtime's own. */
START_TEST(more_callers_than_there_are_numbers_are_refused_and_closed_ones_are_used_again)
{
    static troupe_caller *callers[1100];
    troupe_error err;
    troupe_runtime *runtime = rows_open(0, 0);
    int n = 0;
    while (troupe_caller_open(runtime, &callers[n], &err) == TROUPE_OK)
        ck_assert_int_lt(++n, 1100);
    ck_assert_int_eq(err.code, TROUPE_EXHAUSTED);
    ck_assert_int_eq(n, TP_CALLERS_MAX - 1);
    ck_assert_int_eq(troupe_caller_close(&callers[7]), TROUPE_OK);
    ck_ok(troupe_caller_open(runtime, &callers[7], &err));
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(troupe_caller_close(&callers[i]), TROUPE_OK);
    rows_close(runtime);
}
END_TEST

static uint64_t heap_requests(void)
{
    return tp_alloc_asked();
}

START_TEST(after_a_hundred_warm_calls_a_thousand_more_allocate_nothing)
{
    troupe_error err;
    if (getenv("TROUPE_WIRE")) return; /* the codec allocates */
    troupe_runtime *runtime = rows_open(0, 0);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(3), *results[2];
    const troupe_tensor *const args[] = {x};
    size_t used = 0;
    tp_alloc_fail_at(0, 0); /* counts from here on */
    for (int i = 0; i < 1100; i++) {
        struct outcome outcome = {0};
        if (i == 100) {
            tp_alloc_fail_at(0, 0);
            used = mallinfo2().uordblks;
        }
        ck_ok(troupe_run(runtime, f, args, 1, results, 2, NULL, &err));
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
        outcome_call(runtime, f, args, NULL, &outcome);
        dispatch_all(runtime);
        rows_ended(&outcome, 3);
    }
    ck_assert_uint_eq(heap_requests(), 0);
    ck_assert_uint_eq(mallinfo2().uordblks, used);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

/* -- Closing and forking
 * -------------------------------------------------------------------------------------- */

START_TEST(a_close_with_calls_in_flight_runs_every_callback_once)
{
    for (int round = 0; round < 20; round++) {
        troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
        troupe_function *f = function_over(2);
        struct outcome outcomes[40] = {{0}};
        for (int i = 0; i < 40; i++)
            rows_call(runtime, f, (float)i, &outcomes[i]);
        if (round % 2) troupe_dispatch(runtime);
        rows_close(runtime);
        for (int i = 0; i < 40; i++) {
            ck_assert_int_eq(outcomes[i].ended, 1);
            if (outcomes[i].error.code)
                ck_assert_int_eq(outcomes[i].error.code, TROUPE_CANCELLED);
            else
                ck_rows(outcomes[i].results, (float)i);
            outcome_clear(&outcomes[i]);
        }
        troupe_function_release(&f);
    }
}
END_TEST

START_TEST(closing_nothing_is_nothing_to_do)
{
    troupe_runtime *runtime = NULL;
    troupe_caller *caller = NULL;
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
}
END_TEST

/* 0: everything there is refused, and closing harms nobody. */
static int in_child(troupe_runtime *runtime, troupe_caller *caller, const troupe_function *f,
                    uint64_t call)
{
    troupe_error err = {0};
    troupe_tensor *x = NULL, *results[2];
    troupe_caller *more;
    struct outcome outcome = {0};
    if (troupe_tensor_parse(&x, "f32[4] [1, 2, 3, 4]", &err)) return 1;
    const troupe_tensor *const args[] = {x};
    if (troupe_run(runtime, f, args, 1, results, 2, NULL, &err) != TROUPE_INVALID) return 2;
    if (!strstr(err.text, "parent")) return 3;
    if (troupe_call(runtime, f, args, 1, NULL, outcome_note, &outcome, NULL, &err) !=
        TROUPE_INVALID)
        return 4;
    if (troupe_wait(runtime, call, -1) != TROUPE_INVALID) return 5;
    if (troupe_dispatch(runtime) != TROUPE_INVALID) return 6;
    if (troupe_caller_open(runtime, &more, &err) != TROUPE_INVALID) return 7;
    troupe_cancel(runtime, call);
    if (troupe_caller_close(&caller) != TROUPE_OK || caller) return 8;
    if (troupe_close(&runtime) != TROUPE_OK || runtime) return 9;
    return 0;
}

START_TEST(a_forked_child_can_neither_call_nor_harm_the_runtime)
{
    troupe_error err;
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    troupe_caller *caller;
    struct outcome outcome = {0};
    int status;
    ck_ok(troupe_caller_open(runtime, &caller, &err));
    uint64_t call = rows_call(runtime, f, 1, &outcome);
    pid_t child = fork();
    if (child == 0) _exit(in_child(runtime, caller, f, call));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    rows_ended(&outcome, 1);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/closing");
    const int n = (int)ROWS_WORKERS;
    TCase *limits = tcase_create("limits"), *closing = tcase_create("closing");
    tcase_add_test(limits, over_max_calls_a_call_is_refused_as_busy_and_nothing_was_started);
    tcase_add_test(
        limits, more_callers_than_there_are_numbers_are_refused_and_closed_ones_are_used_again);
    tcase_add_test(limits, after_a_hundred_warm_calls_a_thousand_more_allocate_nothing);
    tcase_add_loop_test(closing, a_close_with_calls_in_flight_runs_every_callback_once, 0, n);
    tcase_add_test(closing, closing_nothing_is_nothing_to_do);
    tcase_add_loop_test(closing, a_forked_child_can_neither_call_nor_harm_the_runtime, 0, n);
    suite_add_tcase(s, limits);
    suite_add_tcase(s, closing);
    return s;
}

int main(void)
{
    return test_run(suite());
}
