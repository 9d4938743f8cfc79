/* SPDX-License-Identifier: MIT
 *
 * tensor/shape.h - dimensions: counting, broadcasting, comparing, their text form.
 *
 * The same struct serves tensors (all dimensions known) and the types of a function's values,
 * where a dimension may be unknown (TP_DIM_ANY) or one of the function's named dimensions
 * (TP_DIM_NAMED(k) for name k of its table). A rank of TP_RANK_ANY is an unknown rank.
 */
#ifndef TP_TENSOR_SHAPE_H
#define TP_TENSOR_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/tensor.h"

#define TP_DIM_ANY      ((int64_t)-1)
#define TP_DIM_NAMED(k) ((int64_t)-2 - (int64_t)(k))
#define TP_DIM_NAME(d)  ((size_t)(-2 - (d)))
#define TP_RANK_ANY     (-1)

struct tp_shape {
    int rank;                      /* TP_RANK_ANY, or 0..TROUPE_MAX_RANK */
    int64_t dims[TROUPE_MAX_RANK]; /* the first `rank` count; the others are 0 */
};

/* A type: of a tensor, or of a value in a function. */
struct tp_type {
    troupe_dtype dtype;
    struct tp_shape shape;
};

/* A shape of `rank` dimensions, all known; dims may be NULL for rank 0. INVALID: the rank or a
 * dimension is out of range, or their product overflows. */
troupe_status tp_shape_make(struct tp_shape *out, int rank, const int64_t *dims,
                            troupe_error *err) TROUPE_MUST_CHECK;

/* True when rank and all dimensions are known. */
bool tp_shape_known(const struct tp_shape *shape);
bool tp_shape_equal(const struct tp_shape *a, const struct tp_shape *b);
/* The product of the dimensions; every one must be known. INVALID: negative, or the product of
 * those that are not 0 exceeds INT64_MAX (so the product of any of them does not). */
troupe_status tp_shape_count(const struct tp_shape *shape, size_t *out,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* As above for a shape that was checked before. */
size_t tp_shape_count_known(const struct tp_shape *shape);

/* Multidirectional (numpy) broadcast of a and b. Unknown dimensions give what can be said:
 * named with itself or with 1 is itself; unknown with n other than 1 is n; otherwise unknown.
 * INVALID names both shapes. *out may be a or b. */
troupe_status tp_shape_broadcast(const struct tp_shape *a, const struct tp_shape *b,
                                 struct tp_shape *out, troupe_error *err) TROUPE_MUST_CHECK;

/* The tighter of two descriptions of one value (unknown gives way, named gives way to a
 * number). INVALID when they contradict. */
troupe_status tp_shape_meet(const struct tp_shape *a, const struct tp_shape *b,
                            struct tp_shape *out, troupe_error *err) TROUPE_MUST_CHECK;

/* "[2,n,?]", "[]", "[...]" for an unknown rank. names is the table for named ones; without it
 * name k is shown as "d0", "d1" and so on. Like snprintf: returns the bytes needed. */
size_t tp_shape_show(const struct tp_shape *shape, const char *const *names, char *text,
                     size_t size);
/* "f32[2,n]". */
size_t tp_type_show(const struct tp_type *type, const char *const *names, char *text,
                    size_t size);

/* A text in a value, for messages: tp_shape_text(&shape).text lives to the end of the
 * statement. */
struct tp_shape_text {
    char text[192]; /* all of it, unless names of dimensions are long */
};
struct tp_shape_text tp_shape_text(const struct tp_shape *shape);
struct tp_shape_text tp_type_text(const struct tp_type *type);

#endif
