/* SPDX-License-Identifier: MIT
 *
 * tools/output.c - results on standard output and in files.
 */
#include "tools/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/json.h"
#include "tools/say.h"

enum { MOST_PRINTED = 100 }; /* elements of a result that are printed in full */

/* -- Text --------------------------------------------------------------------------------- */

static int print_result(const char *name, const troupe_tensor *tensor)
{
    const size_t size = troupe_tensor_show(tensor, MOST_PRINTED, NULL, 0) + 1;
    char *text = malloc(size);
    if (!text) return tp_say_memory();
    troupe_tensor_show(tensor, MOST_PRINTED, text, size);
    tp_say_text(stdout, name, "");
    fputs(" = ", stdout);
    tp_say_text(stdout, text, "");
    putchar('\n');
    free(text);
    return TP_EXIT_OK;
}

int tp_output_print(const troupe_function *function, troupe_tensor *const *results)
{
    for (size_t i = 0; i < troupe_function_results(function); i++) {
        const int status = print_result(troupe_function_result_name(function, i), results[i]);
        if (status) return status;
    }
    return TP_EXIT_OK;
}

int tp_output_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return TP_EXIT_OK;
    return tp_say_failure("standard output: %s", strerror(errno ? errno : EIO));
}

/* -- Files -------------------------------------------------------------------------------- */

/* DIR/NAME.npy, the caller's to free; NULL: no memory. */
static char *file_of(const char *folder, const char *name)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const size_t size = strlen(folder) + 3 * strlen(name) + sizeof("/.npy");
    char *path = malloc(size);
    if (!path) return NULL;
    size_t at = (size_t)snprintf(path, size, "%s/", folder);
    for (const char *c = name; *c; c++)
        at += (size_t)snprintf(path + at, size - at, strchr(plain, *c) ? "%c" : "%%%02X",
                               (unsigned char)*c);
    snprintf(path + at, size - at, ".npy");
    return path;
}

static int make_folder(const char *folder)
{
    struct stat status;
    if (mkdir(folder, 0777) == 0) return TP_EXIT_OK;
    const int why = errno;
    if (why == EEXIST && stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
        return TP_EXIT_OK;
    return tp_say_failure("%s: %s", folder, why == EEXIST ? "not a folder" : strerror(why));
}

static int write_result(const char *folder, const char *name, const troupe_tensor *tensor)
{
    troupe_error err;
    char *path = file_of(folder, name);
    if (!path) return tp_say_memory();
    const troupe_status status = troupe_tensor_write_npy(tensor, path, &err);
    free(path);
    return status < 0 ? tp_say_failure("result '%s': %s", name, err.text) : TP_EXIT_OK;
}

int tp_output_write(const troupe_function *function, troupe_tensor *const *results,
                    const char *folder)
{
    int status = make_folder(folder);
    for (size_t i = 0; !status && i < troupe_function_results(function); i++)
        status = write_result(folder, troupe_function_result_name(function, i), results[i]);
    return status;
}

/* -- JSON --------------------------------------------------------------------------------- */

static json_t *result_json(const char *name, const troupe_tensor *tensor, const char *folder)
{
    json_t *shape = json_array(), *result = json_object();
    const troupe_dtype dtype = troupe_tensor_dtype(tensor);
    int bad = !shape || !result;
    for (int d = 0; d < troupe_tensor_rank(tensor); d++)
        bad |= json_array_append_new(shape, json_integer(troupe_tensor_dims(tensor)[d]));
    bad |= json_object_set_new(result, "name", tp_json_name(name, strlen(name)));
    bad |= json_object_set_new(result, "dtype", json_string(troupe_dtype_name(dtype)));
    bad |= json_object_set_new(result, "shape", shape);
    char *path = folder ? file_of(folder, name) : NULL;
    if (path)
        bad |= json_object_set_new(result, "file", tp_json_name(path, strlen(path)));
    else
        bad |= json_object_set_new(result, "data", tp_json_elements(tensor));
    free(path);
    if (!bad) return result;
    json_decref(result);
    return NULL;
}

json_t *tp_output_json(const troupe_function *function, troupe_tensor *const *results,
                       const char *folder)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < troupe_function_results(function); i++) {
        const char *name = troupe_function_result_name(function, i);
        if (json_array_append_new(list, result_json(name, results[i], folder)) == 0) continue;
        json_decref(list);
        list = NULL;
    }
    return list;
}
