/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_starve.c - whatever allocation fails, a call ends once, in EXHAUSTED or with its
 * values, and nothing is lost; and random functions that are broken off under 500 seeds.
 */
#include "tests/evaluate.h"
#include "tests/rehearsal.h"
#include "tests/wild.h"

#define WAIT_MS 20000

/* -- Memory that is not there
 * -------------------------------------------------------------------------------------- */

/* Which allocations fail: number n, and all later ones too. */
static const int all_later[] = {0, 1};
static const int workers[] = {0, 1};

struct life {
    const troupe_function *f;
    const troupe_tensor *x;
    int workers;
    bool report, cancel;
};

static void ck_allowed(troupe_status status)
{
    ck_assert_msg(status == TROUPE_OK || status == TROUPE_EXHAUSTED, "%s",
                  troupe_status_name(status));
}

static void ck_outcome(struct outcome *outcome)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code || outcome->error.code == TROUPE_EXHAUSTED ||
                      outcome->error.code == TROUPE_CANCELLED,
                  "%s", outcome->error.text);
    if (!outcome->error.code) ck_rows(outcome->results, 1);
    outcome_clear(outcome);
}

/* One call; it may not even start. */
static void call_once(troupe_runtime *runtime, const struct life *life)
{
    struct outcome outcome = {0};
    troupe_report *report = NULL;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    uint64_t call;
    if (life->report) options.report = &report;
    options.profile = life->report;
    troupe_status status = troupe_call(runtime, life->f, &life->x, 1, &options, outcome_note,
                                       &outcome, &call, NULL);
    ck_allowed(status);
    if (!status) {
        if (life->cancel) troupe_cancel(runtime, call);
        ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
        ck_outcome(&outcome);
    }
    ck_assert_int_eq(outcome.ended, 0); /* cleared, or never begun */
    troupe_report_release(&report);
}

static void run_once(troupe_runtime *runtime, const struct life *life)
{
    troupe_tensor *results[2];
    troupe_status status = troupe_run(runtime, life->f, &life->x, 1, results, 2, NULL, NULL);
    ck_allowed(status);
    if (status) return;
    ck_rows(results, 1);
    troupe_tensor_release(&results[0]);
    troupe_tensor_release(&results[1]);
}

static void plan_once(troupe_runtime *runtime, const struct life *life)
{
    troupe_plan *plan;
    char *text = NULL;
    troupe_status status = troupe_plan_make(runtime, life->f, NULL, &plan, NULL);
    ck_allowed(status);
    if (status) return;
    ck_allowed(troupe_plan_print(plan, TROUPE_TEXT, &text, NULL));
    troupe_free(text);
    troupe_plan_release(&plan);
}

static void live(const struct life *life)
{
    troupe_runtime *runtime;
    troupe_caller *caller = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1";
    options.workers = life->workers;
    troupe_status status = troupe_open(&runtime, &options, NULL);
    ck_allowed(status);
    if (status) return;
    plan_once(runtime, life);
    for (int i = 0; i < 3; i++) {
        call_once(runtime, life);
        run_once(runtime, life);
    }
    ck_allowed(troupe_caller_open(runtime, &caller, NULL));
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}

/* Again and again with a later allocation failing, until none of them does. */
static void starve(const struct life *life, int all)
{
    const size_t pieces = tp_alloc_pieces();
    for (uint64_t n = 1;; n++) {
        tp_alloc_fail_at(n, all);
        live(life);
        const bool hit = tp_alloc_asked() >= n;
        tp_alloc_fail_at(0, 0);
        ck_assert_msg(tp_alloc_pieces() == pieces, "allocation %d failed: %d pieces are left",
                      (int)n, (int)(tp_alloc_pieces() - pieces));
        if (!hit) break;
        ck_assert_uint_lt(n, 5000);
    }
}

static void starve_with(bool report, bool cancel, int n_workers, int all)
{
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1);
    const struct life life = {f, x, n_workers, report, cancel};
    starve(&life, all);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}

START_TEST(whatever_allocation_fails_calls_end_once_and_nothing_is_lost)
{
    starve_with(false, false, workers[_i / 2], all_later[_i % 2]);
}
END_TEST

START_TEST(whatever_allocation_fails_of_a_profiled_call_it_ends_once)
{
    starve_with(true, false, 0, all_later[_i]);
}
END_TEST

START_TEST(whatever_allocation_fails_a_cancelled_call_ends_once)
{
    starve_with(false, true, workers[_i], 0);
}
END_TEST

/* Values as of function_over(2), by way of calls, a constant and what nobody needs. */
START_TEST(whatever_allocation_fails_in_inlining_and_pruning_the_values_are_right_or_it_is_said)
{
    troupe_function *f = function_of("function up(v: f32[4], dead: f32[4]) -> (w)\n"
                                     "  one = f32[] 1\n  waste = Mul(v, dead) @cpu:1\n"
                                     "  w = Add(v, one) @cpu:0\n"
                                     "function over(x: f32[4]) -> (y: f32[4], z: f32[4])\n"
                                     "  a = up(x, x)\n  b = Mul(x, a) @cpu:1\n"
                                     "  never = up(b, a)\n  c = Sub(b, a) @cpu:0\n"
                                     "  z = Add(c, b) @cpu:1\n  y = Add(z, a) @cpu:0\n",
                                     "over");
    troupe_tensor *x = row_of(1);
    const struct life life = {f, x, workers[_i], false, false};
    starve(&life, 0);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}
END_TEST

/* A failing shard has no memory for its text: the code comes all the same. */
START_TEST(a_failure_that_cannot_be_told_in_full_keeps_its_code)
{
    troupe_function *f = function_fragile();
    const troupe_tensor *args[FRAGILE_ARGS];
    bool bare = false;
    fragile_args(args, 1, FRAGILE_DIV);
    for (uint64_t n = 1; n < 60; n++) {
        troupe_error err;
        troupe_runtime *runtime;
        troupe_tensor *results[3];
        troupe_options options = TROUPE_OPTIONS_INIT;
        options.devices = "cpu:0,cpu:1,cpu:2,cpu:3";
        options.workers = 0;
        ck_ok(troupe_open(&runtime, &options, &err));
        for (int i = 0; i < 2; i++) {
            if (i) tp_alloc_fail_at(n, 0);
            troupe_status status =
                troupe_run(runtime, f, args, FRAGILE_ARGS, results, 3, NULL, &err);
            tp_alloc_fail_at(0, 0);
            ck_assert(status == TROUPE_INVALID || (i && status == TROUPE_EXHAUSTED));
            bare |= strstr(err.text, "no memory for the failure's text") != NULL;
        }
        ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
    }
    ck_assert(bare);
    fragile_release(args);
    troupe_function_release(&f);
}
END_TEST

/* -- Random functions
 * -------------------------------------------------------------------------------------- */

static void ck_judged(const struct outcome *outcome, const troupe_function *f,
                      const troupe_tensor *const *args)
{
    troupe_error err;
    troupe_tensor *wanted[WILD_RESULTS];
    size_t ran;
    ck_ok(evaluate(f->body, args, WILD_ARGS, wanted, &ran, &err));
    for (size_t i = 0; i < troupe_function_results(f); i++) {
        ck_assert_msg(troupe_tensor_equal(outcome->results[i], wanted[i]), "result %zu", i);
        troupe_tensor_release(&wanted[i]);
    }
}

START_TEST(a_random_function_gives_the_bits_of_the_judge_in_any_order)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2");
    troupe_function *f = wild_function((uint64_t)_i, 3);
    const troupe_tensor *args[3][WILD_ARGS];
    struct outcome outcomes[3] = {{0}};
    for (int i = 0; i < 3; i++) {
        wild_args((uint64_t)(_i + i), args[i]);
        outcome_call(r.runtime, f, args[i], NULL, &outcomes[i]);
        rehearsal_steps(&r, rehearsal_below(&r, 20));
    }
    rehearsal_play(&r);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(outcomes[i].ended, 1);
        ck_assert_msg(!outcomes[i].error.code, "%s", outcomes[i].error.text);
        ck_judged(&outcomes[i], f, args[i]);
        outcome_clear(&outcomes[i]);
        wild_release(args[i]);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* Broken off by a cancel or by a pool that is full, at any step; the next call is right. */
START_TEST(a_random_function_that_is_broken_off_ends_once_and_the_next_call_is_right)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2");
    troupe_function *f = wild_function((uint64_t)_i, 3);
    const troupe_tensor *args[WILD_ARGS];
    wild_args((uint64_t)_i, args);
    for (int i = 0; i < 6; i++) {
        struct outcome outcome = {.runtime = r.runtime};
        uint64_t call = outcome_call(r.runtime, f, args, NULL, &outcome);
        rehearsal_steps(&r, rehearsal_below(&r, 60));
        if (i % 2 == 0)
            troupe_cancel(r.runtime, call);
        else
            troupe_device_fail_at(r.runtime, "cpu:1", 1 + rehearsal_below(&r, 4));
        rehearsal_play(&r);
        troupe_device_fail_at(r.runtime, "cpu:1", 0);
        ck_assert_int_eq(outcome.ended, 1);
        if (outcome.error.code)
            ck_assert_int_eq(outcome.error.code, i % 2 ? TROUPE_EXHAUSTED : TROUPE_CANCELLED);
        else
            ck_judged(&outcome, f, args);
        outcome_clear(&outcome);
        outcome_call(r.runtime, f, args, NULL, &outcome);
        rehearsal_play(&r);
        ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
        ck_judged(&outcome, f, args);
        outcome_clear(&outcome);
    }
    wild_release(args);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/starve");
    TCase *starving = tcase_create("starving"), *wild = tcase_create("random");
    tcase_set_timeout(starving, 60);
    tcase_add_loop_test(starving, whatever_allocation_fails_calls_end_once_and_nothing_is_lost,
                        0, 4);
    tcase_add_loop_test(starving, whatever_allocation_fails_of_a_profiled_call_it_ends_once, 0,
                        2);
    tcase_add_loop_test(starving, whatever_allocation_fails_a_cancelled_call_ends_once, 0, 2);
    tcase_add_loop_test(
        starving,
        whatever_allocation_fails_in_inlining_and_pruning_the_values_are_right_or_it_is_said, 0,
        2);
    tcase_add_test(starving, a_failure_that_cannot_be_told_in_full_keeps_its_code);
    tcase_add_seeds(wild, a_random_function_gives_the_bits_of_the_judge_in_any_order);
    tcase_add_seeds(wild,
                    a_random_function_that_is_broken_off_ends_once_and_the_next_call_is_right);
    suite_add_tcase(s, starving);
    suite_add_tcase(s, wild);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
