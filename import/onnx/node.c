/* SPDX-License-Identifier: MIT
 *
 * import/onnx/node.c - one ONNX node into graph nodes or constants of ours.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/op.h"
#include "import/onnx/model.h"

struct tp_onnx_node_text tp_onnx_node_text(const Onnx__NodeProto *proto)
{
    struct tp_onnx_node_text out;
    const char *name = tp_onnx_text(proto->name);
    if (*name == 0 && proto->n_output > 0) name = proto->output[0];
    snprintf(out.text, sizeof(out.text), "node '%.72s' (%.32s)", name,
             tp_onnx_text(proto->op_type));
    return out;
}

/* --- reading -------------------------------------------------------------------------- */

/* "" where the first outputs are absent too. */
static const char *name_of(const Onnx__NodeProto *proto)
{
    const char *const name = tp_onnx_text(proto->name);
    if (*name) return name;
    for (size_t i = 0; i < proto->n_output; i++)
        if (*proto->output[i]) return proto->output[i];
    return tp_onnx_text(proto->op_type);
}

static troupe_status read_inputs(struct tp_onnx_build *build, const struct tp_onnx_links *links,
                                 struct tp_onnx_node *node, troupe_error *err)
{
    const size_t n = node->proto->n_input;
    node->inputs = tp_arena_array(build->arena, n + TP_ONNX_ROOM, sizeof(*node->inputs));
    if (!node->inputs) return tp_fail_memory(err, n * sizeof(*node->inputs));
    node->n_inputs = n;
    for (size_t i = 0; i < n; i++) {
        node->inputs[i] = TROUPE_NO_VALUE;
        if (*node->proto->input[i] == 0) continue; /* absent */
        TP_TRY(tp_onnx_value(build, links->inputs[i], node->proto->input[i], &node->inputs[i],
                             err));
    }
    return TROUPE_OK;
}

/* Results at the end that nobody wants are left out. */
static void read_results(const struct tp_onnx_links *links, struct tp_onnx_node *node)
{
    node->n_results = node->proto->n_output;
    while (node->n_results > 1 && !links->outputs[node->n_results - 1])
        node->n_results--;
    node->results = links->outputs;
}

static troupe_status read_node(struct tp_onnx_build *build, uint32_t i,
                               struct tp_onnx_node *node, troupe_error *err)
{
    const struct tp_onnx_scope *const scope = build->scope;
    const Onnx__NodeProto *const proto = scope->body.nodes[i];
    *node = (struct tp_onnx_node){.proto = proto, .name = name_of(proto)};
    node->version = tp_onnx_version(&scope->body, tp_onnx_domain(proto->domain));
    TP_TRY(read_inputs(build, &scope->links[i], node, err));
    read_results(&scope->links[i], node);
    return tp_onnx_attrs(build, proto->attribute, proto->n_attribute, &node->attrs,
                         &node->n_attrs, err);
}

/* --- constants ------------------------------------------------------------------------ */

/* The tensor that the one attribute of a Constant node stands for. */
static troupe_status constant_tensor(const troupe_attr *attr, troupe_tensor **out,
                                     troupe_error *err)
{
    const int64_t n = (int64_t)attr->n;
    switch (attr->kind) {
    case TROUPE_ATTR_TENSOR:
        *out = troupe_tensor_retain(attr->tensor);
        return TROUPE_OK;
    case TROUPE_ATTR_INT:
        return tp_onnx_ints(&attr->i, 0, 1, out, err);
    case TROUPE_ATTR_INTS:
        return tp_onnx_ints(attr->ints, 1, attr->n, out, err);
    case TROUPE_ATTR_FLOAT:
        return tp_onnx_floats(&attr->f, 0, 1, out, err);
    case TROUPE_ATTR_FLOATS:
        return tp_onnx_floats(attr->floats, 1, attr->n, out, err);
    case TROUPE_ATTR_STRING:
        return troupe_tensor_new_strings(out, 0, NULL, &attr->text, &attr->n, err);
    case TROUPE_ATTR_STRINGS:
        return troupe_tensor_new_strings(out, 1, &n, attr->texts, NULL, err);
    default:
        return tp_fail(err, TROUPE_UNSUPPORTED, "attribute '%s'", attr->name);
    }
}

/* Each form of a Constant's value has a name of its own. */
static bool fits(const troupe_attr *attr)
{
    static const struct {
        const char *name;
        troupe_attr_kind kind;
    } forms[] = {{"value", TROUPE_ATTR_TENSOR},         {"value_int", TROUPE_ATTR_INT},
                 {"value_ints", TROUPE_ATTR_INTS},      {"value_float", TROUPE_ATTR_FLOAT},
                 {"value_floats", TROUPE_ATTR_FLOATS},  {"value_string", TROUPE_ATTR_STRING},
                 {"value_strings", TROUPE_ATTR_STRINGS}};
    for (size_t i = 0; i < TP_COUNT(forms); i++)
        if (strcmp(attr->name, forms[i].name) == 0) return attr->kind == forms[i].kind;
    return false;
}

static troupe_status build_constant(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    if (node->n_results != 1 || node->n_attrs != 1 || !fits(&node->attrs[0]))
        return tp_fail(err, TROUPE_INVALID,
                       "it has not one attribute with a value and one result");
    if (!node->results[0]) return TROUPE_OK; /* nobody wants it */
    TP_TRY(constant_tensor(&node->attrs[0], &tensor, err));
    return tp_onnx_constant(build, node->results[0]->text, tensor, &node->results[0]->value,
                            err);
}

/* --- the node ------------------------------------------------------------------------- */

static troupe_status build_standard(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    troupe_error *err)
{
    const struct tp_onnx_op *const op = tp_onnx_op_find(tp_onnx_text(node->proto->op_type));
    const struct tp_op *const user = tp_onnx_user_op(build->model, node->proto);
    if (user) {
        node->op = user->name;
        return tp_onnx_attrs_settle(build, node, err);
    }
    if (!op || *tp_onnx_domain(node->proto->domain)) /* the survey refused those */
        return tp_fail(err, TROUPE_UNSUPPORTED, "no such operator");
    if (!op->ours) return build_constant(build, node, err);
    node->op = op->ours;
    if (op->upgrade && node->version < op->below) TP_TRY(op->upgrade(build, node, err));
    return tp_onnx_attrs_settle(build, node, err);
}

/* Everything but what the builder says, which names the graph node itself. */
static troupe_status prepare_node(struct tp_onnx_build *build, uint32_t i,
                                  struct tp_onnx_node *node, troupe_error *err)
{
    const struct tp_onnx_function *const function =
        tp_onnx_function_of(build->model, build->scope->body.nodes[i]);
    TP_TRY(read_node(build, i, node, err));
    if (function) return tp_onnx_call_build(build, function->proto, node, err);
    return build_standard(build, node, err);
}

troupe_status tp_onnx_node_build(struct tp_onnx_build *build, uint32_t i, troupe_error *err)
{
    struct tp_onnx_node node;
    const troupe_status status = prepare_node(build, i, &node, err);
    if (status < 0) {
        tp_fail_in(err, "%s", tp_onnx_node_text(build->scope->body.nodes[i]).text);
        return status;
    }
    return node.op ? tp_onnx_emit(build, &node, err) : TROUPE_OK;
}
