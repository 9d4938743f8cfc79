/* SPDX-License-Identifier: MIT
 *
 * tests/test_base_affinity.c - sets of CPUs, and limits of cgroups.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/affinity.h"
#include "base/thread.h"
#include "tests/test.h"

/* -- Sets
 * -------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *shown; /* shown NULL: refused */
} lists[] = {
    {"0", "0"},       {"0-3", "0-3"}, {"3+1", "1+3"},       {"0-3+8", "0-3+8"},
    {"2+0+1", "0-2"}, {"5-5", "5"},   {"1023", "1023"},     {"0-1023", "0-1023"},
    {"", NULL},       {"a", NULL},    {"-1", NULL},         {"1-", NULL},
    {"3-1", NULL},    {"1+", NULL},   {"+1", NULL},         {"1024", NULL},
    {"1,2", NULL},    {"1 ", NULL},   {"0-99999999", NULL}, {"1-2-3", NULL},
    {"auto", NULL},   {"0x1", NULL},
};

START_TEST(a_list_of_cpus_is_read_and_shown_or_refused)
{
    struct tp_cpus cpus = {0};
    troupe_error err;
    char shown[TP_CPUS_TEXT];
    if (!lists[_i].shown) {
        ck_fails(tp_cpus_read(lists[_i].text, &cpus, &err), INVALID, "no list of CPUs");
        ck_assert_int_eq(tp_cpus_count(&cpus), 0);
        return;
    }
    ck_ok(tp_cpus_read(lists[_i].text, &cpus, &err));
    tp_cpus_show(&cpus, shown, sizeof(shown));
    ck_assert_str_eq(shown, lists[_i].shown);
}
END_TEST

START_TEST(a_set_that_is_too_long_to_show_ends_with_dots)
{
    struct tp_cpus cpus = {0};
    char shown[20];
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu += 2)
        CPU_SET(cpu, &cpus.set);
    tp_cpus_show(&cpus, shown, sizeof(shown));
    ck_assert_str_eq(shown, "0+2+4+6+8+10+12+...");
}
END_TEST

START_TEST(the_order_has_each_allowed_cpu_once)
{
    struct tp_cpus allowed, seen = {0};
    int list[CPU_SETSIZE];
    tp_cpus_allowed(&allowed);
    const int n = tp_cpus_order(&allowed, list);
    ck_assert_int_eq(n, tp_cpus_count(&allowed));
    for (int i = 0; i < n; i++)
        CPU_SET(list[i], &seen.set);
    ck_assert(CPU_EQUAL(&seen.set, &allowed.set));
#ifdef TP_HAVE_HWLOC
    /* Only where the kernel tells of cores is there anything to know. */
    const bool tells = access("/sys/devices/system/cpu/cpu0/topology", R_OK) == 0;
    ck_assert_int_eq(tp_cpus_know_cores(), tells);
#endif
}
END_TEST

/* hwloc does not know such CPUs. */
START_TEST(cpus_that_are_not_there_come_by_number)
{
    struct tp_cpus cpus;
    troupe_error err;
    int list[CPU_SETSIZE];
    ck_ok(tp_cpus_read("1000+900-901", &cpus, &err));
    ck_assert_int_eq(tp_cpus_order(&cpus, list), 3);
    ck_assert_int_eq(list[0], 900);
    ck_assert_int_eq(list[1], 901);
    ck_assert_int_eq(list[2], 1000);
}
END_TEST

static void *pin_to_one(void *arg)
{
    struct tp_cpus allowed, one = {0}, now, *out = arg;
    int cpu = 0;
    tp_cpus_allowed(&allowed);
    while (!CPU_ISSET(cpu, &allowed.set))
        cpu++;
    CPU_SET(cpu, &one.set);
    if (!tp_cpus_pin(&one)) return NULL;
    tp_cpus_allowed(&now);
    if (CPU_EQUAL(&now.set, &one.set)) *out = one;
    return NULL;
}

START_TEST(a_thread_that_is_pinned_stays_and_others_are_left_alone)
{
    pthread_t thread;
    struct tp_cpus before, after, pinned = {0};
    tp_cpus_allowed(&before);
    ck_assert_int_eq(pthread_create(&thread, NULL, pin_to_one, &pinned), 0);
    pthread_join(thread, NULL);
    tp_cpus_allowed(&after);
    ck_assert_int_eq(tp_cpus_count(&pinned), 1);
    ck_assert(CPU_EQUAL(&before.set, &after.set));
}
END_TEST

/* -- Memory
 * -------------------------------------------------------------------------------------- */

static const struct {
    const char *groups;
    const char *names[2], *texts[2]; /* files */
    uint64_t bytes;
} memory[] = {
    {"0::/\n", {NULL}, {NULL}, 0},
    {"0::/\n", {"memory.max"}, {"max\n"}, 0},
    {"0::/\n", {"memory.max"}, {"1073741824\n"}, 1073741824},
    {"0::/a\n", {"a/memory.max", "memory.max"}, {"max\n", "5000\n"}, 5000},
    {"0::/a\n", {"a/memory.max", "memory.max"}, {"4000\n", "5000\n"}, 4000},
    {"0::/not/here\n", {"memory.max"}, {"7000\n"}, 7000},
    {"4:memory:/a\n", {"memory/a/memory.limit_in_bytes"}, {"6000\n"}, 6000},
    {"4:memory:/a\n", {"memory/a/memory.limit_in_bytes"}, {"9223372036854771712\n"}, 0},
    {"4:cpu:/a\n", {"memory/a/memory.limit_in_bytes"}, {"6000\n"}, 0},
    {"nonsense\n", {"memory.max"}, {"6000\n"}, 0},
};

static void put_file(const char *root, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        ck_assert(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(the_tightest_memory_limit_on_the_way_up_counts)
{
    char root[64] = "/tmp/troupe-memory-XXXXXX", groups[96], command[128];
    ck_assert_ptr_nonnull(mkdtemp(root));
    put_file(root, "groups", memory[_i].groups);
    for (int i = 0; i < 2 && memory[_i].names[i]; i++)
        put_file(root, memory[_i].names[i], memory[_i].texts[i]);
    snprintf(groups, sizeof(groups), "%s/groups", root);
    const uint64_t bytes = tp_memory_quota(groups, root);
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_uint_eq(bytes, memory[_i].bytes);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("base/affinity");
    TCase *t = tcase_create("affinity");
    tcase_add_loop_test(t, a_list_of_cpus_is_read_and_shown_or_refused, 0,
                        (int)TP_COUNT(lists));
    tcase_add_test(t, a_set_that_is_too_long_to_show_ends_with_dots);
    tcase_add_test(t, the_order_has_each_allowed_cpu_once);
    tcase_add_test(t, cpus_that_are_not_there_come_by_number);
    tcase_add_test(t, a_thread_that_is_pinned_stays_and_others_are_left_alone);
    tcase_add_loop_test(t, the_tightest_memory_limit_on_the_way_up_counts, 0,
                        (int)TP_COUNT(memory));
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
