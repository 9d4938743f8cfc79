/* SPDX-License-Identifier: MIT
 *
 * actors/lend.h - what a call's caller lends and gives to it: memory for results, and arguments
 * that the call may use up.
 *
 * The caller's slot notes the options (tp_lend_note). When the call has its block, each frame
 * learns which of its values go to which memory, and which arguments are its to use
 * (tp_lend_block). After the last shard has stopped, results that are elsewhere are copied, on
 * the caller's thread (tp_lend_settle).
 */
#ifndef TP_ACTORS_LEND_H
#define TP_ACTORS_LEND_H

#include <stdbool.h>

#include "exec/executor.h"
#include "troupe/troupe.h"

struct tp_block;
struct tp_pending;
struct tp_start;

/* A slot's note of one call's options. Zeroed is nothing; memory is kept from call to call. */
struct tp_lending {
    bool any, has_buffers;
    bool *give;             /* per argument: its reference is the call's */
    troupe_buffer *buffers; /* per result, when has_buffers */
    size_t give_room, buffers_room;
};

/* A block's part, made when it is first needed. */
struct tp_lent_block {
    struct tp_lent *frames;    /* per shard */
    struct tp_target *targets; /* of all of them, one behind the other */
    troupe_tensor ***gifts;    /* likewise */
    struct tp_spares *heads;   /* for results that were copied */
};

static inline bool tp_lends(const troupe_call_options *o)
{
    return o && (o->buffers || o->give);
}

/* Note what the start lends; pending->args is set. INVALID: buffers that cannot be used,
 * whatever the types are. */
troupe_status tp_lend_note(struct tp_pending *pending, const struct tp_start *start,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_lending_fini(struct tp_lending *lending);
/* Tell the frames of pending's new block. INVALID: a buffer is too small. */
troupe_status tp_lend_block(struct tp_pending *pending, struct tp_block *block,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* The frames forget. */
void tp_lend_clear(struct tp_block *block);
void tp_lend_destroy(struct tp_block *block);
/* The call has worked: results that are not in their buffers are copied there. INVALID: one is
 * too small. */
troupe_status tp_lend_settle(struct tp_pending *pending, troupe_error *err) TROUPE_MUST_CHECK;
/* A call that does not start: release what was given away. */
void tp_lend_drop(const struct tp_start *start);

#endif
