/* SPDX-License-Identifier: MIT
 *
 * kernels/norm.c - BatchNormalization, LayerNormalization and LRN.
 *
 * Means and variances are taken in double precision; elements are computed in f32, those of f64
 * in f64.
 */
#include <math.h>

#include "kernels/convert.h"
#include "kernels/dense.h"
#include "kernels/ops.h"
#include "kernels/walk.h"

static troupe_dtype wide_of(troupe_dtype dtype)
{
    return dtype == TROUPE_F64 ? TROUPE_F64 : TROUPE_F32;
}

/* n elements of an input as doubles. */
static void load(const struct tp_view *view, size_t n, double *to)
{
    tp_load_f64(view->type->dtype, view->data, 1, n, to);
}

/* --- y = (x - middle) * factor + shift ---------------------------------------------- */
#define LINE(name, T)                                                                          \
    static void name(void *to, const void *from, size_t n, double m, double f, double b)       \
    {                                                                                          \
        const T middle = (T)m, factor = (T)f, shift = (T)b;                                    \
        const T *x = from;                                                                     \
        T *y = to;                                                                             \
        TP_APART                                                                               \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] = (x[i] - middle) * factor + shift;                                           \
    }
LINE(line_f32, float)
LINE(line_f64, double)

static void line(troupe_dtype dtype, void *to, const void *from, size_t n, double middle,
                 double factor, double shift)
{
    float wide[128];
    if (dtype == TROUPE_F32) line_f32(to, from, n, middle, factor, shift);
    if (dtype == TROUPE_F64) line_f64(to, from, n, middle, factor, shift);
    if (dtype == TROUPE_F32 || dtype == TROUPE_F64) return; /* the others are widened */
    for (size_t i = 0; i < n; i += TP_COUNT(wide)) {
        const size_t m = n - i < TP_COUNT(wide) ? n - i : TP_COUNT(wide);
        tp_load_f32(dtype, (const uint16_t *)from + i, 1, m, wide);
        line_f32(wide, wide, m, middle, factor, shift);
        tp_store_f32(dtype, wide, m, (uint16_t *)to + i, 1);
    }
}

/* --- BatchNormalization ------------------------------------------------------------- */
static troupe_status infer_batch(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    infer->results[0].shape = *x;
    if (tp_int(infer, "training_mode", 0))
        return tp_fail(err, TROUPE_UNSUPPORTED, "BatchNormalization with training_mode true");
    TP_TRY(tp_infer_rank(infer, 0, 1, TROUPE_MAX_RANK, err));
    for (size_t i = 1; i < 5; i++) {
        const struct tp_shape *list = tp_infer_shape(infer, i);
        TP_TRY(tp_infer_rank(infer, i, 1, 1, err));
        if (list->rank != 1 || x->rank == TP_RANK_ANY) continue;
        const int64_t want = x->rank > 1 ? x->dims[1] : 1;
        if (list->dims[0] < 0 || want < 0 || list->dims[0] == want) continue;
        return tp_fail(err, TROUPE_INVALID, "input %zu has %lld elements for %lld channels", i,
                       (long long)list->dims[0], (long long)want);
    }
    return TROUPE_OK;
}

struct batch {
    size_t n, channels, space;
    double epsilon;
    troupe_dtype dtype;
};

static troupe_status run_batch(const struct tp_launch *launch, troupe_error *err)
{
    const struct batch *s = launch->state;
    const size_t part = s->channels * sizeof(double);
    double *scale = launch->workspace, *shift = tp_part(scale, part);
    double *mean = tp_part(scale, 2 * part), *variance = tp_part(scale, 3 * part);
    const size_t plane = s->space * troupe_dtype_size(s->dtype);
    const char *x = tp_in(launch, 0)->data;
    char *y = tp_out(launch, 0)->data;
    (void)err;
    load(tp_in(launch, 1), s->channels, scale);
    load(tp_in(launch, 2), s->channels, shift);
    load(tp_in(launch, 3), s->channels, mean);
    load(tp_in(launch, 4), s->channels, variance);
    for (size_t c = 0; c < s->channels; c++)
        scale[c] /= sqrt(variance[c] + s->epsilon);
    for (size_t i = 0; i < s->n; i++)
        for (size_t c = 0; c < s->channels; c++, x += plane, y += plane)
            line(s->dtype, y, x, s->space, mean[c], scale[c], shift[c]);
    return TROUPE_OK;
}

static troupe_status prepare_batch(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0);
    struct batch *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->n = (size_t)x->dims[0];
    s->channels = x->rank > 1 ? (size_t)x->dims[1] : 1;
    s->space = x->rank > 1 ? tp_span(x, 2, x->rank) : 1;
    s->epsilon = tp_float(node, "epsilon", 1e-5);
    s->dtype = node->inputs[0]->dtype;
    prepare->workspace = 4 * s->channels * sizeof(double);
    prepare->run = run_batch;
    return TROUPE_OK;
}

static const struct tp_port batch_inputs[] = {
    {"x", TP_FLOATS, 1, 0},    {"scale", TP_FLOATS, 2, 0},    {"b", TP_FLOATS, 2, 0},
    {"mean", TP_FLOATS, 3, 0}, {"variance", TP_FLOATS, 3, 0}, TP_LAST};
static const struct tp_port one_result[] = {{"y", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_attr_spec batch_attrs[] = {{"epsilon", TROUPE_ATTR_FLOAT, false},
                                                  {"momentum", TROUPE_ATTR_FLOAT, false},
                                                  {"training_mode", TROUPE_ATTR_INT, false},
                                                  TP_LAST};
static const struct tp_sample batch_samples[] = {
    TP_WORKS(
        "f32[1,2,2]=[[[1,3],[5,9]]] f32[2]=[2,3] f32[2]=[10,20] f32[2]=[1,5] f32[2]=[4,16]",
        "epsilon=0.0", "f32[1,2,2] [[[10, 12], [20, 23]]]"),
    TP_WORKS("f32[2,3,4,5] f32[3] f32[3] f32[3] f32[3]=[1,2,0.5]", NULL, NULL),
    TP_WORKS("f32[4,3] f64[3] f64[3] f32[3] f32[3]=[1,2,0.5]", "epsilon=0.01 momentum=0.5",
             NULL),
    TP_WORKS("f32[5] f32[1] f32[1] f32[1] f32[1]=[2]", NULL, NULL),
    TP_WORKS("f32[2,0,4] f32[0] f32[0] f32[0] f32[0]", NULL, NULL),
    TP_FAILS("f32[2,3,4] f32[3] f32[2] f32[3] f32[3]", NULL, "2 elements for 3"),
    TP_FAILS("f32[2,3] f32[3] f32[3] f32[3] f32[3]", "training_mode=1", "training_mode"),
    {0},
};
const struct tp_op tp_op_BatchNormalization = {
    .name = "BatchNormalization",
    .summary =
        "(x - mean) / sqrt(variance + epsilon) scale + b for each channel of x [n,c,...]",
    .inputs = batch_inputs,
    .results = one_result,
    .attrs = batch_attrs,
    .infer = infer_batch,
    .prepare = prepare_batch,
    .reuse = 1,
    .samples = batch_samples,
};

/* --- LayerNormalization ------------------------------------------------------------- */
static troupe_status infer_layer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    int axis;
    infer->results[0].shape = *x;
    for (size_t i = 1; i < infer->n_results; i++)
        infer->results[i].dtype = TROUPE_F32;
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    TP_TRY(tp_infer_axis(tp_int(infer, "axis", -1), x->rank, &axis, err));
    for (size_t i = 1; i < infer->n_results; i++) {
        infer->results[i].shape = *x;
        for (int d = axis; d < x->rank; d++)
            infer->results[i].shape.dims[d] = 1;
    }
    struct tp_shape within = {.rank = x->rank - axis};
    memcpy(within.dims, x->dims + axis, (size_t)within.rank * sizeof(within.dims[0]));
    for (size_t i = 1; i < 3; i++) {
        const struct tp_shape *list = tp_infer_shape(infer, i);
        struct tp_shape both;
        if (!list || !tp_shape_known(list) || !tp_shape_known(&within)) continue;
        if (tp_shape_broadcast(list, &within, &both, NULL) == TROUPE_OK &&
            tp_shape_equal(&both, &within))
            continue;
        return tp_fail(err, TROUPE_INVALID, "input %zu '%s' %s does not broadcast to %s", i,
                       i == 1 ? "scale" : "b", tp_shape_text(list).text,
                       tp_shape_text(&within).text);
    }
    return TROUPE_OK;
}

struct layer {
    size_t rows, n;
    double epsilon;
    troupe_dtype dtype;
    struct tp_walk walk[2]; /* of scale and b over a row */
};

/* Scale or b for each element of a row. */
static void spread(const struct tp_walk *w, const struct tp_view *view, double *to)
{
    struct tp_walk_at at = {0};
    const size_t size = troupe_dtype_size(view->type->dtype);
    for (size_t r = 0; r < w->runs; r++, tp_walk_next(w, &at), to += w->run)
        tp_load_f64(view->type->dtype, (const char *)view->data + at.element[0] * size,
                    w->moves[0], w->run, to);
}

/* One row in place; gives its mean and the inverse of its deviation. */
static void layer_row(const struct layer *s, double *x, const double *scale, const double *b,
                      double *mean, double *inverse)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += x[i];
    *mean = sum / (double)s->n;
    for (size_t i = 0; i < s->n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inverse = 1 / sqrt(squares / (double)s->n + s->epsilon);
    for (size_t i = 0; i < s->n; i++)
        x[i] = (x[i] - *mean) * *inverse * scale[i] + (b ? b[i] : 0);
}

static troupe_status run_layer(const struct tp_launch *launch, troupe_error *err)
{
    const struct layer *s = launch->state;
    const size_t size = s->n * troupe_dtype_size(s->dtype);
    const struct tp_view *given = tp_in(launch, 2), *means = tp_out(launch, 1);
    const struct tp_view *inverses = tp_out(launch, 2), *out = tp_out(launch, 0);
    const size_t part = s->n * sizeof(double);
    double *row = launch->workspace, *scale = tp_part(row, part);
    double *b = given ? tp_part(row, 2 * part) : NULL;
    (void)err;
    spread(&s->walk[0], tp_in(launch, 1), scale);
    if (b) spread(&s->walk[1], given, b);
    for (size_t i = 0; i < s->rows; i++) {
        double mean, inverse;
        tp_load_f64(s->dtype, (const char *)tp_in(launch, 0)->data + i * size, 1, s->n, row);
        layer_row(s, row, scale, b, &mean, &inverse);
        if (out) tp_store_f64(s->dtype, row, s->n, (char *)out->data + i * size, 1);
        if (means) ((float *)means->data)[i] = (float)mean;
        if (inverses) ((float *)inverses->data)[i] = (float)inverse;
    }
    return TROUPE_OK;
}

static troupe_status prepare_layer(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0);
    int axis;
    TP_TRY(tp_infer_axis(tp_int(node, "axis", -1), x->rank, &axis, err));
    struct layer *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    struct tp_shape within = {.rank = x->rank - axis};
    memcpy(within.dims, x->dims + axis, (size_t)within.rank * sizeof(within.dims[0]));
    for (size_t i = 0; i < 2; i++) {
        const struct tp_shape *list = tp_infer_shape(node, i + 1);
        if (list) tp_walk_make(&s->walk[i], &within, &list, 1);
    }
    s->rows = tp_span(x, 0, axis);
    s->n = tp_span(x, axis, x->rank);
    s->epsilon = tp_float(node, "epsilon", 1e-5);
    s->dtype = node->inputs[0]->dtype;
    prepare->workspace = 3 * s->n * sizeof(double);
    prepare->run = run_layer;
    return TROUPE_OK;
}

static const struct tp_port layer_inputs[] = {{"x", TP_FLOATS, 1, 0},
                                              {"scale", TP_FLOATS, 1, 0},
                                              {"b", TP_FLOATS, 1, TP_OPTIONAL},
                                              TP_LAST};
static const struct tp_port layer_results[] = {{"y", TP_FLOATS, 1, 0},
                                               {"mean", 0, 0, TP_OPTIONAL},
                                               {"inverse", 0, 0, TP_OPTIONAL},
                                               TP_LAST};
static const struct tp_attr_spec layer_attrs[] = {{"axis", TROUPE_ATTR_INT, false},
                                                  {"epsilon", TROUPE_ATTR_FLOAT, false},
                                                  {"stash_type", TROUPE_ATTR_INT, false},
                                                  TP_LAST};
static const struct tp_sample layer_samples[] = {
    TP_WORKS("f32[2,2]=[[1,3],[10,10]] f32[2]=[2,3] f32[2]=[10,20]", "epsilon=0.0625",
             "f32[2,2] [[8.059715, 22.9104275], [10, 20]]"),
    {.inputs = "f32[2,3,5] f32[5] f32[5]", .n_results = 3},
    {.inputs = "f32[2,3,5] f32[3,5]", .attrs = "axis=1 epsilon=0.1", .n_results = 3},
    {.inputs = "f32[2,3,5] f32[3,1] f32[5]", .attrs = "axis=-2", .n_results = 2},
    TP_WORKS("f32[2,3,5] f32[2,3,5] f32[2,3,5]", "axis=0", NULL),
    TP_WORKS("f32[0,5] f32[5]", NULL, NULL),
    TP_FAILS("f32[2,3,5] f32[3]", NULL, "'scale'"),
    TP_FAILS("f32[2,3,5] f32[5] f32[3,5]", NULL, "'b'"),
    TP_FAILS("f32[2,3] f32[3]", "axis=2", "axis"),
    {0},
};
const struct tp_op tp_op_LayerNormalization = {
    .name = "LayerNormalization",
    .summary =
        "x less its mean over its deviation, over all dimensions from axis on, times scale, "
        "plus b",
    .inputs = layer_inputs,
    .results = layer_results,
    .attrs = layer_attrs,
    .infer = infer_layer,
    .prepare = prepare_layer,
    .reuse = 1,
    .samples = layer_samples,
};

/* --- LRN ---------------------------------------------------------------------------- */
static troupe_status infer_lrn(struct tp_infer *infer, troupe_error *err)
{
    const int64_t size = tp_int(infer, "size", 0);
    if (size < 1) return tp_fail(err, TROUPE_INVALID, "size is %lld", (long long)size);
    TP_TRY(tp_infer_rank(infer, 0, 2, TROUPE_MAX_RANK, err));
    return tp_infer_same(infer, err);
}

struct lrn {
    size_t n, channels, space, before, behind; /* channels that count on either side */
    double factor, beta, bias;
    troupe_dtype dtype;
};

/* The planes of one image; squares has room for a plane and x for all. */
#define LRN(name, T, power)                                                                    \
    static void name(const struct lrn *s, const T *x, T *y, T *squares)                        \
    {                                                                                          \
        const T factor = (T)s->factor, beta = (T)s->beta, bias = (T)s->bias;                   \
        for (size_t c = 0; c < s->channels; c++) {                                             \
            const size_t from = c < s->before ? 0 : c - s->before;                             \
            const size_t last =                                                                \
                s->channels - 1 - c < s->behind ? s->channels - 1 : c + s->behind;             \
            for (size_t i = 0; i < s->space; i++)                                              \
                squares[i] = 0;                                                                \
            for (size_t k = from; k <= last; k++)                                              \
                for (size_t i = 0; i < s->space; i++)                                          \
                    squares[i] += x[k * s->space + i] * x[k * s->space + i];                   \
            for (size_t i = 0; i < s->space; i++)                                              \
                y[c * s->space + i] =                                                          \
                    x[c * s->space + i] / power(bias + factor * squares[i], beta);             \
        }                                                                                      \
    }
LRN(lrn_f32, float, powf)
LRN(lrn_f64, double, pow)

static troupe_status run_lrn(const struct tp_launch *launch, troupe_error *err)
{
    const struct lrn *s = launch->state;
    const size_t image = s->channels * s->space, size = image * troupe_dtype_size(s->dtype);
    const char *x = tp_in(launch, 0)->data;
    char *y = tp_out(launch, 0)->data;
    float *wide = launch->workspace, *made = tp_part(wide, image * sizeof(float));
    float *squares = tp_part(wide, 2 * image * sizeof(float));
    (void)err;
    for (size_t i = 0; image > 0 && i < s->n; i++, x += size, y += size) {
        if (s->dtype == TROUPE_F64) {
            lrn_f64(s, (const double *)x, (double *)y, launch->workspace);
        } else if (s->dtype == TROUPE_F32) {
            lrn_f32(s, (const float *)x, (float *)y, launch->workspace);
        } else {
            tp_load_f32(s->dtype, x, 1, image, wide);
            lrn_f32(s, wide, made, squares);
            tp_store_f32(s->dtype, made, image, y, 1);
        }
    }
    return TROUPE_OK;
}

static troupe_status prepare_lrn(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0);
    const int64_t size = tp_int(node, "size", 0);
    struct lrn *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->n = (size_t)x->dims[0];
    s->channels = (size_t)x->dims[1];
    s->space = tp_span(x, 2, x->rank);
    s->before = (size_t)(size - 1) / 2;
    s->behind = (size_t)size / 2;
    s->factor = tp_float(node, "alpha", 1e-4) / (double)size;
    s->beta = tp_float(node, "beta", 0.75);
    s->bias = tp_float(node, "bias", 1);
    s->dtype = node->inputs[0]->dtype;
    const bool half = wide_of(s->dtype) != s->dtype;
    prepare->workspace =
        half ? (2 * s->channels + 1) * s->space * sizeof(float) : s->space * sizeof(double);
    prepare->run = run_lrn;
    return TROUPE_OK;
}

static const struct tp_port lrn_inputs[] = {{"x", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_attr_spec lrn_attrs[] = {{"alpha", TROUPE_ATTR_FLOAT, false},
                                                {"beta", TROUPE_ATTR_FLOAT, false},
                                                {"bias", TROUPE_ATTR_FLOAT, false},
                                                {"size", TROUPE_ATTR_INT, true},
                                                TP_LAST};
static const struct tp_sample lrn_samples[] = {
    TP_WORKS("f32[1,3]=[[1,2,3]]", "size=3 alpha=3.0 beta=1.0 bias=1.0",
             "f32[1,3] [[0.166666667, 0.133333333, 0.214285714]]"),
    TP_WORKS("f32[2,5,3,3]", "size=3", NULL),
    TP_WORKS("f32[1,5,4]", "size=4 alpha=0.5 beta=0.5 bias=2.0", NULL),
    TP_WORKS("f32[1,3,4]", "size=9223372036854775807", NULL),
    TP_WORKS("f32[0,5,3,3]", "size=3", NULL),
    TP_FAILS("f32[1,5,3]", "size=0", "size"),
    TP_FAILS("f32[1,5,3]", NULL, "size"),
    TP_FAILS("f32[5]", "size=1", "rank 1"),
    {0},
};
const struct tp_op tp_op_LRN = {
    .name = "LRN",
    .summary =
        "x over (bias + alpha / size times the squares of size channels around it) to beta",
    .inputs = lrn_inputs,
    .results = one_result,
    .attrs = lrn_attrs,
    .infer = infer_lrn,
    .prepare = prepare_lrn,
    .samples = lrn_samples,
};
