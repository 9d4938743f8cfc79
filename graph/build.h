/* SPDX-License-Identifier: MIT
 *
 * graph/build.h - the builder, as those inside see it: readers and importers of functions.
 */
#ifndef TP_GRAPH_BUILD_H
#define TP_GRAPH_BUILD_H

#include "graph/bind.h"
#include "graph/body.h"
#include "graph/function.h"

/* As troupe_builder_new, with any finder (copied; what it finds is borrowed until the end). */
troupe_status tp_builder_new(troupe_builder **out, const char *name,
                             const struct tp_finder *finder,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* What names the function's source in messages; NULL: nothing. */
troupe_status tp_builder_source(troupe_builder *builder, const char *source,
                                troupe_error *err) TROUPE_MUST_CHECK;
/* As troupe_builder_constant, of a constant that came from a file. */
troupe_status tp_builder_constant(troupe_builder *builder, const char *name,
                                  const troupe_tensor *value, const char *file,
                                  troupe_value *out, troupe_error *err) TROUPE_MUST_CHECK;
/* A type of the function's from text, as tp_body_type. */
troupe_status tp_builder_type(troupe_builder *builder, const char *text, struct tp_type *out,
                              size_t *where, troupe_error *err) TROUPE_MUST_CHECK;
/* The value, or the graph node, of that name; TP_NO_VALUE, TP_NO_NODE. */
uint32_t tp_builder_find_value(const troupe_builder *builder, const char *name);
uint32_t tp_builder_find_node(const troupe_builder *builder, const char *name);
/* What is there so far: good for a look, until the next call. */
const struct tp_function *tp_builder_look(const troupe_builder *builder);
/* The head alone, arguments and declared results, as a function that can be called but not run.
 */
troupe_status tp_builder_sign(troupe_builder **builder, struct tp_function **out,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* As troupe_builder_finish, but not bound to anything. */
troupe_status tp_builder_seal(troupe_builder **builder, struct tp_function **out,
                              troupe_error *err) TROUPE_MUST_CHECK;

#endif
