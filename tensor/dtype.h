/* SPDX-License-Identifier: MIT
 *
 * tensor/dtype.h - what is true of each element type, and the conversions of the short floats.
 *
 * Code that has to treat element types differently asks for their kind, in a switch over the enum
 * without a default, or has a table of TP_DTYPES rows: so a type that is added to
 * TROUPE_DTYPE_MAP is missed by the compiler or by tests/test_tensor_types.c wherever it is
 * forgotten.
 */
#ifndef TP_TENSOR_DTYPE_H
#define TP_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/tensor.h"

#define X(name, value, text, size) +1
enum { TP_DTYPES = 1 TROUPE_DTYPE_MAP(X) }; /* the size of a table by element type */
#undef X

enum tp_dtype_kind {
    TP_KIND_NONE,   /* no element type */
    TP_KIND_FLOAT,  /* f32, f64, f16, bf16: what is computed with */
    TP_KIND_SMALL,  /* floats of a byte or less: stored, and cast to and from */
    TP_KIND_SIGNED, /* integers, those of 4 and 2 bits too */
    TP_KIND_UNSIGNED,
    TP_KIND_BOOL,
    TP_KIND_COMPLEX,
    TP_KIND_STRING,
};

enum tp_dtype_kind tp_dtype_kind(troupe_dtype dtype);
/* Bits of one element that mean something: 4 for i4, 1 for bool, 64 for c64; 0 for strings. */
unsigned tp_dtype_bits(troupe_dtype dtype);
/* Bytes that stand or are turned round together: a part of a complex number, else the element. */
size_t tp_dtype_unit(troupe_dtype dtype);
/* Bytes of one element in a buffer; for strings those of a struct tp_string. */
size_t tp_element_size(troupe_dtype dtype);

/* INVALID, naming the element, unless each of the n elements is one of its type: where not every
 * pattern of bits is. What makes a tensor of bytes from outside asks this. */
troupe_status tp_elements_check(troupe_dtype dtype, const void *data, size_t n,
                                troupe_error *err) TROUPE_MUST_CHECK;

/* Elements of less than a byte as ONNX packs them: the first in the lowest bits, the bits that
 * are left over in the last byte anything. */
size_t tp_packed_size(troupe_dtype dtype, size_t n);
void tp_unpack(troupe_dtype dtype, const void *packed, size_t n, void *out);

/* IEEE half and bfloat16, round to nearest even. */
float tp_f16_to_f32(uint16_t bits);
uint16_t tp_f32_to_f16(float value);
float tp_bf16_to_f32(uint16_t bits);
uint16_t tp_f32_to_bf16(float value);
/* Rounded once, not by way of float. */
uint16_t tp_f64_to_f16(double value);
uint16_t tp_f64_to_bf16(double value);

/* The floats of TP_KIND_SMALL. To nearest even; what is beyond the largest, infinity too, becomes
 * the largest when `saturate`, else infinity, or NaN where there is none, or the largest where
 * there is no NaN either: f4e2m1 has neither, and the largest for NaN too. f8e8m0 has no sign,
 * no fraction and no 0: of two that are as near the upper, for what is below its least its least,
 * below 0 NaN. */
float tp_small_to_f32(troupe_dtype dtype, uint8_t bits);
uint8_t tp_f64_to_small(troupe_dtype dtype, double value, bool saturate);

#endif
