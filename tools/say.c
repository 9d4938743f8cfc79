/* SPDX-License-Identifier: MIT
 *
 * tools/say.c - sentences on standard error, and the word that was probably meant.
 */
#include "tools/say.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_WORD = 64 };

void tp_say_text(FILE *to, const char *text, const char *keep)
{
    for (const char *c = text; *c; c++) {
        const unsigned char byte = (unsigned char)*c;
        if ((byte >= 0x20 && byte != 0x7f) || strchr(keep, *c))
            fputc(byte, to);
        else
            fprintf(to, "\\x%02x", byte);
    }
}

/* Print a sentence without its end of line; the arguments may be of any length. */
static void TROUPE_PRINTF(1, 0) say(const char *fmt, va_list args)
{
    char *text = NULL;
    fputs("troupe: ", stderr);
    if (vasprintf(&text, fmt, args) < 0) {
        fputs("out of memory", stderr);
        return;
    }
    tp_say_text(stderr, text, "");
    free(text);
}

int tp_say_failure(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return TP_EXIT_FAILURE;
}

int tp_say_error(const troupe_error *error)
{
    return tp_say_failure("%s", error->text);
}

int tp_say_memory(void)
{
    return tp_say_failure("out of memory");
}

int tp_say_usage(const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    fprintf(stderr, "; see 'troupe %s%s--help'\n", command, *command ? " " : "");
    return TP_EXIT_USAGE;
}

static size_t least(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Letters to insert, remove or replace to make one word of the other; both are short. */
static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST_WORD + 1];
    const size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
            corner = above;
        }
    }
    return row[n];
}

const char *tp_say_closest(const char *word, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t nearest = 1 + strlen(word) / 3; /* farther than that is another word */
    if (strlen(word) > LONGEST_WORD) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!words[i] || strlen(words[i]) > LONGEST_WORD) continue;
        const size_t far = distance(word, words[i]);
        if (far > nearest || (best && far == nearest)) continue;
        nearest = far;
        best = words[i];
    }
    return best;
}
