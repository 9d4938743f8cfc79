/* SPDX-License-Identifier: MIT
 *
 * import/onnx/upgrade.h - older versions of operators into the newest form, and what that
 * needs.
 */
#ifndef TP_IMPORT_ONNX_UPGRADE_H
#define TP_IMPORT_ONNX_UPGRADE_H

#include "import/onnx/model.h"

typedef troupe_status tp_onnx_upgrade(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                      troupe_error *err);

/* Each is for the operators that ops.def gives it, and for all versions below the bound there.
 */
tp_onnx_upgrade tp_onnx_upgrade_axes, tp_onnx_upgrade_batch_normalization,
    tp_onnx_upgrade_broadcast, tp_onnx_upgrade_cast_like, tp_onnx_upgrade_clip,
    tp_onnx_upgrade_concat, tp_onnx_upgrade_dropout, tp_onnx_upgrade_flatten,
    tp_onnx_upgrade_gemm, tp_onnx_upgrade_pad, tp_onnx_upgrade_prelu, tp_onnx_upgrade_reshape,
    tp_onnx_upgrade_resize, tp_onnx_upgrade_roi_align, tp_onnx_upgrade_slice,
    tp_onnx_upgrade_split, tp_onnx_upgrade_top_k, tp_onnx_upgrade_upsample;

/* --- upgrade_help.c ------------------------------------------------------------------- */

/* The value of input i; TROUPE_NO_VALUE when it is absent. */
troupe_value tp_onnx_input(const struct tp_onnx_node *node, size_t i);
/* Input i is that value; inputs before it that are not there are absent. i is below the number
 * that the node had at first, and TP_ONNX_ROOM. */
void tp_onnx_input_set(struct tp_onnx_node *node, size_t i, troupe_value value);
/* The type of input i; NULL when it is absent. */
const struct tp_type *tp_onnx_input_type(const struct tp_onnx_build *build,
                                         const struct tp_onnx_node *node, size_t i);

/* The attribute becomes a constant input, or nothing when it is absent: i64[n] of integers (n =
 * 1 of one), f32[n] of floats. */
troupe_status tp_onnx_attr_to_input(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                    const char *name, size_t i,
                                    troupe_error *err) TROUPE_MUST_CHECK;
/* The same for a number: a scalar of the element type that input 0 has. */
troupe_status tp_onnx_attr_to_scalar(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                     const char *name, size_t i,
                                     troupe_error *err) TROUPE_MUST_CHECK;
/* The integer or its default; the attribute is gone afterwards. INVALID: it is no integer. */
troupe_status tp_onnx_attr_take_int(struct tp_onnx_node *node, const char *name,
                                    int64_t otherwise, int64_t *out,
                                    troupe_error *err) TROUPE_MUST_CHECK;
/* Set an attribute; the text is not copied. */
void tp_onnx_attr_set_int(struct tp_onnx_node *node, const char *name, int64_t value);
void tp_onnx_attr_set_text(struct tp_onnx_node *node, const char *name, const char *text);
/* Input i gets dimensions of 1 at the axes first, first + 1, ... before `end`, by a graph node
 * more. */
troupe_status tp_onnx_unsqueeze(struct tp_onnx_build *build, struct tp_onnx_node *node,
                                size_t i, int first, int end,
                                troupe_error *err) TROUPE_MUST_CHECK;

#endif
