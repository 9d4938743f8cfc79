/* SPDX-License-Identifier: MIT
 *
 * graph/name.c - the algebra of device names: show, compare, merge.
 *
 * A replica that is unset stands for 0 wherever two names are compared, since the canonical
 * text leaves both out; in patterns and merges unset is unset.
 */
#include "graph/name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

const struct tp_name tp_name_none = {.replica = TP_UNSET, .task = TP_UNSET, .id = TP_UNSET};

static int32_t replica(const struct tp_name *name)
{
    return name->replica == TP_UNSET ? 0 : name->replica;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* As strcmp, without case, ASCII's whatever the locale. */
static int compare_types(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return (unsigned char)lower(*a) - (unsigned char)lower(*b);
}

static bool same_type(const struct tp_name *a, const struct tp_name *b)
{
    return compare_types(a->type, b->type) == 0;
}

bool tp_name_empty(const struct tp_name *name)
{
    return !name->job[0] && !name->type[0] && name->replica == TP_UNSET &&
           name->task == TP_UNSET && name->id == TP_UNSET;
}

bool tp_name_full(const struct tp_name *name)
{
    return name->job[0] && name->type[0] && name->task != TP_UNSET && name->id != TP_UNSET;
}

bool tp_name_equal(const struct tp_name *a, const struct tp_name *b)
{
    return a->id == b->id && a->task == b->task && replica(a) == replica(b) &&
           same_type(a, b) && strcmp(a->job, b->job) == 0;
}

bool tp_name_fits(const struct tp_name *pattern, const struct tp_name *name)
{
    const int32_t its = tp_name_full(name) ? replica(name) : name->replica;
    return (pattern->id == TP_UNSET || pattern->id == name->id) &&
           (pattern->task == TP_UNSET || pattern->task == name->task) &&
           (pattern->replica == TP_UNSET || pattern->replica == its) &&
           (!pattern->type[0] || same_type(pattern, name)) &&
           (!pattern->job[0] || strcmp(pattern->job, name->job) == 0);
}

static bool agree(int32_t a, int32_t b)
{
    return a == b || a == TP_UNSET || b == TP_UNSET;
}

/* The first part that both set to different things, or NULL. */
static const char *differing_place(const struct tp_name *a, const struct tp_name *b)
{
    if (a->job[0] && b->job[0] && strcmp(a->job, b->job) != 0) return "job";
    if (!agree(a->replica, b->replica)) return "replica";
    return agree(a->task, b->task) ? NULL : "task";
}

static const char *differing_device(const struct tp_name *a, const struct tp_name *b)
{
    if (a->type[0] && b->type[0] && !same_type(a, b)) return "type";
    return agree(a->id, b->id) ? NULL : "id";
}

bool tp_name_compatible(const struct tp_name *a, const struct tp_name *b)
{
    return !differing_place(a, b) && !differing_device(a, b);
}

bool tp_name_same_task(const struct tp_name *a, const struct tp_name *b)
{
    return a->job[0] && strcmp(a->job, b->job) == 0 && a->task != TP_UNSET &&
           a->task == b->task && replica(a) == replica(b);
}

static int sign(int64_t difference)
{
    return difference < 0 ? -1 : difference > 0;
}

int tp_name_compare(const struct tp_name *a, const struct tp_name *b)
{
    int order = tp_name_full(a) - tp_name_full(b);
    if (order == 0) order = sign(strcmp(a->job, b->job));
    if (order == 0) order = sign((int64_t)replica(a) - replica(b));
    if (order == 0) order = sign((int64_t)a->task - b->task);
    if (order == 0) order = sign(compare_types(a->type, b->type));
    return order != 0 ? order : sign((int64_t)a->id - b->id);
}

int tp_name_compare_text(const char *a, const char *b)
{
    struct tp_name left, right;
    const bool left_parses = tp_name_parse(a, &left, NULL) == TROUPE_OK;
    const bool right_parses = tp_name_parse(b, &right, NULL) == TROUPE_OK;
    if (left_parses && right_parses) return tp_name_compare(&left, &right);
    return left_parses || right_parses ? left_parses - right_parses : sign(strcmp(a, b));
}

static void add(char *text, size_t size, size_t *used, const char *fmt, ...)
    TROUPE_PRINTF(4, 5);

static void add(char *text, size_t size, size_t *used, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int n = *used < size ? vsnprintf(text + *used, size - *used, fmt, args)
                               : vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n > 0) *used += (size_t)n;
}

static void add_device(const struct tp_name *name, char *text, size_t size, size_t *used)
{
    if (!name->type[0] && name->id == TP_UNSET) return;
    char type[TP_NAME_JOB] = "*";
    for (size_t i = 0; name->type[i]; i++) {
        type[i] = lower(name->type[i]);
        type[i + 1] = 0;
    }
    add(text, size, used, "/device:%s", type);
    if (name->id != TP_UNSET) add(text, size, used, ":%" PRId32, name->id);
}

size_t tp_name_show(const struct tp_name *name, char *text, size_t size)
{
    size_t used = 0;
    if (size > 0) text[0] = 0;
    if (name->job[0]) add(text, size, &used, "/job:%s", name->job);
    if (name->replica > 0) add(text, size, &used, "/replica:%" PRId32, name->replica);
    if (name->task != TP_UNSET) add(text, size, &used, "/task:%" PRId32, name->task);
    add_device(name, text, size, &used);
    return used;
}

struct tp_name_text tp_name_text(const struct tp_name *name)
{
    struct tp_name_text out = {""};
    tp_name_show(name, out.text, sizeof(out.text));
    return out;
}

static troupe_status differ(const char *part, const struct tp_name *a, const struct tp_name *b,
                            troupe_error *err)
{
    return tp_fail(err, TROUPE_INVALID, "device names '%.90s' and '%.90s' differ in their %s",
                   tp_name_text(a).text, tp_name_text(b).text, part);
}

static void take_place(struct tp_name *into, const struct tp_name *other)
{
    if (!into->job[0]) memcpy(into->job, other->job, sizeof(into->job));
    if (into->replica == TP_UNSET) into->replica = other->replica;
    if (into->task == TP_UNSET) into->task = other->task;
}

static void drop_device(struct tp_name *name)
{
    memset(name->type, 0, sizeof(name->type));
    name->id = TP_UNSET;
}

static void take_device(struct tp_name *into, const struct tp_name *other)
{
    if (!into->type[0]) memcpy(into->type, other->type, sizeof(into->type));
    if (into->id == TP_UNSET) into->id = other->id;
}

troupe_status tp_name_merge(struct tp_name *into, const struct tp_name *other, bool soft,
                            troupe_error *err)
{
    const char *place = differing_place(into, other), *device = differing_device(into, other);
    if (place) return differ(place, into, other, err);
    if (device && !soft) return differ(device, into, other, err);
    take_place(into, other);
    if (!device)
        take_device(into, other);
    else if (strcmp(device, "type") == 0)
        drop_device(into);
    else {
        take_device(into, other);
        into->id = TP_UNSET;
    }
    return TROUPE_OK;
}

troupe_status tp_name_override(struct tp_name *into, const struct tp_name *other,
                               troupe_error *err)
{
    const char *place = differing_place(into, other), *device = differing_device(into, other);
    if (place) return differ(place, into, other, err);
    take_place(into, other);
    if (device && strcmp(device, "type") == 0)
        drop_device(into); /* an id belongs to its type */
    else if (other->id != TP_UNSET)
        into->id = TP_UNSET;
    take_device(into, other);
    return TROUPE_OK;
}

void tp_name_fill(struct tp_name *into, const struct tp_name *from)
{
    const char *device = differing_device(into, from);
    take_place(into, from);
    if (!device || strcmp(device, "type") != 0) take_device(into, from);
}
