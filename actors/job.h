/* SPDX-License-Identifier: MIT
 *
 * actors/job.h - the actor that makes one plan or instance: a flight of the coordinator's.
 *
 *   coordinator --BUILD--> job --BUILT--> coordinator
 */
#ifndef TP_ACTORS_JOB_H
#define TP_ACTORS_JOB_H

#include "actors/actor.h"
#include "actors/plan.h"

#define TP_PLANNING_NS 1000000 /* what planning is taken to cost before it is known */

struct tp_entry;

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
    struct tp_message message; /* BUILD, then BUILT */
};

/* plan NULL: to be made. The arguments' types are copied. */
troupe_status tp_flight_new(struct tp_flight **out, struct tp_entry *entry,
                            const struct tp_request *request, struct troupe_plan *plan,
                            const troupe_tensor *const *args, uint32_t n_args,
                            troupe_error *err) TROUPE_MUST_CHECK;
void tp_flight_destroy(struct tp_flight **flight);
/* It is for arguments of these types. */
bool tp_flight_fits(const struct tp_flight *flight, const troupe_tensor *const *args);

#endif
