/* SPDX-License-Identifier: MIT
 *
 * tests/crowd.c - several threads that use one runtime at once.
 */
#include "tests/crowd.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"

void member_note(struct member *a, const char *what, const troupe_error *err)
{
    if (!a->wrong[0])
        snprintf(a->wrong, sizeof(a->wrong), "%s: %s", what, err ? err->text : "");
}

uint32_t member_below(struct member *a, uint32_t n)
{
    uint64_t z = (a->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

void member_pause(struct member *a, uint32_t ns)
{
    const uint64_t end = tp_clock_ns() + member_below(a, ns);
    while (tp_clock_ns() < end)
        ;
}

troupe_runtime *crowd_open(const char *devices, int n_workers, size_t max_plans)
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

int crowd_rounds(int usual)
{
    const char *all = getenv("TROUPE_ROUNDS");
    const long n = all ? strtol(all, NULL, 10) : usual / SLOWER;
    return n < 1 ? 1 : (int)n;
}

void member_await(struct crowd *crowd)
{
    while (!atomic_load(&crowd->go))
        tp_sleep_on(&crowd->go, 0, 0);
}

void crowd_go(struct crowd *crowd, int go)
{
    atomic_store(&crowd->go, go);
    tp_wake(&crowd->go, INT_MAX);
}

void crowd_play(struct crowd *crowd, struct member *members, int n, int rounds,
                void *(*body)(void *))
{
    for (int i = 0; i < n; i++) {
        members[i] = (struct member){.crowd = crowd, .index = i, .rounds = rounds};
        members[i].state = (uint64_t)i * 77;
        ck_assert_int_eq(pthread_create(&members[i].thread, NULL, body, &members[i]), 0);
    }
    crowd_go(crowd, 1);
    for (int i = 0; i < n; i++)
        pthread_join(members[i].thread, NULL);
    for (int i = 0; i < n; i++)
        ck_assert_msg(!members[i].wrong[0], "thread %d: %s", i, members[i].wrong);
}

uint64_t crowd_planned(const troupe_runtime *runtime)
{
    troupe_statistics s = {.size = sizeof(s)};
    troupe_statistics_get(runtime, &s);
    ck_assert_uint_eq(s.in_flight, 0);
    return s.planned;
}

bool member_right(troupe_tensor *const *results, float first)
{
    const float *y = troupe_tensor_data(results[0]), *z = troupe_tensor_data(results[1]);
    for (int i = 0; i < 4; i++) {
        const float x = first + (float)i;
        if (y[i] != 2 * x * x + 2 * x || z[i] != 2 * x * x + x - 1) return false;
    }
    return true;
}

troupe_tensor *member_row(float x)
{
    const float data[4] = {x, x + 1, x + 2, x + 3};
    const int64_t dims[1] = {4};
    troupe_tensor *row = NULL;
    (void)!troupe_tensor_new(&row, TROUPE_F32, 1, dims, data, NULL);
    return row;
}

static void note_end(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                     size_t n)
{
    struct member_call *started = arg;
    struct member *a = started->member;
    a->ended++;
    if (error->code == TROUPE_CANCELLED || error->code == TROUPE_TIMED_OUT)
        a->cancelled++;
    else if (error->code)
        member_note(a, "call", error);
    else if (n != 2 || !member_right((troupe_tensor *const *)results, started->x))
        member_note(a, "values of another call", NULL);
}

uint64_t member_start(struct member *a, troupe_caller *caller,
                      const troupe_call_options *options, struct member_call *started, float x)
{
    troupe_error err;
    uint64_t call = 0;
    troupe_tensor *row = member_row(x);
    *started = (struct member_call){a, x};
    if (troupe_caller_call(caller, a->crowd->f, (const troupe_tensor *const[]){row}, 1, options,
                           note_end, started, &call, &err))
        member_note(a, "call", &err);
    troupe_tensor_release(&row);
    return call;
}
