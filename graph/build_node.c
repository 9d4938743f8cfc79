/* SPDX-License-Identifier: MIT
 *
 * graph/build_node.c - a new graph node: checked, typed, named, then added, all or nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "base/rest.h"
#include "graph/builder.h"
#include "graph/infer.h"
#include "graph/operator.h"
#include "graph/word.h"

/* A graph node on its way in. */
struct draft {
    const troupe_node *given;
    struct tp_node node; /* its lists are the caller's and the builder's */
    const struct tp_function *callee;
    uint32_t n_named;    /* of the results' names, those that are in the index by now */
    struct tp_text name; /* when it is made up */
};

static void draft_fini(struct draft *d)
{
    tp_text_fini(&d->name);
}

static const char *target_name(const struct draft *d)
{
    return d->node.op ? d->node.op->name : d->callee->name;
}

/* The name that the caller gave result i: NULL when it is to be made up, "" when it is absent.
 */
static const char *given_name(const troupe_node *given, size_t i)
{
    return given->result_names && i < given->n_results ? given->result_names[i] : NULL;
}

static troupe_status count_results(struct draft *d, troupe_error *err)
{
    size_t n = d->given->n_results, least = 0, most = 0;
    if (d->callee) least = most = d->callee->n_results;
    if (d->node.op) tp_op_arity(d->node.op->results, &least, &most);
    if (n == 0) n = least;
    if (n > most) {
        return tp_fail(err, TROUPE_INVALID, "%zu results where %s has %zu", n, target_name(d),
                       most);
    }
    if (n >= UINT32_MAX) return tp_fail(err, TROUPE_EXHAUSTED, "%zu results are too many", n);
    d->node.n_results = (uint32_t)n;
    return TROUPE_OK;
}

/* Only an optional result of an operator may be absent; any of a call's. */
static troupe_status check_absent(const struct draft *d, troupe_error *err)
{
    for (size_t i = 0; i < d->node.n_results; i++) {
        const char *name = given_name(d->given, i);
        const struct tp_port *port = d->node.op ? tp_op_port(d->node.op->results, i) : NULL;
        if (!port || !name || *name || port->flags & TP_OPTIONAL) continue;
        return tp_fail(err, TROUPE_INVALID, "result %zu '%s' of %s may not be absent", i,
                       port->name, d->node.op->name);
    }
    return TROUPE_OK;
}

static troupe_status resolve(troupe_builder *b, struct draft *d, troupe_error *err)
{
    const troupe_node *given = d->given;
    struct tp_node *node = &d->node;
    TP_TRY(tp_build_target(b, given, &node->op, &d->callee, err));
    TP_TRY(tp_build_inputs(b, given, err));
    TP_TRY(tp_build_device(given, &node->device, err));
    TP_TRY(tp_build_after(b, given, &node->n_after, err));
    TP_TRY(tp_build_with(b, given, &node->n_with, err));
    TP_TRY(tp_build_attrs(b, given, err));
    TP_TRY(count_results(d, err));
    node->callee = d->callee ? d->callee->name : NULL;
    node->inputs = (uint32_t *)given->inputs;
    node->n_inputs = (uint32_t)given->n_inputs;
    node->after = b->after;
    node->with = b->with;
    node->attrs = b->attrs;
    node->n_attrs = (uint32_t)given->n_attrs;
    node->line = given->line;
    node->stateful = node->op ? node->op->stateful : d->callee->stateful;
    return TROUPE_OK;
}

/* "Relu_12", or with a further number when that is taken. */
static void number_name(const struct tp_index *index, const char *stem, uint32_t i,
                        const char *between, struct tp_text *out)
{
    tp_text_add(out, "%s%s%u", stem, between, i);
    const size_t size = out->size;
    for (unsigned k = 1; !out->failed && tp_index_find(index, out->data) != TP_NO_INDEX; k++) {
        out->size = size;
        tp_text_add(out, "_%u", k);
    }
}

/* As it was given; else that of the first result, when no graph node has it; else the
 * operator's. */
static troupe_status name_node(troupe_builder *b, struct draft *d, troupe_error *err)
{
    const char *first = given_name(d->given, 0);
    if (!d->given->name && first && *first && tp_index_find(&b->nodes, first) == TP_NO_INDEX) {
        d->node.name = first;
        return TROUPE_OK;
    }
    if (!d->given->name) {
        number_name(&b->nodes, target_name(d), b->body.function->n_nodes, "_", &d->name);
        if (d->name.failed) return tp_fail_memory(err, d->name.size);
        d->node.name = d->name.data;
        return TROUPE_OK;
    }
    d->node.name = d->given->name;
    TP_TRY(tp_word_check("a graph node", d->node.name, err));
    if (tp_index_find(&b->nodes, d->node.name) == TP_NO_INDEX) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "there is a graph node of that name already");
}

/* A name for result i: the graph node's for the first one, else "NODE:i". */
static troupe_status make_up(const troupe_builder *b, const struct draft *d, uint32_t i,
                             struct tp_text *out, troupe_error *err)
{
    if (i == 0 && tp_index_find(&b->values, d->node.name) == TP_NO_INDEX) {
        tp_text_add(out, "%s", d->node.name);
    } else {
        number_name(&b->values, d->node.name, i, ":", out);
    }
    return out->failed ? tp_fail_memory(err, out->size) : TROUPE_OK;
}

static troupe_status add_result(troupe_builder *b, struct draft *d, uint32_t i,
                                troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text made_up = {0};
    struct tp_value value = {.name = given_name(d->given, i), .node = TP_NO_NODE, .index = i};
    b->made[i] = TP_NO_VALUE;
    d->n_named = i;
    if (value.name && !*value.name) return TROUPE_OK; /* it is absent */
    if (!value.name) {
        TP_TRY(make_up(b, d, i, &made_up, err));
        value.name = made_up.data;
    }
    value.type = b->body.types.results[i];
    return tp_build_value(b, &value, &b->made[i], err);
}

static troupe_status add_results(troupe_builder *b, struct draft *d, troupe_error *err)
{
    const uint32_t n = d->node.n_results;
    if (n) TP_TRY(tp_grow(&b->made, n - 1, &b->made_room, sizeof(b->made[0]), err));
    d->node.results = b->made;
    for (uint32_t i = 0; i < n; i++)
        TP_TRY(add_result(b, d, i, err));
    d->n_named = n;
    return TROUPE_OK;
}

static troupe_status add(troupe_builder *b, struct draft *d, troupe_error *err)
{
    struct tp_function *f = b->body.function;
    uint32_t had;
    TP_TRY(tp_body_infer(&b->body, &d->node, d->callee, err));
    TP_TRY(check_absent(d, err));
    TP_TRY(name_node(b, d, err));
    TP_TRY(tp_body_room(&b->body, d->node.n_results, 1, err));
    TP_TRY(add_results(b, d, err));
    TP_TRY(tp_body_node(&b->body, &d->node, err));
    TP_TRY(tp_body_tell(&b->body, err));
    const struct tp_node *node = &f->nodes[f->n_nodes - 1];
    return tp_index_add(&b->nodes, b->body.scratch, node->name, f->n_nodes - 1, &had, err);
}

/* What there was before a graph node that could not be added. */
struct before {
    struct tp_arena_mark mark;
    uint32_t values, nodes, calls;
};

static void undo(troupe_builder *b, const struct draft *d, const struct before *before)
{
    struct tp_function *f = b->body.function;
    for (uint32_t i = 0; i < d->n_named; i++) {
        if (b->made[i] != TP_NO_VALUE) tp_index_remove(&b->values, f->values[b->made[i]].name);
    }
    if (f->n_nodes > before->nodes) {
        tp_attr_drop(f->nodes[before->nodes].attrs, f->nodes[before->nodes].n_attrs);
        tp_op_release(f->nodes[before->nodes].op);
    }
    f->n_nodes = before->nodes;
    f->n_calls = before->calls;
    tp_body_cut(&b->body, before->values);
    tp_arena_reset(f->arena, before->mark);
}

static troupe_status try_node(troupe_builder *b, struct draft *d, troupe_error *err)
{
    const struct tp_function *f = b->body.function;
    const struct before before = {tp_arena_mark(f->arena), f->n_values, f->n_nodes, f->n_calls};
    TP_TRY(resolve(b, d, err));
    const troupe_status status = add(b, d, err);
    if (status < 0) undo(b, d, &before);
    return status;
}

/* Callers may have an older, shorter struct, or a newer one. */
static troupe_status take_given(const troupe_node *node, troupe_node *out, troupe_error *err)
{
    if (!node || node->size < offsetof(troupe_node, inputs)) {
        return tp_fail(err, TROUPE_INVALID, "troupe_node.size is %zu, not %zu",
                       node ? node->size : 0, sizeof(*node));
    }
    TP_TRY(tp_rest_check(node, node->size, sizeof(*node), "troupe_node", err));
    memset(out, 0, sizeof(*out));
    memcpy(out, node, node->size < sizeof(*out) ? node->size : sizeof(*out));
    return TROUPE_OK;
}

static void name_failure(const troupe_node *node, troupe_error *err)
{
    const char *first = given_name(node, 0);
    const char *name = node->name ? node->name : first && *first ? first : node->op;
    if (!name) name = node->function ? node->function : "?";
    tp_fail_in(err, "node '%.60s'", name);
}

troupe_status troupe_builder_node(troupe_builder *b, const troupe_node *node,
                                  troupe_value *results, troupe_error *err)
{
    TP_TRY(tp_need(b, "builder", err));
    TP_TRY(tp_need(node, "node", err));
    troupe_node given;
    TP_TRY(take_given(node, &given, err));
    TP_OWNED(draft_fini) struct draft d = {.given = &given};
    const troupe_status status = try_node(b, &d, err);
    if (status < 0) {
        name_failure(&given, err);
        return status;
    }
    if (d.callee == b->body.function) b->called_itself = true;
    for (uint32_t i = 0; results && i < d.node.n_results; i++)
        results[i] = b->made[i];
    return TROUPE_OK;
}
