/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_planning.c - large functions planned in slices, with threads: deadlines,
 * loops without workers, callers that wait for one plan.
 */
#include <poll.h>
#include <stdio.h>

#include "base/thread.h"
#include "tests/rehearsal.h"

#define LARGE   100000 /* graph nodes: planning takes hundreds of slices */
#define MEDIUM  5000
#define POLL_MS 60000 /* nothing is waited for as long as this unless it is lost */

/* y = x + 0 + 0 ..., in blocks of ten over two devices. */
static troupe_function *row(int n)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function row(x: f32[4], z: f32[4]) -> (y)\n  a0 = Add(x, z)\n");
    for (int i = 1; i < n; i++)
        tp_text_add(&text, "  a%d = Add(a%d, z) @cpu:%d\n", i, i - 1, i / 10 % 2);
    tp_text_add(&text, "  y = Relu(a%d)\n", n - 1);
    troupe_function *f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

struct setting {
    troupe_runtime *runtime;
    troupe_function *large;
    troupe_tensor *args[2];
};

static struct setting setting_open(int workers, int n)
{
    struct setting b = {.large = row(n)};
    troupe_error err;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0(threads=1),cpu:1(threads=1)";
    options.workers = workers;
    ck_ok(troupe_open(&b.runtime, &options, &err));
    b.args[0] = value_of("f32[4] [1, 2, 3, 4]");
    b.args[1] = value_of("f32[4] [0, 0, 0, 0]");
    return b;
}

static void setting_close(struct setting *b)
{
    ck_assert_int_eq(troupe_close(&b->runtime), TROUPE_OK);
    troupe_function_release(&b->large);
    for (int i = 0; i < 2; i++)
        troupe_tensor_release(&b->args[i]);
}

static const troupe_tensor *const *args_of(const struct setting *b)
{
    return (const troupe_tensor *const *)b->args;
}

static uint64_t planned(const struct setting *b)
{
    troupe_statistics s = {.size = sizeof(s)};
    troupe_statistics_get(b->runtime, &s);
    return s.planned;
}

static bool flies(const struct setting *b)
{
    return atomic_load(tp_coordinator_flights(b->runtime->coordinator)) > 0;
}

static void ck_row(struct outcome *outcome)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code, "%s", outcome->error.text);
    ck_value(outcome->results[0], "f32[4] [1, 2, 3, 4]");
    outcome_clear(outcome);
}

/* -- Ends ----------------------------------------------------------------------------------- */

static const int workers_of[] = {0, 1, 2};

/* Long before it could have been made. */
START_TEST(a_deadline_ends_a_plan_that_is_being_made)
{
    struct setting b = setting_open(workers_of[_i], LARGE);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_tensor *y = NULL;
    troupe_error err;
    options.deadline_s = 0.002;
    ck_fails(troupe_run(b.runtime, b.large, args_of(&b), 2, &y, 1, &options, &err), TIMED_OUT,
             "the deadline passed first");
    while (flies(&b))
        (void)!troupe_dispatch(b.runtime);
    ck_assert_uint_eq(planned(&b), 0);
    setting_close(&b);
}
END_TEST

START_TEST(a_cancel_ends_a_plan_that_is_being_made)
{
    struct setting b = setting_open(workers_of[_i], LARGE);
    struct outcome outcome = {0};
    uint64_t call = outcome_call(b.runtime, b.large, args_of(&b), NULL, &outcome);
    ck_assert_int_eq(troupe_wait(b.runtime, call, 2), TROUPE_PENDING);
    troupe_cancel(b.runtime, call);
    ck_assert_int_eq(troupe_wait(b.runtime, call, -1), TROUPE_OK);
    ck_assert_int_eq(outcome.error.code, TROUPE_CANCELLED);
    while (flies(&b))
        (void)!troupe_dispatch(b.runtime);
    ck_assert_uint_eq(planned(&b), 0);
    setting_close(&b);
}
END_TEST

START_TEST(a_close_ends_a_plan_that_is_being_made)
{
    struct setting b = setting_open(workers_of[_i], LARGE);
    struct outcome outcome = {0};
    uint64_t call = outcome_call(b.runtime, b.large, args_of(&b), NULL, &outcome);
    ck_assert_int_eq(troupe_wait(b.runtime, call, 2), TROUPE_PENDING);
    setting_close(&b);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_int_eq(outcome.error.code, TROUPE_CANCELLED);
}
END_TEST

/* -- Loops ---------------------------------------------------------------------------------- */

static void await_fd(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&poll_fd, 1, POLL_MS), 1);
}

START_TEST(a_loop_without_workers_gets_on_between_slices)
{
    struct setting b = setting_open(0, LARGE);
    struct outcome outcome = {0}, other = {0};
    troupe_function *small = row(20);
    outcome_call(b.runtime, b.large, args_of(&b), NULL, &outcome);
    const int fd = troupe_fd(b.runtime);
    for (int i = 0; i < 3; i++) {
        await_fd(fd);
        (void)!troupe_dispatch(b.runtime);
        ck_assert(!outcome.ended);
        ck_assert(flies(&b));
    }
    outcome_call(b.runtime, small, args_of(&b), NULL, &other);
    while (!other.ended) {
        await_fd(fd);
        (void)!troupe_dispatch(b.runtime);
    }
    ck_row(&other);
    ck_assert(flies(&b));
    while (!outcome.ended) {
        await_fd(fd);
        (void)!troupe_dispatch(b.runtime);
    }
    ck_row(&outcome);
    troupe_function_release(&small);
    setting_close(&b);
}
END_TEST

struct member {
    struct setting *setting;
    struct outcome outcome;
    troupe_error error;
    troupe_status status;
};

/* A thread with a loop of its own. */
static void *loop(void *arg)
{
    struct member *m = arg;
    troupe_caller *caller = NULL;
    struct pollfd fd = {.events = POLLIN};
    m->status = troupe_caller_open(m->setting->runtime, &caller, &m->error);
    if (m->status >= 0)
        m->status = troupe_caller_call(caller, m->setting->large, args_of(m->setting), 2, NULL,
                                       outcome_note, &m->outcome, NULL, &m->error);
    fd.fd = m->status < 0 ? -1 : troupe_caller_fd(caller);
    while (m->status >= 0 && !m->outcome.ended) {
        if (poll(&fd, 1, POLL_MS) != 1) m->status = TROUPE_TIMED_OUT;
        (void)!troupe_caller_dispatch(caller);
    }
    if (caller) (void)!troupe_caller_close(&caller);
    return NULL;
}

#define LOOPS 4

START_TEST(loops_that_wait_for_one_plan_all_get_it)
{
    static const int workers[] = {0, 2};
    troupe_error err;
    struct setting b = setting_open(workers[_i % 2], MEDIUM);
    struct member members[LOOPS] = {{0}};
    struct tp_thread threads[LOOPS] = {{0}};
    for (int i = 0; i < LOOPS; i++) {
        members[i].setting = &b;
        ck_ok(tp_thread_start(&threads[i], "loop", loop, &members[i], &err));
    }
    for (int i = 0; i < LOOPS; i++) {
        tp_thread_join(&threads[i]);
        ck_assert_msg(members[i].status >= 0, "loop %d: %s", i,
                      troupe_status_name(members[i].status));
        ck_row(&members[i].outcome);
    }
    ck_assert_uint_eq(planned(&b), 1);
    setting_close(&b);
}
END_TEST

/* Without workers the loop that began a plan does its work; when it goes, another's does. */
START_TEST(a_loop_gets_a_plan_that_another_began_and_left)
{
    troupe_error err;
    struct setting b = setting_open(0, LARGE);
    troupe_caller *first = NULL, *second = NULL;
    struct outcome left = {0}, outcome = {0};
    ck_ok(troupe_caller_open(b.runtime, &first, &err));
    ck_ok(troupe_caller_open(b.runtime, &second, &err));
    ck_ok(troupe_caller_call(first, b.large, args_of(&b), 2, NULL, outcome_note, &left, NULL,
                             &err));
    const int fd = troupe_caller_fd(second);
    (void)!troupe_caller_dispatch(first);
    ck_ok(troupe_caller_call(second, b.large, args_of(&b), 2, NULL, outcome_note, &outcome,
                             NULL, &err));
    await_fd(fd);
    (void)!troupe_caller_dispatch(second);
    (void)!troupe_caller_dispatch(first);
    ck_assert_int_eq(troupe_caller_close(&first), TROUPE_OK);
    ck_assert_int_eq(left.error.code, TROUPE_CANCELLED);
    while (!outcome.ended) {
        await_fd(fd);
        (void)!troupe_caller_dispatch(second);
    }
    ck_row(&outcome);
    ck_assert_uint_eq(planned(&b), 1);
    ck_assert_int_eq(troupe_caller_close(&second), TROUPE_OK);
    setting_close(&b);
}
END_TEST

/* The job is in the hands of a third one meanwhile, and is put down in the name of who left. */
START_TEST(a_loop_gets_a_plan_whose_beginner_leaves_while_another_thread_has_it)
{
    troupe_error err;
    struct setting b = setting_open(0, MEDIUM);
    troupe_caller *first = NULL, *second = NULL, *third = NULL;
    struct outcome left = {0}, outcome = {0};
    const bool joins_late = _i;
    ck_ok(troupe_caller_open(b.runtime, &first, &err));
    ck_ok(troupe_caller_open(b.runtime, &second, &err));
    ck_ok(troupe_caller_open(b.runtime, &third, &err));
    struct pollfd fd = {.fd = troupe_caller_fd(second), .events = POLLIN};
    ck_ok(troupe_caller_call(first, b.large, args_of(&b), 2, NULL, outcome_note, &left, NULL,
                             &err));
    ck_assert(tp_stage_turn(third->seat, third, true)); /* the coordinator's: the job is here */
    if (joins_late) ck_assert_int_eq(troupe_caller_close(&first), TROUPE_OK);
    ck_ok(troupe_caller_call(second, b.large, args_of(&b), 2, NULL, outcome_note, &outcome,
                             NULL, &err));
    (void)!troupe_caller_dispatch(second);
    if (!joins_late) ck_assert_int_eq(troupe_caller_close(&first), TROUPE_OK);
    (void)!troupe_caller_dispatch(second);
    tp_stage_leave(third->seat, third);
    while (!outcome.ended) {
        ck_assert_int_eq(poll(&fd, 1, 0), 1);
        (void)!troupe_caller_dispatch(second);
    }
    ck_assert_int_eq(left.error.code, TROUPE_CANCELLED);
    ck_row(&outcome);
    ck_assert_int_eq(poll(&fd, 1, 0), 0);
    ck_assert_int_eq(troupe_caller_close(&third), TROUPE_OK);
    ck_assert_int_eq(troupe_caller_close(&second), TROUPE_OK);
    setting_close(&b);
}
END_TEST

/* The device's turn, which grants to others: long by its estimate, or published before. */
START_TEST(a_thread_in_run_leaves_nothing_that_is_nobodys_own_behind_in_its_name)
{
    troupe_error err;
    struct setting b = setting_open(0, 10);
    struct tp_device_actor *device = &b.runtime->device_actors[0];
    struct troupe_caller *runner;
    ck_ok(tp_runtime_runner(b.runtime, &runner, &err));
    ck_assert(tp_permit_take(device, runner->seat));
    atomic_fetch_add(&device->waiting, 1); /* a shard of another thread */
    tp_permit_drop(device, runner->seat);
    ck_assert_ptr_eq(runner->seat->head, &device->actor);
    if (_i) {
        tp_stage_hand_over(runner->seat, runner);
        ck_assert_int_eq(atomic_load(&b.runtime->stage->published), 1);
        tp_caller_go(runner);
    } else {
        device->actor.estimate = 1000000;
        tp_stage_leave(runner->seat, runner);
    }
    ck_assert_int_eq(atomic_load(&b.runtime->stage->published), 0);
    ck_assert(!tp_bell_expects(&runner->bell));
    ck_assert(!atomic_load(&device->poked));
    atomic_fetch_sub(&device->waiting, 1);
    setting_close(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("actors/planning");
    TCase *ends = tcase_create("ends"), *loops = tcase_create("loops");
    tcase_set_timeout(ends, 120);
    tcase_set_timeout(loops, 120);
    tcase_add_loop_test(ends, a_deadline_ends_a_plan_that_is_being_made, 0, 3);
    tcase_add_loop_test(ends, a_cancel_ends_a_plan_that_is_being_made, 0, 3);
    tcase_add_loop_test(ends, a_close_ends_a_plan_that_is_being_made, 0, 3);
    tcase_add_test(loops, a_loop_without_workers_gets_on_between_slices);
    tcase_add_test(loops, a_loop_gets_a_plan_that_another_began_and_left);
    tcase_add_loop_test(loops, loops_that_wait_for_one_plan_all_get_it, 0, 8);
    tcase_add_loop_test(
        loops, a_loop_gets_a_plan_whose_beginner_leaves_while_another_thread_has_it, 0, 2);
    suite_add_tcase(s, ends);
    tcase_add_loop_test(
        loops, a_thread_in_run_leaves_nothing_that_is_nobodys_own_behind_in_its_name, 0, 2);
    suite_add_tcase(s, loops);
    return test_run(s);
}
