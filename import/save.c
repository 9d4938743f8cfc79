/* SPDX-License-Identifier: MIT
 *
 * import/save.c - the functions of a library to a file, in binary form or as a text.
 *
 * A text keeps larger constants beside it, in PATH.d/HASH.npy: the names say what is in them. So
 * one that is there already is written anew as it was, and no file of an older text is touched.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/need.h"
#include "base/outfile.h"
#include "graph/hash.h"
#include "graph/library.h"
#include "graph/show.h"
#include "graph/stamp.h"
#include "import/native.h"
#include "tensor/tensor.h"

#define MOST_WRITTEN 256 /* elements of a constant that is written out in a text */

/* -- What is saved ------------------------------------------------------------------------- */

static uint32_t number_of(const struct tp_bodies *bodies, const char *name)
{
    for (uint32_t i = 0; i < bodies->n; i++)
        if (strcmp(bodies->list[i]->name, name) == 0) return i;
    return TP_NO_NODE;
}

/* All functions of the library, in their order. */
static troupe_status collect(const troupe_library *library, struct tp_bodies *out,
                             troupe_error *err)
{
    const struct tp_finder finder = tp_library_finder(library);
    const size_t n = troupe_library_count(library);
    out->main = TP_NO_NODE;
    out->list = tp_alloc_array(n, sizeof *out->list);
    if (!out->list) return tp_fail_memory(err, n * sizeof *out->list);
    for (; out->n < n; out->n++) {
        const char *name = troupe_library_name(library, out->n);
        out->list[out->n] = tp_function_retain(finder.find(finder.arg, name));
    }
    return TROUPE_OK;
}

/* A binary form may lack nothing that is called. */
static troupe_status check_calls(const troupe_library *library, troupe_error *err)
{
    for (size_t i = 0; i < troupe_library_count(library); i++) {
        TP_OWNED(troupe_function_release) troupe_function *f = NULL;
        TP_TRY(troupe_library_find(library, troupe_library_name(library, i), &f, err));
    }
    return TROUPE_OK;
}

static troupe_status set_main(struct tp_bodies *bodies, const char *name, troupe_error *err)
{
    if (!name) return TROUPE_OK; /* none is named */
    bodies->main = number_of(bodies, name);
    if (bodies->main != TP_NO_NODE) return TROUPE_OK;
    return tp_fail(err, TROUPE_NOT_FOUND, "there is no function '%.60s'", name);
}

/* -- Text ---------------------------------------------------------------------------------- */

/* A text on its way, and the files beside it that were made for it. */
struct text_save {
    const char *path;
    struct tp_text out, folder; /* PATH.d */
    bool made_folder;
    char **made; /* paths */
    size_t n_made, room;
    char **
        files; /* of the function in hand, by the numbers of its values; as the text says them */
    uint32_t n_files;
};

static void drop_files(struct text_save *s)
{
    for (uint32_t i = 0; i < s->n_files; i++)
        tp_free(s->files[i]);
    tp_free(s->files);
    s->files = NULL;
    s->n_files = 0;
}

/* What was made goes again, unless it was all of use. */
static void text_save_fini(struct text_save *s)
{
    for (size_t i = 0; i < s->n_made; i++) {
        unlink(s->made[i]);
        tp_free(s->made[i]);
    }
    if (s->made_folder) rmdir(s->folder.data);
    tp_free(s->made);
    drop_files(s);
    tp_text_fini(&s->out);
    tp_text_fini(&s->folder);
}

static void keep_made(struct text_save *s)
{
    for (size_t i = 0; i < s->n_made; i++)
        tp_free(s->made[i]);
    s->n_made = 0;
    s->made_folder = false;
}

/* A link to a folder is none: reading refuses to go over it. */
static troupe_status check_folder(const char *path, troupe_error *err)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "its constants need the folder '%s', where something else is", path);
}

static troupe_status make_folder(struct text_save *s, troupe_error *err)
{
    if (s->folder.size) return TROUPE_OK; /* it is there */
    tp_text_add(&s->folder, "%s.d", s->path);
    if (s->folder.failed) return tp_fail_memory(err, strlen(s->path));
    if (mkdir(s->folder.data, 0777) == 0)
        s->made_folder = true;
    else if (errno != EEXIST)
        return tp_fail_errno(err, errno, "the folder of its constants");
    else
        return check_folder(s->folder.data, err);
    return TROUPE_OK;
}

/* The name of a path in its folder. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Into the folder; *said is the path as the text says it. */
static troupe_status save_tensor(struct text_save *s, const struct tp_value *value, char **said,
                                 troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text path = {0}, file = {0};
    TP_TRY(make_folder(s, err));
    tp_text_add(&path, "%s/%s.npy", s->folder.data, tp_hash_text(value->content).text);
    tp_text_add(&file, "%s/%s.npy", base_of(s->folder.data), tp_hash_text(value->content).text);
    if (path.failed || file.failed) return tp_fail_memory(err, path.size);
    const bool is_new = access(path.data, F_OK) != 0;
    TP_TRY(tp_grow(&s->made, s->n_made, &s->room, sizeof *s->made, err));
    TP_TRY(troupe_tensor_write_npy(value->constant, path.data, err));
    if (is_new) {
        s->made[s->n_made++] = path.data;
        path = (struct tp_text){0};
    }
    return tp_text_take(&file, said, err);
}

static bool goes_beside(const struct tp_value *value)
{
    return value->node == TP_NO_NODE && value->constant &&
           value->constant->count > MOST_WRITTEN &&
           value->constant->type.dtype != TROUPE_STRING; /* .npy does not keep all of those */
}

static troupe_status save_constants(struct text_save *s, const struct tp_function *f,
                                    troupe_error *err)
{
    drop_files(s);
    s->files = tp_alloc_array(f->n_values, sizeof *s->files);
    if (!s->files) return tp_fail_memory(err, f->n_values * sizeof *s->files);
    s->n_files = f->n_values;
    for (uint32_t i = f->n_args; i < f->n_values; i++)
        if (goes_beside(&f->values[i]))
            TP_TRY(save_tensor(s, &f->values[i], &s->files[i], err));
    return TROUPE_OK;
}

static troupe_status show(struct text_save *s, const struct tp_function *f, troupe_error *err)
{
    TP_TRY(save_constants(s, f, err));
    tp_text_add(&s->out, "\n");
    tp_show_text_with(f, (const char *const *)s->files, &s->out);
    return s->out.failed ? tp_fail_memory(err, s->out.size) : TROUPE_OK;
}

/* A text has no other way to say which function is the main one. */
static troupe_status check_main(const struct tp_bodies *bodies, troupe_error *err)
{
    const uint32_t by_name = number_of(bodies, "main");
    if (bodies->main == TP_NO_NODE || by_name == TP_NO_NODE || by_name == bodies->main)
        return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID,
                   "as a text, '%.60s' is not the main function beside one called 'main'",
                   bodies->list[bodies->main]->name);
}

/* The main one first. */
static troupe_status show_all(struct text_save *s, const struct tp_bodies *bodies,
                              troupe_error *err)
{
    tp_stamp_first(&s->out);
    if (bodies->main != TP_NO_NODE) TP_TRY(show(s, bodies->list[bodies->main], err));
    for (uint32_t i = 0; i < bodies->n; i++)
        if (i != bodies->main) TP_TRY(show(s, bodies->list[i], err));
    tp_stamp_last(&s->out);
    return s->out.failed ? tp_fail_memory(err, s->out.size) : TROUPE_OK;
}

static troupe_status write_text(const struct tp_bodies *bodies, const char *path,
                                troupe_error *err)
{
    TP_OWNED(text_save_fini) struct text_save s = {.path = path};
    TP_OWNED(tp_outfile_discard) struct tp_outfile file = {NULL, NULL};
    TP_TRY(check_main(bodies, err));
    TP_TRY(tp_outfile_open(&file, path, err));
    TP_TRY(show_all(&s, bodies, err));
    TP_TRY(tp_outfile_put(&file, s.out.data, s.out.size, err));
    TP_TRY(tp_outfile_finish(&file, path, err));
    keep_made(&s);
    return TROUPE_OK;
}

/* -- Either -------------------------------------------------------------------------------- */

/* What is called so is taken for a model of that kind by whoever loads it. */
static troupe_status check_path(const char *path, troupe_error *err)
{
    static const char end[] = ".onnx";
    const size_t size = strlen(path);
    if (size < strlen(end) || strcmp(path + size - strlen(end), end) != 0) return TROUPE_OK;
    return tp_fail(err, TROUPE_INVALID, "the name is that of an ONNX model");
}

static troupe_status save(const troupe_library *library, const char *main, const char *path,
                          troupe_file_form form, troupe_error *err)
{
    TP_OWNED(tp_bodies_fini) struct tp_bodies bodies = {.n = 0};
    TP_TRY(check_path(path, err));
    TP_TRY(check_calls(library, err));
    TP_TRY(collect(library, &bodies, err));
    TP_TRY(set_main(&bodies, main, err));
    if (form == TROUPE_FILE_BINARY) return tp_native_write(&bodies, path, err);
    if (form == TROUPE_FILE_TEXT) return write_text(&bodies, path, err);
    return tp_fail(err, TROUPE_INVALID, "there is no form %d of files", (int)form);
}

troupe_status troupe_library_save(const troupe_library *library, const char *main,
                                  const char *path, troupe_file_form form, troupe_error *err)
{
    TP_TRY(tp_need(library, "library", err));
    TP_TRY(tp_need(path, "path", err));
    const troupe_status status = save(library, main, path, form, err);
    if (status < 0) tp_fail_in(err, "%s", path);
    return status;
}
