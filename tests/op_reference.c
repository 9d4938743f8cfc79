/* SPDX-License-Identifier: MIT
 *
 * tests/op_reference.c - finds references, and what they read their inputs with.
 */
#include "tests/op_reference.h"

#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static ref_fn *find(const char *op)
{
    const struct ref_row *const lists[] = {ref_nn, ref_rows, ref_shapes};
    for (size_t i = 0; i < TP_COUNT(lists); i++)
        for (const struct ref_row *row = lists[i]; row->op; row++)
            if (strcmp(row->op, op) == 0) return row->run;
    return NULL;
}

bool op_reference_has(const char *op)
{
    return find(op) != NULL;
}

troupe_tensor *op_reference_run(const struct op_case *c, size_t i)
{
    troupe_tensor *out = NULL;
    troupe_error err;
    struct tp_type type = {.dtype = TROUPE_F64, .shape = c->types[i].shape};
    case_ok(tp_tensor_new_unset(&out, &type, &err));
    const struct ref r = {.c = c, .which = i, .out = &type.shape, .y = tp_tensor_write(out)};
    find(c->op->name)(&r);
    return out;
}

double ref_at(const struct ref *r, size_t i, const int64_t *index, int rank)
{
    const struct tp_shape *shape = ref_shape(r, i);
    size_t at = 0;
    for (int d = 0; d < shape->rank; d++) {
        const int64_t k = shape->dims[d] == 1 ? 0 : index[rank - shape->rank + d];
        case_must(k < shape->dims[d], "index %lld", (long long)k);
        at = at * (size_t)shape->dims[d] + (size_t)k;
    }
    return op_case_at(r->c->inputs[i], at);
}

bool ref_has(const struct ref *r, size_t i)
{
    return i < r->c->n_inputs && r->c->inputs[i];
}

const struct tp_shape *ref_shape(const struct ref *r, size_t i)
{
    return &r->c->inputs[i]->type.shape;
}

int64_t ref_int(const struct ref *r, const char *name, int64_t otherwise)
{
    return tp_attr_int(r->c->attrs, r->c->n_attrs, name, otherwise);
}

double ref_float(const struct ref *r, const char *name, double otherwise)
{
    return tp_attr_float(r->c->attrs, r->c->n_attrs, name, otherwise);
}

int64_t ref_list(const struct ref *r, const char *name, size_t i, int64_t otherwise)
{
    size_t n;
    const int64_t *list = tp_attr_ints(r->c->attrs, r->c->n_attrs, name, &n);
    return list && i < n ? list[i] : otherwise;
}

bool ref_next(const struct tp_shape *shape, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (++index[d] < shape->dims[d]) return true;
        index[d] = 0;
    }
    return false;
}
