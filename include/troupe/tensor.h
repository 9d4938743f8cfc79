/* SPDX-License-Identifier: MIT
 *
 * troupe/tensor.h - element types, and immutable counted tensors in host memory.
 *
 * A tensor is a type, a shape of 0 to TROUPE_MAX_RANK dimensions and its elements in row-major
 * order without gaps. It never changes after it was made, so any thread may read it and any
 * number of owners may share it: _retain adds one, _release gives one up. A tensor that the
 * user keeps outlives the runtime that made it.
 */
#ifndef TROUPE_TENSOR_H
#define TROUPE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TROUPE_MAX_RANK 8

/* Every element type: its name here, its value (stable), its name in text, bytes of one element
 * in memory (0: variable).
 *
 * F16, BF16 and the floats of 8 bits are stored as their bits; BOOL is one byte, 0 or 1. C64 and
 * C128 are two f32 or f64, the real part first. Integers and floats of 4 and 2 bits take a byte
 * each: U4, U2 and the bits of F4E2M1 in its lower bits, the others 0; I4 and I2 sign-extended.
 * (ONNX packs them; the importer takes them apart.) Of the floats of 8 bits E4M3 and E5M2 say how
 * many bits exponent and fraction have, FN that there is no infinity, UZ that there is no -0, and
 * E8M0 is a power of two. */
#define TROUPE_DTYPE_MAP(X)                                                                    \
    X(F32, 1, "f32", 4)                                                                        \
    X(F64, 2, "f64", 8)                                                                        \
    X(F16, 3, "f16", 2)                                                                        \
    X(BF16, 4, "bf16", 2)                                                                      \
    X(I8, 5, "i8", 1)                                                                          \
    X(I16, 6, "i16", 2)                                                                        \
    X(I32, 7, "i32", 4)                                                                        \
    X(I64, 8, "i64", 8)                                                                        \
    X(U8, 9, "u8", 1)                                                                          \
    X(U16, 10, "u16", 2)                                                                       \
    X(U32, 11, "u32", 4)                                                                       \
    X(U64, 12, "u64", 8)                                                                       \
    X(BOOL, 13, "bool", 1)                                                                     \
    X(STRING, 14, "string", 0)                                                                 \
    X(C64, 15, "c64", 8)                                                                       \
    X(C128, 16, "c128", 16)                                                                    \
    X(F8E4M3FN, 17, "f8e4m3fn", 1)                                                             \
    X(F8E4M3FNUZ, 18, "f8e4m3fnuz", 1)                                                         \
    X(F8E5M2, 19, "f8e5m2", 1)                                                                 \
    X(F8E5M2FNUZ, 20, "f8e5m2fnuz", 1)                                                         \
    X(U4, 21, "u4", 1)                                                                         \
    X(I4, 22, "i4", 1)                                                                         \
    X(F4E2M1, 23, "f4e2m1", 1)                                                                 \
    X(F8E8M0, 24, "f8e8m0", 1)                                                                 \
    X(U2, 25, "u2", 1)                                                                         \
    X(I2, 26, "i2", 1)

typedef enum troupe_dtype {
    TROUPE_DTYPE_NONE = 0,
#define X(name, value, text, size) TROUPE_##name = value,
    TROUPE_DTYPE_MAP(X)
#undef X
} troupe_dtype;

typedef struct troupe_tensor troupe_tensor;

/* Frees memory that was handed over with troupe_tensor_take. It may run on any thread, once. */
typedef void troupe_free_fn(void *arg, void *data);

/* A tensor with a copy of `data`, which holds the elements in row-major order (NULL: all
 * zeros). Not for strings. INVALID: rank or a dimension out of range, the size overflows, or a
 * byte is no element of its type: a BOOL of 2, a U4 of 16. */
TROUPE_EXPORT troupe_status troupe_tensor_new(troupe_tensor **out, troupe_dtype dtype, int rank,
                                              const int64_t *dims, const void *data,
                                              troupe_error *err) TROUPE_MUST_CHECK;

/* A tensor over the caller's own memory, without a copy: `data` must stay unchanged until
 * `free_fn` (may be NULL) is called with it, when the last owner releases the tensor. `data`
 * must be aligned to its element size, to that of a part for complex numbers; 64 bytes are
 * best. On failure the memory stays the caller's. */
TROUPE_EXPORT troupe_status troupe_tensor_take(troupe_tensor **out, troupe_dtype dtype,
                                               int rank, const int64_t *dims, void *data,
                                               troupe_free_fn *free_fn, void *arg,
                                               troupe_error *err) TROUPE_MUST_CHECK;

/* A tensor of strings: a copy of texts[0..count), which need not be UTF-8. sizes[i] is the
 * number of bytes of texts[i]; sizes may be NULL when all end with a zero byte. */
TROUPE_EXPORT troupe_status troupe_tensor_new_strings(troupe_tensor **out, int rank,
                                                      const int64_t *dims,
                                                      const char *const *texts,
                                                      const size_t *sizes,
                                                      troupe_error *err) TROUPE_MUST_CHECK;

/* The same elements with another shape of as many elements; shares the memory. */
TROUPE_EXPORT troupe_status troupe_tensor_reshape(troupe_tensor **out,
                                                  const troupe_tensor *tensor, int rank,
                                                  const int64_t *dims,
                                                  troupe_error *err) TROUPE_MUST_CHECK;

/* The same bytes with another element type of as many bytes: u8 as f8e4m3fn, i8 as i4, c64 as
 * f64. Shares the memory. INVALID: one of them is of strings, the sizes differ, the memory is
 * not aligned for it, or a byte is no element of the new type. */
TROUPE_EXPORT troupe_status troupe_tensor_retype(troupe_tensor **out,
                                                 const troupe_tensor *tensor,
                                                 troupe_dtype dtype,
                                                 troupe_error *err) TROUPE_MUST_CHECK;

/* One more owner; returns its argument, writable only for the count. */
TROUPE_EXPORT troupe_tensor *troupe_tensor_retain(const troupe_tensor *tensor);
/* One owner less; *tensor becomes NULL. NULL and a pointer to NULL are allowed. */
TROUPE_EXPORT void troupe_tensor_release(troupe_tensor **tensor);

TROUPE_EXPORT troupe_dtype troupe_tensor_dtype(const troupe_tensor *tensor);
TROUPE_EXPORT int troupe_tensor_rank(const troupe_tensor *tensor);
/* rank numbers; valid as long as the tensor. */
TROUPE_EXPORT const int64_t *troupe_tensor_dims(const troupe_tensor *tensor);
/* Number of elements: the product of the dimensions, 1 for rank 0. */
TROUPE_EXPORT size_t troupe_tensor_count(const troupe_tensor *tensor);
/* Bytes of the elements; for strings the bytes of their texts. */
TROUPE_EXPORT size_t troupe_tensor_size(const troupe_tensor *tensor);
/* The elements, valid as long as the tensor. NULL for strings. */
TROUPE_EXPORT const void *troupe_tensor_data(const troupe_tensor *tensor);
/* Text i of a tensor of strings, *size bytes (size may be NULL) and a zero byte behind them.
 * NULL when it is not a tensor of strings or has no element i. */
TROUPE_EXPORT const char *troupe_tensor_string(const troupe_tensor *tensor, size_t i,
                                               size_t *size);

/* True when types, shapes and all elements are equal, byte for byte (so NaN equals itself). */
TROUPE_EXPORT bool troupe_tensor_equal(const troupe_tensor *a, const troupe_tensor *b);

/* NumPy's .npy files, format versions 1 to 3, either byte order, C or Fortran order on reading;
 * version 1, little-endian, C order on writing, into a temporary file that replaces `path` when
 * it is whole. Strings are written as '<U', so they must be UTF-8 and not end with a zero byte
 * (INVALID), and read from '<U' or '|S' without the zeros at their ends; bf16, which NumPy
 * lacks, is written as '<V2', and '<V2' is read as bf16. Complex numbers are '<c8' and '<c16'.
 * What NumPy lacks too and has one byte is written as bytes, '|u1', or '|i1' for i4 and i2, and
 * comes back as u8 and i8; troupe_tensor_retype makes it what it was. CORRUPT with the byte
 * offset when the file is malformed or has more or less than its elements; UNSUPPORTED when its
 * type or rank is none of ours; NOT_FOUND when it, or the folder to write to, is not there;
 * EXHAUSTED when the disk is full. */
TROUPE_EXPORT troupe_status troupe_tensor_read_npy(troupe_tensor **out, const char *path,
                                                   troupe_error *err) TROUPE_MUST_CHECK;
TROUPE_EXPORT troupe_status troupe_tensor_write_npy(const troupe_tensor *tensor,
                                                    const char *path,
                                                    troupe_error *err) TROUPE_MUST_CHECK;

/* The text form of a value: a type and shape, then the elements, nested as they are:
 *   f32[] 1.5     i64[3] [1, -2, 3]     bool[2,1] [[true], [false]]     string[1] ["a\"b"]
 *   c64[2] [(1,2), (0.5,-inf)]
 * Numbers are printed so that reading them gives the same bits; nan, inf, -inf are words.
 * Without elements the brackets may be one pair, f32[2,0] [], and are shown so. In a string \"
 * \\ \n \t and \xHH stand for one byte. INVALID names the byte of the text. The locale does not
 * matter. */
TROUPE_EXPORT troupe_status troupe_tensor_parse(troupe_tensor **out, const char *text,
                                                troupe_error *err) TROUPE_MUST_CHECK;
/* Writes at most size bytes, a zero byte among them, and returns the bytes that the whole text
 * needs without it (like snprintf). Above max_elements (0: no limit) the middle of each
 * dimension is left out as "..." and such a text does not parse. */
TROUPE_EXPORT size_t troupe_tensor_show(const troupe_tensor *tensor, size_t max_elements,
                                        char *text, size_t size);

/* "f32" and so on; NULL for an unknown type. */
TROUPE_EXPORT const char *troupe_dtype_name(troupe_dtype dtype);
/* The type of that name; TROUPE_DTYPE_NONE when there is none. */
TROUPE_EXPORT troupe_dtype troupe_dtype_parse(const char *name);
/* Bytes of one element in memory; 0 for strings and unknown types. */
TROUPE_EXPORT size_t troupe_dtype_size(troupe_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
