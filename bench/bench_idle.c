/* SPDX-License-Identifier: MIT
 *
 * bench/bench_idle.c - what a runtime with two devices and its workers does while nobody calls.
 */
#include "bench/life.h"
#include "bench/subject.h"

int main(int argc, char **argv)
{
    struct bench b;
    struct subject s = {0};
    troupe_runtime *runtime = NULL;
    troupe_error err;
    bench_open(&b, argc, argv);
    troupe_status status = subject_runtime(&runtime, TWO_CPUS, TROUPE_AUTO, &err);
    if (status >= 0) status = subject_two(&s, runtime, &err);
    if (status >= 0) status = subject_run(&s, 1000, &err);
    if (status >= 0)
        life_idles(&b, "");
    else
        bench_failed(&b, "idle", &err);
    subject_release(&s);
    if (runtime) troupe_close(&runtime);
    return bench_close(&b);
}
