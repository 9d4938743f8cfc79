/* SPDX-License-Identifier: MIT
 *
 * kernels/dense.c - the matrix product as ops use it.
 */
#include "kernels/dense.h"

#include "kernels/convert.h"

static bool is_half(troupe_dtype dtype)
{
    return dtype == TROUPE_F16 || dtype == TROUPE_BF16;
}

/* b as f32, once. */
static troupe_status keep_widened(struct tp_dense *dense, const void *b, troupe_error *err)
{
    const size_t n = dense->n * dense->k;
    dense->b = tp_alloc_array(n, sizeof(float));
    if (!dense->b) return tp_fail_memory(err, n * sizeof(float));
    tp_load_f32(dense->dtype, b, 1, n, dense->b);
    return TROUPE_OK;
}

troupe_status tp_dense_make(struct tp_dense *dense, const void *b, int threads, bool *keeps,
                            troupe_error *err)
{
    (void)threads;
    const bool half = is_half(dense->dtype);
    dense->result = half ? TROUPE_F32 : dense->dtype;
    dense->own = tp_gemm_find(dense->result);
    if (half && b) TP_TRY(keep_widened(dense, b, err));
    if (half) dense->workspace += tp_room(dense->m * dense->k * sizeof(float));
    if (half && !b) dense->workspace += tp_room(dense->n * dense->k * sizeof(float));
    *keeps = dense->b != NULL;
    return TROUPE_OK;
}

/* a and b as f32, in the workspace where they were not before. */
static void widen(const struct tp_dense *dense, const void **a, const void **b, void *workspace)
{
    float *at = workspace;
    tp_load_f32(dense->dtype, *a, 1, dense->m * dense->k, at);
    *a = at;
    at += tp_room(dense->m * dense->k * sizeof(float)) / sizeof(float);
    if (!dense->b) {
        tp_load_f32(dense->dtype, *b, 1, dense->n * dense->k, at);
        *b = at;
    }
}

troupe_status tp_dense_run(const struct tp_dense *dense, const void *a, const void *b, void *c,
                           void *workspace, struct tp_team *team, troupe_error *err)
{
    (void)team;
    (void)err;
    if (dense->m == 0 || dense->n == 0) return TROUPE_OK; /* the product has no elements */
    if (dense->k == 0) {
        memset(c, 0, dense->m * dense->n * troupe_dtype_size(dense->result));
        return TROUPE_OK; /* sums of nothing */
    }
    if (dense->b) b = dense->b;
    if (is_half(dense->dtype)) widen(dense, &a, &b, workspace);
    const size_t m = dense->m, n = dense->n, k = dense->k;
    const struct tp_matrix left = {a, dense->turned_a ? 1 : k, dense->turned_a ? m : 1};
    const struct tp_matrix right = {b, dense->turned_b ? 1 : n, dense->turned_b ? k : 1};
    dense->own(m, n, k, left, right, c, n);
    return TROUPE_OK;
}

void tp_dense_fini(struct tp_dense *dense)
{
    tp_free(dense->b);
    dense->b = NULL;
}
