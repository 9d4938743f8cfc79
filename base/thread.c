/* SPDX-License-Identifier: MIT
 *
 * base/thread.c - pthreads behind a few names, and sleeping on a word by the kernel's futex.
 */
#include "base/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"

#define NAME_SIZE 16 /* the kernel's, with the zero byte */

static void give_name(pthread_t id, const char *name)
{
    char cut[NAME_SIZE];
    snprintf(cut, sizeof(cut), "%s", name);
    pthread_setname_np(id, cut); /* for ps and debuggers; a failure changes nothing else */
}

troupe_status tp_thread_start(struct tp_thread *thread, const char *name, void *(*body)(void *),
                              void *arg, troupe_error *err)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* the new thread inherits the mask */
    const int failed = pthread_create(&thread->id, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed) {
        return tp_fail(err, TROUPE_EXHAUSTED, "thread '%s': %s", name, strerror(failed));
    }
    thread->running = true;
    give_name(thread->id, name);
    return TROUPE_OK;
}

void tp_thread_join(struct tp_thread *thread)
{
    if (!thread->running) return;
    pthread_join(thread->id, NULL);
    thread->running = false;
}

void tp_lock_init(struct tp_lock *lock)
{
    const int failed = pthread_mutex_init(&lock->mutex, NULL);
    tp_assert(failed == 0);
    (void)failed;
}

void tp_lock_fini(struct tp_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

void tp_lock_take(struct tp_lock *lock)
{
    const int failed = pthread_mutex_lock(&lock->mutex);
    tp_assert(failed == 0);
    (void)failed;
}

void tp_lock_drop(struct tp_lock *lock)
{
    const int failed = pthread_mutex_unlock(&lock->mutex);
    tp_assert(failed == 0);
    (void)failed;
}

/* The kernel compares and sleeps in one step, so a store and wake in between is not missed. */
void tp_sleep_on(atomic_int *word, int value, uint64_t deadline_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                                   .tv_nsec = (long)(deadline_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline_ns ? &until : NULL,
            NULL, FUTEX_BITSET_MATCH_ANY);
}

void tp_wake(atomic_int *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

troupe_status tp_thread_key_make(struct tp_thread_key *key, void (*at_end)(void *),
                                 troupe_error *err)
{
    const int failed = pthread_key_create(&key->key, at_end);
    if (failed) return tp_fail(err, TROUPE_EXHAUSTED, "thread key: %s", strerror(failed));
    key->made = true;
    return TROUPE_OK;
}

void tp_thread_key_drop(struct tp_thread_key *key)
{
    if (!key->made) return;
    pthread_key_delete(key->key);
    key->made = false;
}

void *tp_thread_key_get(const struct tp_thread_key *key)
{
    return key->made ? pthread_getspecific(key->key) : NULL;
}

int tp_thread_key_set(const struct tp_thread_key *key, void *value)
{
    return key->made ? pthread_setspecific(key->key, value) : EINVAL;
}
