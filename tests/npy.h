/* SPDX-License-Identifier: MIT
 *
 * tests/npy.h - files in the .npy format, byte by byte, for the suites about them.
 */
#ifndef TP_TESTS_NPY_H
#define TP_TESTS_NPY_H

#include "tensor/tensor.h"
#include "tests/test.h"

/* A folder of its own before each test, and nothing of it afterwards: a checked fixture. */
void npy_begin(void);
void npy_end(void);
const char *npy_folder(void);
/* The file of the test in it; a test may make it another name. */
char *npy_path(void);
/* Remove all files of the folder; how many they were. */
int npy_empty(void);

void npy_put_bytes(const void *bytes, size_t size);
/* The whole file; the caller's to free. */
char *npy_get_bytes(size_t *size);
/* A file of that version, header and cells; returns where the cells start. */
size_t npy_put(int version, const char *head, const void *cells, size_t size);
size_t npy_put_array(const char *descr, const char *shape, const void *cells, size_t size);
/* The file is read as that value. */
void npy_reads(const char *text);
/* Reading fails with that code; its text has the path and the word. */
void npy_refuses(troupe_status code, const char *word);

/* A value of each type, in text form. */
#define NPY_VALUES 23
extern const char *const npy_values[NPY_VALUES];

#endif
