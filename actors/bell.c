/* SPDX-License-Identifier: MIT
 *
 * actors/bell.c - what makes a caller's fd readable: announced before it comes, taken back with
 * what came.
 *
 * Why nothing is lost. What was counted before the owner unmarks is seen by its second look;
 * what is counted after it finds the bell unmarked, and is rung for. Why nothing comes late:
 * who rings has counted and has not brought; so when the owner finds, in one look, the bell
 * rung and the count at zero, nobody is about to write, and until it unmarks nobody begins to.
 */
#include "actors/bell.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

void tp_bell_init(struct tp_bell *bell)
{
    atomic_init(&bell->word, 0);
    atomic_init(&bell->fd, -1);
}

void tp_bell_fini(struct tp_bell *bell)
{
    int fd = atomic_load_explicit(&bell->fd, memory_order_relaxed);
    if (fd >= 0) close(fd);
}

int tp_bell_open(struct tp_bell *bell)
{
    int fd = atomic_load_explicit(&bell->fd, memory_order_relaxed);
    if (fd >= 0) return fd;
    fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return -1;
    /* seq_cst: who does not see it has counted before, which the owner sees when it settles */
    atomic_store_explicit(&bell->fd, fd, memory_order_seq_cst);
    return fd;
}

bool tp_bell_strike(struct tp_bell *bell)
{
    int fd = atomic_load_explicit(&bell->fd, memory_order_seq_cst);
    uint64_t one = 1;
    if (fd < 0) return false;
    ssize_t wrote = write(fd, &one, sizeof one);
    (void)wrote; /* a full counter is readable, too */
    return true;
}

void tp_bell_drain(struct tp_bell *bell)
{
    uint64_t n;
    ssize_t got = read(atomic_load_explicit(&bell->fd, memory_order_relaxed), &n, sizeof n);
    (void)got; /* it is readable while the bell is rung */
}

void tp_bell_announce(struct tp_bell *bell)
{
    if (tp_bell_count(bell) && tp_bell_strike(bell)) tp_bell_mark(bell);
}

void tp_bell_ring(struct tp_bell *bell)
{
    if (!tp_bell_rung(bell) && tp_bell_strike(bell)) tp_bell_mark(bell);
}

void tp_bell_hush(struct tp_bell *bell)
{
    if (!tp_bell_in_vain(bell)) return;
    tp_bell_drain(bell);
    tp_bell_unmark(bell);
}
