/* SPDX-License-Identifier: MIT
 *
 * tools/times.c - a histogram of times.
 */
#include "tools/times.h"

enum { PER_OCTAVE = 1 << TP_TIMES_BITS };

/* Times below PER_OCTAVE have a bucket each; above, the highest bit chooses the octave and the
 * bits behind it the bucket. */
static unsigned bucket_of(uint64_t ns)
{
    if (ns < PER_OCTAVE) return (unsigned)ns;
    const unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - TP_TIMES_BITS;
    return (shift << TP_TIMES_BITS) + (unsigned)(ns >> shift);
}

/* The least time of a bucket. */
static uint64_t time_of(unsigned bucket)
{
    if (bucket < 2 * PER_OCTAVE) return bucket;
    const unsigned shift = (bucket >> TP_TIMES_BITS) - 1;
    return (uint64_t)(bucket - (shift << TP_TIMES_BITS)) << shift;
}

void tp_times_add(struct tp_times *times, uint64_t ns)
{
    if (times->n == 0 || ns < times->least) times->least = ns;
    if (ns > times->greatest) times->greatest = ns;
    times->n++;
    times->count[bucket_of(ns)]++;
}

uint64_t tp_times_median(const struct tp_times *times)
{
    uint64_t before = 0;
    for (unsigned i = 0; i < TP_TIMES_BUCKETS && times->n; i++) {
        before += times->count[i];
        if (2 * before < times->n) continue;
        const uint64_t time = time_of(i);
        return time < times->least ? times->least : time;
    }
    return 0;
}
