/* SPDX-License-Identifier: MIT
 *
 * tests/names.h - device names from text and back, for the suites of graph/name.
 */
#ifndef TP_TESTS_NAMES_H
#define TP_TESTS_NAMES_H

#include "graph/name.h"
#include "tests/test.h"

#define NAMES_FULL "/job:foo/replica:1/task:2/device:GPU:3"

static inline struct tp_name names_parse(const char *text)
{
    troupe_error err = {0};
    struct tp_name name = {0};
    ck_ok(tp_name_parse(text, &name, &err));
    return name;
}

static inline void names_text(const struct tp_name *name, const char *text)
{
    ck_assert_str_eq(tp_name_text(name).text, text);
}

#endif
