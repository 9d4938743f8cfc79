/* SPDX-License-Identifier: MIT
 *
 * messages/message.h - the structs of kinds.def, and what can be done with any message.
 *
 * A message belongs to one owner at a time: who made it, then the mailbox, then the handler.
 * Most lie inside the object that sends them (`fixed`), so that posting never allocates and
 * never fails; others come from the heap.
 */
#ifndef TP_MESSAGES_MESSAGE_H
#define TP_MESSAGES_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "messages/field.h"

enum tp_kind {
#define MSG(NAME, name, doc, fields) TP_##NAME,
#include "messages/kinds.def"
    TP_KINDS
};

/* A struct without members is not C11, and some messages carry nothing. */
#define F(TYPE, name) tp_field_##TYPE name;
#define MSG(NAME, name, doc, fields)                                                           \
    struct tp_##name {                                                                         \
        fields char none_;                                                                     \
    };
#include "messages/kinds.def"

struct tp_message {
    struct tp_message *next; /* the mailbox's while it is in one */
    uint16_t kind;           /* enum tp_kind */
    bool fixed;              /* its memory is part of something else: not freed */
    bool told;               /* its receiver was told that it comes: see actors/bell.h */
    uint32_t estimate;       /* nanoseconds of work that follow from it; 0: unknown or little */
    union {
#define MSG(NAME, name, doc, fields) struct tp_##name name;
#include "messages/kinds.def"
    };
};

/* One field of a kind. A list ends with a NULL name. */
struct tp_field {
    const char *name;
    enum tp_field_type type;
    size_t offset; /* in the kind's struct */
};
/* Where the kind's struct starts, and bytes for the largest. */
#define TP_BODY      offsetof(struct tp_message, call)
#define TP_BODY_SIZE (sizeof(struct tp_message) - TP_BODY)
static inline void *tp_message_body(struct tp_message *message)
{
    return (char *)message + TP_BODY;
}

const struct tp_field *tp_kind_fields(enum tp_kind kind);
const char *tp_kind_name(enum tp_kind kind); /* "SHARD_DONE" */
const char *tp_kind_doc(enum tp_kind kind);

/* From the heap, zeroed. EXHAUSTED. */
troupe_status tp_message_new(struct tp_message **out, enum tp_kind kind,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* Make a fixed message ready to be sent as `kind`: its fields are zero. */
static inline void tp_message_set(struct tp_message *message, enum tp_kind kind,
                                  uint32_t estimate)
{
    *message = (struct tp_message){.kind = (uint16_t)kind, .fixed = true, .estimate = estimate};
}
/* True for kinds with a field that owns something. */
extern const bool tp_kind_owns[TP_KINDS];
/* Release what the fields hold, and the memory unless it is fixed. */
void tp_message_destroy(struct tp_message **message);
/* As above, and cheap where there is nothing to do. */
static inline void tp_message_drop(struct tp_message *message)
{
    if (message && (!message->fixed || tp_kind_owns[message->kind]))
        tp_message_destroy(&message);
}
/* Of one kind, with equal fields. */
bool tp_message_equal(const struct tp_message *a, const struct tp_message *b);
/* "SHARD_DONE shard=1 derived=no error=INVALID: ..." for traces and failures of tests. */
void tp_message_show(const struct tp_message *message, struct tp_text *out);

#endif
