/* SPDX-License-Identifier: MIT
 *
 * graph/dot.c - a function as a graph for Graphviz: graph nodes as boxes in their devices'
 * colours, values as arrows, `after` dashed, `with` dotted.
 */
#include <string.h>
#include <xxhash.h>

#include "graph/show.h"

/* A text in quotes, as Graphviz reads them. */
static void quote(const char *text, struct tp_text *out)
{
    tp_text_add(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') tp_text_add(out, "\\");
        tp_text_add_bytes(out, *text == '\n' ? " " : text, 1);
    }
    tp_text_add(out, "\"");
}

/* The same device has the same colour, in every graph. */
static unsigned colour_of(const char *device)
{
    return 1 + (unsigned)(XXH3_64bits(device, strlen(device)) % 11);
}

static void show_node(const struct tp_function *f, uint32_t i, struct tp_text *out)
{
    const struct tp_node *node = &f->nodes[i];
    const char *target = node->op ? node->op->name : node->callee;
    tp_text_add(out, "    n%u [label=", i);
    quote(target, out);
    tp_text_add(out, ", tooltip=");
    quote(node->name, out);
    if (!node->op) tp_text_add(out, ", peripheries=2");
    if (node->stateful) tp_text_add(out, ", penwidth=2");
    if (!tp_name_empty(&node->device)) {
        const struct tp_name_text device = tp_name_text(&node->device);
        tp_text_add(out, ", fillcolor=%u, xlabel=", colour_of(device.text));
        quote(device.text, out);
    }
    tp_text_add(out, "]\n");
}

static void show_value(const struct tp_function *f, uint32_t v, struct tp_text *out)
{
    tp_text_add(out, "    v%u [label=", v);
    quote(f->values[v].name, out);
    tp_text_add(out, ", shape=%s]\n", v < f->n_args ? "ellipse" : "note");
}

/* Where value v comes from. */
static void show_origin(const struct tp_function *f, uint32_t v, struct tp_text *out)
{
    const uint32_t node = f->values[v].node;
    tp_text_add(out, "    %c%u -> ", node == TP_NO_NODE ? 'v' : 'n',
                node == TP_NO_NODE ? v : node);
}

static void show_type(const struct tp_function *f, uint32_t v, struct tp_text *out)
{
    char type[192];
    tp_type_show(&f->values[v].type, f->dims, type, sizeof(type));
    tp_text_add(out, " [label=");
    quote(type, out);
    tp_text_add(out, "]\n");
}

static void show_edges(const struct tp_function *f, uint32_t i, struct tp_text *out)
{
    const struct tp_node *node = &f->nodes[i];
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        if (node->inputs[k] == TP_NO_VALUE) continue;
        show_origin(f, node->inputs[k], out);
        tp_text_add(out, "n%u", i);
        show_type(f, node->inputs[k], out);
    }
    for (uint32_t k = 0; k < node->n_after; k++)
        tp_text_add(out, "    n%u -> n%u [style=dashed]\n", node->after[k], i);
    for (uint32_t k = 0; k < node->n_with; k++) {
        tp_text_add(out, "    n%u -> n%u [style=dotted, dir=none, constraint=false]\n",
                    node->with[k], i);
    }
}

static void show_result(const struct tp_function *f, uint32_t i, struct tp_text *out)
{
    tp_text_add(out, "    r%u [label=", i);
    quote(f->results[i].name, out);
    tp_text_add(out, ", shape=ellipse]\n");
    show_origin(f, f->results[i].value, out);
    tp_text_add(out, "r%u", i);
    show_type(f, f->results[i].value, out);
}

void tp_show_dot(const struct tp_function *f, struct tp_text *out)
{
    tp_text_add(out, "digraph ");
    quote(f->name, out);
    tp_text_add(out, " {\n    node [shape=box, style=filled, colorscheme=set312, "
                     "fillcolor=white]\n");
    for (uint32_t v = 0; v < f->n_values; v++) {
        if (f->values[v].node == TP_NO_NODE) show_value(f, v, out);
    }
    for (uint32_t i = 0; i < f->n_nodes; i++)
        show_node(f, i, out);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        show_edges(f, i, out);
    for (uint32_t i = 0; i < f->n_results; i++)
        show_result(f, i, out);
    tp_text_add(out, "}\n");
}
