/* SPDX-License-Identifier: MIT
 *
 * tests/messages.c - messages for tests: random ones, and ones written byte by byte.
 */
#include "tests/messages.h"

#include <stdio.h>

/* -- Random -------------------------------------------------------------------------------- */

static int random_dims(struct dice *dice, int64_t *dims)
{
    const int rank = (int)dice_below(dice, 4);
    for (int i = 0; i < rank; i++)
        dims[i] = dice_below(dice, 4);
    return rank;
}

static troupe_tensor *random_strings(int rank, const int64_t *dims, size_t n, struct dice *dice)
{
    troupe_error err;
    troupe_tensor *out;
    char texts[27][8];
    const char *at[27];
    size_t sizes[27];
    for (size_t i = 0; i < n; i++) {
        at[i] = texts[i];
        sizes[i] = dice_below(dice, sizeof texts[i]);
        for (size_t b = 0; b < sizes[i]; b++)
            texts[i][b] = (char)dice_next(dice);
    }
    ck_ok(troupe_tensor_new_strings(&out, rank, dims, at, sizes, &err));
    return out;
}

/* One that any element of the type may have. */
static uint8_t random_byte(struct dice *dice, troupe_dtype dtype)
{
    const unsigned bits = tp_dtype_bits(dtype);
    if (bits >= 8) return (uint8_t)dice_next(dice);
    const unsigned sign = tp_dtype_kind(dtype) == TP_KIND_SIGNED ? 1u << (bits - 1) : 0;
    return (uint8_t)(dice_below(dice, 1u << bits) - sign);
}

troupe_tensor *random_tensor(struct dice *dice, troupe_dtype dtype)
{
    troupe_error err;
    troupe_tensor *out;
    uint8_t bytes[27 * 16];
    int64_t dims[3];
    size_t n = 1;
    const int rank = random_dims(dice, dims);
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    if (dtype == TROUPE_STRING) return random_strings(rank, dims, n, dice);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = random_byte(dice, dtype);
    ck_ok(troupe_tensor_new(&out, dtype, rank, dims, bytes, &err));
    return out;
}

static troupe_error *random_error(struct dice *dice)
{
    troupe_error *error = tp_alloc(sizeof *error);
    ck_assert_ptr_nonnull(error);
    error->code = (troupe_status)(-1 - (int)dice_below(dice, 10));
    const size_t size = dice_below(dice, sizeof error->text);
    for (size_t i = 0; i < size; i++)
        error->text[i] = (char)(' ' + dice_below(dice, 95));
    return error;
}

/* Of every width. */
static uint64_t random_number(struct dice *dice)
{
    return dice_next(dice) >> dice_below(dice, 64);
}

static void random_field(struct dice *dice, enum tp_field_type type, void *field)
{
    switch (type) {
    case TP_FIELD_BOOL:
        *(bool *)field = dice_below(dice, 2);
        break;
    case TP_FIELD_I32:
        *(int32_t *)field =
            (int32_t)(uint32_t)(random_number(dice) * (dice_below(dice, 2) * 2 - 1u));
        break;
    case TP_FIELD_U32:
        *(uint32_t *)field = (uint32_t)random_number(dice);
        break;
    case TP_FIELD_U64:
        *(uint64_t *)field = random_number(dice);
        break;
    case TP_FIELD_REF:
        *(void **)field = (void *)(uintptr_t)random_number(dice);
        break;
    case TP_FIELD_TENSOR:
        if (dice_below(dice, 8))
            *(troupe_tensor **)field =
                random_tensor(dice, (troupe_dtype)(1 + dice_below(dice, TP_DTYPES - 1)));
        break;
    case TP_FIELD_ERROR:
        if (dice_below(dice, 4)) *(troupe_error **)field = random_error(dice);
        break;
    case TP_FIELD_TYPES:
        break;
    }
}

struct tp_message *random_message(struct dice *dice, enum tp_kind kind)
{
    troupe_error err;
    struct tp_message *m;
    ck_ok(tp_message_new(&m, kind, &err));
    for (const struct tp_field *f = tp_kind_fields(kind); f->name; f++)
        random_field(dice, f->type, (char *)tp_message_body(m) + f->offset);
    return m;
}

/* -- Byte by byte -------------------------------------------------------------------------- */

void add_frame(struct tp_wire *wire, const void *bytes, size_t size, size_t off)
{
    troupe_error err;
    struct tp_buffer *buffer;
    ck_ok(tp_buffer_new(&buffer, size + off, &err));
    char *at = (char *)buffer->data + off;
    if (size) memcpy(at, bytes, size);
    ck_ok(tp_wire_add(wire, &buffer, at, size, &err));
}

void announce(struct tp_wire *wire)
{
    const struct tp_preamble p = {0, (uint32_t)wire->head.size, (uint32_t)wire->n_frames};
    tp_preamble_write(wire->preamble, &p);
}

struct tp_wire wire_of(const char *head, const char *frame)
{
    struct tp_wire wire = {0};
    uint8_t bytes[256];
    tp_text_add_bytes(&wire.head, bytes, bytes_of(head, bytes));
    if (frame) add_frame(&wire, bytes, bytes_of(frame, bytes), 0);
    announce(&wire);
    return wire;
}

void ck_wires_equal(const struct tp_wire *a, const struct tp_wire *b)
{
    ck_assert_mem_eq(a->preamble, b->preamble, sizeof a->preamble);
    ck_assert_uint_eq(a->head.size, b->head.size);
    ck_assert_mem_eq(a->head.data, b->head.data, a->head.size);
    ck_assert_uint_eq(a->n_frames, b->n_frames);
    for (size_t i = 0; i < a->n_frames; i++) {
        ck_assert_uint_eq(a->frames[i].size, b->frames[i].size);
        if (a->frames[i].size)
            ck_assert_mem_eq(a->frames[i].data, b->frames[i].data, a->frames[i].size);
    }
}
