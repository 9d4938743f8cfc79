/* SPDX-License-Identifier: MIT
 *
 * tests/test_import_operators.c - nodes of ONNX models that are operators of the user's.
 */
#include <stdio.h>

#include "import/onnx/import.h"
#include "tests/onnx_text.h"
#include "tests/operators.h"

static troupe_status read_into(troupe_library *library, const char *text, const char **name,
                               troupe_error *err)
{
    struct bytes bytes = onnx_text(text);
    const troupe_status status =
        tp_onnx_read(bytes.data, bytes.size, NULL, "net.onnx", library, name, err);
    bytes_free(&bytes);
    return status;
}

static troupe_function *load_with(const troupe_operators *set, const char *text)
{
    troupe_error err;
    troupe_function *f = NULL;
    const char *name;
    troupe_library *library = library_of(set);
    ck_ok(read_into(library, text, &name, &err));
    ck_ok(troupe_library_find(library, name, &f, &err));
    troupe_library_destroy(&library);
    return f;
}

static void ck_run(const troupe_operators *set, const troupe_function *f, float x, float y)
{
    troupe_error err;
    troupe_runtime *runtime = runtime_with(set, "cpu:0", 0);
    troupe_tensor *in = NULL, *out = NULL;
    ck_ok(troupe_tensor_new(&in, TROUPE_F32, 1, (const int64_t[]){1}, &x, &err));
    ck_ok(troupe_run(runtime, f, (const troupe_tensor *const[]){in}, 1, &out, 1, NULL, &err));
    ck_assert_float_eq(*(const float *)troupe_tensor_data(out), y);
    troupe_tensor_release(&in);
    troupe_tensor_release(&out);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}

/* Models of the custom domain "mine", which has a Scale; factor is 2 where none is given. */
static const struct {
    const char *model;
    float y; /* for x = 3 */
} custom[] = {
    {"opset 1 mine; opset 13; in x f32[1]; Scale@mine x -> y; out y", 6},
    {"opset 1 mine; opset 13; in x f32[1]; Scale@mine x -> a factor=5.0; Add a x -> y; out y",
     18},
    /* A function of that name is a fallback, which is not taken. */
    {"opset 1 mine; opset 13; in x f32[1]; Scale@mine x -> y; out y; "
     "fn mine Scale a -> b; opset 13; Neg a -> b; end",
     6},
    /* Others of the model are. */
    {"opset 1 mine; opset 13; in x f32[1]; Twice@mine x -> y; out y; "
     "fn mine Twice a -> b; opset 13; Add a a -> b; end",
     6},
};

START_TEST(nodes_of_a_custom_domain_are_operators_of_the_users)
{
    struct mine mine = {0};
    troupe_operators *set = operators_all(&mine);
    troupe_function *f = load_with(set, custom[_i].model);
    ck_run(set, f, 3, custom[_i].y);
    troupe_function_release(&f);
    troupe_operators_release(&set);
    ck_assert_int_eq(mine.frees, 6);
}
END_TEST

/* One that we never heard of, and one that the importer knows and no kernel does. */
static const char *const lacking[] = {"Foo", "Det"};

START_TEST(an_operator_without_a_domain_serves_the_standards_nodes_that_we_do_not_have)
{
    char one[80], two[80];
    const char *name = lacking[_i];
    troupe_error err;
    struct mine mine = {0};
    troupe_operators *set = NULL;
    troupe_operator_row row = row_scale(&mine);
    row.domain = NULL;
    row.name = name;
    snprintf(one, sizeof(one), "in x f32[1]; %s x -> a; Add a x -> y; out y", name);
    snprintf(two, sizeof(two), "in x f32[1]; %s x -> a; Bar x -> y; out y", name);
    ck_ok(troupe_operators_new(&set, &err));
    ck_ok(troupe_operators_add(set, &row, &err));
    troupe_function *f = load_with(set, one);
    ck_run(set, f, 3, 9);
    troupe_function_release(&f);
    troupe_library *library = library_of(set);
    ck_fails(read_into(library, two, NULL, &err), UNSUPPORTED,
             "operators not supported: Bar (1)");
    troupe_library_destroy(&library);
    troupe_operators_release(&set);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("import/operators");
    TCase *t = tcase_create("operators");
    tcase_add_loop_test(t, nodes_of_a_custom_domain_are_operators_of_the_users, 0,
                        (int)TP_COUNT(custom));
    tcase_add_loop_test(
        t, an_operator_without_a_domain_serves_the_standards_nodes_that_we_do_not_have, 0,
        (int)TP_COUNT(lacking));
    suite_add_tcase(s, t);
    return test_run(s);
}
