/* SPDX-License-Identifier: MIT
 *
 * kernels/rearrange.c - Transpose, Expand, Tile and Slice: elements moved at even steps.
 */
#include "kernels/kernel.h"
#include "kernels/move.h"
#include "kernels/ops.h"
#include "kernels/texts.h"

static const struct tp_port one_result[] = {{"y", TP_ANY, 1, 0}, TP_LAST};

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    (void)err;
    tp_move_run(launch->state, tp_in(launch, 0)->data, tp_out(launch, 0)->data);
    return TROUPE_OK;
}

/* The state: a move, which is joined here. */
static troupe_status keep(struct tp_prepare *prepare, const struct tp_move *move,
                          troupe_error *err)
{
    struct tp_move *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    *s = *move;
    s->size = tp_element_size(prepare->node.inputs[0]->dtype);
    tp_move_join(s);
    prepare->run = run;
    return tp_texts_wrap(prepare, err);
}

/* --- Transpose ---------------------------------------------------------------------- */
/* perm, or the dimensions backwards. */
static troupe_status read_perm(const struct tp_infer *node, int rank, int perm[TROUPE_MAX_RANK],
                               troupe_error *err)
{
    size_t n;
    unsigned seen = 0;
    const int64_t *given = tp_attr_ints(node->attrs, node->n_attrs, "perm", &n);
    if (given && n != (size_t)rank)
        return tp_fail(err, TROUPE_INVALID, "perm has %zu numbers for rank %d", n, rank);
    for (int i = 0; i < rank; i++) {
        const int64_t from = given ? given[i] : rank - 1 - i;
        if (from < 0 || from >= rank || seen >> from & 1) {
            return tp_fail(err, TROUPE_INVALID,
                           "perm is no order of the dimensions: %lld at %d", (long long)from,
                           i);
        }
        seen |= 1u << from;
        perm[i] = (int)from;
    }
    return TROUPE_OK;
}

static troupe_status infer_transpose(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    int perm[TROUPE_MAX_RANK];
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    struct tp_shape out = {.rank = x->rank};
    TP_TRY(read_perm(infer, x->rank, perm, err));
    for (int i = 0; i < x->rank; i++)
        out.dims[i] = x->dims[perm[i]];
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static troupe_status prepare_transpose(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(&prepare->node, 0);
    struct tp_move move = {.rank = x->rank};
    int perm[TROUPE_MAX_RANK];
    int64_t steps[TROUPE_MAX_RANK];
    TP_TRY(read_perm(&prepare->node, x->rank, perm, err));
    tp_move_steps(x, steps);
    for (int i = 0; i < x->rank; i++) {
        move.dims[i] = x->dims[perm[i]];
        move.steps[i] = steps[perm[i]];
    }
    return keep(prepare, &move, err);
}

static const struct tp_port transpose_inputs[] = {{"x", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_attr_spec transpose_attrs[] = {{"perm", TROUPE_ATTR_INTS, false},
                                                      TP_LAST};
static const struct tp_sample transpose_samples[] = {
    TP_WORKS("f32[2,3]=[[1,2,3],[4,5,6]]", NULL, "f32[3,2] [[1, 4], [2, 5], [3, 6]]"),
    TP_WORKS("f32[2,3,4]", "perm=[1,0,2]", NULL),
    TP_WORKS("f32[2,3,4,5]", "perm=[0,2,3,1]", NULL),
    TP_WORKS("f32[2,3,4,5]", "perm=[3,1,0,2]", NULL),
    TP_WORKS("f32[37,41]", NULL, NULL),
    TP_WORKS("f32[3,20,18]", "perm=[0,2,1]", NULL),
    TP_WORKS("f32[2,0,3]", NULL, NULL),
    TP_WORKS("f32[]", NULL, NULL),
    TP_FAILS("f32[2,3]", "perm=[0]", "rank 2"),
    TP_FAILS("f32[2,3]", "perm=[0,0]", "order"),
    TP_FAILS("f32[2,3]", "perm=[0,2]", "order"),
    {0},
};
const struct tp_op tp_op_Transpose = {
    .name = "Transpose",
    .summary = "x with its dimensions in the order of perm, or backwards",
    .inputs = transpose_inputs,
    .results = one_result,
    .attrs = transpose_attrs,
    .infer = infer_transpose,
    .prepare = prepare_transpose,
    .samples = transpose_samples,
};

/* --- Expand ------------------------------------------------------------------------- */
static troupe_status infer_expand(struct tp_infer *infer, troupe_error *err)
{
    int64_t wanted[16];
    size_t n;
    TP_TRY(tp_infer_rank(infer, 1, 1, 1, err));
    const troupe_status status = tp_infer_ints(infer, 1, wanted, &n, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING) return TROUPE_OK; /* rank unknown */
    if (n > TROUPE_MAX_RANK)
        return tp_fail(err, TROUPE_INVALID, "the shape has %zu dimensions; %d is the most", n,
                       TROUPE_MAX_RANK);
    struct tp_shape to = {.rank = (int)n};
    for (size_t i = 0; i < n; i++) {
        to.dims[i] = wanted[i];
        if (wanted[i] < 0)
            return tp_fail(err, TROUPE_INVALID, "dimension %zu is %lld", i,
                           (long long)wanted[i]);
    }
    if (tp_infer_shape(infer, 0)->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    return tp_shape_broadcast(&to, tp_infer_shape(infer, 0), &infer->results[0].shape, err);
}

static troupe_status prepare_expand(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(&prepare->node, 0);
    const struct tp_shape *y = &prepare->node.results[0].shape;
    struct tp_move move = {.rank = y->rank};
    int64_t steps[TROUPE_MAX_RANK];
    tp_move_steps(x, steps);
    for (int i = 0; i < y->rank; i++) {
        const int d = i - (y->rank - x->rank);
        move.dims[i] = y->dims[i];
        move.steps[i] = d < 0 || x->dims[d] == 1 ? 0 : steps[d];
    }
    return keep(prepare, &move, err);
}

static const struct tp_port expand_inputs[] = {
    {"x", TP_ANY, 1, 0}, {"shape", TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_sample expand_samples[] = {
    TP_WORKS("f32[2,1]=[[1],[2]] i64[2]=[1,3]", NULL, "f32[2,3] [[1, 1, 1], [2, 2, 2]]"),
    TP_WORKS("f32[3,1] i64[3]=[2,1,4]", NULL, NULL),
    TP_WORKS("f32[] i64[2]=[2,3]", NULL, NULL),
    TP_WORKS("f32[2,3] i64[0]=[]", NULL, NULL),
    TP_WORKS("f32[2,1] i64[2]=[2,0]", NULL, NULL),
    TP_FAILS("f32[2,3] i64[2]=[2,2]", NULL, "[2,2]"),
    TP_FAILS("f32[2,3] i64[2]=[-1,3]", NULL, "-1"),
    {0},
};
const struct tp_op tp_op_Expand = {
    .name = "Expand",
    .summary = "x broadcast to shape, and shape to x",
    .inputs = expand_inputs,
    .results = one_result,
    .infer = infer_expand,
    .prepare = prepare_expand,
    .samples = expand_samples,
};

/* --- Tile --------------------------------------------------------------------------- */
static troupe_status infer_tile(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    int64_t repeats[16];
    size_t n;
    TP_TRY(tp_infer_rank(infer, 1, 1, 1, err));
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    struct tp_shape out = {.rank = x->rank};
    const troupe_status status = tp_infer_ints(infer, 1, repeats, &n, err);
    TP_TRY(status);
    if (status == TROUPE_OK && n != (size_t)x->rank)
        return tp_fail(err, TROUPE_INVALID, "%zu repeats for rank %d", n, x->rank);
    for (int i = 0; i < x->rank; i++) {
        out.dims[i] = TP_DIM_ANY;
        if (status == TROUPE_PENDING) continue;
        if (repeats[i] < 0 ||
            (x->dims[i] >= 0 && __builtin_mul_overflow(x->dims[i], repeats[i], &out.dims[i]))) {
            return tp_fail(err, TROUPE_INVALID,
                           "dimension %d of %s cannot be repeated %lld times", i,
                           tp_shape_text(x).text, (long long)repeats[i]);
        }
        if (repeats[i] == 1) out.dims[i] = x->dims[i];
    }
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static troupe_status prepare_tile(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(&prepare->node, 0);
    struct tp_move move = {.rank = 2 * x->rank};
    int64_t steps[TROUPE_MAX_RANK], repeats[16];
    size_t n;
    const troupe_status status = tp_infer_ints(&prepare->node, 1, repeats, &n, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING && x->rank > 0)
        return tp_fail(err, TROUPE_INTERNAL, "repeats are not known");
    tp_move_steps(x, steps);
    for (int i = 0; i < x->rank; i++) {
        move.dims[2 * i] = repeats[i];
        move.dims[2 * i + 1] = x->dims[i];
        move.steps[2 * i + 1] = steps[i];
    }
    return keep(prepare, &move, err);
}

static const struct tp_port tile_inputs[] = {
    {"x", TP_ANY, 1, 0}, {"repeats", TP_TYPE(I64), 0, TP_HOST}, TP_LAST};
static const struct tp_sample tile_samples[] = {
    TP_WORKS("f32[1,2]=[[1,2]] i64[2]=[2,2]", NULL, "f32[2,4] [[1, 2, 1, 2], [1, 2, 1, 2]]"),
    TP_WORKS("f32[2,3,4] i64[3]=[1,2,3]", NULL, NULL),
    TP_WORKS("f32[2,3] i64[2]=[0,2]", NULL, NULL),
    TP_WORKS("f32[1,1,1,2,1,1,1,2] i64[8]=[2,1,2,1,1,2,1,2]", NULL, NULL),
    TP_WORKS("f32[] i64[0]=[]", NULL, NULL),
    TP_FAILS("f32[2,3] i64[1]=[2]", NULL, "rank 2"),
    TP_FAILS("f32[2,3] i64[2]=[2,-1]", NULL, "-1"),
    TP_FAILS("f32[2,3] i64[2]=[2,9223372036854775807]", NULL, "repeated"),
    {0},
};
const struct tp_op tp_op_Tile = {
    .name = "Tile",
    .summary = "x repeated along each dimension",
    .inputs = tile_inputs,
    .results = one_result,
    .infer = infer_tile,
    .prepare = prepare_tile,
    .samples = tile_samples,
};

/* --- Slice -------------------------------------------------------------------------- */
/* Along one dimension: n elements, `step` apart, from start on; n is TP_DIM_ANY while the
 * dimension is not known. */
struct cut {
    int64_t start, step, n;
};

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* ONNX's rule: what is below 0 counts from the end, then all is kept within the dimension. */
static struct cut cut_dim(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    if (dim < 0) return (struct cut){0, step, TP_DIM_ANY};
    if (start < 0) start += dim;
    if (end < 0) end += dim;
    start = within(start, 0, step > 0 ? dim : dim - 1);
    end = within(end, step > 0 ? 0 : -1, step > 0 ? dim : dim - 1);
    const int64_t way = step > 0 ? end - start : start - end;
    const uint64_t each = step > 0 ? (uint64_t)step : -(uint64_t)step;
    if (way <= 0 || dim == 0) return (struct cut){0, step, 0};
    return (struct cut){start, step, (int64_t)(((uint64_t)way - 1) / each + 1)};
}

/* What starts, ends, axes and steps say of each dimension. TROUPE_PENDING: not all are known.
 */
static troupe_status read_cuts(const struct tp_infer *node, struct cut cuts[TROUPE_MAX_RANK],
                               troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(node, 0);
    int64_t list[5][16];
    size_t n[5];
    for (size_t i = 1; i < 5; i++) {
        n[i] = SIZE_MAX; /* absent */
        if (!tp_infer_shape(node, i)) continue;
        const troupe_status status = tp_infer_ints(node, i, list[i], &n[i], err);
        if (status != TROUPE_OK) return status;
        if (n[i] == n[1]) continue;
        return tp_fail(err, TROUPE_INVALID, "%zu %s for %zu starts", n[i],
                       tp_op_port(node->op->inputs, i)->name, n[1]);
    }
    for (int d = 0; d < x->rank; d++)
        cuts[d] = (struct cut){0, 1, x->dims[d]};
    unsigned seen = 0;
    for (size_t i = 0; i < n[1]; i++) {
        const int64_t step = n[4] == SIZE_MAX ? 1 : list[4][i];
        int axis;
        TP_TRY(tp_infer_axis(n[3] == SIZE_MAX ? (int64_t)i : list[3][i], x->rank, &axis, err));
        if (step == 0) return tp_fail(err, TROUPE_INVALID, "the step along axis %d is 0", axis);
        if (seen >> axis & 1)
            return tp_fail(err, TROUPE_INVALID, "axis %d is listed twice", axis);
        seen |= 1u << axis;
        const bool whole = list[1][i] == 0 && list[2][i] == INT64_MAX && step == 1;
        if (!whole) cuts[axis] = cut_dim(x->dims[axis], list[1][i], list[2][i], step);
    }
    return TROUPE_OK;
}

static troupe_status infer_slice(struct tp_infer *infer, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(infer, 0);
    struct cut cuts[TROUPE_MAX_RANK];
    for (size_t i = 1; i < 5; i++)
        TP_TRY(tp_infer_rank(infer, i, 1, 1, err));
    if (x->rank == TP_RANK_ANY) return TROUPE_OK; /* rank unknown */
    const troupe_status status = read_cuts(infer, cuts, err);
    TP_TRY(status);
    struct tp_shape out = {.rank = x->rank};
    for (int d = 0; d < x->rank; d++)
        out.dims[d] = status == TROUPE_PENDING ? TP_DIM_ANY : cuts[d].n;
    infer->results[0].shape = out;
    return TROUPE_OK;
}

static troupe_status prepare_slice(struct tp_prepare *prepare, troupe_error *err)
{
    const struct tp_shape *x = tp_infer_shape(&prepare->node, 0);
    struct tp_move move = {.rank = x->rank};
    struct cut cuts[TROUPE_MAX_RANK];
    int64_t steps[TROUPE_MAX_RANK];
    const troupe_status status = read_cuts(&prepare->node, cuts, err);
    TP_TRY(status);
    if (status == TROUPE_PENDING && x->rank > 0)
        return tp_fail(err, TROUPE_INTERNAL, "starts or ends are not known");
    tp_move_steps(x, steps);
    for (int d = 0; d < x->rank; d++) {
        move.dims[d] = cuts[d].n;
        move.start += cuts[d].start * steps[d];
        move.steps[d] = cuts[d].n > 1 ? cuts[d].step * steps[d] : 0; /* a step may be huge */
    }
    return keep(prepare, &move, err);
}

#define INDEXES (TP_TYPE(I32) | TP_TYPE(I64))
static const struct tp_port slice_inputs[] = {{"data", TP_ANY, 1, 0},
                                              {"starts", INDEXES, 2, TP_HOST},
                                              {"ends", INDEXES, 2, TP_HOST},
                                              {"axes", INDEXES, 2, TP_OPTIONAL | TP_HOST},
                                              {"steps", INDEXES, 2, TP_OPTIONAL | TP_HOST},
                                              TP_LAST};
static const struct tp_sample slice_samples[] = {
    TP_WORKS(
        "f32[2,4]=[[1,2,3,4],[5,6,7,8]] i64[2]=[1,0] i64[2]=[2,3] i64[2]=[0,1] i64[2]=[1,2]",
        NULL, "f32[1,2] [[5, 7]]"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[1]=[-1] i64[1]=[-5] - i64[1]=[-1]", NULL,
             "f32[4] [4, 3, 2, 1]"),
    TP_WORKS("f32[4]=[1,2,3,4] i32[1]=[10] i32[1]=[-100] i32[1]=[0] i32[1]=[-3]", NULL,
             "f32[2] [4, 1]"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[1]=[3] i64[1]=[9223372036854775807] - i64[1]=[-1]", NULL,
             "f32[0] []"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[1]=[-9223372036854775808] i64[1]=[9223372036854775807] - "
             "i64[1]=[9223372036854775807]",
             NULL, "f32[1] [1]"),
    TP_WORKS("f32[4]=[1,2,3,4] i64[1]=[3] i64[1]=[-9223372036854775808] - "
             "i64[1]=[-9223372036854775808]",
             NULL, "f32[1] [4]"),
    TP_WORKS("f32[5,6,7] i64[2]=[-4,1] i64[2]=[-1,100] i64[2]=[2,-3]", NULL, NULL),
    TP_WORKS("f32[5,6] i64[1]=[5] i64[1]=[2]", NULL, NULL),
    TP_WORKS("f32[0,6] i64[1]=[0] i64[1]=[2] - i64[1]=[-1]", NULL, NULL),
    TP_WORKS("f32[] i64[0]=[] i64[0]=[]", NULL, NULL),
    TP_FAILS("f32[4] i64[1]=[0] i64[1]=[2] i64[1]=[1]", NULL, "axis"),
    TP_FAILS("f32[4] i64[1]=[0] i64[1]=[2] - i64[1]=[0]", NULL, "step"),
    TP_FAILS("f32[4] i64[1]=[0] i64[2]=[2,3]", NULL, "2 ends"),
    TP_FAILS("f32[4,4] i64[2]=[0,0] i64[2]=[2,3] i64[2]=[0,-2]", NULL, "twice"),
    {0},
};
const struct tp_op tp_op_Slice = {
    .name = "Slice",
    .summary = "the elements of data from starts to before ends along axes, steps apart",
    .inputs = slice_inputs,
    .results = one_result,
    .infer = infer_slice,
    .prepare = prepare_slice,
    .samples = slice_samples,
};
