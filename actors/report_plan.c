/* SPDX-License-Identifier: MIT
 *
 * actors/report_plan.c - a plan as users look at it: text, JSON, Graphviz, and the reasons for
 * each graph node.
 */
#include <string.h>

#include "actors/report_json.h"
#include "actors/runtime.h"
#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "graph/nearest.h"
#include "tensor/tensor.h"

/* -- Make ---------------------------------------------------------------------------------- */

static troupe_status note_reasons(struct troupe_plan *plan, troupe_error *err)
{
    uint32_t n = plan->body->n_nodes;
    plan->reasons = tp_alloc_array(n + (size_t)1, sizeof(char *));
    if (!plan->reasons) return tp_fail_memory(err, n * sizeof(char *));
    for (uint32_t i = 0; i < n; i++)
        TP_TRY(
            tp_reason_text(plan->body, &plan->env, plan->placement, i, &plan->reasons[i], err));
    return TROUPE_OK;
}

troupe_status troupe_plan_make(troupe_runtime *runtime, const troupe_function *function,
                               const troupe_call_options *options, troupe_plan **out,
                               troupe_error *err)
{
    TP_TRY(tp_need(runtime, "runtime", err));
    TP_TRY(tp_need(function, "function", err));
    TP_TRY(tp_need(out, "out", err));
    TP_OWNED(tp_request_fini) struct tp_request request = {0};
    TP_OWNED(tp_plan_release) struct troupe_plan *plan = NULL;
    TP_TRY(tp_runtime_check(runtime, err));
    TP_TRY(tp_options_check(options, err));
    TP_TRY(tp_request_make(&request, runtime->devices, runtime->default_device, function,
                           options, err));
    TP_TRY(tp_request_operators(&request, runtime->operators, err));
    TP_TRY(tp_plan_make(&request, NULL, &plan, err));
    TP_TRY(note_reasons(plan, err));
    *out = plan;
    plan = NULL;
    return TROUPE_OK;
}

void troupe_plan_release(troupe_plan **plan)
{
    if (!plan) return;
    tp_plan_release(plan);
}

/* -- Look ---------------------------------------------------------------------------------- */

static const char *device_at(const struct troupe_plan *plan, uint32_t i)
{
    const struct tp_device *device = plan->request.devices->list[i].device;
    return device->brief;
}

static const char *shard_device(const struct troupe_plan *plan, uint32_t shard)
{
    return device_at(plan, plan->partition->shards[shard].device);
}

size_t troupe_plan_nodes(const troupe_plan *plan)
{
    if (!plan) return 0;
    return plan->body->n_nodes;
}

troupe_status troupe_plan_node_at(const troupe_plan *plan, size_t i, troupe_plan_node *out)
{
    if (!plan) return TROUPE_INVALID;
    if (!out) return TROUPE_INVALID;
    if (i >= plan->body->n_nodes) return TROUPE_NOT_FOUND;
    if (out->size < sizeof *out) return TROUPE_INVALID;
    const struct tp_node *node = &plan->body->nodes[i];
    out->name = node->name;
    out->op = node->op->name;
    out->device = device_at(plan, plan->placement->device[i]);
    out->reason = plan->reasons[i];
    return TROUPE_OK;
}

static uint32_t find_node(const struct tp_function *body, const char *name)
{
    for (uint32_t i = 0; i < body->n_nodes; i++)
        if (!strcmp(body->nodes[i].name, name)) return i;
    return TP_NO_NODE;
}

static troupe_status not_found(const struct troupe_plan *plan, const char *name,
                               troupe_error *err)
{
    struct tp_nearest nearest = {.wanted = name};
    for (uint32_t i = 0; i < plan->body->n_nodes; i++)
        tp_nearest_offer(&nearest, plan->body->nodes[i].name);
    return tp_fail(err, TROUPE_NOT_FOUND, "function '%s' has no graph node '%s'%s",
                   plan->body->name, name, tp_nearest_text(&nearest).text);
}

troupe_status troupe_plan_explain(const troupe_plan *plan, const char *node, char **out,
                                  troupe_error *err)
{
    TP_TRY(tp_need(plan, "plan", err));
    TP_TRY(tp_need(node, "node", err));
    TP_TRY(tp_need(out, "out", err));
    uint32_t i = find_node(plan->body, node);
    if (i == TP_NO_NODE) return not_found(plan, node, err);
    return tp_place_explain(plan->body, &plan->env, plan->placement, i, out, err);
}

/* -- Text ---------------------------------------------------------------------------------- */

struct type_text {
    char text[200];
};

static struct type_text type_text(const struct troupe_plan *plan, uint32_t value)
{
    struct type_text out = {{0}};
    tp_type_show(&plan->body->values[value].type, plan->body->dims, out.text, sizeof out.text);
    return out;
}

/* Bytes of a value whose shape is known when it is planned; false when it is not. */
static bool value_bytes(const struct troupe_plan *plan, uint32_t value, size_t *out)
{
    const struct tp_type *type = &plan->body->values[value].type;
    return tp_type_known(type) && tp_type_bytes(type, out, NULL) == TROUPE_OK;
}

static void show_signature(const struct troupe_plan *plan, struct tp_text *out)
{
    const struct tp_function *body = plan->body;
    tp_text_add(out, "function %s(", body->name);
    for (uint32_t i = 0; i < body->n_args; i++)
        tp_text_add(out, "%s%s: %s", i ? ", " : "", body->values[i].name,
                    type_text(plan, i).text);
    tp_text_add(out, ") -> (");
    for (uint32_t i = 0; i < body->n_results; i++)
        tp_text_add(out, "%s%s: %s", i ? ", " : "", body->results[i].name,
                    type_text(plan, body->results[i].value).text);
    tp_text_add(out, ")\n");
}

static void show_count(struct tp_text *out, const char *before, uint32_t n, const char *what,
                       const char *after)
{
    tp_text_add(out, "%s%u %s%s%s", before, n, what, n == 1 ? "" : "s", after);
}

static size_t widest(const struct troupe_plan *plan, bool op)
{
    size_t most = 4;
    for (uint32_t i = 0; i < plan->body->n_nodes; i++) {
        const struct tp_node *node = &plan->body->nodes[i];
        size_t size = strlen(op ? node->op->name : node->name);
        if (size > most) most = size;
    }
    return most < 40 ? most : 40;
}

static void show_nodes(const struct troupe_plan *plan, struct tp_text *out)
{
    int names = (int)widest(plan, false), ops = (int)widest(plan, true);
    show_count(out, "\n", plan->body->n_nodes, "graph node", "\n");
    for (uint32_t i = 0; i < plan->body->n_nodes; i++) {
        const struct tp_node *node = &plan->body->nodes[i];
        tp_text_add(out, "  %-*s  %-*s  %-8s %s\n", names, node->name, ops, node->op->name,
                    device_at(plan, plan->placement->device[i]), plan->reasons[i]);
    }
}

static void show_shards(const struct troupe_plan *plan, struct tp_text *out)
{
    const struct tp_partition *partition = plan->partition;
    show_count(out, "\n", partition->n_shards, "shard", "\n");
    for (uint32_t i = 0; i < partition->n_shards; i++) {
        const struct tp_shard *shard = &partition->shards[i];
        uint32_t nodes = 0;
        for (uint32_t j = 0; j < shard->n_items; j++)
            nodes += shard->items[j].kind == TP_ITEM_NODE;
        tp_text_add(out, "  %-8s ", shard_device(plan, i));
        show_count(out, "", nodes, "graph node", ", takes ");
        show_count(out, "", shard->n_args, "argument", ", gives ");
        show_count(out, "", shard->n_results, "result", "\n");
    }
}

static void show_edge(const struct troupe_plan *plan, const struct tp_edge *edge,
                      struct tp_text *out)
{
    size_t bytes;
    tp_text_add(out, "  %s -> %s  ", shard_device(plan, edge->from),
                shard_device(plan, edge->to));
    if (edge->value == TP_NO_VALUE) {
        tp_text_add(out, "(order only) after %s\n",
                    edge->node == TP_NO_NODE ? "an argument"
                                             : plan->body->nodes[edge->node].name);
        return;
    }
    tp_text_add(out, "%s  %s", plan->body->values[edge->value].name,
                type_text(plan, edge->value).text);
    if (value_bytes(plan, edge->value, &bytes))
        tp_text_add(out, "  %zu bytes\n", bytes);
    else
        tp_text_add(out, "  (bytes depend on the arguments)\n");
}

static void show_text(const struct troupe_plan *plan, struct tp_text *out)
{
    show_signature(plan, out);
    show_nodes(plan, out);
    show_shards(plan, out);
    show_count(out, "\n", plan->partition->n_edges, "edge", "\n");
    for (uint32_t i = 0; i < plan->partition->n_edges; i++)
        show_edge(plan, &plan->partition->edges[i], out);
    for (size_t i = 0; i < plan->placement->n_relaxations; i++)
        tp_text_add(out, "%s  %s\n", i ? "" : "\nrelaxed\n", plan->placement->relaxations[i]);
}

/* -- JSON ---------------------------------------------------------------------------------- */

static json_t *json_typed(const char *name, const char *type)
{
    return json_pack("{s:o,s:o}", "name", tp_json_text(name), "type", tp_json_text(type));
}

static json_t *json_args(const struct troupe_plan *plan)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < plan->body->n_args; i++)
        tp_json_add(&list, json_typed(plan->body->values[i].name, type_text(plan, i).text));
    return list;
}

static json_t *json_results(const struct troupe_plan *plan)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < plan->body->n_results; i++)
        tp_json_add(&list, json_typed(plan->body->results[i].name,
                                      type_text(plan, plan->body->results[i].value).text));
    return list;
}

static json_t *json_nodes(const struct troupe_plan *plan)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < plan->body->n_nodes; i++) {
        const struct tp_node *node = &plan->body->nodes[i];
        tp_json_add(&list, json_pack("{s:o,s:s,s:s,s:o,s:b}", "name", tp_json_text(node->name),
                                     "op", node->op->name, "device",
                                     device_at(plan, plan->placement->device[i]), "reason",
                                     tp_json_text(plan->reasons[i]), "relaxed",
                                     plan->placement->reason[i].relaxed));
    }
    return list;
}

static json_t *json_numbers(const uint32_t *list, uint32_t n)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++)
        tp_json_add(&out, json_integer(list[i]));
    return out;
}

static json_t *json_shards(const struct troupe_plan *plan)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < plan->partition->n_shards; i++) {
        const struct tp_shard *shard = &plan->partition->shards[i];
        tp_json_add(&list, json_pack("{s:s,s:o,s:o}", "device", shard_device(plan, i), "args",
                                     json_numbers(shard->args, shard->n_args), "results",
                                     json_numbers(shard->results, shard->n_results)));
    }
    return list;
}

static json_t *json_edge(const struct troupe_plan *plan, const struct tp_edge *edge)
{
    size_t bytes;
    bool value = edge->value != TP_NO_VALUE;
    json_t *row = json_pack("{s:s,s:s,s:o}", "from", shard_device(plan, edge->from), "to",
                            shard_device(plan, edge->to), "value",
                            tp_json_text(value ? plan->body->values[edge->value].name : NULL));
    if (value) tp_json_set(&row, "type", tp_json_text(type_text(plan, edge->value).text));
    if (value && value_bytes(plan, edge->value, &bytes))
        tp_json_set(&row, "bytes", json_integer((json_int_t)bytes));
    return row;
}

static json_t *json_edges(const struct troupe_plan *plan)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < plan->partition->n_edges; i++)
        tp_json_add(&list, json_edge(plan, &plan->partition->edges[i]));
    return list;
}

static json_t *json_relaxed(const struct troupe_plan *plan)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->placement->n_relaxations; i++)
        tp_json_add(&list, tp_json_text(plan->placement->relaxations[i]));
    return list;
}

static troupe_status show_json(const struct troupe_plan *plan, struct tp_text *out,
                               troupe_error *err)
{
    json_t *root =
        json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "format", TROUPE_JSON_FORMAT, "function",
                  tp_json_text(plan->body->name), "args", json_args(plan), "results",
                  json_results(plan), "nodes", json_nodes(plan), "shards", json_shards(plan),
                  "edges", json_edges(plan), "relaxed", json_relaxed(plan));
    return tp_json_write(root, out, err);
}

/* -- Graphviz ------------------------------------------------------------------------------ */

/* A quoted string: names come from files. */
static void dot_text(struct tp_text *out, const char *text)
{
    tp_text_add(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') tp_text_add(out, "\\");
        if ((unsigned char)*text >= ' ') tp_text_add(out, "%c", *text);
    }
    tp_text_add(out, "\"");
}

static void dot_shard(const struct troupe_plan *plan, uint32_t shard, struct tp_text *out)
{
    const struct tp_shard *s = &plan->partition->shards[shard];
    tp_text_add(out, "  subgraph cluster_%u {\n    label=", shard);
    dot_text(out, shard_device(plan, shard));
    tp_text_add(out, ";\n");
    for (uint32_t i = 0; i < s->n_items; i++) {
        if (s->items[i].kind != TP_ITEM_NODE) continue;
        tp_text_add(out, "    n%u [label=", s->items[i].id);
        dot_text(out, plan->body->nodes[s->items[i].id].name);
        tp_text_add(out, ", tooltip=");
        dot_text(out, plan->body->nodes[s->items[i].id].op->name);
        tp_text_add(out, "];\n");
    }
    tp_text_add(out, "  }\n");
}

static void dot_inputs(const struct troupe_plan *plan, uint32_t node, struct tp_text *out)
{
    const struct tp_node *n = &plan->body->nodes[node];
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (n->inputs[i] == TP_NO_VALUE) continue;
        const struct tp_value *value = &plan->body->values[n->inputs[i]];
        if (value->node != TP_NO_NODE)
            tp_text_add(out, "  n%u -> n%u;\n", value->node, node);
        else if (n->inputs[i] < plan->body->n_args)
            tp_text_add(out, "  a%u -> n%u;\n", n->inputs[i], node);
    }
    for (uint32_t i = 0; i < n->n_after; i++)
        tp_text_add(out, "  n%u -> n%u [style=dashed];\n", n->after[i], node);
}

static void show_dot(const struct troupe_plan *plan, struct tp_text *out)
{
    tp_text_add(out, "digraph ");
    dot_text(out, plan->body->name);
    tp_text_add(out, " {\n  node [shape=box];\n");
    for (uint32_t i = 0; i < plan->body->n_args; i++) {
        tp_text_add(out, "  a%u [shape=ellipse, label=", i);
        dot_text(out, plan->body->values[i].name);
        tp_text_add(out, "];\n");
    }
    for (uint32_t i = 0; i < plan->partition->n_shards; i++)
        dot_shard(plan, i, out);
    for (uint32_t i = 0; i < plan->body->n_nodes; i++)
        dot_inputs(plan, i, out);
    tp_text_add(out, "}\n");
}

troupe_status troupe_plan_print(const troupe_plan *plan, troupe_format format, char **out,
                                troupe_error *err)
{
    TP_TRY(tp_need(plan, "plan", err));
    TP_TRY(tp_need(out, "out", err));
    TP_OWNED(tp_text_fini) struct tp_text text = {0};
    if (format != TROUPE_TEXT && format != TROUPE_JSON && format != TROUPE_DOT)
        return tp_fail(err, TROUPE_INVALID, "%d is not a format", (int)format);
    if (format == TROUPE_JSON) TP_TRY(show_json(plan, &text, err));
    if (format == TROUPE_DOT) show_dot(plan, &text);
    if (format == TROUPE_TEXT) show_text(plan, &text);
    return tp_text_take(&text, out, err);
}
