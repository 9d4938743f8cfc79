/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_inline_random.c - random functions, run in a world where values are hashes: called,
 * inlined and pruned they give the same results and have the same effects in the same order.
 */
#include <stdio.h>

#include "graph/inline.h"
#include "tests/graphs.h"

static struct tp_function *inlined(const troupe_function *f)
{
    troupe_error err;
    struct tp_function *out = NULL;
    ck_ok(tp_inline(f, 1000000, NULL, &out, &err));
    for (uint32_t i = 0; i < out->n_nodes; i++)
        ck_assert_ptr_null(out->nodes[i].callee);
    return out;
}

static struct tp_function *pruned(const struct tp_function *f)
{
    troupe_error err;
    struct tp_function *out = NULL;
    ck_ok(tp_prune(f, NULL, &out, &err));
    return out;
}

#define WORDS 4096

struct world {
    uint64_t effects[WORDS]; /* in the order in which they happened */
    size_t n;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0xff51afd7ed558ccd);
    return a ^ (a >> 29);
}

static void run(const struct tp_function *f, const struct tp_version *version,
                const uint64_t *args, uint64_t *results, struct graphs_dice *dice,
                struct world *world);

static void run_node(const struct tp_function *f, const struct tp_version *version, uint32_t i,
                     uint64_t *values, struct graphs_dice *dice, struct world *world)
{
    const struct tp_node *node = &f->nodes[i];
    uint64_t in[8], out[8] = {0}, sum = 1;
    for (uint32_t k = 0; k < node->n_inputs; k++)
        in[k] = values[node->inputs[k]];
    if (node->callee) {
        run(tp_version_find(version, node->callee), version, in, out, dice, world);
    } else {
        for (const char *c = node->op->name; *c; c++)
            sum = mix(sum, (uint64_t)*c);
        for (uint32_t k = 0; k < node->n_inputs; k++)
            sum = mix(sum, in[k]);
        if (node->op->stateful) {
            ck_assert_uint_lt(world->n, WORDS);
            world->effects[world->n++] = sum;
        }
        out[0] = sum;
    }
    for (uint32_t k = 0; k < node->n_results; k++)
        values[node->results[k]] = out[k];
}

static bool ready(const struct tp_function *f, uint32_t i, const bool *done)
{
    const struct tp_node *node = &f->nodes[i];
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const uint32_t maker = f->values[node->inputs[k]].node;
        if (maker != TP_NO_NODE && !done[maker]) return false;
    }
    for (uint32_t k = 0; k < node->n_after; k++) {
        if (!done[node->after[k]]) return false;
    }
    return true;
}

/* In any order that inputs and edges allow, by the dice. */
static void run(const struct tp_function *f, const struct tp_version *version,
                const uint64_t *args, uint64_t *results, struct graphs_dice *dice,
                struct world *world)
{
    uint64_t *values = tp_alloc_array(f->n_values, sizeof(*values));
    bool *done = tp_alloc_array(f->n_nodes, sizeof(*done));
    for (uint32_t v = 0; v < f->n_values; v++) {
        if (v < f->n_args)
            values[v] = args[v];
        else if (f->values[v].content)
            values[v] = f->values[v].content[0];
    }
    for (uint32_t left = f->n_nodes; left > 0;) {
        const uint32_t i = graphs_roll(dice, f->n_nodes);
        if (done[i] || !ready(f, i, done)) continue;
        run_node(f, version, i, values, dice, world);
        done[i] = true;
        left--;
    }
    for (uint32_t i = 0; i < f->n_results; i++)
        results[i] = values[f->results[i].value];
    tp_free(values);
    tp_free(done);
}

static const char *random_value(struct graphs_dice *dice, int nodes)
{
    static char text[4][16];
    static unsigned next;
    char *out = text[next++ % 4];
    const uint32_t k = graphs_roll(dice, (uint32_t)nodes + 3);
    if (k == 0) return "x";
    if (k == 1) return "w";
    if (k == 2) return "k";
    snprintf(out, 16, "n%u", k - 3);
    return out;
}

static void random_clauses(struct graphs_dice *dice, int node, struct tp_text *text)
{
    if (graphs_roll(dice, 4) == 0) tp_text_add(text, " @cpu:%u", graphs_roll(dice, 3));
    if (node && graphs_roll(dice, 4) == 0)
        tp_text_add(text, " after n%u", graphs_roll(dice, (uint32_t)node));
    if (node && graphs_roll(dice, 5) == 0)
        tp_text_add(text, " with n%u", graphs_roll(dice, (uint32_t)node));
    tp_text_add(text, "\n");
}

/* Function number i, which calls those before it. */
static void random_function(struct graphs_dice *dice, int i, struct tp_text *text)
{
    const int nodes = 1 + (int)graphs_roll(dice, 7);
    tp_text_add(text,
                "function f%d(x: f32[4], w: f32[4]) -> (r: f32[4] = %s, s: f32[4] = %s)\n", i,
                random_value(dice, nodes), random_value(dice, nodes));
    tp_text_add(text, "    k = f32[4] [%d, 2, 3, 4]\n", i);
    for (int n = 0; n < nodes; n++) {
        const uint32_t kind = graphs_roll(dice, i ? 6 : 4);
        const char *a = random_value(dice, n), *b = random_value(dice, n);
        if (kind >= 4) {
            tp_text_add(text, "    n%d, m%d = f%u(%s, %s)", n, n,
                        graphs_roll(dice, (uint32_t)i), a, b);
        } else if (kind == 3) {
            tp_text_add(text, "    n%d = Print(%s)", n, a);
        } else {
            tp_text_add(text, "    n%d = %s(%s, %s)", n, kind ? "Add" : "Mul", a, b);
        }
        random_clauses(dice, n, text);
    }
}

static void same_world(const struct world *a, const struct world *b)
{
    ck_assert_uint_eq(a->n, b->n);
    ck_assert_mem_eq(a->effects, b->effects, a->n * sizeof(a->effects[0]));
}

START_TEST(an_inlined_function_does_what_the_called_ones_do)
{
    static const uint64_t args[] = {11, 22};
    struct graphs_dice dice = {(uint64_t)_i};
    struct tp_text text = {0};
    for (int i = 0; i < 5; i++)
        random_function(&dice, i, &text);
    troupe_function *f = graphs_function(text.data);
    struct tp_function *flat = inlined(f), *thin = pruned(flat);
    struct world called = {.n = 0}, again = {.n = 0};
    uint64_t wanted[2], got[2];
    run(f->body, f->version, args, wanted, &dice, &called);
    const struct tp_function *others[] = {f->body, flat, thin, flat, thin};
    for (size_t k = 0; k < TP_COUNT(others); k++) {
        again.n = 0;
        run(others[k], f->version, args, got, &dice, &again);
        ck_assert_msg(memcmp(got, wanted, sizeof(got)) == 0, "seed %d", _i);
        same_world(&called, &again);
    }
    ck_assert_uint_le(thin->n_nodes, flat->n_nodes);
    tp_function_release(&flat);
    tp_function_release(&thin);
    troupe_function_release(&f);
    tp_text_fini(&text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_inline_random");
    TCase *t = tcase_create("random");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, an_inlined_function_does_what_the_called_ones_do, 0, 500);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
