/* SPDX-License-Identifier: MIT
 *
 * actors/report_json.c - what the JSON of plans and of reports share.
 */
#include "actors/report_json.h"

#include <stdbool.h>
#include <string.h>

#include "base/fail.h"
#include "tensor/utf8.h"

json_t *tp_json_text(const char *text)
{
    if (!text) return json_null();
    json_t *json = json_string(text);
    if (json) return json;
    struct tp_text fit = {0};
    tp_utf8_fit(text, strlen(text), &fit);
    json = fit.failed || !fit.data ? NULL : json_stringn(fit.data, fit.size);
    tp_text_fini(&fit);
    return json;
}

static void drop_unless(bool worked, json_t **whole)
{
    if (worked) return;
    json_decref(*whole);
    *whole = NULL;
}

void tp_json_add(json_t **list, json_t *item)
{
    drop_unless(json_array_append_new(*list, item) == 0, list);
}

void tp_json_set(json_t **object, const char *key, json_t *item)
{
    drop_unless(json_object_set_new(*object, key, item) == 0, object);
}

static int take_piece(const char *piece, size_t size, void *out)
{
    struct tp_text *text = out;
    tp_text_add_bytes(text, piece, size);
    return text->failed ? -1 : 0;
}

/* Piece by piece into a text that remembers a failure: json_dumps of jansson 2.14 may leave a
 * key out when there is no memory for it. */
troupe_status tp_json_write(json_t *root, struct tp_text *out, troupe_error *err)
{
    const int failed =
        root ? json_dump_callback(root, take_piece, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER)
             : -1;
    json_decref(root);
    if (failed) return tp_fail_memory(err, out->size);
    tp_text_add(out, "\n");
    return out->failed ? tp_fail_memory(err, out->size) : TROUPE_OK;
}
