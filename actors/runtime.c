/* SPDX-License-Identifier: MIT
 *
 * actors/runtime.c - open and close a runtime: devices, stage, coordinator, callers.
 */
#include "actors/runtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/guest.h"
#include "base/need.h"
#include "base/rest.h"
#include "graph/operator.h"

#define MAX_PLANS           256
#define MAX_INSTANCES       8
#define MAX_INSTANCES_LIMIT 1024
#define MAX_CALLS           65536
#define SPIN_US             50
#define QUOTA_STEP          64
#define CLOSE_NS            1000000 /* between two looks of a close at the flights that are left */

/* -- The page that is empty in a forked child ---------------------------------------------- */

static troupe_status map_here(struct troupe_runtime *runtime, troupe_error *err)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return tp_fail(err, TROUPE_EXHAUSTED, "cannot map a page: %s", strerror(errno));
#ifdef MADV_WIPEONFORK
    (void)madvise(page, size, MADV_WIPEONFORK); /* Linux 4.14; before, a fork is not noticed */
#endif
    *page = 1;
    runtime->here = page;
    return TROUPE_OK;
}

static void unmap_here(struct troupe_runtime *runtime)
{
    if (runtime->here) munmap((void *)runtime->here, (size_t)sysconf(_SC_PAGESIZE));
}

troupe_status tp_runtime_check(const struct troupe_runtime *runtime, troupe_error *err)
{
    if (TP_LIKELY(!tp_runtime_forked(runtime))) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "the runtime belongs to the parent of this process");
}

/* -- Devices ------------------------------------------------------------------------------- */

static troupe_status make_devices(struct troupe_runtime *runtime,
                                  const struct tp_device_wish *wishes, size_t n,
                                  troupe_error *err)
{
    TP_OWNED(tp_free_at) struct tp_device_entry *entries = tp_alloc_array(n, sizeof *entries);
    runtime->device = tp_alloc_array(n, sizeof(struct tp_device *));
    if (!entries || !runtime->device) return tp_fail_memory(err, n * sizeof *entries);
    for (size_t i = 0; i < n; i++) {
        TP_TRY(tp_device_new(&runtime->device[i], &wishes[i], err));
        runtime->n_devices++;
        const struct tp_device *d = runtime->device[i];
        entries[i] = (struct tp_device_entry){.name = d->name,
                                              .priority = d->kind->priority,
                                              .host = d->kind->host,
                                              .device = runtime->device[i]};
    }
    TP_TRY(tp_registry_new(&runtime->registry, err));
    TP_TRY(tp_registry_add(runtime->registry, entries, n, err));
    runtime->devices = tp_registry_devices(runtime->registry);
    return TROUPE_OK;
}

/* The snapshot is sorted by name, the user's list is not: device[] follows the snapshot. */
static void follow_snapshot(struct troupe_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->n_devices; i++) {
        runtime->device[i] = runtime->devices->list[i].device;
        runtime->device[i]->incarnation = runtime->devices->list[i].incarnation;
    }
}

static troupe_status make_actors(struct troupe_runtime *runtime, troupe_error *err)
{
    size_t size = runtime->n_devices * sizeof *runtime->device_actors;
    runtime->device_actors = tp_alloc_aligned(64, size);
    if (!runtime->device_actors) return tp_fail_memory(err, size);
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        tp_device_actor_init(&runtime->device_actors[i], runtime->device[i], runtime->stage, i);
    return TROUPE_OK;
}

static troupe_status set_default(struct troupe_runtime *runtime,
                                 const struct tp_device_wish *first, const char *wanted,
                                 troupe_error *err)
{
    if (wanted)
        return tp_devices_find(runtime->devices, wanted, &first->name, &runtime->default_device,
                               err);
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        if (tp_name_equal(&runtime->devices->list[i].name, &first->name))
            runtime->default_device = i;
    return TROUPE_OK;
}

static troupe_status open_devices(struct troupe_runtime *runtime, const troupe_options *options,
                                  troupe_error *err)
{
    TP_OWNED(tp_free_at) struct tp_device_wish *wishes = NULL;
    size_t n;
    TP_TRY(tp_devices_read(options->devices ? options->devices : "cpu:0", &wishes, &n, err));
    struct tp_cpus allowed;
    tp_cpus_allowed(&allowed);
    tp_devices_share(wishes, n, tp_thread_cpus());
    TP_TRY(tp_devices_pin(wishes, n, &allowed, err));
    TP_TRY(make_devices(runtime, wishes, n, err));
    follow_snapshot(runtime);
    return set_default(runtime, &wishes[0], options->default_device, err);
}

/* -- Open ---------------------------------------------------------------------------------- */

/* Without workers work for a caller is published, and only its thread may be there to do it. */
static void work_comes(void *group)
{
    tp_bell_announce(&((struct troupe_caller *)group)->bell);
}

static bool work_is_there(void *group, struct tp_seat *by)
{
    return tp_stage_call(by, ((struct troupe_caller *)group)->seat);
}

static void work_is_taken(void *group)
{
    tp_bell_taken(&((struct troupe_caller *)group)->bell, 1);
}

static const struct tp_herald without_workers = {work_comes, work_is_there, work_is_taken};
static const struct tp_herald with_workers = {NULL, work_is_there, NULL};

static int workers_of(const troupe_options *options)
{
    int cpus = tp_thread_cpus();
    if (options->workers != TROUPE_AUTO) return options->workers;
    return cpus - 1 < TP_WORKERS_MAX ? cpus - 1 : TP_WORKERS_MAX;
}

/* All that runs is a test of the codec then; doc/embedding.md. */
static bool wants_wire(const troupe_options *options)
{
    const char *value = getenv("TROUPE_WIRE");
    return options->wire || (value && strcmp(value, "1") == 0);
}

/* When all devices are pinned, the workers stay where any of them is. */
static bool all_pinned(const struct troupe_runtime *runtime, struct tp_cpus *out)
{
    *out = (struct tp_cpus){0};
    for (uint32_t i = 0; i < runtime->n_devices; i++) {
        if (!runtime->device[i]->pinned) return false;
        CPU_OR(&out->set, &out->set, &runtime->device[i]->cpus.set);
    }
    return true;
}

static troupe_status open_stage(struct troupe_runtime *runtime, const troupe_options *options,
                                uint64_t *seed, troupe_error *err)
{
    struct tp_cpus cpus;
    const struct tp_stage_options stage = {
        .cpus = all_pinned(runtime, &cpus) ? &cpus : NULL,
        .workers = workers_of(options),
        .spin_us = options->spin_us == TROUPE_AUTO ? SPIN_US : options->spin_us,
        .devices = (int)runtime->n_devices,
        .seed = seed,
        .wire = wants_wire(options),
    };
    TP_TRY(tp_stage_open(&runtime->stage, &stage, err));
    runtime->stage->herald = runtime->stage->workers ? &with_workers : &without_workers;
    return TROUPE_OK;
}

/* A program that was built with an older header gives fewer of them, with a newer one more. */
static troupe_status read_options(const troupe_options *o, troupe_options *out,
                                  troupe_error *err)
{
    static const troupe_options defaults = TROUPE_OPTIONS_INIT;
    const size_t first = offsetof(troupe_options, wire);
    *out = defaults;
    if (!o) return TROUPE_OK;
    if (o->size < first)
        return tp_fail(err, TROUPE_INVALID, "troupe_options.size is %zu, not %zu", o->size,
                       sizeof(troupe_options));
    TP_TRY(tp_rest_check(o, o->size, sizeof *out, "troupe_options", err));
    memcpy(out, o, o->size < sizeof *out ? o->size : sizeof *out);
    return TROUPE_OK;
}

static troupe_status check_options(const troupe_options *o, troupe_error *err)
{
    if (o->workers > TP_WORKERS_MAX)
        return tp_fail(err, TROUPE_INVALID, "%d workers: there are at most %d", o->workers,
                       TP_WORKERS_MAX);
    if (o->workers < TROUPE_AUTO || o->spin_us < TROUPE_AUTO)
        return tp_fail(err, TROUPE_INVALID, "%d workers, %d us of spinning: below %d",
                       o->workers, o->spin_us, TROUPE_AUTO);
    if (o->max_instances > MAX_INSTANCES_LIMIT)
        return tp_fail(err, TROUPE_INVALID, "%zu instances of a plan: at most %d are kept",
                       o->max_instances, MAX_INSTANCES_LIMIT);
    return TROUPE_OK;
}

static void set_admission(struct troupe_runtime *runtime, size_t max_calls)
{
    size_t n = max_calls ? max_calls : MAX_CALLS;
    atomic_init(&runtime->calls_left, n);
    size_t step = n / (2 * TP_SEATS_MAX); /* all seats together hold no more than half */
    runtime->quota_step = step > QUOTA_STEP ? QUOTA_STEP : step ? (uint32_t)step : 1;
}

static troupe_status open_all(struct troupe_runtime *runtime, const troupe_options *options,
                              uint64_t *seed, troupe_error *err)
{
    TP_TRY(map_here(runtime, err));
    TP_TRY(open_devices(runtime, options, err));
    TP_TRY(tp_thread_key_make(&runtime->runners, tp_runtime_runner_ended, err));
    TP_TRY(open_stage(runtime, options, seed, err));
    TP_TRY(make_actors(runtime, err));
    const struct tp_coordinator_limits limits = {
        options->max_plans ? options->max_plans : MAX_PLANS,
        options->max_instances ? options->max_instances : MAX_INSTANCES};
    TP_TRY(tp_coordinator_new(&runtime->coordinator, runtime->device, limits, err));
    set_admission(runtime, options->max_calls);
    runtime->max_bytes = options->max_bytes;
    tp_operators_freeze(options->operators);
    runtime->operators = troupe_operators_retain(options->operators);
    return troupe_caller_open(runtime, &runtime->main, err);
}

static void free_all(struct troupe_runtime *runtime)
{
    tp_thread_key_drop(
        &runtime->runners); /* threads that end from here on keep their hands off */
    /* A worker may still be on its way out of the post that told a caller of its last call. */
    if (runtime->stage) tp_stage_stop(runtime->stage);
    for (size_t i = 0; i < runtime->n_all; i++)
        tp_caller_destroy(&runtime->all[i]);
    tp_free((void *)runtime->all);
    tp_coordinator_destroy(&runtime->coordinator);
    tp_stage_close(&runtime->stage);
    tp_free(runtime->device_actors);
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        tp_device_destroy(&runtime->device[i]);
    tp_free((void *)runtime->device);
    tp_devices_release(&runtime->devices);
    tp_registry_destroy(&runtime->registry);
    troupe_operators_release(&runtime->operators);
    tp_lock_fini(&runtime->lock);
    unmap_here(runtime);
    tp_free(runtime);
}

troupe_status tp_runtime_open(troupe_runtime **out, const troupe_options *options,
                              uint64_t *seed, troupe_error *err)
{
    troupe_options mine;
    TP_TRY(read_options(options, &mine, err));
    TP_TRY(check_options(&mine, err));
    struct troupe_runtime *runtime = tp_alloc(sizeof *runtime);
    if (!runtime) return tp_fail_memory(err, sizeof *runtime);
    tp_lock_init(&runtime->lock);
    troupe_status status = open_all(runtime, &mine, seed, err);
    if (status < 0)
        free_all(runtime);
    else
        *out = runtime;
    return status;
}

troupe_status troupe_open(troupe_runtime **out, const troupe_options *options,
                          troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    return tp_runtime_open(out, options, NULL, err);
}

/* -- Close --------------------------------------------------------------------------------- */

/* One turn of what any caller's seat has kept. */
static bool turn_somewhere(struct troupe_runtime *runtime)
{
    for (size_t i = 0; i < runtime->n_all; i++)
        if (tp_stage_turn(runtime->all[i]->seat, runtime->all[i], true)) return true;
    return false;
}

/* Planning that nobody waits for any more goes on to its next look. */
static void await_flights(struct troupe_runtime *runtime)
{
    atomic_int *flights = tp_coordinator_flights(runtime->coordinator);
    for (int n; (n = atomic_load_explicit(flights, memory_order_seq_cst)) > 0;)
        if (!turn_somewhere(runtime)) tp_sleep_on(flights, n, tp_clock_ns() + CLOSE_NS);
}

/* A thread is in run, wait or dispatch, or this is a callback. */
static bool in_use(struct troupe_runtime *runtime)
{
    bool used = false;
    tp_lock_take(&runtime->lock);
    for (size_t i = 0; i < runtime->n_all; i++)
        used |= atomic_load_explicit(&runtime->all[i]->inside, memory_order_seq_cst);
    tp_lock_drop(&runtime->lock);
    return used;
}

troupe_status troupe_close(troupe_runtime **at)
{
    if (!at) return TROUPE_OK;
    struct troupe_runtime *runtime = *at;
    if (!runtime) return TROUPE_OK;
    if (tp_runtime_forked(runtime)) {
        *at = NULL;
        return TROUPE_OK;
    }
    bool before = atomic_exchange_explicit(&runtime->closing, true, memory_order_seq_cst);
    if (tp_guest_now || in_use(runtime)) {
        atomic_store_explicit(&runtime->closing, before, memory_order_seq_cst);
        return TROUPE_INVALID;
    }
    for (size_t i = 0; i < runtime->n_all; i++)
        tp_caller_drain(runtime->all[i]);
    await_flights(runtime);
    free_all(runtime);
    *at = NULL;
    return TROUPE_OK;
}
