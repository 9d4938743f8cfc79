/* SPDX-License-Identifier: MIT
 *
 * graph/support.c - device types in order, rows of kernels' priorities, and their intersection.
 */
#include "graph/support.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"

static bool same_type(const struct tp_device_entry *a, const struct tp_device_entry *b)
{
    struct tp_name type = tp_name_none;
    memcpy(type.type, a->name.type, sizeof(type.type));
    return tp_name_fits(&type, &b->name);
}

/* The types in the order of the devices: names[k] is that of device first[k]. */
static void find_types(struct tp_support *s, uint32_t *first)
{
    const struct tp_devices *devices = s->env->devices;
    for (uint32_t d = 0; d < devices->n; d++) {
        uint32_t k = 0;
        while (k < s->n_types && !same_type(&devices->list[first[k]], &devices->list[d]))
            k++;
        if (k == s->n_types) {
            first[s->n_types++] = d;
            s->priority[k] = devices->list[d].priority;
        }
        if (devices->list[d].priority > s->priority[k])
            s->priority[k] = devices->list[d].priority;
        s->type_of[d] = k;
    }
}

/* rank[k]: how many types come before type k. */
static void rank_types(const struct tp_support *s, uint32_t *rank)
{
    for (uint32_t k = 0; k < s->n_types; k++)
        for (uint32_t other = 0; other < s->n_types; other++)
            rank[k] += s->priority[other] > s->priority[k] ||
                       (other < k && s->priority[other] == s->priority[k]);
}

static void sort_types(struct tp_support *s, const uint32_t *first, const uint32_t *rank,
                       int *priority)
{
    const struct tp_devices *devices = s->env->devices;
    memcpy(priority, s->priority, s->n_types * sizeof(*priority));
    for (uint32_t k = 0; k < s->n_types; k++) {
        s->types[rank[k]] = devices->list[first[k]].name.type;
        s->priority[rank[k]] = priority[k];
    }
    for (uint32_t d = 0; d < devices->n; d++)
        s->type_of[d] = rank[s->type_of[d]];
}

troupe_status tp_support_init(struct tp_support *support, const struct tp_place_env *env,
                              struct tp_arena *arena, troupe_error *err)
{
    const size_t n = env->devices->n;
    uint32_t *first = tp_arena_array(arena, n, sizeof(*first)),
             *rank = tp_arena_array(arena, n, sizeof(*rank));
    *support = (struct tp_support){.env = env};
    support->types = tp_arena_array(arena, n, sizeof(*support->types));
    support->priority = tp_arena_array(arena, n, sizeof(*support->priority));
    support->type_of = tp_arena_array(arena, n, sizeof(*support->type_of));
    support->scratch = tp_arena_array(arena, 2 * n, sizeof(*support->scratch));
    if (!first || !rank || !support->types || !support->priority || !support->type_of ||
        !support->scratch)
        return tp_fail_memory(err, n * sizeof(*support->types));
    find_types(support, first);
    rank_types(support, rank);
    sort_types(support, first, rank, support->scratch);
    tp_intern_init(&support->ops, arena, sizeof(const struct tp_op *));
    tp_intern_init(&support->rows, arena, support->n_types * sizeof(int));
    return TROUPE_OK;
}

void tp_support_fini(struct tp_support *support)
{
    tp_free(support->row_of);
    tp_intern_fini(&support->ops);
    tp_intern_fini(&support->rows);
    *support = (struct tp_support){0};
}

const int *tp_support_row(const struct tp_support *support, uint32_t row)
{
    return tp_intern_key(&support->rows, row);
}

bool tp_support_none(const struct tp_support *support, uint32_t row)
{
    const int *priority = tp_support_row(support, row);
    for (uint32_t t = 0; t < support->n_types; t++)
        if (priority[t] >= 0) return false;
    return true;
}

static troupe_status ask(struct tp_support *s, const struct tp_op *op, uint32_t *out,
                         troupe_error *err)
{
    for (uint32_t t = 0; t < s->n_types; t++) {
        const int priority = s->env->kernel(s->env->arg, op, s->types[t]);
        s->scratch[t] = priority < 0 ? -1 : priority;
    }
    return tp_intern_add(&s->rows, s->scratch, out, err);
}

troupe_status tp_support_of(struct tp_support *support, const struct tp_op *op, uint32_t *out,
                            troupe_error *err)
{
    const uint32_t known = support->ops.n;
    uint32_t number;
    TP_TRY(tp_intern_add(&support->ops, &op, &number, err));
    if (number == known) {
        TP_TRY(tp_grow(&support->row_of, known, &support->row_capacity,
                       sizeof(*support->row_of), err));
        TP_TRY(ask(support, op, &support->row_of[known], err));
    }
    *out = support->row_of[number];
    return TROUPE_OK;
}

troupe_status tp_support_all(struct tp_support *support, uint32_t *out, troupe_error *err)
{
    memset(support->scratch, 0, support->n_types * sizeof(*support->scratch));
    return tp_intern_add(&support->rows, support->scratch, out, err);
}

static int sign(int a, int b)
{
    return (a > b) - (a < b);
}

/* Some of the types that both have are preferred to others by `row`. */
static bool prefers(const int *row, const int *other, uint32_t n)
{
    int first = -1;
    for (uint32_t t = 0; t < n; t++) {
        if (row[t] < 0 || other[t] < 0) continue;
        if (first >= 0 && row[t] != first) return true;
        first = row[t];
    }
    return false;
}

/* Both put the types that they have in common in the same order. */
static bool agree(const int *a, const int *b, uint32_t n)
{
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t u = t + 1; u < n; u++)
            if (a[t] >= 0 && b[t] >= 0 && a[u] >= 0 && b[u] >= 0 &&
                sign(a[t], a[u]) != sign(b[t], b[u]))
                return false;
    return true;
}

troupe_status tp_support_meet(struct tp_support *support, uint32_t a, uint32_t b, uint32_t *out,
                              troupe_error *err)
{
    const uint32_t n = support->n_types;
    const int *left = tp_support_row(support, a), *right = tp_support_row(support, b);
    *out = a;
    if (a == b) return TROUPE_OK; /* a row meets itself */
    const bool by_left = prefers(left, right, n), by_right = prefers(right, left, n);
    const bool none = by_left == by_right && (!by_left || !agree(left, right, n));
    const int *ruling = by_left ? left : right;
    for (uint32_t t = 0; t < n; t++) {
        const bool both = left[t] >= 0 && right[t] >= 0;
        support->scratch[t] = !both ? -1 : none ? 0 : ruling[t];
    }
    return tp_intern_add(&support->rows, support->scratch, out, err);
}
