/* SPDX-License-Identifier: MIT
 *
 * tensor/npy.h - the header of an .npy file, as its reader and its writer see it.
 *
 * A file is: 6 bytes "\x93NUMPY", 2 bytes of version, the header's size (2 bytes in version 1,
 * else 4, little-endian), the header, and the cells without gaps up to the end of the file. The
 * header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 */
#ifndef TP_TENSOR_NPY_H
#define TP_TENSOR_NPY_H

#include "tensor/tensor.h"

#define TP_NPY_MAGIC      "\x93NUMPY"
#define TP_NPY_MAGIC_SIZE 6
#define TP_NPY_ALIGN      64 /* the cells start at a multiple of this */

struct tp_npy_head {
    struct tp_type type; /* all dimensions known, their product checked */
    size_t cell;         /* bytes of one element in the file, not 0 */
    bool wide;           /* a STRING's cells are UCS-4 code points; else bytes */
    bool fortran;        /* the first dimension changes fastest */
    bool big_endian;
};

/* Reads a header. Byte 0 of it is byte `start` of the file, for the messages. CORRUPT with the
 * byte when it is malformed, UNSUPPORTED when it is sound but says what no tensor can hold. */
troupe_status tp_npy_parse_head(struct tp_npy_head *out, const char *text, size_t size,
                                size_t start, troupe_error *err) TROUPE_MUST_CHECK;

/* Like snprintf: the whole start of a file, padded, up to where the cells begin. `cell` is as
 * above. */
size_t tp_npy_show_head(const struct tp_type *type, size_t cell, char *text, size_t size);

/* It is in files as u8 or i8, since NumPy has no such type. */
bool tp_npy_is_bytes(troupe_dtype dtype);

/* This machine's byte order. */
bool tp_npy_host_big(void);
/* Turn round each of the n units of `unit` bytes. */
void tp_npy_swap(void *data, size_t n, size_t unit);

#endif
