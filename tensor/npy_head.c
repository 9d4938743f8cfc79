/* SPDX-License-Identifier: MIT
 *
 * tensor/npy_head.c - read and write the header of an .npy file.
 *
 * What is read is the part of Python's literals that the format needs: a dictionary with three
 * known keys, each once and in any order; strings without escapes, in either quotes; tuples of
 * integers; True and False. Anything else is malformed.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "tensor/npy.h"

struct scan {
    const char *text;
    size_t at, size;
    size_t start; /* of the header, in the file */
};

TROUPE_PRINTF(3, 4)
static troupe_status fail_at(const struct scan *s, troupe_error *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tp_failv(err, TROUPE_CORRUPT, fmt, args);
    va_end(args);
    tp_fail_in(err, "byte %zu", s->start + s->at);
    return TROUPE_CORRUPT;
}

static void skip_space(struct scan *s)
{
    while (s->at < s->size && s->text[s->at] && strchr(" \t\r\n", s->text[s->at]))
        s->at++;
}

static char look(struct scan *s)
{
    skip_space(s);
    return s->at < s->size ? s->text[s->at] : 0;
}

static bool take(struct scan *s, char c)
{
    if (look(s) != c || s->at == s->size) return false;
    s->at++;
    return true;
}

static troupe_status expect(struct scan *s, char c, troupe_error *err)
{
    return take(s, c) ? TROUPE_OK : fail_at(s, err, "'%c' expected in the header", c);
}

static bool take_word(struct scan *s, const char *word)
{
    const size_t n = strlen(word);
    skip_space(s);
    if (s->size - s->at < n || memcmp(s->text + s->at, word, n) != 0) return false;
    s->at += n;
    return true;
}

/* A quoted string of less than 32 bytes, without escapes. */
static troupe_status scan_string(struct scan *s, char out[32], troupe_error *err)
{
    const char quote = look(s);
    if (quote != '\'' && quote != '"')
        return fail_at(s, err, "a string expected in the header");
    const char *from = s->text + s->at + 1;
    const char *end = memchr(from, quote, s->size - s->at - 1);
    const size_t n = end ? (size_t)(end - from) : SIZE_MAX;
    if (n >= 32 || memchr(from, '\\', n) || memchr(from, 0, n)) {
        return fail_at(s, err,
                       "a string in the header does not end, is too long or has escapes");
    }
    memcpy(out, from, n);
    out[n] = 0;
    s->at += n + 2;
    return TROUPE_OK;
}

static troupe_status scan_int(struct scan *s, int64_t *out, troupe_error *err)
{
    int64_t value = 0;
    const char first = look(s);
    if (first < '0' || first > '9')
        return fail_at(s, err, "a dimension expected in the header");
    for (; s->at < s->size && s->text[s->at] >= '0' && s->text[s->at] <= '9'; s->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, s->text[s->at] - '0', &value)) {
            return fail_at(s, err, "a dimension is above %" PRId64, INT64_MAX);
        }
    }
    if (s->at < s->size && s->text[s->at] == 'L') s->at++; /* Python 2 wrote long integers so */
    *out = value;
    return TROUPE_OK;
}

/* "()", "(2,)", "(2, 3)", "(2, 3,)"; not "(2)", which is no tuple. */
static troupe_status scan_tuple(struct scan *s, int64_t dims[TROUPE_MAX_RANK], int *rank,
                                troupe_error *err)
{
    bool comma = true;
    TP_TRY(expect(s, '(', err));
    for (*rank = 0; look(s) != ')'; comma = take(s, ',')) {
        if (!comma) return fail_at(s, err, "',' or ')' expected in the shape");
        if (*rank == TROUPE_MAX_RANK) {
            return tp_fail(err, TROUPE_UNSUPPORTED, "byte %zu: more than %d dimensions",
                           s->start + s->at, TROUPE_MAX_RANK);
        }
        TP_TRY(scan_int(s, &dims[(*rank)++], err));
    }
    if (*rank == 1 && !comma)
        return fail_at(s, err, "',' expected in a shape of one dimension");
    return expect(s, ')', err);
}

static troupe_status scan_shape(struct scan *s, struct tp_npy_head *head, troupe_error *err)
{
    int64_t dims[TROUPE_MAX_RANK];
    int rank;
    troupe_error why;
    TP_TRY(scan_tuple(s, dims, &rank, err));
    if (tp_shape_make(&head->type.shape, rank, dims, &why) < 0) {
        return fail_at(s, err, "%s", why.text);
    }
    return TROUPE_OK;
}

static troupe_status scan_order(struct scan *s, struct tp_npy_head *head, troupe_error *err)
{
    head->fortran = take_word(s, "True");
    if (head->fortran || take_word(s, "False")) return TROUPE_OK;
    return fail_at(s, err, "True or False expected for fortran_order");
}

static troupe_dtype find_dtype(char kind, uint64_t size)
{
    static const struct {
        char kind;
        uint8_t size;
        troupe_dtype dtype;
    } kinds[] = {
        {'f', 2, TROUPE_F16}, {'f', 4, TROUPE_F32},   {'f', 8, TROUPE_F64},
        {'i', 1, TROUPE_I8},  {'i', 2, TROUPE_I16},   {'i', 4, TROUPE_I32},
        {'i', 8, TROUPE_I64}, {'u', 1, TROUPE_U8},    {'u', 2, TROUPE_U16},
        {'u', 4, TROUPE_U32}, {'u', 8, TROUPE_U64},   {'b', 1, TROUPE_BOOL},
        {'c', 8, TROUPE_C64}, {'c', 16, TROUPE_C128}, {'V', 2, TROUPE_BF16},
    };
    if (kind == 'U' || kind == 'S') return TROUPE_STRING;
    for (size_t i = 0; i < TP_COUNT(kinds); i++) {
        if (kinds[i].kind == kind && kinds[i].size == size) return kinds[i].dtype;
    }
    return TROUPE_DTYPE_NONE;
}

/* The number behind the kind; false unless it is one of at most nine digits and nothing
 * follows. */
static bool read_size(const char *digits, uint64_t *out)
{
    uint64_t value = 0;
    size_t n = 0;
    for (; digits[n] >= '0' && digits[n] <= '9' && n < 9; n++) {
        value = value * 10 + (uint64_t)(digits[n] - '0');
    }
    *out = value;
    return n > 0 && digits[n] == 0;
}

/* '<f4': byte order (none and '|' are the machine's, as they are '='), kind, size. */
static troupe_status read_descr(struct scan *s, const char *descr, struct tp_npy_head *head,
                                troupe_error *err)
{
    uint64_t size;
    const char *kind = descr + (*descr && strchr("<>|=", *descr) ? 1 : 0);
    head->big_endian = *descr == '>' || (*descr != '<' && tp_npy_host_big());
    if (!*kind || !read_size(kind + 1, &size)) {
        return *kind == 'O' || *kind == 'M' || *kind == 'm'
                   ? tp_fail(err, TROUPE_UNSUPPORTED, "no tensor holds dtype '%s'", descr)
                   : fail_at(s, err, "'%s' is not a dtype", descr);
    }
    head->type.dtype = find_dtype(*kind, size);
    if (head->type.dtype == TROUPE_DTYPE_NONE) {
        return tp_fail(err, TROUPE_UNSUPPORTED, "no tensor holds dtype '%s'", descr);
    }
    if (size == 0) return fail_at(s, err, "dtype '%s' has cells of no bytes", descr);
    head->wide = *kind == 'U';
    head->cell = (size_t)size * (head->wide ? 4 : 1);
    return TROUPE_OK;
}

static troupe_status scan_descr(struct scan *s, struct tp_npy_head *head, troupe_error *err)
{
    char descr[32];
    if (look(s) == '[') {
        return tp_fail(err, TROUPE_UNSUPPORTED, "no tensor holds a structured dtype");
    }
    TP_TRY(scan_string(s, descr, err));
    return read_descr(s, descr, head, err);
}

static const struct {
    const char *name;
    troupe_status (*scan)(struct scan *s, struct tp_npy_head *head, troupe_error *err);
} keys[] = {
    {"descr", scan_descr},
    {"fortran_order", scan_order},
    {"shape", scan_shape},
};

static troupe_status scan_entry(struct scan *s, unsigned *seen, struct tp_npy_head *head,
                                troupe_error *err)
{
    char name[32];
    size_t i = 0;
    TP_TRY(scan_string(s, name, err));
    while (i < TP_COUNT(keys) && strcmp(keys[i].name, name) != 0)
        i++;
    if (i == TP_COUNT(keys)) return fail_at(s, err, "unknown key '%s' in the header", name);
    if (*seen >> i & 1) return fail_at(s, err, "key '%s' comes twice in the header", name);
    *seen |= 1u << i;
    TP_TRY(expect(s, ':', err));
    return keys[i].scan(s, head, err);
}

static troupe_status check_seen(struct scan *s, unsigned seen, troupe_error *err)
{
    for (size_t i = 0; i < TP_COUNT(keys); i++) {
        if (!(seen >> i & 1)) return fail_at(s, err, "no key '%s' in the header", keys[i].name);
    }
    return TROUPE_OK;
}

troupe_status tp_npy_parse_head(struct tp_npy_head *out, const char *text, size_t size,
                                size_t start, troupe_error *err)
{
    struct scan s = {.text = text, .size = size, .start = start};
    struct tp_npy_head head = {0};
    unsigned seen = 0;
    TP_TRY(expect(&s, '{', err));
    while (look(&s) != '}') {
        TP_TRY(scan_entry(&s, &seen, &head, err));
        if (!take(&s, ',')) break;
    }
    TP_TRY(expect(&s, '}', err));
    TP_TRY(check_seen(&s, seen, err));
    skip_space(&s);
    if (s.at != s.size) return fail_at(&s, err, "more than a dictionary in the header");
    *out = head;
    return TROUPE_OK;
}

bool tp_npy_is_bytes(troupe_dtype dtype)
{
    const enum tp_dtype_kind kind = tp_dtype_kind(dtype);
    const bool whole = kind == TP_KIND_SIGNED || kind == TP_KIND_UNSIGNED;
    return kind == TP_KIND_SMALL || (whole && tp_dtype_bits(dtype) < 8);
}

/* NumPy's letter for an element type. Of a byte or less it has integers and bools alone: the
 * other types are their bytes. */
static char kind_of(troupe_dtype dtype)
{
    switch (tp_dtype_kind(dtype)) {
    case TP_KIND_FLOAT:
        return dtype == TROUPE_BF16 ? 'V' : 'f';
    case TP_KIND_SIGNED:
        return 'i';
    case TP_KIND_SMALL:
    case TP_KIND_UNSIGNED:
        return 'u';
    case TP_KIND_BOOL:
        return 'b';
    case TP_KIND_COMPLEX:
        return 'c';
    case TP_KIND_STRING:
        return 'U';
    case TP_KIND_NONE:
        break;
    }
    return '?';
}

static void put_descr(const struct tp_type *type, size_t cell, char out[32])
{
    const size_t size = type->dtype == TROUPE_STRING ? cell / 4 : cell;
    const char order = size == 1 && cell == 1 ? '|' : '<';
    snprintf(out, 32, "%c%c%zu", order, kind_of(type->dtype), size);
}

/* "(2, 3)", "(2,)", "()". */
static void put_tuple(const struct tp_shape *shape, char out[TROUPE_MAX_RANK * 22 + 4])
{
    int n = sprintf(out, "(");
    for (int i = 0; i < shape->rank; i++) {
        n += sprintf(out + n, i ? ", %" PRId64 : "%" PRId64, shape->dims[i]);
    }
    sprintf(out + n, shape->rank == 1 ? ",)" : ")");
}

size_t tp_npy_show_head(const struct tp_type *type, size_t cell, char *text, size_t size)
{
    char descr[32], tuple[TROUPE_MAX_RANK * 22 + 4], head[512];
    put_descr(type, cell, descr);
    put_tuple(&type->shape, tuple);
    const int n =
        snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                 descr, tuple);
    const size_t before = TP_NPY_MAGIC_SIZE + 4;
    const size_t whole =
        (before + (size_t)n + 1 + TP_NPY_ALIGN - 1) / TP_NPY_ALIGN * TP_NPY_ALIGN;
    const size_t header = whole - before; /* below 65536: version 1 always does */
    if (size < whole) return whole;
    memcpy(text, TP_NPY_MAGIC "\x01\x00", TP_NPY_MAGIC_SIZE + 2);
    text[before - 2] = (char)(header & 0xff);
    text[before - 1] = (char)(header >> 8);
    memset(text + before, ' ', header - 1);
    memcpy(text + before, head, (size_t)n);
    text[whole - 1] = '\n';
    return whole;
}
