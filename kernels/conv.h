/* SPDX-License-Identifier: MIT
 *
 * kernels/conv.h - a convolution of given sizes: what its ways of computing share.
 */
#ifndef TP_KERNELS_CONV_H
#define TP_KERNELS_CONV_H

#include "kernels/window.h"

struct tp_conv {
    struct tp_window window;
    int rank; /* of space */
    troupe_dtype dtype;
    size_t n, groups;
    size_t in, out;                /* channels of a group */
    size_t x_space, y_space, taps; /* elements of a plane of x, of one of y, of a window */
    bool bias;
};

/* Of a node whose types are known and which infer has accepted. */
troupe_status tp_conv_make(struct tp_conv *conv, const struct tp_infer *node,
                           troupe_error *err) TROUPE_MUST_CHECK;

/* Our own way, for all types: sets state, run, drop and workspace. */
troupe_status tp_conv_own(struct tp_prepare *prepare, const struct tp_conv *conv,
                          troupe_error *err) TROUPE_MUST_CHECK;

/* to[i] for the outputs [from, to) of a plane: what tap (d, h, w) of the window meets in a
 * plane of x, or 0 where it meets padding. */
void tp_conv_gather(const struct tp_window *window, const int64_t tap[TP_SPACE],
                    const void *plane, size_t size, size_t from, size_t to, void *out);

#endif
