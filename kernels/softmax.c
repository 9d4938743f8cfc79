/* SPDX-License-Identifier: MIT
 *
 * kernels/softmax.c - Softmax, LogSoftmax and Hardmax along one axis.
 *
 * Sums are taken in double precision. A NaN makes its whole row NaN; Hardmax takes the first
 * NaN for the greatest element.
 */
#include <math.h>
#include <tgmath.h>

#include "kernels/convert.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    int axis;
    infer->results[0].shape = *x;
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* nothing to check */
    return tp_infer_axis(tp_int(infer, "axis", -1), x->rank, &axis, err);
}

/* --- one row ------------------------------------------------------------------------ */
typedef void row_fn(void *y, const void *x, size_t n);

#define ROWS(T, name)                                                                          \
    static T greatest_##name(const T *x, size_t n)                                             \
    {                                                                                          \
        T m = x[0];                                                                            \
        for (size_t i = 1; i < n; i++)                                                         \
            m = x[i] > m || x[i] != x[i] ? x[i] : m;                                           \
        return m;                                                                              \
    }                                                                                          \
    static void softmax_##name(void *to, const void *from, size_t n)                           \
    {                                                                                          \
        const T *x = from, m = greatest_##name(x, n);                                          \
        T *y = to;                                                                             \
        double sum = 0;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                       \
            y[i] = exp(x[i] - m);                                                              \
            sum += (double)y[i];                                                               \
        }                                                                                      \
        const T all = (T)sum;                                                                  \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] /= all;                                                                       \
    }                                                                                          \
    static void log_softmax_##name(void *to, const void *from, size_t n)                       \
    {                                                                                          \
        const T *x = from, m = greatest_##name(x, n);                                          \
        T *y = to;                                                                             \
        double sum = (double)exp(x[0] - m);                                                    \
        for (size_t i = 1; i < n; i++)                                                         \
            sum += (double)exp(x[i] - m);                                                      \
        const T all = (T)log(sum);                                                             \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] = x[i] - m - all;                                                             \
    }                                                                                          \
    static void hardmax_##name(void *to, const void *from, size_t n)                           \
    {                                                                                          \
        const T *x = from;                                                                     \
        T *y = to;                                                                             \
        size_t best = 0;                                                                       \
        for (size_t i = 1; i < n && x[best] == x[best]; i++)                                   \
            if (x[i] > x[best] || x[i] != x[i]) best = i;                                      \
        for (size_t i = 0; i < n; i++)                                                         \
            y[i] = i == best;                                                                  \
    }
ROWS(float, f32)
ROWS(double, f64)

/* --- all rows ----------------------------------------------------------------------- */
struct state {
    row_fn *row;
    troupe_dtype dtype;
    size_t outer, n, inner; /* rows are n elements, inner apart */
};

/* Rows that lie in one piece, of a type that is computed in. */
static troupe_status run_direct(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const size_t size = s->n * troupe_dtype_size(s->dtype);
    const char *x = tp_in(launch, 0)->data;
    char *y = tp_out(launch, 0)->data;
    (void)err;
    for (size_t i = 0; i < s->outer; i++)
        s->row(y + i * size, x + i * size, s->n);
    return TROUPE_OK;
}

/* Any rows, by way of the workspace. */
static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const size_t size = troupe_dtype_size(s->dtype);
    void *row = launch->workspace;
    (void)err;
    for (size_t i = 0; i < s->outer * s->inner; i++) {
        const size_t at = (i / s->inner * s->n * s->inner + i % s->inner) * size;
        const char *x = (const char *)tp_in(launch, 0)->data + at;
        char *y = (char *)tp_out(launch, 0)->data + at;
        if (s->dtype == TROUPE_F64) {
            tp_load_f64(s->dtype, x, s->inner, s->n, row);
            s->row(row, row, s->n);
            tp_store_f64(s->dtype, row, s->n, y, s->inner);
        } else {
            tp_load_f32(s->dtype, x, s->inner, s->n, row);
            s->row(row, row, s->n);
            tp_store_f32(s->dtype, row, s->n, y, s->inner);
        }
    }
    return TROUPE_OK;
}

static troupe_status prepare_rows(struct tp_prepare *prepare, row_fn *f32, row_fn *f64,
                                  troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0);
    const bool flatten = tp_int(node, "flatten", 0) != 0;
    int axis;
    TP_TRY(tp_infer_axis(tp_int(node, "axis", -1), x->rank, &axis, err));
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->dtype = node->inputs[0]->dtype;
    s->row = s->dtype == TROUPE_F64 ? f64 : f32;
    s->outer = tp_span(x, 0, axis);
    s->n = tp_span(x, axis, flatten ? x->rank : axis + 1);
    s->inner = flatten ? 1 : tp_span(x, axis + 1, x->rank);
    if (s->n == 0) s->outer = 0; /* there are no elements */
    const bool wide = s->dtype == TROUPE_F32 || s->dtype == TROUPE_F64;
    prepare->run = wide && s->inner == 1 ? run_direct : run;
    if (prepare->run == run) prepare->workspace = s->n * sizeof(double);
    return TROUPE_OK;
}

static troupe_status prepare_softmax(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_rows(prepare, softmax_f32, softmax_f64, err);
}

static troupe_status prepare_log_softmax(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_rows(prepare, log_softmax_f32, log_softmax_f64, err);
}

static troupe_status prepare_hardmax(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_rows(prepare, hardmax_f32, hardmax_f64, err);
}

static const struct tp_port inputs[] = {{"x", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_port results[] = {{"y", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {
    {"axis", TROUPE_ATTR_INT, false}, {"flatten", TROUPE_ATTR_INT, false}, TP_LAST};
#define COMMON_SAMPLES                                                                         \
    TP_WORKS("f32[2,3,4]", NULL, NULL), TP_WORKS("f32[2,3,4]", "axis=1", NULL),                \
        TP_WORKS("f32[2,3,4]", "axis=0", NULL),                                                \
        TP_WORKS("f32[2,3,4]", "axis=1 flatten=1", NULL), TP_WORKS("f32[0,3]", NULL, NULL),    \
        TP_WORKS("f32[3,0]", NULL, NULL), TP_WORKS("f32[3,0]", "axis=0", NULL),                \
        TP_FAILS("f32[2,3]", "axis=2", "axis"), TP_FAILS("f32[]", NULL, "axis")
static const struct tp_sample softmax_samples[] = {
    TP_WORKS("f32[2,3]=[[0,1,2],[1000,1000,-inf]]", NULL,
             "f32[2,3] [[0.09003057, 0.24472847, 0.66524096], [0.5, 0.5, 0]]"),
    TP_WORKS("f32[1,2]=[[nan,1]]", NULL, "f32[1,2] [[nan, nan]]"),
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample log_softmax_samples[] = {
    TP_WORKS(
        "f32[2,3]=[[0,1,2],[1000,1000,-inf]]", NULL,
        "f32[2,3] [[-2.40760596, -1.40760596, -0.40760596], [-0.69314718, -0.69314718, -inf]]"),
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample hardmax_samples[] = {
    TP_WORKS("f32[3,3]=[[0,3,2],[5,5,1],[1,nan,nan]]", NULL,
             "f32[3,3] [[0, 1, 0], [1, 0, 0], [0, 1, 0]]"),
    COMMON_SAMPLES,
    {0},
};
const struct tp_op tp_op_Softmax = {
    .name = "Softmax",
    .summary =
        "exp(x) over its sum along axis; with flatten set, over all dimensions from axis on",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare_softmax,
    .reuse = 1,
    .samples = softmax_samples,
};
const struct tp_op tp_op_LogSoftmax = {
    .name = "LogSoftmax",
    .summary = "the logarithm of Softmax",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare_log_softmax,
    .reuse = 1,
    .samples = log_softmax_samples,
};
const struct tp_op tp_op_Hardmax = {
    .name = "Hardmax",
    .summary = "1 at the first greatest element along axis, else 0; flatten as in Softmax",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare_hardmax,
    .reuse = 1,
    .samples = hardmax_samples,
};
