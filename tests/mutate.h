/* SPDX-License-Identifier: MIT
 *
 * tests/mutate.h - bytes that are wrong in the way that a seed says.
 */
#ifndef TP_TESTS_MUTATE_H
#define TP_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

struct mutate_input {
    const uint8_t *data;
    size_t size;
};

/* One of n inputs, changed in one to four places: bits flipped, bytes set, inserted, doubled,
 * cut out; a part of another input put in; a number of 1, 2, 4 or 8 bytes of either order, a
 * varint, or a number of digits made larger, smaller or huge. At most `room` bytes go to `out`.
 * The same for the same seed. Returns the size. */
size_t mutate(const struct mutate_input *inputs, size_t n, uint64_t seed, uint8_t *out,
              size_t room);

#endif
