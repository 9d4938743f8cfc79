/* SPDX-License-Identifier: MIT
 *
 * tools/cmd_convert.c - troupe convert: a model to a file of our own.
 */
#include "tools/commands.h"
#include "tools/model.h"
#include "tools/say.h"

static int convert(const struct tp_options *options, const struct tp_model *model)
{
    troupe_error err;
    const troupe_file_form form = options->text ? TROUPE_FILE_TEXT : TROUPE_FILE_BINARY;
    const char *main = troupe_function_name(model->function);
    if (troupe_library_save(model->library, main, options->output, form, &err) < 0)
        return tp_say_error(&err);
    return TP_EXIT_OK;
}

int tp_cmd_convert(const struct tp_options *options)
{
    struct tp_model model = {0};
    if (!options->output) return tp_say_usage("convert", "-o FILE is missing");
    int status = tp_model_read(options, &model);
    if (!status) status = convert(options, &model);
    tp_model_fini(&model);
    return status;
}
