/* SPDX-License-Identifier: MIT
 *
 * tests/models/pace.h - real threads that follow the schedule which a model gave.
 *
 * A schedule is text, a line each: `WATCH point...`, the points that the model has steps for; `SET name value`,
 * how the scene is set; `STEP thread point`, who moves next. A thread that comes to a watched point waits there
 * until that is the next step and the thread that moved before has come to a point of its own, has
 * ended, or went to sleep. So one thread runs at a time, in the schedule's order. When the schedule is at its
 * end, or the code does something else than it says, all threads are let go.
 *
 * A program that is built without TP_PACED never comes to a point, and follows nothing.
 */
#ifndef TP_TESTS_MODELS_PACE_H
#define TP_TESTS_MODELS_PACE_H

#include <stdbool.h>

#include "base/probe.h"

/* Read a schedule; a file that cannot be read ends the program. */
void pace_read(const char *path);
/* The value of a SET, or `otherwise`. */
int pace_setting(const char *name, int otherwise);
/* Step i as its two words; false when there is none. */
bool pace_step(int i, const char **who, const char **point);

/* A thread of the scene. It is paced under its name from its first line on. */
void pace_thread(const char *name, void *(*body)(void *arg), void *arg);
/* A point of the scene itself, and that this thread waits for others. */
void pace(const char *point);
void pace_away(void);
/* Begin, and wait until all threads have ended. False: some had not long after the last step. */
bool pace_play(void);
/* For a scene that follows the steps itself: all were followed, or step number `at` was not. */
void pace_followed(int at);

#endif
