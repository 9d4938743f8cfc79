/* SPDX-License-Identifier: MIT
 *
 * graph/operator_row.c - the user's row becomes one of ours: checked, copied, counted.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/rest.h"
#include "graph/arena.h"
#include "graph/hash.h"
#include "graph/operator.h"
#include "graph/word.h"

#define MOST     64 /* ports of a kind, attributes */
#define SAME_MAX 15
#define REUSE    0xffu

static uint64_t types_known(void)
{
    uint64_t known = 0;
    for (int i = 1; i < 64; i++)
        if (troupe_dtype_name((troupe_dtype)i)) known |= TROUPE_SET(i);
    return known;
}

/* -- Checks -------------------------------------------------------------------------------- */

static troupe_status check_port(const troupe_port *ports, size_t i, bool result,
                                const troupe_operator_row *row, troupe_error *err)
{
    const troupe_port *port = &ports[i];
    if (port->types & ~types_known() || (!result && !port->types))
        return tp_fail(err, TROUPE_INVALID, "its types are no set of element types");
    if (port->same > SAME_MAX)
        return tp_fail(err, TROUPE_INVALID, "`same` is %u, not 0 to %d", port->same, SAME_MAX);
    if (port->flags & ~(TROUPE_PORT_OPTIONAL | TROUPE_PORT_VARIADIC))
        return tp_fail(err, TROUPE_INVALID, "its flags %#x are not known", port->flags);
    if ((port->flags & TROUPE_PORT_VARIADIC) && ports[i + 1].name)
        return tp_fail(err, TROUPE_INVALID, "it is variadic and not the last");
    if (result && !row->gives && (port->types & TROUPE_SET(TROUPE_STRING)))
        return tp_fail(err, TROUPE_INVALID, "a result of strings needs `gives`");
    for (size_t k = 0; k < i; k++)
        if (strcmp(ports[k].name, port->name) == 0)
            return tp_fail(err, TROUPE_INVALID, "another has that name");
    return TROUPE_OK;
}

static troupe_status check_ports(const troupe_port *ports, bool result,
                                 const troupe_operator_row *row, size_t *n, troupe_error *err)
{
    const char *what = result ? "result" : "input";
    for (*n = 0; ports && ports[*n].name; ++*n) {
        if (*n == MOST)
            return tp_fail(err, TROUPE_INVALID, "it has more than %d %ss", MOST, what);
        const troupe_status status = check_port(ports, *n, result, row, err);
        if (status >= 0) continue;
        tp_fail_in(err, "%s %zu '%.40s'", what, *n, ports[*n].name);
        return status;
    }
    return TROUPE_OK;
}

static troupe_status check_fallback(const troupe_attr_spec *spec, troupe_error *err)
{
    if (!spec->fallback) return TROUPE_OK;
    troupe_attr named = *spec->fallback;
    named.name = spec->name;
    if (spec->required)
        return tp_fail(err, TROUPE_INVALID, "it is required and has a fallback");
    if (named.kind != spec->kind)
        return tp_fail(err, TROUPE_INVALID, "its fallback is %s, not %s",
                       tp_attr_kind_name(named.kind), tp_attr_kind_name(spec->kind));
    return tp_attr_check(&named, err);
}

static troupe_status check_attr(const troupe_attr_spec *specs, size_t i, troupe_error *err)
{
    const troupe_attr_spec *spec = &specs[i];
    if (spec->kind < TROUPE_ATTR_INT || spec->kind > TROUPE_ATTR_DTYPE)
        return tp_fail(err, TROUPE_INVALID, "its kind is %d", (int)spec->kind);
    for (size_t k = 0; k < i; k++)
        if (strcmp(specs[k].name, spec->name) == 0)
            return tp_fail(err, TROUPE_INVALID, "another has that name");
    return check_fallback(spec, err);
}

static troupe_status check_attrs(const troupe_attr_spec *specs, size_t *n, troupe_error *err)
{
    for (*n = 0; specs && specs[*n].name; ++*n) {
        if (*n == MOST)
            return tp_fail(err, TROUPE_INVALID, "it has more than %d attributes", MOST);
        const troupe_status status = check_attr(specs, *n, err);
        if (status >= 0) continue;
        tp_fail_in(err, "attribute '%.40s'", specs[*n].name);
        return status;
    }
    return TROUPE_OK;
}

static troupe_status check_name(const char *name, const char *domain, troupe_error *err)
{
    if (domain && strcmp(domain, "ai.onnx") == 0)
        return tp_fail(err, TROUPE_INVALID, "its domain is ONNX's own");
    TP_TRY(tp_word_check("it", name, err));
    if (tp_word_bare(name)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "its name cannot be a word of the text form");
}

/* Without `shape` all results are as input 0, which must be there. */
static troupe_status check_functions(const troupe_operator_row *row, size_t inputs,
                                     size_t results, troupe_error *err)
{
    if (!row->run) return tp_fail(err, TROUPE_INVALID, "it has no `run`");
    if (!row->shape && (!inputs || row->inputs[0].flags & TROUPE_PORT_OPTIONAL))
        return tp_fail(err, TROUPE_INVALID,
                       "it has no `shape`, and no input 0 that is always there");
    if (row->release && !row->prepare)
        return tp_fail(err, TROUPE_INVALID, "it has `release` and no `prepare`");
    if (row->reuse & ~REUSE || row->reuse >> (inputs < 8 ? inputs : 8) ||
        (row->reuse && (!results || row->gives)))
        return tp_fail(err, TROUPE_INVALID, "`reuse` %#x names what it does not have",
                       row->reuse);
    return TROUPE_OK;
}

/* -- Copies -------------------------------------------------------------------------------- */

static troupe_status copy_text(struct tp_operator *o, const char *text, const char **out,
                               troupe_error *err)
{
    const char *copy = tp_arena_text(o->arena, text ? text : "", text ? strlen(text) : 0);
    if (!copy) return tp_fail_memory(err, (text ? strlen(text) : 0) + 1);
    *out = copy;
    return TROUPE_OK;
}

static troupe_status copy_ports(struct tp_operator *o, const troupe_port *ports, size_t n,
                                const struct tp_port **out, troupe_error *err)
{
    struct tp_port *copy = tp_arena_array(o->arena, n + 1, sizeof(*copy));
    if (!copy) return tp_fail_memory(err, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        TP_TRY(copy_text(o, ports[i].name, &copy[i].name, err));
        copy[i].types = (__typeof__(copy->types))ports[i].types;
        copy[i].same = (uint8_t)ports[i].same;
        copy[i].flags = (uint8_t)((ports[i].flags & TROUPE_PORT_OPTIONAL ? TP_OPTIONAL : 0) |
                                  (ports[i].flags & TROUPE_PORT_VARIADIC ? TP_VARIADIC : 0));
    }
    *out = copy;
    return TROUPE_OK;
}

static troupe_status copy_fallback(struct tp_operator *o, const troupe_attr_spec *spec,
                                   size_t i, troupe_error *err)
{
    troupe_attr named = *spec->fallback, *copy;
    named.name = spec->name;
    TP_TRY(tp_attr_copy(o->arena, &named, 1, &copy, err));
    o->fallbacks[o->n_fallbacks] = *copy;
    o->fallback[i] = &o->fallbacks[o->n_fallbacks++];
    return TROUPE_OK;
}

static troupe_status copy_attrs(struct tp_operator *o, const troupe_attr_spec *specs,
                                troupe_error *err)
{
    const size_t n = o->n_attrs;
    struct tp_attr_spec *copy = tp_arena_array(o->arena, n + 1, sizeof(*copy));
    o->fallbacks = tp_arena_array(o->arena, n + 1, sizeof(*o->fallbacks));
    o->fallback = tp_arena_array(o->arena, n + 1, sizeof(troupe_attr *));
    if (!copy || !o->fallbacks || !o->fallback)
        return tp_fail_memory(err, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        TP_TRY(copy_text(o, specs[i].name, &copy[i].name, err));
        copy[i].kind = specs[i].kind;
        copy[i].required = specs[i].required;
        if (specs[i].fallback) TP_TRY(copy_fallback(o, &specs[i], i, err));
    }
    o->op.attrs = copy;
    return TROUPE_OK;
}

/* "domain.name", in *out. */
static troupe_status join_name(struct tp_operator *o, const troupe_operator_row *row,
                               const char **out, troupe_error *err)
{
    if (!row->name || !*row->name)
        return tp_fail(err, TROUPE_INVALID, "an operator has no name");
    if (!row->domain || !*row->domain) return copy_text(o, row->name, out, err);
    *out = tp_arena_words(o->arena, row->domain, ".", row->name);
    return *out ? TROUPE_OK : tp_fail_memory(err, strlen(row->domain) + strlen(row->name));
}

static void set_op(struct tp_operator *o)
{
    o->op.infer = tp_operator_infer;
    o->op.prepare = tp_operator_prepare;
    o->op.cpu = tp_operator_run;
    o->op.cost = o->row.cost ? tp_operator_cost : NULL;
    o->op.reuse = (uint8_t)o->row.reuse;
    o->op.stateful = o->row.effects;
    o->op.makes = true;
    o->op.gives = o->row.gives;
    o->op.user = o;
}

static troupe_status fill(struct tp_operator *o, const troupe_operator_row *row,
                          troupe_error *err)
{
    size_t inputs = 0, results = 0;
    TP_TRY(check_name(o->op.name, row->domain, err));
    TP_TRY(check_ports(row->inputs, false, row, &inputs, err));
    TP_TRY(check_ports(row->results, true, row, &results, err));
    TP_TRY(check_attrs(row->attrs, &o->n_attrs, err));
    TP_TRY(check_functions(row, inputs, results, err));
    o->row = *row;
    o->n_inputs = inputs;
    o->n_results = results;
    TP_TRY(copy_text(o, row->summary, &o->op.summary, err));
    TP_TRY(copy_text(o, row->version, &o->row.version, err));
    TP_TRY(copy_ports(o, row->inputs, inputs, &o->op.inputs, err));
    TP_TRY(copy_ports(o, row->results, results, &o->op.results, err));
    TP_TRY(copy_attrs(o, row->attrs, err));
    set_op(o);
    return tp_hash_operator(o, o->digest, err);
}

/* Callers may have a newer, longer struct. */
static troupe_status take_row(const troupe_operator_row *row, troupe_operator_row *out,
                              troupe_error *err)
{
    if (!row || row->size < sizeof(*row))
        return tp_fail(err, TROUPE_INVALID, "troupe_operator_row.size is %zu, not %zu",
                       row ? row->size : 0, sizeof(*row));
    TP_TRY(tp_rest_check(row, row->size, sizeof(*row), "troupe_operator_row", err));
    *out = *row;
    return TROUPE_OK;
}

static troupe_status make(struct tp_operator *o, const troupe_operator_row *row,
                          troupe_error *err)
{
    TP_TRY(tp_arena_new(&o->arena, err));
    TP_TRY(join_name(o, row, &o->op.name, err));
    const troupe_status status = fill(o, row, err);
    if (status < 0) tp_fail_in(err, "operator '%.60s'", o->op.name);
    return status;
}

troupe_status tp_operator_new(const troupe_operator_row *given, struct tp_operator **out,
                              troupe_error *err)
{
    troupe_operator_row row;
    TP_TRY(take_row(given, &row, err));
    struct tp_operator *o = tp_alloc(sizeof(*o));
    if (!o) return tp_fail_memory(err, sizeof(*o));
    tp_ref_init(&o->ref);
    const troupe_status status = make(o, &row, err);
    if (status >= 0) {
        *out = o;
        return TROUPE_OK;
    }
    o->row.free_user = NULL; /* it stays the caller's */
    tp_operator_release(&o);
    return status;
}

/* -- Owners -------------------------------------------------------------------------------- */

struct tp_operator *tp_operator_retain(struct tp_operator *o)
{
    tp_ref_retain(&o->ref);
    return o;
}

void tp_operator_release(struct tp_operator **at)
{
    struct tp_operator *o = *at;
    *at = NULL;
    if (!o || !tp_ref_release(&o->ref)) return;
    if (o->row.free_user) o->row.free_user(o->row.user);
    if (o->n_fallbacks) tp_attr_drop(o->fallbacks, o->n_fallbacks);
    tp_arena_destroy(&o->arena);
    tp_free(o);
}
