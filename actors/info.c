/* SPDX-License-Identifier: MIT
 *
 * actors/info.c - what a runtime tells about itself: version, devices, statistics, where its
 * log goes.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "actors/runtime.h"
#include "base/fail.h"
#include "base/log.h"

#define TEXT(x)          #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *troupe_version(void)
{
    return VERSION(TROUPE_VERSION_MAJOR, TROUPE_VERSION_MINOR, TROUPE_VERSION_PATCH);
}

troupe_status troupe_version_check(int major, int minor, troupe_error *err)
{
    bool fits = major == TROUPE_VERSION_MAJOR && minor >= 0 && minor <= TROUPE_VERSION_MINOR;
    if (fits) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "the program was built for troupe %d.%d, this is %s",
                   major, minor, troupe_version());
}

/* Structs that grow begin with their size: a program that was built with an older header has
 * room for a part. */
static void give(void *out, const void *all, size_t size)
{
    size_t room;
    memcpy(&room, out, sizeof room);
    if (room < size) size = room;
    if (size > sizeof room)
        memcpy((char *)out + sizeof room, (const char *)all + sizeof room, size - sizeof room);
}

/* -- Devices ------------------------------------------------------------------------------- */

size_t troupe_devices(const troupe_runtime *runtime)
{
    if (!runtime) return 0;
    return runtime->n_devices;
}

static void sum_seats(const struct tp_stage *stage, uint32_t device, uint64_t *shards,
                      uint64_t *steps)
{
    int n = atomic_load_explicit(&stage->n_seats, memory_order_acquire);
    *shards = *steps = 0;
    for (int i = 0; i < n; i++) {
        struct tp_seat *seat = atomic_load_explicit(&stage->seats[i], memory_order_relaxed);
        *shards += atomic_load_explicit(&seat->at[device].shards, memory_order_relaxed);
        *steps += atomic_load_explicit(&seat->at[device].steps, memory_order_relaxed);
    }
}

troupe_status troupe_device_at(const troupe_runtime *runtime, size_t i, troupe_device *out)
{
    if (!runtime || !out) return TROUPE_INVALID;
    TP_TRY(tp_runtime_check(runtime, NULL));
    if (i >= runtime->n_devices) return TROUPE_NOT_FOUND;
    if (out->size < offsetof(troupe_device, incarnation) + sizeof out->incarnation)
        return TROUPE_INVALID;
    const struct tp_device *device = runtime->device[i];
    struct tp_pool_figures memory = tp_pool_figures(device->pool);
    troupe_device all = {
        .name = device->brief,
        .full_name = device->text,
        .type = device->kind->type,
        .threads = device->threads,
        .memory_limit = memory.limit,
        .memory_used = memory.used,
        .memory_peak = memory.peak,
        .incarnation = device->incarnation,
        .permits = device->permits,
        .pin = device->pinned ? device->pin : NULL,
    };
    sum_seats(runtime->stage, (uint32_t)i, &all.shards, &all.steps);
    give(out, &all, sizeof all);
    return TROUPE_OK;
}

troupe_status troupe_device_fail_at(troupe_runtime *runtime, const char *device, uint64_t n)
{
    if (!runtime) return TROUPE_INVALID;
    if (!device) return TROUPE_INVALID;
    uint32_t i;
    TP_TRY(tp_runtime_check(runtime, NULL));
    const struct tp_name *base = &runtime->devices->list[runtime->default_device].name;
    TP_TRY(tp_devices_find(runtime->devices, device, base, &i, NULL));
    tp_pool_fail_at(runtime->device[i]->pool, n);
    return TROUPE_OK;
}

/* -- The process --------------------------------------------------------------------------- */

void troupe_limits_get(troupe_limits *out)
{
    if (!out) return;
    struct tp_cpus allowed;
    troupe_limits all = {.cpus = tp_thread_cpus(), .memory = tp_memory_limit()};
    tp_cpus_allowed(&allowed);
    tp_cpus_show(&allowed, all.cpu_list, sizeof all.cpu_list);
    give(out, &all, sizeof all);
}

/* -- Statistics ---------------------------------------------------------------------------- */

static void add_callers(const troupe_runtime *runtime, troupe_statistics *out)
{
    struct tp_lock *lock =
        (struct tp_lock *)&runtime->lock; /* a lock is not part of what is constant */
    uint64_t ended = 0;
    tp_lock_take(lock);
    for (size_t i = 0; i < runtime->n_all; i++) {
        out->calls += atomic_load_explicit(&runtime->all[i]->calls, memory_order_relaxed);
        out->failed += atomic_load_explicit(&runtime->all[i]->failed, memory_order_relaxed);
        out->refused += atomic_load_explicit(&runtime->all[i]->refused, memory_order_relaxed);
        ended += atomic_load_explicit(&runtime->all[i]->ended, memory_order_relaxed);
    }
    tp_lock_drop(lock);
    out->in_flight = out->calls > ended ? out->calls - ended : 0;
}

static void add_seats(const struct tp_stage *stage, troupe_statistics *out)
{
    int n = atomic_load_explicit(&stage->n_seats, memory_order_acquire);
    for (int i = 0; i < n; i++) {
        struct tp_seat *seat = atomic_load_explicit(&stage->seats[i], memory_order_relaxed);
        out->sleeps += atomic_load_explicit(&seat->sleeps, memory_order_relaxed);
        out->wakes += atomic_load_explicit(&seat->wakes, memory_order_relaxed);
    }
}

void troupe_statistics_get(const troupe_runtime *runtime, troupe_statistics *out)
{
    if (!runtime) return;
    if (!out) return;
    if (tp_runtime_forked(runtime)) return; /* its lock may be held for ever */
    struct tp_coordinator_figures figures = tp_coordinator_figures(runtime->coordinator);
    troupe_statistics all = {
        .plans = figures.plans,
        .planned = figures.planned,
        .instances = figures.instances,
        .instances_kept = figures.kept,
        .bytes_in_flight = atomic_load_explicit(&runtime->bytes, memory_order_relaxed),
    };
    add_callers(runtime, &all);
    add_seats(runtime->stage, &all);
    give(out, &all, sizeof all);
}

/* -- Log ----------------------------------------------------------------------------------- */

void troupe_log_to(troupe_log_fn *fn, void *arg, troupe_level level)
{
    tp_log_set(fn, arg, (enum tp_level)level); /* the same values */
}
