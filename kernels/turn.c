/* SPDX-License-Identifier: MIT
 *
 * kernels/turn.c - turns a matrix of f32, four rows and four columns at a time.
 */
#include "kernels/turn.h"

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SIDE 4  /* of a block */
#define LONG 8  /* rows of a long block */
#define LINE 16 /* elements of a cache line */

static void turn_block(float *to, size_t to_row, const float *from, size_t from_row)
{
#ifdef __SSE2__
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_row);
    __m128 c = _mm_loadu_ps(from + 2 * from_row), d = _mm_loadu_ps(from + 3 * from_row);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + to_row, b);
    _mm_storeu_ps(to + 2 * to_row, c);
    _mm_storeu_ps(to + 3 * to_row, d);
#else
    for (size_t r = 0; r < SIDE; r++)
        for (size_t c = 0; c < SIDE; c++)
            to[c * to_row + r] = from[r * from_row + c];
#endif
}

/* The block that begins at n, or the last whole one, which may lie partly on the one before. */
static size_t place_block(size_t n, size_t all, size_t block)
{
    return all - n < block ? all - block : n;
}

static void turn_blocks(float *to, const float *from, size_t rows, size_t columns)
{
    for (size_t i = 0; i < columns; i += SIDE) {
        const size_t c = place_block(i, columns, SIDE);
        for (size_t j = 0; j < rows; j += SIDE) {
            const size_t r = place_block(j, rows, SIDE);
            turn_block(to + c * rows + r, rows, from + r * columns + c, columns);
        }
    }
}

#ifdef HAVE_AVX
/* Rows r and r + 4, four columns of each. */
static inline __attribute__((target("avx"))) __m256 load_rows(const float *from, size_t row)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                _mm_loadu_ps(from + 4 * row), 1);
}

/* Eight rows and four columns. */
static inline __attribute__((target("avx"))) void turn_long(float *to, size_t to_row,
                                                            const float *from, size_t from_row)
{
    const __m256 a = load_rows(from, from_row), b = load_rows(from + from_row, from_row);
    const __m256 c = load_rows(from + 2 * from_row, from_row);
    const __m256 d = load_rows(from + 3 * from_row, from_row);
    const __m256 low = _mm256_unpacklo_ps(a, b), next = _mm256_unpacklo_ps(c, d);
    const __m256 high = _mm256_unpackhi_ps(a, b), last = _mm256_unpackhi_ps(c, d);
    _mm256_storeu_ps(to, _mm256_shuffle_ps(low, next, _MM_SHUFFLE(1, 0, 1, 0)));
    _mm256_storeu_ps(to + to_row, _mm256_shuffle_ps(low, next, _MM_SHUFFLE(3, 2, 3, 2)));
    _mm256_storeu_ps(to + 2 * to_row, _mm256_shuffle_ps(high, last, _MM_SHUFFLE(1, 0, 1, 0)));
    _mm256_storeu_ps(to + 3 * to_row, _mm256_shuffle_ps(high, last, _MM_SHUFFLE(3, 2, 3, 2)));
}

/* LONG rows or more. A cache line of the result is written at one time. */
static __attribute__((target("avx"))) void turn_longs(float *to, const float *from, size_t rows,
                                                      size_t columns)
{
    for (size_t j = 0; j < rows; j += LINE)
        for (size_t i = 0; i < columns; i += SIDE) {
            const size_t c = place_block(i, columns, SIDE);
            for (size_t k = j; k < j + LINE && k < rows; k += LONG) {
                const size_t r = place_block(k, rows, LONG);
                turn_long(to + c * rows + r, rows, from + r * columns + c, columns);
            }
        }
}

static bool has_avx(void)
{
    return __builtin_cpu_supports("avx");
}
#else
static void turn_longs(float *to, const float *from, size_t rows, size_t columns)
{
    turn_blocks(to, from, rows, columns);
}

static bool has_avx(void)
{
    return false;
}
#endif

void tp_turn_f32(float *to, const float *from, size_t rows, size_t columns)
{
    if (rows < SIDE || columns < SIDE) {
        for (size_t c = 0; c < columns; c++)
            for (size_t r = 0; r < rows; r++)
                to[c * rows + r] = from[r * columns + c];
    } else if (rows >= LONG && has_avx()) {
        turn_longs(to, from, rows, columns);
    } else {
        turn_blocks(to, from, rows, columns);
    }
}
