/* SPDX-License-Identifier: MIT
 *
 * graph/read_order.c - in which order the functions of a text are built, and which have
 * effects.
 *
 * Both follow the calls between them, which are listed once. Whether a function has effects
 * must be known before its callers are built, also in a circle, so it is worked out from the
 * text: what has an operator with effects, or calls what has effects. Nothing here calls
 * itself, so a long chain of functions needs no deep stack.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/reader.h"

struct call {
    uint32_t caller, callee;
    struct tp_place place;
};

/* A function whose callees are being built. */
struct step {
    uint32_t function;
    size_t next; /* of the calls */
};

struct calls {
    struct call *list; /* by caller */
    size_t n, room;
    size_t *first; /* per function and one more: where its calls begin */
    size_t *into;  /* per function and one more: where the calls of it begin in by_callee */
    uint32_t *by_callee; /* callers */
    uint32_t *work;      /* functions with effects whose callers are to be told */
    struct step *steps;
};

static void calls_fini(struct calls *c)
{
    tp_free(c->list);
    tp_free(c->first);
    tp_free(c->into);
    tp_free(c->by_callee);
    tp_free(c->work);
    tp_free(c->steps);
}

static troupe_status note_call(struct calls *c, uint32_t caller, uint32_t callee,
                               struct tp_place place, troupe_error *err)
{
    TP_TRY(tp_grow(&c->list, c->n, &c->room, sizeof(*c->list), err));
    c->list[c->n++] = (struct call){caller, callee, place};
    return TROUPE_OK;
}

static troupe_status note_statement(struct tp_reader *r, struct calls *c, uint32_t i,
                                    const struct tp_said *said, troupe_error *err)
{
    const struct tp_op *op = tp_operators_find(r->finder.operators, said->text);
    if (op) {
        r->list[i].stateful |= op->stateful;
        return TROUPE_OK;
    }
    const uint32_t callee = tp_index_find(&r->index, said->text);
    if (callee != TP_NO_INDEX) return note_call(c, i, callee, said->place, err);
    const struct tp_function *f = r->finder.find(r->finder.arg, said->text);
    if (f) r->list[i].stateful |= f->stateful;
    return TROUPE_OK; /* what is not there is told when the line is built */
}

/* A function that an attribute names is called, as far as the order goes. */
static troupe_status note_attrs(struct tp_reader *r, struct calls *c, uint32_t i,
                                const struct tp_statement *s, troupe_error *err)
{
    for (uint32_t k = 0; k < s->n_attrs; k++) {
        const troupe_attr *attr = &s->attrs[k].attr;
        if (attr->kind != TROUPE_ATTR_FUNCTION) continue;
        const uint32_t callee = tp_index_find(&r->index, attr->text);
        if (callee != TP_NO_INDEX) TP_TRY(note_call(c, i, callee, s->attrs[k].place, err));
    }
    return TROUPE_OK;
}

static troupe_status list_calls(struct tp_reader *r, struct calls *c, troupe_error *err)
{
    for (uint32_t i = 0; i < r->n; i++) {
        c->first[i] = c->n;
        for (const struct tp_statement *s = r->list[i].said->first; s; s = s->next) {
            if (!s->op.text) continue;
            TP_TRY(note_statement(r, c, i, &s->op, err));
            TP_TRY(note_attrs(r, c, i, s, err));
        }
    }
    c->first[r->n] = c->n;
    return TROUPE_OK;
}

/* Callers by callee: a counting sort. */
static void turn_round(struct calls *c, uint32_t n)
{
    for (size_t i = 0; i < c->n; i++)
        c->into[c->list[i].callee + 1]++;
    for (uint32_t i = 0; i < n; i++)
        c->into[i + 1] += c->into[i];
    for (size_t i = c->n; i-- > 0;) /* each place from its end, which the next begins at */
        c->by_callee[--c->into[c->list[i].callee + 1]] = c->list[i].caller;
}

/* After turn_round, into[k + 1] is where the callers of k begin. */
static void tell_callers(struct tp_reader *r, struct calls *c)
{
    size_t n = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->list[i].stateful) c->work[n++] = i;
    }
    while (n > 0) {
        const uint32_t callee = c->work[--n];
        const size_t end = callee + 1 < r->n ? c->into[callee + 2] : c->n;
        for (size_t k = c->into[callee + 1]; k < end; k++) {
            struct tp_reading *caller = &r->list[c->by_callee[k]];
            if (caller->stateful) continue;
            caller->stateful = true;
            c->work[n++] = c->by_callee[k];
        }
    }
}

/* The next callee of the top step is begun, signed when it is open, or passed when it is there.
 * False when there is none left. */
static troupe_status go_on(struct tp_reader *r, struct calls *c, size_t *depth, bool *left,
                           troupe_error *err)
{
    struct step *top = &c->steps[*depth - 1];
    *left = top->next < c->first[top->function + 1];
    if (!*left) return TROUPE_OK; /* all callees are there */
    const struct call *call = &c->list[top->next++];
    struct tp_reading *callee = &r->list[call->callee];
    if (callee->body || callee->signature) return TROUPE_OK; /* it can be called */
    if (callee->open) return tp_reader_sign(r, callee, call->place, err);
    callee->open = true;
    c->steps[(*depth)++] = (struct step){call->callee, c->first[call->callee]};
    return TROUPE_OK;
}

static troupe_status build_from(struct tp_reader *r, struct calls *c, uint32_t i,
                                troupe_error *err)
{
    size_t depth = 1;
    bool left;
    r->list[i].open = true;
    c->steps[0] = (struct step){i, c->first[i]};
    while (depth > 0) {
        struct tp_reading *top = &r->list[c->steps[depth - 1].function];
        TP_TRY(go_on(r, c, &depth, &left, err));
        if (left) continue;
        TP_TRY(tp_reader_build(r, top, err));
        depth--;
    }
    return TROUPE_OK;
}

static troupe_status make_room(struct calls *c, uint32_t n, troupe_error *err)
{
    c->first = tp_alloc_array((size_t)n + 1, sizeof(*c->first));
    c->into = tp_alloc_array((size_t)n + 1, sizeof(*c->into));
    c->work = tp_alloc_array(n, sizeof(*c->work));
    c->steps = tp_alloc_array(n, sizeof(*c->steps));
    if (c->first && c->into && c->work && c->steps) return TROUPE_OK;
    return tp_fail_memory(err, (size_t)n * sizeof(*c->steps));
}

troupe_status tp_reader_build_all(struct tp_reader *r, troupe_error *err)
{
    TP_OWNED(calls_fini) struct calls c = {0};
    TP_TRY(make_room(&c, r->n, err));
    TP_TRY(list_calls(r, &c, err));
    c.by_callee = tp_alloc_array(c.n, sizeof(*c.by_callee));
    if (!c.by_callee) return tp_fail_memory(err, c.n * sizeof(*c.by_callee));
    turn_round(&c, r->n);
    tell_callers(r, &c);
    for (uint32_t i = 0; i < r->n; i++) {
        if (!r->list[i].body) TP_TRY(build_from(r, &c, i, err));
    }
    return TROUPE_OK;
}
