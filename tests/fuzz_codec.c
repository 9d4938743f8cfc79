/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_codec.c - any bytes as a message: refused, or sound.
 *
 * An input is a byte of flags (1: for this process; 2: the preamble is in the input, else it is
 * made; from bit 2 on, how far the frames lie off their alignment), the preamble if it is there,
 * and then parts, each a size of 2 bytes, low byte first, and so many bytes: the head, then each
 * frame.
 */
#include <string.h>

#include "messages/codec.h"
#include "tests/fuzz.h"

struct input {
    const uint8_t *at;
    size_t left;
};

static const uint8_t *take(struct input *in, size_t wanted, size_t *size)
{
    const uint8_t *at = in->at;
    *size = wanted < in->left ? wanted : in->left;
    in->at += *size;
    in->left -= *size;
    return at;
}

static const uint8_t *part(struct input *in, size_t *size)
{
    size_t two;
    const uint8_t *at = take(in, 2, &two);
    return take(in, two == 2 ? (size_t)(at[0] | at[1] << 8) : in->left, size);
}

static void add_frame(struct tp_wire *wire, struct input *in, size_t off)
{
    struct tp_buffer *buffer = NULL;
    size_t size;
    const uint8_t *at = part(in, &size);
    FUZZ_ASSERT(!tp_buffer_new(&buffer, size + off, NULL));
    uint8_t *data = (uint8_t *)buffer->data + off;
    memcpy(data, at, size);
    FUZZ_ASSERT(!tp_wire_add(wire, &buffer, data, size, NULL));
}

static void fill(struct tp_wire *wire, struct input *in, uint8_t flags)
{
    size_t size;
    const uint8_t *at = flags & 2 ? take(in, TP_PREAMBLE_SIZE, &size) : NULL;
    if (at) memcpy(wire->preamble, at, size);
    const uint8_t *head = part(in, &size);
    tp_text_add_bytes(&wire->head, head, size);
    for (int i = 0; in->left && i < 8; i++)
        add_frame(wire, in, flags >> 2);
    const struct tp_preamble p = {0, (uint32_t)wire->head.size, (uint32_t)wire->n_frames};
    if (!at) tp_preamble_write(wire->preamble, &p);
}

static void ck_sound(const struct tp_message *message, enum tp_wire_scope scope)
{
    struct tp_wire again = {.n_frames = 0};
    struct tp_message *twin = NULL;
    struct tp_text text = {.size = 0};
    tp_message_show(message, &text);
    FUZZ_ASSERT(!tp_encode(message, scope, &again, NULL));
    FUZZ_ASSERT(!tp_decode(&twin, &again, scope, NULL));
    /* A text that is no UTF-8 is made so for a peer. */
    FUZZ_ASSERT(scope == TP_WIRE_PEER || tp_message_equal(message, twin));
    tp_message_destroy(&twin);
    tp_wire_fini(&again);
    tp_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct tp_wire wire = {.n_frames = 0};
    struct tp_message *message = NULL;
    troupe_error err = {.code = TROUPE_OK};
    size_t one;
    const uint8_t *flags = take(&in, 1, &one);
    if (!one) return 0;
    const enum tp_wire_scope scope = *flags & 1 ? TP_WIRE_LOCAL : TP_WIRE_PEER;
    fill(&wire, &in, *flags);
    const troupe_status status = tp_decode(&message, &wire, scope, &err);
    FUZZ_ASSERT(!status || status == TROUPE_CORRUPT || status == TROUPE_UNSUPPORTED);
    FUZZ_ASSERT(!status == (message != NULL) && (!status || err.text[0]));
    if (message) ck_sound(message, scope);
    tp_message_destroy(&message);
    tp_wire_fini(&wire);
    FUZZ_ASSERT(tp_alloc_pieces() == 0);
    return 0;
}
