/* SPDX-License-Identifier: MIT
 *
 * graph/operators.c - lists of operators: troupe's own, as users see it, and sets of the
 * user's.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "graph/arena.h"
#include "graph/index.h"
#include "graph/operator.h"

const char *troupe_operator(size_t i, const char **summary)
{
    const struct tp_op *op = tp_op_at(i);
    if (op && summary) *summary = op->summary;
    return op ? op->name : NULL;
}

struct troupe_operators {
    struct tp_ref ref;
    struct tp_operator **list; /* in the order of adding */
    size_t n, room;
    struct tp_index index; /* a name's place in list */
    struct tp_arena *arena;
    atomic_bool frozen; /* it was given away. Relaxed: who gives it to another thread orders */
};

troupe_status troupe_operators_new(troupe_operators **out, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    TP_OWNED(troupe_operators_release) troupe_operators *set = tp_alloc(sizeof(*set));
    if (!set) return tp_fail_memory(err, sizeof(*set));
    tp_ref_init(&set->ref);
    TP_TRY(tp_arena_new(&set->arena, err));
    *out = set;
    set = NULL;
    return TROUPE_OK;
}

troupe_operators *troupe_operators_retain(const troupe_operators *operators)
{
    troupe_operators *set = (troupe_operators *)operators; /* only the count changes */
    if (set) tp_ref_retain(&set->ref);
    return set;
}

void troupe_operators_release(troupe_operators **operators)
{
    troupe_operators *set = operators ? *operators : NULL;
    if (!set) return;
    *operators = NULL;
    if (!tp_ref_release(&set->ref)) return;
    tp_index_fini(&set->index);
    for (size_t i = 0; i < set->n; i++)
        tp_operator_release(&set->list[i]);
    tp_free(set->list);
    tp_arena_destroy(&set->arena);
    tp_free(set);
}

void tp_operators_freeze(const troupe_operators *operators)
{
    troupe_operators *set = (troupe_operators *)operators; /* only the mark changes */
    if (set) atomic_store_explicit(&set->frozen, true, memory_order_relaxed);
}

static troupe_status check_free(const troupe_operators *set, const char *name,
                                troupe_error *err)
{
    if (atomic_load_explicit(&set->frozen, memory_order_relaxed))
        return tp_fail(err, TROUPE_INVALID,
                       "operator '%.60s': a library or a runtime has the set already", name);
    if (tp_op_find(name))
        return tp_fail(err, TROUPE_INVALID,
                       "operator '%.60s' is troupe's: give yours a domain of its own", name);
    if (tp_index_find(&set->index, name) == TP_NO_INDEX) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "operator '%.60s' is there already", name);
}

static troupe_status add(troupe_operators *set, struct tp_operator *o, troupe_error *err)
{
    uint32_t had;
    TP_TRY(check_free(set, o->op.name, err));
    TP_TRY(tp_grow(&set->list, set->n, &set->room, sizeof(struct tp_operator *), err));
    TP_TRY(tp_index_add(&set->index, set->arena, o->op.name, (uint32_t)set->n, &had, err));
    set->list[set->n++] = o;
    return TROUPE_OK;
}

troupe_status troupe_operators_add(troupe_operators *operators, const troupe_operator_row *row,
                                   troupe_error *err)
{
    struct tp_operator *o = NULL;
    TP_TRY(tp_need(operators, "operators", err));
    TP_TRY(tp_need(row, "row", err));
    TP_TRY(tp_operator_new(row, &o, err));
    const troupe_status status = add(operators, o, err);
    if (status >= 0) return TROUPE_OK;
    o->row.free_user = NULL; /* it stays the caller's */
    tp_operator_release(&o);
    return status;
}

const char *troupe_operators_name(const troupe_operators *operators, size_t i,
                                  const char **summary)
{
    const struct tp_op *op = tp_operators_at(operators, i);
    if (op && summary) *summary = op->summary;
    return op ? op->name : NULL;
}

const struct tp_op *tp_operators_at(const troupe_operators *operators, size_t i)
{
    return operators && i < operators->n ? &operators->list[i]->op : NULL;
}

const struct tp_op *tp_operators_find(const troupe_operators *operators, const char *name)
{
    const struct tp_op *op = tp_op_find(name);
    if (op || !operators) return op;
    const uint32_t i = tp_index_find(&operators->index, name);
    return i == TP_NO_INDEX ? NULL : &operators->list[i]->op;
}

troupe_status troupe_fail(troupe_error *err, troupe_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tp_failv(err, status, fmt, args);
    va_end(args);
    return status;
}
