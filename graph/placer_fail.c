/* SPDX-License-Identifier: MIT
 *
 * graph/placer_fail.c - the sentences of placement: what was asked for, and what is in its way.
 *
 * A failure names the graph node, its op, what it asked for and by which rule, and what there
 * is, the last because a long list is cut. What soft placement does not keep is the same in the
 * past.
 */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "graph/placing.h"

struct names {
    char text[96]; /* a list, cut */
};

struct tp_phrase tp_phrase_name(const struct tp_name *name)
{
    struct tp_phrase out;
    const struct tp_name_text text = tp_name_text(name);
    const bool brief = name->id != TP_UNSET && strncmp(text.text, "/device:", 8) == 0;
    snprintf(out.text, sizeof(out.text), "%s",
             brief && name->type[0] ? text.text + 8 : text.text);
    return out;
}

struct tp_phrase tp_phrase_device(const struct tp_devices *devices, uint32_t device)
{
    struct tp_name name = devices->list[device].name;
    for (uint32_t d = 1; d < devices->n; d++)
        if (!tp_name_same_task(&devices->list[0].name, &devices->list[d].name))
            return tp_phrase_name(&name);
    name.job[0] = 0;
    name.replica = name.task = TP_UNSET;
    return tp_phrase_name(&name);
}

struct tp_phrase tp_phrase_asked(const struct tp_function *function,
                                 const struct tp_place_env *env, uint32_t node)
{
    struct tp_phrase out;
    uint32_t rule;
    const struct tp_phrase name = tp_phrase_name(tp_placing_asked(function, env, node, &rule));
    if (rule == TP_NO_RULE)
        snprintf(out.text, sizeof(out.text), "%.100s (its annotation)", name.text);
    else
        snprintf(out.text, sizeof(out.text), "%.60s (rule %u of %.30s: '%.30s')", name.text,
                 rule + 1, env->rules->source ? env->rules->source : "rules",
                 env->rules->list[rule].pattern);
    return out;
}

static struct names there(const struct tp_placing *p)
{
    struct names out = {""};
    tp_devices_show(p->env->devices, out.text, sizeof(out.text));
    return out;
}

static void add(struct names *list, const char *text)
{
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof(list->text) - used, "%s%s", used ? " " : "", text);
}

static bool is_listed(const struct tp_support *support, const char *type)
{
    struct tp_name pattern = tp_name_none;
    snprintf(pattern.type, sizeof(pattern.type), "%s", type);
    for (uint32_t d = 0; d < support->env->devices->n; d++)
        if (tp_name_fits(&pattern, &support->env->devices->list[d].name)) return true;
    return false;
}

/* "cpu gpu": the types that have a kernel for op, those that are not here among them. */
static struct names kernels(const struct tp_placing *p, const struct tp_op *op)
{
    const struct tp_support *support = &p->candidates.support;
    const struct tp_place_env *env = p->env;
    struct names out = {""};
    for (uint32_t t = 0; t < support->n_types; t++)
        if (env->kernel(env->arg, op, support->types[t]) >= 0) add(&out, support->types[t]);
    for (size_t k = 0; env->types && env->types[k]; k++)
        if (!is_listed(support, env->types[k]) && env->kernel(env->arg, op, env->types[k]) >= 0)
            add(&out, env->types[k]);
    if (!out.text[0]) add(&out, "none");
    return out;
}

static const struct tp_node *node_of(const struct tp_placing *p, uint32_t node)
{
    return &p->function->nodes[node];
}

static bool is_there(const struct tp_placing *p, const struct tp_name *name)
{
    for (uint32_t d = 0; d < p->env->devices->n; d++)
        if (tp_name_fits(name, &p->env->devices->list[d].name)) return true;
    return false;
}

/* A device that fits the name has a kernel for the graph node's op. */
static bool runs_at(const struct tp_placing *p, uint32_t node, const struct tp_name *name)
{
    const struct tp_place_env *env = p->env;
    for (uint32_t d = 0; d < env->devices->n; d++)
        if (tp_name_fits(name, &env->devices->list[d].name) &&
            env->kernel(env->arg, node_of(p, node)->op, env->devices->list[d].name.type) >= 0)
            return true;
    return false;
}

troupe_status tp_placing_fail_kernel(struct tp_placing *placing, uint32_t node,
                                     troupe_error *err)
{
    const struct tp_node *n = node_of(placing, node);
    const char *why = runs_at(placing, node, &tp_name_none)
                          ? "devices that have a kernel for it must be asked for"
                          : "no device here has a kernel for it";
    return tp_fail(err, TROUPE_UNSUPPORTED,
                   "graph node '%.50s' (%.30s): %s; kernels: %.40s; there are %s", n->name,
                   n->op->name, why, kernels(placing, n->op).text, there(placing).text);
}

troupe_status tp_placing_fail_wish(struct tp_placing *placing, uint32_t node, troupe_error *err)
{
    const struct tp_node *n = node_of(placing, node);
    const struct tp_name *name = tp_candidates_name(&placing->candidates, placing->wish[node]);
    const struct tp_phrase asked = tp_phrase_asked(placing->function, placing->env, node);
    if (!is_there(placing, name))
        return tp_fail(
            err, TROUPE_NOT_FOUND,
            "graph node '%.50s' (%.30s) asks for %s, which is not there; there are %s", n->name,
            n->op->name, asked.text, there(placing).text);
    return tp_fail(
        err, TROUPE_INVALID,
        "graph node '%.50s' (%.30s) asks for %s, which has no kernel for it; kernels: "
        "%.30s; there are %s",
        n->name, n->op->name, asked.text, kernels(placing, n->op).text, there(placing).text);
}

static const char *layer_verb(enum tp_layer layer)
{
    return layer == TP_LAYER_ASSIGNED   ? "is on"
           : layer == TP_LAYER_RESOURCE ? "holds"
                                        : "asks for";
}

/* What keeps `node` from `other`, as a clause. */
static void show_conflict(const struct tp_placing *p, const struct tp_conflict *c, char *text,
                          size_t size)
{
    const struct tp_node *a = node_of(p, c->a), *b = node_of(p, c->b);
    if (c->types)
        snprintf(text, size, "no device type has kernels for both: %.24s: %.24s, %.24s: %.24s",
                 a->op->name, kernels(p, a->op).text, b->op->name, kernels(p, b->op).text);
    else
        snprintf(text, size, "'%.24s' %s %.48s, '%.24s' %s %.48s", a->name,
                 layer_verb(c->layer), tp_phrase_asked(p->function, p->env, c->a).text, b->name,
                 layer_verb(c->layer), tp_phrase_asked(p->function, p->env, c->b).text);
}

troupe_status tp_placing_fail_join(struct tp_placing *placing, uint32_t node, uint32_t other,
                                   const struct tp_conflict *conflict, troupe_error *err)
{
    const struct tp_node *a = node_of(placing, node), *b = node_of(placing, other);
    char why[200];
    show_conflict(placing, conflict, why, sizeof(why));
    return tp_fail(err, TROUPE_INVALID,
                   "graph node '%.24s' (%.24s) cannot be placed with '%.24s' (%.24s): %s",
                   a->name, a->op->name, b->name, b->op->name, why);
}

/* The first member beside `by` that asked for something, or cannot run where the group was
 * asked to be; else the first one beside it, or `by` when it is alone. */
static uint32_t find_other(struct tp_placing *p, uint32_t root, uint32_t by,
                           const struct tp_name *wish)
{
    uint32_t other = by;
    for (uint32_t i = root; i < p->function->n_nodes; i++) {
        if (i == by || tp_groups_root(&p->groups, i) != root) continue;
        if (p->wish[i] != TP_NO_WISH || !runs_at(p, i, wish)) return i;
        if (other == by) other = i;
    }
    return other;
}

/* The graph node could not be placed alone, however weak its wish. */
static bool fails_alone(const struct tp_placing *p, uint32_t node)
{
    struct tp_name name = *tp_candidates_name(&p->candidates, p->wish[node]);
    name.type[0] = 0;
    name.id = TP_UNSET;
    return !runs_at(p, node, &name);
}

troupe_status tp_placing_fail_group(struct tp_placing *placing, uint32_t root,
                                    troupe_error *err)
{
    uint32_t wish, by;
    TP_TRY(tp_groups_wish(&placing->groups, root, &wish, &by, err));
    const struct tp_name *name = tp_candidates_name(&placing->candidates, wish);
    const uint32_t other = find_other(placing, root, by, name);
    if (other == by || fails_alone(placing, by)) return tp_placing_fail_wish(placing, by, err);
    const struct tp_node *a = node_of(placing, by), *b = node_of(placing, other);
    const struct tp_phrase asked = wish == placing->wish[by]
                                       ? tp_phrase_asked(placing->function, placing->env, by)
                                       : tp_phrase_name(name);
    return tp_fail(err, TROUPE_INVALID,
                   "graph nodes '%.24s' (%.16s: %.24s) and '%.24s' (%.16s: %.24s) are placed "
                   "together, and %.50s was asked for: no device fits; there are %s",
                   a->name, a->op->name, kernels(placing, a->op).text, b->name, b->op->name,
                   kernels(placing, b->op).text, asked.text, there(placing).text);
}

/* Room for one more sentence; the sentence itself is moved in. */
static troupe_status note(struct tp_placing *p, struct tp_text *text, troupe_error *err)
{
    struct tp_placement *out = p->placement;
    char *sentence = NULL;
    TP_TRY(tp_text_take(text, &sentence, err));
    const troupe_status status = tp_grow(&out->relaxations, out->n_relaxations,
                                         &p->relaxation_capacity, sizeof(sentence), err);
    if (status < 0)
        tp_free(sentence);
    else
        out->relaxations[out->n_relaxations++] = sentence;
    return status;
}

troupe_status tp_placing_relax_join(struct tp_placing *placing, uint32_t node, uint32_t other,
                                    const struct tp_conflict *conflict, troupe_error *err)
{
    const struct tp_node *a = node_of(placing, node), *b = node_of(placing, other);
    struct tp_text text = {0};
    char why[200];
    show_conflict(placing, conflict, why, sizeof(why));
    tp_text_add(&text, "graph node '%s' (%s) is not placed with '%s' (%s): %s", a->name,
                a->op->name, b->name, b->op->name, why);
    return note(placing, &text, err);
}

/* Why the wish of a graph node was not kept. */
static const char *why_not(const struct tp_placing *p, uint32_t node)
{
    const struct tp_name *name = tp_candidates_name(&p->candidates, p->wish[node]);
    if (!is_there(p, name)) return "no such device is there";
    if (!runs_at(p, node, name)) return "there is no kernel for it there";
    return "what it is placed with cannot be there";
}

troupe_status tp_placing_relax_wish(struct tp_placing *placing, uint32_t node,
                                    troupe_error *err)
{
    const struct tp_node *n = node_of(placing, node);
    const struct tp_phrase asked = tp_phrase_asked(placing->function, placing->env, node);
    const uint32_t device = placing->placement->device[node];
    struct tp_text text = {0};
    tp_text_add(&text, "graph node '%s' (%s) asked for %s and is on %s: %s", n->name,
                n->op->name, asked.text, tp_phrase_device(placing->env->devices, device).text,
                why_not(placing, node));
    return note(placing, &text, err);
}
