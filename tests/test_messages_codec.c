/* SPDX-License-Identifier: MIT
 *
 * tests/test_messages_codec.c - messages as bytes and back: every kind, every cut, every flipped
 * bit, and what may be added to the protocol.
 */
#include "messages/codec.h"

#include <stdio.h>

#include "tests/messages.h"

#define SEEDS 500

static const char *shown(const struct tp_message *m, struct tp_text *out)
{
    tp_text_fini(out);
    tp_message_show(m, out);
    return out->data;
}

/* -- Round trips --------------------------------------------------------------------------- */

static bool travels(enum tp_kind kind)
{
    for (const struct tp_field *f = tp_kind_fields(kind); f->name; f++)
        if (f->type == TP_FIELD_REF) return false;
    return true;
}

static void ck_round_trip(const struct tp_message *m, enum tp_wire_scope scope)
{
    troupe_error err;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
    TP_OWNED(tp_message_destroy) struct tp_message *back = NULL;
    TP_OWNED(tp_text_fini) struct tp_text a = {0}, b = {0};
    ck_ok(tp_encode(m, scope, &wire, &err));
    ck_ok(tp_decode(&back, &wire, scope, &err));
    ck_assert_msg(tp_message_equal(m, back), "%s became %s", shown(m, &a), shown(back, &b));
    ck_assert(!back->fixed);
}

START_TEST(every_kind_comes_back_as_it_went)
{
    struct dice dice = {(uint64_t)_i};
    const size_t pieces = tp_alloc_pieces();
    for (int kind = 0; kind < TP_KINDS; kind++) {
        struct tp_message *m = random_message(&dice, (enum tp_kind)kind);
        ck_round_trip(m, TP_WIRE_LOCAL);
        if (travels((enum tp_kind)kind)) ck_round_trip(m, TP_WIRE_PEER);
        tp_message_destroy(&m);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_message_sent_through_the_codec_keeps_its_memory_and_gets_copies)
{
    troupe_error err;
    struct dice dice = {(uint64_t)_i};
    const size_t pieces = tp_alloc_pieces();
    for (int kind = 0; kind < TP_KINDS; kind++) {
        struct tp_message *m = random_message(&dice, (enum tp_kind)kind), fixed = *m;
        TP_OWNED(tp_wire_fini) struct tp_wire before = {0}, after = {0};
        fixed.fixed = true;
        fixed.estimate = 77;
        ck_ok(tp_encode(&fixed, TP_WIRE_LOCAL, &before, &err));
        ck_ok(tp_message_recode(&fixed, &err));
        ck_ok(tp_encode(&fixed, TP_WIRE_LOCAL, &after, &err));
        ck_assert_int_eq(fixed.kind, kind);
        ck_assert(fixed.fixed && fixed.estimate == 77);
        ck_wires_equal(&before, &after);
        for (size_t i = 0; i < after.n_frames; i++)
            ck_assert_ptr_ne(after.frames[i].data, before.frames[i].data);
        tp_message_drop(&fixed);
        tp_free(m); /* what it owned was `fixed`'s */
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

/* -- Damage -------------------------------------------------------------------------------- */

/* A copy of `from` with the first `head` bytes of its head and `frames` of its frames, the
 * last of which ends `less` bytes early; the preamble is of the whole, or of what is left. */
static void cut_wire(struct tp_wire *out, const struct tp_wire *from, size_t head,
                     size_t frames, size_t less, bool announced)
{
    const struct tp_preamble p = {0, (uint32_t)head, (uint32_t)frames};
    *out = (struct tp_wire){.n_frames = 0};
    memcpy(out->preamble, from->preamble, sizeof out->preamble);
    if (announced) tp_preamble_write(out->preamble, &p);
    tp_text_add_bytes(&out->head, from->head.data, head);
    for (size_t i = 0; i < frames; i++) {
        const struct tp_wire_frame *f = &from->frames[i];
        add_frame(out, f->data, i + 1 == frames ? f->size - less : f->size, 0);
    }
}

static void ck_cut_is_refused(const struct tp_wire *whole, size_t head, size_t frames,
                              size_t less, bool announced)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire cut;
    cut_wire(&cut, whole, head, frames, less, announced);
    ck_fails(tp_decode(&m, &cut, TP_WIRE_LOCAL, &err), CORRUPT, "");
    ck_assert_ptr_null(m);
}

START_TEST(every_cut_of_every_kind_is_refused)
{
    troupe_error err;
    struct dice dice = {(uint64_t)_i};
    for (int kind = 0; kind < TP_KINDS; kind++) {
        struct tp_message *m = random_message(&dice, (enum tp_kind)kind);
        TP_OWNED(tp_wire_fini) struct tp_wire whole = {0};
        ck_ok(tp_encode(m, TP_WIRE_LOCAL, &whole, &err));
        for (size_t n = 0; n < whole.head.size; n++) {
            ck_cut_is_refused(&whole, n, whole.n_frames, 0, false);
            ck_cut_is_refused(&whole, n, whole.n_frames, 0, true);
        }
        for (size_t n = 0; n < whole.n_frames; n++)
            ck_cut_is_refused(&whole, whole.head.size, n, 0, true);
        const size_t last = whole.n_frames ? whole.frames[whole.n_frames - 1].size : 0;
        for (size_t n = 1; n <= last; n++)
            ck_cut_is_refused(&whole, whole.head.size, whole.n_frames, n, true);
        tp_message_destroy(&m);
    }
}
END_TEST

START_TEST(a_preamble_of_any_other_size_is_refused)
{
    troupe_error err;
    struct tp_preamble p = {0, 2, 0};
    uint8_t bytes[TP_PREAMBLE_SIZE + 1];
    tp_preamble_write(bytes, &p);
    for (size_t n = 0; n <= sizeof bytes; n++)
        if (n != TP_PREAMBLE_SIZE)
            ck_fails(tp_preamble_read(bytes, n, &p, &err), CORRUPT, "not 16");
}
END_TEST

/* What was decoded can be shown, encoded and decoded again. */
static void ck_sound(const struct tp_message *m)
{
    TP_OWNED(tp_text_fini) struct tp_text text = {0};
    ck_assert(shown(m, &text)[0]);
    ck_round_trip(m, TP_WIRE_LOCAL);
}

static void ck_flip(const struct tp_wire *whole, size_t bit)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire bad;
    cut_wire(&bad, whole, whole->head.size, whole->n_frames, 0, false);
    uint8_t *at = bad.preamble;
    size_t byte = bit / 8, size = sizeof bad.preamble;
    for (size_t part = 0; byte >= size; part++) {
        byte -= size;
        at = part ? (uint8_t *)bad.frames[part - 1].buffer->data : (uint8_t *)bad.head.data;
        size = part ? bad.frames[part - 1].size : bad.head.size;
    }
    at[byte] ^= (uint8_t)(1u << bit % 8);
    const troupe_status status = tp_decode(&m, &bad, TP_WIRE_LOCAL, &err);
    if (status == TROUPE_OK)
        ck_sound(m);
    else
        ck_assert(status == TROUPE_CORRUPT || status == TROUPE_UNSUPPORTED);
    tp_message_destroy(&m);
}

START_TEST(every_flipped_bit_is_refused_or_gives_a_sound_message)
{
    troupe_error err;
    struct dice dice = {(uint64_t)_i};
    for (int kind = 0; kind < TP_KINDS; kind++) {
        struct tp_message *m = random_message(&dice, (enum tp_kind)kind);
        TP_OWNED(tp_wire_fini) struct tp_wire whole = {0};
        ck_ok(tp_encode(m, TP_WIRE_LOCAL, &whole, &err));
        size_t bits = 8 * (sizeof whole.preamble + whole.head.size);
        for (size_t i = 0; i < whole.n_frames; i++)
            bits += 8 * whole.frames[i].size;
        for (size_t bit = 0; bit < bits; bit++)
            ck_flip(&whole, bit);
        tp_message_destroy(&m);
    }
}
END_TEST

/* -- Heads from elsewhere ------------------------------------------------------------------ */

/* TENSOR is kind 11, SHARD_DONE kind 12, CALL kind 0. */
static const struct {
    const char *head, *says;
} bad_heads[] = {
    {"", "byte 0"},
    {"c0", "the head is not an array with a kind"},
    {"90", "the head is not an array with a kind"},
    {"81 0b 05", "the head is not an array with a kind"},
    {"91 c0", "the kind is not a number of 32 bits"},
    {"91 ff", "the kind is not a number of 32 bits"},
    {"91 cf 00 00 00 01 00 00 00 00", "the kind is not a number of 32 bits"},
    {"92 0b 05 00", "byte 3: 1 bytes follow the value"},
    {"92 0b ff", "TENSOR, field 'edge': not a number of 32 bits"},
    {"92 0b cf 00 00 00 01 00 00 00 00", "TENSOR, field 'edge': not a number of 32 bits"},
    {"92 0b ca 3f 80 00 00", "TENSOR, field 'edge': not a number of 32 bits"},
    {"93 0c 01 01", "SHARD_DONE, field 'derived': not true or false"},
    {"95 0c 01 c2 c2 cf 00 00 00 00 80 00 00 00", "field 'code': not a signed number"},
    {"95 0c 01 c2 c2 d3 ff ff ff ff 7f ff ff ff", "field 'code': not a signed number"},
    {"96 0c 01 c2 c2 ff 01", "field 'error': not a failure"},
    {"96 0c 01 c2 c2 ff 91 ff", "field 'error': not a failure"},
    {"96 0c 01 c2 c2 ff 92 00 a1 61", "field 'error': not a failure"},
    {"96 0c 01 c2 c2 ff 92 ff c4 01 61", "field 'error': not a failure"},
    {"92 00 01", "CALL, field 'pending': an object of another process"},
    {"91 00", "CALL, field 'pending': an object of another process"},
    {"93 0b 05 dd ff ff ff ff", "values are to come"},
    {"dd ff ff ff ff 0b 05", "values are to come"},
    {"93 0b 05 db ff ff ff ff", "more are wanted"},
};

START_TEST(a_head_that_is_wrong_is_refused_with_its_place)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of(bad_heads[_i].head, NULL);
    const size_t pieces = tp_alloc_pieces();
    ck_fails(tp_decode(&m, &wire, TP_WIRE_PEER, &err), CORRUPT, bad_heads[_i].says);
    ck_assert_ptr_null(m);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_claim_beyond_the_head_allocates_nothing)
{
    static const char *const heads[] = {"93 0b 05 dd ff ff ff ff", "dd ff ff ff ff 0b 05",
                                        "df ff ff ff ff 0b 05", "93 0b 05 db ff ff ff ff"};
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(heads); i++) {
        struct tp_message *m = NULL;
        TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of(heads[i], NULL);
        tp_alloc_fail_at(0, 0);
        ck_fails(tp_decode(&m, &wire, TP_WIRE_PEER, &err), CORRUPT, "byte ");
        ck_assert_uint_eq(tp_alloc_asked(), 0);
    }
}
END_TEST

static struct tp_message *decoded(const char *head, const char *frame)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of(head, frame);
    ck_ok(tp_decode(&m, &wire, TP_WIRE_PEER, &err));
    return m;
}

START_TEST(fields_that_an_older_peer_does_not_send_are_zero)
{
    struct tp_message *m = decoded("93 0c 07 c3", NULL);
    ck_assert_int_eq(m->kind, TP_SHARD_DONE);
    ck_assert_uint_eq(m->shard_done.shard, 7);
    ck_assert(m->shard_done.derived && !m->shard_done.stopped);
    ck_assert_int_eq(m->shard_done.code, 0);
    ck_assert_ptr_null(m->shard_done.error);
    tp_message_destroy(&m);
    m = decoded("91 0b", NULL);
    ck_assert_uint_eq(m->tensor.edge, 0);
    ck_assert_ptr_null(m->tensor.value);
    tp_message_destroy(&m);
}
END_TEST

START_TEST(what_a_newer_peer_sends_more_is_ignored)
{
    /* A map, an array and bytes behind the fields; a frame that no field takes; and a third
     * part of the tensor's type. */
    struct tp_message *m = decoded("96 0b 05 c0 81 a1 61 92 01 02 90 c4 01 00", "00 01 02");
    ck_assert_uint_eq(m->tensor.edge, 5);
    ck_assert_ptr_null(m->tensor.value);
    tp_message_destroy(&m);
    m = decoded("93 0b 05 93 a2 69 38 91 02 81 01 02", "07 f9");
    ck_assert_int_eq(((const int8_t *)troupe_tensor_data(m->tensor.value))[1], -7);
    tp_message_destroy(&m);
}
END_TEST

START_TEST(a_number_may_have_any_width)
{
    static const char *const heads[] = {"92 0b 05",
                                        "92 0b cc 05",
                                        "92 0b cd 00 05",
                                        "92 cd 00 0b ce 00 00 00 05",
                                        "92 d0 0b cf 00 00 00 00 00 00 00 05",
                                        "dc 00 02 d3 00 00 00 00 00 00 00 0b d1 00 05"};
    for (size_t i = 0; i < TP_COUNT(heads); i++) {
        struct tp_message *m = decoded(heads[i], NULL);
        ck_assert_int_eq(m->kind, TP_TENSOR);
        ck_assert_uint_eq(m->tensor.edge, 5);
        tp_message_destroy(&m);
    }
}
END_TEST

START_TEST(a_kind_that_is_not_known_is_an_outcome_that_names_it)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of("92 cd 03 e7 81 00 01", "00");
    ck_fails(tp_decode(&m, &wire, TP_WIRE_PEER, &err), UNSUPPORTED, "kind 999 ");
}
END_TEST

/* -- Failures in messages ------------------------------------------------------------------ */

START_TEST(a_failure_that_is_not_known_here_is_still_a_failure)
{
    struct tp_message *m = decoded("96 0c 01 c2 c2 d0 9c 92 d0 9c a3 6e 65 77", NULL);
    ck_assert_int_eq(m->shard_done.error->code, TROUPE_INTERNAL);
    ck_assert_str_eq(m->shard_done.error->text, "new");
    tp_message_destroy(&m);
}
END_TEST

START_TEST(the_text_of_a_failure_is_cut_where_it_does_not_fit)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of("96 0c 01 c2 c2 ff 92 ff da 03 e8", 0);
    char text[1000];
    memset(text, 'x', sizeof text);
    tp_text_add_bytes(&wire.head, text, sizeof text);
    announce(&wire);
    ck_ok(tp_decode(&m, &wire, TP_WIRE_PEER, &err));
    ck_assert_uint_eq(strlen(m->shard_done.error->text), sizeof m->shard_done.error->text - 1);
    ck_assert_ptr_nonnull(strstr(m->shard_done.error->text, "xxx..."));
    tp_message_destroy(&m);
}
END_TEST

START_TEST(a_text_that_is_not_utf8_is_so_on_the_wire)
{
    troupe_error err;
    troupe_error bad = {TROUPE_INVALID, "file '\xff'"};
    struct tp_message m = {.kind = TP_SHARD_DONE, .fixed = true, .shard_done.error = &bad};
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {0};
    struct tp_message *back = NULL;
    ck_ok(tp_encode(&m, TP_WIRE_PEER, &wire, &err));
    ck_ok(tp_decode(&back, &wire, TP_WIRE_PEER, &err));
    ck_assert_str_eq(back->shard_done.error->text, "file '\xef\xbf\xbd'");
    tp_message_destroy(&back);
}
END_TEST

START_TEST(an_object_of_this_process_does_not_travel)
{
    troupe_error err;
    const enum tp_kind kind = (enum tp_kind)_i;
    struct tp_message m = {.kind = (uint16_t)kind, .fixed = true};
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {0};
    if (travels(kind))
        ck_ok(tp_encode(&m, TP_WIRE_PEER, &wire, &err));
    else
        ck_fails(tp_encode(&m, TP_WIRE_PEER, &wire, &err), INVALID, "does not travel");
    if (kind == TP_WANT) ck_assert_ptr_nonnull(strstr(err.text, "WANT, field 'shard': an obj"));
}
END_TEST

/* -- Preamble ------------------------------------------------------------------------------ */

static const struct {
    size_t at;
    uint8_t byte;
    troupe_status status;
    const char *says;
} preambles[] = {
    {0, 'X', TROUPE_CORRUPT, "it starts with 5852501a"},
    {3, 0, TROUPE_CORRUPT, "no message of troupe"},
    {4, 2, TROUPE_UNSUPPORTED, "protocol version 2.0, here it is 1.0"},
    {5, 9, TROUPE_OK, ""},
    {6, 1, TROUPE_CORRUPT, "reserved"},
    {7, 1, TROUPE_CORRUPT, "reserved"},
    {10, 1, TROUPE_CORRUPT, "a head of 65538 bytes, above 65536"},
    {11, 255, TROUPE_CORRUPT, "above 65536"},
    {13, 8, TROUPE_CORRUPT, "2048 frames, above 1024"},
    {8, 3, TROUPE_CORRUPT, "a head of 2 bytes, 3 were announced"},
    {12, 1, TROUPE_CORRUPT, "0 frames, 1 were announced"},
};

START_TEST(a_preamble_says_what_comes_and_of_which_version)
{
    troupe_error err;
    struct tp_message *m = NULL;
    TP_OWNED(tp_wire_fini) struct tp_wire wire = wire_of("91 04", NULL);
    wire.preamble[preambles[_i].at] = preambles[_i].byte;
    const troupe_status status = tp_decode(&m, &wire, TP_WIRE_PEER, &err);
    ck_assert_int_eq(status, preambles[_i].status);
    if (status) ck_assert_ptr_nonnull(strstr(err.text, preambles[_i].says));
    tp_message_destroy(&m);
}
END_TEST

/* -- Memory -------------------------------------------------------------------------------- */

static troupe_status there_and_back(const struct tp_message *m, enum tp_wire_scope scope,
                                    troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {0};
    TP_OWNED(tp_message_destroy) struct tp_message *back = NULL;
    TP_TRY(tp_encode(m, scope, &wire, err));
    return tp_decode(&back, &wire, scope, err);
}

START_TEST(without_memory_a_message_stays_as_it_is)
{
    troupe_error err;
    struct dice dice = {(uint64_t)_i};
    const size_t pieces = tp_alloc_pieces();
    for (int kind = 0; kind < TP_KINDS; kind++) {
        struct tp_message *m = random_message(&dice, (enum tp_kind)kind);
        ck_starve(there_and_back(m, TP_WIRE_LOCAL, &err));
        ck_starve(tp_message_recode(m, &err));
        if (travels((enum tp_kind)kind)) ck_starve(there_and_back(m, TP_WIRE_PEER, &err));
        tp_message_destroy(&m);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

static TCase *round_trips(void)
{
    TCase *t = tcase_create("round trips");
    tcase_add_loop_test(t, every_kind_comes_back_as_it_went, 0, SEEDS);
    tcase_add_loop_test(t, a_message_sent_through_the_codec_keeps_its_memory_and_gets_copies, 0,
                        50);
    tcase_add_loop_test(t, without_memory_a_message_stays_as_it_is, 0, 20);
    return t;
}

static TCase *damage(void)
{
    TCase *t = tcase_create("damage");
    tcase_add_loop_test(t, every_cut_of_every_kind_is_refused, 0, 20);
    tcase_add_test(t, a_preamble_of_any_other_size_is_refused);
    tcase_add_loop_test(t, every_flipped_bit_is_refused_or_gives_a_sound_message, 0, 20);
    return t;
}

static TCase *elsewhere(void)
{
    TCase *t = tcase_create("from elsewhere");
    tcase_add_loop_test(t, a_head_that_is_wrong_is_refused_with_its_place, 0,
                        TP_COUNT(bad_heads));
    tcase_add_test(t, a_claim_beyond_the_head_allocates_nothing);
    tcase_add_test(t, fields_that_an_older_peer_does_not_send_are_zero);
    tcase_add_test(t, what_a_newer_peer_sends_more_is_ignored);
    tcase_add_test(t, a_number_may_have_any_width);
    tcase_add_test(t, a_kind_that_is_not_known_is_an_outcome_that_names_it);
    tcase_add_test(t, a_failure_that_is_not_known_here_is_still_a_failure);
    tcase_add_test(t, the_text_of_a_failure_is_cut_where_it_does_not_fit);
    tcase_add_test(t, a_text_that_is_not_utf8_is_so_on_the_wire);
    tcase_add_loop_test(t, an_object_of_this_process_does_not_travel, 0, TP_KINDS);
    tcase_add_loop_test(t, a_preamble_says_what_comes_and_of_which_version, 0,
                        TP_COUNT(preambles));
    return t;
}

int main(void)
{
    Suite *s = suite_create("messages/codec");
    suite_add_tcase(s, round_trips());
    suite_add_tcase(s, damage());
    suite_add_tcase(s, elsewhere());
    return test_run(s);
}
