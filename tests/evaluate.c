/* SPDX-License-Identifier: MIT
 *
 * tests/evaluate.c - the judge: runs a function graph node by graph node, on one thread.
 */
#include "tests/evaluate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/infer.h"
#include "tensor/tensor.h"

struct run {
    const struct tp_function *function;
    troupe_tensor **tensors; /* per value */
    struct tp_view *views;   /* per value */
    struct tp_arena *arena;
    size_t *ran;
    struct tp_room room;
};

static void run_fini(struct run *run)
{
    for (uint32_t i = 0; run->tensors && i < run->function->n_values; i++)
        troupe_tensor_release(&run->tensors[i]);
    tp_free(run->tensors);
    tp_free(run->views);
    tp_arena_destroy(&run->arena);
}

/* Moves the tensor in. */
static void set_value(struct run *run, uint32_t value, troupe_tensor *tensor)
{
    run->tensors[value] = tensor;
    run->views[value] = (struct tp_view){.data = tensor->data, .type = &tensor->type};
}

static troupe_status set_inputs(struct run *run, const troupe_tensor *const *args, size_t n,
                                troupe_error *err)
{
    const struct tp_function *const f = run->function;
    for (uint32_t i = 0; i < f->n_values; i++) {
        const struct tp_value *const value = &f->values[i];
        const troupe_tensor *tensor = value->constant;
        if (value->node != TP_NO_NODE) continue;
        if (i < f->n_args && i < n && args[i]) tensor = args[i];
        if (!tensor)
            return tp_fail(err, TROUPE_INVALID, "argument '%s' is missing", value->name);
        if (value->type.dtype != tensor->type.dtype)
            return tp_fail(err, TROUPE_INVALID, "argument '%s' is %s, not %s", value->name,
                           troupe_dtype_name(tensor->type.dtype),
                           troupe_dtype_name(value->type.dtype));
        set_value(run, i, troupe_tensor_retain(tensor));
    }
    return TROUPE_OK;
}

/* --- one graph node ------------------------------------------------------------------- */

static bool is_constant(const struct run *run, uint32_t value)
{
    return run->function->values[value].node == TP_NO_NODE && value >= run->function->n_args;
}

/* What inference and prepare see: constants, or all values where shapes depend on them. */
static troupe_status describe(struct run *run, const struct tp_node *node, bool all,
                              struct tp_infer *out, troupe_error *err)
{
    const struct tp_type **inputs =
        tp_arena_array(run->arena, node->n_inputs + 1u, sizeof(*inputs));
    struct tp_view *known = tp_arena_array(run->arena, node->n_inputs + 1u, sizeof(*known));
    struct tp_type *results =
        tp_arena_array(run->arena, node->n_results + 1u, sizeof(*results));
    if (!inputs || !known || !results) return tp_fail_memory(err, sizeof(*known));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const uint32_t value = node->inputs[i];
        if (value == TP_NO_VALUE) continue;
        inputs[i] = run->views[value].type;
        known[i].type = inputs[i];
        if (all || is_constant(run, value)) known[i] = run->views[value];
    }
    *out = (struct tp_infer){.node = node->name,
                             .op = node->op,
                             .attrs = node->attrs,
                             .n_attrs = node->n_attrs,
                             .n_inputs = node->n_inputs,
                             .n_results = node->n_results,
                             .inputs = inputs,
                             .known = known,
                             .results = results};
    return tp_infer_run(out, err);
}

static bool all_known(const struct tp_infer *infer)
{
    for (size_t i = 0; i < infer->n_results; i++)
        if (!tp_shape_known(&infer->results[i].shape)) return false;
    return true;
}

/* Tensors of strings have room for their texts behind their elements. */
static troupe_status make_result(const struct tp_type *type, size_t room, troupe_tensor **out,
                                 troupe_error *err)
{
    struct tp_buffer *buffer;
    size_t size;
    if (type->dtype != TROUPE_STRING) return tp_tensor_new_unset(out, type, err);
    TP_TRY(tp_type_bytes(type, &size, err));
    TP_TRY(tp_buffer_new(&buffer, size + room, err));
    return tp_tensor_over(out, type, &buffer, 0, err);
}

static troupe_status make_room(struct tp_room *room, const struct tp_launch *launch,
                               size_t result, size_t size, troupe_error *err)
{
    struct run *run = tp_container_of(room, struct run, room);
    const uint32_t value = launch->results[result];
    troupe_tensor *larger, *old = run->tensors[value];
    TP_TRY(make_result(&old->type, size, &larger, err));
    memcpy(larger->data, old->data, old->count * sizeof(struct tp_string));
    set_value(run, value, larger);
    troupe_tensor_release(&old);
    return TROUPE_OK;
}

static troupe_status make_results(struct run *run, const struct tp_node *node,
                                  const struct tp_infer *infer, troupe_error *err)
{
    for (uint32_t i = 0; i < node->n_results; i++) {
        troupe_tensor *tensor;
        if (node->results[i] == TP_NO_VALUE) continue;
        TP_TRY(make_result(&infer->results[i], TP_STRING_ROOM, &tensor, err));
        set_value(run, node->results[i], tensor);
    }
    return TROUPE_OK;
}

static troupe_status launch(struct run *run, const struct tp_node *node,
                            const struct tp_prepare *prepare, troupe_error *err)
{
    TP_OWNED(tp_free_at)
    void *workspace = prepare->workspace ? tp_alloc_aligned(64, prepare->workspace) : NULL;
    if (prepare->workspace && !workspace) return tp_fail_memory(err, prepare->workspace);
    const struct tp_launch launched = {.values = run->views,
                                       .inputs = node->inputs,
                                       .results = node->results,
                                       .n_inputs = node->n_inputs,
                                       .n_results = node->n_results,
                                       .state = prepare->state,
                                       .workspace = workspace,
                                       .room = &run->room,
                                       .attrs = node->attrs,
                                       .n_attrs = node->n_attrs,
                                       .node = node->name,
                                       .device = "cpu:0"};
    TP_TRY(prepare->run(&launched, err));
    ++*run->ran;
    return TROUPE_OK;
}

/* The only result has its first input's elements. */
static bool is_view(const struct tp_node *node)
{
    for (uint32_t i = 1; i < node->n_results; i++)
        if (node->results[i] != TP_NO_VALUE) return false;
    return node->op->view;
}

static troupe_status share(struct run *run, const struct tp_node *node,
                           const struct tp_infer *infer, troupe_error *err)
{
    const troupe_tensor *const from = run->tensors[node->inputs[0]];
    struct tp_buffer *buffer = tp_buffer_retain(from->buffer);
    const size_t offset = (size_t)((char *)from->data - (char *)buffer->data);
    troupe_tensor *tensor;
    TP_TRY(tp_tensor_over(&tensor, &infer->results[0], &buffer, offset, err));
    set_value(run, node->results[0], tensor);
    return TROUPE_OK;
}

static troupe_status run_node(struct run *run, const struct tp_node *node, troupe_error *err)
{
    struct tp_prepare prepare = {.threads = 1, .run = node->op->cpu, .uses = UINT32_MAX};
    TP_TRY(describe(run, node, false, &prepare.node, err));
    if (!all_known(&prepare.node)) TP_TRY(describe(run, node, true, &prepare.node, err));
    if (!all_known(&prepare.node))
        return tp_fail(err, TROUPE_INTERNAL, "a shape stays unknown");
    if (is_view(node)) return share(run, node, &prepare.node, err);
    if (node->op->prepare) TP_TRY(node->op->prepare(&prepare, err));
    troupe_status status = make_results(run, node, &prepare.node, err);
    if (status >= 0) status = launch(run, node, &prepare, err);
    if (prepare.drop) prepare.drop(prepare.state);
    return status;
}

/* --- the whole ------------------------------------------------------------------------ */

static troupe_status start(struct run *run, const troupe_tensor *const *args, size_t n,
                           troupe_error *err)
{
    const size_t values = run->function->n_values;
    run->tensors = tp_alloc_array(values + 1, sizeof(*run->tensors));
    run->views = tp_alloc_array(values + 1, sizeof(*run->views));
    if (!run->tensors || !run->views) return tp_fail_memory(err, values * sizeof(*run->views));
    TP_TRY(tp_arena_new(&run->arena, err));
    return set_inputs(run, args, n, err);
}

troupe_status evaluate(const struct tp_function *function, const troupe_tensor *const *args,
                       size_t n, troupe_tensor **results, size_t *ran, troupe_error *err)
{
    TP_OWNED(run_fini)
    struct run run = {.function = function, .ran = ran, .room = {.make = make_room}};
    *ran = 0;
    TP_TRY(start(&run, args, n, err));
    for (uint32_t i = 0; i < function->n_nodes; i++) {
        const troupe_status status = run_node(&run, &function->nodes[i], err);
        if (status >= 0) continue;
        tp_fail_in(err, "graph node '%s'", function->nodes[i].name);
        return status;
    }
    for (uint32_t i = 0; i < function->n_results; i++)
        results[i] = troupe_tensor_retain(run.tensors[function->results[i].value]);
    return TROUPE_OK;
}
