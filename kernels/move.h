/* SPDX-License-Identifier: MIT
 *
 * kernels/move.h - copy elements from places at even steps: what transposing, slicing,
 * repeating and expanding have in common.
 *
 * Result element (i0, i1, ...) is source element start + i0 * step0 + i1 * step1 + ...; the
 * result is written in order.
 */
#ifndef TP_KERNELS_MOVE_H
#define TP_KERNELS_MOVE_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/shape.h"

#define TP_MOVE_RANK (2 * TROUPE_MAX_RANK)

struct tp_move {
    size_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int rank;
    int64_t dims[TP_MOVE_RANK];
    int64_t steps[TP_MOVE_RANK]; /* in elements; 0 repeats, below 0 goes backwards */
    int64_t start;
};

/* Leave out dimensions of 1 and join those that are passed without a jump. */
void tp_move_join(struct tp_move *move);
/* `to` lies apart from `from`. */
void tp_move_run(const struct tp_move *move, const void *from, void *to);

/* The steps of a tensor that lies in order. */
void tp_move_steps(const struct tp_shape *shape, int64_t steps[TROUPE_MAX_RANK]);

#endif
