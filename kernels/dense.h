/* SPDX-License-Identifier: MIT
 *
 * kernels/dense.h - the matrix product as ops use it: a way is chosen once, then run.
 *
 * Elements of 16 bits are widened and the product is f32; all other types have products of
 * their own. The way depends on sizes, the processor and the number of threads alone.
 */
#ifndef TP_KERNELS_DENSE_H
#define TP_KERNELS_DENSE_H

#include "kernels/gemm.h"
#include "kernels/kernel.h"

#define TP_DENSE_TYPES                                                                         \
    (TP_FLOATS | TP_TYPE(I32) | TP_TYPE(I64) | TP_TYPE(U32) | TP_TYPE(U64)) /* what it can do  \
                                                                             */

struct tp_dense {
    /* To set: */
    size_t m, n, k;
    troupe_dtype dtype; /* of a and b */
    bool turned_a;      /* a is stored as k rows of m */
    bool turned_b;      /* b is stored as n rows of k */
    /* Worked out: */
    troupe_dtype result; /* of the product */
    size_t workspace;    /* bytes of a run, aligned to 64 */
    tp_gemm_fn *own;
    void *b; /* b, made ready once, or NULL */
};

/* b is NULL when it is not known yet; when it is, `keeps` says whether the product has what it
 * needs of it. */
troupe_status tp_dense_make(struct tp_dense *dense, const void *b, int threads, bool *keeps,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* c = a b. Any thread. */
troupe_status tp_dense_run(const struct tp_dense *dense, const void *a, const void *b, void *c,
                           void *workspace, struct tp_team *team,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_dense_fini(struct tp_dense *dense);

/* Bytes up to the next multiple of 64, to lay out a workspace. */
static inline size_t tp_room(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

#endif
