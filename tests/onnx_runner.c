/* SPDX-License-Identifier: MIT
 *
 * tests/onnx_runner.c - ONNX's backend tests, each judged by its own data.
 *
 * Usage: onnx_runner [-1] [-l FILE] [SUITE...], a suite being a folder of test folders; without
 * any, those of Debian's package libonnx-testdata, and exit 77 where it is absent. A test has
 * passed, is wrong (other results, or a failure after a kernel ran), or was refused: by a
 * failure before any kernel ran. The judge, who shares only the kernels with the runtime, runs
 * each first; then, unless -1 asks for the judge alone, the runtime does, on one device and cut
 * at random over two, three and four, and must give the judge's very bits. -l lists each test's
 * outcome and what was missing. It fails when a test is wrong, or, with the package's suites,
 * when fewer than LEAST passed. Without any argument it is a suite of Check with one test.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "tests/evaluate.h"
#include "tests/onnx_data.h"
#include "tests/recut.h"
#include "tests/test.h"

#define DATA  "/usr/share/libonnx-testdata/data/"
#define LEAST 180

#define CUTS 3 /* seeds for each number of devices */
#define MOST 4 /* devices */

enum outcome { PASSED, WRONG, REFUSED, OUTCOMES };

static const char *const outcome_names[] = {"passed", "wrong", "refused"};

struct report {
    FILE *list; /* or NULL */
    const char *suite;
    size_t counts[OUTCOMES], all[OUTCOMES];
    troupe_runtime *runtime; /* NULL: the judge alone */
    size_t runs;             /* of the runtime */
};

/* --- the runtime must give the judge's bits ------------------------------------------- */

static bool same_bits(troupe_tensor **given, troupe_tensor *const *judged, size_t n, char *why,
                      size_t size)
{
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        if (same && !troupe_tensor_equal(given[i], judged[i])) {
            snprintf(why, size, "result %zu has other bits", i);
            same = false;
        }
        troupe_tensor_release(&given[i]);
    }
    return same;
}

static bool run_cut(struct report *report, const struct onnx_test *test, uint64_t seed,
                    int devices, troupe_tensor *const *judged, char *why, size_t size)
{
    TP_OWNED(recut_fini) struct recut recut;
    troupe_tensor *results[ONNX_VALUES] = {NULL};
    troupe_error err = {0};
    report->runs++;
    troupe_status status = recut_make(test->function, seed, devices, &recut, &err);
    if (status >= 0)
        status = recut_run(&recut, report->runtime, (const troupe_tensor *const *)test->inputs,
                           troupe_function_args(test->function), results, &err);
    if (status == TROUPE_OK) return same_bits(results, judged, test->n_outputs, why, size);
    snprintf(why, size, "%s: %.200s", troupe_status_name(status), err.text);
    return false;
}

static bool run_cuts(struct report *report, const struct onnx_test *test,
                     troupe_tensor *const *judged, char *why, size_t size)
{
    for (int devices = 1; devices <= MOST; devices++) {
        for (uint64_t seed = 0; seed < (devices == 1 ? 1 : CUTS); seed++) {
            char text[240];
            if (run_cut(report, test, seed, devices, judged, text, sizeof(text))) continue;
            snprintf(why, size, "cut over %d devices, seed %d: %s", devices, (int)seed, text);
            return false;
        }
    }
    return true;
}

/* --- one test ------------------------------------------------------------------------- */

static enum outcome compare(const struct onnx_test *test, troupe_tensor *const *results,
                            char *why, size_t size)
{
    for (size_t i = 0; i < test->n_outputs; i++) {
        char text[200];
        if (onnx_close(results[i], test->outputs[i], text, sizeof(text))) continue;
        snprintf(why, size, "result %zu: %s", i, text);
        return WRONG;
    }
    return PASSED;
}

static enum outcome run_test(struct report *report, struct onnx_test *test, char *why,
                             size_t size)
{
    troupe_tensor *results[ONNX_VALUES] = {NULL};
    troupe_error err = {0};
    size_t ran = 0;
    enum outcome outcome;
    if (troupe_function_results(test->function) != test->n_outputs) {
        snprintf(why, size, "%zu results, not %zu", troupe_function_results(test->function),
                 test->n_outputs);
        return WRONG;
    }
    const troupe_status status =
        evaluate(test->function->body, (const troupe_tensor *const *)test->inputs,
                 test->n_inputs, results, &ran, &err);
    if (status >= 0) {
        outcome = compare(test, results, why, size);
        if (outcome == PASSED && report->runtime && !run_cuts(report, test, results, why, size))
            outcome = WRONG;
    } else {
        outcome = ran > 0 ? WRONG : REFUSED;
        snprintf(why, size, "%s", err.text);
    }
    for (size_t i = 0; i < ONNX_VALUES; i++)
        troupe_tensor_release(&results[i]);
    return outcome;
}

static enum outcome judge(struct report *report, const char *folder, char *why, size_t size)
{
    struct onnx_test test;
    troupe_error err = {0};
    enum outcome outcome = REFUSED;
    const troupe_status status = onnx_test_read(&test, folder, &err);
    if (status >= 0)
        outcome = run_test(report, &test, why, size);
    else
        snprintf(why, size, "%s",
                 err.text +
                     (strncmp(err.text, folder, strlen(folder)) == 0 ? strlen(folder) + 1 : 0));
    onnx_test_fini(&test);
    return outcome;
}

/* --- all of them ---------------------------------------------------------------------- */

static void each_test(void *arg, const char *folder)
{
    struct report *const report = arg;
    char why[300] = "";
    const char *const name = strrchr(folder, '/') + 1;
    const enum outcome outcome = judge(report, folder, why, sizeof(why));
    report->counts[outcome]++;
    report->all[outcome]++;
    if (outcome == WRONG) printf("wrong: %s/%s: %s\n", report->suite, name, why);
    if (report->list)
        fprintf(report->list, "%s\t%s\t%s\t%s\n", report->suite, name, outcome_names[outcome],
                why);
}

static void say(const char *what, const size_t *counts)
{
    printf("%-20s %4zu passed, %zu wrong, %4zu refused, of %zu\n", what, counts[PASSED],
           counts[WRONG], counts[REFUSED], counts[PASSED] + counts[WRONG] + counts[REFUSED]);
}

static int run_suite(struct report *report, const char *folder)
{
    const char *const slash = strrchr(folder, '/');
    report->suite = slash && slash[1] ? slash + 1 : folder;
    memset(report->counts, 0, sizeof(report->counts));
    if (onnx_suite_each(folder, each_test, report) < 0) {
        fprintf(stderr, "onnx_runner: no folder %s\n", folder);
        return 1;
    }
    say(report->suite, report->counts);
    return 0;
}

static int run_all(struct report *report, char **folders, int n)
{
    static const char *const package[] = {DATA "node", DATA "simple", DATA "pytorch-converted",
                                          DATA "pytorch-operator"};
    int bad = 0;
    for (int i = 0; i < n; i++)
        bad |= run_suite(report, folders[i]);
    for (size_t i = 0; n == 0 && i < TP_COUNT(package); i++)
        bad |= run_suite(report, package[i]);
    say("all", report->all);
    if (n == 0 && report->all[PASSED] < LEAST) {
        printf("fewer than %d passed\n", LEAST);
        bad = 1;
    }
    return bad || report->all[WRONG] > 0;
}

/* Its devices have a thread each, as the judge has: the number of threads may choose a kernel.
 */
static int open_runtime(struct report *report)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_error err;
    options.devices = "cpu:0(threads=1),cpu:1(threads=1),cpu:2(threads=1),cpu:3(threads=1)";
    if (troupe_open(&report->runtime, &options, &err) == TROUPE_OK) return 0;
    fprintf(stderr, "onnx_runner: %s\n", err.text);
    return 1;
}

/* Every device must have had its share. */
static int close_runtime(struct report *report)
{
    int idle = 0;
    if (!report->runtime) return 0;
    printf("%zu runs by the runtime, on 1 to %d devices; shards:", report->runs, MOST);
    for (size_t i = 0; i < MOST; i++) {
        troupe_device device = {.size = sizeof(device)};
        idle |= troupe_device_at(report->runtime, i, &device) != TROUPE_OK || !device.shards;
        printf(" %zu", (size_t)device.shards);
    }
    printf("\n");
    return (troupe_close(&report->runtime) != TROUPE_OK) | (idle && report->runs > 0);
}

static int run(struct report *report, bool alone, char **folders, int n)
{
    if (!alone && open_runtime(report) != 0) return 1;
    const int bad = run_all(report, folders, n);
    return close_runtime(report) || bad;
}

START_TEST(of_onnx_own_tests_at_least_180_pass_and_none_is_wrong)
{
    struct report report = {.list = NULL};
    ck_assert_int_eq(run(&report, false, NULL, 0), 0);
}
END_TEST

static int run_as_suite(void)
{
    Suite *s = suite_create("onnx");
    TCase *t = tcase_create("backend");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, of_onnx_own_tests_at_least_180_pass_and_none_is_wrong);
    suite_add_tcase(s, t);
    return test_run(s);
}

static int main_with(int argc, char **argv, const char *list, bool alone)
{
    struct report report = {.list = list ? fopen(list, "w") : NULL};
    if (list && !report.list) {
        fprintf(stderr, "onnx_runner: %s cannot be written\n", list);
        return 2;
    }
    const int bad = run(&report, alone, argv + optind, argc - optind);
    if (report.list) fclose(report.list);
    return bad;
}

int main(int argc, char **argv)
{
    const char *list = NULL;
    bool alone = false;
    for (int option; (option = getopt(argc, argv, "1l:")) != -1;) {
        if (option == '1') alone = true;
        if (option == 'l') list = optarg;
        if (option == '?') {
            fprintf(stderr, "usage: onnx_runner [-1] [-l FILE] [SUITE...]\n");
            return 2;
        }
    }
    if (optind == argc && access(DATA "node", R_OK) != 0) {
        printf("skipped: libonnx-testdata is not installed\n");
        return 77;
    }
    return argc == 1 ? run_as_suite() : main_with(argc, argv, list, alone);
}
