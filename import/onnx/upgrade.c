/* SPDX-License-Identifier: MIT
 *
 * import/onnx/upgrade.c - older versions of operators into the newest form.
 *
 * Which operators, and up to which version, stands in ops.def. An attribute that became an
 * input becomes a constant; a meaning that is gone becomes more graph nodes, or is refused.
 */
#include "import/onnx/upgrade.h"

#include <string.h>

#include "base/fail.h"

/* --- broadcasting before opset 7 ------------------------------------------------------ */

/* Below opset 7 operand B stretches only when `broadcast` says so, with its first dimension at
 * `axis` of A. Today's rule lines up the last dimensions, so dimensions of 1 go behind B's. */
troupe_status tp_onnx_upgrade_broadcast(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                        troupe_error *err)
{
    int64_t broadcast, axis;
    TP_TRY(tp_onnx_attr_take_int(node, "broadcast", 0, &broadcast, err));
    TP_TRY(tp_onnx_attr_take_int(node, "axis", -1, &axis, err));
    if (broadcast == 0 || axis < 0) return TROUPE_OK; /* equal shapes, or the last dimensions */
    const struct tp_type *const a = tp_onnx_input_type(build, node, 0);
    const struct tp_type *const b = tp_onnx_input_type(build, node, 1);
    if (!a || !b || a->shape.rank == TP_RANK_ANY || b->shape.rank == TP_RANK_ANY)
        return tp_fail(err, TROUPE_UNSUPPORTED, "axis %lld of inputs of unknown rank",
                       (long long)axis);
    if (axis > a->shape.rank - b->shape.rank)
        return tp_fail(err, TROUPE_INVALID, "axis %lld: %s does not fit into %s there",
                       (long long)axis, tp_shape_text(&b->shape).text,
                       tp_shape_text(&a->shape).text);
    return tp_onnx_unsqueeze(build, node, 1, b->shape.rank, a->shape.rank - (int)axis, err);
}

troupe_status tp_onnx_upgrade_gemm(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                   troupe_error *err)
{
    int64_t broadcast;
    (void)build;
    return tp_onnx_attr_take_int(node, "broadcast", 0, &broadcast, err);
}

/* Below opset 7 a slope of one dimension goes with the channels, dimension 1. */
troupe_status tp_onnx_upgrade_prelu(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    troupe_error *err)
{
    const struct tp_type *const x = tp_onnx_input_type(build, node, 0);
    const struct tp_type *const slope = tp_onnx_input_type(build, node, 1);
    if (!x || !slope || slope->shape.rank != 1 || slope->shape.dims[0] == 1) return TROUPE_OK;
    if (x->shape.rank == TP_RANK_ANY)
        return tp_fail(err, TROUPE_UNSUPPORTED,
                       "a slope per channel of an input of unknown rank");
    return tp_onnx_unsqueeze(build, node, 1, 1, x->shape.rank - 1, err);
}

/* --- attributes that became inputs ---------------------------------------------------- */

troupe_status tp_onnx_upgrade_axes(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                   troupe_error *err)
{
    return tp_onnx_attr_to_input(build, node, "axes", 1, err);
}

troupe_status tp_onnx_upgrade_reshape(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                      troupe_error *err)
{
    tp_onnx_attr_drop(node, "consumed_inputs");
    return tp_onnx_attr_to_input(build, node, "shape", 1, err);
}

troupe_status tp_onnx_upgrade_split(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    troupe_error *err)
{
    return tp_onnx_attr_to_input(build, node, "split", 1, err);
}

troupe_status tp_onnx_upgrade_top_k(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    troupe_error *err)
{
    return tp_onnx_attr_to_input(build, node, "k", 1, err);
}

troupe_status tp_onnx_upgrade_slice(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    troupe_error *err)
{
    TP_TRY(tp_onnx_attr_to_input(build, node, "starts", 1, err));
    TP_TRY(tp_onnx_attr_to_input(build, node, "ends", 2, err));
    return tp_onnx_attr_to_input(build, node, "axes", 3, err);
}

troupe_status tp_onnx_upgrade_pad(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                  troupe_error *err)
{
    TP_TRY(tp_onnx_attr_to_input(build, node, "pads", 1, err));
    return tp_onnx_attr_to_scalar(build, node, "value", 2, err);
}

troupe_status tp_onnx_upgrade_clip(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                   troupe_error *err)
{
    TP_TRY(tp_onnx_attr_to_scalar(build, node, "min", 1, err));
    return tp_onnx_attr_to_scalar(build, node, "max", 2, err);
}

/* --- defaults that changed ------------------------------------------------------------ */

/* Below opset 13 Softmax and its like see a matrix: what is before `axis`, 1 by default, and
 * the rest. */
troupe_status tp_onnx_upgrade_flatten(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                      troupe_error *err)
{
    (void)build, (void)err;
    tp_onnx_attr_set_int(node, "flatten", 1);
    if (!tp_onnx_attr_find(node, "axis")) tp_onnx_attr_set_int(node, "axis", 1);
    return TROUPE_OK;
}

troupe_status tp_onnx_upgrade_concat(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                     troupe_error *err)
{
    (void)build, (void)err;
    if (!tp_onnx_attr_find(node, "axis")) tp_onnx_attr_set_int(node, "axis", 1);
    return TROUPE_OK;
}

troupe_status tp_onnx_upgrade_roi_align(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                        troupe_error *err)
{
    (void)build, (void)err;
    tp_onnx_attr_set_text(node, "coordinate_transformation_mode", "output_half_pixel");
    return TROUPE_OK;
}

/* --- training that a flag or the number of results asked for -------------------------- */

static bool is_used(const struct tp_onnx_node *node, size_t result)
{
    return node->results[result] && node->results[result]->uses > 0;
}

/* Below opset 14 more results than one ask for training, from then on training_mode does. A
 * model for inference may list results and use none. */
troupe_status tp_onnx_upgrade_batch_normalization(struct tp_onnx_build *build,
                                                  struct tp_onnx_node *node, troupe_error *err)
{
    int64_t spatial, is_test, training;
    (void)build;
    TP_TRY(tp_onnx_attr_take_int(node, "spatial", 1, &spatial, err));
    TP_TRY(tp_onnx_attr_take_int(node, "is_test", 0, &is_test, err));
    TP_TRY(tp_onnx_attr_take_int(node, "training_mode", 0, &training, err));
    if (spatial == 0) return tp_fail(err, TROUPE_UNSUPPORTED, "spatial=0");
    if (training != 0) return tp_fail(err, TROUPE_UNSUPPORTED, "training, by training_mode");
    for (size_t i = 1; i < node->n_results; i++) {
        if (is_used(node, i))
            return tp_fail(err, TROUPE_UNSUPPORTED, "training, which result %zu asks for", i);
    }
    if (node->n_results > 1) node->n_results = 1;
    return TROUPE_OK;
}

/* Below opset 12 it is the identity outside training; from then on training_mode says whether
 * it is. The mask was of the input's element type below opset 10. */
troupe_status tp_onnx_upgrade_dropout(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                      troupe_error *err)
{
    (void)build;
    if (node->version < 12) {
        tp_onnx_attr_drop(node, "is_test");
        tp_onnx_attr_drop(node, "ratio");
    }
    if (node->n_results > 1 && !is_used(node, 1)) node->n_results = 1;
    if (node->n_results > 1 && node->version < 10)
        return tp_fail(err, TROUPE_UNSUPPORTED, "the mask as it was below opset 10");
    if (node->n_results > 1 || tp_onnx_input(node, 2) != TROUPE_NO_VALUE) return TROUPE_OK;
    tp_onnx_attr_drop(node, "seed");
    node->op = "Identity"; /* which shares its input's elements */
    node->n_inputs = 1;
    return TROUPE_OK;
}

/* --- other operators ------------------------------------------------------------------ */

/* Only the element type of the second input counts. */
troupe_status tp_onnx_upgrade_cast_like(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                        troupe_error *err)
{
    const struct tp_type *const like = tp_onnx_input_type(build, node, 1);
    if (!like) return tp_fail(err, TROUPE_INVALID, "input 1 is absent");
    tp_onnx_attr_add(
        node, (troupe_attr){.name = "to", .kind = TROUPE_ATTR_DTYPE, .dtype = like->dtype});
    node->n_inputs = 1;
    return TROUPE_OK;
}

/* Upsample, and Resize of opset 10, are Resize with these modes and no region of interest. */
static void set_old_modes(struct tp_onnx_node *node)
{
    const troupe_attr *const mode = tp_onnx_attr_find(node, "mode");
    if (mode && mode->kind == TROUPE_ATTR_STRING && strcmp(mode->text, "bilinear") == 0)
        tp_onnx_attr_set_text(node, "mode", "linear");
    tp_onnx_attr_set_text(node, "coordinate_transformation_mode", "asymmetric");
    tp_onnx_attr_set_text(node, "nearest_mode", "floor");
}

troupe_status tp_onnx_upgrade_upsample(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                       troupe_error *err)
{
    set_old_modes(node);
    TP_TRY(tp_onnx_attr_to_input(build, node, "scales", 1, err));
    tp_onnx_input_set(node, 2, tp_onnx_input(node, 1));
    tp_onnx_input_set(node, 1, TROUPE_NO_VALUE);
    return TROUPE_OK;
}

/* Opset 11 could not leave an input out and had empty ones instead. */
troupe_status tp_onnx_upgrade_resize(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                     troupe_error *err)
{
    if (node->version < 11) return tp_onnx_upgrade_upsample(build, node, err);
    for (size_t i = 1; i < node->n_inputs; i++) {
        const struct tp_type *const type = tp_onnx_input_type(build, node, i);
        if (type && type->shape.rank == 1 && type->shape.dims[0] == 0)
            tp_onnx_input_set(node, i, TROUPE_NO_VALUE);
    }
    return TROUPE_OK;
}
