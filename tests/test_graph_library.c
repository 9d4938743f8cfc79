/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_library.c - functions by name, and what a function keeps of the others.
 */
#include "tests/graphs.h"

static const char chain[] = "function inner(x: f32[n]) -> (y: f32[n])\n"
                            "    y = Relu(x)\n"
                            "function outer(x: f32[n]) -> (y: f32[n])\n"
                            "    y = inner(x)\n"
                            "function other() -> (k)\n"
                            "    k = f32[] 1\n";

/* Put the functions of a text in the place of those of the library. */
static void replace(troupe_library *library, const char *text)
{
    troupe_error err;
    troupe_library *other = graphs_library(text);
    for (size_t i = 0; i < troupe_library_count(other); i++) {
        troupe_function *f = graphs_find(other, troupe_library_name(other, i));
        ck_ok(troupe_library_replace(library, f, &err));
        troupe_function_release(&f);
    }
    troupe_library_destroy(&other);
}

static bool same_hash(const troupe_function *a, const troupe_function *b)
{
    uint8_t x[16], y[16];
    troupe_function_hash(a, x);
    troupe_function_hash(b, y);
    return memcmp(x, y, sizeof(x)) == 0;
}

START_TEST(a_library_lists_its_functions_in_the_order_of_adding)
{
    troupe_library *library = graphs_library(chain);
    ck_assert_uint_eq(troupe_library_count(library), 3);
    ck_assert_str_eq(troupe_library_name(library, 0), "inner");
    ck_assert_str_eq(troupe_library_name(library, 1), "outer");
    ck_assert_str_eq(troupe_library_name(library, 2), "other");
    ck_assert_ptr_null(troupe_library_name(library, 3));
    troupe_library_destroy(&library);
    ck_assert_ptr_null(library);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(an_unknown_function_is_not_found)
{
    troupe_error err;
    troupe_function *f = NULL;
    troupe_library *library = graphs_library(chain);
    ck_fails(troupe_library_find(library, "outre", &f, &err), NOT_FOUND, "no function 'outre'");
    ck_assert_ptr_null(f);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_function_keeps_what_it_calls_and_nothing_else)
{
    troupe_library *library = graphs_library(chain);
    troupe_function *outer = graphs_find(library, "outer"),
                    *other = graphs_find(library, "other");
    troupe_library_destroy(&library);
    ck_assert_uint_eq(outer->version->n, 1);
    ck_assert_str_eq(outer->version->functions[0]->name, "inner");
    ck_assert_ptr_null(tp_version_find(outer->version, "other"));
    ck_assert_ptr_null(other->version);
    troupe_function_release(&outer);
    troupe_function_release(&other);
}
END_TEST

START_TEST(the_same_function_may_be_added_again_and_another_may_not)
{
    troupe_error err;
    troupe_library *library = graphs_library(chain);
    troupe_function *same = graphs_function("function other() -> (k)\n\n    k = f32[] 1\n");
    troupe_function *another = graphs_function("function other() -> (k)\n    k = f32[] 2\n");
    ck_ok(troupe_library_add(library, same, &err));
    ck_fails(troupe_library_add(library, another, &err), INVALID, "another function 'other'");
    ck_assert_uint_eq(troupe_library_count(library), 3);
    troupe_function *found = graphs_find(library, "other");
    ck_assert(same_hash(found, same));
    troupe_function_release(&found);
    troupe_function_release(&same);
    troupe_function_release(&another);
    troupe_library_destroy(&library);
}
END_TEST

/* 4.7: a function changed under the same name is another function for who asks afterwards. */
START_TEST(a_replaced_function_is_another_one_and_who_has_the_old_one_keeps_it)
{
    troupe_library *library = graphs_library(chain);
    troupe_function *before = graphs_find(library, "outer"),
                    *again = graphs_find(library, "outer");
    ck_assert_ptr_eq(before, again);
    replace(library, "function inner(x: f32[n]) -> (y: f32[n])\n    y = Elu(x)\n");
    troupe_function *after = graphs_find(library, "outer");
    ck_assert_ptr_ne(before, after);
    ck_assert(!same_hash(before, after));
    ck_assert_mem_eq(before->body->hash, after->body->hash, sizeof(before->body->hash));
    ck_assert_str_eq(tp_version_find(before->version, "inner")->nodes[0].op->name, "Relu");
    ck_assert_str_eq(tp_version_find(after->version, "inner")->nodes[0].op->name, "Elu");
    ck_assert_uint_eq(troupe_library_count(library), 3);
    replace(library, chain);
    troupe_function *back = graphs_find(library, "outer");
    ck_assert(same_hash(before, back));
    troupe_function_release(&before);
    troupe_function_release(&again);
    troupe_function_release(&after);
    troupe_function_release(&back);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_hash_does_not_depend_on_the_library)
{
    troupe_library *one = graphs_library(chain);
    troupe_library *two = graphs_library("function more(x: f32[2]) -> (x)\n"
                                         "function outer(x: f32[n]) -> (y: f32[n])\n"
                                         "    y = inner(x)\n"
                                         "function inner(x: f32[n]) -> (y: f32[n])\n"
                                         "    y = Relu(x)\n");
    troupe_function *a = graphs_find(one, "outer"), *b = graphs_find(two, "outer"),
                    *c = graphs_find(one, "inner");
    ck_assert(same_hash(a, b));
    ck_assert(!same_hash(a, c));
    troupe_function_release(&a);
    troupe_function_release(&b);
    troupe_function_release(&c);
    troupe_library_destroy(&one);
    troupe_library_destroy(&two);
}
END_TEST

/* What inner is replaced by, and why outer cannot be had then. */
START_TEST(a_function_whose_callee_no_longer_fits_is_not_given_out)
{
    static const char *const changes[][2] = {
        {"function inner(x: f32[n], z: f32[n]) -> (y: f32[n])\n    y = Relu(x)\n",
         "function 'outer': node 'y': input 1 'z' of 'inner' is missing"},
        {"function inner() -> (y: f32[1])\n    y = f32[1] [1]\n",
         "1 inputs where 'inner' has 0"},
        {"function inner(x: f64[n]) -> (y: f64[n])\n    y = Relu(x)\n", "f64[n] 'x'"},
        {"function inner(x: f32[n,m]) -> (y: f32[n,m])\n    y = Relu(x)\n", "f32[n,m] 'x'"},
        {"function inner(x: f32[n]) -> (y: i64[1])\n    y = i64[1] [1]\n",
         "result 0 of 'inner' was f32"},
        {"function inner(x: f32[n]) -> (y: f32[?,1])\n    s = i64[2] [-1, 1]\n"
         "    y = Reshape(x, s)\n",
         "result 0 of 'inner' was f32"},
        {"function inner(x: f32[n]) -> (y: f32[n], z: f32[n])\n    y = Relu(x)\n    z = "
         "Relu(x)\n",
         "1 results where 'inner' has 2"},
        {"function inner(x: f32[n]) -> (y: f32[n])\n    y = Relu(x)\n    Print(y)\n",
         "'inner' has effects, which it had not when 'outer' was built"},
    };
    troupe_error err;
    troupe_function *f = NULL;
    troupe_library *library = graphs_library(chain);
    troupe_function *before = graphs_find(library, "outer");
    replace(library, changes[_i][0]);
    ck_fails(troupe_library_find(library, "outer", &f, &err), INVALID, changes[_i][1]);
    troupe_function *inner = graphs_find(library, "inner");
    replace(library, chain);
    troupe_function *again = graphs_find(library, "outer");
    ck_assert(same_hash(before, again));
    troupe_function_release(&before);
    troupe_function_release(&inner);
    troupe_function_release(&again);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_callee_that_is_not_there_is_named)
{
    troupe_error err;
    troupe_function *f = NULL;
    troupe_library *library = graphs_library(chain), *other = NULL;
    troupe_function *outer = graphs_find(library, "outer");
    ck_ok(troupe_library_new(&other, &err));
    ck_ok(troupe_library_add(other, outer, &err));
    ck_fails(troupe_library_find(other, "outer", &f, &err), INVALID,
             "function 'outer': node 'y': there is no function 'inner'");
    troupe_function_release(&outer);
    troupe_library_destroy(&library);
    troupe_library_destroy(&other);
}
END_TEST

START_TEST(functions_in_a_circle_own_nothing_in_a_circle)
{
    const size_t pieces = tp_alloc_pieces();
    troupe_library *library = graphs_library("function f(x: f32[n]) -> (y: f32[n])\n"
                                             "    y = g(x)\n"
                                             "function g(x: f32[n]) -> (y: f32[n])\n"
                                             "    z = f(x)\n"
                                             "    y = g(z)\n");
    troupe_function *f = graphs_find(library, "f"), *g = graphs_find(library, "g");
    ck_assert_uint_eq(f->version->n, 2);
    ck_assert(!same_hash(f, g));
    troupe_library_destroy(&library);
    ck_assert_str_eq(tp_version_find(f->version, "g")->name, "g");
    troupe_function_release(&f);
    troupe_function_release(&g);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

/* Functions f0, f1, ... each calling the one before. */
static char *long_text(int n)
{
    troupe_error err;
    struct tp_text text = {0};
    char *out = NULL;
    tp_text_add(&text, "function f0(x: f32[n]) -> (y)\n    y = Relu(x)\n");
    for (int i = 1; i < n; i++)
        tp_text_add(&text, "function f%d(x: f32[n]) -> (y)\n    y = f%d(x)\n", i, i - 1);
    ck_ok(tp_text_take(&text, &out, &err));
    return out;
}

START_TEST(ten_thousand_functions_deep_is_no_matter)
{
    char *text = long_text(10000);
    troupe_function *f = graphs_function(text);
    ck_assert_uint_eq(f->version->n, 9999);
    troupe_function_release(&f);
    tp_free(text);
}
END_TEST

static troupe_status fill(troupe_library *library, const troupe_function *more,
                          troupe_error *err)
{
    troupe_function *f = NULL;
    TP_TRY(troupe_library_read(library, "test", chain, strlen(chain), err));
    TP_TRY(troupe_library_add(library, more, err));
    TP_TRY(troupe_library_replace(library, more, err));
    TP_TRY(troupe_library_find(library, "outer", &f, err));
    troupe_function_release(&f);
    return TROUPE_OK;
}

static const troupe_function *more_of_it;

static troupe_status whole(troupe_error *err)
{
    troupe_library *library = NULL;
    TP_TRY(troupe_library_new(&library, err));
    const troupe_status status = fill(library, more_of_it, err);
    troupe_library_destroy(&library);
    return status;
}

START_TEST(a_library_without_memory_says_so_and_leaves_nothing)
{
    troupe_function *more = graphs_function("function more(x: f32[n]) -> (x)\n");
    more_of_it = more;
    graphs_starve(whole);
    troupe_function_release(&more);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_library");
    TCase *t = tcase_create("library");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_library_lists_its_functions_in_the_order_of_adding);
    tcase_add_test(t, an_unknown_function_is_not_found);
    tcase_add_test(t, a_function_keeps_what_it_calls_and_nothing_else);
    tcase_add_test(t, the_same_function_may_be_added_again_and_another_may_not);
    tcase_add_test(t, a_replaced_function_is_another_one_and_who_has_the_old_one_keeps_it);
    tcase_add_test(t, a_hash_does_not_depend_on_the_library);
    tcase_add_loop_test(t, a_function_whose_callee_no_longer_fits_is_not_given_out, 0, 8);
    tcase_add_test(t, a_callee_that_is_not_there_is_named);
    tcase_add_test(t, functions_in_a_circle_own_nothing_in_a_circle);
    tcase_add_test(t, ten_thousand_functions_deep_is_no_matter);
    tcase_add_test(t, a_library_without_memory_says_so_and_leaves_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
