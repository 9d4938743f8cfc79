/* SPDX-License-Identifier: MIT
 *
 * bench/run.c - runs every benchmark in several processes and prints the figures together.
 *
 * Each round runs every program once, so that a slow minute of the machine meets all of them.
 * What the programs print (--raw) is collected by name; at the end come one line a name, one
 * line for each of ours that a peer has too (NAME/PEER, ours divided by the peer's), and the
 * figures that are to be reached.
 */
#include "bench/bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS        5
#define MAX_PROGRAMS  32
#define MAX_ARGUMENTS 16
#define TRIES         5 /* of a program, when others disturb it */

/* Run when no program is named, from the folder that this one is in. */
static const char *const default_programs[] = {
    "bench_calls", "bench_loop", "bench_models",     "bench_plan",
    "bench_start", "bench_idle", "peer_onnxruntime", "peer_tensorflow",
};

/* The figures to reach: at most (or at least) `value` in the line's own unit. A name with a
 * slash is our line divided by a peer's. */
struct target {
    const char *name;
    char relation; /* '<': at most, '>': at least */
    double value;
};
static const struct target targets[] = {
    {"run.one", '<', 0.3},
    {"dispatch.one", '<', 0.5},
    {"run.two", '<', 0.6},
    {"edge.alternating", '<', 0.1},
    {"node.chain", '<', 0.025},
    {"scale.threads", '>', 1.7},
    {"flight.call", '<', 0.3},
    {"flight.bytes", '<', 2000},
    {"shards.16us", '>', 1.8},
    {"shards.64us", '>', 1.9},
    {"shards.10ms", '>', 1.95},
    {"shards.16us.paused", '>', 0.95},
    {"shards.64us.paused", '>', 1.2},
    {"loop.asleep.pingpong", '<', 1.3},
    {"start.first", '<', 10},
    {"start.rss", '<', 20},
    {"idle.cpu", '<', 0.1},
    {"plan.1k.four", '<', 2},
    {"plan.100k.four", '<', 2},
    {"plan.1m.four", '<', 2},
    {"plan.bytes.1m.four", '<', 1000},
    {"plan.beside", '<', 1.2},
    {"fashion.1/onnxruntime", '<', 1},
    {"fashion.10/onnxruntime", '<', 1},
    {"fashion.load/onnxruntime", '<', 1},
    {"fashion.first/onnxruntime", '<', 1},
};

struct line {
    char *name, *unit;
    double *values;
    size_t n, room;
    size_t before; /* n when the program in hand was started */
};

struct run {
    char folder[4096];
    const char *programs[MAX_PROGRAMS];
    bool skip[MAX_PROGRAMS];
    size_t n_programs;
    char *args[MAX_ARGUMENTS]; /* for every program; args[0] is its path */
    int n_args;
    int rounds;
    double quiet; /* run a program again while others used more than this, in % of a CPU */
    struct line *lines;
    size_t n_lines;
    bool failed;
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench/run: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void *grow(void *memory, size_t size)
{
    void *p = realloc(memory, size);
    if (!p) die("memory");
    return p;
}

static char *copy(const char *text)
{
    char *p = strdup(text);
    if (!p) die("memory");
    return p;
}

/* -- what the programs print --------------------------------------------------------------- */

static struct line *find(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->n_lines; i++)
        if (strcmp(run->lines[i].name, name) == 0) return &run->lines[i];
    return NULL;
}

/* One that has figures. */
static struct line *find_figures(const struct run *run, const char *name)
{
    struct line *line = find(run, name);
    return line && line->n ? line : NULL;
}

static void add_value(struct run *run, const char *name, const char *unit, double value)
{
    struct line *line = find(run, name);
    if (!line) {
        run->lines = grow(run->lines, (run->n_lines + 1) * sizeof(*run->lines));
        line = &run->lines[run->n_lines++];
        *line = (struct line){.name = copy(name), .unit = copy(unit)};
    }
    if (line->n == line->room) {
        line->room = line->room ? line->room * 2 : 32;
        line->values = grow(line->values, line->room * sizeof(*line->values));
    }
    line->values[line->n++] = value;
}

/* NAME tab UNIT tab VALUE VALUE ...; anything else is passed on. */
static void take_line(struct run *run, char *text)
{
    char *unit = strchr(text, '\t'), *values = unit ? strchr(unit + 1, '\t') : NULL;
    if (!values) {
        fputs(text, stderr);
        return;
    }
    *unit++ = *values++ = '\0';
    for (char *end;; values = end) {
        const double value = strtod(values, &end);
        if (end == values) return;
        add_value(run, text, unit, value);
    }
}

/* -- other people's use of the machine ----------------------------------------------------- */

/* Seconds of CPU time that the whole machine has used; below 0 where it does not say. */
static double machine_busy(void)
{
    double user, nice, system, idle, wait, irq, soft;
    FILE *f = fopen("/proc/stat", "r");
    const int n = !f ? 0
                     : fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system,
                              &idle, &wait, &irq, &soft);
    if (f) fclose(f);
    return n == 7 ? (user + nice + system + irq + soft) / (double)sysconf(_SC_CLK_TCK) : -1;
}

static double used_by(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double others_busy(void)
{
    return machine_busy() - used_by(RUSAGE_CHILDREN) - used_by(RUSAGE_SELF);
}

/* -- running ------------------------------------------------------------------------------- */

static pid_t start(struct run *run, const char *program, FILE **out)
{
    char path[sizeof(run->folder) + 256];
    int fds[2];
    snprintf(path, sizeof(path), "%s/%s", run->folder, program);
    if (pipe(fds) != 0) die("pipe");
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        run->args[0] = path;
        execv(path, run->args);
        die(path);
    }
    close(fds[1]);
    *out = fdopen(fds[0], "r");
    if (!*out) die("pipe");
    return pid;
}

/* What the program in hand printed is not to count. */
static void take_back(struct run *run)
{
    for (size_t i = 0; i < run->n_lines; i++)
        run->lines[i].n = run->lines[i].before;
}

/* Returns what others used meanwhile, in percent of a CPU. */
static double run_once(struct run *run, size_t which)
{
    char *text = NULL;
    size_t room = 0;
    int status = 0;
    FILE *out;
    for (size_t i = 0; i < run->n_lines; i++)
        run->lines[i].before = run->lines[i].n;
    const double others = others_busy();
    const uint64_t began = bench_now_ns();
    const pid_t pid = start(run, run->programs[which], &out);
    while (getline(&text, &room, out) > 0)
        take_line(run, text);
    free(text);
    fclose(out);
    waitpid(pid, &status, 0);
    run->skip[which] = WIFEXITED(status) && WEXITSTATUS(status) == BENCH_SKIPPED;
    if (status != 0 && !run->skip[which]) {
        fprintf(stderr, "bench/run: %s failed\n", run->programs[which]);
        run->failed = true;
    }
    return 100 * (others_busy() - others) / ((double)(bench_now_ns() - began) / 1e9);
}

static void run_program(struct run *run, size_t which)
{
    double others = run_once(run, which);
    for (int i = 1; i < TRIES && others > run->quiet && !run->skip[which]; i++) {
        take_back(run);
        others = run_once(run, which);
    }
    if (!run->skip[which]) add_value(run, "machine.others", "% of a CPU", others);
}

/* -- what is printed ----------------------------------------------------------------------- */

static double median(const struct line *line)
{
    return bench_summarise(line->values, line->n).median;
}

static void print_lines(const struct run *run)
{
    printf("%-36s %10s %10s %10s  %s\n", "name", "median", "min", "max", "unit");
    for (size_t i = 0; i < run->n_lines; i++) {
        const struct line *line = &run->lines[i];
        if (!line->n) continue;
        const struct bench_summary summary = bench_summarise(line->values, line->n);
        bench_print(stdout, line->name, line->unit, &summary);
    }
}

/* Our line divided by the peer's: `name` is OURS/PEER. False when one of them is missing. */
static bool find_ratio(const struct run *run, const char *name, double *ratio)
{
    const char *slash = strchr(name, '/');
    char *other = copy(name);
    other[slash - name] = '\0';
    const struct line *ours = find_figures(run, other);
    other[slash - name] = '@';
    const struct line *theirs = find_figures(run, other);
    free(other);
    if (!ours || !theirs || median(theirs) == 0) return false;
    *ratio = median(ours) / median(theirs);
    return true;
}

static void print_ratios(const struct run *run)
{
    for (size_t i = 0; i < run->n_lines; i++) {
        const char *at = strchr(run->lines[i].name, '@');
        if (!at) continue;
        char *name = copy(run->lines[i].name), text[32];
        double ratio;
        name[at - run->lines[i].name] = '/';
        if (find_ratio(run, name, &ratio)) {
            bench_show(ratio, text);
            printf("%-36s %10s\n", name, text);
        }
        free(name);
    }
}

static bool find_figure(const struct run *run, const char *name, double *figure)
{
    if (strchr(name, '/')) return find_ratio(run, name, figure);
    const struct line *line = find_figures(run, name);
    if (line) *figure = median(line);
    return line != NULL;
}

static void print_targets(const struct run *run)
{
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        const struct target *t = &targets[i];
        double got;
        char text[32], goal[32];
        if (!find_figure(run, t->name, &got)) continue;
        const bool met = t->relation == '<' ? got <= t->value : got >= t->value;
        bench_show(got, text);
        bench_show(t->value, goal);
        printf("target %-29s %10s  at %s %s: %s\n", t->name, text,
               t->relation == '<' ? "most" : "least", goal, met ? "met" : "missed");
    }
}

/* -- the command --------------------------------------------------------------------------- */

static _Noreturn void usage(int status)
{
    fprintf(
        status ? stderr : stdout,
        "usage: bench/run [-n ROUNDS] [-q PERCENT] [PROGRAM]... [-- OPTION...]\n"
        "Runs each PROGRAM (default: all) ROUNDS times (default %d), each time in a new\n"
        "process, and prints the figures of all rounds: name, median, min, max, unit. With\n"
        "-q a program is run again, %d times in all at most, when other processes used more\n"
        "than PERCENT of a CPU meanwhile. Each OPTION is handed to every program;\n"
        "`bench/bench_calls --help` lists them.\n",
        ROUNDS, TRIES);
    exit(status);
}

static double number(const char *text, double min, double max)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= min && value <= max)) usage(2);
    return value;
}

static void take_arguments(struct run *run, int argc, char **argv)
{
    int i = 1;
    run->args[run->n_args++] = NULL;
    run->args[run->n_args++] = copy("--raw");
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            run->rounds = (int)number(argv[++i], 1, 1000);
        else if (strcmp(argv[i], "-q") == 0 && i + 1 < argc)
            run->quiet = number(argv[++i], 0, 1e6);
        else if (argv[i][0] == '-')
            usage(strcmp(argv[i], "--help") == 0 ? 0 : 2);
        else if (run->n_programs < MAX_PROGRAMS)
            run->programs[run->n_programs++] = argv[i];
    }
    for (i++; i < argc && run->n_args < MAX_ARGUMENTS - 1; i++)
        run->args[run->n_args++] = copy(argv[i]);
}

static void take_default_programs(struct run *run)
{
    memcpy(run->programs, default_programs, sizeof(default_programs));
    run->n_programs = sizeof(default_programs) / sizeof(default_programs[0]);
}

static void find_folder(struct run *run, const char *self)
{
    snprintf(run->folder, sizeof(run->folder), "%s", self);
    char *slash = strrchr(run->folder, '/');
    if (slash)
        *slash = '\0';
    else
        snprintf(run->folder, sizeof(run->folder), ".");
}

static void release(struct run *run)
{
    for (size_t i = 0; i < run->n_lines; i++) {
        free(run->lines[i].name);
        free(run->lines[i].unit);
        free(run->lines[i].values);
    }
    free(run->lines);
    for (int i = 1; i < run->n_args; i++)
        free(run->args[i]);
}

int main(int argc, char **argv)
{
    struct run run = {.rounds = ROUNDS, .quiet = HUGE_VAL};
    find_folder(&run, argv[0]);
    take_arguments(&run, argc, argv);
    if (run.n_programs == 0) take_default_programs(&run);
    for (int round = 0; round < run.rounds; round++)
        for (size_t i = 0; i < run.n_programs; i++)
            if (!run.skip[i]) run_program(&run, i);
    print_lines(&run);
    print_ratios(&run);
    print_targets(&run);
    release(&run);
    return run.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
