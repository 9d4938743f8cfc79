/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor_text.c - tensors as text: parsed, shown, refused, and the same bits again.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor/number.h"
#include "tensor/tensor.h"
#include "tests/test.h"

/* --- parse and show --------------------------------------------------------------------------
 */

static void ck_shows(const char *text, const char *want)
{
    troupe_error err;
    char shown[1000];
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *back = NULL;
    ck_ok(troupe_tensor_parse(&tensor, text, &err));
    const size_t size = troupe_tensor_show(tensor, 0, shown, sizeof(shown));
    ck_assert_str_eq(shown, want);
    ck_assert_uint_eq(size, strlen(want));
    ck_ok(troupe_tensor_parse(&back, shown, &err));
    ck_assert(troupe_tensor_equal(tensor, back));
}

START_TEST(a_value_is_shown_as_it_is_written)
{
    static const char *const rows[] = {
        "f32[] 1.5",
        "f32[1] [1.5]",
        "i64[3] [1, -2, 3]",
        "bool[2,1] [[true], [false]]",
        "bool[] true",
        "string[1] [\"a\\\"b\"]",
        "string[] \"\"",
        "string[3] [\"\\\\ \\n \\t\", \"\\x00\\x01\\x1f\\x7f\", \"\\xff\\xc3\"]",
        "string[2] [\"gr\xc3\xbc\xc3\x9f\", \"\xf0\x9f\x8e\xad\"]",
        "f32[2,3] [[1, 2, 3], [4, 5, 6]]",
        "f32[2,1,2] [[[1, 2]], [[3, 4]]]",
        "u8[1,1,1,1,1,1,1,2] [[[[[[[[1, 2]]]]]]]]",
        "f32[5] [nan, inf, -inf, 0, -0]",
        "f64[5] [nan, inf, -inf, 0, -0]",
        "f16[5] [nan, inf, -inf, 0, -0]",
        "bf16[5] [nan, inf, -inf, 0, -0]",
        "f32[0] []",
        "i8[0,3] []",
        "string[3,0] []",
        "f64[9] [1, 10, 100000, 1200, 0.1, 0.00012, 123456789, 123456.789, 0.5]",
        "f64[4] [1e-5, 1.5e-7, 10000000000000000, 1e17]",
        "f64[3] [1e300, -1.7976931348623157e308, 5e-324]",
        "f64[2] [0.30000000000000004, 2.2250738585072014e-308]",
        "f32[6] [0.1, 16777216, 3.4028235e38, 1.1754944e-38, 1e-45, -1e30]",
        "f16[6] [0.1, 0.3333, 65500, 6e-8, 6.104e-5, 2048]",
        "bf16[5] [0.1, 3.14, 3.39e38, 9e-41, 256]",
        "i8[2] [-128, 127]",
        "i16[2] [-32768, 32767]",
        "i32[2] [-2147483648, 2147483647]",
        "i64[2] [-9223372036854775808, 9223372036854775807]",
        "u8[2] [0, 255]",
        "u16[2] [0, 65535]",
        "u32[2] [0, 4294967295]",
        "u64[2] [0, 18446744073709551615]",
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++)
        ck_shows(rows[i], rows[i]);
}
END_TEST

START_TEST(many_spellings_are_read)
{
    static const char *const rows[][2] = {
        {" f32 [ 2 ] [ 1 ,\n\t2 ]\r\n ", "f32[2] [1, 2]"},
        {"f32[2][1,2]", "f32[2] [1, 2]"},
        {"f32[]1", "f32[] 1"},
        {"f32[6] [+1, 1., .5, 1e2, 1E+2, 100e-2]", "f32[6] [1, 1, 0.5, 100, 100, 1]"},
        {"f32[3] [00001, 0e5, +inf]", "f32[3] [1, 0, inf]"},
        {"f64[2] [0.00000000000000000000000001e30, 1000000000000000000000e-21]",
         "f64[2] [10000, 1]"},
        {"f64[2] [1e-400, -1e-99999999999999999999]", "f64[2] [0, -0]"},
        {"f32[1] [1e-60]", "f32[1] [0]"},
        {"f16[1] [65519]", "f16[1] [65500]"},
        {"f64[1] [0e99999999999999999999]", "f64[1] [0]"},
        {"i8[3] [+5, -0, 007]", "i8[3] [5, 0, 7]"},
        {"u8[1] [-0]", "u8[1] [0]"},
        {"f32[2,0] [[], []]", "f32[2,0] []"},
        {"f32[2,0] [[],[]]", "f32[2,0] []"},
        {"f32[0,2] []", "f32[0,2] []"},
        {"f32[2,0,5] [[], []]", "f32[2,0,5] []"},
        {"f32[4000000000000000000,0] []", "f32[4000000000000000000,0] []"},
        {"string[1] [\"\\x41\\x6A\\x6a\"]", "string[1] [\"Ajj\"]"},
        {"string[1] [\"\\xc3\\xbc\"]", "string[1] [\"\xc3\xbc\"]"},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++)
        ck_shows(rows[i][0], rows[i][1]);
}
END_TEST

START_TEST(what_is_wrong_is_refused_with_its_byte)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"", "byte 0: '' is not an element type"},
        {"  f3[] 1", "byte 2: 'f3' is not an element type"},
        {"f32f32f32f32f32f32[] 1", "is not an element type"},
        {"f32", "byte 3: '[' expected"},
        {"f32 1", "byte 4: '[' expected"},
        {"f32[", "byte 4: a dimension expected"},
        {"f32[2", "byte 5: ']' expected"},
        {"f32[2,] [1, 2]", "byte 6: a dimension expected"},
        {"f32[-1] [1]", "byte 4: a dimension expected"},
        {"f32[n] [1]", "byte 4: a dimension expected"},
        {"f32[99999999999999999999] [1]", "a dimension is above 9223372036854775807"},
        {"f32[4294967296,4294967296] [1]",
         "byte 4: shape [4294967296,4294967296] has too many"},
        {"f32[1,1,1,1,1,1,1,1,1] [1]", "byte 20: more than 8 dimensions"},
        {"f32[]", "byte 5: the text ends"},
        {"f32[] ,", "byte 6: ',' is not a number of type f32"},
        {"f32[2] 1, 2", "byte 7: '[' expected in dimension 0 of [2], after 0 of its elements"},
        {"f32[2] [1]", "byte 9: ',' expected in dimension 0 of [2], after 1 of its elements"},
        {"f32[2] [1, 2, 3]", "byte 12: ']' expected in dimension 0 of [2], after 2"},
        {"f32[2] [1, 2", "byte 12: ']' expected"},
        {"f32[2] [1,", "byte 10: the text ends where a number should be"},
        {"f32[2] [1, ]", "byte 11: ']' is not a number"},
        {"f32[2,2] [[1, 2]]", "byte 16: ',' expected in dimension 0 of [2,2], after 1"},
        {"f32[2,2] [[1, 2], [3]]", "byte 20: ',' expected in dimension 1"},
        {"f32[2,2] [1, 2, 3, 4]", "byte 10: '[' expected in dimension 1"},
        {"f32[1] [[1]]", "byte 8: '[' is not a number"},
        {"f32[1] []", "byte 8: ']' is not a number"},
        {"f32[0] [1]", "byte 8: ']' expected in dimension 0 of [0], after 0"},
        {"f32[2,0] [[1], []]", "']' expected in dimension 1"},
        {"f32[] 1 2", "byte 8: text after the value"},
        {"f32[] 1]", "byte 7: text after the value"},
        {"f32[] 1.5.2", "byte 6: '1.5.2' is not a number of type f32"},
        {"f32[] 1e", "'1e' is not a number"},
        {"f32[] 1e+", "'1e' is not a number"},
        {"f32[] .", "'.' is not a number"},
        {"f32[] -", "'-' is not a number"},
        {"f32[] --1", "'-' is not a number"},
        {"f32[] 0x10", "'0x10' is not a number"},
        {"f32[] 1f", "'1f' is not a number"},
        {"f32[] NaN", "'NaN' is not a number"},
        {"f32[] infinity", "'infinity' is not a number"},
        {"f32[] nan0", "'nan0' is not a number"},
        {"f32[] 3.5e38", "'3.5e38' does not fit f32"},
        {"f64[] 1e309", "'1e309' does not fit f64"},
        {"f64[] -1e99999999999999999999", "does not fit f64"},
        {"f16[] 65520", "'65520' does not fit f16"},
        {"bf16[] 3.4e38", "'3.4e38' does not fit bf16"},
        {"i64[] 1.5", "'1.5' is not a number of type i64"},
        {"i64[] 1e3", "'1e3' is not a number"},
        {"i8[] 128", "'128' does not fit i8"},
        {"i8[] -129", "'-129' does not fit i8"},
        {"i16[] 32768", "does not fit i16"},
        {"i32[] 2147483648", "does not fit i32"},
        {"i64[] 9223372036854775808", "does not fit i64"},
        {"i64[] -9223372036854775809", "does not fit i64"},
        {"u8[] 256", "does not fit u8"},
        {"u8[] -1", "'-1' does not fit u8"},
        {"u64[] 18446744073709551616", "does not fit u64"},
        {"u64[] 99999999999999999999999999", "does not fit u64"},
        {"bool[] 1", "'1' is neither true nor false"},
        {"bool[] truer", "'truer' is neither"},
        {"string[] a", "byte 9: a string in quotes expected"},
        {"string[] \"a", "byte 11: a string does not end"},
        {"string[] \"a\\", "an escape is none of"},
        {"string[] \"\\r\"", "byte 11: an escape is none of"},
        {"string[] \"\\x4\"", "byte 11: an escape"},
        {"string[] \"\\xg0\"", "an escape"},
        {"string[] \"a\nb\"", "byte 11: byte 0x0a in a string"},
        {"f32[7] [1, 2, 3, ..., 5, 6, 7]", "byte 17: '...' is not a number"},
    };
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    troupe_tensor *none = NULL;
    ck_fails(troupe_tensor_parse(&none, rows[_i].text, &err), INVALID, rows[_i].word);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(troupe_tensor_parse(&none, rows[_i].text, NULL), TROUPE_INVALID);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST
#define WRONG_TEXTS 68

START_TEST(a_short_text_that_announces_much_gets_no_memory)
{
    static const char *const rows[] = {
        "f32[1000000000000] [1]",
        "string[1000000000000000] [\"\"]",
        "i8[9223372036854775807] [1]",
        "u8[1000,1000,1000] [[[1]]]",
    };
    troupe_error err;
    troupe_tensor *none = NULL;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        tp_alloc_fail_at(1, 1);
        ck_fails(troupe_tensor_parse(&none, rows[i], &err), INVALID, "the text ends before");
        tp_alloc_fail_at(0, 0);
    }
    ck_fails(troupe_tensor_parse(&none, "f64[9223372036854775807] [1]", &err), INVALID,
             "too many bytes");
}
END_TEST

static const char *const samples[] = {
    "f32[2,3] [[1.5, -2, 3], [nan, inf, 1e-45]]",
    "string[2,2] [[\"a\\\"\", \"\\x00\\xff\"], [\"\", \"gr\xc3\xbc\"]]",
    "bool[2] [true, false]",
    "i64[] -9223372036854775808",
    "u8[2,0] [[], []]",
};

/* No prefix is a value, but for a scalar's last digits. */
START_TEST(every_text_that_is_cut_short_is_refused)
{
    troupe_error err;
    char text[200];
    for (size_t i = 0; i < TP_COUNT(samples); i++) {
        for (size_t n = 0; n < strlen(samples[i]); n++) {
            troupe_tensor *tensor = NULL;
            snprintf(text, n + 1, "%s", samples[i]);
            const troupe_status status = troupe_tensor_parse(&tensor, text, &err);
            ck_assert_int_eq(status == TROUPE_OK, n > 7 && strncmp(text, "i64", 3) == 0);
            troupe_tensor_release(&tensor);
        }
    }
}
END_TEST

/* Each byte replaced by each of some others: a value or INVALID, and no leak. */
START_TEST(no_changed_byte_does_harm)
{
    static const char bytes[] = "[],\" \\x0-9e.+nat\n\x80\xff\x01";
    troupe_error err;
    char text[200];
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < strlen(samples[_i]); i++) {
        for (size_t k = 0; k < sizeof(bytes); k++) {
            troupe_tensor *tensor = NULL;
            strcpy(text, samples[_i]);
            text[i] = bytes[k];
            const troupe_status status = troupe_tensor_parse(&tensor, text, &err);
            ck_assert(status == TROUPE_OK || status == TROUPE_INVALID);
            if (tensor) troupe_tensor_show(tensor, 0, NULL, 0);
            troupe_tensor_release(&tensor);
        }
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_reader_goes_on_behind_the_value)
{
    troupe_error err;
    const char *text = "f32[2] [1, 2] u8[] 7;";
    const char *const start = text;
    TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
    ck_ok(tp_tensor_parse_at(&a, &text, &err));
    ck_assert_uint_eq((size_t)(text - start), 13);
    ck_ok(tp_tensor_parse_at(&b, &text, &err));
    ck_assert_str_eq(text, ";");
    ck_assert_int_eq(troupe_tensor_rank(b), 0);
    troupe_tensor *none = NULL;
    text = "f32[2] [1, x]";
    const char *const bad = text + 11;
    ck_fails(tp_tensor_parse_at(&none, &text, &err), INVALID, "'x' is not a number");
    ck_assert_ptr_eq(text, bad);
}
END_TEST

START_TEST(elements_are_read_when_the_type_is_known)
{
    troupe_error err;
    const struct tp_type type = {TROUPE_I16, {2, {1, 2}}};
    const char *text = "  [[3, 4]]) -> x";
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(tp_tensor_parse_elements(&tensor, &type, &text, &err));
    ck_assert_str_eq(text, ") -> x");
    const struct tp_type unknown = {TROUPE_I16, {1, {TP_DIM_ANY}}};
    troupe_tensor *none = NULL;
    ck_fails(tp_tensor_parse_elements(&none, &unknown, &text, &err), INVALID,
             "dimension 0 is -1");
}
END_TEST

START_TEST(without_memory_no_text_is_parsed_and_nothing_leaks)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < TP_COUNT(samples); i++) {
        troupe_tensor *tensor = NULL;
        ck_starve(troupe_tensor_parse(&tensor, samples[i], &err));
        troupe_tensor_release(&tensor);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_value_shows_as_much_as_fits)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    const size_t whole = strlen(samples[1]);
    char text[100];
    ck_ok(troupe_tensor_parse(&tensor, samples[1], &err));
    ck_assert_uint_eq(troupe_tensor_show(tensor, 0, NULL, 0), whole);
    for (size_t size = 1; size < sizeof(text); size++) {
        memset(text, 'x', sizeof(text));
        ck_assert_uint_eq(troupe_tensor_show(tensor, 0, text, size), whole);
        const size_t kept = size <= whole ? size - 1 : whole;
        ck_assert_uint_eq(strlen(text), kept);
        ck_assert_int_eq(memcmp(text, samples[1], kept), 0);
        if (size < sizeof(text)) ck_assert_int_eq(text[size], 'x');
    }
}
END_TEST

static void count_up(troupe_tensor **out, int rank, const int64_t *dims)
{
    troupe_error err;
    ck_ok(troupe_tensor_new(out, TROUPE_I32, rank, dims, NULL, &err));
    int32_t *data = tp_tensor_write(*out);
    for (size_t i = 0; i < troupe_tensor_count(*out); i++)
        data[i] = (int32_t)i;
}

START_TEST(the_middle_of_a_large_value_is_left_out)
{
    static const struct {
        int rank;
        int64_t dims[2];
        size_t max;
        const char *text;
    } rows[] = {
        {1, {8}, 8, "i32[8] [0, 1, 2, 3, 4, 5, 6, 7]"},
        {1, {8}, 7, "i32[8] [0, 1, 2, ..., 5, 6, 7]"},
        {1, {7}, 1, "i32[7] [0, 1, 2, ..., 4, 5, 6]"},
        {1, {6}, 1, "i32[6] [0, 1, 2, 3, 4, 5]"},
        {1, {1000000}, 100, "i32[1000000] [0, 1, 2, ..., 999997, 999998, 999999]"},
        {2, {2, 7}, 3, "i32[2,7] [[0, 1, 2, ..., 4, 5, 6], [7, 8, 9, ..., 11, 12, 13]]"},
        {2, {7, 1}, 6, "i32[7,1] [[0], [1], [2], ..., [4], [5], [6]]"},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        char text[200];
        TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
        count_up(&tensor, rows[i].rank, rows[i].dims);
        troupe_tensor_show(tensor, rows[i].max, text, sizeof(text));
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

START_TEST(a_huge_shape_without_elements_has_a_short_text)
{
    troupe_error err;
    char text[100];
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_new(&tensor, TROUPE_F32, 2, (const int64_t[]){1000000000000, 0}, NULL,
                            &err));
    troupe_tensor_show(tensor, 0, text, sizeof(text));
    ck_assert_str_eq(text, "f32[1000000000000,0] []");
}
END_TEST

/* --- numbers ---------------------------------------------------------------------------------
 */

/* Different bits each time, the same in each run (xorshift). */
static uint64_t next_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The bits come back, but for those of a NaN. */
static bool comes_back(troupe_dtype dtype, const void *bits)
{
    char text[TP_NUMBER_TEXT];
    unsigned char back[8];
    const char *at = text;
    const size_t size = tp_number_show(dtype, bits, text);
    if (size != strlen(text) || size >= sizeof(text)) return false;
    if (tp_number_parse(dtype, &at, back, NULL) != TROUPE_OK || *at) return false;
    return strcmp(text, "nan") == 0 || memcmp(bits, back, troupe_dtype_size(dtype)) == 0;
}

START_TEST(every_number_of_16_bits_or_less_comes_back)
{
    static const troupe_dtype dtypes[] = {TROUPE_F16, TROUPE_BF16, TROUPE_I16,
                                          TROUPE_U16, TROUPE_I8,   TROUPE_U8};
    for (size_t i = 0; i < TP_COUNT(dtypes); i++) {
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            const uint16_t half = (uint16_t)bits;
            if (comes_back(dtypes[i], &half)) continue;
            ck_abort_msg("%s 0x%04x does not", troupe_dtype_name(dtypes[i]), bits);
        }
    }
}
END_TEST

START_TEST(numbers_of_32_and_64_bits_come_back)
{
    static const troupe_dtype dtypes[] = {TROUPE_F32, TROUPE_F64, TROUPE_I32,
                                          TROUPE_U32, TROUPE_I64, TROUPE_U64};
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 50000; i++) {
        const uint64_t bits = next_bits(&state) >> (i % 64);
        for (size_t k = 0; k < TP_COUNT(dtypes); k++) {
            if (comes_back(dtypes[k], &bits)) continue;
            ck_abort_msg("%s 0x%016llx does not", troupe_dtype_name(dtypes[k]),
                         (unsigned long long)bits);
        }
    }
}
END_TEST

/* Its digits without the zeros at both ends. */
static int count_digits(const char *text)
{
    char digits[TP_NUMBER_TEXT];
    int n = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (n == 0 && *text == '0')) continue;
        digits[n++] = *text;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

/* With one digit less, in the form of printf, the value is another. */
START_TEST(no_float_has_a_digit_too_many)
{
    uint64_t state = 1234567;
    char text[TP_NUMBER_TEXT], shorter[64];
    for (int i = 0; i < 50000; i++) {
        float single;
        double value;
        const uint64_t bits = next_bits(&state);
        memcpy(&single, &bits, sizeof(single));
        memcpy(&value, &bits, sizeof(value));
        tp_number_show(TROUPE_F32, &single, text);
        int digits = count_digits(text);
        snprintf(shorter, sizeof(shorter), "%.*e", digits > 1 ? digits - 2 : 0, (double)single);
        if (isfinite(single) && digits > 1)
            ck_assert_msg(strtof(shorter, NULL) != single, "%s", text);
        tp_number_show(TROUPE_F64, &value, text);
        digits = count_digits(text);
        snprintf(shorter, sizeof(shorter), "%.*e", digits > 1 ? digits - 2 : 0, value);
        if (isfinite(value) && digits > 1)
            ck_assert_msg(strtod(shorter, NULL) != value, "%s", text);
    }
}
END_TEST

/* As the C library reads it, in the locale "C". */
START_TEST(a_decimal_is_read_with_correct_rounding)
{
    uint64_t state = 99;
    for (int i = 0; i < 50000; i++) {
        char text[80];
        const int n = 1 + (int)(next_bits(&state) % 20);
        snprintf(text, sizeof(text), "%llu.%0*llue%d",
                 (unsigned long long)(next_bits(&state) % 1000), n,
                 (unsigned long long)next_bits(&state), (int)(next_bits(&state) % 640) - 330);
        double value = 0;
        const char *at = text;
        const double want = strtod(text, NULL);
        const troupe_status status = tp_number_parse(TROUPE_F64, &at, &value, NULL);
        ck_assert_int_eq(status, isinf(want) ? TROUPE_INVALID : TROUPE_OK);
        if (status == TROUPE_OK) ck_assert_msg(memcmp(&value, &want, 8) == 0, "%s", text);
    }
}
END_TEST

/* The middle between 1 and the next double, then far behind it something, or nothing. */
START_TEST(the_last_of_a_thousand_digits_decides)
{
    char text[2000];
    const char *at = text;
    double value = 0;
    strcpy(text, "1.00000000000000011102230246251565404236316680908203125");
    memset(text + strlen(text), '0', 1500); /* over the zero byte, too */
    text[1040] = 0;
    ck_assert_int_eq(tp_number_parse(TROUPE_F64, &at, &value, NULL), TROUPE_OK);
    ck_assert_double_eq(value, 1);
    strcpy(text + 1040, "1");
    at = text;
    ck_assert_int_eq(tp_number_parse(TROUPE_F64, &at, &value, NULL), TROUPE_OK);
    ck_assert_double_eq(value, 1 + 0x1p-52);
}
END_TEST

START_TEST(a_number_ends_where_it_ends)
{
    troupe_error err;
    float value = 7;
    const char *text = "1.5,2";
    ck_ok(tp_number_parse(TROUPE_F32, &text, &value, &err));
    ck_assert_str_eq(text, ",2");
    ck_assert_float_eq(value, 1.5f);
    text = "1.5x";
    ck_fails(tp_number_parse(TROUPE_F32, &text, &value, &err), INVALID, "'1.5x'");
    ck_assert_str_eq(text, "1.5x");
    ck_assert_float_eq(value, 1.5f);
}
END_TEST

/* Without such a locale on the machine nothing is shown here, and the test says so. */
START_TEST(a_decimal_comma_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",
                                        "fr_FR.UTF-8", "fr_FR.utf8", "ru_RU.utf8",
                                        "ps_AF.UTF-8", "ps_AF"};
    bool found = false;
    for (size_t i = 0; i < TP_COUNT(names); i++) {
        if (!setlocale(LC_ALL, names[i])) continue;
        found = true;
        ck_shows("f64[3] [0.1, 1.5e-7, 123456.789]", "f64[3] [0.1, 1.5e-7, 123456.789]");
        ck_shows("f32[2] [0.1, 1.5e-7]", "f32[2] [0.1, 1.5e-7]");
    }
    setlocale(LC_ALL, "C");
    if (!found) fprintf(stderr, "tensor_text: no locale with a decimal comma is installed\n");
}
END_TEST

static TCase *value_case(void)
{
    TCase *t = tcase_create("value");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_value_is_shown_as_it_is_written);
    tcase_add_test(t, many_spellings_are_read);
    tcase_add_loop_test(t, what_is_wrong_is_refused_with_its_byte, 0, WRONG_TEXTS);
    tcase_add_test(t, a_short_text_that_announces_much_gets_no_memory);
    tcase_add_test(t, every_text_that_is_cut_short_is_refused);
    tcase_add_loop_test(t, no_changed_byte_does_harm, 0, (int)TP_COUNT(samples));
    tcase_add_test(t, a_reader_goes_on_behind_the_value);
    tcase_add_test(t, elements_are_read_when_the_type_is_known);
    tcase_add_test(t, without_memory_no_text_is_parsed_and_nothing_leaks);
    tcase_add_test(t, a_value_shows_as_much_as_fits);
    tcase_add_test(t, the_middle_of_a_large_value_is_left_out);
    tcase_add_test(t, a_huge_shape_without_elements_has_a_short_text);
    return t;
}

static TCase *number_case(void)
{
    TCase *t = tcase_create("number");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_number_of_16_bits_or_less_comes_back);
    tcase_add_test(t, numbers_of_32_and_64_bits_come_back);
    tcase_add_test(t, no_float_has_a_digit_too_many);
    tcase_add_test(t, a_decimal_is_read_with_correct_rounding);
    tcase_add_test(t, the_last_of_a_thousand_digits_decides);
    tcase_add_test(t, a_number_ends_where_it_ends);
    tcase_add_test(t, a_decimal_comma_changes_nothing);
    return t;
}

int main(void)
{
    Suite *s = suite_create("tensor_text");
    suite_add_tcase(s, value_case());
    suite_add_tcase(s, number_case());
    return test_run(s);
}
