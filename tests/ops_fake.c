/* SPDX-License-Identifier: MIT
 *
 * tests/ops_fake.c - a handful of ops without kernels, for suites that only build functions.
 */
#include <string.h>

#include "base/fail.h"
#include "graph/infer.h"

static troupe_status infer_same(struct tp_infer *infer, troupe_error *err)
{
    (void)err;
    for (size_t i = 0; i < infer->n_results; i++)
        infer->results[i].shape = infer->inputs[0]->shape;
    return TROUPE_OK;
}

static troupe_status infer_broadcast(struct tp_infer *infer, troupe_error *err)
{
    return tp_shape_broadcast(&infer->inputs[0]->shape, &infer->inputs[1]->shape,
                              &infer->results[0].shape, err);
}

static troupe_status infer_any(struct tp_infer *infer, troupe_error *err)
{
    (void)infer, (void)err;
    return TROUPE_OK;
}

static troupe_status infer_reshape(struct tp_infer *infer, troupe_error *err)
{
    int64_t dims[16];
    size_t n;
    const troupe_status status = tp_infer_ints(infer, 1, dims, &n, err);
    if (status != TROUPE_OK) return status < 0 ? status : TROUPE_OK;
    return tp_shape_make(&infer->results[0].shape, (int)n, dims, err);
}

#define LAST                                                                                   \
    {                                                                                          \
        .name = NULL                                                                           \
    }
static const struct tp_port one[] = {{"x", TP_ANY, 1, 0}, LAST};
static const struct tp_port out[] = {{"y", TP_ANY, 1, 0}, LAST};
static const struct tp_port two[] = {{"a", TP_NUMBERS, 1, 0}, {"b", TP_NUMBERS, 1, 0}, LAST};
static const struct tp_port many[] = {{"outputs", TP_ANY, 1, TP_VARIADIC}, LAST};
static const struct tp_port shaped[] = {
    {"data", TP_ANY, 1, 0}, {"shape", TP_TYPE(I64), 0, TP_HOST}, LAST};
static const struct tp_port clip[] = {{"x", TP_NUMBERS, 1, 0},
                                      {"min", TP_NUMBERS, 1, TP_OPTIONAL},
                                      {"max", TP_NUMBERS, 1, TP_OPTIONAL},
                                      LAST};
static const struct tp_port drop[] = {
    {"y", TP_ANY, 1, 0}, {"mask", TP_TYPE(BOOL), 0, TP_OPTIONAL}, LAST};
static const struct tp_port none[] = {LAST};
static const struct tp_attr_spec all[] = {
    {"axis", TROUPE_ATTR_INT, false},      {"alpha", TROUPE_ATTR_FLOAT, false},
    {"mode", TROUPE_ATTR_STRING, false},   {"pads", TROUPE_ATTR_INTS, false},
    {"scales", TROUPE_ATTR_FLOATS, false}, {"labels", TROUPE_ATTR_STRINGS, false},
    {"value", TROUPE_ATTR_TENSOR, false},  {"to", TROUPE_ATTR_DTYPE, false},
    {"body", TROUPE_ATTR_FUNCTION, false}, {NULL, 0, false}};
static const struct tp_attr_spec split[] = {
    {"axis", TROUPE_ATTR_INT, false}, {"num_outputs", TROUPE_ATTR_INT, true}, {NULL, 0, false}};

static const struct tp_op ops[] = {
    {.name = "Add", .inputs = two, .results = out, .infer = infer_broadcast},
    {.name = "Clip", .inputs = clip, .results = out, .infer = infer_same},
    {.name = "Dropout", .inputs = one, .results = drop, .infer = infer_same},
    {.name = "Identity", .inputs = one, .results = out, .infer = infer_same, .view = true},
    {.name = "Mul", .inputs = two, .results = out, .infer = infer_broadcast},
    {.name = "Print", .inputs = one, .results = none, .infer = infer_any, .stateful = true},
    {.name = "Relu", .inputs = one, .results = out, .infer = infer_same},
    {.name = "Reshape", .inputs = shaped, .results = out, .infer = infer_reshape, .view = true},
    {.name = "Split", .inputs = one, .results = many, .attrs = split, .infer = infer_any},
    {.name = "Test", .inputs = one, .results = out, .attrs = all, .infer = infer_same},
};

const struct tp_op *tp_op_at(size_t i)
{
    return i < TP_COUNT(ops) ? &ops[i] : NULL;
}

const struct tp_op *tp_op_find(const char *name)
{
    for (size_t i = 0; i < TP_COUNT(ops); i++) {
        if (strcmp(ops[i].name, name) == 0) return &ops[i];
    }
    return NULL;
}
