/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor.c - element types, shapes, buffers, and tensors in memory.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "tensor/tensor.h"
#include "tensor/utf8.h"
#include "tests/test.h"

/* --- dtype -----------------------------------------------------------------------------------
 */

START_TEST(every_type_has_a_name_and_a_size)
{
#define X(name, value, text, size)                                                             \
    ck_assert_int_eq(TROUPE_##name, value);                                                    \
    ck_assert_str_eq(troupe_dtype_name(TROUPE_##name), text);                                  \
    ck_assert_int_eq(troupe_dtype_parse(text), TROUPE_##name);                                 \
    ck_assert_uint_eq(troupe_dtype_size(TROUPE_##name), size);
    TROUPE_DTYPE_MAP(X)
#undef X
}
END_TEST

START_TEST(what_is_no_type_has_neither)
{
    static const char *const names[] = {"", "f", "f3", "f322", "F32", " f32", "float"};
    static const int values[] = {-1, 0, TP_DTYPES, 255, 1 << 20};
    for (size_t i = 0; i < TP_COUNT(names); i++) {
        ck_assert_int_eq(troupe_dtype_parse(names[i]), TROUPE_DTYPE_NONE);
    }
    ck_assert_int_eq(troupe_dtype_parse(NULL), TROUPE_DTYPE_NONE);
    for (size_t i = 0; i < TP_COUNT(values); i++) {
        ck_assert_ptr_null(troupe_dtype_name((troupe_dtype)values[i]));
        ck_assert_uint_eq(troupe_dtype_size((troupe_dtype)values[i]), 0);
    }
}
END_TEST

/* A 16-bit float by its definition, in double. */
static double half_value(uint16_t bits, int fraction_bits, int bias)
{
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const double fraction = bits & ((1 << fraction_bits) - 1);
    const double size =
        exponent ? ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits)
                 : ldexp(fraction, 1 - bias - fraction_bits);
    return bits & 0x8000 ? -size : size;
}

struct half {
    const char *name;
    int fraction_bits, bias;
    uint16_t infinity;
    float (*widen)(uint16_t bits);
    uint16_t (*narrow)(float value);
    uint16_t (*narrow_double)(double value);
};

static const struct half halves[] = {
    {"f16", 10, 15, 0x7c00, tp_f16_to_f32, tp_f32_to_f16, tp_f64_to_f16},
    {"bf16", 7, 127, 0x7f80, tp_bf16_to_f32, tp_f32_to_bf16, tp_f64_to_bf16},
};

static bool is_its_definition(const struct half *h, uint16_t half)
{
    const float value = h->widen(half);
    if ((half & 0x7fff) > h->infinity) {
        return isnan(value) && isnan(h->widen(h->narrow(value))) &&
               isnan(h->widen(h->narrow_double((double)value)));
    }
    if ((half & 0x7fff) == h->infinity) {
        if (!isinf(value)) return false;
    } else if ((double)value != half_value(half, h->fraction_bits, h->bias)) {
        return false;
    }
    return (signbit(value) != 0) == half >> 15 && h->narrow(value) == half &&
           h->narrow_double((double)value) == half;
}

START_TEST(every_16_bit_float_is_the_float_of_its_definition_and_comes_back)
{
    const struct half *h = &halves[_i];
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        if (is_its_definition(h, (uint16_t)bits)) continue;
        ck_abort_msg("%s 0x%04x does not", h->name, bits);
    }
}
END_TEST

/* Around `middle`, which lies between the neighbours low and low + 1 of one sign. */
static bool rounds_well(const struct half *h, uint16_t low, double middle)
{
    const uint16_t high = (uint16_t)(low + 1), even = low & 1 ? high : low;
    const float single = (float)middle;
    if (h->narrow_double(middle) != even) return false;
    if (h->narrow_double(nextafter(middle, 0)) != low) return false;
    if (h->narrow_double(nextafter(middle, middle * 2)) != high) return false;
    if ((double)single != middle) return true; /* half of the least float is none */
    return h->narrow(single) == even && h->narrow(nextafterf(single, 0)) == low &&
           h->narrow(nextafterf(single, single * 2)) == high;
}

/* Between each two neighbours; behind the largest comes infinity. */
START_TEST(a_float_becomes_the_nearest_16_bit_float_and_a_tie_the_even_one)
{
    const struct half *h = &halves[_i];
    for (uint16_t low = 0; low < h->infinity; low++) {
        const double middle = (half_value(low, h->fraction_bits, h->bias) +
                               half_value((uint16_t)(low + 1), h->fraction_bits, h->bias)) /
                              2;
        if (rounds_well(h, low, middle) && rounds_well(h, low | 0x8000, -middle)) continue;
        ck_abort_msg("%s does not near %a", h->name, middle);
    }
}
END_TEST

START_TEST(what_is_too_large_for_a_16_bit_float_is_infinite)
{
    const struct half *h = &halves[_i];
    ck_assert_uint_eq(h->narrow(INFINITY), h->infinity);
    ck_assert_uint_eq(h->narrow(3.4028235e38f), h->infinity);
    ck_assert_uint_eq(h->narrow_double(1e300), h->infinity);
    ck_assert_uint_eq(h->narrow_double(-1e300), h->infinity | 0x8000);
    ck_assert_uint_eq(h->narrow_double(1e-300), 0);
    ck_assert_uint_eq(h->narrow_double(-1e-300), 0x8000);
}
END_TEST

/* --- shape -----------------------------------------------------------------------------------
 */

#define ANY  TP_DIM_ANY
#define N(k) TP_DIM_NAMED(k)
#define BIG  (INT64_C(1) << 40)
#define NORANK                                                                                 \
    {                                                                                          \
        TP_RANK_ANY,                                                                           \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }

START_TEST(shapes_are_counted)
{
    static const struct {
        struct tp_shape shape;
        size_t count;
        const char *word; /* of the failure */
    } rows[] = {
        {{0, {0}}, 1, NULL},
        {{1, {7}}, 7, NULL},
        {{3, {2, 3, 4}}, 24, NULL},
        {{3, {2, 0, 4}}, 0, NULL},
        {{2, {0, INT64_MAX}}, 0, NULL},
        {{1, {INT64_MAX}}, (size_t)INT64_MAX, NULL},
        {{8, {1, 2, 1, 2, 1, 2, 1, 2}}, 16, NULL},
        {{2, {BIG, BIG}}, 0, "[1099511627776,1099511627776] has too many elements"},
        {{3, {BIG, 0, BIG}}, 0, "too many elements"},
        {{2, {2, -1}}, 0, "dimension 1 is -1"},
        {{2, {INT64_MIN, 2}}, 0, "dimension 0 is -9223372036854775808"},
        {NORANK, 0, "rank is not known"},
    };
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        size_t count = 99;
        if (rows[i].word) {
            ck_fails(tp_shape_count(&rows[i].shape, &count, &err), INVALID, rows[i].word);
            ck_assert_uint_eq(count, 99);
        } else {
            ck_ok(tp_shape_count(&rows[i].shape, &count, &err));
            ck_assert_uint_eq(count, rows[i].count);
            ck_assert_uint_eq(tp_shape_count_known(&rows[i].shape), count);
        }
    }
}
END_TEST

START_TEST(shapes_are_made_of_dims_in_range)
{
    static const int64_t dims[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bad[2] = {3, -2};
    troupe_error err;
    struct tp_shape shape;
    ck_ok(tp_shape_make(&shape, 8, dims, &err));
    ck_assert_int_eq(shape.dims[7], 8);
    ck_ok(tp_shape_make(&shape, 0, NULL, &err));
    ck_assert_int_eq(shape.rank, 0);
    ck_fails(tp_shape_make(&shape, 9, dims, &err), INVALID, "rank 9 is not in 0 to 8");
    ck_fails(tp_shape_make(&shape, -1, dims, &err), INVALID, "rank -1");
    ck_fails(tp_shape_make(&shape, 2, bad, &err), INVALID, "dimension 1 is -2");
    ck_fails(tp_shape_make(&shape, 2, NULL, &err), INVALID, "without dims");
}
END_TEST

START_TEST(a_shape_is_known_when_all_its_dimensions_are)
{
    static const struct tp_shape known[] = {{0, {0}}, {2, {0, 5}}};
    static const struct tp_shape unknown[] = {NORANK, {1, {ANY}}, {3, {1, 2, N(0)}}};
    for (size_t i = 0; i < TP_COUNT(known); i++)
        ck_assert(tp_shape_known(&known[i]));
    for (size_t i = 0; i < TP_COUNT(unknown); i++)
        ck_assert(!tp_shape_known(&unknown[i]));
}
END_TEST

START_TEST(shapes_are_equal_when_rank_and_dimensions_are)
{
    static const struct tp_shape shapes[] = {
        NORANK,      {0, {0}},   {1, {0}},    {1, {3}},    {2, {3, 1}},
        {2, {1, 3}}, {1, {ANY}}, {1, {N(0)}}, {1, {N(1)}},
    };
    for (size_t i = 0; i < TP_COUNT(shapes); i++) {
        for (size_t k = 0; k < TP_COUNT(shapes); k++) {
            ck_assert_int_eq(tp_shape_equal(&shapes[i], &shapes[k]), i == k);
        }
    }
}
END_TEST

struct pair {
    struct tp_shape a, b;
    const char *text; /* of the result; NULL: a failure that names both */
};

static void check_pair(const struct pair *row,
                       troupe_status (*join)(const struct tp_shape *, const struct tp_shape *,
                                             struct tp_shape *, troupe_error *),
                       const char *word)
{
    troupe_error err;
    struct tp_shape out;
    if (!row->text) {
        ck_fails(join(&row->a, &row->b, &out, &err), INVALID, word);
        ck_assert_ptr_nonnull(strstr(err.text, tp_shape_text(&row->a).text));
        ck_assert_ptr_nonnull(strstr(err.text, tp_shape_text(&row->b).text));
        return;
    }
    ck_ok(join(&row->a, &row->b, &out, &err));
    ck_assert_str_eq(tp_shape_text(&out).text, row->text);
    out = row->a;
    ck_ok(join(&out, &row->b, &out, &err)); /* in place */
    ck_assert_str_eq(tp_shape_text(&out).text, row->text);
    out = row->b;
    ck_ok(join(&row->a, &out, &out, &err));
    ck_assert_str_eq(tp_shape_text(&out).text, row->text);
}

static struct pair turned(struct pair row)
{
    return (struct pair){row.b, row.a, row.text};
}

START_TEST(shapes_broadcast)
{
    static const struct pair rows[] = {
        {{0, {0}}, {0, {0}}, "[]"},
        {{0, {0}}, {2, {2, 3}}, "[2,3]"},
        {{1, {3}}, {2, {2, 3}}, "[2,3]"},
        {{1, {1}}, {2, {2, 3}}, "[2,3]"},
        {{2, {2, 1}}, {2, {1, 3}}, "[2,3]"},
        {{3, {4, 1, 3}}, {2, {2, 1}}, "[4,2,3]"},
        {{1, {0}}, {1, {1}}, "[0]"},
        {{2, {0, 3}}, {1, {1}}, "[0,3]"},
        {{1, {0}}, {1, {2}}, NULL},
        {{1, {2}}, {1, {3}}, NULL},
        {{2, {2, 3}}, {1, {4}}, NULL},
        {{2, {2, 3}}, {2, {3, 2}}, NULL},
        {NORANK, {1, {2}}, "[...]"},
        {NORANK, NORANK, "[...]"},
        {{1, {ANY}}, {1, {ANY}}, "[?]"},
        {{1, {ANY}}, {1, {1}}, "[?]"},
        {{1, {ANY}}, {0, {0}}, "[?]"},
        {{1, {ANY}}, {1, {5}}, "[5]"},
        {{1, {ANY}}, {1, {0}}, "[0]"},
        {{1, {N(0)}}, {1, {N(0)}}, "[d0]"},
        {{1, {N(0)}}, {1, {1}}, "[d0]"},
        {{1, {N(0)}}, {1, {5}}, "[5]"},
        {{1, {N(0)}}, {1, {N(1)}}, "[?]"},
        {{1, {N(0)}}, {1, {ANY}}, "[?]"},
        {{2, {N(3), 7}}, {1, {ANY}}, "[d3,7]"},
        {{2, {ANY, 3}}, {2, {2, 4}}, NULL},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct pair other = turned(rows[i]);
        check_pair(&rows[i], tp_shape_broadcast, "do not broadcast");
        check_pair(&other, tp_shape_broadcast, "do not broadcast");
    }
}
END_TEST

START_TEST(two_descriptions_of_a_shape_meet)
{
    static const struct pair rows[] = {
        {NORANK, NORANK, "[...]"},
        {NORANK, {0, {0}}, "[]"},
        {NORANK, {2, {ANY, 3}}, "[?,3]"},
        {{2, {2, 3}}, {2, {2, 3}}, "[2,3]"},
        {{2, {ANY, 3}}, {2, {2, ANY}}, "[2,3]"},
        {{1, {N(0)}}, {1, {ANY}}, "[d0]"},
        {{1, {N(0)}}, {1, {4}}, "[4]"},
        {{1, {N(1)}}, {1, {N(1)}}, "[d1]"},
        {{1, {0}}, {1, {ANY}}, "[0]"},
        {{1, {1}}, {1, {2}}, NULL},
        {{1, {1}}, {2, {1, 1}}, NULL},
        {{0, {0}}, {1, {ANY}}, NULL},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct pair other = turned(rows[i]);
        check_pair(&rows[i], tp_shape_meet, "contradict");
        check_pair(&other, tp_shape_meet, "contradict");
    }
}
END_TEST

START_TEST(of_two_names_the_first_is_kept)
{
    troupe_error err;
    const struct tp_shape a = {1, {N(2)}}, b = {1, {N(4)}};
    struct tp_shape out;
    ck_ok(tp_shape_meet(&a, &b, &out, &err));
    ck_assert_str_eq(tp_shape_text(&out).text, "[d2]");
}
END_TEST

START_TEST(a_type_shows_as_much_as_fits)
{
    static const char *const names[] = {"n", "batch"};
    const struct tp_type type = {TROUPE_BF16, {4, {2, N(1), ANY, N(0)}}};
    const char whole[] = "bf16[2,batch,?,n]";
    char text[32];
    for (size_t size = 0; size < sizeof(text); size++) {
        memset(text, 'x', sizeof(text));
        ck_assert_uint_eq(tp_type_show(&type, names, text, size), sizeof(whole) - 1);
        if (size == 0) continue;
        ck_assert_uint_eq(strlen(text), size < sizeof(whole) ? size - 1 : sizeof(whole) - 1);
        ck_assert_int_eq(strncmp(text, whole, strlen(text)), 0);
        for (size_t k = size; k < sizeof(text); k++)
            ck_assert_int_eq(text[k], 'x');
    }
    ck_assert_uint_eq(tp_type_show(&type, names, NULL, 0), sizeof(whole) - 1);
    ck_assert_uint_eq(tp_shape_show(&type.shape, names, NULL, 0), sizeof(whole) - 5);
}
END_TEST

START_TEST(the_longest_shape_has_room_in_a_text)
{
    struct tp_type type = {TROUPE_STRING, {8, {0}}};
    for (int i = 0; i < 8; i++)
        type.shape.dims[i] = INT64_MAX;
    const struct tp_shape_text text = tp_type_text(&type);
    ck_assert_int_eq(text.text[strlen(text.text) - 1], ']');
    type.dtype = (troupe_dtype)77;
    ck_assert_int_eq(tp_type_text(&type).text[0], '?');
}
END_TEST

/* --- tensor ----------------------------------------------------------------------------------
 */

static const int64_t dims23[2] = {2, 3};

START_TEST(a_tensor_has_a_copy_of_its_elements)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    float data[6] = {1, 2, 3, 4, 5, 6};
    ck_ok(troupe_tensor_new(&tensor, TROUPE_F32, 2, dims23, data, &err));
    data[0] = 9;
    const float *mine = troupe_tensor_data(tensor);
    ck_assert_float_eq(mine[0], 1);
    ck_assert_float_eq(mine[5], 6);
    ck_assert_uint_eq((uintptr_t)mine % 64, 0);
    ck_assert_int_eq(troupe_tensor_dtype(tensor), TROUPE_F32);
    ck_assert_int_eq(troupe_tensor_rank(tensor), 2);
    ck_assert_int_eq(troupe_tensor_dims(tensor)[1], 3);
    ck_assert_uint_eq(troupe_tensor_count(tensor), 6);
    ck_assert_uint_eq(troupe_tensor_size(tensor), 24);
    ck_assert_ptr_null(troupe_tensor_string(tensor, 0, NULL));
}
END_TEST

START_TEST(a_tensor_without_data_is_all_zeros)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *scalar = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *wide = NULL;
    ck_ok(troupe_tensor_new(&scalar, TROUPE_I64, 0, NULL, NULL, &err));
    ck_ok(troupe_tensor_new(&wide, TROUPE_BOOL, 2, dims23, NULL, &err));
    ck_assert_uint_eq(troupe_tensor_count(scalar), 1);
    ck_assert_int_eq(tp_tensor_int(scalar, 0), 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(((const char *)troupe_tensor_data(wide))[i], 0);
}
END_TEST

START_TEST(a_tensor_may_have_no_elements)
{
    troupe_error err;
    const int64_t dims[3] = {2, 0, 3};
    TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *c = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *s = NULL;
    ck_ok(troupe_tensor_new(&a, TROUPE_F64, 3, dims, NULL, &err));
    ck_ok(troupe_tensor_new(&b, TROUPE_F64, 3, dims, "", &err));
    ck_ok(troupe_tensor_take(&c, TROUPE_F64, 3, dims, NULL, NULL, NULL, &err));
    ck_ok(troupe_tensor_new_strings(&s, 3, dims, NULL, NULL, &err));
    ck_assert_uint_eq(troupe_tensor_size(a), 0);
    ck_assert_uint_eq(troupe_tensor_size(s), 0);
    ck_assert(troupe_tensor_equal(a, b));
    ck_assert(troupe_tensor_equal(a, c));
    ck_assert_uint_eq(tp_tensor_hash(a), tp_tensor_hash(c));
    ck_assert(!troupe_tensor_equal(a, s));
    ck_assert_ptr_null(troupe_tensor_string(s, 0, NULL));
}
END_TEST

START_TEST(wrong_arguments_make_no_tensor)
{
    static const struct {
        troupe_dtype dtype;
        int rank;
        int64_t dims[9];
        const char *word;
    } rows[] = {
        {TROUPE_F32, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "rank 9"},
        {TROUPE_F32, -1, {1}, "rank -1"},
        {TROUPE_F32, 2, {2, -3}, "dimension 1 is -3"},
        {TROUPE_F32, 2, {BIG, BIG}, "too many elements"},
        {TROUPE_F64, 1, {INT64_MAX}, "f64[9223372036854775807] has too many bytes"},
        {TROUPE_I16, 2, {BIG, BIG >> 18}, "too many bytes"},
        {TROUPE_DTYPE_NONE, 1, {2}, "0 is not an element type"},
        {(troupe_dtype)200, 1, {2}, "200 is not an element type"},
        {TROUPE_STRING, 1, {2}, "strings"},
    };
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        troupe_tensor *tensor = NULL;
        ck_fails(
            troupe_tensor_new(&tensor, rows[i].dtype, rows[i].rank, rows[i].dims, NULL, &err),
            INVALID, rows[i].word);
        ck_fails(troupe_tensor_take(&tensor, rows[i].dtype, rows[i].rank, rows[i].dims,
                                    (void *)(uintptr_t)64, NULL, NULL, &err),
                 INVALID, rows[i].word);
        ck_assert_ptr_null(tensor);
        ck_assert_int_eq(
            troupe_tensor_new(&tensor, rows[i].dtype, rows[i].rank, rows[i].dims, NULL, NULL),
            TROUPE_INVALID);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_bool_that_is_neither_0_nor_1_is_refused)
{
    troupe_error err;
    troupe_tensor *tensor = NULL;
    uint8_t data[6] = {0, 1, 0, 1, 1, 2};
    ck_fails(troupe_tensor_new(&tensor, TROUPE_BOOL, 2, dims23, data, &err), INVALID,
             "bool element 5 is 2");
    ck_fails(troupe_tensor_take(&tensor, TROUPE_BOOL, 2, dims23, data, NULL, NULL, &err),
             INVALID, "bool element 5 is 2");
    ck_assert_ptr_null(tensor);
}
END_TEST

struct taken {
    int calls;
    void *data;
};

static void free_taken(void *arg, void *data)
{
    struct taken *taken = arg;
    taken->calls++;
    taken->data = data;
}

START_TEST(taken_memory_is_not_copied_and_freed_once_by_the_last_owner)
{
    troupe_error err;
    troupe_tensor *tensor = NULL, *view = NULL;
    struct taken taken = {0};
    float data[6] = {1, 2, 3, 4, 5, 6};
    ck_ok(troupe_tensor_take(&tensor, TROUPE_F32, 2, dims23, data, free_taken, &taken, &err));
    ck_assert_ptr_eq(troupe_tensor_data(tensor), data);
    troupe_tensor *second = troupe_tensor_retain(tensor);
    ck_assert_ptr_eq(second, tensor);
    ck_ok(troupe_tensor_reshape(&view, tensor, 1, (const int64_t[]){6}, &err));
    troupe_tensor_release(&tensor);
    ck_assert_ptr_null(tensor);
    troupe_tensor_release(&second);
    ck_assert_int_eq(taken.calls, 0);
    troupe_tensor_release(&view);
    troupe_tensor_release(&view);
    ck_assert_int_eq(taken.calls, 1);
    ck_assert_ptr_eq(taken.data, data);
}
END_TEST

START_TEST(memory_that_is_not_taken_stays_the_callers)
{
    troupe_error err;
    troupe_tensor *tensor = NULL;
    struct taken taken = {0};
    double data[7] = {0};
    ck_fails(troupe_tensor_take(&tensor, TROUPE_F64, 2, dims23, (char *)data + 4, free_taken,
                                &taken, &err),
             INVALID, "not aligned to 8 bytes");
    ck_fails(troupe_tensor_take(&tensor, TROUPE_F64, 2, dims23, NULL, free_taken, &taken, &err),
             INVALID, "f64[2,3] over no memory");
    ck_starve(
        troupe_tensor_take(&tensor, TROUPE_F64, 2, dims23, data, free_taken, &taken, &err));
    ck_assert_int_eq(taken.calls, 0);
    troupe_tensor_release(&tensor);
    ck_assert_int_eq(taken.calls, 1);
}
END_TEST

START_TEST(a_reshape_shares_the_elements)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
    ck_ok(troupe_tensor_new(&a, TROUPE_I32, 2, dims23, NULL, &err));
    ck_ok(troupe_tensor_reshape(&b, a, 3, (const int64_t[]){3, 1, 2}, &err));
    ck_assert_ptr_eq(troupe_tensor_data(a), troupe_tensor_data(b));
    ck_assert_int_eq(troupe_tensor_rank(b), 3);
    ck_assert(!troupe_tensor_equal(a, b));
    troupe_tensor *none = NULL;
    ck_fails(troupe_tensor_reshape(&none, a, 1, (const int64_t[]){7}, &err), INVALID,
             "i32[2,3] does not reshape to [7]");
    ck_fails(troupe_tensor_reshape(&none, a, 1, (const int64_t[]){-1}, &err), INVALID,
             "dimension 0 is -1");
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(strings_are_copied_with_their_sizes)
{
    static const char *const texts[4] = {"one", "", "a\0b", "\xff\xfe"};
    static const size_t sizes[4] = {3, 0, 3, 2};
    troupe_error err;
    size_t size;
    TP_OWNED(troupe_tensor_release) troupe_tensor *t = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *plain = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *flat = NULL;
    ck_ok(troupe_tensor_new_strings(&t, 2, (const int64_t[]){2, 2}, texts, sizes, &err));
    ck_ok(troupe_tensor_new_strings(&plain, 2, (const int64_t[]){2, 2}, texts, NULL, &err));
    ck_ok(troupe_tensor_reshape(&flat, t, 1, (const int64_t[]){4}, &err));
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(memcmp(troupe_tensor_string(t, i, &size), texts[i], sizes[i] + 1), 0);
        ck_assert_uint_eq(size, sizes[i]);
        ck_assert_ptr_eq(troupe_tensor_string(t, i, NULL), troupe_tensor_string(flat, i, NULL));
    }
    ck_assert_ptr_null(troupe_tensor_string(t, 4, &size));
    ck_assert_ptr_null(troupe_tensor_data(t));
    ck_assert_uint_eq(troupe_tensor_size(t), 8);
    ck_assert_uint_eq(troupe_tensor_size(plain), 6);
    ck_assert_str_eq(troupe_tensor_string(plain, 2, &size), "a");
    ck_assert_uint_eq(size, 1);
}
END_TEST

START_TEST(strings_that_are_not_there_are_refused)
{
    static const char *const texts[2] = {"one", NULL};
    static const size_t sizes[2] = {3, SIZE_MAX - 4};
    static const char *const two[2] = {"one", "two"};
    troupe_error err;
    troupe_tensor *t = NULL;
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){2}, texts, NULL, &err), INVALID,
             "string 1 is NULL");
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){2}, NULL, NULL, &err), INVALID,
             "2 strings without texts");
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){2}, two, sizes, &err), INVALID,
             "string 1: too many bytes");
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){INT64_MAX}, two, sizes, &err),
             INVALID, "too many bytes");
    ck_assert_ptr_null(t);
}
END_TEST

static troupe_status build_strings(troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(tp_strings_fini) struct tp_strings strings = {0};
    const struct tp_shape shape = {1, {3}};
    TP_TRY(tp_strings_init(&strings, 3, err));
    for (int i = 0; i < 3; i++) {
        if (i != 1) tp_text_add(&strings.bytes, "number %d", i);
        TP_TRY(tp_strings_end(&strings, err));
    }
    return tp_strings_take(&strings, &shape, out, err);
}

START_TEST(strings_are_built_one_by_one)
{
    static const char *const texts[3] = {"number 0", "", "number 2"};
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *built = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *want = NULL;
    ck_starve(build_strings(&built, &err));
    ck_ok(troupe_tensor_new_strings(&want, 1, (const int64_t[]){3}, texts, NULL, &err));
    ck_assert(troupe_tensor_equal(built, want));
}
END_TEST

START_TEST(without_memory_a_constructor_fails_and_leaks_nothing)
{
    static const char *const texts[6] = {"a", "b", "c", "d", "e", "f"};
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    const struct tp_type type = {TROUPE_U16, {1, {5}}};
    troupe_tensor *t = NULL, *s = NULL, *r = NULL, *u = NULL;
    ck_starve(troupe_tensor_new(&t, TROUPE_I8, 2, dims23, "abcdef", &err));
    ck_starve(troupe_tensor_new_strings(&s, 2, dims23, texts, NULL, &err));
    ck_starve(troupe_tensor_reshape(&r, s, 1, (const int64_t[]){6}, &err));
    ck_starve(tp_tensor_new_unset(&u, &type, &err));
    ck_assert_int_eq(((const char *)troupe_tensor_data(t))[5], 'f');
    troupe_tensor_release(&t);
    troupe_tensor_release(&s);
    ck_assert_str_eq(troupe_tensor_string(r, 5, NULL), "f");
    troupe_tensor_release(&r);
    troupe_tensor_release(&u);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(equal_tensors_are_equal_byte_for_byte_and_hash_alike)
{
    static const char *const texts[] = {
        "f32[2] [1, 2]",
        "f32[2] [1, 3]",
        "f32[2] [nan, 2]",
        "f32[2] [0, 2]",
        "f32[2] [-0, 2]",
        "i32[2] [1, 2]",
        "f32[2,1] [[1], [2]]",
        "f32[1,2] [[1, 2]]",
        "f32[] 1",
        "string[2] [\"ab\", \"c\"]",
        "string[2] [\"a\", \"bc\"]",
        "string[] \"abc\"",
        "f32[0] []",
        "f32[0,1] []",
        "u8[] 1",
        "bool[] true",
        "i8[] 1",
    };
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        for (size_t k = 0; k < TP_COUNT(texts); k++) {
            TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
            TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
            ck_ok(troupe_tensor_parse(&a, texts[i], &err));
            ck_ok(troupe_tensor_parse(&b, texts[k], &err));
            ck_assert_int_eq(troupe_tensor_equal(a, b), i == k);
            ck_assert_int_eq(tp_tensor_hash(a) == tp_tensor_hash(b), i == k);
        }
    }
}
END_TEST

static void note_recycled(troupe_tensor *tensor)
{
    struct taken *taken = tensor->owner;
    taken->calls++;
    taken->data = tensor;
}

START_TEST(a_tensor_of_a_pool_goes_back_to_it)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    struct taken taken = {0};
    troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_new(&tensor, TROUPE_F32, 2, dims23, NULL, &err));
    troupe_tensor *same = tensor;
    tensor->recycle = note_recycled;
    tensor->owner = &taken;
    troupe_tensor_release(&tensor);
    ck_assert_int_eq(taken.calls, 1);
    ck_assert_ptr_eq(taken.data, same);
    ck_assert_ptr_null(same->buffer);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces + 1); /* the struct, which the pool keeps */
    tp_free(same);
}
END_TEST

START_TEST(a_tensor_lies_inside_its_buffer)
{
    static const struct {
        size_t offset;
        bool fits;
    } rows[] = {{0, true}, {8, true}, {9, false}, {32, false}, {SIZE_MAX, false}};
    const struct tp_type type = {TROUPE_F32, {2, {2, 3}}};
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        struct tp_buffer *buffer = NULL;
        troupe_tensor *tensor = NULL;
        ck_ok(tp_buffer_new(&buffer, 32, &err));
        const char *start = buffer->data;
        if (rows[i].fits) {
            ck_ok(tp_tensor_over(&tensor, &type, &buffer, rows[i].offset, &err));
            ck_assert_ptr_eq(troupe_tensor_data(tensor), start + rows[i].offset);
        } else {
            ck_fails(tp_tensor_over(&tensor, &type, &buffer, rows[i].offset, &err), INVALID,
                     "does not fit in a buffer of 32");
        }
        ck_assert_ptr_null(buffer);
        troupe_tensor_release(&tensor);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_view_reshapes_to_a_view)
{
    const struct tp_type type = {TROUPE_I64, {1, {2}}};
    troupe_error err;
    struct tp_buffer *buffer = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *view = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *other = NULL;
    ck_ok(tp_buffer_new(&buffer, 40, &err));
    for (int i = 0; i < 5; i++)
        ((int64_t *)buffer->data)[i] = 10 + i;
    ck_ok(tp_tensor_over(&view, &type, &buffer, 24, &err));
    ck_ok(troupe_tensor_reshape(&other, view, 2, (const int64_t[]){2, 1}, &err));
    ck_assert_int_eq(tp_tensor_int(view, 1), 14);
    ck_assert_int_eq(tp_tensor_int(other, 0), 13);
}
END_TEST

START_TEST(a_buffer_too_large_is_refused)
{
    troupe_error err;
    struct tp_buffer *buffer = NULL;
    ck_fails(tp_buffer_new(&buffer, SIZE_MAX - 3, &err), EXHAUSTED, "out of memory");
    ck_fails(tp_buffer_new(&buffer, (size_t)PTRDIFF_MAX, &err), EXHAUSTED, "out of memory");
    ck_assert_ptr_null(buffer);
    tp_buffer_release(&buffer);
}
END_TEST

START_TEST(nothing_is_released_without_harm)
{
    troupe_tensor *none = NULL;
    troupe_tensor_release(NULL);
    troupe_tensor_release(&none);
    ck_assert_ptr_null(troupe_tensor_retain(NULL));
}
END_TEST

/* --- threads ---------------------------------------------------------------------------------
 */

#define THREADS 4
#define ROUNDS  20000

struct shared {
    troupe_tensor *tensor; /* one owner for each thread */
    atomic_int freed;
    float data[6];
};

static void free_shared(void *arg, void *data)
{
    struct shared *shared = arg;
    memset(data, 0, sizeof(shared->data)); /* a late reader would race with this */
    atomic_fetch_add(&shared->freed, 1);
}

static void *retain_and_release(void *arg)
{
    struct shared *shared = arg;
    troupe_tensor *mine = shared->tensor;
    float sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        troupe_tensor *more = troupe_tensor_retain(mine);
        sum += ((const float *)troupe_tensor_data(more))[i % 6];
        troupe_tensor_release(&more);
    }
    troupe_tensor_release(&mine);
    return sum > 0 ? arg : NULL;
}

START_TEST(threads_share_a_tensor_and_the_last_one_frees_it)
{
    troupe_error err;
    struct shared shared = {.data = {1, 2, 3, 4, 5, 6}};
    struct tp_thread threads[THREADS] = {{0}};
    ck_ok(troupe_tensor_take(&shared.tensor, TROUPE_F32, 2, dims23, shared.data, free_shared,
                             &shared, &err));
    for (int i = 1; i < THREADS; i++)
        troupe_tensor_retain(shared.tensor);
    for (int i = 0; i < THREADS; i++) {
        ck_ok(tp_thread_start(&threads[i], "share", retain_and_release, &shared, &err));
    }
    for (int i = 0; i < THREADS; i++)
        tp_thread_join(&threads[i]);
    ck_assert_int_eq(atomic_load(&shared.freed), 1);
    ck_assert_float_eq(shared.data[0], 0);
}
END_TEST

/* --- utf8 ------------------------------------------------------------------------------------
 */

static bool comes_back(uint32_t code)
{
    char text[TP_UTF8_MAX + 1] = {0};
    uint32_t back = 0xffffffff;
    const size_t n = tp_utf8_put(text, code);
    return tp_utf8_get(text, n, &back) == n && back == code &&
           tp_utf8_get(text, n - 1, &back) == 0;
}

START_TEST(every_code_point_comes_back_from_utf8)
{
    for (uint32_t code = 0; code < 0x110000; code++) {
        if (!tp_utf8_valid(code) || comes_back(code)) continue;
        ck_abort_msg("U+%04X does not", code);
    }
}
END_TEST

START_TEST(what_is_not_utf8_is_no_code_point)
{
    static const char *const texts[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xc3(",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80",
        "\xff",
        "\xe2\x82",
        "",
    };
    uint32_t code;
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        ck_assert_uint_eq(tp_utf8_get(texts[i], strlen(texts[i]), &code), 0);
    }
    ck_assert(tp_utf8_valid(0xd7ff) && !tp_utf8_valid(0xd800) && !tp_utf8_valid(0xdfff));
    ck_assert(tp_utf8_valid(0x10ffff) && !tp_utf8_valid(0x110000));
}
END_TEST

static TCase *dtype_case(void)
{
    TCase *t = tcase_create("dtype");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_type_has_a_name_and_a_size);
    tcase_add_test(t, what_is_no_type_has_neither);
    tcase_add_loop_test(t, every_16_bit_float_is_the_float_of_its_definition_and_comes_back, 0,
                        2);
    tcase_add_loop_test(t, a_float_becomes_the_nearest_16_bit_float_and_a_tie_the_even_one, 0,
                        2);
    tcase_add_loop_test(t, what_is_too_large_for_a_16_bit_float_is_infinite, 0, 2);
    tcase_add_test(t, every_code_point_comes_back_from_utf8);
    tcase_add_test(t, what_is_not_utf8_is_no_code_point);
    return t;
}

static TCase *shape_case(void)
{
    TCase *t = tcase_create("shape");
    tcase_add_test(t, shapes_are_counted);
    tcase_add_test(t, shapes_are_made_of_dims_in_range);
    tcase_add_test(t, a_shape_is_known_when_all_its_dimensions_are);
    tcase_add_test(t, shapes_are_equal_when_rank_and_dimensions_are);
    tcase_add_test(t, shapes_broadcast);
    tcase_add_test(t, two_descriptions_of_a_shape_meet);
    tcase_add_test(t, of_two_names_the_first_is_kept);
    tcase_add_test(t, a_type_shows_as_much_as_fits);
    tcase_add_test(t, the_longest_shape_has_room_in_a_text);
    return t;
}

static TCase *tensor_case(void)
{
    TCase *t = tcase_create("tensor");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_tensor_has_a_copy_of_its_elements);
    tcase_add_test(t, a_tensor_without_data_is_all_zeros);
    tcase_add_test(t, a_tensor_may_have_no_elements);
    tcase_add_test(t, wrong_arguments_make_no_tensor);
    tcase_add_test(t, a_bool_that_is_neither_0_nor_1_is_refused);
    tcase_add_test(t, taken_memory_is_not_copied_and_freed_once_by_the_last_owner);
    tcase_add_test(t, memory_that_is_not_taken_stays_the_callers);
    tcase_add_test(t, a_reshape_shares_the_elements);
    tcase_add_test(t, strings_are_copied_with_their_sizes);
    tcase_add_test(t, strings_that_are_not_there_are_refused);
    tcase_add_test(t, strings_are_built_one_by_one);
    tcase_add_test(t, without_memory_a_constructor_fails_and_leaks_nothing);
    tcase_add_test(t, equal_tensors_are_equal_byte_for_byte_and_hash_alike);
    tcase_add_test(t, a_tensor_of_a_pool_goes_back_to_it);
    tcase_add_test(t, a_tensor_lies_inside_its_buffer);
    tcase_add_test(t, a_view_reshapes_to_a_view);
    tcase_add_test(t, a_buffer_too_large_is_refused);
    tcase_add_test(t, nothing_is_released_without_harm);
    tcase_add_test(t, threads_share_a_tensor_and_the_last_one_frees_it);
    return t;
}

int main(void)
{
    Suite *s = suite_create("tensor");
    suite_add_tcase(s, dtype_case());
    suite_add_tcase(s, shape_case());
    suite_add_tcase(s, tensor_case());
    return test_run(s);
}
