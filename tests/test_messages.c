/* SPDX-License-Identifier: MIT
 *
 * tests/test_messages.c - every kind of message: its fields, showing it, letting it go.
 */
#include <stdio.h>

#include "base/log.h"
#include "messages/message.h"
#include "tests/rehearsal.h"

#define BODY offsetof(struct tp_message, call)

static char *field_of(struct tp_message *message, const struct tp_field *f)
{
    return (char *)message + BODY + f->offset;
}

/* Something in every field; what is owned is the message's. */
static void fill(struct tp_message *message)
{
    for (const struct tp_field *f = tp_kind_fields(message->kind); f->name; f++) {
        void *at = field_of(message, f);
        switch (f->type) {
        case TP_FIELD_BOOL:
            *(bool *)at = true;
            break;
        case TP_FIELD_I32:
            *(int32_t *)at = -7;
            break;
        case TP_FIELD_U32:
            *(uint32_t *)at = 4000000000u;
            break;
        case TP_FIELD_U64:
            *(uint64_t *)at = UINT64_MAX;
            break;
        case TP_FIELD_REF:
            *(void **)at = message;
            break;
        case TP_FIELD_TENSOR:
            *(troupe_tensor **)at = value_of("i32[3] [1, 2, 3]");
            break;
        case TP_FIELD_ERROR:
            *(troupe_error **)at = tp_alloc(sizeof(troupe_error));
            ck_assert_ptr_nonnull(*(troupe_error **)at);
            tp_fail(*(troupe_error **)at, TROUPE_DEVICE, "it burns");
            break;
        case TP_FIELD_TYPES:
            break;
        }
    }
}

static void ck_shown(const struct tp_message *message, const char *word)
{
    struct tp_text text = {0};
    tp_message_show(message, &text);
    ck_assert_ptr_nonnull(text.data);
    ck_assert_msg(strstr(text.data, word) != NULL, "no \"%s\" in \"%s\"", word, text.data);
    tp_text_fini(&text);
}

START_TEST(every_kind_has_a_name_and_says_who_sends_it_to_whom)
{
    const char *name = tp_kind_name((enum tp_kind)_i), *doc = tp_kind_doc((enum tp_kind)_i);
    ck_assert_uint_gt(strlen(name), 0);
    for (const char *c = name; *c; c++)
        ck_assert((*c >= 'A' && *c <= 'Z') || *c == '_');
    ck_assert_ptr_nonnull(strstr(doc, " -> "));
    ck_assert_ptr_nonnull(strstr(doc, ": "));
    for (int other = 0; other < _i; other++)
        ck_assert_str_ne(tp_kind_name((enum tp_kind)other), name);
}
END_TEST

START_TEST(the_fields_of_every_kind_lie_apart_and_inside_the_message)
{
    size_t end = 0;
    bool owns = false;
    for (const struct tp_field *f = tp_kind_fields((enum tp_kind)_i); f->name; f++) {
        const struct tp_field_row *row = &tp_field_rows[f->type];
        ck_assert_uint_gt(row->size, 0);
        ck_assert_ptr_nonnull(row->show);
        ck_assert_uint_eq(f->offset % (row->size < 8 ? row->size : 8), 0);
        ck_assert_uint_ge(f->offset, end);
        end = f->offset + row->size;
        owns |= row->drop != NULL;
    }
    ck_assert_uint_le(BODY + end, sizeof(struct tp_message));
    ck_assert_int_eq(tp_kind_owns[_i], owns);
}
END_TEST

START_TEST(a_message_of_every_kind_shows_its_fields_and_leaves_nothing)
{
    troupe_error err;
    struct tp_message *message;
    const size_t pieces = tp_alloc_pieces();
    ck_ok(tp_message_new(&message, (enum tp_kind)_i, &err));
    ck_assert_int_eq(message->kind, _i);
    ck_assert(!message->fixed);
    fill(message);
    ck_shown(message, tp_kind_name((enum tp_kind)_i));
    for (const struct tp_field *f = tp_kind_fields((enum tp_kind)_i); f->name; f++)
        ck_shown(message, f->name);
    tp_message_destroy(&message);
    ck_assert_ptr_null(message);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(an_empty_message_of_every_kind_is_shown_and_let_go)
{
    troupe_error err;
    struct tp_message *message;
    const size_t pieces = tp_alloc_pieces();
    ck_ok(tp_message_new(&message, (enum tp_kind)_i, &err));
    ck_shown(message, tp_kind_name((enum tp_kind)_i));
    tp_message_drop(message);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_fixed_message_lets_go_of_its_fields_and_keeps_its_memory)
{
    struct tp_message fixed;
    struct tp_message *message = &fixed;
    const size_t pieces = tp_alloc_pieces();
    for (int round = 0; round < 2; round++) {
        tp_message_set(&fixed, (enum tp_kind)_i, 17);
        ck_assert(fixed.fixed);
        ck_assert_uint_eq(fixed.estimate, 17);
        fill(&fixed);
        message = &fixed;
        if (round)
            tp_message_drop(message);
        else
            tp_message_destroy(&message);
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    }
}
END_TEST

START_TEST(values_and_failures_are_shown_in_full)
{
    struct tp_message m;
    tp_message_set(&m, TP_TENSOR, 0);
    ck_shown(&m, "value=none");
    m.tensor.edge = 12;
    m.tensor.value = value_of("f32[2] [1.5, -2]");
    ck_shown(&m, "TENSOR edge=12 value=f32[2] [1.5, -2]");
    tp_message_drop(&m);
    tp_message_set(&m, TP_SHARD_DONE, 0);
    ck_shown(&m, "error=none");
    fill(&m);
    ck_shown(&m, "derived=yes stopped=yes code=-7 error=DEVICE: it burns");
    tp_message_drop(&m);
}
END_TEST

START_TEST(without_memory_there_is_no_message)
{
    troupe_error err;
    struct tp_message *message = NULL;
    tp_alloc_fail_at(1, 0);
    troupe_status status = tp_message_new(&message, TP_TENSOR, &err);
    tp_alloc_fail_at(0, 0);
    ck_assert_int_eq(status, TROUPE_EXHAUSTED);
    ck_assert_ptr_null(message);
}
END_TEST

/* -- Dead letters
 * -------------------------------------------------------------------------------------- */

static void keep_line(void *arg, troupe_level level, const char *id, const char *line)
{
    (void)level;
    snprintf(arg, 200, "%s %s", id, line);
}

/* A device answers no TENSOR; its value is let go all the same. */
START_TEST(a_message_that_its_receiver_does_not_know_is_logged_and_dropped)
{
    troupe_error err;
    char line[200] = "";
    struct rehearsal r = rehearsal_open(1, "cpu:0");
    struct tp_message *letter;
    troupe_log_to(keep_line, line, TROUPE_LOG_WARN);
    ck_ok(tp_message_new(&letter, TP_TENSOR, &err));
    fill(letter);
    tp_post_outside(r.runtime->stage, &r.runtime->device_actors[0].actor, &letter);
    ck_assert_ptr_null(letter);
    rehearsal_play(&r);
    troupe_log_to(NULL, NULL, TROUPE_LOG_WARN);
    ck_assert_msg(strstr(line, "dead-letter") != NULL, "%s", line);
    ck_assert_ptr_nonnull(strstr(line, "device has no handler for TENSOR"));
    rehearsal_close(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("messages");
    TCase *kinds = tcase_create("kinds"), *letters = tcase_create("letters");
    tcase_add_loop_test(kinds, every_kind_has_a_name_and_says_who_sends_it_to_whom, 0,
                        TP_KINDS);
    tcase_add_loop_test(kinds, the_fields_of_every_kind_lie_apart_and_inside_the_message, 0,
                        TP_KINDS);
    tcase_add_loop_test(kinds, a_message_of_every_kind_shows_its_fields_and_leaves_nothing, 0,
                        TP_KINDS);
    tcase_add_loop_test(kinds, an_empty_message_of_every_kind_is_shown_and_let_go, 0, TP_KINDS);
    tcase_add_loop_test(kinds, a_fixed_message_lets_go_of_its_fields_and_keeps_its_memory, 0,
                        TP_KINDS);
    tcase_add_test(kinds, values_and_failures_are_shown_in_full);
    tcase_add_test(kinds, without_memory_there_is_no_message);
    tcase_add_test(letters, a_message_that_its_receiver_does_not_know_is_logged_and_dropped);
    suite_add_tcase(s, kinds);
    suite_add_tcase(s, letters);
    return s;
}

int main(void)
{
    return test_run(suite());
}
