/* SPDX-License-Identifier: MIT
 *
 * graph/inline_node.c - one value or graph node of a called body joins the caller's.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/inliner.h"
#include "graph/together.h"
#include "graph/word.h"

#define PATH_MAX_SIZE 512 /* a longer path keeps its start and gets a hash of the whole */
#define PATH_START    200

/* Cut what in->name holds to its start and a hash of it all. */
static void abbreviate(struct tp_text *text)
{
    const unsigned long long hash = XXH3_64bits(text->data, text->size);
    text->size = PATH_START;
    tp_text_add(text, "~%016llx", hash);
}

static void join(struct tp_text *text, const char *path, const char *name)
{
    text->size = 0;
    if (*path)
        tp_text_add(text, "%s/%s", path, name);
    else
        tp_text_add(text, "%s", name);
}

troupe_status tp_inline_path(struct tp_inliner *in, const struct tp_frame *frame,
                             const char *call, const char **out, troupe_error *err)
{
    join(&in->name, frame->path, call);
    if (in->name.size > PATH_MAX_SIZE) abbreviate(&in->name);
    if (in->name.failed) return tp_fail_memory(err, in->name.size);
    *out = tp_arena_text(in->arena, in->name.data, in->name.size);
    return *out ? TROUPE_OK : tp_fail_memory(err, in->name.size);
}

/* A name of the frame's as the result has it: unique in `index`. */
static troupe_status make_name(const struct tp_frame *frame, const char *name,
                               const struct tp_index *index, struct tp_text *text,
                               troupe_error *err)
{
    join(text, frame->path, name);
    if (text->size > TP_WORD_MAX - 16) abbreviate(text);
    const size_t size = text->size;
    for (unsigned k = 1; !text->failed && tp_index_find(index, text->data) != TP_NO_INDEX;
         k++) {
        text->size = size;
        tp_text_add(text, "~%u", k);
    }
    return text->failed ? tp_fail_memory(err, text->size) : TROUPE_OK;
}

troupe_status tp_inline_value(struct tp_inliner *in, const struct tp_frame *frame,
                              const struct tp_value *value, uint32_t *out, troupe_error *err)
{
    struct tp_value copy = *value;
    uint32_t had;
    TP_TRY(make_name(frame, value->name, &in->values, &in->name, err));
    copy.name = in->name.data;
    TP_TRY(tp_body_value(&in->body, &copy, out, err));
    const char *name = in->body.function->values[*out].name;
    return tp_index_add(&in->values, in->body.scratch, name, *out, &had, err);
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t sort_unique(uint32_t *list, uint32_t n)
{
    uint32_t k = 0;
    if (n > 1) qsort(list, n, sizeof(*list), ascending);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || list[i] != list[k - 1]) list[k++] = list[i];
    }
    return k;
}

/* Whether the graph node comes after another of its frame, by an input. */
static bool has_maker_here(const struct tp_inliner *in, const struct tp_frame *frame,
                           const struct tp_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TP_NO_VALUE) continue;
        const uint32_t maker = in->body.function->values[frame->values[node->inputs[i]]].node;
        if (maker != TP_NO_NODE && maker >= frame->first) return true;
    }
    return false;
}

/* How many numbers the lists of graph node i may take. */
static size_t lists_size(const struct tp_frame *frame, const struct tp_node *node)
{
    size_t n = (size_t)node->n_inputs + node->n_results + node->n_with + frame->n_after +
               frame->n_with;
    for (uint32_t i = 0; i < node->n_after; i++)
        n += frame->nodes[node->after[i]].n_after;
    return n;
}

/* Its own edges; those of the call only where nothing of the same body is before it. */
static uint32_t put_after(const struct tp_inliner *in, const struct tp_frame *frame,
                          const struct tp_node *node, uint32_t *list)
{
    bool here = has_maker_here(in, frame, node);
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->n_after; i++) {
        const struct tp_became *became = &frame->nodes[node->after[i]];
        for (uint32_t k = 0; k < became->n_after; k++) {
            list[n++] = became->after[k];
            here |= became->after[k] >= frame->first;
        }
    }
    for (uint32_t i = 0; !here && i < frame->n_after; i++)
        list[n++] = frame->after[i];
    return sort_unique(list, n);
}

/* Its own; those of the call only where neither it nor what it is placed with wishes a device.
 */
static uint32_t put_with(const struct tp_frame *frame, const struct tp_node *node, bool wishes,
                         uint32_t *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->n_with; i++) {
        const uint32_t other = frame->nodes[node->with[i]].node;
        if (other != TP_NO_NODE) list[n++] = other;
    }
    for (uint32_t i = 0; !wishes && i < frame->n_with; i++)
        list[n++] = frame->with[i];
    return sort_unique(list, n);
}

troupe_status tp_inline_wishes(struct tp_inliner *in, struct tp_frame *frame, uint32_t i,
                               struct tp_wishes *out, troupe_error *err)
{
    const struct tp_node *node = &frame->f->nodes[i];
    const bool own = !tp_name_empty(&node->device);
    const bool wishes =
        frame->parents ? frame->wishes[tp_together_root(frame->parents, i)] : own;
    const size_t n = lists_size(frame, node);
    TP_TRY(tp_grow(&in->list, n, &in->list_room, sizeof(*in->list), err));
    out->after = in->list;
    out->n_after = put_after(in, frame, node, out->after);
    out->with = out->after + out->n_after;
    out->n_with = put_with(frame, node, wishes, out->with);
    out->device = node->device;
    if (own || !wishes) tp_name_fill(&out->device, &frame->device);
    if (out->n_after > in->edges_left) {
        return tp_fail(err, TROUPE_EXHAUSTED, "node '%s': too many edges between graph nodes",
                       node->name);
    }
    in->edges_left -= out->n_after;
    return TROUPE_OK;
}

static troupe_status add_results(struct tp_inliner *in, struct tp_frame *frame,
                                 const struct tp_node *from, struct tp_node *to,
                                 troupe_error *err)
{
    for (uint32_t i = 0; i < from->n_results; i++) {
        to->results[i] = TP_NO_VALUE;
        if (from->results[i] == TP_NO_VALUE) continue;
        struct tp_value value = frame->f->values[from->results[i]];
        value.type = in->body.types.results[i];
        value.node = TP_NO_NODE; /* until it is there */
        TP_TRY(tp_inline_value(in, frame, &value, &to->results[i], err));
        frame->values[from->results[i]] = to->results[i];
    }
    return TROUPE_OK;
}

/* The last graph node of the result is what the frame's has become. */
static void note(struct tp_inliner *in, struct tp_became *became)
{
    const uint32_t i = in->body.function->n_nodes - 1;
    *became = (struct tp_became){.node = i, .own = i, .n_after = 1};
    became->after = &became->own;
    if (in->body.function->nodes[i].stateful) in->last_effect = i + 1;
}

static void map_inputs(const struct tp_frame *frame, const struct tp_node *from,
                       struct tp_node *to)
{
    for (uint32_t i = 0; i < from->n_inputs; i++) {
        const uint32_t v = from->inputs[i];
        to->inputs[i] = v == TP_NO_VALUE ? TP_NO_VALUE : frame->values[v];
    }
}

static troupe_status add_node(struct tp_inliner *in, struct tp_frame *frame,
                              const struct tp_node *from, struct tp_node *to, troupe_error *err)
{
    struct tp_function *f = in->body.function;
    uint32_t had;
    to->name = in->node_name.data;
    TP_TRY(tp_body_infer(&in->body, to, NULL, err));
    TP_TRY(add_results(in, frame, from, to, err));
    TP_TRY(tp_body_node(&in->body, to, err));
    TP_TRY(tp_body_tell(&in->body, err));
    const char *name = f->nodes[f->n_nodes - 1].name;
    return tp_index_add(&in->nodes, in->body.scratch, name, f->n_nodes - 1, &had, err);
}

troupe_status tp_inline_node(struct tp_inliner *in, struct tp_frame *frame, uint32_t i,
                             troupe_error *err)
{
    const struct tp_node *from = &frame->f->nodes[i];
    struct tp_node to = *from;
    struct tp_wishes wishes;
    TP_TRY(tp_inline_wishes(in, frame, i, &wishes, err));
    to.device = wishes.device;
    to.after = wishes.after;
    to.n_after = wishes.n_after;
    to.with = wishes.with;
    to.n_with = wishes.n_with;
    to.inputs = wishes.with + wishes.n_with;
    to.results = to.inputs + from->n_inputs;
    if (frame->function) to.function = frame->function;
    map_inputs(frame, from, &to);
    TP_TRY(make_name(frame, from->name, &in->nodes, &in->node_name, err));
    TP_TRY(add_node(in, frame, from, &to, err));
    note(in, &frame->nodes[i]);
    return TROUPE_OK;
}
