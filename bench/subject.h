/* SPDX-License-Identifier: MIT
 *
 * bench/subject.h - a runtime, a function and its arguments: what is measured, ready to be
 * called.
 */
#ifndef TP_BENCH_SUBJECT_H
#define TP_BENCH_SUBJECT_H

#include "bench/bench.h"
#include "troupe/troupe.h"

#define SUBJECT_ARGS    4
#define SUBJECT_RESULTS 2
#define SUBJECT_CHAIN   1000

/* Two CPU devices of one thread each: the one configuration of all lines about devices. */
#define TWO_CPUS "cpu:0(threads=1),cpu:1(threads=1)"

/* Zeroed is valid and empty. Functions of one runtime may be called by several subjects. */
struct subject {
    troupe_runtime *runtime; /* borrowed */
    troupe_function *function;
    troupe_tensor *args[SUBJECT_ARGS];
    size_t n_args, n_results;
    const troupe_call_options *options; /* borrowed; NULL: none */
};

/* Open a runtime with these devices and so many workers (TROUPE_AUTO, or 0: without). */
troupe_status subject_runtime(troupe_runtime **out, const char *devices, int workers,
                              troupe_error *err);
typedef troupe_status subject_fn(struct subject *s, troupe_runtime *runtime, troupe_error *err);
/* Each takes an empty subject and makes it ready. A failure leaves it empty.
 * One Add on 16 floats. */
troupe_status subject_one(struct subject *s, troupe_runtime *runtime, troupe_error *err);
/* On 16 floats over two devices: Add here, Mul there, Add here. */
troupe_status subject_two(struct subject *s, troupe_runtime *runtime, troupe_error *err);
/* n graph nodes in a row on 16 floats: Add, Mul, Add, ...; node i is on cpu:(i % devices). */
troupe_status subject_chain(struct subject *s, troupe_runtime *runtime, int n, int devices,
                            troupe_error *err);
/* The same as blocks of `block` graph nodes, each on the next of so many devices. */
troupe_status subject_blocks(struct subject *s, troupe_runtime *runtime, int n, int block,
                             int devices, troupe_error *err);
/* Chains of SUBJECT_CHAIN graph nodes: on one device, and alternating between two. */
troupe_status subject_long_chain(struct subject *s, troupe_runtime *runtime, troupe_error *err);
troupe_status subject_alternating(struct subject *s, troupe_runtime *runtime,
                                  troupe_error *err);
/* Two rows, independent of each other, of `products` products of size x size matrices; the
 * second one is on cpu:second. */
troupe_status subject_shards(struct subject *s, troupe_runtime *runtime, int size, int products,
                             int second, troupe_error *err);
/* A model from a file, with one argument of the given shape. */
troupe_status subject_model(struct subject *s, troupe_runtime *runtime, const char *path,
                            int rank, const int64_t *dims, troupe_error *err);
void subject_release(struct subject *s);

/* bench_fn on a struct subject: troupe_run. */
troupe_status subject_run(void *arg, uint64_t times, troupe_error *err);
/* The same for one call. */
troupe_status subject_run_once(const struct subject *s, troupe_error *err);

#endif
