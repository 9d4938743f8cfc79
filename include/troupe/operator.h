/* SPDX-License-Identifier: MIT
 *
 * troupe/operator.h - operators of the user's own: a row with C callbacks.
 *
 * A set of operators is filled row by row, then given to a library (troupe_library_operators),
 * so that its functions may use them - built, read from text, or read from an ONNX model, where
 * `domain` is the node's domain - and to the runtimes that shall run them
 * (troupe_options.operators). From then on it does not change. A graph node of such an operator
 * is like any other: it is placed, cut, profiled, ordered by its effects and cancelled between
 * steps. Only CPU devices have it.
 *
 * Threads: `shape` and `cost` run on whatever thread builds or plans a function; `prepare`,
 * `run` and `release` on the runtime's threads and on those that wait for a call. All may run
 * on several threads at once, for the same graph node too, and must not block: what waits in
 * one keeps a device's thread from its work. In them troupe_run, troupe_call,
 * troupe_dispatch, troupe_wait and troupe_close (also the callers') give TROUPE_INVALID.
 * `free_user` runs on any thread, once.
 *
 * Failure: a callback that fails returns a negative status and says why in *err, best by
 * troupe_fail. Who called is told that text behind the graph node, the function that it was
 * written in, the device and the operator. A positive status, or a negative one that is none of
 * troupe's, is itself a failure (TROUPE_INVALID), and so is a result of another type than was
 * said.
 */
#ifndef TROUPE_OPERATOR_H
#define TROUPE_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/function.h"
#include "troupe/status.h"
#include "troupe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- What an operator takes and gives ------------------------------------------------------ */

/* A set of element types: TROUPE_SET(TROUPE_F32) | TROUPE_SET(TROUPE_F64). */
#define TROUPE_SET(dtype) (UINT64_C(1) << (dtype))
/* All whose elements have a fixed size: every type but strings. */
#define TROUPE_SET_OF_FIXED(name, value, text, size) | ((size) ? UINT64_C(1) << (value) : 0)
#define TROUPE_SET_FIXED                             (UINT64_C(0) TROUPE_DTYPE_MAP(TROUPE_SET_OF_FIXED))

#define TROUPE_PORT_OPTIONAL 1u /* may be absent, in the middle too */
#define TROUPE_PORT_VARIADIC 2u /* the last port: one or more values */

/* One input or one result. A list of ports ends with a NULL name. */
typedef struct troupe_port {
    const char *name;
    uint64_t types; /* a set of element types; 0 for a result: `shape` says */
    unsigned same;  /* ports with the same number, 1 to 15, have the same element type */
    unsigned flags; /* TROUPE_PORT_... */
} troupe_port;

/* One attribute. A list ends with a NULL name. */
typedef struct troupe_attr_spec {
    const char *name;
    troupe_attr_kind kind; /* not TROUPE_ATTR_FUNCTION */
    bool required;
    /* Of an attribute that is not required: what a graph node has that does not give it (the
     * name in it is not looked at). NULL: then it is absent. */
    const troupe_attr *fallback;
} troupe_attr_spec;

/* The type of a value of a graph node. */
typedef struct troupe_type {
    troupe_dtype dtype; /* TROUPE_DTYPE_NONE: not known */
    int rank;           /* -1: not known */
    /* The first `rank` count. Below 0: not known; -1 is any number, and every other number
     * below 0 is the same unknown number wherever it stands (a named dimension, "n"). */
    int64_t dims[TROUPE_MAX_RANK];
} troupe_type;

/* A graph node, as the callbacks see it. All in it is borrowed for the length of the callback.
 */
typedef struct troupe_operator_node {
    size_t size;                /* of this struct in the library that is running */
    const char *name;           /* the graph node's */
    const char *device;         /* run: "/job:local/task:0/device:cpu:0"; else NULL */
    void *user;                 /* the row's */
    void *state;                /* run: what prepare made; else NULL */
    size_t n_inputs, n_results; /* at least the ports of the row: what is not there is absent */
    const troupe_type *const *inputs; /* per input its type; NULL: absent */
    /* Per input its elements, in row-major order without gaps; NULL where it is absent, where
     * the value is not known (outside run: only constants are, and what shape needs just before
     * a run), and for strings (troupe_operator_string). */
    const void *const *values;
    /* prepare, cost, run: per result its type; NULL: absent. In shape NULL. */
    const troupe_type *const *results;
    /* Per attribute of the row, in its order: the graph node's, or the fallback, or NULL. */
    const troupe_attr *const *attrs;
} troupe_operator_node;

/* -- Callbacks ----------------------------------------------------------------------------- */

/* The types of the results from those of the inputs. results[0..node->n_results) have the
 * element type that the ports fix, else TROUPE_DTYPE_NONE, and rank -1. Called when a function
 * is built (dimensions and values may be unknown: leave unknown what follows from them), when
 * it is made ready for the shapes of a call, and, where shapes depend on values, just before
 * the run, when all values are there. What is unknown even then `run` has to make. It must
 * give the same for the same node. */
typedef troupe_status troupe_operator_shape_fn(const troupe_operator_node *node,
                                               troupe_type *results, troupe_error *err);

/* Make what all runs of the graph node, with these types, have in common: *state, which runs on
 * several threads read at once. On failure nothing is left in it. */
typedef troupe_status troupe_operator_prepare_fn(const troupe_operator_node *node, void **state,
                                                 troupe_error *err);
typedef void troupe_operator_release_fn(void *user, void *state);

/* Operations and bytes that a run takes, for placing and for sharing work. */
typedef void troupe_operator_cost_fn(const troupe_operator_node *node, double *operations,
                                     double *bytes);

/* Compute. out[0..node->n_results) is memory of the device's pool, aligned to 64 bytes, of the
 * size of each result's type: all of it is to be written, nothing is set before. NULL: the
 * result is absent, or its shape was not known (troupe_operator_make), or the row has `gives`.
 * Memory in `values` and `out` does not overlap but where the row allows it by `reuse`. */
typedef troupe_status troupe_operator_run_fn(const troupe_operator_node *node, void *const *out,
                                             troupe_error *err);

/* An operator. Zero what you do not need, set size to sizeof(troupe_operator_row). The structs
 * that it points to grow only when it does. All but `user` is copied. */
typedef struct troupe_operator_row {
    size_t size;
    const char *domain; /* "com.example"; the operator is "com.example.Name" then. NULL: none */
    const char *name;   /* without a domain it must not be that of an operator of troupe's */
    const char *summary; /* a sentence for lists; may be NULL */
    /* Part of the content hash of functions that use the operator: change it with the meaning.
     * NULL: "". */
    const char *version;
    const troupe_port *inputs, *results; /* at most 64 each; NULL: none */
    const troupe_attr_spec *attrs;       /* at most 64; NULL: none */
    /* It has an effect, or reads what others change: never left out, never joined with another,
     * and run in the order of the program among all that have effects. */
    bool effects;
    /* `run` gives every result as a tensor, by troupe_operator_give. Results of strings need
     * it. */
    bool gives;
    /* For tests of the operator: each run writes to memory with guards around it, which is then
     * copied. A run that writes outside of a result, changes an input, or leaves a result
     * unwritten fails with TROUPE_INVALID. */
    bool checked;
    unsigned reuse; /* bit i, of 0 to 7: result 0 may be written over input i, of its type */
    troupe_operator_shape_fn *shape;     /* NULL: all results have the shape of input 0 */
    troupe_operator_prepare_fn *prepare; /* NULL: there is no state */
    troupe_operator_release_fn *release; /* NULL: the state needs no release */
    troupe_operator_cost_fn *cost;       /* NULL: by counts of elements */
    troupe_operator_run_fn *run;
    void *user;
    void (*free_user)(void *user); /* when nothing uses the operator any more; may be NULL */
} troupe_operator_row;

/* -- In callbacks -------------------------------------------------------------------------- */

/* Fill *err (which may be NULL) with the status and a text as by printf; returns the status. */
TROUPE_EXPORT troupe_status troupe_fail(troupe_error *err, troupe_status status,
                                        const char *fmt, ...) TROUPE_PRINTF(3, 4);
/* In run: memory for a result whose shape `shape` left unknown, once for each such result.
 * dims[0..rank) must agree with what it said. INVALID; EXHAUSTED: the device's memory. */
TROUPE_EXPORT troupe_status troupe_operator_make(const troupe_operator_node *node,
                                                 size_t result, int rank, const int64_t *dims,
                                                 void **out,
                                                 troupe_error *err) TROUPE_MUST_CHECK;
/* In run of a row with `gives`: the result is that tensor, which is taken over, also on
 * failure; *tensor is NULL afterwards. Its type must agree with what `shape` said. */
TROUPE_EXPORT troupe_status troupe_operator_give(const troupe_operator_node *node,
                                                 size_t result, troupe_tensor **tensor,
                                                 troupe_error *err) TROUPE_MUST_CHECK;
/* Element i of an input of strings whose value is known: *size bytes (size may be NULL) and a
 * zero byte behind them. NULL when there is none. */
TROUPE_EXPORT const char *troupe_operator_string(const troupe_operator_node *node, size_t input,
                                                 size_t i, size_t *size);

/* -- Sets ---------------------------------------------------------------------------------- */

typedef struct troupe_operators troupe_operators;

/* A set belongs to one thread until it is given to a library or a runtime; then it does not
 * change any more and any thread may share it. It is counted. */
TROUPE_EXPORT troupe_status troupe_operators_new(troupe_operators **out,
                                                 troupe_error *err) TROUPE_MUST_CHECK;
TROUPE_EXPORT troupe_operators *troupe_operators_retain(const troupe_operators *operators);
TROUPE_EXPORT void troupe_operators_release(troupe_operators **operators);
/* Add an operator. `user` is the set's from then on: freed by free_user after the set, and all
 * functions and runtimes that use the operator, are gone; on failure it stays the caller's.
 * INVALID: a malformed row, a name that is taken, or the set was given away. */
TROUPE_EXPORT troupe_status troupe_operators_add(troupe_operators *operators,
                                                 const troupe_operator_row *row,
                                                 troupe_error *err) TROUPE_MUST_CHECK;
/* Name (with the domain) and summary (may be NULL) of operator i in the order of adding; NULL
 * from their number on. Valid as long as the set. */
TROUPE_EXPORT const char *troupe_operators_name(const troupe_operators *operators, size_t i,
                                                const char **summary);
/* What is built and read with this library from now on may use them. A library has one set:
 * INVALID when it has another, or a function with the name of one of them. */
TROUPE_EXPORT troupe_status troupe_library_operators(troupe_library *library,
                                                     const troupe_operators *operators,
                                                     troupe_error *err) TROUPE_MUST_CHECK;

/* What a file of operators for the tool (`troupe run --plugin FILE`) defines and exports by the
 * name troupe_plugin: it adds them to the set. */
typedef troupe_status troupe_plugin_fn(troupe_operators *operators, troupe_error *err);
extern troupe_plugin_fn troupe_plugin;

#ifdef __cplusplus
}
#endif

#endif
