/* SPDX-License-Identifier: MIT
 *
 * graph/operator_run.c - a launch of a user's operator: prepared once for its types, then run,
 * with guards around what it writes where its row asks for them.
 *
 * The kernel's state is a view without values; each launch has a copy on its own stack, with
 * the pointers to elements in the launch's workspace, so launches share nothing that changes.
 */
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/guest.h"
#include "base/need.h"
#include "graph/infer.h"
#include "graph/operator.h"
#include "tensor/tensor.h"

/* -- Launches ------------------------------------------------------------------------------ */

static void **pointers_of(const struct tp_launch *launch)
{
    return launch->workspace;
}

/* The view of this launch; its lists of pointers lie in the workspace: values, then `out`. */
static struct tp_operator_view launched(const struct tp_launch *launch)
{
    const struct tp_operator_view *prepared = launch->state;
    struct tp_operator_view view = *prepared;
    const void **values = (const void **)pointers_of(launch);
    for (size_t i = 0; i < view.node.n_inputs; i++) {
        const struct tp_view *in = tp_in(launch, i);
        values[i] = in && in->type->dtype != TROUPE_STRING ? in->data : NULL;
    }
    view.launch = launch;
    view.node.values = values;
    view.node.device = launch->device;
    return view;
}

static void **set_out(const struct tp_operator_view *view)
{
    void **out = pointers_of(view->launch) + view->node.n_inputs;
    for (size_t i = 0; i < view->node.n_results; i++) {
        const struct tp_view *result = tp_out(view->launch, i);
        out[i] = result && !view->operator->op.gives ? result->data : NULL;
    }
    return out;
}

static const char *result_name(const struct tp_operator *o, size_t i)
{
    return tp_op_port(o->op.results, i)->name;
}

/* What was to be made or given has been. */
static troupe_status check_made(const struct tp_launch *launch, const struct tp_operator *o,
                                troupe_error *err)
{
    for (uint32_t i = 0; i < launch->n_results; i++) {
        const struct tp_view *result = tp_out(launch, i);
        if (!result || result->data) continue;
        return tp_fail(err, TROUPE_INVALID, "operator '%.60s': run did not %s result %u '%s'",
                       o->op.name, o->op.gives ? "give" : "make", i, result_name(o, i));
    }
    return TROUPE_OK;
}

static troupe_status call(const struct tp_operator_view *view, void *const *out,
                          troupe_error *err)
{
    troupe_error said = {0};
    const enum tp_guest before = tp_guest_enter(TP_GUEST_OPERATOR);
    const troupe_status status = view->operator->row.run(&view->node, out, &said);
    tp_guest_leave(before);
    TP_TRY(tp_operator_ended(view->operator, "run", status, &said, err));
    return check_made(view->launch, view->operator, err);
}

troupe_status tp_operator_run(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_operator_view view = launched(launch);
    return call(&view, set_out(&view), err);
}

/* -- With guards --------------------------------------------------------------------------- */

#define GUARD   64 /* bytes on either side of a result */
#define PATTERN 0xa5
#define FEW     8 /* so many bytes may happen to be the pattern */

static size_t round_up(size_t n)
{
    return (n + TP_ALIGN - 1) / TP_ALIGN * TP_ALIGN;
}

static size_t pointers_size(size_t inputs, size_t results)
{
    return round_up((inputs + results) * sizeof(void *));
}

/* Bytes of a result that the library gives memory to. */
static size_t bytes_of(const struct tp_type *type)
{
    size_t bytes = 0;
    if (!tp_shape_known(&type->shape)) return 0;
    return tp_type_bytes(type, &bytes, NULL) < 0 ? 0 : bytes;
}

static uint64_t sum_inputs(const struct tp_launch *launch)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < launch->n_inputs; i++) {
        const struct tp_view *in = tp_in(launch, i);
        if (in && in->type->dtype != TROUPE_STRING)
            sum = XXH3_64bits_withSeed(in->data, bytes_of(in->type), sum);
    }
    return sum;
}

static bool is_pattern(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != PATTERN) return false;
    return true;
}

/* Memory between guards for each result that has some, one behind the other. */
static void set_guards(const struct tp_operator_view *view, void **out)
{
    const struct tp_launch *launch = view->launch;
    unsigned char *at = (unsigned char *)launch->workspace +
                        pointers_size(view->node.n_inputs, view->node.n_results);
    for (uint32_t i = 0; i < launch->n_results; i++) {
        if (!out[i]) continue;
        const size_t room = round_up(bytes_of(tp_out(launch, i)->type));
        memset(at, PATTERN, room + 2 * GUARD);
        out[i] = at + GUARD;
        at += room + 2 * GUARD;
    }
}

static troupe_status check_guard(const struct tp_operator *o, uint32_t i,
                                 const unsigned char *at, size_t size, troupe_error *err)
{
    const char *what = NULL;
    if (!is_pattern(at - GUARD, GUARD))
        what = "wrote before";
    else if (!is_pattern(at + size, round_up(size) - size + GUARD))
        what = "wrote behind";
    else if (size >= FEW && is_pattern(at, size))
        what = "did not write";
    if (!what) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "operator '%.60s': run %s the %zu bytes of result %u '%s'", o->op.name, what,
                   size, i, result_name(o, i));
}

static troupe_status take_guarded(const struct tp_launch *launch, const struct tp_operator *o,
                                  void *const *out, troupe_error *err)
{
    for (uint32_t i = 0; i < launch->n_results; i++) {
        if (!out[i]) continue;
        const struct tp_view *result = tp_out(launch, i);
        const size_t size = bytes_of(result->type);
        TP_TRY(check_guard(o, i, out[i], size, err));
        memcpy(result->data, out[i], size);
    }
    return TROUPE_OK;
}

static troupe_status run_checked(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_operator_view view = launched(launch);
    void **out = set_out(&view);
    const uint64_t before = sum_inputs(launch);
    set_guards(&view, out);
    TP_TRY(call(&view, out, err));
    if (sum_inputs(launch) != before)
        return tp_fail(err, TROUPE_INVALID, "operator '%.60s': run changed an input",
                       view.operator->op.name);
    return take_guarded(launch, view.operator, out, err);
}

/* -- Prepare ------------------------------------------------------------------------------- */

static void drop(void *state)
{
    struct tp_operator_view *view = state;
    const troupe_operator_row *row = &view->operator->row;
    if (row->release && view->node.state) {
        const enum tp_guest before = tp_guest_enter(TP_GUEST_OPERATOR);
        row->release(row->user, view->node.state);
        tp_guest_leave(before);
    }
    tp_free(view);
}

static troupe_status make_state(struct tp_operator_view *view, troupe_error *err)
{
    const struct tp_operator *o = view->operator;
    troupe_error said = {0};
    void *state = NULL;
    if (!o->row.prepare) return TROUPE_OK;
    const enum tp_guest before = tp_guest_enter(TP_GUEST_OPERATOR);
    const troupe_status status = o->row.prepare(&view->node, &state, &said);
    tp_guest_leave(before);
    TP_TRY(tp_operator_ended(o, "prepare", status, &said, err));
    view->node.state = state;
    return TROUPE_OK;
}

static size_t workspace_of(const struct tp_operator_view *view, const struct tp_infer *node)
{
    size_t size = pointers_size(view->node.n_inputs, view->node.n_results);
    for (size_t i = 0; view->operator->row.checked && i<node->n_results; i++)
        size += round_up(bytes_of(&node->results[i])) + 2 * GUARD;
    return size;
}

troupe_status tp_operator_prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const troupe_operator_row *row = &prepare->node.op->user->row;
    TP_OWNED(tp_free_at) struct tp_operator_view *view = NULL;
    TP_TRY(tp_operator_view_new(&prepare->node, true, &view, err));
    TP_TRY(make_state(view, err));
    prepare->workspace = workspace_of(view, &prepare->node);
    if (row->checked) prepare->run = run_checked;
    view->known = NULL; /* it and what it points to is of this call alone */
    view->n_known = 0;
    prepare->state = view;
    prepare->drop = drop;
    view = NULL;
    return TROUPE_OK;
}

/* -- What callbacks call ------------------------------------------------------------------- */

static const struct tp_operator_view *view_of(const troupe_operator_node *node)
{
    return tp_container_of(node, const struct tp_operator_view, node);
}

/* The result is open, and nobody has made it yet. */
static troupe_status check_open(const struct tp_operator_view *view, size_t i, bool gives,
                                troupe_error *err)
{
    const struct tp_launch *launch = view->launch;
    if (!launch) return tp_fail(err, TROUPE_INVALID, "results are made in run only");
    if (i >= launch->n_results)
        return tp_fail(err, TROUPE_INVALID, "there is no result %zu", i);
    if (view->operator->op.gives != gives)
        return tp_fail(err, TROUPE_INVALID, "results are to be %s",
                       gives ? "made: the row has no `gives`" : "given: the row has `gives`");
    const struct tp_view *result = tp_out(launch, i);
    if (!result) return tp_fail(err, TROUPE_INVALID, "result %zu is absent", i);
    if (!launch->room || result->data)
        return tp_fail(err, TROUPE_INVALID, "result %zu '%s' is there already", i,
                       result_name(view->operator, i));
    return TROUPE_OK;
}

/* It is what `shape` said, as far as that went. */
static troupe_status check_said(const struct tp_operator_view *view, size_t i,
                                const struct tp_type *type, troupe_error *err)
{
    const troupe_type *said = &view->results[i];
    bool same = said->dtype == type->dtype;
    same = same && (said->rank < 0 || said->rank == type->shape.rank);
    for (int d = 0; same && d < said->rank; d++)
        same = said->dims[d] < 0 || said->dims[d] == type->shape.dims[d];
    if (same) return TROUPE_OK;
    struct tp_type was = {said->dtype, {.rank = said->rank}};
    for (int d = 0; d < said->rank; d++)
        was.shape.dims[d] = said->dims[d];
    return tp_fail(err, TROUPE_INVALID, "result %zu '%s' is %s, but shape said %s", i,
                   result_name(view->operator, i), tp_type_text(type).text,
                   tp_type_text(&was).text);
}

troupe_status troupe_operator_make(const troupe_operator_node *node, size_t result, int rank,
                                   const int64_t *dims, void **out, troupe_error *err)
{
    TP_TRY(tp_need(node, "node", err));
    TP_TRY(tp_need(out, "out", err));
    const struct tp_operator_view *view = view_of(node);
    TP_TRY(check_open(view, result, false, err));
    struct tp_type type = {.dtype = view->results[result].dtype};
    TP_TRY(tp_shape_make(&type.shape, rank, dims, err));
    TP_TRY(check_said(view, result, &type, err));
    struct tp_room *room = view->launch->room;
    TP_TRY(room->open(room, view->launch, result, &type, err));
    *out = tp_out(view->launch, result)->data;
    return TROUPE_OK;
}

troupe_status troupe_operator_give(const troupe_operator_node *node, size_t result,
                                   troupe_tensor **tensor, troupe_error *err)
{
    TP_TRY(tp_need(tensor, "tensor", err));
    TP_OWNED(troupe_tensor_release) troupe_tensor *mine = *tensor;
    *tensor = NULL;
    TP_TRY(tp_need(node, "node", err));
    const struct tp_operator_view *view = view_of(node);
    TP_TRY(check_open(view, result, true, err));
    if (!mine) return tp_fail(err, TROUPE_INVALID, "result %zu: there is no tensor", result);
    TP_TRY(check_said(view, result, &mine->type, err));
    struct tp_room *room = view->launch->room;
    return room->give(room, view->launch, result, &mine, err);
}

const char *troupe_operator_string(const troupe_operator_node *node, size_t input, size_t i,
                                   size_t *size)
{
    if (!node) return NULL;
    const struct tp_operator_view *view = view_of(node);
    const struct tp_view *in = view->launch            ? tp_in(view->launch, input)
                               : input < view->n_known ? &view->known[input]
                                                       : NULL;
    if (!in || !in->data || in->type->dtype != TROUPE_STRING) return NULL;
    if (i >= tp_shape_count_known(&in->type->shape)) return NULL;
    const struct tp_string *string = (const struct tp_string *)in->data + i;
    if (size) *size = string->size;
    return (const char *)in->data + string->at;
}
