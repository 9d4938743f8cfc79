/* SPDX-License-Identifier: MIT
 *
 * messages/function_form.h - the values of the form of a function, for function_encode.c and
 * function_decode.c; doc/function-form.md explains them.
 *
 * Each value is an array. Parts are appended, never reordered or reused: a reader takes what is
 * missing as nil, and ignores what it does not know. What may not be ignored needs another
 * version.
 */
#ifndef TP_MESSAGES_FUNCTION_FORM_H
#define TP_MESSAGES_FUNCTION_FORM_H

/* The first value, about all. */
enum tp_form_all { TP_ALL_VERSION, TP_ALL_FUNCTIONS, TP_ALL_MAIN, TP_ALL_PARTS };

/* One for each function, about what its callers see. */
enum tp_form_head {
    TP_HEAD_NAME,
    TP_HEAD_ARGS,       /* [name, type, default or nil] each */
    TP_HEAD_RESULTS,    /* [name, type, number of its value] each */
    TP_HEAD_EFFECTS,    /* true: some graph node has effects */
    TP_HEAD_STATEMENTS, /* how many follow */
    TP_HEAD_HASH,       /* of this function alone */
    TP_HEAD_SOURCE,     /* what names its source in messages, or nil */
    TP_HEAD_PARTS
};

/* Then, function by function, one for each constant and graph node. The first part is what it
 * is. */
enum tp_form_kind { TP_IS_CONSTANT, TP_IS_OPERATOR, TP_IS_CALL };
enum tp_form_constant {
    TP_CONSTANT_NAME = 1,
    TP_CONSTANT_TENSOR,
    TP_CONSTANT_FILE, /* the path that it was read from, or nil */
    TP_CONSTANT_PARTS
};
enum tp_form_node {
    TP_NODE_TARGET = 1, /* the operator's or the function's name */
    TP_NODE_NAME,       /* nil: its first result's */
    TP_NODE_INPUTS,     /* numbers of values; nil: absent */
    TP_NODE_RESULTS,    /* names of values; nil: absent */
    TP_NODE_ATTRS,      /* [name, kind, value] each */
    TP_NODE_DEVICE,     /* nil: no wish */
    TP_NODE_AFTER,      /* numbers of graph nodes */
    TP_NODE_WITH,
    TP_NODE_LINE, /* where it stands in the source; nil or 0: not known */
    TP_NODE_PARTS
};

/* [[element type, [dimension, ...]], elements] or [.., number of a frame, content hash] */
enum tp_form_tensor { TP_TENSOR_TYPE, TP_TENSOR_ELEMENTS, TP_TENSOR_HASH, TP_TENSOR_PARTS };

#define TP_FORM_HASH 16 /* bytes of a hash, most significant first */

#endif
