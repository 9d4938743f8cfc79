/* SPDX-License-Identifier: MIT
 *
 * import/onnx/scan.c - walk over the wire format of a message, and make its slim copy.
 *
 * One walk does both: without `out` it only counts. The fields come from protobuf-c's
 * descriptors, so there is no second list of them. A message of the copy keeps the bytes that
 * its length had in the original (padded with empty continuation bytes), since what it holds
 * never grows.
 */
#include "import/onnx/scan.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "import/onnx/onnx.pb-c.h"

enum { VARINT = 0, EIGHT = 1, LENGTH = 2, FOUR = 5 }; /* wire types; 3 and 4 are groups */

/* What protobuf-c and the allocator need beside the data itself. */
#define PER_FIELD 64
#define PER_PIECE 32

#define RAW_DATA_ID 9
#define RAW_AT_ID   1001
#define RAW_SIZE_ID 1002

struct walk {
    const uint8_t *start;
    uint8_t *out; /* NULL: count only */
    struct tp_onnx_counts counts;
    troupe_error *err;
};

/* One field as it stands in the bytes. */
struct field {
    const ProtobufCFieldDescriptor *is;
    const uint8_t *at;   /* its tag */
    const uint8_t *data; /* its value: the payload where it has a length */
    size_t size;         /* bytes of the value */
    size_t width;        /* bytes of the length */
    uint64_t number;
    unsigned wire;
};

static troupe_status corrupt(const struct walk *w, const uint8_t *at, const char *fmt, ...)
    TROUPE_PRINTF(3, 4);
static troupe_status corrupt(const struct walk *w, const uint8_t *at, const char *fmt, ...)
{
    char text[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return tp_fail(w->err, TROUPE_CORRUPT, "byte %zu: %s", (size_t)(at - w->start), text);
}

/* --- reading -------------------------------------------------------------------------- */

static troupe_status read_varint(const struct walk *w, const uint8_t **at, const uint8_t *end,
                                 uint64_t *out)
{
    const uint8_t *p = *at;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (p == end) return corrupt(w, *at, "the number is cut off");
        value |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) {
            *at = p;
            *out = value;
            return TROUPE_OK;
        }
    }
    return corrupt(w, *at, "the number has more than 10 bytes");
}

static troupe_status read_length(const struct walk *w, struct field *f, const uint8_t **at,
                                 const uint8_t *end)
{
    uint64_t length;
    const uint8_t *const start = *at;
    TP_TRY(read_varint(w, at, end, &length));
    if (length > (size_t)(end - *at))
        return corrupt(w, start, "a length of %llu where %zu bytes are left",
                       (unsigned long long)length, (size_t)(end - *at));
    f->width = (size_t)(*at - start);
    f->data = *at;
    f->size = (size_t)length;
    *at += length;
    return TROUPE_OK;
}

static troupe_status read_fixed(const struct walk *w, struct field *f, const uint8_t **at,
                                const uint8_t *end, size_t size)
{
    if (size > (size_t)(end - *at)) return corrupt(w, *at, "the number is cut off");
    f->data = *at;
    f->size = size;
    *at += size;
    return TROUPE_OK;
}

/* The next field at *at, which moves behind it. f->is is left alone. */
static troupe_status read_field(const struct walk *w, const uint8_t **at, const uint8_t *end,
                                struct field *f)
{
    uint64_t tag, value;
    f->at = *at;
    TP_TRY(read_varint(w, at, end, &tag));
    f->number = tag >> 3;
    f->wire = (unsigned)(tag & 7);
    if (f->number == 0 || tag > UINT32_MAX)
        return corrupt(w, f->at, "field number %llu", (unsigned long long)f->number);
    f->data = *at;
    if (f->wire == VARINT) {
        TP_TRY(read_varint(w, at, end, &value));
        f->size = (size_t)(*at - f->data);
        return TROUPE_OK;
    }
    if (f->wire == EIGHT) return read_fixed(w, f, at, end, 8);
    if (f->wire == FOUR) return read_fixed(w, f, at, end, 4);
    if (f->wire == LENGTH) return read_length(w, f, at, end);
    return corrupt(w, f->at, "wire type %u, which ONNX does not use", f->wire);
}

/* --- what a field must be ------------------------------------------------------------- */

static unsigned wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return FOUR;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return EIGHT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return LENGTH;
    default:
        return VARINT;
    }
}

static size_t bytes_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_FLOAT:
        return 4;
    default:
        return 8;
    }
}

static bool is_packed(const struct field *f)
{
    return f->is->label == PROTOBUF_C_LABEL_REPEATED && f->wire == LENGTH &&
           wire_of(f->is->type) != LENGTH;
}

/* Elements of a packed field, each of which must be whole. */
static troupe_status count_packed(const struct walk *w, const struct field *f, size_t *out)
{
    const unsigned wire = wire_of(f->is->type);
    const uint8_t *at = f->data, *const end = f->data + f->size;
    uint64_t value;
    *out = 0;
    if (wire == VARINT) {
        for (; at != end; ++*out)
            TP_TRY(read_varint(w, &at, end, &value));
        return TROUPE_OK;
    }
    const size_t size = wire == FOUR ? 4 : 8;
    if (f->size % size != 0)
        return corrupt(w, f->at, "%s: %zu bytes of numbers of %zu bytes", f->is->name, f->size,
                       size);
    *out = f->size / size;
    return TROUPE_OK;
}

static troupe_status check_wire(const struct walk *w, const struct field *f)
{
    if (f->wire == wire_of(f->is->type) || is_packed(f)) return TROUPE_OK;
    return corrupt(w, f->at, "%s: wire type %u, not %u", f->is->name, f->wire,
                   wire_of(f->is->type));
}

/* A message or text that may stand once stands once: protobuf-c would merge the two, or leave
 * open which of a short and a long raw_data counts. */
static troupe_status check_once(const struct walk *w, const ProtobufCMessageDescriptor *type,
                                const struct field *f, uint64_t *seen)
{
    if (f->is->label == PROTOBUF_C_LABEL_REPEATED || f->wire != LENGTH) return TROUPE_OK;
    const uint64_t bit = (uint64_t)1 << (f->is - type->fields);
    if (*seen & bit) return corrupt(w, f->at, "%s stands there twice", f->is->name);
    *seen |= bit;
    return TROUPE_OK;
}

static troupe_status check_text(const struct walk *w, const struct field *f)
{
    const uint8_t *nul = f->is->type == PROTOBUF_C_TYPE_STRING && f->size > 0
                             ? memchr(f->data, 0, f->size)
                             : NULL;
    if (nul) return corrupt(w, nul, "%s: a zero byte within a text", f->is->name);
    return TROUPE_OK;
}

static troupe_status charge(struct walk *w, size_t bytes)
{
    w->counts.decoded += bytes; /* at most 64 times the size of the message: no overflow */
    if (w->counts.decoded <= TP_ONNX_DECODED) return TROUPE_OK;
    return tp_fail(w->err, TROUPE_EXHAUSTED, "the decoded model needs more than %zu bytes",
                   TP_ONNX_DECODED);
}

static troupe_status charge_field(struct walk *w, const struct field *f)
{
    size_t n = 1;
    if (is_packed(f)) TP_TRY(count_packed(w, f, &n));
    size_t bytes = PER_FIELD + n * bytes_of(f->is->type);
    if (wire_of(f->is->type) == LENGTH && f->is->type != PROTOBUF_C_TYPE_MESSAGE)
        bytes += f->size + PER_PIECE;
    return charge(w, bytes);
}

static troupe_status charge_message(struct walk *w, const ProtobufCMessageDescriptor *type)
{
    TP_TRY(charge(w, type->sizeof_message + PER_PIECE));
    if (type != &onnx__node_proto__descriptor) return TROUPE_OK;
    if (++w->counts.nodes <= TP_ONNX_NODES) return TROUPE_OK;
    return tp_fail(w->err, TROUPE_EXHAUSTED, "the model has more than %zu graph nodes",
                   TP_ONNX_NODES);
}

/* --- the copy ------------------------------------------------------------------------- */

static void put(struct walk *w, const void *bytes, size_t size)
{
    if (w->out && size > 0) memcpy(w->out + w->counts.slim, bytes, size);
    w->counts.slim += size;
}

/* A number in exactly `width` bytes. */
static void write_padded(uint8_t *at, size_t width, uint64_t value)
{
    for (size_t i = 0; i < width; i++, value >>= 7)
        at[i] = (uint8_t)((value & 0x7f) | (i + 1 < width ? 0x80 : 0));
}

static void put_padded(struct walk *w, size_t width, uint64_t value)
{
    uint8_t bytes[10];
    write_padded(bytes, width, value);
    put(w, bytes, width);
}

static void put_tag(struct walk *w, uint32_t number, unsigned wire)
{
    const uint32_t tag = number << 3 | wire;
    put_padded(w, tag < 0x80 ? 1 : 2, tag); /* no field of ours has a number above 2047 */
}

static void put_fixed(struct walk *w, uint32_t number, uint64_t value)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put_tag(w, number, EIGHT);
    put(w, bytes, sizeof(bytes));
}

static size_t width_of(const struct field *f)
{
    return f->width < 5 ? f->width : 5;
}

static void put_plain(struct walk *w, const struct field *f)
{
    put_tag(w, f->is->id, f->wire);
    if (f->wire == LENGTH) put_padded(w, width_of(f), f->size);
    put(w, f->data, f->size);
}

static bool is_long_raw(const ProtobufCMessageDescriptor *type, const struct field *f)
{
    return type == &onnx__tensor_proto__descriptor && f->is->id == RAW_DATA_ID &&
           f->size >= TP_ONNX_RAW;
}

static void put_place(struct walk *w, const struct field *f)
{
    put_fixed(w, RAW_AT_ID, (uint64_t)(f->data - w->start));
    put_fixed(w, RAW_SIZE_ID, f->size);
}

/* --- the walk ------------------------------------------------------------------------- */

static troupe_status walk_message(struct walk *w, const ProtobufCMessageDescriptor *type,
                                  const uint8_t *at, const uint8_t *end, int depth);

static troupe_status walk_inner(struct walk *w, const struct field *f, int depth)
{
    if (depth == TP_ONNX_DEPTH)
        return corrupt(w, f->at, "messages stand more than %d deep in one another",
                       TP_ONNX_DEPTH);
    const size_t width = width_of(f);
    put_tag(w, f->is->id, LENGTH);
    const size_t length_at = w->counts.slim;
    w->counts.slim += width;
    TP_TRY(walk_message(w, f->is->descriptor, f->data, f->data + f->size, depth + 1));
    if (w->out) write_padded(w->out + length_at, width, w->counts.slim - length_at - width);
    return TROUPE_OK;
}

static troupe_status walk_field(struct walk *w, const ProtobufCMessageDescriptor *type,
                                const struct field *f, int depth)
{
    if (is_long_raw(type, f)) {
        put_place(w, f);
        return charge(w, 2 * PER_FIELD);
    }
    TP_TRY(charge_field(w, f));
    if (f->is->type == PROTOBUF_C_TYPE_MESSAGE) return walk_inner(w, f, depth);
    put_plain(w, f);
    return TROUPE_OK;
}

/* Fields of ours that must not come from outside. */
static bool is_ours(const ProtobufCFieldDescriptor *field)
{
    return field->id == RAW_AT_ID || field->id == RAW_SIZE_ID;
}

static troupe_status walk_message(struct walk *w, const ProtobufCMessageDescriptor *type,
                                  const uint8_t *at, const uint8_t *end, int depth)
{
    uint64_t seen = 0;
    TP_TRY(charge_message(w, type));
    while (at != end) {
        struct field f = {0};
        TP_TRY(read_field(w, &at, end, &f));
        f.is = protobuf_c_message_descriptor_get_field(type, (unsigned)f.number);
        if (!f.is || is_ours(f.is)) continue; /* nobody reads it */
        TP_TRY(check_wire(w, &f));
        TP_TRY(check_once(w, type, &f, &seen));
        TP_TRY(check_text(w, &f));
        TP_TRY(walk_field(w, type, &f, depth));
    }
    return TROUPE_OK;
}

static troupe_status walk(const ProtobufCMessageDescriptor *type, const void *bytes,
                          size_t size, uint8_t *out, struct tp_onnx_counts *counts,
                          troupe_error *err)
{
    static const uint8_t nothing[1];
    struct walk w = {.start = size > 0 ? bytes : nothing, .out = out, .err = err};
    if (size > TP_ONNX_SIZE)
        return tp_fail(err, TROUPE_CORRUPT, "%zu bytes are more than a message can have (%zu)",
                       size, TP_ONNX_SIZE);
    TP_TRY(walk_message(&w, type, w.start, w.start + size, 1));
    *counts = w.counts;
    return TROUPE_OK;
}

troupe_status tp_onnx_scan(const ProtobufCMessageDescriptor *type, const void *bytes,
                           size_t size, struct tp_onnx_counts *out, troupe_error *err)
{
    return walk(type, bytes, size, NULL, out, err);
}

/* --- decoding ------------------------------------------------------------------------- */

static void *take(void *arg, size_t size)
{
    void *memory = tp_alloc(size);
    if (!memory) *(size_t *)arg = size;
    return memory;
}

static void give(void *arg, void *memory)
{
    (void)arg;
    tp_free(memory);
}

troupe_status tp_onnx_decode(const ProtobufCMessageDescriptor *type, const void *bytes,
                             size_t size, ProtobufCMessage **out, troupe_error *err)
{
    struct tp_onnx_counts counts;
    TP_TRY(walk(type, bytes, size, NULL, &counts, err));
    TP_OWNED(tp_free_at) uint8_t *slim = tp_alloc_array(counts.slim, 1);
    if (!slim) return tp_fail_memory(err, counts.slim);
    TP_TRY(walk(type, bytes, size, slim, &counts, err));

    size_t missing = 0;
    ProtobufCAllocator allocator = {.alloc = take, .free = give, .allocator_data = &missing};
    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, counts.slim, slim);
    if (!message && missing > 0) return tp_fail_memory(err, missing);
    if (!message) return tp_fail(err, TROUPE_CORRUPT, "the message does not decode");
    *out = message;
    return TROUPE_OK;
}

void tp_onnx_free(ProtobufCMessage **message)
{
    ProtobufCAllocator allocator = {.alloc = take, .free = give};
    if (*message) protobuf_c_message_free_unpacked(*message, &allocator);
    *message = NULL;
}
