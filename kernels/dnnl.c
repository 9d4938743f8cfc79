/* SPDX-License-Identifier: MIT
 *
 * kernels/dnnl.c - oneDNN's matrix product and convolution.
 *
 * oneDNN chooses the layout in which it is fastest; where that is not the caller's, a reorder
 * before or after the computation goes between them by way of the workspace. Known weights are
 * reordered once. Where channels are last, which is common, the reorder is our own, since a call
 * of oneDNN's costs as much as a small convolution.
 */
#include "kernels/dnnl.h"

#include "kernels/conv.h"
#include "kernels/dnnl_api.h"

#ifdef TP_USE_DNNL

#include <stdatomic.h>

#include "kernels/dense.h"
#include "kernels/turn.h"

/* --- a prepared computation --------------------------------------------------------- */
/* One of x, w and y: where the caller's layout is not the computation's, `reorder` and a place
 * in the workspace are between them. */
struct side {
    dnnl_memory_desc_t given, used;
    dnnl_primitive_t reorder;
    bool turned; /* the channels are last in `used`: no primitive is needed */
    size_t at;
};

struct contexts;

struct tp_dnnl {
    const struct tp_dnnl_api *api;
    dnnl_primitive_t primitive;
    struct side x, w, y;
    dnnl_memory_desc_t b, scratch;
    bool has_b;
    void *packed; /* the weights as they are used, or NULL */
    size_t scratch_at, workspace;
    struct contexts *contexts; /* of its runs */
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
    const struct tp_dnnl_api *api = d->api;
    dnnl_primitive_desc_t desc = NULL;
    if (api->dnnl_memory_desc_equal(from, to)) return TROUPE_OK; /* nothing to reorder */
    TRY_DNNL(api->dnnl_reorder_primitive_desc_create(&desc, from, api->engine, to, api->engine,
                                                     NULL));
    const dnnl_status_t status = api->dnnl_primitive_create(out, desc);
    api->dnnl_primitive_desc_destroy(desc);
    TRY_DNNL(status);
    return TROUPE_OK;
}

/* Plain, f32, and each place of an image has its channels side by side. */
static bool has_channels_last(const dnnl_memory_desc_t *desc)
{
    const dnnl_blocking_desc_t *b = &desc->format_desc.blocking;
    int64_t step = desc->dims[1];
    if (desc->ndims < 3 || desc->format_kind != dnnl_blocked || b->inner_nblks != 0 ||
        desc->data_type != dnnl_f32 || desc->offset0 != 0 || b->strides[1] != 1)
        return false;
    for (int i = desc->ndims - 1; i >= 0; i--) {
        if (desc->padded_dims[i] != desc->dims[i]) return false;
        if (i == 1) continue;
        if (b->strides[i] != step) return false;
        step *= desc->dims[i];
    }
    return true;
}

/* x or y of a computation: turned, or with a primitive to reorder. */
static troupe_status join(struct tp_dnnl *d, struct side *side, bool out, troupe_error *err)
{
    const dnnl_memory_desc_t *from = out ? &side->used : &side->given;
    const dnnl_memory_desc_t *to = out ? &side->given : &side->used;
    side->turned = has_channels_last(&side->used) &&
                   !d->api->dnnl_memory_desc_equal(&side->given, &side->used);
    return side->turned ? TROUPE_OK : add_reorder(d, from, to, &side->reorder, err);
}

/* All images of a side, from channels first to channels last or back. */
static void turn(const struct side *side, bool back, float *to, const float *from)
{
    const dnnl_memory_desc_t *desc = &side->given;
    const size_t channels = (size_t)desc->dims[1];
    size_t space = 1;
    for (int i = 2; i < desc->ndims; i++)
        space *= (size_t)desc->dims[i];
    for (int64_t i = 0; i < desc->dims[0];
         i++, to += channels * space, from += channels * space)
        tp_turn_f32(to, from, back ? space : channels, back ? channels : space);
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
    const struct tp_dnnl_api *api = d->api;
    d->x.used = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_src_md, 0);
    d->w.used = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    d->y.used = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0);
    d->scratch = *api->dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    TRY_DNNL(api->dnnl_primitive_create(&d->primitive, desc));
    TP_TRY(join(d, &d->x, false, err));
    TP_TRY(add_reorder(d, &d->w.given, &d->w.used, &d->w.reorder, err));
    TP_TRY(join(d, &d->y, true, err));
    d->scratch_at = take(d, &d->scratch);
    if (d->x.reorder || d->x.turned) d->x.at = take(d, &d->x.used);
    if (d->y.reorder || d->y.turned) d->y.at = take(d, &d->y.used);
    return TROUPE_OK;
}

static troupe_status create(struct tp_dnnl *d, const_dnnl_op_desc_t op, troupe_error *err)
{
    const struct tp_dnnl_api *api = d->api;
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

/* --- contexts of runs --------------------------------------------------------------- */
/* What oneDNN's primitives read and write. */
enum place { X_GIVEN, X_USED, W_GIVEN, W_USED, B_USED, Y_USED, Y_GIVEN, SCRATCH, PLACES };

/* oneDNN's objects of one run; they cost more than a small product and are kept. */
struct context {
    struct context *next; /* does not change once it is in the list */
    atomic_bool busy;
    dnnl_stream_t stream;
    dnnl_memory_t memories[PLACES]; /* NULL: not needed */
    void *data[PLACES];             /* where they lie */
};

/* As many as there were runs at one time. None leaves the list before the end, so that a thread
 * may go along it while others add to it. */
struct contexts {
    _Atomic(struct context *) first;
};

/* Whether a run needs it, and how it lies. */
static const dnnl_memory_desc_t *describe_place(const struct tp_dnnl *d, enum place place)
{
    switch (place) {
    case X_GIVEN:
        return d->x.reorder ? &d->x.given : NULL;
    case X_USED:
        return &d->x.used;
    case W_GIVEN:
        return d->w.reorder ? &d->w.given : NULL;
    case W_USED:
        return &d->w.used;
    case B_USED:
        return d->has_b ? &d->b : NULL;
    case Y_USED:
        return &d->y.used;
    case Y_GIVEN:
        return d->y.reorder ? &d->y.given : NULL;
    default:
        return &d->scratch;
    }
}

static void destroy_context(const struct tp_dnnl_api *api, struct context *c)
{
    for (int i = 0; i < PLACES; i++)
        if (c->memories[i]) api->dnnl_memory_destroy(c->memories[i]);
    if (c->stream) api->dnnl_stream_destroy(c->stream);
    tp_free(c);
}

static dnnl_status_t fill_context(const struct tp_dnnl *d, struct context *c)
{
    const struct tp_dnnl_api *api = d->api;
    dnnl_status_t status =
        api->dnnl_stream_create(&c->stream, api->engine, dnnl_stream_default_flags);
    for (int i = 0; i < PLACES && status == dnnl_success; i++) {
        const dnnl_memory_desc_t *desc = describe_place(d, (enum place)i);
        if (desc)
            status =
                api->dnnl_memory_create(&c->memories[i], desc, api->engine, DNNL_MEMORY_NONE);
    }
    return status;
}

/* One that is not busy; a new one when all are. NULL: out_status says why. */
static struct context *take_context(const struct tp_dnnl *d, dnnl_status_t *out_status)
{
    struct contexts *all = d->contexts;
    struct context *first = atomic_load_explicit(&all->first, memory_order_acquire);
    for (struct context *c = first; c; c = c->next)
        if (!atomic_exchange_explicit(&c->busy, true, memory_order_acquire)) return c;
    struct context *made = tp_alloc(sizeof(*made));
    *out_status = made ? fill_context(d, made) : dnnl_out_of_memory;
    if (*out_status != dnnl_success) {
        if (made) destroy_context(d->api, made);
        return NULL;
    }
    atomic_init(&made->busy, true);
    made->next = first;
    while (!atomic_compare_exchange_weak_explicit(&all->first, &made->next, made,
                                                  memory_order_release, memory_order_relaxed))
        ; /* made->next is the first now */
    return made;
}

/* Pairs with the exchange in take_context. */
static void give_context(struct context *c)
{
    atomic_store_explicit(&c->busy, false, memory_order_release);
}

static void destroy_contexts(const struct tp_dnnl *d)
{
    struct context *c =
        d->contexts ? atomic_load_explicit(&d->contexts->first, memory_order_acquire) : NULL;
    while (c) {
        struct context *next = c->next;
        destroy_context(d->api, c);
        c = next;
    }
    tp_free(d->contexts);
}

/* --- running ------------------------------------------------------------------------ */
#define MOST 5 /* arguments */

/* One execution. */
struct execution {
    const struct tp_dnnl *d;
    struct context *context;
};

/* A place lies there from now on. */
static dnnl_status_t lay(const struct execution *e, enum place place, const void *data)
{
    struct context *c = e->context;
    void *at = (void *)data;
    if (!c->memories[place] || c->data[place] == at) return dnnl_success; /* as before */
    const dnnl_status_t status = e->d->api->dnnl_memory_set_data_handle(c->memories[place], at);
    c->data[place] = status == dnnl_success ? at : NULL;
    return status;
}

static dnnl_status_t execute(const struct execution *e, const_dnnl_primitive_t primitive, int n,
                             const int *names, const enum place *places)
{
    dnnl_exec_arg_t args[MOST];
    for (int i = 0; i < n; i++)
        args[i] = (dnnl_exec_arg_t){names[i], e->context->memories[places[i]]};
    return e->d->api->dnnl_primitive_execute(primitive, e->context->stream, n, args);
}

static dnnl_status_t reorder(const struct execution *e, const_dnnl_primitive_t primitive,
                             enum place from, const void *x, enum place to, void *y)
{
    static const int names[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    const enum place places[] = {from, to};
    dnnl_status_t status = lay(e, from, x);
    if (status == dnnl_success) status = lay(e, to, y);
    return status == dnnl_success ? execute(e, primitive, 2, names, places) : status;
}

static dnnl_status_t compute(const struct execution *e, const void *x, const void *w,
                             const void *b, void *y, void *scratch)
{
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
                                DNNL_ARG_SCRATCHPAD, DNNL_ARG_BIAS};
    static const enum place places[] = {X_USED, W_USED, Y_USED, SCRATCH, B_USED};
    const void *const data[] = {x, w, y, scratch, b};
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < MOST && status == dnnl_success; i++)
        status = lay(e, places[i], data[i]);
    return status == dnnl_success
               ? execute(e, e->d->primitive, e->d->has_b ? 5 : 4, names, places)
               : status;
}

/* Reorder what must be, compute, reorder back. */
static dnnl_status_t go(const struct execution *e, const void *x, const void *w, const void *b,
                        void *y, void *workspace)
{
    const struct tp_dnnl *d = e->d;
    dnnl_status_t status = dnnl_success;
    if (d->x.turned) {
        float *to = tp_part(workspace, d->x.at);
        turn(&d->x, false, to, x);
        x = to;
    } else if (d->x.reorder) {
        void *to = tp_part(workspace, d->x.at);
        status = reorder(e, d->x.reorder, X_GIVEN, x, X_USED, to);
        x = to;
    }
    if (status == dnnl_success && d->w.reorder && !d->packed) {
        void *to = tp_part(workspace, d->w.at);
        status = reorder(e, d->w.reorder, W_GIVEN, w, W_USED, to);
        w = to;
    }
    void *made = d->y.reorder || d->y.turned ? tp_part(workspace, d->y.at) : y;
    if (status == dnnl_success)
        status = compute(e, x, d->packed ? d->packed : w, b, made,
                         tp_part(workspace, d->scratch_at));
    if (status == dnnl_success && d->y.reorder)
        status = reorder(e, d->y.reorder, Y_USED, made, Y_GIVEN, y);
    const dnnl_status_t waited = d->api->dnnl_stream_wait(e->context->stream);
    if (status == dnnl_success && waited == dnnl_success && d->y.turned)
        turn(&d->y, true, y, made);
    return status == dnnl_success ? waited : status;
}

troupe_status tp_dnnl_run(const struct tp_dnnl *d, const float *x, const float *w,
                          const float *b, float *y, void *workspace, troupe_error *err)
{
    const int threads = tp_dnnl_enter(d->api);
    dnnl_status_t status = dnnl_success;
    const struct execution e = {d, take_context(d, &status)};
    if (e.context) {
        status = go(&e, x, w, b, y, workspace);
        give_context(e.context);
    }
    tp_dnnl_leave(d->api, threads);
    if (status == dnnl_success) return TROUPE_OK;
    const troupe_status refused = refuse(status, err);
    return refused < 0 ? refused
                       : tp_fail(err, TROUPE_DEVICE, "oneDNN gave status %d", (int)status);
}

/* --- preparing ---------------------------------------------------------------------- */
/* Known weights as they are used, once. */
static troupe_status pack(struct tp_dnnl *d, const float *w, troupe_error *err)
{
    const size_t size = d->api->dnnl_memory_desc_get_size(&d->w.used);
    dnnl_status_t status = dnnl_success;
    d->packed = tp_alloc_aligned(64, size);
    if (!d->packed) return tp_fail_memory(err, size);
    const struct execution e = {d, take_context(d, &status)};
    if (e.context) {
        status = reorder(&e, d->w.reorder, W_GIVEN, w, W_USED, d->packed);
        give_context(e.context);
    }
    TRY_DNNL(status);
    return TROUPE_OK;
}

/* The first context, so that a run need not make it. */
static troupe_status start_contexts(struct tp_dnnl *d, troupe_error *err)
{
    dnnl_status_t status = dnnl_success;
    d->contexts = tp_alloc(sizeof(*d->contexts));
    if (!d->contexts) return tp_fail_memory(err, sizeof(*d->contexts));
    struct context *first = take_context(d, &status);
    TRY_DNNL(status);
    give_context(first);
    return TROUPE_OK;
}

/* The weights are kept when they are known and must be reordered; else a run reorders them. */
static troupe_status finish(struct tp_dnnl *d, const_dnnl_op_desc_t op, const float *w,
                            troupe_error *err)
{
    troupe_status status = create(d, op, err);
    if (status == TROUPE_OK) status = start_contexts(d, err);
    if (status != TROUPE_OK || !d->w.reorder) return status;
    if (w) return pack(d, w, err);
    d->w.at = take(d, &d->w.used);
    return TROUPE_OK;
}

static troupe_status new_dnnl(struct tp_dnnl **out, troupe_error *err)
{
    const struct tp_dnnl_api *api = tp_dnnl_open();
    if (!api) return TROUPE_PENDING;
    *out = tp_alloc(sizeof(**out));
    if (!*out) return tp_fail_memory(err, sizeof(**out));
    (*out)->api = api;
    return TROUPE_OK;
}

static troupe_status init_matmul(struct tp_dnnl *d, size_t m, size_t n, size_t k, bool turned_x,
                                 bool turned_w, const float *w, troupe_error *err)
{
    const struct tp_dnnl_api *api = d->api;
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
    const int threads = tp_dnnl_enter(d->api);
    status = init_matmul(d, m, n, k, turned_x, turned_w, w, err);
    tp_dnnl_leave(d->api, threads);
    if (status != TROUPE_OK) return status;
    *out = d;
    d = NULL;
    return TROUPE_OK;
}

/* The caller's layout, in order, and one that is left to oneDNN. */
static dnnl_status_t describe(const struct tp_dnnl_api *api, int n, const dnnl_dims_t dims,
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
    const struct tp_dnnl_api *api = d->api;
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
    const int threads = tp_dnnl_enter(d->api);
    status = init_conv(d, conv, w, err);
    tp_dnnl_leave(d->api, threads);
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
    destroy_contexts(d);
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
