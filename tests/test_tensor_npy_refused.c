/* SPDX-License-Identifier: MIT
 *
 * tests/test_tensor_npy_refused.c - damaged and hostile .npy files are refused with their byte.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/npy.h"

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
    npy_put(1, rows[_i].head, "\0\0\0\0", 4);
    npy_refuses(TROUPE_CORRUPT, rows[_i].word);
    npy_refuses(TROUPE_CORRUPT, "byte ");
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
    npy_put(1, rows[_i].head, "\0\0\0\0\0\0\0\0", 8);
    npy_refuses(TROUPE_UNSUPPORTED, rows[_i].word);
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
    npy_put_bytes(rows[_i].bytes, rows[_i].size);
    npy_refuses(TROUPE_CORRUPT, rows[_i].word);
}
END_TEST
#define BAD_STARTS 9

START_TEST(a_header_of_megabytes_is_refused)
{
    const size_t size = 3u << 20;
    char *bytes = calloc(1, size);
    memcpy(bytes, "\x93NUMPY\2\0\0\0\x20\0", 12);
    npy_put_bytes(bytes, size);
    free(bytes);
    npy_refuses(TROUPE_CORRUPT, "byte 12: a header of 2097152 bytes");
}
END_TEST

START_TEST(every_file_that_is_cut_short_or_too_long_is_refused)
{
    troupe_error err;
    size_t size;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    ck_ok(troupe_tensor_parse(&tensor, npy_values[_i], &err));
    ck_ok(troupe_tensor_write_npy(tensor, npy_path(), &err));
    char *bytes = npy_get_bytes(&size);
    const size_t pieces = tp_alloc_pieces();
    for (size_t n = 0; n < size; n++) {
        npy_put_bytes(bytes, n);
        npy_refuses(TROUPE_CORRUPT, "the file ends");
    }
    bytes[size] = 0;
    npy_put_bytes(bytes, size + 1);
    npy_refuses(TROUPE_CORRUPT, "1 bytes after the last element");
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
    ck_ok(troupe_tensor_parse(&tensor, npy_values[_i], &err));
    ck_ok(troupe_tensor_write_npy(tensor, npy_path(), &err));
    char *bytes = npy_get_bytes(&size);
    const size_t pieces = tp_alloc_pieces();
    for (size_t bit = 0; bit < 8 * 80; bit++) {
        troupe_tensor *bent = NULL;
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        npy_put_bytes(bytes, size);
        const troupe_status status = troupe_tensor_read_npy(&bent, npy_path(), &err);
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
        npy_put_array(rows[i][0], rows[i][1], "\0\0\0\0", 4);
        tp_alloc_fail_at(2, 1); /* one for the header's text */
        npy_refuses(TROUPE_CORRUPT, "the file ends");
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
        const size_t start = npy_put(1, head, rows[i].cells, rows[i].size);
        snprintf(word, sizeof(word), "byte %zu: %s", start + rows[i].at, rows[i].word);
        npy_refuses(TROUPE_CORRUPT, word);
    }
}
END_TEST

static TCase *refuse_case(void)
{
    TCase *t = tcase_create("refuse");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, npy_begin, npy_end);
    tcase_add_loop_test(t, a_malformed_header_is_refused_with_its_byte, 0, BAD_HEADS);
    tcase_add_loop_test(t, what_no_tensor_holds_is_unsupported, 0, UNSUPPORTED_ROWS);
    tcase_add_loop_test(t, a_malformed_start_is_refused, 0, BAD_STARTS);
    tcase_add_test(t, a_header_of_megabytes_is_refused);
    tcase_add_loop_test(t, every_file_that_is_cut_short_or_too_long_is_refused, 0,
                        (int)NPY_VALUES);
    tcase_add_loop_test(t, no_flipped_bit_does_harm, 0, (int)NPY_VALUES);
    tcase_add_test(t, a_small_file_that_announces_much_gets_no_memory);
    tcase_add_test(t, a_wrong_element_is_refused_with_its_byte);
    return t;
}

int main(void)
{
    Suite *s = suite_create("tensor/npy_refused");
    suite_add_tcase(s, refuse_case());
    return test_run(s);
}
