/* SPDX-License-Identifier: MIT
 *
 * kernels/conv.c - Conv: its shapes, and the choice of how it is computed.
 */
#include "kernels/conv.h"

#include "kernels/dense.h"
#include "kernels/ops.h"

/* The window's size: of the weights, or of the attribute while those are not known. */
static troupe_status find_kernel(const struct tp_infer *infer, int rank,
                                 int64_t kernel[TP_SPACE], bool *known, troupe_error *err)
{
    const struct tp_shape *w = tp_infer_shape(infer, 1);
    const int64_t *given;
    TP_TRY(tp_window_kernel(infer, rank, &given, err));
    *known = true;
    for (int i = 0; i < rank; i++) {
        const int64_t dim = w->rank == rank + 2 ? w->dims[i + 2] : TP_DIM_ANY;
        if (given && dim >= 0 && given[i] != dim) {
            return tp_fail(err, TROUPE_INVALID,
                           "kernel_shape has %lld where the weights %s have %lld",
                           (long long)given[i], tp_shape_text(w).text, (long long)dim);
        }
        kernel[i] = dim >= 0 ? dim : given ? given[i] : TP_DIM_ANY;
        *known &= kernel[i] >= 0;
    }
    return TROUPE_OK;
}

static troupe_status check_channels(const struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0), *w = tp_infer_shape(infer, 1);
    const struct tp_shape *b = tp_infer_shape(infer, 2);
    const int64_t group = tp_int(infer, "group", 1);
    if (group < 1) return tp_fail(err, TROUPE_INVALID, "group is %lld", (long long)group);
    if (w->dims[0] >= 0 && w->dims[0] % group != 0) {
        return tp_fail(err, TROUPE_INVALID, "%lld channels of the result are not %lld groups",
                       (long long)w->dims[0], (long long)group);
    }
    if (b && b->rank == 1 && b->dims[0] >= 0 && w->dims[0] >= 0 && b->dims[0] != w->dims[0]) {
        return tp_fail(err, TROUPE_INVALID, "input 2 'b' has %lld elements for %lld channels",
                       (long long)b->dims[0], (long long)w->dims[0]);
    }
    if (x->rank == TP_RANK_ANY || x->dims[1] < 0 || w->dims[1] < 0)
        return TROUPE_OK; /* unknown */
    int64_t want;
    if (!__builtin_mul_overflow(w->dims[1], group, &want) && x->dims[1] == want)
        return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "x %s has %lld channels, but the weights %s take %lld in %lld "
                   "groups",
                   tp_shape_text(x).text, (long long)x->dims[1], tp_shape_text(w).text,
                   (long long)w->dims[1], (long long)group);
}

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0), *w = tp_infer_shape(infer, 1);
    struct tp_shape out = {.rank = x->rank >= 0 ? x->rank : w->rank};
    int64_t kernel[TP_SPACE];
    bool known;
    TP_TRY(tp_infer_rank(infer, 0, 3, 2 + TP_SPACE, err));
    TP_TRY(tp_infer_rank(infer, 1, 3, 2 + TP_SPACE, err));
    TP_TRY(tp_infer_rank(infer, 2, 1, 1, err));
    if (out.rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    if (w->rank >= 0 && w->rank != out.rank) {
        return tp_fail(err, TROUPE_INVALID, "x %s and the weights %s differ in rank",
                       tp_shape_text(x).text, tp_shape_text(w).text);
    }
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = TP_DIM_ANY;
    if (w->rank >= 0) {
        TP_TRY(check_channels(infer, err));
        out.dims[1] = w->dims[0];
    }
    if (x->rank >= 0) out.dims[0] = x->dims[0];
    const int rank = out.rank - 2;
    TP_TRY(find_kernel(infer, rank, kernel, &known, err));
    if (known && x->rank >= 0) {
        struct tp_window window;
        TP_TRY(tp_window_make(&window, infer, rank, kernel, err));
        for (int i = 0; i < rank; i++)
            out.dims[i + 2] = window.out[TP_SPACE - rank + i];
    }
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static void cost(const struct tp_infer *node, struct tp_cost *out)
{
    const struct tp_shape *w = tp_infer_shape(node, 1), *y = &node->results[0].shape;
    double flops = 2;
    for (int i = 0; i < y->rank; i++)
        if (y->dims[i] > 0) flops *= (double)y->dims[i];
    for (int i = 1; i < w->rank; i++)
        if (w->dims[i] > 0) flops *= (double)w->dims[i];
    out->flops = flops;
}

troupe_status tp_conv_make(struct tp_conv *conv, const struct tp_infer *node, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(node, 0), *w = tp_infer_shape(node, 1);
    memset(conv, 0, sizeof(*conv));
    conv->rank = x->rank - 2;
    TP_TRY(tp_window_make(&conv->window, node, conv->rank, w->dims + 2, err));
    conv->dtype = node->inputs[0]->dtype;
    conv->n = (size_t)x->dims[0];
    conv->groups = (size_t)tp_int(node, "group", 1);
    conv->in = (size_t)w->dims[1];
    conv->out = (size_t)w->dims[0] / conv->groups;
    conv->x_space = tp_span(x, 2, x->rank);
    conv->y_space = (size_t)tp_space(conv->window.out);
    conv->taps = tp_span(w, 2, w->rank);
    conv->bias = tp_infer_shape(node, 2) != NULL;
    return TROUPE_OK;
}

/* --- by oneDNN ---------------------------------------------------------------------- */
static troupe_status run_parts(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *b = tp_in(launch, 2);
    return tp_parts_run(launch->state, tp_in(launch, 0)->data, tp_in(launch, 1)->data,
                        b ? b->data : NULL, tp_out(launch, 0)->data, launch->workspace,
                        launch->team, err);
}

static void drop_parts(void *state)
{
    struct tp_parts *parts = state;
    if (parts) tp_parts_fini(parts);
    tp_free(parts);
}

static void destroy_parts(struct tp_parts **parts)
{
    drop_parts(*parts);
}

/* PENDING: oneDNN is not there, or has no way. */
static troupe_status prepare_parts(struct tp_prepare *prepare, const struct tp_conv *conv,
                                   troupe_error *err)
{
    TP_OWNED(destroy_parts) struct tp_parts *parts = tp_alloc(sizeof(*parts));
    if (!parts) return tp_fail_memory(err, sizeof(*parts));
    const troupe_status status =
        tp_parts_conv(parts, conv, tp_known(&prepare->node, 1), prepare->threads, err);
    if (status != TROUPE_OK) return status;
    if (parts->keeps) prepare->uses &= ~2u;
    prepare->workspace = parts->workspace;
    prepare->run = run_parts;
    prepare->drop = drop_parts;
    prepare->state = parts;
    parts = NULL;
    return TROUPE_OK;
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    struct tp_conv conv;
    TP_TRY(tp_dense_check(err));
    TP_TRY(tp_conv_make(&conv, &prepare->node, err));
    const double size = (double)conv.n * (double)conv.groups * (double)conv.out *
                        (double)conv.in * (double)conv.taps * (double)conv.y_space;
    if (conv.dtype == TROUPE_F32 && size >= TP_DENSE_WORTH && tp_dense_allows(TP_DENSE_DNNL)) {
        const troupe_status status = prepare_parts(prepare, &conv, err);
        if (status != TROUPE_PENDING) return status;
    }
    return tp_conv_own(prepare, &conv, err);
}

static const struct tp_port inputs[] = {
    {"x", TP_FLOATS, 1, 0}, {"w", TP_FLOATS, 1, 0}, {"b", TP_FLOATS, 1, TP_OPTIONAL}, TP_LAST};
static const struct tp_port results[] = {{"y", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"auto_pad", TROUPE_ATTR_STRING, false},
                                            {"dilations", TROUPE_ATTR_INTS, false},
                                            {"group", TROUPE_ATTR_INT, false},
                                            {"kernel_shape", TROUPE_ATTR_INTS, false},
                                            {"pads", TROUPE_ATTR_INTS, false},
                                            {"strides", TROUPE_ATTR_INTS, false},
                                            TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS(
        "f32[1,1,3,3]=[[[[1,2,3],[4,5,6],[7,8,9]]]] f32[1,1,2,2]=[[[[1,2],[3,4]]]] f32[1]=[1]",
        NULL, "f32[1,1,2,2] [[[[38, 48], [68, 78]]]]"),
    TP_WORKS("f32[1,1,3,3]=[[[[1,2,3],[4,5,6],[7,8,9]]]] f32[1,1,2,2]=[[[[1,2],[3,4]]]]",
             "pads=[1,0,0,1] strides=[2,1]", "f32[1,1,2,3] [[[[11, 18, 9], [67, 77, 33]]]]"),
    TP_WORKS("f32[2,3,9,8] f32[4,3,3,3] f32[4]", "pads=[1,1,1,1]", NULL),
    TP_WORKS("f32[1,4,7,9] f32[6,2,3,2]", "group=2 strides=[2,3] dilations=[2,1]", NULL),
    TP_WORKS("f32[2,6,8,9] f32[6,1,3,3] f32[6]", "group=6 pads=[1,1,1,1] strides=[2,1]", NULL),
    TP_WORKS("f32[1,3,8,9] f32[6,1,3,3] f32[6]",
             "group=3 auto_pad=\"SAME_LOWER\" strides=[2,2]", NULL),
    TP_WORKS("f32[1,8,5,5] f32[8,8,1,1] f32[8]", NULL, NULL),
    TP_WORKS("f32[2,3,17] f32[5,3,4] f32[5]", "pads=[2,1] strides=[3]", NULL),
    TP_WORKS("f32[1,2,5,6,7] f32[3,2,3,2,2]", "pads=[1,0,1,0,1,0] strides=[2,1,1]", NULL),
    TP_WORKS("f32[1,2,7,7] f32[3,2,3,3]", "auto_pad=\"SAME_UPPER\" strides=[2,2]", NULL),
    TP_WORKS("f32[1,2,7,7] f32[3,2,3,3]", "auto_pad=\"VALID\" dilations=[2,2]", NULL),
    TP_WORKS("f32[1,16,24,24] f32[24,16,3,3] f32[24]", "pads=[1,1,1,1]", NULL),
    TP_WORKS("f32[2,32,14,15] f32[48,32,1,1] f32[48]", "strides=[2,2]", NULL),
    TP_WORKS("f32[0,2,7,7] f32[3,2,3,3]", NULL, NULL),
    TP_FAILS("f32[1,3,5,5] f32[4,2,3,3]", NULL, "channels"),
    TP_FAILS("f32[1,3,5,5] f32[4,3,6,3]", NULL, "does not fit"),
    TP_FAILS("f32[1,3,5,5] f32[4,3,3,3] f32[3]", NULL, "3 elements"),
    TP_FAILS("f32[1,4,5,5] f32[3,2,3,3]", "group=2", "groups"),
    TP_FAILS("f32[1,3,5,5] f32[4,3,3,3]", "strides=[0,1]", "strides"),
    TP_FAILS("f32[1,3,5,5] f32[4,3,3,3]", "pads=[1,1]", "pads"),
    TP_FAILS("f32[1,3,5,5] f32[4,3,3,3]", "kernel_shape=[3,2]", "kernel_shape"),
    TP_FAILS("f32[1,3,5,5] f32[4,3,3]", NULL, "rank"),
    TP_FAILS("f32[1,3,5,5] f32[4,3,3,3]", "auto_pad=\"SAME\"", "auto_pad"),
    {0},
};
const struct tp_op tp_op_Conv = {
    .name = "Conv",
    .summary =
        "the convolution of x [n,c,space] with weights w [m,c/group,window] over one to three "
        "spatial dimensions, plus b [m]",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare,
    .cost = cost,
    .samples = samples,
};
