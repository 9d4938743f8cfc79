/* SPDX-License-Identifier: MIT
 *
 * graph/bind.c - a body and what it reaches become a public function.
 *
 * What is reached is walked breadth first in the order of mention, so that the list, and the
 * hash over it, depend on the bodies alone.
 */
#include "graph/bind.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/body.h"
#include "graph/call.h"
#include "graph/hash.h"

struct reach {
    const struct tp_function **list; /* the body itself first */
    size_t n, room;
    struct tp_index index;
    struct tp_arena *arena; /* the index's */
    const struct tp_finder *finder;
    /* What checking a call works on. */
    const struct tp_type **types;
    int64_t *dims;
    size_t types_room, dims_room;
    bool circle; /* the body itself is reached again */
};

static void reach_fini(struct reach *r)
{
    tp_index_fini(&r->index);
    tp_arena_destroy(&r->arena);
    tp_free(r->list);
    tp_free(r->types);
    tp_free(r->dims);
}

static troupe_status append(struct reach *r, const struct tp_function *f, troupe_error *err)
{
    uint32_t had;
    TP_TRY(tp_grow(&r->list, r->n, &r->room, sizeof(r->list[0]), err));
    TP_TRY(tp_index_add(&r->index, r->arena, f->name, (uint32_t)r->n, &had, err));
    r->list[r->n++] = f;
    return TROUPE_OK;
}

/* The function of that name, which joins the list when it is new. */
static troupe_status meet(struct reach *r, const char *name, const struct tp_function **out,
                          troupe_error *err)
{
    const uint32_t i = tp_index_find(&r->index, name);
    if (i == 0) r->circle = true;
    if (i != TP_NO_INDEX) {
        *out = r->list[i];
        return TROUPE_OK;
    }
    const struct tp_function *f =
        r->finder->find ? r->finder->find(r->finder->arg, name) : NULL;
    if (!f) return tp_fail(err, TROUPE_INVALID, "there is no function '%s'", name);
    TP_TRY(append(r, f, err));
    *out = f;
    return TROUPE_OK;
}

static troupe_status check_results(const struct tp_function *f, const struct tp_node *node,
                                   const struct tp_function *callee, const int64_t *dims,
                                   troupe_error *err)
{
    for (uint32_t i = 0; i < node->n_results; i++) {
        if (node->results[i] == TP_NO_VALUE) continue;
        const struct tp_type *was = &f->values[node->results[i]].type;
        const struct tp_type now = tp_call_type(&callee->results[i].type, dims);
        struct tp_shape both;
        if (was->dtype == now.dtype && tp_shape_meet(&was->shape, &now.shape, &both, NULL) >= 0)
            continue;
        return tp_fail(err, TROUPE_INVALID, "result %u of '%s' was %s and is %s now", i,
                       callee->name, tp_type_text(was).text, tp_type_text(&now).text);
    }
    return TROUPE_OK;
}

static troupe_status call_room(struct reach *r, size_t inputs, size_t dims, troupe_error *err)
{
    if (inputs)
        TP_TRY(tp_grow(&r->types, inputs - 1, &r->types_room, sizeof(r->types[0]), err));
    if (dims) TP_TRY(tp_grow(&r->dims, dims - 1, &r->dims_room, sizeof(r->dims[0]), err));
    return TROUPE_OK;
}

static troupe_status check_call(struct reach *r, const struct tp_function *f,
                                const struct tp_node *node, const struct tp_function *callee,
                                troupe_error *err)
{
    if (node->n_results != callee->n_results) {
        return tp_fail(err, TROUPE_INVALID, "%u results where '%s' has %u", node->n_results,
                       callee->name, callee->n_results);
    }
    if (callee->stateful && !node->stateful) {
        return tp_fail(err, TROUPE_INVALID,
                       "'%s' has effects, which it had not when '%s' was built", callee->name,
                       f->name);
    }
    TP_TRY(call_room(r, node->n_inputs, callee->n_dims, err));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const uint32_t v = node->inputs[i];
        r->types[i] = v == TP_NO_VALUE ? NULL : &f->values[v].type;
    }
    TP_TRY(tp_call_check(callee, r->types, node->n_inputs, r->dims, err));
    return check_results(f, node, callee, r->dims, err);
}

static troupe_status follow(struct reach *r, const struct tp_function *f,
                            const struct tp_node *node, troupe_error *err)
{
    const struct tp_function *callee;
    if (node->callee) {
        TP_TRY(meet(r, node->callee, &callee, err));
        TP_TRY(check_call(r, f, node, callee, err));
    }
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (node->attrs[i].kind == TROUPE_ATTR_FUNCTION)
            TP_TRY(meet(r, node->attrs[i].text, &callee, err));
    }
    return TROUPE_OK;
}

/* All that the body reaches, each call checked. */
static troupe_status walk(struct reach *r, const struct tp_function *body, troupe_error *err)
{
    TP_TRY(tp_arena_new(&r->arena, err));
    TP_TRY(append(r, body, err));
    for (size_t i = 0; i < r->n; i++) {
        const struct tp_function *f = r->list[i];
        for (uint32_t k = 0; k < f->n_calls; k++) {
            const struct tp_node *node = &f->nodes[f->calls[k]];
            const troupe_status status = follow(r, f, node, err);
            if (status >= 0) continue;
            tp_body_name_dims(f, err);
            tp_fail_in(err, "function '%s': node '%s'", f->name, node->name);
            return status;
        }
    }
    return TROUPE_OK;
}

/* The body itself is in the version only when a call reaches it. */
static troupe_status keep(const struct reach *r, troupe_function *f, troupe_error *err)
{
    const size_t first = r->circle ? 0 : 1;
    if (r->n == first) return TROUPE_OK; /* it calls nothing */
    return tp_version_new((struct tp_function *const *)(r->list + first),
                          (uint32_t)(r->n - first), &f->version, err);
}

static troupe_status bind(struct reach *r, struct tp_function **body, troupe_function *f,
                          troupe_error *err)
{
    TP_TRY(walk(r, *body, err));
    TP_TRY(keep(r, f, err));
    memcpy(f->hash, (*body)->hash, sizeof(f->hash));
    for (size_t i = 0; i < r->n; i++)
        f->operators = f->operators * UINT64_C(0x9e3779b97f4a7c15) + r->list[i]->operators;
    if (r->n > 1) TP_TRY(tp_hash_functions(r->list, r->n, f->hash, err));
    f->body = *body;
    *body = NULL;
    return TROUPE_OK;
}

static troupe_status bind_new(struct tp_function **body, const struct tp_finder *finder,
                              troupe_function **out, troupe_error *err)
{
    TP_OWNED(reach_fini) struct reach r = {.finder = finder};
    TP_OWNED(troupe_function_release) troupe_function *f = tp_alloc(sizeof(*f));
    if (!f) return tp_fail_memory(err, sizeof(*f));
    tp_ref_init(&f->ref);
    TP_TRY(bind(&r, body, f, err));
    *out = f;
    f = NULL;
    return TROUPE_OK;
}

troupe_status tp_function_bind_by(struct tp_function **body, const struct tp_finder *finder,
                                  troupe_function **out, troupe_error *err)
{
    const troupe_status status = bind_new(body, finder, out, err);
    tp_function_release(body); /* when it could not be bound */
    return status;
}

static const struct tp_function *find_in_version(void *version, const char *name)
{
    return tp_version_find(version, name);
}

troupe_status tp_function_bind(struct tp_function **body, const struct tp_version *version,
                               troupe_function **out, troupe_error *err)
{
    const struct tp_finder finder = {.find = find_in_version, .arg = (void *)version};
    return tp_function_bind_by(body, &finder, out, err);
}

troupe_status tp_function_reached(const troupe_function *function,
                                  const struct tp_function ***out, size_t *n, troupe_error *err)
{
    const struct tp_finder finder = {.find = find_in_version, .arg = function->version};
    TP_OWNED(reach_fini) struct reach r = {.finder = &finder};
    TP_TRY(walk(&r, function->body, err));
    *out = r.list;
    *n = r.n;
    r.list = NULL;
    return TROUPE_OK;
}
