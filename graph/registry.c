/* SPDX-License-Identifier: MIT
 *
 * graph/registry.c - the snapshot of devices, and the change from one snapshot to the next.
 *
 * A change makes a whole new snapshot or none, so a batch is all or nothing and a reader never
 * sees half of it. What was removed lives as long as the oldest snapshot that has it.
 */
#include "graph/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/fail.h"

struct tp_registry {
    struct tp_devices *now; /* never NULL */
};

static troupe_status devices_new(uint32_t n, struct tp_devices **out, troupe_error *err)
{
    const size_t size = sizeof(**out) + n * sizeof((*out)->list[0]);
    struct tp_devices *devices = tp_alloc(size);
    if (!devices) return tp_fail_memory(err, size);
    tp_ref_init(&devices->ref);
    devices->n = n;
    *out = devices;
    return TROUPE_OK;
}

struct tp_devices *tp_devices_retain(const struct tp_devices *devices)
{
    struct tp_devices *mine = (struct tp_devices *)devices;
    tp_ref_retain(&mine->ref);
    return mine;
}

void tp_devices_release(struct tp_devices **devices)
{
    if (!devices) return;
    if (*devices && tp_ref_release(&(*devices)->ref)) tp_free(*devices);
    *devices = NULL;
}

static bool several_tasks(const struct tp_devices *devices)
{
    for (uint32_t i = 1; i < devices->n; i++)
        if (!tp_name_same_task(&devices->list[0].name, &devices->list[i].name)) return true;
    return false;
}

/* "cpu:0" of a full name's text, or all of it. */
static const char *shown_part(const struct tp_name_text *name, bool whole)
{
    const char *device = strstr(name->text, "/device:");
    return whole || !device ? name->text : device + strlen("/device:");
}

size_t tp_devices_show(const struct tp_devices *devices, char *text, size_t size)
{
    const bool whole = several_tasks(devices);
    size_t used = 0;
    if (size > 0) text[0] = 0;
    for (uint32_t i = 0; i < devices->n; i++) {
        const struct tp_name_text name = tp_name_text(&devices->list[i].name);
        const size_t left = used < size ? size - used : 0;
        const int n = snprintf(left ? text + used : NULL, left, "%s%s", i ? ", " : "",
                               shown_part(&name, whole));
        if (n > 0) used += (size_t)n;
    }
    return used;
}

/* How many devices fit the pattern; *out gets the first of them. */
static uint32_t count_fits(const struct tp_devices *devices, const struct tp_name *pattern,
                           uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < devices->n; i++)
        if (tp_name_fits(pattern, &devices->list[i].name) && n++ == 0) *out = i;
    return n;
}

/* Several fit: what base fills in must leave one of them. */
static uint32_t count_completed(const struct tp_devices *devices, const struct tp_name *name,
                                const struct tp_name *base, uint32_t *out)
{
    struct tp_name whole = *name, in_task = *name, task = *base;
    tp_name_fill(&whole, base);
    if (count_fits(devices, &whole, out) == 1) return 1;
    task.type[0] = 0;
    task.id = TP_UNSET;
    tp_name_fill(&in_task, &task);
    return count_fits(devices, &in_task, out);
}

troupe_status tp_devices_find(const struct tp_devices *devices, const char *text,
                              const struct tp_name *base, uint32_t *out, troupe_error *err)
{
    struct tp_name name;
    uint32_t found = 0;
    char there[160];
    TP_TRY(tp_name_parse(text, &name, err));
    uint32_t n = count_fits(devices, &name, &found);
    if (n > 1 && base) n = count_completed(devices, &name, base, &found);
    if (n == 1) {
        *out = found;
        return TROUPE_OK;
    }
    tp_devices_show(devices, there, sizeof(there));
    if (n > 1)
        return tp_fail(err, TROUPE_INVALID, "device '%.60s' may be any of %u; there are %s",
                       text, n, there);
    return tp_fail(err, TROUPE_NOT_FOUND, "no device '%.60s'; there are %s", text, there);
}

troupe_status tp_registry_new(struct tp_registry **out, troupe_error *err)
{
    struct tp_registry *registry = tp_alloc(sizeof(*registry));
    if (!registry) return tp_fail_memory(err, sizeof(*registry));
    const troupe_status status = devices_new(0, &registry->now, err);
    if (status < 0)
        tp_free(registry);
    else
        *out = registry;
    return status;
}

void tp_registry_destroy(struct tp_registry **registry)
{
    if (!registry || !*registry) return;
    tp_devices_release(&(*registry)->now);
    tp_free(*registry);
    *registry = NULL;
}

struct tp_devices *tp_registry_devices(const struct tp_registry *registry)
{
    return tp_devices_retain(registry->now);
}

static void become(struct tp_registry *registry, struct tp_devices **next)
{
    tp_devices_release(&registry->now);
    registry->now = *next;
    *next = NULL;
}

/* A number that is not 0 and that nobody can have had before. */
static troupe_status draw_incarnation(uint64_t *out, troupe_error *err)
{
    uint64_t n = 0;
    while (n == 0) {
        const ssize_t got = getrandom(&n, sizeof(n), 0);
        if (got < 0 && errno != EINTR)
            return tp_fail(err, TROUPE_DEVICE, "getrandom: %s", strerror(errno));
        if (got != sizeof(n)) n = 0;
    }
    *out = n;
    return TROUPE_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct tp_device_entry *left = a, *right = b;
    return tp_name_compare(&left->name, &right->name);
}

/* The list is sorted, so equal names are neighbours. */
static troupe_status check_unique(const struct tp_devices *devices, troupe_error *err)
{
    for (uint32_t i = 1; i < devices->n; i++)
        if (by_name(&devices->list[i - 1], &devices->list[i]) == 0)
            return tp_fail(err, TROUPE_INVALID, "device %s is there already",
                           tp_name_text(&devices->list[i].name).text);
    return TROUPE_OK;
}

static troupe_status append(struct tp_devices *next, uint32_t at,
                            const struct tp_device_entry *entries, size_t n, troupe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct tp_device_entry *entry = &next->list[at + i];
        *entry = entries[i];
        if (!tp_name_full(&entry->name))
            return tp_fail(err, TROUPE_INVALID,
                           "device '%s' has no full name: job, task, type and id are needed",
                           tp_name_text(&entry->name).text);
        TP_TRY(draw_incarnation(&entry->incarnation, err));
    }
    return TROUPE_OK;
}

troupe_status tp_registry_add(struct tp_registry *registry,
                              const struct tp_device_entry *entries, size_t n,
                              troupe_error *err)
{
    const struct tp_devices *now = registry->now;
    TP_OWNED(tp_devices_release) struct tp_devices *next = NULL;
    if (n >= UINT32_MAX - now->n)
        return tp_fail(err, TROUPE_EXHAUSTED, "%zu devices are too many", n);
    TP_TRY(devices_new(now->n + (uint32_t)n, &next, err));
    memcpy(next->list, now->list, now->n * sizeof(now->list[0]));
    TP_TRY(append(next, now->n, entries, n, err));
    qsort(next->list, next->n, sizeof(next->list[0]), by_name);
    TP_TRY(check_unique(next, err));
    become(registry, &next);
    return TROUPE_OK;
}

/* The first host device of its task cannot go: what has no device of its own lives there. */
static bool is_home(const struct tp_devices *devices, uint32_t i)
{
    if (!devices->list[i].host) return false;
    for (uint32_t before = i; before-- > 0;)
        if (devices->list[before].host &&
            tp_name_same_task(&devices->list[before].name, &devices->list[i].name))
            return false;
    return true;
}

static uint32_t index_of(const struct tp_devices *devices, const struct tp_name *name)
{
    for (uint32_t i = 0; i < devices->n; i++)
        if (tp_name_equal(&devices->list[i].name, name)) return i;
    return UINT32_MAX;
}

static troupe_status mark(const struct tp_devices *now, const struct tp_name *name, bool *gone,
                          troupe_error *err)
{
    const uint32_t i = index_of(now, name);
    const struct tp_name_text text = tp_name_text(name);
    if (i == UINT32_MAX)
        return tp_fail(err, TROUPE_INVALID, "device '%s' is not there to be removed",
                       text.text);
    if (gone[i])
        return tp_fail(err, TROUPE_INVALID, "device %s is to be removed twice", text.text);
    if (is_home(now, i))
        return tp_fail(err, TROUPE_INVALID, "device %s is the host of its task and stays",
                       text.text);
    gone[i] = true;
    return TROUPE_OK;
}

static void copy_rest(const struct tp_devices *now, const bool *gone, struct tp_devices *next)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < now->n; i++)
        if (!gone[i]) next->list[kept++] = now->list[i];
    tp_assert(kept == next->n);
}

troupe_status tp_registry_remove(struct tp_registry *registry, const struct tp_name *names,
                                 size_t n, troupe_error *err)
{
    const struct tp_devices *now = registry->now;
    TP_OWNED(tp_devices_release) struct tp_devices *next = NULL;
    TP_OWNED(tp_free_at) bool *gone = tp_alloc_array(now->n, sizeof(*gone));
    if (!gone) return tp_fail_memory(err, now->n);
    for (size_t i = 0; i < n; i++)
        TP_TRY(mark(now, &names[i], gone, err));
    TP_TRY(devices_new(now->n - (uint32_t)n, &next, err));
    copy_rest(now, gone, next);
    become(registry, &next);
    return TROUPE_OK;
}

/* Entry a's type is listed before entry b's: a higher priority, or as high and first by name.
 */
static bool comes_before(const struct tp_devices *devices, uint32_t a, uint32_t b)
{
    const int left = devices->list[a].priority, right = devices->list[b].priority;
    return left != right ? left > right : a < b;
}

/* The entry that its type is listed by. */
static bool is_first_of_type(const struct tp_devices *devices, uint32_t i)
{
    struct tp_name type = tp_name_none;
    memcpy(type.type, devices->list[i].name.type, sizeof(type.type));
    for (uint32_t k = 0; k < devices->n; k++)
        if (tp_name_fits(&type, &devices->list[k].name) && comes_before(devices, k, i))
            return false;
    return true;
}

/* The entry that is listed next after `last` (UINT32_MAX: the first), or UINT32_MAX. */
static uint32_t next_type(const struct tp_devices *devices, uint32_t last)
{
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < devices->n; i++) {
        if (last != UINT32_MAX && !comes_before(devices, last, i)) continue;
        if (next != UINT32_MAX && !comes_before(devices, i, next)) continue;
        if (is_first_of_type(devices, i)) next = i;
    }
    return next;
}

size_t tp_registry_types(const struct tp_registry *registry, const char **types, size_t n)
{
    const struct tp_devices *now = registry->now;
    size_t count = 0;
    for (uint32_t i = UINT32_MAX; (i = next_type(now, i)) != UINT32_MAX; count++)
        if (count < n) types[count] = now->list[i].name.type;
    return count;
}
