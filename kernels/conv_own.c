/* SPDX-License-Identifier: MIT
 *
 * kernels/conv_own.c - convolution by our own code, for every type.
 *
 * With four and more channels of the result in a group, what the windows meet is gathered into
 * a matrix, a tile of outputs at a time, and multiplied by the weights. With fewer, each tap of
 * the window adds a shifted row.
 */
#include <string.h>

#include "kernels/blas.h"
#include "kernels/conv.h"
#include "kernels/convert.h"
#include "kernels/dense.h"

#define TILE_BYTES (192 * 1024) /* of gathered elements, to stay in the second-level cache */
#define TILE_LEAST 64           /* outputs */

struct state {
    struct tp_conv conv;
    troupe_dtype wide; /* in which it is computed */
    size_t size;       /* bytes of an element of it */
    size_t tile;       /* outputs of a tile */
    bool plain;        /* the window is one element: x is the matrix */
    bool half;
    tp_gemm_fn *product;
    float *w;                            /* the weights widened once, or NULL */
    size_t at_w, at_x, at_columns, at_y; /* in the workspace */
};

/* --- gathering ---------------------------------------------------------------------- */
/* n elements, `step` apart. */
static void copy_spaced(const char *from, size_t step, size_t size, size_t n, char *to)
{
    if (step == 1) {
        memcpy(to, from, n * size);
    } else if (size == sizeof(float)) {
        for (size_t i = 0; i < n; i++)
            ((float *)to)[i] = ((const float *)from)[i * step];
    } else {
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * size, from + i * step * size, size);
    }
}

/* Outputs [from, to) of one row, whose tap meets row `in` of x, or padding when it is NULL. */
static void gather_row(const struct tp_window *w, int64_t tap, const char *in, size_t size,
                       int64_t from, int64_t to, char *out)
{
    int64_t a = to, b = to;
    if (in) tp_window_range(w, 2, tap, &a, &b);
    if (a < from) a = from;
    if (a > to) a = to;
    if (b > to) b = to;
    if (b < a) b = a;
    memset(out, 0, (size_t)(a - from) * size);
    out += (size_t)(a - from) * size;
    if (b > a) {
        const int64_t first = a * w->stride[2] + tap * w->dilation[2] - w->begin[2];
        copy_spaced(in + (size_t)first * size, (size_t)w->stride[2], size, (size_t)(b - a),
                    out);
    }
    memset(out + (size_t)(b - a) * size, 0, (size_t)(to - b) * size);
}

void tp_conv_gather(const struct tp_window *w, const int64_t tap[TP_SPACE], const void *plane,
                    size_t size, size_t from, size_t to, void *out)
{
    const size_t wide = (size_t)w->out[2];
    char *o = out;
    for (size_t at = from; at < to;) {
        const size_t row = at / wide, begin = at % wide;
        const size_t end = to - at < wide - begin ? begin + (to - at) : wide;
        const int64_t d = (int64_t)(row / (size_t)w->out[1]) * w->stride[0] +
                          tap[0] * w->dilation[0] - w->begin[0];
        const int64_t h = (int64_t)(row % (size_t)w->out[1]) * w->stride[1] +
                          tap[1] * w->dilation[1] - w->begin[1];
        const bool meets = d >= 0 && d < w->in[0] && h >= 0 && h < w->in[1];
        const char *in = (const char *)plane;
        if (meets) in += (size_t)((d * w->in[1] + h) * w->in[2]) * size;
        gather_row(w, tap[2], meets ? in : NULL, size, (int64_t)begin, (int64_t)end, o);
        o += (end - begin) * size;
        at += end - begin;
    }
}

/* A tile of the matrix: a row for each channel and tap. */
static void gather_tile(const struct tp_conv *c, const char *x, size_t size, size_t from,
                        size_t to, char *columns)
{
    const struct tp_window *w = &c->window;
    for (size_t i = 0; i < c->in; i++, x += c->x_space * size) {
        int64_t tap[TP_SPACE];
        for (tap[0] = 0; tap[0] < w->kernel[0]; tap[0]++)
            for (tap[1] = 0; tap[1] < w->kernel[1]; tap[1]++)
                for (tap[2] = 0; tap[2] < w->kernel[2]; tap[2]++) {
                    tp_conv_gather(w, tap, x, size, from, to, columns);
                    columns += (to - from) * size;
                }
    }
}

/* --- a group of one image ----------------------------------------------------------- */
#define ADD_BIAS(name, T)                                                                      \
    static void name(T *y, size_t n, T b)                                                      \
    {                                                                                          \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] += b;                                                                         \
    }
ADD_BIAS(add_bias_f32, float)
ADD_BIAS(add_bias_f64, double)

static void add_bias(const struct state *s, void *y, size_t n, const void *b, size_t channel)
{
    float wide;
    if (!b) return;
    if (s->wide == TROUPE_F64) {
        add_bias_f64(y, n, ((const double *)b)[channel]);
        return;
    }
    tp_load_f32(s->conv.dtype, (const char *)b + channel * troupe_dtype_size(s->conv.dtype), 1,
                1, &wide);
    add_bias_f32(y, n, wide);
}

/* By the matrix product, a tile at a time. y is the result's first element of the group. */
static void run_tiles(const struct state *s, const char *w, const char *x, const void *b,
                      size_t channel, char *y, void *workspace)
{
    const struct tp_conv *c = &s->conv;
    const size_t k = c->in * c->taps, narrow = troupe_dtype_size(c->dtype);
    for (size_t from = 0; from < c->y_space; from += s->tile) {
        const size_t to = c->y_space - from < s->tile ? c->y_space : from + s->tile;
        const size_t n = to - from;
        char *columns = tp_part(workspace, s->at_columns);
        if (!s->plain) gather_tile(c, x, s->size, from, to, columns);
        const struct tp_matrix left = {w, k, 1};
        const struct tp_matrix right = {s->plain ? x + from * s->size : columns,
                                        s->plain ? c->x_space : n, 1};
        char *sums = s->half ? tp_part(workspace, s->at_y) : y + from * s->size;
        const size_t row = s->half ? n : c->y_space;
        s->product(c->out, n, k, left, right, sums, row);
        for (size_t i = 0; i < c->out; i++) {
            add_bias(s, sums + i * row * s->size, n, b, channel + i);
            if (s->half)
                tp_store_f32(c->dtype, (float *)sums + i * row, n,
                             y + (i * c->y_space + from) * narrow, 1);
        }
    }
}

/* y += weight times the row of x that a tap meets. */
#define ADD_ROW(name, T)                                                                       \
    static void name(T *y, const T *x, size_t step, size_t n, T weight)                        \
    {                                                                                          \
        if (step == 1) {                                                                       \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++)                                                     \
                y[i] += weight * x[i];                                                         \
            return;                                                                            \
        }                                                                                      \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] += weight * x[i * step];                                                      \
    }
ADD_ROW(add_row_f32, float)
ADD_ROW(add_row_f64, double)

/* One tap over one plane: all rows that it meets. */
static void add_tap(const struct state *s, const int64_t tap[TP_SPACE], const char *weight,
                    const char *x, char *y)
{
    const struct tp_window *w = &s->conv.window;
    int64_t from[TP_SPACE], to[TP_SPACE], first[TP_SPACE];
    for (int d = 0; d < TP_SPACE; d++) {
        tp_window_range(w, d, tap[d], &from[d], &to[d]);
        first[d] = tap[d] * w->dilation[d] - w->begin[d];
    }
    const size_t n = (size_t)(to[2] - from[2]), step = (size_t)w->stride[2];
    if (n == 0) return; /* it meets nothing */
    for (int64_t d = from[0]; d < to[0]; d++)
        for (int64_t h = from[1]; h < to[1]; h++) {
            const int64_t in =
                ((d * w->stride[0] + first[0]) * w->in[1] + h * w->stride[1] + first[1]) *
                    w->in[2] +
                from[2] * w->stride[2] + first[2];
            const int64_t out = (d * w->out[1] + h) * w->out[2] + from[2];
            if (s->wide == TROUPE_F64)
                add_row_f64((double *)y + out, (const double *)x + in, step, n,
                            *(const double *)weight);
            else
                add_row_f32((float *)y + out, (const float *)x + in, step, n,
                            *(const float *)weight);
        }
}

/* By shifted rows: one channel of the result from the planes of the group. */
static void run_rows(const struct state *s, const char *w, const char *x, const void *b,
                     size_t channel, char *y, void *workspace)
{
    const struct tp_conv *c = &s->conv;
    char *sums = s->half ? tp_part(workspace, s->at_y) : y;
    memset(sums, 0, c->y_space * s->size);
    for (size_t i = 0; i < c->in; i++, x += c->x_space * s->size) {
        int64_t tap[TP_SPACE];
        for (tap[0] = 0; tap[0] < c->window.kernel[0]; tap[0]++)
            for (tap[1] = 0; tap[1] < c->window.kernel[1]; tap[1]++)
                for (tap[2] = 0; tap[2] < c->window.kernel[2]; tap[2]++, w += s->size)
                    add_tap(s, tap, w, x, sums);
    }
    add_bias(s, sums, c->y_space, b, channel);
    if (s->half) tp_store_f32(c->dtype, (float *)sums, c->y_space, y, 1);
}

static void run_group(const struct state *s, size_t group, const char *w, const char *x,
                      const void *b, char *y, void *workspace)
{
    const struct tp_conv *c = &s->conv;
    const size_t weights = c->in * c->taps, size = troupe_dtype_size(c->dtype);
    w += group * c->out * weights * s->size;
    if (s->half) { /* the group's planes of x, widened */
        tp_load_f32(c->dtype, x, 1, c->in * c->x_space, tp_part(workspace, s->at_x));
        x = tp_part(workspace, s->at_x);
    }
    if (c->out >= 4) {
        run_tiles(s, w, x, b, group * c->out, y, workspace);
        return;
    }
    for (size_t i = 0; i < c->out; i++)
        run_rows(s, w + i * weights * s->size, x, b, group * c->out + i,
                 y + i * c->y_space * size, workspace);
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const struct tp_conv *c = &s->conv;
    const size_t size = troupe_dtype_size(c->dtype);
    const char *x = tp_in(launch, 0)->data, *w = s->w ? (char *)s->w : tp_in(launch, 1)->data;
    const struct tp_view *b = tp_in(launch, 2);
    char *y = tp_out(launch, 0)->data, *workspace = launch->workspace;
    (void)err;
    if (s->half && !s->w) {
        tp_load_f32(c->dtype, w, 1, c->groups * c->out * c->in * c->taps,
                    tp_part(workspace, s->at_w));
        w = tp_part(workspace, s->at_w);
    }
    for (size_t i = 0; i < c->n; i++)
        for (size_t g = 0; g < c->groups; g++) {
            run_group(s, g, w, x, b ? b->data : NULL, y, workspace);
            x += c->in * c->x_space * size;
            y += c->out * c->y_space * size;
        }
    return TROUPE_OK;
}

/* --- preparing ---------------------------------------------------------------------- */
static void drop(void *state)
{
    struct state *s = state;
    if (s) tp_free(s->w);
    tp_free(s);
}

static void destroy(struct state **state)
{
    drop(*state);
}

/* Sizes of the parts of the workspace; returns the sum. */
static size_t lay_out(struct state *s)
{
    const struct tp_conv *c = &s->conv;
    const size_t k = c->in * c->taps, tiled = c->out >= 4;
    size_t end = 0;
    s->tile = k ? TILE_BYTES / s->size / k : c->y_space;
    if (s->tile < TILE_LEAST) s->tile = TILE_LEAST;
    if (s->tile > c->y_space) s->tile = c->y_space;
    s->at_w = end;
    if (s->half && !s->w) end += tp_room(c->groups * c->out * k * s->size);
    s->at_x = end;
    if (s->half) end += tp_room(c->in * c->x_space * s->size);
    s->at_columns = end;
    if (tiled && !s->plain) end += tp_room(k * s->tile * s->size);
    s->at_y = end;
    if (s->half) end += tp_room((tiled ? c->out * s->tile : c->y_space) * s->size);
    return end;
}

/* A window of one element without padding or strides. */
static bool is_plain(const struct tp_window *w)
{
    for (int d = 0; d < TP_SPACE; d++)
        if (w->kernel[d] != 1 || w->stride[d] != 1 || w->begin[d] || w->end[d]) return false;
    return true;
}

/* OpenBLAS's product for large tiles, where oneDNN has not taken the whole convolution. */
static tp_gemm_fn *choose_product(const struct state *s)
{
    const struct tp_conv *c = &s->conv;
    const double size = (double)c->out * (double)c->in * (double)c->taps * (double)c->y_space;
    tp_gemm_fn *blas = NULL;
    if (s->wide == TROUPE_F32 && size >= TP_DENSE_WORTH && tp_dense_allows(TP_DENSE_BLAS))
        blas = tp_blas_gemm();
    return blas ? blas : tp_gemm_find(s->wide);
}

troupe_status tp_conv_own(struct tp_prepare *prepare, const struct tp_conv *conv,
                          troupe_error *err)
{
    const void *w = tp_known(&prepare->node, 1);
    const size_t weights = conv->groups * conv->out * conv->in * conv->taps;
    TP_OWNED(destroy) struct state *s = tp_alloc(sizeof(*s));
    if (!s) return tp_fail_memory(err, sizeof(*s));
    s->conv = *conv;
    s->half = conv->dtype == TROUPE_F16 || conv->dtype == TROUPE_BF16;
    s->wide = s->half ? TROUPE_F32 : conv->dtype;
    s->size = troupe_dtype_size(s->wide);
    s->plain = is_plain(&conv->window);
    s->product = choose_product(s);
    if (s->half && w) {
        s->w = tp_alloc_array(weights, sizeof(float));
        if (!s->w) return tp_fail_memory(err, weights * sizeof(float));
        tp_load_f32(conv->dtype, w, 1, weights, s->w);
        prepare->uses &= ~2u;
    }
    prepare->workspace = lay_out(s);
    prepare->run = run;
    prepare->drop = drop;
    prepare->state = s;
    s = NULL;
    return TROUPE_OK;
}
