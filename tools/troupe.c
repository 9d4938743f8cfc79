/* SPDX-License-Identifier: MIT
 *
 * tools/troupe.c - the tool: finds the command, gives help, ends with a status.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/output.h"
#include "tools/say.h"
#include "troupe/troupe.h"

static const struct tp_command commands[] = {
    {"run",
     TP_RUN,
     {"MODEL", NULL},
     "call a function and print or write its results",
     "Call the main function of MODEL, an .onnx or .troupe file, and print its results.\n"
     "Over several devices, graph nodes are placed as the model and --place say; where none "
     "has\n"
     "a wish, they are cut over the devices in order, by balanced work. What Print prints "
     "goes\n"
     "to standard error.",
     tp_cmd_run},
    {"show",
     TP_SHOW,
     {"MODEL", NULL},
     "show how a function would be placed, and what would cross",
     "Show the main function of MODEL: arguments and results, graph nodes with their devices "
     "and\n"
     "the reason for each, shards, and the edges between them. Nothing runs.",
     tp_cmd_show},
    {"explain",
     TP_EXPLAIN,
     {"MODEL", "NODE", NULL},
     "explain why one graph node is where it is",
     "Show the chain of rules that places graph node NODE of MODEL. Nothing runs.",
     tp_cmd_explain},
    {"convert",
     TP_CONVERT,
     {"MODEL", NULL},
     "write a model to a .troupe file",
     "Write the functions of MODEL, an .onnx or .troupe file, to FILE, which every command "
     "takes\n"
     "as a MODEL: in binary form, which is exact and loads fast, or as a text to read and "
     "edit.\n"
     "FILE has a version and a checksum, and appears whole or not at all.",
     tp_cmd_convert},
    {"devices",
     TP_DEVICES,
     {NULL},
     "list devices",
     "List the devices that a runtime would have.",
     tp_cmd_devices},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int show_help(void)
{
    puts("Usage: troupe COMMAND [OPTION]... [OPERAND]...\n"
         "Run dataflow functions, ONNX models among them, across devices.\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-8s  %s\n", commands[i].name, commands[i].summary);
    puts("\n  --help     print this help; 'troupe COMMAND --help' for one command\n"
         "  --version  print the version\n\n"
         "Status: 0 it worked, 1 it failed, 2 the command line is wrong, 130 cancelled by "
         "Ctrl-C.\n"
         "See troupe(1), and the README for the library.");
    return TP_EXIT_OK;
}

static int show_version(void)
{
    printf("troupe %s\n"
           "Copyright (c) the troupe authors\n"
           "Licence MIT: <https://opensource.org/license/mit>.\n"
           "There is no warranty, to the extent permitted by law.\n",
           troupe_version());
    return TP_EXIT_OK;
}

static int unknown(const char *word)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *kind = word[0] == '-' ? "option" : "command";
    const char *closest = word[0] == '-' ? NULL : tp_say_closest(word, names, COMMANDS);
    return closest ? tp_say_usage("", "%s '%s' is not known (did you mean '%s'?)", kind, word,
                                  closest)
                   : tp_say_usage("", "%s '%s' is not known", kind, word);
}

static int run_command(const struct tp_command *command, int argc, char **argv)
{
    struct tp_options options = {0};
    int status = tp_options_read(command, argc, argv, &options);
    if (!status && options.help)
        tp_options_help(command, stdout);
    else if (!status)
        status = command->run(&options);
    tp_options_fini(&options);
    return status;
}

static int dispatch(int argc, char **argv)
{
    troupe_error err;
    if (troupe_version_check(TROUPE_VERSION_MAJOR, TROUPE_VERSION_MINOR, &err) < 0)
        return tp_say_error(&err);
    if (argc < 2) return tp_say_usage("", "a command is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return show_help();
    if (strcmp(argv[1], "--version") == 0) return show_version();
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    return unknown(argv[1]);
}

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a file that is over a limit is a failure to write it */
    const int status = dispatch(argc, argv);
    const int flushed = tp_output_flush();
    return status ? status : flushed;
}
