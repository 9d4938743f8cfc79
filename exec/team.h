/* SPDX-License-Identifier: MIT
 *
 * exec/team.h - a device's own threads, for one long step split into parts.
 *
 * The threads are started when the first step asks for them, and sleep otherwise. One step at a
 * time has them: a second one that asks meanwhile runs its parts by itself, so nobody waits for
 * a team. Where a part runs does not change its bits.
 */
#ifndef TP_EXEC_TEAM_H
#define TP_EXEC_TEAM_H

#include "graph/op.h"

struct tp_cpus;

/* threads: those of the device, the one that runs the step among them; at least 2. cpus: where
 * its own ones stay (copied), or NULL: anywhere. */
troupe_status tp_team_new(struct tp_team **out, int threads, const char *name,
                          const struct tp_cpus *cpus, troupe_error *err) TROUPE_MUST_CHECK;
/* No step may be using it. */
void tp_team_destroy(struct tp_team **team);

#endif
