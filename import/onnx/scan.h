/* SPDX-License-Identifier: MIT
 *
 * import/onnx/scan.h - refuse bytes that are no ONNX message, then decode those that are.
 *
 * protobuf-c has no limit of depth and copies all that it reads, so it sees nothing that scan.c
 * has not walked over: lengths, depth, text and what the decoded form will cost are checked
 * first, without an allocation. What then is decoded is a slim copy: without fields that nobody
 * reads, and with each long raw_data replaced by where it stands (raw_at, raw_size), so that
 * weights are copied once.
 */
#ifndef TP_IMPORT_ONNX_SCAN_H
#define TP_IMPORT_ONNX_SCAN_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "troupe/status.h"

#define TP_ONNX_DEPTH   64                  /* messages within one another */
#define TP_ONNX_NODES   ((size_t)1 << 20)   /* graph nodes of a model */
#define TP_ONNX_DECODED ((size_t)1 << 30)   /* bytes of the decoded form, without raw weights */
#define TP_ONNX_SIZE    ((size_t)INT32_MAX) /* protobuf's own limit of a message */
#define TP_ONNX_RAW     64                  /* bytes from which raw_data stays where it is */

struct tp_onnx_counts {
    size_t slim;    /* bytes of the slim copy; never more than the message has */
    size_t decoded; /* bytes that the decoded form needs at most */
    size_t nodes;   /* graph nodes, those of sub-graphs and functions among them */
};

/* Walk over a message of that type. CORRUPT gives the offset of the byte at fault; EXHAUSTED:
 * over one of the limits above. */
troupe_status tp_onnx_scan(const ProtobufCMessageDescriptor *type, const void *bytes,
                           size_t size, struct tp_onnx_counts *out,
                           troupe_error *err) TROUPE_MUST_CHECK;

/* Scan, then decode. *out is freed with tp_onnx_free; in it absent strings are NULL. */
troupe_status tp_onnx_decode(const ProtobufCMessageDescriptor *type, const void *bytes,
                             size_t size, ProtobufCMessage **out,
                             troupe_error *err) TROUPE_MUST_CHECK;
void tp_onnx_free(ProtobufCMessage **message);

#endif
