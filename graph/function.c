/* SPDX-License-Identifier: MIT
 *
 * graph/function.c - what a function says about itself, and who owns it: bodies, versions, and
 * the public handle that joins one of each.
 */
#include "graph/function.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/operator.h"

/* What the arena does not own. */
static void drop_others(struct tp_function *f)
{
    for (uint32_t i = 0; i < f->n_values; i++)
        troupe_tensor_release(&f->values[i].constant);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (f->nodes[i].n_attrs) tp_attr_drop(f->nodes[i].attrs, f->nodes[i].n_attrs);
        tp_op_release(f->nodes[i].op);
    }
}

struct tp_function *tp_function_retain(const struct tp_function *function)
{
    struct tp_function *f = (struct tp_function *)function;
    tp_ref_retain(&f->ref);
    return f;
}

void tp_function_release(struct tp_function **function)
{
    struct tp_function *f = *function;
    *function = NULL;
    if (!f || !tp_ref_release(&f->ref)) return;
    drop_others(f);
    tp_arena_destroy(&f->arena);
    tp_free(f);
}

struct tp_version *tp_version_retain(const struct tp_version *version)
{
    struct tp_version *v = (struct tp_version *)version;
    tp_ref_retain(&v->ref);
    return v;
}

void tp_version_release(struct tp_version **version)
{
    struct tp_version *v = *version;
    *version = NULL;
    if (!v || !tp_ref_release(&v->ref)) return;
    tp_index_fini(&v->index);
    for (uint32_t i = 0; i < v->n; i++)
        tp_function_release(&v->functions[i]);
    tp_arena_destroy(&v->arena);
    tp_free(v);
}

static troupe_status fill_version(struct tp_version *v, struct tp_function *const *functions,
                                  uint32_t n, troupe_error *err)
{
    uint32_t had;
    TP_TRY(tp_arena_new(&v->arena, err));
    v->functions = tp_arena_array(v->arena, n, sizeof(v->functions[0]));
    if (!v->functions) return tp_fail_memory(err, n * sizeof(v->functions[0]));
    for (uint32_t i = 0; i < n; i++) {
        TP_TRY(tp_index_add(&v->index, v->arena, functions[i]->name, i, &had, err));
        tp_assert(had == TP_NO_INDEX);
        v->functions[v->n++] = tp_function_retain(functions[i]);
    }
    return TROUPE_OK;
}

troupe_status tp_version_new(struct tp_function *const *functions, uint32_t n,
                             struct tp_version **out, troupe_error *err)
{
    TP_OWNED(tp_version_release) struct tp_version *v = tp_alloc(sizeof(*v));
    if (!v) return tp_fail_memory(err, sizeof(*v));
    tp_ref_init(&v->ref);
    TP_TRY(fill_version(v, functions, n, err));
    *out = v;
    v = NULL;
    return TROUPE_OK;
}

const struct tp_function *tp_version_find(const struct tp_version *version, const char *name)
{
    const uint32_t i = version ? tp_index_find(&version->index, name) : TP_NO_INDEX;
    return i == TP_NO_INDEX ? NULL : version->functions[i];
}

troupe_function *troupe_function_retain(const troupe_function *function)
{
    if (!function) return NULL;
    troupe_function *f = (troupe_function *)function;
    tp_ref_retain(&f->ref);
    return f;
}

void troupe_function_release(troupe_function **function)
{
    troupe_function *f = function ? *function : NULL;
    if (!f) return;
    *function = NULL;
    if (!tp_ref_release(&f->ref)) return;
    tp_function_release(&f->body);
    tp_version_release(&f->version);
    tp_free(f);
}

const char *troupe_function_name(const troupe_function *function)
{
    if (!function) return NULL;
    return function->body->name;
}

size_t troupe_function_args(const troupe_function *function)
{
    if (!function) return 0;
    return function->body->n_args;
}

size_t troupe_function_results(const troupe_function *function)
{
    if (!function) return 0;
    return function->body->n_results;
}

size_t troupe_function_nodes(const troupe_function *function)
{
    if (!function) return 0;
    return function->body->n_nodes;
}

static const struct tp_value *arg_of(const troupe_function *function, size_t i)
{
    return i < function->body->n_args ? &function->body->values[i] : NULL;
}

static const struct tp_result *result_of(const troupe_function *function, size_t i)
{
    return i < function->body->n_results ? &function->body->results[i] : NULL;
}

const char *troupe_function_arg_name(const troupe_function *function, size_t i)
{
    if (!function) return NULL;
    const struct tp_value *arg = arg_of(function, i);
    return arg ? arg->name : NULL;
}

const char *troupe_function_result_name(const troupe_function *function, size_t i)
{
    if (!function) return NULL;
    const struct tp_result *result = result_of(function, i);
    return result ? result->name : NULL;
}

static troupe_dtype tell(const struct tp_type *type, int *rank, int64_t *dims)
{
    if (rank) *rank = type ? type->shape.rank : TP_RANK_ANY;
    for (int i = 0; type && dims && i < type->shape.rank; i++)
        dims[i] = type->shape.dims[i];
    return type ? type->dtype : TROUPE_DTYPE_NONE;
}

troupe_dtype troupe_function_arg_type(const troupe_function *function, size_t i, int *rank,
                                      int64_t *dims)
{
    if (!function) return TROUPE_DTYPE_NONE;
    const struct tp_value *arg = arg_of(function, i);
    return tell(arg ? &arg->type : NULL, rank, dims);
}

troupe_dtype troupe_function_result_type(const troupe_function *function, size_t i, int *rank,
                                         int64_t *dims)
{
    if (!function) return TROUPE_DTYPE_NONE;
    const struct tp_result *result = result_of(function, i);
    return tell(result ? &result->type : NULL, rank, dims);
}

static size_t show(const troupe_function *function, const struct tp_type *type, char *text,
                   size_t size)
{
    if (type) return tp_type_show(type, function->body->dims, text, size);
    if (size) *text = 0;
    return 0;
}

size_t troupe_function_arg_text(const troupe_function *function, size_t i, char *text,
                                size_t size)
{
    if (!function) return 0;
    const struct tp_value *arg = arg_of(function, i);
    return show(function, arg ? &arg->type : NULL, text, size);
}

size_t troupe_function_result_text(const troupe_function *function, size_t i, char *text,
                                   size_t size)
{
    if (!function) return 0;
    const struct tp_result *result = result_of(function, i);
    return show(function, result ? &result->type : NULL, text, size);
}

const troupe_tensor *troupe_function_arg_default(const troupe_function *function, size_t i)
{
    if (!function) return NULL;
    const struct tp_value *arg = arg_of(function, i);
    return arg ? arg->constant : NULL;
}

void troupe_function_hash(const troupe_function *function, uint8_t out[16])
{
    if (!function) return;
    if (!out) return;
    for (size_t i = 0; i < 16; i++)
        out[i] = (uint8_t)(function->hash[i / 8] >> (56 - 8 * (i % 8)));
}

void troupe_free(void *memory)
{
    tp_free(memory);
}
