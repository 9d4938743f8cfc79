/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_onnx.c - any bytes as an ONNX model, and as a lone tensor: refused, or a function
 * that can be printed.
 */
#include <string.h>

#include "base/alloc.h"
#include "import/onnx/import.h"
#include "tests/fuzz.h"

#define TIMES    2000
#define CONSTANT 1000000

static void ck_refused(troupe_status status, const troupe_error *err)
{
    FUZZ_ASSERT(status == TROUPE_CORRUPT || status == TROUPE_INVALID ||
                status == TROUPE_UNSUPPORTED || status == TROUPE_EXHAUSTED ||
                status == TROUPE_NOT_FOUND);
    FUZZ_ASSERT(err->code == status && err->text[0]);
}

static void print_all(const troupe_library *library, const char *name)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_function *f = NULL;
    FUZZ_ASSERT(!troupe_library_find(library, name, &f, &err));
    for (int format = TROUPE_TEXT; format <= TROUPE_DOT; format++) {
        char *text = NULL;
        FUZZ_ASSERT(!troupe_function_print(f, (troupe_format)format, &text, &err));
        troupe_free(text);
    }
    troupe_function_release(&f);
}

static void read_model(const uint8_t *data, size_t size)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_library *library = NULL;
    const char *name = NULL;
    FUZZ_ASSERT(!troupe_library_new(&library, &err));
    heap_peak_begin();
    const troupe_status status = tp_onnx_read(data, size, NULL, "m.onnx", library, &name, &err);
    fuzz_held(size, TIMES, CONSTANT);
    if (status) {
        ck_refused(status, &err);
        FUZZ_ASSERT(strncmp(err.text, "m.onnx: ", 8) == 0);
        FUZZ_ASSERT(troupe_library_count(library) == 0);
    } else {
        print_all(library, name);
    }
    troupe_library_destroy(&library);
}

static void read_tensor(const uint8_t *data, size_t size)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_tensor *tensor = NULL;
    heap_peak_begin();
    const troupe_status status = tp_onnx_read_tensor(data, size, &tensor, &err);
    fuzz_held(size, TIMES, CONSTANT);
    if (status) ck_refused(status, &err);
    troupe_tensor_release(&tensor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_model(data, size);
    read_tensor(data, size);
    FUZZ_ASSERT(tp_alloc_pieces() == 0);
    return 0;
}
