/* SPDX-License-Identifier: MIT
 *
 * tests/test.h - what every suite uses: checks of a status with its text, starving, and the
 * run.
 */
#ifndef TP_TESTS_TEST_H
#define TP_TESTS_TEST_H

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "troupe/status.h"

/* expr gives TROUPE_OK; it uses the local `troupe_error err`, whose text is printed if not. */
#define ck_ok(expr)                                                                            \
    do {                                                                                       \
        const troupe_status ck_status_ = (expr);                                               \
        ck_assert_msg(ck_status_ == TROUPE_OK, "%s: %s: %s", #expr,                            \
                      troupe_status_name(ck_status_), ck_status_ < 0 ? err.text : "");         \
    } while (0)

/* expr fails with TROUPE_<want> in its status and in the local `troupe_error err`, whose text
 * has `word` in it. */
#define ck_fails(expr, want, word)                                                             \
    do {                                                                                       \
        memset(&err, 0, sizeof(err));                                                          \
        const troupe_status ck_status_ = (expr);                                               \
        ck_assert_msg(ck_status_ == TROUPE_##want, "%s: %s, not %s: %s", #expr,                \
                      troupe_status_name(ck_status_), #want, err.text);                        \
        ck_assert_msg(err.code == ck_status_, "%s: the error's code is %s", #expr,             \
                      troupe_status_name(err.code));                                           \
        ck_assert_msg(strstr(err.text, (word)) != NULL, "%s: no \"%s\" in \"%s\"", #expr,      \
                      (word), err.text);                                                       \
    } while (0)

/* Run expr (of `troupe_error err`) with allocation 1, 2, ... failing until it works, as it is
 * left then. Before that it must fail with EXHAUSTED and leak nothing. */
#define ck_starve(expr)                                                                        \
    do {                                                                                       \
        troupe_status ck_starved_ = TROUPE_EXHAUSTED;                                          \
        for (uint64_t ck_n_ = 1; ck_starved_ != TROUPE_OK; ck_n_++) {                          \
            const size_t ck_pieces_ = tp_alloc_pieces();                                       \
            tp_alloc_fail_at(ck_n_, 0);                                                        \
            ck_starved_ = (expr);                                                              \
            const int ck_hit_ = tp_alloc_asked() >= ck_n_;                                     \
            tp_alloc_fail_at(0, 0);                                                            \
            if (!ck_hit_) ck_ok(ck_starved_);                                                  \
            if (ck_starved_ == TROUPE_OK) break;                                               \
            ck_assert_msg(ck_starved_ == TROUPE_EXHAUSTED, "%s: %s at allocation %d: %s",      \
                          #expr, troupe_status_name(ck_starved_), (int)ck_n_, err.text);       \
            ck_assert_msg(tp_alloc_pieces() == ck_pieces_, "%s: allocation %d failed: leak",   \
                          #expr, (int)ck_n_);                                                  \
        }                                                                                      \
    } while (0)

/* What main returns: 0 when every test passed. */
static inline int test_run(Suite *s)
{
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif
