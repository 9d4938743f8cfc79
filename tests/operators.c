/* SPDX-License-Identifier: MIT
 *
 * tests/operators.c - operators as a user would write them, and one that misbehaves on demand.
 */
#include "tests/operators.h"

#include <stdio.h>
#include <stdlib.h>

static void free_mine(void *user)
{
    atomic_fetch_add(&((struct mine *)user)->frees, 1);
}

static size_t count(const troupe_type *type)
{
    size_t n = 1;
    for (int i = 0; i < type->rank; i++)
        n *= (size_t)type->dims[i];
    return n;
}

static const troupe_port floats[] = {{"x", TROUPE_SET(TROUPE_F32), 1, 0}, {0}};
static const troupe_port float_result[] = {{"y", TROUPE_SET(TROUPE_F32), 1, 0}, {0}};

/* -- mine.Scale ---------------------------------------------------------------------------- */

static troupe_status scale_prepare(const troupe_operator_node *node, void **state,
                                   troupe_error *err)
{
    struct mine *mine = node->user;
    double *factor = malloc(sizeof(*factor));
    if (!factor) return troupe_fail(err, TROUPE_EXHAUSTED, "no memory for the factor");
    *factor = node->attrs[0]->f;
    *state = factor;
    atomic_fetch_add(&mine->prepares, 1);
    return TROUPE_OK;
}

static void scale_release(void *user, void *state)
{
    atomic_fetch_add(&((struct mine *)user)->releases, 1);
    free(state);
}

static void scale_cost(const troupe_operator_node *node, double *operations, double *bytes)
{
    *operations = (double)count(node->inputs[0]);
    *bytes = *operations * 8;
}

static troupe_status scale_run(const troupe_operator_node *node, void *const *out,
                               troupe_error *err)
{
    struct mine *mine = node->user;
    const float factor = (float)*(const double *)node->state;
    const float *x = node->values[0];
    float *y = out[0];
    (void)err;
    for (size_t i = 0; i < count(node->inputs[0]); i++)
        y[i] = factor * x[i];
    atomic_fetch_add(&mine->runs, 1);
    return TROUPE_OK;
}

troupe_operator_row row_scale(struct mine *mine)
{
    static const troupe_attr two = {.kind = TROUPE_ATTR_FLOAT, .f = 2};
    static const troupe_attr_spec attrs[] = {{"factor", TROUPE_ATTR_FLOAT, false, &two}, {0}};
    return (troupe_operator_row){
        .size = sizeof(troupe_operator_row),
        .domain = "mine",
        .name = "Scale",
        .summary = "A multiple.",
        .inputs = floats,
        .results = float_result,
        .attrs = attrs,
        .reuse = 1,
        .prepare = scale_prepare,
        .release = scale_release,
        .cost = scale_cost,
        .run = scale_run,
        .user = mine,
        .free_user = free_mine,
    };
}

/* -- mine.Positive ------------------------------------------------------------------------- */

static troupe_status positive_shape(const troupe_operator_node *node, troupe_type *results,
                                    troupe_error *err)
{
    struct mine *mine = node->user;
    atomic_fetch_add(&mine->shapes, 1);
    if (node->inputs[0]->rank > 1)
        return troupe_fail(err, TROUPE_INVALID, "rank %d, not 1", node->inputs[0]->rank);
    results[0].rank = 1;
    results[0].dims[0] = -1;
    results[1].rank = 0;
    return TROUPE_OK;
}

static troupe_status positive_run(const troupe_operator_node *node, void *const *out,
                                  troupe_error *err)
{
    const float *x = node->values[0];
    int64_t n = 0, all = node->inputs[0]->dims[0];
    void *memory;
    for (int64_t i = 0; i < all; i++)
        n += x[i] > 0;
    const troupe_status status = troupe_operator_make(node, 0, 1, &n, &memory, err);
    if (status) return status;
    float *y = memory;
    for (int64_t i = 0; i < all; i++)
        if (x[i] > 0) *y++ = x[i];
    if (out[1]) *(int64_t *)out[1] = n;
    return TROUPE_OK;
}

troupe_operator_row row_positive(struct mine *mine)
{
    static const troupe_port results[] = {
        {"y", TROUPE_SET(TROUPE_F32), 1, 0},
        {"n", TROUPE_SET(TROUPE_I64), 0, TROUPE_PORT_OPTIONAL},
        {0},
    };
    return (troupe_operator_row){
        .size = sizeof(troupe_operator_row),
        .domain = "mine",
        .name = "Positive",
        .inputs = floats,
        .results = results,
        .shape = positive_shape,
        .run = positive_run,
        .user = mine,
        .free_user = free_mine,
    };
}

/* -- mine.Shout ---------------------------------------------------------------------------- */

static troupe_status shout_all(const troupe_operator_node *node, char **texts, size_t n,
                               troupe_tensor **out, troupe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const char *text = troupe_operator_string(node, 0, i, &size);
        texts[i] = malloc(size + 2);
        if (!texts[i]) return troupe_fail(err, TROUPE_EXHAUSTED, "no memory");
        snprintf(texts[i], size + 2, "%s!", text);
    }
    return troupe_tensor_new_strings(out, node->inputs[0]->rank, node->inputs[0]->dims,
                                     (const char *const *)texts, NULL, err);
}

static troupe_status shout_run(const troupe_operator_node *node, void *const *out,
                               troupe_error *err)
{
    const size_t n = count(node->inputs[0]);
    char **texts = calloc(n + 1, sizeof(char *));
    troupe_tensor *shouted = NULL;
    if (!texts) return troupe_fail(err, TROUPE_EXHAUSTED, "no memory");
    troupe_status status = out[0] ? TROUPE_INTERNAL : shout_all(node, texts, n, &shouted, err);
    if (!status) status = troupe_operator_give(node, 0, &shouted, err);
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
    return status;
}

troupe_operator_row row_shout(struct mine *mine)
{
    static const troupe_port in[] = {{"x", TROUPE_SET(TROUPE_STRING), 1, 0}, {0}},
                             result[] = {{"y", TROUPE_SET(TROUPE_STRING), 1, 0}, {0}};
    return (troupe_operator_row){
        .size = sizeof(troupe_operator_row),
        .domain = "mine",
        .name = "Shout",
        .inputs = in,
        .results = result,
        .gives = true,
        .run = shout_run,
        .user = mine,
        .free_user = free_mine,
    };
}

/* -- mine.Tick ----------------------------------------------------------------------------- */

static troupe_status tick_shape(const troupe_operator_node *node, troupe_type *results,
                                troupe_error *err)
{
    (void)node;
    (void)err;
    results[0].rank = 0;
    return TROUPE_OK;
}

static troupe_status tick_run(const troupe_operator_node *node, void *const *out,
                              troupe_error *err)
{
    struct mine *mine = node->user;
    (void)err;
    *(int64_t *)out[0] = atomic_fetch_add(&mine->runs, 1);
    return TROUPE_OK;
}

troupe_operator_row row_tick(struct mine *mine)
{
    static const troupe_port result[] = {{"y", TROUPE_SET(TROUPE_I64), 0, 0}, {0}};
    return (troupe_operator_row){
        .size = sizeof(troupe_operator_row),
        .domain = "mine",
        .name = "Tick",
        .inputs = floats,
        .results = result,
        .effects = true,
        .shape = tick_shape,
        .run = tick_run,
        .user = mine,
        .free_user = free_mine,
    };
}

/* -- mine.Sum ------------------------------------------------------------------------------ */

static troupe_status sum_run(const troupe_operator_node *node, void *const *out,
                             troupe_error *err)
{
    float *y = out[0];
    (void)err;
    for (size_t i = 0; i < count(node->results[0]); i++) {
        float sum = 0;
        for (size_t k = 0; k < node->n_inputs; k++)
            sum += ((const float *)node->values[k])[i];
        y[i] = sum;
    }
    return TROUPE_OK;
}

troupe_operator_row row_sum(struct mine *mine)
{
    static const troupe_port in[] = {{"x", TROUPE_SET(TROUPE_F32), 1, TROUPE_PORT_VARIADIC},
                                     {0}};
    return (troupe_operator_row){
        .size = sizeof(troupe_operator_row),
        .domain = "mine",
        .name = "Sum",
        .inputs = in,
        .results = float_result,
        .run = sum_run,
        .user = mine,
        .free_user = free_mine,
    };
}

/* -- mine.Bad ------------------------------------------------------------------------------ */

static troupe_status bad_shape(const troupe_operator_node *node, troupe_type *results,
                               troupe_error *err)
{
    struct mine *mine = node->user;
    const int times = atomic_fetch_add(&mine->shapes, 1);
    results[0] = *node->inputs[0];
    switch (mine->fault) {
    case FAULT_SHAPE_FAILS:
        return troupe_fail(err, TROUPE_INVALID, "no shape today");
    case FAULT_SHAPE_RANK:
        results[0].rank = TROUPE_MAX_RANK + 1;
        break;
    case FAULT_SHAPE_DIM:
        results[0].dims[0] = -12345;
        break;
    case FAULT_SHAPE_TYPE:
        results[0].dtype = TROUPE_I64;
        break;
    case FAULT_SHAPE_HUGE:
        results[0].rank = 2;
        results[0].dims[0] = results[0].dims[1] = INT64_MAX / 2;
        break;
    case FAULT_SHAPE_CHANGES:
        if (times) results[0].rank = 0;
        break;
    default:
        break;
    }
    return TROUPE_OK;
}

static troupe_status bad_prepare(const troupe_operator_node *node, void **state,
                                 troupe_error *err)
{
    const struct mine *mine = node->user;
    (void)state;
    if (mine->fault != FAULT_PREPARE_FAILS) return TROUPE_OK;
    return troupe_fail(err, TROUPE_UNSUPPORTED, "not prepared for this");
}

/* What may not be done in a callback: each gives INVALID. */
static void try_to_wait(struct mine *mine)
{
    troupe_error err;
    troupe_tensor *result = NULL;
    troupe_runtime *runtime = mine->runtime;
    const troupe_function *f = mine->function;
    ck_fails(troupe_run(runtime, f, NULL, 0, &result, 1, NULL, &err), INVALID, "argument");
    troupe_tensor *x = NULL;
    ck_ok(troupe_tensor_parse(&x, "f32[1] [1]", &err));
    const troupe_tensor *const args[] = {x};
    ck_fails(troupe_run(runtime, f, args, 1, &result, 1, NULL, &err), INVALID, "operator");
    ck_fails(troupe_call(runtime, f, args, 1, NULL, (troupe_done_fn *)abort, NULL, NULL, &err),
             INVALID, "operator");
    ck_assert_int_eq(troupe_dispatch(runtime), TROUPE_INVALID);
    ck_assert_int_eq(troupe_wait(runtime, 0, 0), TROUPE_INVALID);
    ck_assert_int_eq(troupe_close(&runtime), TROUPE_INVALID);
    troupe_tensor_release(&x);
}

static troupe_status bad_run(const troupe_operator_node *node, void *const *out,
                             troupe_error *err)
{
    struct mine *mine = node->user;
    const size_t size = count(node->inputs[0]) * sizeof(float);
    char *y = out[0];
    mine->read = node->values[0];
    mine->wrote = y;
    if (mine->runtime) try_to_wait(mine);
    switch (mine->fault) {
    case FAULT_RUN_FAILS:
        return troupe_fail(err, TROUPE_DEVICE, "the %s has fallen off", "wheel");
    case FAULT_RUN_SILENT:
        return TROUPE_NOT_FOUND;
    case FAULT_RUN_POSITIVE:
        return (troupe_status)7;
    case FAULT_RUN_UNKNOWN:
        return (troupe_status)-77;
    case FAULT_RUN_NOTHING:
        return TROUPE_OK;
    case FAULT_RUN_BEHIND:
        y[size] = 1;
        break;
    case FAULT_RUN_BEFORE:
        y[-1] = 1;
        break;
    case FAULT_RUN_INPUT:
        ((float *)(uintptr_t)node->values[0])[0] += 1;
        break;
    default:
        break;
    }
    memcpy(y, node->values[0], size);
    return TROUPE_OK;
}

troupe_operator_row row_bad(struct mine *mine)
{
    return (troupe_operator_row){
        .size = sizeof(troupe_operator_row),
        .domain = "mine",
        .name = "Bad",
        .inputs = floats,
        .results = float_result,
        .shape = bad_shape,
        .prepare = bad_prepare,
        .run = bad_run,
        .user = mine,
        .free_user = free_mine,
    };
}

/* -- Sets ---------------------------------------------------------------------------------- */

troupe_operators *operators_all(struct mine *mine)
{
    troupe_error err;
    troupe_operators *set = NULL;
    const troupe_operator_row rows[] = {row_scale(mine), row_positive(mine), row_shout(mine),
                                        row_tick(mine),  row_sum(mine),      row_bad(mine)};
    ck_ok(troupe_operators_new(&set, &err));
    for (size_t i = 0; i < TP_COUNT(rows); i++)
        ck_ok(troupe_operators_add(set, &rows[i], &err));
    return set;
}

troupe_library *library_of(const troupe_operators *operators)
{
    troupe_error err;
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_operators(library, operators, &err));
    return library;
}

troupe_function *function_with(const troupe_operators *operators, const char *text)
{
    troupe_error err;
    troupe_function *f = NULL;
    troupe_library *library = library_of(operators);
    ck_ok(troupe_library_read(library, "test", text, strlen(text), &err));
    ck_ok(troupe_library_find(library, troupe_library_name(library, 0), &f, &err));
    troupe_library_destroy(&library);
    return f;
}

troupe_runtime *runtime_with(const troupe_operators *operators, const char *devices,
                             int workers)
{
    troupe_error err;
    troupe_runtime *runtime = NULL;
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.workers = workers;
    options.operators = operators;
    ck_ok(troupe_open(&runtime, &options, &err));
    return runtime;
}

/* -- Trials -------------------------------------------------------------------------------- */

void trial_set(struct trial *t, const char *text, const char *devices, int n_workers)
{
    t->f = function_with(t->set, text);
    t->stand.runtime = runtime_with(t->set, devices, n_workers);
}

void trial_open(struct trial *t, const char *text, const char *devices, int n_workers)
{
    t->set = operators_all(&t->mine);
    trial_set(t, text, devices, n_workers);
}

/* All is freed at the end, and not before. */
void trial_close(struct trial *t)
{
    int n = 0;
    while (troupe_operators_name(t->set, (size_t)n, NULL))
        n++;
    stand_close(&t->stand);
    ck_assert_int_eq(t->mine.prepares, t->mine.releases);
    ck_assert_int_eq(t->mine.frees, 0);
    troupe_operators_release(&t->set);
    ck_assert_int_lt(t->mine.frees, n); /* the function has some still */
    troupe_function_release(&t->f);
    ck_assert_int_eq(t->mine.frees, n);
}

/* A set of one row. */
troupe_operators *operators_of(troupe_operator_row row)
{
    troupe_error err;
    troupe_operators *set = NULL;
    ck_ok(troupe_operators_new(&set, &err));
    ck_ok(troupe_operators_add(set, &row, &err));
    return set;
}
