/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_lend.c - memory of the caller's for results, and arguments given away.
 */
#include <malloc.h>
#include <stdlib.h>

#include "tensor/tensor.h"
#include "tests/crowd.h"
#include "tests/operators.h"
#include "tests/stand.h"

#define RESULTS 3

static const int workers[] = {0, 2};

/* A call that lends: its arguments, memory, and what came of it. */
struct lent {
    struct stand s;
    troupe_function *f;
    troupe_tensor *args[4];
    size_t n_args;
    bool give[4];
    _Alignas(64) char memory[RESULTS][256];
    troupe_buffer buffers[RESULTS];
    troupe_call_options options;
    struct outcome outcome;
    troupe_error err;
};

static void lent_open(struct lent *l, const char *text, const char *devices, int n_workers)
{
    *l = (struct lent){.options = TROUPE_CALL_OPTIONS_INIT};
    l->s = stand_open(devices, n_workers);
    l->f = function_of(text, NULL);
    l->options.buffers = l->buffers;
    l->options.give = l->give;
    for (size_t i = 0; i < RESULTS; i++)
        l->buffers[i] = (troupe_buffer){l->memory[i], sizeof(l->memory[i])};
}

static void lent_arg(struct lent *l, const char *text, bool give)
{
    l->args[l->n_args] = value_of(text);
    l->give[l->n_args++] = give;
}

/* By run or by call; what was given away is not ours afterwards. */
static troupe_status lent_call(struct lent *l, bool run)
{
    const troupe_tensor *const *args = (const troupe_tensor *const *)l->args;
    const size_t n = troupe_function_results(l->f);
    troupe_status status;
    uint64_t call = 0;
    outcome_clear(&l->outcome);
    if (run) {
        status = troupe_run(l->s.runtime, l->f, args, l->n_args, l->outcome.results, n,
                            &l->options, &l->err);
        if (!status) l->outcome.n = n;
    } else {
        status = troupe_call(l->s.runtime, l->f, args, l->n_args, &l->options, outcome_note,
                             &l->outcome, &call, &l->err);
        if (!status) ck_assert_int_eq(troupe_wait(l->s.runtime, call, WAIT_MS), TROUPE_OK);
        if (!status && (status = l->outcome.error.code) < 0) l->err = l->outcome.error;
    }
    for (size_t i = 0; i < l->n_args; i++)
        if (l->give[i]) l->args[i] = NULL;
    return status;
}

static void ck_lent(struct lent *l, bool run)
{
    const troupe_status status = lent_call(l, run);
    ck_assert_msg(!status, "%s: %s", troupe_status_name(status), l->err.text);
}

static void lent_drop_args(struct lent *l)
{
    for (size_t i = 0; i < l->n_args; i++)
        troupe_tensor_release(&l->args[i]);
    l->n_args = 0;
}

static void lent_close(struct lent *l)
{
    lent_drop_args(l);
    outcome_clear(&l->outcome);
    troupe_function_release(&l->f);
    stand_close(&l->s);
}

/* -- Memory for results -------------------------------------------------------------------- */

/* What a function of x: f32[4] = [1, 2, 3, 4] gives into memory. */
static const struct {
    const char *text;
    const char *results[RESULTS]; /* NULL: no such result */
} functions[] = {
    {"function f(x: f32[4]) -> (y)\n  y = Neg(x)\n", {"f32[4] [-1, -2, -3, -4]"}},
    {"function f(x: f32[n]) -> (y, z)\n  a = Neg(x) @cpu:1\n  y = Add(a, a) @cpu:0\n"
     "  z = Mul(a, a) @cpu:1\n",
     {"f32[4] [-2, -4, -6, -8]", "f32[4] [1, 4, 9, 16]"}},
    /* Values that also go to another device, a view, and the same value twice. */
    {"function f(x: f32[4]) -> (y = a, z = a, w)\n  a = Neg(x) @cpu:0\n  w = Neg(a) @cpu:1\n",
     {"f32[4] [-1, -2, -3, -4]", "f32[4] [-1, -2, -3, -4]", "f32[4] [1, 2, 3, 4]"}},
    {"function f(x: f32[4]) -> (y, z = a)\n  s = i64[2] [2, 2]\n  a = Neg(x)\n"
     "  y = Reshape(a, s)\n",
     {"f32[2,2] [[-1, -2], [-3, -4]]", "f32[4] [-1, -2, -3, -4]"}},
    /* An argument, a view of it, a constant. */
    {"function f(x: f32[4]) -> (y = x, z, w = c)\n  c = i64[2] [5, 6]\n  s = i64[1] [4]\n"
     "  z = Reshape(x, s)\n",
     {"f32[4] [1, 2, 3, 4]", "f32[4] [1, 2, 3, 4]", "i64[2] [5, 6]"}},
};

START_TEST(results_lie_in_the_callers_memory_whatever_they_are)
{
    struct lent l;
    const int which = _i / 4;
    lent_open(&l, functions[which].text, "cpu:0,cpu:1", workers[_i % 2]);
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
    for (int again = 0; again < 3; again++) {
        memset(l.memory, 0x55, sizeof(l.memory));
        ck_lent(&l, _i / 2 % 2);
        for (size_t i = 0; i < RESULTS && functions[which].results[i]; i++) {
            ck_value(l.outcome.results[i], functions[which].results[i]);
            ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[i]), l.memory[i]);
            const size_t size = troupe_tensor_size(l.outcome.results[i]);
            ck_assert_int_eq(l.memory[i][size], 0x55); /* and no further */
        }
    }
    lent_close(&l);
}
END_TEST

/* The operator notes where it wrote. */
START_TEST(a_result_that_is_computed_is_written_there_and_not_copied)
{
    struct lent l = {.options = TROUPE_CALL_OPTIONS_INIT};
    struct mine mine = {0};
    troupe_operators *set = operators_all(&mine);
    l.f = function_with(set, "function f(x: f32[4]) -> (y)\n  y = mine.Bad(x)\n");
    l.s.runtime = runtime_with(set, "cpu:0", workers[_i]);
    l.options.buffers = l.buffers;
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
    for (int again = 0; again < 3; again++) {
        l.buffers[0] = (troupe_buffer){l.memory[again], 16};
        ck_lent(&l, again % 2);
        ck_assert_ptr_eq(mine.wrote, l.memory[again]);
        ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[0]), l.memory[again]);
    }
    /* Memory that is not aligned to 64 bytes works as well. */
    l.buffers[0].data = l.memory[0] + 4;
    ck_lent(&l, true);
    ck_assert_ptr_ne(mine.wrote, l.memory[0] + 4);
    ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[0]), l.memory[0] + 4);
    ck_value(l.outcome.results[0], "f32[4] [1, 2, 3, 4]");
    /* Without memory it is the device's. */
    l.buffers[0].data = NULL;
    ck_lent(&l, true);
    ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[0]), mine.wrote);
    lent_close(&l);
    troupe_operators_release(&set);
}
END_TEST

/* Offsets and sizes of the memory of y: f32[4] and z: f32[2,4]. */
static const struct {
    size_t at[2], size[2];
    const char *word;
} unusable[] = {
    {{0, 64}, {15, 64}, "result 'y' is f32[4] of 16 bytes, and its buffer has 15"},
    {{0, 64}, {64, 31}, "result 'z' is f32[2,4] of 32 bytes, and its buffer has 31"},
    {{1, 64}, {63, 64}, "the buffer of result 'y' is not aligned to 4 bytes"},
    {{0, 60}, {64, 64}, "the buffers of results 'y' and 'z' overlap"},
};

START_TEST(memory_that_cannot_be_used_is_refused_with_its_numbers)
{
    struct lent l;
    const int which = _i / 4;
    lent_open(&l,
              "function f(x: f32[n]) -> (y, z)\n  s = i64[2] [2, 4]\n  y = Neg(x)\n"
              "  z = Expand(y, s)\n",
              "cpu:0", workers[_i % 2]);
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
    for (int again = 0; again < 2; again++) { /* planned, then known */
        for (size_t i = 0; i < 2; i++)
            l.buffers[i] =
                (troupe_buffer){l.memory[0] + unusable[which].at[i], unusable[which].size[i]};
        ck_assert_int_eq(lent_call(&l, _i / 2 % 2), TROUPE_INVALID);
        ck_assert_msg(strstr(l.err.text, unusable[which].word), "%s", l.err.text);
        for (size_t i = 0; i < 2; i++)
            l.buffers[i] = (troupe_buffer){l.memory[i], 32};
        ck_lent(&l, _i / 2 % 2);
        ck_value(l.outcome.results[1], "f32[2,4] [[-1, -2, -3, -4], [-1, -2, -3, -4]]");
    }
    lent_close(&l);
}
END_TEST

START_TEST(memory_may_not_be_an_arguments_and_takes_no_strings)
{
    struct lent l;
    lent_open(&l, "function f(x: f32[4]) -> (y, d)\n  y = Neg(x)\n  d = DeviceName()\n",
              "cpu:0", 0);
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
    ck_assert_int_eq(lent_call(&l, true), TROUPE_INVALID);
    ck_assert_msg(strstr(l.err.text, "result 'd' is of strings and takes no buffer"), "%s",
                  l.err.text);
    l.buffers[1].data = NULL;
    l.buffers[0].data = (char *)l.args[0]->data + 8;
    ck_assert_int_eq(lent_call(&l, true), TROUPE_INVALID);
    ck_assert_msg(strstr(l.err.text, "the buffer of result 'y' overlaps argument 'x'"), "%s",
                  l.err.text);
    l.buffers[0].data = l.memory[0];
    ck_lent(&l, true);
    ck_text(l.outcome.results[1], LOCAL "cpu:0");
    lent_close(&l);
}
END_TEST

START_TEST(a_result_whose_shape_depends_on_values_is_copied_or_is_too_large)
{
    struct lent l;
    lent_open(&l, "function f(x: f32[1], s: i64[1]) -> (y)\n  y = Expand(x, s)\n", "cpu:0",
              workers[_i % 2]);
    lent_arg(&l, "f32[1] [3]", false);
    lent_arg(&l, "i64[1] [5]", false);
    l.buffers[0].size = 19;
    ck_assert_int_eq(lent_call(&l, _i / 2), TROUPE_INVALID);
    ck_assert_msg(strstr(l.err.text, "result 'y' is f32[5] of 20 bytes, and its buffer has 19"),
                  "%s", l.err.text);
    l.buffers[0].size = 20;
    ck_lent(&l, _i / 2);
    ck_value(l.outcome.results[0], "f32[5] [3, 3, 3, 3, 3]");
    ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[0]), l.memory[0]);
    lent_close(&l);
}
END_TEST

START_TEST(a_result_in_the_callers_memory_outlives_the_runtime)
{
    struct lent l;
    lent_open(&l, functions[1].text, "cpu:0,cpu:1", workers[_i]);
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
    ck_lent(&l, false);
    struct outcome kept = l.outcome;
    l.outcome = (struct outcome){0};
    lent_drop_args(&l);
    stand_close(&l.s);
    troupe_function_release(&l.f);
    ck_value(kept.results[0], functions[1].results[0]);
    ck_assert_ptr_eq(troupe_tensor_data(kept.results[0]), l.memory[0]);
    outcome_clear(&kept);
}
END_TEST

/* -- Arguments given away ------------------------------------------------------------------ */

START_TEST(a_result_takes_the_memory_of_an_argument_that_was_given_away)
{
    struct lent l;
    lent_open(&l, "function f(w: f32[4], g: f32[4]) -> (y)\n  a = Mul(g, g)\n  y = Sub(w, a)\n",
              "cpu:0", workers[_i % 2]);
    l.options.buffers = NULL;
    for (int again = 0; again < 3; again++) {
        lent_arg(&l, "f32[4] [9, 9, 9, 9]", true);
        lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
        const void *was = troupe_tensor_data(l.args[0]);
        ck_lent(&l, _i / 2);
        ck_value(l.outcome.results[0], "f32[4] [8, 5, 0, -7]");
        ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[0]), was);
        lent_drop_args(&l);
    }
    /* A result that is given away again, as a loop over steps does. */
    const void *was = troupe_tensor_data(l.outcome.results[0]);
    for (int step = 0; step < 3; step++) {
        l.args[0] = troupe_tensor_retain(l.outcome.results[0]);
        l.give[0] = true;
        l.n_args = 1;
        lent_arg(&l, "f32[4] [0, 0, 0, 0]", false);
        ck_lent(&l, _i / 2);
        ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[0]), was);
        lent_drop_args(&l);
    }
    lent_close(&l);
}
END_TEST

/* Not the last reference, not alone, not the memory's: its elements are left as they are. */
enum why { OTHER_OWNER, VIEW, TWICE, TAKEN, RETURNED, TWO_SHARDS, NOT_GIVEN, LENT, WHYS };

static const char *text_for(enum why why)
{
    if (why == RETURNED)
        return "function f(x: f32[4], z: f32[4]) -> (y, o = x)\n  y = Neg(x)\n";
    if (why == TWO_SHARDS)
        return "function f(x: f32[4], z: f32[4]) -> (y, o)\n  y = Neg(x) @cpu:0\n"
               "  o = Neg(x) @cpu:1\n";
    return "function f(x: f32[4], z: f32[4]) -> (y, o)\n  y = Neg(x)\n  o = Abs(z)\n";
}

START_TEST(an_argument_that_others_use_keeps_its_elements)
{
    static _Alignas(64) float mine[4] = {1, 2, 3, 4};
    troupe_error err;
    struct lent l;
    const enum why why = (enum why)(_i / 2);
    troupe_tensor *kept = NULL;
    lent_open(&l, text_for(why), "cpu:0,cpu:1", 0);
    l.options.buffers = NULL;
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", why != NOT_GIVEN);
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
    if (why == OTHER_OWNER) kept = troupe_tensor_retain(l.args[0]);
    if (why == VIEW)
        ck_ok(troupe_tensor_reshape(&kept, l.args[0], 2, (const int64_t[]){2, 2}, &err));
    if (why == TWICE) {
        troupe_tensor_release(&l.args[1]);
        l.args[1] = l.args[0];
    }
    if (why == TAKEN) {
        troupe_tensor_release(&l.args[0]);
        ck_ok(troupe_tensor_take(&l.args[0], TROUPE_F32, 1, (const int64_t[]){4}, mine, NULL,
                                 NULL, &err));
    }
    if (why == LENT) { /* memory that an earlier call was lent is still the caller's */
        l.options.buffers = l.buffers;
        l.give[0] = false;
        ck_lent(&l, true);
        troupe_tensor_release(&l.args[0]);
        l.args[0] = troupe_tensor_retain(l.outcome.results[1]);
        l.options.buffers = NULL;
        l.give[0] = true;
    }
    const void *was = troupe_tensor_data(l.args[0]);
    ck_lent(&l, _i % 2);
    ck_value(l.outcome.results[0], "f32[4] [-1, -2, -3, -4]");
    ck_assert_ptr_ne(troupe_tensor_data(l.outcome.results[0]), was);
    if (why == TWICE) {
        ck_value(l.outcome.results[1], "f32[4] [1, 2, 3, 4]");
        l.args[1] = NULL; /* it was the one that was given */
    }
    if (why == RETURNED) ck_value(l.outcome.results[1], "f32[4] [1, 2, 3, 4]");
    if (kept) ck_assert_float_eq(((const float *)troupe_tensor_data(kept))[3], 4);
    ck_assert_float_eq(mine[3], 4);
    troupe_tensor_release(&kept);
    lent_close(&l);
}
END_TEST

static void note_freed(void *arg, void *data)
{
    (void)data;
    ++*(int *)arg;
}

/* What is wrong with a call: each time the argument is let go. */
enum wrong { FAILS, COUNT_OF_ARGS, TYPE, DEVICE, BUFFER, BUSY, CANCELLED, NONE, WRONGS };

START_TEST(what_was_given_away_is_let_go_however_the_call_ends)
{
    static _Alignas(64) float mine[4] = {1, 2, 3, 4};
    troupe_error err;
    struct lent l;
    int freed = 0;
    const enum wrong wrong = (enum wrong)(_i / 2);
    const char *devices[] = {"cpu:9", NULL};
    lent_open(&l, "function f(x: f32[4], ok: bool[]) -> (y)\n  y = Neg(x)\n  Assert(ok)\n",
              "cpu:0", 0);
    ck_ok(troupe_tensor_take(&l.args[0], TROUPE_F32, 1, (const int64_t[]){4}, mine, note_freed,
                             &freed, &err));
    l.give[0] = true;
    l.n_args = 1;
    lent_arg(&l,
             wrong == TYPE    ? "i32[] 1"
             : wrong == FAILS ? "bool[] false"
                              : "bool[] true",
             true);
    if (wrong == COUNT_OF_ARGS) lent_arg(&l, "i32[] 1", true);
    if (wrong == DEVICE) l.options.arg_devices = devices;
    if (wrong == BUFFER) l.buffers[0].size = 1;
    if (wrong == BUSY) atomic_store(&l.s.runtime->calls_left, 0);
    if (wrong == CANCELLED) l.options.deadline_s = 1e-9;
    const troupe_status status = lent_call(&l, _i % 2);
    if (wrong == BUSY)
        ck_assert_int_eq(status, TROUPE_BUSY);
    else if (wrong == NONE)
        ck_assert_int_eq(status, TROUPE_OK);
    else if (wrong != CANCELLED)
        ck_assert_int_lt(status, 0);
    outcome_clear(&l.outcome);
    ck_assert_int_eq(freed, 1);
    if (wrong == BUSY) atomic_store(&l.s.runtime->calls_left, 65536);
    l.n_args = 0;
    lent_close(&l);
}
END_TEST

/* -- Warm, in any order, without memory ---------------------------------------------------- */

static const char step_text[] = "function f(w: f32[4], x: f32[4]) -> (v, y, z)\n"
                                "  s = i64[2] [2, 2]\n  v = Add(w, x)\n"
                                "  a = Mul(x, x) @cpu:1\n  y = Neg(a) @cpu:0\n"
                                "  z = Reshape(x, s)\n";

START_TEST(warm_calls_that_lend_and_give_allocate_nothing)
{
    struct lent l;
    size_t used = 0;
    if (getenv("TROUPE_WIRE")) return; /* the codec allocates */
    lent_open(&l, step_text, "cpu:0,cpu:1", 0);
    lent_arg(&l, "f32[4] [0, 0, 0, 0]", true);
    lent_arg(&l, "f32[4] [1, 2, 3, 4]", false);
    l.buffers[0].data = NULL;
    for (int i = 0; i < 1100; i++) {
        if (i == 100) {
            tp_alloc_fail_at(0, 0);
            used = mallinfo2().uordblks;
        }
        ck_lent(&l, i % 2);
        l.args[0] = troupe_tensor_retain(l.outcome.results[0]);
    }
    ck_assert_uint_eq(tp_alloc_asked(), 0);
    ck_assert_uint_eq(mallinfo2().uordblks, used);
    ck_assert_ptr_eq(troupe_tensor_data(l.outcome.results[2]), l.memory[2]);
    lent_close(&l);
}
END_TEST

START_TEST(a_warm_call_that_returns_views_of_its_arguments_allocates_nothing)
{
    troupe_error err;
    struct stand s = stand_open("cpu:0", 0);
    troupe_function *f = function_of("function f(x: f32[4]) -> (y, z)\n  s = i64[2] [2, 2]\n"
                                     "  y = Reshape(x, s)\n  a = Neg(x)\n  z = Reshape(a, s)\n",
                                     NULL);
    troupe_tensor *x = row_of(1), *results[2];
    size_t used = 0;
    if (getenv("TROUPE_WIRE")) return;
    for (int i = 0; i < 1100; i++) {
        if (i == 100) {
            tp_alloc_fail_at(0, 0);
            used = mallinfo2().uordblks;
        }
        ck_ok(troupe_run(s.runtime, f, (const troupe_tensor *const[]){x}, 1, results, 2, NULL,
                         &err));
        ck_assert_ptr_eq(troupe_tensor_data(results[0]), x->data);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
    }
    ck_assert_uint_eq(tp_alloc_asked(), 0);
    ck_assert_uint_eq(mallinfo2().uordblks, used);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

#define IN_FLIGHT 4

START_TEST(calls_that_lend_and_give_in_any_order_never_mix)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1");
    troupe_function *f = function_of(step_text, NULL);
    struct outcome outcomes[IN_FLIGHT] = {{0}};
    static _Alignas(64) float memory[IN_FLIGHT][3][16];
    static const bool give[] = {true, false};
    memset(memory, 0, sizeof(memory));
    for (int i = 0; i < IN_FLIGHT; i++) {
        troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
        const troupe_buffer buffers[] = {
            {i % 2 ? memory[i][0] : NULL, 64}, {memory[i][1], 64}, {memory[i][2], 64}};
        options.buffers = buffers; /* only needed until the call has started */
        options.give = give;
        troupe_tensor *w = row_of((float)i), *x = row_of((float)(10 * i));
        outcome_call(r.runtime, f, (const troupe_tensor *const[]){w, x}, &options,
                     &outcomes[i]);
        troupe_tensor_release(&x);
        rehearsal_steps(&r, rehearsal_below(&r, 8));
    }
    rehearsal_play(&r);
    for (int i = 0; i < IN_FLIGHT; i++) {
        const float x = (float)(10 * i);
        ck_assert_msg(!outcomes[i].error.code, "%s", outcomes[i].error.text);
        ck_assert_float_eq(((const float *)troupe_tensor_data(outcomes[i].results[0]))[0],
                           (float)(11 * i));
        ck_assert_float_eq(memory[i][1][0], -x * x);
        ck_assert_float_eq(memory[i][2][0], x);
        outcome_clear(&outcomes[i]);
    }
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

static troupe_status live(const troupe_function *f, troupe_error *err)
{
    static _Alignas(64) float memory[2][16];
    static const bool give[] = {true, false};
    const troupe_buffer buffers[] = {{NULL, 0}, {memory[0], 64}, {memory[1], 64}};
    TP_OWNED(troupe_close) troupe_runtime *runtime = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_call_options how = TROUPE_CALL_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1";
    options.workers = 0;
    how.buffers = buffers;
    how.give = give;
    TP_TRY(troupe_open(&runtime, &options, err));
    for (int i = 0; i < 3; i++) {
        TP_OWNED(troupe_tensor_release) troupe_tensor *x = NULL;
        troupe_tensor *w = NULL, *results[3];
        const int64_t four = 4;
        TP_TRY(troupe_tensor_new(&x, TROUPE_F32, 1, &four, (float[]){1, 2, 3, 4}, err));
        TP_TRY(troupe_tensor_new(&w, TROUPE_F32, 1, &four, NULL, err));
        TP_TRY(troupe_run(runtime, f, (const troupe_tensor *const[]){w, x}, 2, results, 3, &how,
                          err));
        ck_assert_float_eq(memory[0][3], -16);
        for (int k = 0; k < 3; k++)
            troupe_tensor_release(&results[k]);
    }
    return TROUPE_OK;
}

START_TEST(whatever_allocation_fails_what_was_given_is_let_go)
{
    troupe_error err;
    troupe_function *f = function_of(step_text, NULL);
    ck_starve(live(f, &err));
    troupe_function_release(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/lend");
    TCase *memory = tcase_create("memory"), *gifts = tcase_create("gifts");
    TCase *any = tcase_create("any");
    const int n = 2 * (int)TP_COUNT(workers);
    tcase_add_loop_test(memory, results_lie_in_the_callers_memory_whatever_they_are, 0,
                        n * (int)TP_COUNT(functions));
    tcase_add_loop_test(memory, a_result_that_is_computed_is_written_there_and_not_copied, 0,
                        2);
    tcase_add_loop_test(memory, memory_that_cannot_be_used_is_refused_with_its_numbers, 0,
                        n * (int)TP_COUNT(unusable));
    tcase_add_test(memory, memory_may_not_be_an_arguments_and_takes_no_strings);
    tcase_add_loop_test(memory,
                        a_result_whose_shape_depends_on_values_is_copied_or_is_too_large, 0, n);
    tcase_add_loop_test(memory, a_result_in_the_callers_memory_outlives_the_runtime, 0, 2);
    suite_add_tcase(s, memory);
    tcase_add_loop_test(gifts, a_result_takes_the_memory_of_an_argument_that_was_given_away, 0,
                        n);
    tcase_add_loop_test(gifts, an_argument_that_others_use_keeps_its_elements, 0, 2 * WHYS);
    tcase_add_loop_test(gifts, what_was_given_away_is_let_go_however_the_call_ends, 0,
                        2 * WRONGS);
    suite_add_tcase(s, gifts);
    tcase_add_test(any, warm_calls_that_lend_and_give_allocate_nothing);
    tcase_add_test(any, a_warm_call_that_returns_views_of_its_arguments_allocates_nothing);
    tcase_add_loop_test(any, calls_that_lend_and_give_in_any_order_never_mix, 0, 200);
    tcase_add_test(any, whatever_allocation_fails_what_was_given_is_let_go);
    suite_add_tcase(s, any);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
