/* SPDX-License-Identifier: MIT
 *
 * graph/together.h - which graph nodes of a function are to be placed together, by `with`.
 *
 * Union-find in an array of parents: a root is its own parent, and the first graph node of its
 * group.
 */
#ifndef TP_GRAPH_TOGETHER_H
#define TP_GRAPH_TOGETHER_H

#include "graph/arena.h"

/* In the arena; *out is NULL when no graph node has a `with`. */
troupe_status tp_together(const struct tp_function *function, struct tp_arena *arena,
                          uint32_t **out, troupe_error *err) TROUPE_MUST_CHECK;
uint32_t tp_together_root(uint32_t *parents, uint32_t node);

#endif
