/* SPDX-License-Identifier: MIT
 *
 * base/thread.h - threads, the few locks there are, and the sleep of one thread.
 */
#ifndef TP_BASE_THREAD_H
#define TP_BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "troupe/status.h"

struct tp_thread {
    pthread_t id;
    bool running; /* between start and join */
};

/* All signals are blocked in the new thread; name is cut at 15 bytes. */
troupe_status tp_thread_start(struct tp_thread *thread, const char *name, void *(*body)(void *),
                              void *arg, troupe_error *err) TROUPE_MUST_CHECK;
void tp_thread_join(struct tp_thread *thread);
/* CPUs that this process may run on (affinity and cgroup quota), at least 1. Reads files. */
int tp_thread_cpus(void);
/* Its part that reads quotas: CPUs that the groups listed in the file `groups` may use, their
 * folders being below `mount`; rounded up; 0: no limit. */
int tp_thread_quota(const char *groups, const char *mount);

struct tp_lock {
    pthread_mutex_t mutex;
};
#define TP_LOCK_INIT                                                                           \
    {                                                                                          \
        PTHREAD_MUTEX_INITIALIZER                                                              \
    }
void tp_lock_init(struct tp_lock *lock);
void tp_lock_fini(struct tp_lock *lock);
void tp_lock_take(struct tp_lock *lock);
void tp_lock_drop(struct tp_lock *lock);

/* Sleep while *word == value, at most until deadline_ns of tp_clock_ns (0: no limit). May
 * return early. Pairs with tp_wake after a store to *word. */
void tp_sleep_on(atomic_int *word, int value, uint64_t deadline_ns);
/* Wake at most n threads that sleep on word. */
void tp_wake(atomic_int *word, int n);

/* Run fn(arg) when the calling thread ends, or never when it never ends; key is made once. */
struct tp_thread_key {
    pthread_key_t key;
    bool made;
};
troupe_status tp_thread_key_make(struct tp_thread_key *key, void (*at_end)(void *),
                                 troupe_error *err) TROUPE_MUST_CHECK;
void tp_thread_key_drop(struct tp_thread_key *key);
void *tp_thread_key_get(const struct tp_thread_key *key);
int tp_thread_key_set(const struct tp_thread_key *key, void *value);

#endif
