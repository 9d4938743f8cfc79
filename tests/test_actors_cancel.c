/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_cancel.c - cancelling, parents and deadlines, under 500 seeds.
 */
#include <unistd.h>

#include "base/clock.h"
#include "tests/rehearsal.h"

#define LIST "cpu:0,cpu:1,cpu:2"

static uint64_t call_over(struct rehearsal *r, const troupe_function *f, float first,
                          const troupe_call_options *options, struct outcome *outcome)
{
    troupe_tensor *x = row_of(first);
    outcome->runtime = r->runtime;
    uint64_t call =
        outcome_call(r->runtime, f, (const troupe_tensor *const[]){x}, options, outcome);
    troupe_tensor_release(&x);
    return call;
}

static void ck_cancelled(const struct outcome *outcome)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_int_eq(outcome->error.code, TROUPE_CANCELLED);
    ck_assert_ptr_nonnull(strstr(outcome->error.text, "'over'"));
    ck_assert_uint_eq(outcome->n, 0);
}

/* It ended once: with its values, or as cancelled. */
static void ck_either(struct outcome *outcome, float first)
{
    if (outcome->error.code) {
        ck_cancelled(outcome);
        return;
    }
    ck_assert_int_eq(outcome->ended, 1);
    ck_rows(outcome->results, first);
    outcome_clear(outcome);
}

/* A call that is not touched works. */
static void ck_works(struct rehearsal *r, const troupe_function *f)
{
    struct outcome outcome = {0};
    call_over(r, f, 7, NULL, &outcome);
    rehearsal_play(r);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
    ck_rows(outcome.results, 7);
    outcome_clear(&outcome);
}

/* -- One call
 * -------------------------------------------------------------------------------------- */

/* The first is not planned yet, the second's instance is known. */
START_TEST(a_call_cancelled_at_any_step_ends_once_and_the_next_one_works)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    for (int i = 0; i < 8; i++) {
        struct outcome outcome = {0};
        uint64_t call = call_over(&r, f, (float)i, NULL, &outcome);
        rehearsal_steps(&r, rehearsal_below(&r, i ? 40 : 6));
        troupe_cancel(r.runtime, call);
        if (rehearsal_below(&r, 2)) troupe_cancel(r.runtime, call);
        rehearsal_play(&r);
        ck_either(&outcome, (float)i);
        troupe_cancel(r.runtime, call); /* nothing to do any more */
        if (rehearsal_below(&r, 2)) ck_works(&r, f);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* One slot is used again and again, and no message of an earlier call reaches a later one. */
START_TEST(a_cancel_while_planning_does_not_reach_the_next_call)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = {0}, next = {0};
        troupe_function *f = function_over(3);
        uint64_t call = call_over(&r, f, 1, NULL, &outcome);
        rehearsal_steps(&r, rehearsal_below(&r, 6));
        troupe_cancel(r.runtime, call);
        while (!outcome.ended && rehearsal_step(&r))
            tp_caller_take(r.runtime->main);
        call_over(&r, f, 2, NULL, &next);
        rehearsal_play(&r);
        ck_either(&outcome, 1);
        ck_assert_int_eq(next.ended, 1);
        ck_assert_msg(!next.error.code, "%s", next.error.text);
        outcome_clear(&next);
        troupe_function_release(&f);
    }
    rehearsal_close(&r);
}
END_TEST

/* The rendezvous has taken the cancel while it waited for the plan. */
START_TEST(a_call_that_was_cancelled_before_it_ran_never_runs)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    struct outcome outcome = {0};
    const struct tp_pending *p;
    bool early = false;
    uint64_t call = call_over(&r, f, 1, NULL, &outcome);
    p = &atomic_load(&r.runtime->main->chunks[0])[0];
    rehearsal_steps(&r, rehearsal_below(&r, 5));
    troupe_cancel(r.runtime, call);
    while (rehearsal_step(&r))
        early |= !p->block && atomic_load(&p->word) == (1u << 16 | 1);
    rehearsal_play(&r);
    if (early)
        ck_cancelled(&outcome);
    else
        ck_either(&outcome, 1);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(cancelling_one_call_does_not_touch_another)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    for (int round = 0; round < 3; round++) {
        struct outcome outcomes[6] = {{0}};
        uint64_t calls[6];
        for (int i = 0; i < 6; i++) {
            calls[i] = call_over(&r, f, (float)(i * 10), NULL, &outcomes[i]);
            rehearsal_steps(&r, rehearsal_below(&r, 10));
            if (i % 2)
                troupe_cancel(r.runtime, calls[i - rehearsal_below(&r, 2) * 2 % (unsigned)i]);
        }
        rehearsal_play(&r);
        for (int i = 0; i < 6; i++) {
            if (i % 2)
                ck_either(&outcomes[i], (float)(i * 10));
            else
                ck_assert_int_eq(outcomes[i].error.code, TROUPE_OK);
            outcome_clear(&outcomes[i]);
        }
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(a_cancel_after_a_failure_leaves_its_cause)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3");
    troupe_function *f = function_fragile();
    const troupe_tensor *args[FRAGILE_ARGS];
    struct outcome outcome = {.runtime = r.runtime};
    fragile_args(args, 1, FRAGILE_ASSERT);
    uint64_t call = outcome_call(r.runtime, f, args, NULL, &outcome);
    const struct tp_pending *p = &atomic_load(&r.runtime->main->chunks[0])[0];
    while (!(p->block && p->block->count.failed))
        ck_assert(rehearsal_step(&r));
    troupe_cancel(r.runtime, call);
    rehearsal_play(&r);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_int_eq(outcome.error.code, TROUPE_INVALID);
    ck_assert_ptr_nonnull(strstr(outcome.error.text, "the lights are out"));
    fragile_release(args);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(a_failure_after_a_cancel_leaves_it_cancelled)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3");
    troupe_function *f = function_fragile();
    const troupe_tensor *args[FRAGILE_ARGS];
    struct outcome outcome = {.runtime = r.runtime};
    troupe_error cause = {0};
    fragile_args(args, 1, FRAGILE_ASSERT | FRAGILE_DIV);
    uint64_t call = outcome_call(r.runtime, f, args, NULL, &outcome);
    const struct tp_pending *p = &atomic_load(&r.runtime->main->chunks[0])[0];
    rehearsal_steps(&r, rehearsal_below(&r, 16));
    troupe_cancel(r.runtime, call);
    while (rehearsal_step(&r))
        if (!cause.code && p->block && p->block->count.failed) cause = p->block->count.cause;
    rehearsal_play(&r);
    ck_assert_int_eq(outcome.ended, 1);
    if (cause.code) ck_assert_str_eq(outcome.error.text, cause.text);
    ck_assert(outcome.error.code == TROUPE_INVALID || outcome.error.code == TROUPE_CANCELLED);
    fragile_release(args);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* -- Parents and children
 * -------------------------------------------------------------------------------------- */

/* Family i: 0 is the grandparent, 1 and 2 are its children, 3 and 4 those of 1, 5 has no
 * parent. */
#define FAMILY 6

static void start_family(struct rehearsal *r, const troupe_function *f, uint64_t *calls,
                         struct outcome *outcomes)
{
    static const int parents[FAMILY] = {-1, 0, 0, 1, 1, -1};
    for (int i = 0; i < FAMILY; i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        if (parents[i] >= 0) options.parent = calls[parents[i]];
        calls[i] = call_over(r, f, (float)i, &options, &outcomes[i]);
    }
}

static void ck_family(struct outcome *outcomes, unsigned may_be_cancelled)
{
    for (int i = 0; i < FAMILY; i++) {
        if (!(may_be_cancelled >> i & 1))
            ck_assert_msg(!outcomes[i].error.code, "%d: %s", i, outcomes[i].error.text);
        ck_either(&outcomes[i], (float)i);
    }
}

START_TEST(cancelling_a_parent_cancels_its_children_and_never_upward)
{
    static const unsigned touched[FAMILY] = {1 + 2 + 4 + 8 + 16, 2 + 8 + 16, 4, 8, 16, 32};
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    for (int which = 0; which < FAMILY; which++) {
        struct outcome outcomes[FAMILY] = {{0}};
        uint64_t calls[FAMILY];
        start_family(&r, f, calls, outcomes);
        rehearsal_steps(&r, rehearsal_below(&r, 60));
        troupe_cancel(r.runtime, calls[which]);
        rehearsal_play(&r);
        ck_family(outcomes, touched[which]);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* Nothing has run yet, and the cancels are handled before the plan is there. */
START_TEST(children_that_have_not_begun_are_all_cancelled_with_their_parent)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    struct outcome outcomes[FAMILY] = {{0}};
    uint64_t calls[FAMILY];
    start_family(&r, f, calls, outcomes);
    for (int i = 0; i < FAMILY; i++) /* the word: alive and one pin */
        ck_assert_uint_eq(atomic_load(&atomic_load(&r.runtime->main->chunks[0])[i].word) & 3,
                          1);
    troupe_cancel(r.runtime, calls[0]);
    for (int i = 0; i < FAMILY; i++)
        ck_assert_uint_eq(atomic_load(&atomic_load(&r.runtime->main->chunks[0])[i].word) & 3,
                          i == 5 ? 1 : 3);
    rehearsal_play(&r);
    ck_family(outcomes, 31);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(a_child_of_a_call_that_was_cancelled_or_has_ended_is_cancelled)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    struct outcome parent = {0}, child = {0}, late = {0};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.parent = call_over(&r, f, 1, NULL, &parent);
    troupe_cancel(r.runtime, options.parent);
    call_over(&r, f, 2, &options, &child);
    rehearsal_play(&r);
    call_over(&r, f, 3, &options, &late);
    rehearsal_play(&r);
    ck_either(&parent, 1);
    ck_either(&child, 2);
    ck_either(&late, 3);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(a_failing_child_cancels_neither_its_parent_nor_its_siblings)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2,cpu:3");
    troupe_function *f = function_fragile(), *over = function_over(4);
    const troupe_tensor *args[FRAGILE_ARGS];
    struct outcome parent = {0}, bad = {.runtime = r.runtime}, good = {0};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.parent = call_over(&r, over, 1, NULL, &parent);
    fragile_args(args, 1, FRAGILE_DIV);
    outcome_call(r.runtime, f, args, &options, &bad);
    call_over(&r, over, 2, &options, &good);
    rehearsal_play(&r);
    ck_assert_int_eq(bad.ended, 1);
    ck_assert_int_eq(bad.error.code, TROUPE_INVALID);
    ck_assert_int_eq(parent.error.code, TROUPE_OK);
    ck_assert_int_eq(good.error.code, TROUPE_OK);
    ck_either(&parent, 1);
    ck_either(&good, 2);
    fragile_release(args);
    troupe_function_release(&f);
    troupe_function_release(&over);
    rehearsal_close(&r);
}
END_TEST

/* -- Deadlines
 * -------------------------------------------------------------------------------------- */

/* A rehearsal fires no timers by itself. */
static void fire_timers(struct rehearsal *r)
{
    while (tp_timers_next(r->runtime->stage->timers) > tp_clock_ns())
        ;
    tp_timers_run(r->runtime->stage->timers, r->runtime->main->seat);
}

START_TEST(a_deadline_that_passes_at_any_step_ends_the_call_once)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = {0}, other = {0};
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        options.deadline_s = 1e-9;
        uint64_t call = call_over(&r, f, 1, &options, &outcome);
        call_over(&r, f, 2, NULL, &other);
        rehearsal_steps(&r, rehearsal_below(&r, 30));
        if (rehearsal_below(&r, 4) == 0) troupe_cancel(r.runtime, call);
        fire_timers(&r);
        if (rehearsal_below(&r, 4) == 0) troupe_cancel(r.runtime, call);
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        ck_assert(outcome.error.code == TROUPE_OK || outcome.error.code == TROUPE_TIMED_OUT ||
                  outcome.error.code == TROUPE_CANCELLED);
        ck_assert_msg(!other.error.code, "%s", other.error.text);
        ck_either(&other, 2);
        outcome_clear(&outcome);
    }
    ck_assert_uint_eq(tp_timers_next(r.runtime->stage->timers), 0);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(a_deadline_that_passed_before_anything_ran_is_the_cause)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    struct outcome outcome = {0}, child = {0};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT, childs = TROUPE_CALL_OPTIONS_INIT;
    options.deadline_s = 1e-9;
    childs.parent = call_over(&r, f, 1, &options, &outcome);
    call_over(&r, f, 1, &childs, &child);
    fire_timers(&r);
    rehearsal_play(&r);
    if (outcome.error.code) {
        ck_assert_int_eq(outcome.error.code, TROUPE_TIMED_OUT);
        ck_assert_ptr_nonnull(strstr(outcome.error.text, "the deadline passed"));
    }
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_int_eq(child.ended, 1);
    outcome_clear(&outcome);
    outcome_clear(&child);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* -- Closing
 * -------------------------------------------------------------------------------------- */

START_TEST(closing_at_any_step_ends_every_call_once)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    struct outcome outcomes[5] = {{0}};
    for (int i = 0; i < 5; i++) {
        call_over(&r, f, (float)i, NULL, &outcomes[i]);
        rehearsal_steps(&r, rehearsal_below(&r, 12));
    }
    ck_assert_int_eq(troupe_close(&r.runtime), TROUPE_OK);
    for (int i = 0; i < 5; i++)
        ck_either(&outcomes[i], (float)i);
    troupe_function_release(&f);
    ck_assert_uint_eq(tp_alloc_pieces(), r.pieces);
}
END_TEST

/* Start a call whose block cannot be made, while there are free blocks that can be given up; allocation n is
 * the one that fails. True: its rendezvous is asked to try again. */
static bool try_again(struct rehearsal *r, const troupe_function *f, uint64_t n,
                      struct outcome *outcome)
{
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    struct troupe_caller *caller = r->runtime->main;
    options.deadline_s = 1000;
    call_over(r, f, 1, &options, outcome);
    tp_alloc_fail_at(n, 0);
    while (rehearsal_step(r))
        ;
    tp_alloc_fail_at(0, 0);
    tp_caller_take(caller);
    return !outcome->ended;
}

/* As another thread would do it that looks at timers: between the caller's last look at the deadline and the
 * rendezvous's turn. */
static void pass_deadline(struct rehearsal *r)
{
    struct tp_pending *pending = atomic_load(&r->runtime->main->chunks[0]);
    struct tp_message *timeout = &pending->timeout;
    ck_assert_int_eq(pending->state, TP_CALL_ENDED);
    ck_assert(tp_pending_pin(pending, tp_word_generation(atomic_load(&pending->word))));
    tp_message_set(timeout, TP_CANCEL, 0);
    timeout->cancel.pending = pending;
    timeout->cancel.code = TROUPE_TIMED_OUT;
    tp_stage_handle(r->runtime->main->seat, &pending->actor, timeout);
}

START_TEST(a_deadline_that_passes_before_a_call_is_tried_again_ends_it)
{
    troupe_function *known = function_fragile(), *f = function_over(3);
    bool again = false;
    for (uint64_t n = 1; !again; n++) {
        struct rehearsal r = rehearsal_open(1, LIST ",cpu:3");
        struct outcome outcome = {0}, first = {0};
        const troupe_tensor *args[FRAGILE_ARGS];
        ck_assert_uint_lt(n, 1000);
        fragile_args(args, 1, 0);
        outcome_call(r.runtime, known, args, NULL, &first);
        rehearsal_play(&r);
        ck_fragile(&first, 1);
        again = try_again(&r, f, n, &outcome);
        if (again) pass_deadline(&r);
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        if (again) ck_assert_int_eq(outcome.error.code, TROUPE_TIMED_OUT);
        outcome_clear(&outcome);
        outcome_clear(&first);
        fragile_release(args);
        rehearsal_close(&r);
    }
    troupe_function_release(&known);
    troupe_function_release(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/cancel");
    TCase *one = tcase_create("one call"), *families = tcase_create("families"),
          *deadlines = tcase_create("deadlines"), *closing = tcase_create("closing");
    tcase_add_seeds(one, a_call_cancelled_at_any_step_ends_once_and_the_next_one_works);
    tcase_add_seeds(one, a_cancel_while_planning_does_not_reach_the_next_call);
    tcase_add_seeds(one, a_call_that_was_cancelled_before_it_ran_never_runs);
    tcase_add_seeds(one, cancelling_one_call_does_not_touch_another);
    tcase_add_seeds(one, a_cancel_after_a_failure_leaves_its_cause);
    tcase_add_seeds(one, a_failure_after_a_cancel_leaves_it_cancelled);
    tcase_add_seeds(families, cancelling_a_parent_cancels_its_children_and_never_upward);
    tcase_add_seeds(families, children_that_have_not_begun_are_all_cancelled_with_their_parent);
    tcase_add_seeds(families, a_child_of_a_call_that_was_cancelled_or_has_ended_is_cancelled);
    tcase_add_seeds(families, a_failing_child_cancels_neither_its_parent_nor_its_siblings);
    tcase_add_seeds(deadlines, a_deadline_that_passes_at_any_step_ends_the_call_once);
    tcase_add_seeds(deadlines, a_deadline_that_passed_before_anything_ran_is_the_cause);
    tcase_add_test(deadlines, a_deadline_that_passes_before_a_call_is_tried_again_ends_it);
    tcase_add_seeds(closing, closing_at_any_step_ends_every_call_once);
    suite_add_tcase(s, one);
    suite_add_tcase(s, families);
    suite_add_tcase(s, deadlines);
    suite_add_tcase(s, closing);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
