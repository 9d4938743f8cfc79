/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise_binary.c - ops of two inputs and one expression, from the rows of ewise.def.
 */
#include "kernels/ewise_loops.h"
#include "kernels/ops.h"

#define ROW(NAME, TYPES, result_types, result_same, may_reuse, sample, what, ...)              \
    static troupe_status prepare_##NAME(struct tp_prepare *prepare, troupe_error *err)         \
    {                                                                                          \
        static const struct tp_loops2 loops = {.of = {TABLE_##TYPES(NAME)}};                   \
        return tp_binary_prepare(prepare, &loops, err);                                        \
    }                                                                                          \
    static const struct tp_port inputs_##NAME[] = {                                            \
        {"a", PORT_##TYPES, 1, 0}, {"b", PORT_##TYPES, 1, 0}, TP_LAST};                        \
    static const struct tp_port results_##NAME[] = {{"c", result_types, result_same, 0},       \
                                                    TP_LAST};                                  \
    static const struct tp_sample samples_##NAME[] = {__VA_ARGS__, TP_SAMPLES2(sample), {0}};  \
    const struct tp_op tp_op_##NAME = {                                                        \
        .name = #NAME,                                                                         \
        .summary = what,                                                                       \
        .inputs = inputs_##NAME,                                                               \
        .results = results_##NAME,                                                             \
        .infer = tp_infer_broadcast,                                                           \
        .prepare = prepare_##NAME,                                                             \
        .reuse = may_reuse,                                                                    \
        .samples = samples_##NAME,                                                             \
    };

#define SAMPLE_N  "f32"
#define SAMPLE_NC "f32"
#define SAMPLE_E  "f32"
#define SAMPLE_B  "bool"

#define BINARY(NAME, TYPES, value, whole, what, ...)                                           \
    LOOPS2_##TYPES(NAME, value, whole)                                                         \
        ROW(NAME, TYPES, PORT_##TYPES, 1, 3, SAMPLE_##TYPES, what, __VA_ARGS__)
#define COMPARE(NAME, TYPES, value, what, ...)                                                 \
    COMPARE_##TYPES(NAME, value)                                                               \
        ROW(NAME, TYPES, TP_TYPE(BOOL), 0, 3, SAMPLE_##TYPES, what, __VA_ARGS__)
#include "kernels/ewise.def"
