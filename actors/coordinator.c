/* SPDX-License-Identifier: MIT
 *
 * actors/coordinator.c - the actor that knows plans.
 */
#include "actors/coordinator.h"

#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "actors/call.h"
#include "actors/job.h"
#include "actors/stage.h"
#include "base/alloc.h"
#include "base/fail.h"
#include "base/thread.h"
#include "tensor/tensor.h"

#define NODE_NS 50 /* of a new call's memory, for each graph node */

/* A plan, or one that is being made: in the table as long as it is there or someone waits for
 * it. */
struct tp_entry {
    uint64_t key[2];
    struct troupe_plan *plan;       /* NULL: not made yet */
    struct tp_instance **instances; /* the one used latest first */
    uint32_t n_instances;
    struct tp_flight *flights;    /* under way, each for other types */
    struct tp_pending *waiters;   /* oldest first */
    struct tp_entry *prev, *next; /* all entries, the one used latest first */
    UT_hash_handle hh;
};

struct tp_coordinator {
    struct tp_actor actor;
    struct tp_device *const *devices;
    struct tp_coordinator_limits limits;
    struct tp_entry *table, *used;
    /* Relaxed: figures. */
    atomic_ullong plans, planned, instances, kept;
    atomic_int flights;
};

/* -- Entries ------------------------------------------------------------------------------- */

static struct tp_entry *find_entry(struct tp_coordinator *c, const uint64_t key[2])
{
    struct tp_entry *entry;
    HASH_FIND(hh, c->table, key, sizeof entry->key, entry);
    if (entry) {
        DL_DELETE(c->used, entry);
        DL_PREPEND(c->used, entry);
    }
    return entry;
}

static struct tp_entry *add_entry(struct tp_coordinator *c, const uint64_t key[2])
{
    size_t list = c->limits.instances * sizeof(struct tp_instance *);
    struct tp_entry *entry = tp_alloc(sizeof *entry + list);
    if (!entry) return NULL;
    entry->instances = (struct tp_instance **)(entry + 1);
    memcpy(entry->key, key, sizeof entry->key);
    HASH_ADD(hh, c->table, key, sizeof entry->key, entry);
    if (!entry->hh.tbl) { /* HASH_NONFATAL_OOM: it could not be added */
        tp_free(entry);
        return NULL;
    }
    DL_PREPEND(c->used, entry);
    return entry;
}

/* Callers that remember it let it go when they next look. */
static void let_go(struct tp_coordinator *c, struct tp_instance **instance)
{
    atomic_store_explicit(&(*instance)->use, TP_INSTANCE_EVICTED, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->kept, 1, memory_order_relaxed);
    tp_instance_release(instance);
}

static void drop_entry(struct tp_coordinator *c, struct tp_entry *entry)
{
    HASH_DELETE(hh, c->table, entry);
    DL_DELETE(c->used, entry);
    for (uint32_t i = 0; i < entry->n_instances; i++)
        let_go(c, &entry->instances[i]);
    if (entry->plan) atomic_fetch_sub_explicit(&c->plans, 1, memory_order_relaxed);
    tp_plan_release(&entry->plan);
    tp_free(entry);
}

static bool busy(const struct tp_entry *entry)
{
    return entry->flights || entry->waiters;
}

/* Some caller has used it since this was asked last. Calls that are known to their caller do
 * not come here: they leave a mark, once. */
static bool was_used(struct tp_instance *instance)
{
    return atomic_exchange_explicit(&instance->use, TP_INSTANCE_IDLE, memory_order_relaxed) ==
           TP_INSTANCE_USED;
}

static bool entry_was_used(struct tp_entry *entry)
{
    bool used = false;
    for (uint32_t i = 0; i < entry->n_instances; i++)
        used |= was_used(entry->instances[i]);
    return used;
}

/* The plan that was used least recently goes; callers that still use it keep it until they are
 * done. */
static void evict(struct tp_coordinator *c)
{
    unsigned long long n = atomic_load_explicit(&c->plans, memory_order_relaxed);
    if (n <= c->limits.plans || !c->used) return;
    struct tp_entry *entry = c->used->prev, *before; /* utlist: the head's prev is the tail */
    for (; n > 0 && entry != c->used; n--, entry = before) {
        before = entry->prev;
        if (busy(entry)) continue;
        if (!entry_was_used(entry)) break;
        DL_DELETE(c->used, entry);
        DL_PREPEND(c->used, entry);
    }
    if (!busy(entry)) drop_entry(c, entry);
}

/* Move one to the front. */
static void put_first(struct tp_entry *entry, uint32_t i)
{
    struct tp_instance *instance = entry->instances[i];
    memmove(&entry->instances[1], entry->instances, i * sizeof(struct tp_instance *));
    entry->instances[0] = instance;
}

static struct tp_instance *find_instance(struct tp_entry *entry,
                                         const troupe_tensor *const *args)
{
    for (uint32_t i = 0; i < entry->n_instances; i++) {
        if (!tp_instance_fits(entry->instances[i], args)) continue;
        put_first(entry, i);
        return entry->instances[0];
    }
    return NULL;
}

/* The last that no caller has used lately; when all have been used, the last of them. */
static void make_room(struct tp_coordinator *c, struct tp_entry *entry)
{
    if (entry->n_instances < c->limits.instances) return;
    uint32_t last = entry->n_instances - 1;
    for (uint32_t i = 0; i < last && was_used(entry->instances[last]); i++)
        put_first(entry, last);
    let_go(c, &entry->instances[last]);
    entry->n_instances--;
}

static void keep_instance(struct tp_coordinator *c, struct tp_entry *entry,
                          struct tp_instance **instance)
{
    make_room(c, entry);
    entry->instances[entry->n_instances] = *instance;
    *instance = NULL;
    put_first(entry, entry->n_instances++);
    atomic_fetch_add_explicit(&c->instances, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->kept, 1, memory_order_relaxed);
}

/* -- Answers ------------------------------------------------------------------------------- */

/* What the call's memory costs to make, roughly: for a large instance that is no short turn. */
static uint32_t price_of(const struct tp_instance *instance)
{
    const uint64_t ns = instance ? instance->steps * NODE_NS : 0;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* The call is the rendezvous's again. */
static void answer(struct tp_pending *pending, struct tp_seat *seat,
                   struct tp_instance *instance, const troupe_error *error)
{
    struct tp_message *call = &pending->call;
    pending->entry = NULL;
    pending->answer = instance ? tp_instance_retain(instance) : NULL;
    if (error) pending->error = *error;
    tp_message_set(call, TP_CALL, price_of(instance));
    call->call.pending = pending;
    tp_post(seat, &pending->actor, &call);
}

static struct tp_flight *find_flight(struct tp_entry *entry, const troupe_tensor *const *args)
{
    for (struct tp_flight *f = entry->flights; f; f = f->next)
        if (tp_flight_fits(f, args)) return f;
    return NULL;
}

static troupe_status take_off(struct tp_coordinator *c, struct tp_entry *entry,
                              struct tp_pending *pending, struct tp_seat *seat,
                              troupe_error *err)
{
    struct tp_flight *flight;
    TP_TRY(tp_flight_new(&flight, entry, &pending->request, entry->plan, pending->args,
                         pending->n_args, err));
    flight->devices = c->devices;
    flight->coordinator = &c->actor;
    flight->actor.group = pending->caller;
    atomic_init(&flight->owner, pending->caller);
    flight->next = entry->flights;
    entry->flights = flight;
    atomic_fetch_add_explicit(&c->flights, 1, memory_order_relaxed);
    struct tp_message *build = &flight->message;
    tp_message_set(build, TP_BUILD, TP_PLANNING_NS);
    build->build.flight = flight;
    tp_post(seat, &flight->actor, &build);
    return TROUPE_OK;
}

/* Answer the call, or let it wait for a flight. A plan that is being made is waited for,
 * whatever the types. */
static void serve(struct tp_coordinator *c, struct tp_entry *entry, struct tp_pending *pending,
                  struct tp_seat *seat)
{
    troupe_error error;
    struct tp_instance *instance = find_instance(entry, pending->args);
    if (instance) {
        answer(pending, seat, instance, NULL);
        return;
    }
    struct tp_flight *flight = entry->plan ? find_flight(entry, pending->args) : entry->flights;
    if (!flight && take_off(c, entry, pending, seat, &error) < 0) {
        answer(pending, seat, NULL, &error);
        return;
    }
    /* Its owner may be gone. */
    if (flight && atomic_load_explicit(&flight->unwanted, memory_order_relaxed))
        tp_flight_hand_to(flight, pending->caller, seat);
    pending->entry = entry;
    LL_APPEND(entry->waiters, pending);
}

/* -- Handlers ------------------------------------------------------------------------------ */

static troupe_status on_call(struct tp_actor *self, struct tp_seat *seat,
                             struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_coordinator *c = tp_container_of(self, struct tp_coordinator, actor);
    struct tp_pending *pending = (*message)->call.pending;
    *message = NULL;
    struct tp_entry *entry = find_entry(c, pending->request.key);
    if (!entry) entry = add_entry(c, pending->request.key);
    troupe_error error;
    if (!entry) {
        tp_fail_memory(&error, sizeof *entry);
        answer(pending, seat, NULL, &error);
        return TROUPE_OK;
    }
    serve(c, entry, pending, seat);
    if (!entry->plan && !busy(entry)) drop_entry(c, entry);
    return TROUPE_OK;
}

/* The flight failed: who asked for these types, or for the plan, is told. */
static void fail_waiters(struct tp_entry *entry, struct tp_flight *flight, struct tp_seat *seat)
{
    struct tp_pending *waiters = entry->waiters, *next;
    entry->waiters = NULL;
    for (; waiters; waiters = next) {
        next = waiters->next;
        if (!entry->plan || tp_flight_fits(flight, waiters->args))
            answer(waiters, seat, NULL, &flight->error);
        else
            LL_APPEND(entry->waiters, waiters);
    }
}

static void serve_waiters(struct tp_coordinator *c, struct tp_entry *entry,
                          struct tp_seat *seat)
{
    struct tp_pending *waiters = entry->waiters, *next;
    entry->waiters = NULL;
    for (; waiters; waiters = next) {
        next = waiters->next;
        serve(c, entry, waiters, seat);
    }
}

static void keep_made(struct tp_coordinator *c, struct tp_entry *entry,
                      struct tp_flight *flight)
{
    if (flight->plan && !entry->plan) {
        entry->plan = tp_plan_retain(flight->plan);
        atomic_fetch_add_explicit(&c->plans, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->planned, 1, memory_order_relaxed);
    }
    if (flight->instance) keep_instance(c, entry, &flight->instance);
}

static troupe_status on_built(struct tp_actor *self, struct tp_seat *seat,
                              struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_coordinator *c = tp_container_of(self, struct tp_coordinator, actor);
    struct tp_flight *flight = (*message)->built.flight;
    struct tp_entry *entry = flight->entry;
    *message = NULL;
    tp_flight_calm(flight, seat->stage);
    LL_DELETE(entry->flights, flight);
    keep_made(c, entry, flight);
    if (flight->error.code && !tp_flight_given_up(flight)) fail_waiters(entry, flight, seat);
    serve_waiters(c, entry, seat);
    if (!entry->plan && !busy(entry)) drop_entry(c, entry);
    tp_flight_destroy(&flight);
    evict(c);
    /* seq_cst: pairs with who closes, and sleeps on it */
    atomic_fetch_sub_explicit(&c->flights, 1, memory_order_seq_cst);
    tp_wake(&c->flights, 1);
    return TROUPE_OK;
}

/* Who still waits for the flight, or NULL. */
static struct tp_pending *find_waiter(const struct tp_entry *entry, const struct tp_flight *f)
{
    struct tp_pending *p = entry->waiters;
    while (p && entry->plan && !tp_flight_fits(f, p->args))
        p = p->next;
    return p;
}

/* A call left. Flights for which nobody waits any more are told: they end at their next look.
 * Who asks for the same meanwhile waits for that end, and a new flight takes off. One that
 * worked for the call's caller works for another's that waits. */
static void note_left(struct tp_entry *entry, const struct troupe_caller *caller,
                      struct tp_seat *seat)
{
    for (struct tp_flight *f = entry->flights; f; f = f->next) {
        const struct tp_pending *waiter = find_waiter(entry, f);
        if (!waiter) atomic_store_explicit(&f->unwanted, true, memory_order_relaxed);
        if (!waiter || waiter->caller == caller ||
            atomic_load_explicit(&f->owner, memory_order_relaxed) != caller)
            continue;
        tp_flight_hand_to(f, waiter->caller, seat);
    }
}

/* It is answered in any case, and so is the CALL: the rendezvous waits for both, so that
 * nothing of this call is under way when its slot is used again. */
static troupe_status on_forget(struct tp_actor *self, struct tp_seat *seat,
                               struct tp_message **message, troupe_error *err)
{
    (void)self;
    (void)err;
    struct tp_pending *pending = (*message)->forget.pending;
    if (pending->entry) {
        struct tp_entry *entry = pending->entry;
        LL_DELETE(entry->waiters, pending);
        answer(pending, seat, NULL, NULL);
        note_left(entry, pending->caller, seat);
    }
    tp_post(seat, &pending->actor, message);
    return TROUPE_OK;
}

static const struct tp_role role = {
    .name = "coordinator",
    .on =
        {
            [TP_CALL] = on_call,
            [TP_BUILT] = on_built,
            [TP_FORGET] = on_forget,
        },
};

/* -- New, destroy -------------------------------------------------------------------------- */

troupe_status tp_coordinator_new(struct tp_coordinator **out, struct tp_device *const *devices,
                                 struct tp_coordinator_limits limits, troupe_error *err)
{
    struct tp_coordinator *c = tp_alloc(sizeof *c);
    if (!c) return tp_fail_memory(err, sizeof *c);
    tp_actor_init(&c->actor, &role, NULL);
    c->devices = devices;
    c->limits = limits;
    *out = c;
    return TROUPE_OK;
}

void tp_coordinator_destroy(struct tp_coordinator **at)
{
    struct tp_coordinator *c = *at;
    *at = NULL;
    if (!c) return;
    for (struct tp_entry *entry; (entry = c->used);)
        drop_entry(c, entry);
    tp_free(c);
}

struct tp_actor *tp_coordinator_actor(struct tp_coordinator *coordinator)
{
    return &coordinator->actor;
}

struct tp_coordinator_figures tp_coordinator_figures(const struct tp_coordinator *c)
{
    return (struct tp_coordinator_figures){
        atomic_load_explicit(&c->plans, memory_order_relaxed),
        atomic_load_explicit(&c->planned, memory_order_relaxed),
        atomic_load_explicit(&c->instances, memory_order_relaxed),
        atomic_load_explicit(&c->kept, memory_order_relaxed),
    };
}

atomic_int *tp_coordinator_flights(struct tp_coordinator *coordinator)
{
    return &coordinator->flights;
}
