/* SPDX-License-Identifier: MIT
 *
 * messages/codec.h - a message as bytes, and back.
 *
 * On the wire a message is a preamble of 16 bytes, a head, and a frame of raw bytes for each
 * tensor; doc/messages.md has every byte. The head is one msgpack array, [kind, field, ...], in
 * the order of kinds.def: when it is shorter than that, the rest are zero; what it has more is
 * ignored. So an older peer and a newer one understand each other.
 *
 * What is decoded may come from anyone. A head is scanned before msgpack-c sees it, so nothing
 * is allocated because bytes claim it.
 */
#ifndef TP_MESSAGES_CODEC_H
#define TP_MESSAGES_CODEC_H

#include "messages/message.h"
#include "tensor/tensor.h"

#define TP_PREAMBLE_SIZE 16
#define TP_HEAD_MAX      65536
#define TP_FRAMES_MAX    1024

/* For whom it is encoded: only inside this process does a field of type REF mean anything. */
enum tp_wire_scope { TP_WIRE_PEER, TP_WIRE_LOCAL };

/* Raw bytes, somewhere inside a counted buffer. */
struct tp_wire_frame {
    struct tp_buffer *buffer; /* owned; NULL once its bytes were taken */
    const void *data;
    size_t size;
};

/* A message as bytes. Zeroed is valid and empty. */
struct tp_wire {
    uint8_t preamble[TP_PREAMBLE_SIZE];
    struct tp_text head;
    struct tp_wire_frame *frames; /* from tp_alloc */
    size_t n_frames, frames_capacity;
};
void tp_wire_fini(struct tp_wire *wire);
/* Add a frame; *buffer is moved, also on failure. EXHAUSTED. */
troupe_status tp_wire_add(struct tp_wire *wire, struct tp_buffer **buffer, const void *data,
                          size_t size, troupe_error *err) TROUPE_MUST_CHECK;
/* Give each frame memory of its own, as if it had been received. EXHAUSTED. */
troupe_status tp_wire_copy_frames(struct tp_wire *wire, troupe_error *err) TROUPE_MUST_CHECK;

/* What a preamble announces, so that a receiver knows what to wait for. */
struct tp_preamble {
    int minor;
    uint32_t head_size, n_frames;
};
void tp_preamble_write(uint8_t *bytes, const struct tp_preamble *preamble);
/* CORRUPT: not `size` bytes of a preamble, or over a limit above. UNSUPPORTED: of a version
 * that is not understood here, which is named. */
troupe_status tp_preamble_read(const void *bytes, size_t size, struct tp_preamble *out,
                               troupe_error *err) TROUPE_MUST_CHECK;

/* *out (empty) is `message` in bytes, to be ended by tp_wire_fini, also on failure. Its frames
 * share the memory of the message's tensors. INVALID, naming the field: it does not travel to a
 * peer. EXHAUSTED. */
troupe_status tp_encode(const struct tp_message *message, enum tp_wire_scope scope,
                        struct tp_wire *out, troupe_error *err) TROUPE_MUST_CHECK;

/* The message in those bytes, from the heap. Frames that are aligned to TP_ALIGN are taken and
 * become tensors without a copy; the others stay. CORRUPT, naming kind and field: the bytes are
 * no message. UNSUPPORTED, with the kind's number: it is of a kind that is not known here;
 * nothing is wrong with its sender. EXHAUSTED. */
troupe_status tp_decode(struct tp_message **out, struct tp_wire *wire, enum tp_wire_scope scope,
                        troupe_error *err) TROUPE_MUST_CHECK;

/* Send a message through the codec inside this process: encode, scan, decode, compare. What it
 * owns is replaced by decoded copies, its own memory stays. On failure it is as it was:
 * EXHAUSTED, or a bug of ours. */
troupe_status tp_message_recode(struct tp_message *message,
                                troupe_error *err) TROUPE_MUST_CHECK;

#endif
