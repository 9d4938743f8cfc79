/* SPDX-License-Identifier: MIT
 *
 * troupe/status.h - how every troupe call reports success and failure.
 *
 *   0          it worked
 *   negative   it failed; *err says why, and the caller passes it up
 *   positive   a documented outcome of that one call (for example
 *              TROUPE_PENDING); the caller handles it, never passes it up
 *
 * In every function an `err` argument may be NULL and is written only on failure; outputs are
 * written only on success. NULL in the place of what is needed is INVALID, and the text names
 * the argument; what destroys, releases or closes takes NULL; what answers without a status
 * gives nothing for it: 0, NULL, false, TROUPE_DTYPE_NONE, no descriptor (-1).
 */
#ifndef TROUPE_STATUS_H
#define TROUPE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TROUPE_MUST_CHECK   __attribute__((warn_unused_result))
#define TROUPE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TROUPE_EXPORT       __attribute__((visibility("default")))
#else
#define TROUPE_MUST_CHECK
#define TROUPE_PRINTF(f, a)
#define TROUPE_EXPORT
#endif

/* Every failure: its name, its value, and what it means. The code tells a caller what to do:
 * mend the function (INVALID), wait or shrink (EXHAUSTED), try elsewhere (UNREACHABLE, DEVICE),
 * report (INTERNAL). Values never change. */
#define TROUPE_STATUS_MAP(X)                                                                   \
    X(CANCELLED, -1, "the caller cancelled the call")                                          \
    X(INVALID, -2, "an argument or a function is malformed")                                   \
    X(NOT_FOUND, -3, "no such function, device or file")                                       \
    X(EXHAUSTED, -4, "out of memory or over a quota")                                          \
    X(UNSUPPORTED, -5, "no device here can run that")                                          \
    X(TIMED_OUT, -6, "the deadline passed first")                                              \
    X(UNREACHABLE, -7, "a peer is gone or does not answer")                                    \
    X(CORRUPT, -8, "bytes from outside do not decode")                                         \
    X(DEVICE, -9, "the device or its driver failed")                                           \
    X(INTERNAL, -10, "a bug in troupe itself")

/* clang-format off */
typedef enum troupe_status {
#define X(name, value, text) TROUPE_##name = value,
    TROUPE_STATUS_MAP(X)
#undef X
    TROUPE_OK = 0,
    TROUPE_PENDING = 1, /* nothing to take now, or not ended yet; try again after the next event */
    TROUPE_BUSY = 2,    /* over an admission limit; nothing was started */
    TROUPE_END = 3      /* a queue or a data source is at its end */
} troupe_status;
/* clang-format on */

/* A failure in full. Plain data: copy it, put it in a message, never free it. */
typedef struct troupe_error {
    troupe_status code;
    char text[240]; /* "node 'mul_3': shapes [2,3] and [4] do not broadcast"; no full stop */
} troupe_error;

/* "INVALID", "OK", "PENDING", ...; "UNKNOWN" for a value that is none of them. Any thread. */
TROUPE_EXPORT const char *troupe_status_name(troupe_status status);

#ifdef __cplusplus
}
#endif

#endif
