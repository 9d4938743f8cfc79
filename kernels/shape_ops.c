/* SPDX-License-Identifier: MIT
 *
 * kernels/shape_ops.c - Shape, Size, ConstantOfShape and Range: between shapes and values.
 */
#include <math.h>

#include "kernels/convert.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"

static const struct tp_port any_inputs[] = {{"x", TP_ANY, 1, TP_SHAPE}, TP_LAST};

/* --- Shape -------------------------------------------------------------------------- */
/* The dimensions from start to before end that are wanted of `rank`. */
static void read_range(const troupe_attr *attrs, size_t n, int rank, int *from, int *to)
{
    int64_t start = tp_attr_int(attrs, n, "start", 0), end = tp_attr_int(attrs, n, "end", rank);
    if (start < 0) start += rank;
    if (end < 0) end += rank;
    *from = start < 0 ? 0 : start > rank ? rank : (int)start;
    *to = end < *from ? *from : end > rank ? rank : (int)end;
}

static troupe_status infer_shape(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    struct tp_shape *out = &infer->results[0].shape;
    int from, to;
    (void)err;
    *out = (struct tp_shape){.rank = 1, .dims = {TP_DIM_ANY}};
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* how many is not known */
    read_range(infer->attrs, infer->n_attrs, x->rank, &from, &to);
    out->dims[0] = to - from;
    return TROUPE_OK;
}

static troupe_status run_shape(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_shape *x = &tp_in(launch, 0)->type->shape;
    int64_t *out = tp_out(launch, 0)->data;
    int from, to;
    (void)err;
    read_range(launch->attrs, launch->n_attrs, x->rank, &from, &to);
    for (int i = from; i < to; i++)
        *out++ = x->dims[i];
    return TROUPE_OK;
}

static const struct tp_port shape_results[] = {{"shape", TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_attr_spec shape_attrs[] = {
    {"end", TROUPE_ATTR_INT, false}, {"start", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample shape_samples[] = {
    TP_WORKS("f32[2,3,4]", NULL, "i64[3] [2, 3, 4]"),
    TP_WORKS("f32[2,3,4]", "start=1", "i64[2] [3, 4]"),
    TP_WORKS("f32[2,3,4]", "start=-2 end=-1", "i64[1] [3]"),
    TP_WORKS("f32[2,3,4]", "start=-10 end=10", "i64[3] [2, 3, 4]"),
    TP_WORKS("f32[2,3,4]", "start=2 end=1", "i64[0] []"),
    TP_WORKS("f32[]", NULL, "i64[0] []"),
    {0},
};
const struct tp_op tp_op_Shape = {
    .name = "Shape",
    .summary = "the dimensions of x from start to before end",
    .inputs = any_inputs,
    .results = shape_results,
    .attrs = shape_attrs,
    .infer = infer_shape,
    .cpu = run_shape,
    .samples = shape_samples,
};

/* --- Size --------------------------------------------------------------------------- */
static troupe_status infer_scalar(struct tp_infer *infer, troupe_error *err)
{
    (void)err;
    infer->results[0].shape = (struct tp_shape){.rank = 0};
    return TROUPE_OK;
}

static troupe_status run_size(const struct tp_launch *launch, troupe_error *err)
{
    (void)err;
    *(int64_t *)tp_out(launch, 0)->data = (int64_t)tp_view_count(tp_in(launch, 0));
    return TROUPE_OK;
}

static const struct tp_port size_results[] = {{"size", TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_sample size_samples[] = {
    TP_WORKS("f32[2,3,4]", NULL, "i64[] 24"),
    TP_WORKS("f32[]", NULL, "i64[] 1"),
    TP_WORKS("f32[2,0]", NULL, "i64[] 0"),
    {0},
};
const struct tp_op tp_op_Size = {
    .name = "Size",
    .summary = "the number of elements of x",
    .inputs = any_inputs,
    .results = size_results,
    .infer = infer_scalar,
    .cpu = run_size,
    .samples = size_samples,
};

/* --- ConstantOfShape ---------------------------------------------------------------- */
static const troupe_tensor *value_of(const troupe_attr *attrs, size_t n)
{
    const troupe_attr *attr = tp_attr_find(attrs, n, "value");
    return attr ? attr->tensor : NULL;
}

static troupe_status infer_constant(struct tp_infer *infer, troupe_error *err)
{
    const troupe_tensor *value = value_of(infer->attrs, infer->n_attrs);
    const struct tp_shape *list = tp_infer_shape(infer, 0);
    struct tp_shape to = {.rank = TP_RANK_ANY};
    int64_t dims[16];
    size_t n;
    TP_TRY(tp_infer_rank(infer, 0, 1, 1, err));
    if (value && (value->count != 1 || value->type.dtype == TROUPE_STRING))
        return tp_fail(err, TROUPE_INVALID, "value is %s, not one number",
                       tp_type_text(&value->type).text);
    infer->results[0].dtype = value ? value->type.dtype : TROUPE_F32;
    const troupe_status status = tp_infer_ints(infer, 0, dims, &n, err);
    TP_TRY(status);
    if (status == TROUPE_OK) return tp_shape_make(&infer->results[0].shape, (int)n, dims, err);
    if (list->rank == 1 && list->dims[0] >= 0 && list->dims[0] <= TROUPE_MAX_RANK) {
        to.rank = (int)list->dims[0];
        for (int i = 0; i < to.rank; i++)
            to.dims[i] = TP_DIM_ANY;
    }
    infer->results[0].shape = to;
    return TROUPE_OK;
}

/* Fill memory with an element, doubling what is there. */
static void fill(char *to, const void *element, size_t size, size_t n)
{
    if (n == 0) return;
    memcpy(to, element, size);
    for (size_t done = 1; done < n;) {
        const size_t more = n - done < done ? n - done : done;
        memcpy(to + done * size, to, more * size);
        done += more;
    }
}

static troupe_status run_constant(const struct tp_launch *launch, troupe_error *err)
{
    static const float zero = 0;
    const troupe_tensor *value = value_of(launch->attrs, launch->n_attrs);
    const struct tp_view *out = tp_out(launch, 0);
    (void)err;
    fill(out->data, value ? value->data : &zero, troupe_dtype_size(out->type->dtype),
         tp_view_count(out));
    return TROUPE_OK;
}

static const struct tp_port constant_inputs[] = {{"shape", TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_port constant_results[] = {{"y", 0, 0, 0}, TP_LAST};
static const struct tp_attr_spec constant_attrs[] = {{"value", TROUPE_ATTR_TENSOR, false},
                                                     TP_LAST};
static const struct tp_sample constant_samples[] = {
    TP_WORKS("i64[2]=[1,2]", NULL, "f32[1,2] [[0, 0]]"),
    TP_WORKS("i64[2]=[1,3]", "value=i32[1]=[7]", "i32[1,3] [[7, 7, 7]]"),
    TP_WORKS("i64[0]=[]", "value=f64[1]=[1.5]", "f64[] 1.5"),
    TP_WORKS("i64[2]=[0,2]", NULL, "f32[0,2] []"),
    TP_WORKS("i64[1]=[5]", "value=bool[1]=[true]", "bool[5] [true, true, true, true, true]"),
    TP_FAILS("i64[1]=[-1]", NULL, "-1"),
    TP_FAILS("i64[2]=[1,2]", "value=f32[2]=[1,2]", "value"),
    TP_FAILS("i64[2]=[4611686018427387904,4]", NULL, "elements"),
    {0},
};
const struct tp_op tp_op_ConstantOfShape = {
    .name = "ConstantOfShape",
    .summary = "a tensor of that shape, filled with value, or with f32 0",
    .inputs = constant_inputs,
    .results = constant_results,
    .attrs = constant_attrs,
    .infer = infer_constant,
    .cpu = run_constant,
    .samples = constant_samples,
};

/* --- Range -------------------------------------------------------------------------- */
/* How many elements there are from start to before limit, delta apart. */
static troupe_status count_floats(double start, double limit, double delta, int64_t *out,
                                  troupe_error *err)
{
    const double n = ceil((limit - start) / delta);
    *out = n > 0 && n < 9e15 ? (int64_t)n : 0;
    if (delta != 0 && n < 9e15) return TROUPE_OK; /* so n is no NaN */
    return tp_fail(err, TROUPE_INVALID, "no range goes from %g to %g by %g", start, limit,
                   delta);
}

static troupe_status count_ints(int64_t start, int64_t limit, int64_t delta, int64_t *out,
                                troupe_error *err)
{
    if (delta == 0) return tp_fail(err, TROUPE_INVALID, "delta is 0");
    const bool up = delta > 0;
    const uint64_t way =
        up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t each = up ? (uint64_t)delta : -(uint64_t)delta;
    const bool none = up ? limit <= start : limit >= start;
    const uint64_t n = none ? 0 : (way - 1) / each + 1;
    *out = (int64_t)n;
    if (n <= INT64_MAX) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "the range has %llu elements", (unsigned long long)n);
}

static troupe_status infer_range(struct tp_infer *infer, troupe_error *err)
{
    const troupe_dtype dtype = infer->inputs[0]->dtype;
    double f[3];
    int64_t n[3], count = 0;
    infer->results[0].shape = (struct tp_shape){.rank = 1, .dims = {TP_DIM_ANY}};
    for (size_t i = 0; i < 3; i++)
        TP_TRY(tp_infer_rank(infer, i, 0, 0, err));
    for (size_t i = 0; i < 3; i++) {
        if (!tp_known(infer, i)) return TROUPE_OK; /* how many is not known */
        if (TP_FLOATS >> dtype & 1)
            tp_load_f64(dtype, tp_known(infer, i), 1, 1, &f[i]);
        else
            tp_load_i64(dtype, tp_known(infer, i), 1, 1, &n[i]);
    }
    if (TP_FLOATS >> dtype & 1)
        TP_TRY(count_floats(f[0], f[1], f[2], &count, err));
    else
        TP_TRY(count_ints(n[0], n[1], n[2], &count, err));
    infer->results[0].shape.dims[0] = count;
    return TROUPE_OK;
}

static troupe_status run_range(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *out = tp_out(launch, 0), *start = tp_in(launch, 0);
    const troupe_dtype dtype = out->type->dtype;
    const size_t n = tp_view_count(out), size = troupe_dtype_size(dtype);
    double f[2], x;
    int64_t k[2], y;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        char *to = (char *)out->data + i * size;
        if (TP_FLOATS >> dtype & 1) {
            tp_load_f64(dtype, start->data, 1, 1, &f[0]);
            tp_load_f64(dtype, tp_in(launch, 2)->data, 1, 1, &f[1]);
            x = f[0] + (double)i * f[1];
            tp_store_f64(dtype, &x, 1, to, 1);
        } else {
            tp_load_i64(dtype, start->data, 1, 1, &k[0]);
            tp_load_i64(dtype, tp_in(launch, 2)->data, 1, 1, &k[1]);
            y = (int64_t)((uint64_t)k[0] + i * (uint64_t)k[1]);
            tp_store_i64(dtype, &y, 1, to, 1);
        }
    }
    return TROUPE_OK;
}

#define RANGE_TYPES (TP_TYPE(F32) | TP_TYPE(F64) | TP_TYPE(I16) | TP_TYPE(I32) | TP_TYPE(I64))
static const struct tp_port range_inputs[] = {{"start", RANGE_TYPES, 1, TP_HOST},
                                              {"limit", RANGE_TYPES, 1, TP_HOST},
                                              {"delta", RANGE_TYPES, 1, TP_HOST},
                                              TP_LAST};
static const struct tp_port range_results[] = {{"y", RANGE_TYPES, 1, 0}, TP_LAST};
static const struct tp_sample range_samples[] = {
    TP_WORKS("f32[]=1 f32[]=2 f32[]=0.25", NULL, "f32[4] [1, 1.25, 1.5, 1.75]"),
    TP_WORKS("i32[]=10 i32[]=3 i32[]=-3", NULL, "i32[3] [10, 7, 4]"),
    TP_WORKS("i64[]=3 i64[]=3 i64[]=1", NULL, "i64[0] []"),
    TP_WORKS("i64[]=-9223372036854775808 i64[]=9223372036854775807 i64[]=9223372036854775807",
             NULL, "i64[3] [-9223372036854775808, -1, 9223372036854775806]"),
    TP_WORKS("i16[]=5 i16[]=0 i16[]=1", NULL, "i16[0] []"),
    TP_FAILS("f32[]=1 f32[]=2 f32[]=0", NULL, "by 0"),
    TP_FAILS("f32[]=nan f32[]=2 f32[]=1", NULL, "nan"),
    TP_FAILS("f32[]=0 f32[]=inf f32[]=1", NULL, "inf"),
    TP_FAILS("i32[]=1 i32[]=2 i32[]=0", NULL, "delta is 0"),
    TP_FAILS("i64[]=-9223372036854775808 i64[]=9223372036854775807 i64[]=1", NULL, "elements"),
    TP_FAILS("f32[1]=[1] f32[]=2 f32[]=1", NULL, "rank"),
    {0},
};
const struct tp_op tp_op_Range = {
    .name = "Range",
    .summary = "the numbers from start to before limit, delta apart",
    .inputs = range_inputs,
    .results = range_results,
    .infer = infer_range,
    .cpu = run_range,
    .samples = range_samples,
};
