/* SPDX-License-Identifier: MIT
 *
 * graph/body.h - a function while it grows: what the builder, the inliner and pruning share.
 *
 * A body takes values and graph nodes in order and copies them; it trusts what it is given.
 * Sealing puts the effects in order, works out the hash and gives the finished function.
 */
#ifndef TP_GRAPH_BODY_H
#define TP_GRAPH_BODY_H

#include "graph/arena.h"
#include "graph/function.h"

struct tp_pace;

struct tp_body {
    struct tp_function *function; /* its arrays are memory of their own until it is sealed */
    struct tp_pace *pace; /* of sealing, a graph node or a value at a time; NULL: none */
    size_t values_room, nodes_room, results_room, dims_room, calls_room;
    struct tp_arena *scratch; /* freed when the body is sealed */
    struct tp_index dims;     /* names of dimensions */
    void **told; /* per value: its elements, where tp_body_tell found them; may be short */
    size_t told_n, told_room;
    /* What inference works on, kept from node to node. */
    struct tp_types {
        const struct tp_type **inputs;
        struct tp_view *known;
        struct tp_type *results;
        int64_t *dims;
        size_t inputs_room, results_room, dims_room;
    } types;
};

/* Zeroed is a body that tp_body_fini takes. */
troupe_status tp_body_init(struct tp_body *body, const char *name,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_body_fini(struct tp_body *body);

/* Room for that many more, so that adding them needs no more than the arena. EXHAUSTED: more
 * than a number can name. */
troupe_status tp_body_room(struct tp_body *body, size_t values, size_t nodes,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* Append a value: its texts are copied, its constant is retained and hashed unless `content`
 * says its hash. *out gets its number. */
troupe_status tp_body_value(struct tp_body *body, const struct tp_value *value, uint32_t *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* Append a graph node; lists, attributes and texts are copied. `after` is sorted, without
 * doubles. The values that it makes get their `node` and `index` here. */
troupe_status tp_body_node(struct tp_body *body, const struct tp_node *node,
                           troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_body_result(struct tp_body *body, const struct tp_result *result,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* What tells inference about graph node `node`, with results in body->types.results; what it
 * points to is good until the next time. */
struct tp_infer tp_body_view(struct tp_body *body, const struct tp_node *node);
/* Forget the values from number n on, which no graph node makes or uses. */
void tp_body_cut(struct tp_body *body, uint32_t n);

/* The number of the dimension of that name, as it is written; it is added when it is new. */
troupe_status tp_body_dim(struct tp_body *body, const char *name, size_t size, uint32_t *out,
                          troupe_error *err) TROUPE_MUST_CHECK;
/* A type from text; *where (may be NULL) gets the byte at which it is malformed. "?" gives no
 * element type and no rank. */
troupe_status tp_body_type(struct tp_body *body, const char *text, struct tp_type *out,
                           size_t *where, troupe_error *err) TROUPE_MUST_CHECK;

/* Where a message says "[d0,3]" for want of names, put the function's. */
void tp_body_name_dims(const struct tp_function *function, troupe_error *err);

/* The types of the results of a graph node, an op's (callee is NULL) or a call, whose inputs are in
 * the body; they lie in body->types.results until the next time. */
troupe_status tp_body_infer(struct tp_body *body, const struct tp_node *node,
                            const struct tp_function *callee,
                            troupe_error *err) TROUPE_MUST_CHECK;

/* The elements of the last graph node's results, for the inference of later ones, when they are
 * a few integers that follow from what is known: so a shape that is computed from known shapes
 * is known. */
troupe_status tp_body_tell(struct tp_body *body, troupe_error *err) TROUPE_MUST_CHECK;

/* Graph nodes with effects run in the order in which they stand: each gets an edge from the one
 * before it, unless it runs after it anyhow. */
troupe_status tp_body_order(struct tp_body *body, troupe_error *err) TROUPE_MUST_CHECK;

/* The finished function; the body is empty afterwards, also on failure. */
troupe_status tp_body_seal(struct tp_body *body, struct tp_function **out,
                           troupe_error *err) TROUPE_MUST_CHECK;

#endif
