/* SPDX-License-Identifier: MIT
 *
 * tools/commands.h - the commands of the tool. Each gives an exit status, after a sentence on
 * standard error when it is not TP_EXIT_OK.
 */
#ifndef TP_TOOLS_COMMANDS_H
#define TP_TOOLS_COMMANDS_H

#include "tools/options.h"

int tp_cmd_run(const struct tp_options *options);
int tp_cmd_show(const struct tp_options *options);
int tp_cmd_explain(const struct tp_options *options);
int tp_cmd_convert(const struct tp_options *options);
int tp_cmd_devices(const struct tp_options *options);

#endif
