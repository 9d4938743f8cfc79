/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_text.c - the text form: what is read, how it is printed, and where a mistake is told to be.
 *
 * The ops are those of ops_fake.c, one of which has an attribute of every kind.
 */
#include "tests/graphs.h"

/* A text, and how it is printed. */
static const char *const corpus[][2] = {
    {"function f()", "function f()\n"},
    {"\n\n# nothing\n  function f ( )   -> ( )  # f\n\n", "function f()\n"},
    {"function f(x: f32[]) -> (x)", "function f(x: f32[]) -> (x: f32[])\n"},
    {"function f(x:f32[2,n,?],y:i64[...])->(b=y,x:f32[?,n,3]=x)",
     "function f(x: f32[2,n,?], y: i64[...]) -> (b: i64[...] = y, x: f32[?,n,3])\n"},
    {"function f(\n  x: f32[ 2 ], # first\n  y: f32[2] = f32[2] [1,\n    2]\n) -> (\n  x\n)\n",
     "function f(x: f32[2], y: f32[2] = f32[2] [1, 2]) -> (x: f32[2])\n"},
    {"function f(x: f32[\"a b\", \"n\"])", "function f(x: f32[\"a b\",n])\n"},
    {"function f(x: f32[n]) -> (y)\ny=Relu(x)", "function f(x: f32[n]) -> (y: f32[n])\n"
                                                "    y = Relu(x)\n"},
    {"function f(x: f32[n])\n Relu(x)\n Print(x)\n Relu ( x\n ) \n",
     "function f(x: f32[n])\n    Relu_0 = Relu(x)\n    Print(x)\n    Relu_2 = Relu(x)\n"},
    {"function f(x: f32[n])\n n1: Relu(x)\n n2: y = Relu(x)\n y: n2 = Relu(x)\n n3: Print(x)\n"
     " Print_4: Print(x)\n",
     "function f(x: f32[n])\n    n1 = Relu(x)\n    n2: y = Relu(x)\n    y: n2 = Relu(x)\n"
     "    n3: Print(x)\n    Print(x) after n3\n"},
    {"function f(x: f32[n])\n a, b = Split(x, num_outputs=2)\n c, _ = Dropout(x)\n"
     " d = Clip(x, -, c)\n e = Clip(x, _, _)\n",
     "function f(x: f32[n])\n    a, b = Split(x, num_outputs=2)\n    c, _ = Dropout(x)\n"
     "    d = Clip(x, _, c)\n    e = Clip(x, _, _)\n"},
    {"function f(x: f32[n])\n a = Relu(x)@cpu:0\n b = Relu(x) @\"CPU:1\"\n"
     " c = Relu(x) @/job:a/replica:0/task:3/device:opencl:2 after b,a with a\n"
     " d = Relu(x) with b @/device:cpu after c\n e = Relu(x) @/\n g = Relu(x) @*\n",
     NULL},
    {"function f(x: f32[n])\n a = Relu(x)@cpu:0\n b = Relu(x) @\"CPU:1\"\n"
     " c = Relu(x) @/job:a/replica:0/task:3/device:opencl:2 after b,a with a\n"
     " d = Relu(x) with b @/device:cpu after c\n e = Relu(x) @/\n",
     "function f(x: f32[n])\n    a = Relu(x) @cpu:0\n    b = Relu(x) @cpu:1\n"
     "    c = Relu(x) @/job:a/task:3/device:opencl:2 after a, b with a\n"
     "    d = Relu(x) @/device:cpu after c with b\n    e = Relu(x)\n"},
    {"function f()\n w = f32[2] [1, 2.5]\n v=bool[][] true\n", NULL},
    {"function f()\n w = f32[2] [1, 2.5]\n v=bool[] true\n s = string[2] [\"a\\\"b\", "
     "\"\\x00\"]\n"
     " e = i8[0,3] []\n u = f64[2,2] [[nan, inf],\n\n  [-inf, -0]]\n",
     "function f()\n    w = f32[2] [1, 2.5]\n    v = bool[] true\n"
     "    s = string[2] [\"a\\\"b\", \"\\x00\"]\n    e = i8[0,3] []\n"
     "    u = f64[2,2] [[nan, inf], [-inf, -0]]\n"},
    {"function f(x: f32[n])\n a = Test(x, axis=-1, alpha=2, mode=\"a\\nb\", pads=[], "
     "scales=[1],\n"
     "  labels=[\"\", \"b\"], value=f32[2] [1,2], to=bf16, body=&f)\n"
     " b = Test(x, scales=[], labels=[], alpha=-inf, pads=[1,-2])\n c = Test(x, alpha=nan)\n"
     " d = Test(x, scales=[1.5, 2, nan, -0.0], alpha=1e300, value=i64[] 7)\n",
     "function f(x: f32[n])\n    a = Test(x, alpha=2.0, axis=-1, body=&f, labels=[\"\", "
     "\"b\"], "
     "mode=\"a\\nb\", pads=[], scales=[1.0], to=bf16, value=f32[2] [1, 2])\n"
     "    b = Test(x, alpha=-inf, labels=[], pads=[1, -2], scales=[])\n"
     "    c = Test(x, alpha=nan)\n"
     "    d = Test(x, alpha=1e300, scales=[1.5, 2.0, nan, -0.0], value=i64[] 7)\n"},
    {"function \"a function\"(\"\\\"\": f32[n], \"after\": f32[n], \"_\": f32[n]) -> "
     "(\"with\")\n"
     " \"function\" = Add(\"\\\"\", \"after\")\n \"\\x41\" = Relu(\"_\") after \"function\"\n"
     " \"\xc3\xa4\": \"with\" = Relu(A) with \"A\"\n \"file\" = Relu(x:0/y.z-1)\n",
     NULL},
    {"function \"a function\"(\"\\\"\": f32[n], \"after\": f32[n], \"_\": f32[n]) -> "
     "(\"with\")\n"
     " \"function\" = Add(\"\\\"\", \"after\")\n \"\\x41\" = Relu(\"_\") after \"function\"\n"
     " \"\xc3\xa4\": \"with\" = Relu(A) with \"A\"\n x:0/y.z-1 = Relu(A)\n"
     " \"file\" = Relu(x:0/y.z-1)\n",
     "function \"a function\"(\"\\\"\": f32[n], \"after\": f32[n], \"_\": f32[n]) -> "
     "(\"with\": "
     "f32[n])\n    \"function\" = Add(\"\\\"\", \"after\")\n    A = Relu(\"_\") after "
     "\"function\"\n    \"\xc3\xa4\": \"with\" = Relu(A) with A\n    x:0/y.z-1 = Relu(A)\n"
     "    \"file\" = Relu(x:0/y.z-1)\n"},
    {"function f(x: f32[n]) -> (y: f32[?])\n y = f(x)\n k = i64[1] [2]\n z = Reshape(y, k)\n"
     " f(z)\n",
     "function f(x: f32[n]) -> (y: f32[?])\n    y = f(x)\n    k = i64[1] [2]\n"
     "    z = Reshape(y, k)\n    f_2 = f(z)\n"},
};

START_TEST(a_text_is_printed_in_one_form_and_read_back)
{
    troupe_error err;
    troupe_library *library = NULL;
    const char *text = corpus[_i][0], *wanted = corpus[_i][1];
    ck_ok(troupe_library_new(&library, &err));
    const troupe_status status = troupe_library_read(library, "t", text, strlen(text), &err);
    if (!wanted) {
        ck_assert_int_eq(status, TROUPE_INVALID);
        ck_assert_uint_eq(troupe_library_count(library), 0);
    } else {
        ck_assert_msg(status == TROUPE_OK, "%s", err.text);
        troupe_function *f = graphs_find(library, troupe_library_name(library, 0));
        graphs_is(f->body, wanted);
        graphs_there_and_back(f);
        troupe_function_release(&f);
    }
    troupe_library_destroy(&library);
}
END_TEST

/* A text and how its refusal begins. */
static const struct mistake {
    const char *text, *says;
    troupe_status code;
} mistakes[] = {
    {"funktion f()", "t:1:1: the word function expected, not 'funktion'", 0},
    {"function f()\n y = Relu(x)", "t:2:11: input 0: there is no value 'x' before this line",
     0},
    {"function f", "t:1:11: '(' expected, not the end of the text", 0},
    {"function f(\n", "t:2:1: an argument expected, not the end of the text", 0},
    {"function f(x)", "t:1:13: ':' and a type expected, not ')'", 0},
    {"function f(x: )", "t:1:15: a type expected, not ')'", 0},
    {"function f(x: f32[2)", "t:1:20: ']' expected after the dimensions", 0},
    {"function f(x: f32[2,\n q%])", "t:2:3: ']' expected", 0},
    {"function f(x: f32 y)", "t:1:19: ',' or ')' expected, not 'y'", 0},
    {"function f(x: f32, y)", "t:1:21: ':' and a type", 0},
    {"function f(x: f33[2])", "t:1:15: 'f33' is not an element type", 0},
    {"function f(x: f32[2], x: f32[2])", "t:1:23: function 'f': there is a value 'x' already",
     0},
    {"function f(x: ?)", "t:1:12: function 'f': argument 'x' needs an element type", 0},
    {"function f(x: f32[2] = f32[3] [1, 2, 3])", "t:1:12: function 'f': argument 'x' is f32[2]",
     0},
    {"function f(x: f32[2] = f32[2] [1, y])", "t:1:35: ", 0},
    {"function f(x: f32[2]) -> (y)", "t:1:27: result 'y': there is no value 'y' in the body",
     0},
    {"function f(x: f32[2]) -> (y = z)", "t:1:31: result 'y': there is no value 'z'", 0},
    {"function f(x: f32[2]) -> (x, x)", "t:1:30: function 'f': there is a result 'x' already",
     0},
    {"function f(x: f32[2]) -> (x: f32[3])",
     "t:1:27: function 'f': result 'x' was declared f32[3], but value 'x' is f32[2]", 0},
    {"function f(x: f32[2]) -> (x: f32[3)", "t:1:35: ", 0},
    {"function f() y", "t:1:14: the end of the line expected, not 'y'", 0},
    {"function Relu()", "t:1:10: function 'Relu' has the name of an operator", 0},
    {"function f()\nfunction f()", "t:2:10: function 'f' is also in line 1", 0},
    {"function f(x: f32[2])\n y Relu(x)", "t:2:4: '=', ':' or '(' expected, not 'Relu'", 0},
    {"function f(x: f32[2])\n y, z Relu(x)", "t:2:7: '=' expected, not 'Relu'", 0},
    {"function f(x: f32[2])\n y = Rleu(x)",
     "t:2:6: node 'y': there is no operator or function 'Rleu'; close: 'Relu'",
     TROUPE_NOT_FOUND},
    {"function g()\nfunction f(x: f32[2])\n y = h(x)",
     "t:3:6: node 'y': there is no operator or function 'h'", TROUPE_NOT_FOUND},
    {"function f(x: f32[2])\n y = Relu(x) z", "t:2:14: the end of the line expected, not 'z'",
     0},
    {"function f(x: f32[2])\n y = Relu(x", "t:2:12: ',' or ')' expected, not the end of", 0},
    {"function f(x: f32[2])\n y = Relu(x,)", "t:2:13: an input, an attribute or ')' expected",
     0},
    {"function f(x: f32[2])\n y = Relu(x x)", "t:2:13: ',' or ')' expected, not 'x'", 0},
    {"function f(x: f32[2])\n y = Test(axis=1, x)", "t:2:19: an input comes after an attr", 0},
    {"function f(x: f32[2])\n y = Test(x, axs=1)", "t:2:14: node 'y': attribute 'axs' is unk",
     0},
    {"function f(x: f32[2])\n y = Test(x, axis=1.5)",
     "t:2:14: node 'y': attribute 'axis' is a float, not an integer", 0},
    {"function f(x: f32[2])\n y = Test(x, axis=)", "t:2:19: the value of an attribute expect",
     0},
    {"function f(x: f32[2])\n y = Test(x, axis=q)", "t:2:19: the value of an attribute expec",
     0},
    {"function f(x: f32[2])\n y = Test(x, axis=99999999999999999999)", "t:2:19: ", 0},
    {"function f(x: f32[2])\n y = Test(x, axis=1x)", "t:2:19: '1x' is not a number of", 0},
    {"function f(x: f32[2])\n y = Test(x, pads=[1, \"a\"])", "t:2:23: ", 0},
    {"function f(x: f32[2])\n y = Test(x, labels=[\"a\", 1])", "t:2:27: a string expected", 0},
    {"function f(x: f32[2])\n y = Test(x, labels=[\"\\x00\"])",
     "t:2:22: a string of a list has", 0},
    {"function f(x: f32[2])\n y = Test(x, pads=[1 2])", "t:2:22: ',' or ']' expected", 0},
    {"function f(x: f32[2])\n y = Test(x, value=f32[2] [1])", "t:2:29: ", 0},
    {"function f(x: f32[2])\n y = Test(x, body=&)", "t:2:20: the name of a function expected",
     0},
    {"function f(x: f32[2])\n y = Test(x, body=&g)",
     "t:2:6: node 'y': there is no function 'g'", TROUPE_NOT_FOUND},
    {"function f(x: f32[2])\n y = Test(x, mode=\"a\\q\")", "t:2:21: an escape is none of", 0},
    {"function f(x: f32[2])\n y = Test(x, mode=\"a\n\")", "t:2:19: a quoted text does not end",
     0},
    {"function f(x: f32[2])\n y = Split(x)", "t:2:6: node 'y': attribute 'num_outputs' is mis",
     0},
    {"function f(x: f32[2])\n y = Relu(x) @", "t:2:15: a device expected after @", 0},
    {"function f(x: f32[2])\n y = Relu(x) @cpu:", "t:2:15: node 'y': ", 0},
    {"function f(x: f32[2])\n y = Relu(x) @cpu:0 @cpu:1", "t:2:21: a second device", 0},
    {"function f(x: f32[2])\n y = Relu(x) after", "t:2:19: a graph node expected, not the end",
     0},
    {"function f(x: f32[2])\n y = Relu(x) after q",
     "t:2:20: node 'y': after 'q': no graph node", 0},
    {"function f(x: f32[2])\n y = Relu(x) after y", "t:2:20: node 'y': after 'y': no graph nod",
     0},
    {"function f(x: f32[2])\n a = Relu(x)\n y = Relu(x) after a after a", "t:3:22: a second af",
     0},
    {"function f(x: f32[2])\n a = Relu(x)\n y = Relu(x) with a, x",
     "t:3:22: node 'y': with 'x'", 0},
    {"function f(x: f32[2])\n x = Relu(x)", "t:2:6: node 'x': there is a value 'x' already", 0},
    {"function f(x: f32[2])\n y = Relu(x)\n y: z = Relu(x)",
     "t:3:9: node 'y': there is a graph node of that name already", 0},
    {"function f(x: f32[2])\n a, b = Relu(x)", "t:2:9: node 'a': 2 results where Relu has 1",
     0},
    {"function f(x: f32[2])\n _ = Relu(x)", "t:2:6: node 'Relu': result 0 'y' of Relu may not",
     0},
    {"function f()\n w = f32[2] [1]", "t:2:15: ", 0},
    {"function f()\n w = f32[2] [1, 2] @cpu:0", "t:2:20: the end of the line expected", 0},
    {"function f()\n w = f32[2]\n [1, 2]", "t:2:12: elements expected, not the end of the line",
     0},
    {"function f()\n w = f32[n] [1, 2]", "t:2:10: ", 0},
    {"function f()\n w, v = f32[2] [1, 2]", "t:2:2: a constant has one name, and not 2", 0},
    {"function f()\n _ = f32[2] [1, 2]", "t:2:2: a constant has one name", 0},
    {"function f()\n a: w = f32[2] [1, 2]", "t:2:2: a constant is no graph node", 0},
    {"function f()\n w = f32[1] [1]\n w = f32[1] [1]", "t:3:2: function 'f': there is a value",
     0},
    {"function f()\n w = f32[2] file w.npy", "t:2:18: a path in quotes expected, not 'w.npy'",
     0},
    {"function f()\n w = f32[n] file \"w.npy\"", "t:2:18: the type of 'w.npy' has unknown", 0},
    {"function f()\n w = f32[2] file \"/etc/passwd\"", "t:2:18: '/etc/passwd' is not a path b",
     0},
    {"function f()\n w = f32[2] file \"../w.npy\"", "t:2:18: '../w.npy' is not a path below",
     0},
    {"function f()\n w = f32[2] file \"a/../w.npy\"", "t:2:18: ", TROUPE_NOT_FOUND},
    {"function f()\n w = f32[2] file \"nowhere.npy\"", "t:2:18: 'nowhere.npy': No such",
     TROUPE_NOT_FOUND},
    {"function f()\n \"\" = f32[] 1", "t:2:2: a name has 0 bytes, not 1 to 4096", 0},
    {"function f()\n \"a\\x00\" = f32[] 1", "t:2:2: a name has a zero byte", 0},
    {"function f()\n $", "t:2:2: byte 0x24 means nothing here", 0},
    {"function f()\n = Relu(x)", "t:2:2: a name expected, not '='", 0},
    {"function f(x: f32[n]) -> (y)\n y = g(x)\nfunction g(x: f32[n]) -> (y)\n y = f(x)",
     "t:4:6: a circle of calls leads through 'f': declare the type of its result 'y' in line 1",
     0},
    {"function f(x: f32[n]) -> (y)\n y = f(x)", "t:2:6: a circle of calls leads through 'f'",
     0},
    {"function f(x: f32[n]) -> (y: ?)\n y = f(x)", "t:2:6: a circle of calls leads throu", 0},
    {"function f(x: f32[n])\n y = g(x)\nfunction g()",
     "t:2:6: node 'y': 1 results where g has 0", 0},
};

START_TEST(a_mistake_is_told_with_its_line_and_column)
{
    troupe_error err = {0};
    troupe_library *library = NULL;
    const struct mistake *m = &mistakes[_i];
    ck_ok(troupe_library_new(&library, &err));
    const troupe_status status =
        troupe_library_read(library, "t", m->text, strlen(m->text), &err);
    ck_assert_msg(strncmp(err.text, m->says, strlen(m->says)) == 0, "%s: not \"%s\" but \"%s\"",
                  m->text, m->says, err.text);
    ck_assert_int_eq(status, m->code ? m->code : TROUPE_INVALID);
    ck_assert_int_eq(err.code, status);
    ck_assert_uint_eq(troupe_library_count(library), 0);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(functions_stand_in_any_order_and_keep_it)
{
    troupe_library *library = graphs_library("function a(x: f32[n]) -> (y)\n    y = b(x)\n"
                                             "function b(x: f32[n]) -> (y)\n    y = c(x)\n"
                                             "function c(x: f32[n]) -> (y)\n    y = Relu(x)\n");
    char text[32];
    ck_assert_str_eq(troupe_library_name(library, 0), "a");
    ck_assert_str_eq(troupe_library_name(library, 2), "c");
    troupe_function *f = graphs_find(library, "a");
    troupe_function_result_text(f, 0, text, sizeof(text));
    ck_assert_str_eq(text, "f32[n]");
    graphs_there_and_back(f);
    troupe_function_release(&f);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(effects_are_known_all_round_a_circle)
{
    troupe_library *library = graphs_library("function a(x: f32[n]) -> (y: f32[n])\n"
                                             "    y = b(x)\n    z = b(x)\n"
                                             "function b(x: f32[n]) -> (y: f32[n])\n"
                                             "    y = c(x)\n    z = a(x)\n"
                                             "function c(x: f32[n]) -> (y: f32[n])\n"
                                             "    y = a(x)\n    Print(x)\n"
                                             "function d(x: f32[n]) -> (y: f32[n])\n"
                                             "    y = a(x)\n"
                                             "function e(x: f32[n]) -> (y: f32[n])\n"
                                             "    y = e(x)\n    z = e(x)\n");
    static const struct {
        const char *name;
        bool effects;
    } all[] = {{"a", true}, {"b", true}, {"c", true}, {"d", true}, {"e", false}};
    for (size_t i = 0; i < TP_COUNT(all); i++) {
        troupe_function *f = graphs_find(library, all[i].name);
        ck_assert_int_eq(f->body->stateful, all[i].effects);
        graphs_there_and_back(f);
        troupe_function_release(&f);
    }
    troupe_function *b = graphs_find(library, "b");
    ck_assert_str_eq(graphs_after(b->body, "z"), "y");
    troupe_function_release(&b);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_text_is_read_whole_or_not_at_all)
{
    static const char *const texts[][2] = {
        {"function g()\nfunction h(x: f32[2])\n y = Relu(z)\n", "t:3:11: "},
        {"function g()\nfunction f()\n k = f32[] 2\n",
         "t:2:10: the library has another function"},
    };
    troupe_error err;
    troupe_library *library = graphs_library("function f()\n    k = f32[] 1\n");
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        const char *text = texts[i][0];
        ck_fails(troupe_library_read(library, "t", text, strlen(text), &err), INVALID,
                 texts[i][1]);
        ck_assert_uint_eq(troupe_library_count(library), 1);
    }
    const char *good = "function f()\n    k = f32[] 1\nfunction g()\n";
    ck_ok(troupe_library_read(library, "t", good, strlen(good), &err));
    ck_assert_uint_eq(troupe_library_count(library), 2);
    ck_fails(troupe_library_read(library, "t", "function a\0b()", 14, &err), INVALID,
             "t:1:11: a zero byte");
    ck_ok(troupe_library_read(library, "t", "", 0, &err));
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_text_may_call_what_the_library_has)
{
    troupe_error err;
    troupe_library *library = graphs_library("function f(x: f32[n]) -> (x)\n    Print(x)\n");
    const char *text = "function g(x: f32[n])\n    a = f(x)\n    b = f(x)\n";
    ck_ok(troupe_library_read(library, "t", text, strlen(text), &err));
    troupe_function *g = graphs_find(library, "g");
    ck_assert_str_eq(graphs_after(g->body, "b"), "a");
    ck_assert_uint_eq(g->body->nodes[1].line, 3);
    ck_assert_str_eq(g->body->source, "t");
    graphs_there_and_back(g);
    troupe_function_release(&g);
    troupe_library_destroy(&library);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_text");
    TCase *t = tcase_create("text");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_text_is_printed_in_one_form_and_read_back, 0,
                        (int)TP_COUNT(corpus));
    tcase_add_loop_test(t, a_mistake_is_told_with_its_line_and_column, 0,
                        (int)TP_COUNT(mistakes));
    tcase_add_test(t, functions_stand_in_any_order_and_keep_it);
    tcase_add_test(t, effects_are_known_all_round_a_circle);
    tcase_add_test(t, a_text_is_read_whole_or_not_at_all);
    tcase_add_test(t, a_text_may_call_what_the_library_has);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
