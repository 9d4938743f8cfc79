/* SPDX-License-Identifier: MIT
 *
 * kernels/dense.c - the matrix product as ops use it.
 *
 * f32 products that are large enough go to oneDNN, or without it to OpenBLAS; the rest is our
 * own. The setting TROUPE_DENSE=own, or blas, leaves out those that stand before it.
 */
#include "kernels/dense.h"

#include <stdlib.h>

#include "kernels/blas.h"
#include "kernels/convert.h"

/* The most preferred way that the setting leaves; not one of them: it is unknown. */
static size_t most_allowed(const char *set)
{
    static const char *const names[] = {"own", "blas", "dnnl"};
    size_t i = 0;
    if (!set || !*set) return TP_DENSE_DNNL;
    while (i < TP_COUNT(names) && strcmp(set, names[i]) != 0)
        i++;
    return i;
}

bool tp_dense_allows(enum tp_dense_way way)
{
    return (size_t)way <= most_allowed(getenv("TROUPE_DENSE"));
}

troupe_status tp_dense_check(troupe_error *err)
{
    const char *set = getenv("TROUPE_DENSE");
    if (most_allowed(set) <= TP_DENSE_DNNL) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "TROUPE_DENSE is '%s', not own, blas or dnnl", set);
}

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

/* b, which is turned, the other way round, once. Our own product would do so in each run. */
static troupe_status keep_turned(struct tp_dense *dense, const char *b, troupe_error *err)
{
    const size_t n = dense->n, k = dense->k, size = troupe_dtype_size(dense->result);
    char *turned = tp_alloc_array(n * k, size);
    if (!turned) return tp_fail_memory(err, n * k * size);
    for (size_t j = 0; j < n; j++)
        for (size_t p = 0; p < k; p++)
            memcpy(turned + (p * n + j) * size, b + (j * k + p) * size, size);
    tp_free(dense->b);
    dense->b = turned;
    dense->turned_b = false;
    return TROUPE_OK;
}

/* oneDNN's or OpenBLAS's product when it is worth it, else our own stays. */
static troupe_status choose(struct tp_dense *dense, const float *b, int threads,
                            troupe_error *err)
{
    const double size = (double)dense->m * (double)dense->n * (double)dense->k;
    if (dense->result != TROUPE_F32 || size < TP_DENSE_WORTH) return TROUPE_OK; /* our own */
    if (tp_dense_allows(TP_DENSE_DNNL)) {
        const troupe_status status =
            tp_parts_matmul(&dense->parts, dense->m, dense->n, dense->k, dense->turned_a,
                            dense->turned_b, b, threads, err);
        if (status != TROUPE_PENDING) return status;
    }
    /* OpenBLAS is slow at single rows */
    tp_gemm_fn *blas = dense->m >= 4 && tp_dense_allows(TP_DENSE_BLAS) ? tp_blas_gemm() : NULL;
    if (blas) dense->product = blas;
    return TROUPE_OK;
}

troupe_status tp_dense_make(struct tp_dense *dense, const void *b, int threads, bool *keeps,
                            troupe_error *err)
{
    TP_TRY(tp_dense_check(err));
    const bool half = is_half(dense->dtype);
    const double size = (double)dense->m * (double)dense->n * (double)dense->k;
    dense->result = half ? TROUPE_F32 : dense->dtype;
    dense->product = tp_gemm_find(dense->result);
    if (half && b) TP_TRY(keep_widened(dense, b, err));
    if (dense->b) b = dense->b;
    TP_TRY(choose(dense, b, threads, err));
    const bool own = dense->parts.n == 0 && dense->product == tp_gemm_find(dense->result);
    if (own && b && dense->turned_b) TP_TRY(keep_turned(dense, b, err));
    if (half) dense->workspace += tp_room(dense->m * dense->k * sizeof(float));
    if (half && !b) dense->workspace += tp_room(dense->n * dense->k * sizeof(float));
    dense->parts_at = dense->workspace;
    dense->workspace += dense->parts.workspace;
    dense->groups =
        threads > 1 && !dense->turned_a && 2 * size > TP_PARTS_FLOPS ? (size_t)threads : 1;
    if (dense->parts.keeps) { /* two of them are not needed */
        tp_free(dense->b);
        dense->b = NULL;
    }
    *keeps = dense->parts.keeps || dense->b;
    dense->has_b = *keeps;
    return TROUPE_OK;
}

/* a and b as f32, in the workspace where they were not before. */
static void widen(const struct tp_dense *dense, const void **a, const void **b, void *workspace)
{
    float *at = workspace;
    tp_load_f32(dense->dtype, *a, 1, dense->m * dense->k, at);
    *a = at;
    if (dense->has_b) return; /* once before */
    at = tp_part(at, tp_room(dense->m * dense->k * sizeof(float)));
    tp_load_f32(dense->dtype, *b, 1, dense->n * dense->k, at);
    *b = at;
}

/* --- groups of rows ----------------------------------------------------------------- */
struct job {
    const struct tp_dense *dense;
    const void *a, *b;
    void *c;
};

/* Rows of group i; a multiple of four but for the last. */
static void run_group(void *arg, size_t i)
{
    const struct job *job = arg;
    const struct tp_dense *d = job->dense;
    const size_t size = troupe_dtype_size(d->result);
    const size_t each = ((d->m + d->groups - 1) / d->groups + 3) / 4 * 4, from = i * each;
    if (from >= d->m) return; /* the others are enough */
    const size_t rows = d->m - from < each ? d->m - from : each;
    const struct tp_matrix a = {(const char *)job->a + from * (d->turned_a ? 1 : d->k) * size,
                                d->turned_a ? 1 : d->k, d->turned_a ? d->m : 1};
    const struct tp_matrix b = {job->b, d->turned_b ? 1 : d->n, d->turned_b ? d->k : 1};
    d->product(rows, d->n, d->k, a, b, (char *)job->c + from * d->n * size, d->n);
}

troupe_status tp_dense_run(const struct tp_dense *dense, const void *a, const void *b, void *c,
                           void *workspace, struct tp_team *team, troupe_error *err)
{
    if (dense->m == 0 || dense->n == 0) return TROUPE_OK; /* the product has no elements */
    if (dense->k == 0) {
        memset(c, 0, dense->m * dense->n * troupe_dtype_size(dense->result));
        return TROUPE_OK; /* sums of nothing */
    }
    if (dense->b) b = dense->b;
    if (is_half(dense->dtype)) widen(dense, &a, &b, workspace);
    if (dense->parts.n > 0)
        return tp_parts_run(&dense->parts, a, b, NULL, c, tp_part(workspace, dense->parts_at),
                            team, err);
    struct job job = {dense, a, b, c};
    if (team && dense->groups > 1) {
        team->run(team, dense->groups, run_group, &job);
    } else {
        for (size_t i = 0; i < dense->groups; i++)
            run_group(&job, i);
    }
    return TROUPE_OK;
}

void tp_dense_fini(struct tp_dense *dense)
{
    tp_parts_fini(&dense->parts);
    tp_free(dense->b);
    dense->b = NULL;
}
