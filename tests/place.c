/* SPDX-License-Identifier: MIT
 *
 * tests/place.c - the invented ops and devices of tests/place.h.
 */
#include "tests/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/infer.h"
#include "tests/test.h"

static troupe_status infer_like_first(struct tp_infer *infer, troupe_error *err)
{
    (void)err;
    for (size_t i = 0; i < infer->n_results; i++)
        if (infer->n_inputs > 0 && infer->inputs[0])
            infer->results[i].shape = infer->inputs[0]->shape;
    return TROUPE_OK;
}

static troupe_status infer_ints(struct tp_infer *infer, troupe_error *err)
{
    infer->results[0].dtype = strcmp(infer->op->name, "ToInt") == 0 ? TROUPE_I32 : TROUPE_I64;
    return infer_like_first(infer, err);
}

static troupe_status infer_floats(struct tp_infer *infer, troupe_error *err)
{
    static const int64_t four = 4;
    for (size_t i = 0; i < infer->n_results; i++) {
        infer->results[i].dtype = TROUPE_F32;
        TP_TRY(tp_shape_make(&infer->results[i].shape, 1, &four, err));
    }
    return TROUPE_OK;
}

#define LAST                                                                                   \
    {                                                                                          \
        .name = NULL                                                                           \
    }
static const struct tp_port no_ports[] = {LAST};
static const struct tp_port one_in[] = {{"x", TP_ANY, 1, 0}, LAST};
static const struct tp_port any_in[] = {{"x", TP_ANY, 0, 0}, LAST};
static const struct tp_port two_in[] = {{"x", TP_ANY, 1, 0}, {"y", TP_ANY, 1, 0}, LAST};
static const struct tp_port many_in[] = {{"x", TP_ANY, 1, TP_VARIADIC | TP_OPTIONAL}, LAST};
static const struct tp_port host_in[] = {
    {"x", TP_ANY, 1, 0}, {"scales", TP_ANY, 0, TP_HOST}, LAST};
static const struct tp_port one_out[] = {{"r", TP_ANY, 1, 0}, LAST};
static const struct tp_port two_out[] = {{"r", TP_ANY, 1, 0}, {"s", TP_ANY, 1, 0}, LAST};
static const struct tp_port new_out[] = {{"r", 0, 0, 0}, LAST};
static const struct tp_port host_out[] = {{"r", 0, 0, TP_HOST}, LAST};

#define ROW(op, kernels, in, out, how)                                                         \
    .name = op, .summary = kernels, .inputs = in, .results = out, .infer = how
static const struct tp_op ops[] = {
    {ROW("Any", "cpu gpu opencl fake", one_in, one_out, infer_like_first)},
    {ROW("Any2", "cpu gpu opencl fake", two_in, one_out, infer_like_first)},
    {ROW("AnyN", "cpu gpu opencl fake", many_in, one_out, infer_like_first)},
    {ROW("Pair", "cpu gpu opencl fake", one_in, two_out, infer_like_first)},
    {ROW("Cpu", "cpu", one_in, one_out, infer_like_first)},
    {ROW("Cpu2", "cpu", two_in, one_out, infer_like_first)},
    {ROW("Gpu", "gpu", one_in, one_out, infer_like_first)},
    {ROW("Gpu2", "gpu", two_in, one_out, infer_like_first)},
    {ROW("Fake", "fake", one_in, one_out, infer_like_first)},
    {ROW("Nowhere", "", one_in, one_out, infer_like_first)},
    {ROW("LikesCpu", "cpu:2 gpu:1 opencl", one_in, one_out, infer_like_first)},
    {ROW("LikesGpu", "cpu:1 gpu:2", one_in, one_out, infer_like_first)},
    {ROW("Gen", "cpu gpu opencl fake", no_ports, new_out, infer_floats)},
    {ROW("GenCpu", "cpu", no_ports, new_out, infer_floats)},
    {ROW("Shape", "cpu gpu opencl fake", any_in, host_out, infer_ints)},
    {ROW("ShapeGpu", "gpu", any_in, host_out, infer_ints)},
    {ROW("ToInt", "cpu gpu", any_in, new_out, infer_ints)},
    {ROW("Scale", "cpu gpu", host_in, one_out, infer_like_first)},
    {ROW("Identity", "cpu gpu opencl fake", one_in, one_out, infer_like_first), .view = true},
    {ROW("Effect", "cpu gpu", one_in, one_out, infer_like_first), .stateful = true},
    {ROW("Sink", "cpu gpu", one_in, no_ports, infer_like_first), .stateful = true},
};

const char *const place_types[] = {"cpu", "gpu", "opencl", "fake", NULL};

const struct tp_op *tp_op_at(size_t i)
{
    return i < TP_COUNT(ops) ? &ops[i] : NULL;
}

const struct tp_op *tp_op_find(const char *name)
{
    for (size_t i = 0; i < TP_COUNT(ops); i++)
        if (strcmp(ops[i].name, name) == 0) return &ops[i];
    return NULL;
}

static bool begins_with(const char *text, const char *word, size_t n)
{
    return strncasecmp(text, word, n) == 0 &&
           (text[n] == 0 || text[n] == ' ' || text[n] == ':');
}

int place_kernel(void *arg, const struct tp_op *op, const char *type)
{
    const char *at = op->summary;
    const size_t n = strlen(type);
    (void)arg;
    while (*at) {
        if (begins_with(at, type, n)) return at[n] == ':' ? atoi(at + n + 1) : 0;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return -1;
}

uint32_t place_below(struct place_random *random, uint32_t n)
{
    random->state =
        random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random->state >> 33) % n);
}

/* The next word of *text, in word; false at the end. */
static bool next_word(const char **text, char word[64])
{
    if (!*text) return false;
    *text += strspn(*text, " ");
    const size_t n = strcspn(*text, " ");
    if (n == 0) return false;
    ck_assert_uint_lt(n, 64);
    memcpy(word, *text, n);
    word[n] = 0;
    *text += n;
    return true;
}

static troupe_status add_args(troupe_builder *b, const char *args, troupe_error *err)
{
    char word[64];
    while (next_word(&args, word)) {
        char *colon = strchr(word, ':'), type[64] = "f32[4]";
        troupe_value value;
        if (colon) {
            snprintf(type, sizeof(type), "%s%s", colon + 1, strchr(colon, '[') ? "" : "[4]");
            *colon = 0;
        }
        TP_TRY(troupe_builder_arg(b, word, type, &value, err));
    }
    return TROUPE_OK;
}

static troupe_status find_value(troupe_builder *b, const char *word, troupe_value *out,
                                troupe_error *err)
{
    *out = strcmp(word, "-") == 0 ? TROUPE_NO_VALUE : tp_builder_find_value(b, word);
    if (word[0] != '#') return TROUPE_OK;
    const int64_t four = 4;
    TP_OWNED(troupe_tensor_release) troupe_tensor *zeros = NULL;
    TP_TRY(troupe_tensor_new(&zeros, troupe_dtype_parse(word + 1), 1, &four, NULL, err));
    return troupe_builder_constant(b, NULL, zeros, out, err);
}

/* Words of text into list, which they are copied to; returns how many. */
static size_t split(const char *text, char words[8][64], const char *list[8])
{
    size_t n = 0;
    while (n < 8 && next_word(&text, words[n])) {
        list[n] = words[n];
        n++;
    }
    return n;
}

static troupe_status add_node(troupe_builder *b, const struct place_node *given, unsigned line,
                              troupe_error *err)
{
    troupe_value inputs[8];
    char words[64], with_words[8][64], after_words[8][64];
    const char *with[8], *after[8], *rest = given->inputs;
    troupe_node node = {.size = sizeof(node),
                        .op = given->op,
                        .name = given->name,
                        .device = given->device,
                        .inputs = inputs,
                        .with = with,
                        .after = after,
                        .line = line};
    while (node.n_inputs < 8 && next_word(&rest, words))
        TP_TRY(find_value(b, words, &inputs[node.n_inputs++], err));
    node.n_with = split(given->with, with_words, with);
    node.n_after = split(given->after, after_words, after);
    return troupe_builder_node(b, &node, NULL, err);
}

static troupe_status add_results(troupe_builder *b, const char *results, troupe_error *err)
{
    char word[64];
    while (next_word(&results, word)) {
        char *equals = strchr(word, '=');
        const char *from = equals ? equals + 1 : word;
        troupe_value value;
        if (equals) *equals = 0;
        TP_TRY(find_value(b, from, &value, err));
        TP_TRY(troupe_builder_result(b, word, value, err));
    }
    return TROUPE_OK;
}

troupe_status place_build(const char *args, const struct place_node *nodes, size_t n,
                          const char *results, troupe_function **out, troupe_error *err)
{
    TP_OWNED(troupe_builder_destroy) troupe_builder *b = NULL;
    TP_TRY(troupe_builder_new(&b, "f", NULL, err));
    TP_TRY(add_args(b, args, err));
    for (size_t i = 0; i < n; i++)
        TP_TRY(add_node(b, &nodes[i], (unsigned)i + 10, err));
    TP_TRY(add_results(b, results, err));
    return troupe_builder_finish(&b, out, err);
}

troupe_function *place_function(const char *args, const struct place_node *nodes, size_t n,
                                const char *results)
{
    troupe_error err = {0};
    troupe_function *out = NULL;
    ck_ok(place_build(args, nodes, n, results, &out, &err));
    return out;
}

static int priority_of(const char *type)
{
    if (strcasecmp(type, "fake") == 0) return -1;
    return strcasecmp(type, "gpu") == 0 ? 5 : strcasecmp(type, "opencl") == 0 ? 3 : 1;
}

struct tp_devices *place_devices(const char *names)
{
    troupe_error err = {0};
    char word[64];
    TP_OWNED(tp_registry_destroy) struct tp_registry *registry = NULL;
    struct tp_name base = {.job = "a", .type = "cpu", .replica = TP_UNSET, .task = 0, .id = 0};
    ck_ok(tp_registry_new(&registry, &err));
    while (next_word(&names, word)) {
        struct tp_device_entry entry = {0};
        ck_ok(tp_name_complete(word, &base, &entry.name, &err));
        entry.priority = priority_of(entry.name.type);
        entry.host = strcasecmp(entry.name.type, "cpu") == 0;
        ck_ok(tp_registry_add(registry, &entry, 1, &err));
    }
    return tp_registry_devices(registry);
}

uint32_t place_device(const struct tp_devices *devices, const char *name)
{
    troupe_error err = {0};
    uint32_t out = TP_NO_DEVICE;
    struct tp_name base = {.job = "a", .type = "cpu", .replica = TP_UNSET, .task = 0, .id = 0};
    ck_ok(tp_devices_find(devices, name, &base, &out, &err));
    return out;
}

uint32_t place_find(const troupe_function *function, const char *node)
{
    for (uint32_t i = 0; i < function->body->n_nodes; i++)
        if (strcmp(function->body->nodes[i].name, node) == 0) return i;
    ck_abort_msg("no graph node '%s'", node);
}

struct scene scene_of(const char *devices, const char *home, const char *args,
                      const struct place_node *nodes, size_t n, const char *results)
{
    struct scene s = {.function = place_function(args, nodes, n, results),
                      .devices = place_devices(devices)};
    s.env = (struct tp_place_env){.devices = s.devices,
                                  .default_device =
                                      home ? place_device(s.devices, home) : TP_NO_DEVICE,
                                  .kernel = place_kernel,
                                  .types = place_types};
    return s;
}

void scene_end(struct scene *s)
{
    tp_placement_destroy(&s->placement);
    tp_rules_destroy(&s->rules);
    tp_devices_release(&s->devices);
    troupe_function_release(&s->function);
}

void scene_rules(struct scene *s, const char *text)
{
    troupe_error err;
    tp_rules_destroy(&s->rules);
    ck_ok(tp_rules_read("two.place", text, strlen(text), &s->rules, &err));
    s->env.rules = s->rules;
}

troupe_status scene_place(struct scene *s, troupe_error *err)
{
    tp_placement_destroy(&s->placement);
    return tp_place(s->function->body, &s->env, &s->placement, err);
}

char *scene_reason(const struct scene *s, uint32_t node)
{
    troupe_error err;
    char *text = NULL;
    ck_ok(tp_reason_text(s->function->body, &s->env, s->placement, node, &text, &err));
    return text;
}

void scene_check(const struct scene *s, const char *node, const char *device, enum tp_why why)
{
    const uint32_t i = place_find(s->function, node), want = place_device(s->devices, device);
    char *text = scene_reason(s, i);
    ck_assert_msg(s->placement->device[i] == want, "'%s' is on %s: %s", node,
                  tp_name_text(&s->devices->list[s->placement->device[i]].name).text, text);
    ck_assert_msg(s->placement->reason[i].why == why, "'%s': reason %d, not %d: %s", node,
                  s->placement->reason[i].why, why, text);
    tp_free(text);
}

void scene_check_detail(const struct scene *s, const char *node, const char *detail)
{
    ck_assert_uint_eq(s->placement->reason[place_find(s->function, node)].detail,
                      place_find(s->function, detail));
}
