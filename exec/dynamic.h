/* SPDX-License-Identifier: MIT
 *
 * exec/dynamic.h - steps whose shapes depend on values; private to the executor.
 */
#ifndef TP_EXEC_DYNAMIC_H
#define TP_EXEC_DYNAMIC_H

#include "exec/executor.h"

/* Infer the results' types from the inputs' values, give each a tensor of the device's pool,
 * prepare the kernel for these shapes and launch it. */
troupe_status tp_step_dynamic(struct tp_frame *frame, const struct tp_step *step,
                              troupe_error *err);

#endif
