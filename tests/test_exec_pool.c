/* SPDX-License-Identifier: MIT
 *
 * tests/test_exec_pool.c - a device's memory: limit, peak, failing on demand, and spares that come
 * back from any thread.
 */
#include <pthread.h>
#include <stdint.h>

#include "exec/device.h"
#include "tests/rehearsal.h"

#define KEPT 64 /* spares of one kind that stay */

static struct tp_pool *pool_of(size_t limit)
{
    troupe_error err;
    struct tp_pool *pool;
    ck_ok(tp_pool_new(&pool, "cpu:7", limit, &err));
    return pool;
}

static const struct tp_type eight = {.dtype = TROUPE_F32, .shape = {.rank = 1, .dims = {8}}};
static const struct tp_type four_by_two = {.dtype = TROUPE_I32,
                                           .shape = {.rank = 2, .dims = {4, 2}}};
static const struct tp_type texts = {.dtype = TROUPE_STRING, .shape = {.rank = 1, .dims = {2}}};

/* -- Figures
 * -------------------------------------------------------------------------------------- */

START_TEST(a_pool_counts_what_is_out_and_what_was_out_at_most)
{
    troupe_error err;
    struct tp_pool *pool = pool_of(0);
    void *a, *b;
    ck_ok(tp_pool_take(pool, 1000, &a, &err));
    ck_ok(tp_pool_take(pool, 500, &b, &err));
    ck_assert_uint_eq((uintptr_t)a % 64, 0);
    ck_assert_uint_eq((uintptr_t)b % 64, 0);
    ck_assert_uint_eq(tp_pool_figures(pool).used, 1500);
    tp_pool_give(pool, a, 1000);
    ck_assert_uint_eq(tp_pool_figures(pool).used, 500);
    ck_assert_uint_eq(tp_pool_figures(pool).peak, 1500);
    ck_ok(tp_pool_take(pool, 0, &a, &err));
    ck_assert_ptr_nonnull(a);
    tp_pool_give(pool, a, 0);
    tp_pool_give(pool, b, 500);
    ck_assert_uint_eq(tp_pool_figures(pool).used, 0);
    tp_pool_release(&pool);
    ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(over_its_limit_a_pool_refuses_with_figures)
{
    troupe_error err;
    struct tp_pool *pool = pool_of(1000);
    void *a, *b;
    ck_ok(tp_pool_take(pool, 600, &a, &err));
    ck_fails(tp_pool_take(pool, 401, &b, &err), EXHAUSTED,
             "cpu:7: 401 bytes are over its memory limit of 1000 bytes (600 in use, peak 600)");
    ck_fails(tp_pool_take(pool, SIZE_MAX, &b, &err), EXHAUSTED, "1000 bytes");
    ck_ok(tp_pool_take(pool, 400, &b, &err));
    ck_assert_uint_eq(tp_pool_figures(pool).limit, 1000);
    ck_assert_uint_eq(tp_pool_figures(pool).used, 1000);
    tp_pool_give(pool, a, 600);
    tp_pool_give(pool, b, 400);
    tp_pool_release(&pool);
}
END_TEST

START_TEST(a_refusal_names_the_accounts_that_hold_most)
{
    static const struct {
        const char *name;
        size_t size;
    } rows[] = {{"a", 100}, {"b", 300}, {"c", 0}, {"d", 100}, {"b", 200}, {"e", 50}};
    troupe_error err;
    struct tp_pool *pool = pool_of(1000), *accounts[TP_COUNT(rows)];
    void *memory[TP_COUNT(rows)], *more;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        ck_ok(tp_pool_account(&accounts[i], pool, rows[i].name, &err));
        ck_ok(tp_pool_take(accounts[i], rows[i].size, &memory[i], &err));
        ck_assert_uint_eq(tp_pool_figures(accounts[i]).used, rows[i].size);
    }
    ck_fails(tp_pool_take(accounts[2], 251, &more, &err), EXHAUSTED,
             "cpu:7: 251 bytes are over its memory limit of 1000 bytes (750 in use, peak 750; "
             "'b' holds 300, 'b' 200, 'a' 100)");
    tp_pool_give(accounts[1], memory[1], 300);
    tp_pool_release(&accounts[1]);
    ck_fails(tp_pool_take(accounts[2], 601, &more, &err), EXHAUSTED,
             "(450 in use, peak 750; 'b' holds 200, 'a' 100, 'd' 100)");
    ck_ok(tp_pool_take(accounts[2], 550, &more, &err));
    tp_pool_give(accounts[2], more, 550);
    tp_pool_release(&pool); /* they keep it */
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        if (i != 1) tp_pool_give(accounts[i], memory[i], rows[i].size);
        tp_pool_release(&accounts[i]);
    }
}
END_TEST

START_TEST(a_pool_fails_the_take_that_it_was_told_to_and_no_other)
{
    troupe_error err;
    struct tp_pool *pool = pool_of(0);
    void *memory;
    for (uint64_t n = 1; n < 5; n++) {
        tp_pool_fail_at(pool, n);
        for (uint64_t i = 1; i < 8; i++) {
            if (i == n) {
                ck_fails(tp_pool_take(pool, 10, &memory, &err), EXHAUSTED, "made to fail");
                continue;
            }
            ck_ok(tp_pool_take(pool, 10, &memory, &err));
            tp_pool_give(pool, memory, 10);
        }
    }
    ck_assert_uint_eq(tp_pool_figures(pool).used, 0);
    tp_pool_release(&pool);
}
END_TEST

/* -- Tensors
 * -------------------------------------------------------------------------------------- */

START_TEST(a_tensor_outlives_its_pools_device)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    struct tp_pool *pool = pool_of(0);
    troupe_tensor *tensor, *text;
    ck_ok(tp_pool_tensor(pool, &eight, &tensor, &err));
    ck_ok(tp_pool_tensor(pool, &texts, &text, &err));
    tp_pool_release(&pool);
    memset(tensor->data, 1, 32);
    ck_assert_uint_eq((uintptr_t)tensor->data % 64, 0);
    ck_assert_uint_ge(text->buffer->size, 4096 + 2 * sizeof(struct tp_string));
    troupe_tensor_release(&tensor);
    troupe_tensor_release(&text);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_tensor_may_change_its_type_only_while_nobody_else_has_it)
{
    troupe_error err;
    struct tp_pool *pool = pool_of(0);
    troupe_tensor *tensor, *view, *foreign = value_of("f32[8] [1, 2, 3, 4, 5, 6, 7, 8]");
    ck_ok(tp_pool_tensor(pool, &eight, &tensor, &err));
    troupe_tensor_retain(tensor);
    ck_assert(!tp_pool_retype(tensor, &four_by_two));
    troupe_tensor *same = tensor;
    troupe_tensor_release(&same);
    ck_ok(troupe_tensor_reshape(&view, tensor, 2, (const int64_t[]){2, 4}, &err));
    ck_assert(!tp_pool_retype(tensor, &four_by_two));
    troupe_tensor_release(&view);
    ck_assert(tp_pool_retype(tensor, &four_by_two));
    ck_assert_int_eq(troupe_tensor_rank(tensor), 2);
    ck_assert_int_eq(troupe_tensor_dtype(tensor), TROUPE_I32);
    ck_assert(!tp_pool_retype(foreign, &four_by_two));
    troupe_tensor_release(&foreign);
    troupe_tensor_release(&tensor);
    tp_pool_release(&pool);
}
END_TEST

/* -- Spares
 * -------------------------------------------------------------------------------------- */

START_TEST(a_spare_that_came_back_is_given_out_again_with_its_own_type)
{
    troupe_error err;
    struct tp_pool *pool = pool_of(0);
    struct tp_spares *spares;
    troupe_tensor *a, *b, *view;
    ck_ok(tp_spares_new(&spares, pool, &eight, &err));
    ck_ok(tp_spares_take(spares, &a, &err));
    const void *data = troupe_tensor_data(a);
    ck_assert(tp_pool_retype(a, &four_by_two));
    troupe_tensor_release(&a);
    ck_ok(tp_spares_take(spares, &b, &err));
    ck_assert_ptr_eq(troupe_tensor_data(b), data);
    ck_assert_int_eq(troupe_tensor_dtype(b), TROUPE_F32);
    ck_assert_int_eq(troupe_tensor_rank(b), 1);
    ck_assert_uint_eq(troupe_tensor_count(b), 8);
    ck_ok(troupe_tensor_reshape(&view, b, 2, (const int64_t[]){4, 2}, &err));
    troupe_tensor_release(&b);
    ck_ok(tp_spares_take(spares, &a, &err)); /* the view still holds the other one's memory */
    ck_assert_ptr_ne(troupe_tensor_data(a), data);
    troupe_tensor_release(&view);
    troupe_tensor_release(&a);
    tp_spares_close(&spares);
    ck_assert_uint_eq(tp_pool_figures(pool).used, 0);
    tp_pool_release(&pool);
}
END_TEST

START_TEST(spares_that_are_closed_with_tensors_out_are_freed_by_the_last_of_them)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (int out = 0; out <= 4; out++) {
        struct tp_pool *pool = pool_of(0);
        struct tp_spares *spares;
        troupe_tensor *tensors[4];
        ck_ok(tp_spares_new(&spares, pool, &eight, &err));
        for (int i = 0; i < 4; i++)
            ck_ok(tp_spares_take(spares, &tensors[i], &err));
        for (int i = out; i < 4; i++)
            troupe_tensor_release(&tensors[i]);
        tp_spares_close(&spares);
        ck_assert_ptr_null(spares);
        tp_pool_release(&pool);
        for (int i = 0; i < out; i++)
            troupe_tensor_release(&tensors[i]);
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    }
}
END_TEST

START_TEST(of_very_many_spares_only_some_are_kept)
{
    troupe_error err;
    struct tp_pool *pool = pool_of(0);
    struct tp_spares *spares;
    static troupe_tensor *tensors[500];
    ck_ok(tp_spares_new(&spares, pool, &eight, &err));
    for (int i = 0; i < 500; i++)
        ck_ok(tp_spares_take(spares, &tensors[i], &err));
    const size_t one = tp_pool_figures(pool).used / 500;
    for (int i = 0; i < 500; i++)
        troupe_tensor_release(&tensors[i]);
    ck_ok(tp_spares_take(spares, &tensors[0], &err));
    ck_assert_uint_le(tp_pool_figures(pool).used, (KEPT + 1) * one);
    troupe_tensor_release(&tensors[0]);
    tp_spares_close(&spares);
    ck_assert_uint_eq(tp_pool_figures(pool).used, 0);
    tp_pool_release(&pool);
}
END_TEST

#define HANDS 1000
struct belt {
    _Atomic(troupe_tensor *) slots[8];
    atomic_bool stop;
};

static void *release_all(void *arg)
{
    struct belt *belt = arg;
    while (!atomic_load(&belt->stop))
        for (int i = 0; i < 8; i++) {
            troupe_tensor *tensor = atomic_exchange(&belt->slots[i], NULL);
            troupe_tensor_release(&tensor);
        }
    return NULL;
}

/* Two threads release what this one takes; the spares close while some are out. */
START_TEST(spares_come_back_from_other_threads)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (int round = 0; round < 20; round++) {
        struct belt belt;
        pthread_t threads[2];
        memset(&belt, 0, sizeof(belt));
        struct tp_pool *pool = pool_of(0);
        struct tp_spares *spares;
        ck_ok(tp_spares_new(&spares, pool, &eight, &err));
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, release_all, &belt), 0);
        for (int i = 0; i < HANDS; i++) {
            troupe_tensor *tensor, *old;
            ck_ok(tp_spares_take(spares, &tensor, &err));
            memset(tensor->data, i, 32);
            old = atomic_exchange(&belt.slots[i % 8], tensor);
            troupe_tensor_release(&old);
        }
        tp_spares_close(&spares);
        tp_pool_release(&pool);
        atomic_store(&belt.stop, true);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < 8; i++) {
            troupe_tensor *left = atomic_load(&belt.slots[i]);
            troupe_tensor_release(&left);
        }
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    }
}
END_TEST

static troupe_status fill_pool(troupe_error *err)
{
    struct tp_pool *pool = NULL;
    struct tp_spares *spares = NULL;
    troupe_tensor *a = NULL, *b = NULL;
    troupe_status status = tp_pool_new(&pool, "cpu:0", 0, err);
    if (!status) status = tp_spares_new(&spares, pool, &eight, err);
    if (!status) status = tp_spares_take(spares, &a, err);
    if (!status) status = tp_pool_tensor(pool, &texts, &b, err);
    troupe_tensor_release(&a);
    troupe_tensor_release(&b);
    tp_spares_close(&spares);
    tp_pool_release(&pool);
    return status;
}

START_TEST(a_pool_without_memory_fails_and_leaks_nothing)
{
    troupe_error err;
    ck_starve(fill_pool(&err));
}
END_TEST

/* -- Devices
 * -------------------------------------------------------------------------------------- */

static const struct {
    const char *list;
    troupe_status status;
    const char *word;
} lists[] = {
    {"cpu:0", TROUPE_OK, ""},
    {"cpu:0,cpu:1", TROUPE_OK, ""},
    {"cpu:0(threads=2,memory=512M),cpu:1(threads=1)", TROUPE_OK, ""},
    {"cpu:0(permits=3)", TROUPE_OK, ""},
    {"", TROUPE_INVALID, ""},
    {",", TROUPE_INVALID, ""},
    {"cpu:0,", TROUPE_INVALID, ""},
    {"cpu:0,cpu:0", TROUPE_INVALID, "cpu:0"},
    {"cpu:0(", TROUPE_INVALID, "the parenthesis at column 6 is not closed"},
    {"cpu:0()x", TROUPE_INVALID, "'x' at column 8 is too much"},
    {"cpu:1, cpu:0(threads=1)x", TROUPE_INVALID,
     "device 'cpu:0(threads=1)x': 'x' at column 17 is too much"},
    {"cpu:0(threads=0)", TROUPE_INVALID, "threads"},
    {"cpu:0(threads=-1)", TROUPE_INVALID, "threads"},
    {"cpu:0(threads=99999999999999999999)", TROUPE_INVALID, "threads"},
    {"cpu:0(memory=1Q)", TROUPE_INVALID, "memory=1Q is not a number above 0"},
    {"cpu:0(memory=99999999999999999999G)", TROUPE_INVALID,
     "memory=99999999999999999999G is over "},
    {"cpu:0(memory=17179869184G)", TROUPE_INVALID, "memory=17179869184G is over "},
    {"cpu:0(memory=G)", TROUPE_INVALID, "memory=G is not a number above 0"},
    {"cpu:0(colour=red)", TROUPE_INVALID, "colour"},
    {"cpu:0(threads=1,threads=2)", TROUPE_INVALID, "threads"},
    {"cpu", TROUPE_INVALID, ""},
    {"cpu:*", TROUPE_INVALID, ""},
    {"gpu:0", TROUPE_NOT_FOUND, "gpu"},
};

START_TEST(a_device_list_is_read_or_refused_as_it_should)
{
    troupe_error err = {0};
    struct tp_device_wish *wishes = NULL;
    size_t n = 0;
    troupe_status status = tp_devices_read(lists[_i].list, &wishes, &n, &err);
    ck_assert_msg(status == lists[_i].status, "'%s': %s: %s", lists[_i].list,
                  troupe_status_name(status), err.text);
    ck_assert_msg(strstr(err.text, lists[_i].word) != NULL, "'%s': %s", lists[_i].list,
                  err.text);
    tp_free(wishes);
}
END_TEST

START_TEST(a_damaged_device_list_never_harms)
{
    static const char good[] = "cpu:0(threads=2,memory=512M),/job:local/task:0/device:cpu:1";
    char bad[sizeof(good)];
    for (size_t at = 0; at + 1 < sizeof(good); at++) {
        for (int c = 1; c < 128; c++) {
            troupe_error err = {0};
            struct tp_device_wish *wishes = NULL;
            size_t n;
            memcpy(bad, good, sizeof(good));
            bad[at] = (char)c;
            troupe_status status = tp_devices_read(bad, &wishes, &n, &err);
            ck_assert(status == TROUPE_OK || status == TROUPE_INVALID ||
                      status == TROUPE_NOT_FOUND);
            tp_free(wishes);
        }
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("exec/pool");
    TCase *figures = tcase_create("figures"), *tensors = tcase_create("tensors"),
          *spares = tcase_create("spares"), *devices = tcase_create("devices");
    tcase_add_test(figures, a_pool_counts_what_is_out_and_what_was_out_at_most);
    tcase_add_test(figures, over_its_limit_a_pool_refuses_with_figures);
    tcase_add_test(figures, a_refusal_names_the_accounts_that_hold_most);
    tcase_add_test(figures, a_pool_fails_the_take_that_it_was_told_to_and_no_other);
    tcase_add_test(figures, a_pool_without_memory_fails_and_leaks_nothing);
    tcase_add_test(tensors, a_tensor_outlives_its_pools_device);
    tcase_add_test(tensors, a_tensor_may_change_its_type_only_while_nobody_else_has_it);
    tcase_add_test(spares, a_spare_that_came_back_is_given_out_again_with_its_own_type);
    tcase_add_test(spares,
                   spares_that_are_closed_with_tensors_out_are_freed_by_the_last_of_them);
    tcase_add_test(spares, of_very_many_spares_only_some_are_kept);
    tcase_add_test(spares, spares_come_back_from_other_threads);
    tcase_add_loop_test(devices, a_device_list_is_read_or_refused_as_it_should, 0,
                        (int)TP_COUNT(lists));
    tcase_add_test(devices, a_damaged_device_list_never_harms);
    suite_add_tcase(s, figures);
    suite_add_tcase(s, tensors);
    suite_add_tcase(s, spares);
    suite_add_tcase(s, devices);
    return s;
}

int main(void)
{
    return test_run(suite());
}
