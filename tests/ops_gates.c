/* SPDX-License-Identifier: MIT
 *
 * tests/ops_gates.c - operators that tell when they run and wait where a test wants it.
 */
#include "tests/ops_gates.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/thread.h"
#include "graph/infer.h"
#include "tensor/tensor.h"

#define SLOW_NS     150000
#define MEET_NS     300000 /* worth waking another thread for, whatever the estimates say */
#define PATIENCE_NS 20000000

struct gates gates;

void gates_clear(void)
{
    memset(&gates, 0, sizeof(gates));
}

int gates_count(int id)
{
    int n = 0;
    for (int i = 0; i < atomic_load(&gates.n); i++)
        n += atomic_load(&gates.id[i]) == id;
    return n;
}

static void copy(const struct tp_launch *launch)
{
    const struct tp_view *x = tp_in(launch, 0), *y = tp_out(launch, 0);
    int64_t n = 1;
    for (int i = 0; i < x->type->shape.rank; i++)
        n *= x->type->shape.dims[i];
    memmove(y->data, x->data, (size_t)n * sizeof(float));
}

static troupe_status note(const struct tp_launch *launch, troupe_error *err)
{
    const int at = atomic_fetch_add(&gates.n, 1);
    (void)err;
    copy(launch);
    tp_assert(at < GATES_LOG);
    gates.at[at] = tp_clock_ns();
    atomic_store(&gates.id[at], (int)tp_attr_int(launch->attrs, launch->n_attrs, "id", -1));
    return TROUPE_OK;
}

static troupe_status slow(const struct tp_launch *launch, troupe_error *err)
{
    const uint64_t end = tp_clock_ns() + SLOW_NS;
    TP_TRY(note(launch, err));
    while (tp_clock_ns() < end)
        ;
    return TROUPE_OK;
}

static troupe_status hold(const struct tp_launch *launch, troupe_error *err)
{
    TP_TRY(note(launch, err));
    while (!gates.pass(gates.arg))
        sched_yield();
    return TROUPE_OK;
}

static troupe_status made_to_fail(const struct tp_launch *launch, troupe_error *err)
{
    TP_TRY(note(launch, err));
    return tp_fail(err, TROUPE_DEVICE, "made to fail");
}

static void note_most(int inside)
{
    int most = atomic_load(&gates.most);
    while (inside > most && !atomic_compare_exchange_weak(&gates.most, &most, inside))
        ;
}

/* Nobody waits for ever: a thread that could come may be helping another one just now. */
static troupe_status meet(const struct tp_launch *launch, troupe_error *err)
{
    const uint64_t from = tp_clock_ns();
    const int round = atomic_fetch_add(&gates.met, 1) / gates.party;
    (void)err;
    copy(launch);
    note_most(atomic_fetch_add(&gates.inside, 1) + 1);
    tp_wake(&gates.met, INT_MAX);
    for (int met; (met = atomic_load(&gates.met)) < (round + 1) * gates.party;) {
        if (tp_clock_ns() > from + PATIENCE_NS) break;
        tp_sleep_on(&gates.met, met, from + PATIENCE_NS);
    }
    while (tp_clock_ns() < from + MEET_NS)
        sched_yield();
    atomic_fetch_sub(&gates.inside, 1);
    return TROUPE_OK;
}

static troupe_status infer_same(struct tp_infer *infer, troupe_error *err)
{
    (void)err;
    infer->results[0].shape = infer->inputs[0]->shape;
    return TROUPE_OK;
}

static void cost_heavy(const struct tp_infer *node, struct tp_cost *out)
{
    (void)node;
    *out = (struct tp_cost){.flops = 1e7};
}

#define LAST                                                                                   \
    {                                                                                          \
        .name = NULL                                                                           \
    }
static const struct tp_port one[] = {{"x", TP_TYPE(F32), 1, 0}, LAST};
static const struct tp_port out[] = {{"y", TP_TYPE(F32), 1, 0}, LAST};
static const struct tp_attr_spec id[] = {{"id", TROUPE_ATTR_INT, true}, {NULL, 0, false}};

#define OP(text, kernel, ids)                                                                  \
    .name = (text), .inputs = one, .results = out, .attrs = (ids), .infer = infer_same,        \
    .cpu = (kernel)
static const struct tp_op ops[] = {
    {OP("Fail", made_to_fail, id)}, {OP("Heavy", note, id), .cost = cost_heavy},
    {OP("Hold", hold, id)},         {OP("Meet", meet, NULL), .cost = cost_heavy},
    {OP("Note", note, id)},         {OP("Slow", slow, id)},
};

const struct tp_op *tp_op_at(size_t i)
{
    return i < TP_COUNT(ops) ? &ops[i] : NULL;
}

const struct tp_op *tp_op_find(const char *name)
{
    for (size_t i = 0; i < TP_COUNT(ops); i++)
        if (strcmp(ops[i].name, name) == 0) return &ops[i];
    return NULL;
}
