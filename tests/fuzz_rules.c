/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_rules.c - any bytes as placement rules: refused with their line, or rules that
 * place a function or cannot be honoured.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/placer.h"
#include "tests/fuzz.h"
#include "troupe/troupe.h"

#define TIMES    40
#define CONSTANT 10000

static const char function[] = "function main(x: f32[n]) -> (y: f32[n])\n"
                               "    conv1: a = Relu(x)\n"
                               "    \"a path/with [*] and \\\\\": b = Add(a, x) @cpu:1\n"
                               "    y = Relu(b)\n";

static void place(const char *rules, bool soft)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_library *library = NULL;
    troupe_function *f = NULL;
    troupe_runtime *runtime = NULL;
    troupe_plan *plan = NULL;
    char *text = NULL;
    troupe_options open = TROUPE_OPTIONS_INIT;
    troupe_call_options how = TROUPE_CALL_OPTIONS_INIT;
    open.devices = "cpu:0,cpu:1";
    open.workers = 0;
    how.rules = rules;
    how.rules_source = "r";
    how.soft = soft;
    FUZZ_ASSERT(!troupe_library_new(&library, &err));
    FUZZ_ASSERT(!troupe_library_read(library, "t", function, sizeof(function) - 1, &err));
    FUZZ_ASSERT(!troupe_library_find(library, "main", &f, &err));
    FUZZ_ASSERT(!troupe_open(&runtime, &open, &err));
    const troupe_status status = troupe_plan_make(runtime, f, &how, &plan, &err);
    FUZZ_ASSERT(!status || status == TROUPE_INVALID || status == TROUPE_NOT_FOUND ||
                status == TROUPE_UNSUPPORTED);
    if (!status) FUZZ_ASSERT(!troupe_plan_print(plan, TROUPE_JSON, &text, &err));
    troupe_free(text);
    troupe_plan_release(&plan);
    FUZZ_ASSERT(!troupe_close(&runtime));
    troupe_function_release(&f);
    troupe_library_destroy(&library);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    troupe_error err = {.code = TROUPE_OK};
    struct tp_rules *rules = NULL;
    heap_peak_begin();
    const troupe_status status = tp_rules_read("r", (const char *)data, size, &rules, &err);
    fuzz_held(size, TIMES, CONSTANT);
    FUZZ_ASSERT(!status || (status == TROUPE_INVALID && strncmp(err.text, "r:", 2) == 0));
    tp_rules_destroy(&rules);
    if (!status) {
        char *text = strndup((const char *)data, size);
        FUZZ_ASSERT(text);
        place(text, false);
        place(text, true);
        free(text);
    }
    FUZZ_ASSERT(tp_alloc_pieces() == 0);
    return 0;
}
