/* SPDX-License-Identifier: MIT
 *
 * kernels/window.h - the windows of convolutions and pools over one to three spatial
 * dimensions.
 *
 * Fewer than three spatial dimensions stand at the end of each list of three; those before them
 * have one element and a window of one. So there is one loop for all ranks.
 */
#ifndef TP_KERNELS_WINDOW_H
#define TP_KERNELS_WINDOW_H

#include "kernels/kernel.h"

#define TP_SPACE 3 /* spatial dimensions, at most */

struct tp_window {
    int64_t in[TP_SPACE], out[TP_SPACE]; /* below 0: unknown, in infer alone */
    int64_t kernel[TP_SPACE], stride[TP_SPACE], dilation[TP_SPACE];
    int64_t begin[TP_SPACE], end[TP_SPACE]; /* padding, worked out for SAME_UPPER and so on */
};

/* Read strides, dilations, pads, auto_pad and ceil_mode of a node whose input 0 is
 * [n,c,spatial...] with `rank` spatial dimensions, and work out the rest. kernel has `rank`
 * numbers. INVALID names the attribute and the number. */
troupe_status tp_window_make(struct tp_window *window, const struct tp_infer *node, int rank,
                             const int64_t *kernel, troupe_error *err) TROUPE_MUST_CHECK;
/* The attribute kernel_shape, which has `rank` numbers of 1 or more; *out is NULL without it.
 */
troupe_status tp_window_kernel(const struct tp_infer *node, int rank, const int64_t **out,
                               troupe_error *err) TROUPE_MUST_CHECK;

/* The outputs [from, to) along dimension d for which tap k of the window meets the input. */
static inline void tp_window_range(const struct tp_window *w, int d, int64_t tap, int64_t *from,
                                   int64_t *to)
{
    const int64_t first = tap * w->dilation[d] - w->begin[d]; /* input of output 0 */
    const int64_t stride = w->stride[d], last = w->in[d] - 1 - first;
    *from = first >= 0 ? 0 : (-first + stride - 1) / stride;
    *to = last < 0 ? 0 : last / stride + 1;
    if (*to > w->out[d]) *to = w->out[d];
    if (*from > *to) *from = *to;
}

static inline int64_t tp_space(const int64_t dims[TP_SPACE])
{
    return dims[0] * dims[1] * dims[2];
}

#endif
