/* SPDX-License-Identifier: MIT
 *
 * base/rest.h - structs that begin with their size, from programs with a newer header.
 *
 * Linux's clone3 and openat2 do the same: what is behind the part that is known here must be
 * zero, since what it asks for would not be done.
 */
#ifndef TP_BASE_REST_H
#define TP_BASE_REST_H

#include "base/fail.h"

/* INVALID: one of the bytes from `known` up to `size` is not 0. */
static inline troupe_status tp_rest_check(const void *object, size_t size, size_t known,
                                          const char *name, troupe_error *err)
{
    const unsigned char *bytes = object;
    for (size_t i = known; i < size; i++)
        if (bytes[i])
            return tp_fail(err, TROUPE_INVALID,
                           "%s.size is %zu, not %zu, and byte %zu of it is not 0: this library "
                           "does not know what that asks for",
                           name, size, known, i);
    return TROUPE_OK;
}

#endif
