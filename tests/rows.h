/* SPDX-License-Identifier: MIT
 *
 * tests/rows.h - runtimes of two devices, and calls of function_over with one row.
 */
#ifndef TP_TESTS_ROWS_H
#define TP_TESTS_ROWS_H

#include "tests/rehearsal.h"

/* What tests that loop over numbers of workers loop over. */
#define ROWS_WORKERS 3
extern const int rows_workers[ROWS_WORKERS];

/* A runtime of cpu:0 and cpu:1. max_calls 0: the default. */
troupe_runtime *rows_open(int workers, size_t max_calls);
void rows_close(troupe_runtime *runtime);
/* Call f (function_over) with the row of `first`. */
uint64_t rows_call(troupe_runtime *runtime, const troupe_function *f, float first,
                   struct outcome *outcome);
/* It ended, once, with its values. Clears the outcome. */
void rows_ended(struct outcome *outcome, float first);

#endif
