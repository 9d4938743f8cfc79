/* SPDX-License-Identifier: MIT
 *
 * graph/registry.h - the devices that there are: unique full names, priorities, incarnations.
 *
 * A registry belongs to one thread; all others use a snapshot (tp_devices) that it gave them,
 * which is immutable and counted, so that a late holder of a removed device can still read its
 * name.
 */
#ifndef TP_GRAPH_REGISTRY_H
#define TP_GRAPH_REGISTRY_H

#include "base/ref.h"
#include "graph/name.h"

/* One device as placement sees it. */
struct tp_device_entry {
    struct tp_name name;  /* full */
    int priority;         /* of its type: higher is preferred; below 0: only when asked for */
    bool host;            /* its memory is host memory (a CPU) */
    uint64_t incarnation; /* never 0; new for each add */
    void *device;         /* the owner's, not looked at */
};

/* A snapshot: entries sorted by name (tp_name_compare). */
struct tp_devices {
    struct tp_ref ref;
    uint32_t n;
    struct tp_device_entry list[];
};
struct tp_devices *tp_devices_retain(const struct tp_devices *devices);
void tp_devices_release(struct tp_devices **devices);
/* Index by any accepted spelling (full, legacy, short, partial if exactly one fits), completed
 * by `base` (a full name). NOT_FOUND lists what is there. */
troupe_status tp_devices_find(const struct tp_devices *devices, const char *text,
                              const struct tp_name *base, uint32_t *out,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* "cpu:0, cpu:1" for messages: the devices' short names, or full ones when there are several
 * tasks. */
size_t tp_devices_show(const struct tp_devices *devices, char *text, size_t size);

struct tp_registry;
troupe_status tp_registry_new(struct tp_registry **out, troupe_error *err) TROUPE_MUST_CHECK;
void tp_registry_destroy(struct tp_registry **registry);
/* All or none. INVALID: a name is partial, there already, or twice in the batch. */
troupe_status tp_registry_add(struct tp_registry *registry,
                              const struct tp_device_entry *entries, size_t n,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* All or none. INVALID: one is unknown, or is the first host device (cpu:0 of its task). */
troupe_status tp_registry_remove(struct tp_registry *registry, const struct tp_name *names,
                                 size_t n, troupe_error *err) TROUPE_MUST_CHECK;
/* The devices now; retained for the caller. */
struct tp_devices *tp_registry_devices(const struct tp_registry *registry);
/* Device types by falling priority, each once; returns how many, fills at most n. The texts are
 * of the devices now. */
size_t tp_registry_types(const struct tp_registry *registry, const char **types, size_t n);

#endif
