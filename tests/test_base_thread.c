/* SPDX-License-Identifier: MIT
 *
 * tests/test_base_thread.c - time, threads and their sleep, locks, and how many CPUs there are.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ref.h"
#include "base/thread.h"
#include "tests/test.h"

#define SECOND_NS 1000000000ull

/* --- clock -----------------------------------------------------------------------------------
 */

START_TEST(the_clock_never_goes_back)
{
    uint64_t last = tp_clock_ns();
    for (int i = 0; i < 100000; i++) {
        const uint64_t now = tp_clock_ns();
        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

/* Within 5 %: the pair is taken again when something came between its two readings. */
START_TEST(ticks_measure_what_the_clock_measures)
{
    double ratio = 0;
    for (int i = 0; i < 20 && (ratio < 0.95 || ratio > 1.05); i++) {
        const uint64_t ns = tp_clock_ns(), ticks = tp_ticks();
        while (tp_clock_ns() - ns < 5000000)
            continue;
        const uint64_t spent = tp_ticks() - ticks;
        ratio = (double)tp_ticks_ns(spent) / (double)(tp_clock_ns() - ns);
    }
    ck_assert_double_ge(ratio, 0.95);
    ck_assert_double_le(ratio, 1.05);
}
END_TEST

static void *ask_scale(void *arg)
{
    *(uint64_t *)arg = tp_ticks_ns((uint64_t)1 << 40);
    return NULL;
}

START_TEST(threads_agree_on_the_length_of_a_tick)
{
    troupe_error err;
    struct tp_thread threads[4] = {{0}};
    uint64_t ns[4];
    for (int i = 0; i < 4; i++) {
        ck_ok(tp_thread_start(&threads[i], "ticks", ask_scale, &ns[i], &err));
    }
    for (int i = 0; i < 4; i++)
        tp_thread_join(&threads[i]);
    for (int i = 1; i < 4; i++)
        ck_assert_uint_eq(ns[i], ns[0]);
}
END_TEST

/* --- thread ----------------------------------------------------------------------------------
 */

struct asked {
    char name[32];
    sigset_t blocked;
};

static void *look_around(void *arg)
{
    struct asked *asked = arg;
    pthread_sigmask(SIG_SETMASK, NULL, &asked->blocked);
    return NULL;
}

START_TEST(a_new_thread_has_every_signal_blocked)
{
    troupe_error err;
    struct asked asked;
    struct tp_thread thread = {0};
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    ck_ok(tp_thread_start(&thread, "signals", look_around, &asked, &err));
    ck_assert(thread.running);
    tp_thread_join(&thread);
    tp_thread_join(&thread);
    ck_assert(!thread.running);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < 32; i++) {
        ck_assert_int_eq(sigismember(&before, i), sigismember(&after, i));
        if (i != SIGKILL && i != SIGSTOP) ck_assert(sigismember(&asked.blocked, i));
    }
}
END_TEST

static void *wait_for_one(void *arg)
{
    atomic_int *word = arg;
    while (atomic_load(word) != 1)
        tp_sleep_on(word, atomic_load(word), 0);
    return NULL;
}

START_TEST(the_name_of_a_thread_is_cut_at_15_bytes)
{
    troupe_error err;
    char name[32] = "";
    atomic_int word = 0;
    struct tp_thread thread = {0};
    ck_ok(tp_thread_start(&thread, "a-name-of-20-letters", wait_for_one, &word, &err));
    pthread_getname_np(thread.id, name, sizeof(name));
    atomic_store(&word, 1);
    tp_wake(&word, 1);
    tp_thread_join(&thread);
    ck_assert_str_eq(name, "a-name-of-20-le");
}
END_TEST

/* Two threads hand a number to and fro; a missed wake would stand still until Check's limit. */
struct table_tennis {
    atomic_int turn;
    int rounds;
};

static void play(atomic_int *turn, int mine, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        for (int now; (now = atomic_load(turn)) != mine;)
            tp_sleep_on(turn, now, 0);
        atomic_store(turn, !mine);
        tp_wake(turn, 1);
    }
}

static void *play_second(void *arg)
{
    struct table_tennis *game = arg;
    play(&game->turn, 1, game->rounds);
    return NULL;
}

START_TEST(no_wake_is_missed)
{
    troupe_error err;
    struct tp_thread thread = {0};
    struct table_tennis game = {.rounds = 5000};
    ck_ok(tp_thread_start(&thread, "tennis", play_second, &game, &err));
    play(&game.turn, 0, game.rounds);
    tp_thread_join(&thread);
    ck_assert_int_eq(atomic_load(&game.turn), 0);
}
END_TEST

START_TEST(a_sleep_ends_at_its_deadline_and_not_before)
{
    atomic_int word = 3;
    const uint64_t start = tp_clock_ns(), deadline = start + 3000000;
    int early = 0;
    for (; tp_clock_ns() < deadline; early++)
        tp_sleep_on(&word, 3, deadline);
    ck_assert_int_lt(early, 1000);
    ck_assert_uint_lt(tp_clock_ns() - start, 10 * SECOND_NS);
    tp_sleep_on(&word, 3, 1);                        /* long ago */
    tp_sleep_on(&word, 4, start + 3600 * SECOND_NS); /* another value */
    ck_assert_uint_lt(tp_clock_ns() - start, 10 * SECOND_NS);
}
END_TEST

struct locked {
    struct tp_lock lock;
    int n;
};

static void *count_locked(void *arg)
{
    struct locked *shared = arg;
    for (int i = 0; i < 10000; i++) {
        tp_lock_take(&shared->lock);
        shared->n++;
        tp_lock_drop(&shared->lock);
    }
    return NULL;
}

START_TEST(a_lock_lets_one_thread_in)
{
    troupe_error err;
    struct locked shared = {.n = 0};
    struct tp_thread threads[3] = {{0}};
    tp_lock_init(&shared.lock);
    for (int i = 0; i < 3; i++) {
        ck_ok(tp_thread_start(&threads[i], "lock", count_locked, &shared, &err));
    }
    for (int i = 0; i < 3; i++)
        tp_thread_join(&threads[i]);
    tp_lock_fini(&shared.lock);
    ck_assert_int_eq(shared.n, 30000);
}
END_TEST

struct keyed {
    struct tp_thread_key key;
    int ended; /* written by the thread's end, read after the join */
};

static void note_end(void *arg)
{
    ((struct keyed *)arg)->ended++;
}

static void *set_key(void *arg)
{
    struct keyed *keyed = arg;
    ck_assert_ptr_null(tp_thread_key_get(&keyed->key));
    ck_assert_int_eq(tp_thread_key_set(&keyed->key, keyed), 0);
    ck_assert_ptr_eq(tp_thread_key_get(&keyed->key), keyed);
    return NULL;
}

START_TEST(a_key_tells_when_its_thread_ends)
{
    troupe_error err;
    struct keyed keyed = {.ended = 0};
    struct tp_thread thread = {0};
    ck_assert_ptr_null(tp_thread_key_get(&keyed.key));
    ck_assert_int_ne(tp_thread_key_set(&keyed.key, &keyed), 0);
    ck_ok(tp_thread_key_make(&keyed.key, note_end, &err));
    ck_ok(tp_thread_start(&thread, "key", set_key, &keyed, &err));
    tp_thread_join(&thread);
    ck_assert_int_eq(keyed.ended, 1);
    tp_thread_key_drop(&keyed.key);
    tp_thread_key_drop(&keyed.key);
}
END_TEST

START_TEST(an_object_ends_with_its_last_owner)
{
    struct tp_ref ref;
    tp_ref_init(&ref);
    tp_ref_retain(&ref);
    tp_ref_retain(&ref);
    ck_assert(!tp_ref_release(&ref));
    ck_assert(!tp_ref_release(&ref));
    ck_assert(tp_ref_release(&ref));
}
END_TEST

/* --- cpus ------------------------------------------------------------------------------------
 */

START_TEST(there_is_a_cpu_and_no_more_than_the_machine_has)
{
    ck_assert_int_ge(tp_thread_cpus(), 1);
    ck_assert_int_le(tp_thread_cpus(), (int)sysconf(_SC_NPROCESSORS_CONF));
}
END_TEST

struct mount {
    char root[64];
    char groups[96];
};

static void put_file(const struct mount *mount, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", mount->root, name);
    for (char *slash = path + strlen(mount->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        ck_assert(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void remove_tree(const char *root)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

/* Files are "name=text;name=text". */
START_TEST(the_tightest_quota_on_the_way_up_counts)
{
    static const struct {
        const char *groups, *files;
        int cpus;
    } rows[] = {
        {"0::/\n", "", 0},
        {"0::/\n", "cpu.max=max 100000\n", 0},
        {"0::/\n", "cpu.max=200000 100000\n", 2},
        {"0::/\n", "cpu.max=150000 100000\n", 2},
        {"0::/\n", "cpu.max=1000 100000\n", 1},
        {"0::/\n", "cpu.max=nonsense\n", 0},
        {"0::/\n", "cpu.max=100 0\n", 0},
        {"0::/a/b\n", "a/b/cpu.max=max 100000\n;a/cpu.max=300000 100000\n", 3},
        {"0::/a/b\n", "a/b/cpu.max=700000 100000\n;a/cpu.max=300000 100000\n", 3},
        {"0::/a/b\n", "a/b/cpu.max=200000 100000\n;a/cpu.max=300000 100000\n", 2},
        {"0::/not/here\n", "cpu.max=400000 100000\n", 4},
        {"3:cpu,cpuacct:/a\n",
         "cpu/a/cpu.cfs_quota_us=50000\n;cpu/a/cpu.cfs_period_us=100000\n", 1},
        {"3:cpu,cpuacct:/a\n", "cpu/a/cpu.cfs_quota_us=-1\n;cpu/a/cpu.cfs_period_us=100000\n",
         0},
        {"3:cpuset:/a\n4:cpuacct,cpu:/\n0::/\n",
         "cpu/cpu.cfs_quota_us=500000\n;cpu/cpu.cfs_period_us=100000\n", 5},
        {"3:cpuset:/a\n", "cpu/a/cpu.cfs_quota_us=50000\n;cpu/a/cpu.cfs_period_us=100000\n", 0},
        {"nonsense\n:\n\n", "cpu.max=200000 100000\n", 0},
        {"0::/\n", "cpu.max=9223372036854775807 1\n", 1 << 20},
    };
    struct mount mount = {.root = "/tmp/troupe-cpus-XXXXXX"};
    char files[512];
    ck_assert_ptr_nonnull(mkdtemp(mount.root));
    put_file(&mount, "groups", rows[_i].groups);
    snprintf(files, sizeof(files), "%s", rows[_i].files);
    for (char *save = NULL, *at = strtok_r(files, ";", &save); at;
         at = strtok_r(NULL, ";", &save)) {
        char *text = strchr(at, '=');
        *text++ = 0;
        put_file(&mount, at, text);
    }
    snprintf(mount.groups, sizeof(mount.groups), "%s/groups", mount.root);
    const int cpus = tp_thread_quota(mount.groups, mount.root);
    remove_tree(mount.root);
    ck_assert_int_eq(cpus, rows[_i].cpus);
}
END_TEST
#define QUOTA_ROWS 17

START_TEST(without_groups_there_is_no_quota)
{
    ck_assert_int_eq(tp_thread_quota("/nonexistent/cgroup", "/nonexistent"), 0);
}
END_TEST

static TCase *thread_case(void)
{
    TCase *t = tcase_create("thread");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_clock_never_goes_back);
    tcase_add_test(t, ticks_measure_what_the_clock_measures);
    tcase_add_test(t, threads_agree_on_the_length_of_a_tick);
    tcase_add_test(t, a_new_thread_has_every_signal_blocked);
    tcase_add_test(t, the_name_of_a_thread_is_cut_at_15_bytes);
    tcase_add_test(t, no_wake_is_missed);
    tcase_add_test(t, a_sleep_ends_at_its_deadline_and_not_before);
    tcase_add_test(t, a_lock_lets_one_thread_in);
    tcase_add_test(t, a_key_tells_when_its_thread_ends);
    tcase_add_test(t, an_object_ends_with_its_last_owner);
    tcase_add_test(t, there_is_a_cpu_and_no_more_than_the_machine_has);
    tcase_add_loop_test(t, the_tightest_quota_on_the_way_up_counts, 0, QUOTA_ROWS);
    tcase_add_test(t, without_groups_there_is_no_quota);
    return t;
}

int main(void)
{
    Suite *s = suite_create("base/thread");
    suite_add_tcase(s, thread_case());
    return test_run(s);
}
