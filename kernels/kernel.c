/* SPDX-License-Identifier: MIT
 *
 * kernels/kernel.c - the shape rules and kernels that ops of several families have.
 */
#include "kernels/kernel.h"

#include <string.h>

#include "kernels/texts.h"

troupe_status tp_infer_same(struct tp_infer *infer, troupe_error *err)
{
    (void)err;
    infer->results[0].shape = infer->inputs[0]->shape;
    return TROUPE_OK;
}

troupe_status tp_infer_broadcast(struct tp_infer *infer, troupe_error *err)
{
    struct tp_shape shape = infer->inputs[0]->shape;
    for (size_t i = 1; i < infer->n_inputs; i++)
        TP_TRY(tp_shape_broadcast(&shape, &infer->inputs[i]->shape, &shape, err));
    infer->results[0].shape = shape;
    return TROUPE_OK;
}

troupe_status tp_infer_rank(const struct tp_infer *infer, size_t i, int least, int most,
                            troupe_error *err)
{
    const struct tp_shape *shape = tp_infer_shape(infer, i);
    if (!shape || shape->rank == TP_RANK_ANY) return TROUPE_OK;
    if (shape->rank >= least && shape->rank <= most) return TROUPE_OK;
    const struct tp_port *port = tp_op_port(infer->op->inputs, i);
    const char *name = port ? port->name : "";
    if (least == most) {
        return tp_fail(err, TROUPE_INVALID, "input %zu '%s' %s has rank %d, not %d", i, name,
                       tp_shape_text(shape).text, shape->rank, least);
    }
    return tp_fail(err, TROUPE_INVALID, "input %zu '%s' %s has rank %d, not %d to %d", i, name,
                   tp_shape_text(shape).text, shape->rank, least, most);
}

int64_t tp_infer_product(const struct tp_shape *shape, int from, int to)
{
    int64_t known = 1, other = 1;
    for (int i = from; i < to; i++) {
        const int64_t dim = shape->dims[i];
        if (dim >= 0) {
            if (__builtin_mul_overflow(known, dim, &known)) return TP_DIM_ANY;
        } else if (other == 1) {
            other = dim;
        } else {
            other = TP_DIM_ANY;
        }
    }
    if (other == 1) return known;
    return known == 1 ? other : TP_DIM_ANY;
}

troupe_status tp_kernel_copy(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *from = tp_in(launch, 0), *to = tp_out(launch, 0);
    size_t size;
    if (to->data == from->data) return TROUPE_OK; /* shared */
    if (from->type->dtype == TROUPE_STRING) return tp_texts_copy(launch, err);
    TP_TRY(tp_type_bytes(from->type, &size, err));
    if (size > 0) memcpy(to->data, from->data, size);
    return TROUPE_OK;
}
