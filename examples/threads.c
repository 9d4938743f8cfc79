/* SPDX-License-Identifier: MIT
 *
 * examples/threads.c - eight threads that call one function at once.
 *
 * troupe_run may be called from any thread; the calls share the function's plan and know
 * nothing of each other. Status 0 when every call gave what it should.
 */
#include <pthread.h>
#include <stdio.h>

#include <troupe/troupe.h>

enum { THREADS = 8, CALLS = 500, SIZE = 64 };

static const char text[] = "function scale(x: f32[n], by: f32[]) -> (y: f32[n])\n"
                           "    a = Mul(x, by)    @cpu:0\n"
                           "    y = Add(a, x)     @cpu:1\n";

struct thread {
    pthread_t id;
    int number;
    troupe_runtime *runtime;
    const troupe_function *scale;
    int right;
    troupe_error error;
};

/* x[i] = i, by = `by`; so y[i] is to be i * by + i, exactly. */
static troupe_status make_args(float by, troupe_tensor *args[2], troupe_error *err)
{
    static const int64_t dims[] = {SIZE};
    float x[SIZE];
    for (int i = 0; i < SIZE; i++)
        x[i] = (float)i;
    const troupe_status status = troupe_tensor_new(&args[0], TROUPE_F32, 1, dims, x, err);
    return status ? status : troupe_tensor_new(&args[1], TROUPE_F32, 0, NULL, &by, err);
}

static int is_right(const troupe_tensor *y, float by)
{
    const float *values = troupe_tensor_data(y);
    for (int i = 0; i < SIZE; i++)
        if (values[i] != (float)i * by + (float)i) return 0;
    return troupe_tensor_count(y) == SIZE;
}

static troupe_status call_once(struct thread *t, float by)
{
    troupe_tensor *args[2] = {NULL, NULL}, *y = NULL;
    troupe_status status = make_args(by, args, &t->error);
    if (status == TROUPE_OK)
        status = troupe_run(t->runtime, t->scale, (const troupe_tensor *const *)args, 2, &y, 1,
                            NULL, &t->error);
    if (status == TROUPE_OK) t->right += is_right(y, by);
    troupe_tensor_release(&y);
    troupe_tensor_release(&args[0]);
    troupe_tensor_release(&args[1]);
    return status;
}

static void *run_thread(void *arg)
{
    struct thread *t = arg;
    for (int i = 0; i < CALLS; i++)
        if (call_once(t, (float)(t->number * CALLS + i)) != TROUPE_OK) break;
    return NULL;
}

/* Start all threads, wait for all, count what went well. */
static int run_threads(troupe_runtime *runtime, const troupe_function *scale)
{
    struct thread threads[THREADS];
    int started = 0, right = 0;
    for (; started < THREADS; started++) {
        struct thread *t = &threads[started];
        *t = (struct thread){.number = started, .runtime = runtime, .scale = scale};
        if (pthread_create(&t->id, NULL, run_thread, t) != 0) break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i].id, NULL);
        right += threads[i].right;
        if (threads[i].error.code)
            fprintf(stderr, "threads: thread %d: %s\n", i, threads[i].error.text);
    }
    return right;
}

int main(void)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_runtime *runtime = NULL;
    troupe_library *library = NULL;
    troupe_function *scale = NULL;
    troupe_error err;
    int right = 0;

    options.devices = "cpu:0,cpu:1";
    if (troupe_open(&runtime, &options, &err) || troupe_library_new(&library, &err) ||
        troupe_library_read(library, "threads", text, sizeof(text) - 1, &err) ||
        troupe_library_find(library, "scale", &scale, &err))
        fprintf(stderr, "threads: %s\n", err.text);
    else
        right = run_threads(runtime, scale);
    printf("%d of %d calls from %d threads are right\n", right, THREADS * CALLS, THREADS);

    troupe_function_release(&scale);
    troupe_library_destroy(&library);
    if (runtime) troupe_close(&runtime);
    return right == THREADS * CALLS ? 0 : 1;
}
