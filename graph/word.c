/* SPDX-License-Identifier: MIT
 *
 * graph/word.c - the words of the text form: which names stand bare, how others are quoted.
 */
#include "graph/word.h"

#include <stdint.h>
#include <string.h>

#include "base/fail.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_first(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The byte at text[i] goes on with a bare name. A colon only before a digit, so that it can
 * also end a name; a minus not in an arrow. */
static bool goes_on(const char *text, size_t i, size_t size)
{
    const char c = text[i], next = i + 1 < size ? text[i + 1] : 0;
    if (is_first(c) || is_digit(c) || c == '.' || c == '/') return true;
    return (c == ':' && is_digit(next)) || (c == '-' && next != '>');
}

size_t tp_word_size(const char *text, size_t size)
{
    size_t i = 0;
    if (size == 0 || !is_first(text[0])) return 0;
    while (i < size && goes_on(text, i, size))
        i++;
    return i;
}

size_t tp_word_dim_size(const char *text, size_t size)
{
    size_t i = 0;
    if (size == 0 || !is_first(text[0])) return 0;
    while (i < size && (is_first(text[i]) || is_digit(text[i])))
        i++;
    return i;
}

bool tp_word_bare(const char *name)
{
    static const char *const keywords[] = {"_", "function", "after", "with", "file"};
    for (size_t i = 0; i < TP_COUNT(keywords); i++) {
        if (strcmp(name, keywords[i]) == 0) return false;
    }
    const size_t size = strlen(name);
    return size > 0 && tp_word_size(name, size) == size;
}

troupe_status tp_word_check(const char *what, const char *name, troupe_error *err)
{
    const size_t size = strnlen(name, TP_WORD_MAX + 1);
    if (size == 0) return tp_fail(err, TROUPE_INVALID, "%s has an empty name", what);
    if (size <= TP_WORD_MAX) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "%s: the name '%.40s...' is longer than %d bytes", what,
                   name, TP_WORD_MAX);
}

void tp_word_show(const char *name, struct tp_text *out)
{
    if (tp_word_bare(name)) {
        tp_text_add_bytes(out, name, strlen(name));
    } else {
        tp_word_quote(name, strlen(name), out);
    }
}

static bool is_plain(char c)
{
    return (unsigned char)c >= ' ' && c != '"' && c != '\\' && c != 0x7f;
}

static void show_escape(char c, struct tp_text *out)
{
    switch (c) {
    case '"':
        tp_text_add_bytes(out, "\\\"", 2);
        break;
    case '\\':
        tp_text_add_bytes(out, "\\\\", 2);
        break;
    case '\n':
        tp_text_add_bytes(out, "\\n", 2);
        break;
    case '\t':
        tp_text_add_bytes(out, "\\t", 2);
        break;
    default:
        tp_text_add(out, "\\x%02x", (unsigned char)c);
    }
}

void tp_word_quote(const char *text, size_t size, struct tp_text *out)
{
    tp_text_add_bytes(out, "\"", 1);
    for (size_t i = 0; i < size;) {
        size_t n = 0;
        while (i + n < size && is_plain(text[i + n]))
            n++;
        tp_text_add_bytes(out, text + i, n);
        i += n;
        if (i < size) show_escape(text[i++], out);
    }
    tp_text_add_bytes(out, "\"", 1);
}

size_t tp_word_quoted_size(const char *text, size_t size)
{
    for (size_t i = 1; i < size && text[i] != '\n'; i++) {
        if (text[i] == '"') return i + 1;
        if (text[i] == '\\') i++;
        if (i < size && text[i] == '\n') break;
    }
    return 0;
}

static int hex_digit(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte for the escape whose backslash is at text[*i]; *i moves to its last byte. Below 0:
 * none. */
static int escaped(const char *text, size_t *i)
{
    const char c = text[++*i];
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == '"' || c == '\\') return c;
    if (c != 'x') return -1;
    const int high = hex_digit(text[*i + 1]);
    const int low = high < 0 ? -1 : hex_digit(text[*i + 2]);
    *i += 2;
    return low < 0 ? -1 : high * 16 + low;
}

size_t tp_word_unquote(const char *text, size_t size, char *out, size_t *wrong)
{
    size_t n = 0;
    for (size_t i = 1; i + 1 < size; i++) {
        int c = (unsigned char)text[i];
        *wrong = i;
        if (c == '\\') c = escaped(text, &i);
        if (c < 0) return SIZE_MAX;
        out[n++] = (char)c;
    }
    return n;
}
