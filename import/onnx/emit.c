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
#include "graph/infer.h"
#include "import/onnx/model.h"

/* --- names that are free -------------------------------------------------------------- */

static troupe_status take_name(struct tp_onnx_build *build, struct tp_onnx_taken *taken,
                               const char *name, uint32_t *had, troupe_error *err)
{
    TP_TRY(tp_grow(&taken->next, taken->count, &taken->capacity, sizeof(*taken->next), err));
    TP_TRY(tp_index_add(&taken->index, build->arena, name, (uint32_t)taken->count, had, err));
    if (*had == TP_NO_INDEX) taken->next[taken->count++] = 2;
    return TROUPE_OK;
}

troupe_status tp_onnx_unique(struct tp_onnx_build *build, struct tp_onnx_taken *taken,
                             const char *wanted, const char **out, troupe_error *err)
{
    const char *name = tp_arena_text(build->arena, wanted, strlen(wanted));
    uint32_t first, had;
    if (!name) return tp_fail_memory(err, strlen(wanted) + 1);
    TP_TRY(take_name(build, taken, name, &first, err));
    for (had = first; had != TP_NO_INDEX;) {
        char number[16];
        snprintf(number, sizeof(number), "%u", (unsigned)taken->next[first]++);
        name = tp_arena_words(build->arena, wanted, "_", number);
        if (!name) return tp_fail_memory(err, strlen(wanted) + sizeof(number));
        TP_TRY(take_name(build, taken, name, &had, err));
    }
    *out = name;
    return TROUPE_OK;
}

void tp_onnx_taken_fini(struct tp_onnx_taken *taken)
{
    tp_index_fini(&taken->index);
    tp_free(taken->next);
    *taken = (struct tp_onnx_taken){.count = 0};
}

/* The name below the prefix of the scope, made free. */
static troupe_status scoped(struct tp_onnx_build *build, struct tp_onnx_taken *taken,
                            const char *wanted, const char **out, troupe_error *err)
{
    const char *const prefix = build->scope->prefix;
    if (*prefix == 0) return tp_onnx_unique(build, taken, wanted, out, err);
    const char *const whole = tp_arena_words(build->arena, prefix, "", wanted);
    if (!whole) return tp_fail_memory(err, strlen(prefix) + strlen(wanted) + 1);
    return tp_onnx_unique(build, taken, whole, out, err);
}

/* --- constants ------------------------------------------------------------------------ */

troupe_status tp_onnx_constant(struct tp_onnx_build *build, const char *name,
                               const troupe_tensor *tensor, troupe_value *out,
                               troupe_error *err)
{
    const char *unique;
    TP_TRY(scoped(build, &build->values, name, &unique, err));
    return troupe_builder_constant(build->builder, unique, tensor, out, err);
}

/* --- graph nodes ---------------------------------------------------------------------- */

/* ONNX's name of result i; "" when it is absent, or one that is made up when it may not be. */
static troupe_status result_name(struct tp_onnx_build *build, const struct tp_onnx_node *node,
                                 size_t i, const char **out, troupe_error *err)
{
    const struct tp_op *const op = tp_op_find(node->op);
    const struct tp_port *const port = op ? tp_op_port(op->results, i) : NULL;
    char number[24];
    if (node->results[i])
        return scoped(build, &build->values, node->results[i]->text, out, err);
    *out = "";
    if (!port || port->flags & TP_OPTIONAL) return TROUPE_OK;
    snprintf(number, sizeof(number), "%zu", i);
    const char *const wanted = tp_arena_words(build->arena, node->name, ":", number);
    if (!wanted) return tp_fail_memory(err, strlen(node->name) + sizeof(number));
    return scoped(build, &build->values, wanted, out, err);
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
    TP_TRY(scoped(build, &build->nodes, node->name, &name, err));
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
