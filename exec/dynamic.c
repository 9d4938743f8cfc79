/* SPDX-License-Identifier: MIT
 *
 * exec/dynamic.c - steps whose shapes depend on values.
 */
#include "exec/dynamic.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/infer.h"
#include "tensor/tensor.h"

/* What inference sees of the step, with all values there. */
struct description {
    const struct tp_type **inputs;
    struct tp_view *known;
    struct tp_type *results;
    struct tp_infer infer;
};

static void description_fini(struct description *d)
{
    tp_free((void *)d->inputs);
    tp_free(d->known);
    tp_free(d->results);
}

static troupe_status describe(const struct tp_frame *frame, const struct tp_step *step,
                              struct description *d, troupe_error *err)
{
    d->inputs = tp_alloc_array(step->n_inputs + 1u, sizeof *d->inputs);
    d->known = tp_alloc_array(step->n_inputs + 1u, sizeof *d->known);
    d->results = tp_alloc_array(step->n_results + 1u, sizeof *d->results);
    if (!d->inputs || !d->known || !d->results)
        return tp_fail_memory(err, (step->n_inputs + 1u) * sizeof *d->known);
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (step->inputs[i] == TP_NO_VALUE) continue;
        d->known[i] = frame->values[step->inputs[i]];
        d->inputs[i] = d->known[i].type;
    }
    d->infer = (struct tp_infer){
        .node = step->name,
        .op = step->node->op,
        .attrs = step->attrs,
        .n_attrs = step->n_attrs,
        .n_inputs = step->n_inputs,
        .n_results = step->n_results,
        .inputs = d->inputs,
        .known = d->known,
        .results = d->results,
    };
    return TROUPE_OK;
}

/* The view's elements are the first input's: only its type is new. */
static void set_view(struct tp_frame *frame, const struct tp_step *step,
                     const struct tp_type *type)
{
    uint32_t slot = step->results[0];
    frame->values[slot].data = frame->values[step->inputs[0]].data;
    if (!frame->program->slots[slot].type)
        frame->types[frame->program->slots[slot].dynamic] = *type;
}

/* Memory of the pool, or none yet where the kernel makes the result. */
static troupe_status set_result(struct tp_frame *frame, const struct tp_op *op, uint32_t slot,
                                const struct tp_type *type, troupe_error *err)
{
    troupe_tensor *tensor;
    frame->values[slot].data = NULL;
    if (op->gives || (op->makes && !tp_type_known(type))) return TROUPE_OK;
    if (!tp_type_known(type))
        return tp_fail(err, TROUPE_INVALID, "the shape of a result cannot be told: %s",
                       tp_type_text(type).text);
    TP_TRY(tp_pool_tensor(frame->program->pool, type, &tensor, err));
    tp_frame_set(frame, slot, &tensor);
    return TROUPE_OK;
}

/* A result that the graph node does not have has no type for its kernel. */
static troupe_status set_results(struct tp_frame *frame, const struct tp_step *step,
                                 struct description *d, troupe_error *err)
{
    for (uint32_t i = 0; i < step->n_results; i++) {
        if (step->results[i] == TP_NO_VALUE)
            d->results[i].dtype = TROUPE_DTYPE_NONE;
        else
            TP_TRY(set_result(frame, step->node->op, step->results[i], &d->results[i], err));
    }
    return TROUPE_OK;
}

static troupe_status launch(struct tp_frame *frame, const struct tp_step *step,
                            const struct tp_prepare *prepared, troupe_error *err)
{
    struct tp_pool *pool = frame->program->pool;
    void *workspace = NULL;
    if (prepared->workspace) TP_TRY(tp_pool_take(pool, prepared->workspace, &workspace, err));
    const struct tp_launch launch = {
        .values = frame->values,
        .inputs = step->inputs,
        .results = step->results,
        .n_inputs = step->n_inputs,
        .n_results = step->n_results,
        .state = prepared->state,
        .workspace = workspace,
        .room = &frame->room,
        .team = frame->program->device->team,
        .attrs = step->attrs,
        .n_attrs = step->n_attrs,
        .node = step->name,
        .device = frame->program->device->text,
    };
    troupe_status status = prepared->run(&launch, err);
    if (workspace) tp_pool_give(pool, workspace, prepared->workspace);
    return status;
}

static bool is_view(const struct tp_frame *frame, const struct tp_step *step)
{
    const struct tp_op *op = step->node->op;
    if (!op->view || !step->n_inputs || step->inputs[0] == TP_NO_VALUE || !step->n_results)
        return false;
    return step->results[0] != TP_NO_VALUE &&
           frame->program->slots[step->results[0]].root != step->results[0];
}

troupe_status tp_step_dynamic(struct tp_frame *frame, const struct tp_step *step,
                              troupe_error *err)
{
    TP_OWNED(description_fini) struct description d = {0};
    TP_TRY(describe(frame, step, &d, err));
    TP_TRY(tp_infer_run(&d.infer, err));
    frame->ran++;
    if (is_view(frame, step)) {
        set_view(frame, step, &d.results[0]);
        return TROUPE_OK;
    }
    TP_TRY(set_results(frame, step, &d, err));
    struct tp_prepare prepare = {
        .node = d.infer,
        .threads = frame->program->device->threads,
        .run = step->node->op->cpu,
        .uses = UINT32_MAX,
    };
    if (step->node->op->prepare) TP_TRY(step->node->op->prepare(&prepare, err));
    troupe_status status = launch(frame, step, &prepare, err);
    if (prepare.drop) prepare.drop(prepare.state);
    return status;
}
