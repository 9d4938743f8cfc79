/* SPDX-License-Identifier: MIT
 *
 * tools/calls.h - one call, or many one after the other, with Ctrl-C and the progress line.
 */
#ifndef TP_TOOLS_CALLS_H
#define TP_TOOLS_CALLS_H

#include "tools/inputs.h"
#include "tools/model.h"
#include "tools/times.h"

/* What was called, and what came of it. Zeroed is valid and empty. A runtime that is still to
 * end a call writes here, so it is closed before this is finished. */
struct tp_calls {
    uint64_t made;           /* calls that ended well */
    uint64_t first_ns;       /* the first one plans and makes ready */
    struct tp_times times;   /* of the others; of the first when it is the only one */
    troupe_tensor **results; /* of the last call; the function's number of them */
    size_t n_results;
    troupe_report *report; /* on the last call, or on the one that failed; may be NULL */
    /* The call in hand: how it ended, and whether it is the one whose results are wanted. */
    troupe_error error;
    bool ended, last;
};

/* Call options->repeat times (0: once), until one fails or Ctrl-C cancels one. An exit status,
 * the failure has been said: TP_EXIT_INTERRUPTED after Ctrl-C. A second Ctrl-C ends the
 * process. */
int tp_calls_make(const struct tp_model *model, const struct tp_inputs *inputs,
                  const struct tp_options *options, struct tp_calls *out);
void tp_calls_fini(struct tp_calls *calls);

#endif
