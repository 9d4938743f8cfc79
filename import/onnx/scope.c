/* SPDX-License-Identifier: MIT
 *
 * import/onnx/scope.c - bodies, the operator sets that they import, and the model's own
 * functions.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "import/onnx/model.h"

#define KEY_SIZE 512 /* of a function of a model: domain, name and overload */

const char *tp_onnx_domain(const char *domain)
{
    domain = tp_onnx_text(domain);
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

struct tp_onnx_body tp_onnx_graph_body(const Onnx__ModelProto *model)
{
    return (struct tp_onnx_body){.nodes = model->graph->node,
                                 .n_nodes = model->graph->n_node,
                                 .imports = model->opset_import,
                                 .n_imports = model->n_opset_import};
}

struct tp_onnx_body tp_onnx_function_body(const Onnx__FunctionProto *function)
{
    return (struct tp_onnx_body){.name = tp_onnx_text(function->name),
                                 .nodes = function->node,
                                 .n_nodes = function->n_node,
                                 .imports = function->opset_import,
                                 .n_imports = function->n_opset_import};
}

int64_t tp_onnx_version(const struct tp_onnx_body *body, const char *domain)
{
    for (size_t i = 0; i < body->n_imports; i++) {
        if (strcmp(tp_onnx_domain(body->imports[i]->domain), domain) == 0)
            return body->imports[i]->version;
    }
    return 0;
}

/* The three parts of a function's name in one. No text of a model has a zero byte in it, so no
 * sane one a byte 1. Returns its size, or 0 when it has no room. */
static size_t write_key(char *key, size_t room, const char *domain, const char *name,
                        const char *overload)
{
    const int n = snprintf(key, room, "%s\1%s\1%s", tp_onnx_domain(domain), tp_onnx_text(name),
                           tp_onnx_text(overload));
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* The standard's operator of that name is one that we have. */
static bool is_ours(const char *name)
{
    const struct tp_onnx_op *const op = tp_onnx_op_find(name);
    return op && (!op->ours || tp_op_find(op->ours));
}

const struct tp_op *tp_onnx_user_op(const struct tp_onnx_model *model,
                                    const Onnx__NodeProto *node)
{
    char name[KEY_SIZE];
    const char *const domain = tp_onnx_domain(node->domain);
    if (!model->operators) return NULL;
    const int n = snprintf(name, sizeof(name), "%s%s%s", domain, *domain ? "." : "",
                           tp_onnx_text(node->op_type));
    if (n < 0 || (size_t)n >= sizeof(name)) return NULL; /* longer than any that fits a text */
    if (!*domain && is_ours(name)) return NULL;
    const struct tp_op *const op = tp_operators_find(model->operators, name);
    return op && op->user ? op : NULL;
}

struct tp_onnx_function *tp_onnx_function_of(const struct tp_onnx_model *model,
                                             const Onnx__NodeProto *node)
{
    char key[KEY_SIZE];
    if (model->proto->n_functions == 0 || tp_onnx_user_op(model, node)) return NULL;
    if (write_key(key, sizeof(key), node->domain, node->op_type, node->overload) == 0)
        return NULL;
    const uint32_t i = tp_index_find(&model->function_index, key);
    return i == TP_NO_INDEX ? NULL : &model->functions[i];
}

static troupe_status add_function(struct tp_onnx_model *model, uint32_t i, troupe_error *err)
{
    const Onnx__FunctionProto *const proto = model->proto->functions[i];
    char key[KEY_SIZE];
    uint32_t had;
    const size_t size =
        write_key(key, sizeof(key), proto->domain, proto->name, proto->overload);
    if (size == 0)
        return tp_fail(err, TROUPE_INVALID, "a function's name has more than %d bytes",
                       KEY_SIZE);
    const char *const kept = tp_arena_text(model->arena, key, size);
    if (!kept) return tp_fail_memory(err, size);
    TP_TRY(tp_index_add(&model->function_index, model->arena, kept, i, &had, err));
    if (had != TP_NO_INDEX)
        return tp_fail(err, TROUPE_INVALID, "function '%s' is there twice",
                       tp_onnx_text(proto->name));
    model->functions[i].proto = proto;
    return TROUPE_OK;
}

troupe_status tp_onnx_functions_add(struct tp_onnx_model *model, troupe_error *err)
{
    const size_t n = model->proto->n_functions;
    model->functions = tp_arena_array(model->arena, n + 1, sizeof(*model->functions));
    if (!model->functions) return tp_fail_memory(err, n * sizeof(*model->functions));
    for (size_t i = 0; i < n; i++)
        TP_TRY(add_function(model, (uint32_t)i, err));
    return TROUPE_OK;
}
