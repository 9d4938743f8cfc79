/* SPDX-License-Identifier: MIT
 *
 * graph/body_tell.c - what is known of values besides constants: a few integers that follow
 * from shapes.
 *
 * Models work shapes out with operators: the dimensions of a value, some of them picked, joined
 * with others, given to a Reshape. Where all of that is known when the function is built, the
 * ops' own kernels are run on it, and inference sees the numbers. The function itself stays as
 * it is.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/body.h"
#include "graph/infer.h"
#include "tensor/tensor.h"

#define FEW 16 /* as many elements as tp_infer_ints gives */

static bool is_few_integers(const struct tp_type *type)
{
    double count = 1;
    if (type->dtype != TROUPE_I64 && type->dtype != TROUPE_I32) return false;
    if (!tp_shape_known(&type->shape)) return false;
    for (int i = 0; i < type->shape.rank; i++)
        count *= (double)type->shape.dims[i];
    return count <= FEW;
}

/* The input's elements are known, or nobody reads them and its shape is. */
static bool input_is_known(const struct tp_infer *infer, size_t i)
{
    if (!infer->inputs[i] || infer->known[i].data) return true;
    const struct tp_port *port = tp_op_port(infer->op->inputs, i);
    return port && (port->flags & TP_SHAPE) && tp_shape_known(&infer->inputs[i]->shape);
}

static bool can_tell(const struct tp_body *body, const struct tp_node *node)
{
    const struct tp_function *f = body->function;
    const bool ours = node->op && !node->op->user; /* what is the user's runs in calls only */
    const bool runs = ours && !node->stateful && (node->op->cpu || node->op->prepare);
    if (!runs || !node->n_inputs || !node->n_results) return false;
    for (uint32_t i = 0; i < node->n_results; i++) {
        const uint32_t v = node->results[i];
        if (v != TP_NO_VALUE && !is_few_integers(&f->values[v].type)) return false;
    }
    return true;
}

/* A run of a kernel: views of inputs and results, one behind the other. */
struct trial {
    struct tp_infer infer;
    struct tp_view *views;
    uint32_t *slots;
    void *workspace;
    struct tp_prepare prepare;
};

static void trial_fini(struct trial *t)
{
    if (t->prepare.state && t->prepare.drop) t->prepare.drop(t->prepare.state);
    tp_free(t->views);
    tp_free(t->slots);
    tp_free(t->workspace);
}

static void *take_elements(struct tp_arena *arena, const struct tp_type *type)
{
    const size_t size = tp_shape_count_known(&type->shape) * troupe_dtype_size(type->dtype);
    char *memory = tp_arena_take(arena, size + TP_ALIGN);
    return memory ? memory + (TP_ALIGN - (uintptr_t)memory % TP_ALIGN) % TP_ALIGN : NULL;
}

static troupe_status fill(struct tp_body *body, const struct tp_node *node, struct trial *t,
                          troupe_error *err)
{
    const size_t n = (size_t)node->n_inputs + node->n_results;
    t->views = tp_alloc_array(n, sizeof(*t->views));
    t->slots = tp_alloc_array(n, sizeof(*t->slots));
    if (!t->views || !t->slots) return tp_fail_memory(err, n * sizeof(*t->views));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        t->views[i] = t->infer.known[i];
        t->slots[i] = node->inputs[i] == TP_NO_VALUE ? TP_NO_VALUE : i;
    }
    for (uint32_t i = 0, k = node->n_inputs; i < node->n_results; i++, k++) {
        const uint32_t v = node->results[i];
        t->slots[k] = v == TP_NO_VALUE ? TP_NO_VALUE : k;
        if (v == TP_NO_VALUE) continue;
        t->views[k].type = &body->function->values[v].type;
        t->views[k].data = take_elements(body->scratch, t->views[k].type);
        if (!t->views[k].data) return tp_fail_memory(err, FEW * sizeof(int64_t));
    }
    return TROUPE_OK;
}

static troupe_status run(struct trial *t, troupe_error *err)
{
    const struct tp_op *op = t->infer.op;
    t->prepare =
        (struct tp_prepare){.node = t->infer, .threads = 1, .run = op->cpu, .uses = UINT32_MAX};
    if (op->prepare) TP_TRY(op->prepare(&t->prepare, err));
    if (t->prepare.workspace) {
        t->workspace = tp_alloc_aligned(TP_ALIGN, t->prepare.workspace);
        if (!t->workspace) return tp_fail_memory(err, t->prepare.workspace);
    }
    const struct tp_launch launch = {
        .values = t->views,
        .inputs = t->slots,
        .results = t->slots + t->infer.n_inputs,
        .n_inputs = (uint32_t)t->infer.n_inputs,
        .n_results = (uint32_t)t->infer.n_results,
        .state = t->prepare.state,
        .workspace = t->workspace,
        .attrs = t->infer.attrs,
        .n_attrs = t->infer.n_attrs,
        .node = t->infer.node,
        .device = "cpu:0",
    };
    return t->prepare.run(&launch, err);
}

static troupe_status keep(struct tp_body *body, const struct tp_node *node,
                          const struct trial *t, troupe_error *err)
{
    for (uint32_t i = 0; i < node->n_results; i++) {
        const uint32_t v = node->results[i];
        if (v == TP_NO_VALUE) continue;
        TP_TRY(tp_grow(&body->told, v, &body->told_room, sizeof(*body->told), err));
        while (body->told_n <= v)
            body->told[body->told_n++] = NULL;
        body->told[v] = t->views[node->n_inputs + i].data;
    }
    return TROUPE_OK;
}

/* A kernel that refuses its values will say so when the function runs. */
static troupe_status tell(struct tp_body *body, const struct tp_node *node, struct trial *t,
                          troupe_error *err)
{
    troupe_error refused = {0};
    TP_TRY(fill(body, node, t, err));
    const troupe_status status = run(t, &refused);
    if (status == TROUPE_EXHAUSTED) return tp_fail(err, status, "%s", refused.text);
    return status < 0 ? TROUPE_OK : keep(body, node, t, err);
}

troupe_status tp_body_tell(struct tp_body *body, troupe_error *err)
{
    const struct tp_node *node = &body->function->nodes[body->function->n_nodes - 1];
    if (!can_tell(body, node)) return TROUPE_OK; /* nothing of use to inference */
    TP_OWNED(trial_fini) struct trial t = {.infer = tp_body_view(body, node)};
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (!input_is_known(&t.infer, i)) return TROUPE_OK; /* it depends on arguments */
    }
    return tell(body, node, &t, err);
}
