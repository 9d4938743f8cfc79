/* SPDX-License-Identifier: MIT
 *
 * import/onnx/names.c - the values of one body by ONNX's name.
 */
#include "import/onnx/names.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"

troupe_status tp_onnx_names_init(struct tp_onnx_names *names, struct tp_arena *arena,
                                 size_t most, troupe_error *err)
{
    if (most >= TP_NO_INDEX)
        return tp_fail(err, TROUPE_EXHAUSTED, "%zu values in a body", most);
    *names = (struct tp_onnx_names){.most = (uint32_t)most};
    names->list = tp_arena_array(arena, most + 1, sizeof(*names->list));
    return names->list ? TROUPE_OK : tp_fail_memory(err, most * sizeof(*names->list));
}

struct tp_onnx_name *tp_onnx_names_find(const struct tp_onnx_names *names, const char *text)
{
    const uint32_t i = tp_index_find(&names->index, text);
    return i == TP_NO_INDEX ? NULL : &names->list[i];
}

troupe_status tp_onnx_names_add(struct tp_onnx_names *names, struct tp_arena *arena,
                                const char *text, struct tp_onnx_name **out, troupe_error *err)
{
    uint32_t had;
    tp_assert(names->count < names->most);
    TP_TRY(tp_index_add(&names->index, arena, text, names->count, &had, err));
    if (had != TP_NO_INDEX)
        return tp_fail(err, TROUPE_INVALID, "value '%s' is made twice", text);
    struct tp_onnx_name *const name = &names->list[names->count++];
    *name =
        (struct tp_onnx_name){.text = text, .value = TROUPE_NO_VALUE, .node = TP_ONNX_NOBODY};
    *out = name;
    return TROUPE_OK;
}

void tp_onnx_names_fini(struct tp_onnx_names *names)
{
    tp_index_fini(&names->index);
}
