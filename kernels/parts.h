/* SPDX-License-Identifier: MIT
 *
 * kernels/parts.h - a matrix product or convolution of oneDNN's, cut into parts for several
 * threads.
 *
 * A part is a computation of its own on a piece of the data, so the parts do not depend on who
 * runs them, or when.
 */
#ifndef TP_KERNELS_PARTS_H
#define TP_KERNELS_PARTS_H

#include "graph/op.h"
#include "kernels/dnnl.h"

struct tp_part {
    struct tp_dnnl *dnnl;
    bool shared;       /* it is another part's too, which owns it */
    size_t x, w, b, y; /* where its data begin, in elements */
    size_t at;         /* its piece of the workspace */
};

/* Zeroed: there are none. */
struct tp_parts {
    size_t n;
    struct tp_part *list;
    size_t workspace;
    bool keeps; /* the weights are not needed any more */
};

/* Below this many operations a team costs more than it brings. */
#define TP_PARTS_FLOPS 4e7

/* As in dnnl.h; TROUPE_PENDING leaves *parts empty. */
troupe_status tp_parts_matmul(struct tp_parts *parts, size_t m, size_t n, size_t k,
                              bool turned_x, bool turned_w, const float *w, int threads,
                              troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_parts_conv(struct tp_parts *parts, const struct tp_conv *conv, const float *w,
                            int threads, troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_parts_run(const struct tp_parts *parts, const float *x, const float *w,
                           const float *b, float *y, void *workspace, struct tp_team *team,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_parts_fini(struct tp_parts *parts);

#endif
