/* SPDX-License-Identifier: MIT
 *
 * base/cpus.c - what this process may use: CPUs by its affinity and its cgroup, memory by its
 * cgroup.
 *
 * A quota may be set at any level of the group's path, so every level is read and the smallest
 * counts. Inside a container the path that the kernel names may not exist below the mount; the
 * levels that do exist are then the container's own.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/affinity.h"
#include "base/alloc.h"
#include "base/thread.h"

#define PATH_SIZE 4096
#define MAX_CPUS  (1 << 20) /* where growing the kernel's mask ends */

/* At least one CPU for a quota that is a part of one. */
static uint64_t whole_cpus(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    const long long n = quota / period + (quota % period != 0);
    return n > MAX_CPUS ? MAX_CPUS : (uint64_t)n;
}

/* Of two limits, 0 being none. */
static uint64_t tighter(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0) return a ? a : b;
    return a < b ? a : b;
}

/* The file's first line in text; false when it cannot be read. */
static bool read_line(const char *folder, const char *name, char *text, int size)
{
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    const bool read = fgets(text, size, file) != NULL;
    fclose(file);
    return read;
}

/* Version 2: "max 100000" or "150000 100000". */
static uint64_t quota_v2(const char *folder)
{
    char text[64];
    long long quota = 0, period = 0;
    if (!read_line(folder, "cpu.max", text, sizeof(text))) return 0;
    if (sscanf(text, "%lld %lld", &quota, &period) != 2) return 0;
    return whole_cpus(quota, period);
}

/* Version 1: two files; a quota of -1 is none. */
static uint64_t quota_v1(const char *folder)
{
    char quota[64], period[64];
    if (!read_line(folder, "cpu.cfs_quota_us", quota, sizeof(quota))) return 0;
    if (!read_line(folder, "cpu.cfs_period_us", period, sizeof(period))) return 0;
    return whole_cpus(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* Version 2: "max" or a number. */
static uint64_t memory_v2(const char *folder)
{
    char text[64];
    if (!read_line(folder, "memory.max", text, sizeof(text))) return 0;
    return strtoull(text, NULL, 10);
}

/* Version 1: none is a number close to the highest. */
static uint64_t memory_v1(const char *folder)
{
    char text[64];
    if (!read_line(folder, "memory.limit_in_bytes", text, sizeof(text))) return 0;
    const uint64_t n = strtoull(text, NULL, 10);
    return n < (uint64_t)1 << 60 ? n : 0;
}

/* What is limited: how each version of cgroups says so. */
struct limit {
    const char *controller;
    uint64_t (*v1)(const char *folder);
    uint64_t (*v2)(const char *folder);
};
static const struct limit cpu = {"cpu", quota_v1, quota_v2};
static const struct limit memory = {"memory", memory_v1, memory_v2};

/* The smallest quota from mount/group up to mount itself. */
static uint64_t quota_on_way_up(const char *mount, const char *group,
                                uint64_t (*quota)(const char *))
{
    char folder[PATH_SIZE];
    uint64_t least = 0;
    if (snprintf(folder, sizeof(folder), "%s%s", mount, group) >= (int)sizeof(folder)) return 0;
    const size_t top = strlen(mount);
    for (;;) {
        least = tighter(least, quota(folder));
        char *slash = strrchr(folder + top, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static bool has_word(const char *list, size_t size, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list, *end = list + size; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t part = (size_t)((comma ? comma : end) - at);
        if (part == n && memcmp(at, word, n) == 0) return true;
        at += part + 1;
    }
    return false;
}

/* One line of /proc/self/cgroup: "0::/path", or "4:cpu,cpuacct:/path" for version 1. */
static uint64_t quota_of_line(char *line, const char *mount, const struct limit *limit)
{
    char v1[PATH_SIZE];
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return 0;
    const size_t size = (size_t)(group - controllers - 1);
    if (size == 0) return quota_on_way_up(mount, group + 1, limit->v2);
    if (!has_word(controllers + 1, size, limit->controller)) return 0;
    if (snprintf(v1, sizeof(v1), "%s/%s", mount, limit->controller) >= (int)sizeof(v1))
        return 0;
    return quota_on_way_up(v1, group + 1, limit->v1);
}

static uint64_t limit_of(const char *groups, const char *mount, const struct limit *limit)
{
    char line[PATH_SIZE];
    uint64_t least = 0;
    FILE *file = fopen(groups, "re");
    if (!file) return 0; /* no cgroups: no quota */
    while (fgets(line, sizeof(line), file))
        least = tighter(least, quota_of_line(line, mount, limit));
    fclose(file);
    return least;
}

int tp_thread_quota(const char *groups, const char *mount)
{
    return (int)limit_of(groups, mount, &cpu);
}

uint64_t tp_memory_quota(const char *groups, const char *mount)
{
    return limit_of(groups, mount, &memory);
}

uint64_t tp_memory_limit(void)
{
    return tp_memory_quota("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* The number of CPUs in the affinity mask, for which the kernel wants one as large as its own;
 * 0 when this mask was too small or there is no memory. */
static int affinity_within(int cpus)
{
    const size_t size = CPU_ALLOC_SIZE(cpus);
    cpu_set_t *set = tp_alloc(size);
    if (!set) return 0;
    const int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    tp_free(set);
    return n;
}

int tp_thread_cpus(void)
{
    int n = 0;
    for (int cpus = 1024; n == 0 && cpus <= MAX_CPUS; cpus *= 4)
        n = affinity_within(cpus);
    n = (int)tighter((uint64_t)n, limit_of("/proc/self/cgroup", "/sys/fs/cgroup", &cpu));
    return n > 0 ? n : 1;
}
