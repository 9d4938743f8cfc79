/* SPDX-License-Identifier: MIT
 *
 * actors/report_json.h - what the JSON of plans and of reports share; private to
 * actors/report*.c.
 *
 * jansson gives NULL for all of its failures and takes NULL for a failure, and what is added
 * here in vain makes its list or object NULL, so a chain of calls fails as a whole. Names come
 * from files and need not be UTF-8: bytes that are not become U+FFFD.
 */
#ifndef TP_ACTORS_REPORT_JSON_H
#define TP_ACTORS_REPORT_JSON_H

#include <jansson.h>

#include "base/alloc.h"

/* A text; JSON's null for NULL. */
json_t *tp_json_text(const char *text);
/* Add to a list or an object, which takes `item` over; it is let go and NULL when that
 * fails. */
void tp_json_add(json_t **list, json_t *item);
void tp_json_set(json_t **object, const char *key, json_t *item);
/* Append the whole and let it go. EXHAUSTED: something of it could not be made. */
troupe_status tp_json_write(json_t *root, struct tp_text *out,
                            troupe_error *err) TROUPE_MUST_CHECK;

#endif
