/* SPDX-License-Identifier: MIT
 *
 * troupe/function.h - functions: build them, read and print them, keep them in libraries.
 *
 * A function is a dataflow graph: typed arguments, graph nodes, named results. It is immutable
 * once it is finished, has a content hash and is counted; any thread may use it. A builder and
 * a library belong to one thread at a time.
 *
 * A graph node is an operator (names and meanings are ONNX's; `troupe show --operators` and
 * doc/ops.md list them) or a call of another function of the same library. It may name the
 * device it wants, graph nodes it must be placed with, and graph nodes that must have run
 * before it.
 *
 * Types are written as text: "f32[2,n,?]" has a fixed dimension, one named n (equal names are
 * equal numbers within a function), and one that is unknown; "f32[]" is a scalar; "f32[...]"
 * has an unknown rank; "?" alone is an unknown type where that is allowed.
 */
#ifndef TROUPE_FUNCTION_H
#define TROUPE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"
#include "troupe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct troupe_function troupe_function;
typedef struct troupe_library troupe_library;
typedef struct troupe_builder troupe_builder;

/* A value inside a builder: an argument, a constant or a node's result. */
typedef uint32_t troupe_value;
#define TROUPE_NO_VALUE UINT32_MAX /* an optional input or result that is absent */

/* What an attribute holds. */
typedef enum troupe_attr_kind {
    TROUPE_ATTR_INT = 1, /* i */
    TROUPE_ATTR_FLOAT,   /* f */
    TROUPE_ATTR_STRING,  /* text, n bytes */
    TROUPE_ATTR_INTS,    /* ints, n */
    TROUPE_ATTR_FLOATS,  /* floats, n */
    TROUPE_ATTR_STRINGS, /* texts, n; each ends with a zero byte */
    TROUPE_ATTR_TENSOR,  /* tensor */
    TROUPE_ATTR_DTYPE,   /* dtype */
    TROUPE_ATTR_FUNCTION /* text: the name of a function of the library */
} troupe_attr_kind;

typedef struct troupe_attr {
    const char *name;
    troupe_attr_kind kind;
    size_t n;
    union {
        int64_t i;
        double f;
        const char *text;
        const int64_t *ints;
        const double *floats;
        const char *const *texts;
        const troupe_tensor *tensor;
        troupe_dtype dtype;
    };
} troupe_attr;

/* One graph node. Zero what you do not need, set size to sizeof(troupe_node). All is copied.
 * What a newer header adds must be zero where the library does not know it. */
typedef struct troupe_node {
    size_t size;
    const char *op;       /* an operator's name, or NULL for a call */
    const char *function; /* for a call: the function's name */
    const char *name;     /* unique in the function; NULL: made up from its result or its op */
    const char *device;   /* "cpu:1", "/job:a/task:0", ...; NULL: no wish */
    const troupe_value *inputs;
    size_t n_inputs;
    size_t n_results;                /* 0: as many as the operator or the callee has at least */
    const char *const *result_names; /* NULL, or n_results; NULL in it: made up; "": absent */
    const troupe_attr *attrs;
    size_t n_attrs;
    const char *const *with; /* names of graph nodes to be placed with */
    size_t n_with;
    const char *const *after; /* names of graph nodes that must have run before */
    size_t n_after;
    unsigned line; /* where it stands in its source, or 0; for messages */
} troupe_node;

/* Start a function. `library` (may be NULL; borrowed until _finish) is where called functions
 * are looked up; a function may call itself. */
TROUPE_EXPORT troupe_status troupe_builder_new(troupe_builder **out, const char *name,
                                               const troupe_library *library,
                                               troupe_error *err) TROUPE_MUST_CHECK;
TROUPE_EXPORT void troupe_builder_destroy(troupe_builder **builder);

/* The next argument, with its type as text. INVALID: the name is taken, or the type
 * malformed. */
TROUPE_EXPORT troupe_status troupe_builder_arg(troupe_builder *builder, const char *name,
                                               const char *type, troupe_value *out,
                                               troupe_error *err) TROUPE_MUST_CHECK;
/* As above with a value that is used when a caller gives none (NULL in its place). */
TROUPE_EXPORT troupe_status troupe_builder_arg_default(troupe_builder *builder,
                                                       const char *name, const char *type,
                                                       const troupe_tensor *value,
                                                       troupe_value *out,
                                                       troupe_error *err) TROUPE_MUST_CHECK;
/* A constant; name may be NULL. The tensor is retained, not copied. */
TROUPE_EXPORT troupe_status troupe_builder_constant(troupe_builder *builder, const char *name,
                                                    const troupe_tensor *value,
                                                    troupe_value *out,
                                                    troupe_error *err) TROUPE_MUST_CHECK;
/* Declare a result before its value is known, so that a recursive call knows its type.
 * Optional. */
TROUPE_EXPORT troupe_status troupe_builder_declare_result(troupe_builder *builder,
                                                          const char *name, const char *type,
                                                          troupe_error *err) TROUPE_MUST_CHECK;
/* The next graph node; results[0..n_results) are its values (results may be NULL). Operators,
 * inputs, attributes, types and shapes are checked here; the error names the graph node. */
TROUPE_EXPORT troupe_status troupe_builder_node(troupe_builder *builder,
                                                const troupe_node *node, troupe_value *results,
                                                troupe_error *err) TROUPE_MUST_CHECK;
/* The next result of the function (or the value of the declared one of that name). */
TROUPE_EXPORT troupe_status troupe_builder_result(troupe_builder *builder, const char *name,
                                                  troupe_value value,
                                                  troupe_error *err) TROUPE_MUST_CHECK;
/* Check the whole, seal it. *builder is freed and NULL afterwards, also on failure. The
 * function calls what `library` of _new holds now; later changes of the library do not change
 * it. */
TROUPE_EXPORT troupe_status troupe_builder_finish(troupe_builder **builder,
                                                  troupe_function **out,
                                                  troupe_error *err) TROUPE_MUST_CHECK;

TROUPE_EXPORT troupe_function *troupe_function_retain(const troupe_function *function);
TROUPE_EXPORT void troupe_function_release(troupe_function **function);

TROUPE_EXPORT const char *troupe_function_name(const troupe_function *function);
TROUPE_EXPORT size_t troupe_function_args(const troupe_function *function);
TROUPE_EXPORT size_t troupe_function_results(const troupe_function *function);
/* Name and type of argument or result i; NULL and TROUPE_DTYPE_NONE when there is none. `dims`
 * gets up to TROUPE_MAX_RANK numbers, below 0 where unknown or named; *rank is -1 when it is
 * unknown. */
TROUPE_EXPORT const char *troupe_function_arg_name(const troupe_function *function, size_t i);
TROUPE_EXPORT const char *troupe_function_result_name(const troupe_function *function,
                                                      size_t i);
TROUPE_EXPORT troupe_dtype troupe_function_arg_type(const troupe_function *function, size_t i,
                                                    int *rank, int64_t *dims);
TROUPE_EXPORT troupe_dtype troupe_function_result_type(const troupe_function *function,
                                                       size_t i, int *rank, int64_t *dims);
/* The type as text, "f32[n,3]"; like snprintf. */
TROUPE_EXPORT size_t troupe_function_arg_text(const troupe_function *function, size_t i,
                                              char *text, size_t size);
TROUPE_EXPORT size_t troupe_function_result_text(const troupe_function *function, size_t i,
                                                 char *text, size_t size);
/* The default of argument i (borrowed), or NULL. */
TROUPE_EXPORT const troupe_tensor *troupe_function_arg_default(const troupe_function *function,
                                                               size_t i);
/* Number of graph nodes, not counting those of called functions. */
TROUPE_EXPORT size_t troupe_function_nodes(const troupe_function *function);
/* The content hash of the function and all that it calls: equal for equal functions, whatever
 * process or library they are in. Names of graph nodes and values count; comments, source
 * lines, and whether a constant came from a file do not. */
TROUPE_EXPORT void troupe_function_hash(const troupe_function *function, uint8_t out[16]);

/* A library: functions by name. */
TROUPE_EXPORT troupe_status troupe_library_new(troupe_library **out,
                                               troupe_error *err) TROUPE_MUST_CHECK;
TROUPE_EXPORT void troupe_library_destroy(troupe_library **library);
/* Add a function under its own name. Adding an equal one again is allowed; INVALID when another
 * body has the name. */
TROUPE_EXPORT troupe_status troupe_library_add(troupe_library *library,
                                               const troupe_function *function,
                                               troupe_error *err) TROUPE_MUST_CHECK;
/* Add or replace; functions found before keep what they had. */
TROUPE_EXPORT troupe_status troupe_library_replace(troupe_library *library,
                                                   const troupe_function *function,
                                                   troupe_error *err) TROUPE_MUST_CHECK;
/* The function of that name together with the library as it is now; the caller's to release.
 * NOT_FOUND; INVALID when it calls, at any depth, what the library lacks or with other
 * types. */
TROUPE_EXPORT troupe_status troupe_library_find(const troupe_library *library, const char *name,
                                                troupe_function **out,
                                                troupe_error *err) TROUPE_MUST_CHECK;
TROUPE_EXPORT size_t troupe_library_count(const troupe_library *library);
/* Names in the order in which they were added; NULL from the count on. */
TROUPE_EXPORT const char *troupe_library_name(const troupe_library *library, size_t i);

/* Read functions from text (grammar: doc/text-form.md) into a library; all or none. `source`
 * names the text in messages ("blend.troupe"), and is the folder against which constants' files
 * are looked up. Errors begin with "source:line:column: ". */
TROUPE_EXPORT troupe_status troupe_library_read(troupe_library *library, const char *source,
                                                const char *text, size_t size,
                                                troupe_error *err) TROUPE_MUST_CHECK;
/* As above from a file. */
TROUPE_EXPORT troupe_status troupe_library_read_file(troupe_library *library, const char *path,
                                                     troupe_error *err) TROUPE_MUST_CHECK;
/* Read a model: an .onnx file gives one function, named after its graph and all that it calls;
 * a .troupe file, a text or in binary form, gives its functions. *name (may be NULL) gets the
 * name of the main one (which a binary form says; of a text, the only one, or the one called
 * "main", else the first); it is the library's. CORRUPT: the file is damaged, with the place,
 * and with both checksums where one is wrong. UNSUPPORTED: it is of a version that is not
 * understood here. */
TROUPE_EXPORT troupe_status troupe_library_load(troupe_library *library, const char *path,
                                                const char **name,
                                                troupe_error *err) TROUPE_MUST_CHECK;

/* How functions lie in a file. */
typedef enum troupe_file_form {
    TROUPE_FILE_BINARY = 0, /* one file; exact, and fast to load: doc/function-form.md */
    TROUPE_FILE_TEXT = 1 /* the text form; constants of more than 256 elements lie beside it, in
                             * the folder PATH.d, and payloads of NaNs are lost */
} troupe_file_form;

/* Write all functions of a library to a file that troupe_library_load reads; the one named
 * `main` (NULL: none is named) is its main one. The file, with version and checksum, appears
 * whole or not at all: a failure leaves what was there. INVALID: a called function is not in
 * the library, the path ends in ".onnx", or, as a text, another function is called "main" or
 * PATH.d is there and no folder. NOT_FOUND: there is no function `main`. EXHAUSTED, DEVICE: the
 * disk is full, or fails. */
TROUPE_EXPORT troupe_status troupe_library_save(const troupe_library *library, const char *main,
                                                const char *path, troupe_file_form form,
                                                troupe_error *err) TROUPE_MUST_CHECK;

/* Operator i of those that a graph node may have, in a stable order, and a sentence about it in
 * *summary (may be NULL); NULL from their number on. The texts are constant. */
TROUPE_EXPORT const char *troupe_operator(size_t i, const char **summary);

/* How to print a function. */
typedef enum troupe_format {
    TROUPE_TEXT = 0, /* the text form; reading it gives an equal function */
    TROUPE_JSON,
    TROUPE_DOT /* for Graphviz */
} troupe_format;

/* The number that each JSON text of ours has as "format". New keys leave it as it is; it
 * becomes higher when a key goes or changes its meaning. */
#define TROUPE_JSON_FORMAT 1

/* The printed function and those it calls, in memory of the library's: free it with
 * troupe_free. */
TROUPE_EXPORT troupe_status troupe_function_print(const troupe_function *function,
                                                  troupe_format format, char **out,
                                                  troupe_error *err) TROUPE_MUST_CHECK;
/* Free text that a function of this library gave to its caller. */
TROUPE_EXPORT void troupe_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
