/* SPDX-License-Identifier: MIT
 *
 * tests/conformance.c - every op's row against its own samples and against slow references.
 *
 * For each row and each of its samples, in each element type that its first input may have:
 * types that are inferred are those that come out, with all, some or no values and dimensions
 * known; the same bits come out twice, from memory at odd places, in place, and by way of
 * unknown values; and they are what the sample says, what double precision gives and what a
 * direct reference gives.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/op_case.h"
#include "tests/op_reference.h"
#include "tests/test.h"

/* Called for each sample of a row, in each of its types. */
typedef void sample_fn(struct op_case *c, const char *what);

static void for_type(const struct tp_op *op, const struct tp_sample *sample, int number,
                     troupe_dtype dtype, sample_fn *check)
{
    struct op_case c;
    char what[128];
    if (!op_case_make(&c, op, sample, dtype, 1234 + (uint64_t)number)) return; /* not in it */
    snprintf(what, sizeof(what), "%s %s(%s)", dtype ? troupe_dtype_name(dtype) : "", op->name,
             sample->inputs);
    check(&c, what);
    op_case_fini(&c);
}

/* What is complex is cast to little else: its own samples say to what. */
static bool is_refused(const struct tp_op *op, troupe_dtype dtype)
{
    return strncmp(op->name, "Cast", 4) == 0 && tp_dtype_kind(dtype) == TP_KIND_COMPLEX;
}

static void for_sample(const struct tp_op *op, const struct tp_sample *sample, int number,
                       sample_fn *check)
{
    const struct tp_port *first = &op->inputs[0];
    for_type(op, sample, number, TROUPE_DTYPE_NONE, check);
    if (strncmp(sample->inputs, "f32", 3) != 0) return; /* it is about its own type */
    for (int t = 1; first->name && first->same && t < TP_DTYPES; t++)
        if (first->types >> t & 1 && !is_refused(op, (troupe_dtype)t))
            for_type(op, sample, number, (troupe_dtype)t, check);
}

static void for_samples(const struct tp_op *op, bool failing, sample_fn *check)
{
    int number = 0;
    for (const struct tp_sample *s = op->samples; s && s->inputs; s++, number++)
        if (failing == (s->fails != NULL)) for_sample(op, s, number, check);
}

/* One sample in one type that works at all: INVALID is for what a type cannot do. */
static bool run_plainly(struct op_case *c, const char *what)
{
    const struct op_way plain = {.alias = -1}, dynamic = {.alias = -1, .all_known = true};
    troupe_error err;
    troupe_status status = op_case_run(c, &plain, &err);
    if (status == TROUPE_PENDING) status = op_case_run(c, &dynamic, &err);
    case_must(status == TROUPE_OK, "%s: %s", what, err.text);
    return status == TROUPE_OK;
}

/* --- the list ----------------------------------------------------------------------- */
START_TEST(ops_stand_in_order_and_are_found_by_name)
{
    const struct tp_op *last = NULL;
    for (size_t i = 0; tp_op_at(i); last = tp_op_at(i++)) {
        if (last) ck_assert_str_lt(last->name, tp_op_at(i)->name);
        ck_assert_ptr_eq(tp_op_find(tp_op_at(i)->name), tp_op_at(i));
    }
    ck_assert_ptr_null(tp_op_find("add"));
    ck_assert_ptr_null(tp_op_find(""));
    ck_assert_ptr_null(tp_op_find("Zzz"));
}
END_TEST

START_TEST(each_row_is_whole)
{
    const struct tp_op *op = tp_op_at((size_t)_i);
    case_must(op->samples && op->samples[0].inputs, "%s has no samples", op->name);
    case_must(op->summary && op->summary[0], "%s has no summary", op->name);
    case_must(op->cpu || op->prepare, "%s has no kernel", op->name);
    case_must(op->infer != NULL && op->inputs && op->results, "%s has no ports", op->name);
    for (const struct tp_attr_spec *a = op->attrs; a && a->name && a[1].name; a++)
        case_must(strcmp(a->name, a[1].name) < 0, "%s: attributes out of order", op->name);
}
END_TEST

/* --- samples ------------------------------------------------------------------------ */
static void give_what_the_sample_says(struct op_case *c, const char *what)
{
    troupe_error err;
    troupe_tensor *want = NULL;
    size_t at;
    if (!run_plainly(c, what) || !c->sample->result) return; /* nothing to compare with */
    if (c->types[0].dtype == TROUPE_STRING && what[0] != ' ')
        return; /* texts tell types apart */
    const char *text = strchr(c->sample->result, ' ');
    case_must(text++ != NULL, "%s: '%s' is no value", what, c->sample->result);
    if (tp_tensor_parse_elements(&want, &c->types[0], &text, &err) != TROUPE_OK) {
        case_must(strncmp(what, " ", 1) != 0, "%s: %s", what, err.text);
        return; /* it is not a value of this type */
    }
    char got[512];
    troupe_tensor_show(c->results[0], 0, got, sizeof(got));
    case_must(op_case_close(c->results[0], want, 4, &at), "%s: %s, not %s", what, got,
              c->sample->result);
    troupe_tensor_release(&want);
}

START_TEST(samples_give_the_results_that_they_say)
{
    for_samples(tp_op_at((size_t)_i), false, give_what_the_sample_says);
}
END_TEST

static void fail_as_the_sample_says(struct op_case *c, const char *what)
{
    const struct op_way plain = {.alias = -1}, dynamic = {.alias = -1, .all_known = true};
    troupe_error err = {0};
    troupe_status status = op_case_run(c, &plain, &err);
    if (status == TROUPE_PENDING) status = op_case_run(c, &dynamic, &err);
    if (what[0] != ' ' && status == TROUPE_OK) return; /* the type makes it work */
    case_must(status == TROUPE_INVALID || status == TROUPE_UNSUPPORTED ||
                  status == TROUPE_EXHAUSTED,
              "%s [%s]: status %s", what, c->sample->attrs ? c->sample->attrs : "",
              troupe_status_name(status));
    if (what[0] != ' ') return; /* another type may fail for another reason */
    case_must(strstr(err.text, c->sample->fails) != NULL, "%s: no '%s' in '%s'", what,
              c->sample->fails, err.text);
}

START_TEST(failing_samples_say_why)
{
    for_samples(tp_op_at((size_t)_i), true, fail_as_the_sample_says);
}
END_TEST

/* --- the same bits ------------------------------------------------------------------ */
static void expect_same(struct op_case *c, const struct op_way *way, const char *what,
                        const char *how)
{
    troupe_tensor *want[CASE_PORTS];
    troupe_error err;
    for (size_t i = 0; i < c->n_results; i++)
        want[i] = troupe_tensor_retain(c->results[i]);
    const troupe_status status = op_case_run(c, way, &err);
    case_must(status >= 0, "%s, %s: %s", what, how, status < 0 ? err.text : "");
    for (size_t i = 0; i < c->n_results; i++) {
        case_must(status == TROUPE_PENDING || op_case_same(want[i], c->results[i]),
                  "%s, %s: result %zu differs", what, how, i);
        troupe_tensor_release(&want[i]);
    }
}

static bool same_type(const struct tp_type *a, const struct tp_type *b)
{
    return a->dtype == b->dtype && a->dtype != TROUPE_STRING &&
           tp_shape_equal(&a->shape, &b->shape);
}

static void give_the_same_bits(struct op_case *c, const char *what)
{
    if (!run_plainly(c, what)) return;
    expect_same(c, &(struct op_way){.alias = -1}, what, "again");
    expect_same(c, &(struct op_way){.alias = -1, .offset = 1}, what, "one element off");
    expect_same(c, &(struct op_way){.alias = -1, .offset = 3}, what, "three elements off");
    expect_same(c, &(struct op_way){.alias = -1, .all_known = true}, what, "all known");
    expect_same(c, &(struct op_way){.alias = -1, .none_known = true}, what, "none known");
    for (int i = 0; i < 8 && i < (int)c->n_inputs; i++) {
        if (!(c->op->reuse >> i & 1) || !c->inputs[i] || !c->results[0]) continue;
        if (same_type(&c->inputs[i]->type, &c->types[0]))
            expect_same(c, &(struct op_way){.alias = i}, what, "in place");
    }
}

START_TEST(runs_give_the_same_bits_in_every_way)
{
    for_samples(tp_op_at((size_t)_i), false, give_the_same_bits);
}
END_TEST

/* --- inference ---------------------------------------------------------------------- */
enum hidden { HIDE_DIMS, HIDE_RANK, NAME_FIRST, HIDINGS };

static void hide(struct tp_shape *shape, enum hidden how)
{
    if (how == HIDE_RANK) *shape = (struct tp_shape){.rank = TP_RANK_ANY};
    for (int i = 0; how == HIDE_DIMS && i < shape->rank; i++)
        shape->dims[i] = TP_DIM_ANY;
    if (how == NAME_FIRST && shape->rank > 0) shape->dims[0] = TP_DIM_NAMED(0);
}

static void infer_what_can_be_said(struct op_case *c, const char *what)
{
    struct tp_type inputs[CASE_PORTS], types[CASE_PORTS];
    struct tp_shape met;
    troupe_error err;
    if (!run_plainly(c, what)) return;
    for (int how = 0; how < 2 * HIDINGS; how++) {
        for (size_t i = 0; i < c->n_inputs; i++) {
            if (!c->inputs[i]) continue;
            inputs[i] = c->inputs[i]->type;
            hide(&inputs[i].shape, (enum hidden)(how % HIDINGS));
        }
        const troupe_status status = op_case_infer(c, inputs, how >= HIDINGS, types, &err);
        case_must(status == TROUPE_OK, "%s, hidden %d: %s", what, how, err.text);
        for (size_t i = 0; i < c->n_results; i++) {
            case_must(types[i].dtype == c->types[i].dtype, "%s, hidden %d", what, how);
            if (how % HIDINGS == NAME_FIRST)
                continue; /* equal names may be unequal numbers here */
            case_must(tp_shape_meet(&types[i].shape, &c->types[i].shape, &met, &err) ==
                          TROUPE_OK,
                      "%s, hidden %d: result %zu is not %s", what, how, i,
                      tp_shape_text(&types[i].shape).text);
        }
    }
}

START_TEST(inference_says_nothing_wrong_of_what_is_unknown)
{
    for_samples(tp_op_at((size_t)_i), false, infer_what_can_be_said);
}
END_TEST

/* Whatever it says of dimensions that no memory holds, it neither crashes nor overflows. */
static void survive_huge_dims(struct op_case *c, const char *what)
{
    static const int64_t sizes[] = {INT64_MAX, INT64_MAX / 2, INT32_MAX, 0};
    struct tp_type inputs[CASE_PORTS], types[CASE_PORTS];
    (void)what;
    for (size_t how = 0; how < 2 * TP_COUNT(sizes); how++)
        for (int d = -1; d < TROUPE_MAX_RANK; d++) {
            for (size_t i = 0; i < c->n_inputs; i++) {
                if (!c->inputs[i]) continue;
                inputs[i] = c->inputs[i]->type;
                for (int k = 0; k < inputs[i].shape.rank; k++)
                    if ((d < 0 || d == k) && !c->fixed[i])
                        inputs[i].shape.dims[k] = sizes[how / 2];
            }
            troupe_error err;
            (void)!op_case_infer(c, inputs, how % 2 != 0, types, &err);
        }
}

START_TEST(inference_survives_huge_dimensions)
{
    for_samples(tp_op_at((size_t)_i), false, survive_huge_dims);
    for_samples(tp_op_at((size_t)_i), true, survive_huge_dims);
}
END_TEST

/* --- references --------------------------------------------------------------------- */
/* Doubles hold all that is in the inputs: no large integers, no imaginary parts. */
static bool is_exact(const struct op_case *c)
{
    for (size_t i = 0; i < c->n_inputs; i++)
        for (size_t j = 0; c->inputs[i] && j < c->inputs[i]->count; j++)
            if (fabs(op_case_at(c->inputs[i], j)) > 9e15 || op_value_has_more(c->inputs[i], j))
                return false;
    return true;
}

static bool compares_texts(const struct op_case *c)
{
    return c->inputs[0] && c->inputs[0]->type.dtype == TROUPE_STRING &&
           strcmp(c->op->name, "Equal") == 0;
}

static void agree_with_doubles(struct op_case *c, const char *what)
{
    const struct tp_port *first = &c->op->inputs[0];
    struct op_case wide;
    size_t at;
    if (!(first->types & TP_TYPE(F64)) || !first->same || !c->inputs[0])
        return;                                            /* there are none */
    if (strncmp(c->sample->inputs, "f32", 3) != 0) return; /* it is about its own type */
    if (c->n_results == 0 || compares_texts(c) || !run_plainly(c, what)) return;
    if (strncmp(c->op->name, "Cast", 4) == 0 && c->types[0].dtype == TROUPE_STRING)
        return; /* its texts tell the types apart */
    if (!op_case_widen(&wide, c)) return;
    if (run_plainly(&wide, what)) {
        case_must(op_case_close(c->results[0], wide.results[0], 32, &at),
                  "%s: element %zu is %g, not %g", what, at, op_case_at(c->results[0], at),
                  op_case_at(wide.results[0], at));
    }
    op_case_fini(&wide);
}

START_TEST(types_agree_with_double_precision)
{
    for_samples(tp_op_at((size_t)_i), false, agree_with_doubles);
}
END_TEST

static void agree_with_reference(struct op_case *c, const char *what)
{
    size_t at;
    if (!op_reference_has(c->op->name) || !is_exact(c) || compares_texts(c) ||
        !run_plainly(c, what))
        return; /* it has none */
    for (size_t i = 0; i < c->n_results; i++) {
        troupe_tensor *want = op_reference_run(c, i);
        case_must(op_case_close(c->results[i], want, 32, &at),
                  "%s [%s]: element %zu of result %zu is %g, not %g", what,
                  c->sample->attrs ? c->sample->attrs : "", at, i,
                  at < want->count ? op_case_at(c->results[i], at) : NAN,
                  at < want->count ? op_case_at(want, at) : NAN);
        troupe_tensor_release(&want);
    }
}

START_TEST(structured_ops_agree_with_slow_references)
{
    for_samples(tp_op_at((size_t)_i), false, agree_with_reference);
}
END_TEST

/* --- memory ------------------------------------------------------------------------- */
static void survive_starvation(struct op_case *c, const char *what)
{
    const struct op_way way = {.alias = -1, .all_known = true};
    bool hit = true;
    for (uint64_t n = 1; hit; n++) {
        troupe_error err = {0};
        const size_t pieces = tp_alloc_pieces();
        tp_alloc_fail_at(n, 0);
        const troupe_status status = op_case_prepare(c, &way, &err);
        hit = tp_alloc_asked() >= n;
        tp_alloc_fail_at(0, 0);
        case_must(tp_alloc_pieces() == pieces, "%s: allocation %d failed: leak", what, (int)n);
        case_must(status == (hit ? TROUPE_EXHAUSTED : TROUPE_OK), "%s: %s", what, err.text);
    }
}

START_TEST(kernels_survive_a_failed_allocation)
{
    for_samples(tp_op_at((size_t)_i), false, survive_starvation);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("conformance");
    TCase *t = tcase_create("ops");
    int n = 0;
    while (tp_op_at((size_t)n))
        n++;
    tcase_set_timeout(t, 120);
    tcase_add_test(t, ops_stand_in_order_and_are_found_by_name);
    tcase_add_loop_test(t, each_row_is_whole, 0, n);
    tcase_add_loop_test(t, samples_give_the_results_that_they_say, 0, n);
    tcase_add_loop_test(t, failing_samples_say_why, 0, n);
    tcase_add_loop_test(t, runs_give_the_same_bits_in_every_way, 0, n);
    tcase_add_loop_test(t, inference_says_nothing_wrong_of_what_is_unknown, 0, n);
    tcase_add_loop_test(t, inference_survives_huge_dimensions, 0, n);
    tcase_add_loop_test(t, types_agree_with_double_precision, 0, n);
    tcase_add_loop_test(t, structured_ops_agree_with_slow_references, 0, n);
    tcase_add_loop_test(t, kernels_survive_a_failed_allocation, 0, n);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
