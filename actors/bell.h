/* SPDX-License-Identifier: MIT
 *
 * actors/bell.h - what makes a caller's fd readable: announced before it comes, taken back with
 * what came.
 *
 * A write to an fd cannot be taken back by who finds that it came too late. So whoever brings
 * something for the owner announces it first, and brings it afterwards: what has come has been
 * announced, and no announcement is under way of what is gone. The owner counts off what it
 * takes. When it goes elsewhere it settles: with nothing announced and nothing left it makes
 * the fd unreadable, and no write can come that says otherwise.
 *
 *   who brings   announce: count, and if the bell is not rung, ring it --> bring
 *   who takes    take --> tp_bell_taken
 *   owner        the last thing before it goes elsewhere: hush unless something is due; ring
 *                when something is due now
 *
 * The fd is made when it is asked for; announcements are counted also before. Everything that
 * is atomic here is seq_cst: of one who counts and the owner who hushes, the later one sees the
 * other and rings.
 */
#ifndef TP_ACTORS_BELL_H
#define TP_ACTORS_BELL_H

#include <stdatomic.h>
#include <stdbool.h>

struct tp_bell {
    atomic_uint word; /* announced and not taken, times 2; bit 0: rung, the fd is readable */
    atomic_int fd;    /* an eventfd, or -1 until it is asked for */
};

#define TP_BELL_RUNG 1u
#define TP_BELL_ONE  2u

void tp_bell_init(struct tp_bell *bell);
void tp_bell_fini(struct tp_bell *bell);
/* Make its fd, if there is none; -1: the system has none left. The owner settles afterwards. */
int tp_bell_open(struct tp_bell *bell);

/* Before something is brought. Any thread. */
void tp_bell_announce(struct tp_bell *bell);
/* After n things were taken. Any thread. */
static inline void tp_bell_taken(struct tp_bell *bell, unsigned n)
{
    if (n) atomic_fetch_sub_explicit(&bell->word, n * TP_BELL_ONE, memory_order_seq_cst);
}

/* The owner's thread alone: */
static inline bool tp_bell_has_fd(const struct tp_bell *bell)
{
    return atomic_load_explicit(&bell->fd, memory_order_relaxed) >= 0;
}
/* Something is announced: it has come, or is on its way. */
static inline bool tp_bell_expects(const struct tp_bell *bell)
{
    return atomic_load_explicit(&bell->word, memory_order_seq_cst) >= TP_BELL_ONE;
}
/* Make the fd readable. */
void tp_bell_ring(struct tp_bell *bell);
/* Make it unreadable unless something is announced. Look again afterwards, and ring if there
 * is something. */
void tp_bell_hush(struct tp_bell *bell);

/* The steps of these, apart, so that a test can take them in every order. */
/* True: it is the announcer's to ring. */
static inline bool tp_bell_count(struct tp_bell *bell)
{
    unsigned before = atomic_fetch_add_explicit(&bell->word, TP_BELL_ONE, memory_order_seq_cst);
    return !(before & TP_BELL_RUNG);
}
static inline bool tp_bell_rung(const struct tp_bell *bell)
{
    return atomic_load_explicit(&bell->word, memory_order_seq_cst) & TP_BELL_RUNG;
}
/* Rung, and nothing is announced any more. One look: two would let somebody in between. */
static inline bool tp_bell_in_vain(const struct tp_bell *bell)
{
    return atomic_load_explicit(&bell->word, memory_order_seq_cst) == TP_BELL_RUNG;
}
static inline void tp_bell_mark(struct tp_bell *bell)
{
    atomic_fetch_or_explicit(&bell->word, TP_BELL_RUNG, memory_order_seq_cst);
}
static inline void tp_bell_unmark(struct tp_bell *bell)
{
    atomic_fetch_and_explicit(&bell->word, ~TP_BELL_RUNG, memory_order_seq_cst);
}
/* The system calls. strike: false when there is no fd. */
bool tp_bell_strike(struct tp_bell *bell);
void tp_bell_drain(struct tp_bell *bell);

#endif
