/* SPDX-License-Identifier: MIT
 *
 * base/alloc.h - the one allocator of the library's own bookkeeping.
 *
 * Everything of ours that is not a tensor's elements on a device comes from here, so that tests
 * can count it and make the n-th allocation fail. Any thread.
 */
#ifndef TP_BASE_ALLOC_H
#define TP_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

/* Zeroed memory of n elements of `size` bytes, or NULL (also when n * size overflows). n == 0
 * gives a pointer that may be freed. */
void *tp_alloc_array(size_t n, size_t size) TROUPE_MUST_CHECK;
static inline void *tp_alloc(size_t size)
{
    return tp_alloc_array(1, size);
}
/* As above, not zeroed, aligned to `align` (a power of two). Free with tp_free. */
void *tp_alloc_aligned(size_t align, size_t size) TROUPE_MUST_CHECK;
/* Grow or shrink; the new part is not zeroed. NULL: failed, and the old memory is still there.
 */
void *tp_realloc_array(void *memory, size_t n, size_t size) TROUPE_MUST_CHECK;
/* Copies with a zero byte behind them; of at most `size` bytes, or up to the first zero byte.
 */
char *tp_strdup(const char *text) TROUPE_MUST_CHECK;
char *tp_strndup(const char *text, size_t size) TROUPE_MUST_CHECK;
void tp_free(void *memory);
/* New memory will be filled from end to end: where it is large, the kernel may give it in large
 * pages, which takes a fraction of the time. */
void tp_alloc_expect(void *memory, size_t size);
/* For TP_OWNED on a pointer of any type: frees *(void **)memory. */
void tp_free_at(void *memory);

/* Pieces of memory from here that are not freed. Only exact while no other thread allocates. */
size_t tp_alloc_pieces(void);

/* Make allocation number n from now on fail (1: the next; 0: none), and each later one too when
 * `all`. Process-wide; for tests. */
void tp_alloc_fail_at(uint64_t n, int all);
/* How many allocations were asked for since tp_alloc_fail_at; 0 when that was never called. */
uint64_t tp_alloc_asked(void);

/* The failure to give when one of these returned NULL. */
troupe_status tp_fail_memory(troupe_error *err, size_t size);

/* A growing array: `array` points to elements of `size` bytes. Makes room for one more and
 * returns EXHAUSTED when there is none; *capacity is in elements. */
troupe_status tp_grow(void *array, size_t count, size_t *capacity, size_t size,
                      troupe_error *err) TROUPE_MUST_CHECK;

/* Text that grows. Zeroed is valid and empty. After a failed allocation it keeps what it has
 * and remembers; tp_text_take says so. */
struct tp_text {
    char *data; /* NULL or ends with a zero byte */
    size_t size, capacity;
    int failed;
};
void tp_text_add(struct tp_text *text, const char *fmt, ...) TROUPE_PRINTF(2, 3);
void tp_text_add_bytes(struct tp_text *text, const void *bytes, size_t size);
/* The text, the caller's to tp_free, never NULL on success; *text is empty afterwards, also on
 * failure. */
troupe_status tp_text_take(struct tp_text *text, char **out,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_text_fini(struct tp_text *text);

#endif
