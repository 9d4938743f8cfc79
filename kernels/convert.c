/* SPDX-License-Identifier: MIT
 *
 * kernels/convert.c - loops that widen and narrow elements, one for each pair of types.
 */
#include "kernels/convert.h"

#include <stdbool.h>

#include "kernels/kernel.h"

/* clang-format off */
/*      dtype  memory    read as            lowest      highest     2^bits */
#define INTEGERS(X)                                                        \
    X(I8,   int8_t,   INT8_MIN,  INT8_MAX,   128.0)                        \
    X(I16,  int16_t,  INT16_MIN, INT16_MAX,  32768.0)                      \
    X(I32,  int32_t,  INT32_MIN, INT32_MAX,  2147483648.0)                 \
    X(I64,  int64_t,  INT64_MIN, INT64_MAX,  9223372036854775808.0)        \
    X(U8,   uint8_t,  0,         UINT8_MAX,  256.0)                        \
    X(U16,  uint16_t, 0,         UINT16_MAX, 65536.0)                      \
    X(U32,  uint32_t, 0,         UINT32_MAX, 4294967296.0)                 \
    X(U64,  uint64_t, 0,         UINT64_MAX, 18446744073709551616.0)
/* Those of less than a byte, and what keeps their lower bits. */
#define SHORTS(X)                                                          \
    X(U4,   uint8_t,  0,         15,         16.0, (x & 15))               \
    X(I4,   int8_t,   -8,        7,          8.0,  ((x & 15) ^ 8) - 8)     \
    X(U2,   uint8_t,  0,         3,          4.0,  (x & 3))                \
    X(I2,   int8_t,   -2,        1,          2.0,  ((x & 3) ^ 2) - 2)
#define SMALLS(X)                                                          \
    X(F8E4M3FN) X(F8E4M3FNUZ) X(F8E5M2) X(F8E5M2FNUZ) X(F4E2M1) X(F8E8M0)
/* clang-format on */

#define LOAD(wide, W, dtype, T, value)                                                         \
    static void load_##wide##_##dtype(const void *from, size_t step, size_t n, void *to)       \
    {                                                                                          \
        const T *p = from;                                                                     \
        W *o = to;                                                                             \
        if (step == 1) {                                                                       \
            for (size_t i = 0; i < n; i++) {                                                   \
                const T x = p[i];                                                              \
                o[i] = (W)(value);                                                             \
            }                                                                                  \
            return;                                                                            \
        }                                                                                      \
        for (size_t i = 0; i < n; i++) {                                                       \
            const T x = p[i * step];                                                           \
            o[i] = (W)(value);                                                                 \
        }                                                                                      \
    }

#define STORE(wide, W, dtype, T, value)                                                        \
    static void store_##wide##_##dtype(const void *from, size_t n, void *to, size_t step)      \
    {                                                                                          \
        const W *p = from;                                                                     \
        T *o = to;                                                                             \
        if (step == 1) {                                                                       \
            for (size_t i = 0; i < n; i++) {                                                   \
                const W x = p[i];                                                              \
                o[i] = (T)(value);                                                             \
            }                                                                                  \
            return;                                                                            \
        }                                                                                      \
        for (size_t i = 0; i < n; i++) {                                                       \
            const W x = p[i];                                                                  \
            o[i * step] = (T)(value);                                                          \
        }                                                                                      \
    }

typedef void load_fn(const void *from, size_t step, size_t n, void *to);
typedef void store_fn(const void *from, size_t n, void *to, size_t step);

/* --- loads -------------------------------------------------------------------------- */
#define LOAD_INTEGER(dtype, T, ...)                                                            \
    LOAD(f32, float, dtype, T, x)                                                              \
    LOAD(f64, double, dtype, T, x)                                                             \
    LOAD(i64, int64_t, dtype, T, x)
INTEGERS(LOAD_INTEGER)
SHORTS(LOAD_INTEGER)
#define LOAD_SMALL(dtype)                                                                      \
    LOAD(f32, float, dtype, uint8_t, tp_small_to_f32(TROUPE_##dtype, x))                       \
    LOAD(f64, double, dtype, uint8_t, tp_small_to_f32(TROUPE_##dtype, x))
SMALLS(LOAD_SMALL)
LOAD(f32, float, BOOL, uint8_t, x)
LOAD(f64, double, BOOL, uint8_t, x)
LOAD(i64, int64_t, BOOL, uint8_t, x)
LOAD(f32, float, F32, float, x)
LOAD(f64, double, F32, float, x)
LOAD(f32, float, F64, double, x)
LOAD(f64, double, F64, double, x)
LOAD(f32, float, F16, uint16_t, tp_f16_to_f32(x))
LOAD(f64, double, F16, uint16_t, tp_f16_to_f32(x))
LOAD(f32, float, BF16, uint16_t, tp_bf16_to_f32(x))
LOAD(f64, double, BF16, uint16_t, tp_bf16_to_f32(x))

#define ROW_F32(dtype, ...) [TROUPE_##dtype] = load_f32_##dtype,
#define ROW_F64(dtype, ...) [TROUPE_##dtype] = load_f64_##dtype,
#define ROW_I64(dtype, ...) [TROUPE_##dtype] = load_i64_##dtype,
#define WHOLE(ROW)          INTEGERS(ROW) SHORTS(ROW) ROW(BOOL, )
#define FLOATS(ROW)         ROW(F32, ) ROW(F64, ) ROW(F16, ) ROW(BF16, ) SMALLS(ROW)
static load_fn *const loads_f32[TP_DTYPES] = {WHOLE(ROW_F32) FLOATS(ROW_F32)};
static load_fn *const loads_f64[TP_DTYPES] = {WHOLE(ROW_F64) FLOATS(ROW_F64)};
static load_fn *const loads_i64[TP_DTYPES] = {WHOLE(ROW_I64)};

void tp_load_f32(troupe_dtype dtype, const void *from, size_t step, size_t n, float *to)
{
    loads_f32[dtype](from, step, n, to);
}

void tp_load_f64(troupe_dtype dtype, const void *from, size_t step, size_t n, double *to)
{
    loads_f64[dtype](from, step, n, to);
}

void tp_load_i64(troupe_dtype dtype, const void *from, size_t step, size_t n, int64_t *to)
{
    loads_i64[dtype](from, step, n, to);
}

/* --- stores ------------------------------------------------------------------------- */
/* Comparisons with NaN are false: it comes out as 0. */
#define NEAREST(T, lowest, highest, above)                                                     \
    (double)x >= (above) ? (highest) : (double)x > (lowest) ? (T)x : x == x ? (lowest) : 0

#define STORE_INTEGER(dtype, T, lowest, highest, above)                                        \
    STORE(f32, float, dtype, T, (NEAREST(T, lowest, highest, above)))                          \
    STORE(f64, double, dtype, T, (NEAREST(T, lowest, highest, above)))                         \
    STORE(i64, int64_t, dtype, T, x)                                                           \
    STORE(u64, uint64_t, dtype, T, x)
INTEGERS(STORE_INTEGER)
#define STORE_SHORT(dtype, T, lowest, highest, above, lower)                                   \
    STORE(f32, float, dtype, T, (NEAREST(T, lowest, highest, above)))                          \
    STORE(f64, double, dtype, T, (NEAREST(T, lowest, highest, above)))                         \
    STORE(i64, int64_t, dtype, T, lower)                                                       \
    STORE(u64, uint64_t, dtype, T, lower)
SHORTS(STORE_SHORT)
#define STORE_SMALL(dtype)                                                                     \
    STORE(f32, float, dtype, uint8_t, tp_f64_to_small(TROUPE_##dtype, (double)x, true))        \
    STORE(f64, double, dtype, uint8_t, tp_f64_to_small(TROUPE_##dtype, x, true))               \
    STORE(i64, int64_t, dtype, uint8_t, tp_f64_to_small(TROUPE_##dtype, (double)x, true))      \
    STORE(u64, uint64_t, dtype, uint8_t, tp_f64_to_small(TROUPE_##dtype, (double)x, true))
SMALLS(STORE_SMALL)
STORE(f32, float, BOOL, uint8_t, x != 0)
STORE(f64, double, BOOL, uint8_t, x != 0)
STORE(i64, int64_t, BOOL, uint8_t, x != 0)
STORE(u64, uint64_t, BOOL, uint8_t, x != 0)
STORE(f32, float, F32, float, x)
STORE(f64, double, F32, float, x)
STORE(i64, int64_t, F32, float, x)
STORE(u64, uint64_t, F32, float, x)
STORE(f32, float, F64, double, x)
STORE(f64, double, F64, double, x)
STORE(i64, int64_t, F64, double, x)
STORE(u64, uint64_t, F64, double, x)
STORE(f32, float, F16, uint16_t, tp_f32_to_f16(x))
STORE(f64, double, F16, uint16_t, tp_f64_to_f16(x))
STORE(i64, int64_t, F16, uint16_t, tp_f64_to_f16((double)x))
STORE(u64, uint64_t, F16, uint16_t, tp_f64_to_f16((double)x))
STORE(f32, float, BF16, uint16_t, tp_f32_to_bf16(x))
STORE(f64, double, BF16, uint16_t, tp_f64_to_bf16(x))
STORE(i64, int64_t, BF16, uint16_t, tp_f64_to_bf16((double)x))
STORE(u64, uint64_t, BF16, uint16_t, tp_f64_to_bf16((double)x))

#define TO_F32(dtype, ...) [TROUPE_##dtype] = store_f32_##dtype,
#define TO_F64(dtype, ...) [TROUPE_##dtype] = store_f64_##dtype,
#define TO_I64(dtype, ...) [TROUPE_##dtype] = store_i64_##dtype,
#define TO_U64(dtype, ...) [TROUPE_##dtype] = store_u64_##dtype,
static store_fn *const stores_f32[TP_DTYPES] = {WHOLE(TO_F32) FLOATS(TO_F32)};
static store_fn *const stores_f64[TP_DTYPES] = {WHOLE(TO_F64) FLOATS(TO_F64)};
static store_fn *const stores_i64[TP_DTYPES] = {WHOLE(TO_I64) FLOATS(TO_I64)};
static store_fn *const stores_u64[TP_DTYPES] = {WHOLE(TO_U64) FLOATS(TO_U64)};

void tp_store_f32(troupe_dtype dtype, const float *from, size_t n, void *to, size_t step)
{
    stores_f32[dtype](from, n, to, step);
}

void tp_store_f64(troupe_dtype dtype, const double *from, size_t n, void *to, size_t step)
{
    stores_f64[dtype](from, n, to, step);
}

void tp_store_i64(troupe_dtype dtype, const int64_t *from, size_t n, void *to, size_t step)
{
    stores_i64[dtype](from, n, to, step);
}

void tp_store_u64(troupe_dtype dtype, const uint64_t *from, size_t n, void *to, size_t step)
{
    stores_u64[dtype](from, n, to, step);
}
