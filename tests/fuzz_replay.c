/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_replay.c - the corpus of a fuzz target as a suite: a test for each file.
 *
 *   fuzz_NAME [FOLDER]      the files of FOLDER; by default of tests/corpus/NAME under $TOP
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz.h"
#include "tests/test.h"

#define MAX_SIZE 65536

static struct {
    char folder[1000];
    struct dirent **files;
    int n;
} corpus;

START_TEST(an_input_of_the_corpus_does_no_harm)
{
    char path[2000];
    uint8_t *data = malloc(MAX_SIZE);
    snprintf(path, sizeof path, "%s/%s", corpus.folder, corpus.files[_i]->d_name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file && data, "%s cannot be opened", path);
    const size_t size = fread(data, 1, MAX_SIZE, file);
    fclose(file);
    /* Memory of exactly that size, so that the sanitizer sees what is read behind it. */
    uint8_t *exact = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, data, size);
    free(data);
    ck_assert_int_eq(LLVMFuzzerTestOneInput(exact, size), 0);
    free(exact);
}
END_TEST

START_TEST(there_is_a_corpus)
{
    ck_assert_msg(corpus.n > 0, "no files in %s", corpus.folder);
}
END_TEST

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* "tests/fuzz_scan" -> "scan". */
static const char *name_of(const char *program)
{
    const char *name = strstr(program, "fuzz_");
    for (const char *next; name && (next = strstr(name + 1, "fuzz_"));)
        name = next;
    return name ? name + strlen("fuzz_") : program;
}

int main(int argc, char **argv)
{
    const char *top = getenv("TOP");
    if (argc > 1)
        snprintf(corpus.folder, sizeof corpus.folder, "%s", argv[1]);
    else
        snprintf(corpus.folder, sizeof corpus.folder, "%s/tests/corpus/%s", top ? top : ".",
                 name_of(argv[0]));
    corpus.n = scandir(corpus.folder, &corpus.files, is_input, alphasort);
    Suite *s = suite_create(name_of(argv[0]));
    TCase *t = tcase_create("corpus");
    tcase_add_test(t, there_is_a_corpus);
    if (corpus.n > 0) tcase_add_loop_test(t, an_input_of_the_corpus_does_no_harm, 0, corpus.n);
    suite_add_tcase(s, t);
    const int failed = test_run(s);
    for (int i = 0; i < corpus.n; i++)
        free(corpus.files[i]);
    free(corpus.files);
    return failed;
}
