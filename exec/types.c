/* SPDX-License-Identifier: MIT
 *
 * exec/types.c - the types of a function's values for given arguments.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "exec/steps.h"
#include "graph/infer.h"
#include "tensor/tensor.h"

/* The named dimensions of a function, as the arguments bind them. */
struct binding {
    const struct tp_function *function;
    int64_t *dims; /* per name; TP_DIM_ANY: not yet */
};

/* "function 'f': argument 'x' is f32[3], not f32[n,4]". */
static troupe_status fail_arg(const struct binding *binding, const struct tp_value *arg,
                              const struct tp_type *given, troupe_error *err)
{
    struct tp_shape_text wanted;
    tp_type_show(&arg->type, binding->function->dims, wanted.text, sizeof wanted.text);
    return tp_fail(err, TROUPE_INVALID, "function '%.60s': argument '%.60s' is %s, not %s",
                   binding->function->name, arg->name, tp_type_text(given).text, wanted.text);
}

/* A dimension that another argument has bound to something else. */
static troupe_status fail_named(const struct binding *binding, const struct tp_value *arg,
                                const struct tp_type *given, int axis, troupe_error *err)
{
    const size_t name = TP_DIM_NAME(arg->type.shape.dims[axis]);
    return tp_fail(err, TROUPE_INVALID,
                   "function '%.60s': argument '%.60s' is %s: its dimension %d, %.40s, is %lld "
                   "where another argument has %lld",
                   binding->function->name, arg->name, tp_type_text(given).text, axis,
                   binding->function->dims[name], (long long)given->shape.dims[axis],
                   (long long)binding->dims[name]);
}

static troupe_status bind_dim(struct binding *binding, const struct tp_value *arg, int axis,
                              const struct tp_type *given, troupe_error *err)
{
    const int64_t wanted = arg->type.shape.dims[axis], is = given->shape.dims[axis];
    if (wanted == TP_DIM_ANY || wanted == is) return TROUPE_OK;
    if (wanted >= 0) return fail_arg(binding, arg, given, err);
    int64_t *bound = &binding->dims[TP_DIM_NAME(wanted)];
    if (*bound == TP_DIM_ANY) *bound = is;
    return *bound == is ? TROUPE_OK : fail_named(binding, arg, given, axis, err);
}

static troupe_status bind_arg(struct binding *binding, const struct tp_value *arg,
                              const struct tp_type *given, troupe_error *err)
{
    const struct tp_type *wanted = &arg->type;
    if (wanted->dtype != TROUPE_DTYPE_NONE && given->dtype != wanted->dtype)
        return fail_arg(binding, arg, given, err);
    if (wanted->shape.rank == TP_RANK_ANY) return TROUPE_OK;
    if (given->shape.rank != wanted->shape.rank) return fail_arg(binding, arg, given, err);
    for (int i = 0; i < wanted->shape.rank; i++)
        TP_TRY(bind_dim(binding, arg, i, given, err));
    return TROUPE_OK;
}

static troupe_status bind_args(struct binding *binding, const struct tp_type *const *args,
                               struct tp_type *types, troupe_error *err)
{
    for (uint32_t i = 0; i < binding->function->n_args; i++) {
        TP_TRY(bind_arg(binding, &binding->function->values[i], args[i], err));
        types[i] = *args[i];
    }
    return TROUPE_OK;
}

/* Memory for one node's inference, as wide as the widest node. */
struct scratch {
    const struct tp_type **inputs;
    struct tp_view *known;
    struct tp_type *results;
};

static void scratch_fini(struct scratch *scratch)
{
    tp_free((void *)scratch->inputs);
    tp_free(scratch->known);
    tp_free(scratch->results);
}

static troupe_status scratch_init(struct scratch *scratch, const struct tp_function *function,
                                  troupe_error *err)
{
    size_t inputs = 1, results = 1;
    for (uint32_t i = 0; i < function->n_nodes; i++) {
        if (function->nodes[i].n_inputs > inputs) inputs = function->nodes[i].n_inputs;
        if (function->nodes[i].n_results > results) results = function->nodes[i].n_results;
    }
    scratch->inputs = tp_alloc_array(inputs, sizeof *scratch->inputs);
    scratch->known = tp_alloc_array(inputs, sizeof *scratch->known);
    scratch->results = tp_alloc_array(results, sizeof *scratch->results);
    if (scratch->inputs && scratch->known && scratch->results) return TROUPE_OK;
    return tp_fail_memory(err, inputs * sizeof *scratch->known);
}

static void set_inputs(const struct tp_function *function, const struct tp_node *node,
                       const struct tp_type *types, struct scratch *scratch)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t v = node->inputs[i];
        bool constant =
            v != TP_NO_VALUE && v >= function->n_args && function->values[v].constant;
        scratch->inputs[i] = v == TP_NO_VALUE ? NULL : &types[v];
        scratch->known[i] = (struct tp_view){
            constant ? function->values[v].constant->data : NULL, scratch->inputs[i]};
    }
}

/* What a callback of the user's says now agrees with what it said when the function was
 * built. */
static troupe_status check_again(const struct tp_function *function, const struct tp_node *node,
                                 const struct tp_type *types, troupe_error *err)
{
    struct tp_shape both;
    for (uint32_t i = 0; i < node->n_results; i++) {
        if (node->results[i] == TP_NO_VALUE) continue;
        const struct tp_type *was = &function->values[node->results[i]].type;
        const struct tp_type *now = &types[node->results[i]];
        if (was->dtype == now->dtype &&
            tp_shape_meet(&was->shape, &now->shape, &both, NULL) >= 0)
            continue;
        return tp_fail(err, TROUPE_INVALID,
                       "function '%s', node '%s': operator '%.60s': shape gives result %u %s, "
                       "and gave it %s before",
                       function->name, node->name, node->op->name, i, tp_type_text(now).text,
                       tp_type_text(was).text);
    }
    return TROUPE_OK;
}

static troupe_status infer_node(const struct tp_function *function, const struct tp_node *node,
                                struct tp_type *types, struct scratch *scratch,
                                troupe_error *err)
{
    set_inputs(function, node, types, scratch);
    struct tp_infer infer = {
        .node = node->name,
        .op = node->op,
        .attrs = node->attrs,
        .n_attrs = node->n_attrs,
        .n_inputs = node->n_inputs,
        .n_results = node->n_results,
        .inputs = scratch->inputs,
        .known = scratch->known,
        .results = scratch->results,
    };
    troupe_status status = tp_infer_run(&infer, err);
    if (status < 0) {
        tp_fail_in(err, "function '%s', node '%s'", function->name, node->name);
        return status;
    }
    for (uint32_t i = 0; i < node->n_results; i++)
        if (node->results[i] != TP_NO_VALUE) types[node->results[i]] = scratch->results[i];
    return node->op->user ? check_again(function, node, types, err) : TROUPE_OK;
}

static troupe_status infer_nodes(const struct tp_function *function, struct tp_pace *pace,
                                 struct tp_type *types, troupe_error *err)
{
    TP_OWNED(scratch_fini) struct scratch scratch = {0};
    TP_TRY(scratch_init(&scratch, function, err));
    for (uint32_t i = function->n_args; i < function->n_values; i++)
        if (function->values[i].constant) types[i] = function->values[i].constant->type;
    for (uint32_t i = 0; i < function->n_nodes; i++) {
        TP_TRY(tp_pace(pace, err));
        TP_TRY(infer_node(function, &function->nodes[i], types, &scratch, err));
    }
    return TROUPE_OK;
}

troupe_status tp_types_infer(const struct tp_function *function,
                             const struct tp_type *const *args, struct tp_pace *pace,
                             struct tp_type *types, troupe_error *err)
{
    TP_OWNED(tp_free_at) int64_t *dims = tp_alloc_array(function->n_dims + 1, sizeof *dims);
    if (!dims) return tp_fail_memory(err, (function->n_dims + 1) * sizeof *dims);
    for (uint32_t i = 0; i < function->n_dims; i++)
        dims[i] = TP_DIM_ANY;
    struct binding binding = {function, dims};
    troupe_error mine;
    troupe_status status = bind_args(&binding, args, types, &mine);
    if (!status) status = infer_nodes(function, pace, types, &mine);
    if (status && err) *err = mine;
    return status;
}
