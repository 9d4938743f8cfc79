/* SPDX-License-Identifier: MIT
 *
 * tools/values.h - values made up for an argument, of its type and with its dimensions.
 *
 * The random ones come from splitmix64 with the seed as its state, so that anybody can make the
 * same: element by element, in row-major order, one number each. Floating-point elements are
 * uniform in [0, 1) with as many bits as their type holds exactly, both parts of complex ones
 * from the halves of the number; floats of a byte or less have codes of [0, 1), as likely each;
 * integers are 0 to 9, or to the largest below that, strings the digits "0" to "9", truth values
 * the highest bit.
 */
#ifndef TP_TOOLS_VALUES_H
#define TP_TOOLS_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "troupe/troupe.h"

/* Numbers of named dimensions. Zeroed is valid and empty. */
struct tp_dims {
    struct tp_dim {
        char *name;
        int64_t size;
    } * list;
    size_t n;
};

/* Take over the numbers that `tensor` gives to the named dimensions of argument i. False: there
 * is no memory. */
bool tp_dims_learn(struct tp_dims *dims, const troupe_function *function, size_t i,
                   const troupe_tensor *tensor);
void tp_dims_fini(struct tp_dims *dims);

/* Element type, rank and fixed dimensions of argument i are the tensor's. */
bool tp_values_fit(const troupe_function *function, size_t i, const troupe_tensor *tensor);
/* The tensor's type as text, "f32[2,3]". */
void tp_values_type(const troupe_tensor *tensor, char *text, size_t size);

/* A tensor for argument i: zeros (empty strings), or random when `seed` is not NULL. INVALID:
 * its element type is unknown; EXHAUSTED. */
troupe_status tp_values_make(const troupe_function *function, size_t i,
                             const struct tp_dims *dims, const uint64_t *seed,
                             troupe_tensor **out, troupe_error *err) TROUPE_MUST_CHECK;

#endif
