/* SPDX-License-Identifier: MIT
 *
 * base/log.c - make a line and hand it to the sink, one at a time.
 *
 * The sink is the process's, as standard error is: the state below is the only one, read
 * without the lock only to see whether a line is wanted. A line that is logged by the sink
 * itself is dropped, since the lock is held by its own thread then.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/thread.h"

#define LINE_SIZE 2048

static struct {
    struct tp_lock lock; /* guards sink and arg, and is held while a sink runs */
    tp_log_sink *sink;
    void *arg;
    atomic_int level; /* relaxed: a line more or less around a change is no harm */
} logger = {.lock = TP_LOCK_INIT, .level = TP_LOG_WARN};

static _Thread_local bool in_sink;

static const char *const level_names[] = {"ERROR", "WARN", "INFO", "TRACE"};

void tp_log_set(tp_log_sink *sink, void *arg, enum tp_level level)
{
    if (!in_sink) tp_lock_take(&logger.lock);
    logger.sink = sink;
    logger.arg = arg;
    atomic_store_explicit(&logger.level, (int)level, memory_order_relaxed);
    if (!in_sink) tp_lock_drop(&logger.lock);
}

int tp_log_wanted(enum tp_level level)
{
    return (int)level <= atomic_load_explicit(&logger.level, memory_order_relaxed);
}

/* What a name from outside holds must not look like a line of ours. */
static void blank_controls(char *line)
{
    for (; *line; line++) {
        if ((unsigned char)*line < ' ' || *line == 0x7f) *line = ' ';
    }
}

static void deliver(enum tp_level level, const char *id, const char *line)
{
    tp_lock_take(&logger.lock);
    in_sink = true;
    if (logger.sink) {
        logger.sink(logger.arg, (troupe_level)level, id, line);
    } else {
        fprintf(stderr, "troupe: %s\n", line);
    }
    in_sink = false;
    tp_lock_drop(&logger.lock);
}

void tp_log_line(enum tp_level level, const char *id, const char *fmt, ...)
{
    char line[LINE_SIZE];
    if (in_sink) return; /* see above */
    const int head = snprintf(line, sizeof(line), "%s %s: ", level_names[level], id);
    if (head < 0 || (size_t)head >= sizeof(line)) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + head, sizeof(line) - (size_t)head, fmt, args);
    va_end(args);
    blank_controls(line);
    deliver(level, id, line);
}
