/* SPDX-License-Identifier: MIT
 *
 * kernels/ops.c - the list of all ops, and an op by its name.
 */
#include "kernels/ops.h"

#include <string.h>

#include "base/fail.h"

/* In the order of ops.def, which is that of strcmp. */
static const struct tp_op *const ops[] = {
#define OP(name) &tp_op_##name,
#include "kernels/ops.def"
#undef OP
};

const struct tp_op *tp_op_at(size_t i)
{
    return i < TP_COUNT(ops) ? ops[i] : NULL;
}

const struct tp_op *tp_op_find(const char *name)
{
    size_t from = 0, to = TP_COUNT(ops);
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = strcmp(name, ops[middle]->name);
        if (order == 0) return ops[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}
