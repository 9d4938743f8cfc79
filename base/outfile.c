/* SPDX-License-Identifier: MIT
 *
 * base/outfile.c - a file that appears whole or not at all.
 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"

#define MAX_TRIES 1000 /* names of other writers that are in the way */

troupe_status tp_fail_errno(troupe_error *err, int error, const char *what)
{
    return tp_fail(err, tp_fail_code(error), "%s: %s", what, strerror(error));
}

void tp_outfile_discard(struct tp_outfile *file)
{
    if (file->stream) fclose(file->stream);
    if (file->part) unlink(file->part);
    tp_free(file->part);
    *file = (struct tp_outfile){NULL, NULL};
}

/* A device or a pipe must not be replaced by a file. */
static troupe_status check_target(const char *path, troupe_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "it is there and is not a regular file");
}

static troupe_status create(struct tp_outfile *file, const char *path, troupe_error *err)
{
    const size_t room = strlen(path) + 40;
    int fd = -1;
    char *name = file->part = tp_alloc(room);
    if (!name) return tp_fail_memory(err, room);
    for (int i = 0; fd < 0 && i < MAX_TRIES; i++) {
        snprintf(name, room, "%s.%ld-%d.part", path, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    const int error = errno;
    if (fd >= 0) file->stream = fdopen(fd, "w");
    if (file->stream) return TROUPE_OK;
    if (fd >= 0) {
        close(fd);
        return tp_fail_memory(err, BUFSIZ);
    }
    tp_free(name); /* it is not our file that is there */
    file->part = NULL;
    return tp_fail_errno(err, error, "create");
}

troupe_status tp_outfile_open(struct tp_outfile *file, const char *path, troupe_error *err)
{
    TP_TRY(check_target(path, err));
    const troupe_status status = create(file, path, err);
    if (status < 0) tp_outfile_discard(file);
    return status;
}

troupe_status tp_outfile_put(struct tp_outfile *file, const void *bytes, size_t size,
                             troupe_error *err)
{
    if (size == 0 || fwrite(bytes, 1, size, file->stream) == size) return TROUPE_OK;
    return tp_fail_errno(err, errno, "write");
}

troupe_status tp_outfile_finish(struct tp_outfile *file, const char *path, troupe_error *err)
{
    const int failed = fclose(file->stream);
    file->stream = NULL;
    if (failed) return tp_fail_errno(err, errno, "write");
    if (rename(file->part, path) != 0) return tp_fail_errno(err, errno, "rename");
    tp_free(file->part);
    file->part = NULL;
    return TROUPE_OK;
}
