/* SPDX-License-Identifier: MIT
 *
 * kernels/reduce.c - the reductions: sums, products, extremes and norms along axes.
 *
 * Elements are widened (floats to double, integers to 64 bits, which wrap) a piece at a time,
 * and gathered in one sum for each element of the result. Neighbouring dimensions of one kind
 * are joined, so that a piece either goes into one sum or into as many as it has elements.
 */
#include "kernels/reduce.h"

#include <math.h>

#include "kernels/convert.h"

#define PIECE 256 /* elements widened at a time */

/* --- loops -------------------------------------------------------------------------- */
/* all: the sum of n elements and what was there; each: n sums. In `map` v is an element; in
 * `join` p and q are two sums. */
#define LOOPS(name, T, map, join)                                                              \
    static inline T name##_map(T v)                                                            \
    {                                                                                          \
        return (T)(map);                                                                       \
    }                                                                                          \
    static inline T name##_join(T p, T q)                                                      \
    {                                                                                          \
        return (T)(join);                                                                      \
    }                                                                                          \
    static void name##_all(void *to, const void *from, size_t n)                               \
    {                                                                                          \
        const T *x = from;                                                                     \
        T *sum = to;                                                                           \
        size_t i = 0;                                                                          \
        if (n >= 8) { /* four sums side by side */                                             \
            T lane[4];                                                                         \
            for (int k = 0; k < 4; k++)                                                        \
                lane[k] = name##_map(x[k]);                                                    \
            for (i = 4; i + 4 <= n; i += 4)                                                    \
                for (int k = 0; k < 4; k++)                                                    \
                    lane[k] = name##_join(lane[k], name##_map(x[i + (size_t)k]));              \
            for (int k = 0; k < 4; k++)                                                        \
                *sum = name##_join(*sum, lane[k]);                                             \
        }                                                                                      \
        for (; i < n; i++)                                                                     \
            *sum = name##_join(*sum, name##_map(x[i]));                                        \
    }                                                                                          \
    static void name##_each(void *to, const void *from, size_t n)                              \
    {                                                                                          \
        const T *x = from;                                                                     \
        T *sum = to;                                                                           \
        TP_APART                                                                               \
        for (size_t i = 0; i < n; i++)                                                         \
            sum[i] = name##_join(sum[i], name##_map(x[i]));                                    \
    }
LOOPS(sum_f, double, v, p + q)
LOOPS(sum_u, uint64_t, v, p + q)
LOOPS(product_f, double, v, p *q)
LOOPS(product_u, uint64_t, v, p *q)
LOOPS(max_f, double, v, p > q || p != p ? p : q)
LOOPS(max_i, int64_t, v, p > q ? p : q)
LOOPS(max_u, uint64_t, v, p > q ? p : q)
LOOPS(min_f, double, v, p < q || p != p ? p : q)
LOOPS(min_i, int64_t, v, p < q ? p : q)
LOOPS(min_u, uint64_t, v, p < q ? p : q)
LOOPS(squares_f, double, v *v, p + q)
LOOPS(squares_u, uint64_t, v *v, p + q)
LOOPS(sizes_f, double, fabs(v), p + q)
LOOPS(sizes_i, int64_t, v < 0 ? -(uint64_t)v : (uint64_t)v, (uint64_t)p + (uint64_t)q)

#define PAIR(name)                                                                             \
    {                                                                                          \
        name##_all, name##_each                                                                \
    }
static const struct tp_reduce_loops {
    tp_reduce_fn *all, *each;
} loops[TP_REDUCE_KINDS][3] = {
    /*                     floats            signed          unsigned */
    [TP_REDUCE_SUM] = {PAIR(sum_f), PAIR(sum_u), PAIR(sum_u)},
    [TP_REDUCE_PRODUCT] = {PAIR(product_f), PAIR(product_u), PAIR(product_u)},
    [TP_REDUCE_MAX] = {PAIR(max_f), PAIR(max_i), PAIR(max_u)},
    [TP_REDUCE_MIN] = {PAIR(min_f), PAIR(min_i), PAIR(min_u)},
    [TP_REDUCE_SQUARES] = {PAIR(squares_f), PAIR(squares_u), PAIR(squares_u)},
    [TP_REDUCE_SIZES] = {PAIR(sizes_f), PAIR(sizes_i), PAIR(sum_u)},
};

union wide {
    double f;
    int64_t i;
    uint64_t u;
};

/* The least and the greatest number of an integer type; the others have infinities. */
static const struct {
    int64_t least;
    uint64_t most;
} limits[TP_DTYPES] = {
    [TROUPE_I8] = {INT8_MIN, INT8_MAX},    [TROUPE_I16] = {INT16_MIN, INT16_MAX},
    [TROUPE_I32] = {INT32_MIN, INT32_MAX}, [TROUPE_I64] = {INT64_MIN, INT64_MAX},
    [TROUPE_U8] = {0, UINT8_MAX},          [TROUPE_U16] = {0, UINT16_MAX},
    [TROUPE_U32] = {0, UINT32_MAX},        [TROUPE_U64] = {0, UINT64_MAX},
};

/* What a sum of nothing is. */
static union wide neutral(enum tp_reduce_kind kind, troupe_dtype dtype)
{
    const bool f = TP_FLOATS >> dtype & 1;
    union wide w = {.u = 0};
    if (kind == TP_REDUCE_PRODUCT && f) w.f = 1;
    if (kind == TP_REDUCE_PRODUCT && !f) w.u = 1;
    if (kind == TP_REDUCE_MAX && f) w.f = -HUGE_VAL;
    if (kind == TP_REDUCE_MAX && !f) w.i = limits[dtype].least;
    if (kind == TP_REDUCE_MIN && f) w.f = HUGE_VAL;
    if (kind == TP_REDUCE_MIN && !f) w.u = limits[dtype].most;
    return w;
}

/* --- the way over the input --------------------------------------------------------- */
void tp_reduce_make(struct tp_reduce *r, const struct tp_shape *x, unsigned axes)
{
    memset(r, 0, sizeof(*r));
    r->count = r->total = 1;
    for (int d = 0; d < x->rank; d++) {
        const bool kept = !(axes >> d & 1);
        const size_t dim = (size_t)x->dims[d];
        r->total *= dim;
        if (kept) r->count *= dim;
        if (dim == 1) continue;
        if (r->rank > 0 && r->kept[r->rank - 1] == kept) {
            r->dims[r->rank - 1] *= dim;
        } else {
            r->kept[r->rank] = kept;
            r->dims[r->rank++] = dim;
        }
    }
    size_t step = 1;
    for (int d = r->rank - 1; d >= 0; d--) {
        r->step[d] = r->kept[d] ? step : 0;
        if (r->kept[d]) step *= r->dims[d];
    }
}

/* A run of the last dimension, which is kept or not, into sums. */
static void add_run(const struct tp_reduce *r, const char *x, size_t n, bool kept, void *sums)
{
    const size_t size = troupe_dtype_size(r->dtype);
    union wide piece[PIECE], *to = sums;
    for (size_t i = 0; i < n; i += PIECE) {
        const size_t m = n - i < PIECE ? n - i : PIECE;
        if (TP_FLOATS >> r->dtype & 1)
            tp_load_f64(r->dtype, x + i * size, 1, m, &piece[0].f);
        else
            tp_load_i64(r->dtype, x + i * size, 1, m, &piece[0].i);
        if (kept)
            r->each(to + i, piece, m);
        else
            r->all(to, piece, m);
    }
}

void tp_reduce_over(const struct tp_reduce *r, const void *x, void *sums, tp_reduce_run_fn *run,
                    void *arg)
{
    const int last = r->rank - 1;
    const size_t n = r->rank ? r->dims[last] : 1, size = troupe_dtype_size(r->dtype);
    const bool kept = r->rank && r->kept[last];
    size_t index[TROUPE_MAX_RANK] = {0}, at = 0;
    if (r->total == 0) return; /* sums of nothing stay what they are */
    for (size_t done = 0; done < r->total; done += n) {
        run(r, (const char *)x + done * size, n, kept, (union wide *)sums + at, at, arg);
        for (int d = last - 1; d >= 0; d--) {
            at += r->step[d];
            if (++index[d] < r->dims[d]) break;
            at -= r->step[d] * r->dims[d];
            index[d] = 0;
        }
    }
}

static void run_plain(const struct tp_reduce *r, const char *x, size_t n, bool kept, void *sums,
                      size_t at, void *arg)
{
    (void)at;
    (void)arg;
    add_run(r, x, n, kept, sums);
}

void tp_reduce_run(const struct tp_reduce *r, const void *x, void *sums)
{
    union wide *to = sums;
    const union wide start = neutral(r->kind, r->dtype);
    for (size_t i = 0; i < r->count; i++)
        to[i] = start;
    tp_reduce_over(r, x, sums, run_plain, NULL);
}

void tp_reduce_choose(struct tp_reduce *r, enum tp_reduce_kind kind, troupe_dtype dtype)
{
    const int column = TP_FLOATS >> dtype & 1 ? 0 : TP_UNSIGNED >> dtype & 1 ? 2 : 1;
    r->kind = kind;
    r->dtype = dtype;
    r->all = loops[kind][column].all;
    r->each = loops[kind][column].each;
}

/* --- what is made of the sums ------------------------------------------------------- */
/* As doubles; a whole number above 2^53 that is not asked for a root or a logarithm never gets
 * here. */
static double as_double(const union wide *w, troupe_dtype dtype)
{
    if (TP_FLOATS >> dtype & 1) return w->f;
    return TP_UNSIGNED >> dtype & 1 ? (double)w->u : (double)w->i;
}

static void make_mean(const struct tp_reduce *r, union wide *sums, size_t among)
{
    for (size_t i = 0; i < r->count; i++) {
        if (TP_FLOATS >> r->dtype & 1)
            sums[i].f /= (double)among;
        else if (among == 0)
            sums[i].i = 0;
        else if (TP_UNSIGNED >> r->dtype & 1)
            sums[i].u /= among;
        else
            sums[i].i /= (int64_t)among;
    }
}

static void make_double(const struct tp_reduce *r, union wide *sums, double (*of)(double))
{
    for (size_t i = 0; i < r->count; i++) {
        const double value = of(as_double(&sums[i], r->dtype));
        if (TP_FLOATS >> r->dtype & 1)
            sums[i].f = value;
        else
            tp_store_f64(TP_UNSIGNED >> r->dtype & 1 ? TROUPE_U64 : TROUPE_I64, &value, 1,
                         &sums[i], 1);
    }
}

void tp_reduce_finish(const struct tp_reduce *r, enum tp_reduce_end end, void *sums, void *out)
{
    union wide *made = sums;
    const size_t among = r->count ? r->total / r->count : 0;
    if (end == TP_REDUCE_MEAN) make_mean(r, made, among);
    if (end == TP_REDUCE_ROOT) make_double(r, made, sqrt);
    if (end == TP_REDUCE_LOG) make_double(r, made, log);
    if (TP_FLOATS >> r->dtype & 1)
        tp_store_f64(r->dtype, &made[0].f, r->count, out, 1);
    else
        tp_store_i64(r->dtype, &made[0].i, r->count, out, 1);
}
