/* SPDX-License-Identifier: MIT
 *
 * tests/recut.h - the same function with its graph nodes, arguments and results strewn over
 * devices.
 */
#ifndef TP_TESTS_RECUT_H
#define TP_TESTS_RECUT_H

#include "troupe/troupe.h"

#define RECUT_MOST 64 /* arguments or results, at most */

struct recut {
    troupe_function *function;
    const char *args[RECUT_MOST],
        *results[RECUT_MOST]; /* a device or NULL, for the call's options */
};

/* Each graph node, argument and result gets one of cpu:0 to cpu:(devices-1) by a seeded choice;
 * one in four gets no wish. `function` has no calls. */
troupe_status recut_make(const troupe_function *function, uint64_t seed, int devices,
                         struct recut *out, troupe_error *err) TROUPE_MUST_CHECK;
void recut_fini(struct recut *recut);
/* Run it: as troupe_run with the recut's devices. */
troupe_status recut_run(const struct recut *recut, troupe_runtime *runtime,
                        const troupe_tensor *const *args, size_t n, troupe_tensor **results,
                        troupe_error *err) TROUPE_MUST_CHECK;

#endif
