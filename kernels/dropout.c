/* SPDX-License-Identifier: MIT
 *
 * kernels/dropout.c - Dropout as inference has it: nothing is dropped.
 */
#include "kernels/kernel.h"
#include "kernels/ops.h"

static troupe_status refuse_training(const void *training, troupe_error *err)
{
    if (!training || !*(const uint8_t *)training) return TROUPE_OK; /* inference */
    return tp_fail(err, TROUPE_UNSUPPORTED, "Dropout with training_mode true");
}

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    TP_TRY(tp_infer_rank(infer, 1, 0, 0, err));
    TP_TRY(tp_infer_rank(infer, 2, 0, 0, err));
    for (size_t i = 0; i < infer->n_results; i++)
        infer->results[i].shape = infer->inputs[0]->shape;
    return refuse_training(tp_known(infer, 2), err);
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *training = tp_in(launch, 2), *mask = tp_out(launch, 1);
    if (training) TP_TRY(refuse_training(training->data, err));
    if (mask) memset(mask->data, 1, tp_view_count(mask));
    return tp_out(launch, 0) ? tp_kernel_copy(launch, err) : TROUPE_OK;
}

static const struct tp_port inputs[] = {
    {"data", TP_FLOATS, 1, 0},
    {"ratio", TP_FLOATS, 0, TP_OPTIONAL | TP_HOST},
    {"training_mode", TP_TYPE(BOOL), 0, TP_OPTIONAL | TP_HOST},
    TP_LAST};
static const struct tp_port results[] = {
    {"y", TP_FLOATS, 1, 0}, {"mask", TP_TYPE(BOOL), 0, TP_OPTIONAL}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"seed", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS("f32[2]=[1,2] f32[]=0.5 bool[]=false", NULL, "f32[2] [1, 2]"),
    {.inputs = "f32[2,3]", .attrs = "seed=1", .n_results = 2},
    TP_WORKS("f32[0,3]", NULL, NULL),
    TP_FAILS("f32[2] f32[]=0.5 bool[]=true", NULL, "training_mode"),
    {0},
};
const struct tp_op tp_op_Dropout = {
    .name = "Dropout",
    .summary = "data, unchanged, and a mask of true; training_mode is not supported",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .cpu = run, /* no view: a training_mode that is not constant has to be looked at */
    .samples = samples,
};
