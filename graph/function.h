/* SPDX-License-Identifier: MIT
 *
 * graph/function.h - the inside of a function: values, graph nodes, results; immutable once
 * sealed.
 *
 * Three things: struct tp_function is a body (a definition); a version of a library is an
 * immutable set of bodies by name; a public troupe_function is a body together with the version
 * in which its calls are looked up. So functions may call each other in a circle and nothing
 * owns itself.
 *
 * Graph nodes stand in an order in which each comes after its inputs and after those it must
 * follow: program order where the builder was used. All memory of a body, but tensors, is one
 * arena.
 */
#ifndef TP_GRAPH_FUNCTION_H
#define TP_GRAPH_FUNCTION_H

#include "base/ref.h"
#include "graph/index.h"
#include "graph/name.h"
#include "graph/op.h"

#define TP_NO_NODE UINT32_MAX

struct tp_value {
    const char *name; /* unique in the function */
    struct tp_type type;
    uint32_t node;           /* who makes it; TP_NO_NODE for arguments and constants */
    uint32_t index;          /* which result of node, or which argument */
    troupe_tensor *constant; /* the value of a constant, or an argument's default; else NULL */
    const uint64_t *content; /* two numbers: the hash of `constant`; NULL when there is none */
    const char *file; /* a constant's: the path that it was read from, as written; else NULL */
};

struct tp_node {
    const char *name;           /* unique in the function; after inlining a path "call/node" */
    const struct tp_op *op;     /* NULL for a call */
    const char *callee;         /* the function's name, for a call */
    uint32_t *inputs, *results; /* values; TP_NO_VALUE where absent */
    uint32_t n_inputs, n_results;
    troupe_attr *attrs; /* sorted by name */
    uint32_t n_attrs;
    uint32_t n_after, n_with;
    uint32_t *after;       /* graph nodes that must have run, beside the inputs' (ascending) */
    uint32_t *with;        /* graph nodes to be placed with */
    struct tp_name device; /* the wish, possibly partial or empty */
    uint32_t line;
    const char *function; /* whose it was before inlining; NULL: it is this function's own */
    bool stateful;        /* its op is, or the function that it calls has effects */
};

struct tp_result {
    const char *name;
    uint32_t value;
    struct tp_type type; /* what is promised to callers: as it was declared, else as inferred */
};

struct tp_function {
    struct tp_ref ref;
    const char *name;
    const char *source;      /* for messages, or NULL */
    struct tp_value *values; /* arguments first, in order */
    struct tp_node *nodes;
    struct tp_result *results;
    const char *
        *dims; /* names of named dimensions, as a type is written: quoted where it must be */
    uint32_t *calls; /* the graph nodes that call a function, or name one in an attribute */
    uint32_t n_args, n_values, n_nodes, n_results, n_dims, n_calls;
    bool stateful;    /* some node is */
    uint64_t hash[2]; /* of this body alone (called functions by name) */
    /* Which of the user's operators it has: equal when all of two equal bodies are the same
     * ones, which the hash does not tell. 0: none. The body is an owner of each. */
    uint64_t operators;
    struct tp_arena *arena;
};

struct tp_function *tp_function_retain(const struct tp_function *function);
void tp_function_release(struct tp_function **function);

/* An immutable set of bodies. */
struct tp_version {
    struct tp_ref ref;
    struct tp_function **functions; /* in the order of adding */
    uint32_t n;
    struct tp_index index; /* a name's place in functions */
    struct tp_arena *arena;
};
/* A version of n bodies of different names, each retained. */
troupe_status tp_version_new(struct tp_function *const *functions, uint32_t n,
                             struct tp_version **out, troupe_error *err) TROUPE_MUST_CHECK;
struct tp_version *tp_version_retain(const struct tp_version *version);
void tp_version_release(struct tp_version **version);
/* Borrowed; NULL when there is none. Any thread. */
const struct tp_function *tp_version_find(const struct tp_version *version, const char *name);

struct troupe_function {
    struct tp_ref ref;
    struct tp_function *body;
    struct tp_version *version; /* NULL when it calls nothing */
    uint64_t hash[2];           /* of the body and of all that it reaches */
    uint64_t operators;         /* of them all, likewise */
};

/* A public function over body (moved in), its hash worked out. version may be NULL; the
 * function keeps those of its bodies that it reaches. A call by the body's own name is a call
 * of the body. INVALID when a call, at any depth, names a function that is not there, gives it
 * other counts or types, or was built when it had no effects and it has some now. */
troupe_status tp_function_bind(struct tp_function **body, const struct tp_version *version,
                               troupe_function **out, troupe_error *err) TROUPE_MUST_CHECK;

/* Memory that is freed as one. */
struct tp_arena;
troupe_status tp_arena_new(struct tp_arena **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_arena_destroy(struct tp_arena **arena);
/* Zeroed, aligned to 16; NULL when there is no memory. */
void *tp_arena_take(struct tp_arena *arena, size_t size);
char *tp_arena_text(struct tp_arena *arena, const char *text, size_t size);

#endif
