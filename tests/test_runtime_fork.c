/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_fork.c - a forked child: every public call is refused there, closing frees
 * nothing, and the parent goes on; deadlines of parent calls.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/crowd.h"

static const int workers[] = {0, 1, 3};

/* What a child is given. */
struct legacy {
    troupe_runtime *runtime;
    troupe_caller *caller;
    const troupe_function *f;
    const troupe_tensor *const *args;
    uint64_t call;
};

static void never(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                  size_t n)
{
    (void)arg, (void)error, (void)results, (void)n;
    _exit(99);
}

static bool refused(troupe_status status, const troupe_error *err)
{
    return status == TROUPE_INVALID && err->code == status && strstr(err->text, "parent");
}

#define CK(n, expr)                                                                            \
    if (!(expr)) return n

/* 0: all is refused. Else which was not. */
static int calls_of_child(struct legacy *l)
{
    troupe_error err = {0};
    troupe_tensor *results[2];
    troupe_caller *more;
    troupe_plan *plan = NULL;
    uint64_t a, b;
    CK(1, refused(troupe_run(l->runtime, l->f, l->args, 1, results, 2, NULL, &err), &err));
    CK(2,
       refused(troupe_call(l->runtime, l->f, l->args, 1, NULL, never, NULL, &a, &err), &err));
    CK(3, refused(troupe_caller_call(l->caller, l->f, l->args, 1, NULL, never, NULL, &a, &err),
                  &err));
    CK(4, troupe_wait(l->runtime, l->call, -1) == TROUPE_INVALID);
    CK(5, troupe_caller_wait(l->caller, l->call, -1) == TROUPE_INVALID);
    CK(6, troupe_dispatch(l->runtime) == TROUPE_INVALID);
    CK(7, troupe_caller_dispatch(l->caller) == TROUPE_INVALID);
    CK(8, refused(troupe_caller_open(l->runtime, &more, &err), &err));
    CK(9, refused(troupe_plan_make(l->runtime, l->f, NULL, &plan, &err), &err));
    CK(10, troupe_progress(l->runtime, l->call, &a, &b) == TROUPE_INVALID);
    CK(11, troupe_device_fail_at(l->runtime, "cpu:0", 1) == TROUPE_INVALID);
    troupe_cancel(l->runtime, l->call);
    return 0;
}

/* Figures are not there; closing is, and does nothing. */
static int rest_of_child(struct legacy *l)
{
    troupe_statistics s = {.size = sizeof(s), .calls = 77};
    troupe_device device = {.size = sizeof(device)};
    const size_t pieces = tp_alloc_pieces();
    troupe_statistics_get(l->runtime, &s);
    CK(20, s.calls == 77);
    CK(21, troupe_device_at(l->runtime, 0, &device) == TROUPE_INVALID);
    CK(22, troupe_caller_close(&l->caller) == TROUPE_OK && !l->caller);
    CK(23, troupe_close(&l->runtime) == TROUPE_OK && !l->runtime);
    CK(24, tp_alloc_pieces() == pieces);
    return 0;
}

static void ck_child(struct legacy l)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        int wrong = calls_of_child(&l);
        _exit(wrong ? wrong : rest_of_child(&l));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* A call is in flight as it forks, more than once, and calls go on in between. */
START_TEST(every_public_call_is_refused_in_a_child_and_the_parent_goes_on)
{
    troupe_error err;
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1);
    const troupe_tensor *const args[] = {x};
    struct legacy l = {
        .runtime = crowd_open("cpu:0,cpu:1", workers[_i], 0), .f = f, .args = args};
    ck_ok(troupe_caller_open(l.runtime, &l.caller, &err));
    for (int round = 0; round < 4; round++) {
        struct outcome outcome = {0};
        l.call = outcome_call(l.runtime, f, args, NULL, &outcome);
        ck_child(l);
        ck_assert_int_eq(troupe_wait(l.runtime, l.call, WAIT_MS), TROUPE_OK);
        ck_assert_int_eq(outcome.ended, 1);
        ck_assert_msg(!outcome.error.code, "%s", outcome.error.text);
        ck_rows(outcome.results, 1);
        outcome_clear(&outcome);
    }
    ck_assert_int_eq(troupe_caller_close(&l.caller), TROUPE_OK);
    ck_assert_int_eq(troupe_close(&l.runtime), TROUPE_OK);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}
END_TEST

/* It had no runtime before: its own one is no one else's. */
START_TEST(a_child_may_open_a_runtime_of_its_own)
{
    int status;
    troupe_error err;
    troupe_runtime *parents = crowd_open("cpu:0", workers[_i], 0);
    troupe_function *f = function_over(1);
    troupe_tensor *x = row_of(1), *results[2];
    const troupe_tensor *const args[] = {x};
    pid_t child = fork();
    if (child == 0) {
        troupe_runtime *own = NULL;
        troupe_options options = TROUPE_OPTIONS_INIT;
        options.workers = workers[_i];
        if (troupe_open(&own, &options, &err)) _exit(1);
        if (troupe_run(own, f, args, 1, results, 2, NULL, &err)) _exit(2);
        if (!member_right(results, 1)) _exit(3);
        if (troupe_close(&own)) _exit(4);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_eq(troupe_close(&parents), TROUPE_OK);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}
END_TEST

/* -- Parents
 * -------------------------------------------------------------------------------------- */

static uint64_t call_row(struct rehearsal *r, const troupe_function *f, float x,
                         const troupe_call_options *options, struct outcome *outcome)
{
    troupe_tensor *row = row_of(x);
    *outcome = (struct outcome){0};
    uint64_t call =
        outcome_call(r->runtime, f, (const troupe_tensor *const[]){row}, options, outcome);
    troupe_tensor_release(&row);
    return call;
}

static void ck_either(struct outcome *outcome, float x, troupe_status code)
{
    ck_assert_int_eq(outcome->ended, 1);
    if (outcome->error.code)
        ck_assert_int_eq(outcome->error.code, code);
    else
        ck_rows(outcome->results, x);
    outcome_clear(outcome);
}

/* It passed when the parent was started: child and grandchild, begun before or after it is
 * seen, end with it, and nobody else does. */
START_TEST(the_deadline_of_a_parent_ends_its_children_and_nobody_else)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2");
    troupe_function *f = function_over(3);
    struct outcome parent, child, grandchild, late, other;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.deadline_s = 1e-9;
    const uint64_t first = call_row(&r, f, 1, &options, &parent);
    options.deadline_s = 0;
    options.parent = first;
    options.parent = call_row(&r, f, 2, &options, &child);
    call_row(&r, f, 3, &options, &grandchild);
    call_row(&r, f, 4, NULL, &other);
    tp_timers_run(r.runtime->stage->timers, r.runtime->main->seat);
    options.parent = first;
    call_row(&r, f, 5, &options, &late);
    rehearsal_play(&r);
    ck_assert_int_eq(parent.error.code, TROUPE_TIMED_OUT);
    ck_assert_int_eq(child.error.code, TROUPE_TIMED_OUT);
    ck_assert_int_eq(grandchild.error.code, TROUPE_TIMED_OUT);
    ck_assert_int_eq(late.error.code, TROUPE_TIMED_OUT);
    ck_assert_int_eq(other.error.code, TROUPE_OK);
    ck_either(&parent, 1, TROUPE_TIMED_OUT);
    ck_either(&child, 2, TROUPE_TIMED_OUT);
    ck_either(&grandchild, 3, TROUPE_TIMED_OUT);
    ck_either(&late, 5, TROUPE_TIMED_OUT);
    ck_either(&other, 4, TROUPE_OK);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

START_TEST(the_deadline_of_a_child_leaves_its_parent_and_siblings_alone)
{
    struct rehearsal r = rehearsal_open((uint64_t)_i, "cpu:0,cpu:1,cpu:2");
    troupe_function *f = function_over(3);
    struct outcome parent, child, sibling;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.parent = call_row(&r, f, 1, NULL, &parent);
    call_row(&r, f, 3, &options, &sibling);
    options.deadline_s = 1e-9;
    call_row(&r, f, 2, &options, &child);
    rehearsal_steps(&r, rehearsal_below(&r, 40));
    tp_timers_run(r.runtime->stage->timers, r.runtime->main->seat);
    rehearsal_play(&r);
    ck_assert_int_eq(parent.error.code, TROUPE_OK);
    ck_assert_int_eq(sibling.error.code, TROUPE_OK);
    ck_either(&parent, 1, TROUPE_OK);
    ck_either(&sibling, 3, TROUPE_OK);
    ck_either(&child, 2, TROUPE_TIMED_OUT);
    troupe_function_release(&f);
    rehearsal_close(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/fork");
    const int n = (int)TP_COUNT(workers);
    TCase *forks = tcase_create("forks"), *parents = tcase_create("parents");
    tcase_add_loop_test(forks, every_public_call_is_refused_in_a_child_and_the_parent_goes_on,
                        0, n);
    tcase_add_loop_test(forks, a_child_may_open_a_runtime_of_its_own, 0, n);
    tcase_add_loop_test(parents, the_deadline_of_a_parent_ends_its_children_and_nobody_else, 0,
                        200);
    tcase_add_loop_test(parents, the_deadline_of_a_child_leaves_its_parent_and_siblings_alone,
                        0, 200);
    suite_add_tcase(s, forks);
    suite_add_tcase(s, parents);
    return s;
}

int main(void)
{
    return test_run(suite());
}
