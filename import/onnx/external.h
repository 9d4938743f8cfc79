/* SPDX-License-Identifier: MIT
 *
 * import/onnx/external.h - open a file that lies in a folder, and nowhere else.
 */
#ifndef TP_IMPORT_ONNX_EXTERNAL_H
#define TP_IMPORT_ONNX_EXTERNAL_H

#include "troupe/status.h"

/* The descriptor of `path` below the folder of descriptor `folder`, for reading; the caller's
 * to close. INVALID: the path is absolute, empty, has ".." in it, or a symbolic link leads out
 * of the folder; NOT_FOUND. */
troupe_status tp_onnx_open_beneath(int folder, const char *path, int *out,
                                   troupe_error *err) TROUPE_MUST_CHECK;
/* The same for systems without openat2: follows no symbolic link at all. */
troupe_status tp_onnx_open_plain(int folder, const char *path, int *out,
                                 troupe_error *err) TROUPE_MUST_CHECK;

#endif
