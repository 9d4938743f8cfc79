/* SPDX-License-Identifier: MIT
 *
 * tests/op_case.c - a sample of an op's row made real.
 */
#include "tests/op_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/test.h"

/* --- reading a sample --------------------------------------------------------------- */
/* The next word: up to a blank outside brackets and quotes. False at the end. */
static bool next_word(const char **text, char *word, size_t size)
{
    int depth = 0;
    bool quoted = false;
    size_t n = 0;
    while (**text == ' ')
        ++*text;
    if (!**text) return false;
    for (; **text && (depth > 0 || quoted || **text != ' '); ++*text) {
        if (**text == '"') quoted = !quoted;
        if (**text == '[') depth++;
        if (**text == ']') depth--;
        case_must(n + 1 < size, "a sample's word is too long: %.40s", word);
        word[n++] = **text;
    }
    word[n] = 0;
    return true;
}

/* Dimensions in brackets. */
static void read_dims(const char *text, struct tp_shape *shape)
{
    shape->rank = 0;
    for (text++; *text && *text != ']'; text += *text == ',') {
        char *end;
        shape->dims[shape->rank++] = strtoll(text, &end, 10);
        text = end;
    }
}

/* "f32[2,3]" or "f32[2]=[1,2]"; in another type where `dtype` is one. */
static bool read_input(struct op_case *c, char *word, troupe_dtype dtype, uint64_t *seed)
{
    const size_t i = c->n_inputs++;
    case_must(i < CASE_PORTS, "%s: too many inputs", c->op->name);
    if (strcmp(word, "-") == 0) return true;
    char *bracket = strchr(word, '['), *value = strchr(word, '=');
    case_must(bracket != NULL, "%s: '%s' is no type", c->op->name, word);
    struct tp_type type = {0};
    read_dims(bracket, &type.shape);
    *bracket = 0;
    type.dtype = troupe_dtype_parse(word);
    case_must(type.dtype != TROUPE_DTYPE_NONE, "%s: '%s' is no type", c->op->name, word);
    const struct tp_port *port = tp_op_port(c->op->inputs, i), *first = c->op->inputs;
    if (dtype != TROUPE_DTYPE_NONE && port && port->same && port->same == first->same)
        type.dtype = dtype;
    troupe_error err;
    if (!value && type.dtype == TROUPE_STRING) {
        case_ok(op_value_texts(&c->inputs[i], &type.shape, seed, &err));
        return true;
    }
    if (!value) {
        case_ok(tp_tensor_new_unset(&c->inputs[i], &type, &err));
        op_value_fill(c->inputs[i], seed);
        return true;
    }
    const char *text = value + 1;
    c->fixed[i] = true;
    return tp_tensor_parse_elements(&c->inputs[i], &type, &text, &err) == TROUPE_OK;
}

static const struct tp_attr_spec *find_spec(const struct tp_op *op, const char *name)
{
    for (const struct tp_attr_spec *s = op->attrs; s && s->name; s++)
        if (strcmp(s->name, name) == 0) return s;
    return NULL;
}

static void read_list(struct op_case *c, size_t i, const char *text)
{
    troupe_attr *attr = &c->attrs[i];
    attr->n = 0;
    for (text += *text == '['; *text && *text != ']'; text += *text == ',') {
        char *end;
        c->floats[i][attr->n] = strtod(text, &end);
        c->ints[i][attr->n] = strtoll(text, NULL, 10);
        attr->n++;
        text = end;
    }
}

static void copy_text(char *to, size_t room, const char *from, size_t size)
{
    case_must(size < room, "%.*s is too long", (int)size, from);
    memcpy(to, from, size);
    to[size] = 0;
}

/* The value of an attribute whose kind is known. */
static void read_value(struct op_case *c, size_t i, char *value)
{
    troupe_attr *attr = &c->attrs[i];
    troupe_tensor *tensor = NULL;
    troupe_error err;
    switch (attr->kind) {
    case TROUPE_ATTR_INT:
        attr->i = strtoll(value, NULL, 10);
        break;
    case TROUPE_ATTR_FLOAT:
        attr->f = strtod(value, NULL);
        break;
    case TROUPE_ATTR_DTYPE:
        attr->dtype = troupe_dtype_parse(value);
        break;
    case TROUPE_ATTR_STRING:
        attr->n = strlen(value) - 2; /* without the quotes */
        copy_text(c->texts[i], sizeof(c->texts[i]), value + 1, attr->n);
        attr->text = c->texts[i];
        break;
    case TROUPE_ATTR_TENSOR:
        if (strchr(value, '=')) *strchr(value, '=') = ' ';
        case_ok(troupe_tensor_parse(&tensor, value, &err));
        attr->tensor = tensor;
        break;
    default:
        read_list(c, i, value);
        if (attr->kind == TROUPE_ATTR_INTS)
            attr->ints = c->ints[i];
        else
            attr->floats = c->floats[i];
    }
}

/* "axis=1", "pads=[0,1]", "mode="edge"", "value=f32[1]=[2]". */
static void read_attr(struct op_case *c, char *word)
{
    const size_t i = c->n_attrs++;
    char *value = strchr(word, '=');
    case_must(value != NULL && i < CASE_ATTRS, "%s: '%s' is no attribute", c->op->name, word);
    *value++ = 0;
    const struct tp_attr_spec *spec = find_spec(c->op, word);
    copy_text(c->names[i], sizeof(c->names[i]), word, strlen(word));
    c->attrs[i].name = c->names[i];
    c->attrs[i].kind = spec ? spec->kind : TROUPE_ATTR_INT;
    read_value(c, i, value);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const troupe_attr *)a)->name, ((const troupe_attr *)b)->name);
}

/* As many results as the row has at least, or as the sample says. */
static size_t count_results(const struct tp_op *op, const struct tp_sample *sample)
{
    size_t least, most;
    tp_op_arity(op->results, &least, &most);
    return sample->n_results ? (size_t)sample->n_results : least;
}

bool op_case_make(struct op_case *c, const struct tp_op *op, const struct tp_sample *sample,
                  troupe_dtype dtype, uint64_t seed)
{
    char word[2048];
    memset(c, 0, sizeof(*c));
    c->op = op;
    c->sample = sample;
    c->n_results = count_results(op, sample);
    bool fits = true;
    for (const char *text = sample->inputs; fits && next_word(&text, word, sizeof(word));)
        fits = read_input(c, word, dtype, &seed);
    for (const char *text = sample->attrs; text && next_word(&text, word, sizeof(word));)
        read_attr(c, word);
    qsort(c->attrs, c->n_attrs, sizeof(c->attrs[0]), by_name);
    if (!fits) op_case_fini(c);
    return fits;
}

bool op_case_widen(struct op_case *c, const struct op_case *from)
{
    const struct tp_port *first = from->op->inputs;
    if (!op_case_make(c, from->op, from->sample, TROUPE_F64, 1)) return false;
    for (size_t i = 0; i < c->n_inputs; i++) {
        const struct tp_port *port = tp_op_port(from->op->inputs, i);
        if (!c->inputs[i]) continue;
        if (port->same && port->same == first->same) {
            for (size_t j = 0; j < c->inputs[i]->count; j++)
                op_value_put(TROUPE_F64, tp_tensor_write(c->inputs[i]), j,
                             op_case_at(from->inputs[i], j));
        } else {
            troupe_tensor_release(&c->inputs[i]);
            c->inputs[i] = troupe_tensor_retain(from->inputs[i]);
        }
    }
    return true;
}

static void drop_results(struct op_case *c)
{
    for (size_t i = 0; i < CASE_PORTS; i++)
        troupe_tensor_release(&c->results[i]);
}

void op_case_fini(struct op_case *c)
{
    drop_results(c);
    for (size_t i = 0; i < CASE_PORTS; i++)
        troupe_tensor_release(&c->inputs[i]);
    for (size_t i = 0; i < c->n_attrs; i++) {
        if (c->attrs[i].kind != TROUPE_ATTR_TENSOR) continue;
        troupe_tensor *tensor = (troupe_tensor *)c->attrs[i].tensor;
        troupe_tensor_release(&tensor);
    }
    memset(c, 0, sizeof(*c));
}

/* --- running ------------------------------------------------------------------------ */
/* A node over the case's inputs, or over other types. */
struct node {
    struct tp_infer infer;
    const struct tp_type *inputs[CASE_PORTS];
    struct tp_view known[CASE_PORTS];
    struct tp_type results[CASE_PORTS];
};

static void make_node(struct node *node, const struct op_case *c, const struct tp_type *types,
                      bool none, bool all)
{
    memset(node, 0, sizeof(*node));
    for (size_t i = 0; i < c->n_inputs; i++) {
        if (!c->inputs[i]) continue;
        node->inputs[i] = types ? &types[i] : &c->inputs[i]->type;
        node->known[i].type = &c->inputs[i]->type;
        if (!none && (all || c->fixed[i])) node->known[i].data = c->inputs[i]->data;
    }
    node->infer = (struct tp_infer){
        .node = "sample",
        .op = c->op,
        .attrs = c->attrs,
        .n_attrs = c->n_attrs,
        .n_inputs = c->n_inputs,
        .n_results = c->n_results,
        .inputs = node->inputs,
        .known = none ? NULL : node->known,
        .results = node->results,
    };
}

troupe_status op_case_infer(struct op_case *c, const struct tp_type *inputs, bool known,
                            struct tp_type *types, troupe_error *err)
{
    struct node node;
    make_node(&node, c, inputs, !known, false);
    TP_TRY(tp_infer_run(&node.infer, err));
    memcpy(types, node.results, sizeof(node.results));
    return TROUPE_OK;
}

/* Memory in which a value stands `offset` elements off a multiple of 64. */
struct place {
    char *block, *data;
};

/* `extra`: bytes behind the elements. */
static struct place take_place(const struct tp_type *type, size_t offset, size_t extra)
{
    size_t size;
    troupe_error err;
    case_ok(tp_type_bytes(type, &size, &err));
    const size_t element = tp_element_size(type->dtype);
    const size_t room = size + offset * element;
    struct place p = {.block = aligned_alloc(64, ((room + extra + 63) / 64 + 1) * 64)};
    case_must(p.block != NULL, "no memory");
    memset(p.block, 0x5a, room + extra);
    p.data = p.block + offset * element;
    return p;
}

/* All values of a launch: inputs, then results. */
struct launch {
    struct place places[2 * CASE_PORTS];
    struct tp_view values[2 * CASE_PORTS];
    uint32_t inputs[CASE_PORTS], results[CASE_PORTS];
    void *workspace;
    struct tp_room room;
};

/* The result goes to another place, so that who keeps the old one is found out. */
static troupe_status make_room(struct tp_room *room, const struct tp_launch *seen,
                               size_t result, size_t size, troupe_error *err)
{
    struct launch *l = tp_container_of(room, struct launch, room);
    const uint32_t at = seen->results[result];
    struct tp_view *view = &l->values[at];
    size_t elements;
    TP_TRY(tp_type_bytes(view->type, &elements, err));
    struct place larger = take_place(view->type, 0, size);
    memcpy(larger.data, view->data, elements);
    memset(view->data, 0x5a, elements);
    free(l->places[at].block);
    l->places[at] = larger;
    view->data = larger.data;
    return TROUPE_OK;
}

static void place_values(struct launch *l, const struct op_case *c, const struct op_way *way)
{
    memset(l, 0, sizeof(*l));
    l->room.make = make_room;
    for (size_t i = 0; i < c->n_inputs; i++) {
        l->inputs[i] = c->inputs[i] ? (uint32_t)i : TP_NO_VALUE;
        if (!c->inputs[i]) continue;
        size_t size;
        troupe_error err;
        case_ok(tp_type_bytes(&c->inputs[i]->type, &size, &err));
        const bool texts = c->inputs[i]->type.dtype == TROUPE_STRING;
        const size_t extra = texts ? c->inputs[i]->buffer->size - size : 0;
        size += extra;
        l->places[i] = take_place(&c->inputs[i]->type, way->offset, extra);
        memcpy(l->places[i].data, c->inputs[i]->data, size);
        l->values[i] = (struct tp_view){l->places[i].data, &c->inputs[i]->type};
    }
    for (size_t i = 0; i < c->n_results; i++) {
        const size_t at = CASE_PORTS + i;
        l->results[i] = (uint32_t)at;
        l->places[at] = take_place(&c->types[i], way->offset,
                                   c->types[i].dtype == TROUPE_STRING ? TP_STRING_ROOM : 0);
        l->values[at] = (struct tp_view){l->places[at].data, &c->types[i]};
    }
    if (way->alias >= 0 && c->n_results > 0)
        l->values[CASE_PORTS].data = l->values[way->alias].data;
}

static void free_values(struct launch *l)
{
    for (size_t i = 0; i < TP_COUNT(l->places); i++)
        free(l->places[i].block);
    free(l->workspace);
}

static void keep_strings(troupe_tensor **out, const struct tp_type *type, const void *data)
{
    const struct tp_string *strings = data;
    TP_OWNED(tp_strings_fini) struct tp_strings kept = {0};
    troupe_error err;
    const size_t n = tp_shape_count_known(&type->shape);
    case_ok(tp_strings_init(&kept, n, &err));
    for (size_t i = 0; i < n; i++) {
        const char *text = (const char *)data + strings[i].at;
        case_must(text[strings[i].size] == 0, "text %zu has no zero byte behind it", i);
        tp_text_add_bytes(&kept.bytes, text, strings[i].size);
        case_ok(tp_strings_end(&kept, &err));
    }
    case_ok(tp_strings_take(&kept, &type->shape, out, &err));
}

/* What a kernel left behind, as tensors. */
static void keep_results(struct op_case *c, const struct launch *l)
{
    troupe_error err;
    drop_results(c);
    for (size_t i = 0; i < c->n_results; i++) {
        const void *data = l->values[CASE_PORTS + i].data;
        const struct tp_type *type = &c->types[i];
        if (type->dtype == TROUPE_STRING) {
            keep_strings(&c->results[i], type, data);
            continue;
        }
        case_ok(troupe_tensor_new(&c->results[i], type->dtype, type->shape.rank,
                                  type->shape.dims, data, &err));
    }
}

static troupe_status launch(struct op_case *c, const struct op_way *way,
                            const struct tp_prepare *prepared, troupe_error *err)
{
    struct launch l;
    place_values(&l, c, way);
    if (prepared->workspace) {
        const size_t room = (prepared->workspace + 63) / 64 * 64;
        l.workspace = aligned_alloc(64, room);
        case_must(l.workspace != NULL, "no memory");
        memset(l.workspace, 0x5a, room);
    }
    const struct tp_launch seen = {
        .values = l.values,
        .inputs = l.inputs,
        .results = l.results,
        .n_inputs = (uint32_t)c->n_inputs,
        .n_results = (uint32_t)c->n_results,
        .state = prepared->state,
        .workspace = l.workspace,
        .room = &l.room,
        .team = way->team,
        .attrs = c->attrs,
        .n_attrs = c->n_attrs,
        .node = "sample",
        .device = "cpu:0",
    };
    const troupe_status status = prepared->run(&seen, err);
    if (status == TROUPE_OK) keep_results(c, &l);
    free_values(&l);
    return status;
}

static bool all_known(const struct op_case *c)
{
    for (size_t i = 0; i < c->n_results; i++)
        if (!tp_shape_known(&c->types[i].shape)) return false;
    return true;
}

/* Infer, and prepare what is to be dropped after use. */
static troupe_status prepare_case(struct op_case *c, const struct op_way *way,
                                  struct node *node, struct tp_prepare *prepare,
                                  troupe_error *err)
{
    make_node(node, c, NULL, way->none_known, way->all_known);
    TP_TRY(tp_infer_run(&node->infer, err));
    memcpy(c->types, node->results, sizeof(c->types));
    if (!all_known(c)) return TROUPE_PENDING;
    *prepare = (struct tp_prepare){
        .node = node->infer,
        .threads = way->threads ? way->threads : 1,
        .run = c->op->cpu,
        .uses = UINT32_MAX,
    };
    return c->op->prepare ? c->op->prepare(prepare, err) : TROUPE_OK;
}

troupe_status op_case_prepare(struct op_case *c, const struct op_way *way, troupe_error *err)
{
    struct node node;
    struct tp_prepare prepare = {0};
    const troupe_status status = prepare_case(c, way, &node, &prepare, err);
    if (status == TROUPE_OK && prepare.drop) prepare.drop(prepare.state);
    return status;
}

troupe_status op_case_run(struct op_case *c, const struct op_way *way, troupe_error *err)
{
    struct node node;
    struct tp_prepare prepare = {0};
    troupe_status status = prepare_case(c, way, &node, &prepare, err);
    if (status != TROUPE_OK) return status;
    status = launch(c, way, &prepare, err);
    if (prepare.drop) prepare.drop(prepare.state);
    return status;
}

/* --- comparing ---------------------------------------------------------------------- */
bool op_case_same(const troupe_tensor *a, const troupe_tensor *b)
{
    if (troupe_tensor_equal(a, b)) return true;
    if (a->type.dtype != b->type.dtype || !tp_shape_equal(&a->type.shape, &b->type.shape))
        return false;
    if (!op_value_is_float(a->type.dtype)) return false;
    const size_t size = troupe_dtype_size(a->type.dtype);
    for (size_t i = 0; i < a->count; i++) {
        const char *x = (const char *)a->data + i * size, *y = (const char *)b->data + i * size;
        if (memcmp(x, y, size) != 0 && !(isnan(op_case_at(a, i)) && isnan(op_case_at(b, i))))
            return false;
    }
    return true;
}

static double precision(troupe_dtype dtype)
{
    switch (dtype) {
    case TROUPE_F64:
    case TROUPE_C128:
        return 1e-9; /* samples have nine digits */
    case TROUPE_F32:
    case TROUPE_C64:
        return 1e-6;
    case TROUPE_F16:
        return 1e-3;
    case TROUPE_BF16:
        return 8e-3;
    default:
        return 0;
    }
}

static bool close_to(double x, double y, double tolerance)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y)) return x == y;
    return fabs(x - y) <= tolerance * (1 + fabs(y));
}

/* What a value of a wider type must be in this one; NaN stands for anything in integers. */
static double narrowed(troupe_dtype dtype, double value)
{
    static const double least[TP_DTYPES] = {
        [TROUPE_I8] = -128,   [TROUPE_I16] = -32768, [TROUPE_I32] = -2147483648.0,
        [TROUPE_I64] = -9e15, [TROUPE_I4] = -8,      [TROUPE_I2] = -2};
    static const double most[TP_DTYPES] = {[TROUPE_I8] = 127,
                                           [TROUPE_I16] = 32767,
                                           [TROUPE_I32] = 2147483647.0,
                                           [TROUPE_I64] = 9e15,
                                           [TROUPE_U8] = 255,
                                           [TROUPE_U16] = 65535,
                                           [TROUPE_U32] = 4294967295.0,
                                           [TROUPE_U64] = 9e15,
                                           [TROUPE_BOOL] = 1,
                                           [TROUPE_U4] = 15,
                                           [TROUPE_I4] = 7,
                                           [TROUPE_U2] = 3,
                                           [TROUPE_I2] = 1};
    if (dtype == TROUPE_F64 || dtype == TROUPE_C128) return value;
    if (dtype == TROUPE_F32 || dtype == TROUPE_C64) return (double)(float)value;
    if (tp_dtype_kind(dtype) == TP_KIND_SMALL)
        return (double)tp_small_to_f32(dtype, tp_f64_to_small(dtype, value, false));
    if (dtype == TROUPE_F16) return (double)tp_f16_to_f32(tp_f64_to_f16(value));
    if (dtype == TROUPE_BF16) return (double)tp_bf16_to_f32(tp_f64_to_bf16(value));
    if (dtype == TROUPE_STRING) return value;
    return value >= least[dtype] && value <= most[dtype] ? trunc(value) : (double)NAN;
}

bool op_case_close(const troupe_tensor *a, const troupe_tensor *b, double slack, size_t *at)
{
    const troupe_dtype dtype = a->type.dtype;
    *at = SIZE_MAX;
    if (dtype == TROUPE_STRING && b->type.dtype == dtype) return troupe_tensor_equal(a, b);
    if (!tp_shape_equal(&a->type.shape, &b->type.shape)) return false;
    for (size_t i = 0; i < a->count; i++) {
        const double want = narrowed(dtype, op_case_at(b, i));
        *at = i;
        if (isnan(want) && !op_value_is_float(dtype))
            continue; /* it wraps, and samples say how */
        if (!close_to(op_case_at(a, i), want, slack * precision(dtype))) return false;
    }
    return true;
}
