/* SPDX-License-Identifier: MIT
 *
 * tests/test_import_types.c - element types of ONNX that are stored: as TensorProtos that
 * another library wrote, packed in files, and in models of opset 19.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph/function.h"
#include "import/onnx/import.h"
#include "import/onnx/reader.h"
#include "tensor/dtype.h"
#include "tests/bytes.h"
#include "tests/evaluate.h"
#include "tests/onnx_text.h"
#include "tests/test.h"

static troupe_tensor *parsed(const char *text)
{
    troupe_error err;
    troupe_tensor *out = NULL;
    ck_ok(troupe_tensor_parse(&out, text, &err));
    return out;
}

static void ck_value(const troupe_tensor *given, const char *text)
{
    char shown[512];
    troupe_tensor *wanted = parsed(text);
    troupe_tensor_show(given, 0, shown, sizeof(shown));
    ck_assert_msg(troupe_tensor_equal(given, wanted), "%s, not %s", shown, text);
    troupe_tensor_release(&wanted);
}

/* --- tensors -------------------------------------------------------------------------- */

/* As onnx.helper.make_tensor of ONNX's Python package has them: in the typed field, then in
 * raw_data. */
/* clang-format off */
static const struct {
    const char *proto, *text;
} protos[] = {
    {"08 02 10 0e 22 10 00 00 c0 3f 00 00 00 c0 00 00 00 00 00 00 80 3f",
     "c64[2] [(1.5,-2), (0,1)]"},
    {"08 02 10 0e 4a 10 00 00 c0 3f 00 00 00 c0 00 00 00 00 00 00 80 3f",
     "c64[2] [(1.5,-2), (0,1)]"},
    {"08 01 10 0f 52 10 9a 99 99 99 99 99 b9 3f 9c 75 00 88 3c e4 47 fe",
     "c128[1] [(0.1,-2e300)]"},
    {"08 01 10 0f 4a 10 9a 99 99 99 99 99 b9 3f 9c 75 00 88 3c e4 47 fe",
     "c128[1] [(0.1,-2e300)]"},
    {"08 03 10 11 2a 04 38 fe 01 30",
     "f8e4m3fn[3] [1, -448, 0.5]"},
    {"08 03 10 11 4a 03 38 fe 30",
     "f8e4m3fn[3] [1, -448, 0.5]"},
    {"08 03 10 12 2a 04 40 ff 01 38",
     "f8e4m3fnuz[3] [1, -240, 0.5]"},
    {"08 03 10 12 4a 03 40 ff 38",
     "f8e4m3fnuz[3] [1, -240, 0.5]"},
    {"08 03 10 13 2a 04 3c fb 01 38",
     "f8e5m2[3] [1, -57344, 0.5]"},
    {"08 03 10 13 4a 03 3c fb 38",
     "f8e5m2[3] [1, -57344, 0.5]"},
    {"08 03 10 14 2a 04 40 ff 01 3c",
     "f8e5m2fnuz[3] [1, -57344, 0.5]"},
    {"08 03 10 14 4a 03 40 ff 3c",
     "f8e5m2fnuz[3] [1, -57344, 0.5]"},
    {"08 05 10 15 2a 03 10 7f 09",
     "u4[5] [0, 1, 15, 7, 9]"},
    {"08 05 10 15 4a 03 10 7f 09",
     "u4[5] [0, 1, 15, 7, 9]"},
    {"08 01 08 03 10 16 2a 02 78 0f",
     "i4[1,3] [[-8, 7, -1]]"},
    {"08 01 08 03 10 16 4a 02 78 0f",
     "i4[1,3] [[-8, 7, -1]]"},
    {"08 03 10 17 2a 03 f1 01 05",
     "f4e2m1[3] [0.5, -6, 3]"},
    {"08 03 10 17 4a 02 f1 05",
     "f4e2m1[3] [0.5, -6, 3]"},
    {"08 02 10 18 2a 03 7f 81 01",
     "f8e8m0[2] [1, 4]"},
    {"08 02 10 18 4a 02 7f 81",
     "f8e8m0[2] [1, 4]"},
    {"08 05 10 19 2a 03 e4 01 01",
     "u2[5] [0, 1, 2, 3, 1]"},
    {"08 05 10 19 4a 02 e4 01",
     "u2[5] [0, 1, 2, 3, 1]"},
    {"08 06 10 1a 2a 03 c6 01 09",
     "i2[6] [-2, 1, 0, -1, 1, -2]"},
    {"08 06 10 1a 4a 02 c6 09",
     "i2[6] [-2, 1, 0, -1, 1, -2]"},
};
/* clang-format on */

START_TEST(a_tensor_that_another_library_wrote_has_its_elements)
{
    uint8_t bytes[64];
    troupe_error err;
    troupe_tensor *given = NULL;
    const size_t size = bytes_of(protos[_i].proto, bytes);
    ck_ok(tp_onnx_read_tensor(bytes, size, &given, &err));
    ck_value(given, protos[_i].text);
    troupe_tensor_release(&given);
}
END_TEST

static const struct {
    const char *proto, *word;
} refused[] = {
    {"08 05 10 15 4a 02 10 7f", "2 bytes of raw_data; u4[5] has 3"},
    {"08 05 10 15 4a 04 10 7f 09 00", "4 bytes of raw_data; u4[5] has 3"},
    {"08 05 10 15 2a 02 10 7f", "2 elements in int32_data; u4[5] has 3"},
    {"08 05 10 19 4a 03 e4 01 00", "3 bytes of raw_data; u2[5] has 2"},
    {"08 01 10 15 2a 02 80 02", "byte 0: 256 is no u4"},
    {"08 01 10 11 2a 02 80 02", "element 0: 256 is no f8e4m3fn"},
    {"08 01 10 0e 4a 04 00 00 c0 3f", "4 bytes of raw_data; c64[1] has 8"},
    {"08 01 10 0e 22 04 00 00 c0 3f", "1 elements in float_data; c64[1] has 2"},
    {"08 01 10 0f 22 08 00 00 c0 3f 00 00 c0 3f", "0 elements in double_data"},
    {"08 80 80 80 80 80 80 80 80 40 10 0e 22 00", ""},
};

START_TEST(a_tensor_with_too_few_or_too_many_bytes_is_refused)
{
    uint8_t bytes[64];
    troupe_error err;
    troupe_tensor *given = NULL;
    const size_t size = bytes_of(refused[_i].proto, bytes);
    ck_fails(tp_onnx_read_tensor(bytes, size, &given, &err), INVALID, refused[_i].word);
}
END_TEST

/* A type without a row in the table of fields has no field that ends so. */
static void ck_readable(int32_t number, troupe_dtype dtype)
{
    struct bytes none = {.size = 0}, two = {.size = 0};
    troupe_tensor *given = NULL;
    troupe_error err;
    put_int(&none, 1, 0);
    put_int(&none, 2, number);
    ck_ok(tp_onnx_read_tensor(none.data, none.size, &given, &err));
    ck_assert_int_eq((int)troupe_tensor_dtype(given), (int)dtype);
    troupe_tensor_release(&given);
    put_int(&two, 1, 2);
    put_int(&two, 2, number);
    ck_fails(tp_onnx_read_tensor(two.data, two.size, &given, &err), INVALID, "_data; ");
    bytes_free(&none);
    bytes_free(&two);
}

START_TEST(each_type_has_one_number_of_onnx_and_a_field)
{
    for (int i = 1; i < TP_DTYPES; i++) {
        int n = 0;
        for (int32_t number = 0; number < 100; number++) {
            if (tp_onnx_dtype(number) != (troupe_dtype)i) continue;
            ck_readable(number, (troupe_dtype)i);
            n++;
        }
        ck_assert_msg(n == 1, "%s has %d numbers", troupe_dtype_name((troupe_dtype)i), n);
    }
}
END_TEST

/* --- models --------------------------------------------------------------------------- */

static troupe_function *loaded(const struct bytes *model, const char *folder)
{
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    troupe_function *function = NULL;
    troupe_error err;
    const char *name;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(tp_onnx_read(model->data, model->size, folder, "m.onnx", library, &name, &err));
    ck_ok(troupe_library_find(library, name, &function, &err));
    return function;
}

static const struct {
    const char *model, *x, *y;
} models[] = {
    {"opset 19; in x f32[3]; Cast x -> y to=17; out y", "f32[3] [1000, -inf, 0.3]",
     "f8e4m3fn[3] [448, -448, 0.3]"},
    {"opset 19; in x f32[2]; Cast x -> y to=17 saturate=0; out y", "f32[2] [1000, 0.3]",
     "f8e4m3fn[2] [nan, 0.3]"},
    {"opset 19; in x f32[2]; Cast x -> y to=19 saturate=0; out y", "f32[2] [1e6, -1e6]",
     "f8e5m2[2] [inf, -inf]"},
    {"opset 19; in x f8e5m2[2]; Cast x -> y to=10; out y", "f8e5m2[2] [57344, -0]",
     "f16[2] [57344, -0]"},
    {"opset 19; in x f32[2]; in l f8e4m3fnuz[1]; CastLike x l -> y saturate=0; out y",
     "f32[2] [1000, 0.3]", "f8e4m3fnuz[2] [nan, 0.3]"},
    {"opset 19; in x f8e4m3fn[2]; Identity x -> y; out y", "f8e4m3fn[2] [1, 2]",
     "f8e4m3fn[2] [1, 2]"},
    {"opset 19; in x c64[2]; Concat x x -> y axis=0; out y", "c64[2] [(1,2), (3,-4)]",
     "c64[4] [(1,2), (3,-4), (1,2), (3,-4)]"},
    {"in x c128[1,2]; Transpose x -> y; out y", "c128[1,2] [[(1,2), (3,-4)]]",
     "c128[2,1] [[(1,2)], [(3,-4)]]"},
    {"in x u4[3]; Shape x -> y; out y", "u4[3] [1, 2, 3]", "i64[1] [3]"},
    {"in x i4[1]; init s i64[1]{4}; Expand x s -> y; out y", "i4[1] [-8]",
     "i4[4] [-8, -8, -8, -8]"},
    {"in x string[2]; init i i64[3]{1,0,1}; Gather x i -> y; out y", "string[2] [\"a\", \"\"]",
     "string[3] [\"\", \"a\", \"\"]"},
    {"opset 19; in x string[2]; Equal x x -> y; out y", "string[2] [\"a\", \"\"]",
     "bool[2] [true, true]"},
};

START_TEST(a_model_of_stored_types_runs)
{
    struct bytes bytes = onnx_text(models[_i].model);
    troupe_function *function = loaded(&bytes, NULL);
    troupe_error err;
    troupe_tensor *x = parsed(models[_i].x), *y = NULL;
    troupe_tensor *like = parsed("f8e4m3fnuz[1] [1]");
    const troupe_tensor *const args[] = {x, like};
    size_t ran;
    ck_ok(evaluate(function->body, args, function->body->n_args, &y, &ran, &err));
    char *at = strstr(models[_i].y, "nan");
    char shown[256];
    troupe_tensor_show(y, 0, shown, sizeof(shown));
    if (at)
        ck_assert_str_eq(shown, models[_i].y); /* payloads may differ */
    else
        ck_value(y, models[_i].y);
    troupe_tensor_release(&x);
    troupe_tensor_release(&y);
    troupe_tensor_release(&like);
    troupe_function_release(&function);
    bytes_free(&bytes);
}
END_TEST

/* --- files ---------------------------------------------------------------------------- */

static void put_entry(struct bytes *tensor, const char *key, const char *value)
{
    struct bytes entry = {.size = 0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(tensor, 13, &entry);
}

/* A model whose one output is an initializer i4[5] in a file, at byte 1. */
static struct bytes packed_model(void)
{
    struct bytes model = {.size = 0}, graph = {.size = 0}, w = {.size = 0}, opset = {.size = 0};
    struct bytes out = {.size = 0};
    put_int(&w, 1, 5);
    put_int(&w, 2, 22);
    put_text(&w, 8, "w");
    put_entry(&w, "location", "weights.bin");
    put_entry(&w, "offset", "1");
    put_int(&w, 14, 1);
    put_message(&graph, 5, &w);
    put_text(&graph, 2, "g");
    put_text(&out, 1, "w");
    put_message(&graph, 12, &out);
    put_int(&model, 1, 10);
    put_int(&opset, 2, 19);
    put_message(&model, 8, &opset);
    put_message(&model, 7, &graph);
    return model;
}

START_TEST(packed_elements_are_read_from_a_file_of_their_own)
{
    char folder[] = "/tmp/troupe-packed-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/weights.bin", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("\xff\x78\x1f\x09", 1, 4, file), 4);
    ck_assert_int_eq(fclose(file), 0);
    struct bytes model = packed_model();
    troupe_function *function = loaded(&model, folder);
    const struct tp_function *const body = function->body;
    ck_value(body->values[body->results[0].value].constant, "i4[5] [-8, 7, -1, 1, -7]");
    troupe_function_release(&function);
    bytes_free(&model);
    unlink(path);
    rmdir(folder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("import_types");
    TCase *t = tcase_create("types");
    tcase_add_loop_test(t, a_tensor_that_another_library_wrote_has_its_elements, 0,
                        (int)TP_COUNT(protos));
    tcase_add_loop_test(t, a_tensor_with_too_few_or_too_many_bytes_is_refused, 0,
                        (int)TP_COUNT(refused));
    tcase_add_test(t, each_type_has_one_number_of_onnx_and_a_field);
    tcase_add_loop_test(t, a_model_of_stored_types_runs, 0, (int)TP_COUNT(models));
    tcase_add_test(t, packed_elements_are_read_from_a_file_of_their_own);
    suite_add_tcase(s, t);
    return test_run(s);
}
