/* SPDX-License-Identifier: MIT
 *
 * import/onnx/tensor.c - a TensorProto as a tensor.
 *
 * The elements are in one of three places: raw bytes, numbers of the field that goes with the
 * element type, or a file of their own. Nothing is allocated before as many are there as the
 * shape asks for. Elements of less than a byte are packed there and take a byte each here.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "import/onnx/import.h"
#include "import/onnx/reader.h"
#include "import/onnx/scan.h"
#include "tensor/tensor.h"

#define EXTERNAL 1 /* data_location */

/* --- raw bytes ------------------------------------------------------------------------ */

/* Raw bytes are little-endian. */
static void to_host(void *data, size_t bytes, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (uint8_t *at = data; size > 1 && bytes >= size; at += size, bytes -= size) {
        for (size_t i = 0; i < size / 2; i++) {
            const uint8_t byte = at[i];
            at[i] = at[size - 1 - i];
            at[size - 1 - i] = byte;
        }
    }
#else
    (void)data, (void)bytes, (void)size;
#endif
}

/* A long raw_data stands in the file; scan.c saw to it that it is within. */
static bool raw_of(const struct tp_onnx_source *source, const Onnx__TensorProto *proto,
                   const uint8_t **data, size_t *size)
{
    if (proto->has_raw_at && proto->has_raw_size) {
        *data = source->bytes + proto->raw_at;
        *size = (size_t)proto->raw_size;
        return true;
    }
    *data = proto->raw_data.data;
    *size = proto->raw_data.len;
    return proto->has_raw_data;
}

static bool is_packed(troupe_dtype dtype)
{
    return dtype != TROUPE_BOOL && dtype != TROUPE_STRING && tp_dtype_bits(dtype) < 8;
}

/* Bytes of the elements in raw_data or a file. */
static troupe_status raw_bytes(const struct tp_type *type, size_t *out, troupe_error *err)
{
    TP_TRY(tp_type_bytes(type, out, err));
    if (is_packed(type->dtype)) *out = tp_packed_size(type->dtype, *out);
    return TROUPE_OK;
}

/* Bytes that became elements: in this machine's order, bools 0 or 1. */
static troupe_status settle(troupe_tensor *tensor, troupe_error *err)
{
    const troupe_dtype dtype = tensor->type.dtype;
    to_host(tp_tensor_write(tensor), troupe_tensor_size(tensor), tp_dtype_unit(dtype));
    return tp_elements_check(dtype, tp_tensor_write(tensor), tensor->count, err);
}

static troupe_status read_raw(const struct tp_type *type, const uint8_t *data, size_t size,
                              troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    size_t wanted;
    TP_TRY(raw_bytes(type, &wanted, err));
    if (size != wanted)
        return tp_fail(err, TROUPE_INVALID, "%zu bytes of raw_data; %s has %zu", size,
                       tp_type_text(type).text, wanted);
    TP_TRY(tp_tensor_new_unset(&tensor, type, err));
    if (is_packed(type->dtype))
        tp_unpack(type->dtype, data, tensor->count, tp_tensor_write(tensor));
    else if (size > 0)
        memcpy(tp_tensor_write(tensor), data, size);
    TP_TRY(settle(tensor, err));
    *out = tensor;
    tensor = NULL;
    return TROUPE_OK;
}

/* The packed bytes of a file, by way of memory of their own. */
static troupe_status read_packed(struct tp_onnx_source *source, uint64_t at, size_t size,
                                 const struct tp_type *type, troupe_tensor **out,
                                 troupe_error *err)
{
    TP_OWNED(tp_free_at) uint8_t *bytes = tp_alloc_array(size, 1);
    if (!bytes) return tp_fail_memory(err, size);
    TP_TRY(tp_onnx_external_read(source, at, bytes, size, err));
    return read_raw(type, bytes, size, out, err);
}

static troupe_status read_external(struct tp_onnx_source *source,
                                   const Onnx__TensorProto *proto, const struct tp_type *type,
                                   troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    size_t size;
    uint64_t at;
    if (type->dtype == TROUPE_STRING)
        return tp_fail(err, TROUPE_INVALID, "strings cannot be external data");
    TP_TRY(raw_bytes(type, &size, err));
    TP_TRY(tp_onnx_external_find(source, proto, size, &at, err));
    if (is_packed(type->dtype)) return read_packed(source, at, size, type, out, err);
    TP_TRY(tp_tensor_new_unset(&tensor, type, err));
    TP_TRY(tp_onnx_external_read(source, at, tp_tensor_write(tensor), size, err));
    TP_TRY(settle(tensor, err));
    *out = tensor;
    tensor = NULL;
    return TROUPE_OK;
}

/* --- typed fields --------------------------------------------------------------------- */

enum field { NO_FIELD, FLOATS, INT32S, STRINGS, INT64S, DOUBLES, UINT64S };

static const char *const field_names[] = {"no field",    "float_data", "int32_data",
                                          "string_data", "int64_data", "double_data",
                                          "uint64_data"};

/* Which field has the elements of a type; where that is int32_data, from which number to which:
 * of F16 and so on the bits, of what is packed a byte of them. */
static const struct {
    enum field field;
    int32_t least, most;
} fields[TP_DTYPES] = {
    [TROUPE_F32] = {FLOATS, 0, 0},
    [TROUPE_F64] = {DOUBLES, 0, 0},
    [TROUPE_F16] = {INT32S, 0, UINT16_MAX},
    [TROUPE_BF16] = {INT32S, 0, UINT16_MAX},
    [TROUPE_I8] = {INT32S, INT8_MIN, INT8_MAX},
    [TROUPE_I16] = {INT32S, INT16_MIN, INT16_MAX},
    [TROUPE_I32] = {INT32S, INT32_MIN, INT32_MAX},
    [TROUPE_I64] = {INT64S, 0, 0},
    [TROUPE_U8] = {INT32S, 0, UINT8_MAX},
    [TROUPE_U16] = {INT32S, 0, UINT16_MAX},
    [TROUPE_U32] = {UINT64S, 0, 0},
    [TROUPE_U64] = {UINT64S, 0, 0},
    [TROUPE_BOOL] = {INT32S, 0, 1},
    [TROUPE_STRING] = {STRINGS, 0, 0},
    [TROUPE_C64] = {FLOATS, 0, 0},
    [TROUPE_C128] = {DOUBLES, 0, 0},
    [TROUPE_F8E4M3FN] = {INT32S, 0, UINT8_MAX},
    [TROUPE_F8E4M3FNUZ] = {INT32S, 0, UINT8_MAX},
    [TROUPE_F8E5M2] = {INT32S, 0, UINT8_MAX},
    [TROUPE_F8E5M2FNUZ] = {INT32S, 0, UINT8_MAX},
    [TROUPE_U4] = {INT32S, 0, UINT8_MAX},
    [TROUPE_I4] = {INT32S, 0, UINT8_MAX},
    [TROUPE_F4E2M1] = {INT32S, 0, UINT8_MAX},
    [TROUPE_F8E8M0] = {INT32S, 0, UINT8_MAX},
    [TROUPE_U2] = {INT32S, 0, UINT8_MAX},
    [TROUPE_I2] = {INT32S, 0, UINT8_MAX},
};

static size_t field_count(const Onnx__TensorProto *proto, enum field field)
{
    const size_t counts[] = {[NO_FIELD] = 0,
                             [FLOATS] = proto->n_float_data,
                             [INT32S] = proto->n_int32_data,
                             [STRINGS] = proto->n_string_data,
                             [INT64S] = proto->n_int64_data,
                             [DOUBLES] = proto->n_double_data,
                             [UINT64S] = proto->n_uint64_data};
    return counts[field];
}

/* The elements are in one place: `own`, or raw_data when that is NO_FIELD. */
static troupe_status check_alone(const Onnx__TensorProto *proto, enum field own,
                                 const char *what, troupe_error *err)
{
    for (enum field f = FLOATS; f <= UINT64S; f++) {
        if (f == own || field_count(proto, f) == 0) continue;
        return tp_fail(err, TROUPE_INVALID,
                       "%zu numbers or texts of %s where %s has the elements",
                       field_count(proto, f), field_names[f], what);
    }
    return TROUPE_OK;
}

static void store_int(void *data, size_t i, size_t size, int32_t value)
{
    if (size == 1)
        ((uint8_t *)data)[i] = (uint8_t)value;
    else if (size == 2)
        ((uint16_t *)data)[i] = (uint16_t)value;
    else
        ((int32_t *)data)[i] = value;
}

static troupe_status check_int(troupe_dtype dtype, size_t i, int32_t value, troupe_error *err)
{
    if (value >= fields[dtype].least && value <= fields[dtype].most) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "%s %zu: %d is no %s",
                   is_packed(dtype) ? "byte" : "element", i, (int)value,
                   troupe_dtype_name(dtype));
}

static troupe_status fill_ints(troupe_tensor *tensor, const int32_t *from, troupe_error *err)
{
    const troupe_dtype dtype = tensor->type.dtype;
    for (size_t i = 0; i < tensor->count; i++) {
        TP_TRY(check_int(dtype, i, from[i], err));
        store_int(tp_tensor_write(tensor), i, troupe_dtype_size(dtype), from[i]);
    }
    return TROUPE_OK;
}

/* A number for each byte of packed elements. */
static troupe_status fill_packed(troupe_tensor *tensor, const int32_t *from, troupe_error *err)
{
    const troupe_dtype dtype = tensor->type.dtype;
    const size_t each = 8 / tp_dtype_bits(dtype);
    uint8_t *to = tp_tensor_write(tensor);
    for (size_t i = 0; i * each < tensor->count; i++) {
        const size_t left = tensor->count - i * each;
        const uint8_t byte = (uint8_t)from[i];
        TP_TRY(check_int(dtype, i, from[i], err));
        tp_unpack(dtype, &byte, left < each ? left : each, to + i * each);
    }
    return TROUPE_OK;
}

static troupe_status fill_unsigned(troupe_tensor *tensor, const uint64_t *from,
                                   troupe_error *err)
{
    uint32_t *to = tp_tensor_write(tensor);
    for (size_t i = 0; i < tensor->count; i++) {
        if (from[i] > UINT32_MAX)
            return tp_fail(err, TROUPE_INVALID, "element %zu: %llu is no u32", i,
                           (unsigned long long)from[i]);
        to[i] = (uint32_t)from[i];
    }
    return TROUPE_OK;
}

static troupe_status fill(troupe_tensor *tensor, const Onnx__TensorProto *proto,
                          troupe_error *err)
{
    const void *from = proto->float_data;
    switch (fields[tensor->type.dtype].field) {
    case INT32S:
        return is_packed(tensor->type.dtype) ? fill_packed(tensor, proto->int32_data, err)
                                             : fill_ints(tensor, proto->int32_data, err);
    case UINT64S:
        if (tensor->type.dtype == TROUPE_U32)
            return fill_unsigned(tensor, proto->uint64_data, err);
        from = proto->uint64_data;
        break;
    case INT64S:
        from = proto->int64_data;
        break;
    case DOUBLES:
        from = proto->double_data;
        break;
    default:
        break;
    }
    const size_t size = troupe_tensor_size(tensor);
    if (size > 0) memcpy(tp_tensor_write(tensor), from, size);
    return TROUPE_OK;
}

static troupe_status read_strings(const Onnx__TensorProto *proto, const struct tp_type *type,
                                  troupe_tensor **out, troupe_error *err)
{
    const size_t n = proto->n_string_data;
    TP_OWNED(tp_free_at) const char **texts = tp_alloc_array(n, sizeof(*texts));
    TP_OWNED(tp_free_at) size_t *sizes = tp_alloc_array(n, sizeof(*sizes));
    if (!texts || !sizes) return tp_fail_memory(err, n * sizeof(*texts));
    for (size_t i = 0; i < n; i++) {
        texts[i] =
            proto->string_data[i].len > 0 ? (const char *)proto->string_data[i].data : "";
        sizes[i] = proto->string_data[i].len;
    }
    return troupe_tensor_new_strings(out, type->shape.rank, type->shape.dims, texts, sizes,
                                     err);
}

/* Numbers or texts that the elements of a type are in their field. */
static troupe_status field_wanted(const struct tp_type *type, size_t *out, troupe_error *err)
{
    size_t bytes; /* checks that twice as many are a number of bytes too */
    TP_TRY(tp_type_bytes(type, &bytes, err));
    *out = tp_shape_count_known(&type->shape);
    if (tp_dtype_kind(type->dtype) == TP_KIND_COMPLEX) *out *= 2;
    if (is_packed(type->dtype)) *out = tp_packed_size(type->dtype, *out);
    return TROUPE_OK;
}

static troupe_status read_typed(const Onnx__TensorProto *proto, const struct tp_type *type,
                                troupe_tensor **out, troupe_error *err)
{
    const enum field field = fields[type->dtype].field;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    size_t count;
    TP_TRY(field_wanted(type, &count, err));
    if (field_count(proto, field) != count)
        return tp_fail(err, TROUPE_INVALID, "%zu elements in %s; %s has %zu",
                       field_count(proto, field), field_names[field], tp_type_text(type).text,
                       count);
    TP_TRY(check_alone(proto, field, field_names[field], err));
    if (field == STRINGS) return read_strings(proto, type, out, err);
    TP_TRY(tp_tensor_new_unset(&tensor, type, err));
    TP_TRY(fill(tensor, proto, err));
    *out = tensor;
    tensor = NULL;
    return TROUPE_OK;
}

/* --- the whole ------------------------------------------------------------------------ */

static troupe_status read_type(const Onnx__TensorProto *proto, struct tp_type *out,
                               troupe_error *err)
{
    out->dtype = tp_onnx_dtype(proto->data_type);
    if (out->dtype == TROUPE_DTYPE_NONE)
        return tp_fail(err, TROUPE_UNSUPPORTED, "element type %s",
                       tp_onnx_dtype_text(proto->data_type).text);
    if (proto->segment) return tp_fail(err, TROUPE_UNSUPPORTED, "a tensor in segments");
    if (proto->n_dims > TROUPE_MAX_RANK)
        return tp_fail(err, TROUPE_UNSUPPORTED, "rank %zu (at most %d)", proto->n_dims,
                       TROUPE_MAX_RANK);
    return tp_shape_make(&out->shape, (int)proto->n_dims, proto->dims, err);
}

troupe_status tp_onnx_tensor(struct tp_onnx_source *source, const Onnx__TensorProto *proto,
                             troupe_tensor **out, troupe_error *err)
{
    struct tp_type type;
    const uint8_t *data;
    size_t size;
    TP_TRY(read_type(proto, &type, err));
    const bool raw = raw_of(source, proto, &data, &size);
    if (proto->data_location == EXTERNAL) {
        TP_TRY(check_alone(proto, NO_FIELD, "an external file", err));
        if (raw && size > 0)
            return tp_fail(err, TROUPE_INVALID, "raw_data beside external data");
        return read_external(source, proto, &type, out, err);
    }
    if (proto->data_location != 0)
        return tp_fail(err, TROUPE_INVALID, "data_location %d", (int)proto->data_location);
    if (!raw || type.dtype == TROUPE_STRING) {
        if (raw) return tp_fail(err, TROUPE_INVALID, "strings in raw_data");
        return read_typed(proto, &type, out, err);
    }
    TP_TRY(check_alone(proto, NO_FIELD, "raw_data", err));
    return read_raw(&type, data, size, out, err);
}

static void free_tensor_proto(Onnx__TensorProto **proto)
{
    ProtobufCMessage *message = (ProtobufCMessage *)*proto;
    tp_onnx_free(&message);
    *proto = NULL;
}

troupe_status tp_onnx_read_tensor(const void *bytes, size_t size, troupe_tensor **out,
                                  troupe_error *err)
{
    struct tp_onnx_source source = TP_ONNX_SOURCE(bytes, size, NULL);
    ProtobufCMessage *message = NULL;
    TP_TRY(tp_onnx_decode(&onnx__tensor_proto__descriptor, bytes, size, &message, err));
    TP_OWNED(free_tensor_proto) Onnx__TensorProto *proto = (Onnx__TensorProto *)message;
    return tp_onnx_tensor(&source, proto, out, err);
}
