/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_limits.c - what is bounded: instances of a plan, bytes and calls in flight,
 * memory for each call, plans for many threads.
 */
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/crowd.h"

static const int workers[] = {0, 1, 3};

static troupe_statistics figures(const troupe_runtime *runtime)
{
    troupe_statistics s = {.size = sizeof(s)};
    troupe_statistics_get(runtime, &s);
    return s;
}

static troupe_runtime *open_with(troupe_options options)
{
    troupe_error err;
    troupe_runtime *runtime;
    options.devices = "cpu:0,cpu:1";
    ck_ok(troupe_open(&runtime, &options, &err));
    return runtime;
}

static troupe_function *any_length(void)
{
    return function_of("function f(x: f32[n]) -> (y: f32[n])\n"
                       "  a = Add(x, x) @cpu:1\n  y = Add(a, x) @cpu:0\n",
                       NULL);
}

/* n elements of 1, 2, ... */
static troupe_tensor *row(int64_t n)
{
    troupe_error err;
    troupe_tensor *x;
    float data[1000];
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(i + 1);
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 1, &n, data, &err));
    return x;
}

static void run_row(troupe_runtime *runtime, const troupe_function *f, int64_t n)
{
    troupe_error err;
    troupe_tensor *x = row(n), *y;
    ck_ok(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, &y, 1, NULL, &err));
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq(((const float *)troupe_tensor_data(y))[i], 3 * (float)(i + 1));
    troupe_tensor_release(&x);
    troupe_tensor_release(&y);
}

/* -- Instances
 * -------------------------------------------------------------------------------------- */

START_TEST(a_changing_batch_size_plans_nothing_and_keeps_its_memory)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = workers[_i];
    troupe_runtime *runtime = open_with(options);
    troupe_function *f = any_length();
    size_t pieces = 0;
    for (int round = 0; round < 6; round++) {
        for (int64_t n = 1; n <= 40; n++)
            run_row(runtime, f, n);
        if (round == 2) pieces = tp_alloc_pieces();
        if (round > 2) ck_assert_uint_le(tp_alloc_pieces(), pieces);
    }
    ck_assert_uint_eq(figures(runtime).planned, 1);
    ck_assert_uint_eq(figures(runtime).plans, 1);
    ck_assert_uint_eq(figures(runtime).instances_kept, 8);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* Sizes that fit below the limit are made once. */
START_TEST(as_many_instances_are_kept_as_was_asked_for)
{
    static const size_t limits[] = {1, 2, 8, 100};
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = 0;
    options.max_instances = limits[_i];
    troupe_runtime *runtime = open_with(options);
    troupe_function *f = any_length();
    for (int round = 0; round < 3; round++)
        for (int64_t n = 1; n <= (int64_t)limits[_i]; n++)
            run_row(runtime, f, n);
    ck_assert_uint_eq(figures(runtime).instances, limits[_i]);
    ck_assert_uint_eq(figures(runtime).instances_kept, limits[_i]);
    run_row(runtime, f, 500);
    ck_assert_uint_eq(figures(runtime).instances, limits[_i] + 1);
    ck_assert_uint_eq(figures(runtime).instances_kept, limits[_i]);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* The caller knows both, so that the coordinator sees none of the later calls. */
START_TEST(the_instance_that_is_in_use_stays_and_the_other_goes)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = 0;
    options.max_instances = 2;
    troupe_runtime *runtime = open_with(options);
    troupe_function *f = any_length();
    const int64_t used = _i ? 3 : 7, idle = _i ? 7 : 3;
    run_row(runtime, f, 3);
    run_row(runtime, f, 7);
    for (int i = 0; i < 5; i++)
        run_row(runtime, f, used);
    run_row(runtime, f, 11);
    ck_assert_uint_eq(figures(runtime).instances, 3);
    run_row(runtime, f, used);
    ck_assert_uint_eq(figures(runtime).instances, 3);
    run_row(runtime, f, idle);
    ck_assert_uint_eq(figures(runtime).instances, 4);
    ck_assert_uint_eq(figures(runtime).planned, 1);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* The plan is used all the time by a caller that knows it; others come and go beside it. */
START_TEST(a_plan_that_is_in_use_is_not_planned_again)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = 0;
    options.max_plans = 3;
    troupe_runtime *runtime = open_with(options);
    troupe_function *f = any_length();
    for (int i = 0; i < 20; i++) {
        char text[100];
        snprintf(text, sizeof(text),
                 "function g(x: f32[4]) -> (y)\n  c = f32[] %d\n"
                 "  y = Add(x, c)\n",
                 i);
        troupe_function *g = function_of(text, NULL);
        troupe_tensor *x = row(4), *y;
        troupe_error err;
        run_row(runtime, f, 5);
        ck_ok(troupe_run(runtime, g, (const troupe_tensor *const[]){x}, 1, &y, 1, NULL, &err));
        troupe_tensor_release(&x);
        troupe_tensor_release(&y);
        troupe_function_release(&g);
    }
    ck_assert_uint_eq(figures(runtime).planned, 21);
    ck_assert_uint_eq(figures(runtime).plans, 3);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* One of three is in the middle of its call when it is evicted. */
START_TEST(an_evicted_instance_is_freed_after_its_last_call)
{
    uint64_t seed = (uint64_t)_i;
    troupe_error err;
    troupe_options options = TROUPE_OPTIONS_INIT;
    struct rehearsal r = {.state = seed, .pieces = tp_alloc_pieces()};
    options.devices = "cpu:0,cpu:1";
    options.max_instances = 1;
    ck_ok(tp_runtime_open(&r.runtime, &options, &seed, &err));
    troupe_function *f = any_length();
    size_t pieces = 0;
    for (int round = 0; round < 4; round++) {
        struct outcome outcomes[3] = {{0}};
        for (int i = 0; i < 3; i++) {
            troupe_tensor *x = row(i + 2);
            outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[i]);
            troupe_tensor_release(&x);
            rehearsal_steps(&r, rehearsal_below(&r, 30));
        }
        rehearsal_play(&r);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(outcomes[i].ended, 1);
            ck_assert_msg(!outcomes[i].error.code, "%s", outcomes[i].error.text);
            outcome_clear(&outcomes[i]);
        }
        ck_assert_uint_eq(figures(r.runtime).instances_kept, 1);
        run_row(r.runtime, f, 9); /* evicts the last, too; only this one's caller knows it */
        run_row(r.runtime, f, 9);
        if (round == 0) pieces = tp_alloc_pieces();
        ck_assert_uint_le(tp_alloc_pieces(), pieces + 40); /* of one instance, and no more */
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* -- Admission
 * -------------------------------------------------------------------------------------- */

START_TEST(over_max_bytes_a_call_is_refused_as_busy_and_nothing_was_started)
{
    troupe_error err;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = workers[_i];
    options.max_bytes = 4 * 10 * 3;
    troupe_runtime *runtime = open_with(options);
    troupe_function *f = any_length();
    troupe_tensor *x = row(10), *one = row(1), *y;
    const troupe_tensor *const args[] = {x}, *const small[] = {one};
    for (int round = 0; round < 3; round++) {
        struct outcome outcomes[3] = {{0}}, none = {0};
        const troupe_statistics before = figures(runtime);
        uint64_t call = 77;
        for (int i = 0; i < 3; i++)
            outcome_call(runtime, f, args, NULL, &outcomes[i]);
        ck_assert_uint_eq(figures(runtime).bytes_in_flight, 120);
        ck_assert_int_eq(
            troupe_call(runtime, f, small, 1, NULL, outcome_note, &none, &call, &err),
            TROUPE_BUSY);
        ck_assert_int_eq(troupe_run(runtime, f, small, 1, &y, 1, NULL, &err), TROUPE_BUSY);
        ck_assert_uint_eq(call, 77);
        ck_assert_uint_eq(figures(runtime).calls, before.calls + 3);
        ck_assert_uint_eq(figures(runtime).refused, before.refused + 2);
        for (int i = 0; i < 3; i++) {
            while (!outcomes[i].ended)
                ck_assert_int_ge(troupe_wait(runtime, 0, WAIT_MS), 0);
            ck_assert_msg(!outcomes[i].error.code, "%s", outcomes[i].error.text);
            outcome_clear(&outcomes[i]);
        }
        ck_assert_int_eq(none.ended, 0);
        ck_assert_uint_eq(figures(runtime).bytes_in_flight, 0);
        run_row(runtime, f, 10);
    }
    troupe_tensor_release(&x);
    troupe_tensor_release(&one);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* BUSY would be for ever. */
START_TEST(a_call_that_is_over_max_bytes_alone_is_exhausted)
{
    troupe_error err;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = 0;
    options.max_bytes = 100;
    troupe_runtime *runtime = open_with(options);
    troupe_function *f = any_length();
    troupe_tensor *x = row(26), *y;
    const troupe_tensor *const args[] = {x};
    struct outcome none = {0};
    ck_fails(troupe_run(runtime, f, args, 1, &y, 1, NULL, &err), EXHAUSTED,
             "104 bytes are over the limit of 100");
    ck_fails(troupe_call(runtime, f, args, 1, NULL, outcome_note, &none, NULL, &err), EXHAUSTED,
             "104 bytes");
    ck_assert_uint_eq(figures(runtime).bytes_in_flight, 0);
    ck_assert_uint_eq(figures(runtime).in_flight, 0);
    run_row(runtime, f, 25);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* Until it is let in. */
static void *insist(void *arg)
{
    struct member *a = arg;
    troupe_error err;
    member_await(a->crowd);
    for (int i = 0; i < a->rounds;) {
        const float x = (float)(a->index % 10 * 50 + i % 50);
        troupe_tensor *in = member_row(x), *results[2];
        troupe_status status =
            troupe_run(a->crowd->runtime, a->crowd->f, (const troupe_tensor *const[]){in}, 1,
                       results, 2, NULL, &err);
        if (status == TROUPE_OK) {
            i++;
            if (!member_right(results, x)) member_note(a, "values of another call", NULL);
            troupe_tensor_release(&results[0]);
            troupe_tensor_release(&results[1]);
        } else if (status != TROUPE_BUSY) {
            member_note(a, "run", &err);
            i++;
        }
        troupe_tensor_release(&in);
    }
    return NULL;
}

START_TEST(threads_that_are_refused_get_in_when_others_have_ended)
{
    struct member members[THREADS];
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.workers = workers[_i];
    options.max_calls = 3;
    options.max_bytes = 2 * 16;
    troupe_function *f = function_over(2);
    struct crowd crowd = {.runtime = open_with(options), .f = f};
    crowd_play(&crowd, members, THREADS, 200 / SLOWER, insist);
    ck_assert_uint_eq(figures(crowd.runtime).bytes_in_flight, 0);
    ck_assert_uint_eq(figures(crowd.runtime).calls, THREADS * (200 / SLOWER));
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

START_TEST(limits_that_make_no_sense_are_refused_and_old_programs_are_not)
{
    troupe_error err;
    troupe_runtime *runtime = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.max_instances = 1025;
    ck_fails(troupe_open(&runtime, &options, &err), INVALID, "1025 instances");
    /* What lies behind the struct of an older header is not looked at. */
    options.size = offsetof(troupe_options, max_bytes);
    options.max_bytes = 1;
    options.workers = 0;
    options.devices = "cpu:0,cpu:1";
    ck_ok(troupe_open(&runtime, &options, &err));
    troupe_function *f = any_length();
    run_row(runtime, f, 100);
    /* Nor written. */
    troupe_statistics s = {.size = offsetof(troupe_statistics, instances_kept), .refused = 77};
    troupe_statistics_get(runtime, &s);
    ck_assert_uint_eq(s.planned, 1);
    ck_assert_uint_eq(s.instances_kept, 0);
    ck_assert_uint_eq(s.refused, 77);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* -- Many
 * -------------------------------------------------------------------------------------- */

/* What the C library handed out for the calls in flight, a chunk of slots at a time. */
START_TEST(each_thousand_calls_in_flight_take_as_much_memory_as_the_thousand_before)
{
    enum { STEP = 1024, STEPS = 4 };
    static struct outcome outcomes[STEP * STEPS];
    size_t used[STEPS + 1];
    if (getenv("TROUPE_WIRE")) return; /* the codec allocates */
    troupe_runtime *runtime = crowd_open("cpu:0,cpu:1", 0, 0);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1);
    const troupe_tensor *const args[] = {x};
    memset(outcomes, 0, sizeof(outcomes));
    outcome_call(runtime, f, args, NULL, &outcomes[0]);
    dispatch_all(runtime);
    outcome_clear(&outcomes[0]);
    used[0] = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < STEP * STEPS; i++) {
        outcome_call(runtime, f, args, NULL, &outcomes[i]);
        if ((i + 1) % STEP == 0)
            used[(i + 1) / STEP] = mallinfo2().uordblks + mallinfo2().hblkhd;
    }
    const size_t each = used[2] - used[1];
    for (int i = 2; i < STEPS; i++) {
        ck_assert_uint_le(used[i + 1] - used[i], each + each / 50);
        ck_assert_uint_ge(used[i + 1] - used[i], each - each / 50);
    }
    dispatch_all(runtime);
    for (int i = 0; i < STEP * STEPS; i++) {
        ck_assert_int_eq(outcomes[i].ended, 1);
        outcome_clear(&outcomes[i]);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* All begin at once with a function that nobody has planned. */
START_TEST(a_hundred_threads_that_plan_one_function_at_once_make_one_plan_and_one_instance)
{
    struct member members[100];
    for (int round = 0; round < 3; round++) {
        troupe_function *f = function_over(2);
        struct crowd crowd = {.runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f};
        crowd_play(&crowd, members, 100, 1, insist);
        ck_assert_uint_eq(crowd_planned(crowd.runtime), 1);
        ck_assert_uint_eq(figures(crowd.runtime).instances, 1);
        ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
        troupe_function_release(&f);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/limits");
    const int n = (int)TP_COUNT(workers);
    TCase *instances = tcase_create("instances"), *admission = tcase_create("admission"),
          *many = tcase_create("many");
    tcase_add_loop_test(instances, a_changing_batch_size_plans_nothing_and_keeps_its_memory, 0,
                        n);
    tcase_add_loop_test(instances, as_many_instances_are_kept_as_was_asked_for, 0, 4);
    tcase_add_loop_test(instances, the_instance_that_is_in_use_stays_and_the_other_goes, 0, 2);
    tcase_add_test(instances, a_plan_that_is_in_use_is_not_planned_again);
    tcase_add_loop_test(instances, an_evicted_instance_is_freed_after_its_last_call, 0, 100);
    tcase_add_loop_test(admission,
                        over_max_bytes_a_call_is_refused_as_busy_and_nothing_was_started, 0, n);
    tcase_add_test(admission, a_call_that_is_over_max_bytes_alone_is_exhausted);
    tcase_add_loop_test(admission, threads_that_are_refused_get_in_when_others_have_ended, 0,
                        n);
    tcase_add_test(admission, limits_that_make_no_sense_are_refused_and_old_programs_are_not);
    tcase_add_test(many,
                   each_thousand_calls_in_flight_take_as_much_memory_as_the_thousand_before);
    tcase_add_loop_test(
        many, a_hundred_threads_that_plan_one_function_at_once_make_one_plan_and_one_instance,
        0, n);
    suite_add_tcase(s, instances);
    suite_add_tcase(s, admission);
    suite_add_tcase(s, many);
    return s;
}

int main(void)
{
    return test_run(suite());
}
