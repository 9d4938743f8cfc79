/* SPDX-License-Identifier: MIT
 *
 * tests/onnx_data.c - ONNX's backend-test folders: find them, read a test, compare with its
 * outputs.
 */
#include "tests/onnx_data.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "import/onnx/import.h"
#include "tensor/tensor.h"

/* --- reading -------------------------------------------------------------------------- */

static void close_file(FILE **file)
{
    if (*file) fclose(*file);
    *file = NULL;
}

/* TROUPE_END: there is no such file. */
static troupe_status read_file(const char *path, char **out, size_t *size, troupe_error *err)
{
    TP_OWNED(close_file) FILE *file = fopen(path, "rb");
    struct stat stat;
    if (!file && errno == ENOENT) return TROUPE_END;
    if (!file || fstat(fileno(file), &stat) < 0)
        return tp_fail(err, TROUPE_INVALID, "%s: %s", path, strerror(errno));
    *size = (size_t)stat.st_size;
    *out = tp_alloc(*size + 1);
    if (!*out) return tp_fail_memory(err, *size);
    if (fread(*out, 1, *size, file) == *size) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "%s is cut off", path);
}

static troupe_status read_values(const char *folder, const char *what, troupe_tensor **values,
                                 size_t *n, troupe_error *err)
{
    for (*n = 0; *n < ONNX_VALUES; ++*n) {
        TP_OWNED(tp_free_at) char *bytes = NULL;
        char path[1024];
        size_t size = 0;
        snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%zu.pb", folder, what, *n);
        const troupe_status status = read_file(path, &bytes, &size, err);
        if (status == TROUPE_END) return TROUPE_OK;
        TP_TRY(status);
        const troupe_status read = tp_onnx_read_tensor(bytes, size, &values[*n], err);
        if (read >= 0) continue;
        tp_fail_in(err, "%s", path);
        return read;
    }
    return tp_fail(err, TROUPE_INVALID, "%s has too many files", folder);
}

/* numpy has no bf16, so its bits were written as u16. */
static troupe_status retype(troupe_tensor **value, troupe_dtype dtype, troupe_error *err)
{
    troupe_tensor *other;
    if ((*value)->type.dtype != TROUPE_U16 || dtype != TROUPE_BF16) return TROUPE_OK;
    TP_TRY(troupe_tensor_new(&other, dtype, (*value)->type.shape.rank,
                             (*value)->type.shape.dims, (*value)->data, err));
    troupe_tensor_release(value);
    *value = other;
    return TROUPE_OK;
}

troupe_status onnx_test_read(struct onnx_test *test, const char *folder, troupe_error *err)
{
    char path[1024];
    const char *name;
    int rank;
    int64_t dims[TROUPE_MAX_RANK];
    *test = (struct onnx_test){.n_inputs = 0};
    snprintf(path, sizeof(path), "%s/model.onnx", folder);
    TP_TRY(troupe_library_new(&test->library, err));
    TP_TRY(troupe_library_load(test->library, path, &name, err));
    TP_TRY(troupe_library_find(test->library, name, &test->function, err));
    TP_TRY(read_values(folder, "input", test->inputs, &test->n_inputs, err));
    TP_TRY(read_values(folder, "output", test->outputs, &test->n_outputs, err));
    for (size_t i = 0; i < test->n_inputs; i++)
        TP_TRY(retype(&test->inputs[i],
                      troupe_function_arg_type(test->function, i, &rank, dims), err));
    for (size_t i = 0; i < test->n_outputs; i++)
        TP_TRY(retype(&test->outputs[i],
                      troupe_function_result_type(test->function, i, &rank, dims), err));
    return TROUPE_OK;
}

void onnx_test_fini(struct onnx_test *test)
{
    for (size_t i = 0; i < ONNX_VALUES; i++) {
        troupe_tensor_release(&test->inputs[i]);
        troupe_tensor_release(&test->outputs[i]);
    }
    troupe_function_release(&test->function);
    troupe_library_destroy(&test->library);
}

/* --- comparing ------------------------------------------------------------------------ */

static double number_at(const troupe_tensor *t, size_t i)
{
    switch (t->type.dtype) {
    case TROUPE_F32:
        return (double)((const float *)t->data)[i];
    case TROUPE_F64:
        return ((const double *)t->data)[i];
    case TROUPE_F16:
        return (double)tp_f16_to_f32(((const uint16_t *)t->data)[i]);
    case TROUPE_BF16:
        return (double)tp_bf16_to_f32(((const uint16_t *)t->data)[i]);
    case TROUPE_I8:
        return ((const int8_t *)t->data)[i];
    case TROUPE_I16:
        return ((const int16_t *)t->data)[i];
    case TROUPE_I32:
        return ((const int32_t *)t->data)[i];
    case TROUPE_I64:
        return (double)((const int64_t *)t->data)[i];
    case TROUPE_U16:
        return ((const uint16_t *)t->data)[i];
    case TROUPE_U32:
        return ((const uint32_t *)t->data)[i];
    case TROUPE_U64:
        return (double)((const uint64_t *)t->data)[i];
    default:
        return ((const uint8_t *)t->data)[i];
    }
}

static bool is_close(double given, double expected)
{
    if (isnan(expected) || isnan(given)) return isnan(expected) && isnan(given);
    if (isinf(expected) || isinf(given)) return given == expected;
    return fabs(given - expected) <= 1e-7 + 1e-3 * fabs(expected);
}

/* bf16 was made by cutting off bits where others round, so the last bit does not count. */
static bool is_close_bf16(uint16_t given, uint16_t expected)
{
    if (is_close((double)tp_bf16_to_f32(given), (double)tp_bf16_to_f32(expected))) return true;
    return is_close(given, expected);
}

static bool strings_equal(const troupe_tensor *a, const troupe_tensor *b, size_t i)
{
    size_t n, m;
    const char *const x = troupe_tensor_string(a, i, &n), *const y =
                                                              troupe_tensor_string(b, i, &m);
    return n == m && memcmp(x, y, n) == 0;
}

static bool element_close(const troupe_tensor *a, const troupe_tensor *b, size_t i)
{
    if (a->type.dtype == TROUPE_STRING) return strings_equal(a, b, i);
    if (a->type.dtype == TROUPE_BF16)
        return is_close_bf16(((const uint16_t *)a->data)[i], ((const uint16_t *)b->data)[i]);
    return is_close(number_at(a, i), number_at(b, i));
}

bool onnx_close(const troupe_tensor *given, const troupe_tensor *expected, char *why,
                size_t size)
{
    if (given->type.dtype != expected->type.dtype ||
        !tp_shape_equal(&given->type.shape, &expected->type.shape)) {
        snprintf(why, size, "%s, not %s", tp_type_text(&given->type).text,
                 tp_type_text(&expected->type).text);
        return false;
    }
    for (size_t i = 0; i < expected->count; i++) {
        if (element_close(given, expected, i)) continue;
        if (given->type.dtype == TROUPE_STRING)
            snprintf(why, size, "element %zu is '%s', not '%s'", i,
                     troupe_tensor_string(given, i, NULL),
                     troupe_tensor_string(expected, i, NULL));
        else
            snprintf(why, size, "element %zu of %s is %.9g, not %.9g", i,
                     tp_type_text(&given->type).text, number_at(given, i),
                     number_at(expected, i));
        return false;
    }
    return true;
}

/* --- folders -------------------------------------------------------------------------- */

static int is_test(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_", 5) == 0;
}

int onnx_suite_each(const char *suite, void (*each)(void *arg, const char *folder), void *arg)
{
    struct dirent **entries = NULL;
    const int n = scandir(suite, &entries, is_test, alphasort);
    for (int i = 0; i < n; i++) {
        char folder[1024], model[1060];
        snprintf(folder, sizeof(folder), "%s/%s", suite, entries[i]->d_name);
        snprintf(model, sizeof(model), "%s/model.onnx", folder);
        struct stat stat_;
        if (stat(model, &stat_) == 0) each(arg, folder);
        free(entries[i]);
    }
    free(entries);
    return n;
}
