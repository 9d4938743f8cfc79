/* SPDX-License-Identifier: MIT
 *
 * actors/job.h - the actor that makes one plan or instance: a flight of the coordinator's.
 *
 *   coordinator --BUILD--> job --BUILD--> itself ... --BUILT--> coordinator
 *
 * The work has a stack of its own and pauses after a slice of it, wherever it is; then others
 * come first. When nobody waits for it any more it ends there.
 */
#ifndef TP_ACTORS_JOB_H
#define TP_ACTORS_JOB_H

#include "actors/actor.h"
#include "actors/plan.h"
#include "base/pace.h"

#define TP_PLANNING_NS 1000000 /* what planning is taken to cost before it is known */

struct tp_entry;
struct tp_fiber;

struct tp_flight {
    struct tp_actor actor;
    struct tp_flight *next; /* the coordinator's */
    struct tp_entry *entry; /* the coordinator's */
    struct tp_actor *coordinator;
    struct tp_device *const *devices;
    struct tp_request request; /* its own copy */
    struct tp_type *types;     /* of the arguments */
    uint32_t n_args;
    struct troupe_plan *plan;     /* given, or made */
    struct tp_instance *instance; /* made, unless error.code */
    troupe_error error;
    /* Relaxed; the coordinator says so, and the job looks now and then: nobody waits for it,
     * and the caller that it works for. */
    atomic_bool unwanted;
    _Atomic(void *) owner;
    /* Who became its owner since its last slice, and was alerted: the job may be runnable or be
     * published in the name of the one before. acq_rel; who takes it out calms. */
    _Atomic(void *) alerted;
    struct tp_pace pace;
    struct tp_fiber *fiber;    /* from the first slice to the last */
    uint64_t until_ns;         /* of this slice; 0: the next look */
    struct tp_message message; /* BUILD, then BUILT */
};

/* plan NULL: to be made. The arguments' types are copied. */
troupe_status tp_flight_new(struct tp_flight **out, struct tp_entry *entry,
                            const struct tp_request *request, struct troupe_plan *plan,
                            const troupe_tensor *const *args, uint32_t n_args,
                            troupe_error *err) TROUPE_MUST_CHECK;
void tp_flight_destroy(struct tp_flight **flight);
/* Let it work for another caller, which may be the only one that is there to run it. The
 * coordinator alone. */
void tp_flight_hand_to(struct tp_flight *flight, void *owner, struct tp_seat *seat);
/* Nobody has to look for it any more: it was given its owner's name, or it has ended. */
void tp_flight_calm(struct tp_flight *flight, struct tp_stage *stage);
/* It ended before its time, since nobody waited for it. */
bool tp_flight_given_up(const struct tp_flight *flight);
/* It is for arguments of these types. */
bool tp_flight_fits(const struct tp_flight *flight, const troupe_tensor *const *args);

#endif
