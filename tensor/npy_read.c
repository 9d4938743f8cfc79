/* SPDX-License-Identifier: MIT
 *
 * tensor/npy_read.c - an .npy file to a tensor.
 *
 * The file's size is known before anything is allocated, and what the header announces must
 * fill it exactly; so a file makes us hold at most a small multiple of its own bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "base/outfile.h"
#include "tensor/npy.h"
#include "tensor/utf8.h"

#define MAX_HEAD  (1u << 20)
#define MAX_CHUNK ((size_t)1 << 30) /* of one read, which the kernel cuts near 2 GiB */

struct file {
    int fd;
    size_t at, size;
};

static void close_file(struct file *file)
{
    if (file->fd >= 0) close(file->fd);
}

static troupe_status open_file(struct file *file, const char *path, troupe_error *err)
{
    struct stat st;
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */
    if (file->fd < 0) return tp_fail_errno(err, errno, "open");
    if (fstat(file->fd, &st) != 0) return tp_fail_errno(err, errno, "stat");
    if (!S_ISREG(st.st_mode)) return tp_fail(err, TROUPE_INVALID, "it is not a regular file");
    file->size = (size_t)st.st_size;
    return TROUPE_OK;
}

static troupe_status fail_short(const struct file *file, size_t wanted, troupe_error *err)
{
    return tp_fail(err, TROUPE_CORRUPT, "byte %zu: the file ends, %zu bytes more expected",
                   file->size, wanted - (file->size - file->at));
}

/* The next `size` bytes of the file. */
static troupe_status read_bytes(struct file *file, void *data, size_t size, troupe_error *err)
{
    char *to = data;
    if (size > file->size - file->at) return fail_short(file, size, err);
    while (size > 0) {
        const ssize_t n = read(file->fd, to, size < MAX_CHUNK ? size : MAX_CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tp_fail_errno(err, errno, "read");
        if (n == 0) { /* it was cut while we read it */
            file->size = file->at;
            return fail_short(file, size, err);
        }
        to += n;
        size -= (size_t)n;
        file->at += (size_t)n;
    }
    return TROUPE_OK;
}

/* Magic, version, and the header's size. */
static troupe_status read_prefix(struct file *file, size_t *head_size, troupe_error *err)
{
    unsigned char bytes[TP_NPY_MAGIC_SIZE + 2], count[4] = {0};
    TP_TRY(read_bytes(file, bytes, sizeof(bytes), err));
    if (memcmp(bytes, TP_NPY_MAGIC, TP_NPY_MAGIC_SIZE) != 0) {
        return tp_fail(err, TROUPE_CORRUPT, "byte 0: it does not start with \\x93NUMPY");
    }
    const int major = bytes[TP_NPY_MAGIC_SIZE], minor = bytes[TP_NPY_MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0) {
        return tp_fail(err, TROUPE_CORRUPT, "byte %d: version %d.%d is not 1.0, 2.0 or 3.0",
                       TP_NPY_MAGIC_SIZE, major, minor);
    }
    TP_TRY(read_bytes(file, count, major == 1 ? 2 : 4, err));
    *head_size =
        count[0] | (size_t)count[1] << 8 | (size_t)count[2] << 16 | (size_t)count[3] << 24;
    return TROUPE_OK;
}

static troupe_status read_head(struct file *file, struct tp_npy_head *head, troupe_error *err)
{
    size_t size = 0;
    TP_TRY(read_prefix(file, &size, err));
    if (size > file->size - file->at) return fail_short(file, size, err);
    if (size > MAX_HEAD) {
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: a header of %zu bytes", file->at, size);
    }
    TP_OWNED(tp_free_at) char *text = tp_alloc_array(size, 1);
    if (!text) return tp_fail_memory(err, size);
    const size_t start = file->at;
    TP_TRY(read_bytes(file, text, size, err));
    return tp_npy_parse_head(head, text, size, start, err);
}

/* What remains of the file must be the cells, all of them and nothing else. */
static troupe_status check_size(const struct file *file, const struct tp_npy_head *head,
                                size_t *out, troupe_error *err)
{
    const size_t count = tp_shape_count_known(&head->type.shape), rest = file->size - file->at;
    size_t size = 0;
    if (__builtin_mul_overflow(count, head->cell, &size)) {
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: the file ends in the first of %zu cells",
                       file->size, count);
    }
    if (size > rest) return fail_short(file, size, err);
    if (size < rest) {
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: %zu bytes after the last element",
                       file->at + size, rest - size);
    }
    *out = size;
    return TROUPE_OK;
}

/* Step `index` to the next place in row-major order, and `from` with it to where that cell lies
 * in Fortran order. */
static size_t step(const struct tp_shape *shape, int64_t index[TROUPE_MAX_RANK],
                   const size_t strides[TROUPE_MAX_RANK], size_t from)
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        from += strides[i];
        if (++index[i] < shape->dims[i]) break;
        from -= strides[i] * (size_t)shape->dims[i];
        index[i] = 0;
    }
    return from;
}

static void copy_rows(const struct tp_npy_head *head, char *to, const char *from, size_t size)
{
    const struct tp_shape *shape = &head->type.shape;
    int64_t index[TROUPE_MAX_RANK] = {0};
    size_t strides[TROUPE_MAX_RANK] = {0}, stride = head->cell, at = 0;
    for (int i = 0; i < shape->rank; i++) {
        strides[i] = stride;
        stride *= (size_t)shape->dims[i];
    }
    for (size_t done = 0; done < size; done += head->cell) {
        memcpy(to + done, from + at, head->cell);
        at = step(shape, index, strides, at);
    }
}

static troupe_status check_bools(const uint8_t *bytes, size_t n, size_t start,
                                 troupe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] > 1) {
            return tp_fail(err, TROUPE_CORRUPT, "byte %zu: a bool is %d, not 0 or 1", start + i,
                           bytes[i]);
        }
    }
    return TROUPE_OK;
}

static troupe_status check_codes(const char *cells, size_t n, size_t start, troupe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t code;
        memcpy(&code, cells + 4 * i, sizeof(code));
        if (!tp_utf8_valid(code)) {
            return tp_fail(err, TROUPE_CORRUPT, "byte %zu: 0x%08x is not a code point",
                           start + 4 * i, code);
        }
    }
    return TROUPE_OK;
}

/* The cells in the file's order of dimensions, in this machine's byte order, checked. */
static troupe_status read_raw(struct file *file, const struct tp_npy_head *head, char *to,
                              size_t size, troupe_error *err)
{
    const size_t unit = head->wide ? 4 : tp_dtype_unit(head->type.dtype), start = file->at;
    const bool bytes = head->type.dtype == TROUPE_STRING && !head->wide;
    TP_TRY(read_bytes(file, to, size, err));
    if (head->big_endian != tp_npy_host_big() && !bytes) tp_npy_swap(to, size / unit, unit);
    if (head->wide) return check_codes(to, size / 4, start, err);
    if (head->type.dtype != TROUPE_BOOL) return TROUPE_OK; /* every pattern is a value */
    return check_bools((const uint8_t *)to, size, start, err);
}

/* The cells in row-major order. */
static troupe_status read_cells(struct file *file, const struct tp_npy_head *head, char *to,
                                size_t size, troupe_error *err)
{
    if (!head->fortran || head->type.shape.rank < 2) return read_raw(file, head, to, size, err);
    TP_OWNED(tp_free_at) char *from = tp_alloc_aligned(TP_ALIGN, size);
    if (!from) return tp_fail_memory(err, size);
    TP_TRY(read_raw(file, head, from, size, err));
    copy_rows(head, to, from, size);
    return TROUPE_OK;
}

static troupe_status read_numbers(struct file *file, const struct tp_npy_head *head,
                                  size_t size, troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    TP_TRY(tp_tensor_new_unset(&tensor, &head->type, err));
    TP_TRY(read_cells(file, head, tp_tensor_write(tensor), size, err));
    *out = tensor;
    tensor = NULL;
    return TROUPE_OK;
}

/* Bytes of a cell without the zero units at its end. */
static size_t text_size(const struct tp_npy_head *head, const char *cell)
{
    size_t n = head->cell;
    while (n > 0 && cell[n - 1] == 0)
        n--;
    return head->wide ? (n + 3) / 4 * 4 : n;
}

static void add_text(const struct tp_npy_head *head, const char *cell, struct tp_text *text)
{
    const size_t size = text_size(head, cell);
    if (!head->wide) tp_text_add_bytes(text, cell, size);
    for (size_t at = 0; head->wide && at < size; at += 4) {
        char utf8[TP_UTF8_MAX];
        uint32_t code;
        memcpy(&code, cell + at, sizeof(code));
        tp_text_add_bytes(text, utf8, tp_utf8_put(utf8, code));
    }
}

static troupe_status read_strings(struct file *file, const struct tp_npy_head *head,
                                  size_t size, troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(tp_strings_fini) struct tp_strings strings = {0};
    TP_OWNED(tp_free_at) char *cells = tp_alloc_aligned(TP_ALIGN, size);
    if (!cells) return tp_fail_memory(err, size);
    TP_TRY(read_cells(file, head, cells, size, err));
    TP_TRY(tp_strings_init(&strings, size / head->cell, err));
    for (size_t i = 0; i < strings.count; i++) {
        add_text(head, cells + i * head->cell, &strings.bytes);
        TP_TRY(tp_strings_end(&strings, err));
    }
    return tp_strings_take(&strings, &head->type.shape, out, err);
}

static troupe_status read_file(const char *path, troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(close_file) struct file file = {.fd = -1};
    struct tp_npy_head head = {0};
    size_t size = 0;
    TP_TRY(open_file(&file, path, err));
    TP_TRY(read_head(&file, &head, err));
    TP_TRY(check_size(&file, &head, &size, err));
    if (head.type.dtype == TROUPE_STRING) return read_strings(&file, &head, size, out, err);
    return read_numbers(&file, &head, size, out, err);
}

troupe_status troupe_tensor_read_npy(troupe_tensor **out, const char *path, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    TP_TRY(tp_need(path, "path", err));
    const troupe_status status = read_file(path, out, err);
    if (status < 0) tp_fail_in(err, "%s", path);
    return status;
}
