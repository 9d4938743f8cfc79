/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_text.c - any bytes as functions in the text form: refused with their place, or
 * functions that print as themselves and can be planned or are refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/fuzz.h"
#include "troupe/troupe.h"

#define TIMES    400
#define CONSTANT 500000

/* "t:12:3: words". */
static void ck_place(const char *text)
{
    char *end;
    FUZZ_ASSERT(strncmp(text, "t:", 2) == 0);
    FUZZ_ASSERT(strtoul(text + 2, &end, 10) > 0 && *end == ':');
    FUZZ_ASSERT(strtoul(end + 1, &end, 10) > 0 && *end == ':');
}

static troupe_library *read_text(const char *text, size_t size, troupe_error *err)
{
    troupe_library *library = NULL;
    FUZZ_ASSERT(!troupe_library_new(&library, NULL));
    if (troupe_library_read(library, "t", text, size, err))
        FUZZ_ASSERT(troupe_library_count(library) == 0);
    else
        err->code = TROUPE_OK;
    return library;
}

static char *print(const troupe_function *f, troupe_format format)
{
    char *text = NULL;
    troupe_error err = {.code = TROUPE_OK};
    FUZZ_ASSERT(!troupe_function_print(f, format, &text, &err) && text);
    return text;
}

/* What is printed is read as a function that prints the same. */
static void there_and_back(const troupe_function *f)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_function *back = NULL;
    char *text = print(f, TROUPE_TEXT), *again;
    troupe_library *library = read_text(text, strlen(text), &err);
    FUZZ_ASSERT(!err.code);
    FUZZ_ASSERT(!troupe_library_find(library, troupe_function_name(f), &back, &err));
    again = print(back, TROUPE_TEXT);
    FUZZ_ASSERT(strcmp(text, again) == 0);
    troupe_free(again);
    troupe_free(text);
    troupe_function_release(&back);
    troupe_library_destroy(&library);
}

static void plan(const troupe_function *f)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_runtime *runtime = NULL;
    troupe_plan *made = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1";
    options.workers = 0;
    FUZZ_ASSERT(!troupe_open(&runtime, &options, &err));
    const troupe_status status = troupe_plan_make(runtime, f, NULL, &made, &err);
    FUZZ_ASSERT(status != TROUPE_INTERNAL && (!status || err.text[0]));
    for (int format = TROUPE_TEXT; !status && format <= TROUPE_DOT; format++) {
        char *text = NULL;
        FUZZ_ASSERT(!troupe_plan_print(made, (troupe_format)format, &text, &err));
        troupe_free(text);
    }
    troupe_plan_release(&made);
    FUZZ_ASSERT(!troupe_close(&runtime));
}

static void use(const troupe_library *library, const char *name)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_function *f = NULL;
    FUZZ_ASSERT(!troupe_library_find(library, name, &f, &err));
    there_and_back(f);
    troupe_free(print(f, TROUPE_JSON));
    troupe_free(print(f, TROUPE_DOT));
    plan(f);
    troupe_function_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    troupe_error err = {.code = TROUPE_OK};
    heap_peak_begin();
    troupe_library *library = read_text((const char *)data, size, &err);
    fuzz_held(size, TIMES, CONSTANT);
    if (err.code) ck_place(err.text);
    for (size_t i = 0; i < troupe_library_count(library) && i < 4; i++)
        use(library, troupe_library_name(library, i));
    troupe_library_destroy(&library);
    FUZZ_ASSERT(tp_alloc_pieces() == 0);
    return 0;
}
