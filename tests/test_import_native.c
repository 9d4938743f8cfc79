/* SPDX-License-Identifier: MIT
 *
 * tests/test_import_native.c - libraries to files and back, in binary form and as texts: equal, or
 * refused with the place; whole files or none.
 */
#include "import/native.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "tests/graphs.h"

/* -- A folder for each test ---------------------------------------------------------------- */

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/import-native-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

struct path {
    char text[160];
};

static struct path in_folder(const char *name)
{
    struct path path;
    snprintf(path.text, sizeof path.text, "%s/%s", folder, name);
    return path;
}

static unsigned count_files(const char *path)
{
    unsigned n = 0;
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* -- Bytes of a file ----------------------------------------------------------------------- */

struct bytes {
    char *data;
    size_t size;
};

static struct bytes read_bytes(const char *path)
{
    struct bytes out = {malloc(1 << 20), 0};
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file && out.data, "%s cannot be read", path);
    out.size = fread(out.data, 1, 1 << 20, file);
    fclose(file);
    return out;
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* Change one byte in place. */
static void poke(const char *path, size_t at, int byte)
{
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
    ck_assert_int_eq(fputc(byte, file), (unsigned char)byte);
    ck_assert_int_eq(fclose(file), 0);
}

static void ck_same_bytes(const char *a, const char *b)
{
    struct bytes x = read_bytes(a), y = read_bytes(b);
    ck_assert_uint_eq(x.size, y.size);
    ck_assert_mem_eq(x.data, y.data, x.size);
    free(x.data);
    free(y.data);
}

/* -- Libraries ----------------------------------------------------------------------------- */

/* Two functions, the second of which calls the first; a large constant and a small one. */
static troupe_library *some_library(void)
{
    char *head = graphs_repeat("function g(x: f32[n]) -> (y: f32[n])\n"
                               "    k = f32[1] [0.1]\n    y = Add(x, k)\n"
                               "function f(x: f32[300]) -> (y)\n    w = f32[300] [nan",
                               ", -0.25", 299, "]\n    a = Add(x, w) @cpu:1\n    y = g(a)\n");
    troupe_library *library = graphs_library(head);
    tp_free(head);
    return library;
}

static troupe_library *loaded(const char *path, const char **name)
{
    troupe_error err;
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_load(library, path, name, &err));
    return library;
}

/* All of a are in b, and equal. */
static void ck_same_library(const troupe_library *a, const troupe_library *b)
{
    ck_assert_uint_eq(troupe_library_count(a), troupe_library_count(b));
    for (size_t i = 0; i < troupe_library_count(a); i++) {
        troupe_function *x = graphs_find(a, troupe_library_name(a, i));
        troupe_function *y = graphs_find(b, troupe_library_name(a, i));
        ck_assert(graphs_same_hash(x, y));
        troupe_function_release(&x);
        troupe_function_release(&y);
    }
}

/* Load a file that cannot be. */
static troupe_status load_bad(const char *path, troupe_error *err)
{
    troupe_library *library = NULL;
    TP_TRY(troupe_library_new(&library, err));
    const troupe_status status = troupe_library_load(library, path, NULL, err);
    ck_assert_uint_eq(troupe_library_count(library), status < 0 ? 0 : 2);
    troupe_library_destroy(&library);
    return status;
}

/* some_library in a file. */
static struct path saved(troupe_file_form form)
{
    troupe_error err;
    const struct path path = in_folder("x.troupe");
    troupe_library *library = some_library();
    ck_ok(troupe_library_save(library, "f", path.text, form, &err));
    troupe_library_destroy(&library);
    return path;
}

/* -- There and back ------------------------------------------------------------------------ */

static const troupe_file_form forms[] = {TROUPE_FILE_BINARY, TROUPE_FILE_TEXT};

START_TEST(a_library_comes_back_from_a_file_with_its_main_function)
{
    const char *name = NULL;
    const struct path path = saved(forms[_i]);
    troupe_library *library = some_library(), *back = loaded(path.text, &name);
    ck_assert_str_eq(name, "f");
    ck_same_library(library, back);
    troupe_library_destroy(&library);
    troupe_library_destroy(&back);
}
END_TEST

START_TEST(a_library_without_functions_comes_back)
{
    troupe_error err;
    const char *name = "";
    const struct path path = in_folder("empty");
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_save(library, NULL, path.text, forms[_i], &err));
    troupe_library_destroy(&library);
    library = loaded(path.text, &name);
    ck_assert_uint_eq(troupe_library_count(library), 0);
    ck_assert_ptr_null(name);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_file_is_added_to_what_a_library_has)
{
    troupe_error err;
    const char *name = NULL;
    const struct path path = saved(forms[_i]);
    troupe_library *library = graphs_library("function main() -> (k)\n    k = f32[] 1\n");
    ck_ok(troupe_library_load(library, path.text, &name, &err));
    ck_assert_str_eq(name, "f");
    ck_assert_uint_eq(troupe_library_count(library), 3);
    ck_ok(troupe_library_load(library, path.text, &name, &err));
    ck_assert_uint_eq(troupe_library_count(library), 3);
    troupe_library_destroy(&library);
    library = graphs_library("function g() -> (k)\n    k = f32[] 1\n");
    ck_fails(troupe_library_load(library, path.text, &name, &err), INVALID,
             "another function 'g'");
    ck_assert_uint_eq(troupe_library_count(library), 1);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(the_bytes_of_a_file_depend_on_the_functions_alone)
{
    troupe_error err;
    const char *name = NULL;
    const struct path first = saved(TROUPE_FILE_BINARY), second = in_folder("second"),
                      text = in_folder("text"), third = in_folder("third");
    troupe_library *library = loaded(first.text, &name);
    ck_ok(troupe_library_save(library, "f", second.text, TROUPE_FILE_BINARY, &err));
    ck_same_bytes(first.text, second.text);
    ck_ok(troupe_library_save(library, "f", text.text, TROUPE_FILE_TEXT, &err));
    troupe_library_destroy(&library);
    library = loaded(text.text, &name);
    ck_ok(troupe_library_save(library, "f", third.text, TROUPE_FILE_TEXT, &err));
    troupe_library_destroy(&library);
    library = loaded(third.text, &name);
    ck_assert_str_eq(troupe_library_name(library, 0), "f"); /* a text has the main one first */
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(tensors_lie_at_multiples_of_64_little_endian)
{
    const struct path path = saved(TROUPE_FILE_BINARY);
    struct bytes file = read_bytes(path.text);
    ck_assert_uint_eq(file.size % 64, 300 * sizeof(float) % 64);
    troupe_library *library = loaded(path.text, NULL);
    troupe_function *f = graphs_find(library, "f");
    const troupe_tensor *w = f->body->values[1].constant;
    ck_assert_uint_eq((uintptr_t)troupe_tensor_data(w) % 64, 0);
    static const unsigned char quarter[] = {0, 0, 0x80, 0xbe}; /* -0.25 */
    ck_assert_mem_eq(file.data + file.size - 4, quarter, 4);
    ck_assert_mem_eq(file.data + file.size - 1196, quarter, 4);
    troupe_function_release(&f);
    troupe_library_destroy(&library);
    free(file.data);
}
END_TEST

/* A library with one constant of 300 elements of every type that there is. */
static troupe_library *every_type(void)
{
    troupe_error err;
    static uint8_t pattern[300 * 32];
    const int64_t dims[] = {300};
    troupe_library *library = NULL;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = i % 3 == 0;
    ck_ok(troupe_library_new(&library, &err));
    for (int dtype = 1; troupe_dtype_name((troupe_dtype)dtype); dtype++) {
        if (dtype == TROUPE_STRING) continue; /* of texts: below */
        troupe_builder *b = NULL;
        troupe_function *f = NULL;
        troupe_tensor *w = NULL;
        troupe_value v;
        ck_ok(troupe_tensor_new(&w, (troupe_dtype)dtype, 1, dims, pattern, &err));
        ck_ok(troupe_builder_new(&b, troupe_dtype_name((troupe_dtype)dtype), NULL, &err));
        ck_ok(troupe_builder_constant(b, "w", w, &v, &err));
        ck_ok(troupe_builder_result(b, "w", v, &err));
        ck_ok(troupe_builder_finish(&b, &f, &err));
        ck_ok(troupe_library_add(library, f, &err));
        troupe_function_release(&f);
        troupe_tensor_release(&w);
    }
    char *text = graphs_repeat("function texts() -> (w)\n    w = string[301] [\"\\x00\"",
                               ", \"\\xff\\n\"", 300, "]\n");
    ck_ok(troupe_library_read(library, "t", text, strlen(text), &err));
    tp_free(text);
    return library;
}

START_TEST(constants_of_every_type_come_back)
{
    troupe_error err;
    const struct path path = in_folder("x.troupe");
    troupe_library *library = every_type();
    ck_ok(troupe_library_save(library, NULL, path.text, forms[_i], &err));
    troupe_library *back = loaded(path.text, NULL);
    ck_same_library(library, back);
    troupe_library_destroy(&library);
    troupe_library_destroy(&back);
}
END_TEST

/* -- Bytes from anyone --------------------------------------------------------------------- */

START_TEST(every_cut_of_a_file_is_refused)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_BINARY);
    struct stat is;
    ck_assert_int_eq(stat(path.text, &is), 0);
    const size_t pieces = tp_alloc_pieces();
    for (off_t size = is.st_size - 1; size >= 4; size--) {
        ck_assert_int_eq(truncate(path.text, size), 0);
        ck_fails(load_bad(path.text, &err), CORRUPT, "/x.troupe: ");
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    }
}
END_TEST

/* Only padding may be another. */
START_TEST(every_flipped_bit_of_a_file_is_refused_or_lies_between_its_parts)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_BINARY);
    struct bytes file = read_bytes(path.text);
    const size_t pieces = tp_alloc_pieces(), frame = file.size - 1200;
    for (size_t at = 4; at < file.size; at++) {
        poke(path.text, at, file.data[at] ^ 1 << (at + (size_t)_i) % 8);
        const troupe_status status = load_bad(path.text, &err);
        poke(path.text, at, file.data[at]);
        ck_assert_msg(status == TROUPE_CORRUPT || status == TROUPE_UNSUPPORTED ||
                          (status == TROUPE_OK && at < frame && at >= frame - 63),
                      "byte %zu: %s", at, troupe_status_name(status));
        ck_assert_uint_eq(tp_alloc_pieces(), pieces);
    }
    free(file.data);
}
END_TEST

START_TEST(a_wrong_checksum_is_told_with_both)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_BINARY);
    struct bytes file = read_bytes(path.text);
    file.data[100] ^= 1; /* of the functions */
    write_bytes(path.text, file.data, file.size);
    ck_fails(load_bad(path.text, &err), CORRUPT, "x.troupe: its checksum: ");
    ck_assert_ptr_nonnull(strstr(err.text, " was expected, it is "));
    file.data[100] ^= 1;
    file.data[file.size - 1] ^= 1; /* of the constant */
    write_bytes(path.text, file.data, file.size);
    ck_fails(load_bad(path.text, &err), CORRUPT, "constant 'w': the checksum of a tensor: ");
    ck_assert_ptr_nonnull(strstr(err.text, " was expected, it is "));
    free(file.data);
}
END_TEST

/* Numbers that lie, under a checksum that is right where that can be. */
static const struct {
    size_t at;
    uint64_t number;
    const char *word;
} lies[] = {
    {16, 0, "bytes, not 0 as its header says"},
    {16, UINT64_MAX, "not 18446744073709551615 as its header says"},
    {24, UINT64_MAX, "byte 24: 18446744073709551615 bytes of functions"},
    {24, 0, "something follows the last frame"},
    {32, UINT64_MAX, "18446744073709551615 frames in "},
    {32, UINT64_C(1) << 61, "2305843009213693952 frames in "},
    {32, 0, "something follows the last frame"},
    {64, UINT64_MAX, "frame 0 of 18446744073709551615 bytes is not whole"},
    {64, UINT64_MAX - 63, "frame 0 of 18446744073709551552 bytes is not whole"},
    {64, 1201, "frame 0 of 1201 bytes is not whole"},
    {64, 1199, "something follows the last frame"},
};

static uint64_t number_at(const char *at)
{
    uint64_t number = 0;
    for (int i = 8; i-- > 0;)
        number = number << 8 | (uint8_t)at[i];
    return number;
}

static void put_number(char *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (char)(number >> 8 * i);
}

static void stamp(struct bytes *file)
{
    const uint64_t form = number_at(file->data + 24), frames = number_at(file->data + 32);
    if (frames > file->size / 8 || form > file->size - 64 - 8 * frames) return; /* nobody can */
    char all[4096];
    const size_t rest = (size_t)(8 * frames + form);
    ck_assert_uint_lt(rest, sizeof all - 48);
    memcpy(all, file->data, 48);
    memcpy(all + 48, file->data + 64, rest);
    const XXH128_hash_t hash = XXH3_128bits(all, 48 + rest);
    put_number(file->data + 48, hash.high64);
    put_number(file->data + 56, hash.low64);
}

START_TEST(a_size_that_lies_is_refused_though_the_checksum_is_right)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_BINARY);
    struct bytes file = read_bytes(path.text);
    stamp(&file); /* as it was */
    write_bytes(path.text, file.data, file.size);
    ck_ok(load_bad(path.text, &err));
    put_number(file.data + lies[_i].at, lies[_i].number);
    stamp(&file);
    write_bytes(path.text, file.data, file.size);
    ck_fails(load_bad(path.text, &err), CORRUPT, lies[_i].word);
    free(file.data);
}
END_TEST

START_TEST(another_version_of_a_file_is_unsupported_and_named)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_BINARY);
    struct bytes file = read_bytes(path.text);
    file.data[8] = 7;
    write_bytes(path.text, file.data, file.size);
    ck_fails(load_bad(path.text, &err), UNSUPPORTED,
             "x.troupe: a file of version 7; here it is 1");
    free(file.data);
}
END_TEST

START_TEST(a_file_that_was_transferred_as_a_text_is_recognised)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_BINARY);
    struct bytes file = read_bytes(path.text);
    memmove(file.data + 4, file.data + 5, file.size - 5); /* no carriage return */
    write_bytes(path.text, file.data, file.size - 1);
    ck_fails(load_bad(path.text, &err), CORRUPT, "took it for a text");
    free(file.data);
}
END_TEST

/* -- Texts --------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    troupe_status status;
    const char *word;
} stamped[] = {
    {"function f()\n", TROUPE_OK, NULL},
    {"troupe 1\nfunction f()\n", TROUPE_OK, NULL},
    {"\n# by hand\n  troupe  1 # this one\n\nfunction f()", TROUPE_OK, NULL},
    {"troupe 2\nfunction f()\n", TROUPE_UNSUPPORTED, ":1:8: a text of version 2; here it is 1"},
    {"troupe 10\n", TROUPE_UNSUPPORTED, ":1:8: a text of version 10; here it is 1"},
    {"troupe\nfunction f()\n", TROUPE_INVALID, ":1:7: the number of a version expected"},
    {"troupe one\n", TROUPE_INVALID, ":1:8: the number of a version expected"},
    {"troupe 1 function f()\n", TROUPE_INVALID, ":1:10: "},
    {"function f()\ntroupe 1\n", TROUPE_INVALID, ":2:8: "},
    {"function f()\n# xxh3 0123456789abcdef0123456789abcdef\n", TROUPE_CORRUPT,
     ":2:8: the checksum is "},
    {"function f()\n# xxh3 x", TROUPE_CORRUPT, ":2:8: the checksum is "},
    {"function f()\n# xxh3 4\n\n \n", TROUPE_CORRUPT, ":2:8: the checksum is "},
    {"function f()\n# xxh3 is a hash\nfunction g()\n", TROUPE_OK, NULL},
};

START_TEST(a_text_may_have_a_version_and_a_checksum)
{
    troupe_error err = {0};
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    const troupe_status status =
        troupe_library_read(library, "t", stamped[_i].text, strlen(stamped[_i].text), &err);
    ck_assert_msg(status == stamped[_i].status, "%s: %s", troupe_status_name(status), err.text);
    if (stamped[_i].word)
        ck_assert_msg(strstr(err.text, stamped[_i].word) != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_changed_text_is_refused_until_its_checksum_is_taken_out)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_TEXT);
    struct bytes file = read_bytes(path.text);
    ck_assert_mem_eq(file.data, "troupe 1\n", 9);
    char *line = file.data + file.size - strlen("# xxh3 \n") - 32;
    ck_assert_mem_eq(line, "# xxh3 ", 7);
    *strstr(file.data, "0.1") = '1';
    write_bytes(path.text, file.data, file.size);
    ck_fails(load_bad(path.text, &err), CORRUPT, "x.troupe:11:8: the checksum is ");
    write_bytes(path.text, file.data, (size_t)(line - file.data));
    ck_ok(load_bad(path.text, &err));
    free(file.data);
}
END_TEST

START_TEST(a_text_has_its_large_constants_in_a_folder_beside_it)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_TEXT), beside = in_folder("x.troupe.d");
    ck_assert_uint_eq(count_files(beside.text), 1);
    ck_assert_uint_eq(count_files(folder), 2);
    troupe_library *library = some_library();
    ck_ok(troupe_library_save(library, "f", path.text, TROUPE_FILE_TEXT, &err));
    ck_assert_uint_eq(count_files(beside.text), 1); /* it has the same name again */
    troupe_library_destroy(&library);
}
END_TEST

/* Nothing that could not be loaded is written. */
START_TEST(where_the_folder_of_constants_should_be_is_nothing_else)
{
    troupe_error err;
    const struct path path = in_folder("x.troupe"), beside = in_folder("x.troupe.d"),
                      real = in_folder("real");
    troupe_library *library = some_library();
    ck_assert_int_eq(mkdir(real.text, 0777), 0);
    if (_i == 0)
        ck_assert_int_eq(symlink(real.text, beside.text), 0);
    else
        write_bytes(beside.text, "x", 1);
    ck_fails(troupe_library_save(library, "f", path.text, TROUPE_FILE_TEXT, &err), INVALID,
             "x.troupe.d', where something else is");
    ck_assert_uint_eq(count_files(folder), 2);
    ck_assert_uint_eq(count_files(real.text), 0);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_changed_constant_beside_a_text_is_refused_with_both_checksums)
{
    troupe_error err;
    const struct path path = saved(TROUPE_FILE_TEXT);
    struct bytes file = read_bytes(path.text);
    file.data[file.size] = 0;
    const char *name = strstr(file.data, "x.troupe.d/");
    ck_assert_ptr_nonnull(name);
    const char *sum = strstr(file.data, " xxh3 \"");
    ck_assert_ptr_nonnull(sum);
    ck_assert_mem_eq(sum + 7, name + 11, 32); /* the file is named by it */
    char beside[80];
    snprintf(beside, sizeof beside, "%.47s", name);
    const struct path constant = in_folder(beside);
    struct bytes array = read_bytes(constant.text);
    poke(constant.text, array.size - 1, 0);
    ck_fails(load_bad(path.text, &err), CORRUPT, "x.troupe:4:23: the checksum of 'x.troupe.d/");
    ck_assert_ptr_nonnull(strstr(err.text, " was expected, it is "));
    free(array.data);
    free(file.data);
}
END_TEST

static const struct {
    const char *clause, *word;
} clauses[] = {
    {"xxh3", ":2:25: a checksum in quotes expected"},
    {"xxh3 4", ":2:26: a checksum in quotes expected"},
    {"xxh3 \"\"", ":2:26: "},
    {"xxh3 \"0\" \"1\"", ":2:30: "},
};

START_TEST(a_malformed_checksum_of_a_constant_is_told_with_its_place)
{
    char text[100];
    troupe_error err;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    snprintf(text, sizeof text, "function f()\n w = i8[2] file \"w\" %s", clauses[_i].clause);
    ck_ok(troupe_library_new(&library, &err));
    ck_fails(troupe_library_read(library, "t", text, strlen(text), &err), INVALID,
             clauses[_i].word);
}
END_TEST

/* -- Failures ------------------------------------------------------------------------------ */

START_TEST(a_failure_to_save_leaves_what_was_there)
{
    troupe_error err;
    const struct path old = in_folder("old"), none = in_folder("none/x.troupe"),
                      onnx = in_folder("x.onnx");
    troupe_library *library = some_library(), *other = NULL;
    write_bytes(old.text, "old", 3);
    ck_fails(troupe_library_save(library, "h", old.text, forms[_i], &err), NOT_FOUND,
             "/old: there is no function 'h'");
    ck_fails(troupe_library_save(library, "f", none.text, forms[_i], &err), NOT_FOUND,
             "none/x.troupe: create: No such file");
    ck_fails(troupe_library_save(library, "f", folder, forms[_i], &err), INVALID,
             "not a regular file");
    ck_fails(troupe_library_save(library, "f", onnx.text, forms[_i], &err), INVALID,
             "x.onnx: the name is that of an ONNX model");
    troupe_function *f = graphs_find(library, "f");
    ck_ok(troupe_library_new(&other, &err));
    ck_ok(troupe_library_add(other, f, &err));
    ck_fails(troupe_library_save(other, "f", old.text, forms[_i], &err), INVALID,
             "there is no function 'g'");
    ck_assert_uint_eq(count_files(folder), 1);
    struct bytes file = read_bytes(old.text);
    ck_assert_uint_eq(file.size, 3);
    free(file.data);
    troupe_function_release(&f);
    troupe_library_destroy(&other);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_form_that_there_is_not_is_invalid)
{
    troupe_error err;
    const struct path path = in_folder("x");
    troupe_library *library = some_library();
    ck_fails(troupe_library_save(library, "f", path.text, (troupe_file_form)2, &err), INVALID,
             "no form 2");
    ck_assert_uint_eq(count_files(folder), 0);
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(as_a_text_nothing_but_main_is_the_main_function_beside_one_of_that_name)
{
    troupe_error err;
    const char *name;
    const struct path path = in_folder("x.troupe");
    troupe_library *library = graphs_library("function f()\nfunction main()\n");
    ck_fails(troupe_library_save(library, "f", path.text, TROUPE_FILE_TEXT, &err), INVALID,
             "'f' is not the main function beside one called 'main'");
    ck_ok(troupe_library_save(library, "f", path.text, TROUPE_FILE_BINARY, &err));
    troupe_library_destroy(&library);
    library = loaded(path.text, &name);
    ck_assert_str_eq(name, "f");
    troupe_library_destroy(&library);
}
END_TEST

static troupe_file_form starved_form;

static troupe_status whole(troupe_error *err)
{
    static const char text[] = "function f(x: f32[n]) -> (y)\n    y = Relu(x)\n";
    const struct path path = in_folder("starved");
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL, *back = NULL;
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_read(library, "t", text, strlen(text), err));
    const troupe_status status =
        troupe_library_save(library, "f", path.text, starved_form, err);
    ck_assert_uint_eq(count_files(folder), status < 0 ? 0 : 1);
    TP_TRY(status);
    TP_TRY(troupe_library_new(&back, err));
    const troupe_status again = troupe_library_load(back, path.text, NULL, err);
    ck_assert_int_eq(unlink(path.text), 0);
    return again;
}

START_TEST(memory_that_runs_out_is_said_and_leaves_no_files)
{
    starved_form = forms[_i];
    graphs_starve(whole);
}
END_TEST

/* With a constant in a folder. */
START_TEST(memory_that_runs_out_leaves_no_folder_either)
{
    troupe_error err;
    const struct path path = in_folder("x.troupe");
    troupe_library *library = some_library();
    troupe_status status = TROUPE_EXHAUSTED;
    for (uint64_t n = 1; status == TROUPE_EXHAUSTED; n++) {
        ck_assert_uint_eq(count_files(folder), 0);
        tp_alloc_fail_at(n, 1);
        status = troupe_library_save(library, "f", path.text, TROUPE_FILE_TEXT, &err);
        tp_alloc_fail_at(0, 0);
    }
    ck_ok(status);
    troupe_library_destroy(&library);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("import/native");
    TCase *t = tcase_create("files");
    const int n = TP_COUNT(forms);
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_loop_test(t, a_library_comes_back_from_a_file_with_its_main_function, 0, n);
    tcase_add_loop_test(t, a_library_without_functions_comes_back, 0, n);
    tcase_add_loop_test(t, a_file_is_added_to_what_a_library_has, 0, n);
    tcase_add_test(t, the_bytes_of_a_file_depend_on_the_functions_alone);
    tcase_add_test(t, tensors_lie_at_multiples_of_64_little_endian);
    tcase_add_loop_test(t, constants_of_every_type_come_back, 0, n);
    tcase_add_test(t, every_cut_of_a_file_is_refused);
    tcase_add_loop_test(t, every_flipped_bit_of_a_file_is_refused_or_lies_between_its_parts, 0,
                        8);
    tcase_add_test(t, a_wrong_checksum_is_told_with_both);
    tcase_add_loop_test(t, a_size_that_lies_is_refused_though_the_checksum_is_right, 0,
                        TP_COUNT(lies));
    tcase_add_test(t, another_version_of_a_file_is_unsupported_and_named);
    tcase_add_test(t, a_file_that_was_transferred_as_a_text_is_recognised);
    tcase_add_loop_test(t, a_text_may_have_a_version_and_a_checksum, 0, TP_COUNT(stamped));
    tcase_add_test(t, a_changed_text_is_refused_until_its_checksum_is_taken_out);
    tcase_add_test(t, a_text_has_its_large_constants_in_a_folder_beside_it);
    tcase_add_loop_test(t, where_the_folder_of_constants_should_be_is_nothing_else, 0, 2);
    tcase_add_test(t, a_changed_constant_beside_a_text_is_refused_with_both_checksums);
    tcase_add_loop_test(t, a_malformed_checksum_of_a_constant_is_told_with_its_place, 0,
                        TP_COUNT(clauses));
    tcase_add_loop_test(t, a_failure_to_save_leaves_what_was_there, 0, n);
    tcase_add_test(t, a_form_that_there_is_not_is_invalid);
    tcase_add_test(t, as_a_text_nothing_but_main_is_the_main_function_beside_one_of_that_name);
    tcase_add_loop_test(t, memory_that_runs_out_is_said_and_leaves_no_files, 0, n);
    tcase_add_test(t, memory_that_runs_out_leaves_no_folder_either);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
