/* SPDX-License-Identifier: MIT
 *
 * tests/bytes.h - bytes for tests: written in hex, or from a seed.
 */
#ifndef TP_TESTS_BYTES_H
#define TP_TESTS_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* "93 0b 01": three bytes. Returns how many. */
static inline size_t bytes_of(const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (char *end; *hex; hex = end) {
        const unsigned long byte = strtoul(hex, &end, 16);
        if (end == hex) break;
        out[n++] = (uint8_t)byte;
    }
    return n;
}

struct dice {
    uint64_t state;
};

/* splitmix64 */
static inline uint64_t dice_next(struct dice *dice)
{
    uint64_t z = (dice->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t dice_below(struct dice *dice, uint32_t n)
{
    return (uint32_t)(dice_next(dice) % n);
}

#endif
