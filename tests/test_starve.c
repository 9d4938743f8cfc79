/* SPDX-License-Identifier: MIT
 *
 * tests/test_starve.c - whatever request for memory fails, in the library or in those that it
 * uses: EXHAUSTED, nothing is lost, and the next time all is well.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/rehearsal.h"
#include "tests/starve.h"

#ifdef TP_HAVE_ONNX
#include "tests/onnx_text.h"
#endif

static const int all_later[] = {0, 1};

/* A text without digits and blanks, as a number: times differ, nothing else may. */
static uint64_t outline(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text; text++)
        if ((*text < '0' || *text > '9') && *text != ' ')
            hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

/* What is printed is what was printed the first time; nothing is left out for lack of memory. */
struct printed {
    uint64_t outline[3]; /* by format; 0: not yet */
};

static troupe_status check_printed(struct printed *printed, troupe_format format,
                                   const char *text)
{
    const uint64_t now = outline(text);
    if (!printed->outline[format]) printed->outline[format] = now;
    return printed->outline[format] == now ? TROUPE_OK : TROUPE_INTERNAL;
}

/* --- files and texts ------------------------------------------------------------------ */

static const char text[] =
    "function main(x: f32[n,4], w: f32[4] = f32[4] [1, 2, 3, 4]) -> (y: f32[n,?], z = w)\n"
    "    k = f32[2,2] [[1, 2], [3, 4]]\n"
    "    names = string[2] [\"one\", \"a name that is longer than any small buffer\"]\n"
    "    a = Mul(x, w) @cpu:1\n"
    "    s, t = Split(a, axis=0, num_outputs=2) after a @cpu:0\n"
    "    u, _ = Dropout(s)\n"
    "    c = Concat(u, t, axis=0) with s\n"
    "    y, _ = g(c, w)\n"
    "function g(a: f32[n,m], b: f32[...]) -> (y: f32[n,m], \"o p\" = r)\n"
    "    r = Relu(a)\n"
    "    y = Neg(r)\n";

static void free_at(char **out)
{
    troupe_free(*out);
}

static troupe_status print_all(const troupe_function *f, struct printed *printed,
                               troupe_error *err)
{
    for (int format = TROUPE_TEXT; format <= TROUPE_DOT; format++) {
        TP_OWNED(free_at) char *out = NULL;
        TP_TRY(troupe_function_print(f, (troupe_format)format, &out, err));
        TP_TRY(check_printed(printed, (troupe_format)format, out));
    }
    return TROUPE_OK;
}

static troupe_status read_and_print(void *arg, troupe_error *err)
{
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_OWNED(troupe_function_release) troupe_function *f = NULL;
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_read(library, "t", text, sizeof(text) - 1, err));
    TP_TRY(troupe_library_find(library, "main", &f, err));
    return print_all(f, arg, err);
}

struct file {
    const char *path;
    struct printed printed;
};

static troupe_status load(void *arg, troupe_error *err)
{
    struct file *file = arg;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_OWNED(troupe_function_release) troupe_function *f = NULL;
    const char *name = NULL;
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_load(library, file->path, &name, err));
    TP_TRY(troupe_library_find(library, name, &f, err));
    return print_all(f, &file->printed, err);
}

static troupe_status write_and_read(void *value, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *tensor = NULL, *back = NULL;
    TP_TRY(troupe_tensor_parse(&tensor, value, err));
    const troupe_status status = troupe_tensor_write_npy(tensor, "starve.npy", err);
    const bool there = access("starve.npy", F_OK) == 0;
    TP_TRY(there == !status ? status : TROUPE_INTERNAL); /* whole or not at all */
    const troupe_status read = troupe_tensor_read_npy(&back, "starve.npy", err);
    if (unlink("starve.npy") || (!read && !troupe_tensor_equal(tensor, back)))
        return TROUPE_INTERNAL;
    return read;
}

/* In a folder of its own, which goes with the test. */
static char folder[] = "/tmp/troupe-starve-XXXXXX";

static void enter_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void leave_folder(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_text_is_read_and_printed_or_memory_is_said_to_be_missing)
{
    struct printed printed = {{0}};
    ck_assert_uint_gt(starve(read_and_print, &printed, all_later[_i]), 50);
}
END_TEST

START_TEST(a_file_of_the_text_form_and_its_constants_are_loaded_or_memory_is_missing)
{
    static const char with_file[] = "function main(x: f32[2]) -> (y)\n"
                                    "    w = f32[2] file \"w.npy\"\n"
                                    "    y = Add(x, w)\n";
    const char *path = "main.troupe";
    struct file file = {.path = path};
    troupe_error err;
    troupe_tensor *w = value_of("f32[2] [1, 2]");
    enter_folder();
    ck_ok(troupe_tensor_write_npy(w, "w.npy", &err));
    write_file(path, with_file, sizeof(with_file) - 1);
    ck_assert_uint_gt(starve(load, &file, all_later[_i]), 20);
    troupe_tensor_release(&w);
    unlink("w.npy");
    unlink(path);
    leave_folder();
}
END_TEST

START_TEST(an_npy_file_is_written_and_read_or_memory_is_said_to_be_missing)
{
    static const char *const values[] = {"f32[2,2] [[1, 2], [3, 4]]",
                                         "string[2] [\"\", \"ab\"]", "bool[1] [true]"};
    enter_folder();
    for (size_t i = 0; i < TP_COUNT(values); i++)
        ck_assert_uint_gt(starve(write_and_read, (void *)(uintptr_t)values[i], all_later[_i]),
                          3);
    leave_folder();
}
END_TEST

/* The text above, and a function whose constant is a large one. */
static troupe_status make_library(troupe_library **out, troupe_error *err)
{
    static const char large[] = "function large() -> (w)\n    w = f32[300] [0";
    char whole[sizeof(large) + 1500], *at = whole;
    memcpy(at, large, sizeof(large) - 1);
    at += sizeof(large) - 1;
    for (int i = 1; i < 300; i++, at += 3)
        memcpy(at, ", 7", 3);
    memcpy(at, "]\n", 2);
    TP_TRY(troupe_library_new(out, err));
    TP_TRY(troupe_library_read(*out, "t", text, sizeof(text) - 1, err));
    return troupe_library_read(*out, "t", whole, (size_t)(at + 2 - whole), err);
}

#define LARGE "starve.troupe.d/df0c1fed1d3ec64a1a5c736a3135f8a5.npy"

static troupe_status save_and_load(void *form, troupe_error *err)
{
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL, *back = NULL;
    TP_TRY(make_library(&library, err));
    const troupe_status status =
        troupe_library_save(library, "main", "starve.troupe", *(troupe_file_form *)form, err);
    const bool there = access("starve.troupe", F_OK) == 0;
    TP_TRY(there == !status ? status : TROUPE_INTERNAL); /* whole or not at all */
    TP_TRY(troupe_library_new(&back, err));
    const troupe_status read = troupe_library_load(back, "starve.troupe", NULL, err);
    const bool beside = unlink(LARGE) == 0;
    if (unlink("starve.troupe") || (beside && rmdir("starve.troupe.d")) ||
        (!read && troupe_library_count(back) != 3))
        return TROUPE_INTERNAL;
    return read;
}

START_TEST(a_library_is_saved_and_loaded_or_memory_is_said_to_be_missing)
{
    troupe_file_form forms[] = {TROUPE_FILE_BINARY, TROUPE_FILE_TEXT};
    enter_folder();
    ck_assert_uint_gt(starve(save_and_load, &forms[_i / 2], all_later[_i % 2]), 100);
    leave_folder();
}
END_TEST

#ifdef TP_HAVE_ONNX

static const char *const models[] = {
    "ir 8; opset 13; graph net; in x f32[2,n]; init w f32[2,1]{1,2}; n1:Add x w -> t; Relu t "
    "-> "
    "y; Constant -> c value=f32[2]{1,2}; Shape y -> s; out y; out c; out s",
    "opset 9; opset 1 my; fn my twice a b -> c; attr k; default j=1; opset 9; Add a b -> t; "
    "Mul t t -> c; end; in x "
    "f32[2,3]; twice@my x x -> y k=2; twice@my y x -> z; init big "
    "f32[40]{0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9}; "
    "Slice big -> p axes=[0] starts=[0] ends=[3]; Add z p -> q; Dropout q -> o m ratio=0.25; "
    "out o",
};

START_TEST(a_model_is_imported_or_memory_is_said_to_be_missing)
{
    const char *path = "m.onnx";
    struct file file = {.path = path};
    struct bytes bytes = onnx_text(models[_i / 2]);
    enter_folder();
    write_file(path, bytes.data, bytes.size);
    bytes_free(&bytes);
    ck_assert_uint_gt(starve(load, &file, all_later[_i % 2]), 50);
    unlink(path);
    leave_folder();
}
END_TEST

#endif

/* --- the test's own means --- */

START_TEST(requests_of_the_c_library_and_of_jansson_fail_and_are_counted_too)
{
    if (!heap_is_ours()) return;
    const size_t pieces = heap_pieces();
    heap_fail_at(1, true);
    const bool copied = strdup("a text") != NULL;
    const bool made = json_string("a text") != NULL;
    const bool opened = fopen("/dev/null", "r") != NULL;
    heap_fail_at(0, false);
    ck_assert(!copied && !made && !opened);
    char *copy = strdup("a text");
    json_t *json = json_string("a text");
    ck_assert_uint_gt(heap_pieces(), pieces + 1);
    free(copy);
    json_decref(json);
    ck_assert_uint_eq(heap_pieces(), pieces);
}
END_TEST

/* --- plans and calls ------------------------------------------------------------------ */

static troupe_status open_runtime(troupe_runtime **out, int workers, troupe_error *err)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1(threads=2)";
    options.workers = workers;
    return troupe_open(out, &options, err);
}

static void close_at(troupe_runtime **runtime)
{
    if (troupe_close(runtime)) abort();
}

static troupe_status open_and_close(void *workers, troupe_error *err)
{
    TP_OWNED(close_at) troupe_runtime *runtime = NULL;
    troupe_caller *caller = NULL;
    TP_TRY(open_runtime(&runtime, *(const int *)workers, err));
    TP_TRY(troupe_caller_open(runtime, &caller, err));
    return troupe_caller_close(&caller);
}

START_TEST(a_runtime_opens_and_closes_or_memory_is_said_to_be_missing)
{
    int workers = _i / 2;
    ck_assert_uint_gt(starve(open_and_close, &workers, all_later[_i % 2]), 10);
}
END_TEST

/* What calls are made with; the runtime is opened anew or stays. */
struct scene {
    troupe_runtime *runtime; /* NULL: a new one each time */
    troupe_function *f;
    troupe_tensor *args[2];
    size_t n_args, n_results;
    bool profile;
    struct printed printed; /* plans or reports */
};

static troupe_status check_report(const troupe_report *report, struct printed *printed)
{
    if (!report) return TROUPE_OK; /* the results are there all the same */
    for (int format = TROUPE_TEXT; format <= TROUPE_JSON; format++)
        TP_TRY(check_printed(printed, (troupe_format)format,
                             troupe_report_text(report, (troupe_format)format)));
    return TROUPE_OK;
}

static troupe_status run(struct scene *scene, troupe_runtime *runtime, troupe_error *err)
{
    troupe_tensor *results[2] = {NULL};
    TP_OWNED(troupe_report_release) troupe_report *report = NULL;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.report = scene->profile ? &report : NULL;
    options.profile = scene->profile;
    TP_TRY(troupe_run(runtime, scene->f, (const troupe_tensor *const *)scene->args,
                      scene->n_args, results, scene->n_results, &options, err));
    for (size_t i = 0; i < scene->n_results; i++)
        troupe_tensor_release(&results[i]);
    return scene->profile ? check_report(report, &scene->printed) : TROUPE_OK;
}

static troupe_status run_in(void *arg, troupe_error *err)
{
    struct scene *scene = arg;
    TP_OWNED(close_at) troupe_runtime *own = NULL;
    if (!scene->runtime) TP_TRY(open_runtime(&own, 0, err));
    return run(scene, scene->runtime ? scene->runtime : own, err);
}

static troupe_status plan_in(void *arg, troupe_error *err)
{
    struct scene *scene = arg;
    TP_OWNED(close_at) troupe_runtime *runtime = NULL;
    TP_OWNED(free_at) char *why = NULL;
    troupe_plan *plan = NULL;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.rules = "op:Neg cpu:1\na* cpu:7\n";
    options.soft = true;
    TP_TRY(open_runtime(&runtime, 0, err));
    TP_TRY(troupe_plan_make(runtime, scene->f, &options, &plan, err));
    troupe_status status = TROUPE_OK;
    for (int format = TROUPE_TEXT; !status && format <= TROUPE_DOT; format++) {
        char *out = NULL;
        status = troupe_plan_print(plan, (troupe_format)format, &out, err);
        if (!status) status = check_printed(&scene->printed, (troupe_format)format, out);
        troupe_free(out);
    }
    if (!status)
        status = troupe_plan_explain(plan, troupe_function_nodes(scene->f) > 2 ? "a" : "y",
                                     &why, err);
    troupe_plan_release(&plan);
    return status;
}

static struct scene scene_of(const char *source, const char *name)
{
    return (struct scene){.f = function_of(source, name)};
}

static struct scene main_scene(void)
{
    struct scene scene = scene_of(text, "main");
    scene.args[0] = value_of("f32[2,4] [[1, 2, 3, 4], [5, 6, 7, 8]]");
    scene.n_args = 2; /* the second by default */
    scene.n_results = 2;
    return scene;
}

static void scene_fini(struct scene *scene)
{
    if (scene->runtime) close_at(&scene->runtime);
    troupe_tensor_release(&scene->args[0]);
    troupe_tensor_release(&scene->args[1]);
    troupe_function_release(&scene->f);
}

START_TEST(a_plan_is_made_printed_and_explained_or_memory_is_said_to_be_missing)
{
    struct scene scene = main_scene();
    ck_assert_uint_gt(starve(plan_in, &scene, all_later[_i]), 100);
    scene_fini(&scene);
}
END_TEST

START_TEST(a_first_call_ends_well_or_memory_is_said_to_be_missing)
{
    struct scene scene = main_scene();
    ck_assert_uint_gt(starve(run_in, &scene, all_later[_i]), 100);
    scene_fini(&scene);
}
END_TEST

START_TEST(a_first_call_with_a_report_ends_well_or_memory_is_said_to_be_missing)
{
    struct scene scene = main_scene();
    scene.profile = true;
    ck_assert_uint_gt(starve(run_in, &scene, all_later[_i]), 100);
    scene_fini(&scene);
}
END_TEST

/* The runtime stays: each call that fails is followed by one that works. */
START_TEST(a_later_call_ends_well_or_memory_is_missing_and_the_next_one_works)
{
    troupe_error err;
    struct scene scene = main_scene();
    ck_ok(open_runtime(&scene.runtime, 0, &err));
    scene.profile = _i / 2;
    for (int i = 0; i < 3; i++)
        ck_ok(run_in(&scene, &err));
    starve_again(run_in, &scene, all_later[_i % 2]);
    scene_fini(&scene);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("starve");
    TCase *t = tcase_create("starve");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, requests_of_the_c_library_and_of_jansson_fail_and_are_counted_too);
    tcase_add_loop_test(t, a_text_is_read_and_printed_or_memory_is_said_to_be_missing, 0, 2);
    tcase_add_loop_test(
        t, a_file_of_the_text_form_and_its_constants_are_loaded_or_memory_is_missing, 0, 2);
    tcase_add_loop_test(t, an_npy_file_is_written_and_read_or_memory_is_said_to_be_missing, 0,
                        2);
    tcase_add_loop_test(t, a_library_is_saved_and_loaded_or_memory_is_said_to_be_missing, 0, 4);
#ifdef TP_HAVE_ONNX
    tcase_add_loop_test(t, a_model_is_imported_or_memory_is_said_to_be_missing, 0,
                        2 * (int)TP_COUNT(models));
#endif
    tcase_add_loop_test(t, a_runtime_opens_and_closes_or_memory_is_said_to_be_missing, 0, 4);
    tcase_add_loop_test(t, a_plan_is_made_printed_and_explained_or_memory_is_said_to_be_missing,
                        0, 2);
    tcase_add_loop_test(t, a_first_call_ends_well_or_memory_is_said_to_be_missing, 0, 2);
    tcase_add_loop_test(t, a_first_call_with_a_report_ends_well_or_memory_is_said_to_be_missing,
                        0, 2);
    tcase_add_loop_test(t, a_later_call_ends_well_or_memory_is_missing_and_the_next_one_works,
                        0, 4);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
