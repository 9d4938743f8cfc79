/* SPDX-License-Identifier: MIT
 *
 * messages/scan.h - whether bytes from outside are exactly one whole msgpack value.
 *
 * A reader of msgpack believes what a value's header says: msgpack-c 4.0 sets aside 24 bytes
 * for each element that an array claims to have, before it has seen one, so a few bytes can ask
 * for gigabytes. What was scanned first cannot: everything it claims is there. The scan
 * allocates nothing and does not recurse.
 */
#ifndef TP_MESSAGES_SCAN_H
#define TP_MESSAGES_SCAN_H

#include <stddef.h>

#include "troupe/status.h"

#define TP_SCAN_DEPTH  16   /* arrays and maps inside each other */
#define TP_SCAN_VALUES 4096 /* all in all, each key and each value of a map being one */

/* Bytes of the value that starts the `size` bytes; others may follow. CORRUPT, naming the byte:
 * it is cut short, is no msgpack, claims more values than bytes are left, or is over a limit
 * above. */
troupe_status tp_scan_value(const void *bytes, size_t size, size_t *out,
                            troupe_error *err) TROUPE_MUST_CHECK;
/* As above with up to `most` values. Byte `at` of the bytes is its first. */
troupe_status tp_scan_value_at(const void *bytes, size_t size, size_t at, size_t most,
                               size_t *out, troupe_error *err) TROUPE_MUST_CHECK;
/* As above, and CORRUPT when anything follows. */
troupe_status tp_scan(const void *bytes, size_t size, troupe_error *err) TROUPE_MUST_CHECK;

#endif
