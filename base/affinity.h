/* SPDX-License-Identifier: MIT
 *
 * base/affinity.h - sets of CPUs: as text, the allowed ones, pinning a thread, and which to
 * choose.
 */
#ifndef TP_BASE_AFFINITY_H
#define TP_BASE_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

#define TP_CPUS_TEXT 256 /* bytes of a set as text; a longer one ends with "..." */

/* A set of CPUs by the system's numbers, 0 to CPU_SETSIZE - 1. Zeroed: empty. */
struct tp_cpus {
    cpu_set_t set;
};

/* "0-3+8" is CPUs 0, 1, 2, 3 and 8. INVALID: malformed, or a number that is too high. */
troupe_status tp_cpus_read(const char *text, struct tp_cpus *out,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_cpus_show(const struct tp_cpus *cpus, char *out, size_t size);
static inline int tp_cpus_count(const struct tp_cpus *cpus)
{
    return CPU_COUNT(&cpus->set);
}

/* Those that the calling thread may run on. Empty when the system does not say. */
void tp_cpus_allowed(struct tp_cpus *out);
/* Keep the calling thread to them. False: the system refused. */
bool tp_cpus_pin(const struct tp_cpus *cpus);

/* The CPUs of `allowed` in the order in which they are to be given out: one of each core first,
 * neighbours side by side, by hwloc where it is there; else by number. out has room for
 * CPU_SETSIZE; how many. */
int tp_cpus_order(const struct tp_cpus *allowed, int *out);
/* hwloc was found when this was built and opens now, and the kernel tells it of the CPUs (/sys):
 * the order knows cores. */
bool tp_cpus_know_cores(void);

/* Bytes of memory that the process may use by its cgroup, 0: no limit. Reads files. */
uint64_t tp_memory_limit(void);
/* The same by the groups listed in the file `groups`, their folders being below `mount`. */
uint64_t tp_memory_quota(const char *groups, const char *mount);

#endif
