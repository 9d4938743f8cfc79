/* SPDX-License-Identifier: MIT
 *
 * graph/show.h - function -> text, JSON, Graphviz; text -> functions (read.c).
 */
#ifndef TP_GRAPH_SHOW_H
#define TP_GRAPH_SHOW_H

#include "base/alloc.h"
#include "graph/function.h"

/* Append one body in the text form. Reading it gives an equal body. */
void tp_show_text(const struct tp_function *function, struct tp_text *out);
/* As above, but constants, by the numbers of their values, are in these files, whose checksums
 * are said; NULL: written out. */
void tp_show_text_with(const struct tp_function *function, const char *const *files,
                       struct tp_text *out);
/* The JSON form, made with jansson: {"functions":[...]}; see doc/text-form.md. */
troupe_status tp_show_json(const troupe_function *function, struct tp_text *out,
                           troupe_error *err) TROUPE_MUST_CHECK;
void tp_show_dot(const struct tp_function *function, struct tp_text *out);

#endif
