/* SPDX-License-Identifier: MIT
 *
 * tools/cmd_show.c - troupe show and troupe explain: what a call would do, and why; nothing
 * runs.
 */
#include <string.h>

#include "tools/commands.h"
#include "tools/json.h"
#include "tools/model.h"
#include "tools/plugins.h"
#include "tools/say.h"

static int make_plan(const struct tp_options *options, struct tp_model *model,
                     troupe_plan **out)
{
    troupe_error err;
    int status = tp_model_read(options, model);
    if (!status) status = tp_model_open(options, model);
    if (status) return status;
    if (troupe_plan_make(model->runtime, model->function, &model->how, out, &err) < 0)
        return tp_say_error(&err);
    return TP_EXIT_OK;
}

/* Print text that the library gave (moved in), and end its last line. */
static int print_text(char **text)
{
    tp_say_text(stdout, *text, "\n\t");
    if (**text && (*text)[strlen(*text) - 1] != '\n') putchar('\n');
    troupe_free(*text);
    *text = NULL;
    return TP_EXIT_OK;
}

/* -- Operators ---------------------------------------------------------------------------- */

/* Operator i: troupe's own, then those of the plugins. */
static const char *operator_at(const troupe_operators *plugged, size_t i, const char **summary)
{
    size_t own = 0;
    const char *name = troupe_operator(i, summary);
    if (name || !plugged) return name;
    while (troupe_operator(own, NULL))
        own++;
    return troupe_operators_name(plugged, i - own, summary);
}

static json_t *operators_json(const troupe_operators *plugged)
{
    json_t *list = json_array();
    const char *name = NULL, *summary = NULL;
    for (size_t i = 0; list && (name = operator_at(plugged, i, &summary)); i++) {
        json_t *row = json_pack("{s:s, s:s}", "name", name, "summary", summary);
        if (json_array_append_new(list, row) == 0) continue;
        json_decref(list);
        list = NULL;
    }
    return list;
}

static int list_operators(const struct tp_options *options, const troupe_operators *plugged)
{
    const char *name = NULL, *summary = NULL;
    if (options->json) {
        json_t *list = operators_json(plugged);
        return tp_json_print(&list);
    }
    for (size_t i = 0; (name = operator_at(plugged, i, &summary)); i++)
        printf("%-24s %s\n", name, summary);
    return TP_EXIT_OK;
}

static int show_operators(const struct tp_options *options)
{
    troupe_operators *plugged = NULL;
    int status = tp_plugins_load(options, &plugged);
    if (!status) status = list_operators(options, plugged);
    troupe_operators_release(&plugged);
    return status;
}

/* -- Plans -------------------------------------------------------------------------------- */

static int print_plan(const struct tp_options *options, const troupe_plan *plan)
{
    troupe_error err;
    char *text = NULL;
    const troupe_format format = options->json  ? TROUPE_JSON
                                 : options->dot ? TROUPE_DOT
                                                : TROUPE_TEXT;
    if (troupe_plan_print(plan, format, &text, &err) < 0) return tp_say_error(&err);
    return print_text(&text);
}

int tp_cmd_show(const struct tp_options *options)
{
    struct tp_model model = {0};
    troupe_plan *plan = NULL;
    if (options->operators) return show_operators(options);
    int status = make_plan(options, &model, &plan);
    if (!status) status = print_plan(options, plan);
    troupe_plan_release(&plan);
    tp_model_fini(&model);
    return status;
}

static int print_reasons(const struct tp_options *options, const troupe_plan *plan)
{
    troupe_error err;
    char *text = NULL;
    if (troupe_plan_explain(plan, options->operands[1], &text, &err) < 0)
        return tp_say_failure("%s: %s", options->operands[0], err.text);
    return print_text(&text);
}

int tp_cmd_explain(const struct tp_options *options)
{
    struct tp_model model = {0};
    troupe_plan *plan = NULL;
    int status = make_plan(options, &model, &plan);
    if (!status) status = print_reasons(options, plan);
    troupe_plan_release(&plan);
    tp_model_fini(&model);
    return status;
}
