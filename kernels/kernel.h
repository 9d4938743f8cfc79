/* SPDX-License-Identifier: MIT
 *
 * kernels/kernel.h - what the ops of this folder share: samples, states, unknown dimensions.
 *
 * It is included before anything that holds a loop: it has the compiler turn loops into vector
 * code. Loops keep to the processor's baseline and never reorder a sum.
 */
#ifndef TP_KERNELS_KERNEL_H
#define TP_KERNELS_KERNEL_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
/* Before a loop whose result lies exactly on an operand or apart from it. */
#define TP_APART _Pragma("GCC ivdep")
#else
#define TP_APART
#endif

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "tensor/tensor.h"

/* Rows of a list of samples, which ends with {0}. */
#define TP_WORKS(in, with, out)                                                                \
    {                                                                                          \
        .inputs = (in), .attrs = (with), .result = (out)                                       \
    }
#define TP_FAILS(in, with, word)                                                               \
    {                                                                                          \
        .inputs = (in), .attrs = (with), .fails = (word)                                       \
    }

/* Ports without a name end a list. */
#define TP_LAST                                                                                \
    {                                                                                          \
        .name = NULL                                                                           \
    }

static inline size_t tp_view_count(const struct tp_view *view)
{
    return tp_shape_count_known(&view->type->shape);
}

/* Elements of dims[from..to). */
static inline size_t tp_span(const struct tp_shape *shape, int from, int to)
{
    size_t n = 1;
    for (int i = from; i < to; i++)
        n *= (size_t)shape->dims[i];
    return n;
}

/* A zeroed state of `size` bytes that tp_free frees; NULL, and *err says so, without memory. */
static inline void *tp_kernel_state(struct tp_prepare *prepare, size_t size, troupe_error *err)
{
    prepare->state = tp_alloc(size);
    if (!prepare->state) {
        (void)tp_fail_memory(err, size);
        return NULL;
    }
    prepare->drop = tp_free;
    return prepare->state;
}

/* What is known of input i before the launch, or NULL. */
static inline const void *tp_known(const struct tp_infer *node, size_t i)
{
    return i < node->n_inputs && node->inputs[i] && node->known ? node->known[i].data : NULL;
}

/* A part of a workspace, which may be NULL when nothing of it is used. */
static inline void *tp_part(void *workspace, size_t at)
{
    return workspace ? (char *)workspace + at : NULL;
}

/* The attributes of a node before and while it runs. */
#define tp_int(node, name, otherwise)                                                          \
    tp_attr_int((node)->attrs, (node)->n_attrs, (name), (otherwise))
#define tp_float(node, name, otherwise)                                                        \
    tp_attr_float((node)->attrs, (node)->n_attrs, (name), (otherwise))

/* An infer: result 0 has the shape of input 0. */
troupe_status tp_infer_same(struct tp_infer *infer, troupe_error *err);
/* An infer: result 0 has the shape to which all inputs broadcast. */
troupe_status tp_infer_broadcast(struct tp_infer *infer, troupe_error *err);
/* The rank of input i, if it is known, lies in least..most. INVALID names the input. */
troupe_status tp_infer_rank(const struct tp_infer *infer, size_t i, int least, int most,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* The product of dims[from..to): a number, or the one dimension that is not 1, or TP_DIM_ANY.
 */
int64_t tp_infer_product(const struct tp_shape *shape, int from, int to);
/* A kernel: copy input 0 to result 0, as the views do when they cannot share. */
troupe_status tp_kernel_copy(const struct tp_launch *launch, troupe_error *err);

#endif
