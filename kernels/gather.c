/* SPDX-License-Identifier: MIT
 *
 * kernels/gather.c - Gather: rows by number.
 */
#include "kernels/convert.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"
#include "kernels/texts.h"

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *data = tp_infer_shape(infer, 0), *indices = tp_infer_shape(infer, 1);
    int axis;
    if (data->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    TP_TRY(tp_infer_axis(tp_int(infer, "axis", 0), data->rank, &axis, err));
    if (indices->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    struct tp_shape out = {.rank = data->rank + indices->rank - 1};
    if (out.rank > TROUPE_MAX_RANK) {
        return tp_fail(err, TROUPE_INVALID, "the result has %d dimensions; %d is the most",
                       out.rank, TROUPE_MAX_RANK);
    }
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = i < axis                   ? data->dims[i]
                      : i < axis + indices->rank ? indices->dims[i - axis]
                                                 : data->dims[i - indices->rank + 1];
    infer->results[0].shape = out;
    return TROUPE_OK;
}

struct state {
    size_t outer, dim, n; /* n: indices */
    size_t row;           /* bytes of what one index takes */
    troupe_dtype dtype;   /* of the indices */
};

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const char *from = tp_in(launch, 0)->data;
    const void *indices = tp_in(launch, 1)->data;
    char *to = tp_out(launch, 0)->data;
    const int64_t dim = (int64_t)s->dim;
    for (size_t i = 0; i < s->n; i++) {
        const int64_t index = tp_index_at(s->dtype, indices, i);
        if (index < -dim || index >= dim) {
            return tp_fail(err, TROUPE_INVALID,
                           "index %lld at element %zu is not in %lld to %lld", (long long)index,
                           i, (long long)-dim, (long long)dim - 1);
        }
        const size_t row = (size_t)(index < 0 ? index + dim : index);
        for (size_t k = 0; k < s->outer; k++)
            memcpy(to + (k * s->n + i) * s->row, from + (k * s->dim + row) * s->row, s->row);
    }
    return TROUPE_OK;
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_shape *data = tp_infer_shape(node, 0);
    int axis;
    TP_TRY(tp_infer_axis(tp_int(node, "axis", 0), data->rank, &axis, err));
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->outer = tp_span(data, 0, axis);
    s->dim = (size_t)data->dims[axis];
    s->row = tp_span(data, axis + 1, data->rank) * tp_element_size(node->inputs[0]->dtype);
    s->n = tp_shape_count_known(&node->inputs[1]->shape);
    s->dtype = node->inputs[1]->dtype;
    if (s->row == 0) s->outer = 0; /* nothing to copy, but indices are checked */
    prepare->run = run;
    return tp_texts_wrap(prepare, err);
}

static const struct tp_port inputs[] = {
    {"data", TP_ANY, 1, 0}, {"indices", TP_TYPE(I32) | TP_TYPE(I64), 0, 0}, TP_LAST};
static const struct tp_port results[] = {{"y", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"axis", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS("f32[3,2]=[[1,2],[3,4],[5,6]] i64[2]=[2,-3]", NULL, "f32[2,2] [[5, 6], [1, 2]]"),
    TP_WORKS("f32[3,10] i32[2,2]", "axis=1", NULL),
    TP_WORKS("f32[10,3] i64[]", "axis=0", NULL),
    TP_WORKS("f32[2,10,3] i64[4]", "axis=-2", NULL),
    TP_WORKS("f32[10,3] i64[0]", NULL, NULL),
    TP_WORKS("f32[10,0] i64[2]", NULL, NULL),
    TP_FAILS("f32[3,2] i64[2]=[0,3]", NULL, "index 3 at element 1"),
    TP_FAILS("f32[3,2] i64[2]=[-4,0]", NULL, "index -4"),
    TP_FAILS("f32[3,2] i64[2]=[0,0]", "axis=2", "axis"),
    TP_FAILS("f32[1,1,1,1] i64[1,1,1,1,1,1]", NULL, "9 dimensions"),
    {0},
};
const struct tp_op tp_op_Gather = {
    .name = "Gather",
    .summary = "the parts of data along axis that indices number, from the end when below 0",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare,
    .samples = samples,
};
