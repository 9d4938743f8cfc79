/* SPDX-License-Identifier: MIT
 *
 * tests/test_graph_operators.c - sets of the user's operators: rows, names, functions with them.
 */
#include "graph/function.h"
#include "graph/operator.h"
#include "tests/building.h"
#include "tests/operators.h"

/* -- Rows ---------------------------------------------------------------------------------- */

static const troupe_port one[] = {{"x", TROUPE_SET(TROUPE_F32), 0, 0}, {0}};
static const troupe_port twice[] = {
    {"x", TROUPE_SET(TROUPE_F32), 0, 0}, {"x", TROUPE_SET(TROUPE_F32), 0, 0}, {0}};
static const troupe_port untyped[] = {{"x", 0, 0, 0}, {0}};
static const troupe_port beyond[] = {{"x", TROUPE_SET(63), 0, 0}, {0}};
static const troupe_port same[] = {{"x", TROUPE_SET(TROUPE_F32), 16, 0}, {0}};
static const troupe_port flagged[] = {{"x", TROUPE_SET(TROUPE_F32), 0, 8}, {0}};
static const troupe_port variadic[] = {{"x", TROUPE_SET(TROUPE_F32), 0, TROUPE_PORT_VARIADIC},
                                       {"y", TROUPE_SET(TROUPE_F32), 0, 0},
                                       {0}};
static const troupe_port maybe[] = {{"x", TROUPE_SET(TROUPE_F32), 0, TROUPE_PORT_OPTIONAL},
                                    {0}};
static const troupe_port strings[] = {{"x", TROUPE_SET(TROUPE_STRING), 0, 0}, {0}};
static const troupe_attr whole = {.kind = TROUPE_ATTR_INT, .i = 1};
static const troupe_attr_spec required[] = {{"a", TROUPE_ATTR_INT, true, &whole}, {0}};
static const troupe_attr_spec other[] = {{"a", TROUPE_ATTR_FLOAT, false, &whole}, {0}};
static const troupe_attr_spec function[] = {{"a", TROUPE_ATTR_FUNCTION, false, NULL}, {0}};
static const troupe_attr_spec doubled[] = {
    {"a", TROUPE_ATTR_INT, false, NULL}, {"a", TROUPE_ATTR_INT, false, NULL}, {0}};

static troupe_status never(const troupe_operator_node *node, void *const *out,
                           troupe_error *err)
{
    (void)node;
    (void)out;
    return troupe_fail(err, TROUPE_INTERNAL, "never");
}

static void drop_state(void *user, void *state)
{
    (void)user;
    (void)state;
}

/* A row that is well formed but for one thing, and a word of what is said of it. */
static const struct {
    const char *word;
    troupe_operator_row row;
} malformed[] = {
#define ROW(...)                                                                               \
    {                                                                                          \
        .size = sizeof(troupe_operator_row), __VA_ARGS__                                       \
    }
    {"size is 8", {.size = 8, .name = "A", .inputs = one, .run = never}},
    {"has no name", ROW(.inputs = one, .run = never)},
    {"has no name", ROW(.name = "", .inputs = one, .run = never)},
    {"domain of its own", ROW(.name = "Relu", .inputs = one, .run = never)},
    {"ONNX's own", ROW(.domain = "ai.onnx", .name = "A", .inputs = one, .run = never)},
    {"word of the text form", ROW(.name = "A B", .inputs = one, .run = never)},
    {"word of the text form", ROW(.domain = "7", .name = "A", .inputs = one, .run = never)},
    {"word of the text form", ROW(.name = "after", .inputs = one, .run = never)},
    {"no `run`", ROW(.name = "A", .inputs = one)},
    {"no `shape`", ROW(.name = "A", .run = never)},
    {"no `shape`", ROW(.name = "A", .inputs = maybe, .run = never)},
    {"no `prepare`", ROW(.name = "A", .inputs = one, .run = never, .release = drop_state)},
    {"another has that name", ROW(.name = "A", .inputs = twice, .run = never)},
    {"no set of element types", ROW(.name = "A", .inputs = untyped, .run = never)},
    {"no set of element types", ROW(.name = "A", .inputs = beyond, .run = never)},
    {"`same` is 16", ROW(.name = "A", .inputs = same, .run = never)},
    {"flags 0x8", ROW(.name = "A", .inputs = flagged, .run = never)},
    {"not the last", ROW(.name = "A", .inputs = variadic, .run = never)},
    {"needs `gives`", ROW(.name = "A", .inputs = one, .results = strings, .run = never)},
    {"is required", ROW(.name = "A", .inputs = one, .attrs = required, .run = never)},
    {"fallback is an integer", ROW(.name = "A", .inputs = one, .attrs = other, .run = never)},
    {"its kind", ROW(.name = "A", .inputs = one, .attrs = function, .run = never)},
    {"another has that name", ROW(.name = "A", .inputs = one, .attrs = doubled, .run = never)},
    {"`reuse` 0x2", ROW(.name = "A", .inputs = one, .results = one, .reuse = 2, .run = never)},
    {"`reuse` 0x1", ROW(.name = "A", .inputs = one, .reuse = 1, .run = never)},
    {"`reuse` 0x100",
     ROW(.name = "A", .inputs = one, .results = one, .reuse = 256, .run = never)},
};

START_TEST(a_malformed_row_is_refused_and_its_user_stays_the_callers)
{
    troupe_error err;
    struct mine mine = {0};
    troupe_operators *set = NULL;
    ck_ok(troupe_operators_new(&set, &err));
    troupe_operator_row row = malformed[_i].row;
    row.user = &mine;
    row.free_user = row_scale(&mine).free_user;
    ck_fails(troupe_operators_add(set, &row, &err), INVALID, malformed[_i].word);
    ck_assert_ptr_null(troupe_operators_name(set, 0, NULL));
    troupe_operators_release(&set);
    ck_assert_int_eq(mine.frees, 0);
}
END_TEST

START_TEST(a_name_is_taken_once_and_a_set_that_was_given_away_stays_as_it_is)
{
    troupe_error err;
    struct mine mine = {0};
    troupe_operators *set = operators_all(&mine);
    troupe_operator_row row = row_scale(&mine);
    const char *summary;
    ck_assert_str_eq(troupe_operators_name(set, 0, &summary), "mine.Scale");
    ck_assert_str_eq(summary, "A multiple.");
    ck_fails(troupe_operators_add(set, &row, &err), INVALID, "'mine.Scale' is there already");
    row.name = "Relu"; /* with a domain it may be called like one of troupe's */
    ck_ok(troupe_operators_add(set, &row, &err));
    troupe_library *library = library_of(set);
    row.name = "More";
    ck_fails(troupe_operators_add(set, &row, &err), INVALID, "has the set already");
    ck_ok(troupe_library_operators(library, set, &err));
    troupe_operators *another = NULL;
    ck_ok(troupe_operators_new(&another, &err));
    ck_fails(troupe_library_operators(library, another, &err), INVALID, "another set");
    ck_fails(troupe_library_operators(library, NULL, &err), INVALID, "'operators' is NULL");
    troupe_operators_release(&another);
    troupe_library_destroy(&library);
    ck_assert_int_eq(mine.frees, 0);
    troupe_operators_release(&set);
    ck_assert_int_eq(mine.frees, 7);
}
END_TEST

START_TEST(rows_are_copied)
{
    troupe_error err;
    struct mine mine = {0};
    char domain[] = "mine", name[] = "Op", port[] = "x", attr[] = "a", version[] = "1";
    int64_t ints[] = {1, 2};
    troupe_tensor *value = tensor("f32[] 1");
    troupe_attr first = {.kind = TROUPE_ATTR_INTS, .n = 2, .ints = ints};
    troupe_attr second = {.kind = TROUPE_ATTR_TENSOR, .tensor = value};
    troupe_attr_spec attrs[] = {{attr, TROUPE_ATTR_INTS, false, &first},
                                {"t", TROUPE_ATTR_TENSOR, false, &second},
                                {0}};
    troupe_port ports[] = {{port, TROUPE_SET(TROUPE_F32), 1, 0}, {0}};
    troupe_operator_row row = row_scale(&mine);
    row.domain = domain;
    row.name = name;
    row.version = version;
    row.inputs = row.results = ports;
    row.attrs = attrs;
    troupe_operators *set = NULL;
    ck_ok(troupe_operators_new(&set, &err));
    ck_ok(troupe_operators_add(set, &row, &err));
    troupe_tensor_release(&value);
    memset(domain, '#', sizeof(domain) - 1);
    memset(name, '#', sizeof(name) - 1);
    memset(port, '#', sizeof(port) - 1);
    memset(attr, '#', sizeof(attr) - 1);
    memset(version, '#', sizeof(version) - 1);
    memset(ints, 0, sizeof(ints));
    memset(attrs, 0, sizeof(attrs));
    memset(ports, 0, sizeof(ports));
    troupe_function *f =
        function_with(set, "function f(x: f32[2]) -> (y)\n  y = mine.Op(x, a=[3])\n");
    const struct tp_operator *o = f->body->nodes[0].op->user;
    ck_assert_str_eq(o->op.inputs[0].name, "x");
    ck_assert_int_eq(o->fallback[0]->ints[1], 2);
    ck_assert_uint_eq(troupe_tensor_count(o->fallback[1]->tensor), 1);
    ck_assert_str_eq(o->row.version, "1");
    troupe_function_release(&f);
    troupe_operators_release(&set);
}
END_TEST

/* -- Functions with them ------------------------------------------------------------------- */

START_TEST(the_builder_takes_them_and_the_text_form_gives_an_equal_function)
{
    troupe_error err;
    struct mine mine = {0};
    char *text = NULL;
    troupe_operators *set = operators_all(&mine);
    troupe_library *library = library_of(set);
    troupe_builder *b = builder("f", library);
    const troupe_value x = arg(b, "x", "f32[n]");
    const troupe_value a = add(b, NODE(.op = "mine.Scale", IN(x), OUT("a"),
                                       ATTRS({"factor", TROUPE_ATTR_FLOAT, .f = 3})));
    result(b, "y", add(b, NODE(.op = "mine.Sum", IN(a, x, a), OUT("y"))));
    troupe_function *f = finish(&b), *again = NULL;
    ck_assert_str_eq(result_text(f, 0), "f32[n]"); /* the name of the dimension goes on */
    ck_ok(troupe_function_print(f, TROUPE_TEXT, &text, &err));
    ck_assert_ptr_nonnull(strstr(text, "mine.Scale(x, factor=3.0)"));
    again = function_with(set, text);
    uint8_t hash[2][16];
    troupe_function_hash(f, hash[0]);
    troupe_function_hash(again, hash[1]);
    ck_assert_mem_eq(hash[0], hash[1], 16);
    ck_ok(troupe_library_add(library, f, &err));
    ck_ok(troupe_library_add(library, again, &err)); /* an equal one, of the same operators */
    troupe_free(text);
    troupe_function_release(&f);
    troupe_library_destroy(&library);
    troupe_operators_release(&set);
    ck_assert_int_eq(mine.frees, 4); /* `again` has two still */
    troupe_function_release(&again);
    ck_assert_int_eq(mine.frees, 6);
}
END_TEST

/* What a text with operators is refused for. */
static const struct {
    troupe_status status;
    const char *text, *word;
} refused[] = {
    {TROUPE_NOT_FOUND, "function f(x: f32[1]) -> (y)\n  y = mine.Scal(x)\n",
     "close: 'mine.Scale'"},
    {TROUPE_INVALID, "function f(x: i64[1]) -> (y)\n  y = mine.Scale(x)\n",
     "input 0 'x' is i64, not f32"},
    {TROUPE_INVALID, "function f(x: f32[1]) -> (y)\n  y = mine.Scale(x, x)\n",
     "2 inputs where mine.Scale has 1"},
    {TROUPE_INVALID, "function f(x: f32[1]) -> (y)\n  y = mine.Scale(x, size=1)\n",
     "attribute 'size' is unknown; mine.Scale has factor"},
    {TROUPE_INVALID, "function f(x: f32[1]) -> (y)\n  y = mine.Scale(x, factor=\"a\")\n",
     "not a float"},
    {TROUPE_INVALID, "function f(x: f32[1,1]) -> (y)\n  y, n = mine.Positive(x)\n",
     "node 'y': operator 'mine.Positive': rank 2, not 1"},
    {TROUPE_INVALID, "function mine.Scale(x: f32[1]) -> (y = x)\n", "name of an operator"},
};

START_TEST(what_does_not_fit_a_row_is_refused_where_it_stands)
{
    troupe_error err = {0};
    struct mine mine = {0};
    troupe_operators *set = operators_all(&mine);
    troupe_library *library = library_of(set);
    const char *text = refused[_i].text;
    const troupe_status status = troupe_library_read(library, "t", text, strlen(text), &err);
    ck_assert_int_eq(status, refused[_i].status);
    ck_assert_msg(strstr(err.text, refused[_i].word), "%s", err.text);
    ck_assert_int_eq(strncmp(err.text, "t:", 2), 0);
    troupe_library_destroy(&library);
    troupe_operators_release(&set);
}
END_TEST

static const struct {
    int fault;
    const char *word;
} shape_faults[] = {
    {FAULT_SHAPE_FAILS, "node 'y': operator 'mine.Bad': no shape today"},
    {FAULT_SHAPE_RANK, "operator 'mine.Bad': shape gives result 0: rank 9, not 0 to 8"},
    {FAULT_SHAPE_DIM, "dimension 0 is -12345, which no input has"},
    {FAULT_SHAPE_TYPE, "element type i64, not f32"},
    {FAULT_SHAPE_HUGE, "shape gives result 0"},
};

START_TEST(a_shape_that_cannot_be_is_refused_when_the_function_is_built)
{
    troupe_error err;
    struct mine mine = {.fault = shape_faults[_i].fault};
    troupe_operators *set = operators_all(&mine);
    troupe_library *library = library_of(set);
    static const char text[] = "function f(x: f32[n]) -> (y)\n  y = mine.Bad(x)\n";
    ck_fails(troupe_library_read(library, "t", text, strlen(text), &err), INVALID,
             shape_faults[_i].word);
    ck_assert_int_eq(mine.shapes, 1);
    troupe_library_destroy(&library);
    troupe_operators_release(&set);
}
END_TEST

/* Notes the texts of both inputs for its user, an array of two. */
static troupe_status look_shape(const troupe_operator_node *node, troupe_type *results,
                                troupe_error *err)
{
    const char **seen = node->user;
    (void)err;
    for (size_t i = 0; i < 2; i++)
        seen[i] = troupe_operator_string(node, i, 0, NULL);
    ck_assert_ptr_null(troupe_operator_string(node, 2, 0, NULL));
    results[0] = *node->inputs[0];
    return TROUPE_OK;
}

START_TEST(an_input_that_a_graph_node_lacks_has_no_texts)
{
    troupe_error err;
    static const troupe_port inputs[] = {
        {"x", TROUPE_SET(TROUPE_STRING), 0, 0},
        {"z", TROUPE_SET(TROUPE_STRING), 0, TROUPE_PORT_OPTIONAL},
        {0}};
    static const char text[] = "function f() -> (y)\n"
                               "  a = string[1] [\"one\"]\n  b = string[1] [\"two\"]\n"
                               "  c = Look(a, b)\n  y = Look(a)\n";
    const char *seen[2] = {NULL, NULL};
    const troupe_operator_row row =
        ROW(.name = "Look", .inputs = inputs, .results = strings, .gives = true,
            .shape = look_shape, .run = never, .user = seen);
    troupe_operators *set = operators_of(row);
    troupe_library *library = library_of(set);
    ck_ok(troupe_library_read(library, "t", text, strlen(text), &err));
    ck_assert_str_eq(seen[0], "one");
    ck_assert_ptr_null(seen[1]);
    troupe_library_destroy(&library);
    troupe_operators_release(&set);
}
END_TEST

START_TEST(a_list_of_element_types_that_is_too_long_says_so)
{
    troupe_error err;
    static const troupe_port fixed[] = {{"x", TROUPE_SET_FIXED, 0, 0}, {0}};
    static const char text[] = "function f(x: string[1]) -> (y)\n  y = A(x)\n";
    troupe_operators *set = operators_of(
        (troupe_operator_row)ROW(.name = "A", .inputs = fixed, .results = one, .run = never));
    troupe_library *library = library_of(set);
    ck_fails(troupe_library_read(library, "t", text, strlen(text), &err), INVALID,
             "input 0 'x' is string, not f32, f64");
    ck_assert_str_eq(err.text + strlen(err.text) - 5, ", ...");
    troupe_library_destroy(&library);
    troupe_operators_release(&set);
}
END_TEST

START_TEST(a_row_of_a_newer_program_may_have_nothing_that_is_not_known)
{
    troupe_error err;
    struct {
        troupe_operator_row row;
        uint64_t more;
    } wide = {.row = ROW(.name = "A", .inputs = one, .run = never)};
    troupe_operators *set = NULL;
    ck_ok(troupe_operators_new(&set, &err));
    wide.row.size = sizeof(troupe_operator_row) - sizeof(wide.row.free_user);
    ck_fails(troupe_operators_add(set, &wide.row, &err), INVALID, "troupe_operator_row.size");
    wide.row.size = sizeof(wide);
    wide.more = 1;
    ck_fails(troupe_operators_add(set, &wide.row, &err), INVALID, "troupe_operator_row.size");
    wide.more = 0;
    ck_ok(troupe_operators_add(set, &wide.row, &err));
    troupe_operators_release(&set);
}
END_TEST

static void hash_of(const troupe_operators *set, uint8_t out[16])
{
    troupe_function *f = function_with(set, "function f(x: f32[1]) -> (y)\n  y = mine.A(x)\n");
    troupe_function_hash(f, out);
    troupe_function_release(&f);
}

/* Versions of a row; all differ from the first, and in the hash all but the last. */
START_TEST(the_hash_tells_rows_apart_and_a_library_their_functions_too)
{
    troupe_error err;
    struct mine mine = {0};
    static const troupe_port named[] = {{"z", TROUPE_SET(TROUPE_F32), 1, 0}, {0}};
    troupe_operator_row rows[] = {row_scale(&mine), row_scale(&mine), row_scale(&mine),
                                  row_scale(&mine), row_scale(&mine)};
    troupe_operators *sets[TP_COUNT(rows)] = {NULL};
    uint8_t hash[TP_COUNT(rows)][16];
    rows[1].version = "2";
    rows[2].inputs = named;
    rows[3].effects = true;
    for (size_t i = 0; i < TP_COUNT(rows); i++) {
        rows[i].name = "A";
        ck_ok(troupe_operators_new(&sets[i], &err));
        ck_ok(troupe_operators_add(sets[i], &rows[i], &err));
        hash_of(sets[i], hash[i]);
    }
    for (size_t i = 1; i < TP_COUNT(rows); i++)
        ck_assert_int_eq(memcmp(hash[0], hash[i], 16) == 0, i + 1 == TP_COUNT(rows));
    static const char text[] = "function f(x: f32[1]) -> (y)\n  y = mine.A(x)\n";
    troupe_function *twin = function_with(sets[TP_COUNT(rows) - 1], text);
    troupe_library *library = library_of(sets[0]);
    ck_ok(troupe_library_read(library, "t", text, strlen(text), &err));
    ck_fails(troupe_library_add(library, twin, &err), INVALID, "another function 'f'");
    troupe_function_release(&twin);
    troupe_library_destroy(&library);
    for (size_t i = 0; i < TP_COUNT(rows); i++)
        troupe_operators_release(&sets[i]);
    ck_assert_int_eq(mine.frees, TP_COUNT(rows));
}
END_TEST

static troupe_status make_all(struct mine *mine, troupe_error *err)
{
    static const char text[] = "function f(x: f32[n]) -> (y, p, n)\n"
                               "  a = mine.Scale(x)\n  y = mine.Sum(a, x)\n"
                               "  p, n = mine.Positive(y)\n";
    const troupe_operator_row rows[] = {row_scale(mine), row_sum(mine), row_positive(mine)};
    TP_OWNED(troupe_operators_release) troupe_operators *set = NULL;
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_TRY(troupe_operators_new(&set, err));
    for (size_t i = 0; i < TP_COUNT(rows); i++)
        TP_TRY(troupe_operators_add(set, &rows[i], err));
    TP_TRY(troupe_library_new(&library, err));
    TP_TRY(troupe_library_operators(library, set, err));
    return troupe_library_read(library, "t", text, strlen(text), err);
}

START_TEST(whatever_allocation_fails_a_set_and_its_functions_lose_nothing)
{
    troupe_error err;
    struct mine mine = {0};
    ck_starve(make_all(&mine, &err));
    ck_assert_int_ge(mine.frees, 3);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("graph/operators");
    TCase *rows = tcase_create("rows"), *functions = tcase_create("functions");
    tcase_add_loop_test(rows, a_malformed_row_is_refused_and_its_user_stays_the_callers, 0,
                        TP_COUNT(malformed));
    tcase_add_test(rows, a_name_is_taken_once_and_a_set_that_was_given_away_stays_as_it_is);
    tcase_add_test(rows, rows_are_copied);
    tcase_add_test(rows, a_row_of_a_newer_program_may_have_nothing_that_is_not_known);
    tcase_add_test(rows, a_list_of_element_types_that_is_too_long_says_so);
    tcase_add_test(rows, an_input_that_a_graph_node_lacks_has_no_texts);
    suite_add_tcase(s, rows);
    tcase_add_test(functions, the_builder_takes_them_and_the_text_form_gives_an_equal_function);
    tcase_add_loop_test(functions, what_does_not_fit_a_row_is_refused_where_it_stands, 0,
                        TP_COUNT(refused));
    tcase_add_loop_test(functions, a_shape_that_cannot_be_is_refused_when_the_function_is_built,
                        0, TP_COUNT(shape_faults));
    tcase_add_test(functions, the_hash_tells_rows_apart_and_a_library_their_functions_too);
    tcase_add_test(functions, whatever_allocation_fails_a_set_and_its_functions_lose_nothing);
    suite_add_tcase(s, functions);
    return test_run(s);
}
