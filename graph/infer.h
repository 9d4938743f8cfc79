/* SPDX-License-Identifier: MIT
 *
 * graph/infer.h - the driver of shape and type inference: checks a node against its op's row.
 */
#ifndef TP_GRAPH_INFER_H
#define TP_GRAPH_INFER_H

#include "graph/op.h"

/* Number of inputs or results that a node of op must have at least and may have at most
 * (SIZE_MAX: variadic). */
void tp_op_arity(const struct tp_port *ports, size_t *least, size_t *most);
/* The port of input or result i (the last one when it is variadic), or NULL. */
const struct tp_port *tp_op_port(const struct tp_port *ports, size_t i);

/* Check counts, element types, type variables and attributes of `node` against its op, set the
 * results' element types, then call the op's infer. Failures name the port ("input 1 'B'"), what was
 * given and what is allowed; the caller adds the node's name. */
troupe_status tp_infer_run(struct tp_infer *node, troupe_error *err) TROUPE_MUST_CHECK;

/* The cost of one run by the op's row, or by element counts; unknown dimensions count as 1. */
void tp_infer_cost(const struct tp_infer *node, struct tp_cost *out);

#endif
