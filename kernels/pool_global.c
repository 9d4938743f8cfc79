/* SPDX-License-Identifier: MIT
 *
 * kernels/pool_global.c - GlobalAveragePool and GlobalMaxPool: one window that is the whole
 * space.
 */
#include "kernels/kernel.h"
#include "kernels/ops.h"
#include "kernels/reduce.h"

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    TP_TRY(tp_infer_rank(infer, 0, 2, TROUPE_MAX_RANK, err));
    struct tp_shape out = *x;
    for (int i = 2; i < x->rank; i++)
        out.dims[i] = 1;
    infer->results[0].shape = out;
    return TROUPE_OK;
}

struct state {
    struct tp_reduce reduce;
    enum tp_reduce_end end;
};

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    (void)err;
    if (s->reduce.count == 0) return TROUPE_OK; /* there are no planes */
    tp_reduce_run(&s->reduce, tp_in(launch, 0)->data, launch->workspace);
    tp_reduce_finish(&s->reduce, s->end, launch->workspace, tp_out(launch, 0)->data);
    return TROUPE_OK;
}

static troupe_status prepare_as(struct tp_prepare *prepare, enum tp_reduce_kind kind,
                                enum tp_reduce_end end, troupe_error *err)
{
    const struct tp_type *x = prepare->node.inputs[0];
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    tp_reduce_make(&s->reduce, &x->shape, ~3u); /* all but images and channels */
    tp_reduce_choose(&s->reduce, kind, x->dtype);
    s->end = end;
    prepare->workspace = s->reduce.count * sizeof(double);
    prepare->run = run;
    return TROUPE_OK;
}

static troupe_status prepare_average(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_as(prepare, TP_REDUCE_SUM, TP_REDUCE_MEAN, err);
}

static troupe_status prepare_max(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_as(prepare, TP_REDUCE_MAX, TP_REDUCE_AS_IT_IS, err);
}

static const struct tp_port inputs[] = {{"x", TP_FLOATS, 1, 0}, TP_LAST};
static const struct tp_port results[] = {{"y", TP_FLOATS, 1, 0}, TP_LAST};
#define COMMON_SAMPLES                                                                         \
    TP_WORKS("f32[2,3,7,9]", NULL, NULL), TP_WORKS("f32[2,3,300]", NULL, NULL),                \
        TP_WORKS("f32[2,3]", NULL, NULL), TP_WORKS("f32[0,3,7]", NULL, NULL),                  \
        TP_FAILS("f32[3]", NULL, "rank 1")
static const struct tp_sample average_samples[] = {
    TP_WORKS("f32[1,2,2]=[[[1,2],[3,5]]]", NULL, "f32[1,2,1] [[[1.5], [4]]]"),
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample max_samples[] = {
    TP_WORKS("f32[1,2,2]=[[[1,2],[nan,5]]]", NULL, "f32[1,2,1] [[[2], [nan]]]"),
    COMMON_SAMPLES,
    {0},
};
const struct tp_op tp_op_GlobalAveragePool = {
    .name = "GlobalAveragePool",
    .summary = "the mean of each plane of x [n,c,space]",
    .inputs = inputs,
    .results = results,
    .infer = infer,
    .prepare = prepare_average,
    .samples = average_samples,
};
const struct tp_op tp_op_GlobalMaxPool = {
    .name = "GlobalMaxPool",
    .summary = "the greatest element of each plane of x [n,c,space]; NaN when one is",
    .inputs = inputs,
    .results = results,
    .infer = infer,
    .prepare = prepare_max,
    .samples = max_samples,
};
