/* SPDX-License-Identifier: MIT
 *
 * tests/models/replay_stage.c - the scenes of mailbox.pml and stage.pml: actors that only count, on the real stage.
 */
#include <pthread.h>
#include <sched.h>

#include "actors/timers.h"
#include "base/clock.h"
#include "tests/models/replay.h"

/* -- stage.pml ----------------------------------------------------------------------------- */

#define MORE_NS  60000  /* a leaving thread does not run it itself */
#define LONG_NS  100000 /* a helper leaves it to the workers when it is another's */
#define TIMER_NS 1000000000ull

enum { CALL, MORE, FIRST, OTHER, PIECES };

static struct stage_scene {
    struct tp_stage *stage;
    struct tp_seat *workers[2], *helper;
    struct tp_actor pieces[PIECES], inbox;
    struct tp_timer timer;
    atomic_int done[PIECES], fired, gone;
    bool chain, timed;
} scene;

static void post(struct tp_seat *seat, struct tp_actor *to, uint32_t estimate)
{
    struct tp_message *message = scene_message(TP_TURN, estimate);
    tp_post(seat, to, &message);
}

static troupe_status on_piece(struct tp_actor *self, struct tp_seat *seat,
                              struct tp_message **message, troupe_error *err)
{
    const long piece = self - scene.pieces;
    (void)message;
    (void)err;
    if (atomic_exchange(&scene.done[piece], 1)) bad("a piece of work was done twice");
    if (piece == CALL) {
        post(seat, &scene.inbox, 0);
        post(seat, &scene.pieces[MORE], MORE_NS);
    } else if (piece == OTHER && scene.chain) {
        post(seat, &scene.pieces[CALL], 0);
    }
    return TROUPE_OK;
}

static void on_mail(struct tp_actor *self, struct tp_seat *seat, struct tp_message *message)
{
    if (tp_actor_put(self, message) && seat != scene.helper)
        tp_stage_unpark(seat, scene.helper);
}

static const struct tp_role piece_role = {.name = "piece", .on = {[TP_TURN] = on_piece}};
static const struct tp_role inbox_role = {.name = "inbox", .mail = on_mail};

static void *work(void *seat)
{
    return tp_stage_worker(seat);
}

static int others, helpers; /* two groups */

static bool on_work(void *group, struct tp_seat *by)
{
    return group == &helpers && tp_stage_call(by, scene.helper);
}

static const struct tp_herald herald = {.come = on_work};

/* Of tp_caller_wait, with an inbox of its own. */
static bool take_mail(void)
{
    pace("inbox_take");
    struct tp_message *mail = atomic_exchange(&scene.inbox.box, TP_ASLEEP);
    if (mail == TP_ASLEEP) return false;
    tp_message_destroy(&mail);
    return true;
}

static void *help(void *arg)
{
    struct tp_seat *seat = scene.helper;
    while (!take_mail()) {
        if (tp_stage_turn(seat, arg, false)) continue;
        if (tp_stage_spin(seat, &scene.inbox, 0)) continue;
        tp_stage_park(seat, &scene.inbox, 0);
    }
    tp_stage_leave(seat, arg);
    atomic_store(&scene.gone, 1);
    return NULL;
}

static void fire(struct tp_timer *timer, struct tp_seat *seat)
{
    (void)timer;
    (void)seat;
    atomic_store(&scene.fired, 1);
}

static void post_piece(int piece, uint32_t estimate)
{
    struct tp_message *message = scene_message(TP_TURN, estimate);
    tp_post_outside(scene.stage, &scene.pieces[piece], &message);
}

static bool all_done(void)
{
    if (!atomic_load(&scene.done[CALL]) || !atomic_load(&scene.done[MORE])) return false;
    if (scene.chain && !atomic_load(&scene.done[FIRST])) return false;
    return atomic_load(&scene.gone) &&
           atomic_load(scene.timed ? &scene.fired : &scene.done[OTHER]);
}

static void *post_all(void *arg)
{
    (void)arg;
    if (scene.chain)
        post_piece(FIRST, LONG_NS);
    else
        post_piece(CALL, 0);
    if (scene.timed)
        tp_stage_set_timer(scene.stage, NULL, &scene.timer, tp_clock_ns() + TIMER_NS);
    else
        post_piece(OTHER, LONG_NS);
    pace_away();
    while (!all_done())
        sched_yield();
    tp_stage_stop(scene.stage);
    return NULL;
}

static void set_pieces(void)
{
    for (int i = 0; i < PIECES; i++)
        tp_actor_init(&scene.pieces[i], &piece_role,
                      i == FIRST || i == OTHER ? &others : &helpers);
    tp_actor_init(&scene.inbox, &inbox_role, NULL);
    scene.timer.fire = fire;
    scene.chain = pace_setting("chain", 0);
    scene.timed = pace_setting("timer", 0);
}

void replay_stage(void)
{
    static const char *const names[] = {"w0", "w1"};
    const int n = pace_setting("workers", 1);
    set_pieces();
    scene.stage = scene_stage(n);
    scene.stage->herald = &herald;
    for (int i = 0; i < n; i++)
        scene.workers[i] = scene_seat(scene.stage, true);
    scene.helper = scene_seat(scene.stage, false);
    for (int i = 0; i < n; i++)
        pace_thread(names[i], work, scene.workers[i]);
    pace_thread("c", help, &helpers);
    pace_thread("p", post_all, NULL);
    if (!pace_play()) bad("a thread sleeps, and work or a deadline waits");
    hold(!atomic_load(&scene.stage->published), "all that was published was taken");
    hold(!atomic_load(&scene.stage->spinning), "nobody counts as looking any more");
    tp_stage_close(&scene.stage);
}

/* -- mailbox.pml --------------------------------------------------------------------------- */

#define ALL 4

/* What the box of an actor that was freed looks like: who takes this message has used it afterwards. */
static struct tp_message after;

static struct mailbox_scene {
    struct tp_stage *stage;
    struct tp_actor actor, inbox;
    uint32_t next[2], handled;
    atomic_int turns, finished;
} box_scene;

static troupe_status on_numbered(struct tp_actor *self, struct tp_seat *seat,
                                 struct tp_message **message, troupe_error *err)
{
    struct mailbox_scene *s = &box_scene;
    const uint32_t sender = (*message)->tensor.edge / 2, number = (*message)->tensor.edge % 2;
    (void)err;
    hold(*message != &after, "nobody touches an actor after its last word");
    hold(self == &s->actor && !atomic_fetch_add(&s->turns, 1), "no two turns run at once");
    hold(s->next[sender]++ == number, "messages of one sender come in order");
    if (++s->handled == ALL) {
        struct tp_message *last = scene_message(TP_TURN, 0);
        tp_post_last(seat, &s->inbox, &last);
    }
    atomic_fetch_sub(&s->turns, 1);
    return TROUPE_OK;
}

static void on_last(struct tp_actor *self, struct tp_seat *seat, struct tp_message *message)
{
    (void)seat;
    tp_actor_put(self, message);
}

static const struct tp_role numbered_role = {.name = "actor",
                                             .on = {[TP_TENSOR] = on_numbered}};
static const struct tp_role owner_role = {.name = "owner", .mail = on_last};

static void *post_two(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct tp_message *message = scene_message(TP_TENSOR, 0);
        message->tensor.edge = *(const uint32_t *)arg * 2 + i;
        tp_post_outside(box_scene.stage, &box_scene.actor, &message);
    }
    return NULL;
}

static void *run_turns(void *seat)
{
    while (!atomic_load(&box_scene.finished) || ((struct tp_seat *)seat)->head) {
        if (!tp_stage_turn(seat, NULL, true)) sched_yield();
    }
    return NULL;
}

/* Takes the last word, and frees the actor. */
static void *own(void *arg)
{
    struct mailbox_scene *s = &box_scene;
    (void)arg;
    pace_away();
    while (atomic_load(&s->inbox.box) == TP_ASLEEP)
        sched_yield();
    pace("inbox_take");
    struct tp_message *last = atomic_exchange(&s->inbox.box, TP_ASLEEP);
    tp_message_destroy(&last);
    atomic_store(&s->actor.box, &after);
    atomic_store(&s->finished, 1);
    return NULL;
}

void replay_mailbox(void)
{
    static uint32_t senders[] = {0, 1};
    struct mailbox_scene *s = &box_scene;
    s->stage = scene_stage(2);
    tp_message_set(&after, TP_TENSOR, 0);
    tp_actor_init(&s->actor, &numbered_role, NULL);
    tp_actor_init(&s->inbox, &owner_role, NULL);
    pace_thread("w0", run_turns, scene_seat(s->stage, true));
    pace_thread("w1", run_turns, scene_seat(s->stage, true));
    pace_thread("o", own, NULL);
    pace_thread("p0", post_two, &senders[0]);
    pace_thread("p1", post_two, &senders[1]);
    if (!pace_play()) bad("%u of %d messages were handled", s->handled, ALL);
    hold(atomic_load(&s->actor.box) == &after, "nobody touches an actor after its last word");
    tp_stage_close(&s->stage);
}
