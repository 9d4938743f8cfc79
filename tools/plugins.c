/* SPDX-License-Identifier: MIT
 *
 * tools/plugins.c - operators from shared objects that the command line names.
 */
#include "tools/plugins.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tools/say.h"

/* A name without a slash is a file here, too, and not one of the system's libraries. */
static void *open_file(const char *path)
{
    const size_t size = strlen(path) + 3;
    if (strchr(path, '/')) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char *here = malloc(size);
    if (!here) return NULL;
    snprintf(here, size, "./%s", path);
    void *file = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    free(here);
    return file;
}

/* dlsym gives a data pointer, and POSIX that it may be copied to one of a function. */
static troupe_plugin_fn *find_function(void *file)
{
    troupe_plugin_fn *function = NULL;
    void *at = dlsym(file, "troupe_plugin");
    memcpy(&function, &at, sizeof(function));
    return function;
}

static int load(const char *path, troupe_operators *operators)
{
    troupe_error err = {0};
    void *file = open_file(path);
    if (!file) {
        const char *why = dlerror();
        return tp_say_failure("%s: %s", path, why ? why : "out of memory");
    }
    troupe_plugin_fn *plugin = find_function(file);
    if (!plugin) return tp_say_failure("%s: it exports no function troupe_plugin", path);
    if (plugin(operators, &err) == TROUPE_OK) return TP_EXIT_OK;
    err.text[sizeof(err.text) - 1] = 0;
    return tp_say_failure("%s: %s", path, *err.text ? err.text : "its troupe_plugin failed");
}

int tp_plugins_load(const struct tp_options *options, troupe_operators **out)
{
    troupe_error err;
    troupe_operators *operators = NULL;
    int status = TP_EXIT_OK;
    if (!options->n_plugins) return TP_EXIT_OK;
    if (troupe_operators_new(&operators, &err) < 0) return tp_say_error(&err);
    for (size_t i = 0; !status && i < options->n_plugins; i++)
        status = load(options->plugins[i], operators);
    if (status)
        troupe_operators_release(&operators);
    else
        *out = operators;
    return status;
}
