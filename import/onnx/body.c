/* SPDX-License-Identifier: MIT
 *
 * import/onnx/body.c - build the nodes of a body: of the graph, or of a function where it is
 * called.
 *
 * A function of the model has no types of its own, so it is put in place at each call, with the
 * attributes of the call. Its names are its own; in the result they stand below the call's.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "import/onnx/model.h"
#include "import/onnx/scan.h"

/* --- names ---------------------------------------------------------------------------- */

static size_t count_outputs(const struct tp_onnx_body *body)
{
    size_t n = 0;
    for (size_t i = 0; i < body->n_nodes; i++)
        n += body->nodes[i]->n_output;
    return n;
}

static size_t count_inputs(const struct tp_onnx_body *body)
{
    size_t n = 0;
    for (size_t i = 0; i < body->n_nodes; i++)
        n += body->nodes[i]->n_input;
    return n;
}

/* Each node's places for its values, in two arrays for all. */
static troupe_status make_links(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                size_t n_outputs, troupe_error *err)
{
    const size_t n = scope->body.n_nodes, n_inputs = count_inputs(&scope->body);
    struct tp_arena *const arena = build->arena;
    scope->links = tp_arena_array(arena, n + 1, sizeof(*scope->links));
    struct tp_onnx_name **inputs = tp_arena_array(arena, n_inputs + 1, sizeof(*inputs));
    struct tp_onnx_name **outputs = tp_arena_array(arena, n_outputs + 1, sizeof(*outputs));
    if (!scope->links || !inputs || !outputs)
        return tp_fail_memory(err, (n + n_inputs + n_outputs) * sizeof(*inputs));
    for (size_t i = 0; i < n; i++) {
        scope->links[i] = (struct tp_onnx_links){.inputs = inputs, .outputs = outputs};
        inputs += scope->body.nodes[i]->n_input;
        outputs += scope->body.nodes[i]->n_output;
    }
    return TROUPE_OK;
}

troupe_status tp_onnx_scope_init(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                 size_t more, troupe_error *err)
{
    const size_t n = count_outputs(&scope->body);
    TP_TRY(make_links(build, scope, n, err));
    return tp_onnx_names_init(&scope->names, build->arena, n + more, err);
}

static troupe_status link_outputs(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                  uint32_t i, troupe_error *err)
{
    const Onnx__NodeProto *const node = scope->body.nodes[i];
    for (size_t k = 0; k < node->n_output; k++) {
        struct tp_onnx_name **const name = &scope->links[i].outputs[k];
        if (*node->output[k] == 0) continue; /* nobody wants it */
        TP_TRY(tp_onnx_names_add(&scope->names, build->arena, node->output[k], name, err));
        (*name)->node = i;
    }
    return TROUPE_OK;
}

/* Only the element type of CastLike's second input counts, so that is no use of the value. */
static bool counts(const struct tp_onnx_build *build, const Onnx__NodeProto *node, size_t input)
{
    return input != 1 || strcmp(tp_onnx_text(node->op_type), "CastLike") != 0 ||
           *tp_onnx_domain(node->domain) || tp_onnx_function_of(build->model, node);
}

static void link_inputs(const struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                        uint32_t i)
{
    const Onnx__NodeProto *const node = scope->body.nodes[i];
    for (size_t k = 0; k < node->n_input; k++) {
        if (*node->input[k] == 0) continue; /* absent */
        struct tp_onnx_name *const name = tp_onnx_names_find(&scope->names, node->input[k]);
        scope->links[i].inputs[k] = name;
        if (name && counts(build, node, k)) name->uses++;
    }
}

troupe_status tp_onnx_scope_fill(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                 troupe_error *err)
{
    for (uint32_t i = 0; i < scope->body.n_nodes; i++)
        TP_TRY(link_outputs(build, scope, i, err));
    for (uint32_t i = 0; i < scope->body.n_nodes; i++)
        link_inputs(build, scope, i);
    return TROUPE_OK;
}

static troupe_status make_initializer(struct tp_onnx_build *build, struct tp_onnx_name *name,
                                      troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    const troupe_status status =
        tp_onnx_tensor(&build->model->source, name->initializer, &tensor, err);
    if (status < 0) {
        tp_fail_in(err, "initializer '%s'", name->text);
        return status;
    }
    return tp_onnx_constant(build, name->text, tensor, &name->value, err);
}

troupe_status tp_onnx_value(struct tp_onnx_build *build, struct tp_onnx_name *name,
                            const char *text, troupe_value *out, troupe_error *err)
{
    if (!name) return tp_fail(err, TROUPE_INVALID, "nobody makes the value '%s'", text);
    if (name->value == TROUPE_NO_VALUE && name->initializer)
        TP_TRY(make_initializer(build, name, err));
    *out = name->value;
    return TROUPE_OK;
}

troupe_status tp_onnx_body_build(struct tp_onnx_build *build, troupe_error *err)
{
    const uint32_t *order;
    TP_TRY(tp_onnx_sort(build, &order, err));
    for (size_t i = 0; i < build->scope->body.n_nodes; i++)
        TP_TRY(tp_onnx_node_build(build, order[i], err));
    return TROUPE_OK;
}

/* --- functions of the model ----------------------------------------------------------- */

/* The attributes that references in the body get: the call's, then the function's defaults. */
static troupe_status gather_attrs(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                  const struct tp_onnx_node *call, troupe_error *err)
{
    troupe_attr *defaults;
    size_t n;
    TP_TRY(tp_onnx_attrs(build, scope->function->attribute_proto,
                         scope->function->n_attribute_proto, &defaults, &n, err));
    troupe_attr *const all = tp_arena_array(build->arena, call->n_attrs + n + 1, sizeof(*all));
    if (!all) return tp_fail_memory(err, (call->n_attrs + n) * sizeof(*all));
    for (size_t i = 0; i < call->n_attrs; i++)
        all[i] = call->attrs[i];
    for (size_t i = 0; i < n; i++)
        all[call->n_attrs + i] = defaults[i];
    scope->attrs = all;
    scope->n_attrs = call->n_attrs + n;
    return TROUPE_OK;
}

static troupe_status bind_arguments(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                    const struct tp_onnx_node *call, troupe_error *err)
{
    const Onnx__FunctionProto *const function = scope->function;
    if (call->n_inputs > function->n_input)
        return tp_fail(err, TROUPE_INVALID, "%zu inputs; function '%s' has %zu", call->n_inputs,
                       tp_onnx_text(function->name), function->n_input);
    for (size_t i = 0; i < function->n_input; i++) {
        struct tp_onnx_name *name;
        TP_TRY(tp_onnx_names_add(&scope->names, build->arena, function->input[i], &name, err));
        if (i < call->n_inputs) name->value = call->inputs[i];
    }
    return TROUPE_OK;
}

static troupe_status give_results(struct tp_onnx_build *build, struct tp_onnx_node *call,
                                  troupe_error *err)
{
    const Onnx__FunctionProto *const function = build->scope->function;
    if (call->n_results > function->n_output)
        return tp_fail(err, TROUPE_INVALID, "%zu outputs; function '%s' has %zu",
                       call->n_results, tp_onnx_text(function->name), function->n_output);
    for (size_t i = 0; i < call->n_results; i++) {
        if (!call->results[i]) continue;
        struct tp_onnx_name *const name =
            tp_onnx_names_find(&build->scope->names, function->output[i]);
        TP_TRY(tp_onnx_value(build, name, function->output[i], &call->results[i]->value, err));
        if (call->results[i]->value == TROUPE_NO_VALUE)
            return tp_fail(err, TROUPE_INVALID, "result '%s' is absent", function->output[i]);
    }
    return TROUPE_OK;
}

static troupe_status build_call(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                struct tp_onnx_node *call, troupe_error *err)
{
    TP_TRY(gather_attrs(build, scope, call, err));
    TP_TRY(tp_onnx_scope_init(build, scope, scope->function->n_input, err));
    TP_TRY(bind_arguments(build, scope, call, err));
    TP_TRY(tp_onnx_scope_fill(build, scope, err));
    for (size_t i = 0; i < scope->function->n_output; i++) {
        struct tp_onnx_name *const name =
            tp_onnx_names_find(&scope->names, scope->function->output[i]);
        if (name) name->uses++;
    }
    build->scope = scope;
    TP_TRY(tp_onnx_body_build(build, err));
    return give_results(build, call, err);
}

troupe_status tp_onnx_call_build(struct tp_onnx_build *build,
                                 const Onnx__FunctionProto *function, struct tp_onnx_node *call,
                                 troupe_error *err)
{
    struct tp_onnx_scope *const outer = build->scope;
    const char *const prefix = tp_arena_words(build->arena, outer->prefix, call->name, "/");
    if (!prefix) return tp_fail_memory(err, strlen(call->name) + 2);
    struct tp_onnx_scope scope = {
        .body = tp_onnx_function_body(function), .prefix = prefix, .function = function};
    const troupe_status status = build_call(build, &scope, call, err);
    build->scope = outer;
    tp_onnx_names_fini(&scope.names);
    return status;
}
