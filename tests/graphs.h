/* SPDX-License-Identifier: MIT
 *
 * tests/graphs.h - functions from text and back, for the suites of graph/.
 */
#ifndef TP_TESTS_GRAPHS_H
#define TP_TESTS_GRAPHS_H

#include "graph/function.h"
#include "tests/test.h"

/* The text is good; it is called "test". */
troupe_library *graphs_library(const char *text);
/* The function of that name; the library has it. */
troupe_function *graphs_find(const troupe_library *library, const char *name);
/* Both at once: the last function of the text. */
troupe_function *graphs_function(const char *text);
/* One body in the text form; to be freed with tp_free. */
char *graphs_show(const struct tp_function *function);
/* The function and those that it calls. */
char *graphs_print(const troupe_function *function);

/* The body shows as that text. */
void graphs_is(const struct tp_function *function, const char *text);
/* The graph node of that name. */
const struct tp_node *graphs_node(const struct tp_function *function, const char *name);
/* The names of the graph nodes that it must run after, with blanks between. */
const char *graphs_after(const struct tp_function *function, const char *name);
const char *graphs_with(const struct tp_function *function, const char *name);
/* Its device, in canonical text. */
const char *graphs_device(const struct tp_function *function, const char *name);

/* Run `whole`, which frees all that it makes, with allocation 1, 2, ... failing until none
 * does. A failure must be EXHAUSTED, and nothing may be left. */
void graphs_starve(troupe_status (*whole)(troupe_error *err));

/* head, n times part, tail; to be freed with tp_free. */
char *graphs_repeat(const char *head, const char *part, size_t n, const char *tail);

bool graphs_same_hash(const troupe_function *a, const troupe_function *b);
/* What the function prints is read as a function that is equal and prints the same. */
void graphs_there_and_back(const troupe_function *f);
/* A text with a bit of everything, for the ops of ops_fake.c: f and g, which call each other. */
extern const char graphs_round[];

/* Numbers from a seed. */
struct graphs_dice {
    uint64_t state;
};
uint32_t graphs_roll(struct graphs_dice *dice, uint32_t n); /* 0..n-1 */
/* A function of the ops of ops_fake.c, with calls, all kinds of attributes, odd names. */
troupe_function *graphs_random(uint64_t seed);

#endif
