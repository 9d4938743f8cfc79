/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_callers.c - calls, waits and callbacks, by the public functions.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tests/rows.h"

#define WAIT_MS 10000

/* -- Run, call, wait, dispatch
 * -------------------------------------------------------------------------------------- */

START_TEST(run_and_call_give_the_same_with_any_number_of_workers)
{
    troupe_error err;
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    for (int devices = 1; devices <= 2; devices++) {
        troupe_function *f = function_over(devices);
        for (int i = 0; i < 20; i++) {
            struct outcome outcome = {0};
            troupe_tensor *x = row_of((float)i), *results[2];
            ck_ok(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, results, 2, NULL,
                             &err));
            ck_rows(results, (float)i);
            troupe_tensor_release(&results[0]);
            troupe_tensor_release(&results[1]);
            troupe_tensor_release(&x);
            uint64_t call = rows_call(runtime, f, (float)i, &outcome);
            ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
            rows_ended(&outcome, (float)i);
        }
        troupe_function_release(&f);
    }
    rows_close(runtime);
}
END_TEST

START_TEST(no_callback_runs_inside_a_call)
{
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcomes[300] = {{0}};
    for (int i = 0; i < 300; i++) {
        rows_call(runtime, f, (float)i, &outcomes[i]);
        for (int j = 0; j <= i; j++)
            ck_assert_int_eq(outcomes[j].ended, 0);
    }
    for (int i = 0; i < 300; i++)
        while (!outcomes[i].ended)
            ck_assert_int_eq(troupe_wait(runtime, 0, WAIT_MS), TROUPE_OK);
    for (int i = 0; i < 300; i++)
        rows_ended(&outcomes[i], (float)i);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

START_TEST(a_wait_ends_at_its_timeout)
{
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    ck_assert_int_eq(troupe_wait(runtime, 0, 0), TROUPE_PENDING);
    uint64_t from = tp_clock_ns();
    ck_assert_int_eq(troupe_wait(runtime, 0, 30), TROUPE_PENDING);
    ck_assert_uint_ge(tp_clock_ns() - from, 30 * 1000000ull);
    uint64_t call = rows_call(runtime, f, 1, &outcome);
    troupe_status status = troupe_wait(runtime, call, 0);
    ck_assert(status == TROUPE_PENDING || (status == TROUPE_OK && outcome.ended));
    ck_assert_int_eq(troupe_wait(runtime, call, -1), TROUPE_OK);
    rows_ended(&outcome, 1);
    ck_assert_int_eq(troupe_wait(runtime, call, 0), TROUPE_OK); /* it has ended */
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

START_TEST(a_thread_that_looks_for_work_for_long_keeps_to_its_timeout)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = rows_workers[_i];
    options.spin_us = INT_MAX;
    ck_ok(troupe_open(&runtime, &options, &err));
    uint64_t from = tp_clock_ns();
    ck_assert_int_eq(troupe_wait(runtime, 0, 20), TROUPE_PENDING);
    ck_assert_uint_lt(tp_clock_ns() - from, WAIT_MS * 1000000ull);
    rows_close(runtime);
}
END_TEST

START_TEST(a_number_that_was_never_given_out_is_not_found)
{
    static const uint64_t never[] = {1, 12345, UINT64_MAX, 1ull << 54 | 1, 5ull << 37 | 1};
    troupe_runtime *runtime = rows_open(0, 0);
    uint64_t steps, all;
    for (size_t i = 0; i < TP_COUNT(never); i++) {
        ck_assert_int_eq(troupe_wait(runtime, never[i], 0), TROUPE_NOT_FOUND);
        ck_assert_int_eq(troupe_progress(runtime, never[i], &steps, &all), TROUPE_NOT_FOUND);
        troupe_cancel(runtime, never[i]);
    }
    rows_close(runtime);
}
END_TEST

START_TEST(progress_grows_to_all_steps_and_is_gone_with_the_call)
{
    troupe_runtime *runtime = rows_open(0, 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    uint64_t steps = 99, all = 99;
    uint64_t call = rows_call(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_progress(runtime, call, &steps, &all), TROUPE_OK);
    ck_assert_uint_eq(steps + all, 0); /* not planned yet */
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    ck_assert_int_eq(troupe_progress(runtime, call, &steps, &all), TROUPE_NOT_FOUND);
    outcome_clear(&outcome);
    call = rows_call(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_progress(runtime, call, &steps, &all), TROUPE_OK);
    ck_assert_uint_eq(steps, 0);
    ck_assert_uint_eq(all, 5);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    outcome_clear(&outcome);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

START_TEST(results_that_are_kept_outlive_the_runtime)
{
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcomes[10] = {{0}};
    for (int i = 0; i < 10; i++) {
        uint64_t call = rows_call(runtime, f, (float)i, &outcomes[i]);
        ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    }
    rows_close(runtime);
    troupe_function_release(&f);
    for (int i = 0; i < 10; i++)
        rows_ended(&outcomes[i], (float)i);
}
END_TEST

/* Without workers a wait that gives up leaves shards behind, some with a permit. */
START_TEST(a_run_finishes_wherever_a_wait_of_the_same_thread_gave_up)
{
    troupe_error err;
    troupe_runtime *runtime = rows_open(0, 0);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1), *results[2];
    for (int waits = 0; waits < 40; waits++) {
        struct outcome outcome = {0};
        uint64_t call = rows_call(runtime, f, 2, &outcome);
        for (int i = 0; i < waits; i++)
            ck_assert_int_ge(troupe_wait(runtime, call, 0), TROUPE_OK);
        ck_ok(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, results, 2, NULL,
                         &err));
        ck_rows(results, 1);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
        ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
        rows_ended(&outcome, 2);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

START_TEST(waits_of_no_time_bring_a_call_to_its_end)
{
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    uint64_t call = rows_call(runtime, f, 3, &outcome), began = tp_clock_ns();
    while (troupe_wait(runtime, call, 0) == TROUPE_PENDING)
        ck_assert(tp_clock_ns() - began < WAIT_MS * 1000000ull);
    rows_ended(&outcome, 3);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

/* -- In a callback
 * -------------------------------------------------------------------------------------- */

struct nosy {
    troupe_runtime *runtime;
    troupe_caller *caller;
    const troupe_function *f;
    int ended;
    uint64_t call;
    struct outcome inner;
};

static troupe_status run_inside(const struct nosy *nosy)
{
    troupe_tensor *x = row_of(1), *results[2];
    troupe_status status = troupe_run(nosy->runtime, nosy->f, (const troupe_tensor *const[]){x},
                                      1, results, 2, NULL, NULL);
    troupe_tensor_release(&x);
    return status;
}

static void be_nosy(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                    size_t n)
{
    struct nosy *nosy = arg;
    troupe_runtime *same = nosy->runtime;
    (void)error;
    (void)results;
    (void)n;
    nosy->ended++;
    ck_assert_int_eq(troupe_wait(nosy->runtime, nosy->call, -1), TROUPE_INVALID);
    ck_assert_int_eq(troupe_wait(nosy->runtime, 0, -1), TROUPE_INVALID);
    ck_assert_int_eq(troupe_dispatch(nosy->runtime), TROUPE_INVALID);
    if (nosy->f) ck_assert_int_eq(run_inside(nosy), TROUPE_INVALID);
    ck_assert_int_eq(troupe_close(&same), TROUPE_INVALID);
    ck_assert_ptr_eq(same, nosy->runtime);
}

static void call_nosy(troupe_runtime *runtime, const troupe_function *f, struct nosy *nosy)
{
    troupe_error err;
    troupe_tensor *x = row_of(1);
    *nosy = (struct nosy){.runtime = runtime, .f = f};
    ck_ok(troupe_call(runtime, f, (const troupe_tensor *const[]){x}, 1, NULL, be_nosy, nosy,
                      &nosy->call, &err));
    troupe_tensor_release(&x);
}

START_TEST(run_wait_dispatch_and_close_are_invalid_in_a_callback)
{
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct nosy nosy;
    call_nosy(runtime, f, &nosy);
    ck_assert_int_eq(troupe_wait(runtime, nosy.call, WAIT_MS), TROUPE_OK);
    ck_assert_int_eq(nosy.ended, 1);
    call_nosy(runtime, f, &nosy);
    while (!nosy.ended)
        troupe_dispatch(runtime);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

START_TEST(close_is_invalid_in_a_callback_that_a_close_runs)
{
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct nosy nosy[3];
    for (int i = 0; i < 3; i++)
        call_nosy(runtime, f, &nosy[i]);
    rows_close(runtime);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(nosy[i].ended, 1);
    troupe_function_release(&f);
}
END_TEST

static void close_caller(void *arg, const troupe_error *error,
                         const troupe_tensor *const *results, size_t n)
{
    struct nosy *nosy = arg;
    troupe_caller *same = nosy->caller;
    troupe_runtime *whole = nosy->runtime;
    (void)error;
    (void)results;
    (void)n;
    nosy->ended++;
    ck_assert_int_eq(troupe_caller_close(&same), TROUPE_INVALID);
    ck_assert_ptr_eq(same, nosy->caller);
    ck_assert_int_eq(troupe_caller_wait(same, 0, 0), TROUPE_INVALID);
    ck_assert_int_eq(troupe_close(&whole), TROUPE_INVALID);
}

START_TEST(closing_a_caller_ends_its_calls_and_not_those_of_others)
{
    troupe_error err;
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct nosy nosy = {.runtime = runtime};
    struct outcome outcome = {0};
    troupe_tensor *x = row_of(1);
    troupe_caller *caller;
    ck_ok(troupe_caller_open(runtime, &caller, &err));
    nosy.caller = caller;
    ck_ok(troupe_caller_call(caller, f, (const troupe_tensor *const[]){x}, 1, NULL,
                             close_caller, &nosy, &nosy.call, &err));
    uint64_t call = rows_call(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_ptr_null(caller);
    ck_assert_int_eq(nosy.ended, 1);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    rows_ended(&outcome, 1);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

/* Each callback starts the next call, with the results as its arguments. */
struct chain {
    troupe_runtime *runtime;
    const troupe_function *f;
    int left, ended;
    float last;
};

static void go_on(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                  size_t n)
{
    troupe_error err;
    struct chain *chain = arg;
    ck_assert_msg(!error->code, "%s", error->text);
    ck_assert_uint_eq(n, 1);
    chain->ended++;
    chain->last = *(const float *)troupe_tensor_data(results[0]);
    if (chain->left-- > 0)
        ck_ok(
            troupe_call(chain->runtime, chain->f, results, 1, NULL, go_on, chain, NULL, &err));
}

START_TEST(a_callback_may_start_the_next_call)
{
    troupe_error err;
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_of("function next(x: f32[]) -> (y)\n"
                                     "  one = f32[] 1\n"
                                     "  a = Add(x, one) @cpu:1\n"
                                     "  y = Add(a, one) @cpu:0\n",
                                     NULL);
    struct chain chain = {runtime, f, 500, 0, 0};
    troupe_tensor *x = value_of("f32[] 0");
    ck_ok(troupe_call(runtime, f, (const troupe_tensor *const[]){x}, 1, NULL, go_on, &chain,
                      NULL, &err));
    while (chain.ended < 501)
        ck_assert_int_eq(troupe_wait(runtime, 0, WAIT_MS), TROUPE_OK);
    ck_assert_float_eq(chain.last, 1002);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

/* A callback of a caller that is being closed: it tries to go on for ever. */
static void try_again(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                      size_t n)
{
    struct nosy *nosy = arg;
    troupe_error err;
    troupe_tensor *x = row_of(1);
    (void)error;
    (void)results;
    (void)n;
    nosy->ended++;
    ck_fails(troupe_caller_call(nosy->caller, nosy->f, (const troupe_tensor *const[]){x}, 1,
                                NULL, try_again, nosy, NULL, &err),
             CANCELLED, "closed");
    troupe_tensor_release(&x);
}

START_TEST(a_caller_or_runtime_that_is_being_closed_starts_no_calls)
{
    troupe_error err;
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    troupe_caller *callers[2];
    struct nosy nosy[2];
    troupe_tensor *x = row_of(1);
    for (int i = 0; i < 2; i++) {
        ck_ok(troupe_caller_open(runtime, &callers[i], &err));
        nosy[i] = (struct nosy){.runtime = runtime, .caller = callers[i], .f = f};
        ck_ok(troupe_caller_call(callers[i], f, (const troupe_tensor *const[]){x}, 1, NULL,
                                 try_again, &nosy[i], NULL, &err));
    }
    ck_assert_int_eq(troupe_caller_close(&callers[0]), TROUPE_OK);
    rows_close(runtime);
    ck_assert_int_eq(nosy[0].ended, 1);
    ck_assert_int_eq(nosy[1].ended, 1);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/callers");
    const int n = (int)ROWS_WORKERS;
    TCase *calls = tcase_create("calls"), *callbacks = tcase_create("callbacks");
    tcase_add_loop_test(calls, run_and_call_give_the_same_with_any_number_of_workers, 0, n);
    tcase_add_test(calls, a_run_finishes_wherever_a_wait_of_the_same_thread_gave_up);
    tcase_add_loop_test(calls, waits_of_no_time_bring_a_call_to_its_end, 0, n);
    tcase_add_loop_test(calls, no_callback_runs_inside_a_call, 0, n);
    tcase_add_loop_test(calls, a_wait_ends_at_its_timeout, 0, n);
    tcase_add_loop_test(calls, a_thread_that_looks_for_work_for_long_keeps_to_its_timeout, 0,
                        n);
    tcase_add_test(calls, a_number_that_was_never_given_out_is_not_found);
    tcase_add_test(calls, progress_grows_to_all_steps_and_is_gone_with_the_call);
    tcase_add_loop_test(calls, results_that_are_kept_outlive_the_runtime, 0, n);
    tcase_add_loop_test(callbacks, run_wait_dispatch_and_close_are_invalid_in_a_callback, 0, n);
    tcase_add_loop_test(callbacks, close_is_invalid_in_a_callback_that_a_close_runs, 0, n);
    tcase_add_loop_test(callbacks, closing_a_caller_ends_its_calls_and_not_those_of_others, 0,
                        n);
    tcase_add_loop_test(callbacks, a_callback_may_start_the_next_call, 0, n);
    tcase_add_loop_test(callbacks, a_caller_or_runtime_that_is_being_closed_starts_no_calls, 0,
                        n);
    suite_add_tcase(s, calls);
    suite_add_tcase(s, callbacks);
    return s;
}

int main(void)
{
    return test_run(suite());
}
