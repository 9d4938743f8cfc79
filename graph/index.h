/* SPDX-License-Identifier: MIT
 *
 * graph/index.h - names to numbers. Zeroed is valid and empty.
 *
 * Names and entries lie in an arena of the caller's, which must outlive the index. Many threads
 * may look names up while none changes it.
 */
#ifndef TP_GRAPH_INDEX_H
#define TP_GRAPH_INDEX_H

#include <stdint.h>

#include "troupe/status.h"

#define TP_NO_INDEX UINT32_MAX

struct tp_arena;
struct tp_index_entry;
struct tp_index {
    struct tp_index_entry *entries;
    uint64_t seed; /* so that nobody can choose names that collide */
};

/* Borrows `name`. *had gets the number that the name has already, and nothing is added then;
 * else TP_NO_INDEX. */
troupe_status tp_index_add(struct tp_index *index, struct tp_arena *arena, const char *name,
                           uint32_t number, uint32_t *had, troupe_error *err) TROUPE_MUST_CHECK;
/* The number of the name, or TP_NO_INDEX. */
uint32_t tp_index_find(const struct tp_index *index, const char *name);
void tp_index_remove(struct tp_index *index, const char *name);
void tp_index_fini(struct tp_index *index);

#endif
