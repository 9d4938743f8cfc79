/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_name_algebra.c - device names: which fit, which agree, and what comes of two.
 */
#include <stdio.h>

#include "tests/names.h"

START_TEST(tasks_are_the_same_when_job_replica_and_task_are)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"/job:a/replica:1/task:2/cpu:0", "/job:a/replica:1/task:2/gpu:7", true},
        {"/job:a/task:2/cpu:0", "/job:a/replica:0/task:2", true},
        {"/job:a/task:2", "/job:b/task:2", false},
        {"/job:a/replica:1/task:2", "/job:a/replica:2/task:2", false},
        {"/job:a/task:2/cpu:0", "/job:a/task:3/cpu:0", false},
        {"/job:a", "/job:a", false},
        {"cpu:0", "cpu:0", false},
        {"/task:1", "/task:1", false},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct tp_name a = names_parse(rows[i].a), b = names_parse(rows[i].b);
        ck_assert_msg(tp_name_same_task(&a, &b) == rows[i].same, "%s %s", rows[i].a, rows[i].b);
        ck_assert_int_eq(tp_name_same_task(&a, &b), tp_name_same_task(&b, &a));
    }
}
END_TEST

START_TEST(a_partial_pattern_fits_a_fuller_name_and_never_the_reverse)
{
    static const struct {
        const char *pattern, *name;
        bool fits;
    } rows[] = {
        {"", "", true},
        {"", NAMES_FULL, true},
        {"/job:foo", "/job:foo", true},
        {"/job:foo", "/job:foo/replica:1", true},
        {"/job:foo/replica:1", "/job:foo/replica:1/task:2", true},
        {"/job:foo/replica:1/task:2", NAMES_FULL, true},
        {"/device:GPU", NAMES_FULL, true},
        {"/device:gpu:3", NAMES_FULL, true},
        {"gpu:3", NAMES_FULL, true},
        {"/task:2", NAMES_FULL, true},
        {"/replica:1", NAMES_FULL, true},
        {NAMES_FULL, NAMES_FULL, true},
        {"/job:foo/task:2/gpu:3", "/job:foo/replica:0/task:2/gpu:3", true},
        {"/job:foo/replica:0/task:2", "/job:foo/task:2/gpu:3", true},
        {NAMES_FULL, "", false},
        {NAMES_FULL, "/job:foo/replica:1/task:2", false},
        {"/job:foo/replica:1", "/job:foo", false},
        {"/job:foo/replica:1/task:2", "/job:foo/replica:1", false},
        {"/device:gpu:3", "/device:gpu", false},
        {"/device:gpu", "/job:foo", false},
        {"/device:gpu:4", NAMES_FULL, false},
        {"/device:cpu", NAMES_FULL, false},
        {"/task:3", NAMES_FULL, false},
        {"/replica:2", NAMES_FULL, false},
        {"/replica:0", NAMES_FULL, false},
        {"/job:bar", NAMES_FULL, false},
        {"/job:fo", NAMES_FULL, false},
        {"/job:foo/task:2/gpu:4", NAMES_FULL, false},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct tp_name pattern = names_parse(rows[i].pattern),
                             name = names_parse(rows[i].name);
        ck_assert_msg(tp_name_fits(&pattern, &name) == rows[i].fits, "%s of %s",
                      rows[i].pattern, rows[i].name);
    }
}
END_TEST

START_TEST(a_pattern_with_wildcards_fits_complete_names)
{
    static const struct {
        const char *pattern;
        bool fits;
    } rows[] = {
        {"/job:*", true},
        {"/job:foo/replica:*/task:*/device:*:*", true},
        {"/job:*/replica:1/task:2/gpu:*", true},
        {"/device:*:3", true},
        {"/device:GPU:*", true},
        {"/gpu:*", true},
        {"/device:*:4", false},
        {"/device:CPU:*", false},
        {"/job:bar/replica:*/task:*", false},
        {"/job:*/replica:1/task:1", false},
    };
    const struct tp_name whole = names_parse(NAMES_FULL);
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct tp_name pattern = names_parse(rows[i].pattern);
        ck_assert_msg(tp_name_fits(&pattern, &whole) == rows[i].fits, "%s", rows[i].pattern);
    }
}
END_TEST

START_TEST(names_are_compatible_unless_a_part_that_both_set_differs)
{
    static const struct {
        const char *a, *b;
        bool compatible;
    } rows[] = {
        {"/task:1", "/device:gpu", true},
        {"/job:a", "cpu:0", true},
        {"", NAMES_FULL, true},
        {NAMES_FULL, NAMES_FULL, true},
        {"/device:CPU", "/device:cpu:1", true},
        {"/device:gpu", "/device:cpu", false},
        {"gpu:0", "gpu:1", false},
        {"/task:1/gpu:0", "/task:2", false},
        {"/replica:1", "/replica:2", false},
        {"/job:a", "/job:b", false},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct tp_name a = names_parse(rows[i].a), b = names_parse(rows[i].b);
        ck_assert_int_eq(tp_name_compatible(&a, &b), rows[i].compatible);
        ck_assert_int_eq(tp_name_compatible(&b, &a), rows[i].compatible);
    }
}
END_TEST

START_TEST(a_name_splits_into_its_task_and_its_device)
{
    static const struct {
        const char *text, *task, *device;
    } rows[] = {
        {"/job:foo/replica:1/task:2/cpu:1", "/job:foo/replica:1/task:2", "cpu:1"},
        {"/job:foo/cpu:1/task:2/replica:0", "/job:foo/task:2", "cpu:1"},
        {"/device:GPU:3", "", "gpu:3"},
        {"gpu:3", "", "gpu:3"},
    };
    troupe_error err;
    char task[TP_NAME_TEXT], device[TP_NAME_TEXT];
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        ck_ok(tp_name_split(rows[i].text, task, sizeof(task), device, sizeof(device), &err));
        ck_assert_str_eq(task, rows[i].task);
        ck_assert_str_eq(device, rows[i].device);
    }
    ck_fails(tp_name_split("/job:foo/task:2", task, 9, device, 9, &err), INVALID, "no device");
    ck_fails(tp_name_split("/job:foo/gpu:*", task, 9, device, 9, &err), INVALID, "no device");
    ck_fails(tp_name_split("nonsense", task, 9, device, 9, &err), INVALID, "nonsense");
    ck_fails(tp_name_split("/job:foo/cpu:1", task, 8, device, 9, &err), INVALID, "9 bytes");
    ck_fails(tp_name_split("/job:foo/cpu:1", task, 9, device, 5, &err), INVALID, "6 bytes");
    ck_ok(tp_name_split("/job:foo/cpu:1", task, 9, device, 6, &err));
}
END_TEST

struct merge {
    const char *a, *b, *merged;
};

static const struct merge merges[] = {
    {"", "", ""},
    {NAMES_FULL, NAMES_FULL, NAMES_FULL},
    {"", NAMES_FULL, NAMES_FULL},
    {"/job:foo", "/replica:1", "/job:foo/replica:1"},
    {"/job:foo", "/task:2", "/job:foo/task:2"},
    {"/task:2", "gpu:3", "/task:2/gpu:3"},
    {"/job:foo/replica:1", "/task:2/gpu:3", NAMES_FULL},
    {"/job:foo/replica:1", "/replica:1/task:2", "/job:foo/replica:1/task:2"},
    {"/job:foo/gpu:3", "/replica:1/gpu:3", "/job:foo/replica:1/gpu:3"},
    {"/device:GPU", "gpu:3", "gpu:3"},
    {"/device:*:3", "/device:gpu", "gpu:3"},
    {"/job:*", "/job:foo", "/job:foo"},
    {"/gpu:*", "/gpu:0", "/gpu:0"},
};

static void check_merge(const struct merge *row, bool turned, bool soft)
{
    troupe_error err;
    struct tp_name into = names_parse(turned ? row->b : row->a);
    const struct tp_name other = names_parse(turned ? row->a : row->b),
                         want = names_parse(row->merged);
    ck_ok(tp_name_merge(&into, &other, soft, &err));
    ck_assert_msg(tp_name_equal(&into, &want), "%s + %s is %s", row->a, row->b,
                  tp_name_text(&into).text);
}

START_TEST(a_merge_is_the_union_whichever_way_round)
{
    for (size_t i = 0; i < TP_COUNT(merges); i++)
        for (int way = 0; way < 4; way++)
            check_merge(&merges[i], way & 1, way & 2);
}
END_TEST

START_TEST(a_merge_of_names_that_differ_names_the_part)
{
    static const struct {
        const char *a, *b, *part;
    } rows[] = {
        {"/job:foo", "/job:bar", "job"},
        {"/replica:1", "/replica:0", "replica"},
        {"/task:0", "/task:1", "task"},
        {"/device:gpu", "/device:cpu", "type"},
        {"gpu:0", "gpu:1", "id"},
        {NAMES_FULL, "/job:foo/task:2/cpu:3", "type"},
        {NAMES_FULL, "/job:foo/task:3/cpu:3", "task"},
    };
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        struct tp_name into = names_parse(rows[i].a);
        const struct tp_name before = into, other = names_parse(rows[i].b);
        char part[32];
        snprintf(part, sizeof(part), "their %s", rows[i].part);
        ck_fails(tp_name_merge(&into, &other, false, &err), INVALID, part);
        ck_assert(tp_name_equal(&into, &before));
        if (i >= 3 && i < 6) continue;
        ck_fails(tp_name_merge(&into, &other, true, &err), INVALID, part);
        ck_fails(tp_name_override(&into, &other, &err), INVALID, part);
        ck_assert(tp_name_equal(&into, &before));
    }
}
END_TEST

START_TEST(a_soft_merge_drops_the_id_or_the_type_and_the_id)
{
    static const struct merge rows[] = {
        {"gpu:1", "gpu:2", "/device:gpu"},
        {"gpu:1", "cpu:1", ""},
        {"/device:gpu", "/device:cpu", ""},
        {"/job:foo/task:2/gpu:1", "/task:2/cpu:1", "/job:foo/task:2"},
        {"/job:foo/gpu:1", "/task:2/gpu:2", "/job:foo/task:2/device:gpu"},
        {"/device:gpu", "/device:*:1", "gpu:1"},
        {"/device:*:0", "gpu:1", "/device:gpu"},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        check_merge(&rows[i], false, true);
        check_merge(&rows[i], true, true);
    }
}
END_TEST

START_TEST(an_override_lets_the_right_type_and_id_win)
{
    static const struct merge rows[] = {
        {"", "", ""},
        {NAMES_FULL, NAMES_FULL, NAMES_FULL},
        {NAMES_FULL, "", NAMES_FULL},
        {"gpu:1", "cpu:2", "cpu:2"},
        {"gpu:1", "gpu:2", "gpu:2"},
        {"gpu:1", "/device:gpu", "gpu:1"},
        {"gpu:1", "/device:cpu", "/device:cpu"},
        {"/job:foo/gpu:1", "/task:2/cpu:0", "/job:foo/task:2/cpu:0"},
        {"/job:foo", "/task:2", "/job:foo/task:2"},
    };
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        struct tp_name into = names_parse(rows[i].a);
        const struct tp_name other = names_parse(rows[i].b), want = names_parse(rows[i].merged);
        ck_ok(tp_name_override(&into, &other, &err));
        ck_assert_msg(tp_name_equal(&into, &want), "row %zu: %s", i, tp_name_text(&into).text);
    }
}
END_TEST

START_TEST(a_fill_takes_only_what_is_unset_and_no_id_of_another_type)
{
    static const struct merge rows[] = {
        {"", NAMES_FULL, NAMES_FULL},
        {NAMES_FULL, "/job:bar/replica:7/task:7/cpu:7", NAMES_FULL},
        {"/job:bar", NAMES_FULL, "/job:bar/replica:1/task:2/gpu:3"},
        {"/device:gpu", NAMES_FULL, NAMES_FULL},
        {"/device:cpu", NAMES_FULL, "/job:foo/replica:1/task:2/device:cpu"},
        {"cpu:0", NAMES_FULL, "/job:foo/replica:1/task:2/cpu:0"},
        {"/device:*:1", NAMES_FULL, "/job:foo/replica:1/task:2/gpu:1"},
        {"/job:foo", "", "/job:foo"},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        struct tp_name into = names_parse(rows[i].a);
        const struct tp_name from = names_parse(rows[i].b), want = names_parse(rows[i].merged);
        tp_name_fill(&into, &from);
        ck_assert_msg(tp_name_equal(&into, &want), "row %zu: %s", i, tp_name_text(&into).text);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/name_algebra");
    TCase *t = tcase_create("name");
    tcase_add_test(t, tasks_are_the_same_when_job_replica_and_task_are);
    tcase_add_test(t, a_partial_pattern_fits_a_fuller_name_and_never_the_reverse);
    tcase_add_test(t, a_pattern_with_wildcards_fits_complete_names);
    tcase_add_test(t, names_are_compatible_unless_a_part_that_both_set_differs);
    tcase_add_test(t, a_name_splits_into_its_task_and_its_device);
    tcase_add_test(t, a_merge_is_the_union_whichever_way_round);
    tcase_add_test(t, a_merge_of_names_that_differ_names_the_part);
    tcase_add_test(t, a_soft_merge_drops_the_id_or_the_type_and_the_id);
    tcase_add_test(t, an_override_lets_the_right_type_and_id_win);
    tcase_add_test(t, a_fill_takes_only_what_is_unset_and_no_id_of_another_type);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
