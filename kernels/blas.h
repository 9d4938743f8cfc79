/* SPDX-License-Identifier: MIT
 *
 * kernels/blas.h - the f32 matrix product of OpenBLAS's serial build, opened when first needed.
 */
#ifndef TP_KERNELS_BLAS_H
#define TP_KERNELS_BLAS_H

#include "kernels/gemm.h"

/* The product, for matrices one of whose steps is 1; NULL when the library is not there. */
tp_gemm_fn *tp_blas_gemm(void);

#endif
