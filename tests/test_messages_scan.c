/* SPDX-License-Identifier: MIT
 *
 * tests/test_messages_scan.c - which bytes are one whole msgpack value: the forms by table, and
 * msgpack-c as the judge of random ones.
 */
#include "messages/scan.h"

#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/bytes.h"
#include "tests/test.h"

/* -- By table ------------------------------------------------------------------------------ */

static const struct {
    const char *bytes;
} whole[] = {
    /* clang-format off */
    {"00"}, {"7f"}, {"e0"}, {"ff"}, {"c0"}, {"c2"}, {"c3"},
    {"cc 80"}, {"cd 01 00"}, {"ce 00 01 00 00"}, {"cf 01 02 03 04 05 06 07 08"},
    {"d0 80"}, {"d1 80 00"}, {"d2 80 00 00 00"}, {"d3 80 00 00 00 00 00 00 00"},
    {"ca 3f 80 00 00"}, {"cb 3f f0 00 00 00 00 00 00"},
    {"a0"}, {"a2 68 69"}, {"d9 00"}, {"d9 01 61"}, {"da 00 02 61 62"}, {"db 00 00 00 01 61"},
    {"c4 00"}, {"c4 02 00 01"}, {"c5 00 01 ff"}, {"c6 00 00 00 01 ff"},
    {"d4 01 02"}, {"d5 01 02 03"}, {"d6 01 02 03 04 05"}, {"d7 01 02 03 04 05 06 07 08 09"},
    {"d8 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"},
    {"c7 00 01"}, {"c7 02 01 00 00"}, {"c8 00 01 05 00"}, {"c9 00 00 00 01 05 00"},
    {"90"}, {"80"}, {"dc 00 00"}, {"dd 00 00 00 00"}, {"de 00 00"}, {"df 00 00 00 00"},
    {"93 01 02 03"}, {"82 01 02 03 04"}, {"92 91 91 90 80"}, {"81 a1 61 92 c0 c0"},
    {"dc 00 02 01 02"}, {"de 00 01 01 02"}, {"dd 00 00 00 01 df 00 00 00 01 01 02"},
    /* clang-format on */
};

START_TEST(a_whole_value_ends_at_its_last_byte)
{
    troupe_error err;
    uint8_t bytes[64];
    size_t end, size = bytes_of(whole[_i].bytes, bytes);
    ck_ok(tp_scan(bytes, size, &err));
    memset(bytes + size, 0xc1, 8);
    ck_ok(tp_scan_value(bytes, size + 8, &end, &err));
    ck_assert_uint_eq(end, size);
    ck_fails(tp_scan(bytes, size + 8, &err), CORRUPT, "8 bytes follow the value");
}
END_TEST

START_TEST(a_value_that_is_cut_anywhere_is_refused)
{
    troupe_error err;
    uint8_t bytes[64];
    const size_t size = bytes_of(whole[_i].bytes, bytes);
    for (size_t n = 0; n < size; n++)
        ck_fails(tp_scan(bytes, n, &err), CORRUPT, "byte ");
}
END_TEST

static const struct {
    const char *bytes, *says;
} refused[] = {
    {"", "byte 0: 1 more are wanted, 0 are left"},
    {"c1", "byte 0: 0xc1 starts no value"},
    {"92 00 c1", "byte 2: 0xc1 starts no value"},
    {"d9 05 61", "byte 2: 5 more are wanted, 1 are left"},
    {"cf 00", "byte 1: 8 more are wanted, 1 are left"},
    {"c6 ff ff ff ff 00", "byte 5: 4294967295 more are wanted, 1 are left"},
    {"c9 ff ff ff ff 00 00", "byte 5: 4294967296 more are wanted"},
    {"dd 10 00 00 00", "byte 5: 268435456 values are to come in 0 bytes"},
    {"dd ff ff ff ff 00 00", "byte 5: 4294967295 values are to come in 2 bytes"},
    {"df ff ff ff ff 00", "byte 5: 8589934590 values are to come in 1 bytes"},
    {"93 dc 00 02 00 00", "byte 4: 4 values are to come in 2 bytes"},
    {"92 dd ff ff ff ff dd ff ff ff ff", "values are to come"},
};

START_TEST(a_claim_beyond_the_bytes_is_refused_without_an_allocation)
{
    troupe_error err;
    uint8_t bytes[64];
    const size_t size = bytes_of(refused[_i].bytes, bytes);
    tp_alloc_fail_at(0, 0);
    ck_fails(tp_scan(bytes, size, &err), CORRUPT, refused[_i].says);
    ck_assert_uint_eq(tp_alloc_asked(), 0);
}
END_TEST

/* -- Limits -------------------------------------------------------------------------------- */

START_TEST(values_nest_to_the_limit_and_no_deeper)
{
    troupe_error err;
    uint8_t bytes[TP_SCAN_DEPTH + 2];
    memset(bytes, 0x91, sizeof bytes);
    bytes[TP_SCAN_DEPTH] = 0;
    ck_ok(tp_scan(bytes, TP_SCAN_DEPTH + 1, &err));
    bytes[TP_SCAN_DEPTH] = 0x91;
    bytes[TP_SCAN_DEPTH + 1] = 0;
    ck_fails(tp_scan(bytes, sizeof bytes, &err), CORRUPT, "byte 17: nested deeper than 16");
}
END_TEST

START_TEST(values_come_to_the_limit_and_no_further)
{
    troupe_error err;
    uint8_t bytes[3 + TP_SCAN_VALUES] = {0xdc, (TP_SCAN_VALUES - 1) >> 8,
                                         (TP_SCAN_VALUES - 1) & 0xff};
    ck_ok(tp_scan(bytes, sizeof bytes - 1, &err));
    bytes[1] = TP_SCAN_VALUES >> 8;
    bytes[2] = TP_SCAN_VALUES & 0xff;
    ck_fails(tp_scan(bytes, sizeof bytes, &err), CORRUPT, "more than 4096 values");
}
END_TEST

/* -- msgpack-c as the judge ---------------------------------------------------------------- */

#define ROUNDS 50
#define INPUTS 2000 /* a round */

/* Headers are more likely than they would be, and their counts are small. */
static size_t random_bytes(struct dice *dice, uint8_t *bytes, size_t max)
{
    const size_t size = dice_below(dice, (uint32_t)max + 1);
    for (size_t i = 0; i < size; i++) {
        const uint32_t how = dice_below(dice, 4);
        bytes[i] = (uint8_t)dice_next(dice);
        if (how == 0) bytes[i] = (uint8_t)(0x80 + dice_below(dice, 0x80));
        if (how == 1) bytes[i] = (uint8_t)dice_below(dice, 4);
    }
    return size;
}

/* Where msgpack-c sees the value end; 0: nowhere. It is given only what cannot make it ask for
 * gigabytes: counts of 16 bits. */
static size_t judge(const uint8_t *bytes, size_t size)
{
    msgpack_unpacked value;
    size_t end = 0;
    msgpack_unpacked_init(&value);
    const msgpack_unpack_return got =
        msgpack_unpack_next(&value, (const char *)bytes, size, &end);
    msgpack_unpacked_destroy(&value);
    return got == MSGPACK_UNPACK_SUCCESS || got == MSGPACK_UNPACK_EXTRA_BYTES ? end : 0;
}

/* Its 32 levels are more than ours. */
static bool over_limit(const troupe_error *err)
{
    return strstr(err->text, "deeper") || strstr(err->text, "more than");
}

START_TEST(the_scan_and_msgpack_c_agree_on_where_a_value_ends)
{
    struct dice dice = {(uint64_t)_i};
    troupe_error err;
    uint8_t bytes[48];
    for (int i = 0; i < INPUTS; i++) {
        size_t end = 0;
        const size_t size = random_bytes(&dice, bytes, sizeof bytes);
        for (size_t b = 0; b < size; b++)
            if (bytes[b] == 0xdd || bytes[b] == 0xdf) bytes[b]--;
        if (tp_scan_value(bytes, size, &end, &err) && over_limit(&err)) continue;
        ck_assert_uint_eq(end, judge(bytes, size));
    }
}
END_TEST

/* With counts of 32 bits only what the scan lets through may be given to msgpack-c. */
START_TEST(what_the_scan_lets_through_msgpack_c_takes)
{
    struct dice dice = {(uint64_t)_i + ROUNDS};
    troupe_error err;
    uint8_t bytes[48];
    for (int i = 0; i < INPUTS; i++) {
        size_t end;
        const size_t size = random_bytes(&dice, bytes, sizeof bytes);
        if (!tp_scan_value(bytes, size, &end, &err)) ck_assert_uint_eq(end, judge(bytes, size));
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("messages/scan");
    TCase *t = tcase_create("scan");
    tcase_add_loop_test(t, a_whole_value_ends_at_its_last_byte, 0, TP_COUNT(whole));
    tcase_add_loop_test(t, a_value_that_is_cut_anywhere_is_refused, 0, TP_COUNT(whole));
    tcase_add_loop_test(t, a_claim_beyond_the_bytes_is_refused_without_an_allocation, 0,
                        TP_COUNT(refused));
    tcase_add_test(t, values_nest_to_the_limit_and_no_deeper);
    tcase_add_test(t, values_come_to_the_limit_and_no_further);
    tcase_add_loop_test(t, the_scan_and_msgpack_c_agree_on_where_a_value_ends, 0, ROUNDS);
    tcase_add_loop_test(t, what_the_scan_lets_through_msgpack_c_takes, 0, ROUNDS);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
