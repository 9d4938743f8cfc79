/* SPDX-License-Identifier: MIT
 *
 * graph/nearest.c - names that a misspelt one may have meant: few edits away, whatever the
 * case.
 */
#include "graph/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 48 /* names that are longer are no operators' and are not compared */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* The cost of making a[i - 1] from b[j - 1], given the rows before: of i - 1 and of i - 2. */
static unsigned cell(const char *a, size_t i, const char *b, size_t j, const unsigned *now,
                     const unsigned *last, const unsigned *before)
{
    const unsigned differ = lower(a[i - 1]) != lower(b[j - 1]);
    const unsigned cost = least(now[j - 1] + 1, last[j] + 1, last[j - 1] + differ);
    const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                         lower(a[i - 2]) == lower(b[j - 1]);
    return swapped && before[j - 2] + 1 < cost ? before[j - 2] + 1 : cost;
}

/* Insertions, deletions, replacements and swaps of neighbours that make b of a; both are
 * LONGEST at most. */
static unsigned edits(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned *now = rows[i % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++)
            now[j] = cell(a, i, b, j, now, rows[(i + 2) % 3], rows[(i + 1) % 3]);
    }
    return rows[a_size % 3][b_size];
}

static void insert(struct tp_nearest *nearest, const char *name, unsigned distance)
{
    size_t at = nearest->n < TP_NEAREST ? nearest->n++ : TP_NEAREST - 1;
    if (at == TP_NEAREST - 1 && nearest->names[at] && nearest->distance[at] <= distance) return;
    for (; at > 0 && nearest->distance[at - 1] > distance; at--) {
        nearest->names[at] = nearest->names[at - 1];
        nearest->distance[at] = nearest->distance[at - 1];
    }
    nearest->names[at] = name;
    nearest->distance[at] = distance;
}

void tp_nearest_offer(struct tp_nearest *nearest, const char *name)
{
    const size_t size = strlen(nearest->wanted), other = strlen(name);
    if (size > LONGEST || other > LONGEST) return;
    const unsigned far = 1 + (unsigned)(size > 12 ? 12 : size) / 4;
    const size_t apart = size > other ? size - other : other - size;
    if (apart > far) return;
    const unsigned distance = edits(nearest->wanted, size, name, other);
    if (distance <= far && distance < size) insert(nearest, name, distance);
}

struct tp_nearest_text tp_nearest_text(const struct tp_nearest *nearest)
{
    struct tp_nearest_text out = {""};
    size_t at = 0;
    for (size_t i = 0; i < nearest->n && at < sizeof(out.text); i++) {
        const int n = snprintf(out.text + at, sizeof(out.text) - at, "%s'%s'",
                               i ? ", " : "; close: ", nearest->names[i]);
        if (n > 0) at += (size_t)n;
    }
    return out;
}
