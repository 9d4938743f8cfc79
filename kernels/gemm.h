/* SPDX-License-Identifier: MIT
 *
 * kernels/gemm.h - our own product of two matrices, for sizes and types that no library is
 * worth.
 */
#ifndef TP_KERNELS_GEMM_H
#define TP_KERNELS_GEMM_H

#include <stddef.h>

#include "troupe/tensor.h"

/* A matrix in memory: elements from one to the next along a row and along a column. */
struct tp_matrix {
    const void *data;
    size_t row, column; /* element (i, j) is data[i * row + j * column] */
};

/* c[i * c_row + j] = the sum over p < k of a(i, p) b(p, j), for i < m and j < n. An element is
 * summed in the order of p whatever m and n are; integers wrap. c lies apart from a and b. */
typedef void tp_gemm_fn(size_t m, size_t n, size_t k, struct tp_matrix a, struct tp_matrix b,
                        void *c, size_t c_row);

/* For f32, f64, i32, i64, u32 and u64; NULL for other types. The best for this processor. */
tp_gemm_fn *tp_gemm_find(troupe_dtype dtype);
/* The one for all processors. */
tp_gemm_fn *tp_gemm_plain(troupe_dtype dtype);

#endif
