/* SPDX-License-Identifier: MIT
 *
 * actors/plan.c - make plans and instances.
 */
#include "actors/plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "exec/device.h"
#include "graph/inline.h"
#include "tensor/tensor.h"

#define MAX_NODES 4000000 /* after inlining; about 4 GB of plan */

/* -- Plans --------------------------------------------------------------------------------- */

static int kernel_of(void *arg, const struct tp_op *op, const char *device_type)
{
    (void)arg;
    const struct tp_device_kind *kind = tp_device_kind_find(device_type);
    return kind ? kind->kernel(op) : -1;
}

static void set_env(struct troupe_plan *plan)
{
    plan->env = (struct tp_place_env){
        .devices = plan->request.devices,
        .default_device = plan->request.default_device,
        .kernel = kernel_of,
        .arg_devices = plan->request.arg_devices,
        .result_devices = plan->request.result_devices,
        .rules = plan->rules,
        .soft = plan->request.soft,
        .cut = plan->request.cut,
    };
}

static troupe_status flatten(const troupe_function *function, struct tp_pace *pace,
                             struct tp_function **out, troupe_error *err)
{
    TP_OWNED(tp_function_release) struct tp_function *whole = NULL;
    TP_TRY(tp_inline(function, MAX_NODES, pace, &whole, err));
    return tp_prune(whole, pace, out, err);
}

static troupe_status plan_fill(struct troupe_plan *plan, const struct tp_request *request,
                               struct tp_pace *pace, troupe_error *err)
{
    TP_TRY(tp_request_copy(&plan->request, request, err));
    set_env(plan);
    TP_TRY(flatten(request->function, pace, &plan->body, err));
    struct tp_place_env env = plan->env; /* the plan's own outlives the pace */
    env.pace = pace;
    TP_TRY(tp_place(plan->body, &env, &plan->placement, err));
    return tp_partition_make(plan->body, plan->placement, &env, &plan->partition, err);
}

troupe_status tp_plan_make(const struct tp_request *request, struct tp_pace *pace,
                           struct troupe_plan **out, troupe_error *err)
{
    TP_OWNED(tp_plan_release) struct troupe_plan *plan = tp_alloc(sizeof *plan);
    if (!plan) return tp_fail_memory(err, sizeof *plan);
    tp_ref_init(&plan->ref);
    if (request->rules)
        TP_TRY(tp_rules_read(request->rules_source, request->rules, strlen(request->rules),
                             &plan->rules, err));
    troupe_error mine;
    troupe_status status = plan_fill(plan, request, pace, &mine);
    if (status < 0) {
        tp_fail_in(&mine, "function '%s'", troupe_function_name(request->function));
        if (err) *err = mine;
        return status;
    }
    *out = plan;
    plan = NULL;
    return TROUPE_OK;
}

struct troupe_plan *tp_plan_retain(struct troupe_plan *plan)
{
    tp_ref_retain(&plan->ref);
    return plan;
}

void tp_plan_release(struct troupe_plan **at)
{
    struct troupe_plan *plan = *at;
    *at = NULL;
    if (!plan || !tp_ref_release(&plan->ref)) return;
    for (uint32_t i = 0; plan->reasons && i < plan->body->n_nodes; i++)
        tp_free(plan->reasons[i]);
    tp_free((void *)plan->reasons);
    tp_partition_destroy(&plan->partition);
    tp_placement_destroy(&plan->placement);
    tp_function_release(&plan->body);
    tp_rules_destroy(&plan->rules);
    tp_request_fini(&plan->request);
    tp_free(plan);
}

/* -- Instances ----------------------------------------------------------------------------- */

static troupe_status instance_arrays(struct tp_instance *instance, troupe_error *err)
{
    const struct tp_partition *partition = instance->plan->partition;
    const struct tp_function *body = instance->plan->body;
    size_t shards = partition->n_shards + (size_t)1, edges = partition->n_edges + (size_t)1;
    instance->types = tp_alloc_array(body->n_values + (size_t)1, sizeof *instance->types);
    instance->programs = tp_alloc_array(shards, sizeof(struct tp_program *));
    instance->edge_index = tp_alloc_array(edges, sizeof *instance->edge_index);
    instance->result_index =
        tp_alloc_array(body->n_results + (size_t)1, sizeof *instance->result_index);
    instance->shard_estimate = tp_alloc_array(shards, sizeof *instance->shard_estimate);
    instance->edge_estimate = tp_alloc_array(edges, sizeof *instance->edge_estimate);
    if (instance->types && instance->programs && instance->edge_index &&
        instance->result_index && instance->shard_estimate && instance->edge_estimate)
        return TROUPE_OK;
    return tp_fail_memory(err, body->n_values * sizeof *instance->types);
}

static troupe_status make_programs(struct tp_instance *instance,
                                   struct tp_device *const *devices, struct tp_pace *pace,
                                   troupe_error *err)
{
    const struct tp_partition *partition = instance->plan->partition;
    for (uint32_t i = 0; i < partition->n_shards; i++) {
        const struct tp_program_spec spec = {
            .function = instance->plan->body,
            .partition = partition,
            .shard = i,
            .types = instance->types,
            .device = devices[partition->shards[i].device],
            .pace = pace,
            .edge_index = instance->edge_index,
        };
        TP_TRY(tp_program_make(&spec, &instance->programs[i], err));
        instance->steps += instance->programs[i]->kernels;
    }
    return TROUPE_OK;
}

static void index_results(struct tp_instance *instance)
{
    const struct tp_partition *partition = instance->plan->partition;
    for (uint32_t s = 0; s < partition->n_shards; s++)
        for (uint32_t i = 0; i < partition->shards[s].n_results; i++)
            instance->result_index[partition->shards[s].results[i]] = i;
}

static troupe_status instance_fill(struct tp_instance *instance,
                                   struct tp_device *const *devices,
                                   const struct tp_type *const *args, struct tp_pace *pace,
                                   troupe_error *err)
{
    TP_TRY(instance_arrays(instance, err));
    TP_TRY(tp_types_infer(instance->plan->body, args, pace, instance->types, err));
    TP_TRY(make_programs(instance, devices, pace, err));
    index_results(instance);
    return TROUPE_OK;
}

troupe_status tp_instance_make(struct troupe_plan *plan, struct tp_device *const *devices,
                               const struct tp_type *const *args, struct tp_pace *pace,
                               struct tp_instance **out, troupe_error *err)
{
    TP_OWNED(tp_instance_release) struct tp_instance *instance = tp_alloc(sizeof *instance);
    if (!instance) return tp_fail_memory(err, sizeof *instance);
    tp_ref_init(&instance->ref);
    instance->plan = tp_plan_retain(plan);
    troupe_error mine;
    troupe_status status = instance_fill(instance, devices, args, pace, &mine);
    if (status < 0) {
        if (err) *err = mine;
        return status;
    }
    *out = instance;
    instance = NULL;
    return TROUPE_OK;
}

struct tp_instance *tp_instance_retain(struct tp_instance *instance)
{
    tp_ref_retain(&instance->ref);
    return instance;
}

void tp_instance_release(struct tp_instance **at)
{
    struct tp_instance *instance = *at;
    *at = NULL;
    if (!instance || !tp_ref_release(&instance->ref)) return;
    for (uint32_t i = 0; instance->programs && i < instance->plan->partition->n_shards; i++)
        tp_program_destroy(&instance->programs[i]);
    tp_free(instance->types);
    tp_free((void *)instance->programs);
    tp_free(instance->edge_index);
    tp_free(instance->result_index);
    tp_free(instance->shard_estimate);
    tp_free(instance->edge_estimate);
    tp_plan_release(&instance->plan);
    tp_free(instance);
}

bool tp_instance_fits(const struct tp_instance *instance, const troupe_tensor *const *args)
{
    uint32_t n = instance->plan->body->n_args;
    for (uint32_t i = 0; i < n; i++) {
        const struct tp_type *a = &instance->types[i], *b = &args[i]->type;
        if (a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
        for (int d = 0; d < a->shape.rank; d++)
            if (a->shape.dims[d] != b->shape.dims[d]) return false;
    }
    return true;
}
