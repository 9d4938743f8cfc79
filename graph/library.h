/* SPDX-License-Identifier: MIT
 *
 * graph/library.h - the inside of a library, for readers and importers.
 */
#ifndef TP_GRAPH_LIBRARY_H
#define TP_GRAPH_LIBRARY_H

#include "graph/bind.h"

/* Finds the library's bodies as they are then; it may be NULL. */
struct tp_finder tp_library_finder(const troupe_library *library);

/* Add n bodies (retained), all or none. INVALID: another body has the name of one; *which (may
 * be NULL) is its place in the list. */
troupe_status tp_library_add_all(troupe_library *library, struct tp_function *const *functions,
                                 size_t n, size_t *which, troupe_error *err) TROUPE_MUST_CHECK;

#endif
