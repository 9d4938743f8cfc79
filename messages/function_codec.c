/* SPDX-License-Identifier: MIT
 *
 * messages/function_codec.c - one function as bytes, and back.
 */
#include "messages/function_codec.h"

#include <string.h>

#include "base/fail.h"
#include "graph/bind.h"
#include "messages/function_read.h"

void tp_bodies_fini(struct tp_bodies *bodies)
{
    for (uint32_t i = 0; i < bodies->n; i++)
        tp_function_release(&bodies->list[i]);
    tp_free(bodies->list);
    *bodies = (struct tp_bodies){.n = 0};
}

troupe_status tp_function_encode(const troupe_function *function, struct tp_wire *out,
                                 troupe_error *err)
{
    TP_OWNED(tp_free_at) const struct tp_function **list = NULL;
    size_t n;
    TP_TRY(tp_function_reached(function, &list, &n, err));
    const struct tp_bodies bodies = {.list = (struct tp_function **)list, .n = (uint32_t)n};
    return tp_bodies_encode(&bodies, TP_PLACES_KEEP, out, err);
}

static troupe_status bind_main(const struct tp_bodies *bodies, troupe_function **out,
                               troupe_error *err)
{
    TP_OWNED(tp_version_release) struct tp_version *version = NULL;
    if (bodies->main != 0)
        return tp_fail(err, TROUPE_CORRUPT, "the function that is meant is not the first of %u",
                       bodies->n);
    TP_TRY(tp_version_new(bodies->list, bodies->n, &version, err));
    struct tp_function *body = tp_function_retain(bodies->list[0]);
    return tp_function_bind(&body, version, out, err);
}

static troupe_status decode_with(struct tp_wire *wire, const troupe_operators *operators,
                                 troupe_function **out, troupe_error *err)
{
    TP_OWNED(tp_bodies_fini) struct tp_bodies bodies = {.operators = operators};
    TP_TRY(tp_bodies_decode(wire, NULL, &bodies, err));
    return tp_form_outside(bind_main(&bodies, out, err), err);
}

troupe_status tp_function_decode(struct tp_wire *wire, troupe_function **out, troupe_error *err)
{
    return decode_with(wire, NULL, out, err);
}

/* -- Both, inside this process ------------------------------------------------------------- */

static troupe_status there_and_back(const troupe_function *function,
                                    const troupe_operators *operators, troupe_function **out,
                                    troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
    TP_TRY(tp_function_encode(function, &wire, err));
    TP_TRY(tp_wire_copy_frames(&wire, err));
    return decode_with(&wire, operators, out, err);
}

troupe_status tp_function_recode(troupe_function **function, const troupe_operators *operators,
                                 troupe_error *err)
{
    TP_OWNED(troupe_function_release) troupe_function *twin = NULL;
    TP_TRY(there_and_back(*function, operators, &twin, err));
    if (memcmp(twin->hash, (*function)->hash, sizeof twin->hash) != 0)
        return tp_fail(err, TROUPE_INTERNAL, "function '%s' is not what was encoded",
                       troupe_function_name(twin));
    troupe_function *mine = *function;
    *function = twin;
    twin = mine;
    return TROUPE_OK;
}
