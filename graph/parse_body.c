/* SPDX-License-Identifier: MIT
 *
 * graph/parse_body.c - one line of a body in the text form: a constant or a graph node.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/parser.h"

/* An input, or an attribute when a = stands behind its name. */
static troupe_status parse_operand(struct tp_parser *p, troupe_error *err)
{
    struct tp_said said = {.place = p->lex.token.place};
    struct tp_said *input;
    if (tp_lex_is(&p->lex, '-') || tp_lex_is_word(&p->lex, "_")) {
        TP_TRY(tp_lex_next(&p->lex, err)); /* an absent input */
    } else {
        TP_TRY(tp_parse_name(p, "an input, an attribute or ')'", &said, err));
        if (tp_lex_is(&p->lex, '=')) return tp_parse_attr(p, &said, err);
    }
    if (p->attrs.n) {
        return tp_lex_fail(p->lex.source, said.place, err, "an input comes after an attribute");
    }
    TP_TRY(tp_list_add(&p->words, sizeof(*input), &input, err));
    *input = said;
    return TROUPE_OK;
}

static troupe_status parse_operands(struct tp_parser *p, struct tp_statement *out,
                                    troupe_error *err)
{
    struct tp_arena *arena = p->out->arena;
    bool first = true;
    TP_TRY(tp_parse_mark(p, '(', "'('", err));
    while (!tp_lex_is(&p->lex, ')')) {
        if (!first) TP_TRY(tp_parse_mark(p, ',', "',' or ')'", err));
        first = false;
        TP_TRY(parse_operand(p, err));
    }
    TP_TRY(tp_parse_mark(p, ')', "')'", err));
    TP_TRY(tp_list_take(&p->words, sizeof(struct tp_said), arena, &out->inputs, &out->n_inputs,
                        err));
    return tp_list_take(&p->attrs, sizeof(struct tp_said_attr), arena, &out->attrs,
                        &out->n_attrs, err);
}

static bool in_device(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_/:*.-", c));
}

/* Behind the @: in quotes, or bare up to the first byte that no device has. */
static troupe_status parse_device(struct tp_parser *p, struct tp_said *out, troupe_error *err)
{
    const struct tp_token from = p->lex.token;
    const char *at = p->lex.at;
    size_t size = 0;
    out->place = tp_lex_place(&from, at);
    if (*at == '"') {
        TP_TRY(tp_lex_next(&p->lex, err));
        return tp_parse_name(p, "a device", out, err);
    }
    while (at + size < p->lex.end && in_device(at[size]))
        size++;
    if (size == 0)
        return tp_lex_fail(p->lex.source, out->place, err, "a device expected after @");
    out->text = tp_arena_text(p->out->arena, at, size);
    if (!out->text) return tp_fail_memory(err, size);
    return tp_lex_resume(&p->lex, &from, at + size, err);
}

static troupe_status refuse_second(const struct tp_parser *p, bool given, const char *what,
                                   troupe_error *err)
{
    if (!given) return TROUPE_OK;
    return tp_lex_fail(p->lex.source, p->lex.token.place, err, "a second %s", what);
}

/* What stands behind the parentheses. */
static troupe_status parse_clauses(struct tp_parser *p, struct tp_statement *out,
                                   troupe_error *err)
{
    for (;;) {
        if (tp_lex_is(&p->lex, '@')) {
            TP_TRY(refuse_second(p, out->device.text, "device", err));
            TP_TRY(parse_device(p, &out->device, err));
        } else if (tp_lex_is_word(&p->lex, "after")) {
            TP_TRY(refuse_second(p, out->n_after, "after", err));
            TP_TRY(tp_lex_next(&p->lex, err));
            TP_TRY(tp_parse_names(p, "a graph node", false, &out->after, &out->n_after, err));
        } else if (tp_lex_is_word(&p->lex, "with")) {
            TP_TRY(refuse_second(p, out->n_with, "with", err));
            TP_TRY(tp_lex_next(&p->lex, err));
            TP_TRY(tp_parse_names(p, "a graph node", false, &out->with, &out->n_with, err));
        } else {
            return TROUPE_OK;
        }
    }
}

static troupe_status parse_node(struct tp_parser *p, struct tp_statement *out,
                                troupe_error *err)
{
    TP_TRY(parse_operands(p, out, err));
    return parse_clauses(p, out, err);
}

/* Behind a word: what it says in quotes. */
static troupe_status parse_quoted(struct tp_parser *p, const char *what, struct tp_said *out,
                                  troupe_error *err)
{
    TP_TRY(tp_lex_next(&p->lex, err));
    if (p->lex.token.kind != TP_TOKEN_QUOTED) return tp_lex_expected(&p->lex, what, err);
    return tp_parse_name(p, what, out, err);
}

static troupe_status parse_file(struct tp_parser *p, struct tp_said_tensor *out,
                                troupe_error *err)
{
    TP_TRY(parse_quoted(p, "a path in quotes", &out->file, err));
    if (!tp_lex_is_word(&p->lex, "xxh3")) return TROUPE_OK; /* no checksum */
    return parse_quoted(p, "a checksum in quotes", &out->checksum, err);
}

/* A value whose type begins with the token `from`. */
static troupe_status parse_constant(struct tp_parser *p, const struct tp_token *from,
                                    struct tp_statement *out, troupe_error *err)
{
    if (out->n_targets != 1 || !out->targets[0].text) {
        return tp_lex_fail(p->lex.source, out->targets[0].place, err,
                           "a constant has one name, and not %u", out->n_targets);
    }
    if (out->name.text) {
        return tp_lex_fail(p->lex.source, out->name.place, err,
                           "a constant is no graph node and takes no second name");
    }
    out->name = out->targets[0];
    out->n_targets = 0;
    out->op = (struct tp_said){0};
    TP_TRY(tp_lex_resume(&p->lex, from, from->at, err));
    TP_TRY(tp_parse_type(p, &out->constant.type, err));
    if (tp_lex_is_word(&p->lex, "file")) return parse_file(p, &out->constant, err);
    if (p->lex.token.kind == TP_TOKEN_NEWLINE || p->lex.token.kind == TP_TOKEN_END)
        return tp_lex_expected(&p->lex, "elements", err);
    return tp_parse_tensor(p, from, &out->constant.tensor, err);
}

/* Behind the =. */
static troupe_status parse_right(struct tp_parser *p, struct tp_statement *out,
                                 troupe_error *err)
{
    const struct tp_token from = p->lex.token;
    TP_TRY(tp_parse_name(p, "an operator, a function or a type", &out->op, err));
    if (tp_lex_is(&p->lex, '[') && from.kind == TP_TOKEN_WORD)
        return parse_constant(p, &from, out, err);
    return parse_node(p, out, err);
}

troupe_status tp_parse_statement(struct tp_parser *p, struct tp_statement *out,
                                 troupe_error *err)
{
    static const char what[] = "a name";
    TP_TRY(tp_parse_names(p, what, true, &out->targets, &out->n_targets, err));
    if (tp_lex_is(&p->lex, ':') && out->n_targets == 1 && out->targets[0].text) {
        out->name = out->targets[0];
        TP_TRY(tp_lex_next(&p->lex, err));
        TP_TRY(tp_parse_names(p, what, true, &out->targets, &out->n_targets, err));
    }
    if (tp_lex_is(&p->lex, '(') && out->n_targets == 1 && out->targets[0].text) {
        out->op = out->targets[0];
        out->n_targets = 0;
        return parse_node(p, out, err);
    }
    TP_TRY(tp_parse_mark(p, '=', out->n_targets == 1 ? "'=', ':' or '('" : "'='", err));
    return parse_right(p, out, err);
}
