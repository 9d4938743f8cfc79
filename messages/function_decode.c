/* SPDX-License-Identifier: MIT
 *
 * messages/function_decode.c - bytes as functions, by way of the builder.
 *
 * First the heads are read, so that functions may call each other in any order and in circles:
 * a call is checked against its callee's signature. Whether a function has effects is part of
 * its head, for the same reason, and is compared with what its body has.
 */
#include <string.h>

#include "base/fail.h"
#include "graph/build.h"
#include "graph/hash.h"
#include "messages/function_form.h"
#include "messages/function_read.h"

/* A function of the form. */
struct part {
    struct tp_function *signature, *body; /* owned */
    size_t at;                            /* where its head is */
    uint32_t statements;
    uint64_t hash[2];
};

struct decoding {
    struct tp_form_reader form;
    const char *source;
    const troupe_operators *operators;
    struct part *list;
    size_t room;
    uint32_t n, main;
    struct tp_index index; /* a name's place in the list */
    struct tp_arena *arena;
    /* What a graph node is put together in, kept from one to the next. */
    troupe_value *inputs;
    const char **results, **after, **with;
    size_t inputs_room, results_room, after_room, with_room;
};

static void decoding_fini(struct decoding *d)
{
    for (uint32_t i = 0; i < d->n; i++) {
        tp_function_release(&d->list[i].signature);
        tp_function_release(&d->list[i].body);
    }
    tp_free(d->list);
    tp_index_fini(&d->index);
    tp_arena_destroy(&d->arena);
    tp_form_fini(&d->form);
    tp_free(d->inputs);
    tp_free(d->results);
    tp_free(d->after);
    tp_free(d->with);
}

static const struct tp_function *find(void *arg, const char *name)
{
    const struct decoding *d = arg;
    const uint32_t i = tp_index_find(&d->index, name);
    return i == TP_NO_INDEX ? NULL : d->list[i].signature;
}

static struct tp_finder finder_of(struct decoding *d)
{
    return (struct tp_finder){.find = find, .arg = d, .operators = d->operators};
}

/* -- Heads --------------------------------------------------------------------------------- */

/* Its name, type and default. `had` has the default already, when the head was read before: a
 * frame can be taken once. */
static troupe_status add_arg(struct decoding *d, troupe_builder *b, const msgpack_object *part,
                             const struct tp_value *had, troupe_error *err)
{
    const char *name, *type;
    const troupe_tensor *value = had ? had->constant : NULL;
    const msgpack_object *given = tp_form_part(part, 2);
    TP_TRY(tp_form_text(&d->form, tp_form_part(part, 0), "an argument's name", &name, err));
    TP_TRY(tp_form_text(&d->form, tp_form_part(part, 1), "an argument's type", &type, err));
    if (!had && given->type != MSGPACK_OBJECT_NIL)
        TP_TRY(tp_form_tensor(&d->form, given, &value, err));
    return troupe_builder_arg_default(b, name, type, value, NULL, err);
}

static troupe_status add_args(struct decoding *d, troupe_builder *b,
                              const struct tp_function *had, troupe_error *err)
{
    const msgpack_object_array *list = NULL;
    const msgpack_object *args = tp_form_part(&d->form.value, TP_HEAD_ARGS);
    TP_TRY(tp_form_list(args, "the arguments", &list, err));
    for (uint32_t i = 0; i < list->size; i++)
        TP_TRY(add_arg(d, b, &list->ptr[i], had ? &had->values[i] : NULL, err));
    return TROUPE_OK;
}

static troupe_status declare_results(struct decoding *d, troupe_builder *b, troupe_error *err)
{
    const msgpack_object_array *list = NULL;
    const msgpack_object *results = tp_form_part(&d->form.value, TP_HEAD_RESULTS);
    TP_TRY(tp_form_list(results, "the results", &list, err));
    for (uint32_t i = 0; i < list->size; i++) {
        const msgpack_object *part = &list->ptr[i];
        const char *name, *type;
        TP_TRY(tp_form_text(&d->form, tp_form_part(part, 0), "a result's name", &name, err));
        TP_TRY(tp_form_text(&d->form, tp_form_part(part, 1), "a result's type", &type, err));
        TP_TRY(troupe_builder_declare_result(b, name, type, err));
    }
    return TROUPE_OK;
}

/* A builder with the arguments and results of the head in hand. had: its signature, when the
 * head was read before. */
static troupe_status start(struct decoding *d, const struct tp_function *had,
                           troupe_builder **out, troupe_error *err)
{
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = NULL;
    const struct tp_finder finder = finder_of(d);
    const msgpack_object *head = &d->form.value;
    const char *name, *source = NULL;
    TP_TRY(tp_form_text(&d->form, tp_form_part(head, TP_HEAD_NAME), "a function's name", &name,
                        err));
    TP_TRY(tp_form_text_or_nil(&d->form, tp_form_part(head, TP_HEAD_SOURCE),
                               "a function's source", &source, err));
    TP_TRY(tp_builder_new(&b, name, &finder, err));
    TP_TRY(tp_builder_source(b, d->source ? d->source : source, err));
    TP_TRY(add_args(d, b, had, err));
    TP_TRY(declare_results(d, b, err));
    *out = b;
    b = NULL;
    return TROUPE_OK;
}

static troupe_status append(struct decoding *d, const struct part *part, troupe_error *err)
{
    uint32_t had;
    const char *name = part->signature->name;
    TP_TRY(tp_grow(&d->list, d->n, &d->room, sizeof *d->list, err));
    TP_TRY(tp_index_add(&d->index, d->arena, name, d->n, &had, err));
    if (had != TP_NO_INDEX)
        return tp_fail(err, TROUPE_CORRUPT, "function '%.60s' is there twice", name);
    d->list[d->n++] = *part;
    return TROUPE_OK;
}

static troupe_status take_head(struct decoding *d, troupe_error *err)
{
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = NULL;
    TP_OWNED(tp_function_release) struct tp_function *signature = NULL;
    struct part part = {.at = d->form.from};
    const msgpack_object *head = &d->form.value;
    bool effects;
    TP_TRY(start(d, NULL, &b, err));
    TP_TRY(tp_form_flag(tp_form_part(head, TP_HEAD_EFFECTS), "the effects", &effects, err));
    TP_TRY(tp_form_number(tp_form_part(head, TP_HEAD_STATEMENTS), "the number of statements",
                          &part.statements, err));
    TP_TRY(tp_form_hash(tp_form_part(head, TP_HEAD_HASH), "the hash", part.hash, err));
    TP_TRY(tp_builder_sign(&b, &signature, err));
    signature->stateful = effects;
    part.signature = signature;
    TP_TRY(append(d, &part, err));
    signature = NULL;
    return TROUPE_OK;
}

/* -- Graph nodes --------------------------------------------------------------------------- */

static troupe_status take_inputs(struct decoding *d, troupe_node *node, troupe_error *err)
{
    const msgpack_object_array *list = NULL;
    TP_TRY(
        tp_form_list(tp_form_part(&d->form.value, TP_NODE_INPUTS), "the inputs", &list, err));
    for (uint32_t i = 0; i < list->size; i++) {
        TP_TRY(tp_grow(&d->inputs, i, &d->inputs_room, sizeof *d->inputs, err));
        d->inputs[i] = TROUPE_NO_VALUE;
        if (list->ptr[i].type != MSGPACK_OBJECT_NIL)
            TP_TRY(tp_form_number(&list->ptr[i], "an input", &d->inputs[i], err));
    }
    node->inputs = d->inputs;
    node->n_inputs = list->size;
    return TROUPE_OK;
}

static troupe_status take_results(struct decoding *d, troupe_node *node, troupe_error *err)
{
    const msgpack_object_array *list = NULL;
    TP_TRY(
        tp_form_list(tp_form_part(&d->form.value, TP_NODE_RESULTS), "the results", &list, err));
    for (uint32_t i = 0; i < list->size; i++) {
        TP_TRY(tp_grow(&d->results, i, &d->results_room, sizeof *d->results, err));
        TP_TRY(tp_form_text_or_nil(&d->form, &list->ptr[i], "a result", &d->results[i], err));
        if (!d->results[i]) d->results[i] = ""; /* absent */
    }
    node->result_names = d->results;
    node->n_results = list->size;
    return TROUPE_OK;
}

/* The names of graph nodes that were added before, by their numbers. */
static troupe_status take_nodes(const troupe_builder *b, const msgpack_object *part,
                                const char ***names, size_t *room, size_t *n, troupe_error *err)
{
    const struct tp_function *f = tp_builder_look(b);
    const msgpack_object_array *list = NULL;
    TP_TRY(tp_form_list(part, "a list of graph nodes", &list, err));
    for (uint32_t i = 0; i < list->size; i++) {
        uint32_t number = 0;
        TP_TRY(tp_grow(names, i, room, sizeof **names, err));
        TP_TRY(tp_form_number(&list->ptr[i], "the number of a graph node", &number, err));
        if (number >= f->n_nodes)
            return tp_fail(err, TROUPE_CORRUPT, "graph node %u is not among the %u before it",
                           number, f->n_nodes);
        (*names)[i] = f->nodes[number].name;
    }
    *n = list->size;
    return TROUPE_OK;
}

static troupe_status take_names(struct decoding *d, uint32_t kind, troupe_node *node,
                                troupe_error *err)
{
    const msgpack_object *value = &d->form.value;
    const char *target;
    TP_TRY(tp_form_text(&d->form, tp_form_part(value, TP_NODE_TARGET), "the operator", &target,
                        err));
    node->op = kind == TP_IS_OPERATOR ? target : NULL;
    node->function = kind == TP_IS_OPERATOR ? NULL : target;
    TP_TRY(tp_form_text_or_nil(&d->form, tp_form_part(value, TP_NODE_NAME),
                               "a graph node's name", &node->name, err));
    return tp_form_text_or_nil(&d->form, tp_form_part(value, TP_NODE_DEVICE), "the device",
                               &node->device, err);
}

static troupe_status take_line(const struct decoding *d, troupe_node *node, troupe_error *err)
{
    uint32_t line = 0;
    const msgpack_object *part = tp_form_part(&d->form.value, TP_NODE_LINE);
    if (part->type != MSGPACK_OBJECT_NIL)
        TP_TRY(tp_form_number(part, "the line of a graph node", &line, err));
    node->line = line;
    return TROUPE_OK;
}

static troupe_status add_node(struct decoding *d, troupe_builder *b, uint32_t kind,
                              troupe_error *err)
{
    troupe_node node = {.size = sizeof node};
    const msgpack_object *value = &d->form.value;
    TP_TRY(take_names(d, kind, &node, err));
    TP_TRY(take_line(d, &node, err));
    TP_TRY(take_inputs(d, &node, err));
    TP_TRY(take_results(d, &node, err));
    TP_TRY(tp_form_attrs(&d->form, tp_form_part(value, TP_NODE_ATTRS), &node.attrs,
                         &node.n_attrs, err));
    TP_TRY(take_nodes(b, tp_form_part(value, TP_NODE_AFTER), &d->after, &d->after_room,
                      &node.n_after, err));
    TP_TRY(take_nodes(b, tp_form_part(value, TP_NODE_WITH), &d->with, &d->with_room,
                      &node.n_with, err));
    node.after = d->after;
    node.with = d->with;
    return troupe_builder_node(b, &node, NULL, err);
}

/* -- Bodies -------------------------------------------------------------------------------- */

static troupe_status add_constant(struct decoding *d, troupe_builder *b, troupe_error *err)
{
    const msgpack_object *value = &d->form.value;
    const char *name, *file;
    const troupe_tensor *tensor;
    TP_TRY(tp_form_text(&d->form, tp_form_part(value, TP_CONSTANT_NAME), "a constant's name",
                        &name, err));
    TP_TRY(tp_form_text_or_nil(&d->form, tp_form_part(value, TP_CONSTANT_FILE),
                               "a constant's file", &file, err));
    troupe_status status =
        tp_form_tensor(&d->form, tp_form_part(value, TP_CONSTANT_TENSOR), &tensor, err);
    if (status >= 0) return tp_builder_constant(b, name, tensor, file, NULL, err);
    tp_fail_in(err, "constant '%.60s'", name);
    return status;
}

static troupe_status add_statement(struct decoding *d, troupe_builder *b, troupe_error *err)
{
    uint32_t kind = 0;
    TP_TRY(tp_form_number(tp_form_part(&d->form.value, 0), "what a statement is", &kind, err));
    if (kind == TP_IS_CONSTANT) return add_constant(d, b, err);
    if (kind == TP_IS_OPERATOR || kind == TP_IS_CALL) return add_node(d, b, kind, err);
    return tp_fail(err, TROUPE_CORRUPT, "statements of kind %u are not known here", kind);
}

static troupe_status set_results(struct decoding *d, troupe_builder *b, troupe_error *err)
{
    const msgpack_object_array *list = NULL;
    const msgpack_object *results = tp_form_part(&d->form.value, TP_HEAD_RESULTS);
    TP_TRY(tp_form_list(results, "the results", &list, err));
    for (uint32_t i = 0; i < list->size; i++) {
        uint32_t value = 0;
        TP_TRY(tp_form_number(tp_form_part(&list->ptr[i], 2), "a result's value", &value, err));
        TP_TRY(troupe_builder_result(b, tp_builder_look(b)->results[i].name, value, err));
    }
    return TROUPE_OK;
}

/* The place of an error inside function `part`. */
static troupe_status blame(const struct decoding *d, const struct part *part, uint32_t i,
                           troupe_status status, troupe_error *err)
{
    tp_fail_in(err, "byte %zu, statement %u of '%.60s'", d->form.from, i,
               part->signature->name);
    return status;
}

static troupe_status add_statements(struct decoding *d, const struct part *part,
                                    troupe_builder *b, troupe_error *err)
{
    for (uint32_t i = 0; i < part->statements; i++) {
        TP_TRY(tp_form_next(&d->form, err));
        const troupe_status status = add_statement(d, b, err);
        if (status < 0) return blame(d, part, i, status, err);
    }
    return TROUPE_OK;
}

/* Read the head once more, and come back. */
static troupe_status start_again(struct decoding *d, const struct part *part,
                                 troupe_builder **out, troupe_error *err)
{
    const size_t at = d->form.at;
    d->form.at = part->at;
    TP_TRY(tp_form_next(&d->form, err));
    TP_TRY(start(d, part->signature, out, err));
    d->form.at = at;
    return TROUPE_OK;
}

/* The results' values are in the head, which is read a last time. */
static troupe_status finish(struct decoding *d, struct part *part, troupe_builder **b,
                            troupe_error *err)
{
    const size_t at = d->form.at;
    d->form.at = part->at;
    TP_TRY(tp_form_next(&d->form, err));
    d->form.at = at;
    TP_TRY(set_results(d, *b, err));
    TP_TRY(tp_builder_seal(b, &part->body, err));
    if (part->body->stateful != part->signature->stateful)
        return tp_fail(err, TROUPE_CORRUPT, "function '%.60s' has %seffects", part->body->name,
                       part->body->stateful ? "" : "no ");
    return tp_hash_check(
        part->body->operators
            ? "the hash of the function, or the version of one of its operators"
            : "the hash of the function",
        part->hash, part->body->hash, err);
}

static troupe_status build(struct decoding *d, struct part *part, troupe_error *err)
{
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = NULL;
    TP_TRY(start_again(d, part, &b, err));
    TP_TRY(add_statements(d, part, b, err));
    const troupe_status status = finish(d, part, &b, err);
    if (status < 0)
        tp_fail_in(err, "byte %zu, function '%.60s'", part->at, part->signature->name);
    return status;
}

/* -- All of it ----------------------------------------------------------------------------- */

static troupe_status take_version(struct decoding *d, troupe_error *err)
{
    uint32_t version = 0;
    TP_TRY(tp_form_next(&d->form, err));
    TP_TRY(tp_form_number(tp_form_part(&d->form.value, TP_ALL_VERSION), "the version", &version,
                          err));
    if (version == TP_FUNCTION_VERSION) return TROUPE_OK;
    return tp_fail(err, TROUPE_UNSUPPORTED, "functions of version %u; here it is %d", version,
                   TP_FUNCTION_VERSION);
}

/* How many functions, and the main one. */
static troupe_status take_counts(struct decoding *d, uint32_t *n, troupe_error *err)
{
    const msgpack_object *all = &d->form.value;
    const msgpack_object *main = tp_form_part(all, TP_ALL_MAIN);
    TP_TRY(
        tp_form_number(tp_form_part(all, TP_ALL_FUNCTIONS), "the number of functions", n, err));
    d->main = TP_NO_NODE;
    if (main->type == MSGPACK_OBJECT_NIL) return TROUPE_OK; /* none is the main one */
    TP_TRY(tp_form_number(main, "the main function", &d->main, err));
    if (d->main < *n) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT, "the main function is number %u of %u", d->main, *n);
}

static troupe_status take_heads(struct decoding *d, troupe_error *err)
{
    uint32_t n = 0;
    TP_TRY(take_version(d, err));
    TP_TRY(take_counts(d, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        TP_TRY(tp_form_next(&d->form, err));
        const troupe_status status = take_head(d, err);
        if (status >= 0) continue;
        tp_fail_in(err, "byte %zu, function %u", d->form.from, i);
        return status;
    }
    return TROUPE_OK;
}

/* Nothing may be left over. */
static troupe_status check_end(const struct decoding *d, troupe_error *err)
{
    const struct tp_wire *wire = d->form.wire;
    if (d->form.at < wire->head.size)
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: %zu bytes follow the last function",
                       d->form.at, wire->head.size - d->form.at);
    for (size_t i = 0; i < wire->n_frames; i++)
        if (wire->frames[i].buffer)
            return tp_fail(err, TROUPE_CORRUPT, "frame %zu is no tensor's", i);
    return TROUPE_OK;
}

static troupe_status hand_out(struct decoding *d, struct tp_bodies *out, troupe_error *err)
{
    struct tp_function **list = tp_alloc_array(d->n, sizeof *list);
    if (!list) return tp_fail_memory(err, d->n * sizeof *list);
    for (uint32_t i = 0; i < d->n; i++) {
        list[i] = d->list[i].body;
        d->list[i].body = NULL;
    }
    *out = (struct tp_bodies){list, d->n, d->main, d->operators};
    return TROUPE_OK;
}

static troupe_status decode(struct decoding *d, struct tp_wire *wire, struct tp_bodies *out,
                            troupe_error *err)
{
    TP_TRY(tp_form_init(&d->form, wire, err));
    TP_TRY(tp_arena_new(&d->arena, err));
    TP_TRY(take_heads(d, err));
    for (uint32_t i = 0; i < d->n; i++)
        TP_TRY(build(d, &d->list[i], err));
    TP_TRY(check_end(d, err));
    return hand_out(d, out, err);
}

troupe_status tp_bodies_decode(struct tp_wire *wire, const char *source, struct tp_bodies *out,
                               troupe_error *err)
{
    TP_OWNED(decoding_fini) struct decoding d = {.source = source, .operators = out->operators};
    return tp_form_outside(decode(&d, wire, out, err), err);
}
