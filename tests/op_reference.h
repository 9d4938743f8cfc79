/* SPDX-License-Identifier: MIT
 *
 * tests/op_reference.h - slow and direct versions of the structured ops, in double precision.
 */
#ifndef TP_TESTS_OP_REFERENCE_H
#define TP_TESTS_OP_REFERENCE_H

#include "tests/op_case.h"

bool op_reference_has(const char *op);
/* Result `i` of a case that was run, as f64; the caller's to release. */
troupe_tensor *op_reference_run(const struct op_case *c, size_t i);

/* For the references: places in a tensor by index, and results under way. */
struct ref {
    const struct op_case *c;
    size_t which; /* the result that is asked for */
    const struct tp_shape *out;
    double *y; /* as many as out has */
};
/* The element of input i at index[0..rank); of a shape that broadcasts where `broadcast` is
 * set. */
double ref_at(const struct ref *r, size_t i, const int64_t *index, int rank);
bool ref_has(const struct ref *r, size_t i);
const struct tp_shape *ref_shape(const struct ref *r, size_t i);
int64_t ref_int(const struct ref *r, const char *name, int64_t otherwise);
double ref_float(const struct ref *r, const char *name, double otherwise);
/* Number i of a list attribute, or `otherwise`. */
int64_t ref_list(const struct ref *r, const char *name, size_t i, int64_t otherwise);
/* On to the next index within a shape; false at the end. Start with zeros. */
bool ref_next(const struct tp_shape *shape, int64_t *index);

typedef void ref_fn(const struct ref *r);
struct ref_row {
    const char *op;
    ref_fn *run;
};
extern const struct ref_row ref_nn[], ref_rows[],
    ref_shapes[]; /* each ends with an op of NULL */

#endif
