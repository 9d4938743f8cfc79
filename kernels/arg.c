/* SPDX-License-Identifier: MIT
 *
 * kernels/arg.c - ArgMax and ArgMin: where the greatest and the least elements stand.
 *
 * Of equal ones the first counts, or the last; a NaN, the first or the last, beats all numbers.
 */
#include "kernels/convert.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    const bool keep = tp_int(infer, "keepdims", 1) != 0;
    int axis;
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    TP_TRY(tp_infer_axis(tp_int(infer, "axis", 0), x->rank, &axis, err));
    if (x->dims[axis] == 0) {
        return tp_fail(err, TROUPE_INVALID, "dimension %d of %s has no elements", axis,
                       tp_shape_text(x).text);
    }
    struct tp_shape out = {.rank = 0};
    for (int i = 0; i < x->rank; i++)
        if (i != axis || keep) out.dims[out.rank++] = i == axis ? 1 : x->dims[i];
    infer->results[0].shape = out;
    return TROUPE_OK;
}

/* Of n elements, `step` apart. */
typedef int64_t find_fn(const void *x, size_t step, size_t n, bool last);

/* `better` and `equal` compare v with the best so far, m. */
#define FIND(name, T, better, equal)                                                           \
    static int64_t name(const void *from, size_t step, size_t n, bool last)                    \
    {                                                                                          \
        const T *x = from;                                                                     \
        size_t best = 0;                                                                       \
        for (size_t i = 1; i < n; i++) {                                                       \
            const T v = x[i * step], m = x[best * step];                                       \
            if ((better) || (last && (equal))) best = i;                                       \
        }                                                                                      \
        return (int64_t)best;                                                                  \
    }
#define FLOAT_FINDS(dtype, T)                                                                  \
    FIND(max_##dtype, T, v > m || (v != v && m == m), v == m || (v != v && m != m))            \
    FIND(min_##dtype, T, v < m || (v != v && m == m), v == m || (v != v && m != m))
#define FINDS(dtype, T)                                                                        \
    FIND(max_##dtype, T, v > m, v == m)                                                        \
    FIND(min_##dtype, T, v < m, v == m)
FLOAT_FINDS(F32, float)
FLOAT_FINDS(F64, double)
FINDS(I8, int8_t)
FINDS(I16, int16_t)
FINDS(I32, int32_t)
FINDS(I64, int64_t)
FINDS(U8, uint8_t)
FINDS(U16, uint16_t)
FINDS(U32, uint32_t)
FINDS(U64, uint64_t)

/* clang-format off */
#define TABLE(way)                                                                               \
    [TROUPE_F32] = way##_F32, [TROUPE_F64] = way##_F64, [TROUPE_F16] = way##_F32,                \
    [TROUPE_BF16] = way##_F32, [TROUPE_I8] = way##_I8, [TROUPE_I16] = way##_I16,                 \
    [TROUPE_I32] = way##_I32, [TROUPE_I64] = way##_I64, [TROUPE_U8] = way##_U8,                  \
    [TROUPE_U16] = way##_U16, [TROUPE_U32] = way##_U32, [TROUPE_U64] = way##_U64
/* clang-format on */
static find_fn *const max_of[TP_DTYPES] = {TABLE(max)}, *const min_of[TP_DTYPES] = {TABLE(min)};

struct state {
    find_fn *find;
    troupe_dtype dtype;
    size_t outer, n, inner;
    bool last, half;
};

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const size_t size = troupe_dtype_size(s->dtype);
    int64_t *out = tp_out(launch, 0)->data;
    (void)err;
    for (size_t i = 0; i < s->outer; i++)
        for (size_t k = 0; k < s->inner; k++) {
            const char *x =
                (const char *)tp_in(launch, 0)->data + (i * s->n * s->inner + k) * size;
            if (s->half) tp_load_f32(s->dtype, x, s->inner, s->n, launch->workspace);
            *out++ = s->half ? s->find(launch->workspace, 1, s->n, s->last)
                             : s->find(x, s->inner, s->n, s->last);
        }
    return TROUPE_OK;
}

static troupe_status prepare_find(struct tp_prepare *prepare, find_fn *const finds[TP_DTYPES],
                                  troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *x = tp_infer_shape(node, 0);
    int axis;
    TP_TRY(tp_infer_axis(tp_int(node, "axis", 0), x->rank, &axis, err));
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->dtype = node->inputs[0]->dtype;
    s->find = finds[s->dtype];
    s->half = s->dtype == TROUPE_F16 || s->dtype == TROUPE_BF16;
    s->last = tp_int(node, "select_last_index", 0) != 0;
    s->outer = tp_span(x, 0, axis);
    s->n = (size_t)x->dims[axis];
    s->inner = tp_span(x, axis + 1, x->rank);
    if (s->half) prepare->workspace = s->n * sizeof(float);
    prepare->run = run;
    return TROUPE_OK;
}

static troupe_status prepare_max(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_find(prepare, max_of, err);
}

static troupe_status prepare_min(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_find(prepare, min_of, err);
}

static const struct tp_port inputs[] = {{"data", TP_NUMBERS, 1, 0}, TP_LAST};
static const struct tp_port results[] = {{"y", TP_TYPE(I64), 0, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"axis", TROUPE_ATTR_INT, false},
                                            {"keepdims", TROUPE_ATTR_INT, false},
                                            {"select_last_index", TROUPE_ATTR_INT, false},
                                            TP_LAST};
#define COMMON_SAMPLES                                                                         \
    TP_WORKS("f32[3,4,5]", NULL, NULL), TP_WORKS("f32[3,40]", "axis=-1 keepdims=0", NULL),     \
        TP_WORKS("f32[3,4,5]", "axis=1 select_last_index=1", NULL),                            \
        TP_WORKS("f32[0,3]", "axis=1", NULL), TP_FAILS("f32[0,3]", NULL, "no elements"),       \
        TP_FAILS("f32[2,3]", "axis=2", "axis"), TP_FAILS("f32[]", NULL, "axis")
static const struct tp_sample max_samples[] = {
    TP_WORKS("f32[3,4]=[[1,5,5,2],[1,nan,9,nan],[-1,-2,-1,-3]]", "axis=1",
             "i64[3,1] [[1], [1], [0]]"),
    TP_WORKS("f32[3,4]=[[1,5,5,2],[1,nan,9,nan],[-1,-2,-1,-3]]",
             "axis=1 keepdims=0 select_last_index=1", "i64[3] [2, 3, 2]"),
    TP_WORKS("u64[3]=[9223372036854775808,18446744073709551615,1]", "keepdims=0", "i64[] 1"),
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample min_samples[] = {
    TP_WORKS("f32[2,4]=[[1,5,0,0],[1,nan,-9,nan]]", "axis=1", "i64[2,1] [[2], [1]]"),
    TP_WORKS("i64[3]=[9223372036854775806,9223372036854775805,9223372036854775807]",
             "keepdims=0", "i64[] 1"),
    COMMON_SAMPLES,
    {0},
};
const struct tp_op tp_op_ArgMax = {
    .name = "ArgMax",
    .summary = "where the greatest element stands along axis; the first, or the last when "
               "select_last_index is set",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare_max,
    .samples = max_samples,
};
const struct tp_op tp_op_ArgMin = {
    .name = "ArgMin",
    .summary = "where the least element stands along axis; the first, or the last when "
               "select_last_index is set",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare_min,
    .samples = min_samples,
};
