/* SPDX-License-Identifier: MIT
 *
 * tools/say.h - what the tool says on standard error, and the status that it ends with.
 *
 * A failure is one line: "troupe: ", the place where there is one, one sentence. What comes
 * from a model or a file may hold any byte, so control characters are written as \xNN.
 */
#ifndef TP_TOOLS_SAY_H
#define TP_TOOLS_SAY_H

#include <stddef.h>
#include <stdio.h>

#include "troupe/status.h"

/* Exit statuses; scripts rely on them. */
enum tp_exit {
    TP_EXIT_OK = 0,
    TP_EXIT_FAILURE = 1,
    TP_EXIT_USAGE = 2,        /* the command line itself is wrong */
    TP_EXIT_INTERRUPTED = 130 /* by Ctrl-C, as a shell would report it */
};

/* Print the sentence; give TP_EXIT_FAILURE. */
int tp_say_failure(const char *fmt, ...) TROUPE_PRINTF(1, 2);
/* As above for a failure of the library's, which names its place itself. */
int tp_say_error(const troupe_error *error);
/* There is no memory. */
int tp_say_memory(void);
/* Print the sentence and where help is; give TP_EXIT_USAGE. command "": the tool's own help. */
int tp_say_usage(const char *command, const char *fmt, ...) TROUPE_PRINTF(2, 3);

/* Write text with control characters as \xNN; `keep` are those that stay ("\n"). */
void tp_say_text(FILE *to, const char *text, const char *keep);

/* The word of words[0..n) that is closest to `word`, or NULL when none is close. */
const char *tp_say_closest(const char *word, const char *const *words, size_t n);

#endif
