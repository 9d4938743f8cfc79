/* SPDX-License-Identifier: MIT
 *
 * tests/crowd.h - several threads that use one runtime at once.
 *
 * Only the test's own thread checks; members note what they saw.
 */
#ifndef TP_TESTS_CROWD_H
#define TP_TESTS_CROWD_H

#include <pthread.h>

#include "tests/rehearsal.h"

#define THREADS 8
#define WAIT_MS 20000

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SLOWER 4
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

struct crowd {
    troupe_runtime *runtime;
    const troupe_function *f; /* function_over(2), in most tests */
    atomic_int go;            /* 1: begin; 2: stop */
    atomic_ullong call;       /* the one that others look at */
    atomic_int tickets;       /* what is left to do, of all members */
};

struct member {
    struct crowd *crowd;
    pthread_t thread;
    int index, rounds;
    uint64_t state;
    int ended, cancelled; /* callbacks */
    char wrong[300];      /* empty: nothing */
};

/* n_workers 3: they sleep at once, without looking for work first. */
troupe_runtime *crowd_open(const char *devices, int n_workers, size_t max_plans);
/* TROUPE_ROUNDS (make check-long), or as many as are usual, fewer under a sanitizer. */
int crowd_rounds(int usual);
void crowd_go(struct crowd *crowd, int go);
/* n members do `body` at once, to their end. */
void crowd_play(struct crowd *crowd, struct member *members, int n, int rounds,
                void *(*body)(void *));
/* Plans built so far; no call is in flight. */
uint64_t crowd_planned(const troupe_runtime *runtime);

/* Sleep until the crowd goes. */
void member_await(struct crowd *crowd);
void member_note(struct member *a, const char *what, const troupe_error *err);
uint32_t member_below(struct member *a, uint32_t n);
/* Stay awake for a random time below ns. */
void member_pause(struct member *a, uint32_t ns);
/* As row_of and ck_rows, without a check. */
troupe_tensor *member_row(float x);
bool member_right(troupe_tensor *const *results, float first);

/* A call that was started; its end is noted in the member. */
struct member_call {
    struct member *member;
    float x;
};
uint64_t member_start(struct member *a, troupe_caller *caller,
                      const troupe_call_options *options, struct member_call *started, float x);

#endif
