/* SPDX-License-Identifier: MIT
 *
 * exec/devices.c - the device list's text, the kinds that there are, and making one device.
 */
#include "exec/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fail.h"
#include "exec/team.h"

#define ENTRY_SIZE  256
#define MAX_THREADS 1024
#define MAX_DEVICES 1024

static const struct tp_device_kind *const kinds[] = {&tp_cpu_kind};

const struct tp_device_kind *tp_device_kind_find(const char *type)
{
    for (size_t i = 0; i < TP_COUNT(kinds); i++)
        if (!strcasecmp(kinds[i]->type, type)) return kinds[i];
    return NULL;
}

/* The power of two that a letter behind a number stands for; -1: none. */
static int shift_of(char letter)
{
    switch (toupper((unsigned char)letter)) {
    case 'K':
        return 10;
    case 'M':
        return 20;
    case 'G':
        return 30;
    case '\0':
        return 0;
    default:
        return -1;
    }
}

enum amount { AMOUNT_GOOD, AMOUNT_NONE, AMOUNT_TOO_LARGE };

/* "512M" -> bytes. */
static enum amount read_amount(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text)) return AMOUNT_NONE;
    const int shift = shift_of(*end);
    if (shift < 0 || (*end && end[1])) return AMOUNT_NONE;
    if (errno == ERANGE || n > SIZE_MAX >> shift) return AMOUNT_TOO_LARGE;
    *out = (uint64_t)n << shift;
    return n ? AMOUNT_GOOD : AMOUNT_NONE;
}

static troupe_status set_pin(struct tp_device_wish *wish, const char *entry, const char *value,
                             troupe_error *err)
{
    if (wish->pinned)
        return tp_fail(err, TROUPE_INVALID, "device '%s': a second pin=%s", entry, value);
    wish->pinned = true;
    if (!strcmp(value, "auto")) return TROUPE_OK;
    troupe_error mine;
    if (!tp_cpus_read(value, &wish->cpus, &mine)) return TROUPE_OK;
    tp_fail_in(&mine, "device '%s': pin", entry);
    if (err) *err = mine;
    return mine.code;
}

static troupe_status set_option(struct tp_device_wish *wish, const char *entry, const char *key,
                                const char *value, troupe_error *err)
{
    uint64_t n = 0;
    if (!strcmp(key, "pin")) return set_pin(wish, entry, value, err);
    const enum amount amount = read_amount(value, &n);
    if (amount == AMOUNT_NONE)
        return tp_fail(err, TROUPE_INVALID, "device '%s': %s=%s is not a number above 0", entry,
                       key, value);
    if (amount == AMOUNT_TOO_LARGE)
        return tp_fail(err, TROUPE_INVALID, "device '%s': %s=%s is over %zu", entry, key, value,
                       SIZE_MAX);
    bool threads = !strcmp(key, "threads"), permits = !strcmp(key, "permits");
    if ((threads || permits) && n > MAX_THREADS)
        return tp_fail(err, TROUPE_INVALID, "device '%s': %s=%s is over %d", entry, key, value,
                       MAX_THREADS);
    bool memory = !strcmp(key, "memory");
    if (!threads && !permits && !memory)
        return tp_fail(err, TROUPE_INVALID,
                       "device '%s': no option '%s' (there are threads, permits, memory, pin)",
                       entry, key);
    if ((threads && wish->threads) || (permits && wish->permits) || (memory && wish->memory))
        return tp_fail(err, TROUPE_INVALID, "device '%s': a second %s=%s", entry, key, value);
    if (threads) wish->threads = (int)n;
    if (permits) wish->permits = (int)n;
    if (memory) wish->memory = (size_t)n;
    return TROUPE_OK;
}

/* The part in parentheses: "threads=2,memory=64M". `text` is changed. */
static troupe_status read_options(struct tp_device_wish *wish, const char *entry, char *text,
                                  troupe_error *err)
{
    char *save = NULL;
    for (char *part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        part += strspn(part, " \t");
        part[strcspn(part, " \t")] = '\0';
        char *value = strchr(part, '=');
        if (!value)
            return tp_fail(err, TROUPE_INVALID, "device '%s': '%s' is not OPTION=NUMBER", entry,
                           part);
        *value++ = '\0';
        TP_TRY(set_option(wish, entry, part, value, err));
    }
    return TROUPE_OK;
}

static troupe_status check_kind(const struct tp_name *name, const char *entry,
                                troupe_error *err)
{
    if (tp_device_kind_find(name->type)) return TROUPE_OK;
    return tp_fail(err, TROUPE_NOT_FOUND,
                   "device '%s': no devices of type '%s' here (there are: cpu)", entry,
                   name->type);
}

/* One entry of the list: NAME or NAME(OPTIONS). */
static troupe_status read_entry(const char *entry, struct tp_device_wish *wish,
                                troupe_error *err)
{
    static const struct tp_name here = {"local", "cpu", 0, 0, 0};
    char text[ENTRY_SIZE];
    strcpy(text, entry);
    char *open = strchr(text, '(');
    if (open) {
        char *close = strchr(open, ')');
        if (!close)
            return tp_fail(err, TROUPE_INVALID,
                           "device '%s': the parenthesis at column %zu is not closed", entry,
                           (size_t)(open - text) + 1);
        if (close[1])
            return tp_fail(err, TROUPE_INVALID, "device '%s': '%s' at column %zu is too much",
                           entry, close + 1, (size_t)(close - text) + 2);
        *open = *close = '\0';
        TP_TRY(read_options(wish, entry, open + 1, err));
    }
    struct tp_name wanted;
    TP_TRY(tp_name_parse(text, &wanted, err));
    if (!wanted.type[0])
        return tp_fail(err, TROUPE_INVALID, "device '%s' has no type (like cpu:0)", entry);
    TP_TRY(check_kind(&wanted, entry, err));
    TP_TRY(tp_name_complete(text, &here, &wish->name, err));
    if (strcmp(wish->name.job, here.job) || wish->name.task != here.task)
        return tp_fail(err, TROUPE_NOT_FOUND,
                       "device '%s' is of another process than /job:local/task:0", entry);
    return TROUPE_OK;
}

/* The next entry of *list, copied without blanks around it; commas in parentheses do not end
 * it. *list is NULL after the last one. */
static troupe_status next_entry(const char **list, char *entry, troupe_error *err)
{
    const char *at = *list;
    int depth = 0;
    while (*at && (*at != ',' || depth)) {
        depth += (*at == '(') - (*at == ')');
        at++;
    }
    const char *from = *list, *to = at;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    if (from == to) return tp_fail(err, TROUPE_INVALID, "the device list has an empty entry");
    if ((size_t)(to - from) >= ENTRY_SIZE)
        return tp_fail(err, TROUPE_INVALID, "a device of %zu bytes in the list is too long",
                       (size_t)(to - from));
    memcpy(entry, from, (size_t)(to - from));
    entry[to - from] = '\0';
    *list = *at ? at + 1 : NULL;
    return TROUPE_OK;
}

static troupe_status check_new(const struct tp_device_wish *wishes, size_t n,
                               const struct tp_device_wish *wish, const char *entry,
                               troupe_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (tp_name_equal(&wishes[i].name, &wish->name))
            return tp_fail(err, TROUPE_INVALID, "device '%s' is in the list twice", entry);
    if (n == MAX_DEVICES)
        return tp_fail(err, TROUPE_INVALID, "more than %d devices in the list", MAX_DEVICES);
    return TROUPE_OK;
}

troupe_status tp_devices_read(const char *list, struct tp_device_wish **out, size_t *n,
                              troupe_error *err)
{
    TP_OWNED(tp_free_at) struct tp_device_wish *wishes = NULL;
    size_t count = 0, capacity = 0;
    char entry[ENTRY_SIZE];
    do {
        struct tp_device_wish wish = {0};
        TP_TRY(next_entry(&list, entry, err));
        TP_TRY(read_entry(entry, &wish, err));
        TP_TRY(check_new(wishes, count, &wish, entry, err));
        TP_TRY(tp_grow(&wishes, count, &capacity, sizeof *wishes, err));
        wishes[count++] = wish;
    } while (list);
    *out = wishes;
    *n = count;
    wishes = NULL;
    return TROUPE_OK;
}

void tp_devices_share(struct tp_device_wish *wishes, size_t n, int cpus)
{
    int left = cpus, open = 0;
    for (size_t i = 0; i < n; i++)
        if (!wishes[i].threads) wishes[i].threads = tp_cpus_count(&wishes[i].cpus);
    for (size_t i = 0; i < n; i++) {
        left -= wishes[i].threads;
        open += !wishes[i].threads;
    }
    for (size_t i = 0; i < n; i++) {
        if (wishes[i].threads) continue;
        int share = left > open ? left / open : 1;
        wishes[i].threads = share;
        left -= share;
        open--;
    }
    for (size_t i = 0; i < n; i++)
        if (!wishes[i].permits) wishes[i].permits = wishes[i].threads;
}

static troupe_status check_allowed(const struct tp_device_wish *wish,
                                   const struct tp_cpus *allowed, troupe_error *err)
{
    char text[TP_CPUS_TEXT], name[TP_NAME_TEXT];
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &wish->cpus.set) || CPU_ISSET(cpu, &allowed->set)) continue;
        tp_cpus_show(allowed, text, sizeof text);
        tp_name_show(&wish->name, name, sizeof name);
        return tp_fail(err, TROUPE_INVALID,
                       "device '%s': CPU %d is not one that this process may use (%s)", name,
                       cpu, text);
    }
    return TROUPE_OK;
}

static bool wants_choice(const struct tp_device_wish *wish)
{
    return wish->pinned && !tp_cpus_count(&wish->cpus);
}

/* The next CPUs in the order of `list`. */
static void choose(struct tp_device_wish *wish, const int *list, int n, int *next)
{
    for (int i = 0; i < wish->threads && i < n; i++)
        CPU_SET(list[(*next)++ % n], &wish->cpus.set);
}

/* Those that nobody has named, or all when there are no others. */
static struct tp_cpus not_named(const struct tp_device_wish *wishes, size_t n,
                                const struct tp_cpus *allowed)
{
    struct tp_cpus free = *allowed;
    for (size_t i = 0; i < n; i++)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &wishes[i].cpus.set)) CPU_CLR(cpu, &free.set);
    return tp_cpus_count(&free) ? free : *allowed;
}

troupe_status tp_devices_pin(struct tp_device_wish *wishes, size_t n,
                             const struct tp_cpus *allowed, troupe_error *err)
{
    int list[CPU_SETSIZE], known = 0, next = 0;
    struct tp_cpus open = not_named(wishes, n, allowed);
    for (size_t i = 0; i < n; i++) {
        TP_TRY(check_allowed(&wishes[i], allowed, err));
        if (!wants_choice(&wishes[i])) continue;
        if (!known) known = tp_cpus_order(&open, list);
        if (!known)
            return tp_fail(err, TROUPE_INVALID,
                           "pin=auto: the system does not say which CPUs "
                           "this process may use");
        choose(&wishes[i], list, known, &next);
    }
    return TROUPE_OK;
}

static uint64_t new_incarnation(void)
{
    uint64_t n = 0;
    if (getrandom(&n, sizeof n, GRND_NONBLOCK) != (ssize_t)sizeof n || !n)
        n = tp_clock_ns() | 1;
    return n;
}

troupe_status tp_device_new(struct tp_device **out, const struct tp_device_wish *wish,
                            troupe_error *err)
{
    const struct tp_device_kind *kind = tp_device_kind_find(wish->name.type);
    tp_assert(kind);
    TP_OWNED(tp_device_destroy) struct tp_device *device = tp_alloc(sizeof *device);
    if (!device) return tp_fail_memory(err, sizeof *device);
    device->name = wish->name;
    tp_name_show(&device->name, device->text, sizeof device->text);
    snprintf(device->brief, sizeof device->brief, "%s:%d", kind->type, (int)wish->name.id);
    device->threads = wish->threads > 0 ? wish->threads : 1;
    device->permits = wish->permits > 0 ? wish->permits : device->threads;
    device->incarnation = new_incarnation();
    device->pinned = wish->pinned && tp_cpus_count(&wish->cpus) > 0;
    device->cpus = wish->cpus;
    if (device->pinned) tp_cpus_show(&device->cpus, device->pin, sizeof device->pin);
    TP_TRY(tp_pool_new(&device->pool, device->brief, wish->memory, err));
    if (device->threads > 1)
        TP_TRY(tp_team_new(&device->team, device->threads, device->brief,
                           device->pinned ? &device->cpus : NULL, err));
    if (kind->size && !(device->private_state = tp_alloc(kind->size)))
        return tp_fail_memory(err, kind->size);
    if (kind->open) TP_TRY(kind->open(device, err));
    device->kind = kind; /* from here on destroy closes it */
    *out = device;
    device = NULL;
    return TROUPE_OK;
}

void tp_device_destroy(struct tp_device **at)
{
    struct tp_device *device = *at;
    *at = NULL;
    if (!device) return;
    if (device->kind && device->kind->close) device->kind->close(device);
    tp_team_destroy(&device->team);
    tp_pool_release(&device->pool);
    tp_free(device->private_state);
    tp_free(device);
}
