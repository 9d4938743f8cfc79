/* SPDX-License-Identifier: MIT
 *
 * graph/inline.h - replace the calls in a function by the bodies that they call.
 *
 * A piece of the work, for a pace (base/pace.h; NULL: none), is a graph node.
 */
#ifndef TP_GRAPH_INLINE_H
#define TP_GRAPH_INLINE_H

#include "graph/function.h"

struct tp_pace;

/* A body equal in meaning to `function` in which no call is left. A graph node of a called body
 * gets the name "CALL/NODE", the call's device where its own wish leaves parts open (a type of
 * its own keeps the call's id out: semantics 1.17), runs after what the call must run after,
 * and what runs after the call runs after all effects of the body. Colocation names are carried
 * over. A function without calls is returned itself, retained. INVALID names the circle when
 * functions call each other without end; EXHAUSTED over max_nodes graph nodes, calls among
 * them, before anything is copied. What runs after a call without effects runs after the graph nodes that make its
 * results. A graph node of a group that is placed together takes the call's device only where
 * the whole group wishes none. */
troupe_status tp_inline(const troupe_function *function, size_t max_nodes, struct tp_pace *pace,
                        struct tp_function **out, troupe_error *err) TROUPE_MUST_CHECK;

/* How many graph nodes the function has once all that it calls is copied into it, calls among
 * them; at most UINT64_MAX. Takes time by what is written, not by what it becomes. Calls in a
 * circle count once. */
troupe_status tp_inline_count(const troupe_function *function, uint64_t *out,
                              troupe_error *err) TROUPE_MUST_CHECK;

/* A body without the graph nodes and constants that neither a result nor an effect needs, in
 * the same order; arguments and names stay, and what was to be placed together still is. The
 * function is returned itself, retained, when all are needed. */
troupe_status tp_prune(const struct tp_function *function, struct tp_pace *pace,
                       struct tp_function **out, troupe_error *err) TROUPE_MUST_CHECK;

#endif
