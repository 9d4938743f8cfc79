/* SPDX-License-Identifier: MIT
 *
 * kernels/convert.h - elements of any fixed-size type to and from the wide types that kernels
 * compute in.
 *
 * A float that does not fit an integer becomes the nearest that does and NaN becomes 0;
 * integers wrap; whatever is not 0, NaN too, is true; what is beyond the largest small float
 * becomes that. `dtype` is any type but string and the complex ones.
 */
#ifndef TP_KERNELS_CONVERT_H
#define TP_KERNELS_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#include "troupe/tensor.h"

/* to[i] = from[i * step] for i in 0..n. Integers beyond a float's digits are rounded. */
void tp_load_f32(troupe_dtype dtype, const void *from, size_t step, size_t n, float *to);
void tp_load_f64(troupe_dtype dtype, const void *from, size_t step, size_t n, double *to);
/* Of integers and bools; u64 keeps its bits. */
void tp_load_i64(troupe_dtype dtype, const void *from, size_t step, size_t n, int64_t *to);

/* to[i * step] = from[i]. */
void tp_store_f32(troupe_dtype dtype, const float *from, size_t n, void *to, size_t step);
void tp_store_f64(troupe_dtype dtype, const double *from, size_t n, void *to, size_t step);
void tp_store_i64(troupe_dtype dtype, const int64_t *from, size_t n, void *to, size_t step);
void tp_store_u64(troupe_dtype dtype, const uint64_t *from, size_t n, void *to, size_t step);

/* Element i of an i32 or i64 tensor's data. */
static inline int64_t tp_index_at(troupe_dtype dtype, const void *data, size_t i)
{
    return dtype == TROUPE_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

#endif
