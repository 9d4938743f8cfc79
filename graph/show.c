/* SPDX-License-Identifier: MIT
 *
 * graph/show.c - a function in the text form; reading it gives an equal function.
 *
 * Constants stand where they were added, among the graph nodes, since values are numbered in
 * that order.
 */
#include "graph/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "graph/hash.h"
#include "graph/word.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

static void show_type(const struct tp_function *f, const struct tp_type *type,
                      struct tp_text *out)
{
    char text[256];
    const size_t size = tp_type_show(type, f->dims, text, sizeof(text));
    if (size < sizeof(text)) {
        tp_text_add_bytes(out, text, size);
        return;
    }
    char *whole = tp_alloc(size + 1);
    if (!whole) {
        out->failed = 1;
        return;
    }
    tp_type_show(type, f->dims, whole, size + 1);
    tp_text_add_bytes(out, whole, size);
    tp_free(whole);
}

static void show_tensor(const troupe_tensor *tensor, struct tp_text *out)
{
    char text[256];
    const size_t size = troupe_tensor_show(tensor, 0, text, sizeof(text));
    if (size < sizeof(text)) {
        tp_text_add_bytes(out, text, size);
        return;
    }
    char *whole = tp_alloc(size + 1);
    if (!whole) {
        out->failed = 1;
        return;
    }
    troupe_tensor_show(tensor, 0, whole, size + 1);
    tp_text_add_bytes(out, whole, size);
    tp_free(whole);
}

/* With a point or an exponent, so that it is read as a float. */
static void show_float(double number, struct tp_text *out)
{
    char text[TP_NUMBER_TEXT];
    tp_number_show(TROUPE_F64, &number, text);
    tp_text_add(out, "%s%s", text, strpbrk(text, ".ein") ? "" : ".0");
}

static void show_item(const troupe_attr *attr, size_t i, struct tp_text *out)
{
    if (attr->kind == TROUPE_ATTR_INTS) tp_text_add(out, "%" PRId64, attr->ints[i]);
    if (attr->kind == TROUPE_ATTR_FLOATS) show_float(attr->floats[i], out);
    if (attr->kind == TROUPE_ATTR_STRINGS)
        tp_word_quote(attr->texts[i], strlen(attr->texts[i]), out);
}

static void show_list(const troupe_attr *attr, struct tp_text *out)
{
    tp_text_add(out, "[");
    for (size_t i = 0; i < attr->n; i++) {
        if (i > 0) tp_text_add(out, ", ");
        show_item(attr, i, out);
    }
    tp_text_add(out, "]");
}

static void show_value(const troupe_attr *attr, struct tp_text *out)
{
    switch (attr->kind) {
    case TROUPE_ATTR_INT:
        tp_text_add(out, "%" PRId64, attr->i);
        break;
    case TROUPE_ATTR_FLOAT:
        show_float(attr->f, out);
        break;
    case TROUPE_ATTR_STRING:
        tp_word_quote(attr->text, attr->n, out);
        break;
    case TROUPE_ATTR_INTS:
    case TROUPE_ATTR_FLOATS:
    case TROUPE_ATTR_STRINGS:
        show_list(attr, out);
        break;
    case TROUPE_ATTR_TENSOR:
        show_tensor(attr->tensor, out);
        break;
    case TROUPE_ATTR_DTYPE:
        tp_text_add(out, "%s", troupe_dtype_name(attr->dtype));
        break;
    case TROUPE_ATTR_FUNCTION:
        tp_text_add(out, "&");
        tp_word_show(attr->text, out);
        break;
    }
}

static void show_attr(const troupe_attr *attr, struct tp_text *out)
{
    tp_word_show(attr->name, out);
    tp_text_add(out, "=");
    show_value(attr, out);
}

static void show_values(const struct tp_function *f, const uint32_t *list, uint32_t n,
                        struct tp_text *out)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) tp_text_add(out, ", ");
        if (list[i] == TP_NO_VALUE) {
            tp_text_add(out, "_");
        } else {
            tp_word_show(f->values[list[i]].name, out);
        }
    }
}

static void show_nodes(const struct tp_function *f, const char *word, const uint32_t *list,
                       uint32_t n, struct tp_text *out)
{
    for (uint32_t i = 0; i < n; i++) {
        tp_text_add(out, "%s", i ? ", " : word);
        tp_word_show(f->nodes[list[i]].name, out);
    }
}

/* The name that the reader would give a graph node that says none: its first result's, else the
 * operator's with the graph node's number. */
static bool has_own_name(const struct tp_function *f, uint32_t i)
{
    const struct tp_node *node = &f->nodes[i];
    const char *target = node->op ? node->op->name : node->callee;
    const size_t size = strlen(target);
    char number[16];
    if (node->n_results && node->results[0] != TP_NO_VALUE)
        return strcmp(node->name, f->values[node->results[0]].name) != 0;
    snprintf(number, sizeof(number), "_%u", i);
    return strncmp(node->name, target, size) != 0 || strcmp(node->name + size, number) != 0;
}

static void show_operands(const struct tp_function *f, const struct tp_node *node,
                          struct tp_text *out)
{
    tp_word_show(node->op ? node->op->name : node->callee, out);
    tp_text_add(out, "(");
    show_values(f, node->inputs, node->n_inputs, out);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (i > 0 || node->n_inputs) tp_text_add(out, ", ");
        show_attr(&node->attrs[i], out);
    }
    tp_text_add(out, ")");
}

static void show_device(const struct tp_name *device, struct tp_text *out)
{
    static const char prefix[] = "/device:";
    if (tp_name_empty(device)) return;
    const struct tp_name_text name = tp_name_text(device);
    const bool is_short = device->id != TP_UNSET && strncmp(name.text, prefix, 8) == 0;
    tp_text_add(out, " @%s", name.text + (is_short ? 8 : 0));
}

static void show_node(const struct tp_function *f, uint32_t i, struct tp_text *out)
{
    const struct tp_node *node = &f->nodes[i];
    tp_text_add(out, "    ");
    if (has_own_name(f, i)) {
        tp_word_show(node->name, out);
        tp_text_add(out, ": ");
    }
    show_values(f, node->results, node->n_results, out);
    if (node->n_results) tp_text_add(out, " = ");
    show_operands(f, node, out);
    show_device(&node->device, out);
    show_nodes(f, " after ", node->after, node->n_after, out);
    show_nodes(f, " with ", node->with, node->n_with, out);
    tp_text_add(out, "\n");
}

/* `checked`: with the checksum of what is in the file. */
static void show_constant(const struct tp_function *f, const struct tp_value *value,
                          const char *file, bool checked, struct tp_text *out)
{
    tp_text_add(out, "    ");
    tp_word_show(value->name, out);
    tp_text_add(out, " = ");
    if (file) {
        show_type(f, &value->type, out);
        tp_text_add(out, " file ");
        tp_word_quote(file, strlen(file), out);
        if (checked) tp_text_add(out, " xxh3 \"%s\"", tp_hash_text(value->content).text);
    } else {
        show_tensor(value->constant, out);
    }
    tp_text_add(out, "\n");
}

/* Where constants are: in these files, or where they came from. */
static const char *file_of(const struct tp_function *f, const char *const *files, uint32_t v)
{
    return files ? files[v] : f->values[v].file;
}

/* The constants from *at on that come before value `end`. */
static void show_constants(const struct tp_function *f, const char *const *files, uint32_t *at,
                           uint32_t end, struct tp_text *out)
{
    for (; *at < end; (*at)++) {
        if (f->values[*at].node == TP_NO_NODE)
            show_constant(f, &f->values[*at], file_of(f, files, *at), files != NULL, out);
    }
}

/* The first value that the graph node makes; none: TP_NO_VALUE. */
static uint32_t first_made(const struct tp_node *node)
{
    for (uint32_t i = 0; i < node->n_results; i++) {
        if (node->results[i] != TP_NO_VALUE) return node->results[i];
    }
    return TP_NO_VALUE;
}

/* The first value that has to be there before graph node i stands: the one behind its last
 * input. */
static uint32_t last_needed(const struct tp_node *node)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != TP_NO_VALUE && node->inputs[i] >= end) end = node->inputs[i] + 1;
    }
    return end;
}

static void show_body(const struct tp_function *f, const char *const *files,
                      struct tp_text *out)
{
    uint32_t at = f->n_args;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const uint32_t first = first_made(&f->nodes[i]);
        show_constants(f, files, &at, first == TP_NO_VALUE ? last_needed(&f->nodes[i]) : first,
                       out);
        show_node(f, i, out);
    }
    show_constants(f, files, &at, f->n_values, out);
}

static void show_arg(const struct tp_function *f, uint32_t i, struct tp_text *out)
{
    const struct tp_value *arg = &f->values[i];
    if (i > 0) tp_text_add(out, ", ");
    tp_word_show(arg->name, out);
    tp_text_add(out, ": ");
    show_type(f, &arg->type, out);
    if (!arg->constant) return;
    tp_text_add(out, " = ");
    show_tensor(arg->constant, out);
}

static void show_result(const struct tp_function *f, uint32_t i, struct tp_text *out)
{
    const struct tp_result *result = &f->results[i];
    const char *value = result->value == TP_NO_VALUE ? "_" : f->values[result->value].name;
    if (i > 0) tp_text_add(out, ", ");
    tp_word_show(result->name, out);
    tp_text_add(out, ": ");
    show_type(f, &result->type, out);
    if (strcmp(result->name, value) == 0) return;
    tp_text_add(out, " = ");
    tp_word_show(value, out);
}

void tp_show_text_with(const struct tp_function *f, const char *const *files,
                       struct tp_text *out)
{
    tp_text_add(out, "function ");
    tp_word_show(f->name, out);
    tp_text_add(out, "(");
    for (uint32_t i = 0; i < f->n_args; i++)
        show_arg(f, i, out);
    tp_text_add(out, ")");
    if (f->n_results) tp_text_add(out, " -> (");
    for (uint32_t i = 0; i < f->n_results; i++)
        show_result(f, i, out);
    tp_text_add(out, f->n_results ? ")\n" : "\n");
    show_body(f, files, out);
}

void tp_show_text(const struct tp_function *f, struct tp_text *out)
{
    tp_show_text_with(f, NULL, out);
}
