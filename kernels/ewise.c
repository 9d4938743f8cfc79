/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise.c - runs element-wise loops over whole tensors.
 */
#include "kernels/ewise.h"

#include <string.h>

#include "kernels/convert.h"
#include "kernels/texts.h"

/* --- one input ---------------------------------------------------------------------- */
struct single {
    tp_loop1 *loop;
    size_t n;
    double params[2];
};

static troupe_status run_single(const struct tp_launch *launch, troupe_error *err)
{
    const struct single *s = launch->state;
    (void)err;
    s->loop(launch->values[launch->results[0]].data, launch->values[launch->inputs[0]].data,
            s->n, s->params);
    return TROUPE_OK;
}

troupe_status tp_unary_prepare_with(struct tp_prepare *prepare, const struct tp_loops1 *loops,
                                    double a, double b, troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    struct single *s = tp_kernel_state(prepare, sizeof(*s), err);
    if (!s) return TROUPE_EXHAUSTED;
    s->loop = loops->of[node->inputs[0]->dtype];
    s->n = tp_shape_count_known(&node->inputs[0]->shape);
    s->params[0] = a;
    s->params[1] = b;
    prepare->run = run_single;
    return TROUPE_OK;
}

troupe_status tp_unary_prepare(struct tp_prepare *prepare, const struct tp_loops1 *loops,
                               troupe_error *err)
{
    double params[2] = {0, 0};
    for (size_t i = 0; i < TP_COUNT(params); i++)
        if (loops->params[i])
            params[i] = tp_float(&prepare->node, loops->params[i], loops->otherwise[i]);
    return tp_unary_prepare_with(prepare, loops, params[0], params[1], err);
}

/* --- two inputs --------------------------------------------------------------------- */
void tp_pair_make(struct tp_pair *pair, tp_loop2 *loop, const struct tp_type *out,
                  const struct tp_type *x, const struct tp_type *y)
{
    const struct tp_shape *inputs[] = {&x->shape, &y->shape};
    tp_walk_make(&pair->walk, &out->shape, inputs, 2);
    pair->loop = loop;
    pair->n = tp_shape_count_known(&out->shape);
    pair->in_size = tp_element_size(x->dtype);
    pair->out_size = troupe_dtype_size(out->dtype);
    pair->moving = pair->walk.moves[0] == pair->walk.moves[1] ? TP_BOTH
                   : pair->walk.moves[0]                      ? TP_LEFT
                                                              : TP_RIGHT;
}

void tp_pair_run(const struct tp_pair *pair, void *out, const void *x, const void *y)
{
    const struct tp_walk *w = &pair->walk;
    struct tp_walk_at at = {0};
    char *o = out;
    for (size_t i = 0; i < w->runs; i++) {
        pair->loop(o, (const char *)x + at.element[0] * pair->in_size,
                   (const char *)y + at.element[1] * pair->in_size, w->run, pair->moving);
        o += w->run * pair->out_size;
        tp_walk_next(w, &at);
    }
}

/* The whole result is one run. */
static troupe_status run_pair_once(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_pair *s = launch->state;
    const struct tp_view *v = launch->values;
    (void)err;
    s->loop(v[launch->results[0]].data, v[launch->inputs[0]].data, v[launch->inputs[1]].data,
            s->n, s->moving);
    return TROUPE_OK;
}

static troupe_status run_pair(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *v = launch->values;
    (void)err;
    tp_pair_run(launch->state, v[launch->results[0]].data, v[launch->inputs[0]].data,
                v[launch->inputs[1]].data);
    return TROUPE_OK;
}

troupe_status tp_binary_prepare(struct tp_prepare *prepare, const struct tp_loops2 *loops,
                                troupe_error *err)
{
    const struct tp_infer *node = &prepare->node;
    struct tp_pair pair = {0};
    tp_pair_make(&pair, loops->of[node->inputs[0]->dtype], &node->results[0], node->inputs[0],
                 node->inputs[1]);
    const bool once = pair.walk.runs == 1;
    const size_t size = once ? offsetof(struct tp_pair, walk) : sizeof(pair);
    struct tp_pair *s = tp_kernel_state(prepare, size, err);
    if (!s) return TROUPE_EXHAUSTED;
    memcpy(s, &pair, size);
    prepare->run = once ? run_pair_once : run_pair;
    return tp_texts_wrap(prepare, err);
}

/* --- elements of 16 bits ------------------------------------------------------------ */
#define CHUNK 128

static void store_result(const void *from, size_t n, troupe_dtype dtype, void *out, size_t at)
{
    if (dtype == TROUPE_BOOL)
        memcpy((char *)out + at, from, n);
    else
        tp_store_f32(dtype, from, n, (uint16_t *)out + at, 1);
}

void tp_half1(tp_loop1 *loop, troupe_dtype dtype, troupe_dtype result, void *out, const void *x,
              size_t n, const double *params)
{
    float in[CHUNK], made[CHUNK];
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = n - i < CHUNK ? n - i : CHUNK;
        tp_load_f32(dtype, (const uint16_t *)x + i, 1, m, in);
        loop(made, in, m, params);
        store_result(made, m, result, out, i);
    }
}

/* The next m elements of an input, or its one element. */
static void load_half(troupe_dtype dtype, const void *from, bool moves, size_t i, size_t m,
                      float *to)
{
    tp_load_f32(dtype, (const uint16_t *)from + (moves ? i : 0), 1, moves ? m : 1, to);
}

void tp_half2(tp_loop2 *loop, troupe_dtype dtype, troupe_dtype result, void *out, const void *x,
              const void *y, size_t n, enum tp_moving moving)
{
    float left[CHUNK], right[CHUNK], made[CHUNK];
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = n - i < CHUNK ? n - i : CHUNK;
        load_half(dtype, x, moving != TP_RIGHT, i, m, left);
        load_half(dtype, y, moving != TP_LEFT, i, m, right);
        loop(made, left, right, m, moving);
        store_result(made, m, result, out, i);
    }
}
