/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_build.c - the builder: what it takes and what it works out.
 */
#include "graph/inline.h"
#include "tests/building.h"

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
    ck_ok(tp_inline(f, 1000, NULL, &in, &err));
    const struct tp_node *y = graphs_node(in, "w/y");
    const struct tp_shape *shape = &in->values[y->results[0]].type.shape;
    ck_assert_str_eq(tp_shape_text(shape).text, "[2,3,20]");
    tp_function_release(&in);
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

static Suite *suite(void)
{
    Suite *s = suite_create("graph_build");
    TCase *t = tcase_create("build");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_function_says_what_it_takes_and_gives);
    tcase_add_test(t, a_function_of_nothing_is_a_function);
    tcase_add_test(t, a_result_may_be_an_argument_or_a_constant_or_the_same_twice);
    tcase_add_test(t, names_that_nobody_gave_are_made_up_and_are_free);
    tcase_add_test(t, shapes_follow_names_and_constants);
    tcase_add_test(t, a_shape_that_is_computed_from_known_shapes_is_known);
    tcase_add_test(t, a_default_is_no_constant);
    tcase_add_test(t, a_declared_result_is_what_callers_are_told);
    tcase_add_test(t, effects_run_in_the_order_of_the_program);
    tcase_add_test(t, an_order_that_inputs_or_edges_say_already_is_not_said_again);
    tcase_add_test(t, a_call_of_what_has_effects_has_effects);
    tcase_add_test(t, a_call_fits_what_it_calls);
    tcase_add_test(t, a_function_may_call_itself_when_its_results_are_declared);
    tcase_add_test(t, optional_inputs_and_results_may_be_absent);
    tcase_add_test(t, what_a_function_says_is_in_its_hash);
    tcase_add_test(t, what_a_function_does_not_say_is_not_in_its_hash);
    tcase_add_test(t, a_long_chain_is_built_without_a_deep_stack);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
