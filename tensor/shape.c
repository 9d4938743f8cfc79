/* SPDX-License-Identifier: MIT
 *
 * tensor/shape.c - dimensions: counting, broadcasting, comparing, their text form.
 */
#include "tensor/shape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

troupe_status tp_shape_make(struct tp_shape *out, int rank, const int64_t *dims,
                            troupe_error *err)
{
    size_t count;
    if (rank < 0 || rank > TROUPE_MAX_RANK) {
        return tp_fail(err, TROUPE_INVALID, "rank %d is not in 0 to %d", rank, TROUPE_MAX_RANK);
    }
    if (rank > 0 && !dims) return tp_fail(err, TROUPE_INVALID, "rank %d without dims", rank);
    struct tp_shape shape = {.rank = rank};
    if (rank > 0) memcpy(shape.dims, dims, (size_t)rank * sizeof(dims[0]));
    TP_TRY(tp_shape_count(&shape, &count, err));
    *out = shape;
    return TROUPE_OK;
}

bool tp_shape_known(const struct tp_shape *shape)
{
    if (shape->rank < 0) return false;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) return false;
    }
    return true;
}

bool tp_shape_equal(const struct tp_shape *a, const struct tp_shape *b)
{
    if (a->rank != b->rank) return false;
    if (a->rank <= 0) return true;
    return memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0])) == 0;
}

troupe_status tp_shape_count(const struct tp_shape *shape, size_t *out, troupe_error *err)
{
    int64_t product = 1;
    bool empty = false;
    if (shape->rank < 0) return tp_fail(err, TROUPE_INVALID, "the rank is not known");
    for (int i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dims[i];
        if (dim < 0) {
            return tp_fail(err, TROUPE_INVALID, "dimension %d is %" PRId64, i, dim);
        }
        empty |= dim == 0;
        if (dim && __builtin_mul_overflow(product, dim, &product)) {
            return tp_fail(err, TROUPE_INVALID, "shape %s has too many elements",
                           tp_shape_text(shape).text);
        }
    }
    if ((uint64_t)product > PTRDIFF_MAX) {
        return tp_fail(err, TROUPE_INVALID, "shape %s has too many elements",
                       tp_shape_text(shape).text);
    }
    *out = empty ? 0 : (size_t)product;
    return TROUPE_OK;
}

size_t tp_shape_count_known(const struct tp_shape *shape)
{
    size_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

/* Dimension i of a shape that is aligned at its end with one of `rank` dimensions. */
static int64_t dim_from_end(const struct tp_shape *shape, int rank, int i)
{
    const int at = i - (rank - shape->rank);
    return at < 0 ? 1 : shape->dims[at];
}

/* False when two known dimensions contradict. */
static bool broadcast_dim(int64_t a, int64_t b, int64_t *out)
{
    if (a == b || b == 1) {
        *out = a;
    } else if (a == 1) {
        *out = b;
    } else if (a >= 0 && b >= 0) {
        return false;
    } else if (a >= 0 || b >= 0) {
        *out = a >= 0 ? a : b; /* the other one is this or 1 */
    } else {
        *out = TP_DIM_ANY;
    }
    return true;
}

troupe_status tp_shape_broadcast(const struct tp_shape *a, const struct tp_shape *b,
                                 struct tp_shape *out, troupe_error *err)
{
    struct tp_shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};
    if (a->rank < 0 || b->rank < 0) shape.rank = TP_RANK_ANY;
    for (int i = 0; i < shape.rank; i++) {
        const int64_t x = dim_from_end(a, shape.rank, i), y = dim_from_end(b, shape.rank, i);
        if (!broadcast_dim(x, y, &shape.dims[i])) {
            return tp_fail(err, TROUPE_INVALID, "shapes %s and %s do not broadcast",
                           tp_shape_text(a).text, tp_shape_text(b).text);
        }
    }
    *out = shape;
    return TROUPE_OK;
}

static bool meet_dim(int64_t a, int64_t b, int64_t *out)
{
    if (a >= 0 && b >= 0 && a != b) return false;
    if (a == TP_DIM_ANY || (a < 0 && b >= 0)) {
        *out = b;
    } else {
        *out = a;
    }
    return true;
}

troupe_status tp_shape_meet(const struct tp_shape *a, const struct tp_shape *b,
                            struct tp_shape *out, troupe_error *err)
{
    struct tp_shape shape = a->rank == TP_RANK_ANY ? *b : *a;
    bool agree = a->rank == b->rank || a->rank == TP_RANK_ANY || b->rank == TP_RANK_ANY;
    for (int i = 0; agree && a->rank == b->rank && i < a->rank; i++) {
        agree = meet_dim(a->dims[i], b->dims[i], &shape.dims[i]);
    }
    if (!agree) {
        return tp_fail(err, TROUPE_INVALID, "shapes %s and %s contradict",
                       tp_shape_text(a).text, tp_shape_text(b).text);
    }
    *out = shape;
    return TROUPE_OK;
}

/* Text that is counted to its end and kept as far as it fits. */
struct cut_text {
    char *text;
    size_t size, need;
};

TROUPE_PRINTF(2, 3)
static void put(struct cut_text *out, const char *fmt, ...)
{
    const size_t at = out->need < out->size ? out->need : out->size;
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(at < out->size ? out->text + at : NULL, out->size - at, fmt, args);
    va_end(args);
    if (n > 0) out->need += (size_t)n;
}

static void put_dim(struct cut_text *out, int64_t dim, const char *const *names)
{
    if (dim >= 0) {
        put(out, "%" PRId64, dim);
    } else if (dim == TP_DIM_ANY) {
        put(out, "?");
    } else if (names) {
        put(out, "%s", names[TP_DIM_NAME(dim)]);
    } else {
        put(out, "d%zu", TP_DIM_NAME(dim));
    }
}

static void put_shape(struct cut_text *out, const struct tp_shape *shape,
                      const char *const *names)
{
    put(out, "[");
    if (shape->rank == TP_RANK_ANY) put(out, "...");
    for (int i = 0; i < shape->rank; i++) {
        if (i > 0) put(out, ",");
        put_dim(out, shape->dims[i], names);
    }
    put(out, "]");
}

size_t tp_shape_show(const struct tp_shape *shape, const char *const *names, char *text,
                     size_t size)
{
    struct cut_text out = {.text = text, .size = size};
    put_shape(&out, shape, names);
    return out.need;
}

size_t tp_type_show(const struct tp_type *type, const char *const *names, char *text,
                    size_t size)
{
    struct cut_text out = {.text = text, .size = size};
    const char *name = troupe_dtype_name(type->dtype);
    put(&out, "%s", name ? name : "?");
    put_shape(&out, &type->shape, names);
    return out.need;
}

struct tp_shape_text tp_shape_text(const struct tp_shape *shape)
{
    struct tp_shape_text text = {""};
    tp_shape_show(shape, NULL, text.text, sizeof(text.text));
    return text;
}

struct tp_shape_text tp_type_text(const struct tp_type *type)
{
    struct tp_shape_text text = {""};
    tp_type_show(type, NULL, text.text, sizeof(text.text));
    return text;
}
