/* SPDX-License-Identifier: MIT
 *
 * tests/test_starve_system.c - the kernel gives no more threads, descriptors, pages or
 * thread-local keys: EXHAUSTED, nothing is lost, and the next time all is well.
 *
 * The linker puts the functions here in place of the library's calls (--wrap in sources.am).
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/rehearsal.h"

/* --- what fails ----------------------------------------------------------------------- */

enum service { THREAD, EVENT, PAGE, KEY, SERVICES };

static struct {
    int asked[SERVICES], fail_at[SERVICES]; /* 0: never */
} system_calls;

static bool refuses(enum service service)
{
    return ++system_calls.asked[service] == system_calls.fail_at[service];
}

int __real_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*body)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*body)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*body)(void *),
                          void *arg)
{
    return refuses(THREAD) ? EAGAIN : __real_pthread_create(id, how, body, arg);
}

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags)
{
    if (!refuses(EVENT)) return __real_eventfd(value, flags);
    errno = EMFILE;
    return -1;
}

void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (!refuses(PAGE)) return __real_mmap(at, size, protection, flags, file, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

/* What the same call is where files are larger than a long tells. */
void *__real_mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (!refuses(PAGE)) return __real_mmap64(at, size, protection, flags, file, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int __real_pthread_key_create(pthread_key_t *key, void (*at_end)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*at_end)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*at_end)(void *))
{
    return refuses(KEY) ? EAGAIN : __real_pthread_key_create(key, at_end);
}

/* --- what is left --------------------------------------------------------------------- */

static int entries_of(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

struct left {
    size_t pieces;
    int files, threads;
};

static struct left look(void)
{
    return (struct left){tp_alloc_pieces(), entries_of("/proc/self/fd"),
                         entries_of("/proc/self/task")};
}

static void ck_same(const struct left *before)
{
    const struct left now = look();
    ck_assert_uint_eq(now.pieces, before->pieces);
    ck_assert_int_eq(now.files, before->files);
    ck_assert_int_eq(now.threads, before->threads);
}

/* --- a life --------------------------------------------------------------------------- */

static void close_caller(troupe_caller **caller)
{
    ck_assert_int_eq(troupe_caller_close(caller), TROUPE_OK);
}

static troupe_status use(troupe_runtime *runtime, const troupe_function *f,
                         const troupe_tensor *x, troupe_error *err)
{
    troupe_tensor *results[2];
    TP_OWNED(close_caller) troupe_caller *caller = NULL;
    TP_TRY(troupe_run(runtime, f, &x, 1, results, 2, NULL, err));
    ck_rows(results, 1);
    troupe_tensor_release(&results[0]);
    troupe_tensor_release(&results[1]);
    TP_TRY(troupe_caller_open(runtime, &caller, err));
    if (troupe_fd(runtime) >= 0 && troupe_caller_fd(caller) >= 0) return TROUPE_OK;
    return tp_fail(err, TROUPE_EXHAUSTED, "no descriptor");
}

static troupe_status live(int workers, troupe_error *err)
{
    troupe_runtime *runtime = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_function *f = function_over(2);
    troupe_tensor *x = row_of(1);
    options.devices = "cpu:0,cpu:1(threads=2)";
    options.workers = workers;
    troupe_status status = troupe_open(&runtime, &options, err);
    if (!status) status = use(runtime, f, x, err);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
    return status;
}

static const struct {
    enum service service;
    int workers;
    const char *words;
    int least; /* times that it is asked for in a life */
} rows[] = {
    {THREAD, 2, "thread 'troupe-", 2}, {EVENT, 0, "no descriptor", 2},
    {EVENT, 2, "no descriptor", 2},    {PAGE, 0, "cannot map a ", 1},
    {KEY, 0, "thread key", 1},
};

START_TEST(what_the_system_refuses_is_said_and_nothing_is_lost)
{
    const enum service service = rows[_i].service;
    troupe_error err;
    ck_ok(live(rows[_i].workers, &err));
    const struct left before = look();
    for (int n = 1;; n++) {
        system_calls.asked[service] = 0;
        system_calls.fail_at[service] = n;
        const troupe_status status = live(rows[_i].workers, &err);
        const bool hit = system_calls.asked[service] >= n;
        system_calls.fail_at[service] = 0;
        ck_same(&before);
        if (!hit) {
            ck_ok(status);
            ck_assert_int_gt(n, rows[_i].least);
            break;
        }
        ck_assert_int_eq(status, TROUPE_EXHAUSTED);
        ck_assert_msg(strstr(err.text, rows[_i].words), "%s", err.text);
        ck_ok(live(rows[_i].workers, &err));
    }
}
END_TEST

/* The same with the kernel's own limit: no more descriptors at all. */
START_TEST(without_descriptors_a_runtime_has_no_fd_and_files_are_not_read)
{
    struct rlimit old, none;
    troupe_error err;
    troupe_tensor *tensor = NULL;
    troupe_library *library = NULL;
    const char *name;
    ck_ok(live(0, &err));
    const struct left before = look();
    ck_ok(troupe_library_new(&library, &err));
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){0, old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    const troupe_status opened = live(0, &err);
    ck_fails(troupe_tensor_read_npy(&tensor, "x.npy", &err), EXHAUSTED, "x.npy");
    ck_fails(troupe_library_read_file(library, "x.troupe", &err), EXHAUSTED, "x.troupe");
#ifdef TP_HAVE_ONNX
    ck_fails(troupe_library_load(library, "x.onnx", &name, &err), EXHAUSTED, "x.onnx");
#else
    ck_fails(troupe_library_load(library, "x.onnx", &name, &err), UNSUPPORTED, "x.onnx");
#endif
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert_int_eq(opened, TROUPE_EXHAUSTED);
    troupe_library_destroy(&library);
    ck_same(&before);
    ck_ok(live(0, &err));
}
END_TEST

/* --- a device's own threads ----------------------------------------------------------- */

static void count_line(void *arg, troupe_level level, const char *id, const char *line)
{
    (void)level, (void)line;
    *(int *)arg += strcmp(id, "device-thread") == 0;
}

/* It is said in the log, and the step runs on the threads that there are. */
START_TEST(a_device_without_threads_of_its_own_computes_all_the_same)
{
    int lines = 0;
    troupe_error err;
    troupe_runtime *runtime = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_function *f =
        function_of("function f(x: f32[n,n]) -> (y)\n y = MatMul(x, x)\n", NULL);
    troupe_tensor *x = NULL, *y[2];
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 2, (const int64_t[]){512, 512}, NULL, &err));
    options.devices = "cpu:0(threads=4)";
    options.workers = 0;
    troupe_log_to(count_line, &lines, TROUPE_LOG_WARN);
    for (int i = 0; i < 2; i++) {
        system_calls.asked[THREAD] = 0;
        system_calls.fail_at[THREAD] = i; /* the second time the first one is refused */
        ck_ok(troupe_open(&runtime, &options, &err));
        ck_ok(
            troupe_run(runtime, f, (const troupe_tensor *const *)&x, 1, &y[i], 1, NULL, &err));
        ck_assert_int_eq(troupe_close(&runtime), TROUPE_OK);
        ck_assert_int_eq(system_calls.asked[THREAD], i ? 1 : 3);
    }
    ck_assert_int_eq(lines, 1);
    ck_assert(troupe_tensor_equal(y[0], y[1]));
    troupe_log_to(NULL, NULL, TROUPE_LOG_WARN);
    troupe_tensor_release(&y[0]);
    troupe_tensor_release(&y[1]);
    troupe_tensor_release(&x);
    troupe_function_release(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("starve_system");
    TCase *t = tcase_create("system");
    tcase_add_loop_test(t, what_the_system_refuses_is_said_and_nothing_is_lost, 0,
                        (int)TP_COUNT(rows));
    tcase_add_test(t, without_descriptors_a_runtime_has_no_fd_and_files_are_not_read);
    tcase_add_test(t, a_device_without_threads_of_its_own_computes_all_the_same);
    suite_add_tcase(s, t);
    return test_run(s);
}
