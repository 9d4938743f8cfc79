/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_turns.c - who runs when: permits, turns, priorities, fairness, seen by
 * operators that tell of themselves.
 */
#include <stdio.h>

#include "base/clock.h"
#include "tests/crowd.h"
#include "tests/ops_gates.h"

#define STEPS 6 /* of a long call */

static const int workers[] = {0, 1, 3};

/* A function of one chain: `op` n times with that id. */
static troupe_function *chain_of(const char *op, int n, int id)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function chain%d(v0: f32[4]) -> (v%d)\n", id, n);
    for (int i = 1; i <= n; i++)
        tp_text_add(&text, "  v%d = %s(v%d, id=%d)\n", i, op, i - 1, id);
    troupe_function *f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

static uint64_t call_chain(troupe_runtime *runtime, const troupe_function *f, int priority,
                           struct outcome *outcome)
{
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_tensor *x = member_row(1);
    options.priority = priority;
    *outcome = (struct outcome){0};
    uint64_t call = outcome_call(runtime, f, (const troupe_tensor *const[]){x},
                                 priority ? &options : NULL, outcome);
    troupe_tensor_release(&x);
    return call;
}

static void ck_worked(struct outcome *outcome)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code, "%s", outcome->error.text);
    outcome_clear(outcome);
}

/* The instance is known to the runtime's caller from here on. */
static void warm(troupe_runtime *runtime, const troupe_function *f)
{
    struct outcome outcome;
    uint64_t call = call_chain(runtime, f, 0, &outcome);
    ck_assert_int_eq(troupe_wait(runtime, call, WAIT_MS), TROUPE_OK);
    ck_worked(&outcome);
    gates_clear();
}

/* The place in the log of the first that noted this id. */
static int place_of(int id)
{
    for (int i = 0; i < atomic_load(&gates.n); i++)
        if (atomic_load(&gates.id[i]) == id) return i;
    return -1;
}

/* -- Permits
 * -------------------------------------------------------------------------------------- */

static void *meet_many(void *arg)
{
    struct member *a = arg;
    troupe_error err;
    member_await(a->crowd);
    while (atomic_fetch_sub(&a->crowd->tickets, 1) > 0) {
        troupe_tensor *x = member_row(1), *y;
        if (troupe_run(a->crowd->runtime, a->crowd->f, (const troupe_tensor *const[]){x}, 1, &y,
                       1, NULL, &err))
            member_note(a, "run", &err);
        else
            troupe_tensor_release(&y);
        troupe_tensor_release(&x);
    }
    return NULL;
}

static void ck_meetings(int k, int threads, int n_workers)
{
    char devices[80];
    struct member members[THREADS];
    troupe_function *f = function_of("function f(x: f32[4]) -> (y)\n  y = Meet(x)\n", NULL);
    snprintf(devices, sizeof(devices), "cpu:0(threads=%d)", k);
    struct crowd crowd = {.runtime = crowd_open(devices, n_workers, 0), .f = f};
    gates_clear();
    gates.party = k < threads ? k : threads;
    atomic_store(&crowd.tickets, gates.party * (40 / SLOWER));
    crowd_play(&crowd, members, threads, 0, meet_many);
    ck_assert_int_eq(atomic_load(&gates.most), gates.party);
    ck_assert_int_eq(atomic_load(&gates.inside), 0);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
    troupe_function_release(&f);
}

/* The operator waits for min(N, k) of them to be inside. */
START_TEST(of_n_threads_that_call_one_function_the_lesser_of_n_and_the_permits_run_at_once)
{
    for (int k = 1; k <= 6; k++)
        for (int threads = 1; threads <= THREADS; threads += threads < 3 ? 1 : 5)
            ck_meetings(k, threads, workers[_i]);
}
END_TEST

/* -- Turns
 * -------------------------------------------------------------------------------------- */

/* The clock ends a turn when the estimates are wrong. */
START_TEST(a_long_call_holds_up_a_short_one_by_no_more_than_a_turn)
{
    troupe_runtime *runtime = crowd_open("cpu:0(threads=1)", 0, 0);
    troupe_function *lengthy = chain_of("Slow", 20, 1), *brief = chain_of("Note", 1, 2);
    for (int round = 0; round < 3; round++) {
        struct outcome outcomes[2];
        if (round) warm(runtime, lengthy);
        if (round) warm(runtime, brief);
        gates_clear();
        call_chain(runtime, lengthy, 0, &outcomes[0]);
        call_chain(runtime, brief, 0, &outcomes[1]);
        dispatch_all(runtime);
        /* Before they are known both wait for their plans, and the first has its first. */
        ck_assert_int_le(place_of(2), round ? 1 : 3);
        for (int i = 0; i < 2; i++)
            ck_worked(&outcomes[i]);
    }
    troupe_function_release(&lengthy);
    troupe_function_release(&brief);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

static bool someone_waits(void *arg)
{
    const troupe_runtime *runtime = arg;
    return atomic_load(&runtime->device_actors[0].waiting) > 0;
}

/* Once the other thread's long call holds the only permit. */
static void *run_briefly(void *arg)
{
    struct member *a = arg;
    troupe_error err;
    troupe_tensor *x = member_row(1), *y = NULL;
    while (place_of(3) < 0)
        sched_yield();
    if (troupe_run(a->crowd->runtime, a->crowd->f, (const troupe_tensor *const[]){x}, 1, &y, 1,
                   NULL, &err))
        member_note(a, "run", &err);
    troupe_tensor_release(&x);
    troupe_tensor_release(&y);
    return NULL;
}

/* The long call waits in its middle until the other one stands in line for the permit. */
START_TEST(a_long_run_gives_its_permit_to_who_waits_after_a_turn)
{
    troupe_error err;
    troupe_function *brief = chain_of("Note", 1, 2);
    troupe_function *lengthy = function_of("function f(x: f32[4]) -> (y)\n"
                                           "  a = Slow(x, id=1)\n  b = Slow(a, id=1)\n"
                                           "  c = Hold(b, id=3)\n  d = Slow(c, id=4)\n"
                                           "  e = Slow(d, id=4)\n  y = Slow(e, id=4)\n",
                                           NULL);
    struct crowd crowd = {.runtime = crowd_open("cpu:0(threads=1)", workers[_i], 0),
                          .f = brief};
    troupe_tensor *x = member_row(1), *y;
    for (int round = 0; round < 20; round++) {
        struct member other = {.crowd = &crowd};
        gates_clear();
        gates.pass = someone_waits;
        gates.arg = crowd.runtime;
        ck_assert_int_eq(pthread_create(&other.thread, NULL, run_briefly, &other), 0);
        ck_ok(troupe_run(crowd.runtime, lengthy, (const troupe_tensor *const[]){x}, 1, &y, 1,
                         NULL, &err));
        pthread_join(other.thread, NULL);
        ck_assert_msg(!other.wrong[0], "%s", other.wrong);
        ck_assert_int_ge(place_of(2), 3); /* behind the Hold */
        ck_assert_int_le(place_of(2), 5); /* after a quick Hold the next look is after two */
        troupe_tensor_release(&y);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&lengthy);
    troupe_function_release(&brief);
    ck_assert_int_eq(troupe_close(&crowd.runtime), TROUPE_OK);
}
END_TEST

/* Nobody else looks at the time: it is seen between two steps, however they were estimated. */
START_TEST(a_deadline_is_kept_to_within_a_step_on_the_only_thread)
{
    troupe_runtime *runtime = crowd_open("cpu:0(threads=1)", 0, 0);
    troupe_function *f = chain_of("Slow", 2000, 1);
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_tensor *x = member_row(1);
    options.deadline_s = 0.02;
    for (int round = 0; round < 3; round++) {
        struct outcome outcome = {0};
        int late = 0;
        gates_clear();
        outcome_call(runtime, f, (const troupe_tensor *const[]){x}, &options, &outcome);
        const uint64_t deadline = tp_clock_ns() + 20000000;
        while (!outcome.ended)
            ck_assert_int_eq(troupe_wait(runtime, 0, WAIT_MS), TROUPE_OK);
        ck_assert_int_eq(outcome.error.code, TROUPE_TIMED_OUT);
        for (int i = 0; i < atomic_load(&gates.n); i++)
            late += gates.at[i] > deadline;
        ck_assert_int_le(late, 2); /* it may pass as the next one begins */
        outcome_clear(&outcome);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* -- Order
 * -------------------------------------------------------------------------------------- */

/* The one that has begun has its turn; then the order is that of the priorities. */
START_TEST(on_one_thread_calls_run_by_priority_whatever_the_order_they_were_started_in)
{
    static const int priorities[] = {0, -1, 2, 0, 1, 3, -1};
    enum { CALLS = TP_COUNT(priorities) };
    troupe_runtime *runtime = crowd_open("cpu:0(threads=1)", 0, 0);
    troupe_function *f[CALLS];
    for (int i = 0; i < CALLS; i++)
        f[i] = chain_of("Note", 1, i);
    for (int round = 0; round < 4; round++) {
        struct outcome outcomes[CALLS];
        gates_clear();
        for (int i = 0; i < CALLS; i++)
            call_chain(runtime, f[i], priorities[i], &outcomes[i]);
        dispatch_all(runtime);
        for (int i = 0; i < CALLS; i++)
            ck_worked(&outcomes[i]);
        for (int i = 0; round && i < CALLS; i++)
            for (int j = 0; j < CALLS; j++)
                if (priorities[i] > priorities[j] || (priorities[i] == priorities[j] && i < j))
                    ck_assert_int_lt(place_of(i), place_of(j));
    }
    ck_assert_int_eq(atomic_load(&runtime->stage->ranked), 0);
    for (int i = 0; i < CALLS; i++)
        troupe_function_release(&f[i]);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* How far the calls' turns are from taking turns: the largest lead of one over another while
 * both have steps left. */
static int largest_lead(int calls, int steps)
{
    int ran[16] = {0}, lead = 0;
    for (int i = 0; i < atomic_load(&gates.n); i++) {
        ran[atomic_load(&gates.id[i])]++;
        for (int a = 0; a < calls; a++)
            for (int b = 0; b < calls; b++)
                if (ran[b] < steps && ran[a] - ran[b] > lead) lead = ran[a] - ran[b];
    }
    return lead;
}

START_TEST(long_calls_of_one_priority_take_turns_on_one_thread)
{
    enum { CALLS = 4 };
    static const int priorities[] = {0, 2};
    troupe_runtime *runtime = crowd_open("cpu:0(threads=1)", 0, 0);
    troupe_function *f[CALLS];
    for (int i = 0; i < CALLS; i++)
        f[i] = chain_of("Slow", STEPS, i);
    for (int round = 0; round < 4; round++) {
        struct outcome outcomes[CALLS];
        for (int i = 0; i < CALLS; i++)
            warm(runtime, f[i]);
        for (int i = 0; i < CALLS; i++)
            call_chain(runtime, f[i], priorities[round % 2], &outcomes[i]);
        dispatch_all(runtime);
        for (int i = 0; i < CALLS; i++)
            ck_worked(&outcomes[i]);
        ck_assert_int_le(largest_lead(CALLS, STEPS), 1);
    }
    for (int i = 0; i < CALLS; i++)
        troupe_function_release(&f[i]);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* Turns that each call has had. */
static void count_turns(int calls, int *turns)
{
    for (int i = 0; i < calls; i++)
        turns[i] = gates_count(i);
}

static bool stands_in_line(const struct tp_device_actor *device,
                           const struct tp_shard_actor *shard)
{
    for (const struct tp_wait *wait = device->waits; wait; wait = wait->next)
        if (wait == &shard->wait) return true;
    return false;
}

#define LINE 5

/* Play on: while one stands in line, nobody has two turns. */
static void play_fairly(struct rehearsal *r)
{
    const struct tp_device_actor *device = &r->runtime->device_actors[0];
    const struct tp_pending *slots = atomic_load(&r->runtime->main->chunks[0]);
    int before[LINE][LINE], now[LINE];
    bool in_line[LINE] = {false};
    do {
        count_turns(LINE, now);
        for (int i = 0; i < LINE; i++) {
            const struct tp_block *block = slots[i].block;
            bool in = block && stands_in_line(device, &block->shards[0]);
            if (in && !in_line[i]) memcpy(before[i], now, sizeof(now));
            in_line[i] = in;
            for (int j = 0; in && j < LINE; j++)
                ck_assert_int_le(now[j] - before[i][j], 1);
        }
    } while (rehearsal_step(r));
}

/* The permit is out, all stand in line, then it comes back. */
START_TEST(nobody_has_two_turns_while_another_stands_in_line)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0(threads=1)");
    struct tp_device_actor *device = &r.runtime->device_actors[0];
    struct outcome outcomes[LINE];
    troupe_function *f[LINE];
    troupe_error err;
    struct tp_seat *seat;
    ck_ok(tp_seat_new(r.runtime->stage, false, &seat, &err));
    ck_assert(tp_permit_take(device, seat));
    gates_clear();
    for (int i = 0; i < LINE; i++) {
        f[i] = chain_of("Heavy", STEPS, i);
        call_chain(r.runtime, f[i], (_i % 2) * 3, &outcomes[i]);
    }
    rehearsal_play(&r);
    ck_assert_int_eq(atomic_load(&device->waiting), LINE);
    tp_permit_drop(device, seat);
    play_fairly(&r);
    rehearsal_play(&r);
    for (int i = 0; i < LINE; i++)
        ck_worked(&outcomes[i]);
    ck_assert_int_eq(atomic_load(&gates.n), LINE * STEPS);
    for (int i = 0; i < LINE; i++)
        troupe_function_release(&f[i]);
    rehearsal_close(&r);
}
END_TEST

/* A stream of calls: each starts the next one when it ends. */
struct stream {
    troupe_runtime *runtime;
    const troupe_function *f;
    int left, ended;
    const int *stop; /* not 0: no more */
};

static void start_next(struct stream *stream);

static void next(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                 size_t n)
{
    struct stream *stream = arg;
    (void)results, (void)n;
    ck_assert_msg(!error->code, "%s", error->text);
    stream->ended++;
    if (stream->left-- > 0 && !*stream->stop) start_next(stream);
}

static void start_next(struct stream *stream)
{
    troupe_error err;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_tensor *x = member_row(1);
    options.priority = 1;
    ck_ok(troupe_call(stream->runtime, stream->f, (const troupe_tensor *const[]){x}, 1,
                      &options, next, stream, NULL, &err));
    troupe_tensor_release(&x);
}

/* Two streams, so that one of them always waits when the permit comes back. */
START_TEST(a_call_of_low_priority_ends_beside_a_stream_of_higher_ones)
{
    troupe_runtime *runtime = crowd_open("cpu:0(threads=1)", 0, 0);
    troupe_function *low = chain_of("Slow", STEPS, 1), *high = chain_of("Slow", 1, 2);
    struct outcome outcome;
    struct stream streams[3];
    warm(runtime, low);
    warm(runtime, high);
    for (int i = 0; i < 3; i++) {
        streams[i] = (struct stream){runtime, high, 2000, 0, &outcome.ended};
        outcome.ended = 0;
        start_next(&streams[i]);
    }
    call_chain(runtime, low, 0, &outcome);
    dispatch_all(runtime);
    ck_worked(&outcome);
    /* It is passed over 16 times for each of its turns, and a few times before the first. */
    const int passed = streams[0].ended + streams[1].ended + streams[2].ended;
    ck_assert_int_ge(passed, STEPS);
    ck_assert_int_le(passed, (STEPS + 1) * 20);
    troupe_function_release(&low);
    troupe_function_release(&high);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/turns");
    const int n = (int)TP_COUNT(workers);
    TCase *permits = tcase_create("permits"), *turns = tcase_create("turns"),
          *order = tcase_create("order");
    tcase_add_loop_test(
        permits,
        of_n_threads_that_call_one_function_the_lesser_of_n_and_the_permits_run_at_once, 0, n);
    tcase_add_test(turns, a_long_call_holds_up_a_short_one_by_no_more_than_a_turn);
    tcase_add_loop_test(turns, a_long_run_gives_its_permit_to_who_waits_after_a_turn, 0, n);
    tcase_add_test(turns, a_deadline_is_kept_to_within_a_step_on_the_only_thread);
    tcase_add_test(order,
                   on_one_thread_calls_run_by_priority_whatever_the_order_they_were_started_in);
    tcase_add_test(order, long_calls_of_one_priority_take_turns_on_one_thread);
    tcase_add_loop_test(order, nobody_has_two_turns_while_another_stands_in_line, 0, 200);
    tcase_add_test(order, a_call_of_low_priority_ends_beside_a_stream_of_higher_ones);
    suite_add_tcase(s, permits);
    suite_add_tcase(s, turns);
    suite_add_tcase(s, order);
    return s;
}

int main(void)
{
    return test_run(suite());
}
