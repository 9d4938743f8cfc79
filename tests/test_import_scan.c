/* SPDX-License-Identifier: MIT
 *
 * tests/test_import_scan.c - bytes that are no ONNX model are refused before anything decodes
 * them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "import/onnx/onnx.pb-c.h"
#include "import/onnx/scan.h"
#include "tests/onnx_text.h"
#include "tests/test.h"

static const ProtobufCMessageDescriptor *const model_type = &onnx__model_proto__descriptor;

static troupe_status scan(const struct bytes *bytes, struct tp_onnx_counts *counts,
                          troupe_error *err)
{
    return tp_onnx_scan(model_type, bytes->data, bytes->size, counts, err);
}

/* --- what is refused ------------------------------------------------------------------ */

/* Bytes of a model as text of hexadecimal digits, and what the failure says. */
static const struct {
    const char *hex, *word;
} refused[] = {
    {"08", "byte 1: the number is cut off"},
    {"80", "byte 0: the number is cut off"},
    {"ffffffffffffffffffff01", "byte 0: the number has more than 10 bytes"},
    {"3a05 08", "byte 1: a length of 5 where 1 bytes are left"},
    {"3affffffff0f", "byte 1: a length of 4294967295"},
    {"3affffffffffffffffff01", "byte 1: a length of 18446744073709551615"},
    {"0b", "byte 0: wire type 3"}, /* a group begins */
    {"0c", "byte 0: wire type 4"}, /* and ends */
    {"0e", "byte 0: wire type 6"},
    {"0001", "byte 0: field number 0"},
    {"808080808001 01", "byte 0: field number"}, /* 2^35: above 32 bits */
    {"0a00", "ir_version: wire type 2, not 0"},
    {"3801", "graph: wire type 0, not 2"},
    {"09 00000000", "the number is cut off"},
    {"3a00 3a00", "byte 2: graph stands there twice"},
    {"3a03 1201 00", "byte 4: name: a zero byte within a text"},
    {"3a05 0a03 0a01 00", "input: a zero byte within a text"},
    {"3a05 2a03 0a01 80", "the number is cut off"}, /* packed dims */
    {"3a07 2a05 2203 000000", "float_data: 3 bytes of numbers of 4 bytes"},
    {"3a08 2a06 5204 00000000", "double_data: 4 bytes of numbers of 8 bytes"},
};

static struct bytes from_hex(const char *hex)
{
    struct bytes out = {.size = 0};
    for (; *hex; hex += *hex == ' ' ? 1 : 2) {
        if (*hex == ' ') continue;
        const char digits[] = {hex[0], hex[1], 0};
        const uint8_t byte = (uint8_t)strtoul(digits, NULL, 16);
        put_raw(&out, &byte, 1);
    }
    return out;
}

START_TEST(malformed_bytes_are_refused_with_their_offset)
{
    troupe_error err;
    struct tp_onnx_counts counts;
    struct bytes bytes = from_hex(refused[_i].hex);
    ck_fails(scan(&bytes, &counts, &err), CORRUPT, refused[_i].word);
    bytes_free(&bytes);
}
END_TEST

/* Sub-graphs in attributes of nodes, n deep. */
static struct bytes nested(size_t n)
{
    struct bytes inner = {.size = 0};
    put_text(&inner, 2, "g");
    for (size_t i = 0; i < n; i++) {
        struct bytes attr = {.size = 0}, node = {.size = 0}, graph = {.size = 0};
        put_message(&attr, 6, &inner);
        put_message(&node, 5, &attr);
        put_message(&graph, 1, &node);
        inner = graph;
    }
    struct bytes model = {.size = 0};
    put_message(&model, 7, &inner);
    return model;
}

START_TEST(sub_graphs_ten_thousand_deep_are_refused)
{
    troupe_error err;
    struct tp_onnx_counts counts;
    ProtobufCMessage *message = NULL;
    struct bytes bytes = nested(10000);
    ck_fails(scan(&bytes, &counts, &err), CORRUPT, "more than 64 deep");
    ck_fails(tp_onnx_decode(model_type, bytes.data, bytes.size, &message, &err), CORRUPT,
             "deep");
    bytes_free(&bytes);
}
END_TEST

START_TEST(sub_graphs_twenty_deep_are_decoded)
{
    troupe_error err;
    ProtobufCMessage *message = NULL;
    struct bytes bytes = nested(20);
    ck_ok(tp_onnx_decode(model_type, bytes.data, bytes.size, &message, &err));
    tp_onnx_free(&message);
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_message_that_would_grow_too_much_is_refused)
{
    troupe_error err;
    struct tp_onnx_counts counts;
    struct bytes graph = {.size = 0}, model = {.size = 0};
    for (size_t i = 0; i <= TP_ONNX_NODES; i++)
        put_bytes(&graph, 1, NULL, 0);
    put_message(&model, 7, &graph);
    ck_fails(scan(&model, &counts, &err), EXHAUSTED, "1048576 graph nodes");
    bytes_free(&model);
    for (size_t i = 0; i < 8000000; i++)
        put_bytes(&graph, 11, NULL, 0); /* empty inputs: two bytes each */
    put_message(&model, 7, &graph);
    ck_fails(scan(&model, &counts, &err), EXHAUSTED, "decoded model needs more");
    bytes_free(&model);
}
END_TEST

/* --- what is let through -------------------------------------------------------------- */

static const char example[] =
    "ir 8; opset 13; graph net; in x f32[2,n]; init w f32[2]{1,2}; "
    "init big "
    "f32[40]{0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,"
    "8,9}; n1:Add x w -> y axis=-1 scale=1.5 list=[1,2] mode='text'; out y";

static Onnx__ModelProto *decode(const struct bytes *bytes)
{
    troupe_error err;
    ProtobufCMessage *message = NULL;
    ck_ok(tp_onnx_decode(model_type, bytes->data, bytes->size, &message, &err));
    return (Onnx__ModelProto *)message;
}

static void free_model(Onnx__ModelProto *model)
{
    ProtobufCMessage *message = (ProtobufCMessage *)model;
    tp_onnx_free(&message);
}

START_TEST(what_is_read_is_what_was_written)
{
    struct bytes bytes = onnx_text(example);
    Onnx__ModelProto *const model = decode(&bytes);
    ck_assert_int_eq(model->ir_version, 8);
    ck_assert_int_eq(model->opset_import[0]->version, 13);
    ck_assert_str_eq(model->graph->name, "net");
    const Onnx__NodeProto *const node = model->graph->node[0];
    ck_assert_str_eq(node->name, "n1");
    ck_assert_str_eq(node->input[1], "w");
    ck_assert_uint_eq(node->n_attribute, 4);
    ck_assert_int_eq(node->attribute[0]->i, -1);
    ck_assert_float_eq(node->attribute[1]->f, 1.5f);
    ck_assert_int_eq(node->attribute[2]->ints[1], 2);
    ck_assert_uint_eq(node->attribute[3]->s.len, 4);
    free_model(model);
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_short_raw_data_is_copied_and_a_long_one_stays_where_it_is)
{
    struct bytes bytes = onnx_text(example);
    Onnx__ModelProto *const model = decode(&bytes);
    const Onnx__TensorProto *const w = model->graph->initializer[0];
    const Onnx__TensorProto *const big = model->graph->initializer[1];
    ck_assert(w->has_raw_data && !w->has_raw_at);
    ck_assert_uint_eq(w->raw_data.len, 8);
    ck_assert(!big->has_raw_data && big->has_raw_at);
    ck_assert_uint_eq(big->raw_size, 160);
    float third;
    memcpy(&third, bytes.data + big->raw_at + 8, sizeof(third));
    ck_assert_float_eq(third, 2);
    free_model(model);
    bytes_free(&bytes);
}
END_TEST

START_TEST(fields_that_nobody_reads_are_left_out)
{
    troupe_error err;
    struct tp_onnx_counts counts;
    struct bytes bytes = onnx_text(example);
    ck_ok(scan(&bytes, &counts, &err));
    const size_t slim = counts.slim;
    put_text(&bytes, 2, "a producer"); /* producer_name */
    put_text(&bytes, 14, "metadata");
    put_int(&bytes, 5, 7);
    ck_ok(scan(&bytes, &counts, &err));
    ck_assert_uint_eq(counts.slim, slim);
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_file_cannot_say_where_raw_data_stand)
{
    struct bytes tensor = {.size = 0}, graph = {.size = 0}, model = {.size = 0};
    const uint64_t place = UINT64_C(1) << 40;
    put_varint(&tensor, 1001 << 3 | 1);
    put_raw(&tensor, &place, sizeof(place));
    put_varint(&tensor, 1002 << 3 | 1);
    put_raw(&tensor, &place, sizeof(place));
    put_message(&graph, 5, &tensor);
    put_message(&model, 7, &graph);
    Onnx__ModelProto *const read = decode(&model);
    ck_assert(!read->graph->initializer[0]->has_raw_at);
    free_model(read);
    bytes_free(&model);
}
END_TEST

/* Lengths and tags may be written longer than they need be; the copy keeps within their room.
 */
START_TEST(padded_numbers_are_read)
{
    struct bytes bytes = from_hex("0888 80808000 ba8000 8780808000 1280808000 610b0c");
    /* ir_version 8 (padded), field 7 (padded tag) of 7 bytes that end early: cut off */
    troupe_error err;
    struct tp_onnx_counts counts;
    ck_assert_int_eq(scan(&bytes, &counts, &err), TROUPE_CORRUPT);
    bytes_free(&bytes);
    bytes = from_hex("0888 80808000 ba8000 8680808000 8a008180 8000 61");
    ck_assert_int_lt(scan(&bytes, &counts, &err), 0); /* field 1 is a node, "a" none */
    bytes_free(&bytes);
    bytes = from_hex("0888808000 ba00 8680808000 9200 8180 00 61");
    Onnx__ModelProto *const model = decode(&bytes);
    ck_assert_int_eq(model->ir_version, 8);
    ck_assert_str_eq(model->graph->name, "a");
    free_model(model);
    bytes_free(&bytes);
}
END_TEST

START_TEST(every_cut_of_a_model_is_refused_or_is_a_smaller_model)
{
    troupe_error err;
    struct bytes bytes = onnx_text(example);
    for (size_t n = 0; n < bytes.size; n++) {
        ProtobufCMessage *message = NULL;
        uint8_t *const cut = malloc(n + 1); /* of exactly that size, for sanitizers */
        memcpy(cut, bytes.data, n);
        const troupe_status status = tp_onnx_decode(model_type, cut, n, &message, &err);
        ck_assert(status == TROUPE_OK || status == TROUPE_CORRUPT);
        tp_onnx_free(&message);
        free(cut);
    }
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_model_with_one_bit_wrong_never_does_harm)
{
    troupe_error err;
    struct bytes bytes = onnx_text(example);
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        ProtobufCMessage *message = NULL;
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const troupe_status status =
            tp_onnx_decode(model_type, bytes.data, bytes.size, &message, &err);
        ck_assert(status == TROUPE_OK || status == TROUPE_CORRUPT);
        tp_onnx_free(&message);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    bytes_free(&bytes);
}
END_TEST

START_TEST(decoding_without_memory_fails_and_leaks_nothing)
{
    troupe_error err = {0};
    ProtobufCMessage *message = NULL;
    struct bytes bytes = onnx_text(example);
    ck_starve(tp_onnx_decode(model_type, bytes.data, bytes.size, &message, &err));
    tp_onnx_free(&message);
    bytes_free(&bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("import_scan");
    TCase *t = tcase_create("scan");
    tcase_add_loop_test(t, malformed_bytes_are_refused_with_their_offset, 0,
                        (int)TP_COUNT(refused));
    tcase_add_test(t, sub_graphs_ten_thousand_deep_are_refused);
    tcase_add_test(t, sub_graphs_twenty_deep_are_decoded);
    tcase_add_test(t, a_message_that_would_grow_too_much_is_refused);
    tcase_add_test(t, what_is_read_is_what_was_written);
    tcase_add_test(t, a_short_raw_data_is_copied_and_a_long_one_stays_where_it_is);
    tcase_add_test(t, fields_that_nobody_reads_are_left_out);
    tcase_add_test(t, a_file_cannot_say_where_raw_data_stand);
    tcase_add_test(t, padded_numbers_are_read);
    tcase_add_test(t, every_cut_of_a_model_is_refused_or_is_a_smaller_model);
    tcase_add_test(t, a_model_with_one_bit_wrong_never_does_harm);
    tcase_add_test(t, decoding_without_memory_fails_and_leaks_nothing);
    suite_add_tcase(s, t);
    return test_run(s);
}
