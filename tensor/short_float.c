/* SPDX-License-Identifier: MIT
 *
 * tensor/short_float.c - the conversions of floats of 16 bits and fewer.
 *
 * They work on bits, so they are the same on every processor and in every rounding mode. From
 * double to 16 bits they go by way of a float that was rounded to odd: its last bit remembers
 * that something was lost, so the second rounding errs nowhere (float has more than two bits
 * more than either).
 */
#include <string.h>

#include "tensor/dtype.h"

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

/* -- 8 bits and fewer ---------------------------------------------------------------------- */

/* How the bits lie, the sign before the exponent before the fraction; and what codes mean,
 * without the sign. Codes of one sign are in the order of their values. */
struct format {
    int fraction, bias;
    uint8_t sign;  /* its bit, or 0 */
    uint8_t most;  /* the largest finite */
    uint8_t over;  /* what is beyond it: infinity, NaN, or again the largest */
    uint8_t nan;   /* `over` too where that is NaN */
    bool one_zero; /* NaN is in the place of -0, and alone */
    bool normal;   /* the least exponent has normal numbers: no 0 */
};

static struct format format_of(troupe_dtype dtype)
{
    switch (dtype) {
    case TROUPE_F8E4M3FN:
        return (struct format){3, 7, 0x80, 0x7e, 0x7f, 0x7f, false, false};
    case TROUPE_F8E4M3FNUZ:
        return (struct format){3, 8, 0x80, 0x7f, 0x80, 0x80, true, false};
    case TROUPE_F8E5M2:
        return (struct format){2, 15, 0x80, 0x7b, 0x7c, 0x7f, false, false};
    case TROUPE_F8E5M2FNUZ:
        return (struct format){2, 16, 0x80, 0x7f, 0x80, 0x80, true, false};
    case TROUPE_F4E2M1:
        return (struct format){1, 1, 0x08, 0x07, 0x07, 0x07, false, false};
    default: /* f8e8m0 */
        return (struct format){0, 127, 0, 0xfe, 0xff, 0xff, false, true};
    }
}

/* 2^exponent, for the exponents that a format may have. */
static double power_of_two(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static double decode(const struct format *f, unsigned code)
{
    const int exponent = (int)(code >> f->fraction);
    const unsigned fraction = code & ((1u << f->fraction) - 1);
    const bool subnormal = exponent == 0 && !f->normal;
    const unsigned whole = subnormal ? fraction : fraction + (1u << f->fraction);
    const int scale = (subnormal ? 1 : exponent) - f->bias - f->fraction;
    return (double)whole * power_of_two(scale);
}

float tp_small_to_f32(troupe_dtype dtype, uint8_t bits)
{
    const struct format f = format_of(dtype);
    const float nan = float_of(0x7fc00000 | (uint32_t)(bits & f.sign & 0x80) << 24);
    if (f.one_zero && bits == f.nan) return nan;
    const unsigned code = bits & (unsigned)~f.sign;
    const bool infinite = code == f.over && f.over != f.nan;
    if (infinite) return float_of(0x7f800000 | (uint32_t)(bits & f.sign) << 24);
    if (!f.one_zero && code > f.most) return nan;
    const float value = (float)decode(&f, code);
    return bits & f.sign ? -value : value;
}

/* value / 2^shift, rounded to nearest, ties to even. */
static uint64_t shift_even64(uint64_t value, int shift)
{
    if (shift > 63) return 0; /* value has 53 bits: less than half of the last place */
    if (shift <= 0) return value << -shift;
    const uint64_t half = UINT64_C(1) << (shift - 1);
    return (value + half - 1 + (value >> shift & 1)) >> shift;
}

/* The code of a finite value above 0, as if there were no largest. */
static uint64_t encode(const struct format *f, uint64_t bits)
{
    const int exponent = (int)(bits >> 52) - 1023; /* a double's subnormals are below all */
    const uint64_t whole = (bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
    const int least = f->normal ? 0 : 1, at = exponent + f->bias;
    if (at < least && f->normal) return 0;     /* f8e8m0's least */
    const int place = at < least ? least : at; /* the exponent of the fraction's last bit */
    const uint64_t rounded = shift_even64(whole, 52 - f->fraction + place - at);
    return rounded + ((uint64_t)place << f->fraction) - (1u << f->fraction);
}

uint8_t tp_f64_to_small(troupe_dtype dtype, double value, bool saturate)
{
    const struct format f = format_of(dtype);
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const unsigned sign = bits >> 63 ? f.sign : 0;
    const bool below = bits >> 63 && !f.sign;
    bits &= UINT64_MAX >> 1;
    const bool is_nan = bits > (uint64_t)0x7ff << 52;
    if (is_nan || (below && bits)) return f.one_zero ? f.nan : (uint8_t)(f.nan | sign);
    uint64_t code = bits >= (uint64_t)0x7ff << 52 ? UINT64_MAX : encode(&f, bits);
    if (code > f.most) code = saturate ? f.most : f.over;
    if (f.one_zero && (code == 0 || code == f.nan)) return (uint8_t)code;
    return (uint8_t)(code | sign);
}
