/* SPDX-License-Identifier: MIT
 *
 * graph/placer.c - function + what may go where -> placement.
 *
 * In this order: what each graph node asks for and can run on; groups, by `with`; the groups
 * that ask for something; the others, by cutting (placer_cut.c) or by who reads what
 * (placer_follow.c). Everything goes in the order of the graph nodes, so the same input gives
 * the same placement, and the first failure in that order is the one that is reported. Linear
 * but for union-find.
 */
#include "graph/placer.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "graph/arena.h"
#include "graph/placing.h"

void tp_placement_destroy(struct tp_placement **placement)
{
    if (!placement || !*placement) return;
    struct tp_placement *p = *placement;
    for (size_t i = 0; i < p->n_relaxations; i++)
        tp_free(p->relaxations[i]);
    tp_free(p->relaxations);
    tp_free(p->device);
    tp_free(p->group);
    tp_free(p->reason);
    tp_free(p);
    *placement = NULL;
}

static troupe_status placement_new(uint32_t n, struct tp_placement **out, troupe_error *err)
{
    TP_OWNED(tp_placement_destroy) struct tp_placement *p = tp_alloc(sizeof(*p));
    if (!p) return tp_fail_memory(err, sizeof(*p));
    p->n_nodes = n;
    p->device = tp_alloc_array(n, sizeof(*p->device));
    p->group = tp_alloc_array(n, sizeof(*p->group));
    p->reason = tp_alloc_array(n, sizeof(*p->reason));
    if (!p->device || !p->group || !p->reason)
        return tp_fail_memory(err, n * sizeof(*p->reason));
    *out = p;
    p = NULL;
    return TROUPE_OK;
}

static troupe_status check_devices(const uint32_t *devices, uint32_t n, const char *what,
                                   uint32_t there, troupe_error *err)
{
    for (uint32_t i = 0; devices && i < n; i++)
        if (devices[i] != TP_NO_DEVICE && devices[i] >= there)
            return tp_fail(err, TROUPE_INVALID, "%s %u is on device %u of %u", what, i,
                           devices[i], there);
    return TROUPE_OK;
}

static troupe_status check_env(const struct tp_function *function,
                               const struct tp_place_env *env, troupe_error *err)
{
    const uint32_t n = env->devices->n;
    if (n == 0) return tp_fail(err, TROUPE_INVALID, "there are no devices to place on");
    if (env->default_device != TP_NO_DEVICE && env->default_device >= n)
        return tp_fail(err, TROUPE_INVALID, "the default device is %u of %u",
                       env->default_device, n);
    TP_TRY(check_devices(env->arg_devices, function->n_args, "argument", n, err));
    TP_TRY(check_devices(env->result_devices, function->n_results, "result", n, err));
    for (uint32_t i = 0; i < function->n_nodes; i++)
        if (!function->nodes[i].op)
            return tp_fail(err, TROUPE_INVALID,
                           "graph node '%.80s' calls '%.80s': inline it first",
                           function->nodes[i].name, function->nodes[i].callee);
    return TROUPE_OK;
}

const struct tp_name *tp_placing_asked(const struct tp_function *function,
                                       const struct tp_place_env *env, uint32_t node,
                                       uint32_t *rule)
{
    *rule = tp_rule_find(env->rules, &function->nodes[node]);
    return *rule == TP_NO_RULE ? &function->nodes[node].device
                               : &env->rules->list[*rule].device;
}

/* A graph node that asks for another process than the default device's: what that has kernels
 * for is not known here. */
static bool asks_elsewhere(const struct tp_placing *p, uint32_t node)
{
    const uint32_t home = p->env->default_device;
    if (p->wish[node] == TP_NO_WISH || home == TP_NO_DEVICE) return false;
    struct tp_name task = p->env->devices->list[home].name;
    task.type[0] = 0;
    task.id = TP_UNSET;
    return !tp_name_compatible(tp_candidates_name(&p->candidates, p->wish[node]), &task);
}

static troupe_status find_row(struct tp_placing *p, uint32_t node, uint32_t *row,
                              troupe_error *err)
{
    struct tp_support *support = &p->candidates.support;
    struct tp_choice choice;
    TP_TRY(tp_support_of(support, p->function->nodes[node].op, row, err));
    if (tp_support_none(support, *row) && asks_elsewhere(p, node))
        return tp_support_all(support, row, err);
    if (tp_support_none(support, *row)) return tp_placing_fail_kernel(p, node, err);
    TP_TRY(tp_candidates_best(&p->candidates, p->wish[node], *row, &choice, err));
    if (choice.device != TP_NO_DEVICE) return TROUPE_OK; /* it could be placed alone */
    if (p->wish[node] == TP_NO_WISH) return tp_placing_fail_kernel(p, node, err);
    return p->env->soft ? TROUPE_OK : tp_placing_fail_wish(p, node, err);
}

static troupe_status read_node(struct tp_placing *p, uint32_t node, troupe_error *err)
{
    struct tp_group *group = &p->groups.list[node];
    uint32_t rule;
    const struct tp_name *asked = tp_placing_asked(p->function, p->env, node, &rule);
    if (rule != TP_NO_RULE || !tp_name_empty(asked)) {
        p->annotated = true;
        TP_TRY(tp_candidates_wish(&p->candidates, asked, &p->wish[node], err));
    }
    TP_TRY(find_row(p, node, &group->row, err));
    group->wish[TP_LAYER_REQUESTED] = p->wish[node];
    group->by[TP_LAYER_REQUESTED] = node;
    return TROUPE_OK;
}

static troupe_status join_with(struct tp_placing *p, uint32_t node, uint32_t other,
                               troupe_error *err)
{
    struct tp_conflict conflict;
    TP_TRY(tp_groups_join(&p->groups, node, other, TP_JOIN_WITH, &conflict, err));
    if (!conflict.found) return TROUPE_OK; /* they are one group now */
    if (!p->env->soft) return tp_placing_fail_join(p, node, other, &conflict, err);
    return tp_placing_relax_join(p, node, other, &conflict, err);
}

static troupe_status form_groups(struct tp_placing *p, troupe_error *err)
{
    const struct tp_function *f = p->function;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        TP_TRY(tp_pace(p->env->pace, err));
        TP_TRY(read_node(p, i, err));
    }
    for (uint32_t i = 0; i < f->n_nodes; i++)
        for (uint32_t k = 0; k < f->nodes[i].n_with; k++)
            TP_TRY(join_with(p, i, f->nodes[i].with[k], err));
    return TROUPE_OK;
}

/* The best device for the wish of a group, made weaker step by step where that is allowed. */
static troupe_status best_for(struct tp_placing *p, uint32_t root, uint32_t wish,
                              struct tp_choice *out, troupe_error *err)
{
    const uint32_t row = p->groups.list[root].row;
    TP_TRY(tp_candidates_best(&p->candidates, wish, row, out, err));
    while (out->device == TP_NO_DEVICE && p->env->soft) {
        uint32_t weaker;
        TP_TRY(tp_candidates_relax(&p->candidates, wish, &weaker, err));
        if (weaker == wish) break;
        wish = weaker;
        TP_TRY(tp_candidates_best(&p->candidates, wish, row, out, err));
    }
    return TROUPE_OK;
}

static enum tp_why why_of_layer(const struct tp_group *group, const struct tp_name *name,
                                bool ruled, const struct tp_choice *choice)
{
    if (group->wish[TP_LAYER_ASSIGNED] != TP_NO_WISH) return TP_WHY_ASSIGNED;
    if (group->wish[TP_LAYER_RESOURCE] != TP_NO_WISH) return TP_WHY_RESOURCE;
    if (choice->devices == 1 && (!name->type[0] || name->id == TP_UNSET)) return TP_WHY_ONLY;
    return ruled ? TP_WHY_RULE : TP_WHY_ANNOTATION;
}

static troupe_status settle(struct tp_placing *p, uint32_t root, troupe_error *err)
{
    uint32_t wish, by, rule;
    struct tp_choice choice;
    TP_TRY(tp_groups_wish(&p->groups, root, &wish, &by, err));
    if (wish == TP_NO_WISH) return TROUPE_OK; /* nobody asked */
    TP_TRY(best_for(p, root, wish, &choice, err));
    if (choice.device == TP_NO_DEVICE) return tp_placing_fail_group(p, root, err);
    tp_placing_asked(p->function, p->env, by, &rule);
    const enum tp_why why =
        why_of_layer(&p->groups.list[root], tp_candidates_name(&p->candidates, wish),
                     rule != TP_NO_RULE, &choice);
    tp_placing_decide(p, root, choice.device, by, why, why == TP_WHY_RULE ? rule : 0);
    return TROUPE_OK;
}

static bool keeps_wish(const struct tp_placing *p, uint32_t node, uint32_t device)
{
    return tp_name_fits(tp_candidates_name(&p->candidates, p->wish[node]),
                        &p->env->devices->list[device].name);
}

/* The reason of a group is that of who decided; a member that asked for as much has its own. */
static struct tp_reason reason_of(const struct tp_placing *p, uint32_t node,
                                  const struct tp_group *group)
{
    uint32_t rule;
    if (node == group->decider) return group->reason;
    if (p->wish[node] == TP_NO_WISH)
        return (struct tp_reason){.why = TP_WHY_WITH, .detail = group->decider};
    tp_placing_asked(p->function, p->env, node, &rule);
    if (rule == TP_NO_RULE) return (struct tp_reason){.why = TP_WHY_ANNOTATION};
    return (struct tp_reason){.why = TP_WHY_RULE, .detail = rule};
}

static troupe_status write_node(struct tp_placing *p, uint32_t node, troupe_error *err)
{
    struct tp_placement *out = p->placement;
    const uint32_t root = tp_groups_root(&p->groups, node);
    const struct tp_group *group = &p->groups.list[root];
    tp_assert(group->device < p->env->devices->n);
    out->device[node] = group->device;
    out->group[node] = root;
    out->reason[node] = reason_of(p, node, group);
    if (p->wish[node] == TP_NO_WISH || keeps_wish(p, node, group->device)) return TROUPE_OK;
    out->reason[node].relaxed = true;
    return tp_placing_relax_wish(p, node, err);
}

static troupe_status place(struct tp_placing *p, troupe_error *err)
{
    const uint32_t n = p->function->n_nodes;
    p->wish = tp_arena_array(p->arena, n, sizeof(*p->wish));
    if (!p->wish) return tp_fail_memory(err, n * sizeof(*p->wish));
    TP_TRY(tp_candidates_init(&p->candidates, p->env, p->arena, err));
    TP_TRY(tp_groups_init(&p->groups, &p->candidates, p->arena, n, err));
    TP_TRY(form_groups(p, err));
    for (uint32_t i = 0; i < n && p->annotated; i++) {
        TP_TRY(tp_pace(p->env->pace, err));
        if (p->groups.list[i].parent == i) TP_TRY(settle(p, i, err));
    }
    if (p->env->cut && !p->annotated) TP_TRY(tp_placing_cut(p, err));
    TP_TRY(tp_placing_follow(p, err));
    for (uint32_t i = 0; i < n; i++) {
        TP_TRY(tp_pace(p->env->pace, err));
        TP_TRY(write_node(p, i, err));
    }
    return TROUPE_OK;
}

troupe_status tp_place(const struct tp_function *function, const struct tp_place_env *env,
                       struct tp_placement **out, troupe_error *err)
{
    TP_OWNED(tp_arena_destroy) struct tp_arena *arena = NULL;
    TP_OWNED(tp_placement_destroy) struct tp_placement *placement = NULL;
    TP_TRY(check_env(function, env, err));
    TP_TRY(tp_arena_new(&arena, err));
    TP_TRY(placement_new(function->n_nodes, &placement, err));
    struct tp_placing p = {
        .function = function, .env = env, .arena = arena, .placement = placement};
    const troupe_status status = place(&p, err);
    tp_candidates_fini(&p.candidates);
    TP_TRY(status);
    *out = placement;
    placement = NULL;
    return TROUPE_OK;
}
