/* SPDX-License-Identifier: MIT
 *
 * base/outfile.h - a file that appears whole or not at all.
 *
 * It is written under another name beside its own, "PATH.PID-N.part", and renamed when it is
 * whole. So nobody ever reads a part of it, and a failure leaves what was there before; a
 * symbolic link of that name is replaced, not followed. Errors do not name the file.
 */
#ifndef TP_BASE_OUTFILE_H
#define TP_BASE_OUTFILE_H

#include <stddef.h>
#include <stdio.h>

#include "troupe/status.h"

/* Zeroed is valid: nothing to discard. */
struct tp_outfile {
    FILE *stream;
    char *part; /* its name until it is renamed; NULL: there is none to remove */
};

/* Start a file that will be `path`, with the permissions that a new file gets. INVALID: there
 * is something at `path` that is no regular file, which must not be replaced by one. */
troupe_status tp_outfile_open(struct tp_outfile *file, const char *path,
                              troupe_error *err) TROUPE_MUST_CHECK;
troupe_status tp_outfile_put(struct tp_outfile *file, const void *bytes, size_t size,
                             troupe_error *err) TROUPE_MUST_CHECK;
/* Give it its name. */
troupe_status tp_outfile_finish(struct tp_outfile *file, const char *path,
                                troupe_error *err) TROUPE_MUST_CHECK;
/* Remove what was not finished. */
void tp_outfile_discard(struct tp_outfile *file);

/* The failure for an errno of a file operation: "what: why". */
troupe_status tp_fail_errno(troupe_error *err, int error, const char *what);

#endif
