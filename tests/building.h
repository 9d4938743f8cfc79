/* SPDX-License-Identifier: MIT
 *
 * tests/building.h - functions by way of the builder, in few words.
 */
#ifndef TP_TESTS_BUILDING_H
#define TP_TESTS_BUILDING_H

#include "tests/graphs.h"

#define NODE(...) (&(troupe_node){.size = sizeof(troupe_node), __VA_ARGS__})
#define IN(...)                                                                                \
    .inputs = (const troupe_value[]){__VA_ARGS__},                                             \
    .n_inputs = sizeof((const troupe_value[]){__VA_ARGS__}) / sizeof(troupe_value)
#define OUT(...)                                                                               \
    .result_names = (const char *const[]){__VA_ARGS__},                                        \
    .n_results = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define AFTER(...)                                                                             \
    .after = (const char *const[]){__VA_ARGS__},                                               \
    .n_after = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define WITH(...)                                                                              \
    .with = (const char *const[]){__VA_ARGS__},                                                \
    .n_with = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define ATTRS(...)                                                                             \
    .attrs = (const troupe_attr[]){__VA_ARGS__},                                               \
    .n_attrs = sizeof((const troupe_attr[]){__VA_ARGS__}) / sizeof(troupe_attr)

static inline troupe_tensor *tensor(const char *text)
{
    troupe_error err;
    troupe_tensor *t = NULL;
    ck_ok(troupe_tensor_parse(&t, text, &err));
    return t;
}

static inline troupe_builder *builder(const char *name, const troupe_library *library)
{
    troupe_error err;
    troupe_builder *b = NULL;
    ck_ok(troupe_builder_new(&b, name, library, &err));
    return b;
}

static inline troupe_value arg(troupe_builder *b, const char *name, const char *type)
{
    troupe_error err;
    troupe_value v = TROUPE_NO_VALUE;
    ck_ok(troupe_builder_arg(b, name, type, &v, &err));
    return v;
}

static inline troupe_value add(troupe_builder *b, const troupe_node *node)
{
    troupe_error err;
    troupe_value v[8] = {TROUPE_NO_VALUE};
    ck_ok(troupe_builder_node(b, node, v, &err));
    return v[0];
}

static inline troupe_value constant(troupe_builder *b, const char *name, const char *text)
{
    troupe_error err;
    troupe_value v;
    troupe_tensor *t = tensor(text);
    ck_ok(troupe_builder_constant(b, name, t, &v, &err));
    troupe_tensor_release(&t);
    return v;
}

static inline void result(troupe_builder *b, const char *name, troupe_value v)
{
    troupe_error err;
    ck_ok(troupe_builder_result(b, name, v, &err));
}

static inline troupe_function *finish(troupe_builder **b)
{
    troupe_error err;
    troupe_function *f = NULL;
    ck_ok(troupe_builder_finish(b, &f, &err));
    ck_assert_ptr_null(*b);
    return f;
}

/* (x: f32[n,4], w: f32[4]) and a = Mul(x, w) */
static inline troupe_builder *begun(troupe_value *a)
{
    troupe_builder *b = builder("f", NULL);
    const troupe_value x = arg(b, "x", "f32[n,4]"), w = arg(b, "w", "f32[4]");
    *a = add(b, NODE(.op = "Mul", IN(x, w), OUT("a")));
    return b;
}

static inline const char *result_text(const troupe_function *f, size_t i)
{
    static char text[128];
    troupe_function_result_text(f, i, text, sizeof(text));
    return text;
}

#endif
