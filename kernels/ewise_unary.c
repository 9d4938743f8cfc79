/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise_unary.c - ops of one input and one expression, from the rows of ewise.def.
 */
#include "kernels/ewise_loops.h"
#include "kernels/ops.h"

#define UNARY(NAME, TYPES, value, whole, a_name, a_default, b_name, b_default, what, ...)      \
    LOOPS1_##TYPES(NAME, value, whole) static troupe_status prepare_##NAME(                    \
        struct tp_prepare *prepare, troupe_error *err)                                         \
    {                                                                                          \
        static const struct tp_loops1 loops = {.of = {TABLE_##TYPES(NAME)},                    \
                                               .params = {a_name, b_name},                     \
                                               .otherwise = {a_default, b_default}};           \
        return tp_unary_prepare(prepare, &loops, err);                                         \
    }                                                                                          \
    static const struct tp_port inputs_##NAME[] = {{"x", PORT_##TYPES, 1, 0}, TP_LAST};        \
    static const struct tp_port results_##NAME[] = {{"y", PORT_##TYPES, 1, 0}, TP_LAST};       \
    static const struct tp_attr_spec attrs_##NAME[] = {                                        \
        {a_name, TROUPE_ATTR_FLOAT, false}, {b_name, TROUPE_ATTR_FLOAT, false}, TP_LAST};      \
    static const struct tp_sample samples_##NAME[] = {__VA_ARGS__, TP_SAMPLES1("f32"), {0}};   \
    const struct tp_op tp_op_##NAME = {                                                        \
        .name = #NAME,                                                                         \
        .summary = what,                                                                       \
        .inputs = inputs_##NAME,                                                               \
        .results = results_##NAME,                                                             \
        .attrs = attrs_##NAME,                                                                 \
        .infer = tp_infer_same,                                                                \
        .prepare = prepare_##NAME,                                                             \
        .reuse = 1,                                                                            \
        .samples = samples_##NAME,                                                             \
    };
#include "kernels/ewise.def"
