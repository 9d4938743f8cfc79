/* SPDX-License-Identifier: MIT
 *
 * kernels/pool_plane.h - the pool of one plane of f32 without dilations, a row of the result at
 * a time.
 *
 * Each element takes the taps of its window in the window's order, one after another, so the
 * bits are those of any other way that keeps to this order.
 */
#ifndef TP_KERNELS_POOL_PLANE_H
#define TP_KERNELS_POOL_PLANE_H

#include "kernels/window.h"

struct tp_pool_plane;
/* n elements of the result whose windows have `rows` rows in the input, the first of which
 * begins at x, and all their columns. */
typedef void tp_pool_inside(const struct tp_pool_plane *plane, float *y, size_t n,
                            const float *x, size_t rows);

struct tp_pool_plane {
    int64_t in[2], out[2], kernel[2], stride[2], begin[2];
    int64_t inside[2]; /* columns of the result whose windows lie within the input: [0], [1]) */
    bool sum; /* else the greatest; a NaN is greater than all, and the last one stays */
    tp_pool_inside *run;
};

/* False: the window has three dimensions or dilations. */
bool tp_pool_plane_make(struct tp_pool_plane *plane, const struct tp_window *window, bool sum);
/* Of no elements, the sum is 0 and the greatest -inf. */
void tp_pool_plane_run(const struct tp_pool_plane *plane, const float *x, float *y);

#endif
