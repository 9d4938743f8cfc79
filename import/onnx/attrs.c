/* SPDX-License-Identifier: MIT
 *
 * import/onnx/attrs.c - attributes of ONNX nodes as ours, and what upgrades do to a node's.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "import/onnx/model.h"
#include "tensor/tensor.h"

/* ONNX's kinds, AttributeProto.AttributeType. */
enum kind { NONE, FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, LAST = STRINGS };

/* Writers of IR version 1 leave the kind out: it is that of the field that is there. */
static enum kind kind_of(const Onnx__AttributeProto *proto)
{
    if (proto->type >= FLOAT && proto->type <= LAST) return (enum kind)proto->type;
    if (proto->type != 0) return NONE;
    if (proto->has_f) return FLOAT;
    if (proto->has_i) return INT;
    if (proto->has_s) return STRING;
    if (proto->t) return TENSOR;
    if (proto->g) return GRAPH;
    if (proto->n_floats > 0) return FLOATS;
    if (proto->n_ints > 0) return INTS;
    if (proto->n_strings > 0) return STRINGS;
    return NONE;
}

static troupe_status copy_text(struct tp_onnx_build *build, const ProtobufCBinaryData *from,
                               const char **out, troupe_error *err)
{
    const char *const bytes = from->len > 0 ? (const char *)from->data : "";
    *out = tp_arena_text(build->arena, bytes, from->len);
    return *out ? TROUPE_OK : tp_fail_memory(err, from->len);
}

static troupe_status copy_floats(struct tp_onnx_build *build, const Onnx__AttributeProto *proto,
                                 troupe_attr *out, troupe_error *err)
{
    double *floats = tp_arena_take(build->arena, (proto->n_floats + 1) * sizeof(*floats));
    if (!floats) return tp_fail_memory(err, proto->n_floats * sizeof(*floats));
    for (size_t i = 0; i < proto->n_floats; i++)
        floats[i] = (double)proto->floats[i];
    out->kind = TROUPE_ATTR_FLOATS;
    out->n = proto->n_floats;
    out->floats = floats;
    return TROUPE_OK;
}

static troupe_status copy_strings(struct tp_onnx_build *build,
                                  const Onnx__AttributeProto *proto, troupe_attr *out,
                                  troupe_error *err)
{
    const char **texts = tp_arena_take(build->arena, (proto->n_strings + 1) * sizeof(*texts));
    if (!texts) return tp_fail_memory(err, proto->n_strings * sizeof(*texts));
    for (size_t i = 0; i < proto->n_strings; i++) {
        const ProtobufCBinaryData *from = &proto->strings[i];
        if (from->len > 0 && memchr(from->data, 0, from->len))
            return tp_fail(err, TROUPE_INVALID, "text %zu has a zero byte in it", i);
        TP_TRY(copy_text(build, from, &texts[i], err));
    }
    out->kind = TROUPE_ATTR_STRINGS;
    out->n = proto->n_strings;
    out->texts = texts;
    return TROUPE_OK;
}

/* Lives until the whole model is built. */
static troupe_status keep_tensor(struct tp_onnx_build *build, const Onnx__TensorProto *proto,
                                 troupe_attr *out, troupe_error *err)
{
    if (!proto) return tp_fail(err, TROUPE_INVALID, "no tensor is there");
    TP_TRY(tp_grow(&build->tensors, build->n_tensors, &build->tensors_capacity,
                   sizeof(*build->tensors), err));
    troupe_tensor **slot = &build->tensors[build->n_tensors];
    TP_TRY(tp_onnx_tensor(&build->model->source, proto, slot, err));
    build->n_tensors++;
    out->kind = TROUPE_ATTR_TENSOR;
    out->tensor = *slot;
    return TROUPE_OK;
}

/* An absent number is 0 and an absent text is empty: some writers leave those out. */
static troupe_status convert(struct tp_onnx_build *build, const Onnx__AttributeProto *proto,
                             troupe_attr *out, troupe_error *err)
{
    static const ProtobufCBinaryData empty;
    switch (kind_of(proto)) {
    case FLOAT:
        out->kind = TROUPE_ATTR_FLOAT;
        out->f = proto->has_f ? (double)proto->f : 0;
        return TROUPE_OK;
    case INT:
        out->kind = TROUPE_ATTR_INT;
        out->i = proto->has_i ? proto->i : 0;
        return TROUPE_OK;
    case STRING:
        out->kind = TROUPE_ATTR_STRING;
        out->n = proto->has_s ? proto->s.len : 0;
        return copy_text(build, proto->has_s ? &proto->s : &empty, &out->text, err);
    case TENSOR:
        return keep_tensor(build, proto->t, out, err);
    case FLOATS:
        return copy_floats(build, proto, out, err);
    case INTS:
        out->kind = TROUPE_ATTR_INTS;
        out->n = proto->n_ints;
        out->ints = proto->ints; /* as long-lived as the model */
        return TROUPE_OK;
    case STRINGS:
        return copy_strings(build, proto, out, err);
    default:
        return tp_fail(err, TROUPE_UNSUPPORTED, "attributes of ONNX's kind %d",
                       (int)proto->type);
    }
}

troupe_status tp_onnx_attr(struct tp_onnx_build *build, const Onnx__AttributeProto *proto,
                           troupe_attr *out, troupe_error *err)
{
    *out = (troupe_attr){.name = tp_onnx_text(proto->name)};
    const troupe_status status = convert(build, proto, out, err);
    if (status < 0) tp_fail_in(err, "attribute '%s'", out->name);
    return status;
}

/* --- those of a node ------------------------------------------------------------------ */

/* A reference gets the attribute of the call, or the function's default, or there is none. */
static const troupe_attr *referenced(const struct tp_onnx_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->n_attrs; i++)
        if (strcmp(scope->attrs[i].name, name) == 0) return &scope->attrs[i];
    return NULL;
}

static troupe_status add_attr(struct tp_onnx_build *build, const Onnx__AttributeProto *proto,
                              troupe_attr *attrs, size_t *n, troupe_error *err)
{
    const char *const reference = tp_onnx_text(proto->ref_attr_name);
    if (*reference == 0) {
        TP_TRY(tp_onnx_attr(build, proto, &attrs[*n], err));
        ++*n;
        return TROUPE_OK;
    }
    if (!build->scope->function)
        return tp_fail(err, TROUPE_INVALID, "attribute '%s': a reference outside a function",
                       tp_onnx_text(proto->name));
    const troupe_attr *const attr = referenced(build->scope, reference);
    if (!attr) return TROUPE_OK; /* the operator's own default */
    attrs[*n] = *attr;
    attrs[*n].name = tp_onnx_text(proto->name);
    ++*n;
    return TROUPE_OK;
}

troupe_status tp_onnx_attrs(struct tp_onnx_build *build, Onnx__AttributeProto **protos,
                            size_t n, troupe_attr **out, size_t *n_out, troupe_error *err)
{
    troupe_attr *const attrs = tp_arena_array(build->arena, n + TP_ONNX_ROOM, sizeof(*attrs));
    if (!attrs) return tp_fail_memory(err, n * sizeof(*attrs));
    *n_out = 0;
    for (size_t i = 0; i < n; i++)
        TP_TRY(add_attr(build, protos[i], attrs, n_out, err));
    *out = attrs;
    return TROUPE_OK;
}

/* --- changing a node's ---------------------------------------------------------------- */

troupe_attr *tp_onnx_attr_find(struct tp_onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attrs; i++)
        if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
    return NULL;
}

void tp_onnx_attr_drop(struct tp_onnx_node *node, const char *name)
{
    troupe_attr *const attr = tp_onnx_attr_find(node, name);
    if (attr) *attr = node->attrs[--node->n_attrs];
}

void tp_onnx_attr_add(struct tp_onnx_node *node, troupe_attr attr)
{
    tp_onnx_attr_drop(node, attr.name);
    node->attrs[node->n_attrs++] = attr;
}

static const struct tp_attr_spec *spec_of(const struct tp_op *op, const char *name)
{
    for (const struct tp_attr_spec *spec = op->attrs; spec && spec->name; spec++)
        if (strcmp(spec->name, name) == 0) return spec;
    return NULL;
}

troupe_status tp_onnx_attrs_settle(const struct tp_onnx_build *build, struct tp_onnx_node *node,
                                   troupe_error *err)
{
    const struct tp_op *const op = tp_operators_find(build->model->operators, node->op);
    for (size_t i = 0; op && i < node->n_attrs; i++) {
        troupe_attr *const attr = &node->attrs[i];
        const struct tp_attr_spec *const spec = spec_of(op, attr->name);
        if (!spec || spec->kind != TROUPE_ATTR_DTYPE || attr->kind != TROUPE_ATTR_INT) continue;
        const int32_t number = attr->i >= 0 && attr->i < INT16_MAX ? (int32_t)attr->i : -1;
        if (tp_onnx_dtype(number) == TROUPE_DTYPE_NONE)
            return tp_fail(err, TROUPE_UNSUPPORTED, "attribute '%s': element type %s",
                           attr->name, tp_onnx_dtype_text(number).text);
        attr->kind = TROUPE_ATTR_DTYPE;
        attr->dtype = tp_onnx_dtype(number);
    }
    return TROUPE_OK;
}

/* --- numbers as tensors --------------------------------------------------------------- */

troupe_status tp_onnx_ints(const int64_t *ints, int rank, size_t n, troupe_tensor **out,
                           troupe_error *err)
{
    const int64_t dims[] = {(int64_t)n};
    return troupe_tensor_new(out, TROUPE_I64, rank, dims, ints, err);
}

troupe_status tp_onnx_floats(const double *floats, int rank, size_t n, troupe_tensor **out,
                             troupe_error *err)
{
    const struct tp_type type = {TROUPE_F32, {.rank = rank, .dims = {rank ? (int64_t)n : 0}}};
    troupe_tensor *tensor;
    TP_TRY(tp_tensor_new_unset(&tensor, &type, err));
    float *const to = tp_tensor_write(tensor);
    for (size_t i = 0; i < n; i++)
        to[i] = (float)floats[i];
    *out = tensor;
    return TROUPE_OK;
}
