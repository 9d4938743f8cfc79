/* SPDX-License-Identifier: MIT
 *
 * base/fail.c - fill in a troupe_error, add context to it, and end on a broken assertion.
 *
 * A text that does not fit ends with "..." and is never cut inside a UTF-8 sequence. Texts are
 * made in a local first, since an argument may be the very text that is replaced.
 */
#include "base/fail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE sizeof(((troupe_error *)0)->text)
#define MARK      "..."
#define MARK_SIZE (sizeof(MARK) - 1)

/* What a context may take when it and the text are too long together. */
#define CONTEXT_SIZE 96

const char *troupe_status_name(troupe_status status)
{
    switch (status) {
#define X(name, value, text)                                                                   \
    case TROUPE_##name:                                                                        \
        return #name;
        TROUPE_STATUS_MAP(X)
#undef X
    case TROUPE_OK:
        return "OK";
    case TROUPE_PENDING:
        return "PENDING";
    case TROUPE_BUSY:
        return "BUSY";
    case TROUPE_END:
        return "END";
    }
    return "UNKNOWN";
}

troupe_status tp_fail_code(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return TROUPE_NOT_FOUND;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return TROUPE_EXHAUSTED;
    case EIO:
        return TROUPE_DEVICE;
    default:
        return TROUPE_INVALID;
    }
}

static int continues_utf8(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* End text[0..size) with the mark, somewhere at or before its end. */
static void mark_cut(char *text, size_t size)
{
    size_t end = size - 1 - MARK_SIZE;
    while (end > 0 && continues_utf8(text[end]))
        end--;
    memcpy(text + end, MARK, MARK_SIZE + 1);
}

TROUPE_PRINTF(3, 0)
static void print_cut(char *text, size_t size, const char *fmt, va_list args)
{
    const int n = vsnprintf(text, size, fmt, args);
    if (n < 0) text[0] = 0;
    if (n >= 0 && (size_t)n >= size) mark_cut(text, size);
}

troupe_status tp_failv(troupe_error *err, troupe_status code, const char *fmt, va_list args)
{
    if (!err) return code;
    char text[TEXT_SIZE];
    print_cut(text, sizeof(text), fmt, args);
    err->code = code;
    memcpy(err->text, text, strlen(text) + 1);
    return code;
}

troupe_status tp_fail(troupe_error *err, troupe_status code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tp_failv(err, code, fmt, args);
    va_end(args);
    return code;
}

/* The end of a context says more than its start (a path's file, a function's innermost name).
 */
static const char *shorten(char *who, size_t text_size)
{
    const size_t size = strlen(who);
    if (size <= CONTEXT_SIZE || size + 2 + text_size < TEXT_SIZE) return who;
    char *tail = who + size - CONTEXT_SIZE + MARK_SIZE;
    while (continues_utf8(*tail))
        tail++;
    memcpy(tail - MARK_SIZE, MARK, MARK_SIZE);
    return tail - MARK_SIZE;
}

TROUPE_PRINTF(3, 4)
static void print_into(char *text, size_t size, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_cut(text, size, fmt, args);
    va_end(args);
}

void tp_fail_in(troupe_error *err, const char *fmt, ...)
{
    if (!err) return;
    char who[2 * TEXT_SIZE], text[TEXT_SIZE];
    va_list args;
    va_start(args, fmt);
    print_cut(who, sizeof(who), fmt, args);
    va_end(args);
    print_into(text, sizeof(text), "%s: %s", shorten(who, strlen(err->text)), err->text);
    memcpy(err->text, text, strlen(text) + 1);
}

_Noreturn void tp_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "troupe: %s:%d: assertion failed: %s\n", file, line, expr);
    abort();
}
