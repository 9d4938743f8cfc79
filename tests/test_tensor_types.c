/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor_types.c - what must hold of every element type there is, and of those that
 * are stored rather than computed with.
 *
 * Whoever adds a type to TROUPE_DTYPE_MAP meets it here: each loop goes over all of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph/op.h"
#include "tensor/npy.h"
#include "tensor/number.h"
#include "tensor/tensor.h"
#include "tests/messages.h"
#include "tests/test.h"

/* --- every type ----------------------------------------------------------------------- */

static const troupe_dtype all[] = {
#define X(name, value, text, size) TROUPE_##name,
    TROUPE_DTYPE_MAP(X)
#undef X
};
#define ALL ((int)TP_COUNT(all))

START_TEST(a_type_has_a_kind_bits_and_a_unit)
{
    const troupe_dtype dtype = all[_i];
    const size_t size = troupe_dtype_size(dtype), unit = tp_dtype_unit(dtype);
    const unsigned bits = tp_dtype_bits(dtype);
    ck_assert_int_eq((int)dtype, _i + 1); /* no gaps: tables and sets count on it */
    ck_assert_int_ne((int)tp_dtype_kind(dtype), (int)TP_KIND_NONE);
    ck_assert_uint_gt(unit, 0);
    ck_assert_uint_eq(tp_element_size(dtype) % unit, 0);
    if (dtype == TROUPE_STRING) return; /* its size is its text's */
    ck_assert_uint_eq(tp_element_size(dtype), size);
    ck_assert_uint_gt(bits, 0);
    ck_assert_uint_eq((bits + 7) / 8, size);
    ck_assert_int_eq(size / unit, tp_dtype_kind(dtype) == TP_KIND_COMPLEX ? 2 : 1);
}
END_TEST

START_TEST(a_type_is_in_one_of_the_sets_that_any_is_made_of)
{
    static const uint32_t sets[] = {TP_FLOATS,  TP_SIGNED, TP_UNSIGNED,   TP_COMPLEX,
                                    TP_FLOATS8, TP_SHORT,  TP_TYPE(BOOL), TP_TYPE(STRING)};
    int n = 0;
    for (size_t i = 0; i < TP_COUNT(sets); i++)
        n += (int)(sets[i] >> all[_i] & 1);
    ck_assert_int_eq(n, 1);
    ck_assert(TP_ANY >> all[_i] & 1);
    ck_assert_int_eq((int)(TP_FIXED >> all[_i] & 1), all[_i] != TROUPE_STRING);
}
END_TEST

START_TEST(what_is_no_type_has_no_kind)
{
    ck_assert_int_eq((int)tp_dtype_kind(TROUPE_DTYPE_NONE), (int)TP_KIND_NONE);
    ck_assert_int_eq((int)tp_dtype_kind((troupe_dtype)TP_DTYPES), (int)TP_KIND_NONE);
    ck_assert_int_eq((int)tp_dtype_kind((troupe_dtype)-1), (int)TP_KIND_NONE);
    ck_assert_uint_eq(tp_dtype_bits((troupe_dtype)1000), 0);
}
END_TEST

static troupe_tensor *parsed(const char *text)
{
    troupe_error err;
    troupe_tensor *out = NULL;
    ck_ok(troupe_tensor_parse(&out, text, &err));
    return out;
}

static char *shown(const troupe_tensor *tensor)
{
    const size_t size = troupe_tensor_show(tensor, 0, NULL, 0) + 1;
    char *text = malloc(size);
    ck_assert_ptr_nonnull(text);
    troupe_tensor_show(tensor, 0, text, size);
    return text;
}

/* Shown, read and shown again it is the same: bits may differ only in a NaN's payload. */
static void ck_text_inverts(const troupe_tensor *tensor)
{
    char *text = shown(tensor);
    troupe_tensor *back = parsed(text);
    char *again = shown(back);
    ck_assert_str_eq(again, text);
    if (!strstr(text, "nan")) ck_assert_msg(troupe_tensor_equal(tensor, back), "%s", text);
    free(text);
    free(again);
    troupe_tensor_release(&back);
}

START_TEST(tensors_of_a_type_are_shared_reshaped_hashed_and_read_back_from_text)
{
    struct dice dice = {(uint64_t)_i};
    troupe_error err;
    for (int k = 0; k < 20; k++) {
        troupe_tensor *tensor = random_tensor(&dice, all[_i]), *flat;
        const int64_t n = (int64_t)troupe_tensor_count(tensor);
        troupe_tensor *again = troupe_tensor_retain(tensor);
        ck_ok(troupe_tensor_reshape(&flat, tensor, 1, &n, &err));
        ck_assert_uint_eq(troupe_tensor_size(flat), troupe_tensor_size(tensor));
        ck_assert_int_eq(troupe_tensor_dtype(flat), all[_i]);
        ck_text_inverts(flat);
        ck_text_inverts(again);
        ck_assert(tp_tensor_hash(again) == tp_tensor_hash(tensor));
        troupe_tensor_release(&tensor);
        ck_assert(troupe_tensor_equal(flat, flat));
        troupe_tensor_release(&again);
        troupe_tensor_release(&flat);
    }
}
END_TEST

START_TEST(zeros_of_a_type_are_elements_of_it)
{
    troupe_error err;
    troupe_tensor *tensor;
    const int64_t dims[] = {2, 3};
    if (all[_i] == TROUPE_STRING) return; /* they are not made of zeros */
    ck_ok(troupe_tensor_new(&tensor, all[_i], 2, dims, NULL, &err));
    ck_assert_uint_eq(troupe_tensor_size(tensor), 6 * troupe_dtype_size(all[_i]));
    ck_ok(tp_elements_check(all[_i], tensor->data, 6, &err));
    ck_text_inverts(tensor);
    troupe_tensor_release(&tensor);
}
END_TEST

START_TEST(a_file_holds_a_type_or_the_bytes_of_it)
{
    struct dice dice = {(uint64_t)_i};
    char path[] = "/tmp/troupe-types-XXXXXX";
    troupe_error err;
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    for (int k = 0; k < 10 && all[_i] != TROUPE_STRING; k++) { /* random texts are no UTF-8 */
        troupe_tensor *tensor = random_tensor(&dice, all[_i]), *back;
        ck_ok(troupe_tensor_write_npy(tensor, path, &err));
        ck_ok(troupe_tensor_read_npy(&back, path, &err));
        if (tp_npy_is_bytes(all[_i])) {
            troupe_tensor *bytes = back;
            const bool is_signed = tp_dtype_kind(all[_i]) == TP_KIND_SIGNED;
            ck_assert_int_eq(bytes->type.dtype, is_signed ? TROUPE_I8 : TROUPE_U8);
            ck_ok(troupe_tensor_retype(&back, bytes, all[_i], &err));
            troupe_tensor_release(&bytes);
        }
        ck_assert(troupe_tensor_equal(tensor, back));
        troupe_tensor_release(&tensor);
        troupe_tensor_release(&back);
    }
    unlink(path);
}
END_TEST

/* --- bytes that are no elements ------------------------------------------------------- */

START_TEST(a_byte_is_an_element_exactly_when_its_bits_are_enough)
{
    const troupe_dtype dtype = all[_i];
    const unsigned bits = tp_dtype_bits(dtype);
    if (troupe_dtype_size(dtype) != 1) return; /* of the others every pattern is one */
    for (int byte = 0; byte < 256; byte++) {
        troupe_error err;
        troupe_tensor *tensor = NULL;
        const uint8_t data[] = {0, (uint8_t)byte};
        const int64_t n = 2;
        const bool is_signed = tp_dtype_kind(dtype) == TP_KIND_SIGNED;
        const int value = is_signed ? (int8_t)byte : byte;
        const int least = is_signed ? -(1 << (bits - 1)) : 0;
        const bool fits = value >= least && value < least + (1 << bits);
        if (fits) {
            ck_ok(troupe_tensor_new(&tensor, dtype, 1, &n, data, &err));
            troupe_tensor_release(&tensor);
        } else {
            ck_fails(troupe_tensor_new(&tensor, dtype, 1, &n, data, &err), INVALID,
                     "element 1 is ");
            ck_fails(troupe_tensor_take(&tensor, dtype, 1, &n, (void *)data, NULL, NULL, &err),
                     INVALID, troupe_dtype_name(dtype));
        }
    }
}
END_TEST

START_TEST(packed_elements_come_apart_lowest_bits_first)
{
    static const uint8_t packed[] = {0x8f, 0x71, 0xe4};
    static const struct {
        troupe_dtype dtype;
        int8_t want[6];
    } rows[] = {
        {TROUPE_U4, {15, 8, 1, 7, 4, 14}},     {TROUPE_I4, {-1, -8, 1, 7, 4, -2}},
        {TROUPE_F4E2M1, {15, 8, 1, 7, 4, 14}}, {TROUPE_U2, {3, 3, 0, 2, 1, 0}},
        {TROUPE_I2, {-1, -1, 0, -2, 1, 0}},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        int8_t got[6] = {99, 99, 99, 99, 99, 99};
        tp_unpack(rows[i].dtype, packed, 5, got);
        ck_assert_int_eq(got[5], 99); /* an odd number ends within a byte */
        tp_unpack(rows[i].dtype, packed, 6, got);
        ck_assert_mem_eq(got, rows[i].want, 6);
    }
    ck_assert_uint_eq(tp_packed_size(TROUPE_U4, 0), 0);
    ck_assert_uint_eq(tp_packed_size(TROUPE_U4, 5), 3);
    ck_assert_uint_eq(tp_packed_size(TROUPE_I2, 5), 2);
    ck_assert_uint_eq(tp_packed_size(TROUPE_I2, SIZE_MAX), SIZE_MAX / 4 + 1);
}
END_TEST

/* --- floats of a byte and less -------------------------------------------------------- */

/* By their definition; infinity and NaN apart. */
static const struct {
    troupe_dtype dtype;
    int exponent, fraction, bias;
    bool has_sign, has_inf, one_nan; /* one_nan: in the place of -0 */
    double most;
} smalls[] = {
    {TROUPE_F8E4M3FN, 4, 3, 7, true, false, false, 448},
    {TROUPE_F8E4M3FNUZ, 4, 3, 8, true, false, true, 240},
    {TROUPE_F8E5M2, 5, 2, 15, true, true, false, 57344},
    {TROUPE_F8E5M2FNUZ, 5, 2, 16, true, false, true, 57344},
    {TROUPE_F4E2M1, 2, 1, 1, true, false, false, 6},
    {TROUPE_F8E8M0, 8, 0, 127, false, false, false, 0x1p127},
};
#define SMALLS ((int)TP_COUNT(smalls))

static int codes_of(int row)
{
    return 1 << (smalls[row].exponent + smalls[row].fraction + smalls[row].has_sign);
}

/* NaN where the definition of numbers would go on beyond the largest. */
static double value_of(int row, int code)
{
    const int half = smalls[row].has_sign ? codes_of(row) / 2 : codes_of(row);
    const bool negative = code >= half;
    const int rest = code % half;
    const int fraction = rest & ((1 << smalls[row].fraction) - 1);
    const int exponent = rest >> smalls[row].fraction;
    const bool subnormal = exponent == 0 && smalls[row].has_sign;
    const int whole = fraction + (subnormal ? 0 : 1 << smalls[row].fraction);
    double value =
        ldexp(whole, (subnormal ? 1 : exponent) - smalls[row].bias - smalls[row].fraction);
    if (smalls[row].one_nan && code == half) return (double)NAN;
    if (value > smalls[row].most)
        value = smalls[row].has_inf && fraction == 0 ? (double)INFINITY : (double)NAN;
    return negative ? -value : value;
}

static bool same_value(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b && signbit(a) == signbit(b);
}

START_TEST(a_small_float_is_what_its_definition_says)
{
    for (int code = 0; code < codes_of(_i); code++) {
        const double got = tp_small_to_f32(smalls[_i].dtype, (uint8_t)code);
        ck_assert_msg(same_value(got, value_of(_i, code)), "%s 0x%02x is %g, not %g",
                      troupe_dtype_name(smalls[_i].dtype), (unsigned)code, got,
                      value_of(_i, code));
    }
}
END_TEST

START_TEST(a_small_float_comes_back_from_double_and_from_text)
{
    const troupe_dtype dtype = smalls[_i].dtype;
    for (int code = 0; code < codes_of(_i); code++) {
        const double value = value_of(_i, code);
        char text[TP_NUMBER_TEXT];
        const char *at = text;
        uint8_t byte = (uint8_t)code, back = 0;
        troupe_error err;
        if (isnan(value)) continue; /* payloads are not kept */
        ck_assert_uint_eq(tp_f64_to_small(dtype, value, false), (unsigned)code);
        tp_number_show(dtype, &byte, text);
        ck_ok(tp_number_parse(dtype, &at, &back, &err));
        ck_assert_msg(back == byte && !*at, "%s 0x%02x is '%s'", troupe_dtype_name(dtype),
                      (unsigned)code, text);
    }
}
END_TEST

/* The code whose value is nearest to a finite one; the even one of two, or, of those without a
 * fraction, the upper. */
static int nearest(int row, double value)
{
    int best = -1;
    for (int code = 0; code < codes_of(row); code++) {
        const double at = value_of(row, code);
        if (!isfinite(at) || signbit(at) != signbit(value)) continue;
        const double now = best < 0 ? INFINITY : fabs(value_of(row, best) - value);
        const double next = fabs(at - value);
        const bool prefer = code % 2 == 0 || smalls[row].fraction == 0;
        if (next < now || (next == now && prefer)) best = code;
    }
    return best;
}

START_TEST(a_double_becomes_the_nearest_small_float_the_even_one_of_two)
{
    struct dice dice = {(uint64_t)_i};
    const troupe_dtype dtype = smalls[_i].dtype;
    for (int k = 0; k < 3000; k++) {
        const int code = (int)dice_below(&dice, (uint32_t)codes_of(_i));
        const double a = value_of(_i, code), b = value_of(_i, (code + 1) % codes_of(_i));
        if (!isfinite(a) || !isfinite(b) || signbit(a) != signbit(b)) continue;
        const double middle = (a + b) / 2, way = (double)dice_below(&dice, 1000) / 1000;
        const double values[] = {middle, nextafter(middle, a), nextafter(middle, b),
                                 a + (b - a) * way};
        for (size_t i = 0; i < TP_COUNT(values); i++) {
            const int want = nearest(_i, values[i]);
            const int got = tp_f64_to_small(dtype, values[i], k % 2 == 0);
            const bool zero = value_of(_i, want) == 0 && got == 0; /* where -0 is not there */
            ck_assert_msg(got == want || zero, "%s of %a is 0x%02x, not 0x%02x",
                          troupe_dtype_name(dtype), values[i], (unsigned)got, (unsigned)want);
        }
    }
}
END_TEST

/* ONNX's two tables, of saturate and without. */
START_TEST(what_is_too_large_for_a_small_float_is_what_onnx_says)
{
    const troupe_dtype dtype = smalls[_i].dtype;
    const double most = smalls[_i].most;
    const double large[] = {INFINITY, most * 1.5, most * 1000, 1e300};
    for (size_t i = 0; i < TP_COUNT(large); i++) {
        const double cut = tp_small_to_f32(dtype, tp_f64_to_small(dtype, large[i], true));
        const double over = tp_small_to_f32(dtype, tp_f64_to_small(dtype, large[i], false));
        ck_assert_double_eq(cut, most);
        if (smalls[_i].has_inf)
            ck_assert_double_eq(over, (double)INFINITY);
        else
            ck_assert(dtype == TROUPE_F4E2M1 ? over == most : isnan(over));
        if (!smalls[_i].has_sign) continue;
        const double below = tp_small_to_f32(dtype, tp_f64_to_small(dtype, -large[i], true));
        ck_assert_double_eq(below, -most);
    }
    const double nan = tp_small_to_f32(dtype, tp_f64_to_small(dtype, (double)NAN, true));
    ck_assert(dtype == TROUPE_F4E2M1 ? nan == most : isnan(nan));
}
END_TEST

START_TEST(zeros_keep_their_sign_where_there_are_two)
{
    static const struct {
        troupe_dtype dtype;
        uint8_t code;
    } rows[] = {{TROUPE_F8E4M3FN, 0x80}, {TROUPE_F8E4M3FNUZ, 0},    {TROUPE_F8E5M2, 0x80},
                {TROUPE_F4E2M1, 0x08},   {TROUPE_F8E5M2FNUZ, 0x00}, {TROUPE_F8E8M0, 0}};
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        ck_assert_uint_eq(tp_f64_to_small(rows[i].dtype, -0.0, true), rows[i].code);
        ck_assert_uint_eq(tp_f64_to_small(rows[i].dtype, -1e-300, false),
                          rows[i].dtype == TROUPE_F8E8M0 ? 0xff : rows[i].code);
        ck_assert_uint_eq(tp_f64_to_small(rows[i].dtype, 1e-310, true), 0);
    }
}
END_TEST

/* --- text ----------------------------------------------------------------------------- */

static const char *const texts[] = {
    "c64[] (1.5,-2)",
    "c64[2] [(0.1,-0), (nan,-inf)]",
    "c128[2,1] [[(0.1,1e-300)], [(-1.7976931348623157e308,0)]]",
    "f8e4m3fn[4] [0.1, -450, nan, -0]",
    "f8e5m2[3] [inf, -inf, 2e-5]",
    "f8e8m0[3] [1, 6e-39, nan]",
    "f4e2m1[3] [6, -0.5, 0]",
    "u4[2] [0, 15]",
    "i4[2] [-8, 7]",
    "u2[2] [0, 3]",
    "i2[2] [-2, 1]",
};

START_TEST(a_text_of_a_stored_type_is_shown_as_it_was_read)
{
    troupe_tensor *tensor = parsed(texts[_i]);
    char *text = shown(tensor);
    ck_assert_str_eq(text, texts[_i]);
    free(text);
    troupe_tensor_release(&tensor);
}
END_TEST

START_TEST(spaces_may_stand_within_a_complex_number)
{
    troupe_tensor *a = parsed("c64[2] [ ( 1 , -2 ) ,(\n+inf,\t3e0)]"),
                  *b = parsed("c64[2] [(1,-2), (inf,3)]");
    ck_assert(troupe_tensor_equal(a, b));
    troupe_tensor_release(&a);
    troupe_tensor_release(&b);
}
END_TEST

static const struct {
    const char *text, *word;
} refused[] = {
    {"c64[] 1.5", "byte 6: '1.5' is not (real,imaginary)"},
    {"c64[] (1.5)", "byte 6: '(' is not (real,imaginary)"},
    {"c64[] (1.5,2", "is not (real,imaginary)"},
    {"c64[] (1.5,x)", "byte 11: 'x' is not a number of type f32"},
    {"c64[] (1e40,0)", "byte 7: '1e40' does not fit f32"},
    {"c64[] (1,2,3)", "(real,imaginary)"},
    {"c64[] (", "number"},
    {"f8e4m3fn[] inf", "'inf' is not a number of type f8e4m3fn"},
    {"f8e4m3fn[] 500", "'500' does not fit f8e4m3fn"},
    {"f8e5m2[] 1e9", "'1e9' does not fit f8e5m2"},
    {"f8e4m3fnuz[] -inf", "'-inf' is not"},
    {"f4e2m1[] nan", "'nan' is not"},
    {"f4e2m1[] 7", "'7' does not fit f4e2m1"},
    {"f4e2m1[2] [6.9, -1e300]", "'-1e300' does not fit f4e2m1"},
    {"f8e8m0[] -1", "'-1' does not fit f8e8m0"},
    {"u4[] 16", "'16' does not fit u4"},
    {"u4[] -1", "'-1' does not fit u4"},
    {"i4[] 8", "'8' does not fit i4"},
    {"i4[] -9", "'-9' does not fit i4"},
    {"u2[] 4", "'4' does not fit u2"},
    {"i2[] 2", "'2' does not fit i2"},
    {"i4[2] [1.5, 2]", "'1.5' is not a number of type i4"},
};

START_TEST(what_is_no_element_is_refused_with_its_byte)
{
    troupe_error err;
    troupe_tensor *tensor = NULL;
    ck_fails(troupe_tensor_parse(&tensor, refused[_i].text, &err), INVALID, refused[_i].word);
}
END_TEST

/* --- another type for the same bytes -------------------------------------------------- */

START_TEST(bytes_get_another_type_and_share_the_memory)
{
    troupe_error err;
    troupe_tensor *bytes = parsed("u8[2,2] [[0, 56], [126, 200]]"), *floats;
    troupe_tensor *want = parsed("f8e4m3fn[2,2] [[0, 1], [448, -4]]");
    ck_ok(troupe_tensor_retype(&floats, bytes, TROUPE_F8E4M3FN, &err));
    ck_assert_ptr_eq(troupe_tensor_data(floats), troupe_tensor_data(bytes));
    troupe_tensor_release(&bytes);
    ck_assert_msg(floats->data && memcmp(floats->data, want->data, 3) == 0, "codes differ");
    troupe_tensor_release(&floats);
    troupe_tensor_release(&want);
}
END_TEST

START_TEST(bytes_that_do_not_fit_another_type_keep_theirs)
{
    troupe_error err;
    troupe_tensor *out = NULL, *bytes = parsed("u8[2] [1, 16]");
    troupe_tensor *text = parsed("string[1] [\"a\"]"), *pairs = parsed("c64[1] [(1,2)]");
    ck_fails(troupe_tensor_retype(&out, bytes, TROUPE_U4, &err), INVALID,
             "u4 element 1 is 16, not 0 to 15");
    ck_fails(troupe_tensor_retype(&out, bytes, TROUPE_BOOL, &err), INVALID, "not 0 or 1");
    ck_fails(troupe_tensor_retype(&out, bytes, TROUPE_U16, &err), INVALID,
             "u8[2] have 1 bytes each, not the 2 of u16");
    ck_fails(troupe_tensor_retype(&out, bytes, TROUPE_STRING, &err), INVALID, "string");
    ck_fails(troupe_tensor_retype(&out, text, TROUPE_U8, &err), INVALID, "string[1]");
    ck_fails(troupe_tensor_retype(&out, bytes, (troupe_dtype)99, &err), INVALID, "unknown");
    ck_fails(troupe_tensor_retype(&out, pairs, TROUPE_F32, &err), INVALID, "8 bytes each");
    ck_ok(troupe_tensor_retype(&out, pairs, TROUPE_U64, &err));
    troupe_tensor_release(&out);
    troupe_tensor_release(&bytes);
    troupe_tensor_release(&text);
    troupe_tensor_release(&pairs);
}
END_TEST

START_TEST(a_part_of_a_complex_number_is_what_must_be_aligned)
{
    _Alignas(16) static char memory[64];
    troupe_error err;
    troupe_tensor *tensor;
    const int64_t n = 1;
    ck_ok(troupe_tensor_take(&tensor, TROUPE_C64, 1, &n, memory + 4, NULL, NULL, &err));
    troupe_tensor_release(&tensor);
    ck_ok(troupe_tensor_take(&tensor, TROUPE_C128, 1, &n, memory + 8, NULL, NULL, &err));
    troupe_tensor_release(&tensor);
    ck_fails(troupe_tensor_take(&tensor, TROUPE_C128, 1, &n, memory + 4, NULL, NULL, &err),
             INVALID, "not aligned to 8 bytes");
}
END_TEST

static TCase *every_case(void)
{
    TCase *t = tcase_create("every");
    tcase_add_loop_test(t, a_type_has_a_kind_bits_and_a_unit, 0, ALL);
    tcase_add_loop_test(t, a_type_is_in_one_of_the_sets_that_any_is_made_of, 0, ALL);
    tcase_add_test(t, what_is_no_type_has_no_kind);
    tcase_add_loop_test(t, tensors_of_a_type_are_shared_reshaped_hashed_and_read_back_from_text,
                        0, ALL);
    tcase_add_loop_test(t, zeros_of_a_type_are_elements_of_it, 0, ALL);
    tcase_add_loop_test(t, a_file_holds_a_type_or_the_bytes_of_it, 0, ALL);
    tcase_add_loop_test(t, a_byte_is_an_element_exactly_when_its_bits_are_enough, 0, ALL);
    tcase_add_test(t, packed_elements_come_apart_lowest_bits_first);
    return t;
}

static TCase *small_case(void)
{
    TCase *t = tcase_create("small");
    tcase_add_loop_test(t, a_small_float_is_what_its_definition_says, 0, SMALLS);
    tcase_add_loop_test(t, a_small_float_comes_back_from_double_and_from_text, 0, SMALLS);
    tcase_add_loop_test(t, a_double_becomes_the_nearest_small_float_the_even_one_of_two, 0,
                        SMALLS);
    tcase_add_loop_test(t, what_is_too_large_for_a_small_float_is_what_onnx_says, 0, SMALLS);
    tcase_add_test(t, zeros_keep_their_sign_where_there_are_two);
    return t;
}

static TCase *text_case(void)
{
    TCase *t = tcase_create("text");
    tcase_add_loop_test(t, a_text_of_a_stored_type_is_shown_as_it_was_read, 0,
                        (int)TP_COUNT(texts));
    tcase_add_test(t, spaces_may_stand_within_a_complex_number);
    tcase_add_loop_test(t, what_is_no_element_is_refused_with_its_byte, 0,
                        (int)TP_COUNT(refused));
    tcase_add_test(t, bytes_get_another_type_and_share_the_memory);
    tcase_add_test(t, bytes_that_do_not_fit_another_type_keep_theirs);
    tcase_add_test(t, a_part_of_a_complex_number_is_what_must_be_aligned);
    return t;
}

int main(void)
{
    Suite *s = suite_create("tensor_types");
    suite_add_tcase(s, every_case());
    suite_add_tcase(s, small_case());
    suite_add_tcase(s, text_case());
    return test_run(s);
}
