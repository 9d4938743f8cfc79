/* SPDX-License-Identifier: MIT
 *
 * kernels/dnnl_api.c - opens oneDNN.
 */
#include "kernels/dnnl_api.h"

#ifdef TP_USE_DNNL

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"

static bool find_functions(void *library, struct tp_dnnl_api *api)
{
    void *found;
#define X(name)                                                                                \
    found = dlsym(library, #name);                                                             \
    if (!found) return false;                                                                  \
    memcpy(&api->name, &found, sizeof(found));
    TP_DNNL_FUNCTIONS(X)
#undef X
    found = dlsym(library, "omp_get_max_threads");
    memcpy(&api->omp_get_max_threads, &found, sizeof(found));
    found = dlsym(library, "omp_set_num_threads");
    memcpy(&api->omp_set_num_threads, &found, sizeof(found));
    if (!api->omp_set_num_threads) api->omp_get_max_threads = NULL;
    return api->dnnl_engine_create(&api->engine, dnnl_cpu, 0) == dnnl_success;
}

static bool open_library(struct tp_dnnl_api *api, char *why, size_t size)
{
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library && find_functions(library, api)) return true;
    snprintf(why, size, "%s", library ? "libdnnl.so.2 lacks a function" : dlerror());
    return false;
}

const struct tp_dnnl_api *tp_dnnl_open(void)
{
    static struct tp_lock lock = TP_LOCK_INIT;
    static struct tp_dnnl_api api;
    static enum { UNKNOWN, ABSENT, PRESENT } state; /* only under the lock */
    char why[200] = "";
    tp_lock_take(&lock);
    if (state == UNKNOWN) state = open_library(&api, why, sizeof(why)) ? PRESENT : ABSENT;
    const bool present = state == PRESENT;
    tp_lock_drop(&lock);
    if (why[0]) tp_log(INFO, "dnnl", "oneDNN is not used: %s", why);
    return present ? &api : NULL;
}

int tp_dnnl_enter(const struct tp_dnnl_api *api)
{
    if (!api->omp_get_max_threads) return 1;
    const int threads = api->omp_get_max_threads();
    if (threads != 1) api->omp_set_num_threads(1);
    return threads;
}

void tp_dnnl_leave(const struct tp_dnnl_api *api, int threads)
{
    if (threads != 1) api->omp_set_num_threads(threads);
}

#else
typedef int tp_dnnl_is_absent; /* a file has something in it */
#endif
