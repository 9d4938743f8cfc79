/* SPDX-License-Identifier: MIT
 *
 * tests/place.h - small functions over invented ops and devices, for the suites of placement
 * and partition.
 *
 * The ops have no CPU code: what has kernels where is written in their summaries, "cpu gpu:2"
 * being kernels for CPUs with priority 0 and for GPUs with priority 2.
 */
#ifndef TP_TESTS_PLACE_H
#define TP_TESTS_PLACE_H

#include "graph/partition.h"
#include "graph/placer.h"

/* One graph node, as text: words stand apart by a blank. */
struct place_node {
    const char *name, *op;
    const char
        *inputs; /* values: an argument, "NODE", "NODE:1", "#f32[4]" for a constant, "-" */
    const char *device;       /* NULL: no wish */
    const char *with, *after; /* NULL, or graph nodes */
};

/* args: "x y:i32 z:f32[2,3]", f32[4] where no type is given; results: "a r=a b:1", a value
 * each, by its own name unless another is given. The function is finished. */
troupe_status place_build(const char *args, const struct place_node *nodes, size_t n,
                          const char *results, troupe_function **out, troupe_error *err);
troupe_function *place_function(const char *args, const struct place_node *nodes, size_t n,
                                const char *results);

/* "cpu:0 cpu:1 gpu:0 /job:b/task:1/cpu:0": of /job:a/task:0 unless they say otherwise. CPUs are
 * hosts with priority 1, "gpu" has 5, "opencl" 3, "fake" -1. */
struct tp_devices *place_devices(const char *names);
uint32_t place_device(const struct tp_devices *devices, const char *name);
uint32_t place_find(const troupe_function *function, const char *node);

/* env->kernel by the op's summary. */
int place_kernel(void *arg, const struct tp_op *op, const char *type);
/* All types that summaries name, for env->types. */
extern const char *const place_types[];

/* A function, the devices it may go to, and where it went. */
struct scene {
    troupe_function *function;
    struct tp_devices *devices;
    struct tp_rules *rules;
    struct tp_place_env env;
    struct tp_placement *placement;
};
/* home: the default device, or NULL. */
struct scene scene_of(const char *devices, const char *home, const char *args,
                      const struct place_node *nodes, size_t n, const char *results);
void scene_end(struct scene *s);
#define SCENE(name, devices, home, args, nodes, results)                                       \
    TP_OWNED(scene_end)                                                                        \
    struct scene name = scene_of(devices, home, args, nodes, TP_COUNT(nodes), results)
/* Rules from a text that is called "two.place". */
void scene_rules(struct scene *s, const char *text);
troupe_status scene_place(struct scene *s, troupe_error *err);
/* The reason of a graph node as a sentence, to tp_free. */
char *scene_reason(const struct scene *s, uint32_t node);
/* The graph node is on the device, for that reason; with that graph node as its detail. */
void scene_check(const struct scene *s, const char *node, const char *device, enum tp_why why);
void scene_check_detail(const struct scene *s, const char *node, const char *detail);

/* A small generator: the same numbers for the same seed. */
struct place_random {
    uint64_t state;
};
uint32_t place_below(struct place_random *random, uint32_t n);

#endif
