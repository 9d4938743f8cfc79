/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_args.c - a call with the wrong number, types or shapes of arguments: the
 * argument's name, what was given, and what is expected.
 */
#include "tests/rehearsal.h"
#include "tests/stand.h"

#define MOST 5

static const char text[] = "function f(x: f32[n,4], w: f32[4] = f32[4] [1, 2, 3, 4], k: "
                           "i64[2], s: string[...], z: f32[n] = f32[1] [0]) -> (y)\n"
                           "    a = Mul(x, w)\n"
                           "    y = Reshape(a, k) @cpu:1\n";

static const char x[] = "f32[1,4] [[1, 2, 3, 4]]", k[] = "i64[2] [2, 2]",
                  s[] = "string[] \"a\"";

/* "": an argument that is not given. */
static const struct {
    const char *args[MOST];
    size_t n_args, n_results;
    const char *words;
} rows[] = {
    {{x, "", k}, 3, 1, "function 'f' takes 5 arguments, not 3"},
    {{0}, 0, 1, "function 'f' takes 5 arguments, not 0"},
    {{x, "", k, s}, 5, 0, "function 'f' gives 1 results, not 0"},
    {{x, "", k, s}, 5, 2, "function 'f' gives 1 results, not 2"},
    {{"", "", k, s}, 5, 1, "argument 'x' (f32[n,4]) is missing and has no default"},
    {{x, "", k, ""}, 5, 1, "argument 's' (string[...]) is missing and has no default"},
    {{"f64[1,4] [[1, 2, 3, 4]]", "", k, s},
     5,
     1,
     "function 'f': argument 'x' is f64[1,4], not f32[n,4]"},
    {{"f32[1,3] [[1, 2, 3]]", "", k, s},
     5,
     1,
     "function 'f': argument 'x' is f32[1,3], not f32[n,4]"},
    {{"f32[4] [1, 2, 3, 4]", "", k, s},
     5,
     1,
     "function 'f': argument 'x' is f32[4], not f32[n,4]"},
    {{"f32[] 1", "", k, s}, 5, 1, "function 'f': argument 'x' is f32[], not f32[n,4]"},
    {{x, "f32[3] [1, 2, 3]", k, s}, 5, 1, "function 'f': argument 'w' is f32[3], not f32[4]"},
    {{x, "", "i32[2] [2, 2]", s}, 5, 1, "function 'f': argument 'k' is i32[2], not i64[2]"},
    {{x, "", "i64[3] [2, 2, 1]", s}, 5, 1, "function 'f': argument 'k' is i64[3], not i64[2]"},
    {{x, "", k, "i64[1] [1]"}, 5, 1, "function 'f': argument 's' is i64[1], not string[...]"},
    {{"f32[1,0] [[]]", "", k, s}, 5, 1, "function 'f': argument 'x' is f32[1,0], not f32[n,4]"},
    {{x, "", k, s, "f32[2] [1, 2]"},
     5,
     1,
     "function 'f': argument 'z' is f32[2]: its dimension 0, n, is 2 where another argument "
     "has 1"},
    {{s, s, s, s}, 5, 1, "function 'f': argument 'x' is string[], not f32[n,4]"},
};

static void fill(int row, const troupe_tensor **args)
{
    for (size_t i = 0; i < MOST; i++) {
        const char *given = i < rows[row].n_args ? rows[row].args[i] : "";
        args[i] = given && *given ? value_of(given) : NULL;
    }
}

static void drop(const troupe_tensor **args)
{
    for (size_t i = 0; i < MOST; i++) {
        troupe_tensor *mine = (troupe_tensor *)(uintptr_t)args[i];
        troupe_tensor_release(&mine);
    }
}

static void ck_words(const troupe_error *err, int row)
{
    ck_assert_int_eq(err->code, TROUPE_INVALID);
    ck_assert_msg(strstr(err->text, rows[row].words), "no \"%s\" in \"%s\"", rows[row].words,
                  err->text);
}

/* Before and after the plan for right arguments is known. */
START_TEST(a_run_with_wrong_arguments_names_the_argument_what_was_given_and_what_is_expected)
{
    struct stand stand = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of(text, NULL);
    const troupe_tensor *args[MOST];
    fill(_i, args);
    for (int i = 0; i < 2; i++) {
        troupe_error err = {.code = TROUPE_OK};
        troupe_tensor *results[2] = {NULL};
        (void)!troupe_run(stand.runtime, f, args, rows[_i].n_args, results, rows[_i].n_results,
                          NULL, &err);
        ck_words(&err, _i);
        ck_assert_ptr_null(results[0]);
        ck_ran(&stand, RUN(&stand, f, NULL, x, "", k, s, ""));
    }
    drop(args);
    troupe_function_release(&f);
    stand_close(&stand);
}
END_TEST

START_TEST(a_call_with_wrong_arguments_ends_with_the_same_words)
{
    struct stand stand = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_of(text, NULL);
    const troupe_tensor *args[MOST];
    struct outcome outcome = {0};
    uint64_t call = 0;
    troupe_error err = {.code = TROUPE_OK};
    if (rows[_i].n_results == 1) {
        fill(_i, args);
        if (!troupe_call(stand.runtime, f, args, rows[_i].n_args, NULL, outcome_note, &outcome,
                         &call, &err)) {
            ck_assert_int_eq(troupe_wait(stand.runtime, call, -1), TROUPE_OK);
            err = outcome.error;
            ck_assert_int_eq(outcome.ended, 1);
        }
        ck_words(&err, _i);
        drop(args);
    }
    troupe_function_release(&f);
    stand_close(&stand);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime_args");
    TCase *t = tcase_create("arguments");
    tcase_add_loop_test(
        t, a_run_with_wrong_arguments_names_the_argument_what_was_given_and_what_is_expected, 0,
        (int)TP_COUNT(rows));
    tcase_add_loop_test(t, a_call_with_wrong_arguments_ends_with_the_same_words, 0,
                        (int)TP_COUNT(rows));
    suite_add_tcase(suite, t);
    return test_run(suite);
}
