/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise_other.c - element-wise ops that a row of ewise.def does not describe: PRelu,
 * Not, IsNaN, IsInf, Clip, Where.
 */
#include "kernels/convert.h"
#include "kernels/ewise_loops.h"
#include "kernels/ops.h"
#include "kernels/texts.h"

/* --- PRelu -------------------------------------------------------------------------- */
LOOPS2_F(prelu, x < 0 ? x * y : x, 0)
INT2(I32, int32_t, uint32_t, prelu, x < 0 ? (U)x * (U)y : (U)x)
INT2(I64, int64_t, uint64_t, prelu, x < 0 ? (U)x * (U)y : (U)x)
INT2(U32, uint32_t, uint32_t, prelu, ((void)y, x))
INT2(U64, uint64_t, uint64_t, prelu, ((void)y, x))

#define PRELU_TYPES (TP_FLOATS | TP_TYPE(I32) | TP_TYPE(I64) | TP_TYPE(U32) | TP_TYPE(U64))

/* The slope broadcasts to x, never x to the slope. */
static troupe_status infer_prelu(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0), *slope = tp_infer_shape(infer, 1);
    struct tp_shape both;
    infer->results[0].shape = *x;
    TP_TRY(tp_shape_broadcast(x, slope, &both, err));
    if (!tp_shape_known(x) || !tp_shape_known(slope))
        return TROUPE_OK; /* nothing to check yet */
    if (tp_shape_equal(x, &both)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "slope %s does not broadcast to x %s",
                   tp_shape_text(slope).text, tp_shape_text(x).text);
}

static troupe_status prepare_prelu(struct tp_prepare *prepare, troupe_error *err)
{
    static const struct tp_loops2 loops = {
        .of = {TABLE_F(prelu)[TROUPE_I32] = prelu_I32, [TROUPE_I64] = prelu_I64,
               [TROUPE_U32] = prelu_U32, [TROUPE_U64] = prelu_U64}};
    return tp_binary_prepare(prepare, &loops, err);
}

static const struct tp_port prelu_inputs[] = {
    {"x", PRELU_TYPES, 1, 0}, {"slope", PRELU_TYPES, 1, 0}, TP_LAST};
static const struct tp_port prelu_results[] = {{"y", PRELU_TYPES, 1, 0}, TP_LAST};
static const struct tp_sample prelu_samples[] = {
    TP_WORKS("f32[2,2]=[[-1,2],[-4,nan]] f32[2]=[0.5,3]", NULL,
             "f32[2,2] [[-0.5, 2], [-2, nan]]"),
    TP_WORKS("i32[3]=[-3,0,3] i32[]=2", NULL, "i32[3] [-6, 0, 3]"),
    TP_WORKS("f32[2,3,4,4] f32[3,1,1]", NULL, NULL),
    TP_FAILS("f32[2] f32[3,2]", NULL, "slope"),
    {0},
};
const struct tp_op tp_op_PRelu = {
    .name = "PRelu",
    .summary = "slope x below 0, else x; the slope broadcasts to x",
    .inputs = prelu_inputs,
    .results = prelu_results,
    .infer = infer_prelu,
    .prepare = prepare_prelu,
    .reuse = 3,
    .samples = prelu_samples,
};

/* --- Abs ---------------------------------------------------------------------------- */
/* Of complex numbers it is real. */
LOOPS1_N(absolute, fabs(x), x > 0 ? (U)x : -(U)x)
LOOP1(absolute_C64, float, tp_c64, uint32_t, tp_c64, float, fabs(x))
LOOP1(absolute_C128, double, tp_c128, uint32_t, tp_c128, double, fabs(x))

static troupe_status infer_abs(struct tp_infer *infer, troupe_error *err)
{
    const troupe_dtype dtype = infer->inputs[0]->dtype;
    infer->results[0].dtype = dtype == TROUPE_C64    ? TROUPE_F32
                              : dtype == TROUPE_C128 ? TROUPE_F64
                                                     : dtype;
    return tp_infer_same(infer, err);
}

static troupe_status prepare_abs(struct tp_prepare *prepare, troupe_error *err)
{
    static const struct tp_loops1 loops = {.of = {TABLE_NC(absolute)}};
    return tp_unary_prepare(prepare, &loops, err);
}

static const struct tp_port abs_inputs[] = {{"x", PORT_NC, 1, 0}, TP_LAST};
static const struct tp_port abs_results[] = {{"y", 0, 0, 0}, TP_LAST};
static const struct tp_sample abs_samples[] = {
    TP_WORKS("f32[4]=[1.5,-2,-inf,nan]", NULL, "f32[4] [1.5, 2, inf, nan]"),
    TP_WORKS("i8[3]=[3,-4,-128]", NULL, "i8[3] [3, 4, -128]"),
    TP_WORKS("c64[3]=[(3,-4),(0,-0),(nan,inf)]", NULL, "f32[3] [5, 0, inf]"),
    TP_WORKS("c128[1]=[(3e200,4e200)]", NULL, "f64[1] [5e+200]"),
    TP_SAMPLES1("f32"),
    {0},
};
const struct tp_op tp_op_Abs = {
    .name = "Abs",
    .summary = "|x|, a real number for complex ones; the least integer stays itself",
    .inputs = abs_inputs,
    .results = abs_results,
    .infer = infer_abs,
    .prepare = prepare_abs,
    .reuse = 1,
    .samples = abs_samples,
};

/* --- Not, IsNaN, IsInf -------------------------------------------------------------- */
LOOP1(not_BOOL, uint8_t, uint8_t, uint32_t, double, double, !x)

#define IS(name, value)                                                                        \
    LOOP1(name##_F32, uint8_t, float, uint32_t, float, float, value)                           \
    LOOP1(name##_F64, uint8_t, double, uint32_t, double, double, value)                        \
    HALF1(name, F16, BOOL)                                                                     \
    HALF1(name, BF16, BOOL)
IS(is_nan, x != x)
IS(is_either, x == a || x == b)

static troupe_status prepare_not(struct tp_prepare *prepare, troupe_error *err)
{
    static const struct tp_loops1 loops = {.of = {TABLE_B(not )}};
    return tp_unary_prepare(prepare, &loops, err);
}

static troupe_status prepare_is_nan(struct tp_prepare *prepare, troupe_error *err)
{
    static const struct tp_loops1 loops = {.of = {TABLE_F(is_nan)}};
    return tp_unary_prepare(prepare, &loops, err);
}

/* An infinity that is not looked for is NaN, which nothing equals. */
static troupe_status prepare_is_inf(struct tp_prepare *prepare, troupe_error *err)
{
    static const struct tp_loops1 loops = {.of = {TABLE_F(is_either)}};
    const double above = tp_int(&prepare->node, "detect_positive", 1) ? HUGE_VAL : (double)NAN;
    const double below = tp_int(&prepare->node, "detect_negative", 1) ? -HUGE_VAL : (double)NAN;
    return tp_unary_prepare_with(prepare, &loops, above, below, err);
}

static const struct tp_port not_inputs[] = {{"x", TP_TYPE(BOOL), 0, 0}, TP_LAST};
static const struct tp_port is_inputs[] = {{"x", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_port is_results[] = {{"y", TP_TYPE(BOOL), 0, 0}, TP_LAST};
static const struct tp_attr_spec is_inf_attrs[] = {{"detect_negative", TROUPE_ATTR_INT, false},
                                                   {"detect_positive", TROUPE_ATTR_INT, false},
                                                   TP_LAST};
static const struct tp_sample not_samples[] = {
    TP_WORKS("bool[2]=[true,false]", NULL, "bool[2] [false, true]"), TP_SAMPLES1("bool"), {0}};
static const struct tp_sample is_nan_samples[] = {
    TP_WORKS("f32[4]=[1,nan,inf,-inf]", NULL, "bool[4] [false, true, false, false]"),
    TP_SAMPLES1("f32"),
    {0},
};
static const struct tp_sample is_inf_samples[] = {
    TP_WORKS("f32[4]=[1,nan,inf,-inf]", NULL, "bool[4] [false, false, true, true]"),
    TP_WORKS("f32[4]=[1,nan,inf,-inf]", "detect_negative=0",
             "bool[4] [false, false, true, false]"),
    TP_WORKS("f32[4]=[1,nan,inf,-inf]", "detect_positive=0",
             "bool[4] [false, false, false, true]"),
    TP_SAMPLES1("f32"),
    {0},
};
const struct tp_op tp_op_Not = {
    .name = "Not",
    .summary = "not x",
    .inputs = not_inputs,
    .results = is_results,
    .infer = tp_infer_same,
    .prepare = prepare_not,
    .reuse = 1,
    .samples = not_samples,
};
const struct tp_op tp_op_IsNaN = {
    .name = "IsNaN",
    .summary = "true where x is NaN",
    .inputs = is_inputs,
    .results = is_results,
    .infer = tp_infer_same,
    .prepare = prepare_is_nan,
    .samples = is_nan_samples,
};
const struct tp_op tp_op_IsInf = {
    .name = "IsInf",
    .summary = "true where x is infinite; detect_negative and detect_positive choose the sign",
    .inputs = is_inputs,
    .results = is_results,
    .attrs = is_inf_attrs,
    .infer = tp_infer_same,
    .prepare = prepare_is_inf,
    .samples = is_inf_samples,
};

/* --- Clip --------------------------------------------------------------------------- */
/* low and high are one element each, or NULL. */
typedef void clip_fn(void *out, const void *in, size_t n, const void *low, const void *high);

#define CLIP(dtype, T, lowest, highest)                                                        \
    static void clip_##dtype(void *out, const void *in, size_t n, const void *low,             \
                             const void *high)                                                 \
    {                                                                                          \
        const T a = low ? *(const T *)low : (lowest), b = high ? *(const T *)high : (highest); \
        const T *p = in;                                                                       \
        T *o = out;                                                                            \
        TP_APART                                                                               \
        for (size_t i = 0; i < n; i++) {                                                       \
            const T x = p[i] < a ? a : p[i];                                                   \
            o[i] = x > b ? b : x;                                                              \
        }                                                                                      \
    }
CLIP(F32, float, -HUGE_VALF, HUGE_VALF)
CLIP(F64, double, -HUGE_VAL, HUGE_VAL)
CLIP(I8, int8_t, INT8_MIN, INT8_MAX)
CLIP(I16, int16_t, INT16_MIN, INT16_MAX)
CLIP(I32, int32_t, INT32_MIN, INT32_MAX)
CLIP(I64, int64_t, INT64_MIN, INT64_MAX)
CLIP(U8, uint8_t, 0, UINT8_MAX)
CLIP(U16, uint16_t, 0, UINT16_MAX)
CLIP(U32, uint32_t, 0, UINT32_MAX)
CLIP(U64, uint64_t, 0, UINT64_MAX)

static void clip_half(troupe_dtype dtype, uint16_t *out, const uint16_t *in, size_t n,
                      const void *low, const void *high)
{
    float a = 0, b = 0, x[128];
    if (low) tp_load_f32(dtype, low, 1, 1, &a);
    if (high) tp_load_f32(dtype, high, 1, 1, &b);
    for (size_t i = 0; i < n; i += TP_COUNT(x)) {
        const size_t m = n - i < TP_COUNT(x) ? n - i : TP_COUNT(x);
        tp_load_f32(dtype, in + i, 1, m, x);
        clip_F32(x, x, m, low ? &a : NULL, high ? &b : NULL);
        tp_store_f32(dtype, x, m, out + i, 1);
    }
}

#define HALF_CLIP(dtype)                                                                       \
    static void clip_##dtype(void *out, const void *in, size_t n, const void *low,             \
                             const void *high)                                                 \
    {                                                                                          \
        clip_half(TROUPE_##dtype, out, in, n, low, high);                                      \
    }
HALF_CLIP(F16)
HALF_CLIP(BF16)

static clip_fn *const clips[TP_DTYPES] = {TABLE_N(clip)};

static troupe_status run_clip(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *x = tp_in(launch, 0), *low = tp_in(launch, 1),
                         *high = tp_in(launch, 2);
    (void)err;
    clips[x->type->dtype](tp_out(launch, 0)->data, x->data, tp_view_count(x),
                          low ? low->data : NULL, high ? high->data : NULL);
    return TROUPE_OK;
}

static troupe_status infer_clip(struct tp_infer *infer, troupe_error *err)
{
    for (size_t i = 1; i < infer->n_inputs; i++) {
        const struct tp_shape *shape = tp_infer_shape(infer, i);
        if (!shape || !tp_shape_known(shape)) continue;
        if (tp_shape_count_known(shape) == 1) continue;
        return tp_fail(err, TROUPE_INVALID, "input %zu '%s' is %s, not one element", i,
                       i == 1 ? "min" : "max", tp_shape_text(shape).text);
    }
    return tp_infer_same(infer, err);
}

static const struct tp_port clip_inputs[] = {{"x", TP_NUMBERS, 1, 0},
                                             {"min", TP_NUMBERS, 1, TP_OPTIONAL},
                                             {"max", TP_NUMBERS, 1, TP_OPTIONAL},
                                             TP_LAST};
static const struct tp_port clip_results[] = {{"y", TP_NUMBERS, 1, 0}, TP_LAST};
static const struct tp_sample clip_samples[] = {
    TP_WORKS("f32[5]=[-3,0.5,3,nan,inf] f32[]=-1 f32[]=2", NULL, "f32[5] [-1, 0.5, 2, nan, 2]"),
    TP_WORKS("f32[3]=[-3,0.5,3] f32[]=-1", NULL, "f32[3] [-1, 0.5, 3]"),
    TP_WORKS("f32[3]=[-3,0.5,3] - f32[1]=[2]", NULL, "f32[3] [-3, 0.5, 2]"),
    TP_WORKS("f32[3]=[-3,0.5,3] f32[]=2 f32[]=1", NULL, "f32[3] [1, 1, 1]"),
    TP_WORKS("i8[3]=[-128,0,127] i8[]=-5 i8[]=5", NULL, "i8[3] [-5, 0, 5]"),
    TP_WORKS("u64[2]=[18446744073709551615,0] u64[]=1", NULL,
             "u64[2] [18446744073709551615, 1]"),
    TP_WORKS("f32[200] f32[]=0 f32[]=1", NULL, NULL),
    TP_SAMPLES1("f32"),
    TP_FAILS("f32[3] f32[2]", NULL, "'min'"),
    TP_FAILS("f32[3] - f32[2]", NULL, "'max'"),
    {0},
};
const struct tp_op tp_op_Clip = {
    .name = "Clip",
    .summary = "x kept within min and max; max when min is above it; NaN stays NaN",
    .inputs = clip_inputs,
    .results = clip_results,
    .infer = infer_clip,
    .cpu = run_clip,
    .reuse = 1,
    .samples = clip_samples,
};

/* --- Where -------------------------------------------------------------------------- */
/* A run; each input moves on by 0 or 1. */
#define CHOOSE(T)                                                                              \
    static void choose_##T(T *o, const uint8_t *given, size_t gs, const T *x, size_t xs,       \
                           const T *y, size_t ys, size_t n)                                    \
    {                                                                                          \
        if (gs && xs && ys) {                                                                  \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++)                                                     \
                o[i] = given[i] ? x[i] : y[i];                                                 \
            return;                                                                            \
        }                                                                                      \
        for (size_t i = 0; i < n; i++)                                                         \
            o[i] = given[i * gs] ? x[i * xs] : y[i * ys];                                      \
    }
CHOOSE(uint8_t)
CHOOSE(uint16_t)
CHOOSE(uint32_t)
CHOOSE(uint64_t)
typedef struct {
    uint64_t half[2]; /* of a c128, or of a string's struct */
} pair;
CHOOSE(pair)

static void choose(const struct tp_walk *w, size_t size, char *o, const uint8_t *given,
                   const char *x, const char *y)
{
    const size_t gs = w->moves[0], xs = w->moves[1], ys = w->moves[2];
    switch (size) {
    case 1:
        choose_uint8_t((uint8_t *)o, given, gs, (const uint8_t *)x, xs, (const uint8_t *)y, ys,
                       w->run);
        break;
    case 2:
        choose_uint16_t((uint16_t *)o, given, gs, (const uint16_t *)x, xs, (const uint16_t *)y,
                        ys, w->run);
        break;
    case 4:
        choose_uint32_t((uint32_t *)o, given, gs, (const uint32_t *)x, xs, (const uint32_t *)y,
                        ys, w->run);
        break;
    case 8:
        choose_uint64_t((uint64_t *)o, given, gs, (const uint64_t *)x, xs, (const uint64_t *)y,
                        ys, w->run);
        break;
    default:
        choose_pair((pair *)o, given, gs, (const pair *)x, xs, (const pair *)y, ys, w->run);
        break;
    }
}

static troupe_status run_where(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_walk *w = launch->state;
    const struct tp_view *x = tp_in(launch, 1);
    const size_t size = tp_element_size(x->type->dtype);
    char *o = tp_out(launch, 0)->data;
    struct tp_walk_at at = {0};
    (void)err;
    for (size_t i = 0; i < w->runs; i++, tp_walk_next(w, &at)) {
        choose(w, size, o, (const uint8_t *)tp_in(launch, 0)->data + at.element[0],
               (const char *)x->data + at.element[1] * size,
               (const char *)tp_in(launch, 2)->data + at.element[2] * size);
        o += w->run * size;
    }
    return TROUPE_OK;
}

static troupe_status prepare_where(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *inputs[] = {tp_infer_shape(node, 0), tp_infer_shape(node, 1),
                                       tp_infer_shape(node, 2)};
    struct tp_walk *w = tp_kernel_state(prepare, sizeof(*w), err);
    if (!w) return TROUPE_EXHAUSTED;
    tp_walk_make(w, &node->results[0].shape, inputs, 3);
    prepare->run = run_where;
    return tp_texts_wrap(prepare, err);
}

static const struct tp_port where_inputs[] = {
    {"given", TP_TYPE(BOOL), 0, 0}, {"x", TP_ANY, 1, 0}, {"y", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_port where_results[] = {{"z", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_sample where_samples[] = {
    TP_WORKS("bool[3]=[true,false,true] f32[3]=[1,2,3] f32[3]=[4,5,6]", NULL,
             "f32[3] [1, 5, 3]"),
    TP_WORKS("bool[2,1]=[[true],[false]] i64[2]=[1,2] i64[]=9", NULL,
             "i64[2,2] [[1, 2], [9, 9]]"),
    TP_WORKS("bool[3] bool[3] bool[3]", NULL, NULL),
    TP_WORKS("bool[] f16[2,3] f16[3]", NULL, NULL),
    TP_WORKS("bool[4,1,2] f64[3,1] f64[4,3,2]", NULL, NULL),
    TP_WORKS("bool[0] u8[] u8[]", NULL, NULL),
    TP_FAILS("bool[2] f32[3] f32[3]", NULL, "[2]"),
    {0},
};
const struct tp_op tp_op_Where = {
    .name = "Where",
    .summary = "x where given is true, else y",
    .inputs = where_inputs,
    .results = where_results,
    .infer = tp_infer_broadcast,
    .prepare = prepare_where,
    .reuse = 7,
    .samples = where_samples,
};
