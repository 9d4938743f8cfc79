/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_abort.c - values on their way when their call is broken off, under 500
 * seeds: what is told, what is left over, and how soon all stands still.
 *
 * TROUPE_ROUNDS (make check-long) is how many rounds all seeds together play of the tests that
 * repeat; make check plays fewer.
 */
#include <stdlib.h>

#include "tests/rehearsal.h"

#define FOUR "cpu:0,cpu:1,cpu:2,cpu:3"

/* Rounds of one seed. */
static int rounds(int usual)
{
    const char *all = getenv("TROUPE_ROUNDS");
    const long n = all ? strtol(all, NULL, 10) / SEEDS : usual;
    return n < 1 ? 1 : (int)n;
}

static struct tp_pending *first_pending(const struct rehearsal *r)
{
    return &atomic_load(&r->runtime->main->chunks[0])[0];
}

static uint64_t call_fragile(struct rehearsal *r, const troupe_function *f, unsigned faults,
                             const troupe_call_options *options, struct outcome *outcome)
{
    const troupe_tensor *args[FRAGILE_ARGS];
    fragile_args(args, 1, faults);
    *outcome = (struct outcome){.runtime = r->runtime};
    const uint64_t call = outcome_call(r->runtime, f, args, options, outcome);
    fragile_release(args);
    return call;
}

/* -- What the report tells ----------------------------------------------------------------- */

static bool tells(const troupe_report *report, const char *words)
{
    const bool text = strstr(troupe_report_text(report, TROUPE_TEXT), words) != NULL;
    const bool json = strstr(troupe_report_text(report, TROUPE_JSON), words) != NULL;
    ck_assert_msg(text == json, "%s: in one form only", words);
    return text;
}

/* How many shards failed by themselves. */
static uint32_t failures_under(uint64_t seed, const troupe_function *f)
{
    static const char *const causes[2] = {"the lights are out", "division by zero"};
    struct rehearsal r = rehearsal_open(seed, FOUR);
    struct outcome outcome;
    troupe_report *report;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    uint32_t n = 0;
    options.report = &report;
    call_fragile(&r, f, FRAGILE_ASSERT | FRAGILE_DIV, &options, &outcome);
    while (rehearsal_step(&r))
        if (first_pending(&r)->block) n = first_pending(&r)->block->count.failures;
    rehearsal_play(&r);
    ck_assert_ptr_nonnull(report);
    ck_assert_uint_ge(n, 1);
    for (int i = 0; i < 2; i++) {
        const bool first = strstr(outcome.error.text, causes[i]) != NULL;
        ck_assert_int_eq(tells(report, causes[i]), first || n == 2);
    }
    ck_assert_int_eq(strstr(troupe_report_text(report, TROUPE_TEXT), "failed too") != NULL,
                     n == 2);
    ck_assert_int_eq(
        strstr(troupe_report_text(report, TROUPE_JSON), "\"failed_too\": []") != NULL, n == 1);
    troupe_report_release(&report);
    rehearsal_close(&r);
    return n;
}

START_TEST(the_report_tells_of_every_shard_that_failed_by_itself_the_first_as_the_error)
{
    troupe_function *f = function_fragile();
    int both = 0;
    for (uint64_t seed = 0; seed < 100; seed++)
        both += failures_under(seed, f) == 2;
    ck_assert_int_gt(both, 0);
    ck_assert_int_lt(both, 100);
    troupe_function_release(&f);
}
END_TEST

/* cpu:0 sends a, which cpu:1 takes only after w, which it does not get: cpu:2 fails. */
START_TEST(a_value_that_was_sent_and_not_taken_is_reported_and_freed)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, FOUR);
    troupe_function *f = function_of("function f(x: i32[4], d: i32[4]) -> (y)\n"
                                     "  a = Add(x, x) @cpu:0\n"
                                     "  w = Div(x, d) @cpu:2\n"
                                     "  v = Neg(w) @cpu:1\n"
                                     "  y = Add(v, a) @cpu:1\n",
                                     NULL);
    troupe_tensor *x = value_of("i32[4] [1, 2, 3, 4]"), *d = value_of("i32[4] [1, 0, 1, 1]");
    troupe_report *report;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    struct outcome outcome = {.runtime = r.runtime};
    bool sent = false;
    options.report = &report;
    outcome_call(r.runtime, f, (const troupe_tensor *const[]){x, d}, &options, &outcome);
    while (rehearsal_step(&r)) {
        const struct tp_block *block = first_pending(&r)->block;
        for (uint32_t i = 0; block && i < block->n_shards; i++)
            sent |= block->shards[i].device->index == 0 && block->shards[i].frame.ran;
    }
    rehearsal_play(&r);
    ck_assert_int_eq(outcome.error.code, TROUPE_INVALID);
    ck_assert_int_eq(tells(report, "'w'"), true);
    const char *text = troupe_report_text(report, TROUPE_TEXT);
    ck_assert_int_eq(
        strstr(text, "left over: 'a' from cpu:0, which cpu:1 did not take") != NULL, sent);
    const char *json = troupe_report_text(report, TROUPE_JSON);
    ck_assert_int_eq(strstr(json, "\"left_over\": []") != NULL, !sent);
    troupe_report_release(&report);
    troupe_tensor_release(&x);
    troupe_tensor_release(&d);
    troupe_function_release(&f);
    rehearsal_close(&r); /* looks whether any memory is left */
}
END_TEST

/* -- Again and again ----------------------------------------------------------------------- */

/* A sender fails at a time of its own: before, while and after its reader waits for it. */
START_TEST(a_receive_that_is_registered_as_its_sender_fails_always_ends)
{
    static const unsigned faults[] = {FRAGILE_ASSERT, FRAGILE_DIV, FRAGILE_RESHAPE,
                                      FRAGILE_ASSERT | FRAGILE_RESHAPE};
    struct rehearsal r = rehearsal_open((uint64_t)_i, FOUR);
    troupe_function *f = function_fragile();
    for (int i = rounds(50); i > 0; i--) {
        struct outcome outcome;
        call_fragile(&r, f, faults[i % 4], NULL, &outcome);
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        ck_assert_int_eq(outcome.error.code, TROUPE_INVALID);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* The edges' values, a failure and a cancel are all on their way. */
START_TEST(a_send_a_failure_and_a_cancel_at_once_end_a_call_once_and_leave_nothing)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, FOUR);
    troupe_function *f = function_fragile();
    for (int i = rounds(50); i > 0; i--) {
        struct outcome outcome;
        const uint64_t call = call_fragile(&r, f, i % 4 ? FRAGILE_DIV : 0, NULL, &outcome);
        rehearsal_steps(&r, rehearsal_below(&r, 24));
        troupe_cancel(r.runtime, call);
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        if (!outcome.error.code)
            ck_fragile(&outcome, 1);
        else
            ck_assert(outcome.error.code == TROUPE_INVALID ||
                      outcome.error.code == TROUPE_CANCELLED);
        outcome_clear(&outcome);
        const struct troupe_caller *caller = r.runtime->main;
        ck_assert_uint_eq(caller->live, 0);
        ck_assert_ptr_null(caller->pinned);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* -- How soon ------------------------------------------------------------------------------ */

/* 60 steps that go to and fro between two devices. */
static troupe_function *function_long(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function long(v0: f32[4]) -> (v60)\n");
    for (int i = 1; i <= 60; i++)
        tp_text_add(&text, "  v%d = Add(v%d, v%d) @cpu:%d\n", i, i - 1, i - 1, i / 3 % 2);
    troupe_function *f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

static uint64_t steps_of(const struct tp_block *block)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; i < block->n_shards; i++)
        steps += block->shards[i].frame.ran;
    return steps;
}

/* What breaks it off: the message to the rendezvous is delivered at some time, and from then
 * on no shard begins a step. A frame that is at work looks between its steps:
 * a_frame_stops_between_steps_when_it_is_told_to. */
START_TEST(once_a_cancel_is_taken_no_shard_begins_a_step)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1");
    troupe_function *f = function_long();
    for (int i = 0; i < 8; i++) {
        troupe_tensor *x = row_of(1);
        struct outcome outcome = {.runtime = r.runtime};
        uint64_t at_most = UINT64_MAX;
        const uint64_t call =
            outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
        rehearsal_steps(&r, rehearsal_below(&r, 80));
        troupe_cancel(r.runtime, call);
        while (rehearsal_step(&r)) {
            const struct tp_block *block = first_pending(&r)->block;
            if (!block) continue;
            if (at_most == UINT64_MAX && block->count.failed) at_most = steps_of(block);
            ck_assert_uint_le(steps_of(block), at_most);
        }
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        if (at_most != UINT64_MAX) ck_assert_int_eq(outcome.error.code, TROUPE_CANCELLED);
        outcome_clear(&outcome);
        troupe_tensor_release(&x);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* Cancelled at any step: some before the end, some after it. */
START_TEST(a_cancel_comes_before_the_end_of_a_call_or_after_it)
{
    int before = 0, after = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct rehearsal r = rehearsal_open(seed, "cpu:0,cpu:1");
        troupe_function *f = function_over(2);
        troupe_tensor *x = row_of(1);
        struct outcome outcome = {.runtime = r.runtime};
        const uint64_t call =
            outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
        rehearsal_steps(&r, rehearsal_below(&r, 60));
        troupe_cancel(r.runtime, call);
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        before += outcome.error.code == TROUPE_CANCELLED;
        after += outcome.error.code == TROUPE_OK;
        outcome_clear(&outcome);
        troupe_tensor_release(&x);
        troupe_function_release(&f);
        rehearsal_close(&r);
    }
    ck_assert_int_gt(before, 0);
    ck_assert_int_gt(after, 0);
    ck_assert_int_eq(before + after, 100);
}
END_TEST

/* -- In order ------------------------------------------------------------------------------ */

#define MANY 12

/* v0 to v11 are made and sent by cpu:0, in this order, and cpu:1 adds them up. */
static troupe_function *function_many(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function many(x: f32[4]) -> (s%d)\n  v0 = Neg(x) @cpu:0\n", MANY - 1);
    for (int i = 1; i < MANY; i++)
        tp_text_add(&text, "  v%d = Add(v%d, x) @cpu:0\n", i, i - 1);
    tp_text_add(&text, "  s0 = Neg(v0) @cpu:1\n");
    for (int i = 1; i < MANY; i++)
        tp_text_add(&text, "  s%d = Add(s%d, v%d) @cpu:1\n", i, i - 1, i);
    troupe_function *f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

/* The rendezvous has seen the first n of the shard's sends, and no other. */
static void ck_seen_in_order(const struct tp_block *block)
{
    for (uint32_t i = 0; i < block->n_shards; i++) {
        const struct tp_program *program = block->shards[i].frame.program;
        bool all_before = true;
        for (uint32_t j = 0; j < program->n_steps; j++) {
            if (program->steps[j].kind != TP_STEP_SEND) continue;
            const bool seen = block->seen[program->steps[j].edge];
            ck_assert_msg(all_before || !seen, "a value overtook another of the same shard");
            all_before &= seen;
        }
    }
}

/* Several calls at once: each edge has a value of each, and each call's come in their order. */
START_TEST(values_that_one_shard_sends_another_come_in_the_order_of_their_sending)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1");
    troupe_function *f = function_many();
    struct outcome outcomes[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        troupe_tensor *x = row_of((float)i);
        outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[i]);
        troupe_tensor_release(&x);
    }
    while (rehearsal_step(&r))
        for (int i = 0; i < 4; i++)
            if (first_pending(&r)[i].block) ck_seen_in_order(first_pending(&r)[i].block);
    rehearsal_play(&r);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(outcomes[i].ended, 1);
        const float *sum = troupe_tensor_data(outcomes[i].results[0]);
        /* x - (0 - 1 ... ): -1, 0, 1, ... 10 times x, the first with the other sign */
        for (int j = 0; j < 4; j++)
            ck_assert_float_eq(sum[j], (float)(i + j) * 56);
        outcome_clear(&outcomes[i]);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/abort");
    TCase *told = tcase_create("told"), *again = tcase_create("again"),
          *soon = tcase_create("soon"), *order = tcase_create("order");
    tcase_add_test(
        told, the_report_tells_of_every_shard_that_failed_by_itself_the_first_as_the_error);
    tcase_add_seeds(told, a_value_that_was_sent_and_not_taken_is_reported_and_freed);
    tcase_add_seeds(again, a_receive_that_is_registered_as_its_sender_fails_always_ends);
    tcase_add_seeds(again,
                    a_send_a_failure_and_a_cancel_at_once_end_a_call_once_and_leave_nothing);
    tcase_add_seeds(soon, once_a_cancel_is_taken_no_shard_begins_a_step);
    tcase_add_test(soon, a_cancel_comes_before_the_end_of_a_call_or_after_it);
    tcase_add_seeds(order,
                    values_that_one_shard_sends_another_come_in_the_order_of_their_sending);
    suite_add_tcase(s, told);
    suite_add_tcase(s, again);
    suite_add_tcase(s, soon);
    suite_add_tcase(s, order);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
