/* SPDX-License-Identifier: MIT
 *
 * tools/cmd_convert.c - troupe convert: a model to a file of our own.
 */
#include <sys/stat.h>

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

static bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

int tp_cmd_convert(const struct tp_options *options)
{
    struct tp_model model = {0};
    if (!options->output) return tp_say_usage("convert", "-o FILE is missing");
    if (is_same_file(options->operands[0], options->output))
        return tp_say_usage("convert", "-o %s is MODEL itself, which would be gone",
                            options->output);
    int status = tp_model_read(options, &model);
    if (!status) status = convert(options, &model);
    tp_model_fini(&model);
    return status;
}
