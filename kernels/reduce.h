/* SPDX-License-Identifier: MIT
 *
 * kernels/reduce.h - sums of any kind along some dimensions of a tensor.
 */
#ifndef TP_KERNELS_REDUCE_H
#define TP_KERNELS_REDUCE_H

#include "kernels/kernel.h"

enum tp_reduce_kind {
    TP_REDUCE_SUM,
    TP_REDUCE_PRODUCT,
    TP_REDUCE_MAX,
    TP_REDUCE_MIN,
    TP_REDUCE_SQUARES, /* the sum of squares */
    TP_REDUCE_SIZES,   /* the sum of absolute values */
    TP_REDUCE_KINDS
};

/* What is made of the sums in the end. */
enum tp_reduce_end { TP_REDUCE_AS_IT_IS, TP_REDUCE_MEAN, TP_REDUCE_ROOT, TP_REDUCE_LOG };

typedef void tp_reduce_fn(void *sums, const void *elements, size_t n);

struct tp_reduce {
    int rank; /* of dimensions that were joined */
    size_t dims[TROUPE_MAX_RANK];
    bool kept[TROUPE_MAX_RANK];
    size_t step[TROUPE_MAX_RANK]; /* sums that one more in a dimension moves on; 0 when it is
                                     not kept */
    size_t count, total;          /* sums; elements */
    troupe_dtype dtype;
    enum tp_reduce_kind kind;
    tp_reduce_fn *all, *each;
};

/* Bit d of axes: dimension d is summed up. */
void tp_reduce_make(struct tp_reduce *reduce, const struct tp_shape *x, unsigned axes);
void tp_reduce_choose(struct tp_reduce *reduce, enum tp_reduce_kind kind, troupe_dtype dtype);
/* Fill `count` sums of 8 bytes: doubles, int64_t or uint64_t as the element type is. */
void tp_reduce_run(const struct tp_reduce *reduce, const void *x, void *sums);
/* The results, in the element type, from the sums, which change. */
void tp_reduce_finish(const struct tp_reduce *reduce, enum tp_reduce_end end, void *sums,
                      void *out);

/* Call run for each run of the last dimension: n elements that go into n sums from number `at`
 * on when kept, else all into sum `at`. */
typedef void tp_reduce_run_fn(const struct tp_reduce *reduce, const char *x, size_t n,
                              bool kept, void *sums, size_t at, void *arg);
void tp_reduce_over(const struct tp_reduce *reduce, const void *x, void *sums,
                    tp_reduce_run_fn *run, void *arg);

#endif
