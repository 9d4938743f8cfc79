/* SPDX-License-Identifier: MIT
 *
 * graph/support.h - which device types can run an op, or all ops of a group, and prefer which.
 *
 * A row has a number for each device type: the kernel's priority there, or below 0 for no
 * kernel. Equal rows have equal numbers, so graph nodes and groups keep 4 bytes.
 */
#ifndef TP_GRAPH_SUPPORT_H
#define TP_GRAPH_SUPPORT_H

#include "graph/intern.h"
#include "graph/placer.h"

struct tp_support {
    const struct tp_place_env *env;
    uint32_t n_types;
    const char **types;   /* by falling priority, then as devices are sorted */
    int *priority;        /* of each type */
    uint32_t *type_of;    /* of each device */
    struct tp_intern ops; /* op -> place in row_of */
    uint32_t *row_of;
    size_t row_capacity;
    struct tp_intern rows;
    int *scratch; /* two rows */
};

/* Everything lies in the arena, apart from what _fini frees. */
troupe_status tp_support_init(struct tp_support *support, const struct tp_place_env *env,
                              struct tp_arena *arena, troupe_error *err) TROUPE_MUST_CHECK;
void tp_support_fini(struct tp_support *support);
/* The row of an op: what env->kernel says. */
troupe_status tp_support_of(struct tp_support *support, const struct tp_op *op, uint32_t *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* A row in which every type can run everything. */
troupe_status tp_support_all(struct tp_support *support, uint32_t *out,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* What both can run. The priorities are those of the row that has any; all are equal when the
 * two prefer different types. */
troupe_status tp_support_meet(struct tp_support *support, uint32_t a, uint32_t b, uint32_t *out,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* n_types numbers, valid as long as the arena. */
const int *tp_support_row(const struct tp_support *support, uint32_t row);
/* No type can run it. */
bool tp_support_none(const struct tp_support *support, uint32_t row);

#endif
