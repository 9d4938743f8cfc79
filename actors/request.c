/* SPDX-License-Identifier: MIT
 *
 * actors/request.c - what a call asks for: names become devices, and all of it a key.
 */
#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* for a state on the stack */
#include <xxhash.h>

#include "actors/plan.h"
#include "base/alloc.h"
#include "base/fail.h"
#include "graph/bind.h"
#include "tensor/tensor.h"

/* -- Keys ---------------------------------------------------------------------------------- */

/* A text with its length before it, so that no two lists look alike; NULL differs from "". */
static void add_text(XXH3_state_t *state, const char *text)
{
    uint64_t size = text ? strlen(text) + 1 : 0;
    XXH3_128bits_update(state, &size, sizeof size);
    if (text) XXH3_128bits_update(state, text, size);
}

static void add_number(XXH3_state_t *state, uint64_t n)
{
    XXH3_128bits_update(state, &n, sizeof n);
}

static void add_texts(XXH3_state_t *state, const char *const *texts, size_t n)
{
    add_number(state, texts ? n : UINT64_MAX);
    for (size_t i = 0; texts && i < n; i++)
        add_text(state, texts[i]);
}

static void finish(XXH3_state_t *state, uint64_t out[2])
{
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    out[0] = hash.low64;
    out[1] = hash.high64 | 1; /* never all zero */
}

void tp_options_key(const troupe_call_options *o, size_t n_args, size_t n_results,
                    uint64_t out[2])
{
    out[0] = out[1] = 0;
    if (!o || !(o->default_device || o->arg_devices || o->result_devices || o->rules ||
                o->soft || o->cut))
        return;
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    add_text(&state, o->default_device);
#if !defined(TP_MUTANT) || TP_MUTANT != 9
    add_texts(&state, o->arg_devices, n_args);
#else
    (void)n_args;
#endif
    add_texts(&state, o->result_devices, n_results);
    add_text(&state, o->rules);
    add_text(&state, o->rules_source);
    add_number(&state, (uint64_t)o->soft << 1 | o->cut);
    finish(&state, out);
}

static void add_devices(XXH3_state_t *state, const uint32_t *devices, size_t n)
{
    add_number(state, devices ? n : UINT64_MAX);
    if (devices) XXH3_128bits_update(state, devices, n * sizeof *devices);
}

static void make_key(struct tp_request *r)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, r->function->hash, sizeof r->function->hash);
    add_number(&state, r->function->operators);
    for (uint32_t i = 0; i < r->devices->n; i++)
        add_number(&state, r->devices->list[i].incarnation);
    add_number(&state, r->default_device);
#if !defined(TP_MUTANT) || TP_MUTANT != 9
    add_devices(&state, r->arg_devices, r->function->body->n_args);
#endif
    add_devices(&state, r->result_devices, r->function->body->n_results);
    add_text(&state, r->rules);
    add_text(&state, r->rules_source);
    add_number(&state, (uint64_t)r->soft << 1 | r->cut);
    finish(&state, r->key);
}

/* -- Names to devices ---------------------------------------------------------------------- */

static troupe_status find_device(const struct tp_request *r, const char *text, const char *what,
                                 const char *name, uint32_t *out, troupe_error *err)
{
    const struct tp_name *base = &r->devices->list[r->default_device].name;
    troupe_error mine;
    troupe_status status = tp_devices_find(r->devices, text, base, out, &mine);
    if (!status) return TROUPE_OK;
    tp_fail_in(&mine, "%s '%s'", what, name);
    if (err) *err = mine;
    return status;
}

static troupe_status find_devices(const struct tp_request *r, const char *const *texts,
                                  size_t n, bool args, uint32_t **out, troupe_error *err)
{
    if (!texts) return TROUPE_OK;
    const struct tp_function *body = r->function->body;
    uint32_t *list = tp_alloc_array(n + 1, sizeof *list);
    if (!list) return tp_fail_memory(err, n * sizeof *list);
    *out = list; /* the request's from here on, and freed with it */
    for (size_t i = 0; i < n; i++) {
        list[i] = TP_NO_DEVICE;
        const char *name = args ? body->values[i].name : body->results[i].name;
        if (texts[i] && texts[i][0])
            TP_TRY(find_device(r, texts[i], args ? "argument" : "result", name, &list[i], err));
    }
    return TROUPE_OK;
}

static troupe_status copy_text(const char *text, char **out, troupe_error *err)
{
    if (text && !(*out = tp_strdup(text))) return tp_fail_memory(err, strlen(text));
    return TROUPE_OK;
}

static troupe_status fill(struct tp_request *r, const troupe_call_options *o, troupe_error *err)
{
    const struct tp_function *body = r->function->body;
    if (o->default_device)
        TP_TRY(find_device(r, o->default_device, "option", "default_device", &r->default_device,
                           err));
    TP_TRY(find_devices(r, o->arg_devices, body->n_args, true, &r->arg_devices, err));
    TP_TRY(find_devices(r, o->result_devices, body->n_results, false, &r->result_devices, err));
    TP_TRY(copy_text(o->rules, &r->rules, err));
    if (o->rules)
        TP_TRY(copy_text(o->rules_source ? o->rules_source : "rules", &r->rules_source, err));
    r->soft = o->soft;
    r->cut = o->cut;
    return TROUPE_OK;
}

troupe_status tp_request_make(struct tp_request *out, struct tp_devices *devices,
                              uint32_t default_device, const troupe_function *function,
                              const troupe_call_options *options, troupe_error *err)
{
    TP_OWNED(tp_request_fini)
    struct tp_request r = {
        .function = troupe_function_retain(function),
        .devices = tp_devices_retain(devices),
        .default_device = default_device,
    };
    if (options) TP_TRY(fill(&r, options, err));
    make_key(&r);
    *out = r;
    r = (struct tp_request){0};
    return TROUPE_OK;
}

/* -- Operators of the user's --------------------------------------------------------------- */

static troupe_status check_node(const struct tp_function *f, const struct tp_node *node,
                                const troupe_operators *operators, troupe_error *err)
{
    const struct tp_op *op = node->op;
    if (!op || !op->user || tp_operators_find(operators, op->name) == op) return TROUPE_OK;
    return tp_fail(err, TROUPE_UNSUPPORTED,
                   "function '%s', node '%s': the runtime was opened %s operator '%s'", f->name,
                   node->name,
                   tp_operators_find(operators, op->name) ? "with another" : "without",
                   op->name);
}

troupe_status tp_request_operators(struct tp_request *request,
                                   const troupe_operators *operators, troupe_error *err)
{
    const troupe_function *function = request->function;
    TP_OWNED(tp_free_at) const struct tp_function **reached = NULL;
    size_t n;
    request->operators = operators;
    if (!function->operators) return TROUPE_OK; /* all are troupe's */
    TP_TRY(tp_function_reached(function, &reached, &n, err));
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; reached[i]->operators && k < reached[i]->n_nodes; k++)
            TP_TRY(check_node(reached[i], &reached[i]->nodes[k], operators, err));
    return TROUPE_OK;
}

void tp_request_fini(struct tp_request *r)
{
    troupe_function_release(&r->function);
    tp_devices_release(&r->devices);
    tp_free(r->arg_devices);
    tp_free(r->result_devices);
    tp_free(r->rules);
    tp_free(r->rules_source);
    *r = (struct tp_request){0};
}

static troupe_status copy_list(const uint32_t *list, size_t n, uint32_t **out,
                               troupe_error *err)
{
    if (!list) return TROUPE_OK;
    if (!(*out = tp_alloc_array(n + 1, sizeof *list)))
        return tp_fail_memory(err, n * sizeof *list);
    memcpy(*out, list, n * sizeof *list);
    return TROUPE_OK;
}

troupe_status tp_request_copy(struct tp_request *out, const struct tp_request *from,
                              troupe_error *err)
{
    TP_OWNED(tp_request_fini)
    struct tp_request r = {
        .function = troupe_function_retain(from->function),
        .devices = tp_devices_retain(from->devices),
        .operators = from->operators,
        .default_device = from->default_device,
        .soft = from->soft,
        .cut = from->cut,
        .key = {from->key[0], from->key[1]},
    };
    const struct tp_function *body = from->function->body;
    TP_TRY(copy_list(from->arg_devices, body->n_args, &r.arg_devices, err));
    TP_TRY(copy_list(from->result_devices, body->n_results, &r.result_devices, err));
    TP_TRY(copy_text(from->rules, &r.rules, err));
    TP_TRY(copy_text(from->rules_source, &r.rules_source, err));
    *out = r;
    r = (struct tp_request){0};
    return TROUPE_OK;
}
