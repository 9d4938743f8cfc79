/* SPDX-License-Identifier: MIT
 *
 * graph/name.h - device names: /job:NAME/replica:N/task:N/device:TYPE:ID, whole or in part.
 *
 * Grammar: parts in any order, each at most once; `*` leaves a part unset; `/device:TYPE` has
 * no id; "" and "/" set nothing; `/TYPE:ID` and `TYPE:ID` are short for `/device:TYPE:ID` and
 * need their number. A job begins with a letter and goes on with letters, digits, underscores.
 * Types compare without case and print in lower case. A replica that is left out counts as 0
 * where two names are compared. Source of the algebra: TensorFlow's device_name_utils, but
 * repeated parts are refused.
 */
#ifndef TP_GRAPH_NAME_H
#define TP_GRAPH_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

#define TP_NAME_JOB  40 /* bytes of a job or type, with the zero byte */
#define TP_NAME_TEXT 160
#define TP_UNSET     (-1)

struct tp_name {
    char job[TP_NAME_JOB];     /* "": unset */
    char type[TP_NAME_JOB];    /* "": unset; kept as it was written */
    int32_t replica, task, id; /* TP_UNSET or 0.. */
};

/* Nothing set. */
extern const struct tp_name tp_name_none;

bool tp_name_empty(const struct tp_name *name);
/* job, task, type and id set (a missing replica counts as 0). */
bool tp_name_full(const struct tp_name *name);
troupe_status tp_name_parse(const char *text, struct tp_name *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* Canonical text: the parts that are set, type in lower case, the replica left out when 0 or
 * unset; "" when nothing is. Like snprintf. */
size_t tp_name_show(const struct tp_name *name, char *text, size_t size);
struct tp_name_text {
    char text[TP_NAME_TEXT];
};
struct tp_name_text tp_name_text(const struct tp_name *name);

bool tp_name_equal(const struct tp_name *a, const struct tp_name *b);
/* pattern fits name: each part set in pattern is set and equal in name. */
bool tp_name_fits(const struct tp_name *pattern, const struct tp_name *name);
/* No part that both set differs. */
bool tp_name_compatible(const struct tp_name *a, const struct tp_name *b);
bool tp_name_same_task(const struct tp_name *a, const struct tp_name *b);
/* -1, 0, 1: partial before full, then job, replica, task, type, id as numbers. Texts that do
 * not parse sort first: tp_name_compare_text. */
int tp_name_compare(const struct tp_name *a, const struct tp_name *b);
int tp_name_compare_text(const char *a, const char *b);

/* *into gets the union. INVALID names the part that differs; *into is unchanged then. Soft: a
 * different type drops type and id, a different id drops the id. */
troupe_status tp_name_merge(struct tp_name *into, const struct tp_name *other, bool soft,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* The other's type and id win; job, replica and task must agree. */
troupe_status tp_name_override(struct tp_name *into, const struct tp_name *other,
                               troupe_error *err) TROUPE_MUST_CHECK;
/* Only what is unset is filled in; the id only when the types agree. */
void tp_name_fill(struct tp_name *into, const struct tp_name *from);
/* Complete text by a full base name. INVALID: malformed, or the base is not full; *out is
 * empty. */
troupe_status tp_name_complete(const char *text, const struct tp_name *base,
                               struct tp_name *out, troupe_error *err) TROUPE_MUST_CHECK;
/* "/job:a/task:1" and "cpu:0" of a name. INVALID when the device part is missing. */
troupe_status tp_name_split(const char *text, char *task, size_t task_size, char *device,
                            size_t device_size, troupe_error *err) TROUPE_MUST_CHECK;

#endif
