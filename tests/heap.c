/* SPDX-License-Identifier: MIT
 *
 * tests/heap.c - malloc and its kin before those of the C library; a table of what they gave.
 *
 * The table is an open hash of pointers under a lock; it never grows, so that nothing is asked
 * for while a request is served.
 */
#include "tests/heap.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#define ROOM ((size_t)1 << 21)

struct piece {
    void *at; /* NULL: free */
    size_t size;
    uint64_t number;
    const void *caller;
};

static struct {
    atomic_flag lock;
    struct piece pieces[ROOM];
    size_t n, bytes, base, peak;
    uint64_t asked, fail_at, all_asked, begun;
    bool all;
} heap = {.lock = ATOMIC_FLAG_INIT};

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&heap.lock, memory_order_acquire))
        ;
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&heap.lock, memory_order_release);
}

static size_t place_of(const void *at)
{
    return (size_t)(((uintptr_t)at >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 43) % ROOM;
}

/* Where `at` is, or where it would be put. */
static size_t find(const void *at)
{
    size_t i = place_of(at);
    while (heap.pieces[i].at && heap.pieces[i].at != at)
        i = (i + 1) % ROOM;
    return i;
}

/* Pieces behind a hole move into it as long as it lies on their way. */
static void fill_hole(size_t hole)
{
    for (size_t i = (hole + 1) % ROOM; heap.pieces[i].at; i = (i + 1) % ROOM) {
        const size_t want = place_of(heap.pieces[i].at);
        if ((i - want) % ROOM < (i - hole) % ROOM) continue;
        heap.pieces[hole] = heap.pieces[i];
        heap.pieces[i].at = NULL;
        hole = i;
    }
}

static void note(void *at, size_t size, const void *caller)
{
    if (!at) return;
    lock();
    if (heap.n == ROOM / 2) abort(); /* more than any test should have */
    heap.pieces[find(at)] = (struct piece){at, size, heap.all_asked, caller};
    heap.n++;
    heap.bytes += size;
    if (heap.bytes > heap.peak) heap.peak = heap.bytes;
    unlock();
}

static void forget(void *at)
{
    if (!at) return;
    lock();
    const size_t i = find(at);
    if (heap.pieces[i].at) {
        heap.n--;
        heap.bytes -= heap.pieces[i].size;
        heap.pieces[i].at = NULL;
        fill_hole(i);
    }
    unlock();
}

size_t heap_pieces(void)
{
    return heap.n;
}

size_t heap_bytes(void)
{
    return heap.bytes;
}

void heap_peak_begin(void)
{
    lock();
    heap.base = heap.peak = heap.bytes;
    unlock();
}

size_t heap_peak(void)
{
    return heap.peak - heap.base;
}

#if defined(__GLIBC__) && !defined(SANITIZED)

#include <errno.h>
#include <link.h>
#include <malloc.h>

/* --- whose requests count ------------------------------------------------------------- */

#define RANGES 64

static struct {
    struct {
        uintptr_t from, to;
    } list[RANGES];
    size_t n;
} code; /* of the program and of the libraries that count; written before main */

static bool counts(const char *path)
{
    static const char *const libraries[] = {
        "libc.so",          "libjansson.so", "libmsgpackc.so", "libmsgpack-c.",
        "libprotobuf-c.so", "libxxhash.so",  "libtroupe.so"};
    if (!*path) return true; /* the program */
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        if (strncmp(slash ? slash + 1 : path, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    if (!counts(info->dlpi_name)) return 0;
    for (int i = 0; i < info->dlpi_phnum && code.n < RANGES; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        code.list[code.n].from = info->dlpi_addr + part->p_vaddr;
        code.list[code.n].to = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        code.n++;
    }
    return 0;
}

__attribute__((constructor)) static void list_code(void)
{
    dl_iterate_phdr(add_module, NULL);
}

static bool is_counted(const void *caller)
{
    for (size_t i = 0; i < code.n; i++)
        if ((uintptr_t)caller >= code.list[i].from && (uintptr_t)caller < code.list[i].to)
            return true;
    return false;
}

static bool refuse(const void *caller)
{
    if (!is_counted(caller)) return false;
    lock();
    const uint64_t n = ++heap.asked;
    heap.all_asked++;
    const bool no = heap.fail_at && (heap.all ? n >= heap.fail_at : n == heap.fail_at);
    unlock();
    if (no) errno = ENOMEM;
    return no;
}

bool heap_is_ours(void)
{
    return true;
}

void heap_fail_at(uint64_t n, bool all)
{
    lock();
    heap.asked = 0;
    heap.fail_at = n;
    heap.all = all;
    if (n) heap.begun = heap.all_asked;
    unlock();
}

uint64_t heap_asked(void)
{
    return heap.asked;
}

void heap_show(void)
{
    for (size_t i = 0; i < ROOM; i++) {
        const struct piece *p = &heap.pieces[i];
        if (p->at && p->number > heap.begun)
            fprintf(stderr, "%p: %zu bytes, request %llu, for %p\n", p->at, p->size,
                    (unsigned long long)(p->number - heap.begun), p->caller);
    }
}

/* --- malloc and its kin --------------------------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *at);

#define SEEN   __attribute__((visibility("default"))) /* by the shared libraries */
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

static void *noted(void *at, size_t size, const void *caller)
{
    if (is_counted(caller)) note(at, size, caller);
    return at;
}

SEEN void *malloc(size_t size)
{
    return refuse(CALLER) ? NULL : noted(__libc_malloc(size), size, CALLER);
}

SEEN void *calloc(size_t n, size_t size)
{
    return refuse(CALLER) ? NULL : noted(__libc_calloc(n, size), n * size, CALLER);
}

SEEN void *realloc(void *at, size_t size)
{
    if (refuse(CALLER)) return NULL;
    /* Another thread may get the old place as soon as it is free: forget it before. */
    lock();
    const struct piece old = heap.pieces[find(at)];
    unlock();
    forget(at);
    void *moved = __libc_realloc(at, size);
    if (!moved && size && old.at) note(old.at, old.size, old.caller);
    return noted(moved, size, CALLER);
}

SEEN int posix_memalign(void **out, size_t align, size_t size)
{
    if (refuse(CALLER)) return ENOMEM;
    void *at = noted(__libc_memalign(align, size), size, CALLER);
    if (!at) return ENOMEM;
    *out = at;
    return 0;
}

SEEN void *aligned_alloc(size_t align, size_t size)
{
    return refuse(CALLER) ? NULL : noted(__libc_memalign(align, size), size, CALLER);
}

SEEN void *memalign(size_t align, size_t size)
{
    return refuse(CALLER) ? NULL : noted(__libc_memalign(align, size), size, CALLER);
}

SEEN void free(void *at)
{
    const int number = errno;
    forget(at);
    __libc_free(at);
    errno = number;
}

#else

bool heap_is_ours(void)
{
    return false;
}

void heap_fail_at(uint64_t n, bool all)
{
    tp_alloc_fail_at(n, all);
}

uint64_t heap_asked(void)
{
    return tp_alloc_asked();
}

void heap_show(void)
{
}

#ifdef SANITIZED

size_t __sanitizer_get_allocated_size(const volatile void *at);
int __sanitizer_install_malloc_and_free_hooks(void (*given)(const volatile void *, size_t),
                                              void (*taken)(const volatile void *));

static void on_given(const volatile void *at, size_t size)
{
    note((void *)(uintptr_t)at, size, NULL);
}

static void on_taken(const volatile void *at)
{
    forget((void *)(uintptr_t)at);
}

__attribute__((constructor)) static void install(void)
{
    __sanitizer_install_malloc_and_free_hooks(on_given, on_taken);
}

#endif
#endif
