/* SPDX-License-Identifier: MIT
 *
 * import/onnx/names.h - the values of one body by ONNX's name.
 */
#ifndef TP_IMPORT_ONNX_NAMES_H
#define TP_IMPORT_ONNX_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/index.h"
#include "import/onnx/onnx.pb-c.h"
#include "troupe/function.h"

#define TP_ONNX_NOBODY UINT32_MAX

/* One value. It is made by one of: the caller (an argument), an initializer, a node. */
struct tp_onnx_name {
    const char *text;
    troupe_value value;                   /* TROUPE_NO_VALUE until it is there */
    const Onnx__TensorProto *initializer; /* or NULL */
    uint32_t node; /* which one of the body makes it; TP_ONNX_NOBODY: none */
    uint32_t uses; /* by nodes and results; not where only its type counts */
};

/* Zeroed is valid and empty. All but the index is the arena's. */
struct tp_onnx_names {
    struct tp_index index;
    struct tp_onnx_name *list;
    uint32_t count, most;
};

/* Room for `most` names. */
troupe_status tp_onnx_names_init(struct tp_onnx_names *names, struct tp_arena *arena,
                                 size_t most, troupe_error *err) TROUPE_MUST_CHECK;
/* NULL: there is none. */
struct tp_onnx_name *tp_onnx_names_find(const struct tp_onnx_names *names, const char *text);
/* The name's place, which stays where it is. The text is borrowed. INVALID: it is there
 * already. */
troupe_status tp_onnx_names_add(struct tp_onnx_names *names, struct tp_arena *arena,
                                const char *text, struct tp_onnx_name **out,
                                troupe_error *err) TROUPE_MUST_CHECK;
void tp_onnx_names_fini(struct tp_onnx_names *names);

#endif
