/* SPDX-License-Identifier: MIT
 *
 * tests/models/replay.h - the scenes of the models, set with the real code.
 *
 * A scene has the model's name. It plays the schedule, and ends the program by bad() when what the model
 * promises does not hold; else it returns.
 */
#ifndef TP_TESTS_MODELS_REPLAY_H
#define TP_TESTS_MODELS_REPLAY_H

#include "actors/stage.h"
#include "tests/models/pace.h"

void replay_mailbox(void);
void replay_stage(void);

/* The outcome is not what the model promises: say so and end the program. Any thread. */
_Noreturn void bad(const char *format, ...) TROUPE_PRINTF(1, 2);
/* True or bad. */
void hold(bool holds, const char *what);
/* Failures of what a scene needs end the program. */
void need(troupe_status status);

/* A stage without threads of its own that takes itself for one with so many workers: the scene brings them. */
struct tp_stage *scene_stage(int workers);
struct tp_seat *scene_seat(struct tp_stage *stage, bool worker);
/* A message that is part of a scene. */
struct tp_message *scene_message(enum tp_kind kind, uint32_t estimate);

#endif
