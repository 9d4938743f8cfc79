/* SPDX-License-Identifier: MIT
 *
 * bench/peer_onnxruntime.c - ONNX Runtime, by its C interface, on the work that we measure.
 *
 * The library's Python package has no header, so its table of functions is used by position;
 * the positions never change within version 1 of the interface. Results go into memory that was
 * given before, which is its fastest way.
 */
#include "bench/bench.h"
#include "bench/life.h"
#include "bench/peer.h"

#include <stdlib.h>

#ifndef BENCH_TOP
#define BENCH_TOP "."
#endif

#define API_VERSION  17
#define ARENA        1 /* OrtArenaAllocator */
#define DEFAULT      0 /* OrtMemTypeDefault */
#define FLOAT        1 /* ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT */
#define WARNING      2 /* ORT_LOGGING_LEVEL_WARNING */
#define OPTIMISE_ALL 99
#define MAX_VALUES   3

/* What is used of the table, by position. */
enum position {
    ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_OPTIONS = 10,
    SET_OPTIMISATION = 23,
    SET_THREADS = 24,
    CREATE_TENSOR = 49,
    CREATE_CPU_MEMORY = 69,
    RELEASE_ENV = 92,
    RELEASE_STATUS = 93,
    RELEASE_MEMORY = 94,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_OPTIONS = 100,
};

struct base {
    const void *const *(*api)(uint32_t version);
    const char *(*version)(void);
};

typedef void *create_env_fn(int level, const char *name, void **out);
typedef void *create_options_fn(void **out);
typedef void *set_int_fn(void *options, int value);
typedef void *create_session_fn(void *env, const char *path, void *options, void **out);
typedef void *create_memory_fn(int allocator, int type, void **out);
typedef void *create_tensor_fn(void *memory, void *data, size_t size, const int64_t *dims,
                               size_t rank, int dtype, void **out);
typedef void *run_fn(void *session, void *options, const char *const *input_names,
                     void *const *inputs, size_t n_inputs, const char *const *output_names,
                     size_t n_outputs, void **outputs);
typedef const char *message_fn(void *status);
typedef void release_fn(void *object);

struct ort {
    const struct bench *bench;
    const void *const *api;
    void *env, *memory;
};

/* One model with its inputs and its only output. */
struct model {
    struct ort *ort;
    void *session;
    const char *input_names[MAX_VALUES], *output_name;
    void *inputs[MAX_VALUES], *output;
    size_t n_inputs;
};

/* The table's entry as a function of type T. */
#define CALL(ort, T, position) ((T *)(ort)->api[position])

static troupe_status check(struct ort *ort, void *status, troupe_error *err)
{
    if (!status) return TROUPE_OK;
    bench_fail(err, TROUPE_INTERNAL, "ONNX Runtime: %s",
               CALL(ort, message_fn, ERROR_MESSAGE)(status));
    CALL(ort, release_fn, RELEASE_STATUS)(status);
    return TROUPE_INTERNAL;
}

/* For what every line needs: without it the program ends. */
static void must(struct ort *ort, void *status, const char *what)
{
    troupe_error err;
    if (check(ort, status, &err) < 0) bench_skip(ort->bench, "%s: %s", what, err.text);
}

static void open_ort(struct ort *ort, const struct bench *b)
{
    void *library = peer_library(b, "ONNXRUNTIME_LIB",
                                 "onnxruntime/lib/python3*/site-packages/onnxruntime/capi/"
                                 "libonnxruntime.so.*",
                                 "libonnxruntime.so.1");
    const struct base *(*get)(void) = NULL;
    *(void **)&get = peer_symbol(b, library, "OrtGetApiBase");
    *ort = (struct ort){.bench = b, .api = get()->api(API_VERSION)};
    if (!ort->api) bench_skip(b, "this ONNX Runtime lacks version %d of its API", API_VERSION);
    must(ort, CALL(ort, create_env_fn, CREATE_ENV)(WARNING, "bench", &ort->env), "environment");
    must(ort, CALL(ort, create_memory_fn, CREATE_CPU_MEMORY)(ARENA, DEFAULT, &ort->memory),
         "memory");
}

static void close_ort(struct ort *ort)
{
    CALL(ort, release_fn, RELEASE_MEMORY)(ort->memory);
    CALL(ort, release_fn, RELEASE_ENV)(ort->env);
}

/* threads 0: as many as ONNX Runtime likes. */
static void load(struct model *model, struct ort *ort, const char *path, int threads)
{
    void *options;
    *model = (struct model){.ort = ort};
    must(ort, CALL(ort, create_options_fn, CREATE_OPTIONS)(&options), "options");
    must(ort, CALL(ort, set_int_fn, SET_OPTIMISATION)(options, OPTIMISE_ALL), "options");
    if (threads) must(ort, CALL(ort, set_int_fn, SET_THREADS)(options, threads), "options");
    must(ort,
         CALL(ort, create_session_fn, CREATE_SESSION)(ort->env, path, options, &model->session),
         path);
    CALL(ort, release_fn, RELEASE_OPTIONS)(options);
}

static void *make_tensor(struct ort *ort, float *data, size_t rank, const int64_t *dims)
{
    void *value;
    size_t size = sizeof(float);
    for (size_t i = 0; i < rank; i++)
        size *= (size_t)dims[i];
    must(ort,
         CALL(ort, create_tensor_fn, CREATE_TENSOR)(ort->memory, data, size, dims, rank, FLOAT,
                                                    &value),
         "tensor");
    return value;
}

static void unload(struct model *model)
{
    for (size_t i = 0; i < model->n_inputs; i++)
        CALL(model->ort, release_fn, RELEASE_VALUE)(model->inputs[i]);
    CALL(model->ort, release_fn, RELEASE_VALUE)(model->output);
    CALL(model->ort, release_fn, RELEASE_SESSION)(model->session);
}

static troupe_status run(void *arg, uint64_t times, troupe_error *err)
{
    struct model *m = arg;
    run_fn *call = CALL(m->ort, run_fn, RUN);
    for (uint64_t i = 0; i < times; i++) {
        const troupe_status s = check(m->ort,
                                      call(m->session, NULL, m->input_names, m->inputs,
                                           m->n_inputs, &m->output_name, 1, &m->output),
                                      err);
        if (s < 0) return s;
    }
    return TROUPE_OK;
}

/* -- small operators ----------------------------------------------------------------------- */

struct floats {
    float x[16], a[16], b[16], r[16];
};

static void load_chain(struct model *model, struct ort *ort, struct floats *data, int n,
                       int threads)
{
    char name[64], path[4096];
    const int64_t dims[] = {16};
    snprintf(name, sizeof(name), "chain%d.onnx", n);
    peer_file(ort->bench, name, path, sizeof(path));
    load(model, ort, path, threads);
    for (int i = 0; i < 16; i++) {
        data->x[i] = data->a[i] = 0.001f;
        data->b[i] = 0.999f;
    }
    float *const values[] = {data->x, data->a, data->b};
    const char *const names[] = {"x", "a", "b"};
    for (model->n_inputs = 0; model->n_inputs < (n > 1 ? 3u : 2u); model->n_inputs++) {
        model->input_names[model->n_inputs] = names[model->n_inputs];
        model->inputs[model->n_inputs] = make_tensor(ort, values[model->n_inputs], 1, dims);
    }
    model->output_name = "r";
    model->output = make_tensor(ort, data->r, 1, dims);
}

static void time_chain(struct bench *b, struct ort *ort, const char *name, int n, double per)
{
    struct model model;
    struct floats data;
    load_chain(&model, ort, &data, n, 1);
    bench_time(b, &(struct bench_work){name, "us", per, 0, run, &model});
    unload(&model);
}

/* -- the picture classifier ---------------------------------------------------------------- */

struct pictures {
    float images[10 * 28 * 28], probabilities[10 * 10];
};

static void load_fashion(struct model *model, struct ort *ort, struct pictures *data, int n,
                         int threads)
{
    load(model, ort, BENCH_TOP "/examples/fashion/fashion_mnist_cnn.onnx", threads);
    for (int i = 0; i < 10 * 28 * 28; i++)
        data->images[i] = (float)(i % 17) / 16;
    model->input_names[0] = "image";
    model->inputs[0] = make_tensor(ort, data->images, 4, (const int64_t[]){n, 1, 28, 28});
    model->n_inputs = 1;
    model->output_name = "probabilities";
    model->output = make_tensor(ort, data->probabilities, 2, (const int64_t[]){n, 10});
}

static void time_fashion(struct bench *b, struct ort *ort, const char *name, int n, int threads)
{
    struct model model;
    struct pictures data;
    load_fashion(&model, ort, &data, n, threads);
    bench_time(b, &(struct bench_work){name, "us", 1, 0, run, &model});
    unload(&model);
}

/* From the file to the first result. */
static troupe_status load_and_run(void *arg, uint64_t times, troupe_error *err)
{
    struct pictures data;
    troupe_status s = TROUPE_OK;
    for (uint64_t i = 0; i < times && s >= 0; i++) {
        struct model model;
        load_fashion(&model, arg, &data, 1, 1);
        s = run(&model, 1, err);
        unload(&model);
    }
    return s;
}

/* -- lives --------------------------------------------------------------------------------- */

static int first_result(struct bench *b)
{
    struct ort ort;
    struct model model;
    struct floats data;
    troupe_error err;
    open_ort(&ort, b);
    load_chain(&model, &ort, &data, 1, 0);
    if (run(&model, 1, &err) < 0) return EXIT_FAILURE;
    life_report();
    unload(&model);
    close_ort(&ort);
    return EXIT_SUCCESS;
}

static void idle(struct bench *b, struct ort *ort)
{
    struct model model;
    struct floats data;
    troupe_error err;
    if (!bench_wants(b, "idle.cpu@onnxruntime")) return;
    load_chain(&model, ort, &data, 1000, 0);
    if (run(&model, 1000, &err) < 0)
        bench_failed(b, "idle@onnxruntime", &err);
    else
        life_idles(b, "@onnxruntime");
    unload(&model);
}

int main(int argc, char **argv)
{
    struct bench b;
    struct ort ort;
    const bool child = life_is_child(argc, argv);
    bench_open(&b, child ? 1 : argc, argv);
    if (child) return first_result(&b);
    open_ort(&ort, &b);
    bench_first(
        &b, &(struct bench_work){"fashion.first@onnxruntime", "ms", 1, 0, load_and_run, &ort});
    time_chain(&b, &ort, "run.one@onnxruntime", 1, 1);
    time_chain(&b, &ort, "node.chain@onnxruntime", 1000, 1000);
    time_fashion(&b, &ort, "fashion.1@onnxruntime", 1, 1);
    time_fashion(&b, &ort, "fashion.10@onnxruntime", 10, 1);
    time_fashion(&b, &ort, "fashion.1.two@onnxruntime", 1, 2);
    time_fashion(&b, &ort, "fashion.10.two@onnxruntime", 10, 2);
    bench_time(
        &b, &(struct bench_work){"fashion.load@onnxruntime", "ms", 1, 0, load_and_run, &ort});
    life_starts(&b, "@onnxruntime");
    idle(&b, &ort);
    close_ort(&ort);
    return bench_close(&b);
}
