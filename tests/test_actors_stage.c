/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_stage.c - mailboxes, turns, sleep and timers, with actors that only count.
 */
#include <pthread.h>
#include <sched.h>

#include "actors/device.h"
#include "actors/stage.h"
#include "actors/timers.h"
#include "base/clock.h"
#include "tests/rehearsal.h"

#define SECOND_NS 1000000000ull
#define SENDERS   4
#define POSTS     3000

/* What an actor has seen. */
struct counter {
    struct tp_actor actor;
    uint64_t seen, again;   /* messages; how often it still posts to itself */
    uint64_t next[SENDERS]; /* of each sender the number that comes next */
    atomic_int busy;        /* turns at work */
    atomic_int done;        /* messages, for who sleeps on it */
    bool wrong;
};

static troupe_status on_count(struct tp_actor *self, struct tp_seat *seat,
                              struct tp_message **message, troupe_error *err)
{
    struct counter *c = tp_container_of(self, struct counter, actor);
    struct tp_message *next;
    (void)message;
    if (atomic_fetch_add(&c->busy, 1)) c->wrong = true;
    c->seen++;
    if (c->again) {
        c->again--;
        TP_TRY(tp_message_new(&next, TP_TURN, err));
        tp_post(seat, self, &next);
    }
    atomic_fetch_sub(&c->busy, 1);
    atomic_fetch_add(&c->done, 1);
    tp_wake(&c->done, 1);
    return TROUPE_OK;
}

/* TENSOR with `edge`: the sender and its number. */
static troupe_status on_numbered(struct tp_actor *self, struct tp_seat *seat,
                                 struct tp_message **message, troupe_error *err)
{
    struct counter *c = tp_container_of(self, struct counter, actor);
    const uint32_t from = (*message)->tensor.edge % SENDERS,
                   number = (*message)->tensor.edge / SENDERS;
    (void)seat;
    (void)err;
    if (atomic_fetch_add(&c->busy, 1)) c->wrong = true;
    if (c->next[from]++ != number) c->wrong = true;
    atomic_fetch_sub(&c->busy, 1);
    atomic_fetch_add(&c->done, 1);
    tp_wake(&c->done, 1);
    return TROUPE_OK;
}

/* Nobody sleeps on it; the turn goes on for a while. */
static troupe_status on_quick(struct tp_actor *self, struct tp_seat *seat,
                              struct tp_message **message, troupe_error *err)
{
    struct counter *c = tp_container_of(self, struct counter, actor);
    (void)seat;
    (void)message;
    (void)err;
    c->seen++;
    atomic_fetch_add(&c->done, 1);
    for (uint64_t i = c->seen * 7919 % 400; i > 0; i--)
        atomic_signal_fence(memory_order_seq_cst);
    return TROUPE_OK;
}

static const struct tp_role role = {
    .name = "counter",
    .on = {[TP_TURN] = on_count, [TP_POKE] = on_quick, [TP_TENSOR] = on_numbered}};

static struct tp_stage *stage_of(int workers)
{
    troupe_error err;
    struct tp_stage *stage;
    const struct tp_stage_options options = {.workers = workers, .spin_us = 0};
    ck_ok(tp_stage_open(&stage, &options, &err));
    return stage;
}

static void post_turn(struct tp_stage *stage, struct counter *c)
{
    troupe_error err;
    struct tp_message *message;
    ck_ok(tp_message_new(&message, TP_TURN, &err));
    tp_post_outside(stage, &c->actor, &message);
}

/* All n have been handled. */
static void await_done(struct counter *c, int n)
{
    const uint64_t end = tp_clock_ns() + 5 * SECOND_NS;
    for (int have; (have = atomic_load(&c->done)) < n;) {
        ck_assert_msg(tp_clock_ns() < end, "%d of %d messages were handled", have, n);
        tp_sleep_on(&c->done, have, end);
    }
}

/* -- One thread
 * -------------------------------------------------------------------------------------- */

START_TEST(mail_that_comes_during_a_turn_makes_another_turn)
{
    troupe_error err;
    struct counter c = {.again = 100};
    struct tp_stage *stage = stage_of(0);
    struct tp_seat *seat;
    uint64_t turns = 0;
    tp_actor_init(&c.actor, &role, NULL);
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    post_turn(stage, &c);
    while (tp_stage_turn(seat, NULL, true))
        turns++;
    ck_assert_uint_eq(c.seen, 101);
    ck_assert_uint_eq(turns, 101);
    ck_assert_ptr_eq(atomic_load(&c.actor.box), TP_ASLEEP);
    tp_stage_close(&stage);
}
END_TEST

START_TEST(a_turn_handles_what_was_there_when_it_began_oldest_first)
{
    troupe_error err;
    struct counter c = {.again = 0};
    struct tp_stage *stage = stage_of(0);
    struct tp_seat *seat;
    tp_actor_init(&c.actor, &role, NULL);
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    for (uint32_t i = 0; i < 1000; i++) {
        struct tp_message *message;
        ck_ok(tp_message_new(&message, TP_TENSOR, &err));
        message->tensor.edge = i * SENDERS;
        tp_post(seat, &c.actor, &message);
        ck_assert_ptr_null(message);
    }
    ck_assert(tp_stage_turn(seat, NULL, true));
    ck_assert(!tp_stage_turn(seat, NULL, true));
    ck_assert_uint_eq(c.next[0], 1000);
    ck_assert(!c.wrong);
    tp_stage_close(&stage);
}
END_TEST

START_TEST(an_actor_that_nobody_posts_to_never_has_a_turn)
{
    troupe_error err;
    struct counter c = {.again = 0};
    struct tp_stage *stage = stage_of(0);
    struct tp_seat *seat;
    tp_actor_init(&c.actor, &role, NULL);
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    ck_assert(!tp_stage_turn(seat, NULL, true));
    ck_assert_uint_eq(c.seen, 0);
    tp_stage_close(&stage);
}
END_TEST

static void no_mail(struct tp_actor *self, struct tp_seat *seat, struct tp_message *message)
{
    (void)seat;
    tp_actor_put(self, message);
}

static const struct tp_role inbox_role = {.name = "inbox", .mail = no_mail};

static void ck_awake(struct tp_seat *seat, const struct tp_actor *inbox)
{
    const uint64_t from = tp_clock_ns();
    tp_stage_park(seat, inbox, from + 3 * SECOND_NS);
    ck_assert_uint_lt(tp_clock_ns() - from, SECOND_NS);
}

/* What came before the thread said that it sleeps: nobody wakes it for that. */
START_TEST(who_is_about_to_sleep_looks_once_more_at_work_and_mail)
{
    troupe_error err;
    struct counter c = {.again = 0}, inbox = {.again = 0};
    struct tp_stage *stage = stage_of(0);
    struct tp_seat *seat;
    tp_actor_init(&c.actor, &role, NULL);
    tp_actor_init(&inbox.actor, &inbox_role, NULL);
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    post_turn(stage, &c);
    ck_awake(seat, NULL);
    ck_assert(tp_stage_turn(seat, NULL, true));
    struct tp_message *mail;
    ck_ok(tp_message_new(&mail, TP_TURN, &err));
    tp_post(seat, &inbox.actor, &mail);
    ck_awake(seat, &inbox.actor);
    mail = atomic_load(&inbox.actor.box);
    tp_message_destroy(&mail);
    tp_stage_close(&stage);
}
END_TEST

START_TEST(a_sleep_ends_at_its_deadline)
{
    troupe_error err;
    struct tp_stage *stage = stage_of(0);
    struct tp_seat *seat;
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    const uint64_t until = tp_clock_ns() + 20000000;
    while (tp_clock_ns() < until) /* it may wake early */
        tp_stage_park(seat, NULL, until);
    ck_assert_uint_lt(tp_clock_ns(), until + 3 * SECOND_NS);
    tp_stage_close(&stage);
}
END_TEST

/* It is in this thread's own queue, which it empties before it goes away, and not published: of what is
 * nobody's own nobody is told, and without workers perhaps nobody looks. */
START_TEST(without_workers_a_permit_that_is_left_over_is_granted_here)
{
    troupe_error err;
    struct tp_stage *stage;
    struct tp_seat *seat;
    struct tp_device device = {.permits = 2};
    struct tp_device_actor actor;
    const struct tp_stage_options options = {.devices = 1};
    ck_ok(tp_stage_open(&stage, &options, &err));
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    tp_device_actor_init(&actor, &device, stage, 0);
    ck_assert(tp_permit_take(&actor, seat));
    tp_permit_drop(&actor, seat);
    atomic_fetch_add(&actor.waiting, 1); /* a shard of another thread */
    tp_permit_accept(&actor, seat);
    ck_assert_int_eq(atomic_load(&actor.free), 2);
    ck_assert_int_eq(atomic_load(&stage->published), 0);
    ck_assert_ptr_eq(seat->head, &actor.actor);
    atomic_fetch_sub(&actor.waiting, 1);
    tp_stage_leave(seat, NULL);
    ck_assert_ptr_null(seat->head);
    tp_stage_close(&stage);
}
END_TEST

/* -- Several
 * -------------------------------------------------------------------------------------- */

static const int workers[] = {1, 2, 4};

struct sender {
    pthread_t thread;
    struct tp_stage *stage;
    struct counter *to;
    uint32_t index, n;
};

static void *send_many(void *arg)
{
    struct sender *s = arg;
    for (uint32_t i = 0; i < s->n; i++) {
        struct tp_message *message;
        if (tp_message_new(&message, TP_TENSOR, NULL)) return NULL;
        message->tensor.edge = i * SENDERS + s->index;
        tp_post_outside(s->stage, &s->to->actor, &message);
        if (i % 64 == 0) sched_yield();
    }
    return NULL;
}

START_TEST(messages_of_each_sender_come_in_order_and_no_two_turns_run_at_once)
{
    enum { EACH = 5000 };
    struct counter c = {.again = 0};
    struct tp_stage *stage = stage_of(workers[_i]);
    struct sender senders[SENDERS];
    tp_actor_init(&c.actor, &role, NULL);
    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.stage = stage, .to = &c, .index = i, .n = EACH};
        ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send_many, &senders[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    await_done(&c, SENDERS * EACH);
    tp_stage_stop(stage);
    for (int i = 0; i < SENDERS; i++)
        ck_assert_uint_eq(c.next[i], EACH);
    ck_assert(!c.wrong);
    tp_stage_close(&stage);
}
END_TEST

/* This thread stays awake, and posts at about the moment when the worker goes to sleep: to another
 * actor than the one whose turn that was. */
START_TEST(a_worker_that_is_about_to_sleep_sees_what_was_published)
{
    troupe_error err;
    struct counter c[2] = {{.again = 0}, {.again = 0}};
    struct tp_stage *stage = stage_of(workers[_i]);
    for (int i = 0; i < 2; i++)
        tp_actor_init(&c[i].actor, &role, NULL);
    for (int i = 0; i < POSTS; i++) {
        const uint64_t end = tp_clock_ns() + 3 * SECOND_NS;
        struct tp_message *message;
        ck_ok(tp_message_new(&message, TP_POKE, &err));
        while (i && atomic_load(&c[(i - 1) % 2].done) <= (i - 1) / 2)
            ck_assert_msg(tp_clock_ns() < end, "message %d lies there", i - 1);
        tp_post_outside(stage, &c[i % 2].actor, &message);
    }
    await_done(&c[0], POSTS / 2);
    await_done(&c[1], POSTS / 2);
    tp_stage_stop(stage);
    tp_stage_close(&stage);
}
END_TEST

START_TEST(work_for_many_actors_is_all_done)
{
    enum { ACTORS = 50 };
    static struct counter c[ACTORS];
    struct tp_stage *stage = stage_of(workers[_i]);
    memset(c, 0, sizeof(c));
    for (int i = 0; i < ACTORS; i++) {
        tp_actor_init(&c[i].actor, &role, NULL);
        c[i].again = 200;
    }
    for (int i = 0; i < ACTORS; i++)
        post_turn(stage, &c[i]);
    for (int i = 0; i < ACTORS; i++)
        await_done(&c[i], 201);
    tp_stage_stop(stage);
    for (int i = 0; i < ACTORS; i++) {
        ck_assert_uint_eq(c[i].seen, 201);
        ck_assert(!c[i].wrong);
    }
    tp_stage_close(&stage);
}
END_TEST

START_TEST(a_stage_opens_and_closes_with_any_number_of_workers)
{
    const size_t pieces = tp_alloc_pieces();
    for (int i = 0; i < 20; i++) {
        struct tp_stage *stage = stage_of(i % 5);
        if (i % 2) tp_stage_stop(stage);
        tp_stage_close(&stage);
        ck_assert_ptr_null(stage);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

static troupe_status open_close(troupe_error *err)
{
    struct tp_stage *stage = NULL;
    const struct tp_stage_options options = {.workers = 2};
    TP_TRY(tp_stage_open(&stage, &options, err));
    tp_stage_close(&stage);
    return TROUPE_OK;
}

START_TEST(a_stage_without_memory_fails_and_leaks_nothing)
{
    troupe_error err;
    ck_starve(open_close(&err));
}
END_TEST

/* -- Offering
 * -------------------------------------------------------------------------------------- */

#define CROWD 24

static size_t queue_length(const struct tp_seat *seat, bool *offered_is_there)
{
    size_t n = 0;
    *offered_is_there = !seat->offered;
    for (struct tp_actor *a = seat->head; a; a = a->next, n++)
        if (a == seat->offered) *offered_is_there = true;
    return n;
}

/* To a random one; estimates on both sides of what is worth a look. */
static void post_here(struct tp_seat *seat, struct counter *crowd, uint64_t random)
{
    troupe_error err;
    struct tp_message *message;
    ck_ok(tp_message_new(&message, TP_TURN, &err));
    message->estimate = random % 3 * 1000;
    tp_post(seat, &crowd[random % CROWD].actor, &message);
}

/* Nobody is there to take what is published, so each message is handled here or found there. */
START_TEST(an_offer_looks_at_each_actor_once_and_loses_none)
{
    troupe_error err;
    struct counter crowd[CROWD] = {{.seen = 0}};
    struct tp_stage *stage = stage_of(0);
    struct tp_seat *seat;
    int group, others;
    uint64_t posted = 0, seen = 0, x = (uint64_t)_i * 2654435761u + 1;
    bool there;
    for (int i = 0; i < CROWD; i++)
        tp_actor_init(&crowd[i].actor, &role, i % 4 ? &group : &others);
    ck_ok(tp_seat_new(stage, false, &seat, &err));
    for (int i = 0; i < 500; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        if (x % 5 < 3) {
            post_here(seat, crowd, x >> 8);
            posted++;
        } else if (x % 5 == 3) {
            tp_stage_offer(seat, &group);
            ck_assert_ptr_eq(seat->offered, seat->head ? seat->tail : NULL);
        } else {
            tp_stage_turn(seat, &group, x & 64);
        }
        queue_length(seat, &there);
        ck_assert(there);
    }
    while (tp_stage_turn(seat, &group, true))
        continue;
    for (int i = 0; i < CROWD; i++)
        seen += crowd[i].seen;
    ck_assert_uint_eq(seen, posted);
    ck_assert_uint_eq(queue_length(seat, &there), 0);
    ck_assert_ptr_null(stage->fifo);
    tp_stage_close(&stage);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/stage");
    const int n = (int)TP_COUNT(workers);
    TCase *one = tcase_create("one thread"), *several = tcase_create("several");
    tcase_set_timeout(several, 60);
    tcase_add_test(one, mail_that_comes_during_a_turn_makes_another_turn);
    tcase_add_test(one, a_turn_handles_what_was_there_when_it_began_oldest_first);
    tcase_add_test(one, an_actor_that_nobody_posts_to_never_has_a_turn);
    tcase_add_test(one, who_is_about_to_sleep_looks_once_more_at_work_and_mail);
    tcase_add_test(one, a_sleep_ends_at_its_deadline);
    tcase_add_test(one, without_workers_a_permit_that_is_left_over_is_granted_here);
    tcase_add_loop_test(one, an_offer_looks_at_each_actor_once_and_loses_none, 0, 200);
    tcase_add_loop_test(
        several, messages_of_each_sender_come_in_order_and_no_two_turns_run_at_once, 0, n);
    tcase_add_loop_test(several, a_worker_that_is_about_to_sleep_sees_what_was_published, 0, n);
    tcase_add_loop_test(several, work_for_many_actors_is_all_done, 0, n);
    tcase_add_test(several, a_stage_opens_and_closes_with_any_number_of_workers);
    tcase_add_test(several, a_stage_without_memory_fails_and_leaks_nothing);
    suite_add_tcase(s, one);
    suite_add_tcase(s, several);
    return s;
}

int main(void)
{
    return test_run(suite());
}
