/* SPDX-License-Identifier: MIT
 *
 * kernels/ewise_loops.h - macros that make a loop of an element-wise expression for each type.
 *
 * LOOPS1_<TYPES>(name, value of floats, value of integers) defines name_F32 and so on, and
 * TABLE_<TYPES>(name) is the rows of a table of them; LOOPS2_ the same for two inputs, COMPARE_
 * for results that are bools. TYPES are those of ewise.def.
 *
 * Complex numbers are C's: products and quotients with infinities are what its Annex G says.
 */
#ifndef TP_KERNELS_EWISE_LOOPS_H
#define TP_KERNELS_EWISE_LOOPS_H

#include "kernels/ewise.h"

#include <tgmath.h>

#include "kernels/texts.h"

#define TP_UNUSED __attribute__((unused))

typedef float _Complex tp_c64;
typedef double _Complex tp_c128;

/* The nearest whole number that fits. */
static inline int64_t tp_whole(double x)
{
    if (x >= 9223372036854775807.0) return INT64_MAX;
    return x > -9223372036854775808.0 ? (int64_t)x : x == x ? INT64_MIN : 0;
}

/* clang-format off */
/* Integers: the element type's name, T, U. */
#define SIGNED_TYPES(X, ...)                                                                     \
    X(I8, int8_t, uint32_t, __VA_ARGS__) X(I16, int16_t, uint32_t, __VA_ARGS__)                  \
    X(I32, int32_t, uint32_t, __VA_ARGS__) X(I64, int64_t, uint64_t, __VA_ARGS__)
#define UNSIGNED_TYPES(X, ...)                                                                   \
    X(U8, uint8_t, uint32_t, __VA_ARGS__) X(U16, uint16_t, uint32_t, __VA_ARGS__)                \
    X(U32, uint32_t, uint32_t, __VA_ARGS__) X(U64, uint64_t, uint64_t, __VA_ARGS__)

#define TABLE_F(name)                                                                            \
    [TROUPE_F32] = name##_F32, [TROUPE_F64] = name##_F64, [TROUPE_F16] = name##_F16,             \
    [TROUPE_BF16] = name##_BF16,
#define TABLE_SIGNED(name)                                                                       \
    [TROUPE_I8] = name##_I8, [TROUPE_I16] = name##_I16, [TROUPE_I32] = name##_I32,               \
    [TROUPE_I64] = name##_I64,
#define TABLE_UNSIGNED(name)                                                                     \
    [TROUPE_U8] = name##_U8, [TROUPE_U16] = name##_U16, [TROUPE_U32] = name##_U32,               \
    [TROUPE_U64] = name##_U64,
#define TABLE_I(name)  TABLE_SIGNED(name) TABLE_UNSIGNED(name)
#define TABLE_S(name)  TABLE_F(name) TABLE_SIGNED(name)
#define TABLE_N(name)  TABLE_S(name) TABLE_UNSIGNED(name)
#define TABLE_B(name)  [TROUPE_BOOL] = name##_BOOL,
#define TABLE_C(name)  [TROUPE_C64] = name##_C64, [TROUPE_C128] = name##_C128,
#define TABLE_SC(name) TABLE_S(name) TABLE_C(name)
#define TABLE_NC(name) TABLE_N(name) TABLE_C(name)
#define TABLE_E(name)  TABLE_NC(name) TABLE_B(name) [TROUPE_STRING] = name##_STRING,

#define PORT_F  TP_FLOATS
#define PORT_S  (TP_FLOATS | TP_SIGNED)
#define PORT_N  TP_NUMBERS
#define PORT_B  TP_TYPE(BOOL)
#define PORT_SC (PORT_S | TP_COMPLEX)
#define PORT_NC (TP_NUMBERS | TP_COMPLEX)
#define PORT_E  (PORT_NC | TP_TYPE(BOOL) | TP_TYPE(STRING))
/* clang-format on */

/* --- one input ---------------------------------------------------------------------- */
/* One loop: O is the result's element, P the parameters' type. */
#define LOOP1(name, O, T_, U_, F_, P, value)                                                   \
    static void name(void *out, const void *in, size_t n, const double *params)                \
    {                                                                                          \
        typedef T_ T TP_UNUSED;                                                                \
        typedef U_ U TP_UNUSED;                                                                \
        typedef F_ F TP_UNUSED;                                                                \
        const T_ *p = in;                                                                      \
        O *o = out;                                                                            \
        TP_UNUSED const P a = (P)params[0], b = (P)params[1];                                  \
        TP_APART                                                                               \
        for (size_t i = 0; i < n; i++) {                                                       \
            const T_ x = p[i];                                                                 \
            o[i] = (O)(value);                                                                 \
        }                                                                                      \
    }
#define HALF1(name, dtype, result)                                                             \
    static void name##_##dtype(void *out, const void *in, size_t n, const double *params)      \
    {                                                                                          \
        tp_half1(name##_F32, TROUPE_##dtype, TROUPE_##result, out, in, n, params);             \
    }
#define INT1(dtype, T_, U_, name, value)                                                       \
    LOOP1(name##_##dtype, T_, T_, U_, double, double, value)

#define LOOPS1_F(name, value, ignored)                                                         \
    LOOP1(name##_F32, float, float, uint32_t, float, float, value)                             \
    LOOP1(name##_F64, double, double, uint32_t, double, double, value)                         \
    HALF1(name, F16, F16)                                                                      \
    HALF1(name, BF16, BF16)
#define LOOPS1_S(name, value, whole)                                                           \
    LOOPS1_F(name, value, 0)                                                                   \
    SIGNED_TYPES(INT1, name, whole)
#define LOOPS1_N(name, value, whole)                                                           \
    LOOPS1_S(name, value, whole)                                                               \
    UNSIGNED_TYPES(INT1, name, whole)
#define LOOPS1_SC(name, value, whole)                                                          \
    LOOPS1_S(name, value, whole)                                                               \
    LOOP1(name##_C64, tp_c64, tp_c64, uint32_t, tp_c64, float, value)                          \
    LOOP1(name##_C128, tp_c128, tp_c128, uint32_t, tp_c128, double, value)

/* --- two inputs --------------------------------------------------------------------- */
#define LOOP2(name, O, T_, U_, F_, value)                                                      \
    static void name(void *out, const void *left, const void *right, size_t n,                 \
                     enum tp_moving moving)                                                    \
    {                                                                                          \
        typedef T_ T TP_UNUSED;                                                                \
        typedef U_ U TP_UNUSED;                                                                \
        typedef F_ F TP_UNUSED;                                                                \
        const T_ *p = left, *q = right;                                                        \
        O *o = out;                                                                            \
        if (moving == TP_BOTH) {                                                               \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++) {                                                   \
                const T_ x = p[i], y = q[i];                                                   \
                o[i] = (O)(value);                                                             \
            }                                                                                  \
        } else if (moving == TP_LEFT) {                                                        \
            const T_ y = q[0];                                                                 \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++) {                                                   \
                const T_ x = p[i];                                                             \
                o[i] = (O)(value);                                                             \
            }                                                                                  \
        } else {                                                                               \
            const T_ x = p[0];                                                                 \
            TP_APART                                                                           \
            for (size_t i = 0; i < n; i++) {                                                   \
                const T_ y = q[i];                                                             \
                o[i] = (O)(value);                                                             \
            }                                                                                  \
        }                                                                                      \
    }
#define HALF2(name, dtype, result)                                                             \
    static void name##_##dtype(void *out, const void *left, const void *right, size_t n,       \
                               enum tp_moving moving)                                          \
    {                                                                                          \
        tp_half2(name##_F32, TROUPE_##dtype, TROUPE_##result, out, left, right, n, moving);    \
    }
#define INT2(dtype, T_, U_, name, value) LOOP2(name##_##dtype, T_, T_, U_, double, value)

#define LOOPS2_F(name, value, ignored)                                                         \
    LOOP2(name##_F32, float, float, uint32_t, float, value)                                    \
    LOOP2(name##_F64, double, double, uint32_t, double, value)                                 \
    HALF2(name, F16, F16)                                                                      \
    HALF2(name, BF16, BF16)
#define LOOPS2_I(name, ignored, whole)                                                         \
    SIGNED_TYPES(INT2, name, whole)                                                            \
    UNSIGNED_TYPES(INT2, name, whole)
#define LOOPS2_N(name, value, whole)                                                           \
    LOOPS2_F(name, value, 0)                                                                   \
    LOOPS2_I(name, 0, whole)
#define LOOPS2_C(name, value, ignored)                                                         \
    LOOP2(name##_C64, tp_c64, tp_c64, uint32_t, tp_c64, value)                                 \
    LOOP2(name##_C128, tp_c128, tp_c128, uint32_t, tp_c128, value)
#define LOOPS2_NC(name, value, whole)                                                          \
    LOOPS2_N(name, value, whole)                                                               \
    LOOPS2_C(name, value, 0)

/* --- two inputs, results that are bools --------------------------------------------- */
#define INT_BOOL(dtype, T_, U_, name, value)                                                   \
    LOOP2(name##_##dtype, uint8_t, T_, U_, double, value)
#define COMPARE_B(name, value) LOOP2(name##_BOOL, uint8_t, uint8_t, uint32_t, double, value)
#define COMPARE_N(name, value)                                                                 \
    LOOP2(name##_F32, uint8_t, float, uint32_t, float, value)                                  \
    LOOP2(name##_F64, uint8_t, double, uint32_t, double, value)                                \
    HALF2(name, F16, BOOL)                                                                     \
    HALF2(name, BF16, BOOL)                                                                    \
    SIGNED_TYPES(INT_BOOL, name, value)                                                        \
    UNSIGNED_TYPES(INT_BOOL, name, value)
/* Of all that are equal or not; texts by their bytes. */
#define COMPARE_E(name, value)                                                                 \
    COMPARE_N(name, value)                                                                     \
    COMPARE_B(name, value)                                                                     \
    LOOP2(name##_C64, uint8_t, tp_c64, uint32_t, tp_c64, value)                                \
    LOOP2(name##_C128, uint8_t, tp_c128, uint32_t, tp_c128, value)                             \
    LOOP2(name##_STRING, uint8_t, struct tp_string, uint32_t, double, tp_same_text(x, y))

#endif
