/* SPDX-License-Identifier: MIT
 *
 * base/guest.h - is this thread in a function of the user's, and in which kind?
 *
 * What waits must not be called from there: the work that it would wait for may be runnable on
 * this very thread, or be what called.
 */
#ifndef TP_BASE_GUEST_H
#define TP_BASE_GUEST_H

enum tp_guest {
    TP_GUEST_NONE,
    TP_GUEST_CALLBACK, /* of a call that has ended: it may start calls and cancel them */
    TP_GUEST_OPERATOR, /* a callback of an operator: it may only cancel */
};

/* Of the calling thread, in any runtime. */
extern _Thread_local enum tp_guest tp_guest_now __attribute__((tls_model("initial-exec")));

/* Returns what was before, for tp_guest_leave. */
static inline enum tp_guest tp_guest_enter(enum tp_guest guest)
{
    const enum tp_guest before = tp_guest_now;
    tp_guest_now = guest;
    return before;
}

static inline void tp_guest_leave(enum tp_guest before)
{
    tp_guest_now = before;
}

#endif
