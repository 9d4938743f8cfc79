/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_inline_stays.c - what names a function and is no call stays when calls are
 * inlined, and keeps its function.
 */
#include "graph/inline.h"
#include "tests/graphs.h"

static const char text[] = "function g(a: f32[2]) -> (b: f32[2])\n"
                           "    b = Relu(a)\n"
                           "function f(x: f32[2]) -> (y: f32[2])\n"
                           "    s = Test(x, body=&g, mode=\"apart\") @cpu:1\n"
                           "    y = g(s)\n";

/* The operator is asked to do something with g; that is its own matter. */
START_TEST(an_operator_that_names_a_function_stays_and_a_call_of_the_same_is_inlined)
{
    troupe_error err;
    troupe_function *f = graphs_function(text);
    TP_OWNED(tp_function_release) struct tp_function *flat = NULL, *thin = NULL;
    ck_ok(tp_inline(f, 1000, NULL, &flat, &err));
    ck_ok(tp_prune(flat, NULL, &thin, &err));
    graphs_is(thin, "function f(x: f32[2]) -> (y: f32[2] = y/b)\n"
                    "    s = Test(x, body=&g, mode=\"apart\") @cpu:1\n"
                    "    y/b = Relu(s)\n");
    troupe_function_release(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/inline_stays");
    TCase *t = tcase_create("stays");
    tcase_add_test(t,
                   an_operator_that_names_a_function_stays_and_a_call_of_the_same_is_inlined);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
