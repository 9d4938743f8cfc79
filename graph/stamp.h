/* SPDX-License-Identifier: MIT
 *
 * graph/stamp.h - the first and the last line of a text that we write to a file: "troupe 1", and
 * "# xxh3 " with the checksum of all before that line, as 32 hexadecimal digits.
 *
 * A text written by hand needs neither. The last line is a comment, so that older readers take
 * it.
 */
#ifndef TP_GRAPH_STAMP_H
#define TP_GRAPH_STAMP_H

#include "base/alloc.h"

#define TP_TEXT_VERSION 1

/* Append the first line to an empty text, or the last one to a whole text. */
void tp_stamp_first(struct tp_text *text);
void tp_stamp_last(struct tp_text *text);

/* Whether the checksum of a text is right, if it has one. CORRUPT, with the place and both, when
 * it is not. */
troupe_status tp_stamp_check(const char *source, const char *text, size_t size,
                             troupe_error *err) TROUPE_MUST_CHECK;

#endif
