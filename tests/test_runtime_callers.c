/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_callers.c - calls, callbacks, fds, limits and closing, by the public
 * functions.
 */
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/rehearsal.h"

#define WAIT_MS 10000

/* A runtime of two devices with so many workers. */
static troupe_runtime *open_with(int workers, size_t max_calls)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1";
    options.workers = workers;
    options.max_calls = max_calls;
    ck_ok(troupe_open(&runtime, &options, &err));
    return runtime;
}

static void end(troupe_runtime *runtime)
{
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
    ck_assert_ptr_null(runtime);
}

static const int workers[] = {0, 1, 3};

static uint64_t call_row(troupe_runtime *runtime, const troupe_function *f, float first,
                         struct outcome *outcome)
{
    troupe_tensor *x = row_of(first);
    uint64_t call = outcome_call(runtime, f, (const troupe_tensor *const[]){x}, NULL, outcome);
    troupe_tensor_release(&x);
    return call;
}

static void ck_ended(struct outcome *outcome, float first)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code, "%s", outcome->error.text);
    ck_rows(outcome->results, first);
    outcome_clear(outcome);
}

/* -- Run, call, wait, dispatch
 * -------------------------------------------------------------------------------------- */

START_TEST(run_and_call_give_the_same_with_any_number_of_workers)
{
    troupe_error err;
    troupe_runtime *runtime = open_with(workers[_i], 0);
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
            uint64_t call = call_row(runtime, f, (float)i, &outcome);
            ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
            ck_ended(&outcome, (float)i);
        }
        troupe_function_release(&f);
    }
    end(runtime);
}
END_TEST

START_TEST(no_callback_runs_inside_a_call)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcomes[300] = {{0}};
    for (int i = 0; i < 300; i++) {
        call_row(runtime, f, (float)i, &outcomes[i]);
        for (int j = 0; j <= i; j++)
            ck_assert_int_eq(outcomes[j].ended, 0);
    }
    for (int i = 0; i < 300; i++)
        while (!outcomes[i].ended)
            ck_assert_int_eq(troupe_wait(runtime, 0, WAIT_MS), TROUPE_OK);
    for (int i = 0; i < 300; i++)
        ck_ended(&outcomes[i], (float)i);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(a_wait_ends_at_its_timeout)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    ck_assert_int_eq(troupe_wait(runtime, 0, 0), TROUPE_PENDING);
    uint64_t from = tp_clock_ns();
    ck_assert_int_eq(troupe_wait(runtime, 0, 30), TROUPE_PENDING);
    ck_assert_uint_ge(tp_clock_ns() - from, 30 * 1000000ull);
    uint64_t call = call_row(runtime, f, 1, &outcome);
    troupe_status status = troupe_wait(runtime, call, 0);
    ck_assert(status == TROUPE_PENDING || (status == TROUPE_OK && outcome.ended));
    ck_assert_int_eq(troupe_wait(runtime, call, -1), TROUPE_OK);
    ck_ended(&outcome, 1);
    ck_assert_int_eq(troupe_wait(runtime, call, 0), TROUPE_OK); /* it has ended */
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(a_thread_that_looks_for_work_for_long_keeps_to_its_timeout)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = workers[_i];
    options.spin_us = INT_MAX;
    ck_ok(troupe_open(&runtime, &options, &err));
    uint64_t from = tp_clock_ns();
    ck_assert_int_eq(troupe_wait(runtime, 0, 20), TROUPE_PENDING);
    ck_assert_uint_lt(tp_clock_ns() - from, WAIT_MS * 1000000ull);
    end(runtime);
}
END_TEST

START_TEST(a_number_that_was_never_given_out_is_not_found)
{
    static const uint64_t never[] = {1, 12345, UINT64_MAX, 1ull << 54 | 1, 5ull << 37 | 1};
    troupe_runtime *runtime = open_with(0, 0);
    uint64_t steps, all;
    for (size_t i = 0; i < TP_COUNT(never); i++) {
        ck_assert_int_eq(troupe_wait(runtime, never[i], 0), TROUPE_NOT_FOUND);
        ck_assert_int_eq(troupe_progress(runtime, never[i], &steps, &all), TROUPE_NOT_FOUND);
        troupe_cancel(runtime, never[i]);
    }
    end(runtime);
}
END_TEST

START_TEST(progress_grows_to_all_steps_and_is_gone_with_the_call)
{
    troupe_runtime *runtime = open_with(0, 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    uint64_t steps = 99, all = 99;
    uint64_t call = call_row(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_progress(runtime, call, &steps, &all), TROUPE_OK);
    ck_assert_uint_eq(steps + all, 0); /* not planned yet */
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    ck_assert_int_eq(troupe_progress(runtime, call, &steps, &all), TROUPE_NOT_FOUND);
    outcome_clear(&outcome);
    call = call_row(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_progress(runtime, call, &steps, &all), TROUPE_OK);
    ck_assert_uint_eq(steps, 0);
    ck_assert_uint_eq(all, 5);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    outcome_clear(&outcome);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* poll and dispatch, nothing else. */
static void poll_to_end(troupe_runtime *runtime, const struct outcome *outcomes, int n)
{
    struct pollfd at = {.fd = troupe_fd(runtime), .events = POLLIN};
    ck_assert_int_ge(at.fd, 0);
    for (int i = 0; i < n; i++) {
        while (!outcomes[i].ended) {
            ck_assert_int_eq(poll(&at, 1, WAIT_MS), 1);
            troupe_status status = troupe_dispatch(runtime);
            ck_assert(status == TROUPE_OK || status == TROUPE_PENDING);
        }
    }
}

START_TEST(the_fd_is_readable_as_long_as_a_dispatch_has_something_to_do)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct pollfd at = {.fd = troupe_fd(runtime), .events = POLLIN};
    ck_assert_int_eq(troupe_fd(runtime), at.fd);
    for (int round = 0; round < 50; round++) {
        struct outcome outcomes[8] = {{0}};
        for (int i = 0; i < 8; i++)
            call_row(runtime, f, (float)i, &outcomes[i]);
        poll_to_end(runtime, outcomes, 8);
        for (int i = 0; i < 8; i++)
            ck_ended(&outcomes[i], (float)i);
    }
    while (troupe_dispatch(runtime) == TROUPE_OK)
        ;
    ck_assert_int_eq(poll(&at, 1, 0), 0); /* nothing is due */
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* A function that no runtime has a plan of yet: workers make it, and run the call. */
static troupe_function *unknown_function(int number)
{
    char text[100];
    snprintf(text, sizeof(text),
             "function f(x: f32[4]) -> (y)\n  c = f32[] %d\n  y = Add(x, c)\n", number);
    return function_of(text, NULL);
}

/* Whoever tells of the end does so before it, so nothing is told late. */
START_TEST(the_fd_is_unreadable_as_soon_as_nothing_is_due)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    struct pollfd at = {.fd = troupe_fd(runtime), .events = POLLIN};
    for (int round = 0; round < 2000; round++) {
        struct outcome outcome = {0};
        troupe_function *f = unknown_function(round);
        const uint64_t call = call_row(runtime, f, 1, &outcome);
        if (round % 2)
            ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
        else
            poll_to_end(runtime, &outcome, 1);
        ck_assert_int_eq(poll(&at, 1, 0), 0);
        ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
        outcome_clear(&outcome);
        troupe_function_release(&f);
    }
    end(runtime);
}
END_TEST

/* A wait for the first call leaves the planning of the second one, which nobody else does. */
START_TEST(the_fd_stays_readable_while_a_call_waits_for_its_plan)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    const int fd = troupe_fd(runtime);
    for (int round = 0; round < 20; round++) {
        struct outcome outcomes[2] = {{0}};
        troupe_function *known = function_over(2);
        troupe_function *unknown = unknown_function(round);
        uint64_t call = call_row(runtime, known, 1, &outcomes[0]);
        call_row(runtime, unknown, 1, &outcomes[1]);
        ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
        ck_ended(&outcomes[0], 1);
        outcomes[0].ended = 1;
        ck_assert_int_eq(troupe_fd(runtime), fd);
        poll_to_end(runtime, outcomes, 2);
        ck_assert_msg(!outcomes[1].error.code, "%s", outcomes[1].error.text);
        outcome_clear(&outcomes[1]);
        troupe_function_release(&known);
        troupe_function_release(&unknown);
    }
    end(runtime);
}
END_TEST

/* The fd was asked for after the call had ended. */
START_TEST(an_fd_that_is_asked_for_late_is_readable_at_once)
{
    troupe_runtime *runtime = open_with(0, 0);
    troupe_function *f = function_over(2);
    struct outcome outcomes[2] = {{0}};
    call_row(runtime, f, 1, &outcomes[0]);
    call_row(runtime, f, 2, &outcomes[1]);
    poll_to_end(runtime, outcomes, 2);
    ck_ended(&outcomes[0], 1);
    ck_ended(&outcomes[1], 2);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(results_that_are_kept_outlive_the_runtime)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcomes[10] = {{0}};
    for (int i = 0; i < 10; i++) {
        uint64_t call = call_row(runtime, f, (float)i, &outcomes[i]);
        ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    }
    end(runtime);
    troupe_function_release(&f);
    for (int i = 0; i < 10; i++)
        ck_ended(&outcomes[i], (float)i);
}
END_TEST

/* Without workers a wait that gives up leaves shards behind, some with a permit. */
START_TEST(a_run_finishes_wherever_a_wait_of_the_same_thread_gave_up)
{
    troupe_error err;
    troupe_runtime *runtime = open_with(0, 0);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1), *results[2];
    for (int waits = 0; waits < 40; waits++) {
        struct outcome outcome = {0};
        uint64_t call = call_row(runtime, f, 2, &outcome);
        for (int i = 0; i < waits; i++)
            ck_assert_int_ge(troupe_wait(runtime, call, 0), TROUPE_OK);
        ck_ok(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, results, 2, NULL,
                         &err));
        ck_rows(results, 1);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
        ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
        ck_ended(&outcome, 2);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(waits_of_no_time_bring_a_call_to_its_end)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    uint64_t call = call_row(runtime, f, 3, &outcome), began = tp_clock_ns();
    while (troupe_wait(runtime, call, 0) == TROUPE_PENDING)
        ck_assert(tp_clock_ns() - began < WAIT_MS * 1000000ull);
    ck_ended(&outcome, 3);
    troupe_function_release(&f);
    end(runtime);
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
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct nosy nosy;
    call_nosy(runtime, f, &nosy);
    ck_assert_int_eq(troupe_wait(runtime, nosy.call, WAIT_MS), TROUPE_OK);
    ck_assert_int_eq(nosy.ended, 1);
    call_nosy(runtime, f, &nosy);
    while (!nosy.ended)
        troupe_dispatch(runtime);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

START_TEST(close_is_invalid_in_a_callback_that_a_close_runs)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct nosy nosy[3];
    for (int i = 0; i < 3; i++)
        call_nosy(runtime, f, &nosy[i]);
    end(runtime);
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
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct nosy nosy = {.runtime = runtime};
    struct outcome outcome = {0};
    troupe_tensor *x = row_of(1);
    troupe_caller *caller;
    ck_ok(troupe_caller_open(runtime, &caller, &err));
    nosy.caller = caller;
    ck_ok(troupe_caller_call(caller, f, (const troupe_tensor *const[]){x}, 1, NULL,
                             close_caller, &nosy, &nosy.call, &err));
    uint64_t call = call_row(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_ptr_null(caller);
    ck_assert_int_eq(nosy.ended, 1);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    ck_ended(&outcome, 1);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    end(runtime);
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
    troupe_runtime *runtime = open_with(workers[_i], 0);
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
    end(runtime);
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
    troupe_runtime *runtime = open_with(workers[_i], 0);
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
    end(runtime);
    ck_assert_int_eq(nosy[0].ended, 1);
    ck_assert_int_eq(nosy[1].ended, 1);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}
END_TEST

/* -- Limits
 * -------------------------------------------------------------------------------------- */

START_TEST(over_max_calls_a_call_is_refused_as_busy_and_nothing_was_started)
{
    troupe_error err;
    troupe_runtime *runtime = open_with(0, 5);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1), *results[2];
    for (int round = 0; round < 3; round++) {
        struct outcome outcomes[5] = {{0}}, none = {0};
        uint64_t call = 77;
        for (int i = 0; i < 5; i++)
            call_row(runtime, f, (float)i, &outcomes[i]);
        ck_assert_int_eq(troupe_call(runtime, f, (const troupe_tensor *const[]){x}, 1, NULL,
                                     outcome_note, &none, &call, &err),
                         TROUPE_BUSY);
        ck_assert_uint_eq(call, 77);
        ck_assert_int_eq(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, results,
                                    2, NULL, &err),
                         TROUPE_BUSY);
        while (troupe_dispatch(runtime) == TROUPE_OK)
            ;
        for (int i = 0; i < 5; i++)
            ck_ended(&outcomes[i], (float)i);
        ck_assert_int_eq(none.ended, 0);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* 1023 callers have numbers, one of which is the runtime's own. */
START_TEST(more_callers_than_there_are_numbers_are_refused_and_closed_ones_are_used_again)
{
    static troupe_caller *callers[1100];
    troupe_error err;
    troupe_runtime *runtime = open_with(0, 0);
    int n = 0;
    while (troupe_caller_open(runtime, &callers[n], &err) == TROUPE_OK)
        ck_assert_int_lt(++n, 1100);
    ck_assert_int_eq(err.code, TROUPE_EXHAUSTED);
    ck_assert_int_eq(n, TP_CALLERS_MAX - 1);
    ck_assert_int_eq(troupe_caller_close(&callers[7]), TROUPE_OK);
    ck_ok(troupe_caller_open(runtime, &callers[7], &err));
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(troupe_caller_close(&callers[i]), TROUPE_OK);
    end(runtime);
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
    troupe_runtime *runtime = open_with(0, 0);
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
        while (troupe_dispatch(runtime) == TROUPE_OK)
            ;
        ck_ended(&outcome, 3);
    }
    ck_assert_uint_eq(heap_requests(), 0);
    ck_assert_uint_eq(mallinfo2().uordblks, used);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

static double cpu_seconds(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

START_TEST(an_idle_runtime_uses_no_processor)
{
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    struct pollfd at = {.fd = troupe_fd(runtime), .events = POLLIN};
    uint64_t call = call_row(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    outcome_clear(&outcome);
    ck_assert_int_eq(poll(&at, 1, 100), 0); /* workers stop looking */
    const double before = cpu_seconds();
    ck_assert_int_eq(poll(&at, 1, 300), 0);
    ck_assert_double_lt(cpu_seconds() - before, 0.003);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

/* -- Closing and forking
 * -------------------------------------------------------------------------------------- */

START_TEST(a_close_with_calls_in_flight_runs_every_callback_once)
{
    for (int round = 0; round < 20; round++) {
        troupe_runtime *runtime = open_with(workers[_i], 0);
        troupe_function *f = function_over(2);
        struct outcome outcomes[40] = {{0}};
        for (int i = 0; i < 40; i++)
            call_row(runtime, f, (float)i, &outcomes[i]);
        if (round % 2) troupe_dispatch(runtime);
        end(runtime);
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
    troupe_runtime *runtime = open_with(workers[_i], 0);
    troupe_function *f = function_over(2);
    troupe_caller *caller;
    struct outcome outcome = {0};
    int status;
    ck_ok(troupe_caller_open(runtime, &caller, &err));
    uint64_t call = call_row(runtime, f, 1, &outcome);
    pid_t child = fork();
    if (child == 0) _exit(in_child(runtime, caller, f, call));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    ck_ended(&outcome, 1);
    troupe_function_release(&f);
    end(runtime);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/callers");
    const int n = (int)TP_COUNT(workers);
    TCase *calls = tcase_create("calls"), *callbacks = tcase_create("callbacks"),
          *limits = tcase_create("limits"), *closing = tcase_create("closing");
    tcase_add_loop_test(calls, run_and_call_give_the_same_with_any_number_of_workers, 0, n);
    tcase_add_test(calls, a_run_finishes_wherever_a_wait_of_the_same_thread_gave_up);
    tcase_add_loop_test(calls, waits_of_no_time_bring_a_call_to_its_end, 0, n);
    tcase_add_loop_test(calls, no_callback_runs_inside_a_call, 0, n);
    tcase_add_loop_test(calls, a_wait_ends_at_its_timeout, 0, n);
    tcase_add_loop_test(calls, a_thread_that_looks_for_work_for_long_keeps_to_its_timeout, 0,
                        n);
    tcase_add_test(calls, a_number_that_was_never_given_out_is_not_found);
    tcase_add_test(calls, progress_grows_to_all_steps_and_is_gone_with_the_call);
    tcase_add_loop_test(calls, the_fd_is_readable_as_long_as_a_dispatch_has_something_to_do, 0,
                        n);
    tcase_add_loop_test(calls, the_fd_is_unreadable_as_soon_as_nothing_is_due, 0, n);
    tcase_add_loop_test(calls, the_fd_stays_readable_while_a_call_waits_for_its_plan, 0, n);
    tcase_add_test(calls, an_fd_that_is_asked_for_late_is_readable_at_once);
    tcase_add_loop_test(calls, results_that_are_kept_outlive_the_runtime, 0, n);
    tcase_add_loop_test(callbacks, run_wait_dispatch_and_close_are_invalid_in_a_callback, 0, n);
    tcase_add_loop_test(callbacks, close_is_invalid_in_a_callback_that_a_close_runs, 0, n);
    tcase_add_loop_test(callbacks, closing_a_caller_ends_its_calls_and_not_those_of_others, 0,
                        n);
    tcase_add_loop_test(callbacks, a_callback_may_start_the_next_call, 0, n);
    tcase_add_loop_test(callbacks, a_caller_or_runtime_that_is_being_closed_starts_no_calls, 0,
                        n);
    tcase_add_test(limits, over_max_calls_a_call_is_refused_as_busy_and_nothing_was_started);
    tcase_add_test(
        limits, more_callers_than_there_are_numbers_are_refused_and_closed_ones_are_used_again);
    tcase_add_test(limits, after_a_hundred_warm_calls_a_thousand_more_allocate_nothing);
    tcase_add_loop_test(limits, an_idle_runtime_uses_no_processor, 0, n);
    tcase_add_loop_test(closing, a_close_with_calls_in_flight_runs_every_callback_once, 0, n);
    tcase_add_test(closing, closing_nothing_is_nothing_to_do);
    tcase_add_loop_test(closing, a_forked_child_can_neither_call_nor_harm_the_runtime, 0, n);
    suite_add_tcase(s, calls);
    suite_add_tcase(s, callbacks);
    suite_add_tcase(s, limits);
    suite_add_tcase(s, closing);
    return s;
}

int main(void)
{
    return test_run(suite());
}
