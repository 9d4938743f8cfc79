/* SPDX-License-Identifier: MIT
 *
 * kernels/texts.h - results of strings: room for their texts, and kernels that move strings like
 * other elements.
 */
#ifndef TP_KERNELS_TEXTS_H
#define TP_KERNELS_TEXTS_H

#include <string.h>

#include "graph/op.h"
#include "tensor/tensor.h"

/* Room for `size` bytes of texts behind the elements of result i; *at is the place of the first,
 * as a struct tp_string counts. Elements keep their values but may move: ask tp_out afterwards. */
troupe_status tp_texts_room(const struct tp_launch *launch, size_t i, size_t size, size_t *at,
                            troupe_error *err) TROUPE_MUST_CHECK;

/* The last thing that prepare does: where inputs are strings, the kernel that it chose gets them
 * with `at` as the address of the text, moves them as elements of tp_element_size bytes, or looks
 * at them, and then the texts of those that it put in results are copied behind them. A string of
 * zeros is empty. Without strings nothing is done. On failure what prepare made is dropped. */
troupe_status tp_texts_wrap(struct tp_prepare *prepare, troupe_error *err) TROUPE_MUST_CHECK;

/* A kernel: copy input 0, of strings, to result 0. */
troupe_status tp_texts_copy(const struct tp_launch *launch, troupe_error *err);

/* The text of a string that such a kernel sees. */
static inline const char *tp_text_at(uint64_t at)
{
    return (const char *)(uintptr_t)at;
}

static inline bool tp_same_text(struct tp_string a, struct tp_string b)
{
    if (a.size != b.size) return false;
    return a.size == 0 || memcmp(tp_text_at(a.at), tp_text_at(b.at), a.size) == 0;
}

#endif
