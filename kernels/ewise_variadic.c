/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise_variadic.c - Max, Min, Sum and Mean of any number of inputs.
 *
 * They are chains of pairs. What is not the last pair goes to the workspace, so the result is
 * written when all inputs but the last have been read, and may lie on any of them.
 */
#include "kernels/dense.h"
#include "kernels/ewise_loops.h"
#include "kernels/ops.h"

LOOPS2_N(greater, x > y || x != x ? x : y, x > y ? x : y)
LOOPS2_N(lesser, x < y || x != x ? x : y, x < y ? x : y)
LOOPS2_F(added, x + y, 0)
LOOPS1_F(divided, x / a, 0)

static tp_loop2 *const greater_of[TP_DTYPES] = {TABLE_N(greater)};
static tp_loop2 *const lesser_of[TP_DTYPES] = {TABLE_N(lesser)};
static tp_loop2 *const added_of[TP_DTYPES] = {TABLE_F(added)};
static tp_loop1 *const divided_of[TP_DTYPES] = {TABLE_F(divided)};

struct state {
    tp_loop1 *divide; /* for a mean, or NULL */
    double params[2]; /* its divisor */
    size_t n_inputs, count;
    size_t half; /* bytes of each half of the workspace */
    struct tp_pair pairs[];
};

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    void *out = tp_out(launch, 0)->data;
    const void *so_far = tp_in(launch, 0)->data;
    if (s->count == 0) return TROUPE_OK; /* what the pairs before give may be more than that */
    if (s->n_inputs == 1) TP_TRY(tp_kernel_copy(launch, err));
    for (size_t i = 1; i < s->n_inputs; i++) {
        void *to = i + 1 == s->n_inputs ? out : tp_part(launch->workspace, i % 2 * s->half);
        tp_pair_run(&s->pairs[i - 1], to, so_far, tp_in(launch, i)->data);
        so_far = to;
    }
    if (s->divide) s->divide(out, out, s->count, s->params);
    return TROUPE_OK;
}

static troupe_status prepare_chain(struct tp_prepare *prepare, tp_loop2 *const loops[TP_DTYPES],
                                   bool mean, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const troupe_dtype dtype = node->inputs[0]->dtype;
    const size_t n = node->n_inputs;
    struct tp_type so_far = *node->inputs[0];
    struct state *s = tp_kernel_state(prepare, sizeof(*s) + n * sizeof(s->pairs[0]), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->n_inputs = n;
    s->count = tp_shape_count_known(&node->results[0].shape);
    s->divide = mean ? divided_of[dtype] : NULL;
    s->params[0] = (double)n;
    for (size_t i = 1; i < n; i++) {
        const struct tp_type before = so_far;
        if (tp_shape_broadcast(&before.shape, &node->inputs[i]->shape, &so_far.shape, NULL) < 0)
            break; /* infer has seen to it that they do */
        tp_pair_make(&s->pairs[i - 1], loops[dtype], &so_far, &before, node->inputs[i]);
    }
    s->half = tp_room(s->count * troupe_dtype_size(dtype));
    if (n > 2) prepare->workspace = (n > 3 ? 2 : 1) * s->half + s->half;
    prepare->run = run;
    return TROUPE_OK;
}

static troupe_status prepare_max(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_chain(prepare, greater_of, false, err);
}

static troupe_status prepare_min(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_chain(prepare, lesser_of, false, err);
}

static troupe_status prepare_sum(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_chain(prepare, added_of, false, err);
}

static troupe_status prepare_mean(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_chain(prepare, added_of, true, err);
}

static const struct tp_port number_inputs[] = {{"x", TP_NUMBERS, 1, TP_VARIADIC}, TP_LAST};
static const struct tp_port number_results[] = {{"y", TP_NUMBERS, 1, 0}, TP_LAST};
static const struct tp_port float_inputs[] = {{"x", TP_FLOATS, 1, TP_VARIADIC}, TP_LAST};
static const struct tp_port float_results[] = {{"y", TP_FLOATS, 1, 0}, TP_LAST};
#define COMMON_SAMPLES                                                                         \
    TP_WORKS("f32[3,4]", NULL, NULL), TP_WORKS("f32[3,4] f32[4]", NULL, NULL),                 \
        TP_WORKS("f32[3,1] f32[4] f32[2,1,1]", NULL, NULL),                                    \
        TP_WORKS("f32[3,4] f32[3,4] f32[3,4] f32[3,4] f32[3,4]", NULL, NULL),                  \
        TP_WORKS("f32[] f32[1] f32[3,4] f32[]", NULL, NULL),                                   \
        TP_WORKS("f32[0] f32[] f32[1]", NULL, NULL),                                           \
        TP_WORKS("f32[4] f32[4] f32[6,0,1]", NULL, NULL),                                      \
        TP_FAILS("f32[3] f32[4]", NULL, "[4]"), TP_FAILS("", NULL, "1 or more")
static const struct tp_sample max_samples[] = {
    TP_WORKS("f32[3]=[1,nan,3] f32[3]=[2,5,nan] f32[3]=[0,0,9]", NULL, "f32[3] [2, nan, nan]"),
    TP_WORKS("u8[2]=[200,3] u8[2]=[100,4]", NULL, "u8[2] [200, 4]"),
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample min_samples[] = {
    TP_WORKS("f32[3]=[1,nan,3] f32[3]=[2,5,nan] f32[3]=[0,0,9]", NULL, "f32[3] [0, nan, nan]"),
    TP_WORKS("i64[2]=[-9223372036854775808,3] i64[2]=[0,4]", NULL,
             "i64[2] [-9223372036854775808, 3]"),
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample sum_samples[] = {
    TP_WORKS("f32[2]=[1,2] f32[2]=[10,20] f32[]=0.5", NULL, "f32[2] [11.5, 22.5]"),
    COMMON_SAMPLES,
    {0},
};
static const struct tp_sample mean_samples[] = {
    TP_WORKS("f32[2]=[1,2] f32[2]=[10,20] f32[]=4", NULL, "f32[2] [5, 8.6666667]"),
    COMMON_SAMPLES,
    {0},
};
const struct tp_op tp_op_Max = {
    .name = "Max",
    .summary = "the greatest of the inputs; NaN when one of them is",
    .inputs = number_inputs,
    .results = number_results,
    .infer = tp_infer_broadcast,
    .prepare = prepare_max,
    .reuse = 0xff,
    .samples = max_samples,
};
const struct tp_op tp_op_Min = {
    .name = "Min",
    .summary = "the least of the inputs; NaN when one of them is",
    .inputs = number_inputs,
    .results = number_results,
    .infer = tp_infer_broadcast,
    .prepare = prepare_min,
    .reuse = 0xff,
    .samples = min_samples,
};
const struct tp_op tp_op_Sum = {
    .name = "Sum",
    .summary = "the sum of the inputs",
    .inputs = float_inputs,
    .results = float_results,
    .infer = tp_infer_broadcast,
    .prepare = prepare_sum,
    .reuse = 0xff,
    .samples = sum_samples,
};
const struct tp_op tp_op_Mean = {
    .name = "Mean",
    .summary = "the mean of the inputs",
    .inputs = float_inputs,
    .results = float_results,
    .infer = tp_infer_broadcast,
    .prepare = prepare_mean,
    .reuse = 0xff,
    .samples = mean_samples,
};
