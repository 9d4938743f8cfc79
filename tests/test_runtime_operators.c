/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_operators.c - calls of functions with the user's operators: values, effects,
 * threads, and who is freed when.
 */
#include <malloc.h>
#include <stdlib.h>

#include "exec/device.h"
#include "graph/function.h"
#include "graph/placer.h"
#include "graph/registry.h"
#include "messages/function_codec.h"
#include "tests/crowd.h"
#include "tests/operators.h"
#include "tests/stand.h"

static const int workers[] = {0, 2};

/* -- Values -------------------------------------------------------------------------------- */

static const struct {
    const char *text, *devices;
    const char *arg, *result[2]; /* NULL: no such result */
} values[] = {
    {"function f(x: f32[n]) -> (y)\n  y = mine.Scale(x)\n",
     "cpu:0",
     "f32[2] [1, 2]",
     {"f32[2] [2, 4]", NULL}},
    {"function f(x: f32[n]) -> (y)\n  a = mine.Scale(x, factor=3) @cpu:1\n"
     "  y = mine.Sum(x, a, x) @cpu:0\n",
     "cpu:0,cpu:1",
     "f32[2] [1, 2]",
     {"f32[2] [5, 10]", NULL}},
    {"function f(x: f32[n]) -> (y, n)\n  y, n = mine.Positive(x)\n",
     "cpu:0",
     "f32[4] [1, -2, 3, 0]",
     {"f32[2] [1, 3]", "i64[] 2"}},
    {"function f(x: f32[n]) -> (y, n)\n  y, n = mine.Positive(x)\n",
     "cpu:0",
     "f32[2] [-1, -2]",
     {"f32[0] []", "i64[] 0"}},
    {"function f(x: f32[n]) -> (y, z)\n  p, _ = mine.Positive(x) @cpu:1\n"
     "  y = mine.Scale(p) @cpu:0\n  z = Shape(y) @cpu:1\n",
     "cpu:0,cpu:1",
     "f32[3] [1, -2, 3]",
     {"f32[2] [2, 6]", "i64[1] [2]"}},
    {"function f(x: string[n]) -> (y, z)\n  y = mine.Shout(x)\n  z = mine.Shout(y)\n",
     "cpu:0",
     "string[2] [\"a\", \"\"]",
     {"string[2] [\"a!\", \"!\"]", "string[2] [\"a!!\", \"!!\"]"}},
    {"function f(x: string[n]) -> (y, z)\n  y = mine.Shout(x) @cpu:1\n"
     "  z = mine.Shout(y) @cpu:0\n",
     "cpu:0,cpu:1",
     "string[1] [\"b\"]",
     {"string[1] [\"b!\"]", "string[1] [\"b!!\"]"}},
    {"function f(x: f32[n]) -> (y)\n  y = mine.Scale(x)\n",
     "cpu:0",
     "f32[0] []",
     {"f32[0] []", NULL}},
};

START_TEST(operators_of_the_users_give_their_values_over_any_devices)
{
    struct trial s = {0};
    trial_open(&s, values[_i / 2].text, values[_i / 2].devices, workers[_i % 2]);
    for (int again = 0; again < 3; again++) {
        ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, values[_i / 2].arg));
        for (size_t r = 0; r < 2 && values[_i / 2].result[r]; r++)
            ck_value(s.stand.results[r], values[_i / 2].result[r]);
    }
    ck_assert_uint_eq(stand_planned(&s.stand), 1);
    trial_close(&s);
}
END_TEST

START_TEST(a_state_is_made_for_each_shape_and_serves_all_runs)
{
    struct trial s = {0};
    trial_open(&s, "function f(x: f32[n]) -> (y)\n  y = mine.Scale(x)\n", "cpu:0", 0);
    for (int i = 0; i < 6; i++)
        ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, i % 2 ? "f32[1] [1]" : "f32[3] [1, 2, 3]"));
    ck_assert_int_eq(s.mine.prepares, 2);
    ck_assert_int_eq(s.mine.releases, 0);
    ck_assert_int_eq(s.mine.runs, 6);
    ck_assert_uint_eq(stand_planned(&s.stand), 1);
    trial_close(&s);
}
END_TEST

START_TEST(effects_run_in_the_order_of_the_program_and_are_not_left_out)
{
    struct trial s = {0};
    trial_open(&s,
               "function f(x: f32[1]) -> (p, q, r)\n"
               "  p = mine.Tick(x) @cpu:1\n  v = Identity(x)\n  u = mine.Tick(x) @cpu:0\n"
               "  q = mine.Tick(x) @cpu:1\n  r = mine.Tick(x) @cpu:0\n",
               "cpu:0,cpu:1", workers[_i]);
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[1] [1]"));
    ck_value(s.stand.results[0], "i64[] 0");
    ck_value(s.stand.results[1], "i64[] 2");
    ck_value(s.stand.results[2], "i64[] 3");
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[1] [1]"));
    ck_value(s.stand.results[2], "i64[] 7");
    trial_close(&s);
}
END_TEST

START_TEST(a_rule_by_operator_places_them)
{
    struct trial s = {0};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    trial_open(&s, "function f(x: f32[n]) -> (y)\n  y = mine.Scale(x)\n", "cpu:0,cpu:1", 0);
    ck_assert_str_eq(stand_result_device(&s.stand, s.f, NULL, 0), "cpu:0");
    options.rules = "op:mine.* cpu:1\n";
    ck_assert_str_eq(stand_result_device(&s.stand, s.f, &options, 0), "cpu:1");
    ck_ran(&s.stand, RUN(&s.stand, s.f, &options, "f32[1] [4]"));
    ck_value(s.stand.results[0], "f32[1] [8]");
    trial_close(&s);
}
END_TEST

START_TEST(a_result_is_written_over_an_input_where_the_row_allows_it)
{
    static const char text[] =
        "function f(x: f32[4]) -> (y)\n  a = Neg(x)\n  b = mine.Bad(a)\n  y = Neg(b)\n";
    for (unsigned reuse = 0; reuse < 2; reuse++) {
        struct trial s = {0};
        troupe_operator_row row = row_bad(&s.mine);
        row.reuse = reuse;
        s.set = operators_of(row);
        trial_set(&s, text, "cpu:0", 0);
        ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[4] [1, 2, 3, 4]"));
        ck_value(s.stand.results[0], "f32[4] [1, 2, 3, 4]");
        ck_assert_int_eq(s.mine.read == s.mine.wrote, reuse == 1);
        trial_close(&s);
    }
}
END_TEST

/* A kind of device that has a kernel for each of troupe's operators. */
static int kernel_of(void *arg, const struct tp_op *op, const char *type)
{
    (void)arg;
    return strcmp(type, "cpu") == 0 ? tp_cpu_kind.kernel(op) : op->user ? -1 : 0;
}

static troupe_status place_on(const struct tp_devices *devices, const char *text,
                              const troupe_operators *set, troupe_error *err)
{
    troupe_function *f = function_with(set, text);
    struct tp_placement *placement = NULL;
    const struct tp_place_env env = {.devices = devices, .kernel = kernel_of};
    const troupe_status status = tp_place(f->body, &env, &placement, err);
    tp_placement_destroy(&placement);
    troupe_function_release(&f);
    return status;
}

START_TEST(only_cpu_devices_have_them)
{
    troupe_error err;
    struct mine mine = {0};
    troupe_operators *set = operators_all(&mine);
    struct tp_registry *registry;
    struct tp_device_entry entries[2] = {{.priority = 1, .host = true}, {.priority = 2}};
    ck_ok(tp_name_parse("/job:local/task:0/cpu:0", &entries[0].name, &err));
    ck_ok(tp_name_parse("/job:local/task:0/npu:0", &entries[1].name, &err));
    ck_ok(tp_registry_new(&registry, &err));
    ck_ok(tp_registry_add(registry, entries, 2, &err));
    struct tp_devices *devices = tp_registry_devices(registry);
    ck_ok(place_on(devices, "function f(x: f32[1]) -> (y)\n  y = Neg(x) @npu:0\n", set, &err));
    ck_ok(place_on(devices, "function f(x: f32[1]) -> (y)\n  y = mine.Scale(x) @cpu:0\n", set,
                   &err));
    static const char text[] = "function f(x: f32[1]) -> (y)\n  y = mine.Scale(x) @npu:0\n";
    ck_assert_int_lt(place_on(devices, text, set, &err), 0);
    ck_assert_msg(strstr(err.text, "mine.Scale") && strstr(err.text, "npu"), "%s", err.text);
    tp_devices_release(&devices);
    tp_registry_destroy(&registry);
    troupe_operators_release(&set);
}
END_TEST

START_TEST(a_function_with_operators_comes_back_from_the_codec_where_they_are_known)
{
    troupe_error err;
    struct mine mine = {0};
    troupe_operators *set = operators_all(&mine);
    troupe_function *f =
        function_with(set, "function f(x: f32[n]) -> (y)\n  y = mine.Scale(x)\n");
    const troupe_function *before = f;
    ck_fails(tp_function_recode(&f, NULL, &err), NOT_FOUND, "'mine.Scale'");
    ck_assert_ptr_eq(f, before);
    ck_ok(tp_function_recode(&f, set, &err));
    ck_assert_ptr_ne(f, before);
    troupe_function_release(&f);
    troupe_operators_release(&set);
    ck_assert_int_eq(mine.frees, 6);
}
END_TEST

START_TEST(a_function_is_refused_where_its_operator_has_another_version)
{
    troupe_error err;
    struct mine mine = {0};
    troupe_operator_row row = row_scale(&mine);
    troupe_operators *set = operators_of(row);
    row.version = "2";
    troupe_operators *newer = operators_of(row);
    troupe_function *f =
        function_with(set, "function f(x: f32[n]) -> (y)\n  y = mine.Scale(x)\n");
    ck_fails(tp_function_recode(&f, newer, &err), CORRUPT,
             "or the version of one of its operators: ");
    troupe_function_release(&f);
    troupe_operators_release(&set);
    troupe_operators_release(&newer);
    ck_assert_int_eq(mine.frees, 2);
}
END_TEST

/* -- Owners -------------------------------------------------------------------------------- */

START_TEST(results_that_are_kept_outlive_runtime_function_and_operators)
{
    struct trial s = {0};
    troupe_tensor *kept[2];
    trial_open(&s,
               "function f(x: f32[n]) -> (y, z)\n  y = mine.Scale(x) @cpu:1\n"
               "  z = mine.Positive(y) @cpu:0\n",
               "cpu:0,cpu:1", workers[_i]);
    ck_ran(&s.stand, RUN(&s.stand, s.f, NULL, "f32[3] [1, -1, 2]"));
    for (int i = 0; i < 2; i++)
        kept[i] = troupe_tensor_retain(s.stand.results[i]);
    trial_close(&s);
    ck_value(kept[0], "f32[3] [2, -2, 4]");
    ck_value(kept[1], "f32[2] [2, 4]");
    troupe_tensor_release(&kept[0]);
    troupe_tensor_release(&kept[1]);
}
END_TEST

START_TEST(a_warm_call_with_operators_allocates_nothing)
{
    troupe_error err;
    struct trial s = {0};
    size_t used = 0;
    if (getenv("TROUPE_WIRE")) return; /* the codec allocates */
    trial_open(&s,
               "function f(x: f32[4]) -> (y)\n  a = mine.Scale(x) @cpu:1\n"
               "  y = mine.Sum(a, x) @cpu:0\n",
               "cpu:0,cpu:1", 0);
    troupe_tensor *x = row_of(1), *y;
    for (int i = 0; i < 1100; i++) {
        if (i == 100) {
            tp_alloc_fail_at(0, 0);
            used = mallinfo2().uordblks;
        }
        ck_ok(troupe_run(s.stand.runtime, s.f, (const troupe_tensor *const[]){x}, 1, &y, 1,
                         NULL, &err));
        troupe_tensor_release(&y);
    }
    ck_assert_uint_eq(tp_alloc_asked(), 0);
    ck_assert_uint_eq(mallinfo2().uordblks, used);
    troupe_tensor_release(&x);
    trial_close(&s);
}
END_TEST

/* -- Any order, many threads, no memory ---------------------------------------------------- */

static const char mixed[] = "function f(x: f32[n]) -> (y, z)\n"
                            "  a = mine.Scale(x) @cpu:1\n  b = mine.Sum(a, x) @cpu:0\n"
                            "  p = mine.Positive(b) @cpu:1\n  y = mine.Scale(p) @cpu:0\n"
                            "  z = mine.Tick(x) @cpu:1\n";

START_TEST(calls_with_operators_end_once_in_any_order)
{
    struct mine mine = {0};
    troupe_operators *set = operators_all(&mine);
    troupe_function *f = function_with(set, mixed);
    struct rehearsal r = {.state = (uint64_t)_i};
    uint64_t seed = (uint64_t)_i;
    troupe_error err;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1";
    options.operators = set;
    ck_ok(tp_runtime_open(&r.runtime, &options, &seed, &err));
    struct outcome outcomes[3] = {{0}};
    troupe_tensor *x = value_of("f32[3] [1, -2, 3]");
    for (int i = 0; i < 3; i++) {
        outcome_call(r.runtime, f, (const troupe_tensor *const[]){x}, NULL, &outcomes[i]);
        rehearsal_steps(&r, rehearsal_below(&r, 8));
    }
    rehearsal_play(&r);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(outcomes[i].ended, 1);
        ck_assert_msg(!outcomes[i].error.code, "%s", outcomes[i].error.text);
        ck_value(outcomes[i].results[0], "f32[2] [6, 18]");
        outcome_clear(&outcomes[i]);
    }
    ck_assert_int_eq(mine.runs, 3 * 3); /* Scale twice, Tick once */
    troupe_tensor_release(&x);
    ck_assert_int_eq(troupe_close(&r.runtime), TROUPE_OK);
    troupe_function_release(&f);
    troupe_operators_release(&set);
    ck_assert_int_eq(mine.prepares, mine.releases);
    ck_assert_int_eq(mine.frees, 6);
}
END_TEST

static void *run_rows(void *arg)
{
    struct member *a = arg;
    member_await(a->crowd);
    for (int i = 0; i < a->rounds && !*a->wrong; i++) {
        troupe_error err;
        troupe_tensor *results[2] = {NULL}, *x = member_row((float)(i + 1));
        if (troupe_run(a->crowd->runtime, a->crowd->f, (const troupe_tensor *const[]){x}, 1,
                       results, 2, NULL, &err))
            member_note(a, "run", &err);
        else if (((const float *)troupe_tensor_data(results[0]))[0] != 6 * (float)(i + 1))
            member_note(a, "value", NULL);
        troupe_tensor_release(&x);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
    }
    return NULL;
}

START_TEST(threads_run_the_same_operators_at_once)
{
    struct trial s = {0};
    trial_open(&s, mixed, "cpu:0(threads=4),cpu:1(threads=4)", workers[_i]);
    struct crowd crowd = {.runtime = s.stand.runtime, .f = s.f};
    struct member members[THREADS] = {{0}};
    crowd_play(&crowd, members, THREADS, 200 / SLOWER, run_rows);
    ck_assert_int_eq(s.mine.runs, THREADS * (200 / SLOWER) * 3);
    trial_close(&s);
}
END_TEST

/* Everything from the set to the second call. */
static troupe_status live(struct mine *mine, troupe_error *err)
{
    const troupe_operator_row rows[] = {row_scale(mine), row_sum(mine), row_positive(mine),
                                        row_tick(mine), row_shout(mine)};
    TP_OWNED(troupe_operators_release) troupe_operators *set = NULL;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_OWNED(troupe_function_release) troupe_function *f = NULL;
    TP_OWNED(troupe_close) troupe_runtime *runtime = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *x = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    TP_TRY(troupe_tensor_parse(&x, "f32[3] [1, -2, 3]", err));
    TP_TRY(troupe_operators_new(&set, err));
    for (size_t i = 0; i < TP_COUNT(rows); i++)
        TP_TRY(troupe_operators_add(set, &rows[i], err));
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_operators(library, set, err));
    TP_TRY(troupe_library_read(library, "t", mixed, strlen(mixed), err));
    TP_TRY(troupe_library_find(library, "f", &f, err));
    options.devices = "cpu:0,cpu:1";
    options.workers = 0;
    options.operators = set;
    TP_TRY(troupe_open(&runtime, &options, err));
    for (int i = 0; i < 2; i++) {
        troupe_tensor *results[2];
        TP_TRY(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, results, 2, NULL,
                          err));
        ck_assert_mem_eq(troupe_tensor_data(results[0]), ((const float[]){6, 18}), 8);
        troupe_tensor_release(&results[0]);
        troupe_tensor_release(&results[1]);
    }
    return TROUPE_OK;
}

START_TEST(whatever_allocation_fails_operators_lose_nothing)
{
    troupe_error err;
    struct mine mine = {0};
    for (uint64_t n = 1;; n++) {
        const size_t pieces = tp_alloc_pieces();
        memset(&mine, 0, sizeof(mine));
        tp_alloc_fail_at(n, 0);
        const troupe_status status = live(&mine, &err);
        const bool hit = tp_alloc_asked() >= n;
        tp_alloc_fail_at(0, 0);
        ck_assert_msg(status == TROUPE_OK || status == TROUPE_EXHAUSTED, "%s", err.text);
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
        ck_assert_int_eq(mine.prepares, mine.releases);
        if (!hit) break;
    }
    ck_assert_int_eq(mine.frees, 5);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/operators");
    TCase *gives = tcase_create("values");
    TCase *owners = tcase_create("owners"), *many = tcase_create("many");
    const int n = TP_COUNT(workers);
    tcase_add_loop_test(gives, operators_of_the_users_give_their_values_over_any_devices, 0,
                        n * (int)TP_COUNT(values));
    tcase_add_test(gives, a_state_is_made_for_each_shape_and_serves_all_runs);
    tcase_add_loop_test(gives, effects_run_in_the_order_of_the_program_and_are_not_left_out, 0,
                        n);
    tcase_add_test(gives, a_rule_by_operator_places_them);
    tcase_add_test(gives, a_result_is_written_over_an_input_where_the_row_allows_it);
    tcase_add_test(gives, only_cpu_devices_have_them);
    tcase_add_test(gives,
                   a_function_with_operators_comes_back_from_the_codec_where_they_are_known);
    tcase_add_test(gives, a_function_is_refused_where_its_operator_has_another_version);
    suite_add_tcase(s, gives);
    tcase_add_loop_test(owners, results_that_are_kept_outlive_runtime_function_and_operators, 0,
                        n);
    tcase_add_test(owners, a_warm_call_with_operators_allocates_nothing);
    suite_add_tcase(s, owners);
    tcase_add_loop_test(many, calls_with_operators_end_once_in_any_order, 0, 100);
    tcase_add_loop_test(many, threads_run_the_same_operators_at_once, 0, n);
    tcase_add_test(many, whatever_allocation_fails_operators_lose_nothing);
    suite_add_tcase(s, many);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
