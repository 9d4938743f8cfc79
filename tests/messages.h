/* SPDX-License-Identifier: MIT
 *
 * tests/messages.h - messages for tests: random ones, and ones written byte by byte.
 */
#ifndef TP_TESTS_MESSAGES_H
#define TP_TESTS_MESSAGES_H

#include "messages/codec.h"
#include "tests/bytes.h"
#include "tests/test.h"

/* A tensor of that type and up to three small dimensions, some of them 0. */
troupe_tensor *random_tensor(struct dice *dice, troupe_dtype dtype);
/* With something in every field; from the heap. */
struct tp_message *random_message(struct dice *dice, enum tp_kind kind);

/* A message whose head, and whose frame unless that is NULL, are given in hex; announced. */
struct tp_wire wire_of(const char *head, const char *frame);
/* A frame with a copy of the bytes, `off` bytes behind a multiple of TP_ALIGN. */
void add_frame(struct tp_wire *wire, const void *bytes, size_t size, size_t off);
/* Write the preamble of what is there. */
void announce(struct tp_wire *wire);
void ck_wires_equal(const struct tp_wire *a, const struct tp_wire *b);

#endif
