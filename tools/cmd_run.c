/* SPDX-License-Identifier: MIT
 *
 * tools/cmd_run.c - troupe run: call a function and give out its results.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls.h"
#include "tools/commands.h"
#include "tools/inputs.h"
#include "tools/json.h"
#include "tools/model.h"
#include "tools/output.h"
#include "tools/say.h"

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static void print_times(const struct tp_calls *calls)
{
    printf("%" PRIu64 " calls: first %.3f us, then min %.3f us, median %.3f us, max %.3f us\n",
           calls->made, us(calls->first_ns), us(calls->times.least),
           us(tp_times_median(&calls->times)), us(calls->times.greatest));
}

static json_t *times_json(const struct tp_calls *calls)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "calls", (json_int_t)calls->made, "first_us",
                     us(calls->first_ns), "min_us", us(calls->times.least), "median_us",
                     us(tp_times_median(&calls->times)), "max_us", us(calls->times.greatest));
}

/* The report as JSON inside the tool's own; null when there is none. */
static json_t *report_json(const struct tp_calls *calls)
{
    if (!calls->report) return json_null();
    const char *text = troupe_report_text(calls->report, TROUPE_JSON);
    return text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
}

static int give_json(const struct tp_model *model, const struct tp_options *options,
                     const struct tp_calls *calls)
{
    json_t *root = json_object();
    int bad = !root;
    bad |= json_object_set_new(root, "format", json_integer(TROUPE_JSON_FORMAT));
    bad |= json_object_set_new(
        root, "results", tp_output_json(model->function, calls->results, options->output));
    bad |= json_object_set_new(root, "times", times_json(calls));
    bad |= json_object_set_new(root, "report", report_json(calls));
    if (bad) {
        json_decref(root);
        root = NULL;
    }
    return tp_json_print(&root);
}

/* What soft placement relaxed belongs to no result, so it goes to standard error, unless the
 * whole report is asked for. */
static void give_report(const struct tp_options *options, const struct tp_calls *calls)
{
    const char *text = calls->report ? troupe_report_text(calls->report, TROUPE_TEXT) : NULL;
    if (!text) return;
    FILE *to = options->profile ? stdout : stderr;
    tp_say_text(to, text, "\n");
    if (*text && text[strlen(text) - 1] != '\n') fputc('\n', to);
}

static int give(const struct tp_model *model, const struct tp_options *options,
                const struct tp_calls *calls)
{
    int status = TP_EXIT_OK;
    if (options->output)
        status = tp_output_write(model->function, calls->results, options->output);
    if (status) return status;
    if (options->json) return give_json(model, options, calls);
    if (!options->output) status = tp_output_print(model->function, calls->results);
    if (options->repeat) print_times(calls);
    give_report(options, calls);
    return status;
}

static int run(const struct tp_options *options, struct tp_model *model,
               struct tp_inputs *inputs, struct tp_calls *calls)
{
    int status = tp_model_read(options, model);
    if (!status) status = tp_inputs_make(model->function, model->path, options, inputs);
    if (!status) status = tp_model_open(options, model);
    if (!status) status = tp_calls_make(model, inputs, options, calls);
    return status ? status : give(model, options, calls);
}

/* What graph nodes print is what the user asked for; what the library notes besides is not. */
static void log_line(void *arg, troupe_level level, const char *id, const char *line)
{
    (void)arg;
    const char *said = strcmp(id, "print") ? NULL : strstr(line, "print: ");
    if (said)
        fprintf(stderr, "%s\n", said + strlen("print: "));
    else if (level <= TROUPE_LOG_WARN)
        fprintf(stderr, "troupe: %s\n", line);
}

int tp_cmd_run(const struct tp_options *options)
{
    troupe_log_to(log_line, NULL, TROUPE_LOG_INFO);
    struct tp_model model = {0};
    struct tp_inputs inputs = {0};
    struct tp_calls *calls = calloc(1, sizeof(*calls)); /* its histogram is too large a local */
    if (!calls) return tp_say_memory();
    const int status = run(options, &model, &inputs, calls);
    tp_model_fini(&model); /* before what its calls write to */
    tp_calls_fini(calls);
    free(calls);
    tp_inputs_fini(&inputs);
    return status;
}
