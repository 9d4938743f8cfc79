/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise_divide.c - Div, Mod and BitShift, which some integers cannot be given to.
 *
 * Division of integers cuts towards zero, and the least integer over -1 wraps. Division by an
 * integer 0 fails before anything is written.
 */
#include "kernels/ewise_loops.h"
#include "kernels/ops.h"

/* --- zeros -------------------------------------------------------------------------- */
#define FIND_ZERO(T)                                                                           \
    static size_t find_##T(const void *data, size_t n)                                         \
    {                                                                                          \
        const T *x = data;                                                                     \
        size_t i = 0;                                                                          \
        while (i < n && x[i])                                                                  \
            i++;                                                                               \
        return i;                                                                              \
    }
FIND_ZERO(uint8_t)
FIND_ZERO(uint16_t)
FIND_ZERO(uint32_t)
FIND_ZERO(uint64_t)

/* The place of the first 0 among n integers of that size, or n. */
static size_t find_zero(const void *data, size_t size, size_t n)
{
    switch (size) {
    case 1:
        return find_uint8_t(data, n);
    case 2:
        return find_uint16_t(data, n);
    case 4:
        return find_uint32_t(data, n);
    default:
        return find_uint64_t(data, n);
    }
}

static troupe_status run_checked(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_pair *s = launch->state;
    const struct tp_view *b = tp_in(launch, 1);
    const size_t n = tp_view_count(b), zero = s->n ? find_zero(b->data, s->in_size, n) : n;
    if (zero < n) return tp_fail(err, TROUPE_INVALID, "division by zero at element %zu", zero);
    return s->then(launch, err);
}

/* As a pair, but integers are looked at first. */
static troupe_status prepare_checked(struct tp_prepare *prepare, const struct tp_loops2 *loops,
                                     troupe_error *err)
{
    TP_TRY(tp_binary_prepare(prepare, loops, err));
    if (!(TP_INTS >> prepare->node.inputs[0]->dtype & 1))
        return TROUPE_OK; /* floats give inf */
    ((struct tp_pair *)prepare->state)->then = prepare->run;
    prepare->run = run_checked;
    return TROUPE_OK;
}

static const struct tp_port inputs[] = {
    {"a", TP_NUMBERS, 1, 0}, {"b", TP_NUMBERS, 1, 0}, TP_LAST};
static const struct tp_port results[] = {{"c", TP_NUMBERS, 1, 0}, TP_LAST};

/* --- Div ---------------------------------------------------------------------------- */
LOOPS2_F(divide, x / y, 0)
SIGNED_TYPES(INT2, divide, y == (T)-1 ? -(U)x : (U)(x / y))
UNSIGNED_TYPES(INT2, divide, x / y)
LOOPS2_C(divide, x / y, 0)
static const struct tp_loops2 divisions = {.of = {TABLE_NC(divide)}};

static troupe_status prepare_div(struct tp_prepare *prepare, troupe_error *err)
{
    return prepare_checked(prepare, &divisions, err);
}

static const struct tp_port div_inputs[] = {
    {"a", PORT_NC, 1, 0}, {"b", PORT_NC, 1, 0}, TP_LAST};
static const struct tp_port div_results[] = {{"c", PORT_NC, 1, 0}, TP_LAST};

/* Divisors that are no zero by chance. */
static const struct tp_sample div_samples[] = {
    TP_WORKS("f32[5]=[1,-3,1,0,inf] f32[5]=[4,2,0,0,inf]", NULL,
             "f32[5] [0.25, -1.5, inf, nan, nan]"),
    TP_WORKS("i32[4]=[7,-7,7,-2147483648] i32[4]=[2,2,-2,-1]", NULL,
             "i32[4] [3, -3, -3, -2147483648]"),
    TP_WORKS("i8[2]=[-128,5] i8[]=-1", NULL, "i8[2] [-128, -5]"),
    TP_WORKS("i64[]=-9223372036854775808 i64[2]=[-1,2]", NULL,
             "i64[2] [-9223372036854775808, -4611686018427387904]"),
    TP_WORKS("u8[2]=[255,7] u8[]=255", NULL, "u8[2] [1, 0]"),
    TP_WORKS("c64[3]=[(5,5),(1,0),(-4,2)] c64[3]=[(3,-1),(0,1),(2,0)]", NULL,
             "c64[3] [(1,2), (0,-1), (-2,1)]"),
    TP_WORKS("i32[0] i32[]=0", NULL, NULL),
    TP_WORKS("f32[2,3] f32[3]=[1,2,4]", NULL, NULL),
    TP_WORKS("f32[2,3,2] f32[3,1]=[[1],[3],[5]]", NULL, NULL),
    TP_FAILS("i32[2,2] i32[2]=[3,0]", NULL, "zero at element 1"),
    TP_FAILS("u16[4] u16[4]=[1,1,1,0]", NULL, "zero at element 3"),
    TP_FAILS("i8[2] i8[2]=[0,1]", NULL, "zero at element 0"),
    TP_FAILS("i64[2] i64[1]=[0]", NULL, "zero at element 0"),
    TP_FAILS("f32[2,3] f32[4]", NULL, "[4]"),
    {0},
};
const struct tp_op tp_op_Div = {
    .name = "Div",
    .summary = "x / y; integers are cut towards 0 and fail for a y of 0",
    .inputs = div_inputs,
    .results = div_results,
    .infer = tp_infer_broadcast,
    .prepare = prepare_div,
    .reuse = 3,
    .samples = div_samples,
};

/* --- Mod ---------------------------------------------------------------------------- */
/* With the sign of x, as C has it; with that of y, as Python has it. */
LOOPS2_F(remainder, fmod(x, y), 0)
SIGNED_TYPES(INT2, remainder, y == (T)-1 ? 0 : x % y)
UNSIGNED_TYPES(INT2, remainder, x % y)
SIGNED_TYPES(INT2, modulus,
             y == (T)-1                         ? 0
             : x % y != 0 && (x < 0) != (y < 0) ? x % y + y
                                                : x % y)
UNSIGNED_TYPES(INT2, modulus, x % y)
static const struct tp_loops2 remainders = {.of = {TABLE_N(remainder)}};
static const struct tp_loops2 moduli = {.of = {TABLE_I(modulus)}};

static troupe_status infer_mod(struct tp_infer *infer, troupe_error *err)
{
    if (TP_FLOATS >> infer->inputs[0]->dtype & 1 && tp_int(infer, "fmod", 0) == 0)
        return tp_fail(err, TROUPE_INVALID, "floats need fmod=1");
    return tp_infer_broadcast(infer, err);
}

static troupe_status prepare_mod(struct tp_prepare *prepare, troupe_error *err)
{
    const bool c = tp_int(&prepare->node, "fmod", 0) != 0;
    return prepare_checked(prepare, c ? &remainders : &moduli, err);
}

static const struct tp_attr_spec mod_attrs[] = {{"fmod", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample mod_samples[] = {
    TP_WORKS("f32[4]=[5.5,-5.5,5.5,1] f32[4]=[2,2,-2,0]", "fmod=1",
             "f32[4] [1.5, -1.5, 1.5, nan]"),
    TP_WORKS("i32[4]=[5,-5,5,-5] i32[4]=[3,3,-3,-3]", NULL, "i32[4] [2, 1, -1, -2]"),
    TP_WORKS("i32[4]=[5,-5,5,-5] i32[4]=[3,3,-3,-3]", "fmod=1", "i32[4] [2, -2, 2, -2]"),
    TP_WORKS("i64[1]=[-9223372036854775808] i64[]=-1", NULL, "i64[1] [0]"),
    TP_WORKS("u8[2]=[255,7] u8[2]=[16,7]", NULL, "u8[2] [15, 0]"),
    TP_WORKS("i8[2]=[-128,127] i8[]=-1", "fmod=1", "i8[2] [0, 0]"),
    TP_FAILS("i16[2] i16[2]=[5,0]", NULL, "zero at element 1"),
    TP_FAILS("f32[2] f32[2]", NULL, "fmod=1"),
    TP_FAILS("i32[2,3] i32[4]", NULL, "[4]"),
    {0},
};
const struct tp_op tp_op_Mod = {
    .name = "Mod",
    .summary = "the rest of x / y, with the sign of y, or with that of x when fmod is set",
    .inputs = inputs,
    .results = results,
    .attrs = mod_attrs,
    .infer = infer_mod,
    .prepare = prepare_mod,
    .reuse = 3,
    .samples = mod_samples,
};

/* --- BitShift ----------------------------------------------------------------------- */
UNSIGNED_TYPES(INT2, left, y >= 8 * sizeof(T) ? 0 : (U)x << y)
UNSIGNED_TYPES(INT2, right, y >= 8 * sizeof(T) ? 0 : (U)x >> y)
static const struct tp_loops2 to_left = {.of = {TABLE_UNSIGNED(left)}};
static const struct tp_loops2 to_right = {.of = {TABLE_UNSIGNED(right)}};

static troupe_status infer_shift(struct tp_infer *infer, troupe_error *err)
{
    const char *way = tp_attr_text(infer->attrs, infer->n_attrs, "direction", "");
    if (strcmp(way, "LEFT") != 0 && strcmp(way, "RIGHT") != 0)
        return tp_fail(err, TROUPE_INVALID, "direction is '%s', not LEFT or RIGHT", way);
    return tp_infer_broadcast(infer, err);
}

static troupe_status prepare_shift(struct tp_prepare *prepare, troupe_error *err)
{
    const char *way = tp_attr_text(prepare->node.attrs, prepare->node.n_attrs, "direction", "");
    return tp_binary_prepare(prepare, way[0] == 'L' ? &to_left : &to_right, err);
}

static const struct tp_port shift_inputs[] = {
    {"x", TP_UNSIGNED, 1, 0}, {"y", TP_UNSIGNED, 1, 0}, TP_LAST};
static const struct tp_port shift_results[] = {{"z", TP_UNSIGNED, 1, 0}, TP_LAST};
static const struct tp_attr_spec shift_attrs[] = {{"direction", TROUPE_ATTR_STRING, true},
                                                  TP_LAST};
static const struct tp_sample shift_samples[] = {
    TP_WORKS("u8[4]=[1,255,3,1] u8[4]=[1,4,8,200]", "direction=\"LEFT\"",
             "u8[4] [2, 240, 0, 0]"),
    TP_WORKS("u32[3]=[4294967295,8,1] u32[3]=[31,2,32]", "direction=\"RIGHT\"",
             "u32[3] [1, 2, 0]"),
    TP_WORKS("u64[2]=[1,3] u64[]=63", "direction=\"LEFT\"",
             "u64[2] [9223372036854775808, 9223372036854775808]"),
    TP_WORKS("u16[2,3] u16[3]", "direction=\"RIGHT\"", NULL),
    TP_FAILS("u8[2] u8[2]", "direction=\"UP\"", "UP"),
    TP_FAILS("u8[2] u8[2]", NULL, "direction"),
    {0},
};
const struct tp_op tp_op_BitShift = {
    .name = "BitShift",
    .summary =
        "the bits of x moved by y places in direction LEFT or RIGHT; 0 when all are moved out",
    .inputs = shift_inputs,
    .results = shift_results,
    .attrs = shift_attrs,
    .infer = infer_shift,
    .prepare = prepare_shift,
    .reuse = 3,
    .samples = shift_samples,
};
