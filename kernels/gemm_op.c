/* SPDX-License-Identifier: MIT
 *
 * kernels/gemm_op.c - Gemm: alpha a b + beta c, with a or b turned.
 */
#include "kernels/convert.h"
#include "kernels/dense.h"
#include "kernels/ops.h"
#include "kernels/walk.h"

#define CHUNK 128

/* --- shapes ------------------------------------------------------------------------- */
static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *a = tp_infer_shape(infer, 0), *b = tp_infer_shape(infer, 1);
    const struct tp_shape *c = tp_infer_shape(infer, 2);
    const int turned_a = tp_int(infer, "transA", 0) != 0,
              turned_b = tp_int(infer, "transB", 0) != 0;
    struct tp_shape out = {.rank = 2, .dims = {TP_DIM_ANY, TP_DIM_ANY}};
    int64_t left = TP_DIM_ANY, right = TP_DIM_ANY;
    TP_TRY(tp_infer_rank(infer, 0, 2, 2, err));
    TP_TRY(tp_infer_rank(infer, 1, 2, 2, err));
    if (a->rank == 2) {
        out.dims[0] = a->dims[turned_a];
        left = a->dims[!turned_a];
    }
    if (b->rank == 2) {
        out.dims[1] = b->dims[!turned_b];
        right = b->dims[turned_b];
    }
    if (left >= 0 && right >= 0 && left != right) {
        return tp_fail(err, TROUPE_INVALID,
                       "inner dimensions of %s%s and %s%s are %lld and %lld",
                       tp_shape_text(a).text, turned_a ? " turned" : "", tp_shape_text(b).text,
                       turned_b ? " turned" : "", (long long)left, (long long)right);
    }
    infer->results[0].shape = out;
    if (!c || !tp_shape_known(c) || !tp_shape_known(&out))
        return TROUPE_OK; /* nothing to check */
    struct tp_shape both;
    TP_TRY(tp_shape_broadcast(c, &out, &both, err));
    if (tp_shape_equal(&both, &out)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "input 2 'c' %s does not broadcast to %s",
                   tp_shape_text(c).text, tp_shape_text(&out).text);
}

static void cost(const struct tp_infer *node, struct tp_cost *out)
{
    double elements = 1, k = 1;
    const struct tp_shape *a = &node->inputs[0]->shape, *y = &node->results[0].shape;
    for (int i = 0; i < y->rank; i++)
        if (y->dims[i] > 0) elements *= (double)y->dims[i];
    const int64_t deep = a->rank == 2 ? a->dims[tp_int(node, "transA", 0) == 0] : 1;
    if (deep > 0) k = (double)deep;
    out->flops = 2 * elements * k;
}

/* --- running ------------------------------------------------------------------------ */
struct state {
    struct tp_dense dense;
    struct tp_walk walk; /* over the product and c */
    size_t count;        /* elements of the product */
    size_t at;           /* of the product in the workspace, when it is narrowed later */
    size_t c_size;       /* bytes of an element of c */
    float alpha, beta;
    bool narrow, scale; /* scale: alpha or beta is not 1 */
};

/* y = alpha x + beta c over a run; x may be y. */
#define FINISH(name, T)                                                                        \
    static void name(const struct state *s, T *y, const T *x, const T *c, size_t n,            \
                     bool moves)                                                               \
    {                                                                                          \
        const T alpha = (T)s->alpha, beta = (T)s->beta;                                        \
        if (!s->scale && moves) {                                                              \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++)                                                     \
                y[i] = x[i] + c[i];                                                            \
        } else if (!s->scale) {                                                                \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++)                                                     \
                y[i] = x[i] + c[0];                                                            \
        } else {                                                                               \
            for (size_t i = 0; i < n; i++)                                                     \
                y[i] = alpha * x[i] + beta * c[moves ? i : 0];                                 \
        }                                                                                      \
    }
FINISH(finish_f32, float)
FINISH(finish_f64, double)

static void finish_half(const struct state *s, troupe_dtype dtype, void *y, const float *x,
                        const void *c, size_t n, bool moves)
{
    float made[CHUNK], added[CHUNK];
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = n - i < CHUNK ? n - i : CHUNK;
        tp_load_f32(dtype, (const uint16_t *)c + (moves ? i : 0), 1, moves ? m : 1, added);
        finish_f32(s, made, x + i, added, m, moves);
        tp_store_f32(dtype, made, m, (uint16_t *)y + i, 1);
    }
}

/* Integers wrap; with alpha or beta they go by way of doubles. */
static void finish_integer(const struct state *s, troupe_dtype dtype, char *y, const char *c,
                           size_t n, bool moves)
{
    int64_t x[CHUNK], added[CHUNK];
    const size_t size = troupe_dtype_size(dtype);
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = n - i < CHUNK ? n - i : CHUNK;
        tp_load_i64(dtype, y + i * size, 1, m, x);
        tp_load_i64(dtype, c + (moves ? i * size : 0), 1, moves ? m : 1, added);
        for (size_t j = 0; j < m; j++) {
            const int64_t with = added[moves ? j : 0];
            double scaled = (double)s->alpha * (double)x[j] + (double)s->beta * (double)with;
            if (!s->scale)
                x[j] = (int64_t)((uint64_t)x[j] + (uint64_t)with);
            else
                tp_store_f64(TROUPE_I64, &scaled, 1, &x[j], 1);
        }
        tp_store_i64(dtype, x, m, y + i * size, 1);
    }
}

static void finish(const struct state *s, const struct tp_view *out, const void *product,
                   const void *c)
{
    const troupe_dtype dtype = out->type->dtype;
    struct tp_walk_at at = {0};
    for (size_t r = 0; r < s->walk.runs; r++, tp_walk_next(&s->walk, &at)) {
        const size_t i = r * s->walk.run, n = s->walk.run;
        const bool moves = s->walk.moves[1];
        const void *with = (const char *)c + at.element[1] * s->c_size;
        if (dtype == TROUPE_F32)
            finish_f32(s, (float *)out->data + i, (const float *)product + i, with, n, moves);
        else if (dtype == TROUPE_F64)
            finish_f64(s, (double *)out->data + i, (const double *)product + i, with, n, moves);
        else if (s->narrow)
            finish_half(s, dtype, (uint16_t *)out->data + i, (const float *)product + i, with,
                        n, moves);
        else
            finish_integer(s, dtype, (char *)out->data + i * s->c_size, with, n, moves);
    }
}

static const uint64_t no_c = 0; /* what is added without a c, of any type */

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    const struct tp_view *c = tp_in(launch, 2), *out = tp_out(launch, 0);
    void *product = s->narrow ? tp_part(launch->workspace, s->at) : out->data;
    TP_TRY(tp_dense_run(&s->dense, tp_in(launch, 0)->data, tp_in(launch, 1)->data, product,
                        launch->workspace, launch->team, err));
    if (c || s->narrow || s->alpha != 1) finish(s, out, product, c ? c->data : &no_c);
    return TROUPE_OK;
}

static void drop(void *state)
{
    struct state *s = state;
    if (s) tp_dense_fini(&s->dense);
    tp_free(s);
}

static void destroy(struct state **state)
{
    drop(*state);
}

static void lay_out(struct state *s, const struct tp_infer *node)
{
    static const struct tp_shape scalar = {.rank = 0};
    const struct tp_shape *c = tp_infer_shape(node, 2), *y = &node->results[0].shape;
    const struct tp_shape *both[] = {y, c ? c : &scalar};
    tp_walk_make(&s->walk, y, both, 2);
    s->alpha = (float)tp_float(node, "alpha", 1);
    s->beta = (float)tp_float(node, "beta", 1);
    s->scale = s->alpha != 1 || (c && s->beta != 1);
    if (!c) s->beta = 1; /* of the 0 that is added */
    s->c_size = troupe_dtype_size(s->dense.dtype);
    s->count = s->dense.m * s->dense.n;
    s->narrow = s->dense.result != s->dense.dtype;
    s->at = s->dense.workspace;
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    TP_OWNED(destroy) struct state *s = tp_alloc(sizeof(*s));
    if (!s) return tp_fail_memory(err, sizeof(*s));
    s->dense.turned_a = tp_int(node, "transA", 0) != 0;
    s->dense.turned_b = tp_int(node, "transB", 0) != 0;
    s->dense.m = (size_t)node->results[0].shape.dims[0];
    s->dense.n = (size_t)node->results[0].shape.dims[1];
    s->dense.k = (size_t)node->inputs[0]->shape.dims[!s->dense.turned_a];
    s->dense.dtype = node->inputs[0]->dtype;
    bool keeps;
    TP_TRY(tp_dense_make(&s->dense, tp_known(node, 1), prepare->threads, &keeps, err));
    if (keeps) prepare->uses &= ~2u;
    lay_out(s, node);
    prepare->workspace = s->at + (s->narrow ? s->count * sizeof(float) : 0);
    prepare->run = run;
    prepare->drop = drop;
    prepare->state = s;
    s = NULL;
    return TROUPE_OK;
}

static const struct tp_port inputs[] = {{"a", TP_DENSE_TYPES, 1, 0},
                                        {"b", TP_DENSE_TYPES, 1, 0},
                                        {"c", TP_DENSE_TYPES, 1, TP_OPTIONAL},
                                        TP_LAST};
static const struct tp_port results[] = {{"y", TP_DENSE_TYPES, 1, 0}, TP_LAST};
static const struct tp_attr_spec attrs[] = {{"alpha", TROUPE_ATTR_FLOAT, false},
                                            {"beta", TROUPE_ATTR_FLOAT, false},
                                            {"transA", TROUPE_ATTR_INT, false},
                                            {"transB", TROUPE_ATTR_INT, false},
                                            TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]] f32[3,2]=[[1,0],[0,1],[1,1]] f32[2]=[10,20]", NULL,
             "f32[2,2] [[14, 25], [20, 31]]"),
    TP_WORKS("f32[3,2]=[[1,4],[2,5],[3,6]] f32[2,3]=[[1,0,1],[0,1,1]] f32[2,1]=[[10],[20]]",
             "transA=1 transB=1 alpha=2.0 beta=0.5", "f32[2,2] [[13, 15], [30, 32]]"),
    TP_WORKS("f32[4,5] f32[5,6]", NULL, NULL),
    TP_WORKS("f32[4,5] f32[5,6] f32[]", "alpha=0.5", NULL),
    TP_WORKS("f32[4,5] f32[6,5] f32[1,6]", "transB=1", NULL),
    TP_WORKS("f32[3,4] f32[3,5] f32[4,5]", "transA=1 beta=0.25", NULL),
    TP_WORKS("f32[65,129] f32[33,129] f32[33]", "transB=1", NULL),
    TP_WORKS("f32[1,300] f32[300,7] f32[7]", NULL, NULL),
    TP_WORKS("f32[0,3] f32[3,4] f32[4]", NULL, NULL),
    TP_WORKS("f32[2,0] f32[0,2] f32[2]=[1,2]", NULL, "f32[2,2] [[1, 2], [1, 2]]"),
    TP_FAILS("f32[2,3] f32[2,3]", NULL, "inner"),
    TP_FAILS("f32[2,3] f32[3,4] f32[3]", NULL, "[3]"),
    TP_FAILS("f32[2,3] f32[3,4] f32[1,2,4]", NULL, "'c'"),
    TP_FAILS("f32[2,3,1] f32[3,4]", NULL, "rank 3"),
    {0},
};
const struct tp_op tp_op_Gemm = {
    .name = "Gemm",
    .summary =
        "alpha a b + beta c for matrices a and b, each turned when transA or transB is set",
    .inputs = inputs,
    .results = results,
    .attrs = attrs,
    .infer = infer,
    .prepare = prepare,
    .cost = cost,
    .samples = samples,
};
