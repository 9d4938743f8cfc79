/* SPDX-License-Identifier: MIT
 *
 * tests/models/pace.c - one thread after the other, as a schedule says.
 */
#include "tests/models/pace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORD      24
#define LINES_MAX 4000
#define PATIENCE  4 /* seconds, for a thread to come, or to end when all are free */

struct line {
    char first[WORD], second[WORD];
};

struct list {
    struct line lines[LINES_MAX];
    int n;
};

static struct list steps, settings, watched;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static bool begun, released; /* all wait for the begin; nobody waits any more */
static int at;               /* the next step */
static int threads;          /* of the scene that have not ended */
static const char *moving;   /* the thread that has not come to a point since its step */
static _Thread_local const char *me;

/* -- The schedule -------------------------------------------------------------------------- */

static void add(struct list *list, const char *first, const char *second)
{
    if (list->n == LINES_MAX) {
        fprintf(stderr, "replay: more than %d lines\n", LINES_MAX);
        exit(2);
    }
    struct line *line = &list->lines[list->n++];
    snprintf(line->first, WORD, "%s", first);
    snprintf(line->second, WORD, "%s", second ? second : "");
}

static void read_line(char *text)
{
    char *rest, *kind = strtok_r(text, " \n", &rest);
    if (!kind) return;
    if (strcmp(kind, "WATCH") == 0)
        for (char *point; (point = strtok_r(NULL, " \n", &rest));)
            add(&watched, point, NULL);
    char *first = strtok_r(NULL, " \n", &rest), *second = strtok_r(NULL, " \n", &rest);
    if (first && strcmp(kind, "SET") == 0) add(&settings, first, second);
    if (first && strcmp(kind, "STEP") == 0) add(&steps, first, second);
}

void pace_read(const char *path)
{
    char text[2048];
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    while (fgets(text, sizeof(text), file))
        read_line(text);
    fclose(file);
}

int pace_setting(const char *name, int otherwise)
{
    for (int i = 0; i < settings.n; i++)
        if (strcmp(settings.lines[i].first, name) == 0) return atoi(settings.lines[i].second);
    return otherwise;
}

bool pace_step(int i, const char **who, const char **point)
{
    if (i >= steps.n) return false;
    *who = steps.lines[i].first;
    *point = steps.lines[i].second;
    return true;
}

static bool is_watched(const char *point)
{
    for (int i = 0; i < watched.n; i++)
        if (strcmp(watched.lines[i].first, point) == 0) return true;
    return false;
}

/* -- Pacing -------------------------------------------------------------------------------- */

static struct timespec patience(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    return until;
}

void pace_followed(int n)
{
    printf("followed %d of %d steps\n", n, steps.n);
    if (n < steps.n)
        printf("step %d is: %s %s\n", n, steps.lines[n].first, steps.lines[n].second);
    fflush(stdout); /* what comes next may end the program */
}

static void release(const char *why)
{
    if (released) return;
    released = true;
    pace_followed(at);
    if (why) printf("%s\n", why);
    fflush(stdout);
    pthread_cond_broadcast(&change);
}

static void arrive(void)
{
    if (moving == me) moving = NULL;
    pthread_cond_broadcast(&change);
}

/* This thread's step is the next. When it stands elsewhere than there, the code went another way than
 * the model. */
static bool my_turn(const char *point)
{
    char why[128];
    const struct line *next = &steps.lines[at];
    if (released) return true;
    if (!begun || moving || strcmp(next->first, me) != 0) return false;
    if (strcmp(next->second, point) == 0) return true;
    snprintf(why, sizeof(why), "but %s is at %s", me, point);
    release(why);
    return true;
}

static void wait_for_turn(const char *point)
{
    char why[128];
    struct timespec until = patience();
    for (int seen = at; !my_turn(point);) {
        const int late = pthread_cond_timedwait(&change, &lock, &until);
        if (at != seen || !begun) {
            seen = at;
            until = patience();
        } else if (late) {
            snprintf(why, sizeof(why), "but nobody comes there; %s is at %s", me, point);
            release(why);
        }
    }
}

void pace(const char *point)
{
    if (!me || !is_watched(point)) return;
    pthread_mutex_lock(&lock);
    arrive();
    if (!begun || at < steps.n) wait_for_turn(point);
    if (!released) {
        at++;
        moving = me;
        if (at == steps.n) release(NULL);
    }
    pthread_mutex_unlock(&lock);
}

void pace_away(void)
{
    if (!me) return;
    pthread_mutex_lock(&lock);
    arrive();
    pthread_mutex_unlock(&lock);
}

void tp_probe(const char *point);
void tp_probe(const char *point)
{
    pace(point);
}

void tp_probe_away(void);
void tp_probe_away(void)
{
    pace_away();
}

/* -- Threads ------------------------------------------------------------------------------- */

struct part {
    const char *name;
    void *(*body)(void *arg);
    void *arg;
};

static void *play_part(void *arg)
{
    const struct part part = *(struct part *)arg;
    free(arg);
    me = part.name;
    part.body(part.arg);
    pthread_mutex_lock(&lock);
    threads--;
    arrive();
    pthread_mutex_unlock(&lock);
    return NULL;
}

void pace_thread(const char *name, void *(*body)(void *arg), void *arg)
{
    pthread_t thread;
    struct part *part = malloc(sizeof *part);
    if (!part) exit(2);
    *part = (struct part){name, body, arg};
    threads++;
    if (pthread_create(&thread, NULL, play_part, part)) exit(2);
    pthread_detach(thread);
}

bool pace_play(void)
{
    pthread_mutex_lock(&lock);
    begun = true;
    if (!steps.n) release(NULL);
    pthread_cond_broadcast(&change);
    while (!released && threads)
        pthread_cond_wait(&change, &lock);
    const struct timespec until = patience();
    for (int late = 0; threads && !late;)
        late = pthread_cond_timedwait(&change, &lock, &until);
    const bool ended = threads == 0;
    if (!released) pace_followed(at);
    pthread_mutex_unlock(&lock);
    return ended;
}
