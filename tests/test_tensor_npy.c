/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor_npy.c - .npy files: written, read, cut, bent, and out of memory.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "tensor/tensor.h"
#include "tests/test.h"

/* --- files -----------------------------------------------------------------------------------
 */

static char folder[64], path[96];

static void make_folder(void)
{
    strcpy(folder, "/tmp/troupe-npy-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/t.npy", folder);
}

/* Removes the folder, and says how many files were in it. */
static int empty_folder(void)
{
    int n = 0;
    char name[400];
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
        snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
        n += unlink(name) == 0;
    }
    closedir(dir);
    return n;
}

static void remove_folder(void)
{
    empty_folder();
    rmdir(folder);
}

static void put_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* The whole file; the caller's to free. */
static char *get_file(size_t *size)
{
    struct stat st;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fstat(fileno(file), &st), 0);
    *size = (size_t)st.st_size;
    char *bytes = malloc(*size + 1);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* A file of that version, header and cells; returns where the cells start. */
static size_t put_npy(int version, const char *head, const void *cells, size_t size)
{
    char bytes[4096];
    const size_t n = strlen(head);
    size_t at = (size_t)snprintf(bytes, sizeof(bytes), "\x93NUMPY%c", version);
    bytes[at++] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        bytes[at++] = (char)(n >> (8 * i) & 0xff);
    memcpy(bytes + at, head, n);
    memcpy(bytes + at + n, cells, size);
    put_file(bytes, at + n + size);
    return at + n;
}

static size_t put_array(const char *descr, const char *shape, const void *cells, size_t size)
{
    char head[256];
    snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
             descr, shape);
    return put_npy(1, head, cells, size);
}

static void ck_reads(const char *text)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    char shown[1000];
    ck_ok(troupe_tensor_read_npy(&tensor, path, &err));
    troupe_tensor_show(tensor, 0, shown, sizeof(shown));
    ck_assert_str_eq(shown, text);
}

/* Reading fails with that code; its text has the path and the word. */
static void ck_refuses(troupe_status code, const char *word)
{
    troupe_error err = {TROUPE_OK, ""};
    troupe_tensor *none = NULL;
    const troupe_status status = troupe_tensor_read_npy(&none, path, &err);
    ck_assert_msg(status == code && err.code == code, "%s, not %s: %s",
                  troupe_status_name(status), troupe_status_name(code), err.text);
    ck_assert_msg(strstr(err.text, word) != NULL, "no \"%s\" in \"%s\"", word, err.text);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    ck_assert_ptr_null(none);
}

/* --- there and back --------------------------------------------------------------------------
 */

static const char *const values[] = {
    "f32[] 1.5",
    "f32[2,3] [[1, -2, 3.25], [nan, inf, -inf]]",
    "f64[3] [0.1, -0, 5e-324]",
    "f16[2,2] [[0.5, 65504], [6e-8, -1]]",
    "bf16[3] [1, -2.5, 3e38]",
    "i8[3] [-128, 0, 127]",
    "i16[2] [-32768, 32767]",
    "i32[2] [-2147483648, 2147483647]",
    "i64[2] [-9223372036854775808, 9223372036854775807]",
    "u8[2] [0, 255]",
    "u16[2] [0, 65535]",
    "u32[2] [0, 4294967295]",
    "u64[2] [0, 18446744073709551615]",
    "bool[2,2] [[true, false], [false, true]]",
    "bool[] true",
    "string[2,2] [[\"a\", \"\"], [\"gr\xc3\xbc\xc3\x9f\", \"\xf0\x9f\x8e\xad!\"]]",
    "string[] \"one\"",
    "string[2] [\"\", \"\"]",
    "string[1] [\"a\\x00b\"]",
    "f32[0] []",
    "i64[2,0,3] []",
    "string[0] []",
    "u8[1,1,1,1,1,1,1,2] [[[[[[[[1, 2]]]]]]]]",
};

START_TEST(every_type_is_read_as_it_was_written)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *back = NULL;
    ck_ok(troupe_tensor_parse(&tensor, values[_i], &err));
    ck_ok(troupe_tensor_write_npy(tensor, path, &err));
    ck_ok(troupe_tensor_read_npy(&back, path, &err));
    ck_assert_msg(troupe_tensor_equal(tensor, back), "%s", values[_i]);
    ck_assert_int_eq(empty_folder(), 1); /* no temporary file is left */
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
    ck_ok(troupe_tensor_write_npy(tensor, path, &err));
    char *bytes = get_file(&size);
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
    ck_ok(troupe_tensor_write_npy(tensor, path, &err));
    ck_ok(troupe_tensor_read_npy(&back, path, &err));
    ck_assert(troupe_tensor_equal(tensor, back));
    free(get_file(&size));
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
    put_array(rows[_i].descr, "(1,)", rows[_i].cells, rows[_i].size);
    ck_reads(rows[_i].value);
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
        put_array(descr, "()", &value, 4);
        ck_reads("u32[] 66051");
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
    put_npy(1, head, rows[_i].cells, rows[_i].size);
    ck_reads(rows[_i].value);
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
            put_npy(version, heads[i], "\1\0\2\0", 4);
            ck_reads("i16[2] [1, 2]");
        }
    }
}
END_TEST

/* --- malformed -------------------------------------------------------------------------------
 */

START_TEST(a_malformed_header_is_refused_with_its_byte)
{
    static const struct {
        const char *head, *word;
    } rows[] = {
        {"", "byte 10: '{' expected"},
        {"   ", "byte 13: '{' expected"},
        {"[]", "byte 10: '{' expected"},
        {"{", "byte 11: a string expected"},
        {"{}", "byte 12: no key 'descr'"},
        {"{'descr'}", "byte 18: ':' expected"},
        {"{'descr': }", "byte 20: a string expected"},
        {"{'descr': '<f4}", "byte 20: a string in the header does not end"},
        {"{'descr': '<f4\\x00'}", "has escapes"},
        {"{'descr': '0123456789012345678901234567890123456789'}", "too long"},
        {"{'descr': ''", "'' is not a dtype"},
        {"{'descr': '<'", "'<' is not a dtype"},
        {"{'descr': '<f'", "'<f' is not a dtype"},
        {"{'descr': '<f4x'", "'<f4x' is not a dtype"},
        {"{'descr': '<U9999999999'", "is not a dtype"},
        {"{'descr': '<U0', 'fortran_order': False, 'shape': (1,)}", "byte 25: dtype '<U0' has"},
        {"{'descr': '|S0', 'fortran_order': False, 'shape': (1,)}", "cells of no bytes"},
        {"{'descr': '<f4', 'fortran_order': false, 'shape': (1,)}", "byte 44: True or False"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 1}", "'(' expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "',' expected in a shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "a dimension expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,,2)}", "a dimension expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "',' or ')' expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "a dimension expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}", "',' or ')' expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         "a dimension is above"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "too many elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,) 'x': 1}", "'}' expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown key 'x'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
         "'shape' comes twice"},
        {"{'descr': '<f4', 'fortran_order': False}", "no key 'shape'"},
        {"{'descr': '<f4', 'shape': (1,)}", "no key 'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "byte 66: more than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "'}' expected"},
    };
    put_npy(1, rows[_i].head, "\0\0\0\0", 4);
    ck_refuses(TROUPE_CORRUPT, rows[_i].word);
    ck_refuses(TROUPE_CORRUPT, "byte ");
}
END_TEST
#define BAD_HEADS 35

START_TEST(what_no_tensor_holds_is_unsupported)
{
    static const struct {
        const char *head, *word;
    } rows[] = {
        {"{'descr': '<c32', 'fortran_order': False, 'shape': (1,)}",
         "no tensor holds dtype '<c32'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "'|O'"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}", "'<M8[ns]'"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", "'<f16'"},
        {"{'descr': '|V8', 'fortran_order': False, 'shape': (1,)}", "'|V8'"},
        {"{'descr': '|b2', 'fortran_order': False, 'shape': (1,)}", "'|b2'"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1)}",
         "more than 8 dimensions"},
    };
    put_npy(1, rows[_i].head, "\0\0\0\0\0\0\0\0", 8);
    ck_refuses(TROUPE_UNSUPPORTED, rows[_i].word);
}
END_TEST
#define UNSUPPORTED_ROWS 8

START_TEST(a_malformed_start_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *word;
    } rows[] = {
        {"", 0, "byte 0: the file ends, 8 bytes more"},
        {"\x93NUMPY", 6, "byte 6: the file ends, 2 bytes more"},
        {"\x93NUMPX\1\0\0\0", 10, "byte 0: it does not start"},
        {"PK\3\4aaaaaaaaaaa", 15, "byte 0: it does not start"},
        {"\x93NUMPY\0\0\0\0", 10, "byte 6: version 0.0"},
        {"\x93NUMPY\4\0\0\0\0\0", 12, "version 4.0"},
        {"\x93NUMPY\1\1\0\0", 10, "version 1.1"},
        {"\x93NUMPY\2\0\xff\xff\xff\xff", 12, "byte 12: the file ends, 4294967295 bytes"},
        {"\x93NUMPY\1\0\xff\xff{}", 12, "byte 12: the file ends, 65533 bytes more"},
    };
    put_file(rows[_i].bytes, rows[_i].size);
    ck_refuses(TROUPE_CORRUPT, rows[_i].word);
}
END_TEST
#define BAD_STARTS 9

START_TEST(a_header_of_megabytes_is_refused)
{
    const size_t size = 3u << 20;
    char *bytes = calloc(1, size);
    memcpy(bytes, "\x93NUMPY\2\0\0\0\x20\0", 12);
    put_file(bytes, size);
    free(bytes);
    ck_refuses(TROUPE_CORRUPT, "byte 12: a header of 2097152 bytes");
}
END_TEST

START_TEST(every_file_that_is_cut_short_or_too_long_is_refused)
{
    troupe_error err;
    size_t size;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, values[_i], &err));
    ck_ok(troupe_tensor_write_npy(tensor, path, &err));
    char *bytes = get_file(&size);
    const size_t pieces = tp_alloc_pieces();
    for (size_t n = 0; n < size; n++) {
        put_file(bytes, n);
        ck_refuses(TROUPE_CORRUPT, "the file ends");
    }
    bytes[size] = 0;
    put_file(bytes, size + 1);
    ck_refuses(TROUPE_CORRUPT, "1 bytes after the last element");
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    free(bytes);
}
END_TEST

/* Every bit of the start and the header; what is read is a tensor, what is not leaks nothing.
 */
START_TEST(no_flipped_bit_does_harm)
{
    troupe_error err;
    size_t size;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, values[_i], &err));
    ck_ok(troupe_tensor_write_npy(tensor, path, &err));
    char *bytes = get_file(&size);
    const size_t pieces = tp_alloc_pieces();
    for (size_t bit = 0; bit < 8 * 80; bit++) {
        troupe_tensor *bent = NULL;
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        put_file(bytes, size);
        const troupe_status status = troupe_tensor_read_npy(&bent, path, &err);
        ck_assert(status == TROUPE_OK || status == TROUPE_CORRUPT ||
                  status == TROUPE_UNSUPPORTED);
        if (bent) troupe_tensor_show(bent, 0, NULL, 0);
        troupe_tensor_release(&bent);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
    }
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    free(bytes);
}
END_TEST

START_TEST(a_small_file_that_announces_much_gets_no_memory)
{
    static const char *const rows[][2] = {
        {"<f4", "(1000000000000,)"},
        {"<f8", "(9223372036854775807,)"},
        {"<U999999999", "(1,)"},
        {"<U999999999", "(9223372036854775807,)"},
        {"|S999999999", "(99999999999, 2)"},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        put_array(rows[i][0], rows[i][1], "\0\0\0\0", 4);
        tp_alloc_fail_at(2, 1); /* one for the header's text */
        ck_refuses(TROUPE_CORRUPT, "the file ends");
        tp_alloc_fail_at(0, 0);
    }
}
END_TEST

START_TEST(a_wrong_element_is_refused_with_its_byte)
{
    static const struct {
        const char *descr, *order, *shape, *cells;
        size_t size, at; /* the wrong element, behind the header */
        const char *word;
    } rows[] = {
        {"|b1", "False", "(4,)", "\0\1\2\1", 4, 2, "a bool is 2"},
        {"|b1", "True", "(2, 2)", "\0\xff\0\1", 4, 1, "a bool is 255"},
        {"<U2", "False", "(1,)", "a\0\0\0\0\xd8\0\0", 8, 4, "0x0000d800 is not a code point"},
        {">U2", "False", "(1,)", "\0\0\0a\0\x11\0\0", 8, 4, "0x00110000 is not a code point"},
        {"<U1", "True", "(2, 2)", "a\0\0\0b\0\0\0c\0\0\0\xff\xff\xff\xff", 16, 12,
         "0xffffffff"},
    };
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        char head[200], word[100];
        snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
                 rows[i].descr, rows[i].order, rows[i].shape);
        const size_t start = put_npy(1, head, rows[i].cells, rows[i].size);
        snprintf(word, sizeof(word), "byte %zu: %s", start + rows[i].at, rows[i].word);
        ck_refuses(TROUPE_CORRUPT, word);
    }
}
END_TEST

/* --- files that cannot be read or written ----------------------------------------------------
 */

START_TEST(a_file_that_is_not_there_is_not_found)
{
    troupe_error err;
    ck_refuses(TROUPE_NOT_FOUND, "open: ");
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    ck_fails(troupe_tensor_write_npy(tensor, "/nonexistent/folder/t.npy", &err), NOT_FOUND,
             "/nonexistent/folder/t.npy: create: ");
    put_file("x", 1);
    strcat(path, "/t.npy"); /* below a file */
    ck_refuses(TROUPE_NOT_FOUND, "open: ");
    ck_fails(troupe_tensor_write_npy(tensor, path, &err), NOT_FOUND, "create: ");
}
END_TEST

START_TEST(what_is_no_regular_file_is_neither_read_nor_replaced)
{
    troupe_error err;
    struct stat st;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_refuses(TROUPE_INVALID, "not a regular file");
    ck_fails(troupe_tensor_write_npy(tensor, path, &err), INVALID, "not a regular file");
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert(S_ISFIFO(st.st_mode));
    ck_assert_int_eq(empty_folder(), 1);
    strcpy(path, folder);
    ck_refuses(TROUPE_INVALID, "not a regular file");
    ck_fails(troupe_tensor_write_npy(tensor, path, &err), INVALID, "not a regular file");
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
        ck_fails(troupe_tensor_write_npy(tensor, path, &err), INVALID, rows[i].word);
    }
    ck_assert_int_eq(empty_folder(), 0);
}
END_TEST

START_TEST(a_write_that_fails_leaves_the_old_file)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *small = NULL;
    TP_OWNED(troupe_tensor_release) troupe_tensor *large = NULL;
    ck_ok(troupe_tensor_parse(&small, "i8[2] [1, 2]", &err));
    ck_ok(troupe_tensor_new(&large, TROUPE_F32, 1, (const int64_t[]){100000}, NULL, &err));
    ck_ok(troupe_tensor_write_npy(small, path, &err));

    struct rlimit old;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    const struct rlimit tight = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const troupe_status status = troupe_tensor_write_npy(large, path, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);

    ck_assert_int_eq(status, TROUPE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(err.text, "write: "));
    ck_reads("i8[2] [1, 2]");
    ck_assert_int_eq(empty_folder(), 1);
}
END_TEST

START_TEST(a_new_file_has_the_permissions_that_the_mask_leaves)
{
    troupe_error err;
    struct stat st;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    const mode_t old = umask(027);
    const troupe_status status = troupe_tensor_write_npy(tensor, path, &err);
    umask(old);
    ck_ok(status);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
}
END_TEST

START_TEST(a_name_in_the_way_is_stepped_over)
{
    troupe_error err;
    char name[200];
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, "f32[] 1", &err));
    snprintf(name, sizeof(name), "%s.%ld-0.part", path, (long)getpid());
    ck_assert_int_eq(symlink("/nonexistent/elsewhere", name), 0);
    ck_ok(troupe_tensor_write_npy(tensor, path, &err));
    ck_reads("f32[] 1");
    ck_assert_int_eq(empty_folder(), 2);
}
END_TEST

static void *write_often(void *arg)
{
    const troupe_tensor *tensor = arg;
    for (int i = 0; i < 100; i++) {
        if (troupe_tensor_write_npy(tensor, path, NULL) != TROUPE_OK) return NULL;
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
    ck_ok(troupe_tensor_write_npy(a, path, &err));
    ck_ok(tp_thread_start(&threads[0], "write", write_often, a, &err));
    ck_ok(tp_thread_start(&threads[1], "write", write_often, b, &err));
    for (int i = 0; i < 100; i++) {
        TP_OWNED(troupe_tensor_release) troupe_tensor *seen = NULL;
        ck_ok(troupe_tensor_read_npy(&seen, path, &err));
        ck_assert(troupe_tensor_equal(seen, a) || troupe_tensor_equal(seen, b));
    }
    for (int i = 0; i < 2; i++)
        tp_thread_join(&threads[i]);
    ck_assert_int_eq(empty_folder(), 1);
}
END_TEST

static troupe_status write_and_read(const troupe_tensor *tensor, troupe_tensor **back,
                                    troupe_error *err)
{
    TP_TRY(troupe_tensor_write_npy(tensor, path, err));
    return troupe_tensor_read_npy(back, path, err);
}

START_TEST(without_memory_a_file_is_neither_read_nor_written_and_nothing_leaks)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    for (size_t i = 0; i < TP_COUNT(values); i++) {
        TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
        TP_OWNED(troupe_tensor_release) troupe_tensor *back = NULL;
        ck_ok(troupe_tensor_parse(&tensor, values[i], &err));
        ck_starve(write_and_read(tensor, &back, &err));
        ck_assert(troupe_tensor_equal(tensor, back));
    }
    put_npy(1, "{'descr': '<u2', 'fortran_order': True, 'shape': (1, 2), }", "\1\0\2\0", 4);
    troupe_tensor *turned = NULL;
    ck_starve(troupe_tensor_read_npy(&turned, path, &err));
    troupe_tensor_release(&turned);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    ck_assert_int_eq(empty_folder(), 1);
}
END_TEST

static TCase *read_case(void)
{
    TCase *t = tcase_create("read");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_loop_test(t, every_type_is_read_as_it_was_written, 0, (int)TP_COUNT(values));
    tcase_add_loop_test(t, a_file_has_the_bytes_of_its_format, 0, FORMAT_ROWS);
    tcase_add_test(t, the_longest_header_is_padded_too);
    tcase_add_loop_test(t, every_spelling_of_a_dtype_is_read, 0, SPELLINGS);
    tcase_add_test(t, no_byte_order_is_the_machines);
    tcase_add_loop_test(t, fortran_order_is_turned_into_rows, 0, FORTRAN_ROWS);
    tcase_add_test(t, all_three_versions_and_every_style_of_header_are_read);
    return t;
}

static TCase *refuse_case(void)
{
    TCase *t = tcase_create("refuse");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_loop_test(t, a_malformed_header_is_refused_with_its_byte, 0, BAD_HEADS);
    tcase_add_loop_test(t, what_no_tensor_holds_is_unsupported, 0, UNSUPPORTED_ROWS);
    tcase_add_loop_test(t, a_malformed_start_is_refused, 0, BAD_STARTS);
    tcase_add_test(t, a_header_of_megabytes_is_refused);
    tcase_add_loop_test(t, every_file_that_is_cut_short_or_too_long_is_refused, 0,
                        (int)TP_COUNT(values));
    tcase_add_loop_test(t, no_flipped_bit_does_harm, 0, (int)TP_COUNT(values));
    tcase_add_test(t, a_small_file_that_announces_much_gets_no_memory);
    tcase_add_test(t, a_wrong_element_is_refused_with_its_byte);
    return t;
}

static TCase *file_case(void)
{
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_folder, remove_folder);
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
    suite_add_tcase(s, refuse_case());
    suite_add_tcase(s, file_case());
    return test_run(s);
}
