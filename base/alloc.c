/* SPDX-License-Identifier: MIT
 *
 * base/alloc.c - the C library's heap, counted, with a switch that makes the n-th request fail.
 *
 * The counts are process-wide because the heap is: they are the only state here. With the
 * switch never touched a request pays one relaxed load beside the count of pieces. All of it is
 * relaxed: the numbers order nothing, and are read when no other thread allocates.
 */
#include "base/alloc.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fail.h"

#define LINE_SIZE 64
#define PAGE      65536 /* a multiple of every machine's */
#define LARGE     (4u << 20)

static struct {
    alignas(LINE_SIZE) atomic_bool watched; /* tp_alloc_fail_at was called: count requests */
    atomic_bool all;
    atomic_ullong fail_at; /* 0: never */
    atomic_ullong asked;
    alignas(LINE_SIZE) atomic_size_t pieces;
} heap;

void tp_alloc_fail_at(uint64_t n, int all)
{
    atomic_store_explicit(&heap.fail_at, n, memory_order_relaxed);
    atomic_store_explicit(&heap.all, all != 0, memory_order_relaxed);
    atomic_store_explicit(&heap.asked, 0, memory_order_relaxed);
    atomic_store_explicit(&heap.watched, true, memory_order_relaxed);
}

uint64_t tp_alloc_asked(void)
{
    return atomic_load_explicit(&heap.asked, memory_order_relaxed);
}

size_t tp_alloc_pieces(void)
{
    return atomic_load_explicit(&heap.pieces, memory_order_relaxed);
}

static bool count_and_refuse(void)
{
    const uint64_t n = atomic_fetch_add_explicit(&heap.asked, 1, memory_order_relaxed) + 1;
    const uint64_t at = atomic_load_explicit(&heap.fail_at, memory_order_relaxed);
    if (at == 0) return false;
    return atomic_load_explicit(&heap.all, memory_order_relaxed) ? n >= at : n == at;
}

static inline bool refused(void)
{
    if (TP_LIKELY(!atomic_load_explicit(&heap.watched, memory_order_relaxed))) return false;
    return count_and_refuse();
}

static inline void *counted(void *memory)
{
    if (memory) atomic_fetch_add_explicit(&heap.pieces, 1, memory_order_relaxed);
    return memory;
}

/* n * size, and at least 1: no request is for nothing. False: no object can be so large. */
static inline bool whole_size(size_t n, size_t size, size_t *out)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX) return false;
    *out = bytes ? bytes : 1;
    return true;
}

void *tp_alloc_array(size_t n, size_t size)
{
    size_t bytes;
    if (refused() || !whole_size(n, size, &bytes)) return NULL;
    return counted(calloc(1, bytes));
}

void *tp_alloc_aligned(size_t align, size_t size)
{
    void *memory = NULL;
    size_t bytes;
    if (refused() || !whole_size(1, size, &bytes)) return NULL;
    if (align < sizeof(void *)) align = sizeof(void *);
    if (posix_memalign(&memory, align, bytes) != 0) return NULL;
    return counted(memory);
}

/* A failure changes nothing but the time that it takes. */
void tp_alloc_expect(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t mask = PAGE - 1;
    const uintptr_t from = ((uintptr_t)memory + mask) & ~mask;
    const uintptr_t to = ((uintptr_t)memory + size) & ~mask;
    if (size >= LARGE) (void)!madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)memory, (void)size;
#endif
}

void *tp_realloc_array(void *memory, size_t n, size_t size)
{
    size_t bytes;
    if (refused() || !whole_size(n, size, &bytes)) return NULL;
    void *moved = realloc(memory, bytes);
    return memory ? moved : counted(moved);
}

char *tp_strdup(const char *text)
{
    return tp_strndup(text, strlen(text));
}

char *tp_strndup(const char *text, size_t size)
{
    if (size == SIZE_MAX || refused()) return NULL;
    size = strnlen(text, size);
    char *copy = counted(malloc(size + 1));
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

void tp_free(void *memory)
{
    if (!memory) return;
    atomic_fetch_sub_explicit(&heap.pieces, 1, memory_order_relaxed);
    free(memory);
}

void tp_free_at(void *memory)
{
    void *piece;
    memcpy(&piece, memory, sizeof(piece));
    tp_free(piece);
}

troupe_status tp_fail_memory(troupe_error *err, size_t size)
{
    return tp_fail(err, TROUPE_EXHAUSTED, "out of memory: %zu bytes", size);
}

/* Room for more than *capacity elements: twice as many. */
static troupe_status grow_to(void *array, size_t wanted, size_t *capacity, size_t size,
                             troupe_error *err)
{
    void *memory;
    memcpy(&memory, array, sizeof(memory));
    const size_t twice = *capacity > SIZE_MAX / 2 ? SIZE_MAX : *capacity * 2;
    const size_t n = wanted > twice ? wanted : twice;
    void *moved = tp_realloc_array(memory, n, size);
    if (!moved) return tp_fail_memory(err, n > SIZE_MAX / size ? SIZE_MAX : n * size);
    memcpy(array, &moved, sizeof(moved));
    *capacity = n;
    return TROUPE_OK;
}

troupe_status tp_grow(void *array, size_t count, size_t *capacity, size_t size,
                      troupe_error *err)
{
    if (count < *capacity) return TROUPE_OK; /* there is room already */
    return grow_to(array, count < 8 ? 8 : count + 1, capacity, size, err);
}

/* Room for `more` bytes and the zero byte behind them. */
static bool text_room(struct tp_text *text, size_t more)
{
    size_t wanted;
    if (text->failed) return false;
    if (__builtin_add_overflow(text->size, more, &wanted) || wanted == SIZE_MAX) {
        text->failed = 1;
        return false;
    }
    if (wanted < text->capacity) return true;
    if (wanted < 63) wanted = 63;
    text->failed = grow_to(&text->data, wanted + 1, &text->capacity, 1, NULL) < 0;
    return !text->failed;
}

void tp_text_add_bytes(struct tp_text *text, const void *bytes, size_t size)
{
    if (!text_room(text, size)) return;
    if (size) memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = 0;
}

void tp_text_add(struct tp_text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) text->failed = 1;
    if (n < 0 || !text_room(text, (size_t)n)) return;
    va_start(args, fmt);
    vsnprintf(text->data + text->size, (size_t)n + 1, fmt, args);
    va_end(args);
    text->size += (size_t)n;
}

troupe_status tp_text_take(struct tp_text *text, char **out, troupe_error *err)
{
    const size_t size = text->size;
    tp_text_add_bytes(text, "", 0); /* an empty text has memory too */
    if (text->failed) {
        tp_text_fini(text);
        return tp_fail_memory(err, size + 1);
    }
    *out = text->data;
    *text = (struct tp_text){0};
    return TROUPE_OK;
}

void tp_text_fini(struct tp_text *text)
{
    tp_free(text->data);
    *text = (struct tp_text){0};
}
