/* SPDX-License-Identifier: MIT
 *
 * actors/report_json.c - what the JSON of plans and of reports share.
 */
#include "actors/report_json.h"

#include <stdlib.h>
#include <string.h>

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

troupe_status tp_json_write(json_t *root, struct tp_text *out, troupe_error *err)
{
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (!text) return tp_fail_memory(err, 0);
    tp_text_add(out, "%s\n", text);
    free(text);
    return TROUPE_OK;
}
