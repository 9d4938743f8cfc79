/* SPDX-License-Identifier: MIT
 *
 * exec/executor.h - one run of a program: a frame, and a bounded number of steps at a time.
 *
 * A frame belongs to one thread at a time. Values leave through tp_io.send and arrive through
 * tp_frame_arrive, so that nothing here knows who carries them.
 */
#ifndef TP_EXEC_EXECUTOR_H
#define TP_EXEC_EXECUTOR_H

#include <stdatomic.h>

#include "exec/steps.h"

/* What one call lends to a frame. Zeroed is nothing. */
struct tp_target {
    void *data; /* aligned to TP_ALIGN, outlives the tensor; NULL: none */
    size_t size;
};
struct tp_lent {
    /* Per spares: memory of the caller's that the tensor has instead of the pool's. */
    struct tp_target *targets;
    /* Per argument of the shard: where the call holds it, when it was given away and nobody
     * else uses it, so that a value may take its memory, and the place is NULL then; else
     * NULL. */
    troupe_tensor ***gifts;
};

struct tp_frame {
    const struct tp_program *program;
    uint32_t pc;    /* the next step */
    uint32_t waits; /* the edge that it waits for, or TP_NO_INDEX */
    uint32_t ran;   /* graph nodes that ran */
    uint32_t pace;  /* graph nodes between two looks at the clock; kept from call to call */
    struct tp_view *values;     /* per slot */
    troupe_tensor **owners;     /* per owner; NULL: nothing is held */
    struct tp_type *types;      /* per dynamic slot */
    struct tp_spares **spares;  /* per spares; kept from call to call */
    struct tp_spares *heads;    /* for views that leave; NULL until there is one */
    const struct tp_lent *lent; /* by the call in hand; NULL: nothing */
    uint8_t *arrived;           /* per edge that comes in */
    void *arena;                /* of the device's pool; NULL when the program needs none */
    troupe_tensor **results;    /* per result of the shard; the frame's until they are taken */
    uint64_t *profile;          /* ticks per step, or NULL */
    struct tp_room room;        /* for results of strings */
};

/* How a frame gives values away, and how it learns that it shall stop. */
struct tp_io {
    /* Take *value (NULL for an edge without one) for edge number `edge` of the partition. */
    void (*send)(struct tp_io *io, uint32_t edge, troupe_tensor **value);
    const atomic_bool *stop; /* relaxed: looked at between steps */
    bool untimed;            /* go by estimates alone: the same turns every time */
};

/* Bytes of a frame's arrays, a multiple of 64. */
size_t tp_frame_size(const struct tp_program *program);
/* `memory` (tp_frame_size bytes, aligned to 64, zeroed) holds the arrays. Takes the arena from
 * the device's pool: EXHAUSTED when it is full. After a failure tp_frame_fini is still due. */
troupe_status tp_frame_init(struct tp_frame *frame, const struct tp_program *program,
                            void *memory, troupe_error *err) TROUPE_MUST_CHECK;
void tp_frame_fini(struct tp_frame *frame);

/* Begin a run: args[program->args...] are the shard's arguments in its own order, borrowed to
 * the end of the run. */
void tp_frame_start(struct tp_frame *frame, const troupe_tensor *const *args,
                    const uint32_t *which);
/* The value (or none) of edge number `edge` among those that come in. *value is taken. False:
 * it came before, and the value was dropped. */
bool tp_frame_arrive(struct tp_frame *frame, uint32_t edge, troupe_tensor **value);
/* Run steps until all ran (TROUPE_OK), an edge is waited for, or budget_ns have passed
 * (TROUPE_PENDING; frame->waits tells which). The clock is read when that much work is done by
 * estimate, and else as seldom as the steps seen so far allow; at least one step runs. A
 * failure, CANCELLED when io->stop was set, ends the run. */
troupe_status tp_frame_run(struct tp_frame *frame, struct tp_io *io, uint64_t budget_ns,
                           troupe_error *err) TROUPE_MUST_CHECK;
/* A value of a dynamic step (storage DYNAMIC, even when its type was known before) is that
 * tensor, which is taken over. */
void tp_frame_set(struct tp_frame *frame, uint32_t slot, troupe_tensor **tensor);
/* Let go of all that the run holds but its results. */
void tp_frame_clear(struct tp_frame *frame);

#endif
