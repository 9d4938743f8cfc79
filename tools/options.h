/* SPDX-License-Identifier: MIT
 *
 * tools/options.h - the command line: one table of options, read by getopt_long and by --help.
 */
#ifndef TP_TOOLS_OPTIONS_H
#define TP_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the commands understand. Texts are the command line's. Zeroed is valid. */
struct tp_options {
    const char *operands[2]; /* MODEL, NODE; NULL when not given */
    const char **inputs;     /* NAME=VALUE each, in their order; owned, the texts are not */
    size_t n_inputs;
    const char **plugins; /* files, in their order; likewise */
    size_t n_plugins;
    const char *output;  /* a folder, for convert a file; or NULL */
    const char *devices; /* a list, or NULL */
    const char *place;   /* a file of rules, or NULL */
    const char *call;    /* a function's name, or NULL */
    uint64_t repeat;     /* calls to make; 0: not given */
    double deadline;     /* seconds for each call; 0: none */
    bool soft, profile, wire, text, json, dot, operators, help;
};

/* One command: a bit of its own for the table of options, and what --help says. */
struct tp_command {
    const char *name;
    unsigned bit;
    const char *operands[3]; /* names, in order; the list ends with NULL */
    const char *summary;     /* a phrase for the list of commands */
    const char *about;       /* lines for the command's own help */
    int (*run)(const struct tp_options *options);
};

enum { TP_RUN = 1, TP_SHOW = 2, TP_EXPLAIN = 4, TP_DEVICES = 8, TP_CONVERT = 16 };

/* Read argv[1..argc), argv[0] being the command's name. Gives an exit status: TP_EXIT_OK, or
 * TP_EXIT_USAGE after a sentence. *out is to be finished in either case. */
int tp_options_read(const struct tp_command *command, int argc, char **argv,
                    struct tp_options *out);
void tp_options_fini(struct tp_options *options);

/* The command's help. */
void tp_options_help(const struct tp_command *command, FILE *to);

#endif
