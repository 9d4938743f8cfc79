/* SPDX-License-Identifier: MIT
 *
 * tests/op_case.h - a sample of an op's row made real: tensors, attributes, and ways to run it.
 */
#ifndef TP_TESTS_OP_CASE_H
#define TP_TESTS_OP_CASE_H

#include <check.h>

#include "graph/infer.h"
#include "tensor/tensor.h"
#include "tests/op_values.h"

/* As ck_assert_msg and ck_ok, which are slow when they are met often. */
#define case_must(expr, ...)                                                                   \
    do {                                                                                       \
        if (!(expr)) ck_abort_msg(__VA_ARGS__);                                                \
    } while (0)
#define case_ok(expr) case_must((expr) == TROUPE_OK, "%s: %s", #expr, err.text)

#define CASE_PORTS 12
#define CASE_ATTRS 12

struct op_case {
    const struct tp_op *op;
    const struct tp_sample *sample;
    size_t n_inputs, n_results, n_attrs;
    troupe_tensor *inputs[CASE_PORTS]; /* NULL: absent */
    bool fixed[CASE_PORTS];            /* the sample gives its values */
    troupe_attr attrs[CASE_ATTRS];
    int64_t ints[CASE_ATTRS][16];
    double floats[CASE_ATTRS][16];
    char texts[CASE_ATTRS][64];
    char names[CASE_ATTRS][32];
    struct tp_type types[CASE_PORTS]; /* of the results, once it was run */
    troupe_tensor *results[CASE_PORTS];
};

/* What of a run may differ without a difference in the results. */
struct op_way {
    bool none_known; /* no value of an input is known before the launch */
    bool all_known;  /* all are, as just before a launch whose shapes depend on values */
    size_t offset;   /* elements that each value stands off a multiple of 64 bytes */
    int alias;       /* the input on which result 0 lies, or -1 */
    struct tp_team *team;
    int threads; /* 0: one */
};

/* The element type of the ports that have the first input's is `dtype` (NONE: as the sample
 * says). False: the sample cannot be had in that type. */
bool op_case_make(struct op_case *c, const struct tp_op *op, const struct tp_sample *sample,
                  troupe_dtype dtype, uint64_t seed);
/* The same inputs as doubles, where they have the first input's type. */
bool op_case_widen(struct op_case *c, const struct op_case *from);
void op_case_fini(struct op_case *c);

/* Infer, prepare and run; results replace those that were there. TROUPE_PENDING: the results'
 * shapes cannot be told in that way. */
troupe_status op_case_run(struct op_case *c, const struct op_way *way, troupe_error *err);
/* Infer and prepare, and give up what that made. */
troupe_status op_case_prepare(struct op_case *c, const struct op_way *way, troupe_error *err);
/* Infer alone, with other types than the inputs have; the results' types go to types. */
troupe_status op_case_infer(struct op_case *c, const struct tp_type *inputs, bool known,
                            struct tp_type *types, troupe_error *err);

/* Equal bits, but for a NaN's. */
bool op_case_same(const troupe_tensor *a, const troupe_tensor *b);
/* Equal within what the element type of `a` can tell: `slack` times its precision. Integers are
 * b's elements cut, where those fit. *at is the first element that is not. */
bool op_case_close(const troupe_tensor *a, const troupe_tensor *b, double slack, size_t *at);

#endif
