/* SPDX-License-Identifier: MIT
 *
 * bench/subject.c - writes the measured functions as text, and calls them.
 */
#include "bench/subject.h"

#include <stdlib.h>
#include <string.h>

troupe_status subject_runtime(troupe_runtime **out, const char *devices, int workers,
                              troupe_error *err)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.workers = workers;
    return troupe_open(out, &options, err);
}

void subject_release(struct subject *s)
{
    for (size_t i = 0; i < s->n_args; i++)
        troupe_tensor_release(&s->args[i]);
    troupe_function_release(&s->function);
    *s = (struct subject){0};
}

/* -- functions ----------------------------------------------------------------------------- */

/* The only function of a text. */
static troupe_status read_function(troupe_function **out, const char *name, const char *text,
                                   size_t size, troupe_error *err)
{
    troupe_library *library = NULL;
    troupe_status s = troupe_library_new(&library, err);
    if (s >= 0) s = troupe_library_read(library, name, text, size, err);
    if (s >= 0) s = troupe_library_find(library, name, out, err);
    troupe_library_destroy(&library);
    return s;
}

static troupe_status add_arg(struct subject *s, int rank, const int64_t *dims, float value,
                             troupe_error *err)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    float *data = malloc(n * sizeof(*data));
    if (!data) return bench_fail(err, TROUPE_EXHAUSTED, "%zu floats", n);
    for (size_t i = 0; i < n; i++)
        data[i] = value * (float)(i % 16 + 1) / 16;
    const troupe_status status =
        troupe_tensor_new(&s->args[s->n_args], TROUPE_F32, rank, dims, data, err);
    free(data);
    if (status >= 0) s->n_args++;
    return status;
}

static troupe_status make(struct subject *s, troupe_runtime *runtime, const char *name,
                          const char *text, size_t size, size_t n_args, int rank,
                          const int64_t *dims, float value, troupe_error *err)
{
    troupe_status status = read_function(&s->function, name, text, size, err);
    for (size_t i = 0; i < n_args && status >= 0; i++)
        status = add_arg(s, rank, dims, value, err);
    s->runtime = runtime;
    if (status >= 0) s->n_results = troupe_function_results(s->function);
    if (status < 0) subject_release(s);
    return status;
}

static troupe_status make_small(struct subject *s, troupe_runtime *runtime, const char *name,
                                const char *text, size_t n_args, troupe_error *err)
{
    const int64_t dims[] = {16};
    return make(s, runtime, name, text, strlen(text), n_args, 1, dims, 0.5f, err);
}

troupe_status subject_one(struct subject *s, troupe_runtime *runtime, troupe_error *err)
{
    return make_small(s, runtime, "one",
                      "function one(x: f32[16], a: f32[16]) -> (r: f32[16])\n"
                      "    r = Add(x, a)  @cpu:0\n",
                      2, err);
}

troupe_status subject_two(struct subject *s, troupe_runtime *runtime, troupe_error *err)
{
    return make_small(s, runtime, "two",
                      "function two(x: f32[16], a: f32[16], b: f32[16]) -> (r: f32[16])\n"
                      "    y = Add(x, a)  @cpu:0\n"
                      "    z = Mul(y, b)  @cpu:1\n"
                      "    r = Add(z, y)  @cpu:0\n",
                      3, err);
}

troupe_status subject_chain(struct subject *s, troupe_runtime *runtime, int n, int devices,
                            troupe_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return bench_fail(err, TROUPE_EXHAUSTED, "the chain's text");
    fprintf(f, "function chain(t: f32[16], a: f32[16], b: f32[16]) -> (t%d: f32[16])\n", n - 1);
    for (int i = 0; i < n; i++) {
        fprintf(f, "    t%d = %s(", i, i % 2 ? "Mul" : "Add");
        if (i) fprintf(f, "t%d, ", i - 1);
        fprintf(f, "%s%s)  @cpu:%d\n", i ? "" : "t, ", i % 2 ? "b" : "a", i % devices);
    }
    fclose(f);
    const troupe_status status = make_small(s, runtime, "chain", text, 3, err);
    free(text);
    return status;
}

troupe_status subject_blocks(struct subject *s, troupe_runtime *runtime, int n, int block,
                             int devices, troupe_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return bench_fail(err, TROUPE_EXHAUSTED, "the blocks' text");
    fprintf(f, "function blocks(t: f32[16], a: f32[16]) -> (t%d: f32[16])\n", n - 1);
    for (int i = 0; i < n; i++) {
        fprintf(f, "    t%d = %s(", i, i % 2 ? "Mul" : "Add");
        if (i) fprintf(f, "t%d, ", i - 1);
        fprintf(f, "%sa)  @cpu:%d\n", i ? "" : "t, ", i / block % devices);
    }
    fclose(f);
    const troupe_status status = make_small(s, runtime, "blocks", text, 2, err);
    free(text);
    return status;
}

troupe_status subject_long_chain(struct subject *s, troupe_runtime *runtime, troupe_error *err)
{
    return subject_chain(s, runtime, SUBJECT_CHAIN, 1, err);
}

troupe_status subject_alternating(struct subject *s, troupe_runtime *runtime, troupe_error *err)
{
    return subject_chain(s, runtime, SUBJECT_CHAIN, 2, err);
}

troupe_status subject_shards(struct subject *s, troupe_runtime *runtime, int size, int products,
                             int second, troupe_error *err)
{
    const int64_t dims[] = {size, size};
    char type[32], *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return bench_fail(err, TROUPE_EXHAUSTED, "the shards' text");
    snprintf(type, sizeof(type), "f32[%d,%d]", size, size);
    fprintf(f, "function shards(p: %s, q: %s, v: %s, w: %s) -> (p%d: %s, q%d: %s)\n", type,
            type, type, type, products - 1, type, products - 1, type);
    for (int shard = 0; shard < 2; shard++) {
        const char x = "pq"[shard], y = "vw"[shard];
        fprintf(f, "    %c0 = MatMul(%c, %c)  @cpu:%d\n", x, x, y, shard ? second : 0);
        for (int i = 1; i < products; i++)
            fprintf(f, "    %c%d = MatMul(%c%d, %c)  @cpu:%d\n", x, i, x, i - 1, y,
                    shard ? second : 0);
    }
    fclose(f);
    const troupe_status status =
        make(s, runtime, "shards", text, bytes, 4, 2, dims, 1.9f / (float)size, err);
    free(text);
    return status;
}

troupe_status subject_model(struct subject *s, troupe_runtime *runtime, const char *path,
                            int rank, const int64_t *dims, troupe_error *err)
{
    const char *name;
    troupe_library *library = NULL;
    troupe_status status = troupe_library_new(&library, err);
    if (status >= 0) status = troupe_library_load(library, path, &name, err);
    if (status >= 0) status = troupe_library_find(library, name, &s->function, err);
    if (status >= 0) status = add_arg(s, rank, dims, 1, err);
    troupe_library_destroy(&library);
    s->runtime = runtime;
    if (status >= 0) s->n_results = troupe_function_results(s->function);
    if (status < 0) subject_release(s);
    return status;
}

/* -- calls --------------------------------------------------------------------------------- */

troupe_status subject_run_once(const struct subject *s, troupe_error *err)
{
    troupe_tensor *results[SUBJECT_RESULTS] = {NULL};
    const troupe_status status =
        troupe_run(s->runtime, s->function, (const troupe_tensor *const *)s->args, s->n_args,
                   results, s->n_results, s->options, err);
    if (status > 0) return bench_fail(err, TROUPE_INTERNAL, "%s", troupe_status_name(status));
    for (size_t i = 0; i < s->n_results; i++)
        troupe_tensor_release(&results[i]);
    return status;
}

troupe_status subject_run(void *arg, uint64_t times, troupe_error *err)
{
    troupe_status status = TROUPE_OK;
    for (uint64_t i = 0; i < times && status >= 0; i++)
        status = subject_run_once(arg, err);
    return status;
}
