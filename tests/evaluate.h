/* SPDX-License-Identifier: MIT
 *
 * tests/evaluate.h - the judge: runs a function graph node by graph node, on one thread.
 *
 * It shares the kernels with the runtime and nothing else: no plan, no memory in common, no
 * order but the function's own.
 */
#ifndef TP_TESTS_EVALUATE_H
#define TP_TESTS_EVALUATE_H

#include "graph/function.h"

/* Run a body without calls. args[i] may be NULL where there is a default, and has the declared
 * element type but need not have the declared shape. results[0..n_results) get tensors, the
 * caller's. *ran gets the number of kernels that ran to their end, also on failure. */
troupe_status evaluate(const struct tp_function *function, const troupe_tensor *const *args,
                       size_t n, troupe_tensor **results, size_t *ran,
                       troupe_error *err) TROUPE_MUST_CHECK;

#endif
