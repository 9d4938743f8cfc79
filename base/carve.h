/* SPDX-License-Identifier: MIT
 *
 * base/carve.h - several arrays in one piece of memory: the same lines count their bytes and
 * give their places.
 */
#ifndef TP_BASE_CARVE_H
#define TP_BASE_CARVE_H

#include <stddef.h>

struct tp_carve {
    char *memory; /* NULL: only count */
    size_t size;  /* so far; of the whole at the end */
};

/* The place of n elements of `size` bytes, rounded up to `align` (a power of two); NULL while
 * counting. The caller has checked that the counts are small enough not to overflow. */
static inline void *tp_carve(struct tp_carve *carve, size_t n, size_t size, size_t align)
{
    void *here = carve->memory ? carve->memory + carve->size : NULL;
    carve->size += (n * size + align - 1) / align * align;
    return here;
}

#endif
