/* SPDX-License-Identifier: MIT
 *
 * tests/op_values.h - elements of every type as doubles, and random ones.
 */
#ifndef TP_TESTS_OP_VALUES_H
#define TP_TESTS_OP_VALUES_H

#include "tensor/tensor.h"

/* Element i; not of strings. Complex ones get no imaginary part. */
void op_value_put(troupe_dtype dtype, void *data, size_t i, double value);
/* The same way back: the real part of complex ones, the number that a text is. */
double op_case_at(const troupe_tensor *tensor, size_t i);
/* It is complex, and its imaginary part is not 0. */
bool op_value_has_more(const troupe_tensor *tensor, size_t i);
/* Floats, small and complex ones too: there is a NaN. */
bool op_value_is_float(troupe_dtype dtype);
/* Random elements: in [-2,2], or whole ones from 0 to at most 9. */
void op_value_fill(troupe_tensor *tensor, uint64_t *seed);
/* Numbers as texts of many sizes: 7, 07, 007 and so on. */
troupe_status op_value_texts(troupe_tensor **out, const struct tp_shape *shape, uint64_t *seed,
                             troupe_error *err);

#endif
