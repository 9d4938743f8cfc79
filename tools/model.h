/* SPDX-License-Identifier: MIT
 *
 * tools/model.h - what run, show and explain begin with: a function of a file, and a runtime.
 */
#ifndef TP_TOOLS_MODEL_H
#define TP_TOOLS_MODEL_H

#include "tools/options.h"
#include "troupe/troupe.h"

/* Zeroed is valid and empty. */
struct tp_model {
    const char *path;            /* the command line's */
    troupe_operators *operators; /* of the plugins, or NULL */
    troupe_library *library;
    troupe_function *function;
    troupe_runtime *runtime;
    char *rules; /* the text of --place, or NULL */
    /* How the command line wants a call to be placed. Rules and names are borrowed from above.
     */
    troupe_call_options how;
};

/* Read the file and find the function. An exit status; the failure has been said. */
int tp_model_read(const struct tp_options *options, struct tp_model *out);
/* Open the runtime, read the rules, fill `how`. An exit status; the failure has been said. */
int tp_model_open(const struct tp_options *options, struct tp_model *model);
/* Open a runtime over the devices of the command line, with those operators (may be NULL). As
 * above. */
int tp_model_runtime(const struct tp_options *options, const troupe_operators *operators,
                     troupe_runtime **out);
void tp_model_fini(struct tp_model *model);

#endif
