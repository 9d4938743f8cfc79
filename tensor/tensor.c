/* SPDX-License-Identifier: MIT
 *
 * tensor/tensor.c - make, share, compare and release tensors of dense elements.
 */
#include "tensor/tensor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"

static troupe_status make_type(struct tp_type *out, troupe_dtype dtype, int rank,
                               const int64_t *dims, troupe_error *err)
{
    if (!troupe_dtype_name(dtype)) {
        return tp_fail(err, TROUPE_INVALID, "%d is not an element type", (int)dtype);
    }
    out->dtype = dtype;
    return tp_shape_make(&out->shape, rank, dims, err);
}

troupe_status tp_type_bytes(const struct tp_type *type, size_t *out, troupe_error *err)
{
    size_t count, size;
    TP_TRY(tp_shape_count(&type->shape, &count, err));
    if (__builtin_mul_overflow(count, tp_element_size(type->dtype), &size) ||
        size > PTRDIFF_MAX) {
        return tp_fail(err, TROUPE_INVALID, "%s has too many bytes", tp_type_text(type).text);
    }
    *out = size;
    return TROUPE_OK;
}

troupe_status tp_tensor_over(troupe_tensor **out, const struct tp_type *type,
                             struct tp_buffer **buffer, size_t offset, troupe_error *err)
{
    TP_OWNED(tp_buffer_release) struct tp_buffer *mine = *buffer;
    *buffer = NULL;
    size_t size;
    TP_TRY(tp_type_bytes(type, &size, err));
    if (offset > mine->size || size > mine->size - offset) {
        return tp_fail(err, TROUPE_INVALID, "%s at byte %zu does not fit in a buffer of %zu",
                       tp_type_text(type).text, offset, mine->size);
    }
    troupe_tensor *tensor = tp_alloc(sizeof(*tensor));
    if (!tensor) return tp_fail_memory(err, sizeof(*tensor));
    tp_ref_init(&tensor->ref);
    tensor->type = *type;
    tensor->count = tp_shape_count_known(&type->shape);
    tensor->data = offset ? (char *)mine->data + offset : mine->data;
    tensor->buffer = mine;
    mine = NULL;
    *out = tensor;
    return TROUPE_OK;
}

troupe_status tp_tensor_new_unset(troupe_tensor **out, const struct tp_type *type,
                                  troupe_error *err)
{
    struct tp_buffer *buffer = NULL;
    size_t size;
    if (type->dtype == TROUPE_STRING) {
        return tp_fail(err, TROUPE_INVALID, "a tensor of strings needs its texts");
    }
    TP_TRY(tp_type_bytes(type, &size, err));
    TP_TRY(tp_buffer_new(&buffer, size, err));
    return tp_tensor_over(out, type, &buffer, 0, err);
}

troupe_status troupe_tensor_new(troupe_tensor **out, troupe_dtype dtype, int rank,
                                const int64_t *dims, const void *data, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    struct tp_type type;
    troupe_tensor *tensor;
    TP_TRY(make_type(&type, dtype, rank, dims, err));
    if (data) TP_TRY(tp_elements_check(dtype, data, tp_shape_count_known(&type.shape), err));
    TP_TRY(tp_tensor_new_unset(&tensor, &type, err));
    if (data) {
        memcpy(tensor->data, data, troupe_tensor_size(tensor));
    } else {
        memset(tensor->data, 0, troupe_tensor_size(tensor));
    }
    *out = tensor;
    return TROUPE_OK;
}

static void free_taken(struct tp_buffer *buffer)
{
    if (buffer->user) buffer->user(buffer->owner, buffer->data);
    tp_free(buffer);
}

/* Memory that came from elsewhere holds elements of that type. */
static troupe_status check_elements(const struct tp_type *type, const void *data,
                                    troupe_error *err)
{
    const size_t align = tp_dtype_unit(type->dtype);
    if ((uintptr_t)data % align != 0) {
        return tp_fail(err, TROUPE_INVALID, "memory for %s is not aligned to %zu bytes",
                       tp_type_text(type).text, align);
    }
    return tp_elements_check(type->dtype, data, tp_shape_count_known(&type->shape), err);
}

static troupe_status check_taken(const struct tp_type *type, size_t size, const void *data,
                                 troupe_error *err)
{
    if (type->dtype == TROUPE_STRING) {
        return tp_fail(err, TROUPE_INVALID, "a tensor of strings cannot take memory");
    }
    if (!data && size > 0) {
        return tp_fail(err, TROUPE_INVALID, "%s over no memory", tp_type_text(type).text);
    }
    return check_elements(type, data, err);
}

/* A buffer around memory that is not freed with it yet. */
static troupe_status wrap(struct tp_buffer **out, void *data, size_t size, troupe_error *err)
{
    struct tp_buffer *buffer = tp_alloc(sizeof(*buffer));
    if (!buffer) return tp_fail_memory(err, sizeof(*buffer));
    *buffer = (struct tp_buffer){.data = data, .size = size, .free = free_taken};
    tp_ref_init(&buffer->ref);
    *out = buffer;
    return TROUPE_OK;
}

troupe_status troupe_tensor_take(troupe_tensor **out, troupe_dtype dtype, int rank,
                                 const int64_t *dims, void *data, troupe_free_fn *free_fn,
                                 void *arg, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    struct tp_buffer *buffer = NULL;
    struct tp_type type;
    troupe_tensor *tensor;
    size_t size;
    TP_TRY(make_type(&type, dtype, rank, dims, err));
    TP_TRY(tp_type_bytes(&type, &size, err));
    TP_TRY(check_taken(&type, size, data, err));
    TP_TRY(wrap(&buffer, data, size, err));
    TP_TRY(tp_tensor_over(&tensor, &type, &buffer, 0, err));
    tensor->buffer->user = free_fn; /* from here on nothing fails, so the memory is ours */
    tensor->buffer->owner = arg;
    *out = tensor;
    return TROUPE_OK;
}

/* Another tensor over the same memory. */
static troupe_status share(troupe_tensor **out, const troupe_tensor *tensor,
                           const struct tp_type *type, troupe_error *err)
{
    struct tp_buffer *buffer = tp_buffer_retain(tensor->buffer);
    const size_t offset = (size_t)((char *)tensor->data - (char *)buffer->data);
    return tp_tensor_over(out, type, &buffer, offset, err);
}

troupe_status troupe_tensor_reshape(troupe_tensor **out, const troupe_tensor *tensor, int rank,
                                    const int64_t *dims, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    TP_TRY(tp_need(tensor, "tensor", err));
    struct tp_type type;
    TP_TRY(make_type(&type, tensor->type.dtype, rank, dims, err));
    if (tp_shape_count_known(&type.shape) != tensor->count) {
        return tp_fail(err, TROUPE_INVALID, "%s does not reshape to %s",
                       tp_type_text(&tensor->type).text, tp_shape_text(&type.shape).text);
    }
    return share(out, tensor, &type, err);
}

troupe_status troupe_tensor_retype(troupe_tensor **out, const troupe_tensor *tensor,
                                   troupe_dtype dtype, troupe_error *err)
{
    TP_TRY(tp_need(out, "out", err));
    TP_TRY(tp_need(tensor, "tensor", err));
    struct tp_type type = tensor->type;
    const char *name = troupe_dtype_name(dtype);
    const size_t from = troupe_dtype_size(type.dtype), to = troupe_dtype_size(dtype);
    if (from != to || to == 0) {
        return tp_fail(err, TROUPE_INVALID,
                       "the elements of %s have %zu bytes each, not the %zu of %s",
                       tp_type_text(&type).text, from, to, name ? name : "an unknown type");
    }
    type.dtype = dtype;
    TP_TRY(check_elements(&type, tensor->data, err));
    return share(out, tensor, &type, err);
}

troupe_tensor *troupe_tensor_retain(const troupe_tensor *tensor)
{
    if (!tensor) return NULL;
    troupe_tensor *shared = (troupe_tensor *)tensor; /* only the count changes */
    if (shared) tp_ref_retain(&shared->ref);
    return shared;
}

void troupe_tensor_release(troupe_tensor **tensor)
{
    if (!tensor || !*tensor) return;
    troupe_tensor *mine = *tensor;
    *tensor = NULL;
    if (!tp_ref_release(&mine->ref)) return;
    /* Read first: the struct may lie in the buffer's memory, and then it is gone with it. */
    void (*recycle)(struct troupe_tensor *) = mine->recycle;
    tp_buffer_release(&mine->buffer);
    if (recycle)
        recycle(mine);
    else
        tp_free(mine);
}

bool tp_tensor_sole(const troupe_tensor *tensor)
{
    return tensor->buffer->ours &&
           atomic_load_explicit(&tensor->ref.count, memory_order_acquire) == 1 &&
           atomic_load_explicit(&tensor->buffer->ref.count, memory_order_acquire) == 1;
}

troupe_dtype troupe_tensor_dtype(const troupe_tensor *tensor)
{
    if (!tensor) return TROUPE_DTYPE_NONE;
    return tensor->type.dtype;
}

int troupe_tensor_rank(const troupe_tensor *tensor)
{
    if (!tensor) return 0;
    return tensor->type.shape.rank;
}

const int64_t *troupe_tensor_dims(const troupe_tensor *tensor)
{
    if (!tensor) return NULL;
    return tensor->type.shape.dims;
}

size_t troupe_tensor_count(const troupe_tensor *tensor)
{
    if (!tensor) return 0;
    return tensor->count;
}

const void *troupe_tensor_data(const troupe_tensor *tensor)
{
    if (!tensor) return NULL;
    return tensor->type.dtype == TROUPE_STRING ? NULL : tensor->data;
}

int64_t tp_tensor_int(const troupe_tensor *tensor, size_t i)
{
    tp_assert(i < tensor->count);
    if (tensor->type.dtype == TROUPE_I32) return ((const int32_t *)tensor->data)[i];
    tp_assert(tensor->type.dtype == TROUPE_I64);
    return ((const int64_t *)tensor->data)[i];
}
