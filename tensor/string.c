/* SPDX-License-Identifier: MIT
 *
 * tensor/string.c - tensors of strings, and what all tensors do that depends on it.
 *
 * One buffer holds a struct tp_string for each element and then the texts, each with a zero
 * byte behind it.
 */
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "tensor/tensor.h"

static const struct tp_string *strings_of(const troupe_tensor *tensor)
{
    return tensor->data;
}

static const char *text_of(const troupe_tensor *tensor, size_t i)
{
    return (const char *)tensor->buffer->data + strings_of(tensor)[i].at;
}

/* Bytes of the whole buffer; `whole` starts with those of the structs. */
static troupe_status add_texts(size_t *whole, size_t count, const char *const *texts,
                               const size_t *sizes, troupe_error *err)
{
    if (count > 0 && !texts)
        return tp_fail(err, TROUPE_INVALID, "%zu strings without texts", count);
    for (size_t i = 0; i < count; i++) {
        if (!texts[i]) return tp_fail(err, TROUPE_INVALID, "string %zu is NULL", i);
        const size_t size = sizes ? sizes[i] : strlen(texts[i]);
        if (__builtin_add_overflow(*whole, size, whole) || *whole >= PTRDIFF_MAX) {
            return tp_fail(err, TROUPE_INVALID, "string %zu: too many bytes", i);
        }
        *whole += 1;
    }
    return TROUPE_OK;
}

static void copy_texts(struct tp_buffer *buffer, size_t at, size_t count,
                       const char *const *texts, const size_t *sizes)
{
    struct tp_string *strings = buffer->data;
    char *bytes = buffer->data;
    for (size_t i = 0; i < count; i++) {
        const size_t size = sizes ? sizes[i] : strlen(texts[i]);
        strings[i] = (struct tp_string){.at = at, .size = size};
        memcpy(bytes + at, texts[i], size);
        bytes[at + size] = 0;
        at += size + 1;
    }
}

troupe_status troupe_tensor_new_strings(troupe_tensor **out, int rank, const int64_t *dims,
                                        const char *const *texts, const size_t *sizes,
                                        troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    struct tp_type type = {.dtype = TROUPE_STRING};
    struct tp_buffer *buffer = NULL;
    size_t structs;
    TP_TRY(tp_shape_make(&type.shape, rank, dims, err));
    TP_TRY(tp_type_bytes(&type, &structs, err));
    const size_t count = tp_shape_count_known(&type.shape);
    size_t whole = structs;
    TP_TRY(add_texts(&whole, count, texts, sizes, err));
    TP_TRY(tp_buffer_new(&buffer, whole, err));
    copy_texts(buffer, structs, count, texts, sizes);
    return tp_tensor_over(out, &type, &buffer, 0, err);
}

troupe_status tp_strings_init(struct tp_strings *strings, size_t count, troupe_error *err)
{
    *strings = (struct tp_strings){.count = count};
    strings->items = tp_alloc_array(count, sizeof(struct tp_string));
    if (!strings->items) return tp_fail_memory(err, count * sizeof(struct tp_string));
    return TROUPE_OK;
}

troupe_status tp_strings_end(struct tp_strings *strings, troupe_error *err)
{
    tp_assert(strings->done < strings->count);
    const struct tp_string *last = strings->done ? &strings->items[strings->done - 1] : NULL;
    const size_t at = last ? last->at + last->size + 1 : 0;
    const size_t size = strings->bytes.size - at;
    tp_text_add_bytes(&strings->bytes, "", 1);
    if (strings->bytes.failed) return tp_fail_memory(err, strings->bytes.size + 1);
    strings->items[strings->done++] = (struct tp_string){.at = at, .size = size};
    return TROUPE_OK;
}

troupe_status tp_strings_take(struct tp_strings *strings, const struct tp_shape *shape,
                              troupe_tensor **out, troupe_error *err)
{
    const struct tp_type type = {.dtype = TROUPE_STRING, .shape = *shape};
    struct tp_buffer *buffer = NULL;
    const size_t head = strings->count * sizeof(struct tp_string);
    tp_assert(strings->done == strings->count);
    TP_TRY(tp_buffer_new(&buffer, head + strings->bytes.size, err));
    struct tp_string *items = buffer->data;
    for (size_t i = 0; i < strings->count; i++) {
        items[i] = strings->items[i];
        items[i].at += head;
    }
    if (strings->bytes.size) {
        memcpy((char *)buffer->data + head, strings->bytes.data, strings->bytes.size);
    }
    return tp_tensor_over(out, &type, &buffer, 0, err);
}

void tp_strings_fini(struct tp_strings *strings)
{
    tp_free(strings->items);
    tp_text_fini(&strings->bytes);
    *strings = (struct tp_strings){0};
}

size_t troupe_tensor_size(const troupe_tensor *tensor)
{
    if (!tensor) return 0;
    size_t size = 0;
    if (tensor->type.dtype != TROUPE_STRING) {
        return tensor->count * troupe_dtype_size(tensor->type.dtype);
    }
    for (size_t i = 0; i < tensor->count; i++)
        size += strings_of(tensor)[i].size;
    return size;
}

const char *troupe_tensor_string(const troupe_tensor *tensor, size_t i, size_t *size)
{
    if (!tensor) return NULL;
    if (tensor->type.dtype != TROUPE_STRING || i >= tensor->count) return NULL;
    if (size) *size = strings_of(tensor)[i].size;
    return text_of(tensor, i);
}

static bool equal_strings(const troupe_tensor *a, const troupe_tensor *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const size_t size = strings_of(a)[i].size;
        if (size != strings_of(b)[i].size) return false;
        if (memcmp(text_of(a, i), text_of(b, i), size) != 0) return false;
    }
    return true;
}

bool troupe_tensor_equal(const troupe_tensor *a, const troupe_tensor *b)
{
    if (!a || !b) return a == b;
    if (a->type.dtype != b->type.dtype) return false;
    if (!tp_shape_equal(&a->type.shape, &b->type.shape)) return false;
    if (a->count == 0) return true;
    if (a->type.dtype == TROUPE_STRING) return equal_strings(a, b);
    return memcmp(a->data, b->data, troupe_tensor_size(a)) == 0;
}

static uint64_t hash_type(const struct tp_type *type)
{
    const struct tp_shape *shape = &type->shape;
    const int64_t head[2] = {type->dtype, shape->rank};
    const uint64_t hash = XXH3_64bits(head, sizeof(head));
    return XXH3_64bits_withSeed(shape->dims, (size_t)shape->rank * sizeof(shape->dims[0]),
                                hash);
}

uint64_t tp_tensor_hash(const troupe_tensor *tensor)
{
    uint64_t hash = hash_type(&tensor->type);
    if (tensor->type.dtype != TROUPE_STRING) {
        return XXH3_64bits_withSeed(tensor->data, troupe_tensor_size(tensor), hash);
    }
    for (size_t i = 0; i < tensor->count; i++) {
        const size_t size = strings_of(tensor)[i].size;
        hash = XXH3_64bits_withSeed(text_of(tensor, i), size, hash + size);
    }
    return hash;
}
