/* SPDX-License-Identifier: MIT
 *
 * tests/test_messages_tensor.c - tensors in messages: every type, where the bytes lie, and the
 * very bytes of some messages, which are the same on every machine.
 */
#include "messages/codec.h"

#include <stdio.h>

#include "tensor/npy.h"
#include "tests/messages.h"

static troupe_tensor *value_of(const char *text)
{
    troupe_error err;
    troupe_tensor *value;
    ck_ok(troupe_tensor_parse(&value, text, &err));
    return value;
}

static struct tp_wire encoded(const struct tp_message *m)
{
    troupe_error err;
    struct tp_wire wire = {0};
    ck_ok(tp_encode(m, TP_WIRE_PEER, &wire, &err));
    return wire;
}

static struct tp_message holding(troupe_tensor *value)
{
    return (struct tp_message){
        .kind = TP_TENSOR, .fixed = true, .tensor = {.edge = 7, .value = value}};
}

/* The value that comes back; the caller's. */
static troupe_tensor *there_and_back(troupe_tensor *value)
{
    troupe_error err;
    const struct tp_message m = holding(value);
    struct tp_message *back = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = encoded(&m);
    ck_ok(tp_decode(&back, &wire, TP_WIRE_PEER, &err));
    ck_assert_uint_eq(back->tensor.edge, 7);
    troupe_tensor *got = troupe_tensor_retain(back->tensor.value);
    tp_message_destroy(&back);
    return got;
}

static void ck_same(troupe_tensor **value)
{
    troupe_tensor *got = there_and_back(*value);
    ck_assert(troupe_tensor_equal(*value, got));
    troupe_tensor_release(&got);
    troupe_tensor_release(value);
}

/* -- Types and shapes ---------------------------------------------------------------------- */

START_TEST(a_tensor_of_every_type_comes_back_as_it_went)
{
    struct dice dice = {(uint64_t)_i};
    for (int dtype = TROUPE_F32; dtype < TP_DTYPES; dtype++) {
        troupe_tensor *value = random_tensor(&dice, (troupe_dtype)dtype);
        ck_same(&value);
    }
}
END_TEST

static const char *const values[] = {
    "f32[] 1.5",
    "f32[0] []",
    "i64[3,0,2] []",
    "string[] \"a\"",
    "string[0] []",
    "string[2,0] []",
    "string[1] [\"\"]",
    "bool[2] [true, false]",
    "u8[1,1,1,1,1,1,1,1] [[[[[[[[7]]]]]]]]",
    "f64[2] [nan, -inf]",
    "string[2,2] [[\"\", \"b\\x00c\"], [\"\\xff\", \"\"]]",
};

START_TEST(a_tensor_of_any_shape_comes_back_as_it_went)
{
    troupe_tensor *value = value_of(values[_i]);
    ck_same(&value);
}
END_TEST

START_TEST(no_tensor_comes_back_as_none)
{
    ck_assert_ptr_null(there_and_back(NULL));
}
END_TEST

START_TEST(dimensions_of_any_size_travel_where_there_are_no_elements)
{
    troupe_error err;
    troupe_tensor *value;
    const int64_t dims[] = {0, INT64_MAX};
    ck_ok(troupe_tensor_new(&value, TROUPE_I8, 2, dims, NULL, &err));
    ck_same(&value);
}
END_TEST

/* -- Where the bytes lie ------------------------------------------------------------------- */

START_TEST(a_frame_shares_the_memory_of_its_tensor)
{
    if (tp_npy_host_big()) return; /* they are turned round there, so copied */
    troupe_tensor *value = value_of("f32[4] [1, 2, 3, 4]");
    const struct tp_message m = holding(value);
    struct tp_wire wire = encoded(&m);
    ck_assert_ptr_eq(wire.frames[0].data, troupe_tensor_data(value));
    /* And keeps it when the tensor is gone. */
    troupe_tensor_release(&value);
    ck_assert_float_eq(((const float *)wire.frames[0].data)[3], 4);
    tp_wire_fini(&wire);
}
END_TEST

START_TEST(a_frame_that_is_aligned_becomes_the_tensor_and_others_are_copied)
{
    troupe_error err;
    if (tp_npy_host_big()) return;
    for (size_t off = 0; off <= TP_ALIGN; off++) {
        struct tp_message *m = NULL;
        struct tp_wire wire = wire_of("93 0b 07 92 a3 69 31 36 91 02", NULL);
        add_frame(&wire, "\1\0\2\0", 4, off);
        announce(&wire);
        const void *at = wire.frames[0].data;
        ck_ok(tp_decode(&m, &wire, TP_WIRE_PEER, &err));
        const int16_t *data = troupe_tensor_data(m->tensor.value);
        tp_wire_fini(&wire);
        ck_assert_uint_eq((uintptr_t)data % TP_ALIGN, 0);
        ck_assert((const void *)data == at ? off % TP_ALIGN == 0 : off % TP_ALIGN != 0);
        ck_assert(data[0] == 1 && data[1] == 2);
        tp_message_destroy(&m);
    }
}
END_TEST

/* -- Tensors that are none ----------------------------------------------------------------- */

/* f32 is a3 66 33 32, i8 a2 69 38, bool a4 62 6f 6f 6c, string a6 73 74 72 69 6e 67. */
static const struct {
    const char *value, *frame, *says;
} refused[] = {
    {"05", NULL, "neither nil nor a type"},
    {"90", NULL, "neither nil nor a type"},
    {"91 a2 69 38", NULL, "neither nil nor a type"},
    {"92 c0 90", "00", "element type '' is not known"},
    {"92 a3 69 34 07 90", "00", "element type 'i4?' is not known"},
    {"92 b0 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 90", "00", "is not known"},
    {"92 00 90", "00", "is not known"},
    {"92 cd 03 e7 90", "00", "is not known"},
    {"92 a2 69 38 01", "00", "the dimensions are not an array"},
    {"92 a2 69 38 99 01 01 01 01 01 01 01 01 01", "00", "9 dimensions, not up to 8"},
    {"92 a2 69 38 91 ff", "", "dimension 0 is no number"},
    {"92 a2 69 38 92 01 ca 3f 80 00 00", "00", "dimension 1 is no number"},
    {"92 a2 69 38 91 cf 80 00 00 00 00 00 00 00", "", "dimension 0 is no number"},
    {"92 a2 69 38 92 ce ff ff ff ff ce ff ff ff ff", "", "TENSOR, field 'value'"},
    {"92 a3 66 33 32 91 cf 7f ff ff ff ff ff ff ff", "", "too many bytes"},
    {"92 a3 66 33 32 91 cf 00 ff ff ff ff ff ff ff", "", "its frame has 0"},
    {"92 a3 66 33 32 91 01", NULL, "f32[1] without a frame"},
    {"92 a3 66 33 32 91 01", "00 00 00", "f32[1] takes 4 bytes, its frame has 3"},
    {"92 a3 66 33 32 91 00", "00", "f32[0] takes 0 bytes, its frame has 1"},
    {"92 a4 62 6f 6f 6c 91 02", "00 02", "bool element 1 is 2"},
    {"92 a6 73 74 72 69 6e 67 91 01", "00 00 00", "1 texts in a frame of 3 bytes"},
    {"92 a6 73 74 72 69 6e 67 91 01", "01 00 00 00 00 00 00 00",
     "text 0 has 1 bytes, the frame 0"},
    {"92 a6 73 74 72 69 6e 67 91 01", "ff ff ff ff ff ff ff ff 61",
     "text 0 has 18446744073709551615"},
    {"92 a6 73 74 72 69 6e 67 91 01", "00 00 00 00 00 00 00 00 61",
     "takes 8 bytes, its frame has 9"},
    {"92 a6 73 74 72 69 6e 67 91 cf 00 ff ff ff ff ff ff ff", "00",
     "texts in a frame of 1 bytes"},
};

START_TEST(a_tensor_that_is_none_is_refused_with_the_reason)
{
    troupe_error err;
    struct tp_message *m = NULL;
    char head[300];
    snprintf(head, sizeof head, "93 0b 07 %s", refused[_i].value);
    TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of(head, refused[_i].frame);
    const size_t pieces = tp_alloc_pieces();
    ck_fails(tp_decode(&m, &wire, TP_WIRE_PEER, &err), CORRUPT, refused[_i].says);
    ck_assert_ptr_nonnull(strstr(err.text, "TENSOR, field 'value': "));
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

/* -- The very bytes ------------------------------------------------------------------------ */

static const struct {
    const char *value, *type, *frame;
} vectors[] = {
    {"f32[2] [1, -2]", "92 a3 66 33 32 91 02", "00 00 80 3f 00 00 00 c0"},
    {"f64[1] [1]", "92 a3 66 36 34 91 01", "00 00 00 00 00 00 f0 3f"},
    {"f16[1] [1]", "92 a3 66 31 36 91 01", "00 3c"},
    {"bf16[1] [1]", "92 a4 62 66 31 36 91 01", "80 3f"},
    {"i8[1] [-2]", "92 a2 69 38 91 01", "fe"},
    {"i16[] -2", "92 a3 69 31 36 90", "fe ff"},
    {"i32[1,1] [[258]]", "92 a3 69 33 32 92 01 01", "02 01 00 00"},
    {"u64[1] [258]", "92 a3 75 36 34 91 01", "02 01 00 00 00 00 00 00"},
    {"bool[2] [true, false]", "92 a4 62 6f 6f 6c 91 02", "01 00"},
    {"string[2] [\"\", \"hi\"]", "92 a6 73 74 72 69 6e 67 91 02",
     "00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 68 69"},
};

START_TEST(a_tensor_has_these_bytes_on_every_machine)
{
    troupe_error err;
    char head[300];
    troupe_tensor *value = value_of(vectors[_i].value);
    const struct tp_message m = holding(value);
    snprintf(head, sizeof head, "93 0b 07 %s", vectors[_i].type);
    TP_OWNED(tp_wire_fini) struct tp_wire wire = encoded(&m);
    TP_OWNED(tp_wire_fini) struct tp_wire wanted = wire_of(head, vectors[_i].frame);
    ck_wires_equal(&wire, &wanted);
    struct tp_message *back = NULL;
    ck_ok(tp_decode(&back, &wanted, TP_WIRE_PEER, &err));
    ck_assert(tp_message_equal(&m, back));
    tp_message_destroy(&back);
    troupe_tensor_release(&value);
}
END_TEST

START_TEST(an_element_type_may_be_given_by_its_number)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of("93 0b 07 92 06 91 01", "05 00");
    ck_ok(tp_decode(&m, &wire, TP_WIRE_PEER, &err));
    ck_assert_int_eq(troupe_tensor_dtype(m->tensor.value), TROUPE_I16);
    ck_assert_int_eq(*(const int16_t *)troupe_tensor_data(m->tensor.value), 5);
    tp_message_destroy(&m);
}
END_TEST

START_TEST(a_preamble_has_these_bytes_on_every_machine)
{
    uint8_t wanted[TP_PREAMBLE_SIZE];
    const struct tp_message m = {.kind = TP_SHARD_DONE,
                                 .fixed = true,
                                 .shard_done = {.shard = 3, .stopped = true, .code = -1}};
    TP_OWNED(tp_wire_fini) struct tp_wire wire = encoded(&m);
    ck_assert_uint_eq(bytes_of("54 52 50 1a 01 00 00 00 07 00 00 00 00 00 00 00", wanted), 16);
    wanted[8] = (uint8_t)wire.head.size;
    ck_assert_mem_eq(wire.preamble, wanted, sizeof wanted);
    ck_assert_mem_eq(wire.head.data + 1, "\x0c\x03\xc2\xc3\xff\xc0", 6);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("messages/tensor_codec");
    TCase *t = tcase_create("tensors");
    tcase_add_loop_test(t, a_tensor_of_every_type_comes_back_as_it_went, 0, 200);
    tcase_add_loop_test(t, a_tensor_of_any_shape_comes_back_as_it_went, 0, TP_COUNT(values));
    tcase_add_test(t, no_tensor_comes_back_as_none);
    tcase_add_test(t, dimensions_of_any_size_travel_where_there_are_no_elements);
    tcase_add_test(t, a_frame_shares_the_memory_of_its_tensor);
    tcase_add_test(t, a_frame_that_is_aligned_becomes_the_tensor_and_others_are_copied);
    tcase_add_loop_test(t, a_tensor_that_is_none_is_refused_with_the_reason, 0,
                        TP_COUNT(refused));
    tcase_add_loop_test(t, a_tensor_has_these_bytes_on_every_machine, 0, TP_COUNT(vectors));
    tcase_add_test(t, an_element_type_may_be_given_by_its_number);
    tcase_add_test(t, a_preamble_has_these_bytes_on_every_machine);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
