/* SPDX-License-Identifier: MIT
 *
 * tools/output.h - the results of a call: printed, as JSON, or as DIR/NAME.npy.
 */
#ifndef TP_TOOLS_OUTPUT_H
#define TP_TOOLS_OUTPUT_H

#include <jansson.h>

#include "troupe/troupe.h"

/* Print "NAME = VALUE" for each result; of a large one the middle is left out. */
int tp_output_print(const troupe_function *function, troupe_tensor *const *results);
/* Write DIR/NAME.npy for each result, every byte of NAME outside A-Za-z0-9._- as %XX. DIR is
 * made when it is not there. */
int tp_output_write(const troupe_function *function, troupe_tensor *const *results,
                    const char *folder);
/* A list of {"name", "dtype", "shape", "data" or, with a folder, "file"}; NULL: no memory. */
json_t *tp_output_json(const troupe_function *function, troupe_tensor *const *results,
                       const char *folder);

/* Everything that was printed is where it should be; else a sentence. To be asked at the end.
 */
int tp_output_flush(void);

#endif
