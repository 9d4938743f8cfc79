/* SPDX-License-Identifier: MIT
 *
 * graph/parse.c - a text as definitions of functions, and what all of the parser uses.
 */
#include "graph/parse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/parser.h"
#include "graph/stamp.h"
#include "graph/word.h"

troupe_status tp_list_add(struct tp_list *list, size_t size, void *out, troupe_error *err)
{
    TP_TRY(tp_grow(&list->items, list->n, &list->room, size, err));
    char *item = (char *)list->items + list->n++ * size;
    memset(item, 0, size);
    memcpy(out, &item, sizeof(item));
    return TROUPE_OK;
}

troupe_status tp_list_take(struct tp_list *list, size_t size, struct tp_arena *arena, void *out,
                           uint32_t *n, troupe_error *err)
{
    if (list->n >= UINT32_MAX) return tp_fail(err, TROUPE_EXHAUSTED, "%zu in a list", list->n);
    void *copy = tp_arena_array(arena, list->n, size);
    if (!copy) return tp_fail_memory(err, list->n * size);
    if (list->n) memcpy(copy, list->items, list->n * size);
    memcpy(out, &copy, sizeof(copy));
    *n = (uint32_t)list->n;
    list->n = 0;
    return TROUPE_OK;
}

troupe_status tp_parse_mark(struct tp_parser *p, char mark, const char *what, troupe_error *err)
{
    if (!tp_lex_is(&p->lex, mark)) return tp_lex_expected(&p->lex, what, err);
    if (mark == '(' || mark == '[') p->lex.depth++;
    if (mark == ')' || mark == ']') p->lex.depth--;
    return tp_lex_next(&p->lex, err);
}

troupe_status tp_parse_quoted(struct tp_parser *p, const char **out, size_t *size,
                              troupe_error *err)
{
    const struct tp_token *t = &p->lex.token;
    const struct tp_arena_mark mark = tp_arena_mark(p->out->arena);
    size_t wrong = 0;
    char *text = tp_arena_text(p->out->arena, t->at, t->size);
    if (!text) return tp_fail_memory(err, t->size);
    *size = tp_word_unquote(t->at, t->size, text, &wrong);
    if (*size == SIZE_MAX) {
        tp_arena_reset(p->out->arena, mark);
        return tp_lex_fail(p->lex.source, tp_lex_place(t, t->at + wrong), err,
                           "an escape is none of \\\" \\\\ \\n \\t \\xHH");
    }
    text[*size] = 0;
    *out = text;
    return TROUPE_OK;
}

static troupe_status name_text(struct tp_parser *p, const char **out, troupe_error *err)
{
    const struct tp_token *t = &p->lex.token;
    size_t size = t->size;
    if (t->kind == TP_TOKEN_QUOTED) {
        TP_TRY(tp_parse_quoted(p, out, &size, err));
        if (memchr(*out, 0, size))
            return tp_lex_fail(p->lex.source, t->place, err, "a name has a zero byte");
    } else {
        *out = tp_arena_text(p->out->arena, t->at, size);
        if (!*out) return tp_fail_memory(err, size);
    }
    if (size > 0 && size <= TP_WORD_MAX) return TROUPE_OK;
    return tp_lex_fail(p->lex.source, t->place, err, "a name has %zu bytes, not 1 to %d", size,
                       TP_WORD_MAX);
}

troupe_status tp_parse_name(struct tp_parser *p, const char *what, struct tp_said *out,
                            troupe_error *err)
{
    const struct tp_token *t = &p->lex.token;
    if (t->kind != TP_TOKEN_QUOTED &&
        (t->kind != TP_TOKEN_WORD || tp_lex_is_word(&p->lex, "_")))
        return tp_lex_expected(&p->lex, what, err);
    out->place = t->place;
    TP_TRY(name_text(p, &out->text, err));
    return tp_lex_next(&p->lex, err);
}

static troupe_status parse_one_of(struct tp_parser *p, const char *what, bool absent,
                                  struct tp_said *out, troupe_error *err)
{
    if (absent && (tp_lex_is(&p->lex, '-') || tp_lex_is_word(&p->lex, "_"))) {
        out->place = p->lex.token.place;
        return tp_lex_next(&p->lex, err);
    }
    return tp_parse_name(p, what, out, err);
}

troupe_status tp_parse_names(struct tp_parser *p, const char *what, bool absent,
                             struct tp_said **out, uint32_t *n, troupe_error *err)
{
    struct tp_said *said;
    for (;;) {
        TP_TRY(tp_list_add(&p->words, sizeof(*said), &said, err));
        TP_TRY(parse_one_of(p, what, absent, said, err));
        if (!tp_lex_is(&p->lex, ',')) break;
        TP_TRY(tp_lex_next(&p->lex, err));
    }
    return tp_list_take(&p->words, sizeof(*said), p->out->arena, out, n, err);
}

static troupe_status parse_arg(struct tp_parser *p, struct tp_said_arg *arg, troupe_error *err)
{
    TP_TRY(tp_parse_name(p, "an argument", &arg->name, err));
    TP_TRY(tp_parse_mark(p, ':', "':' and a type", err));
    TP_TRY(tp_parse_type(p, &arg->type, err));
    if (!tp_lex_is(&p->lex, '=')) return TROUPE_OK; /* no default */
    TP_TRY(tp_lex_next(&p->lex, err));
    const struct tp_token from = p->lex.token;
    return tp_parse_tensor(p, &from, &arg->value, err);
}

static troupe_status parse_args(struct tp_parser *p, struct tp_definition *out,
                                troupe_error *err)
{
    struct tp_said_arg *arg;
    TP_TRY(tp_parse_mark(p, '(', "'('", err));
    while (!tp_lex_is(&p->lex, ')')) {
        if (p->args.n) TP_TRY(tp_parse_mark(p, ',', "',' or ')'", err));
        TP_TRY(tp_list_add(&p->args, sizeof(*arg), &arg, err));
        TP_TRY(parse_arg(p, arg, err));
    }
    TP_TRY(tp_parse_mark(p, ')', "')'", err));
    return tp_list_take(&p->args, sizeof(*arg), p->out->arena, &out->args, &out->n_args, err);
}

static troupe_status parse_result(struct tp_parser *p, struct tp_said_result *result,
                                  troupe_error *err)
{
    TP_TRY(tp_parse_name(p, "a result", &result->name, err));
    result->value = result->name;
    if (tp_lex_is(&p->lex, ':')) {
        TP_TRY(tp_lex_next(&p->lex, err));
        TP_TRY(tp_parse_type(p, &result->type, err));
    }
    if (!tp_lex_is(&p->lex, '=')) return TROUPE_OK; /* the value has the result's name */
    TP_TRY(tp_lex_next(&p->lex, err));
    return tp_parse_name(p, "a value", &result->value, err);
}

static troupe_status parse_results(struct tp_parser *p, struct tp_definition *out,
                                   troupe_error *err)
{
    struct tp_said_result *result;
    if (!tp_lex_is(&p->lex, '>')) return TROUPE_OK; /* none */
    TP_TRY(tp_lex_next(&p->lex, err));
    TP_TRY(tp_parse_mark(p, '(', "'('", err));
    while (!tp_lex_is(&p->lex, ')')) {
        if (p->results.n) TP_TRY(tp_parse_mark(p, ',', "',' or ')'", err));
        TP_TRY(tp_list_add(&p->results, sizeof(*result), &result, err));
        TP_TRY(parse_result(p, result, err));
    }
    TP_TRY(tp_parse_mark(p, ')', "')'", err));
    return tp_list_take(&p->results, sizeof(*result), p->out->arena, &out->results,
                        &out->n_results, err);
}

static troupe_status end_line(struct tp_parser *p, troupe_error *err)
{
    if (p->lex.token.kind == TP_TOKEN_END) return TROUPE_OK; /* which ends a line, too */
    if (p->lex.token.kind != TP_TOKEN_NEWLINE)
        return tp_lex_expected(&p->lex, "the end of the line", err);
    return tp_lex_next(&p->lex, err);
}

static troupe_status skip_lines(struct tp_parser *p, troupe_error *err)
{
    while (p->lex.token.kind == TP_TOKEN_NEWLINE)
        TP_TRY(tp_lex_next(&p->lex, err));
    return TROUPE_OK;
}

static bool body_ends(const struct tp_parser *p)
{
    return p->lex.token.kind == TP_TOKEN_END || tp_lex_is_word(&p->lex, "function");
}

static troupe_status parse_body(struct tp_parser *p, struct tp_definition *out,
                                troupe_error *err)
{
    struct tp_statement **last = &out->first;
    TP_TRY(skip_lines(p, err));
    while (!body_ends(p)) {
        struct tp_statement *statement = tp_arena_take(p->out->arena, sizeof(*statement));
        if (!statement) return tp_fail_memory(err, sizeof(*statement));
        TP_TRY(tp_parse_statement(p, statement, err));
        TP_TRY(end_line(p, err));
        TP_TRY(skip_lines(p, err));
        *last = statement;
        last = &statement->next;
    }
    return TROUPE_OK;
}

static troupe_status parse_definition(struct tp_parser *p, struct tp_definition *out,
                                      troupe_error *err)
{
    if (!tp_lex_is_word(&p->lex, "function"))
        return tp_lex_expected(&p->lex, "the word function", err);
    TP_TRY(tp_lex_next(&p->lex, err));
    TP_TRY(tp_parse_name(p, "the name of a function", &out->name, err));
    TP_TRY(parse_args(p, out, err));
    TP_TRY(parse_results(p, out, err));
    TP_TRY(end_line(p, err));
    return parse_body(p, out, err);
}

/* "troupe 1", which a text may begin with. */
static troupe_status parse_version(struct tp_parser *p, troupe_error *err)
{
    static const char known[] = {'0' + TP_TEXT_VERSION};
    TP_TRY(tp_lex_next(&p->lex, err));
    const struct tp_token version = p->lex.token;
    if (version.kind != TP_TOKEN_NUMBER)
        return tp_lex_expected(&p->lex, "the number of a version", err);
    if (version.size != sizeof(known) || memcmp(version.at, known, sizeof(known)) != 0) {
        return tp_fail(err, TROUPE_UNSUPPORTED,
                       "%s:%u:%u: a text of version %.*s; here it is %d", p->out->source,
                       version.place.line, version.place.column,
                       version.size < 24 ? (int)version.size : 24, version.at, TP_TEXT_VERSION);
    }
    TP_TRY(tp_lex_next(&p->lex, err));
    TP_TRY(end_line(p, err));
    return skip_lines(p, err);
}

static troupe_status parse_all(struct tp_parser *p, const char *text, size_t size,
                               troupe_error *err)
{
    struct tp_definition **last = &p->out->first;
    TP_TRY(tp_arena_new(&p->out->arena, err));
    TP_TRY(tp_lex_init(&p->lex, p->out->source, text, size, err));
    TP_TRY(skip_lines(p, err));
    if (tp_lex_is_word(&p->lex, "troupe")) TP_TRY(parse_version(p, err));
    while (p->lex.token.kind != TP_TOKEN_END) {
        struct tp_definition *definition = tp_arena_take(p->out->arena, sizeof(*definition));
        if (!definition) return tp_fail_memory(err, sizeof(*definition));
        TP_TRY(parse_definition(p, definition, err));
        *last = definition;
        last = &definition->next;
        p->out->n++;
    }
    return TROUPE_OK;
}

static void parser_fini(struct tp_parser *p)
{
    tp_free(p->words.items);
    tp_free(p->attrs.items);
    tp_free(p->args.items);
    tp_free(p->results.items);
    tp_free(p->numbers.items);
    tp_free(p->texts.items);
}

troupe_status tp_parse(struct tp_parsed *out, const char *source, const char *text, size_t size,
                       troupe_error *err)
{
    *out = (struct tp_parsed){.source = source};
    TP_OWNED(parser_fini) struct tp_parser p = {.out = out};
    const troupe_status status = parse_all(&p, text, size, err);
    if (status < 0) tp_parsed_fini(out);
    return status;
}
