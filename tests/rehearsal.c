/* SPDX-License-Identifier: MIT
 *
 * tests/rehearsal.c - runtimes for tests, in rehearsal or with threads, and what their calls
 * gave.
 */
#include "tests/rehearsal.h"

#include <stdio.h>
#include <stdlib.h>

int rehearsal_run(Suite *s)
{
    setenv("CK_FORK", "no", 0);
    return test_run(s);
}

/* -- Runtimes
 * -------------------------------------------------------------------------------------- */

struct rehearsal rehearsal_open(uint64_t seed, const char *devices)
{
    troupe_error err;
    troupe_options options = TROUPE_OPTIONS_INIT;
    struct rehearsal r = {.state = seed, .pieces = tp_alloc_pieces()};
    options.devices = devices;
    ck_ok(tp_runtime_open(&r.runtime, &options, &seed, &err));
    return r;
}

void rehearsal_close(struct rehearsal *r)
{
    ck_assert_int_eq(troupe_close(&r->runtime), TROUPE_OK);
    ck_assert_ptr_null(r->runtime);
    ck_assert_uint_eq(tp_alloc_pieces(), r->pieces);
}

bool rehearsal_step(struct rehearsal *r)
{
    return tp_stage_turn(r->runtime->main->seat, r->runtime->main, true);
}

void rehearsal_steps(struct rehearsal *r, uint32_t n)
{
    while (n-- > 0 && rehearsal_step(r))
        ;
}

void rehearsal_play(struct rehearsal *r)
{
    while (troupe_dispatch(r->runtime) == TROUPE_OK)
        ;
}

/* splitmix64 */
uint32_t rehearsal_below(struct rehearsal *r, uint32_t n)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

/* -- Outcomes
 * -------------------------------------------------------------------------------------- */

static struct tp_pending *pending_of(troupe_runtime *runtime, const void *arg)
{
    struct troupe_caller *caller = runtime->main;
    for (uint32_t i = 0; i < caller->n_slots; i++) {
        struct tp_pending *p = &atomic_load(&caller->chunks[i / TP_CHUNK])[i % TP_CHUNK];
        if (p->arg == arg && (atomic_load(&p->word) & 1)) return p;
    }
    return NULL;
}

static void ck_all_stopped(troupe_runtime *runtime, const void *arg)
{
    const struct tp_pending *pending = pending_of(runtime, arg);
    ck_assert_ptr_nonnull(pending);
    ck_assert_int_eq(pending->state, TP_CALL_ENDED);
    for (uint32_t i = 0; pending->block && i < pending->block->n_shards; i++)
        ck_assert_int_eq(pending->block->shards[i].state, TP_SHARD_ENDED);
}

void outcome_note(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                  size_t n)
{
    struct outcome *outcome = arg;
    ck_assert_uint_le(n, OUTCOME_RESULTS);
    ck_assert_int_eq(outcome->ended++, 0);
    outcome->error = *error;
    outcome->n = n;
    for (size_t i = 0; i < n; i++)
        outcome->results[i] = troupe_tensor_retain(results[i]);
    if (outcome->runtime) ck_all_stopped(outcome->runtime, arg);
}

void outcome_clear(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->n; i++)
        troupe_tensor_release(&outcome->results[i]);
    *outcome = (struct outcome){.runtime = outcome->runtime};
}

void dispatch_all(troupe_runtime *runtime)
{
    troupe_statistics now = {.size = sizeof(now)};
    do {
        ck_assert_int_ge(troupe_dispatch(runtime), 0);
        troupe_statistics_get(runtime, &now);
    } while (now.in_flight > 0);
}

uint64_t outcome_call(troupe_runtime *runtime, const troupe_function *function,
                      const troupe_tensor *const *args, const troupe_call_options *options,
                      struct outcome *outcome)
{
    troupe_error err;
    uint64_t call = 0;
    ck_ok(troupe_call(runtime, function, args, troupe_function_args(function), options,
                      outcome_note, outcome, &call, &err));
    ck_assert_uint_gt(call, 0);
    return call;
}

/* -- Functions and values
 * -------------------------------------------------------------------------------------- */

troupe_function *function_of(const char *text, const char *name)
{
    troupe_error err;
    troupe_library *library;
    troupe_function *function;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_read(library, "test", text, strlen(text), &err));
    if (!name) name = troupe_library_name(library, 0);
    ck_ok(troupe_library_find(library, name, &function, &err));
    troupe_library_destroy(&library);
    return function;
}

troupe_tensor *value_of(const char *text)
{
    troupe_error err;
    troupe_tensor *value;
    ck_ok(troupe_tensor_parse(&value, text, &err));
    return value;
}

void ck_value(const troupe_tensor *value, const char *text)
{
    char shown[512];
    troupe_tensor *wanted = value_of(text);
    ck_assert_ptr_nonnull(value);
    troupe_tensor_show(value, 0, shown, sizeof(shown));
    ck_assert_msg(troupe_tensor_equal(value, wanted), "%s, not %s", shown, text);
    troupe_tensor_release(&wanted);
}

troupe_function *function_over(int devices)
{
    char text[600];
    snprintf(text, sizeof(text),
             "function over(x: f32[4]) -> (y: f32[4], z: f32[4])\n"
             "  one = f32[] 1\n"
             "  a = Add(x, one) @cpu:0\n"
             "  b = Mul(x, a) @cpu:%d\n"
             "  c = Sub(b, a) @cpu:%d\n"
             "  z = Add(c, b) @cpu:%d\n"
             "  y = Add(z, a) @cpu:0\n",
             1 % devices, 2 % devices, 3 % devices);
    return function_of(text, NULL);
}

troupe_tensor *row_of(float x)
{
    char text[64];
    snprintf(text, sizeof(text), "f32[4] [%g, %g, %g, %g]", (double)x, (double)x + 1,
             (double)x + 2, (double)x + 3);
    return value_of(text);
}

void ck_rows(troupe_tensor *const *results, float first)
{
    const float *y = troupe_tensor_data(results[0]), *z = troupe_tensor_data(results[1]);
    ck_assert_uint_eq(troupe_tensor_count(results[0]), 4);
    ck_assert_uint_eq(troupe_tensor_count(results[1]), 4);
    for (int i = 0; i < 4; i++) {
        const float x = first + (float)i;
        ck_assert_float_eq(y[i], 2 * x * x + 2 * x);
        ck_assert_float_eq(z[i], 2 * x * x + x - 1);
    }
}

troupe_function *function_fragile(void)
{
    return function_of("function fragile(x: f32[4], ok: bool[1], d: i32[1], s: i64[2])"
                       " -> (y: f32[4], q: i32[1], r)\n"
                       "  seven = i32[1] [7]\n"
                       "  a = Add(x, x) @cpu:0\n"
                       "  check: Assert(ok, message=\"the lights are out\") @cpu:1\n"
                       "  b = Mul(a, x) @cpu:1 after check\n"
                       "  q = Div(seven, d) @cpu:2\n"
                       "  r = Reshape(b, s) @cpu:3\n"
                       "  c = Add(b, a) @cpu:2\n"
                       "  y = Add(c, x) @cpu:0\n",
                       NULL);
}

void fragile_args(const troupe_tensor **args, float x, unsigned faults)
{
    args[0] = row_of(x);
    args[1] = value_of(faults & FRAGILE_ASSERT ? "bool[1] [false]" : "bool[1] [true]");
    args[2] = value_of(faults & FRAGILE_DIV ? "i32[1] [0]" : "i32[1] [2]");
    args[3] = value_of(faults & FRAGILE_RESHAPE ? "i64[2] [3, 2]" : "i64[2] [2, 2]");
}

void fragile_release(const troupe_tensor **args)
{
    for (int i = 0; i < FRAGILE_ARGS; i++)
        troupe_tensor_release((troupe_tensor **)&args[i]);
}

void ck_fragile(const struct outcome *outcome, float first)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code, "%s", outcome->error.text);
    const float *y = troupe_tensor_data(outcome->results[0]);
    for (int i = 0; i < 4; i++) {
        const float x = first + (float)i;
        ck_assert_float_eq(y[i], 2 * x * x + 3 * x);
    }
    ck_value(outcome->results[1], "i32[1] [3]");
    ck_assert_int_eq(troupe_tensor_rank(outcome->results[2]), 2);
}
