/* SPDX-License-Identifier: MIT
 *
 * tests/test_actors_bell.c - a caller's fd says what is due, in every order of the steps of
 * those who bring and of the owner.
 *
 * One thread takes the steps of all, in an order that is tried out or comes from a seed, and
 * looks at the fd whenever the owner is elsewhere: that is when a host polls.
 */
#include <poll.h>

#include "actors/bell.h"
#include "tests/rehearsal.h"

#define BRINGERS 3
#define STEPS    200

/* As tp_bell_announce, then bring. */
enum bring { COUNT, STRIKE, MARK, BRING, BROUGHT };
/* The owner takes what is there and settles, as tp_caller_settle. First it may ask for the fd. */
enum own {
    AWAY,
    TAKE,
    TAKEN,
    LOOK,
    IN_VAIN,
    DRAIN,
    UNMARK,
    LOOK_AGAIN,
    RUNG_YET,
    RING,
    MARK_IT
};

struct scene {
    struct tp_bell bell;
    enum bring bringers[BRINGERS];
    int times[BRINGERS]; /* that each still brings */
    int n;
    enum own owner;
    int passes; /* of the owner that are to come */
    bool late;  /* the fd is asked for in the first pass */
    unsigned there, took;
};

static void bring(struct scene *s, int i)
{
    enum bring *at = &s->bringers[i];
    switch (*at) {
    case COUNT:
        *at = tp_bell_count(&s->bell) ? STRIKE : BRING;
        break;
    case STRIKE:
        *at = tp_bell_strike(&s->bell) ? MARK : BRING;
        break;
    case MARK:
        tp_bell_mark(&s->bell);
        *at = BRING;
        break;
    case BRING:
        s->there++;
        *at = --s->times[i] ? COUNT : BROUGHT;
        break;
    case BROUGHT:
        break;
    }
}

static bool is_due(const struct scene *s)
{
    return tp_bell_expects(&s->bell) || s->there;
}

static void begin_pass(struct scene *s)
{
    s->passes--;
    if (!tp_bell_has_fd(&s->bell)) ck_assert_int_ge(tp_bell_open(&s->bell), 0);
    s->owner = s->late ? LOOK : TAKE;
    s->late = false;
}

static void own(struct scene *s)
{
    switch (s->owner) {
    case AWAY:
        begin_pass(s);
        break;
    case TAKE:
        s->took = s->there;
        s->there = 0;
        s->owner = TAKEN;
        break;
    case TAKEN:
        tp_bell_taken(&s->bell, s->took);
        s->owner = LOOK;
        break;
    case LOOK:
        s->owner = is_due(s) ? LOOK_AGAIN : IN_VAIN;
        break;
    case IN_VAIN:
        s->owner = tp_bell_in_vain(&s->bell) ? DRAIN : LOOK_AGAIN;
        break;
    case DRAIN:
        tp_bell_drain(&s->bell);
        s->owner = UNMARK;
        break;
    case UNMARK:
        tp_bell_unmark(&s->bell);
        s->owner = LOOK_AGAIN;
        break;
    case LOOK_AGAIN:
        s->owner = is_due(s) ? RUNG_YET : AWAY;
        break;
    case RUNG_YET:
        s->owner = tp_bell_rung(&s->bell) ? AWAY : RING;
        break;
    case RING:
        ck_assert(tp_bell_strike(&s->bell));
        s->owner = MARK_IT;
        break;
    case MARK_IT:
        tp_bell_mark(&s->bell);
        s->owner = AWAY;
        break;
    }
}

static bool readable(const struct scene *s)
{
    struct pollfd at = {.fd = atomic_load(&s->bell.fd), .events = POLLIN};
    return poll(&at, 1, 0) == 1;
}

static void look_at_the_fd(const struct scene *s)
{
    if (s->owner != AWAY || !tp_bell_has_fd(&s->bell) || s->late) return;
    if (s->there) ck_assert_msg(readable(s), "something is due, and the fd says nothing");
    if (!tp_bell_expects(&s->bell))
        ck_assert_msg(!readable(s), "nothing is due or under way, and the fd is readable");
}

/* Who can take a step: the bringers, then the owner. */
static int who_can(const struct scene *s, int *who)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->bringers[i] != BROUGHT) who[n++] = i;
    if (s->owner != AWAY || s->passes > 0) who[n++] = s->n;
    return n;
}

static void take_step(struct scene *s, int who)
{
    if (who < s->n)
        bring(s, who);
    else
        own(s);
    look_at_the_fd(s);
}

static struct scene scene_of(int bringers, int times, int passes, bool late)
{
    struct scene s = {.n = bringers, .passes = passes, .late = late};
    tp_bell_init(&s.bell);
    if (!late) ck_assert_int_ge(tp_bell_open(&s.bell), 0);
    for (int i = 0; i < bringers; i++)
        s.times[i] = times;
    return s;
}

/* The owner comes once more: all is taken, and the fd is quiet. */
static void end_scene(struct scene *s)
{
    s->passes = 1;
    do
        take_step(s, s->n);
    while (s->owner != AWAY);
    ck_assert_uint_eq(s->there, 0);
    ck_assert(!readable(s));
    tp_bell_fini(&s->bell);
}

/* One way through the scene: at each step the choice of `path`, beyond its end the first. The
 * way that comes next is left in it. False: this was the last. */
static bool next_path(struct scene *s, int *path, int *n_path)
{
    int options[STEPS], who[BRINGERS + 1], depth = 0;
    for (int n; (n = who_can(s, who)) > 0; depth++) {
        ck_assert_int_lt(depth, STEPS);
        if (depth == *n_path) path[(*n_path)++] = 0;
        options[depth] = n;
        take_step(s, who[path[depth]]);
    }
    while (*n_path > 0 && path[*n_path - 1] + 1 == options[*n_path - 1])
        (*n_path)--;
    if (*n_path > 0) path[*n_path - 1]++;
    return *n_path > 0;
}

static void every_path(int bringers, int passes, bool late, int at_least)
{
    int path[STEPS], n_path = 0, paths = 0;
    for (bool more = true; more; paths++) {
        struct scene s = scene_of(bringers, 1, passes, late);
        more = next_path(&s, path, &n_path);
        end_scene(&s);
    }
    ck_assert_int_gt(paths, at_least);
}

START_TEST(in_every_order_the_fd_is_readable_when_and_only_when_something_is_announced)
{
    every_path(1, 2, false, 1000);
    every_path(2, 1, false, 10000);
}
END_TEST

START_TEST(in_every_order_an_fd_that_is_asked_for_late_says_what_came_before)
{
    every_path(1, 2, true, 1000);
}
END_TEST

START_TEST(three_that_bring_again_and_again_lose_nothing_and_ring_for_nothing)
{
    struct rehearsal dice = {.state = (uint64_t)_i};
    for (int round = 0; round < 20; round++) {
        struct scene s = scene_of(BRINGERS, 3, 5, round % 4 == 3);
        int who[BRINGERS + 1];
        for (int n; (n = who_can(&s, who)) > 0;)
            take_step(&s, who[rehearsal_below(&dice, (uint32_t)n)]);
        end_scene(&s);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("actors/bell");
    TCase *orders = tcase_create("orders");
    tcase_add_test(orders,
                   in_every_order_the_fd_is_readable_when_and_only_when_something_is_announced);
    tcase_add_test(orders, in_every_order_an_fd_that_is_asked_for_late_says_what_came_before);
    tcase_add_seeds(orders, three_that_bring_again_and_again_lose_nothing_and_ring_for_nothing);
    suite_add_tcase(s, orders);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
