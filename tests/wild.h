/* SPDX-License-Identifier: MIT
 *
 * tests/wild.h - random functions from a seed, strewn over devices: the same for the same seed.
 */
#ifndef TP_TESTS_WILD_H
#define TP_TESTS_WILD_H

#include "troupe/function.h"

/* cpu:0 to cpu:n-1, views, results of several kinds, order without values; some shapes depend on
 * the argument `s` alone. */
troupe_function *wild_function(uint64_t seed, int devices);
/* Its arguments, the caller's. */
#define WILD_ARGS 4
void wild_args(uint64_t seed, const troupe_tensor **args);
void wild_release(const troupe_tensor **args);
/* Results that it has at most. */
#define WILD_RESULTS 6

#endif
