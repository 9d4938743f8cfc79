/* SPDX-License-Identifier: MIT
 *
 * actors/report_json.h - what the JSON of plans and of reports share; private to
 * actors/report*.c.
 *
 * jansson gives NULL for all of its failures and takes NULL for a failure, so a chain of calls
 * fails as a whole. Names come from files and need not be UTF-8: bytes that are not become
 * U+FFFD.
 */
#ifndef TP_ACTORS_REPORT_JSON_H
#define TP_ACTORS_REPORT_JSON_H

#include <jansson.h>

#include "base/alloc.h"

/* A text; JSON's null for NULL. */
json_t *tp_json_text(const char *text);
/* Append the whole and let it go. EXHAUSTED: something of it could not be made. */
troupe_status tp_json_write(json_t *root, struct tp_text *out,
                            troupe_error *err) TROUPE_MUST_CHECK;

#endif
