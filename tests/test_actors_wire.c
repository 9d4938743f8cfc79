/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_wire.c - calls whose messages all go through the codec: values and failures
 * are what they are without.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/rehearsal.h"

#define LIST "cpu:0,cpu:1,cpu:2,cpu:3"

/* Every test here opens its runtimes between these two. */
static void wire_on(void)
{
    ck_assert_int_eq(setenv("TROUPE_WIRE", "1", 1), 0);
}

static void wire_off(void)
{
    ck_assert_int_eq(unsetenv("TROUPE_WIRE"), 0);
}

static void call_rows(struct rehearsal *r, const troupe_function *f, float first)
{
    struct outcome outcome = {.runtime = r->runtime};
    troupe_tensor *x = row_of(first);
    outcome_call(r->runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
    troupe_tensor_release(&x);
    rehearsal_play(r);
    ck_assert_int_eq(outcome.ended, 1);
    ck_rows(outcome.results, first);
    outcome_clear(&outcome);
}

START_TEST(values_are_the_same_through_the_codec_in_any_order)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(4);
    ck_assert(r.runtime->stage->wire);
    call_rows(&r, f, 1);
    call_rows(&r, f, -7);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* The error of a call that fails. */
static troupe_error failure(uint64_t seed, unsigned faults)
{
    struct rehearsal r = rehearsal_open(seed, LIST);
    struct outcome outcome = {.runtime = r.runtime};
    troupe_function *f = function_fragile();
    const troupe_tensor *args[FRAGILE_ARGS];
    fragile_args(args, 3, faults);
    outcome_call(r.runtime, f, args, NULL, &outcome);
    fragile_release(args);
    rehearsal_play(&r);
    ck_assert_int_eq(outcome.ended, 1);
    const troupe_error error = outcome.error;
    outcome_clear(&outcome);
    troupe_function_release(&f);
    rehearsal_close(&r);
    return error;
}

START_TEST(a_failure_is_the_same_through_the_codec)
{
    const unsigned faults[] = {FRAGILE_ASSERT, FRAGILE_DIV, FRAGILE_RESHAPE};
    for (size_t i = 0; i < TP_COUNT(faults); i++) {
        const troupe_error with = failure((uint64_t)_i, faults[i]);
        wire_off();
        const troupe_error without = failure((uint64_t)_i, faults[i]);
        wire_on();
        ck_assert_int_lt(with.code, 0);
        ck_assert_int_eq(with.code, without.code);
        ck_assert_str_eq(with.text, without.text);
    }
}
END_TEST

START_TEST(threads_send_each_other_messages_through_the_codec)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = LIST;
    options.workers = 3;
    ck_ok(troupe_open(&runtime, &options, &err));
    troupe_function *f = function_over(4);
    for (int i = 0; i < 200; i++) {
        troupe_tensor *x = row_of((float)i), *results[2];
        const troupe_tensor *const args[] = {x};
        ck_ok(troupe_run(runtime, f, args, 1, results, 2, NULL, &err));
        ck_rows(results, (float)i);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
        troupe_tensor_release(&x);
    }
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

static const char *const no[] = {"0", "", "yes", "11"};

START_TEST(only_1_turns_the_codec_on)
{
    ck_assert_int_eq(setenv("TROUPE_WIRE", no[_i], 1), 0);
    struct rehearsal r = rehearsal_open(1, LIST);
    ck_assert(!r.runtime->stage->wire);
    rehearsal_close(&r);
}
END_TEST

/* Without the environment. */
START_TEST(an_option_turns_the_codec_on)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    wire_off();
    for (int wire = 0; wire < 2; wire++) {
        options.wire = wire;
        ck_ok(troupe_open(&runtime, &options, &err));
        ck_assert_int_eq(runtime->stage->wire, wire);
        ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
    }
}
END_TEST

/* A plan keeps its function: here another than the caller's. */
START_TEST(a_plan_is_made_of_a_function_that_came_through_the_codec)
{
    int kept[2];
    for (int wire = 0; wire < 2; wire++) {
        if (wire) wire_on();
        if (!wire) wire_off();
        struct rehearsal r = rehearsal_open(1, LIST);
        troupe_function *f = function_over(4);
        call_rows(&r, f, 1);
        kept[wire] = (int)atomic_load(&f->body->ref.count);
        troupe_function_release(&f);
        rehearsal_close(&r);
    }
    ck_assert_int_gt(kept[0], kept[1]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/stage: wire");
    TCase *t = tcase_create("wire");
    tcase_add_checked_fixture(t, wire_on, wire_off);
    tcase_add_loop_test(t, values_are_the_same_through_the_codec_in_any_order, 0, 100);
    tcase_add_loop_test(t, a_failure_is_the_same_through_the_codec, 0, 20);
    tcase_add_test(t, threads_send_each_other_messages_through_the_codec);
    tcase_add_test(t, an_option_turns_the_codec_on);
    tcase_add_test(t, a_plan_is_made_of_a_function_that_came_through_the_codec);
    tcase_add_loop_test(t, only_1_turns_the_codec_on, 0, TP_COUNT(no));
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
