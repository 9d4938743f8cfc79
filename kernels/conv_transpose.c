/* SPDX-License-Identifier: MIT
 *
 * kernels/conv_transpose.c - ConvTranspose: each element of x adds its window to the result.
 *
 * The weights, turned, times a tile of x give for each tap of the window a row of what it adds;
 * rows are then added where they belong.
 */
#include "kernels/blas.h"
#include "kernels/convert.h"
#include "kernels/dense.h"
#include "kernels/ops.h"
#include "kernels/window.h"

#define LARGEST INT32_MAX /* of a number in an attribute: sums of a few cannot overflow */

/* --- shapes ------------------------------------------------------------------------- */
/* Number i of a list attribute of `rank` numbers, or `otherwise`. */
static troupe_status read_number(const struct tp_infer *node, const char *name, int rank, int i,
                                 int64_t otherwise, int64_t *out, troupe_error *err)
{
    size_t n;
    const int64_t *list = tp_attr_ints(node->attrs, node->n_attrs, name, &n);
    const int64_t least = otherwise > 0 ? 1 : 0;
    *out = otherwise;
    if (!list) return TROUPE_OK; /* absent */
    if (n != (size_t)rank)
        return tp_fail(err, TROUPE_INVALID, "%s has %zu numbers, not %d", name, n, rank);
    *out = list[i];
    if (list[i] >= least && list[i] <= LARGEST) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "%s has %lld", name, (long long)list[i]);
}

/* Padding so that dimension d has `wanted` outputs; the odd element goes to the beginning, with
 * SAME_UPPER to the end. */
static void pad_for(struct tp_window *w, int d, int64_t whole, int64_t wanted, bool upper)
{
    const int64_t all = whole > wanted ? whole - wanted : 0;
    w->out[d] = wanted;
    w->begin[d] = upper ? all / 2 : all - all / 2;
    w->end[d] = all - w->begin[d];
}

/* Spatial dimension i of `rank`. */
static troupe_status make_dim(struct tp_window *w, const struct tp_infer *node, int rank, int i,
                              int64_t in, int64_t kernel, troupe_error *err)
{
    const char *mode = tp_attr_text(node->attrs, node->n_attrs, "auto_pad", "NOTSET");
    const bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    const bool set = strcmp(mode, "NOTSET") == 0;
    const int d = TP_SPACE - rank + i;
    int64_t extra, wanted;
    if (!upper && !lower && !set && strcmp(mode, "VALID") != 0)
        return tp_fail(err, TROUPE_INVALID, "auto_pad is '%s'", mode);
    if (kernel < 1 || kernel > LARGEST)
        return tp_fail(err, TROUPE_INVALID, "the window has %lld elements along a dimension",
                       (long long)kernel);
    w->in[d] = in;
    w->kernel[d] = kernel;
    TP_TRY(read_number(node, "strides", rank, i, 1, &w->stride[d], err));
    TP_TRY(read_number(node, "dilations", rank, i, 1, &w->dilation[d], err));
    TP_TRY(read_number(node, "output_padding", rank, i, 0, &extra, err));
    TP_TRY(read_number(node, "output_shape", rank, i, 0, &wanted, err));
    TP_TRY(read_number(node, "pads", 2 * rank, i, 0, &w->begin[d], err));
    TP_TRY(read_number(node, "pads", 2 * rank, rank + i, 0, &w->end[d], err));
    if (!set) w->begin[d] = w->end[d] = 0;
    w->out[d] = wanted > 0 ? wanted : TP_DIM_ANY;
    if (in < 0) return TROUPE_OK; /* not known yet */
    int64_t whole, same;
    if (__builtin_mul_overflow(w->stride[d], in, &same) ||
        __builtin_add_overflow(same - w->stride[d], extra + (kernel - 1) * w->dilation[d] + 1,
                               &whole))
        return tp_fail(err, TROUPE_INVALID, "the result has too many elements");
    if (in == 0) whole = 0;
    if (wanted > 0)
        pad_for(w, d, whole, wanted, upper);
    else if (upper || lower)
        pad_for(w, d, whole, same, upper);
    else
        w->out[d] = whole - w->begin[d] - w->end[d];
    if (w->out[d] >= 0) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "padding of %lld takes more than the %lld elements there are",
                   (long long)(w->begin[d] + w->end[d]), (long long)whole);
}

static troupe_status make_window(struct tp_window *w, const struct tp_infer *node, int rank,
                                 const int64_t *in, const int64_t *kernel, troupe_error *err)
{
    for (int d = 0; d < TP_SPACE; d++) {
        w->in[d] = w->out[d] = w->kernel[d] = w->stride[d] = w->dilation[d] = 1;
        w->begin[d] = w->end[d] = 0;
    }
    for (int i = 0; i < rank; i++)
        TP_TRY(make_dim(w, node, rank, i, in ? in[i] : TP_DIM_ANY, kernel[i], err));
    return TROUPE_OK;
}

static troupe_status check_channels(const struct tp_infer *infer, int64_t group,
                                    troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0), *w = tp_infer_shape(infer, 1);
    const struct tp_shape *b = tp_infer_shape(infer, 2);
    if (group < 1) return tp_fail(err, TROUPE_INVALID, "group is %lld", (long long)group);
    if (w->dims[0] >= 0 && w->dims[0] % group != 0) {
        return tp_fail(err, TROUPE_INVALID, "%lld channels of x are not %lld groups",
                       (long long)w->dims[0], (long long)group);
    }
    if (x->rank > 0 && x->dims[1] >= 0 && w->dims[0] >= 0 && x->dims[1] != w->dims[0]) {
        return tp_fail(err, TROUPE_INVALID,
                       "x %s has %lld channels, but the weights %s take %lld",
                       tp_shape_text(x).text, (long long)x->dims[1], tp_shape_text(w).text,
                       (long long)w->dims[0]);
    }
    if (!b || b->rank != 1 || b->dims[0] < 0 || w->dims[1] < 0) return TROUPE_OK; /* unknown */
    int64_t out;
    if (!__builtin_mul_overflow(w->dims[1], group, &out) && b->dims[0] == out) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "input 2 'b' has %lld elements for %lld times %lld channels",
                   (long long)b->dims[0], (long long)w->dims[1], (long long)group);
}

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0), *w = tp_infer_shape(infer, 1);
    const int64_t group = tp_int(infer, "group", 1), *given;
    struct tp_shape out = {.rank = w->rank};
    struct tp_window window;
    for (size_t i = 0; i < 2; i++)
        TP_TRY(tp_infer_rank(infer, i, 3, 2 + TP_SPACE, err));
    TP_TRY(tp_infer_rank(infer, 2, 1, 1, err));
    if (w->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    TP_TRY(tp_infer_rank(infer, 0, w->rank, w->rank, err));
    TP_TRY(check_channels(infer, group, err));
    TP_TRY(tp_window_kernel(infer, w->rank - 2, &given, err));
    bool known = true;
    for (int i = 0; i < w->rank - 2; i++) {
        known &= w->dims[i + 2] >= 0;
        out.dims[i + 2] = TP_DIM_ANY;
        if (!given || w->dims[i + 2] < 0 || given[i] == w->dims[i + 2]) continue;
        return tp_fail(err, TROUPE_INVALID,
                       "kernel_shape has %lld where the weights %s have %lld",
                       (long long)given[i], tp_shape_text(w).text, (long long)w->dims[i + 2]);
    }
    out.dims[0] = x->rank > 0 ? x->dims[0] : TP_DIM_ANY;
    if (w->dims[1] < 0 || __builtin_mul_overflow(w->dims[1], group, &out.dims[1]))
        out.dims[1] = TP_DIM_ANY;
    if (known) {
        TP_TRY(make_window(&window, infer, w->rank - 2, x->rank > 0 ? x->dims + 2 : NULL,
                           w->dims + 2, err));
        for (int i = 0; i < w->rank - 2; i++)
            out.dims[i + 2] = window.out[TP_SPACE - (w->rank - 2) + i];
    }
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static void cost(const struct tp_infer *node, struct tp_cost *out)
{
    const struct tp_shape *x = tp_infer_shape(node, 0), *w = tp_infer_shape(node, 1);
    out->flops = 2;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] > 0) out->flops *= (double)x->dims[i];
    for (int i = 1; i < w->rank; i++)
        if (w->dims[i] > 0) out->flops *= (double)w->dims[i];
}

/* --- running ------------------------------------------------------------------------ */
#define TILE_BYTES (192 * 1024)
#define TILE_LEAST 64

struct state {
    struct tp_window window;
    troupe_dtype dtype, wide;
    size_t size;                      /* bytes of an element of `wide` */
    size_t n, groups, in, out, taps;  /* channels of a group */
    size_t x_space, y_space, tile;    /* tile: elements of a plane of x that go together */
    size_t at_w, at_x, at_rows, at_y; /* in the workspace */
    tp_gemm_fn *product;
    bool half;
};

#define ADD(name, T)                                                                           \
    static void name(T *y, const T *x, size_t step, size_t n)                                  \
    {                                                                                          \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i * step] += x[i];                                                               \
    }                                                                                          \
    static void name##_fill(T *y, size_t n, T value)                                           \
    {                                                                                          \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] = value;                                                                      \
    }
ADD(add_f32, float)
ADD(add_f64, double)

/* Inputs [from, to) along dimension d whose output for a tap exists. */
static void meets(const struct tp_window *w, int d, int64_t tap, int64_t *from, int64_t *to)
{
    const int64_t first = tap * w->dilation[d] - w->begin[d], stride = w->stride[d];
    const int64_t last = w->out[d] - 1 - first;
    *from = first >= 0 ? 0 : (-first + stride - 1) / stride;
    *to = last < 0 ? 0 : last / stride + 1;
    if (*to > w->in[d]) *to = w->in[d];
    if (*from > *to) *from = *to;
}

/* What one tap makes of the elements [from, to) of a plane of x, added to a plane of y. */
static void add_tap(const struct state *s, const int64_t tap[TP_SPACE], const char *row,
                    size_t from, size_t to, char *y)
{
    const struct tp_window *w = &s->window;
    int64_t low[TP_SPACE], high[TP_SPACE];
    for (int d = 0; d < TP_SPACE; d++)
        meets(w, d, tap[d], &low[d], &high[d]);
    for (size_t at = from; at < to;) {
        const size_t line = at / (size_t)w->in[2], begin = at % (size_t)w->in[2];
        const size_t left = (size_t)w->in[2] - begin, n = to - at < left ? to - at : left;
        const int64_t d = (int64_t)line / w->in[1], h = (int64_t)line % w->in[1];
        const int64_t a = low[2] > (int64_t)begin ? low[2] : (int64_t)begin;
        const int64_t b = high[2] < (int64_t)(begin + n) ? high[2] : (int64_t)(begin + n);
        const bool inside = d >= low[0] && d < high[0] && h >= low[1] && h < high[1];
        if (inside && a < b) {
            const int64_t od = d * w->stride[0] + tap[0] * w->dilation[0] - w->begin[0];
            const int64_t oh = h * w->stride[1] + tap[1] * w->dilation[1] - w->begin[1];
            const int64_t ow = a * w->stride[2] + tap[2] * w->dilation[2] - w->begin[2];
            char *o = y + (size_t)((od * w->out[1] + oh) * w->out[2] + ow) * s->size;
            const char *x = row + (at - from + (size_t)a - begin) * s->size;
            if (s->wide == TROUPE_F64)
                add_f64((double *)o, (const double *)x, (size_t)w->stride[2], (size_t)(b - a));
            else
                add_f32((float *)o, (const float *)x, (size_t)w->stride[2], (size_t)(b - a));
        }
        at += n;
    }
}

static void fill_bias(const struct state *s, char *y, const void *b, size_t channel)
{
    double value = 0;
    if (b)
        tp_load_f64(s->dtype, (const char *)b + channel * troupe_dtype_size(s->dtype), 1, 1,
                    &value);
    if (s->wide == TROUPE_F64)
        add_f64_fill((double *)y, s->y_space, value);
    else
        add_f32_fill((float *)y, s->y_space, (float)value);
}

/* One group of one image: all planes of y, which hold the bias. */
static void run_group(const struct state *s, const char *w, const char *x, char *y, char *rows)
{
    const size_t m = s->out * s->taps;
    const int64_t *kernel = s->window.kernel;
    for (size_t from = 0; from < s->x_space; from += s->tile) {
        const size_t to = s->x_space - from < s->tile ? s->x_space : from + s->tile;
        const struct tp_matrix left = {w, 1, m}, right = {x + from * s->size, s->x_space, 1};
        s->product(m, to - from, s->in, left, right, rows, to - from);
        const char *row = rows;
        for (size_t c = 0; c < s->out; c++) {
            int64_t tap[TP_SPACE];
            for (tap[0] = 0; tap[0] < kernel[0]; tap[0]++)
                for (tap[1] = 0; tap[1] < kernel[1]; tap[1]++)
                    for (tap[2] = 0; tap[2] < kernel[2]; tap[2]++) {
                        add_tap(s, tap, row, from, to, y + c * s->y_space * s->size);
                        row += (to - from) * s->size;
                    }
        }
    }
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const struct tp_view *b = tp_in(launch, 2);
    const size_t narrow = troupe_dtype_size(s->dtype), weights = s->in * s->out * s->taps;
    const char *x = tp_in(launch, 0)->data, *w = tp_in(launch, 1)->data;
    char *y = tp_out(launch, 0)->data;
    void *workspace = launch->workspace;
    (void)err;
    if (s->half) {
        tp_load_f32(s->dtype, w, 1, s->groups * weights, tp_part(workspace, s->at_w));
        w = tp_part(workspace, s->at_w);
    }
    for (size_t i = 0; i < s->n * s->groups; i++) {
        const size_t group = i % s->groups;
        const char *planes = x;
        char *sums = s->half ? tp_part(workspace, s->at_y) : y;
        if (s->half) {
            tp_load_f32(s->dtype, x, 1, s->in * s->x_space, tp_part(workspace, s->at_x));
            planes = tp_part(workspace, s->at_x);
        }
        for (size_t c = 0; c < s->out; c++)
            fill_bias(s, sums + c * s->y_space * s->size, b ? b->data : NULL,
                      group * s->out + c);
        run_group(s, w + group * weights * s->size, planes, sums,
                  tp_part(workspace, s->at_rows));
        if (s->half) tp_store_f32(s->dtype, (float *)sums, s->out * s->y_space, y, 1);
        x += s->in * s->x_space * narrow;
        y += s->out * s->y_space * narrow;
    }
    return TROUPE_OK;
}

static size_t lay_out(struct state *s)
{
    const size_t m = s->out * s->taps;
    size_t end = 0;
    s->tile = m ? TILE_BYTES / s->size / m : s->x_space;
    if (s->tile < TILE_LEAST) s->tile = TILE_LEAST;
    if (s->tile > s->x_space) s->tile = s->x_space;
    s->at_w = end;
    if (s->half) end += tp_room(s->groups * s->in * m * s->size);
    s->at_x = end;
    if (s->half) end += tp_room(s->in * s->x_space * s->size);
    s->at_rows = end;
    end += tp_room(m * s->tile * s->size);
    s->at_y = end;
    if (s->half) end += tp_room(s->out * s->y_space * s->size);
    return end;
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0), *w = tp_infer_shape(node, 1);
    struct tp_window window;
    TP_TRY(tp_dense_check(err));
    TP_TRY(make_window(&window, node, w->rank - 2, x->dims + 2, w->dims + 2, err));
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->window = window;
    s->dtype = node->inputs[0]->dtype;
    s->half = s->dtype == TROUPE_F16 || s->dtype == TROUPE_BF16;
    s->wide = s->half ? TROUPE_F32 : s->dtype;
    s->size = troupe_dtype_size(s->wide);
    s->n = (size_t)x->dims[0];
    s->groups = (size_t)tp_int(node, "group", 1);
    s->in = (size_t)w->dims[0] / s->groups;
    s->out = (size_t)w->dims[1];
    s->taps = tp_span(w, 2, w->rank);
    s->x_space = tp_span(x, 2, x->rank);
    s->y_space = (size_t)tp_space(window.out);
    s->product = tp_gemm_find(s->wide);
    const double size = (double)(s->in * s->out * s->taps) * (double)s->x_space;
    if (s->wide == TROUPE_F32 && size >= TP_DENSE_WORTH && tp_dense_allows(TP_DENSE_BLAS) &&
        tp_blas_gemm())
        s->product = tp_blas_gemm();
    prepare->workspace = lay_out(s);
    prepare->run = run;
    return TROUPE_OK;
}

static const struct tp_port inputs[] = {
    {"x", TP_FLOATS, 1, 0}, {"w", TP_FLOATS, 1, 0}, {"b", TP_FLOATS, 1, TP_OPTIONAL}, TP_LAST};
static const struct tp_port results[] = {{"y", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"auto_pad", TROUPE_ATTR_STRING, false},
                                            {"dilations", TROUPE_ATTR_INTS, false},
                                            {"group", TROUPE_ATTR_INT, false},
                                            {"kernel_shape", TROUPE_ATTR_INTS, false},
                                            {"output_padding", TROUPE_ATTR_INTS, false},
                                            {"output_shape", TROUPE_ATTR_INTS, false},
                                            {"pads", TROUPE_ATTR_INTS, false},
                                            {"strides", TROUPE_ATTR_INTS, false},
                                            TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS("f32[1,1,2,2]=[[[[1,2],[3,4]]]] f32[1,1,2,2]=[[[[1,10],[100,1000]]]] f32[1]=[0.5]",
             NULL,
             "f32[1,1,3,3] [[[[1.5, 12.5, 20.5], [103.5, 1234.5, 2040.5], "
             "[300.5, 3400.5, 4000.5]]]]"),
    TP_WORKS("f32[1,1,2]=[[[1,2]]] f32[1,1,2]=[[[1,10]]]", "strides=[3] output_padding=[1]",
             "f32[1,1,6] [[[1, 10, 0, 2, 20, 0]]]"),
    TP_WORKS("f32[2,3,5,6] f32[3,4,3,3] f32[4]", "strides=[2,1] pads=[1,0,1,2]", NULL),
    TP_WORKS("f32[1,4,5,4] f32[4,3,2,3] f32[6]", "group=2 dilations=[2,2] strides=[1,2]", NULL),
    TP_WORKS("f32[1,6,4,4] f32[6,1,2,2]", "group=6 strides=[2,2]", NULL),
    TP_WORKS("f32[1,2,7] f32[2,3,4]", "strides=[3] pads=[2,1]", NULL),
    TP_WORKS("f32[1,2,3,4,2] f32[2,2,2,3,2]", "strides=[2,1,2] pads=[1,0,0,0,1,1]", NULL),
    TP_WORKS("f32[1,2,3,3] f32[2,2,3,3]", "auto_pad=\"SAME_UPPER\" strides=[2,2]", NULL),
    TP_WORKS("f32[1,2,3,3] f32[2,2,4,4]", "auto_pad=\"SAME_LOWER\" strides=[1,3]", NULL),
    TP_WORKS("f32[1,2,3,3] f32[2,2,3,3]",
             "output_shape=[10,8] strides=[3,2] output_padding=[1,1]", NULL),
    TP_WORKS("f32[1,2,3,3] f32[2,2,2,2]", "auto_pad=\"VALID\" pads=[1,1,1,1]", NULL),
    TP_WORKS("f32[1,16,16,16] f32[16,24,2,2] f32[24]", "strides=[2,2]", NULL),
    TP_WORKS("f32[0,2,3,3] f32[2,2,2,2]", NULL, NULL),
    TP_FAILS("f32[1,3,3,3] f32[2,2,2,2]", NULL, "3 channels"),
    TP_FAILS("f32[1,3,3,3] f32[3,2,2,2]", "group=2", "groups"),
    TP_FAILS("f32[1,2,3,3] f32[2,2,2,2] f32[3]", NULL, "3 elements"),
    TP_FAILS("f32[1,2,1,1] f32[2,2,2,2]", "pads=[3,0,0,0]", "padding"),
    TP_FAILS("f32[1,2,3,3] f32[2,2,2,2]", "strides=[2]", "strides"),
    TP_FAILS("f32[1,2,3,3] f32[2,2,2,2]", "dilations=[0,1]", "dilations"),
    TP_FAILS("f32[1,2,3,3] f32[2,2,2,2]", "auto_pad=\"SAME\"", "auto_pad"),
    TP_FAILS("f32[1,2,3,3] f32[2,2,2,2]", "kernel_shape=[2,3]", "kernel_shape"),
    TP_FAILS("f32[1,2,3] f32[2,2,2,2]", NULL, "rank 3"),
    {0},
};
const struct tp_op tp_op_ConvTranspose = {
    .name = "ConvTranspose",
    .summary =
        "the transpose of a convolution: each element of x [n,c,space] adds its window, times "
        "weights w [c,m/group,window], to the result, which starts from b [m]",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare,
    .cost = cost,
    .samples = samples,
};
