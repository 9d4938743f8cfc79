/* SPDX-License-Identifier: MIT
 *
 * tests/starve.h - something is done again and again with the 1st, 2nd, ... request for memory
 * of the whole process failing (tests/heap.h), until none does.
 */
#ifndef TP_TESTS_STARVE_H
#define TP_TESTS_STARVE_H

#include "tests/heap.h"
#include "tests/test.h"

/* Does the thing and frees all that it makes. It uses no assertion of Check, which would ask for
 * memory; INTERNAL says that something is wrong. */
typedef troupe_status starve_fn(void *arg, troupe_error *err);

/* First it works, which also makes what the C library keeps. Then each time that a request
 * fails (`all`: and all later ones) it works all the same or gives EXHAUSTED, nothing is left,
 * and the next time, with memory, it works. Returns how often it was tried. */
uint64_t starve(starve_fn *whole, void *arg, bool all);
/* As above for what keeps things from one time to the next: nothing more is left when it has
 * worked again. */
uint64_t starve_again(starve_fn *whole, void *arg, bool all);

#endif
