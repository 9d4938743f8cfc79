/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_rehearsal.c - calls under 500 seeds: values, failures, and the count.
 */
#include "tests/rehearsal.h"

#include <stdio.h>

/* -- Values
 * ---------------------------------------------------------------------------------------- */

static void over_devices(uint64_t seed, const char *list, int devices)
{
    struct rehearsal r = rehearsal_open(seed, list);
    troupe_function *f = function_over(devices);
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = {.runtime = r.runtime};
        const float first = (float)(i * 10) - 5;
        troupe_tensor *x = row_of(first);
        outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
        troupe_tensor_release(&x);
        ck_assert_int_eq(outcome.ended, 0);
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        ck_rows(outcome.results, first);
        outcome_clear(&outcome);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}

START_TEST(a_call_over_two_devices_gives_the_right_values_in_any_order)
{
    over_devices((uint64_t)_i, "cpu:0,cpu:1", 2);
}
END_TEST

START_TEST(a_call_over_three_devices_gives_the_right_values_in_any_order)
{
    over_devices((uint64_t)_i, "cpu:0,cpu:1,cpu:2", 3);
}
END_TEST

START_TEST(a_call_over_four_devices_gives_the_right_values_in_any_order)
{
    over_devices((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3", 4);
}
END_TEST

#define IN_FLIGHT 6

static void start_all(struct rehearsal *r, const troupe_function *f, struct outcome *outcomes,
                      int round)
{
    for (int i = 0; i < IN_FLIGHT; i++) {
        troupe_tensor *x = row_of((float)(round * 100 + i * 10));
        outcome_call(r->runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[i]);
        troupe_tensor_release(&x);
        rehearsal_steps(r, rehearsal_below(r, 8));
    }
}

START_TEST(calls_that_interleave_never_mix_their_values)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2");
    troupe_function *f = function_over(3);
    for (int round = 0; round < 3; round++) {
        struct outcome outcomes[IN_FLIGHT] = {{0}};
        start_all(&r, f, outcomes, round);
        rehearsal_play(&r);
        for (int i = 0; i < IN_FLIGHT; i++) {
            ck_assert_int_eq(outcomes[i].ended, 1);
            ck_assert_msg(!outcomes[i].error.code, "%s", outcomes[i].error.text);
            ck_rows(outcomes[i].results, (float)(round * 100 + i * 10));
            outcome_clear(&outcomes[i]);
        }
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* v0 to v99 alternate between two devices and every one crosses. */
static troupe_function *hundred_edges(void)
{
    struct tp_text text = {0};
    troupe_function *f;
    tp_text_add(&text, "function hundred(x: f32[4]) -> (s)\n");
    for (int i = 0; i < 100; i++)
        tp_text_add(&text, "  c%d = f32[] %d\n  v%d = Add(x, c%d) @cpu:0\n", i, i, i, i);
    tp_text_add(&text, "  s = Sum(");
    for (int i = 0; i < 100; i++)
        tp_text_add(&text, "%sv%d", i ? ", " : "", i);
    tp_text_add(&text, ") @cpu:1\n");
    f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

START_TEST(a_hundred_edges_bring_each_its_own_value)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1");
    troupe_function *f = hundred_edges();
    struct outcome outcome = {0};
    troupe_tensor *x = row_of(1);
    outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
    rehearsal_play(&r);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
    ck_value(outcome.results[0], "f32[4] [5050, 5150, 5250, 5350]");
    outcome_clear(&outcome);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* a goes over and comes back ROUNDS times. */
START_TEST(a_ping_pong_of_many_rounds_ends_with_the_right_value)
{
    enum { ROUNDS = 100 };
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1");
    struct tp_text text = {0};
    tp_text_add(&text, "function pingpong(v0: f32[4]) -> (v%d)\n  one = f32[] 1\n", ROUNDS);
    for (int i = 1; i <= ROUNDS; i++)
        tp_text_add(&text, "  v%d = Add(v%d, one) @cpu:%d\n", i, i - 1, i % 2);
    troupe_function *f = function_of(text.data, NULL);
    struct outcome outcome = {0};
    troupe_tensor *x = row_of(0);
    outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
    rehearsal_play(&r);
    ck_assert_int_eq(outcome.ended, 1);
    ck_value(outcome.results[0], "f32[4] [100, 101, 102, 103]");
    outcome_clear(&outcome);
    tp_text_fini(&text);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* -- Failures
 * -------------------------------------------------------------------------------------- */

static const struct {
    unsigned faults;
    const char *words[3];
} failures[] = {
    {FRAGILE_ASSERT, {"'check'", "cpu:1", "the lights are out"}},
    {FRAGILE_DIV, {"'q'", "cpu:2", "division by zero"}},
    {FRAGILE_RESHAPE, {"'r'", "cpu:3", ""}},
};

static void fragile_call(struct rehearsal *r, const troupe_function *f, float x,
                         unsigned faults, struct outcome *outcome)
{
    const troupe_tensor *args[FRAGILE_ARGS];
    fragile_args(args, x, faults);
    *outcome = (struct outcome){.runtime = r->runtime};
    outcome_call(r->runtime, f, args, NULL, outcome);
    fragile_release(args);
}

static void ck_failed(const struct outcome *outcome, size_t which)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_int_eq(outcome->error.code, TROUPE_INVALID);
    ck_assert_uint_eq(outcome->n, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(strstr(outcome->error.text, failures[which].words[i]) != NULL,
                      "no %s in \"%s\"", failures[which].words[i], outcome->error.text);
}

/* outcome_note looks at the shards. */
START_TEST(a_call_with_a_failed_shard_ends_once_with_the_cause_when_all_have_stopped)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3");
    troupe_function *f = function_fragile();
    for (size_t i = 0; i < TP_COUNT(failures); i++) {
        struct outcome outcome;
        fragile_call(&r, f, 3, failures[i].faults, &outcome);
        rehearsal_play(&r);
        ck_failed(&outcome, i);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(after_a_failed_call_the_next_one_of_the_same_function_works)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3");
    troupe_function *f = function_fragile();
    for (int i = 0; i < 6; i++) {
        struct outcome outcome;
        size_t which = rehearsal_below(&r, TP_COUNT(failures));
        fragile_call(&r, f, (float)i, failures[which].faults, &outcome);
        rehearsal_play(&r);
        ck_failed(&outcome, which);
        fragile_call(&r, f, (float)i + 1, 0, &outcome);
        rehearsal_play(&r);
        ck_fragile(&outcome, (float)i + 1);
        outcome_clear(&outcome);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(a_failing_call_leaves_those_beside_it_alone)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3");
    troupe_function *f = function_fragile();
    struct outcome outcomes[9];
    size_t which[9];
    for (int i = 0; i < 9; i++) {
        which[i] = rehearsal_below(&r, TP_COUNT(failures) + 1);
        unsigned faults = which[i] < TP_COUNT(failures) ? failures[which[i]].faults : 0;
        fragile_call(&r, f, (float)i, faults, &outcomes[i]);
        rehearsal_steps(&r, rehearsal_below(&r, 10));
    }
    rehearsal_play(&r);
    for (int i = 0; i < 9; i++) {
        if (which[i] < TP_COUNT(failures))
            ck_failed(&outcomes[i], which[i]);
        else
            ck_fragile(&outcomes[i], (float)i);
        outcome_clear(&outcomes[i]);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* Play it, and give the first cause that the rendezvous came to know. */
static void play_to_cause(struct rehearsal *r, struct outcome *outcome, troupe_error *cause)
{
    const struct tp_pending *p = &atomic_load(&r->runtime->main->chunks[0])[0];
    while (rehearsal_step(r))
        if (!cause->code && p->block && p->block->count.failed) *cause = p->block->count.cause;
    rehearsal_play(r);
    ck_assert_int_eq(outcome->ended, 1);
}

START_TEST(of_several_failures_the_first_is_the_cause_and_the_same_for_the_same_seed)
{
    troupe_error first = {0};
    troupe_function *f = function_fragile();
    for (int run = 0; run < 2; run++) {
        struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3");
        struct outcome outcome;
        troupe_error cause = {0};
        fragile_call(&r, f, 1, FRAGILE_ASSERT | FRAGILE_DIV, &outcome);
        play_to_cause(&r, &outcome, &cause);
        ck_assert_int_eq(outcome.error.code, TROUPE_INVALID);
        ck_assert_str_eq(outcome.error.text, cause.text);
        if (run) ck_assert_str_eq(outcome.error.text, first.text);
        first = outcome.error;
        fragile_call(&r, f, 1, 0, &outcome);
        rehearsal_play(&r);
        ck_fragile(&outcome, 1);
        outcome_clear(&outcome);
        rehearsal_close(&r);
    }
    troupe_function_release(&f);
}
END_TEST

/* Both are the cause under some seed. */
START_TEST(each_of_two_failing_shards_can_be_the_first)
{
    int lights = 0, zero = 0;
    troupe_function *f = function_fragile();
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct rehearsal r = rehearsal_open(seed, "cpu:0,cpu:1,cpu:2,cpu:3");
        struct outcome outcome;
        fragile_call(&r, f, 1, FRAGILE_ASSERT | FRAGILE_DIV, &outcome);
        rehearsal_play(&r);
        lights += strstr(outcome.error.text, "lights") != NULL;
        zero += strstr(outcome.error.text, "zero") != NULL;
        rehearsal_close(&r);
    }
    ck_assert_int_gt(lights, 0);
    ck_assert_int_gt(zero, 0);
    ck_assert_int_eq(lights + zero, 50);
    troupe_function_release(&f);
}
END_TEST

/* -- What a call does not do
 * -------------------------------------------------------------------------------------- */

START_TEST(a_call_without_graph_nodes_ends_once)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1");
    troupe_function *empty = function_of("function empty()\n", NULL);
    troupe_function *same = function_of("function same(x: f32[4]) -> (y = x)\n", NULL);
    troupe_tensor *x = row_of(1);
    for (int i = 0; i < 3; i++) {
        struct outcome nothing = {0}, kept = {0};
        outcome_call(r.runtime, empty, NULL, NULL, &nothing);
        outcome_call(r.runtime, same, (const troupe_tensor *const[]){x}, NULL, &kept);
        ck_assert_int_eq(nothing.ended + kept.ended, 0);
        rehearsal_play(&r);
        ck_assert_int_eq(nothing.ended, 1);
        ck_assert_int_eq(kept.ended, 1);
        ck_assert_uint_eq(nothing.n, 0);
        ck_assert_ptr_eq(kept.results[0], x);
        outcome_clear(&kept);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&empty);
    troupe_function_release(&same);
    rehearsal_close(&r);
}
END_TEST

/* Nobody needs c, but Assert is an effect: what stands before it runs too. */
START_TEST(effects_run_without_results_and_what_nobody_needs_does_not)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2");
    troupe_function *f = function_of("function effects(ok: bool[1], d: i32[1])\n"
                                     "  t = Not(ok) @cpu:1\n"
                                     "  n = Not(t) @cpu:0\n"
                                     "  check: Assert(n) @cpu:2\n"
                                     "  c = Div(d, d) @cpu:1\n",
                                     NULL);
    troupe_tensor *yes = value_of("bool[1] [true]"), *no = value_of("bool[1] [false]");
    troupe_tensor *zero = value_of("i32[1] [0]");
    struct outcome fine = {0}, bad = {0};
    outcome_call(r.runtime, f, (const troupe_tensor *const[]){yes, zero}, NULL, &fine);
    outcome_call(r.runtime, f, (const troupe_tensor *const[]){no, zero}, NULL, &bad);
    rehearsal_play(&r);
    ck_assert_int_eq(fine.ended, 1);
    ck_assert_msg(!fine.error.code, "%s", fine.error.text);
    ck_assert_int_eq(bad.ended, 1);
    ck_assert_ptr_nonnull(strstr(bad.error.text, "'check'"));
    troupe_tensor_release(&yes);
    troupe_tensor_release(&no);
    troupe_tensor_release(&zero);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/rehearsal");
    TCase *values = tcase_create("values"), *failing = tcase_create("failures"),
          *little = tcase_create("little");
    tcase_add_seeds(values, a_call_over_two_devices_gives_the_right_values_in_any_order);
    tcase_add_seeds(values, a_call_over_three_devices_gives_the_right_values_in_any_order);
    tcase_add_seeds(values, a_call_over_four_devices_gives_the_right_values_in_any_order);
    tcase_add_seeds(values, calls_that_interleave_never_mix_their_values);
    tcase_add_seeds(values, a_hundred_edges_bring_each_its_own_value);
    tcase_add_seeds(values, a_ping_pong_of_many_rounds_ends_with_the_right_value);
    tcase_add_seeds(failing,
                    a_call_with_a_failed_shard_ends_once_with_the_cause_when_all_have_stopped);
    tcase_add_seeds(failing, after_a_failed_call_the_next_one_of_the_same_function_works);
    tcase_add_seeds(failing, a_failing_call_leaves_those_beside_it_alone);
    tcase_add_seeds(failing,
                    of_several_failures_the_first_is_the_cause_and_the_same_for_the_same_seed);
    tcase_add_test(failing, each_of_two_failing_shards_can_be_the_first);
    tcase_add_seeds(little, a_call_without_graph_nodes_ends_once);
    tcase_add_seeds(little, effects_run_without_results_and_what_nobody_needs_does_not);
    suite_add_tcase(s, values);
    suite_add_tcase(s, failing);
    suite_add_tcase(s, little);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
