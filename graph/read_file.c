/* SPDX-License-Identifier: MIT
 *
 * graph/read_file.c - constants from files beside the text that names them.
 *
 * A text may come from anyone, so it reads nothing but regular files below its own folder: the
 * path is relative, has no `..`, and no part of it is a symbolic link.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/reader.h"
#include "tensor/npy.h"
#include "tensor/tensor.h"

static void close_folder(int *folder)
{
    if (*folder >= 0) close(*folder);
}

/* The folder of a source: what is before its last slash, with it; nothing for the current one.
 */
static size_t folder_size(const char *source)
{
    const char *slash = strrchr(source, '/');
    return slash ? (size_t)(slash - source) + 1 : 0;
}

static troupe_status fail_part(const char *path, int number, troupe_error *err)
{
    if (number == ELOOP || number == EMLINK) {
        return tp_fail(err, TROUPE_INVALID, "'%s' leads over a symbolic link", path);
    }
    return tp_fail(err, tp_fail_code(number), "'%s': %s", path, strerror(number));
}

/* A part of the path: a name, and whether it is the last. */
static troupe_status open_part(const char *path, const char *name, bool last, int *folder,
                               troupe_error *err)
{
    struct stat is;
    /* not blocking: a pipe is refused, and nobody waits for its other end */
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
    const int fd = openat(*folder, name, flags);
    if (fd < 0) {
        const int number = errno;
        const bool link =
            fstatat(*folder, name, &is, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(is.st_mode);
        return fail_part(path, link ? ELOOP : number, err);
    }
    close_folder(folder);
    *folder = fd;
    if (!last || (fstat(fd, &is) == 0 && S_ISREG(is.st_mode))) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "'%s' is no regular file", path);
}

static troupe_status check_part(const char *path, const char *name, troupe_error *err)
{
    if (strcmp(name, "..") != 0 && *name) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "'%s' is not a path below the folder of its source",
                   path);
}

/* Walk down the path, part by part. */
static troupe_status check_path(const char *folder, const char *path, troupe_error *err)
{
    TP_OWNED(tp_free_at) char *parts = tp_strdup(path);
    TP_OWNED(close_folder) int fd = -1;
    if (!parts) return tp_fail_memory(err, strlen(path));
    fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail_part(path, errno, err);
    for (char *name = parts, *next; name; name = next) {
        next = strchr(name, '/');
        if (next) *next++ = 0;
        TP_TRY(check_part(path, name, err));
        TP_TRY(open_part(path, name, !next, &fd, err));
    }
    return TROUPE_OK;
}

static troupe_status check_type(const char *path, const struct tp_type *wanted,
                                const troupe_tensor *tensor, troupe_error *err)
{
    if (wanted->dtype == tensor->type.dtype &&
        tp_shape_equal(&wanted->shape, &tensor->type.shape))
        return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "'%s' holds %s, not %s", path,
                   tp_type_text(&tensor->type).text, tp_type_text(wanted).text);
}

/* What NumPy has no type for is in its files as bytes. */
static troupe_status settle_type(const char *path, troupe_dtype wanted, troupe_tensor **tensor,
                                 troupe_error *err)
{
    const troupe_dtype has = (*tensor)->type.dtype;
    const bool bytes = has == TROUPE_U8 || has == TROUPE_I8;
    troupe_tensor *typed;
    if (!bytes || !tp_npy_is_bytes(wanted)) return TROUPE_OK; /* as it is, or not at all */
    const troupe_status status = troupe_tensor_retype(&typed, *tensor, wanted, err);
    if (status < 0) tp_fail_in(err, "'%s'", path);
    TP_TRY(status);
    troupe_tensor_release(tensor);
    *tensor = typed;
    return TROUPE_OK;
}

troupe_status tp_read_constant(const char *source, const char *path, const struct tp_type *type,
                               troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(tp_free_at) char *folder = NULL;
    TP_OWNED(tp_text_fini) struct tp_text whole = {0};
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    if (!tp_shape_known(&type->shape)) {
        return tp_fail(err, TROUPE_INVALID, "the type of '%s' has unknown dimensions", path);
    }
    folder = folder_size(source) ? tp_strndup(source, folder_size(source)) : tp_strdup("");
    if (!folder) return tp_fail_memory(err, strlen(source));
    TP_TRY(check_path(folder, path, err));
    tp_text_add(&whole, "%s%s", folder, path);
    if (whole.failed) return tp_fail_memory(err, strlen(source) + strlen(path));
    TP_TRY(troupe_tensor_read_npy(&tensor, whole.data, err));
    TP_TRY(settle_type(path, type->dtype, &tensor, err));
    TP_TRY(check_type(path, type, tensor, err));
    *out = tensor;
    tensor = NULL;
    return TROUPE_OK;
}
