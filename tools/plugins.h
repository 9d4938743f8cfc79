/* SPDX-License-Identifier: MIT
 *
 * tools/plugins.h - operators from shared objects that the command line names.
 */
#ifndef TP_TOOLS_PLUGINS_H
#define TP_TOOLS_PLUGINS_H

#include "tools/options.h"
#include "troupe/troupe.h"

/* The operators of all plugins of the command line, the caller's; *out stays NULL when there
 * are none. A plugin stays loaded until the process ends, as its code may still be called. An
 * exit status; the failure has been said. */
int tp_plugins_load(const struct tp_options *options, troupe_operators **out);

#endif
