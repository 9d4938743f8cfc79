/* SPDX-License-Identifier: MIT
 *
 * graph/placer_explain.c - why a graph node is where it is: in a sentence, and as a chain of
 * rules.
 *
 * Nothing is kept for this while placing: a reason and a group say enough to tell it all again.
 */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "graph/placing.h"

static const char *name_of(const struct tp_function *function, uint32_t node)
{
    return node < function->n_nodes ? function->nodes[node].name : "";
}

static void add_rule(const struct tp_place_env *env, uint32_t rule, struct tp_text *out)
{
    const struct tp_rule *r = &env->rules->list[rule];
    const bool nothing = tp_name_empty(&r->device);
    tp_text_add(out, "rule %u of %s: '%s' -> %s", rule + 1,
                env->rules->source ? env->rules->source : "rules", r->pattern,
                nothing ? "/" : tp_phrase_name(&r->device).text);
}

/* How many shares the work was cut into. */
static uint32_t count_pieces(const struct tp_place_env *env, uint32_t device)
{
    struct tp_name type = tp_name_none;
    uint32_t n = 0;
    memcpy(type.type, env->devices->list[device].name.type, sizeof(type.type));
    for (uint32_t d = 0; d < env->devices->n; d++)
        n += tp_name_fits(&type, &env->devices->list[d].name);
    return n;
}

static void add_followed(const struct tp_function *f, const struct tp_reason *reason,
                         struct tp_text *out)
{
    const bool node = reason->detail != TP_NO_NODE;
    const char *name = name_of(f, reason->detail);
    if (reason->why == TP_WHY_METADATA)
        tp_text_add(out, "it reads only the shape of what %s%s%s there",
                    node ? "'" : "an argument has", name, node ? "' makes" : "");
    else if (reason->why == TP_WHY_IDENTITY)
        tp_text_add(out, "it copies what %s%s%s there for one that was asked for there",
                    node ? "'" : "an argument has", name, node ? "' makes" : "");
    else
        tp_text_add(out, "it reads nothing, and all who read it are there: %s%s%s",
                    node ? "'" : "results", name, node ? "' for one" : "");
}

/* What is possible decided, as nobody asked or the wish left it open. */
static void add_only(const struct tp_function *f, const struct tp_place_env *env, uint32_t node,
                     struct tp_text *out)
{
    uint32_t rule;
    const char *op = f->nodes[node].op->name;
    if (tp_name_empty(tp_placing_asked(f, env, node, &rule)))
        tp_text_add(out, "the only device type with a kernel for %s", op);
    else
        tp_text_add(out, "the only device with a kernel for %s that fits %s", op,
                    tp_phrase_asked(f, env, node).text);
}

/* A constant sentence, or NULL. */
static const char *plain_reason(enum tp_why why)
{
    if (why == TP_WHY_ASSIGNED) return "what it holds was put there";
    if (why == TP_WHY_RESOURCE) return "a handle that it uses lives there";
    return why == TP_WHY_DEFAULT ? "the default device of the call" : NULL;
}

static void add_reason(const struct tp_function *f, const struct tp_place_env *env,
                       const struct tp_placement *placement, uint32_t node, struct tp_text *out)
{
    const struct tp_reason *reason = &placement->reason[node];
    uint32_t rule;
    const struct tp_name *asked = tp_placing_asked(f, env, node, &rule);
    if (plain_reason(reason->why))
        tp_text_add(out, "%s", plain_reason(reason->why));
    else if (reason->why == TP_WHY_RULE)
        add_rule(env, reason->detail, out);
    else if (reason->why == TP_WHY_ANNOTATION)
        tp_text_add(out, "its annotation %s", tp_phrase_name(asked).text);
    else if (reason->why == TP_WHY_WITH)
        tp_text_add(out, "placed with '%s'", name_of(f, reason->detail));
    else if (reason->why == TP_WHY_CUT)
        tp_text_add(out, "share %u of %u of the work, in order", reason->detail + 1,
                    count_pieces(env, placement->device[node]));
    else if (reason->why == TP_WHY_PRIORITY)
        tp_text_add(out, "the best device with a kernel for %s", f->nodes[node].op->name);
    else if (reason->why == TP_WHY_ONLY)
        add_only(f, env, node, out);
    else
        add_followed(f, reason, out);
    if (reason->relaxed) tp_text_add(out, ", relaxed");
}

troupe_status tp_reason_text(const struct tp_function *function, const struct tp_place_env *env,
                             const struct tp_placement *placement, uint32_t node, char **out,
                             troupe_error *err)
{
    struct tp_text text = {0};
    add_reason(function, env, placement, node, &text);
    return tp_text_take(&text, out, err);
}

static void add_asked(const struct tp_function *f, const struct tp_place_env *env,
                      uint32_t node, struct tp_text *out)
{
    uint32_t rule;
    const struct tp_name *asked = tp_placing_asked(f, env, node, &rule);
    const struct tp_name *own = &f->nodes[node].device;
    tp_text_add(out, "asked for: %s\n",
                tp_name_empty(asked) ? "nothing" : tp_phrase_name(asked).text);
    if (rule == TP_NO_RULE) return;
    tp_text_add(out, "by: ");
    add_rule(env, rule, out);
    if (!tp_name_empty(own))
        tp_text_add(out, ", before its annotation %s", tp_phrase_name(own).text);
    tp_text_add(out, "\n");
}

/* The other members of its group, each with what it asked for. */
static void add_group(const struct tp_function *f, const struct tp_place_env *env,
                      const struct tp_placement *placement, uint32_t node, struct tp_text *out)
{
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        uint32_t rule;
        if (i == node || placement->group[i] != placement->group[node]) continue;
        tp_text_add(out, "placed with: '%s' (%s)", f->nodes[i].name, f->nodes[i].op->name);
        if (!tp_name_empty(tp_placing_asked(f, env, i, &rule)))
            tp_text_add(out, ", which asked for %s", tp_phrase_asked(f, env, i).text);
        tp_text_add(out, "\n");
    }
}

static bool runs_group(const struct tp_function *f, const struct tp_place_env *env,
                       const struct tp_placement *placement, uint32_t group, uint32_t device)
{
    for (uint32_t i = group; i < f->n_nodes; i++)
        if (placement->group[i] == group &&
            env->kernel(env->arg, f->nodes[i].op, env->devices->list[device].name.type) < 0)
            return false;
    return true;
}

static void add_possible(const struct tp_function *f, const struct tp_place_env *env,
                         const struct tp_placement *placement, uint32_t node,
                         struct tp_text *out)
{
    bool any = false;
    tp_text_add(out, "has kernels on:");
    for (uint32_t d = 0; d < env->devices->n; d++) {
        if (!runs_group(f, env, placement, placement->group[node], d)) continue;
        tp_text_add(out, "%s %s", any ? "," : "", tp_phrase_device(env->devices, d).text);
        any = true;
    }
    tp_text_add(out, any ? "\n" : " none that is known here\n");
}

/* Those it was to be placed with, by its own list or theirs, and is not. */
static void add_apart(const struct tp_function *f, const struct tp_placement *placement,
                      uint32_t node, struct tp_text *out)
{
    for (uint32_t i = 0; i < f->n_nodes; i++)
        for (uint32_t k = 0; k < f->nodes[i].n_with; k++) {
            const uint32_t with = f->nodes[i].with[k];
            if ((i != node && with != node) || placement->group[i] == placement->group[with])
                continue;
            tp_text_add(out, "relaxed: not placed with '%s'\n",
                        name_of(f, i == node ? with : i));
        }
}

troupe_status tp_place_explain(const struct tp_function *function,
                               const struct tp_place_env *env,
                               const struct tp_placement *placement, uint32_t node, char **out,
                               troupe_error *err)
{
    struct tp_text text = {0};
    if (node >= placement->n_nodes)
        return tp_fail(err, TROUPE_INVALID, "graph node %u of %u", node, placement->n_nodes);
    const struct tp_phrase device = tp_phrase_device(env->devices, placement->device[node]);
    tp_text_add(&text, "graph node '%s' (%s) is on %s\n", function->nodes[node].name,
                function->nodes[node].op->name, device.text);
    add_asked(function, env, node, &text);
    add_group(function, env, placement, node, &text);
    add_possible(function, env, placement, node, &text);
    add_apart(function, placement, node, &text);
    tp_text_add(&text, "decided by: ");
    add_reason(function, env, placement, node, &text);
    tp_text_add(&text, "\n");
    return tp_text_take(&text, out, err);
}
