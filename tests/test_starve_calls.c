/* SPDX-License-Identifier: MIT
 *
 * tests/test_starve_calls.c - whatever request for memory fails while calls of all kinds run:
 * EXHAUSTED or the right results, nothing is lost, and the next call is right.
 *
 * What oneDNN asks for is let through (tests/heap.h), as are its caches.
 */
#include <stdlib.h>

#include "tests/building.h"
#include "tests/rehearsal.h"
#include "tests/starve.h"

#define WAIT_MS 60000
#define MOST    2

struct scene {
    const char *text;
    const char *args[MOST];
    int workers;
    bool wire;
    const char *fails; /* NULL: it works; else the words of its failure */
    const char *lacks; /* what the JSON of a report on its failure never has, or NULL */
    /* made of these */
    troupe_function *f;
    troupe_tensor *given[MOST], *wanted;
    size_t n;
    troupe_runtime *runtime; /* NULL: a new one each time */
};

static const struct scene scenes[] = {
    {.text = "function f(x: f32[n,4]) -> (y)\n"
             "    w = f32[4,3] [[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 0, 1]]\n"
             "    b = f32[3] [1, 2, 3]\n"
             "    m = MatMul(x, w)\n"
             "    g = Gemm(x, w, b) @cpu:1\n"
             "    y = Add(m, g)\n",
     .args = {"f32[2,4] [[1, 2, 3, 4], [5, 6, 7, 8]]"}},
    {.text = "function f(x: f32[1,2,4,4]) -> (y)\n"
             "    w = f32[1,2,1,1] [[[[1]], [[2]]]]\n"
             "    c = Conv(x, w, kernel_shape=[1, 1])\n"
             "    p = MaxPool(c, kernel_shape=[2, 2], strides=[2, 2]) @cpu:1\n"
             "    y = Relu(p)\n",
     .args = {"f32[1,2,4,4] [[[[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4]],"
              "[[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4]]]]"},
     .workers = 1},
    {.text = "function f(x: f32[n], s: i64[2]) -> (y)\n" /* shapes that values decide */
             "    r = Reshape(x, s) @cpu:1\n"
             "    t = Transpose(r, perm=[1, 0])\n"
             "    k = Shape(t)\n"
             "    e = ConstantOfShape(k, value=f32[1] [2])\n"
             "    y = Mul(t, e)\n",
     .args = {"f32[6] [1, 2, 3, 4, 5, 6]", "i64[2] [2, 3]"}},
    {.text = "function f(x: f32[n]) -> (y)\n"
             "    a = g(x) @cpu:1\n"
             "    y = g(a)\n"
             "function g(x: f32[n]) -> (y: f32[n])\n"
             "    y = Neg(x)\n",
     .args = {"f32[3] [1, 2, 3]"},
     .workers = 1},
    {.text = "function f(x: string[n]) -> (y)\n"
             "    i = i64[2] [1, 0]\n"
             "    y = Gather(x, i) @cpu:1\n",
     .args = {"string[2] [\"one\", \"a longer text than the first\"]"},
     .wire = true},
    {.text = "function f(x: f32[n]) -> (y)\n"
             "    a = Relu(x) @cpu:1\n"
             "    y = Add(a, x)\n",
     .args = {"f32[3] [1, 2, 3]"},
     .wire = true,
     .workers = 1},
    {.text = "function f(x: i32[n], d: i32[n]) -> (y)\n"
             "    a = Div(x, d) @cpu:1\n"
             "    y = Add(a, x)\n",
     .args = {"i32[1] [1]", "i32[1] [0]"},
     .fails = "division by zero"},
    {.text = "function f(x: i32[n], d: i32[n]) -> (y)\n"
             "    a = Add(x, x)\n"
             "    w = Div(x, d) @cpu:1\n"
             "    y = Add(w, a) @cpu:1\n",
     .args = {"i32[1] [1]", "i32[1] [0]"},
     .fails = "division by zero",
     .lacks = "\"left_over\": []"}, /* cpu:0 is first, and sends a, which nobody takes */
};

static const int all_later[] = {0, 1};

static void close_at(troupe_runtime **runtime)
{
    if (troupe_close(runtime)) abort();
}

static troupe_status open_in(const struct scene *scene, troupe_runtime **out, troupe_error *err)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = "cpu:0,cpu:1(threads=2)";
    options.workers = scene->workers;
    options.wire = scene->wire;
    return troupe_open(out, &options, err);
}

/* Where there is no memory for all of a report there is none. */
static bool is_whole(const struct scene *scene, const troupe_report *report)
{
    return !report || !scene->lacks ||
           !strstr(troupe_report_text(report, TROUPE_JSON), scene->lacks);
}

/* A scene that fails does so in its own way, or without memory. */
static troupe_status judge(struct scene *scene, troupe_status status, const troupe_tensor *y,
                           const troupe_error *err)
{
    if (status == TROUPE_EXHAUSTED) return status;
    if (scene->fails) {
        const bool well = status == TROUPE_INVALID && (strstr(err->text, scene->fails) ||
                                                       strstr(err->text, "no memory for"));
        return well ? TROUPE_OK : TROUPE_INTERNAL;
    }
    if (status) return status;
    if (!scene->wanted) scene->wanted = troupe_tensor_retain(y);
    return troupe_tensor_equal(y, scene->wanted) ? TROUPE_OK : TROUPE_INTERNAL;
}

static troupe_status run(struct scene *scene, troupe_runtime *runtime, troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *y = NULL;
    const troupe_status status =
        troupe_run(runtime, scene->f, (const troupe_tensor *const *)scene->given, scene->n, &y,
                   1, NULL, err);
    return judge(scene, status, y, err);
}

/* How a call ended, without an assertion of Check's. */
struct ending {
    int n;
    troupe_error error;
    troupe_tensor *result;
};

static void note(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                 size_t n)
{
    struct ending *ending = arg;
    ending->n++;
    ending->error = *error;
    ending->result = n ? troupe_tensor_retain(results[0]) : NULL;
}

static troupe_status call(struct scene *scene, troupe_runtime *runtime, troupe_error *err)
{
    struct ending ending = {0};
    TP_OWNED(troupe_report_release) troupe_report *report = NULL;
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    uint64_t number;
    options.report = &report;
    options.profile = true;
    TP_TRY(troupe_call(runtime, scene->f, (const troupe_tensor *const *)scene->given, scene->n,
                       &options, note, &ending, &number, err));
    if (troupe_wait(runtime, number, WAIT_MS) || ending.n != 1) return TROUPE_INTERNAL;
    if (ending.error.code) *err = ending.error;
    const troupe_status status = judge(scene, ending.error.code, ending.result, &ending.error);
    troupe_tensor_release(&ending.result);
    return status || is_whole(scene, report) ? status : TROUPE_INTERNAL;
}

static troupe_status live(void *arg, troupe_error *err)
{
    struct scene *scene = arg;
    TP_OWNED(close_at) troupe_runtime *own = NULL;
    if (!scene->runtime) TP_TRY(open_in(scene, &own, err));
    troupe_runtime *runtime = own ? own : scene->runtime;
    TP_TRY(call(scene, runtime, err));
    TP_TRY(run(scene, runtime, err));
    return run(scene, runtime, err);
}

static struct scene begin(int i)
{
    struct scene scene = scenes[i];
    scene.f = function_of(scene.text, "f");
    while (scene.n < MOST && scene.args[scene.n]) {
        scene.given[scene.n] = value_of(scene.args[scene.n]);
        scene.n++;
    }
    return scene;
}

static void end(struct scene *scene)
{
    close_at(&scene->runtime);
    troupe_tensor_release(&scene->wanted);
    for (size_t i = 0; i < scene->n; i++)
        troupe_tensor_release(&scene->given[i]);
    troupe_function_release(&scene->f);
}

START_TEST(first_calls_end_well_or_in_exhausted_and_nothing_is_lost)
{
    troupe_error err;
    struct scene scene = begin(_i / 2);
    ck_ok(live(&scene, &err)); /* keeps what is wanted */
    ck_assert_uint_gt(starve(live, &scene, all_later[_i % 2]), 100);
    end(&scene);
}
END_TEST

START_TEST(later_calls_end_well_or_in_exhausted_and_the_next_one_is_right)
{
    troupe_error err;
    struct scene scene = begin(_i / 2);
    ck_ok(live(&scene, &err)); /* keeps what is wanted, of a runtime of its own */
    ck_ok(open_in(&scene, &scene.runtime, &err));
    for (int i = 0; i < 3; i++)
        ck_ok(live(&scene, &err));
    starve_again(live, &scene, all_later[_i % 2]);
    end(&scene);
}
END_TEST

/* --- functions that are built --------------------------------------------------------- */

static void destroy_builder(troupe_builder **b)
{
    troupe_builder_destroy(b);
}

static troupe_status build(void *arg, troupe_error *err)
{
    TP_OWNED(destroy_builder) troupe_builder *b = NULL;
    TP_OWNED(troupe_function_release) troupe_function *f = NULL;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    troupe_value x, k, y;
    TP_TRY(troupe_builder_new(&b, "built", NULL, err));
    TP_TRY(troupe_builder_arg(b, "x", "f32[n,\"a b\"]", &x, err));
    TP_TRY(troupe_builder_constant(b, "k", arg, &k, err));
    TP_TRY(troupe_builder_node(b, NODE(.op = "Mul", IN(x, k), OUT("y")), &y, err));
    TP_TRY(troupe_builder_result(b, "y", y, err));
    TP_TRY(troupe_builder_finish(&b, &f, err));
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_add(library, f, err));
    return troupe_library_replace(library, f, err);
}

START_TEST(a_function_is_built_and_added_or_memory_is_said_to_be_missing)
{
    troupe_tensor *k = value_of("f32[2] [1, 2]");
    ck_assert_uint_gt(starve(build, k, all_later[_i]), 20);
    troupe_tensor_release(&k);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("starve_calls");
    TCase *t = tcase_create("calls");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, first_calls_end_well_or_in_exhausted_and_nothing_is_lost, 0,
                        2 * (int)TP_COUNT(scenes));
    tcase_add_loop_test(t, later_calls_end_well_or_in_exhausted_and_the_next_one_is_right, 0,
                        2 * (int)TP_COUNT(scenes));
    tcase_add_loop_test(t, a_function_is_built_and_added_or_memory_is_said_to_be_missing, 0, 2);
    suite_add_tcase(s, t);
    return test_run(s);
}
