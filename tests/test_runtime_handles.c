/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_handles.c - what a program holds: numbers of calls, what it attached to
 * them, functions and runtimes that are sealed, closed or gone.
 */
#include "actors/caller.h"
#include "tests/stand.h"

/* -- Numbers ------------------------------------------------------------------------------- */

START_TEST(the_number_of_a_call_comes_apart_as_it_was_put_together)
{
    static const uint64_t callers[] = {0, 1, 511, TP_CALLERS_MAX - 1},
                          slots[] = {0, 1, 65536, TP_CHUNK * TP_CHUNKS - 1},
                          generations[] = {1, 2, UINT64_C(1) << 36,
                                           (UINT64_C(1) << TP_GENERATION_BITS) - 1};
    for (size_t i = 0; i < 64; i++) {
        const uint64_t caller = callers[i / 16], slot = slots[i / 4 % 4],
                       generation = generations[i % 4];
        const uint64_t number = tp_call_number(caller, slot, generation);
        ck_assert_uint_eq(tp_call_caller(number), caller);
        ck_assert_uint_eq(tp_call_slot(number), slot);
        ck_assert_uint_eq(tp_call_generation(number), generation);
    }
}
END_TEST

/* Each part of a good number is changed in turn. */
START_TEST(a_number_with_one_part_of_another_call_is_not_found)
{
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1);
    struct outcome outcome = {0};
    uint64_t steps, all;
    const uint64_t call =
        outcome_call(s.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcome);
    const uint64_t caller = tp_call_caller(call), slot = tp_call_slot(call),
                   generation = tp_call_generation(call);
    const uint64_t wrong[] = {tp_call_number(caller + 1, slot, generation),
                              tp_call_number(TP_CALLERS_MAX, slot, 1),
                              tp_call_number(caller, slot + 1, generation),
                              tp_call_number(caller, TP_CHUNK, generation),
                              tp_call_number(caller, slot, 0),
                              tp_call_number(caller, slot, generation + 1)};
    ck_assert_int_eq(troupe_progress(s.runtime, call, &steps, &all), TROUPE_OK);
    for (size_t i = 0; i < TP_COUNT(wrong); i++) {
        ck_assert_int_eq(troupe_progress(s.runtime, wrong[i], &steps, &all), TROUPE_NOT_FOUND);
        if (wrong[i]) ck_assert_int_eq(troupe_wait(s.runtime, wrong[i], 0), TROUPE_NOT_FOUND);
        troupe_cancel(s.runtime, wrong[i]);
    }
    ck_assert_int_eq(troupe_wait(s.runtime, call, -1), TROUPE_OK);
    ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
    outcome_clear(&outcome);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* -- What a caller attaches ---------------------------------------------------------------- */

struct seen {
    void *args[4];
    int n;
};
static struct seen seen;

static void note_arg(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                     size_t n)
{
    (void)results;
    ck_assert_msg(!error->code, "%s", error->text);
    ck_assert_uint_eq(n, 2);
    seen.args[seen.n++] = arg;
}

/* None, one, and one for two calls. */
START_TEST(what_is_attached_to_a_call_is_given_to_its_end_also_nothing)
{
    troupe_error err;
    int mine = 0, shared = 0;
    void *const args[4] = {NULL, &mine, &shared, &shared};
    uint64_t calls[4] = {0};
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1);
    seen = (struct seen){.n = 0};
    for (int i = 0; i < 4; i++)
        ck_ok(troupe_call(s.runtime, f, (const troupe_tensor *const[]){x}, 1, NULL, note_arg,
                          args[i], i ? &calls[i] : NULL, &err));
    for (int i = 1; i < 4; i++) {
        for (int j = i + 1; j < 4; j++)
            ck_assert_uint_ne(calls[i], calls[j]);
        ck_assert_int_eq(troupe_wait(s.runtime, calls[i], -1), TROUPE_OK);
    }
    dispatch_all(s.runtime);
    ck_assert_int_eq(seen.n, 4);
    for (int i = 0; i < 4; i++) {
        int times = 0;
        for (int j = 0; j < 4; j++)
            times += seen.args[j] == args[i];
        ck_assert_int_eq(times, args[i] == &shared ? 2 : 1);
    }
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* -- Sealed, closed, gone ------------------------------------------------------------------ */

/* The library is closed, closed again, and asked for what it does not have any more. */
START_TEST(a_function_outlives_its_library_which_can_be_closed_twice)
{
    troupe_error err;
    struct stand s = stand_open("cpu:0,cpu:1", 0);
    static const char text[] = "function half(x: f32[1]) -> (y)\n  two = f32[] 2\n"
                               "  y = Div(x, two) @cpu:1\n"
                               "function f(x: f32[1]) -> (y)\n  h = half(x)\n  y = Neg(h)\n";
    troupe_library *library, *later;
    troupe_function *f, *none = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_read(library, "t", text, sizeof(text) - 1, &err));
    ck_ok(troupe_library_find(library, "f", &f, &err));
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [3]"));
    troupe_library_destroy(&library);
    ck_assert_ptr_null(library);
    troupe_library_destroy(&library);
    ck_ran(&s, RUN(&s, f, NULL, "f32[1] [3]"));
    ck_value(s.results[0], "f32[1] [-1.5]");
    ck_ok(troupe_library_new(&later, &err));
    ck_fails(troupe_library_find(later, "f", &none, &err), NOT_FOUND, "'f'");
    ck_assert_ptr_null(none);
    troupe_library_destroy(&later);
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

START_TEST(a_builder_that_is_sealed_is_gone_and_its_function_is_as_it_was)
{
    troupe_error err;
    troupe_builder *b;
    troupe_function *f;
    troupe_value x, y;
    struct stand s = stand_open("cpu:0", 0);
    const troupe_node node = {
        .size = sizeof(node), .op = "Neg", .name = "y", .inputs = &x, .n_inputs = 1};
    ck_ok(troupe_builder_new(&b, "f", NULL, &err));
    ck_ok(troupe_builder_arg(b, "x", "f32[1]", &x, &err));
    ck_ok(troupe_builder_node(b, &node, &y, &err));
    ck_ok(troupe_builder_result(b, "y", y, &err));
    ck_ok(troupe_builder_finish(&b, &f, &err));
    ck_assert_ptr_null(b);
    troupe_builder_destroy(&b); /* nothing is left to do */
    for (int i = 0; i < 2; i++) {
        ck_ran(&s, RUN(&s, f, NULL, "f32[1] [2]"));
        ck_value(s.results[0], "f32[1] [-2]");
    }
    troupe_function_release(&f);
    stand_close(&s);
}
END_TEST

/* Whoever opens the next runtime may do so without it. */
START_TEST(a_device_that_is_gone_before_the_plan_is_made_is_refused_by_name)
{
    troupe_error err;
    troupe_function *f = function_of(
        "function f(x: f32[1]) -> (y)\n  a = Neg(x) @cpu:1\n  y = Neg(a) @cpu:0\n", NULL);
    troupe_plan *plan = NULL;
    for (int round = 0; round < 3; round++) {
        struct stand with = stand_open("cpu:0,cpu:1", 0), without = stand_open("cpu:0", 0);
        ck_ran(&with, RUN(&with, f, NULL, "f32[1] [2]"));
        ck_assert_int_eq(RUN(&without, f, NULL, "f32[1] [2]"), TROUPE_NOT_FOUND);
        ck_assert_msg(strstr(without.err.text, "'a'") && strstr(without.err.text, "cpu:1") &&
                          strstr(without.err.text, "'f'"),
                      "%s", without.err.text);
        ck_fails(troupe_plan_make(without.runtime, f, NULL, &plan, &err), NOT_FOUND, "cpu:1");
        ck_assert_ptr_null(plan);
        ck_value(with.results[0], "f32[1] [2]");
        stand_close(&with);
        stand_close(&without);
    }
    troupe_function_release(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/handles");
    TCase *numbers = tcase_create("numbers"), *attached = tcase_create("attached"),
          *gone = tcase_create("gone");
    tcase_add_test(numbers, the_number_of_a_call_comes_apart_as_it_was_put_together);
    tcase_add_test(numbers, a_number_with_one_part_of_another_call_is_not_found);
    tcase_add_test(attached, what_is_attached_to_a_call_is_given_to_its_end_also_nothing);
    tcase_add_test(gone, a_function_outlives_its_library_which_can_be_closed_twice);
    tcase_add_test(gone, a_builder_that_is_sealed_is_gone_and_its_function_is_as_it_was);
    tcase_add_test(gone, a_device_that_is_gone_before_the_plan_is_made_is_refused_by_name);
    suite_add_tcase(s, numbers);
    suite_add_tcase(s, attached);
    suite_add_tcase(s, gone);
    return s;
}

int main(void)
{
    return test_run(suite());
}
