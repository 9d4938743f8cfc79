/* SPDX-License-Identifier: MIT
 *
 * graph/placer_follow.c - graph nodes that nothing was said of: near what they read or who
 * reads them.
 *
 * What reads only the shape of its input goes where that is, so that the input does not travel.
 * A copy between two graph nodes that were asked for on one device goes there too. What reads
 * nothing goes to those who read it when they are all on one device. All else takes the best
 * candidate. Generators wait until their readers are decided, and what follows a generator
 * waits for it, hence three passes.
 */
#include "base/fail.h"
#include "base/pace.h"
#include "graph/arena.h"
#include "graph/placing.h"

#define SEVERAL (UINT32_MAX - 1) /* beside TP_NO_DEVICE and TP_NO_NODE, which say: none yet */

enum pass { PASS_FIRST, PASS_GENERATORS, PASS_REST };

struct reader {
    uint32_t node;   /* the one that reads it; TP_NO_NODE: none, or a result of the function */
    uint32_t device; /* where all who read it are; a result without a device of its own is
                        anywhere */
    bool one;        /* exactly one reads it, once or more often */
    bool many;
};

struct follow {
    struct tp_placing *p;
    struct reader *readers; /* of each graph node */
};

static uint32_t producer(const struct tp_function *f, uint32_t value)
{
    return value == TP_NO_VALUE ? TP_NO_NODE : f->values[value].node;
}

static bool is_argument(const struct tp_function *f, uint32_t value)
{
    return value < f->n_args;
}

static struct tp_group *group_of(struct tp_placing *p, uint32_t node)
{
    return &p->groups.list[tp_groups_root(&p->groups, node)];
}

static uint32_t result_device(const struct tp_placing *p, uint32_t result)
{
    return p->env->result_devices ? p->env->result_devices[result] : TP_NO_DEVICE;
}

static void note_reader(struct reader *reader, uint32_t node)
{
    if (reader->one && reader->node == node && node != TP_NO_NODE) return;
    reader->many = reader->one || reader->many;
    reader->one = !reader->many;
    reader->node = node;
}

/* Who reads what: known before anything is decided. */
static void find_readers(struct follow *w)
{
    const struct tp_function *f = w->p->function;
    for (uint32_t i = 0; i < f->n_nodes; i++)
        for (uint32_t k = 0; k < f->nodes[i].n_inputs; k++) {
            const uint32_t from = producer(f, f->nodes[i].inputs[k]);
            if (from != TP_NO_NODE) note_reader(&w->readers[from], i);
        }
    for (uint32_t r = 0; r < f->n_results; r++) {
        const uint32_t from = producer(f, f->results[r].value);
        if (from == TP_NO_NODE) continue;
        note_reader(&w->readers[from], TP_NO_NODE);
        w->readers[from].device = result_device(w->p, r);
    }
}

static bool reads_nothing(const struct tp_node *node)
{
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TP_NO_VALUE) return false;
    return true;
}

/* All its results stay in host memory, and it has one input: a matter of shapes. */
static bool is_metadata(const struct tp_op *op)
{
    const struct tp_port *in = op->inputs, *out = op->results;
    if (!in[0].name || in[1].name || (in[0].flags & TP_VARIADIC) || !out[0].name) return false;
    for (; out->name; out++)
        if (!(out->flags & TP_HOST)) return false;
    return true;
}

/* Where the value is, as far as that is decided: TP_NO_DEVICE otherwise, and for what is
 * anywhere. */
static uint32_t device_of_value(struct follow *w, uint32_t value)
{
    const struct tp_function *f = w->p->function;
    const uint32_t from = producer(f, value);
    if (from != TP_NO_NODE) return group_of(w->p, from)->device;
    if (value == TP_NO_VALUE || !is_argument(f, value) || !w->p->env->arg_devices)
        return TP_NO_DEVICE;
    return w->p->env->arg_devices[value];
}

static bool was_asked_for(const struct tp_group *group)
{
    for (int layer = 0; layer < TP_LAYERS; layer++)
        if (group->wish[layer] != TP_NO_WISH) return true;
    return false;
}

/* Try to decide for the group of `node`: `device` must be a candidate. */
static bool try_device(struct follow *w, uint32_t node, uint32_t device, enum tp_why why,
                       uint32_t detail)
{
    const uint32_t root = tp_groups_root(&w->p->groups, node);
    if (device >= w->p->env->devices->n) return false;
    if (!tp_candidates_allow(&w->p->candidates, TP_NO_WISH, w->p->groups.list[root].row,
                             device))
        return false;
    tp_placing_decide(w->p, root, device, node, why, detail);
    return true;
}

/* A copy whose input and only reader were asked for on one device. */
static bool try_identity(struct follow *w, uint32_t node)
{
    const struct tp_node *n = &w->p->function->nodes[node];
    const struct reader *reader = &w->readers[node];
    if (!n->op->view || n->n_inputs != 1 || !reader->one) return false;
    const uint32_t from = producer(w->p->function, n->inputs[0]);
    if (from != TP_NO_NODE && !was_asked_for(group_of(w->p, from))) return false;
    if (reader->node != TP_NO_NODE && !was_asked_for(group_of(w->p, reader->node)))
        return false;
    const uint32_t here = device_of_value(w, n->inputs[0]);
    const uint32_t there =
        reader->node == TP_NO_NODE ? reader->device : group_of(w->p, reader->node)->device;
    return here == there && try_device(w, node, here, TP_WHY_IDENTITY, from);
}

static enum tp_why why_best(const struct tp_placing *p, const struct tp_choice *choice)
{
    if (choice->device == p->env->default_device) return TP_WHY_DEFAULT;
    return choice->types == 1 ? TP_WHY_ONLY : TP_WHY_PRIORITY;
}

static troupe_status take_best(struct follow *w, uint32_t node, troupe_error *err)
{
    struct tp_choice choice;
    const uint32_t root = tp_groups_root(&w->p->groups, node);
    TP_TRY(tp_candidates_best(&w->p->candidates, TP_NO_WISH, w->p->groups.list[root].row,
                              &choice, err));
    if (choice.device == TP_NO_DEVICE) return tp_placing_fail_group(w->p, root, err);
    tp_placing_decide(w->p, root, choice.device, node, why_best(w->p, &choice), 0);
    return TROUPE_OK;
}

static troupe_status decide_node(struct follow *w, uint32_t node, enum pass pass,
                                 troupe_error *err)
{
    const struct tp_node *n = &w->p->function->nodes[node];
    const struct reader *reader = &w->readers[node];
    if (group_of(w->p, node)->device != TP_NO_DEVICE) return TROUPE_OK; /* decided already */
    if (reads_nothing(n)) {
        if (pass == PASS_FIRST) return TROUPE_OK; /* its readers come first */
        if (try_device(w, node, reader->device, TP_WHY_CONSUMERS, reader->node))
            return TROUPE_OK;
    } else if (is_metadata(n->op)) {
        const uint32_t from = producer(w->p->function, n->inputs[0]);
        const uint32_t there = device_of_value(w, n->inputs[0]);
        if (try_device(w, node, there, TP_WHY_METADATA, from)) return TROUPE_OK;
        if (there == TP_NO_DEVICE && from != TP_NO_NODE && pass != PASS_REST) return TROUPE_OK;
    } else if (try_identity(w, node)) {
        return TROUPE_OK;
    }
    return take_best(w, node, err);
}

static void note_device(struct reader *reader, uint32_t device, uint32_t node)
{
    if (device == TP_NO_DEVICE || reader->device == SEVERAL) return; /* that changes nothing */
    if (reader->device != TP_NO_DEVICE && reader->device != device) {
        reader->device = SEVERAL;
        return;
    }
    reader->device = device;
    if (reader->node == TP_NO_NODE) reader->node = node;
}

/* Where the readers of each graph node that reads nothing are; those without a place do not
 * count. */
static bool find_devices_of_readers(struct follow *w)
{
    const struct tp_function *f = w->p->function;
    bool any = false;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        w->readers[i] = (struct reader){.node = TP_NO_NODE, .device = TP_NO_DEVICE};
        any = any || reads_nothing(&f->nodes[i]);
    }
    for (uint32_t i = 0; any && i < f->n_nodes; i++)
        for (uint32_t k = 0; k < f->nodes[i].n_inputs; k++) {
            const uint32_t from = producer(f, f->nodes[i].inputs[k]);
            if (from != TP_NO_NODE)
                note_device(&w->readers[from], group_of(w->p, i)->device, i);
        }
    for (uint32_t r = 0; any && r < f->n_results; r++) {
        const uint32_t from = producer(f, f->results[r].value);
        if (from != TP_NO_NODE)
            note_device(&w->readers[from], result_device(w->p, r), TP_NO_NODE);
    }
    return any;
}

static troupe_status run_pass(struct follow *w, enum pass pass, troupe_error *err)
{
    for (uint32_t i = 0; i < w->p->function->n_nodes; i++) {
        TP_TRY(tp_pace(w->p->env->pace, err));
        TP_TRY(decide_node(w, i, pass, err));
    }
    return TROUPE_OK;
}

troupe_status tp_placing_follow(struct tp_placing *placing, troupe_error *err)
{
    const uint32_t n = placing->function->n_nodes;
    struct follow w = {.p = placing,
                       .readers = tp_arena_array(placing->arena, n, sizeof(*w.readers))};
    if (!w.readers) return tp_fail_memory(err, n * sizeof(*w.readers));
    find_readers(&w);
    TP_TRY(run_pass(&w, PASS_FIRST, err));
    if (!find_devices_of_readers(&w)) return TROUPE_OK; /* then nobody waits */
    TP_TRY(run_pass(&w, PASS_GENERATORS, err));
    return run_pass(&w, PASS_REST, err);
}
