/* SPDX-License-Identifier: MIT
 *
 * kernels/walk.c - the way through tensors that are broadcast to one shape.
 */
#include "kernels/walk.h"

#include <string.h>

/* Element steps of an input along the result's dimensions: 0 where it is broadcast. */
static void find_steps(const struct tp_shape *out, const struct tp_shape *input,
                       size_t step[TROUPE_MAX_RANK])
{
    const int missing = out->rank - input->rank;
    size_t next = 1;
    for (int d = out->rank - 1; d >= 0; d--) {
        step[d] = 0;
        if (d < missing || input->dims[d - missing] == 1) continue;
        step[d] = next;
        next *= (size_t)input->dims[d - missing];
    }
}

/* True when every input passes from the last dimension so far on to one of `dim` elements
 * outside it without a jump. */
static bool joins(const struct tp_walk *walk, size_t steps[TP_WALK_INPUTS][TROUPE_MAX_RANK],
                  size_t n, int d, size_t inner)
{
    for (size_t i = 0; i < n; i++)
        if (steps[i][d] != walk->step[i][walk->rank] * inner) return false;
    return true;
}

/* Turn the dimensions, which were found from the innermost on, to stand from the outermost on.
 */
static void reverse(size_t *list, int n)
{
    for (int i = 0; i < n / 2; i++) {
        const size_t first = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = first;
    }
}

static void begin(struct tp_walk *walk, size_t steps[TP_WALK_INPUTS][TROUPE_MAX_RANK], size_t n,
                  int d, size_t dim)
{
    walk->dims[walk->rank] = dim;
    for (size_t i = 0; i < n; i++)
        walk->step[i][walk->rank] = steps[i][d];
}

void tp_walk_make(struct tp_walk *walk, const struct tp_shape *out,
                  const struct tp_shape *const *inputs, size_t n)
{
    size_t steps[TP_WALK_INPUTS][TROUPE_MAX_RANK] = {0};
    memset(walk, 0, sizeof(*walk));
    walk->run = walk->runs = 1;
    for (size_t i = 0; i < n; i++)
        find_steps(out, inputs[i], steps[i]);

    bool any = false;
    for (int d = out->rank - 1; d >= 0; d--) {
        const size_t dim = (size_t)out->dims[d];
        if (dim == 1) continue;
        if (any && joins(walk, steps, n, d, walk->dims[walk->rank])) {
            walk->dims[walk->rank] *= dim;
            continue;
        }
        if (any) walk->rank++;
        begin(walk, steps, n, d, dim);
        any = true;
    }
    if (!any) return; /* one element */
    walk->run = walk->dims[0];
    for (size_t i = 0; i < n; i++)
        walk->moves[i] = walk->step[i][0] != 0;
    for (int d = 1; d <= walk->rank; d++)
        walk->runs *= walk->dims[d];
    memmove(walk->dims, walk->dims + 1, (size_t)walk->rank * sizeof(walk->dims[0]));
    reverse(walk->dims, walk->rank);
    for (size_t i = 0; i < n; i++) {
        memmove(walk->step[i], walk->step[i] + 1, (size_t)walk->rank * sizeof(size_t));
        reverse(walk->step[i], walk->rank);
    }
    if (walk->run == 0) walk->runs = 0;
}

void tp_walk_next(const struct tp_walk *walk, struct tp_walk_at *at)
{
    for (int d = walk->rank - 1; d >= 0; d--) {
        for (size_t i = 0; i < TP_WALK_INPUTS; i++)
            at->element[i] += walk->step[i][d];
        if (++at->index[d] < walk->dims[d]) return;
        at->index[d] = 0;
        for (size_t i = 0; i < TP_WALK_INPUTS; i++)
            at->element[i] -= walk->step[i][d] * walk->dims[d];
    }
}
