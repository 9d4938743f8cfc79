/* SPDX-License-Identifier: MIT
 *
 * tests/test_kernels_dense.c - the ways in which products and convolutions are computed agree,
 * and so do they on one thread and on several.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "kernels/dnnl.h"
#include "kernels/gemm.h"
#include "kernels/turn.h"
#include "tests/op_case.h"
#include "tests/test.h"

/* Large enough for every library, and to be cut for several threads. */
static const struct {
    const char *op;
    struct tp_sample sample;
} large[] = {
    {"MatMul", {.inputs = "f32[200,256] f32[256,420]"}},
    {"MatMul", {.inputs = "f32[3,70,256] f32[256,420]"}},
    {"MatMul", {.inputs = "f32[3,90,128] f32[3,128,70]"}},
    {"MatMul", {.inputs = "f32[1,512] f32[512,100]"}},
    {"MatMul", {.inputs = "f64[200,256] f64[256,420]"}},
    {"MatMul", {.inputs = "f16[200,256] f16[256,420]"}},
    {"MatMul", {.inputs = "i32[200,256] i32[256,420]"}},
    {"Gemm", {.inputs = "f32[201,256] f32[420,256] f32[420]", .attrs = "transB=1"}},
    {"Gemm", {.inputs = "f32[256,201] f32[256,420] f32[201,1]", .attrs = "transA=1 alpha=0.5"}},
    {"Conv", {.inputs = "f32[1,32,48,48] f32[72,32,3,3] f32[72]", .attrs = "pads=[1,1,1,1]"}},
    {"Conv", {.inputs = "f32[5,16,32,32] f32[64,16,3,3]", .attrs = "strides=[1,2]"}},
    {"Conv", {.inputs = "f32[1,256,64,64] f32[256,16,3,3] f32[256]", .attrs = "group=16"}},
    {"Conv", {.inputs = "f32[2,64,40,40] f32[64,1,3,3] f32[64]", .attrs = "group=64"}},
    {"Conv", {.inputs = "f32[1,64,300] f32[128,64,9]", .attrs = "pads=[4,4] dilations=[1]"}},
    {"Conv", {.inputs = "f32[1,8,20,20,20] f32[32,8,3,3,3]"}},
};

/* A team whose parts run one after another, the last first. */
static void run_backwards(struct tp_team *team, size_t n, void (*part)(void *, size_t),
                          void *arg)
{
    (void)team;
    while (n > 0)
        part(arg, --n);
}

/* A team with a thread for each part. */
struct errand {
    void (*part)(void *, size_t);
    void *arg;
    size_t i;
};

static void *run_errand(void *arg)
{
    const struct errand *errand = arg;
    errand->part(errand->arg, errand->i);
    return NULL;
}

static void run_at_once(struct tp_team *team, size_t n, void (*part)(void *, size_t), void *arg)
{
    pthread_t threads[64];
    struct errand errands[64];
    (void)team;
    ck_assert_uint_le(n, 64);
    for (size_t i = 0; i < n; i++) {
        errands[i] = (struct errand){part, arg, i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_errand, &errands[i]), 0);
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void run_case(struct op_case *c, const struct op_way *way)
{
    troupe_error err;
    ck_ok(op_case_run(c, way, &err));
}

static void make_case(struct op_case *c, int i)
{
    ck_assert(op_case_make(c, tp_op_find(large[i].op), &large[i].sample, TROUPE_DTYPE_NONE, 7));
}

START_TEST(ways_agree)
{
    static const char *const ways[] = {"blas", "dnnl"};
    struct op_case c;
    size_t at;
    make_case(&c, _i);
    setenv("TROUPE_DENSE", "own", 1);
    run_case(&c, &(struct op_way){.alias = -1});
    troupe_tensor *want = troupe_tensor_retain(c.results[0]);
    for (size_t k = 0; k < 2 * TP_COUNT(ways); k++) {
        setenv("TROUPE_DENSE", ways[k / 2], 1);
        run_case(&c, &(struct op_way){.alias = -1, .all_known = k % 2 != 0});
        ck_assert_msg(op_case_close(c.results[0], want, 64, &at), "%s(%s): %s differs at %zu",
                      large[_i].op, large[_i].sample.inputs, ways[k / 2], at);
    }
    troupe_tensor_release(&want);
    op_case_fini(&c);
}
END_TEST

static troupe_status run_with(struct op_case *c, const char *setting, troupe_error *err)
{
    if (setting)
        setenv("TROUPE_DENSE", setting, 1);
    else
        unsetenv("TROUPE_DENSE");
    return op_case_run(c, &(struct op_way){.alias = -1, .all_known = true}, err);
}

/* Empty and the name of the most preferred way are the default; others are near it. */
START_TEST(the_setting_names_a_way_or_none_and_an_unknown_name_is_refused)
{
    static const char *const known[] = {"", "dnnl", "blas", "own"}, *const unknown[] = {
                                                                        "OWN", "fast", "own "};
    troupe_error err;
    struct op_case c;
    size_t at;
    make_case(&c, _i);
    ck_ok(run_with(&c, NULL, &err));
    troupe_tensor *want = troupe_tensor_retain(c.results[0]);
    for (size_t i = 0; i < TP_COUNT(known); i++) {
        ck_ok(run_with(&c, known[i], &err));
        ck_assert(i > 1 ? op_case_close(c.results[0], want, 64, &at)
                        : op_case_same(c.results[0], want));
    }
    for (size_t i = 0; i < TP_COUNT(unknown); i++) {
        ck_fails(run_with(&c, unknown[i], &err), INVALID, unknown[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "own, blas or dnnl"));
    }
    ck_ok(run_with(&c, NULL, &err));
    ck_assert(op_case_same(c.results[0], want));
    troupe_tensor_release(&want);
    op_case_fini(&c);
}
END_TEST

START_TEST(several_threads_agree_with_one)
{
    static const char *const ways[] = {"own", "blas", "dnnl"};
    struct tp_team backwards = {3, run_backwards}, at_once = {3, run_at_once};
    struct op_case c;
    size_t at;
    make_case(&c, _i);
    for (size_t k = 0; k < TP_COUNT(ways); k++) {
        setenv("TROUPE_DENSE", ways[k], 1);
        run_case(&c, &(struct op_way){.alias = -1, .all_known = true});
        troupe_tensor *one = troupe_tensor_retain(c.results[0]);
        run_case(&c, &(struct op_way){.alias = -1, .all_known = true, .threads = 3});
        ck_assert(op_case_close(c.results[0], one, 64, &at));
        troupe_tensor *three = troupe_tensor_retain(c.results[0]);
        run_case(&c, &(struct op_way){
                         .alias = -1, .all_known = true, .threads = 3, .team = &backwards});
        ck_assert(op_case_same(c.results[0], three));
        run_case(&c, &(struct op_way){
                         .alias = -1, .all_known = true, .threads = 3, .team = &at_once});
        ck_assert(op_case_same(c.results[0], three));
        run_case(&c, &(struct op_way){.alias = -1, .threads = 3, .team = &at_once});
        ck_assert(op_case_close(c.results[0], one, 64, &at));
        troupe_tensor_release(&one);
        troupe_tensor_release(&three);
    }
    op_case_fini(&c);
}
END_TEST

/* A product of oneDNN's that several threads run, and what it must give. */
enum { M = 48, N = 64, K = 40, RUNS = 1000, AT_ONCE = 4 };

struct product {
    struct tp_dnnl *dnnl;
    float x[M * K], w[K * N], y[M * N];
};

static void run_product(const struct product *p, float *y, void *workspace)
{
    troupe_error err;
    ck_ok(tp_dnnl_run(p->dnnl, p->x, p->w, NULL, y, workspace, &err));
}

static void *repeat_product(void *arg)
{
    const struct product *p = arg;
    float *y = calloc(M * N, sizeof(float));
    void *workspace = aligned_alloc(64, tp_dnnl_workspace(p->dnnl) + 64);
    for (int i = 0; i < RUNS; i++) {
        run_product(p, y, workspace);
        ck_assert(memcmp(y, p->y, sizeof(p->y)) == 0);
    }
    free(y);
    free(workspace);
    return NULL;
}

START_TEST(runs_of_onednn_keep_what_they_need)
{
    static struct product p;
    const size_t before = tp_alloc_pieces();
    pthread_t threads[AT_ONCE];
    troupe_error err;
    for (int i = 0; i < M * K; i++)
        p.x[i] = (float)(i % 7) - 3;
    for (int i = 0; i < K * N; i++)
        p.w[i] = (float)(i % 5) - 2;
    const troupe_status status =
        tp_dnnl_matmul(&p.dnnl, M, N, K, false, true, _i ? p.w : NULL, &err);
    if (status == TROUPE_PENDING) return; /* it is not there */
    ck_ok(status);
    void *workspace = aligned_alloc(64, tp_dnnl_workspace(p.dnnl) + 64);
    tp_alloc_fail_at(0, 0); /* counts from here on */
    run_product(&p, p.y, workspace);
    repeat_product(&p);
    ck_assert_uint_eq(tp_alloc_asked(), 0);
    for (int i = 0; i < AT_ONCE; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, repeat_product, &p), 0);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_le(tp_alloc_asked(), AT_ONCE - 1);
    free(workspace);
    tp_dnnl_destroy(&p.dnnl);
    ck_assert_uint_eq(tp_alloc_pieces(), before);
}
END_TEST

/* Sizes about those where our own product changes its way, m by n by k. */
static const size_t own_sizes[][3] = {
    {1, 1, 1},    {1, 7, 9},    {1, 64, 300},   {2, 130, 5},   {3, 33, 520},
    {4, 8, 8},    {5, 3, 3},    {7, 16, 17},    {16, 15, 257}, {20, 31, 40},
    {33, 24, 70}, {18, 40, 12}, {17, 100, 600},
};

static double product_at(const double *a, const double *b, size_t k, size_t i, size_t j,
                         const struct tp_matrix *left, const struct tp_matrix *right)
{
    double sum = 0;
    for (size_t p = 0; p < k; p++)
        sum += a[i * left->row + p * left->column] * b[p * right->row + j * right->column];
    return sum;
}

/* `turned`: bit 0 for a, bit 1 for b. Small whole numbers, so that all sums are exact. */
static void check_own(tp_gemm_fn *f32, tp_gemm_fn *f64, const size_t size[3], int turned)
{
    const size_t m = size[0], n = size[1], k = size[2];
    double *a = calloc(m * k, sizeof(*a)), *b = calloc(k * n, sizeof(*b));
    float *narrow_a = calloc(m * k, sizeof(float)), *narrow_b = calloc(k * n, sizeof(float));
    double *c = calloc(m * n, sizeof(*c));
    float *narrow_c = calloc(m * n, sizeof(float));
    for (size_t i = 0; i < m * k; i++)
        narrow_a[i] = (float)(a[i] = (double)(i * 7 % 11) - 5);
    for (size_t i = 0; i < k * n; i++)
        narrow_b[i] = (float)(b[i] = (double)(i * 5 % 13) - 6);
    struct tp_matrix left = {a, turned & 1 ? 1 : k, turned & 1 ? m : 1};
    struct tp_matrix right = {b, turned & 2 ? 1 : n, turned & 2 ? k : 1};
    f64(m, n, k, left, right, c, n);
    left.data = narrow_a;
    right.data = narrow_b;
    f32(m, n, k, left, right, narrow_c, n);
    for (size_t i = 0; i < m * n; i++) {
        const double want = product_at(a, b, k, i / n, i % n, &left, &right);
        ck_assert(c[i] == want && (double)narrow_c[i] == want);
    }
    free(a), free(b), free(c);
    free(narrow_a), free(narrow_b), free(narrow_c);
}

START_TEST(our_own_products_are_exact_where_sums_are)
{
    for (int turned = 0; turned < 4; turned++) {
        check_own(tp_gemm_find(TROUPE_F32), tp_gemm_find(TROUPE_F64), own_sizes[_i], turned);
        check_own(tp_gemm_plain(TROUPE_F32), tp_gemm_plain(TROUPE_F64), own_sizes[_i], turned);
    }
}
END_TEST

START_TEST(a_matrix_of_any_size_is_turned)
{
    static float from[40 * 40], to[40 * 40 + 1];
    for (int i = 0; i < 40 * 40; i++)
        from[i] = (float)i;
    for (size_t rows = 0; rows <= 40; rows++)
        for (size_t columns = 0; columns <= 40; columns++) {
            to[rows * columns] = -1; /* behind the last */
            tp_turn_f32(to, from, rows, columns);
            for (size_t i = 0; i < rows * columns; i++)
                if (to[i % columns * rows + i / columns] != from[i])
                    ck_abort_msg("%zu x %zu: element %zu", rows, columns, i);
            ck_assert(to[rows * columns] == -1);
        }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("kernels/dense");
    TCase *t = tcase_create("dense");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, ways_agree, 0, (int)TP_COUNT(large));
    tcase_add_loop_test(t, the_setting_names_a_way_or_none_and_an_unknown_name_is_refused, 0,
                        (int)TP_COUNT(large));
    tcase_add_loop_test(t, several_threads_agree_with_one, 0, (int)TP_COUNT(large));
    tcase_add_loop_test(t, our_own_products_are_exact_where_sums_are, 0,
                        (int)TP_COUNT(own_sizes));
    tcase_add_test(t, a_matrix_of_any_size_is_turned);
    tcase_add_loop_test(t, runs_of_onednn_keep_what_they_need, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
