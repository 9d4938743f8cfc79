/* SPDX-License-Identifier: MIT
 *
 * graph/arena.c - memory that is freed as one: blocks that double up to a limit.
 *
 * Blocks come zeroed from tp_alloc and are handed out from the front, so taking costs an
 * addition. Texts are packed; everything else begins at a multiple of 16.
 */
#include "graph/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

#define ALIGN       16
#define FIRST_BLOCK 2048
#define LAST_BLOCK  (1u << 20)

struct block {
    struct block *next; /* the one that was filled before */
    size_t size, used;
    alignas(ALIGN) char data[];
};

struct adopted {
    struct adopted *next;
    void *memory;
};

struct tp_arena {
    struct block *block; /* the one that is being filled */
    struct adopted *adopted;
    size_t next_size;
};

troupe_status tp_arena_new(struct tp_arena **out, troupe_error *err)
{
    struct tp_arena *arena = tp_alloc(sizeof(*arena));
    if (!arena) return tp_fail_memory(err, sizeof(*arena));
    arena->next_size = FIRST_BLOCK;
    *out = arena;
    return TROUPE_OK;
}

void tp_arena_destroy(struct tp_arena **arena)
{
    struct tp_arena *a = *arena;
    if (!a) return;
    for (struct adopted *one = a->adopted; one; one = one->next)
        tp_free(one->memory);
    for (struct block *b = a->block, *next; b; b = next) {
        next = b->next;
        tp_free(b);
    }
    tp_free(a);
    *arena = NULL;
}

/* A block with room for `size` bytes at the front of the list. */
static bool add_block(struct tp_arena *arena, size_t size)
{
    const size_t wanted = size > arena->next_size ? size : arena->next_size;
    if (wanted > SIZE_MAX - sizeof(struct block)) return false;
    struct block *b = tp_alloc(sizeof(*b) + wanted);
    if (!b) return false;
    b->size = wanted;
    b->next = arena->block;
    arena->block = b;
    if (arena->next_size < LAST_BLOCK) arena->next_size *= 2;
    return true;
}

static size_t align_up(size_t at, size_t align)
{
    return (at + align - 1) & ~(align - 1);
}

static void *take(struct tp_arena *arena, size_t size, size_t align)
{
    const struct block *now = arena->block;
    size_t at = now ? align_up(now->used, align) : 0;
    if (!now || at > now->size || size > now->size - at) {
        if (!add_block(arena, size)) return NULL;
        at = 0;
    }
    arena->block->used = at + size;
    return arena->block->data + at;
}

void *tp_arena_take(struct tp_arena *arena, size_t size)
{
    return take(arena, size, ALIGN);
}

void *tp_arena_array(struct tp_arena *arena, size_t n, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? NULL : take(arena, bytes, ALIGN);
}

char *tp_arena_text(struct tp_arena *arena, const char *text, size_t size)
{
    char *copy = size == SIZE_MAX ? NULL : take(arena, size + 1, 1);
    if (copy && size) memcpy(copy, text, size);
    return copy;
}

char *tp_arena_words(struct tp_arena *arena, const char *a, const char *between, const char *b)
{
    const size_t sizes[] = {strlen(a), strlen(between), strlen(b)};
    char *copy = take(arena, sizes[0] + sizes[1] + sizes[2] + 1, 1);
    if (!copy) return NULL;
    memcpy(copy, a, sizes[0]);
    memcpy(copy + sizes[0], between, sizes[1]);
    memcpy(copy + sizes[0] + sizes[1], b, sizes[2]);
    return copy;
}

troupe_status tp_arena_adopt(struct tp_arena *arena, void *const *pieces, size_t n,
                             troupe_error *err)
{
    struct adopted *list = tp_arena_array(arena, n, sizeof(*list));
    if (!list) return tp_fail_memory(err, n * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        list[i] = (struct adopted){.next = arena->adopted, .memory = pieces[i]};
        arena->adopted = &list[i];
    }
    return TROUPE_OK;
}

struct tp_arena_mark tp_arena_mark(const struct tp_arena *arena)
{
    return (struct tp_arena_mark){arena->block, arena->block ? arena->block->used : 0};
}

void tp_arena_reset(struct tp_arena *arena, struct tp_arena_mark mark)
{
    while (arena->block != mark.block) {
        struct block *b = arena->block;
        arena->block = b->next;
        tp_free(b);
    }
    if (!arena->block) return;
    memset(arena->block->data + mark.used, 0, arena->block->used - mark.used);
    arena->block->used = mark.used;
}
