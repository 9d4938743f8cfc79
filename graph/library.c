/* SPDX-License-Identifier: MIT
 *
 * graph/library.c - functions by name.
 *
 * A library holds bodies. What it gives out is a body bound to those that it reaches now, and
 * is kept until the library changes, since the same function is asked for again and again.
 */
#include "graph/library.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "graph/arena.h"
#include "graph/operator.h"

struct entry {
    struct tp_function *body;
    troupe_function *bound; /* or NULL; good while `version` is the library's */
    uint64_t version;
};

struct troupe_library {
    struct entry *entries; /* in the order of adding */
    size_t n, room;
    struct tp_index index;       /* a name's place in entries */
    struct tp_arena *arena;      /* the index's */
    uint64_t version;            /* counts changes */
    troupe_operators *operators; /* retained; NULL: troupe's own alone */
};

troupe_status troupe_library_new(troupe_library **out, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    TP_OWNED(troupe_library_destroy) troupe_library *library = tp_alloc(sizeof(*library));
    if (!library) return tp_fail_memory(err, sizeof(*library));
    TP_TRY(tp_arena_new(&library->arena, err));
    *out = library;
    library = NULL;
    return TROUPE_OK;
}

void troupe_library_destroy(troupe_library **library)
{
    troupe_library *l = library ? *library : NULL;
    if (!l) return;
    tp_index_fini(&l->index);
    for (size_t i = 0; i < l->n; i++) {
        troupe_function_release(&l->entries[i].bound);
        tp_function_release(&l->entries[i].body);
    }
    tp_free(l->entries);
    tp_arena_destroy(&l->arena);
    troupe_operators_release(&l->operators);
    tp_free(l);
    *library = NULL;
}

static struct entry *find_entry(const troupe_library *library, const char *name)
{
    const uint32_t i = tp_index_find(&library->index, name);
    return i == TP_NO_INDEX ? NULL : &library->entries[i];
}

static const struct tp_function *find_body(void *library, const char *name)
{
    const struct entry *entry = library ? find_entry(library, name) : NULL;
    return entry ? entry->body : NULL;
}

static const char *name_of(void *library, size_t i)
{
    return library ? troupe_library_name(library, i) : NULL;
}

struct tp_finder tp_library_finder(const troupe_library *library)
{
    return (struct tp_finder){find_body, name_of, (void *)library,
                              library ? library->operators : NULL};
}

troupe_status troupe_library_operators(troupe_library *library,
                                       const troupe_operators *operators, troupe_error *err)
{
    const struct tp_op *op;
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need(operators, "operators", err));
    if (library->operators == operators) return TROUPE_OK; /* it has them */
    if (library->operators)
        return tp_fail(err, TROUPE_INVALID, "the library has another set of operators");
    for (size_t i = 0; (op = tp_operators_at(operators, i)); i++)
        if (find_entry(library, op->name))
            return tp_fail(err, TROUPE_INVALID, "the library has a function '%.60s'", op->name);
    tp_operators_freeze(operators);
    library->operators = troupe_operators_retain(operators);
    return TROUPE_OK;
}

/* A new entry; the name, which the index borrows, outlives a replaced body. */
static troupe_status append(troupe_library *library, const struct tp_function *body,
                            troupe_error *err)
{
    uint32_t had;
    const char *name = tp_arena_text(library->arena, body->name, strlen(body->name));
    if (!name) return tp_fail_memory(err, strlen(body->name));
    TP_TRY(tp_grow(&library->entries, library->n, &library->room, sizeof(struct entry), err));
    TP_TRY(
        tp_index_add(&library->index, library->arena, name, (uint32_t)library->n, &had, err));
    library->entries[library->n++] = (struct entry){.body = tp_function_retain(body)};
    library->version++;
    return TROUPE_OK;
}

static bool same(const struct tp_function *a, const struct tp_function *b)
{
    return memcmp(a->hash, b->hash, sizeof(a->hash)) == 0 && a->operators == b->operators;
}

static troupe_status add(troupe_library *library, const struct tp_function *body,
                         troupe_error *err)
{
    const struct entry *entry = find_entry(library, body->name);
    if (!entry) return append(library, body, err);
    if (same(entry->body, body)) return TROUPE_OK; /* it is there already */
    return tp_fail(err, TROUPE_INVALID, "the library has another function '%s'", body->name);
}

/* Forget the entries from n on. */
static void cut(troupe_library *library, size_t n)
{
    while (library->n > n) {
        struct entry *last = &library->entries[--library->n];
        tp_index_remove(&library->index, last->body->name);
        tp_function_release(&last->body);
    }
}

troupe_status tp_library_add_all(troupe_library *library, struct tp_function *const *functions,
                                 size_t n, size_t *which, troupe_error *err)
{
    const size_t before = library->n;
    for (size_t i = 0; i < n; i++) {
        const troupe_status status = add(library, functions[i], err);
        if (status >= 0) continue;
        cut(library, before);
        if (which) *which = i;
        return status;
    }
    return TROUPE_OK;
}

troupe_status troupe_library_add(troupe_library *library, const troupe_function *function,
                                 troupe_error *err)
{
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need(function, "function", err));
    return add(library, function->body, err);
}

troupe_status troupe_library_replace(troupe_library *library, const troupe_function *function,
                                     troupe_error *err)
{
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need(function, "function", err));
    struct entry *entry = find_entry(library, function->body->name);
    if (!entry) return append(library, function->body, err);
    troupe_function_release(&entry->bound);
    tp_function_release(&entry->body);
    entry->body = tp_function_retain(function->body);
    library->version++;
    return TROUPE_OK;
}

static troupe_status bind(const troupe_library *library, struct entry *entry, troupe_error *err)
{
    const struct tp_finder finder = tp_library_finder(library);
    TP_OWNED(tp_function_release) struct tp_function *body = tp_function_retain(entry->body);
    troupe_function *bound = NULL;
    TP_TRY(tp_function_bind_by(&body, &finder, &bound, err));
    troupe_function_release(&entry->bound);
    entry->bound = bound;
    entry->version = library->version;
    return TROUPE_OK;
}

troupe_status troupe_library_find(const troupe_library *library, const char *name,
                                  troupe_function **out, troupe_error *err)
{
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need(name, "name", err));
    TP_TRY(tp_need(out, "out", err));
    struct entry *entry = find_entry(library, name);
    if (!entry) return tp_fail(err, TROUPE_NOT_FOUND, "there is no function '%s'", name);
    if (!entry->bound || entry->version != library->version) TP_TRY(bind(library, entry, err));
    *out = troupe_function_retain(entry->bound);
    return TROUPE_OK;
}

size_t troupe_library_count(const troupe_library *library)
{
    if (!library) return 0;
    return library->n;
}

const char *troupe_library_name(const troupe_library *library, size_t i)
{
    if (!library) return NULL;
    return i < library->n ? library->entries[i].body->name : NULL;
}
