/* SPDX-License-Identifier: MIT
 *
 * tests/test_messages_function.c - functions as bytes and back: equal in every way; every cut and
 * every flipped bit is refused or does no harm.
 *
 * The ops are those of ops_fake.c, one of which has an attribute of every kind.
 */
#include "messages/function_codec.h"

#include <msgpack.h>
#include <stdlib.h>

#include "graph/bind.h"
#include "messages/function_form.h"
#include "tensor/npy.h"
#include "tests/graphs.h"

#define SEEDS 500

static void ck_same(const troupe_function *a, const troupe_function *b)
{
    char *x = graphs_print(a), *y = graphs_print(b);
    ck_assert_str_eq(x, y);
    ck_assert(graphs_same_hash(a, b));
    tp_free(x);
    tp_free(y);
}

/* Decode what is moved in. */
static troupe_function *back_from(struct tp_wire *wire)
{
    troupe_error err;
    troupe_function *back = NULL;
    ck_ok(tp_function_decode(wire, &back, &err));
    tp_wire_fini(wire);
    return back;
}

static struct tp_wire encoded(const troupe_function *f)
{
    troupe_error err;
    struct tp_wire wire = {.n_frames = 0};
    ck_ok(tp_function_encode(f, &wire, &err));
    return wire;
}

/* -- Round trips --------------------------------------------------------------------------- */

static const char *const texts[] = {
    "function f()\n",
    "function f(x: f32[]) -> (y: f32[] = x)\n",
    "function f(x: f32[2,n,?], \"a b\": i64[...] = i64[2] [3, 4], m: f32[n,\"N 1\",n]) -> (x, "
    "m)\n",
    "function f() -> (w)\n    v = string[2] [\"\", \"a\\x00b\"]\n    w = bool[2] [true, "
    "false]\n",
    "function f(x: f32[2]) -> (y)\n    a = f32[2] [nan, -0]\n    \"n 1\": y = Add(x, a) "
    "@cpu:1\n",
    "function f(x: f32[n]) -> (c)\n    a = Relu(x)\n    b = Relu(x) after a with a\n"
    "    c = Add(a, b) @/job:w/task:2 with b, a\n",
    "function f(x: f32[n]) -> (y: f32[n])\n    y = g(x)\n"
    "function g(x: f32[n]) -> (y: f32[n])\n    y = f(x)\n",
    "function f(x: f32[n]) -> (y: f32[n])\n    a = f(x)\n    y = Relu(a)\n",
};

START_TEST(a_function_comes_back_as_it_went)
{
    troupe_library *library = graphs_library(texts[_i]);
    troupe_function *f = graphs_find(library, "f");
    struct tp_wire wire = encoded(f);
    troupe_function *back = back_from(&wire);
    ck_same(f, back);
    troupe_function_release(&f);
    troupe_function_release(&back);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_bit_of_everything_comes_back_as_it_went)
{
    troupe_library *library = graphs_library(graphs_round);
    for (size_t i = 0; i < troupe_library_count(library); i++) {
        troupe_function *f = graphs_find(library, troupe_library_name(library, i));
        struct tp_wire wire = encoded(f);
        troupe_function *back = back_from(&wire);
        ck_same(f, back);
        troupe_function_release(&f);
        troupe_function_release(&back);
    }
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(any_function_comes_back_as_it_went)
{
    troupe_function *f = graphs_random((uint64_t)_i);
    const size_t pieces = tp_alloc_pieces();
    struct tp_wire wire = encoded(f);
    troupe_function *back = back_from(&wire);
    ck_same(f, back);
    troupe_function_release(&back);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    troupe_function_release(&f);
}
END_TEST

/* A function with one constant of n floats. */
static troupe_function *with_constant(size_t n)
{
    troupe_error err;
    troupe_builder *b = NULL;
    troupe_function *f = NULL;
    troupe_tensor *w = NULL;
    troupe_value value;
    const int64_t dims[] = {(int64_t)n};
    float *elements = calloc(n, sizeof *elements);
    for (size_t i = 0; i < n; i++)
        elements[i] = (float)i;
    ck_ok(troupe_tensor_new(&w, TROUPE_F32, 1, dims, elements, &err));
    ck_ok(troupe_builder_new(&b, "f", NULL, &err));
    ck_ok(troupe_builder_constant(b, "w", w, &value, &err));
    ck_ok(troupe_builder_result(b, "w", value, &err));
    ck_ok(troupe_builder_finish(&b, &f, &err));
    troupe_tensor_release(&w);
    free(elements);
    return f;
}

START_TEST(a_small_constant_stands_inside_and_a_large_one_beside)
{
    const size_t n = TP_FUNCTION_INLINE / sizeof(float);
    for (size_t more = 0; more < 2; more++) {
        troupe_function *f = with_constant(n + more);
        struct tp_wire wire = encoded(f);
        ck_assert_uint_eq(wire.n_frames, more);
        if (more) ck_assert_uint_eq(wire.frames[0].size, (n + 1) * sizeof(float));
        troupe_function *back = back_from(&wire);
        ck_same(f, back);
        troupe_function_release(&back);
        troupe_function_release(&f);
    }
}
END_TEST

/* Unless the machine has the other byte order. */
START_TEST(a_large_constant_is_not_copied)
{
    if (tp_npy_host_big()) return;
    troupe_function *f = with_constant(10000);
    struct tp_wire wire = encoded(f);
    const void *data = wire.frames[0].data;
    const bool turned = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; /* frames are little-endian */
    ck_assert((data == troupe_tensor_data(f->body->values[0].constant)) == !turned);
    troupe_function *back = back_from(&wire);
    ck_assert((troupe_tensor_data(back->body->values[0].constant) == data) == !turned);
    troupe_function_release(&back);
    troupe_function_release(&f);
}
END_TEST

/* doc/function-form.md has this function and its bytes. */
START_TEST(the_form_is_these_bytes)
{
    static const char text[] = "function f(x: f32[n]) -> (y: f32[n])\n    a = Relu(x)\n"
                               "    y = Add(a, x) @cpu:1\n";
    static const uint8_t before[] = {0x93, 0x01, 0x01, 0x00, 0x96, 0xa1, 'f',  0x91, 0x93,
                                     0xa1, 'x',  0xa6, 'f',  '3',  '2',  '[',  'n',  ']',
                                     0xc0, 0x91, 0x93, 0xa1, 'y',  0xa6, 'f',  '3',  '2',
                                     '[',  'n',  ']',  0x02, 0xc2, 0x02, 0xc4, 0x10};
    static const uint8_t hash[] = {0xe2, 0x1d, 0x90, 0xd8, 0x30, 0x18, 0x7e, 0xff,
                                   0x92, 0xe6, 0x50, 0x98, 0xee, 0x51, 0xd8, 0xc3};
    static const uint8_t after[] = {0x99, 0x01, 0xa4, 'R',  'e',  'l',  'u',  0xc0, 0x91, 0x00,
                                    0x91, 0xa1, 'a',  0x90, 0xc0, 0x90, 0x90, 0x99, 0x01, 0xa3,
                                    'A',  'd',  'd',  0xc0, 0x92, 0x01, 0x00, 0x91, 0xa1, 'y',
                                    0x90, 0xad, '/',  'd',  'e',  'v',  'i',  'c',  'e',  ':',
                                    'c',  'p',  'u',  ':',  '1',  0x90, 0x90};
    troupe_error err;
    troupe_function *f = graphs_function(text);
    struct tp_wire wire = {.n_frames = 0};
    const struct tp_bodies bodies = {&f->body, 1, 0, NULL};
    ck_ok(tp_bodies_encode(&bodies, TP_PLACES_DROP, &wire, &err));
    const char *at = wire.head.data;
    ck_assert_uint_eq(wire.head.size, sizeof before + sizeof hash + sizeof after);
    ck_assert_mem_eq(at, before, sizeof before);
    ck_assert_mem_eq(at + sizeof before, hash, sizeof hash);
    ck_assert_mem_eq(at + sizeof before + sizeof hash, after, sizeof after);
    tp_wire_fini(&wire);
    troupe_function_release(&f);
}
END_TEST

START_TEST(lines_and_source_go_along_where_they_are_kept)
{
    troupe_error err;
    troupe_function *f = graphs_function(texts[7]);
    for (int keep = 0; keep < 2; keep++) {
        TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
        TP_OWNED(tp_bodies_fini) struct tp_bodies back = {.n = 0};
        const struct tp_bodies bodies = {&f->body, 1, TP_NO_NODE, NULL};
        ck_ok(tp_bodies_encode(&bodies, (enum tp_places)keep, &wire, &err));
        ck_ok(tp_bodies_decode(&wire, keep ? NULL : "other", &back, &err));
        ck_assert_uint_eq(back.main, TP_NO_NODE);
        ck_assert_str_eq(back.list[0]->source, keep ? "test" : "other");
        ck_assert_uint_eq(back.list[0]->nodes[1].line, keep ? 3 : 0);
    }
    troupe_function_release(&f);
}
END_TEST

/* -- Versions ------------------------------------------------------------------------------ */

/* The one-function form of "function f()", with parts of our own. */
static struct tp_wire made(uint32_t version, uint32_t extra)
{
    struct tp_wire wire = {.n_frames = 0};
    troupe_function *f = graphs_function(texts[0]);
    TP_OWNED(msgpack_sbuffer_destroy) msgpack_sbuffer bytes;
    msgpack_packer to;
    msgpack_sbuffer_init(&bytes);
    msgpack_packer_init(&to, &bytes, msgpack_sbuffer_write);
    msgpack_pack_array(&to, TP_ALL_PARTS + extra);
    msgpack_pack_uint32(&to, version);
    msgpack_pack_uint32(&to, 1);
    msgpack_pack_uint32(&to, 0);
    for (uint32_t i = 0; i < extra; i++)
        msgpack_pack_str_with_body(&to, "new", 3);
    msgpack_pack_array(&to, TP_HEAD_SOURCE + 1 + extra);
    msgpack_pack_str_with_body(&to, "f", 1);
    msgpack_pack_nil(&to);
    msgpack_pack_nil(&to);
    msgpack_pack_false(&to);
    msgpack_pack_uint32(&to, 0);
    uint8_t hash[TP_FORM_HASH];
    troupe_function_hash(f, hash);
    msgpack_pack_bin_with_body(&to, hash, sizeof hash);
    msgpack_pack_nil(&to);
    for (uint32_t i = 0; i < extra; i++)
        msgpack_pack_map(&to, 0);
    tp_text_add_bytes(&wire.head, bytes.data, bytes.size);
    troupe_function_release(&f);
    return wire;
}

START_TEST(parts_that_a_newer_writer_adds_are_ignored)
{
    struct tp_wire wire = made(TP_FUNCTION_VERSION, 3);
    troupe_function *f = back_from(&wire);
    ck_assert_str_eq(troupe_function_name(f), "f");
    troupe_function_release(&f);
}
END_TEST

START_TEST(another_version_is_unsupported_and_named)
{
    troupe_error err;
    troupe_function *f = NULL;
    struct tp_wire wire = made(TP_FUNCTION_VERSION + 1, 0);
    ck_fails(tp_function_decode(&wire, &f, &err), UNSUPPORTED, "version 2; here it is 1");
    tp_wire_fini(&wire);
}
END_TEST

/* -- Bytes from anyone --------------------------------------------------------------------- */

/* `size` bytes of the head with one bit changed (8 * size: none); the frames as they are. */
static troupe_status decode_changed(const struct tp_wire *wire, size_t size, size_t bit,
                                    troupe_function **out, troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire copy = {.n_frames = 0};
    tp_text_add_bytes(&copy.head, wire->head.data, size);
    if (bit < 8 * size) copy.head.data[bit / 8] ^= (char)(1 << bit % 8);
    for (size_t i = 0; i < wire->n_frames; i++) {
        struct tp_buffer *buffer = tp_buffer_retain(wire->frames[i].buffer);
        TP_TRY(tp_wire_add(&copy, &buffer, wire->frames[i].data, wire->frames[i].size, err));
    }
    return tp_function_decode(&copy, out, err);
}

START_TEST(every_cut_is_refused_with_its_place)
{
    troupe_error err;
    troupe_function *f = graphs_random((uint64_t)_i), *back = NULL;
    struct tp_wire wire = encoded(f);
    const size_t pieces = tp_alloc_pieces();
    for (size_t size = 0; size < wire.head.size; size++) {
        ck_fails(decode_changed(&wire, size, SIZE_MAX, &back, &err), CORRUPT, "byte ");
        ck_assert_ptr_null(back);
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    }
    tp_wire_fini(&wire);
    troupe_function_release(&f);
}
END_TEST

/* A flip that is not refused: in a name beside the hash, as a constant's file, or in one of the
 * ways to write a number. The function is sound then, and has the hash. */
START_TEST(every_flipped_bit_is_refused_or_does_no_harm)
{
    troupe_error err;
    troupe_function *f = graphs_random((uint64_t)_i), *back = NULL;
    struct tp_wire wire = encoded(f);
    const size_t pieces = tp_alloc_pieces();
    for (size_t bit = 0; bit < 8 * wire.head.size; bit++) {
        const troupe_status status = decode_changed(&wire, wire.head.size, bit, &back, &err);
        if (status >= 0) {
            ck_assert(graphs_same_hash(f, back));
            troupe_function_release(&back);
        } else {
            ck_assert_msg(status == TROUPE_CORRUPT || status == TROUPE_UNSUPPORTED ||
                              status == TROUPE_NOT_FOUND,
                          "bit %zu: %s: %s", bit, troupe_status_name(status), err.text);
        }
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    }
    tp_wire_fini(&wire);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_changed_constant_is_refused_with_both_checksums)
{
    troupe_error err;
    troupe_function *f = with_constant(1000), *back = NULL;
    struct tp_wire wire = encoded(f);
    struct tp_buffer *buffer = NULL;
    ck_ok(tp_buffer_new(&buffer, wire.frames[0].size, &err));
    memcpy(buffer->data, wire.frames[0].data, wire.frames[0].size);
    ((char *)buffer->data)[3210] ^= 1;
    tp_buffer_release(&wire.frames[0].buffer);
    wire.frames[0].buffer = buffer;
    wire.frames[0].data = buffer->data;
    ck_fails(tp_function_decode(&wire, &back, &err), CORRUPT, "constant 'w': the checksum");
    ck_assert_ptr_nonnull(strstr(err.text, "was expected, it is"));
    tp_wire_fini(&wire);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_frame_of_another_size_or_of_nobody_is_refused)
{
    troupe_error err;
    troupe_function *f = with_constant(1000), *back = NULL;
    struct tp_wire wire = encoded(f);
    wire.frames[0].size -= 4;
    ck_fails(decode_changed(&wire, wire.head.size, SIZE_MAX, &back, &err), CORRUPT,
             "takes 4000 bytes, its frame has 3996");
    wire.frames[0].size += 4;
    struct tp_buffer *buffer = tp_buffer_retain(wire.frames[0].buffer);
    ck_ok(tp_wire_add(&wire, &buffer, wire.frames[0].data, 4, &err));
    ck_fails(tp_function_decode(&wire, &back, &err), CORRUPT, "frame 1 is no tensor's");
    tp_wire_fini(&wire);
    troupe_function_release(&f);
}
END_TEST

/* -- Failing memory ------------------------------------------------------------------------ */

static troupe_status whole(troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
    TP_OWNED(troupe_function_release) troupe_function *f = NULL, *back = NULL;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_read(library, "test", graphs_round, strlen(graphs_round), err));
    TP_TRY(troupe_library_find(library, "f", &f, err));
    TP_TRY(tp_function_encode(f, &wire, err));
    return tp_function_decode(&wire, &back, err);
}

START_TEST(memory_that_runs_out_is_said_and_leaves_nothing)
{
    graphs_starve(whole);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("messages/function_codec");
    TCase *t = tcase_create("round trips");
    tcase_add_loop_test(t, a_function_comes_back_as_it_went, 0, TP_COUNT(texts));
    tcase_add_test(t, a_bit_of_everything_comes_back_as_it_went);
    tcase_add_loop_test(t, any_function_comes_back_as_it_went, 0, SEEDS);
    tcase_add_test(t, a_small_constant_stands_inside_and_a_large_one_beside);
    tcase_add_test(t, a_large_constant_is_not_copied);
    tcase_add_test(t, lines_and_source_go_along_where_they_are_kept);
    tcase_add_test(t, the_form_is_these_bytes);
    tcase_add_test(t, parts_that_a_newer_writer_adds_are_ignored);
    tcase_add_test(t, another_version_is_unsupported_and_named);
    suite_add_tcase(s, t);
    t = tcase_create("bytes from anyone");
    tcase_add_loop_test(t, every_cut_is_refused_with_its_place, 0, 10);
    tcase_add_loop_test(t, every_flipped_bit_is_refused_or_does_no_harm, 0, 10);
    tcase_add_test(t, a_changed_constant_is_refused_with_both_checksums);
    tcase_add_test(t, a_frame_of_another_size_or_of_nobody_is_refused);
    tcase_add_test(t, memory_that_runs_out_is_said_and_leaves_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
