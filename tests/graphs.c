/* SPDX-License-Identifier: MIT
 *
 * tests/graphs.c - functions from text and back, for the suites of graph/.
 */
#include "tests/graphs.h"

#include <stdio.h>

#include "graph/show.h"

troupe_library *graphs_library(const char *text)
{
    troupe_error err;
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    ck_ok(troupe_library_read(library, "test", text, strlen(text), &err));
    return library;
}

troupe_function *graphs_find(const troupe_library *library, const char *name)
{
    troupe_error err;
    troupe_function *function = NULL;
    ck_ok(troupe_library_find(library, name, &function, &err));
    return function;
}

troupe_function *graphs_function(const char *text)
{
    troupe_library *library = graphs_library(text);
    const char *name = troupe_library_name(library, troupe_library_count(library) - 1);
    troupe_function *function = graphs_find(library, name);
    troupe_library_destroy(&library);
    return function;
}

char *graphs_show(const struct tp_function *function)
{
    troupe_error err;
    struct tp_text text = {0};
    char *shown = NULL;
    tp_show_text(function, &text);
    ck_ok(tp_text_take(&text, &shown, &err));
    return shown;
}

char *graphs_print(const troupe_function *function)
{
    troupe_error err;
    char *text = NULL;
    ck_ok(troupe_function_print(function, TROUPE_TEXT, &text, &err));
    return text;
}

void graphs_is(const struct tp_function *function, const char *text)
{
    char *shown = graphs_show(function);
    ck_assert_str_eq(shown, text);
    tp_free(shown);
}

const struct tp_node *graphs_node(const struct tp_function *function, const char *name)
{
    for (uint32_t i = 0; i < function->n_nodes; i++) {
        if (strcmp(function->nodes[i].name, name) == 0) return &function->nodes[i];
    }
    ck_abort_msg("no graph node '%s'", name);
    return NULL;
}

/* Room for a few answers in one statement. */
static char *answer(void)
{
    static char texts[4][512];
    static unsigned next;
    char *text = texts[next++ % 4];
    *text = 0;
    return text;
}

static const char *names(const struct tp_function *f, const uint32_t *list, uint32_t n)
{
    char *text = answer();
    size_t at = 0;
    for (uint32_t i = 0; i < n && at < 500; i++) {
        at +=
            (size_t)snprintf(text + at, 512 - at, "%s%s", i ? " " : "", f->nodes[list[i]].name);
    }
    return text;
}

const char *graphs_after(const struct tp_function *function, const char *name)
{
    const struct tp_node *node = graphs_node(function, name);
    return names(function, node->after, node->n_after);
}

const char *graphs_with(const struct tp_function *function, const char *name)
{
    const struct tp_node *node = graphs_node(function, name);
    return names(function, node->with, node->n_with);
}

const char *graphs_device(const struct tp_function *function, const char *name)
{
    char *text = answer();
    tp_name_show(&graphs_node(function, name)->device, text, 512);
    return text;
}

void graphs_starve(troupe_status (*whole)(troupe_error *err))
{
    bool failing = true;
    for (uint64_t n = 1; failing; n++) {
        troupe_error err = {0};
        const size_t pieces = tp_alloc_pieces();
        tp_alloc_fail_at(n, 0);
        const troupe_status status = whole(&err);
        failing = tp_alloc_asked() >= n;
        tp_alloc_fail_at(0, 0);
        ck_assert_msg(tp_alloc_pieces() == pieces, "allocation %d failed: a leak", (int)n);
        if (!failing) ck_ok(status);
        if (status == TROUPE_OK) continue; /* it could do without */
        ck_assert_msg(status == TROUPE_EXHAUSTED, "allocation %d failed: %s: %s", (int)n,
                      troupe_status_name(status), err.text);
    }
}

uint32_t graphs_roll(struct graphs_dice *dice, uint32_t n)
{
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((x ^ (x >> 31)) % n);
}

char *graphs_repeat(const char *head, const char *part, size_t n, const char *tail)
{
    troupe_error err;
    char *out = NULL;
    struct tp_text text = {0};
    tp_text_add(&text, "%s", head);
    for (size_t i = 0; i < n; i++)
        tp_text_add(&text, "%s", part);
    tp_text_add(&text, "%s", tail);
    ck_ok(tp_text_take(&text, &out, &err));
    return out;
}

bool graphs_same_hash(const troupe_function *a, const troupe_function *b)
{
    uint8_t x[16], y[16];
    troupe_function_hash(a, x);
    troupe_function_hash(b, y);
    return memcmp(x, y, sizeof(x)) == 0;
}

/* What the function prints is read as a function that is equal and prints the same. */
void graphs_there_and_back(const troupe_function *f)
{
    troupe_error err;
    char *text = graphs_print(f);
    troupe_library *library = NULL;
    ck_ok(troupe_library_new(&library, &err));
    const troupe_status status = troupe_library_read(library, "back", text, strlen(text), &err);
    ck_assert_msg(status == TROUPE_OK, "%s\n%s", err.text, text);
    troupe_function *back = graphs_find(library, troupe_function_name(f));
    char *again = graphs_print(back);
    ck_assert_str_eq(text, again);
    ck_assert_msg(graphs_same_hash(f, back), "%s", text);
    tp_free(again);
    tp_free(text);
    troupe_function_release(&back);
    troupe_library_destroy(&library);
}

const char graphs_round[] =
    "# two functions that call each other\n"
    "function f(x: f32[n,\"a b\"], w: f32[2] = f32[2] [1, 2]) -> (y: f32[n,?], z: f32[2] = w)\n"
    "    k = f32[2,2] [[1, 2], [3, 4]]\n"
    "    p: Print(x) @\"/job:a/device:cpu:0\"\n"
    "    s, t = Split(x, axis=0, num_outputs=2) after p @cpu:1\n"
    "    u = Test(s, alpha=1, mode=\"a\\x00\", pads=[1, -2], scales=[1, 2.5, -inf],\n"
    "             labels=[\"x\"], value=f32[2] [1, 2], to=f16, body=&g) with s\n"
    "    c, _ = Dropout(u)\n"
    "    v = Clip(u, -, c)\n"
    "    y, _ = g(x, w)\n"
    "function g(a: f32[n,m], b: f32[...]) -> (y: f32[n,m], \"o p\" = r)\n"
    "    r, q = f(a, b)\n"
    "    y = Relu(a) after r, \"r\"\n";
