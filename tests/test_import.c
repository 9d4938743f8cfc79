/* SPDX-License-Identifier: MIT
 *
 * tests/test_import.c - ONNX models become functions, or a failure that says all that is wrong.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "import/onnx/import.h"
#include "tests/evaluate.h"
#include "tests/onnx_text.h"
#include "tests/test.h"

static troupe_status read_into(troupe_library *library, const char *text, const char **name,
                               troupe_error *err)
{
    struct bytes bytes = onnx_text(text);
    const troupe_status status =
        tp_onnx_read(bytes.data, bytes.size, NULL, "dir/net-2.onnx", library, name, err);
    bytes_free(&bytes);
    return status;
}

static troupe_status load(const char *text, troupe_function **out, troupe_error *err)
{
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    const char *name;
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(read_into(library, text, &name, err));
    return troupe_library_find(library, name, out, err);
}

/* --- what is refused ------------------------------------------------------------------ */

/* clang-format off */
static const struct {
    const char *model;
    troupe_status code;
    const char *text; /* all of the failure behind the model's name */
} refused[] = {
    {"in x f32[1]; Foo x -> a; Foo x -> b; Foo x -> c; Bar@ai.onnx.ml x -> d; Add a b -> y; out y",
     TROUPE_UNSUPPORTED, "operators not supported: Foo (3), ai.onnx.ml:Bar (1)"},
    {"in x t27[1]; in z t27[2]; Foo x -> y; out y; out z", TROUPE_UNSUPPORTED,
     "operators not supported: Foo (1); element types: float6e2m3 (2)"},
    {"in x t28[1]; out x", TROUPE_UNSUPPORTED, "element types not supported: float6e3m2 (1)"},
    {"opset 20; in x f32[1]; Add x x -> y; Mul y y -> z; out z", TROUPE_UNSUPPORTED,
     "operators not supported: those of opset 20, which is above 19 (2)"},
    {"opset 5; in x f32[1]; Add x x -> y; out y", TROUPE_UNSUPPORTED,
     "operators not supported: Add of opset 5 (1)"},
    {"ir 2; in x f32[1]; out x", TROUPE_UNSUPPORTED, "IR version 2 (3 to 10 are read)"},
    {"ir 11; in x f32[1]; out x", TROUPE_UNSUPPORTED, "IR version 11 (3 to 10 are read)"},
    {"opset 1 ai.onnx.ml; in x f32[1]; Add x x -> y; out y", TROUPE_INVALID,
     "the model has nodes of ai.onnx, whose version it does not import"},
    {"in x f32[1]; Add x z -> y; out y", TROUPE_INVALID,
     "node 'y' (Add): nobody makes the value 'z'"},
    {"in x f32[1]; out y", TROUPE_INVALID, "output 0: nobody makes the value 'y'"},
    {"in x f32[1]; n1:Add x b -> a; n2:Add a x -> b; out a", TROUPE_INVALID,
     "node 'n1' (Add) needs its own result, directly or by way of others"},
    {"in x f32[1]; Add x y -> y; out y", TROUPE_INVALID,
     "node 'y' (Add) needs its own result, directly or by way of others"},
    {"in x f32[1]; Add x x -> y; Mul x x -> y; out y", TROUPE_INVALID, "value 'y' is made twice"},
    {"in x f32[1]; Add x x -> x; out x", TROUPE_INVALID, "value 'x' is made twice"},
    {"in x f32[1]; in x f32[1]; out x", TROUPE_INVALID, "value 'x' is made twice"},
    {"init w f32[1]{1}; init w f32[1]{1}; out w", TROUPE_INVALID, "value 'w' is made twice"},
    {"in x f32[1]; init w f32[1]{1}; Add x x -> w; out w", TROUPE_INVALID,
     "value 'w' is made twice"},
    {"in x -; out x", TROUPE_INVALID, "input 'x': it has no type"},
    {"in x f32[1,1,1,1,1,1,1,1,1]; Neg x -> y; out y", TROUPE_UNSUPPORTED,
     "input 'x': rank 9 (at most 8)"},
    {"init w f32[2]{1}; out w", TROUPE_INVALID,
     "output 0: initializer 'w': 4 bytes of raw_data; f32[2] has 8"},
    {"Constant -> y; out y", TROUPE_INVALID,
     "node 'y' (Constant): it has not one attribute with a value and one result"},
    {"Constant -> y value=f32[2]{1}; out y", TROUPE_INVALID,
     "node 'y' (Constant): attribute 'value': 4 bytes of raw_data; f32[2] has 8"},
    {"Constant -> y value=@v; out y", TROUPE_INVALID,
     "node 'y' (Constant): attribute 'value': a reference outside a function"},
    {"opset 1 my; in x f32[1]; F@my x -> y; out y;"
     "fn my F a -> b; opset 1 my; G@my a -> b; end; fn my G a -> b; opset 1 my; F@my a -> b; end",
     TROUPE_INVALID, "function 'F' calls itself"},
    {"opset 1 my; in x f32[1]; F@my x x -> y; out y; fn my F a -> b; opset 13; Neg a -> b; end",
     TROUPE_INVALID, "node 'y' (F): 2 inputs; function 'F' has 1"},
    {"opset 1 my; in x f32[1]; F@my x -> y z; out y; fn my F a -> b; opset 13; Neg a -> b; end",
     TROUPE_INVALID, "node 'y' (F): 2 outputs; function 'F' has 1"},
    {"opset 1 my; in x f32[1]; F@my x -> y; out y; fn my F a -> b; opset 13; Neg a -> c; end",
     TROUPE_INVALID, "node 'y' (F): nobody makes the value 'b'"},
    {"opset 1 my; in x f32[1]; F@my x -> y; out y; fn my F a -> b; Neg a -> b; end",
     TROUPE_INVALID, "function 'F' has nodes of ai.onnx, whose version it does not import"},
    {"opset 1 my; in x f32[1]; F@my x -> y; out y; fn my F a -> b; opset 13; Foo a -> b; end",
     TROUPE_UNSUPPORTED, "operators not supported: Foo (1)"},
    {"in x f32[1]; out x; fn my F a -> b; end; fn my F a -> b; end", TROUPE_INVALID,
     "function 'F' is there twice"},
};
/* clang-format on */

START_TEST(a_model_that_cannot_be_read_says_all_that_is_wrong)
{
    troupe_error err = {0};
    char wanted[300];
    troupe_function *function = NULL;
    const size_t pieces = tp_alloc_pieces();
    const troupe_status status = load(refused[_i].model, &function, &err);
    ck_assert_msg(status == refused[_i].code, "%s: %s: %s", refused[_i].model,
                  troupe_status_name(status), err.text);
    snprintf(wanted, sizeof(wanted), "dir/net-2.onnx: %s", refused[_i].text);
    ck_assert_str_eq(err.text, wanted);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(what_does_not_fit_into_a_failure_is_counted)
{
    troupe_error err = {0};
    char model[4096] = "in x f32[1]; ";
    for (int i = 0; i < 100; i++)
        snprintf(model + strlen(model), 64, "Unknown%d x -> y%d; ", i, i);
    strcat(model, "out x");
    troupe_function *function = NULL;
    ck_fails(load(model, &function, &err), UNSUPPORTED, "Unknown0 (1), Unknown1 (1)");
    ck_assert_uint_lt(strlen(err.text), sizeof(err.text) - 1);
    const char *const and = strstr(err.text, " and ");
    ck_assert_ptr_nonnull(and);
    int said = 0;
    for (const char *at = err.text; (at = strstr(at, "Unknown")); at++)
        said++;
    ck_assert_int_eq(atoi(and+5), 100 - said);
}
END_TEST

/* Functions that call one another twice, 25 deep, would be 2^25 graph nodes. */
START_TEST(functions_that_would_grow_without_end_are_refused)
{
    troupe_error err = {0};
    troupe_function *function = NULL;
    char model[8192] = "opset 1 my; in x f32[1]; F0@my x -> y; out y; ";
    for (int i = 0; i < 25; i++)
        snprintf(model + strlen(model), 160,
                 "fn my F%d a -> c; opset 1 my; F%d@my a -> b; F%d@my b -> c; end; ", i, i + 1,
                 i + 1);
    strcat(model, "fn my F25 a -> b; opset 13; Neg a -> b; end");
    ck_fails(load(model, &function, &err), EXHAUSTED, "graph nodes, above 1048576");
}
END_TEST

START_TEST(functions_that_call_one_another_too_deep_are_refused)
{
    troupe_error err = {0};
    troupe_function *function = NULL;
    char model[16384] = "opset 1 my; in x f32[1]; F0@my x -> y; out y; ";
    for (int i = 0; i < 100; i++)
        snprintf(model + strlen(model), 100,
                 "fn my F%d a -> b; opset 1 my; F%d@my a -> b; end; ", i, i + 1);
    strcat(model, "fn my F100 a -> b; opset 13; Neg a -> b; end");
    ck_fails(load(model, &function, &err), EXHAUSTED, "32 deep");
}
END_TEST

/* --- what a function looks like ------------------------------------------------------- */

START_TEST(inputs_nodes_and_outputs_keep_their_names_and_order)
{
    troupe_error err;
    troupe_function *f = NULL;
    char text[64];
    ck_ok(load("graph main-graph.1; in /x:0 f32[2,batch]; in b f32[?]; init w f32[1]{2};"
               "conv/1:Add /x:0 w -> t; Mul t b -> y; out y; out t",
               &f, &err));
    ck_assert_str_eq(troupe_function_name(f), "main_graph_1");
    ck_assert_uint_eq(troupe_function_args(f), 2);
    ck_assert_str_eq(troupe_function_arg_name(f, 0), "/x:0");
    troupe_function_arg_text(f, 0, text, sizeof(text));
    ck_assert_str_eq(text, "f32[2,batch]");
    ck_assert_str_eq(troupe_function_result_name(f, 0), "y");
    ck_assert_str_eq(troupe_function_result_name(f, 1), "t");
    ck_assert_str_eq(f->body->nodes[0].name, "conv/1");
    ck_assert_str_eq(f->body->nodes[1].name, "y"); /* made up from its first output */
    ck_assert_str_eq(f->body->values[f->body->nodes[0].inputs[1]].name, "w");
    troupe_function_release(&f);
}
END_TEST

START_TEST(the_nodes_of_a_function_of_the_model_stand_below_its_call)
{
    troupe_error err;
    troupe_function *f = NULL;
    ck_ok(load("opset 1 my; in x f32[1]; one:F@my x -> y; F@my y -> z; out z;"
               "fn my F a -> c; opset 13; inner:Neg a -> b; Neg b -> c; end",
               &f, &err));
    ck_assert_uint_eq(f->body->n_nodes, 4);
    ck_assert_str_eq(f->body->nodes[0].name, "one/inner");
    ck_assert_str_eq(f->body->nodes[1].name, "one/c");
    ck_assert_str_eq(f->body->nodes[2].name, "z/inner");
    ck_assert_str_eq(f->body->values[f->body->nodes[0].results[0]].name, "one/b");
    troupe_function_release(&f);
}
END_TEST

START_TEST(an_initializer_that_is_an_input_too_is_a_constant_or_a_default_by_version)
{
    troupe_error err;
    troupe_function *f = NULL;
    const char *const rest = "in x f32[1]; in w f32[1]; init w f32[1]{5}; Add x w -> y; out y";
    char model[160];
    snprintf(model, sizeof(model), "ir 3; opset 7; %s", rest);
    ck_ok(load(model, &f, &err));
    ck_assert_uint_eq(troupe_function_args(f), 1);
    troupe_function_release(&f);
    snprintf(model, sizeof(model), "ir 4; opset 7; %s", rest);
    ck_ok(load(model, &f, &err));
    ck_assert_uint_eq(troupe_function_args(f), 2);
    ck_assert_ptr_nonnull(troupe_function_arg_default(f, 1));
    ck_assert_ptr_null(troupe_function_arg_default(f, 0));
    troupe_function_release(&f);
}
END_TEST

START_TEST(initializers_that_nobody_uses_are_not_even_looked_at)
{
    troupe_error err;
    troupe_function *f = NULL;
    ck_ok(
        load("in x f32[1]; init w f32[1]{5}; init bad f32[7]{1}; Neg x -> y; out y", &f, &err));
    ck_assert_uint_eq(f->body->n_values, 2);
    troupe_function_release(&f);
}
END_TEST

static const struct {
    const char *graph, *name;
} names[] = {{"torch-jit-export", "torch_jit_export"},
             {"9lives", "_9lives"},
             {"...", "net_2"},
             {"Add", "Add_model"},
             {"good_1", "good_1"},
             {"\xc3\xa4", "net_2"}};

START_TEST(a_function_is_called_like_its_graph_or_else_its_file)
{
    troupe_error err;
    troupe_function *f = NULL;
    char model[80];
    snprintf(model, sizeof(model), "graph %s; in x f32[1]; out x", names[_i].graph);
    ck_ok(load(model, &f, &err));
    ck_assert_str_eq(troupe_function_name(f), names[_i].name);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_second_model_whose_graph_has_the_same_name_is_called_like_its_file)
{
    troupe_error err;
    const char *first, *again, *second;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(read_into(library, "graph main; in x f32[1]; Neg x -> y; out y", &first, &err));
    ck_ok(read_into(library, "graph main; in x f32[1]; Neg x -> y; out y", &again, &err));
    ck_ok(read_into(library, "graph main; in x f32[1]; Abs x -> y; out y", &second, &err));
    ck_assert_str_eq(first, "main");
    ck_assert_ptr_eq(first, again);
    ck_assert_str_eq(second, "net_2");
    ck_assert_uint_eq(troupe_library_count(library), 2);
    ck_fails(read_into(library, "graph main; in x f32[1]; Exp x -> y; out y", NULL, &err),
             INVALID, "net_2");
}
END_TEST

START_TEST(dimensions_called_none_are_not_equal_to_one_another)
{
    troupe_error err;
    troupe_function *f = NULL;
    char text[64];
    ck_ok(load("in x f32[None,batch.size,n,n]; Neg x -> y; out y", &f, &err));
    troupe_function_arg_text(f, 0, text, sizeof(text));
    ck_assert_str_eq(text, "f32[?,?,n,n]");
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_chain_of_a_hundred_thousand_nodes_backwards_is_read)
{
    troupe_error err;
    troupe_function *f = NULL;
    struct bytes model = {.size = 0}, graph = {.size = 0}, opset = {.size = 0};
    for (int i = 100000; i-- > 0;) {
        struct bytes node = {.size = 0};
        char name[16];
        snprintf(name, sizeof(name), "v%d", i);
        put_text(&node, 1, name);
        snprintf(name, sizeof(name), "v%d", i + 1);
        put_text(&node, 2, name);
        put_text(&node, 4, "Neg");
        put_message(&graph, 1, &node);
    }
    struct bytes in = {.size = 0}, out = {.size = 0}, type = {.size = 0}, tensor = {.size = 0};
    put_text(&in, 1, "v0");
    put_int(&tensor, 1, 1);
    put_message(&type, 1, &tensor);
    put_message(&in, 2, &type);
    put_message(&graph, 11, &in);
    put_text(&out, 1, "v100000");
    put_message(&graph, 12, &out);
    put_int(&model, 1, 8);
    put_int(&opset, 2, 13);
    put_message(&model, 8, &opset);
    put_message(&model, 7, &graph);
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    const char *name;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(tp_onnx_read(model.data, model.size, NULL, "long.onnx", library, &name, &err));
    ck_ok(troupe_library_find(library, name, &f, &err));
    ck_assert_uint_eq(troupe_function_nodes(f), 100000);
    ck_assert_str_eq(f->body->values[f->body->nodes[0].inputs[0]].name, "v0");
    troupe_function_release(&f);
    bytes_free(&model);
}
END_TEST

START_TEST(reading_without_memory_fails_and_leaks_nothing)
{
    troupe_error err = {0};
    troupe_function *f = NULL;
    ck_starve(load("opset 13; opset 1 my; in x f32[2,2]; init w f32[2]{1,2}; Add x w -> t; "
                   "F@my t -> y k=1.5;"
                   "Constant -> c value_ints=[1,2]; n:Neg y -> z; n:Neg z -> v; out v; out c;"
                   "fn my F a -> b; opset 13; LeakyRelu a -> b alpha=@k; end",
                   &f, &err));
    troupe_function_release(&f);
}
END_TEST

/* --- a real model --------------------------------------------------------------------- */

static void source_path(char *path, size_t size, const char *name)
{
    const char *const top = getenv("TOP"), *const srcdir = getenv("srcdir");
    snprintf(path, size, "%s/examples/fashion/%s", top ? top : srcdir ? srcdir : ".", name);
}

static struct bytes read_whole(const char *path)
{
    struct bytes out = {.size = 0};
    uint8_t part[4096];
    FILE *const file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "no file %s", path);
    for (size_t n; (n = fread(part, 1, sizeof(part), file)) > 0;)
        put_raw(&out, part, n);
    fclose(file);
    return out;
}

static troupe_status load_fashion(troupe_function **out, troupe_error *err)
{
    char path[512];
    const char *name;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    source_path(path, sizeof(path), "fashion_mnist_cnn.onnx");
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_load(library, path, &name, err));
    return troupe_library_find(library, name, out, err);
}

START_TEST(the_trained_picture_classifier_gives_its_trainers_numbers)
{
    troupe_error err;
    char path[512];
    troupe_function *f = NULL;
    troupe_tensor *images = NULL, *wanted = NULL, *result = NULL;
    size_t ran;
    ck_ok(load_fashion(&f, &err));
    source_path(path, sizeof(path), "images.npy");
    ck_ok(troupe_tensor_read_npy(&images, path, &err));
    source_path(path, sizeof(path), "probabilities.npy");
    ck_ok(troupe_tensor_read_npy(&wanted, path, &err));
    const troupe_tensor *const args[] = {images};
    ck_ok(evaluate(f->body, args, 1, &result, &ran, &err));
    ck_assert_uint_eq(troupe_tensor_count(result), troupe_tensor_count(wanted));
    const float *const given = troupe_tensor_data(result), *const known =
                                                               troupe_tensor_data(wanted);
    for (size_t i = 0; i < troupe_tensor_count(wanted); i++)
        ck_assert_float_eq_tol(given[i], known[i], 1e-5f);
    troupe_tensor_release(&images);
    troupe_tensor_release(&wanted);
    troupe_tensor_release(&result);
    troupe_function_release(&f);
}
END_TEST

START_TEST(the_classifier_is_loaded_in_less_than_a_tenth_of_a_second)
{
    troupe_error err;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        troupe_function *f = NULL;
        const uint64_t start = tp_clock_ns();
        ck_ok(load_fashion(&f, &err));
        const uint64_t taken = tp_clock_ns() - start;
        best = taken < best ? taken : best;
        troupe_function_release(&f);
    }
    ck_assert_uint_lt(best, 100000000);
}
END_TEST

static troupe_status hash_of(const void *bytes, size_t size, uint8_t hash[16],
                             troupe_error *err)
{
    const char *name;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_OWNED(troupe_function_release) troupe_function *function = NULL;
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(tp_onnx_read(bytes, size, NULL, "cut.onnx", library, &name, err));
    TP_TRY(troupe_library_find(library, name, &function, err));
    troupe_function_hash(function, hash);
    return TROUPE_OK;
}

/* Unless only what nobody reads is cut off. */
START_TEST(every_cut_of_the_classifier_is_refused)
{
    char path[512];
    uint8_t hash[16], other[16];
    troupe_error err;
    source_path(path, sizeof(path), "fashion_mnist_cnn.onnx");
    struct bytes whole = read_whole(path);
    ck_ok(hash_of(whole.data, whole.size, hash, &err));
    const size_t pieces = tp_alloc_pieces();
    for (size_t n = 0; n < whole.size; n += n < 2048 || n + 4096 > whole.size ? 1 : 997) {
        uint8_t *const cut = malloc(n + 1); /* of exactly that size, for sanitizers */
        memcpy(cut, whole.data, n);
        if (hash_of(cut, n, other, &err) >= 0) ck_assert_mem_eq(hash, other, sizeof(hash));
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
        free(cut);
    }
    bytes_free(&whole);
}
END_TEST

START_TEST(a_wrong_bit_in_the_classifiers_structure_never_does_harm)
{
    char path[512];
    source_path(path, sizeof(path), "fashion_mnist_cnn.onnx");
    struct bytes whole = read_whole(path);
    for (size_t bit = (size_t)_i; bit < 8 * 3000; bit += 4) {
        troupe_error err = {0};
        TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_ok(troupe_library_new(&library, &err));
        const troupe_status status =
            tp_onnx_read(whole.data, whole.size, NULL, "bent.onnx", library, NULL, &err);
        ck_assert_msg(status != TROUPE_INTERNAL, "bit %zu: %s", bit, err.text);
        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    bytes_free(&whole);
}
END_TEST

/* --- which files are models ----------------------------------------------------------- */

START_TEST(a_file_that_is_not_there_or_no_model_is_refused)
{
    troupe_error err;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_fails(troupe_library_load(library, "/nonexistent/m.onnx", NULL, &err), NOT_FOUND,
             "/nonexistent/m.onnx: ");
    ck_fails(troupe_library_load(library, "/nonexistent/m", NULL, &err), NOT_FOUND, "m: ");
    ck_fails(troupe_library_load(library, "/", NULL, &err), INVALID, "is no file");
    ck_fails(tp_onnx_read("", 0, NULL, "empty.onnx", library, NULL, &err), CORRUPT,
             "empty.onnx: it has no graph");
    ck_fails(tp_onnx_read("hello", 5, NULL, "h.onnx", library, NULL, &err), CORRUPT, "byte ");
}
END_TEST

static char load_folder[64], load_path[96];

static void write_model(const char *name, const void *bytes, size_t size)
{
    strcpy(load_folder, "/tmp/troupe-load-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(load_folder));
    snprintf(load_path, sizeof(load_path), "%s/%s", load_folder, name);
    FILE *const file = fopen(load_path, "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void remove_model(void)
{
    unlink(load_path);
    rmdir(load_folder);
}

START_TEST(a_model_is_known_by_its_bytes_when_its_name_says_nothing)
{
    troupe_error err;
    const char *name = NULL;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    struct bytes bytes = onnx_text("graph known; in x f32[1]; Neg x -> y; out y");
    write_model("model", bytes.data, bytes.size);
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_load(library, load_path, &name, &err));
    ck_assert_str_eq(name, "known");
    bytes_free(&bytes);
    remove_model();
}
END_TEST

START_TEST(a_model_printed_as_text_and_read_again_is_the_same_function)
{
    troupe_error err;
    const char *name = NULL;
    char *text = NULL;
    uint8_t hash[16], again[16];
    troupe_function *f = NULL, *g = NULL;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    ck_ok(load_fashion(&f, &err));
    ck_ok(troupe_function_print(f, TROUPE_TEXT, &text, &err));
    write_model("fashion.troupe", text, strlen(text));
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_load(library, load_path, &name, &err));
    ck_ok(troupe_library_find(library, name, &g, &err));
    troupe_function_hash(f, hash);
    troupe_function_hash(g, again);
    ck_assert_mem_eq(hash, again, sizeof(hash));
    remove_model();
    troupe_free(text);
    troupe_function_release(&f);
    troupe_function_release(&g);
}
END_TEST

static const struct {
    const char *text, *name;
} texts[] = {
    {"function only(x: f32[2]) -> (y)\n    y = Neg(x)\n", "only"},
    {"function a(x: f32[2]) -> (y)\n    y = Neg(x)\n"
     "function main(x: f32[2]) -> (y)\n    y = a(x)\n",
     "main"},
    {"function b(x: f32[2]) -> (y)\n    y = Neg(x)\n"
     "function a(x: f32[2]) -> (y)\n    y = b(x)\n",
     "b"},
};

/* Also in a library that has it, and others, already. */
START_TEST(the_main_function_of_a_text_is_the_only_one_or_main_or_the_first)
{
    troupe_error err;
    const char *name = NULL;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    write_model("m.troupe", texts[_i].text, strlen(texts[_i].text));
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_load(library, load_path, &name, &err));
    ck_assert_str_eq(name, texts[_i].name);
    ck_ok(read_into(library, "graph other; in x f32[1]; out x", NULL, &err));
    ck_ok(troupe_library_load(library, load_path, &name, &err));
    ck_assert_str_eq(name, texts[_i].name);
    ck_ok(troupe_library_load(library, load_path, NULL, &err));
    remove_model();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("import");
    TCase *t = tcase_create("import");
    tcase_add_loop_test(t, a_model_that_cannot_be_read_says_all_that_is_wrong, 0,
                        (int)TP_COUNT(refused));
    tcase_add_test(t, what_does_not_fit_into_a_failure_is_counted);
    tcase_add_test(t, functions_that_would_grow_without_end_are_refused);
    tcase_add_test(t, functions_that_call_one_another_too_deep_are_refused);
    tcase_add_test(t, inputs_nodes_and_outputs_keep_their_names_and_order);
    tcase_add_test(t, the_nodes_of_a_function_of_the_model_stand_below_its_call);
    tcase_add_test(t,
                   an_initializer_that_is_an_input_too_is_a_constant_or_a_default_by_version);
    tcase_add_test(t, initializers_that_nobody_uses_are_not_even_looked_at);
    tcase_add_loop_test(t, a_function_is_called_like_its_graph_or_else_its_file, 0,
                        (int)TP_COUNT(names));
    tcase_add_test(t, a_second_model_whose_graph_has_the_same_name_is_called_like_its_file);
    tcase_add_test(t, dimensions_called_none_are_not_equal_to_one_another);
    tcase_add_test(t, a_chain_of_a_hundred_thousand_nodes_backwards_is_read);
    tcase_add_test(t, reading_without_memory_fails_and_leaks_nothing);
    tcase_add_test(t, the_trained_picture_classifier_gives_its_trainers_numbers);
    tcase_add_test(t, the_classifier_is_loaded_in_less_than_a_tenth_of_a_second);
    tcase_add_test(t, every_cut_of_the_classifier_is_refused);
    tcase_add_loop_test(t, a_wrong_bit_in_the_classifiers_structure_never_does_harm, 0, 4);
    tcase_add_test(t, a_file_that_is_not_there_or_no_model_is_refused);
    tcase_add_test(t, a_model_is_known_by_its_bytes_when_its_name_says_nothing);
    tcase_add_test(t, a_model_printed_as_text_and_read_again_is_the_same_function);
    tcase_add_loop_test(t, the_main_function_of_a_text_is_the_only_one_or_main_or_the_first, 0,
                        (int)TP_COUNT(texts));
    suite_add_tcase(s, t);
    return test_run(s);
}
