/* SPDX-License-Identifier: MIT
 *
 * kernels/cast.c - Cast and CastLike: one element type into another.
 *
 * A float that does not fit an integer becomes the nearest that does, and NaN becomes 0;
 * integers wrap; whatever is not 0 is true. Texts are read and written as values are shown
 * elsewhere; "NaN", "INF" and "+INF" are read too.
 */
#include "kernels/convert.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"
#include "tensor/number.h"

#define CHUNK 256

struct state {
    troupe_dtype from, to;
    size_t n;
};

/* --- numbers ------------------------------------------------------------------------ */
/* The type in which values go from one to the other without a loss of the first's. */
static void convert(const struct state *s, const char *from, size_t n, char *to)
{
    union {
        double f64[CHUNK];
        float f32[CHUNK];
        int64_t i64[CHUNK];
        uint64_t u64[CHUNK];
    } wide;
    if (s->from == TROUPE_F64) {
        tp_load_f64(s->from, from, 1, n, wide.f64);
        tp_store_f64(s->to, wide.f64, n, to, 1);
    } else if (TP_FLOATS >> s->from & 1) {
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

/* --- texts -------------------------------------------------------------------------- */
static troupe_status run_show(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const char *from = tp_in(launch, 0)->data;
    struct tp_string *to = tp_out(launch, 0)->data;
    char text[TP_NUMBER_TEXT];
    size_t at = s->n * sizeof(*to);
    const size_t end = at + TP_STRING_ROOM;
    for (size_t i = 0; i < s->n; i++) {
        const size_t size =
            tp_number_show(s->from, from + i * troupe_dtype_size(s->from), text);
        if (size + 1 > end - at) {
            return tp_fail(err, TROUPE_EXHAUSTED,
                           "the texts of %zu elements need more than %d bytes", s->n,
                           TP_STRING_ROOM);
        }
        to[i] = (struct tp_string){.at = at, .size = size};
        memcpy((char *)to + at, text, size);
        ((char *)to)[at + size] = 0;
        at += size + 1;
    }
    return TROUPE_OK;
}

/* A text as the reader of numbers wants it: no plus, words in small letters. */
static bool trim(const char *from, size_t size, char *to, size_t room)
{
    if (size > 0 && *from == '+') {
        from++;
        size--;
    }
    if (size == 0 || size >= room) return false;
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
    char *to = tp_out(launch, 0)->data, text[400];
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
static troupe_status infer_cast(struct tp_infer *infer, troupe_error *err)
{
    infer->results[0].dtype = (troupe_dtype)tp_int(infer, "to", 0);
    return tp_infer_same(infer, err);
}

static troupe_status infer_like(struct tp_infer *infer, troupe_error *err)
{
    infer->results[0].dtype = infer->inputs[1]->dtype;
    return tp_infer_same(infer, err);
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    const troupe_dtype from = node->inputs[0]->dtype, to = node->results[0].dtype;
    if (from == TROUPE_STRING && to == TROUPE_STRING)
        return tp_fail(err, TROUPE_UNSUPPORTED, "a cast from string to string");
    struct state *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    *s = (struct state){from, to, tp_shape_count_known(&node->inputs[0]->shape)};
    prepare->run = from == TROUPE_STRING ? run_read : to == TROUPE_STRING ? run_show : run;
    if (from == to) prepare->run = tp_kernel_copy;
    return TROUPE_OK;
}

static const struct tp_port cast_inputs[] = {{"x", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_port like_inputs[] = {
    {"x", TP_ANY, 1, 0}, {"like", TP_ANY, 2, 0}, TP_LAST};
static const struct tp_port results[] = {{"y", 0, 0, 0}, TP_LAST};
static const struct tp_attr_spec cast_attrs[] = {{"to", TROUPE_ATTR_DTYPE, true}, TP_LAST};
static const struct tp_sample cast_samples[] = {
    TP_WORKS("f32[6]=[1.9,-1.9,300,-300,nan,inf]", "to=i8", "i8[6] [1, -1, 127, -128, 0, 127]"),
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
    TP_FAILS("string[1]=[\"a\"]", "to=string", "string to string"),
    TP_WORKS("f32[300]", "to=f64", NULL),
    TP_WORKS("f32[300]", "to=i32", NULL),
    TP_WORKS("f32[0]", "to=i32", NULL),
    TP_WORKS("f32[2,3]", "to=f32", NULL),
    TP_FAILS("f32[2]", NULL, "to"),
    TP_FAILS("f32[2000]", "to=string", "4096 bytes"),
    {0},
};
static const struct tp_sample like_samples[] = {
    TP_WORKS("f32[3]=[1.9,-1.9,nan] i32[]", NULL, "i32[3] [1, -1, 0]"),
    TP_WORKS("i64[2]=[5,6] f16[3]", NULL, "f16[2] [5, 6]"),
    {0},
};
const struct tp_op tp_op_Cast = {
    .name = "Cast",
    .summary =
        "x in another element type; floats saturate and NaN is 0 in integers, which wrap",
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
    .infer = infer_like,
    .prepare = prepare,
    .samples = like_samples,
};
