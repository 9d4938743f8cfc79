/* SPDX-License-Identifier: MIT
 *
 * kernels/blas.c - the f32 matrix product of OpenBLAS's serial build.
 *
 * The builds of OpenBLAS share one name, and those with threads disturb a program that has
 * threads of its own. So the serial one is opened by its full path, in the folders where it is
 * installed.
 */
#include "kernels/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/thread.h"

/* What cblas.h says, which need not be installed. */
enum { ROW_MAJOR = 101, NOT_TURNED = 111, TURNED = 112 };
typedef void cblas_sgemm_fn(int order, int turned_a, int turned_b, int m, int n, int k,
                            float alpha, const float *a, int a_row, const float *b, int b_row,
                            float beta, float *c, int c_row);

static cblas_sgemm_fn *open_library(void)
{
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu",
                                          "/usr/lib/riscv64-linux-gnu",
                                          "/usr/lib/powerpc64le-linux-gnu",
                                          "/usr/lib/s390x-linux-gnu",
                                          "/usr/lib64",
                                          "/usr/lib",
                                          "/usr/local/lib"};
    cblas_sgemm_fn *sgemm = NULL;
    for (size_t i = 0; i < TP_COUNT(folders); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/openblas-serial/libopenblas.so.0", folders[i]);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, "cblas_sgemm") : NULL;
        if (!found) continue;
        memcpy(&sgemm, &found, sizeof(found));
        return sgemm;
    }
    return NULL;
}

/* Opened once and never closed. */
static cblas_sgemm_fn *get_sgemm(void)
{
    static struct tp_lock lock = TP_LOCK_INIT;
    static cblas_sgemm_fn *sgemm; /* both only under the lock */
    static bool asked;
    tp_lock_take(&lock);
    if (!asked) sgemm = open_library();
    asked = true;
    cblas_sgemm_fn *const found = sgemm;
    tp_lock_drop(&lock);
    return found;
}

/* A row step that BLAS takes: of an empty or one-line matrix it may be anything. */
static int row_step(const struct tp_matrix *matrix, bool turned, size_t width)
{
    const size_t step = turned ? matrix->column : matrix->row;
    return (int)(step < width ? width : step);
}

static void product(size_t m, size_t n, size_t k, struct tp_matrix a, struct tp_matrix b,
                    void *c, size_t c_row)
{
    const bool turned_a = a.column != 1, turned_b = b.column != 1;
    const size_t most = m > n ? (m > k ? m : k) : n > k ? n : k;
    if (k == 0 || most > INT_MAX || c_row > INT_MAX || a.row > INT_MAX || a.column > INT_MAX ||
        b.row > INT_MAX || b.column > INT_MAX) { /* its integers cannot say it */
        tp_gemm_find(TROUPE_F32)(m, n, k, a, b, c, c_row);
        return;
    }
    get_sgemm()(ROW_MAJOR, turned_a ? TURNED : NOT_TURNED, turned_b ? TURNED : NOT_TURNED,
                (int)m, (int)n, (int)k, 1, a.data, row_step(&a, turned_a, turned_a ? m : k),
                b.data, row_step(&b, turned_b, turned_b ? k : n), 0, c, (int)c_row);
}

tp_gemm_fn *tp_blas_gemm(void)
{
    return get_sgemm() ? product : NULL;
}
