/* SPDX-License-Identifier: MIT
 *
 * tensor/tensor.h - the inside of a tensor: a counted buffer, a type, and where the elements
 * start.
 *
 * The buffer is memory of some device, freed by its owner's allocator (a function pointer:
 * nothing here knows who that is). Several tensors may share a buffer: a view has its own type
 * and start. Strings: the elements are struct tp_string, whose texts lie in the same buffer.
 */
#ifndef TP_TENSOR_TENSOR_H
#define TP_TENSOR_TENSOR_H

#include "base/alloc.h"
#include "base/ref.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "troupe/tensor.h"

#define TP_ALIGN 64 /* of the elements that we allocate */

struct tp_buffer {
    struct tp_ref ref;
    void *data;  /* host address; a device's own handle where `space` says device memory */
    size_t size; /* bytes */
    bool ours;   /* allocated by us: its last owner may write over it. Not the user's memory */
    /* Called once, by the last owner, on any thread; frees the buffer struct too. */
    void (*free)(struct tp_buffer *buffer);
    void *owner;            /* free's: the pool, or the user's argument */
    troupe_free_fn *user;   /* free's: the user's function, or NULL */
    struct tp_buffer *next; /* the owner's lists while nobody owns it */
};

/* A buffer of at least `size` bytes from the host heap (tp_alloc), aligned to TP_ALIGN. */
troupe_status tp_buffer_new(struct tp_buffer **out, size_t size,
                            troupe_error *err) TROUPE_MUST_CHECK;
struct tp_buffer *tp_buffer_retain(struct tp_buffer *buffer);
void tp_buffer_release(struct tp_buffer **buffer);

struct troupe_tensor {
    struct tp_ref ref;
    struct tp_type type; /* all dimensions known */
    size_t count;        /* elements */
    void *data;          /* first element, inside buffer */
    struct tp_buffer *buffer;
    /* Called by the last owner after the buffer was released, with the struct itself; NULL: it
     * came from tp_alloc. Lets an executor keep tensors in pools. A struct that lies in its own
     * buffer is gone by then: such a function may not look at it. */
    void (*recycle)(struct troupe_tensor *tensor);
    void *owner;                /* recycle's */
    struct troupe_tensor *next; /* the owner's lists while nobody owns it */
};

/* One element of a tensor of strings. `at` counts from the start of the buffer's data; a zero
 * byte follows the text. */
struct tp_string {
    uint64_t at, size;
};

/* Bytes of `count` elements in a buffer; for strings, of their structs alone. INVALID on
 * overflow. */
troupe_status tp_type_bytes(const struct tp_type *type, size_t *out,
                            troupe_error *err) TROUPE_MUST_CHECK;

/* Nobody else has the tensor or its memory, which is ours: it may be written over. Acquire: what
 * the owners before have read, they have. */
bool tp_tensor_sole(const troupe_tensor *tensor);

/* A tensor of that type over buffer, which is moved in (also on failure); elements start at
 * buffer->data + offset. INVALID when they do not fit in it. The texts of strings are not
 * looked at: who fills a buffer from outside checks them. */
troupe_status tp_tensor_over(troupe_tensor **out, const struct tp_type *type,
                             struct tp_buffer **buffer, size_t offset,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* A tensor with memory of its own that the maker may still write, by tp_tensor_write, until it
 * gives the tensor to anyone else. Not zeroed. Not for strings. */
troupe_status tp_tensor_new_unset(troupe_tensor **out, const struct tp_type *type,
                                  troupe_error *err) TROUPE_MUST_CHECK;
static inline void *tp_tensor_write(troupe_tensor *tensor)
{
    return tensor->data;
}

/* A tensor of strings under construction, element by element in row-major order: text is added
 * to `bytes` (tp_text_add and so on), then tp_strings_end ends the element. */
struct tp_strings {
    struct tp_string *items;
    size_t count, done;
    struct tp_text
        bytes; /* the texts, each with a zero byte; items[i].at counts from its start */
};
troupe_status tp_strings_init(struct tp_strings *strings, size_t count,
                              troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_strings_end(struct tp_strings *strings, troupe_error *err) TROUPE_MUST_CHECK;
/* A tensor of that shape of `count` elements, all of which were ended. */
troupe_status tp_strings_take(struct tp_strings *strings, const struct tp_shape *shape,
                              troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_strings_fini(struct tp_strings *strings);

/* Elements of an integer tensor as int64 (i32 and i64 only): for shapes and axes. */
int64_t tp_tensor_int(const troupe_tensor *tensor, size_t i);

/* Read one value in text form, "f32[2] [1, 2]", from *text: *text moves behind it. Used by the
 * reader of functions. line/column are the caller's to work out: *text points at the offending
 * byte on failure. */
troupe_status tp_tensor_parse_at(troupe_tensor **out, const char **text,
                                 troupe_error *err) TROUPE_MUST_CHECK;
/* The same for a value whose type was read already. */
troupe_status tp_tensor_parse_elements(troupe_tensor **out, const struct tp_type *type,
                                       const char **text, troupe_error *err) TROUPE_MUST_CHECK;

/* Hash of type and elements (xxh3, seedless): equal tensors have equal hashes. */
uint64_t tp_tensor_hash(const troupe_tensor *tensor);

#endif
