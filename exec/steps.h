/* SPDX-License-Identifier: MIT
 *
 * exec/steps.h - a shard made ready for given shapes: a flat list of steps, and where each
 * value lives.
 *
 * A program is immutable; a frame (executor.h) is one run of it. Each value of the shard has a
 * slot. Where its elements are was decided once:
 *
 *   ARG      in the caller's tensor              CONST    in the function's tensor
 *   EDGE     in the tensor that came             ARENA    at a fixed place in the frame's arena
 *   OWN      in a tensor of the device's pool, since it leaves the shard
 *   DYNAMIC  in a tensor of the pool, made when its shape is known: only then can it be
 *
 * A view has the slot of its root's elements and a type of its own. Places in the arena are
 * shared by values that do not live at the same time; a result may take the place of an input
 * that dies with the step.
 */
#ifndef TP_EXEC_STEPS_H
#define TP_EXEC_STEPS_H

#include "exec/device.h"
#include "graph/partition.h"

#define TP_NO_INDEX UINT32_MAX

struct tp_pace;

enum tp_step_kind {
    TP_STEP_KERNEL,  /* launch run */
    TP_STEP_DYNAMIC, /* work out shapes from values, allocate, prepare, launch */
    TP_STEP_VIEW,    /* slot `value` gets the elements of slot `index` */
    /* Slot `value` gets a tensor of spares `index`; where the call gave it away, that of
     * argument `edge`, which has its type and is not needed any more but for the step that
     * follows. */
    TP_STEP_OWN,
    TP_STEP_WAIT,   /* until edge `edge` has come; its value goes to slot `value`, if it has one
                     */
    TP_STEP_SEND,   /* give edge `edge` the value of slot `value`, if it has one */
    TP_STEP_RESULT, /* result `index` of the shard is slot `value` */
    TP_STEP_RELEASE, /* the owner of slot `value` is not needed any more */
};

struct tp_step {
    uint8_t kind;
    bool last; /* SEND, RESULT: nobody needs the owner afterwards, so it is moved */
    uint16_t n_inputs, n_results;
    uint32_t weight; /* estimated nanoseconds, at least 1 */
    uint32_t value, index, edge;
    uint32_t n_attrs;
    tp_kernel *run;
    void *state;
    const uint32_t *inputs, *results; /* slots */
    const troupe_attr *attrs;
    const char *name; /* the graph node's */
    const struct tp_node *node;
    void (*drop)(void *state);
};

enum tp_storage {
    TP_STORE_ARG,
    TP_STORE_CONST,
    TP_STORE_EDGE,
    TP_STORE_ARENA,
    TP_STORE_OWN,
    TP_STORE_DYNAMIC,
};

struct tp_slot {
    const struct tp_type *type; /* NULL: known only when it runs (dynamic) */
    uint32_t value;             /* of the function */
    uint32_t root;    /* the slot whose elements it has: itself, or what it is a view of */
    uint32_t owner;   /* index of the root's tensor in a frame's owners; TP_NO_INDEX: none */
    uint32_t dynamic; /* index into a frame's types when type is NULL */
    enum tp_storage storage; /* the root's */
    const void *constant;    /* CONST: the elements */
    troupe_tensor *tensor;   /* CONST: the function's tensor, for a root */
    size_t offset;           /* ARENA: in the frame's arena */
};

struct tp_program {
    const struct tp_device *device;
    struct tp_pool *pool;    /* the function's account of the device's */
    struct tp_arena *memory; /* of all lists here but steps and slots */
    struct tp_step *steps;
    struct tp_slot *slots;
    uint32_t n_steps, n_slots, n_owners, n_dynamic, n_spares, n_edges;
    uint32_t *args;        /* per argument of the shard: its slot */
    uint32_t *spare_slots; /* per spares: the slot it serves */
    uint32_t
        *result_spares; /* per result: the spares that its elements come from, or TP_NO_INDEX */
    uint32_t *edge_slots; /* per edge that comes in: its slot, or TP_NO_INDEX */
    uint32_t n_args, n_results;
    size_t arena_size;   /* bytes of a frame's arena, workspace included */
    size_t workspace_at; /* where the workspace begins in it */
    uint64_t weight;     /* of all steps */
    uint32_t kernels;    /* steps that are graph nodes */
};

/* What a program is made of. All borrowed until tp_program_destroy. */
struct tp_program_spec {
    const struct tp_function *function;
    const struct tp_partition *partition;
    uint32_t shard;
    const struct tp_type
        *types; /* per value of the function; a dtype of NONE or an unknown shape: dynamic */
    const struct tp_device *device;
    struct tp_pace *pace; /* an item of the shard at a time; NULL: none */
    uint32_t *edge_index; /* out: for each edge into this shard its number there, 0.. */
};

/* Chooses kernels, packs constants, plans memory: may take long. */
troupe_status tp_program_make(const struct tp_program_spec *spec, struct tp_program **out,
                              troupe_error *err) TROUPE_MUST_CHECK;
void tp_program_destroy(struct tp_program **program);

/* Infer the types of all values of a function for given types of its arguments; those that
 * depend on values stay unknown. types has function->n_values elements. INVALID: an argument's
 * type does not fit. */
troupe_status tp_types_infer(const struct tp_function *function,
                             const struct tp_type *const *args, struct tp_pace *pace,
                             struct tp_type *types, troupe_error *err) TROUPE_MUST_CHECK;

static inline bool tp_type_known(const struct tp_type *type)
{
    return type->dtype != TROUPE_DTYPE_NONE && tp_shape_known(&type->shape);
}

#endif
