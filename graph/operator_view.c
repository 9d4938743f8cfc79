/* SPDX-License-Identifier: MIT
 *
 * graph/operator_view.c - what callbacks of the user's operators see, and what they say of types
 * and cost.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/carve.h"
#include "base/fail.h"
#include "base/guest.h"
#include "graph/attr.h"
#include "graph/operator.h"

/* -- Views --------------------------------------------------------------------------------- */

static void set_type(const struct tp_type *from, troupe_type *to)
{
    to->dtype = from->dtype;
    to->rank = from->shape.rank;
    memcpy(to->dims, from->shape.dims, sizeof(to->dims));
}

static void set_inputs(const struct tp_infer *infer, struct tp_operator_view *view,
                       troupe_type *types, const troupe_type **inputs, const void **values)
{
    for (size_t i = 0; i < infer->n_inputs; i++) {
        if (!infer->inputs[i]) continue;
        set_type(infer->inputs[i], &types[i]);
        inputs[i] = &types[i];
        if (infer->known && types[i].dtype != TROUPE_STRING) values[i] = infer->known[i].data;
    }
    view->node.inputs = inputs;
    view->node.values = values;
}

/* A result that the graph node does not have has no element type here. */
static void set_results(const struct tp_infer *infer, struct tp_operator_view *view,
                        const troupe_type **results)
{
    for (size_t i = 0; i < infer->n_results; i++) {
        set_type(&infer->results[i], &view->results[i]);
        if (infer->results[i].dtype != TROUPE_DTYPE_NONE) results[i] = &view->results[i];
    }
    for (size_t i = infer->n_results; i < view->node.n_results; i++)
        view->results[i].rank = TP_RANK_ANY;
    view->node.results = results;
}

static void set_attrs(const struct tp_infer *infer, struct tp_operator_view *view,
                      const troupe_attr **attrs)
{
    const struct tp_operator *o = view->operator;
    for (size_t i = 0; i < o->n_attrs; i++) {
        attrs[i] = tp_attr_find(infer->attrs, infer->n_attrs, o->op.attrs[i].name);
        if (!attrs[i]) attrs[i] = o->fallback[i];
    }
    view->node.attrs = attrs;
}

/* The view and its lists, in one piece. */
struct parts {
    struct tp_operator_view *view;
    troupe_type *inputs, *results;
    void *input_at, *value_at, *result_at, *attr_at;
};

/* Callbacks may look at every port of the row, also where the graph node has fewer values. */
static size_t at_least(size_t given, size_t ports)
{
    return given > ports ? given : ports;
}

static size_t carve_all(const struct tp_infer *infer, void *memory, struct parts *out)
{
    struct tp_carve carve = {memory, 0};
    const struct tp_operator *o = infer->op->user;
    const size_t n_inputs = at_least(infer->n_inputs, o->n_inputs);
    const size_t n_results = at_least(infer->n_results, o->n_results);
    out->view = tp_carve(&carve, 1, sizeof(*out->view), 16);
    out->inputs = tp_carve(&carve, n_inputs, sizeof(troupe_type), 16);
    out->results = tp_carve(&carve, n_results, sizeof(troupe_type), 16);
    out->input_at = tp_carve(&carve, n_inputs, sizeof(void *), 16);
    out->value_at = tp_carve(&carve, n_inputs, sizeof(void *), 16);
    out->result_at = tp_carve(&carve, n_results, sizeof(void *), 16);
    out->attr_at = tp_carve(&carve, o->n_attrs, sizeof(void *), 16);
    return carve.size;
}

troupe_status tp_operator_view_new(const struct tp_infer *infer, bool typed,
                                   struct tp_operator_view **out, troupe_error *err)
{
    struct parts parts;
    const size_t size = carve_all(infer, NULL, &parts);
    void *memory = tp_alloc(size);
    if (!memory) return tp_fail_memory(err, size);
    carve_all(infer, memory, &parts);
    struct tp_operator_view *view = parts.view;
    view->operator= infer->op->user;
    view->known = infer->known;
    view->n_known = infer->known ? infer->n_inputs : 0;
    view->results = parts.results;
    view->node.size = sizeof(view->node);
    view->node.name = infer->node;
    view->node.user = view->operator->row.user;
    view->node.n_inputs = at_least(infer->n_inputs, view->operator->n_inputs);
    view->node.n_results = at_least(infer->n_results, view->operator->n_results);
    set_inputs(infer, view, parts.inputs, parts.input_at, parts.value_at);
    if (typed) set_results(infer, view, parts.result_at);
    set_attrs(infer, view, parts.attr_at);
    *out = view;
    return TROUPE_OK;
}

/* -- How a callback ended ------------------------------------------------------------------ */

static bool is_failure(troupe_status status)
{
    return status < 0 && strcmp(troupe_status_name(status), "UNKNOWN") != 0;
}

troupe_status tp_operator_ended(const struct tp_operator *o, const char *callback,
                                troupe_status status, troupe_error *said, troupe_error *err)
{
    if (status == TROUPE_OK) return TROUPE_OK;
    said->text[sizeof(said->text) - 1] = 0;
    if (!is_failure(status))
        return tp_fail(err, TROUPE_INVALID,
                       "operator '%.60s': %s returned %d, which is no failure", o->op.name,
                       callback, (int)status);
    return tp_fail(err, status, "operator '%.60s': %s", o->op.name,
                   *said->text ? said->text : "it failed without a word");
}

/* -- Types --------------------------------------------------------------------------------- */

/* A number below -1 stands for an unknown one that an input has. */
static bool stands_for(const struct tp_infer *infer, int64_t dim)
{
    for (size_t i = 0; i < infer->n_inputs; i++) {
        const struct tp_type *type = infer->inputs[i];
        for (int d = 0; type && d < type->shape.rank; d++)
            if (type->shape.dims[d] == dim) return true;
    }
    return false;
}

static troupe_status check_type(const struct tp_infer *infer, size_t i, const troupe_type *said,
                                troupe_error *err)
{
    const troupe_dtype fixed = infer->results[i].dtype;
    if (fixed != TROUPE_DTYPE_NONE && said->dtype != fixed)
        return tp_fail(err, TROUPE_INVALID, "element type %s, not %s",
                       troupe_dtype_name(said->dtype) ? troupe_dtype_name(said->dtype) : "?",
                       troupe_dtype_name(fixed));
    if (said->dtype == TROUPE_STRING && !infer->op->gives)
        return tp_fail(err, TROUPE_INVALID, "strings, which need `gives`");
    if (said->rank < TP_RANK_ANY || said->rank > TROUPE_MAX_RANK)
        return tp_fail(err, TROUPE_INVALID, "rank %d, not 0 to %d", said->rank,
                       TROUPE_MAX_RANK);
    for (int d = 0; d < said->rank; d++)
        if (said->dims[d] < TP_DIM_ANY && !stands_for(infer, said->dims[d]))
            return tp_fail(err, TROUPE_INVALID, "dimension %d is %lld, which no input has", d,
                           (long long)said->dims[d]);
    return TROUPE_OK;
}

static troupe_status keep_type(const struct tp_infer *infer, size_t i, const troupe_type *said,
                               troupe_error *err)
{
    struct tp_type *type = &infer->results[i];
    size_t count;
    TP_TRY(check_type(infer, i, said, err));
    *type = (struct tp_type){said->dtype, {.rank = said->rank}};
    for (int d = 0; d < said->rank; d++)
        type->shape.dims[d] = said->dims[d];
    return tp_shape_known(&type->shape) ? tp_shape_count(&type->shape, &count, err) : TROUPE_OK;
}

static troupe_status as_input(struct tp_infer *infer)
{
    for (size_t i = 0; i < infer->n_results; i++)
        infer->results[i].shape = infer->inputs[0]->shape;
    return TROUPE_OK;
}

static troupe_status ask(struct tp_infer *infer, struct tp_operator_view *view,
                         troupe_error *err)
{
    const struct tp_operator *o = view->operator;
    troupe_error said = {0};
    const enum tp_guest before = tp_guest_enter(TP_GUEST_OPERATOR);
    const troupe_status status = o->row.shape(&view->node, view->results, &said);
    tp_guest_leave(before);
    TP_TRY(tp_operator_ended(o, "shape", status, &said, err));
    for (size_t i = 0; i < infer->n_results; i++) {
        const troupe_status kept = keep_type(infer, i, &view->results[i], err);
        if (kept >= 0) continue;
        tp_fail_in(err, "operator '%.60s': shape gives result %zu", o->op.name, i);
        return kept;
    }
    return TROUPE_OK;
}

troupe_status tp_operator_infer(struct tp_infer *infer, troupe_error *err)
{
    TP_OWNED(tp_free_at) struct tp_operator_view *view = NULL;
    if (!infer->op->user->row.shape) return as_input(infer);
    TP_TRY(tp_operator_view_new(infer, true, &view, err));
    view->node.results = NULL;
    return ask(infer, view, err);
}

/* -- Cost ---------------------------------------------------------------------------------- */

static double bounded(double number)
{
    return number >= 0 ? fmin(number, 1e18) : 0; /* not a number is 0, too */
}

/* Without memory for the view it is not known, which costs time at worst. */
void tp_operator_cost(const struct tp_infer *node, struct tp_cost *out)
{
    TP_OWNED(tp_free_at) struct tp_operator_view *view = NULL;
    double operations = 0, bytes = 0;
    if (tp_operator_view_new(node, true, &view, NULL) < 0) return;
    const enum tp_guest before = tp_guest_enter(TP_GUEST_OPERATOR);
    view->operator->row.cost(&view->node, &operations, &bytes);
    tp_guest_leave(before);
    *out = (struct tp_cost){bounded(operations), bounded(bytes)};
}
