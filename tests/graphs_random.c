/* SPDX-License-Identifier: MIT
 *
 * tests/graphs_random.c - functions from a seed, by way of the builder.
 */
#include <math.h>
#include <stdio.h>

#include "tests/graphs.h"

struct maker {
    struct graphs_dice dice;
    troupe_builder *b;
    troupe_library *library;
    troupe_value values[64];
    uint32_t n_values;
    char nodes[64][40]; /* names */
    uint32_t n_nodes, named;
};

static uint32_t roll(struct maker *m, uint32_t n)
{
    return graphs_roll(&m->dice, n);
}

/* A name that nobody has, mostly plain, sometimes of any bytes. */
static void new_name(struct maker *m, char name[40])
{
    static const char odd[] = "ab \"\\\n\t\x01\x7f\xc3\xa4\xff:/.-#=(),@0";
    const int size = snprintf(name, 40, "%c%u", "vxyz"[roll(m, 4)], m -> named++);
    if (roll(m, 4)) return;
    int at = size;
    for (uint32_t n = 1 + roll(m, 12); n > 0; n--)
        name[at++] = odd[roll(m, sizeof(odd) - 1)];
    name[at] = 0;
}

static double random_float(struct maker *m)
{
    static const double some[] = {0, -0.0, 1, -1.5, 1e300, 5e-324, 0.1, 1.0 / 3, 12345678};
    const uint32_t k = roll(m, 11);
    if (k == 9) return (double)NAN;
    if (k == 10) return -(double)INFINITY;
    return some[k];
}

static int64_t random_int(struct maker *m)
{
    static const int64_t some[] = {0, 1, -1, 7, INT64_MAX, INT64_MIN, 1000000};
    return some[roll(m, 7)];
}

static troupe_tensor *random_tensor(struct maker *m)
{
    static const char *const texts[] = {
        "f32[2] [1.5, -0]",
        "i64[] -7",
        "bool[2,1] [[true], [false]]",
        "string[2] [\"a\\\"\", \"\"]",
        "f16[1] [0.5]",
        "u8[0] []",
        "f64[1,1,2] [[[0.1, inf]]]",
        "bf16[3] [1, 2, 3]",
        "i8[2] [-128, 127]",
    };
    troupe_error err;
    troupe_tensor *t = NULL;
    ck_ok(troupe_tensor_parse(&t, texts[roll(m, 9)], &err));
    return t;
}

/* The lists that attributes borrow for one graph node. */
struct loans {
    int64_t ints[4];
    double floats[4];
    const char *texts[4];
    troupe_tensor *tensor;
};

static void random_attr(struct maker *m, struct loans *loans, int kind, troupe_attr *attr)
{
    static const char *const names[] = {NULL,     "axis",   "alpha", "mode", "pads",
                                        "scales", "labels", "value", "to",   "body"};
    static const char *const words[] = {"", "a", "two words", "\xff\"\\\n"};
    attr->name = names[kind];
    attr->kind = (troupe_attr_kind)kind;
    attr->n = roll(m, 5);
    for (size_t i = 0; i < 4; i++) {
        if (kind == TROUPE_ATTR_INTS) loans->ints[i] = random_int(m);
        if (kind == TROUPE_ATTR_FLOATS) loans->floats[i] = random_float(m);
        if (kind == TROUPE_ATTR_STRINGS) loans->texts[i] = words[roll(m, 4)];
    }
    if (kind == TROUPE_ATTR_INT) attr->i = random_int(m);
    if (kind == TROUPE_ATTR_FLOAT) attr->f = random_float(m);
    if (kind == TROUPE_ATTR_STRING) attr->text = "z\0\n\xfe";
    if (kind == TROUPE_ATTR_INTS) attr->ints = loans->ints;
    if (kind == TROUPE_ATTR_FLOATS) attr->floats = loans->floats;
    if (kind == TROUPE_ATTR_STRINGS) attr->texts = loans->texts;
    if (kind == TROUPE_ATTR_TENSOR) attr->tensor = loans->tensor = random_tensor(m);
    if (kind == TROUPE_ATTR_DTYPE) attr->dtype = (troupe_dtype)(1 + roll(m, 14));
    if (kind == TROUPE_ATTR_FUNCTION) attr->text = "called";
}

static troupe_value any_value(struct maker *m)
{
    return m->values[roll(m, m->n_values)];
}

static void random_clauses(struct maker *m, troupe_node *node, const char **names)
{
    static const char *const devices[] = {"cpu:0",       "/job:a",
                                          "CPU:1",       "/job:b/task:3/device:opencl:2",
                                          "/device:cpu", "/replica:2/task:0"};
    if (roll(m, 3) == 0) node->device = devices[roll(m, 6)];
    node->after = names;
    node->with = names + 4;
    if (m->n_nodes == 0) return;
    node->n_after = roll(m, 4) ? 0 : 1 + roll(m, 3);
    node->n_with = roll(m, 4) ? 0 : 1 + roll(m, 3);
    for (size_t i = 0; i < 8; i++)
        names[i] = m->nodes[roll(m, m->n_nodes)];
}

static void add_random_node(struct maker *m)
{
    static const char *const ops[] = {"Add",  "Relu",    "Print", "Test",
                                      "Clip", "Dropout", "Split", NULL};
    troupe_error err;
    struct loans loans = {.tensor = NULL};
    troupe_attr attrs[10] = {{0}};
    const char *names[8], *results[3] = {NULL, NULL, NULL};
    char result_names[3][40];
    troupe_value inputs[3], made[3];
    troupe_node node = {.size = sizeof(node), .op = ops[roll(m, 8)], .inputs = inputs};
    const char *op = node.op ? node.op : "";
    node.n_inputs = strcmp(op, "Add") == 0 ? 2 : strcmp(op, "Clip") == 0 ? 1 + roll(m, 3) : 1;
    for (size_t i = 0; i < 3; i++)
        inputs[i] = any_value(m);
    if (strcmp(op, "Clip") == 0 && roll(m, 2)) inputs[1] = TROUPE_NO_VALUE;
    if (!node.op) node.function = "called";
    node.n_results = strcmp(op, "Print") == 0 ? 0 : 1;
    if (!*op || strcmp(op, "Dropout") == 0 || strcmp(op, "Split") == 0) node.n_results = 2;
    for (size_t i = 0; i < node.n_results; i++) {
        new_name(m, result_names[i]);
        if (roll(m, 5)) results[i] = result_names[i];
        if ((!*op || (strcmp(op, "Dropout") == 0 && i == 1)) && roll(m, 3) == 0)
            results[i] = "";
    }
    node.result_names = results;
    node.attrs = attrs;
    if (strcmp(op, "Split") == 0) {
        attrs[node.n_attrs++] =
            (troupe_attr){.name = "num_outputs", .kind = TROUPE_ATTR_INT, .i = 2};
    }
    for (int kind = 1; kind < 10 && strcmp(op, "Test") == 0; kind++) {
        if (roll(m, 2)) random_attr(m, &loans, kind, &attrs[node.n_attrs++]);
    }
    random_clauses(m, &node, names);
    new_name(m, m->nodes[m->n_nodes]);
    if (roll(m, 3) == 0) node.name = m->nodes[m->n_nodes];
    ck_ok(troupe_builder_node(m->b, &node, made, &err));
    troupe_tensor_release(&loans.tensor);
    for (size_t i = 0; i < node.n_results; i++) {
        if (made[i] != TROUPE_NO_VALUE && strcmp(op, "Dropout") != 0 && m->n_values < 64)
            m->values[m->n_values++] = made[i];
    }
    if (node.name) m->n_nodes++; /* others can name it */
}

static void add_random_constant(struct maker *m)
{
    troupe_error err;
    char name[40];
    troupe_tensor *t = random_tensor(m);
    new_name(m, name);
    ck_ok(troupe_builder_constant(m->b, roll(m, 3) ? name : NULL, t, NULL, &err));
    troupe_tensor_release(&t);
}

static void add_random_args(struct maker *m)
{
    static const char *const types[] = {"f32[n]", "f32[?]", "f32[2]", "f32[\"a b\"]",
                                        "f32[...]"};
    troupe_error err;
    for (uint32_t n = 1 + roll(m, 3); n > 0; n--) {
        char name[40];
        troupe_tensor *t = NULL;
        new_name(m, name);
        if (roll(m, 4) == 0) ck_ok(troupe_tensor_parse(&t, "f32[2] [1, 0.1]", &err));
        ck_ok(troupe_builder_arg_default(m->b, name, t ? "f32[2]" : types[roll(m, 5)], t,
                                         &m->values[m->n_values++], &err));
        troupe_tensor_release(&t);
    }
}

static troupe_function *make(struct maker *m)
{
    troupe_error err;
    troupe_function *f = NULL;
    m->library =
        graphs_library("function called(x: f32[...], y: f32[?] = f32[1] [1]) -> (a, b)\n"
                       "    a = Relu(x)\n    b = inner(y)\n    Print(b)\n"
                       "function inner(y: f32[k]) -> (z)\n    z = Relu(y)\n");
    ck_ok(troupe_builder_new(&m->b, roll(m, 2) ? "made" : "made of\nbytes\xff", m->library,
                             &err));
    add_random_args(m);
    for (uint32_t n = roll(m, 20); n > 0; n--) {
        if (roll(m, 5) == 0)
            add_random_constant(m);
        else
            add_random_node(m);
    }
    for (uint32_t n = roll(m, 4); n > 0; n--) {
        char name[40];
        new_name(m, name);
        ck_ok(troupe_builder_result(m->b, name, any_value(m), &err));
    }
    ck_ok(troupe_builder_finish(&m->b, &f, &err));
    troupe_library_destroy(&m->library);
    return f;
}

troupe_function *graphs_random(uint64_t seed)
{
    struct maker m = {.dice = {seed}};
    return make(&m);
}
