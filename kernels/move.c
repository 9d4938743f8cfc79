/* SPDX-License-Identifier: MIT
 *
 * kernels/move.c - copy elements from places at even steps.
 */
#include "kernels/move.h"

#include <string.h>

#include "kernels/kernel.h"

void tp_move_steps(const struct tp_shape *shape, int64_t steps[TROUPE_MAX_RANK])
{
    int64_t step = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        steps[d] = step;
        step *= shape->dims[d];
    }
}

void tp_move_join(struct tp_move *move)
{
    int rank = 0;
    for (int d = 0; d < move->rank; d++) {
        if (move->dims[d] == 1) continue;
        const int last = rank - 1;
        if (rank > 0 && move->steps[last] == move->steps[d] * move->dims[d]) {
            move->dims[last] *= move->dims[d];
            move->steps[last] = move->steps[d];
            continue;
        }
        move->dims[rank] = move->dims[d];
        move->steps[rank++] = move->steps[d];
    }
    move->rank = rank;
}

/* --- one run of the last dimension -------------------------------------------------- */
#define SPACED(T)                                                                              \
    static void spaced_##T(const void *from, int64_t step, int64_t n, void *to)                \
    {                                                                                          \
        const T *x = from;                                                                     \
        T *y = to;                                                                             \
        if (step == 0) {                                                                       \
            const T value = x[0];                                                              \
            for (int64_t i = 0; i < n; i++)                                                    \
                y[i] = value;                                                                  \
            return;                                                                            \
        }                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                        \
            y[i] = x[i * step];                                                                \
    }                                                                                          \
    /* n rows of m: element (i, j) is x[j * step + i], the other way round */                  \
    static void turned_##T(const void *from, int64_t step, int64_t n, int64_t m, int64_t row,  \
                           void *to)                                                           \
    {                                                                                          \
        const T *x = from;                                                                     \
        T *y = to;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                        \
            for (int64_t j = 0; j < m; j++)                                                    \
                y[i * row + j] = x[j * step + i];                                              \
    }
SPACED(uint8_t)
SPACED(uint16_t)
SPACED(uint32_t)
SPACED(uint64_t)
typedef struct {
    uint64_t half[2]; /* of a c128, or of a string's struct */
} pair;
SPACED(pair)

static void copy_run(size_t size, const void *from, int64_t step, int64_t n, void *to)
{
    if (step == 1) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1:
        spaced_uint8_t(from, step, n, to);
        break;
    case 2:
        spaced_uint16_t(from, step, n, to);
        break;
    case 4:
        spaced_uint32_t(from, step, n, to);
        break;
    case 8:
        spaced_uint64_t(from, step, n, to);
        break;
    default:
        spaced_pair(from, step, n, to);
        break;
    }
}

static void turn_block(size_t size, const void *from, int64_t step, int64_t n, int64_t m,
                       int64_t row, void *to)
{
    switch (size) {
    case 1:
        turned_uint8_t(from, step, n, m, row, to);
        break;
    case 2:
        turned_uint16_t(from, step, n, m, row, to);
        break;
    case 4:
        turned_uint32_t(from, step, n, m, row, to);
        break;
    case 8:
        turned_uint64_t(from, step, n, m, row, to);
        break;
    default:
        turned_pair(from, step, n, m, row, to);
        break;
    }
}

/* --- the way over the other dimensions ---------------------------------------------- */
#define BLOCK                                                                                  \
    16 /* rows and columns that are turned together, to use whole lines of the cache */

/* The dimension along which the source lies without gaps, when the last is another; else -1. */
static int turned_dim(const struct tp_move *move)
{
    const int last = move->rank - 1;
    if (last < 1 || move->steps[last] == 1 || move->steps[last] == 0) return -1;
    for (int d = last - 1; d >= 0; d--)
        if (move->steps[d] == 1 && move->dims[d] > 1) return d;
    return -1;
}

/* The last dimension and dimension d of one place in the others. */
static void turn(const struct tp_move *move, int d, int64_t row, const char *from, char *to)
{
    const int last = move->rank - 1;
    const int64_t size = (int64_t)move->size, step = move->steps[last];
    for (int64_t i = 0; i < move->dims[d]; i += BLOCK)
        for (int64_t j = 0; j < move->dims[last]; j += BLOCK) {
            const int64_t n = move->dims[d] - i < BLOCK ? move->dims[d] - i : BLOCK;
            const int64_t m = move->dims[last] - j < BLOCK ? move->dims[last] - j : BLOCK;
            turn_block(move->size, from + (i + j * step) * size, step, n, m, row,
                       to + (i * row + j) * size);
        }
}

void tp_move_run(const struct tp_move *move, const void *from, void *to)
{
    const int last = move->rank - 1, turned = turned_dim(move);
    int64_t index[TP_MOVE_RANK] = {0}, rows[TP_MOVE_RANK], at = move->start, out = 0, row = 1;
    for (int d = last; d >= 0; d--) { /* the result's steps */
        rows[d] = row;
        row *= move->dims[d];
    }
    if (row == 0) return; /* there are no elements */
    const int64_t size = (int64_t)move->size;
    for (int d = 0; d >= 0;) {
        const char *x = (const char *)from + at * size;
        char *y = (char *)to + out * size;
        if (turned >= 0)
            turn(move, turned, rows[turned], x, y);
        else
            copy_run(move->size, x, last < 0 ? 1 : move->steps[last],
                     last < 0 ? 1 : move->dims[last], y);
        for (d = last - 1; d >= 0; d--) {
            if (d == turned) continue;
            at += move->steps[d];
            out += rows[d];
            if (++index[d] < move->dims[d]) break;
            at -= move->steps[d] * move->dims[d];
            out -= rows[d] * move->dims[d];
            index[d] = 0;
        }
    }
}
