/* SPDX-License-Identifier: MIT
 *
 * exec/device.h - what a device is: a name, a pool, threads, and a kind that says the rest.
 *
 * A kind is a table of functions, one for each type of device: cpu.c is the one to read. The
 * core allocates a device's struct with the kind's private bytes behind it. Nothing here knows
 * of actors or messages.
 */
#ifndef TP_EXEC_DEVICE_H
#define TP_EXEC_DEVICE_H

#include "base/affinity.h"
#include "exec/pool.h"
#include "graph/name.h"
#include "graph/op.h"

struct tp_device;

struct tp_device_kind {
    const char *type; /* "cpu" */
    int priority;     /* among types: higher is preferred */
    bool host;        /* its memory is host memory: values go to and from it by pointer */
    size_t size;      /* bytes of its private state, 0 if none */
    /* Optional: set up and tear down the private state (zeroed before open). */
    troupe_status (*open)(struct tp_device *device, troupe_error *err);
    void (*close)(struct tp_device *device);
    /* Priority (0 or more) of its kernel for op, below 0 when it has none. Any thread. */
    int (*kernel)(const struct tp_op *op);
};

/* How a device was asked for. */
struct tp_device_wish {
    struct tp_name name; /* full */
    int threads;         /* 0: a share of the CPUs */
    int permits;         /* 0: as many as threads */
    size_t memory;       /* limit of its pool in bytes; 0: none */
    bool pinned; /* its threads stay on `cpus`; empty: on those that are chosen for it */
    struct tp_cpus cpus;
};

struct tp_device {
    const struct tp_device_kind *kind;
    struct tp_name name;          /* full */
    char text[TP_NAME_TEXT];      /* "/job:local/task:0/device:cpu:0" */
    char brief[TP_NAME_JOB + 12]; /* "cpu:0" */
    int threads, permits;         /* at least 1 */
    bool pinned;                  /* its threads stay on `cpus` */
    struct tp_cpus cpus;
    char pin[TP_CPUS_TEXT]; /* the same as text, "" when it is not pinned */
    struct tp_pool *pool;
    struct tp_team *team; /* NULL: one thread */
    uint64_t incarnation; /* never 0 */
    void *private_state;  /* kind->size bytes, or NULL */
};

/* Read a device list (troupe_options.devices). Names are completed to /job:local/task:0.
 * INVALID: malformed, or a name twice; NOT_FOUND: a type that this build does not have. *out is
 * the caller's to tp_free. */
troupe_status tp_devices_read(const char *list, struct tp_device_wish **out, size_t *n,
                              troupe_error *err) TROUPE_MUST_CHECK;
/* Give the CPUs of the process out to the wishes that name no number of threads: at least one
 * each. */
void tp_devices_share(struct tp_device_wish *wishes, size_t n, int cpus);

/* Choose CPUs for the wishes that leave it open, of those that no wish names: as many as
 * threads each, side by side, in the order of the list, from the first again when there are no
 * more. INVALID: a CPU that is not in `allowed`. */
troupe_status tp_devices_pin(struct tp_device_wish *wishes, size_t n,
                             const struct tp_cpus *allowed,
                             troupe_error *err) TROUPE_MUST_CHECK;

troupe_status tp_device_new(struct tp_device **out, const struct tp_device_wish *wish,
                            troupe_error *err) TROUPE_MUST_CHECK;
void tp_device_destroy(struct tp_device **device);

/* The kind of that type (without case), or NULL. */
const struct tp_device_kind *tp_device_kind_find(const char *type);

extern const struct tp_device_kind tp_cpu_kind;

#endif
