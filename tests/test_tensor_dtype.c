/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor_dtype.c - element types, 16-bit floats, and UTF-8.
 */
#include <math.h>
#include <stdlib.h>

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

int main(void)
{
    Suite *s = suite_create("tensor/dtype");
    suite_add_tcase(s, dtype_case());
    return test_run(s);
}
