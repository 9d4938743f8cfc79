/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_registry.c - the device registry: batches, removal, look-up, incarnations.
 */
#include "graph/registry.h"

#include "tests/test.h"

static struct tp_name parse(const char *text)
{
    troupe_error err = {0};
    struct tp_name name = {0};
    ck_ok(tp_name_parse(text, &name, &err));
    return name;
}

static struct tp_device_entry entry(const char *name, int priority)
{
    struct tp_device_entry out = {.name = parse(name), .priority = priority};
    out.host = strstr(name, "cpu") || strstr(name, "CPU");
    return out;
}

static struct tp_registry *registry_of(const char *const *names, size_t n)
{
    troupe_error err;
    struct tp_registry *registry = NULL;
    ck_ok(tp_registry_new(&registry, &err));
    for (size_t i = 0; i < n; i++) {
        const struct tp_device_entry one = entry(names[i], strstr(names[i], "cpu") ? 1 : 5);
        ck_ok(tp_registry_add(registry, &one, 1, &err));
    }
    return registry;
}

/* Out of order, and one name in another case: what a snapshot lists is sorted. */
static const char *const four[] = {
    "/job:a/task:0/device:opencl:0",
    "/job:a/task:0/device:cpu:1",
    "/job:a/task:0/device:cpu:0",
    "/job:a/task:0/device:OpenCL:1",
};

static void check_list(const struct tp_registry *registry, const char *list)
{
    char text[256];
    TP_OWNED(tp_devices_release) struct tp_devices *devices = tp_registry_devices(registry);
    ck_assert_uint_eq(tp_devices_show(devices, text, sizeof(text)), strlen(list));
    ck_assert_str_eq(text, list);
}

START_TEST(a_snapshot_lists_devices_by_name)
{
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four, 4);
    check_list(registry, "cpu:0, cpu:1, opencl:0, opencl:1");
    TP_OWNED(tp_registry_destroy) struct tp_registry *none = registry_of(four, 0);
    check_list(none, "");
}
END_TEST

START_TEST(a_name_that_is_there_is_not_added_again_and_a_batch_is_all_or_nothing)
{
    troupe_error err;
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four, 4);
    TP_OWNED(tp_devices_release) struct tp_devices *before = tp_registry_devices(registry);
    const struct tp_device_entry again = entry("/job:a/replica:0/task:0/CPU:0", 1);
    const struct tp_device_entry batch[] = {entry("/job:a/task:0/cpu:2", 1),
                                            entry("/job:a/task:0/cpu:3", 1),
                                            entry("/job:a/task:0/cpu:2", 1)};
    const struct tp_device_entry partial[] = {entry("/job:a/task:0/cpu:2", 1),
                                              entry("cpu:3", 1)};
    ck_fails(tp_registry_add(registry, &again, 1, &err), INVALID, "device:cpu:0");
    ck_fails(tp_registry_add(registry, batch, 3, &err), INVALID, "device:cpu:2");
    ck_fails(tp_registry_add(registry, partial, 2, &err), INVALID, "device:cpu:3");
    TP_OWNED(tp_devices_release) struct tp_devices *after = tp_registry_devices(registry);
    ck_assert_ptr_eq(before, after);
    ck_ok(tp_registry_add(registry, batch, 2, &err));
    check_list(registry, "cpu:0, cpu:1, cpu:2, cpu:3, opencl:0, opencl:1");
}
END_TEST

START_TEST(a_removed_device_is_gone_and_a_late_holder_reads_its_name)
{
    troupe_error err;
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four, 4);
    TP_OWNED(tp_devices_release) struct tp_devices *late = tp_registry_devices(registry);
    const struct tp_name name = parse("/job:a/task:0/device:CPU:1");
    uint32_t found;
    ck_ok(tp_registry_remove(registry, &name, 1, &err));
    check_list(registry, "cpu:0, opencl:0, opencl:1");
    TP_OWNED(tp_devices_release) struct tp_devices *now = tp_registry_devices(registry);
    ck_fails(tp_devices_find(now, "cpu:1", NULL, &found, &err), NOT_FOUND, "cpu:0, opencl:0");
    for (uint32_t i = 0; i < now->n; i++)
        ck_assert_uint_ne(now->list[i].incarnation, late->list[1].incarnation);
    ck_assert_str_eq(tp_name_text(&late->list[1].name).text, "/job:a/task:0/device:cpu:1");
}
END_TEST

START_TEST(a_removal_with_an_unknown_or_repeated_entry_removes_nothing)
{
    troupe_error err;
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four, 4);
    const struct tp_name names[] = {parse("/job:a/task:0/cpu:1"), parse("/job:a/task:0/cpu:7")};
    const struct tp_name twice[] = {names[0], names[0]};
    const struct tp_name partial = parse("cpu:1");
    ck_fails(tp_registry_remove(registry, names, 2, &err), INVALID, "device:cpu:7");
    ck_fails(tp_registry_remove(registry, twice, 2, &err), INVALID, "twice");
    ck_fails(tp_registry_remove(registry, &partial, 1, &err), INVALID, "not there");
    check_list(registry, "cpu:0, cpu:1, opencl:0, opencl:1");
}
END_TEST

START_TEST(the_first_host_device_of_a_task_stays)
{
    troupe_error err;
    static const char *const both[] = {"/job:a/task:0/cpu:0", "/job:a/task:1/cpu:0",
                                       "/job:a/task:1/cpu:1"};
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(both, 3);
    const struct tp_name names[] = {parse("/job:a/task:1/cpu:1"), parse("/job:a/task:0/cpu:0")};
    const struct tp_name other = parse("/job:a/task:1/cpu:0");
    ck_fails(tp_registry_remove(registry, names, 2, &err), INVALID, "task:0/device:cpu:0");
    ck_fails(tp_registry_remove(registry, &other, 1, &err), INVALID, "task:1/device:cpu:0");
    ck_ok(tp_registry_remove(registry, names, 1, &err));
    check_list(registry, "/job:a/task:0/device:cpu:0, /job:a/task:1/device:cpu:0");
}
END_TEST

START_TEST(removed_devices_are_freed_with_the_last_snapshot_that_has_them)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    struct tp_registry *registry = registry_of(four, 4);
    const struct tp_device_entry one = entry("/job:a/task:0/cpu:9", 1);
    const size_t held = tp_alloc_pieces();
    for (int i = 0; i < 100; i++) {
        ck_ok(tp_registry_add(registry, &one, 1, &err));
        struct tp_devices *late = tp_registry_devices(registry);
        ck_ok(tp_registry_remove(registry, &one.name, 1, &err));
        ck_assert_uint_eq(tp_alloc_pieces(), held + 1);
        struct tp_devices *later = tp_devices_retain(late);
        tp_devices_release(&late);
        ck_assert_ptr_null(late);
        tp_devices_release(&late);
        tp_devices_release(&later);
        ck_assert_uint_eq(tp_alloc_pieces(), held);
    }
    tp_registry_destroy(&registry);
    ck_assert_ptr_null(registry);
    tp_registry_destroy(&registry);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

static void check_types(const struct tp_registry *registry, const char *const *want, size_t n)
{
    const char *types[8] = {NULL};
    ck_assert_uint_eq(tp_registry_types(registry, types, TP_COUNT(types)), n);
    for (size_t i = 0; i < n; i++)
        ck_assert_str_eq(types[i], want[i]);
    const char *first = NULL;
    ck_assert_uint_eq(tp_registry_types(registry, &first, 1), n);
    ck_assert_str_eq(first, want[0]);
    ck_assert_uint_eq(tp_registry_types(registry, NULL, 0), n);
}

START_TEST(types_stand_by_falling_priority_and_follow_what_is_added)
{
    troupe_error err;
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four + 1, 2);
    const struct tp_device_entry more[] = {
        entry("/job:a/task:0/gpu:0", 9), entry("/job:a/task:0/fake:0", -1),
        entry("/job:a/task:0/gpu:1", 9), entry("/job:a/task:0/dsp:0", 9)};
    check_types(registry, (const char *[]){"cpu"}, 1);
    ck_ok(tp_registry_add(registry, more, 4, &err));
    check_types(registry, (const char *[]){"dsp", "gpu", "cpu", "fake"}, 4);
    ck_ok(tp_registry_remove(registry, &more[3].name, 1, &err));
    check_types(registry, (const char *[]){"gpu", "cpu", "fake"}, 3);
}
END_TEST

START_TEST(every_spelling_finds_the_same_device)
{
    static const char *const texts[] = {
        "/job:a/task:0/device:opencl:1",
        "/job:a/replica:0/task:0/device:OPENCL:1",
        "/job:a/replica:0/task:0/opencl:1",
        "/device:opencl:1/task:0/job:a",
        "/device:OpenCL:1",
        "/opencl:1",
        "opencl:1",
        "OPENCL:1",
        "/job:a/opencl:1",
    };
    troupe_error err;
    uint32_t found;
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four, 4);
    TP_OWNED(tp_devices_release) struct tp_devices *devices = tp_registry_devices(registry);
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        found = 77;
        ck_ok(tp_devices_find(devices, texts[i], &devices->list[0].name, &found, &err));
        ck_assert_uint_eq(found, 3);
        ck_ok(tp_devices_find(devices, texts[i], NULL, &found, &err));
        ck_assert_uint_eq(found, 3);
    }
    found = 77;
    ck_fails(tp_devices_find(devices, "cpu:2", NULL, &found, &err), NOT_FOUND,
             "cpu:1, opencl:0");
    ck_fails(tp_devices_find(devices, "/job:b", NULL, &found, &err), NOT_FOUND, "/job:b");
    ck_fails(tp_devices_find(devices, "gpu", NULL, &found, &err), INVALID, "gpu");
    ck_assert_uint_eq(found, 77);
}
END_TEST

START_TEST(a_partial_name_finds_the_one_device_that_fits_or_that_the_base_completes)
{
    static const char *const many[] = {"/job:a/task:0/cpu:0",    "/job:a/task:0/cpu:1",
                                       "/job:a/task:0/opencl:0", "/job:a/task:1/cpu:0",
                                       "/job:a/task:1/cpu:1",    "/job:a/task:1/gpu:0"};
    static const struct {
        const char *text;
        int base, found; /* indexes; found below 0: several fit */
    } rows[] = {
        {"/device:opencl", -1, 2},
        {"gpu:0", -1, 5},
        {"/gpu:*", 0, 5},
        {"cpu:1", 0, 1},
        {"cpu:1", 3, 4},
        {"cpu:1", -1, -1},
        {"/device:cpu", 0, 0},
        {"/device:cpu", 4, 4},
        {"/device:cpu", 2, -1},
        {"", 3, 3},
        {"", -1, -1},
        {"/task:1", 0, 3},
        {"/task:1", 5, 5},
        {"/task:1/cpu:1", 0, 4},
        {"/task:1", 2, -1},
        {"/job:a", 1, 1},
    };
    troupe_error err;
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(many, 6);
    TP_OWNED(tp_devices_release) struct tp_devices *devices = tp_registry_devices(registry);
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct tp_name *base =
            rows[i].base < 0 ? NULL : &devices->list[rows[i].base].name;
        uint32_t found = 99;
        if (rows[i].found < 0) {
            ck_fails(tp_devices_find(devices, rows[i].text, base, &found, &err), INVALID,
                     "any of");
        } else {
            ck_ok(tp_devices_find(devices, rows[i].text, base, &found, &err));
            ck_assert_msg((int)found == rows[i].found, "row %zu: %u", i, found);
        }
    }
}
END_TEST

START_TEST(every_device_has_an_incarnation_that_is_not_0)
{
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four, 4);
    TP_OWNED(tp_devices_release) struct tp_devices *devices = tp_registry_devices(registry);
    for (uint32_t i = 0; i < devices->n; i++) {
        ck_assert_uint_ne(devices->list[i].incarnation, 0);
        for (uint32_t k = 0; k < i; k++)
            ck_assert_uint_ne(devices->list[i].incarnation, devices->list[k].incarnation);
    }
}
END_TEST

START_TEST(a_device_that_comes_back_is_another_incarnation)
{
    troupe_error err;
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = registry_of(four, 4);
    TP_OWNED(tp_devices_release) struct tp_devices *before = tp_registry_devices(registry);
    const struct tp_device_entry *one = &before->list[1];
    ck_ok(tp_registry_remove(registry, &one->name, 1, &err));
    ck_ok(tp_registry_add(registry, one, 1, &err));
    TP_OWNED(tp_devices_release) struct tp_devices *after = tp_registry_devices(registry);
    ck_assert(tp_name_equal(&after->list[1].name, &one->name));
    ck_assert_uint_ne(after->list[1].incarnation, one->incarnation);
    ck_assert_uint_eq(after->list[0].incarnation, before->list[0].incarnation);
}
END_TEST

static troupe_status add_and_remove(troupe_error *err)
{
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = NULL;
    const struct tp_device_entry two[] = {entry("/job:a/task:0/cpu:0", 1),
                                          entry("/job:a/task:0/cpu:1", 1)};
    TP_TRY(tp_registry_new(&registry, err));
    TP_TRY(tp_registry_add(registry, two, 2, err));
    return tp_registry_remove(registry, &two[1].name, 1, err);
}

START_TEST(a_registry_without_memory_says_so_and_leaks_nothing)
{
    troupe_error err;
    ck_starve(add_and_remove(&err));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/registry");
    TCase *t = tcase_create("registry");
    tcase_add_test(t, a_snapshot_lists_devices_by_name);
    tcase_add_test(t, a_name_that_is_there_is_not_added_again_and_a_batch_is_all_or_nothing);
    tcase_add_test(t, a_removed_device_is_gone_and_a_late_holder_reads_its_name);
    tcase_add_test(t, a_removal_with_an_unknown_or_repeated_entry_removes_nothing);
    tcase_add_test(t, the_first_host_device_of_a_task_stays);
    tcase_add_test(t, removed_devices_are_freed_with_the_last_snapshot_that_has_them);
    tcase_add_test(t, types_stand_by_falling_priority_and_follow_what_is_added);
    tcase_add_test(t, every_spelling_finds_the_same_device);
    tcase_add_test(t, a_partial_name_finds_the_one_device_that_fits_or_that_the_base_completes);
    tcase_add_test(t, every_device_has_an_incarnation_that_is_not_0);
    tcase_add_test(t, a_device_that_comes_back_is_another_incarnation);
    tcase_add_test(t, a_registry_without_memory_says_so_and_leaks_nothing);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
