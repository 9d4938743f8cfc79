/* SPDX-License-Identifier: MIT
 *
 * actors/stage.c - mailboxes, turns, the queue of a seat, and when work is shared.
 *
 * When work is shared (figures: doc/decisions/0010): just before a turn of at least HOT_NS,
 * each other runnable actor of at least HOT_NS is looked at. If a thread spins, it is
 * published: that costs nothing. If all others sleep, a wake costs the waker 6-10 us, so it is
 * published and one is woken when the smaller of the two pieces of work exceeds WAKE_NS, or
 * when such pieces, one call after the other without a pause, have come to WAKE_NS. If all are
 * busy, it is published without a wake when it is long.
 */
#include "actors/stage.h"

#include <string.h>

#include "actors/timers.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/probe.h"
#include "messages/codec.h"

#define HOT_NS    1500
#define WAKE_NS   60000
#define LONG_NS   50000
#define SHORT_NS  5000
#define PAUSE_NS  1000000 /* without shareable work for so long, the credit is lost */
#define LEAVE_MAX 64      /* short turns that a leaving thread runs at most */
#define LOOK_NS   256     /* of a turn, for each other actor that is looked at before it */

static void publish_to(struct tp_stage *stage, struct tp_seat *by, struct tp_actor *actor,
                       void *owner);

/* -- Mail ---------------------------------------------------------------------------------- */

/* In front of all others. */
static void enqueue_first(struct tp_seat *seat, struct tp_actor *actor)
{
    actor->next = seat->head;
    if (!seat->head) seat->tail = actor;
    seat->head = actor;
}

static void enqueue(struct tp_seat *seat, struct tp_actor *actor)
{
    actor->next = NULL;
    if (seat->head)
        seat->tail->next = actor;
    else
        seat->head = actor;
    seat->tail = actor;
}

/* Without memory a message goes as it is: only the codec's own failures are bugs. */
static void through_codec(struct tp_message *m)
{
    troupe_error error;
    const troupe_status status = tp_message_recode(m, &error);
    if (status >= 0 || status == TROUPE_EXHAUSTED) return;
    tp_log(ERROR, "codec-failed", "%s: %s", tp_kind_name(m->kind), error.text);
    tp_assert(!"a message came through the codec");
}

/* In a test. True: it is in the rehearsal's bag. */
static bool goes_rarely(struct tp_stage *stage, struct tp_actor *from, struct tp_actor *to,
                        struct tp_message *m)
{
    if (stage->wire) through_codec(m);
    if (!stage->rehearsal) return false;
    tp_rehearsal_post(stage->rehearsal, from, to, m);
    return true;
}

static inline void deliver(struct tp_seat *seat, struct tp_actor *to, struct tp_message *m)
{
    uint32_t estimate = m->estimate;
    if (to->role->mail) {
        to->role->mail(to, seat, m);
    } else if (tp_actor_put(to, m)) {
        to->estimate = estimate;
        if (TP_UNLIKELY(to->role->prompt) && !tp_stage_ranked(seat->stage))
            enqueue_first(seat, to);
        else
            enqueue(seat, to);
    }
}

/* Apart, so that the usual way has no register to save for it. */
static TP_COLD void post_rarely(struct tp_seat *seat, struct tp_actor *to, struct tp_message *m)
{
    if (!goes_rarely(seat->stage, seat->running, to, m)) deliver(seat, to, m);
}

void tp_post(struct tp_seat *seat, struct tp_actor *to, struct tp_message **message)
{
    struct tp_message *m = *message;
    *message = NULL;
    if (TP_UNLIKELY(seat->stage->rare))
        post_rarely(seat, to, m);
    else
        deliver(seat, to, m);
}

void tp_post_outside(struct tp_stage *stage, struct tp_actor *to, struct tp_message **message)
{
    struct tp_message *m = *message;
    uint32_t estimate = m->estimate;
    *message = NULL;
    tp_assert(!to->role->mail);
    if (stage->rare && goes_rarely(stage, NULL, to, m)) return;
    if (tp_actor_put(to, m)) {
        to->estimate = estimate;
        publish_to(stage, NULL, to, to->group);
    }
}

void tp_post_last(struct tp_seat *seat, struct tp_actor *to, struct tp_message **message)
{
    tp_assert(!seat->last || seat->last_to == to);
    struct tp_message **end = &seat->last;
    while (*end)
        end = &(*end)->next;
    (*message)->next = NULL;
    *end = *message;
    *message = NULL;
    seat->last_to = to;
}

void tp_stage_last_word(struct tp_seat *seat)
{
    struct tp_message *last = seat->last;
    seat->last = NULL;
    for (struct tp_message *next; last; last = next) {
        next = last->next;
        struct tp_message *message = last;
        tp_post(seat, seat->last_to, &message);
    }
}

/* -- Turns --------------------------------------------------------------------------------- */

static void dead_letter(const struct tp_actor *actor, const struct tp_message *message)
{
    tp_log(ERROR, "dead-letter", "%s has no handler for %s", actor->role->name,
           tp_kind_name(message->kind));
}

void tp_stage_handle(struct tp_seat *seat, struct tp_actor *actor, struct tp_message *message)
{
    troupe_error error;
    tp_handler *handler = actor->role->on[message->kind];
    if (TP_UNLIKELY(!handler)) {
        dead_letter(actor, message);
    } else if (TP_UNLIKELY(handler(actor, seat, &message, &error) < 0)) {
        tp_log(ERROR, "handler-failed", "%s: %s", actor->role->name, error.text);
    }
    tp_message_drop(message);
}

/* Back to sleep, unless mail came: then it is runnable again, here. The last word goes out in
 * between: after the exchange nothing of a sleeping actor is touched, and an actor that got
 * mail is one whose receiver waits for it to be handled. */
static void end_turn(struct tp_seat *seat, struct tp_actor *actor)
{
    struct tp_message *none = NULL;
    if (TP_FAULT(19)) tp_stage_last_word(seat);
    TP_PACE("turn_end");
    bool asleep = atomic_compare_exchange_strong_explicit(
        &actor->box, &none, TP_ASLEEP, memory_order_acq_rel, memory_order_relaxed);
    if (TP_FAULT(6) && !asleep) {
        atomic_store(&actor->box, TP_ASLEEP);
        asleep = true;
    }
    tp_stage_last_word(seat);
    if (!asleep) enqueue(seat, actor);
}

static void run_turn(struct tp_seat *seat, struct tp_actor *actor)
{
    TP_PACE("turn_begin");
    struct tp_message *mail = atomic_exchange_explicit(&actor->box, NULL, memory_order_acq_rel);
    if (mail->next && !TP_FAULT(21)) mail = tp_mail_in_order(mail);
    seat->running = actor;
    seat->tick++;
    for (struct tp_message *next; mail; mail = next) {
        next = mail->next;
        tp_stage_handle(seat, actor, mail);
    }
    seat->running = NULL;
    end_turn(seat, actor);
}

/* -- Sharing ------------------------------------------------------------------------------- */

/* Count `work` that could have been shared with a sleeper; true when it has come to the price
 * of a wake. */
static bool earn(struct tp_seat *seat, uint64_t work)
{
    uint64_t now = tp_clock_ns();
    if (now - seat->credit_at > PAUSE_NS) seat->credit = 0;
    seat->credit_at = now;
    seat->credit += work;
    if (seat->credit <= WAKE_NS) return false;
    seat->credit = 0;
    return true;
}

static bool judge(struct tp_seat *seat, const struct tp_actor *mine,
                  const struct tp_actor *other)
{
    const struct tp_stage *stage = seat->stage;
    if (TP_UNLIKELY(other->role->prompt)) return true;
    if (other->estimate < HOT_NS) return false;
    if (atomic_load_explicit(&stage->spinning, memory_order_relaxed) > 0) return true;
    if (!atomic_load_explicit(&stage->idle, memory_order_relaxed))
        return other->estimate > LONG_NS && (stage->workers || mine->group != other->group);
    uint64_t work = mine->estimate < other->estimate ? mine->estimate : other->estimate;
    return work > WAKE_NS || earn(seat, work);
}

/* Who is not seen as asleep, nor as looking, looks at `published` before it sleeps. */
static void push_published(struct tp_stage *stage, struct tp_actor *actor)
{
    TP_PACE("publish_push");
    struct tp_actor *old = atomic_load_explicit(&stage->inject, memory_order_relaxed);
    do
        actor->next = old;
    while (!atomic_compare_exchange_weak_explicit(&stage->inject, &old, actor,
                                                  memory_order_release, memory_order_relaxed));
    /* seq_cst: pairs with tp_stage_park: it announces itself, then looks at `published` */
    TP_PACE("publish_count");
    atomic_fetch_add_explicit(&stage->published, 1, memory_order_seq_cst);
}

static void wake_someone(struct tp_stage *stage, struct tp_seat *by)
{
    TP_PACE("publish_look");
    if (!atomic_load_explicit(&stage->spinning, memory_order_seq_cst))
        tp_stage_wake_one(stage, by);
}

void tp_stage_publish(struct tp_stage *stage, struct tp_seat *by, struct tp_actor *actor)
{
    push_published(stage, actor);
    wake_someone(stage, by);
}

/* As above. The owner is told, since it may be the only one that may run it now; when it
 * waits, nobody else is woken. */
static void publish_to(struct tp_stage *stage, struct tp_seat *by, struct tp_actor *actor,
                       void *owner)
{
    const struct tp_herald *herald = owner ? stage->herald : NULL;
    if (herald && herald->coming) {
        actor->owner = owner;
        herald->coming(owner);
    }
    /* From here on its call may end, and its memory go. */
    push_published(stage, actor);
    if (!herald || !herald->come(owner, by)) wake_someone(stage, by);
}

/* What is nobody's own can be done by this caller, too. */
static void publish_for(struct tp_seat *seat, struct tp_actor *actor, const void *group)
{
    publish_to(seat->stage, seat, actor, actor->group ? actor->group : (void *)group);
}

/* Take the actor that comes after `before` (NULL: the first) out of the queue. */
static struct tp_actor *unlink_after(struct tp_seat *seat, struct tp_actor *before)
{
    struct tp_actor **at = before ? &before->next : &seat->head;
    struct tp_actor *actor = *at;
    *at = actor->next;
    if (seat->tail == actor) seat->tail = before;
    if (seat->offered == actor) seat->offered = before;
    return actor;
}

/* Is there anyone to share work with? */
static bool has_others(const struct tp_stage *stage)
{
    return stage->shares &&
           (stage->workers || atomic_load_explicit(&stage->n_seats, memory_order_relaxed) > 1);
}

/* `mine` runs next and takes a while: give others of the queue away where that pays. The longer
 * it takes the further the look goes, so that a long queue costs a small part of each turn. */
static void share(struct tp_seat *seat, const struct tp_actor *mine, const void *group)
{
    struct tp_actor *before = NULL, *actor = seat->head;
    uint32_t looks = mine->estimate / LOOK_NS;
    for (struct tp_actor *next; actor && looks > 0; actor = next, looks--) {
        next = actor->next;
        if (judge(seat, mine, actor))
            publish_for(seat, unlink_after(seat, before), group);
        else
            before = actor;
    }
}

void tp_stage_alert(struct tp_stage *stage, struct tp_seat *by, void *group)
{
    const struct tp_herald *herald = stage->herald;
    if (!herald || !herald->coming) return; /* workers look by themselves */
    herald->coming(group);
    (void)herald->come(group, by);
}

void tp_stage_calm(struct tp_stage *stage, void *group)
{
    const struct tp_herald *herald = stage->herald;
    if (herald && herald->taken) herald->taken(group);
}

/* What this thread may run: all of `others`, its own group's, nobody's, and what is short. */
static bool may_run(const struct tp_actor *actor, const void *group, bool others)
{
    return others || !actor->group || actor->group == group || actor->estimate < LONG_NS;
}

/* Move what was published since to the end, oldest first. Under fifo_busy. */
static void fill_fifo(struct tp_stage *stage)
{
    /* acquire: pairs with the release in tp_stage_publish */
    TP_PACE("take_fill");
    struct tp_actor *list =
        atomic_exchange_explicit(&stage->inject, NULL, memory_order_acquire);
    struct tp_actor *oldest = NULL, *newest = list;
    if (!list) return;
    for (struct tp_actor *next; list; list = next) {
        next = list->next;
        list->next = oldest;
        oldest = list;
    }
    *(stage->fifo ? &stage->fifo_last->next : &stage->fifo) = oldest;
    stage->fifo_last = newest;
}

/* The oldest that this thread may run. What it may not run it leaves to the workers, and
 * remembers that it did. Under fifo_busy. */
static struct tp_actor *pop_published(struct tp_seat *seat, const void *group, bool others)
{
    struct tp_stage *stage = seat->stage;
    fill_fifo(stage);
    struct tp_actor *before = NULL;
    for (struct tp_actor *actor = stage->fifo; actor; before = actor, actor = actor->next) {
        if (!may_run(actor, group, others)) continue;
        *(before ? &before->next : &stage->fifo) = actor->next;
        if (stage->fifo_last == actor) stage->fifo_last = before;
        TP_PACE("take_count");
        atomic_fetch_sub_explicit(&stage->published, 1, memory_order_relaxed);
        if (TP_UNLIKELY(actor->owner != NULL)) stage->herald->taken(actor->owner);
        actor->owner = NULL;
        return actor;
    }
    seat->refused = stage->fifo != NULL;
    return NULL;
}

/* Something is published and nobody looks: wake someone. */
static void pass_on(struct tp_stage *stage, struct tp_seat *seat)
{
    TP_PACE("pass_look");
    if (atomic_load_explicit(&stage->published, memory_order_seq_cst) <= 0) return;
    TP_PACE("pass_spinning");
    if (!atomic_load_explicit(&stage->spinning, memory_order_seq_cst))
        tp_stage_wake_one(stage, seat);
}

static struct tp_actor *take_published(struct tp_seat *seat, const void *group, bool others)
{
    struct tp_stage *stage = seat->stage;
    seat->refused = false;
    TP_PACE("take_look");
    if (atomic_load_explicit(&stage->published, memory_order_relaxed) <= 0) return NULL;
    TP_PACE("take_lock");
    if (atomic_exchange_explicit(&stage->fifo_busy, 1, memory_order_acquire)) return NULL;
    if (atomic_load_explicit(&seat->called, memory_order_relaxed)) {
        TP_PACE("take_called");
        atomic_store_explicit(&seat->called, 0, memory_order_seq_cst);
    }
    struct tp_actor *actor = pop_published(seat, group, others);
    TP_PACE("take_unlock");
    atomic_store_explicit(&stage->fifo_busy, 0, memory_order_release);
    if ((actor || seat->refused) && !TP_FAULT(15)) pass_on(stage, seat);
    return actor;
}

/* -- One turn of someone ------------------------------------------------------------------- */

static struct tp_actor *next_here(struct tp_seat *seat)
{
    struct tp_actor *actor = seat->head;
    if (!actor) return NULL;
    seat->head = actor->next;
    if (seat->offered == actor) seat->offered = NULL;
    return actor;
}

bool tp_stage_turn(struct tp_seat *seat, const void *group, bool others)
{
    if (TP_UNLIKELY(seat->stage->rehearsal != NULL))
        return tp_rehearsal_step(seat->stage->rehearsal, seat);
    struct tp_actor *actor = NULL;
    if (TP_UNLIKELY(seat->gave_way)) actor = take_published(seat, group, others);
    if (!actor && (actor = next_here(seat)) && TP_UNLIKELY(!may_run(actor, group, others))) {
        publish_for(seat, actor, group);
        return true;
    }
    if (!actor) actor = take_published(seat, group, others);
    if (!actor) return false;
    seat->gave_way = false;
    if (actor->estimate >= HOT_NS && seat->head && has_others(seat->stage))
        share(seat, actor, group);
    run_turn(seat, actor);
    if (TP_UNLIKELY(seat->gave_way || tp_timers_due(seat->stage->timers, seat->tick)))
        tp_timers_run(seat->stage->timers, seat);
    return true;
}

static bool worth_giving(struct tp_seat *seat, const struct tp_actor *actor)
{
    if (actor->estimate < HOT_NS) return false;
    if (actor->estimate > WAKE_NS) return true;
    if (atomic_load_explicit(&seat->stage->spinning, memory_order_relaxed) > 0) return true;
    return earn(seat, actor->estimate);
}

/* Runnable actors of others must not wait for a thread that is busy. Without workers it keeps
 * those of its own calls. */
static struct tp_actor *give_away(struct tp_seat *seat, struct tp_actor *actor,
                                  const void *group)
{
    if (!seat->stage->workers && actor->group == group && !actor->role->shared) return actor;
    publish_for(seat, actor, group);
    return NULL;
}

/* Take those that came after `last` (NULL: all) out of the queue. */
static struct tp_actor *cut_after(struct tp_seat *seat, struct tp_actor *last)
{
    struct tp_actor **at = last ? &last->next : &seat->head;
    struct tp_actor *rest = *at;
    *at = NULL;
    seat->tail = last;
    return rest;
}

void tp_stage_offer(struct tp_seat *seat, const void *group)
{
    if (seat->stage->rehearsal) return;
    struct tp_actor *actor = cut_after(seat, seat->offered);
    for (struct tp_actor *next; actor; actor = next) {
        next = actor->next;
        if (!seat->stage->workers) {
            if ((actor = give_away(seat, actor, group))) enqueue(seat, actor);
        } else if (worth_giving(seat, actor)) {
            publish_for(seat, actor, group);
        } else {
            enqueue(seat, actor);
        }
    }
    seat->offered = seat->head ? seat->tail : NULL;
}

void tp_stage_hand_over(struct tp_seat *seat, const void *group)
{
    if (TP_LIKELY(!seat->head)) return;
    if (seat->stage->workers) seat->offered = NULL;
    struct tp_actor *actor = cut_after(seat, seat->offered);
    for (struct tp_actor *next; actor; actor = next) {
        next = actor->next;
        struct tp_actor *mine = give_away(seat, actor, group);
        if (mine) enqueue(seat, mine);
    }
    seat->offered = seat->head ? seat->tail : NULL;
}

/* Nothing stays: it may have been granted a permit that others wait for, this thread among
 * them, and nobody looks into the queue of a thread that is elsewhere. Without workers perhaps
 * nobody waits in the stage, and what is nobody's own would be published in this one's name. */
void tp_stage_leave(struct tp_seat *seat, const void *group)
{
    int short_turns = 0;
    seat->gave_way = false;
    if (seat->stage->rehearsal || TP_FAULT(13)) return;
    for (struct tp_actor *actor; (actor = next_here(seat));) {
        bool run = actor->estimate < SHORT_NS && short_turns++ < LEAVE_MAX;
        if (!seat->stage->workers) run = !actor->group || (run && actor->group != group);
        if (run)
            run_turn(seat, actor);
        else
            publish_for(seat, actor, group);
    }
    /* Who published while this thread looked woke nobody. */
    if (!TP_FAULT(14)) pass_on(seat->stage, seat);
}

/* -- Seats, open, close -------------------------------------------------------------------- */

static troupe_status add_seat(struct tp_stage *stage, struct tp_seat *seat, troupe_error *err)
{
    tp_lock_take(&stage->lock);
    int n = atomic_load_explicit(&stage->n_seats, memory_order_relaxed);
    if (n < TP_SEATS_MAX) {
        seat->index = n;
        atomic_store_explicit(&stage->seats[n], seat, memory_order_relaxed);
        /* release: who reads the number with acquire sees the seats */
        atomic_store_explicit(&stage->n_seats, n + 1, memory_order_release);
    }
    tp_lock_drop(&stage->lock);
    if (n == TP_SEATS_MAX)
        return tp_fail(err, TROUPE_EXHAUSTED, "%d threads and callers are in use at once",
                       TP_SEATS_MAX);
    return TROUPE_OK;
}

troupe_status tp_seat_new(struct tp_stage *stage, bool worker, struct tp_seat **out,
                          troupe_error *err)
{
    size_t permits = (size_t)stage->devices * sizeof(struct tp_seat_device);
    struct tp_seat *seat = tp_alloc_aligned(128, sizeof *seat + permits);
    if (!seat) return tp_fail_memory(err, sizeof *seat + permits);
    memset(seat, 0, sizeof *seat + permits);
    seat->stage = stage;
    seat->worker = worker;
    seat->hits = 8;
    atomic_init(&seat->away, -1);
    seat->at = (struct tp_seat_device *)(seat + 1);
    troupe_status status = add_seat(stage, seat, err);
    if (status) {
        tp_free(seat);
        return status;
    }
    *out = seat;
    return TROUPE_OK;
}

static void stage_free(struct tp_stage *stage)
{
    int n = atomic_load_explicit(&stage->n_seats, memory_order_acquire);
    for (int i = 0; i < n; i++)
        tp_free(atomic_load_explicit(&stage->seats[i], memory_order_relaxed));
    tp_timers_destroy(&stage->timers);
    tp_rehearsal_destroy(&stage->rehearsal);
    tp_lock_fini(&stage->lock);
    tp_free(stage);
}

static troupe_status stage_setup(struct tp_stage *stage, const struct tp_stage_options *options,
                                 troupe_error *err)
{
    TP_TRY(tp_timers_new(&stage->timers, err));
    if (options->seed) return tp_rehearsal_new(&stage->rehearsal, *options->seed, err);
    return tp_stage_start(stage, err);
}

troupe_status tp_stage_open(struct tp_stage **out, const struct tp_stage_options *options,
                            troupe_error *err)
{
    struct tp_stage *stage = tp_alloc_aligned(64, sizeof *stage);
    if (!stage) return tp_fail_memory(err, sizeof *stage);
    memset(stage, 0, sizeof *stage);
    tp_lock_init(&stage->lock);
    tp_ticks_begin();
    stage->cpus = tp_thread_cpus();
    stage->workers = options->seed ? 0 : options->workers;
    stage->spin_us = stage->cpus > 1 ? options->spin_us : 0;
    stage->devices = options->devices;
    stage->wire = options->wire;
    stage->pinned = options->cpus != NULL;
    if (options->cpus) stage->cpus_of_workers = *options->cpus;
    stage->rare = options->wire || options->seed;
    stage->shares = stage->cpus > 1;
    *out = stage;
    troupe_status status = stage_setup(stage, options, err);
    if (status) tp_stage_close(out);
    return status;
}

void tp_stage_stop(struct tp_stage *stage)
{
    TP_PACE("stop_set");
    atomic_store_explicit(&stage->stop, true, memory_order_seq_cst);
    for (int i = 0; i < stage->workers; i++) {
        struct tp_seat *seat = atomic_load_explicit(&stage->seats[i], memory_order_acquire);
        if (seat) tp_stage_unpark(NULL, seat);
        tp_thread_join(&stage->threads[i]);
    }
}

void tp_stage_close(struct tp_stage **at)
{
    struct tp_stage *stage = *at;
    *at = NULL;
    if (!stage) return;
    tp_stage_stop(stage);
    stage_free(stage);
}
