/* SPDX-License-Identifier: MIT
 *
 * graph/intern.h - equal keys to equal numbers: 0 for the first, 1 for the next that differs.
 *
 * All keys of one table have one size, and padding bytes of theirs must be zero.
 */
#ifndef TP_GRAPH_INTERN_H
#define TP_GRAPH_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

struct tp_arena;
struct tp_intern_entry;

struct tp_intern {
    struct tp_arena *arena; /* has the keys; outlives the table */
    size_t size;            /* of a key */
    uint32_t n;             /* different keys so far */
    size_t capacity;
    struct tp_intern_entry **list, *entries;
};

void tp_intern_init(struct tp_intern *table, struct tp_arena *arena, size_t size);
void tp_intern_fini(struct tp_intern *table);
/* The number of the key, which is copied when it is new. */
troupe_status tp_intern_add(struct tp_intern *table, const void *key, uint32_t *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* The key of a number below n. */
const void *tp_intern_key(const struct tp_intern *table, uint32_t number);

#endif
