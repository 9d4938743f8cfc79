/* SPDX-License-Identifier: MIT
 *
 * troupe/troupe.h - run dataflow functions across devices, from any event loop.
 *
 * Ownership: a function that takes T ** takes the object over and leaves NULL. T * and const T
 * * are borrowed for the length of the call. What comes back through `out` is the caller's.
 * Tensors and functions are immutable and counted: _retain, _release.
 *
 * Threads: a runtime may be used from any thread. Callbacks belong to a caller (troupe_caller:
 * its own fd, dispatch, wait; one thread at a time; a runtime comes with one, which
 * troupe_call, troupe_fd, troupe_dispatch and troupe_wait use): they run only inside that
 * caller's dispatch and wait, and in its close. No troupe thread runs a call's callback; free
 * functions and the log sink run on any thread. In a callback, wait and close return
 * TROUPE_INVALID; starting and cancelling calls is allowed. After fork the child may only call
 * troupe_close, which frees nothing there; all else gives TROUPE_INVALID.
 *
 * Structs with a `size` member grow: set it to sizeof the struct, zero the rest (or use the
 * _INIT macro), and a program built with this header works with newer libraries.
 */
#ifndef TROUPE_TROUPE_H
#define TROUPE_TROUPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/function.h"
#include "troupe/operator.h"
#include "troupe/status.h"
#include "troupe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TROUPE_VERSION_MAJOR 0
#define TROUPE_VERSION_MINOR 1
#define TROUPE_VERSION_PATCH 0

/* "0.1.0" of the library that is running. */
TROUPE_EXPORT const char *troupe_version(void);
/* INVALID, with both versions, when the running library cannot serve a program that was built
 * with that version of the headers: troupe_version_check(TROUPE_VERSION_MAJOR,
 * TROUPE_VERSION_MINOR, &e). */
TROUPE_EXPORT troupe_status troupe_version_check(int major, int minor, troupe_error *err);

typedef struct troupe_runtime troupe_runtime;
typedef struct troupe_caller troupe_caller;
typedef struct troupe_plan troupe_plan;
typedef struct troupe_report troupe_report;

/* -- Runtime ------------------------------------------------------------------------------- */

/* Structs of options begin with their size, and grow at their ends. Fill them with their _INIT,
 * so that what a newer header adds is zero. A program with a newer header than the library's
 * works as long as what the library does not know is zero; else INVALID names the struct with
 * both sizes. */
#define TROUPE_AUTO (-1)

typedef struct troupe_options {
    size_t size; /* sizeof(troupe_options) */
    /* The devices, each once, by commas, with options in parentheses:
     *   "cpu:0,cpu:1"      "cpu:0(threads=2,memory=512M),cpu:1(threads=1)"
     * threads: how many shards a device runs at once; the default shares the CPUs that the
     * process may use out among the devices, at least one each. memory: limit of the device's
     * pool in bytes (K, M, G); default: none. permits: shards admitted at once, default:
     * threads. pin: the CPUs that the device's threads stay on, as "0-3+8" or "auto"; see
     * doc/placement.md. NULL: "cpu:0". */
    const char *devices;
    /* Threads of the runtime's own. TROUPE_AUTO: one less than the CPUs that the process may
     * use, since a thread that waits for a call works too. 0: everything runs inside the
     * callers' dispatch and wait. */
    int workers;
    /* How long an idle thread looks for work before it sleeps, in microseconds; TROUPE_AUTO:
     * 50, less while that does not pay. 0: never. */
    int spin_us;
    size_t max_plans;           /* plans kept; the one used least recently goes first. 0: 256 */
    size_t max_calls;           /* calls in flight; over it TROUPE_BUSY. 0: 65536 */
    const char *default_device; /* NULL: the first of the list */
    /* Send every message between actors, and every function that is planned, through its wire
     * form and back, as between processes: a test, with the same results. Also when the
     * environment has TROUPE_WIRE=1. */
    bool wire;
    /* Bytes of the arguments of all calls in flight; over it TROUPE_BUSY, and a call that is
     * over it alone is EXHAUSTED. 0: no limit. */
    size_t max_bytes;
    /* Instances (a plan made ready for given shapes) kept for each plan; the one used least
     * recently goes first, and is freed after its last call. 0: 8; at most 1024. */
    size_t max_instances;
    /* The user's operators that calls may use; retained until the runtime is closed. A call of
     * a function with others gives UNSUPPORTED. NULL: troupe's own alone. */
    const troupe_operators *operators;
} troupe_options;
#define TROUPE_OPTIONS_INIT                                                                    \
    {                                                                                          \
        sizeof(troupe_options), NULL, TROUPE_AUTO, TROUPE_AUTO, 0, 0, NULL, false, 0, 0, NULL  \
    }

/* options NULL: TROUPE_OPTIONS_INIT. INVALID or NOT_FOUND: a device list that cannot be had, a
 * limit that makes no sense. */
TROUPE_EXPORT troupe_status troupe_open(troupe_runtime **out, const troupe_options *options,
                                        troupe_error *err) TROUPE_MUST_CHECK;
/* Cancel what is in flight, run the callbacks that are due on this thread, close all callers,
 * end the threads, free everything. INVALID in a callback, and while another thread is inside a
 * wait: *runtime stays. */
TROUPE_EXPORT troupe_status troupe_close(troupe_runtime **runtime);

/* -- Calls --------------------------------------------------------------------------------- */

/* Memory of the caller's for one result. */
typedef struct troupe_buffer {
    void *data;  /* NULL: the result's memory is its device's */
    size_t size; /* bytes */
} troupe_buffer;

typedef struct troupe_call_options {
    size_t size;       /* sizeof(troupe_call_options) */
    double deadline_s; /* seconds from now; 0: none. Kept to within the longest running step */
    uint64_t parent;   /* a call of this runtime: cancelled with it; 0: none */
    int priority;      /* higher first, among what waits for one device; 0 is normal */
    const char *default_device;     /* for graph nodes without a wish; NULL: the runtime's */
    const char *const *arg_devices; /* per argument a device or NULL; NULL: none has one */
    const char *const
        *result_devices; /* where each result is wanted; NULL: wherever it is made */
    const char *rules;   /* placement rules, as a text of lines "PATTERN DEVICE"; NULL: none */
    const char *rules_source; /* their name in messages; NULL: "rules" */
    bool soft;                /* relax wishes that cannot be honoured, and report that */
    bool cut;     /* nothing annotated: cut the function over all devices by balanced work */
    bool profile; /* measure each step; the figures are in the report */
    troupe_report **report; /* written before `done` runs (or troupe_run returns): the report on
                             * a call that failed, had wishes relaxed, or was profiled; else,
                             * and where there is no memory for it, NULL. The caller's to
                             * release */
    /* Per result, memory that its elements are to lie in; NULL: none. The result is a tensor
     * over that memory: it must stay, and be left alone, until the call has ended and the
     * tensor and all that share its elements are released; after a failure, until the call has
     * ended. It is written without a copy when it is aligned to 64 bytes and the value is
     * computed for this result; what is a view, an argument or a constant is copied. INVALID:
     * it is too small, not aligned to the elements, overlaps another or an argument, or the
     * result is of strings. */
    const troupe_buffer *buffers;
    /* Per argument, whether it is given away; NULL: none is. The caller's reference is the
     * call's then, also when the call fails or does not start: with TROUPE_BUSY, too, and
     * whatever is wrong but with the options' size. A result may get the argument's memory,
     * when this was the last reference to it and to its elements, and they are not of
     * troupe_tensor_take or `buffers`. */
    const bool *give;
} troupe_call_options;
#define TROUPE_CALL_OPTIONS_INIT                                                               \
    {                                                                                          \
        sizeof(troupe_call_options), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, false, false,      \
            false, NULL, NULL, NULL                                                            \
    }

/* Call on the calling thread: returns when the call has ended, and runs its work meanwhile. The
 * fastest way. args[0..n_args) are borrowed; NULL in a place with a default takes the default.
 * results[0..n_results) get tensors of the caller's; n_results must be the function's. options
 * may be NULL. Callbacks of other calls do not run. Any thread; not in a callback. TROUPE_BUSY:
 * over max_calls or max_bytes; nothing was started. */
TROUPE_EXPORT troupe_status troupe_run(troupe_runtime *runtime, const troupe_function *function,
                                       const troupe_tensor *const *args, size_t n_args,
                                       troupe_tensor **results, size_t n_results,
                                       const troupe_call_options *options,
                                       troupe_error *err) TROUPE_MUST_CHECK;

/* How one call ended: error->code is TROUPE_OK and results[0..n) are its results, or error says
 * why and n is 0. `results` are borrowed: retain a tensor to keep it. */
typedef void troupe_done_fn(void *arg, const troupe_error *error,
                            const troupe_tensor *const *results, size_t n);

/* Start a call and return at once. `done` runs exactly once, later, in the caller's dispatch,
 * wait or close, even when the call is cancelled; never inside this function. Unless this
 * returns TROUPE_OK, `done` does not run. Arguments are retained as long as they are needed.
 * *out_call (may be NULL) is the call's number, above 0 and never used again. Only a caller's
 * own thread starts its calls. TROUPE_BUSY: over max_calls or max_bytes; nothing was
 * started. */
TROUPE_EXPORT troupe_status troupe_call(troupe_runtime *runtime,
                                        const troupe_function *function,
                                        const troupe_tensor *const *args, size_t n_args,
                                        const troupe_call_options *options,
                                        troupe_done_fn *done, void *arg, uint64_t *out_call,
                                        troupe_error *err) TROUPE_MUST_CHECK;
/* Ask for an early end, from any thread. `done` still runs, with TROUPE_CANCELLED unless the
 * call ends otherwise first. Planning that no call waits for any more is given up. A call that
 * is not there (any more) is nothing to do. Its children are cancelled too. */
TROUPE_EXPORT void troupe_cancel(troupe_runtime *runtime, uint64_t call);
/* Readable while a callback is due, or work that only this caller's thread can do: for poll,
 * epoll or zmq_poll. Level-triggered, and yours to watch only: do not read or close it. It is
 * readable a moment early when another thread is about to hand something over, and never late:
 * a dispatch or wait that leaves nothing due leaves it unreadable. It is made when it is first
 * asked for; -1: the process has no descriptor left. */
TROUPE_EXPORT int troupe_fd(const troupe_runtime *runtime);
/* Run the callbacks that are due. Without workers also runs the work that there is, until
 * nothing is left to do, or 0.2 ms of planning are done: then the fd stays readable. Never
 * waits. TROUPE_PENDING: no callback was due. */
TROUPE_EXPORT troupe_status troupe_dispatch(troupe_runtime *runtime);
/* Dispatch, and work, until `call` has ended (0: until one callback has run). TROUPE_PENDING
 * when it has not after timeout_ms (-1: never). NOT_FOUND: a number that was never given out.
 */
TROUPE_EXPORT troupe_status troupe_wait(troupe_runtime *runtime, uint64_t call,
                                        int timeout_ms) TROUPE_MUST_CHECK;
/* How far a call is: steps that ran, and all steps of its shards (0 until it is planned).
 * NOT_FOUND when it has ended. Any thread. */
TROUPE_EXPORT troupe_status troupe_progress(troupe_runtime *runtime, uint64_t call,
                                            uint64_t *steps, uint64_t *all);

/* Further callers: one for each thread or loop that starts calls. */
TROUPE_EXPORT troupe_status troupe_caller_open(troupe_runtime *runtime, troupe_caller **out,
                                               troupe_error *err) TROUPE_MUST_CHECK;
/* Cancels the caller's calls and runs their callbacks before it returns. INVALID in a callback.
 */
TROUPE_EXPORT troupe_status troupe_caller_close(troupe_caller **caller);
/* As the functions of the same name without _caller. */
TROUPE_EXPORT troupe_status troupe_caller_call(
    troupe_caller *caller, const troupe_function *function, const troupe_tensor *const *args,
    size_t n_args, const troupe_call_options *options, troupe_done_fn *done, void *arg,
    uint64_t *out_call, troupe_error *err) TROUPE_MUST_CHECK;
TROUPE_EXPORT int troupe_caller_fd(const troupe_caller *caller);
TROUPE_EXPORT troupe_status troupe_caller_dispatch(troupe_caller *caller);
TROUPE_EXPORT troupe_status troupe_caller_wait(troupe_caller *caller, uint64_t call,
                                               int timeout_ms) TROUPE_MUST_CHECK;

/* -- Plans: what a call will do, before it is made ----------------------------------------- */

/* Place and partition a function as a call with these options would; nothing runs. The plan is
 * the caller's. */
TROUPE_EXPORT troupe_status troupe_plan_make(troupe_runtime *runtime,
                                             const troupe_function *function,
                                             const troupe_call_options *options,
                                             troupe_plan **out,
                                             troupe_error *err) TROUPE_MUST_CHECK;
TROUPE_EXPORT void troupe_plan_release(troupe_plan **plan);
/* Signature, graph nodes with device and reason, shards, edges with bytes, relaxations. Free
 * with troupe_free. */
TROUPE_EXPORT troupe_status troupe_plan_print(const troupe_plan *plan, troupe_format format,
                                              char **out, troupe_error *err) TROUPE_MUST_CHECK;
/* The chain of rules that put one graph node where it is. NOT_FOUND lists close names. Free
 * with troupe_free. */
TROUPE_EXPORT troupe_status troupe_plan_explain(const troupe_plan *plan, const char *node,
                                                char **out,
                                                troupe_error *err) TROUPE_MUST_CHECK;

/* One graph node of a plan. Texts live as long as the plan. */
typedef struct troupe_plan_node {
    size_t size; /* sizeof(troupe_plan_node) */
    const char *name, *op, *device, *reason;
} troupe_plan_node;
TROUPE_EXPORT size_t troupe_plan_nodes(const troupe_plan *plan);
TROUPE_EXPORT troupe_status troupe_plan_node_at(const troupe_plan *plan, size_t i,
                                                troupe_plan_node *out);

/* -- Reports: what does not fit an error's sentence; what a call cost
 * -------------------------- */

TROUPE_EXPORT troupe_report *troupe_report_retain(const troupe_report *report);
TROUPE_EXPORT void troupe_report_release(troupe_report **report);
/* TROUPE_TEXT or TROUPE_JSON, valid as long as the report: the error with function, graph node
 * and device; consequences on other shards; failures of other shards that were none; values
 * that were sent and that nobody took; wishes that were relaxed; with `profile` times by graph
 * node and device, and bytes by edge. */
TROUPE_EXPORT const char *troupe_report_text(const troupe_report *report, troupe_format format);
/* With `profile`: wall time of the call, time in steps of all shards, bytes that crossed
 * between devices. 0 without. */
TROUPE_EXPORT uint64_t troupe_report_wall_ns(const troupe_report *report);
TROUPE_EXPORT uint64_t troupe_report_busy_ns(const troupe_report *report);
TROUPE_EXPORT uint64_t troupe_report_crossed(const troupe_report *report);

/* -- Devices ------------------------------------------------------------------------------- */

typedef struct troupe_device {
    size_t size;                     /* sizeof(troupe_device), set by the caller */
    const char *name;                /* "cpu:0"; valid as long as the runtime */
    const char *full_name;           /* "/job:local/task:0/device:cpu:0" */
    const char *type;                /* "cpu" */
    int threads;                     /* shards that it runs at once */
    size_t memory_limit;             /* 0: none */
    size_t memory_used, memory_peak; /* bytes handed out of its pool, now and at most so far */
    uint64_t shards;                 /* that it has finished */
    uint64_t steps;                  /* that it has run */
    uint64_t incarnation;
    int permits;     /* shards that it admits at once */
    const char *pin; /* the CPUs that its threads stay on, "0-3+8", or NULL; valid as long as
                      * the runtime */
} troupe_device;

TROUPE_EXPORT size_t troupe_devices(const troupe_runtime *runtime);
TROUPE_EXPORT troupe_status troupe_device_at(const troupe_runtime *runtime, size_t i,
                                             troupe_device *out);
/* Make the n-th allocation from now on in that device's pool fail with EXHAUSTED (1: the next;
 * 0: none), for tests of what a program does then. NOT_FOUND: no such device. */
TROUPE_EXPORT troupe_status troupe_device_fail_at(troupe_runtime *runtime, const char *device,
                                                  uint64_t n);

/* What the process may use, whatever the machine has. */
typedef struct troupe_limits {
    size_t size;        /* sizeof(troupe_limits), set by the caller */
    int cpus;           /* by its affinity and its cgroup's quota, rounded up; at least 1 */
    char cpu_list[256]; /* those of its affinity, "0-3+8": what pin= may name */
    uint64_t memory;    /* bytes by its cgroup; 0: no limit */
} troupe_limits;
/* Reads the system's files. Any thread. */
TROUPE_EXPORT void troupe_limits_get(troupe_limits *out);

typedef struct troupe_statistics {
    size_t size;              /* sizeof(troupe_statistics), set by the caller */
    uint64_t calls;           /* started */
    uint64_t in_flight;       /* started and not ended */
    uint64_t failed;          /* ended with an error */
    uint64_t plans;           /* kept now */
    uint64_t planned;         /* plans built so far; does not grow on a repeated call */
    uint64_t instances;       /* made so far: plans made ready for given shapes */
    uint64_t sleeps, wakes;   /* of the runtime's threads and of waiting callers */
    uint64_t instances_kept;  /* of all plans, now */
    uint64_t refused;         /* calls that were answered with TROUPE_BUSY; not in `calls` */
    uint64_t bytes_in_flight; /* of arguments; counted when there is a limit (max_bytes) */
} troupe_statistics;
/* Sets as many of the members as out->size has room for. Any thread. */
TROUPE_EXPORT void troupe_statistics_get(const troupe_runtime *runtime, troupe_statistics *out);

/* -- Log ----------------------------------------------------------------------------------- */

typedef enum troupe_level {
    TROUPE_LOG_ERROR = 0,
    TROUPE_LOG_WARN,
    TROUPE_LOG_INFO,
    TROUPE_LOG_TRACE
} troupe_level;
/* One finished line without a newline; `id` is stable and listed in doc/log-ids.md. Any thread,
 * one at a time; it must not call troupe. */
typedef void troupe_log_fn(void *arg, troupe_level level, const char *id, const char *line);
/* Where the process's lines go from now on; lines above `level` are not made. NULL: standard
 * error, from WARN. */
TROUPE_EXPORT void troupe_log_to(troupe_log_fn *fn, void *arg, troupe_level level);

#ifdef __cplusplus
}
#endif

#endif
