/* SPDX-License-Identifier: MIT
 *
 * actors/shard.c - the actor that runs one shard of one call: a child of its device, a bounded
 * turn at a time.
 *
 *   IDLE --SHARD_RUN--> steps --+--> WAITS --TENSOR--> steps    for an edge
 *                               +--> READY --TURN--> steps      the turn's time is over
 *                               +--> ASKED --GRANT--> steps     all permits were out, or
 *                               |                               priorities are in play
 *                               '--> ENDED                      SHARD_DONE
 *   STOP: WAITS -> ENDED at once; READY -> ENDED at its turn;
 *         ASKED -> LEAVING --WITHDRAWN--> ENDED; ENDED answers
 */
#include "actors/call.h"
#include "actors/caller.h"
#include "actors/stage.h"
#include "base/clock.h"
#include "base/fail.h"

#ifdef TP_SMALL
#define TURN_NS 1 /* a step a turn */
#else
#define TURN_NS 100000
#endif
#define TIMED_NS    2000 /* segments above are timed each time */
#define TIMED_EVERY 16   /* turns; the others now and then */

static struct tp_shard_actor *shard_of(struct tp_actor *self)
{
    return tp_container_of(self, struct tp_shard_actor, actor);
}

/* -- The end ------------------------------------------------------------------------------- */

/* The failure goes along in full if there is memory for it, else as its code. */
static troupe_error *copy_error(const troupe_error *error)
{
    troupe_error *copy = error ? tp_alloc(sizeof *copy) : NULL;
    if (copy) *copy = *error;
    return copy;
}

troupe_error tp_shard_error(const struct tp_shard_done *done)
{
    troupe_error bare = {(troupe_status)done->code,
                         "there was no memory for the failure's text"};
    return done->error ? *done->error : bare;
}

static void end(struct tp_shard_actor *shard, struct tp_seat *seat, const troupe_error *error)
{
    struct tp_message *done = &shard->done;
    shard->state = TP_SHARD_ENDED;
    if (error) tp_frame_clear(&shard->frame);
    tp_message_set(done, TP_SHARD_DONE, 0);
    done->shard_done.shard = shard->index;
    done->shard_done.stopped = shard->stopped;
    done->shard_done.code = error ? error->code : TROUPE_OK;
    done->shard_done.derived = error && error->code == TROUPE_CANCELLED &&
                               atomic_load_explicit(&shard->block->stop, memory_order_relaxed);
    if (!done->shard_done.derived) done->shard_done.error = copy_error(error);
    tp_post_last(seat, &shard->block->pending->actor, &done);
}

static void end_stopped(struct tp_shard_actor *shard, struct tp_seat *seat)
{
    static const troupe_error stopped = {TROUPE_CANCELLED, "stopped"};
    end(shard, seat, &stopped);
}

/* -- Steps --------------------------------------------------------------------------------- */

static void send(struct tp_io *io, uint32_t edge, troupe_tensor **value)
{
    struct tp_shard_actor *shard = tp_container_of(io, struct tp_shard_actor, io);
    struct tp_block *block = shard->block;
    struct tp_message *message = &block->edges[edge];
    tp_estimate *estimate = &block->instance->edge_estimate[edge];
    tp_message_set(message, TP_TENSOR, atomic_load_explicit(estimate, memory_order_relaxed));
    message->tensor.edge = edge;
    message->tensor.value = *value;
    *value = NULL;
    tp_post(shard->seat, &block->pending->actor, &message);
}

/* What is left of the segment that runs. */
static uint32_t estimate_left(const struct tp_shard_actor *shard)
{
    uint32_t whole = atomic_load_explicit(shard->segment, memory_order_relaxed);
    if (!whole) whole = tp_instance_estimate(shard->block->instance, shard->index);
    uint64_t done = shard->resumed && shard->timed ? tp_ticks_ns(shard->worked) : 0;
    return whole > done ? whole - (uint32_t)done : 1;
}

/* Come back for the next part of the steps. */
static void yield_turn(struct tp_shard_actor *shard, struct tp_seat *seat)
{
    struct tp_message *turn = &shard->run;
    tp_message_set(turn, TP_TURN, estimate_left(shard));
    shard->state = TP_SHARD_READY;
    tp_post(seat, &shard->actor, &turn);
}

/* A moving average of what the segment takes; a guess, so lost updates do no harm. One time
 * that is far longer is most often a thread that was interrupted, and counts as twice the
 * average. */
static void learn(tp_estimate *segment, uint64_t ticks)
{
    uint64_t ns = tp_ticks_ns(ticks);
    uint64_t old = atomic_load_explicit(segment, memory_order_relaxed);
    if (old && ns > 2 * old) ns = 2 * old;
    uint64_t now = old ? (old * 3 + ns) / 4 : ns;
    atomic_store_explicit(segment, now < UINT32_MAX ? (unsigned)now : UINT32_MAX,
                          memory_order_relaxed);
}

/* A segment is timed as a whole, over all its turns: those that are long, the others now and
 * then. */
static bool worth_timing(const struct tp_shard_actor *shard, const struct tp_seat *seat)
{
    uint32_t known = atomic_load_explicit(shard->segment, memory_order_relaxed);
    if (TP_UNLIKELY(!known && shard->frame.program->weight > TIMED_NS)) return true;
    return known > TIMED_NS || seat->tick % TIMED_EVERY == 0;
}

static troupe_status timed_run(struct tp_shard_actor *shard, struct tp_seat *seat,
                               troupe_error *error)
{
    if (!shard->resumed) {
        shard->timed = worth_timing(shard, seat);
        shard->worked = 0;
    }
    uint64_t from = shard->timed ? tp_ticks() : 0;
    troupe_status status = tp_frame_run(&shard->frame, &shard->io, TURN_NS, error);
    shard->resumed = status == TROUPE_PENDING && shard->frame.waits == TP_NO_INDEX;
    if (!shard->timed) return status;
    shard->worked += tp_ticks() - from;
    if (!shard->resumed) learn(shard->segment, shard->worked);
    return status;
}

static void tally(struct tp_shard_actor *shard, struct tp_seat *seat, bool ended)
{
    struct tp_seat_device *at = &seat->at[shard->device->index];
    uint64_t before = atomic_load_explicit(&shard->progress, memory_order_relaxed);
    tp_tally(&at->steps, shard->frame.ran - before);
    if (ended) tp_tally(&at->shards, 1);
}

static void run_steps(struct tp_shard_actor *shard, struct tp_seat *seat)
{
    troupe_error error;
    shard->seat = seat;
    troupe_status status = timed_run(shard, seat, &error);
    tally(shard, seat, status == TROUPE_OK);
    tp_permit_drop(shard->device, seat);
    atomic_store_explicit(&shard->progress, shard->frame.ran, memory_order_relaxed);
    if (status == TROUPE_OK)
        end(shard, seat, NULL);
    else if (status < 0)
        end(shard, seat, &error);
    else if (shard->frame.waits != TP_NO_INDEX)
        shard->state = TP_SHARD_WAITS;
    else
        yield_turn(shard, seat);
    if (status == TROUPE_PENDING) tp_timers_run(seat->stage->timers, seat);
}

static void ask(struct tp_shard_actor *shard, struct tp_seat *seat)
{
    struct tp_message *want = &shard->want;
    tp_message_set(&shard->grant, TP_GRANT, estimate_left(shard));
    shard->wait.shard = &shard->actor;
    shard->wait.grant = &shard->grant;
    tp_message_set(want, TP_WANT, 0);
    want->want.shard = &shard->wait;
    want->want.priority = shard->block->pending->priority;
    shard->state = TP_SHARD_ASKED;
    tp_post(seat, &shard->device->actor, &want);
}

static void go(struct tp_shard_actor *shard, struct tp_seat *seat)
{
    if (TP_UNLIKELY(atomic_load_explicit(&shard->block->stop, memory_order_relaxed)))
        end_stopped(shard, seat);
    else if (TP_LIKELY(!tp_stage_ranked(seat->stage) && tp_permit_take(shard->device, seat)))
        run_steps(shard, seat);
    else
        ask(shard, seat);
}

/* -- Handlers, in the order of a call's life ----------------------------------------------- */

static troupe_status on_run(struct tp_actor *self, struct tp_seat *seat,
                            struct tp_message **message, troupe_error *err)
{
    (void)err;
    *message = NULL; /* its memory is used again at once */
    go(shard_of(self), seat);
    return TROUPE_OK;
}

static troupe_status on_grant(struct tp_actor *self, struct tp_seat *seat,
                              struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_shard_actor *shard = shard_of(self);
    *message = NULL;
    tp_permit_accept(shard->device, seat);
    if (shard->state == TP_SHARD_ASKED) {
        run_steps(shard, seat);
        return TROUPE_OK;
    }
    tp_permit_drop(shard->device, seat); /* LEAVING: WITHDRAWN is still to come */
    return TROUPE_OK;
}

static troupe_status on_tensor(struct tp_actor *self, struct tp_seat *seat,
                               struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_shard_actor *shard = shard_of(self);
    if (shard->state == TP_SHARD_ENDED) return TROUPE_OK; /* it failed: the value is dropped */
    uint32_t number = (*message)->tensor.edge,
             edge = shard->block->instance->edge_index[number];
    tp_frame_arrive(&shard->frame, edge, &(*message)->tensor.value);
    *message = NULL; /* its value was taken */
    if (shard->state != TP_SHARD_WAITS || shard->frame.waits != edge) return TROUPE_OK;
    shard->segment = &shard->block->instance->edge_estimate[number];
    go(shard, seat);
    return TROUPE_OK;
}

static void answer_stop(struct tp_shard_actor *shard, struct tp_seat *seat)
{
    struct tp_message *answer = &shard->answer;
    tp_frame_clear(&shard->frame); /* what came after it ended */
    tp_message_set(answer, TP_SHARD_DONE, 0);
    answer->shard_done.shard = shard->index;
    answer->shard_done.derived = answer->shard_done.stopped = true;
    answer->shard_done.again = true;
    answer->shard_done.code = TROUPE_CANCELLED;
    tp_post_last(seat, &shard->block->pending->actor, &answer);
}

static void withdraw(struct tp_shard_actor *shard, struct tp_seat *seat)
{
    struct tp_message *message = &shard->withdraw;
    tp_message_set(message, TP_WITHDRAW, 0);
    message->withdraw.shard = &shard->wait;
    shard->state = TP_SHARD_LEAVING;
    tp_post(seat, &shard->device->actor, &message);
}

static troupe_status on_stop(struct tp_actor *self, struct tp_seat *seat,
                             struct tp_message **message, troupe_error *err)
{
    (void)err;
    struct tp_shard_actor *shard = shard_of(self);
    *message = NULL;
    shard->stopped = true;
    switch (shard->state) {
    case TP_SHARD_IDLE:
    case TP_SHARD_READY: /* the message in its box ends it */
    case TP_SHARD_LEAVING:
        break;
    case TP_SHARD_ASKED:
        withdraw(shard, seat);
        break;
    case TP_SHARD_WAITS:
        end_stopped(shard, seat);
        break;
    case TP_SHARD_ENDED:
        answer_stop(shard, seat);
        break;
    }
    return TROUPE_OK;
}

static troupe_status on_withdrawn(struct tp_actor *self, struct tp_seat *seat,
                                  struct tp_message **message, troupe_error *err)
{
    (void)err;
    *message = NULL;
    end_stopped(shard_of(self), seat);
    return TROUPE_OK;
}

static const struct tp_role role = {
    .name = "shard",
    .on =
        {
            [TP_SHARD_RUN] = on_run,
            [TP_TURN] = on_run,
            [TP_GRANT] = on_grant,
            [TP_TENSOR] = on_tensor,
            [TP_STOP] = on_stop,
            [TP_WITHDRAWN] = on_withdrawn,
        },
};

void tp_shard_init(struct tp_shard_actor *shard, struct tp_block *block, uint32_t index,
                   struct tp_device_actor *device)
{
    tp_actor_init(&shard->actor, &role, NULL);
    shard->block = block;
    shard->index = index;
    shard->device = device;
    /* The same seed, the same turns. */
    shard->io = (struct tp_io){send, &block->stop, device->stage->rehearsal != NULL};
}

void tp_shard_resume(struct tp_shard_actor *shard, void *group)
{
    shard->actor.group = group;
    shard->state = TP_SHARD_READY;
    shard->stopped = false;
    shard->resumed = true; /* a part of its segment was not timed */
    shard->timed = false;
    shard->segment = &shard->block->instance->shard_estimate[shard->index];
    atomic_store_explicit(&shard->progress, shard->frame.ran, memory_order_relaxed);
}

void tp_shard_reset(struct tp_shard_actor *shard, void *group, const troupe_tensor *const *args)
{
    const struct tp_instance *instance = shard->block->instance;
    tp_frame_start(&shard->frame, args, instance->plan->partition->shards[shard->index].args);
    tp_shard_resume(shard, group);
    shard->resumed = false;
}
