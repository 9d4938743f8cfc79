/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_print.c - functions as JSON and for Graphviz.
 *
 * The ops are those of ops_fake.c, one of which has an attribute of every kind.
 */
#include <jansson.h>

#include "tests/graphs.h"

START_TEST(json_says_all_of_a_function)
{
    troupe_error err;
    char *text = NULL;
    troupe_library *library = graphs_library(graphs_round);
    troupe_function *f = graphs_find(library, "f");
    ck_ok(troupe_function_print(f, TROUPE_JSON, &text, &err));
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(root);
    const json_t *all = json_object_get(root, "functions"), *first = json_array_get(all, 0);
    ck_assert_uint_eq(json_array_size(all), 2);
    ck_assert_str_eq(json_string_value(json_object_get(first, "name")), "f");
    const json_t *nodes = json_object_get(first, "nodes"), *u = json_array_get(nodes, 2);
    ck_assert_uint_eq(json_array_size(nodes), f->body->n_nodes);
    ck_assert_str_eq(json_string_value(json_object_get(u, "op")), "Test");
    ck_assert_int_eq(json_integer_value(json_object_get(u, "line")), 6);
    const json_t *attrs = json_object_get(u, "attrs");
    ck_assert_uint_eq(json_object_size(attrs), 8);
    ck_assert_str_eq(json_string_value(json_object_get(attrs, "body")), "g");
    const json_t *k = json_array_get(json_object_get(first, "constants"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(k, "value")),
                     "f32[2,2] [[1, 2], [3, 4]]");
    const json_t *call = json_array_get(nodes, 5);
    ck_assert_str_eq(json_string_value(json_object_get(call, "function")), "g");
    json_decref(root);
    troupe_free(text);
    troupe_function_release(&f);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(json_of_names_that_are_no_utf8_can_be_read)
{
    troupe_error err;
    char *text = NULL;
    troupe_function *f = graphs_random((uint64_t)_i);
    ck_ok(troupe_function_print(f, TROUPE_JSON, &text, &err));
    json_t *root = json_loads(text, JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(root);
    json_decref(root);
    troupe_free(text);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_large_constant_is_a_hash_in_json)
{
    troupe_error err;
    char *text = NULL;
    char *source = graphs_repeat("function f()\n    w = i64[100] [", "1, ", 99, "1]\n");
    troupe_function *f = graphs_function(source);
    ck_ok(troupe_function_print(f, TROUPE_JSON, &text, &err));
    json_t *root = json_loads(text, 0, NULL);
    const json_t *first = json_array_get(json_object_get(root, "functions"), 0);
    const json_t *w = json_array_get(json_object_get(first, "constants"), 0);
    ck_assert_uint_eq(json_string_length(json_object_get(w, "hash")), 32);
    ck_assert_ptr_null(json_object_get(w, "value"));
    ck_assert_str_eq(json_string_value(json_object_get(w, "type")), "i64[100]");
    json_decref(root);
    troupe_free(text);
    troupe_free(source);
    troupe_function_release(&f);
}
END_TEST

START_TEST(dot_draws_every_node_and_edge)
{
    troupe_error err;
    char *text = NULL;
    troupe_function *f = graphs_function("function f(\"a\\\"\\\\\": f32[n]) -> (y)\n"
                                         "    k = f32[1] [1]\n"
                                         "    p = Add(\"a\\\"\\\\\", k) @cpu:1\n"
                                         "    y = Relu(p) after p with p\n");
    ck_ok(troupe_function_print(f, TROUPE_DOT, &text, &err));
    static const char *const parts[] = {
        "digraph \"f\" {\n",
        "v0 [label=\"a\\\"\\\\\", shape=ellipse]",
        "v0 -> n0 [label=\"f32[n]\"]",
        "v1 -> n0",
        "n0 -> n1 [style=dashed]",
        "n0 -> n1 [style=dotted",
        "n1 -> r0",
        "xlabel=\"/device:cpu:1\"",
        "}\n",
    };
    for (size_t i = 0; i < TP_COUNT(parts); i++)
        ck_assert_msg(strstr(text, parts[i]), "no %s in %s", parts[i], text);
    ck_fails(troupe_function_print(f, (troupe_format)9, &text, &err), INVALID, "no format 9");
    troupe_free(text);
    troupe_function_release(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_print");
    TCase *t = tcase_create("print");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, json_says_all_of_a_function);
    tcase_add_loop_test(t, json_of_names_that_are_no_utf8_can_be_read, 0, 50);
    tcase_add_test(t, a_large_constant_is_a_hash_in_json);
    tcase_add_test(t, dot_draws_every_node_and_edge);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
