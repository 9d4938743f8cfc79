/* SPDX-License-Identifier: MIT
 *
 * tests/onnx_text.c - tiny ONNX models for tests, written as text, as the bytes of a file.
 */
#include "tests/onnx_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

/* --- the wire format ------------------------------------------------------------------ */

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){.size = 0};
}

void put_raw(struct bytes *to, const void *data, size_t size)
{
    if (to->size + size > to->room) {
        to->room = 2 * (to->size + size);
        to->data = realloc(to->data, to->room);
        if (!to->data) abort();
    }
    if (size > 0) memcpy(to->data + to->size, data, size);
    to->size += size;
}

void put_little(struct bytes *to, const void *number, size_t size)
{
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    for (size_t i = 0; i < size; i++)
        put_raw(to, (const char *)number + (big ? size - 1 - i : i), 1);
}

void put_varint(struct bytes *to, uint64_t value)
{
    do {
        const uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put_raw(to, &byte, 1);
    } while (value >>= 7);
}

void put_int(struct bytes *to, unsigned field, int64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, (uint64_t)value);
}

void put_bytes(struct bytes *to, unsigned field, const void *data, size_t size)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, size);
    put_raw(to, data, size);
}

void put_text(struct bytes *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

void put_message(struct bytes *to, unsigned field, struct bytes *message)
{
    put_bytes(to, field, message->data, message->size);
    bytes_free(message);
}

static void put_float(struct bytes *to, unsigned field, float value)
{
    put_varint(to, field << 3 | 5);
    put_little(to, &value, sizeof(value));
}

/* --- types and tensors ---------------------------------------------------------------- */

static void malformed(const char *what)
{
    fprintf(stderr, "onnx_text: malformed: %s\n", what);
    abort();
}

/* ONNX's number of a type, and ours; the text moves behind it. */
static int type_of(const char **text, troupe_dtype *dtype)
{
    static const int numbers[TP_DTYPES] = {
        [TROUPE_F32] = 1,     [TROUPE_U8] = 2,          [TROUPE_I8] = 3,
        [TROUPE_U16] = 4,     [TROUPE_I16] = 5,         [TROUPE_I32] = 6,
        [TROUPE_I64] = 7,     [TROUPE_STRING] = 8,      [TROUPE_BOOL] = 9,
        [TROUPE_F16] = 10,    [TROUPE_F64] = 11,        [TROUPE_U32] = 12,
        [TROUPE_U64] = 13,    [TROUPE_C64] = 14,        [TROUPE_C128] = 15,
        [TROUPE_BF16] = 16,   [TROUPE_F8E4M3FN] = 17,   [TROUPE_F8E4M3FNUZ] = 18,
        [TROUPE_F8E5M2] = 19, [TROUPE_F8E5M2FNUZ] = 20, [TROUPE_U4] = 21,
        [TROUPE_I4] = 22,     [TROUPE_F4E2M1] = 23,     [TROUPE_F8E8M0] = 24,
        [TROUPE_U2] = 25,     [TROUPE_I2] = 26};
    char name[16];
    const size_t n = strcspn(*text, "[{");
    if (n >= sizeof(name)) malformed(*text);
    memcpy(name, *text, n);
    name[n] = 0;
    *text += n;
    *dtype = troupe_dtype_parse(name);
    if (*dtype != TROUPE_DTYPE_NONE) return numbers[*dtype];
    if (name[0] != 't') malformed(name);
    return atoi(name + 1);
}

static void put_shape(struct bytes *type, const char *text)
{
    struct bytes shape = {.size = 0};
    for (const char *at = text + 1; *at && *at != ']';) {
        struct bytes dim = {.size = 0};
        const size_t n = strcspn(at, ",]");
        if ((*at >= '0' && *at <= '9') || *at == '-')
            put_int(&dim, 1, strtoll(at, NULL, 10));
        else if (*at != '?')
            put_bytes(&dim, 2, at, n);
        put_message(&shape, 1, &dim);
        at += n + (at[n] == ',');
    }
    put_message(type, 2, &shape);
}

static void put_value(struct bytes *graph, unsigned field, const char *name, const char *type)
{
    struct bytes value = {.size = 0}, tensor = {.size = 0}, outer = {.size = 0};
    troupe_dtype dtype;
    put_text(&value, 1, name);
    if (type && strcmp(type, "-") != 0) {
        put_int(&tensor, 1, type_of(&type, &dtype));
        if (*type == '[') put_shape(&tensor, type);
        put_message(&outer, 1, &tensor);
        put_message(&value, 2, &outer);
    }
    put_message(graph, field, &value);
}

static void put_element(struct bytes *raw, troupe_dtype dtype, double number)
{
    const float f = (float)number;
    const int64_t i = (int64_t)number;
    const uint16_t half = tp_f32_to_f16(f), brain = tp_f32_to_bf16(f);
    const size_t size = troupe_dtype_size(dtype);
    switch (dtype) {
    case TROUPE_F32:
        put_little(raw, &f, size);
        break;
    case TROUPE_F64:
        put_little(raw, &number, size);
        break;
    case TROUPE_F16:
        put_little(raw, &half, size);
        break;
    case TROUPE_BF16:
        put_little(raw, &brain, size);
        break;
    default:
        for (size_t k = 0; k < size; k++)
            put_raw(raw, &(uint8_t){(uint8_t)(i >> 8 * k)}, 1);
    }
}

/* f32[2]{1,2} as a TensorProto. */
static struct bytes tensor_of(const char *text, const char *name)
{
    struct bytes tensor = {.size = 0}, raw = {.size = 0};
    troupe_dtype dtype;
    put_int(&tensor, 2, type_of(&text, &dtype));
    if (name) put_text(&tensor, 8, name);
    if (*text++ != '[') malformed(text);
    while (*text != ']') {
        char *end;
        put_int(&tensor, 1, strtoll(text, &end, 10));
        text = end + (*end == ',');
    }
    if (*++text != '{') malformed(text);
    for (text++; *text != '}';) {
        char *end;
        put_element(&raw, dtype, strtod(text, &end));
        if (end == text) malformed(text);
        text = end + (*end == ',');
    }
    put_message(&tensor, 9, &raw);
    return tensor;
}

/* --- attributes ----------------------------------------------------------------------- */

static bool has_point(const char *text)
{
    return strpbrk(text, ".e") || strstr(text, "inf");
}

static void put_list(struct bytes *attr, const char *text)
{
    const bool floats = has_point(text);
    for (const char *at = text + 1; *at && *at != ']';) {
        char *end;
        if (floats)
            put_float(attr, 7, strtof(at, &end));
        else
            put_int(attr, 8, strtoll(at, &end, 10));
        if (end == at) malformed(text);
        at = end + (*end == ',');
    }
    put_int(attr, 20, floats ? 6 : 7);
}

static struct bytes attr_of(const char *text)
{
    struct bytes attr = {.size = 0}, tensor;
    const char *const value = strchr(text, '=') + 1;
    put_bytes(&attr, 1, text, (size_t)(value - 1 - text));
    if (*value == '[') {
        put_list(&attr, value);
    } else if (*value == '\'') {
        put_bytes(&attr, 4, value + 1, strlen(value) - 2);
        put_int(&attr, 20, 3);
    } else if (*value == '@') {
        put_text(&attr, 21, value + 1);
    } else if (strchr(value, '{')) {
        tensor = tensor_of(value, NULL);
        put_message(&attr, 5, &tensor);
        put_int(&attr, 20, 4);
    } else if (has_point(value)) {
        put_float(&attr, 2, strtof(value, NULL));
        put_int(&attr, 20, 1);
    } else {
        put_int(&attr, 3, strtoll(value, NULL, 10));
        put_int(&attr, 20, 2);
    }
    return attr;
}

/* --- statements ----------------------------------------------------------------------- */

struct writer {
    struct bytes model, graph, function;
    bool in_function, has_ir, has_opset, has_name;
};

static char *next_word(char **rest)
{
    return strtok_r(NULL, " ", rest);
}

/* n1:Foo@domain */
static void put_target(struct bytes *node, char *word)
{
    char *const colon = strchr(word, ':'), *const at = strchr(word, '@');
    if (at) {
        put_text(node, 7, at + 1);
        *at = 0;
    }
    if (colon) {
        *colon = 0;
        put_text(node, 3, word);
        word = colon + 1;
    }
    put_text(node, 4, word);
}

static void node_statement(struct writer *w, char *word, char **rest)
{
    struct bytes node = {.size = 0}, attr;
    unsigned field = 1;
    put_target(&node, word);
    while ((word = next_word(rest))) {
        if (strcmp(word, "->") == 0) {
            field = 2;
        } else if (strchr(word, '=')) {
            attr = attr_of(word);
            put_message(&node, 5, &attr);
        } else {
            put_text(&node, field, strcmp(word, "_") == 0 ? "" : word);
        }
    }
    put_message(w->in_function ? &w->function : &w->graph, w->in_function ? 7 : 1, &node);
}

static void function_statement(struct writer *w, char **rest)
{
    unsigned field = 4;
    w->in_function = true;
    put_text(&w->function, 10, next_word(rest));
    put_text(&w->function, 1, next_word(rest));
    for (char *word; (word = next_word(rest));) {
        if (strcmp(word, "->") == 0)
            field = 5;
        else
            put_text(&w->function, field, word);
    }
}

static void opset_statement(struct writer *w, char **rest)
{
    struct bytes opset = {.size = 0};
    put_int(&opset, 2, atoi(next_word(rest)));
    const char *const domain = next_word(rest);
    put_text(&opset, 1, domain ? domain : "");
    put_message(w->in_function ? &w->function : &w->model, w->in_function ? 9 : 8, &opset);
    if (!w->in_function) w->has_opset = true;
}

static void end_statement(struct writer *w)
{
    put_message(&w->model, 25, &w->function);
    w->in_function = false;
}

static void value_statement(struct writer *w, unsigned field, char **rest)
{
    const char *const name = next_word(rest);
    put_value(&w->graph, field, strcmp(name, "_") == 0 ? "" : name, next_word(rest));
}

static void statement(struct writer *w, char *text)
{
    char *rest = NULL;
    struct bytes message;
    char *const word = strtok_r(text, " ", &rest);
    if (!word) return;
    if (strcmp(word, "ir") == 0) {
        put_int(&w->model, 1, atoi(next_word(&rest)));
        w->has_ir = true;
    } else if (strcmp(word, "graph") == 0) {
        put_text(&w->graph, 2, next_word(&rest));
        w->has_name = true;
    } else if (strcmp(word, "opset") == 0) {
        opset_statement(w, &rest);
    } else if (strcmp(word, "in") == 0) {
        value_statement(w, 11, &rest);
    } else if (strcmp(word, "out") == 0) {
        value_statement(w, 12, &rest);
    } else if (strcmp(word, "init") == 0) {
        const char *const name = next_word(&rest);
        message = tensor_of(next_word(&rest), name);
        put_message(&w->graph, 5, &message);
    } else if (strcmp(word, "fn") == 0) {
        function_statement(w, &rest);
    } else if (strcmp(word, "attr") == 0) {
        put_text(&w->function, 6, next_word(&rest));
    } else if (strcmp(word, "default") == 0) {
        message = attr_of(next_word(&rest));
        put_message(&w->function, 11, &message);
    } else if (strcmp(word, "end") == 0) {
        end_statement(w);
    } else {
        node_statement(w, word, &rest);
    }
}

struct bytes onnx_text(const char *text)
{
    struct writer w = {.has_ir = false};
    char *const copy = strdup(text);
    char *rest = NULL;
    if (!copy) abort();
    for (char *at = strtok_r(copy, ";", &rest); at; at = strtok_r(NULL, ";", &rest))
        statement(&w, at);
    free(copy);
    char opset[] = "opset 13";
    if (!w.has_ir) put_int(&w.model, 1, 8);
    if (!w.has_opset) statement(&w, opset);
    if (!w.has_name) put_text(&w.graph, 2, "g");
    put_message(&w.model, 7, &w.graph);
    return w.model;
}
