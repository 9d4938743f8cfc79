/* SPDX-License-Identifier: MIT
 *
 * graph/reader.h - the inside of the reader; private to graph/read*.c.
 */
#ifndef TP_GRAPH_READER_H
#define TP_GRAPH_READER_H

#include "graph/build.h"
#include "graph/library.h"
#include "graph/parse.h"

/* A definition of the text, and what has become of it. */
struct tp_reading {
    const struct tp_definition *said;
    struct tp_function *body;      /* NULL until it is built */
    struct tp_function *signature; /* for calls in a circle: arguments and declared results */
    bool stateful;
    bool open; /* the functions that it calls are being built */
};

struct tp_reader {
    struct tp_parsed parsed;
    const troupe_library *library;
    struct tp_reading *list; /* in the order of the text */
    uint32_t n;
    struct tp_index index;   /* a name's place in the list */
    struct tp_arena *arena;  /* the index's */
    struct tp_finder finder; /* the text's functions first, then the library's */
    /* What a line is put together in, kept from one to the next. */
    troupe_value *inputs;
    const char **names; /* results, then after, then with */
    troupe_attr *attrs;
    size_t inputs_room, names_room, attrs_room;
    double *floats;
    size_t floats_room;
};

/* Put "source:line:column: " before the error. */
void tp_reader_blame(const struct tp_reader *r, struct tp_place place, troupe_error *err);

/* Which functions have effects, and all bodies, each after those that it calls. */
troupe_status tp_reader_build_all(struct tp_reader *r, troupe_error *err) TROUPE_MUST_CHECK;
/* One body. What it calls has a body or a signature. */
troupe_status tp_reader_build(struct tp_reader *r, struct tp_reading *reading,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* Its signature. INVALID: the type of a result is not declared; `call` is where that is needed.
 */
troupe_status tp_reader_sign(struct tp_reader *r, struct tp_reading *reading,
                             struct tp_place call, troupe_error *err) TROUPE_MUST_CHECK;

/* The .npy file at `path`, below the folder of `source`, whose type must be `type`. INVALID:
 * the path leads, or may lead, out of the folder. */
troupe_status tp_read_constant(const char *source, const char *path, const struct tp_type *type,
                               troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;

#endif
