/* SPDX-License-Identifier: MIT
 *
 * import/native.h - files of our own in binary form: functions, and the tensors beside them.
 *
 * A file is a header of 64 bytes, the sizes of the frames, the form of the functions
 * (messages/function_codec.h), and the frames, each at a multiple of 64; doc/function-form.md
 * has every byte. Its checksum is over all but the frames, whose checksums are in the form.
 */
#ifndef TP_IMPORT_NATIVE_H
#define TP_IMPORT_NATIVE_H

#include <stdbool.h>

#include "messages/function_codec.h"

#define TP_NATIVE_MAGIC      "\x89TRP\r\n\x1a\n"
#define TP_NATIVE_MAGIC_SIZE 8
#define TP_NATIVE_VERSION    1

/* What starts with these bytes means to be such a file, whole or damaged. */
bool tp_native_begins(const void *bytes, size_t size);

/* The functions of the file at that descriptor, which holds `size` bytes; path is what they name
 * as their source. CORRUPT, with the place, and with both checksums where one is wrong;
 * UNSUPPORTED: of a version that is not understood here; as tp_bodies_decode. Errors do not name
 * the file. */
troupe_status tp_native_read(int file, size_t size, const char *path, struct tp_bodies *out,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* Whole or not at all. INVALID, NOT_FOUND, EXHAUSTED, DEVICE: it cannot be written. */
troupe_status tp_native_write(const struct tp_bodies *bodies, const char *path,
                              troupe_error *err) TROUPE_MUST_CHECK;

#endif
