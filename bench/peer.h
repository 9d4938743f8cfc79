/* SPDX-License-Identifier: MIT
 *
 * bench/peer.h - where the libraries and models of peers are found.
 *
 * bench/peers.sh puts them into one folder, by default peers/ in the build folder, where
 * `make bench` runs; the environment variable TROUPE_PEERS names another one.
 */
#ifndef TP_BENCH_PEER_H
#define TP_BENCH_PEER_H

#include <stddef.h>

#include "bench/bench.h"

/* Open a shared library: the one that the environment variable names, else the first that
 * matches `pattern` in the peers' folder, else `soname` from the system. Ends the process with
 * BENCH_SKIPPED when there is none. */
void *peer_library(const struct bench *b, const char *variable, const char *pattern,
                   const char *soname);
/* The address of a function of it; ends the process with BENCH_SKIPPED when it has none. */
void *peer_symbol(const struct bench *b, void *library, const char *name);
/* The path of a file in the peers' folder; ends the process with BENCH_SKIPPED when it is not
 * there. */
void peer_file(const struct bench *b, const char *name, char *path, size_t size);

#endif
