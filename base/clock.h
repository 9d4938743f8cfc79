/* SPDX-License-Identifier: MIT
 *
 * base/clock.h - monotonic time.
 */
#ifndef TP_BASE_CLOCK_H
#define TP_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. About 25 ns. */
uint64_t tp_clock_ns(void);

/* A cheap counter for estimates, never for deadlines: the processor's time stamp where it has
 * an invariant one, else the clock. About 10 ns. */
uint64_t tp_ticks(void);
/* Begin to measure how long a tick is: what asks for it 0.1 ms later need not wait. */
void tp_ticks_begin(void);
/* Nanoseconds in `ticks`; measured once, when first asked, since tp_ticks_begin or for 0.1 ms. */
uint64_t tp_ticks_ns(uint64_t ticks);

#endif
