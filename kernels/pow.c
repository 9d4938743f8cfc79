/* SPDX-License-Identifier: MIT
 *
 * kernels/pow.c - Pow, whose exponent may have another element type than its base.
 *
 * Integers to the power of integers are exact and wrap. All other mixtures go by way of
 * doubles; an integer result is cut and kept within its type.
 */
#include "kernels/convert.h"
#include "kernels/ewise_loops.h"
#include "kernels/ops.h"

#define CHUNK 128
#define BASES (TP_FLOATS | TP_TYPE(I32) | TP_TYPE(I64))

/* --- floats of one type ------------------------------------------------------------- */
LOOPS2_F(power, pow(x, y), 0)
LOOP1(square_F32, float, float, uint32_t, float, float, x *x)

/* Squares, which are common, need no logarithm. */
static void power_or_square_F32(void *out, const void *x, const void *y, size_t n,
                                enum tp_moving moving)
{
    static const double none[2] = {0, 0};
    if (moving == TP_LEFT && *(const float *)y == 2)
        square_F32(out, x, n, none);
    else
        power_F32(out, x, y, n, moving);
}

static const struct tp_loops2 loops = {.of = {[TROUPE_F32] = power_or_square_F32,
                                              [TROUPE_F64] = power_F64,
                                              [TROUPE_F16] = power_F16,
                                              [TROUPE_BF16] = power_BF16}};

/* --- mixtures ----------------------------------------------------------------------- */
struct state {
    struct tp_walk walk;
    troupe_dtype x, y;
};

/* Whole numbers; y is not below 0 unless x is 1 or -1. */
static int64_t whole_power(int64_t x, int64_t y)
{
    uint64_t base = (uint64_t)x, out = 1;
    if (y < 0) return x == 1 || y % 2 == 0 ? 1 : -1;
    for (; y > 0; y >>= 1, base *= base)
        if (y & 1) out *= base;
    return (int64_t)out;
}

static troupe_status whole_run(const struct state *s, const void *x, const void *y,
                               size_t first, size_t n, void *out, troupe_error *err)
{
    int64_t left[CHUNK], right[CHUNK];
    tp_load_i64(s->x, x, s->walk.moves[0], n, left);
    tp_load_i64(s->y, y, s->walk.moves[1], n, right);
    for (size_t i = 0; i < n; i++) {
        if (s->y == TROUPE_U64 && right[i] < 0) right[i] = INT64_MAX - 1 + (right[i] & 1);
        if (right[i] < 0 && left[i] == 0) {
            return tp_fail(err, TROUPE_INVALID, "0 to the power of %lld at element %zu",
                           (long long)right[i], first + i);
        }
        if (right[i] < 0 && left[i] != 1 && left[i] != -1)
            left[i] = 0; /* below 1 */
        else
            left[i] = whole_power(left[i], right[i]);
    }
    tp_store_i64(s->x, left, n, out, 1);
    return TROUPE_OK;
}

static void wide_run(const struct state *s, const void *x, const void *y, size_t n, void *out)
{
    double left[CHUNK], right[CHUNK];
    tp_load_f64(s->x, x, s->walk.moves[0], n, left);
    tp_load_f64(s->y, y, s->walk.moves[1], n, right);
    for (size_t i = 0; i < n; i++)
        left[i] = pow(left[i], right[i]);
    tp_store_f64(s->x, left, n, out, 1);
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const struct tp_walk *w = &s->walk;
    const size_t xs = troupe_dtype_size(s->x), ys = troupe_dtype_size(s->y);
    const bool whole = (TP_INTS >> s->x & 1) && (TP_INTS >> s->y & 1);
    char *o = tp_out(launch, 0)->data;
    struct tp_walk_at at = {0};
    size_t done = 0;
    for (size_t r = 0; r < w->runs; r++, tp_walk_next(w, &at))
        for (size_t i = 0; i < w->run; i += CHUNK) {
            const size_t n = w->run - i < CHUNK ? w->run - i : CHUNK;
            const char *x = (const char *)tp_in(launch, 0)->data +
                            (at.element[0] + (w->moves[0] ? i : 0)) * xs;
            const char *y = (const char *)tp_in(launch, 1)->data +
                            (at.element[1] + (w->moves[1] ? i : 0)) * ys;
            if (whole)
                TP_TRY(whole_run(s, x, y, done, n, o + done * xs, err));
            else
                wide_run(s, x, y, n, o + done * xs);
            done += n;
        }
    return TROUPE_OK;
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const struct tp_type *x = node->inputs[0], *y = node->inputs[1];
    if (x->dtype == y->dtype && (TP_FLOATS >> x->dtype & 1))
        return tp_binary_prepare(prepare, &loops, err);
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    const struct tp_shape *inputs[] = {&x->shape, &y->shape};
    tp_walk_make(&s->walk, &node->results[0].shape, inputs, 2);
    s->x = x->dtype;
    s->y = y->dtype;
    prepare->run = run;
    return TROUPE_OK;
}

static const struct tp_port inputs[] = {{"x", BASES, 1, 0}, {"y", TP_NUMBERS, 0, 0}, TP_LAST};
static const struct tp_port results[] = {{"z", BASES, 1, 0}, TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS("f32[5]=[2,9,-2,0,nan] f32[5]=[3,0.5,3,-1,1]", NULL,
             "f32[5] [8, 3, -8, inf, nan]"),
    TP_WORKS("f32[3]=[1.5,-3,nan] f32[]=2", NULL, "f32[3] [2.25, 9, nan]"),
    TP_WORKS("f32[3]=[4,2,-2] i64[3]=[2,-1,3]", NULL, "f32[3] [16, 0.5, -8]"),
    TP_WORKS("i32[5]=[3,-2,1,-1,5] i32[5]=[4,3,-7,-3,-1]", NULL, "i32[5] [81, -8, 1, -1, 0]"),
    TP_WORKS("i64[2]=[3,10] u8[2]=[39,2]", NULL, "i64[2] [4052555153018976267, 100]"),
    TP_WORKS("i64[1]=[3] i32[1]=[41]", NULL, "i64[1] [-420491770248316829]"),
    TP_WORKS("i64[2]=[-1,-1] u64[2]=[18446744073709551615,18446744073709551614]", NULL,
             "i64[2] [-1, 1]"),
    TP_WORKS("i32[3]=[4,2,-2] f32[3]=[0.5,40,0.5]", NULL, "i32[3] [2, 2147483647, 0]"),
    TP_WORKS("f16[2,300] f64[]=2", NULL, NULL),
    TP_WORKS("f32[2,200] i32[200]", NULL, NULL),
    TP_WORKS("i64[3,1] i32[1,4]", NULL, NULL),
    TP_FAILS("i32[3]=[1,2,0] i32[3]=[1,1,-1]", NULL, "at element 2"),
    TP_FAILS("f32[2,3] f32[4]", NULL, "[4]"),
    {0},
};
const struct tp_op tp_op_Pow = {
    .name = "Pow",
    .summary =
        "x to the power of y, in x's type; integers wrap, and 0 to a negative power fails",
    .inputs = inputs,
    .results = results,
    .infer = tp_infer_broadcast,
    .prepare = prepare,
    .reuse = 1,
    .samples = samples,
};
