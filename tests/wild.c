/* SPDX-License-Identifier: MIT
 *
 * tests/wild.c - random functions from a seed, strewn over devices.
 *
 * Values are v0, v1, ...; each knows its shape, of at most two dimensions, also where the function
 * itself will only know it when it runs.
 */
#include "tests/wild.h"

#include "tests/rehearsal.h"

#define VALUES 40

struct value {
    int rank, dims[2];
    bool text; /* of strings */
    bool node; /* a graph node has its number in its name */
};

struct wild {
    struct tp_text text;
    struct value values[VALUES + 8];
    int n;
    int devices;
    uint64_t state;
};

static uint32_t below(struct wild *w, uint32_t n)
{
    uint64_t z = (w->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static int count(const struct value *v)
{
    return (v->rank > 0 ? v->dims[0] : 1) * (v->rank > 1 ? v->dims[1] : 1);
}

static int pick(struct wild *w)
{
    return (int)below(w, (uint32_t)w->n);
}

/* Behind the parentheses: sometimes a device, sometimes an order after one of the first n. */
static void add_clauses(struct wild *w, int n)
{
    if (below(w, 5)) tp_text_add(&w->text, " @cpu:%u", below(w, (uint32_t)w->devices));
    int before = (int)below(w, (uint32_t)n);
    if (w->values[before].node && below(w, 8) == 0) tp_text_add(&w->text, " after n%d", before);
    tp_text_add(&w->text, "\n");
}

static void begin(struct wild *w, const struct value *v)
{
    w->values[w->n] = *v;
    w->values[w->n].node = true;
    tp_text_add(&w->text, "  n%d: v%d = ", w->n, w->n);
    w->n++;
}

/* -- Kinds of graph nodes: each makes a value of a, or false
 * -------------------------------------------------------------------------------------- */

static bool add_unary(struct wild *w, int a)
{
    static const char *const ops[] = {"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Floor", "Sign"};
    if (w->values[a].text) return false;
    begin(w, &w->values[a]);
    tp_text_add(&w->text, "%s(v%d)", ops[below(w, TP_COUNT(ops))], a);
    return true;
}

static bool add_same(struct wild *w, int a)
{
    begin(w, &w->values[a]);
    tp_text_add(&w->text, "Identity(v%d)", a);
    return true;
}

/* The same shape, or b is a scalar or a row of a. */
static bool fits(const struct value *a, const struct value *b)
{
    if (a->text || b->text) return false;
    if (!b->rank) return true;
    if (b->rank == 1) return a->rank && a->dims[a->rank - 1] == b->dims[0];
    return a->rank == 2 && a->dims[0] == b->dims[0] && a->dims[1] == b->dims[1];
}

static bool add_binary(struct wild *w, int a)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Max", "Min"};
    int b = pick(w);
    if (!fits(&w->values[a], &w->values[b])) return false;
    begin(w, &w->values[a]);
    if (below(w, 2)) {
        tp_text_add(&w->text, "%s(v%d, v%d)", ops[below(w, TP_COUNT(ops))], a, b);
    } else {
        tp_text_add(&w->text, "%s(v%d, v%d)", ops[below(w, TP_COUNT(ops))], b, a);
    }
    return true;
}

static bool add_where(struct wild *w, int a)
{
    int b = pick(w), id = w->n;
    if (!fits(&w->values[a], &w->values[b])) return false;
    tp_text_add(&w->text, "  g%d = Greater(v%d, v%d) @cpu:%u\n", id, a, b,
                below(w, (uint32_t)w->devices));
    begin(w, &w->values[a]);
    tp_text_add(&w->text, "Where(g%d, v%d, v%d)", id, a, b);
    return true;
}

/* By a constant, or by the argument s where that fits. */
static bool add_reshape(struct wild *w, int a)
{
    const struct value *v = &w->values[a];
    struct value to = {.rank = 2, .dims = {1, count(v)}, .text = v->text};
    int id = w->n;
    if (count(v) == 12 && below(w, 2)) {
        to.dims[0] = 3;
        to.dims[1] = 4;
        begin(w, &to);
        tp_text_add(&w->text, "Reshape(v%d, s)", a);
        return true;
    }
    to.rank = (int)below(w, 2) + 1;
    if (to.rank == 1) to.dims[0] = count(v);
    if (to.rank == 2 && count(v) % 2 == 0) {
        to.dims[0] = count(v) / 2;
        to.dims[1] = 2;
    }
    if (to.rank == 1)
        tp_text_add(&w->text, "  c%d = i64[1] [%d]\n", id, to.dims[0]);
    else
        tp_text_add(&w->text, "  c%d = i64[2] [%d, %d]\n", id, to.dims[0], to.dims[1]);
    begin(w, &to);
    tp_text_add(&w->text, "Reshape(v%d, c%d)", a, id);
    return true;
}

static bool add_transpose(struct wild *w, int a)
{
    const struct value *v = &w->values[a];
    if (v->text || v->rank != 2) return false;
    begin(w, &(struct value){.rank = 2, .dims = {v->dims[1], v->dims[0]}});
    tp_text_add(&w->text, "Transpose(v%d, perm=[1, 0])", a);
    return true;
}

static bool add_softmax(struct wild *w, int a)
{
    if (w->values[a].text || !w->values[a].rank) return false;
    begin(w, &w->values[a]);
    tp_text_add(&w->text, "Softmax(v%d, axis=-1)", a);
    return true;
}

static bool add_matmul(struct wild *w, int a)
{
    int b = pick(w);
    const struct value *l = &w->values[a], *r = &w->values[b];
    if (l->text || r->text || l->rank != 2 || r->rank != 2 || l->dims[1] != r->dims[0])
        return false;
    begin(w, &(struct value){.rank = 2, .dims = {l->dims[0], r->dims[1]}});
    tp_text_add(&w->text, "MatMul(v%d, v%d)", a, b);
    return true;
}

/* Two results, of which one may go unused. */
static bool add_split(struct wild *w, int a)
{
    const struct value *v = &w->values[a];
    if (v->text || !v->rank || v->dims[0] < 2 || v->dims[0] % 2) return false;
    struct value half = *v;
    half.dims[0] /= 2;
    half.node = false;
    w->values[w->n] = half;
    half.node = true;
    w->values[w->n + 1] = half;
    tp_text_add(&w->text, "  n%d: v%d, v%d = Split(v%d, axis=0, num_outputs=2)", w->n + 1, w->n,
                w->n + 1, a);
    w->n += 2;
    return true;
}

static void add_node(struct wild *w)
{
    static bool (*const kinds[])(struct wild *, int) = {
        add_unary, add_unary,   add_same,      add_binary,  add_binary, add_binary,
        add_where, add_reshape, add_transpose, add_softmax, add_matmul, add_split,
    };
    const int n = w->n;
    if (kinds[below(w, TP_COUNT(kinds))](w, pick(w))) add_clauses(w, n);
}

/* -- The whole
 * -------------------------------------------------------------------------------------- */

/* Some values, whole or as views, arguments among them. */
static void write_function(struct wild *w)
{
    struct tp_text body = w->text;
    w->text = (struct tp_text){0};
    tp_text_add(&w->text,
                "function wild(v0: f32[3,4], v1: f32[4], v2: string[2], s: i64[2]) -> (");
    int n = (int)below(w, WILD_RESULTS) + 1;
    for (int i = 0; i < n; i++)
        tp_text_add(&w->text, "%sr%d = v%d", i ? ", " : "", i,
                    below(w, 3) ? w->n - 1 - (int)below(w, (uint32_t)(w->n < 6 ? w->n : 6))
                                : pick(w));
    tp_text_add(&w->text,
                ")\n  v3 = f32[] 0.5\n  v4 = f32[3,4] [[1, 2, 3, 4], [-1, -2, -3, -4], "
                "[0.5, 0, 7, 9]]\n");
    if (body.size) tp_text_add_bytes(&w->text, body.data, body.size);
    tp_text_fini(&body);
}

troupe_function *wild_function(uint64_t seed, int devices)
{
    struct wild w = {
        .values = {{2, {3, 4}, false, false},
                   {1, {4}, false, false},
                   {1, {2}, true, false},
                   {0},
                   {2, {3, 4}, false, false}},
        .n = 5,
        .devices = devices,
        .state = seed * 31 + (uint64_t)devices,
    };
    int nodes = (int)below(&w, 60) + 1;
    for (int i = 0; i < nodes && w.n < VALUES; i++)
        add_node(&w);
    write_function(&w);
    troupe_function *f = function_of(w.text.data, NULL);
    tp_text_fini(&w.text);
    return f;
}

void wild_args(uint64_t seed, const troupe_tensor **args)
{
    troupe_error err;
    troupe_tensor *made[WILD_ARGS];
    struct wild w = {.state = seed};
    float x[12];
    for (int i = 0; i < 12; i++)
        x[i] = (float)below(&w, 2000) / 100 - 10;
    ck_ok(troupe_tensor_new(&made[0], TROUPE_F32, 2, (const int64_t[]){3, 4}, x, &err));
    ck_ok(troupe_tensor_new(&made[1], TROUPE_F32, 1, (const int64_t[]){4}, x + 3, &err));
    made[2] = value_of("string[2] [\"a text\", \"\"]");
    made[3] = value_of("i64[2] [3, 4]");
    for (int i = 0; i < WILD_ARGS; i++)
        args[i] = made[i];
}

void wild_release(const troupe_tensor **args)
{
    for (int i = 0; i < WILD_ARGS; i++)
        troupe_tensor_release((troupe_tensor **)&args[i]);
}
