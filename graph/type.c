/* SPDX-License-Identifier: MIT
 *
 * graph/type.c - types from text: "f32[2,n,?]", whose named dimensions go into a body's table.
 */
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "graph/body.h"
#include "graph/word.h"

struct reader {
    struct tp_body *body;
    const char *at;
};

static void skip_space(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool take(struct reader *r, char c)
{
    skip_space(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static troupe_status read_dtype(struct reader *r, troupe_dtype *out, troupe_error *err)
{
    char name[16];
    skip_space(r);
    const size_t n = tp_word_dim_size(r->at, strlen(r->at));
    const size_t size = n < sizeof(name) ? n : sizeof(name) - 1;
    memcpy(name, r->at, size);
    name[size] = 0;
    *out = n < sizeof(name) ? troupe_dtype_parse(name) : TROUPE_DTYPE_NONE;
    if (*out == TROUPE_DTYPE_NONE) {
        return tp_fail(err, TROUPE_INVALID, "'%s' is not an element type",
                       n        ? name
                       : *r->at ? r->at
                                : "");
    }
    r->at += n;
    return TROUPE_OK;
}

static troupe_status read_number(struct reader *r, int64_t *out, troupe_error *err)
{
    int64_t dim = 0;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (__builtin_mul_overflow(dim, 10, &dim) ||
            __builtin_add_overflow(dim, *r->at - '0', &dim)) {
            return tp_fail(err, TROUPE_INVALID, "a dimension is above %" PRId64, INT64_MAX);
        }
    }
    *out = dim;
    return TROUPE_OK;
}

static troupe_status name_dim(struct reader *r, const char *name, size_t size, int64_t *out,
                              troupe_error *err)
{
    uint32_t k;
    if (size > TP_WORD_MAX) {
        return tp_fail(err, TROUPE_INVALID, "the name of a dimension is longer than %d bytes",
                       TP_WORD_MAX);
    }
    TP_TRY(tp_body_dim(r->body, name, size, &k, err));
    *out = TP_DIM_NAMED(k);
    return TROUPE_OK;
}

/* A name in quotes is kept in quotes, so that a type is printed as it is read; but bare where
 * that is the same name. */
static troupe_status read_quoted(struct reader *r, int64_t *out, troupe_error *err)
{
    TP_OWNED(tp_free_at) char *name = NULL;
    TP_OWNED(tp_text_fini) struct tp_text text = {0};
    size_t wrong = 0;
    const size_t size = tp_word_quoted_size(r->at, strlen(r->at));
    if (size == 0) return tp_fail(err, TROUPE_INVALID, "the name of a dimension does not end");
    name = tp_alloc(size);
    if (!name) return tp_fail_memory(err, size);
    const size_t n = tp_word_unquote(r->at, size, name, &wrong);
    r->at += n == SIZE_MAX ? wrong : 0;
    if (n == SIZE_MAX) return tp_fail(err, TROUPE_INVALID, "an escape is malformed");
    if (n == 0) return tp_fail(err, TROUPE_INVALID, "a dimension has an empty name");
    r->at += size;
    if (tp_word_dim_size(name, n) == n) return name_dim(r, name, n, out, err);
    tp_word_quote(name, n, &text);
    if (text.failed) return tp_fail_memory(err, size);
    return name_dim(r, text.data, text.size, out, err);
}

static troupe_status read_dim(struct reader *r, int64_t *out, troupe_error *err)
{
    skip_space(r);
    if (*r->at >= '0' && *r->at <= '9') return read_number(r, out, err);
    if (*r->at == '"') return read_quoted(r, out, err);
    if (take(r, '?')) {
        *out = TP_DIM_ANY;
        return TROUPE_OK;
    }
    const size_t size = tp_word_dim_size(r->at, strlen(r->at));
    if (size == 0) return tp_fail(err, TROUPE_INVALID, "a dimension expected");
    TP_TRY(name_dim(r, r->at, size, out, err));
    r->at += size;
    return TROUPE_OK;
}

static troupe_status read_shape(struct reader *r, struct tp_shape *out, troupe_error *err)
{
    struct tp_shape shape = {.rank = 0};
    if (!take(r, '[')) {
        return tp_fail(err, TROUPE_INVALID,
                       "'[' expected: f32[] is a scalar, f32[...] any shape");
    }
    skip_space(r);
    if (strncmp(r->at, "...", 3) == 0) {
        r->at += 3;
        shape.rank = TP_RANK_ANY;
    } else if (*r->at != ']') {
        do {
            if (shape.rank == TROUPE_MAX_RANK) {
                return tp_fail(err, TROUPE_INVALID, "more than %d dimensions", TROUPE_MAX_RANK);
            }
            TP_TRY(read_dim(r, &shape.dims[shape.rank++], err));
        } while (take(r, ','));
    }
    if (!take(r, ']')) return tp_fail(err, TROUPE_INVALID, "']' expected after the dimensions");
    *out = shape;
    return TROUPE_OK;
}

/* The known dimensions alone may be too many elements. */
static troupe_status check_size(const struct tp_shape *shape, troupe_error *err)
{
    struct tp_shape known = {.rank = 0};
    size_t count;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] >= 0) known.dims[known.rank++] = shape->dims[i];
    }
    return tp_shape_count(&known, &count, err);
}

static troupe_status read_type(struct reader *r, struct tp_type *out, troupe_error *err)
{
    struct tp_type type = {.shape = {.rank = TP_RANK_ANY}};
    if (!take(r, '?')) {
        TP_TRY(read_dtype(r, &type.dtype, err));
        TP_TRY(read_shape(r, &type.shape, err));
        TP_TRY(check_size(&type.shape, err));
    }
    skip_space(r);
    if (*r->at) return tp_fail(err, TROUPE_INVALID, "'%.20s' after the type", r->at);
    *out = type;
    return TROUPE_OK;
}

troupe_status tp_body_type(struct tp_body *body, const char *text, struct tp_type *out,
                           size_t *where, troupe_error *err)
{
    struct reader r = {.body = body, .at = text};
    const troupe_status status = read_type(&r, out, err);
    if (where) *where = (size_t)(r.at - text);
    return status;
}

/* The number in "d12" at text, when it stands alone between brackets or commas; below 0: it
 * does not. */
static long bare_dim(const char *text, char before, size_t *size)
{
    size_t n = 1;
    long k = 0;
    if ((before != '[' && before != ',') || *text != 'd') return -1;
    for (; text[n] >= '0' && text[n] <= '9' && n < 9; n++)
        k = k * 10 + (text[n] - '0');
    *size = n;
    return n > 1 && (text[n] == ',' || text[n] == ']') ? k : -1;
}

void tp_body_name_dims(const struct tp_function *f, troupe_error *err)
{
    char text[2 * sizeof(err->text)];
    size_t at = 0;
    if (!err || f->n_dims == 0) return;
    for (const char *c = err->text; *c && at + 1 < sizeof(text);) {
        size_t size = 1;
        const long k = bare_dim(c, c > err->text ? c[-1] : 0, &size);
        const bool named = k >= 0 && k < (long)f->n_dims;
        const char *from = named ? f->dims[k] : c;
        const size_t n = named ? strlen(from) : 1;
        if (n >= sizeof(text) - at) break;
        memcpy(text + at, from, n);
        at += n;
        c += named ? size : 1;
    }
    text[at] = 0;
    tp_fail(err, err->code, "%s", text);
}
