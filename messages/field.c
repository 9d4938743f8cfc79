/* SPDX-License-Identifier: MIT
 *
 * messages/field.c - the types that a message's field can have: how each is shown, compared and
 * let go.
 */
#include "messages/field.h"

#include <inttypes.h>
#include <string.h>

static void drop_tensor(void *field)
{
    troupe_tensor_release(field);
}

static void drop_error(void *field)
{
    tp_free_at(field);
    *(troupe_error **)field = NULL;
}

static void show_bool(const void *field, struct tp_text *out)
{
    tp_text_add(out, "%s", *(const bool *)field ? "yes" : "no");
}

static void show_i32(const void *field, struct tp_text *out)
{
    tp_text_add(out, "%" PRId32, *(const int32_t *)field);
}

static void show_u32(const void *field, struct tp_text *out)
{
    tp_text_add(out, "%" PRIu32, *(const uint32_t *)field);
}

static void show_u64(const void *field, struct tp_text *out)
{
    tp_text_add(out, "%" PRIu64, *(const uint64_t *)field);
}

static void show_ref(const void *field, struct tp_text *out)
{
    tp_text_add(out, "%p", *(void *const *)field);
}

static void show_tensor(const void *field, struct tp_text *out)
{
    char text[120];
    const troupe_tensor *tensor = *(troupe_tensor *const *)field;
    if (!tensor) {
        tp_text_add(out, "none");
        return;
    }
    troupe_tensor_show(tensor, 4, text, sizeof text);
    tp_text_add(out, "%s", text);
}

static void show_error(const void *field, struct tp_text *out)
{
    const troupe_error *error = *(troupe_error *const *)field;
    if (error)
        tp_text_add(out, "%s: %s", troupe_status_name(error->code), error->text);
    else
        tp_text_add(out, "none");
}

static bool equal_bool(const void *a, const void *b)
{
    return *(const bool *)a == *(const bool *)b;
}

static bool equal_i32(const void *a, const void *b)
{
    return *(const int32_t *)a == *(const int32_t *)b;
}

static bool equal_u32(const void *a, const void *b)
{
    return *(const uint32_t *)a == *(const uint32_t *)b;
}

static bool equal_u64(const void *a, const void *b)
{
    return *(const uint64_t *)a == *(const uint64_t *)b;
}

static bool equal_ref(const void *a, const void *b)
{
    return *(void *const *)a == *(void *const *)b;
}

static bool equal_tensor(const void *a, const void *b)
{
    const troupe_tensor *x = *(troupe_tensor *const *)a, *y = *(troupe_tensor *const *)b;
    return x == y || (x && y && troupe_tensor_equal(x, y));
}

static bool equal_error(const void *a, const void *b)
{
    const troupe_error *x = *(troupe_error *const *)a, *y = *(troupe_error *const *)b;
    return x == y || (x && y && x->code == y->code && strcmp(x->text, y->text) == 0);
}

#define drop_BOOL    NULL
#define drop_I32     NULL
#define drop_U32     NULL
#define drop_U64     NULL
#define drop_REF     NULL
#define drop_TENSOR  drop_tensor
#define drop_ERROR   drop_error
#define show_BOOL    show_bool
#define show_I32     show_i32
#define show_U32     show_u32
#define show_U64     show_u64
#define show_REF     show_ref
#define show_TENSOR  show_tensor
#define show_ERROR   show_error
#define equal_BOOL   equal_bool
#define equal_I32    equal_i32
#define equal_U32    equal_u32
#define equal_U64    equal_u64
#define equal_REF    equal_ref
#define equal_TENSOR equal_tensor
#define equal_ERROR  equal_error

const struct tp_field_row tp_field_rows[TP_FIELD_TYPES] = {
#define X(name, type, doc) {#name, doc, sizeof(type), drop_##name, show_##name, equal_##name},
    TP_FIELD_MAP(X)
#undef X
};
