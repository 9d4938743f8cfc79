/* SPDX-License-Identifier: MIT
 *
 * graph/infer.c - the driver of shape and type inference: checks a node against its op's row.
 */
#include "graph/infer.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "tensor/tensor.h"

#define MAX_SAME 16 /* type variables that a row may have, and one */

void tp_op_arity(const struct tp_port *ports, size_t *least, size_t *most)
{
    *least = *most = 0;
    for (size_t i = 0; ports && ports[i].name; i++) {
        if (!(ports[i].flags & TP_OPTIONAL)) *least = i + 1;
        *most = ports[i].flags & TP_VARIADIC ? SIZE_MAX : i + 1;
    }
}

const struct tp_port *tp_op_port(const struct tp_port *ports, size_t i)
{
    for (size_t k = 0; ports && ports[k].name; k++) {
        if (k == i || ports[k].flags & TP_VARIADIC) return &ports[k];
    }
    return NULL;
}

/* "f32, f64 or i32" for a set of element types. */
struct types_text {
    char text[96]; /* more types than fit end in ", ..." */
};

static struct types_text types_text(uint32_t types)
{
    struct types_text out = {""};
    size_t at = 0;
    for (int i = 1; i < TP_DTYPES; i++) {
        if (!(types & (1u << i))) continue;
        const bool last = (types >> (i + 1)) == 0;
        const char *between = at == 0 ? "" : last ? " or " : ", ";
        const char *name = troupe_dtype_name((troupe_dtype)i);
        const size_t size = strlen(between) + strlen(name);
        if (at + size + sizeof(", ...") > sizeof(out.text)) {
            memcpy(out.text + at, ", ...", sizeof(", ..."));
            break;
        }
        memcpy(out.text + at, between, strlen(between) + 1);
        memcpy(out.text + at + strlen(between), name, strlen(name) + 1);
        at += size;
    }
    return out;
}

static troupe_status check_count(const struct tp_infer *node, const struct tp_port *ports,
                                 size_t given, const char *what, troupe_error *err)
{
    size_t least, most;
    tp_op_arity(ports, &least, &most);
    if (given >= least && given <= most) return TROUPE_OK;
    if (least == most) {
        return tp_fail(err, TROUPE_INVALID, "%zu %ss where %s has %zu", given, what,
                       node->op->name, least);
    }
    if (most == SIZE_MAX) {
        return tp_fail(err, TROUPE_INVALID, "%zu %ss where %s has %zu or more", given, what,
                       node->op->name, least);
    }
    return tp_fail(err, TROUPE_INVALID, "%zu %ss where %s has %zu to %zu", given, what,
                   node->op->name, least, most);
}

/* What each type variable stands for, and the input that said so. */
struct variables {
    troupe_dtype dtype[MAX_SAME];
    size_t input[MAX_SAME];
};

static troupe_status check_same(const struct tp_infer *node, size_t i,
                                const struct tp_port *port, struct variables *variables,
                                troupe_error *err)
{
    const troupe_dtype dtype = node->inputs[i]->dtype;
    const int k = port->same;
    if (k == 0 || k >= MAX_SAME) return TROUPE_OK; /* a type of its own */
    if (variables->dtype[k] == dtype) return TROUPE_OK;
    if (variables->dtype[k] == TROUPE_DTYPE_NONE) {
        variables->dtype[k] = dtype;
        variables->input[k] = i;
        return TROUPE_OK;
    }
    const size_t first = variables->input[k];
    return tp_fail(err, TROUPE_INVALID, "input %zu '%s' is %s, but input %zu '%s' is %s", i,
                   port->name, troupe_dtype_name(dtype), first,
                   tp_op_port(node->op->inputs, first)->name,
                   troupe_dtype_name(variables->dtype[k]));
}

static troupe_status check_input(const struct tp_infer *node, size_t i,
                                 struct variables *variables, troupe_error *err)
{
    const struct tp_port *port = tp_op_port(node->op->inputs, i);
    const struct tp_type *type = node->inputs[i];
    if (!type && !(port->flags & TP_OPTIONAL)) {
        return tp_fail(err, TROUPE_INVALID, "input %zu '%s' is missing", i, port->name);
    }
    if (!type) return TROUPE_OK; /* absent, as it may be */
    if (!(port->types & (1u << type->dtype))) {
        const char *name = troupe_dtype_name(type->dtype);
        return tp_fail(err, TROUPE_INVALID, "input %zu '%s' is %s, not %s", i, port->name,
                       name ? name : "of an unknown type", types_text(port->types).text);
    }
    return check_same(node, i, port, variables, err);
}

static troupe_status check_inputs(const struct tp_infer *node, struct variables *variables,
                                  troupe_error *err)
{
    TP_TRY(check_count(node, node->op->inputs, node->n_inputs, "input", err));
    for (size_t i = 0; i < node->n_inputs; i++)
        TP_TRY(check_input(node, i, variables, err));
    return TROUPE_OK;
}

static const struct tp_attr_spec *find_spec(const struct tp_op *op, const char *name,
                                            size_t *at)
{
    for (size_t i = 0; op->attrs && op->attrs[i].name; i++) {
        *at = i;
        if (strcmp(op->attrs[i].name, name) == 0) return &op->attrs[i];
    }
    return NULL;
}

/* The attributes that op knows, for a message. */
static void list_specs(const struct tp_op *op, struct tp_text *out)
{
    if (!op->attrs || !op->attrs[0].name) tp_text_add(out, "%s has none", op->name);
    for (size_t i = 0; op->attrs && op->attrs[i].name; i++) {
        if (i == 0) tp_text_add(out, "%s has ", op->name);
        tp_text_add(out, "%s%s", i ? ", " : "", op->attrs[i].name);
    }
}

static troupe_status fail_unknown(const struct tp_op *op, const char *name, troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text known = {0};
    list_specs(op, &known);
    return tp_fail(err, TROUPE_INVALID, "attribute '%.60s' is unknown; %s", name,
                   known.data ? known.data : op->name);
}

/* `seen` has a bit for each of the first 64 attributes of the op. */
static troupe_status check_attr(const struct tp_op *op, const troupe_attr *attr, uint64_t *seen,
                                troupe_error *err)
{
    size_t at = 0;
    TP_TRY(tp_attr_check(attr, err));
    const struct tp_attr_spec *spec = find_spec(op, attr->name, &at);
    if (!spec) return fail_unknown(op, attr->name, err);
    const uint64_t bit = at < 64 ? UINT64_C(1) << at : 0;
    if (*seen & bit) {
        return tp_fail(err, TROUPE_INVALID, "attribute '%s' is given twice", spec->name);
    }
    *seen |= bit;
    if (attr->kind == spec->kind) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "attribute '%s' is %s, not %s", spec->name,
                   tp_attr_kind_name(attr->kind), tp_attr_kind_name(spec->kind));
}

static troupe_status check_attrs(const struct tp_infer *node, troupe_error *err)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < node->n_attrs; i++)
        TP_TRY(check_attr(node->op, &node->attrs[i], &seen, err));
    const struct tp_attr_spec *specs = node->op->attrs;
    for (size_t i = 0; specs && specs[i].name; i++) {
        if (specs[i].required && !tp_attr_find(node->attrs, node->n_attrs, specs[i].name)) {
            return tp_fail(err, TROUPE_INVALID, "attribute '%s' is missing: %s", specs[i].name,
                           tp_attr_kind_name(specs[i].kind));
        }
    }
    return TROUPE_OK;
}

/* The element type that a result's port fixes by itself; NONE when infer has to say. */
static troupe_dtype fixed_dtype(const struct tp_port *port, const struct variables *variables)
{
    if (port->same && port->same < MAX_SAME && variables->dtype[port->same])
        return variables->dtype[port->same];
    for (int i = 1; i < TP_DTYPES; i++) {
        if (port->types == 1u << i) return (troupe_dtype)i;
    }
    return TROUPE_DTYPE_NONE;
}

static void preset_results(struct tp_infer *node, const struct variables *variables)
{
    for (size_t i = 0; i < node->n_results; i++) {
        const struct tp_port *port = tp_op_port(node->op->results, i);
        memset(&node->results[i], 0, sizeof(node->results[i]));
        node->results[i].dtype = fixed_dtype(port, variables);
        node->results[i].shape.rank = TP_RANK_ANY;
    }
}

static bool is_shape(const struct tp_shape *shape)
{
    return shape->rank >= TP_RANK_ANY && shape->rank <= TROUPE_MAX_RANK;
}

static troupe_status check_result(const struct tp_infer *node, size_t i, troupe_error *err)
{
    const struct tp_port *port = tp_op_port(node->op->results, i);
    const struct tp_type *type = &node->results[i];
    if (!troupe_dtype_name(type->dtype)) {
        return tp_fail(err, TROUPE_INVALID, "%s gives result %zu '%s' no element type",
                       node->op->name, i, port->name);
    }
    if (port->types && !(port->types & (1u << type->dtype))) {
        return tp_fail(err, TROUPE_INVALID, "result %zu '%s' is %s, not %s", i, port->name,
                       troupe_dtype_name(type->dtype), types_text(port->types).text);
    }
    if (is_shape(&type->shape)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "result %zu '%s' has rank %d, not 0 to %d", i,
                   port->name, type->shape.rank, TROUPE_MAX_RANK);
}

troupe_status tp_infer_run(struct tp_infer *node, troupe_error *err)
{
    struct variables variables = {{TROUPE_DTYPE_NONE}, {0}};
    TP_TRY(check_inputs(node, &variables, err));
    TP_TRY(check_count(node, node->op->results, node->n_results, "result", err));
    TP_TRY(check_attrs(node, err));
    preset_results(node, &variables);
    if (node->op->infer) TP_TRY(node->op->infer(node, err));
    for (size_t i = 0; i < node->n_results; i++)
        TP_TRY(check_result(node, i, err));
    return TROUPE_OK;
}

static double count_of(const struct tp_type *type)
{
    double count = 1;
    for (int i = 0; i < type->shape.rank; i++) {
        if (type->shape.dims[i] >= 0) count *= (double)type->shape.dims[i];
    }
    return count;
}

static double bytes_of(const struct tp_type *type)
{
    return count_of(type) * (double)tp_element_size(type->dtype);
}

void tp_infer_cost(const struct tp_infer *node, struct tp_cost *out)
{
    *out = (struct tp_cost){0};
    if (node->op->cost) {
        node->op->cost(node, out);
        return;
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i]) out->bytes += bytes_of(node->inputs[i]);
    }
    for (size_t i = 0; i < node->n_results; i++) {
        out->bytes += bytes_of(&node->results[i]);
        out->flops += count_of(&node->results[i]);
    }
}

static void copy_ints(const struct tp_view *view, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = view->type->dtype == TROUPE_I32 ? ((const int32_t *)view->data)[i]
                                                 : ((const int64_t *)view->data)[i];
    }
}

troupe_status tp_infer_ints(const struct tp_infer *infer, size_t i, int64_t out[16], size_t *n,
                            troupe_error *err)
{
    const bool given = i < infer->n_inputs && infer->inputs[i];
    if (!given || !infer->known || !infer->known[i].data) return TROUPE_PENDING;
    const struct tp_view *view = &infer->known[i];
    const troupe_dtype dtype = view->type->dtype;
    if (dtype != TROUPE_I32 && dtype != TROUPE_I64) {
        return tp_fail(err, TROUPE_INVALID, "input %zu is %s, not i32 or i64", i,
                       troupe_dtype_name(dtype));
    }
    const struct tp_shape *shape = &view->type->shape;
    if (shape->rank > 1 || (shape->rank == 1 && shape->dims[0] > 16)) {
        return tp_fail(err, TROUPE_INVALID, "input %zu is %s: at most 16 numbers in a row", i,
                       tp_shape_text(shape).text);
    }
    *n = tp_shape_count_known(shape);
    copy_ints(view, *n, out);
    return TROUPE_OK;
}

troupe_status tp_infer_axis(int64_t axis, int rank, int *out, troupe_error *err)
{
    if (axis < -rank || axis >= rank) {
        return tp_fail(err, TROUPE_INVALID, "axis %" PRId64 " is not in %d to %d", axis, -rank,
                       rank - 1);
    }
    *out = (int)(axis < 0 ? axis + rank : axis);
    return TROUPE_OK;
}
