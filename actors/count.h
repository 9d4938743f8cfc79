/* SPDX-License-Identifier: MIT
 *
 * actors/count.h - when a call has ended, and with what: the one count for every way of a call.
 */
#ifndef TP_ACTORS_COUNT_H
#define TP_ACTORS_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "troupe/status.h"

struct tp_count {
    uint32_t outstanding; /* shards that have not ended */
    uint32_t failures;    /* shards that failed by themselves */
    bool failed;          /* cause is set */
    troupe_error cause;   /* the first failure */
};

static inline void tp_count_start(struct tp_count *count, uint32_t shards)
{
    count->outstanding = shards;
    count->failures = 0;
    count->failed = false;
}

/* Something failed; the first is the cause. True: this was it. */
bool tp_count_failed(struct tp_count *count, const troupe_error *error);

/* One shard has ended for good: nothing of it runs and nothing of it will come. True exactly
 * once: it was the last. */
static inline bool tp_count_ended(struct tp_count *count)
{
#if defined(TP_MUTANT) && TP_MUTANT == 1
    return count->outstanding-- && true;
#else
    return --count->outstanding == 0;
#endif
}

#endif
