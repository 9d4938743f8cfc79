/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_threads.c - a runtime under real threads: who calls, cancels, plans and
 * closes at once.
 *
 * Only the test's own thread checks; others note what they saw.
 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/thread.h"
#include "tests/rehearsal.h"

#define THREADS 8
#define WAIT_MS 20000

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SLOWER 10
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

static const int workers[] = {0, 1, 3};

struct scene {
    troupe_runtime *runtime;
    const troupe_function *f;
    atomic_int go; /* 1: begin; 2: stop */
    atomic_ullong call;
};

struct actor {
    struct scene *scene;
    pthread_t thread;
    int index, rounds;
    uint64_t state;
    int ended, cancelled;
    char wrong[300]; /* empty: nothing */
};

static void note(struct actor *a, const char *what, const troupe_error *err)
{
    if (!a->wrong[0])
        snprintf(a->wrong, sizeof(a->wrong), "%s: %s", what, err ? err->text : "");
}

static uint32_t below(struct actor *a, uint32_t n)
{
    uint64_t z = (a->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static void pause_for(struct actor *a, uint32_t ns)
{
    const uint64_t end = tp_clock_ns() + below(a, ns);
    while (tp_clock_ns() < end)
        ;
}

static troupe_runtime *open_with(const char *devices, int n_workers, size_t max_plans)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.workers = n_workers;
    options.max_plans = max_plans;
    options.spin_us = n_workers == 3 ? 0 : TROUPE_AUTO;
    ck_ok(troupe_open(&runtime, &options, &err));
    return runtime;
}

static void await_go(struct scene *scene)
{
    while (!atomic_load(&scene->go))
        tp_sleep_on(&scene->go, 0, 0);
}

static void set_go(struct scene *scene, int go)
{
    atomic_store(&scene->go, go);
    tp_wake(&scene->go, INT_MAX);
}

/* n actors do `body` at once, to their end. */
static void play(struct scene *scene, struct actor *actors, int n, int rounds,
                 void *(*body)(void *))
{
    for (int i = 0; i < n; i++) {
        actors[i] = (struct actor){.scene = scene, .index = i, .rounds = rounds};
        actors[i].state = (uint64_t)i * 77;
        ck_assert_int_eq(pthread_create(&actors[i].thread, NULL, body, &actors[i]), 0);
    }
    set_go(scene, 1);
    for (int i = 0; i < n; i++)
        pthread_join(actors[i].thread, NULL);
    for (int i = 0; i < n; i++)
        ck_assert_msg(!actors[i].wrong[0], "thread %d: %s", i, actors[i].wrong);
}

static uint64_t planned(const troupe_runtime *runtime)
{
    troupe_statistics s = {.size = sizeof(s)};
    troupe_statistics_get(runtime, &s);
    ck_assert_uint_eq(s.in_flight, 0);
    return s.planned;
}

static bool right(troupe_tensor *const *results, float first)
{
    const float *y = troupe_tensor_data(results[0]), *z = troupe_tensor_data(results[1]);
    for (int i = 0; i < 4; i++) {
        const float x = first + (float)i;
        if (y[i] != 2 * x * x + 2 * x || z[i] != 2 * x * x + x - 1) return false;
    }
    return true;
}

static troupe_tensor *fresh_row(float x)
{
    const float data[4] = {x, x + 1, x + 2, x + 3};
    const int64_t dims[1] = {4};
    troupe_tensor *row = NULL;
    (void)!troupe_tensor_new(&row, TROUPE_F32, 1, dims, data, NULL);
    return row;
}

/* -- Run
 * -------------------------------------------------------------------------------------- */

static void run_once(struct actor *a, float x)
{
    troupe_error err;
    troupe_tensor *row = fresh_row(x), *results[2];
    if (troupe_run(a->scene->runtime, a->scene->f, (const troupe_tensor *const[]){row}, 1,
                   results, 2, NULL, &err)) {
        note(a, "run", &err);
    } else {
        if (!right(results, x)) note(a, "values of another call", NULL);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
    }
    troupe_tensor_release(&row);
}

static void *run_many(void *arg)
{
    struct actor *a = arg;
    await_go(a->scene);
    for (int i = 0; i < a->rounds; i++)
        run_once(a, (float)(a->index * 100 + i % 100));
    return NULL;
}

START_TEST(eight_threads_run_one_function_and_it_is_planned_once)
{
    for (int devices = 1; devices <= 2; devices++) {
        struct actor actors[THREADS];
        troupe_function *f = function_over(devices);
        struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 0), .f = f};
        play(&scene, actors, THREADS, 2000 / SLOWER, run_many);
        ck_assert_uint_eq(planned(scene.runtime), 1);
        ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
        troupe_function_release(&f);
    }
}
END_TEST

START_TEST(threads_that_end_leave_their_place_to_others)
{
    struct actor actors[THREADS];
    troupe_function *f = function_over(2);
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 0), .f = f};
    for (int i = 0; i < 40; i++)
        play(&scene, actors, THREADS, 3, run_many);
    ck_assert_uint_le(scene.runtime->n_all, THREADS + 1);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* -- Callers
 * -------------------------------------------------------------------------------------- */

struct record {
    struct actor *actor;
    float x;
};

static void note_end(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                     size_t n)
{
    struct record *record = arg;
    struct actor *a = record->actor;
    a->ended++;
    if (error->code == TROUPE_CANCELLED || error->code == TROUPE_TIMED_OUT)
        a->cancelled++;
    else if (error->code)
        note(a, "call", error);
    else if (n != 2 || !right((troupe_tensor *const *)results, record->x))
        note(a, "values of another call", NULL);
}

static uint64_t call_once(struct actor *a, troupe_caller *caller,
                          const troupe_call_options *options, struct record *record, float x)
{
    troupe_error err;
    uint64_t call = 0;
    troupe_tensor *row = fresh_row(x);
    *record = (struct record){a, x};
    if (troupe_caller_call(caller, a->scene->f, (const troupe_tensor *const[]){row}, 1, options,
                           note_end, record, &call, &err))
        note(a, "call", &err);
    troupe_tensor_release(&row);
    return call;
}

/* Several calls in flight, waited for in any order. */
static void *call_many(void *arg)
{
    struct actor *a = arg;
    troupe_error err;
    troupe_caller *caller;
    struct record records[5];
    uint64_t calls[5];
    await_go(a->scene);
    if (troupe_caller_open(a->scene->runtime, &caller, &err)) {
        note(a, "open", &err);
        return NULL;
    }
    for (int i = 0; i < a->rounds; i++) {
        for (int j = 0; j < 5; j++)
            calls[j] = call_once(a, caller, NULL, &records[j], (float)(a->index % 10 * 50 + j));
        for (int j = 0; j < 5; j++)
            if (troupe_caller_wait(caller, calls[(j + i) % 5], WAIT_MS)) note(a, "wait", NULL);
    }
    if (a->ended != 5 * a->rounds) note(a, "callbacks were lost", NULL);
    if (troupe_caller_close(&caller)) note(a, "close", NULL);
    return NULL;
}

START_TEST(callers_on_eight_threads_get_each_their_own_results)
{
    struct actor actors[THREADS];
    troupe_function *f = function_over(2);
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 0), .f = f};
    play(&scene, actors, THREADS, 300 / SLOWER, call_many);
    ck_assert_uint_eq(planned(scene.runtime), 1);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* cpu:0 runs one shard at a time, so that most have to wait for its permit. */
START_TEST(more_calls_than_permits_on_many_threads_all_end)
{
    struct actor actors[THREADS];
    troupe_function *f = function_over(2);
    struct scene scene = {
        .runtime = open_with("cpu:0(threads=1),cpu:1(threads=1)", workers[_i], 0), .f = f};
    play(&scene, actors, THREADS, 200 / SLOWER, call_many);
    ck_assert_uint_eq(planned(scene.runtime), 1);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_hundred_threads_call_at_once_and_all_get_the_right_values)
{
    struct actor actors[100];
    troupe_function *f = function_over(2);
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 0), .f = f};
    play(&scene, actors, 100, 4, call_many);
    ck_assert_uint_eq(planned(scene.runtime), 1);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

static size_t pool_used(const troupe_runtime *runtime)
{
    troupe_device device = {.size = sizeof(device)};
    size_t used = 0;
    for (size_t i = 0; i < troupe_devices(runtime); i++) {
        ck_assert_int_eq(troupe_device_at(runtime, i, &device), TROUPE_OK);
        used += device.memory_used;
    }
    return used;
}

START_TEST(a_thousand_calls_at_once_do_not_mix_and_their_memory_is_used_again)
{
    troupe_error err;
    struct actor a = {0};
    troupe_function *f = function_over(2);
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 0), .f = f};
    static struct record records[1000];
    troupe_caller *caller;
    size_t used = 0;
    a.scene = &scene;
    ck_ok(troupe_caller_open(scene.runtime, &caller, &err));
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 1000; i++)
            call_once(&a, caller, NULL, &records[i], (float)(i % 500));
        while (a.ended < 1000 * (round + 1))
            ck_assert_int_eq(troupe_caller_wait(caller, 0, WAIT_MS), TROUPE_OK);
        if (round == 1) used = pool_used(scene.runtime);
    }
    ck_assert_msg(!a.wrong[0], "%s", a.wrong);
    ck_assert_uint_le(pool_used(scene.runtime), used);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* An event loop: poll and dispatch. Every round another function, so that each plans, too. */
static void *poll_many(void *arg)
{
    struct actor *a = arg;
    troupe_error err;
    troupe_caller *caller;
    struct record record;
    await_go(a->scene);
    if (troupe_caller_open(a->scene->runtime, &caller, &err)) {
        note(a, "open", &err);
        return NULL;
    }
    struct pollfd at = {.fd = troupe_caller_fd(caller), .events = POLLIN};
    for (int i = 0; i < a->rounds; i++) {
        call_once(a, caller, NULL, &record, (float)(i % 100));
        while (a->ended <= i) {
            if (poll(&at, 1, WAIT_MS) != 1) {
                note(a, "nothing to dispatch", NULL);
                return NULL;
            }
            troupe_caller_dispatch(caller);
        }
    }
    if (troupe_caller_close(&caller)) note(a, "close", NULL);
    return NULL;
}

/* Each is the only one that runs its work when there are no workers. */
START_TEST(event_loops_on_several_threads_all_go_on)
{
    struct actor actors[4];
    for (int i = 0; i < 5; i++) {
        troupe_function *f = function_over(2);
        struct scene scene = {
            .runtime = open_with("cpu:0(threads=1),cpu:1(threads=1)", workers[_i], 0), .f = f};
        play(&scene, actors, 4, 400 / SLOWER, poll_many);
        ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
        troupe_function_release(&f);
    }
}
END_TEST

/* -- A long call
 * -------------------------------------------------------------------------------------- */

/* 3,000 steps of about a millisecond. */
static troupe_function *long_function(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function long(v0: f32[1000000]) -> (v3000)\n");
    for (int i = 1; i <= 3000; i++)
        tp_text_add(&text, "  v%d = Sigmoid(v%d) @cpu:%d\n", i, i - 1, i / 100 % 2);
    troupe_function *f = function_of(text.data, NULL);
    tp_text_fini(&text);
    return f;
}

static void *cancel_soon(void *arg)
{
    struct actor *a = arg;
    uint64_t call, end;
    while (!(call = atomic_load(&a->scene->call)))
        ;
    end = tp_clock_ns() + 20000000;
    while (tp_clock_ns() < end)
        sched_yield();
    troupe_cancel(a->scene->runtime, call);
    return NULL;
}

/* By a deadline of 20 ms, or by another thread then: long before it would have ended. */
static void break_off(int n_workers, bool cancel)
{
    troupe_function *f = long_function();
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", n_workers, 0), .f = f};
    struct actor canceller = {.scene = &scene};
    struct outcome outcome = {0};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_tensor *x;
    troupe_error err;
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 1, (const int64_t[]){1000000}, NULL, &err));
    if (!cancel) options.deadline_s = 0.02;
    const uint64_t from = tp_clock_ns();
    uint64_t call =
        outcome_call(scene.runtime, f, (const troupe_tensor *const[]){x}, &options, &outcome);
    if (cancel) pthread_create(&canceller.thread, NULL, cancel_soon, &canceller);
    atomic_store(&scene.call, call);
    ck_assert_int_eq(troupe_wait(scene.runtime, call, WAIT_MS), TROUPE_OK);
    if (cancel) pthread_join(canceller.thread, NULL);
    ck_assert_int_eq(outcome.ended, 1);
    ck_assert_int_eq(outcome.error.code, cancel ? TROUPE_CANCELLED : TROUPE_TIMED_OUT);
    ck_assert_uint_lt(tp_clock_ns() - from, 2000000000);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}

START_TEST(a_deadline_ends_a_long_call_soon)
{
    break_off(workers[_i], false);
}
END_TEST

START_TEST(a_cancel_of_another_thread_ends_a_long_call_soon)
{
    break_off(workers[_i], true);
}
END_TEST

/* -- Races with the end of a call
 * -------------------------------------------------------------------------------------- */

/* Cancel whatever call was published last, again and again. */
static void *cancel_many(void *arg)
{
    struct actor *a = arg;
    await_go(a->scene);
    while (atomic_load(&a->scene->go) == 1) {
        pause_for(a, 3000);
        uint64_t call = atomic_load(&a->scene->call);
        if (call) troupe_cancel(a->scene->runtime, call);
    }
    return NULL;
}

/* Calls on this thread, while others cancel them; each ends once. */
static void race(struct scene *scene, struct actor *a, int rounds,
                 const troupe_call_options *options)
{
    troupe_error err;
    troupe_caller *caller;
    struct record record;
    ck_ok(troupe_caller_open(scene->runtime, &caller, &err));
    *a = (struct actor){.scene = scene, .state = 5};
    for (int i = 0; i < rounds; i++) {
        troupe_call_options mine = TROUPE_CALL_OPTIONS_INIT;
        if (options) mine = *options;
        if (options) mine.deadline_s = 1e-9 * below(a, 20000);
        uint64_t call = call_once(a, caller, options ? &mine : NULL, &record, (float)(i % 100));
        atomic_store(&scene->call, call);
        if (i % 2) pause_for(a, 2000);
        ck_assert_int_eq(troupe_caller_wait(caller, call, WAIT_MS), TROUPE_OK);
        ck_assert_int_eq(a->ended, i + 1);
        ck_assert_msg(!a->wrong[0], "%s", a->wrong);
    }
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
}

static void race_with_cancel(int rounds, int n_workers, const troupe_call_options *options)
{
    struct actor canceller, a;
    troupe_function *f = function_over(2);
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", n_workers, 0), .f = f};
    canceller = (struct actor){.scene = &scene, .state = 99};
    ck_assert_int_eq(pthread_create(&canceller.thread, NULL, cancel_many, &canceller), 0);
    set_go(&scene, 1);
    race(&scene, &a, rounds, options);
    set_go(&scene, 2);
    pthread_join(canceller.thread, NULL);
    ck_assert_int_gt(a.ended, a.cancelled); /* both ways were seen */
    ck_assert_int_gt(a.cancelled, 0);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}

START_TEST(a_call_that_is_cancelled_as_it_ends_ends_once)
{
    race_with_cancel(100000 / SLOWER, workers[_i], NULL);
}
END_TEST

START_TEST(a_deadline_and_a_cancel_as_the_call_ends_end_it_once)
{
    const troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    race_with_cancel(30000 / SLOWER, workers[_i], &options);
}
END_TEST

/* Every round another function, so that the cancel meets the planning. */
START_TEST(a_call_that_is_cancelled_while_it_is_planned_ends_once)
{
    struct actor canceller, a = {0};
    troupe_error err;
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 4)};
    troupe_caller *caller;
    struct record record;
    ck_ok(troupe_caller_open(scene.runtime, &caller, &err));
    canceller = (struct actor){.scene = &scene, .state = 99};
    a = (struct actor){.scene = &scene, .state = 3};
    ck_assert_int_eq(pthread_create(&canceller.thread, NULL, cancel_many, &canceller), 0);
    set_go(&scene, 1);
    for (int i = 0; i < 3000 / SLOWER; i++) {
        troupe_function *f = function_over(1 + i % 2);
        scene.f = f;
        uint64_t call = call_once(&a, caller, NULL, &record, 3);
        atomic_store(&scene.call, call);
        troupe_function_release(&f); /* the call keeps it */
        pause_for(&a, 30000);
        ck_assert_int_eq(troupe_caller_wait(caller, call, WAIT_MS), TROUPE_OK);
        ck_assert_int_eq(a.ended, i + 1);
        ck_assert_msg(!a.wrong[0], "%s", a.wrong);
    }
    set_go(&scene, 2);
    pthread_join(canceller.thread, NULL);
    ck_assert_int_eq(troupe_caller_close(&caller), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
}
END_TEST

static void *watch(void *arg)
{
    struct actor *a = arg;
    await_go(a->scene);
    while (atomic_load(&a->scene->go) == 1) {
        troupe_statistics s = {.size = sizeof(s)};
        troupe_device device = {.size = sizeof(device)};
        uint64_t steps = 0, all = 0, call = atomic_load(&a->scene->call);
        troupe_statistics_get(a->scene->runtime, &s);
        if (troupe_device_at(a->scene->runtime, 1, &device)) note(a, "device", NULL);
        if (!troupe_progress(a->scene->runtime, call, &steps, &all) && steps > all)
            note(a, "more steps than there are", NULL);
    }
    return NULL;
}

START_TEST(progress_and_figures_can_be_asked_for_at_any_time)
{
    struct actor watcher, a;
    troupe_function *f = function_over(2);
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 0), .f = f};
    watcher = (struct actor){.scene = &scene};
    ck_assert_int_eq(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
    set_go(&scene, 1);
    race(&scene, &a, 20000 / SLOWER, NULL);
    set_go(&scene, 2);
    pthread_join(watcher.thread, NULL);
    ck_assert_msg(!watcher.wrong[0], "%s", watcher.wrong);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

/* -- Storms
 * -------------------------------------------------------------------------------------- */

/* Functions of its own, called and released at once; two plans are kept of all. */
static void *plan_many(void *arg)
{
    struct actor *a = arg;
    await_go(a->scene);
    for (int i = 0; i < a->rounds; i++) {
        char text[200];
        troupe_error err;
        troupe_library *library = NULL;
        troupe_function *f = NULL;
        troupe_tensor *x = fresh_row(1), *y = NULL;
        const int n = (int)below(a, 6);
        snprintf(text, sizeof(text),
                 "function f(x: f32[4]) -> (y)\n  c = f32[] %d\n  a = Add(x, c) @cpu:%d\n"
                 "  y = Add(a, c) @cpu:1\n",
                 n, i % 2);
        if (troupe_library_new(&library, &err) ||
            troupe_library_read(library, "t", text, strlen(text), &err) ||
            troupe_library_find(library, "f", &f, &err) ||
            troupe_run(a->scene->runtime, f, (const troupe_tensor *const[]){x}, 1, &y, 1, NULL,
                       &err))
            note(a, "run", &err);
        else if (*(const float *)troupe_tensor_data(y) != (float)(1 + 2 * n))
            note(a, "value of another plan", NULL);
        troupe_function_release(&f);
        troupe_library_destroy(&library);
        troupe_tensor_release(&x);
        troupe_tensor_release(&y);
    }
    return NULL;
}

START_TEST(functions_are_released_while_they_are_planned_and_run)
{
    struct actor actors[THREADS];
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 2)};
    play(&scene, actors, THREADS, 300 / SLOWER, plan_many);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
}
END_TEST

static void *open_and_close(void *arg)
{
    struct actor *a = arg;
    await_go(a->scene);
    for (int i = 0; i < a->rounds; i++) {
        troupe_error err;
        troupe_caller *caller;
        struct record records[4];
        const int before = a->ended;
        if (troupe_caller_open(a->scene->runtime, &caller, &err)) {
            note(a, "open", &err);
            return NULL;
        }
        for (int j = 0; j < 4; j++)
            call_once(a, caller, NULL, &records[j], (float)j);
        if (below(a, 2)) troupe_caller_dispatch(caller);
        if (below(a, 2)) pause_for(a, 20000);
        if (troupe_caller_close(&caller)) note(a, "close", NULL);
        if (a->ended != before + 4) note(a, "callbacks were lost", NULL);
    }
    return NULL;
}

START_TEST(callers_come_and_go_with_calls_in_flight)
{
    struct actor actors[THREADS];
    troupe_function *f = function_over(2);
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 0), .f = f};
    play(&scene, actors, THREADS, 200 / SLOWER, open_and_close);
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
    troupe_function_release(&f);
}
END_TEST

START_TEST(runtimes_come_and_go_with_calls_in_flight)
{
    troupe_function *f = function_over(2);
    struct actor a = {.state = (uint64_t)_i};
    const size_t pieces = tp_alloc_pieces();
    for (int i = 0; i < 200 / SLOWER; i++) {
        troupe_runtime *runtime = open_with("cpu:0,cpu:1", workers[_i], 0);
        struct outcome outcomes[6] = {{0}};
        uint64_t calls[6];
        for (int j = 0; j < 6; j++) {
            troupe_tensor *x = row_of((float)j);
            calls[j] =
                outcome_call(runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[j]);
            troupe_tensor_release(&x);
        }
        pause_for(&a, 50000);
        if (i % 2) troupe_cancel(runtime, calls[below(&a, 6)]);
        if (i % 3 == 0) troupe_dispatch(runtime);
        ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
        for (int j = 0; j < 6; j++) {
            ck_assert_int_eq(outcomes[j].ended, 1);
            outcome_clear(&outcomes[j]);
        }
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    troupe_function_release(&f);
}
END_TEST

/* -- Sleep
 * -------------------------------------------------------------------------------------- */

/* The worker plans; this thread goes to sleep at a random moment about when it is done. */
START_TEST(a_completion_wakes_a_caller_that_is_about_to_sleep)
{
    struct actor a = {.state = 1};
    struct scene scene = {.runtime = open_with("cpu:0,cpu:1", workers[_i], 2)};
    for (int i = 0; i < 6000 / SLOWER; i++) {
        char text[200];
        struct outcome outcome = {0};
        snprintf(text, sizeof(text),
                 "function f(x: f32[4]) -> (y)\n  c = f32[] %d\n  y = Add(x, c)\n", i);
        troupe_function *f = function_of(text, NULL);
        troupe_tensor *x = fresh_row(0);
        uint64_t call =
            outcome_call(scene.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
        pause_for(&a, 40000);
        ck_assert_int_eq(troupe_wait(scene.runtime, call, WAIT_MS), TROUPE_OK);
        ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
        outcome_clear(&outcome);
        troupe_tensor_release(&x);
        troupe_function_release(&f);
    }
    ck_assert_int_eq(troupe_close(&scene.runtime), TROUPE_OK);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/threads");
    const int n = (int)TP_COUNT(workers);
    TCase *running = tcase_create("running"), *races = tcase_create("races"),
          *storms = tcase_create("storms");
    tcase_set_timeout(running, 60);
    tcase_set_timeout(races, 60);
    tcase_set_timeout(storms, 60);
    tcase_add_loop_test(running, eight_threads_run_one_function_and_it_is_planned_once, 0, n);
    tcase_add_loop_test(running, threads_that_end_leave_their_place_to_others, 0, n);
    tcase_add_loop_test(running, callers_on_eight_threads_get_each_their_own_results, 0, n);
    tcase_add_loop_test(running, more_calls_than_permits_on_many_threads_all_end, 0, n);
    tcase_add_loop_test(running, a_hundred_threads_call_at_once_and_all_get_the_right_values, 0,
                        n);
    tcase_add_loop_test(
        running, a_thousand_calls_at_once_do_not_mix_and_their_memory_is_used_again, 0, n);
    tcase_add_loop_test(running, event_loops_on_several_threads_all_go_on, 0, n);
    tcase_add_loop_test(running, a_deadline_ends_a_long_call_soon, 0, n);
    tcase_add_loop_test(running, a_cancel_of_another_thread_ends_a_long_call_soon, 0, n);
    tcase_add_loop_test(races, a_call_that_is_cancelled_as_it_ends_ends_once, 0, n);
    tcase_add_loop_test(races, a_deadline_and_a_cancel_as_the_call_ends_end_it_once, 0, n);
    tcase_add_loop_test(races, a_call_that_is_cancelled_while_it_is_planned_ends_once, 0, n);
    tcase_add_loop_test(races, progress_and_figures_can_be_asked_for_at_any_time, 0, n);
    tcase_add_loop_test(races, a_completion_wakes_a_caller_that_is_about_to_sleep, 0, n);
    tcase_add_loop_test(storms, functions_are_released_while_they_are_planned_and_run, 0, n);
    tcase_add_loop_test(storms, callers_come_and_go_with_calls_in_flight, 0, n);
    tcase_add_loop_test(storms, runtimes_come_and_go_with_calls_in_flight, 0, n);
    suite_add_tcase(s, running);
    suite_add_tcase(s, races);
    suite_add_tcase(s, storms);
    return s;
}

int main(void)
{
    return test_run(suite());
}
