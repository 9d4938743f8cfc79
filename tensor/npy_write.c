/* SPDX-License-Identifier: MIT
 *
 * tensor/npy_write.c - a tensor to an .npy file.
 *
 * The file is written under another name beside its own and renamed when it is whole, so nobody
 * ever reads a part of it, and a failure leaves what was there before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "tensor/npy.h"
#include "tensor/utf8.h"

#define HEAD_SIZE 512
#define MAX_TRIES 1000 /* names of other writers that are in the way */

/* A file under a name that is only ours, until it is renamed. */
struct part {
    FILE *stream;
    char *path; /* NULL: there is none to remove */
};

static void discard(struct part *part)
{
    if (part->stream) fclose(part->stream);
    if (part->path) unlink(part->path);
    tp_free(part->path);
}

bool tp_npy_host_big(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

void tp_npy_swap(void *data, size_t n, size_t unit)
{
    unsigned char *at = data;
    for (size_t i = 0; i < n; i++, at += unit) {
        for (size_t a = 0, b = unit - 1; a < b; a++, b--) {
            const unsigned char byte = at[a];
            at[a] = at[b];
            at[b] = byte;
        }
    }
}

troupe_status tp_npy_fail_errno(int error, const char *what, troupe_error *err)
{
    troupe_status code = TROUPE_INVALID;
    if (error == ENOENT || error == ENOTDIR) code = TROUPE_NOT_FOUND;
    if (error == ENOMEM || error == ENOSPC || error == EDQUOT || error == EMFILE ||
        error == ENFILE || error == EFBIG) {
        code = TROUPE_EXHAUSTED;
    }
    if (error == EIO) code = TROUPE_DEVICE;
    return tp_fail(err, code, "%s: %s", what, strerror(error));
}

/* Code points of text i; what makes it unfit for a cell is INVALID. */
static troupe_status measure(const troupe_tensor *tensor, size_t i, size_t *out,
                             troupe_error *err)
{
    size_t size, codes = 0;
    uint32_t code = 1;
    const char *text = troupe_tensor_string(tensor, i, &size);
    for (size_t at = 0, n; at < size; at += n, codes++) {
        n = tp_utf8_get(text + at, size - at, &code);
        if (n == 0) {
            return tp_fail(err, TROUPE_INVALID, "string %zu is not UTF-8 at its byte %zu", i,
                           at);
        }
    }
    if (code == 0) {
        return tp_fail(err, TROUPE_INVALID,
                       "string %zu ends with a zero byte, which an .npy file does not keep", i);
    }
    *out = codes;
    return TROUPE_OK;
}

/* Bytes of one cell of the file; for strings, four for each code point of the longest. */
static troupe_status find_cell(const troupe_tensor *tensor, size_t *out, troupe_error *err)
{
    size_t longest = 1; /* NumPy has no cells of no bytes */
    if (tensor->type.dtype != TROUPE_STRING) {
        *out = troupe_dtype_size(tensor->type.dtype);
        return TROUPE_OK;
    }
    for (size_t i = 0; i < tensor->count; i++) {
        size_t codes = 0;
        TP_TRY(measure(tensor, i, &codes, err));
        if (codes > longest) longest = codes;
    }
    *out = longest * 4;
    return TROUPE_OK;
}

static troupe_status put_bytes(struct part *part, const void *data, size_t size,
                               troupe_error *err)
{
    if (fwrite(data, 1, size, part->stream) == size) return TROUPE_OK;
    return tp_npy_fail_errno(errno, "write", err);
}

/* One code point, little-endian. */
static troupe_status put_code(struct part *part, uint32_t code, troupe_error *err)
{
    const unsigned char bytes[4] = {(unsigned char)code, (unsigned char)(code >> 8),
                                    (unsigned char)(code >> 16), (unsigned char)(code >> 24)};
    return put_bytes(part, bytes, sizeof(bytes), err);
}

static troupe_status put_string(struct part *part, const troupe_tensor *tensor, size_t i,
                                size_t cell, troupe_error *err)
{
    size_t size, at = 0;
    uint32_t code;
    const char *text = troupe_tensor_string(tensor, i, &size);
    for (; at < size; cell -= 4) {
        at += tp_utf8_get(text + at, size - at, &code);
        TP_TRY(put_code(part, code, err));
    }
    for (; cell > 0; cell -= 4)
        TP_TRY(put_code(part, 0, err));
    return TROUPE_OK;
}

/* On a big-endian machine: by way of a block that is turned round. */
static troupe_status put_swapped(struct part *part, const char *data, size_t size, size_t unit,
                                 troupe_error *err)
{
    char block[4096];
    for (size_t n; size > 0; data += n, size -= n) {
        n = size < sizeof(block) ? size : sizeof(block);
        memcpy(block, data, n);
        tp_npy_swap(block, n / unit, unit);
        TP_TRY(put_bytes(part, block, n, err));
    }
    return TROUPE_OK;
}

static troupe_status put_cells(struct part *part, const troupe_tensor *tensor, size_t cell,
                               troupe_error *err)
{
    if (tensor->type.dtype == TROUPE_STRING) {
        for (size_t i = 0; i < tensor->count; i++) {
            TP_TRY(put_string(part, tensor, i, cell, err));
        }
        return TROUPE_OK;
    }
    const size_t size = tensor->count * cell;
    if (size == 0) return TROUPE_OK; /* the header says all */
    if (tp_npy_host_big()) return put_swapped(part, tensor->data, size, cell, err);
    return put_bytes(part, tensor->data, size, err);
}

static troupe_status put_all(struct part *part, const troupe_tensor *tensor, size_t cell,
                             troupe_error *err)
{
    char head[HEAD_SIZE];
    const size_t size = tp_npy_show_head(&tensor->type, cell, head, sizeof(head));
    tp_assert(size <= sizeof(head));
    TP_TRY(put_bytes(part, head, size, err));
    return put_cells(part, tensor, cell, err);
}

/* A device or a pipe must not be replaced by a file. */
static troupe_status check_target(const char *path, troupe_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "it is there and is not a regular file");
}

/* A new file "PATH.PID-N.part" with the permissions that a new file gets. */
static troupe_status open_part(struct part *part, const char *path, troupe_error *err)
{
    const size_t room = strlen(path) + 40;
    int fd = -1;
    char *name = part->path = tp_alloc(room);
    if (!name) return tp_fail_memory(err, room);
    for (int i = 0; fd < 0 && i < MAX_TRIES; i++) {
        snprintf(name, room, "%s.%ld-%d.part", path, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    const int error = errno;
    if (fd >= 0) part->stream = fdopen(fd, "w");
    if (part->stream) return TROUPE_OK;
    if (fd >= 0) {
        close(fd);
    } else {
        tp_free(name); /* it is not our file that is there */
        part->path = NULL;
    }
    return fd >= 0 ? tp_fail_memory(err, BUFSIZ) : tp_npy_fail_errno(error, "create", err);
}

static troupe_status finish(struct part *part, const char *path, troupe_error *err)
{
    const int failed = fclose(part->stream);
    part->stream = NULL;
    if (failed) return tp_npy_fail_errno(errno, "write", err);
    if (rename(part->path, path) != 0) return tp_npy_fail_errno(errno, "rename", err);
    tp_free(part->path);
    part->path = NULL;
    return TROUPE_OK;
}

static troupe_status write_file(const troupe_tensor *tensor, const char *path,
                                troupe_error *err)
{
    TP_OWNED(discard) struct part part = {0};
    size_t cell = 0;
    TP_TRY(find_cell(tensor, &cell, err));
    TP_TRY(check_target(path, err));
    TP_TRY(open_part(&part, path, err));
    TP_TRY(put_all(&part, tensor, cell, err));
    return finish(&part, path, err);
}

troupe_status troupe_tensor_write_npy(const troupe_tensor *tensor, const char *path,
                                      troupe_error *err)
{
    const troupe_status status = write_file(tensor, path, err);
    if (status < 0) tp_fail_in(err, "%s", path);
    return status;
}
