/* SPDX-License-Identifier: MIT
 *
 * graph/inline_count.c - how large a function becomes, before anything is copied.
 *
 * A few functions that call each other twice double with each step, so what is small as a text
 * may have more graph nodes than there is memory for. Each function is counted once, after those
 * that it calls, whoever calls it: linear in what is written.
 */
#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/inline.h"

/* A function whose calls are being counted; those further down the stack wait for it. */
struct level {
    const struct tp_function *f;
    uint32_t known; /* its place in the version; TP_NO_INDEX for one that is not in it */
    uint32_t next;  /* of its calls */
    uint64_t nodes; /* so far; at most UINT64_MAX */
};

enum state { STATE_NEW, STATE_OPEN, STATE_DONE };

struct counting {
    const struct tp_version *version;
    struct tp_arena *arena;
    uint8_t *states;  /* per function of the version: enum state */
    uint64_t *totals; /* per function of the version that is DONE */
    struct level *levels;
    size_t n, room;
};

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static troupe_status push(struct counting *c, const struct tp_function *f, uint32_t known,
                          troupe_error *err)
{
    TP_TRY(tp_grow(&c->levels, c->n, &c->room, sizeof(*c->levels), err));
    c->levels[c->n++] = (struct level){.f = f, .known = known, .nodes = f->n_nodes};
    if (known != TP_NO_INDEX) c->states[known] = STATE_OPEN;
    return TROUPE_OK;
}

static void pop(struct counting *c)
{
    const struct level done = c->levels[--c->n];
    if (done.known == TP_NO_INDEX) return;
    c->states[done.known] = STATE_DONE;
    c->totals[done.known] = done.nodes;
}

/* The function's next call: what it calls is there already, is counted first, or is one of
 * those that wait, a circle that inlining will name. */
static troupe_status step(struct counting *c, troupe_error *err)
{
    struct level *top = &c->levels[c->n - 1];
    const char *callee = top->f->nodes[top->f->calls[top->next]].callee;
    const uint32_t i =
        callee && c->version ? tp_index_find(&c->version->index, callee) : TP_NO_INDEX;
    if (i != TP_NO_INDEX && c->states[i] == STATE_NEW)
        return push(c, c->version->functions[i], i, err);
    if (i != TP_NO_INDEX && c->states[i] == STATE_DONE)
        top->nodes = add(top->nodes, c->totals[i]);
    top->next++;
    return TROUPE_OK;
}

static troupe_status count(struct counting *c, const struct tp_function *f, uint64_t *out,
                           troupe_error *err)
{
    const uint32_t n = c->version ? c->version->n : 0;
    TP_TRY(tp_arena_new(&c->arena, err));
    c->states = tp_arena_array(c->arena, n, sizeof(*c->states));
    c->totals = tp_arena_array(c->arena, n, sizeof(*c->totals));
    if (!c->states || !c->totals) return tp_fail_memory(err, n * sizeof(*c->totals));
    TP_TRY(push(c, f, n ? tp_index_find(&c->version->index, f->name) : TP_NO_INDEX, err));
    while (c->n) {
        const struct level *top = &c->levels[c->n - 1];
        if (top->next < top->f->n_calls) {
            TP_TRY(step(c, err));
            continue;
        }
        *out = top->nodes;
        pop(c);
    }
    return TROUPE_OK;
}

troupe_status tp_inline_count(const troupe_function *function, uint64_t *out, troupe_error *err)
{
    struct counting c = {.version = function->version};
    const troupe_status status = count(&c, function->body, out, err);
    tp_arena_destroy(&c.arena);
    tp_free(c.levels);
    return status;
}
