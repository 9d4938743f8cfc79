/* SPDX-License-Identifier: MIT
 *
 * tests/op_values.c - elements of every type as doubles, and random ones.
 */
#include "tests/op_values.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fail.h"

/* --- random values ------------------------------------------------------------------ */
static uint64_t next(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void op_value_put(troupe_dtype dtype, void *data, size_t i, double value)
{
    switch (dtype) {
    case TROUPE_F32:
        ((float *)data)[i] = (float)value;
        break;
    case TROUPE_F64:
        ((double *)data)[i] = value;
        break;
    case TROUPE_F16:
        ((uint16_t *)data)[i] = tp_f64_to_f16(value);
        break;
    case TROUPE_BF16:
        ((uint16_t *)data)[i] = tp_f64_to_bf16(value);
        break;
    case TROUPE_I8:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    case TROUPE_I16:
        ((int16_t *)data)[i] = (int16_t)value;
        break;
    case TROUPE_I32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case TROUPE_I64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    case TROUPE_U16:
        ((uint16_t *)data)[i] = (uint16_t)value;
        break;
    case TROUPE_U32:
        ((uint32_t *)data)[i] = (uint32_t)value;
        break;
    case TROUPE_U64:
        ((uint64_t *)data)[i] = (uint64_t)value;
        break;
    case TROUPE_C64:
        ((float *)data)[2 * i] = (float)value;
        ((float *)data)[2 * i + 1] = 0;
        break;
    case TROUPE_C128:
        ((double *)data)[2 * i] = value;
        ((double *)data)[2 * i + 1] = 0;
        break;
    default:
        ((uint8_t *)data)[i] = tp_dtype_kind(dtype) == TP_KIND_SMALL
                                   ? tp_f64_to_small(dtype, value, true)
                                   : (uint8_t)value;
        break;
    }
}

double op_case_at(const troupe_tensor *tensor, size_t i)
{
    const void *data = tensor->data;
    switch (tensor->type.dtype) {
    case TROUPE_F32:
        return (double)((const float *)data)[i];
    case TROUPE_F64:
        return ((const double *)data)[i];
    case TROUPE_F16:
        return (double)tp_f16_to_f32(((const uint16_t *)data)[i]);
    case TROUPE_BF16:
        return (double)tp_bf16_to_f32(((const uint16_t *)data)[i]);
    case TROUPE_I8:
        return ((const int8_t *)data)[i];
    case TROUPE_I16:
        return ((const int16_t *)data)[i];
    case TROUPE_I32:
        return ((const int32_t *)data)[i];
    case TROUPE_I64:
        return (double)((const int64_t *)data)[i];
    case TROUPE_U16:
        return ((const uint16_t *)data)[i];
    case TROUPE_U32:
        return ((const uint32_t *)data)[i];
    case TROUPE_U64:
        return (double)((const uint64_t *)data)[i];
    case TROUPE_I4:
    case TROUPE_I2:
        return ((const int8_t *)data)[i];
    case TROUPE_C64:
        return (double)((const float *)data)[2 * i];
    case TROUPE_C128:
        return ((const double *)data)[2 * i];
    case TROUPE_STRING:
        return strtod(troupe_tensor_string(tensor, i, NULL), NULL);
    default:
        break;
    }
    const uint8_t byte = ((const uint8_t *)data)[i];
    const troupe_dtype dtype = tensor->type.dtype;
    const bool small = tp_dtype_kind(dtype) == TP_KIND_SMALL;
    return small ? (double)tp_small_to_f32(dtype, byte) : byte;
}

bool op_value_has_more(const troupe_tensor *tensor, size_t i)
{
    const void *data = tensor->data;
    if (tensor->type.dtype == TROUPE_C64) return ((const float *)data)[2 * i + 1] != 0;
    return tensor->type.dtype == TROUPE_C128 && ((const double *)data)[2 * i + 1] != 0;
}

bool op_value_is_float(troupe_dtype dtype)
{
    const enum tp_dtype_kind kind = tp_dtype_kind(dtype);
    return kind == TP_KIND_FLOAT || kind == TP_KIND_SMALL || kind == TP_KIND_COMPLEX;
}

/* The random values of a type are below that. */
static double limit_of(troupe_dtype dtype)
{
    const unsigned bits = tp_dtype_bits(dtype);
    const bool is_signed = tp_dtype_kind(dtype) == TP_KIND_SIGNED;
    if (bits == 0 || bits >= 8) return 10;
    const double limit = ldexp(1, (int)bits - is_signed);
    return limit < 10 ? limit : 10;
}

void op_value_fill(troupe_tensor *tensor, uint64_t *seed)
{
    const troupe_dtype dtype = tensor->type.dtype;
    for (size_t i = 0; i < tensor->count; i++) {
        const double unit = (double)(next(seed) >> 11) / 9007199254740992.0;
        const double value = dtype == TROUPE_F8E8M0     ? unit * 4
                             : op_value_is_float(dtype) ? unit * 4 - 2
                             : dtype == TROUPE_BOOL     ? unit < 0.5
                                                        : floor(unit * limit_of(dtype));
        op_value_put(dtype, tp_tensor_write(tensor), i, value);
    }
}

troupe_status op_value_texts(troupe_tensor **out, const struct tp_shape *shape, uint64_t *seed,
                             troupe_error *err)
{
    TP_OWNED(tp_strings_fini) struct tp_strings strings = {0};
    const size_t n = tp_shape_count_known(shape);
    TP_TRY(tp_strings_init(&strings, n, err));
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = next(seed);
        tp_text_add(&strings.bytes, "%0*d", (int)(1 + r / 16 % 10), (int)(r % 10));
        TP_TRY(tp_strings_end(&strings, err));
    }
    return tp_strings_take(&strings, shape, out, err);
}
