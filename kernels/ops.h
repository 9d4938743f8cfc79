/* SPDX-License-Identifier: MIT
 *
 * kernels/ops.h - every op's row, by name; for the tables of this folder.
 */
#ifndef TP_KERNELS_OPS_H
#define TP_KERNELS_OPS_H

#include "graph/op.h"

#define OP(name) extern const struct tp_op tp_op_##name;
#include "kernels/ops.def"
#undef OP

#endif
