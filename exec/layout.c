/* SPDX-License-Identifier: MIT
 *
 * exec/layout.c - give every value of a frame's arena its place.
 *
 * First fit over a list of free ranges in the order of their addresses, item by item: an item's
 * results are placed, then the places of those that died with it are freed. A result takes the
 * place of an input that dies with the item where the op's row allows it. Source: linear-scan
 * allocation (Poletto and Sarkar, 1999), with sizes.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/pace.h"
#include "exec/maker.h"
#include "tensor/tensor.h"

struct range {
    size_t at, size;
};

struct layout {
    struct tp_maker *maker;
    struct range *free; /* ascending, never adjacent */
    size_t n, capacity;
    size_t end; /* all from here on is free */
    /* Roots of the arena by the item with which they die: a list for each item, linked by
     * `next`. */
    uint32_t *dies, *next;
};

static void layout_fini(struct layout *layout)
{
    tp_free(layout->free);
    tp_free(layout->dies);
    tp_free(layout->next);
}

static size_t take_range(struct layout *layout, size_t size)
{
    for (size_t i = 0; i < layout->n; i++) {
        struct range *r = &layout->free[i];
        if (r->size < size) continue;
        size_t at = r->at;
        r->at += size;
        r->size -= size;
        if (!r->size) memmove(r, r + 1, (--layout->n - i) * sizeof *r);
        return at;
    }
    size_t at = layout->end;
    if (layout->n && layout->free[layout->n - 1].at + layout->free[layout->n - 1].size == at)
        at = layout->free[--layout->n].at;
    layout->end = at + size;
    return at;
}

static troupe_status give_range(struct layout *layout, size_t at, size_t size,
                                troupe_error *err)
{
    size_t i = layout->n;
    while (i && layout->free[i - 1].at > at)
        i--;
    struct range *below = i ? &layout->free[i - 1] : NULL;
    struct range *above = i < layout->n ? &layout->free[i] : NULL;
    if (below && below->at + below->size == at) {
        below->size += size;
        if (!above || above->at != below->at + below->size) return TROUPE_OK;
        below->size += above->size;
        memmove(above, above + 1, (--layout->n - i) * sizeof *above);
        return TROUPE_OK;
    }
    if (above && at + size == above->at) {
        above->at = at;
        above->size += size;
        return TROUPE_OK;
    }
    TP_TRY(tp_grow(&layout->free, layout->n, &layout->capacity, sizeof *layout->free, err));
    memmove(&layout->free[i + 1], &layout->free[i], (layout->n++ - i) * sizeof *layout->free);
    layout->free[i] = (struct range){at, size};
    return TROUPE_OK;
}

static uint32_t death(const struct layout *layout, uint32_t slot)
{
    const struct tp_life *life = &layout->maker->life[slot];
#if defined(TP_MUTANT) && TP_MUTANT == 10
    return life->last > life->first + 1 ? life->last - 1 : life->last;
#else
    return life->last;
#endif
}

static bool in_arena(const struct tp_maker *maker, uint32_t slot)
{
    return maker->slots[slot].root == slot && maker->slots[slot].storage == TP_STORE_ARENA;
}

/* Roots of the arena whose place becomes free after each item. */
static troupe_status find_deaths(struct layout *layout, troupe_error *err)
{
    struct tp_maker *maker = layout->maker;
    uint32_t items = maker->shard->n_items, slots = maker->program->n_slots;
    layout->dies = tp_alloc_array(items + (size_t)1, sizeof *layout->dies);
    layout->next = tp_alloc_array(slots + (size_t)1, sizeof *layout->next);
    if (!layout->dies || !layout->next)
        return tp_fail_memory(err, items * sizeof *layout->dies);
    memset(layout->dies, 0xff, (items + (size_t)1) * sizeof *layout->dies);
    for (uint32_t i = 0; i < slots; i++) {
        if (!in_arena(maker, i)) continue;
        uint32_t item = death(layout, i);
        layout->next[i] = layout->dies[item];
        layout->dies[item] = i;
    }
    return TROUPE_OK;
}

/* The input of the node whose place result 0 may take: it dies here, is a root in the arena or
 * all of it, and has exactly the result's type. TP_NO_INDEX: none. */
static uint32_t reusable(const struct tp_maker *maker, const struct tp_node *node,
                         uint32_t item, const struct tp_type *type)
{
    for (uint32_t i = 0; i < node->n_inputs && i < 8; i++) {
        if (!(node->op->reuse >> i & 1) || node->inputs[i] == TP_NO_VALUE) continue;
        const struct tp_slot *s = &maker->slots[maker->slot_of[node->inputs[i]]];
        const struct tp_life *life = &maker->life[s->root];
        if (s->storage != TP_STORE_ARENA || life->last != item || life->taken) continue;
        if (s->type && s->type->dtype == type->dtype &&
            tp_shape_equal(&s->type->shape, &type->shape) &&
            tp_maker_may_reuse(maker, node, s->root))
            return s->root;
    }
    return TP_NO_INDEX;
}

static troupe_status place(struct layout *layout, const struct tp_node *node, uint32_t result,
                           uint32_t item, troupe_error *err)
{
    struct tp_maker *maker = layout->maker;
    uint32_t slot = maker->slot_of[node->results[result]];
    if (!in_arena(maker, slot)) return TROUPE_OK;
    struct tp_slot *s = &maker->slots[slot];
    size_t bytes;
    TP_TRY(tp_type_bytes(s->type, &bytes, err));
    if (bytes > SIZE_MAX - 2 * TP_ALIGN)
        return tp_fail(err, TROUPE_EXHAUSTED, "a value of %zu bytes is too large", bytes);
    maker->life[slot].size = (bytes + TP_ALIGN - 1) / TP_ALIGN * TP_ALIGN;
    uint32_t from = result ? TP_NO_INDEX : reusable(maker, node, item, s->type);
    if (from != TP_NO_INDEX) {
        maker->life[from].taken = true;
        s->offset = maker->slots[from].offset;
        return TROUPE_OK;
    }
    s->offset = take_range(layout, maker->life[slot].size);
    if (layout->end < maker->life[slot].size)
        return tp_fail(err, TROUPE_EXHAUSTED, "the values of one shard have too many bytes");
    return TROUPE_OK;
}

static troupe_status free_dead(struct layout *layout, uint32_t item, troupe_error *err)
{
    struct tp_maker *maker = layout->maker;
    for (uint32_t i = layout->dies[item]; i != TP_NO_INDEX; i = layout->next[i])
        if (!maker->life[i].taken && maker->life[i].size)
            TP_TRY(give_range(layout, maker->slots[i].offset, maker->life[i].size, err));
    return TROUPE_OK;
}

static troupe_status place_all(struct layout *layout, troupe_error *err)
{
    struct tp_maker *maker = layout->maker;
    for (uint32_t i = 0; i < maker->shard->n_items; i++) {
        TP_TRY(tp_pace(maker->spec->pace, err));
        const struct tp_item *item = &maker->shard->items[i];
        if (item->kind == TP_ITEM_NODE) {
            const struct tp_node *node = &maker->function->nodes[item->id];
            for (uint32_t r = 0; r < node->n_results; r++)
                if (node->results[r] != TP_NO_VALUE) TP_TRY(place(layout, node, r, i, err));
        }
        TP_TRY(free_dead(layout, i, err));
    }
    return TROUPE_OK;
}

static void place_views(struct tp_maker *maker)
{
    for (uint32_t i = 0; i < maker->program->n_slots; i++) {
        struct tp_slot *s = &maker->slots[i];
        if (s->root != i) s->offset = maker->slots[s->root].offset;
    }
}

troupe_status tp_maker_layout(struct tp_maker *maker, troupe_error *err)
{
    TP_OWNED(layout_fini) struct layout layout = {.maker = maker};
    TP_TRY(find_deaths(&layout, err));
    TP_TRY(place_all(&layout, err));
    place_views(maker);
    maker->program->arena_size = layout.end;
    return TROUPE_OK;
}
