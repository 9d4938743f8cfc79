/* SPDX-License-Identifier: MIT
 *
 * graph/inline.c - replace the calls in a function by the bodies that they call.
 *
 * The function and the bodies that are being copied make a stack of frames, in memory of its
 * own, so the depth of calls is bounded by memory alone. A frame copies its graph nodes in
 * order; at a call it waits for the frame of the called body, which is pushed. All types are
 * inferred anew, from what the call gives.
 */
#include "graph/inline.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "graph/call.h"
#include "graph/inliner.h"
#include "graph/together.h"
#include "tensor/tensor.h"

#define EDGES_PER_NODE 64 /* of `after`, on average: more is no function but an attack */

static void inliner_fini(struct tp_inliner *in)
{
    tp_index_fini(&in->nodes);
    tp_index_fini(&in->values);
    tp_body_fini(&in->body);
    tp_arena_destroy(&in->arena);
    tp_free(in->frames);
    tp_free(in->list);
    tp_text_fini(&in->name);
    tp_text_fini(&in->node_name);
}

static struct tp_frame *top_of(struct tp_inliner *in)
{
    return &in->frames[in->n_frames - 1];
}

/* Which groups of the frame's function have a wish of their own. */
static troupe_status group(struct tp_inliner *in, struct tp_frame *frame, troupe_error *err)
{
    const struct tp_function *f = frame->f;
    TP_TRY(tp_together(f, in->arena, &frame->parents, err));
    if (!frame->parents) return TROUPE_OK; /* each graph node is alone */
    frame->wishes = tp_arena_array(in->arena, f->n_nodes, sizeof(*frame->wishes));
    if (!frame->wishes) return tp_fail_memory(err, f->n_nodes);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (!tp_name_empty(&f->nodes[i].device))
            frame->wishes[tp_together_root(frame->parents, i)] = true;
    }
    return TROUPE_OK;
}

static troupe_status make_room(struct tp_inliner *in, struct tp_frame *frame, troupe_error *err)
{
    const struct tp_function *f = frame->f;
    frame->values = tp_arena_array(in->arena, f->n_values, sizeof(*frame->values));
    frame->nodes = tp_arena_array(in->arena, f->n_nodes, sizeof(*frame->nodes));
    frame->dims = tp_arena_array(in->arena, f->n_dims, sizeof(*frame->dims));
    if (!frame->values || !frame->nodes || !frame->dims)
        return tp_fail_memory(err, f->n_values * sizeof(*frame->values));
    for (uint32_t v = 0; v < f->n_values; v++)
        frame->values[v] = TP_NO_VALUE;
    return group(in, frame, err);
}

static troupe_status copy_constants(struct tp_inliner *in, struct tp_frame *frame,
                                    troupe_error *err)
{
    const struct tp_function *f = frame->f;
    for (uint32_t v = f->n_args; v < f->n_values; v++) {
        if (f->values[v].node != TP_NO_NODE) continue;
        TP_TRY(tp_inline_value(in, frame, &f->values[v], &frame->values[v], err));
    }
    return TROUPE_OK;
}

/* Two descriptions of a value of the result; that they contradict is told by the value's name.
 */
static troupe_status refine(struct tp_inliner *in, uint32_t v, const struct tp_type *type,
                            troupe_error *err)
{
    struct tp_value *value = &in->body.function->values[v];
    const troupe_status status =
        tp_shape_meet(&value->type.shape, &type->shape, &value->type.shape, err);
    if (status < 0) tp_fail_in(err, "value '%.60s'", value->name);
    return status;
}

/* The named dimensions of a called body, from what the call gives. */
static troupe_status bind_dims(struct tp_inliner *in, struct tp_frame *frame,
                               const struct tp_node *call, const uint32_t *inputs,
                               troupe_error *err)
{
    TP_OWNED(tp_free_at) const struct tp_type **types = NULL;
    types = tp_alloc_array(call->n_inputs, sizeof(*types));
    if (!types) return tp_fail_memory(err, call->n_inputs * sizeof(*types));
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        if (inputs[i] != TP_NO_VALUE) types[i] = &in->body.function->values[inputs[i]].type;
    }
    const troupe_status status =
        tp_call_check(frame->f, types, call->n_inputs, frame->dims, err);
    if (status < 0) tp_body_name_dims(in->body.function, err);
    return status;
}

/* An argument is what the call gives, or its default, which becomes a constant. */
static troupe_status bind_arg(struct tp_inliner *in, struct tp_frame *frame, uint32_t i,
                              uint32_t given, troupe_error *err)
{
    const struct tp_value *arg = &frame->f->values[i];
    const struct tp_type type = tp_call_type(&arg->type, frame->dims);
    if (given == TP_NO_VALUE) {
        TP_TRY(tp_inline_value(in, frame, arg, &given, err));
        in->body.function->values[given].type = arg->constant->type;
    }
    frame->values[i] = given;
    return refine(in, given, &type, err);
}

static troupe_status bind_args(struct tp_inliner *in, struct tp_frame *frame,
                               const struct tp_frame *below, troupe_error *err)
{
    const struct tp_node *call = &below->f->nodes[frame->call];
    TP_OWNED(tp_free_at) uint32_t *inputs = tp_alloc_array(call->n_inputs, sizeof(*inputs));
    if (!inputs) return tp_fail_memory(err, call->n_inputs * sizeof(*inputs));
    for (uint32_t i = 0; i < call->n_inputs; i++)
        inputs[i] =
            call->inputs[i] == TP_NO_VALUE ? TP_NO_VALUE : below->values[call->inputs[i]];
    TP_TRY(bind_dims(in, frame, call, inputs, err));
    for (uint32_t i = 0; i < frame->f->n_args; i++)
        TP_TRY(bind_arg(in, frame, i, i < call->n_inputs ? inputs[i] : TP_NO_VALUE, err));
    return TROUPE_OK;
}

static const uint32_t *keep_list(struct tp_inliner *in, const uint32_t *list, uint32_t n)
{
    uint32_t *copy = tp_arena_array(in->arena, n, sizeof(*copy));
    if (copy && n) memcpy(copy, list, n * sizeof(*copy));
    return copy;
}

/* "f -> g -> f", for a function that is being copied and is called again. */
static troupe_status fail_circle(const struct tp_inliner *in, const char *name,
                                 troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text circle = {0};
    size_t i = in->n_frames;
    while (i > 0 && strcmp(in->frames[i - 1].f->name, name) != 0)
        i--;
    const size_t start = i ? i - 1 : 0;
    for (i = start; i < in->n_frames && circle.size < 150; i++)
        tp_text_add(&circle, "%s -> ", in->frames[i].f->name);
    return tp_fail(err, TROUPE_INVALID, "calls without end: %s%s%s",
                   circle.data ? circle.data : "", i < in->n_frames ? "... -> " : "", name);
}

static troupe_status find_callee(struct tp_inliner *in, const char *name,
                                 struct tp_frame *frame, troupe_error *err)
{
    frame->known = in->version ? tp_index_find(&in->version->index, name) : TP_NO_INDEX;
    if (frame->known == TP_NO_INDEX)
        return tp_fail(err, TROUPE_INVALID, "there is no function '%s'", name);
    if (in->active[frame->known]) return fail_circle(in, name, err);
    frame->f = in->version->functions[frame->known];
    frame->function = frame->f->name;
    return TROUPE_OK;
}

/* The frame of the body that graph node i of the top frame calls. */
static troupe_status fill_frame(struct tp_inliner *in, uint32_t i, struct tp_frame *frame,
                                troupe_error *err)
{
    struct tp_frame *below = top_of(in);
    const struct tp_node *call = &below->f->nodes[i];
    struct tp_wishes wishes;
    frame->call = i;
    frame->first = in->body.function->n_nodes;
    TP_TRY(find_callee(in, call->callee, frame, err));
    TP_TRY(tp_inline_path(in, below, call->name, &frame->path, err));
    TP_TRY(tp_inline_wishes(in, below, i, &wishes, err));
    frame->device = wishes.device;
    frame->n_after = wishes.n_after;
    frame->n_with = wishes.n_with;
    frame->after = keep_list(in, wishes.after, wishes.n_after);
    frame->with = keep_list(in, wishes.with, wishes.n_with);
    if (!frame->after || !frame->with) return tp_fail_memory(err, wishes.n_after);
    TP_TRY(make_room(in, frame, err));
    TP_TRY(bind_args(in, frame, below, err));
    return copy_constants(in, frame, err);
}

static troupe_status push_call(struct tp_inliner *in, uint32_t i, troupe_error *err)
{
    struct tp_frame frame = {0};
    TP_TRY(tp_grow(&in->frames, in->n_frames, &in->frames_room, sizeof(frame), err));
    TP_TRY(fill_frame(in, i, &frame, err));
    in->active[frame.known] = true;
    in->frames[in->n_frames++] = frame;
    return TROUPE_OK;
}

/* The graph nodes that make the results of a body without effects: what runs after the call
 * runs after them; after what the call runs after, when there are none. */
static troupe_status collect_makers(struct tp_inliner *in, const struct tp_frame *frame,
                                    struct tp_became *out, troupe_error *err)
{
    const struct tp_function *f = frame->f, *to = in->body.function;
    uint32_t *list = tp_arena_array(in->arena, f->n_results, sizeof(*list));
    if (!list) return tp_fail_memory(err, f->n_results * sizeof(*list));
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_results; i++) {
        const uint32_t maker = to->values[frame->values[f->results[i].value]].node;
        if (maker == TP_NO_NODE || maker < frame->first) continue;
        if (n == 0 || list[n - 1] != maker) list[n++] = maker;
    }
    out->after = n ? list : frame->after;
    out->n_after = n ? n : frame->n_after;
    out->node = n ? list[0] : to->n_nodes > frame->first ? frame->first : TP_NO_NODE;
    return TROUPE_OK;
}

/* What the call has become: after it is after its last effect, behind which are all the others.
 */
static troupe_status note_call(struct tp_inliner *in, const struct tp_frame *frame,
                               struct tp_became *out, troupe_error *err)
{
    TP_TRY(collect_makers(in, frame, out, err));
    if (in->last_effect <= frame->first) return TROUPE_OK; /* no effect is of this frame */
    out->own = in->last_effect - 1;
    out->n_after = 1;
    out->after = &out->own;
    return TROUPE_OK;
}

/* The results of a called body go to the frame below. */
static troupe_status pop_call(struct tp_inliner *in, troupe_error *err)
{
    const struct tp_frame *frame = top_of(in);
    struct tp_frame *below = &in->frames[in->n_frames - 2];
    const struct tp_node *call = &below->f->nodes[frame->call];
    for (uint32_t i = 0; i < call->n_results; i++) {
        const struct tp_result *result = &frame->f->results[i];
        const struct tp_type type = tp_call_type(&result->type, frame->dims);
        const uint32_t v = frame->values[result->value];
        TP_TRY(refine(in, v, &type, err));
        if (call->results[i] != TP_NO_VALUE) below->values[call->results[i]] = v;
    }
    TP_TRY(note_call(in, frame, &below->nodes[frame->call], err));
    in->active[frame->known] = false;
    in->n_frames--;
    return TROUPE_OK;
}

/* One graph node of the top frame, or its end. */
static troupe_status step(struct tp_inliner *in, troupe_error *err)
{
    struct tp_frame *top = top_of(in);
    if (top->next == top->f->n_nodes) return pop_call(in, err);
    const uint32_t i = top->next++;
    const struct tp_node *node = &top->f->nodes[i];
    if (in->left == 0) {
        return tp_fail(err, TROUPE_EXHAUSTED, "more graph nodes than are allowed, with '%s'",
                       node->name);
    }
    in->left--;
    return node->op ? tp_inline_node(in, top, i, err) : push_call(in, i, err);
}

/* Names the graph node of the top frame that could not be copied. */
static troupe_status step_named(struct tp_inliner *in, troupe_error *err)
{
    const size_t depth = in->n_frames;
    const troupe_status status = step(in, err);
    if (status >= 0) return TROUPE_OK;
    const struct tp_frame *top = &in->frames[depth - 1];
    const char *name = top->next ? top->f->nodes[top->next - 1].name : "";
    tp_fail_in(err, "function '%.40s': node '%s%s%.60s'", top->f->name, top->path,
               *top->path ? "/" : "", name);
    return status;
}

static troupe_status copy_head(struct tp_inliner *in, struct tp_frame *root, troupe_error *err)
{
    const struct tp_function *f = root->f;
    struct tp_function *to = in->body.function;
    uint32_t k;
    if (f->source) {
        to->source = tp_arena_text(to->arena, f->source, strlen(f->source));
        if (!to->source) return tp_fail_memory(err, strlen(f->source));
    }
    for (uint32_t i = 0; i < f->n_dims; i++) {
        TP_TRY(tp_body_dim(&in->body, f->dims[i], strlen(f->dims[i]), &k, err));
        root->dims[i] = TP_DIM_NAMED(k);
    }
    for (uint32_t i = 0; i < f->n_args; i++)
        TP_TRY(tp_inline_value(in, root, &f->values[i], &root->values[i], err));
    to->n_args = f->n_args;
    return copy_constants(in, root, err);
}

static troupe_status start(struct tp_inliner *in, const troupe_function *function,
                           troupe_error *err)
{
    const struct tp_function *f = function->body;
    const uint32_t n = in->version ? in->version->n : 0;
    TP_TRY(tp_body_init(&in->body, f->name, err));
    TP_TRY(tp_arena_new(&in->arena, err));
    in->active = tp_arena_array(in->arena, n, sizeof(*in->active));
    if (!in->active) return tp_fail_memory(err, n * sizeof(*in->active));
    const uint32_t itself = n ? tp_index_find(&in->version->index, f->name) : TP_NO_INDEX;
    if (itself != TP_NO_INDEX) in->active[itself] = true;
    TP_TRY(tp_grow(&in->frames, 0, &in->frames_room, sizeof(*in->frames), err));
    in->frames[0] =
        (struct tp_frame){.f = f, .path = "", .known = itself, .device = tp_name_none};
    in->n_frames = 1;
    TP_TRY(make_room(in, &in->frames[0], err));
    return copy_head(in, &in->frames[0], err);
}

static bool at_end(const struct tp_inliner *in)
{
    return in->n_frames == 1 && in->frames[0].next == in->frames[0].f->n_nodes;
}

static troupe_status copy_results(struct tp_inliner *in, troupe_error *err)
{
    const struct tp_frame *root = &in->frames[0];
    for (uint32_t i = 0; i < root->f->n_results; i++) {
        struct tp_result result = root->f->results[i];
        result.value = root->values[result.value];
        TP_TRY(tp_body_result(&in->body, &result, err));
    }
    return TROUPE_OK;
}

static bool calls(const struct tp_function *f)
{
    for (uint32_t i = 0; i < f->n_calls; i++) {
        if (f->nodes[f->calls[i]].callee) return true;
    }
    return false;
}

static troupe_status check_size(const troupe_function *function, size_t max_nodes,
                                troupe_error *err)
{
    uint64_t nodes;
    TP_TRY(tp_inline_count(function, &nodes, err));
    if (nodes <= max_nodes) return TROUPE_OK;
    return tp_fail(err, TROUPE_EXHAUSTED,
                   "%s%" PRIu64 " graph nodes with all that it calls, more than the %zu that "
                   "are allowed",
                   nodes == UINT64_MAX ? "at least " : "", nodes, max_nodes);
}

troupe_status tp_inline(const troupe_function *function, size_t max_nodes, struct tp_pace *pace,
                        struct tp_function **out, troupe_error *err)
{
    if (!calls(function->body)) {
        *out = tp_function_retain(function->body);
        return TROUPE_OK;
    }
    TP_TRY(check_size(function, max_nodes, err));
    TP_OWNED(inliner_fini) struct tp_inliner in = {.version = function->version};
    in.left = max_nodes;
    if (__builtin_mul_overflow(max_nodes, EDGES_PER_NODE, &in.edges_left))
        in.edges_left = SIZE_MAX;
    TP_TRY(start(&in, function, err));
    in.body.pace = pace;
    while (!at_end(&in)) {
        TP_TRY(tp_pace(pace, err));
        TP_TRY(step_named(&in, err));
    }
    TP_TRY(copy_results(&in, err));
    tp_index_fini(&in.nodes); /* its entries are freed with the body's scratch */
    tp_index_fini(&in.values);
    return tp_body_seal(&in.body, out, err);
}
