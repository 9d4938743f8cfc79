/* SPDX-License-Identifier: MIT
 *
 * tools/inputs.h - arguments from the command line: NAME=FILE.npy, NAME=zeros,
 * NAME=random:SEED.
 */
#ifndef TP_TOOLS_INPUTS_H
#define TP_TOOLS_INPUTS_H

#include "tools/options.h"
#include "troupe/troupe.h"

/* The arguments of one function, in order; NULL where the default is to be taken. Zeroed is
 * valid and empty. */
struct tp_inputs {
    troupe_tensor **list;
    size_t n;
};

/* Read or make what the command line gives. Dimensions that a file or a default settles by name
 * hold for the other arguments as well; those that nothing settles are 1, and an unknown rank
 * is 0. One sentence names all arguments that are missing. An exit status; the failure has been
 * said. */
int tp_inputs_make(const troupe_function *function, const char *path,
                   const struct tp_options *options, struct tp_inputs *out);
void tp_inputs_fini(struct tp_inputs *inputs);

#endif
