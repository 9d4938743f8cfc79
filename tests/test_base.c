/* SPDX-License-Identifier: MIT
 *
 * tests/test_base.c - failures, the allocator, the log, time, threads and their sleep.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/ref.h"
#include "base/thread.h"
#include "tests/test.h"

#define SECOND_NS 1000000000ull

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
    Suite *s = suite_create("base");
    suite_add_tcase(s, fail_case());
    suite_add_tcase(s, alloc_case());
    suite_add_tcase(s, log_case());
    suite_add_tcase(s, thread_case());
    return test_run(s);
}
