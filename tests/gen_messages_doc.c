/* SPDX-License-Identifier: MIT
 *
 * tests/gen_messages_doc.c - prints doc/messages.md: how messages look on the wire, and every
 * kind and field of kinds.def.
 */
#include <stdio.h>
#include <string.h>

#include "messages/codec.h"
#include "messages/scan.h"

/* How a field of each type looks in the head. */
static const char *const on_the_wire[TP_FIELD_TYPES] = {
    [TP_FIELD_BOOL] = "`true` or `false`",
    [TP_FIELD_I32] = "an integer of any width, -2^31 to 2^31 - 1",
    [TP_FIELD_U32] = "an integer of any width, 0 to 2^32 - 1",
    [TP_FIELD_U64] = "an integer of any width, 0 to 2^64 - 1",
    [TP_FIELD_REF] = "does not travel",
    [TP_FIELD_TENSOR] = "`nil`, or `[type, [dimension, ...]]`, and one frame",
    [TP_FIELD_ERROR] = "`nil`, or `[code, text]`",
};

static void print_preamble(void)
{
    printf("## Preamble\n\n"
           "%d bytes; numbers are little-endian.\n\n"
           "| byte | what |\n|---|---|\n"
           "| 0 | `TRP` and 0x1a |\n"
           "| 4 | major version, 1: with another one nothing that follows can be read |\n"
           "| 5 | minor version, 0: a higher one only adds what may be ignored |\n"
           "| 6 | 2 bytes, zero |\n"
           "| 8 | 4 bytes: size of the head, at most %d |\n"
           "| 12 | 4 bytes: number of frames, at most %d |\n\n",
           TP_PREAMBLE_SIZE, TP_HEAD_MAX, TP_FRAMES_MAX);
}

static void print_head(void)
{
    printf(
        "## Head\n\n"
        "One msgpack array, `[kind, field, ...]`: the kind's number, and its fields in the "
        "order of the list\nbelow. Kinds and fields are only ever added at the end, so:\n\n"
        "* a head with fewer fields is from an older peer: the rest are zero, false, none;\n"
        "* a head with more is from a newer one: those, and frames that no field takes, are "
        "ignored;\n"
        "* a kind that is not known is no error of the sender's. The receiver says so and goes "
        "on.\n\n"
        "A head is refused unless it is exactly one whole msgpack value of at most %d values, "
        "nested at most\n%d deep, each of which is there: an array that claims more elements "
        "than bytes follow is refused before\nanything is allocated for it.\n\n",
        TP_SCAN_VALUES, TP_SCAN_DEPTH);
}

static void print_types(void)
{
    printf("| type | in the head |\n|---|---|\n");
    for (int i = 0; i < TP_FIELD_TYPES; i++)
        printf("| %s | %s |\n", tp_field_rows[i].name, on_the_wire[i]);
    printf(
        "\nAn error's code is a negative number of `troupe/status.h`; one that is not known is "
        "read as INTERNAL. Its text\nis UTF-8, and cut after %zu bytes. A REF is an object of "
        "the process that the message is in.\n\n",
        sizeof(((troupe_error *)0)->text) - 1);
}

static void print_frames(void)
{
    printf(
        "## Frames\n\n"
        "A frame has a tensor's elements, little-endian, in row-major order without gaps: as "
        "many bytes as its type\nand dimensions say, which may be none. The first tensor in "
        "the head has the first frame, and so on. A type\nis given by its name or its "
        "number:\n\n"
        "| type | number | bytes of an element |\n|---|---|---|\n");
    for (int i = TROUPE_F32; troupe_dtype_name((troupe_dtype)i); i++)
        printf("| `%s` | %d | %.0zu |\n", troupe_dtype_name((troupe_dtype)i), i,
               troupe_dtype_size((troupe_dtype)i));
    printf(
        "\n"
        "A `bool` is one byte, 0 or 1; `f16`, `bf16` and the `f8` types are their bits. "
        "Complex "
        "numbers have the\nreal part first. Elements of 4 and 2 bits take a byte each, the "
        "upper bits zero, or the sign's in `i4` and\n`i2`; a byte that is no element is "
        "refused. The frame of a `string` tensor has first the size of each text\nin 8 bytes, "
        "then the texts, one after the other.\n\n"
        "A tensor has at most %d dimensions. It need not lie at any alignment; what lies at a "
        "multiple of %d bytes\nis used where it is.\n\n",
        TROUPE_MAX_RANK, TP_ALIGN);
}

static void print_bytes(const char *what, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    printf("    %-8s", what);
    for (size_t i = 0; i < size; i++)
        printf(" %02x", bytes[i]);
    printf("\n");
}

/* Returns 0 when it could be encoded. */
static int print_example(void)
{
    static const char text[] = "i16[2] [1, -2]";
    struct tp_message message = {.kind = TP_TENSOR, .fixed = true, .tensor.edge = 7};
    struct tp_wire wire = {.n_frames = 0};
    if (troupe_tensor_parse(&message.tensor.value, text, NULL)) return 1;
    const troupe_status status = tp_encode(&message, TP_WIRE_PEER, &wire, NULL);
    if (status == TROUPE_OK) {
        printf("## Example\n\n`%s` on edge 7:\n\n", text);
        print_bytes("preamble", wire.preamble, sizeof wire.preamble);
        print_bytes("head", wire.head.data, wire.head.size);
        print_bytes("frame", wire.frames[0].data, wire.frames[0].size);
        printf("\n");
    }
    tp_wire_fini(&wire);
    tp_message_drop(&message);
    return status != TROUPE_OK;
}

static bool travels(enum tp_kind kind)
{
    for (const struct tp_field *f = tp_kind_fields(kind); f->name; f++)
        if (f->type == TP_FIELD_REF) return false;
    return true;
}

static void print_kind(enum tp_kind kind)
{
    const struct tp_field *f = tp_kind_fields(kind);
    printf("\n### %d %s\n\n%s.%s\n", (int)kind, tp_kind_name(kind), tp_kind_doc(kind),
           travels(kind) ? "" : " It does not leave the process.");
    if (f->name) printf("\n| field | type |\n|---|---|\n");
    for (; f->name; f++)
        printf("| `%s` | %s |\n", f->name, tp_field_rows[f->type].name);
}

int main(void)
{
    printf(
        "# Messages\n\n"
        "What the actors of a runtime say to each other, and how it looks as bytes. A message "
        "is a preamble, a head\nand a frame for each tensor; on ZeroMQ each is a frame of one "
        "message.\n\n"
        "`tests/gen_messages_doc` prints this page; the kinds are those of "
        "`messages/kinds.def`.\n\n");
    print_preamble();
    print_head();
    print_types();
    print_frames();
    const int failed = print_example();
    printf("## Kinds\n");
    for (int kind = 0; kind < TP_KINDS; kind++)
        print_kind((enum tp_kind)kind);
    return failed;
}
