/* SPDX-License-Identifier: MIT
 *
 * tests/recut.c - the same function with its graph nodes, arguments and results strewn over
 * devices.
 */
#include "tests/recut.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/function.h"

static const char *const devices_[] = {"cpu:0", "cpu:1", "cpu:2", "cpu:3"};

/* splitmix64 */
static uint64_t next(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static const char *choose(uint64_t *seed, int devices)
{
    const uint64_t z = next(seed);
    return z % 4 == 0 ? NULL : devices_[(z >> 8) % (uint64_t)devices];
}

/* Old numbers of values to new ones: arguments and constants come first in the copy. */
struct copy {
    const struct tp_function *from;
    troupe_builder *builder;
    troupe_value *values;
    troupe_value *inputs, *made; /* of one graph node */
    const char **names;
};

static void copy_fini(struct copy *copy)
{
    troupe_builder_destroy(&copy->builder);
    tp_free(copy->values);
    tp_free(copy->inputs);
    tp_free(copy->made);
    tp_free((void *)copy->names);
}

static troupe_status copy_init(struct copy *copy, troupe_error *err)
{
    const size_t n = copy->from->n_values + 1u;
    copy->values = tp_alloc_array(n, sizeof(*copy->values));
    copy->inputs = tp_alloc_array(n, sizeof(*copy->inputs));
    copy->made = tp_alloc_array(n, sizeof(*copy->made));
    copy->names = tp_alloc_array(n, sizeof(*copy->names));
    if (!copy->values || !copy->inputs || !copy->made || !copy->names)
        return tp_fail_memory(err, n * sizeof(*copy->names));
    return troupe_builder_new(&copy->builder, copy->from->name, NULL, err);
}

static troupe_status copy_value(struct copy *copy, uint32_t i, troupe_error *err)
{
    const struct tp_value *const value = &copy->from->values[i];
    char type[512];
    if (value->node != TP_NO_NODE) return TROUPE_OK;
    if (i >= copy->from->n_args)
        return troupe_builder_constant(copy->builder, value->name, value->constant,
                                       &copy->values[i], err);
    tp_type_show(&value->type, copy->from->dims, type, sizeof(type));
    if (!value->constant)
        return troupe_builder_arg(copy->builder, value->name, type, &copy->values[i], err);
    return troupe_builder_arg_default(copy->builder, value->name, type, value->constant,
                                      &copy->values[i], err);
}

static troupe_status copy_node(struct copy *copy, const struct tp_node *node,
                               const char *device, troupe_error *err)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        copy->inputs[i] =
            node->inputs[i] == TP_NO_VALUE ? TROUPE_NO_VALUE : copy->values[node->inputs[i]];
    for (uint32_t i = 0; i < node->n_results; i++)
        copy->names[i] =
            node->results[i] == TP_NO_VALUE ? "" : copy->from->values[node->results[i]].name;
    const troupe_node made = {.size = sizeof(made),
                              .op = node->op->name,
                              .name = node->name,
                              .device = device,
                              .inputs = copy->inputs,
                              .n_inputs = node->n_inputs,
                              .n_results = node->n_results,
                              .result_names = copy->names,
                              .attrs = node->attrs,
                              .n_attrs = node->n_attrs};
    TP_TRY(troupe_builder_node(copy->builder, &made, copy->made, err));
    for (uint32_t i = 0; i < node->n_results; i++)
        if (node->results[i] != TP_NO_VALUE) copy->values[node->results[i]] = copy->made[i];
    return TROUPE_OK;
}

static troupe_status copy_all(struct copy *copy, uint64_t *seed, int devices, troupe_error *err)
{
    const struct tp_function *const from = copy->from;
    TP_TRY(copy_init(copy, err));
    for (uint32_t i = 0; i < from->n_values; i++)
        TP_TRY(copy_value(copy, i, err));
    for (uint32_t i = 0; i < from->n_nodes; i++)
        TP_TRY(copy_node(copy, &from->nodes[i], choose(seed, devices), err));
    for (uint32_t i = 0; i < from->n_results; i++)
        TP_TRY(troupe_builder_result(copy->builder, from->results[i].name,
                                     copy->values[from->results[i].value], err));
    return TROUPE_OK;
}

troupe_status recut_make(const troupe_function *function, uint64_t seed, int devices,
                         struct recut *out, troupe_error *err)
{
    TP_OWNED(copy_fini) struct copy copy = {.from = function->body};
    *out = (struct recut){.function = NULL};
    if (copy.from->n_args > RECUT_MOST || copy.from->n_results > RECUT_MOST)
        return tp_fail(err, TROUPE_UNSUPPORTED, "too many arguments or results");
    TP_TRY(copy_all(&copy, &seed, devices, err));
    for (uint32_t i = 0; i < copy.from->n_args; i++)
        out->args[i] = choose(&seed, devices);
    for (uint32_t i = 0; i < copy.from->n_results; i++)
        out->results[i] = choose(&seed, devices);
    return troupe_builder_finish(&copy.builder, &out->function, err);
}

void recut_fini(struct recut *recut)
{
    troupe_function_release(&recut->function);
}

troupe_status recut_run(const struct recut *recut, troupe_runtime *runtime,
                        const troupe_tensor *const *args, size_t n, troupe_tensor **results,
                        troupe_error *err)
{
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.arg_devices = recut->args;
    options.result_devices = recut->results;
    return troupe_run(runtime, recut->function, args, n, results,
                      troupe_function_results(recut->function), &options, err);
}
