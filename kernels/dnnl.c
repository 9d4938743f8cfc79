/* SPDX-License-Identifier: MIT
 *
 * kernels/dnnl.c - oneDNN's matrix product and convolution.
 *
 * oneDNN chooses the layout in which it is fastest; where that is not the caller's, a reorder
 * before or after the computation goes between them by way of the workspace. Known weights are
 * reordered once. oneDNN would use OpenMP's threads, so its number is set to one for the
 * calling thread while oneDNN has it.
 */
#include "kernels/dnnl.h"

#include "kernels/conv.h"

#ifdef TP_HAVE_DNNL
#include <dnnl.h>
#endif

#if defined(TP_HAVE_DNNL) && DNNL_VERSION_MAJOR == 2

#include <dlfcn.h>
#include <stdio.h>

#include "base/log.h"
#include "base/thread.h"
#include "kernels/dense.h"

/* --- the library -------------------------------------------------------------------- */
#define FUNCTIONS(X)                                                                           \
    X(dnnl_dilated_convolution_forward_desc_init)                                              \
    X(dnnl_engine_create)                                                                      \
    X(dnnl_matmul_desc_init)                                                                   \
    X(dnnl_memory_create)                                                                      \
    X(dnnl_memory_desc_equal)                                                                  \
    X(dnnl_memory_desc_get_size)                                                               \
    X(dnnl_memory_desc_init_by_strides)                                                        \
    X(dnnl_memory_desc_init_by_tag)                                                            \
    X(dnnl_memory_destroy)                                                                     \
    X(dnnl_primitive_attr_create)                                                              \
    X(dnnl_primitive_attr_destroy)                                                             \
    X(dnnl_primitive_attr_set_scratchpad_mode)                                                 \
    X(dnnl_primitive_create)                                                                   \
    X(dnnl_primitive_desc_create)                                                              \
    X(dnnl_primitive_desc_destroy)                                                             \
    X(dnnl_primitive_desc_query_md)                                                            \
    X(dnnl_primitive_destroy)                                                                  \
    X(dnnl_primitive_execute)                                                                  \
    X(dnnl_reorder_primitive_desc_create)                                                      \
    X(dnnl_stream_create)                                                                      \
    X(dnnl_stream_destroy)                                                                     \
    X(dnnl_stream_wait)

struct api {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    int (*omp_get_max_threads)(void); /* NULL without OpenMP */
    void (*omp_set_num_threads)(int);
    dnnl_engine_t engine;
};

static bool find_functions(void *library, struct api *api)
{
    void *found;
#define X(name)                                                                                \
    found = dlsym(library, #name);                                                             \
    if (!found) return false;                                                                  \
    memcpy(&api->name, &found, sizeof(found));
    FUNCTIONS(X)
#undef X
    found = dlsym(library, "omp_get_max_threads");
    memcpy(&api->omp_get_max_threads, &found, sizeof(found));
    found = dlsym(library, "omp_set_num_threads");
    memcpy(&api->omp_set_num_threads, &found, sizeof(found));
    if (!api->omp_set_num_threads) api->omp_get_max_threads = NULL;
    return api->dnnl_engine_create(&api->engine, dnnl_cpu, 0) == dnnl_success;
}

static bool open_library(struct api *api, char *why, size_t size)
{
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library && find_functions(library, api)) return true;
    snprintf(why, size, "%s", library ? "libdnnl.so.2 lacks a function" : dlerror());
    return false;
}

/* The functions, or NULL without the library. Opened once and never closed. */
static const struct api *get_api(void)
{
    static struct tp_lock lock = TP_LOCK_INIT;
    static struct api api;
    static enum { UNKNOWN, ABSENT, PRESENT } state; /* only under the lock */
    char why[200] = "";
    tp_lock_take(&lock);
    if (state == UNKNOWN) state = open_library(&api, why, sizeof(why)) ? PRESENT : ABSENT;
    const bool present = state == PRESENT;
    tp_lock_drop(&lock);
    if (why[0]) tp_log(INFO, "dnnl", "oneDNN is not used: %s", why);
    return present ? &api : NULL;
}

/* One thread from here to leave(); what the caller had set comes back. */
static int enter(const struct api *api)
{
    if (!api->omp_get_max_threads) return 1;
    const int threads = api->omp_get_max_threads();
    if (threads != 1) api->omp_set_num_threads(1);
    return threads;
}

static void leave(const struct api *api, int threads)
{
    if (threads != 1) api->omp_set_num_threads(threads);
}

/* --- a prepared computation --------------------------------------------------------- */
/* One of x, w and y: where the caller's layout is not the computation's, `reorder` and a place
 * in the workspace are between them. */
struct side {
    dnnl_memory_desc_t given, used;
    dnnl_primitive_t reorder;
    size_t at;
};

struct tp_dnnl {
    const struct api *api;
    dnnl_primitive_t primitive;
    struct side x, w, y;
    dnnl_memory_desc_t b, scratch;
    bool has_b;
    void *packed; /* the weights as they are used, or NULL */
    size_t scratch_at, workspace;
};

/* PENDING for what oneDNN does not have, else a failure. */
static troupe_status refuse(dnnl_status_t status, troupe_error *err)
{
    if (status == dnnl_unimplemented || status == dnnl_invalid_arguments) return TROUPE_PENDING;
    if (status == dnnl_out_of_memory)
        return tp_fail(err, TROUPE_EXHAUSTED, "oneDNN has no memory");
    return tp_fail(err, TROUPE_DEVICE, "oneDNN gave status %d", (int)status);
}

#define TRY_DNNL(expr)                                                                         \
    do {                                                                                       \
        const dnnl_status_t try_ = (expr);                                                     \
        if (try_ != dnnl_success) return refuse(try_, err);                                    \
    } while (0)

static troupe_status add_reorder(struct tp_dnnl *d, const dnnl_memory_desc_t *from,
                                 const dnnl_memory_desc_t *to, dnnl_primitive_t *out,
                                 troupe_error *err)
{
    const struct api *api = d->api;
    dnnl_primitive_desc_t desc = NULL;
    if (api->dnnl_memory_desc_equal(from, to)) return TROUPE_OK; /* nothing to reorder */
    TRY_DNNL(api->dnnl_reorder_primitive_desc_create(&desc, from, api->engine, to, api->engine,
                                                     NULL));
    const dnnl_status_t status = api->dnnl_primitive_create(out, desc);
    api->dnnl_primitive_desc_destroy(desc);
    TRY_DNNL(status);
    return TROUPE_OK;
}

static size_t take(struct tp_dnnl *d, const dnnl_memory_desc_t *desc)
{
    const size_t at = d->workspace;
    d->workspace += tp_room(d->api->dnnl_memory_desc_get_size(desc));
    return at;
}

/* Fill in what the description says. */
static troupe_status read_desc(struct tp_dnnl *d, const_dnnl_primitive_desc_t desc,
                               troupe_error *err)
{
    const struct api *api = d->api;
    d->x.used = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_src_md, 0);
    d->w.used = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    d->y.used = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0);
    d->scratch = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    TRY_DNNL(api->dnnl_primitive_create(&d->primitive, desc));
    TP_TRY(add_reorder(d, &d->x.given, &d->x.used, &d->x.reorder, err));
    TP_TRY(add_reorder(d, &d->w.given, &d->w.used, &d->w.reorder, err));
    TP_TRY(add_reorder(d, &d->y.used, &d->y.given, &d->y.reorder, err));
    d->scratch_at = take(d, &d->scratch);
    if (d->x.reorder) d->x.at = take(d, &d->x.used);
    if (d->y.reorder) d->y.at = take(d, &d->y.used);
    return TROUPE_OK;
}

static troupe_status create(struct tp_dnnl *d, const_dnnl_op_desc_t op, troupe_error *err)
{
    const struct api *api = d->api;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t desc = NULL;
    TRY_DNNL(api->dnnl_primitive_attr_create(&attr));
    dnnl_status_t status =
        api->dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = api->dnnl_primitive_desc_create(&desc, op, attr, api->engine, NULL);
    api->dnnl_primitive_attr_destroy(attr);
    TRY_DNNL(status);
    const troupe_status read = read_desc(d, desc, err);
    api->dnnl_primitive_desc_destroy(desc);
    return read;
}

/* --- running ------------------------------------------------------------------------ */
#define MOST 5 /* arguments */

/* One execution: its arguments, and the stream it goes through. */
struct execution {
    const struct tp_dnnl *d;
    dnnl_stream_t stream;
};

/* The first failure, or success. Whatever was made is given up. */
static dnnl_status_t execute(const struct execution *e, const_dnnl_primitive_t primitive, int n,
                             const int *names, const dnnl_memory_desc_t *const *descs,
                             void *const *data)
{
    const struct api *api = e->d->api;
    dnnl_exec_arg_t args[MOST];
    dnnl_status_t status = dnnl_success;
    int made = 0;
    for (; made < n && status == dnnl_success; made++) {
        args[made] = (dnnl_exec_arg_t){.arg = names[made]};
        status =
            api->dnnl_memory_create(&args[made].memory, descs[made], api->engine, data[made]);
        if (status != dnnl_success) break;
    }
    if (status == dnnl_success)
        status = api->dnnl_primitive_execute(primitive, e->stream, n, args);
    for (int i = 0; i < made; i++)
        api->dnnl_memory_destroy(args[i].memory);
    return status;
}

static dnnl_status_t reorder(const struct execution *e, const_dnnl_primitive_t primitive,
                             const dnnl_memory_desc_t *from, const void *x,
                             const dnnl_memory_desc_t *to, void *y)
{
    static const int names[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    const dnnl_memory_desc_t *const descs[] = {from, to};
    void *const data[] = {(void *)x, y};
    return execute(e, primitive, 2, names, descs, data);
}

static dnnl_status_t compute(const struct execution *e, const void *x, const void *w,
                             const void *b, void *y, void *scratch)
{
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
                                DNNL_ARG_SCRATCHPAD, DNNL_ARG_BIAS};
    const struct tp_dnnl *d = e->d;
    const dnnl_memory_desc_t *const descs[] = {&d->x.used, &d->w.used, &d->y.used, &d->scratch,
                                               &d->b};
    void *const data[] = {(void *)x, (void *)w, y, scratch, (void *)b};
    return execute(e, d->primitive, d->has_b ? 5 : 4, names, descs, data);
}

/* Reorder what must be, compute, reorder back. */
static dnnl_status_t go(const struct execution *e, const void *x, const void *w, const void *b,
                        void *y, void *workspace)
{
    const struct tp_dnnl *d = e->d;
    dnnl_status_t status = dnnl_success;
    if (d->x.reorder) {
        void *to = tp_part(workspace, d->x.at);
        status = reorder(e, d->x.reorder, &d->x.given, x, &d->x.used, to);
        x = to;
    }
    if (status == dnnl_success && d->w.reorder && !d->packed) {
        void *to = tp_part(workspace, d->w.at);
        status = reorder(e, d->w.reorder, &d->w.given, w, &d->w.used, to);
        w = to;
    }
    void *made = d->y.reorder ? tp_part(workspace, d->y.at) : y;
    if (status == dnnl_success)
        status = compute(e, x, d->packed ? d->packed : w, b, made,
                         tp_part(workspace, d->scratch_at));
    if (status == dnnl_success && d->y.reorder)
        status = reorder(e, d->y.reorder, &d->y.used, made, &d->y.given, y);
    const dnnl_status_t waited = d->api->dnnl_stream_wait(e->stream);
    return status == dnnl_success ? waited : status;
}

troupe_status tp_dnnl_run(const struct tp_dnnl *d, const float *x, const float *w,
                          const float *b, float *y, void *workspace, troupe_error *err)
{
    const struct api *api = d->api;
    const int threads = enter(api);
    struct execution e = {.d = d};
    dnnl_status_t status =
        api->dnnl_stream_create(&e.stream, api->engine, dnnl_stream_default_flags);
    if (status == dnnl_success) {
        status = go(&e, x, w, b, y, workspace);
        api->dnnl_stream_destroy(e.stream);
    }
    leave(api, threads);
    if (status == dnnl_success) return TROUPE_OK;
    const troupe_status refused = refuse(status, err);
    return refused < 0 ? refused
                       : tp_fail(err, TROUPE_DEVICE, "oneDNN gave status %d", (int)status);
}

/* --- preparing ---------------------------------------------------------------------- */
/* Known weights as they are used, once. */
static troupe_status pack(struct tp_dnnl *d, const float *w, troupe_error *err)
{
    const struct api *api = d->api;
    const size_t size = api->dnnl_memory_desc_get_size(&d->w.used);
    struct execution e = {.d = d};
    d->packed = tp_alloc_aligned(64, size);
    if (!d->packed) return tp_fail_memory(err, size);
    TRY_DNNL(api->dnnl_stream_create(&e.stream, api->engine, dnnl_stream_default_flags));
    const dnnl_status_t status =
        reorder(&e, d->w.reorder, &d->w.given, w, &d->w.used, d->packed);
    api->dnnl_stream_destroy(e.stream);
    TRY_DNNL(status);
    return TROUPE_OK;
}

/* The weights are kept when they are known and must be reordered; else a run reorders them. */
static troupe_status finish(struct tp_dnnl *d, const_dnnl_op_desc_t op, const float *w,
                            troupe_error *err)
{
    const troupe_status status = create(d, op, err);
    if (status != TROUPE_OK || !d->w.reorder) return status;
    if (w) return pack(d, w, err);
    d->w.at = take(d, &d->w.used);
    return TROUPE_OK;
}

static troupe_status new_dnnl(struct tp_dnnl **out, troupe_error *err)
{
    const struct api *api = get_api();
    if (!api) return TROUPE_PENDING;
    *out = tp_alloc(sizeof(**out));
    if (!*out) return tp_fail_memory(err, sizeof(**out));
    (*out)->api = api;
    return TROUPE_OK;
}

static troupe_status init_matmul(struct tp_dnnl *d, size_t m, size_t n, size_t k, bool turned_x,
                                 bool turned_w, const float *w, troupe_error *err)
{
    const struct api *api = d->api;
    const dnnl_dims_t x_dims = {(int64_t)m, (int64_t)k}, w_dims = {(int64_t)k, (int64_t)n};
    const dnnl_dims_t y_dims = {(int64_t)m, (int64_t)n}, y_steps = {(int64_t)n, 1};
    const dnnl_dims_t x_steps = {turned_x ? 1 : (int64_t)k, turned_x ? (int64_t)m : 1};
    const dnnl_dims_t w_steps = {turned_w ? 1 : (int64_t)n, turned_w ? (int64_t)k : 1};
    dnnl_memory_desc_t any;
    dnnl_matmul_desc_t op;
    TRY_DNNL(api->dnnl_memory_desc_init_by_strides(&d->x.given, 2, x_dims, dnnl_f32, x_steps));
    TRY_DNNL(api->dnnl_memory_desc_init_by_strides(&d->w.given, 2, w_dims, dnnl_f32, w_steps));
    TRY_DNNL(api->dnnl_memory_desc_init_by_strides(&d->y.given, 2, y_dims, dnnl_f32, y_steps));
    TRY_DNNL(api->dnnl_memory_desc_init_by_tag(&any, 2, w_dims, dnnl_f32, dnnl_format_tag_any));
    TRY_DNNL(api->dnnl_matmul_desc_init(&op, &d->x.given, w ? &any : &d->w.given, NULL,
                                        &d->y.given));
    return finish(d, &op, w, err);
}

troupe_status tp_dnnl_matmul(struct tp_dnnl **out, size_t m, size_t n, size_t k, bool turned_x,
                             bool turned_w, const float *w, troupe_error *err)
{
    TP_OWNED(tp_dnnl_destroy) struct tp_dnnl *d = NULL;
    troupe_status status = new_dnnl(&d, err);
    if (status != TROUPE_OK) return status;
    const int threads = enter(d->api);
    status = init_matmul(d, m, n, k, turned_x, turned_w, w, err);
    leave(d->api, threads);
    if (status != TROUPE_OK) return status;
    *out = d;
    d = NULL;
    return TROUPE_OK;
}

/* The caller's layout, in order, and one that is left to oneDNN. */
static dnnl_status_t describe(const struct api *api, int n, const dnnl_dims_t dims,
                              dnnl_memory_desc_t *given, dnnl_memory_desc_t *any)
{
    dnnl_dims_t steps;
    int64_t step = 1;
    for (int i = n - 1; i >= 0; i--) {
        steps[i] = step;
        step *= dims[i];
    }
    const dnnl_status_t status =
        api->dnnl_memory_desc_init_by_strides(given, n, dims, dnnl_f32, steps);
    if (status != dnnl_success || !any) return status;
    return api->dnnl_memory_desc_init_by_tag(any, n, dims, dnnl_f32, dnnl_format_tag_any);
}

static troupe_status init_conv(struct tp_dnnl *d, const struct tp_conv *c, const float *w,
                               troupe_error *err)
{
    const struct api *api = d->api;
    const int space = c->rank, from = TP_SPACE - space, grouped = c->groups > 1;
    const int64_t groups = (int64_t)c->groups, in = (int64_t)c->in, out = (int64_t)c->out;
    dnnl_dims_t x = {(int64_t)c->n, groups * in}, y = {(int64_t)c->n, groups * out};
    dnnl_dims_t weights = {groups, out, in}, b = {groups * out};
    dnnl_dims_t strides, dilations, begin, end;
    dnnl_memory_desc_t any_x, any_w, any_y;
    dnnl_convolution_desc_t op;
    for (int i = 0; i < space; i++) {
        const struct tp_window *window = &c->window;
        x[i + 2] = window->in[from + i];
        y[i + 2] = window->out[from + i];
        weights[i + 3] = window->kernel[from + i];
        strides[i] = window->stride[from + i];
        dilations[i] = window->dilation[from + i] - 1;
        begin[i] = window->begin[from + i];
        end[i] = (window->out[from + i] - 1) * strides[i] +
                 (weights[i + 3] - 1) * (dilations[i] + 1) + 1 - x[i + 2] - begin[i];
    }
    TRY_DNNL(describe(api, space + 2, x, &d->x.given, &any_x));
    TRY_DNNL(describe(api, space + 2, y, &d->y.given, &any_y));
    TRY_DNNL(describe(api, space + 2 + grouped, grouped ? weights : weights + 1, &d->w.given,
                      &any_w));
    TRY_DNNL(describe(api, 1, b, &d->b, NULL));
    d->has_b = c->bias;
    TRY_DNNL(api->dnnl_dilated_convolution_forward_desc_init(
        &op, dnnl_forward_inference, dnnl_convolution_direct, &any_x, &any_w,
        c->bias ? &d->b : NULL, &any_y, strides, dilations, begin, end));
    return finish(d, &op, w, err);
}

troupe_status tp_dnnl_conv(struct tp_dnnl **out, const struct tp_conv *conv, const float *w,
                           troupe_error *err)
{
    TP_OWNED(tp_dnnl_destroy) struct tp_dnnl *d = NULL;
    troupe_status status = new_dnnl(&d, err);
    if (status != TROUPE_OK) return status;
    const int threads = enter(d->api);
    status = init_conv(d, conv, w, err);
    leave(d->api, threads);
    if (status != TROUPE_OK) return status;
    *out = d;
    d = NULL;
    return TROUPE_OK;
}

bool tp_dnnl_keeps(const struct tp_dnnl *dnnl)
{
    return dnnl->packed != NULL;
}

size_t tp_dnnl_workspace(const struct tp_dnnl *dnnl)
{
    return dnnl->workspace;
}

void tp_dnnl_destroy(struct tp_dnnl **dnnl)
{
    struct tp_dnnl *d = *dnnl;
    if (!d) return;
    if (d->primitive) d->api->dnnl_primitive_destroy(d->primitive);
    if (d->x.reorder) d->api->dnnl_primitive_destroy(d->x.reorder);
    if (d->w.reorder) d->api->dnnl_primitive_destroy(d->w.reorder);
    if (d->y.reorder) d->api->dnnl_primitive_destroy(d->y.reorder);
    tp_free(d->packed);
    tp_free(d);
    *dnnl = NULL;
}

#else /* without oneDNN */

troupe_status tp_dnnl_matmul(struct tp_dnnl **out, size_t m, size_t n, size_t k, bool turned_x,
                             bool turned_w, const float *w, troupe_error *err)
{
    (void)out, (void)m, (void)n, (void)k, (void)turned_x, (void)turned_w, (void)w, (void)err;
    return TROUPE_PENDING;
}

troupe_status tp_dnnl_conv(struct tp_dnnl **out, const struct tp_conv *conv, const float *w,
                           troupe_error *err)
{
    (void)out, (void)conv, (void)w, (void)err;
    return TROUPE_PENDING;
}

bool tp_dnnl_keeps(const struct tp_dnnl *dnnl)
{
    (void)dnnl;
    return false;
}

size_t tp_dnnl_workspace(const struct tp_dnnl *dnnl)
{
    (void)dnnl;
    return 0;
}

troupe_status tp_dnnl_run(const struct tp_dnnl *dnnl, const float *x, const float *w,
                          const float *b, float *y, void *workspace, troupe_error *err)
{
    (void)dnnl, (void)x, (void)w, (void)b, (void)y, (void)workspace;
    return tp_fail(err, TROUPE_INTERNAL, "oneDNN is not built in");
}

void tp_dnnl_destroy(struct tp_dnnl **dnnl)
{
    *dnnl = NULL;
}

#endif
