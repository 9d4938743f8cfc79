/* SPDX-License-Identifier: MIT
 *
 * tests/npy.c - files in the .npy format, byte by byte, for the suites about them.
 */
#include "tests/npy.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[96];

void npy_begin(void)
{
    strcpy(folder, "/tmp/troupe-npy-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/t.npy", folder);
}

int npy_empty(void)
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

void npy_end(void)
{
    npy_empty();
    rmdir(folder);
}

void npy_put_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

char *npy_get_bytes(size_t *size)
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

size_t npy_put(int version, const char *head, const void *cells, size_t size)
{
    char bytes[4096];
    const size_t n = strlen(head);
    size_t at = (size_t)snprintf(bytes, sizeof(bytes), "\x93NUMPY%c", version);
    bytes[at++] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        bytes[at++] = (char)(n >> (8 * i) & 0xff);
    memcpy(bytes + at, head, n);
    memcpy(bytes + at + n, cells, size);
    npy_put_bytes(bytes, at + n + size);
    return at + n;
}

size_t npy_put_array(const char *descr, const char *shape, const void *cells, size_t size)
{
    char head[256];
    snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
             descr, shape);
    return npy_put(1, head, cells, size);
}

void npy_reads(const char *text)
{
    troupe_error err;
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    char shown[1000];
    ck_ok(troupe_tensor_read_npy(&tensor, path, &err));
    troupe_tensor_show(tensor, 0, shown, sizeof(shown));
    ck_assert_str_eq(shown, text);
}

void npy_refuses(troupe_status code, const char *word)
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

const char *npy_folder(void)
{
    return folder;
}

char *npy_path(void)
{
    return path;
}

const char *const npy_values[NPY_VALUES] = {
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
