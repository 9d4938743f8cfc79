/* SPDX-License-Identifier: MIT
 *
 * kernels/join.c - Concat and Split: whole rows put together and taken apart along one axis.
 */
#include "kernels/kernel.h"
#include "kernels/ops.h"
#include "kernels/texts.h"

/* The state of both: the axis cuts a tensor into `outer` blocks; each part has so many bytes of
 * a block. */
struct state {
    size_t outer, whole; /* bytes of a block of the joined tensor */
    size_t part[];
};

/* Bytes of one block of a tensor of that type. */
static size_t block_size(const struct tp_type *type, int axis)
{
    return tp_span(&type->shape, axis, type->shape.rank) * tp_element_size(type->dtype);
}

/* --- Concat ------------------------------------------------------------------------- */
/* One more input's dimensions into what is known of the result's. */
static troupe_status add_input(struct tp_shape *out, const struct tp_shape *x, int axis,
                               size_t i, troupe_error *err)
{
    for (int d = 0; d < out->rank; d++) {
        int64_t *dim = &out->dims[d];
        if (d == axis) {
            if (*dim < 0 || x->dims[d] < 0)
                *dim = TP_DIM_ANY;
            else if (__builtin_add_overflow(*dim, x->dims[d], dim))
                return tp_fail(err, TROUPE_INVALID, "the result has too many elements");
            continue;
        }
        if (*dim >= 0 && x->dims[d] >= 0 && *dim != x->dims[d]) {
            return tp_fail(err, TROUPE_INVALID,
                           "input %zu %s has %lld, not %lld, at dimension %d", i,
                           tp_shape_text(x).text, (long long)x->dims[d], (long long)*dim, d);
        }
        if (*dim < 0 && x->dims[d] >= 0) *dim = x->dims[d];
    }
    return TROUPE_OK;
}

static troupe_status infer_concat(struct tp_infer *infer, troupe_error *err)
{
    struct tp_shape out = infer->inputs[0]->shape;
    int axis = 0;
    for (size_t i = 0; i < infer->n_inputs; i++) {
        const struct tp_shape *x = &infer->inputs[i]->shape;
        if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
        if (x->rank != out.rank) {
            return tp_fail(err, TROUPE_INVALID, "input %zu %s has rank %d, not %d", i,
                           tp_shape_text(x).text, x->rank, out.rank);
        }
    }
    TP_TRY(tp_infer_axis(tp_int(infer, "axis", 0), out.rank, &axis, err));
    for (size_t i = 1; i < infer->n_inputs; i++)
        TP_TRY(add_input(&out, &infer->inputs[i]->shape, axis, i, err));
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static troupe_status run_concat(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    char *to = tp_out(launch, 0)->data;
    (void)err;
    for (size_t i = 0; i < launch->n_inputs; i++) {
        const char *from = tp_in(launch, i)->data;
        const size_t part = s->part[i];
        for (size_t k = 0; part > 0 && k < s->outer; k++)
            memcpy(to + k * s->whole, from + k * part, part);
        to += part;
    }
    return TROUPE_OK;
}

static troupe_status prepare_concat(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_type *out = &node->results[0];
    int axis;
    TP_TRY(tp_infer_axis(tp_int(node, "axis", 0), out->shape.rank, &axis, err));
    struct state *s =
        tp_kernel_state(prepare, sizeof(*s) + node->n_inputs * sizeof(s->part[0]), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->outer = tp_span(&out->shape, 0, axis);
    s->whole = block_size(out, axis);
    for (size_t i = 0; i < node->n_inputs; i++)
        s->part[i] = block_size(node->inputs[i], axis);
    prepare->run = run_concat;
    return tp_texts_wrap(prepare, err);
}

static const struct tp_port concat_inputs[] = {{"x", TP_ANY, 1, TP_VARIADIC}, TP_LAST};
static const struct tp_port concat_results[] = {{"y", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_attr_spec concat_attrs[] = {{"axis", TROUPE_ATTR_INT, true}, TP_LAST};
static const struct tp_sample concat_samples[] = {
    TP_WORKS("f32[2,1]=[[1],[2]] f32[2,2]=[[3,4],[5,6]]", "axis=1",
             "f32[2,3] [[1, 3, 4], [2, 5, 6]]"),
    TP_WORKS("f32[2,3] f32[1,3] f32[0,3]", "axis=0", NULL),
    TP_WORKS("f32[2,3,4] f32[2,2,4]", "axis=-2", NULL),
    TP_WORKS("f32[3]", "axis=0", NULL),
    TP_WORKS("f32[0] f32[0]", "axis=0", NULL),
    TP_FAILS("f32[2,3] f32[2,4]", "axis=0", "dimension 1"),
    TP_FAILS("f32[2,3] f32[2]", "axis=0", "rank 1"),
    TP_FAILS("f32[2,3] f32[2,3]", "axis=2", "axis"),
    TP_FAILS("f32[2,3] f32[2,3]", NULL, "axis"),
    {0},
};
const struct tp_op tp_op_Concat = {
    .name = "Concat",
    .summary = "the inputs one after another along axis",
    .inputs = concat_inputs,
    .results = concat_results,
    .attrs = concat_attrs,
    .infer = infer_concat,
    .prepare = prepare_concat,
    .samples = concat_samples,
};

/* --- Split -------------------------------------------------------------------------- */
/* Sizes of the parts: given, or as equal as they can be, the last the smallest. */
static troupe_status read_parts(const struct tp_infer *infer, int64_t dim, int64_t *parts,
                                troupe_error *err)
{
    const size_t n = infer->n_results;
    int64_t given[16], sum = 0;
    size_t n_given;
    const int64_t each = dim / (int64_t)n + (dim % (int64_t)n != 0);
    if (!tp_infer_shape(infer, 1)) {
        for (size_t i = 0; i < n; i++) {
            const int64_t left = dim - (int64_t)i * each;
            parts[i] = left < 0 ? 0 : left < each ? left : each;
        }
        return TROUPE_OK;
    }
    const troupe_status status = tp_infer_ints(infer, 1, given, &n_given, err);
    if (status != TROUPE_OK) return status;
    if (n_given != n)
        return tp_fail(err, TROUPE_INVALID, "split has %zu numbers for %zu results", n_given,
                       n);
    for (size_t i = 0; i < n; i++) {
        parts[i] = given[i];
        if (given[i] < 0 || __builtin_add_overflow(sum, given[i], &sum)) {
            return tp_fail(err, TROUPE_INVALID, "split has %lld at %zu", (long long)given[i],
                           i);
        }
    }
    if (dim < 0 || sum == dim) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "split adds up to %lld, not the %lld along the axis",
                   (long long)sum, (long long)dim);
}

#define MOST 1024 /* results of a split */

static troupe_status infer_split(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    const size_t n = infer->n_results;
    const int64_t wanted = tp_int(infer, "num_outputs", (int64_t)n);
    int64_t parts[MOST];
    int axis;
    TP_TRY(tp_infer_rank(infer, 1, 1, 1, err));
    if (n == 0 || n > MOST || wanted != (int64_t)n)
        return tp_fail(err, TROUPE_INVALID, "num_outputs is %lld for %zu results",
                       (long long)wanted, n);
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    TP_TRY(tp_infer_axis(tp_int(infer, "axis", 0), x->rank, &axis, err));
    const bool given = tp_infer_shape(infer, 1) != NULL;
    troupe_status status = TROUPE_PENDING;
    if (given || x->dims[axis] >= 0) status = read_parts(infer, x->dims[axis], parts, err);
    TP_TRY(status);
    for (size_t i = 0; i < n; i++) {
        infer->results[i].shape = *x;
        infer->results[i].shape.dims[axis] = status == TROUPE_PENDING ? TP_DIM_ANY : parts[i];
    }
    return TROUPE_OK;
}

static troupe_status run_split(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const char *from = tp_in(launch, 0)->data;
    (void)err;
    for (size_t i = 0; i < launch->n_results; i++) {
        const struct tp_view *to = tp_out(launch, i);
        const size_t part = s->part[i];
        for (size_t k = 0; to && part > 0 && k < s->outer; k++)
            memcpy((char *)to->data + k * part, from + k * s->whole, part);
        from += part;
    }
    return TROUPE_OK;
}

static troupe_status prepare_split(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_type *x = node->inputs[0];
    int axis;
    TP_TRY(tp_infer_axis(tp_int(node, "axis", 0), x->shape.rank, &axis, err));
    struct state *s =
        tp_kernel_state(prepare, sizeof(*s) + node->n_results * sizeof(s->part[0]), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->outer = tp_span(&x->shape, 0, axis);
    s->whole = block_size(x, axis);
    for (size_t i = 0; i < node->n_results; i++)
        s->part[i] = block_size(&node->results[i], axis);
    prepare->run = run_split;
    return tp_texts_wrap(prepare, err);
}

static const struct tp_port split_inputs[] = {
    {"x", TP_ANY, 1, 0}, {"split", TP_TYPE(I64), 0, TP_OPTIONAL | TP_HOST}, TP_LAST};
static const struct tp_port split_results[] = {{"y", TP_ANY, 1, TP_VARIADIC}, TP_LAST};
static const struct tp_attr_spec split_attrs[] = {
    {"axis", TROUPE_ATTR_INT, false}, {"num_outputs", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample split_samples[] = {
    {.inputs = "f32[4]=[1,2,3,4]", .result = "f32[2] [1, 2]", .n_results = 2},
    {.inputs = "f32[2,7]", .attrs = "axis=1 num_outputs=3", .n_results = 3},
    {.inputs = "f32[2,6,3] i64[3]=[1,0,5]", .attrs = "axis=-2", .n_results = 3},
    {.inputs = "f32[0]", .n_results = 2},
    {.inputs = "f32[3]", .n_results = 5},
    {.inputs = "f32[4] i64[2]=[1,2]", .fails = "adds up to 3", .n_results = 2},
    {.inputs = "f32[4] i64[3]=[1,2,1]", .fails = "3 numbers", .n_results = 2},
    {.inputs = "f32[4] i64[2]=[5,-1]", .fails = "-1", .n_results = 2},
    {.inputs = "f32[4]", .attrs = "num_outputs=3", .fails = "num_outputs", .n_results = 2},
    {.inputs = "f32[4]", .attrs = "axis=1", .fails = "axis", .n_results = 2},
    {0},
};
const struct tp_op tp_op_Split = {
    .name = "Split",
    .summary = "x cut along axis into parts of the sizes in split, or into equal ones",
    .inputs = split_inputs,
    .results = split_results,
    .attrs = split_attrs,
    .infer = infer_split,
    .prepare = prepare_split,
    .samples = split_samples,
};
