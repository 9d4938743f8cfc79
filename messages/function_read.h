/* SPDX-License-Identifier: MIT
 *
 * messages/function_read.h - the form of a function, value by value and part by part; private to
 * messages/function_*.c.
 *
 * What a value of the form holds is good until the next value is read.
 */
#ifndef TP_MESSAGES_FUNCTION_READ_H
#define TP_MESSAGES_FUNCTION_READ_H

#include <msgpack.h>

#include "graph/arena.h"
#include "messages/function_codec.h"

struct tp_form_reader {
    struct tp_wire *wire;
    size_t at, from;        /* the next byte of the head, and the first of the value in hand */
    msgpack_zone *zone;     /* the value in hand */
    msgpack_object value;   /* an array */
    struct tp_arena *texts; /* those of the value in hand, with zero bytes behind them */
    struct tp_arena_mark start;
    troupe_tensor **tensors; /* and its tensors */
    size_t n_tensors, tensors_room;
};
troupe_status tp_form_init(struct tp_form_reader *r, struct tp_wire *wire,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_form_fini(struct tp_form_reader *r);

/* Read the value at byte r->at. CORRUPT, naming the byte: it is no array. */
troupe_status tp_form_next(struct tp_form_reader *r, troupe_error *err) TROUPE_MUST_CHECK;

/* Part i of an array; nil when it has none. */
const msgpack_object *tp_form_part(const msgpack_object *array, uint32_t i);

/* What a part is. `what` says it in the error, which is CORRUPT. */
troupe_status tp_form_list(const msgpack_object *part, const char *what,
                           const msgpack_object_array **out,
                           troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_form_number(const msgpack_object *part, const char *what, uint32_t *out,
                             troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_form_flag(const msgpack_object *part, const char *what, bool *out,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* A text with a zero byte behind it; without any inside. */
troupe_status tp_form_text(struct tp_form_reader *r, const msgpack_object *part,
                           const char *what, const char **out,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* As above; nil: *out is NULL. */
troupe_status tp_form_text_or_nil(struct tp_form_reader *r, const msgpack_object *part,
                                  const char *what, const char **out,
                                  troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_form_hash(const msgpack_object *part, const char *what, uint64_t out[2],
                           troupe_error *err) TROUPE_MUST_CHECK;
/* A tensor whose elements are what they were by its hash; r's. */
troupe_status tp_form_tensor(struct tp_form_reader *r, const msgpack_object *part,
                             const troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;
/* The attributes of a graph node; r's. */
troupe_status tp_form_attrs(struct tp_form_reader *r, const msgpack_object *part,
                            const troupe_attr **out, size_t *n,
                            troupe_error *err) TROUPE_MUST_CHECK;

/* What the builder calls INVALID is CORRUPT in bytes from outside. */
troupe_status tp_form_outside(troupe_status status, troupe_error *err);

#endif
