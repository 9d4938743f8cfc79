/* SPDX-License-Identifier: MIT
 *
 * tests/test_hostile.c - files and texts that claim to be much: refused with the place and the
 * numbers, for no more memory than they have bytes, times a few.
 *
 * Cuts and mutations are in the suites of the fuzz targets; messages in test_messages_scan.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/device.h"
#include "graph/placer.h"
#include "tests/graphs.h"
#include "tests/heap.h"
#include "troupe/troupe.h"

#ifdef TP_HAVE_ONNX
#include "import/onnx/import.h"
#include "tests/onnx_text.h"
#endif

#define MILLION 1000000
#define BASE    100000 /* bytes that any input may make the process hold */

/* --- texts ---------------------------------------------------------------------------- */

/* head, `n` times part, tail. */
struct claim {
    const char *head, *part;
    size_t n;
    const char *tail;
    troupe_status code;
    const char *words;
};

static char *text_of(const struct claim *claim)
{
    return graphs_repeat(claim->head, claim->part, claim->n, claim->tail);
}

static void ck_refused(const struct claim *claim, troupe_status status, const troupe_error *err,
                       size_t size, size_t times)
{
    ck_assert_msg(status == claim->code, "%s: %s", troupe_status_name(status), err->text);
    ck_assert_msg(strstr(err->text, claim->words), "no \"%s\" in \"%s\"", claim->words,
                  err->text);
    ck_assert_msg(heap_peak() <= size * times + BASE, "%zu bytes held for %zu: %s", heap_peak(),
                  size, err->text);
}

static const struct claim functions[] = {
    {"", "(", MILLION, "", TROUPE_INVALID, "t:1:1: the word function expected, not '('"},
    {"function f(x: f32[2])\n y = Relu", "(", MILLION, "", TROUPE_INVALID,
     "t:2:11: an input, an attribute"},
    {"function f(x: f32[2])\n y = Relu(x", ")", MILLION, "", TROUPE_INVALID,
     "t:2:13: the end of the line"},
    {"function f(x: f32", "[", MILLION, "", TROUPE_INVALID, "t:1:19: ']' expected"},
    {"function f(x: f32[2])\n y = Pad(x, pads=", "[", MILLION, "", TROUPE_INVALID,
     "t:2:19: '[' is not a number"},
    {"function f()\n w = f32[1] ", "[", MILLION, "", TROUPE_INVALID,
     "t:2:14: '[' is not a number"},
    {"function f()\n w = f32[268435456] [1]", "", 0, "", TROUPE_INVALID,
     "t:2:20: the text ends before the elements"},
    {"function f()\n w = f32[268435456] ", "[1, ", 1, "2]", TROUPE_INVALID,
     "t:2:20: the text ends before the elements"},
    {"function f()\n w = f32[4611686018427387904,4] []", "", 0, "", TROUPE_INVALID,
     "t:2:10: shape [4611686018427387904,4] has too many"},
    {"function f()\n w = f32[9223372036854775807] [1]", "", 0, "", TROUPE_INVALID,
     "t:2:30: f32[9223372036854775807] has too many bytes"},
    {"function f()\n w = f32[9223372036854775808] [1]", "", 0, "", TROUPE_INVALID,
     "t:2:28: a dimension is above"},
    {"function f()\n w = f32[-1] [1]", "", 0, "", TROUPE_INVALID,
     "t:2:10: a dimension expected"},
    {"function f()\n w = f32[", "1,", MILLION, "1] [1]", TROUPE_INVALID,
     "t:2:26: more than 8 dimensions"},
    {"function f(x: f32[", "n,", 8, "n])", TROUPE_INVALID, "t:1:35: more than 8 dimensions"},
    {"function ", "f", MILLION, "()", TROUPE_INVALID, "t:1:10: a name has 1000000 bytes"},
    {"function f()\n ", "y, ", MILLION, "y = Split(x)", TROUPE_INVALID,
     "t:2:3000012: input 0: there is no value 'x'"},
    {"function f(", "x: f32[], ", 1000, ")", TROUPE_INVALID, "t:1:10012: an argument expected"},
    {"function f(x: f32[])\n y = Relu(x) after ", "y, ", MILLION, "y", TROUPE_INVALID,
     "t:2:20: node 'y': after 'y'"},
    {"", "\n", MILLION, "x", TROUPE_INVALID, "t:1000001:1: the word function expected"},
    {"function f(x: f32[])\n y = f(x, ", "a=1, ", MILLION, "b=1)", TROUPE_INVALID,
     "t:2:6: node 'y': a call takes no attributes"},
    {"function f(x: f32[2])\n y = Relu(x", ", x", MILLION, ")", TROUPE_INVALID,
     "t:2:6: node 'y': 1000001 inputs where Relu has 1"},
};

START_TEST(a_text_that_claims_much_is_refused_with_its_place)
{
    const struct claim *claim = &functions[_i];
    troupe_error err = {.code = TROUPE_OK};
    troupe_library *library = NULL;
    char *text = text_of(claim);
    const size_t size = strlen(text);
    ck_ok(troupe_library_new(&library, &err));
    heap_peak_begin();
    const troupe_status status = troupe_library_read(library, "t", text, size, &err);
    ck_refused(claim, status, &err, size, 300);
    troupe_library_destroy(&library);
    tp_free(text);
}
END_TEST

static const struct claim values[] = {
    {"", "[", MILLION, "", TROUPE_INVALID, "byte 0: '' is not an element type"},
    {"f32", "[", MILLION, "", TROUPE_INVALID, "byte 4: a dimension expected"},
    {"f32[1] ", "[", MILLION, "", TROUPE_INVALID, "byte 8: '[' is not a number"},
    {"f32[268435456] [1]", "", 0, "", TROUPE_INVALID,
     "byte 14: the text ends before the elements"},
    {"f64[4611686018427387904,4] []", "", 0, "", TROUPE_INVALID,
     "byte 4: shape [4611686018427387904,4] has too many"},
    {"string[1073741824] [\"\"]", "", 0, "", TROUPE_INVALID,
     "byte 18: the text ends before the elements"},
    {"f32[", "1,", MILLION, "1] 1", TROUPE_INVALID, "byte 20: more than 8 dimensions"},
    {"f32[", "9", MILLION, "] 1", TROUPE_INVALID, "byte 22: a dimension is above"},
};

START_TEST(a_value_that_claims_much_is_refused_with_its_byte)
{
    const struct claim *claim = &values[_i];
    troupe_error err = {.code = TROUPE_OK};
    troupe_tensor *tensor = NULL;
    char *text = text_of(claim);
    heap_peak_begin();
    const troupe_status status = troupe_tensor_parse(&tensor, text, &err);
    ck_refused(claim, status, &err, strlen(text), 4);
    tp_free(text);
}
END_TEST

static const struct claim rules[] = {
    {"", "*", MILLION, "", TROUPE_INVALID, "r:1: a rule needs a pattern and a device"},
    {"a cpu:0\n", "x ", MILLION, "", TROUPE_INVALID, "r:2: nothing may follow the device"},
    {"", "\n", MILLION, "a cpu:x", TROUPE_INVALID, "r:1000001: device name 'cpu:x'"},
    {"", "a cpu:0\n", 10000, "a cpu:99999999999999999999", TROUPE_INVALID,
     "r:10001: device name 'cpu:99999999999999999999'"},
    {"a /", "job:a/", MILLION, "", TROUPE_INVALID, "the job is there twice"},
};

START_TEST(rules_that_claim_much_are_refused_with_their_line)
{
    const struct claim *claim = &rules[_i];
    troupe_error err = {.code = TROUPE_OK};
    struct tp_rules *read = NULL;
    char *text = text_of(claim);
    const size_t size = strlen(text);
    heap_peak_begin();
    const troupe_status status = tp_rules_read("r", text, size, &read, &err);
    ck_refused(claim, status, &err, size, 40);
    tp_free(text);
}
END_TEST

static const struct claim devices[] = {
    {"", "(", MILLION, "", TROUPE_INVALID, "1000000 bytes"},
    {"cpu:", "9", MILLION, "", TROUPE_INVALID, "bytes"},
    {"cpu:99999999999", "", 0, "", TROUPE_INVALID,
     "'cpu:99999999999': the device's id is above"},
    {"cpu:2147483648", "", 0, "", TROUPE_INVALID, "'cpu:2147483648': the device's id is above"},
    {"cpu:0(threads=18446744073709551616)", "", 0, "", TROUPE_INVALID,
     "threads=18446744073709551616"},
    {"cpu:0(threads=1025)", "", 0, "", TROUPE_INVALID, "over 1024"},
    {"cpu:0(memory=99999999999G)", "", 0, "", TROUPE_INVALID, "memory=99999999999G"},
    {"cpu:0", ",cpu:0", MILLION, "", TROUPE_INVALID, "twice"},
    {"", ",", MILLION, "", TROUPE_INVALID, "empty entry"},
};

START_TEST(a_device_list_that_claims_much_is_refused_with_its_entry)
{
    const struct claim *claim = &devices[_i];
    troupe_error err = {.code = TROUPE_OK};
    struct tp_device_wish *wishes = NULL;
    size_t n;
    char *text = text_of(claim);
    heap_peak_begin();
    const troupe_status status = tp_devices_read(text, &wishes, &n, &err);
    ck_refused(claim, status, &err, strlen(text), 4);
    tp_free(text);
}
END_TEST

/* --- .npy files ----------------------------------------------------------------------- */

struct npy_claim {
    const char *descr;
    struct claim shape; /* and what follows it in the header */
};

static const struct npy_claim arrays[] = {
    {"<f4",
     {"(268435456,)", "", 0, "", TROUPE_CORRUPT,
      "byte 79: the file ends, 1073741820 bytes more"}},
    {"<f4",
     {"(4611686018427387904, 4)", "", 0, "", TROUPE_CORRUPT,
      "byte 86: shape [4611686018427387904,4] has too many"}},
    {"<f4",
     {"(9223372036854775808,)", "", 0, "", TROUPE_CORRUPT, "byte 81: a dimension is above"}},
    {"<f4", {"(-1,)", "", 0, "", TROUPE_CORRUPT, "byte 63: a dimension expected"}},
    {"<f4", {"(", "1,", 9, ")", TROUPE_UNSUPPORTED, "byte 79: more than 8 dimensions"}},
    {"<f4", {"(", "1,", 400000, ")", TROUPE_UNSUPPORTED, "byte 79: more than 8 dimensions"}},
    {"<f4", {"", "(", MILLION, "", TROUPE_CORRUPT, "byte 63: a dimension expected"}},
    {"<f4", {"(1,), ", "{", MILLION, "", TROUPE_CORRUPT, "byte 68: a string expected"}},
    {"<U536870911",
     {"(1,)", "", 0, "", TROUPE_CORRUPT, "byte 79: the file ends, 2147483640 bytes more"}},
    {"<U99999999999999999999",
     {"(1,)", "", 0, "", TROUPE_CORRUPT, "byte 46: '<U99999999999999999999' is not a dtype"}},
};

static void write_npy(const char *path, const char *descr, const char *shape)
{
    static const char head[] = "{'descr': '%s', 'fortran_order': False, 'shape': %s}";
    const int size = snprintf(NULL, 0, head, descr, shape);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fwrite("\x93NUMPY\x02", 1, 8, file);
    for (int i = 0; i < 4; i++)
        fputc(size >> (8 * i) & 255, file);
    fprintf(file, head, descr, shape);
    fwrite("\0\0\0\0", 1, 4, file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(an_npy_file_that_claims_much_is_refused_with_its_byte)
{
    const struct claim *claim = &arrays[_i].shape;
    char path[] = "/tmp/troupe-hostile-XXXXXX";
    troupe_error err = {.code = TROUPE_OK};
    troupe_tensor *tensor = NULL;
    char *shape = text_of(claim);
    close(mkstemp(path));
    write_npy(path, arrays[_i].descr, shape);
    heap_peak_begin();
    const troupe_status status = troupe_tensor_read_npy(&tensor, path, &err);
    ck_refused(claim, status, &err, strlen(shape), 4);
    unlink(path);
    tp_free(shape);
}
END_TEST

/* --- models --------------------------------------------------------------------------- */

#ifdef TP_HAVE_ONNX

/* In (x: f32[n]) -> y = Add(x, w) this is w, without its name. */
static void claim_gigabyte(struct bytes *w)
{
    put_int(w, 1, 268435456);
    put_int(w, 2, 1);
    put_bytes(w, 9, "12345678", 8);
}

static void claim_zeros(struct bytes *w)
{
    put_int(w, 1, 268435456);
    put_int(w, 2, 1);
}

static void claim_product(struct bytes *w)
{
    put_int(w, 1, INT64_C(1) << 40);
    put_int(w, 1, INT64_C(1) << 40);
    put_int(w, 2, 1);
    put_bytes(w, 9, "12345678", 8);
}

static void claim_below_zero(struct bytes *w)
{
    put_int(w, 1, -1);
    put_int(w, 2, 1);
    put_bytes(w, 9, "1234", 4);
}

static void claim_largest(struct bytes *w)
{
    put_int(w, 1, INT64_MAX);
    put_int(w, 2, 11);
    put_bytes(w, 9, "12345678", 8);
}

static void claim_rank(struct bytes *w)
{
    for (int i = 0; i < MILLION; i++)
        put_int(w, 1, 1);
    put_int(w, 2, 1);
    put_bytes(w, 9, "1234", 4);
}

/* A length that is there, of a field that is not. */
static void claim_length(struct bytes *w)
{
    put_int(w, 2, 1);
    put_varint(w, 9 << 3 | 2);
    put_varint(w, UINT64_C(1) << 31);
}

static void claim_longest(struct bytes *w)
{
    put_varint(w, 9 << 3 | 2);
    put_varint(w, UINT64_MAX);
}

static void claim_packed(struct bytes *w)
{
    put_varint(w, 1 << 3 | 2);
    put_varint(w, UINT64_C(1) << 31);
}

static void claim_strings(struct bytes *w)
{
    put_int(w, 1, 1 << 30);
    put_int(w, 2, 8);
    put_bytes(w, 6, "", 0);
}

static void put_entry(struct bytes *w, const char *key, const char *value)
{
    struct bytes entry = {.size = 0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(w, 13, &entry);
}

static void claim_file(struct bytes *w)
{
    put_int(w, 1, 268435456);
    put_int(w, 2, 1);
    put_int(w, 14, 1);
    put_entry(w, "location", "hostile.bin");
    put_entry(w, "offset", "0");
    put_entry(w, "length", "1073741824");
}

static void claim_offset(struct bytes *w)
{
    put_int(w, 1, 2);
    put_int(w, 2, 1);
    put_int(w, 14, 1);
    put_entry(w, "location", "hostile.bin");
    put_entry(w, "offset", "18446744073709551615");
    put_entry(w, "length", "8");
}

static void claim_elsewhere(struct bytes *w)
{
    put_int(w, 1, 2);
    put_int(w, 2, 1);
    put_int(w, 14, 1);
    put_entry(w, "location", "../../etc/passwd");
}

static const struct {
    void (*claim)(struct bytes *w);
    troupe_status code;
    const char *words;
} tensors[] = {
    {claim_gigabyte, TROUPE_INVALID, "8 bytes of raw_data; f32[268435456] has 1073741824"},
    {claim_zeros, TROUPE_INVALID, "0 elements in float_data; f32[268435456]"},
    {claim_product, TROUPE_INVALID, "too many elements"},
    {claim_below_zero, TROUPE_INVALID, "dimension 0 is -1"},
    {claim_largest, TROUPE_INVALID, "too many bytes"},
    {claim_rank, TROUPE_UNSUPPORTED, "rank 1000000 (at most 8)"},
    {claim_length, TROUPE_CORRUPT, "a length of 2147483648 where "},
    {claim_longest, TROUPE_CORRUPT, "a length of 18446744073709551615 where "},
    {claim_packed, TROUPE_CORRUPT, "a length of 2147483648 where "},
    {claim_strings, TROUPE_INVALID, "1 elements in string_data; string[1073741824]"},
    {claim_file, TROUPE_INVALID, "1073741824 bytes at 0; the file has 8"},
    {claim_offset, TROUPE_INVALID, "8 bytes at 18446744073709551615; the file has 8"},
    {claim_elsewhere, TROUPE_INVALID, "lie outside the model's folder"},
};

static void put_value(struct bytes *graph, unsigned field, const char *name)
{
    struct bytes value = {.size = 0}, type = {.size = 0}, tensor = {.size = 0};
    put_int(&tensor, 1, 1);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

static struct bytes model_with(void (*claim)(struct bytes *w))
{
    struct bytes model = {.size = 0}, opset = {.size = 0}, graph = {.size = 0},
                 node = {.size = 0}, w = {.size = 0};
    put_text(&node, 1, "x");
    put_text(&node, 1, "w");
    put_text(&node, 2, "y");
    put_text(&node, 4, "Add");
    put_message(&graph, 1, &node);
    put_text(&graph, 2, "net");
    put_text(&w, 8, "w");
    claim(&w);
    put_message(&graph, 5, &w);
    put_value(&graph, 11, "x");
    put_value(&graph, 12, "y");
    put_int(&opset, 2, 13);
    put_int(&model, 1, 8);
    put_message(&model, 8, &opset);
    put_message(&model, 7, &graph);
    return model;
}

static troupe_status read_model(const struct bytes *bytes, troupe_error *err)
{
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_TRY(troupe_library_new(&library, err));
    heap_peak_begin();
    return tp_onnx_read(bytes->data, bytes->size, ".", "m.onnx", library, NULL, err);
}

START_TEST(a_tensor_of_a_model_that_claims_much_is_refused)
{
    const struct claim claim = {.code = tensors[_i].code, .words = tensors[_i].words};
    troupe_error err = {.code = TROUPE_OK};
    FILE *file = fopen("hostile.bin", "wb");
    ck_assert(file && fwrite("12345678", 1, 8, file) == 8 && fclose(file) == 0);
    struct bytes bytes = model_with(tensors[_i].claim);
    const troupe_status status = read_model(&bytes, &err);
    ck_assert(strncmp(err.text, "m.onnx: ", 8) == 0);
    ck_refused(&claim, status, &err, bytes.size, 100);
    bytes_free(&bytes);
    unlink("hostile.bin");
}
END_TEST

/* Bytes from the last to the first, since what is inside comes first. */
static void put_back(uint8_t *end, size_t *size, uint8_t byte)
{
    *(end - ++*size) = byte;
}

/* Tag and length before the `size` bytes that are there. */
static void wrap(uint8_t *end, size_t *size, unsigned field)
{
    uint8_t length[10];
    size_t n = 0;
    for (uint64_t left = *size; n == 0 || left; left >>= 7)
        length[n++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    while (n > 0)
        put_back(end, size, length[--n]);
    put_back(end, size, (uint8_t)(field << 3 | 2));
}

/* Sub-graphs of attributes of nodes, or types of sequences, a million deep. */
START_TEST(messages_a_million_deep_are_refused)
{
    static const struct {
        int n;
        unsigned fields[3]; /* from the outer to the inner one */
    } ways[] = {{3, {1, 5, 6}}, {2, {4, 1}}};
    const size_t room = (size_t)16 * MILLION;
    uint8_t *const room_for_all = malloc(room), *const end = room_for_all + room;
    troupe_error err = {.code = TROUPE_OK};
    size_t size = 0;
    for (int i = 0; i < MILLION; i++)
        for (int k = ways[_i].n; k > 0; k--)
            wrap(end, &size, ways[_i].fields[k - 1]);
    if (_i) wrap(end, &size, 2);
    if (_i) wrap(end, &size, 11);
    wrap(end, &size, 7);
    struct bytes bytes = {.data = end - size, .size = size};
    const troupe_status status = read_model(&bytes, &err);
    ck_assert_msg(status == TROUPE_CORRUPT && strstr(err.text, "byte "), "%s", err.text);
    ck_assert_uint_lt(heap_peak(), BASE);
    free(room_for_all);
}
END_TEST

#endif

/* --- functions that unfold ------------------------------------------------------------ */

static troupe_status plan(const char *text, const char *name, troupe_error *err)
{
    troupe_runtime *runtime = NULL;
    troupe_plan *made = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_library *library = graphs_library(text);
    troupe_function *f = graphs_find(library, name);
    options.devices = "cpu:0,cpu:1";
    options.workers = 0;
    ck_assert_int_eq(troupe_open(&runtime, &options, err), TROUPE_OK);
    const troupe_status status = troupe_plan_make(runtime, f, NULL, &made, err);
    troupe_plan_release(&made);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
    troupe_function_release(&f);
    troupe_library_destroy(&library);
    return status;
}

START_TEST(functions_that_would_unfold_to_2_to_the_31_graph_nodes_are_refused)
{
    troupe_error err;
    struct tp_text text = {0};
    tp_text_add(&text, "function f0(x: f32[n]) -> (y: f32[n])\n y = Relu(x)\n");
    for (int i = 1; i <= 31; i++)
        tp_text_add(&text, "function f%d(x: f32[n]) -> (y: f32[n])\n a = f%d(x)\n y = f%d(a)\n",
                    i, i - 1, i - 1);
    ck_fails(plan(text.data, "f31", &err), EXHAUSTED, "graph nodes");
    tp_text_fini(&text);
}
END_TEST

START_TEST(a_function_that_calls_itself_is_refused)
{
    troupe_error err;
    ck_fails(plan("function f(x: f32[n]) -> (y: f32[n])\n y = g(x)\n"
                  "function g(x: f32[n]) -> (y: f32[n])\n y = f(x)\n",
                  "f", &err),
             INVALID, "calls without end: f -> g -> f");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile");
    TCase *t = tcase_create("claims");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_text_that_claims_much_is_refused_with_its_place, 0,
                        (int)TP_COUNT(functions));
    tcase_add_loop_test(t, a_value_that_claims_much_is_refused_with_its_byte, 0,
                        (int)TP_COUNT(values));
    tcase_add_loop_test(t, rules_that_claim_much_are_refused_with_their_line, 0,
                        (int)TP_COUNT(rules));
    tcase_add_loop_test(t, a_device_list_that_claims_much_is_refused_with_its_entry, 0,
                        (int)TP_COUNT(devices));
    tcase_add_loop_test(t, an_npy_file_that_claims_much_is_refused_with_its_byte, 0,
                        (int)TP_COUNT(arrays));
#ifdef TP_HAVE_ONNX
    tcase_add_loop_test(t, a_tensor_of_a_model_that_claims_much_is_refused, 0,
                        (int)TP_COUNT(tensors));
    tcase_add_loop_test(t, messages_a_million_deep_are_refused, 0, 2);
#endif
    tcase_add_test(t, functions_that_would_unfold_to_2_to_the_31_graph_nodes_are_refused);
    tcase_add_test(t, a_function_that_calls_itself_is_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
