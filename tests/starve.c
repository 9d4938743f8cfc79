/* SPDX-License-Identifier: MIT
 *
 * tests/starve.c - something is done again and again with the n-th request for memory failing.
 */
#include "tests/starve.h"

#define MOST_TRIES 100000

static void ck_left(uint64_t n, size_t pieces, size_t ours)
{
    if (heap_pieces() != pieces) heap_show();
    ck_assert_msg(heap_pieces() == pieces && tp_alloc_pieces() == ours,
                  "request %d failed: %d pieces are left, %d of them ours", (int)n,
                  (int)(heap_pieces() - pieces), (int)(tp_alloc_pieces() - ours));
}

/* Request n fails. False: there were fewer. */
static bool try_without(starve_fn *whole, void *arg, uint64_t n, bool all)
{
    troupe_error err = {.code = TROUPE_OK};
    heap_fail_at(n, all);
    const troupe_status status = whole(arg, &err);
    const bool hit = heap_asked() >= n;
    heap_fail_at(0, false);
    ck_assert_msg(status == TROUPE_OK || (hit && status == TROUPE_EXHAUSTED),
                  "request %d failed: %s: %s", (int)n, troupe_status_name(status), err.text);
    ck_assert_msg(!status || (err.code == status && err.text[0]), "request %d failed: %s",
                  (int)n, err.text);
    return hit;
}

static uint64_t starve_all(starve_fn *whole, void *arg, bool all, bool keeps)
{
    troupe_error err;
    ck_ok(whole(arg, &err));
    const size_t pieces = heap_pieces(), ours = tp_alloc_pieces();
    for (uint64_t n = 1; n < MOST_TRIES; n++) {
        const bool hit = try_without(whole, arg, n, all);
        if (!keeps) ck_left(n, pieces, ours);
        ck_ok(whole(arg, &err));
        ck_left(n, pieces, ours);
        if (!hit) return n;
    }
    ck_abort_msg("it never has enough");
    return 0;
}

uint64_t starve(starve_fn *whole, void *arg, bool all)
{
    return starve_all(whole, arg, all, false);
}

uint64_t starve_again(starve_fn *whole, void *arg, bool all)
{
    return starve_all(whole, arg, all, true);
}
