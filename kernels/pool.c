/* SPDX-License-Identifier: MIT
 *
 * kernels/pool.c - MaxPool and AveragePool over windows.
 *
 * Planes of f32 and of what is widened to it have code of their own, but for windows with
 * dilations or three dimensions. Else values go a tap of the window at a time: each adds a
 * shifted row to the rows of the result. Only where the places of maxima are wanted are windows
 * looked at one by one.
 */
#include "kernels/convert.h"
#include "kernels/dense.h"
#include "kernels/ops.h"
#include "kernels/pool_plane.h"

/* --- shapes ------------------------------------------------------------------------- */
static troupe_status make_window(const struct tp_infer *node, struct tp_window *window,
                                 troupe_error *err)
{
    const int rank = tp_infer_shape(node, 0)->rank - 2;
    const int64_t *kernel;
    TP_TRY(tp_window_kernel(node, rank, &kernel, err));
    return tp_window_make(window, node, rank, kernel, err);
}

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    struct tp_window window;
    TP_TRY(tp_infer_rank(infer, 0, 3, 2 + TP_SPACE, err));
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    TP_TRY(make_window(infer, &window, err));
    struct tp_shape out = *x;
    for (int i = 2; i < x->rank; i++)
        out.dims[i] = window.out[TP_SPACE - x->rank + i];
    for (size_t i = 0; i < infer->n_results; i++)
        infer->results[i].shape = out;
    return TROUPE_OK;
}

static void cost(const struct tp_infer *node, struct tp_cost *out)
{
    const struct tp_shape *y = &node->results[0].shape;
    size_t n;
    const int64_t *kernel = tp_attr_ints(node->attrs, node->n_attrs, "kernel_shape", &n);
    double flops = 1;
    for (int i = 0; i < y->rank; i++)
        if (y->dims[i] > 0) flops *= (double)y->dims[i];
    for (size_t i = 0; i < n; i++)
        flops *= (double)kernel[i];
    out->flops = flops;
}

/* --- rows --------------------------------------------------------------------------- */
typedef void row_fn(void *y, const void *x, size_t step, size_t n);
typedef void fill_fn(void *y, size_t n);

/* y = what is left of y and x, `step` apart, by `value` of m, so far, and v. */
#define ROW(name, T, value)                                                                    \
    static void name(void *to, const void *from, size_t step, size_t n)                        \
    {                                                                                          \
        T *y = to;                                                                             \
        const T *x = from;                                                                     \
        if (step == 1) {                                                                       \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++) {                                                   \
                const T m = y[i], v = x[i];                                                    \
                y[i] = (T)(value);                                                             \
            }                                                                                  \
            return;                                                                            \
        }                                                                                      \
        for (size_t i = 0; i < n; i++) {                                                       \
            const T m = y[i], v = x[i * step];                                                 \
            y[i] = (T)(value);                                                                 \
        }                                                                                      \
    }
#define FILL(name, T, value)                                                                   \
    static void name(void *to, size_t n)                                                       \
    {                                                                                          \
        T *y = to;                                                                             \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] = (value);                                                                    \
    }
ROW(max_f32, float, v > m || v != v ? v : m)
ROW(max_f64, double, v > m || v != v ? v : m)
ROW(max_i8, int8_t, v > m ? v : m)
ROW(max_u8, uint8_t, v > m ? v : m)
ROW(sum_f32, float, m + v)
ROW(sum_f64, double, m + v)
FILL(least_f32, float, -__builtin_inff())
FILL(least_f64, double, -__builtin_inf())
FILL(least_i8, int8_t, INT8_MIN)
FILL(least_u8, uint8_t, 0)
FILL(zero_f32, float, 0)
FILL(zero_f64, double, 0)

static const struct way {
    row_fn *row;
    fill_fn *fill;
} max_ways[TP_DTYPES] =
    {
        [TROUPE_F32] = {max_f32, least_f32},
        [TROUPE_F64] = {max_f64, least_f64},
        [TROUPE_I8] = {max_i8, least_i8},
        [TROUPE_U8] = {max_u8, least_u8},
},
  sum_ways[TP_DTYPES] = {
      [TROUPE_F32] = {sum_f32, zero_f32},
      [TROUPE_F64] = {sum_f64, zero_f64},
};

/* --- planes ------------------------------------------------------------------------- */
struct state {
    struct tp_window window;
    struct tp_pool_plane plane; /* when simple */
    struct way way;
    troupe_dtype dtype, wide; /* wide: in which it is computed */
    size_t planes, x_space, y_space;
    size_t at_y; /* in the workspace, after a widened plane of x */
    bool simple, half, average, with_pads, by_column;
    int64_t counts[]; /* of a mean: elements of each window, see count_taps */
};

static void add_tap(const struct state *s, const int64_t tap[TP_SPACE], const char *x, char *y)
{
    const struct tp_window *w = &s->window;
    const int64_t size = (int64_t)troupe_dtype_size(s->wide);
    int64_t from[TP_SPACE], to[TP_SPACE], first[TP_SPACE];
    for (int d = 0; d < TP_SPACE; d++) {
        tp_window_range(w, d, tap[d], &from[d], &to[d]);
        first[d] = tap[d] * w->dilation[d] - w->begin[d];
    }
    if (from[2] == to[2]) return; /* it meets nothing */
    for (int64_t d = from[0]; d < to[0]; d++)
        for (int64_t h = from[1]; h < to[1]; h++) {
            const int64_t in =
                ((d * w->stride[0] + first[0]) * w->in[1] + h * w->stride[1] + first[1]) *
                    w->in[2] +
                from[2] * w->stride[2] + first[2];
            const int64_t out = (d * w->out[1] + h) * w->out[2] + from[2];
            s->way.row(y + out * size, x + in * size, (size_t)w->stride[2],
                       (size_t)(to[2] - from[2]));
        }
}

/* Taps of the window of output i that lie in [low, high) of the input. */
static int64_t taps_within(const struct tp_window *w, int d, int64_t i, int64_t low,
                           int64_t high)
{
    const int64_t first = i * w->stride[d] - w->begin[d];
    int64_t n = 0;
    for (int64_t k = 0; k < w->kernel[d]; k++) {
        const int64_t at = first + k * w->dilation[d];
        n += at >= low && at < high;
    }
    return n;
}

/* What counts of each window along each dimension: the state's list, one dimension after
 * another. */
static void count_taps(struct state *s)
{
    const struct tp_window *w = &s->window;
    int64_t *count = s->counts;
    for (int d = 0; d < TP_SPACE; d++) {
        const int64_t low = s->with_pads ? -w->begin[d] : 0;
        const int64_t high = w->in[d] + (s->with_pads ? w->end[d] : 0);
        for (int64_t i = 0; i < w->out[d]; i++)
            *count++ = taps_within(w, d, i, low, high);
    }
}

#define DIVIDE(name, T)                                                                        \
    static void name(T *y, int64_t n, T by)                                                    \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                        \
            y[i] /= by;                                                                        \
    }
DIVIDE(divide_f32, float)
DIVIDE(divide_f64, double)

/* Sums to means: a row, whose windows have `rows` times the elements of `wide`. */
static void divide_row(const struct state *s, int64_t rows, const int64_t *wide, void *y)
{
    int64_t end;
    for (int64_t c = 0; c < s->window.out[2]; c = end) {
        for (end = c + 1; end < s->window.out[2] && wide[end] == wide[c];)
            end++;
        if (s->wide == TROUPE_F64)
            divide_f64((double *)y + c, end - c, (double)(rows * wide[c]));
        else
            divide_f32((float *)y + c, end - c, (float)(rows * wide[c]));
    }
}

static void divide(const struct state *s, char *y)
{
    const struct tp_window *w = &s->window;
    const int64_t *deep = s->counts, *high = deep + w->out[0], *wide = high + w->out[1];
    const size_t row = (size_t)w->out[2] * troupe_dtype_size(s->wide);
    for (int64_t d = 0; d < w->out[0]; d++)
        for (int64_t h = 0; h < w->out[1]; h++, y += row)
            divide_row(s, deep[d] * high[h], wide, y);
}

static void add_taps(const struct state *s, const char *x, char *sums)
{
    const int64_t *kernel = s->window.kernel;
    int64_t tap[TP_SPACE];
    s->way.fill(sums, s->y_space);
    for (tap[0] = 0; tap[0] < kernel[0]; tap[0]++)
        for (tap[1] = 0; tap[1] < kernel[1]; tap[1]++)
            for (tap[2] = 0; tap[2] < kernel[2]; tap[2]++)
                add_tap(s, tap, x, sums);
}

static void run_plane(const struct state *s, const char *x, char *y, void *workspace)
{
    char *sums = s->half ? tp_part(workspace, s->at_y) : y;
    if (s->half) {
        tp_load_f32(s->dtype, x, 1, s->x_space, (float *)workspace);
        x = workspace;
    }
    if (s->simple)
        tp_pool_plane_run(&s->plane, (const float *)x, (float *)sums);
    else
        add_taps(s, x, sums);
    if (s->average) divide(s, sums);
    if (s->half) tp_store_f32(s->dtype, (float *)sums, s->y_space, y, 1);
}

/* --- places of maxima --------------------------------------------------------------- */
/* The first greatest element of one window, or its first NaN: the place in the plane, or -1. */
static int64_t find_greatest(const struct state *s, const double *x, const int64_t at[TP_SPACE])
{
    const struct tp_window *w = &s->window;
    int64_t tap[TP_SPACE], i[TP_SPACE], best = -1;
    for (tap[0] = 0; tap[0] < w->kernel[0]; tap[0]++)
        for (tap[1] = 0; tap[1] < w->kernel[1]; tap[1]++)
            for (tap[2] = 0; tap[2] < w->kernel[2]; tap[2]++) {
                bool meets = true;
                for (int d = 0; d < TP_SPACE; d++) {
                    i[d] = at[d] * w->stride[d] - w->begin[d] + tap[d] * w->dilation[d];
                    meets &= i[d] >= 0 && i[d] < w->in[d];
                }
                if (!meets) continue;
                const int64_t here = (i[0] * w->in[1] + i[1]) * w->in[2] + i[2];
                if (best >= 0 && x[best] != x[best]) return best;
                if (best < 0 || x[here] > x[best] || x[here] != x[here]) best = here;
            }
    return best;
}

/* A place as it is counted when the first dimension moves fastest. */
static int64_t by_column(const struct tp_window *w, int64_t place)
{
    const int64_t c = place % w->in[2], rest = place / w->in[2];
    return rest / w->in[1] + w->in[0] * (rest % w->in[1] + w->in[1] * c);
}

static void find_places(const struct state *s, size_t plane, const void *x, int64_t *places,
                        double *wide)
{
    const struct tp_window *w = &s->window;
    int64_t at[TP_SPACE];
    tp_load_f64(s->dtype, x, 1, s->x_space, wide);
    for (at[0] = 0; at[0] < w->out[0]; at[0]++)
        for (at[1] = 0; at[1] < w->out[1]; at[1]++)
            for (at[2] = 0; at[2] < w->out[2]; at[2]++) {
                const int64_t place = find_greatest(s, wide, at);
                const int64_t shown = s->by_column && place >= 0 ? by_column(w, place) : place;
                *places++ = (int64_t)(plane * s->x_space) + shown;
            }
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const size_t size = troupe_dtype_size(s->dtype);
    const char *x = tp_in(launch, 0)->data;
    const struct tp_view *places = tp_out(launch, 1), *out = tp_out(launch, 0);
    char *y = out ? out->data : NULL;
    (void)err;
    for (size_t i = 0; i < s->planes; i++) {
        const char *plane = x + i * s->x_space * size;
        if (y) run_plane(s, plane, y + i * s->y_space * size, launch->workspace);
        if (places)
            find_places(s, i, plane, (int64_t *)places->data + i * s->y_space,
                        launch->workspace);
    }
    return TROUPE_OK;
}

static troupe_status prepare_pool(struct tp_prepare *prepare, const struct way ways[TP_DTYPES],
                                  bool average, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0);
    struct tp_window window;
    TP_TRY(make_window(node, &window, err));
    const int64_t counts = average ? window.out[0] + window.out[1] + window.out[2] : 0;
    struct state *s =
        tp_kernel_state(prepare, sizeof(*s) + (size_t)counts * sizeof(s->counts[0]), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->window = window;
    s->dtype = node->inputs[0]->dtype;
    s->half = s->dtype == TROUPE_F16 || s->dtype == TROUPE_BF16;
    s->wide = s->half ? TROUPE_F32 : s->dtype;
    s->way = ways[s->wide];
    s->simple = s->wide == TROUPE_F32 && tp_pool_plane_make(&s->plane, &window, average);
    s->average = average;
    s->with_pads = tp_int(node, "count_include_pad", 0) != 0;
    s->by_column = tp_int(node, "storage_order", 0) != 0;
    if (average) count_taps(s);
    s->planes = tp_span(x, 0, 2);
    s->x_space = tp_span(x, 2, x->rank);
    s->y_space = (size_t)tp_space(window.out);
    s->at_y = tp_room(s->x_space * sizeof(float));
    if (s->half) prepare->workspace = s->at_y + s->y_space * sizeof(float);
    const size_t wide = s->x_space * sizeof(double);
    if (node->n_results > 1 && prepare->workspace < wide) prepare->workspace = wide;
    prepare->run = run;
    return TROUPE_OK;
}

static troupe_status prepare_max(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_pool(prepare, max_ways, false, err);
}

static troupe_status prepare_average(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_pool(prepare, sum_ways, true, err);
}

/* --- rows of the ops ---------------------------------------------------------------- */
#define MAX_TYPES (TP_FLOATS | TP_TYPE(I8) | TP_TYPE(U8))
static const struct tp_port max_inputs[] = {{"x", MAX_TYPES, 1, 0}, TP_LAST};
static const struct tp_port max_results[] = {
    {"y", MAX_TYPES, 1, 0}, {"indices", TP_TYPE(I64), 0, TP_OPTIONAL}, TP_LAST};
static const struct tp_port average_inputs[] = {{"x", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_port average_results[] = {{"y", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_attr_spec max_attrs[] = {
    {"auto_pad", TROUPE_ATTR_STRING, false}, {"ceil_mode", TROUPE_ATTR_INT, false},
    {"dilations", TROUPE_ATTR_INTS, false},  {"kernel_shape", TROUPE_ATTR_INTS, true},
    {"pads", TROUPE_ATTR_INTS, false},       {"storage_order", TROUPE_ATTR_INT, false},
    {"strides", TROUPE_ATTR_INTS, false},    TP_LAST};
static const struct tp_attr_spec average_attrs[] = {
    {"auto_pad", TROUPE_ATTR_STRING, false},       {"ceil_mode", TROUPE_ATTR_INT, false},
    {"count_include_pad", TROUPE_ATTR_INT, false}, {"dilations", TROUPE_ATTR_INTS, false},
    {"kernel_shape", TROUPE_ATTR_INTS, true},      {"pads", TROUPE_ATTR_INTS, false},
    {"strides", TROUPE_ATTR_INTS, false},          TP_LAST};
#define COMMON_SAMPLES                                                                         \
    TP_WORKS("f32[2,3,9,8]", "kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]", NULL),         \
        TP_WORKS("f32[1,2,7,7]", "kernel_shape=[2,2] strides=[2,2] ceil_mode=1", NULL),        \
        TP_WORKS("f32[1,2,7,7]",                                                               \
                 "kernel_shape=[3,3] strides=[3,3] pads=[0,1,1,1] ceil_mode=1", NULL),         \
        TP_WORKS("f32[1,2,9,9]", "kernel_shape=[2,3] dilations=[3,2]", NULL),                  \
        TP_WORKS("f32[1,2,8,7]", "kernel_shape=[3,2] auto_pad=\"SAME_UPPER\" strides=[2,2]",   \
                 NULL),                                                                        \
        TP_WORKS("f32[1,2,8,7]", "kernel_shape=[2,3] auto_pad=\"SAME_LOWER\"", NULL),          \
        TP_WORKS("f32[2,3,17]", "kernel_shape=[4] strides=[3]", NULL),                         \
        TP_WORKS("f32[1,2,5,6,7]", "kernel_shape=[2,3,2] strides=[2,1,2]", NULL),              \
        TP_WORKS("f32[2,3,8,14]", "kernel_shape=[2,2] strides=[2,2]", NULL),                   \
        TP_WORKS("f32[1,2,9,13]", "kernel_shape=[3,3] pads=[1,1,1,1]", NULL),                  \
        TP_WORKS("f32[1,2,12,19]", "kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]", NULL),   \
        TP_WORKS("f32[1,2,9,12]", "kernel_shape=[4,5] pads=[3,2,3,2]", NULL),                  \
        TP_WORKS("f32[1,2,9,25]", "kernel_shape=[2,4] pads=[0,3,1,2] strides=[1,3]", NULL),    \
        TP_WORKS("f32[0,2,7,7]", "kernel_shape=[2,2]", NULL),                                  \
        TP_FAILS("f32[1,2,3,3]", "kernel_shape=[4,4]", "does not fit"),                        \
        TP_FAILS("f32[1,2,3,3]", "kernel_shape=[2]", "kernel_shape"),                          \
        TP_FAILS("f32[1,2,3,3]", NULL, "kernel_shape"),                                        \
        TP_FAILS("f32[2,3]", "kernel_shape=[1]", "rank 2")
static const struct tp_sample max_samples[] = {
    TP_WORKS("f32[1,1,3,3]=[[[[1,2,3],[nan,5,6],[9,8,7]]]]", "kernel_shape=[2,2]",
             "f32[1,1,2,2] [[[[nan, 6], [nan, 8]]]]"),
    TP_WORKS("f32[1,1,2,10]=[[[[1,2,3,nan,5,6,7,8,1,2],[2,1,-inf,4,nan,5,8,7,2,3]]]]",
             "kernel_shape=[2,2] strides=[2,2]", "f32[1,1,1,5] [[[[2, nan, nan, 8, 3]]]]"),
    {.inputs = "f32[2,1,4,5]", .attrs = "kernel_shape=[2,3] strides=[2,1]", .n_results = 2},
    {.inputs = "f32[1,2,5,5]",
     .attrs = "kernel_shape=[3,3] pads=[2,2,2,2] storage_order=1",
     .n_results = 2},
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample average_samples[] = {
    TP_WORKS("f32[1,1,2,2]=[[[[1,2],[3,6]]]]", "kernel_shape=[2,2] pads=[1,1,0,0]",
             "f32[1,1,2,2] [[[[1, 1.5], [2, 3]]]]"),
    TP_WORKS("f32[1,1,2,2]=[[[[1,2],[3,6]]]]",
             "kernel_shape=[2,2] pads=[1,1,0,0] count_include_pad=1",
             "f32[1,1,2,2] [[[[0.25, 0.75], [1, 3]]]]"),
    TP_WORKS("f32[1,2,7,7]",
             "kernel_shape=[3,3] strides=[3,3] pads=[0,1,1,1] ceil_mode=1 count_include_pad=1",
             NULL),
    COMMON_SAMPLES,
    {0},
};
const struct tp_op tp_op_MaxPool = {
    .name = "MaxPool",
    .summary =
        "the greatest element of each window of x [n,c,space], and where it stands; NaN is "
        "greatest",
    .inputs = max_inputs,
    .results = max_results,
    .attrs = max_attrs,
    .infer = infer,
    .prepare = prepare_max,
    .cost = cost,
    .samples = max_samples,
};
const struct tp_op tp_op_AveragePool = {
    .name = "AveragePool",
    .summary = "the mean of each window of x [n,c,space], over what lies in x unless "
               "count_include_pad is set",
    .inputs = average_inputs,
    .results = average_results,
    .attrs = average_attrs,
    .infer = infer,
    .prepare = prepare_average,
    .cost = cost,
    .samples = average_samples,
};
