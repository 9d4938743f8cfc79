/* SPDX-License-Identifier: MIT
 *
 * kernels/pool_plane.c - the pool of one plane of f32 without dilations.
 *
 * Four elements of the result are worked out side by side, or, of the greatest, eight where
 * the processor has AVX2. NaNs are rare: a row is computed as if there were none, looking out
 * for them, and computed again where one was met.
 */
#include "kernels/pool_plane.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LANES  4
#define WIDE   8 /* with AVX2 */
#define INLINE static inline __attribute__((always_inline))

/* The windows of one row of the result: the part of the input that they meet. */
struct rows {
    const float *x; /* the first row of the input, at its first column */
    size_t n;       /* how many */
};

/* --- one element -------------------------------------------------------------------- */
/* The greatest of the taps [from, to) of each row, when one may be NaN. */
static __attribute__((noinline)) float find_nan(const float *x, size_t wide, size_t rows,
                                                int64_t from, int64_t to)
{
    float m = -__builtin_inff();
    for (size_t r = 0; r < rows; r++, x += wide)
        for (int64_t k = from; k < to; k++)
            m = x[k] > m || x[k] != x[k] ? x[k] : m;
    return m;
}

INLINE float find_greatest(const float *x, size_t wide, size_t rows, int64_t from, int64_t to)
{
    const float *row = x;
    float m = -__builtin_inff();
    bool seen = false;
    for (size_t r = 0; r < rows; r++, row += wide)
        for (int64_t k = from; k < to; k++) { /* without a branch on values */
            m = row[k] > m ? row[k] : m;
            seen |= row[k] != row[k];
        }
    return seen ? find_nan(x, wide, rows, from, to) : m;
}

INLINE float add_up(const float *x, size_t wide, size_t rows, int64_t from, int64_t to)
{
    float sum = 0;
    for (size_t r = 0; r < rows; r++, x += wide)
        for (int64_t k = from; k < to; k++)
            sum += x[k];
    return sum;
}

/* Column c of the result, whose window may reach out of the input. */
static float run_one(const struct tp_pool_plane *p, const struct rows *rows, int64_t c)
{
    const int64_t first = c * p->stride[1] - p->begin[1], end = first + p->kernel[1];
    const int64_t from = first > 0 ? first : 0, to = end < p->in[1] ? end : p->in[1];
    const size_t wide = (size_t)p->in[1];
    return p->sum ? add_up(rows->x, wide, rows->n, from, to)
                  : find_greatest(rows->x, wide, rows->n, from, to);
}

/* --- four elements ------------------------------------------------------------------ */
#ifdef __SSE2__
typedef __m128 lanes;

static inline lanes load(const float *x, size_t stride)
{
    if (stride == 1) return _mm_loadu_ps(x);
    if (stride == 2) /* nothing behind the last of the four is read */
        return _mm_shuffle_ps(_mm_loadu_ps(x), _mm_loadu_ps(x + 3), _MM_SHUFFLE(3, 1, 2, 0));
    return _mm_setr_ps(x[0], x[stride], x[2 * stride], x[3 * stride]);
}

static inline void store(float *y, lanes v)
{
    _mm_storeu_ps(y, v);
}

static inline lanes all(float value)
{
    return _mm_set1_ps(value);
}

static inline lanes add(lanes a, lanes b)
{
    return _mm_add_ps(a, b);
}

/* v where it is greater, else m. */
static inline lanes greater(lanes v, lanes m)
{
    return _mm_max_ps(v, m);
}

/* `seen`, and all bits where v or w is NaN. */
static inline lanes note_nan(lanes seen, lanes v, lanes w)
{
    return _mm_or_ps(seen, _mm_cmpunord_ps(v, w));
}

static inline bool is_any(lanes seen)
{
    return _mm_movemask_ps(seen) != 0;
}
#else
typedef struct {
    float of[LANES];
} lanes;

#define EACH(value)                                                                            \
    lanes out;                                                                                 \
    for (size_t i = 0; i < LANES; i++)                                                         \
        out.of[i] = (value);                                                                   \
    return out;

static inline lanes load(const float *x, size_t stride)
{
    EACH(x[i * stride])
}

static inline void store(float *y, lanes v)
{
    memcpy(y, v.of, sizeof(v.of));
}

static inline lanes all(float value)
{
    EACH(value)
}

static inline lanes add(lanes a, lanes b)
{
    EACH(a.of[i] + b.of[i])
}

/* v where it is greater, else m. */
static inline lanes greater(lanes v, lanes m)
{
    EACH(v.of[i] > m.of[i] ? v.of[i] : m.of[i])
}

/* `seen`, and 1 where v or w is NaN. */
static inline lanes note_nan(lanes seen, lanes v, lanes w)
{
    EACH(v.of[i] != v.of[i] || w.of[i] != w.of[i] ? 1.0f : seen.of[i])
}

static inline bool is_any(lanes seen)
{
    for (size_t i = 0; i < LANES; i++)
        if (seen.of[i] != 0) return true;
    return false;
}
#endif

INLINE lanes add_four(const float *x, size_t wide, size_t rows, size_t taps, size_t stride)
{
    lanes sum = all(0);
    for (size_t r = 0; r < rows; r++, x += wide)
        for (size_t k = 0; k < taps; k++)
            sum = add(sum, load(x + k, stride));
    return sum;
}

INLINE lanes greatest_four(const float *x, size_t wide, size_t rows, size_t taps, size_t stride,
                           lanes *seen)
{
    lanes m = all(-__builtin_inff());
    for (size_t r = 0; r < rows; r++, x += wide)
        for (size_t k = 0; k < taps; k += 2) {
            const lanes v = load(x + k, stride);
            const lanes w = k + 1 < taps ? load(x + k + 1, stride) : v;
            m = greater(w, greater(v, m));
            *seen = note_nan(*seen, v, w);
        }
    return m;
}

/* A row of fewer than LANES. */
INLINE void run_few(const struct tp_pool_plane *p, float *y, size_t n, const float *x,
                    size_t rows, size_t taps, size_t stride)
{
    const size_t wide = (size_t)p->in[1];
    for (size_t i = 0; i < n; i++)
        y[i] = p->sum ? add_up(x + i * stride, wide, rows, 0, (int64_t)taps)
                      : find_greatest(x + i * stride, wide, rows, 0, (int64_t)taps);
}

/* A row of LANES or more; but for NaNs, of which it returns what it has seen. */
INLINE lanes run_fours(const struct tp_pool_plane *p, float *y, size_t n, const float *x,
                       size_t rows, size_t taps, size_t stride)
{
    const size_t wide = (size_t)p->in[1];
    const bool sum = p->sum;
    lanes seen = all(0);
    for (size_t at = 0; at < n; at += LANES) { /* the last four may lie on those before */
        const size_t i = n - at < LANES ? n - LANES : at;
        const float *from = x + i * stride;
        store(y + i, sum ? add_four(from, wide, rows, taps, stride)
                         : greatest_four(from, wide, rows, taps, stride, &seen));
    }
    return seen;
}

INLINE void run_inside(const struct tp_pool_plane *p, float *y, size_t n, const float *x,
                       size_t rows, size_t taps, size_t stride)
{
    if (n < LANES) {
        run_few(p, y, n, x, rows, taps, stride);
        return;
    }
    if (!is_any(run_fours(p, y, n, x, rows, taps, stride))) return; /* all is as it seemed */
    for (size_t i = 0; i < n; i++)
        y[i] = find_nan(x + i * stride, (size_t)p->in[1], rows, 0, (int64_t)taps);
}

/* The sizes that are common, and the others. */
#define INSIDE(name, taps, stride)                                                             \
    static void name(const struct tp_pool_plane *p, float *y, size_t n, const float *x,        \
                     size_t rows)                                                              \
    {                                                                                          \
        if (rows == (taps)) /* the compiler sees the number */                                 \
            run_inside(p, y, n, x, (taps), (taps), (stride));                                  \
        else                                                                                   \
            run_inside(p, y, n, x, rows, (taps), (stride));                                    \
    }
INSIDE(two_by_two, 2, 2)
INSIDE(three_by_one, 3, 1)
INSIDE(three_by_two, 3, 2)
INSIDE(any_by_one, (size_t)p->kernel[1], 1)
INSIDE(any_by_any, (size_t)p->kernel[1], (size_t)p->stride[1])

/* --- eight elements, of the greatest ------------------------------------------------- */
#ifdef HAVE_AVX2
#define WITH_AVX2 __attribute__((target("avx2")))

/* With a stride of 2 they come in the order 0 1 4 5 2 3 6 7. */
INLINE WITH_AVX2 __m256 load_eight(const float *x, size_t stride)
{
    if (stride == 1) return _mm256_loadu_ps(x);
    return _mm256_shuffle_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 7),
                             _MM_SHUFFLE(3, 1, 2, 0));
}

INLINE WITH_AVX2 void store_eight(float *y, __m256 v, size_t stride)
{
    const __m256d pairs = _mm256_castps_pd(v);
    if (stride == 2)
        v = _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, _MM_SHUFFLE(3, 1, 2, 0)));
    _mm256_storeu_ps(y, v);
}

/* All taps of eight windows; what was seen of NaNs goes to *seen. */
INLINE WITH_AVX2 __m256 take_eight(const float *x, size_t wide, size_t rows, size_t taps,
                                   size_t stride, __m256 *seen)
{
    __m256 m = _mm256_set1_ps(-__builtin_inff());
    for (size_t r = 0; r < rows; r++, x += wide)
        for (size_t k = 0; k < taps; k++) {
            const __m256 v = load_eight(x + k, stride);
            m = _mm256_max_ps(v, m);
            *seen = _mm256_or_ps(*seen, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        }
    return m;
}

/* WIDE elements or more. False: a NaN was met, and the row must be computed again. */
INLINE WITH_AVX2 bool run_eights(const struct tp_pool_plane *p, float *y, size_t n,
                                 const float *x, size_t rows, size_t taps, size_t stride)
{
    const size_t wide = (size_t)p->in[1];
    __m256 seen = _mm256_setzero_ps();
    for (size_t at = 0; at < n; at += WIDE) {
        const size_t i = n - at < WIDE ? n - WIDE : at;
        store_eight(y + i, take_eight(x + i * stride, wide, rows, taps, stride, &seen), stride);
    }
    return _mm256_movemask_ps(seen) == 0;
}

#define INSIDE_WIDE(name, taps, stride)                                                        \
    static WITH_AVX2 void name##_wide(const struct tp_pool_plane *p, float *y, size_t n,       \
                                      const float *x, size_t rows)                             \
    {                                                                                          \
        const bool done = rows == (taps) ? run_eights(p, y, n, x, (taps), (taps), (stride))    \
                                         : run_eights(p, y, n, x, rows, (taps), (stride));     \
        if (!done) name(p, y, n, x, rows);                                                     \
    }
INSIDE_WIDE(two_by_two, 2, 2)
INSIDE_WIDE(three_by_one, 3, 1)
INSIDE_WIDE(three_by_two, 3, 2)
INSIDE_WIDE(any_by_one, (size_t)p->kernel[1], 1)

static tp_pool_inside *choose_wide(int64_t taps, int64_t stride)
{
    if (!__builtin_cpu_supports("avx2")) return NULL;
    if (taps == 2 && stride == 2) return two_by_two_wide;
    if (taps == 3 && stride == 1) return three_by_one_wide;
    if (taps == 3 && stride == 2) return three_by_two_wide;
    return stride == 1 ? any_by_one_wide : NULL;
}
#else
static tp_pool_inside *choose_wide(int64_t taps, int64_t stride)
{
    (void)taps, (void)stride;
    return NULL;
}
#endif

static tp_pool_inside *choose(const struct tp_pool_plane *p)
{
    const int64_t taps = p->kernel[1], stride = p->stride[1];
    const bool long_rows = p->inside[1] - p->inside[0] >= WIDE;
    tp_pool_inside *wide = long_rows && !p->sum ? choose_wide(taps, stride) : NULL;
    if (wide) return wide;
    if (taps == 2 && stride == 2) return two_by_two;
    if (taps == 3 && stride == 1) return three_by_one;
    if (taps == 3 && stride == 2) return three_by_two;
    return stride == 1 ? any_by_one : any_by_any;
}

/* --- planes ------------------------------------------------------------------------- */
/* The columns whose windows lie within the input. */
static void find_inside(struct tp_pool_plane *p)
{
    const int64_t stride = p->stride[1], room = p->in[1] + p->begin[1] - p->kernel[1];
    int64_t from = (p->begin[1] + stride - 1) / stride, to = room < 0 ? 0 : room / stride + 1;
    if (to > p->out[1]) to = p->out[1];
    if (from > to) from = to = 0; /* none */
    p->inside[0] = from;
    p->inside[1] = to;
}

bool tp_pool_plane_make(struct tp_pool_plane *p, const struct tp_window *w, bool sum)
{
    const bool flat = w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1 && w->begin[0] == 0;
    if (!flat) return false;
    for (int d = 0; d < 2; d++) {
        if (w->dilation[d + 1] != 1 && w->kernel[d + 1] != 1) return false;
        p->in[d] = w->in[d + 1];
        p->out[d] = w->out[d + 1];
        p->kernel[d] = w->kernel[d + 1];
        p->stride[d] = w->stride[d + 1];
        p->begin[d] = w->begin[d + 1];
    }
    p->sum = sum;
    find_inside(p);
    p->run = choose(p);
    return true;
}

void tp_pool_plane_run(const struct tp_pool_plane *p, const float *x, float *y)
{
    const int64_t from = p->inside[0], to = p->inside[1];
    for (int64_t h = 0; h < p->out[0]; h++, y += p->out[1]) {
        const int64_t first = h * p->stride[0] - p->begin[0], end = first + p->kernel[0];
        const int64_t low = first > 0 ? first : 0, high = end < p->in[0] ? end : p->in[0];
        const struct rows rows = {low < high ? x + low * p->in[1] : x,
                                  low < high ? (size_t)(high - low) : 0};
        for (int64_t c = 0; c < from; c++)
            y[c] = run_one(p, &rows, c);
        if (from < to)
            p->run(p, y + from, (size_t)(to - from), rows.x + from * p->stride[1] - p->begin[1],
                   rows.n);
        for (int64_t c = to; c < p->out[1]; c++)
            y[c] = run_one(p, &rows, c);
    }
}
