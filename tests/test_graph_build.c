/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_build.c - the builder: what it takes, what it refuses, what it works out.
 */
#include <stdio.h>

#include "graph/inline.h"
#include "graph/show.h"
#include "tests/graphs.h"

#define NODE(...) (&(troupe_node){.size = sizeof(troupe_node), __VA_ARGS__})
#define IN(...)                                                                                \
    .inputs = (const troupe_value[]){__VA_ARGS__},                                             \
    .n_inputs = sizeof((const troupe_value[]){__VA_ARGS__}) / sizeof(troupe_value)
#define OUT(...)                                                                               \
    .result_names = (const char *const[]){__VA_ARGS__},                                        \
    .n_results = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define AFTER(...)                                                                             \
    .after = (const char *const[]){__VA_ARGS__},                                               \
    .n_after = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define WITH(...)                                                                              \
    .with = (const char *const[]){__VA_ARGS__},                                                \
    .n_with = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define ATTRS(...)                                                                             \
    .attrs = (const troupe_attr[]){__VA_ARGS__},                                               \
    .n_attrs = sizeof((const troupe_attr[]){__VA_ARGS__}) / sizeof(troupe_attr)

static troupe_tensor *tensor(const char *text)
{
    troupe_error err;
    troupe_tensor *t = NULL;
    ck_ok(troupe_tensor_parse(&t, text, &err));
    return t;
}

static troupe_builder *builder(const char *name, const troupe_library *library)
{
    troupe_error err;
    troupe_builder *b = NULL;
    ck_ok(troupe_builder_new(&b, name, library, &err));
    return b;
}

static troupe_value arg(troupe_builder *b, const char *name, const char *type)
{
    troupe_error err;
    troupe_value v = TROUPE_NO_VALUE;
    ck_ok(troupe_builder_arg(b, name, type, &v, &err));
    return v;
}

static troupe_value add(troupe_builder *b, const troupe_node *node)
{
    troupe_error err;
    troupe_value v[8] = {TROUPE_NO_VALUE};
    ck_ok(troupe_builder_node(b, node, v, &err));
    return v[0];
}

static troupe_value constant(troupe_builder *b, const char *name, const char *text)
{
    troupe_error err;
    troupe_value v;
    troupe_tensor *t = tensor(text);
    ck_ok(troupe_builder_constant(b, name, t, &v, &err));
    troupe_tensor_release(&t);
    return v;
}

static void result(troupe_builder *b, const char *name, troupe_value v)
{
    troupe_error err;
    ck_ok(troupe_builder_result(b, name, v, &err));
}

static troupe_function *finish(troupe_builder **b)
{
    troupe_error err;
    troupe_function *f = NULL;
    ck_ok(troupe_builder_finish(b, &f, &err));
    ck_assert_ptr_null(*b);
    return f;
}

/* (x: f32[n,4], w: f32[4]) and a = Mul(x, w) */
static troupe_builder *begun(troupe_value *a)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[n,4]"), w = arg(b, "w", "f32[4]");
    *a = add(b, NODE(.op = "Mul", IN(x, w), OUT("a")));
    return b;
}

static const char *result_text(const troupe_function *f, size_t i)
{
    static char text[128];
    troupe_function_result_text(f, i, text, sizeof(text));
    return text;
}

START_TEST(a_function_says_what_it_takes_and_gives)
{
    troupe_value a;
    int rank = 7;
    int64_t dims[TROUPE_MAX_RANK] = {0};
    char text[32];
    troupe_builder *b = begun(&a);
    result(b, "y", a);
    troupe_function *f = finish(&b);
    ck_assert_str_eq(troupe_function_name(f), "f");
    ck_assert_uint_eq(troupe_function_args(f), 2);
    ck_assert_uint_eq(troupe_function_results(f), 1);
    ck_assert_uint_eq(troupe_function_nodes(f), 1);
    ck_assert_str_eq(troupe_function_arg_name(f, 1), "w");
    ck_assert_ptr_null(troupe_function_arg_name(f, 2));
    ck_assert_str_eq(troupe_function_result_name(f, 0), "y");
    ck_assert_ptr_null(troupe_function_result_name(f, 1));
    ck_assert_int_eq(troupe_function_arg_type(f, 0, &rank, dims), TROUPE_F32);
    ck_assert_int_eq(rank, 2);
    ck_assert_int_lt(dims[0], 0);
    ck_assert_int_eq(dims[1], 4);
    ck_assert_int_eq(troupe_function_arg_type(f, 2, &rank, NULL), TROUPE_DTYPE_NONE);
    ck_assert_int_eq(troupe_function_result_type(f, 0, NULL, NULL), TROUPE_F32);
    ck_assert_uint_eq(troupe_function_arg_text(f, 0, text, sizeof(text)), 8);
    ck_assert_str_eq(text, "f32[n,4]");
    ck_assert_uint_eq(troupe_function_arg_text(f, 0, text, 4), 8);
    ck_assert_str_eq(text, "f32");
    ck_assert_str_eq(result_text(f, 0), "f32[n,4]");
    ck_assert_ptr_null(troupe_function_arg_default(f, 0));
    troupe_function *again = troupe_function_retain(f);
    troupe_function_release(&f);
    ck_assert_ptr_null(f);
    ck_assert_str_eq(troupe_function_name(again), "f");
    troupe_function_release(&again);
}
END_TEST

START_TEST(a_function_of_nothing_is_a_function)
{
    troupe_builder *b = builder("nothing", NULL);
    troupe_function *f = finish(&b);
    ck_assert_uint_eq(troupe_function_args(f), 0);
    ck_assert_uint_eq(troupe_function_results(f), 0);
    ck_assert_uint_eq(troupe_function_nodes(f), 0);
    graphs_is(f->body, "function nothing()\n");
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_result_may_be_an_argument_or_a_constant_or_the_same_twice)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "i64[]"), k = constant(b, "k", "f32[2] [1, 2]");
    result(b, "x", x);
    result(b, "y", k);
    result(b, "z", x);
    troupe_function *f = finish(&b);
    graphs_is(f->body, "function f(x: i64[]) -> (x: i64[], y: f32[2] = k, z: i64[] = x)\n"
                       "    k = f32[2] [1, 2]\n");
    troupe_function_release(&f);
}
END_TEST

START_TEST(names_that_nobody_gave_are_made_up_and_are_free)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[2]");
    const troupe_value a = add(b, NODE(.op = "Relu", IN(x)));
    const troupe_value c = add(b, NODE(.op = "Add", IN(a, x), OUT("Relu_2")));
    const troupe_value d = add(b, NODE(.op = "Relu", IN(c)));
    add(b, NODE(.op = "Relu", IN(d), .name = "mine"));
    add(b, NODE(.op = "Relu", IN(d), OUT("other"), .name = "his"));
    constant(b, NULL, "f32[] 1");
    constant(b, "const_8", "f32[] 2");
    constant(b, NULL, "f32[] 3");
    result(b, "y", d);
    troupe_function *f = finish(&b);
    graphs_is(f->body, "function f(x: f32[2]) -> (y: f32[2] = Relu_2_1)\n"
                       "    Relu_0 = Relu(x)\n"
                       "    Relu_2 = Add(Relu_0, x)\n"
                       "    Relu_2_1 = Relu(Relu_2)\n"
                       "    mine = Relu(Relu_2_1)\n"
                       "    his: other = Relu(Relu_2_1)\n"
                       "    const_5 = f32[] 1\n"
                       "    const_8 = f32[] 2\n"
                       "    const_7 = f32[] 3\n");
    troupe_function_release(&f);
}
END_TEST

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

START_TEST(shapes_follow_names_and_constants)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[n,4]"), y = arg(b, "y", "f32[?,1,n,1]");
    result(b, "sum", add(b, NODE(.op = "Add", IN(x, y), OUT("sum"))));
    const troupe_value k = constant(b, "k", "i64[2] [2, -1]");
    const troupe_value m = constant(b, "m", "f32[2,6] [[1,2,3,4,5,6], [1,2,3,4,5,6]]");
    const troupe_value k2 = constant(b, "k2", "i64[2] [3, -1]");
    result(b, "r", add(b, NODE(.op = "Reshape", IN(m, k2), OUT("r"))));
    result(b, "u", add(b, NODE(.op = "Reshape", IN(x, k), OUT("u"))));
    troupe_function *f = finish(&b);
    ck_assert_str_eq(result_text(f, 0), "f32[?,1,n,4]");
    ck_assert_str_eq(result_text(f, 1), "f32[3,4]");
    ck_assert_str_eq(result_text(f, 2), "f32[2,?]");
    troupe_function_release(&f);
}
END_TEST

/* What models do to flatten all but the first two dimensions. */
START_TEST(a_shape_that_is_computed_from_known_shapes_is_known)
{
    char text[64];
    troupe_function *f =
        graphs_function("function flat(x: f32[...]) -> (y: f32[...])\n"
                        "    s = Shape(x)\n"
                        "    i = i64[2] [0, 1]\n"
                        "    few = Gather(s, i)\n"
                        "    rest = i64[1] [-1]\n"
                        "    one = i64[1] [1]\n"
                        "    same = Mul(few, one)\n"
                        "    all = Concat(same, rest, axis=0)\n"
                        "    y = Reshape(x, all)\n"
                        "function f(x: f32[2,3,4,5], z: f32[n,3,4]) -> (y, z)\n"
                        "    s = Shape(x, end=2)\n"
                        "    rest = i64[1] [-1]\n"
                        "    all = Concat(s, rest, axis=0)\n"
                        "    y = Reshape(x, all)\n"
                        "    zs = Shape(z)\n"
                        "    z2 = Reshape(z, zs)\n"
                        "    w = flat(x)\n"
                        "    bad = i64[1] [7]\n"
                        "    out = Gather(s, bad)\n");
    struct tp_function *in = NULL;
    troupe_error err;
    troupe_function_result_text(f, 0, text, sizeof(text));
    ck_assert_str_eq(text, "f32[2,3,20]");
    ck_assert_int_eq(f->body->values[graphs_node(f->body, "z2")->results[0]].type.shape.dims[1],
                     TP_DIM_ANY);
    ck_ok(tp_inline(f, 1000, &in, &err));
    const struct tp_node *y = graphs_node(in, "w/y");
    const struct tp_shape *shape = &in->values[y->results[0]].type.shape;
    ck_assert_str_eq(tp_shape_text(shape).text, "[2,3,20]");
    tp_function_release(&in);
    troupe_function_release(&f);
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

START_TEST(a_default_is_no_constant)
{
    troupe_error err;
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[?,4]");
    troupe_tensor *shape = tensor("i64[2] [2, 2]");
    troupe_value k;
    ck_ok(troupe_builder_arg_default(b, "k", "i64[2]", shape, &k, &err));
    result(b, "y", add(b, NODE(.op = "Reshape", IN(x, k))));
    troupe_function *f = finish(&b);
    ck_assert_str_eq(result_text(f, 0), "f32[?,?]");
    troupe_tensor_release(&shape);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_declared_result_is_what_callers_are_told)
{
    troupe_error err;
    troupe_value a;
    troupe_builder *b = begun(&a);
    ck_ok(troupe_builder_declare_result(b, "y", "f32[?,?]", &err));
    ck_ok(troupe_builder_declare_result(b, "any", "?", &err));
    ck_fails(troupe_builder_declare_result(b, "y", "f32[1]", &err), INVALID, "'y' already");
    ck_fails(troupe_builder_declare_result(b, "z", "f32", &err), INVALID, "'[' expected");
    result(b, "y", a);
    ck_fails(troupe_builder_result(b, "y", a, &err), INVALID, "has value 'a' already");
    result(b, "any", a);
    troupe_function *f = finish(&b);
    ck_assert_str_eq(result_text(f, 0), "f32[?,?]");
    ck_assert_str_eq(result_text(f, 1), "f32[n,4]");
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

START_TEST(effects_run_in_the_order_of_the_program)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[2]");
    add(b, NODE(.op = "Print", IN(x), .name = "one"));
    const troupe_value r = add(b, NODE(.op = "Relu", IN(x), .name = "pure"));
    add(b, NODE(.op = "Print", IN(r), .name = "two"));
    add(b, NODE(.op = "Print", IN(r), .name = "three", AFTER("one")));
    troupe_function *f = finish(&b);
    ck_assert_str_eq(graphs_after(f->body, "one"), "");
    ck_assert_str_eq(graphs_after(f->body, "pure"), "");
    ck_assert_str_eq(graphs_after(f->body, "two"), "one");
    ck_assert_str_eq(graphs_after(f->body, "three"), "one two");
    ck_assert(f->body->stateful);
    troupe_function_release(&f);
}
END_TEST

START_TEST(an_order_that_inputs_or_edges_say_already_is_not_said_again)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[2]");
    const troupe_value one = add(b, NODE(.op = "Print", IN(x), .name = "one"));
    const troupe_value far = add(b, NODE(.op = "Relu", IN(one), .name = "far"));
    const troupe_value two = add(b, NODE(.op = "Print", IN(far), .name = "two"));
    add(b, NODE(.op = "Relu", IN(x), .name = "side", AFTER("two")));
    add(b, NODE(.op = "Print", IN(x), .name = "three", AFTER("side", "side")));
    add(b, NODE(.op = "Print", IN(two), .name = "four"));
    troupe_function *f = finish(&b);
    ck_assert_str_eq(graphs_after(f->body, "two"), "");
    ck_assert_str_eq(graphs_after(f->body, "three"), "side");
    ck_assert_str_eq(graphs_after(f->body, "four"), "three");
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_call_of_what_has_effects_has_effects)
{
    troupe_library *library = graphs_library("function log(x: f32[n]) -> (x)\n"
                                             "    Print(x)\n"
                                             "function outer(x: f32[n]) -> (x)\n"
                                             "    log(x)\n"
                                             "function pure(x: f32[n]) -> (y)\n"
                                             "    y = Relu(x)\n");
    troupe_builder *b = builder("f", library);
    const troupe_value x = arg(b, "x", "f32[2]");
    add(b, NODE(.function = "outer", IN(x), .name = "one"));
    add(b, NODE(.function = "pure", IN(x), .name = "pure"));
    add(b, NODE(.function = "log", IN(x), .name = "two"));
    troupe_function *f = finish(&b);
    ck_assert_str_eq(graphs_after(f->body, "pure"), "");
    ck_assert_str_eq(graphs_after(f->body, "two"), "one");
    ck_assert(!graphs_node(f->body, "pure")->stateful);
    troupe_function_release(&f);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_call_fits_what_it_calls)
{
    troupe_error err;
    troupe_library *library = graphs_library("function g(a: f32[n,k], b: f32[k], c: f32[?] = "
                                             "f32[1] [0]) -> (y: f32[n], z: f32[3,k])\n"
                                             "    y0 = MatMul(a, b)\n"
                                             "    y = Add(y0, c)\n"
                                             "    z0 = f32[3,1] [[1], [2], [3]]\n"
                                             "    z = Mul(z0, b)\n");
    troupe_builder *b = builder("f", library);
    const troupe_value x = arg(b, "x", "f32[m,4]"), w = arg(b, "w", "f32[4]"),
                       v = arg(b, "v", "f32[5]"), i = arg(b, "i", "i32[4]"),
                       u = arg(b, "u", "f32[...]");
    troupe_value made[2];
    ck_ok(troupe_builder_node(b, NODE(.function = "g", IN(x, w), OUT("y", "z")), made, &err));
    result(b, "y", made[0]);
    result(b, "z", made[1]);
    ck_ok(
        troupe_builder_node(b, NODE(.function = "g", IN(x, u, w), OUT("y2", "")), made, &err));
    result(b, "y2", made[0]);
    ck_assert_uint_eq(made[1], TROUPE_NO_VALUE);
    ck_fails(troupe_builder_node(b, NODE(.function = "g", IN(x, v)), NULL, &err), INVALID,
             "dimension k of 'g' is 5 here and 4 before");
    ck_fails(troupe_builder_node(b, NODE(.function = "g", IN(x, i)), NULL, &err), INVALID,
             "input 1 is i32[4], but 'g' has f32[k] 'b'");
    ck_fails(troupe_builder_node(b, NODE(.function = "g", IN(w, w)), NULL, &err), INVALID,
             "f32[n,k] 'a'");
    ck_fails(troupe_builder_node(b, NODE(.function = "g", IN(x)), NULL, &err), INVALID,
             "input 1 'b' of 'g' is missing");
    ck_fails(troupe_builder_node(b, NODE(.function = "g", IN(x, w, w, w)), NULL, &err), INVALID,
             "4 inputs where 'g' has 3");
    ck_fails(troupe_builder_node(b, NODE(.function = "g", IN(x, w), OUT("p")), NULL, &err),
             INVALID, "1 results where 'g' has 2");
    ck_fails(
        troupe_builder_node(b, NODE(.function = "g", IN(x, w), ATTRS({.name = "a", .kind = 1})),
                            NULL, &err),
        INVALID, "a call takes no attributes");
    troupe_function *f = finish(&b);
    ck_assert_str_eq(result_text(f, 0), "f32[m]");
    ck_assert_str_eq(result_text(f, 1), "f32[3,4]");
    ck_assert_str_eq(result_text(f, 2), "f32[m]");
    troupe_function_release(&f);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_function_may_call_itself_when_its_results_are_declared)
{
    troupe_error err;
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[n]");
    ck_ok(troupe_builder_declare_result(b, "y", "f32[n]", &err));
    add(b, NODE(.function = "f", IN(x), .name = "again"));
    ck_fails(troupe_builder_result(b, "z", x, &err), INVALID, "before result 'z' is declared");
    const troupe_value y = add(b, NODE(.op = "Print", IN(x), .name = "print"));
    result(b, "y", y);
    troupe_function *f = finish(&b);
    ck_assert(graphs_node(f->body, "again")->stateful);
    ck_assert_str_eq(graphs_after(f->body, "print"), "again");
    ck_assert_ptr_eq(tp_version_find(f->version, "f"), f->body);
    troupe_function_release(&f);
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

START_TEST(optional_inputs_and_results_may_be_absent)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[2,3]"), y = arg(b, "y", "f32[3,4]");
    const troupe_value g = add(b, NODE(.op = "Gemm", IN(x, y, TROUPE_NO_VALUE), OUT("g")));
    result(b, "g", g);
    troupe_function *f = finish(&b);
    ck_assert_str_eq(result_text(f, 0), "f32[2,4]");
    graphs_is(f->body, "function f(x: f32[2,3], y: f32[3,4]) -> (g: f32[2,4])\n"
                       "    g = Gemm(x, y, _)\n");
    troupe_function_release(&f);
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
    node.size = sizeof(node) + 8;
    ck_fails(troupe_builder_node(b, &node, NULL, &err), INVALID, "size is");
    node.size = offsetof(troupe_node, line); /* of a version without lines */
    ck_ok(troupe_builder_node(b, &node, NULL, &err));
    troupe_builder_destroy(&b);
}
END_TEST

/* Texts that differ in one thing each. */
START_TEST(what_a_function_says_is_in_its_hash)
{
    static const char *const texts[] = {
        "function f(x: f32[n]) -> (y)\n y = Relu(x)\n",
        "function g(x: f32[n]) -> (y)\n y = Relu(x)\n",
        "function f(x: f32[m]) -> (y)\n y = Relu(x)\n",
        "function f(x: f32[?]) -> (y)\n y = Relu(x)\n",
        "function f(x: f32[2]) -> (y)\n y = Relu(x)\n",
        "function f(x: f64[n]) -> (y)\n y = Relu(x)\n",
        "function f(z: f32[n]) -> (y)\n y = Relu(z)\n",
        "function f(x: f32[n]) -> (z = y)\n y = Relu(x)\n",
        "function f(x: f32[n]) -> (y: f32[?])\n y = Relu(x)\n",
        "function f(x: f32[n]) -> (y = x)\n y = Relu(x)\n",
        "function f(x: f32[n]) -> (y)\n r: y = Relu(x)\n",
        "function f(x: f32[n]) -> (y)\n y = Elu(x)\n",
        "function f(x: f32[n]) -> (y)\n y = Elu(x, alpha=2.0)\n",
        "function f(x: f32[n]) -> (y)\n y = Relu(x) @cpu:1\n",
        "function f(x: f32[n] = f32[1] [0]) -> (y)\n y = Relu(x)\n",
        "function f(x: f32[n] = f32[1] [1]) -> (y)\n y = Relu(x)\n",
        "function f(x: f32[n]) -> (y)\n y = Relu(x)\n k = f32[] 1\n",
        "function f(x: f32[n]) -> (y)\n y = Relu(x)\n k = f32[] 2\n",
        "function f(x: f32[n]) -> (y)\n k = f32[] 1\n y = Relu(x)\n",
        "function f(x: f32[n]) -> (y)\n y = Relu(x)\n z = Relu(x)\n",
        "function f(x: f32[n]) -> (y)\n y = Relu(x)\n z = Relu(x) after y\n",
        "function f(x: f32[n]) -> (y)\n y = Relu(x)\n z = Relu(x) with y\n",
    };
    uint8_t hashes[TP_COUNT(texts)][16];
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        troupe_function *f = graphs_function(texts[i]);
        troupe_function_hash(f, hashes[i]);
        troupe_function_release(&f);
        for (size_t k = 0; k < i; k++) {
            ck_assert_msg(memcmp(hashes[k], hashes[i], 16) != 0, "%s%s", texts[k], texts[i]);
        }
    }
}
END_TEST

START_TEST(what_a_function_does_not_say_is_not_in_its_hash)
{
    static const char *const texts[] = {
        "function f(x: f32[n]) -> (y: f32[n])\n y = Relu(x) @cpu:0\n",
        "function f ( x : f32[ n ] )->( y )\n\n\n\n    y: y = Relu(x)@\"/device:CPU:0\" # "
        "so\n\n",
    };
    uint8_t hash[16], other[16];
    troupe_function *f = graphs_function(texts[0]), *g = graphs_function(texts[1]);
    troupe_function_hash(f, hash);
    troupe_function_hash(g, other);
    ck_assert_mem_eq(hash, other, 16);
    troupe_function_release(&f);
    troupe_function_release(&g);
}
END_TEST

START_TEST(a_long_chain_is_built_without_a_deep_stack)
{
    troupe_builder *b = builder("f", NULL);
    troupe_value v = arg(b, "x", "f32[2]");
    for (int i = 0; i < 50000; i++)
        v = add(b, NODE(.op = i % 7 ? "Relu" : "Print", IN(v)));
    result(b, "y", v);
    troupe_function *f = finish(&b);
    ck_assert_uint_eq(troupe_function_nodes(f), 50000);
    troupe_function_release(&f);
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
    Suite *s = suite_create("graph_build");
    TCase *t = tcase_create("build");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_function_says_what_it_takes_and_gives);
    tcase_add_test(t, a_function_of_nothing_is_a_function);
    tcase_add_test(t, a_result_may_be_an_argument_or_a_constant_or_the_same_twice);
    tcase_add_test(t, names_that_nobody_gave_are_made_up_and_are_free);
    tcase_add_loop_test(t, a_refused_graph_node_leaves_the_builder_as_it_was, 0,
                        (int)TP_COUNT(mistakes));
    tcase_add_test(t, types_of_inputs_are_compared_with_the_operators);
    tcase_add_test(t, messages_call_dimensions_by_their_names);
    tcase_add_test(t, shapes_follow_names_and_constants);
    tcase_add_test(t, a_shape_that_is_computed_from_known_shapes_is_known);
    tcase_add_loop_test(t, malformed_types_are_refused, 0, 15);
    tcase_add_test(t, arguments_come_first_and_have_names_of_their_own);
    tcase_add_test(t, a_default_fits_its_argument);
    tcase_add_test(t, a_default_is_no_constant);
    tcase_add_test(t, a_declared_result_is_what_callers_are_told);
    tcase_add_test(t, a_declared_result_must_be_met);
    tcase_add_test(t, effects_run_in_the_order_of_the_program);
    tcase_add_test(t, an_order_that_inputs_or_edges_say_already_is_not_said_again);
    tcase_add_test(t, a_call_of_what_has_effects_has_effects);
    tcase_add_test(t, a_call_fits_what_it_calls);
    tcase_add_test(t, a_function_may_call_itself_when_its_results_are_declared);
    tcase_add_test(t, a_function_that_calls_itself_undeclared_is_refused);
    tcase_add_test(t, optional_inputs_and_results_may_be_absent);
    tcase_add_test(t, a_node_of_another_size_is_refused);
    tcase_add_test(t, what_a_function_says_is_in_its_hash);
    tcase_add_test(t, what_a_function_does_not_say_is_not_in_its_hash);
    tcase_add_test(t, a_long_chain_is_built_without_a_deep_stack);
    tcase_add_test(t, a_builder_without_memory_says_so_and_leaves_nothing);
    tcase_add_test(t, a_builder_that_failed_for_memory_goes_on);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
