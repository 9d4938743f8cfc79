/* SPDX-License-Identifier: MIT
 *
 * tests/mutate.c - bytes that are wrong in the way that a seed says.
 */
#include "tests/mutate.h"

#include <stdio.h>
#include <string.h>

#include "tests/bytes.h"

#define MOST_CHANGES 4
#define MOST_BYTES   32 /* that one change puts in */

struct mutant {
    uint8_t *data;
    size_t size, room;
    struct dice dice;
    const struct mutate_input *inputs;
    size_t n_inputs;
};

/* 0..n-1; 0 when n is 0. */
static size_t roll(struct mutant *m, size_t n)
{
    return n ? dice_next(&m->dice) % n : 0;
}

/* Put `size` bytes in the place of the `old` that stand at `at`. */
static void put(struct mutant *m, size_t at, size_t old, const void *bytes, size_t size)
{
    if (size > m->room - (m->size - old)) return;
    memmove(m->data + at + size, m->data + at + old, m->size - at - old);
    if (size) memcpy(m->data + at, bytes, size);
    m->size += size - old;
}

/* --- bytes ---------------------------------------------------------------------------- */

static void flip_bit(struct mutant *m)
{
    if (m->size) m->data[roll(m, m->size)] ^= (uint8_t)(1u << roll(m, 8));
}

static void set_byte(struct mutant *m)
{
    static const uint8_t bytes[] = "\x00\x01\x7f\x80\xff\xc1\xdf ()[]{}\"'\\,:=@&-#\n09aZ._?*/";
    if (m->size) m->data[roll(m, m->size)] = bytes[roll(m, sizeof(bytes) - 1)];
}

static void insert(struct mutant *m)
{
    uint8_t bytes[MOST_BYTES];
    const size_t n = 1 + roll(m, sizeof(bytes));
    const uint8_t same = (uint8_t)dice_next(&m->dice);
    const size_t kind = roll(m, 2);
    for (size_t i = 0; i < n; i++)
        bytes[i] = kind ? same : (uint8_t)dice_next(&m->dice);
    put(m, roll(m, m->size + 1), 0, bytes, n);
}

static void cut_out(struct mutant *m)
{
    const size_t at = roll(m, m->size);
    put(m, at, roll(m, m->size - at + 1), NULL, 0);
}

static void double_part(struct mutant *m)
{
    uint8_t bytes[MOST_BYTES];
    const size_t at = roll(m, m->size), left = m->size - at;
    const size_t n = roll(m, (left < sizeof(bytes) ? left : sizeof(bytes)) + 1);
    memcpy(bytes, m->data + at, n);
    for (size_t times = 1 + roll(m, 8); times > 0; times--)
        put(m, at, 0, bytes, n);
}

static void splice(struct mutant *m)
{
    const struct mutate_input *from = &m->inputs[roll(m, m->n_inputs)];
    const size_t at = roll(m, m->size), start = roll(m, from->size);
    put(m, at, roll(m, m->size - at + 1), from->data + start, roll(m, from->size - start + 1));
}

/* --- numbers -------------------------------------------------------------------------- */

static uint64_t another(struct mutant *m, uint64_t number)
{
    static const uint64_t numbers[] = {
        0,         1,          0x7f,           0x80,           0xff,
        0x7fff,    0xffff,     0x7fffffff,     0x80000000,     0xffffffff,
        INT64_MAX, UINT64_MAX, 1u << 20,       (1u << 20) + 1, 1u << 30,
        8,         9,          UINT64_MAX - 1, 10000000,       UINT64_C(1) << 40};
    const size_t kind = roll(m, 4);
    if (kind == 0) return number + 1;
    if (kind == 1) return number - 1;
    return numbers[roll(m, sizeof(numbers) / sizeof(*numbers))];
}

/* A number of `width` bytes, low or high byte first. */
static void change_fixed(struct mutant *m)
{
    const size_t width = (size_t)1 << roll(m, 4);
    if (m->size < width) return;
    uint8_t *at = m->data + roll(m, m->size - width + 1);
    const size_t turn = roll(m, 2) ? width - 1 : 0; /* at[i ^ turn] is byte i */
    uint64_t number = 0;
    for (size_t i = 0; i < width; i++)
        number |= (uint64_t)at[i ^ turn] << (8 * i);
    number = another(m, number);
    for (size_t i = 0; i < width; i++)
        at[i ^ turn] = (uint8_t)(number >> (8 * i));
}

static void change_varint(struct mutant *m)
{
    uint8_t bytes[10];
    size_t n = 0, old = 0;
    uint64_t number = 0;
    const size_t at = roll(m, m->size);
    while (at + old < m->size && old < sizeof(bytes)) {
        number |= (uint64_t)(m->data[at + old] & 0x7f) << (7 * old);
        if (!(m->data[at + old++] & 0x80)) break;
    }
    number = another(m, number);
    do
        bytes[n++] = (uint8_t)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
    while (number >>= 7);
    put(m, at, old, bytes, n);
}

static int is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static void change_digits(struct mutant *m)
{
    char text[24];
    size_t at = roll(m, m->size), old = 0;
    uint64_t number = 0;
    while (at < m->size && !is_digit(m->data[at]))
        at++;
    while (at + old < m->size && is_digit(m->data[at + old]) && old < 19)
        number = number * 10 + (uint64_t)(m->data[at + old++] - '0');
    const int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)another(m, number));
    put(m, at, old, text, (size_t)n);
}

static void (*const changes[])(struct mutant *) = {flip_bit,     set_byte,      insert,
                                                   cut_out,      double_part,   splice,
                                                   change_fixed, change_varint, change_digits};

size_t mutate(const struct mutate_input *inputs, size_t n, uint64_t seed, uint8_t *out,
              size_t room)
{
    struct mutant m = {
        .data = out, .room = room, .dice = {seed}, .inputs = inputs, .n_inputs = n};
    const struct mutate_input *from = &inputs[roll(&m, n)];
    m.size = from->size < room ? from->size : room;
    memcpy(out, from->data, m.size);
    for (size_t times = 1 + roll(&m, MOST_CHANGES); times > 0; times--)
        changes[roll(&m, sizeof(changes) / sizeof(*changes))](&m);
    return m.size;
}
