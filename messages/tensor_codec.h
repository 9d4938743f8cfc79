/* SPDX-License-Identifier: MIT
 *
 * messages/tensor_codec.h - a tensor in a message: its type in the head, its elements in a
 * frame of their own. For messages/codec.c.
 */
#ifndef TP_MESSAGES_TENSOR_CODEC_H
#define TP_MESSAGES_TENSOR_CODEC_H

#include "messages/codec.h"

struct msgpack_object;
struct msgpack_packer;

/* Into the head: nil, or [type, [dimension, ...]]. Into a new frame: the elements. EXHAUSTED.
 */
troupe_status tp_tensor_pack(const troupe_tensor *tensor, struct msgpack_packer *head,
                             struct tp_wire *wire, troupe_error *err) TROUPE_MUST_CHECK;
/* frame: the next one, or NULL when there is none. *used tells whether it was the tensor's; its
 * bytes are taken when they are aligned. CORRUPT, EXHAUSTED. */
troupe_status tp_tensor_unpack(const struct msgpack_object *value, struct tp_wire_frame *frame,
                               bool *used, troupe_tensor **out,
                               troupe_error *err) TROUPE_MUST_CHECK;

#endif
