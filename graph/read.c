/* SPDX-License-Identifier: MIT
 *
 * graph/read.c - functions from text into a library, all or none.
 *
 * The text is parsed as a whole; then the functions are built, each after those that it calls;
 * then they are added. So functions of one text may stand in any order and call each other in
 * circles.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "graph/reader.h"
#include "graph/stamp.h"

void tp_reader_blame(const struct tp_reader *r, struct tp_place place, troupe_error *err)
{
    tp_fail_in(err, "%s:%u:%u", r->parsed.source, place.line, place.column);
}

static void reader_fini(struct tp_reader *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        tp_function_release(&r->list[i].body);
        tp_function_release(&r->list[i].signature);
    }
    tp_free(r->list);
    tp_index_fini(&r->index);
    tp_arena_destroy(&r->arena);
    tp_parsed_fini(&r->parsed);
    tp_free(r->inputs);
    tp_free(r->names);
    tp_free(r->attrs);
    tp_free(r->floats);
}

static const struct tp_function *find(void *arg, const char *name)
{
    const struct tp_reader *r = arg;
    const uint32_t i = tp_index_find(&r->index, name);
    if (i == TP_NO_INDEX) {
        const struct tp_finder finder = tp_library_finder(r->library);
        return finder.find(finder.arg, name);
    }
    return r->list[i].body ? r->list[i].body : r->list[i].signature;
}

/* Those of the text, then those of the library. */
static const char *name_of(void *arg, size_t i)
{
    const struct tp_reader *r = arg;
    if (i < r->n) return r->list[i].said->name.text;
    const struct tp_finder finder = tp_library_finder(r->library);
    return finder.name(finder.arg, i - r->n);
}

static troupe_status list_definitions(struct tp_reader *r, troupe_error *err)
{
    uint32_t had;
    r->list = tp_alloc_array(r->parsed.n, sizeof(*r->list));
    if (!r->list) return tp_fail_memory(err, r->parsed.n * sizeof(*r->list));
    TP_TRY(tp_arena_new(&r->arena, err));
    for (const struct tp_definition *d = r->parsed.first; d; d = d->next) {
        TP_TRY(tp_index_add(&r->index, r->arena, d->name.text, r->n, &had, err));
        if (had != TP_NO_INDEX) {
            return tp_lex_fail(r->parsed.source, d->name.place, err,
                               "function '%s' is also in line %u", d->name.text,
                               r->list[had].said->name.place.line);
        }
        r->list[r->n++].said = d;
    }
    return TROUPE_OK;
}

static troupe_status add_all(struct tp_reader *r, troupe_library *library, troupe_error *err)
{
    TP_OWNED(tp_free_at) struct tp_function **bodies = NULL;
    size_t which = r->n;
    bodies = tp_alloc_array(r->n, sizeof(*bodies));
    if (!bodies) return tp_fail_memory(err, r->n * sizeof(*bodies));
    for (uint32_t i = 0; i < r->n; i++)
        bodies[i] = r->list[i].body;
    const troupe_status status = tp_library_add_all(library, bodies, r->n, &which, err);
    if (status < 0) tp_reader_blame(r, r->list[which].said->name.place, err);
    return status;
}

/* text[size] is a zero byte. */
static troupe_status read_text(troupe_library *library, const char *source, const char *text,
                               size_t size, troupe_error *err)
{
    TP_OWNED(reader_fini) struct tp_reader r = {.library = library};
    r.finder = (struct tp_finder){find, name_of, &r, tp_library_finder(library).operators};
    TP_TRY(tp_stamp_check(source, text, size, err));
    TP_TRY(tp_parse(&r.parsed, source, text, size, err));
    TP_TRY(list_definitions(&r, err));
    TP_TRY(tp_reader_build_all(&r, err));
    return add_all(&r, library, err);
}

static troupe_status refuse_zero(const char *source, const char *text, size_t size,
                                 troupe_error *err)
{
    const char *zero = size ? memchr(text, 0, size) : NULL;
    if (!zero) return TROUPE_OK;
    const struct tp_token first = {.at = text, .place = {1, 1}};
    return tp_lex_fail(source, tp_lex_place(&first, zero), err, "a zero byte");
}

troupe_status troupe_library_read(troupe_library *library, const char *source, const char *text,
                                  size_t size, troupe_error *err)
{
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need_list(text, size, "text", err));
    TP_OWNED(tp_free_at) char *copy = NULL;
    if (!source) source = "text";
    TP_TRY(refuse_zero(source, text, size, err));
    copy = size ? tp_strndup(text, size) : tp_strdup("");
    if (!copy) return tp_fail_memory(err, size + 1);
    return read_text(library, source, copy, size, err);
}

static void close_at(int *file)
{
    if (*file >= 0) close(*file);
    *file = -1;
}

static troupe_status fail_file(const char *path, const char *what, troupe_error *err)
{
    const int number = errno;
    return tp_fail(err, tp_fail_code(number), "%s: %s: %s", path, what, strerror(number));
}

/* Not blocking: a pipe is refused, and nobody waits for its other end. */
static troupe_status open_file(const char *path, int *out, troupe_error *err)
{
    struct stat is;
    *out = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*out < 0) return fail_file(path, "cannot be opened", err);
    if (fstat(*out, &is) == 0 && S_ISREG(is.st_mode)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "%s: cannot be read: it is no regular file", path);
}

static troupe_status slurp(const char *path, struct tp_text *out, troupe_error *err)
{
    char piece[16384];
    TP_OWNED(close_at) int file = -1;
    TP_TRY(open_file(path, &file, err));
    while (!out->failed) {
        const ssize_t n = read(file, piece, sizeof(piece));
        if (n == 0) break;
        if (n > 0)
            tp_text_add_bytes(out, piece, (size_t)n);
        else if (errno != EINTR)
            return fail_file(path, "cannot be read", err);
    }
    return TROUPE_OK;
}

troupe_status troupe_library_read_file(troupe_library *library, const char *path,
                                       troupe_error *err)
{
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need(path, "path", err));
    TP_OWNED(tp_text_fini) struct tp_text text = {0};
    TP_OWNED(tp_free_at) char *copy = NULL;
    TP_TRY(slurp(path, &text, err));
    const size_t size = text.size;
    TP_TRY(tp_text_take(&text, &copy, err));
    TP_TRY(refuse_zero(path, copy, size, err));
    return read_text(library, path, copy, size, err);
}
