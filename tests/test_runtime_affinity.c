/* SPDX-License-Identifier: MIT
 *
 * tests/test_runtime_affinity.c - devices that are pinned to CPUs, and what is refused.
 */
#include <stdio.h>

#include "base/affinity.h"
#include "base/clock.h"
#include "exec/team.h"
#include "tests/crowd.h"

/* The first CPU that this process may use. */
static int first_cpu(void)
{
    struct tp_cpus allowed;
    int cpu = 0;
    tp_cpus_allowed(&allowed);
    while (!CPU_ISSET(cpu, &allowed.set))
        cpu++;
    return cpu;
}

static int absent_cpu(void)
{
    struct tp_cpus allowed;
    int cpu = 0;
    tp_cpus_allowed(&allowed);
    while (CPU_ISSET(cpu, &allowed.set))
        cpu++;
    return cpu;
}

static troupe_status open_text(const char *devices, int n_workers, troupe_runtime **out,
                               troupe_error *err)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.workers = n_workers;
    return troupe_open(out, &options, err);
}

static void run_once(troupe_runtime *runtime)
{
    troupe_error err;
    troupe_function *f = function_over(1);
    troupe_tensor *x = row_of(2), *results[2];
    ck_ok(troupe_run(runtime, f, (const troupe_tensor *const[]){x}, 1, results, 2, NULL, &err));
    ck_rows(results, 2);
    troupe_tensor_release(&results[0]);
    troupe_tensor_release(&results[1]);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}

START_TEST(a_device_says_what_it_is_pinned_to)
{
    char devices[100], shown[20];
    troupe_error err;
    troupe_runtime *runtime;
    troupe_device device = {.size = sizeof(device)};
    snprintf(shown, sizeof(shown), "%d", first_cpu());
    snprintf(devices, sizeof(devices), "cpu:0(pin=%s),cpu:1(permits=3)", shown);
    ck_ok(open_text(devices, 1, &runtime, &err));
    ck_assert_int_eq(troupe_device_at(runtime, 0, &device), TROUPE_OK);
    ck_assert_str_eq(device.pin, shown);
    ck_assert_int_eq(device.threads, 1);
    ck_assert_int_eq(troupe_device_at(runtime, 1, &device), TROUPE_OK);
    ck_assert_ptr_null(device.pin);
    ck_assert_int_eq(device.permits, 3);
    run_once(runtime);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

START_TEST(auto_gives_each_device_as_many_cpus_as_threads)
{
    troupe_error err;
    troupe_runtime *runtime;
    struct tp_cpus allowed, cpus[2];
    tp_cpus_allowed(&allowed);
    ck_ok(open_text("cpu:0(threads=1,pin=auto),cpu:1(threads=1,pin=auto)", 2, &runtime, &err));
    for (size_t i = 0; i < 2; i++) {
        troupe_device device = {.size = sizeof(device)};
        ck_assert_int_eq(troupe_device_at(runtime, i, &device), TROUPE_OK);
        ck_ok(tp_cpus_read(device.pin, &cpus[i], &err));
        ck_assert_int_eq(tp_cpus_count(&cpus[i]), 1);
        CPU_AND(&cpus[i].set, &cpus[i].set, &allowed.set);
        ck_assert_int_eq(tp_cpus_count(&cpus[i]), 1);
    }
    if (tp_cpus_count(&allowed) > 1) ck_assert(!CPU_EQUAL(&cpus[0].set, &cpus[1].set));
    run_once(runtime);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

START_TEST(auto_leaves_cpus_that_were_named_to_those_who_named_them)
{
    char devices[60];
    troupe_error err;
    troupe_runtime *runtime;
    struct tp_cpus allowed, cpus[2];
    tp_cpus_allowed(&allowed);
    snprintf(devices, sizeof(devices), "cpu:0(threads=1,pin=auto),cpu:1(pin=%d)", first_cpu());
    ck_ok(open_text(devices, 0, &runtime, &err));
    for (size_t i = 0; i < 2; i++) {
        troupe_device device = {.size = sizeof(device)};
        ck_assert_int_eq(troupe_device_at(runtime, i, &device), TROUPE_OK);
        ck_ok(tp_cpus_read(device.pin, &cpus[i], &err));
    }
    if (tp_cpus_count(&allowed) > 1) ck_assert(!CPU_EQUAL(&cpus[0].set, &cpus[1].set));
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

/* More threads than CPUs: begun again, and each CPU once. */
START_TEST(auto_with_more_threads_than_cpus_takes_all_of_them)
{
    troupe_error err;
    troupe_runtime *runtime;
    struct tp_cpus allowed, cpus;
    troupe_device device = {.size = sizeof(device)};
    tp_cpus_allowed(&allowed);
    ck_ok(open_text("cpu:0(threads=1024,pin=auto)", 0, &runtime, &err));
    ck_assert_int_eq(troupe_device_at(runtime, 0, &device), TROUPE_OK);
    ck_ok(tp_cpus_read(device.pin, &cpus, &err));
    ck_assert(CPU_EQUAL(&cpus.set, &allowed.set));
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

static void note_cpus(void *arg, size_t i)
{
    struct tp_cpus *all = arg;
    tp_cpus_allowed(&all[i]);
    const uint64_t end = tp_clock_ns() + 2000000; /* so that all threads take some */
    while (tp_clock_ns() < end)
        ;
}

/* The thread that runs the step is ours here, and is left alone. */
START_TEST(the_threads_of_a_pinned_device_stay_on_its_cpus)
{
    enum { PARTS = 64 };
    static struct tp_cpus seen[PARTS];
    char devices[60];
    troupe_error err;
    troupe_runtime *runtime;
    struct tp_cpus before, after, one = {0};
    int on_one = 0, elsewhere = 0;
    tp_cpus_allowed(&before);
    CPU_SET(first_cpu(), &one.set);
    snprintf(devices, sizeof(devices), "cpu:0(threads=3,pin=%d)", first_cpu());
    ck_ok(open_text(devices, 0, &runtime, &err));
    struct tp_team *team = runtime->device[0]->team;
    for (int round = 0; round < 50 && !on_one; round++) {
        team->run(team, PARTS, note_cpus, seen);
        for (int i = 0; i < PARTS; i++) {
            on_one += CPU_EQUAL(&seen[i].set, &one.set);
            elsewhere +=
                !CPU_EQUAL(&seen[i].set, &one.set) && !CPU_EQUAL(&seen[i].set, &before.set);
        }
    }
    tp_cpus_allowed(&after);
    ck_assert_int_gt(on_one, 0);
    ck_assert_int_eq(elsewhere, 0);
    ck_assert(CPU_EQUAL(&before.set, &after.set));
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

START_TEST(workers_stay_on_the_cpus_of_all_devices_when_all_are_pinned)
{
    char devices[100];
    troupe_error err;
    troupe_runtime *runtime;
    struct tp_cpus allowed;
    tp_cpus_allowed(&allowed);
    snprintf(devices, sizeof(devices), "cpu:0(pin=%d),cpu:1(%s=%d)", first_cpu(),
             _i ? "threads" : "pin", _i ? 1 : first_cpu());
    ck_ok(open_text(devices, 2, &runtime, &err));
    for (int i = 0; i < 2; i++) {
        const struct tp_seat *seat = atomic_load(&runtime->stage->seats[i]);
        ck_assert_int_eq(CPU_COUNT(&seat->cpus), _i ? tp_cpus_count(&allowed) : 1);
        ck_assert(CPU_ISSET(first_cpu(), &seat->cpus));
    }
    run_once(runtime);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
}
END_TEST

START_TEST(what_cannot_be_had_is_refused_with_what_can)
{
    char devices[100], word[60], shown[TP_CPUS_TEXT];
    troupe_error err;
    troupe_runtime *runtime = NULL;
    struct tp_cpus allowed;
    tp_cpus_allowed(&allowed);
    tp_cpus_show(&allowed, shown, sizeof(shown));
    snprintf(devices, sizeof(devices), "cpu:0(pin=%d)", absent_cpu());
    snprintf(word, sizeof(word), "CPU %d is not one", absent_cpu());
    ck_fails(open_text(devices, 0, &runtime, &err), INVALID, word);
    ck_assert_ptr_nonnull(strstr(err.text, shown));
    ck_fails(open_text("cpu:0(pin=x)", 0, &runtime, &err), INVALID, "'x' is no list of CPUs");
    ck_fails(open_text("cpu:0(pin=auto,pin=0)", 0, &runtime, &err), INVALID, "a second pin=0");
    ck_fails(open_text("cpu:0(pin=)", 0, &runtime, &err), INVALID, "no list of CPUs");
    ck_fails(open_text("cpu:0(bind=1)", 0, &runtime, &err), INVALID, "memory, pin");
    ck_assert_ptr_null(runtime);
}
END_TEST

START_TEST(the_limits_of_the_process_are_told)
{
    troupe_limits limits = {.size = sizeof(limits)};
    struct tp_cpus allowed;
    char shown[TP_CPUS_TEXT];
    tp_cpus_allowed(&allowed);
    tp_cpus_show(&allowed, shown, sizeof(shown));
    troupe_limits_get(&limits);
    ck_assert_int_eq(limits.cpus, tp_thread_cpus());
    ck_assert_str_eq(limits.cpu_list, shown);
    ck_assert_uint_eq(limits.memory, tp_memory_limit());
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("runtime/affinity");
    TCase *t = tcase_create("affinity");
    tcase_add_test(t, a_device_says_what_it_is_pinned_to);
    tcase_add_test(t, auto_gives_each_device_as_many_cpus_as_threads);
    tcase_add_test(t, auto_leaves_cpus_that_were_named_to_those_who_named_them);
    tcase_add_test(t, auto_with_more_threads_than_cpus_takes_all_of_them);
    tcase_add_test(t, the_threads_of_a_pinned_device_stay_on_its_cpus);
    tcase_add_loop_test(t, workers_stay_on_the_cpus_of_all_devices_when_all_are_pinned, 0, 2);
    tcase_add_test(t, what_cannot_be_had_is_refused_with_what_can);
    tcase_add_test(t, the_limits_of_the_process_are_told);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
