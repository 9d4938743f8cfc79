/* SPDX-License-Identifier: MIT
 *
 * tests/rows.c - runtimes of two devices, and calls of function_over with one row.
 */
#include "tests/rows.h"

troupe_runtime *rows_open(int workers, size_t max_calls)
{
    troupe_error err;
    troupe_runtime *runtime;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1";
    options.workers = workers;
    options.max_calls = max_calls;
    ck_ok(troupe_open(&runtime, &options, &err));
    return runtime;
}

void rows_close(troupe_runtime *runtime)
{
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
    ck_assert_ptr_null(runtime);
}

const int rows_workers[ROWS_WORKERS] = {0, 1, 3};

uint64_t rows_call(troupe_runtime *runtime, const troupe_function *f, float first,
                   struct outcome *outcome)
{
    troupe_tensor *x = row_of(first);
    uint64_t call = outcome_call(runtime, f, (const troupe_tensor *const[]){x}, NULL, outcome);
    troupe_tensor_release(&x);
    return call;
}

void rows_ended(struct outcome *outcome, float first)
{
    ck_assert_int_eq(outcome->ended, 1);
    ck_assert_msg(!outcome->error.code, "%s", outcome->error.text);
    ck_rows(outcome->results, first);
    outcome_clear(outcome);
}
