/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_strings.c - strings in functions that run: of any size, from device to
 * device, in shapes that values decide, and where memory ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tensor/tensor.h"
#include "tests/bytes.h"
#include "tests/stand.h"
#include "tests/test.h"

#define N 12
#define LONG                                                                                   \
    3000 /* bytes of the longest text: a few are more than a result has room for at first */

/* Text i: its letter, as often as the text is long; no text, a short one, long ones. */
static size_t size_of(size_t i)
{
    return i % 3 == 0 ? i / 3 : LONG - i;
}

static troupe_tensor *many_texts(void)
{
    static char texts[N][LONG + 1];
    const char *at[N];
    const int64_t n = N;
    troupe_error err;
    troupe_tensor *out;
    for (size_t i = 0; i < N; i++) {
        memset(texts[i], 'a' + (int)i, size_of(i));
        texts[i][size_of(i)] = 0;
        at[i] = texts[i];
    }
    ck_ok(troupe_tensor_new_strings(&out, 1, &n, at, NULL, &err));
    return out;
}

/* Element i of the result is text `which`; -1: empty. */
static void ck_element(const troupe_tensor *value, size_t i, int which)
{
    size_t size;
    const char *text = troupe_tensor_string(value, i, &size);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(size, which < 0 ? 0 : size_of((size_t)which));
    for (size_t k = 0; k < size; k++)
        ck_assert_int_eq(text[k], 'a' + which);
    ck_assert_int_eq(text[size], 0);
}

static troupe_status run(struct stand *s, const troupe_function *f, const troupe_tensor *x,
                         troupe_tensor **results)
{
    const troupe_tensor *args[] = {x};
    return troupe_run(s->runtime, f, args, 1, results, troupe_function_results(f), NULL,
                      &s->err);
}

/* Every element comes back from a way over both devices and all ops that move elements. */
START_TEST(long_texts_go_through_ops_and_devices_unharmed)
{
    static const char text[] =
        "function f(x: string[n]) -> (y, z, e, w)\n"
        "  twice = i64[1] [2]\n"
        "  from = i64[1] [3]\n"
        "  to = i64[1] [18]\n"
        "  grid = i64[2] [3, 8]\n"
        "  pads = i64[4] [0, 1, 0, 0]\n"
        "  some = bool[8] [true, false, true, false, true, false, true, false]\n"
        "  none = string[] \"\"\n"
        "  first = i64[] 0\n"
        "  a = Tile(x, twice) @cpu:0\n"
        "  g = Reshape(a, grid) @cpu:1\n"
        "  t = Transpose(g) @cpu:1\n"
        "  y = Transpose(t) @cpu:0\n"
        "  e = Equal(y, g) @cpu:1\n"
        "  c = Where(some, g, none) @cpu:0\n"
        "  z = Pad(c, pads) @cpu:1\n"
        "  w = Gather(z, first, axis=0) @cpu:0\n";
    struct stand s = stand_open("cpu:0,cpu:1", _i);
    troupe_function *f = function_of(text, NULL);
    troupe_tensor *x = many_texts();
    for (int round = 0; round < 5; round++) {
        troupe_tensor *r[4] = {NULL};
        ck_ran(&s, run(&s, f, x, r));
        for (size_t i = 0; i < 2 * N; i++) {
            ck_element(r[0], i, (int)(i % N));
            ck_assert(((const bool *)troupe_tensor_data(r[2]))[i]);
        }
        for (size_t i = 0; i < 3 * 9; i++) {
            const size_t at = i / 9 * 8 + i % 9 - 1;
            const bool kept = i % 9 > 0 && (i % 9 - 1) % 2 == 0;
            ck_element(r[1], i, kept ? (int)(at % N) : -1);
            if (i < 9) ck_element(r[3], i, kept ? (int)(at % N) : -1);
        }
        for (int i = 0; i < 4; i++)
            troupe_tensor_release(&r[i]);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(parts_and_wholes_of_texts_are_the_same_texts)
{
    static const char text[] = "function f(x: string[n]) -> (a, b, c, y)\n"
                               "  cuts = i64[3] [5, 0, 7]\n"
                               "  a, b, c = Split(x, cuts) @cpu:0\n"
                               "  y = Concat(c, b, a, axis=0) @cpu:1\n";
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of(text, NULL);
    troupe_tensor *x = many_texts(), *r[4] = {NULL};
    ck_ran(&s, run(&s, f, x, r));
    for (size_t i = 0; i < N; i++) {
        ck_element(r[3], i, (int)((i + 5) % N));
        if (i < 5) ck_element(r[0], i, (int)i);
        if (i < 7) ck_element(r[2], i, (int)i + 5);
    }
    ck_assert_uint_eq(troupe_tensor_count(r[1]), 0);
    for (int i = 0; i < 4; i++)
        troupe_tensor_release(&r[i]);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* The shape is an argument, so the result is made when it runs. */
START_TEST(texts_are_spread_to_shapes_that_are_known_late)
{
    static const char text[] = "function f(x: string[n], s: i64[2]) -> (y)\n"
                               "  y = Expand(x, s)\n";
    struct stand s = stand_open("cpu:0", 0);
    troupe_function *f = function_of(text, NULL);
    troupe_tensor *x = many_texts(), *y = NULL;
    for (int64_t rows = 1; rows < 6; rows++) {
        const int64_t dims[] = {rows, N}, two = 2;
        troupe_tensor *shape;
        troupe_error err;
        ck_ok(troupe_tensor_new(&shape, TROUPE_I64, 1, &two, dims, &err));
        const troupe_tensor *args[] = {x, shape};
        ck_ran(&s, troupe_run(s.runtime, f, args, 2, &y, 1, NULL, &s.err));
        for (size_t i = 0; i < (size_t)rows * N; i++)
            ck_element(y, i, (int)(i % N));
        troupe_tensor_release(&y);
        troupe_tensor_release(&shape);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(many_numbers_become_texts_and_numbers_again)
{
    static const char text[] = "function f(x: f64[n]) -> (y: f64[n], t)\n"
                               "  t = Cast(x, to=string) @cpu:0\n"
                               "  y = Cast(t, to=f64) @cpu:1\n";
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of(text, NULL);
    struct dice dice = {1};
    troupe_tensor *x, *r[2] = {NULL};
    troupe_error err;
    const int64_t n = 5000;
    double *values = calloc((size_t)n, sizeof(*values));
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)dice_next(&dice) / 1e19 - 0.5;
    ck_ok(troupe_tensor_new(&x, TROUPE_F64, 1, &n, values, &err));
    ck_ran(&s, run(&s, f, x, r));
    ck_assert(troupe_tensor_equal(x, r[0]));
    ck_assert_uint_gt(troupe_tensor_size(r[1]), 10 * (size_t)n);
    free(values);
    troupe_tensor_release(&x);
    troupe_tensor_release(&r[0]);
    troupe_tensor_release(&r[1]);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

static size_t used(const struct stand *s)
{
    troupe_device device = {.size = sizeof(device)};
    ck_assert_int_eq(troupe_device_at(s->runtime, 0, &device), TROUPE_OK);
    return device.memory_used;
}

START_TEST(texts_beyond_a_devices_memory_end_the_call_and_no_other)
{
    static const char text[] = "function f(x: string[n]) -> (y)\n"
                               "  k = i64[1] [4]\n"
                               "  y = Tile(x, k)\n";
    struct stand s = stand_open("cpu:0(memory=64K)", 0);
    troupe_function *f = function_of(text, NULL);
    troupe_tensor *x = many_texts(), *y = NULL;
    ck_ran(&s, RUN(&s, f, NULL, "string[1] [\"short\"]"));
    for (int round = 0; round < 3; round++) {
        const troupe_status status = run(&s, f, x, &y);
        ck_assert_int_eq(status, TROUPE_EXHAUSTED);
        ck_assert_msg(strstr(s.err.text, "over its memory limit of 65536"), "%s", s.err.text);
        ck_assert_ptr_null(y);
        ck_ran(&s, RUN(&s, f, NULL, "string[1] [\"short\"]"));
        ck_value(s.results[0], "string[4] [\"short\", \"short\", \"short\", \"short\"]");
    }
    ck_assert_uint_le(used(&s), 65536);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Whatever allocation fails, nothing is kept, and the next call works. */
START_TEST(a_failed_allocation_for_texts_is_a_failed_call)
{
    static const char text[] = "function f(x: string[n]) -> (y)\n"
                               "  k = i64[1] [4]\n"
                               "  t = Tile(x, k)\n"
                               "  y = Concat(t, x, axis=0)\n";
    struct stand s = stand_open("cpu:0", 0);
    troupe_function *f = function_of(text, NULL);
    troupe_tensor *x = many_texts(), *y = NULL;
    ck_ran(&s, run(&s, f, x, &y));
    troupe_tensor_release(&y);
    bool hit = true;
    for (uint64_t n = 1; hit; n++) {
        const size_t pieces = tp_alloc_pieces();
        tp_alloc_fail_at(n, 0);
        const troupe_status status = run(&s, f, x, &y);
        hit = tp_alloc_asked() >= n;
        tp_alloc_fail_at(0, 0);
        ck_assert_int_eq(status, hit ? TROUPE_EXHAUSTED : TROUPE_OK);
        if (hit) ck_assert_uint_le(tp_alloc_pieces(), pieces);
        troupe_tensor_release(&y);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("runtime_strings");
    TCase *t = tcase_create("strings");
    tcase_add_loop_test(t, long_texts_go_through_ops_and_devices_unharmed, 0, 2);
    tcase_add_test(t, parts_and_wholes_of_texts_are_the_same_texts);
    tcase_add_test(t, texts_are_spread_to_shapes_that_are_known_late);
    tcase_add_test(t, many_numbers_become_texts_and_numbers_again);
    tcase_add_test(t, texts_beyond_a_devices_memory_end_the_call_and_no_other);
    tcase_add_test(t, a_failed_allocation_for_texts_is_a_failed_call);
    suite_add_tcase(s, t);
    return test_run(s);
}
