/* SPDX-License-Identifier: MIT
 *
 * tensor/number.h - one element as text and back, the same in every locale.
 *
 * What is shown is the shortest text that gives the same bits again, except for a NaN's
 * payload.
 */
#ifndef TP_TENSOR_NUMBER_H
#define TP_TENSOR_NUMBER_H

#include "troupe/tensor.h"

#define TP_NUMBER_TEXT 64 /* room for every number and its zero byte */

/* The element of that type at `element`, which need not be aligned; not for strings. Returns
 * the bytes of the text without its zero byte. */
size_t tp_number_show(troupe_dtype dtype, const void *element, char text[TP_NUMBER_TEXT]);

/* Read a number of that type from *text and move *text behind it. INVALID: it is not a number
 * of that type or does not fit it; *text is at the offending byte and nothing was written. A
 * float below the least one is 0; one above the largest does not fit. "nan", "inf" and "-inf"
 * are floats where the type has them, "true" and "false" are bools, "(1,-2)" is complex. */
troupe_status tp_number_parse(troupe_dtype dtype, const char **text, void *element,
                              troupe_error *err) TROUPE_MUST_CHECK;

#endif
