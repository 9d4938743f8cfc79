/* SPDX-License-Identifier: MIT
 *
 * bench/bench.h - measure something in batches, and print one line of figures about it.
 *
 * A line is `name  median  min  max  unit`. The name of a peer's line ends with "@PEER"; what
 * stands before it is the name of our own line for the same work, so that bench/run can divide
 * one by the other. Each program of this folder is one process that prints some lines;
 * bench/run starts all of them several times and prints the figures of all processes together.
 */
#ifndef TP_BENCH_BENCH_H
#define TP_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "troupe/status.h"

#define BENCH_MAX_BATCHES 1000
#define BENCH_SKIPPED     77 /* exit status: what was to be measured is not here */

struct bench {
    const char *program; /* for messages */
    int batches;         /* figures that a line is made of */
    double batch_ms;     /* a batch repeats its work until it takes about this long */
    int cpu;             /* the CPU that the process is pinned to; -1: none */
    const char *only;    /* measure only names that contain this; NULL: all */
    bool raw;            /* print all figures, for bench/run */
    int counter;         /* descriptor of the instruction counter; -1: not counted */
    int failures;        /* lines that could not be measured */
};

/* Read the options that every program of this folder has; ends the process after --help and on
 * a usage error. Pins the process when told to. */
void bench_open(struct bench *b, int argc, char **argv);
/* The process's exit status. */
int bench_close(struct bench *b);
/* End the process with one line that says what is not here to be measured. */
_Noreturn void bench_skip(const struct bench *b, const char *fmt, ...) TROUPE_PRINTF(2, 3);

/* Do the work `times` times, one after the other. */
typedef troupe_status bench_fn(void *arg, uint64_t times, troupe_error *err);

struct bench_work {
    const char *name;
    const char *unit; /* "ns", "us" or "ms" */
    double per;       /* how many things one time does, when the figure is for one; 0: 1 */
    unsigned
        pause_us; /* sleep before each time, outside of what is measured; 0: back to back */
    bench_fn *fn;
    void *arg;
};

/* Is a line of that name wanted? */
bool bench_wants(const struct bench *b, const char *name);
/* Print the line of a work: its time, and with --count its instructions ("NAME.instructions").
 */
void bench_time(struct bench *b, const struct bench_work *work);
/* Print how long the work takes the first time in this process: a line of one figure. */
void bench_first(struct bench *b, const struct bench_work *work);
/* Print how many times faster `fast` does a thing than `slow` (unit "x"); their batches take
 * turns, so that a change of the machine's speed meets both. Names and units of the two are not
 * used. */
void bench_speedup(struct bench *b, const char *name, const struct bench_work *slow,
                   const struct bench_work *fast);
/* Print a line of figures that were measured otherwise. */
void bench_line(const struct bench *b, const char *name, const char *unit, const double *values,
                size_t n);
/* Say on standard error why a line is missing. */
void bench_failed(struct bench *b, const char *name, const troupe_error *err);

/* Fill *err and return code. */
troupe_status bench_fail(troupe_error *err, troupe_status code, const char *fmt, ...)
    TROUPE_PRINTF(3, 4);

uint64_t bench_now_ns(void);

struct bench_summary {
    double median, min, max;
};
/* Sorts values[0..n), n above 0. */
struct bench_summary bench_summarise(double *values, size_t n);
/* Print the form of a line that people read. */
void bench_print(FILE *out, const char *name, const char *unit,
                 const struct bench_summary *summary);
/* Write a figure with about four digits. */
void bench_show(double value, char text[32]);

#endif
