/* SPDX-License-Identifier: MIT
 *
 * exec/team.c - a device's own threads, for one long step split into parts.
 *
 * The work is open while parts are left. A thread that wakes says that it is in, then looks
 * whether the work is open; who runs the step closes it, then waits for those who are in. Both
 * are seq_cst, so one of the two sees the other, and a thread that wakes late neither is waited
 * for nor touches what is over.
 */
#include "exec/team.h"

#include <stdio.h>

#include "base/affinity.h"
#include "base/alloc.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/thread.h"

struct work {
    size_t n;
    void (*part)(void *arg, size_t i);
    void *arg;
};

struct team {
    struct tp_team team;
    struct tp_thread *threads; /* `wanted` of them */
    int started, wanted;       /* only under `busy` */
    atomic_bool busy;          /* a step has the team */
    struct work work;          /* written while closed and nobody is in */
    atomic_bool open;
    atomic_size_t next; /* the next part */
    atomic_int in;      /* threads that may look at work */
    atomic_int calls;   /* they sleep on it; changes with each work and at the end */
    atomic_bool stop;
    char name[16];
    bool pinned;
    struct tp_cpus cpus;
};

static void run_parts(struct team *team)
{
    const struct work work = team->work;
    for (size_t i;
         (i = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed)) < work.n;)
        work.part(work.arg, i);
}

static void *member(void *arg)
{
    struct team *team = arg;
    int seen = 0;
    if (team->pinned && !tp_cpus_pin(&team->cpus))
        tp_log(WARN, "device-pin", "%s: a thread could not be pinned", team->name);
    while (!atomic_load_explicit(&team->stop, memory_order_seq_cst)) {
        int calls = atomic_load_explicit(&team->calls, memory_order_seq_cst);
        if (calls == seen) {
            tp_sleep_on(&team->calls, seen, 0);
            continue;
        }
        seen = calls;
        atomic_fetch_add_explicit(&team->in, 1, memory_order_seq_cst);
        if (atomic_load_explicit(&team->open, memory_order_seq_cst)) run_parts(team);
        if (atomic_fetch_sub_explicit(&team->in, 1, memory_order_seq_cst) == 1)
            tp_wake(&team->in, 1);
    }
    return NULL;
}

static void start(struct team *team)
{
    troupe_error error;
    while (team->started < team->wanted) {
        if (tp_thread_start(&team->threads[team->started], team->name, member, team, &error) <
            0) {
            tp_log(WARN, "device-thread", "%s runs with fewer threads: %s", team->name,
                   error.text);
            team->wanted = team->started;
            return;
        }
        team->started++;
    }
}

static void call(struct team *team)
{
    atomic_fetch_add_explicit(&team->calls, 1, memory_order_seq_cst);
    tp_wake(&team->calls, team->started);
}

static void run(struct tp_team *self, size_t n, void (*part)(void *arg, size_t i), void *arg)
{
    struct team *team = tp_container_of(self, struct team, team);
    if (n < 2 || atomic_exchange_explicit(&team->busy, true, memory_order_acquire)) {
        for (size_t i = 0; i < n; i++)
            part(arg, i);
        return;
    }
    start(team);
    team->work = (struct work){n, part, arg};
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    atomic_store_explicit(&team->open, true, memory_order_seq_cst);
    call(team);
    run_parts(team);
    atomic_store_explicit(&team->open, false, memory_order_seq_cst);
    for (int in; (in = atomic_load_explicit(&team->in, memory_order_seq_cst)) > 0;)
        tp_sleep_on(&team->in, in, 0);
    atomic_store_explicit(&team->busy, false, memory_order_release);
}

troupe_status tp_team_new(struct tp_team **out, int threads, const char *name,
                          const struct tp_cpus *cpus, troupe_error *err)
{
    tp_assert(threads > 1);
    struct team *team = tp_alloc(sizeof *team);
    if (!team) return tp_fail_memory(err, sizeof *team);
    team->threads = tp_alloc_array((size_t)threads - 1, sizeof *team->threads);
    if (!team->threads) {
        tp_free(team);
        return tp_fail_memory(err, ((size_t)threads - 1) * sizeof *team->threads);
    }
    team->team = (struct tp_team){threads, run};
    team->wanted = threads - 1;
    team->pinned = cpus != NULL;
    if (cpus) team->cpus = *cpus;
    snprintf(team->name, sizeof team->name, "%.15s", name);
    *out = &team->team;
    return TROUPE_OK;
}

void tp_team_destroy(struct tp_team **at)
{
    if (!*at) return;
    struct team *team = tp_container_of(*at, struct team, team);
    *at = NULL;
    atomic_store_explicit(&team->stop, true, memory_order_seq_cst);
    call(team);
    for (int i = 0; i < team->started; i++)
        tp_thread_join(&team->threads[i]);
    tp_free(team->threads);
    tp_free(team);
}
