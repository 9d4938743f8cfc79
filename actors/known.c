/* SPDX-License-Identifier: MIT
 *
 * actors/known.c - what a caller remembers: the instances of calls it has made, and free blocks
 * of them.
 *
 * A small table by function, options and argument types, so that a repeated call writes nothing
 * that another thread reads. Sets of four; the one used least recently goes.
 */
#include "actors/caller.h"
#include "actors/runtime.h"
#include "base/fail.h"

static struct tp_known *set_of(struct troupe_caller *caller, const troupe_function *function,
                               const uint64_t key[2])
{
    uint64_t hash = ((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u ^ key[0];
    return &caller->known[(hash >> 32) % (TP_CACHE / TP_CACHE_WAYS) * TP_CACHE_WAYS];
}

static void free_blocks(struct tp_known *known)
{
    for (struct tp_block *block; (block = known->blocks);) {
        known->blocks = block->next;
        tp_block_destroy(&block);
    }
}

static void forget(struct tp_known *known)
{
    free_blocks(known);
    tp_instance_release(&known->instance);
    troupe_function_release(&known->function);
    *known = (struct tp_known){0};
}

/* It is used from here on. False: it was evicted, and is forgotten. */
static bool is_kept(struct tp_known *known)
{
    atomic_uchar *use = &known->instance->use;
    unsigned char was = atomic_load_explicit(use, memory_order_relaxed);
    if (TP_LIKELY(was == TP_INSTANCE_USED)) return true;
    if (was == TP_INSTANCE_IDLE)
        atomic_compare_exchange_strong_explicit(use, &was, TP_INSTANCE_USED,
                                                memory_order_relaxed, memory_order_relaxed);
    if (was != TP_INSTANCE_EVICTED) return true;
    forget(known);
    return false;
}

struct tp_known *tp_known_find(struct troupe_caller *caller, const troupe_function *function,
                               const uint64_t key[2], const troupe_tensor *const *args)
{
    struct tp_known *set = set_of(caller, function, key);
    for (int i = 0; i < TP_CACHE_WAYS; i++) {
        struct tp_known *known = &set[i];
        if (known->function != function || known->key[0] != key[0] || known->key[1] != key[1])
            continue;
        if (!tp_instance_fits(known->instance, args)) continue;
        if (TP_UNLIKELY(!is_kept(known))) continue;
        known->used = ++caller->clock;
        return known;
    }
    return NULL;
}

/* Those that were evicted meanwhile, whoever asked for others. */
static void forget_evicted(struct troupe_caller *caller)
{
    for (int i = 0; i < TP_CACHE; i++) {
        struct tp_known *known = &caller->known[i];
        if (known->function &&
            atomic_load_explicit(&known->instance->use, memory_order_relaxed) ==
                TP_INSTANCE_EVICTED)
            forget(known);
    }
}

void tp_known_add(struct troupe_caller *caller, const troupe_function *function,
                  const uint64_t key[2], struct tp_instance *instance)
{
    struct tp_known *set = set_of(caller, function, key), *oldest = set;
    forget_evicted(caller);
    if (atomic_load_explicit(&instance->use, memory_order_relaxed) == TP_INSTANCE_EVICTED)
        return;
    for (int i = 0; i < TP_CACHE_WAYS; i++) {
        if (set[i].instance == instance && set[i].function == function) return;
        if (!oldest->function) continue;
        if (!set[i].function || caller->clock - set[i].used > caller->clock - oldest->used)
            oldest = &set[i];
    }
    forget(oldest);
    *oldest = (struct tp_known){
        .function = troupe_function_retain(function),
        .key = {key[0], key[1]},
        .instance = tp_instance_retain(instance),
        .used = ++caller->clock,
    };
}

bool tp_known_shed(struct troupe_caller *caller)
{
    bool any = false;
    for (int i = 0; i < TP_CACHE; i++) {
        any |= caller->known[i].blocks != NULL;
        free_blocks(&caller->known[i]);
    }
    return any;
}

troupe_status tp_known_new_block(struct troupe_caller *caller, struct tp_instance *instance,
                                 struct tp_block **out, troupe_error *err)
{
    struct tp_device_actor *devices = caller->runtime->device_actors;
    troupe_error error;
    troupe_status status = tp_block_new(instance, devices, out, &error);
    if (status == TROUPE_EXHAUSTED && tp_known_shed(caller))
        status = tp_block_new(instance, devices, out, &error);
    if (status < 0 && err) *err = error;
    return status;
}

troupe_status tp_known_take_block(struct troupe_caller *caller, struct tp_known *known,
                                  struct tp_block **out, troupe_error *err)
{
    struct tp_block *block = known->blocks;
    if (!block) return tp_known_new_block(caller, known->instance, out, err);
    known->blocks = block->next;
    *out = block;
    return TROUPE_OK;
}

void tp_known_return(struct tp_known *known, struct tp_block **block)
{
    tp_block_clear(*block);
    (*block)->next = known->blocks;
    known->blocks = *block;
    *block = NULL;
}

void tp_known_give_block(struct troupe_caller *caller, const struct tp_pending *pending,
                         struct tp_block **block)
{
    struct tp_known *set = set_of(caller, pending->asked, pending->key);
    for (int i = 0; i < TP_CACHE_WAYS; i++) {
        if (set[i].instance != (*block)->instance) continue;
        tp_known_return(&set[i], block);
        return;
    }
    tp_block_destroy(block);
}

void tp_known_clear(struct troupe_caller *caller)
{
    for (int i = 0; i < TP_CACHE; i++)
        if (caller->known[i].function) forget(&caller->known[i]);
}
