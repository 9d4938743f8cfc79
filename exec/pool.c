/* SPDX-License-Identifier: MIT
 *
 * exec/pool.c - a device's memory: limit, bytes in use, peak, and tensors that come back.
 */
#include "exec/pool.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/thread.h"
#include "graph/op.h"

#define SPARES_KEPT 64 /* tensors kept of one kind; more are freed when they come back */
#define MOST_TOLD   3  /* accounts that a refusal names */

struct tp_pool {
    struct tp_ref ref;
    size_t limit;                /* 0: none */
    atomic_size_t used;          /* bytes handed out */
    atomic_size_t peak;          /* the largest `used` so far */
    atomic_ullong fail_at;       /* takes until one fails; 0: none fails */
    struct tp_pool *whole;       /* of an account: the device's pool, retained; else NULL */
    struct tp_pool *prev, *next; /* of an account: its neighbours among them */
    struct tp_lock lock;         /* of a device's pool: over the list of accounts */
    struct tp_pool *accounts;
    char name[];
};

static troupe_status new_pool(struct tp_pool **out, const char *name, troupe_error *err)
{
    size_t size = sizeof(struct tp_pool) + strlen(name) + 1;
    struct tp_pool *pool = tp_alloc(size);
    if (!pool) return tp_fail_memory(err, size);
    tp_ref_init(&pool->ref);
    tp_lock_init(&pool->lock);
    memcpy(pool->name, name, strlen(name) + 1);
    *out = pool;
    return TROUPE_OK;
}

troupe_status tp_pool_new(struct tp_pool **out, const char *name, size_t limit,
                          troupe_error *err)
{
    TP_TRY(new_pool(out, name, err));
    (*out)->limit = limit;
    return TROUPE_OK;
}

troupe_status tp_pool_account(struct tp_pool **out, struct tp_pool *pool, const char *name,
                              troupe_error *err)
{
    struct tp_pool *account;
    TP_TRY(new_pool(&account, name, err));
    account->whole = tp_pool_retain(pool);
    tp_lock_take(&pool->lock);
    DL_APPEND(pool->accounts, account);
    tp_lock_drop(&pool->lock);
    *out = account;
    return TROUPE_OK;
}

struct tp_pool *tp_pool_retain(struct tp_pool *pool)
{
    tp_ref_retain(&pool->ref);
    return pool;
}

static void close_account(struct tp_pool *account)
{
    struct tp_pool *pool = account->whole;
    tp_lock_take(&pool->lock);
    DL_DELETE(pool->accounts, account);
    tp_lock_drop(&pool->lock);
    tp_pool_release(&pool);
}

void tp_pool_release(struct tp_pool **at)
{
    struct tp_pool *pool = *at;
    *at = NULL;
    if (!pool || !tp_ref_release(&pool->ref)) return;
    if (pool->whole) close_account(pool);
    tp_lock_fini(&pool->lock);
    tp_free(pool);
}

/* True when this take is the one that a test wants to fail. */
static bool fails_now(struct tp_pool *pool)
{
    unsigned long long left = atomic_load_explicit(&pool->fail_at, memory_order_relaxed);
    if (TP_LIKELY(!left)) return false;
    return atomic_fetch_sub_explicit(&pool->fail_at, 1, memory_order_relaxed) == 1;
}

static void note_peak(struct tp_pool *pool, size_t used)
{
    size_t peak = atomic_load_explicit(&pool->peak, memory_order_relaxed);
    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&pool->peak, &peak, used,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Count `size` bytes in, unless that passes the limit. Relaxed: a statistic and a bound, which
 * order nothing. */
static bool charge(struct tp_pool *pool, size_t size)
{
    size_t used = atomic_load_explicit(&pool->used, memory_order_relaxed);
    do
        if (pool->limit && (size > pool->limit || used > pool->limit - size)) return false;
    while (!atomic_compare_exchange_weak_explicit(&pool->used, &used, used + size,
                                                  memory_order_relaxed, memory_order_relaxed));
    note_peak(pool, used + size);
    return true;
}

/* -- Refusals ------------------------------------------------------------------------------ */

/* The account that holds most of those that hold less than `below`, or as much and stand behind
 * `last`. Under the lock. */
static const struct tp_pool *next_most(const struct tp_pool *pool, const struct tp_pool *last,
                                       size_t below, size_t *held)
{
    const struct tp_pool *most = NULL;
    bool behind = !last;
    *held = 0;
    for (const struct tp_pool *account = pool->accounts; account; account = account->next) {
        const size_t used = atomic_load_explicit(&account->used, memory_order_relaxed);
        if ((used < below || (behind && used == below)) && used > *held) {
            most = account;
            *held = used;
        }
        behind |= account == last;
    }
    return most;
}

/* "; 'f' holds 600, 'g' 24". */
static void show_most(struct tp_pool *pool, char *text, size_t size)
{
    const struct tp_pool *account = NULL;
    size_t held = SIZE_MAX, at = 0;
    text[0] = 0;
    tp_lock_take(&pool->lock);
    for (int i = 0; i < MOST_TOLD && at < size; i++) {
        account = next_most(pool, account, held, &held);
        if (!account) break;
        at += (size_t)snprintf(text + at, size - at, "%s'%.24s' %s%zu", i ? ", " : "; ",
                               account->name, i ? "" : "holds ", held);
    }
    tp_lock_drop(&pool->lock);
}

static troupe_status fail_over(struct tp_pool *pool, size_t size, troupe_error *err)
{
    const struct tp_pool_figures f = tp_pool_figures(pool);
    char most[200];
    show_most(pool, most, sizeof most);
    return tp_fail(err, TROUPE_EXHAUSTED,
                   "%s: %zu bytes are over its memory limit of %zu bytes (%zu in use, peak "
                   "%zu%s)",
                   pool->name, size, f.limit, f.used, f.peak, most);
}

static troupe_status fail_system(struct tp_pool *pool, size_t size, troupe_error *err)
{
    const struct tp_pool_figures f = tp_pool_figures(pool);
    char most[200];
    show_most(pool, most, sizeof most);
    return tp_fail(err, TROUPE_EXHAUSTED,
                   "%s: the system has no memory for %zu bytes (%zu in use, peak %zu%s)",
                   pool->name, size, f.used, f.peak, most);
}

/* -- Take and give ------------------------------------------------------------------------- */

static void discharge(struct tp_pool *pool, size_t size)
{
    atomic_fetch_sub_explicit(&pool->used, size, memory_order_relaxed);
}

troupe_status tp_pool_take(struct tp_pool *pool, size_t size, void **out, troupe_error *err)
{
    struct tp_pool *whole = pool->whole ? pool->whole : pool;
    if (TP_UNLIKELY(fails_now(whole)))
        return tp_fail(err, TROUPE_EXHAUSTED,
                       "%s: the allocation of %zu bytes was made to fail", whole->name, size);
    if (!charge(whole, size)) return fail_over(whole, size, err);
    void *memory = tp_alloc_aligned(TP_ALIGN, size ? size : 1);
    if (!memory) {
        discharge(whole, size);
        return fail_system(whole, size, err);
    }
    if (whole != pool) (void)charge(pool, size); /* an account has no limit */
    *out = memory;
    return TROUPE_OK;
}

void tp_pool_give(struct tp_pool *pool, void *memory, size_t size)
{
    tp_free(memory);
    discharge(pool, size);
    if (pool->whole) discharge(pool->whole, size);
}

struct tp_pool_figures tp_pool_figures(const struct tp_pool *pool)
{
    return (struct tp_pool_figures){
        pool->limit,
        atomic_load_explicit(&pool->used, memory_order_relaxed),
        atomic_load_explicit(&pool->peak, memory_order_relaxed),
    };
}

void tp_pool_fail_at(struct tp_pool *pool, uint64_t n)
{
    atomic_store_explicit(&pool->fail_at, n, memory_order_relaxed);
}

/* A tensor, its buffer and its elements in one piece of the pool's memory. The buffer's count
 * decides: the tensor holds one of its references, views hold others, and the last gives the
 * whole piece back. */
struct piece {
    struct tp_buffer buffer;
    struct troupe_tensor tensor;
    struct tp_spares *spares; /* whose it is, or NULL */
    struct tp_pool *pool;     /* retained */
    size_t size;              /* of the whole piece */
    bool retyped;             /* the tensor's type is not the one it was made with */
    struct piece *next;       /* while it is spare */
};

#define PIECE_HEAD ((sizeof(struct piece) + TP_ALIGN - 1) / TP_ALIGN * TP_ALIGN)

static void free_piece(struct piece *piece)
{
    struct tp_pool *pool = piece->pool;
    tp_pool_give(pool, piece, piece->size);
    tp_pool_release(&pool);
}

static void free_buffer(struct tp_buffer *buffer)
{
    free_piece(tp_container_of(buffer, struct piece, buffer));
}

/* The tensor's struct is part of the piece, which its buffer's last owner gives back. */
static void keep_struct(struct troupe_tensor *tensor)
{
    (void)tensor;
}

/* `room`: bytes behind the elements. */
static troupe_status piece_size(const struct tp_type *type, size_t room, size_t *out,
                                troupe_error *err)
{
    size_t bytes;
    TP_TRY(tp_type_bytes(type, &bytes, err));
    if (__builtin_add_overflow(bytes, room, &bytes) ||
        __builtin_add_overflow(bytes, PIECE_HEAD, out))
        return tp_fail(err, TROUPE_EXHAUSTED, "a tensor of %zu bytes is too large", bytes);
    return TROUPE_OK;
}

/* Make the piece's one tensor ready to be given out. */
static troupe_tensor *set_out(struct piece *piece)
{
    tp_ref_init(&piece->buffer.ref);
    tp_ref_init(&piece->tensor.ref);
    piece->tensor.buffer = &piece->buffer;
    return &piece->tensor;
}

static troupe_status piece_new(struct tp_pool *pool, const struct tp_type *type, size_t room,
                               struct piece **out, troupe_error *err)
{
    size_t size = 0;
    void *memory;
    TP_TRY(piece_size(type, room, &size, err));
    TP_TRY(tp_pool_take(pool, size, &memory, err));
    struct piece *piece = memory;
    memset(piece, 0, sizeof *piece);
    piece->pool = tp_pool_retain(pool);
    piece->size = size;
    piece->buffer.data = (char *)memory + PIECE_HEAD;
    piece->buffer.size = size - PIECE_HEAD;
    piece->buffer.ours = true;
    piece->buffer.free = free_buffer;
    piece->tensor.type = *type;
    piece->tensor.count = tp_shape_count_known(&type->shape);
    piece->tensor.data = piece->buffer.data;
    piece->tensor.recycle = keep_struct;
    *out = piece;
    return TROUPE_OK;
}

static size_t usual_room(const struct tp_type *type)
{
    return type->dtype == TROUPE_STRING ? TP_STRING_ROOM : 0;
}

troupe_status tp_pool_tensor(struct tp_pool *pool, const struct tp_type *type,
                             troupe_tensor **out, troupe_error *err)
{
    struct piece *piece;
    TP_TRY(piece_new(pool, type, usual_room(type), &piece, err));
    *out = set_out(piece);
    return TROUPE_OK;
}

troupe_status tp_pool_strings(struct tp_pool *pool, const struct tp_type *type, size_t room,
                              troupe_tensor **out, troupe_error *err)
{
    struct piece *piece;
    tp_assert(type->dtype == TROUPE_STRING);
    TP_TRY(piece_new(pool, type, room, &piece, err));
    *out = set_out(piece);
    return TROUPE_OK;
}

bool tp_pool_retype(troupe_tensor *tensor, const struct tp_type *type)
{
    if (tensor->recycle != keep_struct) return false;
    struct piece *piece = tp_container_of(tensor, struct piece, tensor);
    /* acquire, both: nobody else has the tensor or a view of it */
    if (atomic_load_explicit(&tensor->ref.count, memory_order_acquire) != 1 ||
        atomic_load_explicit(&piece->buffer.ref.count, memory_order_acquire) != 1)
        return false;
    piece->retyped = true;
    tensor->type = *type;
    tensor->count = tp_shape_count_known(&type->shape);
    return true;
}

struct tp_spares {
    struct tp_pool *pool; /* retained */
    struct tp_type type;
    struct piece *ready; /* the owner's own */
    size_t made;         /* pieces that exist; the owner's, until it closes */
    /* What came back: a stack. CLOSED once the owner is gone; then `left` counts the pieces
     * still out, and who brings the last one frees the spares. */
    _Atomic(struct piece *) back;
    atomic_size_t left;
};

#define CLOSED ((struct piece *)1)

/* The last owner of a spare's buffer, on any thread. Release: pairs with the acquire in
 * take_back, so that whoever writes the elements next does so after the last reader. */
static void bring_back(struct tp_buffer *buffer)
{
    struct piece *piece = tp_container_of(buffer, struct piece, buffer);
    struct tp_spares *spares = piece->spares;
    struct piece *top = atomic_load_explicit(&spares->back, memory_order_acquire);
    do {
        if (top == CLOSED) {
            free_piece(piece);
            /* acquire: pairs with the store of `left` before CLOSED was put there */
            if (atomic_fetch_sub_explicit(&spares->left, 1, memory_order_acq_rel) == 1) {
                tp_pool_release(&spares->pool);
                tp_free(spares);
            }
            return;
        }
        piece->next = top;
    } while (!atomic_compare_exchange_weak_explicit(
        &spares->back, &top, piece, memory_order_release, memory_order_acquire));
}

troupe_status tp_spares_new(struct tp_spares **out, struct tp_pool *pool,
                            const struct tp_type *type, troupe_error *err)
{
    struct tp_spares *spares = tp_alloc(sizeof *spares);
    if (!spares) return tp_fail_memory(err, sizeof *spares);
    spares->pool = tp_pool_retain(pool);
    spares->type = *type;
    *out = spares;
    return TROUPE_OK;
}

static size_t free_list(struct piece *piece)
{
    size_t n = 0;
    for (struct piece *next; piece; piece = next, n++) {
        next = piece->next;
        free_piece(piece);
    }
    return n;
}

void tp_spares_close(struct tp_spares **at)
{
    struct tp_spares *spares = *at;
    *at = NULL;
    if (!spares) return;
    size_t home = free_list(spares->ready);
    /* One more than are out, taken off at the end: nobody frees the spares while we count. */
    atomic_store_explicit(&spares->left, spares->made - home + 1, memory_order_relaxed);
    /* acq_rel: publishes `left`, and sees the pieces that came back */
    struct piece *back = atomic_exchange_explicit(&spares->back, CLOSED, memory_order_acq_rel);
    home = free_list(back) + 1;
    if (atomic_fetch_sub_explicit(&spares->left, home, memory_order_acq_rel) != home) return;
    tp_pool_release(&spares->pool);
    tp_free(spares);
}

/* Take all that came back, keep some. */
static void take_back(struct tp_spares *spares)
{
    if (!atomic_load_explicit(&spares->back, memory_order_relaxed)) return;
    /* acquire: pairs with bring_back */
    struct piece *piece = atomic_exchange_explicit(&spares->back, NULL, memory_order_acquire);
    size_t n = 0;
    for (struct piece *next; piece; piece = next) {
        next = piece->next;
        if (n++ >= SPARES_KEPT) {
            spares->made--;
            free_piece(piece);
            continue;
        }
        piece->next = spares->ready;
        spares->ready = piece;
    }
}

static troupe_status make_spare(struct tp_spares *spares, struct piece **out, troupe_error *err)
{
    const size_t room = usual_room(&spares->type);
    TP_TRY(piece_new(spares->pool, &spares->type, room, out, err));
    (*out)->spares = spares;
    (*out)->buffer.free = bring_back;
    spares->made++;
    return TROUPE_OK;
}

troupe_status tp_spares_take(struct tp_spares *spares, troupe_tensor **out, troupe_error *err)
{
    if (!spares->ready) take_back(spares);
    struct piece *piece = spares->ready;
    if (TP_LIKELY(piece != NULL))
        spares->ready = piece->next;
    else
        TP_TRY(make_spare(spares, &piece, err));
    if (TP_UNLIKELY(piece->retyped)) {
        piece->retyped = false;
        piece->tensor.type = spares->type;
        piece->tensor.count = tp_shape_count_known(&spares->type.shape);
    }
    *out = set_out(piece);
    return TROUPE_OK;
}

/* -- Heads --------------------------------------------------------------------------------- */

troupe_status tp_heads_new(struct tp_spares **out, struct tp_pool *pool, troupe_error *err)
{
    static const struct tp_type none = {TROUPE_U8, {.rank = 1}};
    return tp_spares_new(out, pool, &none, err);
}

/* The last owner of a view, after its buffer was let go. */
static void bring_head_back(struct troupe_tensor *tensor)
{
    bring_back(&tp_container_of(tensor, struct piece, tensor)->buffer);
}

/* A tensor of that type at `data`, on the head's own buffer until another is put there. */
static troupe_status take_head(struct tp_spares *heads, const struct tp_type *type, void *data,
                               troupe_tensor **out, troupe_error *err)
{
    TP_TRY(tp_spares_take(heads, out, err));
    (*out)->type = *type;
    (*out)->count = tp_shape_count_known(&type->shape);
    (*out)->data = data;
    (*out)->recycle = keep_struct;
    return TROUPE_OK;
}

troupe_status tp_heads_view(struct tp_spares *heads, const struct tp_type *type,
                            struct tp_buffer *buffer, void *data, troupe_tensor **out,
                            troupe_error *err)
{
    TP_TRY(take_head(heads, type, data, out, err));
    (*out)->buffer = tp_buffer_retain(buffer);
    (*out)->recycle = bring_head_back;
    return TROUPE_OK;
}

troupe_status tp_heads_over(struct tp_spares *heads, const struct tp_type *type, void *memory,
                            size_t size, troupe_tensor **out, troupe_error *err)
{
    TP_TRY(take_head(heads, type, memory, out, err));
    (*out)->buffer->data = memory;
    (*out)->buffer->size = size;
    (*out)->buffer->ours = false;
    return TROUPE_OK;
}
