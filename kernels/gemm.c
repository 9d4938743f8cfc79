/* SPDX-License-Identifier: MIT
 *
 * kernels/gemm.c - our own product of two matrices.
 *
 * Columns go in panels of two vectors and rows in groups of four, so that a group's sums stay
 * in registers. A panel of b is copied together when its columns do not lie beside one another,
 * or when many rows pass over it.
 */
#include "kernels/gemm.h"

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernel.h"

#if defined(__GNUC__) && !defined(__clang__)
#define FOUR_ROWS _Pragma("GCC unroll 4") /* so that sums stay in registers */
#else
#define FOUR_ROWS
#endif

#define DEPTH 256 /* of a panel: rows of b that are worked on together */
#define MANY  16  /* rows of a from which on copying a panel pays */

/* One type: T, the type in which it is summed, the name of the functions. */
#define GEMM(T, S, name)                                                                       \
    typedef S name##_vector __attribute__((vector_size(16), aligned(1), may_alias));           \
    enum { name##_LANES = 16 / sizeof(S), name##_WIDE = 2 * name##_LANES };                    \
                                                                                               \
    /* R rows of sums: a is R rows of k elements, b is k rows of WIDE. */                      \
    static inline __attribute__((always_inline)) void name##_rows(                             \
        int rows, size_t k, const S *a, size_t a_row, size_t a_column, const S *b,             \
        size_t b_row, S *sums, bool add)                                                       \
    {                                                                                          \
        name##_vector left[4], right[4];                                                       \
        FOUR_ROWS                                                                              \
        for (int r = 0; r < rows; r++) {                                                       \
            left[r] = right[r] = (name##_vector){0};                                           \
            if (!add) continue;                                                                \
            left[r] = *(const name##_vector *)(sums + r * name##_WIDE);                        \
            right[r] = *(const name##_vector *)(sums + r * name##_WIDE + name##_LANES);        \
        }                                                                                      \
        for (size_t p = 0; p < k; p++) {                                                       \
            const name##_vector x = *(const name##_vector *)(b + p * b_row);                   \
            const name##_vector y = *(const name##_vector *)(b + p * b_row + name##_LANES);    \
            FOUR_ROWS                                                                          \
            for (int r = 0; r < rows; r++) {                                                   \
                const S one = a[(size_t)r * a_row + p * a_column];                             \
                left[r] += one * x;                                                            \
                right[r] += one * y;                                                           \
            }                                                                                  \
        }                                                                                      \
        FOUR_ROWS                                                                              \
        for (int r = 0; r < rows; r++) {                                                       \
            *(name##_vector *)(sums + r * name##_WIDE) = left[r];                              \
            *(name##_vector *)(sums + r * name##_WIDE + name##_LANES) = right[r];              \
        }                                                                                      \
    }                                                                                          \
                                                                                               \
    /* `rows` rows of one panel of `wide` columns, of which the last may be short. */          \
    static inline __attribute__((always_inline)) void name##_group(                            \
        int rows, size_t k, size_t wide, const S *a, size_t a_row, size_t a_column,            \
        const S *b, size_t b_row, S *c, size_t c_row, bool add)                                \
    {                                                                                          \
        S sums[4 * name##_WIDE];                                                               \
        for (int r = 0; add && r < rows; r++)                                                  \
            for (size_t j = 0; j < wide; j++)                                                  \
                sums[(size_t)r * name##_WIDE + j] = c[(size_t)r * c_row + j];                  \
        for (int r = 0; add && r < rows; r++)                                                  \
            for (size_t j = wide; j < name##_WIDE; j++)                                        \
                sums[(size_t)r * name##_WIDE + j] = 0;                                         \
        name##_rows(rows, k, a, a_row, a_column, b, b_row, sums, add);                         \
        for (int r = 0; r < rows; r++)                                                         \
            for (size_t j = 0; j < wide; j++)                                                  \
                c[(size_t)r * c_row + j] = sums[(size_t)r * name##_WIDE + j];                  \
    }                                                                                          \
                                                                                               \
    static void name##_panel(size_t m, size_t k, size_t wide, struct tp_matrix a, const S *b,  \
                             size_t b_row, S *c, size_t c_row, bool add)                       \
    {                                                                                          \
        const S *from = a.data;                                                                \
        size_t i = 0;                                                                          \
        for (; i + 4 <= m; i += 4)                                                             \
            name##_group(4, k, wide, from + i * a.row, a.row, a.column, b, b_row,              \
                         c + i * c_row, c_row, add);                                           \
        for (; i < m; i++)                                                                     \
            name##_group(1, k, wide, from + i * a.row, a.row, a.column, b, b_row,              \
                         c + i * c_row, c_row, add);                                           \
    }                                                                                          \
                                                                                               \
    static void name##_copy(const S *b, size_t b_row, size_t b_column, size_t k, size_t wide,  \
                            S *panel)                                                          \
    {                                                                                          \
        for (size_t p = 0; p < k; p++)                                                         \
            for (size_t j = 0; j < name##_WIDE; j++)                                           \
                panel[p * name##_WIDE + j] = j < wide ? b[p * b_row + j * b_column] : 0;       \
    }                                                                                          \
                                                                                               \
    static void name(size_t m, size_t n, size_t k, struct tp_matrix a, struct tp_matrix b,     \
                     void *c, size_t c_row)                                                    \
    {                                                                                          \
        S panel[DEPTH * name##_WIDE];                                                          \
        for (size_t p = 0; p == 0 || p < k; p += DEPTH) {                                      \
            const size_t deep = k - p < DEPTH ? k - p : DEPTH;                                 \
            const struct tp_matrix left = {(const S *)a.data + p * a.column, a.row, a.column}; \
            for (size_t j = 0; j < n; j += name##_WIDE) {                                      \
                const size_t wide = n - j < name##_WIDE ? n - j : name##_WIDE;                 \
                const S *from = (const S *)b.data + p * b.row + j * b.column;                  \
                size_t b_row = b.row;                                                          \
                if (b.column != 1 || wide < name##_WIDE || m >= MANY) {                        \
                    name##_copy(from, b.row, b.column, deep, wide, panel);                     \
                    from = panel;                                                              \
                    b_row = name##_WIDE;                                                       \
                }                                                                              \
                name##_panel(m, deep, wide, left, from, b_row, (S *)c + j, c_row, p > 0);      \
            }                                                                                  \
        }                                                                                      \
    }

GEMM(float, float, gemm_f32)
GEMM(double, double, gemm_f64)
GEMM(int32_t, uint32_t, gemm_u32)
GEMM(int64_t, uint64_t, gemm_u64)

tp_gemm_fn *tp_gemm_find(troupe_dtype dtype)
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
