/* SPDX-License-Identifier: MIT
 *
 * actors/device.c - the actor of one device: who may run steps on it.
 */
#include "actors/device.h"

#include "actors/stage.h"

#define AGE_OF_A_PRIORITY 16 /* passed over so often counts as one priority higher */

/* -- Permits, on any thread ---------------------------------------------------------------- */

static bool take_free(struct tp_device_actor *device)
{
    /* seq_cst: the device looks here after it has counted who waits */
    int n = atomic_load_explicit(&device->free, memory_order_seq_cst);
    while (n > 0)
        if (atomic_compare_exchange_weak_explicit(&device->free, &n, n - 1,
                                                  memory_order_seq_cst, memory_order_relaxed))
            return true;
    return false;
}

static void poke(struct tp_device_actor *device, struct tp_seat *seat)
{
    if (atomic_exchange_explicit(&device->poked, true, memory_order_seq_cst)) return;
    struct tp_message *message = &device->poke;
    tp_message_set(message, TP_POKE, 0);
    tp_post(seat, &device->actor, &message);
}

static void give_free(struct tp_device_actor *device, struct tp_seat *seat)
{
    atomic_fetch_add_explicit(&device->free, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&device->waiting, memory_order_seq_cst) > 0) poke(device, seat);
}

/* The same from a thread that goes on with steps: another one has to grant it. */
static void give_free_away(struct tp_device_actor *device)
{
    atomic_fetch_add_explicit(&device->free, 1, memory_order_seq_cst);
    if (!atomic_load_explicit(&device->waiting, memory_order_seq_cst)) return;
    if (atomic_exchange_explicit(&device->poked, true, memory_order_seq_cst)) return;
    struct tp_message *message = &device->poke;
    tp_message_set(message, TP_POKE, 0);
    tp_post_outside(device->stage, &device->actor, &message);
}

/* Turn the seat's idle permit into `to`. False: it has none, or the device took it. */
static bool claim(atomic_int *permit, int to)
{
    int idle = TP_PERMIT_IDLE;
    return atomic_compare_exchange_strong_explicit(permit, &idle, to, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

bool tp_permit_take(struct tp_device_actor *device, struct tp_seat *seat)
{
    atomic_int *permit = &seat->at[device->index].permit;
    if (TP_LIKELY(claim(permit, TP_PERMIT_USED))) return true;
    /* Nobody steps in front of those who stand in line; a permit that is free is on its way to
     * them. */
    if (atomic_load_explicit(&device->waiting, memory_order_relaxed) > 0) return false;
    if (!take_free(device)) return false;
    atomic_store_explicit(permit, TP_PERMIT_USED, memory_order_relaxed);
    return true;
}

void tp_permit_accept(struct tp_device_actor *device, struct tp_seat *seat)
{
    int had = atomic_exchange_explicit(&seat->at[device->index].permit, TP_PERMIT_USED,
                                       memory_order_seq_cst);
    tp_assert(had != TP_PERMIT_USED);
    if (had != TP_PERMIT_IDLE) return;
    /* Without workers perhaps nobody waits in the stage, and work that is nobody's own rings no
     * caller's bell; so it stays here, where it is run before this thread goes away. */
    if (seat->stage->workers)
        give_free_away(device);
    else
        give_free(device, seat);
}

void tp_permit_drop(struct tp_device_actor *device, struct tp_seat *seat)
{
    atomic_int *permit = &seat->at[device->index].permit;
    atomic_store_explicit(permit, TP_PERMIT_IDLE, memory_order_seq_cst);
    if (TP_LIKELY(!atomic_load_explicit(&device->waiting, memory_order_seq_cst))) return;
    if (claim(permit, TP_PERMIT_NONE)) give_free(device, seat);
}

/* -- The actor ----------------------------------------------------------------------------- */

/* A permit that a seat holds and does not use. */
static bool take_idle(struct tp_device_actor *device)
{
    int n = atomic_load_explicit(&device->stage->n_seats, memory_order_acquire);
    for (int i = 0; i < n; i++) {
        struct tp_seat *seat =
            atomic_load_explicit(&device->stage->seats[i], memory_order_relaxed);
        if (claim(&seat->at[device->index].permit, TP_PERMIT_NONE)) return true;
    }
    return false;
}

static int64_t rank(const struct tp_wait *wait)
{
    return (int64_t)wait->priority * AGE_OF_A_PRIORITY + wait->passed_over;
}

/* Of equal rank the oldest. Those before it in the list were passed over. */
static struct tp_wait *take_best(struct tp_device_actor *device)
{
    struct tp_wait **best = &device->waits;
    for (struct tp_wait **at = &device->waits; *at; at = &(*at)->next)
        if (rank(*at) > rank(*best)) best = at;
    struct tp_wait *wait = *best;
    for (struct tp_wait *older = device->waits; older != wait; older = older->next)
        older->passed_over++;
    *best = wait->next;
    return wait;
}

static void grant_all(struct tp_device_actor *device, struct tp_seat *seat)
{
    while (device->waits && (take_free(device) || take_idle(device))) {
        struct tp_wait *wait = take_best(device);
        atomic_fetch_sub_explicit(&device->waiting, 1, memory_order_seq_cst);
        struct tp_message *grant = wait->grant;
        tp_post(seat, wait->shard, &grant);
    }
}

static troupe_status on_want(struct tp_actor *self, struct tp_seat *seat,
                             struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_device_actor *device = tp_container_of(self, struct tp_device_actor, actor);
    struct tp_wait *wait = (*message)->want.shard, **end = &device->waits;
    wait->priority = (*message)->want.priority;
    *message = NULL; /* once it is granted, its memory is used again at once */
    while (*end)
        end = &(*end)->next;
    wait->passed_over = 0;
    wait->next = NULL;
    *end = wait;
    atomic_fetch_add_explicit(&device->waiting, 1, memory_order_seq_cst);
    if (tp_stage_ranked(device->stage))
        poke(device, seat); /* once all that is in the box is known */
    else
        grant_all(device, seat);
    return TROUPE_OK;
}

static troupe_status on_withdraw(struct tp_actor *self, struct tp_seat *seat,
                                 struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_device_actor *device = tp_container_of(self, struct tp_device_actor, actor);
    struct tp_wait *wait = (*message)->withdraw.shard;
    for (struct tp_wait **at = &device->waits; *at; at = &(*at)->next) {
        if (*at != wait) continue;
        *at = wait->next;
        atomic_fetch_sub_explicit(&device->waiting, 1, memory_order_seq_cst);
        break;
    }
    struct tp_message *answer = *message;
    *message = NULL;
    tp_message_set(answer, TP_WITHDRAWN, 0);
    tp_post(seat, wait->shard, &answer);
    return TROUPE_OK;
}

static troupe_status on_poke(struct tp_actor *self, struct tp_seat *seat,
                             struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_device_actor *device = tp_container_of(self, struct tp_device_actor, actor);
    *message = NULL; /* the next one may be under way at once */
    atomic_store_explicit(&device->poked, false, memory_order_seq_cst);
    grant_all(device, seat);
    return TROUPE_OK;
}

static const struct tp_role role = {
    .name = "device",
    .prompt = true,
    .on =
        {
            [TP_WANT] = on_want,
            [TP_WITHDRAW] = on_withdraw,
            [TP_POKE] = on_poke,
        },
};

void tp_device_actor_init(struct tp_device_actor *self, struct tp_device *device,
                          struct tp_stage *stage, uint32_t index)
{
    *self = (struct tp_device_actor){.device = device, .stage = stage, .index = index};
    tp_actor_init(&self->actor, &role, NULL);
    atomic_init(&self->free, device->permits);
}
