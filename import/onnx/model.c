/* SPDX-License-Identifier: MIT
 *
 * import/onnx/model.c - an ONNX model becomes a function of a library.
 *
 * The bytes are scanned and decoded, all that is missing is named at once, then the graph is
 * built: inputs become arguments, initializers constants, nodes graph nodes, outputs results.
 * An input that has an initializer too is a constant below IR version 4, as the standard has
 * it, and an argument with a default from then on. Declared types of other values are not
 * trusted: inference says them.
 */
#include "import/onnx/model.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/arena.h"
#include "graph/build.h"
#include "graph/library.h"
#include "graph/op.h"
#include "graph/word.h"
#include "import/onnx/import.h"
#include "import/onnx/scan.h"

/* --- arguments ------------------------------------------------------------------------ */

/* "None" stood for any dimension in some exporters, so two of them need not be equal. */
static bool is_name(const char *text)
{
    const size_t size = strlen(text);
    return size > 0 && tp_word_dim_size(text, size) == size && strcmp(text, "None") != 0;
}

/* A number below 1 was how some exporters wrote that it is unknown. */
static void add_dim(struct tp_text *text, const Onnx__TensorShapeProto__Dimension *dim)
{
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        dim->dim_value > 0)
        tp_text_add(text, "%lld", (long long)dim->dim_value);
    else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
             is_name(tp_onnx_text(dim->dim_param)))
        tp_text_add(text, "%s", dim->dim_param);
    else
        tp_text_add(text, "?");
}

static void add_shape(struct tp_text *text, const Onnx__TensorShapeProto *shape)
{
    tp_text_add(text, "[");
    if (!shape) tp_text_add(text, "...");
    for (size_t i = 0; shape && i < shape->n_dim; i++) {
        if (i > 0) tp_text_add(text, ",");
        add_dim(text, shape->dim[i]);
    }
    tp_text_add(text, "]");
}

/* The type of an input as text. Of one that nobody uses, or only for its element type, the
 * shape does not matter. */
static troupe_status type_text(const Onnx__ValueInfoProto *input, bool any_shape, char **out,
                               troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text text = {0};
    const Onnx__TypeProto *const type = input->type;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return tp_fail(err, TROUPE_INVALID, "it has no type");
    const Onnx__TensorShapeProto *const shape = any_shape ? NULL : type->tensor_type->shape;
    if (shape && shape->n_dim > TROUPE_MAX_RANK)
        return tp_fail(err, TROUPE_UNSUPPORTED, "rank %zu (at most %d)", shape->n_dim,
                       TROUPE_MAX_RANK);
    tp_text_add(&text, "%s", troupe_dtype_name(tp_onnx_dtype(type->tensor_type->elem_type)));
    add_shape(&text, shape);
    return tp_text_take(&text, out, err);
}

static troupe_status add_argument(struct tp_onnx_build *build,
                                  const Onnx__ValueInfoProto *input, struct tp_onnx_name *name,
                                  troupe_error *err)
{
    TP_OWNED(troupe_tensor_release) troupe_tensor *value = NULL;
    TP_OWNED(tp_free_at) char *type = NULL;
    const char *unique;
    if (name->value != TROUPE_NO_VALUE)
        return tp_fail(err, TROUPE_INVALID, "it is there twice");
    TP_TRY(type_text(input, name->uses == 0, &type, err));
    TP_TRY(tp_onnx_free_name(build, name->text, false, &unique, err));
    if (!name->initializer)
        return troupe_builder_arg(build->builder, unique, type, &name->value, err);
    TP_TRY(tp_onnx_tensor(&build->model->source, name->initializer, &value, err));
    return troupe_builder_arg_default(build->builder, unique, type, value, &name->value, err);
}

/* Inputs in order. Below IR version 4 those with an initializer are no arguments. */
static troupe_status add_arguments(struct tp_onnx_build *build, const Onnx__GraphProto *graph,
                                   troupe_error *err)
{
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *const text = tp_onnx_text(graph->input[i]->name);
        struct tp_onnx_name nameless = {.text = "input",
                                        .value = TROUPE_NO_VALUE}; /* nobody can use it */
        struct tp_onnx_name *const name =
            *text ? tp_onnx_names_find(&build->scope->names, text) : &nameless;
        if (name->initializer && build->model->proto->ir_version < 4) continue;
        const troupe_status status = add_argument(build, graph->input[i], name, err);
        if (status >= 0) continue;
        tp_fail_in(err, "input '%s'", text);
        return status;
    }
    return TROUPE_OK;
}

/* --- the names of the graph ----------------------------------------------------------- */

static troupe_status add_initializers(struct tp_onnx_build *build,
                                      const Onnx__GraphProto *graph, troupe_error *err)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const char *const text = tp_onnx_text(graph->initializer[i]->name);
        struct tp_onnx_name *name;
        if (*text == 0) return tp_fail(err, TROUPE_INVALID, "initializer %zu has no name", i);
        TP_TRY(tp_onnx_names_add(&build->scope->names, build->arena, text, &name, err));
        name->initializer = graph->initializer[i];
    }
    return TROUPE_OK;
}

static troupe_status add_inputs(struct tp_onnx_build *build, const Onnx__GraphProto *graph,
                                troupe_error *err)
{
    struct tp_onnx_names *const names = &build->scope->names;
    const uint32_t initializers = names->count;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *const text = tp_onnx_text(graph->input[i]->name);
        struct tp_onnx_name *name = tp_onnx_names_find(names, text);
        if (*text == 0 || (name && name - names->list < (ptrdiff_t)initializers)) continue;
        TP_TRY(tp_onnx_names_add(names, build->arena, text, &name, err));
    }
    return TROUPE_OK;
}

static void count_outputs(struct tp_onnx_build *build, const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_output; i++) {
        struct tp_onnx_name *const name =
            tp_onnx_names_find(&build->scope->names, tp_onnx_text(graph->output[i]->name));
        if (name) name->uses++;
    }
}

static troupe_status add_results(struct tp_onnx_build *build, const Onnx__GraphProto *graph,
                                 troupe_error *err)
{
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *const text = tp_onnx_text(graph->output[i]->name);
        troupe_value value = TROUPE_NO_VALUE;
        struct tp_onnx_name *const name = tp_onnx_names_find(&build->scope->names, text);
        troupe_status status = tp_onnx_value(build, name, text, &value, err);
        if (status >= 0) status = troupe_builder_result(build->builder, text, value, err);
        if (status >= 0) continue;
        tp_fail_in(err, "output %zu", i);
        return status;
    }
    return TROUPE_OK;
}

/* --- the function --------------------------------------------------------------------- */

static troupe_status build_graph(struct tp_onnx_build *build, troupe_error *err)
{
    const Onnx__GraphProto *const graph = build->model->proto->graph;
    struct tp_onnx_scope *const scope = build->scope;
    TP_TRY(tp_onnx_scope_init(build, scope, graph->n_initializer + graph->n_input, err));
    TP_TRY(add_initializers(build, graph, err));
    TP_TRY(add_inputs(build, graph, err));
    TP_TRY(tp_onnx_scope_fill(build, scope, err));
    count_outputs(build, graph);
    TP_TRY(add_arguments(build, graph, err));
    TP_TRY(tp_onnx_body_build(build, err));
    return add_results(build, graph, err);
}

static void build_fini(struct tp_onnx_build *build)
{
    troupe_builder_destroy(&build->builder);
    for (size_t i = 0; i < build->n_tensors; i++)
        troupe_tensor_release(&build->tensors[i]);
    tp_free(build->tensors);
    tp_onnx_again_fini(&build->again);
    tp_onnx_names_fini(&build->scope->names);
}

static troupe_status build_function(struct tp_onnx_model *model, const char *name,
                                    const char *source, troupe_function **out,
                                    troupe_error *err)
{
    struct tp_onnx_scope scope = {.body = tp_onnx_graph_body(model->proto), .prefix = ""};
    TP_OWNED(build_fini)
    struct tp_onnx_build build = {.model = model, .arena = model->arena, .scope = &scope};
    const struct tp_finder finder = {.operators = model->operators};
    TP_TRY(tp_builder_new(&build.builder, name, &finder, err));
    TP_TRY(tp_builder_source(build.builder, source, err));
    TP_TRY(build_graph(&build, err));
    return troupe_builder_finish(&build.builder, out, err);
}

/* --- its name ------------------------------------------------------------------------- */

#define NAME_SIZE 128

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A text as an identifier: other bytes become underscores. Empty when there is none in it. */
static void identifier(const troupe_operators *operators, const char *text, size_t size,
                       char out[NAME_SIZE])
{
    size_t n = 0;
    bool any = false;
    if (size > 0 && is_digit(text[0])) out[n++] = '_';
    for (size_t i = 0; i < size && n < NAME_SIZE - 1; i++) {
        const bool kept = is_letter(text[i]) || is_digit(text[i]);
        any |= kept;
        out[n++] = kept ? text[i] : '_';
    }
    out[any ? n : 0] = 0;
    if (tp_operators_find(operators, out))
        snprintf(out + n, NAME_SIZE - n, "_model"); /* a function may not be called so */
}

/* "dir/net.v2.onnx" gives "net_v2". */
static void source_name(const troupe_operators *operators, const char *source,
                        char out[NAME_SIZE])
{
    const char *const slash = strrchr(source, '/');
    const char *const base = slash ? slash + 1 : source;
    const char *const dot = strrchr(base, '.');
    identifier(operators, base, dot && dot > base ? (size_t)(dot - base) : strlen(base), out);
    if (*out == 0) strcpy(out, "model");
}

static const char *library_name(const troupe_library *library, const char *name)
{
    for (size_t i = 0; i < troupe_library_count(library); i++) {
        const char *const there = troupe_library_name(library, i);
        if (strcmp(there, name) == 0) return there;
    }
    return NULL;
}

/* Where a function goes, and what messages call its file. */
struct target {
    const char *source;
    troupe_library *library;
    const char **name;
};

static troupe_status add_as(struct tp_onnx_model *model, const struct target *to,
                            const char *name, troupe_error *err)
{
    TP_OWNED(troupe_function_release) troupe_function *function = NULL;
    TP_TRY(build_function(model, name, to->source, &function, err));
    TP_TRY(troupe_library_add(to->library, function, err));
    if (to->name) *to->name = library_name(to->library, name);
    return TROUPE_OK;
}

/* Exporters call every graph alike ("main_graph"): when another function has the name it is
 * that of the file. */
static troupe_status add_function(struct tp_onnx_model *model, const struct target *to,
                                  troupe_error *err)
{
    const char *const graph = tp_onnx_text(model->proto->graph->name);
    char own[NAME_SIZE], other[NAME_SIZE];
    troupe_error first;
    identifier(model->operators, graph, strlen(graph), own);
    source_name(model->operators, to->source, other);
    if (*own == 0) return add_as(model, to, other, err);
    const bool taken = library_name(to->library, own) != NULL;
    const troupe_status status = add_as(model, to, own, taken ? &first : err);
    return status >= 0 || !taken ? status : add_as(model, to, other, err);
}

/* --- reading -------------------------------------------------------------------------- */

static void model_fini(struct tp_onnx_model *model)
{
    ProtobufCMessage *message = (ProtobufCMessage *)model->proto;
    tp_onnx_free(&message);
    tp_onnx_source_fini(&model->source);
    tp_index_fini(&model->function_index);
    tp_arena_destroy(&model->arena);
}

static troupe_status decode(struct tp_onnx_model *model, troupe_error *err)
{
    ProtobufCMessage *message;
    TP_TRY(tp_onnx_decode(&onnx__model_proto__descriptor, model->source.bytes,
                          model->source.size, &message, err));
    model->proto = (Onnx__ModelProto *)message;
    const long long version = model->proto->ir_version;
    if (!model->proto->graph) return tp_fail(err, TROUPE_CORRUPT, "it has no graph");
    if (version < TP_ONNX_IR_OLDEST || version > TP_ONNX_IR_NEWEST)
        return tp_fail(err, TROUPE_UNSUPPORTED, "IR version %lld (%d to %d are read)", version,
                       TP_ONNX_IR_OLDEST, TP_ONNX_IR_NEWEST);
    return TROUPE_OK;
}

static troupe_status read_model(struct tp_onnx_model *model, const struct target *to,
                                troupe_error *err)
{
    TP_TRY(tp_arena_new(&model->arena, err));
    TP_TRY(decode(model, err));
    TP_TRY(tp_onnx_functions_add(model, err));
    TP_TRY(tp_onnx_measure(model, err));
    TP_TRY(tp_onnx_survey(model, err));
    return add_function(model, to, err);
}

static void set_label(struct tp_onnx_model *model, const char *source)
{
    const size_t size = strlen(source), room = sizeof(model->label) - 1;
    snprintf(model->label, sizeof(model->label), "%s%s", size > room ? "..." : "",
             size > room ? source + size - room + 3 : source);
}

troupe_status tp_onnx_read(const void *bytes, size_t size, const char *folder,
                           const char *source, troupe_library *library, const char **name,
                           troupe_error *err)
{
    const struct target to = {.source = source, .library = library, .name = name};
    TP_OWNED(model_fini)
    struct tp_onnx_model model = {.source = TP_ONNX_SOURCE(bytes, size, folder),
                                  .operators = tp_library_finder(library).operators};
    set_label(&model, source);
    const troupe_status status = read_model(&model, &to, err);
    if (status < 0) tp_fail_in(err, "%s", model.label);
    return status;
}
