/* SPDX-License-Identifier: MIT
 *
 * bench/bench_models.c - the picture classifier of examples/fashion, on one device and on two.
 */
#include <stdlib.h>

#include "bench/subject.h"

#ifndef BENCH_TOP
#define BENCH_TOP "."
#endif
#define MODEL BENCH_TOP "/examples/fashion/fashion_mnist_cnn.onnx"
#define RULES BENCH_TOP "/examples/fashion/two-cpus.place"

static troupe_status load(struct subject *s, troupe_runtime *runtime, int64_t pictures,
                          troupe_error *err)
{
    const int64_t dims[] = {pictures, 1, 28, 28};
    return subject_model(s, runtime, MODEL, 4, dims, err);
}

/* The placement rules of the example; the caller frees them. */
static char *read_rules(void)
{
    char *text = NULL;
    size_t room = 0;
    FILE *f = fopen(RULES, "r");
    if (!f) return NULL;
    const ssize_t got = getdelim(&text, &room, '\0', f);
    fclose(f);
    if (got >= 0) return text;
    free(text);
    return NULL;
}

static void classify(struct bench *b, troupe_runtime *runtime, const char *name,
                     int64_t pictures, const troupe_call_options *options)
{
    struct subject s = {0};
    troupe_error err;
    if (!bench_wants(b, name)) return;
    if (load(&s, runtime, pictures, &err) < 0) {
        bench_failed(b, name, &err);
        return;
    }
    s.options = options;
    bench_time(b, &(struct bench_work){name, "us", 1, 0, subject_run, &s});
    subject_release(&s);
}

static void on_one_device(struct bench *b)
{
    troupe_runtime *runtime = NULL;
    troupe_error err;
    if (subject_runtime(&runtime, "cpu:0(threads=1)", TROUPE_AUTO, &err) < 0) {
        bench_failed(b, "fashion.1", &err);
        return;
    }
    classify(b, runtime, "fashion.1", 1, NULL);
    classify(b, runtime, "fashion.10", 10, NULL);
    if (troupe_close(&runtime) != TROUPE_OK) b->failures++;
}

static void on_two_devices(struct bench *b)
{
    troupe_runtime *runtime = NULL;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    troupe_error err;
    char *rules = read_rules();
    if (!rules) bench_skip(b, "no %s", RULES);
    if (subject_runtime(&runtime, TWO_CPUS, TROUPE_AUTO, &err) < 0) {
        bench_failed(b, "fashion.1.two", &err);
    } else {
        options.rules = rules;
        classify(b, runtime, "fashion.1.two", 1, &options);
        classify(b, runtime, "fashion.10.two", 10, &options);
        if (troupe_close(&runtime) != TROUPE_OK) b->failures++;
    }
    free(rules);
}

/* From the file to the first result, in a new runtime, as an old one knows the plan. */
static troupe_status load_and_run(void *arg, uint64_t times, troupe_error *err)
{
    troupe_status status = TROUPE_OK;
    (void)arg;
    for (uint64_t i = 0; i < times && status >= 0; i++) {
        struct subject s = {0};
        troupe_runtime *runtime = NULL;
        status = subject_runtime(&runtime, "cpu:0(threads=1)", TROUPE_AUTO, err);
        if (status >= 0) status = load(&s, runtime, 1, err);
        if (status >= 0) status = subject_run_once(&s, err);
        subject_release(&s);
        if (runtime) troupe_close(&runtime);
    }
    return status;
}

/* A library without the reader of models has nothing to measure. */
static void need_reader(const struct bench *b)
{
    troupe_library *library = NULL;
    troupe_error err;
    troupe_status status = troupe_library_new(&library, &err);
    if (status >= 0) status = troupe_library_load(library, MODEL, NULL, &err);
    troupe_library_destroy(&library);
    if (status < 0) bench_skip(b, "%s", err.text);
}

int main(int argc, char **argv)
{
    struct bench b;
    bench_open(&b, argc, argv);
    need_reader(&b);
    bench_first(&b, &(struct bench_work){"fashion.first", "ms", 1, 0, load_and_run, NULL});
    on_one_device(&b);
    on_two_devices(&b);
    bench_time(&b, &(struct bench_work){"fashion.load", "ms", 1, 0, load_and_run, NULL});
    return bench_close(&b);
}
