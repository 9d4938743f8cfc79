/* SPDX-License-Identifier: MIT
 *
 * kernels/line_ops.c - Trilu and CumSum: along rows and other lines of a tensor.
 */
#include "kernels/convert.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"
#include "kernels/texts.h"

/* --- Trilu -------------------------------------------------------------------------- */
static troupe_status infer_trilu(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *k = tp_infer_shape(infer, 1);
    TP_TRY(tp_infer_rank(infer, 0, 2, TROUPE_MAX_RANK, err));
    if (k && tp_shape_known(k) && tp_shape_count_known(k) != 1)
        return tp_fail(err, TROUPE_INVALID, "k is %s, not one number", tp_shape_text(k).text);
    return tp_infer_same(infer, err);
}

/* Row i of a matrix of `columns`: what stays lies in [*from, *to). */
static void kept_of_row(int64_t i, int64_t columns, int64_t k, bool upper, int64_t *from,
                        int64_t *to)
{
    const int64_t limit = k > columns ? columns : k < -INT64_MAX / 2 ? -INT64_MAX / 2 : k;
    int64_t edge =
        i + limit + (upper ? 0 : 1); /* the first column above, or after, the diagonal */
    if (edge < 0) edge = 0;
    if (edge > columns) edge = columns;
    *from = upper ? edge : 0;
    *to = upper ? columns : edge;
}

static troupe_status run_trilu(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *x = tp_in(launch, 0), *given = tp_in(launch, 1);
    const struct tp_shape *shape = &x->type->shape;
    const int64_t columns = shape->dims[shape->rank - 1], height = shape->dims[shape->rank - 2];
    const int64_t k = given ? *(const int64_t *)given->data : 0;
    const bool upper = tp_int(launch, "upper", 1) != 0;
    const size_t size = tp_element_size(x->type->dtype), row = (size_t)columns * size;
    const size_t rows = tp_span(shape, 0, shape->rank - 1);
    char *y = tp_out(launch, 0)->data;
    const char *from = x->data;
    (void)err;
    for (size_t i = 0; row > 0 && i < rows; i++, y += row, from += row) {
        int64_t a, b;
        kept_of_row((int64_t)i % height, columns, k, upper, &a, &b);
        if (a > b) a = b;
        memset(y, 0, (size_t)a * size);
        if (y != from)
            memcpy(y + (size_t)a * size, from + (size_t)a * size, (size_t)(b - a) * size);
        memset(y + (size_t)b * size, 0, (size_t)(columns - b) * size);
    }
    return TROUPE_OK;
}

static troupe_status prepare_trilu(struct tp_prepare *prepare, troupe_error *err)
{
    prepare->run = run_trilu;
    return tp_texts_wrap(prepare, err);
}

static const struct tp_port trilu_inputs[] = {
    {"x", TP_ANY, 1, 0}, {"k", TP_TYPE(I64), 0, TP_OPTIONAL | TP_HOST}, TP_LAST};
static const struct tp_port trilu_results[] = {{"y", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_attr_spec trilu_attrs[] = {{"upper", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample trilu_samples[] = {
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]]", NULL, "f32[2,3] [[1, 2, 3], [0, 5, 6]]"),
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]] i64[]=1", NULL, "f32[2,3] [[0, 2, 3], [0, 0, 6]]"),
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]]", "upper=0", "f32[2,3] [[1, 0, 0], [4, 5, 0]]"),
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]] i64[]=-1", "upper=0",
             "f32[2,3] [[0, 0, 0], [4, 0, 0]]"),
    TP_WORKS("f32[2,2]=[[1,2],[3,4]] i64[]=9223372036854775807", "upper=0",
             "f32[2,2] [[1, 2], [3, 4]]"),
    TP_WORKS("f32[2,2]=[[1,2],[3,4]] i64[]=-9223372036854775808", NULL,
             "f32[2,2] [[1, 2], [3, 4]]"),
    TP_WORKS("f32[2,2]=[[1,2],[3,4]] i64[]=100", NULL, "f32[2,2] [[0, 0], [0, 0]]"),
    TP_WORKS("f32[3,4,5] i64[1]=[-2]", NULL, NULL),
    TP_WORKS("f32[0,3]", NULL, NULL),
    TP_WORKS("f32[3,0]", NULL, NULL),
    TP_FAILS("f32[3]", NULL, "rank 1"),
    TP_FAILS("f32[3,3] i64[2]", NULL, "one number"),
    {0},
};
const struct tp_op tp_op_Trilu = {
    .name = "Trilu",
    .summary = "the upper, or the lower, triangle of matrices from diagonal k on; 0 elsewhere",
    .inputs = trilu_inputs,
    .results = trilu_results,
    .attrs = trilu_attrs,
    .infer = infer_trilu,
    .prepare = prepare_trilu,
    .reuse = 1,
    .samples = trilu_samples,
};

/* --- CumSum ------------------------------------------------------------------------- */
static troupe_status infer_cumsum(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0), *axis = tp_infer_shape(infer, 1);
    int64_t axes[16];
    size_t n;
    int found;
    if (tp_shape_known(axis) && tp_shape_count_known(axis) != 1)
        return tp_fail(err, TROUPE_INVALID, "axis is %s, not one number",
                       tp_shape_text(axis).text);
    infer->results[0].shape = *x;
    const troupe_status status = tp_infer_ints(infer, 1, axes, &n, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING || x->rank == TP_RANK_ANY)
        return TROUPE_OK; /* checked later */
    return tp_infer_axis(axes[0], x->rank, &found, err);
}

/* Lines of n elements, `step` apart; the first is `first` and `way` goes on from it. */
struct line {
    size_t n;
    ptrdiff_t step;
    bool exclusive;
};

#define CUMSUM(name, T, S)                                                                     \
    static void name(const struct line *l, const void *from, void *to)                         \
    {                                                                                          \
        const T *x = from;                                                                     \
        T *y = to;                                                                             \
        S sum = 0;                                                                             \
        for (size_t i = 0; i < l->n; i++, x += l->step, y += l->step) {                        \
            const S next = sum + (S)*x;                                                        \
            *y = (T)(l->exclusive ? sum : next);                                               \
            sum = next;                                                                        \
        }                                                                                      \
    }
CUMSUM(cumsum_f32, float, double)
CUMSUM(cumsum_f64, double, double)
CUMSUM(cumsum_u32, uint32_t, uint32_t)
CUMSUM(cumsum_u64, uint64_t, uint64_t)

static void cumsum_half(const struct line *l, troupe_dtype dtype, const char *x, char *y)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++, x += l->step * 2, y += l->step * 2) {
        double next;
        tp_load_f64(dtype, x, 1, 1, &next);
        next += sum;
        tp_store_f64(dtype, l->exclusive ? &sum : &next, 1, y, 1);
        sum = next;
    }
}

static void cumsum(const struct line *l, troupe_dtype dtype, const char *x, char *y)
{
    switch (dtype) {
    case TROUPE_F32:
        cumsum_f32(l, x, y);
        break;
    case TROUPE_F64:
        cumsum_f64(l, x, y);
        break;
    case TROUPE_I32:
    case TROUPE_U32:
        cumsum_u32(l, x, y);
        break;
    case TROUPE_I64:
    case TROUPE_U64:
        cumsum_u64(l, x, y);
        break;
    default:
        cumsum_half(l, dtype, x, y);
        break;
    }
}

static troupe_status run_cumsum(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *x = tp_in(launch, 0), *given = tp_in(launch, 1);
    const struct tp_shape *shape = &x->type->shape;
    const size_t size = troupe_dtype_size(x->type->dtype);
    int axis;
    TP_TRY(tp_infer_axis(tp_index_at(given->type->dtype, given->data, 0), shape->rank, &axis,
                         err));
    const size_t inner = tp_span(shape, axis + 1, shape->rank), n = (size_t)shape->dims[axis];
    const size_t lines = n ? tp_view_count(x) / n : 0;
    const bool back = tp_int(launch, "reverse", 0) != 0;
    const struct line line = {.n = n,
                              .step = back ? -(ptrdiff_t)inner : (ptrdiff_t)inner,
                              .exclusive = tp_int(launch, "exclusive", 0) != 0};
    for (size_t i = 0; i < lines; i++) {
        const size_t first = i / inner * n * inner + i % inner + (back ? (n - 1) * inner : 0);
        cumsum(&line, x->type->dtype, (const char *)x->data + first * size,
               (char *)tp_out(launch, 0)->data + first * size);
    }
    return TROUPE_OK;
}

#define SUM_TYPES (TP_FLOATS | TP_TYPE(I32) | TP_TYPE(I64) | TP_TYPE(U32) | TP_TYPE(U64))
static const struct tp_port cumsum_inputs[] = {
    {"x", SUM_TYPES, 1, 0}, {"axis", TP_TYPE(I32) | TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_port cumsum_results[] = {{"y", SUM_TYPES, 1, 0}, TP_LAST};
static const struct tp_attr_spec cumsum_attrs[] = {
    {"exclusive", TROUPE_ATTR_INT, false}, {"reverse", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample cumsum_samples[] = {
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]] i64[]=1", NULL, "f32[2,3] [[1, 3, 6], [4, 9, 15]]"),
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]] i32[]=-1", "exclusive=1",
             "f32[2,3] [[0, 1, 3], [0, 4, 9]]"),
    TP_WORKS("f32[3]=[1,2,3] i64[1]=[0]", "reverse=1", "f32[3] [6, 5, 3]"),
    TP_WORKS("f32[3]=[1,2,3] i64[]=0", "reverse=1 exclusive=1", "f32[3] [5, 3, 0]"),
    TP_WORKS("u32[2]=[4294967295,2] i64[]=0", NULL, "u32[2] [4294967295, 1]"),
    TP_WORKS("f32[3,4,5] i64[]=1", NULL, NULL),
    TP_WORKS("f32[3,4,5] i64[]=0", "reverse=1", NULL),
    TP_WORKS("f32[3,0] i64[]=1", NULL, NULL),
    TP_FAILS("f32[3] i64[]=1", NULL, "axis 1"),
    TP_FAILS("f32[3] i64[2]", NULL, "one number"),
    {0},
};
const struct tp_op tp_op_CumSum = {
    .name = "CumSum",
    .summary =
        "sums along axis of all up to each element, or before it when exclusive is set; from "
        "the end when reverse is",
    .inputs = cumsum_inputs,
    .results = cumsum_results,
    .attrs = cumsum_attrs,
    .infer = infer_cumsum,
    .cpu = run_cumsum,
    .reuse = 1,
    .samples = cumsum_samples,
};
