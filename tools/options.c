/* SPDX-License-Identifier: MIT
 *
 * tools/options.c - the table of options, and the reader over it.
 */
#include "tools/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/say.h"

/* How an option's value is read, and so what type its member of struct tp_options has. */
enum kind { FLAG, TEXT, COUNT, SECONDS, INPUT, PLUGIN };

struct row {
    char letter; /* 0: it has a long name only */
    const char *name, *value;
    unsigned commands;
    enum kind kind;
    size_t offset;
    const char *help;
};

#define AT(member) offsetof(struct tp_options, member)
enum { PLACED = TP_RUN | TP_SHOW | TP_EXPLAIN };

/* clang-format off */
static const struct row rows[] = {
    {'i', "input", "NAME=VALUE", TP_RUN, INPUT, AT(inputs),
     "give argument NAME a value: FILE.npy, zeros, or random:SEED"},
    {'o', "output", "DIR", TP_RUN, TEXT, AT(output),
     "write each result to DIR/NAME.npy instead of printing it"},
    {'o', "output", "FILE", TP_CONVERT, TEXT, AT(output),
     "write to FILE"},
    {0, "text", NULL, TP_CONVERT, FLAG, AT(text),
     "write a text, its larger constants in FILE.d; default: one file in binary form"},
    {0, "devices", "LIST", PLACED | TP_DEVICES, TEXT, AT(devices),
     "use these devices, as in 'cpu:0,cpu:1(threads=2,memory=1G)'; default: cpu:0"},
    {0, "place", "FILE", PLACED, TEXT, AT(place),
     "place graph nodes by the rules of FILE, one 'PATTERN DEVICE' a line"},
    {0, "plugin", "FILE", PLACED | TP_CONVERT, PLUGIN, AT(plugins),
     "also take operators from this shared object; may be given again"},
    {0, "soft", NULL, PLACED, FLAG, AT(soft),
     "relax what cannot be placed as it asks, and say what was relaxed"},
    {0, "call", "NAME", PLACED, TEXT, AT(call),
     "take function NAME of the file instead of its main one"},
    {0, "repeat", "N", TP_RUN, COUNT, AT(repeat),
     "call N times and say how long a call took"},
    {0, "deadline", "SECONDS", TP_RUN, SECONDS, AT(deadline),
     "give up a call that takes longer"},
    {0, "profile", NULL, TP_RUN, FLAG, AT(profile),
     "measure the last call and print where its time went"},
    {0, "wire", NULL, TP_RUN, FLAG, AT(wire),
     "send every message through its wire form: slower, and the same results"},
    {0, "json", NULL, TP_RUN | TP_SHOW | TP_DEVICES, FLAG, AT(json),
     "print JSON"},
    {0, "dot", NULL, TP_SHOW, FLAG, AT(dot),
     "print a graph for Graphviz"},
    {0, "operators", NULL, TP_SHOW, FLAG, AT(operators),
     "list the operators that a graph node may have; takes no MODEL"},
    {'h', "help", NULL, ~0u, FLAG, AT(help),
     "print this help"},
};
/* clang-format on */

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* -- Values ------------------------------------------------------------------------------- */

static int read_count(const struct tp_command *command, const struct row *row,
                      const char *value, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long n = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || n == 0)
        return tp_say_usage(command->name, "--%s wants a number from 1 on, not '%s'", row->name,
                            value);
    *out = n;
    return TP_EXIT_OK;
}

static int read_seconds(const struct tp_command *command, const struct row *row,
                        const char *value, double *out)
{
    char *end = NULL;
    const double seconds = strtod(value, &end);
    if (end == value || *end || !isfinite(seconds) || seconds <= 0)
        return tp_say_usage(command->name, "--%s wants seconds above 0, not '%s'", row->name,
                            value);
    *out = seconds;
    return TP_EXIT_OK;
}

static int add_to(const char ***list, size_t *n, const char *value)
{
    const char **grown = reallocarray(*list, *n + 1, sizeof(char *));
    if (!grown) return tp_say_memory();
    *list = grown;
    grown[(*n)++] = value;
    return TP_EXIT_OK;
}

static int take(const struct tp_command *command, const struct row *row, const char *value,
                struct tp_options *out)
{
    void *member = (char *)out + row->offset;
    switch (row->kind) {
    case FLAG:
        *(bool *)member = true;
        return TP_EXIT_OK;
    case TEXT:
        *(const char **)member = value;
        return TP_EXIT_OK;
    case COUNT:
        return read_count(command, row, value, member);
    case SECONDS:
        return read_seconds(command, row, value, member);
    case INPUT:
        return add_to(&out->inputs, &out->n_inputs, value);
    case PLUGIN:
        return add_to(&out->plugins, &out->n_plugins, value);
    }
    return TP_EXIT_OK;
}

/* -- The line ----------------------------------------------------------------------------- */

/* What getopt_long wants of the rows that the command has; `val` is the row's index + 256, so
 * that no letter is among them. */
struct getopt_tables {
    char letters[2 * ROWS + 3];
    struct option longs[ROWS + 1];
};

static void make_tables(const struct tp_command *command, struct getopt_tables *out)
{
    size_t n = 0, at = 0;
    out->letters[at++] = ':'; /* a missing value is told apart */
    for (size_t i = 0; i < ROWS; i++) {
        if (!(rows[i].commands & command->bit)) continue;
        const int takes = rows[i].value ? required_argument : no_argument;
        out->longs[n++] = (struct option){rows[i].name, takes, NULL, (int)i + 256};
        if (rows[i].letter) out->letters[at++] = rows[i].letter;
        if (rows[i].letter && rows[i].value) out->letters[at++] = ':';
    }
    out->letters[at] = '\0';
    out->longs[n] = (struct option){0};
}

static const struct row *row_of(const struct tp_command *command, int code)
{
    if (code >= 256 && code < 256 + ROWS) return &rows[code - 256];
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].letter == code && rows[i].commands & command->bit) return &rows[i];
    return NULL;
}

/* `word` is no long option of the command; say which one was probably meant. */
static int unknown_long(const struct tp_command *command, const struct getopt_tables *tables,
                        const char *word)
{
    const char *names[ROWS];
    size_t n = 0;
    for (; tables->longs[n].name; n++) {
        names[n] = tables->longs[n].name;
        if (*word && strncmp(names[n], word, strlen(word)) == 0)
            return tp_say_usage(command->name, "option '--%s' may stand for several", word);
    }
    const char *closest = tp_say_closest(word, names, n);
    return closest ? tp_say_usage(command->name,
                                  "option '--%s' is not known (did you mean '--%s'?)", word,
                                  closest)
                   : tp_say_usage(command->name, "option '--%s' is not known", word);
}

/* getopt_long found no option; optopt is 0, the letter, or the code of a long option. */
static int unknown(const struct tp_command *command, const struct getopt_tables *tables,
                   const char *given)
{
    const struct row *row = row_of(command, optopt);
    char word[64] = "";
    if (optopt >= 256 && row)
        return tp_say_usage(command->name, "option '--%s' takes no value", row->name);
    if (optopt != 0) return tp_say_usage(command->name, "option '-%c' is not known", optopt);
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(given + 2, "="), given + 2);
    return unknown_long(command, tables, word);
}

static int missing_value(const struct tp_command *command)
{
    const struct row *row = row_of(command, optopt);
    return tp_say_usage(command->name, "option '--%s' wants %s", row->name, row->value);
}

static int read_line(const struct tp_command *command, const struct getopt_tables *tables,
                     int argc, char **argv, struct tp_options *out)
{
    optind = 0; /* begins anew, also with glibc's own state */
    opterr = 0;
    for (;;) {
        const int code = getopt_long(argc, argv, tables->letters, tables->longs, NULL);
        if (code < 0) return TP_EXIT_OK;
        if (code == ':') return missing_value(command);
        if (code == '?') return unknown(command, tables, argv[optind - 1]);
        const int status = take(command, row_of(command, code), optarg, out);
        if (status) return status;
    }
}

static int take_operands(const struct tp_command *command, int argc, char **argv,
                         struct tp_options *out)
{
    size_t n = 0;
    for (int i = optind; i < argc; i++, n++) {
        if (n >= 2 || !command->operands[n])
            return tp_say_usage(command->name, "'%s' is one operand too many", argv[i]);
        out->operands[n] = argv[i];
    }
    if (out->help || (out->operators && n == 0)) return TP_EXIT_OK;
    if (out->operators)
        return tp_say_usage(command->name, "--operators takes no %s", command->operands[0]);
    if (command->operands[n])
        return tp_say_usage(command->name, "%s is missing", command->operands[n]);
    return TP_EXIT_OK;
}

int tp_options_read(const struct tp_command *command, int argc, char **argv,
                    struct tp_options *out)
{
    struct getopt_tables tables;
    make_tables(command, &tables);
    const int status = read_line(command, &tables, argc, argv, out);
    if (status) return status;
    if (out->json && out->dot)
        return tp_say_usage(command->name, "--json and --dot exclude each other");
    return take_operands(command, argc, argv, out);
}

void tp_options_fini(struct tp_options *options)
{
    free(options->inputs);
    free(options->plugins);
    *options = (struct tp_options){0};
}

/* -- Help --------------------------------------------------------------------------------- */

static void show_row(const struct row *row, FILE *to)
{
    char left[40] = "";
    snprintf(left, sizeof(left), "%c%c%c --%s%s%s", row->letter ? '-' : ' ',
             row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
             row->value ? "=" : "", row->value ? row->value : "");
    fprintf(to, "  %-24s  %s\n", left, row->help);
}

void tp_options_help(const struct tp_command *command, FILE *to)
{
    fprintf(to, "Usage: troupe %s [OPTION]...", command->name);
    for (size_t i = 0; command->operands[i]; i++)
        fprintf(to, " %s", command->operands[i]);
    fprintf(to, "\n%s\n\n", command->about);
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].commands & command->bit) show_row(&rows[i], to);
}
