/* SPDX-License-Identifier: MIT
 *
 * import/onnx/model.h - what the parts of the reader share while a model becomes a function.
 *
 * model.c takes the bodies apart (names, order, functions of the model), node.c turns a node
 * into graph nodes of ours, upgrade.c has rewritten it before into the newest form of its
 * operator, and survey.c has seen to it that all of them are known.
 */
#ifndef TP_IMPORT_ONNX_MODEL_H
#define TP_IMPORT_ONNX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/operator.h"
#include "import/onnx/names.h"
#include "import/onnx/onnx.pb-c.h"
#include "import/onnx/reader.h"
#include "tensor/shape.h"
#include "troupe/function.h"

#define TP_ONNX_IR_OLDEST 3
#define TP_ONNX_IR_NEWEST 10
#define TP_ONNX_OPSET     19 /* the newest version of the standard operators that we know */
#define TP_ONNX_CALLS     32 /* functions of a model that may be called within one another */

/* --- operators: ops.c ----------------------------------------------------------------- */

struct tp_onnx_build;
struct tp_onnx_node;

/* An operator of the standard. A node of version `since` up to TP_ONNX_OPSET can be read; one
 * below `below` is rewritten first. */
struct tp_onnx_op {
    const char *name;
    const char *ours; /* what it becomes; NULL: a constant */
    int since;
    int below;
    troupe_status (*upgrade)(struct tp_onnx_build *build, struct tp_onnx_node *node,
                             troupe_error *err);
};
/* NULL: it is none of the standard's, or none that we read. */
const struct tp_onnx_op *tp_onnx_op_find(const char *name);
/* Operator i in order of names; NULL from the count on. */
const struct tp_onnx_op *tp_onnx_op_at(size_t i);

/* "" for the domain of the standard, however it is spelt. */
const char *tp_onnx_domain(const char *domain);

/* --- operator sets and functions of the model: scope.c -------------------------------- */

/* How much a body makes, with the functions that it calls. */
struct tp_onnx_size {
    size_t nodes, names;
};
#define TP_ONNX_NAMES ((size_t)1 << 24) /* values, functions' as often as they are called */

/* A function of the model. */
struct tp_onnx_function {
    const Onnx__FunctionProto *proto;
    enum {
        TP_ONNX_NEW,
        TP_ONNX_OPEN,
        TP_ONNX_MEASURED
    } state; /* open: its calls are looked at */
    struct tp_onnx_size size;
    bool reached;                  /* by the survey */
    struct tp_onnx_function *next; /* of those that the survey has yet to look at */
};

/* A body: the graph, or a function of the model. */
struct tp_onnx_body {
    const char *name; /* for messages; NULL: the graph */
    Onnx__NodeProto **nodes;
    size_t n_nodes;
    Onnx__OperatorSetIdProto **imports;
    size_t n_imports;
};
struct tp_onnx_body tp_onnx_graph_body(const Onnx__ModelProto *model);
struct tp_onnx_body tp_onnx_function_body(const Onnx__FunctionProto *function);
/* The version of a domain's operators; 0 when the body does not import it. */
int64_t tp_onnx_version(const struct tp_onnx_body *body, const char *domain);

/* What is read, decoded. */
struct tp_onnx_model {
    Onnx__ModelProto *proto;
    struct tp_onnx_source source;
    char label[100]; /* what messages call it: its path, or the end of that */
    struct tp_onnx_function *functions; /* proto->n_functions */
    struct tp_index function_index;     /* of them, by domain, name and overload */
    struct tp_arena *arena;
    const troupe_operators *operators; /* the library's; may be NULL */
};
/* The user's operator that a node is: of its domain and name, or, where we do not have the
 * standard's of that name, of its name alone. NULL: none. */
const struct tp_op *tp_onnx_user_op(const struct tp_onnx_model *model,
                                    const Onnx__NodeProto *node);
/* NULL: none, or there is a user's operator of that name. */
struct tp_onnx_function *tp_onnx_function_of(const struct tp_onnx_model *model,
                                             const Onnx__NodeProto *node);
troupe_status tp_onnx_functions_add(struct tp_onnx_model *model,
                                    troupe_error *err) TROUPE_MUST_CHECK;

/* INVALID: a function calls itself. EXHAUSTED: functions call one another too deep, or would
 * make the model too large. */
troupe_status tp_onnx_measure(const struct tp_onnx_model *model,
                              troupe_error *err) TROUPE_MUST_CHECK;

/* One failure that names all operators, element types and kinds of values that the model has
 * and we have not, with counts: UNSUPPORTED. */
troupe_status tp_onnx_survey(const struct tp_onnx_model *model,
                             troupe_error *err) TROUPE_MUST_CHECK;

/* --- building ------------------------------------------------------------------------- */

/* The values of one node: NULL where absent, and for an input that nobody makes. */
struct tp_onnx_links {
    struct tp_onnx_name **inputs, **outputs;
};

/* The values of a body while it is built. */
struct tp_onnx_scope {
    struct tp_onnx_body body;
    struct tp_onnx_names names;
    struct tp_onnx_links *links; /* per node */
    const char *prefix; /* "" or "call/", before the names of its graph nodes and values */
    const troupe_attr *attrs; /* of the call: what references to attributes get */
    size_t n_attrs;
    const Onnx__FunctionProto *function; /* NULL: the graph */
};

/* Names that were wanted again, with the number that the next one of that name gets behind it.
 */
struct tp_onnx_again {
    struct tp_index index;
    uint32_t *next;
    size_t count, capacity;
};

struct tp_onnx_build {
    struct tp_onnx_model *model;
    struct tp_arena *arena; /* the model's */
    troupe_builder *builder;
    struct tp_onnx_scope *scope;
    struct tp_onnx_again again; /* of graph nodes and of values */
    troupe_tensor **tensors;    /* of attributes; released at the end */
    size_t n_tensors, tensors_capacity;
};

/* A node on its way. Arrays are the arena's and have room for TP_ONNX_ROOM more. */
#define TP_ONNX_ROOM 8
struct tp_onnx_node {
    const Onnx__NodeProto *proto;
    const char *name; /* ONNX's, or made up from its first result */
    const char *op;
    int64_t version;
    troupe_value *inputs; /* TROUPE_NO_VALUE where absent */
    size_t n_inputs;
    troupe_attr *attrs;
    size_t n_attrs;
    struct tp_onnx_name **results; /* NULL where absent */
    size_t n_results;
};

/* --- one node: node.c ----------------------------------------------------------------- */

/* Turn node i of the scope, whose inputs are there, into graph nodes or constants. */
troupe_status tp_onnx_node_build(struct tp_onnx_build *build, uint32_t i,
                                 troupe_error *err) TROUPE_MUST_CHECK;

/* --- bodies: body.c ------------------------------------------------------------------- */

/* Make a scope of a body: room for its nodes' results, and for `more` names that the caller
 * adds by tp_onnx_names_add. */
troupe_status tp_onnx_scope_init(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                 size_t more, troupe_error *err) TROUPE_MUST_CHECK;
/* Add the nodes' results, after the caller's own. */
troupe_status tp_onnx_scope_fill(struct tp_onnx_build *build, struct tp_onnx_scope *scope,
                                 troupe_error *err) TROUPE_MUST_CHECK;
/* The value, made of its initializer when it is first asked for; TROUPE_NO_VALUE when it is
 * absent, as an argument of a function of the model may be. name NULL: INVALID, nobody makes
 * `text`. */
troupe_status tp_onnx_value(struct tp_onnx_build *build, struct tp_onnx_name *name,
                            const char *text, troupe_value *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* Build the nodes of build->scope, in an order in which each comes after its inputs. */
troupe_status tp_onnx_body_build(struct tp_onnx_build *build,
                                 troupe_error *err) TROUPE_MUST_CHECK;
/* A node that calls a function of the model: its body, in place. */
troupe_status tp_onnx_call_build(struct tp_onnx_build *build,
                                 const Onnx__FunctionProto *function, struct tp_onnx_node *node,
                                 troupe_error *err) TROUPE_MUST_CHECK;

/* The order of a body's nodes: indexes, the arena's. INVALID names a node that needs itself. */
troupe_status tp_onnx_sort(struct tp_onnx_build *build, const uint32_t **out,
                           troupe_error *err) TROUPE_MUST_CHECK;

/* --- what goes to the builder: emit.c ------------------------------------------------- */

/* `wanted`, or where a graph node or a value has that name the first of wanted_2, wanted_3, ...
 * that none has; the arena's. */
troupe_status tp_onnx_free_name(struct tp_onnx_build *build, const char *wanted, bool node,
                                const char **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_onnx_again_fini(struct tp_onnx_again *again);
/* A constant of that name, below the scope's prefix. */
troupe_status tp_onnx_constant(struct tp_onnx_build *build, const char *name,
                               const troupe_tensor *tensor, troupe_value *out,
                               troupe_error *err) TROUPE_MUST_CHECK;
/* The graph node of node, whose results get their values. */
troupe_status tp_onnx_emit(struct tp_onnx_build *build, struct tp_onnx_node *node,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* One more graph node, "NODE/OP", with one result and no attributes. */
troupe_status tp_onnx_extra(struct tp_onnx_build *build, const struct tp_onnx_node *of,
                            const char *op, const troupe_value *inputs, size_t n,
                            troupe_value *out, troupe_error *err) TROUPE_MUST_CHECK;

/* "node 'x' (Add)": how messages name a node. */
struct tp_onnx_node_text {
    char text[120];
};
struct tp_onnx_node_text tp_onnx_node_text(const Onnx__NodeProto *proto);

/* --- attributes: attrs.c -------------------------------------------------------------- */

/* One attribute as ONNX says it: numbers of element types are integers still. */
troupe_status tp_onnx_attr(struct tp_onnx_build *build, const Onnx__AttributeProto *proto,
                           troupe_attr *out, troupe_error *err) TROUPE_MUST_CHECK;
/* Those of a list, references to attributes of the call replaced; the arena's, with room. */
troupe_status tp_onnx_attrs(struct tp_onnx_build *build, Onnx__AttributeProto **protos,
                            size_t n, troupe_attr **out, size_t *n_out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* NULL when it is absent. */
troupe_attr *tp_onnx_attr_find(struct tp_onnx_node *node, const char *name);
void tp_onnx_attr_drop(struct tp_onnx_node *node, const char *name);
void tp_onnx_attr_add(struct tp_onnx_node *node, troupe_attr attr);
/* Those that our operator wants as element types become ones. */
troupe_status tp_onnx_attrs_settle(const struct tp_onnx_build *build, struct tp_onnx_node *node,
                                   troupe_error *err) TROUPE_MUST_CHECK;

/* Numbers as tensors: scalars (rank 0, n = 1) or lists (rank 1); floats are rounded to f32. */
troupe_status tp_onnx_ints(const int64_t *ints, int rank, size_t n, troupe_tensor **out,
                           troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_onnx_floats(const double *floats, int rank, size_t n, troupe_tensor **out,
                             troupe_error *err) TROUPE_MUST_CHECK;

#endif
