/* SPDX-License-Identifier: MIT
 *
 * bench/bench_start.c - from the start of a process to the first result, and the memory it
 * holds then.
 */
#include <stdlib.h>

#include "bench/life.h"
#include "bench/subject.h"

static int first_result(void)
{
    struct subject s = {0};
    troupe_runtime *runtime = NULL;
    troupe_error err;
    troupe_status status = troupe_open(&runtime, NULL, &err);
    if (status >= 0) status = subject_one(&s, runtime, &err);
    if (status >= 0) status = subject_run_once(&s, &err);
    if (status >= 0)
        life_report();
    else
        fprintf(stderr, "bench_start: %s\n", err.text);
    subject_release(&s);
    if (runtime) troupe_close(&runtime);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct bench b;
    if (life_is_child(argc, argv)) return first_result();
    bench_open(&b, argc, argv);
    life_starts(&b, "");
    return bench_close(&b);
}
