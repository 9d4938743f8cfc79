/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_text_files.c - constants in files beside the text, and nowhere else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/graphs.h"

struct folder {
    char path[64];
};

static void put_tensor(const struct folder *folder, const char *name, const char *text)
{
    troupe_error err;
    troupe_tensor *t = NULL;
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    ck_ok(troupe_tensor_parse(&t, text, &err));
    ck_ok(troupe_tensor_write_npy(t, path, &err));
    troupe_tensor_release(&t);
}

static void make_folder(struct folder *folder)
{
    char path[160], target[160];
    strcpy(folder->path, "/tmp/graph-text-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder->path));
    snprintf(path, sizeof(path), "%s/in", folder->path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/in/deep", folder->path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    put_tensor(folder, "outside.npy", "f32[2] [7, 8]");
    put_tensor(folder, "in/w.npy", "f32[2] [1, 2]");
    put_tensor(folder, "in/deep/v.npy", "f32[2,1] [[3], [4]]");
    snprintf(path, sizeof(path), "%s/in/link.npy", folder->path);
    ck_assert_int_eq(symlink("../outside.npy", path), 0);
    snprintf(path, sizeof(path), "%s/in/out", folder->path);
    ck_assert_int_eq(symlink("..", path), 0);
    snprintf(path, sizeof(path), "%s/in/pipe.npy", folder->path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    snprintf(target, sizeof(target), "%s/in/bad.npy", folder->path);
    FILE *file = fopen(target, "w");
    fputs("no numbers", file);
    fclose(file);
}

static void remove_folder(const struct folder *folder)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder->path);
    ck_assert_int_eq(system(command), 0);
}

static troupe_status read_beside(const struct folder *folder, const char *text,
                                 troupe_library *library, troupe_error *err)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/in/f.troupe", folder->path);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return troupe_library_read_file(library, path, err);
}

START_TEST(a_constant_may_be_in_a_file_beside_the_text)
{
    troupe_error err;
    struct folder folder;
    troupe_library *library = NULL;
    make_folder(&folder);
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(read_beside(
        &folder,
        "function f() -> (w, v)\n    w = f32[2] file \"w.npy\"\n"
        "    v = f32[2,1] file \"./deep/v.npy\"\n"
        "function g() -> (w, v)\n    w = f32[2] [1, 2]\n    v = f32[2,1] [[3], [4]]\n",
        library, &err));
    troupe_function *f = graphs_find(library, "f"), *g = graphs_find(library, "g");
    graphs_is(f->body,
              "function f() -> (w: f32[2], v: f32[2,1])\n    w = f32[2] file \"w.npy\"\n"
              "    v = f32[2,1] file \"./deep/v.npy\"\n");
    ck_assert_mem_eq(f->body->values[0].content, g->body->values[0].content, 16);
    ck_assert_mem_eq(f->body->values[1].content, g->body->values[1].content, 16);
    troupe_function_release(&f);
    troupe_function_release(&g);
    troupe_library_destroy(&library);
    remove_folder(&folder);
}
END_TEST

START_TEST(a_text_reads_nothing_outside_its_folder)
{
    static const struct {
        const char *path, *word;
        troupe_status code;
    } paths[] = {
        {"../outside.npy", "is not a path below", TROUPE_INVALID},
        {"deep/../../outside.npy", "is not a path below", TROUPE_INVALID},
        {"/etc/hostname", "is not a path below", TROUPE_INVALID},
        {"link.npy", "leads over a symbolic link", TROUPE_INVALID},
        {"out/outside.npy", "leads over a symbolic link", TROUPE_INVALID},
        {"pipe.npy", "no regular file", TROUPE_INVALID},
        {"deep", "no regular file", TROUPE_INVALID},
        {"w.npy/x", "Not a directory", TROUPE_NOT_FOUND},
        {"none.npy", "No such file", TROUPE_NOT_FOUND},
        {"deep//v.npy", "is not a path below", TROUPE_INVALID},
        {"deep/v.npy", "'deep/v.npy' holds f32[2,1], not f32[2]", TROUPE_INVALID},
        {"bad.npy", "bad.npy", TROUPE_CORRUPT},
    };
    troupe_error err;
    struct folder folder;
    make_folder(&folder);
    for (size_t i = 0; i < TP_COUNT(paths); i++) {
        char text[200];
        troupe_library *library = NULL;
        ck_ok(troupe_library_new(&library, &err));
        snprintf(text, sizeof(text), "function f()\n w = f32[2] file \"%s\"\n", paths[i].path);
        ck_assert_int_eq(read_beside(&folder, text, library, &err), paths[i].code);
        ck_assert_msg(strstr(err.text, paths[i].word), "%s: %s", paths[i].path, err.text);
        ck_assert_msg(strstr(err.text, "f.troupe:2:18: "), "%s", err.text);
        troupe_library_destroy(&library);
    }
    remove_folder(&folder);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_not_found)
{
    troupe_error err;
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_fails(troupe_library_read_file(library, "/nowhere/f.troupe", &err), NOT_FOUND,
             "/nowhere/f.troupe: cannot be opened");
    troupe_library_destroy(&library);
}
END_TEST

START_TEST(a_text_is_a_regular_file_and_a_pipe_is_not_waited_for)
{
    struct folder folder;
    char pipe[160];
    const char *const paths[] = {"/tmp", "/dev/null", "/dev/zero", pipe};
    make_folder(&folder);
    snprintf(pipe, sizeof(pipe), "%s/in/pipe.npy", folder.path);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        troupe_error err;
        troupe_library *library = NULL;
        ck_ok(troupe_library_new(&library, &err));
        ck_fails(troupe_library_read_file(library, paths[i], &err), INVALID,
                 ": cannot be read: it is no regular file");
        troupe_library_destroy(&library);
    }
    remove_folder(&folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_text_files");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_constant_may_be_in_a_file_beside_the_text);
    tcase_add_test(t, a_text_reads_nothing_outside_its_folder);
    tcase_add_test(t, a_file_that_is_not_there_is_not_found);
    tcase_add_test(t, a_text_is_a_regular_file_and_a_pipe_is_not_waited_for);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
