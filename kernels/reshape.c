/* SPDX-License-Identifier: MIT
 *
 * kernels/reshape.c - ops whose result is its input's elements in another shape.
 */
#include "kernels/kernel.h"
#include "kernels/ops.h"

static const struct tp_port one_result[] = {{"y", TP_ANY, 1, 0}, TP_LAST};

/* --- Identity ----------------------------------------------------------------------- */
static const struct tp_port identity_inputs[] = {{"x", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_sample identity_samples[] = {
    TP_WORKS("f32[3]=[1,2,nan]", NULL, "f32[3] [1, 2, nan]"),
    TP_WORKS("f32[2,0]", NULL, NULL),
    TP_WORKS("f32[]", NULL, NULL),
    {0},
};
const struct tp_op tp_op_Identity = {
    .name = "Identity",
    .summary = "x, unchanged",
    .inputs = identity_inputs,
    .results = one_result,
    .infer = tp_infer_same,
    .cpu = tp_kernel_copy,
    .view = true,
    .samples = identity_samples,
};

/* --- Reshape ------------------------------------------------------------------------ */
/* The dimension that -1 stands for, from what is left of the input's when those that are copied
 * (by 0) are taken away on both sides. */
static troupe_status find_missing(const struct tp_shape *from,
                                  const bool copied[TROUPE_MAX_RANK], const struct tp_shape *to,
                                  int64_t *out, troupe_error *err)
{
    struct tp_shape left = {.rank = 0}, right = {.rank = 0};
    for (int i = 0; i < from->rank; i++)
        if (!copied[i]) left.dims[left.rank++] = from->dims[i];
    for (int i = 0; i < to->rank; i++)
        if (to->dims[i] >= 0 && !copied[i]) right.dims[right.rank++] = to->dims[i];
    const int64_t all = tp_infer_product(&left, 0, left.rank);
    const int64_t rest = tp_infer_product(&right, 0, right.rank);
    *out = TP_DIM_ANY;
    if (rest == 1) *out = all;
    if (rest > 0 && all >= 0) {
        if (all % rest != 0) {
            return tp_fail(err, TROUPE_INVALID, "shape %s does not divide into %lld",
                           tp_shape_text(from).text, (long long)rest);
        }
        *out = all / rest;
    }
    if (rest != 0) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "-1 is ambiguous: the other dimensions hold no element");
}

/* Turn wanted numbers into dimensions; *missing is the place of -1 or below 0. */
static troupe_status read_wanted(const struct tp_shape *from, const int64_t *wanted, bool zero,
                                 struct tp_shape *to, bool copied[TROUPE_MAX_RANK],
                                 int *missing, troupe_error *err)
{
    bool zeros = false;
    for (int i = 0; i < to->rank; i++) {
        to->dims[i] = wanted[i];
        zeros |= zero && wanted[i] == 0;
        if (wanted[i] < -1) {
            return tp_fail(err, TROUPE_INVALID, "dimension %d is %lld", i,
                           (long long)wanted[i]);
        }
        if (wanted[i] == -1) {
            if (*missing >= 0)
                return tp_fail(err, TROUPE_INVALID, "-1 stands twice in the shape");
            *missing = i;
        }
        if (wanted[i] != 0 || zero) continue;
        if (from->rank != TP_RANK_ANY && i >= from->rank) {
            return tp_fail(err, TROUPE_INVALID, "dimension %d is 0, but %s has no dimension %d",
                           i, tp_shape_text(from).text, i);
        }
        to->dims[i] = from->rank == TP_RANK_ANY ? TP_DIM_ANY : from->dims[i];
        copied[i] = true;
    }
    if (!zeros || *missing < 0) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "0 and -1 stand in the shape, and allowzero is set");
}

static troupe_status check_count(const struct tp_shape *from, const struct tp_shape *to,
                                 troupe_error *err)
{
    size_t have, want;
    if (!tp_shape_known(from) || !tp_shape_known(to)) return TROUPE_OK; /* later */
    TP_TRY(tp_shape_count(from, &have, err));
    TP_TRY(tp_shape_count(to, &want, err));
    if (have == want) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "shape %s has %zu elements, not the %zu of %s",
                   tp_shape_text(from).text, have, want, tp_shape_text(to).text);
}

static troupe_status infer_reshape(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *from = tp_infer_shape(infer, 0), *list = tp_infer_shape(infer, 1);
    struct tp_shape to = {.rank = TP_RANK_ANY};
    int64_t wanted[16];
    size_t n;
    TP_TRY(tp_infer_rank(infer, 1, 1, 1, err));
    const troupe_status status = tp_infer_ints(infer, 1, wanted, &n, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING) { /* only how many they are may be known */
        if (list->rank == 1 && list->dims[0] >= 0 && list->dims[0] <= TROUPE_MAX_RANK) {
            to.rank = (int)list->dims[0];
            for (int i = 0; i < to.rank; i++)
                to.dims[i] = TP_DIM_ANY;
        }
        infer->results[0].shape = to;
        return TROUPE_OK;
    }
    if (n > TROUPE_MAX_RANK)
        return tp_fail(err, TROUPE_INVALID, "the shape has %zu dimensions; %d is the most", n,
                       TROUPE_MAX_RANK);
    bool copied[TROUPE_MAX_RANK] = {false};
    int missing = -1;
    to.rank = (int)n;
    TP_TRY(read_wanted(from, wanted, tp_int(infer, "allowzero", 0) != 0, &to, copied, &missing,
                       err));
    if (missing >= 0) {
        to.dims[missing] = TP_DIM_ANY;
        if (from->rank != TP_RANK_ANY)
            TP_TRY(find_missing(from, copied, &to, &to.dims[missing], err));
    }
    infer->results[0].shape = to;
    return check_count(from, &to, err);
}

static const struct tp_port reshape_inputs[] = {
    {"data", TP_ANY, 1, 0}, {"shape", TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_attr_spec reshape_attrs[] = {{"allowzero", TROUPE_ATTR_INT, false},
                                                    TP_LAST};
static const struct tp_sample reshape_samples[] = {
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]] i64[2]=[3,2]", NULL,
             "f32[3,2] [[1, 2], [3, 4], [5, 6]]"),
    TP_WORKS("f32[2,3,4] i64[3]=[0,-1,2]", NULL, NULL),
    TP_WORKS("f32[2,3] i64[1]=[-1]", NULL, NULL),
    TP_WORKS("f32[1] i64[0]=[]", NULL, NULL),
    TP_WORKS("f32[0,3] i64[2]=[3,0]", "allowzero=1", NULL),
    TP_WORKS("f32[0,3] i64[2]=[0,-1]", NULL, NULL),
    TP_FAILS("f32[2,3] i64[2]=[4,2]", NULL, "6 elements"),
    TP_FAILS("f32[2,3] i64[2]=[4,-1]", NULL, "divide"),
    TP_FAILS("f32[2,3] i64[3]=[-1,-1,2]", NULL, "twice"),
    TP_FAILS("f32[2,3] i64[3]=[6,1,0]", NULL, "no dimension 2"),
    TP_FAILS("f32[0,3] i64[2]=[0,-1]", "allowzero=1", "allowzero"),
    TP_FAILS("f32[2,3] i64[1]=[-6]", NULL, "-6"),
    {0},
};
const struct tp_op tp_op_Reshape = {
    .name = "Reshape",
    .summary =
        "data in another shape; 0 copies a dimension unless allowzero is set, -1 is worked "
        "out",
    .inputs = reshape_inputs,
    .results = one_result,
    .attrs = reshape_attrs,
    .infer = infer_reshape,
    .cpu = tp_kernel_copy,
    .view = true,
    .samples = reshape_samples,
};

/* --- Flatten ------------------------------------------------------------------------ */
static troupe_status infer_flatten(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *from = tp_infer_shape(infer, 0);
    struct tp_shape *to = &infer->results[0].shape;
    const int64_t given = tp_int(infer, "axis", 1);
    *to = (struct tp_shape){.rank = 2, .dims = {TP_DIM_ANY, TP_DIM_ANY}};
    if (from->rank == TP_RANK_ANY) return TROUPE_OK;
    int axis = from->rank; /* one past the last is allowed here */
    if (given != from->rank) TP_TRY(tp_infer_axis(given, from->rank, &axis, err));
    to->dims[0] = tp_infer_product(from, 0, axis);
    to->dims[1] = tp_infer_product(from, axis, from->rank);
    return TROUPE_OK;
}

static const struct tp_port flatten_inputs[] = {{"x", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_attr_spec flatten_attrs[] = {{"axis", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample flatten_samples[] = {
    TP_WORKS("f32[2,1,2]=[[[1,2]],[[3,4]]]", NULL, "f32[2,2] [[1, 2], [3, 4]]"),
    TP_WORKS("f32[2,3,4]", "axis=0", NULL),
    TP_WORKS("f32[2,3,4]", "axis=3", NULL),
    TP_WORKS("f32[2,3,4]", "axis=-1", NULL),
    TP_WORKS("f32[]", "axis=0", NULL),
    TP_WORKS("f32[0,3]", NULL, NULL),
    TP_FAILS("f32[2,3]", "axis=3", "axis"),
    {0},
};
const struct tp_op tp_op_Flatten = {
    .name = "Flatten",
    .summary = "x as a matrix: the dimensions before axis are its rows, the others its columns",
    .inputs = flatten_inputs,
    .results = one_result,
    .attrs = flatten_attrs,
    .infer = infer_flatten,
    .cpu = tp_kernel_copy,
    .view = true,
    .samples = flatten_samples,
};

/* --- Squeeze, Unsqueeze ------------------------------------------------------------- */
/* Bit i of *out for each axis i in the list. */
static troupe_status mark_axes(const int64_t *axes, size_t n, int rank, unsigned *out,
                               troupe_error *err)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        int axis;
        TP_TRY(tp_infer_axis(axes[i], rank, &axis, err));
        if (*out & 1u << axis)
            return tp_fail(err, TROUPE_INVALID, "axis %d is listed twice", axis);
        *out |= 1u << axis;
    }
    return TROUPE_OK;
}

static troupe_status infer_squeeze(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *from = tp_infer_shape(infer, 0);
    struct tp_shape to = {.rank = 0};
    int64_t axes[16];
    size_t n = 0;
    unsigned marked = 0;
    const bool given = tp_infer_shape(infer, 1) != NULL;
    const troupe_status status = given ? tp_infer_ints(infer, 1, axes, &n, err) : TROUPE_OK;
    TP_TRY(status);
    if (status == TROUPE_PENDING || from->rank == TP_RANK_ANY)
        return TROUPE_OK;                                  /* rank unknown */
    if (!given && !tp_shape_known(from)) return TROUPE_OK; /* which are 1 is not known */
    TP_TRY(mark_axes(axes, n, from->rank, &marked, err));
    for (int i = 0; i < from->rank; i++) {
        const bool out = given ? marked >> i & 1 : from->dims[i] == 1;
        if (!out) to.dims[to.rank++] = from->dims[i];
        if (out && from->dims[i] >= 0 && from->dims[i] != 1) {
            return tp_fail(err, TROUPE_INVALID, "dimension %d of %s is %lld, not 1", i,
                           tp_shape_text(from).text, (long long)from->dims[i]);
        }
    }
    infer->results[0].shape = to;
    return TROUPE_OK;
}

static troupe_status infer_unsqueeze(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *from = tp_infer_shape(infer, 0);
    struct tp_shape to = {.rank = 0};
    int64_t axes[16];
    size_t n;
    unsigned marked;
    const troupe_status status = tp_infer_ints(infer, 1, axes, &n, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING || from->rank == TP_RANK_ANY)
        return TROUPE_OK; /* rank unknown */
    if ((size_t)from->rank + n > TROUPE_MAX_RANK) {
        return tp_fail(err, TROUPE_INVALID, "the result has %zu dimensions; %d is the most",
                       (size_t)from->rank + n, TROUPE_MAX_RANK);
    }
    to.rank = from->rank + (int)n;
    TP_TRY(mark_axes(axes, n, to.rank, &marked, err));
    for (int i = 0, next = 0; i < to.rank; i++)
        to.dims[i] = marked >> i & 1 ? 1 : from->dims[next++];
    infer->results[0].shape = to;
    return TROUPE_OK;
}

static const struct tp_port squeeze_inputs[] = {
    {"data", TP_ANY, 1, 0}, {"axes", TP_TYPE(I64), 0, TP_OPTIONAL | TP_HOST}, TP_LAST};
static const struct tp_port unsqueeze_inputs[] = {
    {"data", TP_ANY, 1, 0}, {"axes", TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_sample squeeze_samples[] = {
    TP_WORKS("f32[1,2,1]=[[[1],[2]]]", NULL, "f32[2] [1, 2]"),
    TP_WORKS("f32[1,2,1] i64[1]=[-1]", NULL, NULL),
    TP_WORKS("f32[1,0,1] i64[2]=[0,2]", NULL, NULL),
    TP_FAILS("f32[1,2,1] i64[1]=[1]", NULL, "is 2, not 1"),
    TP_FAILS("f32[1,2,1] i64[1]=[3]", NULL, "axis"),
    TP_FAILS("f32[1,2,1] i64[2]=[0,-3]", NULL, "twice"),
    {0},
};
static const struct tp_sample unsqueeze_samples[] = {
    TP_WORKS("f32[2]=[1,2] i64[2]=[0,2]", NULL, "f32[1,2,1] [[[1], [2]]]"),
    TP_WORKS("f32[2,3] i64[1]=[-1]", NULL, NULL),
    TP_WORKS("f32[] i64[1]=[0]", NULL, NULL),
    TP_FAILS("f32[2] i64[1]=[2]", NULL, "axis"),
    TP_FAILS("f32[2] i64[2]=[1,-2]", NULL, "twice"),
    TP_FAILS("f32[1,1,1,1,1,1,1,1] i64[1]=[0]", NULL, "9 dimensions"),
    {0},
};
const struct tp_op tp_op_Squeeze = {
    .name = "Squeeze",
    .summary = "data without the dimensions of axes, or without all that are 1",
    .inputs = squeeze_inputs,
    .results = one_result,
    .infer = infer_squeeze,
    .cpu = tp_kernel_copy,
    .view = true,
    .samples = squeeze_samples,
};
const struct tp_op tp_op_Unsqueeze = {
    .name = "Unsqueeze",
    .summary = "data with a dimension of 1 at each of axes, which count in the result",
    .inputs = unsqueeze_inputs,
    .results = one_result,
    .infer = infer_unsqueeze,
    .cpu = tp_kernel_copy,
    .view = true,
    .samples = unsqueeze_samples,
};
