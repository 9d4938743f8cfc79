/* SPDX-License-Identifier: MIT
 *
 * tests/rehearsal.h - runtimes for tests, in rehearsal or with threads, and what their calls
 * gave.
 *
 * In rehearsal one thread runs all actors, and a seed picks whose message is delivered next: a
 * test that loops over SEEDS tries as many orders, and a failure names its loop's number, the
 * seed.
 */
#ifndef TP_TESTS_REHEARSAL_H
#define TP_TESTS_REHEARSAL_H

#include "actors/runtime.h"
#include "tests/test.h"
#include "troupe/troupe.h"

#define SEEDS 500
/* A test for every seed, in loops of their own. */
#define tcase_add_seeds(tcase, test) tcase_add_loop_test(tcase, test, 0, SEEDS)
/* As test_run, in one process: thousands of forks take longer than all the seeds. CK_FORK=yes
 * tells which seed it is that ends the process. */
int rehearsal_run(Suite *s);

/* A runtime that is driven step by step. */
struct rehearsal {
    troupe_runtime *runtime;
    uint64_t state; /* of the generator for what the test itself chooses */
    size_t pieces;  /* of memory, before it was opened */
};
struct rehearsal rehearsal_open(uint64_t seed, const char *devices);
/* Close it; nothing of it is left in memory. */
void rehearsal_close(struct rehearsal *r);
/* Deliver one message. False: there is none. */
bool rehearsal_step(struct rehearsal *r);
/* At most n of them. */
void rehearsal_steps(struct rehearsal *r, uint32_t n);
/* Deliver all that there is and run the callbacks. */
void rehearsal_play(struct rehearsal *r);
uint32_t rehearsal_below(struct rehearsal *r, uint32_t n);

/* How one call ended. Zeroed: not yet. */
#define OUTCOME_RESULTS 8
struct outcome {
    int ended; /* callbacks that ran */
    troupe_error error;
    troupe_tensor *results[OUTCOME_RESULTS];
    size_t n;
    troupe_runtime *runtime; /* NULL, or: look whether all shards have stopped */
};
/* A troupe_done_fn; arg is a struct outcome. */
void outcome_note(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                  size_t n);
void outcome_clear(struct outcome *outcome);
/* Dispatch the runtime's own caller until no call is in flight: one dispatch plans for
 * 0.2 ms only. */
void dispatch_all(troupe_runtime *runtime);
/* Start a call whose end is noted in *outcome, and give its number. */
uint64_t outcome_call(troupe_runtime *runtime, const troupe_function *function,
                      const troupe_tensor *const *args, const troupe_call_options *options,
                      struct outcome *outcome);

/* The function `name` (NULL: the only one) of a text. */
troupe_function *function_of(const char *text, const char *name);
/* A value in text form. */
troupe_tensor *value_of(const char *text);
/* The value is the one that the text says. */
void ck_value(const troupe_tensor *value, const char *text);

/* x: f32[4] -> y = 2xx + 2x, z = 2xx + x - 1, over cpu:0 to cpu:n-1 with several edges. */
troupe_function *function_over(int devices);
/* f32[4] of x, and the two results of function_over for it. */
troupe_tensor *row_of(float x);
void ck_rows(troupe_tensor *const *results, float x);

/* Over cpu:0 to cpu:3, y = 2xx + 3x. It fails when ok is false (INVALID, "the lights are out",
 * on cpu:1), when d is 0 (INVALID, "division by zero", on cpu:2), and when s is no shape of 4
 * elements (INVALID, "'r'", on cpu:3). */
troupe_function *function_fragile(void);
#define FRAGILE_ARGS 4
enum { FRAGILE_ASSERT = 1, FRAGILE_DIV = 2, FRAGILE_RESHAPE = 4 };
/* Its arguments, the caller's, with those faults. */
void fragile_args(const troupe_tensor **args, float x, unsigned faults);
void fragile_release(const troupe_tensor **args);
void ck_fragile(const struct outcome *outcome, float x);

#endif
