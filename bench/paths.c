/* SPDX-License-Identifier: MIT
 *
 * bench/paths.c - walk one path of the runtime a fixed number of times, for a tool that counts
 * instructions.
 *
 * `paths NAME` warms the path up and then walks it in measured(), which is what bench/count
 * tells callgrind to count; it prints how many things it did there. All runs on one thread.
 * `paths` prints the names.
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/calling.h"
#include "bench/subject.h"

static const struct path {
    const char *name;
    subject_fn *make_it;
    bench_fn *fn;
    uint64_t warm, times;
    uint64_t per; /* things that one time does */
} paths[] = {
    {"run.one", subject_one, subject_run, 200, 1000, 1},
    {"run.two", subject_two, subject_run, 200, 1000, 1},
    {"dispatch.one", subject_one, call_and_dispatch, 200, 1000, 1},
    {"dispatch.two", subject_two, call_and_dispatch, 200, 1000, 1},
    {"flight.call", subject_one, call_many, 2, 5, CALLING_AT_ONCE},
    {"edge.alternating", subject_alternating, subject_run, 20, 20, SUBJECT_CHAIN - 1},
    {"node.chain", subject_long_chain, subject_run, 20, 20, SUBJECT_CHAIN},
};
#define N_PATHS (sizeof(paths) / sizeof(paths[0]))

/* Not to be inlined: its name is where counting begins and ends. */
troupe_status measured(bench_fn *fn, struct subject *s, uint64_t times, troupe_error *err);
__attribute__((noinline, noclone)) troupe_status measured(bench_fn *fn, struct subject *s,
                                                          uint64_t times, troupe_error *err)
{
    troupe_status status = fn(s, times, err);
    __asm__ volatile("" ::: "memory"); /* no tail call: the counting ends when this returns */
    return status;
}

static troupe_status walk(const struct path *path, troupe_error *err)
{
    struct subject s = {0};
    troupe_runtime *runtime = NULL;
    troupe_status status = subject_runtime(&runtime, TWO_CPUS, 0, err);
    if (status >= 0) status = path->make_it(&s, runtime, err);
    if (status >= 0) status = path->fn(&s, path->warm, err);
    if (status >= 0) status = measured(path->fn, &s, path->times, err);
    subject_release(&s);
    const troupe_status closed = runtime ? troupe_close(&runtime) : TROUPE_OK;
    return status < 0 ? status : closed;
}

static int print_names(void)
{
    for (size_t i = 0; i < N_PATHS; i++)
        puts(paths[i].name);
    return 0;
}

int main(int argc, char **argv)
{
    troupe_error err = {.text = "close failed"};
    if (argc != 2) return print_names();
    for (size_t i = 0; i < N_PATHS; i++) {
        if (strcmp(paths[i].name, argv[1])) continue;
        if (walk(&paths[i], &err) >= 0) {
            printf("%llu\n", (unsigned long long)(paths[i].times * paths[i].per));
            return 0;
        }
        fprintf(stderr, "paths: %s: %s\n", argv[1], err.text);
        return 1;
    }
    fprintf(stderr, "paths: there is no path '%s'\n", argv[1]);
    return 2;
}
