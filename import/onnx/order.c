/* SPDX-License-Identifier: MIT
 *
 * import/onnx/order.c - the order in which the nodes of a body are built.
 *
 * The standard asks for a topological order, and some exporters do not keep it. A body that has
 * one is built as it stands; in another each node is put behind the makers of its inputs. Depth
 * first, with a stack of its own: a chain may be as long as the model.
 */
#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "import/onnx/model.h"

/* A node is new, then open (its inputs' makers are being put in order), then done. */
enum { NEW, OPEN, DONE };

struct frame {
    uint32_t node;
    uint32_t input; /* the next one to look at */
};

struct sort {
    const struct tp_onnx_scope *scope;
    uint8_t *state;
    struct frame *stack;
    uint32_t depth;
    uint32_t *order;
    uint32_t n;
};

static troupe_status enter(struct sort *s, uint32_t node, troupe_error *err)
{
    if (s->state[node] == DONE) return TROUPE_OK;
    if (s->state[node] == OPEN)
        return tp_fail(err, TROUPE_INVALID,
                       "%s needs its own result, directly or by way of others",
                       tp_onnx_node_text(s->scope->body.nodes[node]).text);
    s->state[node] = OPEN;
    s->stack[s->depth++] = (struct frame){.node = node};
    return TROUPE_OK;
}

/* The node on top: look at its next input, or, after the last one, put it in order. */
static troupe_status advance(struct sort *s, troupe_error *err)
{
    struct frame *const top = &s->stack[s->depth - 1];
    const Onnx__NodeProto *const node = s->scope->body.nodes[top->node];
    if (top->input == node->n_input) {
        s->state[top->node] = DONE;
        s->order[s->n++] = top->node;
        s->depth--;
        return TROUPE_OK;
    }
    const struct tp_onnx_name *const name = s->scope->links[top->node].inputs[top->input++];
    if (!name || name->node == TP_ONNX_NOBODY) return TROUPE_OK;
    return enter(s, name->node, err);
}

troupe_status tp_onnx_sort(struct tp_onnx_build *build, const uint32_t **out, troupe_error *err)
{
    struct sort s = {.scope = build->scope};
    const size_t n = s.scope->body.n_nodes;
    TP_OWNED(tp_free_at) uint8_t *state = tp_alloc_array(n, sizeof(*state));
    TP_OWNED(tp_free_at) struct frame *stack = tp_alloc_array(n, sizeof(*stack));
    s.order = tp_arena_array(build->arena, n + 1, sizeof(*s.order));
    if (!state || !stack || !s.order) return tp_fail_memory(err, n * sizeof(*stack));
    s.state = state;
    s.stack = stack;
    for (uint32_t i = 0; i < n; i++) {
        TP_TRY(enter(&s, i, err));
        while (s.depth > 0)
            TP_TRY(advance(&s, err));
    }
    *out = s.order;
    return TROUPE_OK;
}
