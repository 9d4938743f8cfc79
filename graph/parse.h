/* SPDX-License-Identifier: MIT
 *
 * graph/parse.h - the text form of functions as a tree of what it says; nothing is looked up
 * yet.
 *
 * Grammar: doc/text-form.md. The tree lies in one arena; its tensors are released with it. No
 * part of the parser calls itself, so no text can make the stack deep.
 */
#ifndef TP_GRAPH_PARSE_H
#define TP_GRAPH_PARSE_H

#include "graph/arena.h"
#include "graph/lex.h"

/* A name, or another piece of text, and where it stands. text is NULL where it is absent. */
struct tp_said {
    const char *text;
    struct tp_place place;
};

/* An attribute whose kind may still depend on the operator: numbers without a point can be
 * meant as floats, and an empty list can be of anything. */
struct tp_said_attr {
    troupe_attr attr;
    struct tp_place place;
};

/* A value that is written out or in a file. */
struct tp_said_tensor {
    troupe_tensor *tensor;               /* NULL: it is in the file */
    struct tp_said type, file, checksum; /* of the tensor in the file; absent: none is said */
};

struct tp_said_arg {
    struct tp_said name, type;
    troupe_tensor *value; /* the default, or NULL */
};

struct tp_said_result {
    struct tp_said name, type, value;
};

/* A line of a body: a constant when `op` is absent, else a graph node. */
struct tp_statement {
    struct tp_statement *next;
    struct tp_said name; /* the graph node's, when it is written; the constant's */
    struct tp_said op, device;
    struct tp_said *targets, *inputs, *after, *with;
    struct tp_said_attr *attrs;
    uint32_t n_targets, n_inputs, n_after, n_with, n_attrs;
    struct tp_said_tensor constant;
};

struct tp_definition {
    struct tp_definition *next;
    struct tp_said name;
    struct tp_said_arg *args;
    struct tp_said_result *results;
    uint32_t n_args, n_results;
    struct tp_statement *first;
};

struct tp_parsed {
    struct tp_arena *arena;
    const char *source;
    struct tp_definition *first;
    uint32_t n;
    struct tp_held *held; /* the tensors */
};

/* text[size] is a zero byte, and there is none before. */
troupe_status tp_parse(struct tp_parsed *out, const char *source, const char *text, size_t size,
                       troupe_error *err) TROUPE_MUST_CHECK;
void tp_parsed_fini(struct tp_parsed *parsed);

#endif
