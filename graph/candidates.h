/* SPDX-License-Identifier: MIT
 *
 * graph/candidates.h - which devices fit a wish and can run a row of ops, and the best of them.
 *
 * The best: the highest priority of the kernel; then the default device; then the type with the
 * highest priority; then a device in the task of the default device; then the first by name. A
 * type whose priority is below 0 is a candidate only where the wish names it, and on the
 * default device.
 */
#ifndef TP_GRAPH_CANDIDATES_H
#define TP_GRAPH_CANDIDATES_H

#include "graph/support.h"

#define TP_NO_WISH 0u

struct tp_choice {
    uint32_t device;  /* the best, or TP_NO_DEVICE when there is no candidate */
    uint32_t devices; /* candidates */
    uint32_t types;   /* of how many types */
};

struct tp_candidates {
    const struct tp_place_env *env;
    struct tp_support support;
    struct tp_intern wishes; /* device names; TP_NO_WISH is the empty one */
    struct tp_intern pairs;  /* wish and row -> place in choices */
    struct tp_choice *choices;
    size_t choice_capacity;
};

troupe_status tp_candidates_init(struct tp_candidates *candidates,
                                 const struct tp_place_env *env, struct tp_arena *arena,
                                 troupe_error *err) TROUPE_MUST_CHECK;
void tp_candidates_fini(struct tp_candidates *candidates);

/* The number of a device name. */
troupe_status tp_candidates_wish(struct tp_candidates *candidates, const struct tp_name *name,
                                 uint32_t *out, troupe_error *err) TROUPE_MUST_CHECK;
/* Valid as long as the arena. */
const struct tp_name *tp_candidates_name(const struct tp_candidates *candidates, uint32_t wish);
troupe_status tp_candidates_best(struct tp_candidates *candidates, uint32_t wish, uint32_t row,
                                 struct tp_choice *out, troupe_error *err) TROUPE_MUST_CHECK;
bool tp_candidates_allow(const struct tp_candidates *candidates, uint32_t wish, uint32_t row,
                         uint32_t device);
/* The wish without its id, or without type and id where it has no id; TP_NO_WISH has neither.
 */
troupe_status tp_candidates_relax(struct tp_candidates *candidates, uint32_t wish,
                                  uint32_t *out, troupe_error *err) TROUPE_MUST_CHECK;

#endif
