/* SPDX-License-Identifier: MIT
 *
 * tensor/number.c - one element as text and back, the same in every locale.
 *
 * Between a float and its text lies a struct decimal. The C library makes one from the other
 * with correct rounding; only its decimal point depends on the locale, so it is stepped over in
 * what is printed, and what is to be read is given to it as an integer and a power of ten.
 */
#include "tensor/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "tensor/tensor.h"

#define MAX_DIGITS   800 /* more than the 768 that can decide how a double is rounded */
#define MAX_EXPONENT 100000
#define PART_TEXT    32 /* room for every number but complex ones */
#define QUOTED       40 /* bytes of a bad number that a message repeats */

/* 0.DIGITS times ten to the power of `exponent`; the first digit is not 0 unless it is the
 * only. */
struct decimal {
    bool negative;
    int64_t exponent;
    int n;
    char digits[MAX_DIGITS + 1]; /* one more, to remember that something not 0 was cut */
};

struct format {
    int enough;      /* digits that always give the same bits */
    int sure;        /* texts of so many digits all survive the way there and back */
    double smallest; /* of those for which that holds: the least normal one */
};

static struct format format_of(troupe_dtype dtype)
{
    switch (dtype) {
    case TROUPE_F64:
        return (struct format){17, 15, 0x1p-1022};
    case TROUPE_F16:
        return (struct format){5, 3, 0x1p-14};
    case TROUPE_BF16:
        return (struct format){4, 2, 0x1p-126};
    case TROUPE_F32:
        return (struct format){9, 6, 0x1p-126};
    default: /* of a byte or less: four bits of fraction at most, with the first */
        return (struct format){3, 1, 0};
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static double load_float(troupe_dtype dtype, const void *element)
{
    uint16_t half;
    float single;
    double value;
    switch (dtype) {
    case TROUPE_F64:
        memcpy(&value, element, sizeof(value));
        return value;
    case TROUPE_F32:
        memcpy(&single, element, sizeof(single));
        return single;
    case TROUPE_F16:
        memcpy(&half, element, sizeof(half));
        return tp_f16_to_f32(half);
    case TROUPE_BF16:
        memcpy(&half, element, sizeof(half));
        return tp_bf16_to_f32(half);
    default:
        return tp_small_to_f32(dtype, *(const uint8_t *)element);
    }
}

/* Of 16 bits and fewer. */
static void store_short(troupe_dtype dtype, double value, void *element)
{
    if (tp_dtype_kind(dtype) == TP_KIND_SMALL) {
        *(uint8_t *)element = tp_f64_to_small(dtype, value, false);
        return;
    }
    const uint16_t half = dtype == TROUPE_F16 ? tp_f64_to_f16(value) : tp_f64_to_bf16(value);
    memcpy(element, &half, sizeof(half));
}

/* The float nearest to a decimal. Half of a double's digits more than a short float has decide
 * its rounding, so going there by way of a double errs only for a text within 2^-53 of a tie.
 */
static void store_decimal(troupe_dtype dtype, const struct decimal *d, void *element)
{
    char text[MAX_DIGITS + 32];
    snprintf(text, sizeof(text), "%s%.*se%" PRId64, d->negative ? "-" : "", d->n, d->digits,
             d->exponent - d->n);
    if (dtype == TROUPE_F32) {
        const float value = strtof(text, NULL);
        memcpy(element, &value, sizeof(value));
        return;
    }
    const double value = strtod(text, NULL);
    if (dtype == TROUPE_F64) {
        memcpy(element, &value, sizeof(value));
    } else {
        store_short(dtype, value, element);
    }
}

/* The first n digits of a finite value, rounded, without zeros at their end. */
static void take_digits(double value, int n, struct decimal *d)
{
    char text[64];
    snprintf(text, sizeof(text), "%.*e", n - 1, value);
    const char *at = text;
    d->negative = *at == '-';
    for (d->n = 0; *at != 'e'; at++) {
        if (is_digit(*at)) d->digits[d->n++] = *at; /* not the sign, not the decimal point */
    }
    d->exponent = strtol(at + 1, NULL, 10) + 1;
    while (d->n > 1 && d->digits[d->n - 1] == '0')
        d->n--;
}

static void find_shortest(troupe_dtype dtype, const void *element, struct decimal *d)
{
    const struct format format = format_of(dtype);
    const double value = load_float(dtype, element);
    unsigned char back[8];
    int n = fabs(value) < format.smallest ? 1 : format.sure;
    for (;; n++) {
        take_digits(value, n, d);
        if (n == format.enough) return;
        store_decimal(dtype, d, back);
        if (memcmp(back, element, troupe_dtype_size(dtype)) == 0) return;
    }
}

/* 0.0012, 12, 1200, 1.2e30: without an exponent where that takes few zeros. */
static size_t lay_out(const struct decimal *d, char text[PART_TEXT])
{
    const char *sign = d->negative ? "-" : "";
    const int point = (int)d->exponent;
    int n;
    if (point <= -4 || point > 17) {
        n = snprintf(text, PART_TEXT, "%s%c%s%.*se%d", sign, d->digits[0], d->n > 1 ? "." : "",
                     d->n - 1, d->digits + 1, point - 1);
    } else if (point <= 0) {
        n = snprintf(text, PART_TEXT, "%s0.%.*s%.*s", sign, -point, "000", d->n, d->digits);
    } else if (point >= d->n) {
        n = snprintf(text, PART_TEXT, "%s%.*s%.*s", sign, d->n, d->digits, point - d->n,
                     "0000000000000000");
    } else {
        n = snprintf(text, PART_TEXT, "%s%.*s.%.*s", sign, point, d->digits, d->n - point,
                     d->digits + point);
    }
    return (size_t)n;
}

static size_t put_word(const char *word, char text[PART_TEXT])
{
    const size_t size = strlen(word);
    memcpy(text, word, size + 1);
    return size;
}

static size_t show_float(troupe_dtype dtype, const void *element, char text[PART_TEXT])
{
    struct decimal d;
    const double value = load_float(dtype, element);
    if (isnan(value)) return put_word("nan", text);
    if (isinf(value)) return put_word(value < 0 ? "-inf" : "inf", text);
    if (value == 0) return put_word(signbit(value) ? "-0" : "0", text);
    find_shortest(dtype, element, &d);
    return lay_out(&d, text);
}

static bool is_signed(troupe_dtype dtype)
{
    return tp_dtype_kind(dtype) == TP_KIND_SIGNED;
}

/* Any integer, sign-extended to 64 bits. */
static uint64_t load_int(troupe_dtype dtype, const void *element)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } value;
    const size_t size = troupe_dtype_size(dtype);
    memcpy(&value, element, size);
    if (is_signed(dtype)) {
        return (uint64_t)(size == 1   ? value.i8
                          : size == 2 ? value.i16
                          : size == 4 ? value.i32
                                      : value.i64);
    }
    return size == 1 ? value.u8 : size == 2 ? value.u16 : size == 4 ? value.u32 : value.u64;
}

/* The low bytes of value; it fits. */
static void store_int(troupe_dtype dtype, uint64_t value, void *element)
{
    const uint8_t u8 = (uint8_t)value;
    const uint16_t u16 = (uint16_t)value;
    const uint32_t u32 = (uint32_t)value;
    const size_t size = troupe_dtype_size(dtype);
    const void *from = size == 1   ? (const void *)&u8
                       : size == 2 ? (const void *)&u16
                       : size == 4 ? (const void *)&u32
                                   : (const void *)&value;
    memcpy(element, from, size);
}

static troupe_dtype part_of(troupe_dtype dtype)
{
    return dtype == TROUPE_C64 ? TROUPE_F32 : TROUPE_F64;
}

/* "(1.5,-2)". */
static size_t show_complex(troupe_dtype dtype, const char *element, char text[TP_NUMBER_TEXT])
{
    const troupe_dtype part = part_of(dtype);
    size_t n = 0;
    text[n++] = '(';
    n += show_float(part, element, text + n);
    text[n++] = ',';
    n += show_float(part, element + troupe_dtype_size(part), text + n);
    text[n++] = ')';
    text[n] = 0;
    return n;
}

size_t tp_number_show(troupe_dtype dtype, const void *element, char text[TP_NUMBER_TEXT])
{
    switch (tp_dtype_kind(dtype)) {
    case TP_KIND_FLOAT:
    case TP_KIND_SMALL:
        return show_float(dtype, element, text);
    case TP_KIND_COMPLEX:
        return show_complex(dtype, element, text);
    case TP_KIND_SIGNED:
        return (size_t)snprintf(text, PART_TEXT, "%" PRId64, (int64_t)load_int(dtype, element));
    case TP_KIND_UNSIGNED:
        return (size_t)snprintf(text, PART_TEXT, "%" PRIu64, load_int(dtype, element));
    case TP_KIND_BOOL:
        return put_word(load_int(dtype, element) ? "true" : "false", text);
    case TP_KIND_STRING:
    case TP_KIND_NONE:
        break;
    }
    return put_word("", text);
}

static bool in_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.';
}

/* The sign and the letters, digits and points at text, or else its first byte. */
static int word_size(const char *text)
{
    int n = *text == '-' || *text == '+';
    while (n < QUOTED && in_word(text[n]))
        n++;
    return n == 0 && *text ? 1 : n;
}

static troupe_status fail_number(troupe_dtype dtype, const char *text, const char *what,
                                 troupe_error *err)
{
    if (!*text) return tp_fail(err, TROUPE_INVALID, "the text ends where a number should be");
    return tp_fail(err, TROUPE_INVALID, "'%.*s' %s %s", word_size(text), text, what,
                   troupe_dtype_name(dtype));
}

/* Steps over `word` when it is there and ends there. */
static bool take_word(const char **text, const char *word)
{
    const size_t size = strlen(word);
    if (strncmp(*text, word, size) != 0 || in_word((*text)[size])) return false;
    *text += size;
    return true;
}

static void add_digit(struct decimal *d, char digit)
{
    if (d->n == 1 && d->digits[0] == '0') d->n = 0;
    if (d->n < MAX_DIGITS) {
        d->digits[d->n++] = digit;
    } else if (digit != '0') {
        d->digits[MAX_DIGITS] = '1';
        d->n = MAX_DIGITS + 1;
    }
}

/* Digits with at most one point among them; false when there is no digit. */
static bool scan_digits(const char **text, struct decimal *d)
{
    const char *at = *text;
    bool any = false, behind = false, leading = true;
    for (; is_digit(*at) || (*at == '.' && !behind); at++) {
        if (*at == '.') {
            behind = true;
            continue;
        }
        any = true;
        leading = leading && *at == '0';
        if (!leading) add_digit(d, *at);
        d->exponent += leading ? -behind : !behind;
    }
    *text = at;
    return any;
}

/* "e-12"; false when there are no digits behind an e. */
static bool scan_exponent(const char **text, struct decimal *d)
{
    const char *at = *text;
    if (*at != 'e' && *at != 'E') return true;
    at++;
    const bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (!is_digit(*at)) return false;
    int64_t exponent = 0;
    for (; is_digit(*at); at++) {
        if (exponent < INT64_MAX / 100) exponent = exponent * 10 + (*at - '0');
    }
    d->exponent += negative ? -exponent : exponent;
    *text = at;
    return true;
}

static bool scan_decimal(const char **text, struct decimal *d)
{
    const char *at = *text;
    *d = (struct decimal){.negative = *at == '-', .n = 1, .digits = "0"};
    if (*at == '-' || *at == '+') at++;
    if (!scan_digits(&at, d) || !scan_exponent(&at, d) || in_word(*at)) return false;
    if (d->exponent > MAX_EXPONENT) d->exponent = MAX_EXPONENT;
    if (d->exponent < -MAX_EXPONENT) d->exponent = -MAX_EXPONENT;
    *text = at;
    return true;
}

static void store_special(troupe_dtype dtype, double value, void *element)
{
    const float single = (float)value;
    if (dtype == TROUPE_F32) {
        memcpy(element, &single, sizeof(single));
    } else if (dtype == TROUPE_F64) {
        memcpy(element, &value, sizeof(value));
    } else {
        store_short(dtype, value, element);
    }
}

/* Small floats lack infinity, some of them NaN too. */
static bool has_special(troupe_dtype dtype, double value)
{
    if (tp_dtype_kind(dtype) != TP_KIND_SMALL) return true;
    const double back = tp_small_to_f32(dtype, tp_f64_to_small(dtype, value, false));
    return isnan(value) ? isnan(back) : back == value;
}

static bool parse_special(troupe_dtype dtype, const char **text, void *element)
{
    const char *at = *text;
    double value = INFINITY;
    if (take_word(&at, "nan")) {
        value = NAN;
    } else if (take_word(&at, "-inf")) {
        value = -INFINITY;
    } else if (!take_word(&at, "inf") && !take_word(&at, "+inf")) {
        return false;
    }
    if (!has_special(dtype, value)) return false;
    store_special(dtype, value, element);
    *text = at;
    return true;
}

/* Beyond half the way from the largest to what would follow it. f4e2m1 has no bits for that, so
 * what was stored does not tell. */
static bool is_beyond(troupe_dtype dtype, const struct decimal *d, const void *stored)
{
    double value;
    if (dtype != TROUPE_F4E2M1) return !isfinite(load_float(dtype, stored));
    store_decimal(TROUPE_F64, d, &value);
    return fabs(value) >= 7;
}

static troupe_status parse_float(troupe_dtype dtype, const char **text, void *element,
                                 troupe_error *err)
{
    struct decimal d;
    unsigned char stored[8];
    const char *at = *text;
    if (parse_special(dtype, text, element)) return TROUPE_OK;
    if (!scan_decimal(&at, &d))
        return fail_number(dtype, *text, "is not a number of type", err);
    store_decimal(dtype, &d, stored);
    if (is_beyond(dtype, &d, stored)) return fail_number(dtype, *text, "does not fit", err);
    memcpy(element, stored, troupe_dtype_size(dtype));
    *text = at;
    return TROUPE_OK;
}

/* Digits up to UINT64_MAX; false when there are none, or more follows; *fits says whether they
 * do. */
static bool scan_magnitude(const char **text, uint64_t *out, bool *fits)
{
    const char *at = *text;
    uint64_t value = 0;
    *fits = true;
    for (; is_digit(*at); at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            *fits = false;
        }
    }
    if (at == *text || in_word(*at)) return false;
    *text = at;
    *out = value;
    return true;
}

static bool magnitude_fits(troupe_dtype dtype, bool negative, uint64_t value)
{
    const unsigned bits = tp_dtype_bits(dtype);
    if (!is_signed(dtype)) return negative ? value == 0 : bits == 64 || value >> bits == 0;
    const uint64_t limit = (uint64_t)1 << (bits - 1);
    return negative ? value <= limit : value < limit;
}

static troupe_status parse_int(troupe_dtype dtype, const char **text, void *element,
                               troupe_error *err)
{
    const char *at = *text;
    const bool negative = *at == '-';
    uint64_t value;
    bool fits;
    if (*at == '-' || *at == '+') at++;
    if (!scan_magnitude(&at, &value, &fits)) {
        return fail_number(dtype, *text, "is not a number of type", err);
    }
    if (!fits || !magnitude_fits(dtype, negative, value)) {
        return fail_number(dtype, *text, "does not fit", err);
    }
    store_int(dtype, negative ? 0 - value : value, element);
    *text = at;
    return TROUPE_OK;
}

static troupe_status parse_bool(const char **text, void *element, troupe_error *err)
{
    const bool yes = take_word(text, "true");
    if (!yes && !take_word(text, "false")) {
        return fail_number(TROUPE_BOOL, *text, "is neither true nor false, so no", err);
    }
    store_int(TROUPE_BOOL, yes, element);
    return TROUPE_OK;
}

static bool take_mark(const char **text, char mark)
{
    *text += strspn(*text, " \t\r\n");
    if (**text != mark) return false;
    ++*text;
    return true;
}

static troupe_status parse_complex(troupe_dtype dtype, const char **text, void *element,
                                   troupe_error *err)
{
    const troupe_dtype part = part_of(dtype);
    const size_t size = troupe_dtype_size(part);
    static const char marks[] = "(,)";
    char stored[16];
    const char *at = *text;
    for (size_t i = 0; i < 3; i++) {
        if (!take_mark(&at, marks[i]))
            return fail_number(dtype, *text, "is not (real,imaginary), so no", err);
        if (i < 2) at += strspn(at, " \t\r\n");
        const troupe_status status =
            i < 2 ? parse_float(part, &at, stored + i * size, err) : TROUPE_OK;
        if (status < 0) *text = at;
        TP_TRY(status);
    }
    memcpy(element, stored, 2 * size);
    *text = at;
    return TROUPE_OK;
}

troupe_status tp_number_parse(troupe_dtype dtype, const char **text, void *element,
                              troupe_error *err)
{
    switch (tp_dtype_kind(dtype)) {
    case TP_KIND_FLOAT:
    case TP_KIND_SMALL:
        return parse_float(dtype, text, element, err);
    case TP_KIND_COMPLEX:
        return parse_complex(dtype, text, element, err);
    case TP_KIND_SIGNED:
    case TP_KIND_UNSIGNED:
        return parse_int(dtype, text, element, err);
    case TP_KIND_BOOL:
        return parse_bool(text, element, err);
    case TP_KIND_STRING:
    case TP_KIND_NONE:
        break;
    }
    return tp_fail(err, TROUPE_INVALID, "%d is no type of numbers", (int)dtype);
}
