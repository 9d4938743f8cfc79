/* SPDX-License-Identifier: MIT
 *
 * import/onnx/reader.h - what is read from: the model's bytes, and the files beside it.
 */
#ifndef TP_IMPORT_ONNX_READER_H
#define TP_IMPORT_ONNX_READER_H

#include <stddef.h>
#include <stdint.h>

#include "import/onnx/onnx.pb-c.h"
#include "tensor/shape.h"
#include "troupe/tensor.h"

/* The file that external data were last read from stays open: tensors mostly share one. */
struct tp_onnx_source {
    const uint8_t *bytes; /* the file, which raw_at counts in */
    size_t size;
    const char *folder; /* NULL: external data are refused */
    char *location;     /* of the open file */
    int file;           /* -1: none */
    uint64_t file_size;
};
#define TP_ONNX_SOURCE(data, length, where)                                                    \
    {                                                                                          \
        .bytes = (data), .size = (length), .folder = (where), .file = -1                       \
    }
void tp_onnx_source_fini(struct tp_onnx_source *source);

/* Texts of a message may be absent. */
static inline const char *tp_onnx_text(const char *text)
{
    return text ? text : "";
}

/* The element type of that number of ONNX's, or TROUPE_DTYPE_NONE. */
troupe_dtype tp_onnx_dtype(int32_t number);
/* ONNX's name of it, "complex64"; for numbers that ONNX does not define "type 99". Like
 * snprintf. */
struct tp_onnx_dtype_text {
    char text[24];
};
struct tp_onnx_dtype_text tp_onnx_dtype_text(int32_t number);

/* The value of a tensor. INVALID names what does not fit; UNSUPPORTED an element type. The
 * caller adds the tensor's name. */
troupe_status tp_onnx_tensor(struct tp_onnx_source *source, const Onnx__TensorProto *proto,
                             troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;

/* Find the `size` bytes of a tensor whose data are in a file beside the model, which is open
 * then and has them at *at. The path is relative, and neither it nor a symbolic link on it
 * leaves the model's folder. INVALID; NOT_FOUND: there is no such file. */
troupe_status tp_onnx_external_find(struct tp_onnx_source *source,
                                    const Onnx__TensorProto *proto, size_t size, uint64_t *at,
                                    troupe_error *err) TROUPE_MUST_CHECK;
/* Read what was found last. */
troupe_status tp_onnx_external_read(struct tp_onnx_source *source, uint64_t at, void *out,
                                    size_t size, troupe_error *err) TROUPE_MUST_CHECK;

#endif
