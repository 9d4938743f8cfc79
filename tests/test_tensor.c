/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor.c - buffers, and tensors in memory.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "tensor/tensor.h"
#include "tests/test.h"

#define BIG (INT64_C(1) << 40)

/* --- tensor ----------------------------------------------------------------------------------
 */

static const int64_t dims23[2] = {2, 3};

START_TEST(a_tensor_has_a_copy_of_its_elements)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    float data[6] = {1, 2, 3, 4, 5, 6};
    ck_ok(troupe_tensor_new(&tensor, TROUPE_F32, 2, dims23, data, &err));
    data[0] = 9;
    const float *mine = troupe_tensor_data(tensor);
    ck_assert_float_eq(mine[0], 1);
    ck_assert_float_eq(mine[5], 6);
    ck_assert_uint_eq((uintptr_t)mine % 64, 0);
    ck_assert_int_eq(troupe_tensor_dtype(tensor), TROUPE_F32);
    ck_assert_int_eq(troupe_tensor_rank(tensor), 2);
    ck_assert_int_eq(troupe_tensor_dims(tensor)[1], 3);
    ck_assert_uint_eq(troupe_tensor_count(tensor), 6);
    ck_assert_uint_eq(troupe_tensor_size(tensor), 24);
    ck_assert_ptr_null(troupe_tensor_string(tensor, 0, NULL));
}
END_TEST

START_TEST(a_tensor_without_data_is_all_zeros)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *scalar = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *wide = NULL;
    ck_ok(troupe_tensor_new(&scalar, TROUPE_I64, 0, NULL, NULL, &err));
    ck_ok(troupe_tensor_new(&wide, TROUPE_BOOL, 2, dims23, NULL, &err));
    ck_assert_uint_eq(troupe_tensor_count(scalar), 1);
    ck_assert_int_eq(tp_tensor_int(scalar, 0), 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(((const char *)troupe_tensor_data(wide))[i], 0);
}
END_TEST

START_TEST(a_tensor_may_have_no_elements)
{
    troupe_error err;
    const int64_t dims[3] = {2, 0, 3};
    TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *c = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *s = NULL;
    ck_ok(troupe_tensor_new(&a, TROUPE_F64, 3, dims, NULL, &err));
    ck_ok(troupe_tensor_new(&b, TROUPE_F64, 3, dims, "", &err));
    ck_ok(troupe_tensor_take(&c, TROUPE_F64, 3, dims, NULL, NULL, NULL, &err));
    ck_ok(troupe_tensor_new_strings(&s, 3, dims, NULL, NULL, &err));
    ck_assert_uint_eq(troupe_tensor_size(a), 0);
    ck_assert_uint_eq(troupe_tensor_size(s), 0);
    ck_assert(troupe_tensor_equal(a, b));
    ck_assert(troupe_tensor_equal(a, c));
    ck_assert_uint_eq(tp_tensor_hash(a), tp_tensor_hash(c));
    ck_assert(!troupe_tensor_equal(a, s));
    ck_assert_ptr_null(troupe_tensor_string(s, 0, NULL));
}
END_TEST

START_TEST(wrong_arguments_make_no_tensor)
{
    static const struct {
        troupe_dtype dtype;
        int rank;
        int64_t dims[9];
        const char *word;
    } rows[] = {
        {TROUPE_F32, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "rank 9"},
        {TROUPE_F32, -1, {1}, "rank -1"},
        {TROUPE_F32, 2, {2, -3}, "dimension 1 is -3"},
        {TROUPE_F32, 2, {BIG, BIG}, "too many elements"},
        {TROUPE_F64, 1, {INT64_MAX}, "f64[9223372036854775807] has too many bytes"},
        {TROUPE_I16, 2, {BIG, BIG >> 18}, "too many bytes"},
        {TROUPE_DTYPE_NONE, 1, {2}, "0 is not an element type"},
        {(troupe_dtype)200, 1, {2}, "200 is not an element type"},
        {TROUPE_STRING, 1, {2}, "strings"},
    };
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        troupe_tensor *tensor = NULL;
        ck_fails(
            troupe_tensor_new(&tensor, rows[i].dtype, rows[i].rank, rows[i].dims, NULL, &err),
            INVALID, rows[i].word);
        ck_fails(troupe_tensor_take(&tensor, rows[i].dtype, rows[i].rank, rows[i].dims,
                                    (void *)(uintptr_t)64, NULL, NULL, &err),
                 INVALID, rows[i].word);
        ck_assert_ptr_null(tensor);
        ck_assert_int_eq(
            troupe_tensor_new(&tensor, rows[i].dtype, rows[i].rank, rows[i].dims, NULL, NULL),
            TROUPE_INVALID);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_bool_that_is_neither_0_nor_1_is_refused)
{
    troupe_error err;
    troupe_tensor *tensor = NULL;
    uint8_t data[6] = {0, 1, 0, 1, 1, 2};
    ck_fails(troupe_tensor_new(&tensor, TROUPE_BOOL, 2, dims23, data, &err), INVALID,
             "bool element 5 is 2");
    ck_fails(troupe_tensor_take(&tensor, TROUPE_BOOL, 2, dims23, data, NULL, NULL, &err),
             INVALID, "bool element 5 is 2");
    ck_assert_ptr_null(tensor);
}
END_TEST

struct taken {
    int calls;
    void *data;
};

static void free_taken(void *arg, void *data)
{
    struct taken *taken = arg;
    taken->calls++;
    taken->data = data;
}

START_TEST(taken_memory_is_not_copied_and_freed_once_by_the_last_owner)
{
    troupe_error err;
    troupe_tensor *tensor = NULL, *view = NULL;
    struct taken taken = {0};
    float data[6] = {1, 2, 3, 4, 5, 6};
    ck_ok(troupe_tensor_take(&tensor, TROUPE_F32, 2, dims23, data, free_taken, &taken, &err));
    ck_assert_ptr_eq(troupe_tensor_data(tensor), data);
    troupe_tensor *second = troupe_tensor_retain(tensor);
    ck_assert_ptr_eq(second, tensor);
    ck_ok(troupe_tensor_reshape(&view, tensor, 1, (const int64_t[]){6}, &err));
    troupe_tensor_release(&tensor);
    ck_assert_ptr_null(tensor);
    troupe_tensor_release(&second);
    ck_assert_int_eq(taken.calls, 0);
    troupe_tensor_release(&view);
    troupe_tensor_release(&view);
    ck_assert_int_eq(taken.calls, 1);
    ck_assert_ptr_eq(taken.data, data);
}
END_TEST

START_TEST(memory_that_is_not_taken_stays_the_callers)
{
    troupe_error err;
    troupe_tensor *tensor = NULL;
    struct taken taken = {0};
    double data[7] = {0};
    ck_fails(troupe_tensor_take(&tensor, TROUPE_F64, 2, dims23, (char *)data + 4, free_taken,
                                &taken, &err),
             INVALID, "not aligned to 8 bytes");
    ck_fails(troupe_tensor_take(&tensor, TROUPE_F64, 2, dims23, NULL, free_taken, &taken, &err),
             INVALID, "f64[2,3] over no memory");
    ck_starve(
        troupe_tensor_take(&tensor, TROUPE_F64, 2, dims23, data, free_taken, &taken, &err));
    ck_assert_int_eq(taken.calls, 0);
    troupe_tensor_release(&tensor);
    ck_assert_int_eq(taken.calls, 1);
}
END_TEST

START_TEST(a_reshape_shares_the_elements)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
    ck_ok(troupe_tensor_new(&a, TROUPE_I32, 2, dims23, NULL, &err));
    ck_ok(troupe_tensor_reshape(&b, a, 3, (const int64_t[]){3, 1, 2}, &err));
    ck_assert_ptr_eq(troupe_tensor_data(a), troupe_tensor_data(b));
    ck_assert_int_eq(troupe_tensor_rank(b), 3);
    ck_assert(!troupe_tensor_equal(a, b));
    troupe_tensor *none = NULL;
    ck_fails(troupe_tensor_reshape(&none, a, 1, (const int64_t[]){7}, &err), INVALID,
             "i32[2,3] does not reshape to [7]");
    ck_fails(troupe_tensor_reshape(&none, a, 1, (const int64_t[]){-1}, &err), INVALID,
             "dimension 0 is -1");
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(strings_are_copied_with_their_sizes)
{
    static const char *const texts[4] = {"one", "", "a\0b", "\xff\xfe"};
    static const size_t sizes[4] = {3, 0, 3, 2};
    troupe_error err;
    size_t size;
    TP_OWNED(troupe_tensor_release) troupe_tensor *t = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *plain = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *flat = NULL;
    ck_ok(troupe_tensor_new_strings(&t, 2, (const int64_t[]){2, 2}, texts, sizes, &err));
    ck_ok(troupe_tensor_new_strings(&plain, 2, (const int64_t[]){2, 2}, texts, NULL, &err));
    ck_ok(troupe_tensor_reshape(&flat, t, 1, (const int64_t[]){4}, &err));
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(memcmp(troupe_tensor_string(t, i, &size), texts[i], sizes[i] + 1), 0);
        ck_assert_uint_eq(size, sizes[i]);
        ck_assert_ptr_eq(troupe_tensor_string(t, i, NULL), troupe_tensor_string(flat, i, NULL));
    }
    ck_assert_ptr_null(troupe_tensor_string(t, 4, &size));
    ck_assert_ptr_null(troupe_tensor_data(t));
    ck_assert_uint_eq(troupe_tensor_size(t), 8);
    ck_assert_uint_eq(troupe_tensor_size(plain), 6);
    ck_assert_str_eq(troupe_tensor_string(plain, 2, &size), "a");
    ck_assert_uint_eq(size, 1);
}
END_TEST

START_TEST(strings_that_are_not_there_are_refused)
{
    static const char *const texts[2] = {"one", NULL};
    static const size_t sizes[2] = {3, SIZE_MAX - 4};
    static const char *const two[2] = {"one", "two"};
    troupe_error err;
    troupe_tensor *t = NULL;
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){2}, texts, NULL, &err), INVALID,
             "string 1 is NULL");
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){2}, NULL, NULL, &err), INVALID,
             "2 strings without texts");
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){2}, two, sizes, &err), INVALID,
             "string 1: too many bytes");
    ck_fails(troupe_tensor_new_strings(&t, 1, (const int64_t[]){INT64_MAX}, two, sizes, &err),
             INVALID, "too many bytes");
    ck_assert_ptr_null(t);
}
END_TEST

static troupe_status build_strings(troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(tp_strings_fini) struct tp_strings strings = {0};
    const struct tp_shape shape = {1, {3}};
    TP_TRY(tp_strings_init(&strings, 3, err));
    for (int i = 0; i < 3; i++) {
        if (i != 1) tp_text_add(&strings.bytes, "number %d", i);
        TP_TRY(tp_strings_end(&strings, err));
    }
    return tp_strings_take(&strings, &shape, out, err);
}

START_TEST(strings_are_built_one_by_one)
{
    static const char *const texts[3] = {"number 0", "", "number 2"};
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *built = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *want = NULL;
    ck_starve(build_strings(&built, &err));
    ck_ok(troupe_tensor_new_strings(&want, 1, (const int64_t[]){3}, texts, NULL, &err));
    ck_assert(troupe_tensor_equal(built, want));
}
END_TEST

START_TEST(without_memory_a_constructor_fails_and_leaks_nothing)
{
    static const char *const texts[6] = {"a", "b", "c", "d", "e", "f"};
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    const struct tp_type type = {TROUPE_U16, {1, {5}}};
    troupe_tensor *t = NULL, *s = NULL, *r = NULL, *u = NULL;
    ck_starve(troupe_tensor_new(&t, TROUPE_I8, 2, dims23, "abcdef", &err));
    ck_starve(troupe_tensor_new_strings(&s, 2, dims23, texts, NULL, &err));
    ck_starve(troupe_tensor_reshape(&r, s, 1, (const int64_t[]){6}, &err));
    ck_starve(tp_tensor_new_unset(&u, &type, &err));
    ck_assert_int_eq(((const char *)troupe_tensor_data(t))[5], 'f');
    troupe_tensor_release(&t);
    troupe_tensor_release(&s);
    ck_assert_str_eq(troupe_tensor_string(r, 5, NULL), "f");
    troupe_tensor_release(&r);
    troupe_tensor_release(&u);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(equal_tensors_are_equal_byte_for_byte_and_hash_alike)
{
    static const char *const texts[] = {
        "f32[2] [1, 2]",
        "f32[2] [1, 3]",
        "f32[2] [nan, 2]",
        "f32[2] [0, 2]",
        "f32[2] [-0, 2]",
        "i32[2] [1, 2]",
        "f32[2,1] [[1], [2]]",
        "f32[1,2] [[1, 2]]",
        "f32[] 1",
        "string[2] [\"ab\", \"c\"]",
        "string[2] [\"a\", \"bc\"]",
        "string[] \"abc\"",
        "f32[0] []",
        "f32[0,1] []",
        "u8[] 1",
        "bool[] true",
        "i8[] 1",
    };
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(texts); i++) {
        for (size_t k = 0; k < TP_COUNT(texts); k++) {
            TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
            TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
            ck_ok(troupe_tensor_parse(&a, texts[i], &err));
            ck_ok(troupe_tensor_parse(&b, texts[k], &err));
            ck_assert_int_eq(troupe_tensor_equal(a, b), i == k);
            ck_assert_int_eq(tp_tensor_hash(a) == tp_tensor_hash(b), i == k);
        }
    }
}
END_TEST

static void note_recycled(troupe_tensor *tensor)
{
    struct taken *taken = tensor->owner;
    taken->calls++;
    taken->data = tensor;
}

START_TEST(a_tensor_of_a_pool_goes_back_to_it)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    struct taken taken = {0};
    troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_new(&tensor, TROUPE_F32, 2, dims23, NULL, &err));
    troupe_tensor *same = tensor;
    tensor->recycle = note_recycled;
    tensor->owner = &taken;
    troupe_tensor_release(&tensor);
    ck_assert_int_eq(taken.calls, 1);
    ck_assert_ptr_eq(taken.data, same);
    ck_assert_ptr_null(same->buffer);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces + 1); /* the struct, which the pool keeps */
    tp_free(same);
}
END_TEST

START_TEST(a_tensor_lies_inside_its_buffer)
{
    static const struct {
        size_t offset;
        bool fits;
    } rows[] = {{0, true}, {8, true}, {9, false}, {32, false}, {SIZE_MAX, false}};
    const struct tp_type type = {TROUPE_F32, {2, {2, 3}}};
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        struct tp_buffer *buffer = NULL;
        troupe_tensor *tensor = NULL;
        ck_ok(tp_buffer_new(&buffer, 32, &err));
        const char *start = buffer->data;
        if (rows[i].fits) {
            ck_ok(tp_tensor_over(&tensor, &type, &buffer, rows[i].offset, &err));
            ck_assert_ptr_eq(troupe_tensor_data(tensor), start + rows[i].offset);
        } else {
            ck_fails(tp_tensor_over(&tensor, &type, &buffer, rows[i].offset, &err), INVALID,
                     "does not fit in a buffer of 32");
        }
        ck_assert_ptr_null(buffer);
        troupe_tensor_release(&tensor);
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_view_reshapes_to_a_view)
{
    const struct tp_type type = {TROUPE_I64, {1, {2}}};
    troupe_error err;
    struct tp_buffer *buffer = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *view = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *other = NULL;
    ck_ok(tp_buffer_new(&buffer, 40, &err));
    for (int i = 0; i < 5; i++)
        ((int64_t *)buffer->data)[i] = 10 + i;
    ck_ok(tp_tensor_over(&view, &type, &buffer, 24, &err));
    ck_ok(troupe_tensor_reshape(&other, view, 2, (const int64_t[]){2, 1}, &err));
    ck_assert_int_eq(tp_tensor_int(view, 1), 14);
    ck_assert_int_eq(tp_tensor_int(other, 0), 13);
}
END_TEST

START_TEST(a_buffer_too_large_is_refused)
{
    troupe_error err;
    struct tp_buffer *buffer = NULL;
    ck_fails(tp_buffer_new(&buffer, SIZE_MAX - 3, &err), EXHAUSTED, "out of memory");
    ck_fails(tp_buffer_new(&buffer, (size_t)PTRDIFF_MAX, &err), EXHAUSTED, "out of memory");
    ck_assert_ptr_null(buffer);
    tp_buffer_release(&buffer);
}
END_TEST

START_TEST(nothing_is_released_without_harm)
{
    troupe_tensor *none = NULL;
    troupe_tensor_release(NULL);
    troupe_tensor_release(&none);
    ck_assert_ptr_null(troupe_tensor_retain(NULL));
}
END_TEST

/* --- threads ---------------------------------------------------------------------------------
 */

#define THREADS 4
#define ROUNDS  20000

struct shared {
    troupe_tensor *tensor; /* one owner for each thread */
    atomic_int freed;
    float data[6];
};

static void free_shared(void *arg, void *data)
{
    struct shared *shared = arg;
    memset(data, 0, sizeof(shared->data)); /* a late reader would race with this */
    atomic_fetch_add(&shared->freed, 1);
}

static void *retain_and_release(void *arg)
{
    struct shared *shared = arg;
    troupe_tensor *mine = shared->tensor;
    float sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        troupe_tensor *more = troupe_tensor_retain(mine);
        sum += ((const float *)troupe_tensor_data(more))[i % 6];
        troupe_tensor_release(&more);
    }
    troupe_tensor_release(&mine);
    return sum > 0 ? arg : NULL;
}

START_TEST(threads_share_a_tensor_and_the_last_one_frees_it)
{
    troupe_error err;
    struct shared shared = {.data = {1, 2, 3, 4, 5, 6}};
    struct tp_thread threads[THREADS] = {{0}};
    ck_ok(troupe_tensor_take(&shared.tensor, TROUPE_F32, 2, dims23, shared.data, free_shared,
                             &shared, &err));
    for (int i = 1; i < THREADS; i++)
        troupe_tensor_retain(shared.tensor);
    for (int i = 0; i < THREADS; i++) {
        ck_ok(tp_thread_start(&threads[i], "share", retain_and_release, &shared, &err));
    }
    for (int i = 0; i < THREADS; i++)
        tp_thread_join(&threads[i]);
    ck_assert_int_eq(atomic_load(&shared.freed), 1);
    ck_assert_float_eq(shared.data[0], 0);
}
END_TEST

static TCase *tensor_case(void)
{
    TCase *t = tcase_create("tensor");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_tensor_has_a_copy_of_its_elements);
    tcase_add_test(t, a_tensor_without_data_is_all_zeros);
    tcase_add_test(t, a_tensor_may_have_no_elements);
    tcase_add_test(t, wrong_arguments_make_no_tensor);
    tcase_add_test(t, a_bool_that_is_neither_0_nor_1_is_refused);
    tcase_add_test(t, taken_memory_is_not_copied_and_freed_once_by_the_last_owner);
    tcase_add_test(t, memory_that_is_not_taken_stays_the_callers);
    tcase_add_test(t, a_reshape_shares_the_elements);
    tcase_add_test(t, strings_are_copied_with_their_sizes);
    tcase_add_test(t, strings_that_are_not_there_are_refused);
    tcase_add_test(t, strings_are_built_one_by_one);
    tcase_add_test(t, without_memory_a_constructor_fails_and_leaks_nothing);
    tcase_add_test(t, equal_tensors_are_equal_byte_for_byte_and_hash_alike);
    tcase_add_test(t, a_tensor_of_a_pool_goes_back_to_it);
    tcase_add_test(t, a_tensor_lies_inside_its_buffer);
    tcase_add_test(t, a_view_reshapes_to_a_view);
    tcase_add_test(t, a_buffer_too_large_is_refused);
    tcase_add_test(t, nothing_is_released_without_harm);
    tcase_add_test(t, threads_share_a_tensor_and_the_last_one_frees_it);
    return t;
}

int main(void)
{
    Suite *s = suite_create("tensor");
    suite_add_tcase(s, tensor_case());
    return test_run(s);
}
