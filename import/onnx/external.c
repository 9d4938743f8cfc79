/* SPDX-License-Identifier: MIT
 *
 * import/onnx/external.c - elements that lie in a file beside the model.
 *
 * A model comes from anywhere, so it may name any file. The kernel resolves the name beneath
 * the model's folder in one call (openat2), so no link that changes meanwhile leads out of it.
 */
#include "import/onnx/external.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

#include "base/alloc.h"
#include "base/fail.h"
#include "import/onnx/reader.h"

#define FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static void close_at(int *file)
{
    if (*file >= 0) close(*file);
    *file = -1;
}

/* --- opening -------------------------------------------------------------------------- */

static bool goes_up(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0)) return true;
    }
    return false;
}

static troupe_status check_path(const char *path, troupe_error *err)
{
    if (*path == 0) return tp_fail(err, TROUPE_INVALID, "external data without a location");
    if (*path == '/' || goes_up(path))
        return tp_fail(err, TROUPE_INVALID, "external data '%s' lie outside the model's folder",
                       path);
    return TROUPE_OK;
}

static troupe_status fail_open(const char *path, int code, troupe_error *err)
{
    if (code == EXDEV || code == ELOOP)
        return tp_fail(err, TROUPE_INVALID,
                       "external data '%s': a symbolic link leads outside the model's folder",
                       path);
    return tp_fail(err, tp_fail_code(code), "external data '%s': %s", path, strerror(code));
}

/* Not told apart by the kernel: a link where a folder is wanted, and a file there. */
static troupe_status fail_step(const char *path, const char *part, int code, troupe_error *err)
{
    if (code == ENOTDIR || code == ELOOP)
        return tp_fail(err, TROUPE_INVALID,
                       "external data '%s': '%s' is a symbolic link or not a folder, and this "
                       "kernel cannot tell whether a link leads outside the model's folder",
                       path, part);
    return fail_open(path, code, err);
}

troupe_status tp_onnx_open_plain(int folder, const char *path, int *out, troupe_error *err)
{
    TP_TRY(check_path(path, err));
    TP_OWNED(tp_free_at) char *parts = tp_strdup(path);
    if (!parts) return tp_fail_memory(err, strlen(path) + 1);
    TP_OWNED(close_at) int at = -1;
    char *rest = NULL;
    for (char *part = strtok_r(parts, "/", &rest); part;) {
        char *const next = strtok_r(NULL, "/", &rest);
        const int flags = FLAGS | O_NOFOLLOW | (next ? O_DIRECTORY : 0);
        const int inner = openat(at >= 0 ? at : folder, part, flags);
        const int code = errno;
        close_at(&at);
        at = inner;
        if (inner < 0) return fail_step(path, part, code, err);
        part = next;
    }
    *out = at;
    at = -1;
    return TROUPE_OK;
}

troupe_status tp_onnx_open_beneath(int folder, const char *path, int *out, troupe_error *err)
{
    TP_TRY(check_path(path, err));
#ifdef SYS_openat2
    struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    const long file = syscall(SYS_openat2, folder, path, &how, sizeof(how));
    if (file >= 0) {
        *out = (int)file;
        return TROUPE_OK;
    }
    /* a kernel before 5.6 lacks it; some filters of system calls answer EPERM */
    if (errno != ENOSYS && errno != EPERM) return fail_open(path, errno, err);
#endif
    return tp_onnx_open_plain(folder, path, out, err);
}

void tp_onnx_source_fini(struct tp_onnx_source *source)
{
    close_at(&source->file);
    tp_free(source->location);
    source->location = NULL;
}

static troupe_status open_folder(const char *folder, int *out, troupe_error *err)
{
    if (!folder)
        return tp_fail(err, TROUPE_INVALID, "external data of a model without a folder");
    *out = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*out < 0)
        return tp_fail(err, tp_fail_code(errno), "folder '%s': %s", folder, strerror(errno));
    return TROUPE_OK;
}

/* Have the file of that location open. */
static troupe_status switch_file(struct tp_onnx_source *source, const char *location,
                                 troupe_error *err)
{
    struct stat stat;
    TP_OWNED(close_at) int folder = -1;
    if (source->location && strcmp(source->location, location) == 0) return TROUPE_OK;
    tp_onnx_source_fini(source);
    TP_TRY(open_folder(source->folder, &folder, err));
    TP_TRY(tp_onnx_open_beneath(folder, location, &source->file, err));
    if (fstat(source->file, &stat) < 0 || !S_ISREG(stat.st_mode))
        return tp_fail(err, TROUPE_INVALID, "external data '%s' are no file", location);
    source->file_size = (uint64_t)stat.st_size;
    source->location = tp_strdup(location);
    return source->location ? TROUPE_OK : tp_fail_memory(err, strlen(location) + 1);
}

/* --- where in the file ---------------------------------------------------------------- */

static const char *entry(const Onnx__TensorProto *proto, const char *key)
{
    for (size_t i = 0; i < proto->n_external_data; i++) {
        if (strcmp(tp_onnx_text(proto->external_data[i]->key), key) == 0)
            return tp_onnx_text(proto->external_data[i]->value);
    }
    return "";
}

/* A decimal number, 0 when it is absent. */
static troupe_status entry_number(const Onnx__TensorProto *proto, const char *key,
                                  uint64_t *out, troupe_error *err)
{
    const char *const text = entry(proto, key);
    uint64_t value = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return tp_fail(err, TROUPE_INVALID, "external data: %s '%s' is no number of bytes",
                           key, text);
    }
    *out = value;
    return TROUPE_OK;
}

troupe_status tp_onnx_external_find(struct tp_onnx_source *source,
                                    const Onnx__TensorProto *proto, size_t size, uint64_t *at,
                                    troupe_error *err)
{
    const char *const location = entry(proto, "location");
    uint64_t offset, length;
    TP_TRY(entry_number(proto, "offset", &offset, err));
    TP_TRY(entry_number(proto, "length", &length, err));
    if (length != 0 && length != size) /* absent: the shape says it */
        return tp_fail(err, TROUPE_INVALID,
                       "external data '%s': a length of %llu bytes; the shape has %zu",
                       location, (unsigned long long)length, size);
    TP_TRY(switch_file(source, location, err));
    if (size > source->file_size || offset > source->file_size - size)
        return tp_fail(err, TROUPE_INVALID,
                       "external data '%s': %zu bytes at %llu; the file has %llu", location,
                       size, (unsigned long long)offset, (unsigned long long)source->file_size);
    *at = offset;
    return TROUPE_OK;
}

troupe_status tp_onnx_external_read(struct tp_onnx_source *source, uint64_t at, void *out,
                                    size_t size, troupe_error *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pread(source->file, (char *)out + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return tp_fail(err, n < 0 ? tp_fail_code(errno) : TROUPE_INVALID,
                           "external data '%s': %s", source->location,
                           n < 0 ? strerror(errno) : "the file became shorter");
        done += (size_t)n;
    }
    return TROUPE_OK;
}
