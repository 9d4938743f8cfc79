/* SPDX-License-Identifier: MIT
 *
 * graph/build_check.c - what a new graph node names: is it there, and is it well formed?
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/builder.h"
#include "graph/nearest.h"

static troupe_status fail_op(const troupe_builder *b, const char *name, troupe_error *err)
{
    struct tp_nearest nearest = {.wanted = name};
    const struct tp_op *op;
    const char *other;
    for (size_t i = 0; (op = tp_op_at(i)); i++)
        tp_nearest_offer(&nearest, op->name);
    for (size_t i = 0; (op = tp_operators_at(b->finder.operators, i)); i++)
        tp_nearest_offer(&nearest, op->name);
    for (size_t i = 0; b->finder.name && (other = b->finder.name(b->finder.arg, i)); i++)
        tp_nearest_offer(&nearest, other);
    return tp_fail(err, TROUPE_NOT_FOUND, "there is no operator or function '%.60s'%s", name,
                   tp_nearest_text(&nearest).text);
}

static troupe_status fail_function(const troupe_builder *b, const char *name, troupe_error *err)
{
    struct tp_nearest nearest = {.wanted = name};
    const char *other;
    for (size_t i = 0; b->finder.name && (other = b->finder.name(b->finder.arg, i)); i++)
        tp_nearest_offer(&nearest, other);
    return tp_fail(err, TROUPE_NOT_FOUND, "there is no function '%.60s'%s", name,
                   tp_nearest_text(&nearest).text);
}

/* The function that is being built, as a callee. */
static troupe_status find_itself(const struct tp_function *f, const struct tp_function **out,
                                 troupe_error *err)
{
    for (uint32_t i = 0; i < f->n_results; i++) {
        if (f->results[i].type.dtype != TROUPE_DTYPE_NONE) continue;
        return tp_fail(err, TROUPE_INVALID,
                       "'%s' calls itself: declare the type of its result '%s' before", f->name,
                       f->results[i].name);
    }
    *out = f;
    return TROUPE_OK;
}

static troupe_status find_callee(const troupe_builder *b, const char *name,
                                 const struct tp_function **out, troupe_error *err)
{
    const struct tp_function *f = b->body.function;
    if (strcmp(name, f->name) == 0) return find_itself(f, out, err);
    *out = b->finder.find ? b->finder.find(b->finder.arg, name) : NULL;
    return *out ? TROUPE_OK : fail_function(b, name, err);
}

troupe_status tp_build_target(troupe_builder *b, const troupe_node *node,
                              const struct tp_op **op, const struct tp_function **callee,
                              troupe_error *err)
{
    *op = NULL;
    *callee = NULL;
    if (!node->op == !node->function) {
        return tp_fail(err, TROUPE_INVALID, "%s an operator %s a function",
                       node->op ? "both" : "neither", node->op ? "and" : "nor");
    }
    if (node->function) return find_callee(b, node->function, callee, err);
    *op = tp_operators_find(b->finder.operators, node->op);
    return *op ? TROUPE_OK : fail_op(b, node->op, err);
}

troupe_status tp_build_inputs(const troupe_builder *b, const troupe_node *node,
                              troupe_error *err)
{
    const uint32_t n = b->body.function->n_values;
    if (node->n_inputs && !node->inputs)
        return tp_fail(err, TROUPE_INVALID, "%zu inputs are not given", node->n_inputs);
    if (node->n_inputs > UINT32_MAX)
        return tp_fail(err, TROUPE_EXHAUSTED, "%zu inputs are too many", node->n_inputs);
    for (size_t i = 0; i < node->n_inputs; i++) {
        const troupe_value v = node->inputs[i];
        if (v < n || v == TROUPE_NO_VALUE) continue;
        return tp_fail(err, TROUPE_INVALID, "input %zu: there is no value %u among %u", i, v,
                       n);
    }
    return TROUPE_OK;
}

troupe_status tp_build_device(const troupe_node *node, struct tp_name *out, troupe_error *err)
{
    *out = tp_name_none;
    if (!node->device) return TROUPE_OK; /* no wish */
    return tp_name_parse(node->device, out, err);
}

static troupe_status fail_node(const troupe_builder *b, const char *what, const char *name,
                               troupe_error *err)
{
    const struct tp_function *f = b->body.function;
    const uint32_t v = tp_index_find(&b->values, name);
    if (v == TP_NO_INDEX) {
        return tp_fail(err, TROUPE_INVALID,
                       "%s '%.60s': no graph node before this one has that name", what, name);
    }
    if (f->values[v].node == TP_NO_NODE) {
        return tp_fail(err, TROUPE_INVALID, "%s '%.60s': that is %s, not a graph node", what,
                       name, v < f->n_args ? "an argument" : "a constant");
    }
    return tp_fail(err, TROUPE_INVALID, "%s '%.60s': that is a result of graph node '%.60s'",
                   what, name, f->nodes[f->values[v].node].name);
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t sort_unique(uint32_t *list, size_t n)
{
    size_t k = 0;
    if (n > 1) qsort(list, n, sizeof(*list), ascending);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i] != list[k - 1]) list[k++] = list[i];
    }
    return (uint32_t)k;
}

static troupe_status find_nodes(const troupe_builder *b, const char *what,
                                const char *const *names, size_t n, uint32_t *list,
                                troupe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!names[i]) return tp_fail(err, TROUPE_INVALID, "%s: name %zu is NULL", what, i);
        list[i] = tp_index_find(&b->nodes, names[i]);
        if (list[i] == TP_NO_INDEX) return fail_node(b, what, names[i], err);
    }
    return TROUPE_OK;
}

static troupe_status resolve(const troupe_builder *b, const char *what,
                             const char *const *names, size_t n, uint32_t **list, size_t *room,
                             uint32_t *count, troupe_error *err)
{
    *count = 0;
    if (n == 0) return TROUPE_OK; /* none */
    if (!names || n > UINT32_MAX)
        return tp_fail(err, TROUPE_INVALID, "%s: %zu names are not given", what, n);
    TP_TRY(tp_grow(list, n - 1, room, sizeof(**list), err));
    TP_TRY(find_nodes(b, what, names, n, *list, err));
    *count = sort_unique(*list, n);
    return TROUPE_OK;
}

troupe_status tp_build_after(troupe_builder *b, const troupe_node *node, uint32_t *n,
                             troupe_error *err)
{
    return resolve(b, "after", node->after, node->n_after, &b->after, &b->after_room, n, err);
}

troupe_status tp_build_with(troupe_builder *b, const troupe_node *node, uint32_t *n,
                            troupe_error *err)
{
    return resolve(b, "with", node->with, node->n_with, &b->with, &b->with_room, n, err);
}

/* Functions that attributes name are there. */
static troupe_status check_functions(const troupe_builder *b, const troupe_attr *attrs,
                                     size_t n, troupe_error *err)
{
    const struct tp_function *f;
    for (size_t i = 0; i < n; i++) {
        if (attrs[i].kind != TROUPE_ATTR_FUNCTION || !attrs[i].text) continue;
        if (strcmp(attrs[i].text, b->body.function->name) == 0) continue;
        f = b->finder.find ? b->finder.find(b->finder.arg, attrs[i].text) : NULL;
        if (!f) return fail_function(b, attrs[i].text, err);
    }
    return TROUPE_OK;
}

troupe_status tp_build_attrs(troupe_builder *b, const troupe_node *node, troupe_error *err)
{
    const size_t n = node->n_attrs;
    if (n == 0) return TROUPE_OK; /* none */
    if (!node->attrs || n > UINT32_MAX)
        return tp_fail(err, TROUPE_INVALID, "%zu attributes are not given", n);
    if (node->function) {
        return tp_fail(err, TROUPE_INVALID, "a call takes no attributes, and it has %zu", n);
    }
    for (size_t i = 0; i < n; i++)
        TP_TRY(tp_attr_check(&node->attrs[i], err));
    TP_TRY(check_functions(b, node->attrs, n, err));
    TP_TRY(tp_grow(&b->attrs, n - 1, &b->attrs_room, sizeof(b->attrs[0]), err));
    memcpy(b->attrs, node->attrs, n * sizeof(b->attrs[0]));
    tp_attr_sort(b->attrs, n);
    return TROUPE_OK;
}
