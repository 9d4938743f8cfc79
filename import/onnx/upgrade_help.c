/* SPDX-License-Identifier: MIT
 *
 * import/onnx/upgrade_help.c - what upgrades do: move attributes to inputs, set others,
 * reshape.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/build.h"
#include "import/onnx/upgrade.h"
#include "tensor/tensor.h"

troupe_value tp_onnx_input(const struct tp_onnx_node *node, size_t i)
{
    return i < node->n_inputs ? node->inputs[i] : TROUPE_NO_VALUE;
}

void tp_onnx_input_set(struct tp_onnx_node *node, size_t i, troupe_value value)
{
    while (node->n_inputs <= i)
        node->inputs[node->n_inputs++] = TROUPE_NO_VALUE;
    node->inputs[i] = value;
}

const struct tp_type *tp_onnx_input_type(const struct tp_onnx_build *build,
                                         const struct tp_onnx_node *node, size_t i)
{
    const troupe_value value = tp_onnx_input(node, i);
    return value == TROUPE_NO_VALUE ? NULL
                                    : &tp_builder_look(build->builder)->values[value].type;
}

/* --- attributes ----------------------------------------------------------------------- */

troupe_status tp_onnx_attr_take_int(struct tp_onnx_node *node, const char *name,
                                    int64_t otherwise, int64_t *out, troupe_error *err)
{
    const troupe_attr *const attr = tp_onnx_attr_find(node, name);
    if (attr && attr->kind != TROUPE_ATTR_INT)
        return tp_fail(err, TROUPE_INVALID, "attribute '%s' is no integer", name);
    *out = attr ? attr->i : otherwise;
    tp_onnx_attr_drop(node, name);
    return TROUPE_OK;
}

void tp_onnx_attr_set_int(struct tp_onnx_node *node, const char *name, int64_t value)
{
    tp_onnx_attr_add(node, (troupe_attr){.name = name, .kind = TROUPE_ATTR_INT, .i = value});
}

void tp_onnx_attr_set_text(struct tp_onnx_node *node, const char *name, const char *text)
{
    tp_onnx_attr_add(
        node, (troupe_attr){
                  .name = name, .kind = TROUPE_ATTR_STRING, .n = strlen(text), .text = text});
}

/* --- attributes that become inputs ---------------------------------------------------- */

static troupe_status set_constant(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                  const char *name, size_t i, const troupe_tensor *tensor,
                                  troupe_error *err)
{
    troupe_value value;
    const char *const whole = tp_arena_words(build->arena, node->name, "/", name);
    if (!whole) return tp_fail_memory(err, strlen(node->name) + strlen(name) + 2);
    TP_TRY(tp_onnx_constant(build, whole, tensor, &value, err));
    tp_onnx_input_set(node, i, value);
    return TROUPE_OK;
}

static troupe_status make_list(const troupe_attr *attr, troupe_tensor **out, troupe_error *err)
{
    if (attr->kind == TROUPE_ATTR_INTS) return tp_onnx_ints(attr->ints, 1, attr->n, out, err);
    if (attr->kind == TROUPE_ATTR_INT) return tp_onnx_ints(&attr->i, 1, 1, out, err);
    if (attr->kind == TROUPE_ATTR_FLOATS)
        return tp_onnx_floats(attr->floats, 1, attr->n, out, err);
    return tp_fail(err, TROUPE_INVALID, "attribute '%s' is no list of numbers", attr->name);
}

troupe_status tp_onnx_attr_to_input(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    const char *name, size_t i, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    const troupe_attr *const attr = tp_onnx_attr_find(node, name);
    if (!attr) return TROUPE_OK; /* the operator has a default, or says that it is missing */
    TP_TRY(make_list(attr, &tensor, err));
    tp_onnx_attr_drop(node, name);
    return set_constant(build, node, name, i, tensor, err);
}

/* One element of a float type that holds the number. */
static troupe_status make_scalar(troupe_dtype dtype, double number, troupe_tensor **out,
                                 troupe_error *err)
{
    const struct tp_type type = {dtype, {.rank = 0}};
    troupe_tensor *tensor;
    if (dtype != TROUPE_F32 && dtype != TROUPE_F64 && dtype != TROUPE_F16)
        return tp_fail(err, TROUPE_UNSUPPORTED, "a constant %s of an attribute",
                       troupe_dtype_name(dtype));
    TP_TRY(tp_tensor_new_unset(&tensor, &type, err));
    void *const to = tp_tensor_write(tensor);
    if (dtype == TROUPE_F32)
        *(float *)to = (float)number;
    else if (dtype == TROUPE_F64)
        *(double *)to = number;
    else
        *(uint16_t *)to = tp_f64_to_f16(number);
    *out = tensor;
    return TROUPE_OK;
}

troupe_status tp_onnx_attr_to_scalar(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                     const char *name, size_t i, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    const troupe_attr *const attr = tp_onnx_attr_find(node, name);
    const struct tp_type *const type = tp_onnx_input_type(build, node, 0);
    if (!attr) return TROUPE_OK; /* the operator has a default */
    if (!type) return tp_fail(err, TROUPE_INVALID, "input 0 is absent");
    if (attr->kind != TROUPE_ATTR_FLOAT)
        return tp_fail(err, TROUPE_INVALID, "attribute '%s' is no number", name);
    TP_TRY(make_scalar(type->dtype, attr->f, &tensor, err));
    tp_onnx_attr_drop(node, name);
    return set_constant(build, node, name, i, tensor, err);
}

/* --- shapes --------------------------------------------------------------------------- */

troupe_status tp_onnx_unsqueeze(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                size_t i, int first, int end, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    int64_t axes[TROUPE_MAX_RANK];
    size_t n = 0;
    troupe_value inputs[2] = {tp_onnx_input(node, i), TROUPE_NO_VALUE};
    for (int axis = first; axis < end && n < TROUPE_MAX_RANK; axis++)
        axes[n++] = axis;
    if (n == 0) return TROUPE_OK; /* it has them already */
    const char *const name = tp_arena_words(build->arena, node->name, "/", "axes");
    if (!name) return tp_fail_memory(err, strlen(node->name) + 8);
    TP_TRY(tp_onnx_ints(axes, 1, n, &tensor, err));
    TP_TRY(tp_onnx_constant(build, name, tensor, &inputs[1], err));
    return tp_onnx_extra(build, node, "Unsqueeze", inputs, 2, &node->inputs[i], err);
}
