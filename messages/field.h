/* SPDX-License-Identifier: MIT
 *
 * messages/field.h - the types that a message's field can have: a row each.
 */
#ifndef TP_MESSAGES_FIELD_H
#define TP_MESSAGES_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "troupe/tensor.h"

/* TYPE, C type, what it is. */
#define TP_FIELD_MAP(X)                                                                        \
    X(BOOL, bool, "true or false")                                                             \
    X(I32, int32_t, "a signed number of 32 bits")                                              \
    X(U32, uint32_t, "a number of 32 bits")                                                    \
    X(U64, uint64_t, "a number of 64 bits")                                                    \
    X(REF, void *, "an object of this process, borrowed")                                      \
    X(TENSOR, troupe_tensor *, "a tensor, owned, or none")                                     \
    X(ERROR, troupe_error *, "a failure, owned, from tp_alloc, or none")

#define X(name, type, doc) typedef type tp_field_##name;
TP_FIELD_MAP(X)
#undef X

enum tp_field_type {
#define X(name, type, doc) TP_FIELD_##name,
    TP_FIELD_MAP(X)
#undef X
        TP_FIELD_TYPES
};

struct tp_field_row {
    const char *name, *doc;
    size_t size;
    void (*drop)(void *field); /* NULL: holds nothing */
    void (*show)(const void *field, struct tp_text *out);
    bool (*equal)(const void *a, const void *b); /* what they hold, too */
};
extern const struct tp_field_row tp_field_rows[TP_FIELD_TYPES];

#endif
