/* SPDX-License-Identifier: MIT
 *
 * import/onnx/ops.c - the table of the standard's operators, and one by its name.
 */
#include <string.h>

#include "base/fail.h"
#include "import/onnx/model.h"
#include "import/onnx/upgrade.h"

#define tp_onnx_upgrade_NULL NULL /* for the table */

/* In the order of strcmp. */
static const struct tp_onnx_op ops[] = {
#define OP(name, ours, since, below, how) {#name, ours, since, below, tp_onnx_upgrade_##how},
#include "import/onnx/ops.def"
#undef OP
};

const struct tp_onnx_op *tp_onnx_op_at(size_t i)
{
    return i < TP_COUNT(ops) ? &ops[i] : NULL;
}

const struct tp_onnx_op *tp_onnx_op_find(const char *name)
{
    size_t from = 0, to = TP_COUNT(ops);
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = strcmp(name, ops[middle].name);
        if (order == 0) return &ops[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}
