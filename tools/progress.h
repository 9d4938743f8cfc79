/* SPDX-License-Identifier: MIT
 *
 * tools/progress.h - one line on a terminal about work that takes longer than a second.
 *
 * It is written to standard error, only when that is a terminal, is renewed in place, and is
 * wiped when the work ends, so that nothing of it is left between the lines that stay.
 */
#ifndef TP_TOOLS_PROGRESS_H
#define TP_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_progress {
    bool terminal, shown;
    uint64_t start_ns; /* of the work */
    uint64_t next_ns;  /* not shown before */
};

/* Nanoseconds of the monotonic clock. */
uint64_t tp_progress_now(void);

void tp_progress_begin(struct tp_progress *progress);
/* True when it is time for a new line; cheap to ask at every turn. */
bool tp_progress_due(const struct tp_progress *progress);
/* Show "k of n calls", their rate and the time that remains; or for a single one, k of n steps
 * (n 0: it is not planned yet). */
void tp_progress_calls(struct tp_progress *progress, uint64_t k, uint64_t n);
void tp_progress_steps(struct tp_progress *progress, uint64_t k, uint64_t n);
/* Wipe the line. */
void tp_progress_end(struct tp_progress *progress);

#endif
