/* SPDX-License-Identifier: MIT
 *
 * base/fiber.c - stacks of their own, by makecontext.
 *
 * Contexts are changed with getcontext and setcontext: swapcontext is the same, but a sanitizer
 * warns about it whatever is done for it. Both sanitizers have to be told of the other stack.
 */
#include "base/fiber.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

#ifdef HAVE_MAKECONTEXT

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#elif __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#endif
#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* As large as a thread's, since kernel libraries and callbacks of users run on it; only what is
 * touched is memory. */
#define STACK_SIZE ((size_t)8 << 20)

/* One side of a change of stacks. */
struct side {
    ucontext_t context;
    bool gone; /* this side has gone to the other: getcontext returns for the second time */
    /* What sanitizers want to know. */
    const void *bottom;
    size_t size;
    void *fake, *thread;
};

struct tp_fiber {
    void (*body)(void *arg);
    void *arg;
    void *memory; /* a page that nobody may touch, then the stack */
    size_t size;  /* of both */
    struct side inside, outside;
    bool begun, ended;
};

/* On the stack of `here`, which was left for the stack of `from`. */
static void after_change(struct side *here, struct side *from)
{
    (void)here;
    (void)from;
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(here->fake, &from->bottom, &from->size);
#endif
}

/* Signals stay blocked as they are on this thread. Nothing is called between telling the thread
 * sanitizer and the change itself: it keeps a stack of calls for each side. */
static void change(struct side *from, struct side *to, bool for_ever)
{
    (void)for_ever;
    from->gone = false;
    getcontext(&from->context);
    if (from->gone) {
        after_change(from, to);
        return;
    }
    from->gone = true;
    to->context.uc_sigmask = from->context.uc_sigmask;
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(for_ever ? NULL : &from->fake, to->bottom, to->size);
#endif
#ifdef WITH_TSAN
    from->thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->thread, 0);
#endif
    setcontext(&to->context);
    tp_assert(!"a context was set");
}

/* makecontext hands over numbers of type int: the address comes in two. */
static void run_body(unsigned high, unsigned low)
{
    struct tp_fiber *fiber = (struct tp_fiber *)((uintptr_t)((uint64_t)high << 32 | low));
    after_change(&fiber->inside, &fiber->outside);
    fiber->body(fiber->arg);
    fiber->ended = true;
    change(&fiber->inside, &fiber->outside, true);
}

static troupe_status map_stack(struct tp_fiber *fiber, troupe_error *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = STACK_SIZE + page;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return tp_fail(err, TROUPE_EXHAUSTED, "cannot map a stack of %zu bytes: %s", size,
                       strerror(errno));
    fiber->memory = memory;
    fiber->size = size;
    if (mprotect(memory, page, PROT_NONE) != 0)
        return tp_fail(err, TROUPE_EXHAUSTED, "cannot guard a stack: %s", strerror(errno));
#ifdef MADV_NOHUGEPAGE
    (void)madvise(memory, size, MADV_NOHUGEPAGE); /* little of it is used */
#endif
    fiber->inside.bottom = (char *)memory + page;
    fiber->inside.size = STACK_SIZE;
#ifdef WITH_TSAN
    fiber->inside.thread = __tsan_create_fiber(0);
#endif
    return TROUPE_OK;
}

troupe_status tp_fiber_new(struct tp_fiber **out, void (*body)(void *arg), void *arg,
                           troupe_error *err)
{
    TP_OWNED(tp_fiber_destroy) struct tp_fiber *fiber = tp_alloc(sizeof(*fiber));
    if (!fiber) return tp_fail_memory(err, sizeof(*fiber));
    fiber->body = body;
    fiber->arg = arg;
    TP_TRY(map_stack(fiber, err));
    *out = fiber;
    fiber = NULL;
    return TROUPE_OK;
}

void tp_fiber_destroy(struct tp_fiber **at)
{
    struct tp_fiber *fiber = *at;
    *at = NULL;
    if (!fiber) return;
    tp_assert(!fiber->begun || fiber->ended);
#ifdef WITH_TSAN
    if (fiber->inside.thread) __tsan_destroy_fiber(fiber->inside.thread);
#endif
    if (fiber->memory) munmap(fiber->memory, fiber->size);
    tp_free(fiber);
}

static void begin(struct tp_fiber *fiber)
{
    const uint64_t address = (uintptr_t)fiber;
    getcontext(&fiber->inside.context);
    fiber->inside.context.uc_stack.ss_sp = (void *)fiber->inside.bottom;
    fiber->inside.context.uc_stack.ss_size = fiber->inside.size;
    makecontext(&fiber->inside.context, (void (*)(void))run_body, 2, (unsigned)(address >> 32),
                (unsigned)address);
    fiber->begun = true;
}

bool tp_fiber_resume(struct tp_fiber *fiber)
{
    tp_assert(!fiber->ended);
    if (!fiber->begun) begin(fiber);
    change(&fiber->outside, &fiber->inside, false);
    return fiber->ended;
}

void tp_fiber_pause(struct tp_fiber *fiber)
{
    change(&fiber->inside, &fiber->outside, false);
}

#else /* without makecontext */

struct tp_fiber {
    void (*body)(void *arg);
    void *arg;
};

troupe_status tp_fiber_new(struct tp_fiber **out, void (*body)(void *arg), void *arg,
                           troupe_error *err)
{
    struct tp_fiber *fiber = tp_alloc(sizeof(*fiber));
    if (!fiber) return tp_fail_memory(err, sizeof(*fiber));
    *fiber = (struct tp_fiber){body, arg};
    *out = fiber;
    return TROUPE_OK;
}

void tp_fiber_destroy(struct tp_fiber **fiber)
{
    tp_free(*fiber);
    *fiber = NULL;
}

bool tp_fiber_resume(struct tp_fiber *fiber)
{
    fiber->body(fiber->arg);
    return true;
}

void tp_fiber_pause(struct tp_fiber *fiber)
{
    (void)fiber;
}

#endif
