/* SPDX-License-Identifier: MIT
 *
 * graph/print.c - a function and those that it calls, in one of the forms.
 */
#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "graph/bind.h"
#include "graph/show.h"

static troupe_status print_each(const troupe_function *function,
                                void (*show)(const struct tp_function *, struct tp_text *),
                                struct tp_text *out, troupe_error *err)
{
    TP_OWNED(tp_free_at) const struct tp_function **list = NULL;
    size_t n;
    TP_TRY(tp_function_reached(function, &list, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (i > 0) tp_text_add(out, "\n");
        show(list[i], out);
    }
    return TROUPE_OK;
}

static troupe_status print(const troupe_function *function, troupe_format format,
                           struct tp_text *out, troupe_error *err)
{
    switch (format) {
    case TROUPE_TEXT:
        return print_each(function, tp_show_text, out, err);
    case TROUPE_JSON:
        return tp_show_json(function, out, err);
    case TROUPE_DOT:
        return print_each(function, tp_show_dot, out, err);
    }
    return tp_fail(err, TROUPE_INVALID, "there is no format %d", (int)format);
}

troupe_status troupe_function_print(const troupe_function *function, troupe_format format,
                                    char **out, troupe_error *err)
{
    TP_TRY(tp_need(function, "function", err));
    TP_TRY(tp_need(out, "out", err));
    TP_OWNED(tp_text_fini) struct tp_text text = {0};
    TP_TRY(print(function, format, &text, err));
    return tp_text_take(&text, out, err);
}
