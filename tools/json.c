/* SPDX-License-Identifier: MIT
 *
 * tools/json.c - texts and tensors as JSON.
 */
#include "tools/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/say.h"

/* Bytes of the UTF-8 sequence at text, of which size are left; 0 when it is none. */
static size_t sequence(const unsigned char *text, size_t size)
{
    const unsigned char c = text[0];
    const size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : 4;
    if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || n > size) return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xf0 && text[1] < 0x90)) return 0; /* too long */
    if ((c == 0xed && text[1] > 0x9f) || (c == 0xf4 && text[1] > 0x8f))
        return 0; /* no scalar */
    return n;
}

json_t *tp_json_name(const char *text, size_t size)
{
    json_t *string = json_stringn(text, size);
    if (string) return string;
    char *clean = malloc(3 * size + 1);
    size_t n = 0;
    for (size_t i = 0; clean && i < size;) {
        const size_t good = sequence((const unsigned char *)text + i, size - i);
        memcpy(clean + n, good ? text + i : "\xef\xbf\xbd", good ? good : 3);
        n += good ? good : 3;
        i += good ? good : 1;
    }
    if (clean) string = json_stringn(clean, n);
    free(clean);
    return string;
}

static json_t *real(double value)
{
    if (isfinite(value)) return json_real(value);
    return json_string(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static json_t *large(uint64_t value)
{
    char text[24];
    if (value <= INT64_MAX) return json_integer((json_int_t)value);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return json_string(text);
}

static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 0x1f;
    const double fraction = bits & 0x3ff;
    double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (exponent == 0x1f) value = fraction > 0 ? (double)NAN : (double)INFINITY;
    return bits & 0x8000 ? -value : value;
}

static double brain(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return (double)value;
}

static json_t *string_element(const troupe_tensor *tensor, size_t i)
{
    size_t size = 0;
    const char *text = troupe_tensor_string(tensor, i, &size);
    return text ? tp_json_name(text, size) : NULL;
}

/* Bits of the fraction of a float of a byte or less, and the exponent that stands for 1. */
static int fraction_of(troupe_dtype dtype, int *one)
{
    switch (dtype) {
    case TROUPE_F8E4M3FN:
        *one = 7;
        return 3;
    case TROUPE_F8E4M3FNUZ:
        *one = 8;
        return 3;
    case TROUPE_F8E5M2:
        *one = 15;
        return 2;
    case TROUPE_F8E5M2FNUZ:
        *one = 16;
        return 2;
    case TROUPE_F4E2M1:
        *one = 1;
        return 1;
    default: /* f8e8m0 */
        *one = 127;
        return 0;
    }
}

/* What such bits are, as a number by their definition. */
static double small_value(troupe_dtype dtype, unsigned bits)
{
    int one;
    const int fraction = fraction_of(dtype, &one);
    const unsigned sign = dtype == TROUPE_F8E8M0 ? 0 : dtype == TROUPE_F4E2M1 ? 0x08 : 0x80;
    const int exponent = (int)((bits & ~sign) >> fraction);
    const double rest = bits & ((1u << fraction) - 1), whole = ldexp(1, fraction);
    const bool normal = exponent > 0 || dtype == TROUPE_F8E8M0;
    const double value = normal ? ldexp(whole + rest, exponent - one - fraction)
                                : ldexp(rest, 1 - one - fraction);
    return bits & sign ? -value : value;
}

/* The library tells infinities and NaN. */
static json_t *small(troupe_dtype dtype, const uint8_t *bits)
{
    troupe_tensor *one = NULL;
    char text[64] = "";
    if (troupe_tensor_new(&one, dtype, 0, NULL, bits, NULL) < 0) return NULL;
    troupe_tensor_show(one, 0, text, sizeof(text));
    troupe_tensor_release(&one);
    const double shown = strtod(strchr(text, ' ') + 1, NULL);
    return real(isfinite(shown) ? small_value(dtype, *bits) : shown);
}

/* [real, imaginary] */
static json_t *complex_pair(double re, double im)
{
    return json_pack("[oo]", real(re), real(im));
}

static json_t *element(const troupe_tensor *tensor, size_t i)
{
    const void *data = troupe_tensor_data(tensor);
    switch (troupe_tensor_dtype(tensor)) {
    case TROUPE_F32:
        return real((double)((const float *)data)[i]);
    case TROUPE_F64:
        return real(((const double *)data)[i]);
    case TROUPE_F16:
        return real(half(((const uint16_t *)data)[i]));
    case TROUPE_BF16:
        return real(brain(((const uint16_t *)data)[i]));
    case TROUPE_C64:
        return complex_pair((double)((const float *)data)[2 * i],
                            (double)((const float *)data)[2 * i + 1]);
    case TROUPE_C128:
        return complex_pair(((const double *)data)[2 * i], ((const double *)data)[2 * i + 1]);
    case TROUPE_F8E4M3FN:
    case TROUPE_F8E4M3FNUZ:
    case TROUPE_F8E5M2:
    case TROUPE_F8E5M2FNUZ:
    case TROUPE_F8E8M0:
    case TROUPE_F4E2M1:
        return small(troupe_tensor_dtype(tensor), (const uint8_t *)data + i);
    case TROUPE_I2:
    case TROUPE_I4:
    case TROUPE_I8:
        return json_integer(((const int8_t *)data)[i]);
    case TROUPE_I16:
        return json_integer(((const int16_t *)data)[i]);
    case TROUPE_I32:
        return json_integer(((const int32_t *)data)[i]);
    case TROUPE_I64:
        return json_integer(((const int64_t *)data)[i]);
    case TROUPE_U2:
    case TROUPE_U4:
    case TROUPE_U8:
        return json_integer(((const uint8_t *)data)[i]);
    case TROUPE_U16:
        return json_integer(((const uint16_t *)data)[i]);
    case TROUPE_U32:
        return json_integer(((const uint32_t *)data)[i]);
    case TROUPE_U64:
        return large(((const uint64_t *)data)[i]);
    case TROUPE_BOOL:
        return json_boolean(((const uint8_t *)data)[i]);
    case TROUPE_STRING:
        return string_element(tensor, i);
    case TROUPE_DTYPE_NONE:
        break;
    }
    return json_null();
}

/* The part of the tensor at dimension d that begins with element *at; *at moves behind it. */
static json_t *part(const troupe_tensor *tensor, int d, size_t *at)
{
    if (d == troupe_tensor_rank(tensor)) return element(tensor, (*at)++);
    json_t *list = json_array();
    for (int64_t i = 0; list && i < troupe_tensor_dims(tensor)[d]; i++) {
        if (json_array_append_new(list, part(tensor, d + 1, at)) == 0) continue;
        json_decref(list);
        list = NULL;
    }
    return list;
}

json_t *tp_json_elements(const troupe_tensor *tensor)
{
    size_t at = 0;
    if (troupe_tensor_count(tensor) == 0) return json_array(); /* however many lists it is */
    return part(tensor, 0, &at);
}

int tp_json_print(json_t **root)
{
    json_t *printed = *root;
    *root = NULL;
    if (!printed) return tp_say_memory();
    (void)json_dumpf(printed, stdout, 0);
    putchar('\n');
    json_decref(printed);
    return TP_EXIT_OK; /* what could not be written shows when standard output is flushed */
}
