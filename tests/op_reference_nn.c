/* SPDX-License-Identifier: MIT
 *
 * tests/op_reference_nn.c - references of what networks are made of, straight from the
 * definitions.
 */
#include <math.h>
#include <string.h>

#include "tests/op_reference.h"
#include "tests/test.h"

/* --- matrices ----------------------------------------------------------------------- */
static void matmul(const struct ref *r)
{
    const struct tp_shape *a = ref_shape(r, 0), *b = ref_shape(r, 1), *y = r->out;
    const int64_t k = a->dims[a->rank - 1];
    int64_t index[8] = {0}, left[8], right[8];
    size_t i = 0;
    for (size_t n = tp_shape_count_known(y); n > 0; n--, ref_next(y, index)) {
        /* the result's dimensions: stack, row unless a is a vector, column unless b is one */
        const int stack = y->rank - (a->rank > 1) - (b->rank > 1);
        double sum = 0;
        for (int64_t p = 0; p < k; p++) {
            memcpy(left, index, sizeof(left));
            memcpy(right, index, sizeof(right));
            left[stack] = a->rank > 1 ? index[stack] : p;
            left[stack + (a->rank > 1)] = p;
            right[stack] = p;
            right[stack + 1] = b->rank > 1 ? index[y->rank - 1] : 0;
            sum += ref_at(r, 0, left, stack + 1 + (a->rank > 1)) *
                   ref_at(r, 1, right, stack + 1 + (b->rank > 1));
        }
        r->y[i++] = sum;
    }
}

static void gemm(const struct ref *r)
{
    const bool ta = ref_int(r, "transA", 0) != 0, tb = ref_int(r, "transB", 0) != 0;
    const int64_t k = ref_shape(r, 0)->dims[!ta];
    size_t at = 0;
    for (int64_t i = 0; i < r->out->dims[0]; i++)
        for (int64_t j = 0; j < r->out->dims[1]; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++) {
                const int64_t left[2] = {ta ? p : i, ta ? i : p},
                              right[2] = {tb ? j : p, tb ? p : j};
                sum += ref_at(r, 0, left, 2) * ref_at(r, 1, right, 2);
            }
            const int64_t place[2] = {i, j};
            sum *= ref_float(r, "alpha", 1);
            if (ref_has(r, 2)) sum += ref_float(r, "beta", 1) * ref_at(r, 2, place, 2);
            r->y[at++] = sum;
        }
}

/* --- windows ------------------------------------------------------------------------ */
/* Along one dimension: what stands at tap k of window o. */
struct side {
    int64_t in, kernel, stride, dilation, begin, end;
};

static struct side side_of(const struct ref *r, int d, int64_t kernel, int64_t out)
{
    const int rank = ref_shape(r, 0)->rank - 2;
    struct side s = {.in = ref_shape(r, 0)->dims[d + 2],
                     .kernel = kernel,
                     .stride = ref_list(r, "strides", (size_t)d, 1),
                     .dilation = ref_list(r, "dilations", (size_t)d, 1),
                     .begin = ref_list(r, "pads", (size_t)d, 0),
                     .end = ref_list(r, "pads", (size_t)(d + rank), 0)};
    const char *mode = tp_attr_text(r->c->attrs, r->c->n_attrs, "auto_pad", "NOTSET");
    if (strncmp(mode, "SAME", 4) == 0) {
        int64_t all = (out - 1) * s.stride + (kernel - 1) * s.dilation + 1 - s.in;
        if (all < 0) all = 0;
        s.begin = strcmp(mode, "SAME_LOWER") == 0 ? (all + 1) / 2 : all / 2;
        s.end = all - s.begin;
    }
    return s;
}

static int64_t meets(const struct side *s, int64_t o, int64_t tap)
{
    return o * s->stride - s->begin + tap * s->dilation;
}

static void conv(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0), *w = ref_shape(r, 1), *y = r->out;
    const int rank = x->rank - 2;
    const int64_t group = ref_int(r, "group", 1), out = w->dims[0] / group;
    struct side sides[3];
    int64_t index[8] = {0};
    size_t i = 0;
    for (int d = 0; d < rank; d++)
        sides[d] = side_of(r, d, w->dims[d + 2], y->dims[d + 2]);
    for (size_t n = tp_shape_count_known(y); n > 0; n--, ref_next(y, index)) {
        int64_t tap[8] = {0};
        const struct tp_shape taps = {.rank = rank + 1,
                                      .dims = {w->dims[1], w->dims[2], w->dims[3], w->dims[4]}};
        double sum = ref_has(r, 2) ? ref_at(r, 2, &index[1], 1) : 0;
        do {
            int64_t from[8] = {index[0], index[1] / out * w->dims[1] + tap[0]};
            int64_t weight[8] = {index[1], tap[0], tap[1], tap[2], tap[3]};
            bool inside = true;
            for (int d = 0; d < rank; d++) {
                from[d + 2] = meets(&sides[d], index[d + 2], tap[d + 1]);
                inside &= from[d + 2] >= 0 && from[d + 2] < sides[d].in;
            }
            if (inside) sum += ref_at(r, 0, from, x->rank) * ref_at(r, 1, weight, w->rank);
        } while (ref_next(&taps, tap));
        r->y[i++] = sum;
    }
}

/* Straight from the definition: each element of x is spread over the result. */
static void conv_transpose(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0), *w = ref_shape(r, 1), *y = r->out;
    const int rank = x->rank - 2;
    const int64_t group = ref_int(r, "group", 1), in = x->dims[1] / group;
    const char *mode = tp_attr_text(r->c->attrs, r->c->n_attrs, "auto_pad", "NOTSET");
    const bool upper = strcmp(mode, "SAME_UPPER") == 0, valid = strcmp(mode, "VALID") == 0;
    int64_t begin[3], index[8] = {0};
    for (int d = 0; d < rank; d++) {
        const int64_t stride = ref_list(r, "strides", (size_t)d, 1);
        const int64_t whole = stride * (x->dims[d + 2] - 1) +
                              ref_list(r, "output_padding", (size_t)d, 0) +
                              (w->dims[d + 2] - 1) * ref_list(r, "dilations", (size_t)d, 1) + 1;
        const int64_t all = whole > y->dims[d + 2] ? whole - y->dims[d + 2] : 0;
        const bool same = mode[0] == 'S' || ref_list(r, "output_shape", (size_t)d, 0);
        begin[d] = same    ? (upper ? all / 2 : (all + 1) / 2)
                   : valid ? 0
                           : ref_list(r, "pads", (size_t)d, 0);
    }
    for (size_t i = 0, n = tp_shape_count_known(y); i < n; i++, ref_next(y, index))
        r->y[i] = ref_has(r, 2) ? ref_at(r, 2, &index[1], 1) : 0;
    memset(index, 0, sizeof(index));
    for (size_t n = tp_shape_count_known(x); n > 0; n--, ref_next(x, index)) {
        struct tp_shape taps = *w;
        taps.dims[0] = 1;
        int64_t tap[8] = {0};
        do {
            int64_t weight[8];
            memcpy(weight, tap, sizeof(weight));
            weight[0] = index[1];
            size_t at = (size_t)(index[0] * y->dims[1] + index[1] / in * w->dims[1] + tap[1]);
            bool inside = true;
            for (int d = 0; d < rank; d++) {
                const int64_t o = index[d + 2] * ref_list(r, "strides", (size_t)d, 1) +
                                  tap[d + 2] * ref_list(r, "dilations", (size_t)d, 1) -
                                  begin[d];
                inside &= o >= 0 && o < y->dims[d + 2];
                at = at * (size_t)y->dims[d + 2] + (size_t)o;
            }
            if (inside)
                r->y[at] += ref_at(r, 0, index, x->rank) * ref_at(r, 1, weight, w->rank);
        } while (ref_next(&taps, tap));
    }
}

/* One window of a pool. */
struct seen {
    double sum, most;
    int64_t place, inside, padded; /* place of the most; taps in x; taps in x and its padding */
};

static struct seen look(const struct ref *r, const struct side *sides, const int64_t *index)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const int rank = x->rank - 2;
    struct tp_shape taps = {.rank = rank};
    struct seen s = {.most = -INFINITY, .place = -1};
    int64_t tap[8] = {0};
    for (int d = 0; d < rank; d++)
        taps.dims[d] = sides[d].kernel;
    do {
        int64_t from[8] = {index[0], index[1]}, place = 0;
        bool inside = true, padded = true;
        for (int d = 0; d < rank; d++) {
            const int64_t at = from[d + 2] = meets(&sides[d], index[d + 2], tap[d]);
            inside &= at >= 0 && at < sides[d].in;
            padded &= at < sides[d].in + sides[d].end;
            place = place * sides[d].in + at;
        }
        s.padded += padded;
        if (!inside) continue;
        const double value = ref_at(r, 0, from, x->rank);
        s.inside++;
        s.sum += value;
        if (isnan(s.most) || (value <= s.most && s.place >= 0)) continue;
        s.most = value;
        s.place = place;
    } while (ref_next(&taps, tap));
    return s;
}

static void pool(const struct ref *r)
{
    const struct tp_shape *y = r->out, *x = ref_shape(r, 0);
    const bool average = strcmp(r->c->op->name, "AveragePool") == 0;
    struct side sides[3];
    int64_t index[8] = {0}, plane = 1;
    size_t i = 0;
    for (int d = 0; d < x->rank - 2; d++) {
        sides[d] = side_of(r, d, ref_list(r, "kernel_shape", (size_t)d, 1), y->dims[d + 2]);
        plane *= x->dims[d + 2];
    }
    for (size_t n = tp_shape_count_known(y); n > 0; n--, ref_next(y, index)) {
        const struct seen s = look(r, sides, index);
        int64_t place = s.place;
        if (ref_int(r, "storage_order", 0) && place >= 0) /* of two dimensions */
            place = place / x->dims[3] + place % x->dims[3] * x->dims[2];
        const int64_t count = ref_int(r, "count_include_pad", 0) ? s.padded : s.inside;
        const double value = average ? s.sum / (double)count : s.most;
        r->y[i++] = r->which == 0
                        ? value
                        : (double)((index[0] * x->dims[1] + index[1]) * plane + place);
    }
}

/* --- rows --------------------------------------------------------------------------- */
static void softmax(const struct ref *r)
{
    const struct tp_shape *x = ref_shape(r, 0);
    const bool flat = ref_int(r, "flatten", 0) != 0;
    const char *op = r->c->op->name;
    int64_t axis = ref_int(r, "axis", -1), index[8] = {0};
    if (axis < 0) axis += x->rank;
    size_t i = 0;
    for (size_t n = tp_shape_count_known(x); n > 0; n--, ref_next(x, index), i++) {
        struct tp_shape row = {.rank = flat ? x->rank - (int)axis : 1};
        memcpy(row.dims, x->dims + axis, (size_t)row.rank * sizeof(int64_t));
        int64_t other[8], at[8] = {0};
        double most = -INFINITY, sum = 0;
        bool before = false, own = true; /* an equal or greater one stands before this one */
        const double value = ref_at(r, 0, index, x->rank);
        memcpy(other, index, sizeof(other));
        do {
            memcpy(other + axis, at, (size_t)row.rank * sizeof(int64_t));
            most = fmax(most, ref_at(r, 0, other, x->rank));
        } while (ref_next(&row, at));
        do {
            memcpy(other + axis, at, (size_t)row.rank * sizeof(int64_t));
            const double v = ref_at(r, 0, other, x->rank);
            sum += exp(v - most);
            if (memcmp(other, index, sizeof(other)) == 0) own = false;
            if (own && v == value) before = true;
        } while (ref_next(&row, at));
        if (op[0] == 'H')
            r->y[i] = value == most && !before;
        else
            r->y[i] = op[0] == 'L' ? value - most - log(sum) : exp(value - most) / sum;
        if (isnan(value)) r->y[i] = NAN;
    }
}

const struct ref_row ref_nn[] = {
    {"AveragePool", pool}, {"Conv", conv},          {"ConvTranspose", conv_transpose},
    {"Gemm", gemm},        {"LogSoftmax", softmax}, {"MatMul", matmul},
    {"MaxPool", pool},     {"Softmax", softmax},    {NULL, NULL},
};
