/* SPDX-License-Identifier: MIT
 *
 * bench/peer_tensorflow.c - TensorFlow's function call, by its C interface, on the work that we
 * measure.
 *
 * The functions are built as graphs whose nodes name /device:CPU:0 and CPU:1, two logical
 * devices of one process. Its headers come with its Python package only, so what is used of the
 * interface is declared here.
 */
#include "bench/bench.h"
#include "bench/life.h"
#include "bench/peer.h"

#include <stdlib.h>
#include <string.h>

#define TF_FLOAT    1
#define MAX_ARGS    4
#define MAX_RESULTS 2
#define NODE_NAME   32

/* One result of one node, as the interface passes it. */
struct output {
    void *node;
    int index;
};

/* What is used of the interface: result, name, parameters. */
#define FUNCTIONS(X)                                                                           \
    X(void *, TF_NewStatus, (void))                                                            \
    X(int, TF_GetCode, (const void *status))                                                   \
    X(const char *, TF_Message, (const void *status))                                          \
    X(void *, TF_NewGraph, (void))                                                             \
    X(void, TF_DeleteGraph, (void *graph))                                                     \
    X(void *, TF_NewOperation, (void *graph, const char *op, const char *name))                \
    X(void, TF_SetDevice, (void *operation, const char *device))                               \
    X(void, TF_SetAttrType, (void *operation, const char *name, int type))                     \
    X(void, TF_AddInput, (void *operation, struct output input))                               \
    X(void *, TF_FinishOperation, (void *operation, void *status))                             \
    X(void *, TF_GraphToFunction,                                                              \
      (const void *graph, const char *name, unsigned char hash, int n,                         \
       const void *const *nodes, int n_inputs, const struct output *inputs, int n_outputs,     \
       const struct output *outputs, const char *const *output_names, const void *options,     \
       const char *text, void *status))                                                        \
    X(void, TF_DeleteFunction, (void *function))                                               \
    X(void *, TF_AllocateTensor, (int type, const int64_t *dims, int rank, size_t size))       \
    X(void *, TF_TensorData, (const void *tensor))                                             \
    X(void, TF_DeleteTensor, (void *tensor))                                                   \
    X(void *, TFE_NewContextOptions, (void))                                                   \
    X(void, TFE_ContextOptionsSetConfig,                                                       \
      (void *options, const void *config, size_t size, void *status))                          \
    X(void *, TFE_NewContext, (const void *options, void *status))                             \
    X(void, TFE_DeleteContextOptions, (void *options))                                         \
    X(void, TFE_DeleteContext, (void *context))                                                \
    X(void, TFE_ContextAddFunction, (void *context, void *function, void *status))             \
    X(void *, TFE_NewTensorHandle, (const void *tensor, void *status))                         \
    X(void, TFE_DeleteTensorHandle, (void *handle))                                            \
    X(void *, TFE_NewOp, (void *context, const char *name, void *status))                      \
    X(void, TFE_OpAddInput, (void *op, void *handle, void *status))                            \
    X(void, TFE_Execute, (void *op, void **results, int *n, void *status))                     \
    X(void, TFE_DeleteOp, (void *op))

struct tf {
    const struct bench *bench;
    void *status, *context;
#define X(result, name, parameters) result(*name) parameters;
    FUNCTIONS(X)
#undef X
};

/* A function that is being built. */
struct graph {
    struct tf *tf;
    void *graph;
    struct output args[MAX_ARGS];
    int n_args;
    int nodes; /* so far; names them */
};

/* A function that is called, with its arguments. */
struct called {
    struct tf *tf;
    const char *name;
    void *args[MAX_ARGS];
    int n_args;
};

static troupe_status check(const struct tf *tf, troupe_error *err)
{
    if (tf->TF_GetCode(tf->status) == 0) return TROUPE_OK;
    return bench_fail(err, TROUPE_INTERNAL, "TensorFlow: %s", tf->TF_Message(tf->status));
}

/* For what every line needs: without it the program ends. */
static void must(const struct tf *tf, const char *what)
{
    troupe_error err;
    if (check(tf, &err) < 0) bench_skip(tf->bench, "%s: %s", what, err.text);
}

static void load_functions(struct tf *tf)
{
    void *library = peer_library(tf->bench, "TENSORFLOW_LIB",
                                 "tensorflow/lib/python3*/site-packages/tensorflow/"
                                 "libtensorflow_cc.so.*",
                                 "libtensorflow.so.2");
#define X(result, name, parameters)                                                            \
    *(void **)&tf->name = peer_symbol(tf->bench, library, #name);
    FUNCTIONS(X)
#undef X
}

/* A context with two logical CPU devices that uses one thread within an operator, and so many
 * to run several operators at once. */
static void open_context(struct tf *tf, char threads)
{
    /* ConfigProto: device_count (1), a map with the one entry "CPU": 2; threads within (2) and
     * between operators (5). */
    const char config[] = {0x0a, 7, 0x0a, 3, 'C', 'P', 'U', 0x10, 2, 0x10, 1, 0x28, threads};
    void *options = tf->TFE_NewContextOptions();
    tf->TFE_ContextOptionsSetConfig(options, config, sizeof(config), tf->status);
    must(tf, "options");
    tf->context = tf->TFE_NewContext(options, tf->status);
    must(tf, "context");
    tf->TFE_DeleteContextOptions(options);
}

static void open_tf(struct tf *tf, const struct bench *b)
{
    setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0); /* no greetings */
    *tf = (struct tf){.bench = b};
    load_functions(tf);
    tf->status = tf->TF_NewStatus();
    open_context(tf, 2);
}

/* -- functions ----------------------------------------------------------------------------- */

static struct output add_arg(struct graph *g)
{
    char name[NODE_NAME];
    snprintf(name, sizeof(name), "arg%d", g->n_args);
    void *operation = g->tf->TF_NewOperation(g->graph, "Placeholder", name);
    g->tf->TF_SetAttrType(operation, "dtype", TF_FLOAT);
    const struct output arg = {g->tf->TF_FinishOperation(operation, g->tf->status), 0};
    must(g->tf, "argument");
    return g->args[g->n_args++] = arg;
}

static struct output add_node(struct graph *g, const char *op, struct output a, struct output b,
                              int device)
{
    static const char *const devices[] = {"/device:CPU:0", "/device:CPU:1"};
    char name[NODE_NAME];
    snprintf(name, sizeof(name), "node%d", g->nodes++);
    void *operation = g->tf->TF_NewOperation(g->graph, op, name);
    g->tf->TF_SetDevice(operation, devices[device]);
    g->tf->TF_AddInput(operation, a);
    g->tf->TF_AddInput(operation, b);
    const struct output result = {g->tf->TF_FinishOperation(operation, g->tf->status), 0};
    must(g->tf, op);
    return result;
}

static struct graph begin(struct tf *tf, int args)
{
    struct graph g = {.tf = tf, .graph = tf->TF_NewGraph()};
    while (g.n_args < args)
        add_arg(&g);
    return g;
}

static void finish(struct graph *g, const char *name, const struct output *results, int n)
{
    struct tf *tf = g->tf;
    void *function = tf->TF_GraphToFunction(g->graph, name, 0, -1, NULL, g->n_args, g->args, n,
                                            results, NULL, NULL, NULL, tf->status);
    must(tf, name);
    tf->TFE_ContextAddFunction(tf->context, function, tf->status);
    must(tf, name);
    tf->TF_DeleteFunction(function);
    tf->TF_DeleteGraph(g->graph);
}

/* n graph nodes in a row, node i on CPU:(i % devices): add a, multiply by b, add a, ... */
static void make_chain(struct tf *tf, const char *name, int n, int devices)
{
    struct graph g = begin(tf, 3);
    struct output last = g.args[0];
    for (int i = 0; i < n; i++)
        last = add_node(&g, i % 2 ? "Mul" : "AddV2", last, g.args[i % 2 ? 2 : 1], i % devices);
    finish(&g, name, &last, 1);
}

/* One value from CPU:0 to CPU:1 and one back. */
static void make_two(struct tf *tf)
{
    struct graph g = begin(tf, 3);
    const struct output y = add_node(&g, "AddV2", g.args[0], g.args[1], 0);
    const struct output z = add_node(&g, "Mul", y, g.args[2], 1);
    const struct output r = add_node(&g, "AddV2", z, y, 0);
    finish(&g, "two", &r, 1);
}

/* Two chains of n matrix products that have nothing to do with each other. */
static void make_shards(struct tf *tf, const char *name, int n, int second_device)
{
    struct graph g = begin(tf, 4);
    struct output r[2] = {g.args[0], g.args[1]};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < n; i++)
            r[s] = add_node(&g, "MatMul", r[s], g.args[2 + s], s ? second_device : 0);
    finish(&g, name, r, 2);
}

/* -- calls --------------------------------------------------------------------------------- */

static void *make_handle(struct tf *tf, const int64_t *dims, int rank, float value)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    void *tensor = tf->TF_AllocateTensor(TF_FLOAT, dims, rank, n * sizeof(float));
    float *data = tf->TF_TensorData(tensor);
    for (size_t i = 0; i < n; i++)
        data[i] = value;
    void *handle = tf->TFE_NewTensorHandle(tensor, tf->status);
    must(tf, "tensor");
    tf->TF_DeleteTensor(tensor);
    return handle;
}

static void release(struct called *c)
{
    for (int i = 0; i < c->n_args; i++)
        c->tf->TFE_DeleteTensorHandle(c->args[i]);
}

static troupe_status call(struct called *c, troupe_error *err)
{
    struct tf *tf = c->tf;
    void *results[MAX_RESULTS];
    int n = MAX_RESULTS;
    void *op = tf->TFE_NewOp(tf->context, c->name, tf->status);
    for (int i = 0; i < c->n_args; i++)
        tf->TFE_OpAddInput(op, c->args[i], tf->status);
    tf->TFE_Execute(op, results, &n, tf->status);
    const troupe_status s = check(tf, err);
    for (int i = 0; s >= 0 && i < n; i++)
        tf->TFE_DeleteTensorHandle(results[i]);
    tf->TFE_DeleteOp(op);
    return s;
}

static troupe_status run(void *arg, uint64_t times, troupe_error *err)
{
    troupe_status s = TROUPE_OK;
    for (uint64_t i = 0; i < times && s >= 0; i++)
        s = call(arg, err);
    return s;
}

static struct called on_floats(struct tf *tf, const char *name)
{
    static const int64_t dims[] = {16};
    struct called c = {.tf = tf, .name = name, .n_args = 3};
    for (int i = 0; i < 3; i++)
        c.args[i] = make_handle(tf, dims, 1, i == 2 ? 0.999f : 0.001f);
    return c;
}

static struct called on_matrices(struct tf *tf, const char *name, int64_t n)
{
    const int64_t dims[] = {n, n};
    struct called c = {.tf = tf, .name = name, .n_args = 4};
    for (int i = 0; i < 4; i++)
        c.args[i] = make_handle(tf, dims, 2, 1.0f / (float)n);
    return c;
}

static void time_call(struct bench *b, struct tf *tf, const char *line, const char *name,
                      double per)
{
    struct called c = on_floats(tf, name);
    bench_time(b, &(struct bench_work){line, "us", per, 0, run, &c});
    release(&c);
}

/* Two chains of four products of 512 x 512, some 10 ms each: on one device with one thread, and
 * on two devices with two. */
static void time_shards(struct bench *b, struct tf *tf)
{
    struct tf single = *tf;
    open_context(&single, 1);
    make_shards(&single, "together", 4, 0);
    make_shards(tf, "apart", 4, 1);
    struct called together = on_matrices(&single, "together", 512);
    struct called apart = on_matrices(tf, "apart", 512);
    bench_speedup(b, "shards.10ms@tensorflow",
                  &(struct bench_work){.unit = "us", .fn = run, .arg = &together},
                  &(struct bench_work){.unit = "us", .fn = run, .arg = &apart});
    release(&together);
    release(&apart);
    tf->TFE_DeleteContext(single.context);
}

/* -- lives --------------------------------------------------------------------------------- */

static int first_result(struct bench *b)
{
    struct tf tf;
    troupe_error err;
    open_tf(&tf, b);
    make_chain(&tf, "one", 1, 1);
    struct called c = on_floats(&tf, "one");
    if (call(&c, &err) < 0) return EXIT_FAILURE;
    life_report();
    return EXIT_SUCCESS;
}

static void idle(struct bench *b, struct tf *tf)
{
    struct called c = on_floats(tf, "two");
    troupe_error err;
    if (!bench_wants(b, "idle.cpu@tensorflow")) return;
    if (run(&c, 1000, &err) < 0)
        bench_failed(b, "idle@tensorflow", &err);
    else
        life_idles(b, "@tensorflow");
    release(&c);
}

int main(int argc, char **argv)
{
    struct bench b;
    struct tf tf;
    const bool child = life_is_child(argc, argv);
    bench_open(&b, child ? 1 : argc, argv);
    if (child) return first_result(&b);
    open_tf(&tf, &b);
    make_chain(&tf, "one", 1, 1);
    make_chain(&tf, "chain", 1000, 1);
    make_chain(&tf, "alternating", 1000, 2);
    make_two(&tf);
    time_call(&b, &tf, "run.one@tensorflow", "one", 1);
    time_call(&b, &tf, "run.two@tensorflow", "two", 1);
    time_call(&b, &tf, "edge.alternating@tensorflow", "alternating", 999);
    time_call(&b, &tf, "node.chain@tensorflow", "chain", 1000);
    time_shards(&b, &tf);
    life_starts(&b, "@tensorflow");
    idle(&b, &tf);
    tf.TFE_DeleteContext(tf.context);
    return bench_close(&b);
}
