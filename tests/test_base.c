/* SPDX-License-Identifier: MIT
 *
 * tests/test_base.c - failures, the allocator, and the log.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "tests/test.h"

/* --- fail ------------------------------------------------------------------------------------
 */

START_TEST(every_status_has_its_name)
{
#define X(name, value, text) ck_assert_str_eq(troupe_status_name(TROUPE_##name), #name);
    TROUPE_STATUS_MAP(X)
#undef X
    ck_assert_str_eq(troupe_status_name(TROUPE_OK), "OK");
    ck_assert_str_eq(troupe_status_name(TROUPE_PENDING), "PENDING");
    ck_assert_str_eq(troupe_status_name(TROUPE_BUSY), "BUSY");
    ck_assert_str_eq(troupe_status_name(TROUPE_END), "END");
    ck_assert_str_eq(troupe_status_name((troupe_status)-99), "UNKNOWN");
}
END_TEST

START_TEST(a_failure_says_its_code_and_text)
{
    troupe_error err;
    ck_fails(tp_fail(&err, TROUPE_NOT_FOUND, "no '%s' among %d", "x", 3), NOT_FOUND,
             "no 'x' among 3");
    ck_assert_int_eq(tp_fail(NULL, TROUPE_DEVICE, "nobody listens"), TROUPE_DEVICE);
}
END_TEST

START_TEST(a_text_that_is_too_long_ends_with_dots)
{
    troupe_error err;
    char text[600];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = 0;
    tp_fail(&err, TROUPE_INVALID, "%s", text);
    ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
    ck_assert_str_eq(err.text + strlen(err.text) - 4, "a...");
    text[sizeof(err.text) - 1] = 0;
    tp_fail(&err, TROUPE_INVALID, "%s", text);
    ck_assert_str_eq(err.text, text);
}
END_TEST

/* 0 to 3 letters in front of sequences of four bytes: every place of the cut. */
START_TEST(a_text_is_never_cut_inside_a_code_point)
{
    troupe_error err;
    char text[600] = "aaa";
    for (size_t at = (size_t)_i; at + 5 < sizeof(text); at += 4)
        memcpy(text + at, "\xf0\x9f\x8e\xad", 5);
    tp_fail(&err, TROUPE_INVALID, "%s", text);
    const size_t size = strlen(err.text);
    ck_assert_uint_gt(size, sizeof(err.text) - 5);
    ck_assert_str_eq(err.text + size - 3, "...");
    ck_assert_uint_eq((size - 3 - (size_t)_i) % 4, 0);
}
END_TEST

START_TEST(a_failure_may_quote_its_own_text)
{
    troupe_error err;
    tp_fail(&err, TROUPE_INVALID, "first");
    tp_fail(&err, TROUPE_CORRUPT, "second after %s", err.text);
    ck_assert_str_eq(err.text, "second after first");
}
END_TEST

START_TEST(context_is_put_in_front)
{
    troupe_error err;
    tp_fail(&err, TROUPE_INVALID, "shapes differ");
    tp_fail_in(&err, "node '%s'", "mul_3");
    tp_fail_in(&err, "function '%s'", "f");
    ck_assert_str_eq(err.text, "function 'f': node 'mul_3': shapes differ");
    ck_assert_int_eq(err.code, TROUPE_INVALID);
    tp_fail_in(NULL, "nobody listens");
}
END_TEST

START_TEST(a_long_context_does_not_push_the_message_out)
{
    troupe_error err;
    char path[400];
    memset(path, 'p', sizeof(path));
    strcpy(path + sizeof(path) - 12, "/weights.np");
    tp_fail(&err, TROUPE_CORRUPT, "byte 17: ':' expected");
    tp_fail_in(&err, "%s", path);
    ck_assert_ptr_nonnull(strstr(err.text, "weights.np: byte 17: ':' expected"));
    ck_assert_int_eq(strncmp(err.text, "...", 3), 0);
}
END_TEST

static troupe_status try_it(troupe_status inner)
{
    TP_TRY(inner);
    return TROUPE_END;
}

START_TEST(only_failures_leave_a_function)
{
    ck_assert_int_eq(try_it(TROUPE_INVALID), TROUPE_INVALID);
    ck_assert_int_eq(try_it(TROUPE_OK), TROUPE_END);
    ck_assert_int_eq(try_it(TROUPE_BUSY), TROUPE_END);
}
END_TEST

START_TEST(a_broken_assertion_aborts)
{
    tp_assert(1 + 1 == 2);
    tp_assert_failed("1 + 1 == 3", __FILE__, __LINE__);
}
END_TEST

/* --- alloc -----------------------------------------------------------------------------------
 */

START_TEST(memory_is_zeroed_and_counted)
{
    const size_t before = tp_alloc_pieces();
    unsigned char *bytes = tp_alloc_array(100, 7);
    void *empty = tp_alloc_array(0, 8), *none = tp_alloc_array(8, 0);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_ptr_nonnull(empty);
    ck_assert_ptr_nonnull(none);
    for (int i = 0; i < 700; i++)
        ck_assert_uint_eq(bytes[i], 0);
    ck_assert_uint_eq(tp_alloc_pieces(), before + 3);
    tp_free(bytes);
    tp_free(empty);
    tp_free(none);
    tp_free(NULL);
    ck_assert_uint_eq(tp_alloc_pieces(), before);
}
END_TEST

START_TEST(sizes_that_overflow_give_no_memory)
{
    const size_t before = tp_alloc_pieces();
    char *memory = tp_alloc(4);
    ck_assert_ptr_null(tp_alloc_array(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(tp_realloc_array(NULL, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(tp_realloc_array(memory, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(tp_alloc_aligned(64, SIZE_MAX - 10));
    tp_free(memory);
    ck_assert_uint_eq(tp_alloc_pieces(), before);
}
END_TEST

START_TEST(aligned_memory_is_aligned)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *memory = tp_alloc_aligned(align, 33);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % align, 0);
        memset(memory, 1, 33);
        tp_free(memory);
    }
    void *empty = tp_alloc_aligned(64, 0);
    ck_assert_ptr_nonnull(empty);
    tp_free(empty);
}
END_TEST

START_TEST(a_refused_realloc_keeps_the_memory)
{
    char *memory = tp_realloc_array(NULL, 4, 1);
    const size_t pieces = tp_alloc_pieces();
    memcpy(memory, "abc", 4);
    tp_alloc_fail_at(1, 0);
    ck_assert_ptr_null(tp_realloc_array(memory, 400, 1));
    tp_alloc_fail_at(0, 0);
    ck_assert_str_eq(memory, "abc");
    memory = tp_realloc_array(memory, 4000, 1);
    ck_assert_str_eq(memory, "abc");
    memory = tp_realloc_array(memory, 0, 1);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    tp_free(memory);
}
END_TEST

START_TEST(texts_are_copied_with_a_zero_byte)
{
    char *whole = tp_strdup("troupe"), *part = tp_strndup("troupe", 3);
    char *more = tp_strndup("troupe", 30), *none = tp_strndup("troupe", 0);
    ck_assert_str_eq(whole, "troupe");
    ck_assert_str_eq(part, "tro");
    ck_assert_str_eq(more, "troupe");
    ck_assert_str_eq(none, "");
    tp_free(whole);
    tp_free(part);
    tp_free(more);
    tp_free_at(&none);
}
END_TEST

START_TEST(the_nth_allocation_fails_alone_or_with_all_later_ones)
{
    static const struct {
        uint64_t n;
        int all;
        const char *works; /* one letter for each of four requests */
    } rows[] = {{0, 0, "yyyy"}, {1, 0, "nyyy"}, {3, 0, "yyny"}, {2, 1, "ynnn"}, {5, 1, "yyyy"}};
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        void *memory[4];
        tp_alloc_fail_at(rows[i].n, rows[i].all);
        memory[0] = tp_alloc(8);
        memory[1] = tp_alloc_aligned(64, 8);
        memory[2] = tp_strdup("x");
        memory[3] = tp_realloc_array(NULL, 8, 1);
        ck_assert_uint_eq(tp_alloc_asked(), 4);
        tp_alloc_fail_at(0, 0);
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(memory[k] ? 'y' : 'n', rows[i].works[k]);
            tp_free(memory[k]);
        }
    }
    ck_assert_uint_eq(tp_alloc_asked(), 0);
}
END_TEST

START_TEST(an_array_grows_one_by_one)
{
    troupe_error err;
    uint32_t *array = NULL;
    size_t capacity = 0, moves = 0;
    for (uint32_t n = 0; n < 1000; n++) {
        const size_t before = capacity;
        ck_ok(tp_grow(&array, n, &capacity, sizeof(*array), &err));
        ck_assert_uint_gt(capacity, n);
        moves += capacity != before;
        array[n] = n;
    }
    for (uint32_t n = 0; n < 1000; n++)
        ck_assert_uint_eq(array[n], n);
    ck_assert_uint_lt(moves, 12);
    tp_alloc_fail_at(1, 0);
    ck_fails(tp_grow(&array, capacity, &capacity, sizeof(*array), &err), EXHAUSTED,
             "out of memory: 8192 bytes");
    tp_alloc_fail_at(0, 0);
    ck_assert_uint_eq(array[999], 999);
    tp_free(array);
}
END_TEST

START_TEST(a_text_grows_by_formats_and_bytes)
{
    troupe_error err;
    struct tp_text text = {0};
    char *out = NULL;
    for (int i = 0; i < 300; i++)
        tp_text_add(&text, "%d,", i % 10);
    tp_text_add_bytes(&text, "a\0b", 3);
    tp_text_add_bytes(&text, NULL, 0);
    ck_assert_uint_eq(text.size, 603);
    ck_ok(tp_text_take(&text, &out, &err));
    ck_assert_int_eq(memcmp(out, "0,1,2,", 6), 0);
    ck_assert_int_eq(memcmp(out + 600, "a\0b\0", 4), 0);
    ck_assert_ptr_null(text.data);
    tp_free(out);
}
END_TEST

START_TEST(an_empty_text_is_taken_as_an_empty_string)
{
    troupe_error err;
    struct tp_text text = {0};
    char *out = NULL;
    ck_ok(tp_text_take(&text, &out, &err));
    ck_assert_str_eq(out, "");
    tp_free(out);
    tp_text_fini(&text);
}
END_TEST

static troupe_status make_text(char **out, troupe_error *err)
{
    struct tp_text text = {0};
    for (int i = 0; i < 100; i++)
        tp_text_add(&text, "%s", "many words ");
    return tp_text_take(&text, out, err);
}

START_TEST(a_text_remembers_that_memory_was_missing)
{
    troupe_error err;
    char *out = NULL;
    ck_starve(make_text(&out, &err));
    ck_assert_uint_eq(strlen(out), 1100);
    tp_free(out);
}
END_TEST

/* --- log -------------------------------------------------------------------------------------
 */

struct heard {
    int lines; /* not atomic: the sink is called by one thread at a time */
    troupe_level level;
    char id[32], line[2100];
};

static void hear(void *arg, troupe_level level, const char *id, const char *line)
{
    struct heard *heard = arg;
    heard->lines++;
    heard->level = level;
    snprintf(heard->id, sizeof(heard->id), "%s", id);
    snprintf(heard->line, sizeof(heard->line), "%s", line);
}

START_TEST(a_sink_gets_the_level_the_id_and_the_line)
{
    struct heard heard = {0};
    tp_log_set(hear, &heard, TP_LOG_INFO);
    tp_log(WARN, "mailbox-slow", "actor %d\nwaits\x7f", 7);
    tp_log_set(NULL, NULL, TP_LOG_WARN);
    ck_assert_int_eq(heard.lines, 1);
    ck_assert_int_eq(heard.level, TP_LOG_WARN);
    ck_assert_str_eq(heard.id, "mailbox-slow");
    ck_assert_str_eq(heard.line, "WARN mailbox-slow: actor 7 waits ");
}
END_TEST

START_TEST(lines_above_the_level_are_not_made)
{
    struct heard heard = {0};
    int made = 0;
    tp_log_set(hear, &heard, TP_LOG_WARN);
    tp_log(INFO, "quiet", "%d", ++made);
    tp_log(TRACE, "quiet", "%d", ++made);
    tp_log(ERROR, "loud", "%d", ++made);
    tp_log_set(NULL, NULL, TP_LOG_WARN);
    ck_assert_int_eq(heard.lines, 1);
    ck_assert_str_eq(heard.line, "ERROR loud: 1");
    ck_assert(tp_log_wanted(TP_LOG_WARN));
    ck_assert(!tp_log_wanted(TP_LOG_INFO));
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut)
{
    struct heard heard = {0};
    char text[4000];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    tp_log_set(hear, &heard, TP_LOG_WARN);
    tp_log(WARN, "long", "%s", text);
    tp_log_set(NULL, NULL, TP_LOG_WARN);
    ck_assert_uint_eq(strlen(heard.line), 2047);
}
END_TEST

static void hear_and_talk(void *arg, troupe_level level, const char *id, const char *line)
{
    hear(arg, level, id, line);
    tp_log(ERROR, "nested", "from the sink");
    tp_log_set(hear, arg, TP_LOG_ERROR);
}

START_TEST(a_sink_may_log_and_may_be_replaced_by_itself)
{
    struct heard heard = {0};
    tp_log_set(hear_and_talk, &heard, TP_LOG_WARN);
    tp_log(WARN, "first", "x");
    ck_assert_int_eq(heard.lines, 1);
    tp_log(WARN, "unwanted", "x");
    tp_log(ERROR, "second", "x");
    tp_log_set(NULL, NULL, TP_LOG_WARN);
    ck_assert_int_eq(heard.lines, 2);
    ck_assert_str_eq(heard.id, "second");
}
END_TEST

static void *log_much(void *arg)
{
    for (int i = 0; i < 1000; i++)
        tp_log(WARN, "many", "line %d", i);
    return arg;
}

START_TEST(a_sink_is_called_by_one_thread_at_a_time)
{
    troupe_error err;
    struct heard heard = {0};
    struct tp_thread threads[4] = {{0}};
    tp_log_set(hear, &heard, TP_LOG_WARN);
    for (int i = 0; i < 4; i++)
        ck_ok(tp_thread_start(&threads[i], "log", log_much, NULL, &err));
    for (int i = 0; i < 4; i++)
        tp_thread_join(&threads[i]);
    tp_log_set(NULL, NULL, TP_LOG_WARN);
    ck_assert_int_eq(heard.lines, 4000);
}
END_TEST

START_TEST(without_a_sink_a_line_goes_to_standard_error)
{
    char line[200] = "";
    FILE *file = tmpfile();
    const int old = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    tp_log(WARN, "plain", "to %s", "you");
    tp_log(INFO, "plain", "not shown");
    dup2(old, STDERR_FILENO);
    close(old);
    rewind(file);
    const size_t n = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[n] = 0;
    ck_assert_str_eq(line, "troupe: WARN plain: to you\n");
}
END_TEST

static TCase *fail_case(void)
{
    TCase *t = tcase_create("fail");
    tcase_add_test(t, every_status_has_its_name);
    tcase_add_test(t, a_failure_says_its_code_and_text);
    tcase_add_test(t, a_text_that_is_too_long_ends_with_dots);
    tcase_add_loop_test(t, a_text_is_never_cut_inside_a_code_point, 0, 4);
    tcase_add_test(t, a_failure_may_quote_its_own_text);
    tcase_add_test(t, context_is_put_in_front);
    tcase_add_test(t, a_long_context_does_not_push_the_message_out);
    tcase_add_test(t, only_failures_leave_a_function);
    const char *fork =
        getenv("CK_FORK"); /* without a child of its own it would end the suite */
    if (!fork || strcmp(fork, "no") != 0) {
        tcase_add_test_raise_signal(t, a_broken_assertion_aborts, SIGABRT);
    }
    return t;
}

static TCase *alloc_case(void)
{
    TCase *t = tcase_create("alloc");
    tcase_add_test(t, memory_is_zeroed_and_counted);
    tcase_add_test(t, sizes_that_overflow_give_no_memory);
    tcase_add_test(t, aligned_memory_is_aligned);
    tcase_add_test(t, a_refused_realloc_keeps_the_memory);
    tcase_add_test(t, texts_are_copied_with_a_zero_byte);
    tcase_add_test(t, the_nth_allocation_fails_alone_or_with_all_later_ones);
    tcase_add_test(t, an_array_grows_one_by_one);
    tcase_add_test(t, a_text_grows_by_formats_and_bytes);
    tcase_add_test(t, an_empty_text_is_taken_as_an_empty_string);
    tcase_add_test(t, a_text_remembers_that_memory_was_missing);
    return t;
}

static TCase *log_case(void)
{
    TCase *t = tcase_create("log");
    tcase_add_test(t, a_sink_gets_the_level_the_id_and_the_line);
    tcase_add_test(t, lines_above_the_level_are_not_made);
    tcase_add_test(t, a_line_that_is_too_long_is_cut);
    tcase_add_test(t, a_sink_may_log_and_may_be_replaced_by_itself);
    tcase_add_test(t, a_sink_is_called_by_one_thread_at_a_time);
    tcase_add_test(t, without_a_sink_a_line_goes_to_standard_error);
    return t;
}

int main(void)
{
    Suite *s = suite_create("base");
    suite_add_tcase(s, fail_case());
    suite_add_tcase(s, alloc_case());
    suite_add_tcase(s, log_case());
    return test_run(s);
}
