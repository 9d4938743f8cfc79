/* SPDX-License-Identifier: MIT
 *
 * tests/op_reference_shapes.c - references of broadcasting and of ops that move elements.
 */
#include <math.h>
#include <string.h>

#include "tests/op_reference.h"
#include "tests/test.h"

/* Call `value` for each index of the result. */
static void each(const struct ref *r,
                 double (*value)(const struct ref *r, const int64_t *index))
{
    int64_t index[8] = {0};
    size_t i = 0;
    for (size_t n = tp_shape_count_known(r->out); n > 0; n--, ref_next(r->out, index))
        r->y[i++] = value(r, index);
}

static int64_t axis_of(const struct ref *r, int64_t otherwise)
{
    const int64_t axis = ref_int(r, "axis", otherwise);
    return axis < 0 ? axis + ref_shape(r, 0)->rank : axis;
}

/* Integer k of input i, or `otherwise` without it. */
static int64_t number(const struct ref *r, size_t i, size_t k, int64_t otherwise)
{
    return ref_has(r, i) ? tp_tensor_int(r->c->inputs[i], k) : otherwise;
}

/* --- broadcasting ------------------------------------------------------------------- */
static double most(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}

static bool is(const struct ref *r, const char *op)
{
    return strcmp(r->c->op->name, op) == 0;
}

static double two(const struct ref *r, double x, double y)
{
    const bool whole = TP_INTS >> r->c->inputs[0]->type.dtype & 1;
    if (is(r, "Add") || is(r, "Sum") || is(r, "Mean")) return x + y;
    if (is(r, "Sub")) return x - y;
    if (is(r, "Mul")) return x * y;
    if (is(r, "Div")) return whole ? trunc(x / y) : x / y;
    if (is(r, "Mod")) return ref_int(r, "fmod", 0) ? fmod(x, y) : x - y * floor(x / y);
    if (is(r, "Pow")) return pow(x, y);
    if (is(r, "PRelu")) return x < 0 ? x * y : x;
    if (is(r, "Max")) return most(x, y);
    if (is(r, "Min")) return -most(-x, -y);
    if (is(r, "Equal")) return x == y;
    if (is(r, "Less")) return x < y;
    if (is(r, "LessOrEqual")) return x <= y;
    if (is(r, "Greater")) return x > y;
    if (is(r, "GreaterOrEqual")) return x >= y;
    if (is(r, "And")) return x != 0 && y != 0;
    if (is(r, "Or")) return x != 0 || y != 0;
    return (x != 0) != (y != 0);
}

static double fold_at(const struct ref *r, const int64_t *index)
{
    double value = ref_at(r, 0, index, r->out->rank);
    for (size_t i = 1; i < r->c->n_inputs; i++)
        value = two(r, value, ref_at(r, i, index, r->out->rank));
    return is(r, "Mean") ? value / (double)r->c->n_inputs : value;
}

static void fold(const struct ref *r)
{
    each(r, fold_at);
}

static double where_at(const struct ref *r, const int64_t *index)
{
    const size_t from = ref_at(r, 0, index, r->out->rank) != 0 ? 1 : 2;
    return ref_at(r, from, index, r->out->rank);
}

static void where(const struct ref *r)
{
    each(r, where_at);
}

static double expand_at(const struct ref *r, const int64_t *index)
{
    return ref_at(r, 0, index, r->out->rank);
}

static void expand(const struct ref *r)
{
    each(r, expand_at);
}

/* --- moving ------------------------------------------------------------------------- */
static double transpose_at(const struct ref *r, const int64_t *index)
{
    int64_t from[8] = {0};
    for (int i = 0; i < r->out->rank; i++)
        from[ref_list(r, "perm", (size_t)i, r->out->rank - 1 - i)] = index[i];
    return ref_at(r, 0, from, r->out->rank);
}

static void transpose(const struct ref *r)
{
    each(r, transpose_at);
}

static double tile_at(const struct ref *r, const int64_t *index)
{
    int64_t from[8] = {0};
    for (int i = 0; i < r->out->rank; i++)
        from[i] = index[i] % ref_shape(r, 0)->dims[i];
    return ref_at(r, 0, from, r->out->rank);
}

static void tile(const struct ref *r)
{
    each(r, tile_at);
}

static double slice_at(const struct ref *r, const int64_t *index)
{
    int64_t from[8];
    memcpy(from, index, sizeof(from));
    for (size_t k = 0; k < r->c->inputs[1]->count; k++) {
        int64_t axis = number(r, 3, k, (int64_t)k), start = number(r, 1, k, 0);
        if (axis < 0) axis += r->out->rank;
        const int64_t dim = ref_shape(r, 0)->dims[axis], step = number(r, 4, k, 1);
        if (start < 0) start += dim;
        if (start < 0) start = 0;
        if (start > dim - 1) start = dim - 1;
        from[axis] = start + (index[axis] ? index[axis] * step : 0);
    }
    return ref_at(r, 0, from, r->out->rank);
}

static void slice(const struct ref *r)
{
    each(r, slice_at);
}

static double concat_at(const struct ref *r, const int64_t *index)
{
    const int64_t axis = axis_of(r, 0);
    int64_t from[8];
    size_t i = 0;
    memcpy(from, index, sizeof(from));
    for (; from[axis] >= ref_shape(r, i)->dims[axis]; i++)
        from[axis] -= ref_shape(r, i)->dims[axis];
    return ref_at(r, i, from, r->out->rank);
}

static void concat(const struct ref *r)
{
    each(r, concat_at);
}

static double split_at(const struct ref *r, const int64_t *index)
{
    const int64_t axis = axis_of(r, 0);
    int64_t from[8];
    memcpy(from, index, sizeof(from));
    for (size_t i = 0; i < r->which; i++)
        from[axis] += r->c->types[i].shape.dims[axis];
    return ref_at(r, 0, from, r->out->rank);
}

static void split(const struct ref *r)
{
    each(r, split_at);
}

static double gather_at(const struct ref *r, const int64_t *index)
{
    const struct tp_shape *data = ref_shape(r, 0), *list = ref_shape(r, 1);
    const int64_t axis = axis_of(r, 0);
    int64_t from[8];
    for (int i = 0; i < data->rank; i++)
        if (i != axis) from[i] = index[i < axis ? i : i + list->rank - 1];
    from[axis] = (int64_t)ref_at(r, 1, index + axis, list->rank);
    if (from[axis] < 0) from[axis] += data->dims[axis];
    return ref_at(r, 0, from, data->rank);
}

static void gather(const struct ref *r)
{
    each(r, gather_at);
}

const struct ref_row ref_shapes[] = {
    {"Add", fold},
    {"And", fold},
    {"Concat", concat},
    {"Div", fold},
    {"Equal", fold},
    {"Expand", expand},
    {"Gather", gather},
    {"Greater", fold},
    {"GreaterOrEqual", fold},
    {"LessOrEqual", fold},
    {"Less", fold},
    {"Max", fold},
    {"Mean", fold},
    {"Min", fold},
    {"Mod", fold},
    {"Mul", fold},
    {"Or", fold},
    {"Pow", fold},
    {"PRelu", fold},
    {"Slice", slice},
    {"Split", split},
    {"Sub", fold},
    {"Sum", fold},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Where", where},
    {"Xor", fold},
    {NULL, NULL},
};
