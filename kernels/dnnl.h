/* SPDX-License-Identifier: MIT
 *
 * kernels/dnnl.h - oneDNN's matrix product and convolution, opened when first needed.
 *
 * The library is not linked: it costs time and memory that small functions never need. Each of
 * its calls runs on the calling thread alone; what is to run on several threads is cut into
 * parts by the caller. Everything here is f32.
 */
#ifndef TP_KERNELS_DNNL_H
#define TP_KERNELS_DNNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

struct tp_conv;

/* One prepared computation: y from x, the weights w and b (NULL: none). Immutable, so that any
 * number of threads may run it. */
struct tp_dnnl;

/* y [m,n] = x [m,k] w [k,n]; turned: stored the other way round. w is NULL when it is not
 * known. TROUPE_PENDING: the library is not there or has no way to do it. */
troupe_status tp_dnnl_matmul(struct tp_dnnl **out, size_t m, size_t n, size_t k, bool turned_x,
                             bool turned_w, const float *w,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* All is stored in ONNX's order. */
troupe_status tp_dnnl_conv(struct tp_dnnl **out, const struct tp_conv *conv, const float *w,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* True when w was known and what is needed of it is kept. */
bool tp_dnnl_keeps(const struct tp_dnnl *dnnl);
/* Bytes that a run needs, a multiple of 64. */
size_t tp_dnnl_workspace(const struct tp_dnnl *dnnl);
troupe_status tp_dnnl_run(const struct tp_dnnl *dnnl, const float *x, const float *w,
                          const float *b, float *y, void *workspace,
                          troupe_error *err) TROUPE_MUST_CHECK;
void tp_dnnl_destroy(struct tp_dnnl **dnnl);

#endif
