/* SPDX-License-Identifier: MIT
 *
 * kernels/reduce_ops.c - ReduceSum and its kin, with axes as an input.
 */
#include <math.h>

#include "kernels/convert.h"
#include "kernels/dense.h"
#include "kernels/ops.h"
#include "kernels/reduce.h"

/* --- shapes ------------------------------------------------------------------------- */
/* The axes as bits: all without a list, unless noop_with_empty_axes. TROUPE_PENDING: not known.
 */
static troupe_status read_axes(const struct tp_infer *node, int rank, unsigned *out,
                               troupe_error *err)
{
    int64_t axes[16];
    size_t n = 0;
    if (tp_infer_shape(node, 1)) {
        const troupe_status status = tp_infer_ints(node, 1, axes, &n, err);
        if (status != TROUPE_OK) return status;
    }
    *out = n > 0 || tp_int(node, "noop_with_empty_axes", 0) ? 0 : (1u << rank) - 1;
    for (size_t i = 0; i < n; i++) {
        int axis;
        TP_TRY(tp_infer_axis(axes[i], rank, &axis, err));
        *out |= 1u << axis;
    }
    return TROUPE_OK;
}

/* The list's length is not known but the rank is: with keepdims all dimensions stay. */
static struct tp_shape guess(const struct tp_shape *x, bool keep)
{
    struct tp_shape out = {.rank = keep ? x->rank : TP_RANK_ANY};
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = TP_DIM_ANY;
    return out;
}

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    const bool keep = tp_int(infer, "keepdims", 1) != 0;
    unsigned axes;
    TP_TRY(tp_infer_rank(infer, 1, 1, 1, err));
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    const troupe_status status = read_axes(infer, x->rank, &axes, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING) {
        infer->results[0].shape = guess(x, keep);
        return TROUPE_OK;
    }
    struct tp_shape out = {.rank = 0};
    for (int i = 0; i < x->rank; i++) {
        const bool gone = axes >> i & 1;
        if (!gone || keep) out.dims[out.rank++] = gone ? 1 : x->dims[i];
    }
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static void cost(const struct tp_infer *node, struct tp_cost *out)
{
    const struct tp_shape *x = tp_infer_shape(node, 0);
    out->flops = 1;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] > 0) out->flops *= (double)x->dims[i];
    out->bytes = out->flops * (double)troupe_dtype_size(node->inputs[0]->dtype);
}

/* --- running ------------------------------------------------------------------------ */
struct state {
    struct tp_reduce reduce;
    enum tp_reduce_end end;
};

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    (void)err;
    if (s->reduce.count == 0) return TROUPE_OK; /* there is no result */
    tp_reduce_run(&s->reduce, tp_in(launch, 0)->data, launch->workspace);
    tp_reduce_finish(&s->reduce, s->end, launch->workspace, tp_out(launch, 0)->data);
    return TROUPE_OK;
}

/* noop_with_empty_axes: each element is reduced by itself. */
static troupe_status prepare_as(struct tp_prepare *prepare, enum tp_reduce_kind kind,
                                enum tp_reduce_end end, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_type *x = node->inputs[0];
    unsigned axes;
    const troupe_status status = read_axes(node, x->shape.rank, &axes, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING && x->shape.rank > 0)
        return tp_fail(err, TROUPE_INTERNAL, "axes are not known");
    if (status == TROUPE_PENDING) axes = 0; /* a scalar has none */
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    tp_reduce_make(&s->reduce, &x->shape, axes);
    tp_reduce_choose(&s->reduce, kind, x->dtype);
    s->end = end;
    prepare->workspace = s->reduce.count * sizeof(double);
    prepare->run = run;
    return TROUPE_OK;
}

/* --- LogSumExp: the greatest element is taken out first, so that nothing overflows -- */
static void add_exp(const struct tp_reduce *r, const char *x, size_t n, bool kept, void *sums,
                    size_t at, void *arg)
{
    const double *greatest = (const double *)arg + at;
    double *sum = sums, value;
    for (size_t i = 0; i < n; i++) {
        const size_t k = kept ? i : 0;
        const double shift = isfinite(greatest[k]) ? greatest[k] : 0;
        tp_load_f64(r->dtype, x + i * troupe_dtype_size(r->dtype), 1, 1, &value);
        sum[k] += exp(value - shift);
    }
}

static troupe_status run_log_sum_exp(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const struct tp_reduce *r = &s->reduce;
    const void *x = tp_in(launch, 0)->data;
    const size_t room = tp_room(r->count * sizeof(double));
    double *greatest = launch->workspace, *sums = tp_part(greatest, room);
    (void)err;
    if (r->count == 0) return TROUPE_OK; /* there is no result */
    tp_reduce_run(r, x, greatest);
    if (!(TP_FLOATS >> r->dtype & 1)) /* the sums of integers are integers */
        for (size_t i = 0; i < r->count; i++) {
            int64_t whole;
            memcpy(&whole, &greatest[i], sizeof(whole));
            greatest[i] = TP_UNSIGNED >> r->dtype & 1 ? (double)(uint64_t)whole : (double)whole;
        }
    memset(sums, 0, r->count * sizeof(double));
    tp_reduce_over(r, x, sums, add_exp, greatest);
    for (size_t i = 0; i < r->count; i++)
        sums[i] = log(sums[i]) + (isfinite(greatest[i]) ? greatest[i] : 0);
    tp_store_f64(r->dtype, sums, r->count, tp_out(launch, 0)->data, 1);
    return TROUPE_OK;
}

static troupe_status prepare_log_sum_exp(struct tp_prepare *prepare, troupe_error *err)
{
    TP_TRY(prepare_as(prepare, TP_REDUCE_MAX, TP_REDUCE_AS_IT_IS, err));
    prepare->workspace = 2 * tp_room(prepare->workspace);
    prepare->run = run_log_sum_exp;
    return TROUPE_OK;
}

/* --- rows --------------------------------------------------------------------------- */
#define WIDE_TYPES (TP_FLOATS | TP_TYPE(I32) | TP_TYPE(I64) | TP_TYPE(U32) | TP_TYPE(U64))
#define MORE_TYPES (WIDE_TYPES | TP_TYPE(I8) | TP_TYPE(U8))
static const struct tp_port wide_inputs[] = {
    {"data", WIDE_TYPES, 1, 0}, {"axes", TP_TYPE(I64), 0, TP_OPTIONAL | TP_HOST}, TP_LAST};
static const struct tp_port more_inputs[] = {
    {"data", MORE_TYPES, 1, 0}, {"axes", TP_TYPE(I64), 0, TP_OPTIONAL | TP_HOST}, TP_LAST};
static const struct tp_port wide_results[] = {{"y", WIDE_TYPES, 1, 0}, TP_LAST};
static const struct tp_port more_results[] = {{"y", MORE_TYPES, 1, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"keepdims", TROUPE_ATTR_INT, false},
                                            {"noop_with_empty_axes", TROUPE_ATTR_INT, false},
                                            TP_LAST};

#define COMMON_SAMPLES                                                                         \
    TP_WORKS("f32[2,3,4]", NULL, NULL), TP_WORKS("f32[2,3,40] i64[1]=[-1]", NULL, NULL),       \
        TP_WORKS("f32[2,3,4] i64[1]=[1]", "keepdims=0", NULL),                                 \
        TP_WORKS("f32[3,4,5,2] i64[2]=[0,2]", NULL, NULL),                                     \
        TP_WORKS("f32[3,4,5,2] i64[2]=[-1,1]", "keepdims=0", NULL),                            \
        TP_WORKS("f32[2,300] i64[1]=[0]", NULL, NULL), TP_WORKS("f32[]", NULL, NULL),          \
        TP_WORKS("f32[] i64[0]=[]", NULL, NULL),                                               \
        TP_WORKS("f32[2,3] i64[0]=[]", "noop_with_empty_axes=1", NULL),                        \
        TP_WORKS("f32[2,3] i64[0]=[]", NULL, NULL),                                            \
        TP_WORKS("f32[2,0,3] i64[1]=[0]", NULL, NULL),                                         \
        TP_FAILS("f32[2,3] i64[1]=[2]", NULL, "axis"),                                         \
        TP_FAILS("f32[2,3] i64[1,1]", NULL, "rank 2")

#define REDUCE(NAME, types, kind, end, what, ...)                                              \
    static troupe_status prepare_##NAME(struct tp_prepare *prepare, troupe_error *err)         \
    {                                                                                          \
        return prepare_as(prepare, kind, end, err);                                            \
    }                                                                                          \
    REDUCE_ROW(NAME, types, what, __VA_ARGS__)
#define REDUCE_ROW(NAME, types, what, ...)                                                     \
    static const struct tp_sample samples_##NAME[] = {__VA_ARGS__, COMMON_SAMPLES, {0}};       \
    const struct tp_op tp_op_##NAME = {                                                        \
        .name = #NAME,                                                                         \
        .summary = what,                                                                       \
        .inputs = types##_inputs,                                                              \
        .results = types##_results,                                                            \
        .attrs = attrs,                                                                        \
        .infer = infer,                                                                        \
        .prepare = prepare_##NAME,                                                             \
        .cost = cost,                                                                          \
        .samples = samples_##NAME,                                                             \
    };

#define prepare_ReduceLogSumExp prepare_log_sum_exp

/* clang-format off */
REDUCE(ReduceSum, wide, TP_REDUCE_SUM, TP_REDUCE_AS_IT_IS,
       "the sum along axes; 0 of nothing",
       TP_WORKS("f32[2,2]=[[1,2],[3,4]] i64[1]=[1]", NULL, "f32[2,1] [[3], [7]]"),
       TP_WORKS("i32[2]=[2147483647,1]", "keepdims=0", "i32[] -2147483648"),
       TP_WORKS("f32[2,0] i64[1]=[1]", "keepdims=0", "f32[2] [0, 0]"))
REDUCE(ReduceMean, wide, TP_REDUCE_SUM, TP_REDUCE_MEAN,
       "the mean along axes; NaN of nothing",
       TP_WORKS("f32[2,2]=[[1,2],[3,6]] i64[1]=[0]", NULL, "f32[1,2] [[2, 4]]"),
       TP_WORKS("f32[1,0] i64[1]=[1]", "keepdims=0", "f32[1] [nan]"))
REDUCE(ReduceMax, more, TP_REDUCE_MAX, TP_REDUCE_AS_IT_IS,
       "the greatest element along axes; NaN when one is; the least number of the type of nothing",
       TP_WORKS("f32[2,3]=[[1,5,2],[3,nan,4]] i64[1]=[1]", NULL, "f32[2,1] [[5], [nan]]"),
       TP_WORKS("u8[3]=[200,100,255]", "keepdims=0", "u8[] 255"),
       TP_WORKS("f32[1,0] i64[1]=[1]", "keepdims=0", "f32[1] [-inf]"))
REDUCE(ReduceMin, more, TP_REDUCE_MIN, TP_REDUCE_AS_IT_IS,
       "the least element along axes; NaN when one is; the greatest number of the type of nothing",
       TP_WORKS("f32[2,3]=[[1,5,2],[3,nan,4]] i64[1]=[1]", NULL, "f32[2,1] [[1], [nan]]"),
       TP_WORKS("i64[3]=[5,-9223372036854775808,7]", "keepdims=0", "i64[] -9223372036854775808"))
REDUCE(ReduceProd, wide, TP_REDUCE_PRODUCT, TP_REDUCE_AS_IT_IS,
       "the product along axes; 1 of nothing",
       TP_WORKS("f32[2,2]=[[1,2],[3,4]] i64[1]=[1]", NULL, "f32[2,1] [[2], [12]]"),
       TP_WORKS("f32[2,0] i64[1]=[1]", "keepdims=0", "f32[2] [1, 1]"))
REDUCE(ReduceL1, wide, TP_REDUCE_SIZES, TP_REDUCE_AS_IT_IS,
       "the sum of absolute values along axes",
       TP_WORKS("f32[2,2]=[[1,-2],[-3,4]] i64[1]=[1]", NULL, "f32[2,1] [[3], [7]]"),
       TP_WORKS("i32[3]=[-1,-2,3]", "keepdims=0", "i32[] 6"))
REDUCE(ReduceL2, wide, TP_REDUCE_SQUARES, TP_REDUCE_ROOT,
       "the root of the sum of squares along axes",
       TP_WORKS("f32[2,2]=[[3,-4],[0,0]] i64[1]=[1]", NULL, "f32[2,1] [[5], [0]]"))
REDUCE(ReduceSumSquare, wide, TP_REDUCE_SQUARES, TP_REDUCE_AS_IT_IS,
       "the sum of squares along axes",
       TP_WORKS("f32[2,2]=[[1,-2],[3,4]] i64[1]=[1]", NULL, "f32[2,1] [[5], [25]]"))
REDUCE(ReduceLogSum, wide, TP_REDUCE_SUM, TP_REDUCE_LOG,
       "the logarithm of the sum along axes",
       TP_WORKS("f32[2,2]=[[1,2],[0,1]] i64[1]=[1]", NULL, "f32[2,1] [[1.09861229], [0]]"))
REDUCE_ROW(ReduceLogSumExp, wide,
       "the logarithm of the sum of exp along axes, for large elements too",
       TP_WORKS("f32[2,2]=[[0,1],[1000,1000]] i64[1]=[1]", NULL,
                "f32[2,1] [[1.31326169], [1000.69315]]"),
       TP_WORKS("f32[3,2]=[[-inf,-inf],[inf,0],[nan,0]] i64[1]=[1]", "keepdims=0",
                "f32[3] [-inf, inf, nan]"))
/* clang-format on */
