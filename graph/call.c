/* SPDX-License-Identifier: MIT
 *
 * graph/call.c - the types of a call: do the inputs fit, and what do the results become?
 */
#include "graph/call.h"

#include <inttypes.h>

#include "base/fail.h"
#include "tensor/tensor.h"

/* Two things that are known about one dimension of the caller's. False: they contradict. */
static bool join(int64_t *into, int64_t dim)
{
    if (*into >= 0 && dim >= 0) return *into == dim;
    if (*into == TP_DIM_ANY || dim >= 0) *into = dim;
    return true;
}

static troupe_status fail_shape(const struct tp_function *callee, size_t i,
                                const struct tp_type *given, troupe_error *err)
{
    char wanted[160];
    tp_type_show(&callee->values[i].type, callee->dims, wanted, sizeof(wanted));
    return tp_fail(err, TROUPE_INVALID, "input %zu is %s, but '%s' has %s '%s'", i,
                   tp_type_text(given).text, callee->name, wanted, callee->values[i].name);
}

static troupe_status join_dim(const struct tp_function *callee, size_t i, int k, int64_t given,
                              int64_t *dims, troupe_error *err)
{
    const int64_t wanted = callee->values[i].type.shape.dims[k];
    if (wanted >= TP_DIM_ANY) return TROUPE_OK; /* a number was compared, an unknown one fits */
    int64_t *named = &dims[TP_DIM_NAME(wanted)];
    if (join(named, given)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "input %zu: dimension %s of '%s' is %" PRId64 " here and %" PRId64 " before",
                   i, callee->dims[TP_DIM_NAME(wanted)], callee->name, given, *named);
}

static bool fits(int64_t wanted, int64_t given)
{
    return wanted < 0 || given < 0 || wanted == given;
}

static troupe_status check_input(const struct tp_function *callee, size_t i,
                                 const struct tp_type *given, int64_t *dims, troupe_error *err)
{
    const struct tp_type *wanted = &callee->values[i].type;
    const struct tp_shape *a = &wanted->shape, *b = &given->shape;
    if (wanted->dtype != given->dtype) return fail_shape(callee, i, given, err);
    if (a->rank == TP_RANK_ANY || b->rank == TP_RANK_ANY) return TROUPE_OK; /* may fit */
    if (a->rank != b->rank) return fail_shape(callee, i, given, err);
    for (int k = 0; k < a->rank; k++) {
        if (!fits(a->dims[k], b->dims[k])) return fail_shape(callee, i, given, err);
        TP_TRY(join_dim(callee, i, k, b->dims[k], dims, err));
    }
    return TROUPE_OK;
}

troupe_status tp_call_check(const struct tp_function *callee,
                            const struct tp_type *const *inputs, size_t n, int64_t *dims,
                            troupe_error *err)
{
    if (n > callee->n_args) {
        return tp_fail(err, TROUPE_INVALID, "%zu inputs where '%s' has %u", n, callee->name,
                       callee->n_args);
    }
    for (uint32_t i = 0; i < callee->n_dims; i++)
        dims[i] = TP_DIM_ANY;
    for (size_t i = 0; i < callee->n_args; i++) {
        const struct tp_value *arg = &callee->values[i];
        const struct tp_type *given = i < n ? inputs[i] : NULL;
        if (!given && !arg->constant) {
            return tp_fail(err, TROUPE_INVALID, "input %zu '%s' of '%s' is missing", i,
                           arg->name, callee->name);
        }
        if (!given) given = &arg->constant->type;
        TP_TRY(check_input(callee, i, given, dims, err));
    }
    return TROUPE_OK;
}

struct tp_type tp_call_type(const struct tp_type *type, const int64_t *dims)
{
    struct tp_type out = *type;
    for (int i = 0; i < out.shape.rank; i++) {
        if (out.shape.dims[i] < TP_DIM_ANY)
            out.shape.dims[i] = dims[TP_DIM_NAME(out.shape.dims[i])];
    }
    return out;
}
