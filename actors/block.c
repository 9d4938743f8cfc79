/* SPDX-License-Identifier: MIT
 *
 * actors/block.c - the memory of one call of an instance, in one piece, used again and again.
 */
#include <string.h>

#include "actors/call.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/fail.h"
#include "tensor/tensor.h"

bool tp_count_failed(struct tp_count *count, const troupe_error *error)
{
    count->failures++;
#if defined(TP_MUTANT) && TP_MUTANT == 3
    count->failed = false;
#endif
    if (count->failed) return false;
    count->failed = true;
    count->cause = *error;
    return true;
}

/* The one place that knows how a block's parts lie; the frames' arrays follow. */
static void carve_all(struct tp_block *block, const struct tp_instance *instance,
                      struct tp_carve *carve)
{
    const struct tp_partition *partition = instance->plan->partition;
    tp_carve(carve, 1, sizeof *block, TP_ALIGN);
    block->shards = tp_carve(carve, partition->n_shards, sizeof *block->shards, TP_ALIGN);
    block->edges = tp_carve(carve, partition->n_edges, sizeof *block->edges, TP_ALIGN);
    block->ends = tp_carve(carve, partition->n_shards, 1, TP_ALIGN);
    block->seen = tp_carve(carve, partition->n_edges, 1, TP_ALIGN);
    block->results =
        tp_carve(carve, instance->plan->body->n_results, sizeof(troupe_tensor *), TP_ALIGN);
}

static size_t block_size(const struct tp_instance *instance)
{
    struct tp_carve carve = {0};
    struct tp_block counted;
    carve_all(&counted, instance, &carve);
    for (uint32_t i = 0; i < instance->plan->partition->n_shards; i++)
        carve.size += tp_frame_size(instance->programs[i]);
    return carve.size;
}

static troupe_status block_fill(struct tp_block *block, struct tp_instance *instance,
                                size_t frames_at, struct tp_device_actor *devices,
                                troupe_error *err)
{
    const struct tp_partition *partition = instance->plan->partition;
    char *at = (char *)block + frames_at;
    for (uint32_t i = 0; i < partition->n_shards; i++) {
        block->n_shards = i + 1; /* what tp_block_destroy looks at */
        tp_shard_init(&block->shards[i], block, i, &devices[partition->shards[i].device]);
        TP_TRY(tp_frame_init(&block->shards[i].frame, instance->programs[i], at, err));
        at += tp_frame_size(instance->programs[i]);
    }
    return TROUPE_OK;
}

troupe_status tp_block_new(struct tp_instance *instance, struct tp_device_actor *devices,
                           struct tp_block **out, troupe_error *err)
{
    size_t size = block_size(instance);
    struct tp_block *block = tp_alloc_aligned(TP_ALIGN, size);
    if (!block) return tp_fail_memory(err, size);
    memset(block, 0, size);
    struct tp_carve carve = {(char *)block, 0};
    carve_all(block, instance, &carve);
    block->instance = tp_instance_retain(instance);
    troupe_status status = block_fill(block, instance, carve.size, devices, err);
    if (status < 0)
        tp_block_destroy(&block);
    else
        *out = block;
    return status;
}

/* Results of shards that worked in a call that failed. */
static void clear_frames(struct tp_block *block)
{
    for (uint32_t i = 0; i < block->n_shards; i++)
        for (uint32_t j = 0; j < block->instance->programs[i]->n_results; j++)
            troupe_tensor_release(&block->shards[i].frame.results[j]);
}

static void clear_errors(struct tp_block *block)
{
    for (uint32_t i = 0; i < block->n_shards; i++)
        if (block->shards[i].done.fixed) /* it was sent */
            tp_message_drop(&block->shards[i].done);
}

static void clear_profile(struct tp_block *block)
{
    for (uint32_t i = 0; i < block->n_shards; i++) {
        tp_free(block->shards[i].frame.profile);
        block->shards[i].frame.profile = NULL;
    }
    tp_free(block->edge_bytes);
    block->edge_bytes = NULL;
    block->profile = false;
}

void tp_block_clear(struct tp_block *block)
{
    uint32_t n_results = block->instance->plan->body->n_results;
    for (uint32_t i = 0; i < n_results; i++)
        troupe_tensor_release(&block->results[i]);
    block->pending = NULL;
    if (TP_UNLIKELY(block->lent.frames != NULL)) tp_lend_clear(block);
    if (block->count.failed) {
        clear_frames(block);
        clear_errors(block);
    }
    if (block->profile) clear_profile(block);
}

void tp_block_destroy(struct tp_block **at)
{
    struct tp_block *block = *at;
    *at = NULL;
    if (!block) return;
    tp_block_clear(block);
    for (uint32_t i = 0; i < block->n_shards; i++)
        tp_frame_fini(&block->shards[i].frame);
    tp_lend_destroy(block);
    tp_instance_release(&block->instance);
    tp_free(block);
}

troupe_status tp_block_profile(struct tp_block *block, troupe_error *err)
{
    uint32_t edges = block->instance->plan->partition->n_edges;
    block->profile = true;
    block->edge_bytes = tp_alloc_array(edges + (size_t)1, sizeof *block->edge_bytes);
    if (!block->edge_bytes) return tp_fail_memory(err, edges * sizeof *block->edge_bytes);
    for (uint32_t i = 0; i < block->n_shards; i++) {
        size_t steps = block->instance->programs[i]->n_steps + (size_t)1;
        block->shards[i].frame.profile = tp_alloc_array(steps, sizeof(uint64_t));
        if (!block->shards[i].frame.profile)
            return tp_fail_memory(err, steps * sizeof(uint64_t));
    }
    return TROUPE_OK;
}

/* A result that no shard gives is an argument or a constant of the function. */
static troupe_tensor *untouched(const struct tp_function *body, uint32_t value,
                                const troupe_tensor *const *args)
{
    return troupe_tensor_retain(value < body->n_args ? args[value]
                                                     : body->values[value].constant);
}

void tp_block_take_results(struct tp_block *block, const troupe_tensor *const *args)
{
    const struct tp_instance *instance = block->instance;
    const struct tp_partition *partition = instance->plan->partition;
    const struct tp_function *body = instance->plan->body;
    for (uint32_t i = 0; i < body->n_results; i++) {
        uint32_t shard = partition->result_shard[i];
        if (shard == UINT32_MAX) {
            block->results[i] = untouched(body, body->results[i].value, args);
            continue;
        }
        troupe_tensor **from = &block->shards[shard].frame.results[instance->result_index[i]];
        block->results[i] = *from;
        *from = NULL;
    }
}
