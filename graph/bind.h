/* SPDX-License-Identifier: MIT
 *
 * graph/bind.h - the functions that a function reaches, by calls and by attributes.
 */
#ifndef TP_GRAPH_BIND_H
#define TP_GRAPH_BIND_H

#include "graph/function.h"
#include "graph/operator.h"

/* Where functions are found by name. `find` gives NULL when there is none; what it gives is
 * borrowed. `name` gives name i, NULL from their number on; it may be NULL itself, and is for
 * messages. */
struct tp_finder {
    const struct tp_function *(*find)(void *arg, const char *name);
    const char *(*name)(void *arg, size_t i);
    void *arg;
    const troupe_operators *operators; /* borrowed; NULL: troupe's own alone */
};

/* As tp_function_bind, with any finder. */
troupe_status tp_function_bind_by(struct tp_function **body, const struct tp_finder *finder,
                                  troupe_function **out, troupe_error *err) TROUPE_MUST_CHECK;

/* function's body and then the others that it reaches, each once, in the order of their first
 * mention; borrowed from it. *out is an array to tp_free. */
troupe_status tp_function_reached(const troupe_function *function,
                                  const struct tp_function ***out, size_t *n,
                                  troupe_error *err) TROUPE_MUST_CHECK;

#endif
