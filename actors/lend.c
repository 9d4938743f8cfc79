/* SPDX-License-Identifier: MIT
 *
 * actors/lend.c - memory of the caller's for results, and arguments that were given away.
 */
#include "actors/lend.h"

#include <stdint.h>
#include <string.h>

#include "actors/caller.h"
#include "base/alloc.h"
#include "base/fail.h"
#include "tensor/tensor.h"

/* -- The note ------------------------------------------------------------------------------ */

static bool overlap(const void *a, size_t a_size, const void *b, size_t b_size)
{
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a_size && b_size && x < y + b_size && y < x + a_size;
}

static const char *result_name(const struct tp_function *f, size_t i)
{
    return f->results[i].name;
}

/* The buffer of result i lies apart from those before it and from the arguments. */
static troupe_status check_apart(const struct tp_pending *pending, const struct tp_function *f,
                                 size_t i, troupe_error *err)
{
    const troupe_buffer *buffers = pending->lending.buffers, *b = &buffers[i];
    for (size_t k = 0; k < i; k++)
        if (buffers[k].data && overlap(b->data, b->size, buffers[k].data, buffers[k].size))
            return tp_fail(err, TROUPE_INVALID, "the buffers of results '%s' and '%s' overlap",
                           result_name(f, k), result_name(f, i));
    for (uint32_t k = 0; k < pending->n_args; k++) {
        const troupe_tensor *arg = pending->args[k];
        if (!overlap(b->data, b->size, arg->data, troupe_tensor_size(arg))) continue;
        return tp_fail(err, TROUPE_INVALID, "the buffer of result '%s' overlaps argument '%s'",
                       result_name(f, i), f->values[k].name);
    }
    return TROUPE_OK;
}

static troupe_status check_buffer(const struct tp_pending *pending, const struct tp_function *f,
                                  size_t i, troupe_error *err)
{
    const troupe_dtype dtype = f->results[i].type.dtype;
    const size_t align = troupe_dtype_size(dtype);
    if (dtype == TROUPE_STRING)
        return tp_fail(err, TROUPE_INVALID, "result '%s' is of strings and takes no buffer",
                       result_name(f, i));
    if (align && (uintptr_t)pending->lending.buffers[i].data % align)
        return tp_fail(err, TROUPE_INVALID,
                       "the buffer of result '%s' is not aligned to %zu bytes",
                       result_name(f, i), align);
    return check_apart(pending, f, i, err);
}

static troupe_status note_buffers(struct tp_pending *pending, const struct tp_start *start,
                                  troupe_error *err)
{
    struct tp_lending *lending = &pending->lending;
    const struct tp_function *f = start->function->body;
    const size_t n = f->n_results;
    if (!n || !start->options->buffers) return TROUPE_OK;
    TP_TRY(tp_grow(&lending->buffers, n - 1, &lending->buffers_room, sizeof *lending->buffers,
                   err));
    memcpy(lending->buffers, start->options->buffers, n * sizeof *lending->buffers);
    for (size_t i = 0; i < n; i++)
        if (lending->buffers[i].data) TP_TRY(check_buffer(pending, f, i, err));
    return TROUPE_OK;
}

/* What was not given at all, and so is a default, cannot be given away. */
static troupe_status note_gifts(struct tp_pending *pending, const struct tp_start *start,
                                troupe_error *err)
{
    struct tp_lending *lending = &pending->lending;
    const size_t n = pending->n_args;
    if (!n) return TROUPE_OK;
    TP_TRY(tp_grow(&lending->give, n - 1, &lending->give_room, sizeof *lending->give, err));
    for (size_t i = 0; i < n; i++)
        lending->give[i] = start->options->give && start->options->give[i] && start->args[i];
    return TROUPE_OK;
}

troupe_status tp_lend_note(struct tp_pending *pending, const struct tp_start *start,
                           troupe_error *err)
{
    TP_TRY(note_gifts(pending, start, err));
    TP_TRY(note_buffers(pending, start, err));
    pending->lending.has_buffers = start->options->buffers != NULL;
    pending->lending.any = true;
    return TROUPE_OK;
}

void tp_lending_fini(struct tp_lending *lending)
{
    tp_free(lending->give);
    tp_free(lending->buffers);
}

void tp_lend_drop(const struct tp_start *start)
{
    const troupe_call_options *o = start->options;
    if (!o || o->size < sizeof *o || !o->give || !start->args) return;
    for (size_t i = 0; i < start->n_args; i++) {
        troupe_tensor *mine = o->give[i] ? (troupe_tensor *)start->args[i] : NULL;
        troupe_tensor_release(&mine);
    }
}

/* -- The block ----------------------------------------------------------------------------- */

static troupe_status make_arrays(struct tp_block *block, troupe_error *err)
{
    struct tp_lent_block *lent = &block->lent;
    size_t targets = 1, gifts = 1;
    for (uint32_t s = 0; s < block->n_shards; s++) {
        targets += block->instance->programs[s]->n_spares;
        gifts += block->instance->programs[s]->n_args;
    }
    lent->targets = tp_alloc_array(targets, sizeof *lent->targets);
    lent->gifts = tp_alloc_array(gifts, sizeof(troupe_tensor **));
    struct tp_lent *frames = tp_alloc_array(block->n_shards + 1u, sizeof *frames);
    lent->frames = frames; /* the last: when they are there, all is */
    if (!lent->targets || !lent->gifts || !frames) {
        tp_lend_destroy(block);
        return tp_fail_memory(err, targets * sizeof *lent->targets);
    }
    for (uint32_t s = 0, t = 0, g = 0; s < block->n_shards; s++) {
        frames[s] = (struct tp_lent){&lent->targets[t], &lent->gifts[g]};
        t += block->instance->programs[s]->n_spares;
        g += block->instance->programs[s]->n_args;
    }
    return TROUPE_OK;
}

static void empty_arrays(struct tp_block *block)
{
    for (uint32_t s = 0; s < block->n_shards; s++) {
        const struct tp_program *program = block->instance->programs[s];
        const struct tp_lent *frame = &block->lent.frames[s];
        memset(frame->targets, 0, program->n_spares * sizeof *frame->targets);
        for (uint32_t i = 0; i < program->n_args; i++)
            frame->gifts[i] = NULL;
    }
}

static troupe_status too_small(const struct tp_function *f, size_t i,
                               const struct tp_type *type, size_t bytes, size_t size,
                               troupe_error *err)
{
    return tp_fail(err, TROUPE_INVALID,
                   "function '%s': result '%s' is %s of %zu bytes, and its buffer has %zu",
                   f->name, result_name(f, i), tp_type_text(type).text, bytes, size);
}

/* Let the value's tensor be one over the buffer, when it is computed for this result alone. */
static void set_target(struct tp_block *block, size_t i, const troupe_buffer *buffer)
{
    const struct tp_instance *instance = block->instance;
    const uint32_t shard = instance->plan->partition->result_shard[i];
    if (shard == UINT32_MAX || (uintptr_t)buffer->data % TP_ALIGN) return;
    const uint32_t spares = instance->programs[shard]->result_spares[instance->result_index[i]];
    if (spares == TP_NO_INDEX) return;
    struct tp_target *target = &block->lent.frames[shard].targets[spares];
    if (!target->data) *target = (struct tp_target){buffer->data, buffer->size};
}

static troupe_status set_targets(struct tp_pending *pending, struct tp_block *block,
                                 troupe_error *err)
{
    const struct tp_function *body = block->instance->plan->body;
    for (uint32_t i = 0; i < body->n_results; i++) {
        const troupe_buffer *buffer = &pending->lending.buffers[i];
        const struct tp_type *type = &block->instance->types[body->results[i].value];
        size_t bytes;
        if (!buffer->data || !tp_type_known(type)) continue;
        TP_TRY(tp_type_bytes(type, &bytes, err));
        if (bytes > buffer->size) return too_small(body, i, type, bytes, buffer->size, err);
        if (bytes) set_target(block, i, buffer);
    }
    return TROUPE_OK;
}

/* Argument k is there once, and goes back by no result: then one shard may use it up. */
static bool is_alone(const struct tp_pending *pending, const struct tp_block *block, uint32_t k)
{
    const struct tp_function *body = block->instance->plan->body;
    for (uint32_t i = 0; i < pending->n_args; i++)
        if (i != k && pending->args[i] == pending->args[k]) return false;
    for (uint32_t i = 0; i < body->n_results; i++)
        if (body->results[i].value == k) return false;
    return true;
}

/* The place of argument k in the only shard that has it, or NULL. */
static troupe_tensor ***find_place(struct tp_block *block, uint32_t k)
{
    const struct tp_partition *partition = block->instance->plan->partition;
    troupe_tensor ***place = NULL;
    for (uint32_t s = 0; s < block->n_shards; s++)
        for (uint32_t i = 0; i < partition->shards[s].n_args; i++) {
            if (partition->shards[s].args[i] != k) continue;
            if (place) return NULL;
            place = &block->lent.frames[s].gifts[i];
        }
    return place;
}

static void set_gifts(struct tp_pending *pending, struct tp_block *block)
{
    for (uint32_t k = 0; k < pending->n_args; k++) {
        if (!pending->lending.give[k] || !is_alone(pending, block, k)) continue;
        troupe_tensor ***place = find_place(block, k);
        if (place) *place = (troupe_tensor **)&pending->args[k];
    }
}

troupe_status tp_lend_block(struct tp_pending *pending, struct tp_block *block,
                            troupe_error *err)
{
    if (!block->lent.frames) TP_TRY(make_arrays(block, err));
    empty_arrays(block);
    if (pending->lending.has_buffers) TP_TRY(set_targets(pending, block, err));
    set_gifts(pending, block);
    for (uint32_t s = 0; s < block->n_shards; s++)
        block->shards[s].frame.lent = &block->lent.frames[s];
    return TROUPE_OK;
}

void tp_lend_clear(struct tp_block *block)
{
    for (uint32_t s = 0; s < block->n_shards; s++)
        block->shards[s].frame.lent = NULL;
}

void tp_lend_destroy(struct tp_block *block)
{
    tp_free(block->lent.frames);
    tp_free(block->lent.targets);
    tp_free((void *)block->lent.gifts);
    tp_spares_close(&block->lent.heads);
    block->lent = (struct tp_lent_block){0};
}

/* -- The end ------------------------------------------------------------------------------- */

static struct tp_pool *pool_of(const struct tp_block *block)
{
    const struct tp_request *request = &block->instance->plan->request;
    const struct tp_device *device = request->devices->list[request->default_device].device;
    return device->pool;
}

/* The result, somewhere else, becomes one in the buffer. */
static troupe_status copy_result(struct tp_block *block, uint32_t i,
                                 const troupe_buffer *buffer, troupe_error *err)
{
    troupe_tensor *from = block->results[i], *to;
    const size_t bytes = troupe_tensor_size(from);
    const struct tp_function *body = block->instance->plan->body;
    if (from->type.dtype == TROUPE_STRING)
        return tp_fail(err, TROUPE_INVALID,
                       "function '%s': result '%s' is of strings and takes no buffer",
                       body->name, result_name(body, i));
    if (bytes > buffer->size) return too_small(body, i, &from->type, bytes, buffer->size, err);
    if (!block->lent.heads) TP_TRY(tp_heads_new(&block->lent.heads, pool_of(block), err));
    TP_TRY(tp_heads_over(block->lent.heads, &from->type, buffer->data, buffer->size, &to, err));
    if (bytes) memcpy(buffer->data, from->data, bytes);
    troupe_tensor_release(&block->results[i]);
    block->results[i] = to;
    return TROUPE_OK;
}

troupe_status tp_lend_settle(struct tp_pending *pending, troupe_error *err)
{
    struct tp_block *block = pending->block;
    if (!pending->lending.has_buffers) return TROUPE_OK;
    const uint32_t n = block->instance->plan->body->n_results;
    for (uint32_t i = 0; i < n; i++) {
        const troupe_buffer *buffer = &pending->lending.buffers[i];
        if (!buffer->data || block->results[i]->data == buffer->data) continue;
        TP_TRY(copy_result(block, i, buffer, err));
    }
    return TROUPE_OK;
}
