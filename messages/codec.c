/* SPDX-License-Identifier: MIT
 *
 * messages/codec.c - a message as bytes, and back: loops over its kind's fields.
 *
 * A field type is one row: how it is packed into the head, and how it is unpacked.
 */
#include "messages/codec.h"

#include <msgpack.h>
#include <string.h>

#include "base/fail.h"
#include "messages/scan.h"
#include "messages/tensor_codec.h"
#include "tensor/utf8.h"

struct packing {
    msgpack_packer head; /* writes to wire->head, which remembers when there was no memory */
    struct tp_wire *wire;
    enum tp_wire_scope scope;
};

struct unpacking {
    struct tp_wire *wire;
    size_t next_frame;
    enum tp_wire_scope scope;
};

/* -- The bytes of a message ---------------------------------------------------------------- */

void tp_wire_fini(struct tp_wire *wire)
{
    for (size_t i = 0; i < wire->n_frames; i++)
        tp_buffer_release(&wire->frames[i].buffer);
    tp_free(wire->frames);
    tp_text_fini(&wire->head);
    *wire = (struct tp_wire){.n_frames = 0};
}

troupe_status tp_wire_add(struct tp_wire *wire, struct tp_buffer **buffer, const void *data,
                          size_t size, troupe_error *err)
{
    TP_OWNED(tp_buffer_release) struct tp_buffer *mine = *buffer;
    *buffer = NULL;
    TP_TRY(tp_grow(&wire->frames, wire->n_frames, &wire->frames_capacity, sizeof *wire->frames,
                   err));
    wire->frames[wire->n_frames++] = (struct tp_wire_frame){mine, data, size};
    mine = NULL;
    return TROUPE_OK;
}

static troupe_status copy_frame(struct tp_wire_frame *frame, troupe_error *err)
{
    struct tp_buffer *copy = NULL;
    TP_TRY(tp_buffer_new(&copy, frame->size, err));
    if (frame->size) memcpy(copy->data, frame->data, frame->size);
    tp_buffer_release(&frame->buffer);
    frame->buffer = copy;
    frame->data = copy->data;
    return TROUPE_OK;
}

troupe_status tp_wire_copy_frames(struct tp_wire *wire, troupe_error *err)
{
    for (size_t i = 0; i < wire->n_frames; i++)
        TP_TRY(copy_frame(&wire->frames[i], err));
    return TROUPE_OK;
}

/* -- The preamble -------------------------------------------------------------------------- */

#define MAJOR 1
#define MINOR 0
static const uint8_t magic[4] = {'T', 'R', 'P', 0x1a};

/* Where its parts are. */
enum { AT_MAJOR = 4, AT_MINOR = 5, AT_RESERVED = 6, AT_HEAD_SIZE = 8, AT_FRAMES = 12 };

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void tp_preamble_write(uint8_t *bytes, const struct tp_preamble *preamble)
{
    memset(bytes, 0, TP_PREAMBLE_SIZE);
    memcpy(bytes, magic, sizeof magic);
    bytes[AT_MAJOR] = MAJOR;
    bytes[AT_MINOR] = (uint8_t)preamble->minor;
    put_u32(bytes + AT_HEAD_SIZE, preamble->head_size);
    put_u32(bytes + AT_FRAMES, preamble->n_frames);
}

static troupe_status check_limits(const struct tp_preamble *p, troupe_error *err)
{
    if (p->head_size > TP_HEAD_MAX)
        return tp_fail(err, TROUPE_CORRUPT, "a head of %u bytes, above %d", p->head_size,
                       TP_HEAD_MAX);
    if (p->n_frames > TP_FRAMES_MAX)
        return tp_fail(err, TROUPE_CORRUPT, "%u frames, above %d", p->n_frames, TP_FRAMES_MAX);
    return TROUPE_OK;
}

troupe_status tp_preamble_read(const void *bytes, size_t size, struct tp_preamble *out,
                               troupe_error *err)
{
    const uint8_t *at = bytes;
    if (size != TP_PREAMBLE_SIZE)
        return tp_fail(err, TROUPE_CORRUPT, "a preamble of %zu bytes, not %d", size,
                       TP_PREAMBLE_SIZE);
    if (memcmp(at, magic, sizeof magic) != 0)
        return tp_fail(err, TROUPE_CORRUPT,
                       "no message of troupe: it starts with %02x%02x%02x%02x", at[0], at[1],
                       at[2], at[3]);
    if (at[AT_MAJOR] != MAJOR)
        return tp_fail(err, TROUPE_UNSUPPORTED, "protocol version %d.%d, here it is %d.%d",
                       at[AT_MAJOR], at[AT_MINOR], MAJOR, MINOR);
    if (at[AT_RESERVED] || at[AT_RESERVED + 1])
        return tp_fail(err, TROUPE_CORRUPT, "reserved bytes of the preamble are not 0");
    const struct tp_preamble p = {at[AT_MINOR], get_u32(at + AT_HEAD_SIZE),
                                  get_u32(at + AT_FRAMES)};
    TP_TRY(check_limits(&p, err));
    *out = p;
    return TROUPE_OK;
}

/* -- Numbers ------------------------------------------------------------------------------- */

static troupe_status pack_bool(struct packing *to, const void *field, troupe_error *err)
{
    (void)err;
    if (*(const bool *)field)
        msgpack_pack_true(&to->head);
    else
        msgpack_pack_false(&to->head);
    return TROUPE_OK;
}

static troupe_status pack_i32(struct packing *to, const void *field, troupe_error *err)
{
    (void)err;
    msgpack_pack_int32(&to->head, *(const int32_t *)field);
    return TROUPE_OK;
}

static troupe_status pack_u32(struct packing *to, const void *field, troupe_error *err)
{
    (void)err;
    msgpack_pack_uint32(&to->head, *(const uint32_t *)field);
    return TROUPE_OK;
}

static troupe_status pack_u64(struct packing *to, const void *field, troupe_error *err)
{
    (void)err;
    msgpack_pack_uint64(&to->head, *(const uint64_t *)field);
    return TROUPE_OK;
}

static troupe_status not_a(enum tp_field_type type, troupe_error *err)
{
    return tp_fail(err, TROUPE_CORRUPT, "not %s", tp_field_rows[type].doc);
}

static troupe_status unpack_bool(struct unpacking *from, const msgpack_object *value,
                                 void *field, troupe_error *err)
{
    (void)from;
    if (value->type != MSGPACK_OBJECT_BOOLEAN) return not_a(TP_FIELD_BOOL, err);
    *(bool *)field = value->via.boolean;
    return TROUPE_OK;
}

static bool is_unsigned(const msgpack_object *value, uint64_t max)
{
    return value->type == MSGPACK_OBJECT_POSITIVE_INTEGER && value->via.u64 <= max;
}

static bool is_negative(const msgpack_object *value, int64_t min)
{
    return value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER && value->via.i64 >= min;
}

/* In 32 bits; as the others, of any width on the wire. */
static bool read_i32(const msgpack_object *value, int32_t *out)
{
    if (is_unsigned(value, INT32_MAX))
        *out = (int32_t)value->via.u64;
    else if (is_negative(value, INT32_MIN))
        *out = (int32_t)value->via.i64;
    else
        return false;
    return true;
}

static troupe_status unpack_i32(struct unpacking *from, const msgpack_object *value,
                                void *field, troupe_error *err)
{
    (void)from;
    return read_i32(value, field) ? TROUPE_OK : not_a(TP_FIELD_I32, err);
}

static troupe_status unpack_u32(struct unpacking *from, const msgpack_object *value,
                                void *field, troupe_error *err)
{
    (void)from;
    if (!is_unsigned(value, UINT32_MAX)) return not_a(TP_FIELD_U32, err);
    *(uint32_t *)field = (uint32_t)value->via.u64;
    return TROUPE_OK;
}

static troupe_status unpack_u64(struct unpacking *from, const msgpack_object *value,
                                void *field, troupe_error *err)
{
    (void)from;
    if (!is_unsigned(value, UINT64_MAX)) return not_a(TP_FIELD_U64, err);
    *(uint64_t *)field = value->via.u64;
    return TROUPE_OK;
}

/* -- Objects of this process --------------------------------------------------------------- */

static troupe_status pack_ref(struct packing *to, const void *field, troupe_error *err)
{
    if (to->scope == TP_WIRE_PEER)
        return tp_fail(err, TROUPE_INVALID, "an object of this process, which does not travel");
    msgpack_pack_uint64(&to->head, (uintptr_t) * (void *const *)field);
    return TROUPE_OK;
}

static troupe_status unpack_ref(struct unpacking *from, const msgpack_object *value,
                                void *field, troupe_error *err)
{
    if (from->scope == TP_WIRE_PEER)
        return tp_fail(err, TROUPE_CORRUPT,
                       "an object of another process, which means nothing");
    if (!is_unsigned(value, UINTPTR_MAX)) return not_a(TP_FIELD_REF, err);
    *(void **)field = (void *)(uintptr_t)value->via.u64;
    return TROUPE_OK;
}

/* -- Owned fields -------------------------------------------------------------------------- */

static troupe_status pack_tensor(struct packing *to, const void *field, troupe_error *err)
{
    return tp_tensor_pack(*(troupe_tensor *const *)field, &to->head, to->wire, err);
}

static troupe_status unpack_tensor(struct unpacking *from, const msgpack_object *value,
                                   void *field, troupe_error *err)
{
    bool used;
    const bool there = from->next_frame < from->wire->n_frames;
    struct tp_wire_frame *frame = there ? &from->wire->frames[from->next_frame] : NULL;
    TP_TRY(tp_tensor_unpack(value, frame, &used, field, err));
    from->next_frame += used;
    return TROUPE_OK;
}

/* A msgpack string is UTF-8, and a name of a file, say, may not be. */
static troupe_status pack_error(struct packing *to, const void *field, troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text text = {0};
    const troupe_error *error = *(troupe_error *const *)field;
    if (!error) {
        msgpack_pack_nil(&to->head);
        return TROUPE_OK;
    }
    if (to->scope == TP_WIRE_PEER)
        tp_utf8_fit(error->text, strlen(error->text), &text);
    else
        tp_text_add(&text, "%s", error->text);
    if (text.failed) return tp_fail_memory(err, text.size);
    msgpack_pack_array(&to->head, 2);
    msgpack_pack_int32(&to->head, error->code);
    msgpack_pack_str_with_body(&to->head, text.data, text.size);
    return TROUPE_OK;
}

/* A failure that a newer peer knows is at least a failure. */
static troupe_status known_code(int32_t code)
{
    return strcmp(troupe_status_name((troupe_status)code), "UNKNOWN") != 0 ? (troupe_status)code
                                                                           : TROUPE_INTERNAL;
}

static troupe_status unpack_error(struct unpacking *from, const msgpack_object *value,
                                  void *field, troupe_error *err)
{
    int32_t code;
    (void)from;
    if (value->type == MSGPACK_OBJECT_NIL) return TROUPE_OK; /* none: the field stays NULL */
    if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size < 2)
        return not_a(TP_FIELD_ERROR, err);
    const msgpack_object *part = value->via.array.ptr;
    if (!read_i32(&part[0], &code) || code >= 0 || part[1].type != MSGPACK_OBJECT_STR)
        return not_a(TP_FIELD_ERROR, err);
    troupe_error *error = tp_alloc(sizeof *error);
    if (!error) return tp_fail_memory(err, sizeof *error);
    const uint32_t size = part[1].via.str.size;
    tp_fail(error, known_code(code), "%.*s", size < INT32_MAX ? (int)size : INT32_MAX,
            size ? part[1].via.str.ptr : "");
    *(troupe_error **)field = error;
    return TROUPE_OK;
}

/* -- The types ----------------------------------------------------------------------------- */

static const struct {
    troupe_status (*pack)(struct packing *to, const void *field, troupe_error *err);
    troupe_status (*unpack)(struct unpacking *from, const msgpack_object *value, void *field,
                            troupe_error *err);
} rows[TP_FIELD_TYPES] = {
    [TP_FIELD_BOOL] = {pack_bool, unpack_bool},
    [TP_FIELD_I32] = {pack_i32, unpack_i32},
    [TP_FIELD_U32] = {pack_u32, unpack_u32},
    [TP_FIELD_U64] = {pack_u64, unpack_u64},
    [TP_FIELD_REF] = {pack_ref, unpack_ref},
    [TP_FIELD_TENSOR] = {pack_tensor, unpack_tensor},
    [TP_FIELD_ERROR] = {pack_error, unpack_error},
};

static uint32_t count_fields(enum tp_kind kind)
{
    uint32_t n = 0;
    for (const struct tp_field *f = tp_kind_fields(kind); f->name; f++)
        n++;
    return n;
}

static troupe_status in_field(troupe_status status, enum tp_kind kind, const char *field,
                              troupe_error *err)
{
    tp_fail_in(err, "%s, field '%s'", tp_kind_name(kind), field);
    return status;
}

/* -- Encode -------------------------------------------------------------------------------- */

static int write_head(void *text, const char *bytes, size_t size)
{
    tp_text_add_bytes(text, bytes, size);
    return 0;
}

static troupe_status pack_fields(struct packing *to, const struct tp_message *message,
                                 troupe_error *err)
{
    const enum tp_kind kind = message->kind;
    msgpack_pack_array(&to->head, 1 + count_fields(kind));
    msgpack_pack_uint32(&to->head, kind);
    for (const struct tp_field *f = tp_kind_fields(kind); f->name; f++) {
        const void *field = (const char *)message + TP_BODY + f->offset;
        const troupe_status status = rows[f->type].pack(to, field, err);
        if (status < 0) return in_field(status, kind, f->name, err);
    }
    return TROUPE_OK;
}

troupe_status tp_encode(const struct tp_message *message, enum tp_wire_scope scope,
                        struct tp_wire *out, troupe_error *err)
{
    struct packing to = {.wire = out, .scope = scope};
    msgpack_packer_init(&to.head, &out->head, write_head);
    TP_TRY(pack_fields(&to, message, err));
    if (out->head.failed) return tp_fail_memory(err, out->head.size);
    if (out->head.size > TP_HEAD_MAX)
        return tp_fail(err, TROUPE_INVALID, "%s: a head of %zu bytes, above %d",
                       tp_kind_name(message->kind), out->head.size, TP_HEAD_MAX);
    const struct tp_preamble preamble = {MINOR, (uint32_t)out->head.size,
                                         (uint32_t)out->n_frames};
    tp_preamble_write(out->preamble, &preamble);
    return TROUPE_OK;
}

/* -- Decode -------------------------------------------------------------------------------- */

/* The preamble, and whether what came is what it announces. */
static troupe_status check_announced(const struct tp_wire *wire, troupe_error *err)
{
    struct tp_preamble p;
    TP_TRY(tp_preamble_read(wire->preamble, sizeof wire->preamble, &p, err));
    if (p.head_size != wire->head.size)
        return tp_fail(err, TROUPE_CORRUPT, "a head of %zu bytes, %u were announced",
                       wire->head.size, p.head_size);
    if (p.n_frames != wire->n_frames)
        return tp_fail(err, TROUPE_CORRUPT, "%zu frames, %u were announced", wire->n_frames,
                       p.n_frames);
    return TROUPE_OK;
}

/* The head as msgpack-c's objects, which point into it. */
static troupe_status read_head(const struct tp_text *head, msgpack_unpacked *out,
                               troupe_error *err)
{
    size_t end = 0;
    TP_TRY(tp_scan(head->data, head->size, err));
    const msgpack_unpack_return got = msgpack_unpack_next(out, head->data, head->size, &end);
    if (got == MSGPACK_UNPACK_NOMEM_ERROR) return tp_fail_memory(err, head->size);
    tp_assert(got == MSGPACK_UNPACK_SUCCESS && end == head->size); /* since it was scanned */
    return TROUPE_OK;
}

static troupe_status read_kind(const msgpack_object *head, enum tp_kind *out, troupe_error *err)
{
    if (head->type != MSGPACK_OBJECT_ARRAY || !head->via.array.size)
        return tp_fail(err, TROUPE_CORRUPT, "the head is not an array with a kind");
    const msgpack_object *kind = &head->via.array.ptr[0];
    if (!is_unsigned(kind, UINT32_MAX))
        return tp_fail(err, TROUPE_CORRUPT, "the kind is not a number of 32 bits");
    if (kind->via.u64 >= TP_KINDS)
        return tp_fail(err, TROUPE_UNSUPPORTED, "messages of kind %u are not known here",
                       (unsigned)kind->via.u64);
    *out = (enum tp_kind)kind->via.u64;
    return TROUPE_OK;
}

/* values[0..n) are all that came, which may be fewer or more than the kind has. */
static troupe_status unpack_fields(struct unpacking *from, const msgpack_object *values,
                                   uint32_t n, struct tp_message *message, troupe_error *err)
{
    static const msgpack_object missing = {.type = MSGPACK_OBJECT_NIL};
    uint32_t i = 0;
    for (const struct tp_field *f = tp_kind_fields(message->kind); f->name; f++, i++) {
        const bool came = i < n;
        if (!came && f->type != TP_FIELD_REF) break; /* the rest are zero already */
        void *field = (char *)tp_message_body(message) + f->offset;
        const troupe_status status =
            rows[f->type].unpack(from, came ? &values[i] : &missing, field, err);
        if (status < 0) return in_field(status, message->kind, f->name, err);
    }
    return TROUPE_OK;
}

static troupe_status decode_head(struct tp_message **out, struct unpacking *from,
                                 const msgpack_object *head, troupe_error *err)
{
    TP_OWNED(tp_message_destroy) struct tp_message *message = NULL;
    enum tp_kind kind = TP_KINDS;
    TP_TRY(read_kind(head, &kind, err));
    TP_TRY(tp_message_new(&message, kind, err));
    const msgpack_object_array *list = &head->via.array;
    TP_TRY(unpack_fields(from, list->ptr + 1, list->size - 1, message, err));
    *out = message;
    message = NULL;
    return TROUPE_OK;
}

troupe_status tp_decode(struct tp_message **out, struct tp_wire *wire, enum tp_wire_scope scope,
                        troupe_error *err)
{
    TP_OWNED(msgpack_unpacked_destroy) msgpack_unpacked head;
    struct unpacking from = {.wire = wire, .scope = scope};
    msgpack_unpacked_init(&head);
    TP_TRY(check_announced(wire, err));
    TP_TRY(read_head(&wire->head, &head, err));
    return decode_head(out, &from, &head.data, err);
}

/* -- Both, inside this process ------------------------------------------------------------- */

static troupe_status there_and_back(const struct tp_message *message, struct tp_message **out,
                                    troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
    TP_TRY(tp_encode(message, TP_WIRE_LOCAL, &wire, err));
    TP_TRY(tp_wire_copy_frames(&wire, err));
    return tp_decode(out, &wire, TP_WIRE_LOCAL, err);
}

troupe_status tp_message_recode(struct tp_message *message, troupe_error *err)
{
    TP_OWNED(tp_message_destroy) struct tp_message *twin = NULL;
    uint8_t body[TP_BODY_SIZE];
    TP_TRY(there_and_back(message, &twin, err));
    if (!tp_message_equal(message, twin))
        return tp_fail(err, TROUPE_INTERNAL, "%s is not what was encoded",
                       tp_kind_name(message->kind));
    /* They change bodies; what `message` owned goes with the twin. */
    memcpy(body, tp_message_body(message), sizeof body);
    memcpy(tp_message_body(message), tp_message_body(twin), sizeof body);
    memcpy(tp_message_body(twin), body, sizeof body);
    return TROUPE_OK;
}
