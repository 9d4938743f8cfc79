/* SPDX-License-Identifier: MIT
 *
 * graph/build.c - the builder: arguments, constants, results, and the end. Graph nodes are in
 * build_node.c.
 *
 * Everything is checked on the way in. A call that fails leaves the builder as it was.
 */
#include "graph/build.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "graph/builder.h"
#include "graph/library.h"
#include "graph/word.h"
#include "tensor/tensor.h"

static troupe_status check_name(const char *name, const struct tp_finder *finder,
                                troupe_error *err)
{
    if (!name) return tp_fail(err, TROUPE_INVALID, "a function has no name");
    TP_TRY(tp_word_check("a function", name, err));
    if (!tp_operators_find(finder ? finder->operators : NULL, name)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "function '%s' has the name of an operator", name);
}

troupe_status tp_builder_new(troupe_builder **out, const char *name,
                             const struct tp_finder *finder, troupe_error *err)
{
    TP_TRY(check_name(name, finder, err));
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = tp_alloc(sizeof(*b));
    if (!b) return tp_fail_memory(err, sizeof(*b));
    TP_TRY(tp_body_init(&b->body, name, err));
    if (finder) b->finder = *finder;
    *out = b;
    b = NULL;
    return TROUPE_OK;
}

troupe_status troupe_builder_new(troupe_builder **out, const char *name,
                                 const troupe_library *library, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    const struct tp_finder finder = tp_library_finder(library);
    return tp_builder_new(out, name, &finder, err);
}

void troupe_builder_destroy(troupe_builder **builder)
{
    troupe_builder *b = builder ? *builder : NULL;
    if (!b) return;
    tp_index_fini(&b->values);
    tp_index_fini(&b->nodes);
    tp_index_fini(&b->results);
    tp_body_fini(&b->body);
    tp_free(b->after);
    tp_free(b->with);
    tp_free(b->made);
    tp_free(b->attrs);
    tp_free(b);
    *builder = NULL;
}

troupe_status tp_builder_source(troupe_builder *b, const char *source, troupe_error *err)
{
    struct tp_function *f = b->body.function;
    if (!source) return TROUPE_OK; /* nothing to note */
    f->source = tp_arena_text(f->arena, source, strlen(source));
    return f->source ? TROUPE_OK : tp_fail_memory(err, strlen(source));
}

uint32_t tp_builder_find_value(const troupe_builder *b, const char *name)
{
    return tp_index_find(&b->values, name);
}

uint32_t tp_builder_find_node(const troupe_builder *b, const char *name)
{
    return tp_index_find(&b->nodes, name);
}

troupe_status tp_builder_type(troupe_builder *b, const char *text, struct tp_type *out,
                              size_t *where, troupe_error *err)
{
    return tp_body_type(&b->body, text, out, where, err);
}

const struct tp_function *tp_builder_look(const troupe_builder *b)
{
    return b->body.function;
}

static troupe_status add_value(troupe_builder *b, const struct tp_value *value, uint32_t *out,
                               troupe_error *err)
{
    const struct tp_function *f = b->body.function;
    uint32_t had, v;
    TP_TRY(tp_word_check("a value", value->name, err));
    TP_TRY(tp_body_value(&b->body, value, &v, err));
    TP_TRY(tp_index_add(&b->values, b->body.scratch, f->values[v].name, v, &had, err));
    if (had != TP_NO_INDEX)
        return tp_fail(err, TROUPE_INVALID, "there is a value '%s' already", value->name);
    *out = v;
    return TROUPE_OK;
}

troupe_status tp_build_value(troupe_builder *b, const struct tp_value *value, uint32_t *out,
                             troupe_error *err)
{
    struct tp_function *f = b->body.function;
    const struct tp_arena_mark mark = tp_arena_mark(f->arena);
    const uint32_t n = f->n_values;
    const troupe_status status = add_value(b, value, out, err);
    if (status >= 0) return TROUPE_OK;
    tp_body_cut(&b->body, n);
    tp_arena_reset(f->arena, mark);
    return status;
}

static troupe_status check_default(const struct tp_function *f, const struct tp_value *value,
                                   troupe_error *err)
{
    struct tp_shape both;
    char wanted[160];
    const struct tp_type *given = &value->constant->type;
    if (given->dtype == value->type.dtype &&
        tp_shape_meet(&given->shape, &value->type.shape, &both, NULL) >= 0)
        return TROUPE_OK;
    tp_type_show(&value->type, f->dims, wanted, sizeof(wanted));
    return tp_fail(err, TROUPE_INVALID, "argument '%s' is %s, but its default is %s",
                   value->name, wanted, tp_type_text(given).text);
}

/* The type of an argument or a result. */
static troupe_status type_of(troupe_builder *b, const char *what, const char *name,
                             const char *type, struct tp_type *out, troupe_error *err)
{
    const troupe_status status = tp_body_type(&b->body, type, out, NULL, err);
    if (status < 0) tp_fail_in(err, "%s '%s'", what, name);
    return status;
}

static troupe_status add_arg(troupe_builder *b, const char *name, const char *type,
                             const troupe_tensor *value, troupe_value *out, troupe_error *err)
{
    struct tp_function *f = b->body.function;
    struct tp_value arg = {.name = name, .node = TP_NO_NODE, .index = f->n_args};
    uint32_t v;
    if (f->n_values > f->n_args || f->n_nodes) {
        return tp_fail(err, TROUPE_INVALID,
                       "argument '%s' comes after a constant or a graph node", name);
    }
    TP_TRY(type_of(b, "argument", name, type, &arg.type, err));
    if (arg.type.dtype == TROUPE_DTYPE_NONE)
        return tp_fail(err, TROUPE_INVALID, "argument '%s' needs an element type", name);
    arg.constant = (troupe_tensor *)value;
    if (value) TP_TRY(check_default(f, &arg, err));
    TP_TRY(tp_build_value(b, &arg, &v, err));
    f->n_args++;
    if (out) *out = v;
    return TROUPE_OK;
}

troupe_status troupe_builder_arg_default(troupe_builder *b, const char *name, const char *type,
                                         const troupe_tensor *value, troupe_value *out,
                                         troupe_error *err)
{
    TP_TRY(tp_need(b, "builder", err));
    if (!name) return tp_fail(err, TROUPE_INVALID, "an argument has no name");
    if (!type) return tp_fail(err, TROUPE_INVALID, "argument '%s' has no type", name);
    const troupe_status status = add_arg(b, name, type, value, out, err);
    if (status < 0) tp_fail_in(err, "function '%s'", b->body.function->name);
    return status;
}

troupe_status troupe_builder_arg(troupe_builder *b, const char *name, const char *type,
                                 troupe_value *out, troupe_error *err)
{
    return troupe_builder_arg_default(b, name, type, NULL, out, err);
}

/* A name for a constant that has none. */
static void make_up(const troupe_builder *b, char *name, size_t size)
{
    uint32_t i = b->body.function->n_values - b->body.function->n_args;
    do {
        snprintf(name, size, "const_%u", i++);
    } while (tp_index_find(&b->values, name) != TP_NO_INDEX);
}

troupe_status tp_builder_constant(troupe_builder *b, const char *name,
                                  const troupe_tensor *value, const char *file,
                                  troupe_value *out, troupe_error *err)
{
    char made_up[32];
    uint32_t v;
    if (!value) return tp_fail(err, TROUPE_INVALID, "a constant has no value");
    if (!name) make_up(b, made_up, sizeof(made_up));
    const struct tp_value constant = {
        .name = name ? name : made_up,
        .type = value->type,
        .node = TP_NO_NODE,
        .constant = (troupe_tensor *)value,
        .file = file,
    };
    const troupe_status status = tp_build_value(b, &constant, &v, err);
    if (status < 0) {
        tp_fail_in(err, "function '%s'", b->body.function->name);
        return status;
    }
    if (out) *out = v;
    return TROUPE_OK;
}

troupe_status troupe_builder_constant(troupe_builder *b, const char *name,
                                      const troupe_tensor *value, troupe_value *out,
                                      troupe_error *err)
{
    TP_TRY(tp_need(b, "builder", err));
    return tp_builder_constant(b, name, value, NULL, out, err);
}

/* One more result, whose name nobody has. */
static troupe_status append_result(troupe_builder *b, const struct tp_result *result,
                                   troupe_error *err)
{
    struct tp_function *f = b->body.function;
    uint32_t had;
    if (b->called_itself) {
        return tp_fail(err, TROUPE_INVALID,
                       "the function calls itself before result '%s' is declared",
                       result->name);
    }
    TP_TRY(tp_word_check("a result", result->name, err));
    TP_TRY(tp_body_result(&b->body, result, err));
    const struct tp_result *last = &f->results[f->n_results - 1];
    const troupe_status status =
        tp_index_add(&b->results, b->body.scratch, last->name, f->n_results - 1, &had, err);
    if (status >= 0 && had == TP_NO_INDEX) return TROUPE_OK;
    f->n_results--;
    if (status < 0) return status;
    return tp_fail(err, TROUPE_INVALID, "there is a result '%s' already", result->name);
}

static troupe_status declare(troupe_builder *b, const char *name, const char *type,
                             troupe_error *err)
{
    struct tp_result result = {.name = name, .value = TP_NO_VALUE};
    TP_TRY(type_of(b, "result", name, type, &result.type, err));
    return append_result(b, &result, err);
}

troupe_status troupe_builder_declare_result(troupe_builder *b, const char *name,
                                            const char *type, troupe_error *err)
{
    TP_TRY(tp_need(b, "builder", err));
    if (!name) return tp_fail(err, TROUPE_INVALID, "a result has no name");
    if (!type) return tp_fail(err, TROUPE_INVALID, "result '%s' has no type", name);
    const troupe_status status = declare(b, name, type, err);
    if (status < 0) tp_fail_in(err, "function '%s'", b->body.function->name);
    return status;
}

/* What was declared is met by the value, which is known better then: but not an argument, since
 * that is what callers were told. */
static troupe_status meet(struct tp_function *f, const struct tp_result *result, uint32_t v,
                          troupe_error *err)
{
    struct tp_value *value = &f->values[v];
    struct tp_shape both;
    char declared[100], given[100];
    if (value->type.dtype == result->type.dtype &&
        tp_shape_meet(&result->type.shape, &value->type.shape, &both, NULL) >= 0) {
        if (v >= f->n_args) value->type.shape = both;
        return TROUPE_OK;
    }
    tp_type_show(&result->type, f->dims, declared, sizeof(declared));
    tp_type_show(&value->type, f->dims, given, sizeof(given));
    return tp_fail(err, TROUPE_INVALID, "result '%s' was declared %s, but value '%s' is %s",
                   result->name, declared, value->name, given);
}

static troupe_status set_declared(struct tp_function *f, struct tp_result *result, uint32_t v,
                                  troupe_error *err)
{
    if (result->value != TP_NO_VALUE) {
        return tp_fail(err, TROUPE_INVALID, "result '%s' has value '%s' already", result->name,
                       f->values[result->value].name);
    }
    if (result->type.dtype == TROUPE_DTYPE_NONE) {
        result->type = f->values[v].type;
    } else {
        TP_TRY(meet(f, result, v, err));
    }
    result->value = v;
    return TROUPE_OK;
}

static troupe_status set_result(troupe_builder *b, const char *name, uint32_t v,
                                troupe_error *err)
{
    struct tp_function *f = b->body.function;
    if (v >= f->n_values) {
        return tp_fail(err, TROUPE_INVALID, "result '%s': there is no value %u", name, v);
    }
    const uint32_t i = tp_index_find(&b->results, name);
    if (i != TP_NO_INDEX) return set_declared(f, &f->results[i], v, err);
    const struct tp_result result = {.name = name, .value = v, .type = f->values[v].type};
    return append_result(b, &result, err);
}

troupe_status troupe_builder_result(troupe_builder *b, const char *name, troupe_value value,
                                    troupe_error *err)
{
    TP_TRY(tp_need(b, "builder", err));
    if (!name) return tp_fail(err, TROUPE_INVALID, "a result has no name");
    const troupe_status status = set_result(b, name, value, err);
    if (status < 0) tp_fail_in(err, "function '%s'", b->body.function->name);
    return status;
}

static troupe_status check_results(const struct tp_function *f, troupe_error *err)
{
    for (uint32_t i = 0; i < f->n_results; i++) {
        if (f->results[i].value == TP_NO_VALUE) {
            return tp_fail(err, TROUPE_INVALID,
                           "function '%s': result '%s' was declared and has no value", f->name,
                           f->results[i].name);
        }
    }
    return TROUPE_OK;
}

troupe_status tp_builder_sign(troupe_builder **builder, struct tp_function **out,
                              troupe_error *err)
{
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = *builder;
    *builder = NULL;
    /* the indexes point into the memory that is freed with the scratch */
    tp_index_fini(&b->values);
    tp_index_fini(&b->nodes);
    tp_index_fini(&b->results);
    return tp_body_seal(&b->body, out, err);
}

troupe_status tp_builder_seal(troupe_builder **builder, struct tp_function **out,
                              troupe_error *err)
{
    const troupe_status status = check_results((*builder)->body.function, err);
    if (status < 0) troupe_builder_destroy(builder);
    return status < 0 ? status : tp_builder_sign(builder, out, err);
}

troupe_status troupe_builder_finish(troupe_builder **builder, troupe_function **out,
                                    troupe_error *err)
{
    TP_TRY(tp_need(builder, "builder", err));
    if (!out) troupe_builder_destroy(builder); /* also on failure */
    TP_TRY(tp_need(out, "out", err));
    TP_OWNED(tp_function_release) struct tp_function *body = NULL;
    if (!*builder) return tp_fail(err, TROUPE_INVALID, "there is no builder");
    const struct tp_finder finder = (*builder)->finder;
    TP_TRY(tp_builder_seal(builder, &body, err));
    return tp_function_bind_by(&body, &finder, out, err);
}
