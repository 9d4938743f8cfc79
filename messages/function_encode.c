/* SPDX-License-Identifier: MIT
 *
 * messages/function_encode.c - functions as bytes.
 *
 * Values are not numbered in the form: they count from 0, arguments first, then as constants and
 * graph nodes make them. So a function whose values stand in another order has no form.
 */
#include <msgpack.h>
#include <string.h>

#include "base/fail.h"
#include "graph/hash.h"
#include "messages/function_codec.h"
#include "messages/function_form.h"
#include "messages/tensor_codec.h"

struct writing {
    msgpack_packer head; /* writes to wire->head, which remembers when there was no memory */
    struct tp_wire *wire;
    enum tp_places places;
};

static int write_head(void *text, const char *bytes, size_t size)
{
    tp_text_add_bytes(text, bytes, size);
    return 0;
}

/* -- Parts --------------------------------------------------------------------------------- */

static void put_text(struct writing *to, const char *text)
{
    if (text)
        msgpack_pack_str_with_body(&to->head, text, strlen(text));
    else
        msgpack_pack_nil(&to->head);
}

static void put_hash(struct writing *to, const uint64_t hash[2])
{
    uint8_t bytes[TP_FORM_HASH];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(hash[i / 8] >> (56 - 8 * (i % 8)));
    msgpack_pack_bin_with_body(&to->head, bytes, sizeof bytes);
}

static void put_numbers(struct writing *to, const uint32_t *list, uint32_t n)
{
    msgpack_pack_array(&to->head, n);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == TP_NO_VALUE)
            msgpack_pack_nil(&to->head);
        else
            msgpack_pack_uint32(&to->head, list[i]);
    }
}

static troupe_status put_type(struct writing *to, const struct tp_function *f,
                              const struct tp_type *type, troupe_error *err)
{
    char text[256];
    const size_t size = tp_type_show(type, f->dims, text, sizeof text);
    if (size < sizeof text) {
        put_text(to, text);
        return TROUPE_OK;
    }
    TP_OWNED(tp_free_at) char *whole = tp_alloc(size + 1);
    if (!whole) return tp_fail_memory(err, size + 1);
    tp_type_show(type, f->dims, whole, size + 1);
    put_text(to, whole);
    return TROUPE_OK;
}

/* -- Tensors ------------------------------------------------------------------------------- */

/* A tensor's frame; a small one goes inside. */
static troupe_status put_elements(struct writing *to, struct tp_wire_frame *frame,
                                  troupe_error *err)
{
    if (frame->size <= TP_FUNCTION_INLINE) {
        msgpack_pack_bin_with_body(&to->head, frame->data, frame->size);
        return TROUPE_OK;
    }
    msgpack_pack_uint64(&to->head, to->wire->n_frames);
    return tp_wire_add(to->wire, &frame->buffer, frame->data, frame->size, err);
}

/* content: its hash, or NULL when nobody knows it. */
static troupe_status put_tensor(struct writing *to, const troupe_tensor *tensor,
                                const uint64_t *content, troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire one = {.n_frames = 0};
    uint64_t hash[2];
    if (!content) TP_TRY(tp_hash_tensor(tensor, hash, err));
    msgpack_pack_array(&to->head, TP_TENSOR_PARTS);
    TP_TRY(tp_tensor_pack(tensor, &to->head, &one, err));
    TP_TRY(put_elements(to, &one.frames[0], err));
    put_hash(to, content ? content : hash);
    return TROUPE_OK;
}

/* -- Attributes ---------------------------------------------------------------------------- */

static void put_list(struct writing *to, const troupe_attr *attr)
{
    msgpack_pack_array(&to->head, attr->n);
    for (size_t i = 0; i < attr->n; i++) {
        if (attr->kind == TROUPE_ATTR_INTS) msgpack_pack_int64(&to->head, attr->ints[i]);
        if (attr->kind == TROUPE_ATTR_FLOATS) msgpack_pack_double(&to->head, attr->floats[i]);
        if (attr->kind == TROUPE_ATTR_STRINGS)
            msgpack_pack_bin_with_body(&to->head, attr->texts[i], strlen(attr->texts[i]));
    }
}

static troupe_status put_value(struct writing *to, const troupe_attr *attr, troupe_error *err)
{
    switch (attr->kind) {
    case TROUPE_ATTR_INT:
        msgpack_pack_int64(&to->head, attr->i);
        return TROUPE_OK;
    case TROUPE_ATTR_FLOAT:
        msgpack_pack_double(&to->head, attr->f);
        return TROUPE_OK;
    case TROUPE_ATTR_STRING:
        msgpack_pack_bin_with_body(&to->head, attr->text, attr->n);
        return TROUPE_OK;
    case TROUPE_ATTR_INTS:
    case TROUPE_ATTR_FLOATS:
    case TROUPE_ATTR_STRINGS:
        put_list(to, attr);
        return TROUPE_OK;
    case TROUPE_ATTR_TENSOR:
        return put_tensor(to, attr->tensor, NULL, err);
    case TROUPE_ATTR_DTYPE:
        put_text(to, troupe_dtype_name(attr->dtype));
        return TROUPE_OK;
    case TROUPE_ATTR_FUNCTION:
        put_text(to, attr->text);
        return TROUPE_OK;
    }
    return tp_fail(err, TROUPE_INTERNAL, "attribute '%s' is of kind %d", attr->name,
                   (int)attr->kind);
}

static troupe_status put_attrs(struct writing *to, const struct tp_node *node,
                               troupe_error *err)
{
    msgpack_pack_array(&to->head, node->n_attrs);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        msgpack_pack_array(&to->head, 3);
        put_text(to, node->attrs[i].name);
        msgpack_pack_uint32(&to->head, node->attrs[i].kind);
        TP_TRY(put_value(to, &node->attrs[i], err));
    }
    return TROUPE_OK;
}

/* -- Statements ---------------------------------------------------------------------------- */

static troupe_status put_constant(struct writing *to, const struct tp_value *value,
                                  troupe_error *err)
{
    msgpack_pack_array(&to->head, TP_CONSTANT_PARTS - !to->places);
    msgpack_pack_uint32(&to->head, TP_IS_CONSTANT);
    put_text(to, value->name);
    TP_TRY(put_tensor(to, value->constant, value->content, err));
    if (to->places) put_text(to, value->file);
    return TROUPE_OK;
}

static void put_results(struct writing *to, const struct tp_function *f,
                        const struct tp_node *node)
{
    msgpack_pack_array(&to->head, node->n_results);
    for (uint32_t i = 0; i < node->n_results; i++) {
        const uint32_t v = node->results[i];
        put_text(to, v == TP_NO_VALUE ? NULL : f->values[v].name);
    }
}

/* The name of its first result is what it gets when it has none. */
static bool has_own_name(const struct tp_function *f, const struct tp_node *node)
{
    const uint32_t first = node->n_results ? node->results[0] : TP_NO_VALUE;
    return first == TP_NO_VALUE || strcmp(f->values[first].name, node->name) != 0;
}

static troupe_status put_node(struct writing *to, const struct tp_function *f,
                              const struct tp_node *node, troupe_error *err)
{
    const bool wish = !tp_name_empty(&node->device);
    msgpack_pack_array(&to->head, TP_NODE_PARTS - !to->places);
    msgpack_pack_uint32(&to->head, node->op ? TP_IS_OPERATOR : TP_IS_CALL);
    put_text(to, node->op ? node->op->name : node->callee);
    put_text(to, has_own_name(f, node) ? node->name : NULL);
    put_numbers(to, node->inputs, node->n_inputs);
    put_results(to, f, node);
    TP_TRY(put_attrs(to, node, err));
    put_text(to, wish ? tp_name_text(&node->device).text : NULL);
    put_numbers(to, node->after, node->n_after);
    put_numbers(to, node->with, node->n_with);
    if (to->places) msgpack_pack_uint32(&to->head, node->line);
    return TROUPE_OK;
}

/* The value that node is the next to make; *next counts on. */
static troupe_status check_order(const struct tp_function *f, const struct tp_node *node,
                                 uint32_t *next, troupe_error *err)
{
    for (uint32_t i = 0; i < node->n_results; i++) {
        if (node->results[i] == TP_NO_VALUE || node->results[i] == (*next)++) continue;
        return tp_fail(err, TROUPE_INVALID,
                       "node '%s': its value '%s' has not the place in which it is made",
                       node->name, f->values[node->results[i]].name);
    }
    return TROUPE_OK;
}

static uint32_t first_made(const struct tp_function *f, const struct tp_node *node)
{
    for (uint32_t i = 0; i < node->n_results; i++)
        if (node->results[i] != TP_NO_VALUE) return node->results[i];
    return f->n_values;
}

/* The value behind node's last input. */
static uint32_t last_needed(const struct tp_node *node)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != TP_NO_VALUE && node->inputs[i] >= end) end = node->inputs[i] + 1;
    return end;
}

/* The constants from *at on, as long as there are some before `end`. */
static troupe_status put_constants(struct writing *to, const struct tp_function *f,
                                   uint32_t *at, uint32_t end, troupe_error *err)
{
    for (; *at < end && f->values[*at].constant; (*at)++)
        TP_TRY(put_constant(to, &f->values[*at], err));
    return TROUPE_OK;
}

static troupe_status put_statements(struct writing *to, const struct tp_function *f,
                                    troupe_error *err)
{
    uint32_t at = f->n_args;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct tp_node *node = &f->nodes[i];
        const uint32_t first = first_made(f, node);
        TP_TRY(put_constants(to, f, &at, first < f->n_values ? first : last_needed(node), err));
        TP_TRY(check_order(f, node, &at, err));
        TP_TRY(put_node(to, f, node, err));
    }
    TP_TRY(put_constants(to, f, &at, f->n_values, err));
    if (at == f->n_values) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "its value '%s' is made out of order",
                   f->values[at].name);
}

/* -- Functions ----------------------------------------------------------------------------- */

static troupe_status put_args(struct writing *to, const struct tp_function *f,
                              troupe_error *err)
{
    msgpack_pack_array(&to->head, f->n_args);
    for (uint32_t i = 0; i < f->n_args; i++) {
        const struct tp_value *arg = &f->values[i];
        msgpack_pack_array(&to->head, 3);
        put_text(to, arg->name);
        TP_TRY(put_type(to, f, &arg->type, err));
        if (arg->constant)
            TP_TRY(put_tensor(to, arg->constant, arg->content, err));
        else
            msgpack_pack_nil(&to->head);
    }
    return TROUPE_OK;
}

static troupe_status put_function_results(struct writing *to, const struct tp_function *f,
                                          troupe_error *err)
{
    msgpack_pack_array(&to->head, f->n_results);
    for (uint32_t i = 0; i < f->n_results; i++) {
        msgpack_pack_array(&to->head, 3);
        put_text(to, f->results[i].name);
        TP_TRY(put_type(to, f, &f->results[i].type, err));
        msgpack_pack_uint32(&to->head, f->results[i].value);
    }
    return TROUPE_OK;
}

static uint32_t count_statements(const struct tp_function *f)
{
    uint32_t n = f->n_nodes;
    for (uint32_t i = f->n_args; i < f->n_values; i++)
        n += f->values[i].node == TP_NO_NODE;
    return n;
}

static troupe_status put_head(struct writing *to, const struct tp_function *f,
                              troupe_error *err)
{
    msgpack_pack_array(&to->head, TP_HEAD_PARTS - !to->places);
    put_text(to, f->name);
    TP_TRY(put_args(to, f, err));
    TP_TRY(put_function_results(to, f, err));
    if (f->stateful)
        msgpack_pack_true(&to->head);
    else
        msgpack_pack_false(&to->head);
    msgpack_pack_uint32(&to->head, count_statements(f));
    put_hash(to, f->hash);
    if (to->places) put_text(to, f->source);
    return TROUPE_OK;
}

static troupe_status put_each(struct writing *to, const struct tp_bodies *bodies,
                              troupe_status (*put)(struct writing *to,
                                                   const struct tp_function *f,
                                                   troupe_error *err),
                              troupe_error *err)
{
    for (uint32_t i = 0; i < bodies->n; i++) {
        const troupe_status status = put(to, bodies->list[i], err);
        if (status >= 0) continue;
        tp_fail_in(err, "function '%s'", bodies->list[i]->name);
        return status;
    }
    return TROUPE_OK;
}

troupe_status tp_bodies_encode(const struct tp_bodies *bodies, enum tp_places places,
                               struct tp_wire *out, troupe_error *err)
{
    struct writing to = {.wire = out, .places = places};
    msgpack_packer_init(&to.head, &out->head, write_head);
    msgpack_pack_array(&to.head, TP_ALL_PARTS);
    msgpack_pack_uint32(&to.head, TP_FUNCTION_VERSION);
    msgpack_pack_uint32(&to.head, bodies->n);
    if (bodies->main == TP_NO_NODE)
        msgpack_pack_nil(&to.head);
    else
        msgpack_pack_uint32(&to.head, bodies->main);
    TP_TRY(put_each(&to, bodies, put_head, err));
    TP_TRY(put_each(&to, bodies, put_statements, err));
    return out->head.failed ? tp_fail_memory(err, out->head.size) : TROUPE_OK;
}
