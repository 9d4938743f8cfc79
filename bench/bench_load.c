/* SPDX-License-Identifier: MIT
 *
 * bench/bench_load.c - models into libraries, from ONNX, from a text, from our binary form; and
 * the way to the last.
 *
 * load.fashion.* is the picture classifier of examples/fashion, load.large.* a function with
 * one constant of 64 MiB. The files are in the page cache. TROUPE_BENCH_MODEL=FILE adds
 * load.model.*.
 */
#include <stdlib.h>
#include <unistd.h>

#include "bench/bench.h"
#include "troupe/troupe.h"

#ifndef BENCH_TOP
#define BENCH_TOP "."
#endif
#define MODEL BENCH_TOP "/examples/fashion/fashion_mnist_cnn.onnx"

static troupe_status load(void *path, uint64_t times, troupe_error *err)
{
    for (; times > 0; times--) {
        troupe_library *library = NULL;
        troupe_status status = troupe_library_new(&library, err);
        if (status >= 0) status = troupe_library_load(library, path, NULL, err);
        troupe_library_destroy(&library);
        if (status < 0) return status;
    }
    return TROUPE_OK;
}

/* A library and where it goes. */
struct saving {
    troupe_library *library;
    const char *main;
    char binary[64], text[64];
};

static troupe_status save(void *arg, uint64_t times, troupe_error *err)
{
    const struct saving *s = arg;
    troupe_status status = TROUPE_OK;
    for (; status >= 0 && times > 0; times--)
        status = troupe_library_save(s->library, s->main, s->binary, TROUPE_FILE_BINARY, err);
    return status;
}

static void measure(struct bench *b, const char *model, const char *what, bench_fn *fn,
                    void *arg)
{
    char name[64];
    snprintf(name, sizeof name, "load.%s.%s", model, what);
    bench_time(b, &(struct bench_work){.name = name, .unit = "ms", .fn = fn, .arg = arg});
}

/* Both of our forms of what is in the library. */
static void measure_own(struct bench *b, const char *folder, const char *model,
                        struct saving *s)
{
    troupe_error err;
    snprintf(s->binary, sizeof s->binary, "%s/%s.bin", folder, model);
    snprintf(s->text, sizeof s->text, "%s/%s.text", folder, model);
    if (troupe_library_save(s->library, s->main, s->binary, TROUPE_FILE_BINARY, &err) < 0 ||
        troupe_library_save(s->library, s->main, s->text, TROUPE_FILE_TEXT, &err) < 0) {
        bench_failed(b, model, &err);
        return;
    }
    measure(b, model, "binary", load, s->binary);
    measure(b, model, "text", load, s->text);
    measure(b, model, "save", save, s);
}

static void measure_onnx(struct bench *b, const char *folder, const char *model, char *path)
{
    struct saving s = {0};
    troupe_error err;
    if (troupe_library_new(&s.library, &err) < 0 ||
        troupe_library_load(s.library, path, &s.main, &err) < 0) {
        bench_failed(b, model, &err);
    } else {
        measure(b, model, "onnx", load, path);
        measure_own(b, folder, model, &s);
    }
    troupe_library_destroy(&s.library);
}

static troupe_status build_large(troupe_builder *b, troupe_error *err)
{
    static const int64_t dims[] = {4096, 4096};
    troupe_tensor *w = NULL;
    troupe_value v;
    troupe_status status = troupe_tensor_new(&w, TROUPE_F32, 2, dims, NULL, err);
    if (status >= 0) status = troupe_builder_constant(b, "w", w, &v, err);
    if (status >= 0) status = troupe_builder_result(b, "w", v, err);
    troupe_tensor_release(&w);
    return status;
}

static troupe_status make_large(troupe_library *library, troupe_error *err)
{
    troupe_builder *b = NULL;
    troupe_function *f = NULL;
    troupe_status status = troupe_builder_new(&b, "large", NULL, err);
    if (status >= 0) status = build_large(b, err);
    if (status >= 0) status = troupe_builder_finish(&b, &f, err);
    if (status >= 0) status = troupe_library_add(library, f, err);
    troupe_builder_destroy(&b);
    troupe_function_release(&f);
    return status;
}

static void measure_large(struct bench *b, const char *folder)
{
    struct saving s = {.main = "large"};
    troupe_error err;
    if (troupe_library_new(&s.library, &err) < 0 || make_large(s.library, &err) < 0)
        bench_failed(b, "large", &err);
    else
        measure_own(b, folder, "large", &s);
    troupe_library_destroy(&s.library);
}

static void remove_folder(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "%s stays\n", folder);
}

int main(int argc, char **argv)
{
    struct bench b;
    char folder[] = "/tmp/bench-load-XXXXXX", fashion[] = MODEL;
    bench_open(&b, argc, argv);
    if (!mkdtemp(folder)) bench_skip(&b, "no folder in /tmp");
    measure_onnx(&b, folder, "fashion", fashion);
    if (getenv("TROUPE_BENCH_MODEL"))
        measure_onnx(&b, folder, "model", getenv("TROUPE_BENCH_MODEL"));
    measure_large(&b, folder);
    remove_folder(folder);
    return bench_close(&b);
}
