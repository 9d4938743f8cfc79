/* SPDX-License-Identifier: MIT
 *
 * graph/body.c - a function while it grows.
 */
#include "graph/body.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/hash.h"
#include "graph/operator.h"

static troupe_status new_function(struct tp_function **out, const char *name, troupe_error *err)
{
    struct tp_function *f = tp_alloc(sizeof(*f));
    if (!f) return tp_fail_memory(err, sizeof(*f));
    *out = f;
    tp_ref_init(&f->ref);
    TP_TRY(tp_arena_new(&f->arena, err));
    f->name = tp_arena_text(f->arena, name, strlen(name));
    return f->name ? TROUPE_OK : tp_fail_memory(err, strlen(name));
}

troupe_status tp_body_init(struct tp_body *body, const char *name, troupe_error *err)
{
    *body = (struct tp_body){0};
    troupe_status status = new_function(&body->function, name, err);
    if (status >= 0) status = tp_arena_new(&body->scratch, err);
    if (status < 0) tp_body_fini(body);
    return status;
}

/* What only a body needs. */
static void drop_tools(struct tp_body *body)
{
    tp_index_fini(&body->dims);
    tp_arena_destroy(&body->scratch);
    tp_free(body->told);
    body->told = NULL;
    tp_free(body->types.inputs);
    tp_free(body->types.known);
    tp_free(body->types.results);
    tp_free(body->types.dims);
    body->types = (struct tp_types){0};
}

void tp_body_fini(struct tp_body *body)
{
    struct tp_function *f = body->function;
    drop_tools(body);
    if (!f) return;
    struct tp_value *const values = f->values;
    struct tp_node *const nodes = f->nodes;
    void *const others[] = {values, nodes, f->results, f->dims, f->calls};
    tp_function_release(&body->function);
    for (size_t i = 0; i < TP_COUNT(others); i++)
        tp_free(others[i]);
}

/* Room for `more` elements beside the `count` that are there. */
static troupe_status room(void *array, size_t count, size_t more, size_t *capacity, size_t size,
                          troupe_error *err)
{
    if (more > UINT32_MAX - 1 || count + more > UINT32_MAX - 1) {
        return tp_fail(err, TROUPE_EXHAUSTED, "more than %u of a kind in one function",
                       UINT32_MAX - 1);
    }
    return more ? tp_grow(array, count + more - 1, capacity, size, err) : TROUPE_OK;
}

troupe_status tp_body_room(struct tp_body *body, size_t values, size_t nodes, troupe_error *err)
{
    struct tp_function *f = body->function;
    TP_TRY(
        room(&f->values, f->n_values, values, &body->values_room, sizeof(f->values[0]), err));
    TP_TRY(room(&f->nodes, f->n_nodes, nodes, &body->nodes_room, sizeof(f->nodes[0]), err));
    return room(&f->calls, f->n_calls, nodes, &body->calls_room, sizeof(f->calls[0]), err);
}

static troupe_status copy_text(struct tp_arena *arena, const char **text, troupe_error *err)
{
    if (!*text) return TROUPE_OK; /* none */
    const size_t size = strlen(*text);
    const char *copy = tp_arena_text(arena, *text, size);
    if (!copy) return tp_fail_memory(err, size);
    *text = copy;
    return TROUPE_OK;
}

/* The hash of a constant, in the arena. */
static troupe_status copy_content(struct tp_arena *arena, struct tp_value *value,
                                  troupe_error *err)
{
    uint64_t *content = tp_arena_take(arena, 2 * sizeof(*content));
    if (!content) return tp_fail_memory(err, 2 * sizeof(*content));
    if (value->content) {
        memcpy(content, value->content, 2 * sizeof(*content));
    } else {
        TP_TRY(tp_hash_tensor(value->constant, content, err));
    }
    value->content = content;
    return TROUPE_OK;
}

troupe_status tp_body_value(struct tp_body *body, const struct tp_value *value, uint32_t *out,
                            troupe_error *err)
{
    struct tp_function *f = body->function;
    struct tp_value copy = *value;
    TP_TRY(room(&f->values, f->n_values, 1, &body->values_room, sizeof(copy), err));
    TP_TRY(copy_text(f->arena, &copy.name, err));
    TP_TRY(copy_text(f->arena, &copy.file, err));
    if (copy.constant) {
        TP_TRY(copy_content(f->arena, &copy, err));
        troupe_tensor_retain(copy.constant);
    }
    *out = f->n_values;
    f->values[f->n_values++] = copy;
    return TROUPE_OK;
}

void tp_body_cut(struct tp_body *body, uint32_t n)
{
    struct tp_function *f = body->function;
    while (f->n_values > n)
        troupe_tensor_release(&f->values[--f->n_values].constant);
    if (body->told_n > n) body->told_n = n;
}

static uint32_t *copy_list(uint32_t **at, const uint32_t *list, uint32_t n)
{
    uint32_t *copy = *at;
    if (n) memcpy(copy, list, n * sizeof(*list));
    *at += n;
    return copy;
}

/* Its four lists of numbers, in one piece. */
static troupe_status copy_lists(struct tp_arena *arena, struct tp_node *node, troupe_error *err)
{
    const size_t n = (size_t)node->n_inputs + node->n_results + node->n_after + node->n_with;
    uint32_t *at = tp_arena_array(arena, n, sizeof(*at));
    if (!at) return tp_fail_memory(err, n * sizeof(*at));
    node->inputs = copy_list(&at, node->inputs, node->n_inputs);
    node->results = copy_list(&at, node->results, node->n_results);
    node->after = copy_list(&at, node->after, node->n_after);
    node->with = copy_list(&at, node->with, node->n_with);
    return TROUPE_OK;
}

static troupe_status copy_name(const struct tp_function *f, struct tp_node *node,
                               troupe_error *err)
{
    const uint32_t first = node->n_results ? node->results[0] : TP_NO_VALUE;
    if (first != TP_NO_VALUE && strcmp(f->values[first].name, node->name) == 0) {
        node->name = f->values[first].name;
        return TROUPE_OK;
    }
    return copy_text(f->arena, &node->name, err);
}

/* The name of the function that it comes from; the one before often has the same. */
static troupe_status copy_origin(const struct tp_function *f, struct tp_node *node,
                                 troupe_error *err)
{
    const char *before = f->n_nodes ? f->nodes[f->n_nodes - 1].function : NULL;
    if (node->function && before && strcmp(node->function, before) == 0) {
        node->function = before;
        return TROUPE_OK;
    }
    return copy_text(f->arena, &node->function, err);
}

static bool names_function(const struct tp_node *node)
{
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (node->attrs[i].kind == TROUPE_ATTR_FUNCTION) return true;
    }
    return node->callee != NULL;
}

static void add_node(struct tp_function *f, const struct tp_node *node)
{
    for (uint32_t i = 0; i < node->n_results; i++) {
        if (node->results[i] == TP_NO_VALUE) continue;
        f->values[node->results[i]].node = f->n_nodes;
        f->values[node->results[i]].index = i;
    }
    if (names_function(node)) f->calls[f->n_calls++] = f->n_nodes;
    tp_op_retain(node->op);
    f->nodes[f->n_nodes++] = *node;
}

troupe_status tp_body_node(struct tp_body *body, const struct tp_node *node, troupe_error *err)
{
    struct tp_function *f = body->function;
    struct tp_node copy = *node;
    TP_TRY(tp_body_room(body, 0, 1, err));
    TP_TRY(copy_lists(f->arena, &copy, err));
    TP_TRY(copy_name(f, &copy, err));
    TP_TRY(copy_text(f->arena, &copy.callee, err));
    TP_TRY(copy_origin(f, &copy, err));
    if (copy.n_attrs)
        TP_TRY(tp_attr_copy(f->arena, node->attrs, node->n_attrs, &copy.attrs, err));
    add_node(f, &copy);
    return TROUPE_OK;
}

troupe_status tp_body_result(struct tp_body *body, const struct tp_result *result,
                             troupe_error *err)
{
    struct tp_function *f = body->function;
    struct tp_result copy = *result;
    TP_TRY(room(&f->results, f->n_results, 1, &body->results_room, sizeof(copy), err));
    TP_TRY(copy_text(f->arena, &copy.name, err));
    f->results[f->n_results++] = copy;
    return TROUPE_OK;
}

static troupe_status add_dim(struct tp_body *body, const char *name, uint32_t *out,
                             troupe_error *err)
{
    struct tp_function *f = body->function;
    uint32_t had;
    TP_TRY(room(&f->dims, f->n_dims, 1, &body->dims_room, sizeof(f->dims[0]), err));
    TP_TRY(tp_index_add(&body->dims, body->scratch, name, f->n_dims, &had, err));
    *out = had != TP_NO_INDEX ? had : f->n_dims;
    if (had == TP_NO_INDEX) f->dims[f->n_dims++] = name;
    return TROUPE_OK;
}

troupe_status tp_body_dim(struct tp_body *body, const char *name, size_t size, uint32_t *out,
                          troupe_error *err)
{
    struct tp_arena *arena = body->function->arena;
    const struct tp_arena_mark mark = tp_arena_mark(arena);
    const uint32_t n = body->function->n_dims;
    const char *copy = tp_arena_text(arena, name, size);
    const troupe_status status =
        copy ? add_dim(body, copy, out, err) : tp_fail_memory(err, size);
    if (body->function->n_dims == n) tp_arena_reset(arena, mark);
    return status;
}

/* Cut an array to what it holds, if that can be had. */
static void *cut(void *array, size_t n, size_t size)
{
    void *exact = array ? tp_realloc_array(array, n, size) : NULL;
    return exact ? exact : array;
}

/* From here on the arena owns the arrays. */
static troupe_status hand_over(struct tp_function *f, troupe_error *err)
{
    f->values = cut(f->values, f->n_values, sizeof(f->values[0]));
    f->nodes = cut(f->nodes, f->n_nodes, sizeof(f->nodes[0]));
    f->results = cut(f->results, f->n_results, sizeof(f->results[0]));
    f->dims = cut(f->dims, f->n_dims, sizeof(f->dims[0]));
    f->calls = cut(f->calls, f->n_calls, sizeof(f->calls[0]));
    void *const arrays[] = {f->values, f->nodes, f->results, f->dims, f->calls};
    return tp_arena_adopt(f->arena, arrays, TP_COUNT(arrays), err);
}

/* Addresses are enough: as long as a body or a plan is there its operators are. */
static uint64_t sum_operators(const struct tp_function *f)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct tp_op *op = f->nodes[i].op;
        if (op && op->user)
            sum = (sum + (uintptr_t)op->user) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    }
    return sum;
}

static troupe_status seal(struct tp_body *body, troupe_error *err)
{
    body->function->operators = sum_operators(body->function);
    TP_TRY(tp_body_order(body, err));
    TP_TRY(tp_hash_function(body->function, body->pace, body->function->hash, err));
    return hand_over(body->function, err);
}

troupe_status tp_body_seal(struct tp_body *body, struct tp_function **out, troupe_error *err)
{
    const troupe_status status = seal(body, err);
    if (status >= 0) {
        *out = body->function;
        body->function = NULL;
    }
    tp_body_fini(body);
    return status;
}
