/* SPDX-License-Identifier: MIT
 *
 * graph/placing.h - one placement in the making: what graph/placer*.c and graph/rules.c share.
 */
#ifndef TP_GRAPH_PLACING_H
#define TP_GRAPH_PLACING_H

#include "base/alloc.h"
#include "graph/colocate.h"
#include "graph/function.h"
#include "graph/placer.h"

#define TP_NO_RULE UINT32_MAX

struct tp_placing {
    const struct tp_function *function;
    const struct tp_place_env *env;
    struct tp_arena *arena; /* all that is needed until the placement is there */
    struct tp_candidates candidates;
    struct tp_groups groups;
    uint32_t *wish; /* of each graph node: what it asked for, or TP_NO_WISH */
    bool annotated; /* a rule matched, or a graph node asked */
    struct tp_placement *placement;
    size_t relaxation_capacity;
};

/* The first rule that matches the graph node, which has an op; TP_NO_RULE. */
uint32_t tp_rule_find(const struct tp_rules *rules, const struct tp_node *node);
/* What a graph node asks for: a rule's device, else its own wish. *rule: TP_NO_RULE or the
 * rule. */
const struct tp_name *tp_placing_asked(const struct tp_function *function,
                                       const struct tp_place_env *env, uint32_t node,
                                       uint32_t *rule);

/* Decide for the whole group of `root`. */
static inline void tp_placing_decide(struct tp_placing *placing, uint32_t root, uint32_t device,
                                     uint32_t decider, enum tp_why why, uint32_t detail)
{
    struct tp_group *group = &placing->groups.list[root];
    group->device = device;
    group->decider = decider;
    group->reason = (struct tp_reason){.why = why, .detail = detail};
}

/* --- placer_cut.c --- */
/* Share the undecided groups over the devices of the best type; nothing when it has only one.
 */
troupe_status tp_placing_cut(struct tp_placing *placing, troupe_error *err) TROUPE_MUST_CHECK;

/* --- placer_follow.c --- */
/* Decide for the groups that nothing was said of: by what they read and by who reads them. */
troupe_status tp_placing_follow(struct tp_placing *placing,
                                troupe_error *err) TROUPE_MUST_CHECK;

/* --- placer_fail.c: the sentences --- */
struct tp_phrase {
    char text[TP_NAME_TEXT];
};
/* "cpu:1" where that says it all, else the canonical text. */
struct tp_phrase tp_phrase_name(const struct tp_name *name);
/* A device by its short name when all devices are of one task. */
struct tp_phrase tp_phrase_device(const struct tp_devices *devices, uint32_t device);
/* "cpu:1 (its annotation)", "cpu:1 (rule 3 of two.place: 'conv*')" */
struct tp_phrase tp_phrase_asked(const struct tp_function *function,
                                 const struct tp_place_env *env, uint32_t node);

/* The graph node's own wish has no candidate. */
troupe_status tp_placing_fail_wish(struct tp_placing *placing, uint32_t node,
                                   troupe_error *err);
/* No device that may be chosen has a kernel for the graph node's op. */
troupe_status tp_placing_fail_kernel(struct tp_placing *placing, uint32_t node,
                                     troupe_error *err);
/* `node` was to be placed with `other`. */
troupe_status tp_placing_fail_join(struct tp_placing *placing, uint32_t node, uint32_t other,
                                   const struct tp_conflict *conflict, troupe_error *err);
/* Each graph node of the group could be placed, but not all on one device. */
troupe_status tp_placing_fail_group(struct tp_placing *placing, uint32_t root,
                                    troupe_error *err);
/* Note what soft placement does not keep. */
troupe_status tp_placing_relax_join(struct tp_placing *placing, uint32_t node, uint32_t other,
                                    const struct tp_conflict *conflict,
                                    troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_placing_relax_wish(struct tp_placing *placing, uint32_t node,
                                    troupe_error *err) TROUPE_MUST_CHECK;

#endif
