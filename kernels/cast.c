/* SPDX-License-Identifier: MIT
 *
 * kernels/cast.c - Cast and CastLike: one element type into another.
 *
 * A float that does not fit an integer becomes the nearest that does, and NaN becomes 0;
 * integers wrap; whatever is not 0 is true. What is beyond the largest float of 8 bits becomes
 * that, or, with saturate=0, infinity or NaN. What is not complex has an imaginary part of 0;
 * what is has no place elsewhere. Texts are read and written as values are shown elsewhere;
 * "NaN", "INF" and "+INF" are read too.
 */
#include "kernels/convert.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"
#include "kernels/texts.h"
#include "tensor/number.h"

#define CHUNK 256

struct state {
    troupe_dtype from, to;
    size_t n; /* elements; of complex numbers among themselves, parts */
    bool saturate;
};

/* --- numbers ------------------------------------------------------------------------ */
static void store_small(const struct state *s, const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = tp_f64_to_small(s->to, from[i], s->saturate);
}

/* The type in which values go from one to the other without a loss of the first's. */
static void convert(const struct state *s, const char *from, size_t n, char *to)
{
    union {
        double f64[CHUNK];
        float f32[CHUNK];
        int64_t i64[CHUNK];
        uint64_t u64[CHUNK];
    } wide;
    const enum tp_dtype_kind kind = tp_dtype_kind(s->from);
    if (tp_dtype_kind(s->to) == TP_KIND_SMALL) {
        tp_load_f64(s->from, from, 1, n, wide.f64);
        store_small(s, wide.f64, n, (uint8_t *)to);
    } else if (s->from == TROUPE_F64) {
        tp_load_f64(s->from, from, 1, n, wide.f64);
        tp_store_f64(s->to, wide.f64, n, to, 1);
    } else if (kind == TP_KIND_FLOAT || kind == TP_KIND_SMALL) {
        tp_load_f32(s->from, from, 1, n, wide.f32);
        tp_store_f32(s->to, wide.f32, n, to, 1);
    } else if (s->from == TROUPE_U64) {
        memcpy(wide.u64, from, n * sizeof(wide.u64[0]));
        tp_store_u64(s->to, wide.u64, n, to, 1);
    } else {
        tp_load_i64(s->from, from, 1, n, wide.i64);
        tp_store_i64(s->to, wide.i64, n, to, 1);
    }
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const size_t from_size = troupe_dtype_size(s->from), to_size = troupe_dtype_size(s->to);
    const char *from = tp_in(launch, 0)->data;
    char *to = tp_out(launch, 0)->data;
    (void)err;
    for (size_t i = 0; i < s->n; i += CHUNK)
        convert(s, from + i * from_size, s->n - i < CHUNK ? s->n - i : CHUNK, to + i * to_size);
    return TROUPE_OK;
}

/* --- complex numbers ---------------------------------------------------------------- */
static troupe_dtype part_of(troupe_dtype dtype)
{
    return dtype == TROUPE_C64 ? TROUPE_F32 : TROUPE_F64;
}

/* Real parts, the state's `to`, with a 0 behind each. */
static troupe_status run_real(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const size_t from_size = troupe_dtype_size(s->from), size = troupe_dtype_size(s->to);
    const char *from = tp_in(launch, 0)->data;
    char *to = tp_out(launch, 0)->data;
    _Alignas(double) char parts[CHUNK * sizeof(double)];
    (void)err;
    for (size_t i = 0; i < s->n; i += CHUNK) {
        const size_t n = s->n - i < CHUNK ? s->n - i : CHUNK;
        convert(s, from + i * from_size, n, parts);
        for (size_t k = 0; k < n; k++, to += 2 * size) {
            memcpy(to, parts + k * size, size);
            memset(to + size, 0, size);
        }
    }
    return TROUPE_OK;
}

/* --- texts -------------------------------------------------------------------------- */
/* Bytes of all texts, each with a zero byte. Looked for only when the most that they could have is
 * more than there is anyhow. */
static size_t measure(const struct state *s, const char *from)
{
    char text[TP_NUMBER_TEXT];
    size_t size = s->n;
    if (s->n <= TP_STRING_ROOM / TP_NUMBER_TEXT) return 0;
    for (size_t i = 0; i < s->n; i++)
        size += tp_number_show(s->from, from + i * troupe_dtype_size(s->from), text);
    return size;
}

static troupe_status run_show(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const char *from = tp_in(launch, 0)->data;
    char text[TP_NUMBER_TEXT];
    size_t at;
    TP_TRY(tp_texts_room(launch, 0, measure(s, from), &at, err));
    struct tp_string *to = tp_out(launch, 0)->data;
    for (size_t i = 0; i < s->n; i++) {
        const size_t size =
            tp_number_show(s->from, from + i * troupe_dtype_size(s->from), text);
        to[i] = (struct tp_string){.at = at, .size = size};
        memcpy((char *)to + at, text, size + 1);
        at += size + 1;
    }
    return TROUPE_OK;
}

static bool is_sign(char c)
{
    return c == '+' || c == '-';
}

/* A text as the reader of numbers wants it: no plus, words in small letters, no zero byte. */
static bool trim(const char *from, size_t size, char *to, size_t room)
{
    if (size > 1 && *from == '+' && !is_sign(from[1])) {
        from++;
        size--;
    }
    if (size == 0 || size >= room || memchr(from, 0, size)) return false;
    for (size_t i = 0; i < size; i++)
        to[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] + ('a' - 'A')) : from[i];
    to[size] = 0;
    if (strcmp(to, "infinity") == 0) to[3] = 0;
    if (strcmp(to, "-infinity") == 0) to[4] = 0;
    return true;
}

static troupe_status run_read(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const struct tp_string *from = tp_in(launch, 0)->data;
    char *to = tp_out(launch, 0)->data, text[1024];
    for (size_t i = 0; i < s->n; i++) {
        const char *given = (const char *)from + from[i].at, *end = text;
        if (!trim(given, from[i].size, text, sizeof(text)) ||
            tp_number_parse(s->to, &end, to + i * troupe_dtype_size(s->to), NULL) < 0 || *end) {
            return tp_fail(err, TROUPE_INVALID, "'%.40s' at element %zu is no %s", given, i,
                           troupe_dtype_name(s->to));
        }
    }
    return TROUPE_OK;
}

/* --- rows --------------------------------------------------------------------------- */
static troupe_status infer_to(struct tp_infer *infer, troupe_dtype to, troupe_error *err)
{
    const troupe_dtype from = infer->inputs[0]->dtype;
    const enum tp_dtype_kind kind = tp_dtype_kind(to);
    if (tp_dtype_kind(from) == TP_KIND_COMPLEX && kind != TP_KIND_COMPLEX &&
        kind != TP_KIND_STRING) {
        return tp_fail(err, TROUPE_INVALID,
                       "%s has an imaginary part, for which %s has no place",
                       troupe_dtype_name(from), troupe_dtype_name(to));
    }
    infer->results[0].dtype = to;
    return tp_infer_same(infer, err);
}

static troupe_status infer_cast(struct tp_infer *infer, troupe_error *err)
{
    return infer_to(infer, (troupe_dtype)tp_int(infer, "to", 0), err);
}

static troupe_status infer_like(struct tp_infer *infer, troupe_error *err)
{
    return infer_to(infer, infer->inputs[1]->dtype, err);
}

/* How `s` is run; settles what it is told apart from types. */
static tp_kernel *choose(struct state *s)
{
    const bool complex = tp_dtype_kind(s->to) == TP_KIND_COMPLEX;
    if (s->from == s->to) return tp_kernel_copy;
    if (s->from == TROUPE_STRING) return run_read;
    if (s->to == TROUPE_STRING) return run_show;
    if (complex) s->to = part_of(s->to);
    if (tp_dtype_kind(s->from) != TP_KIND_COMPLEX) return complex ? run_real : run;
    s->from = part_of(s->from);
    s->n *= 2;
    return run;
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    *s = (struct state){.from = node->inputs[0]->dtype,
                        .to = node->results[0].dtype,
                        .n = tp_shape_count_known(&node->inputs[0]->shape),
                        .saturate = tp_int(node, "saturate", 1) != 0};
    prepare->run = choose(s);
    return TROUPE_OK;
}

static const struct tp_port cast_inputs[] = {{"x", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_port like_inputs[] = {
    {"x", TP_ANY, 1, 0}, {"like", TP_ANY, 2, 0}, TP_LAST};
static const struct tp_port results[] = {{"y", 0, 0, 0}, TP_LAST};
static const struct tp_attr_spec cast_attrs[] = {
    {"saturate", TROUPE_ATTR_INT, false}, {"to", TROUPE_ATTR_DTYPE, true}, TP_LAST};
static const struct tp_attr_spec like_attrs[] = {{"saturate", TROUPE_ATTR_INT, false}, TP_LAST};
static const struct tp_sample cast_samples[] = {
    TP_WORKS("f32[6]=[1.5,-1.75,300,-300,nan,inf]", "to=i8",
             "i8[6] [1, -1, 127, -128, 0, 127]"),
    TP_WORKS("f64[3]=[-1,1e30,4294967295.5]", "to=u32", "u32[3] [0, 4294967295, 4294967295]"),
    TP_WORKS("f64[3]=[1e19,-1e19,nan]", "to=i64",
             "i64[3] [9223372036854775807, -9223372036854775808, 0]"),
    TP_WORKS("f32[2]=[1.8e19,-3]", "to=u64", "u64[2] [17999999670307356672, 0]"),
    TP_WORKS("f32[4]=[0,-0.5,nan,2]", "to=bool", "bool[4] [false, true, true, true]"),
    TP_WORKS("i32[3]=[300,-1,128]", "to=u8", "u8[3] [44, 255, 128]"),
    TP_WORKS("u64[2]=[18446744073709551615,1]", "to=f32", "f32[2] [18446744073709551616, 1]"),
    TP_WORKS("i64[2]=[16777217,-5]", "to=f64", "f64[2] [16777217, -5]"),
    TP_WORKS("bool[2]=[true,false]", "to=f16", "f16[2] [1, 0]"),
    TP_WORKS("f64[3]=[65504,65520,1e-8]", "to=f16", "f16[3] [65504, inf, 0]"),
    TP_WORKS("f32[2]=[1.00390625,1.01171875]", "to=bf16", "bf16[2] [1, 1.015625]"),
    TP_WORKS("bf16[2]=[1.5,inf]", "to=i16", "i16[2] [1, 32767]"),
    TP_WORKS("f32[3]=[0.97676110,nan,-inf]", "to=string",
             "string[3] [\"0.9767611\", \"nan\", \"-inf\"]"),
    TP_WORKS("string[5]=[\"3.5\",\"NaN\",\"+INF\",\"-inf\",\"1e-3\"]", "to=f32",
             "f32[5] [3.5, nan, inf, -inf, 0.001]"),
    TP_WORKS("string[2]=[\"-7\",\"+300\"]", "to=i64", "i64[2] [-7, 300]"),
    TP_FAILS("string[2]=[\"1\",\"one\"]", "to=f64", "'one' at element 1"),
    TP_FAILS("string[1]=[\"1.5\"]", "to=i32", "i32"),
    TP_WORKS("string[2]=[\"+1\",\"-2\"]", "to=i32", "i32[2] [1, -2]"),
    TP_FAILS("string[1]=[\"+-1\"]", "to=i32", "'+-1' at element 0 is no i32"),
    TP_FAILS("string[1]=[\"1\\x002\"]", "to=i32", "at element 0 is no i32"),
    TP_WORKS("string[2]=[\"a\",\"\"]", "to=string", "string[2] [\"a\", \"\"]"),
    TP_WORKS("f64[8]=[0.1,-0,448,464,500,-inf,nan,0.0009]", "to=f8e4m3fn",
             "f8e4m3fn[8] [0.1, -0, 448, 448, 448, -448, nan, 0]"),
    TP_WORKS("f64[4]=[448,464,470,-inf]", "to=f8e4m3fn saturate=0",
             "f8e4m3fn[4] [448, 448, nan, nan]"),
    TP_WORKS("f64[6]=[-0,240,1000,-inf,nan,0.001]", "to=f8e4m3fnuz",
             "f8e4m3fnuz[6] [0, 240, 240, -240, nan, 0.001]"),
    TP_WORKS("f64[3]=[240,1000,inf]", "to=f8e4m3fnuz saturate=0",
             "f8e4m3fnuz[3] [240, nan, nan]"),
    TP_WORKS("f16[5]=[57344,65504,inf,-0,0.3]", "to=f8e5m2",
             "f8e5m2[5] [57344, 57344, 57344, -0, 0.3]"),
    TP_WORKS("f64[4]=[60000,62000,-inf,nan]", "to=f8e5m2 saturate=0",
             "f8e5m2[4] [57344, inf, -inf, nan]"),
    TP_WORKS("bf16[3]=[-0,60000,0.3]", "to=f8e5m2fnuz", "f8e5m2fnuz[3] [0, 57344, 0.3]"),
    TP_WORKS("i32[4]=[17,-1000,18,0]", "to=f8e4m3fn", "f8e4m3fn[4] [16, -448, 18, 0]"),
    TP_WORKS("f8e4m3fn[3]=[448,-0.0625,nan]", "to=f16", "f16[3] [448, -0.0625, nan]"),
    TP_WORKS("f8e5m2[4]=[57344,-1.5,inf,nan]", "to=i16", "i16[4] [32767, -1, 32767, 0]"),
    TP_WORKS("f8e4m3fn[3]=[448,240,-0]", "to=f8e4m3fnuz", "f8e4m3fnuz[3] [240, 240, 0]"),
    TP_WORKS("f64[5]=[7.9,-9,-8,nan,100]", "to=i4", "i4[5] [7, -8, -8, 0, 7]"),
    TP_WORKS("i32[4]=[7,8,-9,300]", "to=i4", "i4[4] [7, -8, 7, -4]"),
    TP_WORKS("i64[3]=[16,-1,31]", "to=u4", "u4[3] [0, 15, 15]"),
    TP_WORKS("i4[2]=[-8,7]", "to=f32", "f32[2] [-8, 7]"),
    TP_WORKS("u4[2]=[15,3]", "to=u2", "u2[2] [3, 3]"),
    TP_WORKS("i8[3]=[1,2,-3]", "to=i2", "i2[3] [1, -2, 1]"),
    TP_WORKS("f64[5]=[0.3,2.5,5,100,-6]", "to=f4e2m1", "f4e2m1[5] [0.5, 2, 4, 6, -6]"),
    TP_WORKS("f64[3]=[1,3,1e30]", "to=f8e8m0", "f8e8m0[3] [1, 4, 1e+30]"),
    TP_WORKS("f32[2]=[1.5,inf]", "to=c128", "c128[2] [(1.5,0), (inf,0)]"),
    TP_WORKS("u8[2]=[200,0]", "to=c64", "c64[2] [(200,0), (0,0)]"),
    TP_WORKS("c128[2]=[(0.1,-1e40),(nan,2)]", "to=c64", "c64[2] [(0.1,-inf), (nan,2)]"),
    TP_WORKS("c64[1]=[(1.5,-2)]", "to=string", "string[1] [\"(1.5,-2)\"]"),
    TP_WORKS("string[1]=[\"(1.5,-2)\"]", "to=c64", "c64[1] [(1.5,-2)]"),
    TP_FAILS("c64[1]=[(1,0)]", "to=f32", "imaginary"),
    TP_WORKS("f32[300]", "to=f64", NULL),
    TP_WORKS("f32[300]", "to=i32", NULL),
    TP_WORKS("f32[0]", "to=i32", NULL),
    TP_WORKS("f32[2,3]", "to=f32", NULL),
    TP_FAILS("f32[2]", NULL, "to"),
    TP_WORKS("f32[2000]", "to=string", NULL),
    {0},
};
static const struct tp_sample like_samples[] = {
    TP_WORKS("f32[3]=[1.5,-1.75,nan] i32[]", NULL, "i32[3] [1, -1, 0]"),
    TP_WORKS("i64[2]=[5,6] f16[3]", NULL, "f16[2] [5, 6]"),
    TP_WORKS("i64[2]=[5,600] f8e5m2[3]", NULL, "f8e5m2[2] [5, 640]"),
    TP_WORKS("f64[1]=[1e6] f8e5m2[1]", "saturate=0", "f8e5m2[1] [inf]"),
    {0},
};
const struct tp_op tp_op_Cast = {
    .name = "Cast",
    .summary =
        "x in another element type; floats saturate and NaN is 0 in integers, which wrap; with "
        "saturate=0 what is beyond the floats of 8 bits is infinity or NaN there",
    .inputs = cast_inputs,
    .results = results,
    .attrs = cast_attrs,
    .infer = infer_cast,
    .prepare = prepare,
    .samples = cast_samples,
};
const struct tp_op tp_op_CastLike = {
    .name = "CastLike",
    .summary = "x in the element type of like, as Cast has it",
    .inputs = like_inputs,
    .results = results,
    .attrs = like_attrs,
    .infer = infer_like,
    .prepare = prepare,
    .samples = like_samples,
};
