/* SPDX-License-Identifier: MIT
 *
 * graph/operator.h - the user's operators: rows like those of kernels/, made from the public
 * row, whose functions call the user's.
 *
 * An operator is counted: its set holds it, and every body with a graph node of it. So a row,
 * and what the user gave with it, outlives all that may call it.
 */
#ifndef TP_GRAPH_OPERATOR_H
#define TP_GRAPH_OPERATOR_H

#include "base/ref.h"
#include "graph/op.h"
#include "troupe/operator.h"

struct tp_arena;

struct tp_operator {
    struct tp_op op; /* op.user is this operator */
    struct tp_ref ref;
    struct tp_arena *arena; /* of all texts and lists */
    troupe_operator_row row;
    troupe_attr *fallbacks;       /* n_fallbacks copies, whose tensors are retained */
    const troupe_attr **fallback; /* per attribute: one of them, or NULL */
    size_t n_inputs, n_results;   /* ports */
    size_t n_attrs, n_fallbacks;
    uint64_t digest[2]; /* of all that a reader of the row sees: not of its functions */
};

/* A copy of the row. INVALID names what is malformed in it. */
troupe_status tp_operator_new(const troupe_operator_row *row, struct tp_operator **out,
                              troupe_error *err) TROUPE_MUST_CHECK;
struct tp_operator *tp_operator_retain(struct tp_operator *o);
void tp_operator_release(struct tp_operator **o);

/* The op's user's operator, one more owner; or nothing to do. */
static inline void tp_op_retain(const struct tp_op *op)
{
    if (op && op->user) tp_operator_retain(op->user);
}
static inline void tp_op_release(const struct tp_op *op)
{
    struct tp_operator *o = op ? op->user : NULL;
    if (o) tp_operator_release(&o);
}

/* The op of that name, troupe's or one of the set's (NULL: there is none); or NULL. */
const struct tp_op *tp_operators_find(const troupe_operators *operators, const char *name);
/* Operator i of the set, or NULL. */
const struct tp_op *tp_operators_at(const troupe_operators *operators, size_t i);
/* From now on the set does not change. */
void tp_operators_freeze(const troupe_operators *operators);

/* What a row's functions are made of (operator_view.c, operator_run.c). */
troupe_status tp_operator_infer(struct tp_infer *infer, troupe_error *err);
void tp_operator_cost(const struct tp_infer *node, struct tp_cost *out);
troupe_status tp_operator_prepare(struct tp_prepare *prepare, troupe_error *err);
troupe_status tp_operator_run(const struct tp_launch *launch, troupe_error *err);

/* A graph node as its callbacks see it, in one piece of memory. */
struct tp_operator_view {
    troupe_operator_node node;
    const struct tp_operator *operator;
    const struct tp_launch *launch; /* in run, else NULL */
    const struct tp_view *known;    /* outside run: of the first n_known inputs */
    size_t n_known;                 /* the graph node may have fewer than node.n_inputs */
    troupe_type *results;           /* n_results: what node.results points to, or room */
};
/* Of what inference or prepare was told; `typed`: the types of the results are there. */
troupe_status tp_operator_view_new(const struct tp_infer *infer, bool typed,
                                   struct tp_operator_view **out,
                                   troupe_error *err) TROUPE_MUST_CHECK;
/* What a callback returned as a failure that can be passed up: with the operator's name, a text
 * and a status that there is. */
troupe_status tp_operator_ended(const struct tp_operator *o, const char *callback,
                                troupe_status status, troupe_error *said, troupe_error *err);

#endif
