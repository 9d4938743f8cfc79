/* SPDX-License-Identifier: MIT
 *
 * graph/parse_value.c - types, tensors and attributes in the text form.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/parser.h"
#include "graph/word.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

struct tp_held {
    struct tp_held *next;
    troupe_tensor *tensor;
};

void tp_parsed_fini(struct tp_parsed *parsed)
{
    for (struct tp_held *held = parsed->held; held; held = held->next)
        troupe_tensor_release(&held->tensor);
    tp_arena_destroy(&parsed->arena);
    *parsed = (struct tp_parsed){0};
}

/* Bytes of the type that text[0..size) starts with: a word, and what is in brackets behind it,
 * up to a byte that is in no type. */
static size_t type_size(const char *text, size_t size)
{
    size_t i = *text == '?' ? 1 : tp_word_dim_size(text, size);
    const size_t word = i;
    while (i < size && (text[i] == ' ' || text[i] == '\t'))
        i++;
    if (i == size || text[i] != '[') return word;
    for (i++; i < size && !strchr("[]()=:#@&", text[i]);) {
        const size_t quoted = text[i] == '"' ? tp_word_quoted_size(text + i, size - i) : 0;
        i += quoted ? quoted : 1;
    }
    return i < size && text[i] == ']' ? i + 1 : i;
}

troupe_status tp_parse_type(struct tp_parser *p, struct tp_said *out, troupe_error *err)
{
    const struct tp_token from = p->lex.token;
    if (from.kind != TP_TOKEN_WORD && !tp_lex_is(&p->lex, '?'))
        return tp_lex_expected(&p->lex, "a type", err);
    const size_t size = type_size(from.at, (size_t)(p->lex.end - from.at));
    if (memchr(from.at, '[', size) && from.at[size - 1] != ']') {
        return tp_lex_fail(p->lex.source, tp_lex_place(&from, from.at + size), err,
                           "']' expected after the dimensions");
    }
    out->place = from.place;
    out->text = tp_arena_text(p->out->arena, from.at, size);
    if (!out->text) return tp_fail_memory(err, size);
    return tp_lex_resume(&p->lex, &from, from.at + size, err);
}

static troupe_status hold(struct tp_parser *p, troupe_tensor **tensor, troupe_error *err)
{
    struct tp_held *held = tp_arena_take(p->out->arena, sizeof(*held));
    if (!held) return tp_fail_memory(err, sizeof(*held));
    *held = (struct tp_held){.next = p->out->held, .tensor = *tensor};
    p->out->held = held;
    *tensor = NULL;
    return TROUPE_OK;
}

troupe_status tp_parse_tensor(struct tp_parser *p, const struct tp_token *from,
                              troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    const char *at = from->at;
    if (from->kind != TP_TOKEN_WORD) return tp_lex_expected(&p->lex, "a value", err);
    const troupe_status status = tp_tensor_parse_at(&tensor, &at, err);
    if (status < 0) {
        const struct tp_place place = tp_lex_place(from, at);
        tp_fail_in(err, "%s:%u:%u", p->lex.source, place.line, place.column);
        return status;
    }
    *out = tensor;
    TP_TRY(hold(p, &tensor, err));
    return tp_lex_resume(&p->lex, from, at, err);
}

/* A number of that type, which the whole token is. */
static troupe_status parse_number(struct tp_parser *p, troupe_dtype dtype, void *out,
                                  troupe_error *err)
{
    const struct tp_token *t = &p->lex.token;
    const char *at = t->at;
    const troupe_status status = tp_number_parse(dtype, &at, out, err);
    if (status < 0) {
        tp_fail_in(err, "%s:%u:%u", p->lex.source, t->place.line, t->place.column);
        return status;
    }
    if (at != t->at + t->size) return tp_lex_expected(&p->lex, "a number", err);
    return tp_lex_next(&p->lex, err);
}

static bool is_float(const struct tp_token *t)
{
    if (t->kind == TP_TOKEN_WORD)
        return (t->size == 3 && (memcmp(t->at, "nan", 3) == 0 || memcmp(t->at, "inf", 3) == 0));
    if (t->kind != TP_TOKEN_NUMBER) return false;
    for (size_t i = 0; i < t->size; i++) {
        if (strchr(".eEin", t->at[i])) return true;
    }
    return false;
}

static troupe_status parse_scalar(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    if (is_float(&p->lex.token)) {
        attr->kind = TROUPE_ATTR_FLOAT;
        return parse_number(p, TROUPE_F64, &attr->f, err);
    }
    attr->kind = TROUPE_ATTR_INT;
    return parse_number(p, TROUPE_I64, &attr->i, err);
}

/* A number of a list, kept in both forms. */
struct number {
    int64_t i;
    double f;
};

static troupe_status add_number(struct tp_parser *p, bool *floats, troupe_error *err)
{
    struct number *number;
    troupe_attr scalar;
    TP_TRY(parse_scalar(p, &scalar, err));
    TP_TRY(tp_list_add(&p->numbers, sizeof(*number), &number, err));
    if (scalar.kind == TROUPE_ATTR_FLOAT) *floats = true;
    number->i = scalar.kind == TROUPE_ATTR_INT ? scalar.i : 0;
    number->f = scalar.kind == TROUPE_ATTR_INT ? (double)scalar.i : scalar.f;
    return TROUPE_OK;
}

static troupe_status take_numbers(struct tp_parser *p, bool floats, troupe_attr *attr,
                                  troupe_error *err)
{
    const struct number *numbers = p->numbers.items;
    const size_t n = p->numbers.n;
    int64_t *ints = tp_arena_array(p->out->arena, n, sizeof(*ints));
    if (!ints) return tp_fail_memory(err, n * sizeof(*ints));
    double *reals = (double *)ints; /* the one or the other, of the same size */
    for (size_t i = 0; i < n; i++) {
        if (floats)
            reals[i] = numbers[i].f;
        else
            ints[i] = numbers[i].i;
    }
    p->numbers.n = 0;
    attr->kind = floats ? TROUPE_ATTR_FLOATS : TROUPE_ATTR_INTS;
    attr->n = n;
    attr->ints = ints;
    return TROUPE_OK;
}

static troupe_status parse_numbers(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    bool floats = false;
    for (;;) {
        TP_TRY(add_number(p, &floats, err));
        if (!tp_lex_is(&p->lex, ',')) break;
        TP_TRY(tp_lex_next(&p->lex, err));
    }
    return take_numbers(p, floats, attr, err);
}

static troupe_status add_string(struct tp_parser *p, troupe_error *err)
{
    const struct tp_token t = p->lex.token;
    const char **text, *said;
    size_t size;
    if (t.kind != TP_TOKEN_QUOTED) return tp_lex_expected(&p->lex, "a string", err);
    TP_TRY(tp_parse_quoted(p, &said, &size, err));
    if (memchr(said, 0, size)) {
        return tp_lex_fail(p->lex.source, t.place, err, "a string of a list has a zero byte");
    }
    TP_TRY(tp_list_add(&p->texts, sizeof(*text), &text, err));
    *text = said;
    return tp_lex_next(&p->lex, err);
}

static troupe_status parse_strings(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    uint32_t n;
    for (;;) {
        TP_TRY(add_string(p, err));
        if (!tp_lex_is(&p->lex, ',')) break;
        TP_TRY(tp_lex_next(&p->lex, err));
    }
    TP_TRY(tp_list_take(&p->texts, sizeof(char *), p->out->arena, &attr->texts, &n, err));
    attr->kind = TROUPE_ATTR_STRINGS;
    attr->n = n;
    return TROUPE_OK;
}

static troupe_status parse_list(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    TP_TRY(tp_parse_mark(p, '[', "'['", err));
    attr->kind =
        TROUPE_ATTR_INTS; /* what an empty list is, unless the operator says otherwise */
    if (p->lex.token.kind == TP_TOKEN_QUOTED) {
        TP_TRY(parse_strings(p, attr, err));
    } else if (!tp_lex_is(&p->lex, ']')) {
        TP_TRY(parse_numbers(p, attr, err));
    }
    return tp_parse_mark(p, ']', "',' or ']'", err);
}

static troupe_status parse_function(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    struct tp_said name;
    TP_TRY(tp_lex_next(&p->lex, err)); /* over the & */
    TP_TRY(tp_parse_name(p, "the name of a function", &name, err));
    attr->kind = TROUPE_ATTR_FUNCTION;
    attr->text = name.text;
    attr->n = strlen(name.text);
    return TROUPE_OK;
}

/* An element type, or a tensor that begins with one. */
static troupe_status parse_typed(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    const struct tp_token from = p->lex.token;
    char name[16] = "";
    if (from.size < sizeof(name)) memcpy(name, from.at, from.size);
    attr->kind = TROUPE_ATTR_DTYPE;
    attr->dtype = troupe_dtype_parse(name);
    if (attr->dtype == TROUPE_DTYPE_NONE)
        return tp_lex_expected(&p->lex, "the value of an attribute", err);
    TP_TRY(tp_lex_next(&p->lex, err));
    if (!tp_lex_is(&p->lex, '[')) return TROUPE_OK; /* the type alone */
    troupe_tensor *tensor;
    attr->kind = TROUPE_ATTR_TENSOR;
    TP_TRY(tp_parse_tensor(p, &from, &tensor, err));
    attr->tensor = tensor;
    return TROUPE_OK;
}

static troupe_status parse_string(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    attr->kind = TROUPE_ATTR_STRING;
    TP_TRY(tp_parse_quoted(p, &attr->text, &attr->n, err));
    return tp_lex_next(&p->lex, err);
}

static troupe_status parse_value(struct tp_parser *p, troupe_attr *attr, troupe_error *err)
{
    const struct tp_token *t = &p->lex.token;
    if (t->kind == TP_TOKEN_QUOTED) return parse_string(p, attr, err);
    if (t->kind == TP_TOKEN_NUMBER || is_float(t)) return parse_scalar(p, attr, err);
    if (t->kind == TP_TOKEN_WORD) return parse_typed(p, attr, err);
    if (tp_lex_is(&p->lex, '[')) return parse_list(p, attr, err);
    if (tp_lex_is(&p->lex, '&')) return parse_function(p, attr, err);
    return tp_lex_expected(&p->lex, "the value of an attribute", err);
}

troupe_status tp_parse_attr(struct tp_parser *p, const struct tp_said *name, troupe_error *err)
{
    struct tp_said_attr *said;
    troupe_attr attr = {.name = name->text};
    TP_TRY(tp_lex_next(&p->lex, err)); /* over the = */
    TP_TRY(parse_value(p, &attr, err));
    TP_TRY(tp_list_add(&p->attrs, sizeof(*said), &said, err));
    *said = (struct tp_said_attr){.attr = attr, .place = name->place};
    return TROUPE_OK;
}
