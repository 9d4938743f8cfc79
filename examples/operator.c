/* SPDX-License-Identifier: MIT
 *
 * examples/operator.c - an operator of one's own: in a program, and in a plugin for the tool.
 *
 *   cc operator.c $(pkg-config --cflags --libs libtroupe) -o operator
 *   cc -shared -fPIC operator.c $(pkg-config --cflags --libs libtroupe) -o operator.so
 *   troupe run --plugin operator.so gate.troupe
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <troupe/troupe.h>

static size_t count(const troupe_type *type)
{
    size_t n = 1;
    for (int i = 0; i < type->rank; i++)
        n *= (size_t)type->dims[i];
    return n;
}

/* y = x where |x| > level, else 0. Element by element, so y may be written over x. */
static troupe_status run(const troupe_operator_node *node, void *const *out, troupe_error *err)
{
    const float *x = node->values[0];
    const double level = node->attrs[0]->f; /* the graph node's, or the fallback */
    float *y = out[0];
    if (!(level >= 0)) return troupe_fail(err, TROUPE_INVALID, "level %g is below 0", level);
    for (size_t i = 0; i < count(node->inputs[0]); i++)
        y[i] = fabsf(x[i]) > (float)level ? x[i] : 0;
    return TROUPE_OK;
}

/* The name is the tool's: what it looks for in a plugin. */
TROUPE_EXPORT troupe_status troupe_plugin(troupe_operators *operators, troupe_error *err)
{
    static const troupe_port x[] = {{"x", TROUPE_SET(TROUPE_F32), 1, 0}, {0}};
    static const troupe_port y[] = {{"y", TROUPE_SET(TROUPE_F32), 1, 0}, {0}};
    static const troupe_attr half = {.kind = TROUPE_ATTR_FLOAT, .f = 0.5};
    static const troupe_attr_spec attrs[] = {{"level", TROUPE_ATTR_FLOAT, false, &half}, {0}};
    const troupe_operator_row gate = {
        .size = sizeof(gate),
        .domain = "com.example",
        .name = "Gate",
        .summary = "What is larger than `level`, else 0.",
        .inputs = x,
        .results = y, /* without `shape` its shape is that of input 0 */
        .attrs = attrs,
        .reuse = 1,
        .run = run,
    };
    return troupe_operators_add(operators, &gate, err);
}

static const char text[] = "function quiet(x: f32[n]) -> (y: f32[n])\n"
                           "    a = com.example.Gate(x, level=1.0)    @cpu:1\n"
                           "    y = Add(a, x)                         @cpu:0\n";

int main(void)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_operators *operators = NULL;
    troupe_runtime *runtime = NULL;
    troupe_library *library = NULL;
    troupe_function *quiet = NULL;
    troupe_tensor *x = NULL, *y = NULL;
    troupe_error err;
    char shown[200];

    if (troupe_operators_new(&operators, &err) || troupe_plugin(operators, &err) ||
        troupe_library_new(&library, &err) ||
        troupe_library_operators(library, operators, &err) ||
        troupe_library_read(library, "operator", text, sizeof(text) - 1, &err) ||
        troupe_library_find(library, "quiet", &quiet, &err)) {
        fprintf(stderr, "operator: %s\n", err.text);
        return 1;
    }
    options.devices = "cpu:0,cpu:1";
    options.operators = operators; /* what this runtime may run */
    if (troupe_open(&runtime, &options, &err) ||
        troupe_tensor_parse(&x, "f32[4] [1, -2, 3, 0.5]", &err) ||
        troupe_run(runtime, quiet, (const troupe_tensor *[]){x}, 1, &y, 1, NULL, &err)) {
        fprintf(stderr, "operator: %s\n", err.text);
        return 1;
    }
    troupe_tensor_show(y, 0, shown, sizeof(shown));
    printf("y = %s\n", shown);

    troupe_tensor_release(&x);
    troupe_tensor_release(&y);
    troupe_function_release(&quiet);
    troupe_library_destroy(&library);
    troupe_close(&runtime);
    troupe_operators_release(&operators); /* in any order: it is counted */
    return 0;
}
