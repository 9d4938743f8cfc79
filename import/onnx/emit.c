/* SPDX-License-Identifier: MIT
 *
 * import/onnx/emit.c - constants and graph nodes to the builder, each with a name that is free.
 *
 * ONNX lets node names repeat and be absent, and functions of the model that are put in place
 * bring theirs again. Values keep the names that they have in the model, so that a user finds
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/build.h"
#include "graph/infer.h"
#include "import/onnx/model.h"

/* --- names that are free -------------------------------------------------------------- */

static bool is_free(const struct tp_onnx_build *build, const char *name, bool node)
{
    return node ? tp_builder_find_node(build->builder, name) == TP_NO_NODE
                : tp_builder_find_value(build->builder, name) == TP_NO_VALUE;
}

/* Where to count what comes behind a name that is taken. */
static troupe_status find_again(struct tp_onnx_build *build, const char *name, uint32_t *out,
                                troupe_error *err)
{
    struct tp_onnx_again *const again = &build->again;
    const uint32_t number = (uint32_t)again->count;
    TP_TRY(tp_grow(&again->next, again->count, &again->capacity, sizeof(*again->next), err));
    TP_TRY(tp_index_add(&again->index, build->arena, name, number, out, err));
    if (*out != TP_NO_INDEX) return TROUPE_OK; /* it was wanted again before */
    *out = number;
    again->next[again->count++] = 2;
    return TROUPE_OK;
}

troupe_status tp_onnx_free_name(struct tp_onnx_build *build, const char *wanted, bool node,
                                const char **out, troupe_error *err)
{
    const char *name = wanted;
    uint32_t i = TP_NO_INDEX;
    while (!is_free(build, name, node)) {
        char number[16];
        if (i == TP_NO_INDEX) TP_TRY(find_again(build, wanted, &i, err));
        snprintf(number, sizeof(number), "%u", (unsigned)build->again.next[i]++);
        name = tp_arena_words(build->arena, wanted, "_", number);
        if (!name) return tp_fail_memory(err, strlen(wanted) + sizeof(number));
    }
    *out = name;
    return TROUPE_OK;
}

void tp_onnx_again_fini(struct tp_onnx_again *again)
{
    tp_index_fini(&again->index);
    tp_free(again->next);
    *again = (struct tp_onnx_again){.count = 0};
}

/* The name below the prefix of the scope, made free. */
static troupe_status scoped(struct tp_onnx_build *build, const char *wanted, bool node,
                            const char **out, troupe_error *err)
{
    const char *const prefix = build->scope->prefix;
    if (*prefix == 0) return tp_onnx_free_name(build, wanted, node, out, err);
    const char *const whole = tp_arena_words(build->arena, prefix, "", wanted);
    if (!whole) return tp_fail_memory(err, strlen(prefix) + strlen(wanted) + 1);
    return tp_onnx_free_name(build, whole, node, out, err);
}

/* --- constants ------------------------------------------------------------------------ */

troupe_status tp_onnx_constant(struct tp_onnx_build *build, const char *name,
                               const troupe_tensor *tensor, troupe_value *out,
                               troupe_error *err)
{
    const char *unique;
    TP_TRY(scoped(build, name, false, &unique, err));
    return troupe_builder_constant(build->builder, unique, tensor, out, err);
}

/* --- graph nodes ---------------------------------------------------------------------- */

/* ONNX's name of result i; "" when it is absent, or one that is made up when it may not be. */
static troupe_status result_name(struct tp_onnx_build *build, const struct tp_onnx_node *node,
                                 size_t i, const char **out, troupe_error *err)
{
    const struct tp_op *const op = tp_operators_find(build->model->operators, node->op);
    const struct tp_port *const port = op ? tp_op_port(op->results, i) : NULL;
    char number[24];
    if (node->results[i]) return scoped(build, node->results[i]->text, false, out, err);
    *out = "";
    if (!port || port->flags & TP_OPTIONAL) return TROUPE_OK;
    snprintf(number, sizeof(number), "%zu", i);
    const char *const wanted = tp_arena_words(build->arena, node->name, ":", number);
    if (!wanted) return tp_fail_memory(err, strlen(node->name) + sizeof(number));
    return scoped(build, wanted, false, out, err);
}

/* Absent ones at the end are left out. */
static size_t trimmed(const troupe_value *inputs, size_t n)
{
    while (n > 0 && inputs[n - 1] == TROUPE_NO_VALUE)
        n--;
    return n;
}

troupe_status tp_onnx_emit(struct tp_onnx_build *build, struct tp_onnx_node *node,
                           troupe_error *err)
{
    struct tp_arena *const arena = build->arena;
    const char **const names = tp_arena_array(arena, node->n_results + 1, sizeof(*names));
    troupe_value *const values = tp_arena_array(arena, node->n_results + 1, sizeof(*values));
    const char *name;
    if (!names || !values) return tp_fail_memory(err, (node->n_results + 1) * sizeof(*names));
    TP_TRY(scoped(build, node->name, true, &name, err));
    for (size_t i = 0; i < node->n_results; i++)
        TP_TRY(result_name(build, node, i, &names[i], err));
    const troupe_node made = {.size = sizeof(made),
                              .op = node->op,
                              .name = name,
                              .inputs = node->inputs,
                              .n_inputs = trimmed(node->inputs, node->n_inputs),
                              .n_results = node->n_results,
                              .result_names = names,
                              .attrs = node->attrs,
                              .n_attrs = node->n_attrs};
    TP_TRY(troupe_builder_node(build->builder, &made, values, err));
    for (size_t i = 0; i < node->n_results; i++)
        if (node->results[i]) node->results[i]->value = values[i];
    return TROUPE_OK;
}

troupe_status tp_onnx_extra(struct tp_onnx_build *build, const struct tp_onnx_node *of,
                            const char *op, const troupe_value *inputs, size_t n,
                            troupe_value *out, troupe_error *err)
{
    const char *const wanted = tp_arena_words(build->arena, of->name, "/", op);
    struct tp_onnx_name result = {.text = wanted, .value = TROUPE_NO_VALUE};
    struct tp_onnx_name *results[] = {&result};
    if (!wanted) return tp_fail_memory(err, strlen(of->name) + strlen(op) + 2);
    struct tp_onnx_node node = {.proto = of->proto,
                                .name = wanted,
                                .op = op,
                                .inputs = (troupe_value *)inputs, /* read only */
                                .n_inputs = n,
                                .results = results,
                                .n_results = 1};
    TP_TRY(tp_onnx_emit(build, &node, err));
    *out = result.value;
    return TROUPE_OK;
}
