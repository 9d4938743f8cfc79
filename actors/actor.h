/* SPDX-License-Identifier: MIT
 *
 * actors/actor.h - what an actor is.
 *
 * An actor is a struct only its own handlers touch, and a table of the messages it answers. A
 * handler takes one message, changes its own state, posts messages, returns. It never waits: to
 * wait is to remember and return. That one rule lets any thread run the same actor or, in
 * tests, a seed pick who goes next.
 *
 * Its mailbox is an intrusive stack of many producers, turned round by whoever runs the actor's
 * next turn. A turn handles what was there when it began. Messages from one sender to one
 * receiver arrive in order; nothing else is promised.
 *
 *   asleep --post--> runnable --turn--> asleep          (no mail came during the turn)
 *                        ^-----------------'            (mail came)
 */
#ifndef TP_ACTORS_ACTOR_H
#define TP_ACTORS_ACTOR_H

#include <stdatomic.h>

#include "base/fail.h"
#include "base/probe.h"
#include "messages/message.h"

struct tp_actor;
struct tp_seat;
struct tp_stage;

/* *message is the handler's to keep: move it on, or leave it and it is dropped. A failure is
 * logged; whoever is owed an answer was given it by the handler. */
typedef troupe_status tp_handler(struct tp_actor *self, struct tp_seat *seat,
                                 struct tp_message **message, troupe_error *err);

struct tp_role {
    const char *name;
    tp_handler *on[TP_KINDS]; /* NULL: not a message for this actor */
    /* For an actor that only its owner runs (a caller's inbox): puts the message into its box
     * by tp_actor_put, and tells the owner. Called by any thread. */
    void (*mail)(struct tp_actor *self, struct tp_seat *seat, struct tp_message *message);
    bool shared; /* calls of several callers may wait for it, whatever its group */
    bool prompt; /* its turns are very short and let others run: they come before others */
};

#define TP_ASLEEP ((struct tp_message *)1)

struct tp_actor {
    /* Newest first; TP_ASLEEP: no mail and not runnable. Every exchange with it is acq_rel:
     * what a poster wrote is seen by the turn, and what a turn wrote by the next turn, on
     * whatever thread. */
    _Atomic(struct tp_message *) box;
    const struct tp_role *role;
    struct tp_actor *next; /* in the one queue that it is in while it is runnable */
    void *group;           /* the caller whose call it works for, or NULL */
    void *owner;           /* while it is published: who was told so, or NULL */
    uint32_t estimate;     /* nanoseconds of work in its mail; set by who made it runnable */
};

static inline void tp_actor_init(struct tp_actor *actor, const struct tp_role *role,
                                 void *group)
{
    *actor = (struct tp_actor){.role = role, .group = group};
    atomic_init(&actor->box, TP_ASLEEP);
}

/* What was taken out of a box: newest first becomes oldest first. */
static inline struct tp_message *tp_mail_in_order(struct tp_message *list)
{
    struct tp_message *out = NULL;
    for (struct tp_message *next; list; list = next) {
        next = list->next;
        list->next = out;
        out = list;
    }
    return out;
}

/* Put it into the box. True when the actor was asleep: exactly one poster is told so, and it is
 * that poster's to make it runnable. */
static inline bool tp_actor_put(struct tp_actor *to, struct tp_message *m)
{
    TP_PACE(to->role->mail ? "put_mail" : "put");
    struct tp_message *old = atomic_load_explicit(&to->box, memory_order_relaxed);
    do
        m->next = old == TP_ASLEEP ? NULL : old;
    while (!atomic_compare_exchange_weak_explicit(&to->box, &old, m, memory_order_seq_cst,
                                                  memory_order_relaxed));
    return old == TP_ASLEEP || (TP_FAULT(20) && !old);
}

/* Move *message to an actor; *message is NULL afterwards. Never blocks, never fails, never
 * allocates. `seat` is the calling thread's. */
void tp_post(struct tp_seat *seat, struct tp_actor *to, struct tp_message **message);
/* As above from a thread that has no seat, or is not in it. */
void tp_post_outside(struct tp_stage *stage, struct tp_actor *to, struct tp_message **message);

/* As above, but only after the running turn is over and its actor can be used again by others:
 * for the last words of an actor that the receiver may then free. All of a turn go to one
 * receiver. */
void tp_post_last(struct tp_seat *seat, struct tp_actor *to, struct tp_message **message);

#endif
