/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_run.c - any bytes as functions in the text form, which are run: on devices of
 * little memory, with arguments of ones, they give results or fail, and do no harm.
 */
#include <string.h>

#include "base/alloc.h"
#include "tests/fuzz.h"
#include "troupe/troupe.h"

#define MOST_ARGS    8
#define MOST_RESULTS 8

/* An argument of the declared type; unknown dimensions are 2, an unknown rank is 1. */
static troupe_tensor *argument(const troupe_function *f, size_t i)
{
    int rank;
    int64_t dims[TROUPE_MAX_RANK], count = 1;
    static const uint8_t ones[4096] = {1, 0, 1, 0, 1};
    troupe_tensor *tensor = NULL;
    const troupe_dtype dtype = troupe_function_arg_type(f, i, &rank, dims);
    if (dtype == TROUPE_DTYPE_NONE || dtype == TROUPE_STRING) return NULL;
    if (rank < 0) dims[0] = 2, rank = 1;
    for (int k = 0; k < rank; k++) {
        if (dims[k] < 0) dims[k] = 2;
        if (__builtin_mul_overflow(count, dims[k], &count) || count > 256) return NULL;
    }
    (void)!troupe_tensor_new(&tensor, dtype, rank, dims, ones, NULL);
    return tensor;
}

static void run(troupe_runtime *runtime, const troupe_function *f)
{
    const size_t n = troupe_function_args(f), m = troupe_function_results(f);
    troupe_tensor *args[MOST_ARGS] = {NULL}, *results[MOST_RESULTS] = {NULL};
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_error err = {.code = TROUPE_OK};
    if (n > MOST_ARGS || m > MOST_RESULTS) return;
    options.deadline_s = 2;
    for (size_t i = 0; i < n; i++)
        args[i] = argument(f, i);
    const troupe_status status = troupe_run(runtime, f, (const troupe_tensor *const *)args, n,
                                            results, m, &options, &err);
    FUZZ_ASSERT(status != TROUPE_INTERNAL && (!status || err.text[0]));
    for (size_t i = 0; i < m; i++) {
        FUZZ_ASSERT(!status == (results[i] != NULL));
        troupe_tensor_release(&results[i]);
    }
    for (size_t i = 0; i < n; i++)
        troupe_tensor_release(&args[i]);
}

static void run_all(const troupe_library *library)
{
    troupe_runtime *runtime = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0(memory=4M),cpu:1(memory=4M)";
    options.workers = 0;
    FUZZ_ASSERT(!troupe_open(&runtime, &options, NULL));
    for (size_t i = 0; i < troupe_library_count(library) && i < 4; i++) {
        troupe_function *f = NULL;
        FUZZ_ASSERT(!troupe_library_find(library, troupe_library_name(library, i), &f, NULL));
        run(runtime, f);
        troupe_function_release(&f);
    }
    FUZZ_ASSERT(!troupe_close(&runtime));
}

/* What operators print is not to be seen. */
static void drop_line(void *arg, troupe_level level, const char *id, const char *line)
{
    (void)arg, (void)level, (void)id, (void)line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    troupe_library *library = NULL;
    troupe_log_to(drop_line, NULL, TROUPE_LOG_ERROR);
    FUZZ_ASSERT(!troupe_library_new(&library, NULL));
    if (!troupe_library_read(library, "t", (const char *)data, size, NULL)) run_all(library);
    troupe_library_destroy(&library);
    return 0;
}
