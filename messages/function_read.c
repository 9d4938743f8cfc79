/* SPDX-License-Identifier: MIT
 *
 * messages/function_read.c - the form of a function, value by value and part by part.
 *
 * A value is scanned, so that all that it claims is there, before msgpack-c makes objects of it.
 */
#include "messages/function_read.h"

#include <string.h>

#include "base/fail.h"
#include "graph/hash.h"
#include "messages/function_form.h"
#include "messages/scan.h"
#include "messages/tensor_codec.h"

#define ZONE_SIZE 8192

/* -- Values -------------------------------------------------------------------------------- */

troupe_status tp_form_init(struct tp_form_reader *r, struct tp_wire *wire, troupe_error *err)
{
    *r = (struct tp_form_reader){.wire = wire};
    r->zone = msgpack_zone_new(ZONE_SIZE);
    if (!r->zone) return tp_fail_memory(err, ZONE_SIZE);
    TP_TRY(tp_arena_new(&r->texts, err));
    if (!tp_arena_take(r->texts, 1)) return tp_fail_memory(err, 1); /* so that a block stays */
    r->start = tp_arena_mark(r->texts);
    return TROUPE_OK;
}

static void drop_tensors(struct tp_form_reader *r)
{
    while (r->n_tensors)
        troupe_tensor_release(&r->tensors[--r->n_tensors]);
}

void tp_form_fini(struct tp_form_reader *r)
{
    drop_tensors(r);
    tp_free(r->tensors);
    tp_arena_destroy(&r->texts);
    if (r->zone) msgpack_zone_free(r->zone);
}

/* What came of the value before goes. */
static void forget(struct tp_form_reader *r)
{
    drop_tensors(r);
    msgpack_zone_clear(r->zone);
    tp_arena_reset(r->texts, r->start);
}

troupe_status tp_form_next(struct tp_form_reader *r, troupe_error *err)
{
    const struct tp_text *head = &r->wire->head;
    size_t size, at = 0;
    forget(r);
    r->from = r->at;
    TP_TRY(tp_scan_value_at(head->data, head->size, r->at, head->size, &size, err));
    const msgpack_unpack_return got =
        msgpack_unpack(head->data + r->at, size, &at, r->zone, &r->value);
    if (got == MSGPACK_UNPACK_NOMEM_ERROR) return tp_fail_memory(err, size);
    tp_assert(got == MSGPACK_UNPACK_SUCCESS && at == size); /* since it was scanned */
    r->at += size;
    if (r->value.type == MSGPACK_OBJECT_ARRAY) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT, "byte %zu: not an array", r->from);
}

/* -- Parts --------------------------------------------------------------------------------- */

const msgpack_object *tp_form_part(const msgpack_object *array, uint32_t i)
{
    static const msgpack_object missing = {.type = MSGPACK_OBJECT_NIL};
    if (array->type != MSGPACK_OBJECT_ARRAY || i >= array->via.array.size) return &missing;
    return &array->via.array.ptr[i];
}

static troupe_status not_a(const char *what, const char *type, troupe_error *err)
{
    return tp_fail(err, TROUPE_CORRUPT, "%s: not %s", what, type);
}

troupe_status tp_form_list(const msgpack_object *part, const char *what,
                           const msgpack_object_array **out, troupe_error *err)
{
    static const msgpack_object_array empty = {0, NULL};
    if (part->type == MSGPACK_OBJECT_NIL)
        *out = &empty;
    else if (part->type == MSGPACK_OBJECT_ARRAY)
        *out = &part->via.array;
    else
        return not_a(what, "an array", err);
    return TROUPE_OK;
}

troupe_status tp_form_number(const msgpack_object *part, const char *what, uint32_t *out,
                             troupe_error *err)
{
    if (part->type != MSGPACK_OBJECT_POSITIVE_INTEGER || part->via.u64 >= UINT32_MAX)
        return not_a(what, "a number below 2^32 - 1", err);
    *out = (uint32_t)part->via.u64;
    return TROUPE_OK;
}

troupe_status tp_form_flag(const msgpack_object *part, const char *what, bool *out,
                           troupe_error *err)
{
    if (part->type != MSGPACK_OBJECT_BOOLEAN) return not_a(what, "true or false", err);
    *out = part->via.boolean;
    return TROUPE_OK;
}

static troupe_status copy_text(struct tp_form_reader *r, const char *what, const char *bytes,
                               size_t size, const char **out, troupe_error *err)
{
    if (size && memchr(bytes, 0, size))
        return tp_fail(err, TROUPE_CORRUPT, "%s: a zero byte in a text", what);
    *out = tp_arena_text(r->texts, size ? bytes : "", size);
    return *out ? TROUPE_OK : tp_fail_memory(err, size + 1);
}

troupe_status tp_form_text(struct tp_form_reader *r, const msgpack_object *part,
                           const char *what, const char **out, troupe_error *err)
{
    if (part->type != MSGPACK_OBJECT_STR) return not_a(what, "a text", err);
    return copy_text(r, what, part->via.str.ptr, part->via.str.size, out, err);
}

troupe_status tp_form_text_or_nil(struct tp_form_reader *r, const msgpack_object *part,
                                  const char *what, const char **out, troupe_error *err)
{
    *out = NULL;
    if (part->type == MSGPACK_OBJECT_NIL) return TROUPE_OK; /* there is none */
    return tp_form_text(r, part, what, out, err);
}

troupe_status tp_form_outside(troupe_status status, troupe_error *err)
{
    if (status != TROUPE_INVALID) return status;
    if (err) err->code = TROUPE_CORRUPT;
    return TROUPE_CORRUPT;
}

/* -- Hashes -------------------------------------------------------------------------------- */

troupe_status tp_form_hash(const msgpack_object *part, const char *what, uint64_t out[2],
                           troupe_error *err)
{
    if (part->type != MSGPACK_OBJECT_BIN || part->via.bin.size != TP_FORM_HASH)
        return not_a(what, "16 bytes of a hash", err);
    out[0] = out[1] = 0;
    for (size_t i = 0; i < TP_FORM_HASH; i++)
        out[i / 8] = out[i / 8] << 8 | (uint8_t)part->via.bin.ptr[i];
    return TROUPE_OK;
}

/* -- Tensors ------------------------------------------------------------------------------- */

/* Elements that stand inside, as a frame of their own. */
static troupe_status frame_inside(const msgpack_object *part, struct tp_wire_frame *out,
                                  troupe_error *err)
{
    const size_t size = part->via.bin.size;
    TP_TRY(tp_buffer_new(&out->buffer, size, err));
    if (size) memcpy(out->buffer->data, part->via.bin.ptr, size);
    out->data = out->buffer->data;
    out->size = size;
    return TROUPE_OK;
}

/* A frame belongs to one tensor; afterwards nothing has it. */
static troupe_status frame_beside(struct tp_form_reader *r, const msgpack_object *part,
                                  struct tp_wire_frame *out, troupe_error *err)
{
    uint32_t i = 0;
    TP_TRY(tp_form_number(part, "the frame of a tensor", &i, err));
    if (i >= r->wire->n_frames)
        return tp_fail(err, TROUPE_CORRUPT, "frame %u of %zu", i, r->wire->n_frames);
    struct tp_wire_frame *frame = &r->wire->frames[i];
    if (!frame->buffer)
        return tp_fail(err, TROUPE_CORRUPT, "frame %u is another tensor's already", i);
    *out = *frame;
    frame->buffer = NULL;
    return TROUPE_OK;
}

static void drop_frame(struct tp_wire_frame *frame)
{
    tp_buffer_release(&frame->buffer);
}

static troupe_status check_tensor(const troupe_tensor *tensor, const msgpack_object *part,
                                  troupe_error *err)
{
    uint64_t expected[2], found[2];
    TP_TRY(tp_form_hash(part, "the hash of a tensor", expected, err));
    TP_TRY(tp_hash_tensor(tensor, found, err));
    return tp_hash_check("the checksum of a tensor", expected, found, err);
}

troupe_status tp_form_tensor(struct tp_form_reader *r, const msgpack_object *part,
                             const troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(drop_frame) struct tp_wire_frame frame = {.size = 0};
    bool used;
    const msgpack_object *elements = tp_form_part(part, TP_TENSOR_ELEMENTS);
    TP_TRY(tp_grow(&r->tensors, r->n_tensors, &r->tensors_room, sizeof *r->tensors, err));
    if (elements->type == MSGPACK_OBJECT_BIN)
        TP_TRY(frame_inside(elements, &frame, err));
    else
        TP_TRY(frame_beside(r, elements, &frame, err));
    troupe_tensor *tensor = NULL;
    TP_TRY(tp_tensor_unpack(tp_form_part(part, TP_TENSOR_TYPE), &frame, &used, &tensor, err));
    if (!tensor) return tp_fail(err, TROUPE_CORRUPT, "a tensor without a type");
    r->tensors[r->n_tensors++] = tensor;
    *out = tensor;
    return check_tensor(tensor, tp_form_part(part, TP_TENSOR_HASH), err);
}

/* -- Attributes ---------------------------------------------------------------------------- */

static bool read_int(const msgpack_object *part, int64_t *out)
{
    const bool small =
        part->type == MSGPACK_OBJECT_POSITIVE_INTEGER && part->via.u64 <= INT64_MAX;
    if (!small && part->type != MSGPACK_OBJECT_NEGATIVE_INTEGER) return false;
    *out = small ? (int64_t)part->via.u64 : part->via.i64;
    return true;
}

static bool read_float(const msgpack_object *part, double *out)
{
    if (part->type != MSGPACK_OBJECT_FLOAT64 && part->type != MSGPACK_OBJECT_FLOAT32)
        return false;
    *out = part->via.f64;
    return true;
}

/* Bytes, with a zero byte behind them. */
static troupe_status read_bytes(struct tp_form_reader *r, const msgpack_object *part,
                                const char **out, size_t *size, troupe_error *err)
{
    if (part->type != MSGPACK_OBJECT_BIN && part->type != MSGPACK_OBJECT_STR)
        return not_a("an attribute", "bytes", err);
    *size = part->via.bin.size;
    *out = tp_arena_text(r->texts, *size ? part->via.bin.ptr : "", *size);
    return *out ? TROUPE_OK : tp_fail_memory(err, *size + 1);
}

static troupe_status read_item(struct tp_form_reader *r, const msgpack_object *part,
                               troupe_attr_kind kind, void *items, uint32_t i,
                               troupe_error *err)
{
    const char *text;
    size_t size;
    if (kind == TROUPE_ATTR_INTS)
        return read_int(part, (int64_t *)items + i) ? TROUPE_OK
                                                    : not_a("an attribute", "integers", err);
    if (kind == TROUPE_ATTR_FLOATS)
        return read_float(part, (double *)items + i) ? TROUPE_OK
                                                     : not_a("an attribute", "floats", err);
    TP_TRY(read_bytes(r, part, &text, &size, err));
    if (memchr(text, 0, size))
        return tp_fail(err, TROUPE_CORRUPT, "an attribute: a zero byte in text %u", i);
    ((const char **)items)[i] = text;
    return TROUPE_OK;
}

/* Items of 8 bytes or less each. */
static troupe_status read_list(struct tp_form_reader *r, const msgpack_object *part,
                               troupe_attr *out, troupe_error *err)
{
    const msgpack_object_array *list = NULL;
    TP_TRY(tp_form_list(part, "an attribute", &list, err));
    void *items = tp_arena_array(r->texts, list->size, sizeof(int64_t));
    if (!items) return tp_fail_memory(err, list->size * sizeof(int64_t));
    for (uint32_t i = 0; i < list->size; i++)
        TP_TRY(read_item(r, &list->ptr[i], out->kind, items, i, err));
    out->n = list->size;
    if (out->kind == TROUPE_ATTR_INTS) out->ints = items;
    if (out->kind == TROUPE_ATTR_FLOATS) out->floats = items;
    if (out->kind == TROUPE_ATTR_STRINGS) out->texts = items;
    return TROUPE_OK;
}

static troupe_status read_dtype(struct tp_form_reader *r, const msgpack_object *part,
                                troupe_dtype *out, troupe_error *err)
{
    const char *name;
    TP_TRY(tp_form_text(r, part, "an element type", &name, err));
    *out = troupe_dtype_parse(name);
    if (*out != TROUPE_DTYPE_NONE) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT, "element type '%.20s' is not known here", name);
}

static troupe_status read_value(struct tp_form_reader *r, const msgpack_object *part,
                                troupe_attr *out, troupe_error *err)
{
    switch (out->kind) {
    case TROUPE_ATTR_INT:
        return read_int(part, &out->i) ? TROUPE_OK : not_a("an attribute", "an integer", err);
    case TROUPE_ATTR_FLOAT:
        return read_float(part, &out->f) ? TROUPE_OK : not_a("an attribute", "a float", err);
    case TROUPE_ATTR_STRING:
        return read_bytes(r, part, &out->text, &out->n, err);
    case TROUPE_ATTR_INTS:
    case TROUPE_ATTR_FLOATS:
    case TROUPE_ATTR_STRINGS:
        return read_list(r, part, out, err);
    case TROUPE_ATTR_TENSOR:
        return tp_form_tensor(r, part, &out->tensor, err);
    case TROUPE_ATTR_DTYPE:
        return read_dtype(r, part, &out->dtype, err);
    case TROUPE_ATTR_FUNCTION:
        return tp_form_text(r, part, "a function in an attribute", &out->text, err);
    }
    return tp_fail(err, TROUPE_CORRUPT, "attributes of kind %d are not known here",
                   (int)out->kind);
}

static troupe_status read_attr(struct tp_form_reader *r, const msgpack_object *part,
                               troupe_attr *out, troupe_error *err)
{
    uint32_t kind = 0;
    TP_TRY(tp_form_text(r, tp_form_part(part, 0), "the name of an attribute", &out->name, err));
    TP_TRY(tp_form_number(tp_form_part(part, 1), "the kind of an attribute", &kind, err));
    out->kind = kind <= TROUPE_ATTR_FUNCTION ? (troupe_attr_kind)kind : (troupe_attr_kind)0;
    const troupe_status status = read_value(r, tp_form_part(part, 2), out, err);
    if (status < 0) tp_fail_in(err, "'%.60s'", out->name);
    return status;
}

troupe_status tp_form_attrs(struct tp_form_reader *r, const msgpack_object *part,
                            const troupe_attr **out, size_t *n, troupe_error *err)
{
    const msgpack_object_array *list = NULL;
    TP_TRY(tp_form_list(part, "the attributes", &list, err));
    troupe_attr *attrs = tp_arena_array(r->texts, list->size, sizeof *attrs);
    if (!attrs) return tp_fail_memory(err, list->size * sizeof *attrs);
    for (uint32_t i = 0; i < list->size; i++)
        TP_TRY(read_attr(r, &list->ptr[i], &attrs[i], err));
    *out = attrs;
    *n = list->size;
    return TROUPE_OK;
}
