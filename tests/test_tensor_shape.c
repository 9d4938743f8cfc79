/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor_shape.c - shapes: counts, broadcasting, what two descriptions have in common, and their text.
 */
#include <stdlib.h>

#include "tensor/tensor.h"
#include "tests/test.h"

/* --- shape -----------------------------------------------------------------------------------
 */

#define ANY  TP_DIM_ANY
#define N(k) TP_DIM_NAMED(k)
#define BIG  (INT64_C(1) << 40)
#define NORANK                                                                                 \
    {                                                                                          \
        TP_RANK_ANY,                                                                           \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }

START_TEST(shapes_are_counted)
{
    static const struct {
        struct tp_shape shape;
        size_t count;
        const char *word; /* of the failure */
    } rows[] = {
        {{0, {0}}, 1, NULL},
        {{1, {7}}, 7, NULL},
        {{3, {2, 3, 4}}, 24, NULL},
        {{3, {2, 0, 4}}, 0, NULL},
        {{2, {0, INT64_MAX}}, 0, NULL},
        {{1, {INT64_MAX}}, (size_t)INT64_MAX, NULL},
        {{8, {1, 2, 1, 2, 1, 2, 1, 2}}, 16, NULL},
        {{2, {BIG, BIG}}, 0, "[1099511627776,1099511627776] has too many elements"},
        {{3, {BIG, 0, BIG}}, 0, "too many elements"},
        {{2, {2, -1}}, 0, "dimension 1 is -1"},
        {{2, {INT64_MIN, 2}}, 0, "dimension 0 is -9223372036854775808"},
        {NORANK, 0, "rank is not known"},
    };
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        size_t count = 99;
        if (rows[i].word) {
            ck_fails(tp_shape_count(&rows[i].shape, &count, &err), INVALID, rows[i].word);
            ck_assert_uint_eq(count, 99);
        } else {
            ck_ok(tp_shape_count(&rows[i].shape, &count, &err));
            ck_assert_uint_eq(count, rows[i].count);
            ck_assert_uint_eq(tp_shape_count_known(&rows[i].shape), count);
        }
    }
}
END_TEST

START_TEST(shapes_are_made_of_dims_in_range)
{
    static const int64_t dims[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bad[2] = {3, -2};
    troupe_error err;
    struct tp_shape shape;
    ck_ok(tp_shape_make(&shape, 8, dims, &err));
    ck_assert_int_eq(shape.dims[7], 8);
    ck_ok(tp_shape_make(&shape, 0, NULL, &err));
    ck_assert_int_eq(shape.rank, 0);
    ck_fails(tp_shape_make(&shape, 9, dims, &err), INVALID, "rank 9 is not in 0 to 8");
    ck_fails(tp_shape_make(&shape, -1, dims, &err), INVALID, "rank -1");
    ck_fails(tp_shape_make(&shape, 2, bad, &err), INVALID, "dimension 1 is -2");
    ck_fails(tp_shape_make(&shape, 2, NULL, &err), INVALID, "without dims");
}
END_TEST

START_TEST(a_shape_is_known_when_all_its_dimensions_are)
{
    static const struct tp_shape known[] = {{0, {0}}, {2, {0, 5}}};
    static const struct tp_shape unknown[] = {NORANK, {1, {ANY}}, {3, {1, 2, N(0)}}};
    for (size_t i = 0; i < TP_COUNT(known); i++)
        ck_assert(tp_shape_known(&known[i]));
    for (size_t i = 0; i < TP_COUNT(unknown); i++)
        ck_assert(!tp_shape_known(&unknown[i]));
}
END_TEST

START_TEST(shapes_are_equal_when_rank_and_dimensions_are)
{
    static const struct tp_shape shapes[] = {
        NORANK,      {0, {0}},   {1, {0}},    {1, {3}},    {2, {3, 1}},
        {2, {1, 3}}, {1, {ANY}}, {1, {N(0)}}, {1, {N(1)}},
    };
    for (size_t i = 0; i < TP_COUNT(shapes); i++) {
        for (size_t k = 0; k < TP_COUNT(shapes); k++) {
            ck_assert_int_eq(tp_shape_equal(&shapes[i], &shapes[k]), i == k);
        }
    }
}
END_TEST

struct pair {
    struct tp_shape a, b;
    const char *text; /* of the result; NULL: a failure that names both */
};

static void check_pair(const struct pair *row,
                       troupe_status (*join)(const struct tp_shape *, const struct tp_shape *,
                                             struct tp_shape *, troupe_error *),
                       const char *word)
{
    troupe_error err;
    struct tp_shape out;
    if (!row->text) {
        ck_fails(join(&row->a, &row->b, &out, &err), INVALID, word);
        ck_assert_ptr_nonnull(strstr(err.text, tp_shape_text(&row->a).text));
        ck_assert_ptr_nonnull(strstr(err.text, tp_shape_text(&row->b).text));
        return;
    }
    ck_ok(join(&row->a, &row->b, &out, &err));
    ck_assert_str_eq(tp_shape_text(&out).text, row->text);
    out = row->a;
    ck_ok(join(&out, &row->b, &out, &err)); /* in place */
    ck_assert_str_eq(tp_shape_text(&out).text, row->text);
    out = row->b;
    ck_ok(join(&row->a, &out, &out, &err));
    ck_assert_str_eq(tp_shape_text(&out).text, row->text);
}

static struct pair turned(struct pair row)
{
    return (struct pair){row.b, row.a, row.text};
}

START_TEST(shapes_broadcast)
{
    static const struct pair rows[] = {
        {{0, {0}}, {0, {0}}, "[]"},
        {{0, {0}}, {2, {2, 3}}, "[2,3]"},
        {{1, {3}}, {2, {2, 3}}, "[2,3]"},
        {{1, {1}}, {2, {2, 3}}, "[2,3]"},
        {{2, {2, 1}}, {2, {1, 3}}, "[2,3]"},
        {{3, {4, 1, 3}}, {2, {2, 1}}, "[4,2,3]"},
        {{1, {0}}, {1, {1}}, "[0]"},
        {{2, {0, 3}}, {1, {1}}, "[0,3]"},
        {{1, {0}}, {1, {2}}, NULL},
        {{1, {2}}, {1, {3}}, NULL},
        {{2, {2, 3}}, {1, {4}}, NULL},
        {{2, {2, 3}}, {2, {3, 2}}, NULL},
        {NORANK, {1, {2}}, "[...]"},
        {NORANK, NORANK, "[...]"},
        {{1, {ANY}}, {1, {ANY}}, "[?]"},
        {{1, {ANY}}, {1, {1}}, "[?]"},
        {{1, {ANY}}, {0, {0}}, "[?]"},
        {{1, {ANY}}, {1, {5}}, "[5]"},
        {{1, {ANY}}, {1, {0}}, "[0]"},
        {{1, {N(0)}}, {1, {N(0)}}, "[d0]"},
        {{1, {N(0)}}, {1, {1}}, "[d0]"},
        {{1, {N(0)}}, {1, {5}}, "[5]"},
        {{1, {N(0)}}, {1, {N(1)}}, "[?]"},
        {{1, {N(0)}}, {1, {ANY}}, "[?]"},
        {{2, {N(3), 7}}, {1, {ANY}}, "[d3,7]"},
        {{2, {ANY, 3}}, {2, {2, 4}}, NULL},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct pair other = turned(rows[i]);
        check_pair(&rows[i], tp_shape_broadcast, "do not broadcast");
        check_pair(&other, tp_shape_broadcast, "do not broadcast");
    }
}
END_TEST

START_TEST(two_descriptions_of_a_shape_meet)
{
    static const struct pair rows[] = {
        {NORANK, NORANK, "[...]"},
        {NORANK, {0, {0}}, "[]"},
        {NORANK, {2, {ANY, 3}}, "[?,3]"},
        {{2, {2, 3}}, {2, {2, 3}}, "[2,3]"},
        {{2, {ANY, 3}}, {2, {2, ANY}}, "[2,3]"},
        {{1, {N(0)}}, {1, {ANY}}, "[d0]"},
        {{1, {N(0)}}, {1, {4}}, "[4]"},
        {{1, {N(1)}}, {1, {N(1)}}, "[d1]"},
        {{1, {0}}, {1, {ANY}}, "[0]"},
        {{1, {1}}, {1, {2}}, NULL},
        {{1, {1}}, {2, {1, 1}}, NULL},
        {{0, {0}}, {1, {ANY}}, NULL},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        const struct pair other = turned(rows[i]);
        check_pair(&rows[i], tp_shape_meet, "contradict");
        check_pair(&other, tp_shape_meet, "contradict");
    }
}
END_TEST

START_TEST(of_two_names_the_first_is_kept)
{
    troupe_error err;
    const struct tp_shape a = {1, {N(2)}}, b = {1, {N(4)}};
    struct tp_shape out;
    ck_ok(tp_shape_meet(&a, &b, &out, &err));
    ck_assert_str_eq(tp_shape_text(&out).text, "[d2]");
}
END_TEST

START_TEST(a_type_shows_as_much_as_fits)
{
    static const char *const names[] = {"n", "batch"};
    const struct tp_type type = {TROUPE_BF16, {4, {2, N(1), ANY, N(0)}}};
    const char whole[] = "bf16[2,batch,?,n]";
    char text[32];
    for (size_t size = 0; size < sizeof(text); size++) {
        memset(text, 'x', sizeof(text));
        ck_assert_uint_eq(tp_type_show(&type, names, text, size), sizeof(whole) - 1);
        if (size == 0) continue;
        ck_assert_uint_eq(strlen(text), size < sizeof(whole) ? size - 1 : sizeof(whole) - 1);
        ck_assert_int_eq(strncmp(text, whole, strlen(text)), 0);
        for (size_t k = size; k < sizeof(text); k++)
            ck_assert_int_eq(text[k], 'x');
    }
    ck_assert_uint_eq(tp_type_show(&type, names, NULL, 0), sizeof(whole) - 1);
    ck_assert_uint_eq(tp_shape_show(&type.shape, names, NULL, 0), sizeof(whole) - 5);
}
END_TEST

START_TEST(the_longest_shape_has_room_in_a_text)
{
    struct tp_type type = {TROUPE_STRING, {8, {0}}};
    for (int i = 0; i < 8; i++)
        type.shape.dims[i] = INT64_MAX;
    const struct tp_shape_text text = tp_type_text(&type);
    ck_assert_int_eq(text.text[strlen(text.text) - 1], ']');
    type.dtype = (troupe_dtype)77;
    ck_assert_int_eq(tp_type_text(&type).text[0], '?');
}
END_TEST

static TCase *shape_case(void)
{
    TCase *t = tcase_create("shape");
    tcase_add_test(t, shapes_are_counted);
    tcase_add_test(t, shapes_are_made_of_dims_in_range);
    tcase_add_test(t, a_shape_is_known_when_all_its_dimensions_are);
    tcase_add_test(t, shapes_are_equal_when_rank_and_dimensions_are);
    tcase_add_test(t, shapes_broadcast);
    tcase_add_test(t, two_descriptions_of_a_shape_meet);
    tcase_add_test(t, of_two_names_the_first_is_kept);
    tcase_add_test(t, a_type_shows_as_much_as_fits);
    tcase_add_test(t, the_longest_shape_has_room_in_a_text);
    return t;
}

int main(void)
{
    Suite *s = suite_create("tensor/shape");
    suite_add_tcase(s, shape_case());
    return test_run(s);
}
