/* SPDX-License-Identifier: MIT
 *
 * kernels/window.c - the windows of convolutions and pools: attributes, padding, output sizes.
 */
#include "kernels/window.h"

#include <string.h>

#define LARGEST INT32_MAX /* of a number in an attribute: sums of a few cannot overflow */

/* An attribute of n numbers in least..LARGEST; NULL when it is absent. */
static troupe_status read_list(const struct tp_infer *node, const char *name, size_t n,
                               int64_t least, const int64_t **out, troupe_error *err)
{
    size_t have;
    *out = tp_attr_ints(node->attrs, node->n_attrs, name, &have);
    if (!*out) return TROUPE_OK; /* the caller has a default */
    if (have != n)
        return tp_fail(err, TROUPE_INVALID, "%s has %zu numbers, not %zu", name, have, n);
    for (size_t i = 0; i < n; i++) {
        if ((*out)[i] >= least && (*out)[i] <= LARGEST) continue;
        return tp_fail(err, TROUPE_INVALID, "%s has %lld; %lld is the least", name,
                       (long long)(*out)[i], (long long)least);
    }
    return TROUPE_OK;
}

troupe_status tp_window_kernel(const struct tp_infer *node, int rank, const int64_t **out,
                               troupe_error *err)
{
    return read_list(node, "kernel_shape", (size_t)rank, 1, out, err);
}

/* A list, or `otherwise` everywhere, into the last `rank` places. */
static void spread(int64_t to[TP_SPACE], const int64_t *list, int rank, int64_t otherwise)
{
    for (int d = 0; d < TP_SPACE; d++) {
        const int i = d - (TP_SPACE - rank);
        to[d] = i < 0 || !list ? otherwise : list[i];
    }
}

/* Input elements from the first to the last that one window touches. */
static int64_t reach(const struct tp_window *w, int d)
{
    return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* SAME_UPPER and SAME_LOWER: as many outputs as strides fit, the odd element of padding at the
 * end or at the beginning. */
static void pad_same(struct tp_window *w, int d, bool upper)
{
    if (w->in[d] < 0) return;
    w->out[d] = (w->in[d] + w->stride[d] - 1) / w->stride[d];
    int64_t all = (w->out[d] - 1) * w->stride[d] + reach(w, d) - w->in[d];
    if (all < 0 || w->in[d] == 0) all = 0;
    w->begin[d] = upper ? all / 2 : all - all / 2;
    w->end[d] = all - w->begin[d];
}

static troupe_status size_out(struct tp_window *w, int d, bool ceil_mode, troupe_error *err)
{
    if (w->in[d] < 0) return TROUPE_OK; /* not known yet */
    const int64_t room = w->in[d] + w->begin[d] + w->end[d] - reach(w, d);
    if (room < 0) {
        return tp_fail(err, TROUPE_INVALID,
                       "a window of %lld does not fit %lld elements and %lld of padding",
                       (long long)reach(w, d), (long long)w->in[d],
                       (long long)(w->begin[d] + w->end[d]));
    }
    w->out[d] = room / w->stride[d] + 1;
    if (!ceil_mode || room % w->stride[d] == 0) return TROUPE_OK;
    /* one more, unless it would begin in the padding at the end */
    if (w->out[d] * w->stride[d] < w->in[d] + w->begin[d]) w->out[d]++;
    return TROUPE_OK;
}

static troupe_status read_pads(struct tp_window *w, const struct tp_infer *node, int rank,
                               troupe_error *err)
{
    const int64_t *pads;
    TP_TRY(read_list(node, "pads", 2 * (size_t)rank, 0, &pads, err));
    spread(w->begin, pads, rank, 0);
    spread(w->end, pads ? pads + rank : NULL, rank, 0);
    return TROUPE_OK;
}

troupe_status tp_window_make(struct tp_window *w, const struct tp_infer *node, int rank,
                             const int64_t *kernel, troupe_error *err)
{
    const int64_t *strides, *dilations;
    const char *mode = tp_attr_text(node->attrs, node->n_attrs, "auto_pad", "NOTSET");
    const bool ceil_mode = tp_int(node, "ceil_mode", 0) != 0;
    memset(w, 0, sizeof(*w));
    TP_TRY(read_list(node, "strides", (size_t)rank, 1, &strides, err));
    TP_TRY(read_list(node, "dilations", (size_t)rank, 1, &dilations, err));
    spread(w->in, node->inputs[0]->shape.dims + 2, rank, 1);
    spread(w->kernel, kernel, rank, 1);
    spread(w->stride, strides, rank, 1);
    spread(w->dilation, dilations, rank, 1);
    spread(w->out, NULL, rank, TP_DIM_ANY);
    for (int d = 0; d < TP_SPACE; d++) {
        if (w->in[d] > INT64_MAX / 4) {
            return tp_fail(err, TROUPE_INVALID, "%lld elements along a dimension are too many",
                           (long long)w->in[d]);
        }
        if (w->kernel[d] >= 1 && w->kernel[d] <= LARGEST) continue;
        return tp_fail(err, TROUPE_INVALID, "the window has %lld elements along a dimension",
                       (long long)w->kernel[d]);
    }
    const bool upper = strcmp(mode, "SAME_UPPER") == 0;
    if (upper || strcmp(mode, "SAME_LOWER") == 0) {
        for (int d = 0; d < TP_SPACE; d++)
            pad_same(w, d, upper);
        return TROUPE_OK;
    }
    if (strcmp(mode, "NOTSET") == 0)
        TP_TRY(read_pads(w, node, rank, err));
    else if (strcmp(mode, "VALID") != 0)
        return tp_fail(err, TROUPE_INVALID, "auto_pad is '%s'", mode);
    for (int d = 0; d < TP_SPACE; d++)
        TP_TRY(size_out(w, d, ceil_mode, err));
    return TROUPE_OK;
}
