/* SPDX-License-Identifier: MIT
 *
 * tests/test_import_upgrade.c - operators of older versions give what those versions say.
 *
 * Each row is a model, its inputs, and what it gives; expected numbers are worked out by hand
 * from the operator's text of that version. A row whose operator has no kernel is left out by
 * its name.
 */
#include <math.h>
#include <stdio.h>

#include "graph/op.h"
#include "import/onnx/import.h"
#include "import/onnx/model.h"
#include "tests/evaluate.h"
#include "tests/onnx_data.h"
#include "tests/onnx_text.h"
#include "tests/test.h"

#define VALUES 6

struct row {
    const char *needs; /* our operators, apart by spaces */
    const char *model;
    const char *inputs[VALUES];
    const char *results[VALUES];
};

/* clang-format off */
static const struct row rows[] = {
    /* --- broadcasting before opset 7 ------------------------------------------------------ */
    {"Add", "ir 3; opset 6; in x f32[2,2]; in b f32[2]; Add x b -> y broadcast=1; out y",
     {"f32[2,2] [[1, 2], [3, 4]]", "f32[2] [10, 20]"}, {"f32[2,2] [[11, 22], [13, 24]]"}},
    {"Add Unsqueeze",
     "ir 3; opset 6; in x f32[2,2]; in b f32[2]; Add x b -> y broadcast=1 axis=0; out y",
     {"f32[2,2] [[1, 2], [3, 4]]", "f32[2] [10, 20]"}, {"f32[2,2] [[11, 12], [23, 24]]"}},
    {"Mul Unsqueeze",
     "ir 3; opset 6; in x f32[1,2,2]; in b f32[2]; Mul x b -> y broadcast=1 axis=1; out y",
     {"f32[1,2,2] [[[1, 2], [3, 4]]]", "f32[2] [10, 20]"},
     {"f32[1,2,2] [[[10, 20], [60, 80]]]"}},
    {"Greater Unsqueeze",
     "ir 3; opset 6; in x f32[2,2]; in b f32[2]; Greater x b -> y broadcast=1 axis=0; out y",
     {"f32[2,2] [[1, 2], [3, 4]]", "f32[2] [1, 3]"}, {"bool[2,2] [[false, true], [false, true]]"}},
    {"Add", "ir 3; opset 7; in x f32[2,2]; in b f32[2]; Add x b -> y; out y",
     {"f32[2,2] [[1, 2], [3, 4]]", "f32[2] [10, 20]"}, {"f32[2,2] [[11, 22], [13, 24]]"}},
    {"Gemm",
     "ir 3; opset 6; in a f32[1,2]; in b f32[2,2]; in c f32[2]; Gemm a b c -> y broadcast=1; out y",
     {"f32[1,2] [[1, 2]]", "f32[2,2] [[1, 2], [3, 4]]", "f32[2] [10, 20]"},
     {"f32[1,2] [[17, 30]]"}},
    {"PRelu Unsqueeze", "ir 3; opset 6; in x f32[1,2,2]; in s f32[2]; PRelu x s -> y; out y",
     {"f32[1,2,2] [[[-1, 2], [-3, -4]]]", "f32[2] [10, 100]"},
     {"f32[1,2,2] [[[-10, 2], [-300, -400]]]"}},

    /* --- attributes that became inputs ---------------------------------------------------- */
    {"Clip", "ir 3; opset 6; in x f32[3]; Clip x -> y min=-1.5 max=2.5; out y",
     {"f32[3] [-9, 1, 9]"}, {"f32[3] [-1.5, 1, 2.5]"}},
    {"Clip", "ir 3; opset 6; in x f64[2]; Clip x -> y max=2.5; out y",
     {"f64[2] [-9, 9]"}, {"f64[2] [-9, 2.5]"}},
    {"Clip", "opset 11; in x f32[3]; init hi f32[]{2.5}; Clip x _ hi -> y; out y",
     {"f32[3] [-9, 1, 9]"}, {"f32[3] [-9, 1, 2.5]"}},
    {"Reshape", "ir 3; opset 4; in x f32[2,3]; Reshape x -> y shape=[3,-1]; out y",
     {"f32[2,3] [[1, 2, 3], [4, 5, 6]]"}, {"f32[3,2] [[1, 2], [3, 4], [5, 6]]"}},
    {"Reshape", "opset 5; in x f32[2,3]; init s i64[1]{6}; Reshape x s -> y; out y",
     {"f32[2,3] [[1, 2, 3], [4, 5, 6]]"}, {"f32[6] [1, 2, 3, 4, 5, 6]"}},
    {"Squeeze", "opset 11; in x f32[1,2,1]; Squeeze x -> y axes=[2]; out y",
     {"f32[1,2,1] [[[1], [2]]]"}, {"f32[1,2] [[1, 2]]"}},
    {"Squeeze", "opset 1; in x f32[1,2,1]; Squeeze x -> y; out y",
     {"f32[1,2,1] [[[1], [2]]]"}, {"f32[2] [1, 2]"}},
    {"Squeeze", "opset 13; in x f32[1,2,1]; init a i64[1]{0}; Squeeze x a -> y; out y",
     {"f32[1,2,1] [[[1], [2]]]"}, {"f32[2,1] [[1], [2]]"}},
    {"Unsqueeze", "opset 11; in x f32[2]; Unsqueeze x -> y axes=[0,2]; out y",
     {"f32[2] [1, 2]"}, {"f32[1,2,1] [[[1], [2]]]"}},
    {"ReduceSum", "opset 11; in x f32[2,2]; ReduceSum x -> y axes=[1] keepdims=0; out y",
     {"f32[2,2] [[1, 2], [3, 4]]"}, {"f32[2] [3, 7]"}},
    {"ReduceSum", "opset 13; in x f32[2,2]; init a i64[1]{0}; ReduceSum x a -> y; out y",
     {"f32[2,2] [[1, 2], [3, 4]]"}, {"f32[1,2] [[4, 6]]"}},
    {"ReduceMean", "opset 13; in x f32[2,2]; ReduceMean x -> y axes=[0]; out y",
     {"f32[2,2] [[1, 2], [3, 4]]"}, {"f32[1,2] [[2, 3]]"}},
    {"ReduceMean", "opset 18; in x f32[2,2]; init a i64[1]{1}; ReduceMean x a -> y; out y",
     {"f32[2,2] [[1, 2], [3, 4]]"}, {"f32[2,1] [[1.5], [3.5]]"}},
    {"ReduceMax", "opset 11; in x f32[2,2]; ReduceMax x -> y keepdims=0; out y",
     {"f32[2,2] [[1, 2], [3, 4]]"}, {"f32[] 4"}},
    {"Split", "opset 11; in x f32[3]; Split x -> a b split=[1,2]; out a; out b",
     {"f32[3] [1, 2, 3]"}, {"f32[1] [1]", "f32[2] [2, 3]"}},
    {"Split", "opset 2; in x f32[4]; Split x -> a b axis=0; out a; out b",
     {"f32[4] [1, 2, 3, 4]"}, {"f32[2] [1, 2]", "f32[2] [3, 4]"}},
    {"Split", "opset 13; in x f32[3]; init s i64[2]{2,1}; Split x s -> a b; out a; out b",
     {"f32[3] [1, 2, 3]"}, {"f32[2] [1, 2]", "f32[1] [3]"}},
    {"Split", "opset 18; in x f32[3]; Split x -> a b num_outputs=2; out a; out b",
     {"f32[3] [1, 2, 3]"}, {"f32[2] [1, 2]", "f32[1] [3]"}},
    {"Pad", "opset 2; in x f32[2]; Pad x -> y pads=[1,2] value=7.0; out y",
     {"f32[2] [1, 2]"}, {"f32[5] [7, 1, 2, 7, 7]"}},
    {"Pad", "opset 2; in x f32[3]; Pad x -> y pads=[2,0] mode='reflect'; out y",
     {"f32[3] [1, 2, 3]"}, {"f32[5] [3, 2, 1, 2, 3]"}},
    {"Slice", "opset 9; in x f32[4]; Slice x -> y starts=[1] ends=[-1]; out y",
     {"f32[4] [1, 2, 3, 4]"}, {"f32[2] [2, 3]"}},
    {"Slice", "opset 1; in x f32[2,3]; Slice x -> y starts=[1] ends=[9] axes=[1]; out y",
     {"f32[2,3] [[1, 2, 3], [4, 5, 6]]"}, {"f32[2,2] [[2, 3], [5, 6]]"}},
    {"TopK", "opset 1; in x f32[4]; TopK x -> v i k=2; out v; out i",
     {"f32[4] [3, 9, 1, 7]"}, {"f32[2] [9, 7]", "i64[2] [1, 3]"}},

    /* --- defaults that changed ------------------------------------------------------------ */
    {"Hardmax", "opset 11; in x f32[1,2,2]; Hardmax x -> y; out y",
     {"f32[1,2,2] [[[1, 2], [4, 3]]]"}, {"f32[1,2,2] [[[0, 0], [1, 0]]]"}},
    {"Hardmax", "opset 13; in x f32[1,2,2]; Hardmax x -> y; out y",
     {"f32[1,2,2] [[[1, 2], [4, 3]]]"}, {"f32[1,2,2] [[[0, 1], [1, 0]]]"}},
    {"Softmax", "opset 9; in x f32[1,2,2]; Softmax x -> y; out y",
     {"f32[1,2,2] [[[0, 0], [0, 0]]]"}, {"f32[1,2,2] [[[0.25, 0.25], [0.25, 0.25]]]"}},
    {"LogSoftmax", "opset 12; in x f32[2,2]; LogSoftmax x -> y axis=0; out y",
     {"f32[2,2] [[0, 0], [0, 0]]"},
     {"f32[2,2] [[-1.38629436, -1.38629436], [-1.38629436, -1.38629436]]"}},
    {"Concat", "opset 1; in a f32[1,1]; in b f32[1,1]; Concat a b -> y; out y",
     {"f32[1,1] [[1]]", "f32[1,1] [[2]]"}, {"f32[1,2] [[1, 2]]"}},

    /* --- training that is not asked for --------------------------------------------------- */
    {"BatchNormalization",
     "ir 3; opset 6; in x f32[1,2]; init s f32[2]{1,2}; init b f32[2]{0,1}; init m f32[2]{1,1};"
     "init v f32[2]{4,4}; BatchNormalization x s b m v -> y is_test=1 epsilon=0.0; out y",
     {"f32[1,2] [[3, 5]]"}, {"f32[1,2] [[1, 5]]"}},
    {"BatchNormalization",
     "opset 9; in x f32[1,1]; init s f32[1]{1}; init m f32[1]{1}; init v f32[1]{4};"
     "BatchNormalization x s m m v -> y a b c d epsilon=0.0; out y",
     {"f32[1,1] [[3]]"}, {"f32[1,1] [[2]]"}},
    {"Dropout", "ir 3; opset 6; in x f32[2]; Dropout x -> y is_test=1 ratio=0.5; out y",
     {"f32[2] [1, 2]"}, {"f32[2] [1, 2]"}},
    {"Dropout", "opset 7; in x f32[2]; Dropout x -> y mask ratio=0.5; out y",
     {"f32[2] [1, 2]"}, {"f32[2] [1, 2]"}},
    {"Dropout", "opset 10; in x f32[2]; Dropout x -> y mask; out y; out mask",
     {"f32[2] [1, 2]"}, {"f32[2] [1, 2]", "bool[2] [true, true]"}},

    /* --- other names ---------------------------------------------------------------------- */
    {"Cast", "opset 15; in x f32[2]; in like i32[3,4]; CastLike x like -> y; out y",
     {"f32[2] [1.5, -2.5]", "i32[1] [7]"}, {"i32[2] [1, -2]"}},
    {"Cast", "opset 9; in x f32[2]; Cast x -> y to=7; out y",
     {"f32[2] [1.5, -2.5]"}, {"i64[2] [1, -2]"}},
    {"ScatterElements",
     "opset 9; in x f32[3]; init i i64[1]{1}; init u f32[1]{9}; Scatter x i u -> y; out y",
     {"f32[3] [1, 2, 3]"}, {"f32[3] [1, 9, 3]"}},
    {"Resize",
     "opset 7; in x f32[1,1,1,2]; Upsample x -> y scales=[1.0,1.0,2.0,2.0] mode='nearest'; out y",
     {"f32[1,1,1,2] [[[[1, 2]]]]"}, {"f32[1,1,2,4] [[[[1, 1, 2, 2], [1, 1, 2, 2]]]]"}},
    {"Resize", "opset 10; in x f32[1,1,1,2]; init s f32[4]{1,1,1,2}; Resize x s -> y; out y",
     {"f32[1,1,1,2] [[[[1, 2]]]]"}, {"f32[1,1,1,4] [[[[1, 1, 2, 2]]]]"}},
    {"Resize",
     "opset 11; in x f32[1,1,1,2]; init r f32[0]{}; init s f32[4]{1,1,1,2};"
     "Resize x r s -> y coordinate_transformation_mode='asymmetric' nearest_mode='floor'; out y",
     {"f32[1,1,1,2] [[[[1, 2]]]]"}, {"f32[1,1,1,4] [[[[1, 1, 2, 2]]]]"}},

    /* --- constants in all their forms ----------------------------------------------------- */
    {"Add", "in x f32[2]; Constant -> c value=f32[2]{1,2}; Add x c -> y; out y",
     {"f32[2] [1, 2]"}, {"f32[2] [2, 4]"}},
    {"", "Constant -> a value_int=7; Constant -> b value_ints=[1,2]; Constant -> c value_float=1.5;"
     "Constant -> d value_floats=[1.5,2]; Constant -> e value_string='hi'; out a; out b; out c; "
     "out d; out e",
     {NULL}, {"i64[] 7", "i64[2] [1, 2]", "f32[] 1.5", "f32[2] [1.5, 2]", "string[] \"hi\""}},

    /* --- functions of the model ----------------------------------------------------------- */
    {"Add Mul",
     "opset 1 my; in x f32[1]; in w f32[1]; Twice@my x w -> y; out y; "
     "fn my Twice a b -> d; opset 13; Add a b -> c; Add c c -> d; end",
     {"f32[1] [1]", "f32[1] [2]"}, {"f32[1] [6]"}},
    {"LeakyRelu",
     "opset 1 my; in x f32[1]; Leak@my x -> y slope=0.5; Leak@my x -> z; out y; out z;"
     "fn my Leak a -> b; opset 13; default slope=0.25; LeakyRelu a -> b alpha=@slope; end",
     {"f32[1] [-4]"}, {"f32[1] [-2]", "f32[1] [-1]"}},
    {"LeakyRelu", /* a reference through two calls */
     "opset 1 my; in x f32[1]; Outer@my x -> y k=0.5; out y;"
     "fn my Outer a -> b; opset 1 my; Inner@my a -> b slope=@k; end;"
     "fn my Inner a -> b; opset 13; LeakyRelu a -> b alpha=@slope; end",
     {"f32[1] [-4]"}, {"f32[1] [-2]"}},
    {"", /* a constant whose value is a reference */
     "opset 1 my; Make@my -> y v=i64[2]{3,4}; out y;"
     "fn my Make -> b; opset 13; Constant -> b value=@v; end",
     {NULL}, {"i64[2] [3, 4]"}},
    {"Hardmax", /* the function's own version of the operators */
     "opset 13; opset 1 my; in x f32[1,2,2]; Old@my x -> y; out y;"
     "fn my Old a -> b; opset 11; Hardmax a -> b; end",
     {"f32[1,2,2] [[[1, 2], [4, 3]]]"}, {"f32[1,2,2] [[[0, 0], [1, 0]]]"}},
    {"Add", /* a function of the standard's name goes first; the result is an argument */
     "in x f32[1]; Add x x -> y; out y; fn ai.onnx Add a b -> b; opset 13; end",
     {"f32[1] [3]"}, {"f32[1] [3]"}},

    /* --- graphs of odd form --------------------------------------------------------------- */
    {"Add", "in x f32[1]; Add b b -> c; Add x x -> b; out c", /* in the wrong order */
     {"f32[1] [1]"}, {"f32[1] [4]"}},
    {"", "in x f32[1]; init w f32[1]{5}; out x; out w", /* results that nobody makes */
     {"f32[1] [1]"}, {"f32[1] [1]", "f32[1] [5]"}},
    {"Add", "in x f32[0,?,-1]; Add x x -> y; out y", /* dimensions below 1 are unknown */
     {"f32[1,1,2] [[[1, 2]]]"}, {"f32[1,1,2] [[[2, 4]]]"}},
    {"Add", "in x f32; Add x x -> y; out y", /* no shape */
     {"f32[2] [1, 2]"}, {"f32[2] [2, 4]"}},
    {"Add", "ir 3; opset 6; in x f32[1]; in w f32[1]; init w f32[1]{5}; Add x w -> y; out y",
     {"f32[1] [1]"}, {"f32[1] [6]"}},
    {"Add", "ir 4; opset 9; in w f32[1]; in x f32[1]; init w f32[1]{5}; Add x w -> y; out y",
     {NULL, "f32[1] [1]"}, {"f32[1] [6]"}},
    {"Add", "ir 4; opset 9; in w f32[1]; in x f32[1]; init w f32[1]{5}; Add x w -> y; out y",
     {"f32[1] [7]", "f32[1] [1]"}, {"f32[1] [8]"}},
    {"Add", "in x f32[1]; n:Add x x -> y; n:Add y y -> z; Add z z -> n; out n", /* equal names */
     {"f32[1] [1]"}, {"f32[1] [8]"}},
    {"MaxPool", "opset 12; in x f32[1,1,2]; MaxPool x -> y _ kernel_shape=[2]; out y",
     {"f32[1,1,2] [[[1, 2]]]"}, {"f32[1,1,1] [[[2]]]"}},
};
/* clang-format on */

static bool has_kernels(const char *needs)
{
    char name[64];
    for (int n = 0; sscanf(needs, "%63s%n", name, &n) == 1; needs += n)
        if (!tp_op_find(name)) return false;
    return true;
}

static troupe_status load(const struct bytes *bytes, troupe_function **out, troupe_error *err)
{
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    const char *name;
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(tp_onnx_read(bytes->data, bytes->size, NULL, "test.onnx", library, &name, err));
    return troupe_library_find(library, name, out, err);
}

static void check_results(const struct row *row, troupe_tensor **results, size_t n)
{
    troupe_error err;
    for (size_t i = 0; i < n; i++) {
        troupe_tensor *wanted = NULL;
        char why[200] = "";
        ck_ok(troupe_tensor_parse(&wanted, row->results[i], &err));
        ck_assert_msg(onnx_close(results[i], wanted, why, sizeof(why)), "%s: result %zu: %s",
                      row->model, i, why);
        troupe_tensor_release(&wanted);
        troupe_tensor_release(&results[i]);
    }
}

START_TEST(a_model_gives_what_its_version_of_the_operators_says)
{
    const struct row *const row = &rows[_i];
    troupe_error err = {0};
    troupe_function *function = NULL;
    troupe_tensor *args[VALUES] = {NULL}, *results[VALUES] = {NULL};
    size_t ran;
    if (!has_kernels(row->needs)) return;
    struct bytes bytes = onnx_text(row->model);
    const troupe_status status = load(&bytes, &function, &err);
    ck_assert_msg(status == TROUPE_OK, "%s: %s", row->model, err.text);
    for (size_t i = 0; i < VALUES; i++)
        if (row->inputs[i]) ck_ok(troupe_tensor_parse(&args[i], row->inputs[i], &err));
    const troupe_status done = evaluate(function->body, (const troupe_tensor *const *)args,
                                        troupe_function_args(function), results, &ran, &err);
    ck_assert_msg(done == TROUPE_OK, "%s: %s", row->model, err.text);
    check_results(row, results, troupe_function_results(function));
    for (size_t i = 0; i < VALUES; i++)
        troupe_tensor_release(&args[i]);
    troupe_function_release(&function);
    bytes_free(&bytes);
}
END_TEST

/* --- what an upgrade refuses ---------------------------------------------------------- */
static const struct {
    const char *needs, *model;
    troupe_status code;
    const char *word;
} refused[] = {
    {"BatchNormalization",
     "opset 9; in x f32[1,1]; in s f32[1]; BatchNormalization x s s s s -> y m; out y; out m",
     TROUPE_UNSUPPORTED, "node 'y' (BatchNormalization): training, which result 1 asks for"},
    {"BatchNormalization",
     "opset 7; in x f32[1,1]; in s f32[1]; BatchNormalization x s s s s -> y spatial=0; out y",
     TROUPE_UNSUPPORTED, "spatial=0"},
    {"BatchNormalization",
     "opset 15; in x f32[1,1]; in s f32[1]; BatchNormalization x s s s s -> y training_mode=1; "
     "out y",
     TROUPE_UNSUPPORTED, "training, by training_mode"},
    {"Dropout", "opset 7; in x f32[1]; Dropout x -> y m; out y; out m", TROUPE_UNSUPPORTED,
     "mask as it was below opset 10"},
    {"Add",
     "ir 3; opset 6; in x f32[2,2]; in b f32[2,2]; Add x b -> y broadcast=1 axis=1; out y",
     TROUPE_INVALID, "axis 1: [2,2] does not fit into [2,2] there"},
    {"Add", "ir 3; opset 6; in x f32; in b f32[2]; Add x b -> y broadcast=1 axis=0; out y",
     TROUPE_UNSUPPORTED, "unknown rank"},
    {"Add", "ir 3; opset 6; in x f32[2]; in b f32[2]; Add x b -> y broadcast=1.5; out y",
     TROUPE_INVALID, "attribute 'broadcast' is no integer"},
    {"Clip", "opset 6; in x f32[2]; Clip x -> y min=1; out y", TROUPE_INVALID,
     "attribute 'min' is no number"},
    {"Squeeze", "opset 11; in x f32[1]; Squeeze x -> y axes='a'; out y", TROUPE_INVALID,
     "attribute 'axes' is no list of numbers"},
    {"Cast", "opset 9; in x f32[1]; Cast x -> y to=27; out y", TROUPE_UNSUPPORTED,
     "attribute 'to': element type float6e2m3"},
};

START_TEST(an_upgrade_that_cannot_be_made_says_why)
{
    troupe_error err = {0};
    troupe_function *function = NULL;
    if (!has_kernels(refused[_i].needs)) return;
    struct bytes bytes = onnx_text(refused[_i].model);
    const troupe_status status = load(&bytes, &function, &err);
    ck_assert_msg(status == refused[_i].code && strstr(err.text, refused[_i].word),
                  "%s: %s: %s", refused[_i].model, troupe_status_name(status), err.text);
    bytes_free(&bytes);
}
END_TEST

START_TEST(the_table_of_operators_is_sorted_and_whole)
{
    for (size_t i = 0; tp_onnx_op_at(i); i++) {
        const struct tp_onnx_op *const op = tp_onnx_op_at(i), *const next =
                                                                  tp_onnx_op_at(i + 1);
        ck_assert_ptr_eq(tp_onnx_op_find(op->name), op);
        ck_assert(!next || strcmp(op->name, next->name) < 0);
        ck_assert((op->below > 0) == (op->upgrade != NULL));
    }
    ck_assert_ptr_null(tp_onnx_op_find("Nothing"));
    ck_assert_ptr_null(tp_onnx_op_find(""));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("import_upgrade");
    TCase *t = tcase_create("upgrade");
    tcase_add_loop_test(t, a_model_gives_what_its_version_of_the_operators_says, 0,
                        (int)TP_COUNT(rows));
    tcase_add_loop_test(t, an_upgrade_that_cannot_be_made_says_why, 0, (int)TP_COUNT(refused));
    tcase_add_test(t, the_table_of_operators_is_sorted_and_whole);
    suite_add_tcase(s, t);
    return test_run(s);
}
