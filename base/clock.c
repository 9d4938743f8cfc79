/* SPDX-License-Identifier: MIT
 *
 * base/clock.c - CLOCK_MONOTONIC, and the processor's time stamp counter measured against it.
 *
 * What was found out about the processor is kept in one static struct: it is the same for every
 * thread, so threads that find it out at the same time do no harm; the first answer stays.
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

#include "base/fail.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define HAVE_TSC 1
#else
#define HAVE_TSC 0
#endif

#define MEASURE_NS  100000u /* readings 20 ns off make the rate wrong by 0.04 % */
#define SCALE_SHIFT 32

enum source { SOURCE_UNKNOWN, SOURCE_CLOCK, SOURCE_TSC };

static struct {
    atomic_int source;
    atomic_ullong scale; /* nanoseconds of a tick, times 2^SCALE_SHIFT; 0: not measured */
    atomic_int begun;    /* 1: somebody writes the first pair; 2: it is there */
    uint64_t ns, ticks;
} ticker;

uint64_t tp_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if HAVE_TSC
static uint64_t read_tsc(void)
{
    return __builtin_ia32_rdtsc();
}

/* Invariant: it counts at one rate in every power state (leaf 0x80000007, EDX bit 8). */
static enum source find_source(void)
{
    unsigned a, b, c, d = 0;
    const int known = __get_cpuid(0x80000007, &a, &b, &c, &d);
    return known && (d >> 8 & 1) ? SOURCE_TSC : SOURCE_CLOCK;
}
#else
static uint64_t read_tsc(void)
{
    return tp_clock_ns();
}

static enum source find_source(void)
{
    return SOURCE_CLOCK;
}
#endif

static inline enum source get_source(void)
{
    int source = atomic_load_explicit(&ticker.source, memory_order_relaxed);
    if (TP_LIKELY(source != SOURCE_UNKNOWN)) return (enum source)source;
    source = (int)find_source();
    atomic_store_explicit(&ticker.source, source, memory_order_relaxed);
    return (enum source)source;
}

uint64_t tp_ticks(void)
{
    return get_source() == SOURCE_TSC ? read_tsc() : tp_clock_ns();
}

/* A preemption between the two readings of a pair shifts it; among a few pairs the closest one
 * had none. */
static void read_pair(uint64_t *ns, uint64_t *ticks)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        const uint64_t before = read_tsc();
        const uint64_t now = tp_clock_ns();
        const uint64_t after = read_tsc();
        if (after - before >= best) continue;
        best = after - before;
        *ns = now;
        *ticks = before + best / 2;
    }
}

void tp_ticks_begin(void)
{
    int none = 0;
    if (get_source() != SOURCE_TSC ||
        !atomic_compare_exchange_strong_explicit(&ticker.begun, &none, 1, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    read_pair(&ticker.ns, &ticker.ticks);
    /* release: who sees 2 sees the pair */
    atomic_store_explicit(&ticker.begun, 2, memory_order_release);
}

static uint64_t measure_scale(void)
{
    uint64_t ns0 = 0, ns1 = 0, ticks0 = 0, ticks1 = 0;
    if (atomic_load_explicit(&ticker.begun, memory_order_acquire) == 2) {
        ns0 = ticker.ns;
        ticks0 = ticker.ticks;
    } else {
        read_pair(&ns0, &ticks0);
    }
    do {
        read_pair(&ns1, &ticks1);
    } while (ns1 - ns0 < MEASURE_NS);
    if (ticks1 <= ticks0) return (uint64_t)1 << SCALE_SHIFT;
    return (uint64_t)(((unsigned __int128)(ns1 - ns0) << SCALE_SHIFT) / (ticks1 - ticks0));
}

static uint64_t get_scale(void)
{
    unsigned long long scale = atomic_load_explicit(&ticker.scale, memory_order_relaxed);
    if (scale) return scale;
    const unsigned long long mine = measure_scale();
    if (atomic_compare_exchange_strong_explicit(&ticker.scale, &scale, mine,
                                                memory_order_relaxed, memory_order_relaxed)) {
        return mine;
    }
    return scale;
}

uint64_t tp_ticks_ns(uint64_t ticks)
{
    if (get_source() == SOURCE_CLOCK) return ticks;
    return (uint64_t)(((unsigned __int128)ticks * get_scale()) >> SCALE_SHIFT);
}
