/* SPDX-License-Identifier: MIT
 *
 * kernels/walk.h - the way through tensors that are broadcast to one shape, in runs.
 *
 * The result is written from its first element to its last. Dimensions that all inputs pass in
 * the same manner are joined, so that most walks are one run, in which an input either moves on
 * with the result or stands still.
 */
#ifndef TP_KERNELS_WALK_H
#define TP_KERNELS_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/shape.h"

#define TP_WALK_INPUTS 3

struct tp_walk {
    size_t run;  /* elements of a run */
    size_t runs; /* 0 when there are no elements */
    int rank;    /* of the dimensions outside a run */
    size_t dims[TROUPE_MAX_RANK];
    size_t step[TP_WALK_INPUTS]
               [TROUPE_MAX_RANK]; /* elements that input i moves on in dimension d */
    bool moves[TP_WALK_INPUTS];   /* within a run */
};

/* Where the walk is: the first element of each input's next run. Zeroed is the start. */
struct tp_walk_at {
    size_t index[TROUPE_MAX_RANK];
    size_t element[TP_WALK_INPUTS];
};

/* `out` is known and all n inputs broadcast to it. */
void tp_walk_make(struct tp_walk *walk, const struct tp_shape *out,
                  const struct tp_shape *const *inputs, size_t n);
/* On to the next run. */
void tp_walk_next(const struct tp_walk *walk, struct tp_walk_at *at);

#endif
