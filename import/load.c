/* SPDX-License-Identifier: MIT
 *
 * import/load.c - a model from a file, whatever its format: ONNX, or one of our own two.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "graph/library.h"
#include "import/native.h"
#include "import/onnx/import.h"
#include "troupe/function.h"

/* --- a file as bytes ------------------------------------------------------------------ */

static void close_at(int *file)
{
    if (*file >= 0) close(*file);
    *file = -1;
}

static troupe_status open_file(const char *path, int *out, size_t *size, troupe_error *err)
{
    struct stat stat;
    *out = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*out < 0) return tp_fail(err, tp_fail_code(errno), "%s: %s", path, strerror(errno));
    if (fstat(*out, &stat) < 0 || !S_ISREG(stat.st_mode))
        return tp_fail(err, TROUPE_INVALID, "%s is no file", path);
    *size = (size_t)stat.st_size;
    return TROUPE_OK;
}

/* At most size bytes from a place; *got is less at the file's end. */
static troupe_status read_some(int file, const char *path, void *bytes, size_t size,
                               size_t *got, troupe_error *err)
{
    for (*got = 0; *got < size;) {
        const ssize_t n = pread(file, (char *)bytes + *got, size - *got, (off_t)*got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tp_fail(err, tp_fail_code(errno), "%s: %s", path, strerror(errno));
        if (n == 0) break; /* shorter than it was */
        *got += (size_t)n;
    }
    return TROUPE_OK;
}

/* --- which format --------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

enum format { FORMAT_ONNX, FORMAT_NATIVE, FORMAT_TEXT };

/* The first byte of a model is the tag of one of its low fields, mostly ir_version's 8, which
 * no text begins with. */
static troupe_status find_format(const char *path, enum format *out, troupe_error *err)
{
    unsigned char first[TP_NATIVE_MAGIC_SIZE] = " ";
    TP_OWNED(close_at) int file = -1;
    size_t size, got;
    *out = ends_with(path, ".onnx") ? FORMAT_ONNX : FORMAT_TEXT;
    if (*out == FORMAT_ONNX) return TROUPE_OK;
    TP_TRY(open_file(path, &file, &size, err));
    TP_TRY(read_some(file, path, first, sizeof first, &got, err));
    const bool control =
        got > 0 && first[0] < ' ' && !strchr("\t\n\r", first[0] ? first[0] : ' ');
    if (tp_native_begins(first, got))
        *out = FORMAT_NATIVE;
    else if (control && !ends_with(path, ".troupe"))
        *out = FORMAT_ONNX;
    return TROUPE_OK;
}

#ifdef TP_HAVE_ONNX
/* The folder in which a path lies, "" for the current one; tp_free it. */
static char *folder_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    if (slash == path) return tp_strdup("/");
    return tp_strndup(path, slash ? (size_t)(slash - path) : 0);
}

/* The file is read, not mapped: a mapped one that becomes shorter meanwhile ends the process.
 */
static troupe_status load_onnx(troupe_library *library, const char *path, const char **name,
                               troupe_error *err)
{
    TP_OWNED(close_at) int file = -1;
    TP_OWNED(tp_free_at) char *folder = folder_of(path);
    size_t size, got;
    if (!folder) return tp_fail_memory(err, strlen(path) + 1);
    TP_TRY(open_file(path, &file, &size, err));
    TP_OWNED(tp_free_at) uint8_t *bytes = tp_alloc_aligned(64, size > 0 ? size : 1);
    if (!bytes) return tp_fail_memory(err, size);
    tp_alloc_expect(bytes, size);
    TP_TRY(read_some(file, path, bytes, size, &got, err));
    return tp_onnx_read(bytes, got, folder, path, library, name, err);
}
#else
static troupe_status load_onnx(troupe_library *library, const char *path, const char **name,
                               troupe_error *err)
{
    (void)library, (void)name;
    return tp_fail(err, TROUPE_UNSUPPORTED, "%s is an ONNX model; built without ONNX", path);
}
#endif

/* --- our text form -------------------------------------------------------------------- */

/* The only one, or "main", or the first. */
static const char *main_of(const troupe_library *library)
{
    for (size_t i = 0; i < troupe_library_count(library); i++) {
        const char *const name = troupe_library_name(library, i);
        if (strcmp(name, "main") == 0) return name;
    }
    return troupe_library_name(library, 0);
}

static const char *own_name(const troupe_library *library, const char *name)
{
    for (size_t i = 0; name && i < troupe_library_count(library); i++) {
        const char *const own = troupe_library_name(library, i);
        if (strcmp(own, name) == 0) return own;
    }
    return NULL;
}

/* Which functions are the file's cannot be told from a library that had some, maybe the same,
 * before: then a library of their own tells it. */
static troupe_status load_text(troupe_library *library, const char *path, const char **name,
                               troupe_error *err)
{
    TP_OWNED(troupe_library_destroy) troupe_library *alone = NULL;
    if (name && troupe_library_count(library) > 0) {
        TP_TRY(troupe_library_new(&alone, err));
        TP_TRY(troupe_library_read_file(alone, path, err));
    }
    TP_TRY(troupe_library_read_file(library, path, err));
    if (name) *name = own_name(library, main_of(alone ? alone : library));
    return TROUPE_OK;
}

/* --- our binary form ------------------------------------------------------------------ */

static const char *main_of_bodies(const struct tp_bodies *bodies)
{
    if (bodies->main != TP_NO_NODE) return bodies->list[bodies->main]->name;
    for (uint32_t i = 0; i < bodies->n; i++)
        if (strcmp(bodies->list[i]->name, "main") == 0) return "main";
    return bodies->n ? bodies->list[0]->name : NULL;
}

static troupe_status load_native(troupe_library *library, const char *path, const char **name,
                                 troupe_error *err)
{
    TP_OWNED(close_at) int file = -1;
    TP_OWNED(tp_bodies_fini)
    struct tp_bodies bodies = {.operators = tp_library_finder(library).operators};
    size_t size;
    TP_TRY(open_file(path, &file, &size, err));
    troupe_status status = tp_native_read(file, size, path, &bodies, err);
    if (status >= 0) status = tp_library_add_all(library, bodies.list, bodies.n, NULL, err);
    if (status < 0)
        tp_fail_in(err, "%s", path);
    else if (name)
        *name = own_name(library, main_of_bodies(&bodies));
    return status;
}

troupe_status troupe_library_load(troupe_library *library, const char *path, const char **name,
                                  troupe_error *err)
{
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need(path, "path", err));
    enum format format;
    TP_TRY(find_format(path, &format, err));
    if (format == FORMAT_ONNX) return load_onnx(library, path, name, err);
    if (format == FORMAT_NATIVE) return load_native(library, path, name, err);
    return load_text(library, path, name, err);
}
