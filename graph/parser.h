/* SPDX-License-Identifier: MIT
 *
 * graph/parser.h - the inside of the parser; private to graph/parse*.c.
 */
#ifndef TP_GRAPH_PARSER_H
#define TP_GRAPH_PARSER_H

#include "graph/parse.h"

/* A list that grows before it is copied into the arena. */
struct tp_list {
    void *items;
    size_t n, room;
};

struct tp_parser {
    struct tp_lex lex;
    struct tp_parsed *out;
    struct tp_list words, attrs, args, results, numbers, texts; /* each of one kind of item */
};

/* Room for one more item of `size` bytes in the list, zeroed, in *out. */
troupe_status tp_list_add(struct tp_list *list, size_t size, void *out,
                          troupe_error *err) TROUPE_MUST_CHECK;
/* The items, in the arena; the list is empty afterwards. */
troupe_status tp_list_take(struct tp_list *list, size_t size, struct tp_arena *arena, void *out,
                           uint32_t *n, troupe_error *err) TROUPE_MUST_CHECK;

/* Step over a mark; `what` is it in words. Brackets change the depth. */
troupe_status tp_parse_mark(struct tp_parser *p, char mark, const char *what,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* A name, bare or quoted. */
troupe_status tp_parse_name(struct tp_parser *p, const char *what, struct tp_said *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* Names with commas between; `_` and `-` are absent ones where `absent` allows it. */
troupe_status tp_parse_names(struct tp_parser *p, const char *what, bool absent,
                             struct tp_said **out, uint32_t *n,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* What a quoted token says, and how many bytes it is. */
troupe_status tp_parse_quoted(struct tp_parser *p, const char **out, size_t *size,
                              troupe_error *err) TROUPE_MUST_CHECK;

/* A type; its text is not looked at. */
troupe_status tp_parse_type(struct tp_parser *p, struct tp_said *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* A value that is written out, whose type begins with the token `from`; the parsed text holds
 * it. */
troupe_status tp_parse_tensor(struct tp_parser *p, const struct tp_token *from,
                              troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;
/* What stands behind the = of an attribute. */
troupe_status tp_parse_attr(struct tp_parser *p, const struct tp_said *name,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* One line of a body. */
troupe_status tp_parse_statement(struct tp_parser *p, struct tp_statement *out,
                                 troupe_error *err) TROUPE_MUST_CHECK;

#endif
