/* SPDX-License-Identifier: MIT
 *
 * graph/intern.c - equal keys to equal numbers, by uthash.
 */
#include "graph/intern.h"

#include <stdalign.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/function.h"

#define HASH_NONFATAL_OOM         1
#define uthash_malloc(size)       tp_alloc(size)
#define uthash_free(memory, size) tp_free(memory)
#include <uthash.h>

struct tp_intern_entry {
    uint32_t number;
    UT_hash_handle hh;
    alignas(max_align_t) unsigned char key[];
};

void tp_intern_init(struct tp_intern *table, struct tp_arena *arena, size_t size)
{
    *table = (struct tp_intern){.arena = arena, .size = size};
}

void tp_intern_fini(struct tp_intern *table)
{
    HASH_CLEAR(hh, table->entries);
    tp_free(table->list);
    *table = (struct tp_intern){0};
}

const void *tp_intern_key(const struct tp_intern *table, uint32_t number)
{
    return table->list[number]->key;
}

static troupe_status append(struct tp_intern *table, const void *key, unsigned hash,
                            troupe_error *err)
{
    TP_TRY(tp_grow(&table->list, table->n, &table->capacity, sizeof(*table->list), err));
    struct tp_intern_entry *entry = tp_arena_take(table->arena, sizeof(*entry) + table->size);
    if (!entry) return tp_fail_memory(err, sizeof(*entry) + table->size);
    memcpy(entry->key, key, table->size);
    entry->number = table->n;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, table->entries, entry->key, table->size, hash, entry);
    if (!entry->hh.tbl) return tp_fail_memory(err, sizeof(UT_hash_bucket));
    table->list[table->n++] = entry;
    return TROUPE_OK;
}

troupe_status tp_intern_add(struct tp_intern *table, const void *key, uint32_t *out,
                            troupe_error *err)
{
    const unsigned hash = (unsigned)XXH3_64bits(key, table->size);
    const struct tp_intern_entry *entry = NULL;
    HASH_FIND_BYHASHVALUE(hh, table->entries, key, table->size, hash, entry);
    if (!entry) TP_TRY(append(table, key, hash, err));
    *out = entry ? entry->number : table->n - 1;
    return TROUPE_OK;
}
