/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_where.c - whose thread runs a call: the one that asks for it, or workers.
 */
#include "tests/crowd.h"
#include "tests/stand.h"

static const int workers[] = {0, 1, 3};

/* Steps of all devices that ran in seats of workers, or of callers. */
static uint64_t steps_in(const troupe_runtime *runtime, bool of_workers)
{
    const struct tp_stage *stage = runtime->stage;
    uint64_t steps = 0;
    for (int i = 0; i < atomic_load(&stage->n_seats); i++) {
        const struct tp_seat *seat = atomic_load(&stage->seats[i]);
        for (int j = 0; seat->worker == of_workers && j < stage->devices; j++)
            steps += atomic_load(&seat->at[j].steps);
    }
    return steps;
}

/* Fifty calls deep, all on the default device: after the inliner one shard of 51 steps. */
static troupe_function *function_nested(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function f0(x: f32[4]) -> (y)\n  y = Add(x, x)\n");
    for (int i = 1; i <= 50; i++)
        tp_text_add(&text, "function f%d(x: f32[4]) -> (y)\n  a = Neg(x)\n  y = f%d(a)\n", i,
                    i - 1);
    troupe_function *f = function_of(text.data, "f50");
    tp_text_fini(&text);
    return f;
}

/* One shard is run by who asks for it, from the second time on without a message. */
START_TEST(a_call_of_one_shard_runs_where_it_is_asked_for_and_so_do_the_calls_in_it)
{
    struct stand s = stand_open("cpu:0(threads=4)", workers[_i]);
    troupe_function *plain = function_over(1), *nested = function_nested();
    ck_ran(&s, RUN(&s, plain, NULL, "f32[4] [1, 2, 3, 4]"));
    ck_ran(&s, RUN(&s, nested, NULL, "f32[4] [1, 2, 3, 4]"));
    const uint64_t theirs = steps_in(s.runtime, true), ours = steps_in(s.runtime, false);
    for (int i = 0; i < 200; i++) {
        ck_ran(&s, RUN(&s, plain, NULL, "f32[4] [1, 2, 3, 4]"));
        ck_rows(s.results, 1);
        ck_ran(&s, RUN(&s, nested, NULL, "f32[4] [1, 2, 3, 4]"));
        ck_value(s.results[0], "f32[4] [2, 4, 6, 8]");
    }
    ck_assert_uint_eq(steps_in(s.runtime, true), theirs);
    ck_assert_uint_eq(steps_in(s.runtime, false), ours + 200 * (5 + 51));
    troupe_function_release(&plain);
    troupe_function_release(&nested);
    stand_close(&s);
}
END_TEST

/* Values that go one way, and both ways. */
START_TEST(without_workers_shards_run_where_the_call_is_waited_for)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *both = function_over(2);
    troupe_function *one = function_of(
        "function f(x: f32[4]) -> (y)\n  a = Neg(x) @cpu:0\n  y = Neg(a) @cpu:1\n", NULL);
    for (int i = 0; i < 20; i++) {
        ck_ran(&s, RUN(&s, both, NULL, "f32[4] [1, 2, 3, 4]"));
        ck_rows(s.results, 1);
        ck_ran(&s, RUN(&s, one, NULL, "f32[4] [1, 2, 3, 4]"));
        ck_value(s.results[0], "f32[4] [1, 2, 3, 4]");
    }
    ck_assert_uint_eq(steps_in(s.runtime, true), 0);
    ck_assert_uint_eq(steps_in(s.runtime, false), 20 * (5 + 2));
    troupe_function_release(&both);
    troupe_function_release(&one);
    stand_close(&s);
}
END_TEST

/* Two shards that take long are not run one after the other by who waits: sooner or later a
 * worker has one. */
START_TEST(long_shards_of_one_call_are_shared_with_workers)
{
    struct stand s = stand_open("cpu:0,cpu:1", 2);
    troupe_function *f = function_of("function f(x: f32[400000]) -> (y, z)\n"
                                     "  a = Sigmoid(x) @cpu:0\n  b = Sigmoid(x) @cpu:1\n"
                                     "  c = Sigmoid(a) @cpu:0\n  d = Sigmoid(b) @cpu:1\n"
                                     "  y = Sigmoid(c) @cpu:0\n  z = Sigmoid(d) @cpu:1\n",
                                     NULL);
    troupe_error err;
    troupe_tensor *x, *results[2];
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 1, (const int64_t[]){400000}, NULL, &err));
    do {
        ck_ok(troupe_run(s.runtime, f, (const troupe_tensor *const[]){x}, 1, results, 2, NULL,
                         &err));
        ck_assert(troupe_tensor_equal(results[0], results[1]));
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
    } while (!steps_in(s.runtime, true) || !steps_in(s.runtime, false));
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/where");
    TCase *t = tcase_create("where");
    tcase_add_loop_test(
        t, a_call_of_one_shard_runs_where_it_is_asked_for_and_so_do_the_calls_in_it, 0,
        (int)TP_COUNT(workers));
    tcase_add_test(t, without_workers_shards_run_where_the_call_is_waited_for);
    tcase_add_test(t, long_shards_of_one_call_are_shared_with_workers);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
