/* SPDX-License-Identifier: MIT
 *
 * tensor/dtype.c - element types: names, sizes, and the conversions of the 16-bit floats.
 *
 * The conversions work on bits, so they are the same on every processor and in every rounding
 * mode. From double they go by way of a float that was rounded to odd: its last bit remembers
 * that something was lost, so the second rounding errs nowhere (float has more than two bits
 * more than either).
 */
#include <string.h>

#include "tensor/tensor.h"

const char *troupe_dtype_name(troupe_dtype dtype)
{
    switch (dtype) {
#define X(name, value, text, size)                                                             \
    case TROUPE_##name:                                                                        \
        return text;
        TROUPE_DTYPE_MAP(X)
#undef X
    case TROUPE_DTYPE_NONE:
        break;
    }
    return NULL;
}

size_t troupe_dtype_size(troupe_dtype dtype)
{
    switch (dtype) {
#define X(name, value, text, size)                                                             \
    case TROUPE_##name:                                                                        \
        return size;
        TROUPE_DTYPE_MAP(X)
#undef X
    case TROUPE_DTYPE_NONE:
        break;
    }
    return 0;
}

troupe_dtype troupe_dtype_parse(const char *name)
{
    static const struct {
        const char *text;
        troupe_dtype dtype;
    } names[] = {
#define X(name, value, text, size) {text, TROUPE_##name},
        TROUPE_DTYPE_MAP(X)
#undef X
    };
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].text, name) == 0) return names[i].dtype;
    }
    return TROUPE_DTYPE_NONE;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* value / 2^shift, rounded to nearest, ties to even; 0 < shift < 32. */
static uint32_t shift_even(uint32_t value, int shift)
{
    const uint32_t half = (uint32_t)1 << (shift - 1);
    const uint32_t odd = value >> shift & 1;
    return (value + half - 1 + odd) >> shift;
}

float tp_f16_to_f32(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t exponent = bits >> 10 & 0x1f;
    const uint32_t fraction = bits & 0x3ff;
    if (exponent == 0x1f) return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    const float value = (float)fraction * 0x1p-24f; /* zero or subnormal: exact */
    return sign ? -value : value;
}

uint16_t tp_f32_to_f16(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff));
    if (size >= 0x47800000) return (uint16_t)(sign | 0x7c00);
    if (size >= 0x38800000) return (uint16_t)(sign | shift_even(size - 0x38000000, 13));
    if (size < 0x33000000) return (uint16_t)sign; /* below half of the least subnormal */
    const uint32_t fraction = (size & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | shift_even(fraction, 126 - (int)(size >> 23)));
}

float tp_bf16_to_f32(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t tp_f32_to_bf16(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)shift_even(bits, 16);
}

/* The float next to value in either direction that has an odd last bit, or value itself. */
static float round_to_odd(double value)
{
    const float near = (float)value;
    uint32_t bits = bits_of(near);
    if ((double)near == value || value != value || (bits & 1)) return near;
    /* The neighbour on value's other side: floats of one sign are in the order of their bits.
     */
    const double size = value < 0 ? -value : value;
    const double near_size = near < 0 ? -(double)near : (double)near;
    bits = near_size > size ? bits - 1 : bits + 1;
    return float_of(bits);
}

uint16_t tp_f64_to_f16(double value)
{
    return tp_f32_to_f16(round_to_odd(value));
}

uint16_t tp_f64_to_bf16(double value)
{
    return tp_f32_to_bf16(round_to_odd(value));
}
