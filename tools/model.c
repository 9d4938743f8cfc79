/* SPDX-License-Identifier: MIT
 *
 * tools/model.c - a function of a file, the rules that place it, and a runtime to run it.
 */
#include "tools/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugins.h"
#include "tools/say.h"

enum { MOST_RULES = 16 << 20 }; /* bytes of a rule file; a larger one is some other file */

static int no_such_function(const struct tp_model *model, const char *name)
{
    const size_t n = troupe_library_count(model->library);
    const char **names = calloc(n ? n : 1, sizeof(*names));
    if (!names) return tp_say_memory();
    for (size_t i = 0; i < n; i++)
        names[i] = troupe_library_name(model->library, i);
    const char *closest = tp_say_closest(name, names, n);
    if (!closest && n) closest = names[0];
    const int status =
        tp_say_failure("%s: there is no function '%s' among its %zu (the closest is '%s')",
                       model->path, name, n, closest ? closest : "");
    free(names);
    return status;
}

static int find_function(const char *name, struct tp_model *model)
{
    troupe_error err;
    const troupe_status status =
        troupe_library_find(model->library, name, &model->function, &err);
    if (status == TROUPE_OK) return TP_EXIT_OK;
    return status == TROUPE_NOT_FOUND ? no_such_function(model, name) : tp_say_error(&err);
}

int tp_model_read(const struct tp_options *options, struct tp_model *out)
{
    troupe_error err;
    const char *name = NULL;
    out->path = options->operands[0];
    const int loaded = tp_plugins_load(options, &out->operators);
    if (loaded) return loaded;
    if (troupe_library_new(&out->library, &err) < 0 ||
        (out->operators && troupe_library_operators(out->library, out->operators, &err) < 0) ||
        troupe_library_load(out->library, out->path, &name, &err) < 0)
        return tp_say_error(&err);
    if (options->call) name = options->call;
    if (!name) return tp_say_failure("%s: it has no function", out->path);
    return find_function(name, out);
}

/* -- Rules -------------------------------------------------------------------------------- */

/* The rest of a file, with a zero byte behind its *n bytes. NULL: errno says why. */
static char *read_all(FILE *file, size_t most, size_t *n)
{
    char *text = NULL;
    size_t size = 0, capacity = 0;
    do {
        capacity = capacity ? 2 * capacity : 4096;
        char *grown = capacity <= 2 * most ? realloc(text, capacity) : NULL;
        if (!grown) {
            free(text);
            errno = capacity <= 2 * most ? ENOMEM : EFBIG;
            return NULL;
        }
        text = grown;
        size += fread(text + size, 1, capacity - size - 1, file);
    } while (size == capacity - 1);
    text[size] = '\0';
    *n = size;
    if (!ferror(file)) return text;
    free(text);
    return NULL;
}

static int read_rules(const char *path, struct tp_model *model)
{
    size_t n = 0;
    FILE *file = fopen(path, "re");
    if (file) {
        model->rules = read_all(file, MOST_RULES, &n);
        const int why = errno;
        fclose(file);
        errno = why;
    }
    if (!model->rules) return tp_say_failure("%s: %s", path, strerror(errno));
    if (strlen(model->rules) < n)
        return tp_say_failure("%s: byte %zu: a zero byte", path, strlen(model->rules));
    model->how.rules = model->rules;
    model->how.rules_source = path;
    return TP_EXIT_OK;
}

/* -- Runtime ------------------------------------------------------------------------------ */

int tp_model_runtime(const struct tp_options *options, const troupe_operators *operators,
                     troupe_runtime **out)
{
    troupe_options open = TROUPE_OPTIONS_INIT;
    troupe_error err;
    open.devices = options->devices;
    open.wire = options->wire;
    open.operators = operators;
    return troupe_open(out, &open, &err) < 0 ? tp_say_error(&err) : TP_EXIT_OK;
}

int tp_model_open(const struct tp_options *options, struct tp_model *model)
{
    model->how = (troupe_call_options)TROUPE_CALL_OPTIONS_INIT;
    model->how.soft = options->soft;
    model->how.deadline_s = options->deadline;
    int status = tp_model_runtime(options, model->operators, &model->runtime);
    if (!status && options->place) status = read_rules(options->place, model);
    if (status) return status;
    model->how.cut = troupe_devices(model->runtime) > 1;
    return TP_EXIT_OK;
}

void tp_model_fini(struct tp_model *model)
{
    troupe_function_release(&model->function);
    troupe_library_destroy(&model->library);
    if (model->runtime) (void)troupe_close(&model->runtime);
    troupe_operators_release(&model->operators);
    free(model->rules);
    *model = (struct tp_model){0};
}
