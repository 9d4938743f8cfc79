/* SPDX-License-Identifier: MIT
 *
 * actors/coordinator.h - the actor that knows plans: key -> plan and its instances, or who
 * waits for them.
 *
 *   rendezvous --CALL--> coordinator --CALL--> rendezvous        the instance is known
 *   coordinator --BUILD--> job --BUILT--> coordinator            it is not: one flight for a
 *                                                                key and types
 *   rendezvous --FORGET--> coordinator --FORGET--> rendezvous    the call ended early: CALL
 *                                                                is answered, too
 *
 * It never plans itself: a job is an actor of its own, which plans for a slice of time in each
 * of its turns, on whatever thread.
 */
#ifndef TP_ACTORS_COORDINATOR_H
#define TP_ACTORS_COORDINATOR_H

#include <stdatomic.h>

#include "actors/actor.h"
#include "actors/plan.h"

struct tp_coordinator;

struct tp_coordinator_figures {
    uint64_t plans;     /* kept now */
    uint64_t planned;   /* built so far */
    uint64_t instances; /* made so far */
    uint64_t kept;      /* instances kept now */
};

struct tp_coordinator_limits {
    size_t plans, instances; /* instances: of one plan; at least 1 */
};

/* devices: by the index of the registry's snapshot; borrowed. */
troupe_status tp_coordinator_new(struct tp_coordinator **out, struct tp_device *const *devices,
                                 struct tp_coordinator_limits limits,
                                 troupe_error *err) TROUPE_MUST_CHECK;
/* Nothing may be in flight. */
void tp_coordinator_destroy(struct tp_coordinator **coordinator);
struct tp_actor *tp_coordinator_actor(struct tp_coordinator *coordinator);

/* Any thread. */
struct tp_coordinator_figures tp_coordinator_figures(const struct tp_coordinator *coordinator);
/* Flights under way: who closes sleeps on it. */
atomic_int *tp_coordinator_flights(struct tp_coordinator *coordinator);

#endif
