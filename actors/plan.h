/* SPDX-License-Identifier: MIT
 *
 * actors/plan.h - what a call asks for, the plan that answers it, and a plan made ready for
 * given shapes.
 *
 * Three lifetimes: a plan is immutable and serves all calls with an equal request; an instance
 * is a plan for given types of the arguments, immutable but for the estimates that calls leave
 * in it; a call (call.h) is one run of an instance. Plans and instances are counted.
 */
#ifndef TP_ACTORS_PLAN_H
#define TP_ACTORS_PLAN_H

#include <stdatomic.h>

#include "base/fail.h"
#include "exec/steps.h"
#include "graph/partition.h"
#include "troupe/troupe.h"

struct tp_pace;

/* All that a plan depends on. */
struct tp_request {
    troupe_function *function;         /* retained */
    struct tp_devices *devices;        /* retained */
    const troupe_operators *operators; /* the runtime's, borrowed; or NULL */
    uint32_t default_device;
    uint32_t *arg_devices;      /* per argument, or NULL: none has one */
    uint32_t *result_devices;   /* per result, or NULL */
    char *rules, *rules_source; /* NULL: none */
    bool soft, cut;
    uint64_t key[2]; /* of all the above */
};

/* options may be NULL. NOT_FOUND: an unknown device. */
troupe_status tp_request_make(struct tp_request *out, struct tp_devices *devices,
                              uint32_t default_device, const troupe_function *function,
                              const troupe_call_options *options,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* Note the runtime's operators of the user's. UNSUPPORTED: the function, or one that it
 * reaches, has an operator of the user's that is none of the set's (NULL: it has none). */
troupe_status tp_request_operators(struct tp_request *request,
                                   const troupe_operators *operators,
                                   troupe_error *err) TROUPE_MUST_CHECK;
void tp_request_fini(struct tp_request *request);
/* Copy: retains and duplicates. */
troupe_status tp_request_copy(struct tp_request *out, const struct tp_request *request,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* A key of what the options say, names as they are spelt: equal options have equal keys. {0, 0}
 * when they say nothing that a plan depends on. */
void tp_options_key(const troupe_call_options *options, size_t n_args, size_t n_results,
                    uint64_t out[2]);

struct troupe_plan {
    struct tp_ref ref;
    struct tp_request request;
    struct tp_function *body; /* without calls, pruned */
    struct tp_rules *rules;
    struct tp_place_env env; /* points into request, rules */
    struct tp_placement *placement;
    struct tp_partition *partition;
    char **reasons; /* per graph node, for a plan that a user looks at; else NULL */
};

/* Inline, prune, place, partition. Takes as long as the function is large; pace: base/pace.h,
 * or NULL. */
troupe_status tp_plan_make(const struct tp_request *request, struct tp_pace *pace,
                           struct troupe_plan **out, troupe_error *err) TROUPE_MUST_CHECK;
struct troupe_plan *tp_plan_retain(struct troupe_plan *plan);
void tp_plan_release(struct troupe_plan **plan);

/* Nanoseconds of work that follow from a message, as calls have measured; relaxed, a guess. */
typedef atomic_uint tp_estimate;

/* How the coordinator's list knows which instances callers use (relaxed: a guess). A caller
 * that uses one that is idle marks it; most find the mark there, and write nothing. */
enum tp_instance_use {
    TP_INSTANCE_IDLE,
    TP_INSTANCE_USED,
    TP_INSTANCE_EVICTED, /* not in the list any more: who remembers it lets it go */
};

struct tp_instance {
    struct tp_ref ref;
    struct troupe_plan *plan;
    atomic_uchar use;             /* enum tp_instance_use */
    struct tp_type *types;        /* per value of the body; the arguments first */
    struct tp_program **programs; /* per shard */
    uint32_t *edge_index;        /* per edge: its number among those that come into its shard */
    uint32_t *result_index;      /* per result: its number among those of its shard */
    tp_estimate *shard_estimate; /* per shard: from its start to its first wait */
    tp_estimate *edge_estimate;  /* per edge: from its arrival to the next wait */
    uint64_t steps;              /* graph nodes of all shards */
    size_t block_size;           /* bytes of a call's block (call.h); worked out there */
};

/* devices: by index in the request's snapshot. Prepares kernels: may take long. */
troupe_status tp_instance_make(struct troupe_plan *plan, struct tp_device *const *devices,
                               const struct tp_type *const *args, struct tp_pace *pace,
                               struct tp_instance **out, troupe_error *err) TROUPE_MUST_CHECK;
struct tp_instance *tp_instance_retain(struct tp_instance *instance);
void tp_instance_release(struct tp_instance **instance);
/* True when it was made for arguments of exactly these types. */
bool tp_instance_fits(const struct tp_instance *instance, const troupe_tensor *const *args);

/* Nanoseconds from a shard's start to its first wait: as calls have measured them; before the
 * first has, as its operators say. */
static inline uint32_t tp_instance_estimate(const struct tp_instance *instance, uint32_t shard)
{
    uint32_t known =
        atomic_load_explicit(&instance->shard_estimate[shard], memory_order_relaxed);
    if (TP_LIKELY(known)) return known;
    uint64_t weight = instance->programs[shard]->weight;
    return weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
}

static inline struct tp_device *tp_plan_device(const struct troupe_plan *plan, uint32_t shard)
{
    return plan->request.devices->list[plan->partition->shards[shard].device].device;
}

#endif
