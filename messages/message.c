/* SPDX-License-Identifier: MIT
 *
 * messages/message.c - make, compare, show and let go of any message: loops over its kind's
 * fields.
 */
#include "messages/message.h"

#include "base/fail.h"

/* kinds.def once more, as data. `here` is the struct that the fields are in, since F is not
 * told of which kind it is. */
#define F(TYPE, name) {#name, TP_FIELD_##TYPE, offsetof(here, name)},
#define MSG(NAME, kind, doc, fields)                                                           \
    static const struct tp_field *kind##_fields(void)                                          \
    {                                                                                          \
        typedef struct tp_##kind here;                                                         \
        static const struct tp_field list[] = {fields{NULL, TP_FIELD_TYPES, sizeof(here)}};    \
        return list;                                                                           \
    }
#include "messages/kinds.def"

static const struct {
    const char *name, *doc;
    const struct tp_field *(*fields)(void);
} kinds[TP_KINDS] = {
#define MSG(NAME, kind, doc, fields) {#NAME, doc, kind##_fields},
#include "messages/kinds.def"
};

const struct tp_field *tp_kind_fields(enum tp_kind kind)
{
    return kinds[kind].fields();
}

const char *tp_kind_name(enum tp_kind kind)
{
    return kinds[kind].name;
}

const char *tp_kind_doc(enum tp_kind kind)
{
    return kinds[kind].doc;
}

#define OWNS_BOOL   0
#define OWNS_I32    0
#define OWNS_U32    0
#define OWNS_U64    0
#define OWNS_REF    0
#define OWNS_TENSOR 1
#define OWNS_ERROR  1

const bool tp_kind_owns[TP_KINDS] = {
#define F(TYPE, name)                || OWNS_##TYPE
#define MSG(NAME, kind, doc, fields) false fields,
#include "messages/kinds.def"
};

troupe_status tp_message_new(struct tp_message **out, enum tp_kind kind, troupe_error *err)
{
    struct tp_message *message = tp_alloc(sizeof *message);
    if (!message) return tp_fail_memory(err, sizeof *message);
    message->kind = (uint16_t)kind;
    *out = message;
    return TROUPE_OK;
}

void tp_message_destroy(struct tp_message **at)
{
    struct tp_message *message = *at;
    *at = NULL;
    if (!message) return;
    for (const struct tp_field *f = tp_kind_fields(message->kind); f->name; f++)
        if (tp_field_rows[f->type].drop)
            tp_field_rows[f->type].drop((char *)message + TP_BODY + f->offset);
    if (!message->fixed) tp_free(message);
}

bool tp_message_equal(const struct tp_message *a, const struct tp_message *b)
{
    if (a->kind != b->kind) return false;
    for (const struct tp_field *f = tp_kind_fields(a->kind); f->name; f++)
        if (!tp_field_rows[f->type].equal((const char *)a + TP_BODY + f->offset,
                                          (const char *)b + TP_BODY + f->offset))
            return false;
    return true;
}

void tp_message_show(const struct tp_message *message, struct tp_text *out)
{
    tp_text_add(out, "%s", tp_kind_name(message->kind));
    for (const struct tp_field *f = tp_kind_fields(message->kind); f->name; f++) {
        tp_text_add(out, " %s=", f->name);
        tp_field_rows[f->type].show((const char *)message + TP_BODY + f->offset, out);
    }
}
