/* SPDX-License-Identifier: MIT
 *
 * graph/read_build.c - one function of a text, by way of the builder.
 *
 * The builder does the checking; what is done here is to look names up and to say where a
 * failure stands in the text.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/hash.h"
#include "graph/reader.h"

/* A type of the text, so that what is wrong with it is told at its byte. */
static troupe_status read_type(struct tp_reader *r, troupe_builder *b,
                               const struct tp_said *said, struct tp_type *out,
                               troupe_error *err)
{
    size_t where = 0;
    const troupe_status status = tp_builder_type(b, said->text, out, &where, err);
    if (status >= 0) return TROUPE_OK;
    const struct tp_token from = {.at = said->text, .place = said->place};
    tp_reader_blame(r, tp_lex_place(&from, said->text + where), err);
    return status;
}

static troupe_status add_arg(struct tp_reader *r, troupe_builder *b,
                             const struct tp_said_arg *arg, troupe_error *err)
{
    struct tp_type type;
    TP_TRY(read_type(r, b, &arg->type, &type, err));
    const troupe_status status =
        troupe_builder_arg_default(b, arg->name.text, arg->type.text, arg->value, NULL, err);
    if (status < 0) tp_reader_blame(r, arg->name.place, err);
    return status;
}

/* All are declared, so that they are in order; "?" where the text leaves the type to inference.
 */
static troupe_status declare(struct tp_reader *r, troupe_builder *b,
                             const struct tp_said_result *result, troupe_error *err)
{
    struct tp_type type;
    const char *text = result->type.text;
    if (text) TP_TRY(read_type(r, b, &result->type, &type, err));
    const troupe_status status =
        troupe_builder_declare_result(b, result->name.text, text ? text : "?", err);
    if (status < 0) tp_reader_blame(r, result->name.place, err);
    return status;
}

static troupe_status set_result(struct tp_reader *r, troupe_builder *b,
                                const struct tp_said_result *result, troupe_error *err)
{
    const uint32_t v = tp_builder_find_value(b, result->value.text);
    if (v == TP_NO_VALUE) {
        return tp_lex_fail(r->parsed.source, result->value.place, err,
                           "result '%s': there is no value '%s' in the body", result->name.text,
                           result->value.text);
    }
    const troupe_status status = troupe_builder_result(b, result->name.text, v, err);
    if (status < 0) tp_reader_blame(r, result->name.place, err);
    return status;
}

static troupe_status check_sum(const struct tp_said_tensor *said, const troupe_tensor *tensor,
                               troupe_error *err)
{
    uint64_t hash[2];
    if (!said->checksum.text) return TROUPE_OK; /* it has none */
    TP_TRY(tp_hash_tensor(tensor, hash, err));
    const struct tp_hash_text found = tp_hash_text(hash);
    if (strcmp(said->checksum.text, found.text) == 0) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT, "the checksum of '%.80s': %.40s was expected, it is %s",
                   said->file.text, said->checksum.text, found.text);
}

static troupe_status read_file(struct tp_reader *r, troupe_builder *b,
                               const struct tp_said_tensor *said, troupe_tensor **out,
                               troupe_error *err)
{
    struct tp_type type;
    TP_TRY(read_type(r, b, &said->type, &type, err));
    troupe_status status = tp_read_constant(r->parsed.source, said->file.text, &type, out, err);
    if (status >= 0) status = check_sum(said, *out, err);
    if (status < 0) tp_reader_blame(r, said->file.place, err);
    return status;
}

static troupe_status add_constant(struct tp_reader *r, troupe_builder *b,
                                  const struct tp_statement *s, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *read = NULL;
    const struct tp_said_tensor *said = &s->constant;
    if (!said->tensor) TP_TRY(read_file(r, b, said, &read, err));
    const troupe_status status = tp_builder_constant(
        b, s->name.text, read ? read : said->tensor, said->file.text, NULL, err);
    if (status < 0) tp_reader_blame(r, s->name.place, err);
    return status;
}

static troupe_status find_inputs(struct tp_reader *r, const troupe_builder *b,
                                 const struct tp_statement *s, troupe_error *err)
{
    if (s->n_inputs == 0) return TROUPE_OK; /* none */
    TP_TRY(tp_grow(&r->inputs, s->n_inputs - 1, &r->inputs_room, sizeof(r->inputs[0]), err));
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const struct tp_said *said = &s->inputs[i];
        r->inputs[i] = said->text ? tp_builder_find_value(b, said->text) : TP_NO_VALUE;
        if (r->inputs[i] != TP_NO_VALUE || !said->text) continue;
        return tp_lex_fail(r->parsed.source, said->place, err,
                           "input %u: there is no value '%s' before this line", i, said->text);
    }
    return TROUPE_OK;
}

static size_t put_names(const char **out, const struct tp_said *said, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = said[i].text ? said[i].text : "";
    return n;
}

/* The names of results, of `after` and of `with`, one list behind the other. */
static troupe_status collect_names(struct tp_reader *r, const struct tp_statement *s,
                                   troupe_node *node, troupe_error *err)
{
    const size_t n = (size_t)s->n_targets + s->n_after + s->n_with;
    if (n == 0) return TROUPE_OK; /* it has none of them */
    TP_TRY(tp_grow(&r->names, n - 1, &r->names_room, sizeof(r->names[0]), err));
    const char **at = r->names;
    node->result_names = at;
    node->n_results = put_names(at, s->targets, s->n_targets);
    node->after = at += s->n_targets;
    node->n_after = put_names(at, s->after, s->n_after);
    node->with = at += s->n_after;
    node->n_with = put_names(at, s->with, s->n_with);
    return TROUPE_OK;
}

/* How many floats the integers of an attribute would need, were they meant as floats. */
static size_t count_floats(const struct tp_statement *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        if (s->attrs[i].attr.kind == TROUPE_ATTR_INTS) n += s->attrs[i].attr.n;
    }
    return n;
}

/* Numbers without a point are floats where the operator wants floats; an empty list is what it
 * wants. */
static void adapt(const struct tp_op *op, troupe_attr *attr, double **floats)
{
    const struct tp_attr_spec *spec = op->attrs;
    while (spec && spec->name && strcmp(spec->name, attr->name) != 0)
        spec++;
    if (!spec || !spec->name) return;
    if (attr->kind == TROUPE_ATTR_INT && spec->kind == TROUPE_ATTR_FLOAT) {
        attr->kind = TROUPE_ATTR_FLOAT;
        attr->f = (double)attr->i;
    } else if (attr->kind == TROUPE_ATTR_INTS && spec->kind == TROUPE_ATTR_FLOATS) {
        for (size_t i = 0; i < attr->n; i++)
            (*floats)[i] = (double)attr->ints[i];
        attr->kind = TROUPE_ATTR_FLOATS;
        attr->floats = *floats;
        if (attr->n) *floats += attr->n;
    } else if (attr->kind == TROUPE_ATTR_INTS && attr->n == 0 &&
               spec->kind == TROUPE_ATTR_STRINGS) {
        attr->kind = TROUPE_ATTR_STRINGS;
        attr->texts = NULL;
    }
}

static troupe_status collect_attrs(struct tp_reader *r, const struct tp_statement *s,
                                   const struct tp_op *op, troupe_error *err)
{
    const size_t n_floats = count_floats(s);
    if (s->n_attrs)
        TP_TRY(tp_grow(&r->attrs, s->n_attrs - 1, &r->attrs_room, sizeof(r->attrs[0]), err));
    if (n_floats)
        TP_TRY(tp_grow(&r->floats, n_floats - 1, &r->floats_room, sizeof(r->floats[0]), err));
    double *floats = r->floats;
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        r->attrs[i] = s->attrs[i].attr;
        if (op) adapt(op, &r->attrs[i], &floats);
    }
    return TROUPE_OK;
}

static bool knows(const struct tp_op *op, const troupe_attr *attr)
{
    for (const struct tp_attr_spec *spec = op->attrs; spec && spec->name; spec++) {
        if (strcmp(spec->name, attr->name) == 0) return spec->kind == attr->kind;
    }
    return false;
}

/* The most likely place of what the builder refused. */
static struct tp_place find_blame(const struct tp_reader *r, const troupe_builder *b,
                                  const struct tp_statement *s)
{
    struct tp_name name;
    const struct tp_op *op = tp_operators_find(r->finder.operators, s->op.text);
    if (s->device.text && tp_name_parse(s->device.text, &name, NULL) < 0)
        return s->device.place;
    for (uint32_t i = 0; i < s->n_after; i++) {
        if (tp_builder_find_node(b, s->after[i].text) == TP_NO_NODE) return s->after[i].place;
    }
    for (uint32_t i = 0; i < s->n_with; i++) {
        if (tp_builder_find_node(b, s->with[i].text) == TP_NO_NODE) return s->with[i].place;
    }
    for (uint32_t i = 0; op && i < s->n_attrs; i++) {
        if (!knows(op, &r->attrs[i])) return s->attrs[i].place;
    }
    return s->op.place;
}

static bool is_function(const struct tp_reader *r, const troupe_builder *b, const char *name)
{
    if (strcmp(name, tp_builder_look(b)->name) == 0) return true;
    return r->finder.find(r->finder.arg, name) != NULL;
}

static troupe_status add_node(struct tp_reader *r, troupe_builder *b,
                              const struct tp_statement *s, troupe_error *err)
{
    const struct tp_op *op = tp_operators_find(r->finder.operators, s->op.text);
    const bool call = !op && is_function(r, b, s->op.text);
    troupe_node node = {.size = sizeof(node), .line = s->op.place.line};
    TP_TRY(find_inputs(r, b, s, err));
    TP_TRY(collect_names(r, s, &node, err));
    TP_TRY(collect_attrs(r, s, op, err));
    node.op = call ? NULL : s->op.text;
    node.function = call ? s->op.text : NULL;
    node.name = s->name.text;
    node.device = s->device.text;
    node.inputs = r->inputs;
    node.n_inputs = s->n_inputs;
    node.attrs = r->attrs;
    node.n_attrs = s->n_attrs;
    const troupe_status status = troupe_builder_node(b, &node, NULL, err);
    if (status < 0) tp_reader_blame(r, find_blame(r, b, s), err);
    return status;
}

static troupe_status add_head(struct tp_reader *r, troupe_builder *b,
                              const struct tp_definition *d, troupe_error *err)
{
    for (uint32_t i = 0; i < d->n_args; i++)
        TP_TRY(add_arg(r, b, &d->args[i], err));
    for (uint32_t i = 0; i < d->n_results; i++)
        TP_TRY(declare(r, b, &d->results[i], err));
    return TROUPE_OK;
}

static troupe_status add_body(struct tp_reader *r, troupe_builder *b,
                              const struct tp_definition *d, troupe_error *err)
{
    for (const struct tp_statement *s = d->first; s; s = s->next) {
        if (s->op.text) {
            TP_TRY(add_node(r, b, s, err));
        } else {
            TP_TRY(add_constant(r, b, s, err));
        }
    }
    for (uint32_t i = 0; i < d->n_results; i++)
        TP_TRY(set_result(r, b, &d->results[i], err));
    return TROUPE_OK;
}

static troupe_status start(struct tp_reader *r, const struct tp_definition *d,
                           troupe_builder **out, troupe_error *err)
{
    const troupe_status status = tp_builder_new(out, d->name.text, &r->finder, err);
    if (status < 0) tp_reader_blame(r, d->name.place, err);
    return status;
}

troupe_status tp_reader_build(struct tp_reader *r, struct tp_reading *reading,
                              troupe_error *err)
{
    const struct tp_definition *d = reading->said;
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = NULL;
    TP_TRY(start(r, d, &b, err));
    TP_TRY(tp_builder_source(b, r->parsed.source, err));
    TP_TRY(add_head(r, b, d, err));
    TP_TRY(add_body(r, b, d, err));
    return tp_builder_seal(&b, &reading->body, err);
}

static troupe_status check_declared(struct tp_reader *r, const struct tp_definition *d,
                                    const struct tp_function *f, struct tp_place call,
                                    troupe_error *err)
{
    for (uint32_t i = 0; i < d->n_results; i++) {
        if (f->results[i].type.dtype != TROUPE_DTYPE_NONE) continue;
        return tp_lex_fail(
            r->parsed.source, call, err,
            "a circle of calls leads through '%s': declare the type of its result "
            "'%s' in line %u",
            d->name.text, d->results[i].name.text, d->results[i].name.place.line);
    }
    return TROUPE_OK;
}

troupe_status tp_reader_sign(struct tp_reader *r, struct tp_reading *reading,
                             struct tp_place call, troupe_error *err)
{
    const struct tp_definition *d = reading->said;
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = NULL;
    TP_TRY(start(r, d, &b, err));
    TP_TRY(add_head(r, b, d, err));
    TP_TRY(check_declared(r, d, tp_builder_look(b), call, err));
    TP_TRY(tp_builder_sign(&b, &reading->signature, err));
    reading->signature->stateful = reading->stateful;
    return TROUPE_OK;
}
