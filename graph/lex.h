/* SPDX-License-Identifier: MIT
 *
 * graph/lex.h - the text form of functions as tokens, one at a time.
 *
 * The text ends with a zero byte at `end`. Newlines are tokens, but not between brackets
 * (`depth` above 0, which the parser counts). Types, devices and the elements of tensors are no
 * tokens: the parser takes them as they stand and goes on behind them.
 */
#ifndef TP_GRAPH_LEX_H
#define TP_GRAPH_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

enum tp_token_kind {
    TP_TOKEN_END,
    TP_TOKEN_NEWLINE,
    TP_TOKEN_WORD,   /* a bare name or a keyword */
    TP_TOKEN_QUOTED, /* with its quotes */
    TP_TOKEN_NUMBER, /* begins as one; nan and inf are words */
    TP_TOKEN_MARK,   /* one of ( ) [ ] , : = @ & - ? and -> as '>' */
};

/* Where something stands: both from 1, columns in bytes. */
struct tp_place {
    uint32_t line, column;
};

struct tp_token {
    enum tp_token_kind kind;
    char mark;
    const char *at;
    size_t size;
    struct tp_place place;
};

struct tp_lex {
    const char *source; /* for messages */
    const char *at, *end, *line_start;
    uint32_t line;
    unsigned depth;
    struct tp_token token; /* the one to look at */
};

/* At the first token. */
troupe_status tp_lex_init(struct tp_lex *lex, const char *source, const char *text, size_t size,
                          troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_lex_next(struct tp_lex *lex, troupe_error *err) TROUPE_MUST_CHECK;
bool tp_lex_is(const struct tp_lex *lex, char mark);
bool tp_lex_is_word(const struct tp_lex *lex, const char *word);

/* Go on at `at`, which lies at or behind `from`, a token that was there before. */
troupe_status tp_lex_resume(struct tp_lex *lex, const struct tp_token *from, const char *at,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* The place of `at`, likewise. */
struct tp_place tp_lex_place(const struct tp_token *from, const char *at);

/* INVALID: "source:line:column: what is wrong". */
troupe_status tp_lex_fail(const char *source, struct tp_place place, troupe_error *err,
                          const char *fmt, ...) TROUPE_PRINTF(4, 5);
/* "'(' expected, not 'x'". */
troupe_status tp_lex_expected(const struct tp_lex *lex, const char *what, troupe_error *err);

#endif
