/* SPDX-License-Identifier: MIT
 *
 * kernels/turn.h - turns a matrix of f32.
 */
#ifndef TP_KERNELS_TURN_H
#define TP_KERNELS_TURN_H

#include <stddef.h>

/* to[c * rows + r] = from[r * columns + c]; they lie apart. */
void tp_turn_f32(float *to, const float *from, size_t rows, size_t columns);

#endif
