/* SPDX-License-Identifier: MIT
 *
 * graph/nearest.c - names that a misspelt one may have meant: few edits away, whatever the
 * case.
 */
#include "graph/nearest.h"

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

/* Insertions, deletions and replacements that make b of a; both are LONGEST at most. */
static unsigned edits(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned row[LONGEST + 1];
    for (size_t j = 0; j <= b_size; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            const unsigned above = row[j];
            const unsigned differ = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = least(row[j - 1] + 1, above + 1, diagonal + differ);
            diagonal = above;
        }
    }
    return row[b_size];
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
