/* SPDX-License-Identifier: MIT
 *
 * actors/device.h - the actor of one device: who may run steps on it.
 *
 * It knows how many permits are free and which shards wait for one.
 *
 *   shard --WANT--> device --GRANT--> shard             a permit, by priority and age
 *   shard --WITHDRAW--> device --WITHDRAWN--> shard     always, also when a GRANT was under way
 *   anyone --POKE--> device                             a permit came back while shards wait
 *
 * A permit is needed for a turn that runs steps, and only for it: a shard that waits for an
 * edge holds none, so two devices cannot wait for each other. As long as nobody waits, permits
 * are tokens: a seat keeps one it used, and uses it again without telling anyone; the device
 * takes it back from an idle seat when shards wait. A cached call so writes nothing that
 * another thread writes. While calls of another priority than 0 are in flight, every turn asks,
 * so that the device knows all who could run.
 */
#ifndef TP_ACTORS_DEVICE_H
#define TP_ACTORS_DEVICE_H

#include "actors/actor.h"
#include "exec/device.h"

/* A place in a device's list; the shard's, lent to the device from WANT to GRANT or WITHDRAWN.
 */
struct tp_wait {
    struct tp_wait *next;
    struct tp_actor *shard;
    struct tp_message *grant; /* fixed, sent when it is its turn */
    int32_t priority;
    uint32_t passed_over; /* how often others were preferred: it ages */
};

struct tp_device_actor {
    struct tp_actor actor;
    struct tp_device *device;
    struct tp_stage *stage;
    uint32_t index;        /* of its permit in every seat */
    struct tp_wait *waits; /* oldest first; only its handlers */
    struct tp_message poke;
    atomic_bool poked; /* poke is under way */
    /* seq_cst, both: who returns a permit makes it idle, then looks at `waiting`; the device
     * adds to `waiting`, then looks for idle permits. One of them sees the other. */
    atomic_int free __attribute__((aligned(64)));
    atomic_int waiting;
};

void tp_device_actor_init(struct tp_device_actor *self, struct tp_device *device,
                          struct tp_stage *stage, uint32_t index);

/* A permit for this seat's turn. False: all are out, or shards wait for those that are not:
 * send WANT. */
bool tp_permit_take(struct tp_device_actor *device, struct tp_seat *seat);
/* The permit that came with a GRANT is used by this seat's turn from now on. */
void tp_permit_accept(struct tp_device_actor *device, struct tp_seat *seat);
/* The turn is over. */
void tp_permit_drop(struct tp_device_actor *device, struct tp_seat *seat);

#endif
