/* SPDX-License-Identifier: MIT
 *
 * base/probe.h - what only tests build in: faults on purpose, and points where threads are
 * paced.
 *
 * Neither costs anything in a build that does not ask for it. A fault has a row in
 * tests/mutants/mutants.tsv or tests/models/faults.tsv. A point stands before each operation by
 * which threads meet; the models in tests/models/ have a step of its name, and a schedule that
 * a model gives is followed by real threads (doc/decisions/0016).
 */
#ifndef TP_BASE_PROBE_H
#define TP_BASE_PROBE_H

#ifdef TP_MUTANT
#define TP_FAULT(number) (TP_MUTANT == (number))
#else
#define TP_FAULT(number) 0
#endif

#ifdef TP_PACED
/* Wait until the schedule says that this thread does the operation behind `point`. Threads that
 * the schedule does not know go on. The test defines both. */
void tp_probe(const char *point);
/* This thread may be kept in what comes next, until another lets it go. */
void tp_probe_away(void);
#define TP_PACE(point)  tp_probe(point)
#define TP_PACE_AWAY()  tp_probe_away()
#define TP_PACE_UNPACED 0
#else
#define TP_PACE(point)  ((void)0)
#define TP_PACE_AWAY()  ((void)0)
#define TP_PACE_UNPACED 1
#endif

#endif
