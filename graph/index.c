/* SPDX-License-Identifier: MIT
 *
 * graph/index.c - names to numbers, by uthash.
 */
#include "graph/index.h"

#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"

#define HASH_NONFATAL_OOM         1
#define uthash_malloc(size)       tp_alloc_aligned(sizeof(void *), (size))
#define uthash_free(memory, size) tp_free(memory)
#include <uthash.h>

struct tp_index_entry {
    uint32_t number;
    UT_hash_handle hh;
};

static unsigned hash_of(const struct tp_index *index, const char *name, size_t size)
{
    return (unsigned)XXH3_64bits_withSeed(name, size, index->seed);
}

static struct tp_index_entry *find(const struct tp_index *index, const char *name, size_t size,
                                   unsigned hash)
{
    struct tp_index_entry *entry = NULL;
    HASH_FIND_BYHASHVALUE(hh, index->entries, name, size, hash, entry);
    return entry;
}

troupe_status tp_index_add(struct tp_index *index, struct tp_arena *arena, const char *name,
                           uint32_t number, uint32_t *had, troupe_error *err)
{
    if (!index->entries) index->seed = (uintptr_t)arena * UINT64_C(0x9e3779b97f4a7c15);
    const size_t size = strlen(name);
    const unsigned hash = hash_of(index, name, size);
    struct tp_index_entry *entry = find(index, name, size, hash);
    *had = entry ? entry->number : TP_NO_INDEX;
    if (entry) return TROUPE_OK;
    entry = tp_arena_take(arena, sizeof(*entry));
    if (!entry) return tp_fail_memory(err, sizeof(*entry));
    entry->number = number;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, index->entries, name, size, hash, entry);
    return entry->hh.tbl ? TROUPE_OK : tp_fail_memory(err, sizeof(UT_hash_bucket));
}

uint32_t tp_index_find(const struct tp_index *index, const char *name)
{
    const size_t size = strlen(name);
    const struct tp_index_entry *entry = find(index, name, size, hash_of(index, name, size));
    return entry ? entry->number : TP_NO_INDEX;
}

void tp_index_remove(struct tp_index *index, const char *name)
{
    const size_t size = strlen(name);
    struct tp_index_entry *entry = find(index, name, size, hash_of(index, name, size));
    if (entry) HASH_DELETE(hh, index->entries, entry);
}

void tp_index_fini(struct tp_index *index)
{
    HASH_CLEAR(hh, index->entries);
}
