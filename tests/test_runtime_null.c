/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_null.c - NULL where a public function needs something: INVALID that names
 * the argument, nothing where there is nothing to do, and an empty answer from what answers
 * without a status.
 */
#include "tests/stand.h"

struct all {
    troupe_runtime *runtime;
    troupe_caller *caller;
    troupe_function *f;
    troupe_library *library;
    troupe_builder *builder;
    troupe_plan *plan;
    troupe_tensor *x, *results[1];
    const troupe_tensor *args[1];
    char *text;
    uint64_t a, b;
    troupe_value value;
    troupe_node node;
    troupe_tensor *tensor;
    troupe_operators *operators;
    troupe_operator_row row;
    troupe_operator_node seen;
    void *memory;
};

static void done(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                 size_t n)
{
    (void)arg, (void)error, (void)results, (void)n;
    ck_abort_msg("a call was started");
}

/* ROW(name of the row, the argument that is named, the call) */
/* clang-format off */
#define ROWS(ROW)                                                                                \
    ROW(open_out, "out", troupe_open(NULL, NULL, err))                                           \
    ROW(run_runtime, "runtime", troupe_run(NULL, a->f, a->args, 1, a->results, 1, NULL, err))    \
    ROW(run_function, "function",                                                                \
        troupe_run(a->runtime, NULL, a->args, 1, a->results, 1, NULL, err))                      \
    ROW(run_args, "args", troupe_run(a->runtime, a->f, NULL, 1, a->results, 1, NULL, err))       \
    ROW(run_results, "results", troupe_run(a->runtime, a->f, a->args, 1, NULL, 1, NULL, err))    \
    ROW(call_runtime, "runtime",                                                                 \
        troupe_call(NULL, a->f, a->args, 1, NULL, done, NULL, &a->a, err))                       \
    ROW(call_function, "function",                                                               \
        troupe_call(a->runtime, NULL, a->args, 1, NULL, done, NULL, &a->a, err))                 \
    ROW(call_args, "args",                                                                       \
        troupe_call(a->runtime, a->f, NULL, 1, NULL, done, NULL, &a->a, err))                    \
    ROW(call_done, "tell its end",                                                               \
        troupe_call(a->runtime, a->f, a->args, 1, NULL, NULL, NULL, &a->a, err))                 \
    ROW(caller_open_runtime, "runtime", troupe_caller_open(NULL, &a->caller, err))               \
    ROW(caller_open_out, "out", troupe_caller_open(a->runtime, NULL, err))                       \
    ROW(caller_call, "caller",                                                                   \
        troupe_caller_call(NULL, a->f, a->args, 1, NULL, done, NULL, &a->a, err))                \
    ROW(plan_runtime, "runtime", troupe_plan_make(NULL, a->f, NULL, &a->plan, err))              \
    ROW(plan_function, "function", troupe_plan_make(a->runtime, NULL, NULL, &a->plan, err))      \
    ROW(plan_out, "out", troupe_plan_make(a->runtime, a->f, NULL, NULL, err))                    \
    ROW(print_plan, "plan", troupe_plan_print(NULL, TROUPE_TEXT, &a->text, err))                 \
    ROW(print_plan_out, "out", troupe_plan_print(a->plan, TROUPE_TEXT, NULL, err))               \
    ROW(explain_plan, "plan", troupe_plan_explain(NULL, "y", &a->text, err))                     \
    ROW(explain_node, "node", troupe_plan_explain(a->plan, NULL, &a->text, err))                 \
    ROW(explain_out, "out", troupe_plan_explain(a->plan, "y", NULL, err))                        \
    ROW(builder_out, "out", troupe_builder_new(NULL, "g", NULL, err))                            \
    ROW(builder_name, "name", troupe_builder_new(&a->builder, NULL, NULL, err))                  \
    ROW(arg_builder, "builder", troupe_builder_arg(NULL, "x", "f32[2]", &a->value, err))         \
    ROW(arg_name, "name", troupe_builder_arg(a->builder, NULL, "f32[2]", &a->value, err))        \
    ROW(arg_type, "type", troupe_builder_arg(a->builder, "x", NULL, &a->value, err))             \
    ROW(constant_builder, "builder",                                                             \
        troupe_builder_constant(NULL, "c", a->x, &a->value, err))                                \
    ROW(constant_value, "value",                                                                 \
        troupe_builder_constant(a->builder, "c", NULL, &a->value, err))                          \
    ROW(declare_builder, "builder", troupe_builder_declare_result(NULL, "y", "f32[2]", err))     \
    ROW(declare_type, "type", troupe_builder_declare_result(a->builder, "y", NULL, err))         \
    ROW(node_builder, "builder", troupe_builder_node(NULL, &a->node, NULL, err))                 \
    ROW(node_node, "node", troupe_builder_node(a->builder, NULL, NULL, err))                     \
    ROW(result_builder, "builder", troupe_builder_result(NULL, "y", 0, err))                     \
    ROW(finish_builder, "builder", troupe_builder_finish(NULL, &a->f, err))                      \
    ROW(finish_out, "out", troupe_builder_finish(&a->builder, NULL, err))                         \
    ROW(library_out, "out", troupe_library_new(NULL, err))                                       \
    ROW(add_library, "library", troupe_library_add(NULL, a->f, err))                             \
    ROW(add_function, "function", troupe_library_add(a->library, NULL, err))                     \
    ROW(replace_library, "library", troupe_library_replace(NULL, a->f, err))                     \
    ROW(replace_function, "function", troupe_library_replace(a->library, NULL, err))             \
    ROW(find_library, "library", troupe_library_find(NULL, "f", &a->f, err))                     \
    ROW(find_name, "name", troupe_library_find(a->library, NULL, &a->f, err))                    \
    ROW(find_out, "out", troupe_library_find(a->library, "f", NULL, err))                        \
    ROW(read_library, "library", troupe_library_read(NULL, "t", "", 0, err))                     \
    ROW(read_text, "text", troupe_library_read(a->library, "t", NULL, 3, err))                   \
    ROW(read_file, "library", troupe_library_read_file(NULL, "t", err))                          \
    ROW(read_path, "path", troupe_library_read_file(a->library, NULL, err))                      \
    ROW(load_library, "library", troupe_library_load(NULL, "t", NULL, err))                      \
    ROW(load_path, "path", troupe_library_load(a->library, NULL, NULL, err))                     \
    ROW(print_function, "function", troupe_function_print(NULL, TROUPE_TEXT, &a->text, err))     \
    ROW(print_out, "out", troupe_function_print(a->f, TROUPE_TEXT, NULL, err))                   \
    ROW(tensor_out, "out", troupe_tensor_new(NULL, TROUPE_F32, 0, NULL, &a->a, err))             \
    ROW(tensor_dims, "dims", troupe_tensor_new(&a->tensor, TROUPE_F32, 1, NULL, &a->a, err))     \
    ROW(reshape_out, "out", troupe_tensor_reshape(NULL, a->x, 0, NULL, err))                     \
    ROW(reshape_tensor, "tensor", troupe_tensor_reshape(&a->tensor, NULL, 0, NULL, err))         \
    ROW(strings_out, "out", troupe_tensor_new_strings(NULL, 0, NULL, NULL, NULL, err))           \
    ROW(npy_out, "out", troupe_tensor_read_npy(NULL, "x.npy", err))                              \
    ROW(npy_path, "path", troupe_tensor_read_npy(&a->tensor, NULL, err))                         \
    ROW(save_library, "library", troupe_library_save(NULL, NULL, "t", TROUPE_FILE_TEXT, err))    \
    ROW(save_path, "path",                                                                       \
        troupe_library_save(a->library, NULL, NULL, TROUPE_FILE_TEXT, err))                      \
    ROW(retype_out, "out", troupe_tensor_retype(NULL, a->x, TROUPE_I32, err))                    \
    ROW(retype_tensor, "tensor", troupe_tensor_retype(&a->tensor, NULL, TROUPE_I32, err))        \
    ROW(operators_out, "out", troupe_operators_new(NULL, err))                                   \
    ROW(operators_add, "operators", troupe_operators_add(NULL, &a->row, err))                    \
    ROW(operators_row, "row", troupe_operators_add(a->operators, NULL, err))                     \
    ROW(operators_library, "library", troupe_library_operators(NULL, a->operators, err))         \
    ROW(operators_set, "operators", troupe_library_operators(a->library, NULL, err))             \
    ROW(make_node, "node", troupe_operator_make(NULL, 0, 0, NULL, &a->memory, err))              \
    ROW(make_out, "out", troupe_operator_make(&a->seen, 0, 0, NULL, NULL, err))                  \
    ROW(give_node, "node", troupe_operator_give(NULL, 0, &a->tensor, err))                       \
    ROW(give_tensor, "tensor", troupe_operator_give(&a->seen, 0, NULL, err))                     \
    ROW(write_tensor, "tensor", troupe_tensor_write_npy(NULL, "x.npy", err))                     \
    ROW(write_path, "path", troupe_tensor_write_npy(a->x, NULL, err))                            \
    ROW(parse_out, "out", troupe_tensor_parse(NULL, "f32[] 1", err))                             \
    ROW(parse_text, "text", troupe_tensor_parse(&a->tensor, NULL, err))
/* clang-format on */

#define ROW(name, word, expr)                                                                  \
    static troupe_status call_of_##name(struct all *a, troupe_error *err)                      \
    {                                                                                          \
        (void)a;                                                                               \
        return expr;                                                                           \
    }
ROWS(ROW)
#undef ROW

static const struct {
    const char *name, *word;
    troupe_status (*call)(struct all *a, troupe_error *err);
} rows[] = {
#define ROW(name, word, expr) {#name, word, call_of_##name},
    ROWS(ROW)
#undef ROW
};

static struct all all_open(void)
{
    troupe_error err;
    struct all a = {.node = {.size = sizeof(troupe_node), .op = "Relu"}};
    ck_ok(troupe_open(&a.runtime, NULL, &err));
    ck_ok(troupe_library_new(&a.library, &err));
    ck_ok(troupe_builder_new(&a.builder, "g", NULL, &err));
    ck_ok(troupe_operators_new(&a.operators, &err));
    a.f = function_of("function f(x: f32[1]) -> (y)\n  y = Neg(x)\n", NULL);
    a.x = value_of("f32[1] [1]");
    a.args[0] = a.x;
    ck_ok(troupe_plan_make(a.runtime, a.f, NULL, &a.plan, &err));
    return a;
}

static void all_close(struct all *a)
{
    troupe_plan_release(&a->plan);
    troupe_builder_destroy(&a->builder);
    troupe_library_destroy(&a->library);
    troupe_operators_release(&a->operators);
    troupe_function_release(&a->f);
    troupe_tensor_release(&a->x);
    ck_assert_int_eq(troupe_close(&a->runtime), TROUPE_OK);
}

START_TEST(what_is_needed_and_is_null_is_invalid_and_named)
{
    troupe_error err = {0};
    struct all a = all_open();
    const troupe_status status = rows[_i].call(&a, &err);
    ck_assert_msg(status == TROUPE_INVALID, "%s: %s", rows[_i].name,
                  troupe_status_name(status));
    ck_assert_msg(strstr(err.text, rows[_i].word) != NULL, "%s: %s", rows[_i].name, err.text);
    ck_assert_int_eq(rows[_i].call(&a, NULL), TROUPE_INVALID);
    all_close(&a);
}
END_TEST

START_TEST(there_is_nothing_to_let_go_of_in_null)
{
    ck_assert_int_eq(troupe_close(NULL), TROUPE_OK);
    ck_assert_int_eq(troupe_caller_close(NULL), TROUPE_OK);
    troupe_builder_destroy(NULL);
    troupe_function_release(NULL);
    troupe_library_destroy(NULL);
    troupe_tensor_release(NULL);
    troupe_plan_release(NULL);
    troupe_report_release(NULL);
    troupe_free(NULL);
    troupe_cancel(NULL, 1);
    troupe_statistics_get(NULL, NULL);
    troupe_limits_get(NULL);
    troupe_function_hash(NULL, NULL);
    troupe_operators_release(NULL);
    ck_assert_ptr_null(troupe_function_retain(NULL));
    ck_assert_ptr_null(troupe_operators_retain(NULL));
    ck_assert_ptr_null(troupe_tensor_retain(NULL));
    ck_assert_ptr_null(troupe_report_retain(NULL));
}
END_TEST

START_TEST(what_answers_without_a_status_has_no_answer_for_null)
{
    int rank = 0;
    int64_t dims[TROUPE_MAX_RANK];
    uint64_t steps;
    ck_assert_int_eq(troupe_dispatch(NULL), TROUPE_INVALID);
    ck_assert_int_eq(troupe_wait(NULL, 1, 0), TROUPE_INVALID);
    ck_assert_int_eq(troupe_progress(NULL, 1, &steps, &steps), TROUPE_INVALID);
    ck_assert_int_eq(troupe_device_at(NULL, 0, NULL), TROUPE_INVALID);
    ck_assert_int_eq(troupe_device_fail_at(NULL, "cpu:0", 1), TROUPE_INVALID);
    ck_assert_int_eq(troupe_plan_node_at(NULL, 0, NULL), TROUPE_INVALID);
    ck_assert_int_eq(troupe_caller_dispatch(NULL), TROUPE_INVALID);
    ck_assert_int_eq(troupe_caller_wait(NULL, 1, 0), TROUPE_INVALID);
    ck_assert_int_eq(troupe_fd(NULL), -1);
    ck_assert_int_eq(troupe_caller_fd(NULL), -1);
    ck_assert_uint_eq(troupe_devices(NULL), 0);
    ck_assert_uint_eq(troupe_plan_nodes(NULL), 0);
    ck_assert_ptr_null(troupe_report_text(NULL, TROUPE_TEXT));
    ck_assert_uint_eq(troupe_report_wall_ns(NULL), 0);
    ck_assert_uint_eq(troupe_report_busy_ns(NULL), 0);
    ck_assert_uint_eq(troupe_report_crossed(NULL), 0);
    ck_assert_ptr_null(troupe_function_name(NULL));
    ck_assert_uint_eq(troupe_function_args(NULL), 0);
    ck_assert_uint_eq(troupe_function_results(NULL), 0);
    ck_assert_uint_eq(troupe_function_nodes(NULL), 0);
    ck_assert_ptr_null(troupe_function_arg_name(NULL, 0));
    ck_assert_ptr_null(troupe_function_result_name(NULL, 0));
    ck_assert_int_eq(troupe_function_arg_type(NULL, 0, &rank, dims), TROUPE_DTYPE_NONE);
    ck_assert_int_eq(troupe_function_result_type(NULL, 0, &rank, dims), TROUPE_DTYPE_NONE);
    ck_assert_uint_eq(troupe_function_arg_text(NULL, 0, NULL, 0), 0);
    ck_assert_uint_eq(troupe_function_result_text(NULL, 0, NULL, 0), 0);
    ck_assert_ptr_null(troupe_function_arg_default(NULL, 0));
    ck_assert_uint_eq(troupe_library_count(NULL), 0);
    ck_assert_ptr_null(troupe_library_name(NULL, 0));
    ck_assert_ptr_null(troupe_operators_name(NULL, 0, NULL));
    ck_assert_ptr_null(troupe_operator_string(NULL, 0, 0, NULL));
    ck_assert_int_eq(troupe_dtype_parse(NULL), TROUPE_DTYPE_NONE);
    ck_assert_int_eq(troupe_tensor_dtype(NULL), TROUPE_DTYPE_NONE);
    ck_assert_int_eq(troupe_tensor_rank(NULL), 0);
    ck_assert_ptr_null(troupe_tensor_dims(NULL));
    ck_assert_uint_eq(troupe_tensor_count(NULL), 0);
    ck_assert_uint_eq(troupe_tensor_size(NULL), 0);
    ck_assert_ptr_null(troupe_tensor_data(NULL));
    ck_assert_ptr_null(troupe_tensor_string(NULL, 0, NULL));
    ck_assert_uint_eq(troupe_tensor_show(NULL, 0, NULL, 0), 0);
    ck_assert(troupe_tensor_equal(NULL, NULL));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("runtime/null");
    TCase *t = tcase_create("null");
    tcase_add_loop_test(t, what_is_needed_and_is_null_is_invalid_and_named, 0,
                        (int)TP_COUNT(rows));
    tcase_add_test(t, there_is_nothing_to_let_go_of_in_null);
    tcase_add_test(t, what_answers_without_a_status_has_no_answer_for_null);
    suite_add_tcase(s, t);
    return test_run(s);
}
