/* SPDX-License-Identifier: MIT
 *
 * tensor/buffer.c - counted memory, freed by a function of its owner; and the host heap's kind.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "tensor/tensor.h"

/* The struct lies in front of the memory, in one piece with it. */
#define HEAD_SIZE ((sizeof(struct tp_buffer) + TP_ALIGN - 1) / TP_ALIGN * TP_ALIGN)

static void free_piece(struct tp_buffer *buffer)
{
    tp_free(buffer);
}

troupe_status tp_buffer_new(struct tp_buffer **out, size_t size, troupe_error *err)
{
    size_t whole;
    if (__builtin_add_overflow(size, HEAD_SIZE, &whole)) return tp_fail_memory(err, size);
    char *piece = tp_alloc_aligned(TP_ALIGN, whole);
    if (!piece) return tp_fail_memory(err, whole);
    struct tp_buffer *buffer = (struct tp_buffer *)piece;
    *buffer = (struct tp_buffer){
        .data = piece + HEAD_SIZE, .size = size, .ours = true, .free = free_piece};
    tp_ref_init(&buffer->ref);
    *out = buffer;
    return TROUPE_OK;
}

struct tp_buffer *tp_buffer_retain(struct tp_buffer *buffer)
{
    tp_ref_retain(&buffer->ref);
    return buffer;
}

void tp_buffer_release(struct tp_buffer **buffer)
{
    struct tp_buffer *mine = *buffer;
    *buffer = NULL;
    if (mine && tp_ref_release(&mine->ref)) mine->free(mine);
}
