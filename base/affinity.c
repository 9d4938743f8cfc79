/* SPDX-License-Identifier: MIT
 *
 * base/affinity.c - sets of CPUs: as text, the allowed ones, pinning a thread, and which to
 * choose.
 *
 * hwloc is opened when it is first asked for, since it takes longer to start than all of ours.
 */
#include "base/affinity.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef TP_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "base/fail.h"

/* -- Text ---------------------------------------------------------------------------------- */

/* A number at *at, which is moved behind it; below 0: none, or too high. */
static int read_number(const char **at)
{
    int n = 0;
    if (!isdigit((unsigned char)**at)) return -1;
    for (; isdigit((unsigned char)**at); (*at)++) {
        n = n * 10 + (**at - '0');
        if (n >= CPU_SETSIZE) return -1;
    }
    return n;
}

troupe_status tp_cpus_read(const char *text, struct tp_cpus *out, troupe_error *err)
{
    struct tp_cpus cpus = {0};
    for (const char *at = text;; at++) {
        int from = read_number(&at), to = from;
        if (from >= 0 && *at == '-') {
            at++;
            to = read_number(&at);
        }
        if (from < 0 || to < from || (*at && *at != '+'))
            return tp_fail(err, TROUPE_INVALID,
                           "'%s' is no list of CPUs like 0-3+8, of numbers up to %d", text,
                           CPU_SETSIZE - 1);
        for (int cpu = from; cpu <= to; cpu++)
            CPU_SET(cpu, &cpus.set);
        if (!*at) break;
    }
    *out = cpus;
    return TROUPE_OK;
}

void tp_cpus_show(const struct tp_cpus *cpus, char *out, size_t size)
{
    char all[CPU_SETSIZE * 5 + 1] = "";
    size_t n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &cpus->set)) continue;
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus->set))
            last++;
        n += (size_t)snprintf(all + n, sizeof(all) - n, last > cpu ? "%s%d-%d" : "%s%d",
                              n ? "+" : "", cpu, last);
        cpu = last;
    }
    if (n < size)
        memcpy(out, all, n + 1);
    else if (size > 3)
        snprintf(out, size, "%.*s...", (int)size - 4, all);
}

/* -- Threads ------------------------------------------------------------------------------- */

void tp_cpus_allowed(struct tp_cpus *out)
{
    if (sched_getaffinity(0, sizeof out->set, &out->set)) CPU_ZERO(&out->set);
}

bool tp_cpus_pin(const struct tp_cpus *cpus)
{
    return sched_setaffinity(0, sizeof cpus->set, &cpus->set) == 0;
}

/* -- Order --------------------------------------------------------------------------------- */

static int by_number(const struct tp_cpus *allowed, int *out)
{
    int n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed->set)) out[n++] = cpu;
    return n;
}

#ifdef TP_HAVE_HWLOC
#define HWLOC_FUNCTIONS(X)                                                                     \
    X(hwloc_topology_init)                                                                     \
    X(hwloc_topology_load)                                                                     \
    X(hwloc_topology_destroy)                                                                  \
    X(hwloc_get_type_depth)                                                                    \
    X(hwloc_get_obj_by_depth)                                                                  \
    X(hwloc_bitmap_next)

struct hwloc {
    void *library;
#define X(name) __typeof__(&name) name;
    HWLOC_FUNCTIONS(X)
#undef X
};

/* Where the kernel does not tell of the CPUs, as in a container without /sys, hwloc finds out
 * nothing and writes that to standard error. */
#define KERNEL_TELLS "/sys/devices/system/cpu/cpu0/topology"

static bool hwloc_open(struct hwloc *h)
{
    void *found;
    if (access(KERNEL_TELLS, R_OK) != 0) return false;
    h->library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!h->library) return false;
#define X(name)                                                                                \
    found = dlsym(h->library, #name);                                                          \
    if (!found) {                                                                              \
        dlclose(h->library);                                                                   \
        return false;                                                                          \
    }                                                                                          \
    memcpy(&h->name, &found, sizeof found);
    HWLOC_FUNCTIONS(X)
#undef X
    return true;
}

/* The i-th CPU of a core, or -1. */
static int cpu_of(const struct hwloc *h, hwloc_obj_t core, int i)
{
    int cpu = h->hwloc_bitmap_next(core->cpuset, -1);
    while (cpu >= 0 && i-- > 0)
        cpu = h->hwloc_bitmap_next(core->cpuset, cpu);
    return cpu;
}

/* The first CPU of every core in hwloc's order, which goes by what they share, then the second
 * ones, and so on. */
static int by_cores(const struct hwloc *h, hwloc_topology_t topology,
                    const struct tp_cpus *allowed, int *out)
{
    int depth = h->hwloc_get_type_depth(topology, HWLOC_OBJ_CORE), n = 0;
    for (int i = 0, any = 1; depth >= 0 && any; i++) {
        any = 0;
        hwloc_obj_t core;
        for (unsigned c = 0; (core = h->hwloc_get_obj_by_depth(topology, depth, c)); c++) {
            int cpu = cpu_of(h, core, i);
            any |= cpu >= 0;
            if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed->set)) out[n++] = cpu;
        }
    }
    return n;
}

static int order_by_hwloc(const struct tp_cpus *allowed, int *out)
{
    struct hwloc h;
    hwloc_topology_t topology;
    int n = 0;
    if (!hwloc_open(&h)) return 0;
    if (!h.hwloc_topology_init(&topology)) {
        if (!h.hwloc_topology_load(topology)) n = by_cores(&h, topology, allowed, out);
        h.hwloc_topology_destroy(topology);
    }
    dlclose(h.library);
    return n;
}

bool tp_cpus_know_cores(void)
{
    struct hwloc h;
    if (!hwloc_open(&h)) return false;
    dlclose(h.library);
    return true;
}
#else
static int order_by_hwloc(const struct tp_cpus *allowed, int *out)
{
    (void)allowed, (void)out;
    return 0;
}

bool tp_cpus_know_cores(void)
{
    return false;
}
#endif

int tp_cpus_order(const struct tp_cpus *allowed, int *out)
{
    int n = order_by_hwloc(allowed, out);
    /* hwloc knows fewer: it does not describe this machine. */
    return n == tp_cpus_count(allowed) ? n : by_number(allowed, out);
}
