/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_plans.c - plans asked for by many, permits, and pools that fail, in
 * rehearsal.
 */
#include <stdio.h>

#include "tests/rehearsal.h"

#define LIST "cpu:0,cpu:1,cpu:2"

static uint64_t call_over(struct rehearsal *r, const troupe_function *f, float first,
                          const troupe_call_options *options, struct outcome *outcome)
{
    troupe_tensor *x = row_of(first);
    uint64_t call =
        outcome_call(r->runtime, f, (const troupe_tensor *const[]){x}, options, outcome);
    troupe_tensor_release(&x);
    return call;
}

static troupe_statistics figures(const struct rehearsal *r)
{
    troupe_statistics s = {.size = sizeof(s)};
    troupe_statistics_get(r->runtime, &s);
    return s;
}

static void ck_rows_of(struct outcome *outcome, float first)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code, "%s", outcome->error.text);
    ck_rows(outcome->results, first);
    outcome_clear(outcome);
}

/* -- Plans
 * -------------------------------------------------------------------------------------- */

#define MANY 100

START_TEST(a_hundred_calls_that_ask_for_one_plan_at_once_build_it_once)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    struct outcome outcomes[MANY] = {{0}};
    for (int i = 0; i < MANY; i++) {
        call_over(&r, f, (float)i, NULL, &outcomes[i]);
        if (rehearsal_below(&r, 4) == 0) rehearsal_steps(&r, 1);
    }
    rehearsal_play(&r);
    for (int i = 0; i < MANY; i++)
        ck_rows_of(&outcomes[i], (float)i);
    ck_assert_uint_eq(figures(&r).planned, 1);
    ck_assert_uint_eq(figures(&r).instances, 1);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* Cancelled ones are forgotten, whoever asked first; the others get the plan. */
START_TEST(calls_that_are_cancelled_while_a_plan_is_made_leave_the_others_theirs)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    struct outcome outcomes[12] = {{0}};
    uint64_t calls[12];
    for (int i = 0; i < 12; i++)
        calls[i] = call_over(&r, f, (float)i, NULL, &outcomes[i]);
    rehearsal_steps(&r, rehearsal_below(&r, 20));
    for (int i = 0; i < 12; i += 2)
        troupe_cancel(r.runtime, calls[i]);
    rehearsal_play(&r);
    for (int i = 0; i < 12; i++) {
        if (i % 2 == 0 && outcomes[i].error.code) {
            ck_assert_int_eq(outcomes[i].ended, 1);
            ck_assert_int_eq(outcomes[i].error.code, TROUPE_CANCELLED);
        } else {
            ck_rows_of(&outcomes[i], (float)i);
        }
    }
    ck_assert_uint_eq(figures(&r).planned, 1);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* y = x + x + ... over three devices: so many graph nodes that planning takes hundreds of slices.
 */
#define LONG_ROW 200
static troupe_function *function_long(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function long(x: f32[4]) -> (y)\n  a0 = Add(x, x)\n");
    for (int i = 1; i < LONG_ROW; i++)
        tp_text_add(&text, "  a%d = Add(a%d, x) @cpu:%d\n", i, i - 1, i / 10 % 3);
    tp_text_add(&text, "  y = Relu(a%d)\n", LONG_ROW - 1);
    troupe_function *f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

static void ck_long(struct outcome *outcome)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code, "%s", outcome->error.text);
    ck_value(outcome->results[0], "f32[4] [201, 402, 603, 804]");
    outcome_clear(outcome);
}

static bool flies(const struct rehearsal *r)
{
    return atomic_load(tp_coordinator_flights(r->runtime->coordinator)) > 0;
}

static uint64_t call_long(struct rehearsal *r, const troupe_function *f,
                          struct outcome *outcome)
{
    troupe_tensor *x = value_of("f32[4] [1, 2, 3, 4]");
    uint64_t call =
        outcome_call(r->runtime, f, (const troupe_tensor *const[]){x}, NULL, outcome);
    troupe_tensor_release(&x);
    return call;
}

START_TEST(a_plan_that_nobody_waits_for_any_more_is_given_up)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_long();
    struct outcome outcome = {0};
    uint32_t steps = 0;
    uint64_t call = call_long(&r, f, &outcome);
    while (!flies(&r))
        ck_assert(rehearsal_step(&r));
    rehearsal_steps(&r, rehearsal_below(&r, 100)); /* slices of it */
    troupe_cancel(r.runtime, call);
    for (; flies(&r); steps++)
        ck_assert(rehearsal_step(&r));
    /* The cancel and what follows from it compete with slices for each step. */
    ck_assert_uint_lt(steps, 100);
    rehearsal_play(&r);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_int_eq(outcome.error.code, TROUPE_CANCELLED);
    outcome_clear(&outcome);
    ck_assert_uint_eq(figures(&r).planned, 0);
    call_long(&r, f, &outcome);
    rehearsal_play(&r);
    ck_long(&outcome);
    ck_assert_uint_eq(figures(&r).planned, 1);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(who_asks_for_a_plan_that_is_being_given_up_gets_one)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_long();
    struct outcome outcomes[2] = {{0}};
    uint64_t call = call_long(&r, f, &outcomes[0]);
    rehearsal_steps(&r, rehearsal_below(&r, 60));
    troupe_cancel(r.runtime, call);
    rehearsal_steps(&r, rehearsal_below(&r, 10));
    call_long(&r, f, &outcomes[1]);
    rehearsal_play(&r);
    ck_long(&outcomes[1]);
    ck_assert_int_eq(outcomes[0].ended, 1);
    ck_assert_int_eq(outcomes[0].error.code, TROUPE_CANCELLED);
    ck_assert_uint_eq(figures(&r).planned, 1);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* The seed chooses between a slice of the plan and any message of the others. */
START_TEST(other_calls_go_on_while_a_plan_is_made)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_long(), *small = function_over(3);
    struct outcome first = {0}, outcome = {0};
    call_over(&r, small, 1, NULL, &first);
    rehearsal_play(&r);
    ck_rows_of(&first, 1);
    call_long(&r, f, &outcome);
    while (!flies(&r))
        ck_assert(rehearsal_step(&r));
    for (int i = 0; i < 3; i++) {
        struct outcome other = {0};
        call_over(&r, small, (float)i, NULL, &other);
        while (!other.ended && rehearsal_step(&r))
            tp_caller_take(r.runtime->main);
        ck_rows_of(&other, (float)i);
    }
    ck_assert(flies(&r));
    rehearsal_play(&r);
    ck_long(&outcome);
    troupe_function_release(&f);
    troupe_function_release(&small);
    rehearsal_close(&r);
}
END_TEST

START_TEST(a_runtime_may_be_closed_while_a_plan_is_made)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_long();
    struct outcome outcome = {0};
    call_long(&r, f, &outcome);
    rehearsal_steps(&r, rehearsal_below(&r, 100));
    troupe_function_release(&f);
    rehearsal_close(&r);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_int_eq(outcome.error.code, TROUPE_CANCELLED);
}
END_TEST

/* cpu:9 is not there. */
START_TEST(a_plan_that_fails_is_answered_to_every_waiter_once_and_not_kept)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_of("function astray(x: f32[4]) -> (y)\n"
                                     "  a = Add(x, x) @cpu:0\n"
                                     "  y = Add(a, x) @cpu:9\n",
                                     NULL);
    troupe_tensor *x = row_of(1);
    for (int round = 0; round < 2; round++) {
        struct outcome outcomes[10] = {{0}};
        for (int i = 0; i < 10; i++) {
            outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[i]);
            rehearsal_steps(&r, rehearsal_below(&r, 3));
        }
        rehearsal_play(&r);
        for (int i = 0; i < 10; i++) {
            ck_assert_int_eq(outcomes[i].ended, 1);
            ck_assert_int_lt(outcomes[i].error.code, 0);
            ck_assert_ptr_nonnull(strstr(outcomes[i].error.text, "cpu:9"));
            ck_assert_ptr_nonnull(strstr(outcomes[i].error.text, "'astray'"));
        }
        ck_assert_uint_eq(figures(&r).planned, 0);
        ck_assert_uint_eq(figures(&r).plans, 0);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* One plan, an instance for each shape; a shape that does not fit fails alone. */
START_TEST(calls_of_several_shapes_share_a_plan_and_each_shape_has_its_instance)
{
    static const char *const shapes[] = {"f32[2] [1, 2]", "f32[3] [1, 2, 3]",
                                         "f32[2,2] [[1, 2], [3, 4]]"};
    static const char *const twice[] = {"f32[2] [2, 4]", "f32[3] [2, 4, 6]"};
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_of("function twice(x: f32[n]) -> (y: f32[n])\n"
                                     "  a = Identity(x) @cpu:1\n"
                                     "  y = Add(a, x) @cpu:0\n",
                                     NULL);
    struct outcome outcomes[12] = {{0}};
    for (int i = 0; i < 12; i++) {
        troupe_tensor *x = value_of(shapes[i % 3]);
        outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[i]);
        troupe_tensor_release(&x);
        rehearsal_steps(&r, rehearsal_below(&r, 6));
    }
    rehearsal_play(&r);
    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(outcomes[i].ended, 1);
        if (i % 3 < 2)
            ck_value(outcomes[i].results[0], twice[i % 3]);
        else
            ck_assert_int_eq(outcomes[i].error.code, TROUPE_INVALID);
        outcome_clear(&outcomes[i]);
    }
    ck_assert_uint_eq(figures(&r).planned, 1);
    ck_assert_uint_eq(figures(&r).instances, 2);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* max_plans is 256 unless it was asked for: a hand-made runtime of 2. */
START_TEST(above_the_limit_the_plan_used_least_recently_goes)
{
    troupe_error err;
    uint64_t seed = (uint64_t)_i;
    troupe_options options = TROUPE_OPTIONS_INIT;
    struct rehearsal r = {.state = seed, .pieces = tp_alloc_pieces()};
    char text[100];
    options.max_plans = 2;
    ck_ok(tp_runtime_open(&r.runtime, &options, &seed, &err));
    for (int i = 0; i < 12; i++) {
        struct outcome outcome = {0};
        snprintf(text, sizeof(text),
                 "function f(x: f32[4]) -> (y)\n  c = f32[] %d\n  y = Add(x, c)\n",
                 (int)rehearsal_below(&r, 4));
        troupe_function *f = function_of(text, NULL);
        call_over(&r, f, 1, NULL, &outcome);
        rehearsal_play(&r);
        ck_assert_int_eq(outcome.ended, 1);
        ck_assert_int_eq(outcome.error.code, TROUPE_OK);
        ck_assert_uint_le(figures(&r).plans, 2);
        outcome_clear(&outcome);
        troupe_function_release(&f);
    }
    rehearsal_close(&r);
}
END_TEST

/* -- Permits
 * -------------------------------------------------------------------------------------- */

/* A second thread, as it were, that is in a turn on the device: its only permit is out. */
static struct tp_seat *hold_permit(struct rehearsal *r, uint32_t device)
{
    troupe_error err;
    struct tp_stage *stage = r->runtime->stage;
    struct tp_device_actor *actor = &r->runtime->device_actors[device];
    struct tp_seat *seat;
    for (int i = 0; i < atomic_load(&stage->n_seats); i++)
        if (atomic_exchange(&atomic_load(&stage->seats[i])->at[device].permit, TP_PERMIT_NONE))
            atomic_fetch_add(&actor->free, 1);
    ck_assert_int_eq(atomic_load(&actor->free), 1);
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    ck_assert(tp_permit_take(actor, seat));
    return seat;
}

/* Calls of one shard in the slots 0 to n-1 of a new runtime: play, and note in which place each
 * shard began. */
static void play_in_order(struct rehearsal *r, int n, int *places)
{
    const struct tp_pending *slots = atomic_load(&r->runtime->main->chunks[0]);
    int next = 0;
    for (int i = 0; i < n; i++)
        places[i] = -1;
    while (rehearsal_step(r))
        for (int i = 0; i < n; i++)
            if (places[i] < 0 && slots[i].block->shards[0].frame.pc > 0) places[i] = next++;
    rehearsal_play(r);
    ck_assert_int_eq(next, n);
}

/* Calls with these priorities, all of which wait for a permit. */
static void ask_all(struct rehearsal *r, int n, const int *priorities, struct outcome *outcomes)
{
    troupe_function *f = function_of("function f(x: f32[4]) -> (y)\n  y = Add(x, x)\n", NULL);
    troupe_tensor *x = row_of(1);
    for (int i = 0; i < n; i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        options.priority = priorities[i];
        outcomes[i] = (struct outcome){0};
        outcome_call(r->runtime, f, (const troupe_tensor *const[]){x}, &options, &outcomes[i]);
        if (i == 0) rehearsal_play(r); /* the first is the oldest */
    }
    rehearsal_play(r);
    ck_assert_int_eq(atomic_load(&r->runtime->device_actors[0].waiting), n);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}

static void ck_all_worked(struct outcome *outcomes, int n)
{
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(outcomes[i].ended, 1);
        ck_assert_msg(!outcomes[i].error.code, "%s", outcomes[i].error.text);
        outcome_clear(&outcomes[i]);
    }
}

/* All have asked before the permit comes back: of two priorities the higher goes first. */
START_TEST(shards_without_a_permit_wait_for_one_in_the_order_of_their_priority)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0(threads=1)");
    struct outcome outcomes[10];
    int places[10], priorities[10];
    struct tp_seat *seat = hold_permit(&r, 0);
    for (int i = 0; i < 10; i++)
        priorities[i] = (int)rehearsal_below(&r, 3) - 1;
    ask_all(&r, 10, priorities, outcomes);
    tp_permit_drop(&r.runtime->device_actors[0], seat);
    play_in_order(&r, 10, places);
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++)
            if (priorities[i] > priorities[j]) ck_assert_int_lt(places[i], places[j]);
    ck_all_worked(outcomes, 10);
    rehearsal_close(&r);
}
END_TEST

/* 40 of priority 1 stand behind one of priority 0, which is passed over 16 times. */
START_TEST(a_shard_of_low_priority_ages_and_is_not_passed_over_for_ever)
{
    enum { CALLS = 41 };
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0(threads=1)");
    struct outcome outcomes[CALLS];
    int places[CALLS], priorities[CALLS];
    struct tp_seat *seat = hold_permit(&r, 0);
    for (int i = 0; i < CALLS; i++)
        priorities[i] = i > 0;
    ask_all(&r, CALLS, priorities, outcomes);
    tp_permit_drop(&r.runtime->device_actors[0], seat);
    play_in_order(&r, CALLS, places);
    ck_assert_int_eq(places[0], 16);
    ck_all_worked(outcomes, CALLS);
    rehearsal_close(&r);
}
END_TEST

START_TEST(calls_cancelled_while_they_wait_for_a_permit_end_without_one)
{
    struct rehearsal r =
        rehearsal_open((uint64_t)_i, "cpu:0(threads=1),cpu:1(threads=1),cpu:2");
    troupe_function *f = function_over(3);
    uint64_t calls[10];
    for (int round = 0; round < 3; round++) {
        struct outcome outcomes[10] = {{0}};
        struct tp_seat *seats[2] = {hold_permit(&r, 0), hold_permit(&r, 1)};
        for (int i = 0; i < 10; i++)
            calls[i] = call_over(&r, f, (float)i, NULL, &outcomes[i]);
        rehearsal_steps(&r, rehearsal_below(&r, 300));
        for (int i = 0; i < 10; i += 2)
            troupe_cancel(r.runtime, calls[i]);
        if (rehearsal_below(&r, 2)) rehearsal_play(&r);
        for (uint32_t d = 0; d < 2; d++) {
            rehearsal_steps(&r, rehearsal_below(&r, 20));
            tp_permit_drop(&r.runtime->device_actors[d], seats[d]);
        }
        rehearsal_play(&r);
        for (int i = 0; i < 10; i++) {
            ck_assert_int_eq(outcomes[i].ended, 1);
            if (i % 2 == 0 && outcomes[i].error.code)
                ck_assert_int_eq(outcomes[i].error.code, TROUPE_CANCELLED);
            else
                ck_rows_of(&outcomes[i], (float)i);
        }
        for (uint32_t d = 0; d < 3; d++)
            ck_assert_int_eq(atomic_load(&r.runtime->device_actors[d].waiting), 0);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* -- Pools
 * -------------------------------------------------------------------------------------- */

/* One call with the n-th allocation of that device failing. */
static troupe_status fail_nth(struct rehearsal *r, const troupe_function *f, const char *device,
                              uint64_t n)
{
    struct outcome outcome = {.runtime = r->runtime};
    ck_assert_int_eq(troupe_device_fail_at(r->runtime, device, n), TROUPE_OK);
    call_over(r, f, 1, NULL, &outcome);
    rehearsal_play(r);
    ck_assert_int_eq(troupe_device_fail_at(r->runtime, device, 0), TROUPE_OK);
    ck_assert_int_eq(outcome.ended, 1);
    troupe_status code = outcome.error.code;
    if (code) {
        ck_assert_int_eq(code, TROUPE_EXHAUSTED);
        ck_assert_ptr_nonnull(strstr(outcome.error.text, device));
        outcome_clear(&outcome);
    } else {
        ck_rows_of(&outcome, 1);
    }
    call_over(r, f, 2, NULL, &outcome);
    rehearsal_play(r);
    ck_rows_of(&outcome, 2);
    return code;
}

static uint64_t fail_each(struct rehearsal *r, const troupe_function *f, const char *device)
{
    uint64_t n = 1;
    while (fail_nth(r, f, device, n))
        ck_assert_uint_lt(n++, 50);
    return n;
}

/* In a fresh runtime each, since a call keeps what it took for the next one. */
START_TEST(an_allocation_that_fails_in_a_pool_fails_its_call_and_the_next_one_works)
{
    static const char *const devices[] = {"cpu:0", "cpu:1", "cpu:2"};
    troupe_function *f = function_over(3);
    for (int d = 0; d < 3; d++) {
        troupe_status code = TROUPE_EXHAUSTED;
        uint64_t n;
        for (n = 1; code; n++) {
            struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
            code = fail_nth(&r, f, devices[d], n);
            rehearsal_close(&r);
        }
        ck_assert_uint_gt(n, 2); /* there was something to fail */
    }
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_warm_call_allocates_in_no_pool)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, LIST);
    troupe_function *f = function_over(3);
    for (int i = 0; i < 3; i++)
        fail_nth(&r, f, "cpu:0", 0);
    ck_assert_uint_eq(fail_each(&r, f, "cpu:0"), 1);
    ck_assert_uint_eq(fail_each(&r, f, "cpu:1"), 1);
    ck_assert_uint_eq(fail_each(&r, f, "cpu:2"), 1);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

/* The frame of one call fits, that of a second one beside it does not. */
START_TEST(over_the_limit_of_a_pool_a_call_fails_with_figures_and_the_others_go_on)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0(memory=20000),cpu:1");
    troupe_function *f = function_of("function big(x: f32[2000]) -> (y: f32[2000])\n"
                                     "  a = Add(x, x) @cpu:1\n  y = Add(a, x) @cpu:0\n",
                                     NULL);
    troupe_error err;
    troupe_tensor *x;
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 1, (const int64_t[]){2000}, NULL, &err));
    struct outcome outcomes[4] = {{0}};
    int failed = 0;
    for (int i = 0; i < 4; i++)
        outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[i]);
    rehearsal_play(&r);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(outcomes[i].ended, 1);
        failed += outcomes[i].error.code != 0;
        if (!outcomes[i].error.code) continue;
        ck_assert_int_eq(outcomes[i].error.code, TROUPE_EXHAUSTED);
        ck_assert_ptr_nonnull(strstr(outcomes[i].error.text, "20000 bytes"));
    }
    ck_assert_int_eq(failed, 2);
    for (int i = 0; i < 4; i++)
        outcome_clear(&outcomes[i]);
    outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[0]);
    rehearsal_play(&r);
    ck_assert_msg(!outcomes[0].error.code, "%s", outcomes[0].error.text);
    outcome_clear(&outcomes[0]);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/plans");
    TCase *plans = tcase_create("plans"), *permits = tcase_create("permits"),
          *pools = tcase_create("pools");
    tcase_add_seeds(plans, a_hundred_calls_that_ask_for_one_plan_at_once_build_it_once);
    tcase_add_seeds(plans,
                    calls_that_are_cancelled_while_a_plan_is_made_leave_the_others_theirs);
    tcase_add_seeds(plans, a_plan_that_nobody_waits_for_any_more_is_given_up);
    tcase_add_seeds(plans, who_asks_for_a_plan_that_is_being_given_up_gets_one);
    tcase_add_seeds(plans, other_calls_go_on_while_a_plan_is_made);
    tcase_add_seeds(plans, a_runtime_may_be_closed_while_a_plan_is_made);
    tcase_add_seeds(plans, a_plan_that_fails_is_answered_to_every_waiter_once_and_not_kept);
    tcase_add_seeds(plans,
                    calls_of_several_shapes_share_a_plan_and_each_shape_has_its_instance);
    tcase_add_seeds(plans, above_the_limit_the_plan_used_least_recently_goes);
    tcase_add_seeds(permits,
                    shards_without_a_permit_wait_for_one_in_the_order_of_their_priority);
    tcase_add_seeds(permits, a_shard_of_low_priority_ages_and_is_not_passed_over_for_ever);
    tcase_add_seeds(permits, calls_cancelled_while_they_wait_for_a_permit_end_without_one);
    tcase_add_seeds(pools,
                    an_allocation_that_fails_in_a_pool_fails_its_call_and_the_next_one_works);
    tcase_add_seeds(pools, a_warm_call_allocates_in_no_pool);
    tcase_add_seeds(pools,
                    over_the_limit_of_a_pool_a_call_fails_with_figures_and_the_others_go_on);
    suite_add_tcase(s, plans);
    suite_add_tcase(s, permits);
    suite_add_tcase(s, pools);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
