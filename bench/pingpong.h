/* SPDX-License-Identifier: MIT
 *
 * bench/pingpong.h - what the machine itself takes to wake a thread, to compare thread changes
 * with.
 */
#ifndef TP_BENCH_PINGPONG_H
#define TP_BENCH_PINGPONG_H

#include "bench/bench.h"

/* Print machine.pingpong: there and back between two threads that sleep on futexes. */
void pingpong(struct bench *b);

#endif
