/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz.h - a fuzz target: a function that takes any bytes, and aborts when they do harm.
 *
 * tests/fuzz_NAME.c has one, which libFuzzer calls: `make fuzz` (CONTRIBUTING.md).
 *
 * Linked with tests/fuzz_replay.c it is a suite that replays tests/corpus/NAME.
 */
#ifndef TP_TESTS_FUZZ_H
#define TP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "tests/heap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Also where assertions are off. */
#define FUZZ_ASSERT(expr) ((expr) ? (void)0 : __builtin_trap())

/* Since heap_peak_begin the process held no more than `times` the input's size and a constant. */
static inline void fuzz_held(size_t size, size_t times, size_t constant)
{
    FUZZ_ASSERT(heap_peak() <= size * times + constant);
}

#endif
