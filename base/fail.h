/* SPDX-License-Identifier: MIT
 *
 * base/fail.h - raise a failure once, add context on its way up.
 *
 * A failure crosses threads and machines, so it is plain data: see troupe/status.h. A message
 * names the thing and the numbers, and has no full stop. Context is added where a new name
 * becomes known, not at every level.
 */
#ifndef TP_BASE_FAIL_H
#define TP_BASE_FAIL_H

#include <stdarg.h>

#include "troupe/status.h"

/* Fill *err (which may be NULL) and return code: one line both says and leaves. */
troupe_status tp_fail(troupe_error *err, troupe_status code, const char *fmt, ...)
    TROUPE_PRINTF(3, 4);
troupe_status tp_failv(troupe_error *err, troupe_status code, const char *fmt, va_list args)
    TROUPE_PRINTF(3, 0);

/* Put "who: " before the text already in *err; returns err->code. With err NULL: INTERNAL is
 * never made up, the caller passes on the status that it has instead. */
void tp_fail_in(troupe_error *err, const char *fmt, ...) TROUPE_PRINTF(2, 3);

/* What the errno of an open, a read or a write means for a caller: NOT_FOUND, EXHAUSTED
 * (memory, descriptors, room on the disk), DEVICE for what the disk could not do, else
 * INVALID. */
troupe_status tp_fail_code(int number);

/* Leave the function with the failure of expr. Positive outcomes do not leave. The only macro
 * that returns. */
#define TP_TRY(expr)                                                                           \
    do {                                                                                       \
        troupe_status tp_try_ = (expr);                                                        \
        if (tp_try_ < 0) return tp_try_;                                                       \
    } while (0)

/* A local owner: destroy(&variable) runs when the variable goes out of scope. */
#define TP_OWNED(destroy) __attribute__((cleanup(destroy)))

#define TP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define tp_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define TP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define TP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TP_COLD        __attribute__((cold, noinline)) /* a function hardly ever called */

/* Something only our own code can break: print it and abort. On unless --disable-assert. Never
 * for what comes from a caller, a file, a peer, the allocator or a driver. */
#ifdef TP_NO_ASSERT
#define tp_assert(expr) ((void)sizeof(!(expr)))
#else
#define tp_assert(expr) ((expr) ? (void)0 : tp_assert_failed(#expr, __FILE__, __LINE__))
#endif
_Noreturn void tp_assert_failed(const char *expr, const char *file, int line);

#endif
