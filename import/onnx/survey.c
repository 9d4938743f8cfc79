/* SPDX-License-Identifier: MIT
 *
 * import/onnx/survey.c - before anything is built: all that the model has and we have not.
 *
 * A failure at the first unknown operator would have its reader mend a model once for each. So
 * all are counted, those of sub-graphs and of the model's functions too, and named in one
 * failure.
 */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "graph/op.h"
#include "import/onnx/model.h"

enum topic { OPERATORS, TYPES, VALUES, ATTRIBUTES, TOPICS };

static const char *const topics[] = {"operators", "element types", "values", "attributes"};

#define ITEMS 64 /* different ones that are told apart */

struct item {
    enum topic topic;
    char text[56];
    size_t count;
};

struct survey {
    const struct tp_onnx_model *model;
    struct item items[ITEMS];
    size_t n_items, others; /* others: further missing things, not told apart */
    struct tp_onnx_function *queue;
};

static void miss(struct survey *s, enum topic topic, const char *fmt, ...) TROUPE_PRINTF(3, 4);
static void miss(struct survey *s, enum topic topic, const char *fmt, ...)
{
    struct item item = {.topic = topic, .count = 1};
    va_list args;
    va_start(args, fmt);
    vsnprintf(item.text, sizeof(item.text), fmt, args);
    va_end(args);
    for (size_t i = 0; i < s->n_items; i++) {
        if (s->items[i].topic != topic || strcmp(s->items[i].text, item.text) != 0) continue;
        s->items[i].count++;
        return;
    }
    if (s->n_items < ITEMS)
        s->items[s->n_items++] = item;
    else
        s->others++;
}

/* --- element types and kinds of values ------------------------------------------------ */

static void see_type(struct survey *s, int32_t number)
{
    if (tp_onnx_dtype(number) == TROUPE_DTYPE_NONE)
        miss(s, TYPES, "%s", tp_onnx_dtype_text(number).text);
}

static void see_tensors(struct survey *s, Onnx__TensorProto **tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        see_type(s, tensors[i]->data_type);
}

static void see_value(struct survey *s, const Onnx__ValueInfoProto *value)
{
    const Onnx__TypeProto *const type = value->type;
    if (!type) return; /* an input says so when it becomes an argument */
    switch (type->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        see_type(s, type->tensor_type->elem_type);
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        miss(s, VALUES, "sequence");
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        miss(s, VALUES, "optional");
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        miss(s, VALUES, "map");
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        miss(s, VALUES, "sparse tensor");
        break;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        miss(s, VALUES, "opaque");
        break;
    default:
        break;
    }
}

/* --- operators ------------------------------------------------------------------------ */

static void see_standard(struct survey *s, const char *name, int64_t version)
{
    const struct tp_onnx_op *const op = tp_onnx_op_find(name);
    if (!op || (op->ours && !tp_op_find(op->ours)))
        miss(s, OPERATORS, "%s", *name ? name : "one without a name");
    else if (version > TP_ONNX_OPSET)
        miss(s, OPERATORS, "those of opset %lld, which is above %d", (long long)version,
             TP_ONNX_OPSET);
    else if (version < op->since)
        miss(s, OPERATORS, "%s of opset %lld", name, (long long)version);
}

static void reach(struct survey *s, struct tp_onnx_function *function)
{
    if (function->reached) return;
    function->reached = true;
    function->next = s->queue;
    s->queue = function;
}

static void see_nodes(struct survey *s, const struct tp_onnx_body *body,
                      Onnx__NodeProto **nodes, size_t n);

static void see_graph(struct survey *s, const struct tp_onnx_body *body,
                      const Onnx__GraphProto *graph)
{
    see_tensors(s, graph->initializer, graph->n_initializer);
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        miss(s, VALUES, "sparse tensor");
    see_nodes(s, body, graph->node, graph->n_node);
}

static void see_attribute(struct survey *s, const struct tp_onnx_body *body,
                          const Onnx__AttributeProto *attr)
{
    if (attr->t) see_type(s, attr->t->data_type);
    if (attr->g) see_graph(s, body, attr->g);
    for (size_t i = 0; i < attr->n_graphs; i++)
        see_graph(s, body, attr->graphs[i]);
    if (attr->sparse_tensor || attr->n_sparse_tensors > 0) miss(s, ATTRIBUTES, "sparse tensor");
    if (attr->n_tensors > 0) miss(s, ATTRIBUTES, "list of tensors");
    if (attr->tp || attr->n_type_protos > 0) miss(s, ATTRIBUTES, "type");
}

static void see_node(struct survey *s, const struct tp_onnx_body *body,
                     const Onnx__NodeProto *node)
{
    const char *const domain = tp_onnx_domain(node->domain);
    struct tp_onnx_function *const function = tp_onnx_function_of(s->model, node);
    for (size_t i = 0; i < node->n_attribute; i++)
        see_attribute(s, body, node->attribute[i]);
    if (tp_onnx_user_op(s->model, node)) return;
    if (function)
        reach(s, function);
    else if (*domain)
        miss(s, OPERATORS, "%s:%s", domain, tp_onnx_text(node->op_type));
    else
        see_standard(s, tp_onnx_text(node->op_type), tp_onnx_version(body, domain));
}

static void see_nodes(struct survey *s, const struct tp_onnx_body *body,
                      Onnx__NodeProto **nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        see_node(s, body, nodes[i]);
}

/* --- the failure ---------------------------------------------------------------------- */

struct line {
    char text[sizeof(((troupe_error *)NULL)->text)];
    size_t size, room, left_out;
};

/* Add an item if it fits, with room for the number of those that do not. */
static void say(struct line *line, const char *before, const struct item *item)
{
    char text[160];
    const int n = snprintf(text, sizeof(text), "%s%s (%zu)", before, item->text, item->count);
    if (line->left_out > 0 || line->size + (size_t)n + 16 > line->room) {
        line->left_out++;
        return;
    }
    memcpy(line->text + line->size, text, (size_t)n + 1);
    line->size += (size_t)n;
}

static void say_topic(struct line *line, const struct survey *s, enum topic topic)
{
    char before[64];
    snprintf(before, sizeof(before),
             line->size > 0 ? "; %s: " : "%s not supported: ", topics[topic]);
    for (size_t i = 0; i < s->n_items; i++) {
        if (s->items[i].topic != topic) continue;
        say(line, before, &s->items[i]);
        strcpy(before, ", ");
    }
}

static troupe_status report(const struct survey *s, troupe_error *err)
{
    struct line line = {.room = sizeof(line.text) - strlen(s->model->label) - 2};
    if (s->n_items == 0) return TROUPE_OK;
    for (enum topic topic = OPERATORS; topic < TOPICS; topic++)
        say_topic(&line, s, topic);
    line.left_out += s->others;
    if (line.left_out > 0)
        return tp_fail(err, TROUPE_UNSUPPORTED, "%s and %zu more", line.text, line.left_out);
    return tp_fail(err, TROUPE_UNSUPPORTED, "%s", line.text);
}

/* A body with nodes of the standard says which version they are. */
static troupe_status check_import(const struct survey *s, const struct tp_onnx_body *body,
                                  troupe_error *err)
{
    if (tp_onnx_version(body, "") > 0) return TROUPE_OK;
    for (size_t i = 0; i < body->n_nodes; i++) {
        const Onnx__NodeProto *const node = body->nodes[i];
        if (*tp_onnx_domain(node->domain) || tp_onnx_function_of(s->model, node)) continue;
        return tp_fail(err, TROUPE_INVALID,
                       "%s%s%s has nodes of ai.onnx, whose version it does "
                       "not import",
                       body->name ? "function '" : "the model", body->name ? body->name : "",
                       body->name ? "'" : "");
    }
    return TROUPE_OK;
}

static troupe_status see_body(struct survey *s, const struct tp_onnx_body *body,
                              troupe_error *err)
{
    TP_TRY(check_import(s, body, err));
    see_nodes(s, body, body->nodes, body->n_nodes);
    return TROUPE_OK;
}

troupe_status tp_onnx_survey(const struct tp_onnx_model *model, troupe_error *err)
{
    struct survey s = {.model = model};
    const Onnx__GraphProto *const graph = model->proto->graph;
    const struct tp_onnx_body body = tp_onnx_graph_body(model->proto);
    for (size_t i = 0; i < graph->n_input; i++)
        see_value(&s, graph->input[i]);
    for (size_t i = 0; i < graph->n_output; i++)
        see_value(&s, graph->output[i]);
    see_tensors(&s, graph->initializer, graph->n_initializer);
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        miss(&s, VALUES, "sparse tensor");
    TP_TRY(see_body(&s, &body, err));
    while (s.queue) {
        const struct tp_onnx_body inner = tp_onnx_function_body(s.queue->proto);
        s.queue = s.queue->next;
        TP_TRY(see_body(&s, &inner, err));
    }
    return report(&s, err);
}
