/* SPDX-License-Identifier: MIT
 *
 * graph/colocate.h - groups of graph nodes that are placed as one: union-find with three
 * layers.
 *
 * Each group knows what can run all its ops and, by layer, what it was told: assigned (fixed)
 * beats resource (where a handle lives) beats requested (a rule or an annotation). Two groups
 * that contradict each other within a layer cannot be joined, save that a handle's way
 * overrides what was requested.
 */
#ifndef TP_GRAPH_COLOCATE_H
#define TP_GRAPH_COLOCATE_H

#include "graph/candidates.h"

enum tp_layer { TP_LAYER_ASSIGNED, TP_LAYER_RESOURCE, TP_LAYER_REQUESTED, TP_LAYERS };

/* Why two groups become one. */
enum tp_join {
    TP_JOIN_WITH,   /* somebody wants it so; soft placement may go without */
    TP_JOIN_HANDLE, /* a handle goes from one to the other; requests give way */
};

struct tp_group {
    uint32_t parent;          /* itself at the root, which is the group's first graph node */
    uint32_t row;             /* of a root: the types that can run all of it */
    uint32_t wish[TP_LAYERS]; /* of a root: TP_NO_WISH where the layer is silent */
    uint32_t by[TP_LAYERS];   /* the graph node that said so first */
    uint32_t device;          /* of a root: TP_NO_DEVICE until it is decided */
    struct tp_reason reason;  /* for it */
    uint32_t decider;         /* the graph node whose reason it is */
};

struct tp_groups {
    struct tp_candidates *candidates;
    struct tp_group *list; /* one for each graph node */
    uint32_t n;
};

/* What keeps two groups apart: contradicting wishes of a layer, or no type that can run both.
 */
struct tp_conflict {
    bool found;
    bool types;          /* no common type; else */
    enum tp_layer layer; /* the layer whose wishes differ, */
    uint32_t a, b;       /* as these two graph nodes said */
};

/* n groups of one graph node each, with row 0 and no wishes; the list lies in the arena. */
troupe_status tp_groups_init(struct tp_groups *groups, struct tp_candidates *candidates,
                             struct tp_arena *arena, uint32_t n,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* The first graph node of the group of `node`. */
uint32_t tp_groups_root(struct tp_groups *groups, uint32_t node);
/* Make one group of those of a and b, or say in *conflict why not: both stay as they are then.
 */
troupe_status tp_groups_join(struct tp_groups *groups, uint32_t a, uint32_t b,
                             enum tp_join join, struct tp_conflict *conflict,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* What the group is told when all layers are heard: the strongest first, the weaker ones where
 * they leave it as it is. *by (may be NULL) gets the graph node of the strongest that speaks.
 */
troupe_status tp_groups_wish(const struct tp_groups *groups, uint32_t root, uint32_t *out,
                             uint32_t *by, troupe_error *err) TROUPE_MUST_CHECK;

#endif
