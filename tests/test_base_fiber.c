/* SPDX-License-Identifier: MIT
 *
 * tests/test_base_fiber.c - functions that pause on stacks of their own, and paced work.
 */
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fiber.h"
#include "base/pace.h"
#include "base/thread.h"
#include "tests/test.h"

#ifdef HAVE_MAKECONTEXT

struct counter {
    struct tp_fiber *fiber;
    int n, until;
    troupe_status status;
};

/* Counts in a local variable, which must be there after each pause. */
static void count(void *arg)
{
    struct counter *c = arg;
    volatile char room[4096];
    for (int i = 0; i < c->until; i++) {
        room[i % sizeof(room)] = (char)i;
        c->n = i + 1;
        ck_assert_int_eq(room[i % sizeof(room)], (char)i);
        tp_fiber_pause(c->fiber);
    }
}

static void start(struct counter *c, void (*body)(void *arg))
{
    troupe_error err;
    ck_ok(tp_fiber_new(&c->fiber, body, c, &err));
}

START_TEST(a_fiber_goes_on_where_it_paused)
{
    struct counter c = {.until = 1000};
    start(&c, count);
    ck_assert_int_eq(c.n, 0);
    for (int i = 1; i <= c.until; i++) {
        ck_assert(!tp_fiber_resume(c.fiber));
        ck_assert_int_eq(c.n, i);
    }
    ck_assert(tp_fiber_resume(c.fiber));
    tp_fiber_destroy(&c.fiber);
    ck_assert_ptr_null(c.fiber);
}
END_TEST

START_TEST(a_fiber_that_never_ran_leaves_nothing)
{
    const size_t before = tp_alloc_pieces();
    struct counter c = {.until = 1};
    start(&c, count);
    tp_fiber_destroy(&c.fiber);
    ck_assert_uint_eq(tp_alloc_pieces(), before);
    tp_fiber_destroy(&c.fiber);
}
END_TEST

START_TEST(fibers_do_not_touch_each_others_stacks)
{
    struct counter c[8] = {{0}};
    for (int i = 0; i < 8; i++) {
        c[i].until = 10 + i;
        start(&c[i], count);
    }
    for (int round = 1; round <= 10; round++)
        for (int i = 0; i < 8; i++) {
            ck_assert(!tp_fiber_resume(c[i].fiber));
            ck_assert_int_eq(c[i].n, round);
        }
    for (int i = 0; i < 8; i++) {
        while (!tp_fiber_resume(c[i].fiber))
            continue;
        ck_assert_int_eq(c[i].n, 10 + i);
        tp_fiber_destroy(&c[i].fiber);
    }
}
END_TEST

static void *resume_once(void *arg)
{
    const struct counter *c = arg;
    tp_fiber_resume(c->fiber);
    return NULL;
}

START_TEST(each_part_may_run_on_another_thread)
{
    troupe_error err;
    struct counter c = {.until = 20};
    start(&c, count);
    for (int i = 1; i <= c.until; i++) {
        struct tp_thread thread = {0};
        ck_ok(tp_thread_start(&thread, "fiber", resume_once, &c, &err));
        tp_thread_join(&thread);
        ck_assert_int_eq(c.n, i);
    }
    ck_assert(tp_fiber_resume(c.fiber));
    tp_fiber_destroy(&c.fiber);
}
END_TEST

/* Signals that are blocked on the thread that resumes it stay so inside. */
static void look_at_signals(void *arg)
{
    struct counter *c = arg;
    for (;;) {
        sigset_t blocked;
        pthread_sigmask(SIG_BLOCK, NULL, &blocked);
        c->n = sigismember(&blocked, SIGUSR1);
        if (c->until-- == 0) return;
        tp_fiber_pause(c->fiber);
    }
}

START_TEST(signals_are_blocked_as_on_the_thread_that_resumes_it)
{
    sigset_t set, before, after;
    struct counter c = {.until = 4};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    start(&c, look_at_signals);
    for (int i = 0; i < 5; i++) {
        pthread_sigmask(i % 2 ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
        ck_assert(tp_fiber_resume(c.fiber) == (i == 4));
        ck_assert_int_eq(c.n, i % 2);
        pthread_sigmask(SIG_BLOCK, NULL, &after);
        ck_assert_int_eq(sigismember(&after, SIGUSR1), i % 2);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    tp_fiber_destroy(&c.fiber);
}
END_TEST

/* Of its caller's, a fiber changes nothing. */
static void round_upward(void *arg)
{
    struct counter *c = arg;
    fesetround(FE_UPWARD);
    tp_fiber_pause(c->fiber);
    c->n = fegetround();
}

START_TEST(the_rounding_of_either_side_is_its_own)
{
    struct counter c = {0};
    start(&c, round_upward);
    ck_assert(!tp_fiber_resume(c.fiber));
    ck_assert_int_eq(fegetround(), FE_TONEAREST);
    ck_assert(tp_fiber_resume(c.fiber));
    ck_assert_int_eq(c.n, FE_UPWARD);
    ck_assert_int_eq(fegetround(), FE_TONEAREST);
    tp_fiber_destroy(&c.fiber);
}
END_TEST

/* As deep as a thread's own stack lets it: a megabyte. */
static int dig(int depth)
{
    volatile char room[1024];
    room[0] = (char)depth;
    return depth == 0 ? 0 : dig(depth - 1) + (room[0] == (char)depth);
}

static void go_deep(void *arg)
{
    struct counter *c = arg;
    c->n = dig(1000);
}

START_TEST(there_is_room_for_what_is_called_inside)
{
    struct counter c = {0};
    start(&c, go_deep);
    ck_assert(tp_fiber_resume(c.fiber));
    ck_assert_int_eq(c.n, 1000);
    tp_fiber_destroy(&c.fiber);
}
END_TEST

#endif

START_TEST(without_memory_there_is_no_fiber)
{
    troupe_error err;
    struct tp_fiber *fiber = NULL;
    tp_alloc_fail_at(1, 0);
    ck_fails(tp_fiber_new(&fiber, free, NULL, &err), EXHAUSTED, "out of memory");
    tp_alloc_fail_at(0, 0);
    ck_assert_ptr_null(fiber);
}
END_TEST

/* --- pace ----------------------------------------------------------------------------------- */

struct looker {
    struct tp_pace pace;
    int looks, enough; /* it gives up at look number `enough` */
};

static troupe_status look(struct tp_pace *pace, troupe_error *err)
{
    struct looker *l = tp_container_of(pace, struct looker, pace);
    if (++l->looks < l->enough) return TROUPE_OK;
    return tp_fail(err, TROUPE_CANCELLED, "enough");
}

static troupe_status work(struct tp_pace *pace, int pieces, int *done, troupe_error *err)
{
    for (*done = 0; *done < pieces; ++*done)
        TP_TRY(tp_pace(pace, err));
    return TROUPE_OK;
}

START_TEST(paced_work_looks_up_after_so_many_pieces_and_ends_when_told)
{
    troupe_error err;
    int done;
    struct looker l = {.pace = {look, 10, 0}, .enough = 5};
    ck_ok(work(&l.pace, 39, &done, &err));
    ck_assert_int_eq(l.looks, 3);
    ck_fails(work(&l.pace, 1000, &done, &err), CANCELLED, "enough");
    ck_assert_int_eq(l.looks, 5);
    ck_assert_int_eq(done, 10);
    ck_ok(work(NULL, 1000, &done, &err));
    ck_assert_int_eq(done, 1000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base/fiber");
    TCase *t = tcase_create("fiber");
#ifdef HAVE_MAKECONTEXT
    tcase_add_test(t, a_fiber_goes_on_where_it_paused);
    tcase_add_test(t, a_fiber_that_never_ran_leaves_nothing);
    tcase_add_test(t, fibers_do_not_touch_each_others_stacks);
    tcase_add_test(t, each_part_may_run_on_another_thread);
    tcase_add_test(t, signals_are_blocked_as_on_the_thread_that_resumes_it);
    tcase_add_test(t, the_rounding_of_either_side_is_its_own);
    tcase_add_test(t, there_is_room_for_what_is_called_inside);
#endif
    tcase_add_test(t, without_memory_there_is_no_fiber);
    tcase_add_test(t, paced_work_looks_up_after_so_many_pieces_and_ends_when_told);
    suite_add_tcase(s, t);
    return test_run(s);
}
