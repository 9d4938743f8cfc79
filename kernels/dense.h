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
#include "kernels/parts.h"

/* What it can do. */
#define TP_DENSE_TYPES (TP_FLOATS | TP_TYPE(I32) | TP_TYPE(I64) | TP_TYPE(U32) | TP_TYPE(U64))

/* Who may compute, the most preferred last. */
enum tp_dense_way { TP_DENSE_OWN, TP_DENSE_BLAS, TP_DENSE_DNNL };
/* By the setting TROUPE_DENSE: all, unless it is the name of one that stands below this one. */
bool tp_dense_allows(enum tp_dense_way way);
/* INVALID: the setting is none of their names. Looked at when an operator is prepared. */
troupe_status tp_dense_check(troupe_error *err) TROUPE_MUST_CHECK;
/* Multiplications from which on a library is worth its call. */
#define TP_DENSE_WORTH (32.0 * 32 * 32)

struct tp_dense {
    /* To set: */
    size_t m, n, k;
    troupe_dtype dtype; /* of a and b */
    bool turned_a;      /* a is stored as k rows of m */
    bool turned_b;      /* b is stored as n rows of k */
    /* Worked out: */
    troupe_dtype result;   /* of the product */
    size_t workspace;      /* bytes of a run, aligned to 64 */
    tp_gemm_fn *product;   /* used when there are no parts */
    size_t groups;         /* of rows, for several threads */
    struct tp_parts parts; /* oneDNN's */
    size_t parts_at;       /* their workspace */
    void *b;               /* b, widened once, or NULL */
    bool has_b;            /* b or the parts hold what is needed of b */
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
