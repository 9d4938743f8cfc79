/* SPDX-License-Identifier: MIT
 *
 * tools/times.h - least, median and greatest of any number of times, in memory of one size.
 */
#ifndef TP_TOOLS_TIMES_H
#define TP_TOOLS_TIMES_H

#include <stdint.h>

/* Times are counted in buckets, 512 to each power of two, so the median is exact to 0.2 %. */
enum { TP_TIMES_BITS = 9, TP_TIMES_BUCKETS = (64 - TP_TIMES_BITS + 1) << TP_TIMES_BITS };

/* Zeroed is valid and empty. */
struct tp_times {
    uint64_t n, least, greatest;
    uint64_t count[TP_TIMES_BUCKETS];
};

void tp_times_add(struct tp_times *times, uint64_t ns);
/* 0 when there is none. */
uint64_t tp_times_median(const struct tp_times *times);

#endif
