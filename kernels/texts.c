/* SPDX-License-Identifier: MIT
 *
 * kernels/texts.c - results of strings: room for their texts, and kernels that move strings like
 * other elements.
 */
#include "kernels/texts.h"

#include "kernels/kernel.h"

/* --- room --------------------------------------------------------------------------- */
troupe_status tp_texts_room(const struct tp_launch *launch, size_t i, size_t size, size_t *at,
                            troupe_error *err)
{
    *at = tp_view_count(tp_out(launch, i)) * sizeof(struct tp_string);
    if (size <= TP_STRING_ROOM) return TROUPE_OK; /* it has that */
    return launch->room->make(launch->room, launch, i, size, err);
}

/* Bytes of the texts that the result's elements point to, each with a zero byte. */
static troupe_status measure(const struct tp_string *strings, size_t n, size_t *out,
                             troupe_error *err)
{
    *out = n;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(*out, strings[i].size, out) || *out > PTRDIFF_MAX)
            return tp_fail(err, TROUPE_EXHAUSTED, "the texts of %zu strings are too long", n);
    return TROUPE_OK;
}

/* Addresses become places, and the texts come to stand there. */
static troupe_status settle(const struct tp_launch *launch, size_t result, troupe_error *err)
{
    const size_t n = tp_view_count(tp_out(launch, result));
    size_t size, at;
    TP_TRY(measure(tp_out(launch, result)->data, n, &size, err));
    TP_TRY(tp_texts_room(launch, result, size, &at, err));
    struct tp_string *const strings = tp_out(launch, result)->data;
    char *const bytes = (char *)strings;
    for (size_t i = 0; i < n; i++) {
        if (strings[i].size) memcpy(bytes + at, tp_text_at(strings[i].at), strings[i].size);
        strings[i].at = at;
        at += strings[i].size;
        bytes[at++] = 0;
    }
    return TROUPE_OK;
}

troupe_status tp_texts_copy(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *from = tp_in(launch, 0);
    const struct tp_string *strings = from->data;
    const size_t n = tp_view_count(from);
    size_t size, at;
    TP_TRY(measure(strings, n, &size, err));
    TP_TRY(tp_texts_room(launch, 0, size, &at, err));
    struct tp_string *const to = tp_out(launch, 0)->data;
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)to + at, (const char *)strings + strings[i].at, strings[i].size + 1);
        to[i] = (struct tp_string){.at = at, .size = strings[i].size};
        at += strings[i].size + 1;
    }
    return TROUPE_OK;
}

/* --- kernels that move strings ------------------------------------------------------ */
struct state {
    tp_kernel *run; /* what moves */
    void *state;
    void (*drop)(void *state);
    size_t views, slots, refs; /* where these lie in the workspace, after its own */
};

static void drop(void *state)
{
    struct state *s = state;
    if (s->drop) s->drop(s->state);
    tp_free(s);
}

/* The elements of an input with addresses in them. */
static void refer(const struct tp_view *from, struct tp_string *to)
{
    const struct tp_string *strings = from->data;
    const size_t n = tp_view_count(from);
    for (size_t i = 0; i < n; i++)
        to[i] = (struct tp_string){
            .at = (uint64_t)(uintptr_t)((const char *)strings + strings[i].at),
            .size = strings[i].size};
}

static bool is_strings(const struct tp_view *view)
{
    return view && view->type->dtype == TROUPE_STRING;
}

/* The launch that the kernel sees: values of its own, numbered as they come. */
static void look_through(const struct tp_launch *launch, const struct state *s,
                         struct tp_launch *out)
{
    const size_t n = launch->n_inputs;
    char *const workspace = launch->workspace;
    struct tp_view *const views = (struct tp_view *)(workspace + s->views);
    uint32_t *const slots = (uint32_t *)(workspace + s->slots);
    struct tp_string *refs = (struct tp_string *)(workspace + s->refs);
    for (size_t i = 0; i < n + launch->n_results; i++) {
        const struct tp_view *view = i < n ? tp_in(launch, i) : tp_out(launch, i - n);
        slots[i] = view ? (uint32_t)i : TP_NO_VALUE;
        if (!view) continue;
        views[i] = *view;
        if (i >= n || !is_strings(view)) continue;
        refer(view, refs);
        views[i].data = refs;
        refs += tp_view_count(view);
    }
    *out = *launch;
    out->values = views;
    out->inputs = slots;
    out->results = slots + n;
    out->state = s->state;
    out->room = NULL;
}

static troupe_status run(const struct tp_launch *launch, troupe_error *err)
{
    const struct state *s = launch->state;
    struct tp_launch seen;
    look_through(launch, s, &seen);
    TP_TRY(s->run(&seen, err));
    for (size_t i = 0; i < launch->n_results; i++)
        if (is_strings(tp_out(launch, i))) TP_TRY(settle(launch, i, err));
    return TROUPE_OK;
}

static size_t round_up(size_t n)
{
    return (n + TP_ALIGN - 1) / TP_ALIGN * TP_ALIGN;
}

static void lay_out(struct tp_prepare *prepare, struct state *s)
{
    const struct tp_infer *node = &prepare->node;
    const size_t n = node->n_inputs + node->n_results;
    s->views = round_up(prepare->workspace);
    s->slots = round_up(s->views + n * sizeof(struct tp_view));
    s->refs = round_up(s->slots + n * sizeof(uint32_t));
    prepare->workspace = s->refs;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] && node->inputs[i]->dtype == TROUPE_STRING)
            prepare->workspace +=
                tp_shape_count_known(&node->inputs[i]->shape) * sizeof(struct tp_string);
}

static bool has_strings(const struct tp_infer *node)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] && node->inputs[i]->dtype == TROUPE_STRING) return true;
    return false;
}

troupe_status tp_texts_wrap(struct tp_prepare *prepare, troupe_error *err)
{
    if (!has_strings(&prepare->node)) return TROUPE_OK; /* elements are all there is */
    struct state *s = tp_alloc(sizeof(*s));
    if (!s) {
        if (prepare->drop) prepare->drop(prepare->state);
        prepare->state = NULL;
        prepare->drop = NULL;
        return tp_fail_memory(err, sizeof(*s));
    }
    *s = (struct state){.run = prepare->run, .state = prepare->state, .drop = prepare->drop};
    lay_out(prepare, s);
    prepare->run = run;
    prepare->state = s;
    prepare->drop = drop;
    return TROUPE_OK;
}
