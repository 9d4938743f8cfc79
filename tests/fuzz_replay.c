/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_replay.c - the corpus of a fuzz target as a suite: each file, every cut of those
 * that are small or were written by hand, and inputs that are wrong in the way that a seed says.
 *
 *   fuzz_NAME [FOLDER]      the files of FOLDER; by default of tests/corpus/NAME under $TOP
 *
 * FUZZ_MUTATIONS is how many inputs are made of seeds (5000). The corpus is read once, before
 * the tests; libFuzzer's own finds are called by their hash, 40 hexadecimal digits.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz.h"
#include "tests/mutate.h"
#include "tests/test.h"

#define MAX_SIZE  65536
#define SMALL     128
#define MUTATIONS 5000
#define PER_TEST  1000

static struct {
    struct mutate_input *files;
    char (*names)[256];
    int n;
    int *to_cut; /* indexes of files */
    int n_to_cut;
} corpus;

/* What the target is given now, for the words of a failure. */
static struct {
    const char *how;
    int number;
} now;

static void say_which(int signal_number)
{
    char text[200];
    const int n =
        snprintf(text, sizeof text, "signal %d at %s %d\n", signal_number, now.how, now.number);
    (void)!write(2, text, (size_t)n);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* In memory of exactly that size, so that a sanitizer sees what is read behind it. */
static void give(const uint8_t *data, size_t size, const char *how, int number)
{
    uint8_t *exact = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, data, size);
    now.how = how;
    now.number = number;
    ck_assert_int_eq(LLVMFuzzerTestOneInput(exact, size), 0);
    free(exact);
}

static void watch(void)
{
    signal(SIGILL, say_which);
    signal(SIGTRAP, say_which);
    signal(SIGABRT, say_which);
}

START_TEST(an_input_of_the_corpus_does_no_harm)
{
    watch();
    give(corpus.files[_i].data, corpus.files[_i].size, corpus.names[_i], 0);
}
END_TEST

START_TEST(an_input_that_is_cut_anywhere_does_no_harm)
{
    const int file = corpus.to_cut[_i];
    watch();
    for (size_t size = 0; size < corpus.files[file].size; size++)
        give(corpus.files[file].data, size, corpus.names[file], (int)size);
}
END_TEST

START_TEST(an_input_that_is_changed_anyhow_does_no_harm)
{
    uint8_t *data = malloc(MAX_SIZE);
    ck_assert_ptr_nonnull(data);
    watch();
    for (int i = 0; i < PER_TEST; i++) {
        const int seed = _i * PER_TEST + i;
        give(data, mutate(corpus.files, (size_t)corpus.n, (uint64_t)seed, data, MAX_SIZE),
             "seed", seed);
    }
    free(data);
}
END_TEST

START_TEST(there_is_a_corpus)
{
    ck_assert_int_gt(corpus.n, 0);
    ck_assert_int_gt(corpus.n_to_cut, 0);
}
END_TEST

/* --- the corpus ----------------------------------------------------------------------- */

static void *checked(void *memory)
{
    if (!memory) abort();
    return memory;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_hash(const char *name)
{
    return strlen(name) == 40 && strspn(name, "0123456789abcdef") == 40;
}

static struct mutate_input read_input(const char *folder, const char *name)
{
    char path[2000];
    uint8_t *data = checked(malloc(MAX_SIZE));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    const size_t size = fread(data, 1, MAX_SIZE, file);
    fclose(file);
    return (struct mutate_input){checked(realloc(data, size ? size : 1)), size};
}

static void read_corpus(const char *folder)
{
    struct dirent **entries = NULL;
    corpus.n = scandir(folder, &entries, is_input, alphasort);
    if (corpus.n < 0) corpus.n = 0;
    corpus.files = checked(calloc((size_t)corpus.n + 1, sizeof *corpus.files));
    corpus.names = checked(calloc((size_t)corpus.n + 1, sizeof *corpus.names));
    corpus.to_cut = checked(calloc((size_t)corpus.n + 1, sizeof *corpus.to_cut));
    for (int i = 0; i < corpus.n; i++) {
        snprintf(corpus.names[i], sizeof corpus.names[i], "%s", entries[i]->d_name);
        corpus.files[i] = read_input(folder, corpus.names[i]);
        if (corpus.files[i].size <= SMALL || !is_hash(corpus.names[i]))
            corpus.to_cut[corpus.n_to_cut++] = i;
        free(entries[i]);
    }
    free(entries);
}

static void free_corpus(void)
{
    for (int i = 0; i < corpus.n; i++)
        free((void *)(uintptr_t)corpus.files[i].data);
    free(corpus.files);
    free(corpus.names);
    free(corpus.to_cut);
}

/* "tests/fuzz_scan" -> "scan". */
static const char *name_of(const char *program)
{
    const char *name = strstr(program, "fuzz_");
    for (const char *next; name && (next = strstr(name + 1, "fuzz_"));)
        name = next;
    return name ? name + strlen("fuzz_") : program;
}

static void read_the_corpus_of(const char *program)
{
    char folder[1000];
    const char *top = getenv("TOP");
    snprintf(folder, sizeof folder, "%s/tests/corpus/%s", top ? top : ".", name_of(program));
    read_corpus(folder);
}

static int mutations(void)
{
    const char *wanted = getenv("FUZZ_MUTATIONS");
    return wanted && atoi(wanted) > 0 ? atoi(wanted) : MUTATIONS;
}

static TCase *cases(void)
{
    TCase *t = tcase_create("corpus");
    tcase_add_test(t, there_is_a_corpus);
    if (!corpus.n) return t;
    tcase_add_loop_test(t, an_input_of_the_corpus_does_no_harm, 0, corpus.n);
    tcase_add_loop_test(t, an_input_that_is_cut_anywhere_does_no_harm, 0, corpus.n_to_cut);
    tcase_add_loop_test(t, an_input_that_is_changed_anyhow_does_no_harm, 0,
                        (mutations() + PER_TEST - 1) / PER_TEST);
    return t;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        read_corpus(argv[1]);
    else
        read_the_corpus_of(argv[0]);
    Suite *s = suite_create(name_of(argv[0]));
    suite_add_tcase(s, cases());
    const int failed = test_run(s);
    free_corpus();
    return failed;
}
