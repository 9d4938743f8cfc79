/* SPDX-License-Identifier: MIT
 *
 * base/fiber.h - a function on a stack of its own, which pauses where it stands.
 *
 * It runs on whatever thread resumes it, on one at a time, until it pauses or ends. Where the
 * system cannot do that (no makecontext) it runs to its end the first time, and pausing does
 * nothing.
 */
#ifndef TP_BASE_FIBER_H
#define TP_BASE_FIBER_H

#include <stdbool.h>

#include "troupe/status.h"

struct tp_fiber;

/* Nothing runs before it is resumed. EXHAUSTED: no memory for the stack. */
troupe_status tp_fiber_new(struct tp_fiber **out, void (*body)(void *arg), void *arg,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* It has never run, or it has ended. */
void tp_fiber_destroy(struct tp_fiber **fiber);
/* Run it, or go on where it paused. True: it has ended. Not from inside a fiber. */
bool tp_fiber_resume(struct tp_fiber *fiber);
/* From inside its body: go back to who resumed it. */
void tp_fiber_pause(struct tp_fiber *fiber);

#endif
