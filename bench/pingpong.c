/* SPDX-License-Identifier: MIT
 *
 * bench/pingpong.c - two threads that wake each other.
 */
#include "bench/pingpong.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

struct table {
    atomic_int ball; /* who has it: 0 here, 1 there, 2: the game is over */
};

void pingpong_wait_while(atomic_int *word, int value)
{
    while (atomic_load(word) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void pingpong_pass(atomic_int *word, int value)
{
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *play(void *arg)
{
    struct table *table = arg;
    for (;;) {
        pingpong_wait_while(&table->ball, 0);
        if (atomic_load(&table->ball) == 2) return NULL;
        pingpong_pass(&table->ball, 0);
    }
}

troupe_status pingpong_round_trips(void *arg, uint64_t times, troupe_error *err)
{
    (void)arg;
    struct table table = {0};
    pthread_t other;
    if (pthread_create(&other, NULL, play, &table) != 0)
        return bench_fail(err, TROUPE_EXHAUSTED, "no thread");
    for (uint64_t i = 0; i < times; i++) {
        pingpong_pass(&table.ball, 1);
        pingpong_wait_while(&table.ball, 1);
    }
    pingpong_pass(&table.ball, 2);
    pthread_join(other, NULL);
    return TROUPE_OK;
}

void pingpong(struct bench *b)
{
    bench_time(
        b, &(struct bench_work){"machine.pingpong", "us", 1, 0, pingpong_round_trips, NULL});
}
