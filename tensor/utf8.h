/* SPDX-License-Identifier: MIT
 *
 * tensor/utf8.h - code points in and out of UTF-8. Overlong forms, surrogates and what lies
 * above U+10FFFF are not code points.
 */
#ifndef TP_TENSOR_UTF8_H
#define TP_TENSOR_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

#define TP_UTF8_MAX 4 /* bytes of one code point */

bool tp_utf8_valid(uint32_t code);
/* Bytes of the code point that text[0..size) starts with; 0: it does not start with one. */
size_t tp_utf8_get(const char *text, size_t size, uint32_t *code);
/* Writes a valid code point and returns its bytes. */
size_t tp_utf8_put(char *text, uint32_t code);
/* Append text[0..size) with U+FFFD for each byte that is no part of a code point. */
void tp_utf8_fit(const char *text, size_t size, struct tp_text *out);

#endif
