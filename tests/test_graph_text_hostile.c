/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_text_hostile.c - texts that are cut, wrong, endless, or random; and no memory to read them.
 *
 * The ops are those of ops_fake.c, one of which has an attribute of every kind.
 */
#include <stdlib.h>

#include "tests/graphs.h"

/* Another. */
static const char other_text[] =
    "function f(x: f32[n]) -> (y: f32[n])\n"
    "    y, \"o p\" = g(x, x) # a comment\n"
    "function g(a: f32[n], b: f32[n] = f32[1] [1]) -> (y: f32[n], \"o p\": f32[n] = y)\n"
    "    y = f(a)\n"
    "    Print(y) @*\n";

START_TEST(a_text_that_is_cut_is_read_or_refused)
{
    const char *text = _i ? graphs_round : other_text;
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
        char text[2048];
        const uint32_t size = (uint32_t)strlen(graphs_round);
        memcpy(text, graphs_round, size + 1);
        for (uint32_t n = 1 + graphs_roll(&dice, 4); n > 0; n--)
            text[graphs_roll(&dice, size)] = bytes[graphs_roll(&dice, sizeof(bytes))];
        ck_ok(troupe_library_new(&library, &err));
        const troupe_status status =
            troupe_library_read(library, "t", text, strlen(text), &err);
        for (size_t i = 0; status == TROUPE_OK && i < troupe_library_count(library); i++) {
            troupe_function *f = graphs_find(library, troupe_library_name(library, i));
            graphs_there_and_back(f);
            troupe_function_release(&f);
        }
        troupe_library_destroy(&library);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

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
    char *text = graphs_repeat(texts[_i].head, texts[_i].part, 60000, texts[_i].tail);
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

START_TEST(random_functions_come_back_equal)
{
    troupe_function *f = graphs_random((uint64_t)_i);
    graphs_there_and_back(f);
    troupe_function_release(&f);
}
END_TEST

static troupe_status read_and_print(troupe_library *library, troupe_function **f, char **text,
                                    troupe_error *err)
{
    TP_TRY(troupe_library_read(library, "t", graphs_round, strlen(graphs_round), err));
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
    Suite *s = suite_create("graph_text_hostile");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_text_that_is_cut_is_read_or_refused, 0, 2);
    tcase_add_loop_test(t, a_text_with_wrong_bytes_is_read_or_refused, 0, 100);
    tcase_add_loop_test(t, texts_without_measure_are_refused_or_read_in_time, 0, 19);
    tcase_add_loop_test(t, random_functions_come_back_equal, 0, 500);
    tcase_add_test(t, without_memory_they_say_so_and_leave_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
