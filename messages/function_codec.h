/* SPDX-License-Identifier: MIT
 *
 * messages/function_codec.h - functions as bytes, and back.
 *
 * The form is a sequence of msgpack values, and a frame of raw bytes for each larger tensor;
 * doc/function-form.md has every byte. It holds functions with all that they call, and the
 * content hash of each: what is decoded is what was encoded, or is refused.
 *
 * What is decoded may come from anyone. Each value is scanned before msgpack-c sees it, then
 * goes through the builder, which checks it as it checks a program's. At most 24 bytes are
 * allocated for each byte of one value at a time, beside the functions themselves.
 */
#ifndef TP_MESSAGES_FUNCTION_CODEC_H
#define TP_MESSAGES_FUNCTION_CODEC_H

#include "graph/function.h"
#include "messages/codec.h"
#include "troupe/operator.h"

#define TP_FUNCTION_VERSION 1
#define TP_FUNCTION_INLINE  1024 /* bytes of elements that stand inside; more get a frame */

/* Functions that call nobody but each other. Zeroed is valid and empty. */
struct tp_bodies {
    struct tp_function **list; /* from tp_alloc, each retained; no two have one name */
    uint32_t n;
    uint32_t main; /* the one that is meant when none is named; TP_NO_NODE: not said */
    /* To decode: the user's operators that they may have (borrowed), or NULL. */
    const troupe_operators *operators;
};
void tp_bodies_fini(struct tp_bodies *bodies);

/* Whether it goes along what names a function's source, which lines of it graph nodes stand in,
 * and which files constants are from. */
enum tp_places { TP_PLACES_DROP, TP_PLACES_KEEP };

/* Into out's head and frames (empty before; to be ended by tp_wire_fini, also on failure), which
 * share the memory of constants. The preamble is left alone. INVALID: a function's values are
 * not in the order in which they are made, as after inlining. EXHAUSTED. */
troupe_status tp_bodies_encode(const struct tp_bodies *bodies, enum tp_places places,
                               struct tp_wire *out, troupe_error *err) TROUPE_MUST_CHECK;
/* The functions in wire's head and frames; frames that are aligned to TP_ALIGN are taken. source
 * is what the functions name as theirs in messages; NULL: what came with them. CORRUPT, naming the byte: it
 * is no function, or not the one that was encoded. UNSUPPORTED: the form is of a version that is
 * not understood here. NOT_FOUND: there is no operator of a name here. EXHAUSTED. */
troupe_status tp_bodies_decode(struct tp_wire *wire, const char *source, struct tp_bodies *out,
                               troupe_error *err) TROUPE_MUST_CHECK;

/* One function, and behind it all that it reaches, with its places: as above. */
troupe_status tp_function_encode(const troupe_function *function, struct tp_wire *out,
                                 troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_function_decode(struct tp_wire *wire, troupe_function **out,
                                 troupe_error *err) TROUPE_MUST_CHECK;
/* Send *function through the codec inside this process, as tp_message_recode: it is replaced by
 * the copy that comes back. operators: the user's that it may have, or NULL. On failure it is as
 * it was: EXHAUSTED, or a bug of ours or of the user's operators. */
troupe_status tp_function_recode(troupe_function **function, const troupe_operators *operators,
                                 troupe_error *err) TROUPE_MUST_CHECK;

#endif
