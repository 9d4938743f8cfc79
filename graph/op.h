/* SPDX-License-Identifier: MIT
 *
 * graph/op.h - what an op is: one constant row that says all of it.
 *
 * The rows stand in kernels/, one file a family, listed in kernels/ops.def. Nobody else names an
 * op: the graph checks and infers by the row, exec/ runs by the row, tests/conformance.c tests by the
 * row's samples. Adding an op is its row and one line in ops.def.
 *
 * There is one version of each op, ONNX's newest that we know; import/onnx rewrites older ones.
 */
#ifndef TP_GRAPH_OP_H
#define TP_GRAPH_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/attr.h"
#include "tensor/shape.h"
#include "troupe/function.h"
#include "troupe/status.h"

#define TP_NO_VALUE TROUPE_NO_VALUE

/* A set of element types: bit (1 << troupe_dtype). */
#define TP_TYPE(name) (1u << TROUPE_##name)
#define TP_FLOATS     (TP_TYPE(F32) | TP_TYPE(F64) | TP_TYPE(F16) | TP_TYPE(BF16))
#define TP_SIGNED     (TP_TYPE(I8) | TP_TYPE(I16) | TP_TYPE(I32) | TP_TYPE(I64))
#define TP_UNSIGNED   (TP_TYPE(U8) | TP_TYPE(U16) | TP_TYPE(U32) | TP_TYPE(U64))
#define TP_INTS       (TP_SIGNED | TP_UNSIGNED)
#define TP_NUMBERS    (TP_FLOATS | TP_INTS) /* what most ops compute with */
#define TP_COMPLEX    (TP_TYPE(C64) | TP_TYPE(C128))
#define TP_FLOATS8                                                                             \
    (TP_TYPE(F8E4M3FN) | TP_TYPE(F8E4M3FNUZ) | TP_TYPE(F8E5M2) | TP_TYPE(F8E5M2FNUZ) |         \
     TP_TYPE(F8E8M0))
#define TP_SHORT  (TP_TYPE(U4) | TP_TYPE(I4) | TP_TYPE(U2) | TP_TYPE(I2) | TP_TYPE(F4E2M1))
#define TP_STORED (TP_COMPLEX | TP_FLOATS8 | TP_SHORT)     /* what most ops only move */
#define TP_FIXED  (TP_NUMBERS | TP_STORED | TP_TYPE(BOOL)) /* of elements of a fixed size */
#define TP_ANY    (TP_FIXED | TP_TYPE(STRING))

enum tp_port_flags {
    TP_OPTIONAL = 1, /* may be absent, in the middle too */
    TP_VARIADIC = 2, /* the last port: one or more values */
    TP_HOST = 4,     /* stays in host memory on every kind of device (shapes, axes, strings) */
    TP_SHAPE = 8,    /* only its type is read, never its elements: they may not be there */
};

/* One input or one result. A list of ports ends with a NULL name. */
struct tp_port {
    const char *name;
    uint32_t types; /* the element types that it may have; 0 for a result: infer says */
    uint8_t same;   /* ports with the same number above 0 have the same element type */
    uint8_t flags;
};

/* One attribute an op knows. A list ends with a NULL name. */
struct tp_attr_spec {
    const char *name;
    troupe_attr_kind kind;
    bool required;
};

/* A value as a kernel sees it: its elements and its type (all dimensions known). `data` is NULL for
 * a value that is not known where only some are (tp_infer.known). */
struct tp_view {
    void *data;
    const struct tp_type *type;
};

/* A graph node as its row's functions see it, before it runs. */
struct tp_infer {
    const char *node; /* its name, for messages that need it (callers prefix it themselves) */
    const struct tp_op *op;
    const troupe_attr *attrs;
    size_t n_attrs;
    size_t n_inputs, n_results;
    const struct tp_type *const *inputs; /* n_inputs; NULL where an optional input is absent */
    const struct tp_view *known;         /* n_inputs; .data NULL where the value is not known */
    /* n_results, filled by infer. The driver has set dtypes from the ports and rank to
     * TP_RANK_ANY before. */
    struct tp_type *results;
};

struct tp_launch;
/* Run once: read inputs, write results, whose memory is there. Never blocks, never allocates
 * without freeing, and touches nothing that another launch touches. */
typedef troupe_status tp_kernel(const struct tp_launch *launch, troupe_error *err);

/* Splits work over a device's own threads: runs part(arg, i) for i in 0..n, in any order, and
 * returns when all are done. NULL in a launch: one thread. */
struct tp_team;
struct tp_team {
    int threads;
    void (*run)(struct tp_team *team, size_t n, void (*part)(void *arg, size_t i), void *arg);
};

/* Bytes at least behind the struct tp_string of a result of strings that is not a view: a kernel
 * puts the texts there, each with a zero byte. The elements stand at the start of the result's
 * buffer, so that `at` counts from them. A kernel that needs more asks for it. Results of strings
 * never lie on inputs, whatever `reuse` says. */
#define TP_STRING_ROOM 4096

/* How a launch gives a result, which is not absent, memory or elements that were not there before the
 * launch. */
struct tp_room {
    /* A result of strings gets `size` bytes for its texts in all. What its elements hold stays, but
     * they may move: their view says where. */
    troupe_status (*make)(struct tp_room *room, const struct tp_launch *launch, size_t result,
                          size_t size, troupe_error *err);
    /* A result whose data are NULL, since the op makes it, gets memory of the device's pool for that
     * type; its view says where. */
    troupe_status (*open)(struct tp_room *room, const struct tp_launch *launch, size_t result,
                          const struct tp_type *type, troupe_error *err);
    /* Such a result is that tensor, which is taken over, also on failure. */
    troupe_status (*give)(struct tp_room *room, const struct tp_launch *launch, size_t result,
                          troupe_tensor **tensor, troupe_error *err);
};

/* What a kernel sees. Indexes are into `values`; TP_NO_VALUE marks an absent one. */
struct tp_launch {
    const struct tp_view *values;
    const uint32_t *inputs, *results;
    uint32_t n_inputs, n_results;
    const void *state;    /* what prepare made, else NULL */
    void *workspace;      /* as many bytes as prepare asked for, aligned to 64, else NULL */
    struct tp_room *room; /* NULL: no result is of strings or to be made */
    struct tp_team *team;
    const troupe_attr *attrs; /* the graph node's */
    size_t n_attrs;
    const char *node;   /* the graph node's name */
    const char *device; /* the name of the device that runs it */
};

static inline const struct tp_view *tp_in(const struct tp_launch *launch, size_t i)
{
    return i < launch->n_inputs && launch->inputs[i] != TP_NO_VALUE
               ? &launch->values[launch->inputs[i]]
               : NULL;
}

static inline const struct tp_view *tp_out(const struct tp_launch *launch, size_t i)
{
    return i < launch->n_results && launch->results[i] != TP_NO_VALUE
               ? &launch->values[launch->results[i]]
               : NULL;
}

/* Choose a kernel for given shapes, once for each instance of a plan; may take long (packs
 * constants, generates code). Chooses from its own graph node, shapes, processor and `threads`
 * alone, never from its neighbours, so that a function that is cut gives the same bits. On failure
 * nothing is left in `state`. */
struct tp_prepare {
    struct tp_infer
        node;    /* types all known; .known has the constants among the inputs; its lists
                           * are there until prepare returns */
    int threads; /* of the device */
    /* To fill: */
    tp_kernel *run;            /* preset to the row's cpu */
    void *state;               /* for launch->state */
    void (*drop)(void *state); /* frees it */
    size_t workspace;          /* bytes a launch needs */
    uint32_t uses;             /* preset to all ones: bit i clear when constant input i is in
                                   * `state` and its memory is not read by run */
};

/* What one run costs, for cutting and placing. */
struct tp_cost {
    double flops; /* floating-point or comparable operations */
    double bytes; /* read and written */
};

/* One test case: inputs as types ("f32[2,3] i64[2]=[1,2] -": "-" is absent; "=" fixes the values,
 * otherwise they are random in [-2,2] or 0..9, seeded), attributes as text ("axis=1 pads=[0,0]"),
 * and for a case that must fail the word its message must have. A list ends with inputs NULL. */
struct tp_sample {
    const char *inputs;
    const char *attrs;  /* NULL: none */
    const char *fails;  /* NULL: it works */
    const char *result; /* NULL, or the expected first result as text: "f32[2] [1, 2]" */
    int n_results;      /* 0: as many as the ports that are not optional */
};

struct tp_op {
    const char *name;
    const char *summary; /* a sentence for doc/ops.md: what it computes and by which standard */
    const struct tp_port *inputs, *results;
    const struct tp_attr_spec *attrs; /* NULL: none */
    /* Types and shapes of the results from those of the inputs. Runs when the function is built
     * (dimensions may be unknown), when an instance is made (known, unless they depend on values),
     * and, when they did, just before the launch (known and all values there). Where a result's shape
     * cannot be told yet its rank or dimensions stay unknown. */
    troupe_status (*infer)(struct tp_infer *infer, troupe_error *err);
    /* Also checks of attributes and shapes that infer cannot make belong into infer or prepare,
     * never into run: a launch fails only for what values cause. NULL: cpu is the kernel. */
    troupe_status (*prepare)(struct tp_prepare *prepare, troupe_error *err);
    tp_kernel *cpu; /* NULL when prepare sets run */
    /* NULL: by element counts. */
    void (*cost)(const struct tp_infer *node, struct tp_cost *out);
    /* Bit i: result 0 may be written over input i when that has its type (not strings). */
    uint8_t reuse;
    bool view;     /* result 0 has the elements of input 0, unchanged: no copy is needed */
    bool stateful; /* it has an effect: never folded, shared or pruned; runs in program order */
    /* A result whose shape is unknown with all values known is made by the kernel (launch->room),
     * and its data are NULL until then. */
    bool makes;
    bool gives;               /* the kernel gives all results as tensors (launch->room) */
    struct tp_operator *user; /* it is the user's (graph/operator.h); NULL: it is troupe's */
    const struct tp_sample *samples;
};

/* The op of that name, or NULL. Defined in kernels/ops.c. */
const struct tp_op *tp_op_find(const char *name);
/* Op i in the order of ops.def, or NULL from the count on. */
const struct tp_op *tp_op_at(size_t i);

/* For infer functions: the values of integer input i (i32 or i64, rank 0 or 1). TROUPE_PENDING when
 * they are not known. *out points to at most TROUPE_MAX_RANK * 2 numbers. Defined in infer.c. */
troupe_status tp_infer_ints(const struct tp_infer *infer, size_t i, int64_t out[16], size_t *n,
                            troupe_error *err);
/* Shape of input i, or NULL when it is absent. */
static inline const struct tp_shape *tp_infer_shape(const struct tp_infer *infer, size_t i)
{
    return i < infer->n_inputs && infer->inputs[i] ? &infer->inputs[i]->shape : NULL;
}
/* Turn an axis in -rank..rank-1 into 0..rank-1. INVALID names it. */
troupe_status tp_infer_axis(int64_t axis, int rank, int *out, troupe_error *err);

#endif
