/* SPDX-License-Identifier: MIT
 *
 * bench/life.h - what a runtime costs before its first result and when nothing is asked of it.
 *
 * A program that measures starts runs itself again with the argument --child; its main gives
 * that process to a function which makes everything, has one result, and calls life_report.
 */
#ifndef TP_BENCH_LIFE_H
#define TP_BENCH_LIFE_H

#include <stdbool.h>

#include "bench/bench.h"

/* Was this process started by life_starts? */
bool life_is_child(int argc, char **argv);
/* In the child: the first result is there. Tells the parent, with the resident memory. */
void life_report(void);
/* Print the lines start.first (from fork to the first result) and start.rss, with `suffix`
 * behind their names. */
void life_starts(struct bench *b, const char *suffix);
/* Print the lines idle.cpu and idle.switches: the CPU time that this process uses, and how
 * often its threads go to sleep, in five seconds from 100 ms after the last call. */
void life_idles(struct bench *b, const char *suffix);

#endif
