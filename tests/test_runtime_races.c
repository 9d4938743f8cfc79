/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_races.c - calls that are cancelled as they end, plans, callers and runtimes that
 * come and go, and sleep, under real threads.
 */
#include <stdio.h>

#include "base/thread.h"
#include "tests/crowd.h"

static const int workers[] = {0, 1, 3};

/* -- Races with the end of a call
 * -------------------------------------------------------------------------------------- */

/* Cancel whatever call was published last, again and again. */
static void *cancel_many(void *arg)
{
    struct member *a = arg;
    member_await(a->crowd);
    while (atomic_load(&a->crowd->go) == 1) {
        member_pause(a, 3000);
        uint64_t call = atomic_load(&a->crowd->call);
        if (call) troupe_cancel(a->crowd->runtime, call);
    }
    return NULL;
}

/* Calls on this thread, while others cancel them; each ends once. */
static void race(struct crowd *crowd, struct member *a, int rounds,
                 const troupe_call_options *options)
{
    troupe_error err;
    troupe_caller *caller;
    struct member_call started;
    ck_ok(troupe_caller_open(crowd->runtime, &caller, &err));
    *a = (struct member){.crowd = crowd, .state = 5};
    for (int i = 0; i < rounds; i++) {
        troupe_call_options mine = TROUPE_CALL_OPTIONS_INIT;
        if (options) mine = *options;
        if (options) mine.deadline_s = 1e-9 * member_below(a, 20000);
        uint64_t call =
            member_start(a, caller, options ? &mine : NULL, &started, (float)(i % 100));
        atomic_store(&crowd->call, call);
        if (i % 2) member_pause(a, 2000);
        ck_assert_int_eq(troupe_caller_wait(caller, call, WAIT_MS), TROUPE_OK);
        ck_assert_int_eq(a->ended, i + 1);
        ck_assert_msg(!a->wrong[0], "%s", a->wrong);
    }
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
}

static void race_with_cancel(int rounds, int n_workers, const troupe_call_options *options)
{
    struct member canceller, a;
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", n_workers, 0), .f = f};
    canceller = (struct member){.crowd = &crowd, .state = 99};
    ck_assert_int_eq(pthread_create(&canceller.thread, NULL, cancel_many, &canceller), 0);
    crowd_go(&crowd, 1);
    race(&crowd, &a, rounds, options);
    crowd_go(&crowd, 2);
    pthread_join(canceller.thread, NULL);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}

START_TEST(a_call_that_is_cancelled_as_it_ends_ends_once)
{
    race_with_cancel(crowd_rounds(100000), workers[_i], NULL);
}
END_TEST

START_TEST(a_deadline_and_a_cancel_as_the_call_ends_end_it_once)
{
    const troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    race_with_cancel(crowd_rounds(30000), workers[_i], &options);
}
END_TEST

/* Cancels the call that it is given, and says so. */
struct errand {
    troupe_runtime *runtime;
    uint64_t call;
    atomic_int asked, done;
};

static void *run_errands(void *arg)
{
    struct errand *errand = arg;
    for (int n = 0, asked;; n = asked) {
        while ((asked = atomic_load(&errand->asked)) == n)
            tp_sleep_on(&errand->asked, n, 0);
        if (asked < 0) return NULL;
        troupe_cancel(errand->runtime, errand->call);
        atomic_store(&errand->done, asked);
        tp_wake(&errand->done, 1);
    }
}

/* Returns when the other thread has cancelled it. */
static void send_errand(struct errand *errand, uint64_t call, int number)
{
    errand->call = call;
    atomic_store(&errand->asked, number);
    tp_wake(&errand->asked, 1);
    for (int n; number > 0 && (n = atomic_load(&errand->done)) != number;)
        tp_sleep_on(&errand->done, n, 0);
}

/* Without workers nothing of a call runs before this thread waits for it, so the cancel of the
 * odd rounds comes first; that of the others comes last. */
START_TEST(a_cancel_of_another_thread_reaches_a_call_before_its_end_and_none_after_it)
{
    pthread_t thread;
    troupe_function *f = function_over(2);
    struct errand errand = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0)};
    ck_assert_int_eq(pthread_create(&thread, NULL, run_errands, &errand), 0);
    for (int i = 1; i <= 400; i++) {
        troupe_tensor *x = row_of((float)i);
        struct outcome outcome = {0};
        uint64_t call =
            outcome_call(errand.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
        if (i % 2) send_errand(&errand, call, i);
        ck_assert_int_eq(troupe_wait(errand.runtime, call, WAIT_MS), TROUPE_OK);
        if (i % 2 == 0) send_errand(&errand, call, i);
        ck_assert_int_eq(outcome.ended, 1);
        if (i % 2 && !workers[_i]) ck_assert_int_eq(outcome.error.code, TROUPE_CANCELLED);
        if (i % 2 == 0) ck_assert_int_eq(outcome.error.code, TROUPE_OK);
        if (!outcome.error.code) ck_rows(outcome.results, (float)i);
        outcome_clear(&outcome);
        troupe_tensor_release(&x);
    }
    send_errand(&errand, 0, -1);
    pthread_join(thread, NULL);
    ck_assert_int_eq(troupe_close(&errand.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* Every round another function, so that the cancel meets the planning. */
START_TEST(a_call_that_is_cancelled_while_it_is_planned_ends_once)
{
    struct member canceller, a = {0};
    troupe_error err;
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 4)};
    troupe_caller *caller;
    struct member_call started;
    ck_ok(troupe_caller_open(crowd.runtime, &caller, &err));
    canceller = (struct member){.crowd = &crowd, .state = 99};
    a = (struct member){.crowd = &crowd, .state = 3};
    ck_assert_int_eq(pthread_create(&canceller.thread, NULL, cancel_many, &canceller), 0);
    crowd_go(&crowd, 1);
    for (int i = 0; i < 3000 / SLOWER; i++) {
        troupe_function *f = function_over(1 + i % 2);
        crowd.f = f;
        uint64_t call = member_start(&a, caller, NULL, &started, 3);
        atomic_store(&crowd.call, call);
        troupe_function_release(&f); /* the call keeps it */
        member_pause(&a, 30000);
        ck_assert_int_eq(troupe_caller_wait(caller, call, WAIT_MS), TROUPE_OK);
        ck_assert_int_eq(a.ended, i + 1);
        ck_assert_msg(!a.wrong[0], "%s", a.wrong);
    }
    crowd_go(&crowd, 2);
    pthread_join(canceller.thread, NULL);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
}
END_TEST

static void *watch(void *arg)
{
    struct member *a = arg;
    member_await(a->crowd);
    while (atomic_load(&a->crowd->go) == 1) {
        troupe_statistics s = {.size = sizeof(s)};
        troupe_device device = {.size = sizeof(device)};
        uint64_t steps = 0, all = 0, call = atomic_load(&a->crowd->call);
        troupe_statistics_get(a->crowd->runtime, &s);
        if (troupe_device_at(a->crowd->runtime, 1, &device)) member_note(a, "device", NULL);
        if (!troupe_progress(a->crowd->runtime, call, &steps, &all) && steps > all)
            member_note(a, "more steps than there are", NULL);
    }
    return NULL;
}

START_TEST(progress_and_figures_can_be_asked_for_at_any_time)
{
    struct member watcher, a;
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
    watcher = (struct member){.crowd = &crowd};
    ck_assert_int_eq(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
    crowd_go(&crowd, 1);
    race(&crowd, &a, 20000 / SLOWER, NULL);
    crowd_go(&crowd, 2);
    pthread_join(watcher.thread, NULL);
    ck_assert_msg(!watcher.wrong[0], "%s", watcher.wrong);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* Children of whatever call was published last, which may have been cancelled or have ended. */
static void *start_children(void *arg)
{
    struct member *a = arg;
    troupe_error err;
    troupe_caller *caller;
    member_await(a->crowd);
    if (troupe_caller_open(a->crowd->runtime, &caller, &err)) {
        member_note(a, "open", &err);
        return NULL;
    }
    for (int i = 0; atomic_load(&a->crowd->go) == 1; i++) {
        struct member_call started;
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        options.parent = atomic_load(&a->crowd->call);
        uint64_t call = member_start(a, caller, &options, &started, (float)(i % 50));
        if (troupe_caller_wait(caller, call, WAIT_MS)) member_note(a, "wait", NULL);
        if (a->ended != i + 1) member_note(a, "a child ended more than once, or not", NULL);
    }
    if (troupe_caller_close(&caller)) member_note(a, "close", NULL);
    return NULL;
}

START_TEST(children_on_other_threads_end_once_whatever_becomes_of_their_parent)
{
    troupe_error err;
    troupe_caller *caller;
    struct member members[3], a = {.state = 9};
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
    a.crowd = &crowd;
    ck_ok(troupe_caller_open(crowd.runtime, &caller, &err));
    for (int i = 0; i < 3; i++) {
        members[i] = (struct member){.crowd = &crowd, .index = i};
        ck_assert_int_eq(pthread_create(&members[i].thread, NULL, start_children, &members[i]),
                         0);
    }
    crowd_go(&crowd, 1);
    for (int i = 0; i < 5000 / SLOWER; i++) {
        struct member_call started;
        uint64_t call = member_start(&a, caller, NULL, &started, 1);
        atomic_store(&crowd.call, call);
        if (i % 2) member_pause(&a, 5000);
        if (i % 3) troupe_cancel(crowd.runtime, call);
        ck_assert_int_eq(troupe_caller_wait(caller, call, WAIT_MS), TROUPE_OK);
        ck_assert_int_eq(a.ended, i + 1);
    }
    crowd_go(&crowd, 2);
    for (int i = 0; i < 3; i++)
        pthread_join(members[i].thread, NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(!members[i].wrong[0], "%s", members[i].wrong);
    ck_assert_msg(!a.wrong[0], "%s", a.wrong);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

static void *run_with_deadlines(void *arg)
{
    struct member *a = arg;
    member_await(a->crowd);
    for (int i = 0; i < a->rounds; i++) {
        troupe_error err;
        troupe_report *report;
        troupe_tensor *row = member_row((float)(i % 50)), *results[2];
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        options.deadline_s = 1e-9 * (1 + member_below(a, 20000));
        options.priority = (int)member_below(a, 3);
        options.report = &report;
        troupe_status status =
            troupe_run(a->crowd->runtime, a->crowd->f, (const troupe_tensor *const[]){row}, 1,
                       results, 2, &options, &err);
        if (status && status != TROUPE_TIMED_OUT) member_note(a, "run", &err);
        if ((status != 0) != (report != NULL)) member_note(a, "a report, or none", NULL);
        if (!status && !member_right(results, (float)(i % 50))) member_note(a, "value", NULL);
        for (int j = 0; !status && j < 2; j++)
            troupe_tensor_release(&results[j]);
        troupe_report_release(&report);
        troupe_tensor_release(&row);
    }
    return NULL;
}

START_TEST(runs_on_many_threads_end_at_their_deadlines_or_with_their_values)
{
    struct member members[THREADS];
    troupe_function *f = function_over(2);
    struct crowd crowd = {
        .runtime = crowd_open("cpu:0(threads=1),cpu:1(threads=1)", workers[_i], 0), .f = f};
    crowd_play(&crowd, members, THREADS, 1000 / SLOWER, run_with_deadlines);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* -- Storms
 * -------------------------------------------------------------------------------------- */

/* Functions of its own, called and released at once; two plans are kept of all. */
static void *plan_many(void *arg)
{
    struct member *a = arg;
    member_await(a->crowd);
    for (int i = 0; i < a->rounds; i++) {
        char text[200];
        troupe_error err;
        troupe_library *library = NULL;
        troupe_function *f = NULL;
        troupe_tensor *x = member_row(1), *y = NULL;
        const int n = (int)member_below(a, 6);
        snprintf(text, sizeof(text),
                 "function f(x: f32[4]) -> (y)\n  c = f32[] %d\n  a = Add(x, c) @cpu:%d\n"
                 "  y = Add(a, c) @cpu:1\n",
                 n, i % 2);
        if (troupe_library_new(&library, &err) ||
            troupe_library_read(library, "t", text, strlen(text), &err) ||
            troupe_library_find(library, "f", &f, &err) ||
            troupe_run(a->crowd->runtime, f, (const troupe_tensor *const[]){x}, 1, &y, 1, NULL,
                       &err))
            member_note(a, "run", &err);
        else if (*(const float *)troupe_tensor_data(y) != (float)(1 + 2 * n))
            member_note(a, "value of another plan", NULL);
        troupe_function_release(&f);
        troupe_library_destroy(&library);
        troupe_tensor_release(&x);
        troupe_tensor_release(&y);
    }
    return NULL;
}

START_TEST(functions_are_released_while_they_are_planned_and_run)
{
    struct member members[THREADS];
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 2)};
    crowd_play(&crowd, members, THREADS, 300 / SLOWER, plan_many);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
}
END_TEST

static void *open_and_close(void *arg)
{
    struct member *a = arg;
    member_await(a->crowd);
    for (int i = 0; i < a->rounds; i++) {
        troupe_error err;
        troupe_caller *caller;
        struct member_call started[4];
        const int before = a->ended;
        if (troupe_caller_open(a->crowd->runtime, &caller, &err)) {
            member_note(a, "open", &err);
            return NULL;
        }
        for (int j = 0; j < 4; j++)
            member_start(a, caller, NULL, &started[j], (float)j);
        if (member_below(a, 2)) troupe_caller_dispatch(caller);
        if (member_below(a, 2)) member_pause(a, 20000);
        if (troupe_caller_close(&caller)) member_note(a, "close", NULL);
        if (a->ended != before + 4) member_note(a, "callbacks were lost", NULL);
    }
    return NULL;
}

START_TEST(callers_come_and_go_with_calls_in_flight)
{
    struct member members[THREADS];
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
    crowd_play(&crowd, members, THREADS, 200 / SLOWER, open_and_close);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

START_TEST(runtimes_come_and_go_with_calls_in_flight)
{
    troupe_function *f = function_over(2);
    struct member a = {.state = (uint64_t)_i};
    const size_t pieces = tp_alloc_pieces();
    for (int i = 0; i < 200 / SLOWER; i++) {
        troupe_runtime *runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0);
        struct outcome outcomes[6] = {{0}};
        uint64_t calls[6];
        for (int j = 0; j < 6; j++) {
            troupe_tensor *x = row_of((float)j);
            calls[j] =
                outcome_call(runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[j]);
            troupe_tensor_release(&x);
        }
        member_pause(&a, 50000);
        if (i % 2) troupe_cancel(runtime, calls[member_below(&a, 6)]);
        if (i % 3 == 0) troupe_dispatch(runtime);
        ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
        for (int j = 0; j < 6; j++) {
            ck_assert_int_eq(outcomes[j].ended, 1);
            outcome_clear(&outcomes[j]);
        }
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    troupe_function_release(&f);
}
END_TEST

/* -- Sleep
 * -------------------------------------------------------------------------------------- */

/* The worker plans; this thread goes to sleep at a random moment about when it is done. */
START_TEST(a_completion_wakes_a_caller_that_is_about_to_sleep)
{
    struct member a = {.state = 1};
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 2)};
    for (int i = 0; i < 6000 / SLOWER; i++) {
        char text[200];
        struct outcome outcome = {0};
        snprintf(text, sizeof(text),
                 "function f(x: f32[4]) -> (y)\n  c = f32[] %d\n  y = Add(x, c)\n", i);
        troupe_function *f = function_of(text, NULL);
        troupe_tensor *x = member_row(0);
        uint64_t call =
            outcome_call(crowd.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
        member_pause(&a, 40000);
        ck_assert_int_eq(troupe_wait(crowd.runtime, call, WAIT_MS), TROUPE_OK);
        ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
        outcome_clear(&outcome);
        troupe_tensor_release(&x);
        troupe_function_release(&f);
    }
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/races");
    const int n = (int)TP_COUNT(workers);
    TCase *races = tcase_create("races");
    TCase *storms = tcase_create("storms");
    tcase_set_timeout(races, 60);
    tcase_add_loop_test(races, a_call_that_is_cancelled_as_it_ends_ends_once, 0, n);
    tcase_add_loop_test(races, a_deadline_and_a_cancel_as_the_call_ends_end_it_once, 0, n);
    tcase_add_loop_test(
        races, a_cancel_of_another_thread_reaches_a_call_before_its_end_and_none_after_it, 0,
        n);
    tcase_add_loop_test(races, a_call_that_is_cancelled_while_it_is_planned_ends_once, 0, n);
    tcase_add_loop_test(races, progress_and_figures_can_be_asked_for_at_any_time, 0, n);
    tcase_add_loop_test(races, a_completion_wakes_a_caller_that_is_about_to_sleep, 0, n);
    tcase_set_timeout(storms, 60);
    tcase_add_loop_test(
        races, children_on_other_threads_end_once_whatever_becomes_of_their_parent, 0, n);
    tcase_add_loop_test(races, runs_on_many_threads_end_at_their_deadlines_or_with_their_values,
                        0, n);
    tcase_add_loop_test(storms, functions_are_released_while_they_are_planned_and_run, 0, n);
    tcase_add_loop_test(storms, callers_come_and_go_with_calls_in_flight, 0, n);
    tcase_add_loop_test(storms, runtimes_come_and_go_with_calls_in_flight, 0, n);
    suite_add_tcase(s, races);
    suite_add_tcase(s, storms);
    return s;
}

int main(void)
{
    return test_run(suite());
}
