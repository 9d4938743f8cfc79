/* SPDX-License-Identifier: MIT
 *
 * messages/scan.c - walk over a msgpack value by its headers alone.
 *
 * At every moment so many values are still owed, by all open arrays and maps together. Each
 * takes a byte at least, so there must be as many bytes left; that bounds every claim, however
 * it is nested.
 */
#include "messages/scan.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* What follows the first byte: a count of so many bytes, then so many bytes, and the count's
 * worth of bytes, or of values where it counts those. */
struct form {
    uint8_t count_size, payload, values;
};

/* clang-format off */
static const struct form forms[0xe0 - 0xc0] = {
    {0, 0, 0},  {0, 0, 0},  {0, 0, 0},  {0, 0, 0},             /* nil, never used, false, true */
    {1, 0, 0},  {2, 0, 0},  {4, 0, 0},                         /* bin 8, 16, 32 */
    {1, 1, 0},  {2, 1, 0},  {4, 1, 0},                         /* ext 8, 16, 32: a type, and the bytes */
    {0, 4, 0},  {0, 8, 0},                                     /* float 32, 64 */
    {0, 1, 0},  {0, 2, 0},  {0, 4, 0},  {0, 8, 0},             /* uint 8, 16, 32, 64 */
    {0, 1, 0},  {0, 2, 0},  {0, 4, 0},  {0, 8, 0},             /* int 8, 16, 32, 64 */
    {0, 2, 0},  {0, 3, 0},  {0, 5, 0},  {0, 9, 0}, {0, 17, 0}, /* fixext 1, 2, 4, 8, 16 */
    {1, 0, 0},  {2, 0, 0},  {4, 0, 0},                         /* str 8, 16, 32 */
    {2, 0, 1},  {4, 0, 1},                                     /* array 16, 32 */
    {2, 0, 2},  {4, 0, 2},                                     /* map 16, 32 */
};
/* clang-format on */
#define NEVER_USED 0xc1

struct scan {
    const uint8_t *bytes;
    size_t size, at;
    size_t seen, most;                 /* values that have begun, and may */
    uint64_t owed;                     /* values that are still to come, on all levels */
    uint64_t level[TP_SCAN_DEPTH + 1]; /* of them, on each open one; [0] is the outermost */
    int depth;                         /* the innermost */
};

/* The header of one value. */
struct header {
    uint64_t payload, values;
};

static size_t left(const struct scan *s)
{
    return s->size - s->at;
}

static troupe_status cut(const struct scan *s, uint64_t wanted, troupe_error *err)
{
    return tp_fail(err, TROUPE_CORRUPT, "byte %zu: %llu more are wanted, %zu are left", s->at,
                   (unsigned long long)wanted, left(s));
}

/* The values whose first byte holds their count; false: the others. */
static bool short_header(uint8_t first, struct header *out)
{
    *out = (struct header){0, 0};
    if (first >= 0xe0 || first < 0x80) return true; /* a small number */
    if (first >= 0xc0) return false;
    if (first >= 0xa0)
        out->payload = first & 0x1f; /* str */
    else
        out->values = first >= 0x90 ? first & 0x0f : 2 * (first & 0x0f); /* array, map */
    return true;
}

/* Big-endian, `size` bytes. */
static uint64_t read_count(const uint8_t *bytes, size_t size)
{
    uint64_t count = 0;
    for (size_t i = 0; i < size; i++)
        count = count << 8 | bytes[i];
    return count;
}

static troupe_status read_header(struct scan *s, struct header *out, troupe_error *err)
{
    if (!left(s)) return cut(s, 1, err);
    const uint8_t first = s->bytes[s->at];
    if (first == NEVER_USED)
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: 0xc1 starts no value", s->at);
    s->at++;
    if (short_header(first, out)) return TROUPE_OK;
    const struct form *form = &forms[first - 0xc0];
    if (form->count_size > left(s)) return cut(s, form->count_size, err);
    const uint64_t count = read_count(s->bytes + s->at, form->count_size);
    s->at += form->count_size;
    out->values = count * form->values;
    out->payload = form->payload + (form->values ? 0 : count);
    return TROUPE_OK;
}

/* `n` values come inside the one that just began. */
static troupe_status enter(struct scan *s, uint64_t n, troupe_error *err)
{
    s->owed += n;
    if (s->owed > left(s))
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: %llu values are to come in %zu bytes",
                       s->at, (unsigned long long)s->owed, left(s));
    if (s->depth == TP_SCAN_DEPTH)
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: nested deeper than %d", s->at,
                       TP_SCAN_DEPTH);
    s->level[++s->depth] = n;
    return TROUPE_OK;
}

static troupe_status next_value(struct scan *s, troupe_error *err)
{
    struct header header = {0, 0};
    if (s->seen++ == s->most)
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: more than %zu values", s->at, s->most);
    TP_TRY(read_header(s, &header, err));
    if (header.payload > left(s)) return cut(s, header.payload, err);
    s->at += header.payload;
    s->owed--;
    s->level[s->depth]--;
    if (header.values) TP_TRY(enter(s, header.values, err));
    while (s->depth && !s->level[s->depth])
        s->depth--;
    return TROUPE_OK;
}

troupe_status tp_scan_value_at(const void *bytes, size_t size, size_t at, size_t most,
                               size_t *out, troupe_error *err)
{
    struct scan s = {
        .bytes = bytes, .size = size, .at = at, .most = most, .owed = 1, .level = {1}};
    while (s.owed)
        TP_TRY(next_value(&s, err));
    *out = s.at - at;
    return TROUPE_OK;
}

troupe_status tp_scan_value(const void *bytes, size_t size, size_t *out, troupe_error *err)
{
    return tp_scan_value_at(bytes, size, 0, TP_SCAN_VALUES, out, err);
}

troupe_status tp_scan(const void *bytes, size_t size, troupe_error *err)
{
    size_t end;
    TP_TRY(tp_scan_value(bytes, size, &end, err));
    if (end < size)
        return tp_fail(err, TROUPE_CORRUPT, "byte %zu: %zu bytes follow the value", end,
                       size - end);
    return TROUPE_OK;
}
