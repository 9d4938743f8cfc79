/* SPDX-License-Identifier: MIT
 *
 * kernels/pad.c - Pad: elements added at, or with numbers below 0 taken from, both ends of
 * dimensions.
 */
#include "kernels/kernel.h"
#include "kernels/ops.h"
#include "kernels/texts.h"

enum mode { CONSTANT, REFLECT, EDGE, WRAP };

static troupe_status read_mode(const struct tp_infer *node, enum mode *out, troupe_error *err)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *given = tp_attr_text(node->attrs, node->n_attrs, "mode", names[0]);
    for (size_t i = 0; i < TP_COUNT(names); i++) {
        *out = (enum mode)i;
        if (strcmp(given, names[i]) == 0) return TROUPE_OK;
    }
    return tp_fail(err, TROUPE_INVALID, "mode is '%s'", given);
}

/* How many elements go before and behind each dimension. TROUPE_PENDING: not known. */
static troupe_status read_pads(const struct tp_infer *node, int64_t before[TROUPE_MAX_RANK],
                               int64_t behind[TROUPE_MAX_RANK], troupe_error *err)
{
    const int rank = tp_infer_shape(node, 0)->rank;
    int64_t pads[16], axes[16];
    size_t n, n_axes = (size_t)rank;
    unsigned seen = 0;
    const bool given = tp_infer_shape(node, 3) != NULL;
    troupe_status status = tp_infer_ints(node, 1, pads, &n, err);
    if (status == TROUPE_OK && given) status = tp_infer_ints(node, 3, axes, &n_axes, err);
    if (status != TROUPE_OK) return status;
    if (n != 2 * n_axes)
        return tp_fail(err, TROUPE_INVALID, "pads has %zu numbers for %zu dimensions", n,
                       n_axes);
    for (int d = 0; d < rank; d++)
        before[d] = behind[d] = 0;
    for (size_t i = 0; i < n_axes; i++) {
        int axis = (int)i;
        if (given) TP_TRY(tp_infer_axis(axes[i], rank, &axis, err));
        if (seen >> axis & 1)
            return tp_fail(err, TROUPE_INVALID, "axis %d is listed twice", axis);
        seen |= 1u << axis;
        before[axis] = pads[i];
        behind[axis] = pads[i + n_axes];
    }
    return TROUPE_OK;
}

/* The size of a padded dimension. REFLECT repeats less than it has; EDGE and WRAP need
 * something. */
static troupe_status pad_dim(enum mode mode, int64_t dim, int64_t before, int64_t behind, int d,
                             int64_t *out, troupe_error *err)
{
    *out = TP_DIM_ANY;
    if (before == 0 && behind == 0) *out = dim;
    if (dim < 0) return TROUPE_OK; /* not known yet */
    const bool over =
        __builtin_add_overflow(dim, before, out) || __builtin_add_overflow(*out, behind, out);
    const bool taken = !over && (before < -dim || behind < -dim || *out < 0);
    if (over || taken) {
        return tp_fail(err, TROUPE_INVALID,
                       "dimension %d of %lld cannot be padded by %lld and %lld", d,
                       (long long)dim, (long long)before, (long long)behind);
    }
    const int64_t most = before > behind ? before : behind;
    const bool empty = mode != CONSTANT && most > 0 && dim == 0;
    if (!empty && (mode != REFLECT || most < dim || most <= 0)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "dimension %d of %lld cannot be padded by %lld from itself", d,
                   (long long)dim, (long long)most);
}

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    int64_t before[TROUPE_MAX_RANK], behind[TROUPE_MAX_RANK];
    enum mode mode;
    TP_TRY(read_mode(infer, &mode, err));
    TP_TRY(tp_infer_rank(infer, 1, 1, 1, err));
    TP_TRY(tp_infer_rank(infer, 2, 0, 1, err));
    TP_TRY(tp_infer_rank(infer, 3, 1, 1, err));
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    struct tp_shape out = {.rank = x->rank};
    const troupe_status status = read_pads(infer, before, behind, err);
    TP_TRY(status);
    for (int d = 0; d < x->rank; d++) {
        out.dims[d] = TP_DIM_ANY;
        if (status == TROUPE_OK)
            TP_TRY(pad_dim(mode, x->dims[d], before[d], behind[d], d, &out.dims[d], err));
    }
    infer->results[0].shape = out;
    return TROUPE_OK;
}

struct state {
    enum mode mode;
    int rank;
    size_t size; /* bytes of an element */
    int64_t in[TROUPE_MAX_RANK], out[TROUPE_MAX_RANK], before[TROUPE_MAX_RANK];
    size_t in_step[TROUPE_MAX_RANK], out_step[TROUPE_MAX_RANK]; /* bytes */
};

/* The input's place for place i of a padded dimension, or -1. */
static int64_t source(enum mode mode, int64_t i, int64_t before, int64_t dim)
{
    const int64_t at = i - before;
    if (at >= 0 && at < dim) return at;
    switch (mode) {
    case EDGE:
        return at < 0 ? 0 : dim - 1;
    case REFLECT:
        return at < 0 ? -at : 2 * (dim - 1) - at;
    case WRAP:
        return at < 0 ? dim - 1 - (-at - 1) % dim : at % dim;
    default:
        return -1;
    }
}

static void fill(char *to, const void *value, size_t size, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * size, value, size);
}

/* Dimension d and those within it. `from` is NULL within padding. */
static void pad(const struct state *s, int d, const char *from, const void *value, char *to)
{
    if (d == s->rank) {
        memcpy(to, from ? from : value, s->size);
        return;
    }
    const bool last = d == s->rank - 1;
    for (int64_t i = 0; i < s->out[d];) {
        const int64_t at = from ? source(s->mode, i, s->before[d], s->in[d]) : -1;
        char *y = to + (size_t)i * s->out_step[d];
        const int64_t left =
            s->before[d] + s->in[d] - i; /* elements of the input from here on */
        if (at < 0 && last) {
            const int64_t n = from && i < s->before[d] && s->before[d] < s->out[d]
                                  ? s->before[d] - i
                                  : s->out[d] - i;
            fill(y, value, s->size, (size_t)n);
            i += n;
        } else if (last && i >= s->before[d] && left > 0) {
            const int64_t n = left < s->out[d] - i ? left : s->out[d] - i;
            memcpy(y, from + (size_t)at * s->size, (size_t)n * s->size);
            i += n;
        } else {
            pad(s, d + 1, at < 0 ? NULL : from + (size_t)at * s->in_step[d], value, y);
            i++;
        }
    }
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    static const uint64_t zero[2] = {0, 0}; /* of any type, and no text */
    const struct tp_view *value = tp_in(launch, 2);
    (void)err;
    pad(launch->state, 0, tp_in(launch, 0)->data, value ? value->data : zero,
        tp_out(launch, 0)->data);
    return TROUPE_OK;
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0), *y = &node->results[0].shape;
    const struct tp_shape *value = tp_infer_shape(node, 2);
    int64_t before[TROUPE_MAX_RANK], behind[TROUPE_MAX_RANK];
    const troupe_status status = read_pads(node, before, behind, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING && x->rank > 0)
        return tp_fail(err, TROUPE_INTERNAL, "pads are not known");
    if (value && tp_shape_count_known(value) != 1)
        return tp_fail(err, TROUPE_INVALID, "constant_value is %s, not one element",
                       tp_shape_text(value).text);
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    TP_TRY(read_mode(node, &s->mode, err));
    s->rank = x->rank;
    s->size = tp_element_size(node->inputs[0]->dtype);
    size_t in = s->size, out = in;
    for (int d = x->rank - 1; d >= 0; d--) {
        s->in[d] = x->dims[d];
        s->out[d] = y->dims[d];
        s->before[d] = before[d];
        s->in_step[d] = in;
        s->out_step[d] = out;
        in *= (size_t)x->dims[d];
        out *= (size_t)y->dims[d];
    }
    prepare->run = run;
    return tp_texts_wrap(prepare, err);
}

static const struct tp_port inputs[] = {
    {"data", TP_ANY, 1, 0},
    {"pads", TP_TYPE(I64), 0, TP_HOST},
    {"constant_value", TP_ANY, 1, TP_OPTIONAL},
    {"axes", TP_TYPE(I32) | TP_TYPE(I64), 0, TP_OPTIONAL | TP_HOST},
    TP_LAST};
static const struct tp_port results[] = {{"y", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"mode", TROUPE_ATTR_STRING, false}, TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS("f32[2,2]=[[1,2],[3,4]] i64[4]=[0,1,1,0] f32[]=9", NULL,
             "f32[3,3] [[9, 1, 2], [9, 3, 4], [9, 9, 9]]"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[2]=[2,3]", "mode=\"reflect\"",
             "f32[9] [3, 2, 1, 2, 3, 4, 3, 2, 1]"),
    TP_WORKS("f32[2]=[1,2] i64[2]=[2,3]", "mode=\"edge\"", "f32[7] [1, 1, 1, 2, 2, 2, 2]"),
    TP_WORKS("f32[2]=[1,2] i64[2]=[3,4]", "mode=\"wrap\"",
             "f32[9] [2, 1, 2, 1, 2, 1, 2, 1, 2]"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[2]=[-1,2]", NULL, "f32[5] [2, 3, 4, 0, 0]"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[2]=[2,-3]", NULL, "f32[3] [0, 0, 1]"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[2]=[5,-4]", NULL, "f32[5] [0, 0, 0, 0, 0]"),
    TP_WORKS("f32[2,3,4] i64[6]=[1,0,2,0,3,0] f32[1]", NULL, NULL),
    TP_WORKS("f32[2,3,4] i64[4]=[1,2,1,0] - i64[2]=[-1,1]", "mode=\"edge\"", NULL),
    TP_WORKS("f32[3,4,5] i64[6]=[1,0,2,0,3,4]", "mode=\"reflect\"", NULL),
    TP_WORKS("f32[3,4,2] i64[6]=[1,0,2,0,3,4]", "mode=\"wrap\"", NULL),
    TP_WORKS("f32[0,2] i64[4]=[1,1,1,1]", NULL, NULL),
    TP_WORKS("f32[] i64[0]=[]", NULL, NULL),
    TP_FAILS("f32[2,2] i64[2]=[1,1]", NULL, "2 dimensions"),
    TP_FAILS("f32[2] i64[2]=[0,-3]", NULL, "-3"),
    TP_FAILS("f32[2] i64[2]=[2,0]", "mode=\"reflect\"", "from itself"),
    TP_FAILS("f32[0] i64[2]=[1,0]", "mode=\"edge\"", "from itself"),
    TP_FAILS("f32[2] i64[2]=[1,0]", "mode=\"mirror\"", "mirror"),
    TP_FAILS("f32[2] i64[2]=[1,0] f32[2]", NULL, "constant_value"),
    TP_FAILS("f32[2] i64[2]=[9223372036854775807,0]", NULL, "padded"),
    {0},
};
const struct tp_op tp_op_Pad = {
    .name = "Pad",
    .summary =
        "data with pads elements before and behind its dimensions, by mode: constant, reflect, "
        "edge or wrap",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare,
    .samples = samples,
};
