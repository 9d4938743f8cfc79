/* SPDX-License-Identifier: MIT
 *
 * graph/word.h - the words of the text form: which names stand bare, how others are quoted.
 */
#ifndef TP_GRAPH_WORD_H
#define TP_GRAPH_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

#define TP_WORD_MAX 4096 /* bytes of a name, at most */

/* Bytes of the bare name that text[0..size) starts with; 0 when it starts with none. */
size_t tp_word_size(const char *text, size_t size);
/* As above for the name of a dimension. */
size_t tp_word_dim_size(const char *text, size_t size);
/* The name can be printed as it is: it is a bare name and no keyword. */
bool tp_word_bare(const char *name);
/* INVALID: the name is empty or longer than TP_WORD_MAX. `what` says whose name it is. */
troupe_status tp_word_check(const char *what, const char *name,
                            troupe_error *err) TROUPE_MUST_CHECK;

/* Append the name, quoted where it cannot stand bare. */
void tp_word_show(const char *name, struct tp_text *out);
/* Append a text in quotes. */
void tp_word_quote(const char *text, size_t size, struct tp_text *out);
/* Bytes of the quoted text that text[0..size) starts with, both quotes among them; 0 when it
 * does not end before a newline or the end. */
size_t tp_word_quoted_size(const char *text, size_t size);
/* Write what text[0..size), a whole quoted text, says to `out`, which has room for `size`
 * bytes; returns how many it is. SIZE_MAX: an escape is malformed, *wrong is where. */
size_t tp_word_unquote(const char *text, size_t size, char *out, size_t *wrong);

#endif
