/* SPDX-License-Identifier: MIT
 *
 * graph/inliner.h - the inside of inlining; private to graph/inline*.c.
 */
#ifndef TP_GRAPH_INLINER_H
#define TP_GRAPH_INLINER_H

#include "graph/body.h"
#include "graph/inline.h"

/* What a graph node has become. `node` stands for it where others are placed with it; it is
 * TP_NO_NODE for a call of which nothing is left. What runs after it runs after all of `after`.
 */
struct tp_became {
    uint32_t node, n_after;
    const uint32_t *after;
    uint32_t own; /* what `after` is of a graph node that is no call */
};

/* A body that is being copied: the function's own, or a called one. Lists of graph nodes are in
 * the numbers of the result. */
struct tp_frame {
    const struct tp_function *f;
    const char *path;        /* the names of the calls that lead here, with a / between; "" */
    const char *function;    /* f's name; NULL for the function itself */
    uint32_t known;          /* f's place in the version; TP_NO_INDEX when it is not in it */
    uint32_t call;           /* the graph node of the frame below that calls */
    uint32_t next;           /* f's graph node whose turn it is */
    uint32_t first;          /* the result's first graph node of this frame */
    uint32_t *values;        /* f's values in the result */
    struct tp_became *nodes; /* f's graph nodes in the result */
    int64_t *dims;           /* f's named dimensions in the result */
    uint32_t *parents;       /* f's groups that are placed together; NULL: none */
    bool *wishes;            /* per root: a member has a wish of its own */
    struct tp_name device;   /* what the call wishes */
    const uint32_t *after, *with; /* what the call must run after and be placed with */
    uint32_t n_after, n_with;
};

struct tp_inliner {
    struct tp_body body;    /* the result */
    struct tp_arena *arena; /* frames' lists; kept until the end, as long as the result is */
    struct tp_index nodes, values; /* the result's names; entries are in body.scratch */
    const struct tp_version *version;
    bool *active; /* per function of the version: one of the frames copies it */
    struct tp_frame *frames;
    size_t n_frames, frames_room;
    size_t left, edges_left; /* graph nodes and `after` edges that may still come */
    uint32_t last_effect;    /* the result's last graph node with one, plus 1; 0: none */
    uint32_t *list;          /* a node's lists, one behind the other */
    size_t list_room;
    struct tp_text name, node_name;
};

/* The frame's path for a call of that name. */
troupe_status tp_inline_path(struct tp_inliner *in, const struct tp_frame *frame,
                             const char *call, const char **out,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* A value of the frame's function, an argument or constant, in the result. */
troupe_status tp_inline_value(struct tp_inliner *in, const struct tp_frame *frame,
                              const struct tp_value *value, uint32_t *out,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* Graph node i of the frame's function, which is no call, joins the result. */
troupe_status tp_inline_node(struct tp_inliner *in, struct tp_frame *frame, uint32_t i,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* What graph node i of the frame wishes, must run after, and is placed with, in the result; in
 * in->list, from *after on. */
struct tp_wishes {
    struct tp_name device;
    uint32_t *after, *with;
    uint32_t n_after, n_with;
};
troupe_status tp_inline_wishes(struct tp_inliner *in, struct tp_frame *frame, uint32_t i,
                               struct tp_wishes *out, troupe_error *err) TROUPE_MUST_CHECK;

#endif
