/* SPDX-License-Identifier: MIT
 *
 * graph/nearest.h - names that a misspelt one may have meant.
 */
#ifndef TP_GRAPH_NEAREST_H
#define TP_GRAPH_NEAREST_H

#include <stddef.h>

#define TP_NEAREST 3

struct tp_nearest {
    const char *wanted;
    const char *names[TP_NEAREST]; /* the best first; borrowed */
    unsigned distance[TP_NEAREST];
    size_t n;
};
void tp_nearest_offer(struct tp_nearest *nearest, const char *name);

struct tp_nearest_text {
    char text[120];
};
/* "; close: 'Relu', 'Elu'", or nothing. */
struct tp_nearest_text tp_nearest_text(const struct tp_nearest *nearest);

#endif
