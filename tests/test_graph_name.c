/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_name.c - device names: their grammar, completion and order.
 */
#include <stdio.h>

#include "tests/names.h"

static void check_parses_as(const char *text, const char *canonical)
{
    const struct tp_name name = names_parse(text), again = names_parse(canonical);
    names_text(&name, canonical);
    ck_assert_msg(tp_name_equal(&name, &again), "%s is not %s", text, canonical);
}

START_TEST(a_name_built_from_its_parts_has_the_canonical_text)
{
    const struct tp_name name = {.job = "foo", .type = "GPU", .replica = 1, .task = 2, .id = 3};
    const struct tp_name first = {.job = "a", .type = "cpu", .replica = 0, .task = 0, .id = 0};
    names_text(&name, "/job:foo/replica:1/task:2/device:gpu:3");
    names_text(&first, "/job:a/task:0/device:cpu:0");
    names_text(&tp_name_none, "");
}
END_TEST

START_TEST(a_full_name_sets_all_five_parts)
{
    const struct tp_name name = names_parse(NAMES_FULL);
    ck_assert_str_eq(name.job, "foo");
    ck_assert_int_eq(name.replica, 1);
    ck_assert_int_eq(name.task, 2);
    ck_assert_str_eq(name.type, "GPU");
    ck_assert_int_eq(name.id, 3);
    ck_assert(tp_name_full(&name));
    ck_assert(!tp_name_empty(&name));
}
END_TEST

START_TEST(parts_may_stand_in_any_order)
{
    static const char *const texts[] = {
        "/replica:1/task:2/device:GPU:3/job:foo",
        "/task:2/device:GPU:3/job:foo/replica:1",
        "/device:gpu:3/replica:1/job:foo/task:2",
        "/gpu:3/task:2/replica:1/job:foo",
    };
    for (size_t i = 0; i < TP_COUNT(texts); i++)
        check_parses_as(texts[i], "/job:foo/replica:1/task:2/device:gpu:3");
}
END_TEST

START_TEST(a_job_is_letters_digits_and_underscores_a_letter_first)
{
    troupe_error err;
    struct tp_name name;
    check_parses_as("/job:foo_bar/task:0/cpu:0", "/job:foo_bar/task:0/device:cpu:0");
    check_parses_as("/job:f1_/task:0", "/job:f1_/task:0");
    ck_fails(tp_name_parse("/job:123/task:0", &name, &err), INVALID, "job");
    ck_fails(tp_name_parse("/job:_a/task:0", &name, &err), INVALID, "job");
    ck_fails(tp_name_parse("/job:a-b/task:0", &name, &err), INVALID, "rubbish");
    ck_fails(tp_name_parse("/job:", &name, &err), INVALID, "job");
    check_parses_as("/job:a23456789012345678901234567890123456789",
                    "/job:a23456789012345678901234567890123456789");
}
END_TEST

static const struct {
    const char *text, *word;
} malformed[] = {
    {"/foo", "no such part"},
    {"/foo:bar", "number"},
    {"/jobs:a/task:0", "number"},
    {"/job:a/task:0/cpu:0/", "no such part"},
    {"/job:a/", "no such part"},
    {"//", "no such part"},
    {NAMES_FULL "/extra", "no such part"},
    {NAMES_FULL "x", "rubbish"},
    {"/cpu", "no such part"},
    {"/gpu:", "number"},
    {"/gpu:-1", "number"},
    {"/gpu:1:2", "rubbish"},
    {"/task:", "number"},
    {"/task:-1", "number"},
    {"/task:x", "number"},
    {"/task:2147483648", "2147483647"},
    {"/task:99999999999999999999", "2147483647"},
    {"/replica:1.5", "rubbish"},
    {"/device:", "type"},
    {"/device:cpu:", "number"},
    {"/device:1", "type"},
    {"abc", "no such part"},
    {"abc:", "number"},
    {"cpu:abc", "number"},
    {"cpu:*", "number"},
    {"cpu:0/job:a", "rubbish"},
    {"job:a/task:0", "number"},
    {" cpu:0", "no such part"},
    {"cpu:0 ", "rubbish"},
    {"*", "no such part"},
    {"/job:a234567890123456789012345678901234567890/task:0", "39"},
    {"/device:a234567890123456789012345678901234567890", "39"},
};

START_TEST(an_unknown_or_trailing_part_is_refused)
{
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(malformed); i++) {
        struct tp_name name = names_parse("cpu:7");
        ck_fails(tp_name_parse(malformed[i].text, &name, &err), INVALID, malformed[i].word);
        ck_assert_msg(strstr(err.text, "device name") != NULL, "%s", err.text);
        names_text(&name, "/device:cpu:7");
    }
}
END_TEST

START_TEST(a_type_needs_no_id_even_in_the_middle)
{
    const struct tp_name name = names_parse("/job:foo/device:GPU/task:2");
    ck_assert_str_eq(name.type, "GPU");
    ck_assert_int_eq(name.id, TP_UNSET);
    ck_assert_int_eq(name.task, 2);
    names_text(&name, "/job:foo/task:2/device:gpu");
}
END_TEST

START_TEST(a_custom_type_keeps_its_letters_and_compares_without_case)
{
    const struct tp_name name = names_parse("/job:foo/device:MySpecialDevice:13/task:2");
    const struct tp_name other = names_parse("/job:foo/task:2/device:myspecialdevice:13");
    ck_assert_str_eq(name.type, "MySpecialDevice");
    ck_assert_int_eq(name.id, 13);
    ck_assert(tp_name_equal(&name, &other));
    names_text(&name, "/job:foo/task:2/device:myspecialdevice:13");
}
END_TEST

START_TEST(short_forms_in_either_case_equal_the_long_form)
{
    static const char *const texts[] = {
        "cpu:1", "CPU:1", "/cpu:1", "/CPU:1", "/device:cpu:1", "/device:CPU:1", "/device:Cpu:1",
    };
    for (size_t i = 0; i < TP_COUNT(texts); i++)
        check_parses_as(texts[i], "/device:cpu:1");
    check_parses_as("/job:a/task:0/gpu:*", "/job:a/task:0/device:gpu");
    check_parses_as("opencl:0", "/device:opencl:0");
}
END_TEST

START_TEST(every_subset_of_parts_prints_and_parses_to_an_equal_name)
{
    const bool legacy = _i & 16;
    char text[TP_NAME_TEXT];
    snprintf(text, sizeof(text), "%s%s%s%s", _i & 1 ? "/job:foo" : "",
             _i & 2 ? "/replica:1" : "", _i & 4 ? "/task:2" : "",
             !(_i & 8) ? ""
             : legacy  ? "/GPU:3"
                       : "/device:GPU:3");
    const struct tp_name name = names_parse(text),
                         again = names_parse(tp_name_text(&name).text);
    ck_assert_msg(tp_name_equal(&name, &again), "%s", text);
    ck_assert_int_eq(name.job[0] != 0, _i & 1);
    ck_assert_int_eq(name.replica != TP_UNSET, (_i & 2) != 0);
    ck_assert_int_eq(name.task != TP_UNSET, (_i & 4) != 0);
    ck_assert_int_eq(name.type[0] != 0, (_i & 8) != 0);
    ck_assert_int_eq(tp_name_full(&name), (_i & 13) == 13);
    ck_assert_int_eq(tp_name_empty(&name), (_i & 15) == 0);
}
END_TEST

START_TEST(a_star_and_a_slash_set_nothing)
{
    static const char *const texts[] = {"", "/", "/job:*",
                                        "/job:*/replica:*/task:*/device:*:*"};
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        const struct tp_name name = names_parse(texts[i]);
        ck_assert_msg(tp_name_empty(&name), "%s", texts[i]);
    }
    check_parses_as("/device:*:4", "/device:*:4");
    check_parses_as("/replica:0", "");
}
END_TEST

START_TEST(a_show_into_little_room_is_cut_and_says_what_it_needs)
{
    const struct tp_name name = names_parse("/job:foo/task:2/device:GPU:3");
    const char *whole = "/job:foo/task:2/device:gpu:3";
    char text[40];
    ck_assert_uint_eq(tp_name_show(&name, NULL, 0), strlen(whole));
    for (size_t size = 1; size < sizeof(text); size++) {
        memset(text, '#', sizeof(text));
        ck_assert_uint_eq(tp_name_show(&name, text, size), strlen(whole));
        ck_assert(strlen(text) < size);
        ck_assert(strncmp(text, whole, strlen(text)) == 0);
    }
}
END_TEST

START_TEST(every_spelling_completes_to_the_canonical_name)
{
    static const char *const texts[] = {
        "/job:foo/replica:1/task:2/device:CPU:0",
        "/job:foo/task:2/replica:1/cpu:0",
        "/device:CPU:0/task:2/job:foo/replica:1",
        "/device:CPU:0",
        "/cpu:0",
        "CPU:0",
        "cpu:0",
        "",
        "/job:foo",
    };
    const struct tp_name base = names_parse("/job:foo/replica:1/task:2/device:cpu:0");
    troupe_error err;
    struct tp_name name;
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        ck_ok(tp_name_complete(texts[i], &base, &name, &err));
        names_text(&name, "/job:foo/replica:1/task:2/device:cpu:0");
    }
}
END_TEST

START_TEST(a_partial_base_or_a_malformed_name_completes_to_nothing)
{
    const struct tp_name base = names_parse(NAMES_FULL),
                         partial = names_parse("/job:foo/gpu:3");
    troupe_error err;
    struct tp_name name = base;
    ck_fails(tp_name_complete("/job:foo/bar", &base, &name, &err), INVALID, "/job:foo/bar");
    ck_assert(tp_name_empty(&name));
    name = base;
    ck_fails(tp_name_complete("cpu:0", &partial, &name, &err), INVALID, "partial");
    ck_assert(tp_name_empty(&name));
}
END_TEST

START_TEST(names_sort_unparsable_then_partial_then_complete_then_by_parts)
{
    static const char *const sorted[] = {
        "", /* parses, so after the unparsable; set apart below */
        "/device:cpu",
        "/device:cpu:1",
        "/task:0",
        "/task:2",
        "/task:11",
        "/job:a",
        "/job:a/task:0/device:cpu",
        "/job:foo/task:0",
        "/job:a/task:0/cpu:0",
        "/job:a/task:0/cpu:2",
        "/job:a/task:0/cpu:10",
        "/job:a/task:0/GPU:0",
        "/job:a/task:2/cpu:0",
        "/job:a/task:10/cpu:0",
        "/job:a/replica:1/task:0/cpu:0",
        "/job:a/replica:10/task:0/cpu:0",
        "/job:b/task:0/cpu:0",
    };
    for (size_t i = 0; i < TP_COUNT(sorted); i++) {
        for (size_t k = 0; k < TP_COUNT(sorted); k++)
            ck_assert_msg(tp_name_compare_text(sorted[i], sorted[k]) == (i > k) - (i < k),
                          "%s, %s", sorted[i], sorted[k]);
        ck_assert_int_eq(tp_name_compare_text("job:a", sorted[i]), -1);
        ck_assert_int_eq(tp_name_compare_text(sorted[i], "job:a"), 1);
    }
    ck_assert_int_eq(tp_name_compare_text("job:a", "job:b"), -1);
    ck_assert_int_eq(
        tp_name_compare_text("/job:a/replica:0/task:0/CPU:0", "/job:a/task:0/cpu:0"), 0);
}
END_TEST

START_TEST(a_part_that_is_there_twice_is_refused)
{
    static const char *const texts[] = {
        "/job:a/job:a", "/job:*/job:a",        "/replica:0/replica:0", "/task:1/task:2",
        "/cpu:0/cpu:0", "/device:cpu:0/cpu:0", "/cpu:0/device:cpu",
    };
    troupe_error err;
    struct tp_name name;
    for (size_t i = 0; i < TP_COUNT(texts); i++)
        ck_fails(tp_name_parse(texts[i], &name, &err), INVALID, "twice");
}
END_TEST

/* A small generator: the same texts every time. */
static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

START_TEST(any_bytes_parse_to_what_prints_and_parses_again_or_are_refused)
{
    static const char *const pieces[] = {
        "/", "job:", "task:", "replica:", "device:", "cpu",  ":",
        "*", "0",    "12",    "a_b",      "GPU:",    "\xff", " "};
    unsigned state = 7;
    for (int round = 0; round < 20000; round++) {
        char text[128] = "";
        for (unsigned n = next(&state) % 9; n > 0; n--)
            strcat(text, pieces[next(&state) % TP_COUNT(pieces)]);
        struct tp_name name, again;
        troupe_error err;
        const troupe_status status = tp_name_parse(text, &name, &err);
        ck_assert(status == TROUPE_OK || status == TROUPE_INVALID);
        if (status < 0) continue;
        ck_ok(tp_name_parse(tp_name_text(&name).text, &again, &err));
        ck_assert_msg(tp_name_equal(&name, &again), "%s", text);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph/name");
    TCase *t = tcase_create("name");
    tcase_add_test(t, a_name_built_from_its_parts_has_the_canonical_text);
    tcase_add_test(t, a_full_name_sets_all_five_parts);
    tcase_add_test(t, parts_may_stand_in_any_order);
    tcase_add_test(t, a_job_is_letters_digits_and_underscores_a_letter_first);
    tcase_add_test(t, an_unknown_or_trailing_part_is_refused);
    tcase_add_test(t, a_type_needs_no_id_even_in_the_middle);
    tcase_add_test(t, a_custom_type_keeps_its_letters_and_compares_without_case);
    tcase_add_test(t, short_forms_in_either_case_equal_the_long_form);
    tcase_add_loop_test(t, every_subset_of_parts_prints_and_parses_to_an_equal_name, 0, 32);
    tcase_add_test(t, a_star_and_a_slash_set_nothing);
    tcase_add_test(t, a_show_into_little_room_is_cut_and_says_what_it_needs);
    tcase_add_test(t, every_spelling_completes_to_the_canonical_name);
    tcase_add_test(t, a_partial_base_or_a_malformed_name_completes_to_nothing);
    tcase_add_test(t, names_sort_unparsable_then_partial_then_complete_then_by_parts);
    tcase_add_test(t, a_part_that_is_there_twice_is_refused);
    tcase_add_test(t, any_bytes_parse_to_what_prints_and_parses_again_or_are_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
