/* SPDX-License-Identifier: MIT
 *
 * tools/json.h - what the commands print with --json.
 */
#ifndef TP_TOOLS_JSON_H
#define TP_TOOLS_JSON_H

#include <jansson.h>

#include "troupe/tensor.h"

/* Text as a JSON string; each byte that is not part of UTF-8 becomes U+FFFD. NULL: no memory.
 */
json_t *tp_json_name(const char *text, size_t size);
/* The elements as lists in lists, a scalar as itself. What JSON has no number for is a string:
 * "nan", "inf", "-inf", and integers of 2^63 and above. Without elements: an empty list. NULL:
 * no memory. */
json_t *tp_json_elements(const troupe_tensor *tensor);
/* Print *root (moved in; NULL: no memory) and end the line. An exit status. */
int tp_json_print(json_t **root);

#endif
