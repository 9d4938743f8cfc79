/* SPDX-License-Identifier: MIT
 *
 * import/onnx/types.c - ONNX's numbers of element types.
 */
#include <stdio.h>

#include "base/fail.h"
#include "import/onnx/reader.h"

/* By number; of those that we lack only the name. */
static const struct {
    const char *name;
    troupe_dtype dtype;
} types[] = {
    {"undefined", TROUPE_DTYPE_NONE},
    {"float", TROUPE_F32},
    {"uint8", TROUPE_U8},
    {"int8", TROUPE_I8},
    {"uint16", TROUPE_U16},
    {"int16", TROUPE_I16},
    {"int32", TROUPE_I32},
    {"int64", TROUPE_I64},
    {"string", TROUPE_STRING},
    {"bool", TROUPE_BOOL},
    {"float16", TROUPE_F16},
    {"double", TROUPE_F64},
    {"uint32", TROUPE_U32},
    {"uint64", TROUPE_U64},
    {"complex64", TROUPE_C64},
    {"complex128", TROUPE_C128},
    {"bfloat16", TROUPE_BF16},
    {"float8e4m3fn", TROUPE_F8E4M3FN},
    {"float8e4m3fnuz", TROUPE_F8E4M3FNUZ},
    {"float8e5m2", TROUPE_F8E5M2},
    {"float8e5m2fnuz", TROUPE_F8E5M2FNUZ},
    {"uint4", TROUPE_U4},
    {"int4", TROUPE_I4},
    {"float4e2m1", TROUPE_F4E2M1},
    {"float8e8m0", TROUPE_F8E8M0},
    {"uint2", TROUPE_U2},
    {"int2", TROUPE_I2},
    {"float6e2m3", TROUPE_DTYPE_NONE},
    {"float6e3m2", TROUPE_DTYPE_NONE},
};

troupe_dtype tp_onnx_dtype(int32_t number)
{
    const size_t i = (size_t)number;
    return number >= 0 && i < TP_COUNT(types) ? types[i].dtype : TROUPE_DTYPE_NONE;
}

struct tp_onnx_dtype_text tp_onnx_dtype_text(int32_t number)
{
    struct tp_onnx_dtype_text out;
    if (number >= 0 && (size_t)number < TP_COUNT(types))
        snprintf(out.text, sizeof(out.text), "%s", types[number].name);
    else
        snprintf(out.text, sizeof(out.text), "type %d", (int)number);
    return out;
}
