/* SPDX-License-Identifier: MIT
 *
 * graph/body_types.c - the types of a graph node's results, from what the body knows of its
 * inputs.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/body.h"
#include "graph/call.h"
#include "graph/infer.h"
#include "tensor/tensor.h"

static troupe_status inputs_room(struct tp_types *types, size_t n, troupe_error *err)
{
    size_t known_room = types->inputs_room;
    if (n <= types->inputs_room) return TROUPE_OK; /* there is room already */
    TP_TRY(tp_grow(&types->known, n - 1, &known_room, sizeof(types->known[0]), err));
    return tp_grow(&types->inputs, n - 1, &types->inputs_room, sizeof(types->inputs[0]), err);
}

static troupe_status results_room(struct tp_types *types, size_t n, troupe_error *err)
{
    if (n == 0) return TROUPE_OK; /* nothing to keep */
    return tp_grow(&types->results, n - 1, &types->results_room, sizeof(types->results[0]),
                   err);
}

/* The elements of a constant, or of a value that was told; NULL: they are not known. */
static void *elements_of(const struct tp_body *body, uint32_t v)
{
    const struct tp_function *f = body->function;
    if (f->values[v].constant && v >= f->n_args) return f->values[v].constant->data;
    return v < body->told_n ? body->told[v] : NULL;
}

static void look_up(struct tp_body *body, const struct tp_node *node)
{
    const struct tp_function *f = body->function;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const uint32_t v = node->inputs[i];
        const struct tp_type *type = v == TP_NO_VALUE ? NULL : &f->values[v].type;
        body->types.inputs[i] = type;
        body->types.known[i] = (struct tp_view){type ? elements_of(body, v) : NULL, type};
    }
}

struct tp_infer tp_body_view(struct tp_body *body, const struct tp_node *node)
{
    look_up(body, node);
    return (struct tp_infer){
        .node = node->name,
        .op = node->op,
        .attrs = node->attrs,
        .n_attrs = node->n_attrs,
        .n_inputs = node->n_inputs,
        .n_results = node->n_results,
        .inputs = body->types.inputs,
        .known = body->types.known,
        .results = body->types.results,
    };
}

static troupe_status infer_op(struct tp_body *body, const struct tp_node *node,
                              troupe_error *err)
{
    struct tp_infer infer = tp_body_view(body, node);
    return tp_infer_run(&infer, err);
}

static troupe_status infer_call(struct tp_body *body, const struct tp_node *node,
                                const struct tp_function *callee, troupe_error *err)
{
    struct tp_types *types = &body->types;
    look_up(body, node);
    if (node->n_results != callee->n_results) {
        return tp_fail(err, TROUPE_INVALID, "%u results where '%s' has %u", node->n_results,
                       callee->name, callee->n_results);
    }
    if (callee->n_dims) {
        TP_TRY(tp_grow(&types->dims, callee->n_dims - 1, &types->dims_room,
                       sizeof(types->dims[0]), err));
    }
    TP_TRY(tp_call_check(callee, types->inputs, node->n_inputs, types->dims, err));
    for (uint32_t i = 0; i < node->n_results; i++)
        types->results[i] = tp_call_type(&callee->results[i].type, types->dims);
    return TROUPE_OK;
}

troupe_status tp_body_infer(struct tp_body *body, const struct tp_node *node,
                            const struct tp_function *callee, troupe_error *err)
{
    TP_TRY(inputs_room(&body->types, node->n_inputs, err));
    TP_TRY(results_room(&body->types, node->n_results, err));
    const troupe_status status =
        callee ? infer_call(body, node, callee, err) : infer_op(body, node, err);
    if (status < 0) tp_body_name_dims(body->function, err);
    return status;
}
