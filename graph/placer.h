/* SPDX-License-Identifier: MIT
 *
 * graph/placer.h - which graph node goes on which device, and why.
 *
 * Three layers, the first that speaks wins: assigned (arguments and results with a device of
 * their own) > resource (a handle lives where it lives) > requested (a rule of the caller's,
 * then the graph node's own annotation). Colocation is union-find. An annotation that cannot be
 * honoured is an error that names the graph node, what it asked for, what is there and which
 * rule is in the way; with `soft` it is relaxed (id, then type) and listed. Nothing depends on
 * anything but the arguments: the same input gives the same placement.
 */
#ifndef TP_GRAPH_PLACER_H
#define TP_GRAPH_PLACER_H

#include "graph/function.h"
#include "graph/registry.h"

#define TP_NO_DEVICE UINT32_MAX

struct tp_pace;

/* Why a graph node is where it is. */
enum tp_why {
    TP_WHY_ASSIGNED,   /* an argument or result with a device of its own */
    TP_WHY_RESOURCE,   /* a handle's device */
    TP_WHY_RULE,       /* rule `detail` of the caller's list */
    TP_WHY_ANNOTATION, /* its own wish */
    TP_WHY_WITH,       /* placed with graph node `detail` */
    TP_WHY_METADATA,   /* a shape-like op follows its input, which graph node `detail` makes;
                        * TP_NO_NODE: which is an argument with a device of its own */
    TP_WHY_IDENTITY,   /* a copy between two that were asked for there; `detail` as above */
    TP_WHY_CONSUMERS,  /* it has no inputs, and all who use it are there (`detail`: one of them;
                        * TP_NO_NODE: results) */
    TP_WHY_CUT,        /* share `detail` of the work, in order, when nothing was annotated */
    TP_WHY_DEFAULT,    /* the default device of the call */
    TP_WHY_PRIORITY,   /* the best device type that has a kernel */
    TP_WHY_ONLY,       /* the only device (type) that has a kernel or fits the partial wish */
};

struct tp_reason {
    enum tp_why why;
    uint32_t detail; /* a graph node or a rule, by `why` */
    bool relaxed;    /* the wish was not kept to the letter; see relaxations */
};

/* A rule of the caller's: PATTERN (a glob over graph node names; "op:GLOB" over operators;
 * "path/ *" style prefixes come from inlining) -> device. */
struct tp_rule {
    const char *pattern;
    struct tp_name device;
    uint32_t line; /* in its file, for messages */
};
struct tp_rules {
    struct tp_rule *list;
    size_t n;
    char *text; /* owns the patterns */
    char *source;
};
/* Rules from text: one a line, "PATTERN DEVICE"; a word that begins with "#" begins a comment.
 * The first match wins, also over the graph node's own wish; with the device "/" it asks for
 * nothing. Errors begin with "source:line: ". */
troupe_status tp_rules_read(const char *source, const char *text, size_t size,
                            struct tp_rules **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_rules_destroy(struct tp_rules **rules);

/* What may go where. */
struct tp_place_env {
    const struct tp_devices *devices;
    uint32_t default_device; /* unannotated graph nodes prefer it, partial wishes its task; or
                              * TP_NO_DEVICE */
    /* Priority (0 or more) of op's kernel on devices of that type; below 0: there is none. */
    int (*kernel)(void *arg, const struct tp_op *op, const char *device_type);
    void *arg;
    const char *const *types; /* all types that there are kernels for, NULL behind them: for
                               * messages; NULL: those of the devices */
    /* Per argument and per result: a device, or TP_NO_DEVICE. NULL: none has one. */
    const uint32_t *arg_devices, *result_devices;
    const struct tp_rules *rules; /* NULL: none */
    struct tp_pace *pace;         /* a graph node at a time; NULL: none */
    bool soft;
    bool cut; /* no rule matched and nothing was annotated: cut the graph nodes over all devices
               * of the best type in order, by balanced work */
};

struct tp_placement {
    uint32_t n_nodes;
    uint32_t *device; /* per graph node: index into env->devices */
    uint32_t *group;  /* per graph node: the first of those that were placed as one with it */
    struct tp_reason *reason; /* per graph node */
    char **relaxations;       /* sentences: what soft placement did not keep */
    size_t n_relaxations;
};

/* `function` has no calls (tp_inline). NOT_FOUND: a device that was asked for is not there.
 * UNSUPPORTED: no device has a kernel. INVALID: wishes that contradict each other or what there
 * are kernels for. */
troupe_status tp_place(const struct tp_function *function, const struct tp_place_env *env,
                       struct tp_placement **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_placement_destroy(struct tp_placement **placement);

/* The reason as a sentence: "rule 3 of two.place: 'conv*' -> cpu:1". *out is the caller's to
 * tp_free. */
troupe_status tp_reason_text(const struct tp_function *function, const struct tp_place_env *env,
                             const struct tp_placement *placement, uint32_t node, char **out,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* The chain of rules for one graph node, a line each: what was asked for, which groups it
 * joined, what was possible, what decided. */
troupe_status tp_place_explain(const struct tp_function *function,
                               const struct tp_place_env *env,
                               const struct tp_placement *placement, uint32_t node, char **out,
                               troupe_error *err) TROUPE_MUST_CHECK;

#endif
