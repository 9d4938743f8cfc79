/* SPDX-License-Identifier: MIT
 *
 * graph/builder.h - the inside of the builder; private to graph/build*.c.
 */
#ifndef TP_GRAPH_BUILDER_H
#define TP_GRAPH_BUILDER_H

#include "graph/build.h"

struct troupe_builder {
    struct tp_body body;
    struct tp_index values, nodes, results; /* by name; entries lie in body.scratch */
    struct tp_finder finder;
    bool called_itself; /* so its results are fixed */
    /* What a graph node is put together in, kept from one to the next. */
    uint32_t *after, *with, *made;
    troupe_attr *attrs;
    size_t after_room, with_room, made_room, attrs_room;
};

/* The operator's or the called function's name, and which of them node means. Exactly one of
 * *op and *callee is set. NOT_FOUND names what is close. */
troupe_status tp_build_target(troupe_builder *b, const troupe_node *node,
                              const struct tp_op **op, const struct tp_function **callee,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* Resolve what node names: its lists go to the builder's own, sorted and without doubles. */
troupe_status tp_build_inputs(const troupe_builder *b, const troupe_node *node,
                              troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_build_device(const troupe_node *node, struct tp_name *out,
                              troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_build_after(troupe_builder *b, const troupe_node *node, uint32_t *n,
                             troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_build_with(troupe_builder *b, const troupe_node *node, uint32_t *n,
                            troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_build_attrs(troupe_builder *b, const troupe_node *node,
                             troupe_error *err) TROUPE_MUST_CHECK;

/* A value with that name in the body and in the index. INVALID: the name is taken. */
troupe_status tp_build_value(troupe_builder *b, const struct tp_value *value, uint32_t *out,
                             troupe_error *err) TROUPE_MUST_CHECK;

#endif
