/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_fd.c - the fd of a caller, for event loops, and what an idle runtime uses.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>

#include "tests/rows.h"

#define WAIT_MS 10000

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
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct pollfd at = {.fd = troupe_fd(runtime), .events = POLLIN};
    ck_assert_int_eq(troupe_fd(runtime), at.fd);
    for (int round = 0; round < 50; round++) {
        struct outcome outcomes[8] = {{0}};
        for (int i = 0; i < 8; i++)
            rows_call(runtime, f, (float)i, &outcomes[i]);
        poll_to_end(runtime, outcomes, 8);
        for (int i = 0; i < 8; i++)
            rows_ended(&outcomes[i], (float)i);
    }
    while (troupe_dispatch(runtime) == TROUPE_OK)
        ;
    ck_assert_int_eq(poll(&at, 1, 0), 0); /* nothing is due */
    troupe_function_release(&f);
    rows_close(runtime);
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
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    struct pollfd at = {.fd = troupe_fd(runtime), .events = POLLIN};
    for (int round = 0; round < 2000; round++) {
        struct outcome outcome = {0};
        troupe_function *f = unknown_function(round);
        const uint64_t call = rows_call(runtime, f, 1, &outcome);
        if (round % 2)
            ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
        else
            poll_to_end(runtime, &outcome, 1);
        ck_assert_int_eq(poll(&at, 1, 0), 0);
        ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
        outcome_clear(&outcome);
        troupe_function_release(&f);
    }
    rows_close(runtime);
}
END_TEST

/* A wait for the first call leaves the planning of the second one, which nobody else does. */
START_TEST(the_fd_stays_readable_while_a_call_waits_for_its_plan)
{
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    const int fd = troupe_fd(runtime);
    for (int round = 0; round < 20; round++) {
        struct outcome outcomes[2] = {{0}};
        troupe_function *known = function_over(2);
        troupe_function *unknown = unknown_function(round);
        uint64_t call = rows_call(runtime, known, 1, &outcomes[0]);
        rows_call(runtime, unknown, 1, &outcomes[1]);
        ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
        rows_ended(&outcomes[0], 1);
        outcomes[0].ended = 1;
        ck_assert_int_eq(troupe_fd(runtime), fd);
        poll_to_end(runtime, outcomes, 2);
        ck_assert_msg(!outcomes[1].error.code, "%s", outcomes[1].error.text);
        outcome_clear(&outcomes[1]);
        troupe_function_release(&known);
        troupe_function_release(&unknown);
    }
    rows_close(runtime);
}
END_TEST

/* The fd was asked for after the call had ended. */
START_TEST(an_fd_that_is_asked_for_late_is_readable_at_once)
{
    troupe_runtime *runtime = rows_open(0, 0);
    troupe_function *f = function_over(2);
    struct outcome outcomes[2] = {{0}};
    rows_call(runtime, f, 1, &outcomes[0]);
    rows_call(runtime, f, 2, &outcomes[1]);
    poll_to_end(runtime, outcomes, 2);
    rows_ended(&outcomes[0], 1);
    rows_ended(&outcomes[1], 2);
    troupe_function_release(&f);
    rows_close(runtime);
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
    troupe_runtime *runtime = rows_open(rows_workers[_i], 0);
    troupe_function *f = function_over(2);
    struct outcome outcome = {0};
    struct pollfd at = {.fd = troupe_fd(runtime), .events = POLLIN};
    uint64_t call = rows_call(runtime, f, 1, &outcome);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    outcome_clear(&outcome);
    ck_assert_int_eq(poll(&at, 1, 100), 0); /* workers stop looking */
    const double before = cpu_seconds();
    ck_assert_int_eq(poll(&at, 1, 300), 0);
    ck_assert_double_lt(cpu_seconds() - before, 0.003);
    troupe_function_release(&f);
    rows_close(runtime);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/fd");
    const int n = (int)ROWS_WORKERS;
    TCase *calls = tcase_create("calls"), *limits = tcase_create("limits");
    tcase_add_loop_test(calls, the_fd_is_readable_as_long_as_a_dispatch_has_something_to_do, 0,
                        n);
    tcase_add_loop_test(calls, the_fd_is_unreadable_as_soon_as_nothing_is_due, 0, n);
    tcase_add_loop_test(calls, the_fd_stays_readable_while_a_call_waits_for_its_plan, 0, n);
    tcase_add_test(calls, an_fd_that_is_asked_for_late_is_readable_at_once);
    tcase_add_loop_test(limits, an_idle_runtime_uses_no_processor, 0, n);
    suite_add_tcase(s, calls);
    suite_add_tcase(s, limits);
    return s;
}

int main(void)
{
    return test_run(suite());
}
