/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_text.c - the text form: what is read, what is printed, that the one undoes
 * the other, and what is refused where.
 *
 * The ops are those of ops_fake.c, one of which has an attribute of every kind.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/show.h"
#include "tensor/tensor.h"
#include "tests/graphs.h"

static bool same_hash(const troupe_function *a, const troupe_function *b)
{
    uint8_t x[16], y[16];
    troupe_function_hash(a, x);
    troupe_function_hash(b, y);
    return memcmp(x, y, sizeof(x)) == 0;
}

/* What the function prints is read as a function that is equal and prints the same. */
static void there_and_back(const troupe_function *f)
{
    troupe_error err;
    char *text = graphs_print(f);
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    const troupe_status status = troupe_library_read(library, "back", text, strlen(text), &err);
    ck_assert_msg(status == TROUPE_OK, "%s\n%s", err.text, text);
    troupe_function *back = graphs_find(library, troupe_function_name(f));
    char *again = graphs_print(back);
    ck_assert_str_eq(text, again);
    ck_assert_msg(same_hash(f, back), "%s", text);
    tp_free(again);
    tp_free(text);
    troupe_function_release(&back);
    troupe_library_destroy(&library);
}

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
        there_and_back(f);
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

static const char whole_text[] =
    "# two functions that call each other\n"
    "function f(x: f32[n,\"a b\"], w: f32[2] = f32[2] [1, 2]) -> (y: f32[n,?], z: f32[2] = w)\n"
    "    k = f32[2,2] [[1, 2], [3, 4]]\n"
    "    p: Print(x) @\"/job:a/device:cpu:0\"\n"
    "    s, t = Split(x, axis=0, num_outputs=2) after p @cpu:1\n"
    "    u = Test(s, alpha=1, mode=\"a\\x00\", pads=[1, -2], scales=[1, 2.5, -inf],\n"
    "             labels=[\"x\"], value=f32[2] [1, 2], to=f16, body=&g) with s\n"
    "    c, _ = Dropout(u)\n"
    "    v = Clip(u, -, c)\n"
    "    y, _ = g(x, w)\n"
    "function g(a: f32[n,m], b: f32[...]) -> (y: f32[n,m], \"o p\" = r)\n"
    "    r, q = f(a, b)\n"
    "    y = Relu(a) after r, \"r\"\n";

/* It has two results here and one there. */
static const char other_text[] =
    "function f(x: f32[n]) -> (y: f32[n])\n"
    "    y, \"o p\" = g(x, x) # a comment\n"
    "function g(a: f32[n], b: f32[n] = f32[1] [1]) -> (y: f32[n], \"o p\": f32[n] = y)\n"
    "    y = f(a)\n"
    "    Print(y) @*\n";

START_TEST(a_text_that_is_cut_is_read_or_refused)
{
    const char *text = _i ? whole_text : other_text;
    const size_t pieces = tp_alloc_pieces(), size = strlen(text);
    for (size_t cut = 0; cut <= size; cut++) {
        troupe_error err;
        troupe_library *library = NULL;
        ck_ok(troupe_library_new(&library, &err));
        char *exact = malloc(cut ? cut : 1); /* so that a sanitizer sees its end */
        memcpy(exact, text, cut);
        const troupe_status status = troupe_library_read(library, "t", exact, cut, &err);
        free(exact);
        if (status < 0) {
            ck_assert(strncmp(err.text, "t:", 2) == 0);
            ck_assert_uint_eq(troupe_library_count(library), 0);
        }
        troupe_library_destroy(&library);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_text_with_wrong_bytes_is_read_or_refused)
{
    static const char bytes[] = "\"\\()[],:=@&-#\n 0aZ._?\xff";
    struct graphs_dice dice = {(uint64_t)_i};
    const size_t pieces = tp_alloc_pieces();
    for (int round = 0; round < 20; round++) {
        troupe_error err;
        troupe_library *library = NULL;
        char text[sizeof(whole_text)];
        memcpy(text, whole_text, sizeof(text));
        for (uint32_t n = 1 + graphs_roll(&dice, 4); n > 0; n--)
            text[graphs_roll(&dice, sizeof(text) - 1)] =
                bytes[graphs_roll(&dice, sizeof(bytes))];
        ck_ok(troupe_library_new(&library, &err));
        const troupe_status status =
            troupe_library_read(library, "t", text, strlen(text), &err);
        for (size_t i = 0; status == TROUPE_OK && i < troupe_library_count(library); i++) {
            troupe_function *f = graphs_find(library, troupe_library_name(library, i));
            there_and_back(f);
            troupe_function_release(&f);
        }
        troupe_library_destroy(&library);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
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
    there_and_back(f);
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
        there_and_back(f);
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
    there_and_back(g);
    troupe_function_release(&g);
    troupe_library_destroy(&library);
}
END_TEST

/* --- constants in files
 * ------------------------------------------------------------------------------ */

struct folder {
    char path[64];
};

static void put_tensor(const struct folder *folder, const char *name, const char *text)
{
    troupe_error err;
    troupe_tensor *t = NULL;
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    ck_ok(troupe_tensor_parse(&t, text, &err));
    ck_ok(troupe_tensor_write_npy(t, path, &err));
    troupe_tensor_release(&t);
}

static void make_folder(struct folder *folder)
{
    char path[160], target[160];
    strcpy(folder->path, "/tmp/graph-text-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder->path));
    snprintf(path, sizeof(path), "%s/in", folder->path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/in/deep", folder->path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    put_tensor(folder, "outside.npy", "f32[2] [7, 8]");
    put_tensor(folder, "in/w.npy", "f32[2] [1, 2]");
    put_tensor(folder, "in/deep/v.npy", "f32[2,1] [[3], [4]]");
    snprintf(path, sizeof(path), "%s/in/link.npy", folder->path);
    ck_assert_int_eq(symlink("../outside.npy", path), 0);
    snprintf(path, sizeof(path), "%s/in/out", folder->path);
    ck_assert_int_eq(symlink("..", path), 0);
    snprintf(path, sizeof(path), "%s/in/pipe.npy", folder->path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    snprintf(target, sizeof(target), "%s/in/bad.npy", folder->path);
    FILE *file = fopen(target, "w");
    fputs("no numbers", file);
    fclose(file);
}

static void remove_folder(const struct folder *folder)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder->path);
    ck_assert_int_eq(system(command), 0);
}

static troupe_status read_beside(const struct folder *folder, const char *text,
                                 troupe_library *library, troupe_error *err)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/in/f.troupe", folder->path);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return troupe_library_read_file(library, path, err);
}

START_TEST(a_constant_may_be_in_a_file_beside_the_text)
{
    troupe_error err;
    struct folder folder;
    troupe_library *library = NULL;
    make_folder(&folder);
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(read_beside(
        &folder,
        "function f() -> (w, v)\n    w = f32[2] file \"w.npy\"\n"
        "    v = f32[2,1] file \"./deep/v.npy\"\n"
        "function g() -> (w, v)\n    w = f32[2] [1, 2]\n    v = f32[2,1] [[3], [4]]\n",
        library, &err));
    troupe_function *f = graphs_find(library, "f"), *g = graphs_find(library, "g");
    graphs_is(f->body,
              "function f() -> (w: f32[2], v: f32[2,1])\n    w = f32[2] file \"w.npy\"\n"
              "    v = f32[2,1] file \"./deep/v.npy\"\n");
    ck_assert_mem_eq(f->body->values[0].content, g->body->values[0].content, 16);
    ck_assert_mem_eq(f->body->values[1].content, g->body->values[1].content, 16);
    troupe_function_release(&f);
    troupe_function_release(&g);
    troupe_library_destroy(&library);
    remove_folder(&folder);
}
END_TEST

START_TEST(a_text_reads_nothing_outside_its_folder)
{
    static const struct {
        const char *path, *word;
        troupe_status code;
    } paths[] = {
        {"../outside.npy", "is not a path below", TROUPE_INVALID},
        {"deep/../../outside.npy", "is not a path below", TROUPE_INVALID},
        {"/etc/hostname", "is not a path below", TROUPE_INVALID},
        {"link.npy", "leads over a symbolic link", TROUPE_INVALID},
        {"out/outside.npy", "leads over a symbolic link", TROUPE_INVALID},
        {"pipe.npy", "no regular file", TROUPE_INVALID},
        {"deep", "no regular file", TROUPE_INVALID},
        {"w.npy/x", "Not a directory", TROUPE_NOT_FOUND},
        {"none.npy", "No such file", TROUPE_NOT_FOUND},
        {"deep//v.npy", "is not a path below", TROUPE_INVALID},
        {"deep/v.npy", "'deep/v.npy' holds f32[2,1], not f32[2]", TROUPE_INVALID},
        {"bad.npy", "bad.npy", TROUPE_CORRUPT},
    };
    troupe_error err;
    struct folder folder;
    make_folder(&folder);
    for (size_t i = 0; i < TP_COUNT(paths); i++) {
        char text[200];
        troupe_library *library = NULL;
        ck_ok(troupe_library_new(&library, &err));
        snprintf(text, sizeof(text), "function f()\n w = f32[2] file \"%s\"\n", paths[i].path);
        ck_assert_int_eq(read_beside(&folder, text, library, &err), paths[i].code);
        ck_assert_msg(strstr(err.text, paths[i].word), "%s: %s", paths[i].path, err.text);
        ck_assert_msg(strstr(err.text, "f.troupe:2:18: "), "%s", err.text);
        troupe_library_destroy(&library);
    }
    remove_folder(&folder);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_not_found)
{
    troupe_error err;
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_fails(troupe_library_read_file(library, "/nowhere/f.troupe", &err), NOT_FOUND,
             "/nowhere/f.troupe: cannot be opened");
    ck_fails(troupe_library_read_file(library, "/tmp", &err), INVALID, "/tmp: cannot be read");
    troupe_library_destroy(&library);
}
END_TEST

/* --- limits
 * ----------------------------------------------------------------------------------------- */

/* head, n times part, tail */
static char *repeat(const char *head, const char *part, size_t n, const char *tail)
{
    troupe_error err;
    char *out = NULL;
    struct tp_text text = {0};
    tp_text_add(&text, "%s", head);
    for (size_t i = 0; i < n; i++)
        tp_text_add(&text, "%s", part);
    tp_text_add(&text, "%s", tail);
    ck_ok(tp_text_take(&text, &out, &err));
    return out;
}

START_TEST(texts_without_measure_are_refused_or_read_in_time)
{
    static const struct {
        const char *head, *part, *tail, *word;
    } texts[] = {
        {"", "(", "", "the word function expected"},
        {"function f(x: f32[2])\n y = Relu", "(", "", "an input, an attribute"},
        {"function f(x: f32[2])\n y = Test(x, pads=", "[", "", "not a number"},
        {"function f(x: f32", "[", "", "']' expected after"},
        {"function f()\n w = f32[1]", "[", "", "not a number"},
        {"function f()\n w = f32[", "1,", "", "']' expected after"},
        {"function ", "a", "()", "bytes, not 1 to 4096"},
        {"function f()\n \"", "\\x41", "\" = f32[] 1", "bytes, not 1 to 4096"},
        {"function f(x: f32[", "a", "])", "longer than 4096"},
        {"function f(x: f32[n])\n y = Test(x, ", "axis=1, ", "axis=1)", "given twice"},
        {"function f()\n w = i64[] ", "9", "\n", ""},
        {"function f()\n w = f64[] ", "9", "\n", ""},
        {"", "\n# comment", "\nfunction f()", NULL},
        {"function f(x: f32[2])\n y, z", ", _", " = Split(x, num_outputs=1)",
         "may not be absent"},
        {"function f(x: f32[n])\n y = Test(x, pads=[", "1,", "1])", NULL},
        {"function f(x: f32[n])\n y = Test(x, mode=\"", "\\x00", "\")", NULL},
        {"function f(x: f32[n])\n", "Print(x)\n", "", NULL},
        {"function f()\n w = i64[60001] [", "1, ", "1]\n", NULL},
        {"function f(x: f32[n])\n y = Relu(x) after ", "Relu_0, ", "Relu_0\n", "no graph node"},
    };
    const size_t pieces = tp_alloc_pieces();
    troupe_error err;
    troupe_library *library = NULL;
    char *text = repeat(texts[_i].head, texts[_i].part, 60000, texts[_i].tail);
    ck_ok(troupe_library_new(&library, &err));
    const troupe_status status = troupe_library_read(library, "t", text, strlen(text), &err);
    if (texts[_i].word) {
        ck_assert_int_eq(status, TROUPE_INVALID);
        ck_assert_msg(strstr(err.text, texts[_i].word), "%s", err.text);
    } else {
        ck_assert_msg(status == TROUPE_OK, "%s", err.text);
    }
    tp_free(text);
    troupe_library_destroy(&library);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

/* --- random functions
 * ----------------------------------------------------------------------------- */

struct maker {
    struct graphs_dice dice;
    troupe_builder *b;
    troupe_library *library;
    troupe_value values[64];
    uint32_t n_values;
    char nodes[64][40]; /* names */
    uint32_t n_nodes, named;
};

static uint32_t roll(struct maker *m, uint32_t n)
{
    return graphs_roll(&m->dice, n);
}

/* A name that nobody has, mostly plain, sometimes of any bytes. */
static void new_name(struct maker *m, char name[40])
{
    static const char odd[] = "ab \"\\\n\t\x01\x7f\xc3\xa4\xff:/.-#=(),@0";
    const int size = snprintf(name, 40, "%c%u", "vxyz"[roll(m, 4)], m -> named++);
    if (roll(m, 4)) return;
    int at = size;
    for (uint32_t n = 1 + roll(m, 12); n > 0; n--)
        name[at++] = odd[roll(m, sizeof(odd) - 1)];
    name[at] = 0;
}

static double random_float(struct maker *m)
{
    static const double some[] = {0, -0.0, 1, -1.5, 1e300, 5e-324, 0.1, 1.0 / 3, 12345678};
    const uint32_t k = roll(m, 11);
    if (k == 9) return (double)NAN;
    if (k == 10) return -(double)INFINITY;
    return some[k];
}

static int64_t random_int(struct maker *m)
{
    static const int64_t some[] = {0, 1, -1, 7, INT64_MAX, INT64_MIN, 1000000};
    return some[roll(m, 7)];
}

static troupe_tensor *random_tensor(struct maker *m)
{
    static const char *const texts[] = {
        "f32[2] [1.5, -0]",
        "i64[] -7",
        "bool[2,1] [[true], [false]]",
        "string[2] [\"a\\\"\", \"\"]",
        "f16[1] [0.5]",
        "u8[0] []",
        "f64[1,1,2] [[[0.1, inf]]]",
        "bf16[3] [1, 2, 3]",
        "i8[2] [-128, 127]",
    };
    troupe_error err;
    troupe_tensor *t = NULL;
    ck_ok(troupe_tensor_parse(&t, texts[roll(m, 9)], &err));
    return t;
}

/* The lists that attributes borrow for one graph node. */
struct loans {
    int64_t ints[4];
    double floats[4];
    const char *texts[4];
    troupe_tensor *tensor;
};

static void random_attr(struct maker *m, struct loans *loans, int kind, troupe_attr *attr)
{
    static const char *const names[] = {NULL,     "axis",   "alpha", "mode", "pads",
                                        "scales", "labels", "value", "to",   "body"};
    static const char *const words[] = {"", "a", "two words", "\xff\"\\\n"};
    attr->name = names[kind];
    attr->kind = (troupe_attr_kind)kind;
    attr->n = roll(m, 5);
    for (size_t i = 0; i < 4; i++) {
        if (kind == TROUPE_ATTR_INTS) loans->ints[i] = random_int(m);
        if (kind == TROUPE_ATTR_FLOATS) loans->floats[i] = random_float(m);
        if (kind == TROUPE_ATTR_STRINGS) loans->texts[i] = words[roll(m, 4)];
    }
    if (kind == TROUPE_ATTR_INT) attr->i = random_int(m);
    if (kind == TROUPE_ATTR_FLOAT) attr->f = random_float(m);
    if (kind == TROUPE_ATTR_STRING) attr->text = "z\0\n\xfe";
    if (kind == TROUPE_ATTR_INTS) attr->ints = loans->ints;
    if (kind == TROUPE_ATTR_FLOATS) attr->floats = loans->floats;
    if (kind == TROUPE_ATTR_STRINGS) attr->texts = loans->texts;
    if (kind == TROUPE_ATTR_TENSOR) attr->tensor = loans->tensor = random_tensor(m);
    if (kind == TROUPE_ATTR_DTYPE) attr->dtype = (troupe_dtype)(1 + roll(m, 14));
    if (kind == TROUPE_ATTR_FUNCTION) attr->text = "called";
}

static troupe_value any_value(struct maker *m)
{
    return m->values[roll(m, m->n_values)];
}

static void random_clauses(struct maker *m, troupe_node *node, const char **names)
{
    static const char *const devices[] = {"cpu:0",       "/job:a",
                                          "CPU:1",       "/job:b/task:3/device:opencl:2",
                                          "/device:cpu", "/replica:2/task:0"};
    if (roll(m, 3) == 0) node->device = devices[roll(m, 6)];
    node->after = names;
    node->with = names + 4;
    if (m->n_nodes == 0) return;
    node->n_after = roll(m, 4) ? 0 : 1 + roll(m, 3);
    node->n_with = roll(m, 4) ? 0 : 1 + roll(m, 3);
    for (size_t i = 0; i < 8; i++)
        names[i] = m->nodes[roll(m, m->n_nodes)];
}

static void add_random_node(struct maker *m)
{
    static const char *const ops[] = {"Add",  "Relu",    "Print", "Test",
                                      "Clip", "Dropout", "Split", NULL};
    troupe_error err;
    struct loans loans = {.tensor = NULL};
    troupe_attr attrs[10] = {{0}};
    const char *names[8], *results[3] = {NULL, NULL, NULL};
    char result_names[3][40];
    troupe_value inputs[3], made[3];
    troupe_node node = {.size = sizeof(node), .op = ops[roll(m, 8)], .inputs = inputs};
    const char *op = node.op ? node.op : "";
    node.n_inputs = strcmp(op, "Add") == 0 ? 2 : strcmp(op, "Clip") == 0 ? 1 + roll(m, 3) : 1;
    for (size_t i = 0; i < 3; i++)
        inputs[i] = any_value(m);
    if (strcmp(op, "Clip") == 0 && roll(m, 2)) inputs[1] = TROUPE_NO_VALUE;
    if (!node.op) node.function = "called";
    node.n_results = strcmp(op, "Print") == 0 ? 0 : 1;
    if (!*op || strcmp(op, "Dropout") == 0 || strcmp(op, "Split") == 0) node.n_results = 2;
    for (size_t i = 0; i < node.n_results; i++) {
        new_name(m, result_names[i]);
        if (roll(m, 5)) results[i] = result_names[i];
        if ((!*op || (strcmp(op, "Dropout") == 0 && i == 1)) && roll(m, 3) == 0)
            results[i] = "";
    }
    node.result_names = results;
    node.attrs = attrs;
    if (strcmp(op, "Split") == 0) {
        attrs[node.n_attrs++] =
            (troupe_attr){.name = "num_outputs", .kind = TROUPE_ATTR_INT, .i = 2};
    }
    for (int kind = 1; kind < 10 && strcmp(op, "Test") == 0; kind++) {
        if (roll(m, 2)) random_attr(m, &loans, kind, &attrs[node.n_attrs++]);
    }
    random_clauses(m, &node, names);
    new_name(m, m->nodes[m->n_nodes]);
    if (roll(m, 3) == 0) node.name = m->nodes[m->n_nodes];
    ck_ok(troupe_builder_node(m->b, &node, made, &err));
    troupe_tensor_release(&loans.tensor);
    for (size_t i = 0; i < node.n_results; i++) {
        if (made[i] != TROUPE_NO_VALUE && strcmp(op, "Dropout") != 0 && m->n_values < 64)
            m->values[m->n_values++] = made[i];
    }
    if (node.name) m->n_nodes++; /* others can name it */
}

static void add_random_constant(struct maker *m)
{
    troupe_error err;
    char name[40];
    troupe_tensor *t = random_tensor(m);
    new_name(m, name);
    ck_ok(troupe_builder_constant(m->b, roll(m, 3) ? name : NULL, t, NULL, &err));
    troupe_tensor_release(&t);
}

static void add_random_args(struct maker *m)
{
    static const char *const types[] = {"f32[n]", "f32[?]", "f32[2]", "f32[\"a b\"]",
                                        "f32[...]"};
    troupe_error err;
    for (uint32_t n = 1 + roll(m, 3); n > 0; n--) {
        char name[40];
        troupe_tensor *t = NULL;
        new_name(m, name);
        if (roll(m, 4) == 0) ck_ok(troupe_tensor_parse(&t, "f32[2] [1, 0.1]", &err));
        ck_ok(troupe_builder_arg_default(m->b, name, t ? "f32[2]" : types[roll(m, 5)], t,
                                         &m->values[m->n_values++], &err));
        troupe_tensor_release(&t);
    }
}

static troupe_function *random_function(struct maker *m)
{
    troupe_error err;
    troupe_function *f = NULL;
    m->library =
        graphs_library("function called(x: f32[...], y: f32[?] = f32[1] [1]) -> (a, b)\n"
                       "    a = Relu(x)\n    b = inner(y)\n    Print(b)\n"
                       "function inner(y: f32[k]) -> (z)\n    z = Relu(y)\n");
    ck_ok(troupe_builder_new(&m->b, roll(m, 2) ? "made" : "made of\nbytes\xff", m->library,
                             &err));
    add_random_args(m);
    for (uint32_t n = roll(m, 20); n > 0; n--) {
        if (roll(m, 5) == 0)
            add_random_constant(m);
        else
            add_random_node(m);
    }
    for (uint32_t n = roll(m, 4); n > 0; n--) {
        char name[40];
        new_name(m, name);
        ck_ok(troupe_builder_result(m->b, name, any_value(m), &err));
    }
    ck_ok(troupe_builder_finish(&m->b, &f, &err));
    troupe_library_destroy(&m->library);
    return f;
}

START_TEST(random_functions_come_back_equal)
{
    struct maker m = {.dice = {(uint64_t)_i}};
    troupe_function *f = random_function(&m);
    there_and_back(f);
    troupe_function_release(&f);
}
END_TEST

/* --- the other forms
 * -------------------------------------------------------------------------------- */

START_TEST(json_says_all_of_a_function)
{
    troupe_error err;
    char *text = NULL;
    troupe_library *library = graphs_library(whole_text);
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
    struct maker m = {.dice = {(uint64_t)_i}};
    troupe_error err;
    char *text = NULL;
    troupe_function *f = random_function(&m);
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
    char *source = repeat("function f()\n    w = i64[100] [", "1, ", 99, "1]\n");
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

static troupe_status read_and_print(troupe_library *library, troupe_function **f, char **text,
                                    troupe_error *err)
{
    TP_TRY(troupe_library_read(library, "t", whole_text, strlen(whole_text), err));
    TP_TRY(troupe_library_find(library, "f", f, err));
    for (int format = TROUPE_TEXT; format <= TROUPE_DOT; format++) {
        troupe_free(*text);
        *text = NULL;
        TP_TRY(troupe_function_print(*f, (troupe_format)format, text, err));
    }
    return TROUPE_OK;
}

static troupe_status whole(troupe_error *err)
{
    troupe_library *library = NULL;
    troupe_function *f = NULL;
    char *text = NULL;
    TP_TRY(troupe_library_new(&library, err));
    const troupe_status status = read_and_print(library, &f, &text, err);
    troupe_free(text);
    troupe_function_release(&f);
    troupe_library_destroy(&library);
    return status;
}

START_TEST(without_memory_they_say_so_and_leave_nothing)
{
    graphs_starve(whole);
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
    tcase_add_loop_test(t, a_text_that_is_cut_is_read_or_refused, 0, 2);
    tcase_add_loop_test(t, a_text_with_wrong_bytes_is_read_or_refused, 0, 100);
    tcase_add_test(t, functions_stand_in_any_order_and_keep_it);
    tcase_add_test(t, effects_are_known_all_round_a_circle);
    tcase_add_test(t, a_text_is_read_whole_or_not_at_all);
    tcase_add_test(t, a_text_may_call_what_the_library_has);
    tcase_add_test(t, a_constant_may_be_in_a_file_beside_the_text);
    tcase_add_test(t, a_text_reads_nothing_outside_its_folder);
    tcase_add_test(t, a_file_that_is_not_there_is_not_found);
    tcase_add_loop_test(t, texts_without_measure_are_refused_or_read_in_time, 0, 19);
    tcase_add_loop_test(t, random_functions_come_back_equal, 0, 500);
    tcase_add_test(t, json_says_all_of_a_function);
    tcase_add_loop_test(t, json_of_names_that_are_no_utf8_can_be_read, 0, 50);
    tcase_add_test(t, a_large_constant_is_a_hash_in_json);
    tcase_add_test(t, dot_draws_every_node_and_edge);
    tcase_add_test(t, without_memory_they_say_so_and_leave_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
