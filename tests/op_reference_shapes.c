/* SPDX-License-Identifier: MIT
 *
 * tests/op_reference_shapes.c - references of broadcasting and of ops that move elements.
 */
#include "tests/op_reference.h"

/* --- broadcasting
 * ----------------------------------------------------------------------------- */
static double two(const char *op, double x, double y)
{
    switch (op[0]) {
    case 'A':
        return op[1] == 'd' ? x + y : x != 0 && y != 0;
    case 'S':
        return x - y;
    case 'M':
        return x * y;
    case 'E':
        return x == y;
    case 'L':
        return op[4] ? x <= y : x < y;
    case 'G':
        return op[7] ? x >= y : x > y;
    case 'O':
        return x != 0 || y != 0;
    default:
        return (x != 0) != (y != 0);
    }
}

static void binary(const struct ref *r)
{
    int64_t index[8] = {0};
    size_t i = 0;
    for (size_t n = tp_shape_count_known(r->out); n > 0; n--, ref_next(r->out, index), i++) {
        r->y[i] = two(r->c->op->name, ref_at(r, 0, index, r->out->rank),
                      ref_at(r, 1, index, r->out->rank));
    }
}

const struct ref_row ref_shapes[] = {
    {"And", binary},
    {"Equal", binary},
    {"Greater", binary},
    {"GreaterOrEqual", binary},
    {"LessOrEqual", binary},
    {"Less", binary},
    {"Or", binary},
    {"Xor", binary},
    {NULL, NULL},
};
