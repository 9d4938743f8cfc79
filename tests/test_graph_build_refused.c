/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_build_refused.c - the builder: what it refuses, and that it is usable afterwards.
 */
#include <stdio.h>

#include "tests/building.h"

/* What a builder that has begun refuses: values are x 0, w 1, a 2. */
static const struct mistake {
    troupe_node node;
    troupe_status code;
    const char *word;
} mistakes[] = {
    {{.op = "Rleu", IN(0)},
     TROUPE_NOT_FOUND,
     "node 'Rleu': there is no operator or function "
     "'Rleu'; close: 'Relu'"},
    {{.op = "relu", IN(0)}, TROUPE_NOT_FOUND, "'Relu'"},
    {{.op = "Zzzzzzzzzz", IN(0)}, TROUPE_NOT_FOUND, "'Zzzzzzzzzz'"},
    {{.function = "blend", IN(0)}, TROUPE_NOT_FOUND, "node 'blend': there is no function"},
    {{.op = "Relu", .function = "blend", IN(0)}, TROUPE_INVALID, "both an operator and"},
    {{IN(0)}, TROUPE_INVALID, "neither an operator nor"},
    {{.op = "Relu"}, TROUPE_INVALID, "0 inputs where Relu has 1"},
    {{.op = "Relu", IN(0, 1)}, TROUPE_INVALID, "2 inputs where Relu has 1"},
    {{.op = "Add", IN(0), .name = "s"}, TROUPE_INVALID, "node 's': 1 inputs where Add has 2"},
    {{.op = "Relu", IN(9)}, TROUPE_INVALID, "input 0: there is no value 9 among 3"},
    {{.op = "Relu", .n_inputs = 2}, TROUPE_INVALID, "2 inputs are not given"},
    {{.op = "Relu", IN(TROUPE_NO_VALUE)}, TROUPE_INVALID, "input 0 'x' is missing"},
    {{.op = "Relu", IN(0), OUT("a")}, TROUPE_INVALID, "there is a value 'a' already"},
    {{.op = "Relu", IN(0), OUT("x")}, TROUPE_INVALID, "there is a value 'x' already"},
    {{.op = "Relu", IN(0), .name = "a"}, TROUPE_INVALID, "node 'a': there is a graph node of"},
    {{.op = "Relu", IN(0), .name = ""}, TROUPE_INVALID, "empty name"},
    {{.op = "Relu", IN(0), OUT("")}, TROUPE_INVALID, "may not be absent"},
    {{.op = "Relu", IN(0), OUT("r", "s")}, TROUPE_INVALID, "2 results where Relu has 1"},
    {{.op = "Relu", IN(0), AFTER("q")}, TROUPE_INVALID, "after 'q': no graph node before"},
    {{.op = "Relu", IN(0), AFTER("x")},
     TROUPE_INVALID,
     "that is an argument, not a graph node"},
    {{.op = "Relu", IN(0), WITH("q")}, TROUPE_INVALID, "with 'q': no graph node before"},
    {{.op = "Relu", IN(0), WITH("w")}, TROUPE_INVALID, "with 'w': that is an argument"},
    {{.op = "Relu", IN(0), .n_with = 1}, TROUPE_INVALID, "with: 1 names are not given"},
    {{.op = "Relu", IN(0), .device = "cpu:"}, TROUPE_INVALID, "cpu:"},
    {{.op = "Relu", IN(0), .device = "/job:1/cpu:0"}, TROUPE_INVALID, "job"},
    {{.op = "Relu", IN(0), ATTRS({.name = "alpha", .kind = TROUPE_ATTR_FLOAT})},
     TROUPE_INVALID,
     "attribute 'alpha' is unknown; Relu has none"},
    {{.op = "LeakyRelu", IN(0), ATTRS({.name = "alhpa", .kind = TROUPE_ATTR_FLOAT})},
     TROUPE_INVALID,
     "attribute 'alhpa' is unknown; LeakyRelu has alpha"},
    {{.op = "LeakyRelu", IN(0), ATTRS({.name = "alpha", .kind = TROUPE_ATTR_INT, .i = 1})},
     TROUPE_INVALID,
     "attribute 'alpha' is an integer, not a float"},
    {{.op = "LeakyRelu",
      IN(0),
      ATTRS({.name = "alpha", .kind = TROUPE_ATTR_FLOAT},
            {.name = "alpha", .kind = TROUPE_ATTR_FLOAT})},
     TROUPE_INVALID,
     "attribute 'alpha' is given twice"},
    {{.op = "LeakyRelu", IN(0), ATTRS({.name = NULL, .kind = TROUPE_ATTR_FLOAT})},
     TROUPE_INVALID,
     "no name"},
    {{.op = "LeakyRelu", IN(0), ATTRS({.name = "alpha"})}, TROUPE_INVALID, "kind 0"},
    {{.op = "LeakyRelu", IN(0), ATTRS({.name = "alpha", .kind = TROUPE_ATTR_FLOATS, .n = 2})},
     TROUPE_INVALID,
     "has no value"},
    {{.op = "Add", IN(0, 3)}, TROUPE_INVALID, "no value 3"},
    {{.op = "Reshape", IN(0, 1)}, TROUPE_INVALID, "input 1 'shape' is f32, not i64"},
};

static troupe_function *begun_and_finished(void)
{
    troupe_value a;
    troupe_builder *b = begun(&a);
    result(b, "y", a);
    return finish(&b);
}

START_TEST(a_refused_graph_node_leaves_the_builder_as_it_was)
{
    troupe_error err;
    troupe_value a, made[4] = {77, 77, 77, 77};
    const struct mistake *m = &mistakes[_i];
    troupe_node node = m->node;
    troupe_builder *b = begun(&a);
    node.size = sizeof(node);
    memset(&err, 0, sizeof(err));
    ck_assert_int_eq(troupe_builder_node(b, &node, made, &err), m->code);
    ck_assert_int_eq(err.code, m->code);
    ck_assert_msg(strstr(err.text, m->word), "no \"%s\" in \"%s\"", m->word, err.text);
    ck_assert_uint_eq(made[0], 77);
    result(b, "y", a);
    troupe_function *f = finish(&b), *same = begun_and_finished();
    uint8_t hash[16], other[16];
    troupe_function_hash(f, hash);
    troupe_function_hash(same, other);
    ck_assert_mem_eq(hash, other, sizeof(hash));
    troupe_function_release(&f);
    troupe_function_release(&same);
}
END_TEST

START_TEST(types_of_inputs_are_compared_with_the_operators)
{
    troupe_error err;
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[2]"), i = arg(b, "i", "i64[2]"),
                       s = arg(b, "s", "string[2]");
    ck_fails(troupe_builder_node(b, NODE(.op = "Add", IN(x, i)), NULL, &err), INVALID,
             "input 1 'b' is i64, but input 0 'a' is f32");
    ck_fails(troupe_builder_node(b, NODE(.op = "Add", IN(s, s)), NULL, &err), INVALID,
             "input 0 'a' is string, not f32, f64");
    const troupe_value y = arg(b, "y", "f32[3]");
    ck_fails(troupe_builder_node(b, NODE(.op = "Add", IN(x, y)), NULL, &err), INVALID,
             "shapes [2] and [3] do not broadcast");
    troupe_builder_destroy(&b);
    ck_assert_ptr_null(b);
}
END_TEST

START_TEST(messages_call_dimensions_by_their_names)
{
    troupe_error err;
    troupe_library *library = graphs_library("function g(a: f32[k,2]) -> (a)\n");
    troupe_builder *b = builder("f", library);
    const troupe_value x = arg(b, "x", "f32[m,n,3]"), y = arg(b, "y", "f32[n,4]");
    ck_fails(troupe_builder_node(b, NODE(.op = "Add", IN(x, y)), NULL, &err), INVALID,
             "node 'Add': shapes [m,n,3] and [n,4] do not broadcast");
    ck_fails(troupe_builder_node(b, NODE(.function = "g", IN(y)), NULL, &err), INVALID,
             "node 'g': input 0 is f32[n,4], but 'g' has f32[k,2] 'a'");
    troupe_builder_destroy(&b);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(malformed_types_are_refused)
{
    static const char *const types[][2] = {
        {"f33[2]", "'f33' is not an element type"},
        {"", "is not an element type"},
        {"f32", "'[' expected"},
        {"f32[", "dimension"},
        {"f32[2", "']' expected"},
        {"f32[2,]", "a dimension expected"},
        {"f32[-1]", "a dimension expected"},
        {"f32[2]x", "'x' after the type"},
        {"f32[1,1,1,1,1,1,1,1,1]", "more than 8 dimensions"},
        {"f32[99999999999999999999]", "above"},
        {"f32[4294967296,4294967296]", "too many elements"},
        {"f32[\"a]", "does not end"},
        {"f32[\"\"]", "empty name"},
        {"f32[\"\\q\"]", "escape"},
        {"?", "needs an element type"},
    };
    troupe_error err;
    troupe_builder *b = builder("f", NULL);
    ck_fails(troupe_builder_arg(b, "x", types[_i][0], NULL, &err), INVALID, types[_i][1]);
    ck_assert_msg(strstr(err.text, "function 'f'"), "%s", err.text);
    arg(b, "x", "f32[ 2 , n , ? , \"a b\" , \"n\" ]");
    troupe_function *f = finish(&b);
    char text[64];
    troupe_function_arg_text(f, 0, text, sizeof(text));
    ck_assert_str_eq(text, "f32[2,n,?,\"a b\",n]");
    troupe_function_release(&f);
}
END_TEST

/* An argument or a result is one tensor: there is no type of several. */
START_TEST(a_list_as_argument_or_result_is_refused_with_its_name)
{
    static const char *const lists[] = {"[f32[2]]",       "f32[2][]",      "f32[2], f32[3]",
                                        "(f32[2],i32[])", "list(f32[2])",  "f32[2]*",
                                        "seq(f32[2])",    "{f32[2]}",      "f32[2] f32[2]",
                                        "f32[2]...",      "optional(f32)", "f32[2]?"};
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(lists); i++) {
        troupe_builder *b = builder("f", NULL);
        char text[120], declared[120];
        troupe_library *library;
        snprintf(text, sizeof(text), "function f(xs: %s) -> (y)\n  y = Relu(xs)\n", lists[i]);
        snprintf(declared, sizeof(declared),
                 "function f(x: f32[2]) -> (ys: %s)\n  ys = Relu(x)\n", lists[i]);
        ck_fails(troupe_builder_arg(b, "xs", lists[i], NULL, &err), INVALID, "'xs'");
        ck_fails(troupe_builder_declare_result(b, "ys", lists[i], &err), INVALID, "'ys'");
        troupe_builder_destroy(&b);
        ck_ok(troupe_library_new(&library, &err));
        ck_fails(troupe_library_read(library, "t", text, strlen(text), &err), INVALID, "t:1:");
        ck_fails(troupe_library_read(library, "t", declared, strlen(declared), &err), INVALID,
                 "t:1:");
        troupe_library_destroy(&library);
    }
}
END_TEST

START_TEST(arguments_come_first_and_have_names_of_their_own)
{
    troupe_error err;
    troupe_builder *b = NULL;
    ck_fails(troupe_builder_new(&b, "Relu", NULL, &err), INVALID, "the name of an operator");
    ck_fails(troupe_builder_new(&b, "", NULL, &err), INVALID, "empty name");
    ck_fails(troupe_builder_new(&b, NULL, NULL, &err), INVALID, "no name");
    b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[2]");
    ck_fails(troupe_builder_arg(b, "x", "f32[2]", NULL, &err), INVALID, "'x' already");
    ck_fails(troupe_builder_arg(b, "", "f32[2]", NULL, &err), INVALID, "empty name");
    ck_fails(troupe_builder_arg(b, NULL, "f32[2]", NULL, &err), INVALID, "no name");
    ck_fails(troupe_builder_arg(b, "y", NULL, NULL, &err), INVALID, "no type");
    add(b, NODE(.op = "Relu", IN(x)));
    ck_fails(troupe_builder_arg(b, "y", "f32[2]", NULL, &err), INVALID, "comes after");
    ck_fails(troupe_builder_constant(b, "k", NULL, NULL, &err), INVALID, "no value");
    char name[5000];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    ck_fails(troupe_builder_node(b, NODE(.op = "Relu", IN(x), .name = name), NULL, &err),
             INVALID, "longer than 4096");
    troupe_builder_destroy(&b);
}
END_TEST

START_TEST(a_default_fits_its_argument)
{
    troupe_error err;
    troupe_builder *b = builder("f", NULL);
    troupe_tensor *two = tensor("f32[2] [1, 2]"), *i = tensor("i32[2] [1, 2]");
    troupe_value v;
    ck_fails(troupe_builder_arg_default(b, "x", "f32[3]", two, &v, &err), INVALID,
             "argument 'x' is f32[3], but its default is f32[2]");
    ck_fails(troupe_builder_arg_default(b, "x", "f32[2]", i, &v, &err), INVALID, "i32[2]");
    ck_ok(troupe_builder_arg_default(b, "x", "f32[n]", two, &v, &err));
    troupe_function *f = finish(&b);
    ck_assert(troupe_tensor_equal(troupe_function_arg_default(f, 0), two));
    troupe_tensor_release(&two);
    troupe_tensor_release(&i);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_declared_result_must_be_met)
{
    troupe_error err;
    troupe_value a;
    troupe_function *f = NULL;
    troupe_builder *b = begun(&a);
    ck_ok(troupe_builder_declare_result(b, "y", "f32[2,5]", &err));
    ck_ok(troupe_builder_declare_result(b, "i", "i32[2,4]", &err));
    ck_fails(troupe_builder_result(b, "y", a, &err), INVALID,
             "result 'y' was declared f32[2,5], but value 'a' is f32[n,4]");
    ck_fails(troupe_builder_result(b, "i", a, &err), INVALID, "declared i32[2,4]");
    ck_fails(troupe_builder_result(b, "z", 99, &err), INVALID, "no value 99");
    ck_fails(troupe_builder_finish(&b, &f, &err), INVALID, "declared and has no value");
    ck_assert_ptr_null(b);
    ck_assert_ptr_null(f);
    ck_fails(troupe_builder_finish(&b, &f, &err), INVALID, "no builder");
}
END_TEST

START_TEST(a_function_that_calls_itself_undeclared_is_refused)
{
    troupe_error err;
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[n]");
    ck_ok(troupe_builder_declare_result(b, "y", "?", &err));
    ck_fails(troupe_builder_node(b, NODE(.function = "f", IN(x)), NULL, &err), INVALID,
             "declare the type of its result 'y' before");
    troupe_builder_destroy(&b);
}
END_TEST

START_TEST(a_node_of_another_size_is_refused)
{
    troupe_error err;
    troupe_value a;
    troupe_builder *b = begun(&a);
    troupe_node node = *NODE(.op = "Relu", IN(a));
    node.size = 0;
    ck_fails(troupe_builder_node(b, &node, NULL, &err), INVALID, "size is 0");
    struct {
        troupe_node node;
        char more[8]; /* of a newer version */
    } longer = {.node = node};
    longer.node.size = sizeof(longer);
    longer.more[7] = 1;
    ck_fails(troupe_builder_node(b, &longer.node, NULL, &err), INVALID, "troupe_node.size is");
    longer.more[7] = 0;
    ck_ok(troupe_builder_node(b, &longer.node, NULL, &err));
    node.size = offsetof(troupe_node, line); /* of a version without lines */
    ck_ok(troupe_builder_node(b, &node, NULL, &err));
    troupe_builder_destroy(&b);
}
END_TEST

static troupe_status build_whole(troupe_builder **b, const troupe_tensor *two,
                                 troupe_error *err)
{
    troupe_value x, w, k, y;
    troupe_function *f = NULL;
    TP_TRY(troupe_builder_new(b, "whole", NULL, err));
    TP_TRY(troupe_builder_arg(*b, "x", "f32[n,\"a b\"]", &x, err));
    TP_TRY(troupe_builder_arg_default(*b, "w", "f32[n]", two, &w, err));
    TP_TRY(troupe_builder_declare_result(*b, "y", "f32[...]", err));
    TP_TRY(troupe_builder_constant(*b, NULL, two, &k, err));
    TP_TRY(troupe_builder_node(*b, NODE(.op = "Shape", IN(k)), &y, err));
    TP_TRY(troupe_builder_node(*b, NODE(.op = "Add", IN(y, y)), &y, err));
    TP_TRY(troupe_builder_node(*b, NODE(.op = "Add", IN(x, k), .device = "cpu:0"), &y, err));
    TP_TRY(troupe_builder_node(
        *b, NODE(.op = "LeakyRelu", IN(y), ATTRS({.name = "alpha", .kind = TROUPE_ATTR_FLOAT})),
        &y, err));
    TP_TRY(troupe_builder_node(*b, NODE(.op = "Print", IN(y), OUT("p"), .name = "print"), &y,
                               err));
    TP_TRY(
        troupe_builder_node(*b, NODE(.function = "whole", IN(y, w), .name = "self"), &y, err));
    TP_TRY(troupe_builder_node(*b, NODE(.op = "Relu", IN(y), AFTER("print"), WITH("self")), &y,
                               err));
    TP_TRY(troupe_builder_result(*b, "y", y, err));
    TP_TRY(troupe_builder_finish(b, &f, err));
    troupe_function_release(&f);
    return TROUPE_OK;
}

static troupe_status whole(troupe_error *err)
{
    troupe_builder *b = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *two = NULL;
    TP_TRY(troupe_tensor_parse(&two, "f32[2] [1, 2]", err));
    const troupe_status status = build_whole(&b, two, err);
    troupe_builder_destroy(&b);
    return status;
}

START_TEST(a_builder_without_memory_says_so_and_leaves_nothing)
{
    graphs_starve(whole);
}
END_TEST

/* Each call is tried again when its memory failed: what is built in the end is the same. */
START_TEST(a_builder_that_failed_for_memory_goes_on)
{
    uint8_t hash[16], other[16];
    for (uint64_t n = 0; n < 12; n++) {
        troupe_error err;
        troupe_value v = 0, out[1];
        troupe_function *f = NULL;
        troupe_builder *b = builder("f", NULL);
        v = arg(b, "x", "f32[2]");
        for (int i = 0; i < 40; i++) {
            tp_alloc_fail_at(n, 0);
            troupe_status status = troupe_builder_node(b, NODE(.op = "Relu", IN(v)), out, &err);
            tp_alloc_fail_at(0, 0);
            if (status < 0)
                status = troupe_builder_node(b, NODE(.op = "Relu", IN(v)), out, &err);
            ck_ok(status);
            v = out[0];
        }
        result(b, "y", v);
        f = finish(&b);
        troupe_function_hash(f, n ? other : hash);
        if (n) ck_assert_mem_eq(hash, other, 16);
        troupe_function_release(&f);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_build_refused");
    TCase *t = tcase_create("build");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_refused_graph_node_leaves_the_builder_as_it_was, 0,
                        (int)TP_COUNT(mistakes));
    tcase_add_test(t, types_of_inputs_are_compared_with_the_operators);
    tcase_add_test(t, messages_call_dimensions_by_their_names);
    tcase_add_loop_test(t, malformed_types_are_refused, 0, 15);
    tcase_add_test(t, a_list_as_argument_or_result_is_refused_with_its_name);
    tcase_add_test(t, arguments_come_first_and_have_names_of_their_own);
    tcase_add_test(t, a_default_fits_its_argument);
    tcase_add_test(t, a_declared_result_must_be_met);
    tcase_add_test(t, a_function_that_calls_itself_undeclared_is_refused);
    tcase_add_test(t, a_node_of_another_size_is_refused);
    tcase_add_test(t, a_builder_without_memory_says_so_and_leaves_nothing);
    tcase_add_test(t, a_builder_that_failed_for_memory_goes_on);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
