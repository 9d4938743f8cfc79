/* SPDX-License-Identifier: MIT
 *
 * graph/arena.h - memory that is freed as one; more of what graph/function.h declares.
 */
#ifndef TP_GRAPH_ARENA_H
#define TP_GRAPH_ARENA_H

#include "graph/function.h"

/* n elements of `size` bytes, zeroed; NULL when there is no memory or n * size overflows. */
void *tp_arena_array(struct tp_arena *arena, size_t n, size_t size);
/* The three texts in one. */
char *tp_arena_words(struct tp_arena *arena, const char *a, const char *between, const char *b);
/* n pieces from tp_alloc (some may be NULL) are freed with the arena; on failure they stay the
 * caller's. */
troupe_status tp_arena_adopt(struct tp_arena *arena, void *const *pieces, size_t n,
                             troupe_error *err) TROUPE_MUST_CHECK;

/* Give back all that was taken since the mark. Nothing may have been adopted since. */
struct tp_arena_mark {
    void *block;
    size_t used;
};
struct tp_arena_mark tp_arena_mark(const struct tp_arena *arena);
void tp_arena_reset(struct tp_arena *arena, struct tp_arena_mark mark);

#endif
