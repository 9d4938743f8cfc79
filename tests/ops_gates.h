/* SPDX-License-Identifier: MIT
 *
 * tests/ops_gates.h - operators that tell when they run and wait where a test wants it, instead
 * of kernels/.
 *
 * Each takes x: f32[...] and gives y with the same elements. Those with an attribute id note it,
 * in the order in which they began.
 *
 *   Note(x, id=1)    nothing else
 *   Heavy(x, id=1)   is estimated to take a millisecond, and takes none
 *   Slow(x, id=1)    takes 150 us, and is estimated to take none
 *   Hold(x, id=1)    returns when gates.pass(gates.arg) says so
 *   Fail(x, id=1)    fails: DEVICE, "made to fail"
 *   Meet(x)          returns when gates.party of them have come, or after 20 ms; takes 300 us
 */
#ifndef TP_TESTS_OPS_GATES_H
#define TP_TESTS_OPS_GATES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GATES_LOG 100000

struct gates {
    /* What ran: gates.n ids, and when each began (tp_clock_ns). */
    atomic_int n;
    atomic_int id[GATES_LOG];
    uint64_t at[GATES_LOG];
    /* Hold waits for it. */
    bool (*pass)(void *arg);
    void *arg;
    /* Meet's. */
    int party;
    atomic_int inside, most, met; /* inside now, at most so far, and how many have come */
};
extern struct gates gates;

void gates_clear(void);
/* How many have noted that id. */
int gates_count(int id);

#endif
