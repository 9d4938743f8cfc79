/* SPDX-License-Identifier: MIT
 *
 * graph/attr.c - typed attributes of a graph node: find, check, compare, copy.
 */
#include "graph/attr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/word.h"

const troupe_attr *tp_attr_find(const troupe_attr *attrs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(attrs[i].name, name) == 0) return &attrs[i];
    }
    return NULL;
}

int64_t tp_attr_int(const troupe_attr *attrs, size_t n, const char *name, int64_t otherwise)
{
    const troupe_attr *attr = tp_attr_find(attrs, n, name);
    if (!attr) return otherwise;
    return attr->kind == TROUPE_ATTR_DTYPE ? (int64_t)attr->dtype : attr->i;
}

double tp_attr_float(const troupe_attr *attrs, size_t n, const char *name, double otherwise)
{
    const troupe_attr *attr = tp_attr_find(attrs, n, name);
    return attr ? attr->f : otherwise;
}

const char *tp_attr_text(const troupe_attr *attrs, size_t n, const char *name,
                         const char *otherwise)
{
    const troupe_attr *attr = tp_attr_find(attrs, n, name);
    return attr ? attr->text : otherwise;
}

const int64_t *tp_attr_ints(const troupe_attr *attrs, size_t n, const char *name, size_t *count)
{
    const troupe_attr *attr = tp_attr_find(attrs, n, name);
    *count = attr ? attr->n : 0;
    return attr ? attr->ints : NULL;
}

const double *tp_attr_floats(const troupe_attr *attrs, size_t n, const char *name,
                             size_t *count)
{
    const troupe_attr *attr = tp_attr_find(attrs, n, name);
    *count = attr ? attr->n : 0;
    return attr ? attr->floats : NULL;
}

static bool same_bytes(const void *a, const void *b, size_t n, size_t size)
{
    return n == 0 || memcmp(a, b, n * size) == 0;
}

static bool same_texts(const troupe_attr *a, const troupe_attr *b)
{
    for (size_t i = 0; i < a->n; i++) {
        if (strcmp(a->texts[i], b->texts[i]) != 0) return false;
    }
    return true;
}

static bool same_value(const troupe_attr *a, const troupe_attr *b)
{
    switch (a->kind) {
    case TROUPE_ATTR_INT:
        return a->i == b->i;
    case TROUPE_ATTR_FLOAT:
        return same_bytes(&a->f, &b->f, 1, sizeof(a->f));
    case TROUPE_ATTR_STRING:
        return same_bytes(a->text, b->text, a->n, 1);
    case TROUPE_ATTR_INTS:
        return same_bytes(a->ints, b->ints, a->n, sizeof(a->ints[0]));
    case TROUPE_ATTR_FLOATS:
        return same_bytes(a->floats, b->floats, a->n, sizeof(a->floats[0]));
    case TROUPE_ATTR_STRINGS:
        return same_texts(a, b);
    case TROUPE_ATTR_TENSOR:
        return troupe_tensor_equal(a->tensor, b->tensor);
    case TROUPE_ATTR_DTYPE:
        return a->dtype == b->dtype;
    case TROUPE_ATTR_FUNCTION:
        return strcmp(a->text, b->text) == 0;
    }
    return false;
}

/* The kinds that have a number of parts. */
static bool is_list(troupe_attr_kind kind)
{
    return kind == TROUPE_ATTR_STRING || kind == TROUPE_ATTR_INTS ||
           kind == TROUPE_ATTR_FLOATS || kind == TROUPE_ATTR_STRINGS;
}

bool tp_attr_equal(const troupe_attr *a, const troupe_attr *b)
{
    if (a->kind != b->kind || strcmp(a->name, b->name) != 0) return false;
    if (is_list(a->kind) && a->n != b->n) return false;
    return same_value(a, b);
}

const char *tp_attr_kind_name(troupe_attr_kind kind)
{
    switch (kind) {
    case TROUPE_ATTR_INT:
        return "an integer";
    case TROUPE_ATTR_FLOAT:
        return "a float";
    case TROUPE_ATTR_STRING:
        return "a string";
    case TROUPE_ATTR_INTS:
        return "a list of integers";
    case TROUPE_ATTR_FLOATS:
        return "a list of floats";
    case TROUPE_ATTR_STRINGS:
        return "a list of strings";
    case TROUPE_ATTR_TENSOR:
        return "a tensor";
    case TROUPE_ATTR_DTYPE:
        return "an element type";
    case TROUPE_ATTR_FUNCTION:
        return "a function";
    }
    return "nothing";
}

static bool texts_whole(const troupe_attr *attr)
{
    for (size_t i = 0; attr->texts && i < attr->n; i++) {
        if (!attr->texts[i]) return false;
    }
    return attr->texts || attr->n == 0;
}

/* What its kind points to is there. */
static bool is_whole(const troupe_attr *attr)
{
    switch (attr->kind) {
    case TROUPE_ATTR_INT:
    case TROUPE_ATTR_FLOAT:
        return true;
    case TROUPE_ATTR_STRING:
        return attr->text || attr->n == 0;
    case TROUPE_ATTR_INTS:
        return attr->ints || attr->n == 0;
    case TROUPE_ATTR_FLOATS:
        return attr->floats || attr->n == 0;
    case TROUPE_ATTR_STRINGS:
        return texts_whole(attr);
    case TROUPE_ATTR_TENSOR:
        return attr->tensor != NULL;
    case TROUPE_ATTR_DTYPE:
        return troupe_dtype_name(attr->dtype) != NULL;
    case TROUPE_ATTR_FUNCTION:
        return attr->text != NULL;
    }
    return false;
}

troupe_status tp_attr_check(const troupe_attr *attr, troupe_error *err)
{
    if (!attr->name) return tp_fail(err, TROUPE_INVALID, "an attribute has no name");
    TP_TRY(tp_word_check("an attribute", attr->name, err));
    if (is_whole(attr)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "attribute '%s' of kind %d has no value", attr->name,
                   (int)attr->kind);
}

static const void *copy_bytes(struct tp_arena *arena, const void *bytes, size_t n, size_t size)
{
    void *copy = tp_arena_array(arena, n, size);
    if (copy && n) memcpy(copy, bytes, n * size);
    return copy;
}

static double one_nan(double number)
{
    return isnan(number) ? (double)NAN : number;
}

static const double *copy_floats(struct tp_arena *arena, const troupe_attr *from)
{
    double *copy = tp_arena_array(arena, from->n, sizeof(*copy));
    for (size_t i = 0; copy && i < from->n; i++)
        copy[i] = one_nan(from->floats[i]);
    return copy;
}

static const char *const *copy_texts(struct tp_arena *arena, const troupe_attr *from)
{
    const char **copy = tp_arena_array(arena, from->n, sizeof(*copy));
    for (size_t i = 0; copy && i < from->n; i++) {
        copy[i] = tp_arena_text(arena, from->texts[i], strlen(from->texts[i]));
        if (!copy[i]) return NULL;
    }
    return copy;
}

/* *to is a copy of *from whose pointers are still from's. False: no memory. */
static bool deepen(struct tp_arena *arena, const troupe_attr *from, troupe_attr *to)
{
    to->name = tp_arena_text(arena, from->name, strlen(from->name));
    if (!to->name) return false;
    switch (from->kind) {
    case TROUPE_ATTR_INT:
    case TROUPE_ATTR_DTYPE:
        return true;
    case TROUPE_ATTR_FLOAT:
        to->f = one_nan(from->f);
        return true;
    case TROUPE_ATTR_STRING:
        to->text = tp_arena_text(arena, from->text, from->n);
        return to->text != NULL;
    case TROUPE_ATTR_FUNCTION:
        to->text = tp_arena_text(arena, from->text, strlen(from->text));
        return to->text != NULL;
    case TROUPE_ATTR_INTS:
        to->ints = copy_bytes(arena, from->ints, from->n, sizeof(from->ints[0]));
        return to->ints != NULL;
    case TROUPE_ATTR_FLOATS:
        to->floats = copy_floats(arena, from);
        return to->floats != NULL;
    case TROUPE_ATTR_STRINGS:
        to->texts = copy_texts(arena, from);
        return to->texts != NULL;
    case TROUPE_ATTR_TENSOR:
        return true;
    }
    return false;
}

troupe_status tp_attr_copy(struct tp_arena *arena, const troupe_attr *attrs, size_t n,
                           troupe_attr **out, troupe_error *err)
{
    troupe_attr *copy = tp_arena_array(arena, n, sizeof(*copy));
    if (!copy) return tp_fail_memory(err, n * sizeof(*copy));
    if (n) memcpy(copy, attrs, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        if (!deepen(arena, &attrs[i], &copy[i])) return tp_fail_memory(err, sizeof(*copy));
    }
    for (size_t i = 0; i < n; i++) {
        if (copy[i].kind == TROUPE_ATTR_TENSOR) troupe_tensor_retain(copy[i].tensor);
    }
    *out = copy;
    return TROUPE_OK;
}

void tp_attr_drop(troupe_attr *attrs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (attrs[i].kind != TROUPE_ATTR_TENSOR) continue;
        troupe_tensor *tensor = (troupe_tensor *)attrs[i].tensor;
        troupe_tensor_release(&tensor);
        attrs[i].tensor = NULL;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const troupe_attr *)a)->name, ((const troupe_attr *)b)->name);
}

void tp_attr_sort(troupe_attr *attrs, size_t n)
{
    if (n > 1) qsort(attrs, n, sizeof(*attrs), by_name);
}
