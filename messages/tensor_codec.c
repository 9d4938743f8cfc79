/* SPDX-License-Identifier: MIT
 *
 * messages/tensor_codec.c - tensors in messages: types by name, elements little-endian in
 * row-major order.
 *
 * A frame of strings holds the size of each text, 8 bytes each, then the texts. On a machine of
 * the other byte order elements are turned round in a copy; elsewhere no byte is moved.
 */
#include "messages/tensor_codec.h"

#include <msgpack.h>
#include <string.h>

#include "base/fail.h"
#include "tensor/npy.h"

#define SIZE_BYTES 8 /* of a text's size */

/* -- Encode -------------------------------------------------------------------------------- */

static void pack_type(const struct tp_type *type, msgpack_packer *head)
{
    const char *name = troupe_dtype_name(type->dtype);
    msgpack_pack_array(head, 2);
    msgpack_pack_str_with_body(head, name, strlen(name));
    msgpack_pack_array(head, (size_t)type->shape.rank);
    for (int i = 0; i < type->shape.rank; i++)
        msgpack_pack_int64(head, type->shape.dims[i]);
}

static void put_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < SIZE_BYTES; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_u64(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = SIZE_BYTES; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static void put_strings(const troupe_tensor *tensor, uint8_t *at)
{
    uint8_t *text = at + tensor->count * SIZE_BYTES;
    for (size_t i = 0; i < tensor->count; i++, at += SIZE_BYTES) {
        size_t size;
        const char *from = troupe_tensor_string(tensor, i, &size);
        put_u64(at, size);
        memcpy(text, from, size);
        text += size;
    }
}

static troupe_status add_strings(const troupe_tensor *tensor, struct tp_wire *wire,
                                 troupe_error *err)
{
    struct tp_buffer *buffer = NULL;
    /* No overflow: in memory each string takes 16 bytes beside its text. */
    const size_t size = tensor->count * SIZE_BYTES + troupe_tensor_size(tensor);
    TP_TRY(tp_buffer_new(&buffer, size, err));
    put_strings(tensor, buffer->data);
    return tp_wire_add(wire, &buffer, buffer->data, size, err);
}

static troupe_status add_swapped(const troupe_tensor *tensor, struct tp_wire *wire,
                                 troupe_error *err)
{
    struct tp_buffer *buffer = NULL;
    const size_t size = troupe_tensor_size(tensor);
    TP_TRY(tp_buffer_new(&buffer, size, err));
    if (size) memcpy(buffer->data, tensor->data, size);
    const size_t unit = tp_dtype_unit(tensor->type.dtype);
    tp_npy_swap(buffer->data, size / unit, unit);
    return tp_wire_add(wire, &buffer, buffer->data, size, err);
}

troupe_status tp_tensor_pack(const troupe_tensor *tensor, struct msgpack_packer *head,
                             struct tp_wire *wire, troupe_error *err)
{
    if (!tensor) {
        msgpack_pack_nil(head);
        return TROUPE_OK;
    }
    pack_type(&tensor->type, head);
    if (tensor->type.dtype == TROUPE_STRING) return add_strings(tensor, wire, err);
    if (tp_npy_host_big()) return add_swapped(tensor, wire, err);
    struct tp_buffer *buffer = tp_buffer_retain(tensor->buffer);
    return tp_wire_add(wire, &buffer, tensor->data, troupe_tensor_size(tensor), err);
}

/* -- Decode -------------------------------------------------------------------------------- */

/* What other parts call INVALID is CORRUPT in bytes from outside. */
static troupe_status outside(troupe_status status, troupe_error *err)
{
    if (status != TROUPE_INVALID) return status;
    if (err) err->code = TROUPE_CORRUPT;
    return TROUPE_CORRUPT;
}

/* A name from outside, fit for a message. */
static void copy_name(char *name, const char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        name[i] = from[i] > ' ' && from[i] < 127 ? from[i] : '?';
    name[size] = 0;
}

/* By name, or by the number that troupe/tensor.h gives it. */
static troupe_status unpack_dtype(const msgpack_object *value, troupe_dtype *out,
                                  troupe_error *err)
{
    char name[16] = "";
    *out = TROUPE_DTYPE_NONE;
    if (value->type == MSGPACK_OBJECT_STR && value->via.str.size < sizeof name) {
        copy_name(name, value->via.str.ptr, value->via.str.size);
        *out = troupe_dtype_parse(name);
    } else if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER && value->via.u64 < 1000) {
        *out = (troupe_dtype)value->via.u64;
    }
    if (!troupe_dtype_name(*out))
        return tp_fail(err, TROUPE_CORRUPT, "element type '%s' is not known here", name);
    return TROUPE_OK;
}

static troupe_status unpack_shape(const msgpack_object *value, struct tp_shape *out,
                                  troupe_error *err)
{
    int64_t dims[TROUPE_MAX_RANK];
    if (value->type != MSGPACK_OBJECT_ARRAY)
        return tp_fail(err, TROUPE_CORRUPT, "the dimensions are not an array");
    const msgpack_object_array *list = &value->via.array;
    if (list->size > TROUPE_MAX_RANK)
        return tp_fail(err, TROUPE_CORRUPT, "%u dimensions, not up to %d", list->size,
                       TROUPE_MAX_RANK);
    for (uint32_t i = 0; i < list->size; i++) {
        const msgpack_object *dim = &list->ptr[i];
        if (dim->type != MSGPACK_OBJECT_POSITIVE_INTEGER || dim->via.u64 > INT64_MAX)
            return tp_fail(err, TROUPE_CORRUPT, "dimension %u is no number of 63 bits", i);
        dims[i] = (int64_t)dim->via.u64;
    }
    return outside(tp_shape_make(out, (int)list->size, dims, err), err);
}

static troupe_status unpack_type(const msgpack_object *value, struct tp_type *out,
                                 troupe_error *err)
{
    if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size < 2)
        return tp_fail(err, TROUPE_CORRUPT, "neither nil nor a type with dimensions");
    TP_TRY(unpack_dtype(&value->via.array.ptr[0], &out->dtype, err));
    return unpack_shape(&value->via.array.ptr[1], &out->shape, err);
}

static troupe_status wrong_size(const struct tp_type *type, const struct tp_wire_frame *frame,
                                size_t wanted, troupe_error *err)
{
    return tp_fail(err, TROUPE_CORRUPT, "%s takes %zu bytes, its frame has %zu",
                   tp_type_text(type).text, wanted, frame->size);
}

/* The texts' sizes come to what is left of the frame. */
static troupe_status check_sizes(const struct tp_type *type, size_t count,
                                 const struct tp_wire_frame *frame, troupe_error *err)
{
    const uint8_t *at = frame->data;
    if (count > frame->size / SIZE_BYTES)
        return tp_fail(err, TROUPE_CORRUPT, "%s: %zu texts in a frame of %zu bytes",
                       tp_type_text(type).text, count, frame->size);
    size_t left = frame->size - count * SIZE_BYTES;
    for (size_t i = 0; i < count; i++, at += SIZE_BYTES) {
        const uint64_t size = get_u64(at);
        if (size > left)
            return tp_fail(err, TROUPE_CORRUPT, "text %zu has %llu bytes, the frame %zu", i,
                           (unsigned long long)size, left);
        left -= (size_t)size;
    }
    return left ? wrong_size(type, frame, frame->size - left, err) : TROUPE_OK;
}

static troupe_status take_strings(const struct tp_type *type, const struct tp_wire_frame *frame,
                                  troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(tp_strings_fini) struct tp_strings strings = {0};
    const size_t count = tp_shape_count_known(&type->shape);
    TP_TRY(check_sizes(type, count, frame, err));
    TP_TRY(tp_strings_init(&strings, count, err));
    const uint8_t *at = frame->data;
    const uint8_t *text = at + count * SIZE_BYTES;
    for (size_t i = 0; i < count; i++, at += SIZE_BYTES) {
        const size_t size = (size_t)get_u64(at);
        tp_text_add_bytes(&strings.bytes, text, size);
        TP_TRY(tp_strings_end(&strings, err));
        text += size;
    }
    return tp_strings_take(&strings, &type->shape, out, err);
}

static bool can_take(const struct tp_wire_frame *frame, size_t unit)
{
    return (uintptr_t)frame->data % TP_ALIGN == 0 && (unit == 1 || !tp_npy_host_big());
}

static troupe_status copy_elements(const struct tp_type *type,
                                   const struct tp_wire_frame *frame, troupe_tensor **out,
                                   troupe_error *err)
{
    const size_t unit = tp_dtype_unit(type->dtype);
    TP_TRY(tp_tensor_new_unset(out, type, err));
    if (frame->size) memcpy(tp_tensor_write(*out), frame->data, frame->size);
    if (tp_npy_host_big()) tp_npy_swap(tp_tensor_write(*out), frame->size / unit, unit);
    return TROUPE_OK;
}

static troupe_status take_elements(const struct tp_type *type, struct tp_wire_frame *frame,
                                   troupe_tensor **out, troupe_error *err)
{
    size_t size;
    TP_TRY(outside(tp_type_bytes(type, &size, err), err));
    if (size != frame->size) return wrong_size(type, frame, size, err);
    const size_t count = tp_shape_count_known(&type->shape);
    TP_TRY(outside(tp_elements_check(type->dtype, frame->data, count, err), err));
    if (!can_take(frame, tp_dtype_unit(type->dtype)))
        return copy_elements(type, frame, out, err);
    const size_t offset = (size_t)((const char *)frame->data - (char *)frame->buffer->data);
    return tp_tensor_over(out, type, &frame->buffer, offset, err);
}

troupe_status tp_tensor_unpack(const struct msgpack_object *value, struct tp_wire_frame *frame,
                               bool *used, troupe_tensor **out, troupe_error *err)
{
    struct tp_type type;
    *used = false;
    if (value->type == MSGPACK_OBJECT_NIL) return TROUPE_OK; /* none: the field stays NULL */
    TP_TRY(unpack_type(value, &type, err));
    if (!frame)
        return tp_fail(err, TROUPE_CORRUPT, "%s without a frame", tp_type_text(&type).text);
    *used = true;
    if (type.dtype == TROUPE_STRING) return take_strings(&type, frame, out, err);
    return take_elements(&type, frame, out, err);
}
