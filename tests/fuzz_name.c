/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_name.c - any bytes as a device name, as two of them, and as a list of devices.
 *
 * An input is a text; its first newline parts two names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/device.h"
#include "graph/name.h"
#include "tests/fuzz.h"

#define TIMES    400
#define CONSTANT 10000

/* Its text is read as an equal name. */
static void ck_sound(const struct tp_name *name)
{
    struct tp_name back;
    char job[TP_NAME_TEXT], device[TP_NAME_TEXT];
    const struct tp_name_text text = tp_name_text(name);
    FUZZ_ASSERT(strlen(text.text) + 1 < sizeof(text.text));
    FUZZ_ASSERT(!tp_name_parse(text.text, &back, NULL));
    FUZZ_ASSERT(tp_name_equal(name, &back) && tp_name_compare(name, &back) == 0);
    FUZZ_ASSERT(tp_name_fits(&back, name) && tp_name_compatible(name, &back));
    (void)!tp_name_split(text.text, job, sizeof(job), device, sizeof(device), NULL);
}

static bool parse(const char *text, struct tp_name *out)
{
    troupe_error err = {.code = TROUPE_OK};
    const troupe_status status = tp_name_parse(text, out, &err);
    FUZZ_ASSERT(!status || (status == TROUPE_INVALID && err.text[0]));
    if (!status) ck_sound(out);
    return !status;
}

static void join(const char *a, const char *b)
{
    struct tp_name x, y, into;
    FUZZ_ASSERT(tp_name_compare_text(a, b) == -tp_name_compare_text(b, a));
    if (!parse(a, &x) || !parse(b, &y)) return;
    const bool fit = tp_name_compatible(&x, &y);
    into = x;
    FUZZ_ASSERT(!tp_name_merge(&into, &y, false, NULL) == fit);
    ck_sound(&into);
    into = x;
    if (!tp_name_merge(&into, &y, true, NULL)) ck_sound(&into);
    into = x;
    if (!tp_name_override(&into, &y, NULL)) ck_sound(&into);
    into = x;
    tp_name_fill(&into, &y);
    ck_sound(&into);
    if (!tp_name_complete(a, &y, &into, NULL)) ck_sound(&into);
}

static void read_list(const char *text)
{
    troupe_error err = {.code = TROUPE_OK};
    struct tp_device_wish *wishes = NULL;
    size_t n = 0;
    heap_peak_begin();
    const troupe_status status = tp_devices_read(text, &wishes, &n, &err);
    fuzz_held(strlen(text), TIMES, CONSTANT);
    FUZZ_ASSERT(!status ||
                ((status == TROUPE_INVALID || status == TROUPE_NOT_FOUND) && err.text[0]));
    if (!status) tp_devices_share(wishes, n, 4);
    for (size_t i = 0; !status && i < n; i++) {
        FUZZ_ASSERT(wishes[i].threads > 0 && wishes[i].permits > 0);
        ck_sound(&wishes[i].name);
    }
    tp_free(wishes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_name name;
    char *text = strndup((const char *)data, size);
    FUZZ_ASSERT(text);
    read_list(text);
    char *second = strchr(text, '\n');
    if (second) {
        *second++ = 0;
        join(text, second);
    }
    (void)parse(text, &name);
    free(text);
    FUZZ_ASSERT(tp_alloc_pieces() == 0);
    return 0;
}
