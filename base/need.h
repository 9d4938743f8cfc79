/* SPDX-License-Identifier: MIT
 *
 * base/need.h - pointers that a caller of a public function must give.
 */
#ifndef TP_BASE_NEED_H
#define TP_BASE_NEED_H

#include "base/fail.h"

/* INVALID: it is NULL. `name` is the argument's in the public header. */
static inline troupe_status tp_need(const void *pointer, const char *name, troupe_error *err)
{
    if (TP_LIKELY(pointer != NULL)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "the argument '%s' is NULL", name);
}

/* As above for a list of n. */
static inline troupe_status tp_need_list(const void *pointer, size_t n, const char *name,
                                         troupe_error *err)
{
    if (TP_LIKELY(pointer != NULL || n == 0)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "the argument '%s' is NULL, and is to have %zu", name,
                   n);
}

#endif
