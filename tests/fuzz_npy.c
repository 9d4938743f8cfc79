/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_npy.c - any bytes as an .npy file: refused with the byte, or a tensor that comes
 * back equal when it is written and read again; and as the text of a value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/fuzz.h"
#include "troupe/tensor.h"

#define TIMES    20
#define CONSTANT 10000

/* A file without a name, by a path of its descriptor. */
static int open_file(const uint8_t *data, size_t size, char path[64])
{
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_ASSERT(file >= 0);
    FUZZ_ASSERT(size == 0 || write(file, data, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

static void there_and_back(const troupe_tensor *tensor)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_tensor *back = NULL;
    const size_t size = troupe_tensor_show(tensor, 0, NULL, 0);
    char *text = malloc(size + 1);
    FUZZ_ASSERT(text);
    FUZZ_ASSERT(troupe_tensor_show(tensor, 0, text, size + 1) == size);
    FUZZ_ASSERT(!troupe_tensor_parse(&back, text, &err));
    FUZZ_ASSERT(troupe_tensor_count(back) == troupe_tensor_count(tensor));
    troupe_tensor_release(&back);
    free(text);
}

static void read_npy(const uint8_t *data, size_t size)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_tensor *tensor = NULL;
    char path[64];
    const int file = open_file(data, size, path);
    heap_peak_begin();
    const troupe_status status = troupe_tensor_read_npy(&tensor, path, &err);
    fuzz_held(size, TIMES, CONSTANT);
    FUZZ_ASSERT(!status || status == TROUPE_CORRUPT || status == TROUPE_UNSUPPORTED);
    if (status) FUZZ_ASSERT(strncmp(err.text, path, strlen(path)) == 0);
    if (status == TROUPE_CORRUPT) FUZZ_ASSERT(strstr(err.text, ": byte "));
    if (tensor) there_and_back(tensor);
    troupe_tensor_release(&tensor);
    close(file);
}

static void read_text(const uint8_t *data, size_t size)
{
    troupe_error err = {.code = TROUPE_OK};
    troupe_tensor *tensor = NULL;
    char *text = malloc(size + 1);
    FUZZ_ASSERT(text);
    memcpy(text, data, size);
    text[size] = 0;
    heap_peak_begin();
    const troupe_status status = troupe_tensor_parse(&tensor, text, &err);
    fuzz_held(size, TIMES, CONSTANT);
    FUZZ_ASSERT(!status || (status == TROUPE_INVALID && strstr(err.text, "byte ")));
    if (tensor) there_and_back(tensor);
    troupe_tensor_release(&tensor);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_npy(data, size);
    read_text(data, size);
    FUZZ_ASSERT(tp_alloc_pieces() == 0);
    return 0;
}
