/* SPDX-License-Identifier: MIT
 *
 * tensor/text_parse.c - text to a tensor: its type, then the elements, nested as the shape
 * says.
 *
 * Memory is asked for only when the text is long enough to hold the elements that its shape
 * announces. The depth of the recursion is the rank.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

struct parse {
    const char *at;
    struct tp_type type;
    size_t count, i; /* elements, and how many of them were read */
    char *numbers;   /* where element 0 goes */
    struct tp_strings strings;
};

static void skip_space(struct parse *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
}

static bool take(struct parse *p, char c)
{
    skip_space(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

static troupe_status parse_dtype(struct parse *p, troupe_error *err)
{
    char name[16] = "";
    size_t n = 0;
    skip_space(p);
    while (n + 1 < sizeof(name) &&
           ((p->at[n] >= 'a' && p->at[n] <= 'z') || (p->at[n] >= '0' && p->at[n] <= '9'))) {
        name[n] = p->at[n];
        n++;
    }
    p->type.dtype = troupe_dtype_parse(name);
    if (p->type.dtype == TROUPE_DTYPE_NONE) {
        return tp_fail(err, TROUPE_INVALID, "'%s' is not an element type", name);
    }
    p->at += n;
    return TROUPE_OK;
}

static troupe_status parse_dim(struct parse *p, int64_t *out, troupe_error *err)
{
    int64_t dim = 0;
    skip_space(p);
    if (*p->at < '0' || *p->at > '9')
        return tp_fail(err, TROUPE_INVALID, "a dimension expected");
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        if (__builtin_mul_overflow(dim, 10, &dim) ||
            __builtin_add_overflow(dim, *p->at - '0', &dim)) {
            return tp_fail(err, TROUPE_INVALID, "a dimension is above %" PRId64, INT64_MAX);
        }
    }
    *out = dim;
    return TROUPE_OK;
}

static troupe_status parse_shape(struct parse *p, troupe_error *err)
{
    int64_t dims[TROUPE_MAX_RANK];
    int rank = 0;
    if (!take(p, '[')) return tp_fail(err, TROUPE_INVALID, "'[' expected before the shape");
    const char *start = p->at;
    if (take(p, ']')) return tp_shape_make(&p->type.shape, 0, NULL, err);
    do {
        if (rank == TROUPE_MAX_RANK) {
            return tp_fail(err, TROUPE_INVALID, "more than %d dimensions", TROUPE_MAX_RANK);
        }
        TP_TRY(parse_dim(p, &dims[rank++], err));
    } while (take(p, ','));
    if (!take(p, ']')) return tp_fail(err, TROUPE_INVALID, "']' expected after the shape");
    const char *end = p->at;
    p->at = start; /* where a shape that is too large starts */
    TP_TRY(tp_shape_make(&p->type.shape, rank, dims, err));
    p->at = end;
    return TROUPE_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Behind a backslash. */
static troupe_status parse_escape(struct parse *p, troupe_error *err)
{
    char c = *p->at;
    if (c == 'n') {
        c = '\n';
    } else if (c == 't') {
        c = '\t';
    } else if (c == 'x' && hex_digit(p->at[1]) >= 0 && hex_digit(p->at[2]) >= 0) {
        c = (char)(hex_digit(p->at[1]) * 16 + hex_digit(p->at[2]));
        p->at += 2;
    } else if (c != '"' && c != '\\') {
        return tp_fail(err, TROUPE_INVALID, "an escape is none of \\\" \\\\ \\n \\t \\xHH");
    }
    p->at++;
    tp_text_add_bytes(&p->strings.bytes, &c, 1);
    return TROUPE_OK;
}

static size_t plain_size(const char *text)
{
    size_t n = 0;
    while ((unsigned char)text[n] >= ' ' && text[n] != '"' && text[n] != '\\')
        n++;
    return n;
}

static troupe_status parse_string(struct parse *p, troupe_error *err)
{
    if (*p->at != '"') return tp_fail(err, TROUPE_INVALID, "a string in quotes expected");
    p->at++;
    while (*p->at != '"') {
        const size_t n = plain_size(p->at);
        tp_text_add_bytes(&p->strings.bytes, p->at, n);
        p->at += n;
        if (*p->at == 0) return tp_fail(err, TROUPE_INVALID, "a string does not end");
        if (*p->at == '\\') {
            p->at++;
            TP_TRY(parse_escape(p, err));
        } else if (*p->at != '"') {
            return tp_fail(err, TROUPE_INVALID, "byte 0x%02x in a string: write \\xHH",
                           (unsigned char)*p->at);
        }
    }
    p->at++;
    return tp_strings_end(&p->strings, err);
}

static troupe_status parse_element(struct parse *p, troupe_error *err)
{
    skip_space(p);
    if (p->type.dtype == TROUPE_STRING) {
        TP_TRY(parse_string(p, err));
    } else {
        const size_t size = troupe_dtype_size(p->type.dtype);
        TP_TRY(tp_number_parse(p->type.dtype, &p->at, p->numbers + p->i * size, err));
    }
    p->i++;
    return TROUPE_OK;
}

static troupe_status expect(struct parse *p, char c, int level, int64_t n, troupe_error *err)
{
    if (take(p, c)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "'%c' expected in dimension %d of %s, after %" PRId64 " of its elements", c,
                   level, tp_shape_text(&p->type.shape).text, n);
}

static troupe_status parse_level(struct parse *p, int level, troupe_error *err)
{
    if (level == p->type.shape.rank) return parse_element(p, err);
    TP_TRY(expect(p, '[', level, 0, err));
    if (p->count == 0 && take(p, ']')) return TROUPE_OK; /* nothing, whatever the shape */
    for (int64_t i = 0; i < p->type.shape.dims[level]; i++) {
        if (i > 0) TP_TRY(expect(p, ',', level, i, err));
        TP_TRY(parse_level(p, level + 1, err));
    }
    return expect(p, ']', level, p->type.shape.dims[level], err);
}

/* Every element takes a byte at least, and a comma all but the last. */
static troupe_status check_length(const struct parse *p, troupe_error *err)
{
    const size_t least = p->count > SIZE_MAX / 2 ? SIZE_MAX : p->count * 2;
    if (least == 0 || strnlen(p->at, least - 1) == least - 1) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "the text ends before the elements of %s",
                   tp_type_text(&p->type).text);
}

static troupe_status parse_strings(struct parse *p, troupe_tensor **out, troupe_error *err)
{
    TP_TRY(tp_strings_init(&p->strings, p->count, err));
    TP_TRY(parse_level(p, 0, err));
    return tp_strings_take(&p->strings, &p->type.shape, out, err);
}

static troupe_status parse_numbers(struct parse *p, troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    TP_TRY(tp_tensor_new_unset(&tensor, &p->type, err));
    p->numbers = tp_tensor_write(tensor);
    TP_TRY(parse_level(p, 0, err));
    *out = tensor;
    tensor = NULL;
    return TROUPE_OK;
}

static void fini(struct parse *p)
{
    tp_strings_fini(&p->strings);
}

/* The elements of p->type. */
static troupe_status parse_elements(struct parse *p, troupe_tensor **out, troupe_error *err)
{
    size_t size;
    TP_TRY(tp_type_bytes(&p->type, &size, err));
    p->count = tp_shape_count_known(&p->type.shape);
    TP_TRY(check_length(p, err));
    if (p->type.dtype == TROUPE_STRING) return parse_strings(p, out, err);
    return parse_numbers(p, out, err);
}

troupe_status tp_tensor_parse_elements(troupe_tensor **out, const struct tp_type *type,
                                       const char **text, troupe_error *err)
{
    TP_OWNED(fini) struct parse p = {.at = *text, .type = *type};
    const troupe_status status = parse_elements(&p, out, err);
    *text = p.at;
    return status;
}

static troupe_status parse_value(struct parse *p, troupe_tensor **out, troupe_error *err)
{
    TP_TRY(parse_dtype(p, err));
    TP_TRY(parse_shape(p, err));
    return parse_elements(p, out, err);
}

troupe_status tp_tensor_parse_at(troupe_tensor **out, const char **text, troupe_error *err)
{
    TP_OWNED(fini) struct parse p = {.at = *text};
    const troupe_status status = parse_value(&p, out, err);
    *text = p.at;
    return status;
}

troupe_status troupe_tensor_parse(troupe_tensor **out, const char *text, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    TP_TRY(tp_need(text, "text", err));
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL;
    const char *at = text;
    const troupe_status status = tp_tensor_parse_at(&tensor, &at, err);
    if (status < 0) {
        tp_fail_in(err, "byte %zu", (size_t)(at - text));
        return status;
    }
    at += strspn(at, " \t\r\n");
    if (*at) {
        return tp_fail(err, TROUPE_INVALID, "byte %zu: text after the value",
                       (size_t)(at - text));
    }
    *out = tensor;
    tensor = NULL;
    return TROUPE_OK;
}
