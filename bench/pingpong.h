/* SPDX-License-Identifier: MIT
 *
 * bench/pingpong.h - what the machine itself takes to wake a thread, to compare thread changes
 * with.
 */
#ifndef TP_BENCH_PINGPONG_H
#define TP_BENCH_PINGPONG_H

#include <stdatomic.h>

#include "bench/bench.h"

/* Sleep on a futex while *word is `value`; and set it and wake who sleeps there. */
void pingpong_wait_while(atomic_int *word, int value);
void pingpong_pass(atomic_int *word, int value);

/* bench_fn, without an argument: there and back between two threads that sleep on futexes. */
troupe_status pingpong_round_trips(void *arg, uint64_t times, troupe_error *err);
/* Print machine.pingpong. */
void pingpong(struct bench *b);

#endif
