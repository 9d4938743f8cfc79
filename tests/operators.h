/* SPDX-License-Identifier: MIT
 *
 * tests/operators.h - operators as a user would write them, and one that misbehaves on demand.
 */
#ifndef TP_TESTS_OPERATORS_H
#define TP_TESTS_OPERATORS_H

#include <stdatomic.h>

#include "tests/stand.h"
#include "troupe/troupe.h"

/* What an operator is given as `user`, and what was done with it. */
struct mine {
    atomic_int shapes, prepares, releases, runs, frees;
    troupe_runtime *runtime; /* run tries what it must not do with it */
    const troupe_function *function;
    int fault;                /* of enum fault, for mine.Bad */
    const void *read, *wrote; /* by the last run: input 0, result 0 */
};

enum fault {
    FAULT_NONE,
    FAULT_SHAPE_FAILS,
    FAULT_SHAPE_RANK,
    FAULT_SHAPE_DIM,
    FAULT_SHAPE_TYPE,
    FAULT_SHAPE_HUGE,
    FAULT_SHAPE_CHANGES, /* from the second time on */
    FAULT_PREPARE_FAILS,
    FAULT_RUN_FAILS,
    FAULT_RUN_SILENT,   /* a failure without a text */
    FAULT_RUN_POSITIVE, /* 7 */
    FAULT_RUN_UNKNOWN,  /* -77 */
    FAULT_RUN_BEHIND,   /* the rest: seen by `checked` alone */
    FAULT_RUN_BEFORE,
    FAULT_RUN_NOTHING,
    FAULT_RUN_INPUT,
};

/* Rows. y = factor * x for f32, with a state, the attribute `factor` (2), in place. */
troupe_operator_row row_scale(struct mine *mine);
/* (x: f32[n]) -> (y: f32[?], n: i64[]): the elements above 0, made, and how many. */
troupe_operator_row row_positive(struct mine *mine);
/* (x: string[n]) -> (y: string[n]): each with "!" behind it; given. */
troupe_operator_row row_shout(struct mine *mine);
/* (x: f32[n]) -> (y: i64[]): how often it ran before; an effect. */
troupe_operator_row row_tick(struct mine *mine);
/* (x: f32...) -> (y: f32): the sum of all inputs, which have one shape. */
troupe_operator_row row_sum(struct mine *mine);
/* (x: f32[n]) -> (y: f32[n]), a copy, but for mine->fault. */
troupe_operator_row row_bad(struct mine *mine);

/* A set of all of them, with one `mine`. */
troupe_operators *operators_all(struct mine *mine);
/* A library with that set. */
troupe_library *library_of(const troupe_operators *operators);
/* The function of a text, read into a library with that set. */
troupe_function *function_with(const troupe_operators *operators, const char *text);
/* A runtime with that set. */
troupe_runtime *runtime_with(const troupe_operators *operators, const char *devices,
                             int workers);

/* A set, a function with it and a runtime. */
struct trial {
    struct mine mine;
    troupe_operators *set;
    troupe_function *f;
    struct stand stand;
};
/* With all operators; or with those of trial->set. */
void trial_open(struct trial *t, const char *text, const char *devices, int n_workers);
void trial_set(struct trial *t, const char *text, const char *devices, int n_workers);
/* Everything is freed at the end, and not before. */
void trial_close(struct trial *t);
/* A set of one row. */
troupe_operators *operators_of(troupe_operator_row row);

#endif
