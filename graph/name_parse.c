/* SPDX-License-Identifier: MIT
 *
 * graph/name_parse.c - text -> device name, by the grammar in graph/name.h.
 *
 * A name is read part by part; what was seen is remembered apart from what was set, since "*"
 * sets nothing and still may not be repeated. Letters and digits are ASCII's whatever the
 * locale.
 */
#include "graph/name.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"

enum part { PART_JOB = 1, PART_REPLICA = 2, PART_TASK = 4, PART_DEVICE = 8 };

struct reader {
    const char *whole, *at;
    struct tp_name name;
    unsigned seen; /* parts */
    troupe_error *err;
};

static troupe_status refuse(const struct reader *r, const char *why, const char *what)
{
    return tp_fail(r->err, TROUPE_INVALID, "device name '%.100s': %s%s", r->whole, why, what);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of the identifier at text: a letter, then letters, digits, underscores. */
static size_t word_size(const char *text)
{
    size_t n = 0;
    if (!is_letter(text[0])) return 0;
    while (is_letter(text[n]) || is_digit(text[n]) || text[n] == '_')
        n++;
    return n;
}

static bool skip(struct reader *r, const char *prefix)
{
    const size_t n = strlen(prefix);
    if (strncmp(r->at, prefix, n) != 0) return false;
    r->at += n;
    return true;
}

static bool at_end_of_part(const struct reader *r)
{
    return *r->at == 0 || *r->at == '/';
}

/* An identifier into out[TP_NAME_JOB]; "*" leaves it unset. */
static troupe_status read_word(struct reader *r, const char *what, char *out)
{
    if (skip(r, "*")) return TROUPE_OK;
    const size_t n = word_size(r->at);
    if (n == 0) return refuse(r, what, " must be letters, digits and '_', a letter first");
    if (n >= TP_NAME_JOB) return refuse(r, what, " is longer than 39 bytes");
    memcpy(out, r->at, n);
    r->at += n;
    return TROUPE_OK;
}

/* A decimal number; "*" leaves it unset where that is allowed. */
static troupe_status read_number(struct reader *r, const char *what, bool star, int32_t *out)
{
    int64_t n = 0;
    if (star && skip(r, "*")) return TROUPE_OK;
    if (!is_digit(*r->at)) return refuse(r, what, " must be a number of 0 or more");
    for (; is_digit(*r->at); r->at++) {
        n = n * 10 + (*r->at - '0');
        if (n > INT32_MAX) return refuse(r, what, " is above 2147483647");
    }
    *out = (int32_t)n;
    return TROUPE_OK;
}

static troupe_status see(struct reader *r, enum part part, const char *what)
{
    if (r->seen & part) return refuse(r, what, " is there twice");
    r->seen |= part;
    return TROUPE_OK;
}

/* TYPE, TYPE:ID, with "*" for either. */
static troupe_status read_device(struct reader *r)
{
    TP_TRY(see(r, PART_DEVICE, "the device"));
    TP_TRY(read_word(r, "the device's type", r->name.type));
    return skip(r, ":") ? read_number(r, "the device's id", true, &r->name.id) : TROUPE_OK;
}

/* TYPE:ID without the word "device". A local one, without the slash, needs the number. */
static troupe_status read_short(struct reader *r, bool local)
{
    const size_t n = word_size(r->at);
    if (n == 0 || r->at[n] != ':') return refuse(r, "no such part: ", r->at);
    TP_TRY(see(r, PART_DEVICE, "the device"));
    TP_TRY(read_word(r, "the device's type", r->name.type));
    r->at++;
    return read_number(r, "the device's id", !local, &r->name.id);
}

static troupe_status read_part(struct reader *r)
{
    if (skip(r, "job:")) {
        TP_TRY(see(r, PART_JOB, "the job"));
        return read_word(r, "the job", r->name.job);
    }
    if (skip(r, "replica:")) {
        TP_TRY(see(r, PART_REPLICA, "the replica"));
        return read_number(r, "the replica", true, &r->name.replica);
    }
    if (skip(r, "task:")) {
        TP_TRY(see(r, PART_TASK, "the task"));
        return read_number(r, "the task", true, &r->name.task);
    }
    return skip(r, "device:") ? read_device(r) : read_short(r, false);
}

static troupe_status read_parts(struct reader *r)
{
    while (*r->at) {
        if (!skip(r, "/")) return refuse(r, "nothing may follow a part but '/', not ", r->at);
        TP_TRY(read_part(r));
        if (!at_end_of_part(r)) return refuse(r, "trailing rubbish: ", r->at);
    }
    return TROUPE_OK;
}

static troupe_status read_local(struct reader *r)
{
    TP_TRY(read_short(r, true));
    return *r->at ? refuse(r, "trailing rubbish: ", r->at) : TROUPE_OK;
}

troupe_status tp_name_parse(const char *text, struct tp_name *out, troupe_error *err)
{
    struct reader r = {.whole = text, .at = text, .name = tp_name_none, .err = err};
    if (strcmp(text, "/") != 0) TP_TRY(*text && *text != '/' ? read_local(&r) : read_parts(&r));
    *out = r.name;
    return TROUPE_OK;
}

troupe_status tp_name_complete(const char *text, const struct tp_name *base,
                               struct tp_name *out, troupe_error *err)
{
    struct tp_name name;
    *out = tp_name_none;
    TP_TRY(tp_name_parse(text, &name, err));
    if (!tp_name_full(base))
        return tp_fail(err, TROUPE_INVALID,
                       "device name '%.60s' cannot complete '%.60s': it is partial",
                       tp_name_text(base).text, text);
    tp_name_fill(&name, base);
    *out = name;
    return TROUPE_OK;
}

static troupe_status fits_in(size_t needed, size_t size, const char *text, troupe_error *err)
{
    if (needed < size) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "device name '%.100s': a part needs %zu bytes, not %zu",
                   text, needed + 1, size);
}

troupe_status tp_name_split(const char *text, char *task, size_t task_size, char *device,
                            size_t device_size, troupe_error *err)
{
    struct tp_name name;
    TP_TRY(tp_name_parse(text, &name, err));
    if (!name.type[0] || name.id == TP_UNSET)
        return tp_fail(err, TROUPE_INVALID, "device name '%.100s' has no device part", text);
    struct tp_name place = name, thing = tp_name_none;
    place.type[0] = 0;
    place.id = TP_UNSET;
    memcpy(thing.type, name.type, sizeof(thing.type));
    thing.id = name.id;
    const struct tp_name_text long_form = tp_name_text(&thing);
    const char *short_form = long_form.text + strlen("/device:");
    TP_TRY(fits_in(tp_name_show(&place, NULL, 0), task_size, text, err));
    TP_TRY(fits_in(strlen(short_form), device_size, text, err));
    tp_name_show(&place, task, task_size);
    snprintf(device, device_size, "%s", short_form);
    return TROUPE_OK;
}
