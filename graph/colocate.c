/* SPDX-License-Identifier: MIT
 *
 * graph/colocate.c - union-find by lowest graph node, with path halving; wishes merged by
 * layer.
 *
 * The root is always the lowest graph node, so that what a group is called, and which of its
 * members decides, do not depend on the order of joins.
 */
#include "graph/colocate.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"

troupe_status tp_groups_init(struct tp_groups *groups, struct tp_candidates *candidates,
                             struct tp_arena *arena, uint32_t n, troupe_error *err)
{
    groups->candidates = candidates;
    groups->n = n;
    groups->list = tp_arena_array(arena, n, sizeof(*groups->list));
    if (!groups->list) return tp_fail_memory(err, n * sizeof(*groups->list));
    for (uint32_t i = 0; i < n; i++) {
        groups->list[i].parent = i;
        groups->list[i].device = TP_NO_DEVICE;
    }
    return TROUPE_OK;
}

uint32_t tp_groups_root(struct tp_groups *groups, uint32_t node)
{
    struct tp_group *list = groups->list;
    while (list[node].parent != node) {
        list[node].parent = list[list[node].parent].parent;
        node = list[node].parent;
    }
    return node;
}

/* *out gets the union of two wishes; *differ whether there is none. */
static troupe_status merge(struct tp_candidates *candidates, uint32_t a, uint32_t b,
                           uint32_t *out, bool *differ, troupe_error *err)
{
    *out = a == TP_NO_WISH ? b : a;
    *differ = false;
    if (a == b || a == TP_NO_WISH || b == TP_NO_WISH) return TROUPE_OK; /* one says it all */
    struct tp_name name = *tp_candidates_name(candidates, a);
    *differ = tp_name_merge(&name, tp_candidates_name(candidates, b), false, NULL) < 0;
    return *differ ? TROUPE_OK : tp_candidates_wish(candidates, &name, out, err);
}

/* Into `whole` the wishes of both groups, layer by layer. */
static troupe_status join_wishes(struct tp_groups *groups, const struct tp_group *a,
                                 const struct tp_group *b, enum tp_join join,
                                 struct tp_group *whole, struct tp_conflict *conflict,
                                 troupe_error *err)
{
    for (int layer = 0; layer < TP_LAYERS; layer++) {
        bool differ;
        TP_TRY(merge(groups->candidates, a->wish[layer], b->wish[layer], &whole->wish[layer],
                     &differ, err));
        whole->by[layer] = a->wish[layer] != TP_NO_WISH ? a->by[layer] : b->by[layer];
        if (!differ || (join == TP_JOIN_HANDLE && layer == TP_LAYER_REQUESTED)) continue;
        *conflict = (struct tp_conflict){
            .found = true, .layer = (enum tp_layer)layer, .a = a->by[layer], .b = b->by[layer]};
        return TROUPE_OK;
    }
    return TROUPE_OK;
}

troupe_status tp_groups_join(struct tp_groups *groups, uint32_t a, uint32_t b,
                             enum tp_join join, struct tp_conflict *conflict, troupe_error *err)
{
    struct tp_support *support = &groups->candidates->support;
    const uint32_t left = tp_groups_root(groups, a), right = tp_groups_root(groups, b);
    const uint32_t root = left < right ? left : right, other = left < right ? right : left;
    *conflict = (struct tp_conflict){0};
    if (left == right) return TROUPE_OK; /* they are one already */
    struct tp_group whole = groups->list[root];
    TP_TRY(tp_support_meet(support, groups->list[left].row, groups->list[right].row, &whole.row,
                           err));
    if (tp_support_none(support, whole.row))
        *conflict = (struct tp_conflict){.found = true, .types = true, .a = a, .b = b};
    else
        TP_TRY(join_wishes(groups, &groups->list[root], &groups->list[other], join, &whole,
                           conflict, err));
    if (conflict->found) return TROUPE_OK; /* they stay two */
    groups->list[root] = whole;
    groups->list[other].parent = root;
    return TROUPE_OK;
}

troupe_status tp_groups_wish(const struct tp_groups *groups, uint32_t root, uint32_t *out,
                             uint32_t *by, troupe_error *err)
{
    const struct tp_group *group = &groups->list[root];
    uint32_t wish = TP_NO_WISH, who = root;
    for (int layer = 0; layer < TP_LAYERS; layer++) {
        bool differ;
        if (group->wish[layer] == TP_NO_WISH) continue;
        if (wish == TP_NO_WISH) who = group->by[layer];
        TP_TRY(merge(groups->candidates, wish, group->wish[layer], &wish, &differ, err));
    }
    *out = wish;
    if (by) *by = who;
    return TROUPE_OK;
}
