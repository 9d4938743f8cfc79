/* SPDX-License-Identifier: MIT
 *
 * graph/attr.h - typed attributes of a graph node: find, check, compare.
 *
 * A stored attribute is a troupe_attr whose memory belongs to its function (see function.h).
 */
#ifndef TP_GRAPH_ATTR_H
#define TP_GRAPH_ATTR_H

#include "troupe/function.h"

/* The attribute of that name, or NULL. */
const troupe_attr *tp_attr_find(const troupe_attr *attrs, size_t n, const char *name);
/* Its value, or `otherwise` when it is absent. Kinds were checked against the op's row. */
int64_t tp_attr_int(const troupe_attr *attrs, size_t n, const char *name, int64_t otherwise);
double tp_attr_float(const troupe_attr *attrs, size_t n, const char *name, double otherwise);
const char *tp_attr_text(const troupe_attr *attrs, size_t n, const char *name,
                         const char *otherwise);
/* NULL and *count = 0 when absent. */
const int64_t *tp_attr_ints(const troupe_attr *attrs, size_t n, const char *name,
                            size_t *count);
const double *tp_attr_floats(const troupe_attr *attrs, size_t n, const char *name,
                             size_t *count);

bool tp_attr_equal(const troupe_attr *a, const troupe_attr *b);
/* "an integer", "a list of floats"; "nothing" for a value that is no kind. */
const char *tp_attr_kind_name(troupe_attr_kind kind);

/* INVALID unless it has a name, a kind, and what its kind needs. */
troupe_status tp_attr_check(const troupe_attr *attr, troupe_error *err) TROUPE_MUST_CHECK;

struct tp_arena;
/* A copy of the list in the arena, but that its tensors are retained: tp_attr_drop releases
 * them. A NaN becomes the one that is printed. */
troupe_status tp_attr_copy(struct tp_arena *arena, const troupe_attr *attrs, size_t n,
                           troupe_attr **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_attr_drop(troupe_attr *attrs, size_t n);
/* By name, as graph nodes keep them. */
void tp_attr_sort(troupe_attr *attrs, size_t n);

#endif
