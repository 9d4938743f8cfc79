/* SPDX-License-Identifier: MIT
 *
 * base/log.h - lines with a level and a stable id, to one sink.
 *
 * tp_log(WARN, "mailbox-slow", "..."): an id never changes once it was released and is listed
 * in doc/log-ids.md. Any thread. A runtime's sink is set by troupe_log_to in troupe/troupe.h.
 */
#ifndef TP_BASE_LOG_H
#define TP_BASE_LOG_H

#include "troupe/troupe.h"

/* The values of troupe_level. */
enum tp_level { TP_LOG_ERROR, TP_LOG_WARN, TP_LOG_INFO, TP_LOG_TRACE };

/* Called with one finished line, from any thread, one at a time. The line is "WARN
 * mailbox-slow: what happened", without a newline or other control characters, cut at 2047
 * bytes. It must not wait for a thread that logs; what it logs itself is dropped. */
typedef troupe_log_fn tp_log_sink;

/* NULL: standard error, each line after "troupe: ", as it is at first, from WARN up. Lines
 * above `level` are not made. When it returns the former sink runs no more, unless this is
 * called by that sink itself. */
void tp_log_set(tp_log_sink *sink, void *arg, enum tp_level level);
int tp_log_wanted(enum tp_level level);
void tp_log_line(enum tp_level level, const char *id, const char *fmt, ...) TROUPE_PRINTF(3, 4);

#define tp_log(level, id, ...)                                                                 \
    do {                                                                                       \
        if (tp_log_wanted(TP_LOG_##level)) tp_log_line(TP_LOG_##level, (id), __VA_ARGS__);     \
    } while (0)

#endif
