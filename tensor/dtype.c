/* SPDX-License-Identifier: MIT
 *
 * tensor/dtype.c - element types: names, sizes, kinds, and which bytes are elements.
 */
#include "tensor/dtype.h"

#include <string.h>

#include "base/fail.h"
#include "tensor/tensor.h"

const char *troupe_dtype_name(troupe_dtype dtype)
{
    switch (dtype) {
#define X(name, value, text, size)                                                             \
    case TROUPE_##name:                                                                        \
        return text;
        TROUPE_DTYPE_MAP(X)
#undef X
    case TROUPE_DTYPE_NONE:
        break;
    }
    return NULL;
}

size_t troupe_dtype_size(troupe_dtype dtype)
{
    switch (dtype) {
#define X(name, value, text, size)                                                             \
    case TROUPE_##name:                                                                        \
        return size;
        TROUPE_DTYPE_MAP(X)
#undef X
    case TROUPE_DTYPE_NONE:
        break;
    }
    return 0;
}

troupe_dtype troupe_dtype_parse(const char *name)
{
    if (!name) return TROUPE_DTYPE_NONE;
    static const struct {
        const char *text;
        troupe_dtype dtype;
    } names[] = {
#define X(name, value, text, size) {text, TROUPE_##name},
        TROUPE_DTYPE_MAP(X)
#undef X
    };
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].text, name) == 0) return names[i].dtype;
    }
    return TROUPE_DTYPE_NONE;
}

/* -- What is true of each ------------------------------------------------------------------ */

struct row {
    enum tp_dtype_kind kind;
    uint8_t bits, unit;
};

/* clang-format off */
#define ROW_F32        {TP_KIND_FLOAT,    32, 4}
#define ROW_F64        {TP_KIND_FLOAT,    64, 8}
#define ROW_F16        {TP_KIND_FLOAT,    16, 2}
#define ROW_BF16       {TP_KIND_FLOAT,    16, 2}
#define ROW_I8         {TP_KIND_SIGNED,    8, 1}
#define ROW_I16        {TP_KIND_SIGNED,   16, 2}
#define ROW_I32        {TP_KIND_SIGNED,   32, 4}
#define ROW_I64        {TP_KIND_SIGNED,   64, 8}
#define ROW_U8         {TP_KIND_UNSIGNED,  8, 1}
#define ROW_U16        {TP_KIND_UNSIGNED, 16, 2}
#define ROW_U32        {TP_KIND_UNSIGNED, 32, 4}
#define ROW_U64        {TP_KIND_UNSIGNED, 64, 8}
#define ROW_BOOL       {TP_KIND_BOOL,      1, 1}
#define ROW_STRING     {TP_KIND_STRING,    0, 8}
#define ROW_C64        {TP_KIND_COMPLEX,  64, 4}
#define ROW_C128       {TP_KIND_COMPLEX, 128, 8}
#define ROW_F8E4M3FN   {TP_KIND_SMALL,     8, 1}
#define ROW_F8E4M3FNUZ {TP_KIND_SMALL,     8, 1}
#define ROW_F8E5M2     {TP_KIND_SMALL,     8, 1}
#define ROW_F8E5M2FNUZ {TP_KIND_SMALL,     8, 1}
#define ROW_U4         {TP_KIND_UNSIGNED,  4, 1}
#define ROW_I4         {TP_KIND_SIGNED,    4, 1}
#define ROW_F4E2M1     {TP_KIND_SMALL,     4, 1}
#define ROW_F8E8M0     {TP_KIND_SMALL,     8, 1}
#define ROW_U2         {TP_KIND_UNSIGNED,  2, 1}
#define ROW_I2         {TP_KIND_SIGNED,    2, 1}
/* clang-format on */

static const struct row rows[TP_DTYPES] = {
#define X(name, value, text, size) [TROUPE_##name] = ROW_##name,
    TROUPE_DTYPE_MAP(X)
#undef X
};

/* Values are 1, 2, 3, ..., and sets of them (graph/op.h) are bits of 32. */
#define X(name, value, text, size)                                                             \
    _Static_assert((value) < TP_DTYPES, "the values of " text " and those before have a gap");
TROUPE_DTYPE_MAP(X)
#undef X
_Static_assert(TP_DTYPES <= 32, "a set of element types has 32 bits");

static struct row row_of(troupe_dtype dtype)
{
    const unsigned i = (unsigned)dtype;
    return rows[i < TP_DTYPES ? i : 0];
}

enum tp_dtype_kind tp_dtype_kind(troupe_dtype dtype)
{
    return row_of(dtype).kind;
}

unsigned tp_dtype_bits(troupe_dtype dtype)
{
    return row_of(dtype).bits;
}

size_t tp_dtype_unit(troupe_dtype dtype)
{
    return row_of(dtype).unit;
}

size_t tp_element_size(troupe_dtype dtype)
{
    return dtype == TROUPE_STRING ? sizeof(struct tp_string) : troupe_dtype_size(dtype);
}

/* -- Elements of less than a byte ---------------------------------------------------------- */

/* What is added to a byte so that those which are elements are 0 to below 2^bits. */
static unsigned offset_of(const struct row *row)
{
    return row->kind == TP_KIND_SIGNED ? 1u << (row->bits - 1) : 0;
}

static bool is_element(const struct row *row, unsigned byte)
{
    return ((byte + offset_of(row)) & 0xff) >> row->bits == 0;
}

static troupe_status fail_element(troupe_dtype dtype, const struct row *row, size_t i, int byte,
                                  troupe_error *err)
{
    const char *name = troupe_dtype_name(dtype);
    const int least = -(int)offset_of(row), most = least + (1 << row->bits) - 1;
    if (row->kind == TP_KIND_SIGNED) byte = byte < 128 ? byte : byte - 256;
    return tp_fail(err, TROUPE_INVALID, "%s element %zu is %d, not %d %s %d", name, i, byte,
                   least, row->bits == 1 ? "or" : "to", most);
}

troupe_status tp_elements_check(troupe_dtype dtype, const void *data, size_t n,
                                troupe_error *err)
{
    const struct row row = row_of(dtype);
    const uint8_t *bytes = data;
    unsigned all = 0;
    if (row.bits == 0 || row.bits >= 8) return TROUPE_OK; /* every pattern is an element */
    const unsigned offset = offset_of(&row);
    for (size_t i = 0; i < n; i++)
        all |= (bytes[i] + offset) & 0xff;
    if (all >> row.bits == 0) return TROUPE_OK;
    size_t i = 0;
    while (is_element(&row, bytes[i]))
        i++;
    return fail_element(dtype, &row, i, bytes[i], err);
}

size_t tp_packed_size(troupe_dtype dtype, size_t n)
{
    const size_t each = 8 / row_of(dtype).bits;
    return n / each + (n % each != 0);
}

void tp_unpack(troupe_dtype dtype, const void *packed, size_t n, void *out)
{
    const struct row row = row_of(dtype);
    const size_t each = 8 / row.bits;
    const unsigned mask = (1u << row.bits) - 1, sign = offset_of(&row);
    const uint8_t *from = packed;
    uint8_t *to = out;
    for (size_t i = 0; i < n; i++) {
        const unsigned bits = from[i / each] >> (i % each * row.bits) & mask;
        to[i] = (uint8_t)((bits ^ sign) - sign); /* the highest bit goes on upwards */
    }
}
