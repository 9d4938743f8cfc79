/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_inline.c - calls replaced by bodies, and what is not needed dropped.
 *
 * "Caller kept fetchable" of the acceptance list has no counterpart: only results can be
 * fetched, and they keep their names. "Colocation with an argument name" has none either:
 * `with` names graph nodes; the nearest is a call that is placed with a graph node.
 */
#include <stdio.h>

#include "graph/inline.h"
#include "tests/graphs.h"

static struct tp_function *inlined(const troupe_function *f)
{
    troupe_error err;
    struct tp_function *out = NULL;
    ck_ok(tp_inline(f, 1000000, NULL, &out, &err));
    for (uint32_t i = 0; i < out->n_nodes; i++)
        ck_assert_ptr_null(out->nodes[i].callee);
    return out;
}

static struct tp_function *inlined_text(const char *text)
{
    troupe_function *f = graphs_function(text);
    struct tp_function *out = inlined(f);
    troupe_function_release(&f);
    return out;
}

static struct tp_function *pruned(const struct tp_function *f)
{
    troupe_error err;
    struct tp_function *out = NULL;
    ck_ok(tp_prune(f, NULL, &out, &err));
    return out;
}

START_TEST(a_function_without_calls_is_itself)
{
    troupe_function *f = graphs_function("function f(x: f32[n]) -> (y)\n    y = Relu(x)\n");
    struct tp_function *in = inlined(f), *out = pruned(f->body);
    ck_assert_ptr_eq(in, f->body);
    ck_assert_ptr_eq(out, f->body);
    tp_function_release(&in);
    tp_function_release(&out);
    troupe_function_release(&f);
}
END_TEST

START_TEST(a_call_becomes_the_body_with_the_types_of_the_call)
{
    struct tp_function *f = inlined_text(
        "function g(a: f32[n,k], b: f32[k] = f32[3] [1, 2, 3]) -> (y: f32[n], k: f32[?])\n"
        "    k = f32[2] [1, 2]\n"
        "    y = MatMul(a, b)\n"
        "function h(a: f32[...]) -> (y: f32[...], z)\n"
        "    y, z0 = g(a)\n"
        "    z = Relu(a)\n"
        "function f(x: f32[m,?], w: f32[3]) -> (y, z, v, u)\n"
        "    y, k = g(x, w)\n"
        "    z, u = h(x)\n"
        "    v = Relu(k)\n");
    graphs_is(f,
              "function f(x: f32[m,3], w: f32[3]) -> (y: f32[m] = y/y, z: f32[...] = z/y/y, v: "
              "f32[?], u: f32[...] = z/z)\n"
              "    y/k = f32[2] [1, 2]\n"
              "    y/y = MatMul(x, w)\n"
              "    z/y/b = f32[3] [1, 2, 3]\n"
              "    z/y/k = f32[2] [1, 2]\n"
              "    z/y/y = MatMul(x, z/y/b)\n"
              "    z/z = Relu(x)\n"
              "    v = Relu(y/k)\n");
    ck_assert_str_eq(graphs_node(f, "y/y")->function, "g");
    ck_assert_str_eq(graphs_node(f, "z/y/y")->function, "g");
    ck_assert_str_eq(graphs_node(f, "z/z")->function, "h");
    ck_assert_ptr_null(graphs_node(f, "v")->function);
    ck_assert_uint_eq(graphs_node(f, "z/z")->line, 6);
    tp_function_release(&f);
}
END_TEST

START_TEST(shapes_that_contradict_are_found_when_they_meet)
{
    troupe_error err;
    struct tp_function *out = NULL;
    troupe_function *f =
        graphs_function("function g(a: f32[...], b: f32[...]) -> (y: f32[...])\n"
                        "    y = Add(a, b)\n"
                        "function f(x: f32[2], w: f32[3]) -> (y)\n"
                        "    s = g(x, w)\n"
                        "    y = Relu(s)\n");
    ck_fails(tp_inline(f, 100, NULL, &out, &err), INVALID,
             "function 'g': node 's/y': shapes [2] and [3] do not broadcast");
    troupe_function_release(&f);
}
END_TEST

START_TEST(names_that_meet_stay_apart)
{
    struct tp_function *f = inlined_text("function g(a: f32[n]) -> (y: f32[n])\n"
                                         "    y = Relu(a)\n"
                                         "function f(x: f32[n]) -> (y)\n"
                                         "    \"s/y\" = Relu(x)\n"
                                         "    \"s/y~1\" = Relu(x)\n"
                                         "    s = g(x)\n"
                                         "    y = Add(s, \"s/y\")\n");
    graphs_is(f, "function f(x: f32[n]) -> (y: f32[n])\n"
                 "    s/y = Relu(x)\n"
                 "    \"s/y~1\" = Relu(x)\n"
                 "    \"s/y~2\" = Relu(x)\n"
                 "    y = Add(\"s/y~2\", s/y)\n");
    tp_function_release(&f);
}
END_TEST

/* 4.11: what is after the call is after its effects; what the call is after, its body is after.
 */
START_TEST(edges_into_and_out_of_a_call_are_kept)
{
    struct tp_function *f = inlined_text("function g(a: f32[n]) -> (y: f32[n])\n"
                                         "    first = Relu(a)\n"
                                         "    y = Relu(first)\n"
                                         "    alone = Relu(a)\n"
                                         "    loud = Print(alone)\n"
                                         "    late = Relu(a) after loud\n"
                                         "function f(x: f32[n]) -> (z)\n"
                                         "    p = Relu(x)\n"
                                         "    s = g(x) after p\n"
                                         "    z = Relu(x) after s\n");
    ck_assert_str_eq(graphs_after(f, "s/first"), "p");
    ck_assert_str_eq(graphs_after(f, "s/y"), "");
    ck_assert_str_eq(graphs_after(f, "s/alone"), "p");
    ck_assert_str_eq(graphs_after(f, "s/loud"), "");
    ck_assert_str_eq(graphs_after(f, "s/late"), "s/loud");
    ck_assert_str_eq(graphs_after(f, "z"), "s/loud");
    tp_function_release(&f);
}
END_TEST

START_TEST(what_is_after_a_call_without_effects_is_after_its_results)
{
    struct tp_function *f = inlined_text("function g(a: f32[n]) -> (y: f32[n], z: f32[n], a)\n"
                                         "    y = Relu(a)\n"
                                         "    z = Relu(a)\n"
                                         "function same(a: f32[n]) -> (a)\n"
                                         "function f(x: f32[n]) -> (z, w)\n"
                                         "    p = Relu(x)\n"
                                         "    s, t, u = g(x)\n"
                                         "    z = Relu(x) after s\n"
                                         "    e = same(x) after p\n"
                                         "    w = Relu(e) after e\n");
    ck_assert_str_eq(graphs_after(f, "z"), "s/y s/z");
    ck_assert_str_eq(graphs_after(f, "w"), "p");
    tp_function_release(&f);
}
END_TEST

START_TEST(effects_of_calls_without_a_common_value_stay_in_order)
{
    struct tp_function *f = inlined_text("function log(x: f32[n])\n"
                                         "    Print(x)\n"
                                         "function deep(x: f32[n])\n"
                                         "    l: log(x)\n"
                                         "    m: log(x)\n"
                                         "function f(x: f32[n], y: f32[n])\n"
                                         "    a: deep(x)\n"
                                         "    p: Print(y)\n"
                                         "    b: log(y)\n");
    ck_assert_uint_eq(f->n_nodes, 4);
    ck_assert_str_eq(graphs_after(f, "a/l/Print_0"), "");
    ck_assert_str_eq(graphs_after(f, "a/m/Print_0"), "a/l/Print_0");
    ck_assert_str_eq(graphs_after(f, "p"), "a/m/Print_0");
    ck_assert_str_eq(graphs_after(f, "b/Print_0"), "p");
    tp_function_release(&f);
}
END_TEST

/* 4.8: the same without inlining: each call is an effect, and they are chained. */
START_TEST(nested_calls_with_effects_are_chained)
{
    troupe_function *f = graphs_function("function log(x: f32[n])\n"
                                         "    Print(x)\n"
                                         "function f(x: f32[n], y: f32[n])\n"
                                         "    a: log(x)\n"
                                         "    b: log(y)\n");
    ck_assert_str_eq(graphs_after(f->body, "b"), "a");
    struct tp_function *out = pruned(f->body);
    ck_assert_ptr_eq(out, f->body);
    tp_function_release(&out);
    troupe_function_release(&f);
}
END_TEST

/* 4.11: the device of a graph node of a body: none, in part, another; and the call's. */
static const struct place {
    const char *own, *call, *becomes;
} places[] = {
    {"", "", ""},
    {"", "@cpu:1", "/device:cpu:1"},
    {"", "@/job:a/task:2", "/job:a/task:2"},
    {"@cpu:0", "@cpu:1", "/device:cpu:0"},
    {"@cpu:0", "", "/device:cpu:0"},
    {"@/job:a", "@/job:b/device:cpu:1", "/job:a/device:cpu:1"},
    {"@/device:cpu", "@cpu:1", "/device:cpu:1"},
    {"@/device:opencl", "@cpu:1", "/device:opencl"},
    {"@/task:1", "@/job:a/task:0/device:cpu:0", "/job:a/task:1/device:cpu:0"},
};

START_TEST(a_graph_node_of_a_body_goes_where_it_says_else_where_the_call_says)
{
    char text[512];
    const struct place *p = &places[_i];
    snprintf(text, sizeof(text),
             "function g(a: f32[n]) -> (y: f32[n])\n    y = Relu(a) %s\n"
             "function h(a: f32[n]) -> (y: f32[n])\n    g = g(a)\n    y = Relu(g)\n"
             "function f(x: f32[n]) -> (z)\n    s = h(x) %s\n    z = Relu(s)\n",
             p->own, p->call);
    struct tp_function *f = inlined_text(text);
    ck_assert_str_eq(graphs_device(f, "s/g/y"), p->becomes);
    ck_assert_str_eq(graphs_device(f, "z"), "");
    tp_function_release(&f);
}
END_TEST

START_TEST(a_call_inside_a_body_fills_what_the_outer_call_leaves_open)
{
    struct tp_function *f = inlined_text("function g(a: f32[n]) -> (y: f32[n])\n"
                                         "    y = Relu(a)\n"
                                         "function h(a: f32[n]) -> (y: f32[n])\n"
                                         "    g = g(a) @/device:cpu:3\n"
                                         "    y = Relu(g)\n"
                                         "function f(x: f32[n]) -> (s)\n"
                                         "    s = h(x) @/job:a/device:cpu:1\n");
    ck_assert_str_eq(graphs_device(f, "s/g/y"), "/job:a/device:cpu:3");
    ck_assert_str_eq(graphs_device(f, "s/y"), "/job:a/device:cpu:1");
    tp_function_release(&f);
}
END_TEST

/* 4.11: names of colocation lead to the new graph nodes. */
START_TEST(what_is_placed_together_stays_together)
{
    struct tp_function *f = inlined_text("function g(a: f32[n]) -> (y: f32[n], z: f32[n])\n"
                                         "    p = Relu(a) @cpu:7\n"
                                         "    q = Relu(a) with p\n"
                                         "    y = Relu(q)\n"
                                         "    z = Relu(q) with y\n"
                                         "function f(x: f32[n]) -> (m, y, o)\n"
                                         "    m = Relu(x) @cpu:5\n"
                                         "    y, z = g(x) with m\n"
                                         "    o = Relu(x) with y\n");
    ck_assert_str_eq(graphs_with(f, "y/p"), "");
    ck_assert_str_eq(graphs_with(f, "y/q"), "y/p");
    ck_assert_str_eq(graphs_with(f, "y/y"), "m");
    ck_assert_str_eq(graphs_with(f, "y/z"), "m y/y");
    ck_assert_str_eq(graphs_with(f, "o"), "y/y");
    tp_function_release(&f);
}
END_TEST

START_TEST(a_group_with_a_wish_of_its_own_does_not_take_the_calls_device)
{
    struct tp_function *f = inlined_text("function g(a: f32[n]) -> (y: f32[n], z: f32[n])\n"
                                         "    y = Relu(a)\n"
                                         "    p = Relu(a) @cpu:7 with y\n"
                                         "    z = Relu(a)\n"
                                         "function f(x: f32[n]) -> (y, z)\n"
                                         "    y, z = g(x) @cpu:1\n");
    ck_assert_str_eq(graphs_device(f, "y/y"), "");
    ck_assert_str_eq(graphs_device(f, "y/p"), "/device:cpu:7");
    ck_assert_str_eq(graphs_device(f, "y/z"), "/device:cpu:1");
    tp_function_release(&f);
}
END_TEST

START_TEST(calls_without_end_are_refused_with_the_circle)
{
    static const char *const texts[][2] = {
        {"function f(x: f32[n]) -> (y: f32[n])\n    y = f(x)\n", "calls without end: f -> f"},
        {"function h(x: f32[n]) -> (y: f32[n])\n    y = g(x)\n"
         "function g(x: f32[n]) -> (y: f32[n])\n    z = Relu(x)\n    y = h(z)\n"
         "function f(x: f32[n]) -> (y: f32[n])\n    y = g(x)\n",
         "calls without end: g -> h -> g"},
        {"function g(x: f32[n]) -> (y: f32[n])\n    y = f(x)\n"
         "function f(x: f32[n]) -> (y: f32[n])\n    y = g(x)\n",
         "calls without end: f -> g -> f"},
    };
    troupe_error err;
    struct tp_function *out = NULL;
    troupe_function *f = graphs_function(texts[_i][0]);
    ck_fails(tp_inline(f, 1000, NULL, &out, &err), INVALID, texts[_i][1]);
    ck_assert_ptr_null(out);
    troupe_function_release(&f);
}
END_TEST

/* f0 does nothing, and each further one calls the one before it twice. */
static troupe_function *doubling(int n)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function f0()\n");
    for (int i = 1; i < n; i++)
        tp_text_add(&text, "function f%d()\n    a: f%d()\n    b: f%d()\n", i, i - 1, i - 1);
    troupe_function *f = graphs_function(text.data);
    tp_text_fini(&text);
    return f;
}

START_TEST(what_becomes_too_large_is_refused_before_it_does)
{
    static const struct {
        int functions;
        uint64_t nodes;
        const char *words;
    } rows[] = {
        {2, 2, NULL},
        {14, 16382, "16382 graph nodes with all that it calls, more than the 10000 that"},
        {64, UINT64_MAX - 1, "18446744073709551614 graph nodes"},
        {65, UINT64_MAX, "at least 18446744073709551615 graph nodes"},
        {1000, UINT64_MAX, "at least 18446744073709551615 graph nodes"},
    };
    troupe_error err;
    uint64_t nodes = 0;
    struct tp_function *out = NULL;
    troupe_function *f = doubling(rows[_i].functions);
    ck_ok(tp_inline_count(f, &nodes, &err));
    ck_assert_uint_eq(nodes, rows[_i].nodes);
    if (rows[_i].words)
        ck_fails(tp_inline(f, 10000, NULL, &out, &err), EXHAUSTED, rows[_i].words);
    else
        ck_ok(tp_inline(f, 10000, NULL, &out, &err));
    tp_function_release(&out);
    troupe_function_release(&f);
}
END_TEST

START_TEST(as_many_graph_nodes_as_are_allowed_are_inlined)
{
    troupe_error err;
    struct tp_function *out = NULL;
    troupe_function *f =
        graphs_function("function g(x: f32[n]) -> (y: f32[n])\n    y = Relu(x)\n"
                        "function f(x: f32[n]) -> (y)\n    z = g(x)\n    y = g(z)\n");
    ck_fails(tp_inline(f, 3, NULL, &out, &err), EXHAUSTED, "4 graph nodes");
    ck_ok(tp_inline(f, 4, NULL, &out, &err));
    tp_function_release(&out);
    troupe_function_release(&f);
}
END_TEST

START_TEST(calls_ten_thousand_deep_are_inlined)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function f0(x: f32[n]) -> (y)\n    y = Print(x)\n");
    for (int i = 1; i < 10000; i++) {
        tp_text_add(&text, "function f%d(x: f32[n]) -> (y)\n    z = f%d(x)\n    y = Relu(z)\n",
                    i, i - 1);
    }
    struct tp_function *f = inlined_text(text.data);
    ck_assert_uint_eq(f->n_nodes, 10000);
    for (uint32_t i = 0; i < f->n_nodes; i += 97)
        ck_assert_uint_lt(strlen(f->nodes[i].name), 600);
    tp_function_release(&f);
    tp_text_fini(&text);
}
END_TEST

/* 4.8 and 4.11: what neither a result nor an effect needs is gone, unused arguments stay. */
START_TEST(what_nothing_needs_is_dropped)
{
    struct tp_function *f =
        inlined_text("function g(a: f32[n], unused: f32[n]) -> (y: f32[n])\n"
                     "    dead = Relu(unused)\n"
                     "    k = f32[1] [1]\n"
                     "    j = f32[1] [2]\n"
                     "    deader = Add(dead, k)\n"
                     "    y = Add(a, j)\n"
                     "    loud = Relu(a)\n"
                     "    Print(loud)\n"
                     "    before = Relu(a)\n"
                     "    y2 = Relu(y) after before\n"
                     "    Print(y2)\n"
                     "function f(x: f32[n], w: f32[n]) -> (z = y)\n"
                     "    u = Relu(w)\n"
                     "    y = g(x, u)\n");
    struct tp_function *p = pruned(f);
    graphs_is(p, "function f(x: f32[n], w: f32[n]) -> (z: f32[n] = y/y)\n"
                 "    y/j = f32[1] [2]\n"
                 "    y/y = Add(x, y/j)\n"
                 "    y/loud = Relu(x)\n"
                 "    y/Print_4 = Print(y/loud)\n"
                 "    y/before = Relu(x)\n"
                 "    y/y2 = Relu(y/y) after y/before\n"
                 "    y/Print_7 = Print(y/y2) after y/Print_4\n");
    tp_function_release(&f);
    ck_assert_str_eq(graphs_node(p, "y/loud")->function, "g");
    tp_function_release(&p);
}
END_TEST

/* 4.11: a graph node that only an effect needs runs, and the result is right. */
START_TEST(what_only_an_effect_needs_is_kept)
{
    struct tp_function *f = inlined_text("function g(a: f32[n], b: f32[n]) -> (y: f32[n])\n"
                                         "    y = Relu(a)\n"
                                         "    only = Relu(b)\n"
                                         "    Print(only)\n"
                                         "function f(x: f32[n]) -> (y)\n"
                                         "    w = Elu(x)\n"
                                         "    y = g(x, w)\n");
    struct tp_function *p = pruned(f);
    ck_assert_ptr_eq(p, f);
    ck_assert_uint_eq(p->n_nodes, 4);
    tp_function_release(&f);
    tp_function_release(&p);
}
END_TEST

START_TEST(a_group_that_loses_a_member_stays_a_group)
{
    struct tp_function *f = inlined_text("function f(x: f32[n]) -> (b, d, e)\n"
                                         "    a = Relu(x) @cpu:3\n"
                                         "    b = Relu(x) with a\n"
                                         "    c = Relu(x) with b @/job:a\n"
                                         "    d = Relu(x) with c\n"
                                         "    e = Relu(x) with d\n"
                                         "    g = Relu(x)\n");
    struct tp_function *p = pruned(f);
    graphs_is(p, "function f(x: f32[n]) -> (b: f32[n], d: f32[n], e: f32[n])\n"
                 "    b = Relu(x) @/job:a/device:cpu:3\n"
                 "    d = Relu(x) with b\n"
                 "    e = Relu(x) with b, d\n");
    tp_function_release(&f);
    tp_function_release(&p);
}
END_TEST

static const troupe_function *starved;

static troupe_status whole(troupe_error *err)
{
    TP_OWNED(tp_function_release) struct tp_function *flat = NULL;
    TP_OWNED(tp_function_release) struct tp_function *thin = NULL;
    TP_TRY(tp_inline(starved, 1000, NULL, &flat, err));
    return tp_prune(flat, NULL, &thin, err);
}

START_TEST(without_memory_they_say_so_and_leave_nothing)
{
    troupe_function *f = graphs_function(
        "function g(a: f32[n,\"a b\"], b: f32[?] = f32[1] [1]) -> (y: f32[n,?])\n"
        "    dead = Relu(a)\n"
        "    k = f32[1] [1]\n"
        "    p = Print(a) @cpu:1\n"
        "    y = LeakyRelu(p, alpha=0.5) with dead after dead\n"
        "function f(x: f32[n,m]) -> (y)\n"
        "    z = g(x) @cpu:0\n"
        "    v = g(x) after z with z\n"
        "    w = Relu(x) with v\n"
        "    y = Add(z, v) with w\n");
    starved = f;
    graphs_starve(whole);
    troupe_function_release(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_inline");
    TCase *t = tcase_create("inline");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_function_without_calls_is_itself);
    tcase_add_test(t, a_call_becomes_the_body_with_the_types_of_the_call);
    tcase_add_test(t, shapes_that_contradict_are_found_when_they_meet);
    tcase_add_test(t, names_that_meet_stay_apart);
    tcase_add_test(t, edges_into_and_out_of_a_call_are_kept);
    tcase_add_test(t, what_is_after_a_call_without_effects_is_after_its_results);
    tcase_add_test(t, effects_of_calls_without_a_common_value_stay_in_order);
    tcase_add_test(t, nested_calls_with_effects_are_chained);
    tcase_add_loop_test(t, a_graph_node_of_a_body_goes_where_it_says_else_where_the_call_says,
                        0, (int)TP_COUNT(places));
    tcase_add_test(t, a_call_inside_a_body_fills_what_the_outer_call_leaves_open);
    tcase_add_test(t, what_is_placed_together_stays_together);
    tcase_add_test(t, a_group_with_a_wish_of_its_own_does_not_take_the_calls_device);
    tcase_add_loop_test(t, calls_without_end_are_refused_with_the_circle, 0, 3);
    tcase_add_loop_test(t, what_becomes_too_large_is_refused_before_it_does, 0, 5);
    tcase_add_test(t, as_many_graph_nodes_as_are_allowed_are_inlined);
    tcase_add_test(t, calls_ten_thousand_deep_are_inlined);
    tcase_add_test(t, what_nothing_needs_is_dropped);
    tcase_add_test(t, what_only_an_effect_needs_is_kept);
    tcase_add_test(t, a_group_that_loses_a_member_stays_a_group);
    tcase_add_test(t, without_memory_they_say_so_and_leave_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
