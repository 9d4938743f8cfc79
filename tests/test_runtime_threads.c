/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_threads.c - a runtime under real threads: who runs, calls, polls and waits at
 * once.
 */
#include <poll.h>
#include <sched.h>

#include "tests/crowd.h"

static const int workers[] = {0, 1, 3};

/* -- Run
 * -------------------------------------------------------------------------------------- */

static void run_once(struct member *a, float x)
{
    troupe_error err;
    troupe_tensor *row = member_row(x), *results[2];
    if (troupe_run(a->crowd->runtime, a->crowd->f, (const troupe_tensor *const[]){row}, 1,
                   results, 2, NULL, &err)) {
        member_note(a, "run", &err);
    } else {
        if (!member_right(results, x)) member_note(a, "values of another call", NULL);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
    }
    troupe_tensor_release(&row);
}

static void *run_many(void *arg)
{
    struct member *a = arg;
    member_await(a->crowd);
    for (int i = 0; i < a->rounds; i++)
        run_once(a, (float)(a->index * 100 + i % 100));
    return NULL;
}

START_TEST(eight_threads_run_one_function_and_it_is_planned_once)
{
    for (int devices = 1; devices <= 2; devices++) {
        struct member members[THREADS];
        troupe_function *f = function_over(devices);
        struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
        crowd_play(&crowd, members, THREADS, 2000 / SLOWER, run_many);
        ck_assert_uint_eq(crowd_planned(crowd.runtime), 1);
        ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
        troupe_function_release(&f);
    }
}
END_TEST

START_TEST(threads_that_end_leave_their_place_to_others)
{
    struct member members[THREADS];
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
    for (int i = 0; i < 40; i++)
        crowd_play(&crowd, members, THREADS, 3, run_many);
    ck_assert_uint_le(crowd.runtime->n_all, THREADS + 1);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* -- Callers
 * -------------------------------------------------------------------------------------- */

/* Several calls in flight, waited for in any order. */
static void *call_many(void *arg)
{
    struct member *a = arg;
    troupe_error err;
    troupe_caller *caller;
    struct member_call started[5];
    uint64_t calls[5];
    member_await(a->crowd);
    if (troupe_caller_open(a->crowd->runtime, &caller, &err)) {
        member_note(a, "open", &err);
        return NULL;
    }
    for (int i = 0; i < a->rounds; i++) {
        for (int j = 0; j < 5; j++)
            calls[j] =
                member_start(a, caller, NULL, &started[j], (float)(a->index % 10 * 50 + j));
        for (int j = 0; j < 5; j++)
            if (troupe_caller_wait(caller, calls[(j + i) % 5], WAIT_MS))
                member_note(a, "wait", NULL);
    }
    if (a->ended != 5 * a->rounds) member_note(a, "callbacks were lost", NULL);
    if (troupe_caller_close(&caller)) member_note(a, "close", NULL);
    return NULL;
}

START_TEST(callers_on_eight_threads_get_each_their_own_results)
{
    struct member members[THREADS];
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
    crowd_play(&crowd, members, THREADS, 300 / SLOWER, call_many);
    ck_assert_uint_eq(crowd_planned(crowd.runtime), 1);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* cpu:0 runs one shard at a time, so that most have to wait for its permit. */
START_TEST(more_calls_than_permits_on_many_threads_all_end)
{
    struct member members[THREADS];
    troupe_function *f = function_over(2);
    struct crowd crowd = {
        .runtime = crowd_open("cpu:0(threads=1),cpu:1(threads=1)", workers[_i], 0), .f = f};
    crowd_play(&crowd, members, THREADS, 200 / SLOWER, call_many);
    ck_assert_uint_eq(crowd_planned(crowd.runtime), 1);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_hundred_threads_call_at_once_and_all_get_the_right_values)
{
    struct member members[100];
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
    crowd_play(&crowd, members, 100, 4, call_many);
    ck_assert_uint_eq(crowd_planned(crowd.runtime), 1);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

static size_t pool_used(const troupe_runtime *runtime)
{
    troupe_device device = {.size = sizeof(device)};
    size_t used = 0;
    for (size_t i = 0; i < troupe_devices(runtime); i++) {
        ck_assert_int_eq(troupe_device_at(runtime, i, &device), TROUPE_OK);
        used += device.memory_used;
    }
    return used;
}

START_TEST(a_thousand_calls_at_once_do_not_mix_and_their_memory_is_used_again)
{
    troupe_error err;
    struct member a = {0};
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
    static struct member_call started[1000];
    troupe_caller *caller;
    size_t used = 0;
    a.crowd = &crowd;
    ck_ok(troupe_caller_open(crowd.runtime, &caller, &err));
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 1000; i++)
            member_start(&a, caller, NULL, &started[i], (float)(i % 500));
        while (a.ended < 1000 * (round + 1))
            ck_assert_int_eq(troupe_caller_wait(caller, 0, WAIT_MS), TROUPE_OK);
        if (round == 1) used = pool_used(crowd.runtime);
    }
    ck_assert_msg(!a.wrong[0], "%s", a.wrong);
    ck_assert_uint_le(pool_used(crowd.runtime), used);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* An event loop: poll and dispatch. Every round another function, so that each plans, too. */
static void *poll_many(void *arg)
{
    struct member *a = arg;
    troupe_error err;
    troupe_caller *caller;
    struct member_call started;
    member_await(a->crowd);
    if (troupe_caller_open(a->crowd->runtime, &caller, &err)) {
        member_note(a, "open", &err);
        return NULL;
    }
    struct pollfd at = {.fd = troupe_caller_fd(caller), .events = POLLIN};
    for (int i = 0; i < a->rounds; i++) {
        member_start(a, caller, NULL, &started, (float)(i % 100));
        while (a->ended <= i) {
            if (poll(&at, 1, WAIT_MS) != 1) {
                member_note(a, "nothing to dispatch", NULL);
                return NULL;
            }
            troupe_caller_dispatch(caller);
        }
    }
    if (troupe_caller_close(&caller)) member_note(a, "close", NULL);
    return NULL;
}

/* Each is the only one that runs its work when there are no workers. */
START_TEST(event_loops_on_several_threads_all_go_on)
{
    struct member members[4];
    for (int i = 0; i < 5; i++) {
        troupe_function *f = function_over(2);
        struct crowd crowd = {
            .runtime = crowd_open("cpu:0(threads=1),cpu:1(threads=1)", workers[_i], 0), .f = f};
        crowd_play(&crowd, members, 4, 400 / SLOWER, poll_many);
        ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
        troupe_function_release(&f);
    }
}
END_TEST

/* -- A long call
 * -------------------------------------------------------------------------------------- */

/* So many steps of about a millisecond that no test sees their end. */
#define LONG 20000

static troupe_function *long_function(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function long(v0: f32[1000000]) -> (v%d)\n", LONG);
    for (int i = 1; i <= LONG; i++)
        tp_text_add(&text, "  v%d = Sigmoid(v%d) @cpu:%d\n", i, i - 1, i / 100 % 2);
    troupe_function *f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

static void *cancel_at_work(void *arg)
{
    struct member *a = arg;
    uint64_t call, steps = 0, all;
    while (!(call = atomic_load(&a->crowd->call)))
        sched_yield();
    while (!troupe_progress(a->crowd->runtime, call, &steps, &all) && !steps)
        sched_yield();
    troupe_cancel(a->crowd->runtime, call);
    return NULL;
}

static uint64_t steps_run(const troupe_runtime *runtime)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < troupe_devices(runtime); i++) {
        troupe_device device = {.size = sizeof(device)};
        ck_assert_int_eq(troupe_device_at(runtime, i, &device), TROUPE_OK);
        steps += device.steps;
    }
    return steps;
}

/* By a deadline of 20 ms, or by another thread once a step has run. */
static void break_off(int n_workers, bool cancel)
{
    troupe_function *f = long_function();
    struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", n_workers, 0), .f = f};
    struct member canceller = {.crowd = &crowd};
    struct outcome outcome = {0};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_tensor *x;
    troupe_error err;
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 1, (const int64_t[]){1000000}, NULL, &err));
    if (!cancel) options.deadline_s = 0.02;
    uint64_t call =
        outcome_call(crowd.runtime, f, (const troupe_tensor *const[]){x}, &options, &outcome);
    if (cancel) pthread_create(&canceller.thread, NULL, cancel_at_work, &canceller);
    atomic_store(&crowd.call, call);
    ck_assert_int_eq(troupe_wait(crowd.runtime, call, -1), TROUPE_OK);
    if (cancel) pthread_join(canceller.thread, NULL);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_int_eq(outcome.error.code, cancel ? TROUPE_CANCELLED : TROUPE_TIMED_OUT);
    if (cancel) ck_assert_uint_ge(steps_run(crowd.runtime), 1);
    ck_assert_uint_lt(steps_run(crowd.runtime), LONG);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}

START_TEST(a_deadline_ends_a_call_long_before_its_last_step)
{
    break_off(workers[_i], false);
}
END_TEST

START_TEST(a_cancel_of_another_thread_ends_a_call_long_before_its_last_step)
{
    break_off(workers[_i], true);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/threads");
    const int n = (int)TP_COUNT(workers);
    TCase *running = tcase_create("running");
    tcase_set_timeout(running, 60);
    tcase_add_loop_test(running, eight_threads_run_one_function_and_it_is_planned_once, 0, n);
    tcase_add_loop_test(running, threads_that_end_leave_their_place_to_others, 0, n);
    tcase_add_loop_test(running, callers_on_eight_threads_get_each_their_own_results, 0, n);
    tcase_add_loop_test(running, more_calls_than_permits_on_many_threads_all_end, 0, n);
    tcase_add_loop_test(running, a_hundred_threads_call_at_once_and_all_get_the_right_values, 0,
                        n);
    tcase_add_loop_test(
        running, a_thousand_calls_at_once_do_not_mix_and_their_memory_is_used_again, 0, n);
    tcase_add_loop_test(running, event_loops_on_several_threads_all_go_on, 0, n);
    tcase_add_loop_test(running, a_deadline_ends_a_call_long_before_its_last_step, 0, n);
    tcase_add_loop_test(running,
                        a_cancel_of_another_thread_ends_a_call_long_before_its_last_step, 0, n);
    suite_add_tcase(s, running);
    return s;
}

int main(void)
{
    return test_run(suite());
}
