/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz.h - a fuzz target: a function that takes any bytes, and aborts when they do harm.
 *
 * tests/fuzz_NAME.c has one, which libFuzzer calls:
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. -Iinclude -pthread \
 *       tests/fuzz_NAME.c SOURCES... -lmsgpackc -lxxhash -lm -o fuzz
 *   ./fuzz -max_total_time=300 tests/corpus/NAME
 *
 * Linked with tests/fuzz_replay.c it is a suite that replays tests/corpus/NAME.
 */
#ifndef TP_TESTS_FUZZ_H
#define TP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Also where assertions are off. */
#define FUZZ_ASSERT(expr) ((expr) ? (void)0 : __builtin_trap())

#endif
