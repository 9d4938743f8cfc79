/* SPDX-License-Identifier: MIT
 *
 * base/ref.h - the count of an immutable object's owners.
 */
#ifndef TP_BASE_REF_H
#define TP_BASE_REF_H

#include <stdatomic.h>
#include <stdbool.h>

struct tp_ref {
    atomic_int count; /* owners; 0 only while it is being destroyed */
};

static inline void tp_ref_init(struct tp_ref *ref)
{
    atomic_init(&ref->count, 1);
}

static inline void tp_ref_retain(struct tp_ref *ref)
{
    /* relaxed: who retains already owns, so nothing is learnt from the count */
    atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);
}

/* True when this was the last owner. A sole owner needs no read-modify-write: the acquire pairs
 * with the release half of the other owners' decrements. */
static inline bool tp_ref_release(struct tp_ref *ref)
{
    if (atomic_load_explicit(&ref->count, memory_order_acquire) == 1) return true;
    return atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel) == 1;
}

#endif
