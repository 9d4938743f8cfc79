/* SPDX-License-Identifier: MIT
 *
 * actors/report.h - what does not fit an error's sentence, and what a call cost.
 */
#ifndef TP_ACTORS_REPORT_H
#define TP_ACTORS_REPORT_H

#include "actors/call.h"

/* The report of a call that has ended, or NULL when there is nothing to report. Its block still
 * has the figures. */
troupe_status tp_report_make(const struct tp_pending *pending, struct troupe_report **out,
                             troupe_error *err) TROUPE_MUST_CHECK;

#endif
