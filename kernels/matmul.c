/* SPDX-License-Identifier: MIT
 *
 * kernels/matmul.c - MatMul: the product of matrices, and of stacks of them, as numpy has it.
 */
#include "kernels/convert.h"
#include "kernels/dense.h"
#include "kernels/ops.h"
#include "kernels/walk.h"

/* --- shapes ------------------------------------------------------------------------- */
/* A vector on the left is one row, on the right one column; that dimension is not in the
 * result. */
static struct tp_shape as_matrix(const struct tp_shape *shape, bool right)
{
    if (shape->rank != 1) return *shape;
    return right ? (struct tp_shape){.rank = 2, .dims = {shape->dims[0], 1}}
                 : (struct tp_shape){.rank = 2, .dims = {1, shape->dims[0]}};
}

static struct tp_shape stack_of(const struct tp_shape *matrix)
{
    struct tp_shape stack = *matrix;
    stack.rank -= 2;
    stack.dims[stack.rank] = stack.dims[stack.rank + 1] = 0;
    return stack;
}

static troupe_status infer(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *a = tp_infer_shape(infer, 0), *b = tp_infer_shape(infer, 1);
    TP_TRY(tp_infer_rank(infer, 0, 1, TROUPE_MAX_RANK, err));
    TP_TRY(tp_infer_rank(infer, 1, 1, TROUPE_MAX_RANK, err));
    if (a->rank == TP_RANK_ANY || b->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    const struct tp_shape left = as_matrix(a, false), right = as_matrix(b, true);
    const int64_t k = left.dims[left.rank - 1], other = right.dims[right.rank - 2];
    if (k >= 0 && other >= 0 && k != other) {
        return tp_fail(err, TROUPE_INVALID, "inner dimensions of %s and %s are %lld and %lld",
                       tp_shape_text(a).text, tp_shape_text(b).text, (long long)k,
                       (long long)other);
    }
    struct tp_shape out = stack_of(&left);
    const struct tp_shape stack = stack_of(&right);
    TP_TRY(tp_shape_broadcast(&out, &stack, &out, err));
    if (a->rank > 1) out.dims[out.rank++] = left.dims[left.rank - 2];
    if (b->rank > 1) out.dims[out.rank++] = right.dims[right.rank - 1];
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static void cost(const struct tp_infer *node, struct tp_cost *out)
{
    const struct tp_shape *a = &node->inputs[0]->shape;
    double elements = 1;
    for (int i = 0; i < node->results[0].shape.rank; i++)
        if (node->results[0].shape.dims[i] > 0)
            elements *= (double)node->results[0].shape.dims[i];
    const int64_t k = a->rank > 0 ? a->dims[a->rank - 1] : 1;
    out->flops = 2 * elements * (k > 0 ? (double)k : 1);
}

/* --- running ------------------------------------------------------------------------ */
struct state {
    struct tp_dense dense;
    struct tp_walk stack; /* over matrices */
    size_t a_size, b_size, c_size,
        c_count; /* of one matrix: bytes, and elements of the product */
    size_t at;   /* of a product that is still to be narrowed, in the
                  * workspace */
    bool narrow;
};

static troupe_status run_one(const struct state *s, const struct tp_launch *launch, size_t a,
                             size_t b, size_t c, troupe_error *err)
{
    const struct tp_view *out = tp_out(launch, 0);
    char *to = (char *)out->data + c * s->c_size;
    char *product = s->narrow ? tp_part(launch->workspace, s->at) : to;
    TP_TRY(tp_dense_run(&s->dense, (const char *)tp_in(launch, 0)->data + a * s->a_size,
                        (const char *)tp_in(launch, 1)->data + b * s->b_size, product,
                        launch->workspace, launch->team, err));
    if (s->narrow) tp_store_f32(out->type->dtype, (float *)product, s->c_count, to, 1);
    return TROUPE_OK;
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    struct tp_walk_at at = {0};
    size_t c = 0;
    for (size_t r = 0; r < s->stack.runs; r++, tp_walk_next(&s->stack, &at))
        for (size_t i = 0; i < s->stack.run; i++, c++)
            TP_TRY(run_one(s, launch, at.element[0] + (s->stack.moves[0] ? i : 0),
                           at.element[1] + (s->stack.moves[1] ? i : 0), c, err));
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

/* One matrix on the right for a whole stack on the left: the stack is one tall matrix. */
static void flatten_stack(struct state *s, struct tp_shape *left, struct tp_shape *right)
{
    const size_t rows = tp_span(left, 0, left->rank - 2);
    if (tp_span(right, 0, right->rank - 2) != 1 || right->rank > left->rank) return;
    s->dense.m *= rows;
    left->rank = right->rank = 2;
}

/* Sizes of the matrices, and the way over their stacks. */
static void lay_out(struct state *s, const struct tp_shape *left, const struct tp_shape *right)
{
    const size_t size = troupe_dtype_size(s->dense.dtype);
    s->a_size = s->dense.m * s->dense.k * size;
    s->b_size = s->dense.k * s->dense.n * size;
    s->c_count = s->dense.m * s->dense.n;
    s->c_size = s->c_count * size;
    s->narrow = s->dense.result != s->dense.dtype;
    s->at = s->dense.workspace;
    const struct tp_shape a = stack_of(left), b = stack_of(right);
    const struct tp_shape *both[] = {&a, &b};
    struct tp_shape out = a;
    if (tp_shape_broadcast(&a, &b, &out, NULL) == TROUPE_OK) /* infer has seen to that */
        tp_walk_make(&s->stack, &out, both, 2);
}

static troupe_status prepare(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    struct tp_shape left = as_matrix(&node->inputs[0]->shape, false);
    struct tp_shape right = as_matrix(&node->inputs[1]->shape, true);
    TP_OWNED(destroy) struct state *s = tp_alloc(sizeof(*s));
    if (!s) return tp_fail_memory(err, sizeof(*s));
    s->dense.m = (size_t)left.dims[left.rank - 2];
    s->dense.k = (size_t)left.dims[left.rank - 1];
    s->dense.n = (size_t)right.dims[right.rank - 1];
    s->dense.dtype = node->inputs[0]->dtype;
    flatten_stack(s, &left, &right);
    const bool one = tp_span(&right, 0, right.rank - 2) == 1;
    bool keeps;
    TP_TRY(tp_dense_make(&s->dense, one ? tp_known(node, 1) : NULL, prepare->threads, &keeps,
                         err));
    if (keeps) prepare->uses &= ~2u;
    lay_out(s, &left, &right);
    prepare->workspace = s->at + (s->narrow ? s->c_count * sizeof(float) : 0);
    prepare->run = run;
    prepare->drop = drop;
    prepare->state = s;
    s = NULL;
    return TROUPE_OK;
}

static const struct tp_port inputs[] = {
    {"a", TP_DENSE_TYPES, 1, 0}, {"b", TP_DENSE_TYPES, 1, 0}, TP_LAST};
static const struct tp_port results[] = {{"y", TP_DENSE_TYPES, 1, 0}, TP_LAST};
static const struct tp_sample samples[] = {
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]] f32[3,2]=[[1,0],[0,1],[1,1]]", NULL,
             "f32[2,2] [[4, 5], [10, 11]]"),
    TP_WORKS("f32[3]=[1,2,3] f32[3]=[4,5,6]", NULL, "f32[] 32"),
    TP_WORKS("f32[3] f32[3,4]", NULL, NULL),
    TP_WORKS("f32[2,3] f32[3]", NULL, NULL),
    TP_WORKS("f32[2,3,4,5] f32[5,6]", NULL, NULL),
    TP_WORKS("f32[2,1,4,5] f32[3,5,7]", NULL, NULL),
    TP_WORKS("f32[3,4] f32[2,4,9]", NULL, NULL),
    TP_WORKS("f32[33,70] f32[70,65]", NULL, NULL),
    TP_WORKS("f32[5,300] f32[300,3]", NULL, NULL),
    TP_WORKS("f32[0,3] f32[3,4]", NULL, NULL),
    TP_WORKS("f32[2,0] f32[0,3]", NULL, "f32[2,3] [[0, 0, 0], [0, 0, 0]]"),
    TP_WORKS("u32[1,2]=[[4294967295,1]] u32[2,1]=[[2],[3]]", NULL, "u32[1,1] [[1]]"),
    TP_FAILS("f32[2,3] f32[2,3]", NULL, "inner"),
    TP_FAILS("f32[2,2,3] f32[3,3,4]", NULL, "[3]"),
    TP_FAILS("f32[] f32[3,4]", NULL, "rank 0"),
    {0},
};
const struct tp_op tp_op_MatMul = {
    .name = "MatMul",
    .summary = "the product of matrices, broadcast over the dimensions before them, as numpy's "
               "matmul has it",
    .inputs = inputs,
    .results = results,
    .infer = infer,
    .prepare = prepare,
    .cost = cost,
    .samples = samples,
};
