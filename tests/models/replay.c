/* SPDX-License-Identifier: MIT
 *
 * tests/models/replay.c - plays the schedule of a model against the code: replay MODEL SCHEDULE.
 *
 * Its status is 0 when all that the model promises held, 1 when not. It says how much of the schedule the
 * code followed. tests/models/run.sh builds it with the points in, and looks at both.
 */
#include "tests/models/replay.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

static const struct scene {
    const char *name;
    void (*play)(void);
} scenes[] = {
    {"mailbox", replay_mailbox},
    {"stage", replay_stage},
};

void bad(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("bad: ");
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    _exit(1); /* threads may still run, or sleep for ever */
}

void hold(bool holds, const char *what)
{
    if (!holds) bad("%s", what);
}

void need(troupe_status status)
{
    if (!status) return;
    fprintf(stderr, "replay: %s\n", troupe_status_name(status));
    _exit(2);
}

struct tp_stage *scene_stage(int workers)
{
    struct tp_stage *stage;
    const struct tp_stage_options options = {.devices = 1};
    need(tp_stage_open(&stage, &options, NULL));
    stage->workers = workers;
    stage->shares = true;
    stage->cpus = TP_WORKERS_MAX; /* the number of this machine's is no matter */
    stage->spin_us = pace_setting("spin", 0) * 1000;
    return stage;
}

struct tp_seat *scene_seat(struct tp_stage *stage, bool worker)
{
    struct tp_seat *seat;
    need(tp_seat_new(stage, worker, &seat, NULL));
    return seat;
}

struct tp_message *scene_message(enum tp_kind kind, uint32_t estimate)
{
    struct tp_message *message;
    need(tp_message_new(&message, kind, NULL));
    message->estimate = estimate;
    return message;
}

/* A fault may well crash. */
static void on_signal(int number)
{
    static const char text[] = "bad: a crash\n";
    (void)number;
    (void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
    _exit(1);
}

int main(int argc, char **argv)
{
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    if (argc != 3) {
        fprintf(stderr, "usage: replay MODEL SCHEDULE\n");
        return 2;
    }
    pace_read(argv[2]);
    for (size_t i = 0; i < TP_COUNT(scenes); i++) {
        if (strcmp(scenes[i].name, argv[1])) continue;
        scenes[i].play();
        printf("good\n");
        return 0;
    }
    fprintf(stderr, "replay: there is no scene '%s'\n", argv[1]);
    return 2;
}
