/* SPDX-License-Identifier: MIT
 *
 * base/pace.h - long work that looks up now and then.
 *
 * Who does the work says `one more` for each small piece of it; who gave the pace is asked
 * after every `each` of them, and may stop the work or let others go first. No pace (NULL): to
 * the end in one go.
 */
#ifndef TP_BASE_PACE_H
#define TP_BASE_PACE_H

#include <stdint.h>

#include "base/fail.h"

struct tp_pace {
    /* Below 0: give up; the work ends with that failure. */
    troupe_status (*look)(struct tp_pace *pace, troupe_error *err);
    uint32_t each; /* pieces from one look to the next */
    uint32_t done; /* since the last one */
};

/* One more piece is about to be done. */
static inline troupe_status tp_pace(struct tp_pace *pace, troupe_error *err)
{
    if (TP_LIKELY(!pace || ++pace->done < pace->each)) return TROUPE_OK;
    pace->done = 0;
    return pace->look(pace, err);
}

#endif
