/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise.h - element-wise ops: loops by element type, and what runs them.
 *
 * A loop sees plain runs of elements. What is broadcast, and how, is settled when a kernel is
 * prepared: one run is one call of a loop.
 */
#ifndef TP_KERNELS_EWISE_H
#define TP_KERNELS_EWISE_H

#include "kernels/kernel.h"
#include "kernels/walk.h"

/* Which inputs of a run of two move on with the result; the other one stands still. */
enum tp_moving { TP_BOTH, TP_LEFT, TP_RIGHT };

/* out may be x or y, or lies apart from them. */
typedef void tp_loop1(void *out, const void *x, size_t n, const double *params);
typedef void tp_loop2(void *out, const void *x, const void *y, size_t n, enum tp_moving moving);

/* Loops by the inputs' element type. */
struct tp_loops1 {
    tp_loop1 *of[TP_DTYPES];
    const char *params[2]; /* names of attributes, or NULL */
    double otherwise[2];   /* when they are absent */
};
struct tp_loops2 {
    tp_loop2 *of[TP_DTYPES];
};

/* The state of a node with two inputs. */
struct tp_pair {
    tp_loop2 *loop;
    size_t n;
    enum tp_moving moving;
    size_t in_size, out_size; /* of an element */
    tp_kernel *then;          /* for a kernel that first checks values: what it goes on with */
    struct tp_walk walk;      /* the last: not there where the whole result is one run */
};

/* For rows: set state and run. */
troupe_status tp_unary_prepare(struct tp_prepare *prepare, const struct tp_loops1 *loops,
                               troupe_error *err);
/* The same with the numbers at hand. */
troupe_status tp_unary_prepare_with(struct tp_prepare *prepare, const struct tp_loops1 *loops,
                                    double a, double b, troupe_error *err);
troupe_status tp_binary_prepare(struct tp_prepare *prepare, const struct tp_loops2 *loops,
                                troupe_error *err);
/* Run a pair on any memory. */
void tp_pair_make(struct tp_pair *pair, tp_loop2 *loop, const struct tp_type *out,
                  const struct tp_type *x, const struct tp_type *y);
void tp_pair_run(const struct tp_pair *pair, void *out, const void *x, const void *y);

/* The float loop on elements of 16 bits; the result has the same type, or is one of bools. */
void tp_half1(tp_loop1 *loop, troupe_dtype dtype, troupe_dtype result, void *out, const void *x,
              size_t n, const double *params);
void tp_half2(tp_loop2 *loop, troupe_dtype dtype, troupe_dtype result, void *out, const void *x,
              const void *y, size_t n, enum tp_moving moving);

/* The generic samples of one input and of two. */
/* clang-format off */
#define TP_SAMPLES1(t)                        \
    TP_WORKS(t "[37]", NULL, NULL),           \
    TP_WORKS(t "[2,0,3]", NULL, NULL),        \
    TP_WORKS(t "[]", NULL, NULL)
#define TP_SAMPLES2(t)                                        \
    TP_WORKS(t "[5,7] " t "[5,7]", NULL, NULL),               \
    TP_WORKS(t "[2,3,5] " t "[]", NULL, NULL),                \
    TP_WORKS(t "[1] " t "[2,3,5]", NULL, NULL),               \
    TP_WORKS(t "[4,6] " t "[6]", NULL, NULL),                 \
    TP_WORKS(t "[2,3,4,5] " t "[3,1,1]", NULL, NULL),         \
    TP_WORKS(t "[3,1,5] " t "[2,1,4,1]", NULL, NULL),         \
    TP_WORKS(t "[0,3] " t "[3]", NULL, NULL),                 \
    TP_FAILS(t "[2,3] " t "[4]", NULL, "[4]")
/* clang-format on */

#endif
