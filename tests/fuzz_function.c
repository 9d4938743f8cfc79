/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_function.c - any bytes as the form of a function: refused, or a function that comes
 * back as it went.
 *
 * An input is parts, each a size of 2 bytes, low byte first, and so many bytes: the form, then
 * each frame. The operators are those of ops_fake.c.
 */
#include <string.h>

#include "messages/function_codec.h"
#include "tests/fuzz.h"

static const uint8_t *take(const uint8_t **at, size_t *left, size_t wanted, size_t *size)
{
    const uint8_t *from = *at;
    *size = wanted < *left ? wanted : *left;
    *at += *size;
    *left -= *size;
    return from;
}

static const uint8_t *part(const uint8_t **at, size_t *left, size_t *size)
{
    size_t two;
    const uint8_t *from = take(at, left, 2, &two);
    return take(at, left, two == 2 ? (size_t)(from[0] | from[1] << 8) : *left, size);
}

static void add_frame(struct tp_wire *wire, const uint8_t *bytes, size_t size)
{
    struct tp_buffer *buffer = NULL;
    FUZZ_ASSERT(!tp_buffer_new(&buffer, size, NULL));
    if (size) memcpy(buffer->data, bytes, size);
    FUZZ_ASSERT(!tp_wire_add(wire, &buffer, buffer->data, size, NULL));
}

static void ck_sound(const struct tp_bodies *bodies)
{
    struct tp_wire again = {.n_frames = 0};
    struct tp_bodies back = {.n = 0};
    FUZZ_ASSERT(!tp_bodies_encode(bodies, TP_PLACES_KEEP, &again, NULL));
    FUZZ_ASSERT(!tp_bodies_decode(&again, NULL, &back, NULL));
    FUZZ_ASSERT(back.n == bodies->n && back.main == bodies->main);
    for (uint32_t i = 0; i < back.n; i++)
        FUZZ_ASSERT(
            memcmp(back.list[i]->hash, bodies->list[i]->hash, sizeof back.list[i]->hash) == 0);
    tp_bodies_fini(&back);
    tp_wire_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_wire wire = {.n_frames = 0};
    struct tp_bodies bodies = {.n = 0};
    troupe_error err = {.code = TROUPE_OK};
    size_t n;
    const uint8_t *bytes = part(&data, &size, &n);
    tp_text_add_bytes(&wire.head, bytes, n);
    for (int i = 0; size && i < 8; i++) {
        bytes = part(&data, &size, &n);
        add_frame(&wire, bytes, n);
    }
    const troupe_status status = tp_bodies_decode(&wire, "fuzz", &bodies, &err);
    FUZZ_ASSERT(!status || status == TROUPE_CORRUPT || status == TROUPE_UNSUPPORTED ||
                status == TROUPE_NOT_FOUND || status == TROUPE_EXHAUSTED);
    FUZZ_ASSERT(!status || err.text[0]);
    if (!status) ck_sound(&bodies);
    tp_bodies_fini(&bodies);
    tp_wire_fini(&wire);
    FUZZ_ASSERT(tp_alloc_pieces() == 0);
    return 0;
}
