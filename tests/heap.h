/* SPDX-License-Identifier: MIT
 *
 * tests/heap.h - the heap of the whole process under a test's eyes: what is in use, and requests
 * that fail.
 *
 * A program that is linked with tests/heap.c has a malloc of its own (and calloc, realloc,
 * posix_memalign, aligned_alloc, memalign, free) before that of the C library. So also what
 * jansson, msgpack-c, protobuf-c, uthash, strdup and stdio ask for is counted and can fail. Only
 * requests whose caller's code lies in the program itself, in the C library, or in one of those
 * libraries are: what oneDNN, OpenBLAS, OpenMP, ZeroMQ, Check and the dynamic linker ask for
 * (dlopen, thread-local memory) is let through, uncounted.
 *
 * Where a malloc cannot be put before another (a sanitizer, another C library than glibc),
 * heap_is_ours is false; heap_fail_at then makes base/alloc.h's requests fail, and under
 * address and thread sanitizers heap_bytes and heap_peak count all of the process.
 */
#ifndef TP_TESTS_HEAP_H
#define TP_TESTS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool heap_is_ours(void);

/* Make request n from now on fail (1: the next; 0: none), and each later one too when `all`.
 * Any thread's requests count. */
void heap_fail_at(uint64_t n, bool all);
/* Requests since then. */
uint64_t heap_asked(void);

/* What was asked for and is not freed. */
size_t heap_pieces(void);
size_t heap_bytes(void);
/* The most bytes since the last heap_peak_begin, beyond those of then. */
void heap_peak_begin(void);
size_t heap_peak(void);

/* Print to stderr the pieces that were asked for since a request was last to fail: for the
 * message of a leak. */
void heap_show(void);

#endif
