/* SPDX-License-Identifier: MIT
 *
 * graph/candidates.c - device names by number, and the choice among devices, remembered.
 *
 * A function has few different wishes and rows, whatever its size: each pair of them looks at
 * all devices once.
 */
#include "graph/candidates.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

troupe_status tp_candidates_init(struct tp_candidates *candidates,
                                 const struct tp_place_env *env, struct tp_arena *arena,
                                 troupe_error *err)
{
    uint32_t none;
    *candidates = (struct tp_candidates){.env = env};
    tp_intern_init(&candidates->wishes, arena, sizeof(struct tp_name));
    tp_intern_init(&candidates->pairs, arena, 2 * sizeof(uint32_t));
    TP_TRY(tp_support_init(&candidates->support, env, arena, err));
    TP_TRY(tp_candidates_wish(candidates, &tp_name_none, &none, err));
    tp_assert(none == TP_NO_WISH);
    return TROUPE_OK;
}

void tp_candidates_fini(struct tp_candidates *candidates)
{
    tp_support_fini(&candidates->support);
    tp_intern_fini(&candidates->wishes);
    tp_intern_fini(&candidates->pairs);
    tp_free(candidates->choices);
    *candidates = (struct tp_candidates){0};
}

static void copy_lower(char *out, const char *text)
{
    for (size_t i = 0; i + 1 < TP_NAME_JOB && text[i]; i++)
        out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
}

troupe_status tp_candidates_wish(struct tp_candidates *candidates, const struct tp_name *name,
                                 uint32_t *out, troupe_error *err)
{
    struct tp_name key; /* equal names must have equal bytes */
    memset(&key, 0, sizeof(key));
    memccpy(key.job, name->job, 0, sizeof(key.job));
    copy_lower(key.type, name->type);
    key.replica = name->replica;
    key.task = name->task;
    key.id = name->id;
    return tp_intern_add(&candidates->wishes, &key, out, err);
}

const struct tp_name *tp_candidates_name(const struct tp_candidates *candidates, uint32_t wish)
{
    return tp_intern_key(&candidates->wishes, wish);
}

bool tp_candidates_allow(const struct tp_candidates *candidates, uint32_t wish, uint32_t row,
                         uint32_t device)
{
    const struct tp_support *support = &candidates->support;
    const struct tp_name *name = tp_candidates_name(candidates, wish);
    const uint32_t type = support->type_of[device];
    if (tp_support_row(support, row)[type] < 0) return false;
    if (support->priority[type] < 0 && !name->type[0] &&
        device != candidates->env->default_device)
        return false;
    return tp_name_fits(name, &candidates->env->devices->list[device].name);
}

static bool is_near(const struct tp_place_env *env, uint32_t device)
{
    const struct tp_device_entry *list = env->devices->list;
    return env->default_device != TP_NO_DEVICE &&
           tp_name_same_task(&list[env->default_device].name, &list[device].name);
}

/* Device a is better than b, which stands before it. */
static bool is_better(const struct tp_candidates *c, const int *row, uint32_t a, uint32_t b)
{
    const uint32_t *type_of = c->support.type_of;
    if (row[type_of[a]] != row[type_of[b]]) return row[type_of[a]] > row[type_of[b]];
    if (b == c->env->default_device) return false;
    if (a == c->env->default_device) return true;
    if (type_of[a] != type_of[b]) return type_of[a] < type_of[b];
    return is_near(c->env, a) && !is_near(c->env, b);
}

static struct tp_choice choose(const struct tp_candidates *c, uint32_t wish, uint32_t row)
{
    struct tp_choice choice = {.device = TP_NO_DEVICE};
    const int *priority = tp_support_row(&c->support, row);
    for (uint32_t d = 0; d < c->env->devices->n; d++) {
        if (!tp_candidates_allow(c, wish, row, d)) continue;
        if (choice.devices++ == 0 || is_better(c, priority, d, choice.device))
            choice.device = d;
    }
    return choice;
}

static uint32_t count_types(const struct tp_candidates *c, uint32_t wish, uint32_t row)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < c->support.n_types; t++)
        for (uint32_t d = 0; d < c->env->devices->n; d++)
            if (c->support.type_of[d] == t && tp_candidates_allow(c, wish, row, d)) {
                n++;
                break;
            }
    return n;
}

troupe_status tp_candidates_best(struct tp_candidates *candidates, uint32_t wish, uint32_t row,
                                 struct tp_choice *out, troupe_error *err)
{
    const uint32_t known = candidates->pairs.n, pair[2] = {wish, row};
    uint32_t number;
    TP_TRY(tp_intern_add(&candidates->pairs, pair, &number, err));
    if (number == known) {
        TP_TRY(tp_grow(&candidates->choices, known, &candidates->choice_capacity,
                       sizeof(*candidates->choices), err));
        candidates->choices[known] = choose(candidates, wish, row);
        candidates->choices[known].types = count_types(candidates, wish, row);
    }
    *out = candidates->choices[number];
    return TROUPE_OK;
}

troupe_status tp_candidates_relax(struct tp_candidates *candidates, uint32_t wish,
                                  uint32_t *out, troupe_error *err)
{
    struct tp_name name = *tp_candidates_name(candidates, wish);
    if (name.id == TP_UNSET) memset(name.type, 0, sizeof(name.type));
    name.id = TP_UNSET;
    return tp_candidates_wish(candidates, &name, out, err);
}
