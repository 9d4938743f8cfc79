/* SPDX-License-Identifier: MIT
 *
 * exec/pool.h - a device's memory: limit, bytes in use, peak, and tensors that come back.
 *
 * A pool is counted: it lives until its device is closed and the last buffer from it is freed,
 * so a tensor that a user keeps outlives the runtime. Any thread may allocate and free.
 *
 * An account is a part of a device's pool under a name of its own: what is taken of it is taken
 * of the pool, and the pool's refusals say which accounts hold most.
 *
 * Spares are the tensors of one type that one call after another gives away (results, values
 * that cross to another device). The owner, one thread at a time, takes; whoever releases the
 * last reference puts back onto a lock-free stack. So a call that is repeated allocates
 * nothing.
 */
#ifndef TP_EXEC_POOL_H
#define TP_EXEC_POOL_H

#include "tensor/tensor.h"

struct tp_pool;

/* limit 0: none. name (copied) is the device's, for messages. */
troupe_status tp_pool_new(struct tp_pool **out, const char *name, size_t limit,
                          troupe_error *err) TROUPE_MUST_CHECK;
/* An account of a device's pool; it is used and released as a pool. name (copied) is that of
 * the function whose memory it is. */
troupe_status tp_pool_account(struct tp_pool **out, struct tp_pool *pool, const char *name,
                              troupe_error *err) TROUPE_MUST_CHECK;
struct tp_pool *tp_pool_retain(struct tp_pool *pool);
void tp_pool_release(struct tp_pool **pool);

/* `size` bytes aligned to TP_ALIGN. EXHAUSTED, with figures and the accounts that hold most,
 * over the limit or when the system has none. */
troupe_status tp_pool_take(struct tp_pool *pool, size_t size, void **out,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* Give back what tp_pool_take gave, with the same size. */
void tp_pool_give(struct tp_pool *pool, void *memory, size_t size);
/* A tensor of that type with unset elements in the pool's memory; strings get 4096 bytes for
 * their texts. */
troupe_status tp_pool_tensor(struct tp_pool *pool, const struct tp_type *type,
                             troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;

/* A tensor of strings with unset elements and `room` bytes for their texts. */
troupe_status tp_pool_strings(struct tp_pool *pool, const struct tp_type *type, size_t room,
                              troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;

/* Give a tensor of the pool's, of which the caller is the only owner, another type of as many
 * bytes. False: it is no such tensor, and nothing was done. */
bool tp_pool_retype(troupe_tensor *tensor, const struct tp_type *type);

struct tp_pool_figures {
    size_t limit, used, peak;
};
/* Of an account: what it has itself, and no limit. */
struct tp_pool_figures tp_pool_figures(const struct tp_pool *pool);
/* Let the n-th take from now on, from any account of the pool, fail (1: the next; 0: none). */
void tp_pool_fail_at(struct tp_pool *pool, uint64_t n);

struct tp_spares;
/* Spares of one type (all dimensions known). `type` is copied. */
troupe_status tp_spares_new(struct tp_spares **out, struct tp_pool *pool,
                            const struct tp_type *type, troupe_error *err) TROUPE_MUST_CHECK;
/* Frees what is back; the rest frees itself when it comes back. */
void tp_spares_close(struct tp_spares **spares);
/* A tensor whose elements are unset, the caller's. Only the owner. */
troupe_status tp_spares_take(struct tp_spares *spares, troupe_tensor **out,
                             troupe_error *err) TROUPE_MUST_CHECK;

/* Heads are spares without elements of their own: they serve a tensor of any type over memory
 * that is there. Closed by tp_spares_close. */
troupe_status tp_heads_new(struct tp_spares **out, struct tp_pool *pool,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* A view: a tensor of that type over another's buffer (one more owner), from `data` on, which
 * lies in it. Only the owner. */
troupe_status tp_heads_view(struct tp_spares *heads, const struct tp_type *type,
                            struct tp_buffer *buffer, void *data, troupe_tensor **out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* A tensor over memory that somebody else owns, of `size` bytes, which outlives it. Only the
 * owner. */
troupe_status tp_heads_over(struct tp_spares *heads, const struct tp_type *type, void *memory,
                            size_t size, troupe_tensor **out,
                            troupe_error *err) TROUPE_MUST_CHECK;

#endif
