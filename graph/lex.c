/* SPDX-License-Identifier: MIT
 *
 * graph/lex.c - the text form of functions as tokens, one at a time.
 */
#include "graph/lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "graph/word.h"

troupe_status tp_lex_fail(const char *source, struct tp_place place, troupe_error *err,
                          const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tp_failv(err, TROUPE_INVALID, fmt, args);
    va_end(args);
    tp_fail_in(err, "%s:%u:%u", source, place.line, place.column);
    return TROUPE_INVALID;
}

troupe_status tp_lex_expected(const struct tp_lex *lex, const char *what, troupe_error *err)
{
    const struct tp_token *t = &lex->token;
    if (t->kind == TP_TOKEN_END || t->kind == TP_TOKEN_NEWLINE) {
        const char *end =
            t->kind == TP_TOKEN_END ? "the end of the text" : "the end of the line";
        return tp_lex_fail(lex->source, t->place, err, "%s expected, not %s", what, end);
    }
    const int size = t->size < 24 ? (int)t->size : 24;
    return tp_lex_fail(lex->source, t->place, err, "%s expected, not '%.*s'", what, size,
                       t->at);
}

bool tp_lex_is(const struct tp_lex *lex, char mark)
{
    return lex->token.kind == TP_TOKEN_MARK && lex->token.mark == mark;
}

bool tp_lex_is_word(const struct tp_lex *lex, const char *word)
{
    const struct tp_token *t = &lex->token;
    return t->kind == TP_TOKEN_WORD && t->size == strlen(word) &&
           memcmp(t->at, word, t->size) == 0;
}

static void start_line(struct tp_lex *lex)
{
    lex->line++;
    lex->line_start = lex->at;
}

/* To the next byte that is neither space, comment nor, between brackets, a newline. */
static void skip(struct tp_lex *lex)
{
    for (; lex->at < lex->end; lex->at++) {
        const char c = *lex->at;
        if (c == '#') {
            while (lex->at < lex->end && *lex->at != '\n')
                lex->at++;
            if (lex->at == lex->end) return;
        }
        if (*lex->at == '\n') {
            if (lex->depth == 0) return;
            lex->at++;
            start_line(lex);
            lex->at--;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of what begins as a number. */
static size_t number_size(const char *text, size_t size)
{
    const size_t sign = *text == '-' || *text == '+';
    const bool begins = sign < size && (is_digit(text[sign]) || strncmp(text, "-inf", 4) == 0);
    size_t i = sign;
    if (!begins) return 0;
    for (; i < size; i++) {
        const char c = text[i], before = text[i - (i > 0)];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool exponent = (c == '-' || c == '+') && (before == 'e' || before == 'E');
        if (!letter && !is_digit(c) && c != '.' && !exponent) break;
    }
    return i;
}

static bool lex_mark(struct tp_token *t)
{
    const char c = *t->at;
    t->kind = TP_TOKEN_MARK;
    t->mark = c;
    t->size = 1;
    if (c == '-' && t->at[1] == '>') {
        t->mark = '>';
        t->size = 2;
    }
    return c && strchr("()[],:=@&-?", c) != NULL;
}

/* The kind and size of the token that begins at t->at. */
static troupe_status classify(const struct tp_lex *lex, struct tp_token *t, troupe_error *err)
{
    const size_t rest = (size_t)(lex->end - t->at);
    if ((t->size = tp_word_size(t->at, rest))) {
        t->kind = TP_TOKEN_WORD;
    } else if (*t->at == '"') {
        t->kind = TP_TOKEN_QUOTED;
        t->size = tp_word_quoted_size(t->at, rest);
        if (!t->size)
            return tp_lex_fail(lex->source, t->place, err, "a quoted text does not end");
    } else if ((t->size = number_size(t->at, rest))) {
        t->kind = TP_TOKEN_NUMBER;
    } else if (!lex_mark(t)) {
        return tp_lex_fail(lex->source, t->place, err, "byte 0x%02x means nothing here",
                           (unsigned char)*t->at);
    }
    return TROUPE_OK;
}

troupe_status tp_lex_next(struct tp_lex *lex, troupe_error *err)
{
    struct tp_token *t = &lex->token;
    skip(lex);
    t->at = lex->at;
    t->place = (struct tp_place){lex->line, (uint32_t)(lex->at - lex->line_start) + 1};
    t->size = 0;
    if (lex->at == lex->end) {
        t->kind = TP_TOKEN_END;
        return TROUPE_OK;
    }
    if (*lex->at == '\n') {
        t->kind = TP_TOKEN_NEWLINE;
        lex->at++;
        start_line(lex);
        return TROUPE_OK;
    }
    TP_TRY(classify(lex, t, err));
    lex->at += t->size;
    return TROUPE_OK;
}

troupe_status tp_lex_init(struct tp_lex *lex, const char *source, const char *text, size_t size,
                          troupe_error *err)
{
    *lex = (struct tp_lex){
        .source = source,
        .at = text,
        .end = text + size,
        .line_start = text,
        .line = 1,
    };
    return tp_lex_next(lex, err);
}

struct tp_place tp_lex_place(const struct tp_token *from, const char *at)
{
    struct tp_place place = from->place;
    for (const char *p = from->at; p < at; p++) {
        place.column++;
        if (*p == '\n') place = (struct tp_place){place.line + 1, 1};
    }
    return place;
}

troupe_status tp_lex_resume(struct tp_lex *lex, const struct tp_token *from, const char *at,
                            troupe_error *err)
{
    const struct tp_place place = tp_lex_place(from, at);
    lex->at = at;
    lex->line = place.line;
    lex->line_start = at - (place.column - 1);
    return tp_lex_next(lex, err);
}
