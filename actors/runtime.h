/* SPDX-License-Identifier: MIT
 *
 * actors/runtime.h - the inside of a runtime: the stage, the devices, the coordinator, the
 * callers.
 */
#ifndef TP_ACTORS_RUNTIME_H
#define TP_ACTORS_RUNTIME_H

#include "actors/caller.h"
#include "actors/coordinator.h"
#include "actors/job.h"
#include "base/thread.h"
#include "graph/registry.h"
#include "troupe/troupe.h"

struct troupe_runtime {
    struct tp_stage *stage;
    struct tp_registry *registry;
    struct tp_devices *devices;            /* its snapshot */
    struct tp_device **device;             /* by the snapshot's index */
    struct tp_device_actor *device_actors; /* likewise */
    uint32_t n_devices, default_device;
    struct tp_coordinator *coordinator;
    troupe_operators *operators;  /* the user's that calls may use, or NULL */
    struct troupe_caller *main;   /* troupe_call's, troupe_fd's, ... */
    struct tp_thread_key runners; /* per thread: its caller for troupe_run */
    struct tp_lock lock;          /* of what follows, and of opening and closing callers */
    struct troupe_caller *runners_free, *callers_free; /* closed ones, to be used again */
    struct troupe_caller **all; /* every caller there is, for statistics and close */
    size_t n_all, all_capacity;
    _Atomic(struct troupe_caller *) numbered[TP_CALLERS_MAX]; /* release when set */
    atomic_uint n_numbered;
    atomic_ullong calls_left; /* admission: what callers have not taken */
    uint32_t quota_step;      /* how much a caller takes at once */
    size_t max_bytes;         /* of arguments in flight; 0: no limit, and nothing is counted */
    atomic_ullong bytes;      /* of them now */
    const volatile int *here; /* 1; reads 0 in a forked child (MADV_WIPEONFORK) */
    atomic_bool closing;
    /* Some call had a parent: seq_cst, set before it can be found. */
    atomic_bool parents;
};

/* True in a child of the process that opened it. */
static inline bool tp_runtime_forked(const struct troupe_runtime *runtime)
{
    return !*runtime->here;
}

/* INVALID in a forked child. */
troupe_status tp_runtime_check(const struct troupe_runtime *runtime,
                               troupe_error *err) TROUPE_MUST_CHECK;

static inline struct tp_actor *tp_runtime_coordinator(struct troupe_runtime *runtime)
{
    return tp_coordinator_actor(runtime->coordinator);
}

/* As troupe_open, with a seed for a rehearsal (tests), or NULL. */
troupe_status tp_runtime_open(troupe_runtime **out, const troupe_options *options,
                              uint64_t *seed, troupe_error *err) TROUPE_MUST_CHECK;
/* The calling thread's caller for troupe_run; made when it has none. */
troupe_status tp_runtime_runner(troupe_runtime *runtime, struct troupe_caller **out,
                                troupe_error *err) TROUPE_MUST_CHECK;
/* A thread has ended: its caller can be used by another. */
void tp_runtime_runner_ended(void *caller);
/* Take one call's admission for this caller, or give it back. */
bool tp_runtime_admit(struct troupe_caller *caller);
void tp_runtime_admit_back(struct troupe_caller *caller);
/* Take so many bytes of arguments in, for a runtime with a limit. BUSY; EXHAUSTED: they are
 * over the limit alone. */
troupe_status tp_runtime_admit_bytes(struct troupe_runtime *runtime, size_t bytes,
                                     troupe_error *err);
/* The caller of a call's number, or NULL. */
struct troupe_caller *tp_runtime_caller(troupe_runtime *runtime, uint64_t call);

#endif
