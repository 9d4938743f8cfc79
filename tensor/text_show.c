/* SPDX-License-Identifier: MIT
 *
 * tensor/text_show.c - a tensor as text: its type, then the elements, nested as they are.
 *
 * A tensor without elements shows one pair of brackets, whatever its rank: the shape says the
 * rest, and a shape such as [1000000000,0] would make a long text of nothing.
 */
#include <stdio.h>
#include <string.h>

#include "tensor/number.h"
#include "tensor/tensor.h"
#include "tensor/utf8.h"

#define EDGE 3 /* elements at each end of a dimension whose middle is left out */

struct show {
    const troupe_tensor *tensor;
    bool brief; /* leave out middles */
    char *text; /* size bytes: what fits, and at the end a zero byte */
    size_t size, need;
};

static void put_bytes(struct show *show, const char *bytes, size_t n)
{
    if (show->need < show->size) {
        const size_t room = show->size - show->need;
        memcpy(show->text + show->need, bytes, n < room ? n : room);
    }
    show->need += n;
}

static void put(struct show *show, const char *text)
{
    put_bytes(show, text, strlen(text));
}

/* A byte that must not stand for itself. */
static void put_escaped(struct show *show, unsigned char c)
{
    char text[5];
    if (c == '"' || c == '\\') {
        snprintf(text, sizeof(text), "\\%c", c);
    } else if (c == '\n' || c == '\t') {
        snprintf(text, sizeof(text), "\\%c", c == '\n' ? 'n' : 't');
    } else {
        snprintf(text, sizeof(text), "\\x%02x", c);
    }
    put(show, text);
}

/* Bytes of text[0..size) that may stand for themselves: one code point, or none. */
static size_t plain_size(const char *text, size_t size)
{
    uint32_t code;
    const size_t n = tp_utf8_get(text, size, &code);
    if (n == 0 || code < ' ' || code == 0x7f || code == '"' || code == '\\') return 0;
    return n;
}

static void put_string(struct show *show, size_t i)
{
    size_t size, n;
    const char *text = troupe_tensor_string(show->tensor, i, &size);
    put(show, "\"");
    for (size_t at = 0; at < size; at += n ? n : 1) {
        n = plain_size(text + at, size - at);
        if (n) {
            put_bytes(show, text + at, n);
        } else {
            put_escaped(show, (unsigned char)text[at]);
        }
    }
    put(show, "\"");
}

static void put_element(struct show *show, size_t i)
{
    char text[TP_NUMBER_TEXT];
    const troupe_dtype dtype = show->tensor->type.dtype;
    if (dtype == TROUPE_STRING) {
        put_string(show, i);
        return;
    }
    const char *element = (const char *)show->tensor->data + i * troupe_dtype_size(dtype);
    put_bytes(show, text, tp_number_show(dtype, element, text));
}

/* Dimension `level` of the part whose first element is `at`; it has `n` elements altogether. */
static void put_level(struct show *show, int level, size_t at, size_t n)
{
    const struct tp_shape *shape = &show->tensor->type.shape;
    if (level == shape->rank) {
        put_element(show, at);
        return;
    }
    const size_t dim = (size_t)shape->dims[level], part = n / dim;
    put(show, "[");
    for (size_t i = 0; i < dim; i++) {
        if (i > 0) put(show, ", ");
        if (show->brief && dim > 2 * EDGE && i == EDGE) {
            put(show, "..., ");
            i = dim - EDGE;
        }
        put_level(show, level + 1, at + i * part, part);
    }
    put(show, "]");
}

size_t troupe_tensor_show(const troupe_tensor *tensor, size_t max_elements, char *text,
                          size_t size)
{
    if (!tensor) return 0;
    struct show show = {.tensor = tensor, .text = text, .size = size};
    show.brief = max_elements > 0 && tensor->count > max_elements;
    put(&show, tp_type_text(&tensor->type).text);
    put(&show, " ");
    if (tensor->count == 0) {
        put(&show, "[]");
    } else {
        put_level(&show, 0, 0, tensor->count);
    }
    if (size > 0) text[show.need < size ? show.need : size - 1] = 0;
    return show.need;
}
