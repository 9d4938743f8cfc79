/* SPDX-License-Identifier: MIT
 *
 * graph/json.c - a function and those that it calls as JSON.
 *
 * JSON's texts are UTF-8, so bytes of a name or string that are not become U+FFFD. Numbers that
 * JSON lacks become texts. jansson gives NULL for all of its failures; with texts and numbers
 * made fit before, what is left is that there is no memory.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/bind.h"
#include "graph/show.h"
#include "tensor/tensor.h"
#include "tensor/utf8.h"

#define INLINE_ELEMENTS 64 /* a tensor of more is shown by its type and hash */

static void drop(json_t **json)
{
    json_decref(*json);
    *json = NULL;
}

static json_t *make_text(const char *text, size_t size)
{
    json_t *json = json_stringn(text, size);
    if (json) return json;
    TP_OWNED(tp_text_fini) struct tp_text fit = {0};
    tp_utf8_fit(text, size, &fit);
    return fit.failed || !fit.data ? NULL : json_stringn(fit.data, fit.size);
}

static json_t *make_word(const char *text)
{
    return make_text(text, strlen(text));
}

static json_t *make_float(double number)
{
    if (isfinite(number)) return json_real(number);
    return json_string(isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

/* These take over `value`, also when they fail; a NULL value is a failure. */
static bool put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static bool append(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) == 0;
}

static json_t *make_type(const struct tp_function *f, const struct tp_type *type)
{
    TP_OWNED(tp_free_at) char *text = NULL;
    const size_t size = tp_type_show(type, f->dims, NULL, 0);
    text = tp_alloc(size + 1);
    if (!text) return NULL;
    tp_type_show(type, f->dims, text, size + 1);
    return make_text(text, size);
}

static json_t *make_tensor_text(const troupe_tensor *tensor)
{
    TP_OWNED(tp_free_at) char *text = NULL;
    const size_t size = troupe_tensor_show(tensor, 0, NULL, 0);
    text = tp_alloc(size + 1);
    if (!text) return NULL;
    troupe_tensor_show(tensor, 0, text, size + 1);
    return make_text(text, size);
}

/* Into an object: a small tensor as text, of a large one only the hash. */
static bool put_tensor(json_t *object, const char *name, const troupe_tensor *tensor,
                       const uint64_t *content)
{
    char hash[40];
    if (tensor->count <= INLINE_ELEMENTS || !content)
        return put(object, name, make_tensor_text(tensor));
    snprintf(hash, sizeof(hash), "%016llx%016llx", (unsigned long long)content[0],
             (unsigned long long)content[1]);
    return put(object, "hash", json_string(hash));
}

static json_t *make_items(const troupe_attr *attr)
{
    TP_OWNED(drop) json_t *list = json_array();
    for (size_t i = 0; i < attr->n; i++) {
        json_t *item = attr->kind == TROUPE_ATTR_INTS     ? json_integer(attr->ints[i])
                       : attr->kind == TROUPE_ATTR_FLOATS ? make_float(attr->floats[i])
                                                          : make_word(attr->texts[i]);
        if (!append(list, item)) return NULL;
    }
    json_t *out = list;
    list = NULL;
    return out;
}

static json_t *make_attr(const troupe_attr *attr)
{
    switch (attr->kind) {
    case TROUPE_ATTR_INT:
        return json_integer(attr->i);
    case TROUPE_ATTR_FLOAT:
        return make_float(attr->f);
    case TROUPE_ATTR_STRING:
        return make_text(attr->text, attr->n);
    case TROUPE_ATTR_INTS:
    case TROUPE_ATTR_FLOATS:
    case TROUPE_ATTR_STRINGS:
        return make_items(attr);
    case TROUPE_ATTR_TENSOR:
        return make_tensor_text(attr->tensor);
    case TROUPE_ATTR_DTYPE:
        return json_string(troupe_dtype_name(attr->dtype));
    case TROUPE_ATTR_FUNCTION:
        return make_word(attr->text);
    }
    return NULL;
}

static json_t *make_attrs(const struct tp_node *node)
{
    TP_OWNED(drop) json_t *object = json_object();
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (!put(object, node->attrs[i].name, make_attr(&node->attrs[i]))) return NULL;
    }
    json_t *out = object;
    object = NULL;
    return out;
}

/* Names of values; null for absent ones. */
static json_t *make_values(const struct tp_function *f, const uint32_t *list, uint32_t n)
{
    TP_OWNED(drop) json_t *array = json_array();
    for (uint32_t i = 0; i < n; i++) {
        const bool absent = list[i] == TP_NO_VALUE;
        if (!append(array, absent ? json_null() : make_word(f->values[list[i]].name)))
            return NULL;
    }
    json_t *out = array;
    array = NULL;
    return out;
}

static json_t *make_nodes(const struct tp_function *f, const uint32_t *list, uint32_t n)
{
    TP_OWNED(drop) json_t *array = json_array();
    for (uint32_t i = 0; i < n; i++) {
        if (!append(array, make_word(f->nodes[list[i]].name))) return NULL;
    }
    json_t *out = array;
    array = NULL;
    return out;
}

static bool fill_node(json_t *object, const struct tp_function *f, const struct tp_node *node)
{
    const char *target = node->op ? node->op->name : node->callee;
    const struct tp_name_text device = tp_name_text(&node->device);
    return put(object, "name", make_word(node->name)) &&
           put(object, node->op ? "op" : "function", make_word(target)) &&
           put(object, "inputs", make_values(f, node->inputs, node->n_inputs)) &&
           put(object, "results", make_values(f, node->results, node->n_results)) &&
           put(object, "attrs", make_attrs(node)) &&
           put(object, "device", json_string(device.text)) &&
           put(object, "after", make_nodes(f, node->after, node->n_after)) &&
           put(object, "with", make_nodes(f, node->with, node->n_with)) &&
           put(object, "line", json_integer(node->line));
}

static bool append_node(json_t *array, const struct tp_function *f, const struct tp_node *node)
{
    json_t *object = json_object();
    const bool full = fill_node(object, f, node);
    return append(array, object) && full;
}

static bool append_arg(json_t *array, const struct tp_function *f, const struct tp_value *value)
{
    json_t *object = json_object();
    const bool full =
        put(object, "name", make_word(value->name)) &&
        put(object, "type", make_type(f, &value->type)) &&
        (!value->constant || put_tensor(object, "default", value->constant, value->content));
    return append(array, object) && full;
}

static bool append_constant(json_t *array, const struct tp_function *f,
                            const struct tp_value *value)
{
    json_t *object = json_object();
    const bool full = put(object, "name", make_word(value->name)) &&
                      put(object, "type", make_type(f, &value->type)) &&
                      put_tensor(object, "value", value->constant, value->content) &&
                      (!value->file || put(object, "file", make_word(value->file)));
    return append(array, object) && full;
}

static bool append_result(json_t *array, const struct tp_function *f,
                          const struct tp_result *result)
{
    json_t *object = json_object();
    const bool full = put(object, "name", make_word(result->name)) &&
                      put(object, "type", make_type(f, &result->type)) &&
                      put(object, "value", make_word(f->values[result->value].name));
    return append(array, object) && full;
}

/* A new list in the object, which owns it; NULL: no memory. */
static json_t *put_list(json_t *object, const char *name)
{
    json_t *array = json_array();
    return put(object, name, array) ? array : NULL;
}

static bool put_args(json_t *object, const struct tp_function *f)
{
    json_t *array = put_list(object, "args");
    bool full = array != NULL;
    for (uint32_t i = 0; full && i < f->n_args; i++)
        full = append_arg(array, f, &f->values[i]);
    return full;
}

static bool put_results(json_t *object, const struct tp_function *f)
{
    json_t *array = put_list(object, "results");
    bool full = array != NULL;
    for (uint32_t i = 0; full && i < f->n_results; i++)
        full = append_result(array, f, &f->results[i]);
    return full;
}

static bool put_nodes(json_t *object, const struct tp_function *f)
{
    json_t *array = put_list(object, "nodes");
    bool full = array != NULL;
    for (uint32_t i = 0; full && i < f->n_nodes; i++)
        full = append_node(array, f, &f->nodes[i]);
    return full;
}

static bool put_constants(json_t *object, const struct tp_function *f)
{
    json_t *array = put_list(object, "constants");
    bool full = array != NULL;
    for (uint32_t i = f->n_args; full && i < f->n_values; i++) {
        if (f->values[i].node == TP_NO_NODE) full = append_constant(array, f, &f->values[i]);
    }
    return full;
}

static bool append_function(json_t *array, const struct tp_function *f)
{
    json_t *object = json_object();
    const bool full = put(object, "name", make_word(f->name)) && put_args(object, f) &&
                      put_results(object, f) && put_nodes(object, f) &&
                      put_constants(object, f);
    return append(array, object) && full;
}

static int take_piece(const char *piece, size_t size, void *out)
{
    struct tp_text *text = out;
    tp_text_add_bytes(text, piece, size);
    return text->failed ? -1 : 0;
}

static bool make_root(const struct tp_function *const *list, size_t n, json_t *root)
{
    json_t *array = json_array();
    bool full = put(root, "format", json_integer(TROUPE_JSON_FORMAT)) && array != NULL;
    for (size_t i = 0; full && i < n; i++)
        full = append_function(array, list[i]);
    return put(root, "functions", array) && full;
}

troupe_status tp_show_json(const troupe_function *function, struct tp_text *out,
                           troupe_error *err)
{
    TP_OWNED(tp_free_at) const struct tp_function **list = NULL;
    size_t n;
    TP_TRY(tp_function_reached(function, &list, &n, err));
    TP_OWNED(drop) json_t *root = json_object();
    if (!make_root(list, n, root)) return tp_fail_memory(err, n);
    if (json_dump_callback(root, take_piece, out, JSON_INDENT(2)) != 0)
        return tp_fail_memory(err, out->size);
    tp_text_add(out, "\n");
    return TROUPE_OK;
}
