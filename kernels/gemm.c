/* SPDX-License-Identifier: MIT
 *
 * kernels/gemm.c - our own product of two matrices.
 *
 * Columns go in panels of two vectors and rows in groups of four, so that a group's sums stay
 * in registers. A panel of b is copied together when its columns do not lie beside one another,
 * or when many rows pass over it. Few rows take many columns at a time instead.
 *
 * Floats have a second version for processors with AVX2 and FMA. Their results are rounded once
 * where the others are rounded twice, so which one is taken depends on the processor alone.
 */
#include "kernels/gemm.h"

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernel.h"

#if defined(__GNUC__) && !defined(__clang__)
#define FOUR_ROWS  _Pragma("GCC unroll 4") /* so that sums stay in registers */
#define EIGHT_SUMS _Pragma("GCC unroll 8")
#else
#define FOUR_ROWS
#define EIGHT_SUMS
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_FMA
#include <immintrin.h>
#endif

#define DEPTH   256 /* of a panel: rows of b that are worked on together */
#define MANY    16  /* rows of a from which on copying a panel pays */
#define ABREAST 8   /* vectors of a row's sums */

/* One type: S, in which it is summed, the name of the functions, bytes of a vector, ADD(sum, one,
 * vector), and what else a function needs. */
#define GEMM(S, name, BYTES, ADD, WITH)                                                        \
    typedef S name##_vector __attribute__((vector_size(BYTES), aligned(1), may_alias));        \
    enum { name##_LANES = BYTES / sizeof(S), name##_WIDE = 2 * name##_LANES };                 \
                                                                                               \
    /* Rows of sums: a is rows of k elements, b is k rows of one vector or two. */             \
    static inline __attribute__((always_inline))                                               \
    WITH void name##_rows(int rows, bool two, size_t k, const S *a, size_t a_row,              \
                          size_t a_column, const S *b, size_t b_row, S *sums, bool add)        \
    {                                                                                          \
        name##_vector left[4], right[4];                                                       \
        FOUR_ROWS                                                                              \
        for (int r = 0; r < rows; r++) {                                                       \
            left[r] = right[r] = (name##_vector){0};                                           \
            if (!add) continue;                                                                \
            left[r] = *(const name##_vector *)(sums + r * name##_WIDE);                        \
            if (two)                                                                           \
                right[r] = *(const name##_vector *)(sums + r * name##_WIDE + name##_LANES);    \
        }                                                                                      \
        for (size_t p = 0; p < k; p++) {                                                       \
            const name##_vector x = *(const name##_vector *)(b + p * b_row);                   \
            const name##_vector y =                                                            \
                two ? *(const name##_vector *)(b + p * b_row + name##_LANES) : x;              \
            FOUR_ROWS                                                                          \
            for (int r = 0; r < rows; r++) {                                                   \
                const S one = a[(size_t)r * a_row + p * a_column];                             \
                left[r] = ADD(left[r], one, x);                                                \
                if (two) right[r] = ADD(right[r], one, y);                                     \
            }                                                                                  \
        }                                                                                      \
        FOUR_ROWS                                                                              \
        for (int r = 0; r < rows; r++) {                                                       \
            *(name##_vector *)(sums + r * name##_WIDE) = left[r];                              \
            if (two) *(name##_vector *)(sums + r * name##_WIDE + name##_LANES) = right[r];     \
        }                                                                                      \
    }                                                                                          \
                                                                                               \
    /* `rows` rows of one panel of `wide` columns, of which the last may be short. */          \
    static inline __attribute__((always_inline)) WITH void name##_group(                       \
        int rows, bool two, size_t k, size_t wide, const S *a, size_t a_row, size_t a_column,  \
        const S *b, size_t b_row, S *c, size_t c_row, bool add)                                \
    {                                                                                          \
        S sums[4 * name##_WIDE];                                                               \
        for (int r = 0; add && r < rows; r++)                                                  \
            for (size_t j = 0; j < wide; j++)                                                  \
                sums[(size_t)r * name##_WIDE + j] = c[(size_t)r * c_row + j];                  \
        for (int r = 0; add && r < rows; r++)                                                  \
            for (size_t j = wide; j < name##_WIDE; j++)                                        \
                sums[(size_t)r * name##_WIDE + j] = 0;                                         \
        name##_rows(rows, two, k, a, a_row, a_column, b, b_row, sums, add);                    \
        for (int r = 0; r < rows; r++)                                                         \
            for (size_t j = 0; j < wide; j++)                                                  \
                c[(size_t)r * c_row + j] = sums[(size_t)r * name##_WIDE + j];                  \
    }                                                                                          \
                                                                                               \
    static inline __attribute__((always_inline))                                               \
    WITH void name##_all_rows(bool two, size_t m, size_t k, size_t wide, struct tp_matrix a,   \
                              const S *b, size_t b_row, S *c, size_t c_row, bool add)          \
    {                                                                                          \
        const S *from = a.data;                                                                \
        size_t i = 0;                                                                          \
        for (; i + 4 <= m; i += 4)                                                             \
            name##_group(4, two, k, wide, from + i * a.row, a.row, a.column, b, b_row,         \
                         c + i * c_row, c_row, add);                                           \
        for (; i < m; i++)                                                                     \
            name##_group(1, two, k, wide, from + i * a.row, a.row, a.column, b, b_row,         \
                         c + i * c_row, c_row, add);                                           \
    }                                                                                          \
                                                                                               \
    /* The compiler sees the width where it is a whole number of vectors. */                   \
    static WITH void name##_panel(size_t m, size_t k, size_t wide, struct tp_matrix a,         \
                                  const S *b, size_t b_row, S *c, size_t c_row, bool add)      \
    {                                                                                          \
        if (wide == name##_WIDE)                                                               \
            name##_all_rows(true, m, k, name##_WIDE, a, b, b_row, c, c_row, add);              \
        else if (wide == name##_LANES)                                                         \
            name##_all_rows(false, m, k, name##_LANES, a, b, b_row, c, c_row, add);            \
        else if (wide > name##_LANES)                                                          \
            name##_all_rows(true, m, k, wide, a, b, b_row, c, c_row, add);                     \
        else                                                                                   \
            name##_all_rows(false, m, k, wide, a, b, b_row, c, c_row, add);                    \
    }                                                                                          \
                                                                                               \
    static WITH void name##_copy(const S *b, size_t b_row, size_t b_column, size_t k,          \
                                 size_t wide, S *panel)                                        \
    {                                                                                          \
        const size_t end = wide > name##_LANES ? name##_WIDE : name##_LANES;                   \
        for (size_t p = 0; p < k; p++, panel += name##_WIDE) {                                 \
            for (size_t j = 0; j < wide; j++)                                                  \
                panel[j] = b[p * b_row + j * b_column];                                        \
            for (size_t j = wide; j < end; j++)                                                \
                panel[j] = 0;                                                                  \
        }                                                                                      \
    }                                                                                          \
                                                                                               \
    /* Row i of the product: as many columns from 0 on as are worth it; returns how many. */   \
    static WITH size_t name##_row(size_t n, size_t k, const S *a, size_t a_column, const S *b, \
                                  size_t b_row, S *c)                                          \
    {                                                                                          \
        size_t j = 0;                                                                          \
        for (; j + ABREAST * name##_LANES <= n; j += ABREAST * name##_LANES) {                 \
            name##_vector sums[ABREAST];                                                       \
            EIGHT_SUMS                                                                         \
            for (int v = 0; v < ABREAST; v++)                                                  \
                sums[v] = (name##_vector){0};                                                  \
            for (size_t p = 0; p < k; p++) {                                                   \
                const S one = a[p * a_column];                                                 \
                const S *from = b + p * b_row + j;                                             \
                EIGHT_SUMS                                                                     \
                for (int v = 0; v < ABREAST; v++)                                              \
                    sums[v] =                                                                  \
                        ADD(sums[v], one, *(const name##_vector *)(from + v * name##_LANES));  \
            }                                                                                  \
            EIGHT_SUMS                                                                         \
            for (int v = 0; v < ABREAST; v++)                                                  \
                *(name##_vector *)(c + j + (size_t)v * name##_LANES) = sums[v];                \
        }                                                                                      \
        return j;                                                                              \
    }                                                                                          \
                                                                                               \
    /* The columns from `from_column` on. */                                                   \
    static WITH void name##_panels(size_t from_column, size_t m, size_t n, size_t k,           \
                                   struct tp_matrix a, struct tp_matrix b, void *c,            \
                                   size_t c_row)                                               \
    {                                                                                          \
        S panel[DEPTH * name##_WIDE];                                                          \
        for (size_t p = 0; p == 0 || p < k; p += DEPTH) {                                      \
            const size_t deep = k - p < DEPTH ? k - p : DEPTH;                                 \
            const struct tp_matrix left = {(const S *)a.data + p * a.column, a.row, a.column}; \
            for (size_t j = from_column; j < n; j += name##_WIDE) {                            \
                const size_t wide = n - j < name##_WIDE ? n - j : name##_WIDE;                 \
                const S *from = (const S *)b.data + p * b.row + j * b.column;                  \
                size_t b_row = b.row;                                                          \
                if (b.column != 1 || wide % name##_LANES != 0 || m >= MANY) {                  \
                    name##_copy(from, b.row, b.column, deep, wide, panel);                     \
                    from = panel;                                                              \
                    b_row = name##_WIDE;                                                       \
                }                                                                              \
                name##_panel(m, deep, wide, left, from, b_row, (S *)c + j, c_row, p > 0);      \
            }                                                                                  \
        }                                                                                      \
    }                                                                                          \
                                                                                               \
    static WITH void name(size_t m, size_t n, size_t k, struct tp_matrix a,                    \
                          struct tp_matrix b, void *c, size_t c_row)                           \
    {                                                                                          \
        size_t done = 0;                                                                       \
        if (m < 4 && b.column == 1)                                                            \
            for (size_t i = 0; i < m; i++)                                                     \
                done = name##_row(n, k, (const S *)a.data + i * a.row, a.column, b.data,       \
                                  b.row, (S *)c + i * c_row);                                  \
        if (done < n) name##_panels(done, m, n, k, a, b, c, c_row);                            \
    }

#define PLAIN(sum, one, vector) ((sum) + (one) * (vector))
GEMM(float, gemm_f32, 16, PLAIN, )
GEMM(double, gemm_f64, 16, PLAIN, )
GEMM(uint32_t, gemm_u32, 16, PLAIN, )
GEMM(uint64_t, gemm_u64, 16, PLAIN, )

#ifdef HAVE_FMA
#define WITH_FMA                    __attribute__((target("avx2,fma")))
#define FOUR_F32(sum, one, vector)  _mm_fmadd_ps(_mm_set1_ps(one), (vector), (sum))
#define EIGHT_F32(sum, one, vector) _mm256_fmadd_ps(_mm256_set1_ps(one), (vector), (sum))
#define TWO_F64(sum, one, vector)   _mm_fmadd_pd(_mm_set1_pd(one), (vector), (sum))
#define FOUR_F64(sum, one, vector)  _mm256_fmadd_pd(_mm256_set1_pd(one), (vector), (sum))
GEMM(float, narrow_f32, 16, FOUR_F32, WITH_FMA)
GEMM(float, wide_f32, 32, EIGHT_F32, WITH_FMA)
GEMM(double, narrow_f64, 16, TWO_F64, WITH_FMA)
GEMM(double, wide_f64, 32, FOUR_F64, WITH_FMA)

/* Both have the same bits; a vector that is mostly empty is not worth filling. */
#define FMA(name, narrow, wide)                                                                \
    static void name(size_t m, size_t n, size_t k, struct tp_matrix a, struct tp_matrix b,     \
                     void *c, size_t c_row)                                                    \
    {                                                                                          \
        (n < wide##_LANES ? narrow : wide)(m, n, k, a, b, c, c_row);                           \
    }
FMA(fma_f32, narrow_f32, wide_f32)
FMA(fma_f64, narrow_f64, wide_f64)

static tp_gemm_fn *find_fma(troupe_dtype dtype)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NULL;
    return dtype == TROUPE_F32 ? fma_f32 : dtype == TROUPE_F64 ? fma_f64 : NULL;
}
#else
static tp_gemm_fn *find_fma(troupe_dtype dtype)
{
    (void)dtype;
    return NULL;
}
#endif

tp_gemm_fn *tp_gemm_plain(troupe_dtype dtype)
{
    switch (dtype) {
    case TROUPE_F32:
        return gemm_f32;
    case TROUPE_F64:
        return gemm_f64;
    case TROUPE_I32:
    case TROUPE_U32:
        return gemm_u32;
    case TROUPE_I64:
    case TROUPE_U64:
        return gemm_u64;
    default:
        return NULL;
    }
}

tp_gemm_fn *tp_gemm_find(troupe_dtype dtype)
{
    tp_gemm_fn *fma = find_fma(dtype);
    return fma ? fma : tp_gemm_plain(dtype);
}
