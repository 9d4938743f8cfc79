/* SPDX-License-Identifier: MIT
 *
 * tests/onnx_text.h - tiny ONNX models for tests, written as text, as the bytes of a file.
 *
 * Statements end with ";", words are apart by spaces:
 *
 *   ir 8; opset 13; opset 1 ai.onnx.ml; graph NAME;
 *   in x f32[2,n,?]; in y f32; in z -;        a type with a shape, without, none
 *   init w f32[2]{1,2};                       an initializer, as raw_data
 *   Add x w -> y axis=1; n1:Foo@domain _ x -> a _;   a node; "_" is absent
 *   out y;
 *   fn DOMAIN NAME a b -> c; attr k; default k=1; NODES; end;
 *
 * Attributes: 1, 1.5, [1,2], [1.5,2], 'text', @reference, a tensor as above, {NODES} is not
 * there. An element type is a name of ours, or t and ONNX's number: t14[2]. Without "ir",
 * "opset" and "graph" it is ir 8, opset 13, graph "g".
 */
#ifndef TP_TESTS_ONNX_TEXT_H
#define TP_TESTS_ONNX_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *data;
    size_t size, room;
};

void bytes_free(struct bytes *bytes);
void put_raw(struct bytes *to, const void *data, size_t size);
/* One number of this machine's, as the format has it: the lowest byte first. */
void put_little(struct bytes *to, const void *number, size_t size);
void put_varint(struct bytes *to, uint64_t value);
/* Fields: a number as varint; bytes; a text; a message, which is freed. */
void put_int(struct bytes *to, unsigned field, int64_t value);
void put_bytes(struct bytes *to, unsigned field, const void *data, size_t size);
void put_text(struct bytes *to, unsigned field, const char *text);
void put_message(struct bytes *to, unsigned field, struct bytes *message);

/* The bytes of the model; aborts when the text is malformed. */
struct bytes onnx_text(const char *text);

#endif
