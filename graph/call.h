/* SPDX-License-Identifier: MIT
 *
 * graph/call.h - the types of a call: do the inputs fit, and what do the results become?
 *
 * The named dimensions of the callee stand for dimensions of the caller: each for what the
 * inputs say it is. Where they say nothing it is unknown; where they contradict the call is
 * refused.
 */
#ifndef TP_GRAPH_CALL_H
#define TP_GRAPH_CALL_H

#include "graph/function.h"

/* Check n inputs (NULL where absent: the argument then needs a default) against the arguments
 * of `callee`, and fill dims[0..callee->n_dims) with what its named dimensions are in the
 * caller. */
troupe_status tp_call_check(const struct tp_function *callee,
                            const struct tp_type *const *inputs, size_t n, int64_t *dims,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* A type of the callee's in the caller's terms. */
struct tp_type tp_call_type(const struct tp_type *type, const int64_t *dims);

#endif
