/* SPDX-License-Identifier: MIT
 *
 * tensor/npy_write.c - a tensor to an .npy file, which appears whole or not at all.
 */
#include <string.h>

#include "base/fail.h"
#include "base/need.h"
#include "base/outfile.h"
#include "tensor/npy.h"
#include "tensor/utf8.h"

#define HEAD_SIZE 512

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

/* One code point, little-endian. */
static troupe_status put_code(struct tp_outfile *file, uint32_t code, troupe_error *err)
{
    const unsigned char bytes[4] = {(unsigned char)code, (unsigned char)(code >> 8),
                                    (unsigned char)(code >> 16), (unsigned char)(code >> 24)};
    return tp_outfile_put(file, bytes, sizeof(bytes), err);
}

static troupe_status put_string(struct tp_outfile *file, const troupe_tensor *tensor, size_t i,
                                size_t cell, troupe_error *err)
{
    size_t size, at = 0;
    uint32_t code;
    const char *text = troupe_tensor_string(tensor, i, &size);
    for (; at < size; cell -= 4) {
        at += tp_utf8_get(text + at, size - at, &code);
        TP_TRY(put_code(file, code, err));
    }
    for (; cell > 0; cell -= 4)
        TP_TRY(put_code(file, 0, err));
    return TROUPE_OK;
}

/* On a big-endian machine: by way of a block that is turned round. */
static troupe_status put_swapped(struct tp_outfile *file, const char *data, size_t size,
                                 size_t unit, troupe_error *err)
{
    char block[4096];
    for (size_t n; size > 0; data += n, size -= n) {
        n = size < sizeof(block) ? size : sizeof(block);
        memcpy(block, data, n);
        tp_npy_swap(block, n / unit, unit);
        TP_TRY(tp_outfile_put(file, block, n, err));
    }
    return TROUPE_OK;
}

static troupe_status put_cells(struct tp_outfile *file, const troupe_tensor *tensor,
                               size_t cell, troupe_error *err)
{
    if (tensor->type.dtype == TROUPE_STRING) {
        for (size_t i = 0; i < tensor->count; i++) {
            TP_TRY(put_string(file, tensor, i, cell, err));
        }
        return TROUPE_OK;
    }
    const size_t size = tensor->count * cell;
    if (size == 0) return TROUPE_OK; /* the header says all */
    const size_t unit = tp_dtype_unit(tensor->type.dtype);
    if (tp_npy_host_big()) return put_swapped(file, tensor->data, size, unit, err);
    return tp_outfile_put(file, tensor->data, size, err);
}

static troupe_status put_all(struct tp_outfile *file, const troupe_tensor *tensor, size_t cell,
                             troupe_error *err)
{
    char head[HEAD_SIZE];
    const size_t size = tp_npy_show_head(&tensor->type, cell, head, sizeof(head));
    tp_assert(size <= sizeof(head));
    TP_TRY(tp_outfile_put(file, head, size, err));
    return put_cells(file, tensor, cell, err);
}

static troupe_status write_file(const troupe_tensor *tensor, const char *path,
                                troupe_error *err)
{
    TP_OWNED(tp_outfile_discard) struct tp_outfile file = {0};
    size_t cell = 0;
    TP_TRY(find_cell(tensor, &cell, err));
    TP_TRY(tp_outfile_open(&file, path, err));
    TP_TRY(put_all(&file, tensor, cell, err));
    return tp_outfile_finish(&file, path, err);
}

troupe_status troupe_tensor_write_npy(const troupe_tensor *tensor, const char *path,
                                      troupe_error *err)
{
    TP_TRY(tp_need(tensor, "tensor", err));
    TP_TRY(tp_need(path, "path", err));
    const troupe_status status = write_file(tensor, path, err);
    if (status < 0) tp_fail_in(err, "%s", path);
    return status;
}
