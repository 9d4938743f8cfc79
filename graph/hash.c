/* SPDX-License-Identifier: MIT
 *
 * graph/hash.c - content hashes of tensors and functions.
 *
 * Small pieces gather in a buffer, since the hash takes long for few bytes.
 */
#include "graph/hash.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "graph/name.h"
#include "graph/operator.h"
#include "tensor/npy.h"
#include "tensor/tensor.h"

struct hasher {
    XXH3_state_t *state;
    size_t n;
    uint8_t bytes[2048];
};

static troupe_status start(struct hasher *h, troupe_error *err)
{
    h->n = 0;
    h->state = XXH3_createState();
    if (!h->state) return tp_fail_memory(err, sizeof(*h));
    XXH3_128bits_reset(h->state);
    return TROUPE_OK;
}

static void flush(struct hasher *h)
{
    XXH3_128bits_update(h->state, h->bytes, h->n);
    h->n = 0;
}

static void put(struct hasher *h, const void *bytes, size_t size)
{
    if (size > sizeof(h->bytes) - h->n) flush(h);
    if (size > sizeof(h->bytes)) {
        XXH3_128bits_update(h->state, bytes, size);
        return;
    }
    if (size) memcpy(h->bytes + h->n, bytes, size);
    h->n += size;
}

static void put_number(struct hasher *h, uint64_t number, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    put(h, bytes, size);
}

static void put_u32(struct hasher *h, uint32_t number)
{
    put_number(h, number, 4);
}

static void put_bytes(struct hasher *h, const char *text, size_t size)
{
    put_number(h, size, 8);
    put(h, text, size);
}

static void put_text(struct hasher *h, const char *text)
{
    const size_t size = strlen(text);
    put_u32(h, (uint32_t)size);
    put(h, text, size);
}

static void put_list(struct hasher *h, const uint32_t *list, uint32_t n)
{
    put_u32(h, n);
    for (uint32_t i = 0; i < n; i++)
        put_u32(h, list[i]);
}

static void finish(struct hasher *h, uint64_t out[2])
{
    flush(h);
    const XXH128_hash_t hash = XXH3_128bits_digest(h->state);
    XXH3_freeState(h->state);
    out[0] = hash.high64;
    out[1] = hash.low64;
}

static void put_shape(struct hasher *h, const struct tp_shape *shape, const char *const *names)
{
    put_u32(h, (uint32_t)shape->rank);
    for (int i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dims[i];
        const bool named = dim < TP_DIM_ANY;
        put_number(h, named ? (uint64_t)INT64_MIN : (uint64_t)dim, 8);
        if (named) put_text(h, names[TP_DIM_NAME(dim)]);
    }
}

static void put_type(struct hasher *h, const struct tp_type *type, const char *const *names)
{
    put_u32(h, type->dtype);
    put_shape(h, &type->shape, names);
}

/* On a big-endian machine: by way of a block that is turned round. */
static void put_swapped(struct hasher *h, const char *data, size_t size, size_t unit)
{
    char block[4096];
    for (size_t n; size > 0; data += n, size -= n) {
        n = size < sizeof(block) ? size : sizeof(block);
        memcpy(block, data, n);
        tp_npy_swap(block, n / unit, unit);
        put(h, block, n);
    }
}

static void put_elements(struct hasher *h, const troupe_tensor *tensor)
{
    const troupe_dtype dtype = tensor->type.dtype;
    if (dtype != TROUPE_STRING && tp_npy_host_big() && tp_dtype_unit(dtype) > 1) {
        put_swapped(h, troupe_tensor_data(tensor), troupe_tensor_size(tensor),
                    tp_dtype_unit(dtype));
        return;
    }
    if (dtype != TROUPE_STRING) {
        put(h, troupe_tensor_data(tensor), troupe_tensor_size(tensor));
        return;
    }
    for (size_t i = 0; i < tensor->count; i++) {
        size_t size = 0;
        const char *text = troupe_tensor_string(tensor, i, &size);
        put_bytes(h, text, size);
    }
}

static void put_tensor(struct hasher *h, const troupe_tensor *tensor)
{
    put_type(h, &tensor->type, NULL);
    put_elements(h, tensor);
}

troupe_status tp_hash_tensor(const troupe_tensor *tensor, uint64_t out[2], troupe_error *err)
{
    struct hasher h;
    TP_TRY(start(&h, err));
    put_tensor(&h, tensor);
    finish(&h, out);
    return TROUPE_OK;
}

/* The bits of a double; all that are no number are one. */
static void put_double(struct hasher *h, double number)
{
    uint64_t bits = UINT64_C(0x7ff8000000000000);
    if (!isnan(number)) memcpy(&bits, &number, sizeof(bits));
    put_number(h, bits, 8);
}

static void put_items(struct hasher *h, const troupe_attr *attr)
{
    put_number(h, attr->n, 8);
    for (size_t i = 0; i < attr->n; i++) {
        if (attr->kind == TROUPE_ATTR_INTS) put_number(h, (uint64_t)attr->ints[i], 8);
        if (attr->kind == TROUPE_ATTR_FLOATS) put_double(h, attr->floats[i]);
        if (attr->kind == TROUPE_ATTR_STRINGS) put_text(h, attr->texts[i]);
    }
}

static void put_attr(struct hasher *h, const troupe_attr *attr)
{
    put_text(h, attr->name);
    put_u32(h, attr->kind);
    switch (attr->kind) {
    case TROUPE_ATTR_INT:
        put_number(h, (uint64_t)attr->i, 8);
        break;
    case TROUPE_ATTR_FLOAT:
        put_double(h, attr->f);
        break;
    case TROUPE_ATTR_STRING:
        put_bytes(h, attr->text, attr->n);
        break;
    case TROUPE_ATTR_INTS:
    case TROUPE_ATTR_FLOATS:
    case TROUPE_ATTR_STRINGS:
        put_items(h, attr);
        break;
    case TROUPE_ATTR_TENSOR:
        put_tensor(h, attr->tensor);
        break;
    case TROUPE_ATTR_DTYPE:
        put_u32(h, attr->dtype);
        break;
    case TROUPE_ATTR_FUNCTION:
        put_text(h, attr->text);
        break;
    }
}

static void put_device(struct hasher *h, const struct tp_name *device)
{
    if (tp_name_empty(device)) {
        put_u32(h, 0);
    } else {
        put_text(h, tp_name_text(device).text);
    }
}

static void put_digest(struct hasher *h, const struct tp_operator *o)
{
    put_number(h, o->digest[0], 8);
    put_number(h, o->digest[1], 8);
}

static void put_node(struct hasher *h, const struct tp_node *node)
{
    put_text(h, node->name);
    put_u32(h, node->op ? 0 : 1);
    put_text(h, node->op ? node->op->name : node->callee);
    if (node->op && node->op->user) put_digest(h, node->op->user);
    put_u32(h, node->stateful);
    put_list(h, node->inputs, node->n_inputs);
    put_list(h, node->results, node->n_results);
    put_list(h, node->after, node->n_after);
    put_list(h, node->with, node->n_with);
    put_device(h, &node->device);
    put_u32(h, node->n_attrs);
    for (uint32_t i = 0; i < node->n_attrs; i++)
        put_attr(h, &node->attrs[i]);
}

/* An argument with its default, a constant, or a graph node's result. */
static void put_value(struct hasher *h, const struct tp_function *f, uint32_t i)
{
    const struct tp_value *value = &f->values[i];
    put_text(h, value->name);
    if (i < f->n_args) put_type(h, &value->type, f->dims);
    put_u32(h, value->node);
    put_u32(h, value->content ? 1 : 0);
    if (!value->content) return;
    put_number(h, value->content[0], 8);
    put_number(h, value->content[1], 8);
}

static troupe_status put_values(struct hasher *h, const struct tp_function *f,
                                struct tp_pace *pace, troupe_error *err)
{
    put_u32(h, f->n_values);
    for (uint32_t i = 0; i < f->n_values; i++) {
        TP_TRY(tp_pace(pace, err));
        put_value(h, f, i);
    }
    return TROUPE_OK;
}

static troupe_status put_nodes(struct hasher *h, const struct tp_function *f,
                               struct tp_pace *pace, troupe_error *err)
{
    put_u32(h, f->n_nodes);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        TP_TRY(tp_pace(pace, err));
        put_node(h, &f->nodes[i]);
    }
    return TROUPE_OK;
}

static void put_results(struct hasher *h, const struct tp_function *f)
{
    put_u32(h, f->n_results);
    for (uint32_t i = 0; i < f->n_results; i++) {
        put_text(h, f->results[i].name);
        put_u32(h, f->results[i].value);
        put_type(h, &f->results[i].type, f->dims);
    }
}

troupe_status tp_hash_function(const struct tp_function *f, struct tp_pace *pace,
                               uint64_t out[2], troupe_error *err)
{
    struct hasher h;
    TP_TRY(start(&h, err));
    put_text(&h, f->name);
    put_u32(&h, f->n_args);
    troupe_status status = put_values(&h, f, pace, err);
    if (status >= 0) status = put_nodes(&h, f, pace, err);
    if (status < 0) {
        XXH3_freeState(h.state);
        return status;
    }
    put_results(&h, f);
    finish(&h, out);
    return TROUPE_OK;
}

troupe_status tp_hash_functions(const struct tp_function *const *functions, size_t n,
                                uint64_t out[2], troupe_error *err)
{
    struct hasher h;
    TP_TRY(start(&h, err));
    for (size_t i = 0; i < n; i++) {
        put_number(&h, functions[i]->hash[0], 8);
        put_number(&h, functions[i]->hash[1], 8);
    }
    finish(&h, out);
    return TROUPE_OK;
}

struct tp_hash_text tp_hash_text(const uint64_t hash[2])
{
    struct tp_hash_text out;
    snprintf(out.text, sizeof(out.text), "%016" PRIx64 "%016" PRIx64, hash[0], hash[1]);
    return out;
}

troupe_status tp_hash_check(const char *what, const uint64_t expected[2],
                            const uint64_t found[2], troupe_error *err)
{
    if (expected[0] == found[0] && expected[1] == found[1]) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT, "%s: %s was expected, it is %s", what,
                   tp_hash_text(expected).text, tp_hash_text(found).text);
}

static void put_ports(struct hasher *h, const struct tp_port *ports)
{
    for (; ports->name; ports++) {
        put_text(h, ports->name);
        put_number(h, ports->types, 8);
        put_u32(h, ports->same);
        put_u32(h, ports->flags);
    }
    put_text(h, "");
}

static void put_specs(struct hasher *h, const struct tp_operator *o)
{
    for (size_t i = 0; i < o->n_attrs; i++) {
        put_text(h, o->op.attrs[i].name);
        put_u32(h, o->op.attrs[i].kind);
        put_u32(h, o->op.attrs[i].required);
        put_u32(h, o->fallback[i] ? 1 : 0);
        if (o->fallback[i]) put_attr(h, o->fallback[i]);
    }
}

troupe_status tp_hash_operator(const struct tp_operator *o, uint64_t out[2], troupe_error *err)
{
    struct hasher h;
    TP_TRY(start(&h, err));
    put_text(&h, o->op.name);
    put_text(&h, o->row.version);
    put_ports(&h, o->op.inputs);
    put_ports(&h, o->op.results);
    put_specs(&h, o);
    put_u32(&h, o->op.stateful);
    finish(&h, out);
    return TROUPE_OK;
}
