/* SPDX-License-Identifier: MIT
 *
 * import/onnx/calls.c - before anything is built: how large do the model's functions make it?
 *
 * They are put in place at each call, so a few hundred bytes of functions that call one another
 * twice would be more graph nodes than there is memory. Each function's size is worked out
 * once.
 */
#include "base/fail.h"
#include "import/onnx/model.h"
#include "import/onnx/scan.h"

/* Sums stay where they are once they are too large. */
static size_t add(size_t a, size_t b)
{
    const size_t most = SIZE_MAX / 4;
    return a > most - b ? most : a + b;
}

static troupe_status measure(const struct tp_onnx_model *model,
                             struct tp_onnx_function *function, int depth, troupe_error *err);

/* Nodes and names of a body with those of the functions that it calls. */
static troupe_status measure_body(const struct tp_onnx_model *model,
                                  const struct tp_onnx_body *body, int depth,
                                  struct tp_onnx_size *size, troupe_error *err)
{
    for (size_t i = 0; i < body->n_nodes; i++) {
        struct tp_onnx_function *const called = tp_onnx_function_of(model, body->nodes[i]);
        size->nodes = add(size->nodes, 1);
        size->names = add(size->names, body->nodes[i]->n_output);
        if (!called) continue;
        TP_TRY(measure(model, called, depth + 1, err));
        size->nodes = add(size->nodes, called->size.nodes);
        size->names = add(size->names, called->size.names);
    }
    return TROUPE_OK;
}

static troupe_status measure(const struct tp_onnx_model *model,
                             struct tp_onnx_function *function, int depth, troupe_error *err)
{
    const struct tp_onnx_body body = tp_onnx_function_body(function->proto);
    struct tp_onnx_size size = {.names = function->proto->n_input};
    if (function->state == TP_ONNX_MEASURED) return TROUPE_OK;
    if (function->state == TP_ONNX_OPEN)
        return tp_fail(err, TROUPE_INVALID, "function '%s' calls itself", body.name);
    if (depth > TP_ONNX_CALLS)
        return tp_fail(err, TROUPE_EXHAUSTED, "functions call one another more than %d deep",
                       TP_ONNX_CALLS);
    function->state = TP_ONNX_OPEN;
    TP_TRY(measure_body(model, &body, depth, &size, err));
    function->state = TP_ONNX_MEASURED;
    function->size = size;
    return TROUPE_OK;
}

troupe_status tp_onnx_measure(const struct tp_onnx_model *model, troupe_error *err)
{
    const struct tp_onnx_body body = tp_onnx_graph_body(model->proto);
    struct tp_onnx_size size = {.nodes = 0};
    TP_TRY(measure_body(model, &body, 0, &size, err));
    if (size.nodes > TP_ONNX_NODES)
        return tp_fail(err, TROUPE_EXHAUSTED,
                       "its functions make it %zu graph nodes, above %zu", size.nodes,
                       TP_ONNX_NODES);
    if (size.names > TP_ONNX_NAMES)
        return tp_fail(err, TROUPE_EXHAUSTED, "its functions make it %zu values, above %zu",
                       size.names, TP_ONNX_NAMES);
    return TROUPE_OK;
}
