/* SPDX-License-Identifier: MIT
 *
 * kernels/parts.c - cuts a matrix product or convolution of oneDNN's into parts.
 *
 * A product is cut into groups of rows; a convolution into groups of images, or, of one image,
 * into groups of the result's channels.
 */
#include "kernels/parts.h"

#include <stdatomic.h>

#include "kernels/conv.h"
#include "kernels/dense.h"

#define MOST_PARTS 64
#define LANES      16 /* rows and channels that oneDNN works on together */

/* n things in pieces of `each`, a multiple of `step`, for at most `threads` threads. */
static size_t piece(size_t n, size_t step, int threads)
{
    const size_t wanted = threads < MOST_PARTS ? (size_t)threads : MOST_PARTS;
    const size_t each = (n + wanted - 1) / wanted;
    return (each + step - 1) / step * step;
}

static troupe_status take_parts(struct tp_parts *parts, size_t n, troupe_error *err)
{
    parts->list = tp_alloc_array(n, sizeof(parts->list[0]));
    if (!parts->list) return tp_fail_memory(err, n * sizeof(parts->list[0]));
    return TROUPE_OK;
}

/* Part number parts->n is complete. The weights are kept when all parts keep theirs. */
static void add_part(struct tp_parts *parts)
{
    struct tp_part *part = &parts->list[parts->n];
    part->at = parts->workspace;
    parts->workspace += tp_dnnl_workspace(part->dnnl);
    parts->keeps = tp_dnnl_keeps(part->dnnl) && (parts->n == 0 || parts->keeps);
    parts->n++;
}

/* --- products ----------------------------------------------------------------------- */
static troupe_status cut_rows(struct tp_parts *parts, size_t m, size_t each, size_t n, size_t k,
                              bool turned_x, bool turned_w, const float *w, troupe_error *err)
{
    for (size_t row = 0; row < m; row += each) {
        const size_t rows = m - row < each ? m - row : each;
        struct tp_part *part = &parts->list[parts->n];
        part->x = row * k;
        part->y = row * n;
        if (parts->n > 0 && rows == each) {
            part->dnnl = parts->list[0].dnnl;
            part->shared = true;
        } else {
            const troupe_status status =
                tp_dnnl_matmul(&part->dnnl, rows, n, k, turned_x, turned_w, w, err);
            if (status != TROUPE_OK) return status;
        }
        add_part(parts);
    }
    return TROUPE_OK;
}

troupe_status tp_parts_matmul(struct tp_parts *parts, size_t m, size_t n, size_t k,
                              bool turned_x, bool turned_w, const float *w, int threads,
                              troupe_error *err)
{
    const bool cut =
        threads > 1 && !turned_x && 2.0 * (double)m * (double)n * (double)k > TP_PARTS_FLOPS;
    const size_t each = cut ? piece(m, LANES, threads) : m;
    TP_TRY(take_parts(parts, (m + each - 1) / each, err));
    const troupe_status status = cut_rows(parts, m, each, n, k, turned_x, turned_w, w, err);
    if (status != TROUPE_OK) tp_parts_fini(parts);
    return status;
}

/* --- convolutions ------------------------------------------------------------------- */
static size_t planes_of(const struct tp_conv *c, size_t channels, size_t space)
{
    return channels * c->groups * space;
}

/* A part that is `like` has the convolution *conv; the first of its kind makes it. */
static troupe_status make_part(struct tp_parts *parts, const struct tp_conv *conv,
                               bool like_first, const float *w, troupe_error *err)
{
    struct tp_part *part = &parts->list[parts->n];
    if (like_first) {
        part->dnnl = parts->list[0].dnnl;
        part->shared = true;
    } else {
        const troupe_status status = tp_dnnl_conv(&part->dnnl, conv, w, err);
        if (status != TROUPE_OK) return status;
    }
    add_part(parts);
    return TROUPE_OK;
}

static troupe_status cut_images(struct tp_parts *parts, const struct tp_conv *conv, size_t each,
                                const float *w, troupe_error *err)
{
    struct tp_conv piece_of = *conv;
    for (size_t i = 0; i < conv->n; i += each) {
        piece_of.n = conv->n - i < each ? conv->n - i : each;
        parts->list[parts->n].x = i * planes_of(conv, conv->in, conv->x_space);
        parts->list[parts->n].y = i * planes_of(conv, conv->out, conv->y_space);
        const bool like_first = parts->n > 0 && piece_of.n == each;
        const troupe_status status = make_part(parts, &piece_of, like_first, w, err);
        if (status != TROUPE_OK) return status;
    }
    return TROUPE_OK;
}

/* Of one image. Each part has weights of its own. */
static troupe_status cut_channels(struct tp_parts *parts, const struct tp_conv *conv,
                                  size_t each, const float *w, troupe_error *err)
{
    struct tp_conv piece_of = *conv;
    const size_t weights = conv->in * conv->taps;
    for (size_t i = 0; i < conv->out; i += each) {
        struct tp_part *part = &parts->list[parts->n];
        piece_of.out = conv->out - i < each ? conv->out - i : each;
        part->w = i * weights;
        part->b = i;
        part->y = i * conv->y_space;
        const troupe_status status =
            make_part(parts, &piece_of, false, w ? w + i * weights : NULL, err);
        if (status != TROUPE_OK) return status;
    }
    return TROUPE_OK;
}

static double flops_of(const struct tp_conv *c)
{
    return 2.0 * (double)c->n * (double)c->groups * (double)c->out * (double)c->in *
           (double)c->taps * (double)c->y_space;
}

troupe_status tp_parts_conv(struct tp_parts *parts, const struct tp_conv *conv, const float *w,
                            int threads, troupe_error *err)
{
    const bool cut = threads > 1 && flops_of(conv) > TP_PARTS_FLOPS;
    const bool channels = cut && conv->n == 1 && conv->groups == 1;
    const size_t n = channels ? conv->out : conv->n;
    const size_t each = cut ? piece(n, channels ? LANES : 1, threads) : n;
    TP_TRY(take_parts(parts, (n + each - 1) / each, err));
    const troupe_status status = channels ? cut_channels(parts, conv, each, w, err)
                                          : cut_images(parts, conv, each, w, err);
    if (status != TROUPE_OK) tp_parts_fini(parts);
    return status;
}

/* --- running ------------------------------------------------------------------------ */
struct job {
    const struct tp_parts *parts;
    const float *x, *w, *b;
    float *y;
    void *workspace;
    atomic_bool failed; /* claims `error`, which is read when all parts are done */
    troupe_status status;
    troupe_error error;
};

static void run_part(void *arg, size_t i)
{
    struct job *job = arg;
    const struct tp_part *part = &job->parts->list[i];
    troupe_error error;
    const troupe_status status = tp_dnnl_run(part->dnnl, job->x + part->x, job->w + part->w,
                                             job->b ? job->b + part->b : NULL, job->y + part->y,
                                             tp_part(job->workspace, part->at), &error);
    if (status == TROUPE_OK) return; /* nothing to say */
    if (atomic_exchange_explicit(&job->failed, true, memory_order_relaxed))
        return; /* not the first */
    job->status = status;
    job->error = error;
}

troupe_status tp_parts_run(const struct tp_parts *parts, const float *x, const float *w,
                           const float *b, float *y, void *workspace, struct tp_team *team,
                           troupe_error *err)
{
    if (parts->n == 1) return tp_dnnl_run(parts->list[0].dnnl, x, w, b, y, workspace, err);
    struct job job = {.parts = parts, .x = x, .w = w, .b = b, .y = y, .workspace = workspace};
    if (team) {
        team->run(team, parts->n, run_part, &job);
    } else {
        for (size_t i = 0; i < parts->n; i++)
            run_part(&job, i);
    }
    if (job.status == TROUPE_OK) return TROUPE_OK;
    if (err) *err = job.error;
    return job.status;
}

void tp_parts_fini(struct tp_parts *parts)
{
    for (size_t i = 0; parts->list && i < parts->n; i++)
        if (!parts->list[i].shared) tp_dnnl_destroy(&parts->list[i].dnnl);
    tp_free(parts->list);
    memset(parts, 0, sizeof(*parts));
}
