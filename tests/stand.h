/* SPDX-License-Identifier: MIT
 *
 * tests/stand.h - a runtime with what its last run gave, and arguments as text.
 */
#ifndef TP_TESTS_STAND_H
#define TP_TESTS_STAND_H

#include "tests/rehearsal.h"

#define STAND_RESULTS 8
#define LOCAL         "/job:local/task:0/device:"

struct stand {
    troupe_runtime *runtime;
    troupe_tensor *results[STAND_RESULTS];
    size_t n;
    troupe_error err; /* of the last run */
};

struct stand stand_open(const char *devices, int workers);
void stand_close(struct stand *s);

/* Run with arguments in text form, "" for one that is left to its default. */
troupe_status run_texts(struct stand *s, const troupe_function *f, const char *const *texts,
                        size_t n_texts, const troupe_call_options *options);
#define RUN(s, f, options, ...)                                                                \
    run_texts(s, f, (const char *const[]){__VA_ARGS__},                                        \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), options)
/* The run worked. */
void ck_ran(const struct stand *s, troupe_status status);
/* A tensor of one string. */
void ck_text(const troupe_tensor *value, const char *text);

/* Plans built so far. */
uint64_t stand_planned(const struct stand *s);
/* The device where a call with these options makes result i; NULL: it goes back untouched. */
const char *stand_result_device(const struct stand *s, const troupe_function *f,
                                const troupe_call_options *options, uint32_t i);

#endif
