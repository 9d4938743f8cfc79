/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor_npy.c - .npy files: written, read, in the way, and out of memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "tests/npy.h"

/* --- there and back --------------------------------------------------------------------------
 */

START_TEST(every_type_is_read_as_it_was_written)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *back = NULL;
    ck_ok(troupe_tensor_parse(&tensor, npy_values[_i], &err));
    ck_ok(troupe_tensor_write_npy(tensor, npy_path(), &err));
    ck_ok(troupe_tensor_read_npy(&back, npy_path(), &err));
    ck_assert_msg(troupe_tensor_equal(tensor, back), "%s", npy_values[_i]);
    ck_assert_int_eq(npy_empty(), 1); /* no temporary file is left */
}
END_TEST

/* What numpy.save writes for the same arrays, but for the spaces. */
START_TEST(a_file_has_the_bytes_of_its_format)
{
    static const struct {
        const char *value, *head;
        const char *cells;
        size_t size;
    } rows[] = {
        {"f32[2] [1, -2]", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
         "\0\0\x80\x3f\0\0\0\xc0", 8},
        {"i16[] 258", "{'descr': '<i2', 'fortran_order': False, 'shape': (), }", "\x02\x01", 2},
        {"bool[1,2] [[true, false]]",
         "{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2), }", "\1\0", 2},
        {"u8[1] [7]", "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "\7", 1},
        {"bf16[1] [1]", "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", "\x80\x3f",
         2},
        {"string[2] [\"a\", \"\xc3\xa4z\"]",
         "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }",
         "a\0\0\0\0\0\0\0\xe4\0\0\0z\0\0\0", 16},
        {"string[1] [\"\"]", "{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }",
         "\0\0\0\0", 4},
        {"string[0] []", "{'descr': '<U1', 'fortran_order': False, 'shape': (0,), }", "", 0},
    };
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    size_t size;
    ck_ok(troupe_tensor_parse(&tensor, rows[_i].value, &err));
    ck_ok(troupe_tensor_write_npy(tensor, npy_path(), &err));
    char *bytes = npy_get_bytes(&size);
    ck_assert_uint_eq(size, 128 + rows[_i].size);
    ck_assert_int_eq(memcmp(bytes, "\x93NUMPY\1\0\x76\0", 10), 0);
    ck_assert_int_eq(memcmp(bytes + 10, rows[_i].head, strlen(rows[_i].head)), 0);
    for (size_t i = 10 + strlen(rows[_i].head); i < 127; i++)
        ck_assert_int_eq(bytes[i], ' ');
    ck_assert_int_eq(bytes[127], '\n');
    ck_assert_int_eq(memcmp(bytes + 128, rows[_i].cells, rows[_i].size), 0);
    free(bytes);
}
END_TEST
#define FORMAT_ROWS 8

START_TEST(the_longest_header_is_padded_too)
{
    troupe_error err;
    size_t size;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *back = NULL;
    int64_t dims[8] = {0};
    for (int i = 1; i < 8; i++)
        dims[i] = i < 3 ? 100000000 : 2;
    ck_ok(troupe_tensor_new(&tensor, TROUPE_F32, 8, dims, NULL, &err));
    ck_ok(troupe_tensor_write_npy(tensor, npy_path(), &err));
    ck_ok(troupe_tensor_read_npy(&back, npy_path(), &err));
    ck_assert(troupe_tensor_equal(tensor, back));
    free(npy_get_bytes(&size));
    ck_assert_uint_eq(size % 64, 0);
}
END_TEST

START_TEST(every_spelling_of_a_dtype_is_read)
{
    static const struct {
        const char *descr, *cells;
        size_t size;
        const char *value;
    } rows[] = {
        {"<f4", "\0\0\xc0\x3f", 4, "f32[1] [1.5]"},
        {">f4", "\x3f\xc0\0\0", 4, "f32[1] [1.5]"},
        {"<f8", "\0\0\0\0\0\0\xf8\x3f", 8, "f64[1] [1.5]"},
        {">f8", "\x3f\xf8\0\0\0\0\0\0", 8, "f64[1] [1.5]"},
        {"<f2", "\0\x3e", 2, "f16[1] [1.5]"},
        {">f2", "\x3e\0", 2, "f16[1] [1.5]"},
        {"<V2", "\xc0\x3f", 2, "bf16[1] [1.5]"},
        {"|i1", "\xff", 1, "i8[1] [-1]"},
        {"<i1", "\xff", 1, "i8[1] [-1]"},
        {"<i2", "\1\2", 2, "i16[1] [513]"},
        {">i2", "\1\2", 2, "i16[1] [258]"},
        {"<i4", "\1\2\3\4", 4, "i32[1] [67305985]"},
        {">i4", "\1\2\3\4", 4, "i32[1] [16909060]"},
        {"<i8", "\1\2\3\4\0\0\0\0", 8, "i64[1] [67305985]"},
        {">i8", "\0\0\0\0\1\2\3\4", 8, "i64[1] [16909060]"},
        {"|u1", "\xff", 1, "u8[1] [255]"},
        {"<u2", "\1\2", 2, "u16[1] [513]"},
        {">u2", "\1\2", 2, "u16[1] [258]"},
        {"<u4", "\1\2\3\4", 4, "u32[1] [67305985]"},
        {">u4", "\1\2\3\4", 4, "u32[1] [16909060]"},
        {"<u8", "\1\2\3\4\0\0\0\0", 8, "u64[1] [67305985]"},
        {">u8", "\0\0\0\0\1\2\3\4", 8, "u64[1] [16909060]"},
        {"|b1", "\1", 1, "bool[1] [true]"},
        {"<U3", "a\0\0\0\xe4\0\0\0\0\0\0\0", 12, "string[1] [\"a\xc3\xa4\"]"},
        {">U3", "\0\0\0a\0\0\0\xe4\0\0\0\0", 12, "string[1] [\"a\xc3\xa4\"]"},
        {"<U2", "\0\0\0\0b\0\0\0", 8, "string[1] [\"\\x00b\"]"},
        {"<U1", "\0\1\0\0", 4, "string[1] [\"\xc4\x80\"]"},
        {">U1", "\0\0\1\0", 4, "string[1] [\"\xc4\x80\"]"},
        {"|S4", "ab\0\0", 4, "string[1] [\"ab\"]"},
        {"|S4", "ab\0\xff", 4, "string[1] [\"ab\\x00\\xff\"]"},
        {"|S2", "\0\0", 2, "string[1] [\"\"]"},
    };
    npy_put_array(rows[_i].descr, "(1,)", rows[_i].cells, rows[_i].size);
    npy_reads(rows[_i].value);
}
END_TEST
#define SPELLINGS 31

START_TEST(no_byte_order_is_the_machines)
{
    static const char *const orders[] = {"=", "|", ""};
    const uint32_t value = 66051;
    for (size_t i = 0; i < TP_COUNT(orders); i++) {
        char descr[8];
        snprintf(descr, sizeof(descr), "%su4", orders[i]);
        npy_put_array(descr, "()", &value, 4);
        npy_reads("u32[] 66051");
    }
}
END_TEST

START_TEST(fortran_order_is_turned_into_rows)
{
    static const struct {
        const char *descr, *shape, *cells;
        size_t size;
        const char *value;
    } rows[] = {
        {"|u1", "(2, 3)", "\1\4\2\5\3\6", 6, "u8[2,3] [[1, 2, 3], [4, 5, 6]]"},
        {"|u1", "(3, 2)", "\1\2\3\4\5\6", 6, "u8[3,2] [[1, 4], [2, 5], [3, 6]]"},
        {"|u1", "(2, 2, 2)", "\1\2\3\4\5\6\7\10", 8,
         "u8[2,2,2] [[[1, 5], [3, 7]], [[2, 6], [4, 8]]]"},
        {"|u1", "(4,)", "\1\2\3\4", 4, "u8[4] [1, 2, 3, 4]"},
        {"|u1", "()", "\1", 1, "u8[] 1"},
        {"|u1", "(0, 3)", "", 0, "u8[0,3] []"},
        {"|u1", "(1, 3, 1)", "\1\2\3", 3, "u8[1,3,1] [[[1], [2], [3]]]"},
        {">u2", "(2, 2)", "\0\1\0\2\0\3\1\0", 8, "u16[2,2] [[1, 3], [2, 256]]"},
        {"|S3", "(2, 2)", "a\0\0bb\0ccc\0\0\0", 12,
         "string[2,2] [[\"a\", \"ccc\"], [\"bb\", \"\"]]"},
        {"<U1", "(2, 2)", "a\0\0\0b\0\0\0c\0\0\0d\0\0\0", 16,
         "string[2,2] [[\"a\", \"c\"], [\"b\", \"d\"]]"},
        {"|b1", "(2, 2)", "\1\0\0\1", 4, "bool[2,2] [[true, false], [false, true]]"},
    };
    char head[200];
    snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': True, 'shape': %s, }\n",
             rows[_i].descr, rows[_i].shape);
    npy_put(1, head, rows[_i].cells, rows[_i].size);
    npy_reads(rows[_i].value);
}
END_TEST
#define FORTRAN_ROWS 11

START_TEST(all_three_versions_and_every_style_of_header_are_read)
{
    static const char *const heads[] = {
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }     \n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}",
        "{\"shape\":(2,),\"descr\":\"<i2\",\"fortran_order\":False}\n",
        " { 'fortran_order' : False , 'shape' : ( 2 , ) , 'descr' : '<i2' , } \n\n",
        "{'descr': '<i2', 'fortran_order': True, 'shape': (2L,), }\n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (002,), }\t\r\n",
    };
    for (int version = 1; version <= 3; version++) {
        for (size_t i = 0; i < TP_COUNT(heads); i++) {
            npy_put(version, heads[i], "\1\0\2\0", 4);
            npy_reads("i16[2] [1, 2]");
        }
    }
}
END_TEST

/* --- files that cannot be read or written ----------------------------------------------------
 */

START_TEST(a_file_that_is_not_there_is_not_found)
{
    troupe_error err;
    npy_refuses(TROUPE_NOT_FOUND, "open: ");
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    ck_fails(troupe_tensor_write_npy(tensor, "/nonexistent/folder/t.npy", &err), NOT_FOUND,
             "/nonexistent/folder/t.npy: create: ");
    npy_put_bytes("x", 1);
    strcat(npy_path(), "/t.npy"); /* below a file */
    npy_refuses(TROUPE_NOT_FOUND, "open: ");
    ck_fails(troupe_tensor_write_npy(tensor, npy_path(), &err), NOT_FOUND, "create: ");
}
END_TEST

START_TEST(what_is_no_regular_file_is_neither_read_nor_replaced)
{
    troupe_error err;
    struct stat st;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    ck_assert_int_eq(mkfifo(npy_path(), 0600), 0);
    npy_refuses(TROUPE_INVALID, "not a regular file");
    ck_fails(troupe_tensor_write_npy(tensor, npy_path(), &err), INVALID, "not a regular file");
    ck_assert_int_eq(stat(npy_path(), &st), 0);
    ck_assert(S_ISFIFO(st.st_mode));
    ck_assert_int_eq(npy_empty(), 1);
    strcpy(npy_path(), npy_folder());
    npy_refuses(TROUPE_INVALID, "not a regular file");
    ck_fails(troupe_tensor_write_npy(tensor, npy_path(), &err), INVALID, "not a regular file");
}
END_TEST

START_TEST(strings_that_a_file_does_not_keep_are_not_written)
{
    static const struct {
        const char *value, *word;
    } rows[] = {
        {"string[2] [\"fine\", \"a\\xff\"]", "string 1 is not UTF-8 at its byte 1"},
        {"string[1] [\"\\xc3\"]", "string 0 is not UTF-8 at its byte 0"},
        {"string[1] [\"\\xed\\xa0\\x80\"]", "not UTF-8"},
        {"string[3] [\"\", \"\", \"a\\x00\"]", "string 2 ends with a zero byte"},
    };
    troupe_error err;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
        ck_ok(troupe_tensor_parse(&tensor, rows[i].value, &err));
        ck_fails(troupe_tensor_write_npy(tensor, npy_path(), &err), INVALID, rows[i].word);
    }
    ck_assert_int_eq(npy_empty(), 0);
}
END_TEST

START_TEST(a_write_that_fails_leaves_the_old_file)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *small = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *large = NULL;
    ck_ok(troupe_tensor_parse(&small, "i8[2] [1, 2]", &err));
    ck_ok(troupe_tensor_new(&large, TROUPE_F32, 1, (const int64_t[]){100000}, NULL, &err));
    ck_ok(troupe_tensor_write_npy(small, npy_path(), &err));

    struct rlimit old;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    const struct rlimit tight = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const troupe_status status = troupe_tensor_write_npy(large, npy_path(), &err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);

    ck_assert_int_eq(status, TROUPE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(err.text, "write: "));
    npy_reads("i8[2] [1, 2]");
    ck_assert_int_eq(npy_empty(), 1);
}
END_TEST

START_TEST(a_new_file_has_the_permissions_that_the_mask_leaves)
{
    troupe_error err;
    struct stat st;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    const mode_t old = umask(027);
    const troupe_status status = troupe_tensor_write_npy(tensor, npy_path(), &err);
    umask(old);
    ck_ok(status);
    ck_assert_int_eq(stat(npy_path(), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
}
END_TEST

START_TEST(a_name_in_the_way_is_stepped_over)
{
    troupe_error err;
    char name[200];
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    snprintf(name, sizeof(name), "%s.%ld-0.part", npy_path(), (long)getpid());
    ck_assert_int_eq(symlink("/nonexistent/elsewhere", name), 0);
    ck_ok(troupe_tensor_write_npy(tensor, npy_path(), &err));
    npy_reads("f32[] 1");
    ck_assert_int_eq(npy_empty(), 2);
}
END_TEST

static void *write_often(void *arg)
{
    const troupe_tensor *tensor = arg;
    for (int i = 0; i < 100; i++) {
        if (troupe_tensor_write_npy(tensor, npy_path(), NULL) != TROUPE_OK) return NULL;
    }
    return arg;
}

START_TEST(a_reader_sees_the_one_or_the_other_file_whole)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *a = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *b = NULL;
    struct tp_thread threads[2] = {{0}};
    ck_ok(troupe_tensor_parse(&a, "f32[2] [1, 2]", &err));
    ck_ok(troupe_tensor_new(&b, TROUPE_F64, 1, (const int64_t[]){3000}, NULL, &err));
    ck_ok(troupe_tensor_write_npy(a, npy_path(), &err));
    ck_ok(tp_thread_start(&threads[0], "write", write_often, a, &err));
    ck_ok(tp_thread_start(&threads[1], "write", write_often, b, &err));
    for (int i = 0; i < 100; i++) {
        TP_OWNED(troupe_tensor_release) troupe_tensor *seen = NULL;
        ck_ok(troupe_tensor_read_npy(&seen, npy_path(), &err));
        ck_assert(troupe_tensor_equal(seen, a) || troupe_tensor_equal(seen, b));
    }
    for (int i = 0; i < 2; i++)
        tp_thread_join(&threads[i]);
    ck_assert_int_eq(npy_empty(), 1);
}
END_TEST

static troupe_status write_and_read(const troupe_tensor *tensor, troupe_tensor **back,
                                    troupe_error *err)
{
    TP_TRY(troupe_tensor_write_npy(tensor, npy_path(), err));
    return troupe_tensor_read_npy(back, npy_path(), err);
}

START_TEST(without_memory_a_file_is_neither_read_nor_written_and_nothing_leaks)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < NPY_VALUES; i++) {
        TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
        TP_OWNED(troupe_tensor_release) troupe_tensor *back = NULL;
        ck_ok(troupe_tensor_parse(&tensor, npy_values[i], &err));
        ck_starve(write_and_read(tensor, &back, &err));
        ck_assert(troupe_tensor_equal(tensor, back));
    }
    npy_put(1, "{'descr': '<u2', 'fortran_order': True, 'shape': (1, 2), }", "\1\0\2\0", 4);
    troupe_tensor *turned = NULL;
    ck_starve(troupe_tensor_read_npy(&turned, npy_path(), &err));
    troupe_tensor_release(&turned);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    ck_assert_int_eq(npy_empty(), 1);
}
END_TEST

static TCase *read_case(void)
{
    TCase *t = tcase_create("read");
    tcase_add_checked_fixture(t, npy_begin, npy_end);
    tcase_add_loop_test(t, every_type_is_read_as_it_was_written, 0, (int)NPY_VALUES);
    tcase_add_loop_test(t, a_file_has_the_bytes_of_its_format, 0, FORMAT_ROWS);
    tcase_add_test(t, the_longest_header_is_padded_too);
    tcase_add_loop_test(t, every_spelling_of_a_dtype_is_read, 0, SPELLINGS);
    tcase_add_test(t, no_byte_order_is_the_machines);
    tcase_add_loop_test(t, fortran_order_is_turned_into_rows, 0, FORTRAN_ROWS);
    tcase_add_test(t, all_three_versions_and_every_style_of_header_are_read);
    return t;
}

static TCase *file_case(void)
{
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, npy_begin, npy_end);
    tcase_add_test(t, a_file_that_is_not_there_is_not_found);
    tcase_add_test(t, what_is_no_regular_file_is_neither_read_nor_replaced);
    tcase_add_test(t, strings_that_a_file_does_not_keep_are_not_written);
    tcase_add_test(t, a_write_that_fails_leaves_the_old_file);
    tcase_add_test(t, a_new_file_has_the_permissions_that_the_mask_leaves);
    tcase_add_test(t, a_name_in_the_way_is_stepped_over);
    tcase_add_test(t, a_reader_sees_the_one_or_the_other_file_whole);
    tcase_add_test(t, without_memory_a_file_is_neither_read_nor_written_and_nothing_leaks);
    return t;
}

int main(void)
{
    Suite *s = suite_create("tensor_npy");
    suite_add_tcase(s, read_case());
    suite_add_tcase(s, file_case());
    return test_run(s);
}
