/* SPDX-License-Identifier: MIT
 *
 * graph/operators.c - the list of operators, as users see it.
 */
#include "graph/op.h"

const char *troupe_operator(size_t i, const char **summary)
{
    const struct tp_op *op = tp_op_at(i);
    if (op && summary) *summary = op->summary;
    return op ? op->name : NULL;
}
