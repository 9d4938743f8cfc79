/* SPDX-License-Identifier: MIT
 *
 * graph/hash.h - content hashes of tensors and functions.
 *
 * A function is written out byte by byte (numbers little-endian, texts with their length) and
 * hashed by XXH3 as that is done, so that pointers, padding, the process and the machine's byte
 * order have no say. What is inferred is not written, but for the types of arguments and
 * results.
 */
#ifndef TP_GRAPH_HASH_H
#define TP_GRAPH_HASH_H

#include "graph/function.h"

struct tp_pace;

troupe_status tp_hash_tensor(const troupe_tensor *tensor, uint64_t out[2],
                             troupe_error *err) TROUPE_MUST_CHECK;
/* Of the body alone; a value or a graph node is a piece of the work. */
troupe_status tp_hash_function(const struct tp_function *function, struct tp_pace *pace,
                               uint64_t out[2], troupe_error *err) TROUPE_MUST_CHECK;
/* Of n bodies in that order, from their hashes. */
troupe_status tp_hash_functions(const struct tp_function *const *functions, size_t n,
                                uint64_t out[2], troupe_error *err) TROUPE_MUST_CHECK;

/* A hash as 32 hexadecimal digits. */
struct tp_hash_text {
    char text[33];
};
struct tp_hash_text tp_hash_text(const uint64_t hash[2]);
/* CORRUPT, with both, unless they are equal: "what: ... was expected, it is ...". */
troupe_status tp_hash_check(const char *what, const uint64_t expected[2],
                            const uint64_t found[2], troupe_error *err) TROUPE_MUST_CHECK;

struct tp_operator;
/* Of what a user's operator says of itself. */
troupe_status tp_hash_operator(const struct tp_operator *o, uint64_t out[2],
                               troupe_error *err) TROUPE_MUST_CHECK;

#endif
