/* SPDX-License-Identifier: MIT
 *
 * import/onnx/import.h - ONNX models into functions; nothing of protobuf-c is seen here.
 */
#ifndef TP_IMPORT_ONNX_IMPORT_H
#define TP_IMPORT_ONNX_IMPORT_H

#include "troupe/function.h"

/* Read a model and add its function to library, under the name of its graph, or that of
 * `source` when the graph has none or another function has it. `folder` (NULL: there is none)
 * is where the model's external data lie; `source` names the model in messages. *name (may be
 * NULL) gets the function's name, which is the library's. CORRUPT, with the byte's offset: no
 * ONNX; INVALID: a malformed model; UNSUPPORTED names all that is missing; all or nothing is
 * added. */
troupe_status tp_onnx_read(const void *bytes, size_t size, const char *folder,
                           const char *source, troupe_library *library, const char **name,
                           troupe_error *err) TROUPE_MUST_CHECK;

/* A lone TensorProto, as ONNX's test data have it. External data are INVALID there. */
troupe_status tp_onnx_read_tensor(const void *bytes, size_t size, troupe_tensor **out,
                                  troupe_error *err) TROUPE_MUST_CHECK;

#endif
