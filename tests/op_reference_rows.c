/* SPDX-License-Identifier: MIT
 *
 * tests/op_reference_rows.c - references of reductions, normalisations and other work on rows.
 */
#include <math.h>
#include <string.h>

#include "tests/op_reference.h"
#include "tests/test.h"

static bool is(const struct ref *r, const char *op)
{
    return strcmp(r->c->op->name, op) == 0;
}

/* --- reductions --------------------------------------------------------------------- */
/* Bit d: dimension d is reduced. */
static unsigned axes_of(const struct ref *r)
{
    const int rank = ref_shape(r, 0)->rank;
    const size_t n = ref_has(r, 1) ? r->c->inputs[1]->count : 0;
    unsigned axes = n || ref_int(r, "noop_with_empty_axes", 0) ? 0 : (1u << rank) - 1;
    if (strncmp(r->c->op->name, "Global", 6) == 0) return (1u << rank) - 4;
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = tp_tensor_int(r->c->inputs[1], i);
        axes |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return axes;
}

static double start_of(const struct ref *r)
{
    static const double least[TP_DTYPES] = {
        [TROUPE_F32] = -INFINITY,  [TROUPE_F64] = -INFINITY,     [TROUPE_F16] = -INFINITY,
        [TROUPE_BF16] = -INFINITY, [TROUPE_I32] = -2147483648.0, [TROUPE_I64] = -9e18,
        [TROUPE_I8] = -128};
    if (is(r, "ReduceProd")) return 1;
    if (is(r, "ReduceMin")) return INFINITY;
    return is(r, "ReduceMax") || is(r, "GlobalMaxPool") ? least[r->c->inputs[0]->type.dtype]
                                                        : 0;
}

static double step(const struct ref *r, double so_far, double v)
{
    const char *op = r->c->op->name;
    if (is(r, "ReduceProd")) return so_far * v;
    if (is(r, "ReduceL1")) return so_far + fabs(v);
    if (is(r, "ReduceL2") || is(r, "ReduceSumSquare")) return so_far + v * v;
    if (is(r, "ReduceLogSumExp"))
        return so_far + exp(v - 500); /* so that 1000 does not overflow */
    if (!is(r, "ReduceMax") && !is(r, "ReduceMin") && op[6] != 'M') return so_far + v;
    if (is(r, "ReduceMean")) return so_far + v;
    if (isnan(v) || isnan(so_far)) return NAN;
    return (v > so_far) == !is(r, "ReduceMin") ? v : so_far;
}

static double end(const struct ref *r, double value, double n)
{
    if (is(r, "ReduceMean") || is(r, "GlobalAveragePool")) return value / n;
    if (is(r, "ReduceL2")) return sqrt(value);
    if (is(r, "ReduceLogSumExp")) return log(value) + 500;
    return is(r, "ReduceLogSum") ? log(value) : value;
}

static void reduce(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const unsigned axes = axes_of(r);
    const size_t n = tp_shape_count_known(r->out), total = tp_shape_count_known(x);
    int64_t index[8] = {0};
    for (size_t i = 0; i < n; i++)
        r->y[i] = start_of(r);
    for (size_t i = 0; i < total; i++, ref_next(x, index)) {
        size_t at = 0;
        for (int d = 0; d < x->rank; d++)
            if (!(axes >> d & 1)) at = at * (size_t)x->dims[d] + (size_t)index[d];
        r->y[at] = step(r, r->y[at], ref_at(r, 0, index, x->rank));
    }
    for (size_t i = 0; i < n; i++)
        r->y[i] = end(r, r->y[i], (double)(total / n));
}

static void arg(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const bool last = ref_int(r, "select_last_index", 0) != 0,
               keep = ref_int(r, "keepdims", 1) != 0;
    int64_t axis = ref_int(r, "axis", 0), index[8] = {0};
    if (axis < 0) axis += x->rank;
    size_t i = 0;
    for (size_t n = tp_shape_count_known(r->out); n > 0; n--, ref_next(r->out, index)) {
        double best = NAN;
        int64_t at[8];
        for (int d = 0, from = 0; d < x->rank; d++)
            at[d] = d == axis && !keep ? 0 : index[from++];
        for (int64_t k = 0; k < x->dims[axis]; k++) {
            at[axis] = k;
            double v = ref_at(r, 0, at, x->rank);
            if (is(r, "ArgMin")) v = -v;
            if (isnan(v)) v = INFINITY;
            if (k > 0 && !(v > best || (last && v == best))) continue;
            best = v;
            r->y[i] = (double)k;
        }
        i++;
    }
}

/* --- normalisations ----------------------------------------------------------------- */
static void batch(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    int64_t index[8] = {0};
    for (size_t i = 0, n = tp_shape_count_known(x); i < n; i++, ref_next(x, index)) {
        const int64_t *c = x->rank > 1 ? &index[1] : (const int64_t[]){0};
        r->y[i] = (ref_at(r, 0, index, x->rank) - ref_at(r, 3, c, 1)) /
                      sqrt(ref_at(r, 4, c, 1) + ref_float(r, "epsilon", 1e-5)) *
                      ref_at(r, 1, c, 1) +
                  ref_at(r, 2, c, 1);
    }
}

static void layer(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    int64_t axis = ref_int(r, "axis", -1), index[8] = {0};
    if (axis < 0) axis += x->rank;
    struct tp_shape row = {.rank = x->rank - (int)axis};
    memcpy(row.dims, x->dims + axis, (size_t)row.rank * sizeof(int64_t));
    const double n = (double)tp_shape_count_known(&row);
    for (size_t i = 0, all = tp_shape_count_known(x); i < all; i++, ref_next(x, index)) {
        int64_t at[8], within[8] = {0};
        double mean = 0, variance = 0;
        memcpy(at, index, sizeof(at));
        do {
            memcpy(at + axis, within, (size_t)row.rank * sizeof(int64_t));
            mean += ref_at(r, 0, at, x->rank) / n;
        } while (ref_next(&row, within));
        do {
            memcpy(at + axis, within, (size_t)row.rank * sizeof(int64_t));
            variance += pow(ref_at(r, 0, at, x->rank) - mean, 2) / n;
        } while (ref_next(&row, within));
        const double inverse = 1 / sqrt(variance + ref_float(r, "epsilon", 1e-5));
        double y =
            (ref_at(r, 0, index, x->rank) - mean) * inverse * ref_at(r, 1, index, x->rank);
        if (ref_has(r, 2)) y += ref_at(r, 2, index, x->rank);
        if (r->which == 0)
            r->y[i] = y;
        else
            r->y[i / (size_t)n] = r->which == 1 ? mean : inverse;
    }
}

static void lrn(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const int64_t size = ref_int(r, "size", 1);
    int64_t index[8] = {0};
    for (size_t i = 0, n = tp_shape_count_known(x); i < n; i++, ref_next(x, index)) {
        int64_t at[8];
        double squares = 0;
        memcpy(at, index, sizeof(at));
        for (at[1] = 0; at[1] < x->dims[1]; at[1]++)
            if (at[1] >= index[1] - (size - 1) / 2 && at[1] - size / 2 <= index[1])
                squares += pow(ref_at(r, 0, at, x->rank), 2);
        r->y[i] =
            ref_at(r, 0, index, x->rank) /
            pow(ref_float(r, "bias", 1) + ref_float(r, "alpha", 1e-4) / (double)size * squares,
                ref_float(r, "beta", 0.75));
    }
}

/* --- others ------------------------------------------------------------------------- */
static void pad(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const char *mode = tp_attr_text(r->c->attrs, r->c->n_attrs, "mode", "constant");
    int64_t index[8] = {0}, before[8] = {0};
    const size_t n_axes = r->c->inputs[1]->count / 2;
    for (size_t k = 0; k < n_axes; k++) {
        int64_t axis = ref_has(r, 3) ? tp_tensor_int(r->c->inputs[3], k) : (int64_t)k;
        before[axis < 0 ? axis + x->rank : axis] = tp_tensor_int(r->c->inputs[1], k);
    }
    for (size_t i = 0, n = tp_shape_count_known(r->out); i < n; i++, ref_next(r->out, index)) {
        int64_t at[8];
        bool outside = false;
        for (int d = 0; d < x->rank; d++) {
            const int64_t dim = x->dims[d];
            int64_t k = index[d] - before[d];
            if (mode[0] == 'e') k = k < 0 ? 0 : k >= dim ? dim - 1 : k;
            while (mode[0] == 'r' && (k < 0 || k >= dim))
                k = k < 0 ? -k : 2 * dim - 2 - k;
            while (mode[0] == 'w' && (k < 0 || k >= dim))
                k += k < 0 ? dim : -dim;
            outside |= k < 0 || k >= dim;
            at[d] = k;
        }
        r->y[i] = !outside        ? ref_at(r, 0, at, x->rank)
                  : ref_has(r, 2) ? ref_at(r, 2, at, 1)
                                  : 0;
    }
}

static void trilu(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const int64_t k = ref_has(r, 1) ? tp_tensor_int(r->c->inputs[1], 0) : 0;
    int64_t index[8] = {0};
    for (size_t i = 0, n = tp_shape_count_known(x); i < n; i++, ref_next(x, index)) {
        const int64_t off = index[x->rank - 1] - index[x->rank - 2];
        const bool keep = ref_int(r, "upper", 1) ? off >= k : off <= k;
        r->y[i] = keep ? ref_at(r, 0, index, x->rank) : 0;
    }
}

static void cumsum(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const bool back = ref_int(r, "reverse", 0) != 0, open = ref_int(r, "exclusive", 0) != 0;
    int64_t axis = tp_tensor_int(r->c->inputs[1], 0), index[8] = {0};
    if (axis < 0) axis += x->rank;
    for (size_t i = 0, n = tp_shape_count_known(x); i < n; i++, ref_next(x, index)) {
        int64_t at[8];
        double sum = 0;
        memcpy(at, index, sizeof(at));
        for (at[axis] = 0; at[axis] < x->dims[axis]; at[axis]++) {
            const int64_t way = back ? at[axis] - index[axis] : index[axis] - at[axis];
            if (way > 0 || (way == 0 && !open)) sum += ref_at(r, 0, at, x->rank);
        }
        r->y[i] = sum;
    }
}

const struct ref_row ref_rows[] = {
    {"ArgMax", arg},
    {"ArgMin", arg},
    {"BatchNormalization", batch},
    {"CumSum", cumsum},
    {"GlobalAveragePool", reduce},
    {"GlobalMaxPool", reduce},
    {"LRN", lrn},
    {"LayerNormalization", layer},
    {"Pad", pad},
    {"ReduceL1", reduce},
    {"ReduceL2", reduce},
    {"ReduceLogSum", reduce},
    {"ReduceLogSumExp", reduce},
    {"ReduceMax", reduce},
    {"ReduceMean", reduce},
    {"ReduceMin", reduce},
    {"ReduceProd", reduce},
    {"ReduceSum", reduce},
    {"ReduceSumSquare", reduce},
    {"Trilu", trilu},
    {NULL, NULL},
};
